/* test_recorded_code.c - code that capture wrote between other records (reader/recorded_code.h):
 * what is whole becomes a section, and what is missing is told. */
#include "tests/reader/build.h"

#include "base/err.h"

enum { PIECE = 40, FRAME_MAX = 3 * PIECE };

struct piece {
	unsigned frame, pid, packed, at;
};

static void put_piece(struct out *o, const struct piece *p)
{
	const unsigned n = p->packed - p->at < PIECE ? p->packed - p->at : PIECE;
	size_t r = rec(o, RECORD_EVENT_TYPE, 0);

	bytes(o, RECORDED_CODE_MAGIC, 8);
	u16(o, RECORDED_CODE_VERSION);
	u16(o, (uint16_t)p->frame);
	u32(o, p->pid);
	u64(o, 7 * p->packed);
	u64(o, p->packed);
	u64(o, p->at);
	for (unsigned i = 0; i < n; i++)
		bytes(o, &(uint8_t){(uint8_t)(p->frame * 50 + p->at + i)}, 1);
	while ((o->n - r) % 8 || o->n - r < RECORDED_CODE_BYTES_MIN)
		bytes(o, "", 1);
	end(o, r);
	plain_sample(o, 1, 1, 1000 + p->at);
}

static struct out recording_of(const struct piece *p, size_t n)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0};

	for (size_t i = 0; i < n; i++)
		put_piece(&o, &p[i]);
	return pipe_of(&a, 1, &o);
}

/* Is the section of these frames, and of no others? */
static void expect(struct perf_file *f, const struct piece *frames, size_t n_frames)
{
	const uint8_t *code;
	struct err err;
	size_t n, at = 8;

	assert_int_equal(perf_file_recorded_code(f, &code, &n, &err), 0);
	if (!n_frames) {
		assert_null(code);
		return;
	}
	for (size_t i = 0; i < n_frames; i++) {
		const uint32_t whose[2] = {frames[i].pid, 0};
		const uint64_t sizes[2] = {7 * frames[i].packed, frames[i].packed};

		assert_true(n - at >= 24 + frames[i].packed);
		assert_memory_equal(code + at, whose, sizeof whose);
		assert_memory_equal(code + at + 8, sizes, sizeof sizes);
		for (unsigned k = 0; k < frames[i].packed; k++)
			assert_int_equal(code[at + 24 + k], (uint8_t)(frames[i].frame * 50 + k));
		at += 24 + frames[i].packed;
	}
	assert_int_equal(at, n);
}

static void check(const struct piece *p, size_t n, const struct piece *frames, size_t n_frames,
		  bool damaged)
{
	struct perf_file *f = open_bytes(recording_of(p, n));

	expect(f, frames, n_frames);
	assert_int_equal(perf_file_stats(f)->damaged, damaged);
	assert_int_equal(perf_file_note_count(f) > 0, damaged);
	assert_int_equal(drain(f), n); /* the samples between them */
	perf_file_close(f);
}

static void whole_ones(void **state)
{
	static const struct piece p[] = {{1, 5, 30, 0},	  {2, 6, 100, 0}, {2, 6, 100, 40},
					 {2, 6, 100, 80}, {3, 5, 80, 0},  {3, 5, 80, 40},
					 {3, 0, 0, 0}};
	static const struct piece frames[] = {{1, 5, 30, 0}, {2, 6, 100, 0}, {3, 5, 80, 0}};

	(void)state;
	check(p, 7, frames, 3, false);
	check(p, 6, frames, 3, true); /* without its end */
	check(p, 0, NULL, 0, false);
}

/* The mark at the end has the number of the last frame. */
static void last_is_missing(void **state)
{
	static const struct piece p[] = {{1, 5, 30, 0}, {2, 0, 0, 0}};
	static const struct piece q[] = {{1, 5, 30, 0}, {1, 0, 0, 0}};

	(void)state;
	check(p, 2, p, 1, true);
	check(q, 2, q, 1, false);
}

/* A piece, a beginning, an end, a whole frame is missing, or is of something else. */
static void missing_ones(void **state)
{
	static const struct piece p[] = {
		{1, 5, 100, 0}, {1, 5, 100, 40}, {1, 5, 100, 80}, {2, 6, 30, 0}, {3, 7, 20, 0}};
	static const struct piece last[] = {{2, 6, 30, 0}, {3, 7, 20, 0}};
	struct piece q[5];

	(void)state;
	for (unsigned left_out = 0; left_out < 3; left_out++) {
		memcpy(q, p, sizeof q);
		memmove(q + left_out, q + left_out + 1, (4 - left_out) * sizeof *q);
		check(q, 4, last, 2, true);
	}
	memcpy(q, p, sizeof q);
	q[1].pid = 6;
	check(q, 5, last, 2, true);
	memcpy(q, p, sizeof q);
	q[2].at = 88;
	check(q, 5, last, 2, true);
	memcpy(q, p, sizeof q);
	q[3] = p[4];
	check(q + 3, 1, last + 1, 1, true); /* of three frames the last */
	check(q, 2, NULL, 0, true);
}

/* Two streams in one, each with its marks; frames that are there twice, in another order, or by
 * another number: of these nothing is missing. */
static void other_numbers(void **state)
{
	static const struct piece two[] = {{0, 0, 0, 0},  {1, 5, 30, 0}, {2, 5, 30, 0},
					   {2, 0, 0, 0},  {0, 0, 0, 0},	 {1, 6, 30, 0},
					   {2, 6, 30, 0}, {3, 6, 30, 0}, {3, 0, 0, 0}};
	static const struct piece of_two[] = {
		{1, 5, 30, 0}, {2, 5, 30, 0}, {1, 6, 30, 0}, {2, 6, 30, 0}, {3, 6, 30, 0}};
	static const struct piece twice[] = {
		{1, 5, 30, 0}, {2, 5, 30, 0}, {2, 5, 30, 0}, {2, 0, 0, 0}};
	static const struct piece order[] = {
		{2, 5, 30, 0}, {1, 5, 30, 0}, {9, 6, 30, 0}, {3, 0, 0, 0}};

	(void)state;
	check(two, 9, of_two, 5, false);
	check(twice, 4, twice, 2, false);
	check(order, 4, order, 3, false);
	check(two + 4, 4, of_two + 2, 3, true); /* no mark at the end */
	check(two + 1, 2, of_two, 2, true);	/* nor at all */
	check((const struct piece[]){{4, 0, 0, 0}}, 1, NULL, 0, true);
}

/* `cat a b`: the header of the second is no record. */
static void two_streams(void **state)
{
	static const struct piece p[] = {{0, 0, 0, 0}, {1, 5, 30, 0}, {1, 0, 0, 0},
					 {0, 0, 0, 0}, {1, 6, 30, 0}, {1, 0, 0, 0}};
	static const struct piece both[] = {{1, 5, 30, 0}, {1, 6, 30, 0}};

	(void)state;
	for (size_t end = 3; end > 1; end--) { /* the first one with its end, and without */
		struct out o = recording_of(p, end), second = recording_of(p + 3, 3);
		struct perf_file *f;

		bytes(&o, second.v, second.n);
		vec_done(&second);
		while (o.n < UINT16_MAX) /* whatever size is read of that header, it fits */
			plain_sample(&o, 1, 1, 2000);
		f = open_bytes(o);
		expect(f, both, 2);
		assert_int_equal(perf_file_note_count(f), end == 2);
		perf_file_close(f);
	}
}

/* How many are missing is told. */
static void counted(void **state)
{
	static const struct {
		struct piece p[4];
		size_t n;
		const char *said;
	} cases[] = {
		{{{1, 5, 30, 0}, {3, 5, 30, 0}, {3, 0, 0, 0}}, 3, "made 1 piece is missing"},
		{{{1, 5, 30, 0}, {4, 5, 30, 0}, {4, 0, 0, 0}}, 3, "made 2 pieces are missing"},
		{{{1, 5, 100, 0}, {2, 5, 30, 0}, {2, 5, 30, 0}, {2, 0, 0, 0}},
		 4,
		 "made 1 piece is missing"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct perf_file *f = open_bytes(recording_of(cases[i].p, cases[i].n));
		const uint8_t *code;
		struct err err;
		size_t n;

		assert_int_equal(perf_file_recorded_code(f, &code, &n, &err), 0);
		assert_int_equal(perf_file_note_count(f), 1);
		assert_non_null(strstr(perf_file_note(f, 0), cases[i].said));
		perf_file_close(f);
	}
}

/* Behind damage the next one is found. */
static void behind_damage(void **state)
{
	static const struct piece p[] = {{1, 5, 30, 0}, {2, 6, 30, 0}, {3, 7, 30, 0}};
	static const struct piece frames[] = {{1, 5, 30, 0}, {3, 7, 30, 0}};
	struct out o = recording_of(p, 3);
	struct perf_file *f;
	size_t second = 0;

	(void)state;
	for (size_t i = o.n; i-- > 8 && !second;)
		if (!memcmp(o.v + i, RECORDED_CODE_MAGIC, 8) && o.v[i + 12] == 6)
			second = i - 8;
	assert_true(second);
	memset(o.v + second, 0, 16); /* its header and its magic */
	f = open_bytes(o);
	expect(f, frames, 2);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

/* A file with a frame; NULL: without a version, as its recorder was killed. */
static struct perf_file *file_by(const struct piece *p, const char *version)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0};

	put_piece(&o, p);
	o = file_of(&a, 1, &o);
	if (version) {
		const uint64_t bits = 1ull << FEATURE_VERSION;
		const uint32_t n = (uint32_t)strlen(version) + 1;

		memcpy(o.v + offsetof(struct perfdata_header, features), &bits, sizeof bits);
		u64(&o, o.n + 16);
		u64(&o, 4 + n);
		u32(&o, n);
		bytes(&o, version, n);
	}
	return open_bytes(o);
}

/* Files of perf have no such records, and are not searched. */
static void by_version(void **state)
{
	static const struct {
		const char *version;
		bool searched;
	} files[] = {{"6.1.0", false}, {"unspool 1", true}, {NULL, true}};
	static const struct piece p = {1, 5, 30, 0};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct perf_file *f = file_by(&p, files[i].version);

		expect(f, &p, files[i].searched);
		assert_int_equal(drain(f), 1);
		perf_file_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_ones),	cmocka_unit_test(last_is_missing),
		cmocka_unit_test(missing_ones), cmocka_unit_test(behind_damage),
		cmocka_unit_test(by_version),	cmocka_unit_test(other_numbers),
		cmocka_unit_test(two_streams),	cmocka_unit_test(counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

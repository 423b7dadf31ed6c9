/* test_container.c - headers, pipes and what lies between records. */
#include "tests/reader/build.h"

#include <stdlib.h>

/* AUXTRACE says how many bytes follow it; they are no records. */
static void auxtrace_payload(void **state)
{
	static const size_t sizes[] = {8, 4096, 3 << 20};
	struct perf_event_attr a = plain_attr();
	uint8_t *payload = malloc(3 << 20);

	(void)state;
	assert_non_null(payload);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		for (int as_pipe = 0; as_pipe < 2; as_pipe++) {
			struct perf_file *f;
			struct out o = {0};
			size_t r;

			memset(payload, 9, sizes[k]); /* looks like samples */
			plain_sample(&o, 1, 1, 1);
			r = rec(&o, RECORD_AUXTRACE, 0);
			u64(&o, sizes[k]);
			for (int i = 0; i < 4; i++)
				u64(&o, 0);
			end(&o, r);
			bytes(&o, payload, sizes[k]);
			plain_sample(&o, 1, 1, 2);
			f = open_bytes(as_pipe ? pipe_of(&a, 1, &o) : file_of(&a, 1, &o));
			assert_int_equal(drain(f), 2);
			assert_false(perf_file_stats(f)->damaged);
			perf_file_close(f);
		}
	}
	free(payload);
}

/* A payload larger than what there is is not believed. */
static void auxtrace_too_large(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};
	size_t r = rec(&o, RECORD_AUXTRACE, 0);

	(void)state;
	u64(&o, UINT64_MAX - 7);
	for (int i = 0; i < 4; i++)
		u64(&o, 0);
	end(&o, r);
	for (uint64_t i = 1; i <= 5; i++)
		plain_sample(&o, 1, 1, i);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 5);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

static void feature(struct out *o, uint64_t bit, const struct out *body)
{
	size_t r = rec(o, RECORD_HEADER_FEATURE, 0);

	u64(o, bit);
	bytes(o, body->v, body->n);
	end(o, r);
}

/* With two kinds of cores the PMU is in the upper half of config; its name is in PMU_MAPPINGS. perf
 * calls such an event PMU/EVENT/ (tools/perf/util/parse-events.c, for hybrid PMUs). Without, it is
 * one of any core. */
static void hybrid_names(void **state)
{
	static const struct {
		uint32_t type;
		uint64_t config;
		const char *name;
	} events[] = {
		{PERF_TYPE_HARDWARE, 4ull << 32 | PERF_COUNT_HW_CPU_CYCLES, "cpu_core/cycles/"},
		{PERF_TYPE_HARDWARE, 10ull << 32 | PERF_COUNT_HW_INSTRUCTIONS,
		 "cpu_atom/instructions/"},
		{PERF_TYPE_HW_CACHE, 10ull << 32 | PERF_COUNT_HW_CACHE_LL, "cpu_atom/LLC-loads/"},
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles"},
	};
	struct perf_event_attr attrs[4];
	struct out body = {0}, o = {0};
	struct perf_file *f;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		attrs[i] = plain_attr();
		attrs[i].type = events[i].type;
		attrs[i].config = events[i].config;
		attrs[i].sample_type |= PERF_SAMPLE_IDENTIFIER;
		attrs[i].exclude_guest = 1; /* as perf does, or the name would end in HG */
	}
	u32(&body, 2);
	for (uint32_t i = 0; i < 2; i++) {
		u32(&body, i ? 10 : 4);
		u32(&body, 16);
		str(&body, i ? "cpu_atom" : "cpu_core");
	}
	feature(&o, FEATURE_PMU_MAPPINGS, &body);
	for (uint64_t i = 0; i < 4; i++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

		u64(&o, 10 * (i + 1));
		u64(&o, 0x401000);
		u64(&o, 1);
		u64(&o, i + 1);
		end(&o, r);
	}
	f = open_bytes(pipe_of(attrs, 4, &o));
	assert_int_equal(drain(f), 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(perf_file_event(f, i)->name, events[i].name);
	perf_file_close(f);
	vec_done(&body);
}

/* A pipe of perf 4.14: features before attrs, TRACING_DATA with its payload behind it, an end mark
 * with a number that is a feature of newer versions, a name that comes last, and junk behind. */
static void pipe_dialect(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0}, body = {0}, whole = {0};
	struct perf_file *f;
	struct perf_batch *b;
	size_t r, size;

	(void)state;
	bytes(&o, PERFDATA_MAGIC, 8);
	u64(&o, 16);
	u32(&body, 16);
	bytes(&body, "build-host\0\0\0\0\0\0", 16);
	feature(&o, FEATURE_HOSTNAME, &body);
	body.n = 0;
	event_desc(&body, &a);
	feature(&o, FEATURE_EVENT_DESC, &body);
	header_only(&o, RECORD_FINISHED_INIT);
	body.n = 0;
	feature(&o, 32, &body); /* the end mark */
	for (uint64_t id = 10; id <= 20; id += 10) {
		a.sample_type |= PERF_SAMPLE_IDENTIFIER;
		r = rec(&o, RECORD_HEADER_ATTR, 0);
		bytes(&o, &a, sizeof a);
		u64(&o, id);
		end(&o, r);
	}
	r = rec(&o, RECORD_TRACING_DATA, 0);
	u32(&o, 64);
	end(&o, r); /* 12 bytes, as old perf wrote it */
	for (int i = 0; i < 8; i++)
		u64(&o, 0x0020000000000009); /* would be samples */
	r = rec(&o, RECORD_EVENT_UPDATE, 0);
	u64(&o, EVENT_UPDATE_NAME);
	u64(&o, 20);
	str(&o, "updated");
	end(&o, r);
	for (uint64_t i = 1; i <= 4; i++) {
		r = rec(&o, PERF_RECORD_SAMPLE, 0);
		u64(&o, 10 + i % 2 * 10);
		u64(&o, 0x401000);
		u64(&o, 1);
		u64(&o, i);
		end(&o, r);
	}
	bytes(&whole, o.v, o.n);
	bytes(&o, "[ perf record: Woken up 1 times to write data ]\n", 48);
	f = open_bytes(whole);
	b = next(f);
	assert_int_equal(b->n, 4);
	assert_string_equal(b->samples[0].event->name, "updated");
	assert_string_equal(b->samples[1].event->name, "described");
	assert_string_equal(perf_file_info(f)->hostname, "build-host");
	assert_true(perf_file_info(f)->is_pipe);
	assert_non_null(perf_file_feature(f, FEATURE_TRACING_DATA, &size));
	assert_int_equal(size, 64);
	assert_null(perf_file_feature(f, 32, &size));
	perf_batch_release(f, b);
	expect_end(f);
	assert_false(perf_file_stats(f)->damaged);
	perf_file_close(f);

	f = open_bytes(o);
	assert_int_equal(drain(f), 4);
	assert_int_equal(perf_file_stats(f)->lost_bytes, 48);
	assert_false(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_note_count(f), 1);
	perf_file_close(f);
	vec_done(&body);
}

/* A header section that is not in the file is reported by its name. */
static void section_outside(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0}, whole;
	struct perfdata_header h;
	struct perf_file *f;

	(void)state;
	plain_sample(&o, 0x401000, 1, 1);
	whole = file_of(&a, 1, &o);
	memcpy(&h, whole.v, sizeof h);
	h.features[0] |= 1 << FEATURE_EVENT_DESC;
	memcpy(whole.v, &h, sizeof h);
	u64(&whole, 1 << 20);
	u64(&whole, 100);
	f = open_bytes(whole);
	assert_int_equal(drain(f), 1);
	assert_true(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_note_count(f), 1);
	assert_non_null(strstr(perf_file_note(f, 0), "header section 12 (EVENT_DESC)"));
	perf_file_close(f);
}

/* `cat a.pipe b.pipe`: the second has events of its own, or the same one. */
static void two_pipes_with(bool same)
{
	struct perf_event_attr a = plain_attr();
	struct out one = {0}, two = {0}, first, second;
	struct perf_file *f;
	struct perf_batch *b;

	plain_sample(&one, 1, 1, 1);
	first = pipe_of(&a, 1, &one);
	if (!same)
		a.type = PERF_TYPE_HARDWARE;
	for (uint64_t i = 0; i < 3; i++)
		plain_sample(&two, 1, 1, 2 + i);
	second = pipe_of(&a, 1, &two);
	bytes(&first, second.v, second.n);
	vec_done(&second);
	f = open_bytes(first);
	b = next(f);
	assert_int_equal(b->n, 4);
	assert_int_equal(perf_file_event_count(f), same ? 1 : 2);
	perf_batch_release(f, b);
	expect_end(f);
	assert_true(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_stats(f)->lost_bytes, 16);
	assert_int_equal(perf_file_note_count(f), 1);
	perf_file_close(f);
}

static void two_pipes(void **state)
{
	(void)state;
	two_pipes_with(false);
	two_pipes_with(true);
}

/* Many events that all claim the same large section of ids: the claims cannot all be true. */
static void shared_ids(void **state)
{
	enum { EVENTS = 20000 };
	struct perf_event_attr *a = calloc(EVENTS, sizeof *a);
	struct out o = {0}, file;
	struct perf_file *f;
	const size_t entry = sizeof *a + 16;

	(void)state;
	assert_non_null(a);
	for (size_t i = 0; i < EVENTS; i++)
		a[i] = plain_attr();
	plain_sample(&o, 1, 1, 1);
	file = file_of(a, EVENTS, &o);
	for (size_t i = 0; i < EVENTS; i++) {
		const struct perfdata_section all = {0, file.n};

		memcpy(file.v + sizeof(struct perfdata_header) + (i + 1) * entry - 16, &all, 16);
	}
	f = open_bytes(file);
	assert_non_null(f);
	assert_int_equal(perf_file_event_count(f), EVENTS);
	assert_int_equal(perf_file_event(f, 0)->n_ids + perf_file_event(f, 1)->n_ids,
			 perf_file_event(f, 0)->n_ids);
	assert_int_equal(drain(f), 1);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
	free(a);
}

/* Attrs of any size: what the writer did not know is 0, what we do not know gives a note. */
static void attr_sizes(void **state)
{
	(void)state;
	for (uint32_t size = 64; size <= 200; size += 8) {
		struct perf_event_attr known = plain_attr();
		struct perfdata_header h = {
			.size = sizeof h,
			.attr_size = size + 16,
			.attrs = {sizeof h, size + 16},
			.data = {sizeof h + size + 16, 32},
		};
		struct out o = {0};
		uint8_t attr[200];
		struct perf_file *f;

		known.size = size;
		known.branch_sample_type = 0x1234;
		memset(attr, size > 144 ? 0xff : 0, sizeof attr);
		memset(attr + 112, 0, 32);
		memcpy(attr, &known, size < 112 ? size : 112);
		memcpy(h.magic, PERFDATA_MAGIC, sizeof h.magic);
		bytes(&o, &h, sizeof h);
		bytes(&o, attr, size);
		u64(&o, sizeof h);
		u64(&o, 0);
		plain_sample(&o, 1, 1, 1);
		f = open_bytes(o);
		assert_non_null(f);
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_event(f, 0)->attr.branch_sample_type,
				 size >= 80 ? 0x1234 : 0);
		assert_int_equal(perf_file_note_count(f), size > 144);
		perf_file_close(f);
	}
}

/* Sections do not overlap. Else a small file would take the memory of many. */
static void sections_on_each_other(void **state)
{
	enum { FIRST = FEATURE_HOSTNAME, N = 8 };
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};
	size_t size, present = 0;

	(void)state;
	plain_sample(&o, 1, 1, 1);
	o = file_of(&a, 1, &o);
	for (unsigned bit = FIRST; bit < FIRST + N; bit++)
		o.v[offsetof(struct perfdata_header, features) + bit / 8] |=
			(uint8_t)(1 << bit % 8);
	for (unsigned i = 0; i < N; i++) {
		u64(&o, 8);
		u64(&o, data_offset(&o));
	}
	f = open_bytes(o);
	assert_int_equal(drain(f), 1);
	for (unsigned bit = FIRST; bit < FIRST + N; bit++)
		present += perf_file_feature(f, bit, &size) != NULL;
	assert_in_range(present, 1, 2);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auxtrace_payload),
		cmocka_unit_test(auxtrace_too_large),
		cmocka_unit_test(hybrid_names),
		cmocka_unit_test(pipe_dialect),
		cmocka_unit_test(two_pipes),
		cmocka_unit_test(section_outside),
		cmocka_unit_test(shared_ids),
		cmocka_unit_test(attr_sizes),
		cmocka_unit_test(sections_on_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

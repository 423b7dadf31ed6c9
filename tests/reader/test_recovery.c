/* test_recovery.c - recordings that are cut, interrupted, or damaged in between. */
#include "tests/reader/build.h"

#include <stdlib.h>

static struct out hundred(struct perf_event_attr *a)
{
	struct out o = {0};

	*a = plain_attr();
	for (uint64_t i = 1; i <= 100; i++)
		plain_sample(&o, 0x1000 + i, 1, i);
	return file_of(a, 1, &o);
}

enum { PLAIN_SAMPLE = 32 };

/* Killed before it wrote the size of its data. */
static void interrupted(void **state)
{
	struct perf_event_attr a;
	struct out o = hundred(&a);
	struct perf_file *f;

	(void)state;
	memset(o.v + offsetof(struct perfdata_header, data.size), 0, 8);
	o.v[offsetof(struct perfdata_header, features)] = 0xff; /* promised, never written */
	o.n -= 5;
	f = open_bytes(o);
	assert_int_equal(drain(f), 99);
	assert_true(perf_file_stats(f)->interrupted);
	assert_true(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_stats(f)->lost_bytes, PLAIN_SAMPLE - 5);
	assert_string_equal(perf_file_event(f, 0)->name, "cpu-clock");
	perf_file_close(f);
}

/* A stream that was cut is said to be, wherever: behind a record nothing shows it. */
static void cut_stream(void **state)
{
	struct perf_event_attr a = plain_attr();

	(void)state;
	for (size_t left = 0; left < PLAIN_SAMPLE; left++) {
		struct out data = {0}, o;
		struct perf_file *f;

		plain_sample(&data, 1, 1, 1);
		plain_sample(&data, 1, 1, 2);
		o = pipe_of(&a, 1, &data);
		o.n -= PLAIN_SAMPLE - left;
		f = open_bytes(o);
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_stats(f)->lost_bytes, left);
		assert_int_equal(perf_file_stats(f)->damaged, left != 0);
		assert_int_equal(perf_file_note_count(f), left != 0);
		if (left)
			assert_non_null(
				strstr(perf_file_note(f, 0), "the stream ends inside of a"));
		perf_file_close(f);
	}
}

/* Cut at every byte: all whole samples are there, and what is missing is counted. */
static void cut_everywhere(void **state)
{
	struct perf_event_attr a;
	struct out whole = hundred(&a);
	const size_t data = data_offset(&whole);

	(void)state;
	for (size_t n = 0; n < whole.n; n++) {
		struct out o = {0};
		struct perf_file *f;
		size_t got, want = n > data ? (n - data) / PLAIN_SAMPLE : 0;

		bytes(&o, whole.v, n);
		f = open_bytes(o);
		if (!f) {
			assert_true(n < data);
			continue;
		}
		got = drain(f);
		assert_int_equal(got, want);
		assert_true(perf_file_stats(f)->truncated);
		if (n >= data) {
			assert_int_equal(perf_file_stats(f)->lost_bytes + got * PLAIN_SAMPLE,
					 whole.n - data);
			assert_int_equal(perf_file_note_count(f), 1);
		}
		perf_file_close(f);
	}
	vec_done(&whole);
}

/* Each byte of the records changed: no more than the record and its neighbour are lost, and what is
 * lost is counted. */
static void every_byte_damaged(void **state)
{
	static const uint8_t flips[] = {0xff, 0x01, 0x80};
	struct perf_event_attr a;
	struct out whole = hundred(&a);
	const size_t data = data_offset(&whole);

	(void)state;
	for (size_t at = data; at < data + 4 * PLAIN_SAMPLE; at++) {
		for (size_t k = 0; k < sizeof flips; k++) {
			const struct perf_file_stats *s;
			struct perf_file *f;
			struct out o = {0};

			bytes(&o, whole.v, whole.n);
			o.v[at] ^= flips[k];
			f = open_bytes(o);
			drain(f);
			s = perf_file_stats(f);
			assert_int_equal(s->sample_records, s->samples + s->skipped_samples);
			/* The size field may be believed when records follow where it points to:
			 * then what lies between was part of this record. */
			if ((at - data) % PLAIN_SAMPLE / 2 != 3)
				assert_true(s->samples >= 98);
			else
				assert_true(s->damaged);
			perf_file_close(f);
		}
	}
	vec_done(&whole);
}

/* A size of 0 in the middle: found back at the next record. */
static void resynchronised(void **state)
{
	struct perf_event_attr a;
	struct out o = hundred(&a);
	struct perf_file *f;

	(void)state;
	memset(o.v + data_offset(&o) + 50 * PLAIN_SAMPLE + 6, 0, 2);
	f = open_bytes(o);
	assert_int_equal(drain(f), 99);
	assert_int_equal(perf_file_stats(f)->lost_bytes, PLAIN_SAMPLE);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

enum { COPY = 56, COPIES = 10, OF_RECORDER = 1040 };

/* A sample with a piece of the recorder's own stack, in which there are copies of records. */
static void sample_of_recorder(struct out *o)
{
	size_t r = rec(o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	u64(o, 1);
	u64(o, 1);
	u64(o, 100);
	u32(o, OF_RECORDER - 32 - 4); /* PERF_SAMPLE_RAW */
	u32(o, 0);		      /* so that the copies are aligned as on a stack */
	for (int i = 0; i < COPIES; i++)
		plain_comm(o, 77, "copy of a record", 50);
	while (o->n - r < OF_RECORDER)
		u32(o, 0);
	end(o, r);
}

/* In a record that is cut off nothing is looked for: a copy in it would be taken for a record. But
 * when records go on to the very end, it was the size that was wrong. */
static void copies_in_the_last_record(void **state)
{
	struct perf_event_attr a = plain_attr();

	(void)state;
	a.sample_type |= PERF_SAMPLE_RAW;
	for (unsigned i = 0; i < 200; i++) {
		const bool as_pipe = i & 1;
		const size_t left = 8 + i / 2 * 8;
		struct out data = {0}, o;
		struct perf_file *f;

		if ((left - 40) % COPY == 0)
			continue; /* the end of a copy: nothing shows that more is missing */
		sample_of_recorder(&data);
		sample_of_recorder(&data);
		o = as_pipe ? pipe_of(&a, 1, &data) : file_of(&a, 1, &data);
		o.n -= OF_RECORDER - left;
		f = open_bytes(o);
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_stats(f)->records, as_pipe ? 2 : 1);
		assert_int_equal(perf_file_stats(f)->lost_bytes, as_pipe ? left : OF_RECORDER);
		assert_true(perf_file_stats(f)->damaged);
		perf_file_close(f);
	}
}

static void wrong_size_near_the_end(void **state)
{
	struct perf_event_attr a;
	struct out o = hundred(&a);
	const uint16_t size = 4096;
	struct perf_file *f;

	(void)state;
	memcpy(o.v + data_offset(&o) + 50 * PLAIN_SAMPLE + 6, &size, sizeof size);
	f = open_bytes(o);
	assert_int_equal(drain(f), 99);
	assert_int_equal(perf_file_stats(f)->lost_bytes, PLAIN_SAMPLE);
	perf_file_close(f);
}

/* A size that is too large, and does not end where a record begins: the records in it are found. As
 * a pipe from a file, and at places that see different parts of the neighbours. */
static void size_too_large(void **state)
{
	(void)state;
	for (uint16_t size = PLAIN_SAMPLE + 8; size < 1200; size += 8) {
		const size_t at = 3 + size % 50;
		struct perf_event_attr a = plain_attr();
		struct out data = {0}, o;
		struct perf_file *f;

		if (size % PLAIN_SAMPLE == 0)
			continue; /* what is in it is believed to be part of it */
		for (uint64_t i = 1; i <= 100; i++)
			plain_sample(&data, 0x1000 + i, 1, i);
		memcpy(data.v + at * PLAIN_SAMPLE + 6, &size, sizeof size);
		o = size % 16 ? pipe_of(&a, 1, &data) : file_of(&a, 1, &data);
		f = open_bytes(o);
		assert_int_equal(drain(f), 99);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_LEFTOVER], 1);
		assert_int_equal(perf_file_stats(f)->lost_bytes, 0);
		assert_true(perf_file_stats(f)->damaged);
		perf_file_close(f);
	}
}

/* A record whose size is no whole number of words, and then a piece of the next: too little to say
 * what it is, and the record is whole. The piece is not taken for the recorder's words, though each
 * of its bytes may be a letter. */
static void odd_size_before_the_cut(void **state)
{
	struct perf_event_attr a = plain_attr();

	(void)state;
	for (size_t left = 0; left < 8; left++) {
		struct out o = {0};
		struct perf_file *f;
		size_t r;

		plain_sample(&o, 1, 1, 1);
		r = rec(&o, RECORD_HEADER_FEATURE, 0);
		u64(&o, FEATURE_HOSTNAME);
		u32(&o, 5);
		bytes(&o, "here", 5);
		end(&o, r);
		bytes(&o, "PERFILE", left);
		f = open_bytes(pipe_of(&a, 1, &o));
		assert_int_equal(drain(f), 1);
		assert_string_equal(perf_file_info(f)->hostname, "here");
		assert_int_equal(perf_file_stats(f)->lost_bytes, left);
		assert_int_equal(perf_file_stats(f)->damaged, left != 0);
		perf_file_close(f);
	}
}

/* Behind a feature, whose size may be odd, records are looked for everywhere; behind the samples
 * that follow only where whole words begin: copies of records elsewhere in a damaged sample are
 * none. */
static void copies_behind_features(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0};
	struct perf_file *f;
	size_t r;

	(void)state;
	a.sample_type |= PERF_SAMPLE_RAW;
	for (int i = 0; i < 6; i++) {
		if (i == 1) {
			r = rec(&o, RECORD_HEADER_FEATURE, 0); /* the end mark */
			u64(&o, 32);
			end(&o, r);
		}
		r = rec(&o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		u64(&o, 1);
		u64(&o, 1);
		u64(&o, 100);
		u32(&o, OF_RECORDER - 32 - 4);
		for (int k = 0; i == 3 && k < COPIES; k++)
			plain_comm(&o, 77, "copy of a record", 50);
		while (o.n - r < OF_RECORDER)
			u32(&o, 0);
		end(&o, r);
		if (i == 3)
			memset(o.v + r + 6, 0, 2);
	}
	f = open_bytes(pipe_of(&a, 1, &o));
	assert_int_equal(drain(f), 5);
	assert_int_equal(perf_file_stats(f)->records, 2 + 5);
	assert_int_equal(perf_file_stats(f)->lost_bytes, OF_RECORDER);
	perf_file_close(f);
}

/* simpleperf adds the values of other counters to its samples. That a recording is its own is known
 * from a section at the end of the file, which may be cut off; the header knows of it. */
static void simpleperf_without_sections(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0};
	struct perf_file *f;

	(void)state;
	a.sample_type |= PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	for (uint64_t i = 1; i <= 3; i++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

		u64(&o, 1);
		u64(&o, 1);
		u64(&o, i);
		u64(&o, 2);
		for (uint64_t k = 0; k < 2; k++) {
			u64(&o, 100 * i);
			u64(&o, 10);
		}
		end(&o, r);
	}
	o = file_of(&a, 1, &o);
	o.v[offsetof(struct perfdata_header, features) + FEATURE_SIMPLEPERF_META_INFO / 8] |=
		1 << FEATURE_SIMPLEPERF_META_INFO % 8;
	f = open_bytes(o);
	assert_int_equal(drain(f), 3);
	assert_true(perf_file_info(f)->is_simpleperf);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupted),
		cmocka_unit_test(cut_stream),
		cmocka_unit_test(cut_everywhere),
		cmocka_unit_test(every_byte_damaged),
		cmocka_unit_test(resynchronised),
		cmocka_unit_test(copies_in_the_last_record),
		cmocka_unit_test(wrong_size_near_the_end),
		cmocka_unit_test(size_too_large),
		cmocka_unit_test(odd_size_before_the_cut),
		cmocka_unit_test(copies_behind_features),
		cmocka_unit_test(simpleperf_without_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sample_decode.c - every field of a sample, from records made by hand in the order of
 * perf_event.h.
 */
#include "tests/reader/build.h"

#define ALL_BITS ((1ull << 24) - 1) /* WEIGHT; WEIGHT_STRUCT would stand in its place */

static struct perf_event_attr full_attr(void)
{
	struct perf_event_attr a = plain_attr();

	a.sample_type = ALL_BITS;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			PERF_FORMAT_ID | READ_FORMAT_LOST;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | BRANCH_HW_INDEX | BRANCH_COUNTERS;
	a.sample_regs_user = 1 << 7 | 1 << 8;
	a.sample_regs_intr = 1 << 3;
	return a;
}

/* All fields; each has a value of its own. */
static size_t full_sample(struct out *o)
{
	size_t r = rec(o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL | 1 << 14);

	u64(o, 10); /* identifier */
	u64(o, 0x401000);
	u32(o, 7);
	u32(o, 8);
	u64(o, 123456789);
	u64(o, 0xadd4);
	u64(o, 10); /* id */
	u64(o, 11); /* stream id */
	u32(o, 3);
	u32(o, 0xdead); /* reserved */
	u64(o, 5000);
	/* read: value, enabled, running, id, lost */
	for (uint64_t v = 100; v < 105; v++)
		u64(o, v == 103 ? 10 : v);
	u64(o, 3); /* call chain */
	u64(o, PERF_CHAIN_USER);
	u64(o, 0x401000);
	u64(o, 0x402000);
	u32(o, 12); /* raw: 4 + 12 bytes are whole words */
	bytes(o, "raw raw raw!", 12);
	u64(o, 2);  /* branches, with index and counters */
	u64(o, 99); /* hw_idx */
	for (uint64_t v = 1; v <= 6; v++)
		u64(o, 0xb0 + v);
	u64(o, 0xc1);
	u64(o, 0xc2);
	u64(o, 2); /* user registers: 64 bits */
	u64(o, 0x7ffe0000);
	u64(o, 0x401000);
	u64(o, 16); /* stack of 16 bytes, 8 of them good */
	bytes(o, "stackcpygarbage!", 16);
	u64(o, 8);
	u64(o, 0x77);	/* weight */
	u64(o, 0xda7a); /* data source */
	u64(o, 0x7a);	/* transaction */
	u64(o, 2);	/* registers at the interrupt */
	u64(o, 0xcafe);
	u64(o, 0x9000); /* physical address */
	u64(o, 0xc6);	/* cgroup */
	u64(o, 4096);	/* page sizes */
	u64(o, 2097152);
	u64(o, 8); /* aux */
	u64(o, 0xa0);
	return r;
}

static void all_fields(void **state)
{
	struct perf_event_attr a = full_attr();
	struct perf_sample *s;
	struct out o = {0};
	struct perf_file *f;
	struct perf_batch *b;
	uint64_t v;

	(void)state;
	end(&o, full_sample(&o));
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->n, 1);
	s = b->samples;
	assert_int_equal(s->ip, 0x401000);
	assert_int_equal(s->pid, 7);
	assert_int_equal(s->tid, 8);
	assert_int_equal(s->time_ns, 123456789);
	assert_int_equal(s->extra->addr, 0xadd4);
	assert_int_equal(s->id, 10);
	assert_int_equal(s->extra->stream_id, 11);
	assert_int_equal(s->cpu, 3);
	/* A lone value that is read stands for what it rose by: from 0. */
	assert_int_equal(s->period, 100);
	assert_int_equal(s->n_ips, 3);
	assert_int_equal(s->ips[0], PERF_CHAIN_USER);
	assert_int_equal(s->ips[2], 0x402000);
	assert_int_equal(s->extra->raw_size, 12);
	assert_memory_equal(s->extra->raw, "raw raw raw!", 12);
	assert_int_equal(s->extra->n_branches, 2);
	assert_int_equal(s->extra->branches[0].from, 0xb1);
	assert_int_equal(s->extra->branches[1].to, 0xb5);
	assert_int_equal(s->extra->branches[1].flags, 0xb6);
	assert_true(perf_regs_get(&s->user_regs, 7, &v));
	assert_int_equal(v, 0x7ffe0000);
	assert_true(perf_regs_get(&s->user_regs, 8, &v));
	assert_int_equal(v, 0x401000);
	assert_false(perf_regs_get(&s->user_regs, 0, &v));
	assert_int_equal(s->user_stack_bytes, 8);
	assert_int_equal(s->user_stack_asked, 16);
	assert_memory_equal(s->user_stack, "stackcpy", 8);
	assert_int_equal(s->extra->weight, 0x77);
	assert_int_equal(s->extra->data_src, 0xda7a);
	assert_int_equal(s->extra->transaction, 0x7a);
	assert_true(perf_regs_get(&s->extra->intr_regs, 3, &v));
	assert_int_equal(v, 0xcafe);
	assert_int_equal(s->extra->phys_addr, 0x9000);
	assert_int_equal(s->extra->cgroup, 0xc6);
	assert_int_equal(s->extra->data_page_size, 4096);
	assert_int_equal(s->extra->code_page_size, 2097152);
	assert_int_equal(s->cpumode, PERF_CPUMODE_KERNEL);
	assert_int_equal(s->misc, PERF_RECORD_MISC_KERNEL | 1 << 14);
	assert_string_equal(s->comm, ":8");
	assert_true(s->has_callchain);
	perf_batch_release(f, b);
	expect_end(f);
	perf_file_close(f);
}

/* Each bit alone: the kernel's size of the field, and no byte is left. */
static void each_bit_alone(void **state)
{
	static const uint8_t words[] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* IP .. STREAM_ID, with READ and CALLCHAIN empty */
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	};

	(void)state;
	for (unsigned bit = 0; bit < sizeof words; bit++) {
		struct perf_event_attr a = plain_attr();
		const struct perf_file_stats *stats;
		struct perf_file *f;
		struct out o = {0};
		size_t r;

		a.sample_type = 1ull << bit;
		a.sample_id_all = 0;
		r = rec(&o, PERF_RECORD_SAMPLE, 0);
		/* A count or size of 0 for the fields that have one; READ has its value, which is
		 * 1 so that it is told. */
		u64(&o, a.sample_type == PERF_SAMPLE_READ);
		end(&o, r);
		f = open_bytes(file_of(&a, 1, &o));
		drain(f);
		stats = perf_file_stats(f);
		assert_int_equal(stats->sample_records, 1);
		assert_int_equal(stats->samples, 1);
		perf_file_close(f);
	}
}

static enum perf_skip only_skip(struct perf_file *f)
{
	const struct perf_file_stats *s = perf_file_stats(f);
	unsigned why = 0;

	assert_int_equal(s->samples, 0);
	assert_int_equal(s->skipped_samples, 1);
	assert_true(s->damaged);
	while (!s->skips[why])
		why++;
	assert_int_equal(s->skips[why], 1);
	return why;
}

/* The full sample cut at every word, with one word too much, and with each count made too large. */
static void wrong_sizes(void **state)
{
	struct perf_event_attr a = full_attr();
	struct out whole = {0};
	struct perf_file *f;

	(void)state;
	end(&whole, full_sample(&whole));
	for (size_t n = 8; n < whole.n; n += 8) {
		struct out o = {0};
		enum perf_skip why;
		uint16_t size = (uint16_t)n;

		bytes(&o, whole.v, n);
		memcpy(o.v + 6, &size, 2);
		f = open_bytes(file_of(&a, 1, &o));
		assert_int_equal(drain(f), 0);
		why = only_skip(f);
		assert_true(why == PERF_SKIP_TOO_SHORT || why == PERF_SKIP_BAD_COUNT);
		perf_file_close(f);
	}
	u64(&whole, 0);
	end(&whole, 0);
	f = open_bytes(file_of(&a, 1, &whole));
	assert_int_equal(drain(f), 0);
	assert_int_equal(only_skip(f), PERF_SKIP_LEFTOVER);
	perf_file_close(f);
}

/* Kernels reserve room for the fields of all that record page faults. */
static void longer_than_its_fields(void **state)
{
	struct perf_event_attr a = full_attr();
	struct out o = {0};
	struct perf_file *f;

	(void)state;
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_PAGE_FAULTS;
	end(&o, full_sample(&o));
	for (int i = 0; i < 4101; i++)
		u64(&o, 0x0101010101010101);
	end(&o, 0);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 1);
	assert_false(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

static void wrong_count(uint64_t sample_type, uint64_t count)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};
	size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

	a.sample_type = sample_type;
	a.sample_regs_user = UINT64_MAX;
	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	u64(&o, count);
	u64(&o, 1);
	u64(&o, 9);
	end(&o, r);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 0);
	assert_int_equal(only_skip(f), PERF_SKIP_BAD_COUNT);
	perf_file_close(f);
}

/* Counts whose product with the size of an element overflows, and those just too large. */
static void counts_beyond_the_record(void **state)
{
	static const uint64_t types[] = {
		PERF_SAMPLE_READ,	  PERF_SAMPLE_CALLCHAIN,  PERF_SAMPLE_RAW,
		PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX,
	};
	static const uint64_t counts[] = {17, 1ull << 31, UINT64_MAX / 8, UINT64_MAX / 24 + 1,
					  UINT64_MAX};

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
			/* RAW has 32 bits, and 20 bytes behind them. */
			if (types[t] != PERF_SAMPLE_RAW || (uint32_t)counts[c] > 20)
				wrong_count(types[t], counts[c]);
	wrong_count(PERF_SAMPLE_REGS_USER, 2);
	/* More valid bytes than the stack copy has. */
	wrong_count(PERF_SAMPLE_STACK_USER, 8);
}

/* A stack of no bytes has no word for the valid ones; registers of no task are none. */
static void absent_stack_and_regs(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};
	size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

	(void)state;
	a.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_PHYS_ADDR;
	a.sample_regs_user = 0xff;
	u64(&o, 0);
	u64(&o, 0);
	u64(&o, 0x1234);
	end(&o, r);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->samples->extra->phys_addr, 0x1234);
	assert_int_equal(b->samples->user_regs.abi, 0);
	assert_int_equal(b->samples->user_stack_asked, 0);
	assert_int_equal(b->samples->cpu, UINT32_MAX);
	perf_batch_release(f, b);
	perf_file_close(f);
}

/* A field from the future: what is known is given, the rest of the record is not held against it.
 */
static void unknown_field(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};
	size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

	(void)state;
	a.sample_type |= 1ull << 40;
	u64(&o, 0x401000);
	u64(&o, 1);
	u64(&o, 77);
	u64(&o, 0xf00d);
	end(&o, r);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->samples->time_ns, 77);
	perf_batch_release(f, b);
	expect_end(f);
	assert_true(perf_file_note_count(f) > 0);
	perf_file_close(f);
}

/* Branch records in call-stack mode replace the callers in the user part; the leaf, the kernel part
 * and an absent user part stay. */
static void lbr_chain(void **state)
{
	/* 0x21 was recorded; without it there is where the newest branch went, 0x20 */
	static const uint64_t want[] = {
		PERF_CHAIN_KERNEL, 0xffff1, PERF_CHAIN_USER, 0x21, 0x11, 0x12};
	static const uint64_t want_to[] = {
		PERF_CHAIN_KERNEL, 0xffff1, PERF_CHAIN_USER, 0x20, 0x11, 0x12};
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	a.sample_type = PLAIN_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | BRANCH_CALL_STACK;
	for (uint64_t user = 0; user < 3; user++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

		u64(&o, 0xffff1);
		u64(&o, 0);
		u64(&o, user);
		u64(&o, 2 + user);
		u64(&o, PERF_CHAIN_KERNEL);
		u64(&o, 0xffff1);
		if (user > 0)
			u64(&o, PERF_CHAIN_USER);
		if (user > 1)
			u64(&o, 0x21);
		u64(&o, 2);
		for (uint64_t i = 1; i <= 2; i++) {
			u64(&o, 0x10 + i); /* from */
			u64(&o, 0x20 * i); /* to */
			u64(&o, 0);
		}
		end(&o, r);
	}
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->n, 3);
	assert_int_equal(b->samples[0].n_ips, 2);
	assert_false(b->samples[0].chain_is_lbr);
	assert_int_equal(b->samples[1].n_ips, sizeof want_to / sizeof *want_to);
	assert_memory_equal(b->samples[1].ips, want_to, sizeof want_to);
	assert_true(b->samples[1].chain_is_lbr);
	assert_int_equal(b->samples[2].n_ips, sizeof want / sizeof *want);
	assert_memory_equal(b->samples[2].ips, want, sizeof want);
	perf_batch_release(f, b);
	perf_file_close(f);
}

static void deferred_sample(struct out *o, uint32_t pid, uint64_t time, uint64_t cookie)
{
	size_t r = rec(o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

	u64(o, 0xffff1);
	u32(o, pid);
	u32(o, pid);
	u64(o, time);
	u64(o, 4);
	u64(o, PERF_CHAIN_KERNEL);
	u64(o, 0xffff1);
	u64(o, CHAIN_USER_DEFERRED);
	u64(o, cookie);
	end(o, r);
}

static void deferred_chain(struct out *o, uint32_t pid, uint64_t time, uint64_t cookie)
{
	size_t r = rec(o, RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER);

	u64(o, cookie);
	u64(o, 2);
	u64(o, PERF_CHAIN_USER);
	u64(o, 0x400000 + pid);
	trailer(o, pid, time);
	end(o, r);
}

/* One record completes two samples of its thread; another cookie and the end of the data give back
 * what there is. */
static void deferred_chains(void **state)
{
	static const struct {
		uint64_t time;
		size_t n_ips;
	} want[] = {{3, 2}, {1, 4}, {2, 4}, {4, 2}};
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	deferred_sample(&o, 1, 1, 0xc00);
	plain_comm(&o, 1, "renamed", 2);
	deferred_sample(&o, 1, 2, 0xc00);
	deferred_sample(&o, 2, 3, 0xc01);
	deferred_sample(&o, 3, 4, 0xc02);
	deferred_chain(&o, 2, 5, 0xbad);
	deferred_chain(&o, 1, 6, 0xc00);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->n, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct perf_sample *s = &b->samples[i];

		assert_int_equal(s->time_ns, want[i].time);
		assert_int_equal(s->n_ips, want[i].n_ips);
		assert_int_equal(s->ips[1], 0xffff1);
	}
	assert_int_equal(b->samples[1].ips[2], PERF_CHAIN_USER);
	assert_int_equal(b->samples[1].ips[3], 0x400001);
	assert_string_equal(b->samples[1].comm, ":1");
	assert_string_equal(b->samples[2].comm, "renamed");
	perf_batch_release(f, b);
	expect_end(f);
	assert_int_equal(perf_file_stats(f)->samples, 4);
	/* Of threads 2 and 3. */
	assert_int_equal(perf_file_note_count(f), 1);
	assert_string_equal(
		perf_file_note(f, 0),
		"2 samples have kernel frames only: the records that hold the user part "
		"of their call chains (CALLCHAIN_DEFERRED) never came");
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fields),
		cmocka_unit_test(each_bit_alone),
		cmocka_unit_test(wrong_sizes),
		cmocka_unit_test(longer_than_its_fields),
		cmocka_unit_test(counts_beyond_the_record),
		cmocka_unit_test(absent_stack_and_regs),
		cmocka_unit_test(unknown_field),
		cmocka_unit_test(lbr_chain),
		cmocka_unit_test(deferred_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

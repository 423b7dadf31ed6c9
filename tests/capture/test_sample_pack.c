/* test_sample_pack.c - packing samples: records built field by field, expected bytes built the same
 * way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "capture/bytes.h"
#include "capture/sample_pack.h"

#define N_REGS 3

static const struct sample_fields dwarf = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.user_regs = 0x111,
};

struct shape {
	unsigned n_ips;
	unsigned abi;
	int raw;		    /* bytes of RAW data with padding; -1: none */
	uint64_t stack, dyn, valid; /* dump size, dyn_size, bytes of it that are given */
	uint64_t cgroup;	    /* 0: the event has none */
	uint64_t addr;		    /* with DATA_SRC and PHYS_ADDR; 0: the event has none of them */
};

/* perf_event.h, PERF_RECORD_SAMPLE. `dump` bytes count up from 1. */
static size_t build(const struct shape *s, uint8_t *out)
{
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER};
	struct bytes b = {0};
	size_t n;

	bytes_put(&b, &h, sizeof h);
	bytes_u64(&b, 77);	  /* id */
	bytes_u64(&b, 0x401000);  /* ip */
	bytes_u64(&b, 5);	  /* pid, tid */
	bytes_u64(&b, 123456789); /* time */
	if (s->addr)
		bytes_u64(&b, s->addr);
	bytes_u64(&b, 1);  /* cpu */
	bytes_u64(&b, 10); /* period */
	bytes_u64(&b, s->n_ips);
	for (unsigned i = 0; i < s->n_ips; i++)
		bytes_u64(&b, 0xffffffff81000000 + i);
	if (s->raw >= 0) {
		bytes_u32(&b, (uint32_t)s->raw);
		bytes_zeros(&b, (size_t)s->raw);
	}
	bytes_u64(&b, s->abi);
	for (unsigned i = 0; i < N_REGS && s->abi; i++)
		bytes_u64(&b, 0x1000 + i);
	bytes_u64(&b, s->stack);
	for (uint64_t i = 0; i < s->stack; i++) {
		uint8_t c = i < s->valid ? (uint8_t)(i + 1) : 0;

		bytes_put(&b, &c, 1);
	}
	if (s->stack)
		bytes_u64(&b, s->dyn);
	if (s->addr) {
		bytes_u64(&b, 0x1e05080021);	/* DATA_SRC */
		bytes_u64(&b, s->addr & 0xfff); /* PHYS_ADDR */
	}
	if (s->cgroup)
		bytes_u64(&b, s->cgroup);
	n = b.vec.n;
	assert_true(n < 65536);
	memcpy(out, b.vec.v, n);
	h.size = (uint16_t)n;
	memcpy(out, &h, sizeof h);
	bytes_done(&b);
	return n;
}

/* Packs `in`, expects `want` byte by byte. */
static struct sample_facts expect(const struct sample_fields *l, struct shape in, struct shape want)
{
	static uint8_t rec[65536], good[65536], got[65536];
	size_t n = build(&in, rec), n_good = build(&want, good), n_got;
	struct sample_facts f;

	/* Unwritten parts of a ring hold old bytes. */
	if (in.stack)
		memset(rec + n - (in.cgroup ? 16 : 8) - (in.addr ? 16 : 0) - (in.stack - in.valid),
		       0xee, in.stack - in.valid);
	memset(got, 0xdd, sizeof got);
	n_got = sample_pack(l, rec, n, got, &f);
	assert_int_equal(n_got, n_good);
	assert_memory_equal(got, good, n_good);
	assert_int_equal(got[n_good], 0xdd); /* nothing is written behind it */
	assert_int_equal(f.time_ns, 123456789);
	assert_int_equal(f.id, 77);
	assert_int_equal(f.period, 10);
	assert_int_equal(sample_id(rec, n), 77);
	return f;
}

static void full_dump_stays(void **state)
{
	struct shape s = {.n_ips = 4, .abi = 2, .raw = -1, .stack = 64, .dyn = 64, .valid = 64};
	struct sample_facts f = expect(&dwarf, s, s);

	(void)state;
	assert_true(f.has_user_stack && f.stack_full);
}

static void rest_is_cut(void **state)
{
	(void)state;
	for (uint64_t dyn = 1; dyn < 1024; dyn++) {
		uint64_t keep = ((dyn + 7) & ~7ull) + 8;
		struct shape in = {.n_ips = dyn % 5,
				   .abi = 2,
				   .raw = -1,
				   .stack = 1024,
				   .dyn = dyn,
				   .valid = dyn};
		struct shape want = in;
		struct sample_facts f;

		want.stack = keep < 1024 ? keep : 1024;
		f = expect(&dwarf, in, want);
		assert_true(f.has_user_stack && !f.stack_full);
	}
}

/* What a kernel wrote of a 32-bit task whose address space ended 4124 bytes above its stack
 * pointer. */
static void end_of_the_address_space(void **state)
{
	(void)state;
	for (uint64_t size = 4121; size < 4128; size++)
		for (uint64_t dyn = size - 16; dyn <= size; dyn++) {
			uint64_t keep = ((dyn + 7) & ~7ull) + 8;
			struct shape in = {.n_ips = 2,
					   .abi = 1,
					   .raw = -1,
					   .stack = size,
					   .dyn = dyn,
					   .valid = dyn};
			struct shape want = in;
			struct sample_facts f;

			want.stack = keep < 4128 ? keep : 4128;
			f = expect(&dwarf, in, want);
			assert_true(f.has_user_stack && !f.stack_full);
		}
}

static void empty_dump_goes(void **state)
{
	struct shape in = {.n_ips = 1, .abi = 2, .raw = -1, .stack = 1024};
	struct shape want = {.n_ips = 1, .abi = 2, .raw = -1};
	struct sample_facts f = expect(&dwarf, in, want);

	(void)state;
	assert_true(f.has_user_stack && !f.stack_full);
}

static void kernel_thread_stays(void **state)
{
	struct shape s = {.n_ips = 9, .abi = 0, .raw = -1};
	struct sample_facts f = expect(&dwarf, s, s);

	(void)state;
	assert_false(f.has_user_stack);
}

static void raw_is_stepped_over(void **state)
{
	struct sample_fields l = dwarf;
	struct shape in = {
		.n_ips = 2, .abi = 2, .raw = 68, .stack = 4096, .dyn = 100, .valid = 100};
	struct shape want = in;

	(void)state;
	l.sample_type |= PERF_SAMPLE_RAW;
	want.stack = 112;
	assert_true(expect(&l, in, want).has_user_stack);
}

/* What stands behind the stack. */
static void tail_stays(void **state)
{
	const struct shape shapes[] = {
		{.n_ips = 4, .abi = 2, .raw = -1, .stack = 64, .dyn = 64, .valid = 64},
		{.n_ips = 4, .abi = 2, .raw = -1, .stack = 512, .dyn = 40, .valid = 40},
		{.n_ips = 4, .abi = 2, .raw = -1, .stack = 512},
		{.n_ips = 4, .abi = 0, .raw = -1},
	};
	const uint64_t packed[] = {64, 48, 0, 0};
	const uint64_t data = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR;
	struct sample_fields l = dwarf;

	(void)state;
	for (unsigned which = 1; which < 4; which++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
			struct shape in = shapes[i], want = shapes[i];

			l.sample_type = dwarf.sample_type;
			l.sample_type |= which & 1 ? PERF_SAMPLE_CGROUP : 0;
			l.sample_type |= which & 2 ? data : 0;
			in.cgroup = want.cgroup = which & 1 ? 4711 : 0;
			in.addr = want.addr = which & 2 ? 0x7f0012345678 : 0;
			want.stack = packed[i];
			expect(&l, in, want);
		}
}

/* A record that contradicts itself is kept as it is; nothing is read or written out of bounds. */
static void damaged_is_kept(void **state)
{
	struct shape s = {.n_ips = 4, .abi = 2, .raw = -1, .stack = 512, .dyn = 40, .valid = 40};
	uint8_t good[1024];
	size_t n = build(&s, good);

	(void)state;
	for (size_t at = 8; at < n; at += 8)
		for (int bit = 0; bit < 64; bit += 9) {
			uint8_t *rec = malloc(n), *got = malloc(n + 7);
			uint64_t v;
			struct sample_facts f;

			memcpy(rec, good, n);
			memcpy(&v, rec + at, 8);
			v ^= 1ull << bit;
			memcpy(rec + at, &v, 8);
			assert_true(sample_pack(&dwarf, rec, n, got, &f) <= n + 7);
			free(rec);
			free(got);
		}
	for (size_t cut = 8; cut < n; cut += 8) {
		uint8_t *rec = malloc(cut), *got = malloc(cut);
		struct sample_facts f;

		memcpy(rec, good, cut);
		assert_int_equal(sample_pack(&dwarf, rec, cut, got, &f), cut);
		assert_memory_equal(rec, got, cut);
		free(rec);
		free(got);
	}
}

/* Another recording's fields took room in ours: what stands there is not ours, nor is the id. */
static void what_follows_goes(void **state)
{
	const struct shape shapes[] = {
		{.n_ips = 4, .abi = 2, .raw = -1, .stack = 64, .dyn = 64, .valid = 64},
		{.n_ips = 4, .abi = 2, .raw = -1},
	};
	static uint8_t good[65536], rec[65536], got[65536];
	struct sample_facts f;

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const size_t n = build(&shapes[i], good), more = 8 * 4101;
		const uint16_t size = (uint16_t)(n + more);

		memset(rec, 0xee, sizeof rec);
		memcpy(rec, good, n);
		memcpy(rec + offsetof(struct perf_event_header, size), &size, sizeof size);
		assert_int_equal(sample_pack(&dwarf, rec, n + more, got, &f), n);
		assert_memory_equal(got, good, n);
		sample_set_id(got, 78);
		assert_int_equal(sample_id(got, n), 78);
		assert_memory_equal(got + 16, good + 16, n - 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_dump_stays),
		cmocka_unit_test(rest_is_cut),
		cmocka_unit_test(empty_dump_goes),
		cmocka_unit_test(kernel_thread_stays),
		cmocka_unit_test(raw_is_stepped_over),
		cmocka_unit_test(damaged_is_kept),
		cmocka_unit_test(end_of_the_address_space),
		cmocka_unit_test(what_follows_goes),
		cmocka_unit_test(tail_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

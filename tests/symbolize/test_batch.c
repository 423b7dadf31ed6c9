/* test_batch.c - symbolizer_run(): answers belong to their queries, in any order, with repetitions,
 * for any number of threads; string ids too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolize/symbolize.h"
#include "tests/random.h"

/* Made by the linker: where this program's image starts. Its code lies at equal offsets in file and
 * memory. */
extern const char __executable_start[];
enum { N_DSOS = 7, N_QUERIES = 6000 };

static char self[4096], map_path[] = "perf-test.map";

static struct dso dsos[N_DSOS] = {
	{.id = 0, .kind = DSO_UNKNOWN, .path = "[stack]"},
	{.id = 1, .kind = DSO_FILE, .path = self},
	{.id = 2, .kind = DSO_FILE, .path = "/no/such/file"},
	{.id = 3, .kind = DSO_ANON, .path = map_path},
	{.id = 5, .kind = DSO_BPF, .path = "bpf_prog_1234"}, /* no query has id 4 */
	{.id = 6, .kind = DSO_VDSO, .path = "[vdso]"},
	{.id = 9, .kind = DSO_GUEST_KERNEL, .path = "[guest.kernel.kallsyms]"},
};

static int set_up(void **unused)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	FILE *f = fopen(map_path, "w");
	int i;

	(void)unused;
	if (n <= 0 || !f)
		return -1;
	for (i = 0; i < 500; i++)
		fprintf(f, "%x 10 jit_%d\n", 0x1000 + i * 16, i % 100);
	fclose(f);
	return 0;
}

/* Addresses of all kinds of dso in no order, many of them more than once. */
static struct sym_query *make_queries(void)
{
	struct sym_query *q = calloc(N_QUERIES, sizeof *q);
	uint64_t state = 2, own = (uintptr_t)next_random - (uintptr_t)__executable_start;
	size_t i;

	assert_non_null(q);
	for (i = 0; i < N_QUERIES; i++) {
		uint64_t r = next_random(&state);

		q[i].dso = r % 8 == 7 ? NULL : &dsos[r % 8];
		q[i].off = own - 0x400 + (r >> 20) % 0x1000;
		q[i].ip = 0x1000 + (r >> 20) % 0x2000;
	}
	return q;
}

struct run {
	struct modules *modules;
	struct symbolizer *s;
	struct sym_result *r;
};

static struct run run_once(const struct sym_query *q, size_t n, size_t step, unsigned n_threads)
{
	struct symbolizer_options opt = {.n_threads = n_threads};
	struct modules_options mopt = {.no_debuginfod_cache = true};
	struct run run = {.r = calloc(n, sizeof *run.r)};
	size_t i;

	assert_non_null(run.r);
	assert_int_equal(modules_new(&run.modules, &mopt, NULL), 0);
	assert_int_equal(symbolizer_new(&run.s, run.modules, NULL, &opt, NULL), 0);
	for (i = 0; i < n; i += step)
		assert_int_equal(
			symbolizer_run(run.s, q + i, step < n - i ? step : n - i, run.r + i, NULL),
			0);
	return run;
}

static void run_done(struct run *run)
{
	symbolizer_free(run->s);
	modules_free(run->modules);
	free(run->r);
}

static const char *text(const struct run *run, uint32_t id)
{
	return strtab_get(symbolizer_strings(run->s), id);
}

static void assert_same(const struct run *a, const struct run *b, size_t i, bool same_ids)
{
	const struct sym_result *x = &a->r[i], *y = &b->r[i];
	uint32_t j;

	assert_int_equal(x->miss, y->miss);
	assert_int_equal(x->offset, y->offset);
	assert_int_equal(x->n_lines, y->n_lines);
	assert_string_equal(text(a, x->symbol), text(b, y->symbol));
	assert_string_equal(text(a, x->symbol_system), text(b, y->symbol_system));
	if (same_ids)
		assert_int_equal(x->symbol, y->symbol);
	for (j = 0; j < x->n_lines; j++) {
		assert_string_equal(text(a, x->lines[j].name), text(b, y->lines[j].name));
		assert_string_equal(text(a, x->lines[j].file), text(b, y->lines[j].file));
		assert_int_equal(x->lines[j].line, y->lines[j].line);
		if (same_ids)
			assert_memory_equal(&x->lines[j], &y->lines[j], sizeof x->lines[j]);
	}
}

static void same_for_any_number_of_threads(void **unused)
{
	struct sym_query *q = make_queries();
	struct run one = run_once(q, N_QUERIES, N_QUERIES, 1);
	unsigned n_threads;
	size_t i;

	(void)unused;
	for (n_threads = 2; n_threads <= 8; n_threads *= 2) {
		struct run many = run_once(q, N_QUERIES, N_QUERIES, n_threads);

		assert_int_equal(strtab_count(symbolizer_strings(one.s)),
				 strtab_count(symbolizer_strings(many.s)));
		for (i = 0; i < N_QUERIES; i++)
			assert_same(&one, &many, i, true);
		run_done(&many);
	}
	run_done(&one);
	free(q);
}

/* The same queries one by one, or in pieces, get the same answers (with other ids). */
static void same_in_pieces(void **unused)
{
	struct sym_query *q = make_queries();
	struct run whole = run_once(q, N_QUERIES, N_QUERIES, 2);
	struct run pieces = run_once(q, N_QUERIES, 700, 2);
	struct run single = run_once(q, 300, 1, 1);
	size_t i;

	(void)unused;
	for (i = 0; i < N_QUERIES; i++)
		assert_same(&whole, &pieces, i, false);
	for (i = 0; i < 300; i++)
		assert_same(&whole, &single, i, false);
	run_done(&whole);
	run_done(&pieces);
	run_done(&single);
	free(q);
}

static void answers_and_reasons(void **unused)
{
	struct sym_query *q = make_queries();
	struct run run = run_once(q, N_QUERIES, N_QUERIES, 2);
	const struct symbolize_stats *st = symbolizer_stats(run.s);
	uint64_t misses = 0, no_map = 0;
	size_t i, named = 0;

	(void)unused;
	for (i = 0; i < N_QUERIES; i++) {
		const struct sym_result *r = &run.r[i];
		char name[32];

		if (!q[i].dso) {
			assert_int_equal(r->miss, SYM_MISS_NO_MAP);
			no_map++;
			continue;
		}
		/* without a function, file and line may be known */
		assert_int_equal(r->miss == SYM_MISS_FOUND,
				 r->symbol || (r->n_lines && r->lines[0].name));
		switch (q[i].dso->kind) {
		case DSO_UNKNOWN:
			assert_int_equal(r->miss, SYM_MISS_NOT_A_FILE);
			break;
		case DSO_BPF:
			assert_string_equal(text(&run, r->symbol), "bpf_prog_1234");
			break;
		case DSO_GUEST_KERNEL:
			assert_int_equal(r->miss, SYM_MISS_NO_KALLSYMS);
			break;
		case DSO_ANON:
			snprintf(name, sizeof name, "jit_%d", (int)((q[i].ip - 0x1000) / 16 % 100));
			if (q[i].ip < 0x1000 + 500 * 16) {
				assert_string_equal(text(&run, r->symbol), name);
				assert_int_equal(r->offset, q[i].ip % 16);
			} else {
				assert_int_equal(r->miss, SYM_MISS_NO_SYMBOL_HERE);
			}
			break;
		case DSO_FILE:
			if (q[i].dso->id == 2)
				assert_int_equal(r->miss, SYM_MISS_NO_FILE);
			else
				named += r->n_lines && r->lines[0].line;
			break;
		default:
			break;
		}
	}
	assert_true(named > 100); /* this program is built with -g */
	for (i = 0; i < SYM_MISS_N; i++)
		misses += st->misses[i];
	assert_int_equal(misses, st->addresses);
	assert_int_equal(st->misses[SYM_MISS_NO_MAP], no_map);
	assert_int_equal(st->misses[SYM_MISS_FOUND], st->symbolized);
	assert_true(st->addresses < N_QUERIES); /* each address once */
	assert_int_equal(symbolizer_miss(run.s, &dsos[2]), SYM_MISS_NO_FILE);
	assert_int_equal(symbolizer_miss(run.s, &dsos[1]), SYM_MISS_FOUND);
	assert_int_equal(symbolizer_miss(run.s, &dsos[0]), SYM_MISS_NOT_A_FILE);
	assert_string_equal(symbolizer_source(run.s, &dsos[2]), "");
	assert_string_equal(symbolizer_source(run.s, &dsos[3]), map_path);
	assert_non_null(strstr(symbolizer_source(run.s, &dsos[1]), "symtab"));
	assert_non_null(strstr(symbolizer_source(run.s, &dsos[1]), "DWARF"));
	run_done(&run);
	free(q);
}

static void no_queries(void **unused)
{
	struct symbolizer *s;
	struct modules *m;

	(void)unused;
	assert_int_equal(modules_new(&m, NULL, NULL), 0);
	assert_int_equal(symbolizer_new(&s, m, NULL, NULL, NULL), 0);
	assert_int_equal(symbolizer_run(s, NULL, 0, NULL, NULL), 0);
	assert_int_equal(strtab_count(symbolizer_strings(s)), 1);
	symbolizer_free(s);
	modules_free(m);
	symbolizer_free(NULL);
}

static void every_reason_has_a_text(void **unused)
{
	int m;

	(void)unused;
	for (m = 0; m < SYM_MISS_N; m++)
		assert_true(strlen(sym_miss_text((enum sym_miss)m)) > 3);
	assert_string_equal(sym_miss_text(SYM_MISS_N), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_for_any_number_of_threads),
		cmocka_unit_test(same_in_pieces),
		cmocka_unit_test(answers_and_reasons),
		cmocka_unit_test(no_queries),
		cmocka_unit_test(every_reason_has_a_text),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}

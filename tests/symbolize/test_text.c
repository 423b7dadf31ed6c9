/* test_text.c - kallsyms and perf-PID.map: good lines, odd lines, hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/kallsyms.h"
#include "symbolize/perfmap.h"
#include "symbolize/read_file.h"
#include "tests/random.h"

static const char *name_at(const struct functab *t, uint64_t addr, uint64_t *start)
{
	struct func_cursor c = {0};
	const struct func *f = functab_find(t, addr, &c);

	if (f && start)
		*start = f->start;
	return f ? f->name : "";
}

static void parse_kallsyms(struct kallsyms *k, const char *text)
{
	assert_int_equal(kallsyms_parse(k, strdup(text), strlen(text)), 0);
}

static void hex_numbers(void **unused)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
		size_t used;
	} rows[] = {
		{"0", true, 0, 1},
		{"ffffffffFFFFFFFF ", true, UINT64_MAX, 16},
		{"0000000000000000000000001z", true, 1, 25},
		{"10000000000000000", false, 0, 0},
		{"", false, 0, 0},
		{"xyz", false, 0, 0},
		{"-1", false, 0, 0},
		{"\xe1\x21", false, 0, 0},
	};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		char copy[64], *p = copy;
		uint64_t v = 0;

		strcpy(copy, rows[i].text);
		assert_int_equal(take_hex(&p, &v), rows[i].good);
		assert_int_equal(v, rows[i].value);
		assert_int_equal(p - copy, rows[i].used);
	}
}

static void kallsyms_of_a_kernel(void **unused)
{
	struct kallsyms k;
	uint64_t start = 0;

	(void)unused;
	parse_kallsyms(&k, "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000000 T startup_64\n" /* the last of several names */
			   "ffffffff81001000 t local\n"
			   "ffffffff81001800 W weak\n"
			   "ffffffff81001800 t not_weak\n"
			   "ffffffff81002000 r rodata\n" /* not a type that counts */
			   "ffffffff81003000 D data\n"
			   "ffffffffc0001000 t nf_hook\t[nf_conntrack]\n"
			   "ffffffffc0000000 t nf_init\t[nf_conntrack]\n" /* not sorted */
			   "ffffffffc0009000 t ext4_sync\t[ext4]\r\n"
			   "ffffffffc000a000 t bpf_prog_6deef7357e7b4530\t[bpf]\n");
	assert_string_equal(name_at(&k.tab, 0xffffffff81000fff, &start), "startup_64");
	assert_string_equal(name_at(&k.tab, 0xffffffff810017ff, &start), "local");
	assert_int_equal(start, 0xffffffff81001000);
	assert_string_equal(name_at(&k.tab, 0xffffffff81001900, NULL), "not_weak");
	assert_string_equal(name_at(&k.tab, 0xffffffff81002100, NULL), "not_weak");
	assert_string_equal(name_at(&k.tab, 0xffffffff81003000, NULL), "data");
	/* the kernel's last symbol does not reach into the modules, nor one module into the next */
	assert_string_equal(name_at(&k.tab, 0xffffffff81004000, NULL), "");
	assert_string_equal(name_at(&k.tab, 0xffffffffc0000500, NULL), "nf_init");
	assert_string_equal(name_at(&k.tab, 0xffffffffc0001fff, NULL), "nf_hook");
	assert_string_equal(name_at(&k.tab, 0xffffffffc0008000, NULL), "");
	assert_string_equal(name_at(&k.tab, 0xffffffffc000a000, NULL), "bpf_prog_6deef7357e7b4530");
	assert_int_equal(k._text, 0xffffffff81000000);
	assert_int_equal(k._stext, 0xffffffff81000000);
	assert_int_equal(k.modules.n, 4);
	assert_false(k.hidden);
	kallsyms_done(&k);
}

static void kallsyms_module_of_function(void **unused)
{
	struct func_cursor c = {0};
	struct kallsyms k;

	(void)unused;
	parse_kallsyms(
		&k, "ffffffff81000000 T a\nffffffffc0000000 t b\t[m1]\nffffffffc0001000 t c\t[m2]\n"
		    "ffffffffc0000800 t d\t[m1]\n");
	assert_string_equal(k.modules.v[functab_find(&k.tab, 0xffffffff81000000, &c)->tag], "");
	assert_string_equal(k.modules.v[functab_find(&k.tab, 0xffffffffc0000000, &c)->tag], "m1");
	assert_string_equal(k.modules.v[functab_find(&k.tab, 0xffffffffc0000900, &c)->tag], "m1");
	assert_string_equal(k.modules.v[functab_find(&k.tab, 0xffffffffc0001000, &c)->tag], "m2");
	kallsyms_done(&k);
}

static void kallsyms_hidden_or_broken(void **unused)
{
	static const char *const no_symbols[] = {"",
						 "\n\n\n",
						 "ffffffff81000000",
						 "ffffffff81000000 T",
						 "ffffffff81000000 T ",
						 "ffffffff81000000 TT name\n",
						 "T name\n",
						 "fffffffff81000000 T too_long\n",
						 "ffffffff81000000 T \t[module]\n",
						 "\xff\xfe\x00\n"};
	struct kallsyms k;
	size_t i;

	(void)unused;
	parse_kallsyms(&k, "0000000000000000 T _stext\n0000000000000000 t f\n");
	assert_true(k.hidden);
	kallsyms_done(&k);
	for (i = 0; i < sizeof no_symbols / sizeof *no_symbols; i++) {
		parse_kallsyms(&k, no_symbols[i]);
		assert_int_equal(k.tab.funcs.n, 0);
		assert_false(k.hidden);
		assert_string_equal(name_at(&k.tab, 0xffffffff81000000, NULL), "");
		kallsyms_done(&k);
	}
	parse_kallsyms(
		&k, "ffffffff81000000 t name\t[unclosed\nffffffff81000010 t last"); /* no newline */
	assert_string_equal(name_at(&k.tab, 0xffffffff81000004, NULL), "name");
	assert_string_equal(name_at(&k.tab, 0xffffffff81000011, NULL), "last");
	kallsyms_done(&k);
}

static void module_names(void **unused)
{
	static const struct {
		const char *path, *name;
	} rows[] = {
		{"[nf_conntrack]", "nf_conntrack"},
		{"/lib/modules/6.1.0/kernel/net/nf-conntrack.ko.xz", "nf_conntrack"},
		{"ext4.ko", "ext4"},
		{"/x/snd-hda-intel.ko.zst", "snd_hda_intel"},
		{"[", ""},
		{"[]", ""},
		{"/bin/ls", ""},
		{"", ""},
		{"/.ko", ""},
	};
	char name[32];
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool good = kallsyms_module_name(rows[i].path, name, sizeof name);

		assert_int_equal(good, rows[i].name[0] != 0);
		if (good)
			assert_string_equal(name, rows[i].name);
	}
	assert_false(
		kallsyms_module_name("[a_name_that_is_too_long_for_the_room]", name, sizeof name));
}

static void perf_map(void **unused)
{
	static const char text[] = "7f0000001000 100 LazyCompile:*foo /app/x.js:1:2\n"
				   "0x7f0000002000 0x80 py::main:/app/x.py  \r\n"
				   "7F0000003000 ff UPPER\n"
				   "7f0000001000 100 foo again\n" /* replaces the first */
				   "7f0000001080 10 inside\n"	  /* cuts into it */
				   "not a line\n"
				   "7f0000004000 0 empty\n"
				   "7f0000004000\n"
				   "7f0000004000 10\n"
				   "7f0000004000 10 \n"
				   "ffffffffffffff00 200 wraps\n"
				   "1 2 3 4 name\n"
				   "\n"
				   "7f0000005000 40 no newline at the end";
	char *copy = strdup(text);
	struct functab t = {0};

	(void)unused;
	assert_int_equal(perfmap_parse(&t, copy, sizeof text - 1), 0);
	assert_string_equal(name_at(&t, 0x7f0000001000, NULL), "foo again");
	assert_string_equal(name_at(&t, 0x7f0000001088, NULL), "inside");
	assert_string_equal(name_at(&t, 0x7f0000001090, NULL), "foo again");
	assert_string_equal(name_at(&t, 0x7f0000001100, NULL), "");
	assert_string_equal(name_at(&t, 0x7f000000207f, NULL), "py::main:/app/x.py");
	assert_string_equal(name_at(&t, 0x7f00000030fe, NULL), "UPPER");
	assert_string_equal(name_at(&t, 0x7f0000004000, NULL), "");
	assert_string_equal(name_at(&t, 0xffffffffffffff80, NULL), "");
	assert_string_equal(name_at(&t, 2, NULL), "3 4 name"); /* hex numbers are hex numbers */
	assert_string_equal(name_at(&t, 0x7f0000005001, NULL), "no newline at the end");
	functab_done(&t);
	free(copy);
}

static void random_bytes(void **unused)
{
	static const char alphabet[] = "0123456789abcdefxtTwD \t[]\n\r\0\xff_";
	uint64_t state = 11;
	unsigned round, i;

	(void)unused;
	for (round = 0; round < 3000; round++) {
		size_t n = round % 400;
		char *a = malloc(n + 1), *b = malloc(n + 1);
		struct functab t = {0};
		struct kallsyms k;

		for (i = 0; i < n; i++) {
			next_random(&state);
			a[i] = b[i] = alphabet[(state >> 8) % (sizeof alphabet - 1)];
		}
		a[n] = b[n] = 0;
		assert_int_equal(perfmap_parse(&t, a, n), 0);
		assert_int_equal(kallsyms_parse(&k, b, n), 0);
		for (i = 0; i < 64; i++) {
			(void)name_at(&t, (uint64_t)1 << i, NULL);
			(void)name_at(&k.tab, (uint64_t)1 << i, NULL);
		}
		functab_done(&t);
		kallsyms_done(&k);
		free(a);
	}
}

static void read_files(void **unused)
{
	struct err err = {0};
	bool cut = false;
	size_t size;
	char *data;
	FILE *f = fopen("text.txt", "w");

	(void)unused;
	fputs("0123456789", f);
	fclose(f);
	assert_int_equal(read_file("text.txt", 100, &data, &size, &cut, &err), 0);
	assert_string_equal(data, "0123456789");
	assert_int_equal(size, 10);
	assert_false(cut);
	free(data);
	assert_int_equal(read_file("text.txt", 4, &data, &size, &cut, &err), 0);
	assert_string_equal(data, "0123");
	assert_true(cut);
	free(data);
	assert_int_equal(read_file("/proc/self/maps", 1 << 20, &data, &size, &cut, &err), 0);
	assert_true(size > 100); /* although its st_size is 0 */
	free(data);
	assert_int_equal(read_file("no-such-file", 4, &data, &size, &cut, &err), -ERR_NOT_FOUND);
	assert_int_equal(read_file("/dev/zero", 4, &data, &size, &cut, &err), -ERR_UNSUPPORTED);
	assert_int_equal(read_file("/", 4, &data, &size, &cut, &err), -ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hex_numbers),
		cmocka_unit_test(kallsyms_of_a_kernel),
		cmocka_unit_test(kallsyms_module_of_function),
		cmocka_unit_test(kallsyms_hidden_or_broken),
		cmocka_unit_test(module_names),
		cmocka_unit_test(perf_map),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(read_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_report.c - words about small recordings whose facts are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/json.h"
#include "report/package.h"
#include "report/report.h"
#include "tests/load/recordings.h"

#define RECORDING "testdata/recordings/cpp-perf/perf.data.xz"

static struct loaded in;

/* Where no file is: there are names of nothing. */
static int load(void **state)
{
	struct load_options opt = {.modules.symfs = "/nonexistent", .n_threads = 1};
	struct err err;

	(void)state;
	opt.keep = PROFILE_KEEP_IPS;
	opt.verify_every = 1;
	return load_profile(&opt, in_tree(RECORDING), &in, &err);
}

static int done(void **state)
{
	(void)state;
	loaded_done(&in);
	return 0;
}

static FILE *out;
static char *written_text;
static size_t written_size;

static void begin(void)
{
	out = open_memstream(&written_text, &written_size);
}

static char *end(void)
{
	fclose(out);
	return written_text;
}

/* What a function writes to `out`; the caller frees it. */
#define TEXT_OF(call) (begin(), (void)(call), end())

/* Each line begins with the command and the input, and ends. */
static void assert_lines_begin(const char *text, const char *command)
{
	char begin[4096];

	snprintf(begin, sizeof begin, "%s: %s: ", command, in.path);
	for (; *text; text = strchr(text, '\n') + 1) {
		assert_memory_equal(text, begin, strlen(begin));
		assert_non_null(strchr(text, '\n'));
		assert_true(text[strlen(begin)] != '\n');
	}
}

static void hints(void **state)
{
	bool any = false;
	char *text = TEXT_OF(any = report_hints(&in, "somebody", out));

	(void)state;
	assert_true(any);
	assert_lines_begin(text, "somebody");
	/* No file is there, so no stack is whole, and code has no names. */
	assert_non_null(strstr(text, "reach no root"));
	assert_non_null(strstr(text, "without names"));
	assert_null(strstr(strstr(text, "without names") + 1, "without names"));
	free(text);
	assert_true(report_hints(&in, "somebody", NULL));
}

/* As dpkg names its lists: with an architecture where several may be installed beside each other.
 */
static void names_of_packages(void **state)
{
	static const struct {
		const char *list, *package;
	} rows[] = {
		{"libglib2.0-0:amd64.list", "libglib2.0-0-dbgsym"},
		{"libpython3.11-minimal:amd64.list", "libpython3.11-minimal-dbgsym"},
		{"python3.11.list", "python3.11-dbgsym"},
		{"g++-12.list", "g++-12-dbgsym"},
		{"libc6:amd64.list", "libc6-dbg"},
		{"libc6.list", "libc6-dbg"},
		{"libc6-i386.list", "libc6-i386-dbgsym"},
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		package_of_symbols(rows[i].list, name, sizeof name);
		assert_string_equal(name, rows[i].package);
	}
}

/* Which package has a file is in the database of dpkg, where there is one. */
static void packages(void **state)
{
	char name[64] = "";

	(void)state;
	assert_false(package_with_symbols("/usr/lib/no-such-file", name, sizeof name));
	assert_string_equal(name, "");
	assert_ptr_equal(report_package_help(), report_package_help());
	if (access("/var/lib/dpkg/info/dpkg.list", R_OK))
		skip();
	assert_true(package_with_symbols("/usr/bin/dpkg", name, sizeof name));
	assert_string_equal(name, "dpkg-dbgsym");
	*name = '\0'; /* where /bin is a link to /usr/bin */
	assert_true(package_with_symbols("/bin/dpkg", name, sizeof name));
	assert_string_equal(name, "dpkg-dbgsym");
	assert_false(package_with_symbols("/usr/bin/dpk", name, sizeof name));
}

/* The ways in which stacks end are all stacks. */
static void quality_adds_up(void **state)
{
	struct quality q;
	struct err err;
	uint64_t ends = 0;
	double share;

	(void)state;
	assert_int_equal(quality_measure(&in, &q, &err), 0);
	for (unsigned k = 0; k <= QUALITY_OTHER_ENDS; k++)
		ends += q.parts[k];
	assert_true(q.user_stacks > 0);
	assert_int_equal(ends, q.user_stacks);
	assert_int_equal(q.parts[QUALITY_NAMES] + q.parts[QUALITY_NAMELESS], q.weight);
	assert_true(quality_share(&q, QUALITY_NO_FILE, &share));
	assert_true(share > 99.9 && share < 100.1);
	assert_true(quality_share(&q, QUALITY_ROOTS, &share));
	assert_true(share < 0.1);
}

static void requirements(void **state)
{
	char good[] = "roots=99,names=95,no_file=100", bad[] = "roofs=9", none[] = "roots",
	     much[] = "roots=101";
	struct requirements r = {0};
	struct quality q;
	struct err err;
	bool met = true;
	char *text;

	(void)state;
	assert_int_equal(quality_measure(&in, &q, &err), 0);
	assert_int_equal(requirements_parse(&r, good, &err), 0);
	text = TEXT_OF(met = requirements_met(&r, &q, "somebody", out));
	assert_false(met);
	assert_non_null(strstr(text, "somebody: --require roots=99: not met: 0.00 %"));
	assert_non_null(strstr(text, "somebody: --require names=95: not met"));
	assert_null(strstr(text, "no_file"));
	free(text);
	assert_int_equal(requirements_parse(&r, bad, &err), -ERR_USAGE);
	assert_int_equal(requirements_parse(&r, none, &err), -ERR_USAGE);
	assert_int_equal(requirements_parse(&r, much, &err), -ERR_USAGE);
}

struct members {
	double samples, user_stacks, no_file;
	unsigned modules;
};

static int see(void *arg, const struct json_value *v)
{
	struct members *m = arg;

	if (v->kind == JSON_NUMBER && !strcmp(v->path, "samples"))
		m->samples = v->number;
	if (v->kind == JSON_NUMBER && !strcmp(v->path, "user_stacks"))
		m->user_stacks = v->number;
	if (v->kind == JSON_NUMBER && !strcmp(v->path, "quality.no_file"))
		m->no_file = v->number;
	m->modules += v->kind == JSON_STRING && !strcmp(v->path, "modules[].path");
	return 0;
}

static void json(void **state)
{
	struct members m = {0};
	struct quality q;
	struct err err;
	char *text;

	(void)state;
	assert_int_equal(quality_measure(&in, &q, &err), 0);
	text = TEXT_OF(report_json(&in, &q, 0.5, out));
	assert_int_equal(json_read(text, strlen(text), "report", see, &m, &err), 0);
	assert_int_equal(strchr(text, '\n') - text + 1, strlen(text));
	free(text);
	assert_true(m.samples == (double)perf_file_stats(in.file)->samples);
	assert_true(m.user_stacks == (double)in.unwind.user_stacks);
	assert_true(m.no_file > 99.9);
	assert_in_range(m.modules, 1, perf_file_dso_count(in.file));
}

static void stats(void **state)
{
	char *text = TEXT_OF(report_text(&in, out)), want[64];

	(void)state;
	snprintf(want, sizeof want, "samples: %llu read",
		 (unsigned long long)perf_file_stats(in.file)->samples);
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(text, "modules by samples:"));
	free(text);
}

static void address(void **state)
{
	const struct profile_location *l = &in.profile->locations.v[in.profile->locations.n - 1];
	size_t found = 0;
	char *text = TEXT_OF(found = report_address(&in, l->ip, out));

	(void)state;
	assert_true(found > 0);
	assert_non_null(strstr(text, "mapping"));
	assert_non_null(strstr(text, "tried"));
	free(text);
	text = TEXT_OF(found = report_address(&in, 0x10, out));
	assert_int_equal(found, 0);
	assert_string_equal(text, "");
	free(text);
}

static void verify(void **state)
{
	char *text = TEXT_OF(report_verify(&in.verify, out)), want[64];

	(void)state;
	snprintf(want, sizeof want, "verify-unwind: %llu stacks",
		 (unsigned long long)in.unwind.user_stacks);
	assert_memory_equal(text, want, strlen(want));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints),	cmocka_unit_test(names_of_packages),
		cmocka_unit_test(packages),	cmocka_unit_test(quality_adds_up),
		cmocka_unit_test(requirements), cmocka_unit_test(json),
		cmocka_unit_test(stats),	cmocka_unit_test(address),
		cmocka_unit_test(verify),
	};

	return cmocka_run_group_tests(tests, load, done);
}

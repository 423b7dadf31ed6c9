/* test_load.c - inputs of every kind become one profile by one call, which says what it has found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/inotify.h>

#include "load/load.h"
#include "tests/load/recordings.h"

/* Made by `perf record` and `capture`: testdata/recordings/README.md. */
#define RECORDING "testdata/recordings/cpp-perf/perf.data.xz"
#define KILLED	  "testdata/recordings/cpp-killed/perf.data.xz"

/* Nothing of this machine is looked at. */
static struct load_options nowhere(void)
{
	return (struct load_options){.modules.symfs = "/nonexistent", .n_threads = 1};
}

static uint64_t weight(const struct profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++)
		sum += p->samples.v[i].count;
	return sum;
}

static bool has_note(const struct loaded *l, const char *part)
{
	for (size_t i = 0; i < l->notes.n; i++)
		if (strstr(l->notes.v[i], part))
			return true;
	return false;
}

static void recording(void **state)
{
	struct load_options opt = nowhere();
	const char *path = in_tree(RECORDING);
	struct loaded in;
	struct err err;

	(void)state;
	assert_int_equal(load_profile(&opt, path, &in, &err), 0);
	assert_ptr_equal(in.path, path);
	assert_null(in.format);
	assert_non_null(in.file);
	assert_int_equal(weight(in.profile), perf_file_stats(in.file)->samples);
	assert_int_equal(loaded_samples(&in), weight(in.profile));
	assert_int_equal(in.filtered, 0);
	assert_false(in.damaged);
	assert_string_equal(in.facts.arch, "x86_64");
	assert_true(in.facts.cpus > 0);
	loaded_done(&in);
	assert_null(in.profile);
}

/* A recorder that was killed: used as far as it goes, and that is said. */
static void interrupted_recording(void **state)
{
	struct load_options opt = nowhere();
	struct loaded in;
	struct err err;

	(void)state;
	assert_int_equal(load_profile(&opt, in_tree(KILLED), &in, &err), 0);
	assert_true(in.damaged);
	assert_true(has_note(&in, "interrupted"));
	assert_true(weight(in.profile) > 0);
	loaded_done(&in);
}

static void text(void **state)
{
	struct load_options opt = nowhere();
	struct loaded in;
	char path[64];
	struct err err;

	(void)state;
	written(path, "a;main;f 3\na;main 4\nno weight here\n");
	assert_int_equal(load_profile(&opt, path, &in, &err), 0);
	unlink(path);
	assert_non_null(in.format);
	assert_string_equal(in.format->name, "folded");
	assert_null(in.file);
	assert_int_equal(weight(in.profile), 7);
	assert_true(in.damaged);
	assert_true(has_note(&in, "line 3"));
	loaded_done(&in);
}

/* What only recordings have is refused with the name of the option. */
static void for_recordings_only(void **state)
{
	struct load_options opt = nowhere();
	struct loaded in;
	char path[64];
	struct err err;

	(void)state;
	written(path, "a;main;f 3\na;main 4\n");
	opt.for_recording = "--stats";
	assert_int_equal(load_profile(&opt, path, &in, &err), -ERR_USAGE);
	assert_non_null(strstr(err.what, "--stats"));
	loaded_done(&in);
	opt.for_recording = NULL;
	opt.filter.time = (struct time_span){.is_percent = true, .to = 50};
	assert_int_equal(load_profile(&opt, path, &in, &err), -ERR_USAGE);
	assert_non_null(strstr(err.what, "--time"));
	loaded_done(&in);
	unlink(path);
}

static void filters(void **state)
{
	struct load_options opt = nowhere();
	uint32_t nobody[] = {4000000};
	struct loaded in;
	struct err err;
	uint64_t all, half;

	(void)state;
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), 0);
	all = weight(in.profile);
	loaded_done(&in);

	opt.filter.time = (struct time_span){.is_percent = true, .to = 50};
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), 0);
	half = weight(in.profile);
	assert_in_range(half, 1, all - 1);
	assert_int_equal(in.filtered, all - half);
	loaded_done(&in);
	/* The options are not changed: they serve for the next input. */
	assert_true(opt.filter.time.is_percent);

	opt.filter = (struct sample_filter){.pids = {nobody, 1, 1}};
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.what, "filters"));
	loaded_done(&in);

	opt.filter = (struct sample_filter){.event = "no-such-event"};
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.what, "no-such-event"));
	loaded_done(&in);
}

static void what_cannot_be_read(void **state)
{
	struct load_options opt = nowhere();
	struct loaded in;
	struct err err;

	(void)state;
	assert_true(load_profile(&opt, "/nonexistent/perf.data", &in, &err) < 0);
	assert_string_equal(err.source, "/nonexistent/perf.data");
	loaded_done(&in);
}

/* ---- what the caller hears ------------------------------------------------------------------ */

struct heard {
	char steps[64]; /* "R": begins; "r": ends */
	uint64_t records;
};

static void on_begin(void *arg, enum load_step step, const char *path, const uint64_t *records)
{
	struct heard *h = arg;

	assert_non_null(path);
	if (step == LOAD_READS)
		assert_non_null(records);
	snprintf(h->steps + strlen(h->steps), sizeof h->steps - strlen(h->steps), "%c",
		 "BRFN"[step]);
}

static void on_end(void *arg, enum load_step step)
{
	struct heard *h = arg;

	snprintf(h->steps + strlen(h->steps), sizeof h->steps - strlen(h->steps), "%c",
		 "brfn"[step]);
}

static void progress(void **state)
{
	struct load_options opt = nowhere();
	struct heard heard = {.steps = ""};
	struct loaded in;
	struct err err;

	(void)state;
	opt.listener = (struct load_listener){on_begin, on_end, &heard};
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), 0);
	assert_string_equal(heard.steps, "RrNn");
	loaded_done(&in);
}

static void stops(void **state)
{
	const volatile sig_atomic_t now = 1;
	struct load_options opt = nowhere();
	struct loaded in;
	struct err err;

	(void)state;
	opt.stop = &now;
	(void)load_profile(&opt, in_tree(RECORDING), &in, &err);
	assert_true(in.interrupted);
	loaded_done(&in);
}

/* ---- many inputs ---------------------------------------------------------------------------- */

/* Nothing of the recording is open any more, and the profile is the same but for its log. */
static void detached(void **state)
{
	struct load_options opt = nowhere();
	struct loaded in;
	struct err err;
	uint64_t samples;

	(void)state;
	opt.keep = PROFILE_KEEP_LOG;
	assert_int_equal(load_profile(&opt, in_tree(RECORDING), &in, &err), 0);
	samples = weight(in.profile);
	assert_int_equal(in.profile->log.n, samples);
	assert_int_equal(loaded_detach(&in, opt.keep, &err), 0);
	assert_null(in.file);
	assert_null(in.modules);
	assert_null(in.symbolizer);
	assert_null(in.profile->info);
	assert_int_equal(in.profile->log.n, 0);
	assert_int_equal(weight(in.profile), samples);
	for (size_t i = 0; i < in.profile->mappings.n; i++)
		assert_null(in.profile->mappings.v[i].dso);
	loaded_done(&in);
}

/* How often a file is opened while it is loaded. */
static unsigned opens(const char *path)
{
	struct load_options opt = nowhere();
	struct loaded in;
	struct err err;
	_Alignas(struct inotify_event) char events[1 << 14];
	unsigned n = 0;
	ssize_t size, at;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	/* Without the end of each, two that follow one another would be told as one. */
	assert_true(inotify_add_watch(fd, path, IN_OPEN | IN_CLOSE) >= 0);
	assert_int_equal(load_profile(&opt, path, &in, &err), 0);
	loaded_done(&in);
	while ((size = read(fd, events, sizeof events)) > 0)
		for (at = 0; at < size;) {
			const struct inotify_event *e = (const void *)(events + at);

			n += e->mask & IN_OPEN ? 1 : 0;
			at += (ssize_t)(sizeof *e + e->len);
		}
	close(fd);
	return n;
}

/* A copy that no other test opens meanwhile. */
static const char *copied(char path[64], const char *source)
{
	char bytes[4096];
	FILE *from = fopen(source, "re"), *to;
	size_t n;
	int fd;

	strcpy(path, "/tmp/unspool-load-XXXXXX");
	fd = mkstemp(path);
	to = fdopen(fd, "w");
	assert_true(from && fd >= 0 && to);
	while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
		assert_int_equal(fwrite(bytes, 1, n, to), n);
	fclose(from);
	assert_int_equal(fclose(to), 0);
	return path;
}

/* Once to see what it is, once to read it. */
static void opened_twice(void **state)
{
	char path[64];

	(void)state;
	assert_int_equal(opens(copied(path, in_tree(RECORDING))), 2);
	unlink(path);
	assert_int_equal(opens(written(path, "a;main;f 3\na;main 4\n")), 2);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recording), cmocka_unit_test(interrupted_recording),
		cmocka_unit_test(text),	     cmocka_unit_test(for_recordings_only),
		cmocka_unit_test(filters),   cmocka_unit_test(what_cannot_be_read),
		cmocka_unit_test(progress),  cmocka_unit_test(stops),
		cmocka_unit_test(detached),  cmocka_unit_test(opened_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

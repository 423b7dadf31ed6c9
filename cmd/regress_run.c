/* regress_run.c - `capture` once per run. */
#include "cmd/regress_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/clean.h"
#include "cmd/regress_place.h"
#include "reader/reader.h"
#include "regress/regress.h"

enum { AGAIN_MAX = 3 }; /* of a run that has lost samples */

/* Finds `capture`: beside this program, else in PATH. */
static void find_capture(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	snprintf(path, size, "capture");
	if (n <= 0)
		return;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash || (size_t)(slash - self) + sizeof "/capture" > size)
		return;
	*slash = '\0';
	if (snprintf(path, size, "%s/capture", self) >= (int)size || access(path, X_OK))
		snprintf(path, size, "capture");
}

static const char *const side_names[] = {"base", "new"};

/* Runs argv in the folder of a side and waits for it. *status: as waitpid() gives it. */
static int run_and_wait(const struct regress_run_options *o, unsigned side, char *const *argv,
			int *status, struct err *err)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		if (setenv("UNSPOOL_SIDE", side_names[side], 1) ||
		    (o->where[side] && chdir(o->where[side]))) {
			fprintf(stderr, "regress: %s: %s\n", o->where[side], strerror(errno));
			_exit(127);
		}
		execvp(argv[0], argv);
		fprintf(stderr, "regress: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		return err_errno(err, errno, argv[0], "start");
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return err_errno(err, errno, argv[0], "wait for");
	return 0;
}

static int status_number(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int prepare(const struct regress_run_options *o, unsigned side, struct err *err)
{
	static char sh[] = "sh", c[] = "-c";
	char *const argv[] = {sh, c, (char *)(uintptr_t)o->prepare, NULL};
	int status = 0, rc = o->prepare ? run_and_wait(o, side, argv, &status, err) : 0;

	if (!rc && status)
		return err_set(err, ERR_IO, o->prepare, "--prepare failed (status %d)",
			       status_number(status));
	return rc;
}

/* A run that only fills caches. */
static int warm_up(const struct regress_run_options *o, unsigned side, struct err *err)
{
	int status = 0, rc = prepare(o, side, err);

	if (!rc)
		rc = run_and_wait(o, side, o->commands[side], &status, err);
	if (!rc && status && !o->ignore_status)
		return err_set(err, ERR_IO, o->commands[side][0],
			       "the command failed (status %d); --ignore-status permits that",
			       status_number(status));
	return rc;
}

/* Is there a file, and not the one that was there before? */
static bool is_recorded(const char *path, const struct stat *before)
{
	struct stat now;

	return !stat(path, &now) && now.st_size &&
	       (now.st_ino != before->st_ino || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

/* The words before the command. */
static int capture_words(const struct regress_run_options *o, const char *capture, char *rate,
			 const char *path, path_list *argv)
{
	/* They are resolved here, and at once: no bundle. */
	const char *const head[] = {capture,
				    "-q",
				    "--bundle=none",
				    o->count ? "-c" : "-F",
				    rate,
				    "-o",
				    path,
				    o->event ? "-e" : "--",
				    o->event,
				    "--"};
	size_t i, n = o->event ? 10 : 8;

	for (i = 0; i < n; i++)
		if (vec_push(argv, (char *)(uintptr_t)head[i]))
			return -1;
	return 0;
}

static int record(const struct regress_run_options *o, const char *capture, unsigned side,
		  const char *path, struct err *err)
{
	char **command = o->commands[side], rate[16];
	struct stat before = {0};
	path_list argv = {0};
	int status = 0, rc = prepare(o, side, err);
	size_t i;

	if (rc)
		return rc;
	(void)stat(path, &before);
	snprintf(rate, sizeof rate, "%u", o->count ? o->count : o->frequency);
	rc = capture_words(o, capture, rate, path, &argv);
	for (i = 0; !rc && command[i]; i++)
		rc = vec_push(&argv, command[i]);
	rc = rc || vec_push(&argv, NULL) ? err_nomem(err)
					 : run_and_wait(o, side, argv.v, &status, err);
	vec_done(&argv);
	if (rc || !status || (o->ignore_status && is_recorded(path, &before)))
		return rc;
	return err_set(err, ERR_IO, command[0], "the command or its recording failed (status %d)%s",
		       status_number(status),
		       o->ignore_status ? "" : "; --ignore-status permits that of the command");
}

/* What cannot be read is not looked at again: who compares the runs says why. */
static bool has_lost(const char *path, uint64_t *samples, uint64_t *lost)
{
	struct perf_file *f = NULL;
	struct perf_batch *batch;
	struct err ignored = {0};
	int rc = perf_file_open(&f, path, NULL, &ignored);

	if (rc)
		return false;
	while ((rc = perf_file_read(f, &batch, &ignored)) > 0)
		perf_batch_release(f, batch);
	*samples = perf_file_stats(f)->sample_records;
	*lost = perf_lost(perf_file_stats(f));
	perf_file_close(f);
	return !rc && !regress_is_whole((double)*samples, (double)*lost);
}

/* Where the recorder had no processor for a while, samples are lost, of either side, and nothing
 * could be compared: one run more costs less than all of them. */
static int record_whole(const struct regress_run_options *o, const char *capture, unsigned side,
			const char *path, struct err *err)
{
	uint64_t samples = 0, lost = 0;
	int rc = record(o, capture, side, path, err);

	for (unsigned again = 0; !rc && again < AGAIN_MAX; again++) {
		if (!has_lost(path, &samples, &lost))
			break;
		if (!o->quiet)
			fprintf(stderr,
				"regress: %s: %" PRIu64 " of %" PRIu64
				" samples were lost while recording: this run is recorded again\n",
				path, lost, samples + lost);
		rc = record(o, capture, side, path, err);
	}
	return rc;
}

static void show_round(const struct regress_run_options *o, unsigned round, unsigned side)
{
	if (o->quiet || !isatty(STDERR_FILENO))
		return;
	clean_bypass("\r");
	fprintf(stderr, "regress: %s%sround %u of %u, %s   ", o->name ? o->name : "",
		o->name ? ": " : "", round, o->runs, side_names[side]);
}

/* The recording's path, absolute if the command runs elsewhere. */
static char *path_of(const struct regress_run_options *o, unsigned side, unsigned round)
{
	char here[PATH_MAX] = "", *path;

	if (o->where[side] && *o->dir != '/' && !getcwd(here, sizeof here))
		return NULL;
	if (asprintf(&path, "%s%s%s/%s%s-%02u.data", here, *here ? "/" : "", o->dir, o->prefix,
		     side_names[side], round) < 0)
		return NULL;
	return path;
}

/* Each side once. The order is random, so that nothing periodic favours one of them. */
static int record_round(const struct regress_run_options *o, const char *capture, unsigned round,
			path_list *sides[2], struct err *err)
{
	unsigned turn, order = 0;
	int rc = 0;

	if (getrandom(&order, sizeof order, 0) != sizeof order)
		order = round;
	for (turn = 0; !rc && turn < 2; turn++) {
		unsigned side = (order + turn) & 1;
		char *path = path_of(o, side, round);

		if (!path)
			return err_nomem(err);
		show_round(o, round, side);
		rc = record_whole(o, capture, side, path, err);
		if (vec_push(sides[side], path))
			return err_nomem(err);
	}
	return rc;
}

/* The first round tells which files are to be drawn another place for the others. */
static int record_rounds(const struct regress_run_options *o, const char *capture,
			 path_list *sides[2], struct err *err)
{
	path_list files = {0};
	unsigned round;
	int rc = 0;

	for (round = 1; !rc && round <= o->runs; round++) {
		regress_place_draw(&files);
		rc = record_round(o, capture, round, sides, err);
		if (!rc && round == 1 && o->runs > 1)
			rc = regress_place_learn(sides[0]->v[sides[0]->n - 1],
						 sides[1]->v[sides[1]->n - 1], &files, err);
	}
	regress_place_done(&files);
	return rc;
}

int regress_run_record(const struct regress_run_options *o, path_list *base, path_list *new,
		       struct err *err)
{
	path_list *sides[] = {base, new};
	char capture[PATH_MAX];
	unsigned round, turn;
	int rc = 0;

	if (mkdir(o->dir, 0777) && errno != EEXIST)
		return err_errno(err, errno, o->dir, "create");
	find_capture(capture, sizeof capture);
	for (round = 0; !rc && round < o->warmup; round++)
		for (turn = 0; !rc && turn < 2; turn++)
			rc = warm_up(o, turn, err);
	rc = rc ? rc : record_rounds(o, capture, sides, err);
	if (!o->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "\n");
	return rc;
}

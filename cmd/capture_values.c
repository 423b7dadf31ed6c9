/* capture_values.c - what the values of those options of `capture` mean that set more than a field,
 * or that have a form of their own. */
#include "cmd/capture_values.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/capture_options.h"

static int bad_value(struct err *err, const char *option, const char *text, const char *wants)
{
	return err_set(err, ERR_USAGE, NULL, "%s: '%s' is not %s", option, text, wants);
}

/* "12,34" */
int capture_add_pids(void *target, const char *option, char *text, struct err *err)
{
	struct pid_vec *list = target;

	for (const char *p = text;;) {
		char *end;
		long n;

		errno = 0;
		n = strtol(p, &end, 10);
		if (end == p || errno || n <= 0 || n > INT32_MAX || (*end && *end != ','))
			return bad_value(err, option, text, "a list of process ids like 12,34");
		if (vec_push(&list->pids, (pid_t)n))
			return err_nomem(err);
		if (!*end)
			return 0;
		p = end + 1;
	}
}

/* perf-record(1), -m: a number of pages, or a size with a letter. */
int capture_set_ring_bytes(void *bytes, const char *option, char *text, struct err *err)
{
	uint64_t v;

	/* perf's second number is for hardware traces. */
	text[strcspn(text, ",")] = 0;
	if (!args_size(text, (uint64_t)sysconf(_SC_PAGESIZE), &v) || !v)
		return bad_value(err, option, text, "a number of pages or a size like 512K or 16M");
	if (v > 1u << 30)
		return bad_value(err, option, text, "at most 1G");
	*(size_t *)bytes = (size_t)v;
	return 0;
}

/* As perf record: 0 is none, and not what capture has by itself. */
int capture_set_realtime(void *priority, const char *option, char *text, struct err *err)
{
	uint64_t v = 0;
	int rc = args_u64(option, text, 0, 99, &v, err);

	*(int *)priority = v ? (int)v : -1;
	return rc;
}

int capture_set_max_size(void *bytes, const char *option, char *text, struct err *err)
{
	return args_size(text, 1, bytes) && *(uint64_t *)bytes
		       ? 0
		       : bad_value(err, option, text, "a size like 100M or 2G");
}

int capture_set_delay(void *ms, const char *option, char *text, struct err *err)
{
	uint64_t v = 0;
	int rc;

	if (!strcmp(text, "-1"))
		return err_set(err, ERR_USAGE, NULL,
			       "%s -1: nothing enables the events later: start capture -p PID when "
			       "it is to begin, or --snapshot[=SEC] keeps the last seconds until "
			       "SIGUSR2",
			       option);
	if (strchr(text, '-'))
		return err_set(err, ERR_USAGE, NULL,
			       "%s: ranges are not recorded in one go: -D FROM --duration SECONDS "
			       "records one; resolve --time START,STOP shows one",
			       option);
	rc = args_u64(option, text, 0, INT32_MAX, &v, err);
	*(unsigned *)ms = (unsigned)v;
	return rc;
}

/* What the clock is in any case. */
int capture_check_clock(void *unused, const char *option, char *text, struct err *err)
{
	(void)unused;
	if (!strcasecmp(text, "mono") || !strcasecmp(text, "monotonic") ||
	    !strcasecmp(text, "CLOCK_MONOTONIC"))
		return 0;
	return err_set(err, ERR_USAGE, NULL, "%s %s: times are those of CLOCK_MONOTONIC", option,
		       text);
}

/* A number, or a name of /etc/passwd (a static program has no other source of names). */
static bool find_user(const char *text, uid_t *ret)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;
	bool found = false;
	char *end;

	while (f && !found && (p = fgetpwent(f)))
		if (!strcmp(p->pw_name, text)) {
			*ret = p->pw_uid;
			found = true;
		}
	if (f)
		fclose(f);
	if (found)
		return true;
	*ret = (uid_t)strtoul(text, &end, 10);
	return end > text && !*end;
}

/* All processes of a user. */
int capture_add_user(void *args, const char *option, char *text, struct err *err)
{
	struct pid_vec *list = &((struct capture_args *)args)->pids;
	const size_t before = list->pids.n;
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int rc = 0;
	uid_t uid = 0;

	if (!proc || !find_user(text, &uid)) {
		if (proc)
			closedir(proc);
		return err_set(err, ERR_USAGE, NULL, "%s: no user %s", option, text);
	}
	while (!rc && (d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);
		struct stat st;

		if (pid > 0 && pid != getpid() && !fstatat(dirfd(proc), d->d_name, &st, 0) &&
		    st.st_uid == uid && vec_push(&list->pids, pid))
			rc = err_nomem(err);
	}
	closedir(proc);
	((struct capture_args *)args)->users = true;
	if (!rc && list->pids.n == before)
		return err_set(err, ERR_NOT_FOUND, NULL, "%s %s: that user has no process", option,
			       text);
	return rc;
}

int capture_set_call_graph(void *target, const char *option, char *text, struct err *err)
{
	static const char dwarf_bytes[] = "dwarf,";
	struct capture_options *o = &((struct capture_args *)target)->opt;
	uint64_t v;
	int rc;

	((struct capture_args *)target)->asks_stacks = true;
	if (!strcmp(text, "dwarf")) {
		o->call_graph = CALL_GRAPH_DWARF;
	} else if (!strcmp(text, "fp")) {
		o->call_graph = CALL_GRAPH_FP;
	} else if (!strcmp(text, "lbr")) {
		return err_set(err, ERR_USAGE, NULL,
			       "%s lbr: branch records are not recorded; dwarf needs none and has "
			       "no limit of 32 frames; perf record --call-graph lbr does, and "
			       "resolve reads it",
			       option);
	} else if (!strcmp(text, "none") || !strcmp(text, "no")) {
		o->call_graph = CALL_GRAPH_NONE;
	} else if (!strncmp(text, dwarf_bytes, sizeof dwarf_bytes - 1)) {
		o->call_graph = CALL_GRAPH_DWARF;
		rc = args_u64("--call-graph dwarf", text + sizeof dwarf_bytes - 1, 8, INT32_MAX, &v,
			      err);
		o->stack_bytes = rc ? 0 : (uint32_t)v;
		return rc;
	} else {
		return bad_value(err, option, text, "dwarf[,BYTES], fp or none");
	}
	return 0;
}

int capture_set_dwarf(void *target, const char *option, char *text, struct err *err)
{
	(void)text;
	return capture_set_call_graph(target, option, (char[]){"dwarf"}, err);
}

int capture_set_duration(void *seconds, const char *option, char *text, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0 && v < 1e9))
		return bad_value(err, option, text, "a number of seconds");
	*(double *)seconds = v;
	return 0;
}

int capture_add_events(void *target, const char *option, char *text, struct err *err)
{
	struct capture_options *o = &((struct capture_args *)target)->opt;

	if (!strcmp(text, "list") || !strcmp(text, "help"))
		return err_set(err, ERR_USAGE, NULL, "%s: `capture --list` names all events",
			       option);
	if (o->n_events == CAPTURE_EVENTS_MAX)
		return err_set(err, ERR_USAGE, NULL, "%s: more than %d times", option,
			       CAPTURE_EVENTS_MAX);
	o->events[o->n_events++] = text;
	return 0;
}

int capture_add_filter(void *target, const char *option, char *text, struct err *err)
{
	struct capture_options *o = &((struct capture_args *)target)->opt;

	if (!o->n_events)
		return err_set(err, ERR_USAGE, NULL, "%s '%s': which event? It stands behind -e",
			       option, text);
	o->filters[o->n_events - 1] = text;
	return 0;
}

int capture_set_frequency(void *target, const char *option, char *text, struct err *err)
{
	struct capture_options *o = &((struct capture_args *)target)->opt;
	uint64_t v = UINT32_MAX; /* the kernel's limit is applied later, with a warning */

	if (strcmp(text, "max") && args_u64(option, text, 1, INT32_MAX, &v, NULL))
		return bad_value(err, option, text,
				 "a number of samples a second, as 99 or 999, or max");
	o->period = 0;
	o->frequency_hz = (unsigned)v;
	o->asks_rate = true;
	return 0;
}

int capture_set_every(void *target, const char *option, char *text, struct err *err)
{
	struct capture_options *o = &((struct capture_args *)target)->opt;
	uint64_t ms = 0;
	int rc = args_u64(option, text, 1, 1000000, &ms, err);

	o->every_ms = (unsigned)ms;
	return rc;
}

int capture_set_bundle_max(void *bytes, const char *option, char *text, struct err *err)
{
	if (args_size(text, 1, bytes) && *(uint64_t *)bytes)
		return 0;
	return bad_value(err, option, text, "a size like 500K or 64M");
}

int capture_set_snapshot(void *seconds, const char *option, char *text, struct err *err)
{
	uint64_t v = SNAPSHOT_S;
	int rc = text ? args_u64(option, text, 1, 86400, &v, err) : 0;

	*(unsigned *)seconds = (unsigned)v;
	return rc;
}

/* "COMMAND fails", else an event. */
int capture_set_snapshot_on(void *target, const char *option, char *text, struct err *err)
{
	static const char fails[] = " fails";
	const size_t n = strlen(text), m = sizeof fails - 1;
	struct capture_args *a = target;
	const bool is_command = n > m && !strcmp(text + n - m, fails);

	if (is_command ? a->opt.snapshot_command != NULL : a->opt.snapshot_event != NULL)
		return err_set(err, ERR_USAGE, NULL, "%s: given twice", option);
	if (!is_command && strchr(text, ' '))
		return bad_value(err, option, text,
				 "an event, as in -e, nor a command followed by ` fails`");
	if (is_command)
		text[n - m] = 0;
	*(is_command ? &a->opt.snapshot_command : &a->opt.snapshot_event) = text;
	return 0;
}

int capture_set_alloc_bytes(void *bytes, const char *option, char *text, struct err *err)
{
	*(uint64_t *)bytes = 512 << 10;
	if (!text || (args_size(text, 1, bytes) && *(uint64_t *)bytes &&
		      *(uint64_t *)bytes <= (uint64_t)1 << 40))
		return 0;
	return bad_value(err, option, text, "a number of bytes like 64K or 1M");
}

int capture_set_hit_rate(void *n, const char *option, char *text, struct err *err)
{
	return args_u64(option, text, 1, INT64_MAX, n, err);
}

int capture_set_files_max(void *n, const char *option, char *text, struct err *err)
{
	return args_u64(option, text, 1, INT32_MAX, n, err);
}

int capture_set_period(void *target, const char *option, char *text, struct err *err)
{
	struct capture_options *o = &((struct capture_args *)target)->opt;

	o->frequency_hz = 0;
	o->asks_rate = true;
	return args_u64(option, text, 1, INT64_MAX, &o->period, err);
}

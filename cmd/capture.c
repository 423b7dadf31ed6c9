/* capture.c - the command line of capture: options in, one recording, one summary line out. */
#include "capture/capture.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/args.h"

#define EXIT_TROUBLE 2

static const char help_text[] =
	"usage: capture [OPTIONS] [--] [COMMAND [ARG..]]\n"
	"\n"
	"Records samples with registers and stack copies into a perf.data file, which\n"
	"`resolve` and `perf` read.\n"
	"\n"
	"What to record:\n"
	"  -a                     all processes, on all CPUs (with a command: while it runs)\n"
	"  -p PID[,PID..]         processes, with threads and children they start later\n"
	"  -t TID[,TID..]         threads\n"
	"  --cgroup PATH          processes of a cgroup\n"
	"  -C CPUS                only on these CPUs: 0,2-3; alone: all processes there\n"
	"  --no-inherit           not what the recorded threads start\n"
	"\n"
	"When to take samples:\n"
	"  -e EVENT[,EVENT..]     cycles (else cpu-clock), instructions, cache-misses, "
	"page-faults,\n"
	"                         context-switches .., rNNN, sys:tracepoint; with :u or :k\n"
	"  -F HZ                  so many times a second and CPU (default 99)\n"
	"  -c N                   after every N events\n"
	"  -D MS                  begin after MS milliseconds\n"
	"  --duration SEC         end after SEC seconds\n"
	"\n"
	"What goes into a sample:\n"
	"  --call-graph dwarf[,BYTES]  registers and BYTES of stack, unwound later (default "
	"32768)\n"
	"  --call-graph fp        the kernel follows frame pointers\n"
	"  --call-graph none      the address alone\n"
	"  -g                     --call-graph dwarf\n"
	"  --user                 user space only\n"
	"\n"
	"Where to:\n"
	"  -o FILE                default perf.data; one that exists becomes FILE.old\n"
	"  -m SIZE                ring per CPU: pages, or 512K, 16M\n"
	"  --no-compress          records as they are, without zstd\n"
	"  -q, -v                 no summary; more of it\n"
	"\n"
	"  --check                says what would work here, and what cures the rest\n"
	"  -h, --help, --version\n"
	"\n"
	"Exit status: that of COMMAND (128 + signal when it was killed); 0 without one; 2 "
	"trouble.\n"
	"\n"
	"  capture -a -F 99 -- sleep 10      the whole machine for ten seconds\n"
	"  capture -p $(pidof server)        a process, until ^C\n"
	"  capture -F 999 -- make            a command and all it starts\n";

/* What the signal handlers touch: no other way leads into them. */
static volatile int stop_signal;

static void on_signal(int sig)
{
	if (stop_signal) /* the second time: at once. The file is whole up to its last block. */
		_exit(128 + sig);
	stop_signal = sig;
}

struct pid_vec {
	VEC(pid_t) pids;
};

struct args {
	struct capture_options opt;
	struct pid_vec pids, tids;
	bool quiet, verbose, check;
};

/* ---- values of options ------------------------------------------------------------------- */

static int bad_value(struct err *err, const char *option, const char *text, const char *wants)
{
	return err_set(err, ERR_USAGE, NULL, "%s: '%s' is not %s", option, text, wants);
}

static int set_u32(const char *option, const char *text, uint32_t min, uint32_t *ret,
		   struct err *err)
{
	uint64_t v;
	int rc = args_u64(option, text, INT32_MAX, &v, err);

	if (!rc && v < min)
		rc = bad_value(err, option, text, "large enough");
	if (!rc)
		*ret = (uint32_t)v;
	return rc;
}

/* "12,34" */
static int add_pids(struct pid_vec *list, const char *option, const char *text, struct err *err)
{
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
static int set_ring_bytes(const char *text, size_t *ret, struct err *err)
{
	static const char letters[] = "BKMG";
	const char *letter;
	uint64_t v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	letter = *end ? strchr(letters, *end) : NULL;
	if (text[0] < '0' || text[0] > '9' || errno || !v || v > 1 << 30 ||
	    (*end && (!letter || end[1])))
		return bad_value(err, "-m", text, "a number of pages or a size like 512K or 16M");
	v *= letter ? 1ull << 10 * (letter - letters) : (uint64_t)sysconf(_SC_PAGESIZE);
	if (v > 1u << 30)
		return bad_value(err, "-m", text, "at most 1G");
	*ret = (size_t)v;
	return 0;
}

static int set_call_graph(const char *text, struct capture_options *o, struct err *err)
{
	static const char dwarf_bytes[] = "dwarf,";

	if (!strcmp(text, "dwarf")) {
		o->call_graph = CALL_GRAPH_DWARF;
	} else if (!strcmp(text, "fp")) {
		o->call_graph = CALL_GRAPH_FP;
	} else if (!strcmp(text, "none") || !strcmp(text, "no")) {
		o->call_graph = CALL_GRAPH_NONE;
	} else if (!strncmp(text, dwarf_bytes, sizeof dwarf_bytes - 1)) {
		o->call_graph = CALL_GRAPH_DWARF;
		return set_u32("--call-graph dwarf", text + sizeof dwarf_bytes - 1, 8,
			       &o->stack_bytes, err);
	} else {
		return bad_value(err, "--call-graph", text, "dwarf[,BYTES], fp or none");
	}
	return 0;
}

static int set_duration(const char *text, double *ret, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0 && v < 1e9))
		return bad_value(err, "--duration", text, "a number of seconds");
	*ret = v;
	return 0;
}

static int add_events(const char *text, struct capture_options *o, struct err *err)
{
	if (o->n_events == CAPTURE_EVENTS_MAX)
		return err_set(err, ERR_USAGE, NULL, "-e: more than %d times", CAPTURE_EVENTS_MAX);
	o->events[o->n_events++] = text;
	return 0;
}

static int set_frequency(const char *text, struct capture_options *o, struct err *err)
{
	o->period = 0;
	if (!strcmp(text, "max")) {
		o->frequency_hz = UINT32_MAX; /* the kernel's limit is applied later, and told */
		return 0;
	}
	return set_u32("-F", text, 1, &o->frequency_hz, err);
}

static int set_period(const char *text, struct capture_options *o, struct err *err)
{
	int rc = args_u64("-c", text, INT64_MAX, &o->period, err);

	if (!rc && !o->period)
		rc = bad_value(err, "-c", text, "at least 1");
	o->frequency_hz = 0;
	return rc;
}

/* ---- options ----------------------------------------------------------------------------- */

enum long_option {
	OPT_CALL_GRAPH = 256,
	OPT_CGROUP,
	OPT_CHECK,
	OPT_DURATION,
	OPT_NO_COMPRESS,
	OPT_NO_INHERIT,
	OPT_USER,
	OPT_VERSION,
};

/* Long names of the short options are perf's. */
static const struct option long_options[] = {
	{"all-cpus", no_argument, NULL, 'a'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"cpu", required_argument, NULL, 'C'},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"freq", required_argument, NULL, 'F'},
	{"count", required_argument, NULL, 'c'},
	{"event", required_argument, NULL, 'e'},
	{"call-graph", required_argument, NULL, OPT_CALL_GRAPH},
	{"output", required_argument, NULL, 'o'},
	{"delay", required_argument, NULL, 'D'},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"mmap-pages", required_argument, NULL, 'm'},
	{"no-compress", no_argument, NULL, OPT_NO_COMPRESS},
	{"no-inherit", no_argument, NULL, OPT_NO_INHERIT},
	{"user", no_argument, NULL, OPT_USER},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"check", no_argument, NULL, OPT_CHECK},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{0},
};

static int apply_option(struct args *a, int c, char *text, struct err *err)
{
	struct capture_options *o = &a->opt;

	switch (c) {
	case 'a':
		o->system_wide = true;
		return 0;
	case 'p':
		return add_pids(&a->pids, "-p", text, err);
	case 't':
		return add_pids(&a->tids, "-t", text, err);
	case 'C':
		o->cpus = text;
		return 0;
	case OPT_CGROUP:
		o->cgroup = text;
		return 0;
	case 'F':
		return set_frequency(text, o, err);
	case 'c':
		return set_period(text, o, err);
	case 'e':
		return add_events(text, o, err);
	case 'g':
		o->call_graph = CALL_GRAPH_DWARF;
		return 0;
	case OPT_CALL_GRAPH:
		return set_call_graph(text, o, err);
	case 'o':
		o->output = text;
		return 0;
	case 'D':
		return set_u32("-D", text, 0, &o->delay_ms, err);
	case OPT_DURATION:
		return set_duration(text, &o->duration_s, err);
	case 'm':
		return set_ring_bytes(text, &o->ring_bytes, err);
	case OPT_NO_COMPRESS:
		o->no_compress = true;
		return 0;
	case OPT_NO_INHERIT:
		o->no_inherit = true;
		return 0;
	case OPT_USER:
		o->no_kernel = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	default:
		a->check = true;
		return 0;
	}
}

/* 0, 1 when help or version was asked for and given, or negative. An unknown option was told by
 * getopt and leaves *err empty. */
static int parse_args(struct args *a, int argc, char **argv, struct err *err)
{
	struct capture_options *o = &a->opt;
	bool some;
	int c, rc;

	while ((c = getopt_long(argc, argv, "+ap:t:C:F:c:e:go:D:m:qvh", long_options, NULL)) >= 0) {
		if (c == '?')
			return -ERR_USAGE;
		if (c == 'h' || c == OPT_VERSION) {
			fputs(c == 'h' ? help_text : "capture (unspool) " UNSPOOL_VERSION "\n",
			      stdout);
			return 1;
		}
		rc = apply_option(a, c, optarg, err);
		if (rc)
			return rc;
	}
	if (optind < argc)
		o->command = argv + optind;
	o->pids = a->pids.pids.v;
	o->n_pids = a->pids.pids.n;
	o->tids = a->tids.pids.v;
	o->n_tids = a->tids.pids.n;
	o->recorder_argv = argv;
	o->recorder_argc = argc;
	some = o->n_pids || o->n_tids || o->cgroup || o->command;
	if (o->cpus && !some)
		o->system_wide = true;
	if (!a->check && !o->system_wide && !some)
		return err_set(err, ERR_USAGE, NULL,
			       "nothing to record: give a command, -p PID, or -a; see --help");
	return 0;
}

/* ---- words --------------------------------------------------------------------------------- */

static void print_err(const struct err *err)
{
	char text[ERR_SOURCE_MAX + ERR_WHAT_MAX + 64];

	err_format(err, text, sizeof text);
	fprintf(stderr, "capture: %s\n", text);
}

static void print_size(uint64_t bytes)
{
	if (bytes < 100 * 1000)
		fprintf(stderr, "%.1f kB", (double)bytes / 1e3);
	else
		fprintf(stderr, "%.1f MB", (double)bytes / 1e6);
}

static void print_summary(const struct args *a, const struct capture_result *r)
{
	for (unsigned i = 0; i < r->n_notes; i++)
		fprintf(stderr, "capture: %s\n", r->notes[i]);
	fprintf(stderr, "[ capture: %llu samples of %s, %llu lost", (unsigned long long)r->samples,
		r->event, (unsigned long long)r->lost);
	if (r->lost_sideband)
		fprintf(stderr, " (and %llu records about processes)",
			(unsigned long long)r->lost_sideband);
	if (r->user_stacks)
		fprintf(stderr, ", %.1f %% of the stack copies full at %u bytes",
			100.0 * (double)r->truncated_stacks / (double)r->user_stacks,
			r->stack_bytes);
	fprintf(stderr, ", ");
	print_size(r->bytes_written);
	fprintf(stderr, " %s ]\n", a->opt.output);
	if (!a->verbose)
		return;
	fprintf(stderr,
		"[ capture: counted %llu, throttled %llu times, %llu other records, "
		"%llu bytes before compression, rings of %zu KiB ]\n",
		(unsigned long long)r->period_total, (unsigned long long)r->throttled,
		(unsigned long long)r->other_records, (unsigned long long)r->raw_bytes,
		r->ring_bytes / 1024);
}

static void say_line(void *arg, const char *line)
{
	fprintf(arg, "%s\n", line);
}

/* ---- main ---------------------------------------------------------------------------------- */

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	/* No SA_RESTART: poll() must come back. */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* What was written stays good when the terminal goes away; nohup's wish is respected. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &sa, NULL);
}

static int exit_status(const struct capture_options *o, const struct capture_result *r)
{
	if (!o->command)
		return 0;
	if (r->child_running)
		return 128 + SIGTERM;
	if (WIFSIGNALED(r->child_status))
		return 128 + WTERMSIG(r->child_status);
	return WEXITSTATUS(r->child_status);
}

static int record(const struct args *a)
{
	struct capture_result result;
	struct err err = {0};
	int rc;

	catch_signals();
	rc = capture_run(&a->opt, &stop_signal, &result, &err);
	if (rc)
		print_err(&err);
	/* After a failure there is a file if there was a recording: ring_bytes is set by then. */
	if (!a->quiet && (!rc || result.ring_bytes))
		print_summary(a, &result);
	return rc ? EXIT_TROUBLE : exit_status(&a->opt, &result);
}

int main(int argc, char **argv)
{
	struct args a = {.opt = {.frequency_hz = 99, .output = "perf.data"}};
	struct err err = {0};
	int rc = parse_args(&a, argc, argv, &err);

	if (rc < 0) {
		if (err.code)
			print_err(&err);
		else
			fputs("Try 'capture --help'.\n", stderr);
		rc = EXIT_TROUBLE;
	} else if (rc) {
		rc = 0;
	} else if (a.check) {
		capture_check(say_line, stdout);
	} else {
		rc = record(&a);
	}
	vec_done(&a.pids.pids);
	vec_done(&a.tids.pids);
	return rc;
}

/* resolve.c - the command line of `resolve`: perf.data in, profile out. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/explain.h"
#include "cmd/fetch.h"
#include "cmd/pipeline.h"
#include "cmd/report.h"

/* The largest copy of a stack that fits into a record (perf_event_open(2)). */
enum { STACK_COPY_MAX = 65528 };

enum { EXIT_FINE = 0, EXIT_DAMAGED = 1, EXIT_TROUBLE = 2 };

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

struct resolve {
	struct pipeline_options pipeline;
	struct output_options output;
	const struct output_format *format;
	const char *output_path; /* NULL or "-": stdout */
	const char *time;
	VEC(const char *) debug_dirs;
	enum stats_form stats;
	uint64_t explain_ip;
	enum fetch_mode fetch;
	struct fetch_watch watch;
	bool strict, quiet, header_only, explain;
};

/* The globals: a signal handler can reach nothing else. */
static volatile sig_atomic_t stop_requested;
static struct fetch_signals fetching;

enum { PATIENT_INTERRUPTS = 4 }; /* with which transfers are waited for */

/* The first ends the reading, the second the program; while files are fetched it is for those. */
static void on_interrupt(int sig)
{
	if (fetching.active && fetching.skips < PATIENT_INTERRUPTS) {
		fetching.skips++;
		return;
	}
	if (stop_requested) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	stop_requested = 1;
}

static void complain(const struct err *e)
{
	char line[ERR_SOURCE_MAX + ERR_WHAT_MAX + 64];

	err_format(e, line, sizeof line);
	fprintf(stderr, "resolve: %s\n", line);
}

/* ---- options --------------------------------------------------------------------------- */

enum option_id {
	O_ADDRS = 256,
	O_ALL,
	O_COMM,
	O_COUNT,
	O_CPU,
	O_DEBUG_DIR,
	O_DEBUGINFOD,
	O_EVENT,
	O_EXPLAIN,
	O_HEADER,
	O_INLINE,
	O_JIT,
	O_KALLSYMS,
	O_KERNEL,
	O_MAX_STACK,
	O_NO_DEMANGLE,
	O_NO_GUESS,
	O_NO_INLINE,
	O_PID,
	O_STATS,
	O_STITCH,
	O_STRICT,
	O_SYMFS,
	O_TID,
	O_TIME,
	O_UNWINDER,
	O_VERIFY,
	O_VERSION,
	O_WITH_PID,
	O_WITH_TID,
};

static const struct option long_options[] = {
	{"addrs", no_argument, NULL, O_ADDRS},
	{"all", no_argument, NULL, O_ALL},
	{"comm", required_argument, NULL, O_COMM},
	{"comms", required_argument, NULL, O_COMM},
	{"count", required_argument, NULL, O_COUNT},
	{"cpu", required_argument, NULL, O_CPU},
	{"debug-dir", required_argument, NULL, O_DEBUG_DIR},
	{"debuginfod", optional_argument, NULL, O_DEBUGINFOD},
	{"event", required_argument, NULL, O_EVENT},
	{"explain", required_argument, NULL, O_EXPLAIN},
	{"format", required_argument, NULL, 'f'},
	{"header", no_argument, NULL, O_HEADER},
	{"header-only", no_argument, NULL, O_HEADER},
	{"help", no_argument, NULL, 'h'},
	{"inline", no_argument, NULL, O_INLINE},
	{"input", required_argument, NULL, 'i'},
	{"jit", no_argument, NULL, O_JIT},
	{"jobs", required_argument, NULL, 'j'},
	{"kallsyms", required_argument, NULL, O_KALLSYMS},
	{"kernel", no_argument, NULL, O_KERNEL},
	{"max-stack", required_argument, NULL, O_MAX_STACK},
	{"no-demangle", no_argument, NULL, O_NO_DEMANGLE},
	{"no-guess", no_argument, NULL, O_NO_GUESS},
	{"no-inline", no_argument, NULL, O_NO_INLINE},
	{"output", required_argument, NULL, 'o'},
	{"pid", required_argument, NULL, O_PID},
	{"quiet", no_argument, NULL, 'q'},
	{"stats", optional_argument, NULL, O_STATS},
	{"stitch", no_argument, NULL, O_STITCH},
	{"strict", no_argument, NULL, O_STRICT},
	{"symfs", required_argument, NULL, O_SYMFS},
	{"tid", required_argument, NULL, O_TID},
	{"time", required_argument, NULL, O_TIME},
	{"unwinder", required_argument, NULL, O_UNWINDER},
	{"verify-unwind", optional_argument, NULL, O_VERIFY},
	{"version", no_argument, NULL, O_VERSION},
	{"vmlinux", required_argument, NULL, 'k'},
	{"with-pid", no_argument, NULL, O_WITH_PID},
	{"with-tid", no_argument, NULL, O_WITH_TID},
	{NULL, 0, NULL, 0},
};

static const char help_text[] =
	"usage: resolve [OPTIONS] [FILE=perf.data | -]\n"
	"Unwinds and symbolizes a recording of `capture` or `perf record`, offline.\n"
	"\n"
	"  resolve perf.data > out.folded              folded stacks, for flame graphs and diffs\n"
	"  resolve -o out.pb.gz perf.data              pprof; the suffix of -o picks the format\n"
	"  resolve -f script --no-inline perf.data     what `perf script` prints\n"
	"\n"
	"output:\n"
	"  -f, --format NAME      one of the formats below (default: by the suffix of -o, else "
	"folded)\n"
	"  -o, --output FILE      instead of standard output\n"
	"      --count WHAT       weigh stacks by `period` (default) or `samples`\n"
	"      --kernel --jit --inline --all   folded: mark frames with _[k] _[j] _[i]; all but "
	"inline\n"
	"      --with-pid --with-tid --addrs   folded: more in the root frame; unknown as [module "
	"<addr>]\n"
	"      --header           print the recording's header and stop\n"
	"samples:\n"
	"      --comm NAMES  --pid PIDS  --tid TIDS  --cpu LIST  --event NAME\n"
	"      --time START,STOP  in seconds of the recording's clock, or P%-Q%\n"
	"stacks and names:\n"
	"      --no-inline        symbols only: no inlined frames, no lines\n"
	"      --max-stack N      at most N user frames\n"
	"      --unwinder NAME    cfi (default), libdw (the slow reference), fp (frame pointers)\n"
	"      --verify-unwind[=N]   unwind every Nth sample by libdw too, print the classes of "
	"differences\n"
	"      --no-guess         never step by frame pointer or stack top without unwind tables\n"
	"      --stitch           complete stacks that were cut from other samples of the same "
	"thread\n"
	"      --no-demangle      names as in the symbol table\n"
	"      --symfs DIR        look for all files below DIR\n"
	"      --debug-dir DIR    more places for debug files, like /usr/lib/debug (repeatable)\n"
	"      --debuginfod[=sym|line|full]   fetch what is missing from $DEBUGINFOD_URLS\n"
	"  -k, --vmlinux FILE  --kallsyms FILE    kernel symbols\n"
	"running:\n"
	"      --stats[=json]     on stderr: how stacks ended, what has no names and why\n"
	"      --explain ADDR     instead of a profile: all that led to the name of an address of "
	"script\n"
	"      --strict           any loss, also while recording, makes the exit status 1\n"
	"  -j, --jobs N           threads (default: all processors)\n"
	"  -q, --quiet            no notes on stderr\n"
	"  -h, --help  --version\n";

static void print_help(void)
{
	const struct output_format *const *f;

	fputs(help_text, stdout);
	puts("formats:");
	for (f = output_formats; *f; f++)
		printf("  %-12s %s (%s)\n", (*f)->name, (*f)->help, (*f)->suffixes);
	puts("exit status: 0 fine; 1 the input was damaged and what could be read was written;\n"
	     "  2 trouble: usage, unreadable, nothing to write");
}

static int set_unwinder(struct resolve *r, const char *name, struct err *err)
{
	static const struct {
		const char *name;
		enum unwind_method method;
	} methods[] = {{"cfi", UNWIND_AUTO}, {"libdw", UNWIND_LIBDW}, {"fp", UNWIND_FP}};
	size_t i;

	for (i = 0; i < sizeof methods / sizeof *methods; i++)
		if (!strcmp(methods[i].name, name)) {
			r->pipeline.unwind.method = methods[i].method;
			return 0;
		}
	return err_set(err, ERR_USAGE, NULL, "--unwinder: '%s' is none of cfi, libdw, fp", name);
}

static int set_count(struct resolve *r, const char *what, struct err *err)
{
	if (strcmp(what, "samples") && strcmp(what, "period"))
		return err_set(err, ERR_USAGE, NULL, "--count: '%s' is neither samples nor period",
			       what);
	r->output.count_samples = !strcmp(what, "samples");
	return 0;
}

static int set_format(struct resolve *r, const char *name, struct err *err)
{
	const struct output_format *const *f;
	char names[256] = "";

	r->format = output_format_find(name);
	if (r->format)
		return 0;
	for (f = output_formats; *f; f++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s", (*f)->name);
	return err_set(err, ERR_USAGE, NULL, "--format: '%s' is none of:%s", name, names);
}

static int set_stats(struct resolve *r, const char *form, struct err *err)
{
	if (form && strcmp(form, "json") && strcmp(form, "text"))
		return err_set(err, ERR_USAGE, NULL, "--stats: '%s' is neither json nor text",
			       form);
	r->stats = form && !strcmp(form, "json") ? STATS_JSON : STATS_TEXT;
	return 0;
}

static int set_debuginfod(struct resolve *r, const char *tier, struct err *err)
{
	static const struct {
		const char *name;
		enum fetch_mode mode;
	} modes[] = {{"sym", FETCH_MODE_SYM}, {"line", FETCH_MODE_LINE}, {"full", FETCH_MODE_FULL}};
	size_t i;

	r->fetch = FETCH_MODE_AUTO;
	for (i = 0; tier && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(tier, modes[i].name)) {
			r->fetch = modes[i].mode;
			return 0;
		}
	return tier ? err_set(err, ERR_USAGE, NULL, "--debuginfod: '%s' is none of sym, line, full",
			      tier)
		    : 0;
}

static int set_number(const char *option, unsigned max, unsigned *ret, struct err *err)
{
	uint64_t v;
	int rc = args_u64(option, optarg, max, &v, err);

	if (!rc)
		*ret = (unsigned)v;
	return rc;
}

static int set_option(struct resolve *r, int id, struct err *err)
{
	struct sample_filter *filter = &r->pipeline.filter;

	switch (id) {
	case 'f':
		return set_format(r, optarg, err);
	case 'i':
		r->pipeline.input = optarg;
		return 0;
	case 'j':
		return set_number("--jobs", 64, &r->pipeline.n_threads, err);
	case 'k':
		r->pipeline.symbolizer.vmlinux = optarg;
		return 0;
	case 'o':
		r->output_path = strcmp(optarg, "-") ? optarg : NULL;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case O_ADDRS:
		r->output.addrs = true;
		return 0;
	case O_ALL:
		r->output.mark_kernel = r->output.mark_jit = true;
		return 0;
	case O_COMM:
		return args_filter_comms(optarg, filter, err);
	case O_COUNT:
		return set_count(r, optarg, err);
	case O_CPU:
		return args_filter_cpus(optarg, filter, err);
	case O_DEBUG_DIR:
		return vec_push(&r->debug_dirs, optarg) ? err_nomem(err) : 0;
	case O_DEBUGINFOD:
		return set_debuginfod(r, optarg, err);
	case O_EVENT:
		filter->event = r->output.event = optarg;
		return 0;
	case O_EXPLAIN:
		r->explain = true;
		r->pipeline.keep |= PROFILE_KEEP_IPS;
		return args_address("--explain", optarg, &r->explain_ip, err);
	case O_HEADER:
		r->header_only = true;
		return 0;
	case O_INLINE:
		r->output.mark_inline = true;
		return 0;
	case O_JIT:
		r->output.mark_jit = true;
		return 0;
	case O_KALLSYMS:
		r->pipeline.symbolizer.kallsyms = optarg;
		return 0;
	case O_KERNEL:
		r->output.mark_kernel = true;
		return 0;
	case O_MAX_STACK:
		return set_number("--max-stack", UNWIND_FRAMES_MAX, &r->pipeline.unwind.max_frames,
				  err);
	case O_NO_DEMANGLE:
		r->pipeline.symbolizer.no_demangle = true;
		return 0;
	case O_NO_GUESS:
		r->pipeline.unwind.no_guess = true;
		return 0;
	case O_NO_INLINE:
		r->pipeline.symbolizer.no_inline = r->output.no_inline = true;
		return 0;
	case O_PID:
	case O_TID:
		return args_filter_numbers(id == O_TID ? "--tid" : "--pid", optarg, id == O_TID,
					   filter, err);
	case O_STATS:
		return set_stats(r, optarg, err);
	case O_STITCH:
		r->pipeline.stitch = true;
		return 0;
	case O_STRICT:
		r->strict = true;
		return 0;
	case O_SYMFS:
		r->pipeline.modules.symfs = optarg;
		return 0;
	case O_TIME:
		r->time = optarg;
		return 0;
	case O_UNWINDER:
		return set_unwinder(r, optarg, err);
	case O_VERIFY:
		r->pipeline.verify_every = 1;
		return optarg ? args_u64("--verify-unwind", optarg, UINT32_MAX,
					 &r->pipeline.verify_every, err)
			      : 0;
	case O_WITH_PID:
		r->output.with_pid = true;
		return 0;
	case O_WITH_TID:
		r->output.with_tid = true;
		return 0;
	}
	/* getopt_long has said which option it was. */
	return err_set(err, ERR_USAGE, NULL, "try: resolve --help");
}

/* The options that others depend on. */
static int finish_options(struct resolve *r, struct err *err)
{
	if (!r->format && r->output_path)
		r->format = output_format_for_path(r->output_path);
	if (!r->format && r->output_path &&
	    strrchr(r->output_path, '.') > strrchr(r->output_path, '/'))
		return err_set(err, ERR_USAGE, r->output_path,
			       "no format has this suffix; name one with -f (see --help)");
	if (!r->format)
		r->format = output_formats[0];
	r->pipeline.keep |= r->format->keep;
	if (r->output.with_pid)
		r->pipeline.keep |= PROFILE_KEEP_PIDS;
	if (r->output.with_tid)
		r->pipeline.keep |= PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS;
	if (vec_push(&r->debug_dirs, NULL))
		return err_nomem(err);
	r->pipeline.modules.debug_dirs = r->debug_dirs.v;
	r->pipeline.symbolizer.n_threads = r->pipeline.n_threads;
	r->pipeline.stop = &stop_requested;
	fetch_watch_init(&r->watch, &fetching, &stop_requested, r->quiet);
	if (r->fetch)
		r->pipeline.modules.fetch = &r->watch.options;
	return 0;
}

/* 0: go on; 1: --help or --version was answered; negative: *err. */
static int parse_options(struct resolve *r, int argc, char **argv, struct err *err)
{
	int id, rc;

	r->output.generator = "unspool " UNSPOOL_VERSION;
	r->pipeline.input = "perf.data";
	while ((id = getopt_long(argc, argv, "f:hi:j:k:o:q", long_options, NULL)) != -1) {
		if (id == 'h') {
			print_help();
			return 1;
		}
		if (id == O_VERSION) {
			puts("resolve (unspool) " UNSPOOL_VERSION);
			return 1;
		}
		rc = set_option(r, id, err);
		if (rc)
			return rc;
	}
	if (argc - optind > 1)
		return err_set(err, ERR_USAGE, NULL, "one input at a time; '%s' is too many",
			       argv[optind + 1]);
	if (optind < argc)
		r->pipeline.input = argv[optind];
	return finish_options(r, err);
}

/* ---- running --------------------------------------------------------------------------- */

/* A stream remembers that a write failed, but not why: errno may be another call's by then. */
static int write_to(const struct resolve *r, const struct profile *p, FILE *out, const char *name,
		    struct err *err)
{
	int rc;

	errno = 0;
	rc = r->format->write(p, &r->output, out, err);
	if (!rc && (fflush(out) || ferror(out)))
		rc = err_errno(err, errno ? errno : EIO, name, "write");
	return rc;
}

/* Writes to a temporary neighbour and renames it, so that a failure never destroys an older result;
 * what is not a regular file (a fifo, /dev/stdout) is written directly. */
static int write_file(const struct resolve *r, const struct profile *p, struct err *err)
{
	char temp[PATH_MAX];
	struct stat st;
	bool direct = !stat(r->output_path, &st) && !S_ISREG(st.st_mode);
	const char *path = direct ? r->output_path : temp;
	FILE *out;
	int rc;

	if (snprintf(temp, sizeof temp, "%s.tmp%d", r->output_path, (int)getpid()) >=
	    (int)sizeof temp)
		return err_set(err, ERR_LIMIT, r->output_path, "path too long");
	out = fopen(path, "w");
	if (!out)
		return err_errno(err, errno, r->output_path, "create");
	rc = write_to(r, p, out, r->output_path, err);
	if (fclose(out) && !rc)
		rc = err_errno(err, errno, r->output_path, "write");
	if (!rc && !direct && rename(temp, r->output_path))
		rc = err_errno(err, errno, r->output_path, "create");
	if (rc && !direct)
		unlink(temp);
	return rc;
}

static int write_result(const struct resolve *r, const struct profile *p, struct err *err)
{
	if (r->output_path)
		return write_file(r, p, err);
	if (r->format->binary && isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, NULL, "%s is binary; use -o FILE or a pipe",
			       r->format->name);
	return write_to(r, p, stdout, "standard output", err);
}

/* Why there is nothing to write, in the order in which it can go wrong. */
static int nothing_to_write(const struct pipeline *p, const char *input, struct err *err)
{
	const struct perf_file_stats *s = perf_file_stats(p->file);

	if (p->filtered)
		return err_set(err, ERR_NOT_FOUND, input,
			       "none of the %llu samples passes the filters",
			       (unsigned long long)p->filtered);
	return err_set(err, ERR_NOT_FOUND, input,
		       "no samples (%llu records read, %llu samples skipped as damaged)",
		       (unsigned long long)s->records, (unsigned long long)s->skipped_samples);
}

static void print_notes(const struct pipeline *p)
{
	size_t i;

	for (i = 0; i < perf_file_note_count(p->file); i++)
		fprintf(stderr, "resolve: %s\n", perf_file_note(p->file, i));
}

static uint32_t stack_copy_bytes(const struct perf_file *f)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < perf_file_event_count(f); i++)
		if (perf_file_event(f, i)->attr.sample_stack_user > most)
			most = perf_file_event(f, i)->attr.sample_stack_user;
	return most;
}

/* The advice that is worth a line even without --stats. */
static void print_advice(const struct pipeline *p)
{
	uint64_t cut = p->unwind.stops[UNWIND_STOP_TRUNCATED_STACK], all = p->unwind.user_stacks;
	uint32_t size = stack_copy_bytes(p->file);

	if (cut * 20 <= all)
		return;
	fprintf(stderr, "resolve: %.0f %% of the stacks are cut at %u bytes; ",
		100.0 * (double)cut / (double)all, size);
	if (size < STACK_COPY_MAX)
		fprintf(stderr, "record with --call-graph dwarf,%u\n",
			size * 4 < STACK_COPY_MAX ? size * 4 : STACK_COPY_MAX);
	else
		fprintf(stderr, "a recording cannot hold more\n");
}

static int load(struct resolve *r, struct pipeline *p, struct err *err)
{
	const struct perf_file_info *info = perf_file_info(p->file);
	int rc = 0;

	if (r->time)
		rc = args_filter_time(r->time, info->first_sample_ns, info->last_sample_ns,
				      &r->pipeline.filter, err);
	if (!rc)
		rc = pipeline_load(p, &r->pipeline, err);
	if (!rc && !r->quiet)
		print_notes(p);
	if (!rc && !p->profile->samples.n)
		rc = nothing_to_write(p, r->pipeline.input, err);
	return rc;
}

static int exit_code(const struct resolve *r, const struct pipeline *p)
{
	const struct perf_file_stats *s = perf_file_stats(p->file);

	if (s->damaged || s->interrupted || s->truncated || stop_requested)
		return EXIT_DAMAGED;
	if (r->strict && (s->skipped_samples || perf_lost(s) || s->lost_bytes))
		return EXIT_DAMAGED;
	return EXIT_FINE;
}

/* A pipe tells its header by records before the first sample. */
static int show_header(const struct pipeline *p, struct err *err)
{
	struct perf_batch *b;
	int rc = 0;

	if (perf_file_info(p->file)->is_pipe)
		rc = perf_file_read(p->file, &b, err);
	if (rc < 0)
		return rc;
	report_header(p->file, stdout);
	if (rc > 0)
		perf_batch_release(p->file, b);
	return 0;
}

static int run(struct resolve *r, struct pipeline *p, struct err *err)
{
	double start;
	int rc = pipeline_open(p, &r->pipeline, err);

	if (!rc && r->header_only)
		return show_header(p, err);
	if (!rc)
		rc = load(r, p, err);
	if (!rc && r->fetch)
		rc = fetch_for_profile(p, &r->pipeline, r->fetch, &r->watch, err);
	if (!rc)
		rc = pipeline_symbolize(p, &r->pipeline, err);
	start = seconds_now();
	if (!rc && r->explain && !explain_address(p, r->explain_ip, stdout))
		rc = err_set(err, ERR_NOT_FOUND, r->pipeline.input,
			     "no stack holds the address %#llx (as script prints it)",
			     (unsigned long long)r->explain_ip);
	else if (!rc && !r->explain)
		rc = write_result(r, p->profile, err);
	if (rc)
		return rc;
	if (!r->quiet)
		print_advice(p);
	if (!r->quiet && !r->fetch)
		fetch_advice(p, stderr);
	if (stop_requested)
		fprintf(stderr,
			"resolve: interrupted: the output holds what was read until then\n");
	if (r->pipeline.verify_every)
		verify_report(&p->verify, stderr);
	if (r->stats == STATS_TEXT)
		report_text(p, stderr);
	else if (r->stats == STATS_JSON)
		report_json(p, seconds_now() - start, stderr);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_interrupt};
	struct resolve r = {0};
	struct pipeline p = {0};
	struct err err = {0};
	int code, rc = parse_options(&r, argc, argv, &err);

	sigaction(SIGINT, &sa, NULL);
	if (!rc)
		rc = run(&r, &p, &err);
	if (rc < 0) {
		complain(&err);
		code = EXIT_TROUBLE;
	} else {
		code = rc || r.header_only ? EXIT_FINE : exit_code(&r, &p);
	}
	pipeline_done(&p);
	sample_filter_done(&r.pipeline.filter);
	vec_done(&r.debug_dirs);
	return code;
}

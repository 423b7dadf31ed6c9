/* resolve_options.c - the options of `resolve` and its --help. */
#include "cmd/resolve_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "cmd/args.h"
#include "cmd/config.h"
#include "cmd/habits.h"
#include "cmd/resolve_finish.h"
#include "cmd/resolve_values.h"
#include "cmd/version.h"
#include "input/input.h"
#include "symbolize/symbolize.h"

#define OPTIONS_TARGET struct resolve
#include "cmd/options.h"

static const struct option_choice demanglings[] = {{"full", SYM_DEMANGLE_FULL},
						   {"simple", SYM_DEMANGLE_SIMPLE},
						   {"none", SYM_DEMANGLE_NONE},
						   {NULL, 0}};

static const struct option_choice clone_forms[] = {
	{"show", SYM_CLONES_SHOW}, {"fold", SYM_CLONES_FOLD}, {NULL, 0}};

static const struct option_choice folded_forms[] = {
	{"mark", SYM_FOLDED_MARK}, {"plain", SYM_FOLDED_PLAIN}, {NULL, 0}};

static const struct option_choice unwinders[] = {
	{"cfi", UNWIND_AUTO}, {"libdw", UNWIND_LIBDW}, {"fp", UNWIND_FP}, {NULL, 0}};

static const struct option_choice diff_widths[] = {
	{"mean", DIFF_WIDTH_MEAN}, {"base", DIFF_WIDTH_BASE}, {"new", DIFF_WIDTH_NEW}, {NULL, 0}};

static const struct option_choice caller_forms[] = {
	{"main", TOP_CALLERS_MAIN}, {"tree", TOP_CALLERS_TREE}, {NULL, 0}};

static const struct option_choice perf_versions[] = {
	{"6.12", 0}, {"6.1", 1}, {"7.2", 0}, {NULL, 0}};

static const struct option_choice stats_forms[] = {
	{"text", STATS_TEXT}, {"json", STATS_JSON}, {NULL, 0}};

/* What perf script prints beside samples. */
#define NO_RECORDS \
	"only samples are shown; perf script prints other records, --stats counts what was lost"

static const struct option_row options[] = {
	HEADING("output"),
	{'f', "format", NULL, "NAME",
	 "one of the formats below (default: by the suffix of -o, else folded)",
	 CALLS(resolve_set_format)},
	{'o', "output", NULL, "FILE", "instead of standard output", SETS_TEXT(output_path)},
	{0, "no-cmdline", NULL, NULL, "leave out the command line that was recorded",
	 SETS_FLAG(output.no_cmdline)},
	{0, "count", NULL, "WHAT", "weigh stacks by `period` (default) or `samples`",
	 CALLS(resolve_set_count)},
	{0, "kernel", NULL, NULL, "mark kernel frames with _[k]",
	 SETS_FLAG(output.style.mark_kernel), .part = OUTPUT_KERNEL_MARKS},
	{0, "jit", NULL, NULL, "mark frames of compiled-at-run-time code with _[j]",
	 SETS_FLAG(output.style.mark_jit), .part = OUTPUT_JIT_MARKS},
	{0, "inline", NULL, NULL, "mark inlined frames with _[i]",
	 SETS_FLAG(output.style.mark_inline), .part = OUTPUT_INLINE_MARKS},
	{0, "all", NULL, NULL, "--kernel --jit", CALLS(resolve_set_all),
	 .part = OUTPUT_KERNEL_MARKS | OUTPUT_JIT_MARKS},
	{0, "stitched", NULL, NULL, "callers from other samples\nget the mark _[s]",
	 SETS_FLAG(output.style.mark_stitched), .part = OUTPUT_STITCHED_MARKS},
	{0, "with-pid", NULL, NULL, "root frame comm-PID; a label",
	 SETS_FLAG(output.style.with_pid), .part = OUTPUT_PIDS},
	{0, "with-tid", NULL, NULL, "root frame comm-PID/TID; a label",
	 SETS_FLAG(output.style.with_tid), .part = OUTPUT_TIDS},
	{0, "args", NULL, NULL,
	 "the parameters of all\n"
	 "frames, where DWARF tells them (they may be secrets)",
	 SETS_FLAG(load.values.all), .part = OUTPUT_ARGS},
	{0, "by", NULL, "LABEL",
	 "a level above commands: cgroup, data (of\n"
	 "capture -d), a label of pprof, or arg:NAME, the value of a parameter",
	 SETS_TEXT(output.style.by), .part = OUTPUT_BY},
	{0, "merge-threads", NULL, NULL,
	 "threads whose names differ only in numbers are one: worker-<N>",
	 SETS_FLAG(merge_threads)},
	{0, "with-cpu", NULL, NULL, "a label for the processor", SETS_FLAG(output.style.with_cpu),
	 .part = OUTPUT_CPUS},
	{0, "addrs", NULL, NULL, "unknown functions as [module <addr>]",
	 SETS_FLAG(output.style.addrs), .part = OUTPUT_ADDRS},
	{0, "skip-after", NULL, "FUNCTION", "leave out the callers of this function",
	 SETS_TEXT(output.style.skip_after), .part = OUTPUT_SKIP_AFTER},
	{0, "collapse-recursion", NULL, NULL, "functions that call themselves are one frame",
	 SETS_FLAG(output.style.collapse), .part = OUTPUT_COLLAPSE},
	{'F', "fields", NULL, "LIST",
	 "of "
	 "comm,pid,tid,cpu,time,period,event,addr,trace,ip,sym,\nsymoff,dso,dsoff,srcline,weight,"
	 "brstack; or +FIELD,-FIELD to change\nthe default fields; hw:, sw:, trace:, raw:, break: "
	 "first: of such events",
	 CALLS(resolve_set_fields), .part = OUTPUT_FIELDS},
	{0, "ns", NULL, NULL, "times to the nanosecond", SETS_FLAG(output.nanoseconds),
	 .part = OUTPUT_NANOSECONDS},
	{'G', "hide-call-graph", NULL, NULL, "the sample's own function only, on its line",
	 SETS_FLAG(output.script.no_chain), .part = OUTPUT_SCRIPT},
	{0, "stop-bt", NULL, "NAMES", "stacks end with the first of these functions",
	 SETS_TEXT(output.script.stop_at), .part = OUTPUT_SCRIPT},
	{0, "reltime", NULL, NULL, "times since the first sample",
	 SETS_FLAG(output.script.relative), .part = OUTPUT_SCRIPT},
	{0, "deltatime", NULL, NULL, "times since the sample before",
	 SETS_FLAG(output.script.delta), .part = OUTPUT_SCRIPT},
	{0, "compat", NULL, "VERSION", "columns as perf VERSION: 6.1, or 6.12 (default)",
	 SETS_CHOICE(output.script.as_6_1, perf_versions), .part = OUTPUT_SCRIPT},
	{'n', "rows", NULL, "N", "at most N rows (default: all; on a terminal as many as fit)",
	 SETS_NUMBER(output.top.rows, UINT_MAX - 1), .part = OUTPUT_ROWS},
	{0, "percent-limit", NULL, "P", "only functions with at least P percent",
	 SETS_REAL(output.top.limit, 100, 1, "percentage"), .part = OUTPUT_ROWS},
	{0, "no-children", NULL, NULL, "sort by the cost of functions without their callees",
	 SETS_FLAG(output.top.no_children), .part = OUTPUT_ROWS},
	{0, "children", NULL, NULL, NULL,
	 CLEARS_FLAG(output.top.no_children)}, /* the default, accepted */
	{0, "sort", NULL, "KEYS",
	 "rows by some of comm,pid,tid,cpu,cgroup,dso,srcline,symbol\n(default: comm,dso,symbol)",
	 CALLS(resolve_set_sort), .part = OUTPUT_TABLE},
	{0, "callers", NULL, "[=HOW]",
	 "below each function its callers: main (the default) or tree",
	 SETS_CHOICE(output.top.callers, caller_forms), .part = OUTPUT_TABLE},
	{0, "hierarchy", NULL, NULL, "a level for each key of --sort",
	 SETS_FLAG(output.top.hierarchy), .part = OUTPUT_TABLE},
	{'S', "symbols", NULL, "NAMES", "only rows, or samples, of these functions",
	 SETS_TEXT(output.top.symbols), .part = OUTPUT_SYMBOLS},
	{'t', "field-separator", NULL, "TEXT", "between columns, which are then not aligned",
	 SETS_TEXT(output.top.separator), .part = OUTPUT_TABLE},
	{0, "source-dir", NULL, "DIR", "look for source files here first",
	 SETS_TEXT(output.source_dir), .part = OUTPUT_SOURCE},
	{0, "full-source-path", NULL, NULL, "source files with their folders",
	 SETS_FLAG(output.full_paths), .part = OUTPUT_PATHS},
	{0, "title", NULL, "TEXT", "instead of the recorded command",
	 SETS_TEXT(output.picture.title), .part = OUTPUT_TITLE},
	{0, "subtitle", NULL, "TEXT", "instead of event, samples and machine",
	 SETS_TEXT(output.picture.subtitle), .part = OUTPUT_PICTURE},
	{0, "width", NULL, "PIXELS", "of the picture (1200)",
	 SETS_NUMBER(output.picture.width, 100000), .part = OUTPUT_PICTURE},
	{0, "minwidth", NULL, "PIXELS", "narrower frames are left out (0.1)",
	 SETS_REAL(output.picture.min_width, PICTURE_WIDTH, 0, "number of pixels"),
	 .part = OUTPUT_PICTURE},
	{0, "colors", NULL, "NAME",
	 "kind (default: user, inlined, JIT, kernel code differ), safe\n"
	 "(for the colour-blind), hot mem io red green blue aqua yellow purple\n"
	 "orange",
	 CALLS(resolve_set_colors), .part = OUTPUT_PICTURE},
	{0, "countname", NULL, "TEXT", "the name of the weights",
	 SETS_TEXT(output.picture.count_name), .part = OUTPUT_PICTURE},
	{0, "inverted", NULL, NULL, "the root on top", SETS_FLAG(output.picture.inverted),
	 .part = OUTPUT_PICTURE},
	{0, "reverse", NULL, NULL, "stacks from the function to its callers",
	 SETS_FLAG(output.picture.reverse), .part = OUTPUT_REVERSE},
	{0, "header", "header-only", NULL, "print the recording's header and stop",
	 SETS_FLAG(header_only)},
	{0, "bundle", NULL, NULL,
	 "instead of a profile, write to -o FILE a recording that carries what it\n"
	 "needs of binaries, JIT compilers and kernel: any machine reads it",
	 SETS_FLAG(bundle)},
	{0, "bundle-full", NULL, NULL, "the same with whole files", SETS_FLAG(load.bundle_full)},
	{0, "strip-stacks", NULL, NULL,
	 "the same with call chains instead of stack copies, which may hold secrets",
	 SETS_FLAG(load.strip_stacks)},
	{0, "unbundle", NULL, "DIR",
	 "lay the files that a recording carries out in DIR, for gdb and others",
	 SETS_TEXT(unbundle_dir)},
	{0, "diff", NULL, "BASE",
	 "how the input differs from this one.\n"
	 "Several runs show what is noise: --diff base/*.data --new new/*.data, or\nfolders",
	 CALLS(resolve_add_base), .part = OUTPUT_SIDES},
	/* Takes all that follows up to the next option, as --diff then does: sides_take(). */
	{0, "new", NULL, "RUN..", "see --diff",
	 REFUSED("of a difference, as --diff BASE.. --new NEW..")},
	{0, "diff-width", NULL, "SIDE",
	 "of --diff, the width of frames: mean of both sides (default),\n"
	 "base or new",
	 SETS_CHOICE(output.picture.diff_width, diff_widths), .part = OUTPUT_PICTURE},
	{0, "annotate", NULL, "FUNCTION",
	 "instead of a profile: the instructions of a function with their shares,\n"
	 "and the source between them",
	 SETS_TEXT(annotate)},
	HEADING("samples"),
	{'c', "comm", "comms", "NAMES", "only of these commands: bash,python3",
	 SETS_BY(load.filter.comms, struct name_list, args_names)},
	{0, "cgroup", NULL, "NAME[,NAME..]",
	 "only these cgroups: a path with all below, a service, a container's id",
	 SETS_BY(load.filter.cgroups, struct name_list, args_names)},
	{0, "no-idle", NULL, NULL, "without the idle task, swapper",
	 SETS_FLAG(load.filter.no_idle)},
	{0, "pid", NULL, "PIDS", "only of these processes",
	 SETS_BY(load.filter.pids, struct number_list, args_numbers)},
	{0, "tid", NULL, "TIDS", "only of these threads",
	 SETS_BY(load.filter.tids, struct number_list, args_numbers)},
	{0, "dso", "dsos", "NAMES", "only samples in code of these: libc.so.6,[kernel.kallsyms]",
	 SETS_BY(load.filter.dsos, struct name_list, args_names)},
	{'C', "cpu", NULL, "LIST", "only of these processors: 0,2-3",
	 SETS_BY(load.filter.cpus, struct cpu_ranges, args_cpus)},
	{0, "event", NULL, "NAMES",
	 "only of these events: cycles,page-faults; `all`. Of several the names are\n"
	 "root frames in folded (default: the event with the most weight)",
	 SETS_TEXT(load.filter.event)},
	{0, "where", NULL, "CONDITION",
	 "only where a parameter of a function is so: 'depth > 4 && mode == READ'",
	 SETS_BY(load.values.where, struct value_conditions, resolve_set_where)},
	{0, "time", NULL, "START,STOP", "in seconds of the recording's clock, or P%-Q%",
	 SETS_BY(load.filter.time, struct time_span, args_time)},
	{0, "off-cpu", NULL, NULL,
	 "samples of sched:sched_switch stand for the time that threads do not run\n"
	 "(recorded with perf record --switch-events; capture --off-cpu: always)",
	 SETS_FLAG(load.off_cpu)},
	{0, "wall", NULL, NULL, "this and the samples of clocks as one event",
	 SETS_FLAG(load.wall)},
	{0, "off-cpu-thresh", NULL, "MS", "without waits that are shorter",
	 SETS_BY(load.off_cpu_least_ns, uint64_t, resolve_set_off_cpu_least)},
	HEADING("stacks"),
	{0, "max-stack", NULL, "N", "at most N user frames (script: of all frames)",
	 SETS_NUMBER(load.unwind.max_frames, UNWIND_FRAMES_MAX)},
	{0, "unwinder", NULL, "NAME",
	 "cfi (default), libdw (the slow reference), fp (frame pointers)",
	 SETS_CHOICE(load.unwind.method, unwinders)},
	{0, "verify-unwind", NULL, "[=N]",
	 "unwind every Nth sample by libdw too, print the classes of differences",
	 CALLS(resolve_set_verify)},
	{0, "no-guess", NULL, NULL,
	 "never step by frame pointer or stack top without unwind tables",
	 SETS_FLAG(load.unwind.no_guess)},
	{0, "weigh", NULL, "WHAT",
	 "what calls weigh: count, or duration, without the calls within them;\nor a field of "
	 "tracepoints: bytes_alloc, runtime",
	 CALLS(resolve_set_weigh)},
	{0, "no-stitch", NULL, NULL, "do not complete stacks that were cut from other samples",
	 SETS_FLAG(load.no_stitch)},
	{0, "stitch", NULL, NULL, NULL, CLEARS_FLAG(load.no_stitch)}, /* the default, accepted */
	HEADING("names"),
	{0, "no-inline", NULL, NULL, "symbols only: no inlined frames, no lines",
	 SETS_FLAG(load.symbolizer.no_inline)},
	{0, "demangle", NULL, "HOW",
	 "full (default), simple (no arguments, template arguments as <...>:\n"
	 "names that differ only in these become one), none",
	 SETS_CHOICE(load.symbolizer.demangle, demanglings)},
	{0, "template-depth", NULL, "N",
	 "show N levels of template arguments, <...> for deeper ones",
	 CALLS(resolve_set_template_depth)},
	{0, "clones", NULL, "HOW",
	 "show or fold .isra.0 .constprop.0 .part.0 .cold .llvm.N (default: fold\n"
	 "with --demangle=simple, else show)",
	 SETS_CHOICE(load.symbolizer.clones, clone_forms)},
	{0, "icf", NULL, "HOW",
	 "mark functions that the linker made one with N others: name [+N],\n"
	 "or leave them plain (default: mark with --demangle=full)",
	 SETS_CHOICE(load.symbolizer.folded, folded_forms)},
	{0, "no-demangle", NULL, NULL, "--demangle=none, as perf spells it",
	 SETS_FLAG(load.symbolizer.no_demangle)},
	{0, "symfs", NULL, "DIR", "look for all files below DIR", SETS_TEXT(load.modules.symfs)},
	{0, "debug-dir", NULL, "DIR",
	 "more places for debug files, like /usr/lib/debug (repeatable)",
	 CALLS(resolve_set_debug_dir)},
	{0, "debuginfod", NULL, "[=TIER]",
	 "fetch what is missing from $DEBUGINFOD_URLS: sym, line, full; off, auto",
	 SETS_CHOICE(load.fetch, fetch_modes)},
	{'k', "vmlinux", NULL, "FILE", "kernel symbols and lines",
	 SETS_TEXT(load.symbolizer.vmlinux)},
	{0, "kallsyms", NULL, "FILE", "kernel symbols", SETS_TEXT(load.symbolizer.kallsyms)},
	{0, "guestvmlinux", NULL, "FILE", "the same for the kernel of virtual machines",
	 SETS_TEXT(load.symbolizer.guest_vmlinux)},
	{0, "guestkallsyms", NULL, "FILE", "the same for the kernel of virtual machines",
	 SETS_TEXT(load.symbolizer.guest_kallsyms)},
	{0, "force", NULL, NULL,
	 "as root: another user's recording; other users' and stale perf maps",
	 SETS_FLAG(load.symbolizer.foreign_jit_maps)},
	HEADING("running"),
	{0, "stats", NULL, "[=json]", "on stderr: how stacks ended, what has no names and why",
	 SETS_CHOICE(stats, stats_forms)},
	{0, "require", NULL, "LIST",
	 "exit with 1 if roots or names are below (roots=99,names=95), or switched,\n"
	 "hole, cut, no_file, other_ends, stitched, guessed, wrong_build, nameless\n"
	 "or lost above the given percentage",
	 CALLS(resolve_set_require)},
	{0, "explain", NULL, "ADDR",
	 "instead of a profile: how an address (of -f script) got its name",
	 CALLS(resolve_set_explain)},
	{0, "strict", NULL, NULL,
	 "exit with 1 after any loss, also while recording, and after any note about\n"
	 "missing stacks or names",
	 SETS_FLAG(strict)},
	{0, "no-cache", NULL, NULL, "neither use nor fill the cache of compiled debug information",
	 SETS_FLAG(no_cache)},
	{'i', "input", NULL, "FILE", "the recording, as perf spells it", SETS_TEXT(input)},
	{'j', "jobs", NULL, "N", "threads (default: as many as processors, fewer for small files)",
	 SETS_NUMBER(load.n_threads, 64)},
	{0, "no-sandbox", NULL, NULL,
	 "keep all rights while reading (default: write only the output and the\n"
	 "cache, execute and connect nothing)",
	 SETS_FLAG(no_sandbox)},
	{'v', "verbose", NULL, NULL, "say what of the sandbox this kernel does not have",
	 SETS_FLAG(verbose)},
	{'q', "quiet", NULL, NULL, "no notes on stderr", SETS_FLAG(quiet)},
	/* habits of perf's users */
	{0, "stdio", NULL, NULL, NULL, REFUSED("-f top is a table, -f folded all stacks")},
	{'L', "Latency", NULL, NULL, NULL,
	 REFUSED("-f script -F comm,pid,tid,cpu,time,event has these columns")},
	{'D', "dump-raw-trace", NULL, NULL, NULL,
	 REFUSED("records are not shown; perf script -D does")},
	{0, "per-event-dump", NULL, NULL, NULL,
	 REFUSED("-f script --event NAME -o NAME.dump for each event")},
	{0, "show-mmap-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-task-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-switch-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-lost-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-namespace-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-cgroup-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "show-bpf-events", NULL, NULL, NULL, REFUSED(NO_RECORDS)},
	{0, "formats", NULL, NULL, "list the formats for -f and suffixes for -o",
	 SETS_FLAG_AND_STOPS(show_formats)},
	{0, "inputs", NULL, NULL, "list the kinds of inputs", SETS_FLAG_AND_STOPS(show_inputs)},
	{'h', "help", NULL, NULL, "this page", SETS_FLAG_AND_STOPS(show_help)},
	{0, "version", NULL, NULL, "which version this is", SETS_FLAG_AND_STOPS(show_version)},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

void resolve_name_formats(char *buf, size_t size, unsigned parts)
{
	struct text t = {0};

	output_honouring(&t, parts, ", ");
	snprintf(buf, size, "%.*s", t.failed ? 0 : (int)t.n, t.s ? t.s : "");
	text_done(&t);
}

static void print_formats(void)
{
	const struct output_format *const *f;

	for (f = output_formats; *f; f++)
		printf("  %-12s %s (%s)\n", (*f)->name, (*f)->help, (*f)->suffixes);
}

static void print_inputs(void)
{
	const struct input_format *const *in;

	puts("  perf.data    of perf record or capture, from a file or a pipe");
	for (in = input_formats; *in; in++)
		printf("  %-12s %s\n", (*in)->name, (*in)->help);
}

static void print_help(void)
{
	puts("usage: resolve [OPTIONS] [FILE=perf.data | -]..\n"
	     "Unwinds and symbolizes a recording of `capture` or `perf record`, offline.\n"
	     "\n"
	     "  resolve perf.data > out.folded              folded stacks, for flame graphs\n"
	     "  resolve -o out.pb.gz perf.data              pprof; the suffix of -o decides\n"
	     "  resolve -f script --no-inline perf.data     what `perf script` prints\n");
	options_print_help(options, N_OPTIONS, resolve_name_formats, stdout);
	puts("formats:");
	print_formats();
	puts("inputs, by content; several are added up:");
	print_inputs();
	puts("exit status: 0 fine; 1 the input was damaged and what could be read was written, or\n"
	     "  --strict, --require are not met; 2 trouble: usage, unreadable, nothing to write");
}

/* Warns about options that the format ignores, and names the formats that honour them. */
void resolve_warn_ignored(const struct resolve *r)
{
	char formats[128], letter[] = "-?";
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *o = &options[i];

		if (!r->given[i] || !(o->part & ~r->format->honours))
			continue;
		letter[1] = o->letter;
		resolve_name_formats(formats, sizeof formats, o->part);
		fprintf(stderr, "resolve: %s%s changes nothing in %s: it is for %s\n",
			o->letter ? letter : "--", o->letter ? "" : o->name, r->format->name,
			formats);
	}
}

bool resolve_is_given(const struct resolve *r, const char *option)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++)
		if (r->given[i] && options[i].name && !strcmp(options[i].name, option))
			return true;
	return false;
}

/* --diff A B --new C D, like regress's --base and --new; without --new exactly one file follows
 * --diff. */
static int take_sides(struct resolve *r, int *argc, char **argv, struct err *err)
{
	static const char *const names[2] = {"--diff", "--new"};
	int i;

	for (i = 1; i < *argc && strcmp(argv[i], "--"); i++)
		if (!strncmp(argv[i], "--new", 5) && (!argv[i][5] || argv[i][5] == '='))
			return sides_take(&r->diff, names, argc, argv, err);
	return 0;
}

static const char default_input[] = "perf.data";

/* As perf, which reads a pipe without being told to; but never instead of a recording. */
static const char *unnamed_input(const struct resolve *r)
{
	struct stat st;

	if (!access(default_input, F_OK) || fstat(STDIN_FILENO, &st) ||
	    !(S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size)))
		return default_input;
	if (!r->quiet)
		fprintf(stderr, "resolve: no %s here: reading standard input\n", default_input);
	return "-";
}

/* The inputs of the new side: the arguments of --new, or else all arguments, where a folder stands
 * for its files. */
static int take_inputs(struct resolve *r, int n, char **paths, struct err *err)
{
	bool is_diff = r->diff.paths[0].n;
	int i, rc = 0;
	size_t k;

	if (r->diff.paths[1].n && !is_diff)
		return err_set(err, ERR_USAGE, NULL, "--new needs --diff BASE..");
	if (r->diff.paths[1].n && n)
		return err_set(err, ERR_USAGE, NULL,
			       "'%s' is on neither side of --diff BASE.. --new NEW..", paths[0]);
	/* -i FILE is one of them. */
	if (r->input != default_input)
		rc = is_diff ? sides_add(&r->diff, 1, (char *)(uintptr_t)r->input, err)
		     : vec_push(&r->inputs, r->input) ? err_nomem(err)
						      : 0;
	for (i = 0; !rc && i < n; i++)
		if (is_diff)
			rc = sides_add(&r->diff, 1, paths[i], err);
		else if (vec_push(&r->inputs, paths[i]))
			rc = err_nomem(err);
	for (k = 0; !rc && k < r->diff.paths[1].n; k++)
		if (vec_push(&r->inputs, r->diff.paths[1].v[k]))
			rc = err_nomem(err);
	if (!rc && !r->inputs.n && vec_push(&r->inputs, unnamed_input(r)))
		rc = err_nomem(err);
	return rc;
}

int resolve_options(struct resolve *r, int argc, char **argv, struct err *err)
{
	struct config config = {0};
	int rest, rc, config_rc = config_read(&config, err);

	r->load.fetch = config.fetch;
	r->output.generator = "unspool " UNSPOOL_VERSION;
	r->output.picture.width = PICTURE_WIDTH;
	r->output.picture.min_width = PICTURE_MIN_WIDTH;
	r->input = default_input;
	rc = take_sides(r, &argc, argv, err);
	if (!rc)
		rc = options_parse(options, N_OPTIONS, r, false, argc, argv, &rest, r->given, err);
	if (rc)
		return rc;
	if (r->show_help)
		print_help();
	if (r->show_version) {
		version_print("resolve");
		version_print_readers();
	}
	if (r->show_formats)
		print_formats();
	if (r->show_inputs)
		print_inputs();
	if (r->show_help || r->show_version || r->show_formats || r->show_inputs)
		return 1;
	if (config_rc)
		return config_rc;
	if (rest < argc && habit_subcommand("resolve", argv + rest, err))
		return -ERR_USAGE;
	rc = take_inputs(r, argc - rest, argv + rest, err);
	return rc ? rc : resolve_finish(r, err);
}

void resolve_options_done(struct resolve *r)
{
	sample_filter_done(&r->load.filter);
	vec_done(&r->load.values.where);
	vec_done(&r->debug_dirs);
	vec_done(&r->inputs);
	sides_done(&r->diff);
}

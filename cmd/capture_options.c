/* capture_options.c - see capture_options.h: one row for each option, and which go together. */
#include "cmd/capture_options.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cache_dir.h"
#include "cmd/capture_values.h"
#include "cmd/habits.h"
#include "cmd/runtime_env.h"
#include "cmd/version.h"

#define OPTIONS_TARGET struct capture_args
#include "cmd/options.h"

static const struct option_choice bundles[] = {
	{"symbols", CAPTURE_BUNDLE_SYMBOLS}, {"ids", CAPTURE_BUNDLE_IDS},
	{"unwind", CAPTURE_BUNDLE_UNWIND},   {"full", CAPTURE_BUNDLE_FULL},
	{"none", CAPTURE_BUNDLE_NONE},	     {NULL, 0}};

/* One row, one option. Long names of the short options are perf's. */
static const struct option_row options[] = {
	HEADING("what to record"),
	{'a', "all-cpus", NULL, NULL, "all processes, on all CPUs (with a command: while it runs)",
	 SETS_FLAG(opt.system_wide)},
	{'p', "pid", NULL, "PID[,PID..]", "processes, with threads and children they start later",
	 SETS_BY(pids, struct pid_vec, capture_add_pids)},
	{'t', "tid", NULL, "TID[,TID..]", "threads",
	 SETS_BY(tids, struct pid_vec, capture_add_pids)},
	{'u', "uid", NULL, "USER", "all processes that a user has now", CALLS(capture_add_user)},
	{'G', "cgroup", NULL, "PATH", "processes of a cgroup", SETS_TEXT(opt.cgroup)},
	{0, "all-cgroups", NULL, NULL, "with the cgroup of each sample, for resolve --by cgroup",
	 SETS_FLAG(opt.all_cgroups)},
	{'C', "cpu", NULL, "CPUS", "only on these CPUs: 0,2-3; without -p, -t: all processes there",
	 SETS_TEXT(opt.cpus)},
	{'i', "no-inherit", NULL, NULL, "leave out threads and children that are started later",
	 SETS_FLAG(opt.no_inherit)},
	HEADING("when to take samples"),
	{'e', "event", NULL, "EVENT[,EVENT..]",
	 "cycles (else cpu-clock), instructions, cache-misses, page-faults,\n"
	 "cs, rNNN, PMU/TERM=../, sys:tracepoint, sys:*; with :u or :k;\n"
	 "uprobe:FILE:FUNCTION, uretprobe:.., usdt:FILE:PROVIDER:NAME;\n"
	 "call:FILE:FUNCTION: calls with their durations",
	 CALLS(capture_add_events)},
	{0, "filter", NULL, "FILTER",
	 "only samples of the -e before it whose fields are so: 'prev_pid == 0',\n"
	 "'a > 1 && b ~ \"x*\"'; or -e 'sys:tracepoint/FILTER/'",
	 CALLS(capture_add_filter)},
	{0, "max-hit-rate", NULL, "N", "end when probes are hit more often than N times a second",
	 SETS_BY(opt.max_hit_rate, uint64_t, capture_set_hit_rate)},
	{0, "syscalls", NULL, NULL,
	 "all system calls, with paths and other texts of their arguments; with\n"
	 "-g who makes them; resolve -f trace shows them",
	 SETS_FLAG(opt.syscalls)},
	{'F', "freq", NULL, "HZ", "samples per second on each CPU (default 99)",
	 CALLS(capture_set_frequency)},
	{'c', "count", NULL, "N", "after every N events", CALLS(capture_set_period)},
	{'D', "delay", NULL, "MS", "begin after MS milliseconds",
	 SETS_BY(opt.delay_ms, unsigned, capture_set_delay)},
	{0, "duration", NULL, "SEC", "end after SEC seconds",
	 SETS_BY(opt.duration_s, double, capture_set_duration)},
	{0, "stacks", NULL, NULL,
	 "one sample of each thread of -p or -a as it is now, also if it waits", SETS_FLAG(stacks)},
	{0, "every", NULL, "MS", "the same every MS milliseconds: a profile by the wall clock",
	 CALLS(capture_set_every)},
	{0, "off-cpu", NULL, NULL,
	 "the time that threads do not run, all of it, by what they wait in",
	 SETS_FLAG(opt.off_cpu)},
	{0, "wall", NULL, NULL, "this and samples of what runs, as one profile",
	 SETS_FLAG(opt.wall)},
	{0, "wakers", NULL, NULL, "and the stacks of what ends the waits", SETS_FLAG(opt.wakers)},
	{0, "alloc", NULL, "[=BYTES]",
	 "memory of malloc and the like, and what stays: a stack every BYTES (512K)",
	 SETS_BY(opt.alloc_bytes, uint64_t, capture_set_alloc_bytes)},
	HEADING("what goes into a sample"),
	{0, "call-graph", NULL, "HOW",
	 "dwarf[,BYTES]: registers and BYTES of stack, unwound later\n"
	 "(default 32768); fp: the kernel follows frame pointers;\n"
	 "none: the address alone",
	 CALLS(capture_set_call_graph)},
	{'g', NULL, NULL, NULL, "--call-graph dwarf", CALLS(capture_set_dwarf)},
	{0, "no-touch", NULL, NULL,
	 "do not read stack pages that are not mapped yet: copies end there",
	 SETS_FLAG(opt.no_touch)},
	{0, "runtimes", NULL, NULL,
	 "ask python, node, Erlang, Mono for names, by the command's environment",
	 SETS_FLAG(runtimes)},
	{'d', "data", NULL, NULL,
	 "the address that was accessed (page-faults, some PMUs): resolve --by data",
	 SETS_FLAG(opt.data)},
	{0, "phys-data", NULL, NULL, "and the physical address", SETS_FLAG(opt.phys_data)},
	{0, "keep-env", NULL, NULL,
	 "keep arguments and environment, which lie at the end of stacks", SETS_FLAG(opt.keep_env)},
	{0, "user", "all-user", NULL, "user space only", SETS_FLAG(opt.no_kernel)},
	{0, "args", NULL, NULL, "arguments of the functions of uprobe: and call: (registers)",
	 SETS_FLAG(opt.args)},
	{0, "strings", NULL, NULL, "and the texts that they point to", SETS_FLAG(opt.strings)},
	HEADING("where to"),
	{'o', "output", NULL, "FILE", "default perf.data; one that exists becomes FILE.old",
	 SETS_TEXT(opt.output)},
	{0, "max-size", NULL, "SIZE", "end when the file is so large: 100M, 2G",
	 SETS_BY(opt.max_bytes, uint64_t, capture_set_max_size)},
	{0, "switch-output", NULL, "[=WHEN]",
	 "a new file FILE.TIME after a size (100M), a time (30s, 5m, 1h), or at\n"
	 "SIGUSR2 (signal, the default), each complete by itself",
	 SETS_BY(parts, struct parts, parts_parse)},
	{0, "switch-max-files", NULL, "N", "keep the last N of these files, or of snapshots",
	 SETS_BY(parts.files_max, uint64_t, capture_set_files_max)},
	{0, "snapshot", NULL, "[=SEC]",
	 "keep the last SEC seconds (30) in memory; written to FILE at the end, to\n"
	 "FILE.TIME at SIGUSR2; --max-size bounds the memory (256M)",
	 SETS_BY(opt.snapshot_s, unsigned, capture_set_snapshot)},
	{0, "snapshot-on", NULL, "WHAT",
	 "and when WHAT happens: an EVENT as in -e, or 'COMMAND fails' (each second)",
	 CALLS(capture_set_snapshot_on)},
	{0, "timestamp-filename", NULL, NULL, "the time of the start in the name of the file",
	 SETS_FLAG(parts.dated)},
	{'m', "mmap-pages", NULL, "SIZE", "ring per CPU: pages, or 512K, 16M",
	 SETS_BY(opt.ring_bytes, size_t, capture_set_ring_bytes)},
	{'r', "realtime", NULL, "PRIO",
	 "the SCHED_FIFO priority of what reads the rings, 1 to 99 (10); 0: none",
	 SETS_BY(opt.realtime, int, capture_set_realtime)},
	{0, "bundle", NULL, "[=WHAT]",
	 "carry what any machine needs to resolve the recording: of the mapped\n"
	 "files symbols (default), unwind (tables only), ids, full (all); none",
	 SETS_CHOICE(opt.bundle, bundles)},
	{0, "bundle-max", NULL, "SIZE", "at most so much of it, the hottest first (64M)",
	 SETS_BY(opt.bundle_max, uint64_t, capture_set_bundle_max)},
	{0, "no-compress", NULL, NULL, "records as they are, without zstd",
	 SETS_FLAG(opt.no_compress)},
	{'q', "quiet", NULL, NULL, "no summary", SETS_FLAG(quiet)},
	{'v', "verbose", NULL, NULL, "a longer summary", SETS_FLAG(verbose)},
	HEADING("help"),
	{0, "check", NULL, NULL, "print what can be recorded here, and how to enable the rest",
	 SETS_FLAG(check)},
	{'l', "list", NULL, NULL,
	 "print what can be recorded and is like WHAT: 'sched:*', ./prog:f*; with -v\n"
	 "fields, and parameters with their types",
	 SETS_FLAG(list)},
	{'h', "help", NULL, NULL, "this page", SETS_FLAG_AND_STOPS(show_help)},
	{0, "version", NULL, NULL, "which version this is", SETS_FLAG_AND_STOPS(show_version)},
	/* Options of perf record that are ignored: capture does it in any case, or the file has no
	 * place for it. */
	{'B', "no-buildid", NULL, NULL, NULL, IGNORED},
	{'N', "no-buildid-cache", NULL, NULL, NULL, IGNORED},
	{'P', "period", NULL, NULL, NULL, IGNORED},
	{'R', "raw-samples", NULL, NULL, NULL, IGNORED},
	{'T', "timestamp", NULL, NULL, NULL, IGNORED},
	{'z', "compression-level", NULL, "[=N]", NULL, IGNORED},
	{0, "buildid-all", NULL, NULL, NULL, IGNORED},
	{0, "buildid-mmap", NULL, NULL, NULL, IGNORED},
	{0, "no-buffering", NULL, NULL, NULL, IGNORED},
	{0, "proc-map-timeout", NULL, "MS", NULL, IGNORED},
	{0, "sample-cpu", NULL, NULL, NULL, IGNORED},
	{0, "sample-identifier", NULL, NULL, NULL, IGNORED},
	{0, "num-thread-synthesize", NULL, "N", NULL, IGNORED},
	{0, "aio", NULL, "[=N]", NULL, IGNORED},
	{0, "affinity", NULL, "HOW", NULL, IGNORED},
	{0, "mmap-flush", NULL, "SIZE", NULL, IGNORED},
	{0, "tail-synthesize", NULL, NULL, NULL, IGNORED},
	{0, "synth", NULL, "WHAT", NULL, IGNORED},
	{0, "no-bpf-event", NULL, NULL, NULL, IGNORED},
	{0, "namespaces", NULL, NULL, NULL, IGNORED},
	{0, "data-mmap", NULL, NULL, NULL, IGNORED},
	{0, "timestamp-boundary", NULL, NULL, NULL, IGNORED},
	{0, "running-time", NULL, NULL, NULL, IGNORED},
	{0, "debuginfod", NULL, "[=URLS]", NULL, IGNORED},
	{0, "inherit", NULL, NULL, NULL, IGNORED},
	{'k', "clockid", NULL, "CLOCK", NULL, CALLS(capture_check_clock)},
	{0, "strict-freq", NULL, NULL, NULL, SETS_FLAG(opt.strict_freq)},
	/* What to do instead: */
	{'b', "branch-any", NULL, NULL, NULL,
	 REFUSED("branch records are not recorded; perf record -b does, and resolve reads it")},
	{'j', "branch-filter", NULL, "HOW", NULL,
	 REFUSED("branch records are not recorded; perf record -j does, and resolve reads it")},
	{'W', "weight", NULL, NULL, NULL,
	 REFUSED("weights are not recorded; perf record -W does, and resolve reads it")},
	{'I', "intr-regs", NULL, "[=NAMES]", NULL,
	 REFUSED("the registers of user code are recorded, with --call-graph dwarf")},
	{0, "user-regs", NULL, "[=NAMES]", NULL,
	 REFUSED("all registers of user code are recorded, with --call-graph dwarf")},
	{'n', "no-samples", NULL, NULL, NULL, REFUSED("counting without samples is `perf stat`")},
	{'s', "stat", NULL, NULL, NULL, REFUSED("counting per thread is `perf stat --per-thread`")},
	{'S', NULL, NULL, NULL, NULL,
	 REFUSED("hardware traces are not recorded; --snapshot keeps the last seconds of samples")},
	{0, "all-kernel", NULL, NULL, NULL,
	 REFUSED("-e EVENT:k, as in -e cycles:k, samples the kernel only")},
	{0, "control", NULL, "HOW", NULL, REFUSED("-D MS and --duration SEC say when to sample")},
	{0, "exclude-perf", NULL, NULL, NULL,
	 REFUSED("--filter 'common_pid != PID' leaves a thread out, and resolve --comm shows one "
		 "program only")},
	{0, "group", NULL, NULL, NULL, REFUSED("each event is sampled by itself")},
	{0, "kcore", NULL, NULL, NULL,
	 REFUSED("the kernel's code is not copied; resolve where it was recorded")},
	{0, "off-cpu-thresh", NULL, "MS", NULL,
	 REFUSED("all waits are recorded; resolve --off-cpu-thresh MS leaves out shorter ones")},
	{0, "overwrite", NULL, NULL, NULL,
	 REFUSED("--snapshot[=SEC] keeps the last seconds in memory; --duration SEC ends it")},
	{0, "switch-events", NULL, NULL, NULL, REFUSED("--off-cpu records them, with the stacks")},
	{0, "switch-output-event", NULL, "EVENT", NULL,
	 REFUSED("--snapshot --snapshot-on EVENT writes what was before the event")},
	{0, "user-callchains", NULL, NULL, NULL,
	 REFUSED("--user samples user space only; with the kernel, resolve --comm and the page's "
		 "search leave it out")},
	{0, "kernel-callchains", NULL, NULL, NULL,
	 REFUSED("--call-graph fp -e EVENT:k records what the kernel does")},
	{0, "aux-sample", NULL, "[=HOW]", NULL, REFUSED("hardware traces are not recorded")},
	{0, "code-page-size", NULL, NULL, NULL,
	 REFUSED("sizes of pages are not recorded; perf record does")},
	{0, "data-page-size", NULL, NULL, NULL,
	 REFUSED("sizes of pages are not recorded; perf record does")},
	{0, "clang-path", NULL, "PATH", NULL, REFUSED("no BPF program is compiled; leave it out")},
	{0, "clang-opt", NULL, "OPTIONS", NULL,
	 REFUSED("no BPF program is compiled; leave it out")},
	{0, "bpf-filter", NULL, "FILTER", NULL,
	 REFUSED("samples are not filtered; resolve --comm, --pid, --dso, --time do")},
	{0, "setup-filter", NULL, "ACTION", NULL,
	 REFUSED("there is no BPF filter to pin; resolve --comm, --pid, --dso, --time filter")},
	{0, "sample-mem-info", NULL, NULL, NULL,
	 REFUSED("-d records where data was found, with its address")},
	{0, "latency", NULL, NULL, NULL, REFUSED("--wall records what runs and what waits")},
	{0, "per-thread", NULL, NULL, NULL,
	 REFUSED("rings are per processor; -t TID records single threads")},
	{0, "threads", NULL, "[=HOW]", NULL,
	 REFUSED("one thread has been enough: 0 samples lost at 20000 Hz; leave it out")},
	{0, "transaction", NULL, NULL, NULL, REFUSED("transaction flags are not recorded")},
	{0, "dry-run", NULL, NULL, NULL, REFUSED("--check says what would work here")},
	{0, "vmlinux", NULL, "FILE", NULL,
	 REFUSED("resolve --vmlinux FILE names the kernel's functions")},
};

enum { N_OPTIONS = sizeof options / sizeof *options };
_Static_assert((int)N_OPTIONS <= (int)OPTIONS_MAX, "a table of options has room for all");

static void print_help(void)
{
	puts("usage: capture [OPTIONS] [--] [COMMAND [ARG..]]\n"
	     "Records samples with registers and stack copies into a perf.data file, which\n"
	     "`resolve` and `perf` read.\n"
	     "\n"
	     "  capture -a -F 99 -- sleep 10      the whole machine for ten seconds\n"
	     "  capture -p $(pidof server)        a process, until ^C\n"
	     "  capture -F 999 -- make            a command and all it starts\n");
	options_print_help(options, N_OPTIONS, NULL, stdout);
	puts("exit status: that of COMMAND (128 + signal when it was killed); 0 without one;\n"
	     "  2 trouble");
}

static int check_snapshot(struct capture_args *a, struct err *err)
{
	struct capture_options *o = &a->opt;

	if ((o->snapshot_event || o->snapshot_command) && !o->snapshot_s)
		o->snapshot_s = SNAPSHOT_S;
	if (!o->snapshot_s)
		return 0;
	if (a->stacks || a->parts.wanted || !strcmp(o->output, "-"))
		return err_set(err, ERR_USAGE, NULL,
			       "--snapshot cannot go together with %s: it writes files of its own",
			       a->stacks	 ? "--stacks"
			       : a->parts.wanted ? "--switch-output"
						 : "-o -");
	return 0;
}

/* Where a command, or a time, would have to end it. */
static int check_parts(const struct capture_args *a, bool some, struct err *err)
{
	const struct capture_options *o = &a->opt;

	if (!a->parts.wanted)
		return 0;
	if (a->stacks)
		return err_set(
			err, ERR_USAGE, NULL,
			"--switch-output is not for --stacks and --every, which make one file");
	if (o->command && (some || o->system_wide))
		return err_set(err, ERR_USAGE, NULL,
			       "--switch-output goes on until ^C or --duration SEC: leave out the "
			       "command (%s)",
			       o->command[0]);
	if (o->command)
		return err_set(err, ERR_USAGE, NULL,
			       "--switch-output records what runs already: -p PID, or -a");
	return 0;
}

/* Threads are read one by one, wherever they are: there are no events, and nothing else is chosen.
 */
static int check_stacks(const struct capture_args *a, struct err *err)
{
	const struct capture_options *o = &a->opt;
	const struct {
		bool given;
		const char *name, *instead;
	} rest[] = {
		{o->wall, "--wall", "use two recordings"},
		{o->off_cpu, "--off-cpu", "use two recordings"},
		{o->wakers, "--wakers", "use two recordings"},
		{o->alloc_bytes != 0, "--alloc", "use two recordings"},
		{o->syscalls, "--syscalls", "use two recordings"},
		{o->n_events != 0, "-e", "use two recordings"},
		{o->period != 0, "-c", "--every MS says how often"},
		{o->cpus != NULL, "-C", "it takes threads wherever they run"},
		{o->cgroup != NULL, "-G", "name the processes (-p, -u)"},
		{o->delay_ms != 0, "-D", "begin it later"},
		{o->data, "-d", "use two recordings"},
		{o->all_cgroups, "--all-cgroups", "use two recordings"},
		{o->call_graph == CALL_GRAPH_FP, "--call-graph fp", "it copies stacks"},
		{o->call_graph == CALL_GRAPH_NONE, "--call-graph none", "it copies stacks"},
	};

	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		if (a->stacks && rest[i].given)
			return err_set(err, ERR_USAGE, NULL,
				       "%s reads threads without events: it cannot go together "
				       "with %s; %s",
				       o->every_ms ? "--every" : "--stacks", rest[i].name,
				       rest[i].instead);
	return 0;
}

/* Parts of a recording would all carry the same, and each takes time to make. */
static void choose_bundle(struct capture_args *a)
{
	if (a->opt.bundle == CAPTURE_BUNDLE_UNSET)
		a->opt.bundle = a->parts.wanted ? CAPTURE_BUNDLE_NONE : CAPTURE_BUNDLE_SYMBOLS;
}

/* The recording goes to standard output, in one go. */
static int check_stdout(struct capture_args *a, struct err *err)
{
	if (a->parts.wanted || a->parts.dated)
		return err_set(err, ERR_USAGE, NULL,
			       "-o -: standard output has no name to add a time to; name a file");
	/* What it needs is known when all has been written. */
	if (a->opt.bundle != CAPTURE_BUNDLE_UNSET && a->opt.bundle != CAPTURE_BUNDLE_NONE)
		return err_set(err, ERR_USAGE, NULL,
			       "--bundle: what goes to standard output carries no bundle; name a "
			       "file by -o, or `resolve --bundle` the recording later");
	a->opt.bundle = CAPTURE_BUNDLE_NONE;
	return 0;
}

int capture_args_parse(struct capture_args *a, int argc, char **argv, struct err *err)
{
	struct capture_options *o = &a->opt;
	bool some;
	int rest, rc = options_parse(options, N_OPTIONS, a, true, argc, argv, &rest, NULL, err);

	if (rc)
		return rc;
	if (a->show_help)
		print_help();
	if (a->show_version)
		version_print("capture");
	if (a->show_help || a->show_version)
		return 1;
	if (rest < argc)
		o->command = argv + rest;
	if (o->command && strcmp(argv[rest - 1], "--") &&
	    (habit_subcommand("capture", o->command, err) ||
	     (!strcmp(argv[rest - 1], "-g") && habit_call_graph(*o->command, err))))
		return -ERR_USAGE;
	if (o->command && !a->list && habit_command(o->command, err))
		return -ERR_USAGE;
	o->pids = a->pids.pids.v;
	o->n_pids = a->pids.pids.n;
	o->tids = a->tids.pids.v;
	o->n_tids = a->tids.pids.n;
	o->pids_may_end = a->users;
	o->recorder_argv = argv;
	o->recorder_argc = argc;
	o->syscall_stacks = a->asks_stacks;
	some = o->n_pids || o->n_tids || o->cgroup;
	if (o->cpus && !some) /* as perf record does */
		o->system_wide = true;
	a->stacks |= o->every_ms != 0;
	if (a->stacks && o->command)
		return err_set(err, ERR_USAGE, NULL,
			       "--stacks shows processes that run already: -p PID, or -a");
	if (!a->check && !a->list && !o->system_wide && !some && !o->command)
		return err_set(err, ERR_USAGE, NULL,
			       "nothing to record: give a command, -p PID, or -a; see --help");
	if (check_parts(a, some, err))
		return -ERR_USAGE;
	rc = check_stacks(a, err);
	if (!rc)
		rc = check_snapshot(a, err);
	if (!rc)
		rc = cache_of_user(&o->cache, a->cache_dir, err);
	if (rc)
		return rc;
	if (a->runtimes && !o->command)
		return err_set(err, ERR_USAGE, NULL,
			       "--runtimes sets the environment of a command: give one after --");
	if (a->runtimes && runtime_env_set(err))
		return -ERR_NOMEM;
	if (!strcmp(o->output, "-"))
		return check_stdout(a, err);
	choose_bundle(a);
	return 0;
}

void capture_args_done(struct capture_args *a)
{
	vec_done(&a->pids.pids);
	vec_done(&a->tids.pids);
	parts_done(&a->parts);
	hash_done(&a->said);
}

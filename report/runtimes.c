/* runtimes.c - what gives code without a file names and whole stacks, by the runtime that made it.
 */
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "functions/functions.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "report/modules.h"

/* Names, and what else is said where the recording has no copies of the code. */
#define WITH(names, stacks) names, names "; " stacks
#define ALONE(text)	    text, text
#define V8_FLAGS	    "node --perf-basic-prof --interpreted-frames-native-stack"
#define JAVA_FLAGS                                                          \
	"java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "    \
	"-XX:+DumpPerfMapAtExit (JDK 17 or later; of one that still runs: " \
	"jcmd PID Compiler.perfmap)"
#define V8_COPIED                                                                            \
	"what ran for a moment only, or is made anew all the time, regular expressions and " \
	"WebAssembly have no names here; " V8_FLAGS " names them"
#define V8_HELP                                                                            \
	"record with `capture`, which reads V8's functions from outside, without a flag; " \
	"or " V8_FLAGS
#define V8_NOT_READ                                                                      \
	"`capture` has read no function of V8 there, which takes what not all programs " \
	"export (v8dbg_*); " V8_FLAGS " may name them"

#define PHP_NAMES  "php -d opcache.jit_debug=16 gives names"
#define PHP_COPIES "stacks of the JIT's code need `capture`"
#define PHP_STACKS                                                              \
	"not all callers are known where PHP's JIT has compiled code: with -d " \
	"opcache.jit=disable, which is slower, all stacks are whole"
#define RUBY_NAMES "Ruby's YJIT writes names since Ruby 3.3: RUBYOPT=--yjit-perf"
#define RUBY_STACKS                                                                            \
	"where YJIT's code keeps no frame pointer, its callers are not known: without --yjit " \
	"all stacks are whole"
#define PYPY_NAMES "PyPy's compiled code has no names for recorders"
#define PYPY_STACKS                                                                           \
	"where PyPy's compiled code keeps no frame pointer, its callers are not known: with " \
	"pypy3 --jit off, which is slower, all stacks are whole"
#define CHEZ_NAMES "Chez Scheme's code has no names for recorders"
#define CHEZ_STACKS                                                                         \
	"Chez Scheme's code keeps its callers in a stack of its own, which is not copied: " \
	"nothing here shows them"
#define SBCL_NAMES                                                                            \
	"SBCL's core is no ELF file: its code has no names for recorders; sb-sprof, its own " \
	"profiler, has them"
#define SBCL_STACKS "SBCL's core is no ELF file: how its code keeps its callers is not known here"
#define HASKELL_STACKS                                                                        \
	"Haskell's code (GHC) keeps its callers in a stack of its own in the heap, which is " \
	"not copied: nothing here shows them, nor does -g"

/* By the beginning of the name of a file that the process has mapped. Each was tried with the
 * release in Debian 12, Python's and Java's with later ones; -perfmap and --yjit-perf are by the
 * manuals. */
static const struct {
	const char *name, *if_copied, *help;
	const char *not_read; /* capture reads names, but has not read these; NULL: it does not */
	const char *roots;    /* where most stacks end in its code; NULL: what is said of any */
} runtimes[] = {
	{"libjvm.so",
	 ALONE("record with `capture`, which reads the JVM's code from outside, without a flag; "
	       "with perf: " JAVA_FLAGS),
	 "`capture` has not read this code in the JVM, or not in time; what it said at its end "
	 "tells if it read nothing; names, too: " JAVA_FLAGS,
	 NULL},
	{"libnode.so", V8_COPIED, V8_HELP, V8_NOT_READ, NULL},
	{"node", V8_COPIED, V8_HELP, V8_NOT_READ, NULL},
	{"beam.smp",
	 ALONE("ERL_AFLAGS=\"+JPperf true\" gives names and frame pointers "
	       "(Erlang/OTP 25 or later)"),
	 NULL,
	 "Erlang's code keeps frame pointers with ERL_AFLAGS=\"+JPperf true\" (OTP 25 or later) "
	 "only; stacks of C that it calls have no root then either"},
	{"php", WITH(PHP_NAMES, PHP_COPIES), NULL, PHP_STACKS},
	{"libphp", WITH(PHP_NAMES, PHP_COPIES), NULL, PHP_STACKS},
	{"luajit",
	 WITH("LuaJIT writes no names for recorders",
	      "stacks through its compiled code need `capture`"),
	 NULL, NULL},
	{"libluajit",
	 WITH("LuaJIT writes no names for recorders",
	      "stacks through its compiled code need `capture`"),
	 NULL, NULL},
	{"mono", WITH("MONO_ENV_OPTIONS=--jitmap gives names", "stacks need `capture`"), NULL,
	 NULL},
	{"python3", ALONE("PYTHONPERFSUPPORT=1 (Python 3.12 or later) names Python's functions"),
	 NULL, NULL},
	{"libpython3", ALONE("PYTHONPERFSUPPORT=1 (Python 3.12 or later) names Python's functions"),
	 NULL, NULL},
	{"libruby", ALONE(RUBY_NAMES), NULL, RUBY_STACKS},
	{"ruby", ALONE(RUBY_NAMES), NULL, RUBY_STACKS},
	{"libpypy", ALONE(PYPY_NAMES), NULL, PYPY_STACKS},
	{"libguile", ALONE("Guile's compiled code has no names for recorders"), NULL,
	 "Guile's compiled code keeps its callers in a stack of its own: with "
	 "GUILE_JIT_THRESHOLD=-1 in the environment, which is slower, C alone runs, and its stacks "
	 "are whole"},
	{"racket", ALONE("Racket's code has no names for recorders"), NULL,
	 "Racket's code keeps its callers in a stack of its own, which is not copied: nothing here "
	 "shows them"},
	{"scheme", ALONE(CHEZ_NAMES), NULL, CHEZ_STACKS},
	{"chezscheme", ALONE(CHEZ_NAMES), NULL, CHEZ_STACKS},
	{"petite", ALONE(CHEZ_NAMES), NULL, CHEZ_STACKS},
	{"sbcl", ALONE(SBCL_NAMES), NULL, SBCL_STACKS},
	{"qemu-",
	 WITH("QEMU has names since 8.0, with -perfmap",
	      "stacks through what it has translated need `capture`"),
	 NULL, NULL},
	{"libpcre2",
	 WITH("PCRE2's compiled patterns have no names", "stacks through them need `capture`"),
	 NULL, NULL},
};

enum { JAVA, LIBNODE, NODE, ERLANG, RUNTIMES = sizeof runtimes / sizeof *runtimes };

static size_t runtime_named(const char *path)
{
	size_t k;

	for (k = 0; k < RUNTIMES; k++)
		if (!strncmp(base_name(path), runtimes[k].name, strlen(runtimes[k].name)))
			break;
	return k;
}

/* The runtime of a process, 0: the first in the table of any. RUNTIMES: none is known. *several:
 * there are others, too. */
static size_t find_runtimes(const struct loaded *p, uint32_t pid, bool *several)
{
	const size_t n = perf_file_dso_count(p->file);
	size_t best = RUNTIMES, k;

	*several = false;
	for (size_t i = 0; i < n; i++) {
		const struct dso *dso = perf_file_dso(p->file, i);

		if (dso->kind != DSO_FILE || (pid && dso->mapped_by && dso->mapped_by != pid))
			continue;
		k = runtime_named(dso->path);
		*several |= k != RUNTIMES && best != RUNTIMES && k != best;
		best = k < best ? k : best;
	}
	return best;
}

static size_t find_runtime(const struct loaded *p, uint32_t pid)
{
	bool several;

	return find_runtimes(p, pid, &several);
}

static size_t runtime_of_node(const struct profile *p, uint32_t node)
{
	const struct dso *dso =
		p->mappings.v[p->locations.v[p->nodes.v[node].location].mapping].dso;

	return dso && dso->kind == DSO_FILE ? runtime_named(dso->path) : RUNTIMES;
}

/* Of a file that many processes map only the first of them is known. So: the runtime whose code is
 * in a stack with code that this process has made; of `only`, if that is not NULL: it has become
 * another program (exec). */
static size_t runtime_in_stacks(const struct profile *p, uint32_t pid, const struct dso *only)
{
	size_t best = RUNTIMES;

	for (uint32_t i = 1; i < p->nodes.n; i++) {
		const struct dso *dso =
			p->mappings.v[p->locations.v[p->nodes.v[i].location].mapping].dso;

		if (!dso || dso->kind != DSO_ANON || dso->pid != pid || (only && dso != only))
			continue;
		for (uint32_t at = p->nodes.v[i].parent; at; at = p->nodes.v[at].parent) {
			const size_t k = runtime_of_node(p, at);

			best = k < best ? k : best;
		}
	}
	return best;
}

static size_t runtime_of_process(const struct loaded *p, uint32_t pid)
{
	const size_t k = find_runtime(p, pid);

	return k == RUNTIMES ? runtime_in_stacks(p->profile, pid, NULL) : k;
}

static size_t runtime_of_code(const struct loaded *p, const struct dso *code)
{
	bool several;
	size_t k;

	find_runtimes(p, code->pid, &several);
	k = several ? runtime_in_stacks(p->profile, code->pid, code) : RUNTIMES;
	return k == RUNTIMES ? runtime_of_process(p, code->pid) : k;
}

static bool has_copies(const struct loaded *p, uint32_t pid)
{
	const struct jitdump *d;

	return p->jit && !jit_codes_recorded(p->jit, pid, &d, NULL) && d && jitdump_has_memory(d);
}

bool report_is_of_capture(const struct loaded *p)
{
	const struct perf_file_info *i = perf_file_info(p->file);

	return (i->version && str_starts_with(i->version, "unspool ")) ||
	       (i->n_cmdline && strstr(base_name(i->cmdline[0]), "capture"));
}

/* Of a recording that had the means to name what runtime `k` runs. */
static const char *not_read_help(const struct loaded *p, size_t k)
{
	const bool any = k != JAVA && p->jit && jit_codes_names(p->jit).named;

	return any ? runtimes[k].if_copied : runtimes[k].not_read;
}

static const char *help_of(const struct loaded *p, size_t k, uint32_t pid)
{
	if (k == RUNTIMES)
		return NULL;
	if (runtimes[k].not_read && report_is_of_capture(p))
		return not_read_help(p, k);
	return has_copies(p, pid) ? runtimes[k].if_copied : runtimes[k].help;
}

const char *report_runtime_help(const struct loaded *p, uint32_t pid)
{
	return help_of(p, runtime_of_process(p, pid), pid);
}

const char *report_code_help(const struct loaded *p, const struct dso *code)
{
	return help_of(p, runtime_of_code(p, code), code->pid);
}

/* As GHC names what it has compiled, of its own libraries. */
static bool is_ghc(const struct profile *p, const struct profile_location *l)
{
	const char *name;

	if (!l->n_lines)
		return false;
	name = strtab_get(&p->strings,
			  p->functions.v[p->lines.v[l->first_line].function].system_name);
	return str_ends_with(name, "_info") &&
	       (str_starts_with(name, "base_") || str_starts_with(name, "stg_") ||
		str_starts_with(name, "ghczm"));
}

/* Each program of GHC's has its libraries' code in it. */
static bool is_haskell(const struct profile *p, uint32_t mapping)
{
	for (size_t i = 0; i < p->locations.n; i++)
		if (p->locations.v[i].mapping == mapping && is_ghc(p, &p->locations.v[i]))
			return true;
	return false;
}

/* What a runtime's code, in which most of these stacks end, does to them; NULL: it is another's. */
static const char *roots_of_runtime(const struct loaded *p, enum unwind_stop why)
{
	const struct profile_location *l = report_where_stacks_end(p, why);
	const struct dso *dso = l ? p->profile->mappings.v[l->mapping].dso : NULL;
	size_t k;

	if (!dso)
		return NULL;
	if (is_haskell(p->profile, l->mapping))
		return HASKELL_STACKS;
	if (why == UNWIND_STOP_NO_BINARY && !str_ends_with(dso->path, ".core"))
		return NULL;
	k = dso->kind == DSO_ANON	   ? runtime_of_process(p, dso->pid)
	    : why == UNWIND_STOP_NO_BINARY ? find_runtime(p, dso->mapped_by)
					   : RUNTIMES;
	return k == RUNTIMES ? NULL : runtimes[k].roots;
}

const char *report_no_file_help(const struct loaded *p)
{
	return roots_of_runtime(p, UNWIND_STOP_NO_BINARY);
}

const char *report_roots_help(const struct loaded *p)
{
	const size_t n = perf_file_dso_count(p->file);
	const char *own = roots_of_runtime(p, UNWIND_STOP_NO_CFI);

	if (own)
		return own;

	for (size_t i = 0; i < n; i++)
		if (has_copies(p, perf_file_dso(p->file, i)->pid))
			return "copies of code that was compiled at run time are in the recording, "
			       "but do not show all callers; other code needs its unwind tables "
			       "(not built with -fno-asynchronous-unwind-tables)";
	if (report_is_of_capture(p) && find_runtime(p, 0) == JAVA)
		return "Java's code that was replaced or freed before it was read does not show "
		       "its callers; other code needs its unwind tables (not built with "
		       "-fno-asynchronous-unwind-tables)";
	switch (find_runtime(p, 0)) {
	case JAVA:
		return "code that was compiled at run time needs frame pointers (Java: "
		       "-XX:+PreserveFramePointer, or record with capture), other code its "
		       "unwind tables (not built with -fno-asynchronous-unwind-tables)";
	case LIBNODE:
	case NODE:
		return "V8's code keeps frame pointers, but where its stack still has return "
		       "addresses of calls that are over, the caller is not known";
	default:
		return "code that was compiled at run time needs to be recorded with capture, "
		       "which copies it, or frame pointers; other code needs its unwind tables "
		       "(not built with -fno-asynchronous-unwind-tables)";
	}
}

const char *report_switch_help(const struct loaded *p)
{
	const struct profile_location *l = report_where_stacks_end(p, UNWIND_STOP_SWITCHED);
	const struct dso *dso = l ? p->profile->mappings.v[l->mapping].dso : NULL;

	if (dso && !strcmp(base_name(dso->path), "ntdll.so"))
		return "a sample holds one stack: Wine's side of Linux runs on another one than "
		       "the program's";
	if (find_runtime(p, 0) == ERLANG)
		return "a sample holds one stack: C that Erlang calls (garbage collection, BIFs) "
		       "runs on the scheduler's, not on that of its process";
	return "a sample holds one stack: Go's runtime and signal handlers run on stacks of their "
	       "own";
}

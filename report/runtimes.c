/* runtimes.c - what gives code without a file names and whole stacks, by the runtime that made it.
 */
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "functions/functions.h"
#include "reader/reader.h"
#include "report/modules.h"

/* By the beginning of the name of a file that the process has mapped. Each was tried with the
 * release in Debian 12, Python's and Java's with later ones; -perfmap is by QEMU's manual. */
static const struct {
	const char *name, *help;
	const char *with_code; /* where the recording has copies of the code; NULL: the same */
} runtimes[] = {
	{"libjvm.so", "record with `capture`, which reads the JVM's code from outside, without a "
		      "flag; with perf: "
		      "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
		      "-XX:+DumpPerfMapAtExit (JDK 17 or later; of one that still runs: "
		      "jcmd PID Compiler.perfmap)"},
	{"libnode.so", "node --perf-basic-prof --interpreted-frames-native-stack"},
	{"node", "node --perf-basic-prof --interpreted-frames-native-stack"},
	{"beam.smp",
	 "ERL_AFLAGS=\"+JPperf true\" gives names and frame pointers (Erlang/OTP 25 or later)"},
	{"php", "php -d opcache.jit_debug=16 gives names; stacks of the JIT's code need `capture`",
	 "php -d opcache.jit_debug=16 gives names"},
	{"luajit",
	 "LuaJIT writes no names for recorders; stacks through its compiled code need `capture`",
	 "LuaJIT writes no names for recorders"},
	{"libluajit",
	 "LuaJIT writes no names for recorders; stacks through its compiled code need `capture`",
	 "LuaJIT writes no names for recorders"},
	{"mono", "MONO_ENV_OPTIONS=--jitmap gives names; stacks need `capture`",
	 "MONO_ENV_OPTIONS=--jitmap gives names"},
	{"python3", "PYTHONPERFSUPPORT=1 (Python 3.12 or later) names Python's functions"},
	{"libpython3", "PYTHONPERFSUPPORT=1 (Python 3.12 or later) names Python's functions"},
	{"qemu-",
	 "stacks through what QEMU has translated need `capture`; it has names since QEMU 8.0, "
	 "with -perfmap",
	 "QEMU has names since 8.0, with -perfmap"},
	{"libpcre2", "PCRE2's compiled patterns have no names; stacks through them need `capture`",
	 "PCRE2's compiled patterns have no names"},
};

static bool has_copies(const struct perf_file *f)
{
	size_t n;

	return !perf_file_info(f)->is_pipe && perf_file_feature(f, RUNTIME_CODE_FEATURE, &n);
}

const char *report_runtime_help(const struct loaded *p, uint32_t pid)
{
	const size_t n = perf_file_dso_count(p->file);
	const bool has_code = has_copies(p->file);
	const char *found = NULL;
	size_t best = sizeof runtimes / sizeof *runtimes;

	for (size_t i = 0; i < n; i++) {
		const struct dso *dso = perf_file_dso(p->file, i);

		if (dso->kind != DSO_FILE || (dso->mapped_by && dso->mapped_by != pid))
			continue;
		for (size_t k = 0; k < best; k++)
			if (!strncmp(base_name(dso->path), runtimes[k].name,
				     strlen(runtimes[k].name))) {
				found = has_code && runtimes[k].with_code ? runtimes[k].with_code
									  : runtimes[k].help;
				best = k;
			}
	}
	return found;
}

#!/usr/bin/env python3
"""A recording is taken to another machine: `perf archive` packs the binaries with samples out of perf's build-id cache, they are
unpacked there as its manual says, and the originals are gone. Then the same with the debug directories of --debug-dir, several
of them, and with --symfs. Names are right by construction, and the output must be the one of the first machine."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/e2e"))
from common import RESOLVE, Tap, have, run
from recorder import TRIES

LIB = """
static inline __attribute__((always_inline)) unsigned long inlined(unsigned long x) { return x * 2862933555777941757u + 3037000493u; }
__attribute__((noinline)) unsigned long deep_in_lib(unsigned n) { unsigned long x = n; while (n--) x = inlined(x); return x; }
unsigned long lib_call(void) { return deep_in_lib(100000) + 1; }
"""
MAIN = """
#include <signal.h>
#include <sys/time.h>
unsigned long lib_call(void);
static volatile sig_atomic_t over;
static void on_timer(int sig) { (void)sig; over = 1; }
/* Busy itself: perf archive takes only what samples were in. */
__attribute__((noinline)) unsigned long hot_spot(void)
{
	for (volatile int i = 0; i < 30000; i++)
		;
	return lib_call() + 1;
}
int main(void)
{
	struct itimerval t = {.it_value = {0, 300000}};
	unsigned long sum = 0;
	signal(SIGVTALRM, on_timer);
	setitimer(ITIMER_VIRTUAL, &t, 0);
	while (!over)
		sum += hot_spot();
	return sum == 1;
}
"""
STACK = "main;hot_spot;lib_call;deep_in_lib"
tap = Tap()
HERE = os.getcwd()


def environment(home, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DEBUGINFOD", "PERF_BUILDID"))}
    return dict(env, HOME=os.path.abspath(home), **more)


def build():
    for d in ("bin", "first", "second"):
        os.makedirs(d)
    for name, text in (("lib.c", LIB), ("main.c", MAIN)):
        with open(name, "w") as f:
            f.write(text)
    flags = "-g -O1 -fno-optimize-sibling-calls -Wl,--build-id"
    run(f"gcc {flags} -fPIC -shared -o bin/libdeep.so lib.c".split())
    run(f"gcc {flags} -o bin/prog main.c -Lbin -ldeep -Wl,-rpath,{HERE}/bin".split())


def record():
    """With perf's cache, into which it copies what has samples. Tried again where another recorder makes perf 6.1 abort."""
    for _ in range(TRIES):
        p = run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,2048", "-o", "p.data", "bin/prog"],
                check=False, env=environment("first"))
        if not p.returncode:
            return True
        time.sleep(1)
    return False


def resolve(home, *options):
    p = run([RESOLVE, *options, "p.data"], env=environment(home), check=False)
    return "\n".join(l for l in p.stdout.splitlines() if "prog" in l)


def archive(want):
    p = run(["perf", "archive", "p.data"], env=environment("first", PERF_BUILDID_DIR=f"{HERE}/first/.debug"), check=False)
    if not os.path.exists("p.data.tar.bz2"):
        tap.check(False, "perf archive packs", p.stdout + p.stderr)
        return
    os.makedirs("second/.debug")
    run(["tar", "xf", "p.data.tar.bz2", "-C", "second/.debug"])
    got = resolve("second")
    tap.check(got == want, "perf archive, unpacked into ~/.debug", f"{got}\n---\n{want}")
    os.rename("second/.debug", "elsewhere")
    got = run([RESOLVE, "p.data"], env=environment("second", PERF_BUILDID_DIR=f"{HERE}/elsewhere"), check=False).stdout
    tap.check(STACK in got, "perf archive, unpacked where PERF_BUILDID_DIR says", got)
    got = resolve("second")
    tap.check("deep_in_lib" not in got and "hot_spot" not in got, "without the archive there are no names", got)


def debug_dirs(want):
    """Stripped binaries back in their place; the debug file of each in another directory."""
    os.rename("gone", "bin")
    ids = {}
    for n, where in (("prog", "one"), ("libdeep.so", "two")):
        ids[n] = run(["readelf", "-nW", f"bin/{n}"]).stdout.split("Build ID: ")[1].split()[0]
        d = f"{where}/.build-id/{ids[n][:2]}"
        os.makedirs(d)
        run(["objcopy", "--only-keep-debug", f"bin/{n}", f"{d}/{ids[n][2:]}.debug"])
        run(["strip", f"bin/{n}"])
    got = resolve("second")
    tap.check("hot_spot" not in got and "lib_call" in got, "stripped: .dynsym only", got)
    got = resolve("second", "--debug-dir", "one")
    tap.check("hot_spot" in got and ";inlined" not in got, "--debug-dir of one of two debug files: names, not those of the other", got)
    got = resolve("second", "--debug-dir", "one", "--debug-dir", "two")
    tap.check(got == want, "--debug-dir, twice: the names of the recording's machine", f"{got}\n---\n{want}")
    root = "mounted"
    os.makedirs(f"{root}{HERE}")
    os.rename("bin", f"{root}{HERE}/bin")
    shutil.copytree("one", f"{root}/usr/lib/debug")
    shutil.copytree("two", f"{root}/usr/lib/debug", dirs_exist_ok=True)
    got = resolve("second", "--symfs", root)
    tap.check(STACK in got and ";inlined" in got, "--symfs: binaries and debug files below it", got)
    got = resolve("second", "--symfs", f"{root}/")
    tap.check(STACK in got and ";inlined" in got, "--symfs with a slash at its end", got)


if not have("perf"):
    tap.skip("perf archive", "perf is not installed")
    tap.end()
build()
if not record():
    tap.skip("perf archive", "perf aborts beside another recorder")
    tap.end()
first = resolve("first")
tap.check(STACK + ";inlined" in first, "the machine that recorded has all names", first)
os.rename("bin", "gone")
archive(first)
debug_dirs(first)
tap.end()

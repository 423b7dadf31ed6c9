"""debuginfod_case.py - a recording whose binaries are stripped, and a network namespace of its own.

The program calls one hidden (static) function in each of eight libraries, for shorter and shorter times; nearly all of it is in
an inlined one. Directories: full/ as linked, run/ stripped and recorded, served/ a copy of that, debug/ the separate
debug files, other/ work and libpart0.so of another build."""
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time

from recorder import TRIES
from shell import sh
from tap import need_events

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
RESOLVE = os.path.join(BIN, "resolve")
PARTS = 8
WEIGHTS = [40, 20, 12, 8, 8, 6, 2, 1]  # the last two are below 5 % of the samples
NAMES = ["work"] + [f"libpart{i}.so" for i in range(PARTS)]

# With OTHER it is another build, of which everything lies elsewhere.
LIB = """
#include <stddef.h>
#ifdef OTHER
__attribute__((noinline)) int other_NUMBER(int n) { __asm__(".fill 300, 1, 0x90"); return n * 3 + NUMBER; }
#endif
volatile unsigned long sink_NUMBER;
#define MIX x = x * 2862933555777941757u + 3037000493u; __asm__("" : "+r"(x)); /* not folded into one step */
static inline __attribute__((always_inline)) unsigned long inlined_NUMBER(unsigned long x) { MIX MIX MIX MIX MIX MIX MIX MIX return x; }
static __attribute__((noinline)) unsigned long hidden_NUMBER(unsigned n)
{
	unsigned long x = n;
	for (unsigned i = 0; i < n; i++)
		x = inlined_NUMBER(x);
	return x;
}
void part_NUMBER(unsigned n) { sink_NUMBER += hidden_NUMBER(n) + 1; sink_NUMBER++; }
"""
# It asks no clock: samples in the vDSO would make one module more.
TIMER = """
#include <signal.h>
#include <sys/time.h>
static volatile sig_atomic_t over;
static void on_timer(int sig) { (void)sig; over = 1; }
static void start_timer(int ms)
{
	struct itimerval t = {.it_value = {ms / 1000, ms % 1000 * 1000}};
	signal(SIGVTALRM, on_timer);
	setitimer(ITIMER_VIRTUAL, &t, 0);
}
"""
MAIN = TIMER + """
#ifdef OTHER
__attribute__((noinline)) int other(int n) { __asm__(".fill 300, 1, 0x90"); return n * 3; }
#endif
%s
static __attribute__((noinline)) void hidden_main(void) { %s }
int main(void) { start_timer(1000); while (!over) hidden_main(); return 0; }
""" % ("".join(f"void part_{i}(unsigned n);\n" for i in range(PARTS)),
       " ".join(f"part_{i}({4000 * w});" for i, w in enumerate(WEIGHTS)))


def record(data, program):
    """Tried again when perf 6.1 aborts beside another recorder (tests/reader/test_mmap2_flag.py says why)."""
    need_events()
    sh(f"for i in $(seq {TRIES}); do "
       f"perf record -q --buildid-all -e cpu-clock:u -F 997 --call-graph dwarf,8192 {os.environ['RINGS']} -o {data} {program} && exit; sleep 1; done; exit 1",
       env=dict(os.environ, PERF_BUILDID_DIR=os.path.abspath("none"), HOME=os.path.abspath("none")))


def build():
    for d in ("run", "served", "full", "debug", "src", "other"):
        os.makedirs(d, exist_ok=True)
    flags = "-g -O2 -fno-optimize-sibling-calls -Wl,--build-id"
    for i in range(PARTS):
        with open(f"src/part{i}.c", "w") as f:
            f.write(LIB.replace("NUMBER", str(i)))
        sh(f"gcc {flags} -fPIC -shared -o full/libpart{i}.so src/part{i}.c")
    with open("src/work.c", "w") as f:
        f.write(MAIN)
    sh(f"gcc {flags} -o full/work src/work.c " + " ".join(f"-lpart{i}" for i in range(PARTS)) +
       " -Lfull -Wl,-rpath," + os.path.abspath("run"))
    for n, source, how in (("work", "work", " ".join(f"-lpart{i}" for i in range(PARTS)) + " -Lfull"),
                           ("libpart0.so", "part0", "-fPIC -shared")):
        sh(f"gcc {flags} -DOTHER -ffile-prefix-map={os.getcwd()}=/{'x' * 100} -o other/{n} src/{source}.c {how}")
    for n in NAMES:
        sh(f"strip -o run/{n} full/{n} && objcopy --only-keep-debug full/{n} debug/{n}.debug && cp run/{n} served")
    record("p.data", "run/work")


def enter_lonely_network():
    """Starts this script again in a network namespace of its own, where there is only the loopback. What was built before
    is kept: it is the same directory. False, with a skip line, when that is not permitted."""
    if "LONELY" not in os.environ:
        if not shutil.which("perf") or not shutil.which("unshare"):
            print("ok - debuginfod # SKIP perf or unshare is not installed")
            sys.exit(0)
        flags = ["-n"] if os.geteuid() == 0 else ["-r", "-n"]
        if subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL).returncode:
            print("ok - debuginfod # SKIP no network namespace can be made here")
            sys.exit(0)
        # Root of a user namespace may not lock more, either.
        os.environ["RINGS"] = "-m 16M" if os.geteuid() == 0 else ""
        build()
        os.environ["LONELY"] = "1"
        os.execvp("unshare", ["unshare", *flags, sys.executable, *sys.argv])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    flags, = struct.unpack_from("16xh", fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


class Run:
    """One run of resolve with a debuginfod cache of its own."""

    def __init__(self, *options, urls="", cache="cache", data="p.data", fresh=True, **env):
        if fresh:
            shutil.rmtree(cache, ignore_errors=True)
        self.cache = os.path.abspath(cache)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD") and "proxy" not in k.lower() and
                    k not in ("UNSPOOL_DEBUGINFOD", "XDG_CONFIG_HOME")}
        self.env.update(HOME=os.path.abspath("home"), PERF_BUILDID_DIR=os.path.abspath("none"),
                        DEBUGINFOD_CACHE_PATH=self.cache, **env)
        if urls:
            self.env["DEBUGINFOD_URLS"] = urls
        self.cmd = [RESOLVE, "--stats=json", *options, data]
        start = time.time()
        p = subprocess.run(self.cmd, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           stdin=subprocess.DEVNULL, timeout=60)
        self.seconds = time.time() - start
        self.digest(p.stdout, p.stderr, p.returncode)

    def digest(self, out, err, status):
        self.out, self.err, self.status = out, err, status
        lines = [l for l in err.splitlines() if l.startswith("{")]
        self.stats = json.loads(lines[0]) if lines else {}
        # Of modules that stay without names there is a line each, at the end: not what is tested here.
        self.said = [l for l in err.splitlines() if not l.startswith("{") and " without names" not in l]
        self.modules = {os.path.basename(m["path"]): m for m in self.stats.get("modules", [])}

    def __str__(self):
        modules = {n: (m["source"][-60:], m["debuginfod"]) for n, m in self.modules.items() if n in NAMES}
        return "\n".join([f"status {self.status}, {self.seconds:.1f} s", *self.said, self.out[:300],
                          f"names {self.names(False)} {self.names()}", f"cache: {self.files()}", f"modules: {modules}"])

    def why(self, name):
        return self.modules.get(name, {}).get("debuginfod")

    def files(self):
        """{path in the cache: size}, without the control files and, of elfutils 0.193 on, the answers' headers."""
        return {os.path.relpath(os.path.join(d, f), self.cache): os.path.getsize(os.path.join(d, f))
                for d, _, fs in os.walk(self.cache) for f in fs if d != self.cache and not f.startswith("hdr-")}

    def has_no_stacks(self):
        """None but those of the dynamic loader at work, which is here. How long it works is the machine's affair."""
        n, root = self.stats["user_stacks"], self.stats["root"]
        return n > 100 and root < 0.05 * n and self.stats["no_file"] + root >= 0.99 * n

    def has_stacks(self):
        """All, but where a sample met the loader deeper than the copy."""
        return self.stats["root"] >= 0.99 * self.stats["user_stacks"] > 50

    def names(self, inlined=True):
        """Which of the libraries have their hidden function, and where it is wanted the inlined one."""
        return [i for i in range(PARTS)
                if f"hidden_{i}" in self.out and (not inlined or f";inlined_{i}" in self.out)]


ALL = list(range(PARTS))

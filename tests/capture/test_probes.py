#!/usr/bin/env python3
"""Probes by name: who calls this function? By the lines that the manuals of perf and bpftrace type, in the languages that people
write, on files that live elsewhere, and with nothing left behind."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run, until, until_open
from perfdata import PerfData

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")

EVENTS = "/sys/kernel/tracing/uprobe_events"
if not os.path.exists(EVENTS) and "IN_MOUNT" not in os.environ:  # tracefs, for this test only
    os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                           'mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh", sys.executable, __file__],
               dict(os.environ, IN_MOUNT="1"))
if not os.path.exists(EVENTS):
    tap.skip("probes", "there is no tracefs, and none can be mounted")
    tap.end()
    raise SystemExit

D = """__attribute__((noipa)) long pick(long n) __asm__("_D3app4pickFlZl");
__attribute__((noipa)) void get(void) __asm__("_D3app3Box3getMFZv");
__attribute__((noipa)) long pick(long n) { return n + 1; }
__attribute__((noipa)) void get(void) {}
int main(void) { for (int i = 0; i < 3; i++) pick(i); get(); get(); return 0; }
"""
HELLO = """#include <stdio.h>
__attribute__((noipa)) void func_d(void) { puts("Hello"); }
__attribute__((noipa)) void func_c(void) { func_d(); __asm__ volatile(""); }
__attribute__((noipa)) void func_b(void) { func_c(); __asm__ volatile(""); }
__attribute__((noipa)) void func_a(void) { func_b(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 3; i++) func_a(); return 0; }
"""
CXX = """#include <cstdio>
namespace ns {
struct W {
	int v;
	__attribute__((noinline)) int run(int x) { return v += x; }
	__attribute__((noinline)) int run(const char *s) { return v += s[0]; }
	template <class T> __attribute__((noinline)) T gen(T t) { v++; return t + (T)v; }
};
}
int main(int c, char **)
{
	ns::W w{c};
	int s = 0;
	for (int i = 0; i < 5; i++)
		s += w.run(i) + w.run("x") + w.gen<int>(i) + (int)w.gen<double>(i);
	std::printf("%d\\n", s);
}
"""
GO = """package main
import "fmt"
type T struct{ n int }
//go:noinline
func (t *T) Method(x int) int { t.n += x; return t.n }
//go:noinline
func leaf(x int) int { return x * 3 }
//go:noinline
func caller(t *T) int { s := 0; for i := 0; i < 4; i++ { s += leaf(i) + t.Method(i) }; return s }
func main() { fmt.Println(caller(&T{})) }
"""
RUST = """mod gn {
    pub trait Work { fn work(&self, x: u64) -> u64; }
    pub struct S(pub u64);
    impl Work for S { #[inline(never)] fn work(&self, x: u64) -> u64 { self.0 + x } }
    #[inline(never)] pub fn free_fn<T: Work>(t: &T, n: u64) -> u64 { let mut s = 0; for i in 0..n { s += t.work(i) } s }
    #[inline(never)] pub fn generic<T: std::fmt::Display>(t: T) -> String { format!("{t}!") }
}
fn main() { println!("{} {} {}", gn::free_fn(&gn::S(3), 4), gn::generic(1u8), gn::generic(2u64)); }
"""
LIBZ = """#include <zlib.h>
int main(void)
{
	unsigned char in[1000] = {1}, out[2000];
	for (int i = 0; i < 3; i++) { uLongf n = sizeof out; compress(out, &n, in, sizeof in); }
	return 0;
}
"""
USDT = """#include <sys/sdt.h>
unsigned short app_go_semaphore __attribute__((section(".probes")));
__attribute__((noipa)) void work(int i) { DTRACE_PROBE1(app, step, i); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 4; i++) work(i); return 0; }
"""
LOOP = """#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) void leaf(void) {}
__attribute__((noipa)) void mid(void) { leaf(); __asm__ volatile(""); }
int main(int c, char **v) { for (long n = atol(v[1]); n--; c > 2 && usleep(1000)) mid(); return 0; }
"""


def make(name, text, command):
    with open(name, "w") as f:
        f.write(text)
    run(command.split())


def left(pid=None):
    """What is in tracefs of recorders that have ended (others may run at the same time), or of one."""
    with open(EVENTS) as f:
        owned = [(int(re.search(r":unspool_(\d+)", line)[1]), line) for line in f if ":unspool_" in line]
    return [line for owner, line in owned if (owner == pid if pid else not os.path.exists(f"/proc/{owner}"))]


def folded(*options):
    """{stack without the program's start: calls}"""
    out = run([RESOLVE, "-q", "--no-inline", *options, "perf.data"]).stdout
    return {re.sub(r"^.*?;(?=(main|main\.main|rs::main)(;|$))", "", re.sub(r"^.*;(?=rs::main;)", ";", s)): int(n)
            for s, _, n in (line.rpartition(" ") for line in out.splitlines())}


def probed(event, *command):
    p = capture("-e", event, "--", *command)
    return folded() if p.n_samples else {}


def same(have_, want, what):
    tap.check(have_ == want, what, have_, want)


# ---- the documents' own program: gcc -O2 without frame pointers ---------------------------------
make("hello.c", HELLO, "gcc -O2 -fomit-frame-pointer hello.c -o hello")
chain = "main;func_a;func_b;func_c;func_d"
same(probed("uprobe:./hello:func_d", "./hello"), {chain: 3}, "who calls func_d: the whole chain")
stacks = {chain.rpartition(";")[0]: 3, chain: 3, "main;func_a": 3, "main;func_a;func_b": 3, "main": 1}
same(probed("uprobe:./hello:*", "./hello"), stacks, "all functions of a program, and nothing that the linker added")
same(probed("uretprobe:./hello:func_c", "./hello"), {"main;func_a;func_b;func_c": 3}, "which function has returned, and where to")
# Of nested ones the kernel hides where the outer ones return to.
p = capture("-e", "uretprobe:./hello:func_*", "--", "./hello")
ends = {}
for s, n in folded().items():
    ends[";".join(s.split(";")[-2:])] = ends.get(";".join(s.split(";")[-2:]), 0) + n
same(ends, {"func_c;func_d": 3, "func_b;func_c": 3, "func_a;func_b": 3, "main;func_a": 3}, "several return probes: each sample says which function has returned")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
same(re.findall(r"<- (\w+)$", text, re.M), ["func_d", "func_c", "func_b", "func_a"] * 3, "and so does -f trace")
text = run([RESOLVE, "-q", "-f", "script", "perf.data"]).stdout
tap.check(all(re.search(rf"{start} func_", text) for start in set(re.findall(r"\((\w+) <-", text))), "and -f script", text)
text = run([RESOLVE, "-o", "out.folded", "perf.data"]).stderr
tap.check("return probes put" in text and "call:FILE" in text, "lost callers: return probes are named as the cause", text)
# So many that the kernel takes its time: that is said, and ^C ends it with what is there.
with open("many.s", "w") as f:
    f.write(".globl main\n.text\n" + "".join(f".type f{i},@function\nf{i}: ret\n.size f{i},.-f{i}\n" for i in range(30000)) +
            ".type main,@function\nmain: ret\n.size main,.-main\n.section .note.GNU-stack\n")
run(["gcc", "many.s", "-o", "many"])
p = subprocess.Popen([CAPTURE, "-e", "uprobe:./many:f*", "--", "./many"], stderr=subprocess.PIPE, text=True)
line = p.stderr.readline()
tap.check(line == "capture: uprobe:./many:f*: putting probes at 30000 places, which takes the kernel a while\n", "many probes: what is being done", line)
p.send_signal(signal.SIGINT)
rest = p.communicate()[1]
tap.check(p.returncode == 2 and rest == "capture: interrupted before the recording began\n" and not left(p.pid), "^C meanwhile: no recording, no probes", rest, left(p.pid))
# Processes that end take the probes of others with them, if the kernel is left alone with them; and probes do not show in what the
# recording keeps of the file.
LONG_RUN = """#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(void) { for (int i = 0; i < 40; i++) { work(i); usleep(20000); } return 0; }
"""
make("work.c", LONG_RUN, "gcc -O1 work.c -o work")
for _ in range(2):
    p = capture("-e", "uprobe:./work:work", "--", "sh", "-c", "./work & for i in 1 2 3 4 5 6 7 8; do /bin/true; /bin/ls >names; done; wait")
    tap.check(p.n_samples == 40, "processes beside it end: no hit is lost", p.n_samples, p.stderr)
# As on kernels before 6.12, which refuse what keeps probes in a command's processes alone.
make("older.c", """#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long nr, ...)
{
	static long (*next)(long, ...);
	long v[6];
	va_list ap;
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_perf_event_open) {
		const struct perf_event_attr *a = (const void *)v[0];
		if (a->inherit && a->sample_type & PERF_SAMPLE_READ)
			return errno = EINVAL, -1;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	return next(nr, v[0], v[1], v[2], v[3], v[4], v[5]);
}
""", "gcc -shared -fPIC -O1 older.c -o older.so")
p = capture("-e", "uprobe:./work:work", "-o", "older.data", "--", "sh", "-c", "./work & for i in 1 2 3 4 5 6 7 8; do /bin/true; /bin/ls >names; done; wait",
            env={**os.environ, "LD_PRELOAD": os.path.abspath("older.so"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
read = 1 << 4  # PERF_SAMPLE_READ
tap.check(p.n_samples == 40 and not any(a["sample_type"] & read for a in PerfData("older.data").attrs), "an older kernel: no hit is lost, too", p.n_samples, p.stderr)
if tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 12):
    stay = {}
    for name, words in (("probe", ["-e", "uprobe:./work:work"]), ("clock", ["-e", "cpu-clock"]), ("waits", ["--off-cpu"]), ("wall", ["--wall"])):
        run([CAPTURE, "-q", *words, "-o", "stay.data", "--", "true"], check=False)
        stay[name] = any(a["sample_type"] & read for a in PerfData("stay.data").attrs)
    tap.check(stay == {"probe": True, "clock": False, "waits": False, "wall": False}, "to the end, threads keep their events beside probes alone", stay)
    beside = subprocess.Popen(["./work"])
    r = subprocess.Popen([CAPTURE, "-q", "-e", "uprobe:./work:work", "-o", "beside.data", "--", "./work"])
    until_open(r)
    with open(f"/proc/{beside.pid}/maps") as f:
        start, off = next((int(l.split("-")[0], 16), int(l.split()[2], 16)) for l in f if "/work" in l and "r-xp" in l)
    place = next(int(l.split()[0], 16) for l in run(["nm", "work"]).stdout.splitlines() if l.endswith(" work"))
    with open(f"/proc/{beside.pid}/mem", "rb") as f:
        f.seek(start + place - off)
        byte = f.read(1)
    r.wait()
    beside.wait()
    tap.check(byte != b"\xcc", "no probe is in a process that is not recorded", byte)
for options in ([], ["-a"]):
    capture(*options, "--bundle=full", "-e", "call:./hello:func_d", "--", "./hello")
    shutil.rmtree("files", ignore_errors=True)
    os.mkdir("files")
    run([RESOLVE, "--unbundle", "files", "perf.data"])
    same([open(path, "rb").read() == open("hello", "rb").read() for path in glob.glob("files/**/hello/*/elf", recursive=True)], [True], f"{options}: the bundle has the code without probes")
# The file is replaced, or written to.
for what, words in (("cp hello new; mv new work", "was replaced meanwhile"), ("cat hello >work", "was written to meanwhile"), ("true", None)):
    make("work.c", LONG_RUN.replace("20000", "200"), "gcc -O1 work.c -o work")
    p = capture("-e", "uprobe:./work:work", "--", "sh", "-c", f"./work; {what}")
    tap.check(p.n_samples == 40 and (words in p.stderr if words else "meanwhile" not in p.stderr), f"{what}: said", p.stderr)
make("work.c", LONG_RUN.replace("20000", "200"), "gcc -O1 work.c -o work")
p = capture("-e", "call:./work:work", "--", "sh", "-c", "./work; cp hello new; mv new work")
tap.check(p.stderr.count("was replaced meanwhile") == 1, "call: that a file was replaced is said once", p.stderr)
# A call is told once, whatever patterns mean it.
for events in ("uprobe:./hello:func_d,uprobe:./hello:func_*", "uprobe:./hello:func_*,uprobe:./hello:func_d", "uprobe:./hello:func_[ad]*,uprobe:hello:func_*"):
    events = events.replace("func_[ad]*", "func_?").replace(":hello", f":{os.getcwd()}/hello")
    p = capture("-e", events, "--", "./hello")
    text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
    tap.check(p.n_samples == 12 and "probed already, for uprobe:./hello:func_" in p.stderr, f"{events}: each call once", p.stderr)
    same(re.findall(r"<- (\w+)$", text, re.M), ["func_a", "func_b", "func_c", "func_d"] * 3, "and in order")
capture("-e", "call:./hello:func_d,call:./hello:func_*", "--", "./hello")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
same(re.findall(r"ms\): \S+ (func_\w)\(\)", text), ["func_a", "func_b", "func_c", "func_d"] * 3, "call: of two patterns: each call with its end")
off = next(int(line.split()[0], 16) for line in run(["nm", "hello"]).stdout.splitlines() if line.endswith(" func_d"))
same(probed(f"uprobe:./hello:{off:#x}", "./hello"), {chain: 3}, "an address of the file")
# the kernel counts on each CPU
p = capture("-c", 2, "-e", "uprobe:./hello:func_*", "--", "taskset", "-c", str(min(os.sched_getaffinity(0))), "./hello")
tap.check(p.n_samples == 6, "-c 2: each second of 12 calls", p.stderr)
p = run([CAPTURE, "-q", "-a", "-e", "uprobe:./hello:func_d", "--", "./hello"])
same({s: n for s, n in folded("--comm", "hello").items()}, {chain: 3}, "-a")
run([CAPTURE, "-q", "-e", "uprobe:./hello:func_d", "--", "./hello"])  # of -a perf 6.12 shows no frames in a chroot
text = run(["perf", "script", "-i", "perf.data", "-F", "ip,sym"]).stdout.split("\n")
tap.check([line.split()[-1] for line in text if line.strip()][:4] == ["func_d", "func_c", "func_b", "func_a"], "perf reads the recording", text)
hidden = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
          'umount -l /sys/kernel/tracing /sys/kernel/debug/tracing 2>/dev/null; ls /sys/kernel/tracing >names; exec "$@"', "sh"]
p = run([*hidden, CAPTURE, "-q", "-e", "uprobe:./hello:func_d", "--", "./hello"], check=False)
tap.check(os.stat("names").st_size == 0 and folded() == {chain: 3}, "where tracefs is not mounted", p.stderr)
p = run([*hidden, CAPTURE, "-q", "-e", "sched:sched_switch/prev_comm==\"sleep\"/,sched:sched_wak*", "-o", "switch.data", "--", "sleep", "0.1"], check=False)
text = run([RESOLVE, "-q", "-f", "trace", "switch.data"]).stdout if not p.returncode else ""
tap.check(os.stat("names").st_size == 0 and "prev_comm=sleep" in text and "sched:sched_waking" in text, "there, tracepoints: one, and a pattern", p.stderr, text)
p = run([*hidden, CAPTURE, "--list", "sched:sched_switch"], check=False)
tap.check("sched:sched_switch\n" in p.stdout and "    pid_t prev_pid\n" in p.stdout, "there, --list of tracepoints", p.stderr, p.stdout)
p = run([*hidden, CAPTURE, "--check"], check=False)
tap.check("yes tracepoints" in p.stdout and "yes system calls" in p.stdout, "there, --check", p.stdout)
flips = 'while sleep 0.02; do mount -t tracefs none /sys/kernel/tracing; sleep 0.02; umount /sys/kernel/tracing; done 2>/dev/null & "$@"; rc=$?; kill $!; exit $rc'
twelve = 'umount -l /sys/kernel/tracing; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$@" || echo failed >&2; done'
p = run(["unshare", "--mount", "--propagation", "private", "sh", "-c", flips, "sh", "sh", "-c", twelve, "sh",
         CAPTURE, "-q", "--args", "-e", "uprobe:./hello:func_d", "--", "./hello"], check=False)
tap.check("failed" not in p.stderr and folded() == {chain: 3}, "where tracefs is mounted and unmounted meanwhile", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./hello:funcd", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "near it: func_d" in p.stderr, "a wrong name: the nearest ones", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./hello:unc_*", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "near it: '*unc_*' (4 functions)" in p.stderr, "a pattern that means nothing: a wider one", p.stderr)
p = run([CAPTURE, "-e", "uprobe:/bin/true:0x1", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "0x1" in p.stderr, "no address of code: refused", p.stderr)
for what, words in (("./hello:func_d+0x1000", "bytes long"), ("/tmp:func_d", "no regular file"), ("./hello.c:func_d", "ELF")):
    p = run([CAPTURE, "-e", f"uprobe:{what}", "--", "./hello"], check=False)
    tap.check(p.returncode == 2 and words in p.stderr, f"refused with its reason: {what}", p.stderr)
p = capture("-e", "uprobe:libz.so.1:adler32", "--", "./hello")
tap.check(p.n_samples == 0 and "nothing that was recorded has mapped" in p.stderr, "a probe in a file that nothing maps: a line says so", p.stderr)
p = capture("-e", "uprobe:libc.so.6:wcsxfrm", "--", "./hello")
tap.check(p.n_samples == 0 and "not called" in p.stderr, "a probe that is not hit: a line says so", p.stderr)
tap.check(not left(), "nothing is left in tracefs", left())

VERSIONS = """#define N __attribute__((noipa))
__asm__(".symver old_f,twice@V1\\n.symver new_f,twice@@V2");
N int old_f(int n) { return n; }
N int new_f(int n) { return n + 1; }
"""
with open("versions.map", "w") as f:
    f.write("V1 { local: *; }; V2 { global: twice; } V1;\n")
make("versions.c", VERSIONS, "gcc -O1 -shared -fPIC -Wl,--version-script=versions.map versions.c -o libversions.so")
for name in sorted(line.split()[-1] for line in run(["nm", "libversions.so"]).stdout.splitlines() if "twice@" in line):
    p = run([CAPTURE, "-l", f"uprobe:./libversions.so:{name}"], check=False)
    tap.check(p.returncode == 0 and p.stdout.strip().endswith(f":{name}"), "a version of a function, by the name that symbols have", name, p.stdout, p.stderr)

# ---- lines, functions that are chosen, stubs, perf's own line -------------------------------------
LINES = """#include <stdio.h>
static volatile int sink;
static inline __attribute__((always_inline)) void copied(int i)
{
	sink += i; /* HERE */
}
__attribute__((noipa)) void one(int i)
{
	copied(i);
	sink++;
}
int main(void)
{
	for (int i = 0; i < 5; i++) {
		one(i);
		if (i & 1)
			copied(i); /* TWO */
	}
	return 0;
}
"""
number = {word: next(i for i, line in enumerate(LINES.splitlines(), 1) if word in line) for word in ("HERE", "TWO", "sink++")}
for flags in ("-O0", "-O2"):
    make("lines.c", LINES, f"gcc -g {flags} lines.c -o lines")
    p = capture("-e", f"uprobe:./lines:lines.c:{number['HERE']}", "--", "./lines")
    tap.check(p.n_samples == 7, f"{flags}: a line of a source file, in all its copies", p.stderr)
    p = capture("-e", f"uprobe:./lines:lines.c:{number['sink++']}", "--", "./lines")
    tap.check(p.n_samples == 5, f"{flags}: a line of one function", p.stderr)
for what, words in ((f"lines.c:{number['HERE'] - 2}", "next line with code"), ("lines.c:999", "nor behind it"), ("other.c:3", "no code is of a file other.c")):
    p = run([CAPTURE, "-e", f"uprobe:./lines:{what}", "--", "./lines"], check=False)
    tap.check(p.returncode == 2 and words in p.stderr, f"refused with its reason: {what}", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./hello:hello.c:2", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "-g" in p.stderr, "a line without debug information", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./hello:puts@plt", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "uprobe:libc.so.6:puts" in p.stderr, "a stub: the function itself is named", p.stderr)
CHOSEN = """static void __chosen_a(void) { __asm__ volatile(""); }
static void (*pick(void))(void) { return __chosen_a; }
__attribute__((ifunc("pick"))) void chosen(void);
int main(void) { for (int i = 0; i < 4; i++) chosen(); return 0; }
"""
make("chosen.c", CHOSEN, "gcc -O1 chosen.c -o chosen")
p = capture("-e", "uprobe:./chosen:chosen", "--", "./chosen")
tap.check(p.n_samples == 4 and "chosen when a program starts" in p.stderr, "a function that is chosen at the start: what was chosen", p.stderr)
for option in (["--args"], ["--strings"], ["--max-hit-rate", 5]):
    p = capture(*option, "-e", "page-faults:u", "--", "./hello")
    tap.check(f"{option[0]}: has no effect" in p.stderr, f"{option} without a probe: said", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./a,b:f", "--", "./hello"], check=False)
tap.check(p.returncode == 2 and "by a link to it" in p.stderr, "a path with a comma: what to do", p.stderr)
for what, words in (("./hello:func_d", "uprobe:./hello:func_d"), ("uprobe:./hello:func_d { print(ustack) }", "leave '{ .. }' out")):
    p = run([CAPTURE, "-e", what, "--", "./hello"], check=False)
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"-e {what}: what to write", p.stderr)
# memcpy of the C library is chosen at the start: all that it may be, or where their names are.
p = run([CAPTURE, "-l", "libc.so.6:memcpy"], check=False)
choices = [line.rpartition(":")[2] for line in p.stdout.splitlines() if line[:1] != " "]
tap.check(len([c for c in choices if c.startswith("__memcpy_")]) > 1 and not any("_chk" in c for c in choices) if p.returncode == 0 else "chosen among several functions" in p.stderr, "memcpy", choices, p.stderr)
p = run([CAPTURE, "probe", "-x", "./hello", "func_d", "back=func_c%return"], check=False)
tap.check(p.returncode == 2 and "-e 'uprobe:./hello:func_d,uretprobe:./hello:func_c'" in p.stderr, "perf probe's line: what does it here", p.stderr)

# ---- filters, rates, --check ---------------------------------------------------------------------
p = capture("-e", "sched:sched_process_exec", "--filter", "filename ~ \"*/hello\"", "-a", "--", "sh", "-c", "./hello; ./lines; ./hello")
tap.check(p.n_samples == 2, "--filter: only events whose fields are so", p.stderr)
FILTERED = """#define N __attribute__((noipa))
N int f_num(int n, const char *s) { return n + s[0]; }
int main(void) { for (int i = 0; i < 8; i++) f_num(i, i & 1 ? "odd" : "even/,"); return 0; }
"""
make("filtered.c", FILTERED, "gcc -g -O1 filtered.c -o filtered")
for event, n in (("uprobe:./filtered:f_num/a0 < 3/", 3), ("uprobe:./filtered:f_num/a0 == 1 || a0 == 5/,page-faults:u", 2),
                 ('uprobe:./filtered:f_num/s1 == "even/," && a0 > 1/', 3)):
    capture("--strings", "-c", 1, "-e", event, "--", "./filtered")
    text = run([RESOLVE, "-q", "-f", "trace", "--event", "uprobe:./filtered:f_num", "perf.data"]).stdout
    tap.check(text.count("n=") == n, f"-e {event}", text)
off = next(int(line.split()[0], 16) for line in run(["nm", "filtered"]).stdout.splitlines() if line.endswith(" f_num"))
capture("--args", "-e", f"uprobe:./filtered:{off:#x}", "--", "./filtered")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
same(re.findall(r": n=(\d+), s=0x", text), [str(i) for i in range(8)], "an address that is the start of a function: its arguments")
RETURNS = """#define N __attribute__((noipa))
N int f_one(int n) { return n + 1; }
N int f_two(int n) { return -n; }
int main(void) { for (int i = 0; i < 3; i++) { f_one(i); f_two(i); } return 0; }
"""
make("returns.c", RETURNS, "gcc -O1 returns.c -o returns")
capture("--args", "-e", "uretprobe:./returns:f_*", "--", "./returns")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
same([int(r, 0) & 0xffffffff for r in re.findall(r" ret=(\w+)", text)], [r & 0xffffffff for i in range(3) for r in (i + 1, -i)], "uretprobe --args: results")
# An optimizer passes parts of v in the registers of v and w, and w in another one; of others it leaves some out.
CLONES = """#define N static __attribute__((noinline))
struct wide { long a, b, c, d; };
N long f_split(struct wide v, int w) { __asm__ volatile("" ::: "memory"); return v.b * w + v.c; }
N long f_unused(struct wide *p, int unused, long k) { __asm__ volatile("" ::: "memory"); return p->b + k; }
__attribute__((noipa)) long call(struct wide *p, long n)
{
	return f_split(*p, 5) + f_split(*p, 6) + f_unused(p, 1, n) + f_unused(p, 2, n + 1);
}
int main(void) { return call(&(struct wide){11, 22, 33, 44}, 100) == 0; }
"""
make("clones.c", CLONES, "gcc -g -O2 clones.c -o clones")
capture("--args", "-e", "uprobe:./clones:f_*", "--", "./clones")
text = re.sub(r"0x\w+", "P", run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout)
same(re.findall(r": ([vp]=.*) <- (\w+)", re.sub(r"v={.*}", "v=?", text)), [("v=?, w=5", "f_split"), ("v=?, w=6", "f_split"), ("p=P, unused=?, k=100", "f_unused"), ("p=P, unused=?, k=101", "f_unused")],
     "--args: parameters of clones, in the source's order")
# A text is told of what points to characters, or where nothing tells what it points to, of bytes that are text.
POINTERS = """#define N __attribute__((noipa))
N int f_kinds(int *i, char *s, void *v, unsigned char *u, long n) { return *i + *s + *(char *)v + *u + (int)n; }
int main(void)
{
	int i = 0x41ff4344, letters[2] = {0x44434241, 0};
	char s[] = "tab\\t\\"quote", bytes[] = "\\xff\\x01" "A", v[] = "h\\xc3\\xa9";
	f_kinds(&i, s, v, (unsigned char *)s, (long)v);
	f_kinds(letters, bytes, bytes, (unsigned char *)bytes, 7);
	return 0;
}
"""
make("pointers.c", POINTERS, "gcc -g -O1 pointers.c -o pointers")
capture("--strings", "-e", "uprobe:./pointers:f_kinds", "--", "./pointers")
text = re.sub(r"0x\w+", "P", run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout)
same(re.findall(r"i=P.*(?= <-)", re.sub(r"n=\d{5,}", "n=N", text)),
     [r'i=P, s=P "tab\t\"quote", v=P, u=P "tab\t\"quote", n=N', r'i=P, s=P "\377\001A", v=P, u=P "\377\001A", n=7'], "--strings: only of pointers to characters")
run(["strip", "-g", "pointers"])
capture("--strings", "-e", "uprobe:./pointers:f_kinds", "--", "./pointers")
for form in ("trace", "script"):
    text = run([RESOLVE, "-q", "-f", form, "perf.data"]).stdout
    same([{i: s for i, s in re.findall(r' s([1-4])="((?:[^"\\]|\\.)*)"', line)} for line in text.splitlines() if "a0=" in line],
         [{"1": r"tab\t\"quote", "2": "hé", "3": r"tab\t\"quote", "4": "hé"}, {}], f"without debug information only bytes that are text: -f {form}")
same(re.findall(r' s0="(.*?)"', text), ["ABCD"], "and their end")
for options, words in ((["--args"], "fields: a0 a1 a2 "), ([], "with --args it has the fields a0, a1 ..")):
    p = run([CAPTURE, *options, "-e", "uprobe:./filtered:f_num", "--filter", "n == 1", "--", "./filtered"], check=False)
    tap.check(p.returncode == 2 and words in p.stderr, f"--filter {options}: the fields that there are", p.stderr)
p = run([CAPTURE, "--args", "-e", "uprobe:./filtered:f_num", "--filter", "a0 > 999", "-o", "none.data", "--", "./filtered"], check=False)
tap.check("no call passed the filter" in p.stderr, "a filter that no call passes: said", p.stderr)
for filter_, hint in (("a0 == -1", "-1 is written 0xffffffffffffffff, or 0xffffffff where it is an int"), ("a0 < 0", "negative ones are 'a0 > 0x7fffffffffffffff'"),
                      ("a0 == 1 || a1 >= -5", "a1 is an unsigned number of 64 bits")):
    p = run([CAPTURE, "--args", "-e", "uprobe:./filtered:f_num", "--filter", filter_, "-o", "none.data", "--", "./filtered"], check=False)
    tap.check(p.returncode == 2 and hint in p.stderr, f"--filter '{filter_}': refused, with how to write it", p.stderr)
for args in (["call:./filtered:f_num", "--filter", "a0 == 1"], ["call:./filtered:f_num/a0 == 1/"]):
    p = run([CAPTURE, "--args", "-e", *args, "--", "./filtered"], check=False)
    tap.check(p.returncode == 2 and "resolve --where" in p.stderr and "uprobe:./filtered:f_num" in p.stderr, f"-e {args}: refused, with what to do", p.stderr)
p = capture("-e", "uprobe:./hello:func_*", "--", "./hello")
tap.check(re.search(r"\d+ hits of probes a second", p.stderr) and p.n_samples == 12, "hits per second are told", p.stderr)
lines = run([CAPTURE, "--check"]).stdout.splitlines()
tap.check(any(line.startswith("yes probes (uprobe:") for line in lines) and sum("system calls" in line or "kprobe" in line for line in lines) == 2, "--check: probes", lines)

p = run([CAPTURE, "-l", "-p", "4194304", "./hello:*"], check=False)
tap.check(p.returncode == 2 and "no such process" in p.stderr and not p.stdout, "--list of a process that is not there", p.stdout, p.stderr)

# ---- C++, Go, Rust ------------------------------------------------------------------------------
make("w.cc", CXX, "g++ -O2 w.cc -o w")
same(probed("uprobe:./w:ns::W::run", "./w"), {"main;ns::W::run": 10}, "C++: all overloads")
same(probed("uprobe:./w:ns::W::run(int)", "./w"), {"main;ns::W::run": 5}, "C++: one overload")
same(probed("uprobe:./w:ns::W::gen", "./w"), {"main;ns::W::gen<int>": 5, "main;ns::W::gen<double>": 5}, "C++: all instances")
same(probed("uprobe:./w:ns::W::gen<int>", "./w"), {"main;ns::W::gen<int>": 5}, "C++: one instance")
same(probed("uprobe:./w:W::run", "./w"), {"main;ns::W::run": 10}, "C++: the last part of the name")
OVER = """#include <string>
#define N __attribute__((noinline))
namespace ns {
static volatile int sink;
N int over(int n) { sink = n; return n; }
N int over(int n, int m) { sink = n; sink = m; return n; }
N int over(const char *s) { sink = s[0]; return 1; }
N int over(const std::string &s) { sink = (int)s.size(); return 2; }
N int catcher(int n) { sink = n; return n; }
struct V { int v; N int operator->*(int n) { sink = n; return v; } N int operator*(int n) { sink = n; return v; } N int operator+(int n) { sink = n; return v; } };
namespace { N int hidden(int n) { sink = n; return n; } }
}
int main(int c, char **v)
{
	ns::V o{c};
	return ns::over(c) + ns::over(c, 2) + ns::over(v[0]) + ns::over(std::string(v[0])) + ns::catcher(c) + (o->*c) + o * c + (o + c) + ns::hidden(c) == 0;
}
"""
make("over.cc", OVER, "g++ -O1 over.cc -o over")
for typed, want in (("over(int,int)", "over(int, int)"), ("over(const char*)", "over(char const*)"), ("over(std::string const&)", "over(std::__cxx11"),
                    ("operator->*", "V::operator->*(int)"), ("ns::V::operator*", "V::operator*(int)")):
    p = run([CAPTURE, "-l", f"uprobe:./over:{typed}"], check=False)
    tap.check(p.stdout.count("\n") == 1 and want in p.stdout, f"C++: {typed}", p.stdout, p.stderr)
p = run([CAPTURE, "-l", "uprobe:./over:ns::V::*"])
tap.check(p.stdout.count("\n") == 3, "C++: a star that is a wildcard", p.stdout)
for typed, near in (("ovre", "ns::over("), ("catchr", "ns::catcher"), ("ns::hidden", "hidden(int)"), ("over(long)", "ns::over(int)")):
    p = run([CAPTURE, "-l", f"uprobe:./over:{typed}"], check=False)
    tap.check(p.returncode == 2 and near in p.stderr.partition("near it: ")[2], f"C++, not found: {typed}", p.stderr)
listing = run(["objdump", "-dC", "--no-show-raw-insn", "over"]).stdout
begins = {re.match(r"\w+ <(.*)>:", part)[1]: {int(m, 16) for m in re.findall(r"^ +([0-9a-f]+):", part, re.M)} for part in re.split(r"\n(?=[0-9a-f]{16} <)", listing)[1:]}
overs = [sorted(a - min(at) for a in at) for name, at in begins.items() if name.startswith("ns::over(")]
plus = next((k for k in range(1, 16) if 0 < sum(k in at for at in overs) < len(overs)), None)
if plus:
    p = run([CAPTURE, "-e", f"uprobe:./over:ns::over+{plus}", "--", "./over"], check=False)
    n = sum(plus in at for at in overs)
    tap.check(f"taken of {n} function" in p.stderr and f"left out are {len(overs) - n} " in p.stderr, "an offset in several functions: what is left out is said", p.stderr)
    p = run([CAPTURE, "-l", f"uprobe:./over:ns::over+{plus}"])
    tap.check(p.stdout.count(f"+{plus:#x}\n") == n, "--list: with the offset", p.stdout)
make("main.go", GO, "go build -o g main.go")
run(["strip", "-o", "gs", "g"])
for program in ("g", "gs"):
    same(probed(f"uprobe:./{program}:main.(*T).Method", f"./{program}"), {"main.main;main.caller;main.(*T).Method": 4}, f"Go, {program}: a method")
    same(probed(f"uprobe:./{program}:main.leaf", f"./{program}"), {"main.main;main.caller;main.leaf": 4}, f"Go, {program}: a function")
p = run([CAPTURE, "-e", "uretprobe:./gs:main.leaf", "-o", "ret.data", "--", "true"], check=False)
tap.check("call:./gs:main.leaf has no such fault" in p.stderr, "uretprobe of Go: said what it may do", p.stderr)
# A Go program has no build id: the debug information of the file is used all the same, as its code is that of the bundle.
capture("--args", "-e", "call:./g:main.leaf", "--", "./g")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
same(re.findall(r"main\.leaf\((.*?)\)", text), [f"x={i}" for i in range(4)], "Go: arguments by name, results are none of them")
same(re.findall(r"main\.leaf\(.*?\) = (\S+)", text), [str(3 * i) for i in range(4)], "Go: results by their type")
declared = run([CAPTURE, "-l", "./g:main.leaf"]).stdout.splitlines()
same(declared[1:3], ["    int x", "    returns int"], "Go: what a function takes and returns")
if have("rustc"):
    make("rs.rs", RUST, "rustc -O -g rs.rs")
    # Newer compilers mangle so that names have the types.
    found = {s.replace("::<rs::gn::S>", ""): n for s, n in probed("uprobe:./rs:gn::free_fn", "./rs").items()}
    same(found, {"rs::main;rs::gn::free_fn": 1}, "Rust: a function")
    names = run([CAPTURE, "-l", "uprobe:./rs:gn::generic"]).stdout.splitlines()
    names = [name for name in names if name[0] != " "]
    listed = [run([CAPTURE, "-l", name]).stdout for name in names]
    tap.check(len(names) == 2 and all(text.count("uprobe:") == 1 for text in listed) and sorted(re.findall(r"u\d+ t", "".join(listed))) == ["u64 t", "u8 t"],
              "Rust: instances can be told apart", names, listed)
    calls = probed("uprobe:./rs:<rs::gn::S as rs::gn::Work>::work", "./rs")
    tap.check(sum(calls.values()) == 4 and all("free_fn" in s for s in calls), "Rust: a method of a trait", calls)
else:
    tap.skip("Rust: a function", "no rustc here")

# The names that a compiler of D gives (dlang.org/spec/abi.html): void app.leaf(), long app.pick(long), app.Box.get(), which is a method.
make("d.c", D, "gcc -O2 d.c -o d")
same(probed("uprobe:./d:app.pick", "./d"), {"main;app.pick": 3}, "D: a function")
same(probed("uprobe:./d:app.Box.get", "./d"), {"main;app.Box.get": 2}, "D: a method")
same(probed("uprobe:./d:app.*", "./d"), {"main;app.pick": 3, "main;app.Box.get": 2}, "D: all of a module")

# ---- libraries, tracing points ------------------------------------------------------------------
make("z.c", LIBZ, "gcc -O2 z.c -o z -lz")
same(probed("uprobe:libz.so.1:compress", "./z"), {"main;compress": 3}, "a library by its soname")
# Operands in registers, in memory, constants; one point in two places; two points with different arguments.
OPERANDS = """#include <sys/sdt.h>
__attribute__((noipa)) void work(int a, long b, const char *s, signed char c, volatile short *p)
{
	register long far __asm__("r12") = b << 40;
	__asm__ volatile("" : "+r"(far));
	DTRACE_PROBE5(app, step, a, far, s, c, 7);
	short local = *p;
	DTRACE_PROBE1(app, memory, *p);
	DTRACE_PROBE2(app, twice, a, b);
	__asm__ volatile("" : : "r"(local));
	DTRACE_PROBE2(app, twice, a + 1, b - 1);
	DTRACE_PROBE(app, none);
}
int main(void) { volatile short n = -3; for (int i = -1; i < 2; i++) work(i, i * 3, "x", (signed char)(i * 5), &n); return 0; }
"""
make("operands.c", OPERANDS, "gcc -O2 operands.c -o operands")
if os.uname().machine == "x86_64":
    for point, want in (("step", [f"arg1={i} arg2={(i * 3) << 40} arg4={i * 5} arg5=7" for i in (-1, 0, 1)]), ("memory", ["arg1=-3"] * 3),
                        ("twice", [f"arg1={i + k} arg2={3 * i - k}" for i in (-1, 0, 1) for k in (0, 1)])):
        p = capture("--args", "-e", f"usdt:./operands:app:{point}", "--", "./operands")
        text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
        got = [re.sub(r"arg3=\d+ ", "", m) for m in re.findall(rf"app:{point}: (.*?) <- ", text)]
        tap.check(got == want and "not all" not in p.stderr, f"usdt, {point}: arguments", got, want, p.stderr)
p = capture("--args", "-e", "usdt:./operands:app:*", "--", "./operands")
tap.check(p.n_samples == 15 and "not all of its arguments are recorded" in p.stderr, "usdt: points with different arguments: said", p.stderr)
make("us.c", USDT, "gcc -O2 us.c -o us")
same(probed("usdt:./us:app:step", "./us"), {"main;work": 4}, "a tracing point of sys/sdt.h")
p = run([CAPTURE, "-e", "usdt:./us:app:stop", "--", "./us"], check=False)
tap.check(p.returncode == 2 and "app:step" in p.stderr, "no such tracing point: those that there are", p.stderr)

make("dies.c", "#include <stdlib.h>\n__attribute__((noipa)) void late(void) {}\nint main(void) { abort(); late(); }\n", "gcc -O0 dies.c -o dies")
p = run([CAPTURE, "-e", "uprobe:./dies:late", "-o", "v.data", "--", "./dies"], check=False)
tap.check("a signal ended the command" in p.stderr, "no hit in a command that a signal ended: said", p.stderr)

# ---- vector instructions, which the kernel takes for others below a probe --------------------------
with open("/proc/cpuinfo") as f:
    has_avx = " avx2 " in f.read()
if has_avx:
    make("vector.c", """#include <stdio.h>
#define N __attribute__((naked, noinline))
N void jumps(char *p, int v) { __asm__("vpcmpeqd %ymm0, %ymm0, %ymm0\\n vmovdqu %ymm0, (%rdi)\\n vzeroupper\\n ret"); }
N void plain(char *p, int v) { __asm__("movl %esi, %eax\\n movb %al, (%rdi)\\n ret"); }
int main(void) { char b[32] = {0}; jumps(b, 1); plain(b, 7); printf("%d %d\\n", b[0], b[31]); return 0; }
""", "gcc -O1 -o vector vector.c")
    p = run([CAPTURE, "-q", "-e", "uprobe:./vector:jumps", "-o", "v.data", "--", "./vector"], check=False)
    tap.check(p.returncode == 2 and "vector instruction" in p.stderr and "FUNCTION+OFFSET" in p.stderr, "a function that begins with a vector instruction: refused, with what to type", p.stdout, p.stderr)
    p = run([CAPTURE, "-e", "call:./vector:*", "-o", "v.data", "--", "./vector"])
    tap.check(p.stdout == "7 -1\n" and "left out: 1 place at vector instructions" in p.stderr, "of many functions it is left out, and the program computes what it did", p.stdout, p.stderr)
    tap.check("plain" in run([RESOLVE, "-q", "v.data"]).stdout, "and the others are hit")
else:
    tap.skip("vector instructions", "this processor has none of AVX2")

# ---- many, often, elsewhere ---------------------------------------------------------------------
with open("many.c", "w") as f:
    f.write("".join(f"__attribute__((noipa)) void fn_{i}(void) {{}}\n" for i in range(1000)))
    f.write("int main(void) {" + "".join(f"fn_{i}();" for i in range(1000)) + " return 0; }\n")
run(["gcc", "-O1", "many.c", "-o", "many"])
same(probed("uprobe:./many:fn_*", "./many"), {f"main;fn_{i}": 1 for i in range(1000)}, "a thousand functions at once")
make("loop.c", LOOP, "gcc -O2 -static loop.c -o loop")
for _ in range(3):  # 27,000 a second: beside other work the recorder may come too late
    p = capture("-e", "uprobe:./loop:leaf", "--", "./loop", 20000)
    if p.n_lost == 0 or p.n_samples + p.n_lost != 20000:
        break
tap.check(p.n_samples == 20000 and p.n_lost == 0 and folded() == {"main;mid;leaf": 20000}, "20,000 calls: none lost, all whole", p.stderr)
os.makedirs("root/app", exist_ok=True)
os.rename("loop", "root/app/inner")
inner = subprocess.Popen(["unshare", "--mount", "--root", "root", "/app/inner", "100000000", "slow"])
until(lambda: os.path.realpath(f"/proc/{inner.pid}/exe").endswith("/app/inner"), "the program in its own root")
p = capture("-p", inner.pid, "--duration", 0.5, "-e", "uprobe:/app/inner:mid")
tap.check(p.n_samples and list(folded()) == ["main;mid"], "-p: the file is the one that the process sees", p.stderr, folded())

# ---- a recorder that is told to end twice at once, as `timeout` does -----------------------------
r = subprocess.Popen([CAPTURE, "-o", "twice.data", "-p", str(inner.pid), "-e", "uprobe:/app/inner:mid"], stderr=subprocess.PIPE, text=True)
until_open(r)  # also to see where the kernel takes a probe, before the recording
until(lambda: os.path.exists("twice.data"), "its file")
r.terminate()
r.terminate()
err = r.communicate()[1]
tap.check(r.returncode == 0 and " samples of uprobe:" in err and not left(r.pid), "two signals at once: one end, with its summary, without probes", r.returncode, err, left(r.pid))

# ---- a recorder that was killed ------------------------------------------------------------------
r = subprocess.Popen([CAPTURE, "-q", "-o", "killed.data", "-p", str(inner.pid), "-e", "uprobe:/app/inner:*"])
until_open(r)
tap.check(len(left(r.pid)) > 1, "a recorder's probes are there", left(r.pid))
r.kill()  # they stay
r.wait()
capture("-o", "next.data", "-e", "uprobe:./hello:func_d", "--", "./hello")
tap.check(not left(r.pid), "killed: the next recording removes its probes", left(r.pid))
p = capture("-p", inner.pid, "--max-hit-rate", 1, "--duration", 30, "-e", "uprobe:/app/inner:mid")
tap.check("--max-hit-rate" in p.stderr and p.n_samples, "--max-hit-rate: the recording ends", p.stderr)
tap.check(inner.poll() is None and not left(), "and the program goes on", left())
inner.kill()
inner.wait()

# ---- --list -------------------------------------------------------------------------------------
names = run([CAPTURE, "--list", "uprobe:./w:ns::*"]).stdout.splitlines()
tap.check(len(names) == 4 and all(run([CAPTURE, "--list", n]).stdout.splitlines() == [n] for n in names),
          "--list: functions, in a form that can be given", names)
DECLARED = """#include <stdio.h>
enum color { RED, GREEN };
typedef unsigned long count_t;
struct point { int x, y; };
__attribute__((noipa)) const char *named(int a, const char *const *s, enum color c, struct point *p, count_t n, int (*cb)(int), char *const q) { return *s; }
__attribute__((noipa)) void logged(const char *format, ...) {}
int main(void) { logged(named(1, &(const char *){""}, RED, 0, 0, 0, 0)); return 0; }
"""
make("declared.c", DECLARED, "gcc -g -O1 declared.c -o declared")
here = os.getcwd()
named = [f"uprobe:{here}/declared:named", "    int a", "    const char *const *s", "    enum color c", "    struct point *p", "    count_t n", "    int (*)() cb",
         "    char *const q", "    returns const char *", f"    in {here}/declared.c:5"]
same(run([CAPTURE, "--list", "uprobe:./declared:named"]).stdout.splitlines(), named, "--list: a function's parameters, result and source")
logged = [f"uprobe:{here}/declared:logged", "    const char *format", "    ...", "    returns void", f"    in {here}/declared.c:6"]
same(sorted(run([CAPTURE, "-lv", "./declared:*ed"]).stdout.splitlines()), sorted(named + logged), "-lv FILE:PATTERN: of all that are listed")
same(sorted(run([CAPTURE, "-l", "./declared"]).stdout.splitlines()), sorted([named[0], logged[0], f"uprobe:{here}/declared:main"]), "-l FILE: its functions")
capture("--args", "-e", "uprobe:./declared:named", "--", "./declared")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
tap.check(re.search(r"uprobe:./declared:named: a=1, s=0x\w+.*, c=RED, p=0x0, n=0, cb=0x0, q=", text), "-f trace: a probe's arguments by name and type", text)
out = run([CAPTURE, "-l", "libz.so.1:adler32"]).stdout
tap.check(out.startswith("uprobe:/") and out.splitlines()[0].endswith(":adler32"), "-l: a library by its soname", out)
p = run([CAPTURE, "-l", "./declared:name"], check=False)
tap.check(p.returncode == 2 and "near it: named" in p.stderr and not p.stdout, "-l: a wrong name of a function", p.stderr)
run("g++ -g -O1 w.cc -o wg".split())
lines = run([CAPTURE, "-lv", "./wg:ns::W::run(int)"]).stdout.splitlines()
same(lines[1:4], ["    W *const this", "    int x", "    returns int"], "-lv: C++")
fields = run([CAPTURE, "--list", "sched:sched_switch"]).stdout.splitlines()
tap.check(fields[0] == "sched:sched_switch" and "    pid_t prev_pid" in fields, "--list: the fields of a tracepoint", fields)
events = run([CAPTURE, "--list"]).stdout.splitlines()
tap.check({"cycles", "page-faults", "sched:sched_switch"} <= set(events), "--list: events", events[:5])
p = run([CAPTURE, "--list", "nosuch*"], check=False)
tap.check(p.returncode == 2 and "nosuch*" in p.stderr, "--list: nothing like it", p.stderr)
tap.end()

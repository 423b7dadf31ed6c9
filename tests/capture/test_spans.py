#!/usr/bin/env python3
"""Calls as spans: -e call:FILE:FUNCTION, beside programs that write down themselves which calls they made, in each other and for how long;
and how -f trace, timeline and perfetto show them."""
import json
import os
import re
import resource
import subprocess
import sys

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")

# Each call says on stderr: name, argument, depth, nanoseconds (by its caller, so more than a probe within sees less the probes).
PROGRAM = r"""
#include <setjmp.h>
#include <stdio.h>
#include <time.h>
#define N __attribute__((noipa))
static jmp_buf back;
static volatile int sink;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static void spin(long us) { for (long end = now() + us * 1000; now() < end;) sink++; }
N int f_leaf(int us) { spin(us); return us + 1; }
N int f_recursive(int n) { if (!n) return f_leaf(300) * 0; int x = f_recursive(n - 1); __asm__ volatile(""); return x + 1; }
N int f_tail(int n) { spin(200); return f_leaf(n); }
N void f_jumps(int n) { f_leaf(100); if (n) longjmp(back, 1); sink++; }
N void f_outer(int n) { f_jumps(n); sink++; }
N int f_switch(int n) { switch (n) { case 0: return 10; case 1: return f_leaf(1); case 2: sink++; return 7; case 3: return sink + 9;
	case 4: spin(100); return 3; default: return -5; } }
#define TIMED(call) do { long t = now(); int r = call; fprintf(stderr, "%s %d %ld\n", #call, r, now() - t); } while (0)
int main(void)
{
	TIMED(f_leaf(5000));
	TIMED(f_leaf(20000));
	TIMED(f_recursive(3));
	TIMED(f_tail(1000));
	if (!setjmp(back)) f_outer(1);
	spin(1000);
	TIMED(f_leaf(100));
	for (int i = 0; i < 6; i++) TIMED(f_switch(i));
	return 0;
}
"""
THROWS = r"""
#include <cstdio>
static volatile int sink;
__attribute__((noipa)) void thrower(int n) { if (n > 1) throw n; sink = n; }
__attribute__((noipa)) void middle(int n) { thrower(n); sink++; }
__attribute__((noipa)) int catcher(int n) { try { middle(n); } catch (int v) { return v; } return 0; }
int main() { for (int i = 0; i < 4; i++) std::printf("%d\n", catcher(i)); }
"""
GO = r"""
package main
import ("fmt"; "runtime"; "sync")
//go:noinline
func leaf(x int) int { runtime.Gosched(); return x + 1 }
//go:noinline
func deep(n int) int { var a [200]int; a[n%200] = n; if n == 0 { return leaf(a[0]) }; return deep(n-1) + a[n%200]*0 }
func main() {
	var w sync.WaitGroup
	for i := 0; i < 4; i++ {
		w.Add(1)
		go func() { defer w.Done(); for k := 0; k < 20; k++ { deep(60) } }()
	}
	w.Wait()
	fmt.Println("done")
}
"""
LINE = re.compile(r"^ *(\d+\.\d+) \((<=| \?|  )? *([\d.]+)(?: ms)? *\): (\S+) (\w[^(]*)\((.*?)\)(?: = (\S+))?(?: <- (.*))?$")


def make(name, text, command):
    with open(name, "w") as f:
        f.write(text)
    run(command.split())


def lines(*options):
    """[(how it ended, ms, function, result, caller)] of -f trace."""
    out = []
    for line in run([RESOLVE, "-q", "--no-inline", "-f", "trace", *options, "perf.data"]).stdout.splitlines():
        m = LINE.match(line)
        out.append(((m[2] or "").strip(), float(m[3]) if m[3] != "..." else None, m[5], m[7], m[8]) if m else line)
    return out


make("p.c", PROGRAM, "gcc -O2 -fomit-frame-pointer p.c -o p")
p = capture("-e", "call:./p:f_*", "--", "./p")
for args in (["-e", "call:./p:f_*"], ["--syscalls"]):
    bad = run([CAPTURE, "-c", "10", *args, "--", "./p"], check=False)
    tap.check(bad.returncode == 2 and "both ends of each call" in bad.stderr, f"-c with {args[0]}: refused, with what to do", bad.stderr)
told = [m.groups() for m in re.finditer(r"^(\w+)\((\d+|i)\) (-?\d+) (\d+)$", p.stderr, re.M)]
spans = lines()
tap.check(len(told) == 11 and all(isinstance(s, tuple) for s in spans), "each line of -f trace is a call", spans)
want = [(int(r), int(ns) / 1e6) for name, _, r, ns in told if name == "f_leaf"]
plain = [s for s in spans if s[2] == "f_leaf" and int(s[3], 0) in [r for r, _ in want]]
plain = [plain[0], plain[1], plain[-1]]  # f_jumps() calls f_leaf(100), too
# The program's own figure is of the same call with both probes in it: it cannot be less, and each probe takes far less than the spin.
tap.check([int(s[3], 0) for s in plain] == [r for r, _ in want], "the results are the program's own", plain, want)
tap.check(all(least <= s[1] <= mine for s, (_, mine), least in zip(plain, want, (5, 20, .1))),
          "a call lasts as long as it spins at least, and no longer than its caller measures", plain, want)
recursive = [s for s in spans if s[2] == "f_recursive"]
tap.check([s[3] for s in recursive] == ["3", "2", "1", "0"] and [s[4] for s in recursive] == ["main"] + ["f_recursive"] * 3
          and all(a[1] >= b[1] for a, b in zip(recursive, recursive[1:])), "recursion: each call has its own end", recursive)
tail = next(i for i, s in enumerate(spans) if s[2] == "f_tail")
tap.check(spans[tail][0] == "" and spans[tail + 1][2] == "f_leaf" and spans[tail + 1][4] == "main" and .2 <= spans[tail][1] and 1 <= spans[tail + 1][1],
          "a tail call ends the function that makes it", spans[tail:tail + 2])
tap.check(spans[tail][3] == "?", "its result is not known: another function returns it", spans[tail])
left = [s for s in spans if s[0] == "<="]
tap.check([s[2] for s in left] == ["f_outer", "f_jumps"] and all(.1 <= s[1] for s in left), "longjmp(): an end that is not known is told as such", left)
switch = [s for s in spans if s[2] == "f_switch"]
results = [int(r) & 0xffffffff for name, _, r, _ in told if name == "f_switch"]
tap.check([None if s[3] == "?" else int(s[3], 0) for s in switch] == [None if k == 1 and switch[1][3] == "?" else r for k, r in enumerate(results)] and
          all(s[0] == "" for s in switch), "a jump table does not leave the function", switch, results)

weights = {}
for line in run([RESOLVE, "-q", "--no-inline", "--weigh", "duration", "perf.data"]).stdout.splitlines():
    stack, _, ns = line.rpartition(" ")
    weights[stack.rpartition("main;")[2]] = int(ns)
alone = sum(s[1] for s in spans if s[2] == "f_leaf" and s[4] == "main") * 1e6
tap.check(abs(weights["f_leaf"] - alone) < 2e3 * len(spans) and weights["f_recursive;" * 3 + "f_recursive;f_leaf"] >= 300e3
          and weights["f_recursive"] < 1e6 * recursive[0][1] - 300e3,
          "--weigh duration: calls without those within them", weights, alone)

text = run([RESOLVE, "-q", "--no-inline", "-f", "timeline", "perf.data"]).stdout
depths = [len(m[1]) // 2 for m in re.finditer(r"\| ( *)f_recursive\(", text)]
tap.check(depths == [0, 1, 2, 3] and text.count("} // f_recursive") == 4, "-f timeline: nested calls are indented", text)
rows = json.loads(run([RESOLVE, "-q", "--no-inline", "-f", "perfetto", "perf.data"]).stdout)["traceEvents"]
slices = [r for r in rows if r["ph"] == "X"]
tap.check(len(slices) == len(spans) and {r["name"] for r in rows if r["ph"] == "M"} == {"thread_name", "process_name"}
          and all(r["pid"] and r["tid"] and r["dur"] >= 0 for r in slices), "-f perfetto: a slice for each call", slices[:3])
open_ = []  # as its importer does: slices of one thread must nest (those that are known to end)
nests = True
for r in sorted((r for r in slices if "end" not in r["args"]), key=lambda r: (r["ts"], -r["dur"])):
    while open_ and open_[-1] <= r["ts"]:
        open_.pop()
    nests &= not open_ or r["ts"] + r["dur"] <= open_[-1] + 1e-6
    open_.append(r["ts"] + r["dur"])
tap.check(nests, "-f perfetto: slices of a thread nest")

PAGE_SPANS = r"""
const html = require("fs").readFileSync("x.html", "utf8"), data = /id="profile">([^<]*)</.exec(html)[1];
inflate(data).then(bytes => { const {spans} = decodeProfile(bytes);
	console.log(JSON.stringify(Array.from({length: spans.n}, (_, i) => [spans.text[i], spans.end[i] - spans.start[i], spans.depth[i], spans.how[i]]))); });
"""
if have("node"):
    run([RESOLVE, "-q", "--no-inline", "-f", "html", "-o", "x.html", "perf.data"])
    with open("page.js", "w") as f:
        for script in ("data.js", "tasks.js"):
            f.write(open(os.path.join(os.environ["TOP"], "output", "page", script)).read())
        f.write(PAGE_SPANS)
    shown = json.loads(run(["node", "page.js"]).stdout)
    tap.check([(re.sub(r"\(.*?\)", "", words).split(" = "), ns // 1000 / 1000, how) for words, ns, _, how in shown]
              == [([s[2]] + ([s[3]] if s[3] else []), s[1], 1 if s[0] == "<=" else 0) for s in spans]
              and [d for words, _, d, _ in shown if words.startswith("f_recursive")] == [0, 1, 2, 3], "the page: the same calls, with duration, depth and result", shown)
else:
    tap.skip("calls in the page", "no node")

make("jumps.c", """__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int gives(int n) { return leaf(n * 2); }
__attribute__((noipa)) void nothing(int n) { (void)n; }
__attribute__((noipa)) void none(int n) { nothing(n); }
int main(void) { none(1); return gives(3) == 0; }
""", "gcc -O2 -g jumps.c -o jumps")
capture("--args", "-e", "call:./jumps:*", "-o", "jumps.data", "--", "./jumps")
text = run([RESOLVE, "-q", "-f", "trace", "jumps.data"]).stdout
tap.check("gives(n=3) = ? <- main" in text and "none(n=1) <- main" in text and "leaf(n=6) = 7" in text, "with debug information only where there is one", text)

# ---- computed gotos ------------------------------------------------------------------------------
GOTOS = r"""
#include <stdio.h>
#define N __attribute__((noipa))
static volatile long sink;
N void calls(void) { sink++; }
#define NEXT goto *to[*p++]
N long with_frame(const unsigned char *p, long by) { static const void *const to[] = {&&add, &&mul, &&call, &&again, &&end}; long a = 1;
	NEXT; add: a += by; sink = a; NEXT; mul: a *= 3; sink = a; NEXT; call: calls(); NEXT; again: a += with_frame(p + 1, by + 1); p += *p + 1; NEXT; end: return a; }
N long without(const unsigned char *p) { static const void *const to[] = {&&add, &&mul, &&end}; long a = 1;
	NEXT; add: a++; sink = a; NEXT; mul: a *= 3; sink = a; NEXT; end: return a; }
int main(void)
{
	static const unsigned char first[] = {0, 0, 1, 2, 3, 3, 2, 0, 4, 2, 1, 4}, second[] = {0, 0, 1, 0, 1, 2};
	printf("%ld %ld %ld\n", with_frame(first, 1), without(second), without(second + 2));
	return 0;
}
"""
make("gotos.c", GOTOS, "gcc -O2 -g gotos.c -o gotos")
p = capture("--args", "-e", "call:./gotos:with*,call:./gotos:calls", "-o", "gotos.data", "--", "./gotos")
text = run([RESOLVE, "-q", "-f", "timeline", "gotos.data"]).stdout
results = [r for r in re.findall(r"(?:with_frame|without)(?:\(.*\))? = (\d+);?$", text, re.M)]
told = run(["./gotos"]).stdout.split()
tap.check(sorted(results) == sorted(told + ["3"]) and "return:" not in text and text.count("calls()") == 3,
          "goto *p: a jump within a function is neither its end nor an event", told, text)
told = [run([RESOLVE, "-f", "trace", "-o", os.devnull, name]).stderr for name in ("gotos.data", "perf.data")]
tap.check(re.search(r"gotos.data: 20 of 27 hits of ways out are jumps within functions", told[0]) and "jumps within" not in told[1], "how many jumps are not shown", told)

# ---- recursion that is deeper than the copy of a stack ---------------------------------------------
for room, n in ((16, 1500), (256, 600)):
    make("deeper.c", "#include <stdlib.h>\n__attribute__((noipa)) int deeper(int n) { volatile char room[%d]; room[0] = n; if (!n) return 0; "
         "int r = deeper(n - 1); room[0]++; return r + 1; }\nint main(int argc, char **argv) { return deeper(atoi(argv[1])) & 1; }\n" % room, "gcc -O2 deeper.c -o deeper")
    capture("-e", "call:./deeper:*", "-o", "deeper.data", "--", "./deeper", str(n), check=False)
    text = run([RESOLVE, "-q", "-f", "trace", "deeper.data"]).stdout
    results = [int(r) for r in re.findall(r"\(   +[\d.]+ ms\): \S+ deeper\(\) = (\d+)", text)]
    tap.check(results == list(range(n, -1, -1)) and "return:" not in text, f"{n} calls in each other, frames of {room} bytes: each has its own end", len(results), text[:2000])

run("gcc -g -O2 deeper.c -o deeper".split())
capture("--args", "-e", "call:./deeper:*", "-o", "deeper.data", "--", "./deeper", "1500", check=False)
seconds = []
for args in [], ["--args"]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = run([RESOLVE, "-q", "-f", "trace", *args, "deeper.data"]).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds.append(after.ru_utime - before.ru_utime)
tap.check(re.findall(r" deeper\(n=(\d+)\) = (\d+)", text) == [(str(n), str(n)) for n in range(1500, -1, -1)] and seconds[1] < 3 * seconds[0] + .5,
          "--args of calls: those of the callers of each are not looked for", seconds, text[:500])

# ---- functions that never return, and parts of functions ------------------------------------------
ENDLESS = r"""
#include <stdlib.h>
#define N __attribute__((noipa))
static volatile int sink;
N __attribute__((noreturn)) void f_die(int n) { sink = n; exit(n); }
N __attribute__((cold)) void f_rare(int n) { sink += n; }
N int f_some(int n) { if (__builtin_expect(n > 1, 0)) { f_rare(n); f_die(0); } sink += n; return n; }
int main(void) { f_some(1); f_some(2); return 1; }
"""
make("end.c", ENDLESS, "gcc -O2 end.c -o end")
p = capture("-e", "call:./end:f_die", "--", "./end")
tap.check(p.returncode == 0 and [s[:1] + s[2:3] for s in lines()] == [("<=", "f_die")] and p.stderr.count("never returns: its calls have no end") == 1,
          "a function that never returns: its calls end with the thread", p.stderr, lines())
p = capture("-e", "call:./end:f_*", "--", "./end")
tap.check([s[2] for s in lines()] == ["f_some", "f_some", "f_rare", "f_die"] and "functions that never return: 1;" in p.stderr, "among others: how many", p.stderr, lines())
p = run([CAPTURE, "-l", "return:./end:f_die"], check=False)
tap.check(p.returncode == 2 and "never returns" in p.stderr, "--list return: of one that never returns", p.stderr)
part = next((line.split()[-1] for line in run(["nm", "end"]).stdout.splitlines() if ".cold" in line), None)
if part:
    p = capture("-e", f"call:./end:{part}", "-e", f"uprobe:./end:{part}", "--", "./end", check=False)
    tap.check(p.returncode == 0 and p.n_samples == 2, "the rare part of a function, by the name that symbols have", part, p.stderr)

# ---- calls that end with the thread, with the program, or not at all --------------------------------
ENDS = r"""
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#define N __attribute__((noipa))
static volatile int sink;
N void f_quit(int n) { sink = n; pthread_exit(0); }
N void f_hang(int n) { struct timespec t = {60, 0}; sink = n; nanosleep(&t, 0); sink++; }
N void f_exec(char **argv) { sink++; execv(argv[0], (char *[]){argv[0], "again", 0}); sink++; }
static void *quit(void *arg) { f_quit(1); return arg; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc == 1) { pthread_create(&t, 0, quit, 0); pthread_join(t, 0); usleep(300000); f_exec(argv); }
	f_hang(2);
}
"""
make("ends.c", ENDS, "gcc -O2 -w -pthread ends.c -o ends")
capture("--duration", "1.5", "-e", "call:./ends:f_*,call:./ends:main", "--", "./ends", check=False)
spans = {s[2] + (s[4] or ""): s for s in lines() if isinstance(s, tuple)}
weights = {line.rpartition(" ")[0].rpartition(";")[2]: int(line.rpartition(" ")[2]) for line in run([RESOLVE, "-q", "--no-inline", "--weigh", "duration", "perf.data"]).stdout.splitlines()}
text = run([RESOLVE, "-q", "-f", "timeline", "perf.data"]).stdout
tap.check([s[0] for s in lines() if s[2] in ("f_quit", "f_exec")] == ["<=", "<="] and weights["f_quit"] < 290e6, "a thread that ends within calls ends them, exec() too", lines(), weights)
tap.check(weights["f_hang"] > 100e6, "a call that has not returned weighs until the recording or the thread ends", weights)
tap.check(len(re.findall(r"\| main\(", text)) == 2, "the program that exec() begins is not in the call", text)

# ---- exceptions, Go -----------------------------------------------------------------------------
make("x.cc", THROWS, "g++ -O2 x.cc -o x")
capture("-e", "call:./x:thrower,call:./x:middle,call:./x:catcher", "--", "./x")
spans = lines()
tap.check([s[3] for s in spans if s[2] == "catcher"] == ["0", "0", "2", "3"], "who catches an exception returns", spans)
tap.check([s[0] for s in spans if s[2] == "middle"] == ["", "", "<=", "<="], "what an exception leaves has no known end", spans)

# ---- coroutines -----------------------------------------------------------------------------------
COROUTINES = r"""
#include <ucontext.h>
#define N __attribute__((noipa))
static ucontext_t back, here[2];
static char stacks[2][65536];
static volatile int sink;
N int leaf(int n) { sink++; return n * 10; }
N int work(int id) { for (int i = 0; i < 3; i++) { leaf(id * 10 + i); swapcontext(&here[id - 1], &here[2 - id]); } sink++; return id; }
static void first(void) { work(1); sink++; }
static void second(void) { work(2); sink++; }
static void make(int i, void (*f)(void))
{
	getcontext(&here[i]);
	here[i].uc_stack.ss_sp = stacks[i], here[i].uc_stack.ss_size = sizeof stacks[i], here[i].uc_link = &back;
	makecontext(&here[i], f, 0);
}
int main(void) { make(0, first); make(1, second); swapcontext(&back, &here[0]); leaf(99); return 0; }
"""
make("co.c", COROUTINES, "gcc -O2 -w -g co.c -o co")
# work(1) returns first; work(2) waits on its stack for ever.
TEN = [(str(10 * i + k), str(100 * i + 10 * k)) for k in range(3) for i in (1, 2)]
capture("--args", "-e", "call:./co:work,call:./co:leaf", "--", "./co")
spans = lines()
tap.check([(s[0], s[3]) for s in spans if s[2] == "work"] == [("", "1"), ("?", None)], "a coroutine that waits is not told to have ended", spans)
text = run([RESOLVE, "-q", "--no-inline", "-f", "timeline", "perf.data"]).stdout
blocks = re.findall(r"\| work\(id=(\d)\) \{\n(.*?)\| \} // work", text, re.S)
tap.check([(who, re.findall(r"\|   leaf\(n=(\d+)\) = (\d+)", inner)) for who, inner in blocks] == [("1", TEN[::2]), ("2", TEN[1::2])]
          and "| leaf(n=99) = 990" in text, "calls are within those of their own stack", text)
for graph in ("dwarf", "fp"):
    capture("--args", "--call-graph", graph, "-e", "uprobe:./co:work,uretprobe:./co:work,uprobe:./co:leaf,uretprobe:./co:leaf", "--", "./co")
    text = run([RESOLVE, "-q", "--no-inline", "-f", "trace", "perf.data"]).stdout
    results = [[m[1] for m in re.finditer(rf" {name}\(.*?\)(?: = (\d+))?(?: <- .*)?$", text, re.M)] for name in ("work", "leaf")]
    tap.check(results == [["1", None], [r for _, r in TEN] + ["990"]], f"uprobe and uretprobe, {graph}: no result of another call", results, text)

if have("go"):
    make("main.go", GO, "go build -o g main.go")
    p = capture("-e", "call:./g:main.deep,call:./g:main.leaf", "--", "./g")
    tap.check(p.returncode == 0 and "done" in p.stdout, "Go: the program lives", p.stderr)
    spans = lines()
    ended = [s for s in spans if s[0] == ""]
    tap.check(len(spans) == 4 * 20 * 62 and len(ended) == len(spans),
              "Go: goroutines that change threads, stacks that grow: one span for each call", len(spans), len(ended))

# ---- arguments ----------------------------------------------------------------------------------
ARGS = """#include <stdio.h>
__attribute__((noipa)) long six(const char *s, long a, char c, void *p, const char *t, int n) { return a + c + n + (p != 0) + (t != s); }
int main(void) { char text[] = "on the \\"stack\\""; printf("%ld\\n", six("constant", 70, 'x', 0, text, 12345)); return 0; }
"""
make("a.c", ARGS, "gcc -O2 a.c -o a")
capture("--strings", "-e", "call:./a:six", "--", "./a")
shown = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
tap.check(r'six("constant", 70, 120, 0, "on the \"stack\"", 12345) = 12536 <- main' in shown, "--strings: the values that were given", shown)
capture("--args", "-e", "uprobe:./a:six", "--", "./a")
shown = run([RESOLVE, "-q", "-f", "script", "perf.data"]).stdout
tap.check(re.search(r"a0=0x[0-9a-f]+ a1=0x46 a2=0x78 a3=0x0 a4=0x[0-9a-f]+ a5=0x3039", shown), "--args: numbers, in the fields of the sample", shown)

# ---- parameters by debug information: of frames, as a condition, as a level -----------------------
PARAMS = """#include <string.h>
enum mode { READ, WRITE = 5 };
struct point { int x, y; };
__attribute__((noipa)) long work(int depth, enum mode m, const char *name, struct point at) { return depth + m + name[0] + at.y; }
__attribute__((noipa)) long walk(int depth, const char *name)
{
	long r = depth ? walk(depth - 1, name) : 0;
	__asm__ volatile("" ::: "memory");
	r += work(depth, depth & 1 ? WRITE : READ, name, (struct point){depth, -depth});
	__asm__ volatile("" ::: "memory");
	return r + depth;
}
int main(int argc, char **argv) { char name[] = "a, b=1"; return walk(7, argc > 1 ? argv[1] : name) == 1; }
"""
for flags in ("-O0", "-O2"):
    make("d.c", PARAMS, f"gcc -g {flags} d.c -o d")
    capture("-o", "d.data", "-e", "uprobe:./d:work", "--", "./d")
    want = [f"depth={d}, m={('READ', 'WRITE')[d & 1]}, name=0xN \"a, b=1\", at={{x = {d}, y = {-d}}}" for d in range(8)]
    shown = [re.sub("0x[0-9a-f]+", "0xN", line[2:].strip()) for line in run([RESOLVE, "-q", "--args", "-f", "script", "d.data"]).stdout.splitlines() if line.startswith("#\t")]
    inner = [s for s in shown if "m=" in s]
    # At the start of a function the ABI tells only what is in integer registers: a structure's members are not told.
    tap.check([s.partition(", at=")[0] for s in inner] == [s.partition(", at=")[0] for s in want], f"{flags}: the parameters of the function that was probed", inner, want)
    walks = [s for s in shown if s.startswith("depth=") and "m=" not in s]
    counts = [sum(f"depth={d}, " in s for s in walks) for d in range(8)]
    # What a caller needs no more may be in no place (gcc 15).
    known = [s for s in walks if "name=?" not in s]
    tap.check(counts == [d + 1 for d in range(8)] and len(known) >= 8 and all('"a, b=1"' in s for s in known), f"{flags}: the parameters of all callers", [s for s in walks if '"a, b=1"' not in s][:9], counts)
    kept = [run([RESOLVE, "-q", "--where", w, "-f", "script", "d.data"], check=False).stdout.count("uprobe:") for w in
            ("depth > 4", "depth == 3", "m == WRITE && depth < 4", "name == 'a, b=1'", "name != 'a, b=1'", "depth >= -1", "nosuch == 1")]
    tap.check(kept == [3, 1, 2, 8, 0, 8, 0], f"{flags}: --where", kept)
    levels = {line.split(";")[0]: int(line.rpartition(" ")[2]) for line in run([RESOLVE, "-q", "--by", "arg:m", "d.data"]).stdout.splitlines()}
    by = run([RESOLVE, "-q", "--by", "arg:m", "d.data"]).stdout.splitlines()
    tap.check(sum(int(line.rpartition(" ")[2]) for line in by if "WRITE" in line) == 4 and sum("READ" in line for line in by) == 4, f"{flags}: --by arg:NAME is a level", by, levels)
capture("--strings", "-e", "call:./d:walk", "--", "./d", "from argv")
shown = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout.splitlines()
tap.check(len(shown) == 8 and all(re.search(rf'walk\(depth={7 - i}, name=0x[0-9a-f]+ "from argv"\)', line) for i, line in enumerate(shown)),
          "capture --strings: named by the debug information, without another option", shown)
for what, column in (("depth >", 8), ("> 4", 1), ("depth > WRITE", 9), ("depth == 4 depth", 12), ("depth == 'x", 10), ("depth=>1", 6), ("depth===1", 8), ("at.x == 7", 3),
                     ("*depth == 1", 1), ("depth == 1 || depth == 2", 12), ("at->x == 1", 3), ("depth == 1.5", 10), ("depth == 99999999999999999999", 10)):
    p = run([RESOLVE, "--where", what, "d.data"], check=False)
    tap.check(p.returncode == 2 and f"column {column}," in p.stderr, f"--where: refused, with the column: {what}", p.stderr)
p = run([RESOLVE, "--where", "depth = 1", "d.data"], check=False)
tap.check(p.returncode == 2 and "column 7, '= 1': equal is written ==" in p.stderr, "--where: one equals sign is refused, with the hint", p.stderr)
p = run([RESOLVE, "--where", "dept == 1", "d.data"], check=False)
tap.check(p.returncode and "has a parameter 'dept'" in p.stderr, "--where: a name that no function has is said", p.stderr)

# ---- values that have no order, no letter, or are not known ---------------------------------------
ODD = """#include <math.h>
union u { int i; float f; };
struct big { long v[80]; };
enum colour { RED = -1, GREEN };
static volatile int sink;
#define N __attribute__((noipa))
N void f_leaf(int n) { sink += n; }
N void f_odd(double x, char c, union u u, struct big big, int neg) { f_leaf(neg); sink += (int)x + c + u.i + (int)big.v[3]; }
N char f_char(void) { __asm__ volatile("movl $0x12345651, %%eax" ::: "eax"); register int r __asm__("eax"); __asm__ volatile("" : "=r"(r)); return (char)r; }
N enum colour f_enum(int n) { sink++; return n ? RED : GREEN; }
N _Bool f_bool(int n) { sink++; return n > 3; }
N double f_double(int n) { sink++; return n * .5; }
N int f_int(int n) { sink++; return -n; }
N unsigned char f_byte(int n) { sink++; return (unsigned char)n; }
N struct big f_big(void) { struct big b = {{1}}; sink++; return b; }
N const void *f_none(void) { sink++; return 0; }
int main(void)
{
	f_odd(NAN, 'Q', (union u){7}, (struct big){{1}}, -1);
	f_char(); f_enum(1); f_enum(0); f_bool(1); f_bool(5); f_double(3); f_int(70000); f_byte(300); f_big(); f_none();
	return 0;
}
"""
make("odd.c", ODD, "gcc -g -O0 odd.c -o odd")
capture("-o", "odd.data", "-e", "uprobe:./odd:f_leaf", "--", "./odd")
for what, holds in (("x == 5", 0), ("x != 5", None), ("x < 5", 0), ("x >= 5", 0), ("c == 'Q'", 1), ("c == 'R'", 0), ("c != 'R'", 1), ("c == 81", 1), ("c == 'QQ'", 0), ("neg == -1", 1), ("neg != -1", 0)):
    p = run([RESOLVE, "--where", what, "-f", "folded", "odd.data"], check=False)
    n = sum(int(line.rpartition(" ")[2]) for line in p.stdout.splitlines())
    tap.check(n == holds if holds is not None else n == 1 or "not known" in p.stderr, f"--where {what}: {'no sample' if not holds else 'the sample'}", p.stdout, p.stderr)
for what in ("u != 'foo'", "u == '?'", "u == 7", "big != 3"):
    p = run([RESOLVE, "--where", what, "odd.data"], check=False)
    tap.check(p.returncode and "of 1 the value is not known" in p.stderr, f"--where {what}: what is not known is neither, and said", p.stdout, p.stderr)
capture("-e", "call:./odd:f_*", "--", "./odd")
got = [(m[1], m[2]) for m in re.finditer(r"\b(f_\w+)\(.*?\)(?: = (.*?))?(?: <- .*)?$", run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout, re.M)]
want = [("f_odd", None), ("f_leaf", None), ("f_char", "81 'Q'"), ("f_enum", "RED"), ("f_enum", "GREEN"), ("f_bool", "false"), ("f_bool", "true"), ("f_double", "?"),
        ("f_int", "-70000"), ("f_byte", "44 ','"), ("f_big", "?"), ("f_none", "0x0")]
tap.check(got == want, "results have the type of the function; nothing for void, ? for what no register has", got)

# ---- texts that are longer than the kernel's room --------------------------------------------------
LONG = """#include <stdlib.h>
#include <string.h>
static volatile int sink;
__attribute__((noipa)) int f_one(const char *p, int n) { sink += n; return n + !p; }
__attribute__((noipa)) int f_two(const char *p, const char *q, int n) { sink += n; return n + !p + !q; }
int main(void)
{
	static const int lengths[] = {0, 10, 2000, 4000, 4085, 4090, 4094, 4095, 4096, 5000};
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		char *b = malloc(5001);
		for (int k = 0; k < lengths[i]; k++) b[k] = (char)('a' + k % 26);
		b[lengths[i]] = 0;
		f_one(b, lengths[i]);
		f_two(b, "second", lengths[i]);
		f_two(NULL, b, lengths[i]);
		free(b);
	}
	return 0;
}
"""
for flags in ("-g", ""):
    make("long.c", LONG, f"gcc -O2 {flags} long.c -o long")
    capture("--strings", "-e", "call:./long:f_*", "--", "./long")
    text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
    calls = [re.search(r"(f_\w+)\((.*)\) = (\d+)", line) for line in text.splitlines()]
    wrong, whole = [], 0
    for m in calls:
        n = int(m[3]) - (m[1] == "f_two" and bool(re.match(r"(p=)?(0x)?0\b", m[2])))
        letters = "".join(chr(97 + k % 26) for k in range(n))
        for shown, cut in re.findall(r'"([^"]*)"(\.\.\.)?', m[2]):
            whole += not cut and bool(shown)
            if shown != "second" and not (letters.startswith(shown) if cut else shown == letters):
                wrong.append((m[1], n, len(shown), cut))
    tap.check(len(calls) == 30 and not wrong and whole > 8, f"--strings {flags}: a text is whole, or ends in ..., or is not told", len(calls), whole, wrong)

# ---- arguments where calls do not return in order: threads, longjmp(), exceptions -----------------
MANY = r"""
#include <pthread.h>
#include <setjmp.h>
#define N __attribute__((noipa))
static __thread jmp_buf back;
static __thread volatile int sink;
N int f_deep(int id, int n) { if (!n) longjmp(back, 1); int r = f_deep(id, n - 1); sink = r; return r; }
N int f_add(int id, int n) { sink = n; return id * 1000 + n; }
N int f_sum(int id, int n) { int s = 0; for (int i = 0; i < n; i++) s += f_add(id, i); if (!setjmp(back)) f_deep(id, 3); return s + f_add(id, n); }
static void *run(void *id) { for (int i = 1; i < 6; i++) f_sum((int)(long)id, i); return 0; }
int main(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, run, (void *)(i + 1));
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
}
"""
make("many.c", MANY, "gcc -g -O1 -pthread many.c -o many")
capture("--args", "-e", "call:./many:f_*", "--", "./many")
calls = [re.search(r"\((<=|  )? *[\d.]+ ms\): \S*/(\d+) (f_\w+)\(id=(\d+), n=(\d+)\)(?: = (\d+))?", line)
         for line in run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout.splitlines()]
known = [m for m in calls if m]
tids = {int(m[4]): set() for m in known}
for m in known:
    tids[int(m[4])].add(m[2])
sums = [m for m in known if m[3] != "f_deep"]
right = all(m[6] and int(m[6]) == (int(m[4]) * 1000 + int(m[5]) if m[3] == "f_add" else sum(int(m[4]) * 1000 + i for i in range(int(m[5]) + 1))) for m in sums)
tap.check(len(known) == len(calls) == 4 * (5 + 20 + 20) and set(tids) == {1, 2, 3, 4} and all(len(t) == 1 for t in tids.values()) and right,
          "threads and longjmp(): arguments and results are of one call", len(calls), tids, [m[0] for m in sums if not m[6]][:3])
tap.check(all(m[1] == "<=" and not m[6] for m in known if m[3] == "f_deep"), "calls that longjmp() left have arguments, and no result")
run("g++ -g -O2 x.cc -o xg".split())
capture("--args", "-e", "call:./xg:thrower,call:./xg:catcher", "--", "./xg")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
found = re.findall(r"\((<=|  )? *[\d.]+ ms\): \S+ (thrower|catcher)\(n=(\d)\)(?: = (\d+))?", text)
tap.check([(e.strip(), f, n, r if f == "catcher" else "") for e, f, n, r in found] ==
          [x for n in range(4) for x in (("", "catcher", str(n), str(n if n > 1 else 0)), ("<=" if n > 1 else "", "thrower", str(n), ""))],
          "exceptions: arguments of calls that were left, and of that which caught", found, text)

# ---- what only the first instruction of a function does; conditions; labels ----------------------
SHORT = r"""
#include <stdio.h>
#include <unistd.h>
#define N __attribute__((noipa))
N int slow(int a) { usleep(a * 1000); return a; }
N int forward(int a) { return slow(a); }
N void nothing(int a) { __asm__ volatile("" :: "r"(a)); }
N void without(void) { __asm__ volatile("nop"); }
N int next(int i) { usleep(3000); __asm__ volatile("" : "+r"(i)); return i + 1; }
N int kind(int i) { __asm__ volatile("nop" : "+r"(i)); return i; }
int main(void)
{
	for (int i = 0; i < 3; i++) { forward(2); nothing(i); usleep(2000); next(i); without(); }
	for (int i = 0; i < 400; i++) kind(i % 4);
	return 0;
}
"""
make("short.c", SHORT, "gcc -g -O2 short.c -o short")
first = run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=nothing", "short"]).stdout.split("<nothing>:", 1)[1].split("\n")[1]
capture("--args", "-e", "call:./short:forward,call:./short:nothing,call:./short:next,call:./short:without", "--", "./short")
CALL = re.compile(r"\((<=|  )? *([\d.]+) ms\): \S+ (\w+)\((.*?)\)(?: = (-?\d+))?")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
calls = [m.groups() for m in CALL.finditer(text)]
at_once = [c for c in calls if c[2] in ("forward", "nothing")]
tap.check(len(calls) == 12 and len(at_once) == 6 and all((c[0] or "").strip() == "" for c in at_once) and "return:" not in text,
          f"a function that its first instruction leaves ({first.split(':')[-1].strip()}) does not last until it is called again", calls)
tap.check([c[3] for c in calls if c[2] == "without"] == [""] * 3, "a function without parameters has none", calls)
for options in ["--where", "i == 1"], ["--where", "i == 1", "--event", "call:./short:next"]:
    calls = [m.groups() for m in CALL.finditer(run([RESOLVE, "-q", "-f", "trace", *options, "perf.data"]).stdout)]
    tap.check([c[2:] for c in calls] == [("next", "i=1", "2")] and (calls[0][0] or "").strip() == "" and float(calls[0][1]) >= 3,
              f"{' '.join(options)}: a call has its end", calls)
for form in "trace", "timeline", "perfetto":
    p = run([RESOLVE, "-f", form, "--weigh", "duration", "-o", "-", "perf.data"], check=False)
    tap.check(p.returncode == 2 and "shows each call with its duration" in p.stderr, f"-f {form} --weigh duration: refused, it would show other ends", p.stderr)
    p = run([RESOLVE, "-f", form, "--where", "i == 123456", "-o", "-", "perf.data"], check=False)
    tap.check(p.returncode == 2 and "no call passes --where" in p.stderr, f"-f {form}: that no call passes --where", p.stderr)
text = run([RESOLVE, "-q", "-f", "folded", "--weigh", "duration", "--where", "i == 1", "perf.data"]).stdout
tap.check(text.count("\n") == 1 and text.startswith("short;") and 3000000 <= int(text.rsplit(" ", 1)[1]) < 10 ** 9, "--where --weigh duration", text)
with open("pipe.data", "wb") as out:
    subprocess.run([CAPTURE, "-q", "--args", "-e", "call:./short:nothing,call:./short:next", "-o", "-", "--", "./short"], stdin=subprocess.DEVNULL, stdout=out, check=True)
for source in "pipe.data", "-":
    with open("pipe.data", "rb") as data:
        text = subprocess.run([RESOLVE, "-q", "-f", "trace", source], stdin=data, stdout=subprocess.PIPE, check=True, text=True).stdout
    calls = [m.groups()[2:] for m in CALL.finditer(text)]
    tap.check(calls == [c for i in range(3) for c in (("nothing", f"a={i}", None), ("next", f"i={i}", str(i + 1)))],
              f"by a pipe ({source}): parameters by name, and no result of a function that has none", text)
capture("-e", "uprobe:./short:kind", "--", "./short")
text = run([RESOLVE, "-q", "-f", "folded", "--by", "arg:i", "perf.data"]).stdout
tap.check([(line.split(";")[0], int(line.rsplit(" ", 1)[1])) for line in text.splitlines()] == [(str(i), 100) for i in range(4)],
          "--by arg: equal stacks with other values stay apart", text)
# ---- results that the compiler removed -------------------------------------------------------------
UNUSED = """#include <stdio.h>
#define N __attribute__((noinline))
volatile long sink;
static N int unused(int a) { sink += a; return a * 100; }
static N long *constant(int a) { sink += a; return (long *)&sink; }
static N int used(int a) { sink += a; return a * 3; }
N int known(int a) { sink += a; return a * 5; }
int main(int argc, char **argv) { unused(argc + 4); unused(argc + 6); sink += constant(argc) == &sink; sink += used(argc + 1); known(argc); return !sink; }
"""
TRUTH = {"unused": ("500", "700"), "used": ("6",), "known": ("5",)}
for compiler, flags in (("gcc", "-g"), ("gcc", ""), ("clang", "-g")):
    if not have(compiler):
        tap.skip(f"{compiler}: results that were removed", "not installed")
        continue
    make("removed.c", UNUSED, f"{compiler} -O2 -w {flags} removed.c -o removed")
    capture("-e", "call:./removed:unused,call:./removed:used,call:./removed:known,call:./removed:constant", "--", "./removed")
    found = re.findall(r"ms\): \S+ (\w+)[\w.]*\(.*\) = (\S+)", run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout)
    tap.check([f for f, _ in found if f in TRUTH] == ["unused", "unused", "used", "known"] and all(r == "?" or r in TRUTH.get(f, [r]) for f, r in found)
              and ("known", "5") in found and (compiler == "clang" or ("used", "6") in found)
              and (compiler == "gcc" or ("constant", "?") in found), f"{compiler} {flags}: a result that need not be in the register is not told", found)
if have("rustc"):
    # LLVM drops the result of a function that nothing uses, and says so (DW_CC_nocall): the register has something else.
    make("unused.rs", "#[inline(never)] fn total(x: &[u16]) -> u32 { std::hint::black_box(x.iter().map(|&a| a as u32).sum()) }\n"
         "fn main() { total(&[1, 2, 65535]); }\n", "rustc -O -g unused.rs")
    capture("--args", "-e", "call:./unused:unused::total", "--", "./unused")
    text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
    tap.check(re.search(r"total\(.*\) = (\?|65538) ", text), "Rust: a result that was dropped is not told, or right", text)

# ---- refused ------------------------------------------------------------------------------------
for what, words in (("call:./p:0x1139", "not known where"), ("call:./p:f_leaf+4", "only uprobe:"), ("call:./p:f_laef", "near it: f_leaf")):
    p = run([CAPTURE, "-e", what, "--", "./p"], check=False)
    tap.check(p.returncode == 2 and words in p.stderr, f"refused with its reason: {what}", p.stderr)
p = run([CAPTURE, "-e", "uprobe:./p:f_leaf+2", "--", "./p"], check=False)
inside = p.returncode == 2 and "no instruction begins there" in p.stderr
tap.check(inside or run(["objdump", "-d", "p", "--disassemble=f_leaf"]).stdout.count("+0x2>") > 0 or p.returncode == 0, "no probe within an instruction", p.stderr)
# An address behind the first byte of an instruction of several, with the symbols and without them.
insn = next(m for m in re.finditer(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} ){3,})", run(["objdump", "-d", "--disassemble=f_switch", "p"]).stdout, re.M))
run(["strip", "-o", "bare", "p"])
for program in ("p", "bare"):
    for plus, code in ((1, 2), (0, 0)):
        p = run([CAPTURE, "-l", f"uprobe:./{program}:{int(insn[1], 16) + plus:#x}"], check=False)
        tap.check(p.returncode == code and (not code or "no instruction begins there" in p.stderr), f"{program}: an address {'within' if plus else 'at'} an instruction", p.stdout, p.stderr)
names = run([CAPTURE, "--list", "return:./p:f_switch"]).stdout.splitlines()
listing = run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=f_switch", "p"]).stdout
returns = [int(m[1], 16) for m in re.finditer(r"^ +([0-9a-f]+):\s+ret", listing, re.M)]
start = int(re.search(r"^([0-9a-f]+) <f_switch>:", listing, re.M)[1], 16)
listed = {start + int(n.rpartition("+")[2], 16) for n in names}
tap.check(set(returns) <= listed, "--list return: shows all that objdump calls a return", names, [hex(r) for r in returns])
tap.end()

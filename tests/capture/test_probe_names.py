#!/usr/bin/env python3
"""Names of functions that are not simply symbols of the file: those that were inlined, spellings of templates, and those that are
chosen when a program starts."""
import os
import re

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")

INLINED = """static inline __attribute__((always_inline)) int tiny(int x) { __asm__ volatile("nop" ::: "memory"); return x * 3; }
static int both(int x) { __asm__ volatile("nop; nop" ::: "memory"); return x + 7; }
int (*volatile pointer)(int) = both;
volatile int sum;
__attribute__((noinline)) int first(int n) {
	int s = tiny(n);
	__asm__ volatile("" ::: "memory");
	return s + 1;
}
__attribute__((noinline)) int second(int n) { int s = 0; for (int i = 0; i < n; i++) s += tiny(i); return s + both(n); }
int main(void) { for (int i = 0; i < 5; i++) sum += first(i) + second(2) + pointer(i); return 0; }
"""
CXX = """namespace ns {
struct W {
	int v;
	__attribute__((always_inline)) inline int get(int k) { __asm__ volatile("nop"); return v + k; }
	template <class T> __attribute__((always_inline)) inline T gen(T t) { __asm__ volatile("nop;nop"); return t + v; }
};
}
__attribute__((noinline)) int use(ns::W &w, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += w.get(i) + w.gen<int>(i) + (int)w.gen<long>(i);
	return s;
}
int main(int c, char **) { ns::W w{c}; return use(w, 4) + w.get(2) == 0; }
"""


def make(name, text, command):
    with open(name, "w") as f:
        f.write(text)
    run(command.split())


def hits(event, program, *options):
    """{the last two functions of the stack: hits}, and what capture says."""
    p = capture("-e", event, *options, "--", program)
    ends = {}
    for line in run([RESOLVE, "-q", "perf.data"]).stdout.splitlines() if p.n_samples else []:
        stack, _, n = line.rpartition(" ")
        end = ";".join(stack.split(";")[-2:])
        ends[end] = ends.get(end, 0) + int(n)
    return ends, p.stderr


def refused(event, program):
    p = run([CAPTURE, "-e", event, "-o", "none.data", "--", program], check=False)
    return p.stderr if p.returncode == 2 else f"status {p.returncode}: {p.stderr}"


# ---- functions that were inlined ----------------------------------------------------------------
make("in.c", INLINED, "gcc -O2 -g in.c -o in")
ends, said = hits("uprobe:./in:tiny", "./in")
tap.check(ends == {"first;tiny": 5, "second;tiny": 10}, "a function that is only inlined: where its copies begin", ends)
tap.check("it is inlined" in said and "taken for" not in said, "that is said", said)
ends, said = hits("uprobe:./in:both", "./in")
tap.check(ends == {"main;both": 5, "second;both": 5}, "one that is called and inlined: both are taken", ends)
tap.check("1 of the places is where an inlined copy begins" in said, "and it is said which", said)
ends, said = hits("uprobe:./in:*", "./in")
tap.check("second;tiny" not in ends and "second;both" not in ends and "main;both" in ends, "all functions: not what was inlined", ends)
ends, said = hits("call:./in:both", "./in")
tap.check("also inlined at 1 place, where it is not called" in said, "calls are those of the function alone, and that is said", said)
for kind in "call", "uretprobe", "return":
    said = refused(f"{kind}:./in:tiny", "./in")
    tap.check("'tiny' is only inlined (2 copies: in.c:6, in.c:10)" in said and "uprobe:./in:tiny takes" in said, f"{kind}: of one that is only inlined: why not, and what to type",
              said)
said = refused("uprobe:./in:tiny+4", "./in")
tap.check("it has no offsets" in said, "nor has it offsets", said)
said = refused("uprobe:./in:tinny", "./in")
tap.check("no function is named 'tinny'" in said, "a name that nothing has", said)
listed = run([CAPTURE, "--list", "uprobe:./in:tiny"]).stdout
places = re.findall(r"^(uprobe:\S+:0x[0-9a-f]+)\n    tiny, inlined into (\w+) at in\.c:(\d+)$", listed, re.M)
tap.check([p[1:] for p in places] == [("first", "6"), ("second", "10")], "--list: each copy, and the call that it stands for", listed)
ends, said = hits(places[1][0], "./in")
tap.check(ends == {"second;tiny": 10}, "what is listed can be typed", ends)
hits("uprobe:./in:tiny", "./in", "--args")
text = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
tap.check(re.findall(r": x=(\S+) <- tiny$", text, re.M)[::3] == list("01234"), "--args: the parameters of the copy", text)
text = run([RESOLVE, "--stats", "-o", "in.folded", "perf.data"]).stderr
tap.check("hits of probes: 15, by function:\n          15  tiny\n" in text, "--stats: hits of the copies", text)
capture("-e", "uprobe:./in:*", "--", "./in")
text = run([RESOLVE, "--stats", "-o", "in.folded", "perf.data"]).stderr
rows = dict(reversed(line.split()) for line in text.partition("by function:\n")[2].partition("modules")[0].splitlines())
tap.check("hits of probes: 16, by function:" in text and rows == {"first": "5", "second": "5", "both": "5", "main": "1"},
          "hits by function, also where an inlined one begins at the same address", text)
run(["strip", "-g", "in", "-o", "stripped"])
said = refused("uprobe:./stripped:tiny", "./stripped")
tap.check("no function is named 'tiny'" in said, "without debug information it is not known", said)

for compiler in ("g++ -O2 -g", "g++ -O2 -gdwarf-4", "g++ -O2 -gsplit-dwarf -g") + (("clang++ -O2 -g",) if have("clang++") else ()):
    make("in.cc", CXX, f"{compiler} in.cc -o in_cc")
    for name, want in (("ns::W::gen", {"use;ns::W::gen<int>": 4, "use;ns::W::gen<long>": 4}), ("ns::W::gen<int>", {"use;ns::W::gen<int>": 4}),
                       ("gen<long>", {"use;ns::W::gen<long>": 4})):
        ends, said = hits(f"uprobe:./in_cc:{name}", "./in_cc")
        tap.check(ends == want, f"{compiler}: {name}", ends, said)
    ends, said = hits("uprobe:./in_cc:ns::W::get(int)", "./in_cc")
    tap.check(set(ends) == {"use;ns::W::get", "main;ns::W::get"}, f"{compiler}: a method with its arguments", ends, said)

# ---- spellings ----------------------------------------------------------------------------------
TEMPLATES = """template <class T, int N> struct A {
	T v;
	template <class U> __attribute__((noinline)) U f(U u) { __asm__ volatile(""); return u + (U)v; }
	__attribute__((noinline)) T g(T u) const { __asm__ volatile(""); return u + v * N; }
};
int main() { A<int, 5> a{1}; A<double, 7> b{2}; return a.f<long>(1) + a.f<char>('c') + b.f<long>(3) + a.g(3) + b.g(1.5) == 0; }
"""
make("tm.cc", TEMPLATES, "g++ -O1 tm.cc -o tm")
for name, want in (("A<int,5>::f", {"A<int, 5>::f<long>": 1, "A<int, 5>::f<char>": 1}), ("A<int, 5>::f", {"A<int, 5>::f<long>": 1, "A<int, 5>::f<char>": 1}),
                   ("A<int,5>::f<long>", {"A<int, 5>::f<long>": 1}), ("A::f<long>", {"A<int, 5>::f<long>": 1, "A<double, 7>::f<long>": 1}),
                   ("A<double,7>::g(double)", {"A<double, 7>::g": 1}), ("A<int>::g", {"A<int, 5>::g": 1})):
    ends, said = hits(f"uprobe:./tm:{name}", "./tm")
    tap.check({e.split(";")[-1]: n for e, n in ends.items()} == want, f"{name}: members of templates", ends, said)
tap.check("taken for A<int, 5>::g(int) const" in said, "what a name was taken for is said", said)
for wrong, right in (("uprob:./tm:main", "uprobe:./tm:main"), ("usd:tm:a:b", "usdt:tm:a:b"), ("kprob:do_exit", "kprobe:do_exit"),
                     ("tracepont:sched:sched_switch", "tracepoint:sched:sched_switch")):
    said = refused(wrong, "./tm")
    tap.check(f"did you mean {right}?" in said, f"{wrong}: what was meant", said)

# ---- functions that are chosen when a program starts --------------------------------------------
CHOSEN = """static int first_way(int x) { __asm__ volatile(""); return x + 1; }
static int other_way(int x) { __asm__ volatile(""); return x + 2; }
static void *pick(void) { return __builtin_cpu_supports("sse2") ? (void *)first_way : (void *)other_way; }
int chosen(int x) __attribute__((ifunc("pick")));
__attribute__((target_clones("avx2", "default"), noinline)) int clones(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
int main(void) { int a[9] = {1}, s = 0; for (int i = 0; i < 4; i++) s += chosen(i) + clones(a, 9); return s == 0; }
"""
if os.uname().machine == "x86_64":
    make("chosen.c", CHOSEN, "gcc -O1 chosen.c -o chosen")
    ends, said = hits("uprobe:./chosen:chosen", "./chosen")
    tap.check(ends == {"main;first_way": 4} and "2 places" in said and "chosen when a program starts" in said, "an IFUNC of the program's own: what its resolver may return", ends, said)
    ends, said = hits("call:./chosen:clones", "./chosen")
    tap.check(list(ends.values()) == [4] and list(ends)[0].startswith("main;clones"), "target_clones: the clone that runs", ends, said)
    run(["gcc", "-O1", "-no-pie", "-fno-pie", "chosen.c", "-o", "fixed"])
    ends, said = hits("uprobe:./fixed:chosen", "./fixed")
    tap.check(ends == {"main;first_way": 4}, "in a program at a fixed address", ends, said)
if have("aarch64-linux-gnu-gcc"):
    make("arm.c", CHOSEN.split("__attribute__((target_clones")[0].replace('__builtin_cpu_supports("sse2")', "*(volatile int *)8"), "aarch64-linux-gnu-gcc -O1 -shared -fPIC arm.c -o arm.so")
    listed = run([CAPTURE, "--list", "uprobe:./arm.so:chosen"]).stdout
    tap.check([line.split(":")[-1] for line in listed.splitlines() if line.startswith("uprobe:")] == ["first_way", "other_way"], "of arm64", listed)

tap.end()

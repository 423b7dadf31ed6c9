#!/usr/bin/env python3
"""--annotate: samples lie at chosen instructions, so every share is known; perf annotate reads the same recording and prints the same ones.
Instructions are those of objdump. Code of arm64, and of a jitdump; what there is no code of is refused with the reason."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, have, run  # noqa: E402
from perfsynth import CHAIN_USER, Jitdump, Recording  # noqa: E402

tap = Tap()
PROGRAM = """static inline unsigned mix(unsigned x)
{
	for (int i = 0; i < 4; i++)
		x = x * 2654435761u ^ x >> 13;
	return x;
}
__attribute__((noinline)) unsigned leaf(unsigned n)
{
	unsigned s = 0;
	for (unsigned i = 0; i < n; i++)
		s += i % 3 ? s ^ i : mix(i);
	return s;
}
__attribute__((noinline)) unsigned mid(unsigned n)
{
	return leaf(n) + leaf(n / 2);
}
void _start(void)
{
	mid(1000);
	for (;;)
		;
}
"""
PID = 77


def compiled(compiler, name):
    with open("p.c", "w") as f:
        f.write(PROGRAM)
    run([compiler, "-g", "-O1", "-fno-pie", "-no-pie", "-static", "-nostdlib", "-ffreestanding", "-Wl,--build-id=none", "-o", name, "p.c"])
    return os.path.abspath(name)


def instructions(objdump, path, function):
    """[address] of a function, by objdump."""
    text = run([objdump, "-d", "--no-show-raw-insn", path]).stdout
    body = re.search(rf"^[0-9a-f]+ <{function}>:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)[1]
    return [int(m, 16) for m in re.findall(r"^ *([0-9a-f]+):\t", body, re.M)]


def recorded(path, samples, arch, caller):
    """A recording of the program with these numbers of samples by address."""
    r = Recording(arch=arch)
    r.comm(PID, "p", 1)
    r.mmap2(PID, 0x400000, 0x100000, 0, path, 2)
    time = 10
    for at, n in samples.items():
        for _ in range(n):
            r.sample(PID, at, time, [CHAIN_USER, at, caller])
            time += 1
    return r.write("p.data")


def shares(text):
    return {int(at, 16): float(share) for share, at in re.findall(r"^ *([\d.]+) :(?: > |   ) *([0-9a-f]+):", text, re.M)}


def annotate(*args):
    p = run([RESOLVE, "-q", "--no-cache", "--annotate", *args], check=False)
    return p.stdout, p.stderr, p.returncode


def check_machine(compiler, objdump, arch):
    path = compiled(compiler, f"p.{arch}")
    leaf, mid = (instructions(objdump, path, f) for f in ("leaf", "mid"))
    samples = {leaf[0]: 1, leaf[3]: 10, leaf[-2]: 5, leaf[len(leaf) // 2]: 4}
    data = recorded(path, {**samples, mid[0]: 20}, arch, mid[2])
    text, err, rc = annotate("leaf", data)
    if not tap.check(rc == 0, f"{arch}: a function", err):
        return
    got = shares(text)
    want = {at: 100 * samples.get(at, 0) / 20 for at in leaf}
    tap.check(got == want, f"{arch}: each instruction's share of the function", {hex(k): (got.get(k), v) for k, v in want.items() if got.get(k) != v}, text)
    tap.check(re.search(r"p\.c:10    for \(unsigned i = 0; i < n; i\+\+\)$", text, re.M) and re.search(r"^ +: +mix:$", text, re.M), f"{arch}: lines, and inlined functions", text)
    jumps = re.findall(r"(?:^|\s)([0-9a-f]+) <leaf\+0x([0-9a-f]+)>", text)
    marked = {int(m, 16) for m in re.findall(r": > *([0-9a-f]+):", text)}
    tap.check(jumps and all(int(to, 16) - int(off, 16) == leaf[0] for to, off in jumps) and marked == {int(to, 16) for to, _ in jumps}, f"{arch}: jumps and where they lead", text)
    text, err, rc = annotate("mid", data)
    tap.check(re.search(r"(callq?|bl) +[0-9a-f]+ <leaf>", text) and shares(text)[mid[0]] == 100, f"{arch}: names of what is called", text)
    return data, leaf


made = check_machine("gcc", "objdump", "x86_64") if os.uname().machine == "x86_64" else None
if not have("aarch64-linux-gnu-gcc"):
    tap.skip("arm64", "no compiler for it")
else:
    check_machine("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "aarch64")

if made:
    data, leaf = made
    recorded(os.path.abspath("p.x86_64"), {leaf[3]: 7, leaf[4]: 2}, "x86_64", leaf[-1])
    theirs = run(["perf", "annotate", "--stdio", "-f", "-s", "leaf", "-i", "p.data"], check=False).stdout if have("perf") else ""
    theirs = {int(at, 16): float(share) for share, at in re.findall(r"^ *([\d.]+) : +([0-9a-f]+):", theirs, re.M)}
    if theirs:
        tap.check(shares(annotate("leaf", "p.data")[0]) == theirs, "perf annotate has the same addresses and shares", theirs)
    else:
        tap.skip("perf annotate", "it prints nothing here")
    text, err, rc = annotate("leaf", "-o", "leaf.txt", "p.data")
    tap.check(rc == 0 and text == "" and shares(open("leaf.txt").read())[leaf[3]] == 77.78, "-o FILE", err)

    # Code that a JIT compiler wrote.
    CODE = 0x7f0000000000
    dump = Jitdump(PID)
    dump.load(100, CODE, 8, "jitted", bytes.fromhex("554889e5 90 5d c3 90".replace(" ", "")))
    r = Recording(monotonic=True)
    r.comm(PID, "jit", 1)
    r.mmap2(PID, CODE, 0x10000, 0, "//anon", 2)
    r.mmap2(PID, 0x7e0000000000, 4096, 0, dump.write(os.path.abspath(f"jit-{PID}.dump")), 3)
    for at in (0, 1, 1, 4):
        r.sample(PID, CODE + at, 200 + at)
    text, err, rc = annotate("jitted", r.write("jit.data"))
    tap.check([(at - CODE, share) for at, share in shares(text).items()] == [(0, 25), (1, 50), (4, 25), (5, 0), (6, 0), (7, 0)] and "movq   %rsp, %rbp" in text,
              "code of a jitdump", text, err)

    # Names as people type them: a part will do if it is of one function, or of several that differ in arguments only.
    NAMES = ["int J.fib(int)", "void J.main(java.lang.String[])", "void J.main()", "int K.hash(long)", "int L.hash(long)", "void ns::Acc<int>::run<char>(unsigned int)",
             "JS:*odd /home/ann/a.js:1:2", "main.(*T).Method"]
    dump = Jitdump(PID)
    for i, name in enumerate(NAMES):
        dump.load(100, CODE + 16 * i, 8, name, bytes.fromhex("554889e5905dc390"))
    r = Recording(monotonic=True)
    r.comm(PID, "jit", 1)
    r.mmap2(PID, CODE, 0x10000, 0, "//anon", 2)
    r.mmap2(PID, 0x7e0000000000, 4096, 0, dump.write(os.path.abspath(f"jit-{PID}.dump")), 3)
    for i in range(len(NAMES)):
        r.sample(PID, CODE + 16 * i, 200 + i)
    data = r.write("names.data")
    for typed, want in (("J.fib", [0]), ("J.fib(int)", [0]), ("int J.fib(int)", [0]), ("int J.fib", [0]), ("fib", [0]), ("fib(int)", [0]), ("main", [1, 2]),
                        ("J.main()", [2]), ("K.hash", [3]), ("run", [5]), ("Acc::run", [5]), ("ns::Acc<int>::run<char>", [5]), ("ns::Acc::run", [5]), ("odd", [6]),
                        ("Method", [7])):
        text, err, rc = annotate(typed, data)
        have = [NAMES.index(n) for n in re.findall(r"^ *: *[0-9a-f]+ <(.*)>:$", text, re.M)]
        tap.check(sorted(have) == want and not err, f"'{typed}' is {NAMES[want[0]]}", have, err)
    text, err, rc = annotate("hash", data)
    tap.check(rc == 2 and not text and "hash may be one of 2: 'K.hash', 'L.hash'" in err, "'hash' is one of two, which are listed", err)
    for typed in ("ib", "fib(long)", "Acc<char>::run", "J", "int)", "(int)", "", "od"):
        text, err, rc = annotate(typed, data)
        tap.check(rc == 2 and not text and err.count("\n") == 1, f"'{typed}' is none", text[:200], err)

    # What there is nothing to show of.
    recorded(os.path.abspath("p.x86_64"), {at: 1 for at in leaf}, "x86_64", leaf[-1])
    for name, words in (("mix", "is inlined.*--annotate 'leaf'"), ("nope", "no sample is in a function nope")):
        text, err, rc = annotate(name, "p.data")
        tap.check(rc == 2 and text == "" and re.search(words, err) and err.count("\n") == 1, f"{name}: {words}", err)
    os.rename("p.x86_64", "gone")
    text, err, rc = annotate("leaf", "p.data")
    tap.check(rc == 2 and err.count("\n") == 1, "a file that is gone", err)
with open("x.folded", "w") as f:
    f.write("main;f 1\n")
text, err, rc = annotate("f", "x.folded")
tap.check(rc == 2 and "--annotate" in err and err.count("\n") == 1, "an input without code", err)
p = run([RESOLVE, "annotate", "f"], check=False)
tap.check(p.returncode == 2 and "--annotate" in p.stderr, "the habit of perf's users", p.stderr)
tap.end()

#!/usr/bin/env python3
"""Stacks of an unmodified JVM, from a recording alone.

By construction: in tests/programs/Chain.java m0() calls m1(), .. m7() calls m0(), and the deepest calls spin(); run() calls
m0(), main() calls run(). Whatever of it is compiled, inlined or interpreted, and however, the methods of class Chain on a stack
must be a piece of that chain without a gap; and below main() are the JVM's own functions, down to the first of the thread. The
line of each m*() that has called is the one of its call in the source."""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
MAIN = "void Chain.main(java.lang.String[])"
MARK = re.compile(r"\bChain\.(\w+)\(")


def next_down(method):
    """Which methods of class Chain can have called this one."""
    if re.fullmatch(r"m\d", method):
        return {f"m{(int(method[1]) + 7) % 8}"} | ({"run"} if method == "m0" else set())
    return {"spin": {f"m{i}" for i in range(8)}, "run": {"main"}}.get(method, set())


def call_lines():
    """By method: the line at which it calls the next m*(), and the line at which it calls spin()."""
    lines = {}
    with open(os.path.join(PROGRAMS, "Chain.java")) as f:
        for number, text in enumerate(f, 1):
            start = re.match(r"    static long (m\d)\(", text)
            if start:
                method = start[1]
            if "r9 = m" in text:
                lines[method, "m"] = number
            if "spin((int)" in text:
                lines[method, "spin"] = number
    return lines


LINES = call_lines()


def samples_of(data, *options):
    p = run([RESOLVE, data, "-f", "jsonl", "--stats=json", *options], check=False)
    stats = next((json.loads(line) for line in p.stderr.splitlines() if line.startswith("{")), None)
    tap.check(p.returncode == 0 and stats, f"{data}: resolve reads it", p.stderr)
    return [json.loads(line) for line in p.stdout.splitlines()], stats or {}, p.stderr


def chain_of(stack):
    """The methods of class Chain on a stack, leaf first, with their lines."""
    return [(MARK.search(f["sym"])[1], f.get("line")) for f in stack if MARK.search(f.get("sym", ""))]


def judge(what, samples):
    bad, wrong_lines, whole, n_lines = [], [], 0, 0
    ours = [s["stack"] for s in samples if chain_of(s["stack"])]
    for stack in ours:
        chain = chain_of(stack)
        for (called, _), (caller, line) in zip(chain, chain[1:]):
            if caller not in next_down(called):
                bad.append(chain)
                break
            if caller.startswith("m") and caller != "main" and line:
                n_lines += 1
                if line != LINES.get((caller, "spin" if called == "spin" else "m")):
                    wrong_lines.append((called, caller, line))
        whole += chain[-1][0] == "main" and "StubRoutines::call_stub" in " ".join(f.get("sym", "") for f in stack)
    java = [f for s in samples for f in s["stack"] if re.search(r"/perf-\d+\.map$", f.get("dso", ""))]
    named = sum("sym" in f for f in java)
    kinds = collections.Counter(not f.get("inlined", False) for s in ours for f in s)
    tap.check(len(ours) > 50, f"{what}: {len(ours)} of {len(samples)} stacks have methods of the program", kinds)
    tap.check(not bad, f"{what}: none of them lacks a caller or has a wrong one", bad[:5])
    # A method that was compiled after the last time that capture read the JVM is not known; on a busy machine it reads late, and
    # its callers are missing (three quarters were whole then; idle, more than 95 %).
    tap.check(whole >= 0.5 * len(ours), f"{what}: {whole} of {len(ours)} lead to main() and on into the JVM",
              [chain_of(s)[-2:] for s in ours if chain_of(s)[-1][0] != "main"][:10])
    tap.check(named >= 0.9 * len(java), f"{what}: {named} of {len(java)} frames of code without a file have names")
    tap.check(n_lines > 50 and len(wrong_lines) <= n_lines // 200, f"{what}: {n_lines} call sites have their lines of the source",
              collections.Counter(wrong_lines).most_common(10))


TRIED = {"8", "11", "17", "21", "25", "26", "27"}  # releases with which what holds was tried


def release_of(java):
    m = re.search(r'version "(?:1\.)?(\d+)', run([java, "-version"], check=False).stderr)  # "1.8.0_504", "17.0.15"
    return m[1] if m else None


def other_jvms(first):
    """[(release, path)] of the JVMs beside the first one, one of each release."""
    found = {}
    for java in sorted(glob.glob("/usr/lib/jvm/*/bin/java")):
        release = release_of(java)
        if release in TRIED - {first}:
            found.setdefault(release, java)
    return sorted(found.items())


def record(data, *command):
    need_events()
    return run([CAPTURE, "-q", "-F", "499", "-e", "cpu-clock:u", "-o", data, "--", *command])


CONFIGS = {
    "g1": ["-XX:+UseG1GC"],
    "parallel": ["-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"],
    "not-inlined": ["-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Chain::*"],
    "interpreter": ["-Xint"],
}


def configurations(java, prefix, chosen):
    for name in chosen:
        data = f"{prefix}{name}.data"
        record(data, java, *CONFIGS[name], "-cp", ".", "Chain", "1200")
        samples, _, _ = samples_of(data)
        judge(prefix + name, samples)
        inlined = sum(f.get("inlined", False) for s in samples for f in s["stack"] if "Chain." in f.get("sym", ""))
        if name in ("g1", "interpreter"):
            tap.check((inlined > 0) == (name == "g1"), f"{prefix}{name}: {inlined} frames are of inlined methods")


def several():
    """Two that end while the recording goes on; the second begins later."""
    record("two.data", "sh", "-c", "java -cp . Chain 1000; java -cp . Chain 1000")
    samples, _, _ = samples_of("two.data")
    pids = {s["pid"] for s in samples if chain_of(s["stack"])}
    tap.check(len(pids) == 2, f"two JVMs, one after the other: both are named ({pids})")
    judge("two", samples)


def virtual_threads():
    """By construction: work() calls f(), which calls itself twelve deep. What has called the last frames on the stack is in the heap,
    after the thread has given way: then the callers are said to be elsewhere, and not left out."""
    java = next((j for r, j in [(release_of("java"), "java"), *other_jvms("")] if r and int(r) >= 21), None)
    javac = java and os.path.join(os.path.dirname(java), "javac")
    if not java or run([javac, "-d", ".", os.path.join(PROGRAMS, "Virtual.java")], check=False).returncode:
        return tap.skip("virtual threads", "no JVM of release 21 or later that compiles")
    record("virtual.data", java, "-cp", ".", "Virtual", "2000")
    samples, _, _ = samples_of("virtual.data")
    bad, n, elsewhere = collections.Counter(), 0, 0
    for s in samples:
        syms = ["[other stack]" if f.get("how") == "other stack" else f.get("sym", "?") for f in s["stack"]]
        ours = [i for i, sym in enumerate(syms) if "Virtual." in sym]
        if not ours or "Virtual.main" in syms[ours[-1]]:
            continue
        n += 1
        last = ours[-1]
        after = syms[last + 1] if last + 1 < len(syms) else "nothing"
        elsewhere += after == "[other stack]"
        if "Virtual.lambda" not in syms[last] and after != "[other stack]":
            bad[syms[last], after] += 1
    tap.check(n > 30 and elsewhere > 10 and not bad, f"virtual threads: of {n} stacks {elsewhere} go on elsewhere and say so", bad.most_common(5))


def nothing_else():
    """What the recording holds is enough: no file of the machine is opened, and the Java part is the same."""
    os.makedirs("empty", exist_ok=True)
    here, _, _ = samples_of("g1.data")
    there, _, _ = samples_of("g1.data", "--symfs", os.path.abspath("empty"))
    mine, other = ([[f.get("sym") for f in s["stack"]][:len(chain_of(s["stack"]))] for s in part if s["stack"] and chain_of(s["stack"][:1])]
                   for part in (here, there))
    tap.check(mine and mine == other, f"in an empty root {len(mine)} stacks have the same methods")


def without_stacks():
    """A call chain has no places in bytecode: it is said how many frames lose their names."""
    p = run([RESOLVE, "--strip-stacks", "-o", "s.data", "interpreter.data"])
    said = re.search(r"(\d+) frames of interpreted methods lose their names", p.stderr)
    tap.check(said and int(said[1]) > 100, "--strip-stacks says what is lost", p.stderr)
    run([RESOLVE, "--strip-stacks", "-o", "s.data", "g1.data"], check=False)
    p = run([RESOLVE, "s.data", "-f", "folded"], check=False)
    tap.check("Chain.m" in p.stdout, "and compiled methods keep their names", p.stdout[-500:], p.stderr)


def damaged():
    """The code in a recording is read with care: cut, or with other bytes, it never ends a run."""
    with open("g1.data", "rb") as f:
        whole = bytearray(f.read())
    begins = [m.start() - 8 for m in re.finditer(rb"\xffRTCODE\xff", whole)]
    at = max(begins, key=lambda i: int.from_bytes(whole[i + 6:i + 8], "little"))
    size = int.from_bytes(whole[at + 6:at + 8], "little")
    tap.check(len(begins) > 0 and size > 100, "the recording has the code")
    quiet, untold = 0, []
    for place in [at, at + 6, at + 8, at + 16, at + 20, at + 24, at + 32, at + 40, at + size // 2]:
        copy = bytearray(whole)
        copy[place:place + 4] = b"\xff\xfe\xfd\xfc"
        with open("damaged.data", "wb") as f:
            f.write(copy)
        p = run([RESOLVE, "damaged.data", "-f", "folded"], check=False)
        quiet += p.returncode not in (0, 1) or not p.stdout
        if not re.search("of the code that runtimes made|a runtime is damaged|code of runtimes may have", p.stderr):
            untold.append(place - at)
    # Nothing shows that a process number is another one.
    tap.check(not quiet and set(untold) <= {20}, f"damage: the rest is written, and it is told (not: {untold})", p.stderr)
    told = 0
    for i in range(1, 9):
        copy = bytearray(whole)
        copy[at + 48 + (size - 48 - 8) * i // 9] ^= 1 << i % 8
        with open("damaged.data", "wb") as f:
            f.write(copy)
        p = run([RESOLVE, "damaged.data", "-f", "folded"], check=False)
        told += p.returncode == 1 and "a runtime is damaged" in p.stderr
    tap.check(told == 8, f"one wrong bit in the packed code is told ({told} of 8)", p.returncode, p.stderr)


def named_share(p):
    """Of the time."""
    stacks = [line.rsplit(" ", 1) for line in p.stdout.splitlines()]
    return sum(int(ns) for stack, ns in stacks if "Chain." in stack) / max(1, sum(int(ns) for _, ns in stacks))


def without_an_end():
    """What ends a recorder leaves the code that it has read; so does a pipe, from which it is read to the end first."""
    c = subprocess.Popen([CAPTURE, "-q", "-F", "499", "-o", "killed.data", "--", "java", "-cp", ".", "Chain", "9000"])
    time.sleep(6)
    c.kill()
    c.wait()
    p = run([RESOLVE, "killed.data", "-f", "folded"], check=False)
    tap.check("interrupted" in p.stderr and named_share(p) > .5, f"of a recorder that was killed {named_share(p):.2f} have names", p.stderr)
    with open("pipe.data", "wb") as f:
        subprocess.run([CAPTURE, "-q", "-F", "499", "-o", "-", "--", "java", "-cp", ".", "Chain", "2000"], stdout=f, stderr=subprocess.DEVNULL, check=True)
    with open("pipe.data", "rb") as f:
        streams = {"a file of a pipe": run([RESOLVE, "pipe.data", "-f", "folded"]),
                   "a pipe": run(["sh", "-c", f"cat pipe.data | {RESOLVE} - -f folded"])}
    for what, p in streams.items():
        tap.check(named_share(p) > .5, f"of {what} {named_share(p):.2f} have names", p.stderr)
    if have("perf"):
        p = subprocess.run(["perf", "report", "-i", "pipe.data", "--stdio"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                           check=False)
        tap.check(p.returncode == 0 and "failed" not in p.stdout, "perf report reads such a pipe", p.stdout[-2000:])


def main():
    if not have("java") or not have("javac"):
        return tap.skip("a JVM", "no java")
    if NO_EVENTS:
        return tap.skip("a JVM", NO_EVENTS)
    if os.uname().machine != "x86_64":
        return tap.skip("a JVM", "frames of HotSpot are known for x86-64 only")
    release = release_of("java")
    if release not in TRIED:
        return tap.skip("a JVM", f"what holds was tried with releases {sorted(TRIED, key=int)}; this is {release}")
    oldest = [] if release == "8" else ["--release", min(TRIED, key=int)]
    p = run(["javac", *oldest, "-d", ".", os.path.join(PROGRAMS, "Chain.java")], check=False)
    if p.returncode:
        return tap.skip("a JVM", "javac cannot compile: " + p.stderr[:200])
    configurations("java", "", CONFIGS)
    for other, java in other_jvms(release):
        configurations(java, f"{other}-", ("g1", "not-inlined", "interpreter"))
    several()
    virtual_threads()
    nothing_else()
    without_stacks()
    damaged()
    without_an_end()
    return 0


main()
tap.end()

#!/usr/bin/env python3
"""Frame by frame against perf on recordings of programs that were not written for this test.

Every sample of `perf record --call-graph dwarf` must give the frames that `perf script --no-inline` gives,
or fall into one of the classes below; tests/e2e/README.md says for each who is right and how that was shown. A
second opinion on the same bytes is libdw (`--unwinder=libdw`). What is in no class fails the test.
"""
import json
import os
import re
from collections import Counter

from common import RESOLVE, Tap, have, perf_record, run

tap = Tap()
HEAD = re.compile(r"^\s*(\S.*?)\s+(\d+)\s+(?:\[\d+\]\s+)?(\d+\.\d+):")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")

# perf ends a stack that was cut with a frame at this address.
ENDED = "ours ends in code without call frame information, and says so"
END_OF_COPY = 0xffffffffffffffff

PY = """
import json, re, sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while time.process_time() < 0.7:  # CPU time, so that a loaded machine leaves as many samples
    fib(14)
    d = {str(i): list(range(20)) for i in range(200)}
    s = json.dumps(d); json.loads(s); re.findall(r'(\\d+), (\\d+)', s); sorted(s)
"""
JS = """
const used = () => { const u = process.cpuUsage(); return u.user + u.system };
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
while (used() < 700e3) { fib(20); JSON.parse(JSON.stringify({ a: [1, 2, { b: "x".repeat(100) }] })); [3, 1, 2].sort((a, b) => a - b) }
"""
CC = """
#include <regex>
#include <iostream>
int main(int c, char **v) { std::regex r(v[0]); std::cout << std::regex_match(v[1], r); }
"""
WORK = [
    ("python3", ["python3", "w.py"]),
    ("gcc", ["g++", "-O1", "-c", "w.cc", "-o", "w.o"]),
    ("clang", ["clang++", "-O1", "-c", "w.cc", "-o", "w.o"]),
    ("openssl", ["openssl", "speed", "-seconds", "1", "-bytes", "8192", "sha256", "rsa2048"]),
    ("node", ["node", "w.js"]),
]


def samples(text):
    """{(tid, time): [(function, dso)]}: times are to the microsecond in both."""
    out, frames = {}, None
    for line in text.splitlines():
        m = FRAME.match(line)
        if m and int(m.group(1), 16) == END_OF_COPY:
            continue
        if m and frames is not None:
            frames.append((re.sub(r"\+0x[0-9a-f]+$", "", m.group(2)), os.path.basename(m.group(3)),
                           int(m.group(1), 16)))
            continue
        m = HEAD.match(line)
        if m:
            frames = out.setdefault((m.group(2), m.group(3)), [])
    return out


def same(a, b):
    return a[0] == b[0] and a[1] == b[1]


def names(frames):
    return [f[:2] for f in frames]


def at(sample):
    us = sample["t_ns"] // 1000
    return str(sample["tid"]), f"{us // 10**6}.{us % 10**6:06}"


def guessed(text):
    """{(tid, time): places of the frames that are marked as guesses}, of jsonl."""
    return {at(s): {i for i, f in enumerate(s["stack"]) if f.get("how") == "guessed"} for s in map(json.loads, text.splitlines())}


def ends(text):
    """{(tid, time): why the user stack ends}, of jsonl; None: it has none, as in exec."""
    return {at(s): s.get("stop") for s in map(json.loads, text.splitlines())}


def classify(ours, perf, libdw, marks, stop=None):
    """The class of a sample, or None when nothing explains the difference."""
    if names(ours) == names(perf):
        return "equal"
    n = min(len(ours), len(perf))
    d = next((i for i in range(n) if not same(ours[i], perf[i])), n)
    if d == len(perf) and len(ours) > len(perf):
        return "perf stops earlier"
    agree = names(ours) == names(libdw)
    # The caller of the first user frame, which may stand behind frames of the kernel.
    leaf = next((i for i, f in enumerate(ours) if not f[1].startswith("[kernel")), 0)
    if leaf + 1 in marks and len(perf) > leaf + 1:
        # Without that guess it must be equal, or in one of the other classes (perf stops earlier).
        rest = ours[:leaf + 1] + ours[leaf + 2:]
        if names(rest) == names(libdw) or classify(rest, perf, libdw, ()):
            return "we have the caller that frame pointers skip"
    if d == len(ours) and agree:
        return "perf goes on, libdw agrees with us"
    if d < len(ours) and ours[d][1] == perf[d][1] and names(ours[d + 1:]) == names(perf[d + 1:]):
        return "one name differs"
    if agree:
        return "frames differ, libdw agrees with us"
    if stop == "NO_CFI" and names(ours) == names(libdw[:len(ours)]):
        return ENDED
    return None


def compare(name, cmd):
    perf_record("-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf,16384", "-o", "x.data", "--", *cmd)
    perf = samples(run(["perf", "script", "--no-inline", "--no-demangle", "--max-stack", "1024", "-F",
                        "comm,tid,time,ip,sym,dso", "-i", "x.data"]).stdout)
    base = [RESOLVE, "-q", "-f", "script", "--no-inline", "--no-demangle", "--no-stitch"]
    ours = samples(run([*base, "x.data"]).stdout)
    told = run([*base, "-f", "jsonl", "x.data"]).stdout
    marks, stops = guessed(told), ends(told)
    libdw = samples(run([*base, "--unwinder=libdw", "x.data"]).stdout)
    tap.check(len(perf) > 50 and ours.keys() == perf.keys(), f"{name}: the same samples",
              (len(perf), len(ours), sorted(perf.keys() ^ ours.keys())[:5]))
    classes, bad = Counter(), []
    for key in perf.keys() & ours.keys():
        c = classify(ours[key], perf[key], libdw.get(key, []), marks[key], stops[key])
        classes[c] += 1
        if c is None:
            bad.append(key)
    print(f"# {name}: {len(perf)} samples: " + ", ".join(f"{n} {c}" for c, n in classes.most_common()))
    tap.check(classes[ENDED] <= 0.03 * len(perf), f"{name}: {classes[ENDED]} stacks: {ENDED}", classes)
    show = "\n".join(f"{key}\n ours  {names(ours[key])}\n perf  {names(perf[key])}\n libdw {names(libdw.get(key, []))}"
                     for key in bad[:3])
    tap.check(not bad, f"{name}: every difference is explained", f"{len(bad)} of {len(perf)}\n{show}")


for f, text in (("w.py", PY), ("w.js", JS), ("w.cc", CC)):
    with open(f, "w") as out:
        out.write(text)
if not have("perf"):
    tap.skip("perf script", "perf is not installed")
    tap.end()
for label, command in WORK:
    if have(command[0]):
        compare(label, command)
    else:
        tap.skip(label, f"{command[0]} is not installed")
tap.end()

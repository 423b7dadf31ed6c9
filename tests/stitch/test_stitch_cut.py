#!/usr/bin/env python3
"""Stitching against the truth: real programs are recorded with large stack copies, tool_stitch cuts these to small
ones, stitches, and compares with the stacks of the uncut copies.

A stitched stack is exact when its frames are the true ones: all of them if it is said to reach the root, else as many
as it has. At least 99.5 % must be. Wrong ones are of one class (tests/stitch/README.md): a function has returned and was called
again from elsewhere, at the same place of the stack and with almost or all the same in its frame.
"""
import os
import re
import shutil
import subprocess
import sys

from recorder import perf_record
from tap import LONG, need_events

TOP = os.environ["TOP"]
TOOL = os.path.join(os.environ["BUILD"], "tests/stitch/tool_stitch")
SIZES = (4096, 8192, 16384)
SECONDS = "2" if LONG else "1"
SOURCES = {
    "w.cc": """
#include <algorithm>
#include <map>
#include <regex>
int main() { std::map<std::string, int> m; std::regex r("(a|b)*c[0-9]+"); m["x"] = 1;
             std::smatch s; std::string t = "abc1"; return std::regex_match(t, s, r); }
""",
    "w.py": """
import ast, json, re, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def walk(d): return sorted([3, 1, 2], key=lambda x: fib(8) + x) if not d else [walk(d - 1) for _ in range(3)]
text, end = open(__file__).read(), time.process_time() + 1.5
while time.process_time() < end:
    walk(5); ast.parse(text); json.loads(json.dumps({"a": [list(range(100))] * 20})); re.findall(r"(a|b)*c", "ababc" * 100)
    list(map(fib, range(12)))
""",
    "w.js": """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
class A { go(d) { return d ? [1, 2, 3].map(x => this.go(d - 1)).reduce((a, b) => a + b, 0) : fib(10) + JSON.parse("[1]")[0] } }
const used = () => { const u = process.cpuUsage(); return u.user + u.system }
while (used() < 1500e3) { new A().go(6); [5, 3, 1, 2, 9].sort((a, b) => fib(5) + a - b); "abc".replace(/[a-z]+/g, m => m + fib(6)) }
""",
}
WORK = {
    "gcc": ["g++", "-O1", "-c", "w.cc", "-o", "/dev/null"],
    "clang": ["clang++", "-O1", "-c", "w.cc", "-o", "/dev/null"],
    "python": ["/usr/bin/python3", "w.py"],
    "node": ["node", "w.js"],
    "C++ threads": ["./deep", SECONDS],
    "C++ threads, -O0": ["./deep0", SECONDS],
    "C++ threads, frame pointers": ["./deepfp", SECONDS],
}


def record(command):
    """Whether perf can record it."""
    try:
        perf_record("-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,65528", "-o", "t.data", "--", *command)
    except RuntimeError:
        return False
    return True


failed = 0


def check(good, name):
    global failed
    print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
    failed += not good


if not shutil.which("perf") or not shutil.which("g++"):
    print("ok - stitching of cut stacks # SKIP no perf or no g++")
    sys.exit(0)
for file, text in SOURCES.items():
    with open(file, "w") as f:
        f.write(text)
for flags, program in (("-O2", "deep"), ("-O0", "deep0"), ("-O2 -fno-omit-frame-pointer", "deepfp")):
    subprocess.run(["g++", *flags.split(), "-pthread", "-o", program, f"{TOP}/tests/programs/deep.cc"], check=True)
total = right = doubtful = 0
need_events()
for i, (name, command) in enumerate(WORK.items()):
    if not shutil.which(command[0]):
        print(f"ok - {name} # SKIP {command[0]} is not installed")
        continue
    if not record(command):
        print(f"ok - {name} # SKIP perf cannot record it here")
        continue
    stitched = exact = 0
    for size in SIZES if LONG or i % 3 == 0 else SIZES[i % 3:i % 3 + 1]:
        p = subprocess.run([TOOL, str(size), "t.data"], stdout=subprocess.PIPE, text=True, timeout=120)
        n = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", p.stdout)}
        here, good = n["to_root"] + n["extended"], n["exact"] + n["extended"] - n["extended_wrong"]
        left = n["cut"] - here - n["unknowable"]
        print(f"# {name}, {size} bytes: of {n['cut']} cut stacks {n['to_root']} reach the root by stitching, {n['exact']} exactly; "
              f"{n['extended']} are extended, {n['extended_wrong']} wrongly; {left} stay, {n['doubtful']} for lack of proof")
        doubtful += n["doubtful"]
        check(p.returncode == 0 and n["whole"] > 100, f"{name}, {size} bytes: {good} of {here} stitched stacks are the true ones")
        stitched, exact = stitched + here, exact + good
    os.remove("t.data")
    # Of few stacks, some wrong ones say nothing yet about a share: of the programs that recurse all the time few are stitched.
    check(stitched - exact <= max(4, 0.005 * stitched), f"{name}: 99.5 % are exact: {exact} of {stitched}")
    total, right = total + stitched, right + exact
check(doubtful > 0, "what cannot be proved is left out, and counted")
check(total > 500 and right >= 0.995 * total, f"all: 99.5 % are exact: {right} of {total}")
sys.exit(1 if failed else 0)

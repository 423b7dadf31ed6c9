#!/usr/bin/env python3
"""The flame graph experiment of Tornetta 2023 (arXiv 2301.08941), recorded by its own profiler, Austin: what its test and `regress` say.

    regress_austin.py [--dir DIR] [--runs N] [--austin PATH] [--python PATH]

A program of three functions; in the new side a sitecustomize module takes 100 ms and function a 150 instead of 200 ms. As in the paper, but
spinning for CPU time instead of sleeping. Three sets of N runs are recorded in turn: base, base again, new. The whole sets are compared,
and each five runs of them. Hotelling's test (regress_peers.py) sees microseconds by stack, as in the paper; regress the samples of the same
files. Austin 1.0 (Debian) knows Pythons up to 3.8."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))
sys.path.insert(0, os.path.join(TOP, "bench"))
from regress_peers import hotelling  # noqa: E402

SPIN = "end = process_time() + {}\n{}while process_time() < end: pass\n"
SITE = "import os\nif os.getenv('REGRESSION'):\n    from time import process_time\n    " + SPIN.format(.1, "    ")
PROGRAM = "import os\nfrom time import process_time\n" + "".join(
    f"def {name}():\n    {call}{SPIN.format(seconds, '    ')}" for name, call, seconds in
    (("a", "", ".15 if os.getenv('REGRESSION') else .2"), ("b", "a()\n    ", .1), ("c", "b()\n    ", .05))) + "c()\n"
SETS = "base", "again", "new"


def record(a, path, regression):
    env = {**os.environ, "PYTHONPATH": a.dir, "PYTHONDONTWRITEBYTECODE": "1"}
    if regression:
        env["REGRESSION"] = "1"
    subprocess.run([a.austin, "-i", "1000", "-o", path, a.python, os.path.join(a.dir, "program.py")], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def frame(text):
    """FILE:FUNCTION, of "FUNCTION (PATH)" (Austin 1) or "PATH:FUNCTION:LINE"."""
    m = re.fullmatch(r"(.*) \((.*)\)", text)
    path, function = (m[2], m[1]) if m else text.rsplit(":", 2)[:2]
    return f"{os.path.basename(path)}:{function}".replace(" ", "_")


def read(path):
    """[(stack, microseconds)], a sample each: without process, thread and lines."""
    with open(path) as f:
        for line in f:
            text, us = line.rsplit(" ", 1)
            frames = [frame(x) for x in text.split(";") if not re.match(r"Process |Thread |[PT][0-9a-f:]+$|L\d+$", x)]
            if frames:
                yield ";".join(frames), int(us)


def folded(path, out):
    counts = collections.Counter(stack for stack, _ in read(path))
    with open(out, "w") as f:
        f.writelines(f"{stack} {n}\n" for stack, n in sorted(counts.items()))
    return out


def stacks(path):
    sums = collections.Counter()
    for stack, us in read(path):
        sums[stack] += us
    return sums


def judge(a, base, new):
    p, grown = hotelling([stacks(x) for x in base], [stacks(x) for x in new])
    sides = [[folded(x, x + ".folded") for x in side] for side in (base, new)]
    got = json.loads(subprocess.run([f"{BIN}/regress", "-q", "--json", "-", "--base", *sides[0], "--new", *sides[1]], stdout=subprocess.PIPE, check=False).stdout)
    said = {(f["key"], f["kind"]): f["verdict"] for f in got["findings"] if f["verdict"] != "explained"}
    return p, [s.rsplit(";", 1)[-1] for s in grown], said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-austin")
    p.add_argument("--runs", type=int, default=30)
    p.add_argument("--austin", default="austin")
    p.add_argument("--python", default="/usr/bin/python3")
    a = p.parse_args()
    a.dir = os.path.abspath(a.dir)
    os.makedirs(a.dir, exist_ok=True)
    for name, text in (("sitecustomize.py", SITE), ("program.py", PROGRAM)):
        with open(os.path.join(a.dir, name), "w") as f:
            f.write(text)
    paths = {s: [os.path.join(a.dir, f"{s}-{i:02}.austin") for i in range(a.runs)] for s in SETS}
    for i in range(a.runs):
        for s in (SETS, SETS[::-1])[i % 2]:
            if not os.path.exists(paths[s][i]):
                record(a, paths[s][i], s == "new")
    print(f"{sum(len(list(read(x))) for x in paths['base']) / a.runs:.0f} samples a run")
    for n in (5, a.runs):
        for s in SETS[1:]:
            for first in range(0, a.runs - n + 1, n):
                p, grown, said = judge(a, paths["base"][first:first + n], paths[s][first:first + n])
                print(f"{n:2} runs a side, {'nothing changed' if s == 'again' else 'changed':15}: Hotelling p {p:.2g}, larger: {grown}; regress: {said}")


main()

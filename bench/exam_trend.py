#!/usr/bin/env python3
"""exam_trend.py - how often `regress trend` is wrong on drawn series, in which chance is all there is beside the change.

    exam_trend.py [--series N] [--only WORD]

A commit is a run (or several) of 100 functions, the largest with 3,000 samples; runs have a speed of their own (sd 2 %), functions in them another (sd 1 %).
"drifting": each function also wanders, by 1 % (sd), with a correlation of .8 from commit to commit, as on a machine with good and bad days."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("BIN", os.path.join(TOP, "bin"))
sys.path.insert(0, os.path.join(TOP, "tests/regress"))
from drawn import Drawn  # noqa: E402


def series(folder, seed, commits, runs=1, change=lambda i: {}, drift=0.):
    drawn = Drawn(seed)
    wander = {name: 0. for name, _ in drawn.functions}
    shutil.rmtree(folder, ignore_errors=True)
    for i in range(commits):
        os.makedirs(f"{folder}/{i:04}")
        for name in wander if drift else ():
            wander[name] = .8 * wander[name] + drawn.rnd.gauss(0, drift * math.sqrt(1 - .8 ** 2))
        factors = {name: math.exp(w) for name, w in wander.items()}
        for name, factor in change(i).items():
            factors[name] *= factor
        for r in range(runs):
            drawn.run(f"{folder}/{i:04}/{r}.folded", change=factors)


def trend(folder):
    p = subprocess.run([f"{os.environ['BIN']}/regress", "trend", "-q", "--json", "-", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode == 2:
        raise RuntimeError(p.stderr)
    return p.returncode, json.loads(p.stdout)["findings"]


FLAT = {"flat, 200 commits": dict(commits=200), "flat, 200 commits, drifting": dict(commits=200, drift=.01), "flat, 50 commits of 3 runs": dict(commits=50, runs=3), "flat, 10 commits of 5 runs": dict(commits=10, runs=5)}
# (what it says of a function, how the series is made): .1 is 1 % a week for ten weeks
CREEP = {"9.6 %, 200 commits": ("f1", dict(commits=200)), "9.6 %, 50 commits of 3 runs": ("f1", dict(commits=50, runs=3)), "9.6 %, 10 commits of 5 runs": ("f1", dict(commits=10, runs=5)),
         "9.6 %, 10 commits of 10 runs": ("f1", dict(commits=10, runs=10)), "1.9 %, 200 commits": ("f9", dict(commits=200)), "1.9 %, 50 commits of 3 runs": ("f9", dict(commits=50, runs=3))}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--series", type=int, default=100)
    p.add_argument("--only", default="")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, how in FLAT.items():
            if a.only in name:
                said = red = 0
                for seed in range(a.series):
                    series(folder + "/s", seed, **how)
                    code, found = trend(folder + "/s")
                    said += bool(found)
                    red += code
                print(f"{name}: of {a.series} series something is said of {said}, {red} fail", flush=True)
        for name, (key, how) in CREEP.items():
            if a.only in "creep " + name:
                found = others = 0
                for seed in range(a.series):
                    series(folder + "/s", seed, change=lambda i: {key: 1.01 ** (10 * i / (how["commits"] - 1))}, **how)
                    rows = trend(folder + "/s")[1]
                    found += any(f["key"] == key and f["verdict"] in ("CREPT", "GREW") for f in rows)
                    others += any(f["key"] not in (key, "total") for f in rows)
                print(f"creep of 1 % a week for ten weeks, {name}: found in {found} of {a.series}, something else said of {others}", flush=True)
        if a.only in "step":
            at = 0
            for seed in range(a.series):
                series(folder + "/s", seed, 60, change=lambda i: {"f3": 1.1 if i >= 30 else 1})
                at += any(f["key"] == "f3" and f["shape"] == "step" and abs(int(f["at"]) - 30) <= 1 for f in trend(folder + "/s")[1])
            print(f"step of 10 % in 4.8 %, 60 commits: found at its commit or beside it in {at} of {a.series}", flush=True)


if __name__ == "__main__":
    main()

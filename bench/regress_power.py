#!/usr/bin/env python3
"""What `regress` finds, beside what is possible: a function of 14 % that becomes 10 % slower, one of 1.3 % that becomes 50 % slower, by
samples a run and runs a side.

    regress_power.py [--jobs N] [--seed N] [--equal]

Runs are drawn (Poisson counts of the exam's program, each run with a speed of its own, sd 5 %), so that chance is all there is. "Possible"
is the power of the best test at the same threshold: the growth's logarithm beyond the margin, divided by the standard error
that the Fisher information of these counts allows, sqrt((1/a + 1/b) / (1 - share)), with known dispersion and the exact level
that Benjamini-Hochberg leaves to a function of this size. "Without margin" asks for any growth instead of 2 %.

--equal: how often a function that is exactly 10 % slower is certified to be less than that, and how much of the other functions' time is."""
import argparse
import math
import os
import statistics
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("BIN", os.path.join(TOP, "bin"))
sys.path.insert(0, os.path.join(TOP, "tests/regress"))
import mix  # noqa: E402
from drawn import Drawn, findings, of  # noqa: E402

SHARES = mix.SHARES
NORMAL = statistics.NormalDist()


def possible(share, growth, samples, runs, q, margin):
    tested = [s for s in SHARES if s * samples * runs * 2 >= 20]
    weight = math.sqrt(share) / (sum(map(math.sqrt, tested)) / len(tested))
    a = share * samples * runs
    se = math.sqrt((1 / a + 1 / (a * (1 + growth))) / (1 - share))
    return NORMAL.cdf((math.log1p(growth) - math.log1p(margin)) / se - NORMAL.inv_cdf(1 - q * weight / len(tested)))


def found(drawn, name, growth, runs, q, jobs):
    hits = others = 0
    for _ in range(jobs):
        sides = "--base", *drawn.side("base", runs, noise=0.), "--new", *drawn.side("new", runs, change={name: 1 + growth}, noise=0.)
        report = findings(*sides, "--q", str(q))[1]
        gated = of(report, "REGRESSED", "NEW")
        hits += (name, "self") in gated
        others += bool(gated - {(name, "self"), ("total", "total")})
    return hits / jobs, others / jobs


# Functions of tests/regress/drawn.py (f0: 19 % of all samples, fN that by N + 1) that are slower together, and how runs vary by function.
EQUAL = [("f0", .01), ("f1", .01), ("f3", .01), ("f8", .01), ("f0", .03), ("f3 f5 f8 f13 f21 f34", .01), ("f0 f1 f2 f3 f5 f8", .01)]


def certify(seed, jobs):
    print("10 % slower                runs  sd of a function  certified to be less  of the others' time")
    for names, noise in EQUAL:
        for runs in (5, 8):
            drawn, wrong, rest, slower = Drawn(seed), 0, 0, names.split()
            for _ in range(jobs):
                sides = "--base", *drawn.side("base", runs, noise=noise), "--new", *drawn.side("new", runs, noise=noise, change=dict.fromkeys(slower, 1.1))
                functions = findings(*sides)[1]["functions"]
                wrong += sum(f["upper"] < .1 for f in functions if f["key"] in slower)
                others = [f for f in functions if f["key"] not in slower]
                rest += sum(f["base_share"] for f in others if f["upper"] < .1) / sum(f["base_share"] for f in others)
            n = jobs * len(slower)
            print(f"{names:26} {runs:4}  {100 * noise:14.0f} %  {100 * wrong / n:9.1f} % of {n:<7}  {100 * rest / jobs:16.0f} %", flush=True)


def compare(seed, jobs):
    print("function               runs  samples a run  q    found  possible  possible without margin  jobs with others")
    for name, growth in (("f0", .1), ("f17", .5)):
        share = SHARES[int(name[1:])]
        for runs, samples in ((5, 3900), (5, 7000), (5, 10000), (5, 14000), (8, 3900), (8, 7000)):
            for q in (.05, .01):
                drawn = Drawn(seed)
                drawn.functions = [(f"f{i}", s * samples) for i, s in enumerate(SHARES)]
                hit, others = found(drawn, name, growth, runs, q, jobs)
                print(f"{100 * share:4.1f} % + {100 * growth:2.0f} %         {runs:4}  {samples:13}  {q:.2f}  {hit:5.2f}  {possible(share, growth, samples, runs, q, .02):8.2f}"
                      f"  {possible(share, growth, samples, runs, q, 0):23.2f}  {others:16.2f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--equal", action="store_true")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        (certify if a.equal else compare)(a.seed, a.jobs)
        os.chdir("/")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What `regress` finds, beside what is possible: a function of 14 % that becomes 10 % slower, one of 1.3 % that becomes 50 % slower, by
samples a run and runs a side.

    regress_power.py [--jobs N] [--seed N]

Runs are drawn (Poisson counts of the exam's program, each run with a speed of its own, sd 5 %), so that chance is all there is. "Possible"
is the power of the best test at the same threshold: the growth's logarithm beyond the margin, divided by the standard error
that the Fisher information of these counts allows, sqrt((1/a + 1/b) / (1 - share)), with known dispersion and the exact level
that Benjamini-Hochberg leaves to a function of this size. "Without margin" asks for any growth instead of 2 %."""
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


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    os.chdir(tempfile.mkdtemp())
    print("function               runs  samples a run  q    found  possible  possible without margin  jobs with others")
    for name, growth in (("f0", .1), ("f17", .5)):
        share = SHARES[int(name[1:])]
        for runs, samples in ((5, 3900), (5, 7000), (5, 10000), (5, 14000), (8, 3900), (8, 7000)):
            for q in (.05, .01):
                drawn = Drawn(a.seed)
                drawn.functions = [(f"f{i}", s * samples) for i, s in enumerate(SHARES)]
                hit, others = found(drawn, name, growth, runs, q, a.jobs)
                print(f"{100 * share:4.1f} % + {100 * growth:2.0f} %         {runs:4}  {samples:13}  {q:.2f}  {hit:5.2f}  {possible(share, growth, samples, runs, q, .02):8.2f}"
                      f"  {possible(share, growth, samples, runs, q, 0):23.2f}  {others:16.2f}", flush=True)


main()

#!/usr/bin/env python3
"""Do runs of one round have more in common than others? regress_pairs.py PUBLISHED.., folders of jobs that bench/exam_regress.py kept.

Of each function with 0.5 % and more: the variance of the difference of a round's two runs, divided by the sum of both sides' variances,
after the size factors (counts of all other functions). 1: pairing runs by rounds would gain nothing; below 1: it would gain."""
import collections
import os
import sys


def runs(folder):
    for name in sorted(os.listdir(folder)):
        n = collections.Counter()
        with open(os.path.join(folder, name)) as f:
            for line in f:
                stack, weight = line.rsplit(" ", 1)
                n[stack.rsplit(";", 1)[-1]] += float(weight)
        yield n


def variance(v):
    mean = sum(v) / len(v)
    return sum((x - mean) ** 2 for x in v) / (len(v) - 1)


def main():
    paired = apart = jobs = 0.
    for job in sys.argv[1:]:
        base, new = (list(runs(os.path.join(job, side))) for side in ("base", "new"))
        total = sum(base + new, collections.Counter())
        jobs += 1
        for name in (k for k in total if total[k] >= .005 * sum(total.values())):
            a, b = ([r[name] / (sum(r.values()) - r[name]) for r in side] for side in (base, new))
            scale = (sum(a) + sum(b)) ** 2
            paired += variance([y - x for x, y in zip(a, b)]) / scale
            apart += (variance(a) + variance(b)) / scale
    print(f"{jobs:.0f} jobs: variance of the difference within rounds, by that of any two runs: {paired / apart:.2f}")


main()

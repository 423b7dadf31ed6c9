#!/usr/bin/env python3
"""What other rules say of the same runs: regress_peers.py BASE_FOLDER NEW_FOLDER [N], each with folded files, a run each; of the first N.

Prints a JSON object: functions that each rule calls slower. threshold: share grew by 5 % and .05 points (most CI scripts; the order in
which `perf diff` lists is by this difference, without a rule). mwu: Mann-Whitney's test of shares, Benjamini-Hochberg at .05. welch: the same
with Welch's t of the logarithms of shares. hotelling: T2 of Tornetta 2023 (arXiv 2301.08941; flame graphs as vectors of absolute
weights, 0 where a run has none of a stack, of stacks that occur in at least five runs; needs more runs than stacks, so at most the 12 largest are taken), then
simultaneous intervals by stack."""
import collections
import json
import os
import sys

import numpy
from scipy import stats


def runs(folder, n):
    """[{stack: weight}] and [{function: weight by itself}]"""
    stacks, selves = [], []
    for name in sorted(os.listdir(folder))[:n]:
        stack, self_ = collections.Counter(), collections.Counter()
        with open(os.path.join(folder, name)) as f:
            for line in f:
                path, weight = line.rsplit(" ", 1)
                # The first frame is the program's name, which builds may differ in.
                stack[path.split(";", 1)[-1]] += float(weight)
                self_[path.rsplit(";", 1)[-1]] += float(weight)
        stacks.append(stack)
        selves.append(self_)
    return stacks, selves


def shares(selves, names):
    return numpy.array([[s[n] / sum(s.values()) for n in names] for s in selves])


def benjamini_hochberg(p, names, q=.05):
    order = numpy.argsort(p)
    good = [k for k, i in enumerate(order) if p[i] <= q * (k + 1) / len(p)]
    return sorted(names[i] for i in order[:good[-1] + 1]) if good else []


def hotelling(x, y, level=.01):
    """(p of the whole, stacks that grew beyond their simultaneous interval)"""
    nx, ny = len(x), len(y)
    times = collections.Counter(s for r in x + y for s in r if r[s])
    common = sorted((s for s in times if times[s] >= min(5, nx, ny)), key=lambda s: -sum(r[s] for r in x + y))[:min(12, max(1, (nx + ny - 2) // 2))]
    a, b = (numpy.array([[r[s] for s in common] for r in side]) for side in (x, y))
    p, n = len(common), nx + ny
    if not p:
        return 1., []
    pooled = ((nx - 1) * numpy.cov(a.T) + (ny - 1) * numpy.cov(b.T)).reshape(p, p) / (n - 2)
    d = b.mean(0) - a.mean(0)
    scale = (n - p - 1) / (p * (n - 2))
    t2 = nx * ny / n * d @ numpy.linalg.pinv(pooled) @ d
    limit = stats.f.ppf(1 - level, p, n - p - 1) / scale * n / (nx * ny)
    return float(stats.f.sf(scale * t2, p, n - p - 1)), [s for s, k, v in zip(common, d, numpy.diag(pooled)) if k > 0 and k * k >= v * limit]


def judge(base, new, n=None):
    n = n and int(n)
    (stacks_a, a), (stacks_b, b) = runs(base, n), runs(new, n)
    total = collections.Counter()
    for r in a + b:
        total.update(r)
    names = sorted(n for n in total if total[n] > 0)
    x, y = shares(a, names), shares(b, names)
    mx, my = x.mean(0), y.mean(0)
    lx, ly = (numpy.log(s + 1e-6) for s in (x, y))
    with numpy.errstate(all="ignore"):
        welch = numpy.nan_to_num(stats.ttest_ind(ly, lx, axis=0, equal_var=False, alternative="greater").pvalue, nan=1)
    mwu = [stats.mannwhitneyu(y[:, i], x[:, i], alternative="greater").pvalue for i in range(len(names))]
    p, grown = hotelling(stacks_a, stacks_b)
    return {"threshold": [n for n, s, t in zip(names, mx, my) if t > 1.05 * s and t > s + .0005], "mwu": benjamini_hochberg(mwu, names), "welch": benjamini_hochberg(welch, names),
            "hotelling": {"p": p, "stacks": grown}}


if __name__ == "__main__":
    print(json.dumps(judge(*sys.argv[1:4])))

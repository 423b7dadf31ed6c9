#!/usr/bin/env python3
"""exam_drawn.py - the generated programs of exam_tree.py as drawn runs, thousands of jobs in minutes: chance is all there is beside the change.

    exam_drawn.py [--jobs N] [--samples N] [--runs N] [--seed N] [--inline-frames]

Each run draws the samples of each stack; runs have a speed of their own (sd 2 %), functions in them another (sd 1 %). Frames of tail calls are left
out, and those of inlined functions too, as where there is no debug information."""
import argparse
import collections
import copy
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exam_tree  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))
DRAWN = [kind for kind, (how, _) in exam_tree.KINDS.items() if how is not exam_tree.same]
SEVERAL = "several of these"


def stacks(program, name="serve", above=("prog", "main"), inline_frames=False):
    """{stack: work}"""
    out = collections.Counter()
    f = program[name]
    here = above if f.inline and not inline_frames else (*above, name)
    out[here] += f.work + 2
    for i, callee in enumerate(f.calls):
        is_tail = f.tail and not f.inline and i == len(f.calls) - 1 and not program[callee].inline
        out.update(stacks(program, callee, above if is_tail else here, inline_frames))
    return out


def poisson(rng, mean):
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, k, p = math.exp(-mean), 0, 1.0
    while True:
        p *= rng.random()
        if p <= limit:
            return k
        k += 1


def draw(path, work, rng, samples):
    speed = samples / exam_tree.ROUND * math.exp(rng.gauss(0, .02))
    own = {}
    with open(path, "w") as f:
        for stack, steps in work.items():
            factor = own.setdefault(stack[-1], math.exp(rng.gauss(0, .01)))
            n = poisson(rng, steps * speed * factor)
            if n:
                f.write(";".join(stack) + f" {n}\n")
    return path


def change(program, kind, seed):
    how = {**exam_tree.KINDS, **exam_tree.SLOWER, "none": (exam_tree.same, None)}[kind][0]
    return how(program, random.Random(f"{seed}{kind}"))


def several(program, seed):
    """Two to four kinds, one after the other. What was lost by one of them must not be taken for what another won."""
    rng = random.Random(f"{seed}{SEVERAL}")
    return [name for kind in rng.sample(DRAWN, rng.randint(2, 4)) for name in change(program, kind, seed)]


def job(seed, kind, folder, runs=5, samples=5000, inline_frames=False):
    """(exit status, report, what the change touched)"""
    program = exam_tree.generate(seed)
    changed = copy.deepcopy(program)
    touched = several(changed, seed) if kind == SEVERAL else change(changed, kind, seed)
    rng = random.Random(f"{seed}{kind}runs")
    sides = [[draw(f"{folder}/{side}-{i}.folded", stacks(p, inline_frames=inline_frames), rng, samples) for i in range(runs)] for side, p in (("base", program), ("new", changed))]
    p = subprocess.run([f"{BIN}/regress", "-q", "--json", "-", "--base", *sides[0], "--new", *sides[1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode == 2:
        raise RuntimeError(p.stderr)
    return p.returncode, json.loads(p.stdout), touched


def gated(report):
    return [(f["verdict"], f["kind"], f["key"], round(f["growth"], 2) if f["growth"] is not None else None, round(100 * f["impact"], 2)) for f in report["findings"] if f["gated"]]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--samples", type=int, default=5000)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--inline-frames", action="store_true")
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["none", *DRAWN, SEVERAL, *exam_tree.SLOWER]:
            if a.only and a.only not in kind:
                continue
            red = found = 0
            for seed in range(a.seed, a.seed + a.jobs):
                code, report, touched = job(seed, kind, folder, a.runs, a.samples, a.inline_frames)
                red += code == 1
                found += any(f["gated"] and f["key"] in touched for f in report["findings"])
                if a.v and (code == 1) != (kind in exam_tree.SLOWER):
                    print("  ", seed, touched, gated(report) or [(f["verdict"], f["kind"], f["key"], f["growth"], round(100 * f["impact"], 2)) for f in report["findings"] if f["verdict"] != "explained"][:6])
            print(f"{kind}: {red} of {a.jobs} red" + (f", {found} name what is slower" if kind in exam_tree.SLOWER else ""), flush=True)


if __name__ == "__main__":
    main()

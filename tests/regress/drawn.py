"""drawn.py - runs as folded stacks, drawn by a generator with a seed: the figures are exact."""
import json
import math
import os
import random
import re
import shutil
import subprocess

BIN = os.environ["BIN"]


class Lost(Exception):
    """Samples were lost in every attempt, so that nothing can be compared."""


def regress(*args, **kw):
    """Users share little memory for all of their recordings; what was lost for want of it is recorded again."""
    for _ in range(4):
        p = subprocess.run([f"{BIN}/regress", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
        if args[:1] not in (("run",), ("confirm",)) or p.returncode != 2 or "were lost while recording" not in p.stderr:
            return p
        if "--dir" in args:
            shutil.rmtree(args[args.index("--dir") + 1], ignore_errors=True)
    raise Lost(p.stderr.strip())


def record(path, *words, prefix=()):
    """One run, by capture with these words. A part of a hundred of its samples may be lost, as regress has it."""
    for _ in range(4):
        p = subprocess.run([*prefix, f"{BIN}/capture", "--bundle=none", "-o", path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = re.search(r"capture: (\d+) samples of .*?, (\d+) lost", p.stderr)
        if p.returncode or not said:
            raise RuntimeError(p.stderr)
        if int(said[2]) <= .01 * (int(said[1]) + int(said[2])):
            return
    raise Lost(p.stderr.strip())


def findings(*args, **kw):
    """The exit status, and the JSON report or what was said instead."""
    p = regress(*args, "-q", "--json", "-", **kw)
    return p.returncode, json.loads(p.stdout) if p.returncode != 2 else p.stderr


def of(report, *verdicts):
    return {(f["key"], f["kind"]) for f in report["findings"] if f["verdict"] in verdicts}


def alarms(earlier, folder, known=(), recipe=()):
    """What a report fails for, but for what is known, and what of it fresh runs confirm: recorded live, one job in some hundred has a false alarm
    (doc/accuracy.md), and what fresh runs confirm is none. The first look is printed. recipe: options and commands, where the report has none."""
    with open(earlier) as f:
        first = of(json.load(f), "REGRESSED", "NEW") - set(known)
    if not first:
        return first
    print(f"# figures: {earlier}: a first look flags {sorted(first)}", flush=True)
    p = regress("confirm", earlier, "-q", "--dir", folder, "--json", f"{folder}.json", *recipe)
    if p.returncode == 2:
        raise RuntimeError(p.stderr)
    with open(f"{folder}.json") as f:
        return of(json.load(f), "REGRESSED", "NEW") - set(known)


class Drawn:
    """100 functions of 3,000 samples and less a run; each run has a speed of its own (sd 2 %), each function in it another (sd 1 %)."""

    def __init__(self, seed, functions=100, largest=3000.):
        self.rnd = random.Random(seed)
        self.functions = [(f"f{i}", largest / (i + 1)) for i in range(functions)]

    def poisson(self, mean):
        if mean > 50:
            return max(0, round(self.rnd.gauss(mean, math.sqrt(mean))))
        limit, k, p = math.exp(-mean), 0, 1.0
        while True:
            p *= self.rnd.random()
            if p <= limit:
                return k
            k += 1

    def run(self, path, change={}, scale=1.0, rename={}, noise=.01, speed=.02, largest=None):
        """noise: of a function from run to run, or by function; speed: of all of them; largest: samples of the first function."""
        speed = scale * math.exp(self.rnd.gauss(0, speed)) * (largest / self.functions[0][1] if largest else 1)
        with open(path, "w") as f:
            for i, (name, mean) in enumerate(self.functions):
                sd = noise if isinstance(noise, float) else noise.get(name, .01)
                n = self.poisson(mean * speed * change.get(name, 1) * math.exp(self.rnd.gauss(0, sd)))
                if n:
                    f.write(f"app;main;g{i % 10};{rename.get(name, name)} {n}\n")
        return path

    def side(self, name, n=5, **kw):
        shutil.rmtree(name, ignore_errors=True)
        os.makedirs(name)
        return [self.run(f"{name}/{i}.folded", **kw) for i in range(n)]


def run_live(tap, live):
    """Calls live() where programs can be built and recorded."""
    p = subprocess.run([f"{BIN}/capture", "--bundle=none", "-q", "-o", "try.data", "--", "true"], stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode or not shutil.which("gcc"):
        tap.skip("programs recorded here", "nothing can be recorded: " + (p.stderr.strip()[:200] or "no gcc"))
        return
    try:
        live()
    except Lost as e:
        name = "the rest of the programs recorded here"
        if os.geteuid():
            tap.skip(name, str(e))
        else:  # who may lock as much memory as there is
            tap.check(False, f"{name}: no samples are lost in one of four attempts", str(e))

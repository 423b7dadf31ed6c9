#!/usr/bin/env python3
"""The distributions of regress/stats.c against scipy's, on 1,000 random cases each."""
import os
import random
import subprocess

from tap import Tap

TOOL = os.path.join(os.environ["BUILD"], "tests/regress/tool_stats")
PYTHON = "/usr/bin/python3"
tap = Tap()
rnd = random.Random(7)


def logarithmic(lo, hi):
    return lo * (hi / lo) ** rnd.random()


CASES = {
    "beta": (lambda: (rnd.random(), logarithmic(.05, 500), logarithmic(.05, 500)), "special.betainc(a, b, x)"),
    "t": (lambda: (rnd.uniform(-12, 12), logarithmic(.5, 300), 0), "stats.t.sf(x, a)"),
    "quantile": (lambda: (rnd.uniform(1e-6, 1 - 1e-6), logarithmic(1, 300), 0), "stats.t.sf(b, a)"),
    "digamma": (lambda: (logarithmic(1e-3, 1e4), 0, 0), "special.digamma(x)"),
    "trigamma": (lambda: (logarithmic(1e-3, 1e4), 0, 0), "special.polygamma(1, x)"),
    "inverse": (lambda: (logarithmic(1e-3, 1e3), 0, 0), None),
    "normal": (lambda: (rnd.uniform(-8, 8), 0, 0), "stats.norm.sf(x)"),
    "poisson": (lambda: (float(rnd.randrange(1, 300)), logarithmic(.01, 500), 0), "stats.poisson.sf(x - 1, a)"),
}
ORACLE = "import sys\nfrom scipy import special, stats\nfor line in sys.stdin:\n    x, a, b = map(float, line.split())\n    print(repr(float(%s)))\n"


def run(cmd, text):
    return [float(v) for v in subprocess.run(cmd, input=text, stdout=subprocess.PIPE, check=True, text=True).stdout.split()]


def far(a, b):
    return abs(a - b) > 1e-9 * max(abs(a), abs(b)) + 1e-14


have_scipy = not subprocess.run([PYTHON, "-c", "import scipy.stats"], stderr=subprocess.DEVNULL).returncode
for name, (make, oracle) in CASES.items():
    rows = [make() for _ in range(1000)]
    ours = run([TOOL], "".join(f"{name} {x!r} {a!r} {b!r}\n" for x, a, b in rows))
    if name == "inverse":
        back = run([TOOL], "".join(f"trigamma {v!r} 0 0\n" for v in ours))
        tap.check(not any(far(x, v) for (x, _, _), v in zip(rows, back)), "inverse of trigamma: 1,000 values come back")
        continue
    if not have_scipy:
        tap.skip(name, "no scipy here")
        continue
    if name == "quantile":
        # scipy's own isf() is exact to 1e-8 only; its sf() of our quantile is to be the probability.
        rows = [(x, a, q) for (x, a, _), q in zip(rows, ours)]
        ours = [x for x, _, _ in rows]
    want = run([PYTHON, "-c", ORACLE % oracle], "".join(f"{x!r} {a!r} {b!r}\n" for x, a, b in rows))
    bad = [(r, o, w) for r, o, w in zip(rows, ours, want) if far(o, w)]
    tap.check(len(ours) == 1000 and not bad, f"{name}: 1,000 cases as scipy", bad[:5])
# Wilson 1927, as statsmodels and R's binom package give it: 0 of 150 and 10 of 1,000.
lo, hi, hi2 = run([TOOL], "wilson_lo 0 150 0\nwilson_hi 0 150 0\nwilson_hi 10 1000 0\n")
tap.check(abs(lo) < 1e-12 and abs(hi - .02497) < 1e-5 and abs(hi2 - .01831) < 1e-5, "Wilson's interval", lo, hi, hi2)
tap.end()

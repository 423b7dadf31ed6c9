#!/usr/bin/env python3
"""The distributions of regress/stats.c against scipy's, on 1,000 random cases each."""
import math
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
    "t": (lambda: (rnd.uniform(-12, 12), logarithmic(.5, 300), 0), "stats.t.sf(x, a)"),
    "quantile": (lambda: (rnd.uniform(1e-6, 1 - 1e-6), logarithmic(1, 300), 0), "stats.t.sf(b, a)"),
    "digamma": (lambda: (logarithmic(1e-3, 1e4), 0, 0), "special.digamma(x)"),
    "trigamma": (lambda: (logarithmic(1e-3, 1e4), 0, 0), "special.polygamma(1, x)"),
    # Brent's method, and polygamma() of scipy.
    "inverse": (lambda: (logarithmic(1e-3, 1e3), 0, 0), "optimize.brentq(lambda v: special.polygamma(1, v) - x, 1e-4, 1e5, xtol=1e-14, rtol=1e-14)"),
    "normal": (lambda: (rnd.uniform(-8, 8), 0, 0), "stats.norm.sf(x)"),
}
ORACLE = "import sys\nfrom scipy import optimize, special, stats\nfor line in sys.stdin:\n    x, a, b = map(float, line.split())\n    print(repr(float(%s)))\n"


def run(cmd, text):
    return [float(v) for v in subprocess.run(cmd, input=text, stdout=subprocess.PIPE, check=True, text=True).stdout.split()]


def far(a, b):
    return abs(a - b) > 1e-9 * max(abs(a), abs(b)) + 1e-14


# Without an oracle: trigamma by Abramowitz and Stegun 6.4.2 to 6.4.4; its inverse by trigamma.
FIXED = (("trigamma .5 0", math.pi ** 2 / 2), ("trigamma 1 0", math.pi ** 2 / 6), ("trigamma 3 0", math.pi ** 2 / 6 - 1.25))
got = run([TOOL], "".join(f"{line} 0\n" for line, _ in FIXED))
for (line, want), value in zip(FIXED, got):
    tap.check(not far(value, want), f"{line}: {want:.6f}", value)
values = [logarithmic(1e-3, 1e3) for _ in range(1000)]
turned = run([TOOL], "".join(f"inverse {v!r} 0 0\n" for v in values))
back = run([TOOL], "".join(f"trigamma {v!r} 0 0\n" for v in turned))
tap.check(len(back) == 1000 and not any(far(x, v) for x, v in zip(values, back)), "inverse of trigamma: 1,000 values come back")

have_scipy = not subprocess.run([PYTHON, "-c", "import scipy.stats"], stderr=subprocess.DEVNULL).returncode
for name, (make, oracle) in CASES.items():
    rows = [make() for _ in range(1000)]
    ours = run([TOOL], "".join(f"{name} {x!r} {a!r} {b!r}\n" for x, a, b in rows))
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
# 1,000 sets of up to 200 p values, of which some are equal, a third without weights.
FDR = """
import sys
import numpy as np
from scipy import stats

def by_definition(p):
    # The least level at which the step-up procedure rejects it: min over t >= p of t n / #{p <= t}.
    level = p * len(p) / np.sum(p[None, :] <= p[:, None], axis=1)
    return np.minimum(1, [level[p >= x].min() for x in p])

adjust = getattr(stats, "false_discovery_control", by_definition)
for line in sys.stdin:
    p, w = np.array(line.split(), float).reshape(2, -1)
    # Above 1 nothing is rejected, and scipy takes no such value.
    print(*adjust(np.minimum(1, p / w)))
"""


def drawn_set():
    n = int(logarithmic(1, 200))
    p = [round(rnd.random() ** rnd.choice((1, 4, 12)), rnd.choice((3, 17))) or 1e-17 for _ in range(n)]
    w = [logarithmic(.01, 100) for _ in p] if rnd.random() < 2 / 3 else [1.] * n
    return p, [x * n / sum(w) for x in w]


if not have_scipy:
    tap.skip("Benjamini-Hochberg", "no scipy here")
else:
    sets = [drawn_set() for _ in range(1000)]
    ours = run([TOOL, "bh"], "".join(f"{len(p)} " + " ".join(f"{x!r} {y!r}" for x, y in zip(p, w)) + "\n" for p, w in sets))
    want = run([PYTHON, "-c", FDR], "".join(" ".join(map(repr, p + w)) + "\n" for p, w in sets))
    bad = [(o, w) for o, w in zip(ours, want) if far(o, w)]
    tap.check(len(ours) == len(want) == sum(len(p) for p, _ in sets) and not bad, "weighted Benjamini-Hochberg: 1,000 sets as scipy", bad[:5])
tap.end()

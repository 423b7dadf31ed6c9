#!/usr/bin/env python3
"""bench/regress_peers.py, the rules that the exam puts beside regress, on runs that are drawn: what each of them can see and what not."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import Drawn, findings, of  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
PYTHON = "/usr/bin/python3"
drawn = Drawn(31)


def peers():
    return json.loads(subprocess.run([PYTHON, os.path.join(os.environ["TOP"], "bench/regress_peers.py"), "a", "b"], stdout=subprocess.PIPE, check=True, text=True).stdout)


if subprocess.run([PYTHON, "-c", "import scipy.stats"], stderr=subprocess.DEVNULL).returncode:
    tap.skip("other rules", "no scipy here")
else:
    false = {"threshold": 0, "mwu": 0, "regress": 0}
    for job in range(12):
        a, b = drawn.side("a"), drawn.side("b")
        told = peers()
        false["threshold"] += bool(told["threshold"])
        false["mwu"] += bool(told["mwu"])
        false["regress"] += findings("--base", *a, "--new", *b)[0]
    tap.check(false["threshold"] >= 10 and not false["mwu"] and not false["regress"], f"nothing changed, 12 jobs: false alarms {false}", false)
    a, b = drawn.side("a"), drawn.side("b", change={"f3": 1.5})
    told = peers()
    tap.check("f3" in told["threshold"] and not told["mwu"] and ("f3", "self") in of(findings("--base", *a, "--new", *b)[1], "REGRESSED"),
              "half as slow again: five runs a side are too few for ranks and a hundred functions", told)
    a, b = drawn.side("a", 30), drawn.side("b", 30, change={"f0": 1.5})
    told = peers()
    tap.check(told["hotelling"]["p"] < 1e-6 and "f0" in told["welch"], "thirty runs: Hotelling's and Welch's tests see the largest one", told)
tap.end()

#!/usr/bin/env python3
"""A dozen short jobs of bench/exam_regress.py, which really records programs, and reports what `regress` says of them.

How many alarms are tolerated follows from doc/accuracy.md: 0 of 210 jobs had one, so at most 1.8 % of jobs have. Of 12 two or more would
have one with a probability of 2 % at that bound, of less than 0.1 % at a rate of 0.3 %. What is to be found is half as slow again, which takes a
few hundred samples."""
import os
import shutil
import subprocess
import sys

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
sys.path.insert(0, os.path.join(TOP, "bench"))
import exam_regress as exam  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
OPTIONS = ["--dir", "exam", "--seconds", ".15", "--aa", "15", "--power", "1", "--runs", "5", "--power-frequency", "3999", "--alone", "--only", "A/A (mix|python|sqlite|xz)|14 % . 50 %|halves"]


def live():
    jobs = exam.main([*OPTIONS, "--jobs", "3"])
    tap.check(len(jobs) == 4, "the exam ends after so many jobs, of which one has two changes", [d["kind"] for d in jobs])
    jobs = exam.main(OPTIONS)
    aa = [d for d in jobs if d["kind"].startswith("A/A")]
    alarms = [(d["kind"], d["gated"]) for d in aa if d["gated"]]
    tap.check(len(aa) == 12 and len(jobs) == 14, "the exam continues where it ended: 12 A/A jobs, 2 others", [d["kind"] for d in jobs])
    tap.check(len(alarms) <= 1, f"nothing changed: {len(alarms)} of 12 jobs fail", alarms)
    power = {d["kind"]: d for d in jobs if d not in aa}
    slower = power["14 % + 50 %"]["gated"]
    tap.check("leaf_0" in slower and not set(slower) - {"leaf_0", "total"}, "14 % of the time half as slow again: found, and nothing else", power)
    tap.check(not power["halves"]["gated"], "the largest function halves: nothing is slower", power["halves"])
    published = [os.path.join("exam/published", name) for name in os.listdir("exam/published")]
    tap.check(len(published) == 14 and all(len(os.listdir(f"{p}/{side}")) == 5 for p in published for side in ("base", "new")) and all(os.path.exists(f"{p}/truth.json") for p in published),
              "folded forms and the truth of each job are kept", published)


p = subprocess.run([f"{BIN}/capture", "-q", "-o", "try.data", "--", "true"], stderr=subprocess.PIPE, text=True)
if p.returncode or not shutil.which("gcc"):
    tap.skip("jobs recorded here", "nothing can be recorded: " + p.stderr.strip()[:200])
else:
    live()
tap.end()

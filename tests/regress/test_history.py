#!/usr/bin/env python3
"""regress --history: earlier runs of the base show how much functions vary, so smaller growth is seen with no more false alarms.

Runs are drawn by a generator with a fixed seed."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
drawn = Drawn(23)
NOISY = {f"f{i}": .15 for i in range(5, 100, 9)}  # these vary by 15 % from run to run, all others by 1 %


def history(sessions=5, n=5):
    shutil.rmtree("history", ignore_errors=True)
    for s in range(sessions):
        # Another day, another build: functions are faster or slower than today, by up to 30 %.
        day = {name: 1 + .3 * drawn.rnd.random() for name, _ in drawn.functions}
        drawn.side(f"history/{s}", n, change=day, noise=NOISY)


history()
JOBS = 40
found = {"without": 0, "with": 0}
alarms = {"without": 0, "with": 0}
mde = {}
for job in range(JOBS):
    base, new, same = drawn.side("a", 4, noise=NOISY), drawn.side("b", 4, change={"f3": 1.13}, noise=NOISY), drawn.side("c", 4, noise=NOISY)
    for how, options in (("without", []), ("with", ["--history", "history"])):
        code, r = findings("--base", *base, "--new", *new, *options)
        found[how] += ("f3", "self") in of(r, "REGRESSED")
        mde[how] = next((f["mde"] for f in r["findings"] if f["key"] == "f3" and f["kind"] == "self"), mde.get(how))
        alarms[how] += findings("--base", *base, "--new", *same, *options)[0]
tap.check(found["with"] > found["without"], f"13 % more in a function of 4 %, four runs a side: found in {found['without']} of {JOBS} jobs, with history in {found['with']}", found)
tap.check(alarms["with"] <= 1, f"nothing changed: {alarms['without']} and {alarms['with']} of {JOBS} jobs fail", alarms)
tap.check(mde["with"] < mde["without"], f"the smallest growth that would be found: {100 * mde['without']:.1f} and {100 * mde['with']:.1f} %", mde)
tap.check(r["design"]["history"] == 25 and r["design"]["history_left_out"] == 0, "25 runs are used", r["design"])

# It does not outweigh today: a machine that has become noisier is seen.
loud = 0
for job in range(30):
    wild = {name: .25 for name, _ in drawn.functions}
    loud += findings("--base", *drawn.side("a", noise=wild), "--new", *drawn.side("b", noise=wild), "--history", "history")[0]
tap.check(loud <= 1, f"today functions vary by 25 %: {loud} of 30 jobs without a change fail", loud)

base, new = drawn.side("a"), drawn.side("b")
one, two = findings("--base", *base, "--new", *new, "--history", "history"), findings("--history=history/", "--new", *reversed(new), "--base", *reversed(base))
tap.check(one == two, "in another order: the same bytes")
history(sessions=9, n=9)
code, r = findings("--base", *base, "--new", *new, "--history", "history")
tap.check(r["design"]["history"] == 64, "at most 64 runs are looked at", r["design"])
shutil.rmtree("history")
drawn.side("history")
with open("history/x.folded", "w") as f:
    f.write("# event: cycles\na;b 3\n")
code, r = findings("--base", *base, "--new", *new, "--history", "history")
tap.check(code == 0 and r["design"]["history"] >= 5, "files without folders are one session", r["design"])
p = regress("--base", *base, "--new", *new, "--history", "nowhere")
tap.check(p.returncode == 0 and p.stderr.count("\n") == 1 and "no earlier runs yet" in p.stderr, "the first time there is none", p.stderr)
with open("history/wrong.folded", "wb") as f:
    f.write(b"\0\0\0\0")
p = regress("--base", *base, "--new", *new, "--history", "history")
tap.check(p.returncode == 2 and "wrong.folded" in p.stderr, "an earlier run that cannot be read", p.stderr)
tap.end()

#!/usr/bin/env python3
"""regress trend: what crept or jumped over many commits. Drawn series, in which chance is all there is beside the change, and a series of
recorded runs. The error rates of more series are in doc/accuracy.md (bench/exam_trend.py)."""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mix  # noqa: E402
from drawn import BIN, Drawn, record, regress, run_live  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()


def series(folder, seed, commits, change=lambda i: {}, runs=1):
    """A file for each commit, or a folder of files."""
    drawn = Drawn(seed, 60)
    shutil.rmtree(folder, ignore_errors=True)
    for i in range(commits):
        os.makedirs(folder if runs == 1 else f"{folder}/{i:04}", exist_ok=True)
        for r in range(runs):
            drawn.run(f"{folder}/{i:04}.folded" if runs == 1 else f"{folder}/{i:04}/{r}.folded", change=change(i))
    return folder


def trend(*args):
    p = regress("trend", "-q", "--json", "-", *args)
    return p.returncode, json.loads(p.stdout) if p.returncode != 2 else p.stderr


def keys(r, *verdicts):
    return {f["key"] for f in r["findings"] if f["verdict"] in verdicts}


code, r = trend(series("flat", 3, 200))
tap.check(code == 0 and r["findings"] == [] and len(r["commits"]) == 200 and r["tested"] >= 55, "200 commits without a change: nothing is reported", code, r["findings"])

code, r = trend(series("creep", 4, 50, lambda i: {"f2": 1.01 ** (i / 5)}, 3))
creep = [f for f in r["findings"] if f["key"] == "f2"]
tap.check(code == 1 and keys(r, "CREPT") - {"total"} == {"f2"} and .06 < creep[0]["growth"] < .15, "1 % a week for ten weeks, five commits of three runs each: it crept", code, r["findings"])

code, r = trend(series("step", 5, 40, lambda i: {"f3": 1.3 if i >= 25 else 1}))
step = next((f for f in r["findings"] if f["key"] == "f3"), {})
tap.check(code == 1 and keys(r, "GREW") - {"total"} == {"f3"} and step["shape"] == "step" and "0023" <= step["at"][:4] <= "0027" and .2 < step["growth"] < .4, "a step: which function, and at which commit", step)

code, r = trend(series("back", 6, 40, lambda i: {"f3": 1.5 if 12 <= i < 26 else 1}))
tap.check(code == 0 and "f3" in keys(r, "recovered") and "f3" in keys(r, "fell"), "a step that was taken back: shown, no failure", code, r["findings"])
code, r = trend(series("faster", 7, 40, lambda i: {"f1": .6 if i >= 20 else 1}))
tap.check(code == 0 and "f1" in keys(r, "fell") and not keys(r, "GREW", "CREPT"), "faster: shown, and nothing else grew", r["findings"])
code, r = trend(series("moved", 8, 40, lambda i: {"f4": .5, "f5": 1 + .5 * 6 / 5} if i >= 20 else {}))
tap.check(code == 0 and {"f4", "f5"} == keys(r, "moved") and {f["related"] for f in r["findings"] if f["verdict"] == "moved"} == {"f4", "f5"}, "time that moved from one function to another: both are named, no failure", code, r["findings"])

# ---- what was lost pays once, and three commits must be behind a step -------------------------------------------------

def renamed(folder, extra):
    """f3 is f3_old until the 20th commit; from then on `extra` has as much, too."""
    drawn = Drawn(9, 60)
    drawn.functions += [("added", 750.)] if extra else []
    os.makedirs(folder)
    for i in range(40):
        drawn.run(f"{folder}/{i:04}.folded", change={"added": int(i >= 20)}, rename={"f3": "f3_old"} if i < 20 else {})
    return folder


code, r = trend(renamed("name", False))
tap.check(code == 0 and keys(r, "moved") == {"f3", "f3_old"}, "renamed: it moved", code, r["findings"])
code, r = trend(renamed("added", True))
tap.check(code == 1 and keys(r, "moved") == {"f3", "f3_old"} and keys(r, "GREW") - {"total"} == {"added"}, "renamed, and a new function as large: that one grew", code, [(f["key"], f["verdict"]) for f in r["findings"]])
added = [f for f in r["findings"] if f["key"] == "added"]
text = regress("trend", "added").stdout
tap.check([f["growth"] for f in added] == [None] and re.search(r"^GREW +new .* added, ", text, re.M), "what was not there has no growth, but is new", added, text[:900])
for late in (1, 2):
    code, r = trend(series(f"late{late}", 11, 20, lambda i: {"f0": 2 if i >= 20 - late else 1}))
    tap.check(code == 0 and r["findings"] == [], f"slower in the last {late} of 20 commits: no commit is named yet", [(f["key"], f["verdict"], f.get("at")) for f in r["findings"]])
code, r = trend(series("late3", 11, 20, lambda i: {"f0": 2 if i >= 17 else 1}))
tap.check(code == 1 and {f["at"] for f in r["findings"] if f["key"] == "f0"} == {"0017.folded"}, "in the last three: the first of them is", r["findings"])
code, r = trend(series("both", 12, 20, lambda i: {"f0": 4 if i >= 18 else 1.4 if i >= 9 else 1}))
tap.check(code == 1 and {f["at"] for f in r["findings"] if f["key"] == "f0"} == {"0009.folded"}, "slower in the middle, and much slower in the last two: the middle is found", r["findings"])

# ---- as a user -------------------------------------------------------------------------------------------------------
p = regress("trend", "step", "--html", "step.html")
tap.check(p.returncode == 1 and re.search(r"^40 commits: \d+ GREW", p.stdout) and re.search(r"^GREW +\+\d.* f3, at 002\d", p.stdout, re.M) and "commits by name" in p.stdout, "the table", p.stdout)
page = open("step.html").read()
ET.fromstring(page.replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', "").replace("<br>", "<br/>"))
tap.check(page.count("<polyline") == len(trend("step")[1]["findings"]) and "<script" not in page and "<code>f3</code>" in page, "the page: a line for each function, no script", page[:500])
tap.check(regress("trend", "-q", "--warn-only", "step").returncode == 0, "--warn-only")
files = [f"step/{i:04}.folded" for i in range(40)]
tap.check(trend(*reversed(files)) == trend("step") and trend("--by-name", "step") == trend("step"), "the order of arguments does not matter")
for args, words in (((), "are missing"), (("step/0001.folded", "step/0002.folded"), "at least 6 commits, here are 2"), (("nowhere",), "nowhere"), (("--md", "x", "step"), "no --md"), (("--history", "x", "step"), "no --history")):
    p = regress("trend", *args)
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"usage: trend {' '.join(args)}", p.stderr)
with open("cut.pb.gz", "wb") as f:
    f.write(b"\x1f\x8b\x08\x00 no profile")
p = regress("trend", *files[:8], "cut.pb.gz")
tap.check(p.returncode == 2 and "cut.pb.gz" in p.stderr and p.stderr.count("\n") == 1, "a damaged profile: its name", p.stderr)


def live():
    """Commits of one program, recorded and stored as resolve does; the last five are slower in one function."""
    mix.build("one", "-g")
    mix.build("other", "-g", "-DP2=300")
    os.makedirs("stored")
    sizes = []
    for i in range(12):
        # Names against the order of time, which is in the profiles.
        out = f"stored/{99 - i}.pb.gz"
        record("r.data", "-F", "4999", "--", "./one" if i < 7 else "./other", "1200")
        subprocess.run([f"{BIN}/resolve", "-q", "r.data", "-o", out], check=True)
        sizes.append(os.path.getsize(out))
    code, r = trend("stored")
    tap.check(r["order"] == "time" and [c["name"] for c in r["commits"]] == [f"{99 - i}.pb.gz" for i in range(12)], "stored profiles tell their time, which is their order", r["order"], r["commits"])
    found = [f for f in r["findings"] if f["key"] == "leaf_2" and f["verdict"] == "GREW"]
    tap.check(code == 1 and found and found[0]["at"] in ("93.pb.gz", "92.pb.gz", "91.pb.gz") and max(sizes) < 20000, "recorded: found where it begins, of profiles of a few kB", r["findings"], sizes)
    tap.check(not {f["key"] for f in r["findings"] if f["verdict"] in ("GREW", "CREPT") and f["key"].startswith(("leaf", "group"))} - {"leaf_2"}, "recorded: no other function of the program", r["findings"])


run_live(tap, live)
tap.end()

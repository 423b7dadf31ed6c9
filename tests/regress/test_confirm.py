#!/usr/bin/env python3
"""regress confirm, regress run --confirm: fresh runs judge what was flagged, and nothing else.

Runs are drawn by a generator with a fixed seed, so that what is true is known."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mix  # noqa: E402
from drawn import Drawn, findings, of, regress, run_live  # noqa: E402
from tap import LONG, Tap  # noqa: E402

tap = Tap()
drawn = Drawn(19)


def earlier(path, *keys):
    """A report that flagged these, true or not."""
    with open(path, "w") as f:
        json.dump({"schema": "unspool-regress/1", "findings": [{"kind": "self", "verdict": "REGRESSED", "gated": True, "key": k} for k in keys]}, f)
    return path


p = regress("--base", *drawn.side("base"), "--new", *drawn.side("new", change={"f3": 1.3}), "--json", "first.json")
tap.check(p.returncode == 1, "the first look finds it", p.stdout)
p = regress("confirm", "first.json", "--base", "base", "--new", "new")
tap.check(p.returncode == 2 and "cannot confirm itself" in p.stderr and p.stderr.count("\n") == 1, "the runs of the first look confirm nothing", p.returncode, p.stdout[:300], p.stderr)
p = regress("confirm", "first.json", "--base", *drawn.side("base2"), "--new", "new")
tap.check(p.returncode == 2 and "new/" in p.stderr, "nor do those of one side", p.returncode, p.stderr)
p = regress("confirm", "first.json", "--base", "base", "--new", "new", "--force")
tap.check(p.returncode == 1, "the runs of the first look: --force compares them", p.returncode, p.stderr)
fresh = drawn.side("base2"), drawn.side("new2", change={"f3": 1.3, "f5": 1.4})
code, r = findings("confirm", "first.json", "--base", *fresh[0], "--new", *fresh[1])
tap.check(code == 1 and of(r, "REGRESSED") == {("f3", "self")} and r["design"]["confirms"] == 1, "confirmed; what the first look did not flag is not judged", of(r, "REGRESSED", "suspect"))
code, r = findings("confirm", earlier("wrong.json", "f2", "f4", "f3"), "--base", *drawn.side("base2"), "--new", *drawn.side("new2", change={"f3": 1.3}))
tap.check(code == 1 and of(r, "REGRESSED") == {("f3", "self")} and of(r, "not confirmed") == {("f2", "self"), ("f4", "self")}, "one of three is confirmed", of(r, "REGRESSED", "not confirmed"))
code, r = findings("confirm", earlier("wrong.json", "f2", "no_such_function"), "--base", *drawn.side("base2"), "--new", *drawn.side("new2"))
tap.check(code == 0 and of(r, "not confirmed") == {("f2", "self"), ("no_such_function", "self")}, "two wrong ones flagged: none is confirmed", r["findings"][:3])
p = regress("confirm", earlier("none.json"), "--base", "base2", "--new", "new2")
tap.check(p.returncode == 0 and "nothing was flagged" in p.stdout, "confirm of a report that flags nothing: status 0", p.stdout, p.stderr)
p = regress("confirm", "first.json")
tap.check(p.returncode == 2 and "COMMAND" in p.stderr, "a report that knows no commands", p.stderr)
with open("text", "w") as f:
    f.write('{"schema": "unspool-regress/1", ')
for path, words in (("text", "no JSON"), ("nowhere.json", "nowhere.json"), ("base/0.folded", "no JSON")):
    p = regress("confirm", path, "--base", "base2", "--new", "new2")
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"not a report: {path}", p.stderr)
p = regress("confirm")
tap.check(p.returncode == 2 and "EARLIER.json" in p.stderr, "confirm without a report", p.stderr)

# The rate of false alarms is that of the second look alone, whatever was flagged: here always three functions that did not change.
wrong, JOBS = 0, 60 if LONG else 24
for job in range(JOBS):
    code, r = findings("confirm", earlier("wrong.json", "f1", "f6", "f20"), "--base", *drawn.side("a"), "--new", *drawn.side("b"))
    wrong += code
tap.check(wrong <= JOBS // 20, f"three wrong ones flagged: confirmed in {wrong} of {JOBS} jobs", wrong)
# Few questions see more: 12 % more of a function of 4 % against 100 tests, and against one.
alone = among = 0
FEW = 20 if LONG else 10
for job in range(FEW):
    runs = "--base", *drawn.side("a"), "--new", *drawn.side("b", change={"f3": 1.12})
    among += findings(*runs)[0]
    alone += findings("confirm", earlier("one.json", "f3"), *runs)[0]
tap.check(alone > among, f"12 % more in one function of 4 %: found in {among} of {FEW} jobs among all, in {alone} when it is the only question", (alone, among))

for new, words in (({"f3": 1.3}, " (1 of 3 flagged confirmed)"), ({}, " (3 flagged, none confirmed)")):
    p = regress("confirm", "-q", "--md", "-", earlier("wrong.json", "f2", "f4", "f3"), "--base", *drawn.side("base2"), "--new", *drawn.side("new2", change=new))
    title = p.stdout.split("\n")[0]
    tap.check(title.startswith("### Slower: " if new else "### No change found") and words in title, "the title begins with what counts, and says what is confirmed", title, p.stderr)

small = drawn.side("small", largest=60), drawn.side("small2", largest=60)
title = regress("confirm", "-q", "--md", "-", earlier("wrong.json", "f2"), "--base", *small[0], "--new", *small[1]).stdout.split("\n")[0]
tap.check(title.startswith("### No change found (1 flagged, none confirmed; too few samples to see ") and title.count("(") == 1, "what is confirmed and what may be missed: one pair of brackets", title)

# ---- recorded --------------------------------------------------------------------------------------------------------
ROUNDS = "4000"


def live():
    mix.build("plain", "-g")
    mix.build("slow", "-g", "-DP2=300")
    # Machines that run other tests beside it, and few samples: what is to be found is large (p < 1e-10), and is asked for at a stricter level.
    p = regress("run", "-q", "--q", "0.0005", "-n", "4", "--confirm", "--json", "run.json", "--", "./plain", ROUNDS, "::", "./slow", ROUNDS)
    with open("run.json") as f:
        r = json.load(f)
    names = sorted(os.listdir("regress-runs"))
    tap.check(p.returncode == 1 and ("leaf_2", "self") in of(r, "REGRESSED") and not of(r, "REGRESSED") - {("leaf_2", "self"), ("total", "total")}, "run --confirm: found, and confirmed by fresh runs",
              of(r, "REGRESSED"), p.stderr)
    tap.check(len(names) == 16 and r["sides"]["base"]["runs"][0]["file"] == "regress-runs/confirm-base-01.data", "run --confirm: the fresh runs are recorded in files of their own", names)
    tap.check(r["run"] == {"runs": 4, "frequency": 3999, "base": ["./plain", ROUNDS], "new": ["./slow", ROUNDS]}, "the report has the runs, the frequency and the commands", r["run"])
    p = regress("confirm", "run.json", "-q", "--dir", "again", "--json", "again.json")
    with open("again.json") as f:
        r = json.load(f)
    tap.check(p.returncode == 1 and r["design"]["confirms"] >= 1 and len(os.listdir("again")) == 8, "confirm of a report records by itself", p.stderr, r["findings"][:2])
    p = regress("confirm", "run.json", "-q", "-n", "3", "--dir", "same", "--json", "same.json", "--", "./plain", ROUNDS, "::", "./plain", ROUNDS)
    with open("same.json") as f:
        r = json.load(f)
    # Three runs each of the same are suspect now and then, by chance.
    tap.check(p.returncode == 0 and ("leaf_2", "self") in of(r, "not confirmed") | of(r, "suspect"), "other commands instead: not confirmed", p.stderr, r["findings"][:2])
    p = regress("run", "-q", "-n", "3", "--confirm", "--dir", "quiet", "--", "./plain", "1000", "::", "./plain", "1000")
    tap.check(p.returncode == 0, "nothing is flagged: status 0", p.stdout, p.stderr)
    check_place()


# Pages of a file stay where they are in memory as long as it is cached: all runs of a side, and a second look, would be at the same place. Root sees where.
PLACE = """import mmap, os, struct, sys
path = os.path.realpath(sys.argv[1])
with open(path, "rb") as f, open("/proc/self/pagemap", "rb") as pages:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    sum(m[i] for i in range(0, len(m), 4096))
    start = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if line.rstrip().endswith(path))
    pages.seek(start // 4096 * 8)
    frames = [struct.unpack("Q", pages.read(8))[0] & (1 << 55) - 1 for _ in range((len(m) + 4095) // 4096)]
with open("places", "a") as f:
    f.write(" ".join(map(str, frames)) + "\\n")
"""


def check_place():
    with open("place.py", "w") as f:
        f.write(PLACE)
    p = regress("run", "-q", "-n", "4", "--confirm", "--dir", "placed", "--prepare", f"{sys.executable} place.py ./slow", "--", "./plain", "2000", "::", "./slow", "2000")
    with open("places") as f:
        places = [line.split() for line in f]
    moved = [sum(a != b for a, b in zip(places[0], later)) for later in places]
    if not any(map(int, places[0])) or subprocess.run(["stat", "-f", "-c", "%T", "slow"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() in ("tmpfs", "ramfs", "overlayfs"):
        tap.skip("where a program lies", "this user does not see it, or these files are always in memory")
    else:
        # The kernel may move pages by itself, and may keep some that it is about to write.
        elsewhere = sum(n > len(places[0]) / 2 for n in moved[2:])
        tap.check(p.returncode == 1 and len(places) == 16 and elsewhere >= 12 and len(set(map(tuple, places))) >= 7, "run --confirm: the programs lie elsewhere in memory in each round", moved, p.returncode, len(places), len(set(map(tuple, places))), p.stderr)


run_live(tap, live)
tap.end()

#!/usr/bin/env python3
"""The shares of --stats=json, of the whole and by module, and --require, which makes a status of them.

What the shares must be is counted from -f jsonl, which has each sample with its end and its frames."""
import json
import os
import shutil
import subprocess

from common import CAPTURE, RESOLVE, Tap, build, resolve, run

ENDS = {"END": "roots", "SWITCHED": "switched", "MISSING_PAGE": "hole", "TRUNCATED_STACK": "cut", "NO_BINARY": "no_file"}
tap = Tap()


def share(part, whole):
    return 100 * part / whole


def from_samples(data, *options):
    """The same shares from single samples: (of the whole, {module: of it})."""
    whole, modules = {}, {}
    rows = [json.loads(line) for line in run([RESOLVE, "-q", "-f", "jsonl", *options, data]).stdout.splitlines()]
    total = sum(r["period"] for r in rows)
    stacks = sum(r["period"] for r in rows if r["stop"] != "NONE")
    for r in rows:
        def count(where, kind, of):
            where[kind] = where.get(kind, 0) + share(r["period"], of)

        frames = [f for f in r["stack"] if not f.get("inlined")]
        if r["stop"] != "NONE":
            end = ENDS.get(r["stop"], "other_ends")
            count(whole, end, stacks)
            if "dso" in frames[-1]:
                count(modules.setdefault(frames[-1]["dso"], {}), end, stacks)
        count(whole, "nameless" if any("sym" not in f for f in frames) else "names", total)
        for dso in {f["dso"] for f in frames if "sym" not in f and "dso" in f}:
            count(modules.setdefault(dso, {}), "nameless", total)
    return whole, modules


def close(a, b, kinds):
    return all(abs(a.get(k, 0) - b.get(k, 0)) < 0.001 for k in kinds)


def require(data, what, *options):
    p = run([RESOLVE, "-q", "-o", "out.folded", "--require", what, *options, data], check=False)
    return p.returncode, p.stderr.splitlines()


program = build("gcc -O1 -g", "calls.c", "prog")
with open("work.sh", "w") as f:
    f.write(f"{program} 0.2\ni=0; while [ $i -lt 30000 ]; do i=$((i+1)); done\n")
if subprocess.run([CAPTURE, "--bundle=none", "-q", "-F", "999", "-e", "cpu-clock:u", "-o", "p.data", "--", "sh", "work.sh"], stdin=subprocess.DEVNULL,
                  stdout=subprocess.DEVNULL).returncode:
    tap.skip("shares", "nothing can be recorded here")
    tap.end()


def check_shares(name):
    _, stats = resolve("p.data", "-o", "out.folded", check=False)
    q = stats["quality"]
    whole, modules = from_samples("p.data")
    tap.check(abs(sum(q[k] for k in [*ENDS.values(), "other_ends"]) - 100) < 0.01 and abs(q["names"] + q["nameless"] - 100) < 0.01,
              f"{name}: ends of stacks add up to 100 %, as do names and nameless", q)
    kinds = [*ENDS.values(), "other_ends", "nameless", "names"]
    tap.check(close(q, whole, kinds), f"{name}: the shares are those of single samples", (q, whole))
    bad = [(m["path"], m["quality"], modules.get(m["path"])) for m in stats["modules"]
           if not close(m["quality"], modules.get(m["path"], {}), [*ENDS.values(), "other_ends", "nameless"])]
    tap.check(stats["modules"] and not bad, f"{name}: the shares of {len(stats['modules'])} modules are those of single samples", bad)
    return q, {m["path"]: m["quality"] for m in stats["modules"]}


q, _ = check_shares("as recorded")
tap.check(q["roots"] > 95 and q["wrong_build"] == 0 and q["lost"] == 0, "as recorded: nearly all reach their roots", q)
tap.check(require("p.data", f"roots={q['roots'] - 1},names={q['names'] - 1},lost=0,wrong_build=0") == (0, []), "--require: all is met")
code, words = require("p.data", "roots=100,names=100,lost=0,guessed=100")
missed = [k for k in ("roots", "names") if q[k] < 100]
tap.check(code == bool(missed) and [w.split("--require ")[1].split("=")[0] for w in words] == missed, "--require: a line for each that is missed", (code, words, q))

# Another program in its place: the file is not the one that was recorded.
os.rename("prog", "prog.first")
build("gcc -O2", "calls.c", "prog")
q, modules = check_shares("replaced")
tap.check(q["wrong_build"] > 10 and modules[program]["wrong_build"] == q["wrong_build"] and q["roots"] < 95, "replaced: it is the module's", (q, modules.get(program)))
code, words = require("p.data", "wrong_build=1,roots=99,cut=5")
tap.check(code == 1 and len(words) == 2 and "wrong_build=1: not met: " in words[1] + words[0], "--require: what is more than it may be", (code, words))
os.unlink("prog")
q, modules = check_shares("gone")
tap.check(q["no_file"] > 10 and abs(modules[program]["no_file"] - q["no_file"]) < 1, "gone: stacks end in it", (q, modules.get(program)))
os.rename("prog.first", "prog")

for bad, why in (("roots", "needs a percentage"), ("rots=5", "is none of"), ("roots=101", "percentage"), ("names=x", "percentage"), ("", "is none of")):
    p = run([RESOLVE, "--require", bad, "p.data"], check=False)
    tap.check(p.returncode == 2 and why in p.stderr and len(p.stderr.splitlines()) == 1, f"--require '{bad}': refused", p.stderr)
p = run([RESOLVE, "--require", "roots=99", "p.data", "p.data"], check=False)
tap.check(p.returncode == 2 and "--require is for one recording" in p.stderr, "--require with two inputs: refused", p.stderr)

# Stacks that the recorder followed itself have no ends that would be known.
run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "--call-graph", "fp", "-o", "fp.data", "--", program, "0.1"])
code, words = require("fp.data", "roots=1")
tap.check(code == 1 and words and "has no stack copies" in words[0], "--require roots without stack copies: not met", (code, words))
tap.check("roots" not in resolve("fp.data", "-o", "out.folded")[1]["quality"], "no stack copies: no share of roots")
shutil.rmtree("no-buildid-cache", ignore_errors=True)
tap.end()

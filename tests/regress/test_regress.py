#!/usr/bin/env python3
"""regress: what got slower is found and nothing else is; what only moved, what is not comparable, budgets and reports.

Truth by construction: programs that are really recompiled with one function slower, recorded by capture; and folded
stacks drawn by a generator with a fixed seed, where the figures are exact."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mix  # noqa: E402
import varint  # noqa: E402
from drawn import BIN, Drawn, alarms, findings, of, record, regress, run_live  # noqa: E402
from perffile import perf_data, string  # noqa: E402
from tap import LONG, Tap  # noqa: E402

tap = Tap()


drawn = Drawn(11)
side, FUNCTIONS = drawn.side, drawn.functions
base = side("base")
red = suspects = found = others = 0
JOBS = 40 if LONG else 16
for job in range(JOBS):
    code, r = findings("--base", *side("a"), "--new", *side("b"))
    red += code != 0
    suspects += bool(of(r, "suspect"))
    code, r = findings("--base", *side("a"), "--new", *side("b", change={"f3": 1.25}))
    found += ("f3", "self") in of(r, "REGRESSED")
    others += len(of(r, "REGRESSED", "NEW") - {("f3", "self")})
tap.check(red <= 1, f"nothing changed: {red} of {JOBS} jobs fail, {suspects} have a suspect", red)
tap.check(found >= JOBS * .9 and others <= 2, f"one function of 4 % a quarter slower: found in {found} of {JOBS} jobs, {others} others", (found, others))

new = side("new", change={"f3": 1.3})
code, r = findings("--base", *base, "--new", *new)
tap.check(code == 1 and of(r, "REGRESSED") == {("f3", "self")} and ("g3", "incl") not in of(r, "REGRESSED"), "a slower function: its caller is not REGRESSED", of(r, "REGRESSED", "explained"))
f = next(f for f in r["findings"] if f["key"] == "f3" and f["kind"] == "self")
tap.check(f["ci95"][0] < .3 < f["ci95"][1] and abs(f["growth"] - .3) < .1 and f["paths"][0]["stack"] == "main;g3;f3", "a slower function: growth, interval and path are in the report", f)
tap.check(findings("--new", *reversed(new), "--base", *reversed(base))[1] == r, "sides and runs in another order: the same report")
code, r = findings("--base", "base", "--new", "new")
tap.check(code == 1 and of(r, "REGRESSED") == {("f3", "self")}, "folders of runs: as their files")

code, r = findings("--base", *base, "--new", *side("half", change={"f0": .5}))
tap.check(code == 0 and ("f0", "self") in of(r, "improved") and not of(r, "REGRESSED", "NEW", "suspect"), "the largest function halves: nothing else is slower", r["findings"][:3])
code, r = findings("--base", *base, "--new", *side("renamed", rename={"f4": "fresh"}))
tap.check(code == 0 and {("f4", "self"), ("fresh", "self")} <= of(r, "moved"), "renamed: moved", of(r, "moved", "NEW", "gone"))
tap.check({f["moved"] for f in r["findings"] if f["verdict"] == "moved"} == {"renamed"}, "renamed: the finding says moved by renaming", r["findings"][:3])
inlined = side("absorbed")
for path in inlined:
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(re.sub(r"(?m);g3;f(3|13|23|33) ", ";g3 ", text))
WHERE = {("f3", "inlined", "g3"), ("f13", "inlined", "g3"), ("f23", "inlined", "g3"), ("f33", "inlined", "g3"), ("g3", "inlined", "f3")}
for how, sides in (("inlined", (base, inlined)), ("outlined", (inlined, base))):
    code, r = findings("--base", *sides[0], "--new", *sides[1])
    moved = {(f["key"], f["moved"], f["related"]) for f in r["findings"] if f["verdict"] == "moved"}
    tap.check(code == 0 and moved == {(a, how, b) for a, _, b in WHERE}, f"several callees are {how}: each is moved", code, moved, of(r, "REGRESSED", "NEW", "gone"))
code, r = findings("--base", *base, "--new", *side("clone", rename={"f4": "f4.constprop.0"}))
tap.check(code == 0 and not of(r, "moved", "NEW", "gone"), "a clone has the same key", of(r, "moved", "NEW", "gone"))
code, r = findings("--base", *base, "--new", *side("added", rename={}), "--q", "0.01")
tap.check(code == 0, "nothing changed", r["findings"][:3])
FUNCTIONS.append(("brand_new", 300))
added = side("added")
FUNCTIONS.pop()
code, r = findings("--base", *base, "--new", *added)
tap.check(code == 1 and of(r, "NEW") == {("brand_new", "self")}, "a new function of some weight: NEW, status 1", of(r, "NEW", "REGRESSED"))
once = side("once")
with open(once[2], "a") as f:
    f.write("app;main;exit;free_pages 60\n")
code, r = findings("--base", *base, "--new", *once)
tap.check(code == 0 and of(r, "suspect") == {("free_pages", "self")}, "a new function that costs in one of five runs is a suspect", of(r, "NEW", "REGRESSED", "suspect"))
code, r = findings("--base", *base, "--new", *side("all", scale=1.12))
tap.check(code == 1 and of(r, "REGRESSED") == {("total", "total")}, "everything 12 % slower: only the total is REGRESSED", of(r, "REGRESSED", "suspect"))
code, r = findings("--base", base[0], "--new", new[0])
tap.check(code == 0 and ("f3", "self") not in of(r, "REGRESSED"), "one run a side: nothing fails")
code, r = findings("--base", *base, "--new", *[drawn.run(f"new/{i}.folded", change={"f3": 1.3}, scale=6 if i == 2 else 1) for i in range(5)])
tap.check(("f3", "self") in of(r, "REGRESSED", "suspect") and len(of(r, "REGRESSED")) <= 1, "one run six times as long: the slower function is still found", of(r, "REGRESSED", "suspect"))

# The greatest common divisor of such weights is no number that a double can hold.
for name in "b1", "b2", "b3", "n1", "n2", "n3":
    with open(f"{name}.folded", "w") as f:
        f.write(f"all;f {2 ** 64 - 7}\nall;g 3\n" if name[0] == "n" else f"all;f {2 ** 64 - 4}\n")
for new_side, runs in (["b1", "b2", "b3"], 1), (["n1", "n2", "n3"], (2 ** 64 - 4) / 3):
    p = regress("--base", "b1.folded", "b2.folded", "b3.folded", "--new", *(f"{n}.folded" for n in new_side))
    counts = [float(n) for n in re.findall(r"with (\S+) samples? each", p.stdout)]
    tap.check(p.returncode == 0 and counts and abs(counts[0] / runs - 1) < 1e-9, f"weights of 64 bits: {runs:.0f} samples a run", p.stdout[:300] + p.stderr)

# ---- what profiles say of their machine ------------------------------------------------------------------------------


def pprof(path, comments, period=0, samples=1000, began=0):
    """Ten functions, of so many samples each and some more."""
    def field(n, data):
        return bytes([n << 3 | 2]) + varint.put(len(data)) + data

    def number(n, v):
        return bytes([n << 3]) + varint.put(v)

    strings = ["", "cpu", "nanoseconds", *(f"f{i}" for i in range(10)), *comments]
    out = number(9, began) + field(1, number(1, 1) + number(2, 2)) + field(11, number(1, 1) + number(2, 2)) + number(12, period)
    out += b"".join(field(2, number(1, i + 1) + number(2, (samples + i) * (period or 1))) for i in range(10))
    out += b"".join(field(4, number(1, i + 1) + field(4, number(1, i + 1))) + field(5, number(1, i + 1) + number(2, 3 + i)) for i in range(10))
    out += b"".join(number(13, 13 + i) for i in range(len(comments))) + b"".join(field(6, s.encode()) for s in strings)
    with open(path, "wb") as f:
        f.write(out)
    return path


one = pprof("one.pb", ["tool:other", "cpu:Large 9000", "kernel:6.1", "processors:4", "frequency:99"])
tap.check(findings("--base", one, "--new", pprof("two.pb", ["cpu:Large 9000", "kernel:6.1"]))[0] == 0, "pprof: comments agree, or say nothing")
for name, comments, period, words in (("processor", ["cpu:Small 1"], 0, "Small 1"), ("kernel", ["kernel:6.2"], 0, "6.2"), ("processors", ["processors:2"], 0, "on 2 processors"),
                                      ("frequency", ["frequency:999"], 0, "999 times"), ("period", [], 10000000, "100 times"), ("loss", ["lost:5000"], 0, "5000 samples were lost")):
    code, why = findings("--base", one, "--new", pprof("two.pb", comments, period))
    tap.check(code == 2 and words in why, f"pprof: another {name}: not comparable", why)

# All on-CPU time grew by a tenth, in all functions alike: did the program, or another day?
SECOND, HOSTNAME = 10 ** 9, 3


def day(name, turn):
    """Five runs a side; when the i-th of a side began: turn(side, i)."""
    sides = [[pprof(f"{name}-{side}-{i}.pb", ["processors:2"], samples=(1000, 1100)[side] + 3 * i, began=turn(side, i) * SECOND) for i in range(5)] for side in (0, 1)]
    p = regress("--base", *sides[0], "--new", *sides[1], "--json", f"{name}.json")
    with open(f"{name}.json") as f:
        return p.returncode, json.load(f)["findings"][0]["verdict"], p.stdout


for name, turn, want, words in (("in turn", lambda side, i: 1000 + 10 * i + 5 * side, (1, "REGRESSED"), ""),
                                ("when is not known", lambda side, i: 0, (1, "REGRESSED"), ""),
                                ("one after the other", lambda side, i: 1000 + 10 * i + 86400 * side, (4, "apart"), "were not recorded in turn")):
    code, verdict, text = day(name.replace(" ", "-"), turn)
    tap.check((code, verdict) == want and words in text, f"all on-CPU time grew, recorded {name}: status {want[0]}", code, verdict, text)



def recorded(path, host, samples, began):
    """A recording by perf of a host: `samples` of cpu-clock, one a millisecond, in code without a name."""
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, 10 ** 6, 1 | 2 | 4 | 256, 0, 0).ljust(112, b"\0")
    records = b"".join(struct.pack("<IHHQIIQQ", 9, 2, 40, 0x401000, 1, 1, SECOND + i * 10 ** 6, 10 ** 6) for i in range(samples))
    with open(path, "wb") as f:
        f.write(perf_data(attr, records, {HOSTNAME: string(host)}))
    ended = began * SECOND + samples * 10 ** 6
    os.utime(path, ns=(ended, ended))
    return path


for others, want, words in (("one", (1, "REGRESSED"), ""), ("two", (4, "apart"), "were not recorded in turn")):
    sides = [[recorded(f"{others}-{side}-{i}.data", ("one", others)[side], (1000, 1100)[side] + 3 * i, 1000 + 10 * i + 5 * side) for i in range(5)] for side in (0, 1)]
    p = regress("--base", *sides[0], "--new", *sides[1], "--json", "hosts.json")
    with open("hosts.json") as f:
        r = json.load(f)
    tap.check((p.returncode, r["findings"][0]["verdict"]) == want and words in p.stdout, f"all on-CPU time grew, in turn on hosts one and {others}: status {want[0]}", p.returncode, r["design"].get("together"), p.stdout, p.stderr)

# ---- budgets ---------------------------------------------------------------------------------------------------------
new = side("new", change={"f3": 1.3})


def with_budget(text, *args):
    with open("budget", "w") as f:
        f.write("version 1\n" + text)
    return findings("--budget", "budget", *args, "--base", *base, "--new", *new)


code, r = with_budget('allow fn f3 max +60% until 2999-12-31 why "PR 7: safer"\n')
tap.check(code == 0 and of(r, "allowed") == {("f3", "self")} and any(f.get("why") == "PR 7: safer" for f in r["findings"]), "allow", of(r, "allowed"))
code, r = with_budget('allow fn f3 max +60% until 2001-12-31 why "long ago"\n')
tap.check(code == 1 and ("f3", "self") in of(r, "REGRESSED"), "an allowance that has ended", of(r, "REGRESSED"))
code, r = with_budget("fn f3 self warn\n")
tap.check(code == 0 and ("f3", "self") in of(r, "suspect"), "warn")
code, r = with_budget("fn f3 max +80%\n")
tap.check(code == 0, "fn max", of(r, "REGRESSED", "OVER BUDGET"))
code, r = with_budget("share f0 limit 5%\n")
tap.check(code == 1 and ("f0", "self") in of(r, "OVER BUDGET"), "a rule for a function's share: OVER BUDGET", of(r, "OVER BUDGET"))
for options in (("--margin", "50%"), ("--impact", "5%")):
    code, r = findings(*options, "--base", *base, "--new", *new)
    tap.check(code == 0 and not of(r, "REGRESSED"), " ".join(options), of(r, "REGRESSED"))
code, r = findings("--total", "0.1%", "--base", *base, "--new", *side("all", scale=1.12))
tap.check(code == 1 and ("total", "total") in of(r, "REGRESSED"), "--total")
code, r = with_budget("default margin 50%\n")
tap.check(code == 0, "the default margin: nothing fails")
code, why = with_budget("fn f3 max lots\n")
tap.check(code == 2 and "line 2" in why, "a wrong rule: the message has its line", why)
code, why = with_budget("allow fn f3 max +5%\n")
tap.check(code == 2 and "until" in why and "why" in why, "a rule to allow without a date: refused", why)
with open("budget", "w") as f:
    f.write("version 1\nfn nowhere max +1%\nfn f1 max +1%\n")
p = regress("--lint-budget", "--budget", "budget", "--base", *base, "--new", *new)
tap.check(p.returncode == 1 and "nowhere" in p.stdout and "f1" not in p.stdout, "--lint-budget", p.stdout, p.stderr)

# ---- reports ---------------------------------------------------------------------------------------------------------
p = regress("--base", *base, "--new", *new, "--md", "s.md", "--json", "s.json", "--junit", "s.xml", "--folded", "s.folded", env={**os.environ, "GITHUB_STEP_SUMMARY": "step.md"})
with open("s.md") as f, open("step.md") as g:
    md = f.read()
    tap.check(md == g.read() and "| REGRESSED | `f3` | " in md and len(md) < 6000, "Markdown, and the step's summary", md)
suite = ET.parse("s.xml").getroot().find("testsuite")
tap.check(suite.get("failures") == "1" and [c.get("name") for c in suite.findall("testcase") if c.find("failure") is not None] == ["f3 (self)"], "JUnit", ET.tostring(suite))
tap.check(p.returncode == 1 and re.search(r"^REGRESSED .* f3 ", p.stdout, re.M) and "1 slower" in p.stdout, "the table", p.stdout)
with open("s.json") as f:
    r = json.load(f)
tap.check(r["schema"] == "unspool-regress/1" and r["failed"] is True and len(r["sides"]["base"]["runs"]) == 5, "JSON")
code = subprocess.run([f"{BIN}/resolve", "s.folded", "--event", "new"], stdout=subprocess.PIPE, text=True)
tap.check(code.returncode == 0 and "main;g3;f3" in code.stdout, "two columns, which resolve reads", code.stdout[:200])
p = regress("--annotate", "github", "--base", *base, "--new", *new)
tap.check(p.stdout.startswith("::error title=REGRESSED::f3 self: +"), "annotations of GitHub", p.stdout)
p = regress("--annotate", "gitlab", "--base", *base, "--new", *new)
tap.check(json.loads(p.stdout)[0]["check_name"] == "profile-regression", "annotations of GitLab", p.stdout)
os.unlink("s.md")
regress("--quiet-if-fine", "--md", "s.md", "--base", *base, "--new", *base)
tap.check(not os.path.exists("s.md"), "--quiet-if-fine")
tap.check(regress("--warn-only", "--base", *base, "--new", *new).returncode == 0, "--warn-only")
for args, words in ((("--base", "nothing"), "both sides"), (("--base", "none.data", "--new", *new), "none.data"), (("stray", "--base", *base, "--new", *new), "stray"),
                    (("run", "--", "true"), "COMMAND"), (("--annotate", "x", "--base", "a", "--new", "b"), "neither")):
    p = regress(*args)
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"usage: {' '.join(args[:3])}", p.stderr)
os.mkdir("hollow")
p = regress("--base", "hollow", "--new", *new)
tap.check(p.returncode == 2 and "no run in this folder" in p.stderr, "an empty folder", p.stderr)

# ---- really recompiled -----------------------------------------------------------------------------------------------
HZ, N, ROUNDS = "3999", "5", "5000"


def split(name):
    """A folder for each side."""
    for side_ in ("base", "new"):
        os.makedirs(f"runs-{name}-{side_}")
        for run in sorted(os.listdir(f"runs-{name}")):
            if run.startswith(side_):
                shutil.copy(f"runs-{name}/{run}", f"runs-{name}-{side_}")


def live():
    # Of a smaller one than leaf_0 what is gone and what is new may differ by a fifth: then it is replaced, not moved.
    for name, flags, text in (("plain", ["-g"], None), ("slow", ["-g", "-DP2=220"], None), ("often", ["-g", "-DC2=2"], None),
                              ("inlined", [], mix.source(inlined=(0,))), ("bare", [], None), ("stripped", ["-s"], None)):
        mix.build(name, *flags, text=text)
    jobs = {}
    wanted = [("same", "plain", "plain"), ("slow", "plain", "slow"), ("often", "plain", "often"), ("inlined", "bare", "inlined")]
    if not LONG:  # test_code.py has a function that is called more often, test_traps.py has a side that is stripped
        wanted.remove(("often", "plain", "often"))
    for name, old, new in wanted:
        # Machines that run other tests beside it, and few samples: what is to be found is large (p < 1e-12), and is asked for at a stricter level.
        level = () if old == new else ("--q", "0.005")
        p = regress("run", "-q", *level, "-n", N, "-F", HZ, "--dir", f"runs-{name}", "--json", f"{name}.json", "--", f"./{old}", ROUNDS, "::", f"./{new}", ROUNDS)
        if p.returncode == 2:
            tap.check(False, f"regress run: {name}", p.stderr)
            continue
        with open(f"{name}.json") as f:
            jobs[name] = p.returncode, json.load(f)
    code, r = jobs["same"]
    found = alarms("same.json", "confirm-same")
    tap.check(code == bool(of(r, "REGRESSED", "NEW")) and not found, "the same program twice: nothing is slower", code, found, of(r, "REGRESSED", "NEW"))
    for name in ("slow", "often"):
        if name not in jobs:
            continue
        code, r = jobs[name]
        others = alarms(f"{name}.json", f"confirm-{name}", {("leaf_2", "self"), ("total", "total")})
        tap.check(code == 1 and ("leaf_2", "self") in of(r, "REGRESSED") and not others, f"{name}: the function is found, and no other", others, of(r, "REGRESSED", "NEW", "suspect"))
    p = regress("--annotate", "github", "--q", "0.005", "--base", *[f"runs-slow/base-0{i}.data" for i in range(1, 6)], "--new", *[f"runs-slow/new-0{i}.data" for i in range(1, 6)])
    tap.check(re.search(r"(?m)^::error file=(plain|slow)\.c,line=\d+,title=", p.stdout), "annotations: the file from the root of the repository", p.stdout[:200])
    code, r = jobs["inlined"]
    how = {f["moved"] for f in r["findings"] if f["verdict"] == "moved"}
    found = alarms("inlined.json", "confirm-inlined")
    tap.check(("leaf_0", "self") in of(r, "moved") and how == {"inlined"} and not found, "inlined in one build: moved", how, found, of(r, "REGRESSED", "NEW", "gone", "moved"))
    split("inlined")
    code, r = findings("--base", "runs-inlined-new", "--new", "runs-inlined-base", "--q", "0.005")
    with open("outlined.json", "w") as f:
        json.dump(r, f)
    how = {f["moved"] for f in r["findings"] if f["verdict"] == "moved"}
    found = alarms("outlined.json", "confirm-outlined", recipe=("-n", N, "-F", HZ, "--", "./inlined", ROUNDS, "::", "./bare", ROUNDS))
    tap.check(("leaf_0", "self") in of(r, "moved") and how == {"outlined"} and not found, "inlined in the base only: moved, outlined", how, found, of(r, "REGRESSED", "NEW", "gone", "moved"))
    for name in ("base-01", "new-01"):
        subprocess.run([f"{BIN}/resolve", "-q", f"runs-same/{name}.data", "-o", f"{name}.pb.gz"], check=True)
    facts = [x["sides"][s]["runs"][0] for x in (jobs["same"][1], findings("--base", "base-01.pb.gz", "--new", "new-01.pb.gz")[1]) for s in ("base", "new")]
    told = [tuple(f[k] for k in ("samples", "cpu", "kernel", "processors", "frequency")) for f in facts]
    tap.check(told[:2] == told[2:] and told[0][4] == int(HZ), "resolve's pprof says of the machine what the recording says", told)
    if LONG:
        p = regress("run", "-q", "-n", "3", "-F", HZ, "--dir", "runs-stripped", "--", "./plain", ROUNDS, "::", "./stripped", ROUNDS)
        tap.check(p.returncode == 2 and "not comparable" in p.stderr, "one side stripped: not comparable", p.stderr)
    p = regress("--base", "runs-same", "--new", "runs-slow", "--event", "nothing")
    tap.check(p.returncode == 2, "no such event", p.stderr)
    record("rare.data", "-F", "99", "--", "./plain", ROUNDS)
    p = regress("--base", "runs-same", "--new", "rare.data")
    tap.check(p.returncode == 2 and "times" in p.stderr, "another frequency: not comparable", p.stderr)
    with open("runs-same/base-01.data", "rb") as f:
        cut = f.read()
    with open("cut.data", "wb") as f:
        f.write(cut[:len(cut) // 2])
    p = regress("--base", "runs-same", "--new", "cut.data")
    tap.check(p.returncode == 2 and "cut.data" in p.stderr, "a recording cut short: not comparable", p.stderr)


run_live(tap, live)
tap.end()

#!/usr/bin/env python3
"""Verdicts follow the time, not the call tree: calls that move, functions that are replaced, merged, split, renamed, wrapped, inlined,
outlined do not fail a job; what is really slower does, also where the tree changed. Programs are generated (bench/exam_tree.py), their
runs drawn with a fixed seed; `make exam-regress` records the same kinds."""
import os
import sys

TOP = os.environ["TOP"]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(TOP, "bench")]
import exam_drawn as exam  # noqa: E402
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
SEEDS = range(7, 12)
names = {"replaced by faster": "replaced", "renamed, other caller": "replaced", "merged": "replaced", "split": "replaced"}
for kind in exam.DRAWN:
    red, seen = [], 0
    for seed in SEEDS:
        code, r, touched = exam.job(seed, kind, ".")
        red += [(seed, exam.gated(r))] if code else []
        seen += any(f["verdict"] in ("replaced", "moved") and f["key"] in touched and f.get("related") for f in r["findings"])
    # One false alarm in a hundred jobs is allowed: of these 45 two would be a defect.
    tap.check(len(red) <= 1, f"{kind}: {len(red)} of {len(SEEDS)} jobs fail", red)
    if kind in names:
        tap.check(seen >= len(SEEDS) - 1, f"{kind}: {seen} of {len(SEEDS)} reports name both sides of it", seen)
for kind in exam.exam_tree.SLOWER:
    missed = []
    for seed in SEEDS:
        code, r, touched = exam.job(seed, kind, ".")
        if code != 1 or not any(f["gated"] and f["key"] in touched for f in r["findings"]):
            missed.append((seed, touched, exam.gated(r)))
    tap.check(len(missed) <= 1, f"{kind}: found in {len(SEEDS) - len(missed)} of {len(SEEDS)} jobs", missed)

# ---- by hand: what the words are --------------------------------------------------------------------------------------
drawn = Drawn(5)


def side(name, stacks, n=5):
    """Runs of {stack: samples}."""
    os.makedirs(name, exist_ok=True)
    paths = []
    for i in range(n):
        paths.append(f"{name}/{i}.folded")
        with open(paths[-1], "w") as f:
            f.writelines(f"{stack} {drawn.poisson(mean)}\n" for stack, mean in stacks.items())
    return paths


COMMON = {f"app;main;work_{i}": 900 for i in range(6)}
base = side("wide", {**COMMON, "app;main;serve": 40, "app;main;serve;validate": 900, "app;main;open": 300})
new = side("moved", {**COMMON, "app;main;serve": 40, "app;main;open;validate": 900, "app;main;open": 300})
code, r = findings("--base", *base, "--new", *new)
f = next((f for f in r["findings"] if f["key"] == "open" and f["kind"] == "incl"), {})
tap.check(code == 0 and (f.get("verdict"), f.get("moved"), f.get("related")) == ("moved", "calls", "validate"), "a call that moved: its new caller is moved, and names it", code, f)

new = side("more", {**COMMON, "app;main;serve": 40, "app;main;serve;validate": 900, "app;main;open;validate": 450, "app;main;open": 300})
code, r = findings("--base", *base, "--new", *new)
tap.check(code == 1 and {k for k, _ in of(r, "REGRESSED")} & {"open", "validate"}, "a call more: it fails", code, of(r, "REGRESSED", "moved"))

# ---- what was lost pays for growth once ---------------------------------------------------------------------------------
def gated(folder, old, new):
    """Which functions fail by themselves, and what each that moved is said to have been."""
    code, r = findings("--base", *side(folder + "-old", {**COMMON, **old}), "--new", *side(folder + "-new", {**COMMON, **new}))
    return code, {key for key, kind in of(r, "REGRESSED", "NEW") if kind == "self"}, {f["key"]: f["related"] for f in r["findings"] if f["verdict"] == "moved"}


code, red, moved = gated("twice", {"app;main;scan": 400}, {"app;main;Scan": 400, "app;main;zip": 400})
tap.check((code, red, moved) == (1, {"zip"}, {"scan": "Scan", "Scan": "scan"}), "renamed, and a new function as large beside it: that one is new", code, red, moved)
code, red, moved = gated("thrice", {f"app;main;scan_{i}": 400 for i in range(3)}, {**{f"app;main;seek_{i}": 400 for i in range(3)}, "app;main;zip": 400})
tap.check(code == 1 and red == {"zip"}, "three renamed, and a new one as large: that one is new", code, red, moved)
code, red, moved = gated("names", {f"app;main;f{i}": 500 for i in range(8)}, {f"app;main;F{i}": 500 for i in range(8)})
tap.check((code, red) == (0, set()) and moved == {a + str(i): b + str(i) for i in range(8) for a, b in ("fF", "Ff")}, "eight renamed: each is named with its own", code, red, moved)
code, red, moved = gated("outlined", {"app;main;big": 2500}, {"app;main;big": 2100, "app;main;big;part": 400, "app;main;big;other": 400})
tap.check(code == 1 and len(red & {"part", "other"}) == 1, "outlined, and a new function as large beside it: one of them is new", code, red, moved)
code, red, moved = gated("parts", {"app;main;big": 2500}, {"app;main;big": 1700, "app;main;big;part": 400, "app;main;big;other": 400})
tap.check((code, red) == (0, set()), "two parts outlined: they moved", code, red, moved)

code, red, moved = gated("elsewhere", {"app;main;load;scan": 700, "app;main;load;copy": 1400, "app;main;open": 300}, {"app;main;open;scan_all": 700, "app;main;load;copy": 2, "app;main;load;copy;one_word": 700, "app;main;load;rest": 700, "app;main;open": 300})
tap.check((code, red) == (0, set()) and moved.get("scan") == "scan_all", "renamed and called elsewhere, beside a function that was split: a name like its own comes first", code, red, moved)
code, red, moved = gated("apart", {"app;main;load;copy": 1400, "app;main;open": 300}, {"app;main;open;copy": 2, "app;main;open;copy;one_word": 700, "app;main;open;rest": 700, "app;main;open": 300})
tap.check((code, red) == (0, set()), "split and called elsewhere, hardly anything is left of it: replaced", code, red, moved)

# ---- without debug information inlined functions are not known ---------------------------------------------------------
def text(name, stacks, lines=False, n=5):
    """Runs as perf script writes them: the module is known, and with `lines` that something is inlined in it."""
    os.makedirs(name, exist_ok=True)
    for i in range(n):
        with open(f"{name}/{i}.script", "w") as f:
            for stack, mean in stacks.items():
                frames = "".join(f"\t{4096 + 16 * at:x} {word}+0x1 (/srv/app)\n" for at, word in reversed(list(enumerate(stack.split(";")))))
                inner = f"\t{8192:x} small_part+0x1 (inlined)\n" if lines and stack.endswith("work_0") else ""
                f.write(f"app 1 1.0: 1 cpu-clock:\n{inner}{frames}\n" * drawn.poisson(mean))
    return [f"{name}/{i}.script" for i in range(n)]


FEW = {f"main;work_{i}": 300 for i in range(5)}
OLD = {**FEW, "main;open;find_name": 500, "main;close;copy_name": 700}
for name, new, lines, want, why in (
        ("went", {"main;open;find_name": 900, "main;close;copy_name": 300}, False, "moved", "two functions that change alike: perhaps inlined elsewhere"),
        ("all", {"main;open;find_name": 1200, "main;close;copy_name": 0}, False, "moved", "one is gone, another has its time"),
        ("lines", {"main;open;find_name": 900, "main;close;copy_name": 300}, True, "REGRESSED", "inlined functions are known: it grew"),
        ("more", {"main;open;find_name": 1300, "main;close;copy_name": 300}, False, "REGRESSED", "it grew by more than the other lost"),
        ("less", {"main;open;find_name": 620, "main;close;copy_name": 300}, False, "REGRESSED", "much of the loss is left: it is another")):
    code, r = findings("--base", *text("old-" + name, OLD, lines), "--new", *text("new-" + name, {**FEW, **new}, lines))
    f = next((f for f in r["findings"] if f["key"] == "find_name" and f["kind"] == "self"), {})
    tap.check((code, f.get("verdict"), f.get("moved")) == ((0, "moved", "perhaps inlined") if want == "moved" else (1, want, None)), f"no debug information: {why}", code, f)
words = regress("--base", *(f"old-went/{i}.script" for i in range(5)), "--new", *(f"new-went/{i}.script" for i in range(5))).stdout
tap.check("perhaps inlined: no inlined functions are known" in words and "<-> copy_name: perhaps inlined" in words, "the report says why, and what it takes to know", words)

# ---- what a function calls that took another's place --------------------------------------------------------------------
OLD = {**COMMON, "app;main;sort": 300, "app;main;sort;compare": 900, "app;main;sort;compare;memcmp": 40}
for name, new, want in (("quick", {"app;main;sort;compare_words": 700, "app;main;sort;compare_words;memcmp": 230}, "replaced"),
                        ("slow", {"app;main;sort;compare_words": 900, "app;main;sort;compare_words;memcmp": 460}, "REGRESSED"),
                        ("beside", {"app;main;sort;compare_words": 700, "app;main;work_1;memcmp": 230}, "REGRESSED")):
    code, r = findings("--base", *side("sort-old", OLD), "--new", *side("sort-" + name, {**COMMON, "app;main;sort": 300, **new}))
    f = next((f for f in r["findings"] if f["key"] == "memcmp" and f["kind"] == "self"), {})
    tap.check((code, f.get("verdict")) == (want != "replaced", want), f"what a new function calls more is a part of it: {name}", code, f, of(r, "replaced", "REGRESSED", "moved"))

base = side("tools", {**COMMON, "app;main;tool;slow_part": 1500, "app;main;tool;small": 200})
new = side("faster", {**COMMON, "app;main;tool;slow_part": 500, "app;main;tool;small": 320})
code, r = findings("--base", *base, "--new", *new)
tap.check(code == 0 and of(r, "outweighed") >= {("small", "self")}, "slower beneath a caller that got faster: shown, no failure", code, of(r, "REGRESSED", "outweighed"))
words = regress("--base", *base, "--new", *new).stdout
tap.check("outweighed by what got faster" in words.splitlines()[0] and "all on-CPU time -" in words.splitlines()[0], "the first line says that the whole is faster", words.splitlines()[0])

base = side("all", {f"app;main;work_{i}": 3000 for i in range(4)})
new = side("tenth", {f"app;main;work_{i}": 72 for i in range(4)})
words = regress("--base", *base, "--new", *new)
tap.check(words.returncode == 0 and "all on-CPU time -97" in words.stdout.splitlines()[0] and "no change found" not in words.stdout, "a fortieth of the time: said in the first line", words.stdout.splitlines()[0])

# ---- a run counts once -------------------------------------------------------------------------------------------------
base = side("once", COMMON)
p = regress("--base", *base[:4], base[0], "--new", *side("once-new", COMMON))
tap.check(p.returncode == 2 and f"{base[0]}: the same run as {base[0]}: a run counts once" in p.stderr, "a run that is named twice on a side: refused", p.returncode, p.stderr)
p = regress("--base", *base, "--new", *base)
tap.check(p.returncode == 0 and "the same run is on both sides" in p.stdout and p.stdout.startswith("no change found"), "runs against themselves: no change, and a note", p.returncode, p.stdout[:600])

base, new = side("few", COMMON, 3), side("few-new", {**COMMON, "app;main;work_1": 2000}, 3)
words = regress("--base", *base, "--new", *new)
tap.check(words.returncode == 0 and "fewer than 4 runs a side" in words.stdout.splitlines()[0], "three runs a side: the first line says that nothing fails", words.stdout.splitlines()[0])
base, new = side("small", {k: 60 for k in COMMON}), side("small-new", {k: 60 for k in COMMON})
words = regress("--base", *base, "--new", *new)
tap.check("may be missed: it takes" in words.stdout.splitlines()[0], "too few samples: the first line says so, and what it takes", words.stdout)
base, new = side("tiny", {k: 8 for k in COMMON}), side("tiny-new", {k: 8 for k in COMMON})
words = regress("--base", *base, "--new", *new).stdout
tap.check("not even twice the time would surely be found" in words, "hardly any samples: no figure of hundreds of percent", words)
# ---- a flat program whose runs differ in speed, one function of it twice as fast -----------------------------------------------
# The runs' totals have its share, too: judged beside them, what has not changed seems to have grown.
flat = Drawn(3)
flat.functions = [("h", 830), *((f"f{i}", 500) for i in range(8)), ("little", 160)]
red, found = [], 0
for job in range(40):
    code, r = findings("--base", *flat.side("flat", speed=.05, noise=0.), "--new", *flat.side("faster", speed=.05, noise=0., change={"h": .5}))
    red += [of(r, "REGRESSED", "NEW")] if code else []
    found += ("h", "self") in of(r, "improved")
tap.check(len(red) <= 1 and found == 40, f"one of ten functions got faster, runs' speeds differ by 5 %: {len(red)} of 40 jobs fail, {found} name it", red)
# ---- a timer rounds all runs of a command alike: of 2.4 and 2.6 samples it sees 2 and 3 --------------------------------------------
for name, n in (("two", 2), ("three", 3), ("many", 2003), ("most", 3001)):
    os.makedirs(name)
    for i in range(4):
        with open(f"{name}/{i}.folded", "w") as f:
            f.write(f"app;main {n}\n")
few, many = (findings("--base", *(f"{a}/{i}.folded" for i in range(4)), "--new", *(f"{b}/{i}.folded" for i in range(4))) for a, b in (("two", "three"), ("many", "most")))
tap.check(few[0] == 0 and many[0] == 1, "2 and 3 samples in each run: not shown to be slower; 2,000 and 3,000: slower", few, many[0])
tap.end()

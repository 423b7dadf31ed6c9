#!/usr/bin/env python3
"""Calls that wandered explain no more of a caller's growth than they took away elsewhere, and functions of one name in several files
are not one that moved. Runs are drawn with fixed seeds."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()


def sides(drawn, folder, base, new, write):
    """Five runs a side; base, new: give {stack: samples} of a run."""
    out = []
    for side, stacks in (("base", base), ("new", new)):
        os.makedirs(f"{folder}-{side}")
        out.append([write(f"{folder}-{side}/{i}", {s: drawn.poisson(mean) for s, mean in stacks().items()}) for i in range(5)])
    return out


def folded(path, stacks):
    with open(path + ".folded", "w") as f:
        f.writelines(f"app;main;{s} {n}\n" for s, n in stacks.items() if n)
    return path + ".folded"


# ---- a small loss pays for no large growth ------------------------------------------------------------------------------
def collector(drawn, part, outside, inside):
    """A garbage collector differs from run to run, the rest does not; `little` is called from there and elsewhere."""
    def run():
        speed = math.exp(drawn.rnd.gauss(0, .2))
        return {**{f"work_{i}": 200 for i in range(60)}, **{f"collect;part_{i}": part * speed for i in range(40)}, "little": outside, "collect;little": inside}
    return run


seen = []
for seed in (0, 3, 5, 7, 11):
    drawn = Drawn(seed)
    base, new = sides(drawn, f"gc{seed}", collector(drawn, 4, 14, 0), collector(drawn, 7, 2, 8), folded)
    code, r = findings("--base", *base, "--new", *new)
    seen.append((code, [f["verdict"] for f in r["findings"] if f["key"] == "collect"]))
tap.check(seen == [(1, ["REGRESSED"])] * 5, "a caller grew by 120 samples, of which 8 wandered there: it is slower", seen)


# ---- functions of one name in several files -----------------------------------------------------------------------------
FILES = {"a_run": "a.c", "b_run": "b.c", "main": "main.c"}


def speedscope(path, stacks):
    """A frame: name@file, or a name of FILES."""
    names = sorted({frame for s in stacks for frame in ["main", *s.split(";")]})
    frames = [{"name": n.split("@")[0], "file": FILES.get(n) or n.partition("@")[2] or "main.c", "line": 1} for n in names]
    samples = [[names.index(frame) for frame in ["main", *s.split(";")]] for s, n in stacks.items() for _ in range(n)]
    with open(path + ".speedscope.json", "w") as f:
        json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                   "profiles": [{"type": "sampled", "name": "app", "unit": "none", "startValue": 0, "endValue": len(samples), "samples": samples, "weights": [1] * len(samples)}]}, f)
    return path + ".speedscope.json"


def program(a, b, files=("a.c", "b.c")):
    return lambda: {**{f"work_{i}": 900 for i in range(6)}, f"a_run;step@{files[0]}": a, f"b_run;step@{files[1]}": b}


drawn = Drawn(4)
base, new = sides(drawn, "two", program(900, 900), program(1200, 600), speedscope)
code, r = findings("--base", *base, "--new", *new)
slower = next((f for f in r["findings"] if f["key"] == "a_run"), {})
tap.check(code == 1 and slower.get("verdict") == "REGRESSED", "two static functions of one name, one slower and one faster: nothing moved", code, of(r, "REGRESSED", "moved", "improved"))
text = regress("--base", *base, "--new", *new).stdout
tap.check("note: several functions are named step: they are counted as one" in text, "the report says that they are several", text)
base, new = sides(drawn, "one", program(900, 900, ("a.c", "a.c")), program(1200, 600, ("a.c", "a.c")), speedscope)
code, r = findings("--base", *base, "--new", *new)
tap.check(code == 0 and ("a_run", "incl") in of(r, "moved"), "one function, called more by one caller and less by another: it moved", code, of(r, "REGRESSED", "moved"))


# ---- what was put into a function of its own comes from the one that calls it ---------------------------------------------
def packer(loop, own, pack, send):
    """The loop has another name in the new build, so that the tree has none of the nodes below it in common."""
    return lambda: {**{f"work_{i}": 900 for i in range(9)}, f"deflate;{loop}": own, f"deflate;{loop};flush;pack": pack, f"deflate;{loop};flush;pack;send": send}


seen = []
for seed in range(4):
    drawn = Drawn(seed)
    base, new = sides(drawn, f"pack{seed}", packer("deflate_slow", 950, 2000, 0), packer("deflate_lazy", 1150, 1850, 190), folded)
    code, r = findings("--base", *base, "--new", *new)
    seen.append((code, {f["key"]: (f["verdict"], f.get("related")) for f in r["findings"] if f["key"] in ("send", "deflate_lazy") and f["kind"] == "self"}))
tap.check(all(code == 1 and got["deflate_lazy"] == ("NEW", "deflate_slow") and got["send"][0] in ("replaced", "moved") and got["send"][1] == "pack" for code, got in seen),
          "split off from its caller, in a loop that was renamed and is slower: the loop is", seen)


def replaced_below(loop, own, pack, send, match):
    """`match` is a fifth slower. The loop above it was renamed, and what is beside it split: each takes 4 % more, which does not count by itself."""
    return lambda: {**{f"work_{i}": 4500 for i in range(9)}, f"deflate;{loop}": own, f"deflate;{loop};match": match,
                    f"deflate;{loop};flush;pack": pack, f"deflate;{loop};flush;pack;send": send}


seen = []
for seed in range(6):
    drawn = Drawn(seed)
    base, new = sides(drawn, f"below{seed}", replaced_below("deflate_slow", 4750, 2250, 0, 15000), replaced_below("deflate_lazy", 4950, 1800, 550, 18000), folded)
    code, r = findings("--base", *base, "--new", *new)
    seen.append((code, [(f["key"], f["verdict"]) for f in r["findings"] if f["kind"] == "incl" and f.get("moved") == "calls"]))
tap.check(seen == [(1, [])] * 6, "what was replaced below a function is no call that moved to it", seen)


# ---- a loss that only the adjustment for the runs' speed makes -------------------------------------------------------------
def of_shared_parts(scale):
    """Three functions whose time is in the same inlined ones: where one is slower, all parts are by a third of that, and these are the reference."""
    return lambda: {**{f"parse;{part}": n * scale for part, n in PARTS.items()}, **{f"{other};{part}": n for other in ("load", "grind") for part, n in PARTS.items()}}


PARTS = {"add": 120, "mul": 70, "next": 60, "shift": 40}
seen = []
for seed in range(8):
    drawn = Drawn(seed)
    base, new = sides(drawn, f"shared{seed}", of_shared_parts(1), of_shared_parts(1.25), folded)
    code, r = findings("--base", *base, "--new", *new, "--total", "50%")
    seen.append((code, [f["verdict"] for f in r["findings"] if f["key"] == "parse"]))
tap.check(not any("moved" in verdicts for _, verdicts in seen), "what fell by the adjustment alone has not wandered", seen)
tap.end()

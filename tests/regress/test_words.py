#!/usr/bin/env python3
"""regress: what the first line, the title and the rows say is what was shown: net growth, limits of the budget, what a rule ignores, what
is only beside other functions."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()


def said(base, new, *options):
    """Status, the text report and the comment."""
    p = regress("--base", *base, "--new", *new, "--md", "said.md", *options)
    with open("said.md") as f:
        return p.returncode, p.stdout, f.read()


def title(md):
    return md.splitlines()[0]


def side(name, stacks, n=5):
    """Runs of {stack: samples}, a little apart."""
    os.makedirs(name, exist_ok=True)
    paths = [f"{name}/{i}.folded" for i in range(n)]
    for i, path in enumerate(paths):
        with open(path, "w") as f:
            f.writelines(f"app;main;{stack} {samples + (i * (5 + len(stack))) % 13}\n" for stack, samples in stacks.items())
    return paths


# ---- all is slower, in runs whose speeds differ ----------------------------------------------------------------------
drawn = Drawn(31)
WORDS = "beside the functions taken as unchanged"
for name, speed, vague in (("much", .1, True), ("little", .005, False)):
    base, new = drawn.side("base", speed=speed), drawn.side("alike", speed=speed, scale=1.1)
    code, text, md = said(base, new)
    sure = re.search(r"(.*)\n.*certainly less than 5 % slower: (\d+) %", text)
    tap.check(sure and (WORDS in sure[1]) and "up to +" in sure[1], f"all is a tenth slower, speeds differ {name}: what is certain is so beside other functions", text)
    if vague:
        tap.check(code == 0 and "runs differ: all on-CPU time may be up to +" in text.splitlines()[0] and "the whole may be up to +" in title(md), "a total that is not known is said in the first line and in the title", text, md)
    else:
        tap.check(code == 1 and "runs differ" not in text.splitlines()[0], "a total that is known is not called vague", text.splitlines()[0])
code, text, md = said(drawn.side("base", speed=.002), drawn.side("same", speed=.002))
tap.check(code == 0 and "no change found" == text.splitlines()[0] and title(md) == "### No change found" and WORDS not in text, "nothing changed, and nothing hides it: no such words", text, md)

# ---- all that changed has another name -------------------------------------------------------------------------------
COMMON = {f"work_{i}": 2000 + 100 * i for i in range(8)}
code, text, md = said(side("renamed-was", {**COMMON, "parse": 2100}), side("renamed", {**COMMON, "scan": 2100}))
tap.check(code == 0 and re.match("### Only moved or replaced: (`parse` now `scan`|`scan` instead of `parse`), and 1 more", title(md)) and "-100.0 %" not in text + md and "improved or gone" not in text.splitlines()[0], "one function has another name: nothing is faster", text, md)
code, text, md = said(side("split-was", {**COMMON, "parse": 2100}), side("split", {**COMMON, "scan": 1100, "lex": 1000}))
tap.check(code == 0 and title(md).startswith("### Only moved or replaced: "), "one function was split: nothing is faster", text, md)
code, text, md = said(side("went-was", {**COMMON, "parse": 2100}), side("went", COMMON))
tap.check(code == 0 and title(md).startswith("### Faster: ") and "`parse` gone" in title(md) and "improved or gone" in text.splitlines()[0] and " gone " in text and "-100.0 %" not in text, "a function is gone: faster, gone", text, md)
code, text, md = said(side("less-was", {**COMMON, "parse": 2100}), side("less", {**COMMON, "scan": 900}))
tap.check(code == 0 and title(md).startswith("### Faster: "), "replaced by what takes less: faster", text, md)

# ---- a new function that took another's place, and more ---------------------------------------------------------------
code, text, md = said(side("net-was", {**COMMON, "parse": 2100}), side("net", {**COMMON, "scan": 3100}))
points = re.search(r"net \+([\d.]+) points of the whole", title(md))
tap.check(code == 1 and points and 4 < float(points[1]) < 6.5 and "in part instead of `parse`" in title(md), "new, in part instead of another: the title says the net", title(md))

# ---- the budget: shares, and what it ignores -------------------------------------------------------------------------
with open("rules", "w") as f:
    f.write("share work_7 limit 5%\n")
code, text, md = said(side("limit-was", COMMON), side("limit", COMMON), "--budget", "rules")
tap.check(code == 1 and "1 over the budget's share" in text.splitlines()[0] and "slower" not in text.splitlines()[0], "a broken share: the first line does not say slower", text.splitlines()[0])
tap.check(re.search(r"^### Over budget: `work_7` has 14\.\d % of the whole, the limit is 5 %", title(md)), "a broken share: the title names share and limit", title(md))
tap.check(text.count("the limit is 5 %") == 1 and md.count("the limit is 5 %") == 2, "a broken share: so do the rows", text, md)
p = regress("--base", "limit-was", "--new", "limit", "--budget", "rules", "--annotate", "github")
tap.check("work_7 self: has 14." in p.stdout and "the limit is 5 %25" in p.stdout, "a broken share: so does the annotation", p.stdout)
code, r = findings("--base", "limit-was", "--new", "limit", "--budget", "rules")
f = r["findings"][[f["key"] for f in r["findings"]].index("work_7")]
tap.check(f["limit"] == .05 and .14 < f["new_share"] < .15, "a broken share: so does the JSON report", f)

with open("rules", "w") as f:
    f.write("fn work_7 ignore\nclass kernel ignore\n")
code, text, md = said(side("ignored-was", COMMON), side("ignored", {**COMMON, "work_7": 3100}), "--budget", "rules", "--total", "50%")
code, r = findings("--base", "ignored-was", "--new", "ignored", "--budget", "rules", "--total", "50%")
tap.check(code == 0 and of(r, "ignored") == {("work_7", "self")} and "1 ignored by the budget" in text.splitlines()[0] and "environment" not in text, "what a rule ignores is not the environment's", text, of(r, "environment"))

# ---- what the program has the kernel do is not the environment's ---------------------------------------------------------
SLEEP = "nanosleep_[k];do_syscall_64_[k];__x64_sys_clock_nanosleep_[k];do_nanosleep_[k];schedule_[k];finish_task_switch_[k]"
WRITE = "write_[k];do_syscall_64_[k];__x64_sys_write_[k];schedule_[k];finish_task_switch_[k]"
SHORT = {name: n // 20 for name, n in COMMON.items()}
for name, was, now, want in (("a sleep is added", {}, {SLEEP: 60}, "suspect"), ("writes wait longer", {WRITE: 60}, {WRITE: 160}, "environment")):
    code, r = findings("--base", *side("waits-was", {**SHORT, **was}), "--new", *side("waits", {**SHORT, **now}), "--total", "50%")
    tap.check(("finish_task_switch", "self") in of(r, want), f"{name}: {want}", code, [(f["key"], f["kind"], f["verdict"]) for f in r["findings"]])

tap.end()

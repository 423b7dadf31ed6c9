#!/usr/bin/env python3
"""The page of a difference of recordings: events, commands and times of both sides, weights beside shares, against folded output and jsonl."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import browser
from common import CAPTURE, RESOLVE, Tap, build, run
from pages import pick, ready, text

tap = Tap()
if not browser.find():
    tap.skip("the page in a browser", "no chromium")
    tap.end()
program = build("g++ -g -O2 -pthread", "threads.cc", "threads")
os.link(program, "renamed")
SIDES = {"base": (program, "0.3"), "new": ("./renamed", "0.6")}
for side, (path, seconds) in SIDES.items():
    run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock,page-faults", "-o", f"{side}.data", "--", path, seconds])
run([RESOLVE, "-q", "--diff", "base.data", "-o", "d.html", "new.data"])


def plain(name):
    """Without the parameters that tell two functions of a profile apart: of two profiles there may be others."""
    return re.sub(r"\(\w.*\)(?: const)?$", "", name)


def stacks(side, event, *options):
    """{path without the command: weight}"""
    out = {}
    for line in run([RESOLVE, "-q", "--event", event, *options, f"{side}.data"]).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        path = tuple(plain(f) for f in stack.split(";")[1:])
        for i in range(len(path) + 1):
            out[path[:i]] = out.get(path[:i], 0) + int(n)
    return out


# {path: [base, new]} of what is drawn.
PATHS = """(() => {
    const out = {}, visit = (node, path) => {
        const key = path.join('\\n'), at = out[key] ||= [0, 0];
        at[0] += page.tree.total(node, 1);
        at[1] += page.tree.total(node, 2);
        for (const c of page.tree.children(node)) visit(c, [...path, page.model.name(page.tree.frame(c))]);
    };
    visit(0, []);
    return out; })()"""


def drawn(b):
    out = {}
    for key, (base, new) in b.evaluate(PATHS).items():
        at = out.setdefault(tuple(plain(f) for f in key.split("\n")) if key else (), [0, 0])
        at[0] += base
        at[1] += new
    return out


def same(got, base, new, scale=(1, 1)):
    want = {p: (base.get(p, 0) / scale[0], new.get(p, 0) / scale[1]) for p in {*base, *new}}
    return got.keys() == want.keys() and all(abs(got[p][k] - want[p][k]) < 1e-6 * max(1, want[p][k]) for p in want for k in (0, 1))


both = {e: [stacks(s, e) for s in SIDES] for e in ("cpu-clock", "page-faults")}
with browser.Browser() as b:
    ready(b, "d.html")
    totals = [s[()] for s in both["cpu-clock"]]
    tap.check(same(drawn(b), *both["cpu-clock"], totals), "shares of the main event", sorted(set(drawn(b)) ^ {*both["cpu-clock"][0], *both["cpu-clock"][1]})[:6])
    tap.check(f"{totals[0] / 1e6:.0f} ms → {totals[1] / 1e9:.2f} s per run" in text(b, "details") or f"{totals[0] / 1e6:.0f} ms → {totals[1] / 1e6:.0f} ms per run" in text(b, "details"),
              "the totals of both sides are told", (text(b, "details"), totals))
    pick(b, "scale", "absolute")
    tap.check(same(drawn(b), *both["cpu-clock"]) and "a=absolute" in b.evaluate("location.hash"), "weights of one run instead of shares", drawn(b)[()])
    b.evaluate("page.change({table: true})")
    cells = b.evaluate("[...document.querySelectorAll('#table tbody tr')][0].innerText")
    tap.check("s\t" in cells and "+" in cells, "the table has them too", cells)
    b.screenshot("absolute.png")
    b.evaluate("page.point(page.tree.children(0)[0], page.graph.boxOf(page.tree.children(0)[0]))")
    tap.check(" ms → " in text(b, "details") or " s → " in text(b, "details"), "and the line of details", text(b, "details"))
    pick(b, "scale", "share")

    pick(b, "event", "1")
    faults = both["page-faults"]
    tap.check(same(drawn(b), *faults, [s[()] for s in faults]), "the other event of both sides", drawn(b)[()])
    pick(b, "event", "0")

    comms = b.evaluate("page.profile.levels.comm.groups.map(g => g.text).sort()")
    tap.check({"threads", "renamed"} <= set(comms), "commands of both sides", comms)
    b.evaluate("page.filter({task: 'comm:renamed'})")
    only = {p: v for p, v in stacks("new", "cpu-clock", "--comm", "renamed").items()}
    tap.check(drawn(b).keys() == only.keys() and [round(v, 9) for v in drawn(b)[()]] == [0, 1], "one command", drawn(b)[()])
    b.evaluate("page.filter({task: ''})")

    # a range of time: of each side since its own beginning
    tap.check(b.evaluate("!document.getElementById('strip').hidden"), "there is a strip of times")
    pick(b, "scale", "absolute")
    b.evaluate("page.filter({range: [50e6, 150e6]})")
    inside = []
    for side in SIDES:
        samples = [json.loads(line) for line in run([RESOLVE, "-q", "-f", "jsonl", f"{side}.data"]).stdout.splitlines()]
        zero = min(s["t_ns"] for s in samples)
        inside.append(sum(s["period"] for s in samples if s["event"].startswith("cpu-clock") and 50e6 <= s["t_ns"] - zero <= 150e6))
    tap.check(drawn(b)[()] == inside and all(inside), "the samples of a range of time, of both sides", (drawn(b)[()], inside))
    b.screenshot("range.png")
    tap.check(b.problems() == [], "no error, no request", b.problems())

    # Whether a change is noise is decided by the column that is shown.
    with open("own.base", "w") as f:
        f.write("app;main;f 1000\napp;main;g 9000\n")
    with open("own.new", "w") as f:
        f.write("app;main;f;h 1000\napp;main;g 9000\n")
    run([RESOLVE, "-q", "--diff", "own.base", "-o", "own.html", "own.new"])
    ready(b, "own.html")
    b.evaluate("page.change({table: true})")
    colour = "(name => [...document.querySelectorAll('#table tbody tr')].find(r => r.cells[3].textContent === name).cells[2].style.backgroundColor)('f')"
    total = b.evaluate(colour)
    b.evaluate("document.querySelector('#table .choices input').click()")
    own = b.evaluate(colour)
    tap.check(total == "rgb(207, 207, 207)" and own != total, "the own column has its own colours", (total, own))
tap.end()

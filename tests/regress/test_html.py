#!/usr/bin/env python3
"""regress --html: the page colours what is significant and nothing else, and its table has the verdicts; in a real browser."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
from drawn import Drawn, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
drawn = Drawn(29)
p = regress("--base", *drawn.side("base"), "--new", *drawn.side("new", change={"f3": 1.4, "f6": .5}), "--html", "page.html", "--json", "r.json")
with open("page.html") as f:
    text = f.read()
tap.check(p.returncode == 1 and text.startswith("<!DOCTYPE html>"), "regress --html: status 1 and a page", p.stderr, text[:200])
with open("r.json") as f:
    chance = json.load(f)["design"]["false_alarm"]
p = regress("-q", "--base", "base", "--new", "new", "--html", "again.html")
with open("again.html") as f:
    tap.check(f.read() == text, "--html twice: the same bytes")
p = regress("-q", "--base", "base", "--new", "new", "--html", "/nowhere/page.html")
tap.check(p.returncode == 2 and "/nowhere/page.html" in p.stderr, "a page that cannot be written: a line, status 2", p.stderr)
if not browser.find():
    tap.skip("in a browser", "no chromium")
else:
    with browser.Browser() as b:
        b.open("file://" + os.path.abspath("page.html"))
        b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")
        judged = b.evaluate("page.profile.changes.verdicts.map((v, i) => [page.profile.names ? page.profile.names[i] : i, v.text, v.isSignificant]).filter(v => v[2]).map(v => v[1]).sort()")
        tap.check(judged == ["REGRESSED", "improved"], "two functions are significant", judged)
        b.evaluate("document.getElementById('table-button').click()")
        said = f"without any change red in at most {100 * chance:.2g} % of jobs"
        tap.check(0 < chance < .05 and said in b.evaluate("document.body.textContent"), "the page says how often a job without a change is red", said)
        rows = b.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.textContent)")
        tap.check(any("REGRESSED" in r and "f3" in r for r in rows) and any("improved" in r and "f6" in r for r in rows), "the table has the verdicts", rows[:8])
        tap.check(not b.problems(), "nothing went wrong in the page", b.problems())
tap.end()

#!/usr/bin/env python3
"""The page of -f html: addresses that another recording understands, narrow frames that open, wide pictures, and what is seen without scripts."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import browser
from common import RESOLVE, Tap, run
from pages import ready, text

tap = Tap()
if not browser.find():
    tap.skip("the page in a browser", "no chromium")
    tap.end()

# ---- addresses ------------------------------------------------------------------------------------------

with open("one.folded", "w") as f:
    f.write("app;main;parse;read 60\napp;main;other 40\n")
with open("two.folded", "w") as f:
    f.write("app;aaa;before 5\napp;main;new;x 10\napp;main;parse;read;deeper 20\n")
for name in ("one", "two"):
    run([RESOLVE, "-q", "-o", f"{name}.html", f"{name}.folded"])
with open("one.html") as f:
    page = f.read()
AT = "page.graph.zoomed ? page.model.name(page.tree.frame(page.graph.zoomed)) : 'all'"


def follow(b, path):
    b.open("about:blank")
    ready(b, path)
    return b.evaluate(AT), text(b, "notice") if b.evaluate("!document.getElementById('notice').hidden") else ""


with browser.Browser() as b:
    ready(b, "one.html")
    b.evaluate("page.zoom(page.tree.children(page.tree.children(page.tree.children(0)[0])[0])[0])")
    link = b.evaluate("location.hash")
    tap.check(link == "#z=main;parse;read", "the address of a zoom has names", link)
    tap.check(follow(b, "two.html" + link) == ("read", ""), "another recording of the program understands it")
    for address, at, word in (("#z=999999", "all", "number of an older page"), ("#z=1.2.3", "all", "number of an older page"), ("#z=main;gone;read", "main", "“gone”"), ("#w=12", "all", "older page"),
                              ("#w=nobody", "all", "no “nobody”"), ("#f=main&h=f:nobody", "all", "no “nobody”"), ("#t=pid:4711", "all", "4711"), ("#z=%&s=%&w=%&r=%", "all", "not"), ("#z=+99", "all", "not")):
        where, told = follow(b, "one.html" + address)
        tap.check(where == at and word in told and b.evaluate("page.tree.total(0)") == 100, f"{address}: refused with a word, and the page lives", (where, told))
    b.evaluate("page.zoom(page.tree.children(0)[0])")
    tap.check(b.evaluate("document.getElementById('notice').hidden"), "the word goes with the next click")
    tap.check(b.problems() == [], "no error, no request", b.problems())

# ---- many narrow frames, wide pictures --------------------------------------------------------------------

with open("many.folded", "w") as f:
    f.writelines(f"app;main;small{i:04} 1\n" for i in range(4000))
    f.write("app;main;big 4000\n")
run([RESOLVE, "-q", "-o", "many.html", "many.folded"])
with browser.Browser() as b:
    ready(b, "many.html")
    tap.check("a box is a function" in text(b, "details"), "a first hint", text(b, "details"))
    at = "(() => { const g = page.graph, r = g.canvas.getBoundingClientRect(), x = g.boxes.flat().find(x => x.node < -1); return {x: r.x + x.x + x.width / 2, y: r.y + g.y(x.depth) + 8, n: x.n, skip: x.skip}; })()"
    rest = b.evaluate(at)
    tap.check((rest["n"], rest["skip"]) == (4000, 1), "narrow frames are one box", rest)
    for i in range(200):  # a page that is still being laid out has boxes elsewhere, and shows no tooltip of them
        rest = b.evaluate(at)
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=rest["x"] + i % 2, y=rest["y"])
        if not b.evaluate("new Promise(r => setTimeout(() => r(document.getElementById('tip').hidden), 20))"):
            break
    tap.check("4000 smaller" in text(b, "tip") and "50.0 %" in text(b, "tip"), "a tooltip tells what is under the mouse", text(b, "tip"))
    b.click(rest["x"], rest["y"])
    inner = b.evaluate("page.graph.boxes.flat().filter(x => x.node > 0 && x.depth === 3).map(x => x.width)")
    tap.check(b.evaluate("location.hash") == "#z=main;+1" and len(inner) > 50 and min(inner) >= 11 and "a box is a function" not in text(b, "details"), "a click opens it", inner)
    b.screenshot("smaller.png")
    b.evaluate("document.getElementById('graph').focus()")
    b.key("ArrowDown", 40)
    b.key("Enter", 13)
    tap.check(re.fullmatch(r"#z=main;small\d+", b.evaluate("location.hash")), "its frames are reached by keys", b.evaluate("location.hash"))
    b.evaluate("history.back(), new Promise(r => addEventListener('popstate', () => setTimeout(r), {once: true}))")
    tap.check(b.evaluate("page.graph.skip") == 1, "Back opens it again")
    b.key("Backspace", 8)
    tap.check(b.evaluate("[page.graph.skip, page.state.zoom]") == [0, "main"], "Backspace closes it")
    b.key("Escape", 27)

    WIDE = "(() => { const x = page.graph.boxes.flat().find(x => x.node > 0 && page.model.name(page.tree.frame(x.node)) === 'big'); return [page.graph.scale, x.x, x.width]; })()"
    before = b.evaluate(WIDE)
    b.call("Input.dispatchMouseEvent", type="mouseWheel", x=500, y=300, deltaX=0, deltaY=-240, modifiers=2)
    after = b.evaluate(WIDE)
    left = b.evaluate("page.graph.canvas.getBoundingClientRect().x")
    tap.check(after[0] > 2 and abs((500 - left - after[1]) / after[2] - (500 - left - before[1]) / before[2]) < 1e-6, "Ctrl and the wheel widen about the mouse", (before, after))
    for kind, x in (("mousePressed", 500), ("mouseMoved", 450), ("mouseMoved", 400), ("mouseReleased", 400)):
        b.call("Input.dispatchMouseEvent", type=kind, x=x, y=150, button="left", buttons=1, clickCount=1)
    dragged = b.evaluate(WIDE)
    tap.check(abs(dragged[1] - (after[1] - 100)) < 1 and b.evaluate("page.state.zoom") == "", "a drag moves it, and is no click", (after, dragged))
    b.evaluate("document.getElementById('graph').focus()")
    b.key("-", 189, "-")
    tap.check(b.evaluate("page.graph.scale") < after[0], "- narrows it")
    b.call("Input.dispatchMouseEvent", type="mouseWheel", x=500, y=300, deltaX=0, deltaY=2400, modifiers=2)
    for _ in range(8):
        b.key("-", 189, "-")
    tap.check(b.evaluate(WIDE) == before, "all of it again: as it was")
    tap.check(b.problems() == [], "no error, no request", b.problems())

# ---- where scripts may not run ------------------------------------------------------------------------------

# Jenkins' header for artifacts, and that of many others.
with browser.Browser() as b:
    for policy in ("sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self'; media-src 'self'", "default-src 'self'", "script-src 'none'"):
        meta = re.sub(r"<meta http-equiv=\"Content-Security-Policy\" content=\"[^\"]*\">", f'<meta http-equiv="Content-Security-Policy" content="{policy}">', page)
        with open("csp.html", "w") as f:
            f.write(meta)
        b.open("about:blank")
        b.open("file://" + os.path.abspath("csp.html"))
        seen = b.evaluate("new Promise(r => { const look = () => getComputedStyle(document.querySelector('#no-script p')).visibility === 'visible' ? r(document.body.innerText) : setTimeout(look, 50); look(); })") \
            if "sandbox" not in policy else b.evaluate("document.body.innerText")
        tap.check("scripts are not allowed" in seen and "Callers" not in seen, f"{policy}: a word, and no bare buttons", seen[:300])
tap.end()

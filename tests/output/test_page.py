#!/usr/bin/env python3
"""The page of -f html: what is in it, against folded output of the same recording, and clicked through in a browser."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import browser
from common import CAPTURE, RESOLVE, Tap, build, run
from pages import pick, plain, plain_paths, press, ready, text
from tap import event

tap = Tap()
program = build("g++ -g -O2 -pthread", "threads.cc", "threads")
run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock,page-faults", "-o", "perf.data", "--", program, "0.5"])
run([RESOLVE, "-o", "x.html", "perf.data"])
page = open("x.html", "rb").read()
tap.check(page == run([RESOLVE, "-j1", "-f", "html", "perf.data"]).stdout.encode(), "the same bytes from one thread")
tap.check(b"<title>" in page and page.count(b"@") < 20, "the template is filled in")
run([RESOLVE, "--title", "</title><script>alert(1)</script>", "-o", "title.html", "perf.data"])
tap.check(b"<script>alert" not in open("title.html", "rb").read(), "a title is no markup")


def stacks(*options, collapsed=False):
    """{path of names without the command: weight} of folded output; collapsed: a name below itself is left out."""
    out = {}
    for line in run([RESOLVE, *options, "perf.data"]).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = [plain(f) for f in stack.split(";")[1:]]
        path = tuple(f for i, f in enumerate(frames) if not collapsed or not i or f != frames[i - 1])
        out[path] = out.get(path, 0) + int(n)
    return out


def sums(of):
    out = {}
    for path, n in of.items():
        for i in range(len(path) + 1):
            out[path[:i]] = out.get(path[:i], 0) + n
    return out


if not browser.find():
    tap.skip("the page in a browser", "no chromium")
    tap.end()

# What the page draws, by names; boxes that differ only by module or file are one here. COLLAPSED: an overload below another, which has
# the same name in folded but is a frame of its own in the page, is one with it here; "repeated" counts what the page should not draw.
PATHS = """(() => {
    const out = {}, page = window.page, visit = (node, path) => {
        out[path.join('\\n')] = (out[path.join('\\n')] || 0) + page.tree.total(node);
        for (const c of page.tree.children(node)) visit(c, [...path, page.model.name(page.tree.frame(c))]);
    };
    visit(0, []);
    return out; })()"""
COLLAPSED = """(() => {
    const out = {}, page = window.page; let repeated = 0;
    const visit = (node, path) => {
        for (const c of page.tree.children(node)) {
            const name = page.model.name(page.tree.frame(c)), below = node > 0 && name === path[path.length - 1] ? path : [...path, name];
            if (below !== path) out[below.join('\\n')] = (out[below.join('\\n')] || 0) + page.tree.total(c);
            if (node > 0 && page.tree.frame(c) === page.tree.frame(node)) repeated++;
            visit(c, below);
        }
    };
    out[''] = page.tree.total(0);
    visit(0, []);
    return [out, repeated]; })()"""


# A box to click at.
BOX = """(() => { const g = page.graph, r = g.canvas.getBoundingClientRect();
    const x = g.boxes.flat().find(x => x.depth > 2 && x.node > 0 && x.width > 60 && x.width < 900);
    return {x: r.x + x.x + x.width / 2, y: r.y + g.y(x.depth) - g.scroll.scrollTop + 8, path: page.model.pathOf(x.node)}; })()"""
CALLERS = """(() => {
    const out = {}, page = window.page, visit = (node, path) => {
        out[path.join('\\n')] = page.tree.total(node);
        for (const c of page.tree.callers(node)) visit(c, [...path, page.model.name(page.tree.frame(c))]);
    };
    visit(page.tree.top(), [page.model.name(page.tree.frame(page.tree.top()))]);
    return out; })()"""


def drawn(b):
    return plain_paths(b.evaluate(PATHS))


with open("apart.folded", "w") as f:
    f.write("c;f(int);x 30\nc;f(char);y 40\n")
run([RESOLVE, "-o", "apart.html", "apart.folded"])
clock, faults = stacks("--event", "cpu-clock"), stacks("--event", "page-faults")
with browser.Browser() as b:
    ready(b, "apart.html")
    tap.check(b.evaluate(PATHS) == {"": 70, "f(int)": 30, "f(int)\nx": 30, "f(char)": 40, "f(char)\ny": 40},
              "names of another tool are never shortened to one", drawn(b))
    ready(b)
    tap.check(drawn(b) == sums(clock), "the heaviest event is drawn, as folded has it")
    tap.check(text(b, "details").startswith("all: "), "the details begin with the whole", text(b, "details"))
    honesty = text(b, "honesty")
    n = sum(1 for line in run([RESOLVE, "-f", "script", "perf.data"]).stdout.splitlines() if re.match(r"\S.*: +\d+ ", line))
    tap.check(honesty.startswith(f"{n:,} samples of {event('cpu-clock')}, {event('page-faults')}"), "the line of honesty: samples, events", (honesty, n))
    b.screenshot("page.png")

    b.call("Emulation.setDeviceMetricsOverride", width=1000, height=900, deviceScaleFactor=1, mobile=False)
    tap.check(b.evaluate("(e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight && e.getBoundingClientRect().bottom <= "
                         "document.querySelector('header').getBoundingClientRect().bottom)(document.getElementById('honesty'))"),
              "the line of honesty takes a second line where the window is narrow, and is not cut", honesty)
    b.call("Emulation.setDeviceMetricsOverride", width=250, height=900, deviceScaleFactor=1, mobile=False)
    seen = "(e => [e.scrollHeight <= e.clientHeight, e.getBoundingClientRect().x + 5, e.getBoundingClientRect().y + 5])(document.getElementById('honesty'))"
    before = b.evaluate(seen)
    b.click(*before[1:])
    after = b.evaluate(seen)
    b.click(*before[1:])
    tap.check(not before[0] and after[0] and not b.evaluate(seen)[0], "where two lines are not enough, a click shows all of the line of honesty, another one two lines", before, after)
    b.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)

    pick(b, "event", "1")
    tap.check(drawn(b) == sums(faults) and "e=page-faults" in b.evaluate("location.hash"), "another event is chosen: drawn as folded has it")
    b.evaluate("history.back(), new Promise(r => addEventListener('popstate', () => setTimeout(r), {once: true}))")
    tap.check(drawn(b) == sums(clock), "Back undoes it")

    # a real click on a box
    box = b.evaluate(BOX)
    b.click(box["x"], box["y"])
    tap.check(b.evaluate("page.state.zoom") == box["path"] and b.evaluate("page.graph.boxOf(page.graph.zoomed).width === page.graph.width"),
              "a click zooms", box)
    tap.check("›" in text(b, "crumbs"), "crumbs show the way back", text(b, "crumbs"))
    link = b.evaluate("location.href")
    b.key("Escape", 27)
    tap.check(b.evaluate("page.state.zoom") == "", "Escape takes all again")
    b.open("about:blank")
    b.open(link)
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")
    tap.check(b.evaluate("page.state.zoom") == box["path"], "the address restores the zoom")
    b.key("Escape", 27)

    b.key("/", 191, "/")
    tap.check(b.evaluate("document.activeElement.id") == "search", "/ goes to the search")
    b.call("Input.insertText", text="spin|accumulate")
    b.evaluate("new Promise(r => setTimeout(r, 150))")
    hit = lambda p: any(re.search("spin|accumulate", f, re.I) for f in p)
    share = 100 * sum(n for p, n in clock.items() if hit(p)) / sum(clock.values())
    tap.check(abs(float(text(b, "matched").split()[0]) - share) <= 0.1, "the share of a search is that of the stacks with it", (text(b, "matched"), share))
    b.key("Enter", 13)
    b.call("Input.dispatchKeyEvent", type="keyDown", key="f", windowsVirtualKeyCode=70, modifiers=2)
    tap.check(b.evaluate("document.activeElement.id") == "search", "Ctrl+F goes to the search")
    b.key("Enter", 13)
    b.key("n", 78, "n")
    tap.check(re.search("spin|accumulate", b.evaluate("page.model.name(page.tree.frame(page.graph.chosen))"), re.I), "n goes to the next hit of the search")
    b.evaluate("document.getElementById('search').value = '(', document.getElementById('search').dispatchEvent(new Event('input'))")
    b.evaluate("new Promise(r => setTimeout(r, 150))")
    tap.check(text(b, "matched") == "no regular expression", "a wrong regular expression: the page says so")
    b.evaluate("page.change({search: ''})")

    press(b, "Functions")
    leaf = {}
    for p, n in clock.items():
        if p:
            leaf[p[-1]] = leaf.get(p[-1], 0) + n
    first = b.evaluate("[...document.querySelectorAll('#table tbody tr')].slice(0, 3).map(r => [r.cells[2].textContent, parseFloat(r.cells[0].textContent)])")
    best = max(leaf, key=leaf.get)
    tap.check(first[0][0] == best and abs(first[0][1] - 100 * leaf[best] / sum(clock.values())) <= 0.06, "the table begins with the function that has most of its own", (first, best))
    press(b, "Total")
    tap.check(b.evaluate("[...document.querySelectorAll('#table th')].findIndex(t => t.getAttribute('aria-sort') === 'descending')") == 1, "the table can be sorted")
    inner = next(f for f in leaf if "spin" in f)
    press(b, inner, "#table td button")
    callees = {}
    for p, n in clock.items():
        if inner in p:
            q = p[p.index(inner):]
            callees[q] = callees.get(q, 0) + n
    tap.check(drawn(b) == sums(callees), "a function's callees, of all callers")
    callers = {}
    for p, n in clock.items():
        if inner in p:
            q = tuple(reversed(p[:p.index(inner) + 1]))
            callers[q] = callers.get(q, 0) + n
    seen = plain_paths(b.evaluate(CALLERS))
    tap.check(seen == {k: v for k, v in sums(callers).items() if k}, "a function's callers, to the root", len(seen))
    rows = b.evaluate("page.graph.rows.map(row => row.map(x => page.tree.isCaller(x.node)))")
    tap.check(rows[0][0] is True and rows[-1][0] is False, "a sandwich is drawn: callers above, callees below")
    b.screenshot("sandwich.png")
    caller = b.evaluate("page.model.pathOf(page.tree.callers(page.tree.top())[0])")
    b.evaluate("page.zoom(page.tree.callers(page.tree.top())[0])")
    tap.check(caller.startswith("^") and b.evaluate("page.state.zoom") == caller and b.evaluate("page.tree.isCaller(page.graph.zoomed)"), "a click on a function's caller zooms", caller)
    b.evaluate("page.change({sandwich: -1, invert: false, zoom: ''})")
    press(b, "Callers")
    tap.check(drawn(b) == sums({tuple(reversed(p)): n for p, n in clock.items()} ), "callers first: stacks are drawn from the leaf")
    press(b, "Callers")

    b.evaluate("page.graph.choose(page.graph.boxes.flat().find(x => x.node > 0 && x.depth > 1).node)")
    name = b.evaluate("page.model.name(page.tree.frame(page.graph.chosen))")
    b.key("h", 72, "h")
    without = {}
    for p, n in clock.items():
        q = tuple(f for f in p if f != name)
        without[q] = without.get(q, 0) + n
    tap.check(drawn(b) == sums(without) and name[:20] in text(b, "filters"), "h leaves a function out")
    b.key("u", 85, "u")
    tap.check(drawn(b) == sums(clock), "u shows the function again")
    b.evaluate("page.graph.choose(page.graph.boxes.flat().find(x => x.node > 0 && x.depth > 3).node)")
    name = b.evaluate("page.model.name(page.tree.frame(page.graph.chosen))")
    b.key("f", 70, "f")
    tap.check(drawn(b) == sums({p: n for p, n in clock.items() if name in p}), "f shows only stacks with a function", name)
    b.key("u", 85, "u")

    b.evaluate("page.graph.choose(page.graph.boxes.flat().find(x => x.node > 0 && x.depth > 3).node)")
    b.key("x", 88, "x")
    tap.check(drawn(b) == sums({p: n for p, n in clock.items() if name not in p}), "x shows only stacks without a function", name)
    b.key("u", 85, "u")
    box = b.evaluate(BOX)
    for kind in ("mousePressed", "mouseReleased"):
        b.call("Input.dispatchMouseEvent", type=kind, x=box["x"], y=box["y"], button="right", buttons=2, clickCount=1)
    tap.check(b.evaluate("page.model.pathOf(page.menu.node)") == box["path"] and b.evaluate("document.activeElement.getAttribute('role')") == "menuitem",
              "the right button opens a frame's menu")
    b.screenshot("menu.png")
    b.evaluate("page.menu.items.find(x => x.textContent.startsWith('Hide the function')).click()")
    tap.check(b.evaluate("page.state.hidden.length") == 1 and not b.evaluate("page.menu.items[0].offsetParent"), "an entry of the menu does what its key does, and the menu closes")
    b.key("u", 85, "u")
    pick(b, "palette", "safe")
    b.evaluate("document.getElementById('flip').click()")
    link = b.evaluate("location.href")
    tap.check("p=safe" in link and "u=1" in link and b.evaluate("page.graph.y(0) > page.graph.y(1)"), "palette and direction are in the address", link)
    pick(b, "palette", "module")
    modules = b.evaluate("[...document.querySelectorAll('#legend span')].map(s => s.textContent)")
    tap.check(modules[0] == "threads" and 1 < len(modules) <= 8, "colours by module have a legend, the heaviest first", modules)
    pick(b, "palette", "kind")
    b.evaluate("document.getElementById('flip').click()")
    b.evaluate("page.change({collapse: true})")
    flat = stacks("--event", "cpu-clock", collapsed=True)
    boxes, repeated = b.evaluate(COLLAPSED)
    tap.check(plain_paths(boxes) == sums(flat) and repeated == 0, "recursion collapsed: as folded without repeated frames")
    b.evaluate("page.change({collapse: false})")

    tids = b.evaluate("page.profile.levels.tid.groups.map(g => g.filter)")
    press(b, "Tasks…")
    press(b, "thread", "#table .choices button")
    weights = b.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => [r.cells[2].textContent, parseFloat(r.cells[0].textContent)])")
    whole = {t: sum(stacks("--event", "cpu-clock", "--tid", t.split("/")[1]).values()) for t in tids}
    tap.check(sorted(w for _, w in weights) == sorted(float(f"{100 * n / sum(whole.values()):.{1 if n / sum(whole.values()) >= 0.1 else 2}f}") for n in whole.values() if n),
              "the list of threads has their shares", (weights, whole))
    b.evaluate("document.getElementById('task-search').focus()")
    last = max(tids, key=lambda t: int(t.split("/")[1]) if whole[t] else 0)
    b.call("Input.insertText", text=f" {last.split('/')[1]}$")
    tap.check(b.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.cells[2].textContent)")[0].endswith(" " + last.split("/")[1]), "tasks are searched")
    b.evaluate("document.querySelector('#table tbody button').click()")
    tap.check(drawn(b) == sums(stacks("--event", "cpu-clock", "--tid", last.split("/")[1])), "one thread is chosen: as folded --tid", last)
    b.evaluate("page.filter({task: ''}); page.change({list: 'functions'})")

    pick(b, "by", "tid")
    rows = b.evaluate("page.tree.children(0).map(c => [page.model.name(page.tree.frame(c)), page.tree.total(c), page.tree.children(c).map(d => page.tree.total(d))])")
    tap.check(sorted(n for *_, threads in rows for n in threads) == sorted(n for n in whole.values() if n) and all(total == sum(threads) for _, total, threads in rows),
              "levels of processes and threads above the stacks", (rows, whole))
    b.evaluate("page.zoom(page.tree.children(page.tree.children(0)[0])[0])")
    link = b.evaluate("location.href")
    tap.check("z==threads" in link and "l=tid" in link, "they are in the address", link)
    pick(b, "by", "")
    tap.check(drawn(b) == sums(clock), "without levels again: stacks only")

    # a range of time, by the mouse
    r = b.evaluate("(() => { const r = document.getElementById('time').getBoundingClientRect(); return {x: r.x, y: r.y + r.height / 2, w: r.width}; })()")
    send = lambda kind, x: b.call("Input.dispatchMouseEvent", type=kind, x=x, y=r["y"], button="left", buttons=1, clickCount=1)
    send("mousePressed", r["x"] + r["w"] * 0.25)
    send("mouseMoved", r["x"] + r["w"] * 0.5)
    send("mouseMoved", r["x"] + r["w"] * 0.75)
    send("mouseReleased", r["x"] + r["w"] * 0.75)
    chosen = b.evaluate("page.state.range")
    times = [json.loads(line) for line in run([RESOLVE, "-f", "jsonl", "perf.data"]).stdout.splitlines()]
    zero = min(t["t_ns"] for t in times)
    inside = sum(t["period"] for t in times if t["event"].startswith("cpu-clock") and chosen[0] <= t["t_ns"] - zero <= chosen[1])
    tap.check(b.evaluate("page.tree.total(0)") == inside and 0 < inside < sum(clock.values()), "the samples of half of the time", (chosen, inside))
    press(b, "Heat map")
    tap.check(b.evaluate("document.getElementById('time').clientHeight") > 90, "the heat map of time is drawn")
    b.screenshot("heat.png")
    b.evaluate("page.change({range: null})")
    tap.check(drawn(b) == sums(clock), "all of the time again: as folded has it")

    b.evaluate("document.getElementById('graph').focus()")
    b.key("ArrowDown", 40)
    b.key("ArrowDown", 40)
    tap.check(b.evaluate("page.model.pathOf(page.graph.chosen).split(';').length") == 2, "arrow keys walk")
    b.key("Enter", 13)
    tap.check(b.evaluate("page.state.zoom.split(';').length") == 2, "Enter zooms")
    press(b, "Functions")
    stops = set()
    b.evaluate("document.activeElement.blur()")
    for _ in range(14):
        b.key("Tab", 9)
        stops.add(b.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.slice(0, 30)"))
    tap.check(len(stops) >= 6 and any(s.startswith("Flame graph") for s in stops) and "" not in stops, "at least six named tab stops, and the graph", stops)
    unnamed = b.evaluate("""[...document.querySelectorAll('button, input, select, canvas')].filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() ||
        e.closest('label'))).map(e => e.outerHTML)""")
    tap.check(unnamed == [], "every control has a name", unnamed)
    tap.check(b.problems() == [], "no error, no request", b.problems())


# Everything is shown that can be.
def accessible(b, name):
    found = b.axe()
    tap.check(found == [], name, found)


if os.path.exists(browser.AXE):
    for dark in (False, True):
        with browser.Browser(dark=dark) as b:
            ready(b)
            look = "dark" if dark else "light"
            accessible(b, f"axe-core finds nothing, {look}")
            b.evaluate("document.getElementById('more').click(); page.change({table: true, heat: true, search: 'spin'});"
                       "page.filter({focus: page.tree.frame(page.tree.children(0)[0])}); page.zoom(page.tree.children(0)[0])")
            accessible(b, f"axe-core finds nothing with all that opens, {look}")
            b.evaluate("page.openMenu()")
            accessible(b, f"axe-core finds nothing with a frame's menu, {look}")
            b.evaluate("page.menu.hide(); document.getElementById('help').showModal()")
            accessible(b, f"axe-core finds nothing with the help, {look}")
else:
    tap.skip("accessibility", "axe-core is not here: make deps fetches it by npm")

with browser.Browser(height=900) as b:
    ready(b)
    b.evaluate("page.change({table: true, list: 'tasks'}); page.filter({focus: 0}); page.zoom(page.tree.children(0)[0])")
    small = b.evaluate("[...document.querySelectorAll('#table button, #filters button, #crumbs button, #strip button, .tools button')].map(x => [x.textContent, x.getBoundingClientRect().height]).filter(x => x[1] < 24)")
    tap.check(small == [], "no button is less than 24 px high", small)
    b.evaluate("page.change({...page.startState})")
    share = b.evaluate("document.getElementById('scroll').clientHeight / innerHeight")
    tap.check(share >= 0.85, "the graph has at least 85 % of the height", share)

with browser.Browser(width=390, height=800, mobile=True, dark=True) as b:
    ready(b)
    tap.check(b.evaluate("document.documentElement.scrollWidth") <= 390, "a phone: nothing is wider than it")
    tap.check(b.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 24, 26)", "dark mode is followed")
tap.end()

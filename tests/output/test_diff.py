#!/usr/bin/env python3
"""resolve --diff: shares of both sides, what is new, what has vanished; whatever the command is called."""
import os
import re
import subprocess
import xml.etree.ElementTree as ET

import browser
from tap import LONG, Tap

BIN = os.environ["BIN"]
tap = Tap()
SVG = "{http://www.w3.org/2000/svg}"


def resolve(*args):
    return subprocess.run([f"{BIN}/resolve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name


# New is twice as long a run: only shares count. f 50 % -> 25 %, g 25 % -> 50 %, h stays, old vanishes, new comes.
base = write("base.folded", "app-1;main;f 50\napp-1;main;g 25\napp-1;main;h 20\napp-1;main;old 5\n")
new = write("new.folded", "app-2;main;f 50\napp-2;main;g 100\napp-2;main;h 40\napp-2;main;new 10\n")
p = resolve("--diff", base, new)
rows = {line.rsplit(" ", 2)[0]: tuple(map(int, line.rsplit(" ", 2)[1:])) for line in p.stdout.splitlines()}
tap.check(p.returncode == 0 and rows == {"main;f": (50, 50), "main;g": (25, 100), "main;h": (20, 40), "main;old": (5, 0), "main;new": (0, 10)},
          "folded: two columns", rows, p.stderr)
p = resolve("--diff", base, new, "-o", "d.svg", "--minwidth", "0")
boxes = {}
for g in ET.parse("d.svg").getroot().findall(f"{SVG}g/{SVG}g"):
    title = g.find(f"{SVG}title").text
    rect = g.find(f"{SVG}rect")
    boxes[title.split(" (")[0]] = title, float(rect.get("width")), rect.get("fill")
tap.check(set(boxes) == {"all", "main", "f", "g", "h", "old", "new"}, "svg: all frames of both", boxes)
words = {"f": "50.00 % to 25.00 %, -25.00 points, -50 %", "g": "25.00 % to 50.00 %, +25.00 points, +100 %", "h": "20.00 % to 20.00 %, +0.00 points, +0 %",
         "old": "gone", "new": "new"}
tap.check(all(words[k] in boxes[k][0] for k in words), "svg: shares, points of the whole, percent of the frame", boxes)
whole = boxes["all"][1]
tap.check(all(abs(boxes[k][1] / whole - w) < .001 for k, w in (("f", .375), ("g", .375), ("h", .2), ("old", .025), ("new", .025))), "svg: widths are the mean", boxes)
red, blue = re.compile("#f5([0-9a-f]{2})\\1"), re.compile("#([0-9a-f]{2})\\1f5")
tap.check(red.fullmatch(boxes["g"][2]) and red.fullmatch(boxes["new"][2]) and blue.fullmatch(boxes["f"][2]) and blue.fullmatch(boxes["old"][2]) and
          boxes["h"][2] == "#dcdcdc", "svg: red for more, blue for less, grey for neither", boxes)
for side, want in ("base", {"f": .5, "g": .25, "h": .2, "old": .05}), ("new", {"f": .25, "g": .5, "h": .2, "new": .05}):
    resolve("--diff", base, new, "--diff-width", side, "-o", f"{side}.svg", "--minwidth", "0")
    root = ET.parse(f"{side}.svg").getroot()
    have = {g.find(f"{SVG}title").text.split(" (")[0]: float(g.find(f"{SVG}rect").get("width")) / whole for g in root.findall(f"{SVG}g/{SVG}g")}
    tap.check(set(have) == {"all", "main", *want} and all(abs(have[k] - w) < .001 for k, w in want.items()), f"--diff-width {side}: as wide as there", have)
p = resolve("--diff", base, new, "--diff-width", "both")
tap.check(p.returncode == 2 and "mean, base, new" in p.stderr, "--diff-width with an unknown side: refused", p.stderr)
p = resolve("--diff-width", "new", base)
tap.check("--diff-width changes nothing in folded" in p.stderr, "--diff-width in folded: a line says that it changes nothing", p.stderr)
p = resolve("--diff", base, base, "-o", "same.svg")
fills = {r.get("fill") for r in ET.parse("same.svg").getroot().findall(f"{SVG}g//{SVG}rect")}
tap.check(fills == {"#dcdcdc"}, "svg of a file beside itself: all grey", fills)
p = resolve("--diff", base, "-f", "script", new)
tap.check(p.returncode == 2 and "html" in p.stderr, "formats that show no difference: refused", p.stderr)
p = resolve("--diff", "none.folded", new)
tap.check(p.returncode == 2 and "none.folded" in p.stderr and p.stderr.count("\n") == 1, "a base that is not there: one line", p.stderr)
p = resolve("--diff", base, new, new)
tap.check("main;g 25 200" in p.stdout, "several files of the new side are added up", p.stdout)
two = write("two.folded", p.stdout)
tap.check("main;g" in resolve(two, "--event", "new").stdout, "resolve reads it again")

os.makedirs("old", exist_ok=True)
os.makedirs("now", exist_ok=True)
# Five runs a side of 1,000 samples each. `wild` swings between 5 and 35 % on both sides, `calm` stays within counting: a change of
# 10 points is noise in one and none in the other.
runs = {"old": [(5, 20), (35, 20), (10, 21), (30, 19), (20, 20)], "now": [(15, 30), (35, 29), (40, 31), (25, 30), (35, 30)]}
for side, shares in runs.items():
    for i, (wild, calm) in enumerate(shares):
        write(f"{side}/{i}.folded", f"app;main;wild {wild * 10}\napp;main;calm {calm * 10}\napp;main;rest {1000 - 10 * wild - 10 * calm}\n")


def fills(*args):
    p = resolve(*args, "-o", "runs.svg")
    out = {}
    for g in ET.parse("runs.svg").getroot().findall(f"{SVG}g/{SVG}g"):
        out[g.find(f"{SVG}title").text.split(" (")[0]] = g.find(f"{SVG}rect").get("fill")
    return out, p.stderr


files = [[f"{s}/{i}.folded" for i in range(5)] for s in ("old", "now")]
got, told = fills("--diff", *files[0], "--new", *files[1])
tap.check(got["wild"] == "#dcdcdc" and red.fullmatch(got["calm"]), "several runs a side: their spread says what is noise", got)
tap.check("base: old/0.folded" in told and "new: now/0.folded" in told, "stderr names the files of each side", told)
tap.check(fills("--diff", "old", "now")[0] == got and fills("--diff", "old", "--new", "now")[0] == got, "folders: all files in them")
once = [x for f in files[0] for x in ("--diff", f)] + files[1]
tap.check(fills(*once)[0] == got, "--diff several times: the same")
one, _ = fills("--diff", files[0][2], files[1][2])
tap.check(one["calm"] != "#dcdcdc" and one["wild"] != "#dcdcdc", "one run a side: the number of samples says what is noise", one)
p = resolve("--new", new)
tap.check(p.returncode == 2 and "--diff" in p.stderr, "--new without --diff: refused", p.stderr)
p = resolve("--diff", base, "--new", new, "-q", new)
tap.check(p.returncode == 2 and "neither side" in p.stderr, "an input on neither side: refused", p.stderr)
p = resolve("--diff", base, "-o", base, new)
tap.check(p.returncode == 2, "the base is not written over", p.stderr)

# The page of the same difference.
if not browser.find():
    tap.skip("the differential page", "no chromium")
    tap.end()
resolve("--diff", base, new, "-o", "d.html")
resolve("--diff", *files[0], "--new", *files[1], "-o", "runs.html", "-q")
ROWS = "[...document.querySelectorAll('#table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
COLOURS = """Object.fromEntries(page.graph.boxes.flat().filter(b => b.node > 0).map(b => {
    const f = page.tree.frame(b.node); return [page.model.name(f), page.colourOf(f, b.node)]; }))"""


def ready(b, path):
    b.open("file://" + os.path.abspath(path))
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")


def widths(b):
    return b.evaluate("""Object.fromEntries(page.graph.boxes.flat().filter(b => b.node > 0).map(b =>
        [page.model.name(page.tree.frame(b.node)), Math.round(1000 * b.width / page.graph.width)]))""")


with browser.Browser() as b:
    ready(b, "d.html")
    tap.check(widths(b) == {"main": 1000, "f": 375, "g": 375, "h": 200, "old": 25, "new": 25}, "page: widths are the mean", widths(b))
    for side, want in (("base", {"main": 1000, "f": 500, "g": 250, "h": 200, "old": 50}), ("new", {"main": 1000, "f": 250, "g": 500, "h": 200, "new": 50})):
        b.evaluate(f"(() => {{ const s = document.getElementById('side'); s.value = {side!r}; s.dispatchEvent(new Event('change')); }})()")
        tap.check(widths(b) == want and f"d={side}" in b.evaluate("location.hash"), f"page: or the {side} side's", widths(b))
    b.evaluate("page.change({side: 'mean'})")
    told = b.evaluate("""Object.fromEntries(page.graph.boxes.flat().filter(b => b.node > 0).map(b => {
        page.point(b.node, b); return [page.model.name(page.tree.frame(b.node)), document.getElementById('details').textContent]; }))""")
    tap.check("50.00 % → 25.00 %, −25.00 points of the whole, −50 % of itself" in told["f"] and "new" in told["new"] and "gone" in told["old"],
              "page: of the whole and of the frame", told)
    b.evaluate("document.getElementById('table-button').click()")
    rows = b.evaluate(ROWS)
    tap.check([r[3] for r in rows] == ["g", "new", "h", "main", "old", "f"] and rows[0][:3] == ["25.0 %", "50.0 %", "+25.00"], "page: the table begins with what grew most", rows)
    b.evaluate("[...document.querySelectorAll('#table th button')].find(x => x.textContent.startsWith('Change')).click()")
    tap.check(b.evaluate(ROWS)[0][3] == "f", "page: or with what shrank most")
    b.evaluate("[...document.querySelectorAll('#table th button')].find(x => x.textContent.startsWith('Base')).click()")
    tap.check([r[0] for r in b.evaluate(ROWS)][:2] == ["100.0 %", "50.0 %"], "page: sorted by the base")
    tap.check(b.problems() == [], "page: no error, no request", b.problems())
    b.screenshot("diff.png")
    ready(b, "runs.html")
    colours = b.evaluate(COLOURS)
    grey = b.evaluate("NO_CHANGE")
    tap.check(colours["wild"] == grey and colours["calm"] != grey and colours["main"] == grey, "page: noise is grey", colours)

    # Judged by the caller, as regress does.
    with open("judged.html", "wb") as f:
        subprocess.run([os.path.join(os.environ["BUILD"], "tests", "output", "tool_verdicts")], stdout=f, check=True)
    ready(b, "judged.html")
    colours = b.evaluate(COLOURS)
    tap.check(colours["f"] != grey and colours["g"] == grey and colours["main"] == grey, "page: only what is significant is coloured", colours)
    b.evaluate("page.change({table: true})")
    tap.check({r[4]: r[3] for r in b.evaluate(ROWS)} == {"f": "REGRESSED", "g": "MOVED", "main": ""}, "page: a column of verdicts", b.evaluate(ROWS))
    b.evaluate("page.tell(page.model.rows(null).find(r => r.name === 'f').f)")
    told = b.evaluate("document.getElementById('details').textContent")
    tap.check("REGRESSED, +100 % (80 to 120)" in told, "page: the verdict and its interval are in the details", told)
    tap.check(b.evaluate("document.getElementById('honesty').textContent").startswith("1 function got slower"), "page: the summary stands above it")
    b.screenshot("judged.png")

# ---- clicked through: what the page of one profile does, of both sides ----
BOX = """(() => { const g = page.graph, r = g.canvas.getBoundingClientRect(), b = g.boxes.flat().find(b => b.node > 0 && page.model.name(page.tree.frame(b.node)) === %r);
    return {x: r.x + b.x + b.width / 2, y: r.y + g.y(b.depth) - g.scroll.scrollTop + 8}; })()"""
with browser.Browser() as b:
    ready(b, "d.html")
    box = b.evaluate(BOX % "f")
    b.click(box["x"], box["y"])
    tap.check(b.evaluate("page.model.name(page.tree.frame(page.graph.zoomed))") == "f" and widths(b)["f"] == 1000, "page: a click zooms", widths(b))
    b.evaluate("history.back(), new Promise(r => addEventListener('popstate', () => setTimeout(r), {once: true}))")
    tap.check(b.evaluate("page.state.zoom") == "" and widths(b)["f"] == 375, "page: Back undoes it", widths(b))
    b.key("/", 191, "/")
    b.call("Input.insertText", text="old|new")
    b.evaluate("new Promise(r => setTimeout(r, 150))")
    matched = b.evaluate("document.getElementById('matched').textContent")
    tap.check(matched == "5.00 %", "page: a search has the share of both sides' mean", matched)
    b.key("Escape", 27)
    box = b.evaluate(BOX % "g")
    b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"], y=box["y"])
    told = b.evaluate("document.getElementById('details').textContent")
    tap.check("25.00 % → 50.00 %" in told, "page: the frame under the mouse has both shares in the details", told)
    b.evaluate("document.getElementById('table-button').click()")
    b.evaluate("[...document.querySelectorAll('#table td button')].find(x => x.textContent === 'g').click()")
    tap.check(b.evaluate("page.tree.frame(page.tree.top())") == b.evaluate("page.state.sandwich") >= 0, "page: a row of the table opens the sandwich")
    tap.check(b.evaluate("page.tree.callers(page.tree.top()).map(c => page.model.name(page.tree.frame(c)))") == ["main"], "page: with its callers")
    b.evaluate("page.change({sandwich: -1})")
    b.evaluate("page.graph.choose(page.graph.boxes.flat().find(b => b.node > 0 && b.depth > 1).node)")
    b.key("h", 72, "h")
    tap.check(b.evaluate("page.state.hidden.length") == 1, "page: h hides a function")
    b.key("u", 85, "u")
    tap.check(b.evaluate("page.state.hidden.length") == 0, "page: u shows the hidden function again")
    for name, value in (("side", "new"), ("palette", "safe")):
        b.evaluate(f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r}; s.dispatchEvent(new Event('change')); }})()")
    link = b.evaluate("location.href")
    b.open("about:blank")
    b.open(link)
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")
    tap.check(b.evaluate("[page.state.side, page.state.palette]") == ["new", "safe"], "page: the address restores side and colours", link)
    tap.check(b.problems() == [], "page: no error, no request", b.problems())

if os.path.exists(browser.AXE):
    for dark in (False, True):
        with browser.Browser(dark=dark) as b:
            for i, path in enumerate(("d.html", "judged.html")):
                for palette in ("kind", "safe") if LONG else (("kind", "safe")[i ^ dark],):
                    ready(b, path)
                    b.evaluate(f"document.getElementById('more').click(); page.change({{table: true, palette: {palette!r}, search: 'f'}});"
                               "page.zoom(page.tree.children(0)[0]); page.point(page.tree.children(0)[0])")
                    found = b.axe()
                    tap.check(found == [], f"page: axe-core finds nothing in {path}, {palette}, {'dark' if dark else 'light'}", found)
                b.evaluate("page.openMenu()")
                found = b.axe()
                tap.check(found == [], "page: nor with a frame's menu", found)
else:
    tap.skip("accessibility of differences", "axe-core is not here: make deps fetches it by npm")
with browser.Browser(width=390, height=800, mobile=True, dark=True) as b:
    ready(b, "d.html")
    b.screenshot("diff-phone.png")
    tap.check(b.evaluate("document.documentElement.scrollWidth") <= 390, "page: a phone: nothing is wider than it")
tap.end()

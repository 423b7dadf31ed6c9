#!/usr/bin/env python3
"""Flame graphs (SVG): the numbers against folded output of the same recording, and the picture clicked through in a browser."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import browser
from common import CAPTURE, RESOLVE, Tap, build, run
from tap import event

tap = Tap()
NS = "{http://www.w3.org/2000/svg}"
program = build("g++ -g -O2 -pthread", "threads.cc", "threads")
run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock,page-faults", "-o", "perf.data", "--", program, "0.4"])


def picture(*options):
    """{(depth, x): (name, weight, width, y, fill)} of the frames, and the root element."""
    svg = ET.fromstring(run([RESOLVE, "-f", "flamegraph", *options, "perf.data"]).stdout)
    frames = {}
    for g in svg.iter(NS + "g"):
        title, rect = g.find(NS + "title").text, g.find(NS + "rect")
        name, weight = re.fullmatch(r"(.*) \((.*), [\d.]+%\)", title, re.S).groups()
        frames[int(g.get("data-d")), float(rect.get("x"))] = (name, weight, float(rect.get("width")), int(rect.get("y")), rect.get("fill"))
    return frames, svg


def paths(frames):
    """{path from the root: width}"""
    out, rows = {}, {}
    for (depth, x), f in sorted(frames.items()):
        above = next((p for p in rows.get(depth - 1, []) if p[0] - 0.02 <= x and x + f[2] <= p[1] + 0.02), (0, 0, ()))
        path = above[2] + (f[0],)
        rows.setdefault(depth, []).append((x, x + f[2], path))
        out[path] = out.get(path, 0) + f[2]
    return out


def folded_paths(*options):
    sums = {}
    for line in run([RESOLVE, *options, "perf.data"]).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        path = ("all", *stack.split(";"))
        for i in range(1, len(path) + 1):
            sums[path[:i]] = sums.get(path[:i], 0) + int(n)
    return sums


def same_shares(got, want):
    """Every frame that folded has is as wide as its share, and no other is there."""
    root = want["all",]
    return got.keys() == want.keys() and all(abs(got[p] - 1180 * w / root) < 0.02 for p, w in want.items())


frames, svg = picture("--minwidth", "0")
want = folded_paths()
tap.check(same_shares(paths(frames), want), "frames are the stacks of folded, as wide as their shares", len(frames))
tap.check(max(y for *_, y, _ in frames.values()) == frames[0, 10.0][3], "the root is at the bottom")
inverted = picture("--minwidth", "0", "--inverted")[0]
tap.check(paths(inverted) == paths(frames) and min(y for *_, y, _ in inverted.values()) == inverted[0, 10.0][3], "--inverted: at the top")

reverse, sums = paths(picture("--minwidth", "0", "--reverse")[0]), {}
for line in run([RESOLVE, "perf.data"]).stdout.splitlines():
    stack, n = line.rsplit(" ", 1)
    path = ("all", *reversed(stack.split(";")))
    for i in range(1, len(path) + 1):
        sums[path[:i]] = sums.get(path[:i], 0) + int(n)
tap.check(same_shares(reverse, sums), "--reverse: stacks from the leaf on")

# by samples: next to nanoseconds, pages would be too narrow
both = paths(picture("--minwidth", "0", "--count", "samples", "--event", "all")[0])
tap.check(same_shares(both, folded_paths("--count", "samples", "--event", "all")) and {p[1] for p in both if len(p) == 2} == {event("cpu-clock"), event("page-faults")},
          "--event all: events are the first level")
samples = picture("--minwidth", "0", "--count", "samples")[0]
n = sum(int(l.rsplit(" ", 1)[1]) for l in run([RESOLVE, "--count", "samples", "perf.data"]).stdout.splitlines())
tap.check(samples[0, 10.0][1] == f"{n:,} samples", "--count samples: weights are samples", samples[0, 10.0])
tap.check(picture("--countname", "ticks <&>")[0][0, 10.0][1].endswith(" ticks <&>"), "--countname: is what weights are called")

narrow, cut = picture("--minwidth", "5")
tap.check(0 < len(narrow) < len(frames) and min(w for _, _, w, *_ in narrow.values()) >= 5, "--minwidth: narrower frames are left out")
left_out = 100 * sum(w for p, w in paths(frames).items() if p not in paths(narrow) and p[:-1] in paths(narrow)) / 1180
tap.check(abs(float(cut.get("data-hidden")) - left_out) < 0.1, "--minwidth: data-hidden is the weight left out", (cut.get("data-hidden"), left_out))
tap.check(picture("--width", "700")[1].get("width") == "700", "--width: of the picture")
head = {t.get("id"): t.text for t in picture("--title", "A & <b>", "--subtitle", "two")[1].iter(NS + "text") if t.get("id")}
tap.check(head["title"] == "A & <b>" and head["subtitle"] == "two", "--title, --subtitle: as they were given", head)
fills = {c: {f[4] for f in picture("--colors", c)[0].values()} for c in ("kind", "safe", "hot", "blue")}
tap.check(len({frozenset(f) for f in fills.values()}) == 4, "--colors: pictures differ")
tap.check(picture()[0] == picture("-j1")[0], "the same picture from one thread")


def contrast(fill):
    """Of black letters on it (WCAG 2.1, 1.4.3)."""
    rgb = [int(fill[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05) / 0.05


for palette in ("kind", "safe", "hot", "mem", "io", "red", "green", "blue", "aqua", "yellow", "purple", "orange"):
    worst = min(contrast(f[4]) for f in picture("--colors", palette)[0].values())
    tap.check(worst >= 4.5, f"{palette}: black letters can be read on all frames", worst)

# ---- in a browser ----------------------------------------------------------------------------------

if not browser.find():
    tap.skip("clicks", "no chromium")
    tap.end()
run([RESOLVE, "-o", "x.svg", "perf.data"])
with browser.Browser() as b:
    b.open("file://" + os.path.abspath("x.svg"))
    tap.check(b.evaluate("document.querySelector('g[data-d=\"0\"] rect').getBoundingClientRect().bottom <= innerHeight"), "the root is on the first screen")
    one = b.evaluate("""(() => {
        const gs = [...document.querySelectorAll('g[data-d]')].filter(g => +g.dataset.d > 2);
        const g = gs.find(g => { const w = +g.children[1].getAttribute('width'); return w > 40 && w < 900; });
        g.id = 'target'; g.scrollIntoView({block: 'center'});
        const r = g.children[1].getBoundingClientRect();
        return {x: r.x + r.width / 2, y: r.y + 8, title: g.children[0].textContent}; })()""")
    width = "+document.getElementById('target').children[1].getAttribute('width')"
    before = b.evaluate(width)
    b.click(one["x"], one["y"])
    tap.check(b.evaluate(width) == 1180 and before < 1180, "a click zooms: the frame is as wide as the picture", (before, b.evaluate(width)))
    tap.check(b.evaluate("document.getElementById('details').textContent") == one["title"], "the frame under the mouse is in the details")
    tap.check(b.evaluate("getComputedStyle(document.getElementById('reset')).visibility") == "visible", "after a zoom the reset button is visible")
    tap.check("z=" in b.evaluate("location.hash"), "the address holds the zoom")
    b.evaluate("history.back(), new Promise(r => addEventListener('popstate', () => setTimeout(r), {once: true}))")
    tap.check(abs(b.evaluate(width) - before) < 0.02, "Back undoes it")
    name = re.sub(r" \([^()]*\)$", "", one["title"])
    b.evaluate(f"window.prompt = () => {('^' + re.escape(name) + '$')!r}")
    b.key("/", 191, "/")
    wanted = {p for p in want if name in p}
    outermost = [p for p in wanted if name not in p[:-1]]
    share = 100 * sum(want[p] for p in outermost) / want["all",]
    matched = b.evaluate("document.getElementById('matched').textContent")
    tap.check(re.search(r"matched: ([\d.]+) %", matched) and abs(float(re.search(r"matched: ([\d.]+) %", matched)[1]) - share) < 0.15,
              "a search shows the share of the stacks that it is in", (matched, share))
    tap.check(b.evaluate("document.querySelectorAll('.hit').length") == b.evaluate(
        f"[...document.querySelectorAll('g[data-d] > title')].filter(t => t.textContent.startsWith({name + ' ('!r})).length") > 0, "a search marks its frames")
    b.key("Escape", 27)
    tap.check(b.evaluate("document.querySelectorAll('.hit, .miss').length") == 0, "Escape clears it")
    tap.check(b.problems() == [], "no error, no request", b.problems())

with open("names.folded", "w") as f:
    f.write("app;main;std::map<std::string, std::vector<int, std::allocator<int> >, std::less<std::string> >::find 60\napp;main;other 40\n")
run([RESOLVE, "-q", "-o", "names.svg", "--width", "300", "names.folded"])
with browser.Browser() as b:
    b.open("file://" + os.path.abspath("names.svg"))
    labels = b.evaluate("[...document.querySelectorAll('g[data-d] text')].map(t => t.textContent)")
    tap.check("std::map<…>::find" in labels, "labels keep a function's own name", labels)
    tap.check(b.problems() == [], "no error, no request", b.problems())
tap.end()

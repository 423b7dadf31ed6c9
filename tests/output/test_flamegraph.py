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


def picture(*options, of="perf.data"):
    """{(depth, x): (name, weight, width, y, fill)} of the frames in the picture's list, and the root element."""
    svg = ET.fromstring(run([RESOLVE, "-q", "-f", "flamegraph", *options, of]).stdout)
    names, rows = svg.find(NS + "metadata").text.split("\n\n", 1)
    names, frames, scale = [(line[7:], "#" + line[:6]) for line in names.split("\n")], {}, None
    for depth, row in enumerate(rows.split("\n")):
        end = 0
        for name, gap, weight in ([int(v, 36) for v in box.split(".")] for box in row.split()):
            scale = scale or (float(svg.get("width")) - 20) / weight
            x = 10 + (end + gap) * scale
            end += gap + weight
            line = depth if svg.get("data-up") == "0" else int(svg.get("data-rows")) - 1 - depth
            frames[depth, x] = names[name][0], weight, weight * scale, 62 + 18 * line, names[name][1]
    return frames, svg


def drawn(svg):
    """{y: [(x, end, fill)]} of what is seen without the script, and [(name, weight, x, width, fill, label)] of boxes with letters."""
    lines, wide = {}, []
    top = next(g for g in svg.findall(NS + "g") if g.get("id") == "boxes")
    for g in top.findall(NS + "g"):
        title, rect = g.find(NS + "title").text, g.find(NS + "rect")
        name, weight = re.fullmatch(r"(.*) \((.*), [\d.]+%\)", title, re.S).groups()
        x, width = float(rect.get("x")), float(rect.get("width"))
        wide.append((name, weight, x, width, rect.get("fill"), g.find(NS + "text").text))
        lines.setdefault(int(rect.get("y")), []).append((x, x + width, rect.get("fill")))
    for path in top.findall(NS + "path"):
        for x, y, width in re.findall(r"M([\d.]+) (\d+)h([\d.]+)v17h-[\d.]+z", path.get("d")):
            lines.setdefault(int(y), []).append((float(x), float(x) + float(width), path.get("fill")))
    return lines, wide


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
lines, wide = drawn(svg)
shown = {y: sum(end - x for x, end, _ in line) for y, line in lines.items()}
listed = {}
for _, _, width, y, _ in frames.values():
    listed[y] = listed.get(y, 0) + width
tap.check(shown.keys() == listed.keys() and all(abs(shown[y] - listed[y]) < 1 for y in shown), "the picture without its script has them all", (shown, listed))
tap.check(all(end <= following[0] + 0.1 for line in lines.values() for (_, end, _), following in zip(sorted(line), sorted(line)[1:])), "no two of a row overlap")
want_wide = sorted((n, fill, x, w) for (_, x), (n, _, w, _, fill) in frames.items() if w >= 27.61)
got_wide = sorted((name, fill, x, w) for name, _, x, w, fill, _ in wide)
tap.check(len(got_wide) == len(want_wide) and all(g[:2] == w[:2] and abs(g[2] - w[2]) + abs(g[3] - w[3]) < 0.02 for g, w in zip(got_wide, want_wide)),
          "frames with room for letters are elements of their own", got_wide[:9], want_wide[:9])
tap.check(len(svg.findall(f".//{NS}rect")) + len(svg.findall(f".//{NS}path")) < 60 + 20 * int(svg.get("data-rows")), "and the others are few elements")
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
samples, one = picture("--minwidth", "0", "--count", "samples")
root_title = lambda svg: next(w[1] for w in drawn(svg)[1] if w[0] == "all")
n = sum(int(l.rsplit(" ", 1)[1]) for l in run([RESOLVE, "--count", "samples", "perf.data"]).stdout.splitlines())
tap.check(samples[0, 10.0][1] == n and root_title(one) == f"{n:,} samples", "--count samples: weights are samples", root_title(one))
tap.check(root_title(picture("--countname", "ticks <&>")[1]).endswith(" ticks <&>"), "--countname: is what weights are called")

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
# What is shown now: the boxes with letters as {label: width}, and a box to click at.
WIDE = "Object.fromEntries([...document.querySelectorAll('#boxes g')].map(g => [g.querySelector('text').textContent, +g.querySelector('rect').getAttribute('width')]))"
DETAILS = "document.getElementById('details').textContent"
MATCHED = "document.getElementById('matched').textContent"


def center(b, label):
    return b.evaluate(f"""(() => {{ const g = [...document.querySelectorAll('#boxes g')].find(g => g.querySelector('text').textContent === {label!r});
        g.scrollIntoView({{block: 'center'}}); const r = g.querySelector('rect').getBoundingClientRect(); return [r.x + r.width / 2, r.y + 8]; }})()""")


def opened(b, address=""):
    b.open("about:blank")
    b.open("file://" + os.path.abspath("x.svg") + address)
    return b


with browser.Browser() as b:
    opened(b)
    tap.check(b.evaluate("[...document.querySelectorAll('#boxes rect')].some(r => { const {top, bottom} = r.getBoundingClientRect(); return +r.getAttribute('width') === 1180 && top >= 0 && bottom <= innerHeight; })"),
              "the root is on the first screen")
    at, (name, _, before, *_) = next((k, f) for k, f in sorted(picture()[0].items()) if k[0] > 2 and 60 < f[2] < 900 and len(f[0]) * 7.2 + 6 < f[2])
    b.click(*center(b, name))
    width = b.evaluate(WIDE)[name]
    tap.check(width == 1180, "a click zooms: the frame is as wide as the picture", (name, before, width))
    tap.check(b.evaluate(DETAILS).startswith(name + " ("), "the frame under the mouse is in the details", b.evaluate(DETAILS))
    tap.check(b.evaluate("getComputedStyle(document.getElementById('reset')).visibility") == "visible", "after a zoom the reset button is visible")
    link = b.evaluate("location.hash")
    tap.check(link.startswith("#z=threads;") and link.count(";") == at[0] - 1, "the address holds the zoom, by names", link)
    b.evaluate("history.back(), new Promise(r => addEventListener('popstate', () => setTimeout(r), {once: true}))")
    tap.check(abs(b.evaluate(WIDE)[name] - before) < 0.02, "Back undoes it", b.evaluate(WIDE))
    tap.check(opened(b, link).evaluate(WIDE)[name] == 1180, "a link opens it again")
    for address, word in (("#s=%", "0.0 %"), ("#z=%", "not in this picture"), ("#z=999999", "not in this picture"), ("#z=threads;nobody", "nobody"), ("#z=3", "not in this picture")):
        opened(b, address)
        tap.check(word in b.evaluate(MATCHED) and b.evaluate(f"{WIDE}.all") == 1180, f"{address}: refused with a word", b.evaluate(MATCHED))
    opened(b)
    b.evaluate(f"window.prompt = () => {('^' + re.escape(name) + '$')!r}")
    b.key("/", 191, "/")
    wanted = {p for p in want if name in p}
    outermost = [p for p in wanted if name not in p[:-1]]
    share = 100 * sum(want[p] for p in outermost) / want["all",]
    matched = b.evaluate(MATCHED)
    tap.check(re.search(r"matched: ([\d.]+) %", matched) and abs(float(re.search(r"matched: ([\d.]+) %", matched)[1]) - share) < 0.15,
              "a search shows the share of the stacks that it is in", (matched, share))
    hits = b.evaluate("[...document.querySelectorAll('#boxes g.hit text')].map(t => t.textContent)")
    tap.check(name in hits and b.evaluate("document.querySelectorAll('#boxes .miss').length") > 0, "a search marks its frames", hits)
    b.screenshot("svg.png")
    b.key("Escape", 27)
    tap.check(b.evaluate("document.querySelectorAll('.hit, .miss').length") == 0, "Escape clears it")
    at, (name, _, before, *_) = next((k, f) for k, f in sorted(picture()[0].items()) if k[0] > 2 and 2 < f[2] < 20)
    title = b.evaluate(f"""(() => {{ const r = document.documentElement.getBoundingClientRect(), line = {picture()[0][at][3]} + 8;
        scrollTo(0, r.top + scrollY + line - 300); const top = document.documentElement.getBoundingClientRect();
        document.documentElement.dispatchEvent(new MouseEvent('mousemove', {{clientX: top.left + {at[1] + before / 2}, clientY: top.top + line, bubbles: true}})); return {DETAILS}; }})()""")
    tap.check(title.startswith(name + " ("), "narrow frames are known too", (name, title))
    tap.check(b.problems() == [], "no error, no request", b.problems())

with open("names.folded", "w") as f:
    f.write("app;main;std::map<std::string, std::vector<int, std::allocator<int> >, std::less<std::string> >::find 60\napp;main;other 40\n")
run([RESOLVE, "-q", "-o", "names.svg", "--width", "300", "names.folded"])
with browser.Browser() as b:
    b.open("file://" + os.path.abspath("names.svg"))
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")
    labels = b.evaluate("[...document.querySelectorAll('#boxes text')].map(t => t.textContent)")
    tap.check("std::map<…>::find" in labels, "labels keep a function's own name", labels)
    tap.check(b.problems() == [], "no error, no request", b.problems())

# ---- hostile inputs: the picture's size is bounded by what is drawn, not by names times frames --------------

with open("long.folded", "w") as f:
    f.write(";".join(f"{chr(97 + i % 2)}{'x' * 4000}" for i in range(250)) + " 1\n")
size = len(run([RESOLVE, "-q", "-f", "flamegraph", "long.folded"]).stdout)
tap.check(size < 250 * 1000, "names of 4,000 letters 250 deep: a bounded picture", size)
with open("deep.folded", "w") as f:
    f.write("a;" * 25000 + "b 1\n")
deep = run([RESOLVE, "-q", "-f", "flamegraph", "deep.folded"]).stdout
root = ET.fromstring(deep)
tap.check(int(root.get("data-rows")) == 20000 and float(root.get("data-hidden")) == 100 and "not drawn" in deep, "25,000 levels: 20,000 are drawn, and it is said", root.attrib)
tap.end()

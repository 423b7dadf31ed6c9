#!/usr/bin/env python3
"""Colours of kinds of code, by numbers: how far those of a palette are apart, for all eyes; that black letters can be read on them.

Distance is CIEDE2000 (G. Sharma, W. Wu, E. Dalal, 2005; pairs of their test data below), deficiencies as G. Machado, M. Oliveira and
L. Fernandes (2009) simulate them at full severity, in linear RGB."""
import colorsys
import json
import math
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, run

tap = Tap()
PAGE = os.path.join(os.environ["TOP"], "output", "page")
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def times(matrix, v):
    return [sum(a * b for a, b in zip(row, v)) for row in matrix]


WHITE = times(XYZ, (1, 1, 1))


def linear(rgb):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]


def lab(light):
    f = [t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (v / w for v, w in zip(times(XYZ, light), WHITE))]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def ciede2000(p, q):
    (l1, a1, b1), (l2, a2, b2) = p, q
    c7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    g = 1.5 - 0.5 * math.sqrt(c7 / (c7 + 25 ** 7))
    a1, a2 = a1 * g, a2 * g
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dh, mean_h = h2 - h1, (h1 + h2) / 2
    if c1 * c2 == 0:
        dh, mean_h = 0, h1 + h2
    elif abs(dh) > 180:
        dh -= math.copysign(360, dh)
        mean_h += 180 if h1 + h2 < 360 else -180
    dl, dc, dbig_h = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh) / 2)
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    cos = lambda degrees: math.cos(math.radians(degrees))
    t = 1 - 0.17 * cos(mean_h - 30) + 0.24 * cos(2 * mean_h) + 0.32 * cos(3 * mean_h + 6) - 0.2 * cos(4 * mean_h - 63)
    sl = 1 + 0.015 * (mean_l - 50) ** 2 / math.sqrt(20 + (mean_l - 50) ** 2)
    sc, sh = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    turn = math.radians(60 * math.exp(-((mean_h - 275) / 25) ** 2))
    rt = -math.sin(turn) * 2 * math.sqrt(mean_c ** 7 / (mean_c ** 7 + 25 ** 7))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dbig_h / sh) ** 2 + rt * (dc / sc) * (dbig_h / sh))


PAIRS = (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, -1, 2), (50, 0, 0), 2.3669), ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
         ((50, 2.5, 0), (73, 25, -18), 27.1492), ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644), ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082))
tap.check(all(abs(ciede2000(p, q) - want) < 1e-4 for p, q, want in PAIRS), "distances are those of the published pairs", [ciede2000(p, q) for p, q, _ in PAIRS])


def seen(rgb, eye):
    return lab([min(1, max(0, c)) for c in times(EYES[eye], linear(rgb))])


def contrast(rgb):
    """Of black letters (WCAG 2.1, 1.4.3)."""
    return (sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(rgb))) + 0.05) / 0.05


def closest(classes, eye):
    """(distance, class, class) of the two nearest colours of different classes."""
    views = {name: [seen(c, eye) for c in colours] for name, colours in classes.items()}
    names = sorted(views)
    return min((ciede2000(p, q), a, b) for i, a in enumerate(names) for b in names[:i] for p in views[a] for q in views[b])


def judge(where, classes, eyes):
    for eye in eyes:
        least = closest(classes, eye)
        tap.check(least[0] >= 10, f"{where}: {len(classes)} kinds are apart, {eye}", least)
    worst = min((contrast(c), name) for name, colours in classes.items() for c in colours)
    tap.check(worst[0] >= 4.5, f"{where}: black letters can be read", worst)


def ends(colours):
    """The shades that may be nearest to another kind's: the extremes of each channel."""
    return sorted({pick(colours, key=lambda c: (c[k], c)) for k in range(3) for pick in (min, max)} | {pick(colours, key=sum) for pick in (min, max)})


# ---- the page ------------------------------------------------------------------------------------------

KINDS = ["task", "user", "inlined", "JIT", "kernel", "no name"]
if shutil.which("node"):
    script = "".join(open(os.path.join(PAGE, f)).read() for f in ("labels.js", "colours.js")) + """
const names = Array.from({length: 3000}, (_, i) => `f${i}`), out = {};
for (const palette of ["kind", "safe"]) {
    out[palette] = Object.fromEntries(KINDS.map((k, i) => [k, [...new Set(names.map(n => colourOf(palette, i, n, "m")))]]));
    Object.assign(out[palette], {smaller: [smallerColour(palette)], hit: [hitColour(palette)]});
    out[palette].task.push(wholeColour);
}
console.log(JSON.stringify(out));"""
    for palette, classes in json.loads(subprocess.run(["node", "-e", script], stdout=subprocess.PIPE, check=True, text=True).stdout).items():
        parsed = {}
        for name, colours in classes.items():
            numbers = [[float(x) for x in re.findall(r"[\d.]+", c)] for c in colours]
            parsed[name] = ends([colorsys.hls_to_rgb(h / 360, l / 100, s / 100) for h, s, l in numbers])
        tap.check(len(parsed) == 8 and all(len(v) > 1 for k, v in parsed.items() if k in KINDS), f"page, {palette}: eight kinds, with shades", {k: len(v) for k, v in parsed.items()})
        judge(f"page, {palette}", parsed, EYES if palette == "safe" else ("normal",))
else:
    tap.skip("colours of the page", "no node")

# ---- the picture -----------------------------------------------------------------------------------------

MARKS = {"user": "f{}", "inlined": "f{}_[i]", "JIT": "f{}_[j]", "kernel": "f{}_[k]", "no name": "[lib{}]", "task": "app{}"}
with open("kinds.folded", "w") as f:
    for i in range(150):
        f.write(";".join(MARKS[k].format(i) for k in ("task", "user", "inlined", "JIT", "kernel", "no name")) + " 10\n")
for palette in ("kind", "safe"):
    svg = run([RESOLVE, "-q", "-f", "flamegraph", "--colors", palette, "--all", "--inline", "--width", "6000", "kinds.folded"]).stdout
    fills = re.findall(r"<title>(.*?) \(.*?fill=\"#([0-9a-f]{6})\"", svg)
    patterns = {k: re.compile(re.escape(m).replace(r"\{\}", r"\d+") + "$") for k, m in MARKS.items()}
    classes = {k: [tuple(int(c[i:i + 2], 16) / 255 for i in (0, 2, 4)) for name, c in fills if p.match(name)] for k, p in patterns.items()}
    classes = {k: ends(v) for k, v in classes.items() if v}
    hit = re.search(r"\.hit rect\{fill:#([0-9a-f]{6})", svg)
    classes["hit"] = [tuple(int(hit[1][i:i + 2], 16) / 255 for i in (0, 2, 4))] if hit else []
    tap.check(set(classes) == set(MARKS) | {"hit"}, f"picture, {palette}: all kinds are drawn", sorted(classes))
    judge(f"picture, {palette}", classes, EYES if palette == "safe" else ("normal",))
tap.end()

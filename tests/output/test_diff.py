#!/usr/bin/env python3
"""resolve --diff: shares of both sides, what is new, what has vanished; whatever the command is called."""
import os
import re
import subprocess
import xml.etree.ElementTree as ET

from tap import Tap

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
for g in ET.parse("d.svg").getroot().iter(f"{SVG}g"):
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
p = resolve("--diff", base, base, "-o", "same.svg")
fills = {r.get("fill") for r in ET.parse("same.svg").getroot().iter(f"{SVG}rect") if r.get("y")}
tap.check(fills == {"#dcdcdc"}, "the same twice: all grey", fills)
p = resolve("--diff", base, "-f", "top", new)
tap.check(p.returncode == 2 and "no differences" in p.stderr, "formats that show none: refused", p.stderr)
p = resolve("--diff", "none.folded", new)
tap.check(p.returncode == 2 and "none.folded" in p.stderr and p.stderr.count("\n") == 1, "a base that is not there", p.stderr)
p = resolve("--diff", base, new, new)
tap.check("main;g 25 200" in p.stdout, "several new ones are added up", p.stdout)
two = write("two.folded", p.stdout)
tap.check("main;g" in resolve(two, "--event", "new").stdout, "resolve reads it again")
tap.end()

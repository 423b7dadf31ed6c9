#!/usr/bin/env python3
"""Real and hostile recordings through the whole road, unwinding and names included.

For each: no signal, no sanitizer, a status of the three there are; samples as the manifest says (see
tests/reader/test_corpus.py for how it was made, and for the one exception); where the status is 0 there is also a
profile. The files' programs are not here, so most of this is about stacks of which no code is known.
"""
import os
import re

from common import RESOLVE, TOP, Tap, resolve, run

CORPUS = os.path.join(TOP, "../shared/corpus")
EXPECT = {"quipper/piped.corrupted.zero_size_sample-3.2.data": 227}
t = Tap()


def rows():
    if not os.path.exists(f"{CORPUS}/MANIFEST.tsv"):
        t.skip("corpus", "no ../shared/corpus here")
        return []
    with open(f"{CORPUS}/MANIFEST.tsv") as f:
        return [line.rstrip("\n").split("\t") for line in f][1:]


for row in rows():
    name, told = row[0], re.search(r"samples=(\d+)", row[-1])
    path = f"{CORPUS}/{name}"
    script = run([RESOLVE, "-f", "script", path], check=False)
    bad = "Sanitizer" in script.stderr or script.returncode not in (0, 1, 2)
    t.check(not bad, f"{name} does no harm", f"status {script.returncode}\n{script.stderr[-2000:]}")
    t.check(script.returncode or script.stdout, f"{name}: no silent empty profile")
    if not told or not int(told.group(1)):
        continue
    _, stats = resolve(path, check=False)
    t.check(stats and stats["samples"] == EXPECT.get(name, int(told.group(1))),
            f"{name}: {told.group(1)} samples", stats)
t.end()

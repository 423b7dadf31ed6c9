#!/usr/bin/env python3
"""Real recordings of perf 3.2 .. 6.18 and simpleperf: each gives as many samples as its manifest says.

The manifest was made by an independent walk over the records. Two rows need a word: the corrupted pipe has a
record of size 0 in its middle, where the walk stopped and we find back (its undamaged twin has 228 samples, one of
them is the damaged one); for groups the manifest counts records, we count samples as perf does.
"""
import os
import re
import subprocess

from tap import Tap

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/reader/tool_dump")
CORPUS = os.path.join(TOP, "../shared/corpus")
EXPECT = {"quipper/piped.corrupted.zero_size_sample-3.2.data": 227}
tap = Tap()
check = tap.check


def stats(path, *args):
    p = subprocess.run([TOOL, "-s", *args, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    values = dict(re.findall(r"^(\w+) (\d+)$", p.stdout.decode(errors="replace"), re.M))
    return p.returncode, {k: int(v) for k, v in values.items()}, p.stderr.decode(errors="replace")


def dump(path, *args):
    return subprocess.run([TOOL, "-c", *args, path], stdout=subprocess.PIPE, timeout=120).stdout


def main():
    if not os.path.exists(f"{CORPUS}/MANIFEST.tsv"):
        tap.skip("corpus", "no ../shared/corpus here")
        return
    with open(f"{CORPUS}/MANIFEST.tsv") as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]
    for row in rows:
        name, told = row[0], re.search(r"samples=(\d+)", row[-1])
        rc, s, err = stats(f"{CORPUS}/{name}")
        if not told:
            check(rc in (0, 1, 2) and "Sanitizer" not in err, f"{name} does no harm", f"status {rc} {err}")
            continue
        want = EXPECT.get(name, int(told.group(1)))
        check(s.get("samples") == want == s.get("seen"), f"{name}: {want} samples", f"{rc} {s} {err}")
        check(dump(f"{CORPUS}/{name}", "-m") == dump(f"{CORPUS}/{name}"), f"{name}: the same when it is mapped")
        check(s.get("sample_records") == s.get("seen") + s.get("skipped_samples") and s["backwards"] == 0,
              f"{name}: accounting and order", f"{s}")


main()
tap.end()

#!/usr/bin/env python3
"""The recordings of testdata/: what resolve says of each, on any machine, byte for byte. By hand: `test_recordings.py --update` writes
what it says now into testdata/, to be looked at in `git diff`; testdata/recordings/README.md."""
import difflib
import lzma
import os
import sys
import tarfile

from common import RESOLVE, TOP, Tap

PLACE = os.path.join(TOP, "testdata", "recordings")
sys.path.insert(0, PLACE)
import golden  # noqa: E402

tap = Tap()
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
names = sorted(n for n in os.listdir(PLACE) if os.path.exists(os.path.join(PLACE, n, "perf.data.xz")))
tap.check(len(names) >= 10, "there are recordings", names)
for name in names:
    with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open("perf.data", "wb") as f:
        f.write(packed.read())
    have = golden.outputs(RESOLVE, "perf.data", "root")
    if "--update" in sys.argv:
        golden.write(os.path.join(PLACE, name), have)
    for kind, text in have.items():
        with open(os.path.join(PLACE, name, kind)) as f:
            want = f.read()
        tap.check(text == want and text, f"{name}: {kind}", *list(difflib.unified_diff(want.splitlines(), text.splitlines(), "testdata", "now", n=1, lineterm=""))[:20])
tap.end()

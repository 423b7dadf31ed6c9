#!/usr/bin/env python3
"""The recordings of testdata/: what resolve says of each, on any machine, byte for byte; also under another kernel than the running
one, with another vDSO (tests/other_kernel.c). By hand: `test_recordings.py --update` writes
what it says now into testdata/, to be looked at in `git diff`; testdata/recordings/README.md."""
import difflib
import lzma
import os
import sys
import tarfile

from common import RESOLVE, TOP, Tap, run

PLACE = os.path.join(TOP, "testdata", "recordings")
sys.path.insert(0, PLACE)
import golden  # noqa: E402

tap = Tap()
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
names = sorted(n for n in os.listdir(PLACE) if os.path.exists(os.path.join(PLACE, n, "perf.data.xz")))
tap.check(len(names) >= 10, "there are recordings", names)
run(["gcc", "-O2", "-shared", "-fPIC", os.path.join(TOP, "tests", "other_kernel.c"), "-o", "other_kernel.so", "-ldl"])
OTHER_KERNEL = {"LD_PRELOAD": os.path.abspath("other_kernel.so"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
tap.check("5.0.0-other" in run(["uname", "-r"], env={**os.environ, **OTHER_KERNEL}).stdout, "a preloaded library shows another kernel")
for name in names:
    with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open("perf.data", "wb") as f:
        f.write(packed.read())
    have = golden.outputs(RESOLVE, "perf.data", "root")
    if "--update" in sys.argv:
        golden.write(os.path.join(PLACE, name), have)
    other = golden.outputs(RESOLVE, "perf.data", "root", **OTHER_KERNEL)
    for kind, text in have.items():
        with open(os.path.join(PLACE, name, kind)) as f:
            want = f.read()
        tap.check(text == want and text, f"{name}: {kind}", *list(difflib.unified_diff(want.splitlines(), text.splitlines(), "testdata", "now", n=1, lineterm=""))[:20])
        tap.check(other[kind] == want, f"{name}: {kind}, another kernel",
                  *list(difflib.unified_diff(want.splitlines(), other[kind].splitlines(), "testdata", "now", n=1, lineterm=""))[:20])
tap.end()

#!/usr/bin/env python3
"""Profiles of other tools whose names are still mangled are shown as recordings are: what --no-demangle writes of a recording, read
again, gives the stacks of the recording itself. --no-demangle leaves the names then, too.
"""
import lzma
import os
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, run  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
FORMATS = ["folded", "script", "pprof", "jsonl", "jsonl2", "firefox"]  # those that keep the command
FOLDED = """p;main;_ZN3foo3barEi;_ZN3foo3barEi_[i];_RNvC6_123foo3bar;_ZN4core3fmt9Formatter3pad17h0123456789abcdefE 5
p;main;_ZNSt6vectorIiSaIiEE9push_backERKi;_D3std5stdio6writelFZv;_Zstuff;_R;_DYNAMIC;_Z 7
p;main;_ZN3foo3barEc 2
"""


def folded(path, *options):
    return run([RESOLVE, "-q", "--no-cache", "--symfs", "root", "--kallsyms", "root/kallsyms", *options, path]).stdout


def as_recorded(name):
    with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open("perf.data", "wb") as f:
        f.write(packed.read())
    plain, readable = folded("perf.data", "--no-demangle"), folded("perf.data")
    tap.check(plain != readable and "_ZN" in plain, f"{name}: has mangled names")
    for form in FORMATS:
        folded("perf.data", "--no-demangle", "-f", form, "-o", f"mangled.{form}")
        have = folded(f"mangled.{form}")
        tap.check(have == readable, f"{name}, {form}: read again with the names of the recording", have[:300], readable[:300])
        have = folded(f"mangled.{form}", "--no-demangle")
        tap.check(have == plain, f"{name}, {form}: --no-demangle leaves them", have[:300], plain[:300])


def main():
    with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
        t.extractall(".")
    as_recorded("cpp-capture")
    as_recorded("rust")
    with open("m.folded", "w") as f:
        f.write(FOLDED)
    want = {
        "full": ["p;main;foo::bar 2", "p;main;foo::bar;foo::bar_[i];123foo::bar;core::fmt::Formatter::pad 5",
                 "p;main;std::vector<int, std::allocator<int> >::push_back;std.stdio.writel;_Zstuff;_R;_DYNAMIC;_Z 7"],
        "simple": ["p;main;foo::bar 2", "p;main;foo::bar;foo::bar_[i];123foo::bar;core::fmt::Formatter::pad 5",
                   "p;main;std::vector<...>::push_back;std.stdio.writel;_Zstuff;_R;_DYNAMIC;_Z 7"],
        "none": sorted(FOLDED.splitlines()),
    }
    for how, lines in want.items():
        have = sorted(folded("m.folded", f"--demangle={how}").splitlines())
        tap.check(have == lines, f"folded, --demangle={how}: what is mangled and what only looks so", have)
    rows = folded("m.folded", "-f", "top")
    tap.check(all(f"[.] {name}\n" in rows for name in ("foo::bar(int)", "foo::bar(char)", "std.stdio.writel()")), "top: with the arguments", rows)


main()
tap.end()

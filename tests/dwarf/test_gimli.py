#!/usr/bin/env python3
"""Random addresses of real code: inline chains, names, files and lines against gimli (Rust's own backtraces use it).

	test_gimli.py [-n ADDRESSES] [FILE...]

Without FILE the program is gimli itself with the Rust standard library in it, and a program in C++ built
with gcc and clang. Differences are sorted into classes that are known and say who is right (CLASSES); what
is left over must be below 0.1 %.
"""
import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

import test_diff as diff

CRATES = "/usr/share/cargo/registry"
HERE = os.path.dirname(os.path.abspath(__file__))

CLASSES = {
    "same": "",
    "line 0": "code of no line: gimli says 0, ours the line before it in the same function",
    "file 0": "called from the unit's own file, number 0 in DWARF 5: gimli keeps to DWARF 4, where 0 is no file",
    "padding": diff.CLASSES["padding"],
    "several units": "COMDAT functions: linkers keep the first copy, and ld lets the DWARF of all point to it; gimli takes "
                     "the last unit, ours the first, in the order of linking",
}


def rustc(*args):
    subprocess.run(["rustc", "--edition", "2018", "-A", "warnings", "-L", ".", *args], check=True)


def build_gimli():
    """The oracle from the sources that the distribution packages; cargo is not needed."""
    for crate, needs, features in (("gimli", (), ("read", "read-core")), ("smallvec", (), ()),
                                   ("addr2line", ("gimli", "smallvec"), ())):
        rustc("--crate-type", "rlib", "--crate-name", crate, *(f"--cfg=feature=\"{f}\"" for f in features),
              *(f"--extern={n}=lib{n}.rlib" for n in needs), glob.glob(f"{CRATES}/{crate}-[0-9]*/src/lib.rs")[0])
    minor = int(re.search(r"addr2line-0\.(\d+)", glob.glob(f"{CRATES}/addr2line-[0-9]*")[0])[1])
    rustc("-g", *["--cfg=lookups"] * (minor >= 20), "--extern=gimli=libgimli.rlib", "--extern=addr2line=libaddr2line.rlib",
          os.path.join(HERE, "tool_gimli.rs"))
    return os.path.abspath("tool_gimli")


def gimli(tool, exe, addresses):
    """{address: (units, [(linkage name or name, file, line)])}: how many units claim the address"""
    subprocess.run(["objcopy", "--decompress-debug-sections", exe, "plain"], check=True)
    p = subprocess.run([tool, "plain"], input="\n".join(hex(a) for a in addresses), capture_output=True, text=True,
                       check=True)
    os.unlink("plain")
    out = {}
    for line in p.stdout.splitlines():
        if line[0] != "\t":
            addr, units = line.split()
            frames = out.setdefault(int(addr, 16), (int(units), []))[1]
        else:
            f = line.split("\t")
            frames.append(("" if f[1] == "-" else f[1], diff.clean(f[2]), int(f[3])))
    return out


def classify_one(o, g):
    if not o and g and g[0] == ("", g[0][1], 0):
        return "line 0"
    if len(o) == 1 and not any(o[0][:2]) and not g:
        return "padding"
    if len(o) != len(g):
        return "chain differs"
    if any(not diff.same_name(a, b[0]) for a, b in zip(o, g)):
        return "name differs"
    kinds = {"line 0" if not b[2] else "file 0" if not b[1] and a[3] == b[2] else "line differs"
             for a, b in zip(o, g) if a[2:] != b[1:]}
    return "same" if not kinds else "line differs" if "line differs" in kinds else min(kinds)


def classify(o, g):
    units, frames = g
    kind = classify_one(o, frames)
    return "several units" if kind not in CLASSES and units > 1 else kind


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=10000)
    ap.add_argument("files", nargs="*")
    a = ap.parse_args()
    for what, here in (("rustc", shutil.which("rustc")), ("crates of addr2line", glob.glob(CRATES + "/addr2line-*"))):
        if not here:
            print(f"ok - gimli # SKIP no {what}")
            return 0
    tool = build_gimli()
    failed = False
    for exe in a.files or [tool, *diff.build()]:
        addresses = diff.random_addresses(exe, a.n)
        failed |= diff.compare(os.path.basename(exe), "gimli", diff.ours(exe, addresses), gimli(tool, exe, addresses),
                               classify, CLASSES)
    return failed


if __name__ == "__main__":
    sys.exit(main())

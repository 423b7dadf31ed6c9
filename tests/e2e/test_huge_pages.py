#!/usr/bin/env python3
"""Code that its program moved to anonymous memory at the same addresses, to have it on huge pages (node --use-largepages,
MySQL, BOLT's -hugify). Truth by construction: the same program without moving, whose stacks are the same."""
from common import *

tap = Tap()
need_events()
WANT = ("main", "outer", "middle", "leaf")


def record(how, *more, name, tool=None):
    """(shares of stacks that hold what was called, roots, names) in percent"""
    data = f"{name}.data"
    if tool:
        run(["perf", "record", "-q", *tool, "-F", "499", "--call-graph", "dwarf,8192", "-o", data, "--", program, how, *more])
    else:
        run([CAPTURE, "-q", "-F", "499", "-o", data, "--", program, how, *more])
    out, stats = resolve(data)
    stacks = folded(out)
    called = sum(n for s, n in stacks.items() if [f.split("@")[0] for f in s if f.split("@")[0] in WANT] == list(WANT) and s[1] == "_start")
    return 100 * called / sum(stacks.values()), 100 * stats["root"] / stats["user_stacks"], out


program = build("gcc", "huge_text.c", "huge_text", "-O1", "-fno-toplevel-reorder", "-ldl")
library = build("gcc", "huge_text.c", "huge.so", "-O1", "-fno-toplevel-reorder", "-DLIBRARY", "-shared", "-fPIC")
for name, args, tool in (("as it is", ["none"], None), ("the program's code", ["rwx"], None), ("written to before it is executable", ["rw"], None),
                         ("a library's code", ["rwx", library], None), ("perf", ["rwx"], []), ("perf record -d", ["rw"], ["-d"])):
    called, roots, out = record(*args, name="x", tool=tool)
    # while it starts, moves and asks for the time it is elsewhere; where the moved code is not known there is none
    tap.check(called > 65 and roots > 98, f"{name}: {' '.join(args[:1])}", f"{called:.1f} % main;outer;middle;leaf, {roots:.1f} % roots", out)
_, _, out = record("reuse", library, name="reuse")
tap.check(not any("huge.so" in f or "leaf" in f for s in folded(out) for f in s) and "perf-" in out, "other code where a library was is not the library's", out)
tap.end()

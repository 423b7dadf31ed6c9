#!/usr/bin/env python3
"""Copies that were too small: resolve says how large they should have been. The program says how deep its stacks are;
and recorded with the advised size none is cut. Stacks of very many frames reach their root."""
import re

from common import RESOLVE, Tap, build, folded, have, perf_record, resolve, run

tap = Tap()
if not have("perf"):
    tap.skip("depths", "perf is not installed")
    tap.end()
DEPTHS = build("gcc", "depths.c", "depths", "-O1", "-fno-optimize-sibling-calls", "-pthread")
ADVICE = re.compile(r"resolve: \S+: (\d+) % of the stacks are cut at (\d+) bytes(?: \(.* other samples\))?; "
                    r"(?:99 % of these need at most (\d+)|(\d+) % of these need more than 65528|(their depth is not known))"
                    r"; (?:record with --call-graph dwarf,(\d+)|(a recording cannot hold more))\n")
SLACK = 5 * 1024  # both ends are rounded to KiB; and what libc puts above a thread's first function: its descriptor and TLS


def record(size, *args, before=""):
    """Bytes of stack that the program has counted."""
    perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", f"dwarf,{size}", "-o", "d.data", "--",
                "sh", "-c", f"{before} exec {DEPTHS} {' '.join(map(str, args))} > said")
    with open("said") as f:
        return int(f.read())


def advice(*options):
    p = run([RESOLVE, "--no-inline", *options, "d.data"])
    return ADVICE.search(p.stderr), p.stderr


for args in ((20, 1000, "shallow"), (40, 1000, "shallow", "thread")):
    need = record(8192, *args)
    for options in ((), ("--no-stitch", "-j3")):
        a, text = advice(*options)
        if not tap.check(a and a[3] and need <= int(a[3]) < need + SLACK and a[6] == a[3],
                         f"advice for {args} {options}: what the program needs", (need, text)):
            continue
    record(int(a[6]), *args)
    again, stats = resolve("d.data", "--no-inline", "--no-stitch")
    tap.check(stats["truncated"] * 50 <= stats["user_stacks"] and stats["user_stacks"] > 50, f"{args}: recorded with the size advised, no stack is cut", stats)
    record(need - 2048, *args)
    stats = resolve("d.data", "--no-inline", "--no-stitch")[1]
    tap.check(stats["truncated"] * 3 > stats["user_stacks"], f"{args}: recorded with less, stacks are cut", stats)

need = record(4096, 5, 1000)
a, text = advice()
tap.check(a and (a[5] or need <= int(a[3] or 65528)) and int(a[1]) > 90, "no stack reaches its root: from the end of the first thread's", (need, text))


def unknown(*args, before="", options=((),)):
    """Whether it is said that the size is unknown; where something else is said in between, that must be right: a thread that was met near its
    beginning or its end tells how deep all its stacks are."""
    for _ in range(5):
        depth = record(4096, *args, before=before)
        said = [advice(*o) for o in options]
        if not all(a and (depth <= int(a[3]) < depth + SLACK if a[3] else a[5]) for a, _ in said):
            break
        if all(a[5] and a[6] == "65528" for a, _ in said):
            return True, said
    return False, depth, said


good, *why = unknown(20, 1000, "thread", options=((), ("--no-stitch",)))
tap.check(good, "another thread's depth: unknown or right, with stitching and without", why)
# The first program's samples, of which that is known, are far fewer and need half as much.
good, *why = unknown(20, 1000, "thread", before=f"timeout 0.05 {DEPTHS} 8 1000;")
tap.check(good, "the depth is known of a few samples only: unknown or right", why)
need = record(8192, 100, 1000, "shallow")
a, text = advice()
# A sample may be taken on the way down.
tap.check(need > 65528 and a and int(a[4] or 0) > 90 and a[6] == "65528", "stacks deeper than the largest copy: the advice is the largest", (need, text))
record(65528, 100, 1000, "shallow")
a, text = advice()
tap.check(a and int(a[4] or 0) > 90 and a[7], "recorded with the largest copy: no size is advised", text)
need = record(8192, 2, 100)
a, text = advice()
tap.check(need < 4096 and "are cut" not in text, "nothing is cut: no advice", text)

need = record(65528, 2500, 0)
text, stats = resolve("d.data", "--no-inline")
deepest = max(folded(text), key=len)
tap.check(need < 65528 and stats["root"] * 50 >= stats["user_stacks"] * 49 and stats["broken"] == 0, "2500 calls: all reach the root", (need, stats))
tap.check(deepest.count("small_level") == 2500 and deepest[1] == "_start", "2500 calls: each is there", (len(deepest), deepest[:4]))
tap.end()

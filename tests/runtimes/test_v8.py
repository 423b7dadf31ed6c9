#!/usr/bin/env python3
"""Stacks of node (V8), from a recording alone.

By construction: in tests/programs/cycle.js f0() calls f1(), f1() calls f2(), f2() calls f0(), in JavaScript or in WebAssembly: small
functions, which are often met before they have made their frame. Without a flag each stack must reach its root. With names, by a perf
map, each function on a stack must have been called by the one before it in the cycle: none may be left out."""
import collections
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, Tap, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()
# In the perf map: "JS:*f1 .." of a function in JavaScript, "Function:wasm-function[1]-..", or "Function:1-.." of one in WebAssembly.
NAME = re.compile(r"(?:JS:)?[*^~+']*f([012])\b|.*wasm-function\[([012])\]|Function:([012])-")


def record(data, flags, mode, node="node"):
    need_events()
    run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", data, "--", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh",
         node, *flags, os.path.join(PROGRAMS, "cycle.js"), mode, "600"])
    out, stats = resolve(data)
    with open("pid") as f:
        path = f"/tmp/perf-{f.read().strip()}.map"
    script = resolve(data, "-f", "script", "--no-inline", "-F", "+symoff")[0]
    if os.path.exists(path):
        os.unlink(path)
    return folded(out), stats, script


def callers_of_prologue(script):
    """Where functions call the builtin that makes the frame of compiled code that is not optimised: {offset: samples}. By construction
    of V8 (baseline-compiler-x64-inl.h) they call it first of all; a caller that was left out would stand at another place."""
    at = collections.Counter()
    for _, *frames in (block.splitlines() for block in script.split("\n\n") if block.strip()):
        if len(frames) > 1 and "Builtins_BaselineOutOfLinePrologue+" in frames[0]:
            if re.search(r" JS:\^f[012] ", frames[1]):
                at[frames[1].rsplit("+", 1)[-1].split()[0]] += 1
            elif " JS:" not in frames[1]:
                at[frames[1]] += 1
    return at


def another_name(by_frames):
    """node is known by its file's name, which has the version where several are installed. V8 is the same: as many roots."""
    flags = [*by_frames, "--no-opt", "--always-sparkplug"]
    path = os.path.join(os.getcwd(), "node-22")
    shutil.copy(os.path.realpath(shutil.which("node")), path)
    _, stats, _ = record("named22.data", flags, "js", path)
    n, roots = stats["user_stacks"], stats["root"]
    tap.check(n > 300 and roots >= 0.98 * n, f"a file node-22: {roots} of {n} stacks reach the root", stats)


def no_name(by_frames):
    """A program with V8 in it, by any name and stripped, is told by what it exports."""
    path = os.path.join(os.getcwd(), "server")
    run(["strip", "-o", path, os.path.realpath(shutil.which("node"))])
    _, stats, _ = record("server.data", [*by_frames, "--no-opt", "--always-sparkplug"], "js", path)
    n, roots = stats["user_stacks"], stats["root"]
    tap.check(n > 300 and roots >= 0.98 * n, f"another name, stripped: {roots} of {n} stacks reach the root", stats)


def main():
    if NO_EVENTS:
        return tap.skip("V8", NO_EVENTS)
    if not have("node"):
        return tap.skip("V8", "no node")
    if os.uname().machine != "x86_64":
        return tap.skip("V8", "the first and last instructions of its functions are known for x86-64 only")
    # What is inlined has no frame: by Maglev, on by default since V8 12, and in wasm.
    known = run(["node", "--v8-options"]).stdout
    by_frames = [f"--no-{how}" for how in ("maglev", "wasm-inlining") if f"--{how} " in known]
    for mode, flags in ("js", ["--no-turbo-inlining"]), ("js", ["--no-opt", "--no-sparkplug"]), ("js", ["--no-opt", "--always-sparkplug"]), ("wasm", []):
        flags = [*by_frames, *flags]
        what = " ".join([mode, *flags])
        _, stats, _ = record("bare.data", flags, mode)
        stacks, named, script = record("named.data", ["--perf-basic-prof", "--interpreted-frames-native-stack", *flags], mode)
        for how, stats in ("", stats), (", with names", named):
            n, roots = stats["user_stacks"], stats["root"]
            tap.check(n > 300 and roots >= 0.98 * n, f"{what}{how}: {roots} of {n} stacks reach the root", stats)
        bad, n = collections.Counter(), 0
        for stack, weight in stacks.items():
            seen = [int(next(filter(None, m.groups()))) for m in map(NAME.match, stack) if m]
            n += weight if seen else 0
            if any((a + 1) % 3 != b for a, b in zip(seen, seen[1:])) or len(seen) > 13:
                bad[stack] += weight
        tap.check(n and not bad, f"{what}: of {len(stacks)} different stacks none lacks a caller or has a wrong one", bad.most_common(2))
        if "--always-sparkplug" in flags:
            at = callers_of_prologue(script)
            tap.check(sum(at.values()) < 20 or len(at) == 1, f"{what}: {sum(at.values())} times in the prologue, called from one place", at)
    another_name(by_frames)
    no_name(by_frames)
    return 0


main()
tap.end()

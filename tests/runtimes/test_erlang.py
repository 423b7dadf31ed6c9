#!/usr/bin/env python3
"""Stacks of Erlang's compiled code, from a recording alone.

By construction: in tests/programs/cycle.erl f0 calls f1, f1 calls f2 (once by apply()), f2 calls f0. With +JPperf true the code has names
and frame pointers: none of these functions may be left out of a stack, and it must reach its root. The C functions that Erlang calls run
on the thread's stack while the process' own is not copied: such a stack must say that it goes on elsewhere."""
import collections
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, RESOLVE, Tap, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()


def without_frame_pointers():
    """As Erlang is without a flag, nothing says where the stack of a process begins: none that ends in its code has reached a root."""
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "-o", "bare.data", "--", "erl", "-noshell", "-run", "cycle", "main", "800"])
    samples = [json.loads(line) for line in run([RESOLVE, "-q", "-f", "jsonl", "bare.data"]).stdout.splitlines()]
    ends = collections.Counter(s.get("stop") for s in samples if re.search(r"/perf-\d+\.map$", s["stack"][-1].get("dso") or ""))
    said = run([RESOLVE, "bare.data", "-o", "bare.folded"]).stderr
    tap.check("Erlang's code keeps frame pointers with ERL_AFLAGS" in said or "gives names and frame pointers" in said,
              "without frame pointers: it is said what gives them", said)
    tap.check(sum(ends.values()) > 100 and not ends["END"], f"without frame pointers: of {sum(ends.values())} stacks none says that it is whole", ends)


def main():
    if NO_EVENTS:
        return tap.skip("Erlang", NO_EVENTS)
    if not have("erl") or not have("erlc"):
        return tap.skip("Erlang", "no erl")
    if os.uname().machine != "x86_64":
        return tap.skip("Erlang", "its code was tried for x86-64 only")
    shutil.copy(os.path.join(PROGRAMS, "cycle.erl"), "cycle.erl")
    run(["erlc", "cycle.erl"])
    need_events()
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "-o", "x.data", "--", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh",
         "erl", "+JPperf", "true", "-noshell", "-run", "cycle", "main", "1500"])
    with open("pid") as f:
        pid = f.read().strip()
    out, stats = resolve("x.data")
    said = run([RESOLVE, "x.data", "-o", "x.folded"]).stderr
    for path in f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump":
        if os.path.exists(path):
            os.unlink(path)
    stacks = folded(out)
    bad, all_ = collections.Counter(), 0
    for stack, weight in stacks.items():
        seen = [int(m[1]) for m in (re.match(r"cycle:f([012])/2", f) for f in stack) if m]
        all_ += weight if seen else 0
        if any((a + 1) % 3 != b for a, b in zip(seen, seen[1:])) or len(seen) > 13:
            bad[stack] += weight
    tap.check(all_ and not bad, f"none of {len(stacks)} different stacks lacks a caller or has a wrong one", bad.most_common(2))
    n, roots, switched = stats["user_stacks"], stats["root"], stats["switched"]
    tap.check(n > 300 and roots + switched >= 0.98 * n,
              f"of {n} stacks {roots} reach the root, {switched} are of C that Erlang has called, and say so", stats)
    without_frame_pointers()
    tap.check(switched * 10 < n or roots >= 0.9 * n or "Erlang" in said, "it is said where these go on", said)
    return 0


main()
tap.end()

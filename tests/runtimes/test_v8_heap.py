#!/usr/bin/env python3
"""The heaps that the fuzz target of runtimes/v8_*.c begins with: what is whole is named, and what is not has no name. Else the fuzzer
would look at nothing. Damaged ones: tests/test_fuzz.sh."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests"))
from tap import Tap  # noqa: E402

ALL = {"JS:~base /a.js:1:11", "JS:~int\u00e9r /a.js:1:11", "JS:^base /a.js:1:11", "JS:*optimized /o.js:1:1", "JS:+maglev /a.js:1:1"}
tap = Tap()


def named(seed):
    """The names, and the last line."""
    p = subprocess.run([os.path.join(os.environ["BUILD"], "tests/runtimes/fuzz_v8"), seed], stderr=subprocess.PIPE, check=False,
                       encoding="utf-8", env={**os.environ, "UNSPOOL_FUZZ_SAY": "1"}, stdout=subprocess.DEVNULL, timeout=60)
    *names, counts = p.stderr.splitlines() or [""]
    return p.returncode, set(names), counts


def main():
    subprocess.run(["sh", os.path.join(os.environ["TOP"], "tests/runtimes/fuzz_seeds.sh"), "v8"], check=True)
    for seed, names, counts in (
            ("all", ALL, "named 5 torn 0 changed 0"),
            ("file", ALL, "named 5 torn 0 changed 0"),
            ("small", ALL, "named 5 torn 0 changed 0"),
            ("changed", ALL, "named 5 torn 0 changed 1"),
            ("other_constants", ALL, "named 6 torn 0 changed 1"),
            ("other_bytecode", ALL, "named 6 torn 0 changed 1"),
            ("string_in_itself", ALL - {"JS:~int\u00e9r /a.js:1:11"}, "named 4 torn 2 changed 0"),
            ("long_name", ALL - {"JS:~int\u00e9r /a.js:1:11"}, "named 4 torn 2 changed 0"),
            ("far_places", {"JS:~f /a.js:1:11"}, "named 1 torn 0 changed 0"),
            ("large_stream_instructions", set(), ""),
            ("negative_deopt_shared", set(), "")):
        got = named(seed)
        tap.check(got == (0, names, counts), f"{seed}: {counts or 'not read'}", got)


main()
tap.end()

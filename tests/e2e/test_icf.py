#!/usr/bin/env python3
"""The same recording in other clothes gives the same profile, unwound stacks included: big-endian, from
standard input, compressed as a whole, and one that was recorded compressed or through a pipe."""
import gzip
import os
import subprocess
import sys

from common import CAPTURE, RESOLVE, TOP, Tap, build, folded, have, perf_record, resolve, run

sys.dont_write_bytecode = True
tap = Tap()
program = build("g++", "threads.cc", "program", "-O2", "-fomit-frame-pointer", "-pthread")


def profile(data, fmt="folded"):
    return run([RESOLVE, "-q", "-f", fmt, "--no-inline", data]).stdout


def whole(name, data):
    stacks = folded(profile(data))
    roots = sum(w for s, w in stacks.items() if len(s) > 2 and s[1] in ("_start", "clone3", "__GI___clone3"))
    tap.check(roots > 0.95 * sum(stacks.values()), f"{name}: whole stacks", list(stacks)[:5])


if not have("perf"):
    tap.skip("icf", "perf is not installed")
    tap.end()
RECORD = ["perf", "record", "-q", "-N", "-B", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,8192"]
perf_record(*RECORD[5:], "-o", "file.data", "--", program, "0.3")
script, stacks = profile("file.data", "script"), profile("file.data")
whole("perf record", "file.data")

run([sys.executable, os.path.join(TOP, "tests/reader/mkbe.py"), "file.data", "be.data"])
tap.check(profile("be.data") == stacks, "big endian: the same folded stacks")
tap.check(profile("be.data", "script") == script, "big endian: the same script")
with open("file.data", "rb") as f, gzip.open("file.data.gz", "wb", 1) as g:
    g.write(f.read())
tap.check(profile("file.data.gz") == stacks, "gzip: the same")
run(["xz", "-0", "-k", "file.data"])
tap.check(profile("file.data.xz") == stacks, "xz: the same")
tap.check(run(["sh", "-c", f"cat file.data | {RESOLVE} -q --no-inline -"]).stdout == stacks, "standard input: the same")

perf_record(*RECORD[5:], "-z", "-o", "z.data", "--", program, "0.3")
whole("perf record -z", "z.data")
with open("pipe.data", "wb") as out:
    subprocess.run([*RECORD, "-o", "-", "--", program, "0.3"], stdout=out, stderr=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL, timeout=60, check=True)
whole("perf record -o -", "pipe.data")
p = run(["sh", "-c", f"cat pipe.data | {RESOLVE} -q --no-inline -"])
tap.check(p.stdout == profile("pipe.data"), "a pipe from a file and from standard input: the same")
run([CAPTURE, "-q", "-F", "999", "--no-compress", "-o", "plain.data", "--", program, "0.3"])
whole("capture --no-compress", "plain.data")
tap.end()

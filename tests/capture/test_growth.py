#!/usr/bin/env python3
"""capture -e memory-growth: bytes that mmap, mremap and brk have added, by stacks, of a program that says how many in each function (tests/programs/grows.c)."""
import collections
import os
import subprocess

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run, start, until_enabled

tap = Tap()
need_events()
need_root(tap, "-e memory-growth", "tracepoints need root")
run(["gcc", "-O1", "-g", os.path.join(os.environ["TOP"], "tests", "programs", "grows.c"), "-o", "grows"])
if run([CAPTURE, "-q", "-e", "memory-growth", "-o", "x.data", "true"], check=False).returncode:
    tap.skip("-e memory-growth", "this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")
    tap.end()


def expected(text):
    return {w[0]: int(w[1]) for w in (line.split() for line in text.splitlines()) if len(w) == 2 and w[0].startswith("of_") and w[1] != "0"}


def sums(name, *options):
    """By function of the program below main; "before": of the loader, before there is a main."""
    total = collections.Counter()
    for line in run([RESOLVE, "-q", "--no-inline", *options, name], check=False).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = stack.split(";")
        total[next((f for f in frames if f.startswith("of_")), "main" if "main" in frames else "before")] += int(n)
    return total


p = capture("-e", "memory-growth", "-m", "16M", "-o", "g.data", "--", "./grows")
wanted, got = expected(p.stdout), sums("g.data")
tap.check(p.n_lost == 0 and len(wanted) == 5, "recorded", p.stderr, p.stdout)
tap.check({k: v for k, v in got.items() if k.startswith("of_")} == wanted, "the bytes of each function, as it counts them: nothing of what was reserved, refused, or is a file's", wanted, dict(got))
tap.check(got["main"] == 4096, "and of the first brk() after that of the loader", dict(got))
top = run([RESOLVE, "-q", "-f", "top", "g.data"]).stdout
tap.check("'memory-growth'" in top and "of_pairs" in top and f"approx.): {sum(got.values())}" in top, "a table of bytes", top[:300])
run([RESOLVE, "-q", "-f", "pprof", "-o", "g.pb.gz", "g.data"])
tap.check(sums("g.pb.gz") == got, "pprof has the same", dict(sums("g.pb.gz")))
if have("go"):
    raw = run(["go", "tool", "pprof", "-raw", "g.pb.gz"], check=False).stdout
    tap.check("memory-growth/bytes" in raw, "in bytes, as go tool pprof reads them", raw[:400])
else:
    tap.skip("go tool pprof", "no go")
run([RESOLVE, "-q", "--bundle", "-o", "carried.data", "g.data"])
tap.check(sums("carried.data") == got, "resolve --bundle keeps it")
piped = run(["sh", "-c", f"cat g.data | {RESOLVE} -q --no-inline - | sort"], check=False).stdout
tap.check(sorted(piped.splitlines()) == sorted(run([RESOLVE, "-q", "--no-inline", "g.data"]).stdout.splitlines()), "and standard input", piped)
# beside a clock, each is an event of its own
capture("-e", "cpu-clock,memory-growth", "-F", "999", "-o", "both.data", "--", "./grows")
tap.check({k: v for k, v in sums("both.data", "--event", "memory-growth").items() if k.startswith("of_")} == wanted, "beside other events")

target = subprocess.Popen(["./grows", "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
target.stdout.readline()
q = start("-e", "memory-growth", "-p", target.pid, "-o", "running.data")
until_enabled(q)
out = target.communicate("x")[0]
err = q.communicate(timeout=60)[1]
got = sums("running.data")
# Where its memory ended is not known before the first brk(), which is that of main.
tap.check({k: v for k, v in got.items() if k.startswith("of_")} == expected(out) and got["main"] == 0, "-p: from the first brk() on", expected(out), dict(got), err)
tap.end()

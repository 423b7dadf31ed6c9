#!/usr/bin/env python3
"""Memory grows with what is distinct, not with how many processes and threads there were: twice as many, with the
same stacks, take no more. Nor does it change what is said of them, on one thread or three."""
import os
import subprocess

from common import RESOLVE, Tap, have, run
from tasks import write

# Both files are larger than what of them is mapped at a time, 16 MiB before the reader and as much behind.
FEW, MANY = 30000, 60000
# Before anything was let go of, a process took 3 KB, a fork 2 KB, a thread 2 KB; without stitching 530 at the least. Now
# caches of fixed size fill up with what the first tasks leave free: up to 50 bytes on one thread, 120 on three.
BYTES_PER_TASK = 300
STACKS = {"root;mid;leaf": 3, "wide;leaf": 1}  # of each task
tap = Tap()


def peak(data, *options):
    """(bytes at most, what was written). Pages of the mapped copy that is made of a pipe count, as many as wait to be let go."""
    with open(data, "rb") as f:
        cat = subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE)
        p = subprocess.Popen([RESOLVE, "-q", "--no-cache", *options, "-"], stdin=cat.stdout, stdout=subprocess.PIPE)
        cat.stdout.close()
        text = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode or cat.wait():
        raise RuntimeError(f"{data} {options}: status {p.returncode}")
    return usage.ru_maxrss << 10, text


def counts(text):
    """By stack, without the name of the command."""
    sums = {}
    for line in text.decode().splitlines():
        stack, n = line.split(";", 1)[1].rsplit(" ", 1)
        sums[stack] = sums.get(stack, 0) + int(n)
    return sums


def advice(data, *options):
    return run([RESOLVE, "--no-cache", "-o", "/dev/null", "-f", "folded", *options, data]).stderr


if not have("gcc"):
    tap.skip("memory", "gcc is not installed")
    tap.end()
for kind in ("processes", "forks", "threads"):
    for n in (FEW, MANY):
        write(kind, n, f"{kind}.{n}")
    few, many = f"{kind}.{FEW}", f"{kind}.{MANY}"
    for options in (("-j1",), ("-j1", "--no-stitch"), ("-j3",)):
        (a, few_text), (b, many_text) = peak(few, *options), peak(many, *options)
        tap.check(counts(few_text) == {s: n * FEW for s, n in STACKS.items()} and
                  counts(many_text) == {s: n * MANY for s, n in STACKS.items()}, f"{kind} {' '.join(options)}: all their stacks", many_text)
        if os.environ["BUILD"].endswith("-san"):
            tap.skip("memory", "a sanitizer keeps what was freed")
        else:
            tap.check(b - a < BYTES_PER_TASK * (MANY - FEW), f"{kind} {' '.join(options)}: memory does not grow with them", (a, b, (b - a) / (MANY - FEW)))
    said = [advice(few, j) for j in ("-j1", "-j2", "-j3")]
    tap.check("25 % of the stacks are cut at 256 bytes" in said[0] and "need at most 5120;" in said[0] and len(set(said)) == 1,
              f"{kind}: how large copies should be, on any number of threads", said)
tap.end()

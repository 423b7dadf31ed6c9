#!/usr/bin/env python3
"""A recording of perf record --call-graph lbr (an Intel machine): frames against what perf sees in the file.

perf script -D shows each sample's chain as the kernel made it ("FP chain") and as perf makes it of the branch records
("LBR call chain": where the newest branch went, where each came from). Callers must be perf's, as they are: calls, not
return addresses. The leaf is that of the kernel's chain: perf's is the start of the function that was called last,
which is a stub of the PLT where such functions jump on.
"""
import os
import re
import shutil

from common import RESOLVE, TOP, Tap, run

DATA = os.path.join(TOP, "../shared/corpus/perfparser/vector_static_gcc.perf.lbr.data")
USER = 0xfffffffffffffe00
FIRST_MARKER = (1 << 64) - 4095  # perf_event.h: PERF_CONTEXT_MAX
t = Tap()


def dumped():
    """[{"LBR call": chain, "FP": chain}] of perf script -D."""
    samples, chain = [], None
    for line in run(["perf", "script", "-D", "-i", DATA], check=False).stdout.splitlines():
        head = re.match(r"\.\.\. (LBR call|FP) chain: nr:", line)
        entry = re.match(r"\.\.\.\.\. +\d+: ([0-9a-f]{16})(?: \(PERF_CONTEXT_\w+\))?$", line)
        if "PERF_RECORD_SAMPLE" in line:
            samples.append({})
        if head:
            chain = samples[-1][head.group(1)] = []
        elif entry and chain is not None:
            chain.append(int(entry.group(1), 16))
        else:
            chain = None
    return samples


def main():
    if not os.path.exists(DATA):
        return t.skip("lbr", "no ../shared/corpus here")
    if not shutil.which("perf"):
        return t.skip("lbr", "perf is not installed")
    script = run([RESOLVE, "-q", "-f", "script", "--no-inline", DATA], check=False).stdout
    ours = [[int(line.split()[0], 16) for line in block.splitlines()[1:]] for block in script.strip().split("\n\n")]
    want, moved = [], 0
    for s in dumped():
        chain = list(s["FP"])
        if "LBR call" in s:
            lbr = s["LBR call"]
            user = lbr.index(USER)
            moved += lbr[user + 1] != chain[user + 1]
            chain = chain[:user + 2] + lbr[user + 2:]
        want.append([ip for ip in chain if ip < FIRST_MARKER])
    # A sample in exec, whose caller has no recorded maps, ends with the kernel's frames.
    in_exec = [b for a, b in zip(ours, want) if a == b[:-1] and a and min(a) >> 63]
    bad = [([hex(x) for x in a], [hex(x) for x in b]) for a, b in zip(ours, want) if a != b and b not in in_exec]
    t.check(len(ours) == len(want) == 29 and not bad and len(in_exec) <= 8, "lbr: frames of 29 samples are perf's but for the leaf", bad[:2])
    with_lbr = sum("LBR call" in s for s in dumped())
    t.check(with_lbr >= 20 and moved >= 5, f"lbr: of {with_lbr} chains from branches {moved} have another leaf in perf")


main()
t.end()

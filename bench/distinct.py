#!/usr/bin/env python3
"""distinct.py OUT PROGRAM N - a recording of N samples, no two of which have the same stack: call chains of 12 frames through the functions
of PROGRAM, which is where their addresses are. Samples are of four processes of one thread each in turn, as from `perf record -g`."""
import os
import random
import struct
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "tests", *p) for p in (["e2e"], [])]
from perfsynth import Recording  # noqa: E402

DEPTH, FUNCTIONS = 12, 3000


def functions(program):
    """Addresses of functions, and where their segment is in the file."""
    text = subprocess.run(["nm", "--defined-only", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    at = sorted({int(line.split()[0], 16) for line in text.splitlines() if line.split()[1] in "tT"})
    loads = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    off, vaddr = next((int(w[1], 16), int(w[2], 16)) for w in map(str.split, loads.splitlines()) if w and w[0] == "LOAD" and "E" in w[6:-1])
    return at[10:FUNCTIONS + 10], off, vaddr


def main(out, program, n):
    at, off, vaddr = functions(program)
    draw = random.Random(1)
    base = 0x555555554000
    r = Recording(arch=os.uname().machine)
    for pid in range(1, 5):
        r.comm(pid, f"work-{pid}", 1)
        r.mmap2(pid, base + (vaddr & ~4095), 1 << 24, off & ~4095, os.path.abspath(program), 2)
    stacks, seen = [base + draw.choice(at) + 1 for _ in range(DEPTH)], set()
    for i in range(n):
        keep = draw.randrange(DEPTH)  # callers stay, callees change
        stacks = stacks[:keep] + [base + draw.choice(at) + 1 for _ in range(DEPTH - keep)]
        while tuple(stacks) in seen:
            stacks[-1] = base + draw.choice(at) + 1
        seen.add(tuple(stacks))
        r.sample(1 + i % 4, stacks[-1], 1000 + 1000 * i, chain=[2**64 - 512, *reversed(stacks)])
    r.write(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

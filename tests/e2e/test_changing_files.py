#!/usr/bin/env python3
"""A program's file that changes while it is read: bytes that differ from one look to the next, a file that is cut and comes back.

It is written in place, as a linker or `cp` does it, so what is mapped changes too. Names may be wrong or missing; resolve ends by itself,
gives every sample, and no sanitizer complains."""
import shutil
import subprocess
import sys

from common import CAPTURE, RESOLVE, Tap, run
from tap import LONG

RUNS = 100 if LONG else 40
PROGRAM = """volatile long sum;
static inline long add(long x) { return sum + x * x; }
__attribute__((noinline)) static void spin(void) { for (long i = 0; i < 400000000; i++) sum = add(i); }
int main(void) { spin(); return 0; }
"""
# argv: the file, its good bytes. Another table of sections, one byte in 64 another, or only a part of it, or the file as it was.
CHANGE = """
import os, random, sys
good = open(sys.argv[2], "rb").read()
fd, rng = os.open(sys.argv[1], os.O_RDWR), random.Random(5)
print("begun", flush=True)
while True:
    bad = bytearray(good)
    kind = rng.randrange(4)
    if kind == 0:
        for at in (*range(16, 64), *range(len(bad) - 2000, len(bad))):
            bad[at] ^= rng.randrange(256)
    elif kind == 1:
        for at in range(rng.randrange(64), len(bad), 64):
            bad[at] = rng.randrange(256)
    elif kind == 2:
        os.ftruncate(fd, rng.randrange(len(bad)))
    os.pwrite(fd, bad, 0)
"""
tap = Tap()

with open("p.c", "w") as f:
    f.write(PROGRAM)
run(["gcc", "-g", "-O1", "p.c", "-o", "p"])
shutil.copy("p", "good")
run([CAPTURE, "-q", "-e", "cpu-clock:u", "-F", "499", "-o", "p.data", "--", "./p"])
READ = [RESOLVE, "-q", "--no-cache", "--count", "samples", "p.data"]
want = sum(int(line.split()[-1]) for line in run(READ).stdout.splitlines())
changer = subprocess.Popen([sys.executable, "-c", CHANGE, "p", "good"], stdout=subprocess.PIPE)
changer.stdout.readline()
bad, named = [], 0
for _ in range(RUNS):
    p = run(READ, check=False)
    n = sum(int(line.split()[-1]) for line in p.stdout.splitlines())
    named += ";spin" in p.stdout
    if p.returncode not in (0, 1) or n != want or "anitizer" in p.stderr:
        bad.append((p.returncode, n, p.stderr[-2000:]))
changer.kill()
changer.wait()
tap.check(not bad and want > 20, f"a file that changes while it is read: {RUNS} runs, all {want} samples", bad[:3])
tap.check(0 < named < RUNS, f"the changes are met, and good bytes, too: {named} of {RUNS} runs have names", named)
tap.end()

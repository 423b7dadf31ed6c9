#!/usr/bin/env python3
"""Parameters at the first instruction of a function, where its statements begin before its code does: gcc then writes empty entries
of location lists for what was passed. What was passed is known by construction: the registers of a sample that is written here."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unwind"))
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
RESOLVE = os.path.join(os.environ["BIN"], "resolve")
SOURCE = """#define N __attribute__((noipa))
N long f_loop(long n) { do { __asm__ volatile("" ::: "memory"); n--; } while (n); return 7; }
N long f_skip(const char *s, long n) { n += 5; while (*s == ' ') { s++; n--; } return n; }
N int f_abs(int n) { if (n < 0) n = -n; return n % 7; }
int main(int argc, char **argv) { return f_loop(argc) + f_skip(argv[0], 3) + f_abs(-argc); }
"""
CASES = (("f_loop", {"n": "1"}), ("f_skip", {"n": "3"}), ("f_abs", {"n": "-20"}))
PASSED = {"f_loop": (1, 0), "f_skip": (0x1234, 3), "f_abs": (2 ** 32 - 20, 0)}  # rdi, rsi


def run(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(*flags):
    made = run("gcc", *flags, "-static", "-nostartfiles", "-Wl,-e,main", "entry.c", "-o", "entry")
    if made.returncode:
        tap.skip(f"gcc {' '.join(flags)}", made.stderr[-200:])
        return
    off, vaddr, size = next((int(m[1], 16), int(m[2], 16), int(m[3], 16)) for m in re.finditer(
        r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", run("readelf", "-lW", "entry").stdout))
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", "entry").stdout.splitlines() if len(line.split()) == 3}
    w = PerfWriter("x86_64", ABI_64, 0xff0fff, 256)
    w.comm("entry")
    w.mmap(vaddr & ~4095, (vaddr + size + 4095) & ~4095, off & ~4095, "r-xp", os.path.abspath("entry"))
    for name, _ in CASES:
        regs = {4: PASSED[name][1], 5: PASSED[name][0], 7: 0x7ffd00001000, 8: symbols[name]}
        w.sample(symbols[name], [regs.get(i, 0) for i in range(20)], bytes(64))
    w.write("entry.data")
    shown = run(RESOLVE, "-q", "--no-cache", "--args", "-f", "script", "entry.data")
    told = dict(re.findall(r"(f_\w+)\S* [^\n]*\n#\t([^\n]*)", shown.stdout))
    for name, want in CASES:
        values = dict(re.findall(r"(\w+)=([^,\s]+)", told.get(name, "")))
        tap.check(all(values.get(k) == v for k, v in want.items()), f"gcc {' '.join(flags)}: {name} at its first instruction has what was passed", want, told,
                  shown.stdout[-800:], shown.stderr[-300:])


if os.uname().machine != "x86_64":
    tap.skip("parameters at the first instruction", "the registers are x86-64's")
else:
    with open("entry.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    for flags in (("-g", "-O1"), ("-g", "-O2"), ("-gdwarf-4", "-Os")):
        check(*flags)
tap.end()

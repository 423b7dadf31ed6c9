#!/usr/bin/env python3
"""Where functions are left (capture --list return:FILE:FUNCTION), on x86-64 and 64-bit Arm, beside objdump: its returns, and its jumps
to other functions."""
import os
import re
import shutil
import subprocess

from tap import Tap

tap = Tap()
CAPTURE = os.path.join(os.environ["BIN"], "capture")
PROGRAM = r"""
#define N __attribute__((noipa))
volatile int sink;
N int f_leaf(int a) { return a + 1; }
N int f_tail(int a) { sink = a; return f_leaf(a * 2); }
N int f_branches(int a) { if (a > 3) return f_leaf(a) + 1; if (a < -3) { sink = 2; return 7; } return sink; }
N int f_switch(int n) { switch (n) { case 0: return 10; case 1: return f_leaf(1); case 2: sink++; return 7; case 3: return sink + 9;
	case 4: return 3; case 5: sink = 8; return sink; default: return -5; } }
N void f_pointer(void (*p)(void)) { sink = 1; p(); }
N int f_cond(int *p) { while (*p) { if (*p == 3) return 1; p++; } return f_leaf(0); }
int main(int c, char **v) { return f_tail(c) + f_branches(c) + f_switch(c) + f_cond(&c); }
"""
with open("p.c", "w") as f:
    f.write(PROGRAM)


def by_objdump(objdump, program):
    """Addresses of instructions that leave functions, and where these start."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    leaves, start, name = set(), {}, ""
    for line in text.splitlines():
        m = re.match(r"^([0-9a-f]+) <(\w+)>:", line)
        if m:
            name = m[2]
            start[name] = int(m[1], 16)
        m = re.match(r"^ +([0-9a-f]+):\s+(?:bnd |notrack )?(\S+)\s*(.*)", line)
        if not m or not name.startswith("f_"):
            continue
        to = re.search(r"<(\w+)(?:\+0x[0-9a-f]+)?>", m[3])
        is_jump = m[2] in ("b", "jmp") and to and to[1] != name
        # f_switch has the table of jumps, f_pointer the jump to what it was given.
        is_blind = name == "f_pointer" and (m[2] == "br" or (m[2] == "jmp" and "*" in m[3]))
        if m[2].startswith("ret") or is_jump or is_blind:
            leaves.add(int(m[1], 16))
    return leaves, start


for prefix, arch in (("", "this machine"), ("aarch64-linux-gnu-", "64-bit Arm")):
    for level in ("-O0", "-O2"):
        if not shutil.which(prefix + "gcc") or not shutil.which(prefix + "objdump"):
            tap.skip(f"{arch} {level}", f"no {prefix}gcc")
            continue
        subprocess.run([prefix + "gcc", level, "-nostdlib", "-nostartfiles", "-Wl,-e,main", "p.c", "-o", "p"], check=True)
        want, start = by_objdump(prefix + "objdump", "p")
        lines = subprocess.run([CAPTURE, "-l", "return:./p:f_*"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        got = {start[m[1]] + int(m[2], 16) for m in (re.search(r":(\w+)\+0x([0-9a-f]+)$", line) for line in lines) if m}
        tap.check(got == want and len(want) >= 6, f"{arch} {level}: {len(want)} instructions leave functions", [hex(x) for x in want - got], [hex(x) for x in got - want])
tap.end()

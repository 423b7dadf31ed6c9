#!/usr/bin/env python3
"""Call chains of the kernel through a signal handler: its return address is the first byte of the trampoline (sigaction's
SA_RESTORER; arch/x86/kernel/signal_64.c, setup_rt_frame), which nothing has called.

Less one, as return addresses are looked up, that is the function before, or none. perf, which looks up callers as they are
recorded, is the oracle for the trampoline, and wrong for what follows a call that does not return: there it names the function behind.
"""
import os
import re
import shutil
import subprocess

from common import RESOLVE, Tap, run
from perfsynth import CHAIN_USER, Recording

tap = Tap()
# libc's trampoline begins right behind a byte of padding, Go's behind 0xcc up to a multiple of 32, musl's behind a nop.
PROGRAM = r"""
.macro function name
    .type \name, @function
\name:
.endm
.text
.org 0x1000
function far_trampoline
    mov $15, %rax
    syscall
    .size far_trampoline, . - far_trampoline
.balign 64, 0xcc
function handler
    nop
    ret
    .size handler, . - handler
function before
    nop
    ret
    .size before, . - before
function near_trampoline
    movq $15, %rax
    syscall
    .size near_trampoline, . - near_trampoline
.balign 64, 0xcc
function go_trampoline
    mov $15, %eax
    syscall
    .size go_trampoline, . - go_trampoline
function never_returns
    nop
    call handler
    .size never_returns, . - never_returns
function behind
    mov $14, %eax
    syscall
    .size behind, . - behind
function main
    call behind
    nop
    .size main, . - main
"""


def symbols():
    with open("p.s", "w") as f:
        f.write(PROGRAM)
    run(["gcc", "-nostdlib", "-shared", "-Wl,--build-id", "-o", "p.so", "p.s"])
    rows = [line.split() for line in run(["readelf", "-sW", "p.so"]).stdout.splitlines()]
    table = {row[7]: int(row[1], 16) for row in rows if len(row) == 8 and row[3] == "FUNC"}
    text = next(line.split() for line in run(["readelf", "-lW", "p.so"]).stdout.splitlines() if " R E " in line)
    return table, int(text[1], 16), int(text[2], 16)


def recording(name, starts, first=None):
    """One sample for each of the addresses that the handler returns to. `first`: where the code's mapping begins."""
    table, off, vaddr = symbols()
    r = Recording()
    r.comm(7, "p", 1, exec=True)
    first = first or vaddr
    r.mmap2(7, 0x7f0000000000 + first, 0x2000, off + first - vaddr, os.path.abspath("p.so"), 2)
    for i, (start, past) in enumerate(starts):
        chain = [table["handler"] + 1, table[start] + past, table["main"] + 5]
        chain = [0x7f0000000000 + ip for ip in chain]
        r.sample(7, chain[0], 10 + i, [CHAIN_USER] + chain)
    return r.write(name)


def callers(text):
    return re.findall(r"handler\+0x1 .*\n\s*[0-9a-f]+ (\S+) ", text)


def main():
    where = [("far_trampoline", 0), ("near_trampoline", 0), ("go_trampoline", 0), ("behind", 0)]
    data = recording("p.data", where)
    want = ["far_trampoline+0x0", "near_trampoline+0x0", "go_trampoline+0x0", "never_returns+0x6"]
    ours = run([RESOLVE, "-q", "-f", "script", "--no-inline", data]).stdout
    tap.check(callers(ours) == want, "trampolines have their names, a caller of what never returns has its own", callers(ours))
    folded = [line.rsplit(" ", 1)[0] for line in run([RESOLVE, "-q", data]).stdout.splitlines()]
    tap.check(sorted(folded) == sorted(f"p;main;{n.split('+')[0]};handler" for n in want), "folded: the same", folded)

    # Nothing is mapped before the trampoline: its map is that of its own address.
    table, _, _ = symbols()
    start = recording("start.data", [("far_trampoline", 0)], first=table["far_trampoline"] & -4096)
    ours = callers(run([RESOLVE, "-q", "-f", "script", "--no-inline", start]).stdout)
    tap.check(table["far_trampoline"] % 4096 == 0 and ours == want[:1], "a trampoline at the start of a mapping", ours)

    if not shutil.which("perf"):
        return tap.skip("perf", "perf is not installed")
    theirs = callers(subprocess.run(["perf", "script", "--no-inline", "-i", data], capture_output=True, text=True).stdout)
    tap.check(theirs[:3] == want[:3], "perf gives the trampolines the same names", theirs)


main()
tap.end()

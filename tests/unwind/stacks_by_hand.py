"""stacks_by_hand.py - stacks laid out word by word, of functions written in assembly.

Each stack is walked several times, because what is remembered of an address must not tell what depends on the registers, and
by the walk that carries all registers, which must find the same.
"""
import json
import os

from perfwrite import ABI_64, PerfWriter
from walks import RESOLVE, check_short_cuts, report, run

BIAS, STACK, ANON, PID = 0x10000000, 0x7ffe0000, 0x7f0000000000, 100
REGS, MASK = 24, 0xff0fff  # asm/perf_regs.h; those of segments are not recorded
RAX, RBX, RBP, RSP, RIP, R9, R12, R15 = 0, 1, 6, 7, 8, 17, 20, 23
JUNK, WORD = 0x11, 8
ROUNDS = 3
FILL = "\n.fill 200,1,0xcc\n"
START = ".globl _start\n.type _start,@function\n_start: call *%rax; in_start: hlt" + FILL


def functions(bodies):
    """{name: instructions}"""
    return "".join(f".type {name},@function\n{name}: {body}\n.size {name},.-{name}" + FILL for name, body in bodies.items())


def build(name, text):
    """{symbol: address} of a program that begins with START."""
    with open(name + ".s", "w") as f:
        f.write((START + text).replace(";", "\n"))
    run("gcc", "-fPIE", "-pie", "-nostdlib", name + ".s", "-o", name, check=True)
    return {f[2]: BIAS + int(f[0], 16) for f in map(str.split, run("nm", name).stdout.splitlines()) if len(f) == 3}


def map_program(w, path):
    w.comm("code")
    for line in run("readelf", "-lW", path).stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in line[60:]:
            w.mmap(BIAS + int(f[2], 16), BIAS + int(f[2], 16) + int(f[5], 16), int(f[1], 16), "r-xp", os.path.abspath(path))


def writer(path, mask=MASK):
    w = PerfWriter("x86_64", ABI_64, mask, 4096, pid=PID, monotonic=True)
    map_program(w, path)
    for start in ANON, BIAS + 0x101000:
        w.mmap(start, start + 0x1000, 0, "r-xp", "//anon")
    return w


def add(w, pc, words, regs):
    """The words are at STACK; the stack pointer is there, if not said, or below."""
    regs = {RSP: STACK, RIP: pc, **regs}
    dump = bytes(max(0, STACK - regs[RSP])) + b"".join(x.to_bytes(8, "little") for x in words)
    w.sample(pc, [regs.get(i, JUNK) for i in range(REGS) if w.regs_mask >> i & 1], dump)


def walked(w, *options):
    """[[address, ..., why it stopped]]"""
    w.write("code.data")
    r = run(RESOLVE, "-q", "-f", "jsonl", "--no-inline", "--no-stitch", *options, "code.data")
    samples = [json.loads(line) for line in r.stdout.splitlines()]
    return [[f["ip"] for f in s["stack"]] + [s["stop"]] for s in samples], r.stderr


def stack(at, pc, callers):
    """The same of what is expected: return addresses, and why it stops, which is END at the root and else NO_CFI if not said."""
    stop = callers[-1:] if callers and isinstance(callers[-1], str) else ["END" if callers[-1:] == [at["in_start"]] else "NO_CFI"]
    return [hex(pc)] + [hex(ra - 1) for ra in callers if isinstance(ra, int)] + stop


def check_all(title, at, path, cases, mask=MASK, dump=None, options=(), all_registers=0):
    """{name: ((pc, words, registers), the callers)}; all_registers: how many of them take these."""
    w = writer(path, mask)
    if dump:
        w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", dump)
    order = ROUNDS * (list(cases) + list(reversed(cases)))
    for name in order:
        add(w, *cases[name][0])
    got, said = walked(w, *options)
    for name, (args, callers) in cases.items():
        wanted = stack(at, args[0], callers)
        mine = [g for n, g in zip(order, got) if n == name]
        report(len(got) == len(order) and mine == 2 * ROUNDS * [wanted], f"{title}: {name}", "\n".join(map(str, [wanted] + mine)) + said)
    check_short_cuts(title, "code.data", all_registers)

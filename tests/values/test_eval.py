#!/usr/bin/env python3
"""DWARF expressions written byte by byte: the values that DWARF5 2.5.1 gives them, typed and generic ones, and none where the upper
bits of a register, which may be anything, would decide."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unwind"))
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
RESOLVE = os.path.join(os.environ["BIN"], "resolve")
TYPES = {"i32": (5, 4), "u32": (7, 4), "i64": (5, 8), "u64": (7, 8), "i8": (5, 1), "f64": (4, 8)}  # DW_ATE, bytes
BX = 0xdeadbeeffffffff0  # as an int: -16
M64 = (1 << 64) - 1
OPS = dict(deref=0x06, dup=0x12, abs=0x19, div=0x1b, minus=0x1c, mod=0x1d, mul=0x1e, neg=0x1f, plus=0x22, shl=0x24, shr=0x25, shra=0x26, eq=0x29, ge=0x2a, gt=0x2b,
           le=0x2c, lt=0x2d, ne=0x2e, nop=0x96, bx=0x73)
OPS["and"] = 0x1a


def assembler(expr):
    """Lines of an expression: names of operations, numbers (constants), ~TYPE (a conversion)."""
    out = []
    for word in expr.split():
        if word.startswith("~"):
            out.append(f".byte 0xa8\n.uleb128 .L{word[1:]} - .Lcu")
        elif word == "bx":
            out.append(".byte 0x73, 0")
        elif word in OPS:
            out.append(f".byte {OPS[word]}")
        elif int(word, 0) < 0:
            out.append(f".byte 0x11\n.sleb128 {word}")
        else:
            out.append(f".byte 0x0e\n.quad {word}")
    return "\n".join(out)


CASES = (  # the type of the parameter, the expression, its value
    ("u64", f"{M64} ~u64 2 ~u64 div", M64 // 2), ("i64", "-8 2 div", -4), ("i64", "-8 ~i64 2 ~i64 div", -4), ("u32", "0xfffffff8 ~u32 2 ~u32 div", 0x7ffffffc),
    ("i32", f"{M64} ~u64 1 ~u64 gt", 1), ("i32", "-1 1 gt", 0), ("i32", "-1 1 lt", 1), ("i32", "0xffffffff ~u32 1 ~u32 gt", 1), ("i32", "0xffffffff ~i32 1 ~i32 gt", 0),
    ("i32", "-16 ~i32 4 ~i32 shr", 0x0fffffff), ("i32", "-16 ~i32 4 ~i32 shra", -1), ("i8", "-16 ~i8 4 ~i8 shr", 15), ("i8", "-16 ~i8 4 ~i8 shra", -1),
    ("u64", "-16 ~i64 4 ~i64 shr", (M64 - 15) >> 4), ("i64", "-16 4 shra", -1), ("u64", "-16 4 shr", (M64 - 15) >> 4), ("u64", "-1 64 shr", 0), ("i64", "-1 70 shra", -1),
    ("u64", "-1 10 mod", M64 % 10), ("i64", "-7 ~i64 3 ~i64 mod", -1), ("i32", "-5 ~i32 abs", 5), ("u64", f"{M64} ~u64 abs", M64), ("i64", "-5 abs", 5),
    ("i64", "7 0 div", None), ("i32", "7 ~f64", None),
    # of a register that holds an int: what only needs its lower half
    ("i32", "bx", -16), ("i32", "bx 1 plus", -15), ("i32", "bx 3 mul", -48), ("i32", "bx neg", 16), ("i32", "bx ~i32 4 ~i32 shra", -1), ("i32", "bx ~u32 4 ~u32 shr", 0x0fffffff),
    ("i32", "bx 0xffffffff and 4 shr", 0x0fffffff), ("i32", "bx 32 shl 36 shra", -1), ("i32", "bx ~i32 ~i64 2 ~i64 div", -8), ("i64", "bx 2 shra", (BX >> 2) - (1 << 62)),
    # and what needs all of it
    ("i32", "bx 1 shra", None), ("i32", "bx 1 shr", None), ("i32", "bx 2 div", None), ("i32", "bx 3 mod", None), ("i32", "bx 0 lt", None), ("i32", "bx 0 ge", None),
    ("i32", "bx abs", None), ("i32", "bx 1 plus 2 div", None), ("i32", "bx -16 eq", None),
)
LINES = ['.text', '.globl f, _start', 'f: _start:', '.fill 64, 1, 0x90', '.Lend:', '.section .debug_abbrev,"",@progbits',
         '.byte 1, 0x11, 1, 0x13, 0x0b, 0x11, 1, 0x12, 7, 0, 0', '.byte 2, 0x24, 0, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0',
         '.byte 3, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0', '.byte 4, 5, 0, 3, 8, 0x49, 0x13, 2, 0x18, 0, 0', '.byte 0',
         '.section .debug_info,"",@progbits', '.Lcu: .long .Ldone - .Lbegin', '.Lbegin: .value 5', '.byte 1, 8', '.long 0', '.byte 1, 12', '.quad f, .Lend - f']
LINES += [f".L{name}: .byte 2, {encoding}, {size}" for name, (encoding, size) in TYPES.items()]
LINES += ['.byte 3', '.asciz "f"', '.quad f, .Lend - f']
for i, (kind, expr, _) in enumerate(CASES):
    LINES += ['.byte 4', f'.asciz "p{i}"', f'.long .L{kind} - .Lcu', f'.uleb128 .Le{i} - .Ls{i}', f'.Ls{i}: .byte 0x96', assembler(expr), '.byte 0x9f', f'.Le{i}:']
LINES += ['.byte 0, 0', '.Ldone:']
if os.uname().machine != "x86_64":
    tap.skip("expressions", "the file is made for x86-64")
    tap.end()
    raise SystemExit
with open("e.s", "w", encoding="ascii") as f:
    f.write("\n".join(LINES) + "\n")
made = subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id=none", "e.s", "-o", "e"], stderr=subprocess.PIPE, text=True)
tap.check(not made.returncode, "the file is made", made.stderr)
headers = subprocess.run(["readelf", "-lW", "e"], stdout=subprocess.PIPE, text=True).stdout
off, vaddr, size = next((int(m[1], 16), int(m[2], 16), int(m[3], 16)) for m in re.finditer(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", headers))
start = int(re.search(r"^([0-9a-f]+) . f$", subprocess.run(["nm", "e"], stdout=subprocess.PIPE, text=True).stdout, re.M)[1], 16)
w = PerfWriter("x86_64", ABI_64, 0xff0fff, 256)
w.comm("e")
w.mmap(vaddr & ~4095, (vaddr + size + 4095) & ~4095, off & ~4095, "r-xp", os.path.abspath("e"))
regs = {1: BX, 7: 0x7ffd00001000, 8: start + 4}
w.sample(start + 4, [regs.get(i, 0) for i in range(20)], bytes(64))
w.write("e.data")
shown = subprocess.run([RESOLVE, "-q", "--no-cache", "--args", "-f", "script", "e.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
got = dict(re.findall(r"p(\d+)=([^,\s]+)", shown.stdout))
wrong = [(kind, expr, want, got.get(str(i))) for i, (kind, expr, want) in enumerate(CASES) if got.get(str(i)) != ("?" if want is None else str(want))]
tap.check(not wrong, f"{len(CASES)} expressions have the value that DWARF gives them", len(wrong), *wrong, shown.stdout[-500:], shown.stderr)
tap.end()

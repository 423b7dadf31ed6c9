#!/usr/bin/env python3
"""Stacks that go through JIT code.

Truth by construction: _start calls caller(), which calls code at an address without a file. That has a frame of a
known size, and has called a leaf function whose call frame information is the compiler's; so all words of the stack
are known.
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from perfsynth import Jitdump  # noqa: E402
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from walks import report, resolve, run  # noqa: E402

# caller's frame is one word below its return address: the psABI wants rsp + 8 to be a multiple of 16 on entry
PROGRAM = r"""
__asm__(".globl _start, caller, leaf\n"
"_start: call caller\n.globl in_start\nin_start: hlt\n"
"caller: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rax\n.globl in_caller\nin_caller: add $8, %rsp\n"
".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n"
"with_fp: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
"call *%rax\n.globl in_with_fp\nin_with_fp: pop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
"by_rbx: .cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
"and $-64, %rsp\ncall *%rax\n.globl in_by_rbx\nin_by_rbx: mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\npop %rbx\nret\n.cfi_endproc\n"
"leaf: .cfi_startproc\nret\n.cfi_endproc\n");
"""
BIAS, STACK, CODE, PID = 0x10000000, 0x7ffe0000, 0x7f0000000000, 100
REGS, MASK = 24, 0xff0fff  # of x86-64 by asm/perf_regs.h; those of 32-bit segments are not recorded
ORDER = [i for i in range(REGS) if MASK >> i & 1]
JUNK = 0x11


def build():
    with open("jit.c", "w") as f:
        f.write(PROGRAM)
    r = run("gcc", "-fPIE", "-pie", "-nostdlib", "jit.c", "-o", "jit")
    symbols = {f[2]: int(f[0], 16) for f in map(str.split, run("nm", "jit").stdout.splitlines()) if len(f) == 3}
    return None if r.returncode else symbols


def recording(samples, extra, fp, rbx):
    """samples: [(pc, sp, words at sp)]"""
    w = PerfWriter("x86_64", ABI_64, MASK, 1024, pid=PID, monotonic=True)
    w.comm("jit")
    for line in run("readelf", "-lW", "jit").stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in line[60:]:
            w.mmap(BIAS + int(f[2], 16), BIAS + int(f[2], 16) + int(f[5], 16), int(f[1], 16), "r-xp", os.path.abspath("jit"))
    w.mmap(CODE, CODE + 0x10000, 0, "r-xp", "//anon")
    extra(w)
    for pc, sp, words in samples:
        regs = [JUNK] * REGS
        regs[1], regs[6] = rbx, fp
        regs[7], regs[8] = sp, pc
        w.sample(pc, [regs[i] for i in ORDER], b"".join(x.to_bytes(8, "little") for x in words))
    w.write("jit.data")
    return "jit.data"


def walked(samples, extra=lambda w: None, options=(), fp=JUNK, rbx=JUNK):
    samples, said = resolve(recording(samples, extra, fp, rbx), "--no-stitch", *options)
    return [[a for a, _ in s] for s in samples], said


def check(name, got, expected):
    report(got[0] == expected, name, "\n".join(str([hex(x) for x in s]) for s in got[0] + [[]] + expected) + got[1])


def entry(body):
    body += bytes(-(len(body) + 4) % 8)  # DW_CFA_nop
    return len(body).to_bytes(4, "little") + body


def eh_frame(size, words, encoding=0x1b, fdes=1, more=b""):
    """sub $8*words, %rsp (4 bytes); ...; add $8*words, %rsp (4 bytes); ret - of `size` bytes. LSB, "Exception Frames"."""
    # version 1, "zR", code and data alignment 1 and -8, return address 16; DW_CFA_def_cfa rsp+8, DW_CFA_offset rip at CFA-8
    cie = entry(bytes(4) + b"\1zR\0" + bytes([1, 0x78, 16, 1, encoding, 0x0c, 7, 8, 0x90, 1]))
    out = cie
    for i in range(fdes):
        at = len(out) + 8  # of the start, relative to which it is
        start = (-at - (size + 15) // 16 * 16) & 0xffffffff
        out += entry((len(out) + 4).to_bytes(4, "little") + start.to_bytes(4, "little") + size.to_bytes(4, "little") + b"\0" +
                     # DW_CFA_advance_loc, DW_CFA_def_cfa_offset
                     bytes([0x40 | 4, 0x0e, 8 + 8 * words]) + more + bytes([0x40 | (size - 5), 0x0e, 8]))
    return out


def told_frames(at):
    """Frames of sizes that nobody would guess, at one address one after the other; samples are at 2000, 3000 .. ns."""
    leaf, end = BIAS + at["leaf"], [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    size, other = 0x40, CODE + 0x1000
    dump = Jitdump(PID)
    for time, words in (100, 3), (3500, 5):
        dump.unwinding(time, eh_frame(size, words))
        dump.load(time, CODE, size, f"words{words}")
    dump.load(200, other, size, "untold")
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))

    def called(words, code=CODE):
        return leaf, STACK, [code + 0x10] + [JUNK] * words + rest

    # leaf called it; it is at its start, at a `call`, at its end
    samples = [called(3), (CODE, STACK, rest), (CODE + 4, STACK, [JUNK] * 5 + rest), (CODE + size - 1, STACK, rest), called(5)]
    wanted = [[leaf, CODE + 0xf] + end, [CODE] + end, [CODE + 4] + end, [CODE + size - 1] + end, [leaf, CODE + 0xf] + end]
    # of what is not told of nothing follows
    samples.append(called(3, other))
    wanted.append([leaf, other + 0xf])
    extra = lambda w: w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", path)  # noqa: E731
    for options in ["--no-guess"], ["--no-guess", "-j", "3"]:
        check(f"call frame information of the jitdump, {' '.join(options)}", walked(samples, extra, options=options), wanted)
    for name, cfi in {"damaged": b"\xff" * 40, "empty": b"", "of two functions": eh_frame(size, 3, fdes=2),
                      "of longer code": eh_frame(size + 1, 3), "through a pointer": eh_frame(size, 3, 0x9b)}.items():
        dump = Jitdump(PID)
        dump.unwinding(100, cfi)
        dump.load(100, CODE, size, "words3")
        dump.write(path)
        check(f"call frame information that is {name}: not used", walked([called(3)], extra, options=["--no-guess"]), [[leaf, CODE + 0xf]])


def saved_registers(at):
    """The caller's frame is found by rbx, which the JIT code in between has saved, has left alone, or of which nobody tells."""
    leaf, ends = BIAS + at["leaf"], [BIAS + at["in_by_rbx"] - 1, BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    # leaf's return address, a word, rbx, the return address to by_rbx, 3 words for alignment, by_rbx's rbx
    words = [CODE + 0x10, JUNK, STACK + 7 * 8, BIAS + at["in_by_rbx"], JUNK, JUNK, JUNK, JUNK] + rest
    # sub $8; push %rbx: as three words below; DW_CFA_def_cfa_offset 24 and DW_CFA_offset rbx at CFA-16
    told = eh_frame(0x40, 2, more=bytes([0x83, 2]))
    left = eh_frame(0x40, 2)
    # DW_CFA_def_cfa_expression: 24 + rsp, which no packed rule says
    computed = eh_frame(0x40, 2, more=bytes([0x83, 2, 0x0f, 4, 0x48, 0x77, 0, 0x22]))
    extra = lambda w: w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", os.path.abspath(f"jit-{PID}.dump"))  # noqa: E731
    for name, cfi, rbx, wanted in (("saved", told, JUNK, ends), ("left alone", left, STACK + 7 * 8, ends),
                                   ("saved, by an expression", computed, JUNK, ends), ("not right", left, STACK, None)):
        dump = Jitdump(PID)
        dump.unwinding(100, cfi)
        dump.load(100, CODE, 0x40, "jit")
        dump.write(os.path.abspath(f"jit-{PID}.dump"))
        got = walked([(leaf, STACK, words)], extra, options=["--no-guess"], rbx=rbx)
        if wanted:
            check(f"a register that JIT code has {name}", got, [[leaf, CODE + 0xf] + wanted])
        else:
            report(got[0][0][:3] == [leaf, CODE + 0xf, ends[0]] and len(got[0][0]) == 3, "a register that is wrong: no caller", got[1])
    # Behind a guess only sp and fp are known
    stub = [CODE + 6, JUNK, BIAS + at["in_by_rbx"], STACK] + words[4:]
    frames, said = walked([(leaf, STACK + 8, stub)], options=["--stats"], rbx=STACK + 7 * 8)
    report(frames == [[leaf, CODE + 5, ends[0]]] and "needed register is not known" in said, "behind a guess: the register is not known",
           f"{frames} {said}")


def smallest_frames(at):
    """What CPython -X perf makes: sub $8,%rsp; call *%rcx; add $8,%rsp; ret - of which there is but a name."""
    leaf, end = BIAS + at["leaf"], [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    called, inside = (leaf, STACK + 8, [CODE + 6, JUNK] + rest), (CODE + 6, STACK, [JUNK] + rest)
    through = [[leaf, CODE + 5] + end, [CODE + 6] + end]
    check("a frame of the smallest size in JIT code, as caller and on top", walked([called, inside]), through)
    check("--no-guess", walked([called, inside], options=["--no-guess"]), [s[:-2] for s in through])
    # with_fp has pushed rbp, which then points there; its caller is caller
    record = [STACK + 0x100, BIAS + at["in_caller"]] + rest[1:]
    fp = STACK + 32  # behind leaf's return address, a word, and the stub's return address
    called = (leaf, STACK + 8, [CODE + 6, JUNK, BIAS + at["in_with_fp"]] + record)
    check("the caller has a frame pointer", walked([called], fp=fp), [[leaf, CODE + 5, BIAS + at["in_with_fp"] - 1] + end])
    # one word more, or what is no return address
    moved = (leaf, STACK, [CODE + 6, JUNK] + rest)
    check("a stack that is not aligned: no frame of that size", walked([moved]), [[leaf, CODE + 5]])
    other = (leaf, STACK + 8, [CODE + 6, JUNK, BIAS + at["caller"]] + [JUNK] * 20)
    check("no return address above it", walked([other]), [[leaf, CODE + 5]])
    other = (leaf, STACK + 8, [CODE + 6, JUNK, CODE + 0x106] + rest)
    check("an address above it that is in JIT code, too: not believed", walked([other]), [[leaf, CODE + 5]])


def stale_words(at):
    """Frames of compilers like HotSpot's hold return addresses of calls that are over."""
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    end = [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    check("on top of a stack as it is on entry: the return address", walked([(CODE, STACK + 8, rest)]), [[CODE] + end])
    check("not as on entry: none", walked([(CODE + 0x20, STACK, rest)]), [[CODE + 0x20]])
    named = [BIAS + at["in_start"]] + [JUNK] * 20
    check("of a call that names a compiled function: none", walked([(CODE, STACK + 8, named)]), [[CODE]])
    elsewhere = [BIAS + at["in_with_fp"]] + [JUNK] * 20
    check("of a function whose frame is below: none", walked([(CODE, STACK + 0x48, elsewhere)], fp=STACK + 0x20), [[CODE]])
    # JIT code that has called JIT code is none of CPython's stubs, which have the second word for a return address
    record = [JUNK, JUNK, STACK + 0x100, CODE + 6, JUNK] + rest
    check("below JIT code that JIT code has called: none", walked([(CODE + 0x120, STACK, record)], fp=STACK + 16),
          [[CODE + 0x120, CODE + 5]])


symbols = build() if os.uname().machine == "x86_64" and shutil.which("gcc") and shutil.which("nm") else None
if not symbols:
    print("ok - JIT stubs # SKIP needs gcc and binutils on x86-64")
    sys.exit(0)
smallest_frames(symbols)
stale_words(symbols)
saved_registers(symbols)
told_frames(symbols)

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
from perfwrite import ABI_32, ABI_64, PerfWriter  # noqa: E402
from walks import check_short_cuts, report, resolve, run  # noqa: E402

# caller's frame is one word below its return address: the psABI wants rsp + 8 to be a multiple of 16 on entry
PROGRAM = r"""
__asm__(".globl _start, caller, leaf\n"
"sub $8, %rsp\ncall *%rcx\nadd $8, %rsp\nret\n" /* what CPython copies */
"_start: call caller\n.globl in_start\nin_start: hlt\n"
"caller: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rax\n.globl in_caller\nin_caller: add $8, %rsp\n"
".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n"
"with_fp: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
"call *%rax\n.globl in_with_fp\nin_with_fp: pop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
"by_rbx: .cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
"and $-64, %rsp\ncall *%rax\n.globl in_by_rbx\nin_by_rbx: mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\npop %rbx\nret\n.cfi_endproc\n"
"by_sp: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rax\n.globl in_by_sp\nin_by_sp: add $8, %rsp\n"
".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n"
"named: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
"call by_sp\n.globl in_named\nin_named: pop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
"calls: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall with_fp\n.globl in_calls_fp\nin_calls_fp: call named\n"
".globl in_calls_named\nin_calls_named: call via\nin_calls_via: call switches\nin_calls_switches: add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
"ret\n.cfi_endproc\n"
"saves: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\ncall *%rax\nin_saves: mov $1, %ebp\npop %rbp\n"
".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
"deeper: .cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall deeper\nin_deeper: add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
"je saves\njmp by_sp\n.cfi_endproc\n"
"jumps: .cfi_startproc\njmp deeper\n.cfi_endproc\n"
"via: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
"call jumps\nin_via: pop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
"switches: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
"call *%rax\nin_switches: pop %rbp\n.cfi_def_cfa %rsp, 8\njmp *%rdx\n.cfi_endproc\n"
"leaf: .cfi_startproc\nret\n.cfi_endproc\n"
".globl shaped, in_restore\nshaped: .cfi_startproc\n.cfi_def_cfa_offset 16\n.cfi_offset %rip, -16\nnop\n.cfi_endproc\n"
"restore: .cfi_startproc\n.cfi_signal_frame\n.cfi_def_cfa_offset 16\ncall *%rax\nin_restore: hlt\n.cfi_endproc\n");
"""
BIAS, STACK, CODE, PID = 0x10000000, 0x7ffe0000, 0x7f0000000000, 100
REGS, MASK = 24, 0xff0fff  # of x86-64 by asm/perf_regs.h; those of 32-bit segments are not recorded
ORDER = [i for i in range(REGS) if MASK >> i & 1]
JUNK = 0x11
# push %rbp; sub $0x10,%rsp; xor %ebp,%ebp; call; nopl 0x140(%rax,%rax); add $0x10,%rsp; pop %rbp; ret
METHOD = bytes.fromhex("554883ec1031ede8f0ffffff" "0f1f840040010000" "4883c4105dc3")
BATCHES = 5  # of samples, at least: the short ways are for those after the one in which an address was met first


def build():
    with open("jit.c", "w") as f:
        f.write(PROGRAM)
    r = run("gcc", "-fPIE", "-pie", "-nostdlib", "jit.c", "-o", "jit")
    symbols = {f[2]: int(f[0], 16) for f in map(str.split, run("nm", "jit").stdout.splitlines()) if len(f) == 3}
    return None if r.returncode else symbols


def recording(samples, extra, fp, rbx, rcx=JUNK):
    """samples: [(pc, sp, words at sp)]; extra(w) writes what is before them, and a function in their place what is between"""
    w = PerfWriter("x86_64", ABI_64, MASK, 1024, pid=PID, monotonic=True)
    map_program(w)
    w.mmap(CODE, CODE + 0x10000, 0, "r-xp", "//anon")
    extra(w)
    for sample in samples:
        if callable(sample):
            sample(w)
            continue
        pc, sp, words = sample
        regs = [JUNK] * REGS
        regs[1], regs[2], regs[6] = rbx, rcx, fp
        regs[7], regs[8] = sp, pc
        w.sample(pc, [regs[i] for i in ORDER], b"".join(x.to_bytes(8, "little") for x in words))
    w.write("jit.data")
    return "jit.data"


def map_program(w):
    w.comm("jit")
    for line in run("readelf", "-lW", "jit").stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in line[60:]:
            w.mmap(BIAS + int(f[2], 16), BIAS + int(f[2], 16) + int(f[5], 16), int(f[1], 16), "r-xp", os.path.abspath("jit"))


def walked(samples, extra=lambda w: None, options=(), fp=JUNK, rbx=JUNK, rcx=JUNK):
    samples, said = resolve(recording(samples, extra, fp, rbx, rcx), "--no-stitch", *options)
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


def described_frames(at):
    """Frames of sizes that cannot be guessed, at one address one after the other; samples are at 2000, 3000 .. ns."""
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
    """The caller's frame is found by rbx, which the JIT code in between has saved, has left alone, or that nothing describes."""
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
    # CPython 3.12 packs the copies, of 11 bytes, from the start of each 16 pages (here there is one map of 16 pages)
    for copy, at_call in (1, True), (5000, True), (5000, False), (5956, True):
        ra = CODE + 11 * copy + (6 if at_call else 7)
        packed = (leaf, STACK + 8, [ra, JUNK] + rest)
        check(f"packed copy {copy}: {'a caller' if at_call else 'not behind its call'}", walked([packed]), [[leaf, ra - 1] + (end if at_call else [])])
    # with_fp has pushed rbp, which then points there; its caller is caller
    record = [STACK + 0x100, BIAS + at["in_caller"]] + rest[1:]
    fp = STACK + 32  # behind leaf's return address, a word, and the stub's return address
    called = (leaf, STACK + 8, [CODE + 6, JUNK, BIAS + at["in_with_fp"]] + record)
    check("a caller with a frame pointer: its frame", walked([called], fp=fp), [[leaf, CODE + 5, BIAS + at["in_with_fp"] - 1] + end])
    # one word more, or what is no return address
    moved = (leaf, STACK, [CODE + 6, JUNK] + rest)
    check("a stack that is not aligned: no frame of that size", walked([moved]), [[leaf, CODE + 5]])
    other = (leaf, STACK + 8, [CODE + 6, JUNK, BIAS + at["caller"]] + [JUNK] * 20)
    check("no return address above the frame: no caller", walked([other]), [[leaf, CODE + 5]])
    other = (leaf, STACK + 8, [CODE + 6, JUNK, CODE + 0x106] + rest)
    check("an address above it that is in JIT code, too: not believed", walked([other]), [[leaf, CODE + 5]])


def stale_words(at):
    """Frames of compilers like HotSpot's hold return addresses of calls that are over."""
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    end = [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    check("on top of a stack as it is on entry: the return address", walked([(CODE, STACK + 8, rest)]), [[CODE] + end])
    check("a stack not as on entry: no caller", walked([(CODE + 0x20, STACK, rest)]), [[CODE + 0x20]])
    named = [BIAS + at["in_start"]] + [JUNK] * 20
    check("a return address of a call to a compiled function: no caller", walked([(CODE, STACK + 8, named)]), [[CODE]])
    elsewhere = [BIAS + at["in_with_fp"]] + [JUNK] * 20
    check("a return address of a function whose frame is below: no caller", walked([(CODE, STACK + 0x48, elsewhere)], fp=STACK + 0x20), [[CODE]])
    # JIT code that has called JIT code is none of CPython's stubs, which have the second word for a return address
    record = [JUNK, JUNK, STACK + 0x100, CODE + 6, JUNK] + rest
    check("below JIT code that JIT code has called: no caller", walked([(CODE + 0x120, STACK, record)], fp=STACK + 16),
          [[CODE + 0x120, CODE + 5]])


def owners(at):
    """JIT code without a frame pointer, called by a function that has one: rbp leads to that function's record, not past it."""
    leaf, with_fp, by_sp = BIAS + at["leaf"], BIAS + at["in_with_fp"], BIAS + at["in_by_sp"]

    def called(*words, by="in_calls_fp"):
        """leaf, JIT code with these words of a frame, a record, and what that leads to; where the record is; what follows it."""
        rest = [STACK + 0x200, BIAS + at[by], JUNK, BIAS + at["in_start"]] + [0] * 20
        return (leaf, STACK + 8, [CODE + 3, *words] + rest), STACK + 16 + 8 * len(words), [BIAS + at[by] - 1, BIAS + at["in_start"] - 1]

    def walk(name, expected, *words, by="in_calls_fp", options=()):
        sample, fp, end = called(*words, by=by)
        check(name, walked([sample], fp=fp, options=options), [[leaf, CODE + 2] + expected + (end if expected is not None and "ends" not in name else [])])
        check_short_cuts(name, "jit.data", 0)

    for n in 2, 4, 30:
        walk(f"the owner of the frame pointer behind a frame of {n} words", [with_fp - 1], *[JUNK] * n, with_fp)
    walk("--no-guess ends", [], JUNK, JUNK, with_fp, options=["--no-guess"])
    walk("code called by an address: the record may be its own: ends", [], JUNK, JUNK, with_fp, by="in_caller")
    # by_sp's frame is of 16 bytes: it has called the code, and another has called it
    named = BIAS + at["in_named"]
    walk("a caller without a frame pointer in between", [by_sp - 1, named - 1], JUNK, JUNK, by_sp, JUNK, named, by="in_calls_named")
    walk("a frame that may be of a call that is over: ends", [], JUNK, JUNK, by_sp, JUNK, with_fp)
    walk("a frame that other JIT code has called, and that may be the owner: ends", [], JUNK, JUNK, by_sp, JUNK, CODE + 6)
    walk("the owner has called another function than the code, and that is not known: ends", [], JUNK, JUNK, JUNK, named, by="in_calls_named")
    walk("a word that is at no place for one: the record is the code's own", [], JUNK, with_fp, JUNK, JUNK, by="in_caller")
    walk("the record's call is of a function that is none of these: ends", [], JUNK, with_fp, JUNK, JUNK)
    saves, deeper, via, switches = (BIAS + at[x] for x in ("in_saves", "in_deeper", "in_via", "in_switches"))
    walk("forty callers without a frame pointer", [by_sp - 1] + 40 * [deeper - 1] + [via - 1], by_sp, JUNK, *40 * [deeper, JUNK], via, by="in_calls_via")
    walk("a caller that has saved the frame pointer and not used it", [saves - 1, deeper - 1, via - 1],
         saves, STACK + 56, deeper, JUNK, via, by="in_calls_via")
    walk("one that has put something else into it: the record is the code's own", [], saves, JUNK, JUNK, by="in_caller")
    walk("a caller that a jump has entered", [by_sp - 1, via - 1], by_sp, JUNK, via, by="in_calls_via")
    walk("a call of another function, which does not jump there: the record is the code's own", [],
         saves, STACK + 48, via, JUNK, by="in_caller")
    walk("an owner that may have jumped to the code: ends", [], JUNK, JUNK, switches, by="in_calls_switches")
    # as in Mono, whose functions keep no frame pointer: W:Fib, W:Fib, W:Main, a wrapper with a record, the runtime
    walk("JIT code that may have called it, and a record that leads to a file: ends", [], JUNK, CODE + 0x106, JUNK)
    walk("JIT code that may have called it is right above it: ends", [], CODE + 0x106, JUNK, JUNK)
    walk("the same call of JIT code may have called it, by way of a function that jumps on: ends", [], JUNK, CODE + 3, JUNK)
    # JIT code with a frame pointer has called some without: the record leads to JIT code, too
    for name, below, more in (("that may have called it, which has a record: ends", [JUNK, JUNK], []),
                              ("of V8, which keeps frame pointers: below the record are a function and a context", [0x7e0000000101, 0x7e0000000201],
                               [CODE + 0x205])):
        words = [CODE + 3, JUNK, CODE + 0x106, *below, STACK + 0x4000, CODE + 0x206] + [JUNK] * 20
        check(f"JIT code {name}", walked([(leaf, STACK + 8, words)], fp=STACK + 8 + 5 * 8), [[leaf, CODE + 2, *more]])


def again(at):
    """What is remembered of an address must not tell what depends on the registers: each stack twice, both times as told."""
    leaf, end = BIAS + at["leaf"], [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    fp = STACK + 32
    frames = [leaf, CODE + 5, CODE + 0x105]

    def through(words, saved, ra):
        """leaf, code at CODE + 6 whose frame record is at fp, code at CODE + 0x106, and what called that."""
        return leaf, STACK + 8, [CODE + 6] + words + [saved, CODE + 0x106] + ra

    called = through([JUNK, JUNK], fp + 16, [STACK + 0x100] + rest)
    samples = {
        "two frames of JIT code": (called, frames + end),
        "a record that is not aligned": (through([JUNK, JUNK], fp + 17, [STACK + 0x100] + rest), frames),
        "a record below": (through([JUNK, JUNK], fp - 8, [STACK + 0x100] + rest), frames),
        "one below, which has been returned from": (through([STACK + 0x100, BIAS + at["in_caller"]], STACK + 16, [JUNK] * 20), frames),
        "one that is not aligned, but could be read": (through([JUNK, JUNK], fp + 20, [JUNK, BIAS + at["in_caller"] << 32, JUNK << 32] + rest), frames),
        "what has called is where another sample is, on entry": ((CODE + 5, STACK + 8, rest[:3] + [STACK + 0x100, CODE + 0x106] + rest), [CODE + 5] + end),
        "a chain that ends": (through([JUNK, JUNK], 0, rest), frames),
        "no return address": (through([JUNK, JUNK], fp + 16, [STACK + 0x100, BIAS + at["caller"]] + rest), frames),
        "one that is 0": (through([JUNK, JUNK], fp + 16, [STACK + 0x100, 0] + rest), frames),
        "a frame of the smallest size": ((leaf, STACK + 8, [CODE + 6, JUNK, BIAS + at["in_with_fp"], STACK + 0x100] + rest),
                                         [leaf, CODE + 5, BIAS + at["in_with_fp"] - 1] + end),
    }
    order = BATCHES * (list(samples) + list(reversed(samples)))
    check("JIT code that was met before", walked([samples[name][0] for name in order], fp=fp), [samples[name][1] for name in order])
    check_short_cuts("JIT code that was met before", "jit.data", 0)


def described_later(at):
    """What is remembered of JIT code is wrong once its compiler tells of it: here of a frame without a frame pointer, whose
    record is not its own. That the jitdump is mapped changes no other map."""
    leaf, called, fp = BIAS + at["leaf"], CODE + 12, STACK + 8
    untold = [leaf, CODE + 0x105, called - 1]
    told = untold + [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    dump = Jitdump(PID)
    dump.load(100, CODE, 0x40, "method", METHOD)
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))
    # a frame record at fp; the method's two words and its caller's rbp; the record above, of no frame
    sample = leaf, STACK, [CODE + 0x106, STACK + 56, called, JUNK, JUNK, JUNK, BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    n = 8 * BATCHES
    samples = n * [sample] + [lambda w: w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", path)] + n * [sample]
    check("JIT code whose jitdump is mapped later", walked(samples, fp=fp), n * [untold] + n * [told])
    check_short_cuts("JIT code whose jitdump is mapped later", "jit.data", 0)


def described_in_between(at):
    """The same with one jitdump: until then there is a function that is not understood."""
    leaf, called, fp, n = BIAS + at["leaf"], CODE + 12, STACK + 8, 8 * BATCHES
    untold = [leaf, CODE + 0x105, called - 1]
    dump = Jitdump(PID)
    dump.load(100, CODE, 0x40, "other", b"\x06" * 0x40)
    dump.load(1500 + 1000 * n, CODE, 0x40, "method", METHOD)
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))
    sample = leaf, STACK, [CODE + 0x106, STACK + 56, called, JUNK, JUNK, JUNK, BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    extra = lambda w: w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", path)  # noqa: E731
    check("JIT code that its jitdump loads in between", walked(2 * n * [sample], extra, fp=fp),
          n * [untold] + n * [untold + [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]])
    check_short_cuts("JIT code that its jitdump loads in between", "jit.data", 0)


def of_32_bits(at):
    """Frame pointers through JIT code of 32 bits."""
    w = PerfWriter("x86_64", ABI_32, MASK, 1024, pid=PID)
    w.comm("jit")
    w.mmap(0x20000000, 0x20001000, 0, "r-xp", "//anon")
    regs = [{6: STACK, 7: STACK, 8: 0x20000000}.get(i, JUNK) for i in ORDER]
    words = [STACK + 12, 0x20000106, JUNK, STACK + 20, 0x20000206, 0, 0x20000306] + [0] * 20
    for _ in range(BATCHES):
        w.sample(regs[8], regs, b"".join(x.to_bytes(4, "little") for x in words))
    w.write("jit.data")
    got = [[a for a, _ in s] for s in resolve("jit.data", "--no-stitch")[0]]
    report(got == BATCHES * [[0x20000000, 0x20000105, 0x20000205, 0x20000305]], "JIT code of 32 bits", str([[hex(a) for a in s] for s in got]))
    check_short_cuts("JIT code of 32 bits", "jit.data", 0)


def interrupted(at):
    """There is no link register on x86-64: what the handler's function has returned to is none of the interrupted code's."""
    sample = BIAS + at["shaped"], STACK, [BIAS + at["in_restore"], JUNK, JUNK, CODE] + [JUNK] * 20
    check("JIT code that a signal has interrupted", walked([sample]), [[BIAS + at["shaped"], BIAS + at["in_restore"], CODE]])


def two_word_sizes(at):
    """A program for 64 bits may run code for 32 (Wine does): what is remembered of an address is for one of them."""
    leaf, words = BIAS + at["leaf"], [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    w = PerfWriter("x86_64", ABI_32, MASK, 1024, pid=PID)
    map_program(w)
    regs = [{7: STACK, 8: leaf}.get(i, JUNK) for i in ORDER]
    for w.abi in ABI_32, ABI_64, ABI_32, ABI_64:
        w.sample(leaf, regs, b"".join(x.to_bytes(8, "little") for x in words))
    w.write("both.data")
    got = [[a for a, _ in s] for s in resolve("both.data", "--no-stitch", "--no-guess")[0]]
    report(got == 2 * [[leaf], [leaf, BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]], "code of 32 and 64 bits in one program",
           str([[hex(a) for a in s] for s in got]))


def cache_place(ip):
    """Where rule_cache.h looks for the rule of an address in the first address space."""
    return (1 << 48 | ip) * 0x9e3779b97f4a7c15 % 2**64 >> 48


def shared_places(at):
    """Looking at a word of the stack may move the rule of the frame that it is in: both have one place. Here the word is in
    _start, where stacks end, but behind no call."""
    leaf, words = BIAS + at["leaf"], range(BIAS + at["_start"] + 1, BIAS + at["in_start"])
    places = {cache_place(word - 1): word for word in words}
    callers = {ip: places[cache_place(ip - 1)] for ip in range(CODE + 1, CODE + 0x10000) if cache_place(ip - 1) in places}
    samples = []
    for ip, word in callers.items():
        samples += [(leaf, STACK, [ip, JUNK, x, STACK + 0x100, word] + [0] * 20) for x in (JUNK, JUNK + 1)]
    got, said = walked(samples, options=["--stats"], fp=STACK + 24)
    report(len(callers) > 0 and got == [[leaf, ip - 1] for ip in callers for _ in range(2)], f"{len(callers)} rules that share a place", said)
    check_short_cuts("rules that share a place", "jit.data", 0)


def described_code(at):
    """A jitdump tells the bytes of code without call frame information. `method` has a frame as HotSpot's compilers make it;
    its caller is another place in JIT code, whose frame is found by a frame pointer (`interpreter`)."""
    leaf, end = BIAS + at["leaf"], [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    # push %rbp; mov %rsp,%rbp; call; leave; ret; and what only an indirect jump leads to: jmp *%rax; 6 times nop
    interpreter = bytes.fromhex("554889e5e8f0ffffffc9c3" "ffe0909090909090")
    # what V8's baseline code does: call (which makes the frame); push %rdx; mov -0x30(%rbp),%r8; call; ret
    baseline = bytes.fromhex("e8f0ffffff52" "4c8b45d0" "e8f0ffffff" "c3")
    called, inner, outer, jumped = CODE + 12, CODE + 0x1009, CODE + 0x1009, CODE + 0x1000 + 0x10
    dump = Jitdump(PID)
    dump.load(100, CODE, 0x40, "method", METHOD)
    dump.load(100, CODE + 0x1000, 0x40, "interpreter", interpreter)
    dump.load(100, CODE + 0x2000, 0x40, "baseline", baseline)
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))
    extra = lambda w: w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", path)  # noqa: E731
    frame = [JUNK, JUNK]
    fp = STACK + 0x200
    samples = {
        "called by a file's": ((leaf, STACK, [called] + frame + [fp] + rest), [leaf, called - 1] + end),
        "twice": ((leaf, STACK, [called] + frame + [fp, called] + frame + [fp] + rest), [leaf, called - 1, called - 1] + end),
        "before its frame": ((CODE, STACK, rest), [CODE] + end),
        "after its frame": ((CODE + 0x19, STACK, rest), [CODE + 0x19] + end),
        "an address that is behind no call": ((leaf, STACK, [called] + frame + [fp, CODE + 6] + rest), [leaf, called - 1]),
        # The frame pointer that it keeps is its caller's, whose frame record that is
        "called by code with a frame pointer": (
            (leaf, STACK, [called] + frame + [STACK + 48, inner, JUNK, STACK + 0x100] + rest),
            [leaf, called - 1, inner - 1] + end),
        "called by an interpreter, which has pushed an address behind no call": (
            (leaf, STACK, [called] + frame + [STACK + 48, jumped, JUNK, STACK + 0x100] + rest),
            [leaf, called - 1, jumped - 1] + end),
        # HotSpot's adapter has lowered method's stack pointer by 2 words; what it was is below the interpreter's frame record
        "that calls an interpreter with arguments": (
            (leaf, STACK, [outer, STACK + 48, STACK + 0x100, called, JUNK, JUNK] + frame + [fp] + rest),
            [leaf, outer - 1, called - 1] + end),
    }
    order = list(samples) + list(reversed(samples))
    pointers = {"that calls an interpreter with arguments": STACK + 16}
    for name in order:
        check(f"code from a jitdump: {name}", walked([samples[name][0]], extra, fp=pointers.get(name, JUNK)), [samples[name][1]])
    check("code from a jitdump: --no-guess ends the stack", walked([samples["twice"][0]], extra, options=["--no-guess"]), [[leaf, called - 1]])
    # No frame pointer is looked at where code has a frame without one: here it would skip a caller
    skips = (leaf, STACK, [called] + frame + [STACK + 0x100, JUNK] + [STACK + 0x100] + rest)
    check("code from a jitdump without a frame pointer: none is looked at", walked([skips], extra, fp=STACK + 40), [[leaf, called - 1]])
    # In V8's baseline code there is one, of which its own instructions do not tell
    based = CODE + 0x2000 + 15
    v8 = (leaf, STACK, [based, BIAS + at["in_caller"], STACK + 0x100] + rest)
    check("code from a jitdump: a frame that a call has made", walked([v8], extra, fp=STACK + 16), [[leaf, based - 1] + end])


def ends_of_v8(at):
    """The entry of V8's interpreted functions: as it begins, and as it takes the arguments from the stack, the record at the frame
    pointer is its caller's, and at the end the return address is in a register alone. Frames: the caller's record is at fp."""
    # 20 times cmpw $0xf5,0xb(%r10); je (to the end); then push %rbp; mov %rsp,%rbp; call; leave; pop %rcx; add %rbx,%rsp; push %rcx; ret
    begin = bytes.fromhex("6641817a0bf500" "7410") * 10 + bytes.fromhex("554889e5" "e800000000")
    code = begin + bytes.fromhex("c9" "59" "4801dc" "51" "c3")
    called, drop = CODE + len(begin), CODE + len(begin) + 1
    dump = Jitdump(PID)
    dump.pages(100, CODE, code)

    def extra(w):
        w.mmap(0x7d0000000000, 0x7d0000001000, 0, "r-xp", "/nowhere/node")
        w.features[208] = dump.section()

    # two arguments; the caller's record; its caller
    fp, ends = STACK + 24, [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    above = [JUNK, JUNK, STACK + 0x200, BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    for what, ip, on_stack, rcx in (("at its start", CODE, True, JUNK), ("before its frame", CODE + 81, True, JUNK),
                                    ("behind its frame", drop, True, JUNK), ("the arguments are to be taken", drop + 1, False, called),
                                    ("they are taken", drop + 4, False, called), ("at its return", drop + 5, True, JUNK)):
        words = [called] * on_stack + above
        sample = (ip, fp - 16 - 8 * on_stack, words)
        check(f"V8's entry of interpreted functions, {what}", walked([sample], extra, fp=fp, rcx=rcx), [[ip, called - 1] + ends])
    # a register that does not hold a return address
    check("what is no return address is none", walked([(drop + 4, fp - 16, above)], extra, fp=fp, rcx=CODE + 3), [[drop + 4]])


def too_much_code(at):
    """Functions of which every byte has a frame of its own: as much is followed as the largest programs need, not more."""
    leaf, end = BIAS + at["leaf"], [BIAS + at["in_caller"] - 1, BIAS + at["in_start"] - 1]
    rest = [BIAS + at["in_caller"], JUNK, BIAS + at["in_start"]] + [0] * 20
    size, n, base = 256 << 10, 10, CODE + 0x1000000
    code = b"\x50\x58" * (size // 2)  # push %rax; pop %rax
    dump = Jitdump(PID)
    for i in range(n):
        dump.load(100, base + i * size, size, f"f{i}", code)
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))

    def extra(w):
        w.mmap(0x7e0000000000, 0x7e0000001000, 0, "r-xp", path)
        w.mmap(base, base + n * size, 0, "r-xp", "//anon")

    ips = [base + i * size + 3 for i in range(n)]
    got, said = walked([(leaf, STACK, [ip] + rest) for ip in ips + ips[:1]], extra, options=["-j", "1"])
    known = [s[2:] == end for s in got]
    report([s[:2] for s in got] == [[leaf, ip - 1] for ip in ips + ips[:1]] and known == [True] * 8 + [False] * 2 + [True],
           "code from a jitdump: followed up to the limit, and not beyond", f"{known} {said}")


symbols = build() if os.uname().machine == "x86_64" and shutil.which("gcc") and shutil.which("nm") else None
if not symbols:
    print("ok - JIT stubs # SKIP needs gcc and binutils on x86-64")
    sys.exit(0)
smallest_frames(symbols)
stale_words(symbols)
owners(symbols)
saved_registers(symbols)
described_frames(symbols)
again(symbols)
described_later(symbols)
described_in_between(symbols)
of_32_bits(symbols)
interrupted(symbols)
two_word_sizes(symbols)
shared_places(symbols)
described_code(symbols)
ends_of_v8(symbols)
too_much_code(symbols)

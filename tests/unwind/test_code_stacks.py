#!/usr/bin/env python3
"""Stacks of functions without call frame information, word by word.

Truth by construction: each function's machine code says where its frame is, the words of the stack are laid out as calls
would leave them, or as they never would. What the two registers contradict, or what only looks like a caller, must end the
stack. Each is walked several times, because what is remembered of an address must not tell what depends on the registers.
"""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from walks import check_short_cuts, report, resolve, run  # noqa: E402

# Bodies; each begins 200 bytes behind the one before. What begins with "in_" is a label behind the instruction before it.
FUNCTIONS = {
    "outer": "sub $24,%rsp; call *%rax; in_outer: add $24,%rsp; ret",
    # No frame record: rbx is where the return address would be
    "odd": "push %rbx; push %rbp; mov %rsp,%rbp; sub $16,%rsp; call *%rax; in_odd: add $16,%rsp; pop %rbp; pop %rbx; ret",
    "big": "push %rbx; push %rbp; mov %rsp,%rbp; sub $1024,%rsp; call *%rax; in_big: add $1024,%rsp; pop %rbp; pop %rbx; ret",
    "any": "push %rbx; push %rbp; mov %rsp,%rbp; sub %rax,%rsp; call *%rax; in_any: mov %rbp,%rsp; pop %rbp; pop %rbx; ret",
    "with_fp": "push %rbp; mov %rsp,%rbp; sub $16,%rsp; call *%rax; in_with_fp: leave; ret",
    "loses_fp": "sub $8,%rsp; xor %ebp,%ebp; call *%rax; in_loses_fp: add $8,%rsp; hlt",
    "leaf": "nop; ret",
    # The return address is in r9; and what ends in_lost looks like a call, or is where ways with and without it meet
    "taken": "pop %r9; in_taken: nop; mov $0xe8,%eax; nop; in_lost: push %r9; ret",
    "other_fp": "pop %r9; xor %ebp,%ebp; in_other_fp: nop; hlt",
    "ways": "test %edi,%edi; je 1f; pop %r9; jmp 2f; 1: pop %r8; 2: nop; in_ways: nop; hlt",
    "fp_ways": "push %rbx; push %rbp; mov %rsp,%rbp; test %edi,%edi; je 1f; add $16,%rsp; pop %r9; 1: nop; in_fp_ways: nop; hlt",
    # The caller's frame pointer is in rbp again, and the record is still where it was
    "tail": "push %rbp; mov %rsp,%rbp; push $3; and $-64,%rsp; mov (%rbp),%rbp; in_tail: call *%rax; in_tail_call: hlt",
    "cfi_leaf": ".cfi_startproc; sub $64,%rsp; .cfi_def_cfa_offset 72; in_cfi_leaf: add $64,%rsp; .cfi_def_cfa_offset 8; ret; .cfi_endproc",
    "cfi_sp": ".cfi_startproc; sub $24,%rsp; .cfi_def_cfa_offset 32; call *%rax; in_cfi_sp: add $24,%rsp; ret; .cfi_endproc",
    "cfi_fp": ".cfi_startproc; push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp,-16; mov %rsp,%rbp; .cfi_def_cfa_register %rbp; "
              "call *%rax; in_cfi_fp: leave; ret; .cfi_endproc",
    # As if a handler's function had returned: the interrupted pc is the word above
    "restore": ".cfi_startproc; .cfi_signal_frame; .cfi_def_cfa_offset 16; call *%rax; in_restore: hlt; .cfi_endproc",
}
# The call is the last instruction; what is behind has another frame.
LAST = ".type last,@function; last: sub $40,%rsp; call *%rax; in_last: .size last,.-last; .type behind,@function; behind: ret; .size behind,.-behind"
# Of these the stripped program knows by the calls in _start.
CALLED = "call leaf; call helper; in_helper_call: hlt"
HELPER = ".type helper,@function; helper: sub $8,%rsp; nop; in_helper: add $8,%rsp; ret; .size helper,.-helper"
BIAS, STACK, ANON, PID = 0x10000000, 0x7ffe0000, 0x7f0000000000, 100
REGS, MASK, RBP, RSP, RIP, R9 = 24, 0xff0fff, 6, 7, 8, 17  # asm/perf_regs.h; those of segments are not recorded
JUNK, WORD = 0x11, 8
ROUNDS = 3


def build():
    fill = "\n.fill 200,1,0xcc\n"
    text = [".globl _start\n.type _start,@function\n_start: call *%rax; in_start: hlt" + fill, LAST + fill, HELPER + fill,
            f"calls: {CALLED}" + fill]
    for name, body in FUNCTIONS.items():
        text.append(f".type {name},@function\n{name}: {body}\n.size {name},.-{name}" + fill)
    with open("code.s", "w") as f:
        f.write("".join(text).replace(";", "\n"))
    r = run("gcc", "-fPIE", "-pie", "-nostdlib", "code.s", "-o", "code")
    at = {f[2]: BIAS + int(f[0], 16) for f in map(str.split, run("nm", "code").stdout.splitlines()) if len(f) == 3}
    return None if r.returncode else at


def map_program(w, path):
    w.comm("code")
    for line in run("readelf", "-lW", path).stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in line[60:]:
            w.mmap(BIAS + int(f[2], 16), BIAS + int(f[2], 16) + int(f[5], 16), int(f[1], 16), "r-xp", os.path.abspath(path))


def writer(mask=MASK, path="code"):
    w = PerfWriter("x86_64", ABI_64, mask, 1024, pid=PID)
    map_program(w, path)
    w.mmap(ANON, ANON + 0x1000, 0, "r-xp", "//anon")
    return w


def add(w, pc, words, sp=STACK, fp=JUNK, r9=JUNK):
    regs = [{RBP: fp, RSP: sp, RIP: pc, R9: r9}.get(i, JUNK) for i in range(REGS) if w.mask >> i & 1]
    w.sample(pc, regs, b"".join(x.to_bytes(8, "little") for x in words))


def walked(w):
    w.write("code.data")
    samples, said = resolve("code.data", "--no-stitch")
    return [[a for a, _ in s] for s in samples], said


def check_all(title, cases, mask=MASK, path="code"):
    """{name: (what add() takes, the callers' return addresses)}"""
    w = writer(mask, path)
    w.mask = mask
    order = ROUNDS * (list(cases) + list(reversed(cases)))
    for name in order:
        args, _ = cases[name]
        add(w, *args[:2], **args[2])
    got, said = walked(w)
    for name in cases:
        args, callers = cases[name]
        wanted = [args[0]] + [ra - 1 for ra in callers]
        mine = [g for n, g in zip(order, got) if n == name]
        report(len(got) == len(order) and mine == 2 * ROUNDS * [wanted], f"{title}: {name}",
               "\n".join(str([hex(x) for x in s]) for s in [wanted] + mine) + said)
    check_short_cuts(title, "code.data", 0)


def popped(at):
    """The stack pointer is not where the function's own pushes put it: its callees took arguments off the stack, or it is a
    callee's, which has more below."""
    end = [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_outer"], at["in_start"]]

    def saved(below, above=end):
        """`below` words, what odd and big have saved, and their caller's return address."""
        return below + [JUNK, JUNK, at["in_outer"]] + above

    def sample(function, n, **kw):
        return (at["in_" + function], saved(n * [JUNK]), dict({"fp": STACK + n * WORD}, **kw)), callers

    def under(pc, words, n, extra=None):
        """Called: `n` words are below what the frame pointer points to."""
        below = n * [JUNK]
        if extra:
            below[0] = extra
        return pc, words + saved(below), {"fp": STACK + (len(words) + n) * WORD}

    def called(function, n, leaf="leaf", extra=None):
        return under(at[leaf], [at["in_" + function]], n, extra), [at["in_" + function]]

    def jit(n):
        """From code without a file, by its frame pointer: how = FRAME_POINTER."""
        words = [STACK + (2 + n) * WORD, at["in_odd"]]
        return (ANON, words + saved(n * [JUNK]), {"fp": STACK}), [at["in_odd"]] + callers

    def accepted(case):
        return case[0], case[1] + callers

    cases = {
        "as its pushes say": sample("odd", 2),
        "one word is gone": sample("odd", 1),
        "all are gone": sample("odd", 0),
        "more than all": ((at["in_odd"], saved([])[1:], {"fp": STACK - WORD}), []),
        "64 are gone": sample("big", 128 - 64),
        "65 are gone": (sample("big", 128 - 65)[0], []),
        "half a word is gone": (sample("big", 127, fp=STACK + 127 * WORD + 4)[0], []),
        "one more, in the sample's own frame": (sample("odd", 3)[0], []),
        "gone, in the caller": accepted(called("odd", 1)),
        "gone, in the caller of a frame that is sure": called("odd", 1, "cfi_leaf"),
        "gone, behind a frame pointer": jit(1),
        "one more, in the caller": accepted(called("odd", 3)),
        "one more, in the caller of a frame that is sure": called("odd", 3, "cfi_leaf"),
        "one more, behind a frame pointer": jit(3),
        "one more, which is a return address": called("odd", 3, extra=at["in_with_fp"]),
        "64 more": accepted(called("odd", 2 + 64)),
        "65 more": called("odd", 2 + 65),
    }
    check_all("popped", cases)


def by_frame_pointer(at):
    """Only the frame pointer tells; what lies below the stack pointer is no frame."""
    end = [at["in_outer"]] + [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_any"], at["in_outer"], at["in_start"]]
    inside, below = [JUNK] * 8, [JUNK] * 3 + [at["in_outer"]] + [JUNK] * 4
    cases = {
        "above": ((at["in_cfi_leaf"], inside + [at["in_any"], JUNK, JUNK, JUNK] + end, {"fp": STACK + 10 * WORD}), callers),
        "below": ((at["in_cfi_leaf"], below + [at["in_any"], JUNK] + end, {"fp": STACK + WORD}), callers[:1]),
        "its own return address": ((at["in_cfi_leaf"], inside + [at["in_any"], JUNK] + end, {"fp": STACK + 6 * WORD}), callers[:1]),
        # loses_fp has nowhere saved it: what is above its return address is not the frame pointer
        "lost": ((at["leaf"], [at["in_loses_fp"], JUNK, at["in_any"], STACK + 5 * WORD, JUNK, JUNK, JUNK] + end, {"fp": STACK + 5 * WORD}),
                 [at["in_loses_fp"], at["in_any"]]),
    }
    check_all("by frame pointer", cases)
    fp = cases["above"][0][2]["fp"]
    check_all("frame pointers are not recorded", {"no caller": (cases["above"][0][:2] + ({"fp": fp},), callers[:1])}, MASK & ~(1 << RBP))


def in_register(at):
    """The return address is in a register, and the stack pointer anywhere."""
    end = [at["in_outer"]] + [JUNK] * 3 + [at["in_start"]]
    record = [JUNK, JUNK, STACK + 0x100] + end
    outer = [at["in_outer"], at["in_start"]]

    def taken(r9, pc="in_taken", words=tuple(record), **kw):
        return at[pc], list(words), dict({"fp": STACK + 2 * WORD, "r9": at.get(r9, r9)}, **kw)

    no_record = [JUNK] * 12
    signal = [at["in_restore"], JUNK, at["in_taken"]] + no_record
    cases = {
        "of a caller with a frame pointer": (taken("in_with_fp"), [at["in_with_fp"]] + outer),
        "of a caller whose frame pointer is sure": (taken("in_cfi_fp"), [at["in_cfi_fp"]] + outer),
        "of code that is not known": (taken(ANON + 6), [ANON + 6] + outer),
        "of a caller without": (taken("in_outer", words=no_record), []),
        "of a caller whose stack pointer is sure": (taken("in_cfi_sp", words=no_record), []),
        "of none": (taken(0, words=no_record), []),
        "of no code": (taken(0x5000, words=no_record), []),
        "of no call": (taken("with_fp", words=no_record), []),
        "the frame pointer is another": (taken("in_with_fp", "in_other_fp", no_record), []),
        "several registers": (taken("in_with_fp", "in_ways", no_record), []),
        "a register or the stack": ((at["in_fp_ways"], [JUNK, STACK + 0x100, JUNK] + end, {"fp": STACK + WORD}), []),
        "interrupted": ((at["leaf"], signal, {"fp": STACK + 2 * WORD, "r9": at["in_with_fp"]}), [at["in_restore"] + 1, at["in_taken"] + 1]),
    }
    check_all("in a register", cases)
    cases = {"no caller": (taken("in_with_fp", words=no_record), [])}
    check_all("in a register, without a frame pointer", cases, MASK & ~(1 << RBP))
    cases = {"no caller": (taken("in_with_fp", "in_lost", no_record), [])}
    check_all("in a register that is not recorded", cases, MASK & ~(1 << R9))


def records(at):
    """The stack pointer is not known, but below the frame's record."""
    end = [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_outer"], at["in_start"]]

    def tail(n, fp, more=(), pc="in_tail"):
        return at[pc], list(more) + n * [JUNK] + [fp, at["in_outer"]] + end, {"fp": fp}

    far = STACK + 0x380
    cases = {
        "at the stack pointer": (tail(0, far), callers),
        "the caller's begins behind it": (tail(1, STACK + 3 * WORD), callers),
        "the caller's begins in it": (tail(1, STACK + 2 * WORD), []),
        "63 words above": (tail(63, far), callers),
        "64 words above": (tail(64, far), []),
        "behind such a word that is none": (tail(0, far, [far, JUNK]), callers),
        "not copied": ((at["in_tail"], [JUNK] * 3, {"fp": far}), []),
        "called": ((at["leaf"], [at["in_tail_call"], far, at["in_outer"]] + end, {"fp": far}), [at["in_tail_call"]]),
    }
    check_all("records", cases)
    check_all("records, without a frame pointer", {"no caller": (tail(1, far), [])}, MASK & ~(1 << RBP))


def ends_of_functions(at):
    cases = {"a call is the last instruction": ((at["leaf"], [at["in_last"]] + [JUNK] * 5 + [at["in_start"]], {}), [at["in_last"], at["in_start"]])}
    check_all("ends", cases)


def without_names(at):
    """A function without a name has been called where a call leads to it, and nowhere else."""
    shutil.copy("code", "stripped")
    run("strip", "stripped")
    cases = {
        "called": ((at["in_helper"], [JUNK, at["in_helper_call"]], {}), [at["in_helper_call"]]),
        "called by code without a file": ((at["in_helper"], [JUNK, ANON + 6], {}), []),
        "called where another function is": ((at["in_helper"], [JUNK, at["in_helper_call"] - 5], {}), []),
    }
    check_all("without names", cases, path="stripped")


def two_programs(at):
    """The same addresses in two processes are of two files."""
    with open("code", "rb") as f:
        code = bytearray(f.read())
    for change in bytes.fromhex("4883ec18ffd0"), bytes.fromhex("4883c418c3"):  # 24 -> 40
        code[code.index(change) + 3] = 40
    with open("other", "wb") as f:
        f.write(code)
    os.chmod("other", 0o755)
    words = [at["in_outer"], JUNK, JUNK, JUNK, at["in_outer"], JUNK, at["in_start"], JUNK, at["in_start"]]
    w = writer()
    w.pid = 200
    map_program(w, "other")
    w.mask = MASK
    for w.pid in ROUNDS * (100, 200):
        add(w, at["leaf"], words)
    got, said = walked(w)
    wanted = [[at["leaf"], at["in_outer"] - 1, at["in_outer"] - 1, at["in_start"] - 1], [at["leaf"], at["in_outer"] - 1, at["in_start"] - 1]]
    report(got == ROUNDS * wanted, "one address in two programs", "\n".join(str([hex(x) for x in s]) for s in got) + said)


symbols = build() if os.uname().machine == "x86_64" and all(map(shutil.which, ("gcc", "nm", "strip"))) else None
if not symbols:
    print("ok - stacks by machine code # SKIP needs gcc and binutils on x86-64")
    sys.exit(0)
popped(symbols)
by_frame_pointer(symbols)
in_register(symbols)
records(symbols)
ends_of_functions(symbols)
without_names(symbols)
two_programs(symbols)

#!/usr/bin/env python3
"""Stacks of functions without call frame information, word by word.

Truth by construction: each function's machine code says where its frame is, the words of the stack are laid out as calls
would leave them, or as they never would. What the two registers contradict, or what only looks like a caller, must end the
stack.
"""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from perfsynth import Jitdump  # noqa: E402
from stacks_by_hand import (ANON, BIAS, FILL, JUNK, MASK, PID, R9, R15, RAX, RBP, ROUNDS, RSP, STACK, WORD, add, build, check_all,  # noqa: E402
                            functions, map_program, stack, walked, writer)
from walks import report, run  # noqa: E402

# Bodies; each begins 200 bytes behind the one before. What begins with "in_" is a label behind the instruction before it.
FUNCTIONS = {
    "outer": "sub $24,%rsp; call *%rax; in_outer: add $24,%rsp; ret",
    # No frame record: rbx is where the return address would be
    "odd": "push %rbx; push %rbp; mov %rsp,%rbp; sub $16,%rsp; call *%rax; in_odd: add $16,%rsp; pop %rbp; pop %rbx; ret",
    "big": "push %rbx; push %rbp; mov %rsp,%rbp; sub $1024,%rsp; call *%rax; in_big: add $1024,%rsp; pop %rbp; pop %rbx; ret",
    "any": "push %rbx; push %rbp; mov %rsp,%rbp; sub %rax,%rsp; call *%rax; in_any: mov %rbp,%rsp; pop %rbp; pop %rbx; ret",
    "with_fp": "push %rbp; mov %rsp,%rbp; sub $16,%rsp; call *%rax; in_with_fp: leave; ret",
    "loses_fp": "sub $8,%rsp; xor %ebp,%ebp; call *%rax; in_loses_fp: add $8,%rsp; hlt",
    "unsaved": "mov %rsp,%rbp; sub $8,%rsp; call *%rax; in_unsaved: add $8,%rsp; hlt",
    # What is kept of its size in 16 bits is 24
    "huge": "xor %ebp,%ebp; sub $65552,%rsp; call *%rax; in_huge: hlt",
    "no_frame": "push %rbx; xor %ebp,%ebp; sub %rax,%rsp; call *%rax; in_no_frame: hlt",
    "leaf": "nop; ret",
    # The return address is in r9; and what ends in_lost looks like a call, or is where ways with and without it meet
    "taken": "pop %r9; in_taken: nop; mov $0xe8,%eax; nop; in_lost: push %r9; ret",
    "other_fp": "pop %r9; xor %ebp,%ebp; in_other_fp: nop; hlt",
    "ways": "test %edi,%edi; je 1f; pop %r9; jmp 2f; 1: pop %r8; 2: nop; in_ways: nop; hlt",
    "fp_ways": "push %rbx; push %rbp; mov %rsp,%rbp; test %edi,%edi; je 1f; add $16,%rsp; pop %r9; 1: nop; in_fp_ways: nop; hlt",
    # The caller's frame pointer is in rbp again, and the record is still where it was
    "long": "push %rbx; .fill 300,1,0x90; pop %rbx; ret",
    "longer": "sub $24,%rsp; .fill 300,1,0x90; add $24,%rsp; ret",
    "tail": "push %rbp; mov %rsp,%rbp; push $3; and $-64,%rsp; mov (%rbp),%rbp; in_tail: call *%rax; in_tail_call: hlt",
    "cfi_leaf": ".cfi_startproc; sub $64,%rsp; .cfi_def_cfa_offset 72; in_cfi_leaf: add $64,%rsp; .cfi_def_cfa_offset 8; ret; .cfi_endproc",
    "cfi_sp": ".cfi_startproc; sub $24,%rsp; .cfi_def_cfa_offset 32; call *%rax; in_cfi_sp: add $24,%rsp; ret; .cfi_endproc",
    "cfi_fp": ".cfi_startproc; push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp,-16; mov %rsp,%rbp; .cfi_def_cfa_register %rbp; "
              "call *%rax; in_cfi_fp: leave; ret; .cfi_endproc",
    # glibc's clone3 and musl's clone
    "clone3": ".cfi_startproc; mov $435,%eax; .cfi_endproc; syscall; in_clone3: test %rax,%rax; jl 1f; je 2f; ret; 2: "
              ".cfi_startproc; .cfi_undefined %rip; xor %ebp,%ebp; call *%rdx; hlt; .cfi_endproc; 1: hlt",
    "clone": "mov $56,%al; syscall; in_clone: test %eax,%eax; jne 1f; xor %ebp,%ebp; pop %rdi; call *%r9; hlt; 1: ret",
    # glibc's __start_context, whose call frame information begins where contexts return to; and the same built for CET
    "context": ".cfi_startproc; mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je 1f; call leaf; in_context: mov %rax,%rdi; 1: call leaf; hlt; .cfi_endproc",
    "context_cet": ".cfi_startproc; endbr64; mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je 1f; call leaf; in_context_cet: mov %rax,%rdi; "
                   "1: call leaf; hlt; .cfi_endproc",
    # As if a handler's function had returned: the interrupted pc is the word above
    "restore": ".cfi_startproc; .cfi_signal_frame; .cfi_def_cfa_offset 16; call *%rax; in_restore: hlt; .cfi_endproc",
}
# The call is the last instruction; what is behind has another frame.
LAST = "".join(f".type {name},@function; {name}: {body}; call *%rax; in_{name}: .size {name},.-{name}; "
               f".type behind_{name},@function; behind_{name}: ret; .size behind_{name},.-behind_{name};"
               for name, body in (("last", "sub $40,%rsp"), ("last_fp", "push %rbp; mov %rsp,%rbp")))
# Of these, in front of the first function that is called, the stripped program knows nothing.
UNKNOWN = {
    "u_first": "push %rbp; mov %rsp,%rbp; call *%rax; in_u_first: pop %rbp; ret",
    "u_second": "push %rbp; mov %rsp,%rbp; call *%rax; in_u_second: pop %rbp; ret",
    "u_calls": "call *%rax; in_u_calls: nop; late: nop; ret",
    "u_switch": "nop; jmp *%rdx",
    "u_table": "nop; test %edi,%edi; je 1f; hlt; 1: jmp *(%rdx,%rax,8)",
    "u_word": "nop; jmp *0x2000(%rip)",
}
# A function that is not understood; and code that is too far from any to be a part of it
PUZZLE = ".type puzzle,@function; puzzle: push %rbp; mov %rsp,%rbp; .byte 6; in_puzzle: pop %rbp; ret; .size puzzle,.-puzzle"
DISTANT = ".fill 70000,1,0xcc; distant: nop; ret;"
# Of these the stripped program knows by the calls in _start.
CALLED = "call leaf; call helper; in_helper_call: call _start+0x100000; in_far_call: call _start-0x100000; in_low_call: call puzzle; in_puzzle_call: hlt"
HELPER = ".type helper,@function; helper: sub $8,%rsp; nop; in_helper: add $8,%rsp; ret; .size helper,.-helper"


# As V8's builtins: from 64 to 64 bytes, behind INT3; only pointers lead there. They leave by jumps, and what calls them is code without
# a file. The only name is that of a function far enough before that what is between is no part of it.
BUILTINS = """.size _start,100; .type named,@function; named: ret; .size named,.-named; .fill 300,1,6; .fill 2,1,0xcc; .p2align 6,0xcc
handler: push %rbp; mov %rsp,%rbp; sub $16,%rsp; call via; in_handler: mov (%rbp),%rbp; add $24,%rsp; jmp *%rcx; .fill 2,1,0xcc; .p2align 6,0xcc
via: nop; jmp *%rdx; .fill 2,1,0xcc; .p2align 6,0xcc
quick: mov 16(%rdi),%rdx; in_quick: nop; jmp *%rcx; .fill 2,1,0xcc; .p2align 6,0xcc; .fill 9,1,6
hidden: nop; nop; jmp *%rcx;
"""


# Only pointers lead to both; the second begins where the first ends. A constant looks like a call into its middle.
FOLLOWS = """.size _start,100; .type named,@function; named: ret; .size named,.-named; .fill 300,1,6; .fill 2,1,0xcc; .p2align 6,0xcc
leaf: nop; ret; .fill 2,1,0xcc; .p2align 6,0xcc
first: push %rbp; mov %rsp,%rbp; .fill 10,1,0x90; pop %rbp; ret
second: push %rbp; mov %rsp,%rbp; push %rbx; sub $56,%rsp; middle: nop; call *%rax; in_second: add $56,%rsp; pop %rbx; pop %rbp; ret
.fill 2,1,0xcc; .p2align 6,0xcc; .byte 0x48,0xb8,0xe8; .long middle-.-4; .byte 0,0,0; ret
"""


def check_stacks(title, cases, mask=MASK, path="code", **kw):
    check_all(title, symbols, path, cases, mask, **kw)


def popped(at):
    """The stack pointer is not where the function's own pushes put it: its callees took arguments off the stack, or it is a
    callee's, which has more below."""
    end = [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_outer"], at["in_start"]]

    def saved(below, above=end):
        """`below` words, what odd and big have saved, and their caller's return address."""
        return below + [JUNK, JUNK, at["in_outer"]] + above

    def sample(function, n, less=0):
        return (at["in_" + function], saved(n * [JUNK]), {RBP: STACK + n * WORD, RSP: STACK - less}), callers

    def under(pc, words, n, extra):
        """Called: `n` words are below what the frame pointer points to; `extra` in the place of the first of them."""
        below = extra + (n - len(extra)) * [JUNK]
        return pc, words + saved(below), {RBP: STACK + (len(words) + n) * WORD}

    def called(function, n, leaf="leaf", extra=()):
        return under(at[leaf], [at["in_" + function]], n, list(extra)), [at["in_" + function]]

    def jit(n):
        """From code without a file, by its frame pointer: how = FRAME_POINTER."""
        words = [STACK + (2 + n) * WORD, at["in_odd"]]
        return (ANON, words + saved(n * [JUNK]), {RBP: STACK}), [at["in_odd"]] + callers

    def accepted(case):
        return case[0], case[1] + callers

    cases = {
        "as its pushes say": sample("odd", 2),
        "one word is gone": sample("odd", 1),
        "all are gone": sample("odd", 0),
        "more than all": ((at["in_odd"], saved([])[1:], {RBP: STACK - WORD}), []),
        "64 are gone": sample("big", 128 - 64),
        "65 are gone": (sample("big", 128 - 65)[0], []),
        "half a word is gone": (sample("big", 127, less=4)[0], []),
        "one more, in the sample's own frame": (sample("odd", 3)[0], []),
        "gone, in the caller": accepted(called("odd", 1)),
        "gone, in the caller of a frame that is sure": called("odd", 1, "cfi_leaf"),
        "gone, behind a frame pointer": jit(1),
        "one more, in the caller": accepted(called("odd", 3)),
        "one more, in the caller of a frame that is sure": called("odd", 3, "cfi_leaf"),
        "one more, behind a frame pointer": jit(3),
        "one more, which is a return address": called("odd", 3, extra=[at["in_with_fp"]]),
        "one more, and a return address behind it": accepted(called("odd", 3, extra=[JUNK, at["in_with_fp"]])),
        "64 more": accepted(called("odd", 2 + 64)),
        "65 more": called("odd", 2 + 65),
    }
    check_stacks("popped", cases)


def by_frame_pointer(at):
    """Only the frame pointer tells; what lies below the stack pointer is no frame."""
    end = [at["in_outer"]] + [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_any"], at["in_outer"], at["in_start"]]
    inside, below = [JUNK] * 8, [JUNK] * 3 + [at["in_outer"]] + [JUNK] * 4
    cases = {
        "above": ((at["in_cfi_leaf"], inside + [at["in_any"], JUNK, JUNK, JUNK] + end, {RBP: STACK + 10 * WORD}), callers),
        "below": ((at["in_cfi_leaf"], below + [at["in_any"], JUNK] + end, {RBP: STACK + WORD}), callers[:1]),
        "its own return address": ((at["in_cfi_leaf"], inside + [at["in_any"], JUNK] + end, {RBP: STACK + 6 * WORD}), callers[:1]),
        # loses_fp has nowhere saved it: what is above its return address is not the frame pointer
        "lost": ((at["leaf"], [at["in_loses_fp"], JUNK, at["in_any"], STACK + 5 * WORD, JUNK, JUNK, JUNK] + end, {RBP: STACK + 5 * WORD}),
                 [at["in_loses_fp"], at["in_any"]]),
    }
    below = [STACK + 5 * WORD] + [JUNK] * 3 + end
    cases.update({
        "lost, and there is no caller": ((at["leaf"], [at["in_loses_fp"]] + [JUNK] * 9, {}), [at["in_loses_fp"]]),
        "not saved": ((at["leaf"], [at["in_unsaved"], JUNK, at["in_any"]] + below, {RBP: STACK + 2 * WORD}), [at["in_unsaved"], at["in_any"]]),
        "neither tells": ((at["in_cfi_leaf"], inside + [at["in_no_frame"]] + 600 * [JUNK], {}), [at["in_no_frame"]]),
        "a frame larger than the copy": ((at["leaf"], [at["in_huge"], JUNK, JUNK, at["in_any"]] + 600 * [JUNK], {}),
                                         [at["in_huge"], "TRUNCATED_STACK"]),
    })
    check_stacks("by frame pointer", cases)
    check_stacks("frame pointers are not recorded", {"no caller": (cases["above"][0], callers[:1])}, MASK & ~(1 << RBP))


def in_register(at):
    """The return address is in a register, and the stack pointer anywhere."""
    end = [at["in_outer"]] + [JUNK] * 3 + [at["in_start"]]
    record = [JUNK, JUNK, STACK + 0x100] + end
    outer = [at["in_outer"], at["in_start"]]

    def taken(r9, pc="in_taken", words=tuple(record)):
        return at[pc], list(words), {RBP: STACK + 2 * WORD, R9: at.get(r9, r9)}

    no_record = [JUNK] * 12
    signal = [at["in_restore"], JUNK, at["in_taken"]] + no_record
    cases = {
        "of a caller with a frame pointer": (taken("in_with_fp"), [at["in_with_fp"]] + outer),
        "of a caller whose frame pointer is sure": (taken("in_cfi_fp"), [at["in_cfi_fp"]] + outer),
        "of a call that is the last instruction": (taken("in_last_fp"), [at["in_last_fp"]] + outer),
        "of code that is not known": (taken(ANON + 6), [ANON + 6] + outer),
        "of a caller without": (taken("in_outer", words=no_record), []),
        "of a caller whose stack pointer is sure": (taken("in_cfi_sp", words=no_record), []),
        "of none": (taken(0, words=no_record), []),
        "of no code": (taken(0x5000, words=no_record), []),
        "of no call": (taken("with_fp", words=no_record), []),
        "the frame pointer is another": (taken("in_with_fp", "in_other_fp", no_record), []),
        "several registers": (taken("in_with_fp", "in_ways", no_record), []),
        "a register or the stack": ((at["in_fp_ways"], [JUNK, STACK + 0x100, JUNK] + end, {RBP: STACK + WORD}), []),
        "interrupted": ((at["leaf"], signal, {RBP: STACK + 2 * WORD, R9: at["in_with_fp"]}), [at["in_restore"] + 1, at["in_taken"] + 1]),
    }
    check_stacks("in a register", cases)
    dump = Jitdump(PID)
    for i, method in enumerate((bytes.fromhex("4883ec18" "ffd0" "4883c418" "c3"), bytes.fromhex("554889e5" "ffd0" "5dc3"))):
        dump.load(100, ANON + 0x100 * i, len(method), "method", method)  # as outer, and as with_fp
    cases = {
        "without": (taken(ANON + 6, words=no_record), []),
        "with a frame pointer": (taken(ANON + 0x106), [ANON + 0x106] + outer),
    }
    check_stacks("in a register, of a method", cases, dump=dump.write(os.path.abspath(f"jit-{PID}.dump")))
    cases = {"no caller": (taken("in_with_fp", words=no_record), [])}
    check_stacks("in a register, without a frame pointer", cases, MASK & ~(1 << RBP))
    cases = {"no caller": (taken("in_with_fp", "in_lost", no_record), [])}
    check_stacks("in a register that is not recorded", cases, MASK & ~(1 << R9))


def records(at):
    """The stack pointer is not known, but below the frame's record."""
    end = [JUNK] * 3 + [at["in_start"]]
    callers = [at["in_outer"], at["in_start"]]

    def tail(n, fp, more=(), pc="in_tail"):
        return at[pc], list(more) + n * [JUNK] + [fp, at["in_outer"]] + end, {RBP: fp}

    far = STACK + 0x380
    cases = {
        "at the stack pointer": (tail(0, far), callers),
        "the caller's begins behind it": (tail(1, STACK + 3 * WORD), callers),
        "the caller's begins in it": (tail(1, STACK + 2 * WORD), []),
        "63 words above": (tail(63, far), callers),
        "64 words above": (tail(64, far), []),
        "behind such a word that is none": (tail(0, far, [far, JUNK]), callers),
        "behind a return address of no record": (tail(0, far, [JUNK, at["in_with_fp"]]), callers),
        "a return address 64 words above": ((at["in_tail"], [JUNK] * 64 + [at["in_outer"]] + end, {RBP: far}), []),
        "not copied": ((at["in_tail"], [JUNK] * 3, {RBP: far}), []),
        "called": ((at["leaf"], [at["in_tail_call"], far, at["in_outer"]] + end, {RBP: far}), [at["in_tail_call"]]),
    }
    check_stacks("records", cases)
    check_stacks("records, without a frame pointer", {"no caller": (tail(1, far), [])}, MASK & ~(1 << RBP))


def new_tasks(at):
    """What clone returns to in the parent has a caller, which guesses find; what it returns to in the child has none, and what is
    on its stack is what it was made with. Calls align the stack."""
    words, callers = [at["in_outer"]] + [JUNK] * 3 + [at["in_start"]], [at["in_outer"], at["in_start"]]
    cases = {}
    for name, offs in ("clone3", (0, 3, 5)), ("clone", (0, 2, 4)):
        for off in offs:
            pc = at["in_" + name] + off
            cases[f"the parent, {name} + {off}"] = (pc, words, {RAX: 7, RSP: STACK + WORD}), callers
            cases[f"the child, {name} + {off}"] = (pc, words, {RAX: 0, RSP: STACK + WORD}), ["END"]
            cases[f"the child without a stack, {name} + {off}"] = (pc, [], {RAX: 0, RSP: STACK + WORD}), ["END"]
    cases["before the call"] = (at["in_clone3"] - 2, words, {RAX: 0, RSP: STACK + WORD}), callers
    cases["behind the return"] = (at["in_clone3"] + 7, words, {RAX: 0, RSP: STACK + WORD}), callers
    check_stacks("new tasks", cases)
    children = {name: case for name, case in cases.items() if "child" in name}
    check_stacks("new tasks, no guesses", children, options=["--no-guess"])
    check_stacks("new tasks, rax is not recorded", {"the parent": ((at["in_clone3"], words, {RSP: STACK + WORD}), callers)}, MASK & ~(1 << RAX))


def contexts(at):
    """What makecontext() has set up returns to code that has not called it, and begins there: its own address is shown."""
    cases = {}
    for name in "context", "context_cet":
        cases[name] = (at["leaf"], [at["in_outer"], JUNK, JUNK, JUNK, at[name]] + [JUNK] * 9, {}), [at["in_outer"], at[name] + 1, "END"]
        # When such a function has returned, and in what is called then
        cases[name + ", the sample's own"] = (at[name] + 7, [JUNK] * 9, {}), ["END"]
        cases[name + ", that calls"] = (at["leaf"], [at["in_" + name]] + [at["in_outer"]] + [JUNK] * 9, {}), [at["in_" + name], "END"]
        cases[name + ", on top"] = (at["in_cfi_leaf"], [JUNK] * 8 + [at[name]] + [JUNK] * 9, {}), [at[name] + 1, "END"]
    check_stacks("contexts", cases)


def ends_of_functions(at):
    cases = {"a call is the last instruction": ((at["leaf"], [at["in_last"]] + [JUNK] * 5 + [at["in_start"]], {}), [at["in_last"], at["in_start"]])}
    check_stacks("ends", cases)


def without_names(at):
    """A function without a name has been called where a call leads to it, and nowhere else."""
    run("strip", "-o", "stripped", "code", check=True)
    cases = {
        "called": ((at["in_helper"], [JUNK, at["in_helper_call"]], {}), [at["in_helper_call"]]),
        "called through a pointer": ((at["in_helper"], [JUNK, at["in_outer"]], {}), [at["in_outer"]]),
        "called where there is code without a file": ((at["in_helper"], [JUNK, at["in_far_call"]], {}), []),
        "called by code without a file": ((at["in_helper"], [JUNK, ANON + 6], {}), [ANON + 6]),
        "called where another function is": ((at["in_helper"], [JUNK, at["in_helper_call"] - 5], {}), []),
    }
    check_stacks("without names", cases, path="stripped")


def unknown_code(at):
    """Of which nothing tells: by a frame pointer that fits, or by a root that is near."""
    pc, leaf, root, second = at["in_u_first"], at["late"], at["in_start"], at["in_u_second"]
    inside, high = [JUNK] * 8, root << 32
    entry = [second, STACK + 0x100, root], {RSP: STACK + WORD}

    def under(words, fp):
        """What has been called by unknown code, whose frame the words are."""
        return at["in_cfi_leaf"], words, {RBP: fp}

    cases = {
        "a frame record": ((pc, [JUNK, STACK + 0x100, root], {RBP: STACK + WORD}), [root]),
        "two": ((pc, [JUNK, STACK + 3 * WORD, second, STACK + 0x100, root], {RBP: STACK + WORD}), [second, root]),
        "of a call of another function": ((pc, [JUNK, STACK + 0x100, at["in_helper_call"], JUNK], {RBP: STACK + WORD}), []),
        "of a call of another function, far before": ((at["distant"], [JUNK, STACK + 0x100, at["in_helper_call"], JUNK], {RBP: STACK + WORD}), []),
        "of a call of this function": ((at["in_puzzle"], [JUNK, STACK + 0x100, at["in_puzzle_call"], JUNK], {RBP: STACK + WORD}), [at["in_puzzle_call"]]),
        "of a call into another file": ((pc, [JUNK, STACK + 0x100, at["in_far_call"], JUNK], {RBP: STACK + WORD}), [at["in_far_call"]]),
        "of a call into a file below": ((pc, [JUNK, STACK + 0x100, at["in_low_call"], JUNK], {RBP: STACK + WORD}), [at["in_low_call"]]),
        "of no call": ((pc, [JUNK, STACK + 0x100, at["u_second"], JUNK], {RBP: STACK + WORD}), []),
        "not aligned": ((pc, [JUNK, JUNK, high, 0], {RBP: STACK + WORD + 4}), []),
        "below": (under([JUNK, STACK + 0x100, root] + [JUNK] * 5 + [pc] + [JUNK] * 20, STACK + WORD), [pc]),
        "at the stack pointer": (under(inside + [pc, STACK + 0x100, root], STACK + 9 * WORD), [pc, root]),
        "not there": ((pc, [JUNK] * 3, {RBP: STACK + 0x800}), []),
        "not copied": ((pc, [JUNK] * 600, {RBP: STACK + 0x2000}), ["TRUNCATED_STACK"]),
        "at the stack pointer, before a jump by a register": ((at["u_switch"], *entry), []),
        "at the stack pointer, before a jump by a table": ((at["u_table"], *entry), []),
        "at the stack pointer, before a jump as stubs have": ((at["u_word"], *entry), [second, root]),
        "no frame pointer": ((pc, [JUNK] * 3, {RBP: 0}), []),
        "no return address": ((pc, [JUNK, STACK + 0x100, 0], {RBP: STACK + WORD}), []),
        "a chain that ends": ((pc, [JUNK, 0, second], {RBP: STACK + WORD}), [second, "END"]),
        "a chain that ends in a record": ((pc, [JUNK, STACK + 3 * WORD, second, STACK + 0x100, 0], {RBP: STACK + WORD}), [second, "END"]),
        "a root 15 words above": ((leaf, [JUNK] * 15 + [root], {}), [root]),
        "a root 16 words above": ((leaf, [JUNK] * 16 + [root], {}), []),
        "a root behind a call that is over": ((leaf, [JUNK, at["in_u_calls"], root], {}), [root]),
        "a root behind another caller": ((leaf, [JUNK, second, root], {}), []),
        "a root that is none": ((leaf, [JUNK, at["_start"] + 1] + [JUNK] * 20, {}), []),
    }
    run("strip", "-o", "stripped", "code", check=True)
    check_stacks("unknown code", cases, path="stripped")
    cases = {"a root": ((leaf, [JUNK, root], {}), [root]), "nothing": ((pc, [JUNK, STACK + 0x100, second], {RBP: STACK + WORD}), [])}
    check_stacks("unknown code, frame pointers are not recorded", cases, MASK & ~(1 << RBP), path="stripped")


def many_addresses(at):
    """More than are remembered."""
    cases = {}
    for i in range(300):
        cases[f"long+{1 + i}"] = (at["long"] + 1 + i, [JUNK, at["in_outer"]] + 3 * [JUNK] + [at["in_start"]], {}), [at["in_outer"], at["in_start"]]
        cases[f"longer+{4 + i}"] = (at["longer"] + 4 + i, 3 * [JUNK] + [at["in_start"]], {}), [at["in_start"]]
    w = writer("code")
    for args, _ in cases.values():
        add(w, *args)
    got, said = walked(w)
    bad = [(name, g) for (name, (args, callers)), g in zip(cases.items(), got) if g != stack(at, args[0], callers)]
    report(len(got) == len(cases) and not bad, f"{len(cases)} addresses", f"{bad[:3]} {said}")


def builtins():
    """A function that has made no frame, called by one that has: the record is its caller's. Where nothing tells whose it is the stack
    ends. The first case is the first address of the file that is looked for."""
    at = build("builtins", BUILTINS)
    record = [STACK + 6 * WORD, ANON + 5, JUNK, 0, at["in_start"]]
    called, regs = [at["in_handler"], JUNK, JUNK] + record, {RBP: STACK + 3 * WORD}
    up = [ANON + 5, at["in_start"]]
    cases = {
        "on entry": ((at["quick"], called, regs), [at["in_handler"]] + up),
        "behind it": ((at["in_quick"], called, regs), [at["in_handler"]] + up),
        "of a place that nothing is known of": ((at["hidden"], called, regs), []),
        "of such a place with no other word": ((at["hidden"], [JUNK, JUNK, JUNK] + record, regs), up),
    }
    check_all("builtins", at, "builtins", cases)


def code_that_is_over():
    """What V8's baseline code calls first makes its frame. Until then the record is its caller's. Memory at its caller was copied later,
    when other code was there; or it has changed at the code itself, so that nothing is known there, which is remembered of its address."""
    at = build("node", functions({"prologue": "mov 0x27(%rdi),%r8; in_prologue: nop; pop %r15; push %rbp; mov %rsp,%rbp; "
                                              "made: push %r15; ret"}))
    begins, caller = ANON + 0x105, ANON + 0x805
    code = bytearray(b"\xcc" * 4096)
    code[0x100:0x105] = b"\xe8" + ((at["prologue"] - begins) & 0xffffffff).to_bytes(4, "little")
    dump, changed = Jitdump(PID), Jitdump(PID)
    dump.pages(100, ANON, bytes(code))
    for time, byte in enumerate(b"\x50\x51", 100):
        code[0x105] = byte
        changed.pages(time, ANON, bytes(code))
    record, up = [STACK + 9 * WORD, at["in_start"]], [begins, caller, at["in_start"]]
    before = [(pc, [begins, caller, JUNK, JUNK, *record], {RBP: STACK + 4 * WORD}) for pc in (at["prologue"], at["in_prologue"])]
    none = [(pc, [begins, JUNK, *words[2:]], regs) for pc, words, regs in before]
    behind = (at["made"], [STACK + 4 * WORD, caller, JUNK, JUNK, *record], {RBP: STACK, R15: begins})
    for name, memory, samples, callers in (("its caller's is over", dump, before, up), ("no caller", dump, none, [begins]),
                                           ("its own is over", changed, [behind, *before], up)):
        w = writer("node")
        w.features[208] = memory.section()
        for sample in samples * ROUNDS:
            add(w, *sample)
        got, said = walked(w)
        wanted = [stack(at, pc, callers) for pc, *_ in samples * ROUNDS]
        report(got == wanted, f"V8's code that makes its frame: {name}", f"{wanted[:3]} {got[:3]} {said}")


def follows():
    """A function right behind another one, in which a call seems to lead into its middle."""
    at = build("follows", FOLLOWS)
    words = [at["in_second"]] + 7 * [JUNK] + [JUNK, STACK + 20 * WORD, at["in_start"]]
    regs = {RBP: STACK + 9 * WORD}
    cases = {"by both registers": ((at["leaf"], words, regs), [at["in_second"], at["in_start"]]),
             "inside": ((at["in_second"], words[1:], {RBP: STACK + 8 * WORD}), [at["in_start"]])}
    check_all("a function behind another", at, "follows", cases)


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
    w = writer("code")
    w.pid = 200
    map_program(w, "other")
    for w.pid in ROUNDS * (100, 200):
        add(w, at["leaf"], words, {})
    got, said = walked(w)
    wanted = [stack(at, at["leaf"], callers + [at["in_start"]]) for callers in (2 * [at["in_outer"]], [at["in_outer"]])]
    report(got == ROUNDS * wanted, "one address in two programs", "\n".join(map(str, got)) + said)


if os.uname().machine != "x86_64" or not all(map(shutil.which, ("gcc", "nm", "strip"))):
    print("ok - stacks by machine code # SKIP needs gcc and binutils on x86-64")
    sys.exit(0)
symbols = build("code", functions(UNKNOWN) + LAST + FILL + HELPER + FILL + PUZZLE + FILL + f"calls: {CALLED}" + FILL + functions(FUNCTIONS) + DISTANT)
popped(symbols)
by_frame_pointer(symbols)
in_register(symbols)
records(symbols)
new_tasks(symbols)
contexts(symbols)
ends_of_functions(symbols)
without_names(symbols)
unknown_code(symbols)
many_addresses(symbols)
two_programs(symbols)
builtins()
code_that_is_over()
follows()

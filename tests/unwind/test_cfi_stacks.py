#!/usr/bin/env python3
"""Stacks of functions whose call frame information asks for what is not there, word by word.

Truth by construction (DWARF 5, 6.4): by_rbx's frame is told by rbx, so whatever must not be known of that ends the stack
there; what is not known of the frame itself ends it before. The reason tells which.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stacks_by_hand import JUNK, MASK, R12, RBX, STACK, WORD, build, check_all, functions  # noqa: E402


def row(*directives):
    """A function of one word's frame, which has made a call."""
    return ".cfi_startproc; push %rcx; .cfi_def_cfa_offset 16; " + "; ".join(directives) + "; call *%rax; in_{0}: pop %rcx; ret; .cfi_endproc"


ROWS = {
    "plain": row(),
    "rbx_near": row(".cfi_offset %rbx, -16"),
    # Far below the sample's stack pointer, and far above the copy
    "rbx_below": row(".cfi_offset %rbx, -8192"),
    "rbx_above": row(".cfi_offset %rbx, 8192"),
    "rbx_undefined": row(".cfi_undefined %rbx"),
    "rbx_in_r12": row(".cfi_register %rbx, %r12"),
    # DW_CFA_register of registers that x86-64 does not have: bit 3 of 64 is rbx's
    "rbx_in_67": row(".cfi_escape 9, 3, 67"),
    # DW_CFA_expression and DW_CFA_val_expression: DW_OP_deref of the CFA - 8192; of DW_OP_breg12
    "rbx_by_memory": row(".cfi_escape 0x10, 3, 5, 0x0a, 0, 0x20, 0x1c, 6"),
    "rbx_by_r12": row(".cfi_escape 0x16, 3, 2, 0x7c, 0"),
    # DW_CFA_expression: DW_OP_breg3 0, as gcc has for rbp where that is the caller's again
    "rbx_stale": row(".cfi_escape 0x10, 3, 2, 0x73, 0"),
    "rip_below": row(".cfi_offset %rip, -8192"),
    "rip_above": row(".cfi_offset %rip, 8192"),
    "rip_in_r12": row(".cfi_register %rip, %r12"),
    "rsp_above": row(".cfi_offset %rsp, 8192"),
    "return_column": row(".cfi_return_column %r12").replace("push %rcx; .cfi_def_cfa_offset 16; .cfi_return_column %r12",
                                                           ".cfi_return_column %r12; push %rcx; .cfi_def_cfa_offset 16"),
    "cfa_at_sp": row(".cfi_def_cfa_offset 0"),
    "cfa_below_sp": row(".cfi_def_cfa_offset -16"),
    "cfa_by_20": row(".cfi_def_cfa 20, 16"),
    "cfa_by_r12": row(".cfi_def_cfa %r12, 16"),
    # DW_CFA_def_cfa_expression: DW_OP_deref of DW_OP_breg7 -8192 and of 8192
    "cfa_memory_below": row(".cfi_escape 0x0f, 4, 0x77, 0x80, 0x40, 6"),
    "cfa_memory_above": row(".cfi_escape 0x0f, 5, 0x77, 0x80, 0xc0, 0, 6"),
    # As SHA-2 of OpenSSL: the CFA is 8 more than what is 24 bytes above the stack pointer; then far below it (red_zone.c)
    "keeps_sp": ".cfi_startproc; .cfi_escape 0x0f, 5, 0x77, 24, 6, 0x23, 8; nop; .cfi_escape 0x0f, 6, 0x77, 0x80, 0x40, 6, 0x23, 8; "
                "call *%rax; in_keeps_sp: ret; .cfi_endproc",
    "calls_keeps_sp": ".cfi_startproc; call keeps_sp; in_calls_keeps_sp: ret; .cfi_endproc",
    "by_rbx": ".cfi_startproc; push %rbx; .cfi_def_cfa_offset 16; .cfi_offset %rbx,-16; mov %rsp,%rbx; .cfi_def_cfa_register %rbx; "
              "and $-64,%rsp; call *%rax; in_by_rbx: mov %rbx,%rsp; pop %rbx; .cfi_def_cfa %rsp,8; ret; .cfi_endproc",
    # As LuaJIT's and OpenSSL's: the CFA is said to be 80 bytes above the stack pointer, wherever that is
    "wrong": ".cfi_startproc; .cfi_def_cfa_offset 80; nop; in_wrong: nop; at_return: ret; .cfi_endproc",
    # As GHC's: the stack pointer is C's, the return address is on Haskell's stack, at rbx
    "haskell": ".cfi_startproc; .cfi_def_cfa %rbx, 16; .cfi_same_value %rsp; .cfi_offset %rip, -16; nop; call *%rax; in_haskell: ret; .cfi_endproc",
    # As OCaml 5's caml_c_call: DW_CFA_def_cfa_expression: DW_OP_breg12 8, DW_OP_deref, DW_OP_plus_uconst 8
    "ocaml": ".cfi_startproc; .cfi_escape 0x0f, 5, 0x7c, 8, 6, 0x23, 8; nop; call *%rax; in_ocaml: ret; .cfi_endproc",
    # glibc's __start_context right after a function, whose last byte is before where contexts return to
    "before": ".cfi_startproc; sub $40,%rsp; .cfi_adjust_cfa_offset 40; call *%rax; in_before: .cfi_endproc; "
              ".cfi_startproc; context: mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je 1f; call leaf; mov %rax,%rdi; 1: call leaf; hlt; .cfi_endproc",
    "leaf": ".cfi_startproc; nop; ret; .cfi_endproc",
}


def main():
    at = build("cfi", functions({name: body.format(name) for name, body in ROWS.items()}))
    root, by_rbx = at["in_start"], at["in_by_rbx"]
    # by_rbx's record is 8 words above: rbx, return address
    def words(ra):
        return [JUNK, ra] + [JUNK] * 6 + [JUNK, root]

    def first(name, **regs):
        """The sample is there, and by_rbx has called."""
        return at["in_" + name], words(by_rbx), {RBX: STACK + 8 * WORD, **regs}

    def called(name):
        """leaf has been called from there."""
        return at["leaf"], [at["in_" + name]] + words(by_rbx), {RBX: STACK + 9 * WORD, R12: STACK + 9 * WORD}

    def ends(name, *callers):
        return called(name), [at["in_" + name], *callers]

    no_register, no_memory = "NO_REGISTER", "BAD_MEMORY"
    through = [by_rbx, root]
    stay = {name: (first(name), through) for name in ("plain", "rbx_below", "rbx_stale")}
    stay["rbx_above"] = first("rbx_above"), [by_rbx, no_register]
    stay["rbx_undefined"] = first("rbx_undefined"), [by_rbx, no_register]
    stay["rip_below"] = first("rip_below"), [no_memory]
    stay["cfa_at_sp"] = first("cfa_at_sp"), ["LOOP"]
    stay["cfa_below_sp"] = first("cfa_below_sp"), ["LOOP"]
    check_all("the sample's own frame", at, "cfi", stay, all_registers=1)
    def wrong(pc, top, at_cfa):
        return at[pc], top + [JUNK] * (9 - len(top)) + [at_cfa] + [JUNK] * 9, {}

    unmapped = 0x5000000
    stay = {
        "right": (wrong("in_wrong", [JUNK], root), [root]),
        "no mapping is known, at the return": (wrong("at_return", [root], unmapped), [root]),
        "no mapping is known": (wrong("in_wrong", [root], unmapped), ["NO_MAP"]),
        "no code can be there": (wrong("in_wrong", [JUNK, root], JUNK), [root]),
        "no code can be there, but above": (wrong("in_wrong", [JUNK, root], 1 << 47), [root]),
        "5 words": (wrong("in_wrong", [JUNK] * 5 + [root], JUNK), [root]),
        "6 words": (wrong("in_wrong", [JUNK] * 6 + [root], JUNK), ["NO_MAP"]),
        "0, at the return": (wrong("at_return", [root], 0), [root]),
        "0": (wrong("in_wrong", [root], 0), ["END"]),
    }
    check_all("a row that is wrong", at, "cfi", stay, all_registers=1)
    deep = {
        "plain": ends("plain", *through),
        "rbx_near": ((at["leaf"], [at["in_rbx_near"], STACK + 9 * WORD, by_rbx] + [JUNK] * 7 + [root], {}), [at["in_rbx_near"], *through]),
        "rbx_below": ends("rbx_below", by_rbx, no_register),
        "rbx_above": ends("rbx_above", by_rbx, no_register),
        "rbx_undefined": ends("rbx_undefined", by_rbx, no_register),
        "rbx_in_r12": ends("rbx_in_r12", *through),
        "rbx_in_67": ends("rbx_in_67", by_rbx, no_register),
        "rbx_by_memory": ends("rbx_by_memory", by_rbx, no_register),
        "rbx_by_r12": ends("rbx_by_r12", *through),
        "rip_below": ends("rip_below", no_memory),
        "rip_above": ends("rip_above", no_memory),
        "rsp_above": ends("rsp_above", no_memory),
        "cfa_at_sp": ends("cfa_at_sp", "LOOP"),
        "cfa_below_sp": ends("cfa_below_sp", "LOOP"),
        "cfa_by_20": ends("cfa_by_20", "BAD_CFI"),
        "cfa_memory_below": ends("cfa_memory_below", no_memory),
        "cfa_memory_above": ends("cfa_memory_above", no_memory),
    }
    kept = [JUNK, JUNK, JUNK, STACK + 5 * WORD, JUNK, at["in_calls_keeps_sp"], root]
    stay = {"found": ((at["in_keeps_sp"], kept, {}), [at["in_calls_keeps_sp"], root]),
            "not found": ((at["in_keeps_sp"], kept[:5] + [at["in_by_rbx"], root], {}), [no_memory])}
    check_all("a stack pointer that is kept", at, "cfi", stay, all_registers=1)
    deep["kept"] = (at["leaf"], [at["in_keeps_sp"]] + kept[:3] + [STACK + 6 * WORD] + kept[4:], {}), [at["in_keeps_sp"], no_memory]
    check_all("a caller", at, "cfi", deep, all_registers=1)
    heap, switched = 0x4200000, "SWITCHED"
    other = {
        "GHC's": ((at["in_haskell"], [JUNK] * 9, {RBX: heap}), [switched]),
        "GHC's, above": ((at["in_haskell"], [JUNK] * 9, {RBX: STACK + 0x100000}), [switched]),
        "OCaml's": ((at["in_ocaml"], [JUNK, heap] + [JUNK] * 9, {R12: STACK}), [switched]),
        "OCaml's, above": ((at["in_ocaml"], [JUNK, STACK + 0x100000] + [JUNK] * 9, {R12: STACK}), [switched]),
        "a CFA below, on this stack": ((at["in_ocaml"], [JUNK, STACK - 24] + [JUNK] * 9, {R12: STACK}), [switched]),
        "OCaml's, on the same stack": ((at["in_ocaml"], [JUNK, STACK + 24, JUNK, root] + [JUNK] * 9, {R12: STACK}), [root]),
    }
    check_all("a caller on another stack", at, "cfi", other, all_registers=1)
    check_all("a context that returns to where a function begins, right after another", at, "cfi",
              {"context": ((at["leaf"], [at["context"]] + [JUNK] * 9, {}), [at["context"] + 1, "END"])})
    unrecorded = {name: ends(name, by_rbx, no_register) for name in ("rbx_in_r12", "rbx_by_r12")}
    unrecorded.update({name: ends(name, no_register) for name in ("rip_in_r12", "return_column", "cfa_by_r12")})
    check_all("r12 is not recorded", at, "cfi", unrecorded, MASK & ~(1 << R12), all_registers=1)
    below = {"rbx_below": (first("rbx_below"), [by_rbx, no_register])}
    check_all("rbx is not recorded", at, "cfi", below, MASK & ~(1 << RBX), all_registers=1)


if os.uname().machine != "x86_64" or not all(map(shutil.which, ("gcc", "nm"))):
    print("ok - stacks by call frame information # SKIP needs gcc and binutils on x86-64")
else:
    main()

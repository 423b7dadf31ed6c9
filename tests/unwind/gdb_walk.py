"""gdb_walk.py - runs inside of gdb: steps a program through everything() and writes down, at many points, what a
profiler would record there (registers, stack) and what gdb makes of it (frames).

Environment: WALK_TARGET (what to `target remote` to; none: gdb runs PROGRAM MAPS itself), WALK_PROGRAM, WALK_MAPS,
WALK_SYSROOT, WALK_REGS (names, blank-separated), WALK_SP (one of them), WALK_STRIDES (at most so many instructions
between points inside of PROGRAM; the same elsewhere; how often of 1000 it runs to the end of a function elsewhere), WALK_FRAMES (0: registers and stack only), WALK_OUT. Out: pickled list of (registers, stack bytes, frames); a frame is
(pc, name or None, is signal trampoline).
"""
import os
import pickle
import random

import gdb

STACK_BYTES = 16384
E = os.environ


def frames():
    """As far as gdb goes; what it could not read ends the list."""
    result = []
    try:
        f = gdb.newest_frame()
        while f is not None:
            result.append((f.pc(), f.name(), f.type() == gdb.SIGTRAMP_FRAME))
            f = f.older()
    except gdb.error as e:
        result.append((0, str(e), False))
    return result


def mask(value):
    return int(value) & (1 << 64) - 1


def stack(sp, end):
    return bytes(gdb.selected_inferior().read_memory(sp, max(0, min(STACK_BYTES, end - sp))))


def maps():
    """[(start, end, perms, path)] as the program itself saw them."""
    result = []
    with open(E["WALK_MAPS"]) as f:
        for line in f:
            w = line.split()
            start, end = (int(x, 16) for x in w[0].split("-"))
            result.append((start, end, w[1], w[5] if len(w) > 5 else ""))
    return result


def text_of(all_maps, path):
    return [(m[0], m[1]) for m in all_maps if m[3] == path and "x" in m[2]]


def go_on(instructions, to_end):
    try:
        gdb.execute("finish" if to_end else f"stepi {instructions}", to_string=True)
    except gdb.error:  # it has no caller that gdb knows
        gdb.execute(f"stepi {instructions}", to_string=True)


def main():
    for c in ("pagination off", "confirm off", "width 0", "backtrace past-main on", "backtrace past-entry on",
              "startup-with-shell off", "breakpoint always-inserted on", "print demangle off"):
        gdb.execute("set " + c)
    if "WALK_SYSROOT" in E:
        gdb.execute("set sysroot " + E["WALK_SYSROOT"])
    gdb.execute("file " + E["WALK_PROGRAM"])
    for s in ("SIGUSR1", "SIGSEGV"):
        gdb.execute(f"handle {s} nostop noprint pass")
    gdb.execute("break " + ("_Z10everythingv" if E["WALK_PROGRAM"].endswith("cplusplus") else "everything"))
    if "WALK_TARGET" in E:
        gdb.execute("target remote " + E["WALK_TARGET"])
        gdb.execute("continue")
    else:
        gdb.execute("run " + E["WALK_MAPS"])
    for f in ("on_signal", "on_fault", "handler_work", "__cxa_begin_catch"):
        try:
            gdb.execute("break " + f)
        except gdb.error:
            pass
    all_maps = maps()
    own = text_of(all_maps, os.path.realpath(E["WALK_PROGRAM"]))
    names, points, rng = E["WALK_REGS"].split(), [], random.Random(1)
    done = gdb.newest_frame().older().pc() & (1 << 48) - 1  # it may be signed
    gdb.execute(f"break *{done:#x}")
    strides = [int(n) for n in E["WALK_STRIDES"].split(",")]
    while True:
        frame = gdb.newest_frame()
        regs = {n: mask(frame.read_register(n)) for n in names}
        sp, pc = regs[E["WALK_SP"]], frame.pc()
        if pc == done:
            break
        end = next((m[1] for m in all_maps if m[0] <= sp < m[1]), sp)
        points.append((regs, stack(sp, end), frames() if E.get("WALK_FRAMES") != "0" else []))
        inside = any(a <= pc < b for a, b in own)
        go_on(rng.randint(1, strides[not inside]), not inside and rng.randint(1, 1000) <= strides[2])
    with open(E["WALK_OUT"], "wb") as f:
        pickle.dump(points, f)
    gdb.execute("kill")


main()

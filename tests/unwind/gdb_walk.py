"""gdb_walk.py - runs inside of gdb: steps a program through everything() and writes down, at many points, what a
profiler would record there (registers, stack) and what gdb makes of it (frames).

Environment:
WALK_PROGRAM, WALK_MAPS  what to run, and its argument: where it writes its own maps
WALK_TARGET              what to `target remote` to; not set: gdb runs it
WALK_SYSROOT             where its libraries are
WALK_REGS, WALK_SP       names of registers, blank-separated; the stack pointer
WALK_STRIDES             at most so many instructions between points inside of WALK_PROGRAM; the same elsewhere; how
                         often of 1000 it runs to the end of a function elsewhere
WALK_FRAMES              0: registers and stack only
WALK_VDSO                where a copy of the vDSO goes
WALK_OUT                 pickled list of (registers, stack bytes, frames); a frame is (pc, name or None, is signal
                         trampoline)
"""
import os
import pickle
import random

import gdb

STACK_BYTES = 16384  # as in walks.py
SETTINGS = ("pagination off", "confirm off", "width 0", "backtrace past-main on", "backtrace past-entry on",
            "startup-with-shell off", "breakpoint always-inserted on", "print demangle off")
# everything() of C and C++; where signals and exceptions arrive
STARTS, STOPS = ("everything", "_Z10everythingv"), ("on_signal", "on_fault", "handler_work", "__cxa_begin_catch")
E = os.environ


def frames():
    """As far as gdb goes; what it could not read ends the list."""
    result = []
    try:
        f = gdb.newest_frame()
        while f is not None:
            if f.type() not in (gdb.TAILCALL_FRAME, gdb.INLINE_FRAME):  # from debug information; not on the stack
                result.append((f.pc(), f.name(), f.type() == gdb.SIGTRAMP_FRAME))
            f = f.older()
    except gdb.error as e:
        result.append((0, str(e), False))
    return result


def registers(names):
    frame = gdb.newest_frame()
    return {n: int(frame.read_register(n)) & (1 << 64) - 1 for n in names}


def memory(start, size):
    return bytes(gdb.selected_inferior().read_memory(start, size))


def read_maps():
    """[(start, end, perms, path)] as the program itself saw them."""
    result = []
    with open(E["WALK_MAPS"]) as f:
        for line in f:
            w = line.split()
            start, end = (int(x, 16) for x in w[0].split("-"))
            result.append((start, end, w[1], w[5] if len(w) > 5 else ""))
    return result


def breakpoints(names):
    """Where there is such a function."""
    for name in names:
        try:
            gdb.execute(f"break {name}", to_string=True)
        except gdb.error:
            pass


def start():
    for s in SETTINGS:
        gdb.execute("set " + s)
    if "WALK_SYSROOT" in E:
        gdb.execute("set sysroot " + E["WALK_SYSROOT"])
    gdb.execute("file " + E["WALK_PROGRAM"])
    for s in ("SIGUSR1", "SIGSEGV"):
        gdb.execute(f"handle {s} nostop noprint pass", to_string=True)
    breakpoints(STARTS)
    if "WALK_TARGET" in E:
        gdb.execute("target remote " + E["WALK_TARGET"])
        gdb.execute("continue")
    else:
        gdb.execute("run " + E["WALK_MAPS"])
    breakpoints(STOPS)


def go_on(instructions, to_end):
    try:
        gdb.execute("finish" if to_end else f"stepi {instructions}", to_string=True)
    except gdb.error:  # it has no caller that gdb knows
        gdb.execute(f"stepi {instructions}", to_string=True)


def main():
    start()
    maps, points, rng = read_maps(), [], random.Random(1)
    own = [(m[0], m[1]) for m in maps if m[3] == os.path.realpath(E["WALK_PROGRAM"]) and "x" in m[2]]
    strides = [int(n) for n in E["WALK_STRIDES"].split(",")]
    if "WALK_VDSO" in E:
        vdso = next(m for m in maps if m[3] == "[vdso]")
        with open(E["WALK_VDSO"], "wb") as f:
            f.write(memory(vdso[0], vdso[1] - vdso[0]))
    done = gdb.newest_frame().older().pc() & (1 << 48) - 1  # it may be signed
    gdb.execute(f"break *{done:#x}")
    while gdb.newest_frame().pc() != done:
        regs, pc = registers(E["WALK_REGS"].split()), gdb.newest_frame().pc()
        sp = regs[E["WALK_SP"]]
        end = next((m[1] for m in maps if m[0] <= sp < m[1]), sp)
        points.append((regs, memory(sp, min(STACK_BYTES, end - sp)), frames() if E.get("WALK_FRAMES") != "0" else []))
        inside = any(a <= pc < b for a, b in own)
        go_on(rng.randint(1, strides[not inside]), not inside and rng.randint(1, 1000) <= strides[2])
    with open(E["WALK_OUT"], "wb") as f:
        pickle.dump(points, f)
    gdb.execute("kill")


main()

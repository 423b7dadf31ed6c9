"""gdb_args.py - runs inside of gdb: steps a program through everything() and writes down, at many points, what a profiler
would record there (registers, stack) and the backtrace with the values of all parameters.

ARGS_PROGRAM: what to run; ARGS_REGS: names of registers; ARGS_POINTS: how many points at most; ARGS_OUT: pickled (maps, points)."""
import os
import pickle
import random

import gdb

E = os.environ
STACK_BYTES = 16384
SETTINGS = ("pagination off", "confirm off", "width 0", "startup-with-shell off", "backtrace past-main on", "print entry-values both",
            "print frame-arguments all", "print raw-frame-arguments on", "print symbol off", "print repeats unlimited", "debuginfod enabled off")


def tail_calls():
    """The numbers of the frames that are not on the stack: of functions that ended by a jump."""
    found, f, i = set(), gdb.newest_frame(), 0
    try:
        while f is not None:
            if f.type() == gdb.TAILCALL_FRAME:
                found.add(i)
            f, i = f.older(), i + 1
    except gdb.error:
        pass
    return found


def main():
    for s in SETTINGS:
        try:
            gdb.execute("set " + s)
        except gdb.error:  # an older gdb
            pass
    gdb.execute("file " + E["ARGS_PROGRAM"])
    gdb.execute("set language " + E.get("ARGS_LANGUAGE", "auto"))
    gdb.execute("break everything")
    gdb.execute("run")
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as f:
        maps = f.read()
    own = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in maps.splitlines() if line.endswith(os.path.realpath(E["ARGS_PROGRAM"])) and "x" in line.split()[1]]
    tops = [int(line.split()[0].split("-")[1], 16) for line in maps.splitlines() if line.endswith("[stack]")]
    end = gdb.newest_frame().older().pc()
    gdb.execute(f"break *{end:#x}")
    rng, points = random.Random(7), []
    while gdb.newest_frame().pc() != end and len(points) < int(E["ARGS_POINTS"]):
        frame = gdb.newest_frame()
        if any(a <= frame.pc() < b for a, b in own) and any(part in (frame.name() or "") for part in ("f_", "everything")):
            regs = {n: int(frame.read_register(n)) & (1 << 64) - 1 for n in E["ARGS_REGS"].split()}
            size = min(STACK_BYTES, tops[0] - regs["rsp"])
            points.append((regs, bytes(gdb.selected_inferior().read_memory(regs["rsp"], size)), gdb.execute("bt", to_string=True), tail_calls()))
            gdb.execute(f"stepi {rng.randint(1, 4)}", to_string=True)
        else:
            try:
                gdb.execute("finish", to_string=True)
            except gdb.error:
                gdb.execute("stepi", to_string=True)
    with open(E["ARGS_OUT"], "wb") as f:
        pickle.dump((maps, points), f)
    gdb.execute("kill")


main()

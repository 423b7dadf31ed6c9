#!/usr/bin/env python3
"""Hard samples against gdb: signal frames, CFAs from memory or from other registers than sp and fp.

tool_cfi_core picks them from fresh recordings and writes each as a core file; gdb, whose unwinder shares
no code with libdw or ours, must give the same frames. Where debug information of a library is installed gdb
also shows functions that were inlined or left by a tail call; these are no frames on the stack.
"""
import os
import shutil
import subprocess
import sys

from recorder import perf_record

BUILD, TOP = os.environ["BUILD"], os.environ["TOP"]
TOOL = os.path.join(BUILD, "tests/unwind/tool_cfi_core")
GDB = """
import gdb
loaded = []
for core, modules in {cores!r}:
    gdb.execute("core-file " + core, to_string=True)
    if modules != loaded:
        gdb.execute("symbol-file", to_string=True)
        for bias, path in modules:
            gdb.execute("add-symbol-file '%s' -o %s" % (path, bias), to_string=True)
    loaded = modules
    frame, pcs = gdb.newest_frame(), []
    while frame is not None and len(pcs) < 500:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(str(frame.pc()))
        frame = frame.older()
    print("frames", core, " ".join(pcs))
"""
failed = 0


def run(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200,
                          stdin=subprocess.DEVNULL, **kw)


def record_hard(name, data, cmd, least):
    """Lines of tool_cfi_core about a recording with so many hard samples, or None. A busy machine leaves a program that
    measures its own time with few samples: then again."""
    for _ in range(6):
        try:
            perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,16384", "-o", data, "--", *cmd)
        except RuntimeError:
            return None
        shutil.rmtree(name + ".cores", ignore_errors=True)
        os.mkdir(name + ".cores")
        lines = run([TOOL, data, name + ".cores", "20"]).stdout.splitlines()
        if sum(line.startswith("core ") for line in lines) >= least:
            return lines
    return lines


def is_before(program, modules, frames):
    """Is it a sample of the loader, before the program's own code has run? gdb leaves out the loader's _start there."""
    starts = [int(bias, 16) for bias, path in modules if os.path.basename(path) == os.path.basename(program)]
    return not any(start <= int(frame) < start + (1 << 24) for start in starts for frame in frames)


def check(name, cmd, least):
    global failed
    lines = record_hard(name, name + ".data", cmd, least)
    if lines is None:
        print(f"ok - {name} # SKIP perf cannot record here")
        return
    cores, stacks = [], []
    for line in lines:
        kind, rest = line.split(" ", 1)
        if kind == "core":
            cores.append((f"{name}.cores/{rest}.core", []))
            stacks.append([])
        elif kind == "module":
            cores[-1][1].append(tuple(rest.split(" ", 1)))
        elif kind == "frame":
            stacks[-1].append(rest)
    with open("gdb.py", "w") as f:
        f.write(GDB.format(cores=cores))
    out = run(["gdb", "-nx", "-batch", "-ex", "set confirm off", "-ex", "set backtrace past-main on", "-ex",
               "set backtrace past-entry on", "-ex", "set debuginfod enabled off",
               # gdb 18 takes words of the stack from the core file before.
               "-ex", "set stack-cache off", "-x", "gdb.py"]).stdout
    truth = {l.split()[1]: l.split()[2:] for l in out.splitlines() if l.startswith("frames ")}
    wrong = [(core, truth.get(core), own) for (core, modules), own in zip(cores, stacks)
             if truth.get(core) != own and not (truth.get(core) == own[:-1] and is_before(cmd[0], modules, own))]
    good = not wrong and len(cores) >= least
    print(f"{'ok' if good else 'not ok'} - {name}: {len(cores) - len(wrong)} of {len(cores)} hard stacks "
          f"are gdb's")
    if not good:
        failed += 1
        print("".join(f"# {l}\n" for l in out.splitlines()[-5:]))
    for core, theirs, own in wrong[:3]:
        print(f"# {core}\n#  gdb {[hex(int(x)) for x in theirs or []]}\n#  own {[hex(int(x)) for x in own]}")


for tool in ("perf", "gdb", "gcc"):
    if not shutil.which(tool):
        print(f"ok - hard samples # SKIP no {tool}")
        sys.exit(0)
if os.uname().machine != "x86_64":
    print("ok - hard samples # SKIP x86-64 only")
    sys.exit(0)
run(["gcc", "-O2", "-pthread", os.path.join(TOP, "tests/programs/signals.c"), "-o", "signals"])
check("signals", ["./signals", "0.5"], 1)
if shutil.which("openssl"):
    check("openssl", ["openssl", "speed", "-seconds", "1", "rsa2048"], 5)
sys.exit(1 if failed else 0)

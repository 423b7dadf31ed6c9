#!/usr/bin/env python3
"""The recording of an Arm board, resolved on this machine: are frames and names those of gdb?

Programs are compiled for aarch64 and run under qemu-aarch64, whose gdb stub lets gdb stop them at some thousand points:
inside of prologues and epilogues, leaf functions, large and dynamic frames, libc and libstdc++ of the distribution,
the dynamic linker, signal handlers. At each point gdb_walk.py takes what a profiler would record (registers, stack) and
gdb's own frames, the truth here. The recording is then written as a perf.data and resolved.

What may differ, and who is right:
- lazy: `_dl_runtime_resolve` of glibc forgets in its call frame information the 16 bytes that the PLT has pushed, and
  the first entry of a PLT has no such information. gdb gives the frame that called the PLT, and nonsense above.
  Ours go on to _start by the same callers as at the nearest points where gdb arrives there.
- none: the first instruction of the same function; longjmp, whose saved pc is scrambled. gdb has nonsense above,
  we stop at the same frame.
"""
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from hide_cfi import hide_cfi  # noqa: E402
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from tap import LONG  # noqa: E402
from walks import RESOLVE, STACK_BYTES, Walk, build_id, check, check_short_cuts, looked_up, report, resolve, run  # noqa: E402

SYSROOT = "/usr/aarch64-linux-gnu"
REGS = [f"x{i}" for i in range(31)] + ["sp", "pc"]  # by asm/perf_regs.h
TOOLS = {"qemu-aarch64": "qemu-user", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
         "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "gdb-multiarch": "gdb-multiarch"}


def strides(text):
    """For gdb_walk.py: the short form has fewer points, and runs to the end of a function elsewhere three times as often."""
    own, elsewhere, to_end = map(int, text.split(","))
    return text if LONG else f"{2 * own},{2 * elsewhere},{3 * to_end}"


def least(n):
    """Of what a whole walk has n and more, the short form has a quarter at least."""
    return n if LONG else n // 4


def compiled(name, source, compiler, *flags):
    r = run(f"aarch64-linux-gnu-{compiler}", "-O2", "-fomit-frame-pointer", *flags, os.path.join(HERE, source), "-o", name)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return os.path.abspath(name)


def walk_under_qemu(program, cpu, strides, frames=True, lazy=False):
    tag = f"{os.path.basename(program)}.{cpu.split(',')[-1]}"
    sock = os.path.abspath(tag + ".sock")
    env = dict(os.environ, QEMU_LD_PREFIX=SYSROOT)
    if not lazy:
        env["QEMU_SET_ENV"] = "LD_BIND_NOW=1"
    qemu = subprocess.Popen(["qemu-aarch64", "-cpu", cpu, "-g", sock, program, os.path.abspath(tag + ".maps")], env=env,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            if os.path.exists(sock):
                break
            time.sleep(0.05)
        return Walk("gdb-multiarch", program, tag, target=sock, sysroot=SYSROOT, regs=" ".join(REGS), sp="sp",
                    strides=strides, frames=str(int(frames)))
    finally:
        qemu.kill()
        qemu.wait()


def sigreturn_page(walk):
    """qemu's code for returning from handlers: executable and without a file; since qemu 8.2 a vDSO."""
    return next(m for m in walk.maps if m.is_code and not m.path.startswith("/"))


def write(walk, path, board_path=lambda p: p, vdso_id=None):
    """On Linux the code for returning from handlers is part of the vDSO, somewhere behind its headers."""
    w = PerfWriter("aarch64", ABI_64, (1 << len(REGS)) - 1, STACK_BYTES)
    w.comm("shapes")
    for m in walk.maps:
        if m.is_code and m.path.startswith("/"):
            w.mmap(m.start, m.end, m.pgoff, m.perms, board_path(m.path), build_id(m.path))
    page = sigreturn_page(walk)
    w.mmap(page.start - 4096, page.end, 0, "r-xp", "[vdso]", vdso_id)
    for regs, stack, _ in walk.points:
        w.sample(regs["pc"], [regs[r] for r in REGS], stack)
    w.write(path)


def explain(judge, us, gdbs, same):
    for i in range(1, same):
        address, name = us[i - 1]
        if (name == ".plt" or "/ld-linux" in judge.walk.map_of(address).path) and judge.has_nearest_callers(us, i):
            return "lazy"
    # In functions of libc without a name gdb now and then has no caller.
    named = next((i for i in range(same, len(us)) if us[i][1] != "[unknown]"), None)
    if same == len(gdbs) < len(us) and named is not None and judge.has_nearest_callers(us, named):
        return "early"
    return "none" if same == len(us) and gdbs[-1][1] != "_start" else None


def check_walk(name, walk, data, samples, floor):
    classes = check(name, walk, samples, explain, floor)
    report(classes["none"] <= 0.01 * len(samples), f"{name}: hardly any point is beyond all unwinders", classes)
    report(classes["early"] <= 0.005 * len(samples), f"{name}: hardly any point has no callers for gdb", classes)
    stats = json.loads(resolve(data, "--stats=json")[1].splitlines()[-1])
    report(stats["root"] == len(samples) - classes["none"], f"{name}: all other stacks count as having reached the root", stats)
    check_short_cuts(name, data, 0.1)  # signal frames, as there is no vDSO
    return classes


def check_libdw(name, data, floor):
    """libdw of elfutils 0.188 loses its way behind signal handlers, lazy resolvers and code without call frame
    information; what the user is told must still add up."""
    said = resolve(data, "--verify-unwind")[1].splitlines()
    at = next(i for i, line in enumerate(said) if line.startswith("verify-unwind:"))
    total = int(said[at].split()[1])
    classes = {line.split(None, 1)[1]: int(line.split()[0]) for line in said[at + 1:] if line.split()[0].isdigit()}
    report(sum(classes.values()) == total > 0 and classes["the same frames"] >= floor * total,
           f"{name}: --verify-unwind: at least {floor} of {total} stacks are libdw's", said)


VDSO = """
    .text
    .space {before}
    nop
    .cfi_startproc
    .cfi_signal_frame
    .cfi_def_cfa x29, 0
    .cfi_offset x29, 0
    .cfi_offset x30, 8
    .type __kernel_rt_sigreturn, %function
__kernel_rt_sigreturn:
    mov x8, #139
    svc #0
    .cfi_endproc
"""


def check_vdso(walk):
    """A vDSO like those before Linux 5.8, with call frame information that gives the interrupted function's return
    address for its pc. Its code says what it is; frames must be those of a recording without it."""
    page, sigreturn = sigreturn_page(walk), {f[0] for p in walk.points for f in p[2] if f[2]}
    report(max(sigreturn) - min(sigreturn) <= 4, "vdso: handlers return to one place, of two instructions", sigreturn)
    before = min(sigreturn) - page.start + 4096 - 4 - 0x800
    with open("vdso.s", "w") as f:
        f.write(VDSO.format(before=before))
    r = run("aarch64-linux-gnu-gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code",
            "-Wl,--section-start=.text=0x800", "-o", "vdso", "vdso.s")
    if r.returncode:
        raise RuntimeError(r.stderr)
    ident = build_id("vdso")
    place = f"cache/.build-id/{ident[:2]}/{ident[2:]}"
    os.makedirs(place)
    shutil.copy("vdso", place)
    write(walk, "vdso.data", vdso_id=ident)
    env = dict(os.environ, PERF_BUILDID_DIR=os.path.abspath("cache"))
    samples = resolve("vdso.data", env=env)[0]
    report(any(n == "__kernel_rt_sigreturn" for s in samples for _, n in s), "vdso: has its name")
    a, b = ([[x for x, _ in s] for s in r] for r in (samples, resolve("plain.data")[0]))
    bad = [(x, y) for x, y in zip(a, b) if x != y]
    report(len(a) == len(b) and not bad, "vdso: the same frames as without", bad[:3])
    check_short_cuts("vdso", "vdso.data", 0.01, env)


def dynamic():
    """As recorded on a board whose root is somewhere else on this machine; then without the files."""
    program = compiled("plain", "shapes.c", "gcc")
    walk = walk_under_qemu(program, "cortex-a72", strides("4,60,20"), lazy=True)
    write(walk, "plain.data")
    classes = check_walk("dynamic", walk, "plain.data", resolve("plain.data")[0], least(900))
    report(classes["lazy"] > least(20), "dynamic: through the lazy resolver", classes)
    in_handler = sum(any(f[2] for f in p[2][1:]) for p in walk.points)
    report(in_handler > least(30), f"dynamic: {in_handler} points in signal handlers")
    os.makedirs("board/home", exist_ok=True)
    shutil.copy(program, "board/home/app")
    # Copied: a link out of --symfs is not followed.
    shutil.copytree(SYSROOT + "/lib", "board/lib", symlinks=True, ignore=shutil.ignore_patterns("*.a", "*.o"))
    write(walk, "board.data", lambda p: p.replace(SYSROOT, "").replace(program, "/home/app"))
    report(resolve("board.data", "--symfs", "board")[0] == resolve("plain.data")[0], "dynamic: files below --symfs")
    samples, said = resolve("board.data", "--stats")
    report(all(n == "[unknown]" for s in samples for _, n in s), "dynamic: files of this machine are not taken for the board's", said)
    check_libdw("dynamic", "plain.data", 0.6)
    check_vdso(walk)


def moved(address, walk, other):
    """Where that code lies in the other run: qemu chooses addresses anew."""
    m = walk.map_of(address)
    off = m and address - m.start + m.pgoff
    n = m and next((n for n in other.maps if n.path == m.path and n.pgoff <= off < n.pgoff + n.end - n.start and ("x" in n.perms) == ("x" in m.perms)), None)
    return off - n.pgoff + n.start if n else address


def signed():
    """Return addresses signed by the processor. Truth from the same run without pointer authentication, where the
    instructions for it do nothing: gdb has no masks from this stub."""
    program = compiled("signed", "shapes.c", "gcc", "-mbranch-protection=pac-ret+leaf+bti")
    truth = walk_under_qemu(program, "max,sve=off,sme=off,pauth=off", strides("3,20,20"))
    walk = walk_under_qemu(program, "max,sve=off,sme=off", strides("3,20,20"), frames=False)
    truth.points = [(r, s, [(moved(pc, truth, walk), *rest) for pc, *rest in frames]) for r, s, frames in truth.points]
    same = [p[2][0][0] for p in truth.points] == [p[0]["pc"] for p in walk.points]
    report(same, "signed: both runs take the same way")
    with_code = sum(any(r[f"x{i}"] >> 48 for i in (30,)) for r, _, _ in walk.points)
    report(with_code > least(50), f"signed: {with_code} points have a signed link register")
    walk.points = [(r, s, t[2]) for (r, s, _), t in zip(walk.points, truth.points)]
    write(walk, "signed.data")
    check_walk("signed", walk, "signed.data", resolve("signed.data")[0], least(900))
    check_libdw("signed", "signed.data", 0.85)


def static():
    """No .eh_frame_hdr, and no symbols in the file that is found. With frame pointers, as distributions build: CFAs
    from x29."""
    program = compiled("static", "shapes.c", "gcc", "-static", "-fno-omit-frame-pointer")
    walk = walk_under_qemu(program, "cortex-a72", "12,12,0" if LONG else "24,24,60")
    write(walk, "static.data")
    names, _ = resolve("static.data")
    check_walk("static", walk, "static.data", names, least(600))
    run("aarch64-linux-gnu-strip", program)
    addresses = [[a for a, _ in s] for s in names]
    report([[a for a, _ in s] for s in resolve("static.data")[0]] == addresses, "static: the same frames without symbols")


def cplusplus():
    program = compiled("cplusplus", "shapes.cc", "g++")
    walk = walk_under_qemu(program, "cortex-a72", strides("4,40,150"))
    write(walk, "cplusplus.data")
    check_walk("c++", walk, "cplusplus.data", resolve("cplusplus.data")[0], least(600))


def frame_pointers():
    """Own code without call frame information in the file that is found; gdb has it, from .debug_frame."""
    program = compiled("fp", "shapes.c", "gcc", "-g", "-fno-omit-frame-pointer", "-fno-unwind-tables",
                       "-fno-asynchronous-unwind-tables")
    walk = walk_under_qemu(program, "cortex-a72", strides("3,40,20"))
    run("aarch64-linux-gnu-objcopy", "-R", ".debug_frame", program)
    write(walk, "fp.data")
    check_walk("frame pointers", walk, "fp.data", resolve("fp.data")[0], least(900))


def no_cfi():
    """Neither call frame information nor frame pointers in the file that is found, as in musl's programs: the machine
    code tells. Once more without symbols: then it is the calls that tell where functions begin."""
    program = compiled("bare", "shapes.c", "gcc", "-static")
    walk = walk_under_qemu(program, "cortex-a72", strides("6,20,30"))
    os.rename(program, program + ".whole")
    hide_cfi(program + ".whole", program)
    write(walk, "bare.data")
    for name, floor in (("no CFI", 0.97), ("no CFI, no symbols", 0.45)):
        samples = resolve("bare.data")[0]
        gdbs = [[a for a, _ in looked_up(p[2])] for p in walk.points]
        us = [[a for a, _ in s] for s in samples]
        whole = sum(a == b for a, b in zip(us, gdbs))
        # Behind gdb's last frame, where it says why it has no more, there is nothing to compare with.
        bad = [(i, [hex(x) for x in a], [hex(x) for x in b]) for i, (a, b) in enumerate(zip(us, gdbs))
               if a != b and a != b[:len(a)] and b[-1]]
        # Without symbols 32 points of glibc 2.43's printf are in code behind an epilogue, with a stale link register.
        most = 0.005 if name == "no CFI" else 0.02
        report(len(us) == len(gdbs) > least(500) and len(bad) <= most * len(us), f"{name}: hardly any frame of {len(us)} points is another "
               "than gdb's", f"{len(bad)}", *bad[:3])
        report(whole >= floor * len(us), f"{name}: {whole} of {len(us)} stacks are gdb's")
        check_short_cuts(name, "bare.data", 0.1)
        run("aarch64-linux-gnu-strip", program)


FIRST = """
    .globl _start
_start: mov x29, #0
    mov x30, #0
    b first
    .space 256 // what is at the entry is taken for the root anyway
first: stp x29, x30, [sp, #-32]!
    mov x29, sp
    bl middle
behind: nop
    .cfi_startproc
middle: stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
inside: nop
    ldp x29, x30, [sp], #16
    ret
    .cfi_endproc
"""


def first_function():
    """The first function of a program of musl's without a name, a call or call frame information: it saves the
    frame pointer and the return address that _start has set to 0."""
    with open("first.s", "w") as f:
        f.write(FIRST)
    r = run("aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-o", "first", "first.s")
    if r.returncode:
        raise RuntimeError(r.stderr)
    at = {name: int(a, 16) for a, _, name in map(str.split, run("aarch64-linux-gnu-nm", "first").stdout.splitlines())}
    page, stack, junk = at["_start"] & ~0xfff, 0x7fff0000, 0x11
    w = PerfWriter("aarch64", ABI_64, (1 << len(REGS)) - 1, 1024)
    w.comm("first")
    w.mmap(page, page + 0x1000, 0, "r-xp", os.path.abspath("first"))
    # middle's frame, then first's: its record is at its stack pointer; elsewhere; is not the last one
    for record, words in (stack + 16, [0, 0, junk, junk]), (stack + 32, [junk, junk, 0, 0]), (stack + 16, [stack + 64, 0, junk, junk]):
        regs = [junk] * 29 + [stack, junk, stack, at["inside"]]
        w.sample(at["inside"], regs, b"".join(x.to_bytes(8, "little") for x in [record, at["behind"]] + words + [junk] * 20))
    w.write("first.data")
    out = run(RESOLVE, "-f", "jsonl", "--no-stitch", "first.data").stdout.splitlines()
    got = [(s["stop"], [int(f["ip"], 16) for f in s["stack"]]) for s in map(json.loads, out)]
    ips = [at["inside"], at["behind"] - 1]
    report(got == [("END", ips), ("NO_CFI", ips), ("NO_CFI", ips)], "first function: it is the root if its own record says so", got)
    check_short_cuts("first function", "first.data", 0)


def main():
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing or not os.path.exists(SYSROOT + "/lib/libc.so.6"):
        print(f"ok - aarch64 # SKIP not installed: {' '.join(missing) or 'a C library for aarch64'}")
        return
    walks = (dynamic, signed, static, cplusplus, frame_pointers, no_cfi, first_function)
    only = sys.argv[1:]
    if only:
        for f in walks:
            if f.__name__ in only:
                f()
        return
    # A process for each; gdb and qemu of one walk wait for each other most of the time.
    with ThreadPoolExecutor(2) as pool:
        for r in pool.map(lambda f: run(sys.executable, __file__, f.__name__), walks):
            print(r.stdout + (r.returncode and f"not ok - a walk died\n{r.stderr}" or ""), end="", flush=True)


main()

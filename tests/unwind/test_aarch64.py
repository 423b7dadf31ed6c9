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
- nobody: the first instruction of the same function; longjmp, whose saved pc is scrambled. gdb has nonsense above,
  we stop at the same frame.
- sigreturn: at the two instructions of the vDSO's sigreturn itself, when there is no vDSO to look into, only the
  caller by the link register can be found. gdb recognises the code.
"""
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from perfwrite import ABI_64, PerfWriter  # noqa: E402

RESOLVE = os.path.join(os.environ["BIN"], "resolve")
SYSROOT = "/usr/aarch64-linux-gnu"
REGS = [f"x{i}" for i in range(31)] + ["sp", "pc"]  # by asm/perf_regs.h
STACK_BYTES = 16384
TOOLS = {"qemu-aarch64": "qemu-user", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
         "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "gdb-multiarch": "gdb-multiarch"}


def report(ok, name, why=""):
    print(f"{'ok' if ok else 'not ok'} - {name}", flush=True)
    if not ok:
        print("".join(f"#   {line}\n" for line in str(why).splitlines()[:60]))


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **kw)


def compiled(name, source, compiler, *flags):
    r = run(f"aarch64-linux-gnu-{compiler}", "-O2", "-fomit-frame-pointer", *flags, os.path.join(HERE, source), "-o", name)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return os.path.abspath(name)


class Map:
    def __init__(self, line):
        f = line.split()
        self.start, self.end = (int(x, 16) for x in f[0].split("-"))
        self.perms, self.pgoff, self.path = f[1], int(f[2], 16), f[5] if len(f) > 5 else ""


class Walk:
    """Points of one run of a program."""

    def __init__(self, program, cpu, strides, frames=True, lazy=False):
        tag = f"{os.path.basename(program)}.{cpu.split(',')[-1]}"
        maps, out, sock = (os.path.abspath(f"{tag}.{x}") for x in ("maps", "pickle", "sock"))
        env = dict(os.environ, QEMU_LD_PREFIX=SYSROOT, WALK_TARGET=sock, WALK_PROGRAM=program, WALK_MAPS=maps,
                   WALK_SYSROOT=SYSROOT, WALK_REGS=" ".join(REGS), WALK_SP="sp", WALK_OUT=out, WALK_STRIDES=strides,
                   WALK_FRAMES=str(int(frames)))
        if not lazy:
            env["QEMU_SET_ENV"] = "LD_BIND_NOW=1"
        qemu = subprocess.Popen(["qemu-aarch64", "-cpu", cpu, "-g", sock, program, maps], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if os.path.exists(sock):
                    break
                time.sleep(0.05)
            r = run("gdb-multiarch", "-nx", "-q", "-batch", "-x", os.path.join(HERE, "gdb_walk.py"), env=env, timeout=200)
        finally:
            qemu.kill()
            qemu.wait()
        if not os.path.exists(out):
            raise RuntimeError(r.stdout[-1000:] + r.stderr[-3000:])
        with open(out, "rb") as f:
            self.points = pickle.load(f)
        with open(maps) as f:
            self.maps = [Map(line) for line in f]

    def map_of(self, ip):
        return next((m for m in self.maps if m.start <= ip < m.end), None)

    def sigreturn_page(self):
        """qemu's code for returning from handlers: executable and without a file."""
        return next(m for m in self.maps if "x" in m.perms and not m.path)

    def write(self, path, board_path=lambda p: p):
        """On Linux the code for returning from handlers is part of the vDSO, somewhere behind its headers."""
        w = PerfWriter("aarch64", ABI_64, (1 << len(REGS)) - 1, STACK_BYTES)
        w.comm("shapes")
        for m in self.maps:
            if "x" in m.perms and m.path:
                w.mmap(m.start, m.end, m.pgoff, m.perms, board_path(m.path), build_id(m.path))
        page = self.sigreturn_page()
        w.mmap(page.start - 4096, page.end, 0, "r-xp", "[vdso]")
        for regs, stack, _ in self.points:
            w.sample(regs["pc"], [regs[r] for r in REGS], stack)
        w.write(path)


def build_id(path):
    for line in run("readelf", "-nW", path).stdout.splitlines():
        if "Build ID:" in line:
            return line.split()[-1]
    return None


def resolve(data, *options):
    """[[(address, name)]] and what went to stderr."""
    r = run(RESOLVE, "-f", "script", "--no-inline", "--no-demangle", *options, data)
    samples = []
    for line in r.stdout.splitlines():
        if line.startswith("\t"):
            address, rest = line.split(None, 1)
            samples[-1].append((int(address, 16), rest.rsplit(" (", 1)[0].split("+0x")[0]))
        elif line.strip():
            samples.append([])
    return samples, r.stderr


def looked_up(frames):
    """gdb's frames with the address that belongs to the call."""
    exact = [i == 0 or frames[i - 1][2] or frames[i][2] for i in range(len(frames))]
    return [(pc - (not e), name) for (pc, name, _), e in zip(frames, exact)]


class Aliases:
    """Names that the symbol tables have for one address; gdb and resolve choose differently among them."""

    def __init__(self, paths):
        self.at = {}
        for path in paths:
            for option in ("-n", "-D"):
                for line in run("nm", option, path).stdout.splitlines():
                    f = line.split(None, 2)
                    if len(f) == 3 and f[1] in "TtWwiV":
                        self.at.setdefault(self.plain(f[2]), set()).add((path, f[0]))

    @staticmethod
    def plain(name):
        """Without version, and without what the compiler adds to clones, which gdb cuts off."""
        return name.split("@")[0].split(".part")[0].split(".constprop")[0]

    def same(self, ours, gdbs):
        a, b = self.plain(ours), self.plain(gdbs)
        return a == b or bool(self.at.get(a, set()) & self.at.get(b, set()))


class Judge:
    """Sorts points into classes; see the top of this file."""

    def __init__(self, walk, samples):
        self.walk, self.classes, self.bad = walk, Counter(), []
        self.page = walk.sigreturn_page()
        gdbs = [looked_up(p[2]) for p in walk.points]
        equal = [[a for a, _ in us] == [a for a, _ in them] and them[-1][1] == "_start" for us, them in zip(samples, gdbs)]
        # name -> [(number of the point, addresses of its callers)], where gdb agrees
        self.callers = {}
        for i, us in enumerate(samples):
            for j, (_, name) in enumerate(us if equal[i] else []):
                self.callers.setdefault(name, []).append((i, [a for a, _ in us[j + 1:]]))
        for i, us in enumerate(samples):
            c = "equal" if equal[i] else self.judge(i, us, gdbs[i])
            self.classes[c] += 1
            if not c:
                self.bad.append((i, [(hex(a), n) for a, n in us], [(hex(a), n) for a, n in gdbs[i]]))

    def judge(self, point, us, gdbs):
        ours, theirs = [a for a, _ in us], [a for a, _ in gdbs]
        at_root = gdbs[-1][1] == "_start"
        n = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        if at_root and self.page.start <= ours[0] < self.page.end and ours[2:] == theirs[-len(ours) + 2:]:
            return "sigreturn"
        if any(self.in_resolver(us[i - 1]) and ours[i + 1:] == self.nearest_callers(point, us[i][1]) for i in range(1, n)):
            return "lazy"
        return "nobody" if n == len(ours) and not at_root else None

    def in_resolver(self, frame):
        return frame[1] == ".plt" or "/ld-linux" in self.walk.map_of(frame[0]).path

    def nearest_callers(self, point, name):
        return min(self.callers.get(name, []), key=lambda c: abs(c[0] - point), default=(0, None))[1]


def wrong_names(walk, samples):
    aliases, bad, n = Aliases(sorted({m.path for m in walk.maps if "x" in m.perms and m.path})), Counter(), 0
    for us, (_, _, frames) in zip(samples, walk.points):
        gdbs = looked_up(frames)
        if gdbs[-1][1] != "_start" or len(us) != len(gdbs):
            continue
        for (_, ours), (_, theirs) in zip(us, gdbs):
            # gdb has no names for stubs, and takes those of data for code that has none.
            if ours == "[unknown]" or not theirs or "@got" in theirs:
                continue
            n += 1
            if not aliases.same(ours, theirs):
                bad[ours, theirs] += 1
    return n, bad


def check(name, walk, samples, floor):
    judge = Judge(walk, samples)
    print(f"# {name}: {dict(judge.classes)}")
    report(len(samples) == len(walk.points) >= floor and not judge.bad, f"{name}: frames of {len(samples)} points are gdb's",
           f"{judge.classes} {len(samples)} {len(walk.points)}\n" + "\n".join(map(str, judge.bad[:3])))
    report(judge.classes["nobody"] <= 0.01 * len(samples) and judge.classes["sigreturn"] <= 4,
           f"{name}: hardly any point is beyond everyone", judge.classes)
    n, bad = wrong_names(walk, samples)
    report(n > 2 * floor and not bad, f"{name}: names of {n} frames are gdb's", bad)
    return judge.classes


def dynamic():
    """As recorded on a board whose root is somewhere else on this machine; then without the files."""
    program = compiled("plain", "shapes.c", "gcc")
    walk = Walk(program, "cortex-a72", "4,60,20", lazy=True)
    walk.write("plain.data")
    classes = check("dynamic", walk, resolve("plain.data")[0], 900)
    report(classes["lazy"] > 20, "dynamic: through the lazy resolver", classes)
    in_handler = sum(any(f[2] for f in p[2][1:]) for p in walk.points)
    report(in_handler > 30, f"dynamic: {in_handler} points in signal handlers")
    os.makedirs("board/home", exist_ok=True)
    shutil.copy(program, "board/home/app")
    os.symlink(SYSROOT + "/lib", "board/lib")
    walk.write("board.data", lambda p: p.replace(SYSROOT, "").replace(program, "/home/app"))
    report(resolve("board.data", "--symfs", "board")[0] == resolve("plain.data")[0], "dynamic: files below --symfs")
    samples, said = resolve("board.data", "--stats")
    report(all(n == "[unknown]" for s in samples for _, n in s), "dynamic: files of this machine are not taken for the board's", said)


def signed():
    """Return addresses signed by the processor. Truth from the same run without pointer authentication, where the
    instructions for it do nothing: gdb has no masks from this stub."""
    program = compiled("signed", "shapes.c", "gcc", "-mbranch-protection=standard")
    truth = Walk(program, "max,sve=off,sme=off,pauth=off", "3,20,20")
    walk = Walk(program, "max,sve=off,sme=off", "3,20,20", frames=False)
    same = [p[0]["pc"] for p in truth.points] == [p[0]["pc"] for p in walk.points]
    report(same, "signed: both runs take the same way")
    with_code = sum(any(r[f"x{i}"] >> 48 for i in (30,)) for r, _, _ in walk.points)
    report(with_code > 50, f"signed: {with_code} points have a signed link register")
    walk.points = [(r, s, t[2]) for (r, s, _), t in zip(walk.points, truth.points)]
    walk.write("signed.data")
    check("signed", walk, resolve("signed.data")[0], 900)


def static():
    """No .eh_frame_hdr, and no symbols in the file that is found."""
    program = compiled("static", "shapes.c", "gcc", "-static")
    walk = Walk(program, "cortex-a72", "12,12,0")
    walk.write("static.data")
    names, _ = resolve("static.data")
    check("static", walk, names, 600)
    run("aarch64-linux-gnu-strip", program)
    addresses = [[a for a, _ in s] for s in names]
    report([[a for a, _ in s] for s in resolve("static.data")[0]] == addresses, "static: the same frames without symbols")


def cplusplus():
    program = compiled("cplusplus", "shapes.cc", "g++")
    walk = Walk(program, "cortex-a72", "4,40,150")
    walk.write("cplusplus.data")
    check("c++", walk, resolve("cplusplus.data")[0], 600)


def main():
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing or not os.path.exists(SYSROOT + "/lib/libc.so.6"):
        print(f"ok - aarch64 # SKIP not installed: {' '.join(missing) or 'a C library for aarch64'}")
        return
    only = sys.argv[1:]
    for f in (dynamic, signed, static, cplusplus):
        if not only or f.__name__ in only:
            f()


main()

#!/usr/bin/env python3
"""Recorded programs: do stacks reach their roots, and are the frames those of others?

Methods against each other and against perf script (libunwind), sample by sample, address by address. Differences
must fall into a class that is known, with who is right:

- libdw loses the caller in epilogues: after `pop %rbp` gcc leaves the rule "saved below the stack pointer"; the
  copy starts at the stack pointer, so libdw's read fails (notes of elfutils 0.188 in unwind/libdw.c). Seen as a
  libdw stack that is a proper prefix of ours and ended for lack of memory.
- perf reports the address of the signal trampoline minus one, like a return address. No call led there: it is the
  trampoline's first byte, and minus one names the function before it. Ours is right.
- perf (libunwind) stops early: its stack is a proper prefix of ours, and libdw goes on as we do.
- perf (libunwind) skips or invents callers of libc functions in all processes but the first that it unwinds, and
  then does not arrive at _start; or leaves out one in between. The tables and libdw agree to the root.
- an exception being thrown: libgcc's _Unwind_RaiseException overwrites its own frame with the landing pad's
  before it jumps there. Who unwinds in between reads nonsense; all end in no mapping or differ.
"""
import functools
import os
import shutil
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recorder import perf_record  # noqa: E402
from walks import TOOL, check_short_cuts, report  # noqa: E402
from tap import LONG, MAY_KERNEL

BUILD, TOP = os.environ["BUILD"], os.environ["TOP"]
os.environ["CCACHE_DISABLE"] = "1"  # by which g++ would be run the first time only
PROGRAMS = os.path.join(TOP, "tests/programs")
NO_MAP = "address not in any mapping"
NO_CFI = "no call frame information"
MEMORY_LOST = "needed memory was not recorded"
SECONDS = "0.4" if LONG else "0.2"
END, CUT = "root reached", "stack copy too small"


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


def record(name, command, graph="dwarf,16384"):
    """Whether it worked, and what perf said."""
    try:
        perf_record("-e", "cpu-clock", "-F", "999", "--call-graph", graph, "-o", f"{name}.data", *command, options=["-N"])
    except RuntimeError as e:
        return False, e
    return True, ""


class Sample:
    def __init__(self, key, stop=""):
        self.key, self.stop, self.frames, self.exact, self.user = key, stop, [], [], []

    def trampolines(self):
        """Frames of signal trampolines: exact, and so is the next one, which the signal interrupted."""
        user = [i for i, u in enumerate(self.user) if u]
        return {i for i in user[1:-1] if self.exact[i] and self.exact[i + 1]}


def ours(data, method, *options):
    """In the order of the file; addresses as perf prints them."""
    out, result = run(TOOL, data, method, *options).stdout.decode(), []
    for line in out.splitlines():
        f = line.split(" ", 6)
        if f[0] == "S":
            result.append(Sample((int(f[1]), int(f[2])), " ".join(f[3:])))
        else:
            s = result[-1]
            s.frames.append(int(f[1 if perf_prints_offsets() else 2], 16))
            s.exact.append(f[3] == "x")
            s.user.append(f[5] == "u")
    return result


def perfs(data):
    out = run("perf", "script", "--no-inline", "--ns", "--max-stack", "1024", "-F", "tid,time,ip,sym", "-i", data).stdout.decode()
    result = {}
    for line in out.splitlines():
        f = line.split()
        if len(f) == 2 and f[1].endswith(":") and not line.startswith("\t"):
            sec, ns = f[1][:-1].split(".")
            s = Sample((int(f[0]), int(sec) * 10**9 + int(ns)))
            result[s.key] = s
        elif f:
            s.frames.append(int(f[0], 16))
    return result


@functools.cache
def perf_prints_offsets():
    """perf 6.1 prints user code by its offset in the file, 7.2 as it was recorded."""
    record("probe", ["./calls", "0.1"])
    return not any(1 << 40 < ip < 1 << 47 for s in perfs("probe.data").values() for ip in s.frames)


def is_prefix(a, b):
    return len(a) < len(b) and b[:len(a)] == a


def is_thrown(us, libdw):
    """libgcc has overwritten its own return address by a landing pad, which libdw takes for a caller of what throws; README.md."""
    return us.stop == END and is_prefix(libdw.frames, us.frames) and libdw.stop == NO_MAP


def class_libdw(us, libdw):
    if us.frames == libdw.frames and us.stop == libdw.stop:
        return "equal"
    if is_prefix(libdw.frames, us.frames) and libdw.stop == MEMORY_LOST:
        return "libdw loses the caller in an epilogue"
    if is_prefix(libdw.frames, us.frames) and libdw.stop == NO_CFI and us.stop == END:
        return "libdw has no row behind the system call of a signal's restorer"
    if is_thrown(us, libdw):
        return "libdw loses its way: an exception being thrown"
    return None


def class_perf(us, libdw, perf):
    if us.frames == perf.frames:
        return "equal"
    trampolines = us.trampolines()
    adjusted = [ip - (i in trampolines) for i, ip in enumerate(us.frames)]
    if adjusted == perf.frames:
        return "perf takes the trampoline's address for a return address"
    if is_prefix(perf.frames, us.frames) or is_prefix(perf.frames, adjusted):
        return "perf stops early"
    if is_prefix(libdw.frames, us.frames) and libdw.stop == NO_CFI and us.stop == END:
        return "neither has a row behind the system call of a signal's restorer"
    if is_thrown(us, libdw):
        return "perf loses its way, too: an exception being thrown"
    if us.frames != libdw.frames:
        return None
    if us.stop != END:
        return "no root for any unwinder: an exception being thrown"
    if perf.frames and perf.frames[-1] != us.frames[-1]:
        return "perf loses its way in libc"
    rest = iter(us.frames)
    if perf.frames and all(x in rest for x in perf.frames):
        return "perf leaves callers out"
    return None


def share(samples, stop):
    return sum(s.stop == stop for s in samples) / max(1, len(samples))


def compare(name, command, graph="dwarf,16384", root=0.99):
    good, why = record(name, command, graph)
    if not good:
        report(False, f"record {name}", why)
        return
    data = f"{name}.data"
    cfi, libdw, perf = ours(data, "cfi"), ours(data, "libdw"), perfs(data)
    report(len(cfi) > 100 and len(cfi) == len(libdw) == len(perf), f"{name}: {len(cfi)} samples, as many as perf sees",
           f"{len(cfi)} {len(libdw)} {len(perf)}")
    check_short_cuts(name, data, 0.02)
    for method, samples in (("tables", cfi), ("libdw", libdw)):
        got = share(samples, END)
        floor = root - (0.08 if method == "libdw" else 0)  # epilogues
        report(got >= floor, f"{name}: {method} reach the root, at least {floor:.3f}",
               f"{got:.4f} {Counter(s.stop for s in samples)}")
    classes, bad = Counter(), []
    for a, b in zip(cfi, libdw):
        c = class_libdw(a, b)
        classes[c] += 1
        if not c:
            bad.append((a.key, a.stop, b.stop, [hex(x) for x in a.frames], [hex(x) for x in b.frames]))
    report(len(bad) <= 0.002 * len(cfi), f"{name}: tables against libdw", f"{classes}\n{bad[:3]}")
    print(f"# {name} libdw {dict(classes)}")
    classes, bad = Counter(), []
    for a, b in zip(cfi, libdw):
        p = perf.get(a.key)
        c = class_perf(a, b, p) if p else None
        classes[c] += 1
        if not c:
            bad.append((a.key, a.stop, [hex(x) for x in a.frames], p and [hex(x) for x in p.frames]))
    report(len(bad) <= 0.002 * len(cfi), f"{name}: tables against perf", f"{classes}\n{bad[:3]}")
    print(f"# {name} perf {dict(classes)}")


def recorded_chains():
    """perf record -g: nothing to unwind, so nothing may differ.

    But in exec: there perf shows one frame without a name, of perf's own code that called it."""
    record("fp", ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=60000"], "fp")
    us, perf = ours("fp.data", "cfi"), perfs("fp.data")
    bad = [(x.key, x.frames, perf.get(x.key) and perf[x.key].frames) for x in us
           if not perf.get(x.key) or x.frames != perf[x.key].frames]
    in_exec = [b for b in bad if b[2] and b[1] == b[2][:-1] and b[1] and min(b[1]) >> 63]
    both = sum(x.user[0] != x.user[-1] for x in us)
    report(len(us) > 30 * MAY_KERNEL and both >= MAY_KERNEL and len(bad) == len(in_exec) <= 3,
           f"{len(us)} recorded chains, {both} of both kernel and user", str(bad[:3]))


def truncated():
    """A dump of 1 KiB cuts the recursion of calls: those stacks say so, and are the beginning of whole ones."""
    record("cut", ["./calls", "0.2"], "dwarf,1024")
    for method in ("cfi", "libdw"):
        s = ours("cut.data", method)
        stops = Counter(x.stop for x in s)
        report(stops[CUT] > 0 and stops[CUT] + stops[END] >= 0.98 * len(s), f"stacks cut at 1 KiB ({method})", stops)


def frame_pointers():
    """Code with frame pointers throughout, static so that libc's are the only frames without."""
    run("gcc", "-O1", "-fno-omit-frame-pointer", "-g", "-o", "withfp", os.path.join(PROGRAMS, "calls.c"), check=True)
    record("withfp", ["./withfp", "0.2"])
    fp, cfi = ours("withfp.data", "fp"), ours("withfp.data", "cfi")
    # From the second frame on the frame pointer walk may lack frames (prologues, libc), but has none of its own.
    def within(a, b):
        it = iter(b)
        return all(x in it for x in a)
    invented = [a.frames for a, b in zip(fp, cfi) if not within(a.frames, b.frames)]
    deep = sum(len(a.frames) >= 4 for a in fp)
    report(len(fp) > 30 and len(invented) <= 0.02 * len(fp) and deep > 0.2 * len(fp), "frame pointers",
           f"{len(fp)} {deep} {len(invented)} {invented[:2]}")


def main():
    if not shutil.which("perf"):
        print("ok - recordings # SKIP no perf")
        return
    probe = run("perf", "record", "-q", "-N", "-e", "cpu-clock", "-o", "probe.data", "true")
    if probe.returncode and b"ermission" in probe.stderr:
        print("ok - recordings # SKIP perf may not record here")
        return
    for name, src, cc, flags in (("calls", "calls.c", "gcc", []), ("signals", "signals.c", "gcc", []),
                                 ("threads", "threads.cc", "g++", ["-pthread"])):
        run(cc, "-O2", "-g", "-fomit-frame-pointer", "-o", name, os.path.join(PROGRAMS, src), *flags, check=True)
        compare(name, [f"./{name}", SECONDS])
    run("gcc", "-O2", "-static", "-o", "static", os.path.join(PROGRAMS, "signals.c"), check=True)
    run("strip", "static")
    compare("static", ["./static", SECONDS])
    with open("w.cc", "w") as f:
        f.write("#include <regex>\nint main(int c, char **v) { return std::regex_match(v[0], std::regex(v[1])); }\n")
    compare("gcc", ["g++", "-O1", "-fsyntax-only", "w.cc"], "dwarf,32768", 0.97)
    # Most samples in the vDSO, which no file holds; -B: and no build id is recorded for it.
    with open("clock.c", "w") as f:
        f.write("#include <time.h>\nint main(void) { struct timespec t; int i; "
                "for (i = 0; i < %d; i++) clock_gettime(CLOCK_MONOTONIC, &t); return 0; }\n" % (24000000 if LONG else 12000000))
    run("gcc", "-O2", "-o", "clock", "clock.c", check=True)
    compare("clock", ["-B", "./clock"])
    truncated()
    frame_pointers()
    recorded_chains()


main()
sys.exit(0)

#!/usr/bin/env python3
"""32-bit tasks of an x86-64 kernel: recorded by perf, and stepped by gdb.

perf 6.1 and libunwind cannot unwind them at all. gdb is the truth: it stops a program at some thousand points, as in
test_aarch64.py. What may differ, and who is right:
- pushes: glibc's memcpy for i386 pushes a register and its call frame information does not tell. gdb takes that word
  for a return address, and then the next (gdb 18: and ends); ours takes the first that is one. All other frames are the same.
- early: gdb 18 has a single frame at one of the thunks' instructions. Ours has the callers of the nearest point.
- none: longjmp, whose saved pc is scrambled.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from recorder import LARGE_RINGS, TRIES  # noqa: E402
from perfwrite import ABI_32, PerfWriter  # noqa: E402
from walks import STACK_BYTES, TOOL, Walk, build_id, check, check_short_cuts, report, resolve, run  # noqa: E402

PROGRAMS = os.path.join(os.environ["TOP"], "tests/programs")
REGS = ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp", "eip"]  # by asm/perf_regs.h
END = "root reached"


def compiled(name, source, *flags):
    """Without libgcc, which compilers for 64 bit do not bring for 32: the C library's own objects are enough for C."""
    crt = [run("gcc", "-m32", f"-print-file-name={o}.o").stdout.strip() for o in ("Scrt1", "crti", "crtn")]
    r = run("gcc", "-m32", "-O2", "-fomit-frame-pointer", "-fno-stack-protector", *flags, "-nostdlib", "-pie", "-o", name,
            *crt[:2], source, "-L" + os.path.dirname(crt[0]), "-lc", crt[2])
    if r.returncode:
        raise RuntimeError(r.stderr)
    return os.path.abspath(name)


def write(walk, path, vdso_id):
    w = PerfWriter("x86_64", ABI_32, (1 << len(REGS)) - 1, STACK_BYTES)
    w.comm("shapes")
    for m in walk.maps:
        if m.is_code:
            w.mmap(m.start, m.end, m.pgoff, m.perms, m.path, vdso_id if m.path == "[vdso]" else build_id(m.path))
    for regs, stack, _ in walk.points:
        w.sample(regs["eip"], [regs[r] for r in REGS], stack)
    w.write(path)


def explain(judge, us, gdbs, same):
    m = judge.walk.map_of(gdbs[1][0]) if same == 1 < len(gdbs) else None
    if same == 1 < len(gdbs) and [a for a, _ in gdbs[2:]] in ([a for a, _ in us[1:]], []) and not (m and m.is_code):
        return "pushes"
    if same == len(gdbs) < len(us) and judge.has_nearest_callers(us, same):
        return "early"
    return "none" if same == len(us) and gdbs[-1][1] != "_start" else None


def stepped():
    program = compiled("shapes", os.path.join(HERE, "shapes.c"))
    walk = Walk("gdb", program, "shapes", regs=" ".join(REGS), sp="esp", strides="4,60,20", vdso=os.path.abspath("vdso"))
    vdso_id = build_id("vdso")
    place = f"cache/.build-id/{vdso_id[:2]}/{vdso_id[2:]}"
    os.makedirs(place)
    shutil.copy("vdso", place)
    write(walk, "shapes.data", vdso_id)
    with_vdso = resolve("shapes.data", env=dict(os.environ, PERF_BUILDID_DIR=os.path.abspath("cache")))[0]
    classes = check("i386", walk, with_vdso, explain, 900)
    report(classes["none"] <= 0.01 * len(with_vdso), "i386: hardly any point is beyond all unwinders", classes)
    report(classes["early"] <= 0.005 * len(with_vdso), "i386: hardly any point has no callers for gdb", classes)
    check_short_cuts("i386", "shapes.data", 0.1)  # the vDSO is not where the tool looks
    in_handler = sum(any(f[2] for f in p[2][1:]) for p in walk.points)
    report(in_handler > 30, f"i386: {in_handler} points in signal handlers")
    # On another machine there may be no copy of the vDSO, which has the code for returning from handlers.
    without, said = resolve("shapes.data", "--stats", env=dict(os.environ, PERF_BUILDID_DIR=os.path.abspath("nothing")))
    bad = [(a, b) for a, b in zip(with_vdso, without) if [x for x, _ in a] != [x for x, _ in b]]
    report(len(bad) <= 3, f"i386: the same without the vDSO's code but for {len(bad)} points", f"{bad[:3]}\n{said}")


class SilentPushes:
    """Whether a stack of the tool has a frame in a function that pushes and whose call frame information has one row: the
    class "pushes". How much of the time such a memcpy takes is the processor's affair. And so for what handlers return
    to, in the vDSO: newer perf keeps a copy of the 32-bit one, whose rows are expressions."""

    def __init__(self):
        self.functions, self.pushes = {}, {}

    def one_row(self, path):
        if path not in self.functions:
            text = run("readelf", "--debug-dump=frames-interp", path).stdout
            found = re.findall(r"FDE cie=\w+ pc=(\w+)\.\.(\w+)\n\n", text)
            self.functions[path] = [(int(start, 16), int(end, 16)) for start, end in found]
        return self.functions[path]

    def does_push(self, path, start, end):
        if (path, start) not in self.pushes:
            code = run("objdump", "-d", f"--start-address={start}", f"--stop-address={end}", path).stdout
            self.pushes[path, start] = re.search(r"\tpush\s", code) is not None
        return self.pushes[path, start]

    def __call__(self, stack):
        for line in stack.splitlines()[1:]:
            offset, path = int(line.split()[1], 16), line.split(" ", 6)[6]  # of its code libc has offset and address the same
            if path.startswith("[vdso") or "libc.so" in path and any(a <= offset < b and self.does_push(path, a, b) for a, b in self.one_row(path)):
                return True
        return False


# perf 6.1 looks at PERF_BUILDID_DIR when it reads, but at --buildid-dir when it records.
CACHE = os.path.abspath("recorded-cache")
CACHE_ENV = dict(os.environ, PERF_BUILDID_DIR=CACHE)


def record(*args):
    """With perf's cache, for the vDSO's code. Tried again when perf 6.1 aborts beside another recorder
    (tests/reader/test_mmap2_flag.py says why)."""
    for _ in range(TRIES):
        if not run("perf", "--buildid-dir", CACHE, "record", "-q", "-e", "cpu-clock", *LARGE_RINGS, *args).returncode:
            return True
        time.sleep(1)
    return False


def recorded():
    if not record("-o", "probe.data", "true"):
        print("ok - i386 recordings # SKIP perf may not record here")
        return
    silent = SilentPushes()
    for source in ("calls.c", "signals.c"):
        program = compiled(source[:-2], os.path.join(PROGRAMS, source))
        if not report(record("-F", "999", "--call-graph", "dwarf,16384", "-o", "r.data", program, "0.4"), f"i386 {source}: recorded"):
            continue
        stops, libdw = Counter(), []
        check_short_cuts(f"i386 {source}", "r.data", 0.02, CACHE_ENV, silent)
        for method in ("cfi", "libdw"):
            out = run(TOOL, "r.data", method, "guess", env=CACHE_ENV).stdout
            samples = [s.splitlines() for s in out.split("S ")[1:]]
            if method == "cfi":
                ours, stops = samples, Counter(s[0].split(" ", 2)[2] for s in samples)
            else:
                libdw = samples
        report(len(ours) > 100 and stops[END] >= 0.99 * len(ours), f"i386: {stops[END]} of {len(ours)} stacks of {source} reach the root", stops)
        same = sum(a == b for a, b in zip(ours, libdw))
        lost = sum(a != b and END in a[0] and END not in b[0] for a, b in zip(ours, libdw))
        print(f"# {source}: {dict(stops)}; libdw the same in {same}, lost in {lost}")


def main():
    if not os.path.exists(run("gcc", "-m32", "-print-file-name=crti.o").stdout.strip()):
        print("ok - i386 # SKIP no C library for 32-bit programs")
        return
    program = compiled("probe", os.path.join(HERE, "shapes.c"))
    try:
        subprocess.run([program], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"ok - i386 # SKIP this kernel does not run 32-bit programs: {e}")
        return
    stepped()
    recorded()


main()

#!/usr/bin/env python3
"""Samples at every instruction of every PLT stub, over linkers and layouts, with call frame information and without.

Truth by construction: a stub is entered with the return address on the stack, and pushes at most two words before it
goes on. So from the instructions before a place in it (objdump) follows where the return address is; it is put there,
and above it what the caller's frame needs (`sub $8,%rsp` or `push`), then the return address to _start.
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from walks import report, resolve, run  # noqa: E402

LIB = "int ext_a(int x) { return x; } int ext_b(int x) { return x + 1; } int ext_c(int x) { return x + 2; }\n"
MAIN = r"""
int ext_a(int), ext_b(int), ext_c(int);
volatile int sink;
__attribute__((noinline)) void user(int x) { sink = ext_a(x); sink = ext_b(x); sink = ext_c(x); }
void start_c(void) { for (;;) user(sink); }
__asm__(".globl _start\n_start:\n\tcall start_c\n\thlt\n");
"""
# A function whose address is also taken from the GOT is called by way of .plt.got with GNU ld.
POINTER = MAIN.replace("void start_c(void) {", "void start_c(void) { int (*volatile pointer)(int) = ext_b;")
FLAVOURS = {
    "GNU ld, lazy": ["-Wl,-z,lazy"],
    "GNU ld, lazy, IBT": ["-Wl,-z,lazy", "-fcf-protection", "-Wl,-z,ibtplt"],
    "GNU ld, now": ["-Wl,-z,now"],
    "GNU ld, now, IBT": ["-Wl,-z,now", "-fcf-protection", "-Wl,-z,ibtplt"],
    "gold, lazy": ["-fuse-ld=gold", "-Wl,-z,lazy"],
    "gold, now": ["-fuse-ld=gold", "-Wl,-z,now"],
    "lld, lazy": ["-fuse-ld=lld", "-Wl,-z,lazy"],
    "lld, now": ["-fuse-ld=lld", "-Wl,-z,now"],
    "lld, IBT": ["-fuse-ld=lld", "-Wl,-z,force-ibt", "-fcf-protection"],
}
BIAS, STACK = 0x10000000, 0x7ffe0000
REGS = 24  # of x86-64 by asm/perf_regs.h; those of 32-bit segments are not recorded
MASK = 0xff0fff
ORDER = [i for i in range(REGS) if MASK >> i & 1]


def headers(path):
    """[(offset, vaddr, size)] of the executable segments."""
    out = []
    for line in run("readelf", "-lW", path).stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in line[60:]:
            out.append((int(f[1], 16), int(f[2], 16), int(f[5], 16)))
    return out


def instructions(path):
    """[(section, vaddr, text)]"""
    out, section = [], None
    for line in run("objdump", "-dw", "--no-show-raw-insn", path).stdout.splitlines():
        m = re.match(r"Disassembly of section (\S+):", line)
        section = m.group(1) if m else section
        m = re.match(r"\s+([0-9a-f]+):\s+(.*?)\s*$", line)
        if m:
            out.append((section, int(m.group(1), 16), m.group(2)))
    return out


def places(code):
    """[(vaddr in a stub, words pushed since it was entered)]. Padding, which is never executed, is left out."""
    found, pushed, dead, previous = [], 0, False, None
    stubs = [c for c in code if c[0].startswith(".plt")]
    for i, (section, vaddr, text) in enumerate(stubs):
        if section != previous:
            pushed, dead, previous = 0, False, section
            # The first entry of a lazy .plt is reached by jumps from the others, which have pushed a word.
            pushed = 1 if section == ".plt" and "(%rip)" in text and text.startswith("push") else 0
        if re.match(r"nop|xchg +%ax|int3|cs nop|data16", text):
            continue
        if dead:
            pushed, dead = 0, False
            # Behind the jump of a lazy stub comes what was to be done the first time; nothing is pushed yet.
        found.append((vaddr, pushed))
        pushed += text.startswith("push")
        dead = bool(re.match(r"(bnd )?jmp", text))
    return found


def after_call(code, function, target):
    """The return address of the call of `target`."""
    body = [(v, t) for s, v, t in code if s == ".text"]
    for (_, t), (v, _) in zip(body, body[1:]):
        if re.search(rf"call\S* .*<{target}", t):
            return v
    raise RuntimeError(f"no call of {target} in {function}")


def cfa_words(path, pc):
    """How far above sp the caller's frame begins at pc, in words, by the function's call frame information."""
    result, inside = None, False
    for line in run("readelf", "-wF", path).stdout.splitlines():
        m = re.search(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if m:
            inside = int(m.group(1), 16) <= pc < int(m.group(2), 16)
        m = re.match(r"([0-9a-f]{16}) rsp\+(\d+)", line)
        if inside and m and int(m.group(1), 16) <= pc:
            result = int(m.group(2)) // 8
    return result


def check(name, path):
    code = instructions(path)
    in_user, in_start_c = after_call(code, "user", "ext_a"), after_call(code, "start_c", "user")
    in_start = after_call(code, "_start", "start_c")
    w = PerfWriter("x86_64", ABI_64, MASK, 1024)
    w.comm("stubs")
    for off, vaddr, size in headers(path):
        low = vaddr & 0xfff
        w.mmap(BIAS + vaddr - low, BIAS + vaddr + size, off - low, "r-xp", os.path.abspath(path))
    callers, expected = [in_user, in_start_c, in_start], []
    above = []
    for ra, nxt in zip(callers, callers[1:]):
        above += [BIAS + ra] + [0x11] * (cfa_words(path, ra) - 1)
    above += [BIAS + in_start] + [0] * 20
    found = places(code)
    for vaddr, pushed in found:
        words = [0x22] * pushed + above
        regs = [0x33] * REGS
        regs[7], regs[8] = STACK, BIAS + vaddr  # sp, ip
        w.sample(BIAS + vaddr, [regs[i] for i in ORDER], b"".join(x.to_bytes(8, "little") for x in words))
        expected.append([BIAS + vaddr] + [BIAS + c - 1 for c in callers])
    w.write("plt.data")
    samples, said = resolve("plt.data", "--no-stitch")
    got = [[a for a, _ in s] for s in samples]
    sections = sorted({c[0] for c in code if c[0].startswith(".plt")})
    wrong = [(hex(e[0] - BIAS), [hex(x - BIAS) for x in g], [hex(x - BIAS) for x in e]) for g, e in zip(got, expected) if g != e]
    report(len(got) == len(expected) >= 6 and not wrong, f"{name}: {len(found)} places in {' '.join(sections)}",
           f"{len(wrong)} of {len(got)}\n" + "\n".join(map(str, wrong[:6])) + said)


def build(name, flags, cfi):
    with open("lib.c", "w") as f:
        f.write(LIB)
    with open("main.c", "w") as f:
        f.write(POINTER if "lazy" in name else MAIN)
    run("gcc", "-shared", "-fPIC", "-O2", "-nostdlib", "lib.c", "-o", "libext.so")
    # What linkers make for stubs themselves goes, or nothing does.
    no_cfi = ["-Wl,--no-ld-generated-unwind-info"] if not cfi and "lld" not in name else []
    r = run("gcc", "-O2", "-fno-optimize-sibling-calls", "-fPIE", "-pie", "-nostdlib", "main.c", "-o", "stubs", *flags, *no_cfi, "libext.so")
    return not r.returncode, r.stderr


for tool in ("gcc", "objdump", "readelf"):
    if not shutil.which(tool):
        print(f"ok - PLT stubs # SKIP no {tool}")
        sys.exit(0)
if os.uname().machine != "x86_64":
    print("ok - PLT stubs # SKIP x86-64 only")
    sys.exit(0)
for flavour, options in FLAVOURS.items():
    for with_cfi in (True, False):
        title = flavour + ("" if with_cfi else ", without information for stubs")
        if "lld" in flavour and with_cfi:
            continue  # it never makes any
        good, why = build(flavour, options, with_cfi)
        if good:
            check(title, "stubs")
        else:
            print(f"ok - {title} # SKIP cannot be built: {why.splitlines()[-1:]}")

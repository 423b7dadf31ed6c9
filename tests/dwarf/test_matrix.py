#!/usr/bin/env python3
"""Conformance matrix: compilers x DWARF variants, against the truth written in the sources.

test_dwarf_sources/ has marked instructions (mark.h) with the chain of functions and lines that must be
found there. Each variant is built, tool_dwarf is asked for all marks, and the answers must equal the
chains: no other tool's output is involved. Variants whose compiler or tool is missing are skipped.
The short form has each compiler, version, linker and option once, LONG=1 each with each (MORE).
"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

from tap import LONG

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
SRC = os.path.join(TOP, "tests/dwarf/sources")
TOOL = os.path.join(BUILD, "tests/dwarf/tool_dwarf")


# Variants of which each part is in another one, too.
MORE = re.compile("|".join((
    r"gcc DWARF ([24] cc|[35] c|4 \.dwo cc?|5 \.dwo c|5 llvm-dwp)", r"clang DWARF ([24] c|[35] cc|4 \.dwo c|5 \.dwo cc?|4 llvm-dwp)",
    r"clang (64-bit DWARF|not PIE|type units)", r"gcc type units 5", r"(gcc|clang) LTO c",
    r"gcc (bfd DWARF 4|gold DWARF [45]|lld DWARF [45]|mold DWARF 5) dropped functions",
    r"clang (bfd DWARF [45]|gold DWARF 5|lld DWARF 4|mold DWARF [45]) dropped functions",
    r"gcc (DWARF ([34] cc?|2 cc|5 c)|-g1|split), only \.debug_line", r"clang (DWARF ([25] cc?|3 c|4 cc)|64-bit DWARF), only \.debug_line",
    r"gcc (zlib|zstd of mold|zstd of bfd)", r"rustc LTO")))
ALL = range(1000)  # marks whose chains need not be found: lines-only variants know no qualified names
LINES = "lines"  # no function anywhere, but file and line
SOME = "some"  # either the chain or the line: both happen


class Skip(Exception):
    pass


def run(*cmd, cwd=None):
    """Runs a builder; a missing tool or one that refuses the options skips the variant."""
    if not shutil.which(cmd[0]):
        raise Skip(f"no {cmd[0]}")
    p = subprocess.run(cmd, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        lines = p.stdout.strip().splitlines()
        raise Skip(f"{cmd[0]}: {lines[-1] if lines else 'failed'}")


# ---- the truth -------------------------------------------------------------------------------


def rustc_is_at_least(*version):
    if not shutil.which("rustc"):
        return True
    text = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True).stdout
    m = re.search(r"rustc (\d+)\.(\d+)", text)
    return not m or tuple(map(int, m.groups())) >= version


def macros_have_lines():
    """Before 1.79 rustc gave the code of a macro the line of its call."""
    return rustc_is_at_least(1, 79)


def read_truth(files):
    """{mark: {chain}}; a chain is ((function, file name, line), ...), innermost first."""
    tags, raw = {}, []
    for f in files:
        for no, line in enumerate(open(os.path.join(SRC, f)), 1):
            m = re.search(r"//@([\w-]+)\s*$", line)
            if m:
                tags[m.group(1)] = (f, no)
            m = re.search(r"MARK\((\d+)\)", line)
            if m:
                tags["=" + m.group(1)] = (f, no)
            m = re.search(r"//= (\d+): (.*)$", line)
            if m:
                raw.append((int(m.group(1)), m.group(2), (f, no)))
    truth = {}
    macro = macros_have_lines() or not any(f.endswith(".rs") for f in files)
    for mark, text, place in raw:
        chain = []
        for frame in text.split(" <- "):
            name, tag = re.fullmatch(r"(.*) @([\w=-]+)", frame.strip()).groups()
            chain.append((name, *(place if tag == "mark" and not macro else tags[f"={mark}" if tag == "=" else tag])))
        truth.setdefault(mark, set()).add(tuple(chain))
    return truth


# ---- what we say -----------------------------------------------------------------------------


def section(path, wanted):
    """Contents of an ELF section (either class and byte order), the ranges of code, the word size."""
    d = open(path, "rb").read()
    order, wide = "<>"[d[5] - 1], d[4] == 2
    if wide:
        shoff, = struct.unpack_from(order + "Q", d, 40)
        entsize, num, strndx = struct.unpack_from(order + "HHH", d, 58)
        fmt = order + "IIQQQQ"
    else:
        shoff, = struct.unpack_from(order + "I", d, 32)
        entsize, num, strndx = struct.unpack_from(order + "HHH", d, 46)
        fmt = order + "IIIIII"
    headers = [struct.unpack_from(fmt, d, shoff + i * entsize) for i in range(num)]
    names = headers[strndx][4]
    found, code = b"", []
    for name, _, flags, addr, off, size in headers:
        end = d.index(b"\0", names + name)
        if flags & 4:
            code.append((addr, addr + size))
        if d[names + name:end] == wanted.encode():
            found = d[off:off + size]
            if flags & 0x800:
                found = zlib.decompress(found[24 if wide else 12:])
    return found, code, order, 8 if wide else 4


def read_marks(path):
    """[(address, mark)] of marks whose code is in the file."""
    data, code, order, word = section(path, ".debug_marks")
    words = struct.unpack(f"{order}{len(data) // word}{'Q' if word == 8 else 'I'}", data)
    pairs = set(zip(words[::2], words[1::2]))
    return sorted(p for p in pairs if any(lo <= p[0] < hi for lo, hi in code))


def read_marks_relocatable(path):
    """The same for an x86-64 file that is not linked: code is laid out as the kernel does it."""
    d = open(path, "rb").read()
    shoff, = struct.unpack_from("<Q", d, 40)
    num, strndx = struct.unpack_from("<HH", d, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", d, shoff + i * 64) for i in range(num)]
    names = [d[headers[strndx][4] + h[0]:].split(b"\0", 1)[0].decode() for h in headers]
    layout, at = {}, 0
    for i, h in enumerate(headers):
        if h[2] & 6 == 6 and not names[i].startswith(".init"):
            at = (at + h[8] - 1) // h[8] * h[8]
            layout[i] = at
            at += h[5]
    rela = headers[names.index(".rela.debug_marks")]
    marks = headers[names.index(".debug_marks")]
    symbols = headers[rela[6]]
    pairs = []
    for off in range(rela[4], rela[4] + rela[5], 24):
        place, info, addend = struct.unpack_from("<QQq", d, off)
        _, _, _, shndx, value = struct.unpack_from("<IBBHQ", d, symbols[4] + (info >> 32) * 24)
        if shndx in layout:
            mark, = struct.unpack_from("<Q", d, marks[4] + place + 8)
            pairs.append((layout[shndx] + value + addend, mark))
    return sorted(pairs)


def demangle(names):
    p = subprocess.run(["c++filt", "--", *names], capture_output=True, text=True)
    return dict(zip(names, p.stdout.splitlines())) if names else {}


def normal(name):
    """The qualified name without parameters, return type and what differs between compilers."""
    name = re.sub(r"#@\d+:\d+\}", "}", name)  # DWARF_LAMBDA_MARK
    # a lambda as template argument is written in many ways
    name = re.sub(r"\bapply<.*lambda.*>", "apply<{lambda}>", name)
    name = name.replace("(anonymous namespace)", "{anon}").replace("operator()", "operator@")
    name = re.sub(r"\{lambda\([^()]*\)(#\d+)?\}|\$_\d+|'lambda\d*'(\([^()]*\))?", "{lambda}", name)
    name = re.sub(r"\{\{closure\}\}|\{closure#\d+\}", "{closure}", name)
    name = re.sub(r"::h[0-9a-f]{16}$|\[[0-9a-f]+\]| \[clone .*\]| const$", "", name)
    while re.search(r"\([^()]*\)", name):
        name = re.sub(r"\([^()]*\)", "", name)
    name = re.sub(r" const(?=::|$)", "", name)
    # v0: <chain::outer::Thing>::method, chain::outer::leaf::<usize>
    name = re.sub(r"^<([\w:]+)>", r"\1", name)
    name = re.sub(r"::<.*>$", "", name)
    # function template instances have their return type in front
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        depth += (name[i] == ">") - (name[i] == "<")
        if name[i] == " " and not depth:
            name = name[i + 1:]
            break
    return name.replace("operator@", "operator()")


def ask(args, addresses):
    """{address: [(linkage, name, file, line)]}"""
    p = subprocess.run([TOOL, *args, *(hex(a) for a in addresses)], capture_output=True, text=True)
    if p.returncode:
        raise AssertionError(f"tool_dwarf: status {p.returncode} {p.stderr}")
    answers, frames = {}, None
    for line in p.stdout.splitlines():
        if line.startswith("0x"):
            frames = answers.setdefault(int(line, 16), [])
        else:
            _, linkage, name, path, no, _ = (line + "\t").split("\t")[:6]
            frames.append((linkage, name, path, int(no)))
    return answers


def bare(name):
    """Without scopes and template arguments."""
    return re.split("::", re.sub(r"<.*>", "", name))[-1]


def lines_only(chains):
    """What is left with -gmlt and the like: bare names, and none where nothing is inlined."""
    short = {tuple((bare(n), f, l) for n, f, l in c) for c in chains}
    return short | {(("", *c[0][1:]),) for c in chains if len(c) == 1}


def check(truth, args, marks, optional=()):
    """Every mark has one of its chains, and every chain is found somewhere."""
    answers = ask(args, [a for a, _ in marks])
    mangled = {n for frames in answers.values() for f in frames for n in f[:2] if n.startswith("_")}
    plain = demangle(sorted(mangled))
    wrong, seen = [], {}
    for address, mark in marks:
        names = [f[1] if f[0] in ("-", "") else f[0] for f in answers[address]]
        got = tuple((normal(plain.get(n, n)), os.path.basename(f[2]), f[3]) for n, f in zip(names, answers[address]))
        line = {(("", *c[0][1:]),) for c in truth[mark]}
        if optional == LINES or (optional == SOME and got in line):
            seen.setdefault("line", set()).add(mark)
            if got not in line:
                wrong.append(f"{address:#x} mark {mark}: {got}")
        elif optional == ALL:
            got = tuple((bare(n), f, l) for n, f, l in got)
            if got not in lines_only(truth[mark]):
                wrong.append(f"{address:#x} mark {mark}: {got}")
        elif got in truth[mark]:
            seen.setdefault(mark, set()).add(got)
        else:
            wrong.append(f"{address:#x} mark {mark}: {got}")
    if optional in (LINES, SOME):
        return wrong if "line" in seen and (optional == LINES) == (len(seen) == 1) else [f"seen: {seen}"]
    for mark, chains in truth.items():
        if mark not in optional and chains - seen.get(mark, set()):
            wrong.append(f"mark {mark}: not found: {chains - seen.get(mark, set())}")
    return wrong


# ---- variants --------------------------------------------------------------------------------

C, CC, RS = ["chain.c", "other.c"], ["chain.cc", "other.cc"], ["chain.rs"]
TRUTH = {"c": read_truth(C + ["shared.h"]), "cc": read_truth(CC + ["shared.hh"]), "rs": read_truth(RS)}
PATHS = {k: [os.path.join(SRC, f) for f in v] for k, v in (("c", C), ("cc", CC), ("rs", RS))}


class Variant:
    """Builds `exe`; `args` are what tool_dwarf is called with, marks come from `marks`."""

    def __init__(self, name, lang, optional=()):
        self.name, self.lang, self.optional = name, lang, optional
        self.dir = os.path.join(os.getcwd(), re.sub(r"\W+", "_", name))
        os.mkdir(self.dir)
        self.exe = self.marks = os.path.join(self.dir, "a.out")
        self.args, self.read_marks = [self.exe], read_marks

    def compile(self, cc, *flags):
        run(*cc.split(), "-O2", "-g", *flags, *PATHS[self.lang], "-o", self.exe, cwd=self.dir)

    def tool(self, *cmd):
        run(*cmd, cwd=self.dir)


def compiled(cc, lang, *flags, optional=()):
    def build(name):
        v = Variant(name, lang, optional)
        v.compile(cc, *(["-std=c++17"] if lang == "cc" else []), *flags)
        return v
    return build


GXX = {"gcc": {"c": "gcc", "cc": "g++"}, "clang": {"c": "clang", "cc": "clang++"}}


def both(family, *flags, optional=()):
    return {lang: compiled(GXX[family][lang], lang, *flags, optional=optional) for lang in ("c", "cc")}


def stripped(strip):
    def build(name):
        v = compiled("g++", "cc")(name)
        plain = v.exe + ".plain"
        os.rename(v.exe, plain)
        strip(v, plain)
        v.marks = plain
        v.args = ["-d", v.exe + ".debug", v.exe]
        return v
    return build


def objcopy_strip(v, plain):
    v.tool("objcopy", "--only-keep-debug", plain, v.exe + ".debug")
    v.tool("objcopy", "--strip-all", plain, v.exe)


def eu_strip(v, plain):
    v.tool("eu-strip", "-f", v.exe + ".debug", "-o", v.exe, plain)


def recompressed(kind):
    def build(name):
        v = compiled("g++", "cc")(name)
        v.marks = v.exe + ".plain"
        os.rename(v.exe, v.marks)
        v.tool("objcopy", f"--compress-debug-sections={kind}", v.marks, v.exe)
        return v
    return build


def zstd(*flags):
    """Compressed by the linker; compilers of today's distributions cannot."""
    def build(name):
        v = compiled("g++", "cc", *flags)(name)
        v.marks = v.exe + ".plain"
        v.tool("objcopy", "--decompress-debug-sections", v.exe, v.marks)
        return v
    return build


def lines_alone(cc, lang, *flags):
    """.debug_line is all that is left of the DWARF, as when a server gives only that."""
    def build(name):
        v = compiled(cc, lang, *flags, optional=LINES)(name)
        v.marks = v.exe + ".plain"
        os.rename(v.exe, v.marks)
        v.tool("objcopy", "-R", ".debug_info", "-R", ".debug_abbrev", "-R", ".debug_aranges", "-R", ".debug_loc*",
               "-R", ".debug_r*", "-R", ".debug_addr", "-R", ".debug_str_offsets", v.marks, v.exe)
        return v
    return build


def damaged_dies(section_name, damage, optional, *flags):
    """The DIEs of some units, or all, cannot be read."""
    def build(name):
        v = compiled("g++", "cc", *flags, optional=optional)(name)
        v.marks = v.exe + ".plain"
        os.rename(v.exe, v.marks)
        with open(v.exe + ".section", "wb") as f:
            f.write(damage(section(v.marks, section_name)[0]))
        v.tool("objcopy", "--update-section", f"{section_name}={v.exe}.section", v.marks, v.exe)
        return v
    return build


def dwz(name):
    v = compiled("g++", "cc")(name)
    v.marks = v.exe + ".plain"
    os.rename(v.exe, v.marks)
    v.tool("objcopy", "-R", ".debug_marks", v.marks, v.exe)
    v.tool("dwz", v.exe)
    return v


def dwz_multi(*flags):
    """Two files share a common one: names move there."""
    def build(name):
        v = compiled("g++", "cc")(name)
        v.marks = v.exe + ".plain"
        os.rename(v.exe, v.marks)
        v.tool("objcopy", "-R", ".debug_marks", v.marks, v.exe)
        shutil.copy(v.exe, v.exe + ".two")
        v.tool("dwz", *flags, "-m", "common", v.exe, v.exe + ".two")
        if not os.path.exists(os.path.join(v.dir, "common")):
            raise Skip("dwz made no common file")
        v.args = ["-a", os.path.join(v.dir, "common"), v.exe]
        return v
    return build


def packed(cc, dwp, *flags):
    """-gsplit-dwarf, then only the package is left."""
    def build(name):
        v = compiled(cc, "cc", "-gsplit-dwarf", *flags)(name)
        v.tool(dwp, "-e", v.exe, "-o", v.exe + ".dwp")
        for f in glob.glob(os.path.join(v.dir, "*.dwo")):
            os.remove(f)
        return v
    return build


def relocatable(version):
    """Linked with -r, as kernel modules are; one file has its code in sections dropped after init."""
    def build(name):
        v = Variant(name, "c")
        for source, section in zip(PATHS["c"], ([], ["-ffunction-sections"])):
            v.tool("gcc", "-O2", "-g", f"-gdwarf-{version}", "-c", *section, source)
        v.tool("gcc", "-O2", "-g", f"-gdwarf-{version}", "-c", "-x", "c", "-o", "init.o",
               os.path.join(SRC, "other.c"), "-Dother=other_init", "-Dfatal=fatal_init")
        v.tool("objcopy", "--rename-section", ".text=.init.text", "init.o")
        v.tool("ld", "-r", "-o", v.exe, "init.o", "chain.o", "other.o")
        v.read_marks = read_marks_relocatable
        return v
    return build


def foreign(target, *flags):
    """Other word sizes and byte orders, without any C library."""
    def build(name):
        v = Variant(name, "c")
        v.compile("clang", f"--target={target}", "-ffreestanding", "-nostdlib", "-fuse-ld=lld",
                  "-static", "-DENTRY=_start", *flags)
        return v
    return build


def dropped(*flags):
    """Functions that are never called are dropped by the linker, their DIEs are not."""
    return lambda cc: compiled(cc, "c", "-ffunction-sections", "-Wl,--gc-sections", *flags, optional=(7,))


def rust(*flags, optional=()):
    def build(name):
        v = Variant(name, "rs", optional)
        run("rustc", "-g", "-O", *flags, PATHS["rs"][0], "-o", v.exe, cwd=v.dir)
        return v
    return build


def rust_lines_alone(name):
    v = rust(optional=LINES)(name)
    v.marks = v.exe + ".plain"
    os.rename(v.exe, v.marks)
    v.tool("objcopy", "-R", ".debug_info", v.marks, v.exe)
    return v


def variants():
    for family in ("gcc", "clang"):
        for version in ("2", "3", "4", "5"):
            for lang, build in both(family, f"-gdwarf-{version}").items():
                yield f"{family} DWARF {version} {lang}", build
        for version in ("4", "5"):
            for lang, build in both(family, f"-gdwarf-{version}", "-gsplit-dwarf").items():
                yield f"{family} DWARF {version} .dwo {lang}", build
            yield f"{family} DWARF {version} llvm-dwp", packed(GXX[family]["cc"], "llvm-dwp", f"-gdwarf-{version}")
        yield f"{family} 64-bit DWARF", compiled(GXX[family]["cc"], "cc", "-gdwarf64", "-gdwarf-5")
        lto = ["-flto", "-fuse-ld=lld"] if family == "clang" else ["-flto"]
        for lang, build in both(family, *lto, optional=(7,)).items():
            yield f"{family} LTO {lang}", build
        yield f"{family} type units", compiled(GXX[family]["cc"], "cc", "-fdebug-types-section", "-gdwarf-4")
        yield f"{family} type units 5", compiled(GXX[family]["cc"], "cc", "-fdebug-types-section", "-gdwarf-5")
        yield f"{family} not PIE", compiled(GXX[family]["c"], "c", "-no-pie", "-fno-pie")
        for linker, version in (("bfd", "4"), ("bfd", "5"), ("gold", "4"), ("gold", "5"), ("lld", "4"), ("lld", "5"),
                                ("mold", "4"), ("mold", "5")):
            yield (f"{family} {linker} DWARF {version} dropped functions",
                   dropped(f"-fuse-ld={linker}", f"-gdwarf-{version}")(GXX[family]["c"]))
        for version in ("2", "3", "4", "5"):
            for lang in ("c", "cc"):
                yield f"{family} DWARF {version} {lang}, only .debug_line", lines_alone(GXX[family][lang], lang, f"-gdwarf-{version}")
        yield f"{family} -g1, only .debug_line", lines_alone(GXX[family]["c"], "c", "-g1")
        yield f"{family} 64-bit DWARF, only .debug_line", lines_alone(GXX[family]["cc"], "cc", "-gdwarf64", "-gdwarf-5")
        yield f"{family} split, only .debug_line", lines_alone(GXX[family]["cc"], "cc", "-gsplit-dwarf", "-gdwarf-5")
        yield f"{family} -g1", compiled(GXX[family]["c"], "c", "-g1", optional=() if family == "gcc" else ALL)
    yield "damaged abbreviations", damaged_dies(".debug_abbrev", lambda b: b"\xff" * len(b), LINES)
    yield "damaged units", damaged_dies(".debug_info", lambda b: b"\xff" * len(b), LINES)
    yield "damaged units, DWARF 4", damaged_dies(".debug_info", lambda b: b[:4] + b"\xff" * 7 + b[11:], SOME, "-gdwarf-4")
    yield "units that break off", damaged_dies(".debug_info", lambda b: b[:len(b) // 2], LINES)
    yield "rustc, only .debug_line", rust_lines_alone
    yield "gcc zlib", compiled("g++", "cc", "-gz=zlib")
    yield "clang zlib", compiled("clang++", "cc", "-gz=zlib")
    yield "gcc zlib of mold", compiled("g++", "cc", "-fuse-ld=mold", "-Wl,--compress-debug-sections=zlib")
    yield "gcc zstd of mold", zstd("-fuse-ld=mold", "-Wl,--compress-debug-sections=zstd")
    yield "gcc zlib-gnu", recompressed("zlib-gnu")
    yield "gcc zstd", recompressed("zstd")
    yield "gcc zstd of bfd", zstd("-fuse-ld=bfd", "-Wl,--compress-debug-sections=zstd")
    yield ("gcc zstd of bfd, 64-bit DWARF 4, type units",
           zstd("-fuse-ld=bfd", "-Wl,--compress-debug-sections=zstd", "-gdwarf64", "-gdwarf-4", "-fdebug-types-section"))
    yield "gcc dwp of binutils", packed("g++", "dwp", "-gdwarf-4")
    yield "gcc no sibling, no aranges", compiled("gcc", "c", "-gno-variable-location-views", "-gstrict-dwarf", "-gdwarf-3")
    yield "clang -gmlt", compiled("clang++", "cc", "-gmlt", optional=ALL)
    yield "clang -gsimple-template-names", compiled("clang++", "cc", "-gsimple-template-names")
    yield "clang aranges", compiled("clang++", "cc", "-gdwarf-aranges")
    yield "clang thin LTO", compiled("clang++", "cc", "-flto=thin", "-fuse-ld=lld")
    yield "clang split, inlining in skeletons", compiled("clang++", "cc", "-gsplit-dwarf", "-fsplit-dwarf-inlining")
    yield "lld folded functions", compiled("clang", "c", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all")
    yield "stripped, objcopy", stripped(objcopy_strip)
    yield "stripped, eu-strip", stripped(eu_strip)
    yield "dwz", dwz
    yield "dwz -m", dwz_multi()
    yield "dwz -m --dwarf-5", dwz_multi("--dwarf-5")
    for version in ("4", "5"):
        yield f"relocatable DWARF {version}", relocatable(version)
    yield "i386", foreign("i386-linux-gnu")
    yield "arm", foreign("armv7-linux-gnueabi")
    yield "aarch64", foreign("aarch64-linux-gnu", "-gdwarf-4")
    yield "mips, big-endian", foreign("mips-linux-gnu")
    yield "ppc64, big-endian", foreign("powerpc64-linux-gnu", "-mabi=elfv2")
    yield "ppc, big-endian, DWARF 4", foreign("powerpc-linux-gnu", "-gdwarf-4")
    yield "rustc", rust()
    yield "rustc v0", rust("-Csymbol-mangling-version=v0")
    lines_only = "line-tables-only" if rustc_is_at_least(1, 71) else "1"
    yield "rustc lines only", rust(f"-Cdebuginfo={lines_only}", optional=ALL)
    yield "rustc LTO", rust("-Clto=fat")


def attempt(variant):
    """One TAP line, with what is wrong before it."""
    name, build = variant
    try:
        v = build(name)
        marks = v.read_marks(v.marks)
        wrong = check(TRUTH[v.lang], v.args, marks, v.optional)
    except Skip as e:
        return f"ok - {name} # SKIP {e}"
    return "".join(f"  {w}\n" for w in wrong) + f"{'not ' if wrong else ''}ok - {name}: {len(marks)} marks"


def main():
    chosen = [v for v in variants() if (any(s in v[0] for s in sys.argv[1:]) if sys.argv[1:] else LONG or not MORE.fullmatch(v[0]))]
    failed = False
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(attempt, chosen):
            print(line, flush=True)
            failed |= "not ok - " in line
    return failed


if __name__ == "__main__":
    sys.exit(main())

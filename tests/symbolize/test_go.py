#!/usr/bin/env python3
"""Names, lines and inlined calls of stripped Go programs, from .gopclntab.

1. Tables written here after runtime/symtab.go for each layout that Go had (1.2, 1.16, 1.18, 1.20, 1.26, 1.27): truth
   by construction.
2. The same tables damaged: whatever comes out, the tool ends well (and the sanitizers watch).
3. Where a Go compiler is installed: a program with its DWARF, and the same program stripped. Chains must be equal,
   except where DWARF has no line (padding), for .abi0 suffixes, and for wrappers that the compiler generates, which
   only the table knows to be inlined into.
"""
import glob
import os
import random
import re
import shutil
import struct

import varint
from symtool import *
from tap import LONG

rng = random.Random(9)
DAMAGED = 60 if LONG else 20
TEXT, TABLE, DATA, RODATA = 0x401000, 0x500000, 0x600000, 0x700000
MAGIC = {"1.2": 0xfffffffb, "1.16": 0xfffffffa, "1.18": 0xfffffff0, "1.20": 0xfffffff1, "1.26": 0xfffffff1, "1.27": 0xfffffff1}
# index of moduledata.gofunc
GOFUNC = {"1.2": 40, "1.16": 40, "1.18": 38, "1.20": 40, "1.26": 40, "1.27": 43}


def pc_table(steps):
    """[(value, end offset)]: zigzag value deltas from -1, pc deltas from 0, closed by 0"""
    out, value, at = b"", -1, 0
    for v, end in steps:
        d = v - value
        out += varint.put((d << 1) if d >= 0 else (-d << 1) - 1) + varint.put(end - at)
        value, at = v, end
    return out + b"\0"


# main.outer: 0x40 bytes. main.mid is inlined at line 11, main.leaf into it at line 31.
LINES = pc_table([(10, 8), (11, 16), (30, 24), (31, 32), (22, 48), (12, 64)])
FILES = pc_table([(0, 32), (1, 48), (0, 64)])
INLINED = pc_table([(-1, 16), (0, 32), (1, 48), (-1, 64)])
OTHER_LINES = pc_table([(77, 16)])
OTHER_FILES = pc_table([(1, 16)])
EXPECTED = [  # offset -> (with inlining, without)
    (0x04, ["main.outer|/src/a.go:10"], ["main.outer|/src/a.go:10"]),
    (0x14, ["main.mid|/src/a.go:30", "main.outer|/src/a.go:11"], ["main.outer|/src/a.go:30"]),
    (0x24, ["main.leaf|/src/leaf.go:22", "main.mid|/src/a.go:31", "main.outer|/src/a.go:11"],
     ["main.outer|/src/leaf.go:22"]),
    (0x3f, ["main.outer|/src/a.go:12"], ["main.outer|/src/a.go:12"]),
    (0x48, ["main.other|/src/leaf.go:77"], ["main.other|/src/leaf.go:77"]),
]


class Blob:
    def __init__(self, at=0):
        self.data, self.base = b"", at

    def add(self, bytes_):
        at = self.base + len(self.data)
        self.data += bytes_
        return at


def make_table(version):
    """(bytes of .gopclntab, bytes of the inline tree)"""
    parts = version != "1.2"
    names, pcs, files, funcs = Blob(), Blob(), Blob(), Blob()
    pcs.add(b"\0")  # offset 0 means no table
    name = {n: names.add(n.encode() + b"\0") for n in ("main.outer", "main.other", "main.mid", "main.leaf")}
    path = [files.add(p + b"\0") for p in (b"/src/a.go", b"/src/leaf.go")]
    table = {k: pcs.add(v) for k, v in (("ln", LINES), ("file", FILES), ("inl", INLINED), ("ln2", OTHER_LINES),
                                        ("file2", OTHER_FILES))}
    short = version not in ("1.2", "1.16")
    header = 8 + 8 if not parts else 8 + 8 * (8 if short else 7)
    units = struct.pack("<III", 0xffffffff, *path)  # the unit of both functions begins at 1
    tab_entry = struct.Struct("<II" if short else "<QQ")
    tab_size = 2 * tab_entry.size + tab_entry.size // 2

    def func(entry, base, n, f, ln, inl):
        """struct _func; base: what offsets of names and tables are relative to"""
        out = struct.pack("<I" if short else "<Q", entry)
        out += struct.pack("<iiIIII", base["names"] + name[n], 0, 0, 0, base["pcs"] + table[f], base["pcs"] + table[ln])
        out += struct.pack("<I", 3 if inl else 0)
        if parts:
            out += struct.pack("<I", 1)
        if short and version != "1.18":
            out += struct.pack("<I", 5)
        out += bytes([0, 0, 0, 4 if inl else 0])
        if inl:
            out += struct.pack("<III", 0, 0, base["pcs"] + table["inl"])
            if short:
                out += struct.pack("<IIII", 0xffffffff, 0xffffffff, 0xffffffff, 16)
        return out

    if parts:
        names_off = header
        units_off = names_off + len(names.data)
        files_off = units_off + len(units)
        pcs_off = files_off + len(files.data)
        funcs_off = (pcs_off + len(pcs.data) + 7) & ~7
        base, info0 = {"names": 0, "pcs": 0}, 0
    else:
        # functions, the offset of the list of files, then everything else, all relative to the table
        funcs_off = header
        files_list_off = header + tab_size + 8
        names_off = files_list_off + 12
        pcs_off = names_off + len(names.data)
        files_off = pcs_off + len(pcs.data)
        base, info0 = {"names": names_off, "pcs": pcs_off}, files_off + len(files.data)
    start = (0, 0x40, 0x50) if short else (TEXT, TEXT + 0x40, TEXT + 0x50)
    one = func(start[0], base, "main.outer", "file", "ln", True)
    two = func(start[1], base, "main.other", "file2", "ln2", False)
    at = info0 if not parts else tab_size
    tab = tab_entry.pack(start[0], at) + tab_entry.pack(start[1], at + len(one)) + \
        struct.pack("<I" if short else "<Q", start[2])
    head = struct.pack("<IBBBB", MAGIC[version], 0, 0, 1, 8) + struct.pack("<Q", 2)
    if parts:
        head += struct.pack("<Q", 2)
        if short:
            head += struct.pack("<Q", 0 if version in ("1.26", "1.27") else TEXT)
        head += struct.pack("<QQQQQ", names_off, units_off, files_off, pcs_off, funcs_off)
        data = head + names.data + units + files.data + pcs.data
        data += bytes(funcs_off - len(data)) + tab + one + two
    else:
        data = head + tab + struct.pack("<II", files_list_off, 0)
        data += struct.pack("<III", 2, *[files_off + p for p in path]) + names.data + pcs.data + files.data + one + two
        # file numbers of this layout begin at 1
        data = data.replace(FILES, pc_table([(1, 32), (2, 48), (1, 64)])).replace(OTHER_FILES, pc_table([(2, 16)]))
    if version == "1.18":
        tree = struct.pack("<hBBiiii", -1, 0, 0, 0, 11, name["main.mid"], 8)
        tree += struct.pack("<hBBiiii", 0, 0, 0, 0, 31, name["main.leaf"], 24)
    else:
        tree = struct.pack("<iiii", 0, name["main.mid"], 8, 3) + struct.pack("<iiii", 0, name["main.leaf"], 24, 4)
    return data, tree


def build_elf(version, path, data, tree):
    module = [0] * 48
    module[0], module[20], module[22], module[23] = TABLE, TEXT, TEXT, TEXT + 0x60
    # types and their end, since 1.27 their length
    module[37], module[38] = RODATA, 0x20 if version == "1.27" else RODATA + 0x20
    module[GOFUNC[version]] = RODATA
    open("table.bin", "wb").write(data)
    open("tree.bin", "wb").write(bytes(16) + tree)
    open("module.bin", "wb").write(struct.pack("<QQQ48Q", 1, TABLE, 2, *module))
    # C code that an external linker puts before Go's, and a word that points to the table by chance
    write("go.s", '.text\n.fill 0x20, 1, 0x90\n.globl _start\n_start: .fill 0x60, 1, 0x90\n.section .gopclntab,"a"\n.incbin "table.bin"\n'
          '.section .noptrdata,"aw"\n.incbin "module.bin"\n.section .gofunc,"a"\n.incbin "tree.bin"\n')
    run("gcc", "-nostdlib", "-static", "-no-pie", "-s", f"-Wl,-Ttext=0x{TEXT - 0x20:x}", "-Wl,--build-id=none",
        f"-Wl,--section-start=.gopclntab=0x{TABLE:x}", f"-Wl,--section-start=.noptrdata=0x{DATA:x}",
        f"-Wl,--section-start=.gofunc=0x{RODATA:x}", "go.s", "-o", path)


def chain(answer):
    return ["|".join(line) for line in answer.lines]


def by_construction():
    for version in MAGIC:
        data, tree = make_table(version)
        path = os.path.abspath(f"go-{version}")
        build_elf(version, path, data, tree)
        answers, source, reason = symbolize("file", path, [TEXT + e[0] for e in EXPECTED] + [TEXT + 0x50], "-i")
        want = [e[2] if version in ("1.2", "1.16") else e[1] for e in EXPECTED]
        got = [chain(a) for a in answers[:-1]]
        check(got == want and source == "pclntab", f"Go {version}: names, lines, inlined calls",
              f"{got}\n{want}\n{source} {reason}")
        check(not answers[-1].system, f"Go {version}: nothing behind the last function", answers[-1].system)
        plain, _, _ = symbolize("file", path, [TEXT + 0x24])
        check([a.system for a in plain] == ["main.outer"] and plain[0].offset == 0x24, f"Go {version}: symbols only")


def damaged():
    offsets = [TEXT + x for x in range(0, 0x60, 4)]
    for version in MAGIC:
        data, tree = make_table(version)
        build_elf(version, "victim", data, tree)
        whole = open("victim", "rb").read()
        at = whole.index(data)
        ended = 0
        for _ in range(DAMAGED):
            bad = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                where = at + rng.randrange(len(data)) if rng.randrange(4) else whole.index(tree) + rng.randrange(len(tree))
                bad[where] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
            open("bad", "wb").write(bad)
            answers, _, _ = symbolize("file", os.path.abspath("bad"), offsets, "-i")
            ended += len(answers) == len(offsets)
        check(ended == DAMAGED, f"Go {version}: {DAMAGED} damaged tables")


PROGRAM = r"""
package main

import ("fmt"; "os"; "sort"; "strings")

type shape interface{ area() int }
type square struct{ a int }

func (s square) area() int { return s.a * s.a }
func twice(x int) int      { return add(x, x) }
func add(a, b int) int     { return a + b }

//go:noinline
func work(n int) (r int) {
	for i := 0; i < n; i++ { r += twice(i) + shape(square{i}).area() }
	return
}

func main() {
	l := strings.Fields(strings.Repeat("b a c ", len(os.Args)))
	sort.Slice(l, func(i, j int) bool { return l[i] < l[j] })
	fmt.Println(work(len(l)), l)
}
"""


def real_programs():
    """By all versions of Go that are here."""
    found = [shutil.which("go")] + sorted(glob.glob("/usr/lib/go-*/bin/go"))
    compilers = {os.path.realpath(p): p for p in found if p}
    if not compilers:
        return skip("a real Go program", "no go")
    write("p.go", PROGRAM)
    for go in compilers.values():
        real_program(go)


def real_program(go):
    version = run(go, "env", "GOVERSION").strip()
    # an external linker merges the table of a position-independent program with other data
    for name, flags, ldflags in (("", [], ""), (" (PIE)", ["-buildmode=pie"], ""), (" (cc)", [], "-linkmode=external"),
                                 (" (PIE, cc)", ["-buildmode=pie"], "-linkmode=external")):
        run(go, "build", *flags, f"-ldflags={ldflags}", "-o", "full", "p.go")
        run(go, "build", *flags, f"-ldflags={ldflags} -s -w", "-o", "bare", "p.go")
        addresses = code_addresses("full", 4000, rng)
        a, _, _ = symbolize("file", os.path.abspath("full"), addresses, "-i")
        b, source, _ = symbolize("file", os.path.abspath("bare"), addresses, "-i")
        differ, compared, inlined = [], 0, 0
        for x, y in zip(a, b):
            # no line: padding; the runtime has some C, too
            if not x.lines or x.lines[-1][1].rsplit(":", 1)[0].endswith((".c", ".h", ".S")) or chain(x)[0].endswith("|:0"):
                continue
            cx, cy = ([re.sub(r"\.abi0|\./(?=<)", "", line) for line in chain(v)] for v in (x, y))
            if cy and cy[-1].endswith("<autogenerated>:1"):
                continue
            compared += 1
            inlined += len(cy) > 1
            if cx != cy:
                differ.append(f"{x.addr:x}: {cx} {cy}")
        check(compared > 3000 and inlined > 300 and len(differ) <= compared // 500 and "pclntab" in source,
              f"{version}{name}: {compared} chains as in DWARF, {inlined} with inlined calls, {len(differ)} differ",
              "\n".join(differ))


if os.environ.get("GO_SEEDS"):  # for fuzz_seeds.sh
    for go_version in MAGIC:
        build_elf(go_version, f"go-{go_version}", *make_table(go_version))
    sys.exit(0)
by_construction()
damaged()
real_programs()
end()

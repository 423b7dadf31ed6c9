#!/usr/bin/env python3
"""DWARF written byte by byte: every form, rare but legal structures, and hostile input.

A case makes an ELF file with an executable section [0x1000, 0x101000) and debug sections, asks tool_dwarf
for addresses and compares with what the bytes mean by the DWARF 5 standard (sections are named in the
cases). Hostile cases must answer, or not, within a time that a quadratic reader would not meet.
"""
import os
import struct
import subprocess
import sys
import time

TOOL = os.path.join(os.environ["BUILD"], "tests/symbolize/tool_dwarf")
SLOW = "-san" in os.environ["BUILD"]
CODE, CODE_SIZE = 0x1000, 0x100000

# tags
CU, SUB, INL, BLOCK, NS, STRUCT, PARAM, SITE, PARTIAL = 0x11, 0x2e, 0x1d, 0x0b, 0x39, 0x13, 5, 0x48, 0x3c
# attributes
SIBLING, LOC, NAME, STMT, LOW, HIGH, LANG, COMPDIR, ORIGIN, DECL_LINE, SPEC, RANGES, CALL_FILE, CALL_LINE, \
    LINKAGE, STROFF_BASE, ADDR_BASE, RNG_BASE, DECL_FILE = (
        1, 2, 3, 0x10, 0x11, 0x12, 0x13, 0x1b, 0x31, 0x3b, 0x47, 0x55, 0x58, 0x59, 0x6e, 0x72, 0x73, 0x74, 0x3a)
# forms
F = dict(addr=1, block2=3, block4=4, data2=5, data4=6, data8=7, string=8, block=9, block1=0xa, data1=0xb, flag=0xc,
         sdata=0xd, strp=0xe, udata=0xf, ref_addr=0x10, ref1=0x11, ref2=0x12, ref4=0x13, ref8=0x14, ref_udata=0x15,
         indirect=0x16, sec_offset=0x17, exprloc=0x18, flag_present=0x19, strx=0x1a, addrx=0x1b, data16=0x1e,
         line_strp=0x1f, ref_sig8=0x20, implicit=0x21, rnglistx=0x23, strx1=0x25, strx2=0x26, strx3=0x27,
         strx4=0x28, addrx1=0x29, addrx2=0x2a, addrx3=0x2b, addrx4=0x2c, gnu_str_index=0x1f02, gnu_addr_index=0x1f01,
         addrx_offset=0x2001)


def uleb(v):
    out = b""
    while True:
        out += bytes([v & 0x7f | (0x80 if v > 0x7f else 0)])
        v >>= 7
        if not v:
            return out


def sleb(v):
    out = b""
    while True:
        byte, v = v & 0x7f, v >> 7
        done = v == -(byte >> 6)
        out += bytes([byte | (0 if done else 0x80)])
        if done:
            return out


FIXED = {1: "Q", 5: "H", 6: "I", 7: "Q", 0xb: "B", 0xc: "B", 0xe: "I", 0x10: "I", 0x11: "B", 0x12: "H", 0x13: "I",
         0x14: "Q", 0x17: "I", 0x1f: "I", 0x20: "Q", 0x25: "B", 0x26: "H", 0x28: "I", 0x29: "B", 0x2a: "H", 0x2c: "I"}


class Die:
    """attrs: (attribute, form name, value); a Die as value is a reference to it."""

    def __init__(self, tag, *attrs, kids=()):
        self.tag, self.attrs, self.kids, self.off = tag, list(attrs), list(kids), 0


def encode(form, value, at):
    if isinstance(value, Die):
        value = value.off if form == "ref_addr" else value.off - at
    code = F[form]
    if code in FIXED:
        size = struct.calcsize("<" + FIXED[code]) * 8
        return struct.pack("<" + FIXED[code], value & ((1 << size) - 1))
    if form == "string":
        return value.encode() + b"\0"
    if form == "sdata":
        return sleb(value)
    if form in ("strx3", "addrx3"):
        return struct.pack("<I", value)[:3]
    if form in ("udata", "ref_udata", "strx", "addrx", "rnglistx", "gnu_str_index", "gnu_addr_index"):
        return uleb(value)
    if form == "addrx_offset":
        return uleb(value[0]) + struct.pack("<I", value[1])
    if form == "data16":
        return value
    if form in ("block", "exprloc"):
        return uleb(len(value)) + value
    if form == "block1":
        return bytes([len(value)]) + value
    if form == "block2":
        return struct.pack("<H", len(value)) + value
    if form == "block4":
        return struct.pack("<I", len(value)) + value
    if form in ("flag_present", "implicit"):
        return b""
    if form == "indirect":  # (form, value)
        return uleb(F[value[0]]) + encode(value[0], value[1], at)
    raise KeyError(form)


class File:
    """Collects sections; units are laid out in the order they are added."""

    def __init__(self):
        self.sec = {n: b"" for n in ("info", "abbrev", "str", "line_str", "line", "ranges", "rnglists",
                                     "addr", "str_offsets", "aranges")}
        self.codes = {}

    def string(self, s, sec="str"):
        at = len(self.sec[sec])
        self.sec[sec] += s.encode() + b"\0"
        return at

    def code(self, die):
        key = (die.tag, bool(die.kids), tuple((a, f, v if f == "implicit" else None) for a, f, v in die.attrs))
        if key not in self.codes:
            self.codes[key] = len(self.codes) + 1
        return self.codes[key]

    def dies(self, die, base, at):
        """Encodes a tree; sizes do not depend on references, so a second call has all offsets right."""
        die.off = at
        out = uleb(self.code(die)) + b"".join(encode(f, v, base) for _, f, v in die.attrs)
        if die.kids:
            for k in die.kids:
                out += self.dies(k, base, at + len(out))
            out += b"\0"
        return out

    def unit(self, root, version=5):
        base = len(self.sec["info"])
        header = 12 if version >= 5 else 11
        self.dies(root, base, base + header)
        return base, root, version

    def add(self, root, version=5):
        base, root, version = self.unit(root, version)
        header = 12 if version >= 5 else 11
        body = self.dies(root, base, base + header)
        if version >= 5:
            head = struct.pack("<IHBBI", len(body) + 8, version, 1, 8, 0)
        else:
            head = struct.pack("<IHIB", len(body) + 7, version, 0, 8)
        self.sec["info"] += head + body
        return base

    def abbrevs(self):
        out = b""
        for (tag, kids, attrs), code in self.codes.items():
            out += uleb(code) + uleb(tag) + bytes([kids])
            for a, f, v in attrs:
                out += uleb(a) + uleb(F[f]) + (sleb(v) if f == "implicit" else b"")
            out += b"\0\0"
        return out + b"\0"

    def elf(self):
        sec = dict(self.sec)
        sec["abbrev"] = sec["abbrev"] or self.abbrevs()
        names, body, heads = b"\0", b"", [b"\0" * 64]

        def header(name, kind, flags, addr, off, size):
            nonlocal names
            heads.append(struct.pack("<IIQQQQIIQQ", len(names), kind, flags, addr, off, size, 0, 0, 1, 0))
            names += name.encode() + b"\0"

        header(".text", 8, 6, CODE, 64, CODE_SIZE)
        for n, data in sec.items():
            if data:
                header(".debug_" + n, 1, 0, 0, 64 + len(body), len(data))
                body += data
        header(".shstrtab", 3, 0, 0, 64 + len(body), len(names) + 10)
        body += names
        shoff = 64 + len(body)
        ident = b"\x7fELF\2\1\1" + b"\0" * 9
        return (ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, shoff, 0, 64, 56, 0, 64, len(heads), len(heads) - 1)
                + body + b"".join(heads))


# ---- line programs ---------------------------------------------------------------------------


def line_table(program, version=4, dirs=(b"/d",), files=((b"a.c", 1),), min_inst=1, max_ops=1, base=-3, range_=12,
               opcodes=bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])):
    head = bytes([min_inst]) + (bytes([max_ops]) if version >= 4 else b"") + \
        struct.pack("<BbBB", 1, base, range_, len(opcodes) + 1) + opcodes
    if version >= 5:
        head += bytes([1]) + uleb(1) + uleb(F["string"]) + uleb(len(dirs)) + b"".join(d + b"\0" for d in dirs)
        head += bytes([2]) + uleb(1) + uleb(F["string"]) + uleb(2) + uleb(F["udata"]) + uleb(len(files))
        head += b"".join(n + b"\0" + uleb(d) for n, d in files)
    else:
        head += b"".join(d + b"\0" for d in dirs) + b"\0"
        head += b"".join(n + b"\0" + uleb(d) + b"\0\0" for n, d in files) + b"\0"
    body = struct.pack("<H", version) + (b"\x08\0" if version >= 5 else b"") + struct.pack("<I", len(head)) + head + program
    return struct.pack("<I", len(body)) + body


def set_address(a):
    return b"\0\x09\2" + struct.pack("<Q", a)


END = b"\0\1\1"
COPY = b"\1"


def pc(n):
    return b"\2" + uleb(n)


def ln(n):
    return b"\3" + sleb(n)


def fil(n):
    return b"\4" + uleb(n)


# ---- asking ----------------------------------------------------------------------------------


def ask(data, addresses, limit=20):
    with open("crafted.elf", "wb") as f:
        f.write(data)
    start = time.time()
    p = subprocess.run([TOOL, "crafted.elf", *(hex(a) for a in addresses)], capture_output=True, text=True,
                       timeout=limit * (5 if SLOW else 1))
    if p.returncode:
        raise AssertionError(f"status {p.returncode}: {p.stderr[-2000:]}")
    out, frames = {}, None
    for line in p.stdout.split("\n")[:-1]:
        if line.startswith("0x"):
            frames = out.setdefault(int(line, 16), [])
        elif line.startswith("\t\t\t"):
            frames.append(("", *line.split("\t")[3:5]))
        else:
            f = line.split("\t")
            frames.append((f[1] if f[1] != "-" else f[2], f[3], f[4]))
    return out, time.time() - start


def names(data, addresses, **kw):
    return [[f[0] for f in fs] for fs in ask(data, addresses, **kw)[0].values()]


def lines(data, addresses):
    return [[(f[1], int(f[2])) for f in fs] for fs in ask(data, addresses)[0].values()]


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got}\n  want {want}")


def fn(name, lo, size, *more, kids=()):
    return Die(SUB, (NAME, "string", name), (LOW, "addr", lo), (HIGH, "data8", size), *more, kids=kids)


def cu(*kids, lo=CODE, size=CODE_SIZE, attrs=()):
    return Die(CU, (NAME, "string", "u.c"), (LOW, "addr", lo), (HIGH, "data8", size), *attrs, kids=kids)


CASES = []


def case(f):
    CASES.append(f)
    return f


# ---- forms (DWARF5 7.5.6) ----------------------------------------------------------------------


@case
def constant_forms():
    """DW_AT_call_line in every constant form."""
    f = File()
    forms = [("data1", 200), ("data2", 60000), ("data4", 70000), ("data8", 80000), ("udata", 90000), ("sdata", 50),
             ("implicit", 123456), ("indirect", ("data2", 777)), ("indirect", ("udata", 888888))]
    origin = Die(SUB, (NAME, "string", "inner"))
    kids = [Die(INL, (ORIGIN, "ref4", origin), (LOW, "addr", CODE + i * 16), (HIGH, "data4", 16),
                (CALL_LINE, form, value)) for i, (form, value) in enumerate(forms)]
    f.add(cu(origin, fn("outer", CODE, 0x1000, kids=kids)))
    got = ask(f.elf(), [CODE + i * 16 for i in range(len(forms))])[0]
    equal([(g[0][0], g[1][0], int(g[1][2])) for g in got.values()],
          [("inner", "outer", v[1] if isinstance(v, tuple) else v) for _, v in forms])


@case
def skipped_forms():
    """Every form stands before what is wanted, in a DIE that is read and in one that is passed over."""
    f = File()
    junk = [(0x2100 + i, form, value) for i, (form, value) in enumerate([
        ("block1", b"xyz"), ("block2", b"x" * 300), ("block4", b"x" * 70000), ("block", b"x" * 200), ("exprloc", b"abc"),
        ("data16", b"0" * 16), ("flag", 1), ("flag_present", 1), ("ref_sig8", 1), ("sdata", -5), ("udata", 1 << 40),
        ("string", "text"), ("strp", 0), ("line_strp", 0), ("strx", 1), ("strx3", 1), ("addrx", 1), ("addrx3", 1),
        ("rnglistx", 1), ("ref8", 1), ("ref_udata", 5), ("implicit", -7), ("addrx_offset", (1, 5)), ("sec_offset", 3),
        ("indirect", ("block1", b"zz")), ("indirect", ("data16", b"1" * 16)), ("indirect", ("flag_present", 1))])]
    f.add(cu(Die(0x34, *junk), Die(0x34, *junk, kids=[Die(5, *junk)]),
             Die(SUB, *junk, (NAME, "string", "f"), (LOW, "addr", CODE), (HIGH, "udata", 64))))
    equal(names(f.elf(), [CODE, CODE + 63, CODE + 64]), [["f"], ["f"], []])


@case
def string_forms():
    f = File()
    offs = [f.string(f"s{i}") for i in range(300)]
    f.string("line string", "line_str")
    f.sec["str_offsets"] = struct.pack("<IHH", 4 + 4 * 300, 5, 0) + b"".join(struct.pack("<I", o) for o in offs)
    forms = [("string", "direct"), ("strp", offs[7]), ("line_strp", 0), ("strx", 200), ("strx1", 1), ("strx2", 299),
             ("strx3", 3), ("strx4", 4), ("gnu_str_index", 5), ("strx", 300), ("strp", 10**6)]
    f.add(cu(*(Die(SUB, (NAME, form, v), (LOW, "addr", CODE + i * 16), (HIGH, "data1", 16))
               for i, (form, v) in enumerate(forms)), attrs=[(STROFF_BASE, "sec_offset", 8)]))
    equal(names(f.elf(), [CODE + i * 16 for i in range(len(forms))]),
          [["direct"], ["s7"], ["line string"], ["s200"], ["s1"], ["s299"], ["s3"], ["s4"], ["s5"], ["-"], ["-"]])


@case
def address_forms():
    f = File()
    f.sec["addr"] = struct.pack("<IHBB", 4 + 8 * 8, 5, 8, 0) + b"".join(struct.pack("<Q", CODE + i * 256) for i in range(8))
    forms = [("addrx", 0), ("addrx1", 1), ("addrx2", 2), ("addrx3", 3), ("addrx4", 4), ("gnu_addr_index", 5),
             ("addrx_offset", (6, 16))]
    dies = [Die(SUB, (NAME, "string", form), (LOW, form, v), (HIGH, "data1", 16)) for form, v in forms]
    dies.append(Die(SUB, (NAME, "string", "high"), (LOW, "addr", CODE + 0x700), (HIGH, "addr", CODE + 0x710)))
    dies.append(Die(SUB, (NAME, "string", "outside"), (LOW, "addrx", 8), (HIGH, "data1", 16)))
    f.add(cu(*dies, attrs=[(ADDR_BASE, "sec_offset", 8)]))
    at = [CODE + i * 256 + (16 if i == 6 else 0) for i in range(8)]
    equal(names(f.elf(), at + [CODE + 0x600]), [[form] for form, _ in forms] + [["high"], []])


@case
def reference_forms():
    f = File()
    target = Die(SUB, (NAME, "string", "target"))
    forms = ["ref1", "ref2", "ref4", "ref8", "ref_udata", "ref_addr"]
    kids = [Die(INL, (ORIGIN, form, target if form != "ref_udata" else 0), (LOW, "addr", CODE + i * 16), (HIGH, "data1", 16))
            for i, form in enumerate(forms)]
    root = cu(target, fn("outer", CODE, 0x1000, kids=kids))
    f.unit(root)  # offsets of what comes before the references are final after one pass
    kids[4].attrs[0] = (ORIGIN, "ref_udata", target.off)
    f.add(root)
    equal(names(f.elf(), [CODE + i * 16 for i in range(6)]), [["target", "outer"]] * 6)


# ---- ranges (DWARF5 2.17.3, DWARF4 7.24) --------------------------------------------------------


@case
def old_ranges():
    """Pairs relative to the unit's base, a base selection entry, an empty pair, the end."""
    f = File()
    f.sec["ranges"] = struct.pack("<12Q", 0x10, 0x20, 5, 5, 2**64 - 1, CODE + 0x100, 0, 0x10, 0x20, 0x30, 0, 0)
    f.add(Die(CU, (NAME, "string", "u"), (LOW, "addr", CODE), (HIGH, "data4", 0x1000), kids=[
        Die(SUB, (NAME, "string", "f"), (RANGES, "sec_offset", 0))]), version=4)
    equal(names(f.elf(), [CODE + a for a in (0xf, 0x10, 0x1f, 0x20, 5, 0x100, 0x110, 0x120, 0x130)]),
          [[], ["f"], ["f"], [], [], ["f"], [], ["f"], []])


@case
def range_lists():
    """Every entry kind of table 7.30, reached by index and by offset."""
    f = File()
    f.sec["addr"] = struct.pack("<IHBB", 4 + 8 * 4, 5, 8, 0) + b"".join(struct.pack("<Q", CODE + i * 0x100) for i in range(4))
    entries = (b"\1" + uleb(1) + b"\4" + uleb(0) + uleb(8)            # base_addressx, offset_pair: 0x100..0x108
               + b"\2" + uleb(2) + uleb(3)                             # startx_endx: 0x200..0x300
               + b"\3" + uleb(3) + uleb(0x20)                          # startx_length: 0x300..0x320
               + b"\5" + struct.pack("<Q", CODE + 0x400) + b"\4" + uleb(4) + uleb(8)      # base_address
               + b"\6" + struct.pack("<QQ", CODE + 0x500, CODE + 0x510)                   # start_end
               + b"\7" + struct.pack("<Q", CODE + 0x600) + uleb(0x10) + b"\0")            # start_length, end
    f.sec["rnglists"] = struct.pack("<IHBBI", 8 + 4 + len(entries), 5, 8, 0, 1) + struct.pack("<I", 4) + entries
    f.add(cu(Die(SUB, (NAME, "string", "indexed"), (RANGES, "rnglistx", 0)),
             attrs=[(ADDR_BASE, "sec_offset", 8), (RNG_BASE, "sec_offset", 12)]))
    at = [0x100, 0x107, 0x108, 0x200, 0x2ff, 0x300, 0x31f, 0x320, 0x404, 0x407, 0x408, 0x500, 0x50f, 0x510, 0x600, 0x60f, 0x610]
    want = [["indexed"] if i not in (2, 7, 10, 13, 16) else [] for i in range(len(at))]
    equal(names(f.elf(), [CODE + a for a in at]), want)
    f.codes, f.sec["info"] = {}, b""
    f.add(cu(Die(SUB, (NAME, "string", "indexed"), (RANGES, "sec_offset", 16)), attrs=[(ADDR_BASE, "sec_offset", 8)]))
    equal(names(f.elf(), [CODE + a for a in at]), want)


@case
def dead_code():
    """What linkers write for dropped functions: 0, -1, -2, 1..1; addresses where no code is."""
    f = File()
    f.sec["ranges"] = struct.pack("<10Q", 2**64 - 1, 2**64 - 1, 0x1001, 0x1011, 1, 1, 2**64 - 2, 2**64 - 2, 0, 0)
    tomb = [0, 2**64 - 1, 2**64 - 2, 0xfff, CODE + CODE_SIZE]
    f.add(cu(*(fn(f"dead{i}", a, 0x2000) for i, a in enumerate(tomb)),
             Die(SUB, (NAME, "string", "deadlist"), (RANGES, "sec_offset", 0)), fn("live", CODE, 0x40)), version=4)
    equal(names(f.elf(), [CODE, CODE + 0x50, CODE + 0x1000, 0x10, 0]), [["live"], [], [], [], []])


@case
def range_bases_of_dead_code():
    f = File()
    entries = b"\5" + struct.pack("<Q", 2**64 - 1) + b"\4" + uleb(CODE + 1) + uleb(CODE + 0x20) + b"\0"
    f.sec["rnglists"] = struct.pack("<IHBBI", 8 + len(entries), 5, 8, 0, 0) + entries
    f.add(cu(Die(SUB, (NAME, "string", "dead"), (RANGES, "sec_offset", 12))))
    equal(names(f.elf(), [CODE, CODE + 0x10]), [[], []])


# ---- who is on top -----------------------------------------------------------------------------


@case
def folded_functions():
    """Two functions at one address: the first DIE wins, with its own inlined functions only."""
    f = File()
    a, b = (Die(SUB, (NAME, "string", n)) for n in ("in_a", "in_b"))
    f.add(cu(a, b,
             fn("a", CODE, 64, kids=[Die(INL, (ORIGIN, "ref4", a), (LOW, "addr", CODE + 16), (HIGH, "data1", 16))]),
             fn("b", CODE, 96, kids=[Die(INL, (ORIGIN, "ref4", b), (LOW, "addr", CODE + 32), (HIGH, "data1", 48))])))
    equal(names(f.elf(), [CODE, CODE + 16, CODE + 32, CODE + 64, CODE + 80]),
          [["a"], ["in_a", "a"], ["a"], ["in_b", "b"], ["b"]])


@case
def first_unit_wins():
    """Linkers let all units of a COMDAT function point to the kept copy: that of the first."""
    f = File()
    for n in ("first", "second"):
        f.add(cu(fn(n, CODE, 64), lo=CODE, size=64))
    equal(names(f.elf(), [CODE, CODE + 63]), [["first"], ["first"]])


@case
def unit_that_promises_too_much():
    """The first unit claims an address and has no function there: another one that claims it is asked."""
    f = File()
    f.add(cu(fn("first", CODE, 64)))
    f.add(cu(fn("second", CODE + 64, 64), lo=CODE + 64, size=64))
    equal(names(f.elf(), [CODE, CODE + 70]), [["first"], ["second"]])


@case
def units_without_ranges():
    f = File()
    f.add(Die(CU, (NAME, "string", "u"), kids=[fn("f", CODE, 64)]))
    f.add(Die(CU, (NAME, "string", "v"), kids=[fn("g", CODE + 64, 64)]))
    f.add(Die(CU, (NAME, "string", "w"), kids=[Die(SUB, (NAME, "string", "declared"))]))
    equal(names(f.elf(), [CODE, CODE + 64, CODE + 128]), [["f"], ["g"], []])
    at = len(f.sec["info"])
    off = f.add(Die(CU, (NAME, "string", "x"), kids=[fn("h", CODE + 256, 64)]))
    equal(at, off)
    tuples = struct.pack("<QQQQ", CODE + 256, 64, 0, 0)
    f.sec["aranges"] = struct.pack("<IHIBB", 8 + 4 + len(tuples), 2, off, 8, 0) + b"\0" * 4 + tuples
    equal(names(f.elf(), [CODE, CODE + 256]), [["f"], ["h"]])


@case
def functions_in_functions():
    """A nested function with code of its own interrupts its parent's DIE, not its ranges."""
    f = File()
    i = Die(SUB, (NAME, "string", "inl"))
    f.add(cu(i, fn("outer", CODE, 64, kids=[
        Die(BLOCK, (LOW, "addr", CODE), (HIGH, "data1", 32), kids=[
            fn("nested", CODE + 128, 64, kids=[Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 130), (HIGH, "data1", 8))]),
            Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 8), (HIGH, "data1", 8))])]),
             Die(STRUCT, (NAME, "string", "S"), kids=[fn("method", CODE + 256, 16)]),
             Die(SUB, (NAME, "string", "abstract"), kids=[Die(STRUCT, (NAME, "string", "L"), kids=[
                 fn("local", CODE + 512, 16)])])))
    equal(names(f.elf(), [CODE, CODE + 8, CODE + 128, CODE + 130, CODE + 256, CODE + 512]),
          [["outer"], ["inl", "outer"], ["outer::nested"], ["inl", "outer::nested"], ["S::method"], ["abstract::L::local"]])


@case
def siblings():
    """DW_AT_sibling jumps over what has no code; a wrong one must not lose the way."""
    f = File()
    kid = Die(0x49, (LOC, "exprloc", b"\x50"))
    last = fn("after", CODE + 64, 64)
    site = Die(SITE, (SIBLING, "ref4", last), (LOC, "exprloc", b""), kids=[kid, kid])
    back = Die(SITE, (SIBLING, "ref1", 12), (LOC, "exprloc", b""), kids=[kid])
    f.add(cu(fn("f", CODE, 64, kids=[back]), site, last))
    equal(names(f.elf(), [CODE, CODE + 64]), [["f"], ["after"]])


# ---- names ---------------------------------------------------------------------------------------


@case
def names_through_links():
    """Concrete -> abstract -> declaration, across units (LTO); the first that says something counts."""
    f = File()
    decl = Die(SUB, (NAME, "string", "method"), (DECL_LINE, "data1", 5))
    abstract = Die(SUB, (SPEC, "ref4", decl), (DECL_LINE, "data1", 50))
    f.add(Die(CU, (NAME, "string", "early"), kids=[
        Die(NS, (NAME, "string", "ns"), kids=[Die(NS, kids=[Die(STRUCT, (NAME, "string", "C<int>"), kids=[decl])])]), abstract]))
    f.add(cu(Die(SUB, (ORIGIN, "ref_addr", abstract), (LOW, "addr", CODE), (HIGH, "data1", 64)),
             Die(SUB, (ORIGIN, "ref_addr", abstract), (LINKAGE, "string", "_Zown"), (LOW, "addr", CODE + 64), (HIGH, "data1", 64))))
    equal(names(f.elf(), [CODE, CODE + 64]), [["ns::(anonymous namespace)::C<int>::method"], ["_Zown"]])


@case
def names_of_c():
    """C has no scopes: DW_LANG_C11."""
    f = File()
    f.add(cu(fn("outer", CODE, 64, kids=[fn("nested", CODE + 64, 64)]), attrs=[(LANG, "data1", 0x1d)]))
    equal(names(f.elf(), [CODE + 64]), [["nested"]])


@case
def link_cycles():
    f = File()
    a = Die(SUB, (ORIGIN, "ref4", None), (LOW, "addr", CODE), (HIGH, "data1", 16))
    b = Die(SUB, (ORIGIN, "ref4", a))
    a.attrs[0] = (ORIGIN, "ref4", b)
    c = Die(SUB, (SPEC, "ref4", None), (LOW, "addr", CODE + 16), (HIGH, "data1", 16))
    c.attrs[0] = (SPEC, "ref4", c)
    s = Die(STRUCT, (SPEC, "ref4", None), kids=[fn("m", CODE + 32, 16)])
    s.attrs[0] = (SPEC, "ref4", s)
    root = cu(a, b, c, s)
    f.unit(root)
    f.add(root)
    got = names(f.elf(), [CODE, CODE + 16, CODE + 32])
    equal([g[0] for g in got[:2]], ["-", "-"])
    assert got[2][0].endswith("::m"), got


# ---- lines (DWARF5 6.2) ----------------------------------------------------------------------------


def with_lines(table, *kids, version=4, attrs=()):
    f = File()
    f.sec["line"] = table
    f.add(cu(*kids, attrs=[(STMT, "sec_offset", 0), (COMPDIR, "string", "/comp"), *attrs]), version=version)
    return f.elf()


@case
def line_rows():
    """Standard and special opcodes; several rows at one address: the last counts; end of sequence."""
    prog = (set_address(CODE) + ln(9) + COPY                     # 0x0: 10
            + bytes([13 + 12 * 4 + 3 + 2])                       # special: +4, +2 -> 0x4: 12
            + pc(4) + ln(1) + COPY + ln(1) + COPY                # 0x8: 13, then 14
            + b"\x08" + ln(-4) + COPY                            # const_add_pc: +20 -> 0x1c: 10
            + b"\x09\x10\x00" + ln(90) + COPY                    # fixed_advance_pc +16 -> 0x2c: 100
            + b"\x05\x07\x06\x07\x0a\x0b\x0c\x03"                # column, is_stmt, block, prologue, epilogue, isa
            + b"\0\x05\xee1234" + b"\0\2\4\7"                    # unknown extended, discriminator
            + pc(4) + END)                                       # 0x30
    data = with_lines(line_table(prog), fn("f", CODE, 0x40))
    at = [0, 3, 4, 7, 8, 0x1b, 0x1c, 0x2c, 0x2f, 0x30]
    equal(lines(data, [CODE + a for a in at]),
          [[("/d/a.c", n)] for n in (10, 10, 12, 12, 14, 14, 10, 100, 100)] + [[("-", 0)]])


@case
def line_files():
    """Files count from 1 before DWARF 5, from 0 in it; relative directories stand in the unit's."""
    prog = set_address(CODE) + fil(1) + COPY + pc(4) + fil(2) + COPY + pc(4) + fil(3) + COPY + pc(4) + fil(9) + COPY + pc(4) + END
    files = ((b"a.c", 0), (b"b.c", 1), (b"/abs/c.c", 1), (b"d.c", 2))
    at = [CODE + 4 * i for i in range(4)]
    f = fn("f", CODE, 16)
    equal(lines(with_lines(line_table(prog, dirs=(b"rel", b"/x/"), files=files), f), at),
          [[("/comp/a.c", 1)], [("/comp/rel/b.c", 1)], [("/abs/c.c", 1)], [("-", 1)]])
    equal(lines(with_lines(line_table(prog, 5, dirs=(b"/comp", b"rel", b"/x/"), files=files), f, version=5), at),
          [[("/comp/rel/b.c", 1)], [("/abs/c.c", 1)], [("/x/d.c", 1)], [("-", 1)]])


@case
def line_defined_file():
    prog = b"\0\7\3" + b"n.c\0\1\0" + b"\0" + set_address(CODE) + fil(2) + COPY + pc(4) + END
    prog = b"\0" + uleb(1 + 4 + 3) + b"\3n.c\0\1\0\0" + set_address(CODE) + fil(2) + COPY + pc(4) + END
    equal(lines(with_lines(line_table(prog), fn("f", CODE, 4)), [CODE]), [[("/d/n.c", 1)]])


@case
def line_zero():
    """Code of no line takes the line before it in the same function, not one of an inlined function."""
    prog = (set_address(CODE) + ln(9) + COPY + pc(4) + ln(-10) + COPY                # 0: 10, 4: line 0
            + pc(4) + ln(50) + COPY + pc(4) + ln(-50) + COPY + pc(4) + ln(7) + COPY  # 8: 50 (inlined), 12: 0, 16: 7
            + pc(4) + END)
    i = Die(SUB, (NAME, "string", "i"))
    data = with_lines(line_table(prog), i, fn("f", CODE, 20, kids=[
        Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 8), (HIGH, "data1", 4), (CALL_LINE, "data1", 33), (CALL_FILE, "data1", 1))]))
    equal(lines(data, [CODE, CODE + 4, CODE + 8, CODE + 12, CODE + 16]),
          [[("/d/a.c", 10)], [("/d/a.c", 10)], [("/d/a.c", 50), ("/d/a.c", 33)], [("/d/a.c", 10)], [("/d/a.c", 7)]])


@case
def line_sequences():
    """Sequences in any order, dead ones, one whose addresses go back, one without end."""
    seq = lambda a, n: set_address(a) + ln(n - 1) + COPY + pc(16) + END
    prog = (seq(CODE + 0x100, 20) + seq(CODE, 10) + seq(0, 66) + seq(2**64 - 1, 67)
            + set_address(CODE + 0x200) + ln(29) + COPY + pc(8) + COPY + set_address(CODE + 0x180) + ln(1) + COPY + pc(8) + END
            + set_address(CODE + 0x300) + ln(39) + COPY + pc(8))
    at = [CODE, CODE + 15, CODE + 16, CODE + 0x100, CODE + 0x180, CODE + 0x300]
    equal(lines(with_lines(line_table(prog)), at),
          [[("/d/a.c", 10)], [("/d/a.c", 10)], [], [("/d/a.c", 20)], [("/d/a.c", 31)], []])


@case
def line_vliw():
    """minimum_instruction_length 4, two operations per instruction (6.2.5.1)."""
    prog = set_address(CODE) + COPY + pc(3) + ln(1) + COPY + pc(1) + ln(1) + COPY + pc(2) + END
    data = with_lines(line_table(prog, min_inst=4, max_ops=2), fn("f", CODE, 16))
    equal([l[0][1] for l in lines(data, [CODE, CODE + 3, CODE + 4, CODE + 7, CODE + 8, CODE + 11])], [1, 1, 2, 2, 3, 3])


@case
def line_versions():
    prog = set_address(CODE) + ln(4) + COPY + pc(4) + END
    for version in (2, 3, 4, 5):
        data = with_lines(line_table(prog, version, dirs=(b"/z", b"/d")[version < 5:], files=((b"x.c", 1), (b"a.c", 1))[version < 5:]),
                          fn("f", CODE, 4), version=version)
        equal(lines(data, [CODE]), [[("/d/a.c", 5)]])


@case
def lines_without_functions():
    """Assembler sources: lines and no DIEs. The function next to them keeps its own."""
    prog = set_address(CODE) + ln(4) + COPY + pc(8) + ln(1) + COPY + pc(8) + END
    equal(ask(with_lines(line_table(prog), fn("f", CODE + 8, 4)), [CODE + 4, CODE + 8, CODE + 13])[0],
          {CODE + 4: [("", "/d/a.c", "5")], CODE + 8: [("f", "/d/a.c", "6")], CODE + 13: [("", "/d/a.c", "6")]})


# ---- damage: what is whole is still found -------------------------------------------------------------


@case
def damaged_units():
    f = File()
    f.add(cu(fn("one", CODE, 16), lo=CODE, size=16))
    f.sec["info"] += struct.pack("<IHBBI", 20, 9, 1, 8, 0) + b"\0" * 12            # version 9
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 8, 10**6) + b"\1"               # abbreviations outside
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 8, 0) + b"\x7f"                 # unknown abbreviation
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 3, 0) + b"\1"                   # addresses of 3 bytes
    f.add(cu(fn("two", CODE + 16, 16), lo=CODE + 16, size=16))
    bad = cu(fn("three", CODE + 32, 16), Die(0x34, (0x2100, "flag_present", 1)), fn("lost", CODE + 48, 16), lo=CODE + 32, size=32)
    f.add(bad)
    f.add(cu(fn("four", CODE + 64, 16), lo=CODE + 64, size=16))
    data = f.abbrevs()
    # the form of attribute 0x2100 becomes one that does not exist
    f.sec["abbrev"] = data.replace(uleb(0x2100) + uleb(F["flag_present"]), uleb(0x2100) + b"\x7f")
    f.sec["info"] += struct.pack("<IHBBI", 10**6, 5, 1, 8, 0)                       # longer than the section
    equal(names(f.elf(), [CODE + 16 * i for i in range(5)]), [["one"], ["two"], ["three"], [], ["four"]])


@case
def cut_anywhere():
    """Sections cut at every length: no crash, and never a wrong name."""
    f = File()
    f.sec["line"] = line_table(set_address(CODE) + ln(4) + COPY + pc(4) + END, 5)
    i = Die(SUB, (NAME, "string", "i"))
    f.add(cu(i, fn("f", CODE, 64, kids=[Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE), (HIGH, "data1", 4), (CALL_LINE, "data1", 3))]),
             attrs=[(STMT, "sec_offset", 0)]))
    f.sec["abbrev"] = f.abbrevs()
    whole = dict(f.sec)
    for sec in ("info", "abbrev", "line"):
        for n in range(0, len(whole[sec]), 3):
            f.sec[sec] = whole[sec][:n] or b"\0"
            got = names(f.elf(), [CODE])[0]
            assert all(g in ("", "f", "i", "-") for g in got), (sec, n, got)
        f.sec[sec] = whole[sec]


# ---- hostile: time and memory are bounded by the size of the input --------------------------------------


def patient(data, addresses, seconds):
    _, took = ask(data, addresses, limit=seconds * 3)
    assert took < seconds * (5 if SLOW else 1), f"took {took:.1f} s"


@case
def hostile_depth():
    f = File()
    body = bytes([2]) * 200000
    f.sec["abbrev"] = b"\1\x11\1\0\0" + b"\2\x0b\1\0\0" + b"\0"
    f.sec["info"] = struct.pack("<IHBBI", len(body) + 9, 5, 1, 8, 0) + b"\1" + body
    patient(f.elf(), [CODE], 2)
    nested = Die(STRUCT, (NAME, "string", "x"))
    f = File()
    code = f.code(Die(CU, (LOW, "addr", 0), (HIGH, "data8", 0), kids=[nested]))
    inner = f.code(Die(STRUCT, kids=[nested]))
    func = f.code(fn("f", 0, 0))
    body = (uleb(code) + struct.pack("<QQ", CODE, 64) + uleb(inner) * 100000 + uleb(func) + b"f\0" + struct.pack("<QQ", CODE, 64))
    f.sec["info"] = struct.pack("<IHBBI", len(body) + 8, 5, 1, 8, 0) + body
    patient(f.elf(), [CODE], 2)


@case
def hostile_shared_ranges():
    """Many functions, each with the same long range list: 30,000 x 100,000 entries."""
    f = File()
    f.sec["ranges"] = b"".join(struct.pack("<QQ", CODE + i, CODE + i + 1) for i in range(100000)) + b"\0" * 16
    f.add(Die(CU, (NAME, "string", "u"), (LOW, "addr", 0), (HIGH, "addr", CODE + CODE_SIZE), kids=[
        Die(SUB, (RANGES, "sec_offset", 0)) for _ in range(30000)]), version=4)
    f.add(Die(CU, (NAME, "string", "u"), (LOW, "addr", 0), (RANGES, "sec_offset", 0)), version=4)
    patient(f.elf(), [CODE], 5)


@case
def hostile_unit_ranges():
    """Many units, each with the same long range list."""
    f = File()
    f.sec["ranges"] = b"".join(struct.pack("<QQ", CODE + i, CODE + i + 1) for i in range(100000)) + b"\0" * 16
    f.add(Die(CU, (LOW, "addr", 0), (RANGES, "sec_offset", 0)), version=4)
    f.sec["info"] *= 20000
    patient(f.elf(), range(CODE, CODE + 50), 5)


@case
def hostile_shared_abbrevs():
    """Many units whose root has the last of many abbreviations; tables that overlap."""
    f = File()
    n = 50000
    table = b"".join(uleb(i) + b"\x34\0\0\0" for i in range(2, n)) + uleb(n) + b"\x11\0\x11\1\x12\x0f\0\0" + b"\0"
    f.sec["abbrev"] = table
    root = uleb(n) + struct.pack("<Q", CODE) + uleb(64)
    # starts of abbreviations in the middle of the table: each claims another overlapping table
    starts, at = [], 0
    for i in range(2, n):
        starts.append(at)
        at += len(uleb(i)) + 4
    f.sec["info"] = b"".join(struct.pack("<IHBBI", len(root) + 8, 5, 1, 8, s) + root for s in starts[::3])
    f.sec["info"] += (struct.pack("<IHBBI", len(root) + 8, 5, 1, 8, 0) + root) * 20000
    patient(f.elf(), [CODE], 5)


@case
def hostile_line_counts():
    """2^60 files that take no room; a directory count without formats; line_range 0; opcode_base 0."""
    prog = set_address(CODE) + COPY + pc(4) + END
    good = line_table(prog, 5)
    head = bytes([1, 1, 1, 0xfd, 12, 13]) + bytes(12)
    for tables in (b"\0" + uleb(2**60) + b"\0" + uleb(2**60), b"\1\1" + uleb(0x19) + uleb(2**60),
                   b"\1\1" + uleb(0x21) + uleb(2**60), b"\1\1" + uleb(8) + uleb(2**60)):
        body = struct.pack("<HBBI", 5, 8, 0, len(head + tables)) + head + tables + prog
        patient(with_lines(struct.pack("<I", len(body)) + body, fn("f", CODE, 4), version=5), [CODE], 1)
    for at, value in ((16, 0), (17, 0)):
        patient(with_lines(good[:at] + bytes([value]) + good[at + 1:], fn("f", CODE, 4), version=5), [CODE], 1)


@case
def hostile_paths():
    """One directory name of 1 MB, and 20,000 files in it that all have rows: 20 GB of paths."""
    n = 20000
    prog = set_address(CODE) + b"".join(fil(i + 1) + COPY + pc(1) for i in range(n)) + END
    table = line_table(prog, dirs=(b"d" * 1000000,), files=tuple((b"x", 1) for _ in range(n)))
    patient(with_lines(table, fn("f", CODE, n)), [CODE, CODE + n - 1], 3)


@case
def hostile_shared_lines():
    """Many units that are all hit have one long line program."""
    n = 2000
    f = File()
    f.sec["line"] = line_table(b"".join(set_address(CODE + i * 8) + COPY + pc(8) + END for i in range(n * 10)))
    for i in range(n):
        f.add(cu(fn("f", CODE + i * 8, 8), lo=CODE + i * 8, size=8, attrs=[(STMT, "sec_offset", 0)]))
    patient(f.elf(), range(CODE, CODE + n * 8, 8), 5)


@case
def hostile_overlaps():
    """100,000 functions that all cover the same megabyte; and as many steps of a staircase."""
    f = File()
    proto = Die(SUB, (LOW, "addr", 0), (HIGH, "data8", 0))
    root = f.code(Die(CU, (LOW, "addr", 0), (HIGH, "data8", 0), kids=[proto]))
    func = uleb(f.code(proto))
    for step in (0, 1):
        body = uleb(root) + struct.pack("<QQ", CODE, CODE_SIZE)
        body += b"".join(func + struct.pack("<QQ", CODE + i * step, CODE_SIZE - i * step) for i in range(100000)) + b"\0"
        f.sec["info"] = struct.pack("<IHBBI", len(body) + 8, 5, 1, 8, 0) + body
        patient(f.elf(), range(CODE, CODE + CODE_SIZE, 4096), 5)


@case
def hostile_names():
    """50,000 functions in scopes nested 60 deep with long names, through links."""
    f = File()
    long = f.string("n" * 60000)
    leaf = [Die(SUB, (NAME, "strp", long), (LOW, "addr", CODE + i), (HIGH, "data1", 1)) for i in range(50000)]
    for _ in range(60):
        leaf = [Die(NS, (NAME, "strp", long), kids=leaf)]
    f.add(cu(*leaf))
    start = time.time()
    data = f.elf()
    with open("crafted.elf", "wb") as out:
        out.write(data)
    p = subprocess.run([TOOL, "-s", "crafted.elf", hex(CODE)], capture_output=True, timeout=60)
    assert p.returncode == 0 and len(p.stdout) < 200000, p.returncode


@case
def hostile_big_attributes():
    """Functions that all refer to one DIE with a string of 200 KB in it."""
    f = File()
    big = Die(SUB, (0x2100, "string", "x" * 200000), (NAME, "string", "big"))
    refs = [Die(SUB, (ORIGIN, "ref4", big), (LOW, "addr", CODE + i), (HIGH, "data1", 1)) for i in range(20000)]
    f.add(cu(big, *refs))
    patient(f.elf(), range(CODE, CODE + 20000, 1), 5)


def main():
    chosen = [c for c in CASES if not sys.argv[1:] or c.__name__ in sys.argv[1:]]
    failed = False
    for c in chosen:
        try:
            c()
            print(f"ok - {c.__name__}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed = True
            print(f"  {e}\nnot ok - {c.__name__}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

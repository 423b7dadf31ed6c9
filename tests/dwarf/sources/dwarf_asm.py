"""dwarf_asm.py - writes ELF files with DWARF, byte by byte, and asks tool_dwarf about them.

A file has an executable section [CODE, CODE + CODE_SIZE) and debug sections. For test_crafted.py,
test_hostile.py and test_compile_streaming.py."""
import functools
import os
import resource
import struct
import subprocess
import zlib

from varint import put as uleb

TOOL = os.path.join(os.environ["BUILD"], "tests/dwarf/tool_dwarf")
SLOW = "-san" in os.environ["BUILD"]
CODE, CODE_SIZE = 0x1000, 0x100000
MEMORY_MAX = 1 << 30  # the largest hostile file has 25 MB

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
        self.sec["info"] = bytearray()  # units are added to megabytes of others
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


def section_headers(data):
    """(where the table begins, [fields of Elf64_Shdr], [name])"""
    (shoff,), (n, strndx) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 60)
    heads = [list(struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i)) for i in range(n)]
    starts = [heads[strndx][4] + h[0] for h in heads]
    return shoff, heads, [data[at:data.index(b"\0", at)].decode() for at in starts]


def with_headers(body, heads):
    return body[:40] + struct.pack("<Q", len(body)) + body[48:] + b"".join(struct.pack("<IIQQQQIIQQ", *h) for h in heads)


def same_bytes(data, sections):
    """The file with these sections all compressed, and made of the bytes of the first."""
    shoff, heads, names = section_headers(data)
    first = heads[names.index(sections[0])]
    for n in sections:
        h = heads[names.index(n)]
        h[2], h[4], h[5] = 0x800, first[4], first[5]
    return with_headers(data[:shoff], heads)


@functools.lru_cache(1)
def deflated(data):
    return zlib.compress(data, 1)


def as_they_are(header, stream):
    return header, stream


@functools.lru_cache(1)
def compressed(data, change=as_they_are):
    """The file with .debug_info as gABI's "Section Compression" has it; change(Elf64_Chdr's fields, zlib stream)."""
    shoff, heads, names = section_headers(data)
    body = data[:shoff]
    for h, name in zip(heads, names):
        if name == ".debug_info":
            fields, stream = change((1, h[5], 1), deflated(data[h[4]:h[4] + h[5]]))
            h[2], h[4] = 0x800, len(body)
            body += struct.pack("<IIQQ", fields[0], 0, *fields[1:]) + stream
            h[5] = len(body) - h[4]
    return with_headers(body, heads)


# ---- asking ----------------------------------------------------------------------------------


def cpu_of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def ask(data, addresses, limit=20, threads=1, memory=MEMORY_MAX):
    """(answers, seconds of CPU time), of which at most `limit` are given: other load on the machine does not count."""
    # By a shell: to fork this process, as a function before the exec needs it, takes several times as long as all the rest.
    limits = f"ulimit -t {limit * (5 if SLOW else 1)}; {'' if SLOW else f'ulimit -v {memory >> 10}; '}exec \"$@\""
    with open("crafted.elf", "wb") as f:
        f.write(data)
    start = cpu_of_children()
    p = subprocess.run(["sh", "-c", limits, "sh", TOOL, "-j", str(threads), "crafted.elf", *(hex(a) for a in addresses)], capture_output=True,
                       text=True, timeout=300)
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
    return out, cpu_of_children() - start


def both(data, addresses, **kw):
    """The answers; with .debug_info compressed, where units are compiled while it is inflated, on other threads or between
    the steps, they are the same."""
    plain = ask(data, addresses, **kw)[0]
    for threads in (1, 3):
        equal(ask(compressed(data), addresses, threads=threads, **kw)[0], plain)
    return plain


def names(data, addresses, **kw):
    return [[f[0] for f in fs] for fs in both(data, addresses, **kw).values()]


def lines(data, addresses):
    return [[(f[1], int(f[2])) for f in fs] for fs in both(data, addresses).values()]


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got}\n  want {want}")


def fn(name, lo, size, *more, kids=()):
    return Die(SUB, (NAME, "string", name), (LOW, "addr", lo), (HIGH, "data8", size), *more, kids=kids)


def cu(*kids, lo=CODE, size=CODE_SIZE, attrs=()):
    return Die(CU, (NAME, "string", "u.c"), (LOW, "addr", lo), (HIGH, "data8", size), *attrs, kids=kids)


def with_lines(table, *kids, version=4, attrs=()):
    """A file with one unit that has this line table."""
    f = File()
    f.sec["line"] = table
    f.add(cu(*kids, attrs=[(STMT, "sec_offset", 0), (COMPDIR, "string", "/comp"), *attrs]), version=version)
    return f.elf()


CASES = []


def case(f):
    """Decorates a case that run_cases() runs."""
    CASES.append(f)
    return f


def run_cases(chosen):
    """One TAP line per case; True when one failed."""
    failed = False
    for c in CASES:
        if chosen and c.__name__ not in chosen:
            continue
        try:
            c()
            print(f"ok - {c.__name__}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed = True
            print(f"  {e}\nnot ok - {c.__name__}", flush=True)
    return failed

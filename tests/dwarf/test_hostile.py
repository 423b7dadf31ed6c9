#!/usr/bin/env python3
"""Hostile DWARF: time and memory are bounded by the size of the input.

Each case has something that a straightforward reader does again and again: it would take minutes or tens
of gigabytes. The limits here are seconds of CPU time; what is said about such files does not matter."""
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/dwarf/sources"))
sys.dont_write_bytecode = True
from dwarf_asm import *  # noqa: E402,F403


def patient(data, addresses, seconds):
    plain, took = ask(data, addresses, limit=seconds * 3)
    assert took < seconds * (5 if SLOW else 1), f"took {took:.1f} s"
    early, took = ask(compressed(data), addresses, limit=seconds * 3, threads=3)
    assert took < seconds * (5 if SLOW else 1), f"took {took:.1f} s while .debug_info was inflated"
    equal(early, plain)


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
    patient(f.elf(), range(CODE, CODE + n * 8, 8), 1)


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
    data = f.elf()
    with open("crafted.elf", "wb") as out:
        out.write(data)
    p = subprocess.run([TOOL, "-s", "crafted.elf", hex(CODE)], capture_output=True, timeout=300)
    assert p.returncode == 0 and len(p.stdout) < 200000, p.returncode


@case
def hostile_big_attributes():
    """Functions that all refer to one DIE with a string of 200 KB in it."""
    f = File()
    big = Die(SUB, (0x2100, "string", "x" * 200000), (NAME, "string", "big"))
    refs = [Die(SUB, (ORIGIN, "ref4", big), (LOW, "addr", CODE + i), (HIGH, "data1", 1)) for i in range(20000)]
    f.add(cu(big, *refs))
    patient(f.elf(), range(CODE, CODE + 20000, 1), 5)


def gabi(plain):
    """Contents of a section with SHF_COMPRESSED; `plain` in pieces."""
    z, size, out = zlib.compressobj(9), 0, b""
    for piece in plain:
        out += z.compress(piece)
        size += len(piece)
    return struct.pack("<IIQQ", 1, 0, size, 1) + out + z.flush()


@case
def hostile_inlined():
    """16 KB that grow to 16 MiB of inlined functions of one byte each."""
    f = File()
    f.sec["abbrev"] = b"\1\x11\1\x11\1\x12\7\0\0" + b"\2\x2e\1\3\x08\x11\1\x12\7\0\0" + b"\3\x1d\0\0\0" + b"\0"
    head = b"\1" + struct.pack("<QQ", CODE, CODE_SIZE) + b"\2f\0" + struct.pack("<QQ", CODE, CODE_SIZE)
    n = (1 << 24) - 100
    f.sec["info"] = gabi([struct.pack("<IHBBI", len(head) + n + 10, 5, 1, 8, 0) + head, b"\3" * n, b"\0\0"])
    data = same_bytes(f.elf(), [".debug_info"])
    assert len(data) < 100000, len(data)
    for threads in (1, 3):
        got, took = ask(data, [CODE], limit=6, threads=threads, memory=300 << 20)
        equal([name for name, *_ in got[CODE]], ["f"])
        assert took < 2 * (5 if SLOW else 1), f"took {took:.1f} s"


@case
def hostile_twins():
    """Ten sections that each are a gigabyte of zeros, all made of the same megabyte."""
    f = File()
    names = ["info", "abbrev", "str", "line_str", "line", "ranges", "rnglists", "addr", "str_offsets", "aranges"]
    for n in names:
        f.sec[n] = b"\0"
    f.sec["info"] = gabi([bytes(1 << 20)] * 1024)
    data = same_bytes(f.elf(), [".debug_" + n for n in names])
    for threads in (1, 3):
        equal(ask(data, [CODE], limit=2, threads=threads, memory=300 << 20)[0], {CODE: []})


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:]))

#!/usr/bin/env python3
"""Call frame information that is made to cost as much as it can: each file takes minutes where its size alone does not
bound what is done with it. The stacks end with a reason, and resolve ends."""
import json
import os
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import varint  # noqa: E402
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from walks import RESOLVE, report  # noqa: E402

TEXT, BIAS, STACK = 0x1000, 0x10000000, 0x7ffc00000000
REGS = 0xff0fff  # perf's mask of x86-64, with SP and IP as bits 7 and 8
CFA_AND_RA = bytes.fromhex("0c07089001")  # CFA = rsp + 8, return address at CFA - 8
NOP, BREG7 = b"\x96", b"\x77"


def entry(body):
    body += bytes(-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


def cie(augmentation=b"zR", code_align=b"\1"):
    """Addresses as they are, in 8 bytes."""
    return entry(bytes(4) + b"\1" + augmentation + b"\0" + code_align + b"\x78\x10\1\4" + CFA_AND_RA)


def fde(at, start, size, insns=b""):
    """At that offset; of the CIE at 0."""
    return entry(struct.pack("<IQQ", at + 4, start, size) + b"\0" + insns)


def write_elf(path, text_bytes, eh_frame, listed=None):
    """File offset = address. Without .eh_frame_hdr, so that all is read; or with one that lists the FDE at that offset, of all
    the text."""
    names = b"\0.text\0.eh_frame\0.shstrtab\0"
    eh_off = TEXT + text_bytes
    hdr_off, hdr = eh_off + len(eh_frame), b""
    if listed is not None:
        # version, encodings of the section's address and the count, and of the table: relative to the header, 4 bytes
        hdr = struct.pack("<4BQIii", 1, 4, 3, 0x3b, eh_off, 1, TEXT - hdr_off, eh_off + listed - hdr_off)
    names_off = hdr_off + len(hdr)
    headers_off = names_off + len(names) + -(names_off + len(names)) % 8

    def section(name, kind, off, size):
        return struct.pack("<IIQQQQIIQQ", names.index(name + b"\0"), kind, 2, off, off, size, 0, 0, 1, 0)

    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, headers_off, 0, 64, 56, 2, 64, 4, 3)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, headers_off, headers_off, 0x1000)
    head += struct.pack("<IIQQQQQQ", 0x6474e550 if hdr else 0, 4, hdr_off, hdr_off, hdr_off, len(hdr), len(hdr), 4)
    with open(path, "wb") as f:
        f.write(head.ljust(TEXT, b"\0") + b"\x90" * text_bytes + eh_frame + hdr + names.ljust(headers_off - names_off, b"\0") + bytes(64) +
                section(b".text", 1, TEXT, text_bytes) + section(b".eh_frame", 1, eh_off, len(eh_frame)) +
                section(b".shstrtab", 3, names_off, len(names)))


def record(name, text_bytes, stacks):
    """A sample for each list of return addresses in the text, which lie one behind the other."""
    w = PerfWriter("x86_64", ABI_64, REGS, 64000)
    w.comm("hostile")
    w.mmap(BIAS, BIAS + TEXT + text_bytes, 0, "r-xp", os.path.abspath(name + ".elf"))
    for stack in stacks:
        regs = [0] * bin(REGS).count("1")
        regs[7], regs[8] = STACK, BIAS + TEXT
        w.sample(regs[8], regs, struct.pack(f"<{len(stack)}Q", *(BIAS + TEXT + off for off in stack)))
    w.write(name + ".data")


def check(name, what, stops, n):
    """All n samples are told, end for these reasons in turn, and within 20 s of CPU time."""
    r = subprocess.run([RESOLVE, "-j1", "-f", "jsonl", name + ".data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
    ends = [json.loads(line)["stop"] for line in r.stdout.splitlines()]
    report(r.returncode == 0 and list(dict.fromkeys(ends)) == stops and len(ends) == n, what, (r.returncode, ends, r.stderr[-2000:]))


def common_cie(name, what, common):
    """A CIE of 1 MB, which is read for each of 40,000 FDEs."""
    n, size = 40000, len(fde(0, 0, 1))
    write_elf(name + ".elf", n, common + b"".join(fde(len(common) + i * size, TEXT + i, 1) for i in range(n)))
    record(name, n, [range(1, 8)])
    check(name, what, ["NO_CFI"], 1)


def one_function(name, what, insns, n, stops, is_listed=False):
    """Samples with 8,000 frames each, all at other addresses of one function."""
    common, size = cie(), 0x40000
    write_elf(name + ".elf", size, common + fde(len(common), TEXT, size, insns), len(common) if is_listed else None)
    record(name, size, [[10 + (i * 8000 + k) % (size - 10) for k in range(8000)] for i in range(n)])
    check(name, what, stops, n)


def main():
    common_cie("augmentation", "an augmentation string of 1 MB", cie(b"zR" + b"S" * 1000000))
    common_cie("leb", "a number of 1 MB", cie(code_align=b"\x81" + b"\x80" * 1000000 + b"\0"))
    one_function("long", "a function with a million instructions", b"\x0a\x0b" * 500000, 10, ["BAD_CFI"])
    # An address takes 4,096 instructions that lead to nothing, before the lock, and 4,100 with it: with 2^30 in all 131,000 are
    # found, in 16 of 20 samples. If only the latter counted all would be.
    one_function("listed", "a function with some more instructions than are tried without the lock", bytes(4100), 20,
                 ["TRUNCATED_STACK", "BAD_CFI"], is_listed=True)
    long = NOP * 4000
    regs = b"".join(b"\x16" + bytes([r]) + varint.put(len(long) + 2) + long + BREG7 + b"\0" for r in range(16) if r != 7)
    one_function("expressions", "expressions for all registers", b"\x0f" + varint.put(len(long) + 2) + long + BREG7 + b"\x08" + regs, 40, ["BAD_CFI"])


main()

"""elfsections.py - the contents of sections as they are in the file: what a debuginfod server sends."""
import struct


def sections(path):
    """{name: bytes} of an ELF file of either class and byte order, without those that have no contents."""
    with open(path, "rb") as f:
        b = f.read()
    order, wide = "<>"[b[5] - 1], b[4] == 2
    shoff, = struct.unpack_from(order + ("Q" if wide else "I"), b, 40 if wide else 32)
    entsize, num, strndx = struct.unpack_from(order + "HHH", b, 58 if wide else 46)
    headers = [struct.unpack_from(order + ("IIQQQQ" if wide else "IIIIII"), b, shoff + i * entsize) for i in range(num)]
    found = {}
    for name, kind, _, _, at, size in headers:
        at_name = headers[strndx][4] + name
        if kind != 8:
            found.setdefault(b[at_name:b.index(b"\0", at_name)].decode(), b[at:at + size])
    return found


def section(path, name):
    return sections(path).get(name)

"""simpleperf.py - a second, small reader of simpleperf's recordings, for tests to compare with.

Source of truth: AOSP, platform/system/extras/simpleperf: record.h, record_file.proto, dso.cpp, thread_tree.cpp."""
import struct

import varint

FILE, META_INFO, FILE2, INIT_MAP = 128, 129, 132, 134
KERNEL_SYMBOL, DSO, SYMBOL, SPLIT, SPLIT_END, EVENT_ID, CALLCHAIN, UNWINDING_RESULT, TRACING_DATA, DEBUG = range(
    32769, 32779)


class Recording:
    """header, data and header sections of a little-endian perf.data."""

    def __init__(self, raw):
        self.raw = raw
        _, self.attr_size, self.attrs, self.attrs_size, self.off, self.size = struct.unpack_from("<6Q", raw, 8)
        bits = struct.unpack_from("<4Q", raw, 72)
        self.bits = [b for b in range(256) if bits[b // 64] >> b % 64 & 1]
        table = self.off + self.size
        self.sections = {b: raw[o:o + n] for i, b in enumerate(self.bits)
                         for o, n in [struct.unpack_from("<2Q", raw, table + 16 * i)]}
        self.data = raw[self.off:table]

    def rebuilt(self, data=None, sections=None):
        """The same with other data or more header sections; those stand behind everything."""
        data = self.data if data is None else data
        sections = dict(sorted({**self.sections, **(sections or {})}.items()))
        bits = [0, 0, 0, 0]
        for b in sections:
            bits[b // 64] |= 1 << b % 64
        head = bytearray(self.raw[:self.off])
        struct.pack_into("<Q", head, 48, len(data))
        struct.pack_into("<4Q", head, 72, *bits)
        at, table, bodies = len(head) + len(data) + 16 * len(sections), b"", b""
        for body in sections.values():
            table += struct.pack("<2Q", at + len(bodies), len(body))
            bodies += body
        return bytes(head) + data + table + bodies


def take_cstr(b, at):
    end = b.index(0, at)
    return b[at:end], end + 1


def files_v1(b):
    at, out = 0, []
    while at < len(b):
        end = at + 4 + struct.unpack_from("<I", b, at)[0]
        path, at = take_cstr(b, at + 4)
        kind, low, n = struct.unpack_from("<IQI", b, at)
        at += 16
        symbols = []
        for _ in range(n):
            start, size = struct.unpack_from("<QI", b, at)
            name, at = take_cstr(b, at + 12)
            symbols.append((start, size, name.decode()))
        if kind == 3:
            at += 4 + 8 * struct.unpack_from("<I", b, at)[0]
        off = struct.unpack_from("<Q", b, at)[0] if end - at == 8 else None
        assert at + (8 if off is not None else 0) == end
        out.append((path.decode(), kind, low, off, symbols))
        at = end
    return out


def files_v2(b):
    at, out = 0, []
    while at < len(b):
        n = struct.unpack_from("<I", b, at)[0]
        m = list(varint.fields(b[at + 4:at + 4 + n]))
        one = dict(m)
        off = dict(varint.fields(one.get(6, one.get(7, b"")))).get(1, 0) if 6 in one or 7 in one else None
        symbols = [(s.get(1, 0), s.get(2, 0), s[3].decode()) for s in (dict(varint.fields(v)) for k, v in m if k == 4)]
        out.append((one[1].decode(), one.get(2, 0), one.get(3, 0), off, symbols))
        at += 4 + n
    return out


def base_of(kind, low, off):
    """As IpToVaddrInFile() of simpleperf's dso.cpp."""
    low -= off or 0
    low &= (1 << 64) - 1
    return {1: ("map", low), 2: ("map" if off is None else "off", low), 3: ("off", 0)}.get(kind, ("ip", 0))


def files_of(r):
    """[(path, kind, min_vaddr, its offset or None, [(start, size, name)])]"""
    return files_v1(r.sections[FILE]) if FILE in r.sections else files_v2(r.sections.get(FILE2, b""))


def maps_of(r):
    """{path: [(start, end, pgoff, prot)]} of MMAP and MMAP2 records, whatever process and time they are of."""
    out, at = {}, 0
    while at < len(r.data):
        kind, _, n = struct.unpack_from("<IHH", r.data, at)
        if kind in (1, 10):
            start, size, pgoff = struct.unpack_from("<3Q", r.data, at + 16)
            prot = struct.unpack_from("<I", r.data, at + 64)[0] if kind == 10 else 4
            path = take_cstr(r.data, at + (72 if kind == 10 else 40))[0].decode()
            out.setdefault(path, []).append((start, start + size, pgoff, prot))
        at += n
    return out


def names_at(ip, maps, files):
    """All names that the symbols of a file give an address; maps and files are those of one path."""
    out = set()
    for _, kind, low, off, symbols in files:
        base, delta = base_of(kind, low, off)
        for start, end, pgoff, prot in maps if base != "ip" else [(0, 1 << 64, 0, 0)]:
            if not start <= ip < end:
                continue
            addr = ip if base == "ip" or prot & 1 << 14 else ip - start + delta + (pgoff if base == "off" else 0)
            addr &= (1 << 64) - 1
            out |= {name for s, n, name in symbols if s <= addr < s + n}
    return out

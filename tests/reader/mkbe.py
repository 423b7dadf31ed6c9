#!/usr/bin/env python3
"""mkbe.py IN OUT - the big-endian twin of a little-endian perf.data (file or pipe form).

Writes what perf on a big-endian machine would have written for the same run: every field swapped
by its type, bit fields of attr and branch flags laid out from the other end, and bytes that have
no order of their own (strings, build ids, stack copies, raw payloads) left alone. Layouts are those
of include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.
Compressed recordings come out uncompressed. Fails on what it does not know: no silent half twin.
"""
import ctypes
import ctypes.util
import struct
import sys

MAGIC = b"PERFILE2"


class Unknown(Exception):
    pass


class Swap:
    """A cursor over the bytes of one region that swaps in place and returns the values read."""

    def __init__(self, data, pos, end):
        self.data, self.pos, self.end = data, pos, end

    def left(self):
        return self.end - self.pos

    def skip(self, n):
        if n > self.left():
            raise Unknown(f"{n} bytes wanted, {self.left()} left")
        self.pos += n
        return self.pos - n

    def num(self, fmt):
        n = struct.calcsize("<" + fmt)
        at = self.skip(n)
        v = struct.unpack_from("<" + fmt, self.data, at)[0]
        struct.pack_into(">" + fmt, self.data, at, v)
        return v

    def u16(self, n=1):
        return [self.num("H") for _ in range(n)][-1] if n else 0

    def u32(self, n=1):
        return [self.num("I") for _ in range(n)][-1] if n else 0

    def u64(self, n=1):
        if n == 1:
            return self.num("Q")
        at = self.skip(8 * n)
        v = struct.unpack_from(f"<{n}Q", self.data, at)
        struct.pack_into(f">{n}Q", self.data, at, *v)
        return v

    def bits(self, widths, size=8):
        """A bit field word: fields in order of declaration, lowest bit first on little-endian."""
        at, v, out, low = self.skip(size), 0, 0, 0
        v = int.from_bytes(self.data[at:at + size], "little")
        for w in widths + [size * 8 - sum(widths)]:
            field = v >> low & (1 << w) - 1
            low += w
            out |= field << size * 8 - low
        self.data[at:at + size] = out.to_bytes(size, "big")

    def cstr(self):
        """A string padded to 8 inside a record."""
        nul = self.data.index(0, self.pos, self.end)
        self.skip((nul + 1 - self.pos + 7) // 8 * 8)

    def string(self):
        """perf_header_string of features."""
        self.skip(self.u32())


# ---- attributes

ATTR_FLAGS = [1] * 15 + [2]  # precise_ip is the only one with two bits; the rest have one each
ATTR_FLAGS += [1] * (64 - sum(ATTR_FLAGS))
TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW, BRANCH, REGS, STACK, WEIGHT, SRC, \
    IDENT, TXN, INTR, PHYS, AUX, CGROUP, DPS, CPS, WSTRUCT = (1 << i for i in range(1, 25))
IP = 1
SAMPLE_ID_ALL = 1 << 18


class Attr:
    def __init__(self, s, size):
        """Swaps the attr of `size` bytes and keeps what its samples need."""
        at, b = s.pos, bytes(s.data[s.pos:s.pos + size]).ljust(160, b"\0")
        end = at + size
        self.sample_type, self.read_format, self.flags = struct.unpack_from("<3Q", b, 24)
        self.branch, self.regs_user = struct.unpack_from("<2Q", b, 72)
        self.regs_intr = struct.unpack_from("<Q", b, 96)[0]
        s.u32(2)
        s.u64(4)
        s.bits(ATTR_FLAGS)
        s.u32(2)
        for off, what in ((56, "Q"), (64, "Q"), (72, "Q"), (80, "Q"), (88, "I"), (92, "I"),
                          (96, "Q"), (104, "I"), (108, "H"), (110, "H"), (112, "I"), (116, "bits"),
                          (120, "Q"), (128, "Q"), (136, "Q")):
            if at + off < end:
                assert s.pos == at + off
                s.bits([1] * 32, 4) if what == "bits" else s.num(what)
        if s.pos > end:
            raise Unknown("attr size")
        s.skip(end - s.pos)

    def trailer(self):
        t = self.sample_type
        return "".join(c for bit, c in ((TID, "d"), (TIME, "q"), (ID, "q"), (STREAM, "q"),
                                        (CPU, "d"), (IDENT, "q")) if t & bit)


def pairs_or_words(s, layout):
    for c in layout:
        s.u32(2) if c == "d" else s.u64()


# ---- samples

def swap_regs(s, mask):
    if s.u64():
        s.u64(bin(mask).count("1"))


def swap_read(s, fmt):
    extra = sum(1 for bit in (4, 16) if fmt & bit)  # per value: ID, LOST
    times = sum(1 for bit in (1, 2) if fmt & bit)
    if fmt & 8:
        s.u64(times + (1 + extra) * s.u64())
    else:
        s.u64(1 + times + extra)


def swap_branches(s, a):
    nr = s.u64()
    if a.branch & 1 << 17:
        s.u64()
    for _ in range(nr):
        s.u64(2)
        s.bits([1, 1, 1, 1, 16, 4, 2, 4, 3])
    if a.branch & 1 << 19:
        s.u64(nr)


def swap_sample(s, a):
    t = a.sample_type
    if t >> 25:
        raise Unknown("sample_type")
    for bit, c in ((IDENT, "q"), (IP, "q"), (TID, "d"), (TIME, "q"), (ADDR, "q"), (ID, "q"),
                   (STREAM, "q"), (CPU, "d"), (PERIOD, "q")):
        if t & bit:
            pairs_or_words(s, c)
    if t & READ:
        swap_read(s, a.read_format)
    if t & CALLCHAIN:
        s.u64(s.u64())
    if t & RAW:
        s.skip(s.u32())
    if t & BRANCH:
        swap_branches(s, a)
    if t & REGS:
        swap_regs(s, a.regs_user)
    if t & STACK:
        n = s.u64()
        s.skip(n)
        if n:
            s.u64()
    s.u64(bool(t & (WEIGHT | WSTRUCT)) + bool(t & SRC) + bool(t & TXN))
    if t & INTR:
        swap_regs(s, a.regs_intr)
    s.u64(sum(1 for bit in (PHYS, CGROUP, DPS, CPS) if t & bit))
    if t & AUX:
        s.skip(s.u64())


# ---- other records: body(s, misc); what is left behind it is the sample_id trailer

def holds_build_id(union):
    """The flag alone does not tell: beside a recorder that asks for build ids kernels set it for others' devices and inodes, too
    (test_mmap2_flag.py). Size, 3 zero bytes, the id, zeros."""
    return union[0] in (16, 20) and not any(union[1:4]) and not any(union[4 + union[0]:])


def body_mmap2(s, misc):
    s.u32(2)
    s.u64(3)
    if misc & 1 << 14 and holds_build_id(s.data[s.pos:s.pos + 24]):
        s.skip(24)
    else:
        s.u32(2)
        s.u64(2)
    # Kernels before 3.16 wrote no prot (at most 7) and flags: the name is in that place.
    if struct.unpack_from("<I", s.data, s.pos)[0] <= 7:
        s.u32(2)
    s.cstr()


def seq(*steps):
    def run(s, misc):
        for name, *args in steps:
            getattr(s, name)(*args)
    return run


def body_namespaces(s, misc):
    s.u32(2)
    s.u64(2 * s.u64())


def body_ksymbol(s, misc):
    s.u64()
    s.u32()
    s.u16(2)
    s.cstr()


def body_text_poke(s, misc):
    s.u64()
    n = s.u16() + s.u16()
    s.skip((12 + n + 7) // 8 * 8 - 12)


KERNEL_BODY = {
    1: seq(("u32", 2), ("u64", 3), ("cstr",)),
    2: seq(("u64", 2)),
    3: seq(("u32", 2), ("cstr",)),
    4: seq(("u32", 4), ("u64",)),
    5: seq(("u64", 3)),
    6: seq(("u64", 3)),
    7: seq(("u32", 4), ("u64",)),
    10: body_mmap2,
    11: seq(("u64", 3)),
    12: seq(("u32", 2)),
    13: seq(("u64",)),
    14: seq(),
    15: seq(("u32", 2)),
    16: body_namespaces,
    17: body_ksymbol,
    18: seq(("u16", 2), ("u32",), ("skip", 8)),
    19: seq(("u64",), ("cstr",)),
    20: body_text_poke,
    21: seq(("u64",)),
    22: lambda s, misc: (s.u64(), s.u64(s.u64())),
}


def cpu_map(s):
    kind = s.u16()
    if kind == 0:
        s.u16(s.u16())
    elif kind == 1:
        nr, size = s.u16(), s.u16()
        if size == 8 and s.left() >= 4 + 8 * nr:
            s.skip(4)
        for _ in range(nr):
            s.num("Q" if size == 8 else "I")
    else:
        s.skip(2)
        s.u16(2)
    s.skip(s.left())


def event_update(s, misc):
    kind = s.u64()
    s.u64()
    if kind == 1:
        s.u64()
    elif kind == 3:
        cpu_map(s)
    s.skip(s.left())


def time_conv(s, misc):
    s.u64(3)
    if s.left() >= 24:
        s.u64(2)
    s.skip(s.left())


def thread_map(s, misc):
    for _ in range(s.u64()):
        s.u64()
        s.skip(16)


def all_u64(s, misc=0):
    s.u64(s.left() // 8)


USER_BODY = {
    65: lambda s, misc: (s.u64(), s.skip(s.left())),
    67: seq(("u32",), ("skip", 24)),
    68: seq(),
    69: all_u64,
    70: lambda s, misc: (s.u32(2), all_u64(s)),
    73: thread_map,
    74: lambda s, misc: cpu_map(s),
    75: all_u64,
    76: seq(("u64",), ("u32", 2), ("u64", 3)),
    77: all_u64,
    78: event_update,
    79: time_conv,
    82: seq(),
}


# ---- features

def strings(s):
    for _ in range(s.u32()):
        s.string()


def event_desc(s):
    nr, size = s.u32(), s.u32()
    for _ in range(nr):
        Attr(s, size)
        ids = s.u32()
        s.string()
        s.u64(ids)


def build_ids(s):
    while s.left() >= 8:
        at = s.pos
        s.u32()
        s.u16()
        size = s.u16()
        s.u32()
        s.skip(size - (s.pos - at))


def cpu_topology(s, n_cpus):
    strings(s)
    strings(s)
    if s.left() >= 8 * n_cpus:  # not before perf 3.9
        s.u32(2 * n_cpus)
    if s.left():  # dies: not before perf 5.3
        strings(s)
        s.u32(s.left() // 4)


def table(*row):
    def run(s):
        for _ in range(s.u32()):
            for step in row:
                getattr(s, step)()
    return run


def cache(s):
    s.u32()
    for _ in range(s.u32()):
        s.u32(4)
        for _ in range(3):
            s.string()


def pmu_caps(s):
    for _ in range(s.u32()):
        table("string", "string")(s)
        s.string()


def bpf_prog_info(s):
    for _ in range(s.u32()):
        info, data = s.u32(), s.u32()
        s.u64()
        s.skip(info + data)


def bpf_btf(s):
    for _ in range(s.u32()):
        s.u32()
        s.skip(s.u32())


FEATURES = {
    1: lambda s: s.skip(s.left()),  # says its own byte order
    2: build_ids, 3: Swap.string, 4: Swap.string, 5: Swap.string, 6: Swap.string,
    7: lambda s: s.u32(2), 8: Swap.string, 9: Swap.string, 10: Swap.u64, 11: strings,
    12: event_desc, 14: table("u32", "u64", "u64", "string"), 15: lambda s: None,
    16: table("u32", "string"), 17: table("string", "u32", "u32"), 18: all_u64,
    19: lambda s: None, 20: cache, 21: all_u64, 22: all_u64, 23: all_u64, 24: all_u64,
    25: bpf_prog_info, 26: bpf_btf, 27: lambda s: s.u32(5), 28: table("string", "string"),
    29: lambda s: (s.u32(2), s.u64(2)), 30: table("string", "string"), 31: pmu_caps,
    33: lambda s: s.u32(2), 34: lambda s: s.u32(),
}


def swap_feature(s, bit, n_cpus):
    if bit == 13:
        cpu_topology(s, n_cpus)
    elif bit in FEATURES:
        if s.left():  # perf leaves some empty that it could not fill
            FEATURES[bit](s)
    else:
        raise Unknown(f"feature {bit}")


# ---- streams of records

class Inflater:
    """One zstd stream, fed piece by piece (libzstd's ZSTD_decompressStream)."""

    class Buf(ctypes.Structure):
        _fields_ = [("ptr", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        for name in "ZSTD_createDStream", "ZSTD_decompressStream":
            getattr(self.lib, name).restype = ctypes.c_size_t
        self.lib.ZSTD_createDStream.restype = ctypes.c_void_p
        self.stream = ctypes.c_void_p(self.lib.ZSTD_createDStream())

    def feed(self, piece):
        out, room = b"", ctypes.create_string_buffer(1 << 20)
        src = ctypes.create_string_buffer(bytes(piece), len(piece))
        i = self.Buf(ctypes.cast(src, ctypes.c_void_p), len(piece), 0)
        while True:
            o = self.Buf(ctypes.cast(room, ctypes.c_void_p), len(room), 0)
            rc = self.lib.ZSTD_decompressStream(self.stream, ctypes.byref(o), ctypes.byref(i))
            if self.lib.ZSTD_isError(ctypes.c_size_t(rc)):
                raise Unknown("zstd")
            out += room.raw[:o.pos]
            if i.pos == i.size and o.pos < o.size:
                return out


class Records:
    """Swaps records; knows the events, so far as they were told."""

    def __init__(self, attrs):
        self.attrs = attrs  # [(Attr, ids)]
        self.by_id = {i: a for a, ids in attrs for i in ids}
        self.n_cpus = 0

    def attr_of(self, data, at, end, sample):
        """By IDENTIFIER, by ID at its place, or the only one there can be."""
        a = self.attrs[0][0]
        if len({x.sample_type for x, _ in self.attrs}) == 1 and len(self.by_id) < 2:
            return a
        if all(x.sample_type & IDENT for x, _ in self.attrs):
            where = at if sample else end - 8
        elif not sample or not a.sample_type & ID:
            return a
        else:
            where = at + 8 * sum(1 for b in (IP, TID, TIME, ADDR) if a.sample_type & b)
        return self.by_id.get(struct.unpack_from("<Q", data, where)[0], a)

    def header_attr(self, s):
        size = struct.unpack_from("<I", s.data, s.pos + 4)[0] or 64
        a = Attr(s, size)
        n = s.left() // 8
        ids = struct.unpack_from(f"<{n}Q", s.data, s.pos)
        s.u64(n)
        self.attrs.append((a, ids))
        self.by_id.update({i: a for i in ids})

    def feature(self, s, size):
        bit = s.u64()
        if size == 16:
            return  # the mark of the end
        if bit == 7:
            self.n_cpus = struct.unpack_from("<I", s.data, s.pos)[0]
        swap_feature(s, bit, self.n_cpus)
        s.skip(s.left())  # padding

    def kernel(self, s, kind, misc):
        a = self.attr_of(s.data, s.pos, s.end, False)
        if kind == 8:
            s.u32(2)
            swap_read(s, a.read_format)
        else:
            KERNEL_BODY[kind](s, misc)
        if s.left() >= 8 * len(a.trailer()):  # perf's own records may come without one
            s.skip(s.left() - 8 * len(a.trailer()))  # old perf pads strings with what was there
            pairs_or_words(s, a.trailer())

    def one(self, data, at, end):
        """Swaps the record at `at`; returns where the next one begins."""
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        if size < 8 or at + size > end:
            raise Unknown(f"record size {size} at {at}")
        head = Swap(data, at, at + 8)
        head.u32()
        head.u16(2)
        s, more = Swap(data, at + 8, at + size), 0
        if kind == 9:
            swap_sample(s, self.attr_of(data, s.pos, s.end, True))
        elif kind == 64:
            self.header_attr(s)
        elif kind == 66:
            more = s.u32()
            s.skip(s.left())
        elif kind == 71:
            more = struct.unpack_from("<Q", data, s.pos)[0]
            s.u64(3)
            s.u32(s.left() // 4)
        elif kind == 72:
            s.u32(6)
            s.skip(s.left()) if s.left() < 80 else (s.u64(2), s.skip(64), s.u32(s.left() // 4))
        elif kind == 80:
            self.feature(s, size)
        elif kind in USER_BODY:
            USER_BODY[kind](s, misc)
            s.skip(s.left() if kind == 67 else 0)
        elif kind in KERNEL_BODY or kind == 8:
            self.kernel(s, kind, misc)
        else:
            raise Unknown(f"record type {kind}")
        if s.left():
            raise Unknown(f"record type {kind} at {at}: {s.left()} bytes left over")
        return at + size + more


def inflate(data, at, end):
    """The records in [at, end) with compressed ones replaced by their contents."""
    z, out, rest = Inflater(), bytearray(), b""
    while at + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8:
            raise Unknown(f"record size {size} at {at}")
        if kind not in (81, 83):
            more = 0
            if kind == 66:
                more = struct.unpack_from("<I", data, at + 8)[0]
            elif kind == 71:
                more = struct.unpack_from("<Q", data, at + 8)[0]
            out += data[at:at + size + more]
            at += size + more
            continue
        skip = 16 if kind == 83 else 8
        n = struct.unpack_from("<Q", data, at + 8)[0] if kind == 83 else size - 8
        rest += z.feed(data[at + skip:at + skip + n])
        at += size
        pos = 0
        while len(rest) - pos >= 8:
            n = struct.unpack_from("<IHH", rest, pos)[2]
            if n < 8 or pos + n > len(rest):
                break
            pos += n
        out += rest[:pos]
        rest = rest[pos:]
    return out


# ---- files

def swap_all(records, data):
    at = 0
    while at < len(data):
        at = records.one(data, at, len(data))
    return data


def convert_pipe(data):
    out = bytearray(data[:16])
    Swap(out, 0, 16).u64(2)
    return out + swap_all(Records([]), inflate(data, 16, len(data)))


def convert_file(data):
    _, size, stride, attrs_off, attrs_size, off, n = struct.unpack_from("<7Q", data, 0)
    bits = [b for b in range(256) if data[72 + b // 8] >> b % 8 & 1]
    records = inflate(data, off, off + n)
    grown = len(records) - n
    table_at = off + n
    sections = [struct.unpack_from("<2Q", data, table_at + 16 * i) for i in range(len(bits))]
    attrs = []
    s = Swap(data, attrs_off, attrs_off + attrs_size)
    while s.left() >= stride:
        a = Attr(s, stride - 16)
        ids_off, ids_size = struct.unpack_from("<2Q", data, s.pos)
        s.u64(2)
        ids = struct.unpack_from(f"<{ids_size // 8}Q", data, ids_off)
        Swap(data, ids_off, ids_off + ids_size).u64(len(ids))
        attrs.append((a, ids))
    n_cpus = 0
    for bit, (at, length) in zip(bits, sections):
        if bit == 7:
            n_cpus = struct.unpack_from("<I", data, at)[0]
        swap_feature(Swap(data, at, at + length), bit, n_cpus)
    types_off, types_size = struct.unpack_from("<2Q", data, 56)
    for at in range(types_off, types_off + types_size - 71, 72):  # u64 config, char name[64]
        Swap(data, at, at + 8).u64()
    head = Swap(data, 0, size)
    head.u64(size // 8)
    struct.pack_into(">Q", data, 48, len(records))
    if 27 in bits and grown:  # no longer compressed; its section stays, unused
        data[72 + (7 - 27 // 8)] &= ~(1 << 27 % 8)
        keep = [i for i, b in enumerate(bits) if b != 27]
    else:
        keep = range(len(bits))
    moved = b"".join(struct.pack(">2Q", sections[i][0] + grown, sections[i][1]) for i in keep)
    moved = moved.ljust(16 * len(bits), b"\0")
    return (data[:off] + swap_all(Records(attrs), records) + moved +
            data[table_at + len(moved):])


def convert(data):
    data = bytearray(data)
    if data[:8] != MAGIC:
        raise Unknown("not a little-endian perf.data")
    size = struct.unpack_from("<Q", data, 8)[0]
    return convert_pipe(data) if size == 16 else convert_file(data)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as src:
        twin = convert(src.read())
    with open(sys.argv[2], "wb") as dst:
        dst.write(twin)

"""perfdata.py - a second, independent reader of what capture writes, for the tests.

Walks a file-mode perf.data by tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h; zstd through ctypes. Strict: anything odd raises.
"""
import collections
import ctypes
import ctypes.util
import struct

MMAP, LOST, COMM, EXIT, THROTTLE, FORK, SAMPLE = 1, 2, 3, 4, 5, 7, 9
MMAP2, LOST_SAMPLES, FINISHED_ROUND, HEADER_FEATURE, COMPRESSED = 10, 13, 68, 80, 81
S_IP, S_TID, S_TIME, S_CALLCHAIN, S_CPU, S_PERIOD, S_RAW = 1, 2, 4, 32, 128, 256, 1024
S_REGS, S_STACK, S_IDENTIFIER = 4096, 8192, 65536
MISC_DATA, MISC_EXEC, MISC_BUILD_ID = 1 << 13, 1 << 13, 1 << 14

Record = collections.namedtuple("Record", "type misc body round")
Sample = collections.namedtuple("Sample", "id ip pid tid time cpu period chain abi regs stack dyn event")
Map = collections.namedtuple("Map", "pid tid start size pgoff build_id ino prot flags path misc time")


class Zstd:
    """One decompression stream, as all COMPRESSED records of a file form one frame."""

    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd"))
        self.lib.ZSTD_createDStream.restype = ctypes.c_void_p
        self.lib.ZSTD_decompressStream.restype = ctypes.c_size_t
        self.lib.ZSTD_decompressStream.argtypes = [ctypes.c_void_p] * 3
        self.stream = self.lib.ZSTD_createDStream()

    def feed(self, data):
        """Exactly what one record holds; the reader's buffer is as large as the feature says."""
        out = ctypes.create_string_buffer(65536)
        src = self.Buffer(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data), 0)
        dst = self.Buffer(ctypes.addressof(out), len(out), 0)
        rc = self.lib.ZSTD_decompressStream(self.stream, ctypes.byref(dst), ctypes.byref(src))
        assert not self.lib.ZSTD_isError(ctypes.c_size_t(rc)), "damaged zstd data"
        assert src.pos == len(data), "a record decompresses to more than 65536 bytes"
        assert dst.pos > 0, "a record decompresses to nothing"
        return out.raw[:dst.pos]


def cstr(data):
    return data[:data.index(0)].decode(errors="replace")


class PerfData:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.raw = f.read()
        head = struct.unpack_from("<8s10Q", self.raw)
        assert head[0] == b"PERFILE2" and head[1] == 104, head
        self.attr_stride, self.attrs_at, self.attrs_size, self.data_at, self.data_size = head[2:7]
        self.bits = int.from_bytes(self.raw[72:104], "little")
        self.read_attrs()
        self.read_features()
        self.records = list(self.walk())
        assert all(len(r.body) % 8 == 0 for r in self.records if r.type < 64)

    def read_attrs(self):
        self.attrs, self.event_of = [], {}
        for at in range(self.attrs_at, self.attrs_at + self.attrs_size, self.attr_stride):
            a = dict(zip("type size config period sample_type read_format flags".split(),
                         struct.unpack_from("<IIQQQQQ", self.raw, at)))
            a["regs"], a["stack"] = struct.unpack_from("<QI", self.raw, at + 80)
            assert a["size"] == self.attr_stride - 16
            ids_at, ids_size = struct.unpack_from("<QQ", self.raw, at + a["size"])
            a["ids"] = struct.unpack_from(f"<{ids_size // 8}Q", self.raw, ids_at)
            self.event_of.update({i: len(self.attrs) for i in a["ids"]})
            self.attrs.append(a)

    def read_features(self):
        at, self.features = self.data_at + self.data_size, {}
        bits = [b for b in range(256) if self.bits >> b & 1]
        for i, b in enumerate(bits):
            off, size = struct.unpack_from("<QQ", self.raw, at + 16 * i)
            assert off + size <= len(self.raw), "feature beyond the file"
            self.features[b] = self.raw[off:off + size]

    def string(self, bit):
        return cstr(self.features[bit][4:])

    def walk(self):
        """All records in file order, decompressed; FINISHED_ROUND counts the rounds."""
        at, end, left, zstd, nr = self.data_at, self.data_at + self.data_size, b"", None, 0
        assert end <= len(self.raw), "data beyond the file"
        while at < end:
            kind, misc, size = struct.unpack_from("<IHH", self.raw, at)
            assert size >= 8 and at + size <= end, f"record of {size} bytes at {at:#x}"
            body = self.raw[at + 8:at + size]
            at += size
            if kind == COMPRESSED:
                zstd = zstd or Zstd()
                left += zstd.feed(body)
                pos = 0
                while len(left) - pos >= 8:
                    k, m, s = struct.unpack_from("<IHH", left, pos)
                    assert s >= 8
                    if len(left) - pos < s:
                        break
                    yield Record(k, m, left[pos + 8:pos + s], nr)
                    pos += s
                left = left[pos:]
                continue
            yield Record(kind, misc, body, nr)
            if kind == FINISHED_ROUND:
                nr += 1
        assert not left, "the data end inside a record"

    def samples(self):
        for r in self.records:
            if r.type == SAMPLE:
                yield self.sample(r.body)

    def sample(self, b):
        (ident,) = struct.unpack_from("<Q", b)
        a = self.attrs[self.event_of[ident]]
        ip, pid, tid, time, cpu, _, period = struct.unpack_from("<QIIQIIQ", b, 8)
        at, chain, abi, regs, stack, dyn = 48, (), 0, (), b"", None
        if a["sample_type"] & S_CALLCHAIN:
            (n,) = struct.unpack_from("<Q", b, at)
            chain = struct.unpack_from(f"<{n}Q", b, at + 8)
            at += 8 + 8 * n
        if a["sample_type"] & S_RAW:
            at += 4 + struct.unpack_from("<I", b, at)[0]
        if a["sample_type"] & S_REGS:
            (abi,) = struct.unpack_from("<Q", b, at)
            n = bin(a["regs"]).count("1") if abi else 0
            regs = struct.unpack_from(f"<{n}Q", b, at + 8)
            at += 8 + 8 * n
        if a["sample_type"] & S_STACK:
            (n,) = struct.unpack_from("<Q", b, at)
            stack = b[at + 8:at + 8 + n]
            at += 8 + n
            if n:
                (dyn,) = struct.unpack_from("<Q", b, at)
                at += 8
                assert dyn <= n
        assert at == len(b), f"sample of {len(b)} bytes parsed to {at}"
        return Sample(ident, ip, pid, tid, time, cpu, period, chain, abi, regs, stack, dyn,
                      self.event_of[ident])

    def time(self, r):
        """Of any record: the sample_id trailer is TID, TIME, CPU, IDENTIFIER."""
        if r.type == SAMPLE:
            return struct.unpack_from("<Q", r.body, 24)[0]
        return struct.unpack_from("<Q", r.body, len(r.body) - 24)[0] if r.type < 64 else 0

    def maps(self):
        for r in self.records:
            if r.type != MMAP2:
                continue
            pid, tid, start, size, pgoff = struct.unpack_from("<iIQQQ", r.body)
            prot, flags = struct.unpack_from("<II", r.body, 56)
            build_id = ino = None
            if r.misc & MISC_BUILD_ID:
                build_id = r.body[36:36 + r.body[32]].hex()
            else:
                ino = struct.unpack_from("<Q", r.body, 40)[0]
            yield Map(pid, tid, start, size, pgoff, build_id, ino, prot, flags,
                      cstr(r.body[64:]), r.misc, self.time(r))

    def comms(self):
        """(pid, tid, name, is_exec)"""
        for r in self.records:
            if r.type == COMM:
                pid, tid = struct.unpack_from("<II", r.body)
                yield pid, tid, cstr(r.body[8:]), bool(r.misc & MISC_EXEC)

    def tasks(self, kind):
        """(pid, ppid, tid, ptid) of FORK or EXIT."""
        return [struct.unpack_from("<IIII", r.body) for r in self.records if r.type == kind]

    def lost(self):
        """(told by LOST, told by LOST_SAMPLES)"""
        return (sum(struct.unpack_from("<Q", r.body, 8)[0] for r in self.records if r.type == LOST),
                sum(struct.unpack_from("<Q", r.body)[0] for r in self.records if r.type == LOST_SAMPLES))

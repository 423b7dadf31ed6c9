"""perfwrite.py - writes a perf.data of one process as `perf record --call-graph dwarf` on another CPU would.

By tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h.
"""
import struct

from perffile import ARCH, OSRELEASE, padded, perf_data, string

MMAP2, COMM, SAMPLE = 10, 3, 9
MISC_USER, MISC_BUILD_ID = 2, 1 << 14
IP, TID, TIME, CALLCHAIN, PERIOD, REGS_USER, STACK_USER = 1, 2, 4, 32, 256, 4096, 8192
ABI_32, ABI_64 = 1, 2
FLAGS = 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23  # mmap, comm, sample_id_all, mmap2
PROT = {"r": 1, "w": 2, "x": 4}


class PerfWriter:
    def __init__(self, arch, abi, regs_mask, stack_bytes, pid=100, os_release="5.10.0", monotonic=False):
        self.arch, self.abi, self.regs_mask, self.stack_bytes = arch, abi, regs_mask, stack_bytes
        self.pid, self.os_release, self.time, self.data = pid, os_release, 1000, []
        self.monotonic = monotonic  # times are of CLOCK_MONOTONIC
        self.features = {}  # by bit

    def record(self, kind, misc, body):
        self.data.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def id_all(self):
        return struct.pack("<IIQ", self.pid, self.pid, self.time)

    def comm(self, name):
        self.record(COMM, 1 << 13, struct.pack("<II", self.pid, self.pid) + padded(name, 8) + self.id_all())

    def mmap(self, start, end, pgoff, perms, path, build_id=None):
        """perms as in /proc/PID/maps; build_id in hex."""
        raw = bytes.fromhex(build_id or "")
        ident = struct.pack("<B3x20s", len(raw), raw) if raw else struct.pack("<IIQQ", 8, 1, 1 if path[0] == "/" else 0, 0)
        body = struct.pack("<iIQQQ", self.pid, self.pid, start, end - start, pgoff) + ident
        body += struct.pack("<II", sum(PROT.get(c, 0) for c in perms), 2)
        self.record(MMAP2, MISC_USER | (MISC_BUILD_ID if raw else 0), body + padded(path, 8) + self.id_all())

    def sample(self, ip, regs, stack):
        """regs in the order of the mask's bits. Less stack than asked for: the rest of the dump is zero."""
        self.time += 1000
        body = struct.pack("<QIIQQQ", ip, self.pid, self.pid, self.time, 1, 0)
        body += struct.pack(f"<Q{len(regs)}Q", self.abi, *regs)
        stack = stack[:self.stack_bytes]
        body += struct.pack("<Q", self.stack_bytes) + stack + bytes(self.stack_bytes - len(stack))
        self.record(SAMPLE, MISC_USER, body + struct.pack("<Q", len(stack)))

    def write(self, path, more=None):
        """`more`: features by bit."""
        attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1, IP | TID | TIME | CALLCHAIN | PERIOD | REGS_USER | STACK_USER, 0,
                           FLAGS | (1 << 25 if self.monotonic else 0))
        attr = (attr + bytes(80 - len(attr)) + struct.pack("<QIi", self.regs_mask, self.stack_bytes, self.monotonic)).ljust(112, b"\0")
        # Of period and sample_type as declared: the sample above is IP TID TIME PERIOD, CALLCHAIN with no entries.
        with open(path, "wb") as f:
            f.write(perf_data(attr, b"".join(self.data), {OSRELEASE: string(self.os_release), ARCH: string(self.arch), **self.features, **(more or {})}))

"""perfsynth.py - writes a perf.data record by record, for what cannot be recorded here at will: code at chosen
addresses, chosen times, other kernels, guests.

By tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h.
"""
import gzip
import struct

from perffile import ARCH, OSRELEASE, padded, perf_data, string

MMAP, COMM, EXIT, FORK, SAMPLE, MMAP2, KSYMBOL, CGROUP = 1, 3, 4, 7, 9, 10, 17, 19
KERNEL, USER, HYPERVISOR, GUEST_KERNEL, GUEST_USER = 1, 2, 3, 4, 5  # cpumode
COMM_EXEC, BUILD_ID_IN_MMAP2 = 1 << 13, 1 << 14
IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IN_CGROUP = 1, 2, 4, 32, 128, 256, 1 << 21
BUILD_ID, HOSTNAME, CLOCK_DATA = 2, 3, 29  # header features
CLOCK_MONOTONIC = 1
RUNTIME_CODE_MAGIC = 0x43525355
CHAIN_KERNEL, CHAIN_USER = 2**64 - 128, 2**64 - 512


class Recording:
    """Records are written in the order of the calls; all share the sample's trailer of TID and TIME."""

    def __init__(self, monotonic=False, callchain=True, arch="x86_64", os_release="5.10.0"):
        self.sample_type = IP | TID | TIME | PERIOD | (CALLCHAIN if callchain else 0)
        self.monotonic, self.arch, self.os_release = monotonic, arch, os_release
        self.data, self.build_ids = [], []

    def record(self, kind, misc, body, trailer=None):
        if trailer:
            body += struct.pack("<iiQ", *trailer)
        self.data.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def comm(self, pid, name, time, tid=None, exec=False):
        tid = tid or pid
        self.record(COMM, COMM_EXEC if exec else 0, struct.pack("<ii", pid, tid) + padded(name, 8), (pid, tid, time))

    def fork(self, pid, ppid, time, tid=None, ptid=None):
        self.record(FORK, 0, struct.pack("<iiiiQ", pid, ppid, tid or pid, ptid or ppid, time), (pid, tid or pid, time))

    def exit(self, pid, ppid, time):
        self.record(EXIT, 0, struct.pack("<iiiiQ", pid, ppid, pid, ppid, time), (pid, pid, time))

    def mmap2(self, pid, start, size, pgoff, path, time, misc=USER, prot=5, build_id=None, inode=(0, 0, 0)):
        ident = struct.pack("<B3x20s", len(build_id), build_id) if build_id else struct.pack("<IIQQ", *inode, 0)
        misc |= BUILD_ID_IN_MMAP2 if build_id else 0
        body = struct.pack("<iiQQQ", pid, pid, start, size, pgoff) + ident + struct.pack("<II", prot, 2)
        self.record(MMAP2, misc, body + padded(path, 8), (pid, pid, time))

    def mmap(self, pid, start, size, pgoff, path, time, misc=KERNEL):
        self.record(MMAP, misc, struct.pack("<iiQQQ", pid, 0, start, size, pgoff) + padded(path, 8), (pid, 0, time))

    def ksymbol(self, addr, size, name, time, unregister=False, kind=1):
        body = struct.pack("<QIHH", addr, size, kind, 1 if unregister else 0)
        self.record(KSYMBOL, 0, body + padded(name, 8), (0, 0, time))

    def sample(self, pid, ip, time, chain=None, misc=USER, tid=None):
        body = struct.pack("<QiiQQ", ip, pid, tid or pid, time, 1)
        if self.sample_type & CALLCHAIN:
            chain = [ip] if chain is None else chain
            body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
        self.record(SAMPLE, misc, body)

    def build_id(self, misc, path, build_id, pid=-1):
        """An entry of the header's table; the size of the id is told in a byte behind it (misc bit 15)."""
        body = struct.pack("<i20sB3x", pid, build_id.ljust(20, b"\0"), len(build_id)) + padded(path, 64)
        self.build_ids.append(struct.pack("<IHH", 0, misc | 1 << 15, 8 + len(body)) + body)

    def write(self, path, more=None):
        """`more`: features by bit."""
        # mmap, comm, freq off, task, sample_id_all, mmap2, comm_exec, ksymbol
        flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23 | 1 << 24 | (1 << 25 if self.monotonic else 0) | 1 << 31
        attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1, self.sample_type, 0, flags).ljust(92, b"\0")
        attr = (attr + struct.pack("<i", CLOCK_MONOTONIC if self.monotonic else 0)).ljust(112, b"\0")
        features = {ARCH: string(self.arch), **(more or {})}
        if self.os_release:
            features[OSRELEASE] = string(self.os_release)
        if self.build_ids:
            features[BUILD_ID] = b"".join(self.build_ids)
        with open(path, "wb") as f:
            f.write(perf_data(attr, b"".join(self.data), features))
        return path


class Cgroups(Recording):
    """A recording as of perf record --all-cgroups."""

    def __init__(self):
        super().__init__(callchain=False)
        self.sample_type |= IN_CGROUP

    def cgroup(self, ident, path, time):
        self.record(CGROUP, 0, struct.pack("<Q", ident) + padded(path, 8), (0, 0, time))

    def sample_in(self, pid, ip, time, ident):
        self.record(SAMPLE, USER, struct.pack("<QiiQQQ", ip, pid, pid, time, 1, ident))


class Jitdump:
    """tools/perf/Documentation/jitdump-specification.txt, version 1."""

    def __init__(self, pid):
        self.pid, self.index = pid, 0
        self.data = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, pid, 0, 0)

    def record(self, kind, time, body):
        self.data += struct.pack("<IIQ", kind, 16 + len(body), time) + body

    def unwinding(self, time, eh_frame):
        """Of what is loaded next."""
        self.record(4, time, struct.pack("<QQQ", len(eh_frame) + 20, 20, 0) + eh_frame + bytes.fromhex("011b033b").ljust(20, b"\0"))

    def load(self, time, addr, size, name, code=b""):
        self.index += 1
        self.record(0, time, struct.pack("<IIQQQQ", self.pid, self.pid, addr, addr, size, self.index) + name.encode() + b"\0" +
                    code.ljust(size, b"\0"))

    def pages(self, time, addr, code):
        """Memory of which only the bytes are known (JIT_RECORD_BYTES of functions.h)."""
        self.record(0x5502, time, struct.pack("<Q", addr) + code.ljust(-(-len(code) // 4096) * 4096, b"\0"))

    def section(self):
        """As capture keeps it in a recording (FEATURE_RUNTIME_CODE of format.h)."""
        packed = gzip.compress(self.data)
        return struct.pack("<IIIIQQ", RUNTIME_CODE_MAGIC, 1, self.pid, 0, len(self.data), len(packed)) + packed

    def move(self, time, old, new, size):
        self.record(1, time, struct.pack("<IIQQQQQ", self.pid, self.pid, new, old, new, size, self.index))

    def lines(self, time, addr, rows):
        """rows: (address, line, file)"""
        body = struct.pack("<QQ", addr, len(rows))
        for at, line, file in rows:
            body += struct.pack("<QII", at, line, 0) + file.encode() + b"\0"
        self.record(2, time, body)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(self.data)
        return path

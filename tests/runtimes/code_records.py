"""code_records.py - the records with runtimes' code in a recording (reader/recorded_code.h): found, changed, written again."""
import struct

MAGIC = b"\xffRTCODE\xff"
HEADER_BYTES, BYTES_MIN, BYTES_MAX = 48, 80, 65528
FIELDS = ("version", "frame", "pid", "bytes", "packed", "at")


class Recording:
    """A file in parts: what stands before its records, these, and what stands behind them."""

    def __init__(self, path):
        with open(path, "rb") as f:
            b = f.read()
        self.is_pipe = struct.unpack_from("<Q", b, 8)[0] == 16
        at, size = (16, len(b) - 16) if self.is_pipe else struct.unpack_from("<QQ", b, 40)
        self.size, end = size, at + size
        self.front, self.tail, self.records = b[:at], b[end:], []
        while at < end:
            n = struct.unpack_from("<H", b, at + 6)[0]
            self.records.append(b[at:at + n])
            at += n

    def code(self):
        """Which records are pieces of frames or marks."""
        return [i for i, r in enumerate(self.records) if r[8:16] == MAGIC]

    def fields(self, i):
        return dict(zip(FIELDS, struct.unpack_from("<HHIQQQ", self.records[i], 16)))

    def set(self, i, **changes):
        values = {**self.fields(i), **changes}
        self.records[i] = self.records[i][:16] + struct.pack("<HHIQQQ", *(values[f] for f in FIELDS)) + self.records[i][HEADER_BYTES:]

    def payload(self, i):
        f = self.fields(i)
        return self.records[i][HEADER_BYTES:HEADER_BYTES + f["packed"] - f["at"]]

    def frame(self, frame, pid, n_bytes, packed):
        """Records of a frame."""
        made, kind = [], self.records[self.code()[0]][:4]
        for at in range(0, len(packed), BYTES_MAX - HEADER_BYTES):
            piece = packed[at:at + BYTES_MAX - HEADER_BYTES]
            size = max(BYTES_MIN, -(-(HEADER_BYTES + len(piece)) // 8) * 8)
            head = kind + struct.pack("<HH", 0, size) + MAGIC + struct.pack("<HHIQQQ", 1, frame, pid, n_bytes, len(packed), at)
            made.append((head + piece).ljust(size, b"\0"))
        return made

    def save(self, path, killed=False):
        """killed: as a recorder leaves it that cannot finish its header."""
        data = b"".join(self.records)
        front, tail = bytearray(self.front), bytearray(self.tail)
        if killed:
            front[48:56], front[72:104], tail = bytes(8), bytes(32), b""
        elif not self.is_pipe:
            struct.pack_into("<Q", front, 48, len(data))
            end = struct.unpack_from("<Q", front, 40)[0] + self.size
            for k in range(int.from_bytes(front[72:104], "little").bit_count()):
                off = struct.unpack_from("<Q", tail, 16 * k)[0]
                if off >= end:
                    struct.pack_into("<Q", tail, 16 * k, off + len(data) - self.size)
        with open(path, "wb") as f:
            f.write(bytes(front) + data + bytes(tail))

#!/usr/bin/env python3
"""repeat.py IN OUT MB - a recording whose samples repeat until it has MB: as many stacks, no more different ones.

Only SAMPLE records (and the ends of rounds) are repeated; their times go on from copy to copy, as if the program did
the same again. What must be known of the samples is where their time is: perf_event_open(2).

Maps of data are left out, as without `perf record --data`: at its end a program may take the right to run from its
code (node does), and all copies come after that.
"""
import struct
import sys

MMAP2, SAMPLE, FINISHED_ROUND = 10, 9, 68
PROT_EXEC, MMAP2_PROT_AT = 4, 64
IDENTIFIER, IP, TID, TIME = 1 << 16, 1, 2, 4


def sections(head):  # attrs, data: 'struct perf_file_header'
    return [struct.unpack_from("<QQ", head, at) for at in (24, 40)]


def main(path, out, megabytes):
    with open(path, "rb") as f:
        whole = f.read()
    (attrs, _), (start, size) = sections(whole)
    kind = struct.unpack_from("<Q", whole, attrs + 24)[0]
    assert kind & TIME
    time_at = 8 + 8 * (bool(kind & IDENTIFIER) + bool(kind & IP) + bool(kind & TID))
    records, data, spots, at = bytearray(), bytearray(), [], start
    first, last = 1 << 64, 0
    while at < start + size:
        kind, _, n = struct.unpack_from("<IHH", whole, at)
        if kind in (SAMPLE, FINISHED_ROUND):
            if kind == SAMPLE:
                spots.append(len(data) + time_at)
                t = struct.unpack_from("<Q", whole, at + time_at)[0]
                first, last = min(first, t), max(last, t)
            data += whole[at:at + n]
        if kind != MMAP2 or whole[at + MMAP2_PROT_AT] & PROT_EXEC:
            records += whole[at:at + n]
        at += n
    copies = max(0, (megabytes * 1000000 - len(whole)) // len(data))
    with open(out, "wb") as f:
        f.write(whole[:start] + records)
        for _ in range(copies):
            for s in spots:
                t = struct.unpack_from("<Q", data, s)[0]
                struct.pack_into("<Q", data, s, t + last - first + 1)
            f.write(data)
        end = f.tell()
        f.write(whole[start + size:])
        # The table of features and what it points to stand behind the data.
        f.seek(48)
        f.write(struct.pack("<Q", end - start))
        move_features(f, whole, start + size, end)
    print(f"{out}: {len(spots) * (copies + 1)} samples")


def move_features(f, whole, old, new):
    bits = bin(int.from_bytes(whole[72:104], "little")).count("1")
    for i in range(bits):
        off, size = struct.unpack_from("<QQ", whole, old + 16 * i)
        f.seek(new + 16 * i)
        f.write(struct.pack("<QQ", off + new - old, size))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

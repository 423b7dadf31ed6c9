#!/usr/bin/env python3
"""Seeds for fuzz_file.c and fuzz_pipe.c into the working directory: recordings that have many context switches in one record."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests"))
import packed_switches  # noqa: E402
import perffile  # noqa: E402

TRACEPOINT, IDENTIFIER_TID_TIME_CPU, SAMPLE_ID_ALL = 2, 1 << 16 | 1 << 1 | 1 << 2 | 1 << 7, 1 << 18
ATTR = struct.pack("<IIQQQQQ", TRACEPOINT, 88, 7, 1, IDENTIFIER_TID_TIME_CPU, 0, SAMPLE_ID_ALL).ljust(88, b"\0")
NAME = struct.pack("<IHHQ8s", packed_switches.EVENT_TYPE, 0, 24, 7, b"off-cpu")


def switch(i, wide):
    kind = packed_switches.SWITCH_CPU_WIDE if wide else packed_switches.SWITCH
    other = struct.pack("<II", 9, 9) if wide else b""
    return struct.pack("<IHH", kind, (i % 2) << 13, 40 + len(other)) + other + struct.pack("<IIQIIQ", 5 + i // 2 % 3, 5 + i // 2 % 3, 1000 + 300 * i, 0, 0, 10)


def mark(tid, cpu, out):
    """What capture writes of a pause or a cgroup's threads (reader/switch_marks.h)."""
    return struct.pack("<IHHIIQIIQ", packed_switches.SWITCH, out << 13, 40, tid, tid, 1000, cpu % (1 << 32), 0, 10)


def fork(tid, parent, time):
    return struct.pack("<IHHIIIIQIIQIIQ", 7, 0, 64, tid, parent, tid, parent, time, parent, parent, time, 0, 0, 10)


MARKS = mark(0, -1, 1) + mark(0, -1, 0) + mark(0, -2, 0) + mark(5, -2, 0) + fork(6, 5, 1500) + fork(7, 9, 1600)
for wide in (False, True):
    for follows in (False, True):
        records = NAME + MARKS + packed_switches.pack([switch(i, wide) for i in range(20)], follows) + mark(7, -2, 1)
        with open(f"switches-{wide}-{follows}.file", "wb") as f:
            f.write(perffile.perf_data(ATTR, records))
        with open(f"switches-{wide}-{follows}.pipe", "wb") as f:
            f.write(b"PERFILE2" + struct.pack("<QIHH", 16, 64, 0, 8 + len(ATTR) + 8) + ATTR + struct.pack("<Q", 10) + records)

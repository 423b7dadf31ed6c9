#!/usr/bin/env python3
"""MMAP2 records with fields that lie. The build-id flag: with another recorder on the machine, the kernel leaves the flag
set over device and inode numbers. Dropping such maps made every stack of a recording end at once."""
import os
import struct
import subprocess
import sys

from perffile import perf_data

MISC_BUILD_ID = 1 << 14
ATTR_BUILD_ID = 1 << 34
failed = 0


def record(type_, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body


def recording(union, attr_flags=0, misc=MISC_BUILD_ID, prot=5):
    """A file with one map that has `union` (24 bytes) and the flag, and one sample inside of it."""
    mmap2 = struct.pack("<IIQQQ", 7, 7, 0x1000, 0x1000, 0) + union + struct.pack("<II", prot, 2) + b"/lib/a.so\0"
    data = record(10, 2 | misc, mmap2)
    data += record(9, 2, struct.pack("<QIIQQ", 0x1010, 7, 7, 5, 1))
    # PERF_TYPE_SOFTWARE cpu-clock, sample_type IP|TID|TIME|PERIOD
    attr = struct.pack("<IIQQQQQ", 1, 136, 0, 1, 0x107, 0, attr_flags)
    return perf_data(attr.ljust(136, b"\0"), data)


def check(name, union, flags=0, **fields):
    global failed
    with open("x.data", "wb") as f:
        f.write(recording(union, flags, **fields))
    tool = os.path.join(os.environ["BUILD"], "tests", "reader", "tool_dump")
    out = subprocess.run([tool, "x.data"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    good = out.splitlines()[0].split("\t")[7] == "/lib/a.so" and "seen 1" in out.splitlines()
    print(f"{'ok' if good else 'not ok'} - {name}")
    if not good:
        failed = 1
        print(out)


check("device 254:1 under the flag", struct.pack("<IIQQ", 254, 1, 123456, 987654321))
check("device 8:1 under the flag, not asked for", struct.pack("<IIQQ", 8, 1, 123456, 0))
check("device 8:1 under the flag, others have ids", struct.pack("<IIQQ", 8, 1, 123456, 77), ATTR_BUILD_ID)
check("a real build id", bytes([20, 0, 0, 0]) + bytes(range(1, 21)), ATTR_BUILD_ID)
check("a real build id put in by a tool", bytes([16, 0, 0, 0]) + bytes(range(1, 17)) + bytes(4))
check("no device, no build id", bytes(24))
# perf inject --jit writes the mode of jitted-PID-N.so in the place of prot, as its owner's umask made it.
for mode in (0o100644, 0o100600, 0o100755, 0o100660):
    check(f"a file's mode {mode:o} for prot", struct.pack("<IIQQ", 0, 40, 3577, 1), misc=0, prot=mode)
sys.exit(failed)

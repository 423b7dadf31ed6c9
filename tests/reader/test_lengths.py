#!/usr/bin/env python3
"""A record whose length is wrong takes its neighbours with it: every such change is told.

Of a recording each record that is no sample is made longer by the next one, or by eight bytes; where samples are gone
there is a word and a status of 1. perf 7.2 loses them silently too."""
import os
import shutil
import struct
import subprocess
import sys

from tap import Tap

BIN = os.environ["BIN"]
tap = Tap()
SAMPLE = 9
NAMES = {1: "MMAP", 2: "LOST", 3: "COMM", 4: "EXIT", 5: "THROTTLE", 6: "UNTHROTTLE", 7: "FORK", 10: "MMAP2", 14: "SWITCH", 16: "NAMESPACES", 17: "KSYMBOL", 18: "BPF_EVENT",
         19: "CGROUP", 68: "FINISHED_ROUND", 73: "THREAD_MAP", 74: "CPU_MAP", 79: "TIME_CONV", 82: "FINISHED_INIT"}


def records(data):
    start, size = struct.unpack_from("<QQ", data, 40)
    at, out = start, []
    while at < start + size:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        out.append((at, kind, n))
        at += n
    return out


def read(path):
    """(samples, status, words)"""
    p = subprocess.run([f"{BIN}/resolve", "--count", "samples", "--no-cache", "--no-inline", "--strict", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return sum(int(line.rsplit(" ", 1)[1]) for line in p.stdout.splitlines()), p.returncode, p.stderr


recorder = (["perf", "record", "-q", "-N", "-B", "-e", "cpu-clock:u", "-F", "999", "-g", "-o", "p.data", "--", "sh", "-c"] if shutil.which("perf")
            else [f"{BIN}/capture", "-q", "--no-compress", "--call-graph", "fp", "-e", "cpu-clock:u", "-F", "999", "-o", "p.data", "--", "sh", "-c"])
script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; true; ls / > /dev/null; echo $(seq 2000) > /dev/null"
p = subprocess.run([*recorder, script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
if not os.path.exists("p.data") or p.returncode:
    tap.skip("lengths", "nothing can be recorded here")
    tap.end()
with open("p.data", "rb") as f:
    good = f.read()
whole, status, _ = read("p.data")
told, silent = {}, []
rows = records(good)
tap.check(whole > 5 and len({k for _, k, _ in rows}) > 4, f"a recording: {whole} samples, {len(rows)} records", status)
by_kind = {}
for i, (at, kind, n) in enumerate(rows[:-1]):
    by_kind.setdefault(kind, []).append((i, at, n))
for kind, where in sorted(by_kind.items()):
    if kind == SAMPLE or kind not in NAMES:
        continue
    for i, at, n in where[:12]:
        for longer in {rows[i + 1][2], 8}:
            if n + longer > 65535:
                continue
            bad = bytearray(good)
            struct.pack_into("<H", bad, at + 6, n + longer)
            with open("bad.data", "wb") as f:
                f.write(bad)
            samples, status, words = read("bad.data")
            told[kind] = told.get(kind, 0) + 1
            if status == 0 or not words:
                silent.append((NAMES[kind], i, n, longer, samples, whole, status))
tap.check(sum(told.values()) > 20 and not silent, f"{sum(told.values())} lengths changed, in {', '.join(NAMES[k] for k in told)}: all told", silent[:8])
tap.end()

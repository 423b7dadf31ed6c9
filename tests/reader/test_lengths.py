#!/usr/bin/env python3
"""A record whose length is wrong takes its neighbours with it: every such change is reported.

Each record of a recording, of a file and of a pipe, is made longer by the next one, longer by eight bytes, and shorter by eight, one
at a time. Whatever its type, there is a word and a status of 1. perf 7.2 loses what is swallowed silently."""
import os
import shutil
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tap import LONG, Tap

BIN = os.environ["BIN"]
EACH = 1 << 30 if LONG else 6  # records of a type
tap = Tap()
PIPE_HEADER = 16
SCRIPT = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; true; ls / > /dev/null; echo $(seq 2000) > /dev/null"


def records(data):
    """(offset, type, size) of each."""
    is_pipe = struct.unpack_from("<Q", data, 8)[0] == PIPE_HEADER
    at, size = (PIPE_HEADER, len(data) - PIPE_HEADER) if is_pipe else struct.unpack_from("<QQ", data, 40)
    end, out = at + size, []
    while at < end:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        out.append((at, kind, n))
        at += n
    return out


def read(path):
    """(status, words)"""
    p = subprocess.run([f"{BIN}/resolve", "-f", "folded", "-o", os.devnull, "--no-cache", "--no-inline", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stderr


def is_reported(task):
    number, data, at, size = task
    bad = bytearray(data)
    struct.pack_into("<H", bad, at + 6, size)
    path = f"bad{number}.data"
    with open(path, "wb") as f:
        f.write(bad)
    status, words = read(path)
    os.unlink(path)
    return status == 1 and words.startswith("resolve: ")


def check(what, path):
    with open(path, "rb") as f:
        good = f.read()
    rows = records(good)
    kinds = {kind for _, kind, _ in rows}
    status, words = read(path)
    tap.check(len(rows) > 40 and len(kinds) > 6 and status == 0, f"{what}: {len(rows)} records of {len(kinds)} types", f"status {status}\n{words}")
    pairs = list(zip(rows, rows[1:]))
    chosen = []
    for kind in sorted(kinds):
        some = [pair for pair in pairs if pair[0][1] == kind]
        chosen += some[::max(1, len(some) // EACH)]
    changes = [(at, kind, n + more) for (at, kind, n), (_, _, after) in chosen for more in sorted({after, 8, -8}) if 8 <= n + more <= 0xffff]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reported = list(pool.map(is_reported, [(i, good, at, size) for i, (at, _, size) in enumerate(changes)]))
    silent = [c for c, t in zip(changes, reported) if not t]
    tap.check(not silent, f"{what}: {len(changes)} lengths changed, all reported", silent[:8])


if shutil.which("perf"):
    forms = {"perf's file": ["perf", "record", "-q", "-o", "p.data"], "perf's pipe": ["perf", "record", "-q", "-o", "-"]}
else:
    forms = {"capture's file": [f"{BIN}/capture", "-q", "--no-compress", "-o", "p.data"]}
for name, recorder in forms.items():
    path = "p.data" if recorder[-1] != "-" else "pipe.data"
    with open(os.devnull if path == "p.data" else path, "wb") as out:
        p = subprocess.run([*recorder, "-e", "cpu-clock:u", "-F", "999", "--call-graph", "fp", "--", "sh", "-c", SCRIPT], stdout=out, stderr=subprocess.DEVNULL)
    if p.returncode or not os.path.exists(path):
        tap.skip(name, "nothing can be recorded here")
    else:
        check(name, path)
tap.end()

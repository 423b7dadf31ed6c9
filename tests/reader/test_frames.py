#!/usr/bin/env python3
"""Damage inside of compressed data costs the zstd frame that it is in, not those behind it, and is told.

capture ends a frame at least every 4 MB, with a checksum. Of a recording some compressed records are changed, one at a time:
type, size, one bit; or something is put behind them. What each frame holds is found out by a walk of its own."""
import os
import struct
import subprocess
import sys

from tap import Tap

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "capture"))
from perfdata import COMPRESSED, SAMPLE, Zstd  # noqa: E402

BIN = os.environ["BIN"]
MAGIC = b"\x28\xb5\x2f\xfd"
tap = Tap()


def outer_records(data):
    at, size = struct.unpack_from("<QQ", data, 40)
    end, out = at + size, []
    while at < end:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        out.append((at, kind, n))
        at += n
    return out


def samples_by_frame(data, chunks):
    """[samples that lie in the i-th frame]"""
    frames, zstd = [], Zstd()
    for at, _, n in chunks:
        payload = data[at + 8:at + n]
        if payload.startswith(MAGIC):
            frames.append(bytearray())
        frames[-1] += zstd.feed(payload)
    counts = []
    for raw in frames:
        n = at = 0
        while at < len(raw):
            kind, _, size = struct.unpack_from("<IHH", raw, at)
            n += kind == SAMPLE
            at += size
        assert at == len(raw), "a frame ends inside of a record"
        counts.append(n)
    return counts


def read(data):
    """(samples, status, words)"""
    with open("bad.data", "wb") as f:
        f.write(data)
    p = subprocess.run([f"{BIN}/resolve", "--count", "samples", "--no-cache", "--no-inline", "bad.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return sum(int(line.rsplit(" ", 1)[1]) for line in p.stdout.splitlines()), p.returncode, p.stderr


def insert(data, at, what):
    new = bytearray(data[:at] + what + data[at:])
    struct.pack_into("<Q", new, 48, struct.unpack_from("<Q", data, 48)[0] + len(what))
    head = struct.unpack_from("<4Q", data, 72)
    table = sum(struct.unpack_from("<QQ", data, 40)) + len(what)
    for i in range(sum(bin(w).count("1") for w in head)):  # the sections behind the data move, too
        (off,) = struct.unpack_from("<Q", new, table + 16 * i)
        struct.pack_into("<Q", new, table + 16 * i, off + len(what))
    return new


def changed(data, at, fmt, value):
    new = bytearray(data)
    struct.pack_into(fmt, new, at, value)
    return new


def unpacked(data, chunks):
    """All bytes of the frames; None: they cannot be unpacked."""
    out = []
    try:
        for at, _, n in chunks:
            payload = bytes(data[at + 8:at + n])
            if payload.startswith(MAGIC):
                zstd = Zstd()
            out.append(zstd.feed(payload))
    except AssertionError:
        return None
    return b"".join(out)


def flipped(data, at):
    """With one bit changed at `at` or behind it that matters: some bits mean nothing to a decoder."""
    for bit in range(8 * 64):
        bad = changed(data, at + bit // 8, "<B", data[at + bit // 8] ^ 1 << bit % 8)
        if unpacked(bad, chunks) != content:
            return bad


# As many samples on any machine: 2,000, of which 200 fill a frame.
BUSY = "import time\nwhile time.process_time() < 0.2: sum(range(999))"
p = subprocess.run([f"{BIN}/capture", "--bundle=none", "-q", "-e", "cpu-clock:u", "-F", "9999", "-o", "p.data", "--", sys.executable, "-S", "-c", BUSY],
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
if p.returncode or not os.path.exists("p.data"):
    tap.skip("damaged frames", "nothing can be recorded here: " + p.stderr.strip())
    tap.end()
with open("p.data", "rb") as f:
    good = f.read()
chunks = [r for r in outer_records(good) if r[1] == COMPRESSED]
frames = samples_by_frame(good, chunks)
content = unpacked(good, chunks)
whole, status, words = read(good)
tap.check(status == 0 and whole == sum(frames) > 500 and len(frames) >= 3, "a recording of several frames, each of whole records", (whole, frames, status, words))
# A record that is lost between two frames may be of both.
most = max(a + b for a, b in zip(frames, frames[1:] + [0]))
UNKNOWN = struct.pack("<IHHQ", 300, 0, 16, 1)
for k in sorted({0, 1, len(chunks) // 3, len(chunks) // 2, len(chunks) - 2, len(chunks) - 1}):
    at, _, n = chunks[k]
    for what, bad in (("another type", changed(good, at, "<I", 0x777)), ("no type", changed(good, at, "<I", 0xffffffff)),
                      ("too long", changed(good, at + 6, "<H", n + 100)), ("too short", changed(good, at + 6, "<H", max(n - 100, 8))),
                      ("one bit", flipped(good, at + n // 2)), ("one bit at the end", changed(good, at + n - 1, "<B", good[at + n - 1] ^ 4)),
                      ("one bit at the start", changed(good, at + 8, "<B", good[at + 8] ^ 4)), ("junk behind it", insert(good, at + n, b"\xff" * 24))):
        got, status, words = read(bad)
        # The last record may hold no sample: one of an unknown type is told there, and costs nothing.
        tap.check((status == 1 or got == whole) and words and whole - most <= got <= whole, f"compressed record {k} of {len(chunks)}, {what}: a line says so, and at most its frame is lost", (got, whole, most, status, words))
        if what == "junk behind it":
            tap.check(f"{at + n:#x}" in words, f"compressed record {k}, {what}: the line has the offset", words)
    got, status, words = read(insert(good, at + n, UNKNOWN * 2))
    tap.check(got == whole and "2 records skipped" in words, f"records of an unknown type behind compressed record {k}: all samples are there", (got, whole, status, words))
if subprocess.run(["sh", "-c", "command -v perf"], stdout=subprocess.DEVNULL).returncode == 0:
    p = subprocess.run(["perf", "script", "-F", "ip", "-G", "-i", "p.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.check(len([line for line in p.stdout.splitlines() if line.strip()]) == whole, "perf reads all of it", p.stderr)
else:
    tap.skip("perf reads all of it", "no perf")
tap.end()

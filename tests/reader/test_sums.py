#!/usr/bin/env python3
"""No sample disappears without a word: samples given and told lost are at least those that a plain walk finds.

The walk is a reader of its own, for this test only: record after record by the size of each, through zstd where there is
compressed data, until a size is impossible. Each recording of the corpus is damaged in one place: a bit, a byte, a field, a
range that is zero, gone, or put in; or cut. `make check` reads some hundreds of such copies, `make check-damage` 10,000.

1. Records that were taken for samples, and bytes that are told as lost, are not fewer than what the walk finds.
2. Where fewer samples are given than without the damage, there is a word about it, unless the copy is whole in itself."""
import os
import random
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tap import LONG, Tap

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "capture"))
from perfdata import Zstd  # noqa: E402

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/reader/tool_dump")
CORPUS = os.path.join(TOP, "../shared/corpus")
COPIES = 10000 if LONG else 600
SAMPLE, TRACING_DATA, AUXTRACE, COMPRESSED, COMPRESSED2 = 9, 66, 71, 81, 83
LEAST_SAMPLE = 8
tap = Tap()


class Walk:
    """The samples in a recording, as far as one comes from record to record."""

    def __init__(self, data):
        self.samples, self.zstd, self.left, self.in_step = 0, None, b"", False
        self.e = {b"PERFILE2": "<", b"2ELIFREP": ">"}.get(data[:8])
        if not self.e or len(data) < 16:
            return
        self.pipe = struct.unpack_from(self.e + "Q", data, 8)[0] == 16
        at, end = 16, len(data)
        if not self.pipe:
            if len(data) < 104:
                return
            at, size = struct.unpack_from(self.e + "QQ", data, 40)
            end = min(at + size, end) if size else end
        self.in_step = self.records(memoryview(data)[:end], at) == end  # as if there were no damage

    def records(self, data, at):
        """Where the walk ends."""
        while len(data) - at >= 8:
            kind, _, size = struct.unpack_from(self.e + "IHH", data, at)
            if size < 8 or size > len(data) - at:
                break
            self.samples += kind == SAMPLE
            if kind in (COMPRESSED, COMPRESSED2) and not self.unpack(kind, data[at + 8:at + size]):
                break
            if kind == TRACING_DATA and self.pipe and size >= 12:
                size += struct.unpack_from(self.e + "I", data, at + 8)[0]
            elif kind == AUXTRACE and size >= 16:
                size += struct.unpack_from(self.e + "Q", data, at + 8)[0]
            at += size
        return at

    def unpack(self, kind, payload):
        if kind == COMPRESSED2:
            (n,) = struct.unpack_from(self.e + "Q", payload) if len(payload) >= 8 else (1 << 63,)
            payload = payload[8:8 + n]
            if len(payload) < n:
                return False
        try:
            self.zstd = self.zstd or Zstd()
            self.left += self.zstd.feed(bytes(payload))
        except AssertionError:
            return False
        self.left = self.left[self.records(self.left, 0):]
        return True


def read(path):
    """{what `tool_dump -s` counts}, and how many words there are."""
    p = subprocess.run([TOOL, "-s", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    said = {"words": 0}
    for line in p.stdout.decode(errors="replace").splitlines():
        name, _, value = line.partition(" ")
        if value.isdigit():
            said[name] = int(value)
        said["words"] += name in ("note", "skip", "error")
    if p.returncode not in (0, 1, 2) or (p.returncode and not p.stderr and not said["words"]):
        raise RuntimeError(f"status {p.returncode}")
    said["words"] += bool(p.stderr)
    return said


def changed(data, r):
    """A damaged copy, and what was done."""
    new, kind, at = bytearray(data), r.randrange(8), r.randrange(len(data))
    n = r.choice((1, 8, 64, 512, 4096))
    if kind == 0:
        new[at] ^= 1 << r.randrange(8)
    elif kind == 1:
        new[at] = r.randrange(256)
    elif kind == 2:
        at &= ~7
        width, value = r.choice((("H", 0), ("H", 0xffff), ("I", 0xffffffff), ("Q", 0), ("Q", 1 << 63), ("H", r.randrange(1 << 16))))
        if at + 8 <= len(data):
            struct.pack_into("<" + width, new, at, value)
    elif kind == 3:
        new[at:at + n] = bytes(len(new[at:at + n]))
    elif kind == 4:
        del new[at:at + n]
    elif kind == 5:
        new[at:at] = r.randbytes(n)
    elif kind == 6:
        new[at:at + n] = r.randbytes(len(new[at:at + n]))
    else:
        del new[at:]
    return bytes(new), ("bit", "byte", "field", "zero", "gone", "put in", "random", "cut")[kind] + f" at {at}, {n} bytes"


def judge(name, whole, copy, what, path):
    """What is wrong, or None."""
    with open(path, "wb") as f:
        f.write(copy)
    try:
        said, walk = read(path), Walk(copy)
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        return f"{name}, {what}: {e}"
    given = said.get("sample_records", 0)
    walked = walk.samples
    told = given + said.get("lost_bytes", 0) // LEAST_SAMPLE
    if told < walked and not said["words"]:
        return f"{name}, {what}: the walk finds {walked}, given {given}, {said.get('lost_bytes', 0)} bytes told lost"
    # Whole records that are gone, or one whose type became another's, leave nothing to be seen.
    unseen = walk.in_step and walked == given
    if said.get("samples", 0) < whole.get("samples", 0) and not said["words"] and not said.get("damaged") and not unseen:
        return f"{name}, {what}: {said.get('samples', 0)} of {whole['samples']} samples, and no word"
    return None


def check_file(task):
    index, path, n = task
    name = os.path.relpath(path, CORPUS)
    with open(path, "rb") as f:
        data = f.read()
    whole, walked, bad = read(path), Walk(data).samples, []
    if whole.get("sample_records", 0) + whole.get("lost_bytes", 0) // LEAST_SAMPLE < walked:
        bad.append(f"{name} as it is: the walk finds {walked}, given {whole.get('sample_records', 0)}")
    r = random.Random(index)
    for _ in range(n if data else 0):
        copy, what = changed(data, r)
        bad.append(judge(name, whole, copy, what, f"copy{index}"))
    return walked, n, [b for b in bad if b]


if not os.path.exists(CORPUS):
    tap.skip("sums of damaged recordings", "no ../shared/corpus here")
    tap.end()
paths = [os.path.join(top, f) for top, _, files in sorted(os.walk(CORPUS)) for f in sorted(files)
         if "script-text" not in top and not f.endswith((".tsv", ".md"))]
each = COPIES // len(paths) + 1
with ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(check_file, [(i, p, each) for i, p in enumerate(paths)]))
walked = sum(r[0] for r in results)
wrong = [b for r in results for b in r[2]]
tap.check(walked > 50000, f"the walk finds {walked} samples in {len(paths)} recordings")
tap.check(not wrong, f"{sum(r[1] for r in results)} damaged copies: no sample disappears without a word", "\n".join(wrong[:20]) + f"\n{len(wrong)} in all")
tap.end()

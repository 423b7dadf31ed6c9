#!/usr/bin/env python3
"""Inputs of a few bytes that describe stacks of endless size: what is shown is limited, said, and keeps its weight."""
import gzip
import json
import os
import resource
import subprocess

from tap import LONG, Tap

BIN = os.environ["BIN"]
MIB = 1 << 20
FORMATS = ["folded", "flamegraph", "html", "top", "speedscope", "pprof"]
tap = Tap()


# ---- profile.proto by hand ------------------------------------------------------------------------------------------
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def profile(names, locations, samples, types=(("cpu", "ns"),)):
    """locations: lists of functions, innermost first, numbered from 1; samples: (locations leaf first, values, comm or "").
    Both lists may be encoded already."""
    strings = [""]

    def string(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    out = b"".join(message(1, number(1, string(t)) + number(2, string(u))) for t, u in types)
    out += b"".join(message(5, number(1, i) + number(2, string(name))) for i, name in enumerate(names, 1))
    for i, functions in enumerate(locations, 1):
        lines = functions if isinstance(functions, bytes) else b"".join(message(4, number(1, f)) for f in functions)
        out += message(4, number(1, i) + lines)
    for stack, values, comm in samples:
        label = message(3, number(1, string("comm")) + number(2, string(comm))) if comm else b""
        out += message(2, message(1, stack if isinstance(stack, bytes) else b"".join(map(varint, stack))) + message(2, b"".join(map(varint, values))) + label)
    return b"".join(message(6, s.encode()) for s in strings) + out


def limit():
    if not os.environ["BUILD"].endswith("-san"):
        resource.setrlimit(resource.RLIMIT_AS, (1500 * MIB, 1500 * MIB))


def resolve(*args):
    p = subprocess.run([f"{BIN}/resolve", *args], stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=limit, timeout=60, check=False)
    return p.returncode, p.stdout, p.stderr.decode()


def write(name, data):
    with open(name, "wb") as f:
        f.write(gzip.compress(data, 9))
    return name


def weight(text):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in text.splitlines())


# ---- what is too much ------------------------------------------------------------------------------------------------
DEEP = b"\1" * 60000
LINE = message(4, number(1, 1))
ONE = [LINE]
BOMBS = {
    "frames times inlined functions": profile(["g" * 10], [LINE * 2000], [(DEEP, [7], "")]),
    "frames times the bytes of a name": profile(["g" * 4000], ONE, [(DEEP, [7], "")]),
    "a stack of a million frames": profile(["g"], ONE, [(b"\1" * 1000000, [7], "")]),
    "a frame with a million inlined functions": profile(["g" * 4000], [LINE * 1000000], [(b"\1", [7], "")]),
    "the same stack of 200 commands": profile(["g" * 100], ONE, [(b"\1" * 30000, [7], f"c{i}") for i in range(200)]),
    "a sample at each of 3,000 levels": profile(["g" * 1000], ONE, [(b"\1" * n, [7], "c") for n in range(1, 3000)]),
}
for i, (what, data) in enumerate(BOMBS.items()):
    path = write("bomb.pb.gz", data)
    bad = []
    formats = FORMATS if LONG else ["folded", FORMATS[1 + i % 5], FORMATS[1 + (i + 2) % 5]]
    for name in formats:
        code, out, err = resolve("-f", name, path)
        if code != 1 or "left out" not in err or len(out) > 200 * MIB:
            bad.append(f"{name}: status {code}, {len(out)} bytes, {err}")
        if name == "folded":
            folded = out
    tap.check(not bad, f"{what}, {len(data)} bytes: limited in {len(formats)} formats, status 1, a line says so", "\n".join(bad))
    total = 7 * data.count(b"\x12\x01\x07")
    tap.check(weight(folded) == total and b"[frames left out]" in folded, f"{what}: the weight stays ({total})", f"{weight(folded)}")

folded = b"c;g 3\n" + b"c;" + b"f;" * 200000 + b"f 5\n"
path = write("deep.folded.gz", folded)
code, out, err = resolve("-f", "folded", path)
tap.check(code == 1 and weight(out) == 8 and b"c;g 3\n" in out and "frames of 1 stack left out" in err,
          "folded: a stack of 200,000 frames is limited, the other is whole", err + repr(out[-200:]))

text = b"a 1 1.0: 1 cycles: \n" + b"".join(b"\t%x f+0x1 (/bin/x)\n" % i for i in range(50000)) + b"\n"
code, out, err = resolve("-f", "folded", write("deep.txt.gz", text))
tap.check(code == 1 and "left out" in err and weight(out) == 1, "perf script text: a stack of 50,000 frames is limited", err)

# xz and zstd pack a thousand times better than gzip.
with open("zeros.folded", "wb") as f:
    for _ in range(100):
        f.write(b"c;main;f 1\n" * 95325)  # a MiB
for tool in (["xz", "-T1", "-0", "-k", "-f"], ["zstd", "-q", "-1", "-k", "-f"]):
    subprocess.run(tool + ["zeros.folded"], check=True)
    path = "zeros.folded." + {"xz": "xz", "zstd": "zst"}[tool[0]]
    code, out, err = resolve("-f", "folded", path)
    tap.check(code == 1 and "unpacks to more than a thousand times its size" in err and 0 < weight(out) < 100 * 95325,
              f"{os.path.getsize(path)} bytes of {tool[0]} that unpack to 100 MiB: the beginning is read", f"{code} {err}")
os.unlink("zeros.folded")

# ---- what is not -----------------------------------------------------------------------------------------------------
names = [f"f{i}" for i in range(10000)]
data = profile(names, [[i + 1] for i in range(10000)], [(list(range(1, 10001)), [7], "c")])
code, out, err = resolve("-f", "folded", write("ten.pb.gz", data))
tap.check(code == 0 and out.count(b";") == 10000 and not err, "a stack of 10,000 frames is whole", err)

# ---- numbers that a profile may hold, and no program made --------------------------------------------------------------
HALF, MOST = 1 << 63, (1 << 63) - 1
WRAP = {
    "sums of 2^64": ([([1, 2], [MOST], "a"), ([1, 2], [MOST], "b"), ([1, 2], [2], "c")], [("cpu", "ns")]),
    "weights of samples that are none": ([([1, 2], [0, 5], "a"), ([2], [1, 1], "b")], [("samples", "count"), ("cpu", "ns")]),
    "samples without a weight": ([([1, 2], [5, 0], "a"), ([2], [1, 1], "b")], [("samples", "count"), ("cpu", "ns")]),
    "numbers above 2^63": ([([1, 2], [HALF + 1], "a"), ([2], [1], "b")], [("cpu", "ns")]),
}
for what, (samples, types) in WRAP.items():
    path = write("wrap.pb.gz", profile(["main", "f"], [[1], [2]], samples, types))
    codes = {name: resolve("-f", name, path)[0] for name in FORMATS}
    tap.check(set(codes.values()) <= {0, 1}, f"{what}: all formats are written", json.dumps(codes))

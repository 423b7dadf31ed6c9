#!/usr/bin/env python3
"""What pprof profiles have beside stacks: labels stay from pprof to pprof, drop_frames is applied as go tool pprof does, values below zero are
counted. The profiles are made here, so what they say is known; go tool pprof is the oracle where it is installed."""
import gzip
import os
import re
import shutil
import subprocess

from tap import Tap

BIN = os.environ["BIN"]
tap = Tap()


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def make(path, samples, drop="", keep="", inlined={}, types=(("samples", "count"), ("cpu", "nanoseconds"))):
    """samples: (names leaf first, values, [(key, text or number, unit)]); inlined: location -> its functions, innermost first."""
    strings = [""]

    def string(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    out = b"".join(message(1, number(1, string(t)) + number(2, string(u))) for t, u in types)
    locations = sorted({n for names, _, _ in samples for n in names})
    functions = sorted({f for n in locations for f in inlined.get(n, [n])})
    for names, values, labels in samples:
        body = message(1, b"".join(varint(locations.index(n) + 1) for n in names)) + message(2, b"".join(varint(v) for v in values))
        for key, value, unit in labels:
            what = number(2, string(value)) if isinstance(value, str) else number(3, value) + number(4, string(unit))
            body += message(3, number(1, string(key)) + what)
        out += message(2, body)
    out += message(3, number(1, 1))
    for i, n in enumerate(locations):
        lines = b"".join(message(4, number(1, functions.index(f) + 1) + number(2, 7)) for f in inlined.get(n, [n]))
        out += message(4, number(1, i + 1) + number(2, 1) + number(3, 4096 + i) + lines)
    for i, f in enumerate(functions):
        out += message(5, number(1, i + 1) + number(2, string(f)) + number(3, string(f)) + number(4, string("a.c")))
    tail = number(7, string(drop)) + number(8, string(keep))
    out += b"".join(message(6, s.encode()) for s in strings) + tail
    with gzip.open(path, "wb") as f:
        f.write(out)


def resolve(*args):
    p = subprocess.run([f"{BIN}/resolve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr


def folded(text):
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}


def go(*args):
    return subprocess.run(["go", "tool", "pprof", *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


# ---- labels -------------------------------------------------------------------------------------------------------------
LABELS = [
    (["leaf", "main"], (1, 100), [("request", "a;b c", ""), ("bytes", 4096, "bytes")]),
    (["leaf", "main"], (2, 200), [("request", "x", ""), ("bytes", -5, "bytes")]),
    (["leaf", "main"], (3, 300), [("request", "x", ""), ("request", "y", "")]),
    (["leaf", "main"], (4, 400), []),
    (["main"], (5, 500), [("thread", "worker 1", ""), ("pid", 12, ""), ("tid", 13, "tid"), ("k\"q", "<x>", "")]),
    (["main"], (6, 600), [("comm", "sh", "")]),
]
make("labels.pb.gz", LABELS)
code, out, err = resolve("labels.pb.gz", "-o", "out.pb.gz")
resolve("out.pb.gz", "-o", "again.pb.gz")
tap.check(code == 0 and open("out.pb.gz", "rb").read() == open("again.pb.gz", "rb").read(), "labels: written again the same bytes", err)
resolve("labels.pb.gz", "labels.pb.gz", "-o", "two.pb.gz")
if shutil.which("go"):
    want, have, two = (go("-tags", f) for f in ("labels.pb.gz", "out.pb.gz", "two.pb.gz"))
    tap.check("a;b c" in want and want == have, "labels: go tool pprof -tags says the same of both", want, have)
    ns = lambda text, by: sorted(re.sub(r"([\d.]+)(ns|us)", lambda m: f"{by * float(m[1]) * (1000 if m[2] == 'us' else 1):g}", l).split() for l in text.splitlines())
    tap.check(ns(want, 2) == ns(two, 1), "labels: of two inputs, twice the sums", want, two)
    have = go("-raw", "out.pb.gz")
    tap.check(re.search(r"bytes:\[-5", have) and re.search(r"request:\[x y\]", have), "labels: numbers below zero, and several values of a key", have)
else:
    tap.skip("labels as go tool pprof reads them", "no go here")
code, out, err = resolve("labels.pb.gz")
tap.check(code == 0 and folded(out) == {"main;leaf": 1000, "worker_1;main": 500, "sh;main": 600}, "labels: other formats add the samples up", out, err)
make("bare.pb.gz", [(["f"], (1, 5), [])])
for options in (["--with-pid"], ["--with-tid"]):
    code, out, err = resolve("bare.pb.gz", *options)
    tap.check(code == 0 and folded(out) == {"f": 5}, f"{options[0]} without a process: no root of it", out, err)

# ---- values below zero ----------------------------------------------------------------------------------------------------
make("less.pb.gz", [(["faster", "main"], (-5, -500), []), (["slower", "main"], (2, 50), []), (["mixed", "main"], (1, -7), [])])
code, out, err = resolve("less.pb.gz")
tap.check(code == 1 and folded(out) == {"main;slower": 50} and "2 values below zero" in err and "--diff" in err, "values below zero: counted, said, status 1; a number without weight is none", code, out, err)
code, out, err = resolve("-q", "less.pb.gz")
tap.check(code == 1 and not err, "and with -q at least the status", code, err)

make("uneven.pb.gz", [(["f", "main"], (1, 5), []), (["g", "main"], (1,), []), (["h", "main"], (1, 7, 9), [])])
code, out, err = resolve("uneven.pb.gz")
tap.check(code == 1 and "2 samples have another number of values than the profile has types" in err, "as many values as types, or it is said", code, out, err)

# ---- drop_frames ----------------------------------------------------------------------------------------------------------
STACKS = [
    (["memset", "malloc", "app_alloc", "main"], (1, 100), []),
    (["malloc", "main"], (1, 5), []),
    (["malloc_stats", "main"], (1, 7), []),
    (["malloc", "calloc"], (1, 11), []),
    (["inl", "main"], (1, 13), []),
    (["operator new(unsigned long)", "(anonymous namespace)::f(int)", "main"], (1, 17), []),
    (["runtime.mallocgc", "main.f", "main"], (1, 19), []),
]
INLINED = {"inl": ["deep", "malloc", "inl"]}
CASES = (
    ("malloc|calloc", "", {"main;app_alloc": 100, "main": 5, "main;malloc_stats": 7, "calloc;malloc": 11, "main;inl": 13}),
    ("malloc.*", "malloc_stats", {"main;app_alloc": 100, "main": 5, "main;malloc_stats": 7, "main;inl": 13}),
    ("operator new|runtime\\.mallocgc", "", {"main;(anonymous namespace)::f": 17, "main;main.f": 19}),
    ("(?:mem|x)set", "", {"main;app_alloc;malloc": 100}),
    ("", "main", {"main;app_alloc;malloc;memset": 100}),
)
for drop, keep, some in CASES:
    make("drop.pb.gz", STACKS, drop, keep, INLINED)
    code, out, err = resolve("drop.pb.gz")
    have = folded(out)
    tap.check(code == 0 and all(have.get(k) == v for k, v in some.items()) and sum(have.values()) == 172, f"drop_frames {drop!r}, keep_frames {keep!r}", out, err)
    if shutil.which("go"):
        # name -> flat of go's table, without the lines' numbers
        flat = {m[2]: m[1] for m in re.finditer(r"(?m)^\s+(\d+)\S*\s.*?%\s+\d\S+\s+[\d.]+%\s+(.+?)(?: \(inline\))?$", go("-top", "-sample_index=cpu", "-unit=ns", "drop.pb.gz"))}
        flat = {n.replace("main.f", "f"): int(v) for n, v in flat.items() if int(v)}
        ours = {}
        for stack, n in have.items():
            name = stack.split(";")[-1].replace("main.f", "f")
            ours[name] = ours.get(name, 0) + n
        strip = lambda d: sorted((re.sub(r"\(anonymous namespace\)|\(.*\)|::", "", k).strip(), v) for k, v in d.items())
        tap.check(strip(flat) == strip(ours), "and go tool pprof sees the same own costs", strip(flat), strip(ours))
for bad in ("a{1000}{1000}{1000}", "(a)\\1", "(?i)malloc", "[", "x" * 100000):
    make("drop.pb.gz", STACKS, bad)
    code, out, err = resolve("drop.pb.gz")
    tap.check(code == 0 and sum(folded(out).values()) == 172 and "not supported" in err, f"drop_frames {bad[:20]!r}: not applied, and that is said", err)
tap.end()

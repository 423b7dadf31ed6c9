#!/usr/bin/env python3
"""Recordings as Linux 3.16 to 4.20 make them. Truth by construction: the recordings of testdata/, in which prot and flags are 0 as those
kernels leave them (kernel/events/core.c before d9c1bb2f6a21: they are set where a file is mapped), say the same as before."""
import lzma
import sys
import tarfile

from common import *

PLACE = os.path.join(TOP, "testdata", "recordings")
sys.path.insert(0, PLACE)
import golden  # noqa: E402
from perfsynth import *  # noqa: E402

tap = Tap()
CODE = 0x7f0000000000


def as_old(data):
    """The number of maps of the kernel (not of perf: tools set both) without a file, and the changed bytes."""
    b, n = bytearray(data), 0
    at, size = struct.unpack_from("<QQ", b, 40)
    end = at + size if size else len(b)
    while at + 8 <= end:
        kind, misc, size = struct.unpack_from("<IHH", b, at)
        if size < 8:
            break
        name = bytes(b[at + 72:at + size]).split(b"\0")[0] if kind == MMAP2 else b"/"
        if kind == MMAP2 and misc & 7 == USER and (name == b"//anon" or not name.startswith(b"/")):
            struct.pack_into("<II", b, at + 64, 0, 0)
            n += 1
        at += size
    return n, bytes(b)


def same_as_before():
    with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
        t.extractall(".")
    for name in ("cpp-fp", "cpp-perf", "python", "system-perf"):
        with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as f:
            before = f.read()
        n, after = as_old(before)
        texts = []
        for data in (before, after):
            with open("perf.data", "wb") as f:
                f.write(data)
            texts.append(golden.outputs(RESOLVE, "perf.data", "root"))
        tap.check(n and texts[0] == texts[1], f"{name}: {n} maps without prot",
                  "\n".join(f"{kind}: differs" for kind in texts[0] if texts[0][kind] != texts[1][kind]))


def frame_of(path, misc, prot, flags):
    r = Recording()
    r.comm(7, "x", 1)
    body = struct.pack("<iiQQQ", 7, 7, CODE, 0x1000, 0) + bytes(24) + struct.pack("<II", prot, flags)
    r.record(MMAP2, USER | misc, body + padded(path, 8), (7, 7, 2))
    r.sample(7, CODE + 16, 10)
    return list(folded(resolve(r.write("map.data"))[0]))[0][1]


def what_is_code():
    data = 1 << 13
    for what, args, want in (("anonymous memory, prot hidden", ("//anon", 0, 0, 0), "[perf-7.map]"),
                             ("anonymous memory marked as data, prot hidden", ("//anon", data, 0, 0), "[unknown]"),
                             ("[vdso], prot hidden", ("[vdso]", 0, 0, 0), "[vdso]"),
                             ("anonymous memory of PROT_NONE", ("//anon", 0, 0, 0x22), "[unknown]"),
                             ("a file with neither", ("/lib/a.so", 0, 0, 0), "[unknown]")):
        got = frame_of(*args)
        tap.check(got == want, what, got)


same_as_before()
what_is_code()
tap.end()

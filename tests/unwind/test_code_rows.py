#!/usr/bin/env python3
"""Frames by machine code equal the call frame information that compilers wrote for the same code.

Over this machine's libraries and programs, and those for aarch64 if there are any, at every byte of every function
that has call frame information: code.c says the same, or nothing. What is known to differ: code that a compiler moved
out of a function and that has no name here (it begins like a function, to this test), constructors' information that
forgets a push before a call that does not return, and a few functions of assembly whose information is wrong: in
OpenSSL 3.6 those for AES with `sub $0x88,%rsp` and for RSA with AVX-IFMA and `lea -0xa8(%rsp),%rsp`, which do not tell
that: 0.36 % of its bytes.
"""
import glob
import os
import shutil
import subprocess

from tap import Tap

TOOL = os.path.join(os.environ["BUILD"], "tests/unwind/tool_code_rows")
tap = Tap()


def node():
    """Debian's node is a stub, its code is in a library."""
    library = sorted(glob.glob("/usr/lib/*/libnode.so.*"))
    return library[0] if library else os.path.realpath(shutil.which("node") or "none")


# name, files, of what share of the bytes something is said at least
FILES = (("libc", "/lib/*-linux-gnu/libc.so.6", 0.88), ("libstdc++", "/usr/lib/*-linux-gnu/libstdc++.so.6", 0.9),
         ("libcrypto", "/usr/lib/*-linux-gnu/libcrypto.so.3", 0.8), ("python3", "/usr/bin/python3.[0-9]*[0-9]", 0.95),
         ("libLLVM", "/usr/lib/*-linux-gnu/libLLVM-*.so.1", 0.95), ("node", node(), 0.9),
         ("libc of aarch64", "/usr/aarch64-linux-gnu/lib/libc.so.6", 0.88),
         ("libstdc++ of aarch64", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6", 0.9))


def compare(name, path, floor, *options):
    r = subprocess.run([TOOL, *options, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    words = r.stdout.split()
    n = dict(zip(words[1::2], words[2::2]))
    same, different, total = (int(n.get(k, 0)) for k in ("same", "different", "bytes"))
    said = same + different
    tap.check(r.returncode == 0 and said >= floor * total > 0, f"{name}: something is said of {said} of {total} bytes", r.stdout)
    tap.check(different <= (0.005 if name == "libcrypto" else 0.001) * said, f"{name}: {different} bytes of {said} differ", r.stdout)


for name, pattern, floor in FILES:
    path = next(iter(sorted(glob.glob(pattern))), None)
    if not path:
        tap.skip(name, "not on this machine")
        continue
    compare(name, path, floor)
    if name in ("libc", "python3", "libc of aarch64"):
        compare(f"{name}, without the ends of functions", path, floor - 0.15, "-o")
tap.end()

#!/usr/bin/env python3
"""Every row of every FDE equals libdw's dwarf_cfi_addrframe(), and each FDE is found, compared by tool_cfi_rows.

Runs over this machine's libraries and large programs (2.9 million rows in 3 seconds), over .debug_frame of
all CIE versions, other classes and machines compiled here, and over the files in UNSPOOL_CFI_FILES
(separated by colons).
"""
import glob
import os
import re
import shutil
import subprocess
import sys

TOOL = os.path.join(os.environ["BUILD"], "tests/unwind/tool_cfi_rows")
LINE = re.compile(r"(\S+) (\S+) fdes (\d+) rows (\d+) different (\d+) refused (\d+)")
SOURCE = """
int g(int);
int f(int a) { volatile int b[20]; b[0] = a; return g(b[0]) + 1; }
int h(int n) { int *p = __builtin_alloca(n); return g(p[0] + f(n)); }
int k(int a, int b, int c) { int d = g(a); return d > 3 ? g(d) + b : g(b) + c; }
"""
failed = 0


def check(path, name, section=None, may_refuse=False):
    """may_refuse: libdw need not read all that we do."""
    global failed
    p = subprocess.run([TOOL, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = LINE.findall(p.stdout)
    rows = sum(int(f[3]) for f in found if f[1] == section or (not section and f[1] != "look-up"))
    refused = sum(int(f[5]) for f in found)
    good = p.returncode == 0 and rows > 0 and all(f[4] == "0" for f in found) and (may_refuse or not refused)
    print(f"{'ok' if good else 'not ok'} - {name}: {rows} rows{f', {refused} of which libdw refuses' if refused else ''}")
    if not good:
        failed += 1
        print("".join(f"# {l}\n" for l in p.stdout.splitlines()[:20]))


def first(*patterns):
    for p in patterns:
        for f in sorted(glob.glob(p)):
            return os.path.realpath(f)
    return None


def rustc_driver():
    """The compiler is a small program around this library."""
    if not shutil.which("rustc"):
        return None
    root = subprocess.run(["rustc", "--print", "sysroot"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return first(root + "/lib/librustc_driver-*.so", "/usr/lib/*-linux-gnu/librustc_driver-*.so")


installed = {
    "libc": first("/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6"),
    "ld.so": first("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"),
    "libstdc++": first("/usr/lib/*-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6"),
    "libcrypto": first("/usr/lib/*-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3"),
    "python3": first("/usr/bin/python3.[0-9]*[0-9]"),
    "libLLVM": first("/usr/lib/*-linux-gnu/libLLVM-*.so.1", "/usr/lib64/libLLVM*.so*"),
    "node": shutil.which("node") and os.path.realpath(shutil.which("node")),
    "librustc_driver": rustc_driver(),
    "openblas": first("/usr/lib/*-linux-gnu/openblas-*/libopenblas*.so", "/usr/lib64/libopenblas*.so*"),
}
for name, path in installed.items():
    if path:
        check(path, name)
    else:
        print(f"ok - {name} # SKIP not on this machine")

with open("rows.c", "w") as f:
    f.write(SOURCE)
shared = ["-O2", "-fPIC", "-shared", "-nostdlib", "rows.c", "-o"]
no_eh = ["-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions"]
compiled = {
    ".debug_frame of DWARF 2": ["gcc", *no_eh, "-gdwarf-2", *shared],
    ".debug_frame of DWARF 3": ["gcc", *no_eh, "-gdwarf-3", *shared],
    ".debug_frame of DWARF 5": ["gcc", *no_eh, "-gdwarf-5", *shared],
    ".debug_frame of clang": ["clang", *no_eh, "-gdwarf-4", *shared],
    "i386": ["gcc", "-m32", *shared],
    "aarch64": ["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-funwind-tables", *shared],
    "aarch64 with signed return addresses": [
        "clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-funwind-tables",
        "-mbranch-protection=pac-ret+leaf", *shared],
}
for i, (name, cmd) in enumerate(compiled.items()):
    out = f"rows{i}.so"
    if not shutil.which(cmd[0]):
        print(f"ok - {name} # SKIP no {cmd[0]}")
        continue
    p = subprocess.run([*cmd, out], stderr=subprocess.PIPE, text=True)
    if p.returncode:
        print(f"ok - {name} # SKIP {cmd[0]} cannot: {p.stderr.splitlines()[-1] if p.stderr else ''}")
        continue
    check(out, name, ".debug_frame" if name.startswith(".debug") else ".eh_frame")

for path in filter(None, os.environ.get("UNSPOOL_CFI_FILES", "").split(":")):
    check(path, path, may_refuse=True)
sys.exit(1 if failed else 0)

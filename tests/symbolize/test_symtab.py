#!/usr/bin/env python3
"""Names from .symtab and .dynsym.

1. Against a model that applies perf's rules for aliases to the raw symbol tables (symtool.Model): the first,
   the last and one inner byte of every function, and the byte behind it.
2. Against llvm-symbolizer and eu-addr2line on random addresses: the function they name must start where ours
   does, i.e. be one of the names at that start.
3. Against perf itself on a recording: names must be equal, not only aliases.
4. Symbols without size in stripped files: truth by construction.

	test_symtab.py [-n ADDRESSES] FILE...

With FILE only 2, of these, at random addresses of all their code (tests/dwarf/README.md has what came of it).
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess

from recorder import perf_record
from symtool import *
from tap import LONG

rng = random.Random(42)
ORACLES = ("libc", "libcrypto", "a C++ program", "a Rust program (v0)")
MORE = ("libstdc++", "libcrypto")  # with LONG: larger libraries of the same kind

CXX = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <thread>
namespace ns { template <typename T> struct W { T run(T x) { return x + 1; } virtual ~W() {} }; template struct W<int>; }
static int helper(int x) { return x * 3; }
extern "C" int alias_a(int x) { return helper(x); }
extern "C" int alias_b(int) __attribute__((weak, alias("alias_a")));
extern "C" int __alias_c(int) __attribute__((alias("alias_a")));
int main(int argc, char **argv)
{
	std::map<std::string, std::function<int(int)>> m;
	for (int i = 0; i < argc; i++) m[argv[i]] = [i](int x) { return x + i; };
	std::thread t([&] { m.clear(); });
	t.join();
	ns::W<int> w;
	return w.run(argc) + alias_b(argc) + __alias_c(1);
}
"""
RUST = r"""
use std::collections::HashMap;
#[inline(never)]
fn generic<T: std::fmt::Debug>(x: T) -> String { format!("{:?}", x) }
fn main() {
    let mut m = HashMap::new();
    for a in std::env::args() { m.insert(generic(a.len()), generic(a)); }
    std::thread::spawn(move || println!("{:?}", m)).join().unwrap();
}
"""


def subjects():
    lib = "/usr/lib/x86_64-linux-gnu"
    for name, pattern in (("libc", f"{lib}/libc.so.6"), ("ld.so", f"{lib}/ld-linux-x86-64.so.2"),
                          ("libstdc++", f"{lib}/libstdc++.so.6"), ("libcrypto", f"{lib}/libcrypto.so.3"),
                          ("python3", "/usr/bin/python3")):
        if os.path.exists(pattern) and (LONG or name not in MORE):
            yield name, os.path.realpath(pattern)
    write("prog.cc", CXX)
    run("g++", "-O2", "-g", "-pthread", "prog.cc", "-o", "cxx")
    yield "a C++ program", os.path.abspath("cxx")
    if shutil.which("rustc"):
        write("prog.rs", RUST)
        for mangling in ("legacy", "v0"):
            flags = ["-Csymbol-mangling-version=v0"] if mangling == "v0" else []
            run("rustc", "-O", "-g", *flags, "prog.rs", "-o", f"rust-{mangling}")
            yield f"a Rust program ({mangling})", os.path.abspath(f"rust-{mangling}")
    else:
        skip("a Rust program", "no rustc")


def tables_of(path):
    full = next((p for p in (debug_file(path), path) if p and any(s[0] == ".symtab" for s in sections(p).values())), None)
    return ([(full, ".symtab")] if full else []) + [(path, ".dynsym")]


def model_test(name, path):
    model = Model(tables_of(path))
    addresses = set()
    for start in model.starts:
        for rank, stop, _, size in model.by_start[start]:
            addresses |= {start, stop - 1, stop} if size else {start}
            if stop - start > 2:
                addresses.add(rng.randrange(start, stop))
    # .plt and what is outside of the code is test_plt.py's
    plt = [(a, a + n) for nm, a, n, _ in sections(path).values() if ".plt" in nm]
    text = [(a, a + n) for _, a, n, fl in sections(path).values() if "X" in fl]
    addresses = sorted(a for a in addresses if any(lo <= a < hi for lo, hi in text) and
                       not any(lo <= a < hi for lo, hi in plt))
    answers, source, _ = symbolize("file", path, addresses, "-d", "none")
    bad, holes = [], 0
    for a in answers:
        want = model.find(a.addr)
        got = (a.system, a.addr - a.offset) if a.system else None
        if got != want:
            # a sizeless symbol must not reach over the start of another frame description
            if got is None and all(not s[3] for s in model.by_start[want[1]]) and a.addr > want[1]:
                holes += 1
                continue
            bad.append(f"{a.addr:x}: {got}, expected {want}")
    check(not bad and len(addresses) > 20, f"{name}: all {len(model.starts)} functions by perf's rules", "\n".join(bad))
    shown, _, _ = symbolize("file", path, addresses[:2000], "-t", "3")
    check([a.system for a in shown] == [a.system for a in answers[:2000]], f"{name}: the same by 3 threads")
    return model


def oracle_test(name, path, model, addresses, n_elfutils):
    # symbols only: with DWARF in reach both name the innermost inlined function
    bare = os.path.abspath("bare")
    run("objcopy", "--strip-debug", "--remove-section=.gnu_debuglink", "--remove-section=.note.gnu.build-id",
        tables_of(path)[0][0], bare)
    answers, _, _ = symbolize("file", path, addresses, "-d", "none")
    text = "".join(f"0x{a:x}\n" for a in addresses)
    out = run("llvm-symbolizer", "--no-inlines", "--functions=linkage", "--no-demangle", f"--obj={bare}", text=text)
    llvm = [b.split("\n")[0] for b in out.strip().split("\n\n")]
    few = range(0, len(addresses), max(1, len(addresses) // n_elfutils))  # it walks through the table for each
    eu = run("eu-addr2line", "-e", bare, "-f", text="".join(f"0x{addresses[i]:x}\n" for i in few)).split("\n")[0::2]

    def agrees(a, theirs):
        if theirs in ("??", ""):
            return not a.system
        if not a.system:
            return False
        # a label inside of a function (llvm), or DWARF's base name of a clone
        return theirs.split("@")[0] in model.aliases(a.addr - a.offset) or a.system.startswith(theirs + ".")

    for tool, asked, theirs in (("llvm-symbolizer", answers, llvm), ("eu-addr2line", [answers[i] for i in few], eu)):
        differ = [f"{a.addr:x}: {a.system}+{a.offset:x}, {tool} {t}" for a, t in zip(asked, theirs) if not agrees(a, t)]
        check(len(differ) <= len(asked) // 200, f"{name}: {tool} agrees on random addresses "
              f"({len(differ)} of {len(asked)} differ)", "\n".join(differ))


def by_hand(files, n):
    for path in map(os.path.realpath, files):
        code = [(addr, size) for _, addr, size, flags in sections(path).values() if "X" in flags]
        spots = sorted({addr + rng.randrange(size) for addr, size in rng.choices(code, [s for _, s in code], k=n)})
        oracle_test(os.path.basename(path), path, Model(tables_of(path)), spots, 1500)


def perf_test():
    """perf script's symbol column for samples in user code of files."""
    if not shutil.which("perf"):
        return skip("names as perf prints them", "no perf")
    work = ("import json, re, random, zlib, hashlib\nfor i in range(60):\n d={str(j): [j]*9 for j in range(2000)}\n"
            " s=json.dumps(d); json.loads(s); zlib.compress(s.encode()); re.findall('[0-9]+', s); sorted(s)\n"
            " hashlib.sha256(s.encode()).digest()\n")
    try:
        perf_record("-F", "4000", "-e", "cpu-clock:u", "-o", "perf.data", "python3", "-c", work)
    except RuntimeError as e:
        return skip("names as perf prints them", str(e).splitlines()[-1][:80])
    out = run("perf", "script", "-i", "perf.data", "--show-mmap-events", "--no-demangle", "-F", "pid,ip,sym,symoff,dso")
    maps, wanted = [], {}
    for line in out.splitlines():
        m = re.search(r"MMAP2? .*?\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*: ..x. (/.*)$", line)
        if m:
            start, size = int(m.group(1), 16), int(m.group(2), 16)
            maps.insert(0, (start, start + size, int(m.group(3), 16), m.group(4)))
        m = re.match(r"\s*\d+\s+([0-9a-f]+) (.*) \((/.*)\)$", line)
        if m:
            ip, sym, dso = int(m.group(1), 16), m.group(2), m.group(3)
            hit = next((x for x in maps if x[0] <= ip < x[1] and x[3] == dso), None)
            if hit:
                wanted.setdefault(dso, {})[ip - hit[0] + hit[2]] = sym
    total, bad, kinds = 0, [], {}
    for dso, answers in wanted.items():
        ours, _, _ = symbolize("off", dso, sorted(answers), "-d", "none")
        for a in ours:
            total += 1
            got = f"{a.system}+0x{a.offset:x}" if a.system else "[unknown]"
            want = answers[a.addr]
            # perf 6.1 stops .plt at its own idea of the entries' size, knows no .plt.got and gives the first entry to _init
            if got != want and "@plt" not in got and not got.startswith(".plt+"):
                bad.append(f"{dso} {a.addr:x}: {got}, perf {want}")
    check(total > 50 and not bad, f"names and offsets as perf prints them ({total} addresses in {len(wanted)} files)",
          "\n".join(bad) or f"only {total} addresses")


SIZELESS = r"""
.text
.globl shown, user
.type shown, %function
.type user, %function
.balign 32
shown: .fill 24, 1, 0
.balign 32
inner: .fill 24, 1, 0
.balign 32
user: CALL inner
.size user, . - user
"""


def sizeless():
    """shown has no size, and inner, behind it, no symbol after stripping. But user calls it."""
    for machine, cc, call in (("x86-64", ["gcc"], "call"), ("i386", ["gcc", "-m32"], "call"), ("aarch64", ["aarch64-linux-gnu-gcc"], "bl")):
        write("sizeless.s", SIZELESS.replace("CALL", call))
        if not shutil.which(cc[0]) or subprocess.run([*cc, "-shared", "-nostdlib", "-o", "full.so", "sizeless.s"],
                                                     stderr=subprocess.DEVNULL).returncode:
            skip(f"a symbol without size, {machine}", f"no {cc[0]}")
            continue
        # binutils of another processor may not be here
        run("strip" if cc[0] == "gcc" else "aarch64-linux-gnu-strip", "-o", "bare.so", "full.so")
        at = {f[7]: int(f[1], 16) for f in map(str.split, run("readelf", "-sW", "full.so").splitlines()) if len(f) == 8 and f[1] != "Value"}
        wanted = [at["shown"], at["shown"] + 31, at["inner"], at["inner"] + 31, at["user"]]
        for name, expected in (("full.so", ["shown", "shown", "inner", "inner", "user"]), ("bare.so", ["shown", "shown", "", "", "user"])):
            got, _, _ = symbolize("file", os.path.abspath(name), wanted)
            check([a.system for a in got] == expected, f"a symbol without size ends where a function is called, {machine}, {name}",
                  [a.system for a in got])


parser = argparse.ArgumentParser()
parser.add_argument("-n", type=int, default=3000)
parser.add_argument("files", nargs="*")
args = parser.parse_args()
if args.files:
    by_hand(args.files, args.n)
    end()
for name, path in subjects():
    model = model_test(name, path)
    if name in ORACLES and shutil.which("llvm-symbolizer") and shutil.which("eu-addr2line"):
        oracle_test(name, path, model, code_addresses(path, 3000, rng), 3000 if LONG else 600)
perf_test()
sizeless()
end()

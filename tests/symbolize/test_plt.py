#!/usr/bin/env python3
"""Names of PLT stubs, over linkers and layouts. Truth: the synthetic symbols of objdump (GNU) for x86, of
llvm-objdump for aarch64. A stub that objdump calls FUNC@plt must have that name from its first to its last
byte; other bytes of the PLT sections may be named too (objdump knows no IBT .plt, no header), but never after
a function."""
import os
import re
import shutil

from symtool import *

LIB = "int lib_a(int x) { return x; } int lib_b(int x) { return x + 1; } int lib_c(int x) { return x + 2; }\n"
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int lib_a(int), lib_b(int), lib_c(int);
int (*volatile pointer)(int) = lib_b; /* not a call: .plt.got or no stub at all */
int main(int argc, char **argv)
{
	char *s = strdup(argv[0]);
	puts(s);
	free(s);
	qsort(argv, argc, sizeof *argv, (int (*)(const void *, const void *))strcmp);
	return lib_a(argc) + lib_c(argc) + pointer(argc) + lib_b(argc);
}
"""
BARE = r"""
int ext_a(int), ext_b(int);
__attribute__((visibility("default"))) int shared_fn(int x) { return x; }
int user(int x) { return ext_a(x) + ext_b(x) + shared_fn(x) + ext_a(ext_b(x)); }
"""


def expected(path, objdump="objdump"):
    """vaddr -> name of stubs"""
    names = [n for n, *_ in sections(path).values() if n.startswith((".plt", ".iplt"))]
    out = run(objdump, "-d", *[f"-j{n}" for n in names], path) if names else ""
    r = {}
    for line in out.splitlines():
        m = re.match(r"([0-9a-f]+) <([^>]+)@plt>:", line)
        if m and not m.group(2).startswith("*ABS*"):
            r[int(m.group(1), 16)] = m.group(2) + "@plt"
    return r


def plt_test(name, path, objdump="objdump", at_least=2):
    plts = [(n, a, s) for n, a, s, _ in sections(path).values() if n.startswith((".plt", ".iplt"))]
    want = expected(path, objdump)
    addresses = sorted(x for _, a, s in plts for x in range(a, a + s))
    answers, _, _ = symbolize("file", path, addresses, "-d", "none", "-a")
    got = {a.addr: a for a in answers}
    bad = [f"{v:x}: {got[v].system}+{got[v].offset:x}, expected {n}" for v, n in want.items()
           if v in got and (got[v].system != n or got[v].offset)]
    # the end of a stub: the last byte before the next one
    starts = sorted(want)
    for a, b in zip(starts, starts[1:]):
        if b - a <= 24 and got[b - 1].system != want[a]:
            bad.append(f"{b - 1:x}: {got[b - 1].system}, expected {want[a]} to its end")
    bad += [f"{a.addr:x}: {a.system} in a PLT section" for a in answers
            if not a.system.endswith("@plt") and not a.system.startswith((".plt", ".iplt"))]
    check(len(want) >= at_least and not bad, f"{name}: {len(want)} stubs", "\n".join(bad) or f"only {want}")
    return got


write("lib.c", LIB)
write("main.c", MAIN)
write("bare.c", BARE)
run("gcc", "-shared", "-fPIC", "lib.c", "-o", "libx.so")
cases = [
    ("lazy", "gcc", "-Wl,-z,lazy"),
    ("now (full RELRO)", "gcc", "-Wl,-z,now,-z,relro"),
    ("not PIE", "gcc", "-no-pie", "-fno-pie"),
    ("IBT (.plt.sec)", "gcc", "-fcf-protection", "-Wl,-z,ibtplt,-z,lazy"),
    ("IBT now", "gcc", "-fcf-protection", "-Wl,-z,ibtplt,-z,now"),
    ("BND prefix", "gcc", "-Wl,-z,bndplt,-z,lazy"),
    ("lld", "gcc", "-fuse-ld=lld"),
    ("lld, IBT", "gcc", "-fuse-ld=lld", "-fcf-protection", "-Wl,-z,force-ibt"),
    ("gold", "gcc", "-fuse-ld=gold"),
]
for name, compiler, *flags in cases:
    out = "plt-" + re.sub(r"\W", "", name)
    try:
        run(compiler, "-O1", *flags, "main.c", "./libx.so", "-o", out)
    except RuntimeError as e:
        skip(name, str(e).splitlines()[-1])
        continue
    plt_test(name, os.path.abspath(out))

# A file without symbols names its stubs all the same, and says from what.
if os.path.exists("plt-lazy"):
    run("strip", "-s", "plt-lazy", "-o", "stripped")
    stub = min(expected(os.path.abspath("plt-lazy"), "objdump"))
    answers, source, _ = symbolize("file", os.path.abspath("stripped"), [stub], "-d", "none", "-a")
    check(answers[0].system.endswith("@plt") and source == "PLT", "stripped: the source of a stub's name",
          (answers[0].system, source))

run("gcc", "-O1", "-static", "main.c", "lib.c", "-o", "static")
got = plt_test("static (IRELATIVE only)", os.path.abspath("static"), at_least=0)
named = {a.system for a in got.values() if a.system.endswith("@plt")}
check({"strlen@plt", "memcpy@plt"} & {n.lstrip("_") for n in named} or len(named) > 10,
      f"static: {len(named)} stubs named after their IFUNC resolvers", str(sorted(named)))

run("gcc", "-m32", "-O1", "-fPIC", "-shared", "-nostdlib", "bare.c", "-o", "bare32.so")
plt_test("i386, position independent", os.path.abspath("bare32.so"))
if shutil.which("ld.lld") and shutil.which("clang") and shutil.which("llvm-objdump"):
    for name, flags in (("aarch64", []), ("aarch64, BTI", ["-mbranch-protection=bti", "-Wl,-z,force-bti"])):
        run("clang", "--target=aarch64-linux-gnu", "-O1", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld", *flags,
            "bare.c", "-o", "bare64.so")
        plt_test(name, os.path.abspath("bare64.so"), "llvm-objdump")
else:
    skip("aarch64", "no clang with lld")
for path in ("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/bin/bash",
             "/usr/bin/python3", "/usr/bin/perf", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"):
    if os.path.exists(path):
        plt_test(path, os.path.realpath(path), at_least=0)
end()

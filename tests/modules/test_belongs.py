#!/usr/bin/env python3
"""Sections without a build id, as debuginfod's cache keeps them: those of the right build are used, those of another one are
refused. Right by construction: each file is given its own sections, or those of another build of the same source, or
those of another file. Built here by every compiler and linker that there is; and all files of libc6-dbg where that is
installed."""
import glob
import os
import re
import shutil
import subprocess

from elfsections import sections
from shell import build_id, report, sh

TOOL = os.path.join(os.environ["BUILD"], "tests/modules/tool_find")
FILES_MAX = 40
SYMBOLS, LINES = (".symtab", ".strtab"), (".debug_line", ".debug_line_str")

# With MORE it is another build: what comes behind the first function lies elsewhere.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define F(n) static __attribute__((noinline)) int f##n(int x) { return x * n + (x >> 3 ^ n); } \
	int call##n(int x) { return f##n(x) + f##n(x + n); }
F(1)
#ifdef MORE
__attribute__((noinline)) int extra_function(int x) { __asm__(".fill 300, 1, 0x90"); return x * 7 ^ rand() + f1(x); }
#else
#define extra_function(x) 0
#endif
F(2) F(3) F(4) F(5) F(6) F(7) F(8)
int never_called(int x) { return call8(x) / 3; }
int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", call1(argc) + call2(argc) + call3(argc) + call4(argc) + call5(argc) + call6(argc) + call7(argc) + extra_function(argc));
	return 0;
}
"""
RUST = """
use std::collections::HashMap;
EXTRA
#[inline(never)] fn count(words: &[String]) -> HashMap<String, usize> { let mut m = HashMap::new(); for w in words { *m.entry(w.clone()).or_insert(0) += 1; } m }
fn main() { let a: Vec<String> = std::env::args().collect(); CALL println!("{:?}", count(&a)); }
"""
GO = """
package main
import ("fmt"; "os" IMPORT)
//go:noinline
func count(w []string) map[string]int { m := map[string]int{}; for _, x := range w { m[x]++ }; return m }
func main() { CALL fmt.Println(count(os.Args)) }
"""


def build_rust(out, more):
    with open("s.rs", "w") as f:
        f.write(RUST.replace("EXTRA", '#[inline(never)] fn extra(n: usize) { println!("{}", n * 3); }' if more else "")
                .replace("CALL", "extra(a.len());" if more else ""))
    sh(f"rustc -g -O -C link-arg=-Wl,--build-id -o {out} s.rs")


def build_go(out, more):
    with open("s.go", "w") as f:
        f.write(GO.replace("IMPORT", '; "encoding/json"' if more else "").replace("CALL", "json.Marshal(os.Args);" if more else ""))
    sh(f"go build -ldflags=-B=0x{'ab' * 19}{int(more):02x} -o {out} s.go",
       env=dict(os.environ, GOCACHE=os.path.abspath("gocache"), GO111MODULE="off", HOME=os.getcwd()))


FLAVOURS = {
    "gcc": "gcc -O2", "gcc, DWARF 4": "gcc -O2 -gdwarf-4", "gcc -O0": "gcc -O0", "gcc, shared": "gcc -O2 -fPIC -shared",
    "gcc, garbage collected": "gcc -O2 -ffunction-sections -Wl,--gc-sections", "gcc -flto": "gcc -O2 -flto",
    "gcc, exporting": "gcc -O2 -rdynamic", "gcc, no PIE": "gcc -O2 -no-pie", "gcc, static": "gcc -O2 -static",
    "gcc, ld.gold": "gcc -O2 -fuse-ld=gold", "gcc, ld.lld": "gcc -O2 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections -Wl,--icf=all",
    "gcc -m32": "gcc -O2 -m32 -nostdlib -shared -fPIC", "gcc, zlib": "gcc -O2 -gz=zlib", "gcc, no CFI": "gcc -O2 -fno-asynchronous-unwind-tables",
    "g++": "g++ -O2 -x c++", "clang": "clang -O2", "clang, DWARF 4": "clang -O2 -gdwarf-4",
    "clang, ld.lld": "clang -O2 -fuse-ld=lld", "clang -flto": "clang -O2 -flto -fuse-ld=lld", "arm64": "aarch64-linux-gnu-gcc -O2",
    "rust": build_rust, "go": build_go,
}


def build_c(command, out, more):
    other = f"-DMORE -ffile-prefix-map={os.getcwd()}=/{'x' * 100}" if more else ""
    sh(f"{command} -g -Wl,--build-id -w -o {out} {other} s.c")


def build(name, out, more):
    """False when the means are not here."""
    try:
        how = FLAVOURS[name]
        build_c(how, out, more) if isinstance(how, str) else how(out, more)
    except subprocess.CalledProcessError as e:
        print(f"ok - {name} # SKIP cannot be built here: {e.stdout.decode(errors='replace').strip().splitlines()[-1:]}")
        return False
    return True


class Cache:
    """The places of one image: itself under symfs/, and sections in a cache."""

    def __init__(self, image, strip="strip"):
        for d in ("cache", "symfs"):
            shutil.rmtree(d, ignore_errors=True)
        os.makedirs("symfs/bin")
        self.id = build_id(image)
        os.makedirs(f"cache/{self.id}", mode=0o700)
        if strip:
            sh(f"{strip} -o symfs/bin/image {image}")
        else:
            shutil.copy(image, "symfs/bin/image")
        self.put(sections(image), [".note.gnu.build-id"])

    def put(self, of, names):
        for n in names:
            if of.get(n):
                with open(f"cache/{self.id}/section-{n}", "wb") as f:
                    f.write(of[n])

    def find(self):
        """(1: a debug file was made of sections, 2: with lines; what was refused; all that was said)"""
        env = dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.abspath("cache"), PERF_BUILDID_DIR="/none", HOME="/none")
        out = subprocess.run([TOOL, "/bin/image", "symfs=symfs", f"id={self.id}"], env=env, stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        made = f"{os.path.abspath('cache')}/{self.id}/section-.symtab"
        return (f"debug {made}" in out) + (f"lines {made}" in out), [l for l in out.splitlines() if "of another build" in l], out


def check_pair(name, one, other, strip="strip"):
    """Sections of `one`, whole or with some of the other build."""
    a, b = sections(one), sections(other)
    c = Cache(one, strip)
    have = [n for n in LINES if a.get(n)]
    c.put(a, (*SYMBOLS, *have))
    made, refused, out = c.find()
    report(made == 1 + bool(have) and not refused, f"{name}: its own sections", out)
    c.put(b, SYMBOLS)
    made, refused, out = c.find()
    report(not made and len(refused) == 2 and "debuginfod .symtab: of another build" in out, f"{name}: symbols of another build", out)
    for n in SYMBOLS:
        c.put(a, SYMBOLS)
        c.put(b, [n])
        if a[n] == b[n]:
            continue
        made, refused, out = c.find()
        report(not made and "debuginfod .symtab: of another build" in out, f"{name}: {n} of another build", out)
    c.put(a, SYMBOLS)
    for names in (have, *([n] for n in have)):
        if not names or all(a[n] == b.get(n) for n in names):
            continue
        c.put(a, have)
        c.put(b, names)
        made, refused, out = c.find()
        report(made == 1 and len(refused) == len(have) and all(f"debuginfod {n}: of another build" in out for n in have),
               f"{name}: {' and '.join(names)} of another build; the symbols are used", out)


def flavours():
    with open("s.c", "w") as f:
        f.write(SOURCE)
    for name in FLAVOURS:
        if build(name, "one", False) and build(name, "other", True):
            check_pair(name, "one", "other", "aarch64-linux-gnu-strip" if name == "arm64" else "strip")


def close():
    """The closest that another build can be: one function is a byte longer, and alignment hides it from all others."""
    longer = '#define LONGER(n) if (n == 5) __asm__("nop");\n' + SOURCE.replace("int call##n(int x) { return", "int call##n(int x) { LONGER(n) return")
    for name, text in (("one", SOURCE), ("other", longer)):
        with open("s.c", "w") as f:
            f.write(text)
        build_c("gcc -O2", name, False)
    starts = [{(l.split()[0], l.split()[-1]) for l in sh(f"nm {f}").splitlines() if " t " in l.lower()} for f in ("one", "other")]
    sizes = [sh(f"nm -S {f} | grep ' [tT] '") for f in ("one", "other")]
    if starts[0] != starts[1] or sizes[0] == sizes[1]:
        print("ok - one function is a byte longer # SKIP this compiler does not align functions to 16 bytes")
        return
    c = Cache("one")
    c.put(sections("other"), SYMBOLS)
    made, refused, out = c.find()
    report(not made and "functions of the binary end elsewhere" in out, "one function is a byte longer: refused", out)


def cold():
    """What gcc splits off may begin with instructions that have the line it gave last, elsewhere: they get no row."""
    if os.uname().machine != "x86_64":
        print("ok - cold code without a row # SKIP it is in x86-64 assembly")
        return
    with open("s.s", "w") as f:
        f.write('''	.file 1 "s.c"
	.globl main
	.type main, @function
main:	.cfi_startproc
	.loc 1 3
	cmp $100, %edi
	jg main.cold
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, .-main
	.section .text.unlikely, "ax", @progbits
	.type main.cold, @function
main.cold:
	.cfi_startproc
	nop
	.loc 1 5
	ud2
	.cfi_endproc
	.size main.cold, .-main.cold
''')
    sh("gcc -g -Wl,--build-id -o one s.s")
    c = Cache("one")
    a = sections("one")
    c.put(a, (*SYMBOLS, *[n for n in LINES if a.get(n)]))
    made, refused, out = c.find()
    report(made == 2 and not refused, "cold code whose first instructions have no row: its own lines", out)


def relocatable():
    """As kernel modules are: sections are laid out, and the line table is right, only when they are loaded."""
    sh("gcc -O2 -g -c -o s.o s.c && ld -r --build-id -o one s.o")
    c = Cache("one", "strip --strip-debug")
    c.put(sections("one"), (*SYMBOLS, *LINES))
    made, _, out = c.find()
    report(made == 1 and "debuginfod .debug_line: of no use, it is not relocated" in out, "relocatable: symbols, but no lines", out)


def exported(image):
    return len(re.findall(r" FUNC .* \d+ \w", sh(f"readelf -W --dyn-syms {image}")))


def installed():
    """Libraries of packages, each with its own sections and with those of another one. (Small ones are left out: they are made of
    one source, or of nothing.)"""
    pairs = []
    for image in glob.glob("/usr/lib/*/lib*.so*"):
        with open(image, "rb") as f:
            if os.path.islink(image) or f.read(4) != b"\x7fELF":
                continue
        bid = build_id(image)
        debug = f"/usr/lib/debug/.build-id/{bid[:2]}/{bid[2:]}.debug"
        if bid and os.path.exists(debug) and exported(image) > 10:
            pairs.append((image, sections(debug)))
    if len(pairs) < 2:
        print("ok - debug packages # SKIP none is installed")
        return
    bad = []
    for (image, own), (other_image, other) in zip(pairs[:FILES_MAX], pairs[1:] + pairs[:1]):
        c = Cache(image, strip=None)
        c.put(own, (*SYMBOLS, *LINES))
        made, refused, out = c.find()
        if made != 2 or refused:
            bad.append((image, out))
        c.put(other, SYMBOLS)
        if c.find()[0]:
            bad.append((image, "with the symbols of", other_image))
        c.put(own, SYMBOLS)
        c.put(other, LINES)
        if c.find()[0] != 1:
            bad.append((image, "with the lines of", other_image))
    report(not bad, f"{len(pairs)} libraries of packages, with their own sections and with those of another", bad[:9])


flavours()
close()
cold()
relocatable()
installed()

#!/usr/bin/env python3
"""Where a file's names come from: whole, stripped, with debuglink, by build id, with MiniDebugInfo; without section
headers; with symbols that have no size, lie outside of their section, or do not exist. Truth: by construction."""
import glob
import os
import random
import re
import shutil
import subprocess

from symtool import *

rng = random.Random(3)

SOURCE = r"""
static __attribute__((noinline)) int hidden_helper(int x) { asm volatile(""); return x * 3; }
__attribute__((noinline)) int exported(int x) { asm volatile(""); return hidden_helper(x) + 1; }
int main(int argc, char **argv) { return exported(argc) + hidden_helper(argc); }
"""
ASM = r"""
	.text
	.globl sizeless
sizeless:			# NOTYPE, no size
	.cfi_startproc
	.fill 16, 1, 0x90
	ret
	.cfi_endproc
	.balign 32
.Lnameless:			# a function only .eh_frame knows
	.cfi_startproc
	.fill 16, 1, 0x90
	ret
	.cfi_endproc
	.balign 32
	.globl sized
	.type sized, @function
sized:
	.cfi_startproc
	.fill 8, 1, 0x90
	.globl label_inside
label_inside:
	.fill 8, 1, 0x90
	ret
	.cfi_endproc
	.size sized, . - sized
	.fill 15, 1, 0xcc		# padding of no function
	.globl last
	.type last, @function
last:
	.fill 16, 1, 0x90
	.section .other, "ax"
	.fill 64, 1, 0x90
	.section .data
	.globl object
	.type object, @object
	.size object, 64
object: .fill 64
"""


def starts(path):
    return {s[6]: s[0] for s in symbols(path, ".symtab")}


def names(path, addresses, *options):
    answers, source, reason = symbolize("file", path, addresses, *options)
    return [a.system for a in answers], source, reason


def debug_files():
    write("p.c", SOURCE)
    run("gcc", "-g", "-O1", "-rdynamic", "-Wl,--build-id=0x" + "ab" * 20, "p.c", "-o", "whole")
    at = starts("whole")
    wanted = ["exported", "hidden_helper", "main"]
    addresses = [at[n] + 1 for n in wanted]
    whole = os.path.abspath("whole")
    got, source, _ = names(whole, addresses)
    check(got == wanted and source == "symtab, dynsym", "not stripped", (got, source))

    run("objcopy", "--only-keep-debug", "whole", "whole.debug")
    run("objcopy", "--strip-all", "whole", "stripped")
    stripped = os.path.abspath("stripped")
    # hidden_helper lies in a hole of .dynsym: it must not be called like its neighbour
    got, source, reason = names(stripped, addresses)
    check(got == ["exported", "", "main"] and source == "dynsym", "stripped: .dynsym, holes stay holes",
          (got, source))

    run("objcopy", "--add-gnu-debuglink=whole.debug", "stripped", "linked")
    got, source, _ = names(os.path.abspath("linked"), addresses)
    check(got == wanted and "whole.debug" in source, "debuglink", (got, source))

    os.makedirs("dbg/.build-id/ab")
    shutil.move("whole.debug", "dbg/.build-id/ab/" + "ab" * 19 + ".debug")
    got, source, _ = names(stripped, addresses, "-D", os.path.abspath("dbg"))
    check(got == wanted and "/ab/" in source, "debug file by build id", (got, source))

    # MiniDebugInfo as Fedora makes it: the functions that .dynsym does not have
    run("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=hidden_helper", "whole", "mini")
    run("xz", "-f", "-k", "mini")
    run("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "stripped", "fedora")
    got, source, _ = names(os.path.abspath("fedora"), addresses)
    check(got == wanted and "minidebuginfo" in source and "dynsym" in source, "MiniDebugInfo and .dynsym together",
          (got, source))

    # no section headers at all: e_shoff, e_shnum, e_shstrndx zeroed
    data = bytearray(open("stripped", "rb").read())
    data[0x28:0x30] = bytes(8)
    data[0x3c:0x40] = bytes(4)
    open("headerless", "wb").write(data)
    got, _, _ = names(os.path.abspath("headerless"), addresses)
    check(got == ["exported", "", "main"], "no section headers: symbols through PT_DYNAMIC", got)

    got, source, reason = names("/no/such/file", addresses)
    check(got == [""] * 3 and source == "" and reason == "file not found", "no file", reason)
    got, source, reason = names(stripped, addresses, "-b", "cd" * 20)
    check(got == [""] * 3 and reason == "file has another build id", "another build id", reason)
    write("text", "not an ELF file\n")
    got, source, reason = names(os.path.abspath("text"), addresses)
    check(got == [""] * 3 and reason == "file cannot be read", "not an ELF file", reason)
    run("gcc", "-static", "-nostdlib", "-s", "-Wl,--build-id=none", "-x", "c", "-", "-o", "bare",
        text="void _start(void) {}\n")
    seg = next(a for n, a, *_ in sections("bare").values() if n == ".text")
    got, source, reason = names(os.path.abspath("bare"), [seg])
    check(got == [""] and reason == "file has no symbols", "no symbols at all", reason)
    answers, _, _ = symbolize("off", whole, [0xffffffffff, 2**63])
    check([a.system for a in answers] == ["", ""], "offsets outside of the file")


def odd_symbols(table):
    """With the linker's search table and, as in static programs, without one"""
    write("odd.s", ASM)
    run("gcc", "-shared", "-nostdlib", f"-Wl,--{table}", "odd.s", "-o", "odd.so")
    at = starts("odd.so")
    odd = os.path.abspath("odd.so")
    other = next(a for n, a, *_ in sections(odd).values() if n == ".other")
    rows = [
        ("start of a symbol without size", at["sizeless"], "sizeless"),
        ("inside of it", at["sizeless"] + 16, "sizeless"),
        ("up to where .eh_frame knows another function", at["sizeless"] + 31, "sizeless"),
        ("a function without a name gives no name", at["sizeless"] + 32, ""),
        ("inside of it, too", at["sizeless"] + 48, ""),
        ("a sized function", at["sized"], "sized"),
        ("a label in it does not take over", at["label_inside"] + 2, "sized"),
        ("its last byte", at["sized"] + 16, "sized"),
        ("the last function", at["last"], "last"),
        ("without size: to the end of the section", at["last"] + 15, "last"),
        ("not into the next section", other, ""),
    ]
    got, _, _ = names(odd, [r[1] for r in rows])
    for (what, addr, want), have in zip(rows, got):
        check(have == want, f"odd symbols, {table}: {what}", f"{addr:x}: {have!r}, expected {want!r}")


def edited_symbols():
    """st_value, st_shndx and st_name of a good symbol table changed one at a time."""
    data = open("whole", "rb").read()
    import struct
    shoff, = struct.unpack_from("<Q", data, 0x28)
    num, = struct.unpack_from("<H", data, 0x3c)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * 64) for i in range(num)]
    sym = next(h for h in heads if h[1] == 2)
    strs = heads[sym[6]]
    entry = next(o for o in range(sym[4], sym[4] + sym[5], 24)
                 if data[strs[4] + struct.unpack_from("<I", data, o)[0]:].startswith(b"hidden_helper\0"))
    addr, = struct.unpack_from("<Q", data, entry + 8)
    cases = (("value 0, as of discarded functions", 8, "<Q", 0), ("value in another section", 8, "<Q", 0x10),
             ("section undefined", 6, "<H", 0), ("section absolute", 6, "<H", 0xfff1),
             ("section that does not exist", 6, "<H", 0x7777), ("name outside of the table", 0, "<I", 0x7fffffff),
             ("no name", 0, "<I", 0), ("a data section", 6, "<H", next(i for i, h in enumerate(heads) if h[1] == 8)))
    for what, off, form, value in cases:
        bad = bytearray(data)
        struct.pack_into(form, bad, entry + off, value)
        open("edited", "wb").write(bad)
        got, _, _ = names(os.path.abspath("edited"), [addr, 0, 0x10])
        check(got == ["", "", ""], f"edited symbol: {what}", got)
    bad = bytearray(data)
    struct.pack_into("<Q", bad, entry + 16, 2**64 - 1)
    open("edited", "wb").write(bad)
    got, _, _ = names(os.path.abspath("edited"), [addr, addr + 1, starts("whole")["main"] + 1])
    check(got[:2] == ["hidden_helper"] * 2 and got[2] == "main", "edited symbol: endless size ends with the section", got)


def perf_maps():
    write("perf-1.map", "7f0000001000 20 first\n7f0000001020 20 second one\n7f0000001010 20 later\n")
    answers, source, _ = symbolize("jit", "perf-1.map",
                                   [0x7f0000001000, 0x7f0000001018, 0x7f0000001024, 0x7f0000001038, 0x7f0000001040])
    check([(a.system, a.offset) for a in answers] ==
          [("first", 0), ("later", 8), ("later", 20), ("second one", 0x18), ("", 0)] and source == "perf-1.map",
          "perf-PID.map: later lines win", [(a.system, a.offset) for a in answers])
    answers, source, reason = symbolize("jit", "perf-2.map", [0x7f0000001000])
    check(not answers[0].system and reason == "no perf-PID.map of the process", "perf-PID.map: none", reason)
    lines = [f"{rng.randrange(2**47):x} {rng.randrange(2**12):x} f{i}" for i in range(20000)]
    for _ in range(2000):
        lines.insert(rng.randrange(len(lines)), "".join(chr(rng.randrange(1, 255)) for _ in range(rng.randrange(60))))
    open("perf-3.map", "w", encoding="latin-1").write("\n".join(lines))
    answers, _, _ = symbolize("jit", "perf-3.map", [rng.randrange(2**47) for _ in range(1000)])
    check(len(answers) == 1000, "perf-PID.map: garbage between the lines")
    run("mkfifo", "perf-4.map")
    _, _, reason = symbolize("jit", "perf-4.map", [1])
    check(reason == "no perf-PID.map of the process", "perf-PID.map: a FIFO is not waited for", reason)


def container_map():
    """A process that is PID 1 of its own namespaces, with its own /tmp."""
    script = 'mount -t tmpfs none /tmp && echo "7f0000001000 20 inside" > /tmp/perf-1.map && echo ready && exec sleep 30'
    p = subprocess.Popen(["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", script],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if p.stdout.readline() != "ready\n":
            return skip("perf-PID.map in a container", "cannot make namespaces")
        child = run("ps", "-o", "pid=", "--ppid", str(p.pid)).strip()
        path = f"/tmp/perf-{child}.map"
        answers, source, reason = symbolize("jit", path, [0x7f0000001004])
        check(answers[0].system == "inside" and source == f"/proc/{child}/root/tmp/perf-1.map",
              "perf-PID.map in a container", (answers[0].system, source, reason))
    finally:
        p.kill()
        p.wait()


def demangling_options():
    write("d.cc", "namespace ns { template <class T> struct W { __attribute__((noinline)) T run(T x) { return x + 1; } }; }\n"
          "int main(int c, char **) { ns::W<int> w; return w.run(c); }\n")
    run("g++", "-O0", "d.cc", "-o", "d")
    addr = starts("d")["_ZN2ns1WIiE3runEi"]
    for how, want in (("full", "ns::W<int>::run(int)"), ("simple", "ns::W<...>::run"), ("none", "_ZN2ns1WIiE3runEi")):
        answers, _, _ = symbolize("file", os.path.abspath("d"), [addr], "-d", how)
        a = answers[0]
        check(a.shown == want and a.system == "_ZN2ns1WIiE3runEi" and a.lines[0][0] == want, f"demangle {how}", a.shown)


def folded_functions():
    """Functions made one by the linker (here by .set), against spellings of one name."""
    write("icf.s", ".text\n.globl one,two,three,_ZN1CC1Ev,_ZN1CC2Ev\n" +
          "".join(f".type {n},@function\n{n}:\n" for n in ("one", "two", "three")) + "ret\n" +
          "".join(f".size {n},1\n" for n in ("one", "two", "three")) +
          ".balign 16\n" + "".join(f".type {n},@function\n{n}:\n" for n in ("_ZN1CC1Ev", "_ZN1CC2Ev")) +
          "ret\n.size _ZN1CC1Ev,1\n.size _ZN1CC2Ev,1\n")
    run("gcc", "-shared", "-nostdlib", "icf.s", "-o", "icf.so")
    at = starts("icf.so")
    path = os.path.abspath("icf.so")
    answers, _, _ = symbolize("file", path, [at["one"], at["_ZN1CC1Ev"]], "-a")
    check([(a.system, a.aliases) for a in answers] == [("three", 0), ("_ZN1CC1Ev", 0)], "GNU ld does not fold: names of C are aliases",
          [(a.system, a.aliases) for a in answers])


FOLD = """
#define N __attribute__((noinline, used))
extern "C" { N int first(int x) { return x * 3 + 1; } N int second(int x) { return x * 3 + 1; } N int third(int x) { return x * 3 + 1; }
int alias(int) __attribute__((weak, alias("first"))); int __first(int) __attribute__((alias("first"))); }
namespace a { struct S { N int get(int x) { return x * 7 - 1; } S(); int v; }; N S::S() : v(3) {} }
namespace b { struct T { N int put(int x) { return x * 7 - 1; } }; template <class X> struct U { N int run(int x) { return x * 7 - 1; } };
template struct U<int>; template struct U<unsigned>; }
N int alone(int x) { return x / 5; }
int main(int c, char **) { a::S s; b::T t; b::U<int> u; b::U<unsigned> w;
return first(c) + second(c) + third(c) + s.get(c) + t.put(c) + u.run(c) + w.run(c) + alone(c); }
"""


def folding_linkers():
    """gold and lld make identical functions one: the sources say which (first, second, third; S::get, T::put, both U::run)."""
    write("fold.cc", FOLD)
    for linker, flag in (("gold", "--icf=all"), ("lld", "--icf=all"), ("gold", "--icf=none"), ("bfd", "")):
        name = f"ICF by {linker} {flag}".strip()
        if linker != "bfd" and not shutil.which(f"ld.{linker}"):
            skip(name, f"no ld.{linker}")
            continue
        exe = os.path.abspath(f"fold-{linker}{flag}")
        # -fno-ipa-icf: gcc would fold before the linker can
        run("g++", "-O1", "-g", "-fno-ipa-icf", "-ffunction-sections", "fold.cc", "-o", exe, f"-fuse-ld={linker}",
            *([f"-Wl,{flag}"] if flag else []))
        at = starts(exe)
        want = {"first": 2, "_ZN1a1S3getEi": 3, "_Z5alonei": 0, "_ZN1a1SC1Ev": 0, "main": 0}
        if "all" not in flag:
            want = dict.fromkeys(want, 0)
        answers, _, _ = symbolize("file", exe, [at[n] for n in want], "-a")
        got = {n: a.aliases for n, a in zip(want, answers)}
        check(got == want, name, f"{got}, not {want}")
        for a, n in zip(answers, want):
            check(a.shown.endswith(f" [+{want[n]}]") if want[n] else "[" not in a.shown, f"{name}: {n} is marked", a.shown)
        answers, _, _ = symbolize("file", exe, [at[n] for n in want], "-d", "simple")
        check(not [a for a in answers if a.aliases or "[+" in a.shown], f"{name}: not with simple names", [a.shown for a in answers])
        lines, _, _ = symbolize("file", exe, [at[n] for n in want], "-i")
        if linker == "lld":  # it leaves the debug information of the function that it keeps
            check([a.system for a in lines[:2]] == ["first", "_ZN1a1S3getEi"], f"{name}: the name is the one DWARF has there", [a.system for a in lines])
        check(all(a.lines[-1][0].split("(")[0] == a.shown.split("(")[0] for a in lines if a.lines), f"{name}: chain and symbol agree",
              [(a.shown, a.lines) for a in lines])


def aliases_keep_their_names():
    """Debug information knows one name of a function; whether it is there must not change which is shown."""
    write("alias.c", """
static inline int inner(int x) { __asm__ volatile("nop"); return x * 3; }
__attribute__((noinline)) static int impl(int x) { return inner(x) + 1; }
int shown(int x) __attribute__((alias("impl")));
int main(void) { return shown(2); }
""")
    run("gcc", "-O1", "-g", "-Wno-unused-function", "alias.c", "-o", "alias")
    at = starts("alias")
    path = os.path.abspath("alias")
    plain, _, _ = symbolize("file", path, [at["shown"]], "-a")
    lines, _, _ = symbolize("file", path, [at["shown"]], "-i", "-a")
    check(at["shown"] == at["impl"] and lines[0].lines, "an alias with lines", lines)
    check([a.system for a in plain] == [a.system for a in lines] == ["shown"], "is named as without them",
          (plain, lines))


def aliases_are_not_folded():
    """glibc and what gcc made without --icf: thousands of aliases, none of them marked."""
    for path in glob.glob("/lib/*-linux-gnu/libc.so.6") + glob.glob("/lib/*-linux-gnu/libcrypto.so.3"):
        at = {s[6]: s[0] for s in symbols(os.path.realpath(path), ".dynsym")}
        answers, _, _ = symbolize("file", os.path.realpath(path), sorted(set(at.values())), "-a")
        marked = [a.shown for a in answers if a.aliases]
        check(len(answers) > 500 and not marked, f"no function of {os.path.basename(path)} is marked", marked)


debug_files()
odd_symbols("eh-frame-hdr")
odd_symbols("no-eh-frame-hdr")
folded_functions()
folding_linkers()
aliases_keep_their_names()
aliases_are_not_folded()
edited_symbols()
perf_maps()
container_map()
demangling_options()
end()

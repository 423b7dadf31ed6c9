#!/usr/bin/env python3
"""Kernel names. Truth: /proc/kallsyms itself, read here by perf's rules (types t T w W d D b B; of several names
the last one, which is the one that perf gives a length); perf script on a recording; and lists made
up here for what this machine does not have (modules, hidden addresses, another kernel)."""
import bisect
import os
import platform
import random
import re
import shutil
import subprocess

from recorder import perf_record
from symtool import *

rng = random.Random(1)
RELEASE = ["-r", platform.release()]


def model():
    by_start = {}
    with open("/proc/kallsyms") as f:
        for order, line in enumerate(f):
            addr, kind, name, *module = line.split()
            if kind not in "tTwWdDbB" or name.startswith((".L", "$")):
                continue
            by_start.setdefault(int(addr, 16), []).append((order, name, module))
    return by_start


def running_kernel():
    by_start = model()
    if not any(by_start):
        return skip("the running kernel", "kptr_restrict hides the addresses")
    starts = sorted(by_start)
    last = max(s for s in starts if not max(by_start[s])[2])
    addresses = sorted({rng.randrange(starts[0], last) for _ in range(20000)} | set(rng.sample(starts, 3000)))
    # per-CPU symbols are at the bottom of the address space: nothing is executed there
    addresses = [a for a in addresses if a >> 48]
    answers, source, _ = symbolize("kernel", "[kernel.kallsyms]", addresses, *RELEASE)
    bad = []
    for a in answers:
        start = starts[bisect.bisect_right(starts, a.addr) - 1]
        want = max(by_start[start])[1]
        if (a.system, a.addr - a.offset) != (want, start):
            bad.append(f"{a.addr:x}: {a.system}+{a.offset:x}, expected {want} at {start:x}")
    check(not bad and source == "/proc/kallsyms", f"{len(addresses)} addresses of the running kernel", "\n".join(bad))


def which_kernel():
    # A kernel of which nothing is recorded is known by the addresses of this one, where the user may see them.
    hidden = not any(int(line.split()[0], 16) for line in open("/proc/kallsyms"))
    for name, options in (("another release", ["-r", "1.2.3"]), ("nothing recorded", []),
                          ("another build id", [*RELEASE, "-b", "00" * 19 + "01"])):
        answers, source, reason = symbolize("kernel", "[kernel.kallsyms]", [0xffffffff81000010], *options)
        want = "kernel addresses hidden (kernel.kptr_restrict)" if hidden and not options else "recorded on another kernel"
        check(not answers[0].system and source == "" and reason == want, f"{name}: not used", reason)
    notes = open("/sys/kernel/notes", "rb").read()
    at = notes.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    if at < 0:
        return skip("same build id", "no build id in /sys/kernel/notes")
    build_id = notes[at + 16:at + 36].hex()
    if not hidden:
        answers, source, _ = symbolize("kernel", "[kernel.kallsyms]", [0xffffffff81000010], "-b", build_id, "-r", "1.2.3")
        check(source == "/proc/kallsyms", "same build id, whatever the release says", source)
    else:
        skip("same build id, whatever the release says", "/proc/kallsyms hides the addresses from this user")
    cache = os.path.join(ENV["PERF_BUILDID_DIR"], "[kernel.kallsyms]", "ab" * 20)
    os.makedirs(cache)
    write(os.path.join(cache, "kallsyms"), "ffffffff81000000 T _stext\nffffffff81000100 t cached\n")
    answers, source, _ = symbolize("kernel", "[kernel.kallsyms]", [0xffffffff81000104], "-b", "ab" * 20)
    check(answers[0].system == "cached" and answers[0].offset == 4 and source.endswith("/kallsyms"),
          "perf's cache, by build id", (answers[0].system, source))


def made_up_lists():
    listing = write("kallsyms", "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81001000 T do_it\n"
                    "ffffffffc0000000 t nf_hook\t[nf_conntrack]\nffffffffc0000400 t nf_other\t[nf_conntrack]\n"
                    "ffffffffc0005000 t ext4_x\t[ext4]\n")
    answers, source, _ = symbolize("kernel", "[kernel.kallsyms]", [0xffffffff81001234], "-k", listing)
    check(answers[0].system == "do_it" and answers[0].offset == 0x234 and source == "kallsyms", "--kallsyms FILE",
          answers[0].system)
    for path in ("[nf_conntrack]", "/lib/modules/x/nf-conntrack.ko.xz"):
        answers, _, _ = symbolize("module", path, [0xffffffffc0000401, 0xffffffffc0005001], "-k", listing)
        check([a.system for a in answers] == ["nf_other", ""], f"{path}: its own symbols only",
              [a.system for a in answers])
    hidden = write("hidden", "0000000000000000 T _text\n0000000000000000 t do_it\n")
    answers, source, reason = symbolize("kernel", "[kernel.kallsyms]", [0xffffffff81001234], "-k", hidden)
    check(not answers[0].system and "kptr_restrict" in reason and source == "", "hidden kernel addresses: no name, and the reason is kptr_restrict", reason)
    for name, text in (("an empty list", ""), ("garbage", "f\0\1\2\xff\n" * 99)):
        _, _, reason = symbolize("kernel", "[kernel.kallsyms]", [1], "-k", write("bad", text))
        check(reason == "kernel symbols not available", name, reason)
    for option in ("-k", "-v"):
        p = subprocess.run([TOOL, option, "no-such-file", "kernel", "x"], input="1\n", text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
        check(p.returncode == 2 and "No such file" in p.stderr, f"{option}: a file that is named must be there", p.stderr)
        p = subprocess.run([TOOL, option, write("bad", "\1\2"), "kernel", "x"], input="1\n", text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
        check(p.returncode == 2 and ("no list" in p.stderr or "not an ELF" in p.stderr), f"{option}: a file of another kind is refused", p.stderr)
    _, _, reason = symbolize("guest", "[guest.kernel.kallsyms]", [1])
    check(reason == "kernel symbols not available", "guest kernels", reason)


def another_boot():
    """A list with other addresses than the recording's kernel had: its kernel map says where _text was."""
    try:
        perf_record("-e", "cpu-clock", "-o", "perf.data", "true")
    except (RuntimeError, OSError):
        return skip("another boot", "no perf record here")
    m = re.search(r"\[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)\b.*\[kernel\.kallsyms\]_s?text",
                  run("perf", "script", "--show-mmap-events", "-i", "perf.data"))
    if not m or int(m.group(3), 16) == 0:
        return skip("another boot", "the recording hides the kernel's address")
    text = int(m.group(3), 16)
    for steps in (0, 9, -3):
        base = text - (steps << 21)
        listing = write("moved", f"{base:x} T _text\n{base:x} T _stext\n{base + 0x1000:x} T do_it\n"
                        f"{base + 0x8000000:x} t in_module\t[mod]\n")
        answers, _, _ = symbolize("kernel", "[kernel.kallsyms]", [text + 0x1010], "-k", listing, "-p", "perf.data")
        check(answers[0].system == "do_it" and answers[0].offset == 0x10, f"kernel moved by {steps} * 2 MiB",
              answers[0].system)
        # modules are moved independently of the kernel
        answers, _, _ = symbolize("module", "[mod]", [base + 0x8000010], "-k", listing, "-p", "perf.data")
        check(answers[0].system == ("" if steps else "in_module"), f"its modules ({steps} steps)", answers[0].system)


def kernel_image():
    """A vmlinux of ours, at the address where kernels are."""
    write("vmlinux.c", "void _start(void) {}\nint do_work(int x) { return x * 2; }\nint other(int x) { return x; }\n")
    run("gcc", "-O1", "-g", "-nostdlib", "-static", "-mcmodel=kernel", "-fno-pie", "-no-pie",
        "-Wl,-Ttext=0xffffffff81000000", "-Wl,--build-id=0x" + "cd" * 20, "vmlinux.c", "-o", "vmlinux")
    start = next(s for s in symbols("vmlinux", ".symtab") if s[6] == "do_work")[0]
    answers, source, _ = symbolize("kernel", "[kernel.kallsyms]", [start + 1], "-v", "vmlinux", "-b", "cd" * 20)
    check(answers[0].system == "do_work" and answers[0].offset == 1 and source == "symtab of vmlinux", "--vmlinux FILE",
          (answers[0].system, source))
    answers, source, reason = symbolize("kernel", "[kernel.kallsyms]", [start + 1], "-v", "vmlinux", "-b", "ce" * 20)
    check(not answers[0].system and source == "", "a vmlinux with another build id is refused", reason)


def module_file():
    """A .ko: code sections laid out as the kernel's loader does, symbols per section."""
    write("mod.c", "__attribute__((section(\".init.text\"))) int m_init(void) { return 1; }\n"
          "int m_first(int x) { return x; }\nint m_second(int x) { return x + 1; }\n"
          "__attribute__((section(\".text.unlikely\"), aligned(64))) int m_cold(int x) { return x + 2; }\n"
          "__attribute__((section(\".exit.text\"))) int m_exit(void) { return 3; }\n")
    run("gcc", "-O1", "-c", "mod.c", "-o", "mod.ko")
    at, want = 0, {}
    heads = run("readelf", "-SW", "mod.ko")
    for n, (name, _, size, flags) in sections("mod.ko").items():
        if "X" not in flags or name.startswith(".init"):
            continue
        align = int(re.search(r"\[\s*%d\].*\s(\d+)$" % n, heads, re.M).group(1))
        at = -(-at // align) * align
        for value, length, kind, _, _, ndx, symbol in symbols("mod.ko", ".symtab"):
            if ndx == n and kind == "FUNC":
                want[at + value] = symbol
        at += size
    for suffix, command in (("", None), (".gz", "gzip"), (".xz", "xz"), (".zst", "zstd")):
        path = os.path.abspath("mod.ko" + suffix)
        if command and not shutil.which(command):
            skip(f"module file {suffix}", f"no {command}")
            continue
        if command:
            run(command, "-k", "-f", "-q" if command != "gzip" else "-9", "mod.ko")
        answers, source, reason = symbolize("module", path, sorted(want), "-k", "/dev/null")
        check({a.addr: a.system for a in answers} == want and len(want) == 4 and source == "symtab",
              f"module file mod.ko{suffix} by the loader's layout", (want, [a.system for a in answers], reason))


def bpf_and_unknown():
    answers, source, _ = symbolize("bpf", "bpf_prog_6deef7357e7b4530_sd_fw", [0xffffffffc0000010])
    check(answers[0].system == "bpf_prog_6deef7357e7b4530_sd_fw", "a BPF program's name is in the recording")
    answers, _, reason = symbolize("unknown", "[stack]", [0x7fff0000])
    check(not answers[0].system and reason == "mapping without a file", "[stack]", reason)


running_kernel()
which_kernel()
made_up_lists()
another_boot()
kernel_image()
module_file()
bpf_and_unknown()
end()

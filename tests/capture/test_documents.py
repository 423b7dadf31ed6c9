#!/usr/bin/env python3
"""The lines that the documents on tracing functions type, with capture and resolve in the place of perf record and perf script: who
calls func_d of a program that gcc -O2 has made without frame pointers?"""
import re

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")

IN_TRACEFS = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh"]
HELLO = """#include <stdio.h>
__attribute__((noipa)) void func_d(void) { puts("Hello"); }
__attribute__((noipa)) void func_c(void) { func_d(); __asm__ volatile(""); }
__attribute__((noipa)) void func_b(void) { func_c(); __asm__ volatile(""); }
__attribute__((noipa)) void func_a(void) { func_b(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 3; i++) func_a(); return 0; }
"""
CHAIN = ["func_d", "func_c", "func_b", "func_a", "main"]


def chains(*options):
    """The stacks of `resolve -f script`, leaf first, as far as main."""
    out = []
    for block in run([RESOLVE, "-q", "-f", "script", *options]).stdout.split("\n\n"):
        names = re.findall(r"^\s+[0-9a-f]+ (\w+)\+", block, re.M)
        if "main" in names:
            out.append(names[:names.index("main") + 1])
    return out


with open("hello.c", "w") as f:
    f.write(HELLO)
run(["gcc", "-O2", "-fomit-frame-pointer", "hello.c", "-o", "hello"])

# perf probe -x ./hello func_d; perf record -e probe_hello:func_d -aR -g ./hello; perf script
made = have("perf") and not run([*IN_TRACEFS, "perf", "probe", "-q", "-x", "./hello", "func_d"], check=False).returncode
if made:
    try:
        p = run([CAPTURE, "-q", "-e", "probe_hello:func_d", "-aR", "-g", "./hello"], check=False)
        got = chains("--comm", "hello")
    finally:
        run([*IN_TRACEFS, "perf", "probe", "-q", "-d", "probe_hello:*"], check=False)
    tap.check(got == [CHAIN] * 3, "perf's lines: a probe that perf has made", p.stderr, got)
else:
    tap.skip("a probe that perf has made", "there is no perf, or it makes none here")
p = run([CAPTURE, "-e", "probe_hello:func_d", "-aR", "-g", "./hello"], check=False)
tap.check(p.returncode == 2 and "without it: -e uprobe:FILE:func_d" in p.stderr, "without perf's first line: what to type", p.stderr)
p = run([CAPTURE, "probe", "-x", "./hello", "func_d"], check=False)
typed = re.search(r"capture -e '([^']+)' -- COMMAND", p.stderr)
tap.check(typed and typed[1] == "uprobe:./hello:func_d", "perf's first line to capture: what to type", p.stderr)
run([CAPTURE, "-q", "-e", typed[1] if typed else "none", "-aR", "-g", "./hello"], check=False)
got = chains("--comm", "hello")
tap.check(got == [CHAIN] * 3, "which gives the whole chain", got)

# bpftrace -e 'uprobe:./hello:func_d { print(ustack) }'
p = run([CAPTURE, "-e", "uprobe:./hello:func_d { print(ustack) }", "./hello"], check=False)
tap.check(p.returncode == 2 and "leave '{ .. }' out" in p.stderr, "bpftrace's line: its program is not run, and what to type is said", p.stderr)
p = capture("-e", "uprobe:./hello:func_d", "./hello")
tap.check(p.n_samples == 3 and chains() == [CHAIN] * 3, "bpftrace's probe: the whole chain, where bpftrace shows one frame", p.stderr)

# perf probe -x ./hello '*'; bpftrace -lv 'uprobe:./hello:*'
p = capture("-e", "uprobe:./hello:*", "./hello")
got = chains()
tap.check(p.n_samples == 13 and sorted(map(len, got)) == [1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5] and all(c == CHAIN[-len(c):] for c in got), "all functions", p.stderr, got)
listed = run([CAPTURE, "-lv", "uprobe:./hello:*"]).stdout
tap.check({line.split(":")[-1] for line in listed.splitlines() if line.startswith("uprobe:")} == set(CHAIN), "-lv: what that would take", listed)

# perf trace -e openat; strace -T -e openat
p = run([CAPTURE, "--syscalls", "-o", "calls.data", "--", "cat", "/etc/hostname", "/no/such/file"], check=False)
text = run([RESOLVE, "-q", "-f", "trace", "calls.data"], check=False).stdout
tap.check(re.search(r'\( +[\d.]+ ms\): cat/\d+ openat\(AT_FDCWD, "/etc/hostname", O_RDONLY\) = \d', text) and
          re.search(r'openat\(AT_FDCWD, "/no/such/file", O_RDONLY\) = -1 ENOENT', text), "openat: path, result and errno", p.stderr, text)

# perf ftrace -G: who calls what for how long
capture("-e", "call:./hello:func_*", "./hello")
text = run([RESOLVE, "-q", "-f", "timeline"]).stdout
tap.check(re.search(r"\|   func_a\(.*\{\n.*\|     func_b\(.*\{\n.*\|       func_c\(.*\{\n.*\|         func_d\(", text) or
          re.search(r"\| func_a\(.*\{\n.*\|   func_b\(.*\{\n.*\|     func_c\(.*\{\n.*\|       func_d\(", text), "calls, indented by depth", text)

tap.end()

#!/usr/bin/env python3
"""The debug file is there and the program is gone: callers come from .debug_frame where the debug file has one (what was compiled with
-fno-asynchronous-unwind-tables). .eh_frame stays in the program (NOBITS in the debug file): there stacks end, say why, and what helps."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from common import CAPTURE, RESOLVE, Tap, run  # noqa: E402

tap = Tap()
os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = os.getcwd()
os.environ.pop("DEBUGINFOD_URLS", None)
# Frames of a size that only the frame pointer tells (work), callers beyond another file (libc's qsort).
open("p.c", "w").write("""
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) static void work(int n) { char room[n + 16]; room[0] = 1; for (int i = 0; i < 100000; i++) sink += i + room[0]; }
__attribute__((noinline)) static int inner(const void *a, const void *b) { work(*(int *)a); return *(int *)a - *(int *)b; }
__attribute__((noinline)) static void sorts(int *v) { qsort(v, 4, sizeof *v, inner); sink++; }
int main(void) { clock_t e = clock() + CLOCKS_PER_SEC / 8; while (clock() < e) { int v[4] = {4, 3, 2, 1}; sorts(v); } return 0; }
""")
NO_TABLES = "-fno-asynchronous-unwind-tables"


def resolved(name, *options):
    return run([RESOLVE, "--debug-dir", "debug", *options, f"{name}.data"], check=False)


def stacks(name):
    """Of each sample the functions of the program and its libraries, and where they are."""
    out = resolved(name, "-q", "-f", "script", "-F", "ip,sym,symoff").stdout
    return [re.findall(r"^\s+([0-7]\w+) (.*)$", s, re.M) for s in out.split("\n\n") if s.strip()]


def without_program(name, *flags):
    """The stacks with the program, those with its debug file alone, and what is said of these."""
    run(["gcc", "-g", "-O2", "-Wl,--build-id=sha1", *flags, "-o", name, "p.c"])
    i = re.search(r"Build ID: (\w+)", run(["readelf", "-n", name]).stdout).group(1)
    os.makedirs(f"debug/.build-id/{i[:2]}", exist_ok=True)
    run(["objcopy", "--only-keep-debug", name, f"debug/.build-id/{i[:2]}/{i[2:]}.debug"])
    run(["strip", name])
    run([CAPTURE, "-q", "-F", "499", "-o", f"{name}.data", "--", os.path.abspath(name)])
    before = stacks(name)
    os.remove(name)
    return before, stacks(name), resolved(name).stderr


def is_beginning(short, whole):
    return len(short) <= len(whole) and whole[:len(short)] == short


for name, flags in (("pie", [NO_TABLES]), ("fixed", [NO_TABLES, "-no-pie"]), ("packed", [NO_TABLES, "-gz"])):
    before, after, said = without_program(name, *flags)
    whole = [s for s in before if len(s) > 6 and s[-1][1].startswith("_start+")]
    tap.check(len(whole) > 20 and after == before and "no root" not in said, f"{' '.join(flags)}: the same {len(before)} stacks from .debug_frame",
              [(a, b) for a, b in zip(before, after) if a != b][:2], said)
before, after, said = without_program("partly", NO_TABLES, "-static")
tap.check(len(after) == len(before) > 20 and all(map(is_beginning, after, before)) and any("work" in s[0][1] and "inner" in s[1][1] for s in after if len(s) > 1),
          "-static: the same frames up to libc, which is in the program", after[:3])
before, after, said = without_program("none")
tap.check(len(after) == len(before) > 20 and all(map(is_beginning, after, before)) and not any("_start+" in f for s in after if s and "work" in s[0][1] for _, f in s),
          "only .eh_frame, in the program: no caller is invented", after[:3])
tap.check("binary not found; resolve where it was recorded, or give the files by --symfs DIR" in said, "no binary: a line says so, and what helps", said)

#!/usr/bin/env python3
"""Interpreted methods that run for the first time just before their JVM ends have names: such a method is read when a sample shows it, not at the next
turn, which comes each eighth of the time that the process has run. Before, none of four
recordings had the name of last()."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
need_events()
RUNS = 3
JAVA = """public class Last {
    static volatile long sink;
    static long cpu() { return java.lang.management.ManagementFactory.getThreadMXBean().getThreadCpuTime(Thread.currentThread().getId()); }
    static void first(long end) { while (cpu() < end) sink += early(3000); }
    static long early(int n) { long s = n; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
    static void last(long end) { while (cpu() < end) sink += late(3000); }
    static long late(int n) { long s = n; for (int i = 0; i < n; i++) s = s * 33 + i; return s; }
    public static void main(String[] a) {
        first(cpu() + 2400000000L);
        last(cpu() + 40000000L);
        Runtime.getRuntime().halt(0);
    }
}
"""


def count(rows, name):
    return sum(int(row.rsplit(" ", 1)[1]) for row in rows if re.search(rf"\bLast\.{name}\b", row))


if have("javac") and have("java"):
    with open("Last.java", "w", encoding="utf-8") as f:
        f.write(JAVA)
    run(["javac", "-g", "Last.java"])
    for _ in range(RUNS):
        run([CAPTURE, "-q", "--bundle=none", "-e", "cpu-clock:u", "-F", "999", "-o", "x.data", "--", "java", "-Xint", "-cp", ".", "Last"], timeout=120)
        rows = run([RESOLVE, "-q", "-f", "folded", "--count", "samples", "x.data"], check=False).stdout.splitlines()
        early, late, last = (count(rows, name) for name in ("early", "late", "last"))
        tap.check(early > 500 and late > 3 and last > 5, f"stacks with early(): {early}, with late(): {late}, with last(): {last}")
else:
    tap.skip("methods that run before the JVM ends", "no javac here")
tap.end()

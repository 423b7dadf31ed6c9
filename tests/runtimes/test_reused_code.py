#!/usr/bin/env python3
"""A code cache that is too small: methods are compiled, freed and compiled again at places of others all the time.

By construction the one thread runs only the methods of class number k in a phase, and the program writes down when each phase began: a name of another class is
wrong, none is not. Before, code that came, went and was replaced between two readings had the name of what was seen there later: 0.1 to 1.8 % of
the names of most recordings, none of some."""
import bisect
import glob
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
need_events()
CLASSES, PHASES = 400, 450  # readings are rarer as time goes on: what was missed, was after some seconds
SMALL = ["-XX:ReservedCodeCacheSize=2560k", "-XX:InitialCodeCacheSize=2560k"]
CLASS = """static class C%(k)d implements Runnable {
    static long s%(k)04d(int n) { long x = %(k)d; for (int i = 0; i < n; i++) { x = x * 31 + i; %(body)s } return x; }
    static long m%(k)04d(int n) { return s%(k)04d(n * 10) + 1; }
    static long e%(k)04d(int n) { return m%(k)04d(n * 5) ^ %(k)d; }
    public void run() { sink += e%(k)04d(8); }
}
"""
MAIN = """public static void main(String[] a) throws Exception {
    Runnable[] all = all();
    java.util.Random random = new java.util.Random(Integer.parseInt(a[0]));
    StringBuilder phases = new StringBuilder();
    for (int p = 0; p < PHASES; p++) {
        int k = random.nextInt(all.length);
        long begin = System.nanoTime();
        phases.append(begin).append(' ').append(k).append('\\n');
        do { for (int i = 0; i < 40; i++) all[k].run(); } while (System.nanoTime() < begin + 20000000);
        if (a.length > 1) System.gc();
    }
    java.nio.file.Files.write(java.nio.file.Paths.get("phases"), phases.toString().getBytes());
}
"""


def build():
    draw = random.Random(7)
    classes = [CLASS % {"k": k, "body": " ".join(f"x += (x >>> {5 + j}) * {j + 3} + {k};" for j in range(draw.choice((0, 0, 1, 3, 6))))} for k in range(CLASSES)]
    made = " ".join(f"all[{k}] = new C{k}();" for k in range(CLASSES))
    with open("Reused.java", "w", encoding="utf-8") as f:
        f.write("public class Reused {\nstatic volatile long sink;\n" + "".join(classes) +
                f"static Runnable[] all() {{ Runnable[] all = new Runnable[{CLASSES}]; {made} return all; }}\n" + MAIN.replace("PHASES", str(PHASES)) + "}\n")
    run(["javac", "-g", "--release", "8", "-Xlint:-options", "Reused.java"])


def judge(java, args):
    """Frames of the classes, and those of one that did not run within 2 ms of the sample."""
    run([CAPTURE, "-q", "--bundle=none", "-e", "cpu-clock:u", "-F", "1999", "-o", "x.data", "--", java, *SMALL, "Reused", *args], timeout=120)
    with open("phases", encoding="utf-8") as f:
        rows = [line.split() for line in f]
    begins, which = [int(row[0]) / 1e9 for row in rows], [int(row[1]) for row in rows]
    ran, named, wrong = set(), 0, []
    for line in run([RESOLVE, "-q", "-f", "script", "x.data"], check=False).stdout.splitlines():
        head = re.match(r"\S.* (\d+\.\d+):", line)
        name = re.search(r"\bReused\$C(\d+)\.(?:[sme]\d|run\()", line)
        if head:
            time = float(head[1])
            ran = {which[max(bisect.bisect(begins, time + d) - 1, 0)] for d in (-0.002, 0, 0.002)}
        elif name:
            named += 1
            if int(name[1]) not in ran:
                wrong.append((time, ran, line.strip()))
    return named, wrong


if have("javac") and have("java"):
    build()
    for java in ["java", *glob.glob("/usr/lib/jvm/*-25-*/bin/java")[:1]]:
        named, wrong = 0, []
        for r in range(2):
            got = judge(java, [str(r), "gc"][:1 + r])
            named, wrong = named + got[0], wrong + got[1]
        tap.check(named > 1000 and not wrong, f"{java}: of {named} names {len(wrong)} are of what did not run", *wrong[:9])
else:
    tap.skip("reused code", "no javac here")
tap.end()

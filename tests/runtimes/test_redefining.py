#!/usr/bin/env python3
"""A JVM whose classes are redefined, as agents and debuggers do: code that is made anew all the time has its frames and its names.

By construction main() calls Target.entry(), that step(), that Redefined.spin(): there is no stack of spin() with another caller, and all of them begin at
the start of the thread. Before, 11 to 20 % of the stacks ended in code without a name: with the first redefinition all new code was taken for what
may have replaced that of unloaded classes."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
need_events()
ROUNDS, RUNS = 40, 3
TARGET = """public class Target {
    public static long entry(int k) { return step(k) + VERSION; }
    static long step(int k) { return Redefined.spin(k) ^ VERSION; }
}
"""
MAIN = """import java.lang.instrument.*;
import java.nio.file.*;
public class Redefined {
    static Instrumentation agent;
    static volatile long sink;
    public static void premain(String args, Instrumentation i) { agent = i; }
    static long spin(int k) { long s = k; for (int i = 0; i < k * 500; i++) s = s * 31 + i; return s; }
    static long cpu() { return java.lang.management.ManagementFactory.getThreadMXBean().getThreadCpuTime(Thread.currentThread().getId()); }
    public static void main(String[] a) throws Exception {
        byte[][] versions = {Files.readAllBytes(Paths.get("v1/Target.class")), Files.readAllBytes(Paths.get("v2/Target.class"))};
        for (int r = 0; r < ROUNDS; r++) {
            agent.redefineClasses(new ClassDefinition(Target.class, versions[r % 2]));
            long end = cpu() + 40000000L;
            while (cpu() < end) for (int i = 0; i < 50; i++) sink += Target.entry(2);
        }
    }
}
"""


def build():
    for i in 1, 2:
        os.makedirs(f"v{i}")
        with open(f"v{i}/Target.java", "w", encoding="utf-8") as f:
            f.write(TARGET.replace("VERSION", str(i)))
    with open("Redefined.java", "w", encoding="utf-8") as f:
        f.write(MAIN.replace("ROUNDS", str(ROUNDS)))
    with open("manifest", "w", encoding="utf-8") as f:
        f.write("Premain-Class: Redefined\nCan-Redefine-Classes: true\n")
    run(["javac", "-g", "-cp", "v1", "-d", ".", "Redefined.java", "v1/Target.java"])
    for i in 1, 2:
        run(["javac", "-g", "-cp", ".", "-d", f"v{i}", f"v{i}/Target.java"])
    run(["jar", "cfm", "agent.jar", "manifest", "Redefined.class"])


def judge(rows):
    """Stacks with spin(): all, those that begin at the thread's start, and the wrong callers of what has a name."""
    below = {"Redefined.spin": "Target.step", "Target.step": "Target.entry", "Target.entry": "Redefined.main"}
    stacks, whole, wrong = 0, 0, []
    for row in rows:
        frames, n = row.rsplit(" ", 1)
        frames = [re.sub(r"\(.*|_\[.\]$", "", f) for f in frames.split(";")]
        if "Redefined.spin" not in frames:
            continue
        stacks += int(n)
        whole += int(n) * any(f in ("clone3", "__clone", "clone", "start_thread") for f in frames[:4])
        wrong += [pair for pair in zip(frames, frames[1:]) if pair[1] in below and re.match("Redefined|Target", pair[0]) and pair[0] != below[pair[1]]]
    return stacks, whole, wrong


if have("javac") and have("java"):
    build()
    sums, wrong = [0, 0], []
    for _ in range(RUNS):
        run([CAPTURE, "-q", "--bundle=none", "-e", "cpu-clock:u", "-F", "999", "-o", "x.data", "--", "java", "-javaagent:agent.jar", "-cp", ".", "Redefined"], timeout=120)
        got = judge(run([RESOLVE, "-q", "-f", "folded", "--count", "samples", "--jit", "x.data"], check=False).stdout.splitlines())
        sums, wrong = [sums[0] + got[0], sums[1] + got[1]], wrong + got[2]
    tap.check(sums[0] > 500 and sums[1] >= 0.97 * sums[0], f"of {sums[0]} stacks of redefined classes {sums[1]} begin at the thread's start")
    tap.check(not wrong, f"{len(wrong)} of them have a caller that is not", wrong[:5])
else:
    tap.skip("redefined classes", "no javac here")
tap.end()

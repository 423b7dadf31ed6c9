#!/usr/bin/env python3
"""Methods of a JVM that are read while it makes their code: its tables of what is inlined are not whole then. By construction `one` calls p<i>, which
calls m<i>, which spins: in no stack may m or spin stand right above `one`. Large methods and a busy machine make such moments frequent: before, 4 of 8
recordings had 3 to 15 such stacks."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
need_events()
CLASSES, METHODS, RUNS = 25, 200, 4
MAIN = """public class Half {
    static volatile long s;
    static long spin(int k) { long s = k; for (int i = 0; i < k * 60; i++) s = s * 31 + i; return s; }
    public static void main(String[] a) {
        long end = System.nanoTime() + 1000000000L;
        while (System.nanoTime() < end) { CALLS }
    }
}
"""


def one_class(c):
    methods = "\n".join(f"static long p{i}(int k) {{ return m{i}(k) + 1; }} static long m{i}(int k) {{ return Half.spin(k) ^ {i}; }}" for i in range(METHODS))
    cases = " ".join(f"case {i}: return p{i}(k);" for i in range(METHODS))
    return f"""class B{c} {{
{methods}
static long one(int i, int k) {{ switch (i) {{ {cases} default: return 0; }} }}
static long all(int k) {{ long s = 0; for (int i = 0; i < {METHODS}; i++) s += one(i, k); return s; }}
}}
"""


def judge(rows):
    """Frames of p right above `one`, and of what may not stand there."""
    right, wrong = 0, []
    for row in rows:
        frames = [re.sub(r"\(.*|_\[.\]$", "", f) for f in row.rsplit(" ", 1)[0].split(";")]
        for lower, upper in zip(frames, frames[1:]):
            if re.search(r"\bB\d+\.one$", lower):
                right += bool(re.search(r"\.p\d+$", upper))
                if re.search(r"\.m\d+$|Half\.spin$", upper):
                    wrong.append((lower, upper))
    return right, wrong


if have("javac") and have("java"):
    with open("Half.java", "w", encoding="utf-8") as f:
        f.write(MAIN.replace("CALLS", " ".join(f"s += B{c}.all(8);" for c in range(CLASSES))) + "".join(one_class(c) for c in range(CLASSES)))
    run(["javac", "-g", "Half.java"])
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    right, wrong = 0, []
    for _ in range(RUNS):
        run([CAPTURE, "-q", "--bundle=none", "-F", "1999", "-o", "x.data", "--", "java", "-cp", ".", "Half"], timeout=120)
        got = judge(run([RESOLVE, "-q", "-f", "folded", "--jit", "x.data"], check=False).stdout.splitlines())
        right, wrong = right + got[0], wrong + got[1]
    for p in busy:
        p.kill()
        p.wait()
    tap.check(right > 200 and not wrong, f"what is inlined is not left out: {right} callers, {len(wrong)} wrong", wrong[:5])
else:
    tap.skip("methods that are read while they are made", "no javac here")
tap.end()

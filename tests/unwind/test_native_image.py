#!/usr/bin/env python3
"""A stripped program that GraalVM's native-image made (the Closure Compiler of npm: tests/closure.sh): all stacks reach the root, each return
address follows a call, and where that is direct, it is of the function above. The same by the recording's bundle, without the file."""
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, TOP, Tap, need_events, resolve, run  # noqa: E402

tap = Tap()
PROGRAM = os.path.join(TOP, "build", "npm", "closure")
BASE = 0x400000  # it is mapped as it is in the file
METHOD = re.compile(rb"U?H[\x81\x83]\xec")  # push %rbp; sub $..,%rsp
NEXT_METHOD = re.compile(rb"\xcc" + METHOD.pattern)


def write_source():
    with open("in.js", "w") as f:
        for i in range(1500):
            f.write(f"function f{i}(a,b){{var x=a*{i};if(b>{i}){{return f{i * 7 % 1500}(x,b-1)}}for(var k=0;k<a;k++){{x+=k%{i + 1}}}return x}}\n"
                    f"console.log(f{i}({i},2));\n")


def record(bundle):
    shutil.copy(PROGRAM, "compiler")
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", f"--bundle={bundle}", "-o", "x.data", "--", "./compiler", "--js", "in.js",
         "--js_output_file", "out.js"])


def stacks(text):
    """Lists of addresses, leaf first; those of callers are of the call's last byte."""
    for block in text.split("\n\n"):
        at = [int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+) .*/compiler\)$", block, re.M)]
        if at:
            yield at


def calls(code, at, callee):
    """What the call that ends at this address says of its callee: True, False; None: it is indirect, or of C code."""
    end = at + 1 - BASE
    if code[end - 5] != 0xe8:
        return None if any(code[end - n] == 0xff and code[end - n + 1] >> 3 & 7 == 2 for n in (2, 3, 4, 6, 7)) else False
    start = end + struct.unpack_from("<i", code, end - 4)[0]
    if not METHOD.match(code, start):
        return None
    return start <= callee - BASE < start + (1 << 17) and not NEXT_METHOD.search(code, start, callee - BASE)


def check(what, code):
    out, stats = resolve("x.data", "-f", "script", "--no-stitch")
    n, roots = stats["user_stacks"], stats["root"]
    tap.check(n > 200 and roots >= 0.99 * n, f"{what}: {roots} of {n} stacks reach the root", stats)
    said = [(calls(code, at, s[i]), hex(at), hex(s[i])) for s in stacks(out) for i, at in enumerate(s[1:])]
    direct, wrong = sum(x[0] is True for x in said), [x for x in said if x[0] is False]
    tap.check(direct > 2000 and not wrong, f"{what}: {direct} direct calls are of the function above, {len(wrong)} are not", wrong[:5])


def main():
    if NO_EVENTS or not os.path.exists(PROGRAM):
        return tap.skip("a program of native-image", NO_EVENTS or "build/npm/closure is not there (make deps)")
    need_events()
    write_source()
    with open(PROGRAM, "rb") as f:
        code = f.read()
    record("none")
    check("by the file", code)
    record("unwind")
    os.unlink("compiler")
    check("by the bundle", code)
    return 0


main()
tap.end()

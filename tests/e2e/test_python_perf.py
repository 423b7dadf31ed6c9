#!/usr/bin/env python3
"""Stacks through CPython's stubs (python3 -X perf), whose bytes no recording has. Truth by construction: a program that copies
such a stub and calls itself through copies in a known order; a Python program whose functions call each other by number."""
import glob
import re

from common import *

tap = Tap()
need_events()
DEPTH = 30
FUNCTIONS = "\n".join(f"def f{i}(n):\n    return " + (f"f{i - 1}(n) + 1" if i % 40 else "sum(x * x % 7 for x in range(n))") for i in range(7000))


def record(cmd, env={}):
    run([CAPTURE, "-q", "-F", "499", "--call-graph", "dwarf,65528", "-o", "x.data", "--", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *cmd], env={**os.environ, **env})
    out, stats = resolve("x.data")
    with open("pid") as f:
        os.unlink(f"/tmp/perf-{f.read().strip()}.map")
    return folded(out), 100 * stats["root"] / max(stats["user_stacks"], 1)


def copies():
    if os.uname().machine != "x86_64":
        return tap.skip("copies of the stub", "there is a frame pointer in those of other processors")
    want = [f"stub_{i % DEPTH}" for i in range(1, DEPTH + 1)]
    for what, size, flags in (("packed", 11, []), ("aligned", 16, []), ("with endbr64, packed", 15, ["-DCET", "-s"]), ("with endbr64, aligned", 16, ["-DCET", "-s"])):
        program = build("gcc", "copied_stubs.c", "copied", "-O2", "-fomit-frame-pointer", *flags)
        stacks, roots = record([program, str(size)])
        numbers = {s: [f for f in s if f.startswith("stub_")] for s in stacks}
        wrong = [s for s in stacks if numbers[s] != want[:len(numbers[s])]]
        # Without what the shell, the loader and the writing of the map take, whose part grows with the load of the machine.
        ran = {s: n for s, n in stacks.items() if numbers[s] or "leaf" in s or "level" in s}
        whole = 100 * sum(n for s, n in ran.items() if numbers[s] == want) / max(sum(ran.values()), 1)
        tap.check(not wrong and roots > 98 and whole > 80, f"copies: {what}{', stripped' if '-s' in flags else ''}", f"{roots:.1f} % roots, {whole:.1f} % whole", wrong[:3])
    program = build("gcc", "copied_stubs.c", "other", "-O2", "-fomit-frame-pointer", "-DOTHER")
    for size in 11, 16:
        stacks, roots = record([program, str(size)])
        wrong = []
        for stack in stacks:
            found = [int(f[5:]) for f in stack if f.startswith("stub_")]
            if any((a + 1) % DEPTH != b for a, b in zip(found, found[1:])) or ("main" in stack and found[:1] not in ([], [1])):
                wrong.append(stack)
        tap.check(not wrong and stacks, f"other code, every {size} bytes: no wrong caller", f"{roots:.1f} % roots", wrong[:3])


def interpreter():
    """A Python that can write perf maps and has no frame pointers; None if there is none here."""
    for path in ["python3", *sorted(glob.glob("/usr/bin/python3.1[2-9]")), *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3")))]:
        if have(path) and not run([path, "-c", "import sys; sys.exit(not (sys.version_info >= (3, 12) and sys.is_stack_trampoline_active() is not None))"],
                                  check=False).returncode:
            yield path


def real():
    with open("work.py", "w") as f:
        f.write(f"import time\n{FUNCTIONS}\nwhile time.process_time() < 1:\n    for i in range(39, 7000, 680): globals()[f'f{{i}}'](60)\n")
    found = False
    for python in interpreter():
        found = True
        stacks, roots = record([python, "work.py"], {"PYTHONPERFSUPPORT": "1"})
        bad, pairs = [], 0
        for stack in stacks:
            called = [m for m in (re.match(r"py::(f\d+):", f) for f in stack) if m]
            called = [int(m.group(1)[1:]) for m in called]
            pairs += len(called)
            bad += [stack for a, b in zip(called, called[1:]) if a % 40 == 0 or b != a - 1]
            bad += [stack for a in called[:1] if a % 40 != 39]
        tap.check(roots > 99 and pairs > 1000 and not bad, f"Python {os.path.realpath(python).rsplit('python', 1)[1]}: {pairs} functions", f"{roots:.1f} % roots", bad[:3])
    if not found:
        tap.skip("a real Python", "none of 3.12 or later here")


copies()
real()
tap.end()

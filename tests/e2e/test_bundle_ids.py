#!/usr/bin/env python3
"""capture --bundle and resolve --bundle of files that have one build id: a stripped copy and the build itself, where the one with symbols
names both; and, as the linker can be told an id, builds of different code, of which each keeps its own names."""
from common import *
from nowhere import RESOLVE_NOWHERE, elsewhere

tap = Tap()
need_events()
SAMPLE = ["-e", "cpu-clock:u", "-F", "997"]
CODE = """#include <time.h>
volatile long x;
__attribute__((noinline)) void inner_%(n)s(void) { for (int k = 0; k < 100000; k++) x++; }
%(more)s
int main(void) { while (clock() < 0.3 * CLOCKS_PER_SEC) inner_%(n)s(); return 0; }
"""


def compiled(name, more="", *flags):
    with open(f"{name}.c", "w") as f:
        f.write(CODE % {"n": name, "more": more})
    run(["gcc", "-O1", "-g", *flags, f"{name}.c", "-o", name])


def names(text, program, function):
    """Of the weight of a program, the percentage with this function."""
    stacks = {s: n for s, n in folded(text).items() if s[0] == program}
    return 100 * sum(n for s, n in stacks.items() if "main" in s and function in s) / max(sum(stacks.values()), 1)


def recorded(script, what):
    """Here, and in an empty root, by capture's bundle and by that of resolve --bundle."""
    run([CAPTURE, *SAMPLE, "--bundle", "-o", "x.data", "--", "sh", "-c", script])
    run([CAPTURE, *SAMPLE, "--bundle=none", "-o", "n.data", "--", "sh", "-c", script])
    run([RESOLVE, "--bundle", "-o", "y.data", "n.data"])
    run([RESOLVE, "--bundle", "-o", "z.data", "x.data"])
    yield what, run([RESOLVE, "-q", "x.data"]).stdout
    for form, data in ("capture", "x.data"), ("resolve --bundle", "y.data"), ("made again", "z.data"):
        yield f"{what}, elsewhere, {form}", elsewhere(data, check=False).stdout


def stripped_copy():
    compiled("whole")
    run(["strip", "-o", "bare", "whole"])
    for what, out in recorded("./bare; ./whole", "a stripped copy of one build first"):
        tap.check(names(out, "whole", "inner_whole") > 95, what, out[:500])


def twins():
    flags = "-Wl,--build-id=0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
    compiled("first", "", *flags)
    compiled("other", "__attribute__((noinline, used)) void more(void) { for (int k = 0; k < 100; k++) x += k; }", *flags)
    for what, out in recorded("./first; ./other", "two builds with one build id"):
        for name in "first", "other":
            tap.check(names(out, name, f"inner_{name}") > 95, f"{what}: {name}", out[:500])
    os.rename("first", "gone")
    shutil.copy("other", "first")
    out = run([RESOLVE, "-q", "x.data"], check=False).stdout
    tap.check(names(out, "first", "inner_first") > 95, "one was copied over the other: the recording's own is taken", out[:500])
    os.makedirs("laid", exist_ok=True)
    p = run([RESOLVE, "--unbundle", "laid", "x.data"], check=False)
    tap.check("2 of these have the build id of another" in p.stderr and not os.path.lexists("laid/.build-id/de/adbeefdeadbeefdeadbeefdeadbeefdeadbeef"),
              "--unbundle makes no link by it, and says so", p.stderr)


def deep():
    """Of a path of more than 4096 bytes the kernel says only "//toolong": the file is found while it runs, and where it was not, that is said."""
    compiled("deepest")
    here = os.getcwd()
    for _ in range(20):
        os.makedirs("d" * 250, exist_ok=True)
        os.chdir("d" * 250)
    shutil.copy(f"{here}/deepest", "deepest")
    try:
        run([CAPTURE, *SAMPLE, "--bundle", "-o", f"{here}/x.data", "--", "./deepest"])
        run([CAPTURE, *SAMPLE, "--bundle=none", "-o", f"{here}/n.data", "--", "./deepest"])
    finally:
        os.chdir(here)
    for what, p in ("here", run([RESOLVE, "-q", "x.data"], check=False)), ("elsewhere", elsewhere("x.data", check=False)):
        tap.check(names(p.stdout, "deepest", "inner_deepest") > 95, f"a path that is too long, {what}", p.stdout[:500], p.stderr)
    p = run([RESOLVE, "--stats", "n.data"], check=False)
    tap.check("mapping without a file" not in p.stderr and "file not found" in p.stderr and "//toolong" in p.stderr, "without the file that is said", p.stderr)
    shutil.rmtree("d" * 250)


if RESOLVE_NOWHERE:
    stripped_copy()
    twins()
    deep()
else:
    tap.skip("files with one build id", "no other root can be entered here")

#!/usr/bin/env python3
"""capture -a for a moment on a machine that runs a JVM, node and python as people run them: without a flag, their stacks are whole, what
has a file is named, and the code of Java and of JavaScript, too."""
import functools
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, RESOLVE, Tap, cpu_seconds, have, need_events, run, until  # noqa: E402

tap = Tap()
SECONDS = "2"  # another recorder of the whole machine may be disturbed
BUSY = "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nwhile True: f(15)\n"
COMPILED = ("/tmp/perf-", "//anon")
ROOTS = {"_start", "__libc_start_main", "clone3", "clone", "__clone3", "__clone", "start_thread"}


def is_whole(frames):
    return any(f.get("sym", "").split("@")[0] in ROOTS for f in frames[-2:])


@functools.cache
def is_stripped_libnode(path):
    return os.path.basename(path).startswith("libnode.so") and ".symtab" not in run(["readelf", "-SW", path]).stdout


def judge(name, stacks):
    whole = sum(map(is_whole, stacks))
    tap.check(len(stacks) > 15 and whole >= 0.97 * len(stacks), f"{name}: {whole} of {len(stacks)} stacks are whole",
              [[f.get("sym") for f in s] for s in stacks if not is_whole(s)][:2])
    # Debian's python is stripped, and so may be libnode. JavaScript's names are read from outside: below.
    nameless = {"node": (*COMPILED, "["), "python": ("/usr/bin/python",)}.get(name, ("[stack",))
    files = [f for s in stacks for f in s if not f.get("dso", "").startswith(nameless) and not is_stripped_libnode(f.get("dso", ""))]
    named = sum("sym" in f for f in files)
    tap.check(files and named >= 0.97 * len(files), f"{name}: {named} of {len(files)} frames are named", [f for f in files if "sym" not in f][:3])


def judge_javascript(stacks):
    code = [f for s in stacks for f in s if f.get("dso", "").startswith(COMPILED)]
    named = [f["sym"] for f in code if f.get("sym", "").startswith("JS:")]
    tap.check(len(named) >= 0.9 * len(code) and any("cycle.js:" in n for n in named), f"node: {len(named)} of {len(code)} frames of JavaScript are named", code[:3])


def main():
    if NO_EVENTS or os.geteuid():
        return tap.skip("a whole machine", NO_EVENTS or "not root")
    if not (have("java") and have("javac") and have("node")) or os.uname().machine != "x86_64":
        return tap.skip("a whole machine", "no JVM or no node here, or not x86-64")
    if run(["javac", "-d", ".", os.path.join(PROGRAMS, "Chain.java")], check=False).returncode:
        return tap.skip("a whole machine", "javac does not compile")
    need_events()
    commands = {"java": ["java", "-cp", ".", "Chain", "60000"], "node": ["node", os.path.join(PROGRAMS, "cycle.js"), "js", "60000"],
                "python": ["/usr/bin/python3", "-c", BUSY]}
    running = {name: subprocess.Popen(c, stdout=subprocess.DEVNULL) for name, c in commands.items()}
    try:
        until(lambda: all(cpu_seconds(p.pid) > 1 for p in running.values()), "three programs that run")
        p = run([CAPTURE, "-q", "-a", "-F", "999", "-e", "cpu-clock:u", "-o", "a.data", "--", "sleep", SECONDS], check=False)
        if p.returncode:
            return tap.skip("a whole machine", p.stderr[-200:])
    finally:
        for p in running.values():
            p.kill()
            p.wait()
    out = run([RESOLVE, "-q", "a.data", "-f", "jsonl"]).stdout
    samples = [json.loads(line) for line in out.splitlines()]
    for name, p in running.items():
        stacks = [s["stack"] for s in samples if s["pid"] == p.pid and s["stack"]]
        judge(name, stacks)
        if name == "node":
            judge_javascript(stacks)
    return 0


main()
tap.end()

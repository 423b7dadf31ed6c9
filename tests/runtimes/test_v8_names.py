#!/usr/bin/env python3
"""Names of JavaScript functions without any flag, from node as it is.

By construction: in tests/programs/names.js and the two files that are written here it is known which function calls which, and at which
line and column each begins. So in each stack a named function must have been called by the named one before it, and the place in each
name must be that of a function of this name. Functions that are inlined have no frame: without a flag callers may be skipped, within the
same cycle or chain; with --no-turbo-inlining none may. V8's own frames (builtins, its C++) between two functions do not count; an
interpreter's or compiled frame without a name ends the chain."""
import collections
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, RESOLVE, Tap, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()
MANY, OTHER = 2000, 300
NEXT = {"many.js": lambda i: (i * 17 + 3) % MANY, "other.js": lambda i: (i * 7 + 1) % OTHER}
CYCLE = ["c0", "c1", "c2", "c3", "c4", "новая", "e", "c6", "g6"]
DEEP = 13  # calls of one chain of many.js
# As V8 writes them into a perf map: kind, name, file, line, column.
NAME = re.compile(r"JS:([~^+*])(\S*) (.*?)(?::(\d+):(\d+))?$")


def write_files():
    for path, n, head in ("many.js", MANY, "'use strict';\nlet sink = 0;\n"), ("other.js", OTHER, "'use strict';\n\n\nlet sink = 0;\n"):
        with open(path, "w") as f:
            f.write(head)
            for i in range(n):
                f.write(f"function g{i}(d) {{ sink += d; let s = 0; for (let k = 0; k < 40; k++) s += k ^ d; "
                        f"return d ? g{NEXT[path](i)}(d - 1) + s : s }}\n")
            f.write("exports.all = [" + ",".join(f"g{i}" for i in range(n)) + "];\n")
    shutil.copy(f"{PROGRAMS}/names.js", "names.js")


def chain_calls(path, a, b, skips):
    i = int(a[1:])
    for _ in range(DEEP if skips else 1):
        i = NEXT[path](i)
        if b == f"g{i}":
            return True
    return False


def calls(a, b, skips):
    """May the function b, (file, name), follow a on a stack?"""
    (path, name), (_, callee) = a, b
    if path in NEXT:
        return b[0] == path and chain_calls(path, name, callee, skips)
    if name in CYCLE and path == "names.js":
        return callee == "spin" or (callee in CYCLE and (skips or (CYCLE.index(callee) - CYCLE.index(name)) % len(CYCLE) == 1))
    made = re.fullmatch(r"(o|i|ev)(\d+)", name)
    if made:
        return callee == "spin" and (skips or made[1] != "o") or (made[1] == "o" and callee == f"i{made[2]}")
    if name == "dyn":
        return bool(re.fullmatch(r"[oi]\d+|spin|anonymous|", callee))
    if name == "ev":
        return bool(re.fullmatch(r"ev\d+|spin|", callee))
    return name != "spin"  # others call what they like


def is_place(sources, path, name, line, column):
    """Parameters begin there, after the name or what it is given to. V8 may move the source while it is read: then there is no place."""
    if not name:
        return (line, column) == ("1", "1")
    before = sources[path][int(line) - 1][:int(column) - 1].rstrip()
    return before.endswith(name) or bool(re.search(re.escape(name) + r"\s*=\s*(function)?$", before))


def judge(stacks, skips):
    """Returns how many frames of JavaScript there are, how many have names, and those that are wrong."""
    sources = {}
    for path in "names.js", *NEXT:
        with open(path, encoding="utf-8") as f:
            sources[path] = f.read().split("\n")
    n = named = 0
    wrong, kinds = collections.Counter(), collections.Counter()
    for stack, weight in stacks.items():
        last = None
        for frame in stack[1:]:
            m = NAME.match(frame)
            if not m and not re.match(r"\[perf-\d+\.map\]|Builtins_InterpreterEntryTrampoline", frame):
                continue
            n += weight
            if not m:
                last = None
                continue
            named += weight
            kinds[m[1]] += weight
            function = (os.path.basename(m[3]), m[2])
            if function[0] in sources and m[4] and not is_place(sources, *function, m[4], m[5]):
                wrong[frame] += weight
            if last and not calls(last, function, skips):
                wrong[f"{last} calls {function}"] += weight
            last = function
    return n, named, wrong, kinds


def check_counts(said, what):
    """--stats, by another way: the frames of the script format."""
    frames = sum(bool(re.match(r"\s+[0-9a-f]+ JS:", line)) for line in resolve("x.data", "-f", "script", "--no-inline")[0].splitlines())
    text = run([RESOLVE, "--stats", "-o", "/dev/null", "x.data"]).stderr
    tap.check(frames and said["named_frames"] == frames, f"{what}: --stats counts {frames} frames with names", said)
    # Each name that is shown is a function's; code of the same function at another place is one more.
    tap.check(said["functions"] > 10 and said["changed"] <= said["functions"] and f"{said['functions']}; {said['torn']} times" in text
              and f"frames with a name: {frames}" in text, f"{what}: --stats counts functions", (said, text))


def another_name(name):
    """Where several are installed the file's name has the version. Any other program may be node as well: what it exports tells."""
    path = os.path.join(os.getcwd(), name)
    shutil.copy(os.path.realpath(shutil.which("node")), path)
    p = run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", path, "names.js", "1000"])
    n, named, wrong, _ = judge(folded(resolve("x.data")[0]), True)  # 0 where it is not known; of a short run the first functions have none
    tap.check(named >= 0.5 * n and not wrong, f"a file {name}: {100 * named / max(n, 1):.1f} % have names", (wrong, p.stderr))
    # of a child, which begins with what its parent has
    run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", path, "-e",
         "require('child_process').execFileSync(process.execPath, ['names.js', '1000'])"])
    n, named, wrong, _ = judge(folded(resolve("x.data")[0]), True)
    tap.check(named >= 0.5 * n and not wrong, f"a child of {name}: {100 * named / max(n, 1):.1f} % have names", wrong)


def exports_nothing():
    """A node that does not say where V8's objects have what: resolve must not say that but a little has no name."""
    with open(os.path.realpath(shutil.which("node")), "rb") as f:
        program = f.read()
    if b"\0v8dbg_TaggedSize\0" not in program:
        return tap.skip("a node without v8dbg_*", "it is not in the program")
    with open("node-own", "wb") as f:
        f.write(program.replace(b"\0v8dbg_TaggedSize\0", b"\0v8dbg_TaggedSiz_\0"))
    os.chmod("node-own", 0o755)
    run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", "./node-own", "names.js", "500"])
    p = run([RESOLVE, "-f", "folded", "x.data"])
    return tap.check("JS:" not in p.stdout and "has read no function of V8" in p.stderr and "a moment only" not in p.stderr, "a node without v8dbg_*: that is said",
                     p.stderr)


def said_of_the_nameless():
    """What has no name: one line says what it is, and what helps."""
    with open("regexp.js", "w") as f:
        f.write("const till = process.cpuUsage().user + 400000;\nlet n = 0;\n"
                f"while (process.cpuUsage().user < till) n += /(x+x+)+y/.test('{'x' * 14}');\n")
    cycle = os.path.join(PROGRAMS, "cycle.js")
    for what, line, program in (("--jitless", "V8 interpreted all JavaScript", ["--jitless", cycle, "js", "400"]),
                                ("WebAssembly", "regular expressions and WebAssembly have no names here; node --perf-basic-prof", [cycle, "wasm", "400"]),
                                ("a regular expression", "regular expressions and WebAssembly have no names here; node --perf-basic-prof", ["regexp.js"])):
        run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", "node", *program])
        p = run([RESOLVE, "-f", "folded", "x.data"])
        tap.check(p.stderr.count(line) == 1, f"{what}: it is said that it has no name, and what helps", p.stderr)


def stripped():
    """Without the symbol of the interpreter's entry. What is nameless there is of C++, too: both are said."""
    if not have("strip"):
        return tap.skip("a stripped node", "no strip")
    run(["strip", "-o", "node-stripped", os.path.realpath(shutil.which("node"))])
    for flags, wanted in (["--jitless"], True), ([], False):
        run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", "./node-stripped", *flags, os.path.join(PROGRAMS, "cycle.js"), "js", "400"])
        p = run([RESOLVE, "-f", "folded", "x.data"])
        tap.check(("V8 interpreted all JavaScript" in p.stderr) == wanted and ("JS:" in p.stdout) != wanted,
                  f"a stripped node {' '.join(flags)}: {'it is said that V8 interpreted all' if wanted else 'functions have names'}", p.stderr)
    return 0


def main():
    if NO_EVENTS:
        return tap.skip("V8's names", NO_EVENTS)
    if not have("node"):
        return tap.skip("V8's names", "no node")
    if os.uname().machine != "x86_64":
        return tap.skip("V8's names", "V8's frames are known for x86-64 only")
    need_events()
    write_files()
    known = run(["node", "--v8-options"]).stdout
    maglev = ["--no-maglev"] if "--maglev " in known else []
    for flags, wanted in (([], "~^*"), (["--no-turbo-inlining", *maglev], "~^*"), (["--no-opt", "--no-sparkplug"], "~"),
                          (["--no-opt", "--always-sparkplug", *maglev], "^")):
        what = "node " + " ".join(flags)
        run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", "node", *flags, "names.js", "2500"])
        out, stats = resolve("x.data")
        n, named, wrong, kinds = judge(folded(out), not flags)
        check_counts(stats["javascript"], what)
        # One stack, in some twenty recordings of 5,000, had the function between two others left out, perhaps by the unwinder.
        tap.check(n and sum(wrong.values()) <= named / 5000, f"{what}: of {named} ns of names none is another function's", wrong.most_common(5))
        # Code of what eval() made goes away, and others get its memory: then names hold from when they were read (94 to 99 %).
        tap.check(named >= 0.8 * n, f"{what}: {100 * named / max(n, 1):.1f} % of JavaScript's frames have names", kinds)
        tap.check(all(kinds[k] for k in wanted), f"{what}: kinds {wanted}", kinds)
    for name in "node-22", "server":
        another_name(name)
    exports_nothing()
    said_of_the_nameless()
    stripped()
    return 0


main()
tap.end()

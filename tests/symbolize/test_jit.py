#!/usr/bin/env python3
"""JIT code of node, by its jitdump (--perf-prof) and its perf-PID.map (--perf-basic-prof).

Truth for the jitdump: `perf inject --jit`, which writes an ELF file per function and has perf script name the
samples by when each was loaded. Names must be equal for every sample in JIT code."""
import os
import re
import shutil
import subprocess

from recorder import perf_record
from symtool import *

SCRIPT = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
class Shape { area(x) { let s = 0; for (let i = 0; i < x; i++) s += i * i; return s } }
let s = 0; const o = new Shape();
// CPU time, so that a loaded machine leaves as many samples
const end = process.cpuUsage().user + 900e3;
while (process.cpuUsage().user < end) { s += fib(18) + o.area(3000); JSON.stringify({ a: s, b: [s, s] }); }
// code made anew all the time: addresses are used again
for (let i = 0; i < 60; i++) s += new Function('x', `let t = 0; for (let i = 0; i < 9000; i++) t += i ^ x * ${i}; return t`)(i);
"""


def record(option):
    write("work.js", SCRIPT)
    try:
        perf_record("-k", "mono", "-F", "2000", "-e", "cpu-clock:u", "-o", "perf.data", "sh", "-c",
                    'echo $$ > pid; exec node "$0" work.js', option)
    except RuntimeError:
        return False
    return True


def samples(data):
    """[(pid, time in ns, ip, symbol, dso)]"""
    out = run("perf", "script", "-i", data, "--ns", "--no-demangle", "-F", "pid,time,ip,sym,dso", ok=False)
    for line in out.splitlines():
        m = re.match(r"\s*(\d+)\s+(\d+)\.(\d{9}):\s+([0-9a-f]+) (.*) \((.*)\)$", line)
        if m:
            yield int(m.group(1)), int(m.group(2) + m.group(3)), int(m.group(4), 16), m.group(5), m.group(6)


def jitdump():
    if not record("--perf-prof"):
        return skip("node's jitdump", "cannot record")
    run("perf", "inject", "--jit", "-i", "perf.data", "-o", "jit.data", ok=False)
    jitted = [s for s in samples("jit.data") if re.search(r"/jitted-\d+-\d+\.so$", s[4])] if os.path.exists("jit.data") else []
    if len(jitted) < 50:
        return skip("node's jitdump", f"perf inject --jit: {len(jitted)} samples in JIT code")
    pid = jitted[0][0]
    answers, source, reason = symbolize("jit", f"/tmp/perf-{pid}.map", [(s[2], s[1]) for s in jitted], "-d", "none", "-i",
                                        "-p", "perf.data")
    bad = [f"{s[2]:x} at {s[1]}: {a.system!r}, perf {s[3]!r}" for s, a in zip(jitted, answers) if a.system != s[3]]
    check(not bad and f"jit-{pid}.dump" in source, f"node's jitdump: {len(jitted)} samples named as by perf inject --jit",
          "\n".join(bad) + reason)
    dump = f"jit-{pid}.dump"
    if os.path.exists(dump):
        size = os.path.getsize(dump)
        os.truncate(dump, size - 5)
        words = subprocess.run([os.path.join(os.environ["BIN"], "resolve"), "--no-inline", "-o", "cut.folded", "perf.data"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
        check(f"{dump}: the jitdump ends inside of a record at offset" in words, "node's jitdump cut short: a line says at which offset", words)
    # "JS:*name /path/file.js:LINE:COLUMN" tells where the function starts; V8 18 writes lines for some functions only
    lined = [(re.search(r" (\S*?):(\d+):\d+$", a.system), a.lines[0][1].rsplit(":", 1)) for a in answers
             if a.lines and not a.lines[0][1].startswith(":")]
    lined = [(m, file, int(line)) for m, (file, line) in lined if m]
    if not lined:
        return skip("node's jitdump: lines", "this node writes none")
    wrong = [(m.group(0), file, line) for m, file, line in lined if m.group(1) == file and line < int(m.group(2))]
    check(lined and not wrong and any(m.group(1) == file for m, file, _ in lined),
          f"node's jitdump: {len(lined)} samples with a line, in the right file, not before the function",
          "\n".join(map(str, wrong)) or len(lined))


def perf_map():
    """node writes the map into /tmp, whatever TMPDIR says."""
    try:
        compare_with_perf_map()
    finally:
        if os.path.exists("pid"):
            with open("pid") as f:
                path = f"/tmp/perf-{int(f.read())}.map"
            if os.path.exists(path):
                os.unlink(path)


def compare_with_perf_map():
    if not record("--perf-basic-prof"):
        return skip("node's perf map", "cannot record")
    all_samples = list(samples("perf.data"))
    pid = all_samples[0][0]
    path = f"/tmp/perf-{pid}.map"
    anonymous = [s for s in all_samples if s[4] == path]
    if len(anonymous) < 50:
        return skip("node's perf map", f"{len(anonymous)} samples in JIT code")
    answers, source, reason = symbolize("jit", path, [s[2] for s in anonymous], "-d", "none")
    # perf keeps the longest of the names that an address had, we the last: only addresses used once compare
    same = sum(a.system == s[3] for s, a in zip(anonymous, answers))
    named = sum(a.system != "" for a in answers)
    check(source == path and named >= 0.95 * len(answers) and same >= 0.9 * len(answers),
          f"node's perf map: {named} of {len(answers)} samples named, {same} as by perf",
          "\n".join(f"{s[2]:x}: {a.system!r}, perf {s[3]!r}" for s, a in zip(anonymous, answers) if a.system != s[3]))


if not shutil.which("node") or not shutil.which("perf"):
    skip("JIT code", "no node or no perf")
else:
    jitdump()
    perf_map()
end()

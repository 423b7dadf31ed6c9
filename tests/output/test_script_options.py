#!/usr/bin/env python3
"""Options of perf script in -f script: --hide-call-graph (-G), --stop-bt, --reltime, --deltatime, --symbols, --compat, types in -F. What they
print is what this machine's perf prints, in the columns of its version; and by a text whose samples are known."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, run  # noqa: E402
from recorder import perf_record, perf_version  # noqa: E402
from tap import NO_EVENTS  # noqa: E402

tap = Tap()


def ours(*options):
    p = run([RESOLVE, "-q", "-f", "script", *options], check=False)
    return p.stdout, p.stderr


TEXT = """prog     1/1     5.000100:         10    cycles:u: 
	          401000 leaf+0x0 (/bin/p)
	          402000 mid+0x1 (/bin/p)
	          403000 main+0x1 (/bin/p)

prog     1/2     5.000300:         10    cycles:u: 
	          404000 other+0x0 (/bin/p)
	          403000 main+0x1 (/bin/p)

prog     1/1     5.000700:         10    cycles:u: 
	          401000 leaf+0x0 (/bin/p)
	          402000 mid+0x1 (/bin/p)
	          403000 main+0x1 (/bin/p)

"""
with open("t.txt", "w") as f:
    f.write(TEXT)
times = lambda *o: re.findall(r"(\d+\.\d+): +\d+ +cycles", ours(*o, "t.txt")[0])  # noqa: E731
tap.check(times("--reltime") == ["0.000000", "0.000200", "0.000600"], "--reltime", times("--reltime"))
tap.check(times("--deltatime") == ["0.000000", "0.000200", "0.000400"], "--deltatime", times("--deltatime"))
tap.check(times("--reltime", "--ns") == ["0.000000000", "0.000200000", "0.000600000"], "--reltime --ns")
text, _ = ours("-G", "t.txt")
tap.check(text.count("\n") == 3 and re.search(r"cycles:u:  +401000 leaf\+0x0 \(/bin/p\)$", text, re.M), "-G: a line for each sample", text)
tap.check(ours("--hide-call-graph", "t.txt")[0] == text, "--hide-call-graph is -G")
text, _ = ours("--max-stack", "2", "t.txt")
tap.check(re.findall(r"[0-9a-f]+ (\w+)\+", text) == ["leaf", "mid", "other", "main", "leaf", "mid"], "--max-stack: of all frames", text)
text, _ = ours("--stop-bt", "mid,nope", "t.txt")
tap.check(re.findall(r"[0-9a-f]+ (\w+)\+", text) == ["leaf", "mid", "other", "main", "leaf", "mid"], "--stop-bt: the function itself is still there", text)
text, _ = ours("-S", "other", "t.txt")
tap.check(re.findall(r"[0-9a-f]+ (\w+)\+", text) == ["other", "main"], "-S: the function that the sample is in", text)
text, _ = ours("--compat=6.1", "t.txt")
tap.check(re.search(r"^prog +1 +5\.000100: ", text, re.M) and "prog     1     5" in text, "--compat=6.1: the columns of tasks", text)
text, _ = ours("-F", "trace:", "t.txt")
tap.check("leaf" in text, "-F trace: nothing of tracepoints, all of others", text)
for options, words in ((("-F", "uregs"), "have no uregs"), (("-F", "+iregs"), "have no iregs"), (("-F", "tod"), "time of day"), (("-F", "data_src"), "jsonl"), (("-F", "nope:ip"), "none of hw: sw: trace:"), (("-F", "brstacksym"), "brstack"), (("-F", "ip,nope"), "is none of"),
                       (("--show-mmap-events",), "only samples"), (("--per-event-dump",), "--event"), (("-D",), "perf script -D"), (("-L",), "-F comm"),
                       (("--compat=5.4",), "6.12")):
    text, err = ours(*options, "t.txt")
    tap.check(text == "" and words in err and err.count("\n") == 1, f"refused with the reason: {' '.join(options)}", err)

PROGRAM = """#include <time.h>
__attribute__((noinline)) unsigned leaf(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s = s * 7 + i; return s; }
__attribute__((noinline)) unsigned mid(unsigned n) { return leaf(n) + leaf(n / 2); }
int main(void) { unsigned s = 0; while (clock() < CLOCKS_PER_SEC * 3 / 10) s += mid(20000); return s == 1; }
"""


def relevant(text):
    """Heads of samples, and frames of the program itself: how far a stack goes in libraries, and what symbols are called there, differs between
    versions, and is compared elsewhere (test_perf_diff)."""
    return [line for line in text.splitlines() if not line.startswith("\t") or line.endswith("/w)") or re.search(r"\t.*(leaf|mid|main)$", line)]


p = run([RESOLVE, "-q", "-f", "jsonl", "-F", "misc", "t.txt"], check=False)
tap.check(p.returncode == 2 and not p.stdout and "-f script only" in p.stderr, "-F misc: jsonl has none", p)

version = perf_version()
if NO_EVENTS or not ((6, 1) == version or version >= (6, 12)):
    tap.skip("beside perf script", NO_EVENTS or f"perf {version}: its columns are neither those of 6.1 nor those of 6.12")
else:
    with open("w.c", "w") as f:
        f.write(PROGRAM)
    run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "w", "w.c"])
    perf_record("-e", "cpu-clock:u", "-F", "999", "-g", "-o", "w.data", "./w")
    compat = ["--compat=6.1"] if version == (6, 1) else []
    for options in ([], ["-G"], ["--reltime"], ["--deltatime", "--ns"], ["--stop-bt", "mid"], ["-S", "leaf"], ["--max-stack", "2"], ["-c", "w", "-F", "comm,pid,tid,time,ip,sym"],
                    ["-F", "sw:comm,ip,sym"], ["-F", "+pid,-period"]):
        theirs = subprocess.run(["perf", "script", "-f", "--no-inline", "--no-demangle", *options, "-i", "w.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        have, err = ours("--no-inline", "--no-demangle", *compat, *options, "w.data")
        want = relevant(theirs.stdout)
        tap.check(len(want) > 50 and relevant(have) == want, f"as perf script: {' '.join(options)}", next(((a, b) for a, b in zip(relevant(have), want) if a != b), len(want)), err)
    # ---- registers, and what the kernel says of page faults: whole lines, but names are compared above -------------------
    perf_record("-e", "cpu-clock", "-F", "999", "-g", "-I", "--user-regs", "-o", "regs.data", "./w")
    perf_record("-e", "page-faults", "-c", "1", "-d", "--phys-data", "--data-page-size", "--code-page-size", "-W", "-o", "faults.data", "./w")
    for path, fields in (("regs.data", "iregs"), ("regs.data", "comm,tid,misc,time,iregs,uregs"), ("regs.data", "misc,ip,uregs"), ("faults.data", "comm,misc,phys_addr"),
                         ("faults.data", "comm,misc,addr,phys_addr,data_page_size,code_page_size"), ("faults.data", "comm,weight,ins_lat,ip")):
        want = subprocess.run(["perf", "script", "-f", "-F", fields, "-i", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        have, err = ours(*compat, "--max-stack", "1024", "-F", fields, path)
        tap.check(want.count("\n") > 20 and have == want, f"as perf script: {path} -F {fields}",
                  next(((a, b) for a, b in zip(have.splitlines(), want.splitlines()) if a != b), len(want)), err)
    tap.check("have no iregs" in ours("-F", "iregs", "faults.data")[1], "-F iregs: not recorded")
tap.end()

#!/usr/bin/env python3
"""resolve --header: what it tells of a recording is what `perf report --header-only` tells, line by line.

perf 6.1 tells less in two cases: after an empty string (armv7.perf_3.14: the CPU's description) it ends, and it
takes core and socket numbers for missing where it does not know the machine's number of processors.
Left out: the event lines (perf lists every bit of the attribute), and what perf has only for the file itself (offsets)
or from the machine that it runs on. Of simpleperf's own sections perf knows nothing (test_simpleperf.py does)."""
import os
import re
import shutil
import subprocess
import sys

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
CORPUS = os.path.join(TOP, "../shared/corpus")
OURS_ONLY = re.compile(r"# (event :|========|missing features|clockid: |reference time|simpleperf |contains \d+ symbols)|#$")
failed = 0


def lines(*cmd):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)
    return p.returncode, [l.rstrip() for l in p.stdout.decode(errors="replace").splitlines()]


def check(path, name, least):
    global failed
    rc, perf = lines("perf", "report", "--header-only", "-I", "-f", "-i", path)
    if rc or len(perf) < 5:
        return False
    rc, ours = lines(os.path.join(BIN, "resolve"), "--header", path)
    if any("information is not available" in l for l in perf):
        ours = [l for l in ours if not re.match(r"# CPU \d+: Core ID", l)]
    extra = [l for l in ours if not OURS_ONLY.match(l) and l not in perf]
    events = [sum(l.startswith("# event : name") for l in x) for x in (ours, perf)]
    good = rc == 0 and not extra and len(ours) >= least and events[1] in (events[0], 0)
    print(f"{'ok' if good else 'not ok'} - {name}: {len(ours)} lines")
    if not good:
        failed = 1
        print("#", rc, events, *(f"\n#   {l}" for l in extra[:8]))
    return True


if not shutil.which("perf"):
    print("ok - headers # SKIP perf is not installed")
    sys.exit(0)
subprocess.run(["perf", "record", "-q", "-N", "-B", "-e", "{cpu-clock,task-clock}", "-g", "-o", "x.data", "true"],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if not check("x.data", "a recording made here", 25):
    print("not ok - a recording made here: perf tells its header")
    failed = 1
if not os.path.exists(os.path.join(CORPUS, "MANIFEST.tsv")):
    print("ok - headers of the corpus # SKIP no ../shared/corpus here")
    sys.exit(failed)
read = 0
for row in open(os.path.join(CORPUS, "MANIFEST.tsv")):
    name = row.split("\t")[0]
    if name != "file" and "hostile" not in name and "\tfile\t" in row and "armv7.perf_3.14" not in name:
        read += check(os.path.join(CORPUS, name), name, 5)
print(f"{'ok' if read > 20 else 'not ok'} - perf tells the headers of {read} files")
sys.exit(failed or read <= 20)

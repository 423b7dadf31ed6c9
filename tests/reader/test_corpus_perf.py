#!/usr/bin/env python3
"""Recordings from elsewhere: every sample that perf prints has the command, ids, time, event, period and
address that we read, and its call chain has the same addresses. What may differ, and why:

- simpleperf recordings: the event has the name simpleperf gave it in META_INFO ("cpu-cycles"), perf makes one up.
- Events to which their recording gives no name: perf 7.2 makes one up with an H behind it, which no one has typed (tests/e2e/test_corpus_script.py).
- Processors that the machine where it runs has not: in pipes perf 7.2 has 0 for each. 6.1 has the number.
- perf_with_add_counter: simpleperf's added counters ride along with one sample; they are no event group of which
  each member samples, as perf believes, which prints every sample twice. The manifest agrees with us.
Files that perf 6.1 cannot read are named at the end."""
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

from recorder import perf_version, same_comm

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/reader/tool_dump")
NEWER = perf_version() > (6, 12)
CORPUS = os.path.join(TOP, "../shared/corpus")
LINE = re.compile(r"^\s*(\S.*?|)\s+(-?\d+)/(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:(\d+)\.(\d{9}):)?\s*(\d+)\s+(\S.*?): +([0-9a-f]+)\s*$")


def run(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)


def perf_samples(path):
    """[(comm, pid, tid, cpu, time, event, period, ip)] of perf script, None where it was not recorded; or None."""
    for cpu in (",cpu", ""):
        for time in (",time", ""):
            p = run("perf", "script", "-f", "-G", "--ns", "-F", f"comm,pid,tid{cpu}{time},period,event,ip", "-i", path)
            if p.returncode == 0 and p.stdout:
                return [m.groups() for m in map(LINE.match, p.stdout.splitlines()) if m], p.stdout.count("\n")
    return None


def ours(path):
    rows = [l.split("\t") for l in run(TOOL, path).stdout.splitlines() if l.count("\t") >= 8]
    return [(r[0], *r[1].split("/"), r[2], r[3], r[4], r[5], r[6]) for r in rows]


def perf_chains(path):
    """[(tid, [addresses])] of perf script."""
    p = run("perf", "script", "-f", "--ns", "--max-stack", "1024", "-F", "tid,ip", "-i", path)
    out = []
    for line in p.stdout.splitlines():
        if line.strip() and line[0] != "\t":
            out.append((line.split()[0], []))
        elif line.strip():
            out[-1][1].append(int(line, 16))
    return out


def our_chains(path):
    """The same of ours, without context markers and what follows no address."""
    out = []
    for line in run(TOOL, "-c", path).stdout.splitlines():
        if " chain" in line and line.count("\t") >= 8:
            words = line.split(" chain")[1].split(" regs ")[0].split()
            out.append((line.split("\t")[1].split("/")[1], [int(w, 16) for w in words if int(w, 16) < 2**64 - 4095]))
    return out


def compare_chains(name, path):
    """perf 6.1 prints an address of a mapped file as the place in the file, so page by page: the offset in the page
    is the same; but for simpleperf's maps of compiled Java, which begin anywhere (0x9cdfe3d0 ...)."""
    perf, mine = perf_chains(path), our_chains(path)
    java = range(0x98000000, 0x9d000000) if "perf_display_bitmaps" in name else ()
    bad = [(p, m) for p, m in zip(perf, mine) if p[0] != m[0] or len(p[1]) != len(m[1]) or
           any(a != b and (a ^ b) & 0xfff and b not in java for a, b in zip(p[1], m[1]))]
    good = perf and len(perf) == len(mine) and not bad
    print(f"{'ok' if good else 'not ok'} - {name}: the addresses of {len(mine)} call chains")
    if not good:
        print(f"# {len(perf)} and {len(mine)} chains, {len(bad)} differ")
        for p, m in bad[:2]:
            print("#", p[0], [hex(a) for a in p[1]], "\n#", m[0], [hex(a) for a in m[1]])
    return good


def same_event(perfs, ours, is_pipe):
    return perfs == ours or is_pipe and NEWER and re.sub(":H$", "", perfs) == ours


def same_cpu(perfs, ours, is_pipe):
    return int(perfs) == int(ours) or is_pipe and NEWER and int(perfs) == 0 and int(ours) >= os.cpu_count()


def same(perf, our, simpleperf, is_pipe):
    comm, pid, tid, cpu, sec, ns, period, event, ip = perf
    return (same_comm(comm, our[0], tid) and (pid, tid, period, int(ip, 16)) == (our[1], our[2], our[6], int(our[7], 16))
            and (simpleperf or same_event(event, our[5], is_pipe))
            and (cpu is None or same_cpu(cpu, our[3], is_pipe)) and (sec is None or int(sec + ns) == int(our[4])))


if not os.path.exists(os.path.join(CORPUS, "MANIFEST.tsv")):
    print("ok - corpus against perf # SKIP no ../shared/corpus here")
    sys.exit(0)
if not shutil.which("perf"):
    print("ok - corpus against perf # SKIP perf is not installed")
    sys.exit(0)
failed, unreadable = 0, []
for row in open(os.path.join(CORPUS, "MANIFEST.tsv")):
    name = row.split("\t")[0]
    if name == "file" or "hostile" in name or name.endswith("perf_with_add_counter.data"):
        continue
    path = os.path.join(CORPUS, name)
    perf = perf_samples(path)
    if not perf:
        unreadable.append(name)
        continue
    theirs, lines = perf
    mine = ours(path)
    bad = [(a, b) for a, b in zip(theirs, mine) if not same(a, b, name.startswith("simpleperf/"), "\tpipe\t" in row)]
    good = len(theirs) == lines == len(mine) and not bad
    print(f"{'ok' if good else 'not ok'} - {name}: {len(mine)} samples as perf prints them")
    if not good:
        failed = 1
        print(f"# {len(theirs)} of {lines} lines parsed, {len(mine)} ours, {len(bad)} differ")
        for a, b in bad[:3]:
            print("#  ", a, b)
    if re.search(r" ustk=0 br=0 cc=[1-9]", row):
        failed |= not compare_chains(name, path)
print(f"# perf reads nothing from {len(unreadable)}: {' '.join(unreadable)}")
sys.exit(failed)

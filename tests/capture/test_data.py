#!/usr/bin/env python3
"""capture -d: the addresses of page faults, of pages that a program touches where it says (tests/programs/touches.c), what they lie in, and
the same addresses as perf script prints."""
import collections
import os
import re
import shutil
import subprocess

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, run, start, until_enabled

tap = Tap()
need_events()
PAGE = 4096
run(["gcc", "-O1", "-g", "-pthread", os.path.join(os.environ["TOP"], "tests", "programs", "touches.c"), "-o", "touches"])
MAPPED = os.path.abspath("mapped")
EXPECTED = {"heap": "[heap]", "anon": "[anon]", "file": MAPPED, "stack": "[stack]", "bss": "[anon]", "thread": "[stack]"}


def record(name, *options):
    if os.path.exists(MAPPED):
        os.remove(MAPPED)
    p = capture("-d", "-c", "1", "-m", "32M", *options, "-o", name, "--", "./touches", MAPPED)
    return p, {w[0]: int(w[1], 16) for w in (line.split() for line in p.stdout.splitlines()) if len(w) == 3}


def lines(tool, fields):
    """The fields of each sample."""
    return [" ".join(line.split()) for line in run([*tool, "-F", fields]).stdout.splitlines() if line.strip()]


def faults(name):
    """The addresses of page faults, a list."""
    return [int(line.split()[-1], 16) for line in lines([RESOLVE, "-q", "-f", "script", name], "comm,tid,event,addr") if "faults" in line]


def labels(name, *options):
    total = collections.Counter()
    for line in run([RESOLVE, "-q", "--by", "data", *options, name]).stdout.splitlines():
        total[line.split(";", 1)[0]] += int(line.rsplit(" ", 1)[1])
    return total


p, places = record("faults.data", "--call-graph", "dwarf,4096", "-e", "page-faults")
hit = collections.Counter(a // PAGE for a in faults("faults.data"))
missed = {name: sum(1 for i in range(64) if not hit[base // PAGE + i]) for name, base in places.items()}
tap.check(set(places) == set(EXPECTED) and p.n_lost == 0 and all(m <= 2 for m in missed.values()), "each page that was touched is an address", missed, p.n_lost, p.stderr)
total = labels("faults.data")
least = collections.Counter()
for name, label in EXPECTED.items():
    least[label] += 64 - missed[name]
tap.check(all(total[k] >= least[k] for k in least) and least["[stack]"] >= 120 and total[MAPPED] == least[MAPPED], "--by data: heap, stacks, anonymous memory, the file", total, least)
near = {"[heap]": 70, "[anon]": 150, "[stack]": 145, MAPPED: 64}
tap.check(all(total[k] <= most for k, most in near.items()), "and hardly anything else there", total)
folded = run([RESOLVE, "-q", "--by", "data", "faults.data"]).stdout
by_function = {f: {line.split(";")[0] for line in folded.splitlines() if f";{f};touch " in line} for f in ("touch_heap", "touch_anon", "touch_file", "touch_stack")}
tap.check(by_function == {"touch_heap": {"[heap]"}, "touch_anon": {"[anon]"}, "touch_file": {MAPPED}, "touch_stack": {"[stack]"}}, "by the functions that touch them", by_function)
top = run([RESOLVE, "-q", "-f", "folded", "--by", "data", "--dsos", "touches", "faults.data"], check=False)
tap.check(top.returncode == 0, "with a filter", top.stderr)

# ---- the form of samples -----------------------------------------------------------------------------
KINDS = {
    "fp": ("--call-graph", "fp", "-e", "page-faults"),
    "none": ("--call-graph", "none", "-e", "page-faults"),
    "several events": ("-e", "minor-faults", "-e", "major-faults", "-e", "context-switches", "-e", "cpu-clock:u"),
    "physical": ("--phys-data", "-e", "minor-faults"),
    "cgroups": ("--phys-data", "--all-cgroups", "-e", "minor-faults"),
    "uncompressed": ("--no-compress", "-e", "page-faults"),
    "snapshot": ("--snapshot=30", "-e", "page-faults"),
    "tracepoint": ("--off-cpu", "-e", "page-faults"),
}
for kind, options in KINDS.items():
    name = f"{kind.split()[0]}.data"
    if kind == "tracepoint" and os.geteuid():
        tap.skip(kind, "needs root")
        continue
    p, places = record(name, *options)
    addresses = [a for a in faults(name) if a]
    known = sum(1 for a in addresses if any(base <= a < base + 64 * PAGE for base in places.values()))
    stats = run([RESOLVE, "--stats", "-o", "/dev/null", name]).stderr
    tap.check(known >= 300 and " 0 skipped" in stats, f"{kind}: the addresses that the program knows", known, len(addresses), stats, p.stderr)
    if kind == "snapshot":
        total = labels(name)
        tap.check(total[MAPPED] >= 60 and total["[heap]"] >= 60, "a snapshot has the maps", total)
    if not have("perf") or kind == "tracepoint":
        continue
    fields = "comm,tid,event,addr"
    theirs = lines(["perf", "script", "-f", "--no-inline", "-i", name], fields)
    ours = lines([RESOLVE, "-q", "-f", "script", name], fields)
    tap.check(ours == theirs and len(ours) >= 300, f"{kind}: perf script prints the same addresses", len(ours), len(theirs), [x for x in zip(ours, theirs) if x[0] != x[1]][:3])
    theirs = [" ".join(line.split()) for line in run(["perf", "script", "-f", "-i", name, "-F", "comm,tid,time,event,ip,sym"]).stdout.splitlines()]
    tap.check(len([x for x in theirs if x]) >= 300, f"{kind}: perf reads it all", theirs[:3])

# ---- what runs already, and what becomes of the file --------------------------------------------------
with open("later.c", "w", encoding="utf-8") as f:
    f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
            "enum { N = 512 };\n"
            "int main(void) { volatile char *h = (char *)(((size_t)malloc(100000) + 4095) & ~4095ul);\n"
            "  char *m = mmap(0, N * 4096, 3, 0x22, -1, 0); char c;\n"
            "  sbrk(N * 4096); puts(\"ready\"); fflush(stdout);\n"
            "  if (read(0, &c, 1) != 1) return 1;\n"
            "  volatile char *top = (char *)sbrk(0);\n"
            "  for (int i = 1; i <= 256; i++) top[-i * 4096] = 1;\n"
            "  for (int i = 0; i < 256; i++) m[i * 4096] = 1;\n"
            "  (void)h; return 0; }\n")
run(["gcc", "-O1", "-g", "later.c", "-o", "later"])
target = subprocess.Popen(["./later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
target.stdout.readline()
q = start("-d", "-c", "1", "-m", "16M", "--call-graph", "dwarf,4096", "-e", "page-faults", "-p", target.pid, "-o", "running.data")
until_enabled(q)
target.stdin.write("x")
target.stdin.close()
target.wait()
err = q.communicate(timeout=60)[1]
total = labels("running.data")
tap.check(254 <= total["[heap]"] <= 260 and 254 <= total["[anon]"] <= 260, "-p: what was mapped before has its names, too", total, err)
run([RESOLVE, "-q", "--bundle", "-o", "carried.data", "faults.data"])
tap.check(labels("carried.data") == labels("faults.data") and faults("carried.data") == faults("faults.data"), "resolve --bundle keeps addresses and maps")
run([RESOLVE, "-q", "--bundle", "--strip-stacks", "-o", "stripped.data", "faults.data"])
tap.check(faults("stripped.data") == faults("faults.data"), "--strip-stacks keeps addresses")
# ---- what is lost ---------------------------------------------------------------------------------------
# How many pages are touched before all is over is chance: with some size of the ring some are, and faults are lost.
for options, advised in ((["--call-graph", "dwarf"], True), (["--call-graph", "dwarf", "--no-touch"], False), (["--call-graph", "fp"], False)):
    for size in ("128K", "256K", "512K", "1M", "2M"):
        p = capture("-d", "-c", "1", "-m", size, *options, "-e", "page-faults", "-o", "lost.data", "--", "./touches", MAPPED)
        if "--no-touch" in p.stderr:
            break
    tap.check(("--no-touch" in p.stderr) == advised and (p.n_lost > 0 or not advised), f"{' '.join(options)}: faults that are lost while pages are touched name --no-touch", p.stderr)
p = capture("--no-compress", "-e", "page-faults", "-o", "plain.data", "--", "./touches", MAPPED)
p = run([RESOLVE, "--by", "data", "plain.data"])
tap.check("capture -d" in p.stderr, "a recording without: what records it", p.stderr)
p = run([RESOLVE, "-f", "script", "-F", "comm,addr", "plain.data"], check=False)
tap.check(p.returncode == 2 and "no addr" in p.stderr, "-F addr of it is refused", p.stderr)

# ---- rights ------------------------------------------------------------------------------------------
if os.geteuid() or not shutil.which("setpriv"):
    tap.skip("without rights", "needs root and setpriv")
else:
    os.chmod(".", 0o777)
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as f:
        physical = (0, "samples of") if int(f.read()) <= 1 else (2, r"--phys-data: .*CAP_PERFMON")
    for option, status, wanted in (("--phys-data", *physical), ("-d", 0, "samples of page-faults")):
        p = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", CAPTURE, option, "-c", "1", "-e", "page-faults", "-o", "nobody.data", "true"], check=False)
        tap.check(p.returncode == status and re.search(wanted, p.stderr), f"without rights: {option}", p.stderr)
tap.end()

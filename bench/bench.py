#!/usr/bin/env python3
"""bench.py - what resolve costs, beside perf on the same files in the same run.

Records once (build/bench, kept): a C++ compilation with dwarf stacks of more than 100 MB. Prints CPU
seconds, wall seconds and peak memory of each side (median of the runs), and the ratios. Nothing here is
asserted: numbers of a shared machine vary by tens of percent.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIR = os.path.join(TOP, "build", "bench")

# perf script text -> folded, as stackcollapse-perf.pl does it, in the smallest form: the peer's second half
COLLAPSE = r"""
/^[^\t ]/ { comm = $1; next }
/^\t/ { sub(/^\t *[0-9a-f]+ /, ""); sub(/ \([^(]*\)$/, ""); sub(/\+0x[0-9a-f]+$/, "");
        stack = stack == "" ? $0 : $0 ";" stack; next }
/^$/ { if (stack != "") n[comm ";" stack]++; stack = "" }
END { for (s in n) print s, n[s] }
"""

SOURCE = r"""
#include <regex>
#include <map>
#include <string>
#include <vector>
#include <algorithm>
#include <functional>
#include <iostream>
template <int N> struct T { std::map<std::string, std::vector<T<N - 1>>> m; int f() { return m.size() + T<N - 1>().f(); } };
template <> struct T<0> { int f() { return 1; } };
int main(int c, char **v) { std::regex r(v[0]); std::cout << std::regex_match(v[1], r) << T<60>().f(); }
"""


def shell(cmd):
    subprocess.run(cmd, shell=True, check=True, cwd=DIR, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(name, cmd, size_mb):
    """perf record of cmd, made longer until the file has size_mb."""
    path = os.path.join(DIR, name)
    rounds = 1
    while not os.path.exists(path) or os.path.getsize(path) < size_mb << 20:
        shell(f"perf record -q -e cpu-clock -F 999 --call-graph dwarf,8192 -m 8M -o {path}.tmp -- "
              f"sh -c 'for i in $(seq {rounds}); do {cmd}; done'")
        if os.path.getsize(path + ".tmp") >= size_mb << 20:
            os.rename(path + ".tmp", path)
        rounds *= 2
    return path


def once(cmd):
    """(cpu seconds, wall seconds, peak MB) of a shell command and all it starts."""
    script = ("import resource,subprocess,sys,time\n"
              "t=time.time()\n"
              "rc=subprocess.call(sys.argv[1],shell=True)\n"
              "r=resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(r.ru_utime+r.ru_stime,time.time()-t,r.ru_maxrss/1024,rc)\n")
    out = subprocess.run([sys.executable, "-c", script, cmd], check=True, cwd=DIR, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout.split()
    return [float(x) for x in out[:3]]


def measure(cmd, runs):
    once(cmd)  # the page cache and our own index are warm for both sides
    rows = [once(cmd) for _ in range(runs)]
    return [statistics.median(col) for col in zip(*rows)]


def row(what, m, base=None):
    ratio = f"{m[0] / base[0]:8.1f} x cpu" if base else ""
    print(f"  {what:58} {m[0]:8.3f} s cpu {m[1]:8.3f} s wall {m[2]:7.0f} MB {ratio}", flush=True)


def section(title, data, bin_, runs):
    size = os.path.getsize(data)
    print(f"{title}: {size / 1e6:.0f} MB")
    perf = "perf script --no-inline -F comm,ip,sym,dso --max-stack 1024 -i"
    ours = measure(f"{bin_}/resolve -q --no-inline -j 1 {data} > o.folded", runs)
    row("cat FILE > /dev/null", measure(f"cat {data} > /dev/null", runs), ours)
    row("resolve --no-inline -j 1", ours)
    row("resolve --no-inline", measure(f"{bin_}/resolve -q --no-inline {data} > o.folded", runs), ours)
    row("resolve with inlines -j 1", measure(f"{bin_}/resolve -q -j 1 {data} > oi.folded", runs), ours)
    row("perf script --no-inline | collapse", measure(f"{perf} {data} 2>/dev/null | awk -f collapse.awk > p.folded", 1), ours)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bin", required=True)
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--perf-inline-limit", type=int, default=180, help="seconds perf gets with inlines on")
    a = ap.parse_args()
    if not shutil.which("perf"):
        sys.exit("bench: perf is not installed")
    os.makedirs(DIR, exist_ok=True)
    bin_ = os.path.abspath(a.bin)
    with open(os.path.join(DIR, "bench.cc"), "w") as f:
        f.write(SOURCE)
    with open(os.path.join(DIR, "collapse.awk"), "w") as f:
        f.write(COLLAPSE)
    gcc = record("gcc.data", "g++ -O2 -c bench.cc -o bench.o", 100)
    section("g++ -O2, dwarf stacks of 8 KiB", gcc, bin_, a.runs)
    small = record("gcc-small.data", "g++ -O2 -c bench.cc -o bench.o", 5)
    ours = measure(f"{bin_}/resolve -q -j 1 {small} > oi.folded", a.runs)
    print(f"with inlines, one compilation: {os.path.getsize(small) / 1e6:.0f} MB")
    row("resolve with inlines -j 1", ours)
    theirs = once(f"timeout {a.perf_inline_limit} perf script -F comm,ip,sym,dso -i {small} 2>/dev/null | awk -f collapse.awk > p.folded")
    cut = " (stopped at the limit)" if theirs[1] >= a.perf_inline_limit - 1 else ""
    row("perf script with inlines | collapse" + cut, theirs, ours)


if __name__ == "__main__":
    main()

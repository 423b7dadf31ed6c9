#!/usr/bin/env python3
"""Whole samples: our tables against plain libdw on fresh recordings, by tool_cfi_diff.

Every sample that differs is put into a class that says who is right (tests/unwind/README.md); one that fits
no class fails the test. Roots must be reached at least as often as by libdw.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

from recorder import perf_record
from tap import LONG

BUILD, TOP = os.environ["BUILD"], os.environ["TOP"]
TOOL = os.path.join(BUILD, "tests/unwind/tool_cfi_diff")
PROGRAMS = os.path.join(TOP, "tests/programs")
PYTHON = """
import json
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(18)
json.loads(json.dumps({str(i): [i] * 3 for i in range(20000)}))
sorted(range(20000), key=lambda x: -x)
"""
CXX = """
#include <algorithm>
#include <map>
#include <string>
int main(int n, char **v) { std::map<std::string, int> m; for (int i = 0; i < n; i++) m[v[i]] = i;
                            std::sort(v, v + n); return m.size(); }
"""
GO = """
package main
import ("sort"; "strconv"; "sync"; "syscall")
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func work() int {
	defer func() { recover() }()
	m := map[string]int{}
	for i := 0; i < 20000; i++ { m["k"+strconv.Itoa(i)] = i }
	keys := []string{}
	for k := range m { keys = append(keys, k) }
	sort.Strings(keys)
	return fib(20) + len(keys)
}
func used() int64 { var r syscall.Rusage; syscall.Getrusage(syscall.RUSAGE_SELF, &r); return r.Utime.Nano() + r.Stime.Nano() }
func main() {
	var wg sync.WaitGroup
	for g := 0; g < 4; g++ {
		wg.Add(1)
		go func() { defer wg.Done(); for used() < 500e6 { work() } }()
	}
	wg.Wait()
}
"""
# Programs of kinds that others have, too.
MORE = ("calls_fp", "threads", "signals", "go_stripped", "openssl rsa")
# The compiled programs run for this much CPU time; the others take what they take, up to 2 s.
SECONDS = "0.3"
# openssl speed knows only the clock: it gets more where the machine is loaded, as often as there are too few samples. Of
# the others perf loses samples there: they are recorded again.
CLOCK = "seconds by the clock"
CLOCKS = ("1", "4", "16")
failed = 0
checks = []


def run(cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)


def check(name, cmd, least):
    if LONG or name not in MORE:
        checks.append((name, cmd, least))


def compare(case):
    """Records and compares; at least so many samples must have been compared."""
    global failed
    name, cmd, least = case
    data = name.replace(" ", "_") + ".data"
    for clock in CLOCKS:
        try:
            perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,8192", "-o", data, "--",
                        *(clock if c == CLOCK else c for c in cmd))
        except RuntimeError as e:
            print(f"ok - {name} # SKIP perf cannot record here: {str(e).splitlines()[-1:]}")
            return
        p = run([TOOL, data])
        n = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", p.stdout.split(" | ")[0])}
        if n.get("samples", 0) >= least:
            break
    # Inside Go's stack switches (gogo, mcall) libdw follows whatever the registers hold; about one sample in 300.
    strange = n.get("samples", 0) // 100 if name.startswith("go") else 0
    good = (p.returncode in (0, 1 if strange else 0) and n.get("samples", 0) >= least and n["unexplained"] <= strange and
            n["roots"] >= n["libdw_roots"] and n["frames"] > 0)
    classes = ", ".join(f"{v} {k}" for k, v in n.items()
                        if v and (k == "same" or k in CLASSES))
    print(f"{'ok' if good else 'not ok'} - {name}: {n.get('samples')} samples: {classes}", flush=True)
    if not good:
        failed += 1
        print("".join(f"# {l}\n" for l in p.stdout.splitlines()[:80]))
    os.remove(data)


CLASSES = ("same_other_stop", "go_table", "libdw_epilogue", "libdw_undefined_register", "libdw_thrown", "libdw_no_row",
           "guesses_differ", "unexplained")
if not shutil.which("perf"):
    print("ok - whole samples # SKIP no perf")
    sys.exit(0)
with open("t.py", "w") as f:
    f.write(PYTHON)
with open("t.cc", "w") as f:
    f.write(CXX)
for compiler, source, out, *flags in (
        ("gcc", "calls.c", "calls", "-O2"),
        ("gcc", "calls.c", "calls_fp", "-O1", "-fno-omit-frame-pointer"),
        ("g++", "threads.cc", "threads", "-O2", "-pthread"),
        ("clang++", "threads.cc", "threads_clang", "-O2", "-pthread"),
        ("gcc", "signals.c", "signals", "-O2", "-pthread"),
        ("gcc", "signals.c", "signals_static", "-O2", "-static", "-pthread"),
        ("gcc", "calls.c", "debug_frame", "-O2", "-g", "-fno-asynchronous-unwind-tables",
         "-fno-unwind-tables"),
        ("gcc", "i386.c", "i386", "-m32", "-O2", "-fomit-frame-pointer", "-fno-stack-protector",
         "-nostdlib", "-static", "-fno-pie", "-no-pie")):
    if not LONG and out in MORE:
        continue
    if not shutil.which(compiler):
        print(f"ok - {out} # SKIP no {compiler}")
        continue
    p = run([compiler, *flags, os.path.join(PROGRAMS, source), "-o", out])
    if p.returncode:
        print(f"ok - {out} # SKIP cannot be built: {p.stdout.splitlines()[-1:]}")
        continue
    if out == "debug_frame": # in a separate file, found by its name and checksum
        for cmd in (["objcopy", "--only-keep-debug", out, out + ".debug"], ["strip", "-g", out],
                    ["objcopy", "--add-gnu-debuglink=" + out + ".debug", out]):
            run(cmd)
    check(out, ["./" + out, SECONDS], 100)
if shutil.which("go"):
    with open("t.go", "w") as f:
        f.write(GO)
    for name, flags in (("go", []), ("go_stripped", ["-ldflags=-s -w"]),
                        ("go_pie_stripped", ["-buildmode=pie", "-ldflags=-linkmode=external -s -w"])):
        if not LONG and name in MORE:
            continue
        p = subprocess.run(["go", "build", *flags, "-o", name, "t.go"])
        if p.returncode == 0:
            check(name, ["./" + name], 100)
else:
    print("ok - go # SKIP no go compiler")
check("python", [sys.executable, "t.py"], 20)
if shutil.which("g++"):
    check("cc1plus", ["g++", "-O1", "-c", "t.cc", "-o", "/dev/null"], 50)
if shutil.which("openssl"):
    check("openssl", ["openssl", "speed", "-seconds", CLOCK, "-bytes", "4096", "-evp", "sha256"], 50)
    check("openssl rsa", ["openssl", "speed", "-seconds", CLOCK, "rsa2048"], 50)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(compare, checks))
sys.exit(1 if failed else 0)

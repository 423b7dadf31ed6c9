#!/usr/bin/env python3
"""bench.py - what capture and resolve cost, beside their peers on the same files in the same run.

Recordings are made once (build/bench, kept). Prints CPU seconds, wall seconds and peak memory of each side
(median of the runs) and ratios. Nothing here is asserted: a shared machine varies by tens of percent.

  make bench                      everything
  make bench B="--only unwind"    one section: end, speed, inline, reader, zstd, unwind, roots, dwarf, cache, probes, recorders, stacks
  make bench B="--only speed --size 4000"    larger recordings, of which starting is a smaller part
  make bench B="--only dwarf --debug FILE"    of another file with DWARF
"""
import argparse
import json
import mmap
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

import recorders
import roots
import stacks

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIR = os.path.join(TOP, "build", "bench")

# perf script text -> folded: what stackcollapse-perf.pl does, in its smallest form
COLLAPSE = r"""
/^[^\t ]/ { comm = $1; next }
/^\t/ { sub(/^\t *[0-9a-f]+ /, ""); sub(/ \([^(]*\)$/, ""); sub(/\+0x[0-9a-f]+$/, "");
        stack = stack == "" ? $0 : $0 ";" stack; next }
/^$/ { if (stack != "") n[comm ";" stack]++; stack = "" }
END { for (s in n) print s, n[s] }
"""

FILES = {
    "collapse.awk": COLLAPSE,
    "bench.cc": r"""
#include <regex>
#include <map>
#include <string>
#include <vector>
#include <iostream>
template <int N> struct T { std::map<std::string, std::vector<T<N - 1>>> m; int f() { return m.size() + T<N - 1>().f(); } };
template <> struct T<0> { int f() { return 1; } };
int main(int c, char **v) { std::regex r(v[0]); std::cout << std::regex_match(v[1], r) << T<60>().f(); }
""",
    "bench.py": """
import json, re, time
end = time.time() + 3
while time.time() < end:
    d = {str(i): list(range(20)) for i in range(200)}
    s = json.dumps(d); json.loads(s); re.findall(r'(\\d+), (\\d+)', s); sorted(s)
""",
    "bench.go": """
package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"time"
)

func work(end time.Time, done chan int) {
	pairs, n := regexp.MustCompile(`(\\d)(\\d)`), 0
	for ; time.Now().Before(end); n++ {
		m := map[string][]int{}
		for i := 0; i < 2000; i++ {
			m[fmt.Sprint(i)] = []int{i, n}
		}
		text, _ := json.Marshal(m)
		words := pairs.FindAllString(string(text), -1)
		sort.Strings(words)
	}
	done <- n
}

func main() {
	done := make(chan int)
	for i := 0; i < 2; i++ {
		go work(time.Now().Add(2*time.Second), done)
	}
	fmt.Println(<-done + <-done)
}
""",
    "bench.js": """
const end = Date.now() + 3000;
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
while (Date.now() < end) { fib(20); JSON.parse(JSON.stringify({ a: [1, { b: "x".repeat(99) }] })); [3, 1, 2].sort((a, b) => a - b) }
""",
}
GCC = "g++ -O2 -c bench.cc -o bench.o"


def shell(cmd, cwd=DIR):
    subprocess.run(cmd, shell=True, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(name, cmd, size_mb, hz=999, stack=8192, options=""):
    """perf record of cmd, repeated until the file has size_mb."""
    path = os.path.join(DIR, name)
    rounds = 1
    graph = f"--call-graph dwarf,{stack}" if stack else "-g"
    while not os.path.exists(path):
        shell(f"perf record -q -N -B -e cpu-clock -F {hz} {graph} {options} -m 16M -o {path}.tmp -- "
              f"sh -c 'for i in $(seq {rounds}); do {cmd}; done'")
        size = os.path.getsize(path + ".tmp") >> 20
        if size >= size_mb:
            os.rename(path + ".tmp", path)
        rounds = max(rounds + 1, rounds * (size_mb + 1) // max(size, 1) + 1)
    return path


def once(cmd):
    """(cpu seconds, wall seconds, peak MB) of a shell command and all it starts."""
    script = ("import resource,subprocess,sys,time\n"
              "t=time.time()\n"
              "rc=subprocess.call(sys.argv[1],shell=True)\n"
              "r=resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(r.ru_utime+r.ru_stime,time.time()-t,r.ru_maxrss/1024,rc)\n")
    out = subprocess.run([sys.executable, "-c", script, cmd], check=True, cwd=DIR, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout.splitlines()[-1].split()
    return [float(x) for x in out[:3]]


def measure(cmd, runs):
    once(cmd)  # warms the page cache for both sides
    rows = [once(cmd) for _ in range(runs)]
    return [statistics.median(col) for col in zip(*rows)]


def row(what, m, base=None):
    ratio = f"{m[0] / base[0]:8.2f} x cpu" if base and base[0] else ""
    print(f"  {what:58} {m[0]:8.3f} s cpu {m[1]:8.3f} s wall {m[2]:7.0f} MB {ratio}", flush=True)


def title(text, path):
    print(f"{text}: {os.path.getsize(path) / 1e6:.0f} MB (ratios to the first row)")


def section_end(a):
    data = record("gcc.data", GCC, 100)
    title("perf.data to folded, g++ -O2, stacks of 8 KiB", data)
    ours = measure(f"{a.bin}/resolve -q --no-inline -j 1 {data} > o.folded", a.runs)
    row("resolve --no-inline -j 1", ours)
    row("the same with --no-sandbox", measure(f"{a.bin}/resolve -q --no-inline --no-sandbox -j 1 {data} > o.folded", a.runs), ours)
    row("resolve --no-inline", measure(f"{a.bin}/resolve -q --no-inline {data} > o.folded", a.runs), ours)
    row("resolve with inlines", measure(f"{a.bin}/resolve -q {data} > o.folded", a.runs), ours)
    row("perf script --no-inline | collapse", measure(
        f"perf script --no-inline -F comm,ip,sym,dso --max-stack 1024 -i {data} | awk -f collapse.awk > p.folded", 1), ours)
    row("cat FILE > /dev/null", measure(f"cat {data} > /dev/null", a.runs), ours)


def section_inline(a):
    data = record("gcc-once.data", GCC, 5, hz=499)
    title("with inlined frames, one compilation by g++ -O2", data)
    ours = measure(f"{a.bin}/resolve -q -j 1 {data} > o.folded", a.runs)
    row("resolve -j 1", ours)
    theirs = once(f"timeout {a.limit} perf script -F comm,ip,sym,dso -i {data} | awk -f collapse.awk > p.folded")
    cut = f", stopped after {a.limit} s" if theirs[1] >= a.limit - 1 else ""
    row(f"perf script | collapse{cut}", theirs, ours)
    print(f"  wall: {theirs[1] / ours[1]:.0f} x{' at least' if cut else ''}")


def repeated(a, name, data, *options):
    """1.1 GB of the same records, with times that go on."""
    path = os.path.join(DIR, name)
    if not os.path.exists(path):
        tool = os.path.join(a.build, "tests", "reader", "tool_repeat")
        subprocess.run([tool, *options, data, path + ".tmp", "1100000000"], check=True)
        os.rename(path + ".tmp", path)
    return path


def read_into_cache(path):
    """As a reader of a file leaves it in the page cache: in large pages, where the file system has them. A writer may
    leave small ones, which cost every reader that maps the file several times as many page faults."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    while os.read(fd, 1 << 20):
        pass
    os.close(fd)


def in_small_pages(path):
    """A copy written page by page, which stays so in the page cache; so file systems without large folios keep all."""
    shell(f"test -e {path}.small || dd if={path} of={path}.small bs=4k conv=fsync")
    return path + ".small"


def section_reader(a):
    dump = os.path.join(a.build, "tests", "reader", "tool_dump")
    for what, once, name, in (("stacks of 8 KiB", record("gcc.data", GCC, 100), "big-dwarf"),
                              ("frame pointers", record("gcc-fp.data", GCC, 20, hz=20000, stack=None), "big-fp")):
        data, pipe = repeated(a, f"{name}.data", once), repeated(a, f"{name}.pipe", once, "-p")
        title(f"reading without unwinding, {what}", data)
        small = in_small_pages(data)
        read_into_cache(data)
        ours = measure(f"{dump} -sm {data}", a.runs)
        row("our reader, every sample decoded, file mapped", ours)
        row("the same, page cache in pages of 4 KiB", measure(f"{dump} -sm {small}", a.runs), ours)
        row("the same, file read", measure(f"{dump} -s {data}", a.runs), ours)
        row("the same from a pipe", measure(f"cat {pipe} | {dump} -s -", a.runs), ours)
        row("cat PIPE | cat > /dev/null", measure(f"cat {pipe} | cat > /dev/null", a.runs), ours)
        row("cat FILE > /dev/null", measure(f"cat {data} > /dev/null", a.runs), ours)
        for what, path in ("", data), (", pages of 4 KiB", small):
            row(f"perf script -G -F time,event > /dev/null{what}",
                measure(f"perf script -G -F time,event -i {path} > /dev/null", 1), ours)
        os.unlink(small)


def section_zstd(a):
    """Compressed by the recorder: one thread reads and decompresses while another unwinds."""
    data = record("gcc-z.data", GCC, 20, options="-z")
    title("perf record -z, g++ -O2, stacks of 8 KiB", data)
    one, beside = (measure(f"{a.bin}/resolve -q --no-inline {how} {data} > o.folded", a.runs) for how in ("-j 1", ""))
    dump = os.path.join(a.build, "tests", "reader", "tool_dump")
    row("resolve --no-inline -j 1: one thread does all", one)
    row("resolve --no-inline: one decompresses, one unwinds", beside, one)
    row("our reader alone, every sample decoded", measure(f"{dump} -sm {data}", a.runs), one)
    print(f"  beside each other: wall {beside[1] / beside[0]:.2f} of its cpu, {one[1] / beside[1]:.2f} x faster than one thread by the clock")


def grow(name, size_mb):
    """The recording, its samples repeated: as many stacks, no more different ones (bench/repeat.py)."""
    path = os.path.join(DIR, name.replace(".data", f".{size_mb}.big"))
    if not os.path.exists(path):
        shell(f"{sys.executable} {TOP}/bench/repeat.py {os.path.join(DIR, name)} {path}.tmp {size_mb} && mv {path}.tmp {path}")
    return path


def once_fresh(cmd):
    """once() of what writes o.folded. A file system may write out at once what takes the place of a file."""
    path = os.path.join(DIR, "o.folded")
    if os.path.exists(path):
        os.unlink(path)
    return once(f"{cmd} > o.folded")


def loading(*cmds):
    """Of commands that run at the same time: CPU seconds of each thread that loads, and seconds of the clock. Other
    runs than those that are timed: the report takes its time, too."""
    runs = [subprocess.Popen(f"{cmd} --stats=json > /dev/null", shell=True, cwd=DIR, stderr=subprocess.PIPE, text=True)
            for cmd in cmds]
    stats = [json.loads(run.communicate()[1].splitlines()[-1]) for run in runs]
    return [(s["thread_seconds"], s["seconds"]["load"]) for s in stats]


def two_cores(a, options, data, runs):
    """How much faster two threads are, by the clock and by what each of them has to do. All take turns, and what is
    compared is of one turn: a host that is slower for some seconds is so for all of it. What comes before and after
    loading counts as one thread's, though some of it is done side by side.

    Two processors of a virtual machine are not always two: so one thread each on either of them, at the same time,
    with a file of its own, says what could be had. (Of one file, the second would find in the cache that both share
    what the first has brought there.)"""
    resolve, copy = f"{a.bin}/resolve -q --no-inline {options}", data + ".copy"
    shutil.copyfile(data, copy)
    read_into_cache(copy)
    cmds = [f"{resolve} -j {n} {data}" for n in (1, 2)]
    apart = [f"taskset -c {cpu} {resolve} -j 1 {path}" for cpu, path in zip(sorted(os.sched_getaffinity(0)), (data, copy))]
    turns = [([once_fresh(cmd) for cmd in cmds], [loading(cmd)[0] for cmd in cmds], loading(*apart))
             for _ in range(runs + 1)][1:]
    os.unlink(copy)
    one, two = ([statistics.median(col) for col in zip(*(whole[i] for whole, _, _ in turns))] for i in (0, 1))
    clock = statistics.median(whole[0][1] / whole[1][1] for whole, _, _ in turns)
    rest = statistics.median(max(0, whole[0][0] - sum(load[0][0])) for whole, load, _ in turns)
    alone, busier = (statistics.median(max(load[i][0]) for _, load, _ in turns) for i in (0, 1))
    walls = [[load[i][1] for _, load, _ in turns] for i in (0, 1)]
    gain = statistics.median(load[0][1] / load[1][1] for _, load, _ in turns)
    fastest = [min(whole[i][1] for whole, _, _ in turns) for i in (0, 1)]
    row(f"resolve --no-inline {options} -j 1", one)
    row(f"resolve --no-inline {options} -j 2", two, one)
    print(f"    -j 2: {clock:.2f} x faster by the clock (median of pairs; fastest runs {fastest[0]:.3f} and {fastest[1]:.3f} s)\n"
          f"    loading, from the page cache to interned stacks: {statistics.median(walls[0]):.3f} s and "
          f"{statistics.median(walls[1]):.3f} s, {gain:.2f} x faster (fastest runs {min(walls[0]) / min(walls[1]):.2f} x)\n"
          f"    cpu of loading: {alone:.3f} s, of two threads the busier {busier:.3f} s; {rest:.3f} s before and after: "
          f"{(alone + rest) / (busier + rest):.2f} x at best")
    if len(apart) == 2:
        most = statistics.median(sum(load[0][1] / wall for _, wall in both) for _, load, both in turns)
        part = statistics.median(load[0][1] / load[1][1] / sum(load[0][1] / wall for _, wall in both) for _, load, both in turns)
        print(f"    loading by two processes, a file and a processor each: {most:.2f} x as much as by one; two threads do {100 * part:.0f} % of that")
    small = in_small_pages(data)
    turns = [[loading(f"{resolve} -j {n} {small}")[0][1] for n in (1, 2)] for _ in range(runs + 1)][1:]
    os.unlink(small)
    one, two = (statistics.median(col) for col in zip(*turns))
    gain = statistics.median(one / two for one, two in turns)
    print(f"    loading from a page cache in pages of 4 KiB: {one:.3f} s and {two:.3f} s, {gain:.2f} x faster")


def section_speed(a):
    clang = "clang++ -O2 -c bench.cc -o bench.o"
    shell(f"test -e threads || g++ -O2 -g -pthread -o threads {TOP}/tests/programs/threads.cc")
    names = {"gcc.data": GCC, "clang.data": clang, "python.data": "python3 bench.py", "node.data": "node bench.js",
             "openssl.data": "openssl speed -seconds 1 sha256 aes-128-cbc rsa2048", "threads.data": "./threads 3"}
    for name, cmd in names.items():
        record(name, cmd, 100 if name == "gcc.data" else 5, hz=999 if name == "gcc.data" else 499)
    bigs = [grow(name, a.size) for name in names]
    for big in bigs:
        read_into_cache(big)
    tool = os.path.join(a.build, "tests", "output", "tool_speed")
    print("one core, from the page cache to interned stacks; modules are opened in each pass", flush=True)
    subprocess.run([tool, "-n", str(a.runs), *bigs], check=False)
    few = record("clang-few.data", clang, 0, hz=19)
    title("cold start: a few samples of clang (kernel symbols apart)", few)
    subprocess.run([tool, "-n", str(a.runs), few], check=False)
    small, big = os.path.join(DIR, "gcc.data"), bigs[0]
    for path in bigs:
        title("the same stacks again and again, on one core and on two", path)
        for options in ("", "--no-stitch") if path == big else ("",):
            two_cores(a, options, path, a.runs)
    title("other formats, g++", big)
    cat = measure(f"cat {big} > /dev/null", a.runs)
    row("cat FILE > /dev/null", cat)
    for form in ("script", "pprof"):
        row(f"resolve --no-inline -j 1 -f {form}", measure(f"{a.bin}/resolve -q --no-inline -j 1 -f {form} {big} > o.{form}", a.runs), cat)
    title("memory for as many different stacks in a smaller file", small)
    row("resolve --no-inline -j 1", measure(f"{a.bin}/resolve -q --no-inline -j 1 {small} > o.folded", a.runs))


def section_unwind(a):
    files = [record("gcc-once.data", GCC, 5, hz=499),
             record("clang.data", "clang++ -O2 -c bench.cc -o bench.o", 5, hz=499),
             record("python.data", "python3 bench.py", 5, hz=499),
             record("openssl.data", "openssl speed -seconds 1 sha256 aes-128-cbc rsa2048", 5, hz=499),
             record("node.data", "node bench.js", 5, hz=499)]
    tool = os.path.join(a.build, "tests", "unwind", "tool_cfi_bench")
    print("unwinding, our tables beside plain libdw in the same process", flush=True)
    subprocess.run([tool, *files], check=False)


def section_roots(a):
    def recorded(name, cmd, size_mb, hz, stack):
        return record(name, cmd, size_mb, hz=hz, stack=stack)
    roots.section(TOP, a.build, os.path.abspath(a.bin), DIR, recorded)


def dwarf_bytes(path):
    """The debug sections of a 64-bit file, as large as they are uncompressed (ELF, Elf64_Shdr and Elf64_Chdr)."""
    with open(path, "rb") as f:
        data = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    at, = struct.unpack_from("<Q", data, 40)
    size, n, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(n)]
    total = 0
    for name, _, flags, _, off, length in rows:
        compressed = flags & 0x800  # SHF_COMPRESSED
        at = rows[names][4] + name
        if data[at:at + 7] == b".debug_":
            total += struct.unpack_from("<Q", data, off + 8)[0] if compressed else length
    return total


# Distribution packages with debug files, fetched by apt once; the largest of each is taken.
DEBUG_PACKAGES = {"ceph": ("ceph-mon-dbg", "153 MB, with 293 MB of DWARF in one file"),
                  "python": ("python3.11-dbg", "37 MB, with 22 MB of DWARF in one file")}


def debug_file(name):
    """None when it is not to be had."""
    package, what = DEBUG_PACKAGES[name]
    where = os.path.join(DIR, name)
    if not os.path.isdir(where) and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        print(f"fetching {package} ({what})", flush=True)
        os.makedirs(where)
        subprocess.run(f"apt-get -q download {package} && dpkg-deb -x {package}_*.deb . && rm {package}_*.deb",
                       shell=True, cwd=where, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = [os.path.join(d, f) for d, _, fs in os.walk(where) for f in fs if f.endswith(".debug")]
    if not found:
        print(f"{package}: cannot be fetched here", flush=True)
        shutil.rmtree(where, ignore_errors=True)
    return max(found, key=os.path.getsize, default=None)


def section_dwarf(a):
    tool = os.path.join(a.build, "tests", "symbolize", "tool_dwarf_bench")
    subjects = [a.debug] if a.debug else [debug_file(n) for n in DEBUG_PACKAGES] + [os.path.join(a.bin, "resolve")]
    for f in filter(None, subjects):
        print(f"DWARF of {f} ({os.path.getsize(f) / 1e6:.0f} MB): 20,000 random addresses", flush=True)
        cache = os.path.join(DIR, "cache")
        shutil.rmtree(cache, ignore_errors=True)
        subprocess.run([tool, f, "20000", "2", "peers"], check=False, env=dict(os.environ, CACHE=cache))
        print("another process, with what was kept:", flush=True)
        subprocess.run([tool, f, "20000", "2"], check=False, env=dict(os.environ, CACHE=cache, WARM="1"))
        print("everything compiled:", flush=True)
        subprocess.run([tool, f, "20000", "2"], check=False, env=dict(os.environ, ALL="1"))
        dwarf = dwarf_bytes(f)
        for kept in os.listdir(cache) if os.path.isdir(cache) else []:
            size = os.path.getsize(os.path.join(cache, kept))
            print(f"kept: {size / 1e6:.2f} MB, {size / dwarf * 100:.2f} % of {dwarf / 1e6:.1f} MB of DWARF", flush=True)


def section_cache(a):
    """The whole command on a recording of a program with much DWARF: this resolve itself, at work."""
    work = f"{a.bin}/resolve -q -j 1 --no-cache {record('gcc-once.data', GCC, 5, hz=499)}"
    files = [record(f"resolve-{i}.data", f"{work} > /dev/null", 2) for i in (1, 2)]
    title("resolve with inlines, recordings of resolve", files[0])
    once("rm -rf xdg")
    env = f"XDG_CACHE_HOME={DIR}/xdg"
    ours = measure(f"{a.bin}/resolve -q --no-cache {files[0]} > o.folded", a.runs)
    row("--no-cache", ours)
    row("an empty cache", measure(f"rm -rf xdg; {env} {a.bin}/resolve -q {files[0]} > o.folded", a.runs), ours)
    row("the same again", measure(f"{env} {a.bin}/resolve -q {files[0]} > o.folded", a.runs), ours)
    row("another recording, once", once(f"{env} {a.bin}/resolve -q {files[1]} > o.folded"), ours)
    row("the first, from the complete index", measure(f"{env} {a.bin}/resolve -q {files[0]} > o.folded", a.runs), ours)


PROBED = """#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define X(n) __attribute__((noipa)) void fn_##n(void) {}
%s
static void (*const all[])(void) = {%s};
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv)
{
	long calls = atol(argv[1]), n = atol(argv[2]);
	double start = now();
	for (long i = 0; i < calls; i++) all[i %% n]();
	printf("%%.9f\\n", (now() - start) / calls);
	return argc < 3;
}
"""


def bpftrace_says(told):
    """Why bpftrace cannot attach here; "": it can."""
    if not shutil.which("bpftrace"):
        return "it is not installed"
    out, err = told("bpftrace -e 'uprobe:./probed:fn_0 { @n = count(); }' -c './probed 1 1'")
    return "" if "@n: 1" in out else (err.strip().splitlines() or ["it counted nothing"])[-1]


def section_probes(a):
    """What a hit costs the program, how many are kept, how long a recording of no hits takes."""
    n, calls = 1000, 100000
    source = PROBED % ("".join(f"X({i})\n" for i in range(n)), ",".join(f"fn_{i}" for i in range(n)))
    with open(os.path.join(DIR, "probed.c"), "w") as f:
        f.write(source)
    shell("gcc -O2 -fomit-frame-pointer probed.c -o probed")

    def told(cmd):
        p = subprocess.run(cmd, shell=True, cwd=DIR, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return p.stdout, p.stderr

    def per_call(text):
        """What the program itself printed, also where a tracer prints more."""
        return float(next(iter(re.findall(r"^\d+\.\d{9}$", text, re.M)), "nan"))

    def counted(text):
        return sum(line.split()[:1] == ["probed"] for line in text.splitlines())

    def summed(text):
        return sum(int(m) for m in re.findall(r"^@(?:\[.*?\])?: (\d+)$|^\]: (\d+)$", text, re.M | re.S) for m in m if m)

    why_not = bpftrace_says(told)
    print(f"probes: {calls} calls; a hit's cost is what a call then takes more than without a probe" + (f"; bpftrace cannot be compared: {why_not}" if why_not else ""))
    for k, patterns in ((1, ["fn_0"]), (100, ["fn_?", "fn_??"]), (1000, ["fn_*"])):
        ours = ",".join(f"uprobe:./probed:{p}" for p in patterns)
        # bpftrace 0.17 knows no "?"
        theirs = ",".join(f"uprobe:./probed:fn_{i}" for i in range(100)) if k == 100 else f"uprobe:./probed:{patterns[0]}"
        args = f"{calls} {1 if k == 1 else n}"
        hits = calls if k == 1 else calls * k // n
        plain = per_call(told(f"./probed {args}")[0])
        bpf = "BPFTRACE_MAX_PROBES=2000 bpftrace -e '%s { %s }' -c './probed %%s'"
        first = None
        for name, cmd, read in (
                ("capture, with stacks", f"{a.bin}/capture -q -o p.data -e '{ours}' -- ./probed %s", f"{a.bin}/resolve -q -f script p.data"),
                ("perf record --call-graph dwarf", "perf record -q -o p.perf --call-graph dwarf -e 'probe_probed:*' -- ./probed %s", "perf script -i p.perf -F comm,tid,time --no-inline"),
                ("bpftrace, @[ustack] = count()", bpf % (theirs, "@[ustack] = count();"), None),
                ("bpftrace, @ = count(), no stacks", bpf % (theirs, "@ = count();"), None)):
            if name.startswith("bpftrace") and why_not:
                continue
            if name.startswith("perf"):
                if k > 100:  # takes minutes to end
                    print(f"  {k:5} functions  {name:32} not tried: it takes minutes to close its events")
                    continue
                for p in patterns:
                    shell(f"perf probe -q -x ./probed '{p}' || true")
            out = told(cmd % args)[0]
            cost = (per_call(out) - plain) * calls / hits * 1e6
            kept = counted(told(read)[0]) if read else summed(out)
            start = time.time()
            told(cmd % "1 1")
            took = time.time() - start
            first = first or (cost, took)
            print(f"  {k:5} functions  {name:32} {cost:7.1f} us a hit ({cost / first[0]:5.2f} x), {100 * kept / hits:6.1f} % kept; "
                  f"{took:6.2f} s ({took / first[1]:5.2f} x) for one call, start and end", flush=True)
            if name.startswith("perf"):
                shell("perf probe -q -d 'probe_probed:*' || true")


def section_formats(a):
    """All formats of as many different stacks as there are samples."""
    data = os.path.join(DIR, f"distinct.{a.stacks}.data")
    program = f"{data}.program"  # stays as it is when resolve is built anew, so that its functions have names
    if not os.path.exists(program):
        shutil.copyfile(f"{a.bin}/resolve", program)
        shell(f"{sys.executable} {TOP}/bench/distinct.py {data}.tmp {program} {a.stacks} && mv {data}.tmp {data}")
    read_into_cache(data)
    title(f"{a.stacks} stacks, no two alike, 12 frames each, four processes", data)
    names = subprocess.run([f"{a.bin}/resolve", "--formats"], stdout=subprocess.PIPE, text=True, check=True).stdout
    base = None
    for form in re.findall(r"^  (\S+) ", names, re.M):
        m = once(f"{a.bin}/resolve -q --no-inline -f {form} {data} > o.formats")
        size = os.path.getsize(os.path.join(DIR, "o.formats"))
        base = base or m
        row(f"resolve --no-inline -f {form}", m, base)
        print(f"    {m[2] / base[2]:.2f} x memory, {size / 1e6:.0f} MB written", flush=True)
        os.unlink(os.path.join(DIR, "o.formats"))


def section_recorders(a):
    recorders.section_recorders(a, DIR)


def section_stacks(a):
    stacks.section_stacks(a, DIR)


SECTIONS = {"recorders": section_recorders, "stacks": section_stacks,
            "end": section_end, "formats": section_formats, "speed": section_speed, "inline": section_inline, "reader": section_reader,
            "zstd": section_zstd, "unwind": section_unwind, "roots": section_roots,
            "dwarf": section_dwarf, "cache": section_cache, "probes": section_probes}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bin", required=True)
    ap.add_argument("--build", required=True)
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--limit", type=int, default=180, help="seconds that perf gets with inlines on")
    ap.add_argument("--only", choices=SECTIONS)
    ap.add_argument("--size", type=int, default=1000, help="MB of the recordings of the section speed")
    ap.add_argument("--stacks", type=int, default=1000000, help="different stacks of the section formats")
    ap.add_argument("--perf", type=os.path.abspath, help="another perf, of a newer suite, for the section recorders")
    ap.add_argument("--debug", type=os.path.abspath, help="a file with DWARF for the section dwarf")
    a = ap.parse_args()
    a.bin, a.build = os.path.abspath(a.bin), os.path.abspath(a.build)
    if not shutil.which("perf"):
        sys.exit("bench: perf is not installed")
    os.makedirs(DIR, exist_ok=True)
    for name, text in FILES.items():
        with open(os.path.join(DIR, name), "w") as f:
            f.write(text)
    for name in [a.only] if a.only else SECTIONS:
        SECTIONS[name](a)


if __name__ == "__main__":
    main()

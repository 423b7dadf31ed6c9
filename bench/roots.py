"""roots.py - how many stacks reach their root: our tables, plain libdw and perf on the same recordings."""
import collections
import os
import subprocess

PROGRAMS = {  # as tests/programs/, by name: command that builds it
    "signals": "gcc -O2 {src}/signals.c -o signals",
    "signals-static": "gcc -O2 -static {src}/signals.c -o signals-static",
    "deep": "g++ -O2 {src}/deep.cc -o deep",
    "calls-fp": "gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls {src}/calls.c -o calls-fp",
}
# name: command, size of the copies, what unwind.md measured of framehop 0.15 on its recording of the like (%)
SETS = {
    "clang++ -O2": ("clang++ -O2 -c bench.cc -o bench.o", 8192, 3.1),
    "clang++ -O2, 65528": ("clang++ -O2 -c bench.cc -o bench.o", 65528, None),
    "g++ -O2": ("g++ -O2 -c bench.cc -o bench.o", 8192, 94.8),
    "g++ -O2, 65528": ("g++ -O2 -c bench.cc -o bench.o", 65528, None),
    "python": ("python3 bench.py", 8192, 98.4),
    "openssl speed": ("openssl speed -seconds 1 sha256 aes-128-cbc rsa2048 ecdsap256", 8192, 71.5),
    "node": ("node bench.js", 8192, None),
    "signal handlers": ("./signals 2", 8192, 85.3),
    "the same, static": ("./signals-static 2", 8192, 76.0),
    "C++": ("./deep 2", 8192, None),
    "C with frame pointers": ("./calls-fp 2", 8192, None),
}
BROKEN = ("call frame information damaged or not evaluable", "needed memory was not recorded", "stack pointer did not advance",
          "frame limit reached")


def ours(tool, data, method):
    """{(tid, time): (stop, last address)} of all samples with a copied stack, by tests/unwind/tool_unwind."""
    samples, key = {}, None
    out = subprocess.run([tool, data, method, "guess"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in out.splitlines():
        if line[0] == "S":
            _, tid, time, stop = line.split(" ", 3)
            key = None if stop == "no user stack was recorded" else (int(tid), int(time))
            if key:
                samples[key] = [stop, None]
        elif key:
            samples[key][1] = int(line.split()[1], 16)
    return samples


def perf(data):
    """{(tid, time): last address} as perf script prints it: file addresses for code of files."""
    last, key = {}, None
    out = subprocess.run(["perf", "script", "--no-inline", "--ns", "--max-stack", "16384", "-F", "tid,time,ip", "-i", data],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in out.splitlines():
        words = line.split()
        if len(words) == 2:
            seconds, ns = words[1].rstrip(":").split(".")
            key = (int(words[0].split("/")[-1]), int(seconds) * 10**9 + int(ns))
            last[key] = None
        elif words and key:
            address = int(words[0], 16)
            if address != 2**64 - 1:  # the mark of a stack that was cut
                last[key] = address
    return last


def share(n, whole):
    return f"{100 * n / max(whole, 1):6.2f}"


def show(tool, name, data, framehop):
    own, dw, pf = ours(tool, data, "cfi"), ours(tool, data, "libdw"), perf(data)
    roots = {last for side in (own, dw) for stop, last in side.values() if stop == "root reached"}
    stops = collections.Counter(stop for stop, _ in own.values())
    n = len(own)
    print(f"  {name:24} {n:7} {share(stops['root reached'], n)} {share(sum(s == 'root reached' for s, _ in dw.values()), n)} "
          f"{share(sum(pf.get(k) in roots for k in own), n)} {f'{framehop:9.1f}' if framehop else '        -'}"
          f" | {share(stops['stack copy too small'], n)} {share(sum(stops[s] for s in BROKEN), n)} "
          f"{share(n - stops['root reached'] - stops['stack copy too small'] - sum(stops[s] for s in BROKEN), n)}", flush=True)


def section(top, build, where, record):
    """record(file, command, size in MB, hz, stack) -> path"""
    for command in PROGRAMS.values():
        subprocess.run(command.format(src=os.path.join(top, "tests", "programs")), shell=True, check=True,
                       cwd=where)
    tool = os.path.join(build, "tests", "unwind", "tool_unwind")
    print("stacks that reach their root, % of all copied ones, without stitching; framehop: of its own recording (unwind.md);")
    print("  recording                 stacks   ours  libdw   perf  framehop |    cut broken  other", flush=True)
    for i, (name, (command, size, framehop)) in enumerate(SETS.items()):
        show(tool, name, record(f"roots-{i}.data", command, 5, 499, size), framehop)

"""roots.py - how many stacks reach their root: our tables, plain libdw, perf and framehop on the same recordings."""
import collections
import glob
import os
import re
import shutil
import subprocess

PROGRAMS = {  # as tests/programs/, by name: command that builds it
    "signals": "gcc -O2 {src}/signals.c -o signals",
    "signals-static": "gcc -O2 -static {src}/signals.c -o signals-static",
    "deep": "g++ -O2 {src}/deep.cc -o deep",
    "goprog": "go build -o goprog bench.go",
    "calls-fp": "gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls {src}/calls.c -o calls-fp",
}
SPEED = "sha256 sha512 aes-128-cbc rsa2048 ecdsap256 ed25519 ecdhx25519"
# name: command, size of the copies, what framehop 0.15 once reached on a recording of the like (%; None: not measured). Of most there
# are two: as they were recorded then, and with copies that hold all of nearly every stack.
SETS = {
    "clang++ -O2": ("clang++ -O2 -c bench.cc -o bench.o", 8192, 3.1),
    "clang++ -O2, 65528": ("clang++ -O2 -c bench.cc -o bench.o", 65528, None),
    "g++ -O2": ("g++ -O2 -c bench.cc -o bench.o", 8192, 94.8),
    "g++ -O2, 65528": ("g++ -O2 -c bench.cc -o bench.o", 65528, None),
    "python": ("python3 bench.py", 8192, 98.4),
    "python, 32768": ("python3 bench.py", 32768, None),
    "openssl speed": (f"openssl speed -seconds 1 {SPEED}", 8192, 71.5),
    "openssl speed, 32768": (f"openssl speed -seconds 1 {SPEED}", 32768, None),
    "node": ("node bench.js", 8192, None),
    "signal handlers": ("./signals 2", 8192, 79.9),
    "the same by timeout": ("timeout 9 ./signals 2", 8192, 85.3),
    "the same, static": ("./signals-static 2", 8192, 76.0),
    "Go": ("./goprog", 8192, 86.6),
    "C++": ("./deep 2", 8192, None),
    "C++, 65528": ("./deep 2", 65528, None),
    "C with frame pointers": ("./calls-fp 2", 8192, None),
}
# What framehop needs, in this order: edition, features
CRATES = {
    "cfg_if": ("2018", ()),
    "arrayvec": ("2018", ("std",)),
    "fallible_iterator": ("2018", ("alloc",)),
    "gimli": ("2021", ("read", "read-core", "std")),
    "framehop": ("2021", ("std",)),
}
END = "root reached"
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
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout  # perf 6.1 may abort at its end
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


def rustc(where, edition, known, *args):
    subprocess.run(["rustc", "--edition", edition, "-A", "warnings", "-O", "-L", ".", *known, *args], check=True, cwd=where)


def framehop_build(top, where):
    """The peer from the sources that distributions package (librust-framehop-dev and what it needs; Debian 12 has none:
    FRAMEHOP_CRATES names the folder of an unpacked one). None: there are none."""
    crates = os.environ.get("FRAMEHOP_CRATES", "/usr/share/cargo/registry")
    found = {c: glob.glob(f"{crates}/{c.replace('_', '-')}-[0-9]*/src/lib.rs") for c in CRATES}
    if not shutil.which("rustc") or not all(found.values()):
        return None
    program, known = os.path.join(where, "framehop"), []
    for crate, (edition, features) in CRATES.items():
        rustc(where, edition, known, "--crate-type", "rlib", "--crate-name", crate, *(f"--cfg=feature=\"{f}\"" for f in features),
              sorted(found[crate])[-1])
        known.append(f"--extern={crate}=lib{crate}.rlib")
    rustc(where, "2021", known, os.path.join(top, "bench", "framehop.rs"))
    return program


def framehop(tool, program, data):
    """{(tid, time): last address} of the stacks that end as it should be, by framehop."""
    stacks = subprocess.Popen([tool, data], stdout=subprocess.PIPE)
    out = subprocess.run([program], stdin=stacks.stdout, stdout=subprocess.PIPE, text=True, check=True).stdout
    stacks.wait()
    words = (line.split() for line in out.splitlines())
    return {(int(w[1]), int(w[2])): int(w[3], 16) for w in words if w[4] == "END"}


def stitched(resolve, data):
    """How many stacks `resolve` completes from others."""
    said = subprocess.run([resolve, "-q", "--stats", "--no-inline", "-o", "/dev/null", "-f", "folded", data],
                          stderr=subprocess.PIPE, text=True, check=True).stderr
    found = re.search(r"^stitched: of \d+ cut stacks (\d+)", said, re.M)
    return int(found[1]) if found else 0


def share(n, whole):
    return f"{100 * n / whole:6.2f}" if whole else "     -"


def show(tools, name, data, noted):
    own, dw, pf = ours(tools["unwind"], data, "cfi"), ours(tools["unwind"], data, "libdw"), perf(data)
    fh = framehop(tools["stacks"], tools["framehop"], data) if tools["framehop"] else {}
    roots = {last for side in (own, dw) for stop, last in side.values() if stop == END}
    stops = collections.Counter(stop for stop, _ in own.values())
    n, good, cut, broken = len(own), stops[END], stops["stack copy too small"], sum(stops[s] for s in BROKEN)
    others = [{k for k, (stop, _) in dw.items() if stop == END}, {k for k, last in pf.items() if last in roots},
              {k for k, last in fh.items() if last in roots}]
    lost = sum(stop != END and any(k in o for o in others) for k, (stop, _) in own.items())
    print(f"  {name:22} {n:6} {share(good, n)} {share(len(others[0]), n)} {share(len(others[1] & own.keys()), n)} "
          f"{share(len(others[2]), n) if fh else '     -'} {f'{noted:6.1f}' if noted else '     -'} | {share(good, n - cut)} "
          f"{share(good + stitched(tools['resolve'], data), n)} | {cut:6} {broken:4} {n - good - cut - broken:4} {lost:4}",
          flush=True)


def section(top, build, bin_dir, where, record):
    """record(file, command, size in MB, hz, stack) -> path"""
    for command in PROGRAMS.values():
        subprocess.run(command.format(src=os.path.join(top, "tests", "programs")), shell=True, check=True,
                       cwd=where)
    tools = {name: os.path.join(build, "tests", "unwind", "tool_" + name) for name in ("unwind", "stacks")}
    tools.update(resolve=os.path.join(bin_dir, "resolve"), framehop=framehop_build(top, where))
    print("stacks that reach their root, %; framehop: on the same bytes, and what it once reached on recordings of the like;")
    print("uncut: of those that the copy holds; stitched: with those that others complete; lost: that any peer gets and ours not")
    print("                                 ------------ all, % -------------  |  ours, %      |    number of ours")
    print("  recording              stacks   ours  libdw   perf  frhop  noted |  uncut stitch |    cut brkn othr lost", flush=True)
    for i, (name, (command, size, noted)) in enumerate(SETS.items()):
        show(tools, name, record(f"roots-{i}.data", command, 5, 499, size), noted)

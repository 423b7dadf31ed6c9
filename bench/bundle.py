"""bundle.py - what a bundle costs: its size, the end of a recording with it, without it and of perf record, and reading it beside reading the files.

The end of a recording is what the recorder uses and takes from the moment at which the command is no more; CPU is of all its threads, in steps
of 10 ms. The caches of compiled DWARF are warm but where "no cache" stands. All sides of a program run in turns, in one run; the best of
RUNS is shown, and the median.

	python3 bench/bundle.py [RUNS] [NAME..]"""
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAPTURE, RESOLVE = (os.path.join(TOP, "bin", n) for n in ("capture", "resolve"))
PYTHON = "import json\nfor i in range(1500): json.loads(json.dumps({str(k): [k] * 9 for k in range(60)}))"
GO = """package main
import ("os"; "sort"; "strconv")
func work(n int) int {
	v := make([]string, n)
	sum := 0
	for i := range v { v[i] = strconv.Itoa(i * i ^ n >> 3); sum += len(v[i]) }
	sort.Strings(v)
	return sum + len(v[0])
}
func main() {
	sum := 0
	for i := 0; i < 800; i++ { sum += work(2000) }
	os.Exit(sum & 1 >> 1)
}
"""
HZ = os.sysconf("SC_CLK_TCK")


def programs():
    """Name -> command."""
    with open("go.go", "w") as f:
        f.write(GO)
    with open("small.c", "w") as f:
        f.write("".join(f"int f{i}(int n) {{ int s = 0; while (n--) s += n * {i} ^ s >> 3; return s; }}\n" for i in range(600)))
    subprocess.run(["g++", "-O2", "-g", "-pthread", os.path.join(TOP, "tests", "programs", "threads.cc"), "-o", "threads"], check=True)
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", "goprog", "go.go"], check=True, env={**os.environ, "GO111MODULE": "off", "GOCACHE": os.path.abspath("gocache")})
    every = {"python": [os.path.realpath(sys.executable), "-c", PYTHON], "C++": ["./threads", "1"], "Go": ["./goprog"], "clang": ["clang", "-O2", "-c", "small.c", "-o", "small.o"]}
    return {n: c for n, c in every.items() if shutil.which(c[0])}


def cpu(pid):
    """Seconds of CPU time of a process without those it has waited for; it may be a zombie."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HZ


def has_child(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                with open(f"/proc/{child}/stat") as g:
                    if g.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                        return True
    except OSError:
        pass
    return False


def end_of(cmd):
    """(CPU, wall) of a recorder's end."""
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not has_child(p.pid):
        time.sleep(0.001)
    while has_child(p.pid):
        time.sleep(0.001)
    before, start = cpu(p.pid), time.monotonic()
    os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
    wall, used = time.monotonic() - start, cpu(p.pid) - before
    p.wait()
    return used, wall


def cost(cmd, env=None):
    """CPU of a command, its peak memory in MB."""
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode > 1:
        sys.exit(f"{' '.join(cmd)}: status {p.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def bundle_bytes(data):
    with open(data, "rb") as f:
        d = f.read()
    off, size = struct.unpack_from("<QQ", d, 40)
    bits = struct.unpack_from("<4Q", d, 72)
    return struct.unpack_from("<QQ", d, off + size + 16 * sum(bits[b // 64] >> b % 64 & 1 for b in range(200)))


def without_bundle(data, out):
    shutil.copy(data, out)
    at, _ = bundle_bytes(data)
    with open(out, "r+b") as f:
        f.seek(at)
        f.write(b"no bundl")


def nowhere():
    """A root in which there is only resolve: [command]."""
    os.makedirs("root/x", exist_ok=True)
    os.makedirs("root/cache", exist_ok=True)
    libs = re.findall(r"/\S+\.so\S*", subprocess.run(["ldd", RESOLVE], stdout=subprocess.PIPE, text=True).stdout)
    for f in [RESOLVE, *libs]:
        shutil.copy(os.path.realpath(f), f"root/x/{os.path.basename(f)}")
    loader = next(os.path.basename(l) for l in libs if "ld-" in os.path.basename(l))
    chroot = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    return [chroot, os.path.abspath("root"), f"/x/{loader}", "--library-path", "/x", "/x/resolve"]


def show(name, what, values, unit="s"):
    print(f"{name:8} {what:34} {min(values):8.2f} {statistics.median(values):8.2f} {unit}", flush=True)


def ends(name, cmd, runs):
    sides = {"capture, bundle": [CAPTURE, "-q", "-o", "b.data"], "capture --bundle=none": [CAPTURE, "-q", "--bundle=none", "-o", "n.data"],
             "perf record --call-graph dwarf": ["perf", "record", "-q", "--call-graph", "dwarf", "-o", "p.data"]}
    got = {s: [] for s in sides}
    end_of([*sides["capture, bundle"], "--", *cmd])
    for _ in range(runs):
        for s, how in sides.items():
            got[s].append(end_of([*how, "--", *cmd]))
    for s, v in got.items():
        show(name, f"end, CPU: {s}", [c for c, _ in v])
        show(name, f"end, wall: {s}", [w for _, w in v])
    print(f"{name:8} {'bundle':34} {bundle_bytes('b.data')[1] / 1e6:8.2f} MB of {os.path.getsize('b.data') / 1e6:.2f} MB (perf's {os.path.getsize('p.data') / 1e6:.2f} MB)", flush=True)


def reading(name, runs):
    without_bundle("b.data", "f.data")
    inside = nowhere()
    shutil.copy("b.data", "root/data")
    here = {**os.environ, "XDG_CACHE_HOME": os.path.abspath("cache")}
    there = {"HOME": "/", "XDG_CACHE_HOME": "/cache"}
    sides = {"files, no cache": ([RESOLVE, "-q", "--no-cache", "f.data"], here), "bundle, no cache": ([*inside, "-q", "--no-cache", "/data"], there),
             "files": ([RESOLVE, "-q", "f.data"], here), "bundle": ([*inside, "-q", "/data"], there)}
    got = {s: [] for s in sides}
    for s, (how, env) in sides.items():
        cost(how, env)
    for _ in range(runs):
        for s, (how, env) in sides.items():
            got[s].append(cost(how, env))
    for s, v in got.items():
        show(name, f"resolve, CPU: {s}", [c for c, _ in v])
    for s, v in got.items():
        show(name, f"resolve, memory: {s}", [m for _, m in v], "MB")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        os.environ["PERF_BUILDID_DIR"] = os.path.abspath("debug")
        print(time.strftime("%-d %B %Y"), f"{os.cpu_count()} processors, best and median of {runs}")
        for name, cmd in programs().items():
            if len(sys.argv) > 2 and name not in sys.argv[2:]:
                continue
            ends(name, cmd, runs)
            reading(name, runs)
        os.chdir("/")


main()

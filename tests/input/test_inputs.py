#!/usr/bin/env python3
"""Profiles of other tools as inputs: what is read is what they say, written again it is the same, several add up."""
import collections
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess

from recorder import perf_record
from tap import NO_EVENTS, Tap

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
CORPUS = os.path.join(TOP, "../shared/corpus/script-text")
DATA = os.path.join(TOP, "testdata/inputs")
tap = Tap()


def resolve(*args, **kw):
    p = subprocess.run([f"{BIN}/resolve", *args], stdin=kw.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    return p.returncode, p.stdout, p.stderr.decode()


def folded(text):
    out = collections.Counter()
    for line in text.decode().splitlines():
        stack, n = line.rsplit(" ", 1)
        out[stack] += int(n)
    return out


def write(path, data):
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


# ---- perf script text: the outputs that stackcollapse-perf.pl's own tests expect -----------------------------------
OPTIONS = {"addrs": "--addrs", "all": "--all", "jit": "--jit", "kernel": "--kernel", "pid": "--with-pid", "tid": "--with-tid"}


def last_sample(path):
    """Does the text end without an empty line? Then stackcollapse-perf.pl loses its last sample, and we do not."""
    with open(path) as f:
        return not f.read().endswith("\n\n")


def as_expected(stack):
    """It drops quotes, and takes the vDSO for the kernel."""
    return re.sub(r"(__vdso_\w+)(?=;|$)", r"\1_[k]", re.sub("[\"']", "", stack))


def expectations():
    texts = [f for f in sorted(glob.glob(f"{CORPUS}/*.txt")) if "collapsed" not in f]
    for text in texts:
        # It takes the event that comes first, we the heaviest.
        event = ["--event", "instructions"] if "cycles-instructions" in text else []
        for name, option in OPTIONS.items():
            code, out, err = resolve(option, *event, text)
            with open(text.replace(".txt", f".collapsed-{name}.txt"), "rb") as f:
                want = folded(f.read())
            have = folded(out)
            if want != have:
                plain = {s: n for s, n in have.items()}
                have = collections.Counter()
                for s, n in plain.items():
                    have[s if s in want else as_expected(s)] += n
            extra, lost = have - want, want - have
            tap.check(code == 0 and not lost and (not extra or (last_sample(text) and sum(extra.values()) in (1, 10101010))),
                      f"{os.path.basename(text)} {option}", (err, list(extra.items())[:3], list(lost.items())[:3]))
    if not texts:
        tap.skip("perf script texts of many versions", "no corpus here")


expectations()

# ---- perf script text of this machine's perf -----------------------------------------------------------------------
FRAME = re.compile(r"^\s+([0-9a-f]+) (.+) \((.*)\)$")


def collapse(text):
    """What the folded form is, in ten lines."""
    out, comm, weight, frames = collections.Counter(), None, 0, []
    for line in text.splitlines() + [""]:
        m = FRAME.match(line)
        if m:
            name = re.sub(r"\+0x[0-9a-f]+$", "", m.group(2))
            frames.append(f"[{os.path.basename(m.group(3)).strip('[]')}]" if name == "[unknown]" else name)
        elif line.strip():
            m = re.match(r"(.+?)\s+\d+.*?:\s+(\d+) (\S+):", line)
            comm, weight, frames = m.group(1).strip(), int(m.group(2)), []
        elif comm:
            out[";".join([comm.replace(" ", "_")] + frames[::-1])] += weight
            comm = None
    return out


def live():
    if not shutil.which("perf"):
        return tap.skip("perf script of a recording", "no perf here")
    if NO_EVENTS:
        return tap.skip("perf script of a recording", NO_EVENTS)
    work = "import json\nfor i in range(3000): json.loads(json.dumps(list(range(100))))"
    perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,8192", "-o", "p.data", "python3", "-c", work)
    text = subprocess.run(["perf", "script", "--no-inline", "--no-demangle", "-i", "p.data"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    code, out, err = resolve("-f", "folded", "-", input=None, stdin=open(write("p.txt", text), "rb"))
    want, have = collapse(text.decode()), folded(out)
    strip = lambda c: collections.Counter({re.sub(r"\(.*?\)", "", s): n for s, n in c.items()})
    tap.check(code == 0 and len(want) > 10 and sum(want.values()) == sum(have.values()) and strip(want) == strip(have),
              f"perf script of a recording: {len(have)} stacks, the weight of all", (err, list((want - have).items())[:3], list((have - want).items())[:3]))
    latency = subprocess.run(["perf", "script", "-L", "--no-inline", "--no-demangle", "-i", "p.data"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    tap.check(latency != text and resolve(write("latency.txt", latency))[1] == out, "perf script -L of it: as without -L")
    code, ours, err = resolve("-f", "script", "--ns", "p.data")
    write("ours.txt", ours)
    code, again, err = resolve("-f", "script", "--ns", "ours.txt")
    tap.check(code == 0 and again == ours and ours, "our own text, read and written again: the same bytes", err)
    tap.check(resolve("ours.txt")[1] == resolve("p.data")[1], "our own text folded: as the recording folded")
    code, some, err = resolve("--time", ",0.5", "ours.txt")
    tap.check(code == 2 and "passes the filters" in err, "--time before the first sample", err)
    code, sums, err = resolve("p.data", "ours.txt")
    once = folded(resolve("p.data")[1])
    tap.check(code == 0 and folded(sums) == once + once, "a recording and its text as two inputs: their sum", err)
    write("p.folded", resolve("p.data")[1])
    code, out, err = resolve("p.data", "p.folded", "p.data", "--event", "all")
    tap.check(code == 0 and sum(folded(out).values()) == 3 * sum(once.values()), "two recordings and folded", err)
    # What selects and judges one recording does so with several, too.
    for options in (["--dso", "[kernel.kallsyms],python3,libc.so.6,python3.11"], ["--time", "0%-50%"], ["--comm", "python3"]):
        one, two = resolve(*options, "p.data"), resolve(*options, "p.data", "p.data")
        tap.check(one[0] == two[0] and folded(one[1]) + folded(one[1]) == folded(two[1]), f"{' '.join(options)}: of two recordings", one[2], two[2])
    code, out, err = resolve("p.data", "p.data", "-f", "script")
    tap.check(code == 2 and "several inputs" in err, "script of several inputs: refused", err)
    for form in ("html", "flamegraph", "top", "speedscope", "pprof"):
        sizes = [len(resolve(i, "-f", form)[1]) for i in ("p.data", "p.folded", "ours.txt")]
        tap.check(min(sizes) > 1000 or (form in ("top", "pprof") and min(sizes) > 300), f"{form} of all of them", sizes)


live()

# As perf 6.1 script -L prints it: the processor without brackets.
write("latency.txt", "    bash 16052   1 50164.439685:   10101010 cpu-clock: \n\tffffffff822009ee f+0xe ([kernel.kallsyms])\n\n"
      "    a 12 16059   0 50164.462772:   10101010 cpu-clock: \n\tffffffff822009ee f+0xe ([kernel.kallsyms])\n\n")
code, out, err = resolve("-f", "script", "latency.txt")
tap.check(code == 0 and re.findall(rb"(\d+) (\[\d+\]) ([\d.]+):", out) == [(b"16052", b"[001]", b"50164.439685"), (b"16059", b"[000]", b"50164.462772")] and
          out.count(b"cpu-clock:") == 2, "perf script -L: a processor without brackets, also after a command with a number", out, err)

# ---- folded ---------------------------------------------------------------------------------------------------------
LINES = "a b;main;f<int>;[libc.so.6] 3\na_b;main 7\na_b;main;[unknown] 1\nx 5\n"
write("x.folded", LINES)
code, out, err = resolve("x.folded")
tap.check(code == 0 and folded(out) == collections.Counter({"a b;main;f<int>;[libc.so.6]": 3, "a_b;main": 7, "a_b;main;[unknown]": 1, "x": 5}),
          "folded: read and written, the same stacks", out.decode(), err)
write("y.folded", out)
tap.check(resolve("y.folded")[1] == out, "folded: written again the same bytes")
marked = "c;main;f_[i];g_[j];k_[k] 2\n"
write("m.folded", marked)
tap.check(resolve("m.folded")[1].decode() == marked, "folded: marks of frames stay", resolve("m.folded")[1])
write("two.folded", "c;main;f 10 20\nc;main;g 5 0\n")
code, out, err = resolve("two.folded", "--event", "all")
tap.check(folded(out) == {"base;c;main;f": 10, "base;c;main;g": 5, "new;c;main;f": 20}, "folded: two columns are two events", out, err)
code, out, err = resolve("-i", "y.folded", "x.folded")
tap.check(code == 0 and sum(folded(out).values()) == 32, "-i FILE beside a FILE: both", out, err)
code, out, err = resolve("-i", "not-there", "x.folded")
tap.check(code == 2 and "not-there" in err, "-i FILE that is not there beside one that is: said", out, err)
code, out, err = resolve("two.folded", "--event", "new")
tap.check(folded(out) == {"c;main;f": 20}, "folded: two columns, --event new shows the second", out, err)
write("bad.folded", "c;main 1\nthis is no number\n\n# a comment\nc;f 2\n")
code, out, err = resolve("bad.folded")
tap.check(code == 1 and folded(out) == {"c;main": 1, "c;f": 2} and "1 lines" in err and "line 2" in err, "folded: a line without a number is counted, the first is named", err)
write("nameless.folded", "c;main 1\nc;f;  3\nc;;g 2\n")
code, out, err = resolve("nameless.folded")
tap.check(code == 0 and folded(out) == {"c;main": 1, "c;f": 3, "c;g": 2}, "folded: frames without a name, also the last one, cost no weight", out, err)
write("numbers.folded", "c;g 1.5\nc;f 18446744073709551616\nc;h 4\n")
code, out, err = resolve("numbers.folded")
tap.check(code == 1 and folded(out) == {"c;g": 15, "c;h": 40} and "1 lines" in err and "line 2" in err and "times 10" in err,
          "folded: a number beyond 64 bits is no number; with fractions all are shown times ten, and that is said", out, err)
for name, first in (("first line", ""), ("second line", "c;h 4\n")):
    write("long.folded", first + "c;" + "f" * (3 << 20) + " 1\nc;g 2\n")
    code, out, err = resolve("long.folded")
    weights = {stack.split(";")[1][:3]: n for stack, n in folded(out).items()}
    tap.check(code == 0 and len(out) < 1 << 13 and weights == {"fff": 1, "g": 2, **({"h": 4} if first else {})},
              f"folded: a name of 3 MiB in the {name} keeps its weight", out[:100], err)
deep = ";".join(f"function_of_a_long_name_{i}" for i in range(120000))
write("long.folded", f"c;{deep} 1\nc;g 2\n")
code, out, err = resolve("long.folded")
tap.check(code == 1 and sum(folded(out).values()) == 3 and f"{120000 - 32768} frames of 1 stack left out" in err, "folded: of a stack of 4 MB the first frames are kept", err)
write("endless.folded", "c;h 4\nc;" + "f" * (32 << 20) + " 1\nc;g 2\n")
code, out, err = resolve("endless.folded")
tap.check(code == 1 and folded(out) == {"c;h": 4, "c;g": 2} and "1 lines are longer than 32 MiB: their rest was not read" in err,
          "folded: a line of more than 32 MiB is left out, and said", err)

for tool, end in (("gzip", ".gz"), ("xz", ".xz"), ("zstd", ".zst")):
    if not shutil.which(tool):
        tap.skip(f"packed with {tool}", f"no {tool} here")
        continue
    subprocess.run([tool, "-k", "-q", "-f", "y.folded"], check=True)
    tap.check(resolve(f"y.folded{end}")[1] == resolve("y.folded")[1], f"packed with {tool}")
big = "".join(f"c;main;f{i % 1000};g{i} {i % 7 + 1}\n" for i in range(30000))
packed = gzip.compress(big.encode())
code, out, err = resolve(write("cut.gz", packed[:len(packed) // 2]))
tap.check(code == 1 and "ends early" in err and 0 < sum(folded(out).values()), "packed and cut: what was read is kept, a line says that it ends early", err)
with open("x.folded", "rb") as f:
    tap.check(resolve("-", stdin=f)[1] == resolve("x.folded")[1], "folded from standard input: as from the file")
p = subprocess.run(f"cat x.folded | {BIN}/resolve -", shell=True, stdout=subprocess.PIPE)
tap.check(p.stdout == resolve("x.folded")[1], "folded from a pipe: as from the file")
os.mkdir("elsewhere")
for command in ("cat ../x.folded | {}", "{} < ../x.folded"):
    p = subprocess.run(command.format(f"{BIN}/resolve"), shell=True, cwd="elsewhere", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.check(p.stdout == resolve("x.folded")[1].decode() and p.stderr == "resolve: no perf.data here: reading standard input\n", f"without a name, {command}: standard input, which is said",
              p.stdout[:100], p.stderr)
p = subprocess.run(f"{BIN}/resolve < /dev/null", shell=True, cwd="elsewhere", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
tap.check(p.returncode == 2 and p.stderr == "resolve: perf.data: cannot open: No such file or directory\n", "not an empty one", p.stderr)
shutil.copy("x.folded", "elsewhere/perf.data")
p = subprocess.run(f"echo 'a;b 1' | {BIN}/resolve", shell=True, cwd="elsewhere", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
tap.check(p.stdout == resolve("x.folded")[1].decode() and not p.stderr, "nor where there is a perf.data", p.stdout[:100], p.stderr)
tap.check(all(name in resolve("--inputs")[1].decode() for name in ("perf.data", "pprof", "script", "bpftrace", "folded")) and
          b"flamegraph" in resolve("--formats")[1], "--inputs and --formats list what is read and written")
code, out, err = resolve("/etc/passwd")
tap.check(code == 2 and err.count("\n") == 1 and "pprof" in err, "a file of no known format: one line that names the formats", err)
code, out, err = resolve("--stats", "x.folded")
tap.check(code == 2 and "--stats" in err, "--stats of a folded file: refused", err)
code, out, err = resolve("--comm", "x", "x.folded")
tap.check(folded(out) == {"x": 5}, "--comm", err)

# ---- bpftrace -------------------------------------------------------------------------------------------------------
code, out, err = resolve("--kernel", f"{DATA}/bpftrace-ustack-kstack-comm.txt")
have = folded(out)
with open(f"{DATA}/bpftrace-ustack-kstack-comm.txt") as f:
    want = sum(int(n) for n in re.findall(r"\]: (\d+)$", f.read(), re.M))
tap.check(code == 0 and sum(have.values()) == want and all(s.startswith("fp;") for s in have) and
          have["fp;__libc_start_call_main;main;burn"] > 20 and
          any(s.startswith("fp;__libc_start_call_main;main;getppid;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k]") for s in have),
          f"bpftrace: user, kernel, comm: {want} samples", err, out.decode())
code, out, err = resolve("--kernel", f"{DATA}/bpftrace-kstack-ustack-perf.txt")
have = folded(out)
tap.check(code == 0 and have["__libc_start_call_main;main;burn"] > 20 and any("main;getppid;entry_SYSCALL" in s for s in have), "bpftrace: kernel, user in perf's form", out)
# "@" is the key of a field of pprof, "\\n" of another, which begins with its length: " ".
write("like.bt", "@[\n    __rcu_read_lock+1\n    posix_cpu_clock_get+1\n    __x64_sys_clock_gettime+1\n" + "    work+1\n" * 400 + "    main+1\n, app]: 5\n")
code, out, err = resolve("like.bt")
tap.check(out.startswith(b"app;main;work") and out.endswith(b";__x64_sys_clock_gettime;posix_cpu_clock_get;__rcu_read_lock 5\n"), "bpftrace: not taken for pprof", out, err)
write("bt.txt", "Attaching 1 probe...\n\n@reads[bash, 12]: 4\n@[\n    f+1\n    main+22\n]: 3\n@[\n    cut")
code, out, err = resolve("bt.txt", "--event", "all")
tap.check(code == 1 and "early" in err and folded(out)["samples;main;f"] == 3 and folded(out)["reads;bash"] == 4, "bpftrace: several maps, and an end that is missing", out, err)

# ---- pprof ----------------------------------------------------------------------------------------------------------
code, out, err = resolve(f"{DATA}/go-cpu.pb.gz")
have = folded(out)
tap.check(code == 0 and sum(n for s, n in have.items() if s.endswith("main.fib")) > sum(have.values()) // 2 and all(n % 10**7 == 0 for n in have.values()),
          "pprof of Go: nanoseconds, no command", err, out.decode()[:500])
code, out, err = resolve(f"{DATA}/go-heap.pb.gz")
tap.check(code == 0 and "only the event inuse_space is shown, which is its default" in err and sum(folded(out).values()) == 4015810,
          "pprof of Go's heap: without a default the last type, as profile.proto says", err)
resolve(f"{DATA}/go-heap.pb.gz", "-o", "heap.svg")
with open("heap.svg") as f:
    svg = f.read()
tap.check("3.8 MiB" in svg and "go-heap.pb.gz" in svg, "svg of a heap: weights in MiB, and the file's name", svg[:1500])
code, out, err = resolve(f"{DATA}/go-heap.pb.gz", "--event", "inuse_space,inuse_objects")
tap.check(code == 0 and {s.split(";")[0] for s in folded(out)} == {"inuse_space", "inuse_objects"}, "pprof of Go's heap: four events", err)


def raw(path):
    """What `go tool pprof` reads: values and names of each sample, whatever the ids are."""
    text = subprocess.run(["go", "tool", "pprof", "-raw", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    head, rest = text.split("Samples:\n")
    samples, rest = rest.split("Locations\n")
    names = collections.defaultdict(list)
    last = None
    for line in rest.split("Mappings")[0].splitlines():
        m = re.match(r"\s+(\d+): 0x\S+ (?:M=\d+ )?(.*)", line)
        if m:
            last = m.group(1)
            names[last].append(m.group(2))
        elif line.strip():
            names[last].append(line.strip())
    out = collections.Counter()
    types = samples.splitlines()[0].replace("[dflt]", "")
    for line in samples.splitlines()[1:]:
        m = re.match(r"\s*([\d ]+): ([\d ]+)$", line)
        if m:
            out[m.group(1), tuple(tuple(names[i]) for i in m.group(2).split())] += 1
    return types, out, re.search(r"PeriodType.*\nPeriod.*\nTime.*", text)


for name in ("go-cpu", "go-heap"):
    path = f"{DATA}/{name}.pb.gz"
    code, out, err = resolve(path, "-o", "rt.pb.gz")
    code, out, err = resolve("rt.pb.gz", "-o", "rt2.pb.gz")
    tap.check(open("rt.pb.gz", "rb").read() == open("rt2.pb.gz", "rb").read(), f"{name}: our own, read and written again: the same bytes", err)
    with gzip.open("rt.pb.gz") as f:
        write("plain.pb", f.read())
    tap.check(resolve("plain.pb")[1] == resolve("rt.pb.gz")[1], f"{name}: not packed")
    if not shutil.which("go"):
        tap.skip(f"{name}: as go tool pprof reads it", "no go here")
        continue
    want, have = raw(path), raw("rt.pb.gz")
    total = [sum(int(v.split()[0]) for v, _ in x[1].elements()) for x in (want, have)]
    tap.check(want[0] == have[0] and total[0] == total[1] > 0, f"{name}: types and sums as go tool pprof reads them", (want[0], have[0], total))
if os.path.exists("p.data"):
    for options in ([], ["--with-tid"], ["--event", "all"], ["--with-cpu", "--with-pid"]):
        resolve("p.data", *options, "-o", "a.pb.gz")
        resolve("a.pb.gz", *options, "-o", "b.pb.gz")
        tap.check(open("a.pb.gz", "rb").read() == open("b.pb.gz", "rb").read(), f"a recording's pprof {' '.join(options)}, read and written again: the same bytes")
    code, out, err = resolve("a.pb.gz", "a.pb.gz")
    once = folded(resolve("a.pb.gz")[1])
    tap.check(folded(out) == once + once, "two inputs of pprof: their sum", err)

# Inputs whose events have other names, and mean the same: numbers of folded text have none, pprof calls a clock cpu.
once = folded(resolve(f"{DATA}/go-cpu.pb.gz")[1])
write("some.folded", "x;y 5000000\n")
for order in (["some.folded", f"{DATA}/go-cpu.pb.gz"], [f"{DATA}/go-cpu.pb.gz", "some.folded"]):
    code, out, err = resolve(*order)
    tap.check(code == 0 and folded(out) == once + collections.Counter({"x;y": 5000000}) and "some.folded: its numbers have no unit; they are added to those of cpu\n" in err,
              "folded text and pprof: added up, and a line says so", err)
code, out, err = resolve("some.folded", "some.folded")
tap.check((code, out, err) == (0, b"x;y 10000000\n", ""), "folded text twice: nothing to say", err)
with lzma.open(os.path.join(TOP, "testdata/recordings/cpp-capture/perf.data.xz")) as f:
    clock = write("clock.data", f.read())
resolve(clock, "-q", "-o", "clock.pb.gz")
once = sum(folded(resolve(clock, "-q")[1]).values())
for order in ([clock, "clock.pb.gz"], ["clock.pb.gz", clock]):
    code, out, err = resolve(*order)
    tap.check(code == 0 and sum(folded(out).values()) == 2 * once > 0 and "only the event" not in err, "a recording of cpu-clock and its pprof: one event", err)

# Damage: any byte of a file changed, any end cut off.
with gzip.open(f"{DATA}/go-cpu.pb.gz") as f:
    plain = f.read()
worst = None
for i in range(0, len(plain), 7):
    bad = bytearray(plain)
    bad[i] ^= 1 << i % 8
    code, out, err = resolve(write("bad.pb", bytes(bad)), timeout=20)
    if code not in (0, 1, 2) or "Sanitizer" in err:
        worst = (i, code, err)
for i in range(10, len(plain), 41):
    code, out, err = resolve(write("bad.pb", plain[:i]), timeout=20)
    if code not in (1, 2) or "Sanitizer" in err or not err:
        worst = worst or (i, code, err)
tap.check(worst is None, "pprof, damaged: status 0 to 2; cut: status 1 or 2 and a line", worst)
# A sample without frames, and nothing else: there is a root, and no name.
bare = b"\x0a\x04\x08\x01\x10\x02" + b"\x12\x03\x12\x01\x05" + b"\x32\x00" + b"\x32\x07samples" + b"\x32\x05count"
worst = {}
for name in re.findall(r"(?m)^  (\S+) ", subprocess.run([f"{BIN}/resolve", "--formats"], stdout=subprocess.PIPE, text=True).stdout):
    for env in ({}, {"MALLOC_PERTURB_": "85"}):  # memory that is read before it is written
        p = subprocess.run([f"{BIN}/resolve", "-f", name, "-o", "bare.out", write("bare.pb", bare)], stderr=subprocess.PIPE, text=True, env=dict(os.environ, **env))
        if p.returncode not in (0, 1, 2) or "Sanitizer" in p.stderr:
            worst[name] = (p.returncode, p.stderr[-200:])
tap.check(not worst, "pprof with a sample and no frames: every format writes it, or says why not", worst)
tap.end()

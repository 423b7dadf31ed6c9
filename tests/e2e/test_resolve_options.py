#!/usr/bin/env python3
"""What the options of resolve do that no other test looks at, on recordings made here."""
import base64
import gzip
import json
import os
import random
import re
import struct
import sys
import zlib

from common import CAPTURE, TOP, Tap, build, folded, have, resolve, run, RESOLVE

sys.path.insert(0, os.path.join(TOP, "tests", "unwind"))
from perffile import string
from perfsynth import CHAIN_USER, Recording
from perfwrite import PerfWriter
from tap import event

tap = Tap()
program = build("g++ -g -O2 -pthread", "threads.cc", "threads")
run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock,page-faults", "-o", "perf.data", "--", program, "0.4"])


def cmdline(argv):
    """The feature, of bit 11."""
    return struct.pack("<I", len(argv)) + b"".join(string(a) for a in argv)


def total(stacks):
    return sum(stacks.values())


def count(*options):
    """{stack: samples} of folded output; of the clock, for filters may leave more samples of another event."""
    if "--event" not in options:
        options += ("--event", "cpu-clock")
    return folded(resolve("perf.data", "--count", "samples", *options)[0])


everything = count()
tap.check(total(everything) > 100, "the recording has samples", everything)

# Samples are taken once: by any partition of them the parts add up to the whole.
script = run([RESOLVE, "-f", "script", "--event", "cpu-clock", "perf.data"]).stdout
tids = set(re.findall(r"^\S+\s+(\d+) ", script, re.M))
by_tid = {t: total(count("--tid", t)) for t in tids}
tap.check(len(tids) >= 4 and sum(by_tid.values()) == total(everything) and min(by_tid.values()) > 0,
          "--tid: the samples of all threads add up", by_tid)
# All may have run on one processor: then nothing is left for the other list, which is status 2.
by_cpu = [total(folded(resolve("perf.data", "--count", "samples", "--cpu", c, check=False)[0])) for c in ("0,2-3", "1,4-4095")]
tap.check(sum(by_cpu) == total(everything), "--cpu: the samples of all processors add up", by_cpu)
# perf counts a sample for the file that its own address is in, which is in the first line below the sample's.
leaves = {}
for block in run([RESOLVE, "-f", "script", "--no-inline", "--event", "cpu-clock", "perf.data"]).stdout.split("\n\n"):
    m = re.search(r"^\t.*\((.*)\)$", block, re.M)
    if m:
        leaves[m[1]] = leaves.get(m[1], 0) + 1
by_dso = {d: total(count("--dso", d)) for d in leaves if d != "[unknown]"}
tap.check(len(by_dso) > 1 and by_dso == {d: n for d, n in leaves.items() if d != "[unknown]"}, "--dso: samples by the file they were taken in", (by_dso, leaves))
tap.check(count("--dsos", "threads,no such file") == count("--dso", program) != {}, "--dso: names without folders, several, as perf spells it")
p = run([RESOLVE, "--dso", "hreads", "perf.data"], check=False)
tap.check(p.returncode == 2 and "passes the filters" in p.stderr, "--dso: a part of a name is none", p.stderr)
faults = count("--event", "page-faults")
tap.check(faults and faults != everything, "--event: another event has other stacks", faults)
both = {(event("cpu-clock"), *s): n for s, n in everything.items()} | {(event("page-faults"), *s): n for s, n in faults.items()}
tap.check(count("--event", "all") == count("--event", "page-faults,cpu-clock") == both, "--event: of several, the names are roots")
p = run([RESOLVE, "perf.data"])
shown, left = event("cpu-clock"), total(faults)  # nanoseconds are more than pages
tap.check(f"only the event {shown} is shown" in p.stderr and f" ({left}) is not" in p.stderr, "one of two events: a line names the other", p.stderr)
tap.check(folded(p.stdout) == folded(run([RESOLVE, "--event", shown, "perf.data"]).stdout), "one of two events: the one shown has the most weight")
for options in (["--event", "all"], ["--event", shown], ["-f", "jsonl"], ["-q"]):
    p = run([RESOLVE, *options, "perf.data"])
    tap.check("only the event" not in p.stderr, f"{' '.join(options)}: no such line", p.stderr)
p = run([RESOLVE, "--event", f"{shown},nix", "perf.data"], check=False)
tap.check(p.returncode == 2 and "'nix' is none of" in p.stderr and not p.stdout, "--event: an unknown one of two is named, status 2", p.stderr)
scope = json.loads(run([RESOLVE, "-f", "speedscope", "--event", "all", "perf.data"]).stdout)
tap.check({p["name"].split(":")[0] for p in scope["profiles"]} == {"cpu-clock", "page-faults"}, "speedscope: profiles of all events")
top = run([RESOLVE, "-f", "top", "--event", "all", "perf.data"]).stdout
tap.check(re.findall(r"^# Samples: (\d+) of event '(.*)'$", top, re.M) == [(str(total(everything)), event("cpu-clock")), (str(total(faults)), event("page-faults"))],
          "top: a table for each event", top[:300])

# Stacks that go through files again and again count once for each of them.
random.seed(1)
r, expected = Recording(), {}
for i in range(1, 5):
    r.mmap2(7, i << 24, 1 << 20, 0, f"/no/such/file{i}", 1)
for _ in range(300):
    stack = [random.randrange(5) for _ in range(random.randrange(1, 12))]  # 0: no file
    r.sample(7, (stack[0] << 24) + 16, 2, [CHAIN_USER, *((i << 24) + 16 + random.randrange(2) for i in stack)])
    for i in set(stack) - {0}:
        expected[f"/no/such/file{i}"] = expected.get(f"/no/such/file{i}", 0) + 1
r.write("files.data")
p = run([RESOLVE, "--stats=json", "-f", "folded", "files.data"])
modules = json.loads(next(l for l in p.stderr.splitlines() if l.startswith("{")))["modules"]
tap.check({m["path"]: m["samples"] for m in modules} == expected, "--stats: samples by all files of their stacks", (modules, expected))

# Root frames as stackcollapse-perf.pl --pid, --tid write them.
pids = set(re.findall(r"threads-(\d+)(?=;)", "\n".join(";".join(s) for s in count("--with-pid"))))
tap.check(len(pids) == 1 and all(s[0].startswith("threads-") for s in count("--with-pid")), "--with-pid: root frame comm-PID", pids)
roots = {s[0] for s in count("--with-tid")}
tap.check({r.rsplit("/", 1)[1] for r in roots} == tids and all(r.startswith(f"threads-{min(pids)}/") for r in roots),
          "--with-tid: root frame comm-PID/TID", roots)

marks = {o: sum(m in f for s in count(o) for f in s) for o, m in (("--kernel", "_[k]"), ("--inline", "_[i]"))}
plain = sum(m in f for s in everything for f in s for m in ("_[k]", "_[i]", "_[j]"))
tap.check(marks["--inline"] > 0 and plain == 0, "--inline marks inlined frames: -O2 inlines std::accumulate", marks)
tap.check({tuple(f.replace("_[i]", "") for f in s) for s in count("--inline")} == set(everything), "--inline changes nothing else")
kernel = run([RESOLVE, "-f", "jsonl", "perf.data"]).stdout
tap.check((marks["--kernel"] > 0) == ("kernel" in kernel), "--kernel marks kernel frames where there are some", marks)

run(["strip", "-s", "-o", "bare", program])
run([CAPTURE, "-q", "-F", "997", "-o", "bare.data", "--", os.path.abspath("bare"), "0.3"])
addrs = folded(resolve("bare.data", "--addrs")[0])
without = folded(resolve("bare.data")[0])
tap.check(any(re.fullmatch(r"\[bare <0x[0-9a-f]+>\]|\[bare <[0-9a-f]+>\]", f) for s in addrs for f in s) and any("[bare]" in s for s in without),
          "--addrs: unknown functions have their address in their names", list(addrs)[:3])

# A debug file by build id, in a tree of ours.
note = run(["readelf", "-n", program]).stdout
ident = re.search(r"Build ID: ([0-9a-f]+)", note).group(1)
os.makedirs(f"debug/.build-id/{ident[:2]}")
run(["objcopy", "--only-keep-debug", program, f"debug/.build-id/{ident[:2]}/{ident[2:]}.debug"])
names = folded(resolve("bare.data", "--debug-dir", os.path.abspath("debug"))[0])
tap.check(not any("fibonacci" in f for s in without for f in s) and any("work::fibonacci" in f for s in names for f in s),
          "--debug-dir: names from a debug file below it", list(names)[:3])

p = run([RESOLVE, "--verify-unwind", "-o", "verified.folded", "perf.data"])
m = re.search(r"verify-unwind: (\d+) stacks unwound by libdw too\n\s*(\d+)  the same frames", p.stderr)
tap.check(m and int(m.group(1)) > 100 and int(m.group(2)) > 0.9 * int(m.group(1)), "--verify-unwind: libdw agrees on most stacks", p.stderr)
p = run([RESOLVE, "--verify-unwind=7", "-o", "verified.folded", "perf.data"])
few = re.search(r"verify-unwind: (\d+) stacks", p.stderr)
tap.check(few and 0 < int(few.group(1)) <= int(m.group(1)) // 6, "--verify-unwind=7: one in seven", p.stderr)

# Names: all formats write the same data.
def functions(*options):
    out = run([RESOLVE, "-f", "jsonl", *options, "perf.data"]).stdout
    return set(re.findall(r'"sym":"([^"]*)"', out))


full, simple, mangled = functions(), functions("--demangle=simple"), functions("--demangle", "none")
tap.check(any(f.startswith("work::Accumulator<double>::run(") for f in full) and "work::Accumulator<...>::run" in simple
          and not any("Accumulator<double>" in f for f in simple) and "_ZN4work11AccumulatorIdE3runEj" in mangled,
          "--demangle: full, simple, none", [sorted(x)[:5] for x in (full, simple, mangled)])
tap.check(mangled == functions("--no-demangle"), "--no-demangle is --demangle=none")
tap.check("work::Accumulator<...>::run(unsigned int)" in functions("--template-depth", "0"),
          "--template-depth 0 leaves the rest of full names", sorted(f for f in functions("--template-depth", "0") if "Acc" in f))
tap.check("work::Accumulator<double>::run" in functions("--demangle=simple", "--template-depth=1"), "--template-depth 1 of simple names")
lines = {h: folded(resolve("perf.data", "--demangle", h)[0]) for h in ("full", "simple")}
tap.check(total(lines["full"]) == total(lines["simple"]) and len(lines["simple"]) < len(lines["full"]),
          "--demangle=simple: stacks of instances of a template become one line, no weight is lost",
          {k: (len(v), total(v)) for k, v in lines.items()})

for how in ("full", "simple"):
    frames = json.loads(run([RESOLVE, "-f", "speedscope", "--demangle", how, "perf.data"]).stdout)["shared"]["frames"]
    keys = [(f["name"], f.get("file"), f.get("line")) for f in frames]
    tap.check(len(keys) == len(set(keys)) and any("Accumulator" in k[0] for k in keys), f"--demangle={how}: no two frames of speedscope look the same",
              [k for k in keys if keys.count(k) > 1])
run([RESOLVE, "--demangle=simple", "-o", "simple.pb.gz", "perf.data"])
raw = gzip.open("simple.pb.gz").read()
tap.check(b"work::Accumulator<...>::run" in raw and b"_ZN4work11AccumulatorIdE3runEj" in raw and b"_ZN4work11AccumulatorIlE3runEj" not in raw,
          "--demangle=simple: one function of pprof, with the mangled name that comes first")

# A function that gcc splits and copies: outer.part.0 or outer.constprop.0 with -O2 and a constant argument.
open("clone.c", "w").write('''
#include <time.h>
volatile unsigned long sink;
static __attribute__((noinline)) void copied(int n, int mode) { for (int i = 0; i < n; i++) sink += i * mode; }
int main(void) { clock_t end = clock() + CLOCKS_PER_SEC / 4; while (clock() < end) { copied(10000, 3); copied(20000, 3); } return 0; }
''')
run(["gcc", "-g", "-O2", "-o", "clone", "clone.c"])
run([CAPTURE, "-q", "-F", "997", "-o", "clone.data", "--", os.path.abspath("clone")])
def leaves(*options):
    return {f for s in folded(resolve("clone.data", *options)[0]) for f in s if f.startswith("copied")}
suffixed = leaves()
if suffixed == {"copied"}:
    tap.skip("--clones: folded and shown", "this gcc does not clone the function")
else:
    tap.check(suffixed == {"copied.constprop.0"} == leaves("--clones=show", "--demangle=simple") and
              {"copied"} == leaves("--clones=fold") == leaves("--demangle=simple"), "--clones: folded and shown",
              (suffixed, leaves("--clones=fold"), leaves("--demangle=simple")))

# Written by hand: one sample, and a record that tells that the kernel lost 5.
w = PerfWriter("x86_64", 2, 1 << 7 | 1 << 8, 64)
w.comm("loser")
w.mmap(0x400000, 0x500000, 0, "rx", "/nonexistent/loser")
w.sample(0x400100, [0x7000, 0x400100], b"")
w.record(2, 0, struct.pack("<QQ", 0, 5) + w.id_all())
w.write("lost.data")
loose, strict = run([RESOLVE, "lost.data"], check=False), run([RESOLVE, "--strict", "lost.data"], check=False)
tap.check(loose.returncode == 0 and strict.returncode == 1 and loose.stdout == strict.stdout != "" and
          "--strict: 5 samples were lost while recording, 0 records skipped" in strict.stderr and "strict" not in loose.stderr,
          "--strict: samples lost while recording make the status 1", f"{loose} {strict}")

# Written by hand: 3 samples, 2 of another size, 5 lost, a record of the future. All is accounted for.
w = PerfWriter("x86_64", 2, 1 << 7 | 1 << 8, 64)
w.comm("loser")
w.mmap(0x400000, 0x500000, 0, "rx", "/nonexistent/loser")
for i in range(3):
    w.sample(0x400100, [0x7000, 0x400100], b"")
for i in range(2):
    w.record(9, 2, bytes(16))
w.record(2, 0, struct.pack("<QQ", 0, 5) + w.id_all())
w.record(200, 0, bytes(8))
w.write("odd.data")
told = run([RESOLVE, "--stats", "odd.data"], check=False)
tap.check("samples: 3 read, 2 skipped, 5 lost while recording\n" in told.stderr and told.returncode == 1 and
          re.search(r"skipped records: 2, record shorter", told.stderr) and
          re.search(r"skipped records: 1, record type unknown", told.stderr), "--stats: the accounting adds up", told)

# A record of the future alone is no damage, but --strict wants all.
w = PerfWriter("x86_64", 2, 1 << 7 | 1 << 8, 64)
w.comm("loser")
w.mmap(0x400000, 0x500000, 0, "rx", "/nonexistent/loser")
w.sample(0x400100, [0x7000, 0x400100], b"")
w.record(200, 0, bytes(8))
w.write("future.data")
told = [run([RESOLVE, *o, "future.data"], check=False) for o in ([], ["--strict"])]
tap.check([t.returncode for t in told] == [0, 1] and "--strict: 0 samples were lost while recording, 1 records skipped" in told[1].stderr,
          "--strict: records of unknown types make the status 1")

# Which folders are a distribution's: the advice for a stripped file there is a package.
os.makedirs("root", exist_ok=True)
paths = {"/usr/lib/x86_64-linux-gnu/a": True, "/usr/lib64/b": True, "/bin/c": True, "/usr/libfoo/d": False, "/binary/e": False,
         "/usr/local/bin/f": False, "/opt/usr/lib/g": False}
w = PerfWriter("x86_64", 2, 1 << 7 | 1 << 8, 64)
w.comm("loser")
for i, path in enumerate(paths):
    os.makedirs(os.path.dirname("root" + path), exist_ok=True)
    run(["cp", "bare", "root" + path])
    w.mmap(0x10000000 * (i + 1), 0x10000000 * (i + 1) + 0x100000, 0, "rx", path)
    w.sample(0x10000000 * (i + 1) + 0x1100, [0x7000, 0x10000000 * (i + 1) + 0x1100], b"")
w.write("paths.data")
advice = {m["path"]: "build it with -g" not in m["help"] for m in resolve("paths.data", "--symfs", "root")[1]["modules"]}
tap.check(advice == paths, "packages are advised where distributions have their files", advice)
text = run([RESOLVE, "--stats", "--symfs", "root", "-o", os.devnull, "paths.data"]).stderr.split("modules by samples:")[1]
tap.check(all(path in text for path in paths) and len(re.findall("install its debug symbols|fetch its symbols", text)) == text.count("build it with -g") == 1,
          "--stats: what would help is said once, of the first module that needs it", text)

# --stats=json: the members that resolve.1 promises, and what must hold between them.
NUMBERS = ("samples lost skipped user_stacks root switched truncated no_cfi no_file no_map broken stitched guessed frames addresses symbolized "
           "filtered lost_bytes period cached_modules").split()
for data in ("perf.data", "bare.data", "lost.data"):
    s = resolve(data)[1]
    script = run([RESOLVE, "-q", "-f", "script", "--no-inline", data]).stdout
    tap.check(all(isinstance(s.get(n), int) and s[n] >= 0 for n in NUMBERS) and set(s["seconds"]) == {"load", "symbolize", "write"} and
              all(0 <= v < 100 for v in [*s["seconds"].values(), *s["thread_seconds"]]) and s["thread_seconds"], f"--stats=json of {data}: all numbers", s)
    ends = sum(s[n] for n in "root switched truncated no_cfi no_file no_map broken".split())
    tap.check(ends == s["user_stacks"] <= s["samples"] and s["symbolized"] <= s["addresses"] <= s["frames"] and
              s["stitched"] + s["guessed"] <= s["frames"], f"--stats=json of {data}: they add up", s)
    tap.check(s["samples"] == len(re.findall(r"^\S.* \d+\.\d+: ", script, re.M)) and s["frames"] == len(re.findall(r"^\t", script, re.M)),
              f"--stats=json of {data}: samples and frames are those of script", (s["samples"], s["frames"], script[:300]))
    keys = {"path": str, "build_id": str, "samples": int, "tier": str, "source": str, "missing_reason": str, "lacks": str, "lacks_detail": str,
            "help": str, "debuginfod": str, "tried": list, "quality": dict}
    weights = [m["samples"] for m in s["modules"]]
    tap.check(s["modules"] and all({k: type(v) for k, v in m.items()} == keys for m in s["modules"]) and
              weights == sorted(weights, reverse=True) and 0 < weights[0] <= s["samples"] and
              all(bool(m["source"]) or m["missing_reason"] for m in s["modules"]), f"--stats=json of {data}: modules", s["modules"])
tap.check(resolve("lost.data")[1]["lost"] == 5, "--stats=json: lost", resolve("lost.data")[1])

p = run([RESOLVE, "--verify-unwind=0", "perf.data"], check=False)
tap.check(p.returncode == 2 and "--verify-unwind: '0' is not a number from 1 to" in p.stderr and not p.stdout, "--verify-unwind=0 is refused", p)
os.makedirs("results")
run(["touch", "results/now"])
os.symlink("results/now", "latest.folded")
run([RESOLVE, "-o", "latest.folded", "perf.data"])
tap.check(os.readlink("latest.folded") == "results/now" and open("results/now").read() == run([RESOLVE, "perf.data"]).stdout,
          "-o through a link: the link stays")

# Code without unwind tables that keeps frame pointers: guessed, unless told not to.
open("nocfi.c", "w").write('''
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 1000; i++) sink += i; }
__attribute__((noinline)) void outer(void) { for (int i = 0; i < 100; i++) inner(); sink++; }
int main(void) { clock_t end = clock() + CLOCKS_PER_SEC / 3; while (clock() < end) outer(); return 0; }
''')
run(["gcc", "-O1", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-o", "nocfi", "nocfi.c"])
run([CAPTURE, "-q", "-F", "997", "-o", "nocfi.data", "--", os.path.abspath("nocfi")])
stats = {o: resolve("nocfi.data", *o)[1] for o in ((), ("--no-guess",))}
tap.check(stats[()]["guessed"] > 0 and stats[("--no-guess",)]["guessed"] == 0 and
          stats[("--no-guess",)]["no_cfi"] > stats[()]["no_cfi"], "--no-guess: stacks end where tables end",
          {k: (v["guessed"], v["no_cfi"]) for k, v in stats.items()})

# What to do about code that no record maps: in a part of perf record --switch-output it began before the part.
for command, said in ((["perf", "record", "--switch-output=1M", "--", "./x"], "capture --switch-output"), (["perf", "record", "--", "./x", "--switch-output"], "from the start")):
    w = PerfWriter("x86_64", 2, 1 << 7 | 1 << 8, 64)
    w.comm("parts")
    w.sample(0x400100, [0x7000, 0x400100], b"")
    w.write("part.data", {11: cmdline(command)})
    p = run([RESOLVE, "part.data"], check=False)
    tap.check("reach no root" in p.stderr and said in p.stderr, f"{' '.join(command)}: code that no record maps", p.stderr)

# --no-cmdline: a token among the recorded arguments is in no output.
secret = Recording(callchain=False)
secret.comm(7, "prog", 1)
secret.sample(7, 0x401000, 2)
argv = ["perf", "record", "--", "./prog", "--token=hunter2"]
secret.write("secret.data", {11: cmdline(argv)})


def texts(*options):
    """What each format writes, without compression."""
    out = {}
    for form in ("folded", "flamegraph", "top", "script", "jsonl", "speedscope", "md", "callgrind", "firefox", "lines"):
        out[form] = run([RESOLVE, "-q", *options, "-f", form, "secret.data"]).stdout
    run([RESOLVE, "-q", *options, "-o", "secret.pb.gz", "secret.data"])
    with gzip.open("secret.pb.gz") as f:
        out["pprof"] = f.read().decode(errors="replace")
    run([RESOLVE, "-q", *options, "-o", "secret.html", "secret.data"])
    with open("secret.html", encoding="utf-8") as f:
        page = f.read()
    out["html"] = page + zlib.decompress(base64.b64decode(re.search(r'id="profile"[^>]*>([^<]+)<', page)[1])).decode(errors="replace")
    out["--header"] = run([RESOLVE, *options, "--header", "secret.data"]).stdout
    return out


shown = {form for form, text in texts().items() if "hunter2" in text}
tap.check(shown == {"flamegraph", "md", "pprof", "html", "firefox", "--header"}, "the formats that show the recorded command line are those that the manual names", shown)
hidden = texts("--no-cmdline")
tap.check(not any("hunter2" in t for t in hidden.values()) and "secret.data" in hidden["html"], "--no-cmdline: it is in none", {f: t[:200] for f, t in hidden.items() if "hunter2" in t})
tap.end()

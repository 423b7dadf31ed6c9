#!/usr/bin/env python3
"""jsonl and speedscope, read by Python's json (strict about control characters and UTF-8) and compared with
folded and script of the same profile. The rules for speedscope are those of its file-format-spec.ts."""
import collections
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from perfsynth import Recording
from tap import Tap

BUILD, HERE = os.environ["BUILD"], os.getcwd()
VARIANTS = ("order0", "samples", "no_inline", "tids", "cycles", "hostile")
tap = Tap()
check = tap.check


def text(name):
    return open(f"{HERE}/{name}", "rb").read().decode("utf-8", "strict")


def spec(p):
    """The first rule of the speedscope format that is broken."""
    if p["$schema"] != "https://www.speedscope.app/file-format-schema.json":
        return "$schema"
    if set(p) - {"$schema", "name", "activeProfileIndex", "exporter", "profiles", "shared"}:
        return "unknown key"
    frames = p["shared"]["frames"]
    if any(not f["name"] or set(f) - {"name", "file", "line", "col"} for f in frames):
        return "frame"
    for t in p["profiles"]:
        if t["type"] != "sampled" or t["unit"] not in ("none", "nanoseconds", "bytes"):
            return "type or unit"
        if len(t["samples"]) != len(t["weights"]) or min(t["weights"]) < 0:
            return "weights"
        if t["endValue"] - t["startValue"] != min(sum(t["weights"]), 2**64 - 1):
            return "endValue"
        if any(not 0 <= f < len(frames) for s in t["samples"] for f in s):
            return "frame index"
    if not 0 <= p["activeProfileIndex"] < len(p["profiles"]):
        return "activeProfileIndex"
    return ""


subprocess.run([f"{BUILD}/tests/output/tool_synthetic", HERE], check=True)
scope, lines = {}, {}
for v in VARIANTS:
    scope[v] = json.loads(text(f"{v}.speedscope"))
    lines[v] = [json.loads(l) for l in text(f"{v}.jsonl").splitlines()]
    broken = spec(scope[v])
    check(not broken, f"speedscope {v} keeps the format's rules", broken)

for fmt in ("folded", "top"):
    check(len({text(f"order{k}.{fmt}") for k in range(10)}) == 1, f"{fmt}: the same bytes in whatever order samples come")


def threads(p):
    return [t for t in p["profiles"] if not t["name"].endswith("all threads")]


def weights(p):
    """{frame names root first: weight} over all threads, without the time between samples."""
    out = collections.Counter()
    for t in threads(p):
        for s, w in zip(t["samples"], t["weights"]):
            out[";".join(p["shared"]["frames"][f]["name"] for f in s)] += w
    out.pop("", None)
    return out


names = weights(scope["order0"])
run = "__libc_start_call_main;main;ns::W<int>::run(int) [clone .isra.0];mid(int);leaf(std::vector<int> const&)"
check(names[run] == 45, "speedscope: stacks root first with inlined functions", names)
check(any("[vdso]" in n and "[libx.so (deleted)]" in n for n in names), "speedscope: unknown functions by their module", names)
folded = {l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in text("order0.folded").splitlines()}
check(sum(names.values()) == sum(folded.values()), "speedscope: the sum of folded", (names, folded))
check([t["name"] for t in scope["order0"]["profiles"]][:3] == ["all threads", "server 200/200", "server 100/100"], "speedscope: all threads, then the heaviest")
check(set(w for t in scope["samples"]["profiles"] for w in t["weights"]) == {1} and
      scope["samples"]["profiles"][0]["unit"] == "none", "speedscope: samples weigh 1 on request")
everything = scope["order0"]["profiles"][0]
roots = collections.Counter()
for stack, weight in zip(everything["samples"], everything["weights"]):
    roots[re.sub("[ \n]", "_", scope["order0"]["shared"]["frames"][stack[0]]["name"].replace(";", ":"))] += weight
want = collections.Counter()
for line, weight in folded.items():
    want[line.split(";")[0]] += weight
check(roots == want and everything["startValue"] == 0, "speedscope: all threads are one profile below their commands", (roots, want))

# Time, by a text whose times are known: a second of work, two of sleep, work; another thread that begins later.
PERIOD, text_in = 100_000_000, []
for task, ms, function in ([(1, 100 * i, "before") for i in range(1, 11)] + [(1, 3000 + 100 * i, "after") for i in range(1, 6)] +
                           [(2, 2000 + 150 * i, "other") for i in range(1, 5)]):
    text_in.append((ms, f"p     1/{task} {ms // 1000}.{ms % 1000:03}000: {PERIOD} cpu-clock: \n\t401000 {function}+0x0 (/bin/p)\n\t402000 main+0x1 (/bin/p)\n\n"))
with open(f"{HERE}/time.txt", "w") as f:
    f.write("".join(t for _, t in sorted(text_in)))
out = subprocess.run([f"{os.environ['BIN']}/resolve", "-f", "speedscope", f"{HERE}/time.txt"], stdout=subprocess.PIPE, check=True).stdout
p = json.loads(out)
broken = spec(p)
check(not broken, "speedscope with times keeps the format's rules", broken)
names = [f["name"] for f in p["shared"]["frames"]]
shown = {t["name"]: ((t["startValue"], t["endValue"]), [(";".join(names[f] for f in s), w) for s, w in zip(t["samples"], t["weights"])]) for t in p["profiles"]}
check(shown["p 1/1"] == ((0, 3_500_000_000), [("main;before", PERIOD)] * 10 + [("", 2_000_000_000)] + [("main;after", PERIOD)] * 5),
      "speedscope: a sleep is an empty stack as long as it was", shown)
# Samples of 100 ms that lie 150 ms apart: a gap is shown when there is one of a sample's length.
check(shown["p 1/2"] == ((2_050_000_000, 2_550_000_000), [("main;other", PERIOD)] * 2 + [("", PERIOD)] + [("main;other", PERIOD)] * 2),
      "speedscope: less time than a sample's is made up for later; a thread begins when it did", shown)
check(len(shown["all threads"][1]) == 19 and shown["all threads"][0] == (0, 19 * PERIOD) and p["activeProfileIndex"] == 1 and p["profiles"][1]["name"] == "p 1/1",
      "speedscope: all threads have no gaps; the thread with most of the weight is shown first", shown)
main = next(f for f in scope["order0"]["shared"]["frames"] if f["name"] == "main")
check(main == {"name": "main", "file": "main.cc", "line": 5}, "speedscope: file and line of a function", main)

script = re.split(r"\n\n", text("order0.script").rstrip("\n"))
got = []
for s in lines["order0"]:
    secs = "%d.%06d" % (s["t_ns"] // 10**9, s["t_ns"] // 1000 % 10**6)
    frames = [(f["sym"] if "sym" in f else "[unknown]", f.get("inlined", False)) for f in s["stack"]]
    got.append((s["tid"], secs, s["period"], s["event"], frames))
want = []
for block in script:
    head, *frames = block.split("\n")
    m = re.match(r".*?\s+(\d+)(?: \[\d+\])?\s+(\d+\.\d+):\s+(\d+)\s+(\S+): $", head)
    parsed = [re.match(r"\t\s*[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)?(?: \(inlined\)| \((?!inlined).*\))$", f).group(1) for f in frames]
    want.append((int(m.group(1)), m.group(2), int(m.group(3)), m.group(4),
                 [(n, f.endswith(" (inlined)")) for n, f in zip(parsed, frames)]))
check(got == want, "jsonl: the samples of script, in the same order", f"{got}\n{want}")
s = lines["order0"][0]
check(s == {
    "v": 1, "t_ns": 1001002003, "pid": 100, "tid": 100, "comm": "server", "event": "cpu-clock:pppH", "period": 10, "stop": "END",
    "stack": [
        {"ip": "0x401150", "sym": "leaf(std::vector<int> const&)", "dso": "/opt/app/server", "build_id": "abcdef01",
         "file": "w.cc", "line": 7, "inlined": True},
        {"ip": "0x401150", "sym": "mid(int)", "dso": "/opt/app/server", "build_id": "abcdef01", "file": "w.cc", "line": 7,
         "inlined": True},
        {"ip": "0x401150", "sym": "ns::W<int>::run(int) [clone .isra.0]", "off": 80, "dso": "/opt/app/server",
         "build_id": "abcdef01", "file": "w.cc", "line": 7},
        {"ip": "0x40101f", "sym": "main", "off": 31, "dso": "/opt/app/server", "build_id": "abcdef01", "file": "main.cc",
         "line": 7},
        {"ip": "0x7f000001000f", "sym": "__libc_start_call_main", "off": 15, "dso": "/usr/lib/libc.so.6", "build_id": "1234"},
    ]}, "jsonl: all there is to know", s)
check([("cpu" in x) for x in lines["order0"]] == [x["event"] == "cycles:P" for x in lines["order0"]], "jsonl: cpu only where it was recorded")
check(len(lines["cycles"]) == 1 and len(lines["order0"]) == 10, "jsonl: one event on request")
check(not any(f.get("inlined") for x in lines["no_inline"] for f in x["stack"]), "jsonl: no inlined functions on request")
check(lines["hostile"][0]["comm"] == '\ufffd\ufffd"\\\n' and
      lines["hostile"][0]["tid"] == -1 and lines["hostile"][2]["stack"] == [], "jsonl: names from hostile files survive", lines["hostile"])


# ---- jsonl2: what its lines name by number, put in their places, are the lines of jsonl ----
def expanded(text):
    tables = {k: [None] for k in ("event", "task", "module", "function", "frame", "stack")}
    out = []
    for line in text.splitlines():
        v = json.loads(line)
        kind = next(iter(v))
        if kind in tables:
            check_number = v.pop(kind) == len(tables[kind])
            tables[kind].append(v if check_number else None)
        elif kind == "t_ns":
            stack = []
            for at in tables["stack"][v["stack"]]["frames"] if "stack" in v else ():
                frame = dict(tables["frame"][at])
                function = dict(tables["function"][frame.pop("function")])
                stack.append({**frame, **function, **(tables["module"][function.pop("module")] if "module" in function else {})})
                stack[-1].pop("module", None)
            event = tables["event"][v["event"]]["name"]
            out.append({"v": 1, **v, **tables["task"][v["task"]], "event": event, "stack": stack})
            out[-1].pop("task")
    return out


for v in VARIANTS:
    want = [{k: x for k, x in line.items() if k != "brstack" and (k, x) != ("stop", "END")} for line in lines[v]]
    have = expanded(text(f"{v}.jsonl2"))
    check(have == want, f"jsonl2 {v}: the samples of jsonl", next((a, b) for a, b in zip(have + [0], want + [0]) if a != b) if have != want else "")

# The query of doc/formats.md, in SQLite: what functions cost themselves.
query = open(os.path.join(os.environ["TOP"], "doc/formats.md")).read().split(".import out.jsonl2 l\n")[1].split("\n\n")[0]
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE l (v TEXT)")
db.executemany("INSERT INTO l VALUES (?)", [(line,) for line in text("order0.jsonl2").splitlines()])
own = collections.Counter()
for line in lines["order0"]:
    own[line["stack"][0].get("sym")] += line["period"]
if sqlite3.sqlite_version_info < (3, 38):
    tap.skip("the SQL of doc/formats.md", "SQLite is too old")
else:
    rows = db.execute(query).fetchall()
    check(dict(rows) == own and len(rows) > 2, "the SQL of doc/formats.md", (rows, own))

# ---- what few recordings have, beside perf ----
CORPUS = os.path.join(os.environ["TOP"], "../shared/corpus")
RESOLVE = f"{os.environ['BIN']}/resolve"


def jsonl(path, *options):
    out = subprocess.run([RESOLVE, "-q", "-f", "jsonl", *options, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def perf(path, fields):
    out = subprocess.run(["perf", "script", "--ns", "-G", "-i", path, "-F", fields], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [line.split(": ", 1) for line in out.splitlines() if re.match(r" *\d+\.\d{9}: ", line)]


def branch(b, fields):
    """As perf prints it: 6.1 has 7 fields, the type of the branch last; newer ones an 8th behind it, of how it was speculated. The recording has neither."""
    end = {7: "/", 8: "//-"}.get(fields, "?")
    return f"{b['from']}/{b['to']}/{'M' if b.get('mispred') else 'P' if 'mispred' in b else '-'}/-/-/{b.get('cycles', 0)}{end}"


if not (os.path.isdir(CORPUS) and shutil.which("perf")):
    tap.skip("jsonl: addr, data_src, brstack, trace beside perf", "no corpus or no perf here")
else:
    path = f"{CORPUS}/quipper/branch-4.14.data"
    want = [(int(t.replace(".", "")), rest.split()) for t, rest in perf(path, "time,brstack")]
    fields = want[0][1][0].count("/") + 1 if want and want[0][1] else 0
    have = [(x["t_ns"], [branch(b, fields) for b in x["brstack"]]) for x in jsonl(path)]
    check(have == want and len(want) == 13, "jsonl: branches as perf has them", (have[:1], want[:1]))
    path = f"{CORPUS}/perfparser/vector_static_gcc.perf.data"
    have = [(x["t_ns"], int(x["addr"], 16), int(x["data_src"], 16)) for x in jsonl(path)]
    want = [(int(t.replace(".", "")), *(int(n, 16) for n in rest.split()[:2])) for t, rest in perf(path, "time,addr,data_src")]
    check(have == want and len(want) == 45, "jsonl: addr and data_src as perf has them", (have[:2], want[:2]))
    path = f"{CORPUS}/linux-tracepoints/pipe.data"
    script = subprocess.run([RESOLVE, "-q", "-f", "script", "--event", "sched:sched_switch", "-F", "trace", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    have = [x["trace"] for x in jsonl(path, "--event", "sched:sched_switch")]
    check(have and have == [line.strip() for line in script.splitlines() if line.strip()], "jsonl: the fields of tracepoints as script has them", (have[:1], script[:100]))

# Weights: bits 14 and 24 of sample_type; of the latter the lower half.
for bit, name in ((14, "weight"), (24, "weight_struct")):
    data = Recording()
    data.sample_type |= 1 << bit
    data.mmap2(1, 0x400000, 0x1000, 0, "/bin/x", 1)
    plain = data.record
    data.record = lambda kind, misc, body, *more: plain(kind, misc, body + struct.pack("<Q", 7 << 32 | 42) if kind == 9 else body, *more)
    data.sample(1, 0x400010, 5)
    data.write(f"{name}.data")
    have = [x.get("weight") for x in jsonl(f"{name}.data")]
    check(have == [7 << 32 | 42 if bit == 14 else 42], f"jsonl: {name}", have)

# -F
chosen = jsonl("time.txt", "-F", "time,tid,ip,sym")
check(set(chosen[0]) == {"v", "t_ns", "tid", "stack"} and set(chosen[0]["stack"][0]) == {"ip", "sym"}, "jsonl: -F takes fields", chosen[0])
without = jsonl("time.txt", "-F", "-dso,-comm")
check(set(without[0]) == set(jsonl("time.txt")[0]) - {"comm"} and "dso" not in without[0]["stack"][0] and "sym" in without[0]["stack"][0], "jsonl: -F leaves fields out", without[0])
check("stack" not in jsonl("time.txt", "-F", "time,period")[0], "jsonl: no stack where none was asked for")
tap.end()

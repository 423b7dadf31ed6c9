#!/usr/bin/env python3
"""Files of the Firefox Profiler: what resolve writes gives the same stacks back; files in the forms of other tools (processed profiles
with tables of threads, as samply and older viewers write them, and gecko profiles, as Firefox and perf script report gecko do), drawn by
hand; damage."""
import copy
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, folded, run  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
BARE = "--no-cache", "-q", "--symfs", "root"

# ---- our own ----------------------------------------------------------------------------------------------------------
for name in ("cpp-pipe", "system-perf"):
    with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open(f"{name}.data", "wb") as f:
        f.write(packed.read())
    run([RESOLVE, *BARE, "-f", "firefox", "-o", f"{name}.json", f"{name}.data"])
    for options in ([], ["--with-tid"], ["--kernel"], ["--count", "samples"]):
        want, got = (run([RESOLVE, *BARE, *options, path]).stdout for path in (f"{name}.data", f"{name}.json"))
        tap.check(want and got == want, f"{name}, our own file gives the stacks back: {' '.join(options)}", got[:500], want[:500])
rows = [run([RESOLVE, *BARE, "-f", "top", "--sort", "dso,sym", path]).stdout.splitlines()[:1] for path in ("cpp-pipe.data", "cpp-pipe.json")]
tap.check(rows[0] == rows[1], "the event has its name, and the samples their number", rows)
times = [[json.loads(line)["t_ns"] for line in run([RESOLVE, *BARE, "-f", "jsonl", path]).stdout.splitlines()] for path in ("cpp-pipe.data", "cpp-pipe.json")]
tap.check([t - times[0][0] for t in times[0]] == [t - times[1][0] for t in times[1]], "samples of all threads in the order of time", times)


def write(path, what):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)
    return path


def stacks(what, *options, code=0):
    p = run([RESOLVE, "-q", *options, write("drawn.json", what)], check=False)
    tap.check(p.returncode == code, "drawn by hand: read", p.stderr)
    return folded(p.stdout)


# ---- a processed profile, its tables in the thread --------------------------------------------------------------------
processed = {
    "meta": {"interval": 1, "startTime": 1.7e12, "processType": 0, "product": "prog", "preprocessedProfileVersion": 48, "version": 24,
             "categories": [{"name": "User", "color": "yellow", "subcategories": ["Other"]}, {"name": "Kernel", "color": "orange", "subcategories": ["Other"]}]},
    "libs": [{"name": "prog", "path": "/bin/prog", "debugName": "prog", "debugPath": "/bin/prog", "breakpadId": "0", "codeId": None, "arch": "x86_64"}],
    "threads": [{
        "name": "prog", "processName": "prog", "pid": "10", "tid": 11, "processType": "default", "isMainThread": True, "markers": {"data": [], "length": 3},
        "stringArray": ["main", "ns::leaf(int)", "vfs_read", "0x1234", "prog", "a.cc", "[kernel.kallsyms]"],
        "resourceTable": {"length": 2, "lib": [0, None], "name": [4, 6], "host": [None, None], "type": [1, 1]},
        "funcTable": {"length": 4, "name": [0, 1, 2, 3], "isJS": [False] * 4, "relevantForJS": [False] * 4, "resource": [0, 0, 1, 0], "fileName": [5, 5, None, None],
                      "lineNumber": [None] * 4, "columnNumber": [None] * 4},
        "frameTable": {"length": 4, "address": [16, 32, -1, 4660], "inlineDepth": [0] * 4, "category": [0, 0, 1, 0], "func": [0, 1, 2, 3], "line": [7, 9, None, None]},
        "stackTable": {"length": 4, "frame": [0, 1, 2, 3], "prefix": [None, 0, 1, 0], "category": [0] * 4},
        "samples": {"length": 5, "stack": [1, 1, 2, 3, None], "timeDeltas": [1, 2, 0.5, 1, 1], "weight": [1, 2, 1, 1, 4], "weightType": "samples"}}],
}
want = {("prog", "main", "ns::leaf"): 3, ("prog", "main", "ns::leaf", "vfs_read"): 1, ("prog", "main", "[prog]"): 1}
got = stacks(processed)
tap.check(got == want, "processed, tables of threads: weights are samples, without a stack nothing ran", got)
got = stacks(processed, "--kernel", "--with-tid")
tap.check(("prog-10/11", "main", "ns::leaf", "vfs_read_[k]") in got, "its categories and ids", got)
lines = run([RESOLVE, "-q", "-f", "lines", "drawn.json"]).stdout
tap.check("a.cc:9" in lines and "a.cc:7" in lines, "its lines", lines)
times = [json.loads(line)["t_ns"] for line in run([RESOLVE, "-q", "-f", "jsonl", "drawn.json"]).stdout.splitlines()]
tap.check(times == [1000000, 3000000, 3500000, 4500000], "its times", times)
periods = [json.loads(line)["period"] for line in run([RESOLVE, "-q", "-f", "jsonl", "drawn.json"]).stdout.splitlines()]
said = re.search("(.*) samples of event `samples`, weight (.*),", run([RESOLVE, "-q", "-f", "md", "drawn.json"]).stdout)
tap.check(periods == [1, 2, 1, 1] and said and said.groups() == ("5", "5"), "its weights, of each sample and in words", periods, said)
p = run([RESOLVE, "drawn.json"])
tap.check("3 markers" in p.stderr and "1 samples without a stack were left out" in p.stderr and "1 addresses have no names" in p.stderr, "what is left out is counted: markers, samples without a stack, names", p.stderr)
named = copy.deepcopy(processed)
named["threads"][0].update(name="GeckoMain", processName="ls")
tap.check({way[0] for way in stacks(named)} == {"ls"}, "a main thread has the name of its process, as in samply's files")
shared = copy.deepcopy(processed)
shared["shared"] = {"stringArray": shared["threads"][0].pop("stringArray")}
tap.check(stacks(shared) == want, "strings that threads share, behind them")
for key in ("resourceTable", "funcTable", "frameTable", "stackTable"):
    shared["shared"][key] = shared["threads"][0].pop(key)
tap.check(stacks(shared) == want, "all tables shared")
timed = copy.deepcopy(processed)
timed["threads"][0]["samples"].update(weight=[0.25, 1, 1, 1, 1], weightType="tracing-ms")
tap.check(stacks(timed)[("prog", "main", "ns::leaf")] == 1250000, "weights of milliseconds", stacks(timed))

# ---- a gecko profile --------------------------------------------------------------------------------------------------
raw = {
    "meta": {"interval": 1, "processType": 0, "product": "prog", "stackwalk": 1, "debug": 0, "gcpoison": 0, "asyncstack": 1, "startTime": 5.0, "version": 24,
             "categories": [{"name": "User", "color": "yellow", "subcategories": ["Other"]}], "markerSchema": []},
    "libs": [], "pausedRanges": [], "processes": [],
    "threads": [{
        "tid": 21, "pid": 20, "name": "work", "markers": {"schema": {"name": 0}, "data": [[0], [0]]},
        "samples": {"schema": {"stack": 0, "time": 1, "responsiveness": 2}, "data": [[1, 3.0, 0], [2, 1.5, 0], [None, 9.0]]},
        "frameTable": {"schema": {"location": 0, "relevantForJS": 1, "innerWindowID": 2, "implementation": 3, "optimizations": 4, "line": 5, "column": 6, "category": 7},
                       "data": [[0, False, 0, None, None, None, None, 0], [1, False, 0, None, None, None, None, 0], [2, True, 0]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1], [0, 2]]},
        "stringTable": ["main (in /bin/work)", "ns::f<(int)3>(int) (in libf.so)", "onClick (app.js:12:5)"], "registerTime": 0, "unregisterTime": None, "processType": "default"}],
}
got = stacks(raw)
want = {("work", "main", "ns::f<(int)3>"): 1, ("work", "main", "onClick"): 1}
tap.check(got == want, "gecko: names with their modules", got)
top = run([RESOLVE, "-q", "-f", "top", "--sort", "dso,sym", "drawn.json"]).stdout
tap.check("libf.so" in top and "work " in top, "gecko: modules", top)
tap.check(re.search(r"^# Samples: (\d+) of .*\n# Event count \(approx\.\): \1$", top, re.M), "gecko: samples that have no period count as one in the sum", top)
tap.check("app.js:12" in run([RESOLVE, "-q", "-f", "lines", "drawn.json"]).stdout, "gecko: the line of a script")
times = [json.loads(line)["t_ns"] for line in run([RESOLVE, "-q", "-f", "jsonl", "drawn.json"]).stdout.splitlines()]
tap.check(times == [1500000, 3000000], "gecko: the order of time", times)
nested = copy.deepcopy(raw)
nested["processes"] = [copy.deepcopy(raw)]
tap.check(stacks(nested) == {k: 2 * v for k, v in want.items()}, "gecko: other processes are in it")

tap.check(stacks({"label": "", "duration": 9.5, "markers": [{"isOffMainThread": False}], "profile": raw}) == want, "gecko: wrapped, as Firefox's own tool saved it")
with open("text.json", "w", encoding="utf-8") as f:
    f.write(json.dumps({**raw, "threads": [*raw["threads"], json.dumps({**raw, "threads": [*raw["threads"], json.dumps(raw)]})]}))
p = run([RESOLVE, "text.json"], check=False)
tap.check(folded(p.stdout) == {k: 2 * v for k, v in want.items()} and "1 entries could not be read" in p.stderr,
          "gecko of old: a process that stands as a text among the threads; what it holds in turn is counted", p.stdout, p.stderr)
backwards = copy.deepcopy(raw)
backwards["threads"][0] = {key: dict(reversed(v.items())) if key in ("samples", "frameTable", "stackTable") else v for key, v in raw["threads"][0].items()}
tap.check(list(backwards["threads"][0]["samples"]) == ["data", "schema"] and stacks(backwards) == want, "gecko: rows that stand before their schema")
del backwards["threads"][0]["stackTable"]["schema"]
p = run([RESOLVE, write("none.json", backwards)], check=False)
tap.check(p.returncode == 2 and "entries could not be read as gecko" in p.stderr, "gecko: rows without a schema are counted", p.stderr)
later = copy.deepcopy(raw)
later["processes"] = [copy.deepcopy(raw)]
later["processes"][0]["meta"]["startTime"] = 105.0
run([RESOLVE, "-q", "-f", "jsonl", "-o", "later.jsonl", write("later.json", later)])
with open("later.jsonl", encoding="utf-8") as f:
    times = [json.loads(line)["t_ns"] for line in f]
tap.check(times == [1500000, 3000000, 101500000, 103000000], "gecko: a process that began later has times of its own", times)

# ---- damage -----------------------------------------------------------------------------------------------------------
empty = copy.deepcopy(raw)
empty["threads"] = []
p = run([RESOLVE, write("empty.json", empty)], check=False)
tap.check(p.returncode == 2 and "Firefox Profiler without samples" in p.stderr and p.stderr.count("\n") == 1, "no samples: a line", p.stderr)
circle = copy.deepcopy(processed)
circle["threads"][0]["stackTable"].update(prefix=[3, 0, 1, 0], frame=[0, 99, -1, 2])
p = run([RESOLVE, write("circle.json", circle)], check=False)
tap.check(p.returncode in (0, 1) and sum(folded(p.stdout).values()) == 5, "circles and frames that are none: the weight stays", p.stdout, p.stderr)
write("lost.json", {"meta": {"preprocessedProfileVersion": 48}, "threads": [{"samples": {"stack": [999999]}}]})
p = subprocess.run([RESOLVE, "-q", "lost.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
tap.check(p.returncode == 2 and "no samples" in p.stderr and " line 0" not in p.stderr, "a stack that is none: no line of the file is named, as there are none", p.stderr)
p = subprocess.run([RESOLVE, "lost.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
tap.check("1 entries could not be read as gecko\n" in p.stderr, "but how many are lost", p.stderr)
random.seed(5)
write("processed.json", processed)
write("raw.json", raw)
for path in ("processed.json", "raw.json"):
    data = open(path, "rb").read()
    bad = []
    for k in range(30):
        broken = bytearray(data[:random.randrange(1, len(data))] if k % 2 else data)
        if not k % 2:
            for _ in range(3):
                broken[random.randrange(len(broken))] = random.choice(b'0{}[],:"-9e~\x00\xff')
        p = subprocess.run([RESOLVE, "--no-cache", "-q", "-"], input=bytes(broken), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        if p.returncode not in (0, 1, 2) or (p.returncode == 2 and p.stderr.count(b"\n") != 1):
            bad.append((k, p.returncode, p.stderr[-200:]))
    tap.check(not bad, f"{path}: cut and changed: a line, or what can be read", bad[:3])
tap.end()

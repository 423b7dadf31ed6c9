#!/usr/bin/env python3
"""V8's .cpuprofile and speedscope's files: sums are those that Python's json finds in them, resolve's own speedscope file gives the
stacks of folded back, and no cut or changed byte makes more of it than a line."""
import collections
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, folded, have, run  # noqa: E402

tap = Tap()


def resolve(path, *options, check=True):
    return run([RESOLVE, "-q", *options, path], check=check)


# ---- cpuprofile: drawn by hand, and of node ---------------------------------------------------------------------------
frame = lambda name, line: {"functionName": name, "scriptId": "1", "url": "file:///x.js", "lineNumber": line, "columnNumber": 0}  # noqa: E731
drawn = {"nodes": [{"id": 1, "callFrame": frame("(root)", -1), "hitCount": 0, "children": [2, 3]}, {"id": 2, "callFrame": frame("(idle)", -1), "hitCount": 1},
                   {"id": 3, "callFrame": frame("main", 0), "hitCount": 1, "children": [4]}, {"id": 4, "callFrame": frame("", 6), "hitCount": 2}],
         "startTime": 1000, "endTime": 2000, "samples": [3, 4, 4, 2], "timeDeltas": [100, 200, 50, 250]}
with open("drawn.cpuprofile", "w") as f:
    json.dump(drawn, f)
stacks = folded(resolve("drawn.cpuprofile").stdout)
tap.check(stacks == {("main",): 200000, ("main", "(anonymous)"): 50000 + 250000, ("(idle)",): 400000}, "cpuprofile: a sample stands for the time until the next", stacks)
tap.check("x.js:7" in resolve("drawn.cpuprofile", "-f", "lines").stdout, "cpuprofile: lines, from 1", resolve("drawn.cpuprofile", "-f", "lines").stdout)
times = [json.loads(line)["t_ns"] for line in resolve("drawn.cpuprofile", "-f", "jsonl").stdout.splitlines()]
tap.check(times == [1100000, 1300000, 1350000, 1600000], "cpuprofile: times", times)
if have("node"):
    with open("n.js", "w") as f:
        f.write("function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }\n"
                "const end = Date.now() + 300; let t = 0;\nfunction outer() { while (Date.now() < end) t += inner(1e5); }\nouter();\n")
    run(["node", "--cpu-prof", "--cpu-prof-name=n.cpuprofile", "n.js"])
    made = json.load(open("n.cpuprofile"))
    nodes = {n["id"]: n for n in made["nodes"]}
    own = collections.Counter()
    at = made["startTime"]
    for i, s in enumerate(made["samples"]):
        at += made["timeDeltas"][i]
        us = made["timeDeltas"][i + 1] if i + 1 < len(made["samples"]) else made["endTime"] - at
        own[nodes[s]["callFrame"]["functionName"] or "(anonymous)"] += max(0, us) * 1000
    leaves = collections.Counter()
    for s, w in folded(resolve("n.cpuprofile").stdout).items():
        leaves[s[-1]] += w
    wrong = {k: (v, leaves.get(k)) for k, v in own.items() if v and k in ("inner", "outer", "(program)", "(garbage collector)") and leaves.get(k) != v}
    tap.check(own["inner"] > 0 and not wrong, "cpuprofile of node: sums by function", wrong)
    tap.check(sum(leaves.values()) == sum(own.values()), "cpuprofile of node: the whole", sum(leaves.values()), sum(own.values()))
else:
    tap.skip("cpuprofile of node", "no node")

# ---- speedscope -------------------------------------------------------------------------------------------------------
with open("s.folded", "w") as f:
    f.write("p;main;a;b 10\np;main;a 5\nq;main;c 7\n")
resolve("s.folded", "-f", "speedscope", "-o", "s.json")
weights = collections.Counter()
for stack, w in folded(resolve("s.json").stdout).items():
    weights[stack[1:]] += w
tap.check(weights == {("main", "a", "b"): 10, ("main", "a"): 5, ("main", "c"): 7}, "speedscope: our own file gives the stacks back", weights)
evented = {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [
    {"type": "evented", "name": "t", "unit": "milliseconds", "startValue": 0, "endValue": 9, "events": [
        {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 5}, {"type": "C", "frame": 0, "at": 9}]},
    {"type": "sampled", "name": "u", "unit": "seconds", "startValue": 0, "endValue": 3, "weights": [1, 2], "samples": [[0], [0, 1]]}],
    "shared": {"frames": [{"name": "main", "file": "x.py", "line": 3}, {"name": "f"}]}}
with open("e.json", "w") as f:
    json.dump(evented, f)
stacks = folded(resolve("e.json").stdout)
tap.check(stacks == {("t", "main"): 6000000, ("t", "main", "f"): 3000000, ("u", "main"): 1000000000, ("u", "main", "f"): 2000000000},
          "speedscope: evented and sampled profiles, units of time", stacks)
evented["profiles"][0]["events"].pop()
with open("open.json", "w") as f:
    json.dump(evented, f)
p = run([RESOLVE, "open.json"], check=False)
tap.check(p.returncode == 0 and not p.stderr and folded(p.stdout)[("t", "main")] == 6000000,
          "speedscope: an event that no other one closes lasts to the end of the profile", p)
del evented["profiles"][0]["endValue"]
with open("open.json", "w") as f:
    json.dump(evented, f)
p = run([RESOLVE, "open.json"], check=False)
tap.check(p.returncode == 1 and "1 entries could not be read as speedscope" in p.stderr and folded(p.stdout)[("t", "main")] == 2000000,
          "speedscope: without an end of the profile it is counted", p)

# ---- our own jsonl, in both forms ---------------------------------------------------------------------------------------
lines = []
for ms, task, comm, event, weight, frames in [(0, "1/1", "one", "cycles:u", 10, ["401000 leaf+0x0 (/bin/p)", "402000 main+0x1 (/bin/p)"]),
                                              (1, "1/2", "two", "cycles:u", 30, ["ffffffff81000010 do_it+0x10 ([kernel.kallsyms])", "402000 main+0x1 (/bin/p)"]),
                                              (2, "1/1", "one", "page-faults", 1, ["7f0000000000 [unknown] (/lib/libx.so)"]),
                                              (3, "1/1", "one", "cycles:u", 7, ["401000 leaf+0x0 (/bin/p)", "402000 main+0x1 (/bin/p)"])]:
    lines.append(f"{comm} {task} 5.{ms:03}000: {weight} {event}: \n" + "".join(f"\t{f}\n" for f in frames) + "\n")
with open("own.txt", "w") as f:
    f.write("".join(lines))
for form in ("jsonl", "jsonl2"):
    resolve("own.txt", "-f", form, "-o", f"own.{form}")
    for options in (["--event", "all", "--with-tid", "--kernel"], ["-f", "script"], ["-f", "jsonl"], ["-f", "top"]):
        want, got = (resolve(path, *options).stdout for path in ("own.txt", f"own.{form}"))
        tap.check(want and got == want, f"{form}: our own file gives all back: {' '.join(options)}", got, want)
with open("own.jsonl2") as f:
    table = f.read().splitlines()
with open("gap.jsonl2", "w") as f:  # a frame is missing: one place has no name, the weight stays
    f.write("\n".join(line for line in table if not line.startswith('{"frame":1,')) + "\n")
stacks = folded(resolve("gap.jsonl2", check=False).stdout)
tap.check(sum(stacks.values()) == 47, "jsonl2: a line that is missing", stacks)

# ---- damage -----------------------------------------------------------------------------------------------------------
random.seed(7)
for path in ("drawn.cpuprofile", "e.json", "own.jsonl", "own.jsonl2"):
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
with open("deep.cpuprofile", "w") as f:  # circles, ids that are none, two parents
    json.dump({"nodes": [{"id": 1, "callFrame": frame("a", 1), "children": [2, 99]}, {"id": 2, "callFrame": frame("b", 1), "children": [1, 2]}],
               "startTime": 0, "endTime": 30, "samples": [2, 5, 1], "timeDeltas": [0, 10, -5]}, f)
p = resolve("deep.cpuprofile", check=False)
tap.check(p.returncode in (0, 1) and folded(p.stdout) == {("a", "b"): 10000, ("a",): 25000}, "cpuprofile: circles end, ids that are none are left out", p)
tap.end()

#!/usr/bin/env python3
"""-f firefox, read as src/types/profile.ts of firefox-devtools/profiler describes "processed profiles" of version 66: every column of every
table is there, has as many rows as the table, and refers only to rows that exist. What the stacks weigh is what folded says."""
import collections
import json
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, folded, run  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-perf", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"
NULL = type(None)
# column: what it holds; a name is that of the table that it refers to, ? may be null
TABLES = {
    "stackTable": {"frame": "frameTable", "prefixOffset": int},
    "frameTable": {"address": int, "inlineDepth": int, "category": "categories", "subcategory": int, "func": "funcTable", "nativeSymbol": "nativeSymbols?",
                   "innerWindowID": int, "line": "int?", "column": "int?", "originalLocation": "int?"},
    "funcTable": {"name": "stringArray", "isJS": bool, "relevantForJS": bool, "resource": "resourceTable", "source": "sources?", "lineNumber": "int?",
                  "columnNumber": "int?", "originalLocation": "int?"},
    "resourceTable": {"lib": "libs", "name": "stringArray", "host": "stringArray?", "type": int},
    "nativeSymbols": {"libIndex": "libs", "address": int, "name": "stringArray", "functionSize": "int?"},
    "sources": {"id": "int?", "filename": "stringArray", "startLine": int, "startColumn": int, "sourceMapURL": "stringArray?", "content": "int?"},
    "sourceLocationTable": {"source": "sources", "line": int, "column": int},
}
SAMPLES = {"stack": "stackTable?", "time": float, "weight": float}
MARKERS = {"data": dict, "name": "stringArray", "startTime": float, "endTime": "float?", "phase": int, "category": "categories"}
THREAD = {"processType": str, "processStartupTime": int, "processShutdownTime": NULL, "registerTime": int, "unregisterTime": NULL, "pausedRanges": list,
          "showMarkersInTimeline": bool, "name": str, "isMainThread": bool, "processName": str, "pid": str, "samples": dict, "markers": dict}
LIB = {"arch": str, "name": str, "path": str, "debugName": str, "debugPath": str, "breakpadId": str}
COLOURS = "transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey".split()


def broken(p):
    """The first thing that is not as the types say."""
    meta, shared = p["meta"], p["shared"]
    sizes = {name: table["length"] for name, table in shared.items() if name != "stringArray"}
    sizes.update(stringArray=len(shared["stringArray"]), libs=len(p["libs"]), categories=len(meta["categories"]))

    def column(where, values, kind, n):
        if len(values) != n:
            return f"{where}: {len(values)} rows of {n}"
        if isinstance(kind, str) and kind.endswith("?"):
            kind, values = kind[:-1], [v for v in values if v is not None]
        kind = {"int": int, "float": float}.get(kind, kind)
        for v in values:
            if isinstance(kind, str):
                good = isinstance(v, int) and 0 <= v < sizes[kind]
            else:
                good = isinstance(v, (int, float)) if kind is float else type(v) is kind
            if not good:
                return f"{where}: {v!r} is no {kind}"
        return ""

    def table(where, t, columns, optional=()):
        if set(t) - set(optional) != set(columns) | {"length"}:
            return f"{where}: columns {sorted(t)}"
        return next(filter(None, (column(f"{where}.{c}", t[c], kind, t["length"]) for c, kind in columns.items())), "")

    if set(shared) != set(TABLES) | {"stringArray"}:
        return f"shared: {sorted(shared)}"
    for name, columns in TABLES.items():
        bad = table(name, shared[name], columns)
        if bad:
            return bad
    for i, k in enumerate(shared["stackTable"]["prefixOffset"]):
        if not 0 <= k <= i:
            return f"prefixOffset {k} of row {i}"
    if any(set(c) != {"name", "color", "subcategories"} or c["color"] not in COLOURS or c["subcategories"][0] != "Other" for c in meta["categories"]) or \
            not any(c["color"] == "grey" for c in meta["categories"]):
        return "categories"
    if any(s >= len(meta["categories"][c]["subcategories"]) for c, s in zip(shared["frameTable"]["category"], shared["frameTable"]["subcategory"])):
        return "subcategory"
    for lib in p["libs"]:
        if set(lib) != set(LIB) | {"codeId"} or any(type(lib[k]) is not t for k, t in LIB.items()) or not re.fullmatch(r"([0-9A-F]{32}0)?", lib["breakpadId"]):
            return f"lib {lib}"
    schemas = {s["name"]: {f["key"] for f in s["fields"]} for s in meta["markerSchema"]}
    for t in p["threads"]:
        if set(t) != set(THREAD) | {"tid"} or any(type(t[k]) is not kind for k, kind in THREAD.items()) or type(t["tid"]) not in (int, str):
            return f"thread: {sorted(t)}"
        bad = table("samples", {k: v for k, v in t["samples"].items() if k != "weightType"}, SAMPLES, ("threadCPUDelta",)) or table("markers", t["markers"], MARKERS)
        if bad:
            return bad
        if t["samples"]["weightType"] not in ("samples", "tracing-ms", "bytes") or sorted(t["samples"]["time"]) != t["samples"]["time"]:
            return "weightType or time"
        for data, phase in zip(t["markers"]["data"], t["markers"]["phase"]):
            if phase not in (0, 1) or set(data) - {"type", "cause"} - schemas[data["type"]] or data.get("cause", {"stack": 0})["stack"] >= sizes["stackTable"]:
                return f"marker {data}"
    pids = {t["pid"] for t in p["threads"]}
    for c in p["counters"]:
        if set(c) != {"name", "category", "description", "pid", "mainThreadIndex", "samples", "display"} or c["pid"] not in pids or \
                p["threads"][c["mainThreadIndex"]]["pid"] != c["pid"] or len(c["samples"]["time"]) != c["samples"]["length"] or \
                len(c["samples"]["count"]) != c["samples"]["length"]:
            return f"counter {c}"
    for key in ("interval", "startTime", "processType", "product", "stackwalk", "version"):
        if key not in meta:
            return f"meta has no {key}"
    return "" if meta["preprocessedProfileVersion"] == 66 and meta["symbolicated"] is True else "version"


def stacks(p, thread=None):
    """{names root first: weight}, of one thread or all; and of each frame its depth of inlining."""
    s, out = p["shared"], collections.Counter()
    depths = collections.defaultdict(set)
    for t in p["threads"] if thread is None else [thread]:
        scale = 1e6 if t["samples"]["weightType"] == "tracing-ms" else 1
        for at, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
            path = []
            while at is not None:
                frame = s["stackTable"]["frame"][at]
                name = s["stringArray"][s["funcTable"]["name"][s["frameTable"]["func"][frame]]]
                depths[name].add(s["frameTable"]["inlineDepth"][frame])
                path.append(name)
                k = s["stackTable"]["prefixOffset"][at]
                at = at - k if k else None
            out[tuple(path[::-1])] += round(weight * scale)
    return out, depths


def named(*options):
    """{names root first: weight} by jsonl, whose names are whole, too; code without a name is None."""
    out = collections.Counter()
    for line in run([RESOLVE, "-f", "jsonl", *options]).stdout.splitlines():
        s = json.loads(line)
        out[tuple(f.get("sym") for f in s["stack"][::-1])] += s["period"]
    return out


def unnamed(stacks):
    """The same of other stacks."""
    out = collections.Counter()
    for names, weight in stacks.items():
        out[tuple(None if re.fullmatch(r"\[[^ ]*\]", n) else n for n in names)] += weight
    return out


def firefox(*options):
    return json.loads(run([RESOLVE, "-q", "-f", "firefox", *options]).stdout)


p = firefox(*BARE, "perf.data")
tap.check(not broken(p), "the tables of a recording", broken(p))
have, depths = stacks(p)
want = folded(run([RESOLVE, *BARE, "perf.data"]).stdout)
tap.check(sum(have.values()) == sum(want.values()) and len(have) > 3, "the sum of folded", sum(have.values()), sum(want.values()))
want = named(*BARE, "perf.data")
tap.check(unnamed(have) == want, "the stacks of jsonl", unnamed(have) - want, want - unnamed(have))
inlined = {f["sym"] for line in run([RESOLVE, *BARE, "-f", "jsonl", "perf.data"]).stdout.splitlines() for f in json.loads(line)["stack"] if f.get("inlined")}
tap.check(inlined and inlined == {n for n, d in depths.items() if max(d)}, "inlined functions have a depth", inlined, depths)
frame = p["shared"]["frameTable"]
tap.check(any(frame["line"]) and any(p["shared"]["funcTable"]["lineNumber"]), "lines")
tap.check(p["libs"] and any(re.fullmatch(r"[0-9a-f]{40}", lib["codeId"] or "") for lib in p["libs"]), "build ids of libraries", p["libs"])
lib = next(lib for lib in p["libs"] if lib["codeId"])
raw = bytes.fromhex(lib["codeId"])
tap.check(lib["breakpadId"] == (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:16]).hex().upper() + "0", "Breakpad's form of a build id", lib)

# Two processes, one with two threads, another event, and a thread that gets another name; times are known.
lines = []
for ms, task, comm, event, weight in [(0, "1/1", "one", "cpu-clock", 1000000), (10, "1/2", "one", "cpu-clock", 2000000), (20, "3/3", "three", "cpu-clock", 500000),
                                      (25, "3/3", "three", "page-faults", 1), (30, "3/3", "other", "cpu-clock", 1500000), (40, "1/1", "one", "page-faults", 2)]:
    lines.append(f"{comm} {task} 5.{ms:03}000: {weight} {event}: \n\t401000 leaf+0x0 (/bin/p)\n\t402000 main+0x1 (/bin/p)\n\n")
with open("tasks.txt", "w") as f:
    f.write("".join(lines))
p = firefox("tasks.txt")
tap.check(not broken(p), "the tables of several processes", broken(p))
shown = [(t["name"], t["pid"], t["tid"], t["isMainThread"], t["samples"]["time"], t["samples"]["weight"]) for t in p["threads"]]
tap.check(shown == [("one", "1", 2, False, [10], [2]), ("other", "3", "3.1", False, [30], [1.5]), ("one", "1", 1, True, [0], [1]), ("three", "3", 3, True, [20], [0.5])],
          "threads, heaviest first, a new name is a new one", shown)
markers = [(t["name"], p["shared"]["stringArray"][n], at, phase, d) for t in p["threads"]
           for n, at, phase, d in zip(*(t["markers"][k] for k in ("name", "startTime", "phase", "data")))]
tap.check([m[:4] for m in markers] == [("one", "page-faults", 40, 0), ("three", "page-faults", 25, 0)] and markers[0][4]["weight"] == 2 and "cause" in markers[0][4],
          "samples of other events are markers", markers)
counters = [(c["name"], c["pid"], sum(c["samples"]["count"])) for c in p["counters"]]
tap.check(counters == [("page-faults", "3", 1), ("page-faults", "1", 2)], "and counters of each process", counters)
have, _ = stacks(firefox("--count=samples", "tasks.txt"))
tap.check(have == {("main", "leaf"): 4}, "--count=samples", have)
with open("sums.folded", "w") as f:
    f.write("p;main;a 10\np;main;b 5\n")
p = firefox("sums.folded")
have, _ = stacks(p)
tap.check(not broken(p) and have == {("main", "a"): 10, ("main", "b"): 5}, "sums without times", broken(p), have)
tap.end()

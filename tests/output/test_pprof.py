#!/usr/bin/env python3
"""pprof files, read by a decoder of our own that applies the rules of the strictest consumers, and by
`go tool pprof` (the prebuilt one of Debian's golang package).

Where the rules come from: Parca's validate.go (ids 1..n in order, time not zero), Pyroscope's
sanitizeProfile (samples with unknown mapping or function are dropped), pprof's CheckValid (as many values
as sample types, string_table[0] == ""), profile.proto (gzip, UTF-8)."""
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys

import varint
from tap import Tap

TOP, BUILD, BIN, HERE = os.environ["TOP"], os.environ["BUILD"], os.environ["BIN"], os.getcwd()
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from perfsynth import CLOCK_DATA, CLOCK_MONOTONIC, Recording  # noqa: E402

tap = Tap()
check = tap.check


# ---- protobuf ------------------------------------------------------------------------------------

def message(b, names, repeated=()):
    m = {n: [] if n in repeated else 0 for n in names.values()}
    for field, v in varint.fields(b):
        name = names[field]
        if name in repeated:
            m[name].append(v)
        else:
            assert m[name] == 0, f"{name} twice"
            m[name] = v
    return m


def packed(parts):
    out = []
    for b in parts:
        i = 0
        while i < len(b):
            v, i = varint.get(b, i)
            out.append(v - (1 << 64) if v >> 63 else v)
    return out


PROFILE = {1: "sample_type", 2: "sample", 3: "mapping", 4: "location", 5: "function", 6: "strings", 9: "time",
           10: "duration", 11: "period_type", 12: "period", 13: "comment", 14: "default"}
LISTS = ("sample_type", "sample", "mapping", "location", "function", "strings", "comment")


def decode(path):
    raw = open(path, "rb").read()
    assert raw[:2] == b"\x1f\x8b" and raw[3] == 0 and raw[4:8] == bytes(4), "gzip header with name or time"
    p = message(gzip.decompress(raw), PROFILE, LISTS)
    p["strings"] = [s.decode("utf-8", "strict") for s in p["strings"]]
    value_type = {1: "type", 2: "unit"}
    p["sample_type"] = [message(m, value_type) for m in p["sample_type"]]
    p["period_type"] = message(p["period_type"], value_type)
    p["mapping"] = [message(m, {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id", 7: "functions",
                                8: "filenames", 9: "lines", 10: "inlines"}) for m in p["mapping"]]
    p["function"] = [message(m, {1: "id", 2: "name", 3: "system", 4: "file", 5: "line"}) for m in p["function"]]
    p["location"] = [message(m, {1: "id", 2: "mapping", 3: "address", 4: "line"}, ("line",)) for m in p["location"]]
    for loc in p["location"]:
        loc["line"] = [message(m, {1: "function", 2: "line"}) for m in loc["line"]]
    p["sample"] = [message(m, {1: "location", 2: "value", 3: "label"}, ("location", "value", "label")) for m in p["sample"]]
    for s in p["sample"]:
        s["location"], s["value"] = packed(s["location"]), packed(s["value"])
        s["label"] = [message(m, {1: "key", 2: "str", 3: "num", 4: "unit"}) for m in s["label"]]
    p["comment"] = packed(p["comment"])
    return p


def strict(p):
    """Every rule any consumer is known to have. Returns the first that is broken."""
    strings, n = p["strings"], {k: len(p[k]) for k in ("mapping", "location", "function", "strings")}
    if strings[0] != "" or len(set(strings)) != len(strings):
        return "string table"
    for kind in ("mapping", "location", "function"):
        if [m["id"] for m in p[kind]] != list(range(1, n[kind] + 1)):
            return f"{kind} ids"
    if p["time"] < 0 or p["duration"] < 0:
        return "time"
    for f in p["function"]:
        if not strings[f["name"]] or max(f["system"], f["file"]) >= n["strings"]:
            return "function strings"
    for loc in p["location"]:
        if not 1 <= loc["mapping"] <= n["mapping"]:
            return "mapping of a location"
        if any(not 1 <= l["function"] <= n["function"] for l in loc["line"]):
            return "function of a line"
        m = p["mapping"][loc["mapping"] - 1]
        if m["limit"] and not m["start"] <= loc["address"] < m["limit"]:
            return "address outside of its mapping"
        if bool(loc["line"]) > bool(m["functions"]):
            return "has_functions"
    seen = set()
    for s in p["sample"]:
        if len(s["value"]) != len(p["sample_type"]) or min(s["value"]) < 0:
            return "values"
        if any(not 1 <= l <= n["location"] for l in s["location"]):
            return "location of a sample"
        keys = [l["key"] for l in s["label"]]
        if len(set(keys)) != len(keys):
            return "two labels of one key"
        if any(not l["str"] and not l["unit"] for l in s["label"]):
            return "a label that may be 0"
        key = (tuple(s["location"]), tuple(sorted((l["key"], l["str"], l["num"]) for l in s["label"])))
        if key in seen:
            return "sample twice"
        seen.add(key)
    used = {l for s in p["sample"] for l in s["location"]}
    if used != set(range(1, n["location"] + 1)):
        return "unused locations"
    if {p["location"][l - 1]["mapping"] for l in used} != set(range(1, n["mapping"] + 1)):
        return "unused mappings"
    return ""


def stacks(p):
    """{(names root first, labels): values}, inlined functions expanded."""
    out = {}
    for s in p["sample"]:
        names = []
        for l in reversed(s["location"]):
            loc = p["location"][l - 1]
            for line in reversed(loc["line"]):
                names.append(p["strings"][p["function"][line["function"] - 1]["name"]])
            if not loc["line"]:
                names.append("0x%x" % loc["address"])
        out.setdefault(";".join(names), []).append(s["value"])
    return out


# ---- what the files must say ---------------------------------------------------------------------

subprocess.run([f"{BUILD}/tests/output/tool_synthetic", HERE], check=True)
orders = [open(f"{HERE}/order{k}.pprof", "rb").read() for k in range(10)]
check(len(set(orders)) == 1, "the same bytes whatever the order of samples")

decoded = {}
for name in ("order0", "clock", "tids", "cycles", "hostile", "no_inline"):
    decoded[name] = p = decode(f"{HERE}/{name}.pprof")
    broken = strict(p)
    check(not broken, f"{name}: no consumer's rule is broken", broken)

p = decoded["order0"]
s = p["strings"]
types = [(s[t["type"]], s[t["unit"]]) for t in p["sample_type"]]
check(types == [("cpu-clock_sample", "count"), ("cpu-clock_event", "nanoseconds"), ("cycles_sample", "count"), ("cycles_event", "count")],
      "several events: a pair of types for each", types)
check(s[p["default"]] == "cpu-clock_event", "the default is the one with the most weight", s[p["default"]])
sums = [sum(x["value"][i] for x in p["sample"]) for i in range(4)]
check(sums == [9, 59, 1, 50], "several events: each has its sums", sums)
check(all(x["value"][:2] == [0, 0] or x["value"][2:] == [0, 0] for x in p["sample"]), "a sample is of one event")

p = decoded["clock"]
s = p["strings"]
types = [(s[t["type"]], s[t["unit"]]) for t in p["sample_type"]]
check(types == [("samples", "count"), ("cpu", "nanoseconds")], "types of a clock event", types)
check(s[p["default"]] == "cpu" and p["period"] == 10**6 and
      (s[p["period_type"]["type"]], s[p["period_type"]["unit"]]) == types[1], "the event's unit is the default and the period's")
main = p["mapping"][0]
check(s[main["file"]] == "/opt/app/server" and s[main["build_id"]] == "abcdef01" and
      (main["start"], main["limit"], main["offset"]) == (0x401000, 0x409000, 0x1000), "the program is the first mapping", main)
files = [s[m["file"]] for m in p["mapping"]]
check(files.count("/opt/app/server") == 2 and files.count("/usr/lib/libc.so.6") == 2,
      "maps of two processes are two mappings, equal ones are one", files)
check({"[kernel.kallsyms]", "[nf_nat]", "[vdso]", "[unknown]"} <= set(files), "kernel, module and unknown have names", files)
root = "__libc_start_call_main;main;"
got = stacks(p)
run = root + "ns::W<int>::run(int) [clone .isra.0];mid(int);leaf(std::vector<int> const&)"
# Samples of 10 and 5 have equal addresses (a fork); that of 30 is another process with other addresses.
check(sorted(got[run]) == [[1, 30], [2, 15]], "stacks root first, inlined functions inside", got)
check(any("[perf-71.map];[vdso]" in k or re.search(r"\[[^;]*\];\[vdso\]", k) for k in got) and
      {0x7f000040002f, 0x7fff0000100f} <= {l["address"] for l in p["location"]}, "code without a name is a function [module], and keeps its address", got)
check([sum(v[i] for vs in got.values() for v in vs) for i in (0, 1)] == [9, 59], "sums of all samples", got)
leaf = next(l for l in p["location"] if l["address"] == 0x401150)
functions = [p["function"][l["function"] - 1] for l in leaf["line"]]
check([s[f["name"]] for f in functions][0].startswith("leaf("), "innermost line first")
check(s[functions[2]["system"]] == "_ZN2ns1WIiE3runEi.isra.0" and
      s[functions[2]["file"]] == "w.cc" and functions[2]["line"] == 5 and leaf["line"][2]["line"] == 7, "mangled and demangled names, file and line")
check(any(l["address"] == 0x40101f for l in p["location"]), "callers are at the call, not behind it")
check([s[c] for c in p["comment"]] == ["tool:unspool test"], "generator is a comment")
check(p["time"] == 0 and p["duration"] == 2000000005 - 1001002003, "duration is there, and no date where none is known")


def dates(name, more, *args):
    """(time, duration) of a recording of two samples, at 5 and 7.25 s of its clock; written on 2020-01-01 plus 123 ns."""
    r = Recording(monotonic=True)
    for at in (5000000000, 7250000000):
        r.sample(100, 0x401000, at)
    r.write("dated.data", more)
    os.utime("dated.data", ns=(WRITTEN, WRITTEN))
    with open("dated.data", "rb") as f:
        data = f.read()
    subprocess.run([f"{BIN}/resolve", "-q", "-o", f"{HERE}/{name}.pb.gz", *args], input=data, check=True)
    p = decode(f"{HERE}/{name}.pb.gz")
    return p["time"], p["duration"]


WRITTEN, WALL, MONOTONIC = 1577836800000000123, 1400000000000000077, 3000000000
CLOCK = {CLOCK_DATA: struct.pack("<IIQQ", 1, CLOCK_MONOTONIC, WALL, MONOTONIC)}
for name, more, args, date in (("a file with a clock", CLOCK, ["dated.data"], WALL + 2000000000), ("a file without one", {}, ["dated.data"], WRITTEN - 2250000000),
                               ("a stream without one", {}, ["-"], 0)):
    got = dates("dated", more, *args)
    check(got == (date, 2250000000), f"{name}: the first sample's date, and the duration", got, date)

check(root + "ns::W<int>::run(int) [clone .isra.0]" in stacks(decoded["no_inline"]), "no_inline leaves the real function")

p = decoded["cycles"]
types = [(p["strings"][t["type"]], p["strings"][t["unit"]]) for t in p["sample_type"]]
check(types == [("samples", "count"), ("cycles", "count")] and p["period"] == 100000, "types of a counter", types)
check([s["value"] for s in p["sample"]] == [[1, 50]], "only the event that was asked for")

p = decoded["tids"]
labels = {tuple(sorted((p["strings"][l["key"]], p["strings"][l["str"]] or l["num"]) for l in s["label"])) for s in p["sample"]}
check((("pid", 100), ("thread_comm", "server"), ("tid", 101)) in labels and len(labels) == 7, "labels of threads", labels)

p = decoded["order0"]
values = lambda p, key: {p["strings"][l["str"]] for s in p["sample"] for l in s["label"] if p["strings"][l["key"]] == key}
check(values(p, "thread_comm") >= {"server", "a b"}, "every sample has its command", values(p, "thread_comm"))

p = decoded["hostile"]
check(max(v for s in p["sample"] for v in s["value"]) == 2**63 - 1, "hostile sums end at the largest number")


# ---- go tool pprof -------------------------------------------------------------------------------

def find_pprof():
    """The prebuilt pprof of a golang package, kept for all builds. None when it cannot be had."""
    cache = f"{os.path.dirname(BUILD)}/cache"
    path = f"{cache}/pprof"
    if os.path.exists(path):
        return path
    os.makedirs(cache, exist_ok=True)
    for version in ("1.19", "1.23", "1.24"):
        if subprocess.run(["apt-get", "download", f"golang-{version}-go"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode:
            continue
        deb = next(f for f in os.listdir(HERE) if f.endswith(".deb"))
        member = f"./usr/lib/go-{version}/pkg/tool/linux_{os.uname().machine.replace('x86_64', 'amd64').replace('aarch64', 'arm64')}/pprof"
        cmd = f"dpkg --fsys-tarfile {deb} | tar -xO {member} > pprof && chmod +x pprof"
        if not subprocess.run(cmd, shell=True).returncode:
            os.replace("pprof", f"{path}.new{os.getpid()}")
            os.replace(f"{path}.new{os.getpid()}", path)
            return path
    return None


def go(pprof, *args):
    env = dict(os.environ, PPROF_TMPDIR=HERE, HOME=HERE)
    r = subprocess.run([pprof, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
    return r.stdout, r.stderr, r.returncode


pprof = find_pprof() if shutil.which("apt-get") else None
if not pprof:
    tap.skip("go tool pprof", "golang package not reachable")
    tap.end()

for name in decoded:
    for report in ("-raw", "-top", "-traces"):
        out, err, rc = go(pprof, "-symbolize=none", report, f"{HERE}/{name}.pprof")
        check(rc == 0 and not err and out, f"go tool pprof {report} {name}", err)
# Without -symbolize=none it looks for files of mappings that have no names; here all have.
out, err, rc = go(pprof, "-top", f"{HERE}/cycles.pprof")
check(rc == 0 and not err, "go tool pprof looks for no files: all mappings have names", err)
out, err, rc = go(pprof, "-symbolize=none", "-top", f"{HERE}/order0.pprof")
top = {l.split(None, 5)[-1]: l.split(None, 5) for l in out.splitlines() if l.count("%") == 3}
check("leaf(std::vector<int> const&) (inline)" in top and
      "<alloc::vec::Vec<(u8, u8)> as core::ops::drop::Drop>::drop" in top and
      "LazyCompile:*tick /srv/app.js:12" in top, "names reach the reader as they are", out)
check("Total samples = 59ns" in out and top["main"][3] == "59ns", "sums reach the reader", out)
out, err, rc = go(pprof, "-symbolize=none", "-top", "-diff_base", f"{HERE}/order0.pprof", f"{HERE}/order1.pprof")
check(rc == 0 and "Showing nodes accounting for 0" in out and not err, "a profile minus itself is nothing", out + err)
out, err, rc = go(pprof, "-symbolize=none", "-tags", f"{HERE}/tids.pprof")
check(rc == 0 and "thread_comm" in out, "tags", out + err)
tap.end()

#!/usr/bin/env python3
"""Every row of the table of formats says the same of one recording: the sum of the weights, or the number of samples or threads where a format has
no weights, are those that perf's own text of the recording (-f script) has. What resolve reads again gives the same stacks, or the same functions."""
import collections
import gzip
import json
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, folded, run  # noqa: E402
from pagedata import PageData  # noqa: E402
import varint  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "system-capture", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"


def numbers(packed):
    at = 0
    while at < len(packed):
        v, at = varint.get(packed, at)
        yield v


def messages(data, number):
    return [v for n, v in varint.fields(data) if n == number]


def of_pprof(data):
    sums = [sum(column) for column in zip(*(list(numbers(messages(s, 2)[0])) for s in messages(gzip.decompress(data), 2)))]
    return {"samples": sums[0], "weight": sums[1]}


def of_otlp(data):
    profiles = [p for r in messages(data, 1) for s in messages(r, 2) for p in messages(s, 2)]
    weight, count = (sum(sum(numbers(v)) if isinstance(v, bytes) else v for s in messages(p, 2) for v in messages(s, 4)) for p in profiles)
    return {"weight": weight, "samples": count}


def of_html(data):
    page = PageData(data)
    column = page.column
    page.strings()
    column(1)
    column(5 * column(1)[0])
    column(2 * column(1)[0])
    column(2 * column(1)[0])
    column(3 * column(1)[0])
    n = column(1)[0]
    column(3 * n)
    return {"samples": sum(column(n)), "weight": sum(column(n))}


def of_head(data):
    return {"samples": int(re.search(rb"# Samples: (\d+)", data)[1]), "weight": int(re.search(rb"approx\.\): (\d+)", data)[1])}


def of_script(data):
    heads = re.findall(rb"^\S.*?\s(\d+)/(\d+) .*: +(\d+) \S+: *$", data, re.M)
    return {"samples": len(heads), "weight": sum(int(h[2]) for h in heads), "threads": len({h[1] for h in heads})}


def of_jsonl(data):
    rows = [json.loads(line) for line in data.splitlines()]
    periods = [r["period"] for r in rows if "t_ns" in r]
    return {"samples": len(periods), "weight": sum(periods)}


def of_speedscope(data):
    d = json.loads(data)
    single = [sum(w for w, stack in zip(p["weights"], p["samples"]) if stack) for p in d["profiles"][1:]]  # idle time has no stack
    return {"weight": sum(d["profiles"][0]["weights"]), "of the threads": sum(single)}


def of_firefox(data):
    weights = [w for t in json.loads(data)["threads"] for w in t["samples"]["weight"]]
    return {"samples": len(weights), "weight": round(sum(weights) * 1e6)}


def of_callgrind(data):
    own, is_call = 0, False
    for line in data.decode().splitlines():
        if re.match(r"\d+ \d+$", line):
            own += 0 if is_call else int(line.split()[1])
            is_call = False
        is_call |= line.startswith("calls=")
    return {"weight": int(re.search(rb"^summary: (\d+)", data, re.M)[1]), "own": own}


def of_perfetto(data):
    events = json.loads(data)["traceEvents"]
    return {"samples": sum(e["ph"] == "i" for e in events)}


SUMS = {
    "folded": lambda data: {"weight": sum(folded(data.decode()).values())},
    "script": of_script,
    "html": of_html,
    "flamegraph": lambda data: {"rounded ms": float(re.search(rb"<title>all \(([\d.,]+) ms", data)[1].replace(b",", b""))},
    "pprof": of_pprof,
    "top": of_head,
    "speedscope": of_speedscope,
    "jsonl": of_jsonl,
    "jsonl2": of_jsonl,
    "stacks": lambda data: {"threads": sum(1 + line.count(b",") for line in re.findall(rb"^thread.*: (.*)$", data, re.M))},
    "lines": of_head,
    "md": lambda data: {"samples": int(re.search(rb"(\d+) samples of", data)[1])},
    "trace": lambda data: {"samples": len([line for line in data.splitlines() if line.strip()])},
    "timeline": lambda data: {"samples": data.count(b" // ")},
    "perfetto": of_perfetto,
    "callgrind": of_callgrind,
    "firefox": of_firefox,
    "otlp": of_otlp,
}


def resolve(form, path="perf.data", *options):
    out = f"x.{form}"
    run([RESOLVE, *(BARE if path == "perf.data" else ("-q",)), "-f", form, "-o", out, *options, path])
    return open(out, "rb").read()


script = of_script(resolve("script", "perf.data", "-F", "comm,pid,tid,cpu,time,period,event,ip,sym,dso"))
want = dict(script, own=script["weight"])
want["of the threads"] = want["weight"]
want["rounded ms"] = round(want["weight"] / 1e6, 2)
formats = re.findall(r"^  (\S+) ", run([RESOLVE, "--formats"]).stdout, re.M)
tap.check(want["samples"] > 50 and want["weight"] > want["samples"] and want["threads"] > 5, "the recording has many threads", want)
for form in formats:
    if form not in SUMS:
        tap.check(False, f"{form}: its sum (SUMS in test_sums.py)")
        continue
    have = SUMS[form](resolve(form, "perf.data", *(("-F", "comm,pid,tid,cpu,time,period,event,ip,sym,dso") if form == "script" else ())))
    tap.check(have and all(want[k] == v for k, v in have.items()), f"{form}: {' and '.join(have)} as in the recording", have, want)

# ---- read again -----------------------------------------------------------------------------------------------------------
stacks = folded(resolve("folded").decode())
own = collections.Counter()
for stack, weight in stacks.items():
    own[stack[-1]] += weight
for form in ("folded", "pprof", "jsonl", "jsonl2", "script"):
    os.rename(f"x.{form}", f"in.{form}")
    got = folded(run([RESOLVE, "-q", f"in.{form}"]).stdout)
    tap.check(got == stacks, f"{form}, read again: the same stacks", {k: (got.get(k), stacks.get(k)) for k in {*got, *stacks} if got.get(k) != stacks.get(k)})
for form in ("speedscope", "callgrind"):
    os.rename(f"x.{form}", f"in.{form}")
    got = collections.Counter()
    for stack, weight in folded(run([RESOLVE, "-q", f"in.{form}"]).stdout).items():
        got[stack[-1]] += weight
    tap.check(got == own, f"{form}, read again: what functions cost themselves", got - own, own - got)
tap.end()

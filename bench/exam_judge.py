#!/usr/bin/env python3
"""exam_judge.py - what `regress` says of the recordings of exam_record.py, as often as wanted: how often it is wrong.

    exam_judge.py [--dir DIR] [--anew] [--threads N] [-v]

Each recording becomes a pprof file once (SIDE-RUN.pb.gz beside it; of a recording of all runs the text of perf script, SIDE-RUN.script); what is said of a job is kept in its folder as verdicts.json until --anew. The table
has Wilson's 95 % intervals. Kinds of tree changes share the base's runs within a job, so that rows of one job are not independent of each
other; jobs are."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))


def profile(path):
    """The pprof file of a recording, made once."""
    out = path[:-len(".data")] + ".pb.gz"
    if not os.path.exists(out):
        subprocess.run([f"{BIN}/resolve", "-q", path, "-o", out + ".tmp", "-f", "pprof"], check=True)
        os.rename(out + ".tmp", out)
    return out


def cut_apart(folder, times):
    """The samples of each run of a recording of all runs, as perf script text, made once."""
    paths = [f"{folder}/{side.replace(' ', '-')}-{i}.script" for side, i, _, _ in times]
    if all(os.path.exists(path) for path in paths):
        return
    text = subprocess.run([f"{BIN}/resolve", "-q", f"{folder}/all.data", "-f", "script"], stdout=subprocess.PIPE, check=True).stdout
    runs = [[] for _ in times]
    for block in text.split(b"\n\n"):
        if when := re.match(rb"[^\n]*? (\d+\.\d+): ", block):
            for run, (_, _, start, end) in zip(runs, times):
                if start <= float(when[1]) <= end:
                    run.append(block)
    for path, run in zip(paths, runs):
        with open(path + ".tmp", "wb") as f:
            f.write(b"\n\n".join(run) + b"\n\n")
        os.rename(path + ".tmp", path)


def judge(base, new, first=None):
    """first: the report of which this is the second look."""
    p = subprocess.run([f"{BIN}/regress", *(["confirm", first] if first else []), "-q", "--json", "-", "--base", *base, "--new", *new], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode == 2:
        return {"refused": p.stderr.strip()}
    r = json.loads(p.stdout)
    total = next(f for f in r["findings"] if f["kind"] == "total")
    rows = [{k: f.get(k) for k in ("verdict", "kind", "key", "growth", "impact", "related", "gated")} for f in r["findings"] if f["verdict"] != "explained"]
    return {"status": p.returncode, "total": total["growth"], "total_ci": total["ci95"], "rows": rows, "together": r["design"].get("together"),
            "samples": sum(x["samples"] for x in r["sides"]["base"]["runs"]) / len(base)}


def pairs(meta):
    """(row of the table, name of the new side)"""
    for side in meta["sides"][1:]:
        yield ({"A/A": "A/A", "tre": side, "pow": side, "bim": f"two speeds, {meta.get('percent')} % apart, 3 runs"}[meta["kind"][:3]], side)


def runs_of(folder):
    """meta.json, {side: paths of its runs}"""
    with open(f"{folder}/meta.json") as f:
        meta = json.load(f)
    names = {side: [f"{folder}/{side.replace(' ', '-')}-{i}" for i in range(meta["runs"])] for side in meta["sides"]}
    if "times" in meta:
        cut_apart(folder, meta["times"])
        return meta, {side: [f"{name}.script" for name in some] for side, some in names.items()}
    return meta, {side: [profile(f"{name}.data") for name in some] for side, some in names.items()}


def second_look(folder, first):
    """The row of the gate with --confirm: what was flagged is judged by the runs of `second`, and by these alone."""
    if not any(r["gated"] or r["verdict"] == "suspect" for r in first.get("rows", [])):
        return {**first, "kind": "A/A, the gate with --confirm"}
    if not os.path.exists(f"{folder}/second/meta.json"):
        return None
    with open(f"{folder}/flagged.json", "w") as f:
        json.dump({"schema": "unspool-regress/1", "findings": first["rows"]}, f)
    _, runs = runs_of(f"{folder}/second")
    return {**first, "kind": "A/A, the gate with --confirm", **judge(runs["base"], runs["new"], f"{folder}/flagged.json")}


def judged(folder, anew):
    kept = f"{folder}/verdicts.json"
    if os.path.exists(kept) and not anew:
        with open(kept) as f:
            return json.load(f)
    meta, runs = runs_of(folder)
    out = [{"kind": kind, "group": meta["kind"], "side": side, "load": meta["load"], "touched": meta.get("touched", {}).get(side), **judge(runs[meta["sides"][0]], runs[side])} for kind, side in pairs(meta)]
    if meta["kind"].startswith("A/A"):
        out += filter(None, [second_look(folder, out[0])])
    with open(kept + ".tmp", "w") as f:
        json.dump(out, f)
    os.rename(kept + ".tmp", kept)
    return out


def wilson(k, n):
    z, p = 1.959963984540054, k / n
    mid, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{k} of {n}: {100 * max(0, mid - half):.1f} to {100 * min(1, mid + half):.1f} %"


SLOWER = {"14.3 % + 10 %": "leaf_0", "1.3 % + 50 %": "leaf_17"}


def table(rows, verbose):
    by_kind = collections.defaultdict(list)
    for r in rows:
        by_kind[r["kind"]].append(r)
    for kind, jobs in sorted(by_kind.items()):
        good = [r for r in jobs if "status" in r]
        red = [r for r in good if r["status"] in (1, 4)]
        where = [r for r in good if any(f["gated"] and f["key"] in ([SLOWER[kind]] if kind in SLOWER else r["touched"] or []) for f in r["rows"])]
        named = f"; names what changed: {wilson(len(where), len(good))}" if kind in SLOWER or "slower" in kind else ""
        # What is slower beneath a caller that got faster all the same is shown, and by the rules does not fail the job.
        shown = [r for r in good if r not in where and any(f["verdict"] == "outweighed" and f["key"] in (r["touched"] or []) for f in r["rows"])]
        named += f"; outweighed by what got faster, and named: {len(shown)}" if shown else ""
        load = sum(r["load"] for r in jobs) / len(jobs)
        print(f"{kind}: red {wilson(len(red), len(good)) if good else '-'}{named}; {len(jobs) - len(good)} refused; {sum(r['samples'] for r in good) / max(1, len(good)):.0f} samples a run, load {load:.0f}")
        for r in jobs:
            if verbose and ("refused" in r or (r["status"] in (1, 4)) != (kind in SLOWER or "slower" in kind)):
                print("   ", r["group"], r["touched"], f"total {100 * r['total']:+.1f} %" if "total" in r else r["refused"],
                      [(f["verdict"], f["kind"], f["key"], f["growth"] and round(f["growth"], 3), round(100 * f["impact"], 2), f["related"]) for f in r.get("rows", []) if f["gated"]])


def main(arguments=None):
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-regress")
    p.add_argument("--anew", action="store_true", help="judge again what was judged before")
    p.add_argument("--threads", type=int, default=1, help="jobs that are judged at a time")
    p.add_argument("-v", action="store_true", help="list the jobs that were judged wrongly")
    a = p.parse_args(arguments)
    jobs = os.path.join(a.dir, "jobs")
    finished = [f"{jobs}/{name}" for name in sorted(os.listdir(jobs)) if os.path.exists(f"{jobs}/{name}/meta.json")]
    with concurrent.futures.ThreadPoolExecutor(a.threads) as pool:
        rows = [row for rows in pool.map(lambda folder: judged(folder, a.anew), finished) for row in rows]
    table(rows, a.v)
    return rows


if __name__ == "__main__":
    main()

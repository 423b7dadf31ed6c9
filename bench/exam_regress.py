#!/usr/bin/env python3
"""How often `regress` is wrong: independent jobs on this machine, each recorded anew.

    exam_regress.py [--dir DIR] [--aa N] [--power N] [--seconds S] [--frequency HZ] [--jobs N]

A/A jobs compare five runs of a program with five more of the same one: each alarm is false. Power jobs compare it with
one that was recompiled with one function slower. Every job appends a line to DIR/jobs.jsonl, so that the exam can be
stopped and taken up again; nothing is resampled. The folded forms and the truth of each job are kept in DIR/published. The table at
the end has Wilson's 95 % intervals. Beside regress the same profiles are judged by other rules (regress_peers.py), and the first
recordings of both sides by `perf diff`. tests/regress/test_exam.py runs a dozen short jobs of it."""
import argparse
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))
sys.path.insert(0, os.path.join(TOP, "tests/regress"))
import mix  # noqa: E402

PY = "import json,zlib,re\nfor i in range(%d):\n d={str(k):list(range(k%%30)) for k in range(300)}\n s=json.dumps(d); json.loads(s); zlib.compress(s.encode()); re.findall(r'\\d+', s)\n"
SQL = ("import sqlite3,random\nrandom.seed(1)\nc=sqlite3.connect(':memory:')\nc.execute('create table t(a integer primary key,b text,c real)')\n"
       "c.executemany('insert into t values(?,?,?)',((i,str(random.random()),random.random()) for i in range(%d)))\n"
       "print(c.execute('select substr(b,3,2) g,sum(c),count(*) from t group by g order by 2').fetchall()[0])\n")
CC = "#include <%s>\n#include <map>\n#include <string>\nint main(int c,char**v){std::map<std::string,int> m;for(int i=0;i<c;i++)m[v[i]]++;return (int)m.size();}\n"


def programs(folder, seconds):
    """{name: command}: of about so many seconds on this kind of machine."""
    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    out = {"mix": [mix.build(os.path.join(folder, "mix"), "-g"), str(int(11000 * seconds))],
           "python": ["python3", write("w.py", PY % int(150 * seconds))],
           "sqlite": ["python3", write("s.py", SQL % int(220000 * seconds))]}
    if shutil.which("xz"):
        data = os.path.join(folder, "data")
        with open(data, "wb") as f, open(os.path.join(BIN, "resolve"), "rb") as g:
            f.write(g.read()[:int(1400000 * seconds)])
        out["xz"] = ["xz", "-k", "-6", "-T1", "-c", data]
    if shutil.which("g++"):
        out["g++"] = ["g++", "-O1", "-S", "-o", "/dev/null", write("w.cc", CC % "iostream")]
    return out


def record(command, path, hz):
    with open(os.devnull, "w") as null:
        subprocess.run([f"{BIN}/capture", "-q", "-F", str(hz), "-o", path, "--", *command], stdout=null, stderr=null, check=True)


def regress(base, new, *options):
    p = subprocess.run([f"{BIN}/regress", "-q", *options, "--json", "-", "--base", *base, "--new", *new], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode == 2:
        raise RuntimeError(p.stderr)
    return json.loads(p.stdout)


def perf_diff(base, new):
    """Functions that `perf diff` of two recordings lists with more than a point above the base; None without perf."""
    if not shutil.which("perf"):
        return None
    p = subprocess.run(["perf", "diff", "-f", "-q", "-c", "delta", "-s", "sym", base, new], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rows = re.findall(r"^ *(?:[\d.]+%)? *([+-][\d.]+)% +\[.\] (\S+)", p.stdout, re.M)
    return None if p.returncode else sorted(name for delta, name in rows if float(delta) > 1)


def publish(kind, sides, a):
    """The job's folded forms and its truth, for other tools, in DIR/published; what other rules say of them (None without scipy)."""
    data = os.path.join(a.dir, "published", re.sub(r"\W+", "-", kind))
    data = f"{data}-{len(os.listdir(os.path.dirname(data))) if os.path.isdir(os.path.dirname(data)) else 0:04}"
    for name, paths in zip(("base", "new"), sides):
        os.makedirs(f"{data}/{name}")
        for path in paths:
            subprocess.run([f"{BIN}/resolve", "-q", path, "-o", f"{data}/{name}/{os.path.basename(path)[:-5]}.folded"], check=True)
    slower, flag = POWER.get(kind, (None, None))
    with open(f"{data}/truth.json", "w") as f:
        json.dump({"kind": kind, "slower": slower, "build": flag, "frequency": a.frequency if kind.startswith("A/A") else a.power_frequency}, f)
    if a.alone:
        return None
    p = subprocess.run(["/usr/bin/python3", os.path.join(TOP, "bench/regress_peers.py"), f"{data}/base", f"{data}/new"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return None if p.returncode else json.loads(p.stdout)


def runs_of(kind):
    """Of each side."""
    return 8 if kind.endswith("8") else 5


def job(kind, old, new, folder, a):
    """Both sides, turn and turn about; what is said of them."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    n = runs_of(kind)
    sides = [f"{folder}/base-{i}.data" for i in range(n)], [f"{folder}/new-{i}.data" for i in range(n)]
    for i in range(n):
        for s in (0, 1) if i % 2 else (1, 0):
            record((old, new)[s], sides[s][i], a.frequency if kind.startswith("A/A") else a.power_frequency)
    r = regress(*sides)
    loose = None if a.alone else [f["key"] for f in regress(*sides, "--q", ".05")["findings"] if f["gated"]]
    others = publish(kind, sides, a)
    diff = None if a.alone else perf_diff(sides[0][0], sides[1][0])
    shutil.rmtree(folder)
    return {"kind": kind, "gated": [f["key"] for f in r["findings"] if f["gated"]], "gated_05": loose,
            "total": any(f["gated"] and f["kind"] == "total" for f in r["findings"]), "samples": sum(x["samples"] for x in r["sides"]["base"]["runs"]) / n,
            "normaliser": r["design"]["normaliser"], "certified": r["certified"]["0.10"], "others": others, "perf_diff": diff}


def wilson(k, n):
    z, p = 1.959963984540054, k / n
    mid, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * k / n:.1f} % ({k} of {n}; {100 * max(0, mid - half):.1f} to {100 * min(1, mid + half):.1f} %)"


POWER = {"14 % + 10 %": ("leaf_0", "-DP0=110"), "14 % + 50 %": ("leaf_0", "-DP0=150"), "1.3 % + 50 %": ("leaf_17", "-DP17=150"), "halves": (None, "-DP0=50"),
         "14 % + 10 %, 8": ("leaf_0", "-DP0=110"), "1.3 % + 50 %, 8": ("leaf_17", "-DP17=150")}


def plan_of(a, commands):
    """[(kind, command of the base, of the new side, how many jobs)]"""
    names = list(commands)
    plan = [(f"A/A {n}", commands[n], commands[n], -(-a.aa // len(names))) for n in names]
    for kind, (_, flag) in POWER.items():
        slow, rounds = mix.build(os.path.join(a.dir, "mix" + flag), "-g", flag), str(2 * int(commands["mix"][1]))
        plan.append((kind, [commands["mix"][0], rounds], [slow, rounds], a.power))
    return [row for row in plan if not a.only or re.search(a.only, row[0])]


def record_jobs(a, done, log):
    """Rounds over all kinds, so that what was stopped early has some of each."""
    plan = plan_of(a, programs(a.dir, a.seconds))
    have = collections.Counter(d["kind"] for d in done)
    left = a.jobs
    while left:
        todo = [(have[k] / n, k, old, new) for k, old, new, n in plan if have[k] < n]
        if not todo:
            break
        _, kind, old, new = min(todo)
        d = job(kind, old, new, os.path.join(a.dir, "job"), a)
        have[kind] += 1
        left -= 1
        done.append(d)
        with open(log, "a") as f:
            f.write(json.dumps(d) + "\n")
        print(f"{kind}: {d['gated']}", flush=True)


# What a rule calls slower in a job; None: it was not asked.
RULES = {"regress, the gate (q .01)": lambda d: d["gated"], "regress at q .05": lambda d: d["gated_05"],
         "a share that grew by 5 % and .05 points": lambda d: d["others"] and d["others"]["threshold"],
         "Mann-Whitney, Benjamini-Hochberg at .05": lambda d: d["others"] and d["others"]["mwu"],
         "Welch, Benjamini-Hochberg at .05": lambda d: d["others"] and d["others"]["welch"],
         "Hotelling at .01": lambda d: d["others"] and (["any"] if d["others"]["hotelling"]["p"] <= .01 else []),
         "perf diff of one pair, more than a point": lambda d: d.get("perf_diff")}


def print_table(done):
    aa = [d for d in done if d["kind"].startswith("A/A")]
    if aa:
        print(f"\nA/A jobs, {sum(d['samples'] for d in aa) / len(aa):.0f} samples a run: those with an alarm")
    for name, rule in RULES.items():
        judged = [rule(d) for d in aa if rule(d) is not None]
        if judged:
            print(f"  {name}: {wilson(sum(map(bool, judged)), len(judged))}")
    for kind, (function, _) in POWER.items():
        jobs = [d for d in done if d["kind"] == kind]
        if not jobs:
            continue
        print(f"{kind} ({runs_of(kind)} runs a side, {sum(d['samples'] for d in jobs) / len(jobs):.0f} samples a run)")
        for name, rule in RULES.items():
            judged = [rule(d) for d in jobs if rule(d) is not None]
            if judged:
                others = sum(len(set(r) - {function, "total", "any"}) for r in judged) / len(judged)
                found = f"found {wilson(sum(function in r or 'any' in r for r in judged), len(judged))}, " if function else ""
                print(f"  {name}: {found}{others:.2f} other alarms a job")


def main(arguments=None):
    """The jobs that were done, now and before."""
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-regress")
    p.add_argument("--aa", type=int, default=200)
    p.add_argument("--power", type=int, default=20)
    p.add_argument("--seconds", type=float, default=.6, help="of A/A runs; of power runs twice as much")
    p.add_argument("--frequency", type=int, default=3999, help="of A/A jobs")
    p.add_argument("--power-frequency", type=int, default=9999, help="of power jobs: doc/accuracy.md tells why")
    p.add_argument("--only", help="jobs whose kind this regular expression matches")
    p.add_argument("--alone", action="store_true", help="only regress at its gate, without other rules")
    p.add_argument("--jobs", type=int, default=-1, help="end after so many")
    a = p.parse_args(arguments)
    os.makedirs(a.dir, exist_ok=True)
    log = os.path.join(a.dir, "jobs.jsonl")
    done = [json.loads(line) for line in open(log)] if os.path.exists(log) else []
    record_jobs(a, done, log)
    print_table(done)
    return done


if __name__ == "__main__":
    main()

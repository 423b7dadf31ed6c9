#!/usr/bin/env python3
"""How often `regress` is wrong: independent jobs on this machine, each recorded anew.

    exam_regress.py [--dir DIR] [--aa N] [--power N] [--seconds S] [--frequency HZ]

A/A jobs compare five runs of a program with five more of the same one: each alarm is false. Power jobs compare it with
one that was recompiled with one function slower. Every job appends a line to DIR/jobs.jsonl, so that the exam can be
stopped and taken up again; nothing is resampled. The folded forms and the truth of each job are kept in DIR/published. The table at the end has Wilson's 95 % intervals. Beside regress the same
profiles are judged by a threshold: a function's share that grew by 5 % and by 0.05 points (the rule of most CI scripts)."""
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
BIN = os.path.join(TOP, "bin")
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


def shares(paths):
    """{function: mean share of self samples}"""
    total = collections.Counter()
    for path in paths:
        text = subprocess.run([f"{BIN}/resolve", "-q", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        self, n = collections.Counter(), 0
        for line in text.splitlines():
            stack, weight = line.rsplit(" ", 1)
            self[stack.rsplit(";", 1)[-1]] += int(weight)
            n += int(weight)
        for name, weight in self.items():
            total[name] += weight / n / len(paths)
    return total


def publish(kind, sides, a):
    """The job's folded forms and its truth, for other tools, in DIR/published; and what other rules say of them (None without scipy)."""
    data = os.path.join(a.dir, "published", re.sub(r"\W+", "-", kind))
    data = f"{data}-{len(os.listdir(os.path.dirname(data))) if os.path.isdir(os.path.dirname(data)) else 0:04}"
    for name, paths in zip(("base", "new"), sides):
        os.makedirs(f"{data}/{name}")
        for path in paths:
            subprocess.run([f"{BIN}/resolve", "-q", path, "-o", f"{data}/{name}/{os.path.basename(path)[:-5]}.folded"], check=True)
    slower, flag = POWER.get(kind, (None, None))
    with open(f"{data}/truth.json", "w") as f:
        json.dump({"kind": kind, "slower": slower, "build": flag, "frequency": a.frequency if kind.startswith("A/A") else a.power_frequency}, f)
    p = subprocess.run(["/usr/bin/python3", os.path.join(TOP, "bench/regress_peers.py"), f"{data}/base", f"{data}/new"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return None if p.returncode else json.loads(p.stdout)


def job(kind, old, new, folder, a):
    """Both sides, turn and turn about; what is said of them."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    n = 8 if kind.endswith("8") else 5
    sides = [f"{folder}/base-{i}.data" for i in range(n)], [f"{folder}/new-{i}.data" for i in range(n)]
    for i in range(n):
        for s in (0, 1) if i % 2 else (1, 0):
            record((old, new)[s], sides[s][i], a.frequency if kind.startswith("A/A") else a.power_frequency)
    r = regress(*sides)
    loose = regress(*sides, "--q", ".05")
    b, c = shares(sides[0]), shares(sides[1])
    others = publish(kind, sides, a)
    rule = sum(c[f] > 1.05 * b[f] and c[f] > b[f] + .0005 for f in c)
    shutil.rmtree(folder)
    return {"kind": kind, "gated": [f["key"] for f in r["findings"] if f["gated"]], "gated_05": [f["key"] for f in loose["findings"] if f["gated"]],
            "total": any(f["gated"] and f["kind"] == "total" for f in r["findings"]), "samples": sum(x["samples"] for x in r["sides"]["base"]["runs"]) / n,
            "normaliser": r["design"]["normaliser"], "certified": r["certified"]["0.10"], "threshold_alarms": rule, "others": others}


def wilson(k, n):
    z, p = 1.959963984540054, k / n
    mid, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * k / n:.1f} % ({k} of {n}; {100 * max(0, mid - half):.1f} to {100 * min(1, mid + half):.1f} %)"


POWER = {"14 % + 10 %": ("leaf_0", "-DP0=110"), "1.3 % + 50 %": ("leaf_17", "-DP17=150"), "halves": (None, "-DP0=50"),
         "14 % + 10 %, 8": ("leaf_0", "-DP0=110"), "1.3 % + 50 %, 8": ("leaf_17", "-DP17=150")}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-regress")
    p.add_argument("--aa", type=int, default=200)
    p.add_argument("--power", type=int, default=20)
    p.add_argument("--seconds", type=float, default=.6, help="of A/A runs; of power runs twice as much")
    p.add_argument("--frequency", type=int, default=3999, help="of A/A jobs")
    p.add_argument("--power-frequency", type=int, default=9999, help="of power jobs: doc/accuracy.md tells why")
    p.add_argument("--only", help="jobs whose kind contains this")
    a = p.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    log = os.path.join(a.dir, "jobs.jsonl")
    done = [json.loads(line) for line in open(log)] if os.path.exists(log) else []
    have = collections.Counter(d["kind"] for d in done)
    commands = programs(a.dir, a.seconds)
    names = list(commands)
    plan = [(f"A/A {n}", commands[n], commands[n], -(-a.aa // len(names))) for n in names]
    for kind, (_, flag) in POWER.items():
        slow, rounds = mix.build(os.path.join(a.dir, "mix" + flag), "-g", flag), str(2 * int(commands["mix"][1]))
        plan.append((kind, [commands["mix"][0], rounds], [slow, rounds], a.power))
    plan = [row for row in plan if not a.only or a.only in row[0]]
    # Rounds over all kinds, so that what was stopped early has some of each.
    while True:
        todo = [(k, old, new) for k, old, new, n in plan if have[k] < n]
        if not todo:
            break
        for kind, old, new in todo:
            d = job(kind, old, new, os.path.join(a.dir, "job"), a)
            have[kind] += 1
            done.append(d)
            with open(log, "a") as f:
                f.write(json.dumps(d) + "\n")
            print(f"{kind}: {d['gated']}", flush=True)
    aa = [d for d in done if d["kind"].startswith("A/A")]
    print(f"\nA/A jobs, {sum(d['samples'] for d in aa) / max(1, len(aa)):.0f} samples a run: false alarms at the gate (q .01) {wilson(sum(bool(d['gated']) for d in aa), len(aa))}, "
          f"at q .05 {wilson(sum(bool(d['gated_05']) for d in aa), len(aa))}; a threshold of 5 % and .05 points {wilson(sum(d['threshold_alarms'] > 0 for d in aa), len(aa))}")
    for rule in ("mwu", "welch"):
        judged = [d["others"] for d in aa if d.get("others")]
        if judged:
            print(f"A/A jobs with an alarm by {rule} at .05: {wilson(sum(bool(o[rule]) for o in judged), len(judged))}")
    judged = [d["others"]["hotelling"]["p"] for d in aa if d.get("others")]
    if judged:
        print(f"by Hotelling's test at .01: {wilson(sum(p <= .01 for p in judged), len(judged))}")
    for kind, (function, _) in POWER.items():
        v = [d for d in done if d["kind"] == kind]
        if v:
            other = sum(len(set(d["gated"]) - {function, "total"}) for d in v) / len(v)
            found = f"found at the gate {wilson(sum(function in d['gated'] for d in v), len(v))}, at q .05 {wilson(sum(function in d['gated_05'] for d in v), len(v))}, " if function else ""
            print(f"{kind}: {found}{other:.2f} other alarms a job")


main()

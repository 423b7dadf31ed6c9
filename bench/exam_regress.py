#!/usr/bin/env python3
"""How often `regress` is wrong: independent jobs on this machine, each recorded anew.

    exam_regress.py [--dir DIR] [--aa N] [--power N] [--seconds S] [--frequency HZ] [--jobs N]

A/A jobs compare five runs of a program with five more of the same one: each alarm is false. Power jobs compare it with
those that were recompiled with one function slower; eight runs, of which the first five are judged by themselves, too. Every job appends its
lines to DIR/jobs.jsonl, so that the exam can be stopped and taken up again; nothing is resampled. The folded forms and the truth of each job are kept in DIR/published. The table at
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
CC = "#include <iostream>\n#include <regex>\n#include <map>\n#include <string>\nint main(int c,char**v){std::map<std::string,int> m;for(int i=0;i<c;i++)m[v[i]]++;return (int)m.size();}\n"


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
    for compiler in filter(shutil.which, ("g++", "clang++")):
        out[compiler] = [compiler, "-O2", "-S", "-o", "/dev/null", write("w.cc", CC)]
    if os.path.exists(os.path.join(TOP, ".git")):
        out["git"] = ["git", "-C", TOP, "log", "-p", "-n", str(int(1000 * seconds))]
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


def record_sides(commands, n, hz, folder):
    """[paths of n recordings] of each command, in rounds, each in another order."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    sides = [[f"{folder}/{s}-{i}.data" for i in range(n)] for s in range(len(commands))]
    for i in range(n):
        order = [(i // 2 + k) % len(commands) for k in range(len(commands))]
        for s in order[::-1] if i % 2 else order:
            record(commands[s], sides[s][i], hz)
            subprocess.run([f"{BIN}/resolve", "-q", sides[s][i], "-o", sides[s][i] + ".folded"], check=True)
    return sides


def publish(kind, sides, hz, a):
    """The folder in DIR/published of the job's folded forms and its truth, for other tools."""
    data = os.path.join(a.dir, "published", re.sub(r"\W+", "-", kind))
    data = f"{data}-{len(os.listdir(os.path.dirname(data))) if os.path.isdir(os.path.dirname(data)) else 0:04}"
    for name, paths in zip(("base", "new"), sides):
        os.makedirs(f"{data}/{name}")
        for i, path in enumerate(paths):
            shutil.copy(path + ".folded", f"{data}/{name}/{name}-{i}.folded")
    slower, program, flag = POWER.get(kind, (None, None, None))
    with open(f"{data}/truth.json", "w") as f:
        json.dump({"kind": kind, "slower": slower, "program": program, "build": flag, "frequency": hz}, f)
    return data


def peers(data, n):
    """What other rules say of the first n runs; None without scipy."""
    p = subprocess.run(["/usr/bin/python3", os.path.join(TOP, "bench/regress_peers.py"), f"{data}/base", f"{data}/new", str(n)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return None if p.returncode else json.loads(p.stdout)


def judge(kind, sides, data, a):
    """The row of a job: what is said of its two sides' recordings."""
    n = len(sides[0])
    r = regress(*sides)
    return {"kind": kind, "runs": n, "gated": [f["key"] for f in r["findings"] if f["gated"]],
            "gated_05": None if a.alone else [f["key"] for f in regress(*sides, "--q", ".05")["findings"] if f["gated"]],
            "total": any(f["gated"] and f["kind"] == "total" for f in r["findings"]), "samples": sum(x["samples"] for x in r["sides"]["base"]["runs"]) / n,
            "normaliser": r["design"]["normaliser"], "certified": r["certified"]["0.10"], "others": None if a.alone else peers(data, n),
            "perf_diff": None if a.alone else perf_diff(sides[0][0], sides[1][0])}


def job(kinds, commands, rounds, hz, a):
    """One base is recorded beside what differs from it in each kind; a row of each kind and number of runs, of which the smaller are the first ones."""
    base, *others = record_sides(commands, max(rounds), hz, os.path.join(a.dir, "job"))
    rows = []
    for kind, new in zip(kinds, others):
        data = publish(kind, (base, new), hz, a)
        rows += [judge(kind, (base[:n], new[:n]), data, a) for n in rounds]
    shutil.rmtree(os.path.join(a.dir, "job"))
    return rows


def wilson(k, n):
    z, p = 1.959963984540054, k / n
    mid, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * k / n:.1f} % ({k} of {n}; {100 * max(0, mid - half):.1f} to {100 * min(1, mid + half):.1f} %)"


# {a change: (the function that is slower, its program, how it is built)}
POWER = {"14 % + 10 %": ("leaf_0", "mix", "-DP0=110"), "14 % + 50 %": ("leaf_0", "mix", "-DP0=150"), "1.3 % + 50 %": ("leaf_17", "mix", "-DP17=150"), "14 % + 5 %": ("leaf_0", "mix", "-DP0=105"),
         "14 % + 100 %": ("leaf_0", "mix", "-DP0=200"), "1.3 % + 100 %": ("leaf_17", "mix", "-DP17=200"), ".15 % + 50 %": ("leaf_39", "mix", "-DP39=150"),
         ".15 % + 100 %": ("leaf_39", "mix", "-DP39=200"), "halves": (None, "mix", "-DP0=50"),
         "memory + 50 %": ("walk_memory", "kinds", "-DMEMORY=150"), "calls + 50 %": ("visit", "kinds", "-DCALLS=150"), "thread + 50 %": ("work_beside", "kinds", "-DTHREAD=150"),
         "lock + 50 %": ("add_locked", "kinds", "-DLOCK=150")}


def build(program, path, *flags):
    if program == "mix":
        return mix.build(path, "-g", *flags)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", *flags, "-o", path, os.path.join(TOP, "bench/regress_kinds.c")], check=True)
    return path


def plan_of(a, commands):
    """[(kinds, commands of the base and of each kind, numbers of runs, Hz, how many jobs)]"""
    plan = [([f"A/A {name}"], [command, command], [5], a.frequency, -(-a.aa // len(commands))) for name, command in commands.items()]
    plan = [row for row in plan if not a.only or re.search(a.only, row[0][0])]
    for program, rounds in (("mix", 22000), ("kinds", 16000)):
        kinds = [k for k in POWER if POWER[k][1] == program and (not a.only or re.search(a.only, k))]
        if kinds and a.power:
            builds = [build(program, os.path.join(a.dir, program + flag), *filter(None, [flag])) for flag in ("", *(POWER[k][2] for k in kinds))]
            plan.append((kinds, [[path, str(int(rounds * a.seconds))] for path in builds], a.runs, a.power_frequency, a.power))
    return plan


def record_jobs(a, done, log):
    """In turn over all kinds, so that what was stopped early has some of each."""
    plan = plan_of(a, programs(a.dir, a.seconds))
    have = collections.Counter((d["kind"], d["runs"]) for d in done)
    left = a.jobs
    while left:
        todo = [(have[kinds[0], max(rounds)] / n, kinds, commands, rounds, hz) for kinds, commands, rounds, hz, n in plan if have[kinds[0], max(rounds)] < n]
        if not todo:
            break
        rows = job(*min(todo)[1:], a)
        left -= 1
        done += rows
        have.update((d["kind"], d["runs"]) for d in rows)
        with open(log, "a") as f:
            f.writelines(json.dumps(d) + "\n" for d in rows)
        print("\n".join(f"{d['kind']}, {d['runs']} runs: {d['gated']}" for d in rows), flush=True)


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
    for kind, runs in sorted({(d["kind"], d["runs"]) for d in done if d["kind"] in POWER}):
        jobs = [d for d in done if (d["kind"], d["runs"]) == (kind, runs)]
        function = POWER[kind][0]
        print(f"{kind} ({runs} runs a side, {sum(d['samples'] for d in jobs) / len(jobs):.0f} samples a run)")
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
    p.add_argument("--runs", type=lambda text: [int(n) for n in text.split(",")], default=[5, 8], help="of each side in power jobs; the smaller number are the first runs of the larger")
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

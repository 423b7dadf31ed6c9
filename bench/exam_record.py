#!/usr/bin/env python3
"""exam_record.py - the recordings that exam_judge.py judges, each once: they do not depend on how regress decides.

    exam_record.py [--dir DIR] [--aa N] [--tree N] [--power N] [--bimodal N] [--only GROUP] [--one] [--capture PATH]

A job is a folder of DIR/jobs: meta.json, and SIDE-RUN.data of each side's runs, recorded in rounds, each in a random order. meta.json is written last:
a folder without it was not finished and is recorded anew, so that this can be stopped at any time and taken up again. Groups of jobs grow at
the same rate, so that what was stopped early has some of each. With --one a single `capture` records a job's runs, one process after the other, and
exam_judge.py takes them apart by their times: a quarter of the time on a loaded machine, where most of it goes by until capture has begun.

With --again the A/A jobs of which exam_judge.py flagged something (gated, or suspect) are recorded a second time, in their folder `second`, as `regress
run --confirm` does. exam_judge.py then says what is left of them."""
import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))
sys.path[:0] = [os.path.join(TOP, "tests/regress"), os.path.join(TOP, "bench")]
import exam_programs  # noqa: E402
import exam_tree  # noqa: E402
import mix  # noqa: E402

# A function that is as fast or slow as the process's addresses are: two speeds of a tenth to a third.
BIMODAL = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
#define LEAF(name, n) ALONE uint64_t name(uint64_t x) { for (long i = 0; i < (n); i++) x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u + n; return x; }
static long steps;
LEAF(bimodal, steps) LEAF(a, 3000) LEAF(b, 2500) LEAF(c, 2000) LEAF(d, 1500) LEAF(e, 1000) LEAF(f, 700) LEAF(g, 400)
int main(int n, char **v)
{
	FILE *u = fopen("/dev/urandom", "r");
	steps = 2000 + (u && fgetc(u) % 2 ? 2000 * atol(v[2]) / 100 : 0);
	uint64_t x = 1;
	for (long r = atol(v[1]); r; r--) x = g(f(e(d(c(b(a(bimodal(x))))))));
	return x == 1;
}
"""


def build_c(path, text, *flags):
    with open(path + ".c", "w") as f:
        f.write(text)
    subprocess.run(["gcc", "-O2", "-g", *flags, "-o", path, path + ".c"], check=True)
    return path


def copy_files(command, folder):
    """Copies of a command's program and libraries, which lie elsewhere in memory. Left where they are: files of more than 32 MB, and compilers, which look
    for their parts beside them."""
    os.makedirs(folder)
    program = os.path.realpath(shutil.which(command[0]))
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for path in [program, *re.findall(r"=> (/\S+)", listed)]:
        if os.path.getsize(path) < 32 << 20 and (path != program or command[0] not in ("gcc", "g++", "clang++")):
            shutil.copy(path, os.path.join(folder, os.path.basename(command[0] if path == program else path)))


def with_copies(command, folder):
    """The command, run with the copies."""
    program = os.path.realpath(shutil.which(command[0]))
    copy = os.path.join(folder, os.path.basename(command[0]))
    return ["env", f"LD_LIBRARY_PATH={folder}", copy if os.path.exists(copy) else program, *command[1:]]


def record(a, command, path):
    with open(os.devnull, "w") as null:
        subprocess.run([a.capture, "-q", "-F", str(a.frequency), "-o", path, "--", *command], stdout=null, stderr=null, stdin=null, check=True)


def place_line(a, folder, sides):
    """Puts the copies of all sides elsewhere in memory; "" if there are none."""
    files = [os.path.abspath(e.path) for side in sides if a.places and os.path.isdir(f"{folder}/{side}") for e in sorted(os.scandir(f"{folder}/{side}"), key=lambda e: e.name)]
    return f"place {' '.join(files)}\n" if files else ""


def record_at_once(a, folder, sides, runs, rng, copies):
    """[[side, run, start, end]] of the runs in FOLDER/all.data."""
    order = [(side, i) for i in range(runs) for side in rng.sample(list(sides), len(sides))]
    with open(f"{folder}/commands", "w") as f:
        for nr, (side, _) in enumerate(order):
            f.write("" if nr % len(sides) else place_line(a, copies, sides))
            f.write(f"exec {shlex.join(sides[side])}\n")
    turns = os.path.join(a.dir, "programs/turns")
    p = subprocess.run([a.capture, "-q", "-F", str(a.frequency), "-o", f"{folder}/all.data", "--", turns, f"{folder}/commands"], stdout=subprocess.PIPE, text=True, check=True)
    times = [[float(t) for t in line.split()] for line in p.stdout.splitlines()]
    assert len(times) == len(order), p.stdout
    return [[*who, *when] for who, when in zip(order, times)]


def record_job(a, folder, sides, runs, meta, copies=None):
    """sides: {name: command}; copies: where their files are, if not in this folder."""
    rng = random.Random(os.urandom(8))
    began, loads = time.time(), [os.getloadavg()[0]]
    if a.one:
        meta["times"] = record_at_once(a, folder, sides, runs, rng, copies or folder)
        runs_left = 0
    else:
        runs_left = runs
    for i in range(runs_left):
        order = list(sides)
        rng.shuffle(order)
        for side in order:
            record(a, sides[side], f"{folder}/{side.replace(' ', '-')}-{i}.data")
        loads.append(os.getloadavg()[0])
    meta.update(sides=list(sides), runs=runs, frequency=a.frequency, began=began, load=sum(loads) / len(loads), seconds=time.time() - began)
    with open(f"{folder}/meta.tmp", "w") as f:
        json.dump(meta, f)
    os.rename(f"{folder}/meta.tmp", f"{folder}/meta.json")


def aa_sides(command, folder):
    where = {side: os.path.abspath(f"{folder}/{side}") for side in ("base", "new")}
    return {side: with_copies(command, path) if os.path.isdir(path) else command for side, path in where.items()}


def is_flagged(folder):
    with open(f"{folder}/verdicts.json") as f:
        return any(r["gated"] or r["verdict"] == "suspect" for row in json.load(f) for r in row.get("rows", []))


def record_again(a):
    programs = exam_programs.programs(os.path.join(a.dir, "programs"), a.seconds)
    for name in finished(a):
        folder = f"{a.dir}/jobs/{name}"
        if not name.startswith("aa-") or not is_flagged(folder) or os.path.exists(f"{folder}/second/meta.json"):
            continue
        with open(f"{folder}/meta.json") as f:
            kind = json.load(f)["kind"]
        shutil.rmtree(f"{folder}/second", ignore_errors=True)
        os.makedirs(f"{folder}/second")
        record_job(a, f"{folder}/second", aa_sides(programs[kind[len("A/A "):]], folder), 5, {"kind": kind}, folder)
        print(time.strftime("%H:%M:%S"), name, "again", flush=True)


def groups(a):
    """{group: (how many jobs, a function that records the nr-th one in a folder)}"""
    shared = os.path.join(a.dir, "programs")
    programs = exam_programs.programs(shared, a.seconds)
    names = [name for name in sorted(programs) if not a.programs or name in a.programs.split(",")]

    def aa(nr, folder):
        name = names[nr % len(names)]
        for side in ("base", "new") if a.copies else ():
            copy_files(programs[name], f"{folder}/{side}")
        record_job(a, folder, aa_sides(programs[name], folder), 5, {"kind": f"A/A {name}"})

    def tree(nr, folder):
        built = {kind: exam_tree.build(folder, a.seed + nr, kind) for kind in (None, *exam_tree.KINDS, *exam_tree.SLOWER) if not kind or not a.kinds or kind in a.kinds.split(";")}
        record_job(a, folder, {kind or "base": [path, str(int(24000 * a.tree_seconds))] for kind, (path, _) in built.items()}, 5,
                   {"kind": "tree", "seed": a.seed + nr, "touched": {kind: touched for kind, (_, touched) in built.items() if kind}})

    flags = {"base": [], "14.3 % + 10 %": ["-DP0=110"], "1.3 % + 50 %": ["-DP17=150"]}
    mixes = {kind: mix.build(os.path.join(shared, "mix" + "".join(flag)), "-g", *flag) for kind, flag in flags.items()}

    def power(_nr, folder):
        record_job(a, folder, {kind: [path, str(int(22000 * a.power_seconds))] for kind, path in mixes.items()}, 5, {"kind": "power"})

    program = build_c(os.path.join(shared, "bimodal"), BIMODAL)

    def bimodal(nr, folder):
        command = [program, str(int(30000 * a.seconds)), str((10, 20, 30)[nr % 3])]
        record_job(a, folder, {"base": command, "new": command}, 3, {"kind": "bimodal", "percent": command[2]})

    return {"aa": (a.aa, aa), "tree": (a.tree, tree), "power": (a.power, power), "bimodal": (a.bimodal, bimodal)}


def finished(a):
    jobs = os.path.join(a.dir, "jobs")
    os.makedirs(jobs, exist_ok=True)
    return [name for name in sorted(os.listdir(jobs)) if os.path.exists(f"{jobs}/{name}/meta.json")]


def main(arguments=None):
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-regress")
    p.add_argument("--aa", type=int, default=400)
    p.add_argument("--tree", type=int, default=20)
    p.add_argument("--power", type=int, default=20)
    p.add_argument("--bimodal", type=int, default=60)
    p.add_argument("--seconds", type=float, default=.2, help="of A/A runs")
    p.add_argument("--tree-seconds", type=float, default=.4)
    p.add_argument("--power-seconds", type=float, default=.8)
    p.add_argument("--frequency", type=int, default=9999)
    p.add_argument("--kinds", help="only these changes of trees, with semicolons between them")
    p.add_argument("--programs", help="of A/A only these, with commas between them")
    p.add_argument("--copies", action=argparse.BooleanOptionalAction, default=True, help="each side of an A/A job has copies of the program's files")
    p.add_argument("--places", action=argparse.BooleanOptionalAction, default=True, help="these copies are put elsewhere in memory before each round, as regress run does (with --one)")
    p.add_argument("--again", action="store_true", help="a second look at what exam_judge.py flagged")
    p.add_argument("--seed", type=int, default=1000, help="of the first generated program")
    p.add_argument("--one", action="store_true", help="one recording for all runs of a job")
    p.add_argument("--only", help="these groups, with commas between them")
    p.add_argument("--capture", default=os.path.join(BIN, "capture"))
    p.add_argument("--jobs", type=int, default=-1, help="end after so many")
    a = p.parse_args(arguments)
    os.makedirs(a.dir, exist_ok=True)
    os.makedirs(f"{a.dir}/programs", exist_ok=True)
    subprocess.run(["gcc", "-O1", "-o", f"{a.dir}/programs/turns", os.path.join(TOP, "bench/exam_turns.c")], check=True)
    if a.again:
        return record_again(a)
    plan = {name: row for name, row in groups(a).items() if not a.only or name in a.only.split(",")}
    while a.jobs:
        done = finished(a)
        todo = [(sum(d.startswith(name + "-") for d in done) / n, name) for name, (n, _) in plan.items() if n]
        share, name = min(todo, default=(1, None))
        if share >= 1:
            break
        nr = sum(d.startswith(name + "-") for d in done)
        folder = f"{a.dir}/jobs/{name}-{nr:04}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        plan[name][1](nr, folder)
        a.jobs -= 1
        print(time.strftime("%H:%M:%S"), name, nr, flush=True)


if __name__ == "__main__":
    main()

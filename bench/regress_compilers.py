#!/usr/bin/env python3
"""One large program by several compilers: how much of its self time regress cannot match, and whether it takes two functions for one.

    regress_compilers.py [--dir DIR] [--source FOLDER] [--seconds S]
    regress_compilers.py [--dir DIR] --programs NAME=PATH.. -- ARGUMENTS..

The program is SQLite (sqlite3.c and sqlite3.h in FOLDER; without it of the npm package better-sqlite3), built by gcc -O2, -O3, -O2 -flto and
clang -O2. Each build is recorded twice, with DWARF (inlined functions count as functions) and with symbols only. Self time is unmatched in a function
that the other side has no sample of. "Names": without keys, as the symbols are. Keys are looked at for all functions of the symbol table, whether
they ran or not: two of different names, but for what compilers append to them, must not have one.

--programs: builds of another program with debug information, the first of which is the base; each is run three times with the arguments."""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "bin"))
BUILDS = {"gcc -O2": ["gcc", "-O2"], "gcc -O3": ["gcc", "-O3"], "gcc -O2 -flto": ["gcc", "-O2", "-flto"], "clang -O2": ["clang", "-O2"]}
APPENDED = re.compile(r"(\.(isra|constprop|part|lto_priv|cold|clone|localalias)(\.\d+)?|\.llvm\.\d+)+$")
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "sqlite3.h"
static sqlite3 *db;
static void run(const char *sql) { char *why; if (sqlite3_exec(db, sql, 0, 0, &why)) { fprintf(stderr, "%s: %s\n", sql, why); exit(1); } }
int main(int c, char **v) {
	sqlite3_open(":memory:", &db);
	while (clock() < atof(v[1]) * CLOCKS_PER_SEC) {
		run("create table t(a integer primary key, b text, c real)");
		run("create table u(k text, n integer)");
		run("with recursive s(i) as (select 1 union all select i + 1 from s where i < 20000) insert into t select i, hex(i * 7919 % 10007), i / 3.0 from s");
		run("create index tb on t(b)");
		run("insert into u select substr(b, 1, 3), count(*) from t group by 1");
		run("select sum(c), max(b), count(distinct length(b)) from t where b like '%3%' or a % 7 = 3");
		run("select u.n, sum(t.c) from u join t on substr(t.b, 1, 3) = u.k group by u.n order by 2 desc limit 10");
		run("update t set c = round(c * 1.5, 2), b = printf('%08d', a) where a % 3 = 0");
		run("select json_extract(json_object('a', a, 'b', json_array(b, c)), '$.b[0]') from t where a < 8000 order by b");
		run("select b, row_number() over (partition by a % 10 order by c desc) from t");
		run("delete from t where a % 2 = 0");
		run("drop table t; drop table u");
	}
	return 0;
}
"""


def sh(*command, **kw):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **kw).stdout


def build(a):
    """{build: {kind: program}}"""
    out = {}
    for i, (name, flags) in enumerate(BUILDS.items()):
        if not shutil.which(flags[0]):
            print(f"{name}: no {flags[0]}")
            continue
        path = os.path.join(a.dir, f"sqlite-{i}")
        if not os.path.exists(path):
            sh(*flags, "-g", "-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-I", a.source, "-o", path, os.path.join(a.dir, "main.c"), os.path.join(a.source, "sqlite3.c"), "-lm")
        sh("objcopy", "--strip-debug", path, path + "-symbols")
        out[name] = {"DWARF": path, "symbols": path + "-symbols"}
    return out


def functions(path):
    return {line.split()[-1] for line in sh("nm", path).splitlines() if line.split()[-2] in "tT"}


def check_keys(a, names, build):
    """Keys of all functions, as the report of a profile that has them all lists them."""
    path = os.path.join(a.dir, "all.folded")
    with open(path, "w") as f:
        f.writelines(f"sqlite;main;{n} 100\n" for n in sorted(names))
        f.write("sqlite;main 21\n")  # so that a sample is one, not a hundred
    p = subprocess.run([f"{BIN}/regress", "-q", "--impact", "0", "--json", "-", "--base", path, "--new", path], stdout=subprocess.PIPE, text=True)
    keys = {f["key"] for f in json.loads(p.stdout)["functions"]}
    expected = {APPENDED.sub("", n) for n in names | {"main"}}
    print(f"{build}: {len(names)} functions, {len(keys)} keys, {len(expected)} names without what compilers append; different: {sorted(keys ^ expected)[:10]}")


def selves(path, keyed):
    """{function: [base, new]} of a report's folded stacks: keyed, or as the symbols are."""
    out = collections.defaultdict(lambda: [0, 0])
    with open(path) as f:
        for line in f:
            stack, base, new = line.rsplit(" ", 2)
            leaf = out[APPENDED.sub("", stack.rsplit(";", 1)[-1]) if keyed else stack.rsplit(";", 1)[-1]]
            leaf[0] += float(base)
            leaf[1] += float(new)
    return out


def unmatched(v):
    total = [sum(x[s] for x in v.values()) for s in (0, 1)]
    return [100 * sum(x[s] for x in v.values() if not x[1 - s]) / total[s] for s in (0, 1)]


def names_only(a, base, new):
    """The same without keys."""
    v = collections.defaultdict(lambda: [0, 0])
    for side, path in enumerate((base, new)):
        for line in sh(f"{BIN}/resolve", "-q", "--no-inline", path).splitlines():
            stack, weight = line.rsplit(" ", 1)
            v[stack.rsplit(";", 1)[-1]][side] += int(weight)
    return unmatched(v)


def build_sqlite(a):
    if not a.source:
        a.source = os.path.join(a.dir, "package/deps/sqlite3")
        if not os.path.exists(a.source):
            archive = sh("npm", "pack", "better-sqlite3", "--silent", cwd=a.dir).split()[-1]
            sh("tar", "xzf", archive, cwd=a.dir)
    with open(os.path.join(a.dir, "main.c"), "w") as f:
        f.write(PROGRAM)
    return build(a)


def given(a):
    """Of --programs, as build_sqlite() gives."""
    out = {}
    for name, path in (p.split("=", 1) for p in a.programs):
        symbols = os.path.join(a.dir, name + "-symbols")
        sh("objcopy", "--strip-debug", path, symbols)
        out[name] = {"DWARF": os.path.abspath(path), "symbols": os.path.abspath(symbols)}
    return out


def compare(a, base, recordings, name, kind):
    pair, both = (recordings[base, kind], recordings[name, kind]), os.path.join(a.dir, "both.folded")
    subprocess.run([f"{BIN}/regress", "-q", "--base", pair[0], "--new", pair[1], "--folded", both], check=False)
    v = selves(both, True)
    lost = unmatched(v)
    worst = sorted(((max(x), k) for k, x in v.items() if not x[0] or not x[1]), reverse=True)[:4]
    raw = names_only(a, *pair)
    print(f"{base} against {name}, {kind}: unmatched {lost[0]:.1f} and {lost[1]:.1f} % of {sum(x[0] for x in v.values()):.0f} samples; by names {raw[0]:.1f} and {raw[1]:.1f} %; "
          f"largest: {', '.join(f'{k} {n:.0f}' for n, k in worst)}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", default="exam-compilers")
    p.add_argument("--source")
    p.add_argument("--seconds", default="3")
    p.add_argument("--programs", nargs="+", default=[])
    p.add_argument("arguments", nargs="*")
    a = p.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    programs = given(a) if a.programs else build_sqlite(a)
    recordings = {}
    for name, kinds in programs.items():
        check_keys(a, functions(kinds["symbols"]), name)
        for kind, path in kinds.items():
            command = ["sh", "-c", 'for i in 1 2 3; do "$@"; done', "sh", path, *a.arguments] if a.programs else [path, a.seconds]
            recordings[name, kind] = os.path.join(a.dir, f"{name}-{kind}.data")
            sh(f"{BIN}/capture", "-q", "-F", "9999", "-o", recordings[name, kind], "--", *command)
    for name in list(programs)[1:]:
        for kind in ("DWARF", "symbols"):
            compare(a, next(iter(programs)), recordings, name, kind)


main()

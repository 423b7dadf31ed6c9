#!/usr/bin/env python3
"""Functions of one name in several files are told apart where the recordings tell the file, and else a row says that it stands for
several. One does half as much again in the new build and the other half: both are certain in five runs of a third of a second. Where
the whole is faster by chance, what grew may be outweighed, which names it, too."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import BIN, findings, of, record, regress  # noqa: E402
from tap import Tap, need_events  # noqa: E402

need_events()
tap = Tap()
RUNS = 5
PART = """static __attribute__((noinline)) unsigned long parse(unsigned long s, int n) {{ int i; for (i = 0; i < n; i++) s = s * {0} + (s >> 7) + i; return s; }}
__attribute__((noinline)) unsigned long {1}(unsigned long s) {{ return parse(s, {2}) + 1; }}
"""
# A function with lines of two files, as yyparse has.
BODY = "for (i = 0; i < 9000; i++) s = s * 29 + (s >> 3) + i;\n"
MAIN = """unsigned long lex(unsigned long), json(unsigned long);
static __attribute__((noinline)) unsigned long steady(unsigned long s) { int i; for (i = 0; i < 9000; i++) s = s * 31 + (s >> 3) + i; return s; }
static __attribute__((noinline)) unsigned long still(unsigned long s) { int i; for (i = 0; i < 9000; i++) s = s * 23 + (s >> 5) + i; return s; }
static __attribute__((noinline)) unsigned long of_two_files(unsigned long s) { int i;
#include "body.inc"
for (i = 0; i < 9000; i++) s = s * 27 + (s >> 5) + i;
return s; }
int main(void) { unsigned long s = 1; int i; for (i = 0; i < 3000; i++) { s = lex(s); s = json(s); s = steady(s); s = still(s); s = of_two_files(s); } return s == 3; }
"""


def build(folder, lexer, js, files=("lexer.c", "json.c"), flags=("-g",)):
    """A checkout with a program: prog. lexer, js: the work of each parse()."""
    for name, text in ((files[0], PART.format(41, "lex", lexer)), (files[1], "\n" + PART.format(37, "json", js)), ("body.inc", BODY), ("main.c", MAIN)):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w") as f:
            f.write(text)
    subprocess.run(["gcc", "-O2", *flags, "-o", "prog", *files, "main.c"], cwd=folder, check=True)
    return folder


def runs(folder):
    out = [f"{folder}-runs/{i}.data" for i in range(RUNS)]
    os.makedirs(f"{folder}-runs", exist_ok=True)
    for path in out:
        record(path, "-F", "3999", "--", f"{folder}/prog")
    return out


def converted(paths, suffix):
    out = [p.replace(".data", suffix) for p in paths]
    for path, to in zip(paths, out):
        subprocess.run([f"{BIN}/resolve", "-q", "--no-cache", path, "-o", to], check=True)
    return out


def named(report):
    """What rows of `parse` there are, by verdict."""
    return sorted((f["verdict"], f["key"]) for f in report["findings"] if f["key"].split(" (")[0] == "parse" and f["kind"] == "self")


def fell_and_grew(report, lexer="lexer.c", js="json.c"):
    return named(report) in (sorted([(verdict, f"parse ({lexer})"), ("improved", f"parse ({js})")]) for verdict in ("REGRESSED", "outweighed"))


def of_several(*sides):
    return "note: several functions are named parse" in regress("--base", *sides[0], "--new", *sides[1]).stdout


base, new = runs(build("job1/src", 9000, 9000)), runs(build("job2/checkout", 14000, 4000))
code, r = findings("--base", *base, "--new", *new)
tap.check(fell_and_grew(r), "of two functions of one name each has its row, in checkouts of other paths", code, r["findings"])
shown = [f["name"] for f in r["findings"] if "of_two_files" in f.get("key", "")]
text = regress("--base", *base, "--new", *new).stdout
tap.check("of_two_files (" not in " ".join(shown) + text.replace("of_two_files (prog", ""), "a function with lines of two files is one", shown, text)
tap.check("note: several functions" not in text, "what was told apart is not said to be several", text)

with open("budget", "w") as f:
    f.write("version 1\nfn parse ignore\nfn lex ignore\ntotal max 99%\n")
budget = findings("--base", *base, "--new", *new, "--budget", "budget")[1]
tap.check(("ignored", "parse (lexer.c)") in named(budget), "a rule of a name is one of all its functions", named(budget))
with open("first.json", "w") as f:
    json.dump(r, f)
p = regress("confirm", "first.json", "--base", *runs("job1/src"), "--new", *runs("job2/checkout"), "-q", "--json", "-")
tap.check(p.returncode != 2 and {("REGRESSED", "parse (lexer.c)"), ("outweighed", "parse (lexer.c)")} & set(named(json.loads(p.stdout))), "fresh runs confirm the one function", p.stdout[:3000], p.stderr)

pprof = converted(base, ".pb.gz"), converted(new, ".pb.gz")
for what, sides in (("stored profiles", pprof), ("a stored base and recordings", (pprof[0], new))):
    code, r = findings("--base", *sides[0], "--new", *sides[1])
    tap.check(fell_and_grew(r), f"{what}: told apart", code, r["findings"])
folded = converted(base, ".folded"), converted(new, ".folded")
for what, sides in (("folded stacks on both sides", folded), ("a folded base", (folded[0], new)), ("a folded new side", (base, folded[1]))):
    code, r = findings("--base", *sides[0], "--new", *sides[1])
    tap.check(code != 2 and not any("(" in f["key"] for f in r["findings"]), f"{what}: one row", code, r if code == 2 else named(r))

def is_seen(report):
    return ("lex", "incl") in of(report, "REGRESSED", "outweighed") and not any("(" in key for _, key in named(report))


bare = runs(build("job3", 14000, 4000, flags=("-g0",)))
code, r = findings("--base", *base, "--new", *bare)
tap.check(is_seen(r) and of_several(base, bare),
          "debug information on one side: one row, which stands for several functions", code, r["findings"])
old = runs(build("job4", 9000, 9000, flags=("-g0",)))
code, r = findings("--base", *old, "--new", *bare)
tap.check(is_seen(r) and of_several(old, bare), "no debug information: the same", code, r["findings"])

folders = runs(build("job5", 9000, 9000, ("lex/util.c", "json/util.c"))), runs(build("job6/x", 14000, 4000, ("lex/util.c", "json/util.c")))
code, r = findings("--base", *folders[0], "--new", *folders[1])
tap.check(fell_and_grew(r, "lex/util.c", "json/util.c"), "files of one name are told apart by their folders", code, r["findings"])
moved = runs(build("job7", 14000, 9000, ("scanner.c", "json.c")))
code, r = findings("--base", *base, "--new", *moved)
tap.check(code == 1 and ("REGRESSED", "parse (scanner.c)") in named(r) and not of(r, "NEW", "gone"), "a file was renamed: the function is the same", code, r["findings"])
tap.end()

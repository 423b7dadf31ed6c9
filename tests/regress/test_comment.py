#!/usr/bin/env python3
"""The comment on a change (--md): the title says what the table says, ten rows in the order in which a reader wants them, noise folded away,
never more than 6 kB. Drawn runs, and a program that is really slower in three places."""
import os
import re
import subprocess

from drawn import Drawn, findings, regress, run_live
from tap import Tap

tap = Tap()
drawn = Drawn(11)


def comment(*args):
    p = regress("-q", "--md", "-", *args)
    return p.returncode, p.stdout or p.stderr


def side(name, stacks, n=5):
    os.makedirs(name, exist_ok=True)
    paths = []
    for i in range(n):
        paths.append(f"{name}/{i}.folded")
        with open(paths[-1], "w") as f:
            f.writelines(f"{stack} {drawn.poisson(mean)}\n" for stack, mean in stacks.items())
    return paths


def rows(text):
    """(verdict, function) of the table's rows; of the folded ones."""
    table, _, folded = text.partition("<details>")
    return [re.findall(r"^\| ([\w ]+) \| `([^`]*)`", part, re.M) for part in (table, folded)]


BASE = {f"app;main;work_{i}": 900 for i in range(8)}
base = side("base", {**BASE, "app;main;serve;parse;hash": 600})
code, text = comment("--base", *base, "--new", *side("slower", {**BASE, "app;main;serve;parse;hash": 1200}))
title = text.splitlines()[0]
tap.check(code == 1 and title.startswith("### Slower: +") and " CPU: `hash` +" in title, "the title: the whole, and the function that fails", title)
tap.check(rows(text) == [[("REGRESSED", "hash")], []], "one row", text)
tap.check("no lines are known of a function that fails" in text, "stacks without lines: a note of what cannot be seen", text)
tap.check("from `parse` < `serve` < `main`" in text, "where: the leaf end of the path", text)
tree = re.search(r"```text\n(.*?)```", text, re.S)
tap.check(tree and [line.split()[-1] for line in tree.group(1).splitlines()] == ["main", "serve", "parse", "hash"] and re.search(r" 7\.\d+ ->  1\d\.\d+     hash", tree.group(1)),
          "the path that changed most as a tree, with its part of the whole before and after", text)
tap.check(re.search(r"all on-CPU time of a run: ", text) and re.search(r"\d+ -> \d+ samples, \*\*\+\d", text), "both totals", text)
tap.check("5 + 5 runs, " in text and "red in at most" in text, "what was compared and how sure that is", text)

code, text = comment("--base", *base, "--new", *base)
tap.check(code == 0 and text.startswith("### No change found\n") and rows(text) == [[], []], "nothing changed: no row", text)

code, text = comment("--base", *base, "--new", *side("faster", {**BASE, "app;main;serve;parse;hash": 60}))
tap.check(code == 0 and text.startswith("### Faster: -") and "`hash` -" in text.splitlines()[0] and rows(text)[0] == [("improved", "hash")], "faster: said in the title", text)

code, text = comment("--base", *base, "--new", *side("tenth", {k: v / 10 for k, v in {**BASE, "app;main;serve;parse;hash": 600}.items()}))
tap.check(code == 0 and text.startswith("### Faster: -9") and "No change" not in text, "everything is faster: the title does not say that nothing changed", text)

code, text = comment("--base", *base, "--new", *side("helper", {**BASE, "app;main;serve;parse;hash": 300, "app;main;serve": 290}))
title = text.splitlines()[0]
tap.check(code == 0 and ("Faster: `" not in title), "a function is faster, the whole takes as long: not simply faster", title)
tiny = {**BASE, "app;main;serve;parse;hash": 600, "app;main;serve;sort": 2}
code, text = comment("--base", *side("tiny", tiny), "--new", *side("large", {**tiny, "app;main;serve;sort": 900}))
tap.check(code == 1 and re.search(r"`sort` [+]\d+\.\d+ points of the whole", text.splitlines()[0]), "the growth of next to nothing: its part of the whole", text.splitlines()[0])
fell = {**BASE, "app;main;serve;parse;hash": 4000, "app;main;serve;parse;alloc": 60}
code, text = comment("--base", *side("heavy", fell), "--new", *side("light", {**fell, "app;main;serve;parse;hash": 1000, "app;main;serve;parse;alloc": 180}))
title = text.splitlines()[0]
tap.check(code == 0 and re.match(r"### Faster: -[\d.]+ % CPU: `hash` -[\d.]+ %; outweighed: `alloc` [+]", title), "what got faster first, then what that outweighs", title)

kernel = {**BASE, "app;main;serve;malloc;__do_sys_brk_[k]": 30, "app;main;serve;malloc;__do_sys_brk_[k];clear_page_erms_[k]": 100, "app;main;serve;malloc": 3000}
code, r = findings("--base", *side("cold", kernel), "--new", *side("pages", {**kernel, "app;main;serve;malloc;__do_sys_brk_[k];clear_page_erms_[k]": 190}))
failed = [f["key"] for f in r["findings"] if f["gated"]]
tap.check(code == 0 and not failed, "the kernel cleared more pages: its system call does not fail for that", failed)
kernel["app;main;serve;malloc;__do_sys_brk_[k];handle_mm_fault_[k]"] = 200
code, r = findings("--base", *side("cold2", kernel), "--new", *side("pages2", {**kernel, "app;main;serve;malloc;__do_sys_brk_[k];handle_mm_fault_[k]": 500}))
tap.check(code == 1, "what else the kernel does more fails", [(f["key"], f["verdict"]) for f in r["findings"]])

# Most of a change is in what a function calls: the tree goes on to that.
code, text = comment("--base", *side("quiet", {**BASE, "app;main;serve": 300}), "--new", *side("writes", {**BASE, "app;main;serve": 500, "app;main;serve;write;do_syscall_64;vfs_write": 900, "app;main;serve;write": 300}))
tap.check(code == 1 and "do_syscall_64" in text.split("```")[1] and text.split("```")[1].splitlines()[-1].split()[-1] in ("do_syscall_64", "vfs_write"), "the tree goes on to where most of the change is", text)

few = side("few", {**BASE, "app;main;serve;parse;hash": 1200}, 3)
code, text = comment("--base", *base[:3], "--new", *few)
tap.check(code == 0 and text.startswith("### Perhaps slower, not certain: `hash` ") and "fewer than 4 runs" in text.splitlines()[0], "three runs: the title says that it is not certain", text)

# 60 functions with long names become slower.
LONG = {f"app;main;{'deep;' * 30}a::very::long_name_with_{'x' * 300}_{i}|`@team`<b>": 800 for i in range(60)}
base = side("long", {**BASE, **{f"app;other_{i}": 500 for i in range(60)}, **LONG})
new = side("long-new", {**BASE, **{f"app;other_{i}": 500 for i in range(60)}, **{k: v * 2 for k, v in LONG.items()}})
code, text = comment("--base", *base, "--new", *new)
tap.check(code == 1 and len(text.encode()) <= 6000 and len(rows(text)[0]) <= 10, "60 slower functions: ten rows, 6 kB", len(text.encode()), rows(text))
tap.check("more are in the JSON report" in text and ", and 59 more" in text.splitlines()[0], "what is left out is counted", text.splitlines()[0], text[-900:])
tap.check(not re.search(r"@team(?!`|'|\.|\w)", re.sub(r"`[^`\n]*`|```.*?```", "", text, flags=re.S)), "no name becomes a mention, a link or a tag", text)
code, long = comment("--long", "--absolute", "--base", *base, "--new", *new)
tap.check(6000 < len(long.encode()) <= 60000 and len(rows(long)[0]) == 60 and "| samples a run |" in long, "--long --absolute: all rows, and samples", len(long))
p = regress("--absolute", "--base", *base, "--new", *new)
tap.check("samples a run" in p.stdout and re.search(r"^REGRESSED.* \d+ -> \d+ ", p.stdout, re.M), "--absolute: the table has samples, too", p.stdout[:1500])

twice = [side(name, {**BASE, "app;main;walk;walk;walk;sort;sort": mean}) for name, mean in (("once", 600), ("twice", 1200))]
code, text = comment("--base", *twice[0], "--new", *twice[1])
tree = re.search(r"```text\n(.*?)```", text, re.S)
tap.check(code == 1 and "from `walk` < `main` |" in text and tree and [line.split()[-1] for line in tree.group(1).splitlines()] == ["main", "walk", "sort"],
          "functions that call themselves are named once", text)

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
static int table[4096], copy[4096];
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long touched(unsigned long x) { for (long i = 0; i < 9000 * TOUCHED; i++) { x = x * 6364136223846793005UL + 1; sink += x >> 60; } return x; }
__attribute__((noinline)) unsigned long helper(unsigned long x) { for (long i = 0; i < 9000; i++) { x = x * 6364136223846793005UL + 3; sink += x >> 60; } return x; }
__attribute__((noinline)) unsigned long steady(unsigned long x) { for (long i = 0; i < 40000; i++) { x = x * 6364136223846793005UL + 5; sink += x >> 60; } return x; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	unsigned long x = 1;
	for (int i = 0; i < 4096; i++) table[i] = (int)((unsigned)i * 2654435761u >> 8);
	for (int r = 0; r < 900; r++) {
		x = steady(touched(x));
		for (int i = 0; i < CALLS; i++) x = helper(x);
		for (int i = 0; i < SORTS; i++) { memcpy(copy, table, 400); qsort(copy, 100, 4, compare); }
	}
	return (int)x & copy[0] & 1;
}
"""


def live():
    sides = []
    for name, flags in (("old", ["-DTOUCHED=1", "-DCALLS=1", "-DSORTS=5"]), ("fresh", ["-DTOUCHED=2", "-DCALLS=2", "-DSORTS=15"])):
        os.makedirs(name)
        with open(f"{name}/program.c", "w") as f:
            f.write(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", *flags, "-o", f"{name}/program", f"{name}/program.c"], check=True)
        sides.append(f"{name}/program")
    p = regress("run", "-n", "5", "-F", "3999", "-q", "--md", "s.md", "--json", "s.json", "--", sides[0], "::", sides[1])
    text = open("s.md").read()
    names = [name for _, name in rows(text)[0]]
    order = {name: names.index(name) for name in ("touched", "helper") if name in names}
    tap.check(p.returncode == 1 and order.get("touched", 99) < order.get("helper", -1), "first what the change touched, then what else the project has", text, p.stderr)
    code, r = findings("--base", *[f"regress-runs/base-0{i}.data" for i in range(1, 6)], "--new", *[f"regress-runs/new-0{i}.data" for i in range(1, 6)])
    library = {f["key"] for f in r["findings"] if f.get("dso", "").startswith("libc")} if code == 1 else set()
    last = [names.index(name) for name in names if name in library]
    tap.check(not last or min(last) > order.get("helper", -1), "libraries are last", names, library)
    tap.check(re.search(r"\(program\.c:\d+\)", text.splitlines()[0]) and "`program.c:" in text, "file and line", text)
    _, mine = comment("--project", "steady-src", "--project", "lib", "--base", "regress-runs/base-01.data", *[f"regress-runs/base-0{i}.data" for i in range(2, 6)], "--new", *[f"regress-runs/new-0{i}.data" for i in range(1, 6)])
    names = [name for _, name in rows(mine)[0]]
    tap.check({"touched", "helper"} <= set(names) and names.index("touched") < names.index("helper"), "--project: a library may be the project", names)


run_live(tap, live)
tap.end()

#!/usr/bin/env python3
"""The options of -f top: trees of callers, keys, levels, separators, differences. What they show are sums over folded stacks or
over the samples of jsonl."""
import collections
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import samples  # noqa: E402
from common import RESOLVE, TOP, Tap, run  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-pipe", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())


def top(*options):
    return run([RESOLVE, "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms", "-f", "top", *options]).stdout


# ---- callers: a program drawn so that the answer can be read off ---------------------------------------------------
with open("c.folded", "w") as f:
    f.write("p;main;a;work 400\np;main;b;c;work 300\np;main;b;work;x;work 200\np;work 99\np;main;a;tiny 1\n")
tree = top("--callers=tree", "c.folded")
block = tree[tree.index("] work\n"):].split("\n\n")[0]
tap.check(block.split("\n")[1:] == ["            |",
                                    "            |--40.00%--a",
                                    "            |          main",
                                    "            |--30.00%--c",
                                    "            |          b",
                                    "            |          main",
                                    "             --20.00%--b",
                                    "                       main"],
          "--callers=tree: all callers, a recursion once, from its outermost frame", block)
tap.check("from " in top("--callers", "c.folded") and "--40.00%--" not in top("--callers=main", "c.folded"), "--callers, --callers=main: three lines")
percents = [float(x) for x in re.findall(r"--([\d.]+)%--", top("--callers=tree", "perf.data"))]
tap.check(len(percents) > 10 and max(percents) <= 100, "--callers=tree of a recording", percents)

# One column of 40 callers, and the number of those above, however deep; a fork is sought in the next 1000 of them.
deep = [f"f{i}" for i in range(3000)]
with open("deep.folded", "w") as f:
    f.write(f"p;{';'.join(deep)} 5\n")
with open("forked.folded", "w") as f:
    f.write(f"p;x;{';'.join(deep[:1500])} 7\np;y;{';'.join(deep[:1500])} 5\n")


def blocks_of(path):
    """{function: the lines below it, without what draws the tree}"""
    found = {}
    for line in top("--callers=tree", path).splitlines():
        row = re.match(r" *[\d.]+% +[\d.]+% .*\] (\S+)$", line)
        if row:
            block = found.setdefault(row[1], [])
        elif line.strip(" |") and not line.startswith("#"):
            block.append(line.strip(" |"))
    return found


blocks = blocks_of("deep.folded")
want = {f"f{i}": [f"--100.00%--f{i - 1}"] * (i > 0) + [f"f{j}" for j in range(i - 2, max(i - 42, -1), -1)] + [f"(and {i - 41} more)"] * (i > 41) for i in range(3000)}
tap.check(blocks == want, "--callers=tree of a deep stack: 41 names, and how many more", {n: b for n, b in blocks.items() if b != want[n]})
blocks = blocks_of("forked.folded")
tap.check(blocks["f1041"][41:] == ["(and 1000 more)", "--58.33%--x", "--41.67%--y"], "--callers=tree: a fork 1041 frames up", blocks["f1041"])
tap.check(blocks["f1042"][41:] == ["(and 1000 or more)"], "--callers=tree: it is not sought further up", blocks["f1042"])

# ---- keys ------------------------------------------------------------------------------------------------------------
all_samples = samples.read(run([RESOLVE, "--no-cache", "-q", "--symfs", "root", "-f", "jsonl", "perf.data"]).stdout)
total = sum(s["period"] for s in all_samples)
for key, member in (("pid", "pid"), ("tid", "tid"), ("cpu", "cpu")):
    want = collections.Counter()
    for s in all_samples:
        want[str(s.get(member, "?"))] += s["period"]
    have = {m[2]: float(m[1]) for m in re.finditer(r"^ +[\d.]+% +([\d.]+)%  (\S+)$", top("--sort", key, "perf.data"), re.M)}
    wrong = {k: (have.get(k), want[k]) for k in want if k not in have or abs(have[k] - 100 * want[k] / total) > 0.01001}
    tap.check(have.keys() == want.keys() and not wrong, f"--sort {key}: sums over the samples of jsonl", wrong, have)
rows = top("--sort", "srcline,sym", "perf.data")
tap.check(re.search(r"  threads\.cc:\d+ +\[\.\] work::worker", rows), "--sort srcline,sym", rows)
levels = top("--sort", "comm,dso,sym", "--hierarchy", "perf.data").splitlines()
sums, parts = {}, collections.Counter()
for line in levels:
    m = re.match(r"( *)([\d.]+)%  (.*)", line)
    if m:
        level = (len(m[1]) + len(m[2]) - 8) // 4
        sums[level, m[3]] = float(m[2])
        parts[level] += float(m[2])
tap.check(set(parts) == {0, 1, 2} and all(abs(p - 100) < 0.01 * len(levels) for p in parts.values()), "--hierarchy: each level is all of it", parts, levels[:20])
fields = [line.split("|") for line in top("-t", "|", "perf.data").splitlines() if not line.startswith("#")]
tap.check(len(fields) > 5 and all(len(f) == 5 for f in fields), "-t: columns with a separator", fields[:3])
only = [line for line in top("--field-separator=,", "--symbols", "main,work::spin", "perf.data").splitlines() if line[0] != "#"]
tap.check(len(only) == 2 and all("spin" in o or "main" in o for o in only), "-S: only rows of these functions", only)
with open("names.folded", "w") as f:
    f.write("p;main;ns::tax(int) 4\np;main;spin 5\n")
for names, words in (("spin,main", ""), ("ns::tax,spin", ""), ("ns::tax(int)", ""), ("tax,spin", "-S: no function is called tax; did you mean 'ns::tax(int)'?"),
                     ("main,nowhere", "-S: no function is called nowhere\n")):
    p = run([RESOLVE, "--no-cache", "-f", "top", "-S", names, "names.folded"])
    tap.check(words in p.stderr and bool(p.stderr) == bool(words), f"-S {names}: {words or 'nothing to say'}", p.stderr)

# ---- threads that differ in a number --------------------------------------------------------------------------------
with open("w.folded", "w") as f:
    f.write("worker-1;main;a 1\nworker-22;main;a 2\nhttp-8080-exec-3;b 4\nhttp-8080-exec-10;b 8\npython3;c 16\n7;d 32\n")
merged = collections.Counter()
for line in run([RESOLVE, "-q", "--merge-threads", "w.folded"]).stdout.splitlines():
    merged[line.rsplit(" ", 1)[0]] += int(line.rsplit(" ", 1)[1])
tap.check(merged == {"worker-<N>;main;a": 3, "http-<N>-exec-<N>;b": 12, "python3;c": 16, "7;d": 32}, "--merge-threads: names that differ in numbers only", merged)
rows = top("--merge-threads", "--sort", "comm", "w.folded")
tap.check(re.search(r" 4\.76%  worker-<N>$", rows, re.M) and "worker-1" not in rows, "--merge-threads in top", rows)

# ---- a difference ---------------------------------------------------------------------------------------------------
with open("base.folded", "w") as f:
    f.write("main;a 5000\nmain;b 4000\nmain;c 1000\n")
with open("new.folded", "w") as f:
    f.write("main;a 5000\nmain;b 3990\nmain;c 9000\n")
changes = [tuple(m) for m in re.findall(r"^ +([\d.]+)% +([\d.]+)% +([+-][\d.]+)%([~ ]).*  (\S+)$", top("--diff", "base.folded", "new.folded"), re.M)]
tap.check(changes == [("10.00", "50.03", "+40.03", " ", "c"), ("50.00", "27.79", "-22.21", " ", "a"), ("40.00", "22.18", "-17.82", " ", "b")],
          "--diff: shares of both sides, the largest change first", changes)
tap.check("  main\n" not in top("--diff", "base.folded", "new.folded") and "nothing changed" in top("--diff", "base.folded", "base.folded"), "--diff of the same: nothing changed")
for event in "cycles:u", "page-faults":
    with open(f"{event[:4]}.txt", "w") as f:
        f.write(f"p 1/1 1.000000: 10 {event}:\n\t401000 main+0x0 (/bin/p)\n\np 1/1 2.000000: 20 {event}:\n\t401000 main+0x0 (/bin/p)\n\n")
said = run([RESOLVE, "-f", "top", "--diff", "cycl.txt", "page.txt"], check=False).stderr
tap.check("the base's weights are cycles, the new one's page-faults" in said, "--diff of different events says so", said)
said = run([RESOLVE, "-f", "top", "--diff", "cycl.txt", "cycl.txt"], check=False).stderr
tap.check("weights" not in said, "of the same event it does not", said)
with open("tenfold.folded", "w") as f:
    f.write("main;a 50000\nmain;b 40000\nmain;c 10000\n")
text = top("--diff", "base.folded", "tenfold.folded")
tap.check("The whole of a run: +900.00%" in text and "no share of it changed" in text and "nothing changed" not in text, "--diff: ten times as much everywhere is a change", text)
text = run([RESOLVE, "-q", "-f", "md", "--diff", "base.folded", "tenfold.folded"]).stdout
tap.check("the whole of a run: +900.0 %" in text and "what differs is explained" not in text, "and in Markdown", text)
text = top("--diff", "base.folded", "base.folded", "--new", "base.folded", "base.folded")
tap.check("The whole" not in text and "nothing changed" in text, "--diff: of two runs beside one, the whole of each", text)
# ---- a module that is not known has one name in both tables --------------------------------------------------------
with open("other.folded", "w") as f:
    f.write("p;main;a;work 100\np;main;new 900\n")
text = top("--diff", "c.folded", "other.folded")
tap.check(re.search(r"\+90\.00%. +\[unknown\] +new$", text, re.M) and " unknown " not in text, "--diff: [unknown] as the table of one side", text)

tap.end()

#!/usr/bin/env python3
"""-f callgrind, read by callgrind_annotate: what functions cost themselves are the sums over folded stacks, and with --inclusive what
they cost with callees, a recursion once, those of top."""
import collections
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, folded, have, run  # noqa: E402

tap = Tap()
if not have("callgrind_annotate"):
    tap.skip("all of it", "no callgrind_annotate")
    tap.end()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-pipe", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"


def annotate(path, *options):
    """{function: cost} and the total that callgrind_annotate prints."""
    text = run(["callgrind_annotate", "--threshold=100", *options, path]).stdout
    total = re.search(r"^([\d,]+)(?: \(.*?\))?  PROGRAM TOTALS", text, re.M)[1]
    found = collections.Counter()
    for cost, name in re.findall(r"^ *([\d,]+)(?: \( ?[\d.]+%\))?  \S*?:(.*?) \[[^\]]*\]*$", text, re.M):
        found[name] += int(cost.replace(",", ""))
    return found, int(total.replace(",", ""))


run([RESOLVE, *BARE, "-o", "x.callgrind", "perf.data"])
have_own, total = annotate("x.callgrind")
want = collections.Counter()
for stack, weight in folded(run([RESOLVE, *BARE, "perf.data"]).stdout).items():
    want[stack[-1]] += weight
wrong = {k: (have_own.get(k), v) for k, v in want.items() if have_own.get(k) != v}
tap.check(total == sum(want.values()) and len(want) > 3 and not wrong, "callgrind_annotate: what functions cost themselves", wrong, have_own)
with open("r.folded", "w") as f:
    f.write("p;main;a;b;a;b 10\np;main;a 5\np;main;c;b 7\n")
run([RESOLVE, "-q", "-f", "callgrind", "-o", "r.callgrind", "r.folded"])
have_all, total = annotate("r.callgrind", "--inclusive=yes")
tap.check(total == 22 and have_all == {"main": 22, "b": 17, "a": 15, "c": 7}, "callgrind_annotate --inclusive=yes: a recursion counts once", have_all)
lines = re.findall(r"^(\d+) (\d+)$", open("x.callgrind").read(), re.M)
tap.check(len(lines) > 10 and any(int(n) > 20 for n, _ in lines), "lines of the source", lines[:5])

# ---- files without a line that costs something itself --------------------------------------------------------------------
# Of main.c only the line of the call is known, of zero.c only that code without a line is its: callgrind_annotate, which opens
# both, complained of itself.
for name in ("main.c", "zero.c", "leaf.c"):
    with open(name, "w") as f:
        f.write("".join(f"line {i}\n" for i in range(1, 10)))
with open("s.txt", "w") as f:
    f.write("p 1 1.000000:  10 cycles:\n\t11 leaf+0x1 (/p)\n  leaf.c:3\n\t22 main+0x2 (/p)\n  main.c:7\n\n"
            "p 1 1.000001:  20 cycles:\n\t33 zero+0x1 (/p)\n  zero.c:0\n\t24 main+0x4 (/p)\n  main.c:8\n\n"
            "p 1 1.000002:  30 cycles:\n\t11 leaf+0x1 (/p)\n  leaf.c:3\n\t35 zero+0x3 (/p)\n  zero.c:5\n\t24 main+0x4 (/p)\n  main.c:8\n")
run([RESOLVE, "-q", "-o", "s.callgrind", "s.txt"])
p = run(["callgrind_annotate", "--threshold=100", "--auto=yes", "s.callgrind"])
sources = set(re.findall(r"annotated source: (\S+)", p.stdout))
tap.check(not p.stderr and sources == {"main.c", "zero.c", "leaf.c"}, "callgrind_annotate has nothing to complain of", p.stderr, sources)
tap.check(re.search(r"^10 .*=> leaf.c:leaf \(1x\)$", p.stdout, re.M), "and shows the calls in main.c", p.stdout)
costs, total = annotate("s.callgrind")
tap.check(total == 60 and +costs == {"leaf": 40, "zero": 20}, "what functions cost is as before", costs, total)

# ---- several events, and back ------------------------------------------------------------------------------------------
with open("two.folded", "w") as f:
    f.write("p;main;a 10 1\np;main;b;a 0 4\np;main 5 0\n")
run([RESOLVE, "-q", "--event", "all", "-f", "callgrind", "-o", "two.callgrind", "two.folded"])
text = open("two.callgrind").read()
tap.check("\nevents: base new\nsummary: 15 5\n" in text, "--event all: both events", text)
totals = run(["callgrind_annotate", "--threshold=100", "two.callgrind"]).stdout
tap.check(re.search(r"^15 \S+ +5 \S+ +PROGRAM TOTALS", totals, re.M), "callgrind_annotate reads both", totals)
back = run([RESOLVE, "-q", "--event", "all", "two.callgrind"]).stdout
tap.check({(s[0], s[-1]): w for s, w in folded(back).items()} == {("base", "a"): 10, ("new", "a"): 5, ("base", "main"): 5}, "resolve reads both", back)
p = run([RESOLVE, "--event", "all", "-f", "md", "two.folded"])
tap.check("only the event base is shown" in p.stderr and "new" in p.stderr, "md, which shows one event, says so", p.stderr)
tap.end()

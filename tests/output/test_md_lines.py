#!/usr/bin/env python3
"""-f lines: the sums are those over the frames of jsonl, and the text beside a line is that line of the file. -f md: a renderer of
GitHub's Markdown finds the tables, its figures are those of top and folded, and no profile makes it longer than 8 kB."""
import collections
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
import samples  # noqa: E402
from common import RESOLVE, TOP, Tap, folded, have, run  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"

with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-pipe", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())


def resolve(*options):
    return run([RESOLVE, *BARE, *options]).stdout


# ---- lines -----------------------------------------------------------------------------------------------------------
def summed():
    """{FILE:LINE or [FILE]: (percent with callees, percent itself)} over the frames of jsonl."""

    total, sums = 0, collections.defaultdict(lambda: [0, 0])
    for s in samples.read(resolve("-f", "jsonl", "perf.data")):
        total += s["period"]
        seen = set()
        for i, frame in enumerate(s["stack"]):
            base = os.path.basename(frame.get("dso", "[unknown]"))
            key = f"{os.path.basename(frame['file'])}:{frame['line']}" if frame.get("line") else base if base[0] == "[" else f"[{base}]"
            sums[key][0] += s["period"] * (key not in seen)
            sums[key][1] += s["period"] * (i == 0)
            seen.add(key)
    return {k: (100 * a / total, 100 * b / total) for k, (a, b) in sums.items()}


def rows(text):
    found = re.findall(r"^ +([\d.]+)% +([\d.]+)%  (\S+)(?:  +(\S.*))?$", text, re.M)
    return {name: (float(a), float(b)) for a, b, name, _ in found}, {name: source for _, _, name, source in found if source}


have_rows, _ = rows(resolve("-f", "lines", "perf.data"))
want = summed()
wrong = {k: (have_rows.get(k), want.get(k)) for k in have_rows.keys() | want.keys()
         if k not in have_rows or k not in want or any(abs(a - b) > 0.00501 for a, b in zip(have_rows[k], want[k]))}
tap.check(len(want) > 10 and not wrong, "lines: the sums over the frames of jsonl", wrong)
_, source = rows(resolve("-f", "lines", "--source-dir", os.path.join(TOP, "tests", "programs"), "perf.data"))
program = open(os.path.join(TOP, "tests", "programs", "threads.cc")).read().splitlines()
wrong = {k: v for k, v in source.items() if k.startswith("threads.cc:") and program[int(k.split(":")[1]) - 1].strip() != v}
tap.check(len([k for k in source if k.startswith("threads.cc:")]) > 5 and not wrong, "lines: --source-dir: the text is that line of the file", wrong)
tap.check("/" in resolve("-f", "lines", "--full-source-path", "perf.data"), "lines: --full-source-path")
own = re.findall(r"^ +([\d.]+)%  \S", resolve("-f", "lines", "--no-children", "perf.data"), re.M)
tap.check(len(own) > 2 and abs(sum(map(float, own)) - 100) < 0.005 * len(own) + 0.001 and own == sorted(own, key=float, reverse=True),
          "lines: --no-children: what lines cost themselves is all there is", own)
tap.check(len(rows(resolve("-f", "lines", "-n", "3", "perf.data"))[0]) == 3, "lines: -n 3 are three rows")
# A name of a secret, or of what is no file, shows nothing.
os.makedirs("below/dir", exist_ok=True)
os.mkfifo("below/dir/pipe.c")
with open("below/secret.c", "w") as f:
    f.write("secret\n")
os.chmod("below/secret.c", 0o600)
with open("x.script", "w") as f:
    for path in ("dir/pipe.c", "secret.c", "../below/secret.c"):
        f.write(f"x 1 [000] 1.0: 1 cycles: \n\t401000 f+0x1 (/bin/x)\n  {path}:1\n\n")
p = subprocess.run([RESOLVE, "-q", "-f", "lines", "--source-dir", "below", "x.script"], stdout=subprocess.PIPE, timeout=60, text=True, check=False)
tap.check("secret" not in re.sub(r"secret\.c", "", p.stdout) or os.geteuid(), "lines: root shows no line of a file that only root may read", p.stdout)

# ---- md --------------------------------------------------------------------------------------------------------------
page = resolve("-f", "md", "perf.data")
tap.check(0 < len(page.encode()) <= 8000 and "## What to type next" in page, "md: at most 8 kB", len(page))
table = dict(re.findall(r"^\| *([\d.]+) % \| *[\d.]+ % \| `([^`]+)`", page, re.M) and
             [(n, float(o)) for o, n in re.findall(r"^\| *([\d.]+) % \| *[\d.]+ % \| `([^`]+)`", page, re.M)])
stacks = folded(resolve("perf.data"))
total = sum(stacks.values())
leaves = collections.Counter()
for s, w in stacks.items():
    leaves[s[-1]] += w
wrong = {n: (o, 100 * leaves[n] / total) for n, o in table.items() if "…" not in n and n in leaves and abs(o - 100 * leaves[n] / total) > 0.0501}
tap.check(len(table) > 5 and not wrong, "md: what functions cost themselves are the sums over folded stacks", wrong, table)
if have("cmark-gfm"):
    html = subprocess.run(["cmark-gfm", "-e", "table"], input=page, stdout=subprocess.PIPE, text=True, check=True).stdout
    tap.check(html.count("<table>") == 2 and "<li>" in html and re.search(r"<td[^>]*>[\d.]+ %</td>", html), "md: a renderer sees two tables", html[:500])
else:
    tap.skip("md: a renderer sees two tables", "no cmark-gfm")

# Names that break tables, names that are long, and many of them.
with open("odd.folded", "w") as f:
    for i in range(3000):
        f.write("main;%s;%s 1%s\n" % ("a|b`c" * 30, f"f{i}" * 100, "0" * (i % 4)))
    f.write("main;operator||;x`|y 90000\n")
odd = resolve("-f", "md", "odd.folded")
cells = [line for line in odd.splitlines() if line.startswith("| ")]
tap.check(len(odd.encode()) <= 8000 and cells and all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in cells), "md: names that break tables", odd[:2000])
# What changed, and nothing that chance explains.
with open("base.folded", "w") as f:
    f.write("main;a 500\nmain;b 400\nmain;c 100\n")
with open("new.folded", "w") as f:
    f.write("main;a 500\nmain;b 405\nmain;c 900\n")
changed = resolve("-f", "md", "--diff", "base.folded", "new.folded")
tap.check("| `c` |" in changed and re.search(r"\| 10\.0 % \| 49\.9 % \| \+39\.9 \| `c`", changed), "md: --diff", changed)
same = resolve("-f", "md", "--diff", "base.folded", "base.folded")
tap.check("chance explains" in same and "| `" not in same, "md: --diff of the same", same)
shutil.rmtree("below")
tap.end()

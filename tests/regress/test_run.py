#!/usr/bin/env python3
"""How `regress run` runs commands: warm-up, preparation, commands in one string, commands that fail, other events, and several benchmarks
under one verdict and one error rate."""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import mix
from drawn import BIN, regress, run_live
from tap import Tap

tap = Tap()


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def text_of(path):
    with open(path) as f:
        return f.read()


def refused(words, *args):
    p = regress(*args)
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"refused: {words}", p.returncode, p.stderr)


os.makedirs("old")
os.makedirs("fresh")
for name, text, words in (("none", "# nothing\n\n", "no benchmark"), ("unnamed", "a: true\ntrue\n", "line 2: not NAME"), ("slash", "../a: true\n", "line 1: not NAME"), ("twice", "a: true\na: false\n", "line 2: there are two"),
                          ("empty", "a:  \n", "line 1: the command is missing")):
    write(name, text)
    refused(words, "run", "--suite", name, "--", "old", "::", "fresh")
refused("both folders", "run", "--suite", "none", "--", "old")
refused("no folder", "run", "--suite", "none", "--", "old", "::", "nowhere")
refused("nowhere.suite", "run", "--suite", "nowhere.suite", "--", "old", "::", "fresh")
refused("--suite is for regress run", "--suite", "none", "--base", "a", "--new", "b")
refused("takes --shell", "run", "--", "true | cat", "::", "true")
refused("a second '::'", "run", "--", "true", "::", "true", "::", "false")
refused("quote it", "run", "--shell", "--", "true", "a", "::", "true")
for option in ("-n", "-F", "-c"):
    refused(f"{option}: '0' is not a number from 1", "run", option, "0", "--", "true", "::", "true")
for option in ("--md", "--json", "--html", "--junit", "--folded"):
    refused("nowhere/report: cannot write to its folder", "run", option, "nowhere/report", "--", "sh", "-c", "touch ran", "::", "true")
tap.check(not os.path.exists("ran"), "where a report cannot be written nothing is run")
refused("one event at a time", "run", "-e", "page-faults,cs", "--", "true", "::", "true")

# ---- what is run when ------------------------------------------------------------------------------------------------
PROGRAM = """#!/usr/bin/env python3
import sys
with open("log", "a") as f: f.write(f"run {sys.argv[1]}\\n")
sum(i * i for i in range(300000))
sys.exit(int(sys.argv[2]))
"""


def live():
    write("program", PROGRAM, 0o755)
    p = regress("run", "-n", "2", "-F", "999", "--warmup", "1", "--prepare", 'echo "prepare $UNSPOOL_SIDE" >> log', "--json", "r.json", "--shell", "--", "./program one 0 | cat", "::", "./program two 0")
    log = text_of("log").split("\n")
    tap.check(p.returncode == 0 and log[:4] == ["prepare base", "run one", "prepare new", "run two"], "--warmup runs both sides first; --prepare before each run; --shell takes a pipe", p.stderr, log)
    sides = {"base": "one", "new": "two"}
    pairs = list(zip(log[::2], log[1::2]))
    again = p.stderr.count("recorded again")  # each with its --prepare
    tap.check(len(pairs) == 6 + again and all(b == f"run {sides[a.split()[1]]}" for a, b in pairs) and len(os.listdir("regress-runs")) == 4, "three runs of each side, of which two are recorded", log, os.listdir("regress-runs"))
    recipe = json.loads(text_of("r.json"))["run"]
    tap.check(recipe["prepare"].startswith("echo") and recipe["warmup"] == 1 and recipe["base"] == ["sh", "-c", "./program one 0 | cat"], "the report says how to record again", recipe)
    p = regress("run", "-n", "2", "-q", "--", "./program", "a", "3", "::", "./program", "b", "0")
    tap.check(p.returncode == 2 and "status 3" in p.stderr and "--ignore-status" in p.stderr, "a command that fails ends it, with a word of cure", p.stderr)
    p = regress("run", "-n", "2", "-q", "--ignore-status", "--json", "r.json", "--", "./program", "a", "3", "::", "./program", "b", "0")
    tap.check(p.returncode == 0 and json.loads(text_of("r.json"))["run"]["ignore_status"] is True, "--ignore-status", p.returncode, p.stderr)
    p = regress("run", "-n", "2", "-q", "--ignore-status", "--", "./nowhere", "::", "./program", "b", "0")
    tap.check(p.returncode == 2, "--ignore-status: a program that is not there is still an error", p.returncode, p.stderr)
    p = regress("run", "-n", "2", "-q", "--prepare", "exit 5", "--", "true", "::", "true")
    tap.check(p.returncode == 2 and "--prepare failed (status 5)" in p.stderr, "--prepare that fails ends it", p.stderr)
    losses()
    events()
    suite()


# ---- samples that are lost ---------------------------------------------------------------------------------------------
# Halts its recorder as often as the file says, while it uses 0.2 s of a processor: 800 samples do not fit into 64 KiB.
HALTS = """import os, signal, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
left = int(open("halts").read())
open("halts", "w").write(str(max(left - 1, 0)))
burn(.1)
if left:
    os.kill(os.getppid(), signal.SIGSTOP)
    burn(.2)
    os.kill(os.getppid(), signal.SIGCONT)
burn(.1)
"""


def losses():
    os.makedirs("small", exist_ok=True)
    shutil.copy(f"{BIN}/regress", "small/regress")
    write("small/capture", f'#!/bin/sh\nexec {BIN}/capture -m 64K "$@"\n', 0o755)
    write("halts.py", HALTS)
    command = ["small/regress", "run", "-n", "1", "-F", "3999", "--dir", "lossy", "--json", "l.json", "--", sys.executable, "halts.py", "::", sys.executable, "halts.py"]
    write("halts", "1")
    p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    said = re.findall(r"lossy/(?:base|new)-01.data: (\d+) of (\d+) samples were lost while recording: this run is recorded again", p.stderr)
    tap.check(said and int(said[0][0]) > 200 and int(said[0][1]) > 600, "a run that has lost samples is recorded again, and that is said", p.returncode, p.stderr)
    write("halts", "99")
    p = subprocess.run([*command[:-6], "--", sys.executable, "halts.py", "::", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    tap.check(p.returncode == 2 and text_of("halts") == "95" and len(re.findall(r"lossy/base-01.data: .* recorded again", p.stderr)) == 3 and "samples were lost while recording (--force)" in p.stderr,
              "not for ever: what loses samples each time is not compared", text_of("halts"), p.returncode, p.stderr)


# ---- another event ---------------------------------------------------------------------------------------------------
TOUCHES = """#include <unistd.h>
#include <stdlib.h>
#include <sys/mman.h>
#define TOUCH(name, n) __attribute__((noinline)) void name(volatile char *p) { for (long i = 0; i < (n); i++) { p[i * 4096] = 1; if (i % 50 == 49) usleep(2000); } }
TOUCH(a, 700) TOUCH(b, 600) TOUCH(c, 500) TOUCH(d, 400) TOUCH(grows, PAGES)
int main(void) { char *p = mmap(0, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
 madvise(p, 32 << 20, MADV_NOHUGEPAGE); a(p); b(p + (4 << 20)); c(p + (8 << 20)); d(p + (12 << 20)); grows(p + (16 << 20)); return 0; }
"""


def events():
    for side, pages in (("old", 500), ("fresh", 1000)):
        write(f"{side}/touches.c", TOUCHES)
        subprocess.run(["gcc", "-O1", "-g", f"-DPAGES={pages}", "-o", f"{side}/touches", f"{side}/touches.c"], check=True)
    p = regress("run", "-n", "4", "-e", "page-faults", "--json", "r.json", "--md", "s.md", "--", "old/touches", "::", "fresh/touches")
    r = json.loads(text_of("r.json")) if p.returncode == 1 else {"findings": []}
    tap.check(p.returncode == 1 and any(f["gated"] and f["key"] == "grows" and 450 < f["new"] - f["base"] < 550 for f in r["findings"] if "key" in f), "-e page-faults: each is counted, and the function that has more is found", p.stdout, p.stderr)
    tap.check("all page-faults" in p.stdout and " page-faults: `grows`" in text_of("s.md").splitlines()[0], "reports name the event, not on-CPU time", p.stdout[:400], text_of("s.md")[:200])
    p = regress("run", "-n", "2", "-q", "-c", "2000000", "-e", "cpu-clock", "--json", "r.json", "--", "./program", "a", "0", "::", "./program", "b", "0")
    tap.check(p.returncode == 0 and json.loads(text_of("r.json"))["run"]["count"] == 2000000, "-c: a sample every so many", p.stderr)


# ---- several benchmarks ----------------------------------------------------------------------------------------------
def suite():
    with open("bad.suite", "w") as f:
        f.write("fine: true\nbroken: exit 7\n")
    for where in ("old", "fresh"):
        os.makedirs(where, exist_ok=True)
    p = regress("run", "--suite", "bad.suite", "-n", "1", "--dir", "bad-runs", "--", "old", "::", "fresh")
    tap.check(p.returncode == 2 and "benchmark broken: " in p.stderr and "(status 7)" in p.stderr and "fine" not in p.stderr, "--suite: which benchmark failed", p.returncode, p.stderr)
    mix.build("old/prog", "-g")
    mix.build("fresh/prog", "-g", "-DP2=300")
    write("bench", "# NAME: COMMAND\nsteady: ./same 1\nmix : ./prog 1800 | cat\n")
    for side in ("old", "fresh"):
        write(f"{side}/same", "#!/usr/bin/env python3\nsum(i * i for i in range(2000000))\n", 0o755)
    p = regress("run", "--suite", "bench", "-n", "5", "--dir", "suite-runs", "--md", "s.md", "--json", "s.json", "--junit", "s.xml", "--html", "page.html", "--folded", "s.folded", "--", "old", "::", "fresh")
    out = p.stdout.splitlines() or [""]
    tap.check(p.returncode == 1 and out[0] == "1 of 2 benchmarks slower: mix" and "== steady: " in p.stdout and "== mix: " in p.stdout, "--suite: one verdict, a table each", p.stdout[:1500], p.stderr)
    md = text_of("s.md")
    tap.check(md.startswith("### `mix`: Slower: ") and "`leaf_2`" in md.splitlines()[0] and "- `steady`: " in md and len(md.encode()) <= 6000, "--suite: one comment", md)
    r = json.loads(text_of("s.json"))
    reports = {b["name"]: b["report"] for b in r["benchmarks"]}
    tap.check(r["schema"] == "unspool-regress-suite/1" and r["failed"] and not reports["steady"]["failed"] and reports["mix"]["failed"], "--suite: one JSON file")
    tap.check(all(abs(b["design"]["q"] - .005) < 1e-12 for b in reports.values()) and 0 < r["false_alarm"] <= .04, "--suite: one error rate, of which each has its part", {n: b["design"]["q"] for n, b in reports.items()}, r["false_alarm"])
    cases = {s.get("name"): int(s.get("failures")) for s in ET.parse("s.xml").getroot().findall("testsuite")}
    tap.check(cases["steady"] == 0 and cases["mix"] >= 1, "--suite: a test suite each", cases)
    tap.check(os.path.exists("page-mix.html") and os.path.exists("page-steady.html") and os.path.exists("suite-runs/mix/base-01.data"), "--suite: a page each, a folder of recordings each", os.listdir("."))
    tap.check({line.split(";")[0] for line in text_of("s.folded").splitlines()} == {"steady", "mix"}, "--suite: stacks begin with the benchmark's name")
    p = regress("confirm", "s.json")
    tap.check(p.returncode == 2 and "--suite" in p.stderr, "confirm of a suite's report: says that --confirm does it", p.stderr)
    write("bench", "mix: ./prog 1800\n")
    p = regress("run", "--suite", "bench", "-n", "4", "--confirm", "--annotate", "gitlab", "--dir", "suite-runs", "--", "old", "::", "fresh")
    found = json.loads(p.stdout) if p.stdout.startswith("[") else []
    tap.check(p.returncode == 1 and any("mix: leaf_2" in f["description"] for f in found) and os.path.exists("suite-runs/mix/confirm-new-01.data"), "--suite --confirm --annotate", p.stdout, p.stderr)


assert BIN
run_live(tap, live)
tap.end()

#!/usr/bin/env python3
"""Weights that had been lost without a word: samples that have neither a task nor frames, commands that begin with '#', periods in texts
without a time, texts that come through a pipe with a name, and a second recording behind the first. Every sum is known by construction."""
import json
import lzma
import os
import re
import subprocess
import sys
import threading

from tap import Tap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from texts import folded, resolve  # noqa: E402

BIN, TOP = os.environ["BIN"], os.environ["TOP"]
tap = Tap()

# ---- neither a task nor frames --------------------------------------------------------------------------------------
TEXT = "; 7\nmain;leaf 5\nmain;other 2\n"
code, out, err = resolve(TEXT)
tap.check(code == 0 and folded(out) == {"[unknown]": 7, "main;leaf": 5, "main;other": 2}, "folded: a line for what has no task and no frames", (code, out, err))
out = resolve(TEXT, "-f", "speedscope")[1]
tap.check(sum(json.loads(out)["profiles"][0]["weights"]) == 14, "speedscope: the same sum", out)
out = resolve(TEXT, "-f", "flamegraph")[1]
tap.check("<title>[unknown] (7 " in out and "all (14 " in out, "flamegraph: the same sum, and a frame for it", re.findall("<title>[^<]*", out))
head = "# Without frames: 50.00%, which no row has\n"
for args in ([], ["--sort", "dso,symbol"], ["-t", ","], ["--hierarchy"]):
    out = resolve(TEXT, "-f", "top", *args)[1]
    tap.check(head in out, f"top {' '.join(args)}: the share that no row has", out)
tap.check("# Without frames" not in resolve("main;leaf 5\n", "-f", "top")[1], "top: no such line where all samples have frames")
out = resolve(TEXT, "-f", "md")[1]
tap.check("- 50.0 % of the stacks have names for all of their code; 50.0 % have no frames\n" in out, "md: no names where there are no frames", out)

# ---- commands that begin with # -------------------------------------------------------------------------------------
code, out, err = resolve("# a comment; of 3\n#1 worker;main;f 4\n#sh;g 2\n# 12\nx;y 1\n")
tap.check(code == 0 and folded(out) == {"#1 worker;main;f": 4, "#sh;g": 2, "x;y": 1}, "folded: '#1 worker;..' is a stack, '# a comment' is none", (code, out, err))

# ---- periods without a time: the columns are those of perf 6.1 and 7.2 ----------------------------------------------
FRAMES = "\t            115a f\n\t            1199 main\n\n"
for name, line, comm in [
    ("comm,period", "spin    2004008 \n", "spin"),
    ("comm,tid,period", "spin  7501    2004008 \n", "spin"),
    ("comm,tid,period of 7.2", "spin    7501    2004008 \n", "spin"),
    ("comm,pid,tid,period", "two words  7501/7501     2004008 \n", "two_words"),
    ("comm,period,event", "spin    2004008 cpu-clock:u: \n", "spin"),
    ("comm,period,event of a long period", "spin 12004008123 cpu-clock:u: \n", "spin"),
    ("comm,tid,period,event", "spin  7501    2004008 cpu-clock:u: \n", "spin"),
]:
    code, out, err = resolve((line + FRAMES) * 3)
    want = 3 * int(line.split("cpu")[0].split()[-1])
    tap.check(code == 0 and folded(out) == {f"{comm};main;f": want} and "no period" not in err, f"script text, {name}: periods weigh", (code, out, err))
code, out, err = resolve(("spin  7501 \n" + FRAMES) * 3)
tap.check(folded(out) == {"spin;main;f": 3} and "no period" in err, "script text, comm,tid: the number is no period", (out, err))
code, out, err = resolve(("   2004008 \n" + FRAMES) * 3)
tap.check(folded(out) == {"main;f": 6012024} and "have no command" in err, "script text, period alone", (out, err))

# ---- weights that are none ------------------------------------------------------------------------------------------
full = f"a;b {2**64 - 1}\na;c {2**64 - 1}\n"
code, out, err = resolve(full)
tap.check(code == 1 and "more than 64 bits hold" in err and len(folded(out)) == 2, "a sum that is too large is said", (code, out, err))
for form in ("pprof", "otlp"):
    for text, n in ((f"a;b {2**63 - 1}\na;c 5\n", 0), (f"a;b {2**63}\na;c 5\n", 1), (f"a;b {2**63}\na;c {2**63 + 5}\n", 2)):
        code, out, err = resolve(text, "-f", form, "-o", "large.out")
        has = f"{n} value{'s' * (n > 1)} of 2^63 or more, which {form} cannot hold" in err
        tap.check(code == (n > 0) and has == (n > 0) and "large.out" in os.listdir(), f"{form}: of values {n} are too large for a number with a sign", (code, err))
code, out, err = resolve("a;b 9223372036854775808\n", "-f", "pprof", "-o", "large.pb")
tap.check(folded(subprocess.run([f"{BIN}/resolve", "-q", "large.pb"], stdout=subprocess.PIPE, text=True).stdout) == {"a;b": 2**63 - 1}, "and the largest stands for them")
code, out, err = resolve("a;b 5\r" * 3)
tap.check(code == 2 and not out and "lines that end in CR only" in err and "tr '\\r' '\\n'" in err, "lines that end in CR: refused, with a cure", (code, out, err))
tap.check(folded(resolve("a;b 5\r")[1]) == {"a;b": 5}, "but not one line that does")
code, out, err = resolve("a;b -5\na;c -2\n")
tap.check(code == 2 and not out and "--diff BASE NEW" in err, "a difference is refused, with a cure", (code, out, err))

# ---- pipes with names -----------------------------------------------------------------------------------------------
with open("a.folded", "w") as f:
    f.write("main;f 3\nmain;g 4\n")


def shell(command):
    p = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    return p.returncode, p.stdout, p.stderr


for command, want in [
    (f"cat a.folded | {BIN}/resolve /dev/stdin", {"main;f": 3, "main;g": 4}),
    (f"{BIN}/resolve <(cat a.folded)", {"main;f": 3, "main;g": 4}),
    (f"{BIN}/resolve <(gzip < a.folded) <(cat a.folded)", {"main;f": 6, "main;g": 8}),
]:
    code, out, err = shell(command)
    tap.check(code == 0 and folded(out) == want, command.replace(f"{BIN}/", ""), (code, out, err))
os.mkfifo("fifo")


def write_fifo():
    try:
        with open("fifo", "w") as f:
            f.write("main;f 3\n" * 1000)
    except BrokenPipeError:
        pass


writer = threading.Thread(target=write_fifo)
writer.start()
code, out, err = shell(f"{BIN}/resolve fifo")
writer.join()
tap.check(code == 2 and "resolve - < fifo" in err and err.count("\n") == 1, "a FIFO with a text is refused, with a cure", (code, out, err))

# ---- a recording behind a recording ---------------------------------------------------------------------------------
with lzma.open(f"{TOP}/testdata/recordings/cpp-fp/perf.data.xz") as f:
    one = f.read()
with open("one.data", "wb") as f:
    f.write(one)
with open("two.data", "wb") as f:
    f.write(one + one)
first, second = shell(f"{BIN}/resolve one.data"), shell(f"{BIN}/resolve two.data")
tap.check("another recording" not in first[2], "one recording: no word of another", first[2])
tap.check(second[0] == 1 and second[1] == first[1] and f"another recording begins at offset {len(one):#x}, which is not read" in second[2], "two in one file: the second is told", second)
tap.end()

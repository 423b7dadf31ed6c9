#!/usr/bin/env python3
"""The commands of README.md run as they are printed, one after the other in one shell, as the reader has it after `make demo`; and what
is printed below them is what such a run prints, but for numbers."""
import os
import re
import shutil
import subprocess
import time

from common import BIN, TOP, Tap, build, have, need_events
from recorder import TRIES

tap = Tap()
with open(os.path.join(TOP, "README.md")) as f:
    text = f.read()
blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text[text.index("## Five minutes"):text.index("## Exit status")], re.M)
commands = []  # (command, what is printed below it)
for line in "".join(blocks).splitlines():
    if line.startswith("    $ "):
        commands.append((line[6:], []))
    elif line.strip():
        commands[-1][1].append(line.strip())
tap.check(len(commands) > 12, "README.md: there are commands", commands)

need_events()
# What the reader has: bin/ and build/demo/threads below the folder that was cloned.
os.symlink(BIN, "bin")
os.makedirs("build/demo")
build("g++ -O2 -g -fomit-frame-pointer -pthread", "threads.cc", "build/demo/threads")
MISSING = [tool for tool in ("go", "perf", "less") if not have(tool)]


def shapes(line):
    """Its words and the functions of its stacks, without numbers and paths."""
    line = re.sub(r"\b(__GI_)?__(clone3|clone)\b", r"\2", line)  # glibc's own names where its debug symbols are installed
    return re.sub(r"/\S+|\d[\d,.]*", "#", line.replace("...", " ")).replace(";", " ").split()


def runs(shell, command):
    """(status, all that it prints). perf 6.1 may abort beside another recorder: see common.perf_record."""
    for _ in range(TRIES):
        shell.stdin.write(f"{{ {command}\n}} </dev/null 2>&1; echo; echo \"=== $?\"\n")
        shell.stdin.flush()
        said = []
        while not (line := shell.stdout.readline()).startswith("=== "):
            if not line:
                return None, "".join(said)
            said.append(line)
        said = "".join(said)
        if not command.startswith("perf ") or "build-id.c" not in said:
            break
        time.sleep(1)
    return int(line.split()[1]), said


shell = subprocess.Popen(["bash", "-o", "pipefail"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace",
                         env=dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache")))
for command, printed in commands:
    if any(re.search(rf"\b{tool}\b", command) for tool in MISSING):
        tap.skip(f"README.md: {command}", f"{' or '.join(MISSING)} is not installed")
        continue
    status, said = runs(shell, command)
    # head and grep end before what they read from does
    tap.check(status == 0 or status == 141, f"README.md: {command}", (status, said[-2000:]))
    if command.startswith("awk"):  # the heaviest stacks of another run are other ones of its stacks
        said += runs(shell, command.split("|")[0])[1]
        whole = [shapes(line) for line in said.splitlines()]
        tap.check(any(shapes(line) in whole for line in printed), f"README.md: one of the stacks that {command} prints is there from root to leaf",
                  [shapes(line) for line in printed], said[-1500:])
    have_words = {w for line in said.splitlines() for w in shapes(line)}
    wanted = [w for line in printed for w in shapes(line)]
    if command.startswith("capture"):
        wanted = [w for line in printed if "PMU" not in line for w in shapes(line)]  # or there is one
    if wanted and re.match(r"resolve (-f top|--stats|--verify-unwind)|awk|capture", command):
        tap.check(sum(w in have_words for w in wanted) >= 0.8 * len(wanted), f"README.md: what {command} prints",
                  (sorted(set(wanted) - have_words), said[-1500:]))
shell.stdin.close()
# What the commands have left is what it says it is.
for path, begin in (("profile.html", b"<!DOCTYPE html>"), ("flame.svg", b"<?xml"), ("both.svg", b"<?xml"), ("profile.pb.gz", b"\x1f\x8b"), ("out.folded", b"threads;")):
    with open(f"build/demo/{path}", "rb") as f:
        got = f.read(1 << 20)
    tap.check(got.startswith(begin) and len(got) > 200, f"README.md: {path} is there", got[:60])
for path in re.findall(r"\]\((doc/[^)]*)\)", text):
    tap.check(os.path.getsize(os.path.join(TOP, path)) > 1000, f"README.md: {path} is there")
shell.wait()
shutil.rmtree("build")
tap.end()

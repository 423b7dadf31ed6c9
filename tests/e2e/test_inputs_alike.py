#!/usr/bin/env python3
"""One input, the same twice, both sides of a comparison: what is said of each is the same, whichever command loads it."""
import os
import re
import struct

from common import BIN, RESOLVE, Tap, run
from perfsynth import Jitdump, Recording

REGRESS = os.path.join(BIN, "regress")
PID, CODE = 4242, 0x7F0000000000
tap = Tap()


def write(name, jitdump=None, strange=False):
    r = Recording(monotonic=True)
    r.comm(PID, "jitted", 1, exec=True)
    r.mmap2(PID, CODE, 0x1000, 0, "//anon", 2)
    if jitdump:
        r.mmap2(PID, CODE + 0x10000, 0x1000, 0, os.path.abspath(jitdump), 3)
    for i in range(20):
        r.sample(PID, CODE + 0x10, 1000 + i)
    if strange:
        r.record(200, 0, bytes(8))  # of the future: skipped, and no damage
    return r.write(name)


def both(*options, data):
    one, two = (run([RESOLVE, *options, "-o", "out.folded", *files], check=False) for files in ([data], [data, data]))
    return one, two


# --strict: a record that was not used is a loss, of one input and of two.
write("strange.data", strange=True)
one, two = both("--strict", data="strange.data")
tap.check(one.returncode == two.returncode == 1, "--strict: the same status for one input and for it twice", one, two)
tap.check("--strict: 0 samples were lost while recording, 1 records skipped" in one.stderr and two.stderr.count("1 records skipped") >= 2,
          "--strict: says what was lost, of each input", one.stderr, two.stderr)
one, two = both(data="strange.data")
tap.check(one.returncode == two.returncode == 0, "without --strict it is no damage", one, two)

# A jitdump that ends inside of a record.
dump = Jitdump(PID)
dump.load(5, CODE, 0x100, "compiled")
dump.load(6, CODE + 0x200, 0x100, "later")
path = dump.write(f"jit-{PID}.dump")
os.truncate(path, os.path.getsize(path) - 20)
write("jit.data", path)
one, two = both(data="jit.data")
says = f"{path}: the jitdump ends inside of a record at offset"
tap.check(one.stderr.count(says) == 1 and two.stderr.count(says) == 2, "a cut jitdump is told for one input and for two", one.stderr, two.stderr)

# Why there are no samples, too.
r = Recording()
r.comm(PID, "idle", 1)
r.write("empty.data")
one, two = both(data="empty.data")
tap.check(one.returncode == two.returncode == 2 and one.stderr == two.stderr and "records read" in one.stderr,
          "an input without samples: the same words", one.stderr, two.stderr)
with open("cut.data", "wb") as f:
    f.write(open("strange.data", "rb").read()[:900])
one, two = both(data="cut.data")
tap.check(one.returncode == two.returncode != 0 and "cut.data: the file ends" in one.stderr and "cut.data: the file ends" in two.stderr,
          "a cut file: its note begins with its name", one.stderr, two.stderr)
with open("neither.data", "wb") as f:
    f.write(b"\x01\x02\x03\x04neither" * 40)
one, two = both(data="neither.data")
tap.check(one.returncode == two.returncode == 2 and one.stderr == two.stderr, "what is no input: the same words", one.stderr, two.stderr)

# regress reads with resolve's settings, and forges none.
with open("stacks.folded", "w") as f:
    f.write("a;main;f 300\na;main;g 400\n")
for setting in ("auto", "full", "off"):
    env = dict(os.environ, UNSPOOL_DEBUGINFOD=setting, DEBUGINFOD_URLS="http://127.0.0.1:9/")
    for data in ("strange.data", "stacks.folded"):
        p = run([REGRESS, "--force", "--base", data, "--new", data], check=False, env=env)
        tap.check(p.returncode in (0, 3) and "change" in p.stdout, f"UNSPOOL_DEBUGINFOD={setting} regress of {data}", p)
p = run([REGRESS, "--base", "stacks.folded", "--new", "stacks.folded"], check=False, env=dict(os.environ, UNSPOOL_DEBUGINFOD="perhaps"))
tap.check(p.returncode == 2 and "UNSPOOL_DEBUGINFOD" in p.stderr, "UNSPOOL_DEBUGINFOD=perhaps: regress refuses it as resolve does", p)

# Every line begins with the name of the command, not with its path or with a subcommand.
for command, words in (("resolve", []), ("regress", []), ("regress", ["run"]), ("regress", ["confirm"]), ("capture", [])):
    for option in ("--no-such-option", "-Y", "--version=3"):
        p = run([os.path.join(BIN, command), *words, option], check=False)
        tap.check(p.returncode == 2 and p.stderr and all(line.startswith(f"{command}: ") for line in p.stderr.splitlines()),
                  f"{command} {' '.join([*words, option])}: the command's own name", p)
tap.end()

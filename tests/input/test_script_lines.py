#!/usr/bin/env python3
"""Lines of perf script's text that look like others: commands that are numbers or addresses, data before frames, source lines, records that
are no samples. The texts are made as builtin-script.c prints them, so what they say is known."""
import itertools
import json

from tap import Tap
from texts import folded, resolve

tap = Tap()


def root(comm):
    """How a command is written in folded stacks."""
    return comm.strip().replace(" ", "_").replace(";", ":")


FRAMES = "\tffffffff816bb652 fput+0x32 ([kernel.kallsyms])\n\t          1019b3 cc (/usr/lib/libc.so.6)\n\t            12b9 main+0x5d (/app/x)\n\n"
LEAF = "ffffffff816bb652 fput+0x32 ([kernel.kallsyms])"


def head(comm, chain, tid="31021", time="100.000001", period=2000000, event="cpu-clock", cpu=None, width=5, misc="", tod="", ids=True):
    """The fields as perf 6.1 (width 5) and 7.2 (width 7) print them."""
    out = f"{comm} " if chain else f"{comm:>16} "
    out += f"{tid:>{width}} " if ids and "/" not in tid else "{:>{w}}/{:<{w}} ".format(*tid.split("/"), w=width) if ids else ""
    out += f"[{cpu:03}] " if cpu is not None else ""
    out += f"{misc:<5} " if misc else ""
    out += tod
    out += f"{time + ':':>13} " if time else ""
    out += f"{period:10} " if period is not None else ""
    return out + (f"{event}: " if event else "")


def sample(comm, chain, **how):
    return head(comm, chain, **how) + ("\n" + FRAMES if chain else f" {LEAF}\n")


COMMS = ["dd", "cc1", "cc", "ab", "ed", "ada", "beef", "deadbeef", "a", "0", "7", "1234", "12345678", "pool 7", "pool 12345", "a 1 2 3", "kworker/0:1", "x [001]", "[kthreadd]",
         "x:", "a: b:", "cycles:", "1.5", "9 1.0:", "1/2", "-1", "(sd-pam)", "é", "線程 1", "#1", "a;b", "0x12", "K", "swapper", ":-1", "PERF_RECORD_X", "ffffffff816bb652"]

# Every command in every form of the line, in one text with all the others, and in a text of its own.
for chain, tid, width, extra in itertools.product((True, False), ("31021", "7", "31021/31022", "7/7"), (5, 7), (
        {}, {"cpu": 1}, {"misc": "U"}, {"cpu": 3, "misc": "KS"}, {"tod": "2026-11-26 01:15:31.123456 "}, {"time": "100.000001234"}, {"period": None}, {"event": "raw 0x1c2"})):
    text = "".join(sample(c, chain, tid=tid, width=width, **extra) for c in COMMS)
    tail = ";main;cc;fput" if chain else ";fput"
    weight = 2000000 if extra.get("period", 1) else 1
    code, out, err = resolve(text)
    want = {root(c) + tail: weight for c in COMMS}
    bad = {k: (want.get(k), folded(out).get(k)) for k in {*want, *folded(out)} if want.get(k) != folded(out).get(k)}
    tap.check(code == 0 and not bad, f"{len(COMMS)} commands, {'chains' if chain else 'no chains'}, ids {tid}, {width} columns, {extra}", bad, err)
alone = {}
for c, chain in itertools.product(COMMS, (True, False)):
    code, out, err = resolve(sample(c, chain) * 2, "--with-tid")
    if code or folded(out) != {root(f"{c}-?/31021") + (";main;cc;fput" if chain else ";fput"): 4000000}:
        alone[c, chain] = (code, out, err)
tap.check(not alone, "the same commands, each alone in a text", alone)
no_time = {}
for c, chain, period in itertools.product([c for c in COMMS if not c.endswith(":") and c != "#1"], (True, False), (1001001, None)):
    code, out, err = resolve(sample(c, chain, time=None, period=period) * 2, "--with-tid")
    if code or folded(out) != {root(f"{c}-?/31021") + (";main;cc;fput" if chain else ";fput"): 2 * (period or 1)}:
        no_time[c, chain, period] = (code, out, err)
tap.check(not no_time, "and without a time", no_time)

# ---- fields that are not there -----------------------------------------------------------------------------------------
code, out, err = resolve((head("", True)[1:] + "\n" + FRAMES) * 3, "--with-tid")
tap.check(code == 0 and folded(out) == {":31021;main;cc;fput": 6000000} and "no command" in err, "no command: no invented one, the period is the weight, and that is said", out, err)
code, out, err = resolve(sample("dd", True, ids=False) + sample("pool 7", True, ids=False))
tap.check(code == 0 and folded(out) == {"dd;main;cc;fput": 2000000, "pool_7;main;cc;fput": 2000000}, "no ids: numbers belong to the command", out, err)
code, out, err = resolve(sample("dd", True, period=None) * 3)
tap.check(code == 0 and folded(out) == {"dd;main;cc;fput": 3} and "3 samples have no period" in err, "no period: each is one, and that is said", out, err)
for form, key in (("script", "0 cpu-clock"), ("jsonl", "period")):
    code, out, err = resolve(sample("dd", True, period=None), "-f", form, "-q")
    tap.check(code == 0 and out and key not in out and "2147483648" not in out, f"{form}: no invented period and process", out, err)
code, out, err = resolve("".join(f"{c:>16} 8280  {LEAF}\n" for c in ("cc1", "dd")))
tap.check(code == 0 and folded(out) == {"cc1;fput": 1, "dd;fput": 1}, "-F comm,tid,ip,sym,dso without chains: commands like addresses", out, err)
code, out, err = resolve(f" {LEAF}\n" * 3)
tap.check(code == 0 and folded(out) == {"fput": 3}, "-F ip,sym,dso without chains: each line is a sample", out, err)
code, out, err = resolve(FRAMES * 2)
tap.check(code == 0 and folded(out) == {"main;cc;fput": 2}, "-F ip,sym,dso: only frames", out, err)
code, out, err = resolve(("dd 31021 \n" + FRAMES) * 2)
tap.check(code == 0 and folded(out) == {"dd;main;cc;fput": 2}, "-F comm,tid,ip,sym,dso: neither time nor event", out, err)
flat = sample("dd", True).replace("\t", "").replace("          1019b3", "1019b3").replace("            12b9", "12b9")
code, out, err = resolve(flat + sample("cc1", True).replace("\t", ""))
tap.check(code == 0 and folded(out) == {f"{c};main;cc;fput": 2000000 for c in ("dd", "cc1")}, "frames without indentation", out, err)
code, out, err = resolve(sample("dd", True).expandtabs(8) + sample("cc1", True).expandtabs(8))
tap.check(code == 0 and folded(out) == {f"{c};main;cc;fput": 2000000 for c in ("dd", "cc1")}, "frames behind spaces instead of a tab", out, err)

# ---- data are no frames ----------------------------------------------------------------------------------------------
for what, data in {"an address": "    7f0aaa  ", "an address with a name": "    55a6ae76e5c0 __progname+0x0 (/usr/bin/ls)", "an address, no name": "    7fff70d19f70 [unknown] ([stack])",
                   "perf mem": "    7f0aaa     68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A              12 "}.items():
    for chain in (True, False):
        line = head("dd", chain, event="page-faults") + data
        text = line + ("\n" + FRAMES if chain else f" {LEAF}\n")
        code, out, err = resolve(text * 2)
        tap.check(code == 0 and folded(out) == {"dd" + (";main;cc;fput" if chain else ";fput"): 4000000}, f"{what} before {'a chain' if chain else 'a frame'}: no frame", out, err)
        row = json.loads(resolve(text, "-f", "jsonl", "-q")[1])
        tap.check(row.get("addr") == hex(int(data.split()[0], 16)) and row.get("trace") == data.strip(), f"{what}: kept in jsonl", row)
FIELDS = "prev_comm=dd prev_pid=12 prev_state=R+ ==> next_comm=add next_pid=31"
for chain in (True, False):
    text = head("dd", chain, period=None, event="sched:sched_switch") + FIELDS + ("\n" + FRAMES if chain else "\n")
    code, out, err = resolve(text, "-f", "script")
    tap.check(code == 0 and f"sched:sched_switch: {FIELDS}" in out, f"fields of a tracepoint {'with' if chain else 'without'} a chain: kept in script", out, err)
    tap.check(json.loads(resolve(text, "-f", "jsonl", "-q")[1]).get("trace") == FIELDS, "and in jsonl")
    code, out, err = resolve(text)
    tap.check(code == 0 and not err and folded(out) == {"dd" + (";main;cc;fput" if chain else ""): 1}, "and no frames in folded", out, err)

# ---- lines below frames, and between samples ----------------------------------------------------------------------------
SRC = sample("dd", True).replace("([kernel.kallsyms])\n", "([kernel.kallsyms])\n  [kernel.kallsyms][ffffffff816bb652]\n").replace(
    "\t          1019b3", "\t          1019b3 inner\n  i.h:7 (inlined)\n\t          1019b3").replace("libc.so.6)\n", "libc.so.6)\n  c.c:12\n").replace("(/app/x)\n", "(/app/x)\n  ??:0\n")
code, out, err = resolve(SRC * 2)
tap.check(code == 0 and not err and folded(out) == {"dd;main;cc;inner;fput": 4000000}, "+srcline: no damage, and the frames are right", out, err)
code, out, err = resolve(SRC, "-f", "jsonl")
stack = json.loads(out)["stack"]
tap.check([(f["sym"], f.get("file"), f.get("line"), f.get("inlined")) for f in stack] == [("fput", None, None, None), ("inner", "i.h", 7, True), ("cc", "c.c", 12, None), ("main", None, None, None)],
          "+srcline: the lines are kept", stack)
code, out, err = resolve(SRC.replace("libc.so.6)\n  c.c:12\n", "libc.so.6)\n  c.c:12 (inlined)\n"))
tap.check(code == 0 and folded(out) == {"dd;main;cc;inner;fput": 2000000}, "+srcline: '(inlined)' behind a function with a module, as perf 6.1 prints it, loses none", out, err)
RECORDS = ("swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) @ 0xffffffff81000000]: x [kernel.kallsyms]_text\n"
           "perf-exec     0     0.000000: PERF_RECORD_COMM: perf-exec:31065/31065\n"
           "dd 31065  1674.934516: PERF_RECORD_MMAP2 31065/31065: [0x55f4ae494000(0xe000) @ 0x2000 fe:00 247241 0]: r-xp /usr/bin/dd\n")
for chain in (True, False):
    code, out, err = resolve(RECORDS + sample("dd", chain) + RECORDS + sample("dd", chain) + RECORDS)
    tap.check(code == 0 and not err and folded(out) == {"dd" + (";main;cc;fput" if chain else ";fput"): 4000000}, "--show-mmap-events: records are no samples and no damage", out, err)
REGS = " ABI:2    AX:0x0    BX:0x1    SP:0x7ffd\n"
code, out, err = resolve(sample("dd", True).replace("(/app/x)\n", "(/app/x)\n" + REGS) + head("dd", False) + f" {LEAF}{REGS}")
tap.check(code == 0 and folded(out) == {"dd;main;cc;fput": 2000000, "dd;fput": 2000000}, "-F +uregs: registers are no frames", out, err)
code, out, err = resolve("Failed to open /tmp/perf-77.map, continuing without symbols\n" + sample("dd", True))
tap.check(code == 1 and folded(out) == {"dd;main;cc;fput": 2000000} and "line 1" in err, "a message before the text: counted, the rest is read", out, err)
kinds = {"[anon:v8]": "_[j]", "[stack:123]": "", "[JIT] tid 77": "_[j]", "[vdso]": "", "[nf_conntrack]": "_[k]", "[kernel.kallsyms]": "_[k]", "//anon": "_[j]", "[heap]": ""}
for dso, mark in kinds.items():
    code, out, err = resolve(head("x", True) + f"\n\t            12b9 f+0x5d ({dso})\n\n", "--all")
    tap.check(folded(out) == {f"x;f{mark}": 2000000}, f"{dso}: {'marked ' + mark if mark else 'user code'}", out, err)

# ---- resolve's own text ------------------------------------------------------------------------------------------------
for chain in (True, False):
    text = "".join(sample(c, chain, cpu=1) for c in COMMS)
    once = resolve(text, "-f", "script", "--ns")[1]
    code, twice, err = resolve(once, "-f", "script", "--ns")
    tap.check(code == 0 and once == twice and once.count("cpu-clock:") == len(COMMS), "our own text of them, read and written again: the same bytes", err, list(zip(once.splitlines(), twice.splitlines()))[:2])
    tap.check(folded(resolve(once)[1]) == folded(resolve(text)[1]), "and the same stacks")
tap.end()

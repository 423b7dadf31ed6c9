#!/usr/bin/env python3
"""Parameters in all frames (resolve --args) against gdb's backtrace of the same state: gdb steps programs, its registers and
stack become a recording, and both tell the values. Wherever both tell one it is the same one. What ours does not tell:

- gdb reads all registers and all memory; recordings have neither floating-point registers nor what lies below the stack
  pointer, where leaf functions of -O0 keep their parameters, nor the heap or variables of the program.
- At the beginning of a function of -O0, before it has stored its parameters, gdb shows what was there before: those values
  are wrong. Ours takes the registers at the first instruction and says nothing at the next ones.
- clang's location lists keep parameters in registers up to the end of a call that may overwrite them; ours does not."""
import json
import os
import pickle
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../unwind"))
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from tap import LONG, Tap  # noqa: E402

tap = Tap()
REGS = "rax rbx rcx rdx rsi rdi rbp rsp rip eflags cs ss r8 r9 r10 r11 r12 r13 r14 r15".split()  # by asm/perf_regs.h
MASK, STACK_BYTES = 0xff0fff, 16384
RESOLVE = os.path.join(os.environ["BIN"], "resolve")
POINTS = int(os.environ.get("VALUES_POINTS", "60"))
UNKNOWN = ("<optimized out>", "?", "...")


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **kw)


def have(program):
    return shutil.which(program) is not None


def split(text):
    """{name: value} of "a=1, b={x = 1, y = 2}, c=0x1 "a, b\""."""
    out, at, depth, quote, start = {}, 0, 0, "", 0
    while at <= len(text):
        c = text[at:at + 1]
        if quote:
            at += c == "\\"
            quote = "" if c == quote else quote
        elif c in ('"', "'") and c:
            quote = c
        elif c and c in "{(":
            depth += 1
        elif c and c in "})":
            depth -= 1
        elif not c or (not depth and text.startswith(", ", at)):
            name, _, value = text[start:at].partition("=")
            if name:
                out[name] = value
            start = at + 2
        at += 1
    return out


def gdbs_frames(text, tails):
    """[(function, values)] of a backtrace."""
    out = []
    for line in text.splitlines():
        m = re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?(.*?) \((.*)\)(?: (?:at|from) \S+)?$", line)
        if m and int(m[1]) not in tails:
            # a function by its address alone
            out.append((m[2], {k: re.sub(r"^(0x[0-9a-f]+) <\w+>$", r"\1", v) for k, v in split(m[3]).items()}))
    return out


def our_samples(data):
    samples = []
    for line in run(RESOLVE, "-q", "--no-cache", "--args", "-f", "script", data).stdout.splitlines():
        if line.startswith("\t"):
            name = line.split(None, 1)[1].rsplit(" (", 1)[0]
            samples[-1].append((re.sub(r"\+0x[0-9a-f]+$", "", name), {}))
        elif line.startswith("#\t"):
            samples[-1][-1] = (samples[-1][-1][0], split(line[2:].strip()))
        elif line.strip():
            samples.append([])
    return samples


def check_jsonl2(name, data, samples):
    """The texts of "args" are those of script, one for each frame."""
    lines = [json.loads(line) for line in run(RESOLVE, "-q", "--no-cache", "--args", "-f", "jsonl2", data).stdout.splitlines()]
    stacks = [None] + [line["frames"] for line in lines if "frames" in line]
    got = [(len(stacks[line["stack"]]) if "stack" in line else 0, line.get("args", [])) for line in lines if "t_ns" in line]
    want = [[values for _, values in frames] for frames in samples]
    with_values = sum(any(values) for values in want)
    bad = [(w, args) for w, (_, args) in zip(want, got) if any(w) and [split(a) for a in args] != w]
    tap.check(len(got) == len(want) and with_values > 20 and not bad and all(len(args) in (0, n) for n, args in got),
              f"{name}: jsonl2 has the parameters of {with_values} stacks as script has them", len(got), len(want), bad[:2])


def only_own(frames):
    return [(re.search(r"f_\w+|everything|$", n)[0], v) for n, v in frames if re.search(r"\bf_\w+|everything", n) and "lambda" not in n]


def is_known(value):
    return not any(u in value for u in UNKNOWN)


def entries(program):
    out = run("nm", program).stdout.splitlines()
    return {int(line.split()[0], 16) for line in out if len(line.split()) == 3 and line.split()[1] in "tTwW"}


def compare(points, samples, begins):
    """What gdb tells and we do: (same, other ones, only gdb, only ours). begins: where gdb's values are from before."""
    same, wrong, missing, more, frames = 0, [], [], 0, 0
    for (regs, _, text, tails), ours in zip(points, samples):
        theirs, ours = only_own(gdbs_frames(text, tails)), only_own(ours)
        if [n for n, _ in theirs] != [n for n, _ in ours]:
            continue
        for i, ((function, a), (_, b)) in enumerate(zip(theirs, ours)):
            frames += 1
            for key, value in b.items():
                if not is_known(value) or (not i and regs["rip"] in begins):
                    continue
                told = a.get(key, "<optimized out>").replace("<error: Cannot access", "<optimized out>")
                told = re.sub(r"^(@0x\w+): .*", r"\1", told)
                told = re.sub(r"\b\w+::", "", told)  # scopes of enumerators
                if is_known(told) and told != value and re.match(r"0x\w+ \"", told) and told.split()[0] == value:
                    told = value  # the text is not in the recording
                if not is_known(told):
                    more += 1
                elif told == value:
                    same += 1
                else:
                    wrong.append((hex(regs["rip"]), i, function, key, told, value))
            missing += [(hex(regs["rip"]), i, function, k, v) for k, v in a.items() if "@entry" not in k and is_known(v) and not is_known(b.get(k, "?"))]
    return same, wrong, missing, more, frames


def record(compiler, source, points_max, *flags):
    """Steps the program by gdb: (its name, points, what resolve says of them, addresses of its functions); None: told why not."""
    name = f"{compiler} {source} {' '.join(flags)}"
    program = os.path.abspath("p" + re.sub(r"\W", "_", name))
    more = [] if compiler == "rustc" else ["-fno-stack-protector"]
    made = run(compiler, "-g", *flags, *more, os.path.join(HERE, source), "-o", program)
    if made.returncode:
        tap.skip(name, made.stderr.splitlines()[-1] if made.stderr else "cannot be compiled")
        return None
    out = program + ".pickle"
    r = run("gdb", "-nx", "-q", "-batch", "-x", os.path.join(HERE, "gdb_args.py"), timeout=300, env=dict(
        os.environ, ARGS_PROGRAM=program, ARGS_OUT=out, ARGS_REGS=" ".join(REGS), ARGS_POINTS=str(points_max), ARGS_LANGUAGE="c" if compiler == "rustc" else "auto"))
    if not os.path.exists(out):
        tap.check(False, f"{name}: stepped by gdb", r.stdout[-1000:] + r.stderr[-2000:])
        return None
    with open(out, "rb") as f:
        maps, points = pickle.load(f)
    w = PerfWriter("x86_64", ABI_64, MASK, STACK_BYTES)
    w.comm("values")
    for line in maps.splitlines():
        f = line.split()
        if len(f) > 5 and f[5].startswith("/") and "x" in f[1]:
            start, end = (int(x, 16) for x in f[0].split("-"))
            w.mmap(start, end, int(f[2], 16), f[1], f[5])
    for regs, stack, _, _ in points:
        w.sample(regs["rip"], [regs[n] for n in REGS], stack)
    w.write(program + ".data")
    samples = our_samples(program + ".data")
    base = next(int(line.split("-")[0], 16) for line in maps.splitlines() if line.endswith(program))
    return name, points, samples, {base + e for e in entries(program)}


def check_constants(compiler, *flags):
    """Values that are known by construction, also where gdb's are those of before."""
    got = record(compiler, "constants.c", 3 * POINTS, *flags)
    if not got:
        return
    name, points, samples, _ = got
    truth = {"a": "7", "b": "8", "c": "9"}
    told = [(hex(point[0]["rip"]), i, function, key, value) for point, frames in zip(points, samples) for i, (function, values) in enumerate(only_own(frames))
            for key, value in values.items() if function != "f_other" and key.replace("@entry", "") in truth and is_known(value)]
    wrong = [t for t in told if t[4] != truth[t[3].replace("@entry", "")]]
    tap.check(not wrong and len(samples) == len(points), f"{name}: each value told is the true one", len(wrong), *wrong[:12])
    tap.check(len(told) > len(points) / 10, f"{name}: {len(told)} values are told at {len(points)} points", told[:5])


def check(compiler, source, *flags):
    got = record(compiler, source, POINTS, *flags)
    if not got:
        return
    name, points, samples, begins = got
    if flags == ("-O0",):
        check_jsonl2(name, os.path.abspath("p" + re.sub(r"\W", "_", name) + ".data"), samples)
    begins = begins if "-O0" in flags or "opt-level=0" in flags else ()
    same, wrong, missing, more, frames = compare(points, samples, begins)
    tap.check(len(samples) == len(points) and frames > len(points), f"{name}: {len(points)} points, {frames} frames", len(samples), samples[:1])
    tap.check(not wrong, f"{name}: no value is another one than gdb's", len(wrong), *wrong[:12])
    callers = [m for m in missing if m[1]]
    # What can be told of Rust's innermost frames depends on the release of its compiler.
    tap.check(same > 4 * len(callers) and (same > len(missing) or compiler == "rustc"), f"{name}: {same} values are gdb's; gdb alone tells {len(callers)} of callers, "
              f"{len(missing) - len(callers)} of innermost frames; ours alone {more}", *callers[:12])


if os.uname().machine != "x86_64":
    tap.skip("values", "gdb's registers are named for x86-64 here")
else:
    matrix = (("gcc", "values.c", ["-O0"]), ("gcc", "values.c", ["-O2"]), ("gcc", "values.c", ["-O2", "-flto"]), ("gcc", "values.c", ["-O3", "-gdwarf-4"]), ("g++", "values.cc", ["-O2"]),
              ("clang", "values.c", ["-O2"]))
    if LONG:
        matrix = [(c, "values.c", [o]) for c in ("gcc", "clang") for o in ("-O0", "-O1", "-O2", "-O3", "-Og")] + [
            (c, "values.cc", [o]) for c in ("g++", "clang++") for o in ("-O0", "-O2", "-O3")]
    matrix = (*matrix, *(("rustc", "values.rs", ["-C", f"opt-level={o}"]) for o in ((0, 2, 3) if LONG else (0,)) if have("rustc")))
    for compiler, source, flags in matrix:
        check(compiler, source, *flags)
    for compiler, *flags in (("gcc", "-O0"), ("gcc", "-O2", "-fno-var-tracking"), ("clang", "-O0"), ("clang", "-O1")):
        check_constants(compiler, *flags)
tap.end()

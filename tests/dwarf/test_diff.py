#!/usr/bin/env python3
"""Random addresses of real code: inline chains, files and lines against llvm-symbolizer and eu-addr2line.

	test_diff.py [-n ADDRESSES] [FILE...]

Without FILE a program is built with gcc and with clang. Differences are sorted into classes that are
known and say who is right (CLASSES); what is left over must be below 0.1 %.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys

TOOL = os.path.join(os.environ["BUILD"], "tests/dwarf/tool_dwarf")
SRC = os.path.join(os.environ["TOP"], "tests/dwarf/sources")

CLASSES = {
    "same": "",
    "outermost name": "llvm takes it from the symbol table (aliases, .cold, .isra, folded functions, C2 for C4); "
                      "ours is that of the DIE: resolve has the symbol table for itself",
    "no DIE": "PLT and start-up code: llvm names the nearest symbol, DWARF says nothing",
    "line 0": "code of no line: llvm says 0, ours the line before it in the same function",
    "past the end": "start-up code behind the last row of a sequence: elfutils gives it that row",
    "padding": "between functions: the line table goes on, no function does",
}


def code_ranges(exe):
    out = subprocess.run(["readelf", "-SW", exe], capture_output=True, text=True).stdout
    found = re.findall(r"\] \S+\s+\w+\s+([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+) \S+\s+\w*X\w* ", out)
    return [(int(a, 16), int(s, 16)) for a, s in found]


def random_addresses(exe, n):
    ranges = code_ranges(exe)
    rng = random.Random(7)
    total = sum(s for _, s in ranges)
    out = set()
    for _ in range(n):
        k = rng.randrange(total)
        for start, size in ranges:
            if k < size:
                out.add(start + k)
                break
            k -= size
    return sorted(out)


def ask(exe, addresses, threads):
    text = "\n".join(hex(a) for a in addresses)
    cmd = [TOOL, "-j", str(threads), exe]
    return subprocess.run(cmd, input=text, capture_output=True, text=True, check=True).stdout


def ours(exe, addresses):
    """{address: [(linkage name, name, file, line)]}"""
    out, frames = {}, None
    for line in ask(exe, addresses, 2).split("\n")[:-1]:
        f = line.split("\t")
        if len(f) == 1:
            frames = out.setdefault(int(line, 16), [])
        elif len(f) == 5:
            frames.append(("", "", clean(f[3]), int(f[4])))
        else:
            frames.append((f[1].strip("-"), f[2], clean(f[3]), int(f[4])))
    return out


def clean(path):
    return "" if path in ("-", "??", "") else os.path.normpath(path)


def same_name(o, other):
    """Both give linkage names; without one, ours has scopes and parameters and theirs has not."""
    ours = o[1]
    if ours.endswith((")", ") const", ")&", "&")) and not o[0]:
        plain = re.match(r"operator(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|[^\w<>()\s]+)|[^<]*", other)[0]
        if not plain:  # "<lambda(int)>": the closure's call operator
            return other.startswith("<lambda") and "{lambda" in ours
        if plain.startswith("operator ") or plain.startswith("operator\""):
            return "::operator " in ours or plain.replace(" ", "") in ours
        return bool(re.search(rf"(^|[: ]){re.escape(plain)} ?[<(]", ours))
    return other in o[:2] or ours.endswith("::" + other)


# ---- llvm-symbolizer -----------------------------------------------------------------------------


def llvm(exe, addresses):
    cmd = ["llvm-symbolizer", "--obj=" + exe, "--inlines", "--functions=linkage", "--no-demangle",
           "--output-style=JSON"]
    p = subprocess.run(cmd, input="\n".join(hex(a) for a in addresses), capture_output=True, text=True)
    out = {}
    for line in filter(str.strip, p.stdout.splitlines()):
        answer = json.loads(line)
        for e in answer if isinstance(answer, list) else [answer]:
            out[int(e["Address"], 16)] = [(s["FunctionName"], clean(s["FileName"]), s["Line"]) for s in e["Symbol"]]
    return out


def classify(o, l):
    if not o and all(not f[2] for f in l):
        return "same" if not l or not l[0][0] else "no DIE"
    if len(o) == 1 and not o[0][1] and all(not f[2] for f in l):
        return "padding"
    if len(o) != len(l):
        return "chain differs"
    zero = any(f[2] == 0 for f in l)
    if any(a[2:] != b[1:] and b[2] for a, b in zip(o, l)):
        return "line differs"
    if any(not same_name(a, b[0]) for a, b in zip(o[:-1], l)):
        return "inlined name differs"
    if any(b[1] and not a[2] for a, b in zip(o, l)):
        return "file lost"
    if zero:
        return "line 0"
    return "same" if same_name(o[-1], l[-1][0]) else "outermost name"


# ---- eu-addr2line --------------------------------------------------------------------------------


def elfutils(exe, addresses):
    out = {}
    p = subprocess.run(["eu-addr2line", "-a", "-i", "-f", "-e", exe, *(hex(a) for a in addresses)],
                       capture_output=True, text=True)
    frames, name = None, None
    for line in p.stdout.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames, name = out.setdefault(int(line, 16), []), None
        elif name is None:
            name = line.split(" inlined at ")[0]
        else:
            m = re.match(r"(.*?):(\d+)(:\d+)?( \(.*\))?$", line)
            frames.append((name, clean(m.group(1)), int(m.group(2))))
            name = None
    return out


def classify_elfutils(o, e):
    if all(not f[2] for f in e):
        return "same" if not o else "line 0" if o[0][1] else "padding"
    if not o:
        return "past the end"
    if len(o) == 1 and not o[0][1] and o[0][2:] == e[0][1:]:
        return "padding"  # elfutils goes on with the function before it
    # its chain may end before the outermost function
    if [f[2:] for f in o[:len(e)]] != [f[1:] for f in e]:
        return "line 0" if any(not f[2] for f in e) else "line differs"
    if any(not same_name(a, b[0]) for a, b in list(zip(o, e))[:-1]):
        return "inlined name differs"
    return "same"


# ---- comparing -----------------------------------------------------------------------------------


def compare(exe, label, mine, theirs, how, known=CLASSES):
    counts, examples = collections.Counter(), collections.defaultdict(list)
    for a, l in theirs.items():
        kind = how(mine.get(a, []), l)
        counts[kind] += 1
        if kind not in known and len(examples[kind]) < 3:
            examples[kind].append((hex(a), mine.get(a), l))
    bad = sum(n for k, n in counts.items() if k not in known)
    for kind, found in examples.items():
        for e in found:
            print(f"  {kind}: {e[0]}\n    ours   {e[1]}\n    theirs {e[2]}")
    ok = theirs and bad <= len(theirs) // 1000
    print(f"{'ok' if ok else 'not ok'} - {exe} and {label}: {len(theirs)} addresses, {dict(counts)}", flush=True)
    return not ok


def build():
    for cxx in ("g++", "clang++"):
        exe = "words." + cxx.strip("+")
        if not shutil.which(cxx):
            print(f"ok - {cxx} # SKIP no {cxx}")
            continue
        subprocess.run([cxx, "-std=c++17", "-O2", "-g", "-o", exe, os.path.join(SRC, "words.cc")], check=True)
        yield exe


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=4000)
    ap.add_argument("--elfutils", type=int, default=150, help="addresses to ask eu-addr2line for")
    ap.add_argument("files", nargs="*")
    a = ap.parse_args()
    failed = False
    for exe in a.files or build():
        addresses = random_addresses(exe, a.n)
        mine = ours(exe, addresses)
        name = os.path.basename(exe)
        alike = len({ask(exe, addresses, threads) for threads in (1, 2, 5)}) == 1
        print(f"{'ok' if alike else 'not ok'} - {name}: the same with 1, 2 and 5 threads")
        failed |= not alike
        if shutil.which("llvm-symbolizer"):
            failed |= compare(name, "llvm-symbolizer", mine, llvm(exe, addresses), classify)
        else:
            print(f"ok - {name} # SKIP no llvm-symbolizer")
        if "clang" in name:
            continue  # elfutils before 0.191 needs .debug_aranges
        if a.elfutils and shutil.which("eu-addr2line"):
            few = addresses[:: max(1, len(addresses) // a.elfutils)]
            failed |= compare(name, "eu-addr2line", mine, elfutils(exe, few), classify_elfutils)
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The sources compile for 32-bit processors, which have no 128-bit type, other sizes and other signs of comparisons.

Half of the time would go by until the compiler has begun, and half of the rest for headers, so several sources that define no name twice
are compiled as one. Where that does not do, its halves are, at last each alone: only what is said then counts."""
import glob
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tap import Tap

STAGES = "base reader modules functions dwarf demangle symbolize unwind stitch profile input output load report regress capture cmd".split()
TOGETHER = 12
# What a source defines for itself, as the tree is formatted: at the beginning of a line.
DEFINED = re.compile(r"""^(?:\#\s*define\s+(\w+)
                         |(?:typedef\s+)?(?:static\s+|const\s+)*(?:struct|union|enum)\s+(\w+)\s*\{
                         |typedef\s.*?(\w+)(?:\)\(.*\))?;
                         |\}\s*(\w+);
                         |\t([A-Z][A-Z0-9_]+)(?:\s*=.*)?,
                         |[a-z].*?(\w+)(?:\[.*?\])*\s*(?:\(|=|;))""", re.M | re.X)
os.chdir(os.environ["TOP"])
tap = Tap()
multiarch = subprocess.run(["gcc", "-print-multiarch"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
# The kernel's headers are those of the 64-bit one: they know both.
GCC = ["gcc", "-m32", "-fsyntax-only", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
       '-DUNSPOOL_VERSION="0"', "-I.", *(["-isystem", f"/usr/include/{multiarch}"] if multiarch else [])]


def names_of(path):
    with open(path) as f:
        text = f.read()
    found = {next(filter(None, m.groups())) for m in DEFINED.finditer(text)}
    # enum { A, B } in one line
    for body in re.findall(r"enum\b[^;{}]*\{([^}]*)\}", text):
        found |= set(re.findall(r"\b[A-Za-z_]\w*(?=\s*(?:=|,|$))", body))
    return found


def groups(paths):
    """[(names, [sources])]: each source goes to the first group that has none of its names."""
    made = []
    for path in paths:
        mine = names_of(path)
        group = next((g for g in made if len(g[1]) < TOGETHER and not g[0] & mine), None)
        if not group:
            group = set(), []
            made.append(group)
        group[0].update(mine)
        group[1].append(path)
    return [g[1] for g in made]


def said(paths):
    """What the compiler says of them; where they do not go together, of the halves."""
    if len(paths) > 1:
        text = "".join(f'#include "{p}"\n' for p in paths)
        if not subprocess.run([*GCC, "-xc", "-"], input=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True).returncode:
            return ""
        apart.append(paths)
        return said(paths[:len(paths) // 2]) + said(paths[len(paths) // 2:])
    p = subprocess.run([*GCC, *paths], stderr=subprocess.PIPE, text=True)
    return p.stderr or (f"status {p.returncode}" if p.returncode else "")


if subprocess.run(["gcc", "-m32", "-fsyntax-only", "-xc", "-"], input="#include <stdio.h>\n", text=True, stderr=subprocess.DEVNULL).returncode:
    tap.skip("32 bits", "no headers for gcc -m32")
    sys.exit(0)
sources, apart = sorted(p for stage in STAGES for p in glob.glob(f"{stage}/*.c")), []
with ThreadPoolExecutor(2) as pool:
    wrong = [text for text in pool.map(said, groups(sources)) if text]
tap.check(not wrong and len(sources) > 400, f"all {len(sources)} sources compile for 32 bits", *wrong)
print(f"# figures: {len(groups(sources))} groups, of which {len(apart)} do not go together")
tap.end()

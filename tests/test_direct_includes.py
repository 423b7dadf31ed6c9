#!/usr/bin/env python3
"""Each .c file includes the headers of what it names, by itself or by its own folder's headers that it includes: a header may drop an
include that it does not need itself without breaking others (HACKING.md). What is found is what names begin with; comments and strings do
not count."""
import os
import re
import subprocess

from tap import Tap

TOP = os.environ["TOP"]
# Header: names that only it declares.
NAMES = {
    "base/arena.h": r"arena_(?:alloc|dup|done)",
    "base/buf.h": r"buf_(?:put|str|printf|write|flush|end)\w*",
    "base/err.h": r"err_(?:set|errno|nomem|format)|-ERR_[A-Z]+",
    "base/hash.h": r"hash_(?:get|put|done|mix|u64|bytes)|HASH_NONE",
    "base/strtab.h": r"strtab_\w+|STRTAB_FAILED",
    "base/vec.h": r"vec_(?:push|done|reserve)|VEC\(",
    "dwarf/dwarf.h": r"dwarf_index_\w+",
    "functions/functions.h": r"functab_\w+|cfi_fde_\w+|elf_symbols_\w+",
    "input/input.h": r"struct input_result|input_read",
    "modules/modules.h": r"elf_image_\w+|modules_\w+|module_debug",
    "output/output.h": r"struct output_options",
    "profile/profile.h": r"profile_add_\w+|struct profile_(?:sample|location|event)",
    "reader/reader.h": r"address_space_\w+|perf_file_\w+|struct perf_sample|DSO_[A-Z_]+",
    "symbolize/symbolize.h": r"symbolizer_\w+|SYM_MISS_[A-Z_]+",
}
PATTERNS = {header: re.compile(rf"(?<![\w>.])(?:{names})(?!\w)" if not names.endswith("(") else names) for header, names in NAMES.items()}
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
tap = Tap()
seen = {}


def included(path):
    if path not in seen:
        with open(os.path.join(TOP, path)) as f:
            seen[path] = set(re.findall(r'^#include "([^"]+)"', f.read(), re.M))
    return seen[path]


files = subprocess.run(["git", "-C", TOP, "ls-files", "*.c"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
wanted, lacks = 0, []
for path in files:
    folder = os.path.dirname(path)
    if folder.split("/")[0] in ("tests", "bench", "testdata", "packaging") or not os.path.exists(os.path.join(TOP, path)):
        continue
    with open(os.path.join(TOP, path)) as f:
        text = NO_CODE.sub(" ", re.sub(r"^#.*", "", f.read(), flags=re.M))
    direct = included(path)
    near = direct.union(*(included(h) for h in direct if os.path.dirname(h) == folder and os.path.exists(os.path.join(TOP, h))))
    for header, pattern in PATTERNS.items():
        m = pattern.search(text)
        if m and os.path.exists(os.path.join(TOP, header)):
            wanted += 1
            if header not in near:
                lacks.append(f"{path}: {m[0]} is of {header}")
tap.check(wanted > 500 and not lacks, "files include the headers of what they name", wanted, len(lacks), *lacks[:40])
tap.end()

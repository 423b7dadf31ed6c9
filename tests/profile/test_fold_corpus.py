#!/usr/bin/env python3
"""Function names in other people's recordings, folded by us and by stackcollapse-perf.pl: the corpus has its
output for perf script texts of many programs (C, C++, node, java, the kernel)."""
import glob
import os
import re
import subprocess
import sys

CORPUS = os.path.join(os.environ["TOP"], "..", "shared", "corpus", "script-text")
FRAME = re.compile(r"^\s+[0-9a-f]+ (.+) \((.*)\)$")
EVENT = re.compile(r":\s*(?:\d+\s+)?(\S+):\s*$")
status = 0


def names_of(path):
    """Functions in the samples of the first event, which is the one that the tool folds."""
    names, first, event = set(), None, None
    for line in open(path, errors="replace"):
        m = FRAME.match(line)
        if m:
            name = re.sub(r"\+0x[0-9a-f]+$", "", m.group(1))
            # The tool loses functions in an anonymous namespace (FlameGraph issue); we keep them.
            if event == first and name != "[unknown]" and not name.startswith("("):
                names.add(name)
        elif not line.startswith("#") and EVENT.search(line):
            event = EVENT.search(line).group(1)
            first = first or event
    return sorted(names)


texts = [f for f in sorted(glob.glob(f"{CORPUS}/*.txt")) if "collapsed" not in f]
for path in texts:
    name = os.path.basename(path)
    frames = set()
    for line in open(path.replace(".txt", ".collapsed-jit.txt"), errors="replace"):
        frames |= {f.replace("_[j]", "") for f in line.rsplit(" ", 1)[0].split(";")}
    names = names_of(path)
    folded = subprocess.run([os.environ["BUILD"] + "/tests/profile/tool_fold"], input="".join(n + "\n" for n in names),
                            text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    # The tool also drops quotes; inferno and we do not.
    bad = [(n, f) for n, f in zip(names, folded) if re.sub("[\"']", "", f) not in frames]
    if bad or len(folded) != len(names) or len(names) < 5:
        status = 1
        print(f"not ok - {name}", bad[:5], len(names))
    else:
        print(f"ok - {name}: {len(names)} names")
if not texts:
    print("ok - names of the corpus # SKIP no corpus")
sys.exit(status)

#!/usr/bin/env python3
"""Names of a C++ library, folded: what c++filt -p makes of the same symbols, which leaves out argument lists and return types by the
mangled form, where fold.c has the text only. perf up to 6.2 showed names like that."""
import os
import re
import shutil
import subprocess

from tap import Tap

tap = Tap()


def run(*command, text=""):
    return subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout


library = run("g++", "-print-file-name=libstdc++.so.6").strip() if shutil.which("g++") else ""
if not (os.path.isabs(library) and shutil.which("c++filt") and shutil.which("nm")):
    tap.skip("names of libstdc++", "no g++, c++filt or nm")
    tap.end()
symbols = sorted({line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()})
symbols = [s for s in symbols if re.match("_Z(?![TG])", s)]  # functions
# Constraints of gcc 16 (`_ZNSsC1EvQ26is_default_constructible_vIT1_E`) are read by -p alone, and by demangle.h.
as_is = set(run("c++filt", text="".join(s + "\n" for s in symbols)).splitlines())
unread = [s for s in symbols if s in as_is]
symbols = [s for s in symbols if s not in unread]
text = "".join(s + "\n" for s in symbols)
full, plain = run("c++filt", text=text), run("c++filt", "-p", text=text)
ours = run(os.environ["BUILD"] + "/tests/demangle/tool_demangle", text="".join(s + "\n" for s in unread)).splitlines()
tap.check(not [s for s in ours if s.startswith("_Z")] and len(unread) < 100, f"{len(unread)} names that c++filt does not read are read", ours[:5])
tool = os.environ["BUILD"] + "/tests/profile/tool_fold"
have, want = run(tool, text=full).splitlines(), run(tool, text=plain).splitlines()
differ = [x for x in zip(full.splitlines(), have, want) if x[1] != x[2]]
with_type = sum(h != f.split("(")[0] and ">(" in f for f, h in zip(full.splitlines(), have))
tap.check(len(have) == len(symbols) > 1000 and with_type > 50 and not differ, f"{len(symbols)} names of libstdc++, {with_type} of them with a return type", differ[:5])
tap.end()

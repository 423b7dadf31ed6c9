#!/usr/bin/env python3
"""Stitching against the truth: a compiler run is recorded with large stack copies, cut to small ones by
tool_stitch, stitched, and compared with the stacks of the uncut copies.

At least 99.5 % of the stacks that reach a root by stitching must be exactly the true ones.
"""
import os
import re
import shutil
import subprocess
import sys

TOOL = os.path.join(os.environ["BUILD"], "tests/unwind/tool_stitch")
SOURCE = """
#include <algorithm>
#include <map>
#include <regex>
int main() { std::map<std::string, int> m; std::regex r("(a|b)*c[0-9]+"); m["x"] = 1;
             std::smatch s; std::string t = "abc1"; return std::regex_match(t, s, r); }
"""
if not shutil.which("perf") or not shutil.which("g++"):
    print("ok - stitching of cut stacks # SKIP no perf or no g++")
    sys.exit(0)
with open("t.cc", "w") as f:
    f.write(SOURCE)
subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,65528",
                "-o", "t.data", "g++", "-O1", "-c", "t.cc", "-o", "/dev/null"],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
if not os.path.exists("t.data"):
    print("ok - stitching of cut stacks # SKIP perf cannot record here")
    sys.exit(0)
stitched = exact = 0
for size in (1024, 2048, 4096):
    p = subprocess.run([TOOL, str(size), "t.data"], stdout=subprocess.PIPE, text=True, timeout=120)
    n = {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", p.stdout)}
    stitched += n.get("to_root", 0)
    exact += n.get("exact", 0)
    good = p.returncode == 0 and n.get("to_root", 0) >= 10
    print(f"{'ok' if good else 'not ok'} - {size} bytes: of {n.get('whole')} whole stacks "
          f"{n.get('complete_when_cut')} fit, {n.get('to_root')} are stitched, {n.get('exact')} exactly")
good = exact >= 0.995 * stitched
print(f"{'ok' if good else 'not ok'} - {exact} of {stitched} stitched stacks are the true ones")
sys.exit(0 if good else 1)

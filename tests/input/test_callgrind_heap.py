#!/usr/bin/env python3
"""Files of callgrind, cachegrind and xdebug: sums by function, line and event are those that callgrind_annotate finds, or drawn by hand. Texts of
heap profiles: sums by hand, names from the program that the text says was mapped. No cut or changed byte makes more of them than a line."""
import collections
import math
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, folded, have, run  # noqa: E402

tap = Tap()


def resolve(path, *options, check=True):
    return run([RESOLVE, "--no-cache", *options, path], check=check)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def leaves(path, *options):
    own = collections.Counter()
    for stack, weight in folded(resolve(path, "-q", *options).stdout).items():
        own[stack[-1]] += weight
    return own


# ---- callgrind ----------------------------------------------------------------------------------------------------------
write("hand.callgrind", "# callgrind format\nversion: 1\ncreator: x\npid: 12\ncmd: /bin/prog -x\npart: 1\npositions: line\nevents: Ir Dr\nsummary: 108 9\n\n"
      "ob=(1) /bin/prog\nfl=(1) a.c\nfn=(1) f\n7 5 2\n+2 3\ncfi=(3) c.c\ncfn=(2) g\ncalls=1 9\n* 100 7\n\nfn=(2)\nfi=(2) b.h\n-1 60 6\nfe=(1)\n0xc 40 1\njfi=(5) d.h\njfn=(6) h\njump=3 16\n16\njcnd=1/3 16\n16\nfe=(5)\nfn=(6)\n")
p = resolve("hand.callgrind", "--event", "all")
tap.check(folded(p.stdout) == {("Ir", "prog", "f"): 8, ("Dr", "prog", "f"): 2, ("Ir", "prog", "g"): 100, ("Dr", "prog", "g"): 7} and p.returncode == 0,
          "callgrind: several events, relative lines, names by number", p)
tap.check("1 lines of calls are no stacks" in p.stderr, "callgrind: calls are counted", p.stderr)
p = resolve("hand.callgrind", "-q")
tap.check(folded(p.stdout) == {("prog", "f"): 8, ("prog", "g"): 100}, "callgrind: the first event is shown", p.stdout)
lines = resolve("hand.callgrind", "-q", "-f", "lines").stdout
tap.check(all(f" {x}" in lines for x in ("a.c:7", "a.c:9", "b.h:8", "a.c:12")), "callgrind: lines", lines)
p = resolve(write("unknown.callgrind", "events: Ir\nfl=a.c\nfn=f\n7 5\ncfl=\ncfn=g\ncalls=1 9\n7 3\n"))
tap.check(leaves("unknown.callgrind") == {"f": 5} and p.returncode == 0, "callgrind: the file of a callee may be empty", p)
instr = write("instr.callgrind", "positions: instr line\nevents: Ir\n\nfn=f\n0x10 7 5\n+4 * 6\n+2 +1 7\n* -1 8\n")
tap.check(re.findall(r"\S+%.*%  (\S+)", resolve(instr, "-q", "-f", "lines").stdout) and leaves(instr) == {"f": 26}, "callgrind: instructions before lines")
php = write("cachegrind.out.1", "version: 1\ncreator: xdebug 3.2.0\ncmd: /srv/x.php\npart: 1\npositions: line\n\nevents: Time_(10ns) Memory_(bytes)\n\n"
            "fl=(1) php:internal\nfn=(1) php::strlen\n3 20 -8\n\nfl=(2) /srv/x.php\nfn=(2) {main}\n1 70 400\ncfl=(1)\ncfn=(1)\ncalls=1 0 0\n3 20 8\n\nsummary: 90 400\n")
p = resolve(php, "--event", "all", check=False)
tap.check(folded(p.stdout) == {("Time_(10ns)", "x.php", "php::strlen"): 20, ("Time_(10ns)", "x.php", "{main}"): 70, ("Memory_(bytes)", "x.php", "{main}"): 400} and
          p.returncode == 1 and "1 values below zero" in p.stderr, "xdebug: its two events; what is below zero is counted", p)
parts = write("parts", "version: 1\ncreator: y\npart: 1\nevents: Ir\nsummary: 5\nfn=(1) f\n1 5\n\npart: 2\nevents: Ir\nsummary: 9\nfn=(1)\n1 7\nwrong line\n")
p = resolve(parts, check=False)
tap.check(folded(p.stdout).popitem()[1] == 12 and p.returncode == 1 and "first at line 14" in p.stderr and "1 events have less" in p.stderr,
          "callgrind: parts add up; a line that is none, and a sum that the lines have not", p)
if have("valgrind") and have("callgrind_annotate"):
    for tool, options in (("callgrind", ["--dump-instr=yes", "--collect-jumps=yes"]), ("cachegrind", [])):
        run(["valgrind", f"--tool={tool}", *options, f"--{tool}-out-file=v.{tool}", "/bin/true"])
    p = resolve("v.callgrind")
    tap.check("could not be read" not in p.stderr and p.returncode == 0, "callgrind of valgrind, with jumps: every line is known", p.stderr)
    text = run(["callgrind_annotate", "--threshold=100", "v.callgrind"]).stdout
    want = collections.Counter()
    for cost, name in re.findall(r"^ *([\d,]+)(?: \( ?[\d.]+%\))?  \S*?:(.*?)(?: \[[^\]]*\]*)?$", text, re.M):
        want[name] += int(cost.replace(",", ""))
    own = leaves("v.callgrind")
    wrong = {k: (v, own.get(k)) for k, v in want.items() if own.get(k) != v and not k.startswith("0x") and "(" not in k and "'" not in k}
    total = int(re.search(r"^(?:summary|totals): (\d+)", open("v.callgrind").read(), re.M)[1])
    tap.check(len(want) > 20 and not wrong and sum(own.values()) == total, "callgrind of valgrind: functions as callgrind_annotate adds them up", wrong, total, sum(own.values()))
    total = int(re.search(r"^summary: (\d+)", open("v.cachegrind").read(), re.M)[1])
    tap.check(sum(leaves("v.cachegrind").values()) == total, "cachegrind of valgrind: the whole")
else:
    tap.skip("files of valgrind", "no valgrind, or no callgrind_annotate")

# ---- texts of heap profiles ---------------------------------------------------------------------------------------------
write("p.c", "int leaf(int x) { return x + 1; }\nint caller(int x) { return leaf(x) + 1; }\nint main(void) { return caller(1) == 0; }\n")
run(["cc", "-g", "-O0", "-no-pie", "-fno-pie", "-o", "prog", "p.c"])
symbols = {name: int(at, 16) for at, name in re.findall(r"^(\w+) T (\w+)$", run(["nm", "prog"]).stdout, re.M)}
offset, start = (int(x, 16) for x in re.search(r"LOAD +(0x\w+) (0x\w+) \S+ \S+ \S+ R E", run(["readelf", "-lW", "prog"]).stdout).groups())
stack = " ".join(hex(symbols[name] + 5) for name in ("leaf", "caller", "main"))
maps = f"MAPPED_LIBRARIES:\n{start:08x}-{start + 4096:08x} r-xp {offset:08x} 08:01 42                         {os.getcwd()}/prog\n7ffd0000-7ffd1000 rw-p 00000000 00:00 0   [stack]\n"
TCMALLOC = f"heap profile:     11:    1100 [    30:    3100] @ heapprofile\n    10:     1000 [    20:     2000] @ {stack}\n     1:      100 [    10:     1100] @ {hex(symbols['main'] + 9)}\n\n{maps}"
write("tc.heap", TCMALLOC)
WAY = ("prog", "main", "caller", "leaf")
p = resolve("tc.heap", "--event", "all")
want = {("inuse_space", *WAY): 1000, ("inuse_objects", *WAY): 10, ("alloc_space", *WAY): 2000, ("alloc_objects", *WAY): 20,
        ("inuse_space", *WAY[:2]): 100, ("inuse_objects", *WAY[:2]): 1, ("alloc_space", *WAY[:2]): 1100, ("alloc_objects", *WAY[:2]): 10}
tap.check(folded(p.stdout) == want and p.returncode == 0, "tcmalloc: four events, names from the program", p)
p = resolve("tc.heap", "-q", "-f", "lines")
tap.check(" p.c:1" in p.stdout and "# Event 'inuse_space'\n# Event count (approx.): 1100\n" in p.stdout, "tcmalloc: lines; bytes in use are shown", p.stdout)
write("sampled.heap", TCMALLOC.replace("@ heapprofile", "@ heap_v2/1024"))
scale = 1 / (1 - math.exp(-100 / 1024))
have_sum = folded(resolve("sampled.heap", "-q").stdout)
tap.check(have_sum == {WAY: round(1000 * scale), WAY[:2]: round(100 * scale)}, "tcmalloc: samples stand for what was not sampled", have_sum)
write("je.heap", f"heap_v2/1024\n  t*: 11: 1100 [0: 0]\n  t0: 11: 1100 [0: 0]\n@ {stack}\n  t*: 10: 1000 [0: 0]\n  t0: 4: 400 [0: 0]\n  t1: 6: 600 [0: 0]\n"
      f"@ {hex(symbols['main'] + 9)}\n  t*: 1: 100 [0: 0]\n  t0: 1: 100 [0: 0]\n\n{maps}")
tap.check(folded(resolve("je.heap", "-q").stdout) == have_sum, "jemalloc: the sums of its threads, scaled likewise", resolve("je.heap", "-q").stdout)
write("raw.heap", f"--- symbol\nbinary=/bin/y\n{stack.split()[0]} in--lined\n{stack.split()[1]} outer\n---\n--- heap\n{TCMALLOC.split('MAPPED')[0]}")
got = folded(resolve("raw.heap", "-q", check=False).stdout)
tap.check(sum(got.values()) == 1100 and any(s[-3:] == ("outer", "lined", "in") for s in got), "pprof --raw: its names, inlined ones too", got)
write("deleted.heap", re.sub(r"^(.* r-xp .*)$", r"\1 (deleted)", TCMALLOC, flags=re.M))
want = folded(resolve("tc.heap", "-q").stdout)
got = folded(resolve("deleted.heap", "-q", check=False).stdout)
tap.check(got == want and open("deleted.heap").read().count("(deleted)") == 1, "heap: of a program that was built anew meanwhile, the path without the kernel's mark", got, want)
write("nomaps.heap", TCMALLOC.split("MAPPED")[0])
p = resolve("nomaps.heap", check=False)
tap.check(p.returncode == 1 and "2 stacks have no names" in p.stderr and sum(folded(p.stdout).values()) == 1100, "heap: without its map the sum stays, and it is said", p)
old = time.time() - 90000
os.utime("tc.heap", (old, old))
p = resolve("tc.heap")
tap.check("was replaced after the profile was made" in p.stderr and "leaf" not in p.stdout and sum(folded(p.stdout).values()) == 1100, "heap: a program that is newer than the profile gives no names", p)
p = resolve(write("line2", "heap profile:     11:    1100 [    30:    3100] @ heapprofile\n10: 20 @ what\n"), check=False)
tap.check(p.returncode == 2 and p.stderr.count("\n") <= 2 and "line" in p.stderr, "heap: a text without stacks is refused with the line", p)

# ---- filters that ask for what an input has not ---------------------------------------------------------------------------
for path, option in (("tc.heap", "--pid"), ("tc.heap", "--tid")):
    p = resolve(path, option, "7", "-q", check=False)
    tap.check(p.returncode == 2 and option in p.stderr and "have no ids" in p.stderr, f"{option}: heap profiles have none, and that is said", p)

# ---- damage -----------------------------------------------------------------------------------------------------------
random.seed(11)
for path in ("hand.callgrind", "parts", "tc.heap", "je.heap", "raw.heap"):
    data = open(path, "rb").read()
    bad = []
    for k in range(10):
        broken = bytearray(data[:random.randrange(1, len(data))] if k % 2 else data)
        if not k % 2:
            for _ in range(3):
                broken[random.randrange(len(broken))] = random.choice(b'0{}[]@:()"-+9e~\x00\xff\n')
        p = subprocess.run([RESOLVE, "--no-cache", "-q", "-"], input=bytes(broken), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        if p.returncode not in (0, 1, 2) or (p.returncode == 2 and p.stderr.count(b"\n") > 2):
            bad.append((k, p.returncode, p.stderr[-200:]))
    tap.check(not bad, f"{path}: cut and changed: a line, or what can be read", bad[:3])
tap.end()

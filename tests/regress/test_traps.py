#!/usr/bin/env python3
"""What must not be taken for a regression, and what must not be compared: really built, really recorded."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mix  # noqa: E402
from drawn import alarms, of, record, regress, run_live  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
ROUNDS = "2500"
# Machines that run other tests beside it, and few samples: what is to be found is asked for at a stricter level.
LEVEL = "--q", "0.0005"


def compare(*args, level=LEVEL):
    first = 1 if args[0] == "run" else 0
    p = regress(*args[:first], "-q", *level, "--json", "r.json", *args[first:])
    if p.returncode == 2:
        return 2, p.stderr
    with open("r.json") as f:
        return p.returncode, json.load(f)


def run(name, old, new, *options, n=3, words=(ROUNDS,), level=LEVEL):
    return compare("run", "-n", str(n), "--dir", f"runs-{name}", *options, "--", old, *words, "::", new, *words, level=level)


def sides(name):
    names = sorted(os.listdir(f"runs-{name}"))
    return [[f"runs-{name}/{x}" for x in names if x.startswith(s)] for s in ("base", "new")]


FOLDED = """
#include <stdlib.h>
static volatile unsigned long sink;
#define W(name, n) __attribute__((noinline)) void name(void) { unsigned long x = 1; for (long k = 0; k < n; k++) { x = x * 6364136223846793005UL + 3; sink += x >> 60; } }
W(shape_area, 9000) W(circle_area, 9000) W(rest_a, 4000) W(rest_b, 5000) W(rest_c, 3000)
void (*volatile f[5])(void) = {shape_area, circle_area, rest_a, rest_b, rest_c};
int main(int c, char **v) { for (long r = atol(v[1]); r; r--) for (int i = 0; i < 5; i++) f[i](); return 0; }
"""


def folding():
    with open("icf.c", "w") as f:
        f.write(FOLDED)
    build = ["gcc", "-O1", "-g", "-ffunction-sections", "-fno-ipa-icf", "-fuse-ld=lld", "icf.c", "-o"]
    if any(subprocess.run([*build, *x], stderr=subprocess.PIPE).returncode for x in (["icf0"], ["icf1", "-Wl,--icf=all"])):
        tap.skip("identical code folding", "no lld")
        return
    code, r = run("icf", "./icf0", "./icf1", n=4, words=("8000",))
    moved = {k for k, _ in of(r, "moved")}
    how = {f["moved"] for f in r["findings"] if f["verdict"] == "moved"}
    tap.check(code == 0 and moved == {"shape_area", "circle_area"} and how == {"folded"} and not of(r, "REGRESSED", "NEW", "gone"), "two functions of the same code are one in the new side: moved", code, of(r, "REGRESSED", "NEW", "gone", "moved"))
    base, new = sides("icf")
    code, r = compare("--base", *new, "--new", *base)
    tap.check(code == 0 and {k for k, _ in of(r, "moved")} == moved and not of(r, "REGRESSED", "NEW", "gone"), "two functions of the same code are one in the base: moved", code, of(r, "REGRESSED", "NEW", "gone", "moved"))


def selves(path):
    """{function: (base, new)} of a report's folded stacks."""
    out = {}
    with open(path) as f:
        for line in f:
            stack, base, new = line.rsplit(" ", 2)
            leaf = out.setdefault(re.sub(r"\.(constprop|isra|part|lto_priv)\.\d+", "", stack.rsplit(";", 1)[-1]), [0, 0])
            leaf[0] += float(base)
            leaf[1] += float(new)
    return out


# Static functions that compilers clone, split and inline as they like.
CLONES = """
#include <stdlib.h>
static volatile unsigned long sink;
""" + "\n".join(f"""
static __attribute__((noinline)) unsigned long work_{i}(unsigned long x, int mode, long n) {{
  if (mode > 5) {{ for (int i = 0; i < 50; i++) sink += x ^ i; abort(); }}
  for (long k = 0; k < n; k++) {{ x = x * 6364136223846793005UL + {i}; sink += x >> (mode + 50); }}
  return x; }}
static unsigned long step_{i}(unsigned long x) {{ return work_{i}(x, 3, {2000 + 300 * i}) + work_{i}(x + 1, 3, {1000 + 100 * i}); }}""" for i in range(12)) + """
int main(int c, char **v) { unsigned long x = (unsigned long)c; for (long r = atol(v[1]); r; r--) { """ + " ".join(f"x += step_{i}(x);" for i in range(12)) + """ } return (int)(x >> 63); }
"""


def compilers():
    with open("clones.c", "w") as f:
        f.write(CLONES)
    builds = {"O2": ["gcc", "-O2"], "O3": ["gcc", "-O3"], "LTO": ["gcc", "-O2", "-flto"], "clang": ["clang", "-O2"]}
    for name, flags in builds.items():
        if not shutil.which(flags[0]) or subprocess.run([*flags, "-g", "-o", f"clones-{name}", "clones.c"], stderr=subprocess.PIPE).returncode:
            tap.skip(f"gcc -O2 against {name}", f"no {flags[0]}")
            continue
        # What interrupts do on a loaded machine is in some runs only.
        record(f"{name}.data", "-e", "cpu-clock:u", "-F", "3999", "--", f"./clones-{name}", "900")
        if name == "O2":
            continue
        regress("-q", "--base", "O2.data", "--new", f"{name}.data", "--folded", "both.folded")
        v = selves("both.folded")
        total = [sum(x[s] for x in v.values()) for s in (0, 1)]
        lost = [sum(x[s] for x in v.values() if not x[1 - s]) / total[s] for s in (0, 1)]
        tap.check(max(lost) <= .05, f"gcc -O2 against {name}: {100 * lost[0]:.1f} and {100 * lost[1]:.1f} % of self time unmatched", {k: x for k, x in v.items() if not x[0] or not x[1]})
        names = {k for k in v if re.match(r"work_\d+", k)}
        tap.check(names == {f"work_{i}" for i in range(12)}, f"{name}: no two functions are one", names)


def live():
    for name, flags in (("plain", ["-g"]), ("shifted", ["-g", "-falign-functions=64"]), ("stripped", ["-s"])):
        mix.build(name, *flags)
    shutil.copy2("plain", "plain-v2")
    code, r = run("renamed", "./plain", "./plain-v2", n=4, level=())
    if code == 2:
        raise RuntimeError(r)
    lost = {k for k in of(r, "NEW", "gone") if re.match("leaf_|group_|main$", k[0])}
    with open("r.json", "rb") as f:
        bytes_ = f.read()
    found = alarms("r.json", "renamed-again")
    tap.check(code == bool(of(r, "REGRESSED", "NEW")) and not lost and not found, "the binary has another name: functions are found all the same", lost, found)
    base, new = sides("renamed")
    compare("--new", *reversed(new), "--base", *reversed(base), level=())
    with open("r.json", "rb") as f:
        again = f.read()
    tap.check(re.sub(rb'"run":\{.*?\},"sides"', b'"sides"', bytes_, flags=re.S) == again, "runs in another order: the same bytes")
    code, why = run("stripped", "./plain", "./stripped")
    tap.check(code == 2 and "stripped" in why, "one side stripped: not comparable", why)
    code, why = compare("--base", *sides("stripped")[1], "--new", *sides("stripped")[0])
    tap.check(code == 2 and "stripped" in why, "the other side stripped: not comparable", why)
    record("rare.data", "-F", "499", "--", "./plain", ROUNDS)
    code, why = compare("--base", *base, "--new", "rare.data")
    tap.check(code == 2 and "499" in why and "--force" in why, "another frequency: not comparable", why)
    code, r = compare("--force", "--base", *base, "--new", "rare.data")
    tap.check(code == 0, "another frequency, by force: compared, and one run fails nothing", r)
    with open(base[0], "rb") as f:
        whole = f.read()
    with open("cut.data", "wb") as f:
        f.write(whole[:len(whole) // 2])
    code, why = compare("--base", *base, "--new", *new[:2], "cut.data")
    tap.check(code == 2 and "cut.data" in why, "a recording that was cut short: not comparable", why)
    # One of eight runs shares its processor with another program.
    cpu = str(min(os.sched_getaffinity(0)))
    busy = subprocess.Popen(["taskset", "-c", cpu, "./plain", "100000000"])
    record(new[1], "-F", "3999", "--", "./plain-v2", ROUNDS, prefix=["taskset", "-c", cpu])
    busy.kill()
    busy.wait()
    code, r = compare("--base", *base, "--new", *new)
    tap.check(code == 0, "one run beside a background job: nothing fails", r if code == 2 else of(r, "REGRESSED", "NEW"))
    # Swapped: the base is the program that was built later, or by git a later commit.
    past = os.path.getmtime("plain") - 1000
    os.utime("shifted", (past, past))
    code, r = run("swapped", "./plain", "./shifted")
    tap.check(any("swapped" in w for w in r["warnings"]), "the base was built later: a warning that sides may be swapped", r["warnings"])
    code, r = compare("--base", *sides("swapped")[1], "--new", *sides("swapped")[0])
    tap.check(not r["warnings"], "the base was built earlier: no warning", r["warnings"])
    built = r["sides"]["base"]["builds"][0]
    tap.check(built["program"] and "GCC" in built["compiler"] and built["built"] == int(past) and r["sides"]["base"]["runs"][0]["processors"] >= 1, "compiler and time of building are in the report", built)
    if shutil.which("git"):
        git = "git -c user.name=t -c user.email=t@example.org"
        subprocess.run(f"git init -q -b main repo && cp shifted repo/program && cd repo && git add -A && {git} commit -qm 1 && {git} commit -q --allow-empty -m 2 && git worktree add -q ../older HEAD~1", shell=True, check=True)
        code, r = run("git", "repo/program", "older/program", n=1, words=("100",))
        tap.check(any("by git" in w for w in r["warnings"]), "the new side is the older commit: a warning", r["warnings"])
        code, r = run("git", "older/program", "repo/program", n=1, words=("100",))
        tap.check(not any("by git" in w for w in r["warnings"]), "the new side is the later commit: no warning", r["warnings"])
    folding()
    compilers()


run_live(tap, live)
tap.end()

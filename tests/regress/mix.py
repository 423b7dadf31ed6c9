"""mix.py - a program of 40 functions of known shares, of which builds differ in one thing. Also of `make exam-regress`."""
import subprocess

LEAVES, GROUPS = 40, 8
FIXED = {0: .14, 17: .013, 39: .0015}
WEIGHTS = [0 if i in FIXED else 1 / (i + 1) ** 0.9 for i in range(LEAVES)]
SHARES = [FIXED.get(i, w * (1 - sum(FIXED.values())) / sum(WEIGHTS)) for i, w in enumerate(WEIGHTS)]


def source(inlined=(), renamed=None):
    """Leaf i does a share of the work; -DPi=110 makes it 10 % slower, -DCi=2 calls it twice. No leaf begins with 0 or adds 0: the compiler
    would leave the addition out, or all but a load and a store of one value, which is faster or slower by 5 % from run to run."""
    out = ["#include <stdio.h>", "#include <stdlib.h>", "static volatile unsigned long sink;"]
    names = [renamed if renamed and i == 3 else f"leaf_{i}" for i in range(LEAVES)]
    for i, name in enumerate(names):
        how = "static inline __attribute__((always_inline))" if i in inlined else "__attribute__((noinline))"
        out.append(f"#ifndef P{i}\n#define P{i} 100\n#endif\n#ifndef C{i}\n#define C{i} 1\n#endif\n"
                   f"{how} void {name}(void) {{ unsigned long x = {i + 1}; for (long k = 0; k < {int(SHARES[i] * 60000)}L * P{i} / 100; k++) "
                   f"{{ x = x * 6364136223846793005UL + {i + 1}; sink += x >> 60; }} }}")
    for g in range(GROUPS):
        calls = " ".join(f"for (int c = 0; c < C{i}; c++) {names[i]}();" for i in range(g, LEAVES, GROUPS))
        out.append(f"__attribute__((noinline)) void group_{g}(void) {{ {calls} sink++; }}")
    calls = " ".join(f"group_{g}();" for g in range(GROUPS))
    out.append(f"int main(int c, char **v) {{ int r = c > 1 ? atoi(v[1]) : 1000; for (int i = 0; i < r; i++) {{ {calls} }} return 0; }}")
    return "\n".join(out) + "\n"


def build(path, *flags, text=None):
    with open(f"{path}.c", "w") as f:
        f.write(text or source())
    subprocess.run(["gcc", "-O1", *flags, "-o", path, f"{path}.c"], check=True)
    return path

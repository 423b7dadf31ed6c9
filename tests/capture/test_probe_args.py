#!/usr/bin/env python3
"""Arguments of probed functions by their names, whatever stacks are recorded."""
import os
import re

from lib import RESOLVE, Tap, capture, need_events, need_root, run

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")


def make(name, text, command):
    with open(name, "w", encoding="ascii") as f:
        f.write(text)
    run(command.split())


def trace(data, *options):
    return run([RESOLVE, "-q", "-f", "trace", *options, data]).stdout


# ---- kinds of stacks ----------------------------------------------------------------------------
HOT = """volatile long sink;
__attribute__((noipa)) int hot(int k, const char *s) { sink += k + *s; return k * 2; }
int main(void) { int r = 0; for (int i = 0; i < 10; i++) r += hot(i - 5, i & 1 ? "odd" : "even"); return r & 1; }
"""
make("hot.c", HOT, "gcc -g -O2 hot.c -o hot")
want = [(str(i - 5), '"odd"' if i & 1 else '"even"') for i in range(10)]
for stacks in ("none", "fp", "dwarf"):
    p = capture("-e", "call:./hot:hot", "--args", "--call-graph", stacks, "-o", f"{stacks}.data", "--", "./hot")
    text = trace(f"{stacks}.data", "--args")
    tap.check(re.findall(r' hot\(k=(-?\d+), s=0x\w+ ("\w+")\)', text) == want, f"--call-graph {stacks}: the parameters of each call", text, p.stderr)
    out = run([RESOLVE, "-f", "folded", "--where", "k == -5", f"{stacks}.data"])
    tap.check(re.findall(r"hot (\d+)$", out.stdout, re.M) == ["1"], f"--call-graph {stacks}: --where", out.stdout, out.stderr)
    out = run([RESOLVE, "-f", "folded", "--by", "arg:k", f"{stacks}.data"])
    tap.check(sorted(re.findall(r"^(-?\d+);.* 1$", out.stdout, re.M), key=int) == [k for k, _ in want], f"--call-graph {stacks}: --by arg:k", out.stdout, out.stderr)
size = [os.stat(f).st_size for f in ("none.data", "dwarf.data")]
tap.check(size[0] < size[1], "without stacks it is smaller still", size)

# ---- a program with zeros behind it, which the kernel runs ---------------------------------------
for more in (100 << 20, 5 << 30):
    run(["cp", "hot", "padded"])
    os.truncate("padded", os.stat("hot").st_size + more)
    p = capture("-e", "call:./padded:hot", "--args", "-o", "padded.data", "--", "./padded", check=False)
    text = trace("padded.data", "--args") if not p.returncode else ""
    tap.check(re.findall(r' hot\(k=(-?\d+), s=0x\w+ ("\w+")\)', text) == want, f"{more >> 20} MB of zeros behind the program", text, p.stderr)

# ---- returns that the kernel does not tell ------------------------------------------------------
DEEP = """__attribute__((noipa)) int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
int main(void) { return deep(99) != 99; }
"""
make("deep.c", DEEP, "gcc -g -O1 deep.c -o deep")
for kind, events, told in (("uretprobe:", ("uprobe:./deep:deep", "uretprobe:./deep:deep"), 64), ("call:", ("call:./deep:deep",), 100)):
    p = capture(*(w for e in events for w in ("-e", e)), "-o", "deep.data", "--", "./deep")
    text = trace("deep.data")
    tap.check(("follows 64 returns of a thread at a time" in p.stderr) == (kind == "uretprobe:") and len(re.findall(r"\( +[\d.]+ ms\): ", text)) == told,
              f"{kind} {told} ends of 100 nested calls are told, and why not more", p.stderr, text)
tap.end()

#!/usr/bin/env python3
"""regress: what may be compared: nameless code of the same files, weights of one unit, folded stacks with recordings, and reports beside inputs."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import varint  # noqa: E402
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()


def pprof(path, files, stacks, event="cpu", began=0):
    """files: (path, build id); stacks: (frames from the root, weight); a frame: (file, name or ""[, line]), file: an index, or None of the kernel.
    Of no function it is said where it begins, as by compilers of Go before 1.20."""
    def field(n, data):
        return bytes([n << 3 | 2]) + varint.put(len(data)) + data

    def number(n, v):
        return bytes([n << 3]) + varint.put(v)

    strings, frames = ["", event, "nanoseconds"], sorted({f for stack, _ in stacks for f in stack}, key=str)

    def word(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    files = [*files, ("[kernel.kallsyms]", "")]
    out = field(1, number(1, 1) + number(2, 2)) + field(11, number(1, 1) + number(2, 2)) + number(12, 1000) + number(9, began)
    for i, (name, build_id) in enumerate(files):
        where = (0xffffffff81000000 if name[0] == "[" else 0x400000) + 0x1000000 * i
        out += field(3, number(1, i + 1) + number(2, where) + number(3, where + 0x1000000) + number(5, word(name)) + number(6, word(build_id)))
    for i, (f, name, *line) in enumerate(frames):
        line = line[0] if line else 0
        f = len(files) - 1 if f is None else f
        at = (0xffffffff81000000 if f == len(files) - 1 else 0x400000) + 0x1000000 * f + 0x100 * i
        out += field(4, number(1, i + 1) + number(2, f + 1) + number(3, at) + (field(4, number(1, i + 1) + number(2, line or 7)) if name else b""))
        if name:
            out += field(5, number(1, i + 1) + number(2, word(name)) + (number(4, word("/home/x/main.go")) if line else b""))
    for stack, weight in stacks:
        out += field(2, b"".join(number(1, frames.index(f) + 1) for f in reversed(stack)) + number(2, weight * 1000))
    out += b"".join(field(6, s.encode()) for s in strings)
    with open(path, "wb") as f:
        f.write(out)
    return path


# ---- an interpreter without symbols --------------------------------------------------------------------------------

def interpreter(name, share, build_id, named=False, n=5):
    """Half of the samples and more are in code without a name; named: somebody has its symbols."""
    os.makedirs(name, exist_ok=True)
    inner = (0, "list_sort" if named else "")
    return [pprof(f"{name}/{i}.pb", [("/usr/bin/python3.11", build_id)],
                  [([(0, "main"), (0, f"Py_{k}")], 500 + 7 * i) for k in range(10)] + [([(0, "main"), inner], round(5000 * share) + 11 * i)]) for i in range(n)]


ONE, OTHER = "11" * 20, "22" * 20
base = interpreter("py-base", 1, ONE)
for name, sides, want in (("a script is slower", (base, interpreter("py-slow", 1.6, ONE)), 1), ("a script is faster", (interpreter("py-slow", 1.6, ONE), base), 0)):
    code, r = findings("--base", *sides[0], "--new", *sides[1])
    tap.check(code == want and isinstance(r, dict), f"{name}, the same interpreter without symbols on both sides: status {want}", code, r)
for name, new in (("of another build", interpreter("py-other", 1.6, OTHER)), ("which has symbols on one side", interpreter("py-named", 1, ONE, named=True))):
    code, why = findings("--base", *base, "--new", *new)
    tap.check(code == 2 and "is one side stripped" in why, f"an interpreter {name}: not comparable", code, why)

# ---- folded stacks of other units ----------------------------------------------------------------------------------


def scaled(name, runs, factors):
    """Copies of runs whose weights are multiplied, as nanoseconds are of samples."""
    os.makedirs(name, exist_ok=True)
    out = [f"{name}/{i}.folded" for i in range(len(runs))]
    for run, path, factor in zip(runs, out, factors):
        with open(run) as f, open(path, "w") as to:
            to.writelines(f"{stack} {int(n) * factor + (factor > 1) * 7}\n" for stack, n in (line.rsplit(" ", 1) for line in f))
    return out


NS, US = 250062, 250
drawn = Drawn(29)
base, slow = drawn.side("base"), drawn.side("slow", change={"f0": 1.5})
for name, new in (("nanoseconds", scaled("ns", slow, [NS] * 5)), ("microseconds", scaled("us", slow, [US] * 5)), ("two of five nanoseconds", scaled("mixed", slow, [NS, NS, 1, 1, 1]))):
    for sides in (base, new), (new, base):
        code, why = findings("--base", *sides[0], "--new", *sides[1])
        tap.check(code == 2 and "weights sum up to" in why and "--force" in why, f"samples and {name}: not comparable", code, why)
    tap.check(findings("--base", *base, "--new", *new, "--force")[0] != 2, f"samples and {name}: --force compares them")
code, r = findings("--base", *scaled("ns-base", base, [NS] * 5), "--new", *scaled("ns-slow", slow, [NS] * 5))
tap.check(code == 1 and ("f0", "self") in of(r, "REGRESSED"), "nanoseconds on both sides are compared", code, r)
code, r = findings("--base", *base, "--new", *drawn.side("long", scale=12))
tap.check(code == 1, "twelve times the samples are no other unit", code, r)

# ---- events in nanoseconds -------------------------------------------------------------------------------------------
for event, want in (("cpu-clock", 0), ("cpu", 0), ("off-cpu", 2), ("wall", 2)):
    sides = [[pprof(f"{side}-{i}.pb", [("/home/x/app", ONE)], [([(0, f"f{k}")], 1000 + 7 * i) for k in range(10)], name) for i in range(5)] for side, name in (("clock", "cpu-clock"), (event, event))]
    for one, two in (sides, reversed(sides)):
        code, why = findings("--base", *one, "--new", *two)
        tap.check(code == want and (code != 2 or ("its event is" in why and event in why)), f"cpu-clock and {event}: status {want}, with the event", code, why)

# ---- lines of functions of which it is not known where they begin, and what belongs to the project ---------------------
def of_go(name, lines, vdso):
    stacks = [([(0, "main.main", 90), (0, f"main.f{k}", 50 + k)], 1500 + 10 * k) for k in range(8)]
    stacks += [([(0, "main.main", 90), (0, "main.order", line)], n) for line, n in lines.items()] + [([(0, "main.main", 90), (1, "__vdso_clock_gettime")], vdso)]
    return [pprof(f"{name}-{i}.pb", [("/home/x/prog", name[:2] * 20), ("[vdso]", "")], [(stack, n + (i * (3 + k)) % 7) for k, (stack, n) in enumerate(stacks)]) for i in range(5)]


p = regress("--base", *of_go("aa", {10: 300, 12: 400, 15: 500}, 400), "--new", *of_go("bb", {20: 300, 22: 2400, 25: 500}, 700), "--md", "go.md")
with open("go.md") as f:
    md = f.read()
tap.check(p.returncode == 1 and "% of it at line 22\n" in p.stdout and "of it at line 20" not in p.stdout and "of it at line 25" not in p.stdout, "where a function begins is not known: the line that grew is, though it moved", p.stdout)
tap.check("`main.order` (main.go:20)" in md.splitlines()[0] and "`main.go:22`" in md, "title and row have a line", md)
order = [line.split("`")[1] for line in md.splitlines() if line.startswith("| REGRESSED")]
tap.check(order == ["main.order", "__vdso_clock_gettime"] and "no lines are known" not in p.stdout, "the vdso is none of the project: its row is last, its lines are not missed", order, p.stdout)

# ---- what confirms is not what flagged -------------------------------------------------------------------------------
def timed(name, change, start):
    return [pprof(f"{name}-{i}.pb", [("/home/x/app", ONE)], [([(0, f"f{k}")], round((1000 + 7 * ((i * (3 + k)) % 5)) * (change if k == 3 else 1))) for k in range(10)], "cpu-clock", (start + 10 * i) * 10 ** 9) for i in range(5)]


first = timed("first", 1, 1000), timed("first-slow", 1.5, 1005)
tap.check(regress("--base", *first[0], "--new", *first[1], "--json", "first.json").returncode == 1, "the first look flags")
os.makedirs("copies", exist_ok=True)
copies = [[shutil.copy(path, f"copies/{path}") for path in paths] for paths in first]
p = regress("confirm", "first.json", "--base", *copies[0], "--new", *copies[1])
tap.check(p.returncode == 2 and "cannot confirm itself" in p.stderr, "copies of the first look's runs confirm nothing", p.returncode, p.stderr)
p = regress("confirm", "first.json", "--base", *timed("later", 1, 2000), "--new", *timed("later-slow", 1.5, 2005))
tap.check(p.returncode == 1 and " confirmed" in p.stdout.splitlines()[0], "later runs with the same sums do", p.returncode, p.stdout, p.stderr)

# ---- a recording and folded stacks of the same -----------------------------------------------------------------------

INTERRUPT = ["asm_sysvec_apic_timer_interrupt", "irqentry_exit_to_user_mode"]
CALL = ["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_write", "ksys_write"]
RUN = [(["main", "words"], 1500), (["main", "words", "hash"], 1600), (["main", "crc"], 4000), (["main", "zip"], 2500),
       (["main", "crc", *INTERRUPT], 90), (["main", "crc", *INTERRUPT, "schedule", "finish_task_switch.isra.0"], 140),
       (["main", "zip", *INTERRUPT[:1], "irq_exit_rcu", "handle_softirqs"], 200), (["main", "zip", *CALL, "vfs_write"], 900), (["main", "zip", *CALL, "memcpy"], 300)]
USER = {"main", "words", "hash", "crc", "zip"}


def recorded(name, kind, change={}, n=5):
    """The same runs as pprof or as folded stacks."""
    os.makedirs(name, exist_ok=True)
    paths = [f"{name}/{i}.{kind}" for i in range(n)]
    for i, path in enumerate(paths):
        stacks = [(stack, round(weight * change.get(stack[-1], 1)) + (i * len(stack) * 5) % 11) for stack, weight in RUN]
        if kind == "pb":
            pprof(path, [("/home/x/app", ONE)], [([(0 if f in USER else None, f) for f in stack], n) for stack, n in stacks])
        else:
            with open(path, "w") as f:
                f.writelines(f"app;{';'.join(stack)} {n * 1000}\n" for stack, n in stacks)
    return paths


SLOW = {"hash": 2, "words": .55, "vfs_write": 1.4}
WANT = {("hash", "self"), ("vfs_write", "self")}
for one, two in (("pb", "pb"), ("folded", "folded"), ("folded", "pb"), ("pb", "folded")):
    code, r = findings("--base", *recorded(f"{one}-was", one), "--new", *recorded(f"{two}-same", two))
    tap.check(code == 0 and not of(r, "NEW", "gone", "moved", "replaced", "environment", "suspect", "REGRESSED"), f"nothing changed, {one} and {two}: nothing is said", r if code == 2 else r["findings"])
    code, r = findings("--base", *recorded(f"{one}-was", one), "--new", *recorded(f"{two}-slow", two, SLOW))
    tap.check(code == 1 and WANT <= of(r, "REGRESSED") and not of(r, "NEW", "gone", "moved", "environment"), f"slower and faster functions, {one} and {two}: as of one kind", r if code == 2 else r["findings"])
    code, r = findings("--base", *recorded(f"{one}-was", one), "--new", *recorded(f"{two}-busy", two, {"handle_softirqs": 2, "finish_task_switch.isra.0": 2}))
    tap.check(code == 0 and of(r, "environment") == {("handle_softirqs [interrupt]", "self"), ("finish_task_switch [interrupt]", "self")}, f"busy interrupts, {one} and {two}: by the environment", code, r if code == 2 else r["findings"])

# A program's own functions may be called as the kernel's.
with open("own.folded", "w") as f:
    f.write("app;main;do_IRQ;rcu_core 9000\napp;main;f 9000\n")
with open("own-slow.folded", "w") as f:
    f.write("app;main;do_IRQ;rcu_core 14000\napp;main;f 9000\n")
code, r = findings("--base", "own.folded", "--new", "own-slow.folded")
tap.check(not of(r, "environment"), "folded stacks: a program's own do_IRQ is none of the kernel", r["findings"])

tap.end()

#!/usr/bin/env python3
"""capture --all-cgroups: samples have the cgroup that they were taken in, of those that were there before and of one that is made meanwhile;
perf reads it, too. The program moves itself, so where its samples belong is known."""
import collections
import os
import shutil

from lib import RESOLVE, Tap, capture, need_events, run

tap = Tap()


def mount():
    """Where perf events' hierarchy is: v1's perf_event, else v2."""
    with open("/proc/mounts", encoding="utf-8") as f:
        mounts = [line.split() for line in f]
    v1 = [m[1] for m in mounts if m[2] == "cgroup" and "perf_event" in m[3].split(",")]
    return (v1 + [m[1] for m in mounts if m[2] == "cgroup2"] + [None])[0]


def owners(data, *options):
    total = collections.Counter()
    for line in run([RESOLVE, "-q", "--by", "cgroup", *options, data]).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        total[tuple(stack.split(";")[:2])] += int(n)
    return total


need_events()
with open("burn.c", "w", encoding="utf-8") as f:
    f.write("#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 5) ; return 0; }\n")
for name in ("first", "second", "last"):
    run(["gcc", "-O1", "burn.c", "-o", name])
p = capture("--all-cgroups", "--no-compress", "-e", "cpu-clock:u", "-F", "999", "-o", "one.data", "--", "./first", check=False)
if p.returncode and "--all-cgroups: this kernel" in p.stderr:
    tap.skip("--all-cgroups", p.stderr.strip())
    tap.end()
seen = owners("one.data")
tap.check(p.returncode == 0 and len({cgroup for cgroup, _ in seen}) == 1 and all(c != "[no cgroup]" for c, _ in seen), "a command: all samples are of one cgroup", seen, p.stderr)
plain = capture("--no-compress", "-e", "cpu-clock:u", "-F", "999", "-o", "plain.data", "--", "./first")
p = run([RESOLVE, "--by", "cgroup", "plain.data"])
tap.check("; capture --all-cgroups records it" in p.stderr, "a recording without: what records it", p.stderr)

top = mount()
made = [f"{top}/unspool-{os.getpid()}-{which}" for which in ("a", "b")]
try:
    os.mkdir(made[0])
except (OSError, TypeError) as e:
    tap.skip("several cgroups", f"none can be made here: {e}")
    tap.end()
try:
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    home = next((path for _, c, path in lines if "perf_event" in c), None) or next(path for _, c, path in lines if not c)
    script = f"echo $$ > {made[0]}/cgroup.procs && ./first && mkdir {made[1]} && echo $$ > {made[1]}/cgroup.procs && ./second && echo $$ > {top}{home}/cgroup.procs && ./last"
    p = capture("--all-cgroups", "--no-compress", "-F", "999", "-e", "cpu-clock:u", "-o", "c.data", "--", "sh", "-c", script, check=False)
    if p.returncode:
        tap.skip("several cgroups", f"a process cannot be moved here: {p.stderr[-200:]}")
        tap.end()
    names = ["/" + os.path.basename(m) for m in made]
    seen = owners("c.data")
    tap.check(seen[(names[0], "first")] > 10 and seen[(names[1], "second")] > 10 and all(c not in names or comm in ("first", "second", "sh", "mkdir") for c, comm in seen),
              "the cgroup that was there, and the one that was made while recording", seen)
    tap.check(sum(owners("c.data", "--cgroup", names[1]).values()) == sum(n for (c, _), n in seen.items() if c == names[1]), "resolve --cgroup selects by them")
    # Frames and stacks are whole beside it: the field stands behind the stack copy.
    out = run([RESOLVE, "-q", "c.data"]).stdout
    tap.check("first;_start" in out and ";main" in out, "stacks reach their roots", out[:500])
    p = capture("--all-cgroups", "-a", "--wall", "--duration", "0.3", "-o", "wall.data", check=False)
    seen = owners("wall.data") if not p.returncode else None
    tap.check(p.returncode or seen, "waits, and threads that only slept, have it, too", p.stderr, seen)
    tap.check(not seen or sum(n for (c, _), n in seen.items() if c == "[no cgroup]") * 2 <= sum(seen.values()), "of most it is known", seen)
    if shutil.which("perf"):
        p = run(["perf", "report", "--stdio", "-s", "cgroup", "-i", "c.data"], check=False)
        tap.check(p.returncode or (names[0] in p.stdout and names[1] in p.stdout), "perf reads them", p.stdout[:300], p.stderr[-300:])
finally:
    for m in made:
        if os.path.isdir(m):
            os.rmdir(m)
tap.end()

#!/usr/bin/env python3
"""Recordings whose end nobody planned: capture is killed at any moment, what is recorded is killed, and first data come early."""
import os
import random
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, Tap, build_load, capture, have, need_events, run, start, until, until_recorded
from perfdata import SAMPLE, PerfData
from tap import LONG

tap = Tap()
need_events()
load = build_load()
SEED = 20261126
KILLS = 1000 if LONG else 20
chance = random.Random(SEED)
MODES = (["-F", "999"], ["-F", "9999", "--no-compress"], ["-F", "999", "--call-graph", "fp"], ["-F", "4999"])
# Each call has its number, so that what is missing between two is seen.
STEPS = r"""
#include <sys/prctl.h>
#include <time.h>
__attribute__((noipa)) void step(long number) { __asm__ volatile("" : : "r"(number)); }
int main(void) { struct timespec t = {0, 200000}; prctl(PR_SET_PDEATHSIG, 9); for (long n = 1;; n++) { step(n); nanosleep(&t, 0); } }
"""


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return f.read()
    except OSError as e:
        return str(e)


def samples(path):
    return sum(1 for _ in PerfData(path).samples())


def until_data(recorder, name, condition):
    """Waits for what a recorder writes: not for one that has ended; of one that hangs is said where."""
    def answer():
        return recorder.poll() is not None or os.path.exists(name) and condition()
    try:
        until(answer, "first data")
    except RuntimeError as e:
        where = {t: [read(f"/proc/{recorder.pid}/task/{t}/{x}") for x in ("wchan", "syscall", "stack")] for t in os.listdir(f"/proc/{recorder.pid}/task")}
        raise RuntimeError(f"{e}: {recorder.args}: {where}") from e
    if recorder.poll() is not None:
        raise RuntimeError(f"ended: {recorder.args}: {recorder.communicate()}")


# ---- killed ----------------------------------------------------------------------------------------
spin = subprocess.Popen([load, "two", "1000"])
steps = None
if os.geteuid() == 0:
    with open("steps.c", "w", encoding="utf-8") as f:
        f.write(STEPS)
    run(["gcc", "-O1", "-g", "steps.c", "-o", "steps"])
    steps = subprocess.Popen(["./steps"])
bad, with_data, not_open = [], 0, 0
holes, numbered = [], 0
for i in range(KILLS):
    name = f"k{i % 100}.data"
    if os.path.exists(name):
        os.unlink(name)
    counts = steps and i % 4 == 3
    mode = ["-e", "uprobe:./steps:step", "--args", "-p", steps.pid] if counts else [*MODES[i % len(MODES)], "-p", spin.pid]
    c = start(*mode, "-o", name)
    time.sleep(chance.uniform(0, 0.3))  # any moment is a good one: what is asked for must hold at each
    if i % 5 == 0:  # and some that are not before the file
        until_data(c, name, lambda: os.path.getsize(name) > 20000)
    c.kill()
    c.communicate()
    if not os.path.exists(name) or os.path.getsize(name) < 104:
        not_open += 1
        continue
    size = PerfData(name).data_size
    q = run([RESOLVE, "-f", "script", name], check=False)
    shown = sum(l.lstrip().startswith(("load ", "steps ")) for l in q.stdout.splitlines())
    n = samples(name)
    if counts:
        seen = sorted(int(x) for x in re.findall(r"number=(?:0x)?(\d+)", q.stdout))
        numbered += len(seen)
        if seen and (len(seen) != shown or seen != list(range(seen[0], seen[0] + len(seen)))):
            holes.append((name, len(seen), shown, seen[:1], seen[-1:]))
    with_data += shown > 0
    complaints = [l for l in q.stderr.splitlines() if "interrupted" not in l and " no samples (" not in l and ("damage" in l or "lost" in l or "skipped" in l)]
    # It may be killed between a block and the header's size: then more is read than that says.
    if shown < n or complaints or q.returncode not in ((0, 1) if shown else (2,)) or size > os.path.getsize(name):
        bad.append((name, shown, n, q.returncode, q.stderr[-300:]))
spin.kill()
spin.wait()
if steps:
    steps.kill()
    steps.wait()
    tap.check(numbered > KILLS and not holes, f"nothing but the end is missing: {numbered} calls that have a number, none left out between two", numbered, holes)
else:
    tap.skip("nothing but the end is missing", "probes need root")
tap.check(not bad and with_data >= KILLS // 5, f"{KILLS} times killed: what was written is read to the last sample "
          f"({with_data} had some, {not_open} had not begun)", bad)

# ---- how much is there of what was -------------------------------------------------------------------
shares = []
spin = subprocess.Popen([load, "two", "1000"])
for i in range(5):  # any moment within a round; beside other work the recorder may come late
    c = start("-F", "99", "-p", spin.pid, "-o", "share.data")
    until_data(c, "share.data", lambda: os.path.getsize("share.data") > 8000)
    time.sleep(2.8)
    c.kill()
    killed = time.clock_gettime(time.CLOCK_MONOTONIC)
    c.communicate()
    times = [s.time / 1e9 for s in PerfData("share.data").samples()]
    shares.append((max(times) - min(times)) / (killed - min(times)))
spin.kill()
spin.wait()
tap.check(sorted(shares)[2] > 0.9, "killed after some seconds: all but a twentieth of the time is there", shares)

# ---- what its events are, without the end of the file ------------------------------------------------
WAITS = r"""
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noipa)) static void rests(void) { struct timespec t = {0, 2000000}; nanosleep(&t, 0); __asm__ volatile(""); }
__attribute__((noipa)) static void *keeps(void) { void *p = malloc(50000); __asm__ volatile(""); return p; }
int main(void) { alarm(100); for (;;) { rests(); keeps(); } }
"""
with open("waits.c", "w", encoding="utf-8") as f:
    f.write(WAITS)
run(["gcc", "-O1", "-g", "waits.c", "-o", "waits"])
for options, event, word in ((["--off-cpu"], "off-cpu", "rests"), (["--wall"], "wall", "rests"), (["--alloc"], "inuse_space", "keeps"),
                             (["-e", "uprobe:./waits:rests"], "uprobe:./waits:rests", "rests"), (["--syscalls"], "raw_syscalls:sys_enter", "sys_enter: NR "),
                             (["-F", "999"], "cpu-clock", "waits;")):
    if os.geteuid():
        tap.skip(f"killed with {options[0]}", "needs root")
        continue
    name = f"k{options[0]}.data"
    waits = subprocess.Popen(["./waits"])
    c = start(*options, "-p", waits.pid, "-o", name)
    until_data(c, name, lambda name=name: os.path.getsize(name) > 104 and sum(r.type == SAMPLE for r in PerfData(name).records) > 5)
    c.kill()
    c.communicate()
    waits.kill()
    waits.wait()
    q = run([RESOLVE, "-f", "script" if event.startswith("raw") else "folded", "--event", event, name], check=False)
    tap.check(word in q.stdout and q.returncode == 1 and "interrupted" in q.stderr, f"killed with {options[0]}: it is shown as {event}", q.stdout[-1000:], q.stderr)
if os.geteuid() == 0 and have("perf"):
    n = run(["perf", "script", "-f", "-F", "event", "-i", "k-F.data"]).stdout.count("cpu-clock")
    tap.check(n == samples("k-F.data"), "perf reads it, too", n)

# ---- a copy that was broken off behind the data, where names and formats of events are ------------------
if os.geteuid() == 0:
    for options in ["--off-cpu"], ["-e", "uprobe:./waits:rests"]:
        run([CAPTURE, "-q", *options, "--duration", "0.4", "-o", "whole.data", "--", "./waits"], check=False)
        whole, d = run([RESOLVE, "-q", "-f", "script", "--event", "all", "whole.data"]).stdout, PerfData("whole.data")
        with open("whole.data", "rb") as f:
            content = f.read()
        end = d.data_at + d.data_size
        bad = []
        for size in {end, end + 100, (end + len(content)) // 2, len(content) - 1}:
            with open("part.data", "wb") as f:
                f.write(content[:size])
            q = run([RESOLVE, "-f", "script", "--event", "all", "part.data"], check=False)
            if q.stdout != whole or q.returncode != 1 or "lies outside" not in q.stderr and "header section" not in q.stderr:
                bad.append((size, q.returncode, q.stderr, q.stdout[:300]))
        tap.check(len(whole) > 1000 and not bad, f"broken off behind the data of {options[0]}: the same events", whole[:300], bad[:2])
else:
    tap.skip("broken off behind the data", "needs root")

# ---- what is recorded ends ---------------------------------------------------------------------------
spin = subprocess.Popen([load, "two", "1000"])
c = start("-F", "499", "-p", spin.pid, "-o", "target.data")
until_recorded(c, spin.pid)
spin.kill()
spin.wait()
_, err = c.communicate(timeout=60)
tap.check(c.returncode == 0 and samples("target.data") > 5, "the process is killed: the recording ends, and has what there was", err)
spin = subprocess.Popen([load, "spin", "1000"])
spin.kill()
until(lambda: open(f"/proc/{spin.pid}/stat").read().split()[2] == "Z", "a zombie")
p = capture("-p", spin.pid, "-o", "zombie.data", check=False, timeout=60)
tap.check(len(p.stderr.splitlines()) >= 1, "of a process that has ended and was not waited for: it ends", p.stderr)
spin.wait()
p = capture("-F", "499", "-o", "self.data", "--", "sh", "-c", "kill -9 $$", check=False)
tap.check(p.returncode == 128 + signal.SIGKILL, "a command that kills itself: its status", p.returncode)

# ---- a processor that goes and comes back -----------------------------------------------------------
def set_online(value):
    with open(ONLINE, "w", encoding="utf-8") as f:
        f.write(value)


ONLINE = "/sys/devices/system/cpu/cpu1/online"
if not LONG:
    tap.skip("a processor that goes and comes back", "only with LONG=1: all that runs beside it loses the processor, too")
else:
    spin = subprocess.Popen([load, "two", "1000"])
    c = start("-F", "499", "-p", spin.pid, "-o", "gone.data")
    a = start("-F", "499", "--cgroup", "/", "-o", "all.data") if os.geteuid() == 0 else None
    try:
        until_recorded(c, spin.pid)
        set_online("0")
        try:
            time.sleep(1.5)
        finally:  # whatever ends this test
            set_online("1")
        there = True
    except OSError as e:
        there = False
        tap.skip("a processor that goes and comes back", f"this machine keeps its processors: {e}")
    if there:
        back = time.clock_gettime(time.CLOCK_MONOTONIC)
        time.sleep(2)
    for q in (c, a):
        if q:
            q.send_signal(signal.SIGINT)
    err = c.communicate(timeout=60)[1]
    err_all = a.communicate(timeout=60)[1] if a else ""
    spin.kill()
    spin.wait()
    if there:
        late = [s for s in PerfData("gone.data").samples() if s.time > back * 1e9]
        tap.check(c.returncode == 0 and {s.cpu for s in late} >= {0, 1} and " 0 lost" in err, "-p: a processor that comes back has samples again", err, {s.cpu for s in late})
        if a and "cgroup" not in err_all:
            late = [s for s in PerfData("all.data").samples() if s.time > (back + 1) * 1e9]
            words = run([RESOLVE, "-f", "folded", "all.data"], check=False)
            tap.check({s.cpu for s in late} >= {0, 1} and "recorded again" in err_all and ";spin" in words.stdout and " 0 lost" in err_all,
                      "of all processes: it is recorded again, which is said", {s.cpu for s in late}, err_all, words.stdout[:500], words.stderr)
tap.end()

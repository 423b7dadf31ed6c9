#!/usr/bin/env python3
"""capture --off-cpu and --wall of a cgroup (-G) and of one thread (-t): the sideband tells of more threads than are recorded, which wait for nothing
here; of some processors (-C), which do not tell what waits."""
import json
import os
import shutil
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, Tap, capture, need_events, need_root, run, until, until_enabled
from lib import start as record

tap = Tap()
need_root(tap, "--off-cpu", "needs root")
need_events()
with open("beside.c", "w", encoding="utf-8") as f:
    f.write(r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) static void naps(void) { usleep(20000); __asm__ volatile(""); }
static void *work(void *a) { for (;;) naps(); return a; }
int main(int argc, char **argv)
{
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, 9);
	alarm(100);
	if (argc > 1)
		work(argv);
	pthread_create(&t, NULL, work, NULL);
	pthread_setname_np(t, "napper");
	for (;;) { /* each new process lives for longer than it is made */
		if (!fork()) {
			prctl(PR_SET_NAME, "other");
			usleep(200000);
			_exit(0);
		}
		usleep(30000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
""")
run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "beside.c", "-o", "beside"])
probe = run([CAPTURE, "-q", "--off-cpu", "-o", "probe.data", "true"], check=False)
if probe.returncode:
    tap.skip("--off-cpu of a cgroup, a thread, a processor", probe.stderr.strip())
    tap.end()
    raise SystemExit


def spawn(*args):
    return subprocess.Popen(["./beside", *args])


def shown(option, data):
    """({command: seconds}, seconds of all threads)"""
    comms = {}
    for event in ("off-cpu", "runnable") if option == "--off-cpu" else ("wall",):
        for line in run([RESOLVE, "-q", "--event", event, "-f", "folded", data], check=False).stdout.splitlines():
            stack, _, ns = line.rpartition(" ")
            comm = stack.partition(";")[0]
            comms[comm] = comms.get(comm, 0) + int(ns) / 1e9
    stats = run([RESOLVE, "-q", "--stats=json", "-o", "/dev/null", "-f", "folded", data]).stderr.strip().splitlines()[-1]
    return comms, json.loads(stats)["threads_wall_ns"] / 1e9


# ---- one thread ------------------------------------------------------------------------------------
p = spawn()
tid = until(lambda: next((t for t in os.listdir(f"/proc/{p.pid}/task") if open(f"/proc/{p.pid}/task/{t}/comm").read() == "napper\n"), None), "the thread")
for option in ("--off-cpu", "--wall"):
    began = time.monotonic()
    capture(option, "-t", tid, "--duration", "1", "-o", "thread.data")
    took = time.monotonic() - began
    comms, wall = shown(option, "thread.data")
    tap.check(comms.get("napper", 0) >= 0.8 and "other" not in comms and "beside" not in comms and wall <= took,
              f"{option} -t: what the process's other threads start has no time", comms, wall, took)

# ---- a cgroup --------------------------------------------------------------------------------------
mount = next((l.split() for l in open("/proc/mounts") if l.split()[2] == "cgroup" and "perf_event" in l.split()[3].split(",")), None) or \
    next((l.split() for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
group = mount and os.path.join(mount[1], f"unspool-test-{os.getpid()}")
try:
    os.mkdir(group or "/nowhere/at/all")
    inside = spawn("x")
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as f:
        f.write(str(inside.pid))
except OSError as e:
    tap.skip("-G", f"no cgroup can be made here: {e}")
else:
    for option in ("--off-cpu", "--wall"):
        began = time.monotonic()
        capture(option, "-G", os.path.basename(group), "--duration", "1", "-o", "group.data")
        took = time.monotonic() - began
        comms, wall = shown(option, "group.data")
        tap.check(comms.get("beside", 0) >= 0.8 and not set(comms) & {"other", "napper", "capture"} and wall <= took,
                  f"{option} -G: only the cgroup's threads wait", comms, wall, took)
    # What it starts counts from there on.
    inside.kill()
    inside.wait()
    script = f"echo $$ >{group}/cgroup.procs; ./beside x & sleep 100"
    q = record("--off-cpu", "-G", os.path.basename(group), "--duration", "2", "-o", "group.data")
    until_enabled(q)
    p2 = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    q.communicate(timeout=60)
    comms, _ = shown("--off-cpu", "group.data")
    tap.check(comms.get("beside", 0) >= 0.3 and "napper" not in comms, "-G: a process that comes into it", comms)
    os.killpg(p2.pid, 9)
    p2.wait()
    # Others come into it, leave it, or wait in it, also in a cgroup below it, all the time.
    below = os.path.join(group, "below")
    os.mkdir(below)
    sleepers = ("sleeps", "comesleep", "leavesleep")
    names = ("stays", "comes", "leaves", "returns", *sleepers)
    for name in names:
        shutil.copy("/usr/bin/sleep" if name in sleepers else "beside", name)
    members = {name: subprocess.Popen(["./" + name, "100"]) for name in names}

    def move(name, to):
        with open(os.path.join(to, "cgroup.procs"), "w", encoding="utf-8") as f:
            f.write(str(members[name].pid))

    for name, to in (("stays", group), ("leaves", group), ("returns", group), ("sleeps", below), ("leavesleep", group)):
        move(name, to)
    for name in sleepers:
        until(lambda name=name: "nanosleep" in open(f"/proc/{members[name].pid}/wchan", encoding="utf-8").read(), "the sleeper")
    began = time.monotonic()
    q = record("--off-cpu", "-G", os.path.basename(group), "-o", "group.data")
    until_enabled(q)
    enabled = time.monotonic()
    move("returns", os.path.join(group, ".."))
    time.sleep(1)
    came = time.monotonic()
    for name in ("comes", "comesleep", "returns"):
        move(name, group)
    for name in ("leaves", "leavesleep"):
        move(name, os.path.join(group, ".."))
    left = time.monotonic()
    time.sleep(0.5)
    ended = time.monotonic()
    q.send_signal(signal.SIGINT)
    said = q.communicate(timeout=60)[1]
    gone = time.monotonic()
    comms, _ = shown("--off-cpu", "group.data")
    tap.check(comms.get("stays", 0) >= 0.8 * (ended - enabled), "-G: one that is in it all the time", comms, ended - enabled)
    tap.check(0.5 * (ended - came) <= comms.get("comes", 0) <= gone - came, "-G: one that moves into it counts from there on", comms, gone - came)
    tap.check(0.5 * (came - enabled) <= comms.get("leaves", 0) <= left - began, "-G: one that leaves it counts no more", comms, left - began)
    stack = [line for line in run([RESOLVE, "-q", "-f", "folded", "group.data"]).stdout.splitlines() if line.startswith("sleeps;")]
    tap.check(comms.get("sleeps", 0) >= 0.8 * (ended - enabled) and len(stack) == 1 and "nanosleep" in stack[0], "-G: one that waits in it all the time, with its stack", stack, comms)
    # Of those that wait since they came, or until they left, there is no record.
    tap.check(f"1 thread came into the cgroup and waited there to the end ({members['comesleep'].pid}): since when is not known, so that time is not counted" in said and
              "comesleep" not in comms, "-G: one that comes and waits to the end is not counted, which is said", said, comms)
    tap.check(f"1 thread waited in the cgroup from the beginning and left it ({members['leavesleep'].pid}): until when is not known, so that time is not counted" in said and
              "leavesleep" not in comms, "-G: nor is one that waits until it leaves", said, comms)
    tap.check(ended - enabled <= comms.get("returns", 0) + 0.3 <= gone - began + 0.3, "-G: one that leaves and comes back counts as waiting in between", comms, ended - enabled)
    for m in members.values():
        m.kill()
        m.wait()
    until(lambda: not open(os.path.join(below, "cgroup.procs"), encoding="utf-8").read(), "the empty group below")
    os.rmdir(below)
    until(lambda: not open(os.path.join(group, "cgroup.procs"), encoding="utf-8").read(), "the empty group")
    os.rmdir(group)

# ---- some processors -------------------------------------------------------------------------------
cpus = sorted(os.sched_getaffinity(0))
online = run(["cat", "/sys/devices/system/cpu/online"]).stdout.strip()
for option in ("--off-cpu", "--wall"):
    q = run([CAPTURE, "-q", option, "-C", online, "-p", str(p.pid), "--duration", "0.2", "-o", "cpu.data"], check=False)
    tap.check(q.returncode == 0 and shown(option, "cpu.data")[0].get("napper", 0) > 0, f"{option} -C {online}: all processors", q.stderr)
    if len(cpus) < 2:
        tap.skip(f"{option} -C of some processors", "there is one")
        continue
    for some in (str(cpus[-1]), f"{cpus[-1]},{cpus[-1]}"):
        q = run([CAPTURE, "-q", option, "-C", some, "-p", str(p.pid), "--duration", "0.2", "-o", "cpu.data"], check=False)
        tap.check(q.returncode == 2 and "other processors would count as waiting" in q.stderr, f"{option} -C {some}: refused, as what is elsewhere would wait", q.stderr)
p.kill()
p.wait()
tap.end()

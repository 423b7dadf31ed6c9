"""stacks.py - what it costs to ask where 65 threads wait now: capture --stacks and resolve -f stacks beside eu-stack.

All sides ask the same process in turns, in one run. The frames of both are compared in tests/capture/test_stacks.py."""
import os
import shutil
import statistics
import subprocess
import sys
import time

from recorders import timed

# 64 threads wait for a lock that main holds.
WAITS = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noipa)) static void deep(int n) { if (n) deep(n - 1); else pthread_mutex_lock(&mutex); __asm__ volatile(""); }
static void *locker(void *a) { deep(5); return a; }
int main(void)
{
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, 9);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 64; i++)
		pthread_create(&t, NULL, locker, NULL);
	pause();
	return 0;
}
"""
PYTHON = """
import json, sqlite3, ssl, threading
stop = threading.Event()
for i in range(64):
    threading.Thread(target=stop.wait, daemon=True).start()
stop.wait()
"""


def waiting(pid):
    """How many threads of a process wait."""
    n = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as f:
            n += f.read().rpartition(")")[2].split()[0] == "S"
    return n


def compare(a, dir_, what, program):
    """One process, asked by each in turns."""
    p = subprocess.Popen(program, cwd=dir_)
    while waiting(p.pid) < 65:
        time.sleep(0.01)
    record = f"{a.bin}/capture -q --stacks -o stacks.data -p {p.pid}"
    show = f"{record} --bundle=none; {a.bin}/resolve -q -f stacks stacks.data"
    sides = {"capture --stacks": record, "capture --stacks --bundle=none": f"{record} --bundle=none", ".. and resolve -f stacks": show, ".. with --no-cache": f"{show} --no-cache"}
    if shutil.which("eu-stack"):
        sides.update({f"eu-stack {o}": f"eu-stack {o} {p.pid}" for o in ("-p", "-i -p")})
    runs = {name: [] for name in sides}
    for _ in range(a.runs):
        for name, command in sides.items():
            runs[name].append(timed(dir_, ["sh", "-c", command]))
    p.kill()
    p.wait()
    print(f"65 threads that wait, {what}: where? medians of {a.runs}")
    for name, all_ in runs.items():
        cpu, wall = (statistics.median(r[i] for r in all_) for i in (0, 1))
        print(f"  {name:48} cpu {cpu:7.3f} s  wall {wall:7.3f} s", flush=True)


def section_stacks(a, dir_):
    """65 threads that wait, of a small program and of one with large libraries."""
    with open(os.path.join(dir_, "locks.c"), "w", encoding="utf-8") as f:
        f.write(WAITS)
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "locks.c", "-o", "locks"], cwd=dir_, check=True)
    compare(a, dir_, "of a small program", ["./locks"])
    compare(a, dir_, "of Python", [sys.executable, "-c", PYTHON])

#!/usr/bin/env python3
"""What the start of a recording costs: of all processes where there are 2,000 of them, and of probes at 1,000 functions. CPU time is bounded
always; how long it takes only where the machine has time."""
import os
import resource
import subprocess
import time

from lib import CAPTURE, PerfData, Tap, need_events, need_root, run

tap = Tap()
need_events()
ROUNDS, LOAD_MAX = 5, 4
PROCESSES = r"""
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	pid_t parent = getpid();
	for (int i = 0; i < 2000; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, 9);
			if (getppid() == parent)
				pause();
			_exit(0);
		}
	}
	puts("ready");
	fflush(stdout);
	return getchar() == 'x';
}
"""


def build(name, text):
    with open(f"{name}.c", "w", encoding="utf-8") as f:
        f.write(text)
    run(["gcc", "-O1", "-g", f"{name}.c", "-o", name])


def is_busy():
    return os.getloadavg()[0] > LOAD_MAX


def measured(*words):
    """(seconds until it ended, CPU seconds of capture and of what it ran, when it began)"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run([CAPTURE, "-q", *words])
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, began


def check_time(seconds, limit, what):
    if seconds > limit and is_busy():
        tap.skip(what, f"{seconds:.2f} s at a load of {os.getloadavg()[0]:.0f}")
    else:
        tap.check(seconds <= limit, what, seconds)


need_root(tap, "2,000 processes, 1,000 functions", "-a and probes need root")

# ---- 2,000 processes ---------------------------------------------------------------------------------
build("processes", PROCESSES)
p = subprocess.Popen(["./processes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
if p.stdout.readline() != "ready\n":
    tap.skip("2,000 processes", "this user may not have as many")
else:
    starts, cpu, sizes = [], [], []
    for _ in range(ROUNDS):
        _, used, began = measured("-a", "-F", "499", "--call-graph", "fp", "--duration", "0.3", "-o", "all.data")
        d = PerfData("all.data")
        starts.append(min(s.time for s in d.samples()) / 1e9 - began)
        cpu.append(used)
        sizes.append(os.path.getsize("all.data"))
    print(f"# figures: -a beside 2,000 processes: first sample after {min(starts):.3f} to {max(starts):.3f} s, CPU {min(cpu):.2f} to {max(cpu):.2f} s, "
          f"{max(sizes)} bytes, load {os.getloadavg()[0]:.1f}")
    comms = sum(r.type == 3 for r in d.records)  # PERF_RECORD_COMM
    tap.check(comms >= 2000 and max(sizes) < 1e6, "-a beside 2,000 processes: all of them are in less than a megabyte", comms, sizes)
    tap.check(min(cpu) < 0.3, "and cost less than 0.3 s of CPU", cpu)
    check_time(min(starts), 0.3, "it samples within 0.3 s")
p.kill()
p.wait()

# ---- 1,000 functions ---------------------------------------------------------------------------------
build("functions", "".join(f"__attribute__((noipa)) int f{i}(int a) {{ return a + {i}; }}\n" for i in range(1000)) +
      "int main(void) { return " + " + ".join(f"f{i}(0)" for i in range(1000)) + " < 0; }\n")
took, cpu = [], []
for _ in range(ROUNDS):
    t, used, _ = measured("--call-graph", "fp", "-e", "uprobe:./functions:f*", "-o", "f.data", "--", "./functions")
    took.append(t)
    cpu.append(used)
n = sum(1 for _ in PerfData("f.data").samples())
print(f"# figures: probes at 1,000 functions: {min(took):.3f} to {max(took):.3f} s from start to end, CPU {min(cpu):.2f} to {max(cpu):.2f} s, load {os.getloadavg()[0]:.1f}")
tap.check(n == 1000, "a probe at each of 1,000 functions: each is hit", n)
tap.check(min(cpu) < 0.5, "which cost less than 0.5 s of CPU", cpu)
check_time(min(took), 0.5, "and start and end within 0.5 s")
tap.end()

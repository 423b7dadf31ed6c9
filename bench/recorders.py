"""recorders.py - what recorders cost where much happens that is no computing: context switches, forks, many threads.

All sides run the same programs in turns, in one run. `cpu` is that of program, kernel and recorder together; "x" compares it with the program
alone. What was lost is what the recording itself tells, read by resolve."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

SWITCHES = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2];
__attribute__((noipa)) static int takes(void) { char c; return read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1; }
__attribute__((noipa)) static int gives(void) { char c = 0; return write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1; }
static void *taker(void *a) { while (takes()) ; return a; }
static void *napper(void *a) { long n = (long)a; for (long i = 0; i < n; i++) usleep(10000); return a; }
int main(int argc, char **argv)
{
	long rate = atol(argv[1]), seconds = atol(argv[2]), threads = argc > 3 ? atol(argv[3]) : 0;
	struct rusage u;
	struct timespec t;
	pthread_t one, *all = calloc(threads + 1, sizeof *all);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&all[i], 0, napper, (void *)(seconds * 100)))
			return 1;
	if (rate) {
		if (pipe(there) || pipe(back) || pthread_create(&one, 0, taker, 0))
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &t);
		for (long i = 0; i < seconds * 100; i++) {
			for (long k = 0; k < rate / 200; k++)
				if (!gives())
					return 1;
			t.tv_nsec += 10000000;
			if (t.tv_nsec >= 1000000000)
				t.tv_sec++, t.tv_nsec -= 1000000000;
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
		}
	}
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], 0);
	getrusage(RUSAGE_SELF, &u);
	printf("%ld\n", u.ru_nvcsw);
	return 0;
}
"""
BUSY = r"""
#include <pthread.h>
static volatile unsigned long sink;
static void *work(void *a) { for (unsigned long i = 0; i < 2000000000UL; i++) sink += i; return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); return 0; }
"""
FORKS = "i=0; while [ $i -lt %d ]; do (:); i=$((i+1)); done"
# Prints CPU seconds of a command and all it starts, wall seconds, and what the command printed.
TIMED = """
import os, resource, subprocess, sys, time
t = time.time()
out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(r.ru_utime + r.ru_stime, time.time() - t, (out.split() or ["0"])[-1])
"""


# bcc's tool sums in the kernel and prints when it is interrupted; it needs some time to begin.
OFFCPUTIME = """
offcputime >"$2" 2>/dev/null & tool=$!
shift 2
sleep 1
"$@"
kill -INT $tool
wait $tool
"""


def timed(dir_, argv):
    """(CPU seconds, wall seconds, the last word it printed)"""
    out = subprocess.run([sys.executable, "-c", TIMED, *argv], cwd=dir_, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1]), out[2]


def lost_of(a, dir_, data):
    """(samples, lost) of a recording."""
    err = subprocess.run([f"{a.bin}/resolve", "-q", "--stats=json", "--no-inline", "-f", "folded", "-o", "/dev/null", data], cwd=dir_,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False).stderr
    j = json.loads(next((l for l in reversed(err.splitlines()) if l.startswith("{")), "{}"))
    return j.get("samples", 0), j.get("lost", 0)


def compare(a, dir_, what, program, recorders, sizes=True):
    """One program alone and under each recorder, in turns."""
    runs = {name: [] for name in ("alone", *recorders)}
    for _ in range(a.runs):
        for name, words in (("alone", []), *recorders.items()):
            runs[name].append(timed(dir_, [*words, *program]))
    base = statistics.median(r[0] for r in runs["alone"])
    wall = statistics.median(r[1] for r in runs["alone"])
    print(f"{what}: alone {base:.2f} s of CPU, {wall:.2f} s" + (f", {runs['alone'][0][2]} switches" if re.fullmatch(r"[1-9]\d*", runs["alone"][0][2]) else ""))
    for name, words in recorders.items():
        data = words[words.index("-o") + 1]
        cpu, took = (statistics.median(r[i] for r in runs[name]) for i in (0, 1))
        samples, lost = lost_of(a, dir_, data)
        size = os.path.getsize(os.path.join(dir_, data))
        print(f"  {name:48} cpu {cpu:7.2f} s {cpu / base:6.2f} x (+{cpu - base:6.2f} s)  wall {took / wall:5.2f} x  {size / 1e6:8.2f} MB  " +
              (f"{samples} samples, {lost} lost ({100 * lost / (samples + lost):.1f} %), {size / samples:.0f} bytes and {(cpu - base) / samples * 1e6:.0f} us of CPU a sample, "
               if samples else "") + f"{took - wall:+.2f} s to start and stop", flush=True)


def growth(dir_, what, program, seconds, recorders):
    """What a minute of events takes: a recording of so many seconds, without one of none, which has the same start and the same bundle."""
    print(what)
    for name, words in recorders.items():
        sizes = []
        for s in ("0", str(seconds)):
            timed(dir_, [*words, *program, s])
            sizes.append(os.path.getsize(os.path.join(dir_, words[words.index("-o") + 1])))
        print(f"  {name:48} {(sizes[1] - sizes[0]) / seconds * 60 / 1e6:8.1f} MB a minute", flush=True)


def section_recorders(a, dir_):
    """Two busy threads at 99 to 20,000 Hz, waits at 1,000 and 50,000 switches a second, forks, 2,000 threads."""
    capture, perfs = [f"{a.bin}/capture", "-q"], {}
    for program in ("perf", *([a.perf] if a.perf else [])):
        version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
        perfs[f"perf {version}"] = [program, "record", "-q", "-N", "-B"]

    def by_perf(data, *words):
        return {" ".join((name, *words)): [*argv, *words, "-o", f"{data}.{name[5:]}", "--"] for name, argv in perfs.items()}

    with open(os.path.join(dir_, "switches.c"), "w") as f:
        f.write(SWITCHES)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "switches.c", "-o", "switches"], cwd=dir_, check=True)
    waits = {"capture --off-cpu": [*capture, "--off-cpu", "-o", "sw.data", "--"],
             **by_perf("sw", "-e", "sched:sched_switch", "--call-graph", "dwarf")}
    if shutil.which("offcputime"):
        waits["offcputime of bcc (frame pointers, all processes)"] = ["sh", "-c", OFFCPUTIME, "offcputime", "-o", "sw.txt"]
    for rate in (1000, 50000):
        compare(a, dir_, f"{rate} context switches a second", ["./switches", str(rate), "2"], waits)
    growth(dir_, "50000 context switches a second, the events alone", ["./switches", "50000"], 4, {n: w for n, w in waits.items() if "-o" in w and "sw.txt" not in w})
    with open(os.path.join(dir_, "busy.c"), "w") as f:
        f.write(BUSY)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "busy.c", "-o", "busy"], cwd=dir_, check=True)
    for hz in ("99", "999", "20000"):
        compare(a, dir_, f"two busy threads, {hz} Hz", ["./busy"],
                {f"capture -F {hz}": [*capture, "-F", hz, "-o", "b.data", "--"],
                 f"capture -F {hz} --bundle=none": [*capture, "-F", hz, "--bundle=none", "-o", "bn.data", "--"],
                 **by_perf("b", "-F", hz, "--call-graph", "dwarf")})
    clocks = {"capture -F 99": [*capture, "-F", "99", "-o", "f.data", "--"],
              "capture -F 99 --no-touch": [*capture, "-F", "99", "--no-touch", "-o", "fn.data", "--"],
              **by_perf("f", "-F", "99", "--call-graph", "dwarf")}
    compare(a, dir_, "1,000 forks of a shell", ["bash", "-c", FORKS % 1000], clocks)
    if shutil.which("make"):
        with open(os.path.join(dir_, "forks.mk"), "w") as f:
            f.write("all: " + " ".join(f"t{i}" for i in range(200)) + "\n" + "".join(f"t{i}:\n\t@echo x | cat > /dev/null\n" for i in range(200)))
        compare(a, dir_, "make of 200 targets that run a pipe each", ["make", "-s", "-j2", "-f", "forks.mk"], clocks)
    compare(a, dir_, "2,000 threads that nap 10 ms each", ["./switches", "0", "2", "2000"], clocks)

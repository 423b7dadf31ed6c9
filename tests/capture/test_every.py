#!/usr/bin/env python3
"""capture --every: what a sample stands for when rounds take longer than asked; programs, libraries and threads that come later."""
import os
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, PerfData, Tap, capture, run, until

tap = Tap()


def compile_c(name, text, *flags):
    with open(f"{name}.c", "w") as f:
        f.write(text)
    run(["gcc", "-O1", "-g", "-pthread", f"{name}.c", "-o", name, *flags])


def folded(*options):
    out = run([RESOLVE, "-q", "--no-inline", *options, "perf.data"]).stdout
    return {s: int(n) for s, _, n in (line.rpartition(" ") for line in out.splitlines())}


def spawn(*cmd, **kw):
    return subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


# ---- rounds that take longer than asked -----------------------------------------------------------
compile_c("many", r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *waits(void *a) { for (;;) pause(); return a; }
int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, 9);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = atoi(argv[argc - 1]); i > 0; i--)
		pthread_create(&t, &small, waits, NULL);
	for (volatile long x = 0;; x++)
		;
}
""")
N = 200
p = spawn("./many", str(N))
until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) == N + 1, "the threads")
r = capture("--every", 1, "--duration", 2, "-p", p.pid)
times, sums = {}, {}
for s in PerfData("perf.data").samples():
    times.setdefault(s.tid, []).append(s.time)
    sums[s.tid] = sums.get(s.tid, 0) + s.period
# The first sample stands for one millisecond; rounds begin at whole ones, and reach a thread within one round.
wrong = {}
for tid, t in times.items():
    longest = max(b - a for a, b in zip(t, t[1:]))
    if abs(sums[tid] - (t[-1] - t[0])) > 2 * longest:
        wrong[tid] = (sums[tid], t[-1] - t[0], longest)
tap.check(len(times) == N + 1 and not wrong, "the samples of a thread stand for the whole time", list(wrong.items())[:3], r.stderr)
tap.check(len(set(sums.values())) == 1, "of each the same, whether it runs or waits", len(set(sums.values())))
tap.check(re.search(rf"a round of {N + 1} threads took [\d.]+ ms, more than 1 ms: \d+ of \d+ rounds were left out", r.stderr),
          "a line says that rounds took longer than asked", r.stderr)
p.kill()
p.wait()

# ---- what comes after the start -------------------------------------------------------------------
GATE = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static int gate(void) { char c; return read(0, &c, 1) == 1 ? c : 0; }
"""
compile_c("later.so", "#include <unistd.h>\nvoid waits_in_library(void) { char c; while (read(0, &c, 1) != 1) ; __asm__ volatile(\"\"); }\n",
          "-shared", "-fPIC")
compile_c("next", GATE + r"""
__attribute__((noipa)) void waits_in_next(void) { gate(); __asm__ volatile(""); }
int main(void) { prctl(PR_SET_PDEATHSIG, 9); waits_in_next(); return 0; }
""")
compile_c("first", GATE + r"""
static void *named(void *a) { pthread_setname_np(pthread_self(), "late-thread"); for (;;) pause(); return a; }
int main(void)
{
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, 9);
	gate();
	pthread_create(&t, NULL, named, NULL);
	gate();
	void *h = dlopen("./later.so", RTLD_NOW);
	((void (*)(void))dlsym(h, "waits_in_library"))();
	execl("./next", "next", NULL);
	return 1;
}
""", "-ldl")


def step(p, reached):
    p.stdin.write(b"x")
    p.stdin.flush()
    until(reached, "the next step")
    time.sleep(1.5)  # a thread's new name may be seen after a second


def recorded(recorder):
    """Waits until it has read all: the file has grown, or a second has gone."""
    until(lambda: os.path.exists("perf.data") and os.path.getsize("perf.data") > 0, "the recording")
    time.sleep(0.5)


if os.path.exists("perf.data"):
    os.unlink("perf.data")
p = spawn("./first")
until(lambda: open(f"/proc/{p.pid}/comm").read() == "first\n", "the program")
recorder = subprocess.Popen([CAPTURE, "--every", "10", "-p", str(p.pid)], stderr=subprocess.PIPE, text=True)
recorded(recorder)
step(p, lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 2)
step(p, lambda: "later.so" in open(f"/proc/{p.pid}/maps").read())
step(p, lambda: open(f"/proc/{p.pid}/comm").read() == "next\n")
recorder.send_signal(signal.SIGINT)
said = recorder.communicate()[1]
stacks = folded()
tap.check(any(";waits_in_library;" in s for s in stacks), "a library that was loaded later has names", stacks, said)
tap.check(any(s.startswith("next;") and ";waits_in_next;" in s for s in stacks), "so has a program that was executed later, by its own name", stacks)
tap.check(not any(s.startswith("next;") and "[unknown]" in s.split(";")[1] for s in stacks), "and nothing of it is without", stacks)
tap.check(any(s.startswith("late-thread;") for s in stacks) and not any(s.startswith(":") for s in stacks), "a thread that was started later has its name",
          stacks)
text = run([RESOLVE, "-q", "-f", "script", "--no-inline", "perf.data"]).stdout
tap.check("later.so" in text, "with the file", text[:300])
p.kill()
p.wait()
tap.end()

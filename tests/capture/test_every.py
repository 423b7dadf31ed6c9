#!/usr/bin/env python3
"""capture --every: what a sample stands for when rounds take longer than asked; programs, libraries and threads that come later."""
import os
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, PerfData, Tap, capture, children, have, run, until

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
first_round = max(t[0] for t in times.values()) - min(t[0] for t in times.values())
for tid, t in times.items():
    longest = max(b - a for a, b in zip(t, t[1:]))
    if abs(sums[tid] - (t[-1] - t[0])) > 2 * longest + first_round:
        wrong[tid] = (sums[tid], t[-1] - t[0], longest)
tap.check(len(times) == N + 1 and not wrong, "the samples of a thread stand for the whole time", list(wrong.items())[:3], r.stderr)
tap.check(len(set(sums.values())) == 1, "of each the same, whether it runs or waits", len(set(sums.values())))
tap.check(re.search(rf"a round of {N + 1} threads took [\d.]+ ms, more than 1 ms: \d+ of \d+ rounds were left out", r.stderr),
          "a line says that rounds took longer than asked", r.stderr)
r = capture("--every", 1, "--duration", ".002", "-p", p.pid)
tap.check("round of 0 threads" not in r.stderr, "also where the first round was the last, its threads are counted", r.stderr)
# Where the kernel's functions are takes longer to read than a round: that is done before the first.
if have("strace") and os.geteuid() == 0:
    q = run(["strace", "-f", "-e", "trace=openat,ptrace", "-o", "calls", CAPTURE, "--every", "100", "--duration", ".05", "-p", str(p.pid)], check=False,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # leaks cannot be looked for beside strace
    with open("calls", encoding="utf-8", errors="replace") as f:
        calls = f.read().splitlines()
    reads = [i for i, line in enumerate(calls) if '"/proc/kallsyms"' in line]
    halts = [i for i, line in enumerate(calls) if f"ptrace(PTRACE_SEIZE, {p.pid}" in line]
    tap.check(q.returncode == 0 and reads and halts and max(reads) < min(halts), "the kernel's functions are looked up before the first round", reads, halts, q.stderr, calls[-5:])
else:
    tap.skip("the kernel's functions", "needs root and strace")
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


def step(p, reached, text=b"x"):
    p.stdin.write(text)
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

# ---- children -------------------------------------------------------------------------------------
p = spawn("sh", "-c", "read x; sh -c './next; :'; read y")
until(lambda: open(f"/proc/{p.pid}/comm").read() == "sh\n", "the shell")
recorder = subprocess.Popen([CAPTURE, "--every", "20", "-p", str(p.pid)], stderr=subprocess.PIPE, text=True)
recorder.stderr.readline()  # it has begun
step(p, lambda: any(open(f"/proc/{c}/comm").read() == "next\n" for child in children(p.pid) for c in children(child)), b"x\n")
recorder.send_signal(signal.SIGINT)
said = recorder.communicate()[1]
stacks = folded()
tap.check(any(s.startswith("next;") and ";waits_in_next;" in s for s in stacks), "a child's child that was started later", stacks, said)
p.stdin.close()
p.wait()

p = spawn("sh", "-c", "sleep 60 & wait")
until(lambda: any(open(f"/proc/{c}/comm").read() == "sleep\n" for c in children(p.pid)), "the child")
r = run([CAPTURE, "--every", "50", "-p", str(p.pid), "--duration", "1"])
stacks = folded()
tap.check(any(s.startswith("sh;") for s in stacks) and not any(s.startswith("sleep;") for s in stacks), "a child that was there before is not recorded", stacks, r.stderr)
for child in children(p.pid):
    os.kill(child, signal.SIGKILL)
p.wait()

# ---- waits that the kernel does not restart -------------------------------------------------------
compile_c("waits", r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <unistd.h>
static int ends[2], sem;
static volatile int handled;
static const char *what;
static void on(int s) { handled = 1; }
static int waits(void)
{
	const int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	struct sembuf down = {0, -1, 0};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e);
	if (!strcmp(what, "epoll"))
		return epoll_wait(ep, &e, 1, -1);
	if (!strcmp(what, "pepoll"))
		return epoll_pwait(ep, &e, 1, -1, &set);
	if (!strcmp(what, "sem"))
		return semop(sem, &down, 1);
	if (!strcmp(what, "signal"))
		return sigwaitinfo(&set, NULL);
	return epoll_wait(ep, &e, 1, 100000);
}
int main(int argc, char **argv)
{
	sigset_t set;
	prctl(PR_SET_PDEATHSIG, 9);
	what = argv[1];
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on}, NULL);
	sem = semget(IPC_PRIVATE, 1, 0600);
	if (pipe(ends))
		return 9;
	fprintf(stderr, "ready\n");
	int n = waits();
	int was = errno;
	semctl(sem, 0, IPC_RMID);
	return n >= 0 ? 3 : was == EINTR ? 4 + handled : 8;
}
""")
for what, code in (("epoll", 5), ("pepoll", 5), ("sem", 5), ("signal", 3), ("timeout", 4)):
    p = subprocess.Popen(["./waits", what], stderr=subprocess.PIPE)
    p.stderr.readline()
    until(lambda: "State:\tS" in open(f"/proc/{p.pid}/status").read(), "the wait")
    r = capture("--every", 5, "--duration", 0.5, "-p", p.pid)
    # The wait still goes on, and a handler ends it as ever; with a timeout it was ended by the first round.
    if os.uname().machine == "x86_64" or what == "timeout":
        if what != "timeout":
            tap.check(p.poll() is None and r.n_samples > 1, f"a wait goes on: {what}", p.poll(), r.stderr)
        p.send_signal(signal.SIGUSR1 if what == "signal" else signal.SIGUSR2)
        tap.check(p.wait() == code, f"and ends as it would: {what}", p.returncode, r.stderr)
    # One that has not run since, on a busy machine, counts again.
    tap.check(bool(re.search(r"[1-9] system calls ended with EINTR", r.stderr)) == (what == "timeout"), f"what was ended is counted: {what}", r.stderr)
    tap.check("see --every in the manual" in r.stderr, f"and told before: {what}", r.stderr)
    p.kill()
    p.wait()

# ---- signals, and what does not go together -------------------------------------------------------
p = spawn("sleep", "1000")
recorder = subprocess.Popen([CAPTURE, "--every", "10", "-p", str(p.pid), "-o", "signal.data"], stderr=subprocess.PIPE, text=True)
recorder.stderr.readline()  # it has begun
recorder.send_signal(signal.SIGUSR2)
time.sleep(0.3)
tap.check(recorder.poll() is None, "SIGUSR2 that nothing waits for does not end the recording", recorder.poll())
recorder.send_signal(signal.SIGINT)
tap.check("samples of wall-clock" in recorder.communicate()[1] and not recorder.returncode, "and ^C does, with its file", recorder.returncode)
for option in ("--off-cpu", "--wall", "--alloc", "--syscalls", "-ecycles"):
    q = run([CAPTURE, "--every", "10", option, "-p", str(p.pid)], check=False)
    tap.check(q.returncode == 2 and "without events" in q.stderr and option[:2] in q.stderr, f"refused with {option}", q.stderr)
for options, word in ((["-C", "0"], "wherever they run"), (["-D", "5"], "begin it later"), (["-c", "9"], "--every MS"), (["-G", "/"], "-p, -u"), (["-d"], "two recordings"),
                      (["--all-cgroups"], "two recordings"), (["--call-graph", "fp"], "it copies stacks"), (["--call-graph", "none"], "it copies stacks")):
    q = run([CAPTURE, "--every", "10", *options, *([] if "-G" in options else ["-p", str(p.pid)])], check=False)
    tap.check(q.returncode == 2 and word in q.stderr and len(q.stderr.splitlines()) == 1, f"what would do nothing is refused: {' '.join(options)}", q.stderr)

# ---- what ends it ----------------------------------------------------------------------------------
r = capture("--every", 1, "--no-compress", "--bundle=none", "--max-size", "200K", "--duration", 1000, "-p", p.pid, "-o", "bound.data")
size = os.path.getsize("bound.data")
tap.check(200 << 10 <= size < 400 << 10 and r.n_samples > 1, "--max-size ends the recording", size, r.stderr)
capture("--every", 5, "--duration", 0.1, "--user", "-p", p.pid)
stacks = folded()
tap.check(stacks and not any("entry_SYSCALL" in s or "do_nanosleep" in s for s in stacks) and any("nanosleep" in s for s in stacks), "--user: without the kernel's functions", stacks)
p.kill()
p.wait()
tap.end()

#!/usr/bin/env python3
"""capture --stacks: what each thread of a process does now, running or waiting, beside eu-stack; how long a thread is halted for it;
that it goes on as before; --every: a profile by the wall clock."""
import gzip
import os
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, Tap, capture, run, until

tap = Tap()
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
__attribute__((noipa)) static void deep(int n) { if (n) deep(n - 1); else pthread_mutex_lock(&mutex); __asm__ volatile(""); }
__attribute__((noipa)) static void reader(void) { char c; if (read(ends[0], &c, 1) != 1) _exit(9); __asm__ volatile(""); }
__attribute__((noipa)) static void burn(void) { volatile long x = 0; for (;;) x++; }
static void *locker(void *a) { deep(5); return a; }
static void *piper(void *a) { reader(); return a; }
static void *burner(void *a) { burn(); return a; }
/* The longest time that this thread was kept from running, in ns: only it knows. */
static void *watcher(void *a)
{
	struct timespec b, e;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	(void)e;
	for (;;)
		sleep(1);
	return a;
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (pipe(ends) || argc != 3)
		return 1;
	prctl(PR_SET_PDEATHSIG, 9);
	pthread_mutex_lock(&mutex);
	for (int i = atoi(argv[1]); i > 0; i--)
		pthread_create(&t, NULL, locker, NULL);
	pthread_create(&t, NULL, piper, NULL);
	pthread_create(&t, NULL, watcher, NULL);
	for (int i = atoi(argv[2]); i > 0; i--)
		pthread_create(&t, NULL, burner, NULL);
	for (;;) { /* lines that come in are answered */
		int c = getchar();
		if (c == 'q')
			return 7;
		if (c > ' ') {
			putchar(c);
			fflush(stdout);
		}
	}
}
"""
with open("w.c", "w") as f:
    f.write(PROGRAM)
run(["gcc", "-O2", "-g", "-pthread", "w.c", "-o", "w"])


def start(lockers, burners):
    p = subprocess.Popen(["./w", str(lockers), str(burners)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    want = lockers + burners + 3
    until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) == want, "the threads")

    def waits():
        states = [open(f"/proc/{p.pid}/task/{t}/stat").read().rpartition(")")[2].split()[0] for t in os.listdir(f"/proc/{p.pid}/task")]
        return states.count("S") == want - burners
    until(waits, "the threads to wait")
    return p


def answers(p):
    p.stdin.write(b"x")
    p.stdin.flush()
    return p.stdout.read(1) == b"x"


def folded(*options):
    out = run([RESOLVE, "-q", "--no-inline", *options, "perf.data"]).stdout
    return {s: int(n) for s, _, n in (line.rpartition(" ") for line in out.splitlines())}


p = start(62, 0)
r = capture("--stacks", "-p", p.pid)
tap.check(r.n_samples == 65, "one sample for each of 65 threads", r.stderr)
stacks = folded()
locked = [n for s, n in stacks.items() if ";locker;" + "deep;" * 6 in s and "pthread_mutex_lock" in s]
tap.check(locked == [62], "those that wait for a lock, through their calls", stacks)
tap.check([n for s, n in stacks.items() if ";piper;reader;" in s and "read" in s] == [1], "one that reads a pipe", stacks)
root = not os.geteuid()
if root:
    tap.check(any(s.endswith(";futex_do_wait") or ";futex_wait" in s for s in stacks) and any("pipe_read" in s for s in stacks),
              "and what they do in the kernel", stacks)
else:
    tap.skip("what they do in the kernel", "/proc/PID/task/TID/stack is for root")
text = run([RESOLVE, "-q", "-f", "stacks", "perf.data"]).stdout
tap.check(text.startswith(f"62 threads of w ({p.pid}), sleeping: ") and text.count("\n\n") == 4, "-f stacks: equal ones together, the most first", text[:400])
beside = run(["eu-stack", "-p", str(p.pid)], check=False).stdout  # before the main thread is woken
tap.check(answers(p), "the program goes on")

# ---- beside eu-stack ------------------------------------------------------------------------------
want = {}
for block in beside.split("TID ")[1:]:
    tid, _, frames = block.partition(":\n")
    want[int(tid)] = [int(x, 16) for x in re.findall(r"^#\d+\s+0x([0-9a-f]+)", frames, re.M)]
have = {}
jsonl = run([RESOLVE, "-q", "-f", "script", "-F", "tid,ip,sym,dso", "--no-inline", "perf.data"]).stdout
for block in jsonl.split("\n\n"):
    tid, *lines = block.strip("\n").split("\n")
    if tid.strip():
        have[int(tid)] = [int(line.split()[0], 16) for line in lines if "[kernel" not in line and "([" not in line]
# eu-stack prints return addresses, resolve the calls; eu-stack leaves out nothing else
differ = {t: (have.get(t), w) for t, w in want.items()
          if have.get(t) != [w[0]] + [a - 1 for a in w[1:]]}
tap.check(len(want) == 65 and not differ, "the frames are eu-stack's, thread by thread", list(differ.items())[:2], len(want))
p.stdin.write(b"q")
p.stdin.flush()
tap.check(p.wait() == 7, "and it ends as it would have")

# ---- threads that run, by the clock ---------------------------------------------------------------
p = start(3, 1)
r = capture("--every", 20, "--duration", 1, "-p", p.pid)
stacks = folded()
total = {k: sum(n for s, n in stacks.items() if f";{k};" in s) for k in ("burner", "piper", "locker")}
tap.check(total["burner"] == total["piper"] == total["locker"] // 3 and r.n_samples // 7 * 20_000_000 <= total["piper"] <= 1_000_000_000,
          "--every: each thread has the same time, whether it runs or waits", total, r.stderr)
# A thread that was halted runs for a moment, in which, if it gets no processor, the next round may find it.
by_state = folded("--by", "state")
states = {k: max({s.partition(";")[0] for s in by_state if f";{k};" in s},
                 key=lambda state, k=k: sum(n for s, n in by_state.items() if s.startswith(state + ";") and f";{k};" in s)) for k in total}
tap.check(states == {"burner": "running", "piper": "sleeping", "locker": "sleeping"}, "and its state", states, by_state)
run([RESOLVE, "-q", "-o", "every.pb.gz", "perf.data"])
pprof = gzip.open("every.pb.gz").read()
tap.check(all(w in pprof for w in (b"state", b"running", b"sleeping")), "pprof has it as a label")
p.send_signal(signal.SIGSTOP)
until(lambda: all("State:\tT" in open(f"/proc/{p.pid}/task/{t}/status").read() for t in os.listdir(f"/proc/{p.pid}/task")), "the stop")
capture("--stacks", "-p", p.pid)
stacks = folded("--by", "state")
tap.check(sum(stacks.values()) == 7 and all(s.startswith("stopped;") for s in stacks) and "State:\tT" in open(f"/proc/{p.pid}/status").read(),
          "a program that was stopped: its state, and it stays so", stacks)
p.send_signal(signal.SIGCONT)
noted = re.search(r"halted for ([\d.]+) ms", r.stderr)
tap.check(not noted or not root, "no thread is halted for more than a millisecond", r.stderr) if root else None
p.kill()
p.wait()

# ---- threads that cannot be halted ----------------------------------------------------------------
with open("vfork.c", "w") as f:
    f.write("#include <sys/prctl.h>\n#include <unistd.h>\n"
            "__attribute__((noipa)) void begets(void) { char c; if (!vfork()) { (void)!read(0, &c, 1); _exit(0); } }\n"
            "int main(void) { prctl(PR_SET_PDEATHSIG, 9); begets(); return 7; }\n")
run(["gcc", "-O1", "-g", "vfork.c", "-o", "vfork"])
p = subprocess.Popen(["./vfork"], stdin=subprocess.PIPE)
until(lambda: "State:\tD" in open(f"/proc/{p.pid}/status").read(), "the vfork")
q = run([CAPTURE, "--stacks", "-p", str(p.pid), "-o", "vfork.data"], check=False, timeout=60)
text = run([RESOLVE, "-f", "stacks", "vfork.data"]).stdout
tap.check("samples of stacks" in q.stderr and "vfork" in text.split("\n", 1)[1], "the parent of a vfork, which nothing halts", q.stderr, text)
q = run([CAPTURE, "--every", "20", "--duration", "0.3", "-p", str(p.pid)], check=False, timeout=60)
for name in ("vfork.data", "perf.data"):
    stacks = run([RESOLVE, "-q", "--no-inline", name], check=False).stdout
    tap.check("main;begets;" in stacks and "vfork" in stacks, f"with what called vfork: {name}", stacks, q.stderr)
p.stdin.close()
tap.check(p.wait() == 7, "and it goes on")
p = subprocess.Popen(["true"], stdin=subprocess.DEVNULL)
until(lambda: "State:\tZ" in open(f"/proc/{p.pid}/status").read(), "the end of true")
q = run([CAPTURE, "--stacks", "-p", str(p.pid), "-o", "zombie.data"], check=False, timeout=60)
tap.check("nothing was recorded: " in q.stderr and "has ended" in q.stderr and q.returncode == 2, "a zombie: a line says so", q.stderr)
p.wait()

# ---- refusals -------------------------------------------------------------------------------------
for words, wanted in ((["--stacks", "--", "true"], "-p PID, or -a"), (["--stacks", "-p", str(p.pid)], "no such process"),
                      (["--every", "0", "-p", "1"], "--every")):
    q = run([CAPTURE, *words], check=False)
    tap.check(q.returncode == 2 and wanted in q.stderr, f"refused: {' '.join(words[:2])}", q.stderr)
p = start(1, 0)
tracer = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(p.pid)], stderr=subprocess.DEVNULL)
until(lambda: "TracerPid:\t0\n" not in open(f"/proc/{p.pid}/status").read(), "strace")
q = run([CAPTURE, "--stacks", "-p", str(p.pid), "-o", "traced.data"], check=False)
tap.check(re.search(rf"1 thread could not be read, of process {p.pid}: process {tracer.pid} \(strace\) traces it already", q.stderr) and not q.returncode,
          "a thread that another program traces: a line says so", q.stderr)
tracer.send_signal(signal.SIGINT)
tracer.wait()
tap.check(answers(p), "and it goes on")
p.kill()
p.wait()
p = subprocess.Popen(["sleep", "1000"])
tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(p.pid)], stderr=subprocess.DEVNULL)
until(lambda: "TracerPid:\t0\n" not in open(f"/proc/{p.pid}/status").read(), "strace")
for words in (["--stacks"], ["--every", "20", "--duration", "0.2"]):
    q = run([CAPTURE, *words, "-p", str(p.pid), "-o", "traced.data"], check=False)
    tap.check(q.returncode == 2 and re.search(rf"nothing was recorded: 1 thread .*process {tracer.pid} \(strace\)", q.stderr)
              and "as root" not in q.stderr, f"if that is the only one: {words[0]}", q.returncode, q.stderr)
    q = run([RESOLVE, "traced.data"], check=False)
    tap.check(q.returncode and "traced it" in q.stderr and "capture --stacks" not in q.stderr, "and the recording says so", q.stderr)
tracer.send_signal(signal.SIGINT)
tracer.wait()
p.kill()
p.wait()
tap.end()

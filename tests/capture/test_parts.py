#!/usr/bin/env python3
"""capture --switch-output: between parts nothing is missing. Programs that count their own calls, and their own CPU time, say what there is to be seen; the sum over
all parts has it. Before, events were closed and opened again for each part."""
import glob
import os
import re
import signal
import struct
import subprocess
import time

from lib import RESOLVE, Tap, need_events, run, start, until
from perfdata import PerfData

tap = Tap()
need_events()
# SIGUSR1 lets it begin, SIGUSR2 end; it prints how often `counted` was called, and its CPU time meanwhile in ns. With an argument each call is in a process of its own.
SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
void never(void) { __asm__ volatile(""); }
static volatile sig_atomic_t begun, ended;
static volatile long x;
static void on(int s) { if (s == SIGUSR1) begun = 1; else ended = 1; }
__attribute__((noinline)) void counted(void) { x++; }
static long long cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
int main(int argc, char **argv)
{
	long n = 0; long long from;
	(void)argv;
	prctl(PR_SET_PDEATHSIG, 9);
	signal(SIGUSR1, on); signal(SIGUSR2, on);
	printf("ready\n"); fflush(stdout);
	while (!begun) usleep(1000);
	from = cpu();
	for (; !ended; n++) {
		if (argc > 1) {
			pid_t p = fork();
			if (!p) { counted(); _exit(0); }
			waitpid(p, NULL, 0);
		} else {
			counted();
			for (int i = 0; i < 100000; i++) x++;
		}
	}
	printf("%ld %lld\n", n, cpu() - from); fflush(stdout);
	for (;;) pause();
}
"""
with open("count.c", "w", encoding="utf-8") as f:
    f.write(SOURCE)
run(["gcc", "-O1", "-g", "count.c", "-o", "count"])


def parts_of(name):
    return sorted(glob.glob(name + ".[0-9]*"))


def record(name, *options, forks=False):
    """What the program says, what capture says, and the parts. The program begins in the second part and ends before the last."""
    p = subprocess.Popen(["./count", *(["forks"] if forks else [])], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    q = start("--switch-output=0.25s", *options, "-p", p.pid, "-o", name)
    until(lambda: q.poll() is not None or len(parts_of(name)) >= 2, "the second part", limit=120)
    p.send_signal(signal.SIGUSR1)
    until(lambda: q.poll() is not None or len(parts_of(name)) >= 8, "eight parts", limit=120)
    p.send_signal(signal.SIGUSR2)
    calls, cpu_ns = map(int, p.stdout.readline().split())
    have = len(parts_of(name))
    until(lambda: q.poll() is not None or len(parts_of(name)) > have, "one more part", limit=120)
    q.send_signal(signal.SIGINT)
    err = q.communicate(timeout=120)[1]
    p.kill()
    p.wait()
    return calls, cpu_ns, err, parts_of(name)


def lines(path, *options):
    return run([RESOLVE, "-q", "-f", "folded", *options, path], check=False).stdout.splitlines()


def weight(rows, what=""):
    return sum(int(l.rsplit(" ", 1)[1]) for l in rows if what in l)


def lost(err):
    return sum(map(int, re.findall(r", (\d+) lost", err)))


if os.geteuid() == 0:
    for forks in (False, True):
        name = f"calls{forks}.data"
        calls, _, err, parts = record(name, "-e", "uprobe:./count:counted", forks=forks)
        rows = [l for x in parts for l in lines(x)]
        whose = "of a program" if not forks else "of processes that begin and end meanwhile"
        tap.check(calls > 100 and weight(rows) + lost(err) == calls and lost(err) < calls / 100, f"uprobe: the sum over {len(parts)} parts is each call {whose}", calls, weight(rows), lost(err), err)
        named = weight(rows, ";counted ")
        tap.check(named == weight(rows) and all(l.startswith("count;") for l in rows), f"each has its name and stack, {whose}", named, [l for l in rows if ";counted " not in l][:5])
    p = subprocess.Popen(["./count"], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    q = start("--switch-output=0.25s", "-e", "uprobe:./count:never", "-p", p.pid, "-o", "never.data")
    until(lambda: q.poll() is not None or len(parts_of("never.data")) >= 4, "four parts", limit=120)
    q.send_signal(signal.SIGINT)
    err = q.communicate(timeout=120)[1]
    p.kill()
    p.wait()
    tap.check(err.count("nothing came by the probes") == 1 and err.count("[ capture: 0 samples") >= 4, "what is the same of all parts is said once", err)
else:
    tap.skip("the sum over all parts is each call of a probe", "only root may probe")

PERIOD = 500000
_, cpu_ns, err, parts = record("clock.data", "-e", "task-clock:u", "-c", PERIOD)
seen = sum(weight(lines(x)) for x in parts) + lost(err) * PERIOD
# A hypervisor takes the processor away now and then, and no sample is taken meanwhile.
tap.check(0.9 * cpu_ns <= seen <= 1.02 * cpu_ns, f"a clock: samples of {len(parts)} parts stand for the CPU time of the program", cpu_ns, seen, err)
told = re.findall(r"\[ capture: .* (clock\.data\.\d+) \]", err)
tap.check(told == parts, "each part has its line, in order", told, parts)

# ---- what each has ---------------------------------------------------------------------------------
p = subprocess.Popen(["./count"], stdout=subprocess.PIPE, text=True)
p.stdout.readline()
p.send_signal(signal.SIGUSR1)
q = start("--switch-output=0.3s", "--bundle", "-F", "999", "-p", p.pid, "-o", "bundle.data")
until(lambda: q.poll() is not None or len(parts_of("bundle.data")) >= 4, "four parts", limit=120)
q.send_signal(signal.SIGINT)
err = q.communicate(timeout=120)[1]
p.kill()
p.wait()
os.rename("count", "count.moved")  # names come from the bundles
parts = parts_of("bundle.data")
good = [x for x in parts if weight(lines(x), ";main ")]
tap.check(len(parts) >= 4 and len(good) >= 3 and err.count("bundle of") >= 3, "--bundle: each part carries one, made while the next is recorded", good, parts, err)
os.rename("count.moved", "count")

# ---- code of processes that have ended ----------------------------------------------------------------
with open("jit.c", "w", encoding="utf-8") as f:
    f.write(r"""
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const char loop[] = "\x48\xff\xcf\x75\xfb\xc3"; /* dec %rdi; jne loop; ret */
	char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, loop, sizeof loop);
	((void (*)(long))code)(1000000000);
	return 0;
}
""")
if os.uname().machine == "x86_64":
    run(["gcc", "jit.c", "-o", "jit"])

    def with_code(path):
        """The processes whose code without a file the recording holds (reader/recorded_code.h)."""
        with open(path, "rb") as f:
            data = f.read()
        heads = [struct.unpack_from("<I3Q", data, m.start() + 12) for m in re.finditer(rb"\xffRTCODE\xff", data)]
        return sorted({pid for pid, _, packed, at in heads if packed and not at})

    sh = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def jit():
        sh.stdin.write("./jit & echo $!; wait\necho\n")
        sh.stdin.flush()
        pid = int(sh.stdout.readline())
        sh.stdout.readline()
        return pid

    q = start("--switch-output", "-F", "499", "-p", sh.pid, "-o", "code.data")
    until(lambda: q.poll() is not None or parts_of("code.data"), "the first part", limit=120)
    ran = []
    for part in range(1, 4):
        ran.append(jit())
        time.sleep(3)  # longer than records of a process may come after its end
        q.send_signal(signal.SIGUSR2)
        until(lambda: q.poll() is not None or len(parts_of("code.data")) > part, "the next part", limit=120)
    q.send_signal(signal.SIGINT)
    err = q.communicate(timeout=120)[1]
    sh.stdin.close()
    sh.wait()
    held = [with_code(x) for x in parts_of("code.data")]
    tap.check(held == [*([x] for x in ran), []], "code of processes that have ended is in the part that has samples of them, and in none later", held, ran, err)
    tap.check(all(weight(lines(x)) for x in parts_of("code.data")[:3]), "which has their stacks", err)
else:
    tap.skip("code of processes that have ended", "the code is x86-64's")

# ---- the end, and what goes wrong -------------------------------------------------------------------
os.mkdir("gone")
p = subprocess.Popen(["./count"], stdout=subprocess.PIPE, text=True)
p.stdout.readline()
p.send_signal(signal.SIGUSR1)
q = start("--switch-output", "-F", "499", "-p", p.pid, "-o", "gone/x.data")
until(lambda: q.poll() is not None or parts_of("gone/x.data"), "the first part", limit=120)
time.sleep(0.3)
os.rename("gone", "away")
q.send_signal(signal.SIGUSR2)
err = q.communicate(timeout=120)[1]
kept = parts_of("away/x.data")
tap.check(q.returncode == 2 and "gone" in err and len(kept) == 1 and weight(lines(kept[0]), ";main ") > 0, "the folder has gone: a message, and the part before is whole", q.returncode, err, kept)
q = start("--switch-output=0.2s", "--duration", "0.9", "-F", "499", "-p", p.pid, "-o", "whole.data")
err = q.communicate(timeout=120)[1]
tap.check(q.returncode == 0 and 2 <= len(parts_of("whole.data")) <= 5, "--duration is that of all parts together", parts_of("whole.data"), err)
p.kill()
p.wait()
tap.end()

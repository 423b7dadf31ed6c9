#!/usr/bin/env python3
"""How recordings by probes end otherwise than with the command: what is probed goes on unharmed, and no probe stays."""
import os
import re
import signal
import subprocess

from lib import RESOLVE, Tap, capture, cpu_seconds, need_events, need_root, run, start, until, until_open

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")

HOT = """#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void term(int s) { if (write(1, "got a signal\\n", 13) < 0) _exit(1); _exit(77); }
__attribute__((noipa)) void hot(void) {}
static long now_ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
int main(int c, char **v)
{
	long n = 0;
	signal(SIGTERM, term);
	for (long end = now_ms() + atol(v[1]); now_ms() < end; n += 1000)
		for (int i = 0; i < 1000; i++) hot();
	printf("%ld\\n", n);
	return 5;
}
"""


def make(name, text, command):
    with open(name, "w") as f:
        f.write(text)
    run(command.split())


# ---- --max-hit-rate -----------------------------------------------------------------------------
make("hot.c", HOT, "gcc -O2 hot.c -o hot")
whole = capture("-e", "uprobe:./hot:hot", "-o", "whole.data", "--", "./hot", "1500", check=False)
p = capture("-e", "uprobe:./hot:hot", "--max-hit-rate", "1000", "--", "./hot", "1500", check=False)
tap.check(p.returncode == 5 and p.stdout.strip().isdigit(), "--max-hit-rate: the command goes on to its end, and its exit status is capture's", p.returncode, p.stdout)
tap.check("ended by --max-hit-rate" in p.stderr and "goes on without them" in p.stderr and p.stderr.count("ended by") == 1 and p.stderr.count(" samples of ") == 1,
          "that is said once", p.stderr)
tap.check(p.stdout.strip().isdigit() and int(p.stdout) > 20 * int(whole.stdout), "without probes: it runs at its own speed", p.stdout, whole.stdout)
text = run([RESOLVE, "-q", "perf.data"]).stdout
tap.check(p.n_samples and re.search(rf";main;hot {p.n_samples}$", text), "the recording is kept", p.n_samples, text)

loop = subprocess.Popen(["./hot", "60000"], stdout=subprocess.PIPE, text=True)
p = capture("-p", loop.pid, "-e", "uprobe:./hot:hot", "--max-hit-rate", "1000", "--duration", 30, "-o", "pid.data")
tap.check("ended by --max-hit-rate" in p.stderr and p.n_samples and loop.poll() is None, "-p: the process goes on", p.stderr)
before = cpu_seconds(loop.pid)
until(lambda: cpu_seconds(loop.pid) > before + .1, "the process to run on")
loop.kill()
loop.wait()

p = start("-e", "uprobe:./hot:hot", "--max-hit-rate", "1000", "-o", "break.data", "--", "./hot", "60000")
said = next((line for line in p.stderr if " samples of " in line), "")
tap.check(said, "the summary comes when the recording ends")
p.send_signal(signal.SIGINT)
out, rest = p.communicate()
tap.check(p.returncode == 77 and "got a signal" in out, "^C meanwhile ends the command, as always", p.returncode, out, rest)
tap.check(run([RESOLVE, "-q", "break.data"]).stdout.count(";hot ") == 1, "and the recording is whole")


# ---- another file runs than is probed -----------------------------------------------------------
TICKS = """#include <unistd.h>
__attribute__((noipa)) void tick(int n) { (void)n; }
int main(void) { for (int i = 0;; i++) { tick(i); usleep(10000); } }
"""
LOADS = """#include <dlfcn.h>
#include <unistd.h>
int main(void)
{
	void (*f)(void) = (void (*)(void))dlsym(dlopen("./libt.so", RTLD_NOW), "lib_tick");
	for (;;) { f(); usleep(10000); }
}
"""


def of_process(name, event, seconds="1"):
    """Records a process of a program whose files are then built anew."""
    p = capture("-p", name.pid, "-e", event, "--duration", seconds, "-o", "other.data")
    return p.n_samples, p.stderr


def rebuilt(program, file, text, command):
    process = subprocess.Popen([f"./{program}"])
    until(lambda: file in open(f"/proc/{process.pid}/maps").read(), f"{file} to be mapped")
    os.unlink(file)
    make(f"{file}.c", text, command)
    return process


make("ticks.c", TICKS, "gcc -O2 ticks.c -o ticks")
process = rebuilt("ticks", "ticks", TICKS, "gcc -O2 ticks.c -o ticks")
n, said = of_process(process, "uprobe:./ticks:tick")
other = re.search(r"process \d+ runs another file of this name, which was deleted or replaced since, .*; probe that: (\S+)", said)
tap.check(n == 0 and other and other[1] == f"uprobe:/proc/{process.pid}/exe:tick", "a program that was built anew since it runs: that is said, and which path leads to it", said)
n, said = of_process(process, other[1] if other else "uprobe:none:none")
tap.check(n and "another file" not in said, "and that works", n, said)
n, said = of_process(process, "uprobe:./hot:hot")
tap.check(n == 0 and "has not mapped this file so far" in said and "nothing that was recorded has mapped" in said, "a file that the process does not run", said)
process.kill()
process.wait()
LIB = "void lib_tick(void); void lib_tick(void) {}\n"
make("libt.so.c", LIB, "gcc -O2 -shared -fPIC libt.so.c -o libt.so")
make("loads.c", LOADS, "gcc -O2 loads.c -o loads -ldl")
process = rebuilt("loads", "libt.so", LIB, "gcc -O2 -shared -fPIC libt.so.c -o libt.so")
n, said = of_process(process, "uprobe:./libt.so:lib_tick")
other = re.search(r"probe that: (uprobe:/proc/\d+/map_files/[0-9a-f]+-[0-9a-f]+:lib_tick)$", said, re.M)
tap.check(n == 0 and other, "a library that was replaced", said)
n, said = of_process(process, other[1] if other else "uprobe:none:none")
tap.check(n, "the path that is named leads to it", n, said)
process.kill()
process.wait()
p = capture("-e", "uprobe:./ticks:tick", "-o", "other.data", "--", "./hot", "10", check=False)
tap.check("nothing that was recorded has mapped" in p.stderr and "/ticks" in p.stderr, "a command that runs something else", p.stderr)

# ---- SIGQUIT ------------------------------------------------------------------------------------
process = subprocess.Popen(["./ticks"])
p = start("-p", process.pid, "-e", "uprobe:./ticks:tick", "-o", "quit.data")
until_open(p)
p.send_signal(signal.SIGQUIT)
said = p.communicate()[1]
tap.check(p.returncode == 0 and "samples of uprobe:./ticks:tick" in said and process.poll() is None, "SIGQUIT ends the recording as ^C does", p.returncode, said)
events = "/sys/kernel/tracing/uprobe_events"
left = [line for line in open(events) if f":unspool_{p.pid}/" in line] if os.path.exists(events) else []
tap.check(not left, "and no probe stays", left)
process.kill()
process.wait()

tap.end()

#!/usr/bin/env python3
"""capture --off-cpu and --wall: programs that wait by construction (sleep, lock, pipe), whose threads say themselves how long they lived, waited and
ran; threads that wait all the time; perf's recordings with --switch-events; waits below a threshold; damage."""
import collections
import glob
import gzip
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

import packed_switches
from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, run, until, until_enabled, until_open
from lib import start as record
from recorder import perf_record

tap = Tap()
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], back[2];
static long now(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noipa)) static void sleeps(void) { struct timespec t = {0, 20000000}; nanosleep(&t, 0); __asm__ volatile(""); }
__attribute__((noipa)) static void locks(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); __asm__ volatile(""); }
__attribute__((noipa)) static void pipes(void) { char c; if (read(ends[0], &c, 1) != 1) _exit(9); __asm__ volatile(""); }
__attribute__((noipa)) static void burns(long ns) { while (now(CLOCK_THREAD_CPUTIME_ID) < ns) ; __asm__ volatile(""); }
__attribute__((noipa)) static void echoes(void) { char c; for (int i = 0; i < 8000; i++) if (read(ends[0], &c, 1) != 1 || write(back[1], &c, 1) != 1) _exit(9); }
static void *work(void *a)
{
	const char *name = a;
	long begin = now(CLOCK_MONOTONIC), wait = 0;
	if (!strcmp(name, "sleeper"))
		for (int i = 0; i < 30; i++) { long b = now(CLOCK_MONOTONIC); sleeps(); wait += now(CLOCK_MONOTONIC) - b; }
	else if (!strcmp(name, "locker"))
		locks();
	else if (!strcmp(name, "piper"))
		for (int i = 0; i < 5; i++) pipes();
	else if (!strcmp(name, "echo"))
		echoes();
	else
		burns(300000000);
	printf("%s %ld %ld %ld\n", name, now(CLOCK_MONOTONIC) - begin, now(CLOCK_THREAD_CPUTIME_ID), wait);
	return a;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	char *names[] = {"sleeper", "locker", "piper", "burner"}, *one[] = {"echo"}, c = 'x';
	int n = argc > 1 ? 1 : 4;
	prctl(PR_SET_PDEATHSIG, 9);
	if (pipe(ends) || pipe(back))
		return 1;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < n; i++) {
		char *name = argc > 1 ? one[i] : names[i];
		pthread_create(&t[i], NULL, work, name);
		pthread_setname_np(t[i], name);
	}
	if (argc > 1)
		for (int i = 0; i < 8000; i++)
			if (write(ends[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 2;
	for (int i = 0; i < 5 && argc == 1; i++) {
		usleep(100000);
		if (write(ends[1], &c, 1) != 1)
			return 2;
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
"""
with open("waits.c", "w") as f:
    f.write(PROGRAM)
run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "-fno-omit-frame-pointer", "waits.c", "-o", "waits"])
need_events()

# ---- without the right -----------------------------------------------------------------------------
user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
q = run([*user, CAPTURE, "--off-cpu", "-o", "/dev/null", "true"], check=False)
tap.check(q.returncode == 2 and "sudo" in q.stderr and "--every" in q.stderr, "without the right to the tracepoint: refused, with what to type", q.stderr)
for words in (["--off-cpu", "--call-graph", "none"], ["--wall", "--user"]):
    q = run([CAPTURE, *words, "true"], check=False)
    tap.check(q.returncode == 2 and "--off-cpu" in q.stderr, f"refused: {' '.join(words)}", q.stderr)
probe = run([CAPTURE, "-q", "--off-cpu", "-o", "probe.data", "true"], check=False)
if probe.returncode:
    print(f"ok - the rest # SKIP {probe.stderr.strip()}")
    tap.end()
    raise SystemExit


def folded(data, *args, check=True):
    """{stack: weight}"""
    p = run([RESOLVE, "-q", *args, data], check=check)
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in p.stdout.splitlines()}


def of(stacks, *names):
    return sum(n for s, n in stacks.items() if all(f";{name};" in f";{s};" for name in names)) / 1e9


def sums(data, *args):
    j = json.loads(run([RESOLVE, "-q", "--stats=json", "-o", "/dev/null", "-f", "folded", *args, data]).stderr.strip().splitlines()[-1])
    return {k: j[f"threads_{k}_ns"] / 1e9 for k in ("wall", "on", "off", "runnable", "unknown")}


def threads(text):
    """What the threads say: name -> (life, processor time, wait), in seconds."""
    return {name: tuple(int(x) / 1e9 for x in rest) for name, *rest in (line.split() for line in text.splitlines())}


# ---- sums by construction --------------------------------------------------------------------------
for words in ([], ["--wall"]):
    r = capture("-F", 99, "--off-cpu", *words, "-o", "rate.data", "--", "true")
    tap.check(("-F and -c have no effect" in r.stderr) != bool(words), f"-F --off-cpu {' '.join(words)}: whether it has an effect", r.stderr)
r = capture("--off-cpu", "-o", "off.data", "./waits")
said = threads(r.stdout)
off, ready, total = folded("off.data", "--event", "off-cpu"), folded("off.data", "--event", "runnable", check=False), sums("off.data")
tap.check(abs(total["on"] + total["off"] + total["runnable"] + total["unknown"] - total["wall"]) < 1e-6 and r.n_lost == 0 and total["unknown"] == 0,
          "on + off + runnable is the whole time", total, r.stderr)
for name, function in (("sleeper", "sleeps"), ("locker", "locks"), ("piper", "pipes")):
    life, cpu, wait = said[name]
    mine, late = of(off, function), sum(n for s, n in ready.items() if s.startswith(name + ";")) / 1e9
    # what it does not wait it runs or could run; that it could may also be before its first line and after its last
    tap.check(mine + cpu <= 1.005 * life + 0.02 and mine + late + cpu >= 0.995 * life - 0.02, f"{name}: what it waits, runs and could run is its life",
              f"life {life} cpu {cpu} off {mine} runnable {late}")
tap.check(of(off, "sleeps") >= 30 * 0.02 and of(off, "sleeps") <= said["sleeper"][2], "the sleeper sleeps at least what it asked for", of(off, "sleeps"), said)
# A thread that starts late waits less.
tap.check(of(off, "locks") >= 0.4 and of(off, "main", "usleep") >= 0.45, "the lock and the main thread wait for five naps", off)
tap.check(of(off, "burns") == 0, "what only runs does not wait", off)
tap.check(any("main;locks" in s or "work;locks" in s for s in off), "with the callers", list(off)[:5])

# ---- formats and thresholds ------------------------------------------------------------------------
run([RESOLVE, "-q", "-f", "pprof", "-o", "off.pb.gz", "off.data"])
with gzip.open("off.pb.gz") as f:
    text = f.read()
tap.check(b"off-cpu" in text and b"nanoseconds" in text, "pprof: off-cpu in nanoseconds")
md = run([RESOLVE, "-q", "-f", "md", "off.data"]).stdout
tap.check(" s in all" in md and "processor time" not in md, "md: waiting is no processor time", md[:300])
speed = json.loads(run([RESOLVE, "-q", "-f", "speedscope", "-o", "-", "off.data"]).stdout)
tap.check({p["unit"] for p in speed["profiles"]} == {"nanoseconds"}, "speedscope: nanoseconds", [p["unit"] for p in speed["profiles"]])
long_ones = folded("off.data", "--off-cpu-thresh", "400", "--event", "off-cpu")
tap.check(of(long_ones, "locks") == of(off, "locks") and sum(long_ones.values()) < sum(off.values()), "--off-cpu-thresh leaves out shorter waits",
          of(long_ones, "locks"), of(off, "locks"))
q = run([RESOLVE, "--off-cpu-thresh", "1e6", "off.data"], check=False)
tap.check(q.returncode == 1 or "no samples" in q.stderr, "and says when none is left", q.stderr)
q = run([RESOLVE, "--off-cpu-thresh", "soon", "off.data"], check=False)
tap.check(q.returncode == 2 and "milliseconds" in q.stderr, "a threshold is a number", q.stderr)

# ---- more switches than samples --------------------------------------------------------------------
r = capture("--off-cpu", "-o", "echo.data", "./waits", "echo")
both = folded("echo.data", "--event", "off-cpu,runnable", "--with-tid")
total = sums("echo.data")
shown = sum(both.values()) / 1e9
tap.check(abs(shown - total["off"] - total["runnable"]) < 1e-6 and r.n_lost == 0, "16,000 switches: the weights are the sums of all of them", shown, total, r.stderr)
life, cpu, _ = threads(r.stdout)["echo"]
mine = sum(n for s, n in both.items() if ";echo-" in f";{s}") / 1e9
tap.check(life * 0.98 - 0.05 <= mine + cpu, "and the thread's own", f"life {life} cpu {cpu} off {mine}")

# ---- all in one ------------------------------------------------------------------------------------
r = capture("--wall", "-F", "999", "-o", "wall.data", "./waits")
said, wall = threads(r.stdout), folded("wall.data")
tap.check(of(wall, "burns") >= 0.2 and of(wall, "sleeps") >= 0.6 and of(wall, "locks") >= 0.5, "--wall: what runs and what waits",
          [(f, of(wall, f)) for f in ("burns", "sleeps", "locks")])
merged = folded("wall.data", "--event", "wall")
tap.check(merged == wall, "as one event")

r = capture("--wall", "-F", "999", "-o", "wall.data", "./waits", "echo")
total, by_thread, by_state = sums("wall.data"), folded("wall.data", "--with-tid"), folded("wall.data", "--by", "state")
life = threads(r.stdout)["echo"][0]
mine = sum(n for s, n in by_thread.items() if s.startswith("echo-")) / 1e9
shown = sum(by_thread.values()) / 1e9
tap.check(abs(shown - total["wall"]) <= 0.005 * total["wall"] + 0.004 and total["unknown"] == 0, "--wall of threads that switch all the time: as long as they lived", shown, total)
tap.check(0.98 * life - 0.01 <= mine <= 1.02 * life + 0.03, "each thread, too", mine, life)
tap.check({s.partition(";")[0] for s in by_state} <= {"running", "runnable", "sleeping", "uninterruptible", "waiting"}, "each sample of --wall has a state", by_state)
# Threads of 3 ms beside a clock of 10: before, a fifth of what they ran was shown. They say themselves how long that was, but for their first and last
# steps. The main thread has a few samples, by which what it ran is known to a quarter only: it is left out. One that falls into another thread counts
# half a period of what follows.
r = capture("--wall", "-F", "99", "--bundle=none", "-o", "short.data", "--", sys.executable, "-c", """
import os, threading, time
said = 0
def burn():
    global said
    while time.thread_time() < .003: pass
    said += time.thread_time()
for i in range(100):
    t = threading.Thread(target=burn); t.start(); t.join()
print(os.getpid(), int(said * 1e9))
""")
(main, ran), exact = map(int, r.stdout.split()), sums("short.data")["on"] * 1e9
by_state = folded("short.data", "--by", "state", "--with-tid")
shown = sum(w for s, w in by_state.items() if s.startswith("running;") and not s.split(";")[1].endswith(f"/{main}"))
tap.check(0.98 * ran <= shown <= 1.25 * exact and ran >= 0.3e9, "--wall of threads that end before the clock's first sample: what they ran is shown, without a stack", ran, shown, exact)
speed = json.loads(run([RESOLVE, "-q", "-f", "speedscope", "-o", "-", "wall.data"]).stdout)
each = [p for p in speed["profiles"] if not p["name"].startswith("all threads")]
tids = {p["name"].rsplit(" ", 1)[1] for p in each}  # a thread that was renamed has two profiles
tap.check(all(p["endValue"] - p["startValue"] <= 1.02 * total["wall"] / len(tids) * 1e9 + 5e7 for p in each) and
          sum(w for p in each for s, w in zip(p["samples"], p["weights"]) if s) <= sum(by_thread.values()),
          "speedscope: no thread is longer than it lived", [(p["name"], p["endValue"] - p["startValue"]) for p in each], total)

# ---- threads that were there -----------------------------------------------------------------------
p = subprocess.Popen(["sleep", "1000"])
until(lambda: open(f"/proc/{p.pid}/stat").read().rpartition(")")[2].split()[0] == "S" and "sleep" in open(f"/proc/{p.pid}/comm").read(), "sleep")
before = time.monotonic()
capture("--off-cpu", "-p", p.pid, "--duration", "0.5", "-o", "asleep.data")
took = time.monotonic() - before
asleep = folded("asleep.data")
tap.check(len(asleep) == 1 and 0.5 <= sum(asleep.values()) / 1e9 <= took and "nanosleep" in list(asleep)[0], "a thread that waits all the time has its stack and the whole time",
          asleep, took)
p.kill()
p.wait()
# A wait that began before the recording and ends within it: what the thread waits for afterwards, for as long, does not tell what it was.
with open("early.c", "w") as f:
    f.write(r"""
#include <unistd.h>
__attribute__((noipa)) static void reads(void) { char c; if (read(0, &c, 1) != 1) _exit(2); __asm__ volatile(""); }
__attribute__((noipa)) static void naps(void) { usleep(1500000); __asm__ volatile(""); }
int main(void) { reads(); naps(); return 0; }
""")
run(["gcc", "-O1", "-g", "early.c", "-o", "early"])
p = subprocess.Popen(["./early"], stdin=subprocess.PIPE)
until(lambda: "pipe" in open(f"/proc/{p.pid}/wchan").read(), "the read")
q = record("--off-cpu", "-p", p.pid, "-o", "early.data")
until_enabled(q)
time.sleep(1.2)
began = time.monotonic()
p.stdin.write(b"x")
p.stdin.close()
q.communicate(timeout=60)
took = time.monotonic() - began
early = folded("early.data", "--event", "off-cpu")
tap.check(of(early, "reads") == 0 and 1.5 <= of(early, "naps") <= took and of(early, "[unknown]") >= 1.1, "a wait that began before has no stack, rather than that of the next one", early, took)
words = run([RESOLVE, "early.data"]).stderr
tap.check("no stack ([unknown]): they began before the recording;" in words and "short ones" not in words, "and that is the reason that is said", words)
trace = [float(l.split()[0]) for l in run([RESOLVE, "-q", "-f", "trace", "early.data"]).stdout.splitlines()]
tap.check(len(trace) > 1 and trace == sorted(trace), "-f trace: in the order of time", trace)
words = run([RESOLVE, "--off-cpu-thresh", "90000", "early.data"], check=False).stderr
tap.check("all waits are shorter than --off-cpu-thresh" in words and "-F" not in words, "a threshold above all waits", words)
shown = [(float(m[2]), m[1]) for m in re.finditer(r"^early +\d+ \[(\S+)\] +([\d.]+):", run([RESOLVE, "-f", "script", "early.data"]).stdout, re.M)]
tap.check(len(shown) > 1 and shown[0][1] == "-01" and shown[0] == min(shown), "it is shown at the time when the recording began, of no processor", shown)
ends = [of(folded("early.data", "--event", "off-cpu", "--time", part), "[unknown]") for part in ("0%-30%", "30%-100%", "0%-100%")]
tap.check(ends[0] == ends[2] >= 1.1 and not ends[1], "which is where the times of the recording begin", ends)
run([RESOLVE, "-q", "-f", "pprof", "-o", "early.pb", "early.data"])
words = run([os.path.join(os.path.dirname(RESOLVE), "regress"), "--force", "--base", "early.pb", "--new", "early.data"], check=False).stdout
tap.check("all time off the processor" in words and "on-CPU" not in words and "-F" not in words, "regress: it is no time on a processor", words)

# What another program traces may not be read, but that it waits is known.
if have("strace"):
    p = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "sleep", "60"])
    until(lambda: open(f"/proc/{p.pid}/task/{p.pid}/children").read().split(), "the program")
    traced = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()[0])
    until(lambda: open(f"/proc/{traced}/comm").read() == "sleep\n" and "nanosleep" in open(f"/proc/{traced}/wchan").read(), "its wait")
    q = capture("--off-cpu", "--duration", "0.5", "-p", traced, "-o", "traced.data")
    rows = folded("traced.data", "--event", "off-cpu")
    tap.check(list(rows) == ["sleep;[unknown]"] and 0.4 < of(rows, "[unknown]") < 30 and "traces it" in q.stderr, "a thread that is traced and waits all the time: the time, and why it has no stack", rows, q.stderr)
    os.kill(traced, signal.SIGKILL)
    p.wait()
else:
    tap.skip("a thread that is traced", "no strace here")

# ---- perf's recordings -----------------------------------------------------------------------------
for _ in range(3):  # with 16 KiB a switch perf loses some beside other work
    perf_record("--switch-events", "-e", "sched:sched_switch", "--call-graph", "dwarf,16384", "-o", "perf.data", "./waits")
    as_counts, as_time = folded("perf.data"), folded("perf.data", "--off-cpu", "--event", "off-cpu")
    if of(as_time, "sleeps") >= 0.6 and of(as_time, "locks") >= 0.5:
        break
tap.check(of(as_time, "sleeps") >= 0.6 and of(as_time, "locks") >= 0.5 and sum(as_counts.values()) < 1e6, "resolve --off-cpu weighs the samples of perf record --switch-events",
          of(as_time, "sleeps"), sum(as_counts.values()))

# ---- long waits among many short ones ---------------------------------------------------------------
with open("bursts.c", "w") as f:
    f.write(r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int out[2], back[2];
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noipa)) static void quick(void) { char c = 'x'; if (write(out[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) _exit(9); __asm__ volatile(""); }
__attribute__((noipa)) static void slow(int ms) { usleep(1000 * ms); __asm__ volatile(""); }
static void *echo(void *a) { char c; while (read(out[0], &c, 1) == 1 && write(back[1], &c, 1) == 1) ; return a; }
int main(int argc, char **argv)
{
	long q = 0, s = 0;
	pthread_t t;
	if (argc < 3 || pipe(out) || pipe(back) || pthread_create(&t, 0, echo, 0))
		return 1;
	for (int round = 0; round < 1200 / atoi(argv[2]); round++) {
		long begin = now(), end;
		for (int i = 0; i < atoi(argv[1]); i++)
			quick();
		end = now();
		slow(atoi(argv[2]));
		q += end - begin;
		s += now() - end;
	}
	printf("quick %ld 0 0\nslow %ld 0 0\n", q, s);
	return 0;
}
""")
run(["gcc", "-O1", "-g", "-pthread", "bursts.c", "-o", "bursts"])


def bursts(data, said, *args):
    """(seconds of the long waits, of the short ones, of those without a stack, what the program has measured of both)"""
    shown = folded(data, "--event", "off-cpu", *args)
    return of(shown, "slow"), of(shown, "quick"), of(shown, "[unknown]"), threads(said)["slow"][0], threads(said)["quick"][0]


def keep_each(nth, name):
    """perf record -c takes all samples of a tracepoint, as they say the period: makes the others records of a type that nobody knows."""
    with open(name, "rb") as f:
        data = bytearray(f.read())
    at, size = struct.unpack_from("<2Q", data, 40)
    end, n = at + size, 0
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == 9:  # PERF_RECORD_SAMPLE
            n += 1
            if n % nth:
                struct.pack_into("<I", data, at, 60)
        at += size
    with open(name, "wb") as f:
        f.write(data)


r = capture("--off-cpu", "-o", "bursts.data", "./bursts", "50", "50")
slow, quick, unknown, true_slow, true_quick = bursts("bursts.data", r.stdout)
tap.check(0.95 * true_slow <= slow <= 1.01 * true_slow and quick <= 1.01 * true_quick and "no stack" not in r.stderr, "long waits after bursts of short ones: each has its stack",
          slow, quick, unknown, r.stdout, r.stderr)
# Next to other work a short wait may become long, but not that long.
r = capture("--off-cpu", "-o", "bursts.data", "./bursts", "10000", "300")
slow, quick, unknown, true_slow, true_quick = bursts("bursts.data", r.stdout)
tap.check(slow <= 1.01 * true_slow and quick <= 1.01 * true_quick and slow + unknown >= 0.95 * true_slow, "more switches than are sampled: no long wait counts as a short one",
          slow, quick, unknown, r.stdout, r.stderr)
words = run([RESOLVE, "bursts.data"]).stderr
tap.check(unknown < 0.1 * (slow + quick + unknown) or "of waiting have no stack" in words and "--every" in words, "what has no stack, if it is much, is said, and what would help", unknown, words)
tap.check("waits have no stack of their own" in r.stderr or true_quick > 8, "and it is said that not all have a stack", r.stderr)
# Few switches, and a buffer that has room for one stack, or for none.
r = capture("--off-cpu", "-m", "16", "-o", "full.data", "./bursts", "10", "300")
tap.check("waits have no stack of their own, as the buffer was full (a larger -m has room): none of their time is lost" in r.stderr and "waits without one" in r.stderr, "waits without a stack as there was no room: said so", r.stderr)
capture("--off-cpu", "-m", "1", "-o", "full.data", "./bursts", "10", "300")
words = run([RESOLVE, "full.data"]).stderr
tap.check("of waiting have no stack" in words and "or the buffer is full" in words, "which resolve does not blame on short waits alone", words)
perf_record("--switch-events", "-e", "sched:sched_switch", "--call-graph", "dwarf,8192", "-o", "perf.data", "sh", "-c", "exec ./bursts 1000 300 >said")
keep_each(37, "perf.data")
with open("said") as f:
    said = f.read()
slow, quick, unknown, true_slow, true_quick = bursts("perf.data", said, "--off-cpu")
tap.check(slow <= 1.01 * true_slow and quick <= 1.01 * true_quick, "each 37th switch of perf record: no long wait counts as a short one", slow, quick, unknown, said)

# ---- many records of switches in one -------------------------------------------------------------
def kinds(data):
    """How many records of each type the file holds, which is not compressed."""
    with open(data, "rb") as f:
        whole = f.read()
    off, size = struct.unpack_from("<2Q", whole, 40)
    return collections.Counter(struct.unpack_from("<I", r)[0] for r in packed_switches.records(whole[off:off + size]))


def unpacked(data):
    """The same of one that is compressed."""
    with open(data, "rb") as f:
        whole = f.read()
    off, size = struct.unpack_from("<2Q", whole, 40)
    packed = b"".join(r[8:] for r in packed_switches.records(whole[off:off + size]) if struct.unpack_from("<I", r)[0] == 81)
    plain = subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    return collections.Counter(struct.unpack_from("<I", r)[0] for r in packed_switches.records(plain))


def told(data):
    """What resolve says of a recording, but the seconds that it took."""
    p = run([RESOLVE, "--stats=json", "-f", "script", "--event", "all", data])
    j = json.loads(p.stderr.strip().splitlines()[-1])
    return p.stdout, [v for k, v in j.items() if k.startswith("threads_")], j["samples"]


capture("--off-cpu", "--no-compress", "--call-graph", "dwarf,1024", "-o", "plain.data", "./waits", "echo")
packed_bytes, plain_bytes = packed_switches.pack_file("plain.data", "packed.data")
plain_kinds, packed_kinds = kinds("plain.data"), kinds("packed.data")
tap.check(plain_kinds[packed_switches.SWITCH] > 30000 and not packed_kinds[packed_switches.SWITCH] and packed_kinds[packed_switches.EVENT_TYPE],
          "--no-compress writes each record of a switch", plain_kinds, packed_kinds)
tap.check(told("plain.data") == told("packed.data"), "many of them in one record, as reader/packed_switches.h describes it: the same is told", told("plain.data")[1:], told("packed.data")[1:])
r = capture("--off-cpu", "--call-graph", "dwarf,1024", "-o", "small.data", "./waits", "echo")
inner = unpacked("small.data")
# Where it begins and ends are records of their own.
tap.check(inner[packed_switches.EVENT_TYPE] and inner[packed_switches.SWITCH] < 10, "and so capture writes them", inner)
if have("perf"):
    seen = run(["perf", "script", "-F", "comm,time,event", "-i", "small.data"], check=False)
    tap.check(len(seen.stdout.splitlines()) == r.n_samples, "perf script passes over them", r.n_samples, seen.stdout[-300:], seen.stderr[-300:])

# ---- damage ----------------------------------------------------------------------------------------
capture("--off-cpu", "--no-compress", "-o", "plain.data", "./waits")
packed_switches.pack_file("plain.data", "packed.data")
rng, bad = random.Random(7), []
for i in range(24):
    with open("plain.data" if i % 4 < 2 else "packed.data", "rb") as f:
        whole = f.read()
    copy = bytearray(whole[:rng.randrange(len(whole) // 2, len(whole))] if i % 2 else whole)
    for _ in range(20):
        copy[rng.randrange(len(copy))] = rng.randrange(256)
    with open("bad.data", "wb") as f:
        f.write(copy)
    q = run([RESOLVE, "-q", "-o", "/dev/null", "-f", "folded", "--off-cpu", "--no-inline", "bad.data"], check=False)
    if q.returncode not in (0, 1, 2) or "Sanitizer" in q.stderr:
        bad.append((i, q.returncode, q.stderr[-300:]))
tap.check(not bad, "damaged copies: an answer and no crash", bad)

# ---- states, and who ends waits ----------------------------------------------------------------------
with open("states.c", "w") as f:
    f.write(r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
static int ends[2];
__attribute__((noipa)) static void starts(void) { for (int i = 0; i < 5; i++) { if (!vfork()) { usleep(20000); _exit(0); } wait(0); } __asm__ volatile(""); }
__attribute__((noipa)) static void naps(void) { for (int i = 0; i < 5; i++) usleep(20000); __asm__ volatile(""); }
__attribute__((noipa)) static void takes(void) { char c; for (int i = 0; i < 15; i++) if (read(ends[0], &c, 1) != 1) _exit(1); __asm__ volatile(""); }
__attribute__((noipa)) static void gives(void) { char c = 0; for (int i = 0; i < 15; i++) { usleep(20000); if (write(ends[1], &c, 1) != 1) _exit(1); } __asm__ volatile(""); }
static void *work(void *a) { takes(); return a; }
int main(void)
{
	pthread_t t;
	starts();
	naps();
	if (pipe(ends) || pthread_create(&t, NULL, work, NULL))
		return 1;
	pthread_setname_np(t, "taker");
	gives();
	pthread_join(t, NULL);
	return 0;
}
""")
run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "states.c", "-o", "states"])
r = capture("--off-cpu", "--wakers", "-o", "states.data", "./states")
by_state = folded("states.data", "--event", "off-cpu", "--by", "state")


def in_state(name, function):
    return sum(of({s: n}, function) for s, n in by_state.items() if s.startswith(name + ";"))


tap.check(in_state("uninterruptible", "starts") >= 0.06, "--by state: the parent of a vfork waits uninterruptibly", by_state)
# A nap that is preempted on its way to sleep may be over before it is: it could run all that time.
tap.check(in_state("sleeping", "naps") >= 0.06 and in_state("uninterruptible", "naps") < in_state("sleeping", "naps") / 2, "a nap sleeps", by_state)
wakers = folded("states.data", "--event", "waker", "--by", "wakes")
given = sum(of({s: n}, "main", "gives") for s, n in wakers.items() if s.startswith("taker;"))
took = of(by_state, "takes")
# A thread that starts late finds what was written already.
tap.check(0.2 <= given <= took, "--wakers: what wakes the reader of a pipe is the writer, for as long as that has waited", f"{given} of {took}", wakers)
total = sums("states.data")
tap.check(r.n_lost == 0 and abs(total["on"] + total["off"] + total["runnable"] + total["unknown"] - total["wall"]) < 1e-6 and
          abs(sum(by_state.values()) / 1e9 - total["off"]) < 1e-6, "and the sums stay exact", total, sum(by_state.values()))
raw = gzip.decompress(open("states.pb.gz", "rb").read()) if not run([RESOLVE, "-q", "-f", "pprof", "-o", "states.pb.gz", "states.data"]).returncode else b""
tap.check(all(w in raw for w in (b"state", b"uninterruptible", b"wakes", b"taker")), "pprof has both as labels")
page = run([RESOLVE, "-q", "-f", "html", "-o", "states.html", "states.data"], check=False)
tap.check(page.returncode == 0 and os.path.getsize("states.html") > 0, "and the page is written with the level of states", page.stderr)
if have("node"):
    with open("page.js", "w") as f:
        for script in ("data.js", "tasks.js"):
            f.write(open(os.path.join(os.environ["TOP"], "output", "page", script)).read())
        f.write('''
const html = require("fs").readFileSync("states.html", "utf8"), data = /id="profile">([^<]*)</.exec(html)[1];
inflate(data).then(bytes => { const {spans, tasks} = decodeProfile(bytes);
	console.log(JSON.stringify(Array.from({length: spans.n}, (_, i) => [spans.text[i], tasks[spans.task[i]].tid, spans.start[i], spans.end[i]]))); });
''')
    run([RESOLVE, "-q", "-f", "html", "--event", "off-cpu", "-o", "states.html", "states.data"])
    waits = json.loads(run(["node", "page.js"]).stdout)
    rows = {}
    for state, tid, start, end in waits:
        rows.setdefault(tid, []).append((start, end))
    overlap = [(tid, a, b) for tid, row in rows.items() for a, b in zip(sorted(row), sorted(row)[1:]) if b[0] < a[1]]
    told = {state: sum(e - s for w, _, s, e in waits if w == state) for state in ("sleeping", "uninterruptible")}
    want = {state: sum(n for s, n in by_state.items() if s.startswith(state + ";")) for state in told}
    # What a thread waited before its first sample counts with that, and begins later: 326 of 366 ms.
    tap.check(len(rows) >= 2 and not overlap and all(.5 * want[s] <= told[s] <= want[s] + 1 for s in told),
              "the page: a row of waits for each thread, as long as they are", told, want, overlap[:3])
    # Of a thread that naps, each tenth nap has a sample, which stands for ten of them: the page draws the one.
    with open("naps.c", "w", encoding="utf-8") as f:
        f.write(r"""
#include <stdio.h>
#include <time.h>
static long now(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
int main(void)
{
	long longest = 0;
	for (int i = 0; i < 100; i++) {
		long begin = now(CLOCK_MONOTONIC), length;
		nanosleep(&(struct timespec){0, 2000000}, 0);
		length = now(CLOCK_MONOTONIC) - begin;
		longest = length > longest ? length : longest;
		for (begin = now(CLOCK_THREAD_CPUTIME_ID); now(CLOCK_THREAD_CPUTIME_ID) - begin < 2000000;)
			;
	}
	printf("%ld\n", longest);
	return 0;
}
""")
    run(["gcc", "-O1", "naps.c", "-o", "naps"])
    perf_record("--switch-events", "-e", "sched:sched_switch", "--call-graph", "dwarf,8192", "-o", "naps.data", "sh", "-c", "exec ./naps >said")
    keep_each(10, "naps.data")
    weight = sum(folded("naps.data", "--off-cpu", "--event", "off-cpu", "--comm", "naps").values())
    run([RESOLVE, "-q", "-f", "html", "--off-cpu", "--event", "off-cpu", "--comm", "naps", "-o", "states.html", "naps.data"])
    drawn = [end - start for state, _, start, end in json.loads(run(["node", "page.js"]).stdout) if state == "sleeping"]
    with open("said", encoding="utf-8") as f:
        longest = int(f.read())
    tap.check(len(drawn) >= 5 and min(drawn) >= 2e6 and max(drawn) <= longest and weight >= 2e8, "the page: a wait that stands for others is drawn as long as it was itself",
              sorted(drawn), longest, weight)
else:
    tap.skip("rows of waits in the page", "no node")
# What a timer ends on an idle processor has no waker, nor has what the recorded threads do not end.
nobody = {s: n for s, n in wakers.items() if "[no_waker_recorded]" in s}
mine = sum(n for s, n in nobody.items() if s.startswith("states;"))
tap.check(nobody and 0.1 <= mine / 1e9 <= total["off"], "--wakers: the time that timers end is there, as that of no waker", nobody, total)
tap.check(0.95 * total["off"] <= sum(wakers.values()) / 1e9 <= total["off"], "and the sum is the time of the waits, but for the way to a processor", sum(wakers.values()), total, wakers)
p = capture("--off-cpu", "--wakers", "-o", "timers.data", "sleep", "0.3")
waits, ended = (sum(folded("timers.data", "--event", e).values()) for e in ("off-cpu", "waker"))
tap.check(p.n_lost == 0 and 0.3e9 <= ended and 0.98 * waits <= ended <= waits, "of sleep all is woken by no thread", waits, ended, p.stderr)
q = run([CAPTURE, "--wakers", "true"], check=False)
tap.check(q.returncode == 2 and "--off-cpu" in q.stderr, "--wakers alone: refused", q.stderr)

# ---- a command whose threads wait since before what is recorded of it ---------------------------------
with open("hangs.c", "w", encoding="utf-8") as f:
    f.write(r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noipa)) static void stuck(void) { pthread_mutex_lock(&m); __asm__ volatile(""); }
static void *work(void *a) { stuck(); return a; }
__attribute__((noipa)) static void blocks(int s) { sleep(s); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	pthread_t t;
	alarm(100);
	pthread_mutex_lock(&m);
	pthread_create(&t, NULL, work, NULL);
	blocks(atoi(argv[argc - 1]));
	_exit(7);
}
""")
run(["gcc", "-O1", "-g", "-pthread", "hangs.c", "-o", "hangs"])
for option in ("--off-cpu", "--wall"):
    begin = time.monotonic()
    q = capture(option, "-D", "300", "-o", "hangs.data", "./hangs", "2", check=False)
    took = time.monotonic() - begin
    waits = folded("hangs.data", "--event", option[2:], check=False)
    tap.check(q.returncode == 7 and all(0 < of(waits, word) <= took for word in ("blocks", "stuck")),
              f"{option} -D: a command that waits all the time is there, and its exit status", waits, took, q.stderr)
    times = sums("hangs.data")
    # What it did before samples began is no time of the recording.
    tap.check(times["unknown"] == 0 and 0 < times["wall"] <= 2 * (took - 0.3) and times["on"] < 0.1 * times["wall"],
              f"{option} -D: times begin when samples do", times, took)
q = record("--off-cpu", "--snapshot=1", "-o", "flight.data", "./hangs", "90")
until_open(q)
time.sleep(3)  # its beginning is older than the window
q.send_signal(signal.SIGUSR2)
until(lambda: any("snapshot (" in line for line in iter(q.stderr.readline, "")), "the snapshot")
q.send_signal(signal.SIGINT)
q.communicate(timeout=60)
waits = folded(glob.glob("flight.data.2*")[0], "--event", "off-cpu", check=False)
tap.check(all(of(waits, word) >= 1 for word in ("blocks", "stuck")), "--snapshot of a command that hangs: all of the window", waits)
# ---- processes that end, with -a -------------------------------------------------------------------------
# What ends is preempted on its way where others want the processor.
began = time.monotonic()
r = capture("-a", "--off-cpu", "--call-graph", "fp", "-o", "ends.data", "--", "sh", "-c",
            "for i in 1 2 3; do timeout 2 sh -c 'while :; do :; done' & done; for i in $(seq 100); do true | true; /bin/true; done; wait")
took = time.monotonic() - began
total = sums("ends.data")
limit = os.cpu_count() * took
tap.check(0 < total["on"] <= limit and total["unknown"] <= 0.1 * limit, "-a: threads that ended do not run on: no more time than the processors have", total, limit)
# ---- kernel threads --------------------------------------------------------------------------------------
try:
    is_kernel = int(open("/proc/2/stat").read().rpartition(")")[2].split()[6]) & 0x200000  # PF_KTHREAD
except OSError:
    is_kernel = False
if is_kernel:
    r = capture("--off-cpu", "-p", 2, "--duration", 0.5, "-o", "kernel.data")
    tap.check(r.n_samples or "thread 2 is one of the kernel's" in r.stderr and "--stacks -p 2" in r.stderr, "a kernel thread that waits all the time: a line says why there is nothing",
              r.stderr)
else:
    tap.skip("a kernel thread that waits all the time", "process 2 is none here")
tap.end()

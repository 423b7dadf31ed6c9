#!/usr/bin/env python3
"""Recordings of a small program: what perf reads from them, and what the file itself says."""
import os
import re
import struct
import subprocess
import time

from lib import ROOTS, RESOLVE, PerfData, Tap, build_load, capture, perf_frames, resolve_stats, rooted, run
from perfdata import COMM, FINISHED_ROUND, HEADER_FEATURE, SAMPLE
from tap import event

tap = Tap()
load = build_load()

# ---- a command, default form -------------------------------------------------------------------
p = capture("-F", 499, "-o", "one.data", "--", load, "two", 1)
d = PerfData("one.data")
samples = list(d.samples())
tap.check(len(samples) == p.n_samples > 20 and d.lost()[1] == p.n_lost,
          "the summary counts the samples of the file, and what was lost", (len(samples), d.lost(), p.stderr))
stacks = perf_frames("one.data")
tap.check(len(stacks) == len(samples), "perf script prints every sample", (len(stacks), len(samples)))
tap.check(rooted(stacks) >= 0.98 * len(stacks), "the stacks reach _start or clone3",
          [s for s in stacks if s[-1:] and s[-1] not in ROOTS][:3])
known = ["leaf"] + ["recurse"] * 11 + ["spin"]
# A few samples lie in the loader before main, which the program does not control.
tap.check(sum(s[:len(known)] == known for s in stacks) > 0.8 * len(stacks),
          "the known path is in the stacks", stacks[:2])
tap.check(any("early_thread" in s for s in stacks) and any("main" in s for s in stacks),
          "both threads are there")
r = resolve_stats("one.data")
tap.check(r["samples"] == len(samples) and r["root"] >= 0.98 * r["user_stacks"] > 0 and p.n_lost <= r["lost"] <= sum(d.lost()),
          "resolve reads it: the stacks reach their root", r)
p = run(["perf", "report", "-i", "one.data", "--stdio", "--no-children", "-g", "none"])
tap.check("leaf" in p.stdout and "failed" not in p.stderr, "perf report reads it", p.stderr)
tap.check(os.stat("one.data").st_mode & 0o777 == 0o600, "only the owner may read stack copies")

# ---- the form of the records --------------------------------------------------------------------
main = d.attrs[0]
tap.check(main["regs"] == 0xff0fff and main["stack"] == 32768, "registers and 32 KiB are asked for", main)
tap.check(all(s.abi == 2 and len(s.regs) == 20 for s in samples if not s.chain), "all registers are there")
sp = 7  # asm/perf_regs.h: PERF_REG_X86_SP
tap.check(all(len(s.stack) in (0, (s.dyn + 7 & ~7) + 8, 32768) for s in samples if s.dyn is not None),
          "dumps end 8 bytes after what is valid", {(s.dyn, len(s.stack)) for s in samples})
tap.check(all(s.stack[s.dyn:] == bytes(len(s.stack) - s.dyn) for s in samples if s.dyn is not None),
          "what follows the valid bytes is zero")
tap.check(d.string(12 - 6) in os.uname().machine and d.string(4) == os.uname().release,
          "features: arch and kernel release")
n_args = struct.unpack_from("<I", d.features[11])[0]
tap.check(n_args == 10 and load.encode() in d.features[11], "features: the command line")
first, last = struct.unpack("<QQ", d.features[21])
tap.check((first, last) == (min(s.time for s in samples), max(s.time for s in samples)),
          "features: times of the first and last sample")
tap.check([r.type for r in d.records[:1]] == [HEADER_FEATURE], "the data begin with how they are compressed")
execs = [c for c in d.comms() if c[3]]
tap.check([c[2] for c in execs] == ["load"] and {s.pid for s in samples} == {execs[0][0]},
          "the command's exec is recorded, nothing before it", execs)
note = run(["readelf", "-n", load]).stdout
code = [m for m in d.maps() if m.path == load and m.prot & 4]
tap.check(len(code) == 1 and code[0].build_id and code[0].build_id in note,
          "the program's code has the build id that readelf shows", code)
clock = time.clock_gettime(time.CLOCK_MONOTONIC)  # /proc/uptime counts while a machine is suspended, too
tap.check(0 <= clock - last / 1e9 < 60, "times are CLOCK_MONOTONIC", (last, clock))


def rounds_are_kept(d):
    """As perf orders: after the end of round N nothing is older than the newest of round N - 1."""
    newest = {}
    for r in d.records:
        t = d.time(r)
        if t and r.type < 64:
            newest[r.round] = max(t, newest.get(r.round, 0))
    for r in d.records:
        t = d.time(r)
        if t and r.type < 64 and t < newest.get(r.round - 2, 0):
            return False
    return sum(r.type == FINISHED_ROUND for r in d.records) > 0


tap.check(rounds_are_kept(d), "rounds are closed in time order")

# ---- other forms ----------------------------------------------------------------------------------
p = capture("-F", 499, "-o", "raw.data", "--no-compress", "--", load, "spin", 0.5)
d = PerfData("raw.data")
tap.check(27 not in d.features and sum(r.type == SAMPLE for r in d.records) == p.n_samples > 5,
          "--no-compress: plain records")
stacks = perf_frames("raw.data")
tap.check(rooted(stacks) >= 0.98 * len(stacks) and len(stacks) == p.n_samples,
          "--no-compress: perf unwinds it")
p = capture("-F", 499, "-o", "fp.data", "--call-graph", "fp", "--", load, "spin", 0.3)
d = PerfData("fp.data")
tap.check(d.attrs[0]["stack"] == 0 and all(len(s.chain) > 1 for s in d.samples()) and p.n_samples > 3,
          "--call-graph fp: chains, no dumps")
p = capture("-F", 499, "-o", "none.data", "--call-graph", "none", "--", load, "spin", 0.3)
tap.check(not any(s.chain or s.stack for s in PerfData("none.data").samples()) and p.n_samples > 3,
          "--call-graph none: neither")
p = capture("-F", 499, "-o", "small.data", "--call-graph", "dwarf,1024", "--", load, "spin", 0.3)
d = PerfData("small.data")
full = sum(s.dyn == 1024 == len(s.stack) for s in d.samples())
share = 100 * full / p.n_samples
tap.check(f"{share:.1f} % of the stack copies full at 1024 bytes" in p.stderr and full > 0,
          "--call-graph dwarf,1024: a line has the share of full stack copies", p.stderr)
p = capture("-e", "cs,page-faults:u", "-e", "task-clock", "-c", 100000, "-o", "ev.data", "--", load, "spin", 0.3)
d = PerfData("ev.data")
tap.check(len(d.attrs) == 4 and [(a["type"], a["config"], a["period"]) for a in d.attrs[:3]]
          == [(1, 3, 100000), (1, 2, 100000), (1, 1, 100000)], "-e twice, with a list, and -c", d.attrs)
events = run(["perf", "evlist", "-i", "ev.data"]).stdout.split()
tap.check(events[:3] == [event("cs"), "page-faults:u", event("task-clock")], "perf evlist names the events", events)
p = capture("-F", 499, "-e", "cpu-clock:u", "-o", "user.data", "--", load, "spin", 0.3)
d = PerfData("user.data")
tap.check(p.n_samples > 3 and all(r.misc & 7 == 2 for r in d.records if r.type == SAMPLE),
          "cpu-clock:u: user space only")

# Where tracefs is not mounted, the recorder gets it in a mount namespace of its own.
WITH_TRACEFS = ["unshare", "-m", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing; exec "$@"', "sh"]


def tracefs():
    """The prefix for a command that sees tracefs; None: there is no way."""
    for prefix in ([], WITH_TRACEFS):
        if os.geteuid() == 0 and not run([*prefix, "ls", "/sys/kernel/tracing/events/sched"], check=False).returncode:
            return prefix
    return None


prefix = tracefs()
if prefix is not None:
    p = capture("-e", "sched:sched_process_exit,syscalls:sys_enter_exit_group", "-o", "tp.data", "--", load,
                "nothing", prefix=prefix)
    out = run(["perf", "script", "-i", "tp.data", "-F", "comm,pid,event,trace"]).stdout
    tap.check("comm=load" in out and "error_code: 0x00000000" in out and p.n_samples == 2,
              "tracepoints: one sample each time, perf shows their fields", out)
else:
    tap.skip("tracepoints", "needs root and a kernel with tracefs")

# ---- a stack copy that breaks off: a page that nothing has touched is not in memory, and the kernel does not wait for it ----
with open("hollow.c", "w") as f:
    f.write("""static volatile long sum;
__attribute__((noinline)) static void leaf(void) { for (long i = 0; i < 2500000000; i++) sum += i; }
__attribute__((noinline)) static void hollow(void)
{
	char untouched[20000];
	__asm__ volatile("" :: "r"(untouched) : "memory");
	leaf();
	__asm__ volatile("" :: "r"(untouched) : "memory");
}
int main(void) { hollow(); return 0; }
""")
run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-fno-stack-clash-protection", "hollow.c", "-o", "hollow"])
capture("-F", 499, "--no-touch", "-o", "hollow.data", "--", "./hollow")
r = resolve_stats("hollow.data")
# Another recording of the whole machine may touch the pages meanwhile.
tap.check(r["truncated"] > 5 and r["broken"] < 0.1 * r["user_stacks"], "--no-touch: stacks of short copies count as truncated, not as broken", r)
said = run([RESOLVE, "-o", "hollow.folded", "hollow.data"]).stderr
tap.check(("nothing had touched" in said or r["truncated"] < 0.06 * r["user_stacks"]) and "record with" not in said, "--no-touch: the advice is to touch the pages, not to take larger copies", said)
p = capture("-v", "-F", 499, "-o", "hollow.data", "--", "./hollow")
r = resolve_stats("hollow.data")
pages = int(re.search(r"(\d+) stack pages touched", p.stderr)[1])
tap.check(r["root"] >= 0.8 * r["user_stacks"] > 5 and 0 < pages < 100, f"missing pages are touched: {r['root']} of {r['user_stacks']} stacks are whole", (r, pages))

# New threads: their stacks are read before their first samples; those of threads that have ended (glibc gives their pages back) again.
with open("threads.c", "w") as f:
    f.write("""#include <pthread.h>
#include <stdlib.h>
static __thread volatile long sum;
__attribute__((noinline)) static void leaf(void) { for (long i = 0; i < 10000000; i++) sum += i; }
__attribute__((noinline)) static void hollow(void)
{
	char untouched[28000];
	__asm__ volatile("" :: "r"(untouched) : "memory");
	leaf();
	__asm__ volatile("" :: "r"(untouched) : "memory");
}
static void *run(void *arg) { hollow(); return arg; }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), at_once = atoi(argv[2]);
	pthread_t t[16];
	for (int i = 0; i < n; i += at_once) {
		for (int k = 0; k < at_once; k++) pthread_create(&t[k], NULL, run, NULL);
		for (int k = 0; k < at_once; k++) pthread_join(t[k], NULL);
	}
	return argc == 0;
}
""")
run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-fno-stack-clash-protection", "threads.c", "-o", "threads", "-lpthread"])
for n, at_once in (64, 16), (64, 1):
    capture("-F", 499, "--no-touch", "-o", "threads.data", "--", "./threads", n, at_once)
    r = resolve_stats("threads.data")
    before = r["root"] / r["user_stacks"]
    p = capture("-v", "-F", 499, "-o", "threads.data", "--", "./threads", n, at_once)
    r = resolve_stats("threads.data")
    pages = int(re.search(r"(\d+) stack pages touched", p.stderr)[1])
    # Nearly all on a machine with a processor to spare: capture has to run before a thread's first sample.
    tap.check(r["root"] >= min(0.9, max(0.7, before + 0.3)) * r["user_stacks"] and r["user_stacks"] > 60 and 0 < pages <= n * 27,
              f"{n} threads, {at_once} at once: {r['root']} of {r['user_stacks']} stacks are whole, {100 * before:.0f} % with --no-touch; "
              f"{pages} pages touched", r)

# An exec makes some 30 records of maps: a wakeup for each of them was the most that recording a shell script cost.
header = next(line for line in run([RESOLVE, "--header", "threads.data"]).stdout.splitlines() if "name = dummy:u" in line)
tap.check("mmap = 1" in header and "wakeup_watermark" not in header, "records of maps wake nobody, only beginnings and ends of threads do", header)

# ---- status, old files -------------------------------------------------------------------------------
capture("-q", "-o", "st.data", "--", "true")
before = open("st.data", "rb").read()
p = capture("-q", "-o", "st.data", "--", "sh", "-c", "exit 7", check=False)
tap.check(p.returncode == 7 and p.stderr == "", "-q: the command's status and no words", (p.returncode, p.stderr))
tap.check(open("st.data.old", "rb").read() == before, "an old file becomes FILE.old")
p = capture("-q", "-o", "st.data", "--", "sh", "-c", "kill -9 $$", check=False)
tap.check(p.returncode == 137, "a killed command: 128 + signal", p.returncode)
before = open("st.data", "rb").read()
p = capture("-o", "st.data", "--", "/no/such/program", check=False)
tap.check(p.returncode == 2 and "/no/such/program" in p.stderr and open("st.data", "rb").read() == before,
          "a command that cannot be run leaves everything as it was", (p.returncode, p.stderr))
p = subprocess.run([os.environ["BIN"] + "/capture", "-q", "-o", "/dev/null", "--", "true"], capture_output=True)
tap.check(p.returncode == 0 and not os.path.exists("/dev/null.old") and not p.stderr, "-o /dev/null is a sink", p)
tap.end()

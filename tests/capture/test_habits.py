#!/usr/bin/env python3
"""What users of perf record type: events by pattern, in groups, every Nth tracepoint; options that mean the same, and answers to
the others; a line while it records, on a terminal only."""
import os
import re
import subprocess
import sys

from lib import CAPTURE, PerfData, Tap, build_load, capture, count_samples, run, small

tap = Tap()
load = build_load()


def with_tracefs(*args):
    """capture where tracefs is mounted, for this command only."""
    script = "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec \"$@\""
    return run(["unshare", "-m", "sh", "-c", script, "sh", CAPTURE, *args], check=False)


def names(path):
    at = PerfData(path).features[12][8:]
    return re.findall(rb"[a-z_]+:[a-z_]+", at)


p = run([CAPTURE, "-e", "{cpu-clock,page-faults}:S", "true"], check=False)
tap.check(p.returncode == 2 and "-e A,B" in p.stderr, "a group that its leader reads: what to type", p.stderr)
# ---- events ----------------------------------------------------------------------------------------------
p = with_tracefs("-e", "sched:sched_process_e*", "-o", "wild.data", "--", "true") if os.geteuid() == 0 else None
if not p or p.returncode:
    tap.skip("tracepoints", "needs root and tracefs" + (": " + p.stderr.strip() if p else ""))
else:
    got = [n for n in names("wild.data") if n.startswith(b"sched:")]
    tap.check(set(got) == {b"sched:sched_process_exec", b"sched:sched_process_exit"} , "-e sched:sched_process_e*: all that fit", got)
    for pattern, why in (("sched:nosuch*", "no tracepoint is like"), ("nosuch:*", "no tracepoint is like"), ("probe:nosuch", "perf probe")):
        p = with_tracefs("-e", pattern, "-o", "x.data", "--", "true")
        tap.check(p.returncode == 2 and why in p.stderr and len(p.stderr.splitlines()) == 1, f"-e {pattern}: refused", p.stderr)
    p = with_tracefs("-e", "{syscalls:sys_enter_g*,syscalls:sys_exit_g*}:u", "-o", "many.data", "--", "true")
    got = re.findall(rb"syscalls:sys_\w+:u\0", PerfData("many.data").features[12])
    tap.check(not p.returncode and len(got) > 40 and f"and {len(got) - 1} more events" in p.stderr,
              f"a group of {len(got)} events", p.stderr, got)
    # The kernel takes a sample of each event when the period is to be in it: 60,235 samples and 39,765 lost of 100,000.
    with open("calls.c", "w") as f:
        f.write("#include <sys/syscall.h>\n#include <unistd.h>\nint main(void)\n{\n\tfor (int i = 0; i < 100000; i++)\n\t\tsyscall(SYS_getppid);\n}\n")
    run(["gcc", "-O1", "calls.c", "-o", "calls"])
    p = with_tracefs("-v", "-c", "100", "-e", "syscalls:sys_enter_getppid", "-o", "nth.data", "--", "./calls")
    count_samples(p, p.stderr)
    periods = run([os.path.join(os.path.dirname(CAPTURE), "resolve"), "-q", "-f", "folded", "nth.data"]).stdout.splitlines()
    weight = sum(int(line.rsplit(" ", 1)[1]) for line in periods)
    q = with_tracefs("-e", 'syscalls:sys_enter_openat/filename.ustring ~ "/etc/*"/', "-o", "wild.data", "--", "ls")
    tap.check(q.returncode == 0 and "samples of syscalls:sys_enter_openat" in q.stderr, "a filter with *", q.stderr)
    q = with_tracefs("-e", "{uprobe:./calls:main,cpu-clock}:u", "-o", "group.data", "--", "./calls")
    tap.check(q.returncode == 0 and "samples of uprobe:./calls:main and" in q.stderr, "a group with a probe", q.stderr)
    tap.check(p.n_lost == 0 and 950 <= p.n_samples <= 1000 and weight == 100 * p.n_samples, "-c 100 of a tracepoint: every hundredth, each weighs 100",
              (p.stderr, weight))
p = capture("-e", "{cpu-clock:u,page-faults}", "-o", "group.data", "--", load, "spin", 0.05)
d = PerfData("group.data")
tap.check({s.event for s in d.samples()} == {0, 1}, "-e {a,b}: both are sampled", p.stderr)
p = capture("-q", "-e", "software/config=0,freq=499,name=mine/u,cpu-clock/freq=99/", "-o", "pmu.data", "--", load, "spin", 0.2, check=False)
lines = run([os.path.join(os.path.dirname(CAPTURE), "resolve"), "-q", "--header", "pmu.data"]).stdout
tap.check("name = mine" in lines and "name = cpu-clock/freq=99/" in lines and "sample_freq } = 499" in lines and "sample_freq } = 99" in lines
          and {s.event for s in PerfData("pmu.data").samples()} == {0, 1}, "events of a PMU, each with its own rate", lines, p.stderr)
p = capture("-c", "100", "-e", "page-faults:u", "-o", "faults.data", "--", sys.executable, "-c",
            "import mmap; m = mmap.mmap(-1, 10000 * 4096); m.madvise(mmap.MADV_NOHUGEPAGE)\nfor i in range(10000): m[4096 * i] = 1")
lines = run([os.path.join(os.path.dirname(CAPTURE), "resolve"), "-q", "-f", "folded", "faults.data"]).stdout.splitlines()
tap.check(90 <= p.n_samples <= 500 and sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 100 * p.n_samples, "-c 100 of page-faults: every hundredth", p.stderr)
p = capture("-e", "dummy", "-o", "dummy.data", "--", "true")
tap.check(p.n_samples == 0 and p.returncode == 0, "-e dummy: no samples", p.stderr)

# ---- options ---------------------------------------------------------------------------------------------
for options in (["-N", "-B", "-T", "-R", "-P"], ["-z"], ["-z3"], ["--all-user"], ["-i"], ["--sample-cpu", "--buildid-all", "--aio=2"], ["--inherit"]):
    p = capture(*options, "-o", "opt.data", "--", load, "spin", 0.02, check=False)
    tap.check(p.returncode == 0 and p.n_samples is not None, f"{' '.join(options)}: accepted", p.stderr)
p = capture("-r", "50", "-o", "opt.data", "--", load, "spin", 0.02, check=False)
tap.check(p.returncode == 0 or (os.geteuid() and p.returncode == 2 and "--realtime 50: this needs root (CAP_SYS_NICE), or ulimit -r 50" in p.stderr),
          "-r 50: accepted, or who may not is told what it takes", p.stderr)
for options, word in ((["-b"], "branch"), (["--switch-output"], "-p PID"), (["--overwrite"], "--duration"),
                      (["--off-cpu-thresh", "5"], "resolve --off-cpu-thresh"), (["-k", "tai"], "CLOCK_MONOTONIC"), (["--filter", "x"], "which event"), (["--threads"], "leave it out"),
                      (["--all-kernel"], ":k"), (["--max-size", "lots"], "100M"), (["--dry-run"], "--check"), (["--setup-filter", "pin"], "resolve --comm"),
                      (["-D", "-1"], "--snapshot"), (["--delay=-1"], "-p PID")):
    p = capture(*options, "-o", "opt.data", "--", "true", check=False)
    tap.check(p.returncode == 2 and word in p.stderr and len(p.stderr.splitlines()) == 1, f"{' '.join(options)}: answered in a line", p.stderr)

# ---- a line while it records -----------------------------------------------------------------------------
def on_terminal(*args):
    """What capture writes to a terminal."""
    return run(["script", "-qec", " ".join(small([CAPTURE, *map(str, args)])), "/dev/null"], check=False).stdout


spinner = subprocess.Popen([load, "spin", "100"])
said = on_terminal("-p", spinner.pid, "-F", 499, "-e", "cpu-clock:u", "--duration", 3.5, "-o", "live.data")
told = re.findall(r"\[ capture: (\d+) s, (\d+) samples, (\d+) lost, [\d.]+ .B \]", said)
tap.check(told and int(told[-1][1]) > 0, "a terminal: seconds, samples, losses, size while it records", said[-600:])
p = capture("-p", spinner.pid, "-e", "cpu-clock:u", "--duration", 2.5, "-o", "live.data")
tap.check(p.stderr.count("[ capture: ") == 1, "no terminal: no such line", p.stderr)
said = on_terminal("-q", "-p", spinner.pid, "-e", "cpu-clock:u", "--duration", 2.5, "-o", "live.data")
tap.check("samples" not in said, "-q: no such line", said)
said = on_terminal("-e", "cpu-clock:u", "-o", "live.data", "--", load, "spin", 2.5)
tap.check(said.count("[ capture: ") == 1, "a command that is recorded has the terminal for itself", said)
spinner.kill()
spinner.wait()
tap.end()

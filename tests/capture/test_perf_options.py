#!/usr/bin/env python3
"""Every option of perf record, of the perf here and of later ones, is taken or answered with what to type; --max-size, --switch-output, -u."""
import glob
import os
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, Tap, capture, children, need_events, run, start, until, until_open

tap = Tap()
VALUES = {"c": "1000", "C": "0", "D": "5", "e": "cpu-clock", "F": "99", "G": "/", "j": "any", "k": "mono", "m": "64,64", "o": "x.data", "p": "1", "r": "5", "t": "1",
          "u": "root", "affinity": "cpu", "call-graph": "dwarf", "control": "fd:3", "filter": "x", "max-size": "10M", "mmap-flush": "64K", "synth": "task",
          "num-thread-synthesize": "2", "proc-map-timeout": "100", "switch-max-files": "3", "switch-output-event": "cpu-clock", "vmlinux": "/x",
          "clang-path": "/x", "clang-opt": "x", "off-cpu-thresh": "5", "bpf-filter": "x"}
LATER = ["--sample-mem-info", "--setup-filter=pin", "--off-cpu-thresh=5", "--bpf-filter=x", "--latency", "--data-mmap", "--all-cgroups", "--namespaces", "--switch-output-event=cpu-clock", "--switch-max-files=3",
         "--timestamp-filename", "--strict-freq", "--synth=task", "--user-callchains", "--kernel-callchains", "--off-cpu", "--switch-output=30s", "--switch-output=signal",
         "--call-graph=lbr", "-k=mono", "-D=10-20", "-m=64,64"]


def perf_options():
    """The options that `perf record -h` lists, each with a value if it needs one."""
    try:
        text = subprocess.run(["perf", "record", "-h"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    except OSError:
        return []
    found = []
    for short, long, value in re.findall(r"^ {4}(?:-(\w)|    )(?:, )?(?:--([a-z-]+))?( ?\[?[<=].*)?", text, re.M):
        for name, dashes in ((short, "-"), (long, "--")):
            if name:
                needs = value.startswith(" <") and name != "h"
                found.append([dashes + name] + ([VALUES.get(name) or VALUES.get(short, "1")] if needs else []))
    return found


words = perf_options() + [o.split("=", 1) if o.startswith("-") and not o.startswith("--") else [o] for o in LATER]
bad = []
for option in words:
    q = run([CAPTURE, *option, "--version"], check=False)
    answer = q.stderr.strip()
    if q.returncode not in (0, 2) or "unrecognized" in answer or "invalid option" in answer or (q.returncode == 2 and (len(answer.splitlines()) != 1 or len(answer) < 30)):
        bad.append((option, q.returncode, answer))
tap.check(len(words) > 15 and not bad, f"{len(words)} options of perf record: taken, or one line says what to type", bad)
for option, wanted in ((["-k", "tai"], "CLOCK_MONOTONIC"), (["-D", "10-20"], "--duration"), (["--call-graph", "lbr"], "dwarf"), (["-u", "nobody-of-that-name"], "no user"),
                       (["--max-size", "much"], "100M"), (["--switch-output=often"], "30s"), (["--switch-output", "--", "true"], "-p PID"),
                       (["--switch-output", "-p", "1", "--", "sleep", "1"], "until ^C or --duration SEC: leave out the command (sleep)"),
                       (["--switch-output=1s", "-a", "--", "/bin/sleep", "1"], "leave out the command (/bin/sleep)"),
                       (["--switch-output", "--stacks", "-p", "1"], "which make one file"), (["--switch-output", "--every", "10", "-p", "1"], "which make one file")):
    q = run([CAPTURE, *option], check=False)
    tap.check(q.returncode == 2 and wanted in q.stderr and len(q.stderr.splitlines()) == 1, f"{' '.join(option)}: {wanted}", q.stderr)
need_events()

# ---- a bound of the file ---------------------------------------------------------------------------
with open("burn.c", "w") as f:
    f.write("#include <sys/prctl.h>\nint main(void) { volatile long x = 0; prctl(PR_SET_PDEATHSIG, 9); for (;;) x++; }\n")
run(["gcc", "-O1", "-g", "burn.c", "-o", "burn"])
p = subprocess.Popen(["./burn"])
r = capture("--no-compress", "-F", "999", "--max-size", "1M", "-p", p.pid, "-o", "bound.data", timeout=120)
size = os.path.getsize("bound.data")
tap.check(1 << 20 <= size < 8 << 20 and r.n_samples > 0, "--max-size ends the recording", size, r.stderr)

# ---- parts -----------------------------------------------------------------------------------------
q = start("--switch-output=0.3s", "--duration", "100", "-F", "499", "-p", p.pid, "-o", "time.data")
until(lambda: len(glob.glob("time.data.*")) >= 4, "four parts")
q.send_signal(signal.SIGINT)
err = q.communicate(timeout=120)[1]
parts = sorted(glob.glob("time.data.*"))
good = [x for x in parts if "burn;" in run([RESOLVE, "-q", x], check=False).stdout]
tap.check(q.returncode == 0 and len(parts) >= 3 and len(good) >= 2, "--switch-output=0.3s: files that are complete by themselves", parts, good, err)
q = start("--switch-output", "--switch-max-files", "2", "-F", "499", "-p", p.pid, "-o", "signal.data")
for n in range(3):
    until(lambda n=n: len(glob.glob("signal.data.*")) >= min(n + 1, 2), "the next part")
    until_open(q)
    before = set(glob.glob("signal.data.*"))
    time.sleep(0.2)
    q.send_signal(signal.SIGUSR2)
    until(lambda before=before: set(glob.glob("signal.data.*")) - before, "a new file after SIGUSR2")
q.send_signal(signal.SIGINT)
err = q.communicate(timeout=60)[1]
tap.check(len(glob.glob("signal.data.*")) == 2 and err.count("[ capture:") == 4, "SIGUSR2 begins a new one, and the last two are kept", glob.glob("signal.data.*"), err)
older = "kept.data.2020010100000000"
for name in (older, older + "x"):
    open(name, "w").close()
r = capture("--switch-output=1h", "--switch-max-files", "1", "--duration", "0.2", "-o", "kept.data", "-p", p.pid)
tap.check(not os.path.exists(older) and os.path.exists(older + "x") and len(glob.glob("kept.data.*")) == 2, "files of earlier runs count, others do not",
          glob.glob("kept.data*"), r.stderr)
r = capture("--timestamp-filename", "-o", "dated.data", "--duration", "0.2", "-p", p.pid)
tap.check(len(glob.glob("dated.data.20*")) == 1, "--timestamp-filename", glob.glob("dated*"))

# ---- the reader's priority -------------------------------------------------------------------------


def scheduling(pid):
    """Of proc(5): rt_priority and policy (1: SCHED_FIFO)."""
    fields = open(f"/proc/{pid}/stat", encoding="ascii", errors="replace").read().rpartition(")")[2].split()
    return int(fields[40 - 3]), int(fields[41 - 3])


if os.geteuid() == 0:
    for options, want in (([], (10, 1)), (["-r", "37"], (37, 1)), (["--realtime=99"], (99, 1)), (["-r", "0"], (0, 0))):
        q = start(*options, "-o", "rt.data", "--", "sleep", "100")
        until(lambda q=q: any(open(f"/proc/{c}/comm", encoding="ascii").read() == "sleep\n" for c in children(q.pid)), "the command")
        has, of_command = scheduling(q.pid), [scheduling(c) for c in children(q.pid)]
        q.send_signal(signal.SIGTERM)
        q.communicate(timeout=60)
        tap.check(has == want and of_command == [(0, 0)], f"the reader's priority with {options}", has, of_command)
    q = run(["setpriv", "--bounding-set", "-sys_nice", CAPTURE, "-r", "5", "-o", "refused.data", "--", "echo", "ran"], check=False)
    tap.check(q.returncode == 2 and "ulimit -r 5" in q.stderr and not q.stdout and not os.path.exists("refused.data"), "one that is refused is an error", q.stdout, q.stderr)
for value in ("100", "-1", "x"):
    q = run([CAPTURE, "-r", value, "--", "true"], check=False)
    tap.check(q.returncode == 2 and "-r: " in q.stderr, f"-r {value}: refused", q.stderr)

# ---- a user's processes ----------------------------------------------------------------------------
if os.geteuid() == 0:
    mine = subprocess.Popen(["setpriv", "--reuid", "65533", "--clear-groups", "sleep", "100"])
    until(lambda: open(f"/proc/{mine.pid}/comm").read() == "sleep\n", "sleep")
    r = capture("--stacks", "-u", "65533", "-o", "user.data")
    tap.check(r.n_samples == 1 and "sleep" in run([RESOLVE, "-q", "user.data"]).stdout, "-u USER: the processes of a user", r.stderr)
    mine.kill()
    mine.wait()
p.kill()
p.wait()
tap.end()

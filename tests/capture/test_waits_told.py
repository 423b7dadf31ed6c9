#!/usr/bin/env python3
"""capture --off-cpu and --wall: what is told of waits. How long each took (-f trace), what of a recorder that was killed is known, how many threads of the
kernel waited all the time, and that --stacks is the command for a program that only waits."""
import json
import os
import re
import signal
import subprocess
import time

from lib import CAPTURE, RESOLVE, Tap, capture, need_events, need_root, run, start, until, until_enabled
from recorder import perf_record

tap = Tap()
need_root(tap, "--off-cpu", "needs root")
need_events()
probe = run([CAPTURE, "-q", "--off-cpu", "-o", "probe.data", "true"], check=False)
if probe.returncode:
    tap.skip("what is told of waits", probe.stderr.strip())
    tap.end()
    raise SystemExit


def compile_c(name, text):
    with open(name + ".c", "w", encoding="utf-8") as f:
        f.write(text)
    run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", name + ".c", "-o", name])


def folded(data, *args, check=True):
    """{stack: nanoseconds}"""
    lines = run([RESOLVE, "-q", "-f", "folded", *args, data], check=check).stdout.splitlines()
    return {stack: int(ns) for stack, _, ns in (line.rpartition(" ") for line in lines)}


def by_thread(stacks, place=0):
    """The same by the number of the thread; `place` is where the thread stands in a stack."""
    sums = {}
    for stack, ns in stacks.items():
        tid = re.search(r"[-/](\d+)$", stack.split(";")[place])[1]
        sums[tid] = sums.get(tid, 0) + ns
    return sums


def stats(data):
    out = run([RESOLVE, "-q", "--stats=json", "-o", "/dev/null", "-f", "folded", data], check=False).stderr
    return json.loads(out.strip().splitlines()[-1])


# ---- -f trace: how long each wait took -------------------------------------------------------------
# Few waits, of known lengths; with small samples each has its own.
compile_c("naps", r"""
#include <pthread.h>
#include <unistd.h>
static void *work(void *a) { for (int i = 1; i <= 20; i++) usleep(1000 * i); return a; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 5; i++)
		usleep(30000);
	pthread_join(t, NULL);
	return 0;
}
""")
LINE = re.compile(r"^ *([\d.]+) \( *([\d.]+) ms\): [^/ ]+/([\d/]+) (\S+): (.*)$")
for option, events in (("--off-cpu", ("off-cpu", "runnable")), ("--wall", ("wall",))):
    r = capture(option, "--call-graph", "fp", "-o", "naps.data", "./naps")
    lines = run([RESOLVE, "-q", "-f", "trace", "naps.data"]).stdout.splitlines()
    waits = [m for m in map(LINE.match, lines) if m]
    switches = [line for line in lines if "prev_state=" in line]
    tap.check(len(switches) >= 25 and len(waits) == len(switches) == sum("prev_state=" in m[5] for m in waits),
              f"{option}, -f trace: each wait has its length, and nothing else has", [line for line in lines if not LINE.match(line)][:5], r.stderr)
    # What sleeps is in `prev_state=S`; a new thread waits for a processor before it gives one up, which no line is of.
    told, n = {}, {}
    for m in waits:
        if "prev_state=S" in m[5]:
            tid = m[3].rpartition("/")[2]
            told[tid] = told.get(tid, 0) + float(m[2]) * 1e6
            n[tid] = n.get(tid, 0) + 1
    shown = by_thread({s: ns for s, ns in folded("naps.data", "--event", events[0], "--by", "state", "--with-tid").items() if s.startswith("sleeping;")}, place=1)
    # A line has whole microseconds.
    tap.check(len(told) == 2 and set(told) == set(shown) and all(abs(told[t] - shown[t]) <= 1000 * n[t] for t in told),
              f"{option}, -f trace: the sum of each thread is that of folded", told, shown, r.stderr)
    # A nap that is preempted on its way may be shorter; the thread's ends are 1 to 20 ms, the main thread's 30 each.
    asked = (sum(range(1, 21)) * 1e6, 150e6)
    tap.check(len(told) == 2 and all(t >= 0.5 * a for t, a in zip(sorted(told.values()), asked)), f"{option}, -f trace: which is what was slept", told)
    longer = [m for m in waits if "prev_state=S" in m[5] and float(m[2]) >= 30]
    tap.check(len(longer) >= 3, f"{option}, -f trace: the naps of 30 ms last so long", [m[0][:60] for m in waits])

# Without room for stacks the time is there, and what would help is; with room nothing is to be said.
for room, few in (("1", True), ("64M", False)):
    r = capture("--off-cpu", "-m", room, "-o", "room.data", "./naps")
    m = re.search(r"(\d+) samples of off-cpu, 0 lost(?:, (\d+) waits without one)?", r.stderr)
    waited = stats("room.data")["threads_off_ns"]
    tap.check(m and (int(m[2] or 0) > 0) == few == ("a ring of 4 KiB has no room" in r.stderr) and "no stack of their own" not in r.stderr and waited >= 0.5 * sum(asked) and sum(folded("room.data", "--event", "off-cpu").values()) == waited,
              f"-m {room}: {'waits without a stack are told, with what helps' if few else 'all have theirs, and no words'}", waited, r.stderr)

# ---- beside other events -----------------------------------------------------------------------------
# Which do not tell where the time on a processor went. By the clock of switches it may be some ms less than the program says.
compile_c("burns", r"""
#include <time.h>
#include <unistd.h>
__attribute__((noipa)) static void burns(void)
{
	struct timespec t = {0};
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < 500)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
}
int main(void) { burns(); usleep(100000); return 0; }
""")
for more, other in ((["-e", "page-faults"], "page-faults"), (["-e", "task-clock"], None), ([], None)):
    r = capture("--wall", *more, "-o", "burns.data", "./burns")
    rows, on = folded("burns.data", "--event", "wall", "--by", "state"), stats("burns.data")["threads_on_ns"]
    ran = sum(ns for s, ns in rows.items() if s.startswith("running;"))
    mine = sum(ns for s, ns in rows.items() if s.startswith("running;") and ";burns" in s)
    tap.check(0.4e9 <= on and abs(ran - on) <= 0.1 * on and mine >= 0.7 * on, f"--wall {' '.join(more)}: what it ran is shown, with its stack", mine, ran, on, r.stderr)
    tap.check(not other or folded("burns.data", "--event", other), f"--wall {' '.join(more)}: and the event is there", r.stderr)

# ---- a recorder that is killed ---------------------------------------------------------------------
# Of three threads that wait all the time there is no record; the fourth's naps tell how far the file goes.
compile_c("stuck", r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *waits(void *a) { printf("%ld\n", syscall(SYS_gettid)); fflush(stdout); for (;;) pause(); return a; }
static void *naps(void *a) { for (;;) usleep(5000); return a; }
int main(void)
{
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, 9);
	alarm(300);
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, waits, NULL);
	pthread_create(&t, NULL, naps, NULL);
	waits(NULL);
}
""")
p = subprocess.Popen(["./stuck"], stdout=subprocess.PIPE, text=True)
waiting = {p.stdout.readline().strip() for _ in range(3)}


def rests(tid):
    with open(f"/proc/{p.pid}/task/{tid}/wchan", encoding="utf-8") as f:
        return f.read() != "0"


until(lambda: all(map(rests, waiting)), "the three that wait")
for options in (["--off-cpu", "-p"], ["--wall", "-p"], ["--off-cpu", "-t"], ["--off-cpu", "-a"]):
    what = " ".join(options)
    target = {"-p": [p.pid], "-t": [",".join(os.listdir(f"/proc/{p.pid}/task"))], "-a": []}[options[1]]
    for kill in (signal.SIGKILL, signal.SIGINT):
        began = time.monotonic()
        q = start(*options, *target, "-o", "killed.data")
        until_enabled(q)
        enabled = time.monotonic()
        # Some blocks of what the fourth does.
        sizes = {os.path.getsize("killed.data")}
        until(lambda: sizes.add(os.path.getsize("killed.data")) or len(sizes) > 3 and time.monotonic() > enabled + 1, "data")
        ended = time.monotonic()
        q.send_signal(kill)
        q.communicate(timeout=120)
        took = time.monotonic() - began
        event = options[0][2:]
        stacks = {s: ns for s, ns in folded("killed.data", "--event", event, "--with-tid", check=False).items() if s.startswith("stuck-")}
        times = by_thread(stacks)
        j = stats("killed.data")
        parts = {k: j[f"threads_{k}_ns"] for k in ("wall", "on", "off", "runnable", "unknown")}
        mine = [times.get(t, 0) for t in waiting]
        name = f"{what}, {kill.name}: "
        tap.check(len(times) == 4 and waiting < set(times) and min(mine) > 0 and max(mine) <= took * 1e9, name + "threads that waited all the time are there", times, waiting, took)
        # They began and ended with the recording, as far as it goes: all the same, but for who was written when at the end.
        tap.check(max(mine) - min(mine) <= 0.2 * max(mine) and (kill == signal.SIGKILL or min(mine) >= 0.9e9), name + "each as long as what was kept", mine, ended - enabled)
        tap.check(abs(parts["on"] + parts["off"] + parts["runnable"] + parts["unknown"] - parts["wall"]) < 1000 and
                  (options[1] == "-a" or parts["wall"] <= 4 * took * 1e9), name + "the sums are those of four threads", parts, took)
        bare = {t for t in waiting if any("[unknown]" in s for s in stacks if f"/{t};" in s)}
        tap.check(bare == (waiting if kill == signal.SIGKILL else set()), name + "without a stack where none was read, and only there", bare, list(stacks)[:5])
p.kill()
p.wait()

# ---- a program that only waits ---------------------------------------------------------------------
p = subprocess.Popen(["sleep", "1000"])
until(lambda: "nanosleep" in open(f"/proc/{p.pid}/wchan", encoding="utf-8").read(), "sleep")
SHOWS = "`capture --stacks -p PID` shows where threads wait"
for event in ("cpu-clock", "task-clock:u", "page-faults", "sched:sched_switch", "probe"):
    where = ["uprobe:libc.so.6:malloc"] if event == "probe" else [event]
    r = capture("-e", *where, "-p", p.pid, "--duration", 0.3, "-o", "idle.data")
    q = run([RESOLVE, "idle.data"], check=False)
    tap.check(r.n_samples == 0 and q.returncode == 2 and SHOWS in q.stderr, f"of a program that only waits, -e {event}: what shows where", r.stderr, q.stderr)
for event in ("cpu-clock", "sched:sched_switch"):
    perf_record("-e", event, "-p", str(p.pid), "-o", "idle.data", "sleep", "0.3")
    q = run([RESOLVE, "idle.data"], check=False)
    tap.check(q.returncode == 2 and SHOWS in q.stderr, f"perf record -e {event}: too", q.stderr)
command = re.search(r"`capture (--stacks -p )PID`", q.stderr)
capture(*(command[1].split() if command else ["--version"]), p.pid, "-o", "now.data")
text = run([RESOLVE, "-q", "-f", "stacks", "now.data"], check=False).stdout
tap.check("nanosleep" in text and "main" in text or "__libc_start" in text, "and it does", text)
p.kill()
p.wait()

# ---- threads of the kernel -------------------------------------------------------------------------


def kernel_threads():
    """{thread: how often it gave up a processor}"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                if not int(f.read().rpartition(")")[2].split()[6]) & 0x200000:  # PF_KTHREAD
                    continue
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
                found[pid] = re.findall(r"ctxt_switches:\s*(\d+)", f.read())
        except OSError:
            pass
    return found


before = kernel_threads()
r = capture("-a", "--off-cpu", "--duration", 0.5, "-o", "all.data")
after = kernel_threads()
# Those that did not switch in a time that is longer waited in the recording, too.
least = sum(after.get(t) == n for t, n in before.items())
most = len(set(before) | set(after))
if not least:
    tap.skip("-a: the kernel's threads", "none is seen here that waits")
else:
    m = re.search(r"(\d+) threads of the kernel waited all the time, which have no samples here; --stacks -a shows where", r.stderr)
    tap.check(m and least <= int(m[1]) <= most, "-a: the kernel's threads that waited all the time are counted", m and m[0], least, most, r.stderr)
    comms = {s.partition(";")[0] for s in folded("all.data", "--event", "off-cpu", "--with-tid", check=False)}
    quiet = [t for t, n in before.items() if after.get(t) == n]
    tap.check(not [c for c in comms if c.rpartition("/")[2] in quiet], "and have none, as is said", [c for c in comms if c.rpartition("/")[2] in quiet])
    capture("--stacks", "-a", "-o", "now.data")
    tids = by_thread(folded("now.data", "--with-tid"))
    tap.check(set(quiet) <= set(tids) | (set(before) - set(kernel_threads())), "--stacks -a has them", sorted(set(quiet) - set(tids)))
    for option, where in (("--off-cpu", ["-p", os.getpid()]), ("--wall", ["-p", os.getpid()])):
        r = capture(option, *where, "--duration", 0.1, "-o", "mine.data")
        tap.check("of the kernel" not in r.stderr, f"{option} of a process says nothing of them", r.stderr)
tap.end()

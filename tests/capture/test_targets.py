#!/usr/bin/env python3
"""Whom to record: processes, threads, CPUs, everything; when: delay, duration, signals."""
import os
import signal
import subprocess
import time

from lib import ROOTS, PerfData, Tap, build_load, capture, count_samples, perf_frames, run, start, until, until_cpu, until_recorded, until_used
from recorder import perf_forgets
from perfdata import EXIT, FORK, SAMPLE
from tap import MAY_KERNEL

tap = Tap()
load = build_load()


def spawn(*args, **kw):
    return subprocess.Popen([load, *map(str, args)], stdout=subprocess.PIPE, text=True, **kw)


def living():
    """{(pid, when it was started)}: numbers are used again."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                found.add((int(pid), f.read().rsplit(")", 1)[1].split()[19]))
        except OSError:
            pass
    return found


# ---- -p: a running process, the threads and children it starts later -----------------------------
p = spawn("late", 0.6, stdin=subprocess.PIPE)
pid = int(p.stdout.readline())
c = start("-F", 499, "-p", pid, "-o", "p.data")  # ends by itself when the process is gone
until_recorded(c, pid, 0.1)
p.communicate("now\n")
err = c.communicate(timeout=60)[1]
count_samples(c, err)
d = PerfData("p.data")
by_pid = {s.pid for s in d.samples()}
symbols = {f for s in perf_frames("p.data") for f in s}
tap.check(c.returncode == 0 and c.n_samples > 20, "-p ends with the process", err)
tap.check("early_thread" in symbols and "late_thread" in symbols, "-p: threads of before and after", symbols)
children = {t[0] for t in d.tasks(FORK) if t[1] == pid and t[0] != pid}
tap.check(len(children) == 1 and by_pid == {pid} | children, "-p: the child it forks", (by_pid, children))
maps = [m for m in d.maps() if m.pid == pid and m.path == load and m.prot & 4]
tap.check(len(maps) == 1 and maps[0].time == 0 and maps[0].build_id
          and maps[0].build_id in run(["readelf", "-n", load]).stdout,
          "-p: the maps of before, with build ids", maps)
first_sample = next(i for i, r in enumerate(d.records) if r.type == SAMPLE)
tap.check(all(d.time(r) == 0 for r in d.records[:10]) and first_sample > 10,
          "-p: what was there before comes first")
tap.check(len([t for t in d.tasks(EXIT) if t[0] == pid]) >= 2, "-p: the exits of its threads")

# ---- -t: one thread of several ----------------------------------------------------------------------
p = spawn("two", 30)
until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 2, "the second thread")
tid = max(int(t) for t in os.listdir(f"/proc/{p.pid}/task"))
c = capture("-F", 499, "-t", tid, "-o", "t.data", "--", *until_cpu(p.pid, 0.5))
tids = {s.tid for s in PerfData("t.data").samples()}
symbols = {f for s in perf_frames("t.data") for f in s}
tap.check(tids == {tid} and "early_thread" in symbols and "main" not in symbols and c.n_samples > 5,
          "-t: that thread and no other", (tids, tid))

# ---- -p with a command bounds the time; --no-inherit -----------------------------------------------------
c = capture("-F", 499, "-p", p.pid, "-o", "pc.data", "--", *until_cpu(p.pid, 0.2))
tap.check({s.pid for s in PerfData("pc.data").samples()} == {p.pid} and p.poll() is None,
          "-p with a command: the process, while the command runs")
p.kill()
p.wait()
# Context switches are the kernel's.
c = capture("-F", 999, "-c", 1, "-e", "cs" if MAY_KERNEL else "page-faults", "--no-inherit", "-o", "ni.data", "--", "sh", "-c",
            "sleep 0.01; sleep 0.01; true")
d = PerfData("ni.data")
tap.check(len({s.pid for s in d.samples()}) == 1 and c.n_samples > 0, "--no-inherit: not the children",
          {s.pid for s in d.samples()})


def has_other_roots():
    """Are there processes for which the same paths are other files?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if not os.path.samefile("/", f"/proc/{pid}/root"):
                return True
        except OSError:
            pass
    return False


if os.geteuid() == 0:
    # ---- -a, -C -----------------------------------------------------------------------------------------
    # A CPU with nothing to do has no samples, so each that we may use gets something.
    ours = sorted(os.sched_getaffinity(0))
    busy = [spawn("spin", 120, preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu})) for cpu in ours]
    p = busy[0]
    before = living()

    def all_processes(*args):
        c = start("-F", 199, *args)
        for q in busy:
            until_recorded(c, q.pid)
        c.send_signal(signal.SIGINT)
        return count_samples(c, c.communicate(timeout=60)[1])

    c = all_processes("-a", "-o", "a.data")
    d = PerfData("a.data")
    pids = {s.pid for s in d.samples()}
    cpus = {s.cpu for s in d.samples()}
    tap.check({q.pid for q in busy} <= pids and c.n_samples > 20, "-a: processes that are not our children", c.summary)
    tap.check(set(ours) <= cpus <= set(range(os.cpu_count())), "-a: all CPUs", cpus)
    kernel = [m for m in d.maps() if m.misc & 7 == 1]
    with open("/proc/kallsyms") as f:
        text = next(l.split()[0] for l in f if l.split()[2] == "_text")
    tap.check(kernel[0].path == "[kernel.kallsyms]_text" and kernel[0].start == int(text, 16)
              and kernel[0].pgoff == kernel[0].start and kernel[0].build_id, "-a: the kernel's map", kernel[0])
    stayed = {pid for pid, _ in before & living()}
    named = {c[0] for c in d.comms() if not c[3]}
    tap.check({1, p.pid} <= stayed <= named, "-a: all processes have names", stayed - named)
    try:
        stacks = perf_frames("a.data", "--pid", str(p.pid))
        # Newer ones unwind with libdw, and have no names of libc for a process that ran already. In a chroot, or beside containers,
        # another libc may have the same path, which perf takes: main is in the program itself.
        to_main = perf_forgets() or has_other_roots()
        if perf_forgets():  # perf 7.2 has no frame of the program for some, now and then for all
            stacks = [s for s in stacks if s and not s[-1].startswith(("asm_", "entry_"))]
            # Nor names below the [vdso], whose table it has not.
            stacks = [s for s in stacks if not ("__vdso_clock_gettime" in s and set(s[s.index("__vdso_clock_gettime") + 1:]) == {"[unknown]"})]
        bad = [s for s in stacks if not (s and s[-1] in ROOTS) and not (to_main and {"main", "__libc_start_call_main"} & set(s))]
        if stacks or not perf_forgets():
            tap.check(stacks and len(bad) <= 0.05 * len(stacks), f"-a: perf unwinds it, {len(stacks)} stacks", bad[:3])
        else:
            tap.skip("-a: perf unwinds it", "perf script has no frame of any stack")
    except RuntimeError as e:
        if "status -11" not in str(e):
            raise
        tap.skip("-a: perf unwinds it", "perf script crashed")
    cpu = ours[-1]
    all_processes("-C", cpu, "-o", "c.data")
    tap.check({s.cpu for s in PerfData("c.data").samples()} == {cpu}, f"-C {cpu}: all processes, only there")
    capture("-C", cpu, "-F", 199, "-o", "c.data", "--", *until_cpu(busy[-1].pid, 0.3))
    tap.check(busy[-1].pid in {s.pid for s in PerfData("c.data").samples()}, "-C with a command: likewise, while it runs")
    for q in busy[1:]:
        q.kill()
        q.wait()

    # ---- -D and --duration ---------------------------------------------------------------------------------
    def delayed():
        """(no sample comes too soon, nor too late). The end may be late where the machine is loaded, and there may be none."""
        t0 = time.clock_gettime(time.CLOCK_MONOTONIC)
        capture("-p", p.pid, "-F", 499, "-D", 400, "--duration", 0.4, "-o", "d.data")
        t1 = time.clock_gettime(time.CLOCK_MONOTONIC)
        times = [s.time / 1e9 for s in PerfData("d.data").samples()] or [0]
        return min(times) > t0 + 0.4 and t1 - t0 >= 0.8, max(times) - min(times) < 0.45, t0, t1, times[0], times[-1]

    for _ in range(10):
        said = delayed()
        if said[-1] and (said[1] or not said[0]):
            break
    tap.check(said[0] and said[1], "-D and --duration: from when to when", said)
    p.kill()
    p.wait()
    t0 = time.clock_gettime(time.CLOCK_MONOTONIC)
    capture("-F", 499, "-D", 300, "-o", "dc.data", "--", load, "spin", 0.7)
    d = PerfData("dc.data")
    times = [s.time / 1e9 for s in d.samples()]
    tap.check(times and min(times) > t0 + 0.3 and any(c[3] for c in d.comms()),
              "-D with a command: no samples before, but its exec and maps", (t0, times[:1]))
    t0 = time.monotonic()
    c = capture("--duration", 0.3, "-o", "dur.data", "--", "sleep", "60", check=False)
    tap.check(c.returncode == 128 + signal.SIGTERM and time.monotonic() - t0 < 20,
              "--duration ends a command that runs longer", (c.returncode, c.stderr))

    # ---- --cgroup ------------------------------------------------------------------------------------------
    mount = next((l.split() for l in open("/proc/mounts")
                  if l.split()[2] == "cgroup" and "perf_event" in l.split()[3].split(",")), None) or \
        next((l.split() for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
    group = mount and os.path.join(mount[1], f"unspool-test-{os.getpid()}")
    try:
        os.mkdir(group or "/nowhere/at/all")
        inside, outside = spawn("spin", 30), spawn("spin", 30)
        with open(os.path.join(group, "cgroup.procs"), "w") as f:
            f.write(str(inside.pid))
        # With a slash before it, as /proc/PID/cgroup has it.
        c = capture("--cgroup", "/" + os.path.basename(group), "-q", "-o", "/dev/null", "--", "true")
        tap.check(c.returncode == 0, "--cgroup: the path in /proc/PID/cgroup", c.stderr)
        c = capture("--cgroup", os.path.basename(group), "-F", 499, "-o", "g.data", "--", *until_cpu(inside.pid, 0.3))
        d = PerfData("g.data")
        tap.check({s.pid for s in d.samples()} == {inside.pid} and c.n_samples > 5,
                  "--cgroup: its processes and no other", ({s.pid for s in d.samples()}, inside.pid))
        tap.check(any(m.pid == inside.pid and m.path == load for m in d.maps()), "--cgroup: with their maps")
        # A container's, by the beginning of its id; podman's monitor is not it.
        begin = os.urandom(6).hex()
        ids = [f"{begin}{i}{os.getpid():051d}" for i in (0, 1)]
        inner = [os.path.join(group, f"libpod-conmon-{ids[0]}.scope"), os.path.join(group, f"docker-{ids[0]}.scope"), os.path.join(group, ids[1])]
        for folder in inner:
            os.mkdir(folder)
        with open(os.path.join(inner[1], "cgroup.procs"), "w") as f:
            f.write(str(outside.pid))
        c = capture("-G", ids[0][:13], "-F", 499, "-o", "g.data", "--", *until_cpu(outside.pid, 0.3))
        tap.check({s.pid for s in PerfData("g.data").samples()} == {outside.pid}, "-G: the beginning of a container's id", c.stderr)
        for name, words in ((ids[0][:12], "several containers"), ("0123456789ab", "no container below")):
            c = capture("-G", name, "-q", "-o", "/dev/null", "--", "true", check=False)
            tap.check(c.returncode == 2 and words in c.stderr, f"-G: {words}", c.stderr)
        other = next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup" and l.split()[1] != mount[1]), None)
        if other:
            c = capture("-G", other, "-q", "-o", "/dev/null", "--", "true", check=False)
            tap.check(c.returncode == 2 and f"which is {mount[1]}" in c.stderr, "-G: a folder of another hierarchy", c.stderr)
        for q in (inside, outside):
            q.kill()
            q.wait()
        until(lambda: not open(os.path.join(inner[1], "cgroup.procs")).read(), "the empty group")
        for folder in inner:
            os.rmdir(folder)
        until(lambda: not open(os.path.join(group, "cgroup.procs")).read(), "the empty group")
        os.rmdir(group)
    except OSError as e:
        tap.skip("--cgroup", f"no cgroup can be made here: {e}")
else:
    tap.skip("-a, -C, -D, --cgroup", "needs root")

# ---- signals ----------------------------------------------------------------------------------------------
for sig in (signal.SIGINT, signal.SIGTERM):
    p = spawn("spin", 20)
    c = start("-p", p.pid, "-F", 499, "-o", "sig.data")
    until_recorded(c, p.pid)
    c.send_signal(sig)
    _, err = c.communicate(timeout=60)
    d = PerfData("sig.data")
    n = sum(r.type == SAMPLE for r in d.records)
    tap.check(c.returncode == 0 and n > 5 and f"{n} samples" in err and 12 in d.features and p.poll() is None,
              f"{sig.name} ends the recording and finishes the file", (c.returncode, n, err))
    p.kill()
    p.wait()
c = start("-F", 499, "-o", "int.data", "--", load, "spin", 20)
until_used(c, 0.3)
c.send_signal(signal.SIGINT)
_, err = c.communicate(timeout=60)
tap.check(c.returncode == 128 + signal.SIGINT and 12 in PerfData("int.data").features,
          "^C with a command: it is ended too", (c.returncode, err))

# ---- killed: the file is whole up to its last block ------------------------------------------------------------
c = start("-F", 499, "-o", "kill.data", "--", load, "two", 60)
until_used(c, 6)  # of two threads: what is a second old is in the file, and the recorder may have been away for one more
c.kill()
c.wait()  # not communicate(): the command holds the pipes
d = PerfData("kill.data")
times = [s.time for s in d.samples()]
tap.check(d.bits == 0 and d.data_size > 0 and len(times) > 20 and (max(times) - min(times)) > 0.7e9,
          "SIGKILL: blocks of at least all but the last second", (d.bits, d.data_size, len(times)))
stacks = perf_frames("kill.data")
tap.check(len(stacks) == len(times) and sum("recurse" in s for s in stacks) > 0.8 * len(times),
          "SIGKILL: perf reads all of them")
child = next(c[0] for c in d.comms() if c[3])
try:
    os.kill(child, signal.SIGKILL)
except ProcessLookupError:
    pass
tap.end()

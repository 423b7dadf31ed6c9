#!/usr/bin/env python3
"""Bad options and bad conditions: one line that names the setting and its cure, status 2, nothing lost."""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from lib import CAPTURE, NO_EVENTS, RESOLVE, PerfData, Tap, build_load, capture, children, count_samples, have, perf_frames, rooted, run, start, until
from tap import LONG

tap = Tap()
load = build_load()


def fails(name, args, *words, status=2, lines=1, wrap=(), **kw):
    p = run([*wrap, CAPTURE, *map(str, args)], check=False, **kw)
    err = [l for l in p.stderr.splitlines() if l.strip()]
    tap.check(p.returncode == status and p.stdout == "" and len(err) <= lines
              and all(re.search(w, p.stderr) for w in words), name, (p.returncode, p.stderr))
    return p


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return None


def pending(pid):
    """Whether a signal waits to be taken by the process."""
    return any(int(l.split()[1], 16) for l in open(f"/proc/{pid}/status") if l.startswith(("SigPnd", "ShdPnd")))


for args, words in {
    (): ("nothing to record", "-p PID"),
    ("-Z", "--", "true"): ("^capture: -Z: no such option; --help",),
    ("--nonsense",): ("--nonsense: no such option; --help",),
    ("-F", "many", "--", "true"): ("-F: 'many' is not a number of samples a second",),
    ("-F", "0", "--", "true"): ("-F: '0' is not a number of samples a second",),
    ("-F",): ("-F needs a value: -F HZ",),
    ("-o", "a", "-o", "b", "--", "true"): ("-o is given twice: a and b",),
    ("-e", "list"): ("capture --list",),
    ("-e", "cpu-clok", "--", "true"): ("'cpu-clok' is not known; did you mean cpu-clock?",),
    ("sleep 1",): ("'sleep 1' is one word", "capture -- sh -c 'sleep 1'"),
    ("no-such-function",): ("no-such-function: no such command in .PATH", "alias"),
    ("load",): ("load: no such command in .PATH", "is ./load"),
    ("-G", "/sys/fs/cgroup/none"): ("^capture: /sys/fs/cgroup/none: ",),
    ("-c", "0", "--", "true"): ("-c: '0' is not a number from 1 to ",),
    ("-c", "often", "--", "true"): ("-c: 'often' is not a number from 1 to ",),
    ("-e", "nonsense", "--", "true"): ("nonsense",),
    ("-e", "cpu-clock:q", "--", "true"): ("'q'",),
    ("-e", "no_such_pmu/event=1/", "--", "true"): ("no PMU",),
    ("-e", "nosys:noevent", "--", "true"): ("nosys|tracefs" if os.geteuid() == 0 else "nosys|tracefs|/sys/kernel/tracing",),
    ("-e", "page-faults,cpu-clock,faults:u", "--", "true"): ("-e page-faults,faults:u: the kernel does not say",),
    ("-e", "cs", "-e", "context-switches:k", "--", "true"): ("-e cs,context-switches:k: the kernel does not say",),
    ("--user", "-e", "cpu-clock:k", "--", "true"): ("--user leaves nothing of -e cpu-clock:k",),
    ("-p", "1,x"): ("-p", "1,x"),
    ("-p", "4194303"): ("4194303", "no such process"),
    ("-t", "4194303"): ("4194303", "no such thread"),
    ("-C", "0-", "-a"): ("-C", "0-"),
    ("-C", "60000", "-a"): ("CPU 60000 is not online",),
    ("-a", "-p", "1"): ("-a", "-p"),
    ("-m", "1X", "--", "true"): ("-m", "1X"),
    ("--call-graph", "magic", "--", "true"): ("magic", "dwarf"),
    ("--call-graph", "dwarf,100", "--", "true"): ("100|8",),
    ("--call-graph", "dwarf,7", "--", "true"): ("'7' is not a number from 8 to ",),
    ("--call-graph", "dwarf,65536", "--", "true"): ("65528",),
    ("--duration", "-1", "--", "true"): ("--duration", "-1"),
    ("-D", "soon", "--", "true"): ("-D: 'soon' is not a number from 0 to ",),
    ("--cgroup", "no/such/group"): ("no/such/group",),
    ("--cgroup", ""): ("--cgroup: the path is empty",),
    ("--cgroup", "/etc"): ("/etc: ",),
}.items():
    fails("refused: capture " + " ".join(args), args, *words)
REFUSED_WITH_EVENTS = {
    ("-o", "/no/such/folder/x", "--", "true"): ("/no/such/folder/x", "No such file"),
    ("-o", ".", "--", "true"): ("directory",),
    ("--", "/no/such/command"): ("/no/such/command", "No such file"),
    ("--", "/etc/passwd"): ("/etc/passwd", "Permission denied"),
}
for args, words in () if NO_EVENTS else REFUSED_WITH_EVENTS.items():
    fails("refused: capture " + " ".join(args), args, *words, lines=2)
left = sorted(set(os.listdir(".")) - {".cache"})  # where the end of the kernel's code is kept
tap.check(left == ["load"], "what is refused leaves no file", left)

p = run([CAPTURE, "--help"])
tap.check(all(w in p.stdout for w in ("-a, ", "--pid PID", "--call-graph", "--freq HZ", "exit status")) and not p.stderr
          and len(p.stdout.splitlines()) <= 80, "--help is one page")
tap.check(run([CAPTURE, "--version"]).stdout.startswith("capture "), "--version")
p = run([CAPTURE, "--check"])
tap.check(all(re.match(r"(yes|no )", l) for l in p.stdout.splitlines()) and "perf_event_paranoid" in p.stdout
          and len(p.stdout.splitlines()) > 8 and "null" not in p.stdout, "--check: a line for each thing", p.stdout)

# ---- where it goes: a link stays one, /dev/stdout least of all is renamed to .old -------------------
os.symlink("target.data", "link.data")
for _ in range(2):
    run([CAPTURE, "-q", "-o", "link.data", "--", "true"])
tap.check(os.readlink("link.data") == "target.data" and not os.path.lexists("link.data.old") and PerfData("target.data").attrs
          and PerfData("target.data.old").attrs, "-o LINK: its file is written, the one before is kept beside that")
os.mkdir("dev")
os.symlink("/proc/self/fd/1", "dev/stdout")
for name in "stdout.data", "gone.data":
    with open(name, "wb") as f:
        if name == "gone.data":
            os.unlink(name)
        p = subprocess.run([CAPTURE, "-q", "-o", "dev/stdout", "--", "true"], stdout=f)
        tap.check(p.returncode == 0 and os.listdir("dev") == ["stdout"] and os.path.islink("dev/stdout"),
                  f"-o /dev/stdout > {name}: the link stays", os.listdir("dev"))
tap.check(PerfData("stdout.data").attrs and not os.path.lexists("gone.data"), "-o /dev/stdout: the file behind it is written")

# ---- PMU -------------------------------------------------------------------------------------------
p = capture("-F", 499, "-o", "c.data", "--", load, "spin", 0.2)
if "cpu-clock" in p.summary[2]:
    tap.check("no usable PMU" in p.stderr and PerfData("c.data").attrs[0]["type"] == 1,
              "without a PMU cpu-clock is taken, and a line says so", p.stderr)
    fails("without a PMU -e cycles is an error", ["-e", "cycles", "--", "true"], "cycles", "cpu-clock")
else:
    tap.skip("without a PMU", "this machine has one")
limit = int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
# Not of a clock, whose timer at such a rate may leave a processor no time for anything else.
p = capture("-e", "page-faults", "-F", limit * 2, "-o", "c.data", "--", "true")
tap.check(f"{limit}" in p.stderr and "max_sample_rate" in p.stderr
          and PerfData("c.data").attrs[0]["period"] == limit, "-F above the limit is lowered, and a line says so", p.stderr)
p = capture("-e", "page-faults", "-F", "max", "-o", "c.data", "--", "true")
tap.check(f"-F max is {limit} here" in p.stderr and PerfData("c.data").attrs[0]["period"] == limit, "-F max: a line has the number",
          p.stderr)
for asked, got in ((["-F", min(limit, 50000)], 20000), (["-c", 999], 50000)):
    p = capture("-e", "cpu-clock", *asked, "-o", "c.data", "--", "true")
    tap.check("cpu-clock: 20000 samples a second" in p.stderr and PerfData("c.data").attrs[0]["period"] == got,
              f"cpu-clock {asked[0]}: no more stack copies than a processor bears", p.stderr)

if os.geteuid() == 0 and have("setpriv"):
    # ---- no rights ---------------------------------------------------------------------------------
    os.chmod(".", 0o777)
    os.chmod("load", 0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    paranoid = int(open("/proc/sys/kernel/perf_event_paranoid").read())
    if paranoid == 2:
        fails("unprivileged -a: names the setting and the command that changes it", ["-a", "-o", "n.data", "--", "true"],
              "perf_event_paranoid is 2", "sudo sysctl kernel.perf_event_paranoid=0", "EACCES", wrap=nobody)
        p = run([*nobody, CAPTURE, "--check"])
        tap.check("cpu-clock for this process: EACCES" in p.stdout and "thread 0" not in p.stdout, "unprivileged --check: names what was tried",
                  p.stdout)
        other = subprocess.Popen([load, "spin", "20"])
        fails("unprivileged -p of root's process: names the owner", ["-p", other.pid, "-o", "n.data"], "user 0", "sudo",
              wrap=nobody)
        other.kill()
        other.wait()
        p = run([*nobody, CAPTURE, "-F", "499", "-o", "n.data", "--", load, "spin", "0.3"])
        d = PerfData("n.data")
        tap.check("perf_event_paranoid=1" in p.stderr and sum(1 for _ in d.samples()) > 3
                  and all(r.misc & 7 == 2 for r in d.records if r.type == 9),
                  "unprivileged: own programs are recorded without the kernel, and a line says so", p.stderr)
        stacks = perf_frames("n.data")
        tap.check(rooted(stacks) >= 0.95 * len(stacks) > 0, "unprivileged: the stacks are whole")
        p = run([*nobody, CAPTURE, "-m", "64M", "-o", "n.data", "--", "true"])
        tap.check("perf_event_mlock_kb" in p.stderr, "unprivileged: rings that may not be locked get smaller, and a line says so", p.stderr)
        # A user of its own, of whom no other recording takes memory.
        alone = ["setpriv", "--reuid=54321", "--regid=65534", "--clear-groups", "--"]
        free = int(open("/proc/sys/kernel/perf_event_mlock_kb").read()) * os.cpu_count()
        full = int(re.search(r"full rings take (\d+)", run([*alone, CAPTURE, "--check"]).stdout)[1]) \
            if "full rings take" in run([*alone, CAPTURE, "--check"]).stdout else 0
        if free < full:
            def locks(kb):
                return lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (kb << 10, kb << 10))
            for kb, answer, ring in (full - free + 64, "yes", "of 4096"), (full - free - 4, "no ", "of 2048"):
                check = run([*alone, CAPTURE, "--check"], preexec_fn=locks(kb)).stdout
                p = run([*alone, CAPTURE, "-v", "-F", "999", "-o", "n.data", "--", "true"], preexec_fn=locks(kb))
                tap.check(re.search(f"^{answer} memory for rings", check, re.M) and f"rings {ring} KiB" in p.stderr
                          and ("instead of 4096" in p.stderr) == (answer == "no "),
                          f"memory for rings, limit {kb - (full - free):+} KiB: --check says what a recording gets", (check, p.stderr))
        else:
            tap.skip("memory for rings", "the machine's limit is above what rings take")
        # perf_event_mlock_kb x CPUs is there for all recordings of a user together: the first takes it.
        def no_memlock():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        first = []
        for _ in range(8):
            p = run([*nobody, CAPTURE, "-o", "/dev/null", "--", "true"], check=False, preexec_fn=no_memlock)
            if p.returncode:
                break
            first.append(subprocess.Popen([*nobody, CAPTURE, "-q", "-o", "/dev/null", "--", "sleep", "20"],
                                          preexec_fn=no_memlock, stderr=subprocess.DEVNULL))
            # Its rings are there before it lets its command run.
            until(lambda: first[-1].poll() is not None or any(comm(c) == "sleep" for c in children(first[-1].pid)),
                  "the recorder's command")
        tap.check(p.returncode == 2 and len(p.stderr.splitlines()) <= 3
                  and all(w in p.stderr for w in ("perf_event_mlock_kb", "ulimit -l", "KiB are needed", "sudo sysctl")),
                  "unprivileged, no memory for rings: names both limits", (p.returncode, p.stderr))
        for c in first:
            c.terminate()
            c.wait()
    else:
        tap.skip("unprivileged recording", f"perf_event_paranoid is {paranoid} here")
    # ---- containers ------------------------------------------------------------------------------------
    def namespaces(*kinds):
        """What runs a program in namespaces of its own, or None."""
        how = ["unshare", *kinds, "--"]
        return how if run([*how, "true"], check=False).returncode == 0 else None

    # Levels above 2 are patches of distributions. Other kernels take them for 2, and nothing but a try tells which it is.
    how = namespaces("--mount")
    if how:
        with open("four", "w") as f:
            f.write("4\n")
        p = run([*how, "sh", "-c", "mount --bind four /proc/sys/kernel/perf_event_paranoid && exec setpriv --reuid=65534 "
                 f"--regid=65534 --clear-groups -- {CAPTURE} --check"], check=False)
        own = re.search("^yes own programs, user space$", p.stdout, re.M)
        if "paranoid is 4" in p.stdout:
            tap.check(("takes it for 2" in p.stdout) == bool(own) and ("nothing is allowed" in p.stdout) != bool(own),
                      "--check at perf_event_paranoid 4: the level is described as this kernel takes it", p.stdout)
        else:
            tap.skip("--check at perf_event_paranoid 4", p.stderr.strip() or "the level stayed")
    else:
        tap.skip("--check at perf_event_paranoid 4", "no mount namespace can be made here")
    how = namespaces("--user", "--map-root-user")
    if how and paranoid > 0:
        fails("root of a user namespace: has no rights here", ["-a", "-e", "cpu-clock", "-o", "n.data", "--", "true"],
              f"perf_event_paranoid is {paranoid} and this user lacks CAP_PERFMON", wrap=how)
    else:
        tap.skip("root of a user namespace", f"perf_event_paranoid is {paranoid}" if how else "no user namespace can be made here")
    how = namespaces("--pid", "--fork", "--mount-proc")
    if how:
        for args, said in (["-a"], True), (["-C", "0"], True), ([], False):
            p = capture(*args, "-e", "cpu-clock", "-o", "n.data", "--", "true", prefix=how)
            tap.check(("count as swapper" in p.stderr) == said, f"PID namespace, {args}: whose processes have no names", p.stderr)
        how = namespaces("--pid", "--fork")
        for args in ["-a"], ["-p", "1"]:
            fails(f"/proc of another PID namespace, {args}", [*args, "-e", "cpu-clock", "-o", "n.data", "--", "true"], "/proc: .*mount -t proc", wrap=how)
    else:
        tap.skip("PID namespace", "none can be made here")

    # ---- too few descriptors -----------------------------------------------------------------------------
    many = subprocess.Popen(["python3", "-c", "import threading, time\n"
                             "for i in range(60): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
                             "print(flush=True); time.sleep(20)"], stdout=subprocess.PIPE)
    many.stdout.readline()
    fails("few descriptors: says how many and how to get them", ["-p", many.pid, "-o", "n.data"],
          "EMFILE", r"ulimit -n \d+", "limit is 64",
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    many.kill()
    many.wait()
    # Enough for the events, but hardly for what is read while they are open: maps and names of what runs.
    cpus = os.cpu_count()
    for n in range(8, 4 * cpus + 40, 1 if LONG else 3):
        p = run([CAPTURE, "-a", "-e", "cpu-clock", "-o", "few.data", "--", "true"], check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        if p.returncode:
            tap.check(p.returncode == 2 and "ulimit -n" in p.stderr or "Error 24" in p.stderr, f"-a with {n} descriptors: refused", p.stderr)
            continue
        maps = [m for m in PerfData("few.data").maps() if m.pid == os.getpid() and os.path.basename(m.path).startswith("libc.")]
        tap.check(maps and maps[0].build_id, f"-a with {n} descriptors: the maps of what runs are there", (maps, p.stderr))

    # ---- disk full ------------------------------------------------------------------------------------------
    # 64k: less than the room that was once kept free for the end of the file, so that nothing was kept; perf keeps 7 samples.
    os.mkdir("tiny")
    for size, flags, least, seconds in (("1m", ["--no-compress"], 400000, 1), ("300k", [], 100000, 2), ("64k", [], 20000, 1)):
        script = (f"mount -t tmpfs -o size={size} tmpfs tiny && {CAPTURE} --bundle=none {' '.join(flags)} -v -F 9999 -o tiny/full.data -- "
                  f"{load} two {seconds}; r=$?; cp tiny/full.data full.data; exit $r")
        p = run(["unshare", "-m", "sh", "-c", script], check=False)
        count_samples(p, p.stderr)
        if "unshare failed" in p.stderr or "mount" in p.stderr:
            tap.skip(f"disk full, {size}", p.stderr.strip())
            continue
        what = f"disk full, {size}{''.join(flags)}: "
        tap.check(p.returncode == 2 and "No space left" in p.stderr and "full.data" in p.stderr, what + "status 2 and a line", (p.returncode, p.stderr))
        tap.check("short-lived" not in p.stderr, what + "no other reason is given for what is missing", p.stderr)
        said = run([RESOLVE, "-f", "folded", "full.data"], check=False).stderr
        tap.check("larger buffers" not in said and ("could not be written" in said or "lost" not in said), what + "nor by resolve", said)
        d = PerfData("full.data")
        n = sum(1 for _ in d.samples())
        tap.check(n > 10 and d.data_size > least and 12 in d.features, what + "what fitted is kept, with its features", (n, d.data_size, list(d.features)))
        tap.check(n == p.n_samples and p.n_lost > 0 and d.lost()[1] == p.n_lost, what + "the rest is counted as lost, here and in the file",
                  (n, d.lost(), p.stderr))
        said = run([RESOLVE, "full.data"]).stderr
        tap.check(("could not be written" in said) == (p.n_lost > 0.05 * (n + p.n_lost)), what + "resolve says so", (n, p.n_lost, said))
        stacks = perf_frames("full.data")
        # Where little fitted, a good part is of the program's start, of which perf unwinds less: 87 of 102 on a busy machine.
        tap.check(len(stacks) == n and rooted(stacks) >= 0.7 * n, what + "perf reads it", (len(stacks), rooted(stacks), n))
    # Samples that are read one by one, of which few fit, or none; perf reads what was kept.
    asleep = subprocess.Popen([load, "spin", "100"])
    # --every ends then: threads are not halted for what is not kept.
    for size, flags in (("64k", ["--every", "2", "--duration", "1000"]), ("12k", ["--every", "2", "--duration", "1"]), ("12k", ["--wall", "--duration", "1"])):
        if os.path.exists("full.data"):
            os.unlink("full.data")
        p = run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={size} tmpfs tiny && {CAPTURE} --no-compress --bundle=none {' '.join(flags)} -p {asleep.pid} -o tiny/full.data; "
                 "r=$?; cp tiny/full.data full.data; exit $r"], check=False)
        count_samples(p, p.stderr)
        if "unshare failed" in p.stderr or "mount" in p.stderr or not os.path.exists("full.data"):
            tap.skip(f"disk full, {size}", p.stderr.strip())
            continue
        what = f"disk full, {size} {flags[0]}: "
        n = sum(1 for _ in PerfData("full.data").samples())
        said = run([RESOLVE, "-f", "folded", "full.data"], check=False).stderr
        tap.check(p.returncode == 2 and "No space left" in p.stderr and n == p.n_samples and (p.n_lost > 0 or size == "64k"), what + "status 2, and what fitted is counted apart",
                  (p.returncode, n, p.stderr))
        # Of 64k the end alone may have had no room.
        tap.check((not p.n_lost or "could not be written, as the file could not grow (a full disk or quota)" in said) and "interrupted" not in said and "read: " not in said,
                  what + "resolve says why, and nothing else", said)
        q = run(["perf", "script", "-f", "-i", "full.data", "-F", "comm,tid"], check=False)
        tap.check(q.returncode == 0 and sum(line.strip() != "" for line in q.stdout.splitlines()) == n, what + "perf reads it", (q.stdout[-200:], q.stderr[-300:], n))
    asleep.kill()
    asleep.wait()
    p = run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=300k tmpfs tiny && {CAPTURE} -F 9999 -o tiny/full.data -- sh -c '{load} two 2; echo and on'"], check=False)
    if "unshare failed" in p.stderr or "mount" in p.stderr:
        tap.skip("disk full: the command ends by itself", p.stderr.strip())
    else:
        tap.check(p.stdout == "and on\n" and "the command goes on without being recorded" in p.stderr and p.returncode == 2, "disk full: the command ends by itself", (p.stdout, p.stderr))
else:
    tap.skip("unprivileged recording, few descriptors, disk full", "needs root and setpriv")
p = capture("--bundle", "-F", 999, "-o", "limit.data", "--", sys.executable, "-c", "sum(range(9999999))", prefix=["prlimit", "--fsize=150000"], check=False)
r = run([RESOLVE, "-f", "folded", "limit.data"], check=False)
tap.check("no bundle: cannot write: " in p.stderr and r.returncode == 0 and "outside" not in r.stderr and "python" in r.stdout, "no room for the bundle: all else is there", p.stderr, r.stderr)
p = capture("-F", 499, "-o", "/dev/full", "--", load, "spin", 0.2, check=False)
tap.check(p.returncode == 2 and "No space left" in p.stderr, "-o /dev/full: No space left, status 2", (p.returncode, p.stderr))

# ---- what the recording of a command does not see ---------------------------------------------------------
c = start("-F", 99, "-o", "left.data", "--", "sh", "-c", "sleep 60 > /dev/null 2>&1 & sleep 0; echo $! >&2")
said = c.communicate(timeout=60)[1]
left = int(said.split()[0])
tap.check(c.returncode == 0 and "1 process of the command still runs" in said and f"capture -p {left} " in said,
          "a command that leaves a process behind: a line says so", said)
os.kill(left, signal.SIGKILL)
p = capture("-F", 99, "-o", "left.data", "--", "sh", "-c", "sleep 0 & (sleep 0; sleep 0) & wait")
tap.check("still run" not in p.stderr, "a command whose processes have ended leaves none", p.stderr)
if os.geteuid() == 0 and have("setpriv") and paranoid <= 2:
    shutil.copy("/bin/true", "owned")
    os.chmod("owned", 0o4755)
    p = run([*nobody, CAPTURE, "-e", "cpu-clock:u", "-o", "n.data", "--", "./owned"])
    tap.check("owned runs with another user's rights (setuid)" in p.stderr and "sudo capture" in p.stderr, "a setuid program: a line says so", p.stderr)
else:
    tap.skip("a setuid program", "needs root, setpriv and perf events for users")

# ---- notes when they are of use -----------------------------------------------------------------------------
busy = subprocess.Popen([load, "spin", "60"])
c = start("-p", busy.pid, "-e", "page-faults", "-F", limit * 2, "-o", "notes.data")
line = c.stderr.readline()
tap.check("max_sample_rate" in line and c.poll() is None, "notes about a recording that goes on come when it begins", line)
c.send_signal(signal.SIGINT)
rest = c.communicate(timeout=60)[1]
tap.check(c.returncode == 0 and "max_sample_rate" not in rest and "samples of page-faults" in rest, "and not once more at its end", rest)
busy.kill()
busy.wait()

# ---- a ^C before the command has begun ------------------------------------------------------------------------
c = start("-F", 99, "-o", "early.data", "--", "sleep", "60")
until(lambda: next((p for p in children(c.pid) if comm(p) == "sleep"), None), "the command")
c.send_signal(signal.SIGINT)
said = c.communicate(timeout=60)
tap.check(c.returncode == 128 + signal.SIGINT, "a ^C that only capture takes: its status is 130, not that of the SIGTERM for the command", (c.returncode, said))

# ---- a command that does not end -----------------------------------------------------------------------------
c = start("-F", 99, "-o", "deaf.data", "--", "sh", "-c", "trap '' TERM; exec sleep 120 > /dev/null 2>&1")
deaf = until(lambda: next((p for p in children(c.pid) if comm(p) == "sleep"), None), "the command")
c.send_signal(signal.SIGTERM)
said = c.communicate(timeout=60)[1]
tap.check(c.returncode == 128 + signal.SIGTERM and f"still runs: process {deaf}\n" in said, "a command that ignores SIGTERM: a line names it, and capture ends", (c.returncode, said))
os.kill(deaf, signal.SIGKILL)

# ---- the second ^C -------------------------------------------------------------------------------------------
c = start("-F", 99, "-o", "twice.data", "--", "sh", "-c", "trap '' TERM INT; exec sleep 120")
deaf = until(lambda: next((p for p in children(c.pid) if comm(p) == "sleep"), None), "the command")
c.send_signal(signal.SIGINT)
until(lambda: not pending(c.pid), "the first ^C to be taken")
time.sleep(0.15)  # sooner it would be the same signal twice, as `timeout` sends it
tap.check(c.poll() is None, "the first ^C: a command that does not care is waited for", c.returncode)
c.send_signal(signal.SIGINT)
c.wait(timeout=60)
tap.check(c.returncode == 128 + signal.SIGINT and comm(deaf) == "sleep", "the second ^C ends it at once", c.returncode)
os.kill(deaf, signal.SIGKILL)
try:
    PerfData("twice.data")
    wrong = ""
except Exception as e:  # whatever the reader meets in it
    wrong = repr(e)
tap.check(not wrong, "the second ^C: the file can be read up to its end", wrong)
tap.end()

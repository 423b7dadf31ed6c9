#!/usr/bin/env python3
"""The same recording, as a recording and as perf script's text with 30 selections of fields, is the same profile: sums by event, command and
stack. What a selection leaves out (commands, periods, names) is left out of both sides, and resolve says so. Recordings of ten kinds:
commands of all shapes with and without call chains, threads, tracepoints, page faults with addresses, uprobes. With NEW_PERF set to a newer perf
(its path, or a script that runs it), its text is read as well; LONG=1 tries all selections with all recordings (each takes a tenth)."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

from recorder import OWN_MOUNTS, perf_record
from tap import LONG, NO_EVENTS, Tap

BIN = os.environ["BIN"]
tap = Tap()
QUIET = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
BASE = "comm,tid,time,event,ip,sym,dso,period"
#: name, options of perf script, what of the profile is missing in the text: c(ommand), p(eriod), n(ames), e(vent), s(tack: leaf only)
SELECTIONS = [
    ("default", [], ""), ("+pid", ["-F", "+pid"], ""), ("-comm", ["-F", "-comm"], "c"), ("-tid", ["-F", "-tid"], ""), ("-time", ["-F", "-time"], ""),
    ("-period", ["-F", "-period"], "p"), ("-event", ["-F", "-event"], "e"), ("-symoff", ["-F", "-symoff"], ""), ("-dso", ["-F", "-dso"], ""), ("-sym", ["-F", "-sym"], "n"),
    ("+misc", ["-F", "+misc"], ""), ("--ns", ["--ns"], ""), ("-L", ["-L"], ""), ("-G", ["-G"], "s"), ("+addr", ["-F", "+addr"], ""), ("-G +addr", ["-G", "-F", "+addr"], "s"),
    ("+srcline", ["-F", "+srcline"], ""), ("--show-mmap-events", ["--show-mmap-events"], ""), ("--show-task-events", ["--show-task-events"], ""), ("--header", ["--header"], ""),
    ("--reltime", ["--reltime"], ""), ("--deltatime", ["--deltatime"], ""), ("a list", ["-F", BASE], ""), ("a list, pid", ["-F", BASE + ",pid"], ""),
    ("a list, no time", ["-F", "comm,tid,event,ip,sym,dso,period"], ""), ("a list, no event", ["-F", "comm,tid,time,ip,sym,dso,period"], "e"),
    ("a list, no period", ["-F", "comm,tid,time,event,ip,sym,dso"], "p"), ("comm and stack", ["-F", "comm,tid,ip,sym,dso"], "pe"), ("the stack", ["-F", "ip,sym,dso"], "cpe"),
    ("--full-source-path", ["-F", "+srcline", "--full-source-path"], ""),
]
NAMES = ["dd", "cc1", "ab", "beef", "7", "pool 7", "a [001]", "x: y:", "é"]


def record(name, options, command):
    perf_record(*options, "-N", "-o", f"{name}.data", "--", *command)
    return f"{name}.data"


def dd(count):
    """One run of dd under each name."""
    for n in NAMES:
        shutil.copy(shutil.which("dd"), n)
    return ["sh", "-c", "; ".join(f"'./{n}' if=/dev/zero of=/dev/null bs=64k count={count} status=none" for n in NAMES)]


THREADS = """
import ctypes, threading
def work(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    for i in range(400): sum(range(3000))
for name in ["pool 7", "12", "cc", "", "a: b", "[x]", "1.5", "k/0:1", "(sd)"]:
    t = threading.Thread(target=work, args=(name,)); t.start(); t.join()
"""
CLOCK = ["-e", "cpu-clock", "-F", "1999"]


def recordings():
    yield record("commands", CLOCK, dd(1500))
    yield record("commands-g", [*CLOCK, "-g"], dd(1000))
    yield record("threads", CLOCK, [sys.executable, "-c", THREADS])
    yield record("threads-g", [*CLOCK, "-g"], [sys.executable, "-c", THREADS])
    yield record("faults", ["-e", "page-faults", "-c", "1", "-d"], ["./cc1", "--version"])
    yield record("faults-g", ["-e", "page-faults", "-c", "1", "-d", "-g"], ["./cc1", "--version"])
    yield record("mixed-g", [*CLOCK, "-e", "page-faults", "-g"], ["./pool 7", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=2000"])
    if not subprocess.run([*OWN_MOUNTS, "perf", "record", "-o", "/dev/null", "-e", "sched:sched_switch", "true"], **QUIET).returncode:
        yield record("tracepoints", ["-e", "syscalls:sys_enter_write,syscalls:sys_exit_write"], ["./beef", "if=/dev/zero", "of=/dev/null", "count=30"])
        yield record("tracepoints-g", ["-g", "-e", "syscalls:sys_enter_write", *CLOCK], ["./beef", "if=/dev/zero", "of=/dev/null", "count=2000"])
        with open("u.c", "w") as f:
            f.write("__attribute__((noinline)) int leaf(int n) { volatile int x = n; return x; }\nint main(void) { for (int i = 0; i < 50; i++) leaf(i); return 0; }\n")
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "u.c", "-o", "ada"], check=True)
        group = f"u{os.getpid()}"
        if not subprocess.run([*OWN_MOUNTS, "perf", "probe", "-x", "./ada", f"{group}:leaf=leaf"], **QUIET).returncode:
            try:
                yield record("uprobe-g", ["-g", "-e", f"{group}:leaf"], ["./ada"])
            finally:
                subprocess.run([*OWN_MOUNTS, "perf", "probe", "-d", f"{group}:*"], **QUIET)


def profile(path):
    """Sums by event, command and stack (leaf first), and what resolve said."""
    p = subprocess.run([f"{BIN}/resolve", "-f", "jsonl", "--event", "all", "--no-inline", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = []
    for line in p.stdout.splitlines():
        s = json.loads(line)
        frames = tuple(re.sub(r"\(.*|@.*", "", f.get("sym") or "?") for f in s["stack"])
        out.append((s.get("event"), s.get("comm", ""), frames, s.get("period")))
    return p.returncode, out, p.stderr


def sums(samples, missing):
    out = collections.Counter()
    for event, comm, frames, period in samples:
        if "n" in missing:
            frames = ("?",) * len(frames)
        if "s" in missing:
            frames = frames[:1]
        trace = re.match(r"\w+:\w{2}", event or "") is not None
        if "F" in missing or (trace and "f" in missing):
            frames = ()
        key = ("" if "e" in missing else event, "" if "c" in missing else comm.strip(), frames)
        out[key] += 1 if "p" in missing or period is None or trace else period
    return out


def without_callers_of_exec(have, shorter):
    """While perf's child becomes the command, perf prints its own address below the kernel's frames, as [unknown]: the recording has no maps for
    it, and resolve leaves it out. shorter: stacks that only the recording has."""
    out, shorter = [], collections.Counter(shorter)
    for event, comm, frames, period in have:
        key = (event, comm, len(frames) - 1)
        if shorter[key] > 0 and frames[-1] == "?":
            shorter[key] -= 1
            frames = frames[:-1]
        out.append((event, comm, frames, period))
    return out


def compare(perf, data, want, which):
    """The first selection, perf's default, is the reference for names (perf chooses other aliases at one address); it and the recording have the
    same sums by event, command and depth (where a chain is empty, resolve shows the sample's address)."""
    bad, tried, recorded, depths = {}, 0, want, lambda x: collections.Counter((e, c, max(1, len(f))) for e, c, f, _ in x)
    for name, options, missing in which:
        with open("text", "wb") as f:
            p = subprocess.run([*perf, "script", "--no-inline", "--no-demangle", *options, "-i", data], stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.PIPE)
        if p.returncode or not os.path.getsize("text"):
            continue  # this perf, or this recording, has no such field
        # What a tracepoint without a chain prints has no frame in any selection.
        tried += 1
        code, have, err = profile("text")
        with open("text", "rb") as f:
            text = f.read()
        if "e" in missing and name[0] in "-+":
            missing += "f"  # as below; without events the text does not show it
        if "e" not in missing and not re.search(rb"(?m)[a-z0-9_]+:[a-z_]+:[^\n]*(\n\t|[0-9a-f]{6,} \S+ \(\S+\)$)", text):
            missing += "f"  # perf leaves ip out of tracepoints if fields are added or removed
        if not re.search(rb"(?m)^\t|[0-9a-f]{6,}[^\n]* \(.*\)$", text):
            missing += "F"
        elif name == "default":
            named = without_callers_of_exec(have, depths(recorded) - depths(have))
            if depths(recorded) != depths(named):
                bad["recording"] = (list((depths(recorded) - depths(named)).items())[:3], list((depths(named) - depths(recorded)).items())[:3])
            want = have
        a, b = sums(want, missing), sums(have, missing)
        says = ("c" not in missing or "no command" in err) and ("p" not in missing or "no period" in err or all(":" in (e or "") for e, *_ in have))
        if code or a != b or not says:
            bad[name] = (code, sum(a.values()), sum(b.values()), list((a - b).items())[:2], list((b - a).items())[:2], err[-300:])
    label = f"{data}: {os.path.basename(perf[0])} script"
    tap.check(tried and not bad, f"{label}: {len(which)} selections of fields", bad)


def main():
    if not shutil.which("perf"):
        return tap.skip("perf script with selections of fields", "no perf here")
    if NO_EVENTS:
        return tap.skip("perf script with selections of fields", NO_EVENTS)
    perfs = [["perf"]] + [[p] for p in (os.environ.get("NEW_PERF"),) if p]
    for i, data in enumerate(recordings()):
        code, want, err = profile(data)
        tap.check(code == 0 and len(want) > 5, f"{data}: {len(want)} samples", code, err)
        for perf in perfs:
            compare(perf, data, want, SELECTIONS if LONG else SELECTIONS[:1] + SELECTIONS[1 + i % 10::10])


main()
tap.end()

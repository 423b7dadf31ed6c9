"""lib.py - what the capture tests share: the program they record, and running capture."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, RESOLVE, Tap, children, cpu_seconds, have, need_events, run, small, until, until_cpu  # noqa: E402,F401
from perfdata import PerfData  # noqa: E402,F401

SUMMARY = re.compile(r"\[ capture: (\d+) samples of (.+?)(?: and \d+ more events?)?, (\d+) lost")


def need_root(tap, what, why):
    """Ends the test with a skip if this is another user."""
    if os.geteuid():
        tap.skip(what, why)
        tap.end()


def build_load(*flags):
    """The absolute path of tests/capture/load.c, compiled; without frame pointers."""
    source = os.path.join(os.environ["TOP"], "tests", "capture", "load.c")
    run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread",
         source, "-o", "load", *flags])
    return os.path.abspath("load")


def capture(*args, check=True, prefix=(), **kw):
    """`prefix` is what runs the command, as ["unshare", "-m"]."""
    p = run([*prefix, CAPTURE, *map(str, args)], check=check, **kw)
    return count_samples(p, p.stderr)


def start(*args):
    need_events()
    return subprocess.Popen(small([CAPTURE, *map(str, args)]), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count_samples(p, err):
    """What the summary of a capture that ended says."""
    p.summary = SUMMARY.search(err)
    p.n_samples, p.n_lost = (int(p.summary[1]), int(p.summary[3])) if p.summary else (None, None)
    return p


def descriptors(pid):
    """What the open descriptors of a process are."""
    try:
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def until_open(recorder):
    """Waits until capture has opened its events."""
    until(lambda: any("perf_event" in d for d in descriptors(recorder.pid)), "capture's events")


def is_raised(pid):
    """Whether some thread of a process has a real-time priority."""
    try:
        return any(os.sched_getscheduler(int(t)) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO for t in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False


def until_enabled(recorder):
    """Waits until capture's events are not only open: before, it reads all maps, which on a loaded machine takes its time. It takes its
    priority right before it enables them; who may have none gets two seconds."""
    until_open(recorder)
    end = time.monotonic() + 2
    while time.monotonic() < end and not is_raised(recorder.pid):
        time.sleep(0.02)
    time.sleep(0.1)


def until_recorded(recorder, pid, seconds=0.3):
    """Waits until capture has enabled its events and the process has used CPU time since."""
    until_enabled(recorder)
    before = cpu_seconds(pid)
    until(lambda: cpu_seconds(pid) >= before + seconds, f"{seconds} s of process {pid}")


def until_used(recorder, seconds):
    """The command that capture runs, once it has used so much CPU time."""
    return until(lambda: next((c for c in children(recorder.pid) if cpu_seconds(c) >= seconds), None),
                 f"{seconds} s of the command", limit=60 + 40 * seconds)


def perf_frames(path, *args):
    """The stacks that `perf script` prints: a list of lists of symbols, leaf first."""
    p = run(["perf", "script", "-f", "--no-inline", "--max-stack", "1024", "-F", "comm,tid,ip,sym", "-i",
             path, *args])
    stacks = []
    for block in p.stdout.split("\n\n"):
        lines = [l for l in block.splitlines() if l.strip()]
        if lines:
            stacks.append([l.split(None, 1)[1].split("+")[0] if len(l.split(None, 1)) > 1 else "?"
                           for l in lines[1:]])
    return stacks


def resolve_stats(path):
    """The object that `resolve --stats=json` prints."""
    p = run([RESOLVE, "--stats=json", path])
    return json.loads(next(l for l in p.stderr.splitlines() if l.startswith("{")))


ROOTS = ("_start", "clone3", "__clone3", "__GI___clone3", "__clone", "clone")


def rooted(stacks):
    return sum(1 for s in stacks if s and s[-1] in ROOTS)

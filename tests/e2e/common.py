"""common.py - what the end-to-end tests share: TAP lines, building programs, running the commands."""
import json
import os
import shutil
import subprocess
import sys
import time

from recorder import perf_record  # noqa: F401
from tap import NO_EVENTS, Tap, need_events  # noqa: F401

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
CAPTURE, RESOLVE, REGRESS = (os.path.join(BIN, name) for name in ("capture", "resolve", "regress"))
# perf's cache of binaries would hide what a test takes away. perf 6.1 does not look here when it records (only at
# --buildid-dir): perf_record() fills no cache.
os.environ["PERF_BUILDID_DIR"] = os.path.abspath("no-buildid-cache")
PROGRAMS = os.path.join(TOP, "tests", "programs")


def small(cmd):
    """The command: if it is capture, without a bundle, which most tests have no need of and which costs time, unless it asks for one."""
    if not cmd or CAPTURE not in cmd[:-1] or any(str(a).startswith("--bundle") for a in cmd):
        return cmd
    i = cmd.index(CAPTURE) + 1
    return [*cmd[:i], "--bundle=none", *cmd[i:]]


def run(cmd, check=True, timeout=300, **kw):  # `go tool pprof` of Go 1.25 builds pprof first
    """Runs a command, returns CompletedProcess with text output. Recordings have no bundle: small()."""
    p = subprocess.run(small(cmd), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       errors="replace", timeout=timeout, stdin=subprocess.DEVNULL, **kw)
    if check and p.returncode:
        if cmd[0] in (CAPTURE, REGRESS):
            need_events()
        raise RuntimeError(f"{' '.join(map(str, cmd))}: status {p.returncode}\n{p.stderr[-3000:]}")
    return p


# What test programs sort fits into copies of this size partly: glibc's qsort() has a buffer of 1 KiB on the stack since 2.37.
CUT_BYTES = 1024 if os.confstr("CS_GNU_LIBC_VERSION") < "glibc 2.37" else 1536


def have(tool):
    return shutil.which(tool) is not None


def build(compiler, source, out, *flags):
    """Compiles tests/programs/SOURCE; returns the absolute path of the result."""
    run([*compiler.split(), os.path.join(PROGRAMS, source), "-o", out, *flags])
    return os.path.abspath(out)


def until(condition, what, limit=60):
    """Waits for what a test needs to go on; its answer. How long that takes is the machine's affair."""
    end = time.monotonic() + limit
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise RuntimeError(f"waited {limit} s for {what}")
        time.sleep(0.02)


def children(pid):
    """The processes that a process has started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


def cpu_seconds(pid):
    """CPU time that all threads of a process have used; 0 when it is not there."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until_cpu(pid, seconds):
    """A command that ends when a process has used so much more CPU time."""
    return [sys.executable, "-S", os.path.join(TOP, "tests/e2e/until_cpu.py"), str(pid), str(seconds)]


def resolve(data, *options, check=True, binary=RESOLVE):
    """(stdout, stats) of bin/resolve."""
    p = run([binary, "--stats=json", *options, data], check=check)
    lines = [l for l in p.stderr.splitlines() if l.startswith("{")]
    if check and len(lines) != 1:
        raise RuntimeError(f"{binary} {' '.join(options)} {data}: {len(lines)} lines of JSON\n{p.stderr[-3000:]}")
    return p.stdout, json.loads(lines[0]) if lines else None


def folded(text):
    """{stack: weight}, frames as a tuple, root first."""
    stacks = {}
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = stacks.get(tuple(stack.split(";")), 0) + int(weight)
    return stacks


def has_path(stacks, *frames):
    """Whether some stack holds these frames in this order, each directly below the one before.
    A frame matches when it begins with the given text; None stands for any number of frames."""
    def at(stack, i, want):
        if not want:
            return True
        if want[0] is None:
            return any(at(stack, k, want[1:]) for k in range(i, len(stack) + 1))
        return i < len(stack) and stack[i].startswith(want[0]) and at(stack, i + 1, want[1:])

    return any(at(s, i, frames) for s in stacks for i in range(len(s)))

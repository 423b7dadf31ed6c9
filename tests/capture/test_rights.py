#!/usr/bin/env python3
"""Rights of root: capture gives up those that it does not need, its command keeps all; where parts follow, they have what the first had."""
import glob
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import cpu_seconds, until  # noqa: E402
from tap import NO_EVENTS, Tap  # noqa: E402

BIN = os.environ["BIN"]
SYS_ADMIN, SYS_MODULE, NET_ADMIN, SETUID, SYS_PTRACE = 21, 16, 12, 7, 19
tap = Tap()


def effective(status):
    return int(re.search(r"^CapEff:\s*(\w+)", status, re.M)[1], 16)


if os.geteuid() or NO_EVENTS:
    tap.skip("capabilities of capture", NO_EVENTS or "only root has them")
    tap.end()
with open("/proc/self/status", encoding="utf-8") as f:
    have = effective(f.read())
# The command looks at its parent: it is not executed before the recording has begun.
look = "cat /proc/$PPID/status > of.capture; cat /proc/self/status > of.command"
p = subprocess.run([f"{BIN}/capture", "-o", "c.data", "--", "sh", "-c", look], capture_output=True, text=True, timeout=60, check=False)
with open("of.capture", encoding="utf-8") as f:
    capture = f.read()
with open("of.command", encoding="utf-8") as f:
    command = effective(f.read())
left = effective(capture)
tap.check("capture" in capture.splitlines()[0] and not left & (1 << SYS_ADMIN | 1 << SYS_MODULE | 1 << NET_ADMIN | 1 << SETUID), "capture has given up what it does not need", f"{left:x}")
tap.check(bool(left & 1 << SYS_PTRACE) == bool(have & 1 << SYS_PTRACE), "and kept what it needs", f"{left:x}")
tap.check(command == have, "the command has all that capture had", f"{command:x}, {have:x}")
tap.check(p.returncode == 0 and os.path.getsize("c.data") > 1000, "the recording is there", p.stderr)

# ---- parts: each begins as the first did ---------------------------------------------------------------
TARGET = "import os, time\nwhile True:\n    bytearray(50000)\n    os.stat('/')\n    time.sleep(0.001)"
target = subprocess.Popen([sys.executable, "-c", TARGET])
until(lambda: cpu_seconds(target.pid) > 0.1, "the program")
CASES = (["--off-cpu"], ["--wall"], ["--alloc"], ["-e", "uprobe:libc.so.6:malloc"], ["--syscalls"])
for case in (*CASES, ["-a", "-m", "8M"]):
    name = f"part{case[0]}.data"
    whom = [] if case[0] == "-a" else ["-p", str(target.pid)]
    q = subprocess.Popen([f"{BIN}/capture", "--switch-output=0.4s", *case, *whom, "-o", name], stderr=subprocess.PIPE, text=True)
    until(lambda q=q, name=name: q.poll() is not None or len(glob.glob(name + ".*")) >= 4, "four parts", limit=120)
    q.send_signal(signal.SIGINT)
    err = q.communicate(timeout=120)[1]
    whole = sorted(glob.glob(name + ".*"))[:3]
    shown = [subprocess.run([f"{BIN}/resolve", "-q", x], capture_output=True, text=True, check=False).stdout.count("\n") for x in whole]
    told = [l for l in err.splitlines() if "KiB" in l or "CAP_" in l or "sudo" in l]
    tap.check(q.returncode == 0 and len(whole) == 3 and all(shown) and not told, f"--switch-output {' '.join(case)}: each part has what the first has", whole, shown, err)
target.kill()
target.wait()
tap.end()

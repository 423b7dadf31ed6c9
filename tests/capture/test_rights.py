#!/usr/bin/env python3
"""Rights of root: capture gives up those that it does not need, its command keeps all."""
import os
import re
import subprocess

from tap import NO_EVENTS, Tap

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

#!/usr/bin/env python3
"""The systemd units of packaging/: capture takes their options, and systemd their settings."""
import glob
import os
import re
import shlex
import shutil
import subprocess

from tap import Tap

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
tap = Tap()
for path in sorted(glob.glob(os.path.join(TOP, "packaging/systemd/*.service"))):
    name = os.path.basename(path)
    with open(path) as f:
        text = f.read()
    options = re.search(r'^Environment=CAPTURE_OPTIONS="(.*)"$', text, re.M)[1]
    line = re.search(r"^ExecStart=/usr/bin/capture (.*)$", text, re.M)[1].replace("$CAPTURE_OPTIONS", options)
    p = subprocess.run([os.path.join(BIN, "capture"), *shlex.split(line), "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.check(p.returncode == 0 and not p.stderr, f"{name}: capture takes its options", p.stderr)
    if not shutil.which("systemd-analyze"):
        tap.skip(f"{name}: systemd", "no systemd-analyze here")
        continue
    with open(name, "w") as f:  # the path of what was built: it need not be installed
        f.write(text.replace("/usr/bin/capture", os.path.join(BIN, "capture")))
    p = subprocess.run(["systemd-analyze", "verify", os.path.abspath(name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wrong = [l for l in p.stdout.splitlines() if name in l and ("Unknown" in l or "Failed to parse" in l or "Invalid" in l)]
    tap.check(not wrong, f"{name}: systemd knows all of its settings", p.stdout)
tap.end()

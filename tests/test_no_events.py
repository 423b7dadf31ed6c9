#!/usr/bin/env python3
"""Where perf_event_open is forbidden, as in a container, tests that record skip with that reason and nothing fails; the recordings
of testdata/ stand for theirs. Here some tests; `make check-no-events` runs all."""
import os
import subprocess
import sys

from tap import Tap

TOP, BUILD, BIN = (os.environ[n] for n in ("TOP", "BUILD", "BIN"))
WHICH = ["capture/test_trouble", "e2e/test_conditions", "e2e/test_programs", "e2e/test_recordings", "e2e/test_readme",
         "output/test_recording", "stitch/test_stitch_cut", "unwind/test_unwind_perf"]
tap = Tap()
subprocess.run(["gcc", "-O2", os.path.join(TOP, "tests/no_events.c"), "-o", "no_events"], check=True)
p = subprocess.run(["./no_events", sys.executable, f"{TOP}/tests/run.py", "--build", BUILD, "--bin", BIN, "--once", "--no-times", *[f"tests/{w}" for w in WHICH]],
                   stdout=subprocess.PIPE, text=True)
if "seccomp: " in p.stdout or p.returncode == 125:
    tap.skip("tests without events", "no seccomp filter can be set here")
    tap.end()
tap.check(p.returncode == 0, "nothing fails where no event may be opened", p.stdout)
skips = [line for line in p.stdout.splitlines() if "perf_event_open is forbidden here (EPERM)" in line]
tap.check(len(skips) >= 5, f"{len(skips)} skips name the reason", p.stdout)
tap.check(any("test_recordings" in line and line.startswith("ok ") and " 0 passed" not in line for line in p.stdout.splitlines()), "the recordings of testdata/ are read all the same", p.stdout)
tap.end()

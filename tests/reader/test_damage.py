#!/usr/bin/env python3
"""Damaged copies of real recordings (tool_damage): no crash, no hang, nothing unaccounted, bounded memory."""
import os
import resource
import subprocess
import sys

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/reader/tool_damage")
CORPUS = os.path.join(TOP, "../shared/corpus")
SECONDS = 120
# The largest file has 2 MB; samples wait in 48 MiB. The sanitizer needs address space of its own.
MEMORY = 256 << 20
sanitized = "-san" in os.path.basename(BUILD)


def limit():
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main():
    if not os.path.exists(CORPUS):
        print("ok - damaged recordings # SKIP no ../shared/corpus here")
        return 0
    failed = 0
    for folder in sorted(os.listdir(CORPUS)):
        path = os.path.join(CORPUS, folder)
        if not os.path.isdir(path) or folder == "script-text":
            continue
        files = [os.path.join(path, f) for f in sorted(os.listdir(path))]
        try:
            p = subprocess.run([TOOL, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS,
                               preexec_fn=limit)
            rc, out, err = p.returncode, p.stdout.decode(), p.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as e:
            rc, out, err = -1, (e.stdout or b"").decode(), f"not done after {SECONDS} s"
        lines = out.splitlines()
        copies = sum(int(line.split()[-1]) for line in lines if line.split()[-1].isdigit())
        if rc == 0 and len(lines) == len(files):
            print(f"ok - {copies} damaged copies of {folder}")
        else:
            failed = 1
            print(f"not ok - damaged copies of {folder}: status {rc} at {lines[-1:]}\n{err[-3000:]}")
    return failed


sys.exit(main())

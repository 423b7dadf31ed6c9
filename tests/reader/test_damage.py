#!/usr/bin/env python3
"""Damaged copies of every real and hostile recording (tool_damage): no crash, no hang, every whole record read, every
byte that is missing told, bounded memory.

Each file and its twin as a pipe is cut at every 512th byte, has 40 fields changed, and 10 records made longer. Of large
files, whose cuts would take minutes, `make check` leaves most out between the first and the last 8 KiB; `make check-damage`
leaves out none."""
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tap import LONG

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/reader/tool_damage")
CORPUS = os.path.join(TOP, "../shared/corpus")
sanitized = "-san" in os.path.basename(BUILD)
# Bytes read for the cuts of one file in one form, and seconds for one file.
BUDGET, SECONDS = (1 << 40, 3600) if LONG else (2 << 20, 300)
# In these many bytes at both ends of a file, where headers are, each cut is made whatever the budget.
ENDS = (64 if LONG else 4) << 10
# KiB. The largest file has 2 MB and less than 64 KiB of it wait at a time; the sanitizer adds its own.
MEMORY = (400 if sanitized else 32) << 10
# Files of which an independent walk over the records tells what each cut must give. The others are compressed,
# damaged, or no perf.data.
KNOWN_LEAST = 40


def limit():
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))


def damage(path):
    """(cuts, changes, KiB, forms that the walk knows), or a string that says what went wrong."""
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16")
    try:
        p = subprocess.run([TOOL, "-b", str(BUDGET), "-e", str(ENDS), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=SECONDS, preexec_fn=limit, env=env)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    words = p.stdout.decode()[len(path):].split()
    if p.returncode or len(words) < 3:
        return f"status {p.returncode}\n{p.stderr.decode(errors='replace')[-3000:]}"
    cuts, changes, kib = map(int, words[:3])
    return (cuts, changes, kib, words[3:]) if kib <= MEMORY else f"took {kib} KiB"


def main():
    if not os.path.exists(CORPUS):
        print("ok - damaged recordings # SKIP no ../shared/corpus here")
        return 0
    paths = [os.path.join(CORPUS, folder, f) for folder in sorted(os.listdir(CORPUS))
             if folder != "script-text" and os.path.isdir(os.path.join(CORPUS, folder))
             for f in sorted(os.listdir(os.path.join(CORPUS, folder)))]
    paths.sort(key=os.path.getsize, reverse=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(damage, paths))
    failed = 0
    for path, r in zip(paths, results):
        if isinstance(r, str):
            failed = 1
            print(f"not ok - damaged copies of {os.path.relpath(path, CORPUS)}: {r}")
    good = [r for r in results if not isinstance(r, str)]
    cuts, changes, most = sum(r[0] for r in good), sum(r[1] for r in good), max(r[2] for r in good)
    print(f"ok - {cuts} cuts and {changes} changes of {len(good)} files, {most} KiB at most")
    for form, name in ("F", "files"), ("P", "pipes"):
        n = sum(form in r[3] for r in good)
        print(f"{'ok' if n >= KNOWN_LEAST else 'not ok'} - of {n} {name} each whole record is there, and the rest counted as lost")
        failed |= n < KNOWN_LEAST
    return failed


sys.exit(main())

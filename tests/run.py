#!/usr/bin/env python3
"""Runs all tests and prints one closing line `N passed, N failed`.

Unit tests are cmocka programs (BUILD/tests/STAGE/test_X); scripts are tests/**/test_*.{sh,py}. Both
speak TAP: `ok - name`, `not ok - name`, `ok - name # SKIP why`. A program that dies or exits nonzero
without a `not ok` counts as one failure. Arguments after the options are substrings that select.
Scripts get BUILD, BIN (absolute) and TOP (the checkout) in the environment and a scratch folder as
their working directory.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TAP = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s+#\s*(SKIP|TODO)\b\s*(.*))?$", re.I)


def find(top, build):
    units, scripts = [], []
    for root, dirs, files in os.walk(os.path.join(top, "tests")):
        dirs.sort()
        for f in sorted(files):
            rel = os.path.relpath(os.path.join(root, f), top)
            if re.fullmatch(r"test_\w+\.c", f):
                units.append((rel[:-2], [os.path.join(build, rel[:-2])]))
            elif re.fullmatch(r"test_\w+\.sh", f):
                scripts.append((rel, ["bash", os.path.join(top, rel)]))
            elif re.fullmatch(r"test_\w+\.py", f):
                scripts.append((rel, [sys.executable, os.path.join(top, rel)]))
    return units + scripts


def run(name, cmd, env, limit):
    scratch = tempfile.mkdtemp(prefix="unspool-test-")
    start = time.time()
    try:
        p = subprocess.run(cmd, cwd=scratch, env=dict(env, XDG_CACHE_HOME=os.path.join(scratch, ".cache")), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        out, rc = p.stdout.decode(errors="replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        out, rc = (e.stdout or b"").decode(errors="replace") + f"\ntimed out after {limit} s\n", -1
    shutil.rmtree(scratch, ignore_errors=True)
    passed = failed = 0
    skips, bad = [], []
    for line in out.splitlines():
        m = TAP.match(line)
        if not m:
            continue
        if (m.group(3) or "").upper() == "SKIP" or m.group(2).upper().startswith("# SKIP"):
            # cmocka's skip() says `not ok N # SKIP name`
            skips.append(f"{m.group(2)}: {m.group(4)}")
        elif m.group(1):
            failed += 1
            bad.append(m.group(2))
        else:
            passed += 1
    if rc != 0 and not failed:
        failed += 1
        bad.append(f"{name} ended with status {rc}")
    if rc == 0 and not passed and not failed and not skips:
        failed += 1
        bad.append(f"{name} ran no test")
    word = "ok" if not failed else "FAILED"
    print(f"{word:6} {name:44} {passed:4} passed {failed:3} failed  {time.time() - start:6.1f} s", flush=True)
    for s in skips:
        print(f"       skipped: {s}", flush=True)
    if failed:
        for b in bad[:20]:
            print(f"       not ok: {b}")
        print("".join("       | " + l + "\n" for l in out.splitlines()[-60:]), flush=True)
    return passed, failed, len(skips)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--limit", type=int, default=600, help="seconds for one test program")
    ap.add_argument("select", nargs="*")
    a = ap.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build, bin_ = os.path.abspath(a.build), os.path.abspath(a.bin)
    env = dict(os.environ, TOP=top, BUILD=build, BIN=bin_, CMOCKA_MESSAGE_OUTPUT="TAP",
               ASAN_OPTIONS="detect_leaks=1:" + os.environ.get("ASAN_OPTIONS", ""),
               UBSAN_OPTIONS="print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""))
    env.pop("DEBUGINFOD_URLS", None)
    # Nor is the network used because the developer's own settings say so.
    env.update(UNSPOOL_DEBUGINFOD="off", XDG_CONFIG_HOME="/nonexistent")
    total = [0, 0, 0]
    for name, cmd in find(top, build):
        if a.select and not any(s in name for s in a.select):
            continue
        for i, v in enumerate(run(name, cmd, env, a.limit)):
            total[i] += v
    print(f"{total[2]} skipped" if total[2] else "none skipped")
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())

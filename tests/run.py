#!/usr/bin/env python3
"""Runs all tests and prints one closing line `N passed, N failed`.

Unit tests are cmocka programs (BUILD/tests/STAGE/test_X); scripts are tests/**/test_*.{sh,py}. Both
speak TAP: `ok - name`, `not ok - name`, `ok - name # SKIP why`. A program that dies or exits nonzero
without a `not ok` counts as one failure. Arguments after the options are substrings that select.
Scripts get BUILD, BIN (absolute) and TOP (the checkout) in the environment and a scratch folder as
their working directory. As many run at once as there are processors; those that took longest the
last time begin first.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

running = set()  # test programs, each the leader of its group
LINES_MAX = 60
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


def end_group(p):
    """Ends a test with what it has started."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def output_of(cmd, env, limit, scratch):
    """(text, status) of a test, which is ended after the limit."""
    with tempfile.TemporaryFile() as text:
        p = subprocess.Popen(cmd, cwd=scratch, env=dict(env, XDG_CACHE_HOME=os.path.join(scratch, ".cache")), stdin=subprocess.DEVNULL,
                             stdout=text, stderr=subprocess.STDOUT, start_new_session=True)
        running.add(p)
        try:
            rc, end = p.wait(limit), ""
        except subprocess.TimeoutExpired:
            rc, end = -1, f"\ntimed out after {limit} s\n"
        end_group(p)
        p.wait()
        running.discard(p)
        text.seek(0)
        return text.read().decode(errors="replace") + end, rc


def reasons(lines):
    """What stands below each `not ok`, and how all ended."""
    out, inside = [], False
    for line in lines:
        inside = line.startswith("not ok") or inside and line.startswith("#")
        out += [line] * inside
    return out[:LINES_MAX] + ["..."] + lines[-LINES_MAX:] if out and len(lines) > LINES_MAX else lines[-LINES_MAX:]


def run(name, cmd, env, limit):
    scratch = tempfile.mkdtemp(prefix="unspool-test-")
    start = time.time()
    out, rc = output_of(cmd, env, limit, scratch)
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
    seconds = time.time() - start
    text = [f"{'FAILED' if failed else 'ok':6} {name:44} {passed:4} passed {failed:3} failed  {seconds:6.1f} s"]
    text += [f"       skipped: {s}" for s in skips]
    if failed:
        text += [f"       not ok: {b}" for b in bad[:20]] + [f"       | {l}" for l in reasons(out.splitlines())] + [""]
    print("\n".join(text), flush=True)
    return seconds, (passed, failed, len(skips))


def last_times(path):
    """{name: seconds}"""
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--limit", type=int, default=600, help="seconds for one test program")
    ap.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="how many run at once")
    ap.add_argument("select", nargs="*")
    a = ap.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build, bin_ = os.path.abspath(a.build), os.path.abspath(a.bin)
    env = dict(os.environ, TOP=top, BUILD=build, BIN=bin_, CMOCKA_MESSAGE_OUTPUT="TAP",
               PYTHONPATH=os.path.join(top, "tests"), ASAN_OPTIONS="detect_leaks=1:" + os.environ.get("ASAN_OPTIONS", ""),
               UBSAN_OPTIONS="print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""))
    env.pop("DEBUGINFOD_URLS", None)
    # Nor is the network used because the developer's own settings say so.
    env.update(UNSPOOL_DEBUGINFOD="off", XDG_CONFIG_HOME="/nonexistent")
    times_path = os.path.join(build, "test-times.json")
    times, total = last_times(times_path), [0, 0, 0]
    tests = [(n, c) for n, c in find(top, build) if not a.select or any(s in n for s in a.select)]
    tests.sort(key=lambda t: -times.get(t[0], 0))
    with concurrent.futures.ThreadPoolExecutor(max(1, a.j)) as pool:
        try:
            for (name, _), result in zip(tests, pool.map(lambda t: run(*t, env, a.limit), tests)):
                times[name] = result[0]
                total = [x + y for x, y in zip(total, result[1])]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for p in list(running):
                end_group(p)
            raise
    with open(times_path, "w") as f:
        json.dump(times, f)
    print(f"{total[2]} skipped" if total[2] else "none skipped")
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())

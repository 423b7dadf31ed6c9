#!/usr/bin/env python3
"""Runs all tests and prints one closing line `N passed, N failed`.

Unit tests are cmocka programs (BUILD/tests/STAGE/test_X); scripts are tests/**/test_*.{sh,py}. Both
speak TAP: `ok - name`, `not ok - name`, `ok - name # SKIP why`. A program that dies or exits nonzero
without a `not ok` counts as one failure. Arguments after the options are substrings that select.
Scripts get BUILD, BIN (absolute) and TOP (the checkout) in the environment and a scratch folder as
their working directory. The last figure of a line is how long a test took, the one before it the CPU time of all that it has waited for.
Lines `# figures: ..` are printed of tests that pass, too. As many run at once as there are processors; those that took longest the
last time begin first.

Most tests record live programs, and what a loaded machine does to those cannot all be foreseen. A test
that failed runs once more, alone, after all others. It counts as failed if it fails again; else both is
said: what failed, and that it is unsteady, which is a defect to be looked for. --once leaves that out.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
running = set()  # test programs, each the leader of its group
starting = threading.Lock()  # a program that was started is in running, or this is held
LINES_MAX = 60
AGAIN_MAX = 8  # test programs; where more fail it is no accident
Result = collections.namedtuple("Result", "seconds passed bad skipped")  # bad: names
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


def wait(p, limit):
    """Whether a test has ended before the limit."""
    fd = os.pidfd_open(p.pid)
    try:
        return bool(select.select([fd], [], [], limit)[0])
    finally:
        os.close(fd)


def reap(p):
    """Seconds of CPU time of a test that has ended and of all that it has waited for."""
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def output_of(cmd, env, limit, scratch):
    """(text, status, seconds of CPU time) of a test, which is ended after the limit."""
    with tempfile.TemporaryFile() as text:
        with starting:
            p = subprocess.Popen(cmd, cwd=scratch, env=dict(env, XDG_CACHE_HOME=os.path.join(scratch, ".cache")), stdin=subprocess.DEVNULL,
                                 stdout=text, stderr=subprocess.STDOUT, start_new_session=True)
            running.add(p)
        end = "" if wait(p, limit) else f"\ntimed out after {limit} s\n"
        end_group(p)
        used = reap(p)
        running.discard(p)
        text.seek(0)
        return text.read().decode(errors="replace") + end, -1 if end else p.returncode, used


def reasons(lines):
    """What stands below each `not ok`, and how all ended."""
    out, inside = [], False
    for line in lines:
        inside = line.startswith("not ok") or inside and line.startswith("#")
        out += [line] * inside
    return out[:LINES_MAX] + ["..."] + lines[-LINES_MAX:] if out and len(lines) > LINES_MAX else lines[-LINES_MAX:]


def judge(name, out, rc):
    """(passed, names of what failed, what was skipped) of what a test has printed."""
    passed, skips, bad = 0, [], []
    for line in out.splitlines():
        m = TAP.match(line)
        if not m:
            continue
        if (m.group(3) or "").upper() == "SKIP" or m.group(2).upper().startswith("# SKIP"):
            # cmocka's skip() says `not ok N # SKIP name`
            skips.append(f"{m.group(2)}: {m.group(4)}")
        elif m.group(1):
            bad.append(m.group(2))
        else:
            passed += 1
    if rc != 0 and not bad:
        bad.append(f"{name} ended with status {rc}")
    if rc == 0 and not passed and not bad and not skips:
        bad.append(f"{name} ran no test")
    return passed, bad, skips


def run(name, cmd, env, limit):
    """Runs one and says how it went."""
    scratch = tempfile.mkdtemp(prefix="unspool-test-")
    start = time.time()
    out, rc, used = output_of(cmd, env, limit, scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    passed, bad, skips = judge(name, out, rc)
    seconds = time.time() - start
    text = [f"{'FAILED' if bad else 'ok':6} {name:44} {passed:4} passed {len(bad):3} failed  {used:6.1f} s of CPU {seconds:6.1f} s"]
    text += [f"       {line[2:]}" for line in out.splitlines() if line.startswith("# figures: ")]
    text += [f"       skipped: {s}" for s in skips]
    if bad:
        text += [f"       not ok: {b}" for b in bad[:20]] + [f"       | {l}" for l in reasons(out.splitlines())] + [""]
    print("\n".join(text), flush=True)
    return Result(seconds, passed, bad, len(skips))


def run_all(tests, jobs, env, limit):
    """{name: Result}"""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            return dict(zip((n for n, _ in tests), pool.map(lambda t: run(*t, env, limit), tests)))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for p in list(running):
                end_group(p)
            raise


def run_failed_again(tests, results, env, limit):
    """Alone; what then passes is listed, with what had failed."""
    failed = [t for t in tests if results[t[0]].bad]
    if not failed or len(failed) > AGAIN_MAX:
        return
    print("once more, alone:", flush=True)
    unsteady = []
    for name, cmd in failed:
        before = results[name].bad
        results.update(run_all([(name, cmd)], 1, env, limit))
        if not results[name].bad:
            unsteady += [f"unsteady: {name}: {b}" for b in before]
    print("\n".join(unsteady))


def own_entries(folder):
    """What this user has in a folder; the JVM's hsperfdata_USER is any JVM's."""
    try:
        return {e.path for e in os.scandir(folder) if e.stat(follow_symlinks=False).st_uid == os.getuid() and not e.name.startswith("hsperfdata_")}
    except OSError:
        return set()


def surroundings():
    """What tests must leave as it was: files of this user in /tmp and at the top of $HOME, and mounts."""
    with open("/proc/self/mounts") as f:
        mounts = {"mount " + line.split()[1] for line in f}
    # perf leaves its copies of the vDSO where it is ended by a signal; tests do that.
    return {e for e in own_entries("/tmp") | own_entries(os.path.expanduser("~")) | mounts if "/perf-vdso.so-" not in e}


def adopted():
    """{pid: command line} of what tests have started and left: such orphans become children of this process (main() asks for it).
    Those that have ended are reaped, as init would."""
    found = {}
    with starting:
        ours = {p.pid for p in running}
        with open(f"/proc/self/task/{os.getpid()}/children") as f:
            pids = [int(pid) for pid in f.read().split() if int(pid) not in ours]
        for pid in pids:
            try:
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    with open(f"/proc/{pid}/cmdline", errors="replace") as f:
                        found[pid] = f.read().replace("\0", " ").strip()
            except OSError:
                pass
    return found


def reap_forever():
    while True:
        time.sleep(0.1)
        adopted()


def end_adopted():
    """What is still there a moment after all tests, ended. Several rounds: children of the ended are adopted in turn."""
    time.sleep(0.5)
    left = adopted()
    for _ in range(5):
        for pid in adopted():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    return sorted(f"process {pid}: {command}"[:200] for pid, command in left.items())


def keep_times(path, times):
    """For the order of the next run; a build of another user is only read."""
    try:
        with open(path, "w") as f:
            json.dump(times, f)
    except PermissionError as e:
        print(f"# how long tests took is not kept: {e}")


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
    ap.add_argument("--once", action="store_true", help="what failed has failed")
    ap.add_argument("--alone", action="store_true", help="no other work runs on this machine: files that are left behind are a failure")
    ap.add_argument("--no-times", action="store_true", help="do not note how long tests took")
    ap.add_argument("select", nargs="*")
    a = ap.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build, bin_ = os.path.abspath(a.build), os.path.abspath(a.bin)
    env = dict(os.environ, TOP=top, BUILD=build, BIN=bin_, CMOCKA_MESSAGE_OUTPUT="TAP",
               PYTHONPATH=os.path.join(top, "tests"), ASAN_OPTIONS="detect_leaks=1:" + os.environ.get("ASAN_OPTIONS", ""),
               UBSAN_OPTIONS="print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""))
    env.pop("DEBUGINFOD_URLS", None)
    # Nor is the network used because the developer's own settings say so.
    env.update(UNSPOOL_DEBUGINFOD="off", XDG_CONFIG_HOME="/nonexistent", GOPATH=os.path.join(build, "gopath"),
               GOCACHE=os.path.join(build, "gocache"))  # Go's libraries are compiled once
    times_path = os.path.join(build, "test-times.json")
    times = last_times(times_path)
    tests = [(n, c) for n, c in find(top, build) if not a.select or any(s in n for s in a.select)]
    tests.sort(key=lambda t: -times.get(t[0], 0))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    threading.Thread(target=reap_forever, daemon=True).start()
    before = surroundings()
    try:
        results = run_all(tests, max(1, a.j), env, a.limit)
    except KeyboardInterrupt:
        end_adopted()
        raise
    times.update((name, r.seconds) for name, r in results.items())
    if not a.no_times:
        keep_times(times_path, times)
    if not a.once:
        run_failed_again(tests, results, env, a.limit)
    passed, failed = sum(r.passed for r in results.values()), sum(len(r.bad) for r in results.values())
    skipped = sum(r.skipped for r in results.values())
    left = end_adopted()
    failed += len(left)
    # Files and mounts that are left are a failure only if no other work runs on the machine (--alone).
    files = sorted(surroundings() - before)
    failed += len(files) if a.alone else 0
    for what in left + files:
        print(f"left behind: {what}")
    # Once more at the end, where who reads only that looks.
    for name, r in results.items():
        for what in r.bad:
            print(f"failed: {name}: {what}")
    print(f"{skipped} skipped" if skipped else "none skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

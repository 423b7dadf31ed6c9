#!/usr/bin/env python3
"""What tests/run.py says of tests that fail, once or always, and that it leaves none behind."""
import os
import shutil
import signal
import subprocess
import sys
import time

from tap import Tap

tap = Tap()
FAIL_ONCE = "import os\nfirst = not os.path.exists(RAN)\nopen(RAN, 'w').close()\n"


def tree(**tests):
    """A checkout of run.py and of tests, by what they do; RAN is a file for each."""
    shutil.rmtree("tree", ignore_errors=True)
    os.makedirs("tree/tests/area")
    shutil.copy(os.path.join(os.environ["TOP"], "tests/run.py"), "tree/tests")
    for name, text in tests.items():
        with open(f"tree/tests/area/test_{name}.py", "w") as f:
            f.write(f"RAN = {os.path.abspath('tree/' + name)!r}\n{text}")


def start(*args):
    """What a shell starts in the background ignores SIGINT, and so does all that this starts."""
    return subprocess.Popen([sys.executable, "tree/tests/run.py", "--build", "tree", "--bin", "tree", *args], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def ran(*args):
    p = start(*args)
    out = p.communicate()[0]
    return p.returncode, out


tree(good="print('ok 1 - good')")
rc, out = ran()
tap.check(rc == 0 and "1 passed, 0 failed" in out and "once more" not in out, "a test that passes runs once", out)
tree(bad="print('not ok 1 - wrong')", good="print('ok 1 - good')")
rc, out = ran()
tap.check(rc == 1 and "1 passed, 1 failed" in out and out.count("not ok: wrong") == 2, "a test that fails twice has failed", out)
once = FAIL_ONCE + "print('not ok 1 - wrong' if first else 'ok 1 - wrong')"
tree(once=once)
rc, out = ran()
tap.check(rc == 0 and "1 passed, 0 failed" in out and "unsteady: tests/area/test_once.py: wrong" in out, "a test that fails once passes, and is reported as unsteady", out)
tree(once=once)
rc, out = ran("--once")
tap.check(rc == 1 and "0 passed, 1 failed" in out and "once more" not in out, "--once: a test that fails once has failed", out)
tree(**{f"once{i}": once for i in range(9)})
rc, out = ran()
tap.check(rc == 1 and "0 passed, 9 failed" in out and "once more" not in out, "of many tests that fail once none runs again", out)
tree(silent="", died="print('ok 1 - good', flush=True)\nimport os\nos.abort()")
rc, out = ran("--once")
tap.check(rc == 1 and "1 passed, 2 failed" in out and "ran no test" in out, "a test that says nothing has failed, and one that dies", out)

# ---- what is left behind ------------------------------------------------------------------------------------------------
daemon = "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n        open(RAN, 'w').write(str(os.getpid()))\n        time.sleep(300)\n    os._exit(0)\n" \
         "while not os.path.exists(RAN) or not open(RAN).read():\n    time.sleep(0.01)\n"
tree(daemon=daemon + "print('ok 1 - good')")
rc, out = ran("--once")
pid = int(open("tree/daemon").read())
tap.check(rc == 1 and f"left behind: process {pid}" in out and not os.path.exists(f"/proc/{pid}"), "a process that a test leaves is a failure, and ended", rc, out)
# What ended without a parent that waits for it must vanish, as with init: tests wait for that.
tree(orphan="import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n        open(RAN, 'w').write(str(os.getpid()))\n    os._exit(0)\nos.wait()\n"
            "while not os.path.exists(RAN) or not open(RAN).read():\n    time.sleep(0.01)\nend = time.time() + 20\n"
            "while os.path.exists('/proc/' + open(RAN).read()) and time.time() < end:\n    time.sleep(0.05)\nprint('ok 1 - gone' if time.time() < end else 'not ok 1 - gone')")
rc, out = ran("--once")
tap.check(rc == 0, "orphans that ended vanish", out)
tree(file="import os\nopen('/tmp/unspool-left-' + str(os.getppid()), 'w')\nprint('ok 1 - good')")
p = start("--once", "--alone")
out = p.communicate()[0]
left = f"/tmp/unspool-left-{p.pid}"
tap.check(p.returncode == 1 and f"left behind: {left}" in out, "--alone: so is a file", out)
os.unlink(left)

# ---- interrupted ---------------------------------------------------------------------------------------------------
wait = "import os, time\nopen(RAN + '.new', 'w').write(str(os.getpid()))\nos.rename(RAN + '.new', RAN)\ntime.sleep(300)"
for number, when, text in ((signal.SIGINT, "", wait), (signal.SIGTERM, " by SIGTERM", wait), (signal.SIGINT, " while it runs again", FAIL_ONCE.replace("RAN", "RAN + '.first'") + "if first:\n    raise SystemExit('not ok 1')\n" + wait)):
    tree(wait=text)
    p = start()
    end = time.time() + 60
    while not os.path.exists("tree/wait") and time.time() < end:
        time.sleep(0.05)
    pid = int(open("tree/wait").read())
    p.send_signal(number)
    p.communicate()
    alive = os.path.exists(f"/proc/{pid}")
    if alive:
        os.kill(pid, signal.SIGKILL)
    tap.check(p.returncode and not alive, f"a test is ended with the runner{when}", (p.returncode, alive))
tap.end()

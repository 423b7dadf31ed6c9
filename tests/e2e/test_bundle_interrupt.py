#!/usr/bin/env python3
"""capture --bundle and ^C: once ends the recording; once more, while the bundle is made, leaves that out; while it is written, it is
written to its end. What is said is what is in the file.

The second ^C comes at a known place: a library between capture and pwrite() raises it."""
import re
import signal
import subprocess
import sys

from common import *
from nowhere import RESOLVE_NOWHERE, elsewhere

tap = Tap()
need_events()
THREADS = build("g++", "threads.cc", "threads", "-O2", "-g", "-pthread")
SAMPLE = ["-e", "cpu-clock:u", "-F", "997"]
# capture writes the sections of the end and then the header alone (struct perf_file_header of perf: 104 bytes), first without a bundle
# and then with it.
SECOND = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void second(const char *place)
{
	if (strcmp(getenv("SECOND_AT"), place))
		return;
	usleep(200000); /* sooner it would be the same signal twice, as `timeout` sends it */
	raise(SIGINT);
}
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t off)
{
	static ssize_t (*next)(int, const void *, size_t, off64_t);
	static int ends, sections;
	ssize_t done;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pwrite64");
	if (ends == 1 && off && !sections++) {
		done = next(fd, p, n / 2, off);
		second("sections");
		return done;
	}
	done = next(fd, p, n, off);
	if (!off && n == 104)
		second(++ends == 1 ? "making" : "written");
	return done;
}
"""


def named(data):
    """Whether what a recording says by itself has names of the program's functions."""
    return any(f.startswith(("main", "work::")) for stack in folded(elsewhere(data, check=False).stdout) for f in stack)


def end_by_signal(p):
    """Its words, after a ^C; the command's process."""
    try:
        program = until(lambda: next((c for c in children(p.pid) if cpu_seconds(c) > 0.3), None), "the program to run")
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=120)
    finally:
        p.kill()
    return err, program


def once():
    err, _ = end_by_signal(subprocess.Popen([CAPTURE, *SAMPLE, "--bundle", "-o", "y.data", "--", THREADS, "1", "100000"], stderr=subprocess.PIPE, text=True))
    tap.check("bundle of" in err and "main" in elsewhere("y.data", check=False).stdout, "^C ends the recording and bundles", err)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def twice():
    with open("second.c", "w") as f:
        f.write(SECOND)
    run(["gcc", "-shared", "-fPIC", "-O1", "second.c", "-o", "second.so", "-ldl"])
    env = {**os.environ, "LD_PRELOAD": os.path.abspath("second.so"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    for place, has in ("making", False), ("sections", True), ("written", True):
        data = f"{place}.data"
        p = subprocess.Popen([CAPTURE, *SAMPLE, "--bundle=full", "-o", data, "--", THREADS, "1", "100000"], stderr=subprocess.PIPE, text=True, env=dict(env, SECOND_AT=place))
        err, program = end_by_signal(p)
        until(lambda: has_ended(program), "the program to end with capture")  # pylint: disable=cell-var-from-loop
        words = "bundle of" if has else "the bundle is left out"
        tap.check(p.returncode == 130 and words in err and ("left out" in err) != has and re.search(rf" samples of .* lost, .*{data} \]", err),
                  f"^C twice, {place}: {words}", p.returncode, err)
        here = run([RESOLVE, data], check=False)
        tap.check(here.returncode == 0 and "main" in here.stdout and "damaged" not in here.stderr, f"^C twice, {place}: the recording is whole", here.stdout[:300], here.stderr)
        tap.check(named(data) == has, f"^C twice, {place}: {'it is there' if has else 'there is none in it'}", elsewhere(data, check=False).stdout[:600], err)


if not RESOLVE_NOWHERE:
    tap.skip("recordings that carry their files", "no root of its own can be entered here")
    sys.exit(0)
once()
twice()
tap.end()

#!/usr/bin/env python3
"""Threads and processes keep their events, as long as they seldom switch (capture/exchange.h): what starts many short ones is seen."""
import json
import os
import re
import time

from lib import RESOLVE, Tap, capture, descriptors, run, start, until_open
from tap import MAY_KERNEL

tap = Tap()
CPU = str(min(os.sched_getaffinity(0)))  # events are exchanged when one CPU switches between two tasks
with open("many.c", "w") as f:
    f.write(r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int to[2], from[2];
static void *answers(void *a) { char c; while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1) ; return a; }
static void *waits(void *a) { pause(); return a; }
int main(int argc, char **argv)
{
	char c = 0;
	pthread_t t;
	alarm(20);
	while (access("go", F_OK))
		usleep(1000);
	for (int i = atoi(argv[1]); i > 0; i--)
		pthread_create(&t, 0, waits, 0);
	if (argc == 2)
		pause();
	if (pipe(to) || pipe(from) || pthread_create(&t, 0, answers, 0))
		return 1;
	while (write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1) ;
	return 0;
}
""")
run(["gcc", "-O1", "-pthread", "many.c", "-o", "many"])


def open_events(seconds, *command):
    """How many perf events a recorder of the command has open at first, and after some seconds or once it has fewer."""
    p = start("-q", "-F", 99, "-o", "many.data", "--", "taskset", "-c", CPU, *command)
    until_open(p)
    while "many.data" not in "".join(descriptors(p.pid)):  # all are open by then
        time.sleep(0.01)
    first = now = sum("perf_event" in d for d in descriptors(p.pid))
    with open("go", "w"):
        pass
    end = time.time() + seconds
    while time.time() < end and now == first:
        time.sleep(0.02)
        now = sum("perf_event" in d for d in descriptors(p.pid))
    p.terminate()
    p.communicate()
    os.remove("go")
    return first, now


if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
    tap.skip("tasks keep their events", "Linux 6.12 and newer")
else:
    if MAY_KERNEL:
        p = capture("-F", 199, "-o", "forks.data", "--", "taskset", "-c", CPU, "bash", "-c", "i=0; while [ $i -lt 1000 ]; do (:); i=$((i+1)); done")
        share = re.search(r"stand for (\d+) %", p.stderr)
        tap.check(p.n_samples >= 5 and (not share or int(share[1]) >= 15), "a shell that starts short processes is seen", p.n_samples, p.stderr)
        r = run([RESOLVE, "--stats=json", "-f", "folded", "forks.data"])
        said = re.search(r"stand for (\d+) %", r.stderr)
        stats = json.loads(r.stderr.splitlines()[-1])
        tap.check((share and share[1]) == (said and said[1]) and stats["counted"] > stats["sampled"] == stats["period"], "what has no sample is counted in the file", r.stderr, p.stderr)
        first, now = open_events(15, "./many", "0", "pipe")
        tap.check(now == first - 1, "many switches: no longer", first, now)
    else:
        tap.skip("a shell that starts short processes, and many switches", "this user may not count what happens in the kernel")
    first, now = open_events(1, "sleep", "60")
    tap.check(now == first, "who waits keeps them", first, now)
    first, now = open_events(15, "./many", "100")
    tap.check(now == first - 1, "many threads: no longer", first, now)
tap.end()

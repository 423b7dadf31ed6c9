#!/usr/bin/env python3
"""System-wide recordings: kernel and user frames in one stack, the idle task included, weights that add up
to the periods in the file (as perf prints them)."""
import os
import re
from collections import Counter

from common import CAPTURE, RESOLVE, Tap, build, folded, have, perf_record, resolve, run
from recorder import same_comm

tap = Tap()
if os.geteuid() != 0:
    tap.skip("system-wide recordings", "needs root")
    tap.end()

# Alternates between user code and system calls, so that both kinds of stacks occur.
with open("mix.c", "w") as f:
    f.write("""
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static char room[1 << 16];
static volatile unsigned long sink;
__attribute__((noinline)) void user_part(void) { for (unsigned i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void kernel_part(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 20; i++) sink += read(fd, room, sizeof room);
	close(fd);
	sink++;
}
int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC * 3 / 2;
	while (clock() < end) { user_part(); kernel_part(); }
	usleep(400000);
	return 0;
}
""")


def program(name, *flags):
    run(["gcc", "-O2", "-fno-optimize-sibling-calls", *flags, "mix.c", "-o", name])
    return os.path.abspath(name)


def check(name, data):
    text, stats = resolve(data, "--no-inline")
    stacks = folded(text)
    tap.check(sum(stacks.values()) == stats["period"], f"{name}: weights are the sum of periods", stats)
    if have("perf"):
        perf = Counter()
        names = {t: c for c, t in re.findall(r"^(\S+) +(\d+) ", run([RESOLVE, "-q", "-f", "script", data], check=False).stdout, re.M)}
        for line in run(["perf", "script", "-G", "-F", "comm,period", "-i", data]).stdout.splitlines():
            comm, period = line.rsplit(None, 1)
            comm = comm.strip().replace(" ", "_")
            if same_comm(comm, names.get(comm[1:]), comm[1:]):
                comm = names.get(comm[1:], comm)
            perf[comm] += int(period)
        ours = Counter()
        for s, w in stacks.items():
            ours[s[0]] += w
        # Of a thread whose name perf (6.12) has not read in time it shows the number: ":8995".
        nameless = {c: n for c, n in perf.items() if re.fullmatch(r":\d+", c) and c not in ours}
        extra = {c: n - perf[c] for c, n in ours.items() if n != perf[c]}
        tap.check(ours == perf or (sum(extra.values()) == sum(nameless.values()) and all(n > 0 for n in extra.values())
                                   and sum(ours.values()) == sum(perf.values())),
                  f"{name}: every command has the sum that perf reads", extra, nameless)
    joined = [s for s in stacks if "main" in s and "do_syscall_64" in s[s.index("main"):]]
    tap.check(joined, f"{name}: kernel frames stand on user frames",
              "\n".join(";".join(s) for s in list(stacks)[:30]))
    tap.check(any(s[0] == "mixed" and s[-1] == "user_part" for s in stacks), f"{name}: user stacks")
    idle = [s for s in stacks if s[0] == "swapper"]
    if not idle:  # every processor was busy with something else all the time
        tap.skip(f"{name}: the idle task", "no processor was idle while recording")
        return
    tap.check(any("do_idle" in s for s in idle), f"{name}: the idle task is there", idle[:5])
    # By command: what else runs on this machine may be gone, or another file, a moment later.
    sums, rest = Counter(), Counter()
    for s, w in folded(run([RESOLVE, "--no-inline", "--no-idle", data]).stdout).items():
        sums[s[0]] += w
    for s, w in stacks.items():
        rest[s[0]] += w
    del rest["swapper"]
    tap.check(sums == rest, f"{name}: --no-idle leaves out the idle task alone", (sums, rest))
    p = run([RESOLVE, "--no-inline", "--comm", "swapper", data])
    tap.check("100 % of the samples are of idle processors (swapper); --no-idle leaves them out" in p.stderr, f"{name}: a line names --no-idle when most samples are of the idle task", p.stderr)
    kernel = [f for s in idle for f in s[1:]]
    tap.check(sum(f.startswith("[") for f in kernel) * 20 < len(kernel), f"{name}: kernel names", idle[:3])


mixed = program("mixed", "-fomit-frame-pointer")
run([CAPTURE, "-q", "-a", "-F", "199", "-o", "capture.data", "--", mixed])
check("capture -a", "capture.data")
if have("perf"):
    # The kernel's own user chains want frame pointers.
    mixed = program("mixed", "-fno-omit-frame-pointer")
    perf_record("-a", "-g", "-e", "cpu-clock", "-F", "199", "-o", "perf.data", "--", mixed)
    check("perf record -a -g", "perf.data")
else:
    tap.skip("perf record -a -g", "perf is not installed")
tap.end()

#!/usr/bin/env python3
"""Waits for a disk that has stopped, by construction: a file system on a loop device is frozen, and a program writes to it. --off-cpu and --wall
say that it waits uninterruptibly, for as long as it says itself; so do --stacks and --every; all have the stack of the kernel."""
import os
import subprocess
import sys

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, run, start, until, until_enabled

tap = Tap()
need_events()
SECONDS = 1.5


def skip(why):
    tap.skip("a disk that has stopped", why)
    tap.end()
    raise SystemExit


if os.geteuid():
    skip("mounting and freezing need root")
missing = [tool for tool in ("mkfs.ext4", "fsfreeze", "unshare", "setsid") if not have(tool)]
if missing:
    skip(f"there is no {', '.join(missing)}")
if "IN_MOUNT" not in os.environ:  # the mount ends with this test
    os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__], dict(os.environ, IN_MOUNT="1"))

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noipa)) static void writes(int fd) { if (write(fd, "x", 1) != 1) _exit(9); __asm__ volatile(""); }
int main(void)
{
	int fd = open("mnt/file", O_WRONLY | O_CREAT, 0600);
	long begin;
	char c;
	if (fd < 0 || prctl(PR_SET_PDEATHSIG, 9))
		return 1;
	puts("opened");
	fflush(stdout);
	if (read(0, &c, 1) != 1) /* frozen by now */
		return 2;
	begin = now();
	writes(fd);
	printf("%ld\n", now() - begin);
	return 0;
}
"""
with open("writer.c", "w", encoding="utf-8") as f:
    f.write(PROGRAM)
run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "writer.c", "-o", "writer"])
with open("disk", "wb") as f:
    f.truncate(16 << 20)
os.mkdir("mnt")
for words in (["mkfs.ext4", "-q", "-F", "disk"], ["mount", "-o", "loop", "disk", "mnt"], ["fsfreeze", "-f", "mnt"], ["fsfreeze", "-u", "mnt"]):
    p = run(words, check=False)
    if p.returncode:
        skip(f"{' '.join(words)}: {p.stderr.strip()}")


class Frozen:
    """A writer that waits uninterruptibly; the disk goes on after some seconds whatever becomes of this test."""

    def __init__(self):
        self.p = subprocess.Popen(["./writer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.p.stdout.readline() == "opened\n"

    def stop(self, seconds=SECONDS):
        run(["fsfreeze", "-f", "mnt"])
        self.thaw = subprocess.Popen(["setsid", "sh", "-c", f"sleep {seconds}; exec fsfreeze -u mnt"])
        self.p.stdin.write("x")
        self.p.stdin.flush()
        until(lambda: "State:\tD" in open(f"/proc/{self.p.pid}/status", encoding="ascii").read(), "the wait", limit=seconds)

    def end(self):
        """The seconds that the writer says it has waited."""
        said = int(self.p.communicate(timeout=60)[0]) / 1e9
        self.thaw.wait()
        return said


def folded(name, *args):
    out = run([RESOLVE, "-q", *args, name], check=False).stdout
    return {s: int(n) / 1e9 for s, _, n in (line.rpartition(" ") for line in out.splitlines())}


def waits(stacks):
    """Of the write: seconds by the first level, and the kernel's frames."""
    of = {s: n for s, n in stacks.items() if ";writes;" in s}
    return sum(n for s, n in of.items() if s.startswith("uninterruptible;")), sum(of.values()), [s.partition(";writes;")[2] for s in of]


def is_kernels(frames):
    return any("percpu_rwsem_wait" in s or "sb_start_write" in s or "ext4_" in s for s in frames)


for option, event in (("--off-cpu", "off-cpu"), ("--wall", "wall")):
    f = Frozen()
    c = start(option, "-p", f.p.pid, "-o", f"d{option}.data")
    until_enabled(c)
    f.stop()
    said = f.end()
    err = c.communicate(timeout=60)[1]
    stacks = folded(f"d{option}.data", "--event", event, "--by", "state")
    disk, all_states, frames = waits(stacks)
    tap.check(said >= SECONDS - 0.5 and 0.98 * said - 0.01 <= disk <= said and all_states <= 1.02 * said + 0.01,
              f"{option}: uninterruptible for as long as the program says", disk, said, all_states, stacks, err)
    tap.check(is_kernels(frames), f"{option}: with what the kernel waits for", frames)

f = Frozen()
f.stop()
q = run([CAPTURE, "--stacks", "-p", str(f.p.pid), "-o", "now.data"], check=False, timeout=60)
while_frozen = "State:\tD" in open(f"/proc/{f.p.pid}/status", encoding="ascii").read()
f.end()
text = run([RESOLVE, "-q", "-f", "stacks", "now.data"]).stdout
now = folded("now.data", "--by", "state")
tap.check(while_frozen and len(now) == 1 and all(s.startswith("uninterruptible;writer;") for s in now) and f"writer ({f.p.pid}), uninterruptible:" in text,
          "--stacks: in the state uninterruptible", now, text)
tap.check(while_frozen and "writes" in text and is_kernels(text.splitlines()), "--stacks: a thread that nothing can halt, at once, with the kernel's part", text, q.stderr)

f = Frozen()
f.stop(1 + SECONDS)  # it may take long to begin
q = run([CAPTURE, "--every", "20", "--duration", "1", "-p", str(f.p.pid), "-o", "every.data"], check=False, timeout=60)
f.end()
stacks = folded("every.data", "--no-inline", "--by", "state")
took, whole, _ = waits(stacks)
tap.check(took == whole and 0.9 <= took <= 1.02 and is_kernels(stacks), "--every: the whole time", took, stacks, q.stderr)
run(["umount", "mnt"])
tap.end()

#!/usr/bin/env python3
"""A JVM is read when samples show it, which may be before its library is loaded: it is tried again with the samples that follow, and what is said
of a JVM that was not read is true.

By construction: a program maps a copy of libjvm.so as it is in the file, as the loader does first, and uses the processor; then it is loaded."""
import glob
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, children, have, need_events, run, until  # noqa: E402

tap = Tap()
need_events()
PROGRAM = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
static volatile unsigned long n;
static void work(int ms) { clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000); while (clock() < end) for (int i = 0; i < 10000; i++) n++; }
int main(int argc, char **argv) {
	struct stat st;
	int fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st)) return 1;
	void *raw = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (raw == MAP_FAILED) return 1;
	work(argc > 3 ? atoi(argv[3]) : 100);
	if (argc > 2) {
		munmap(raw, st.st_size);
		if (!dlopen(argv[1], RTLD_NOW)) { fprintf(stderr, "%s\n", dlerror()); return 1; }
	}
	work(argc > 3 ? 1500 : 400);
	if (argc > 4) { /* mov $10000000,%ecx; 1: dec %ecx; jne 1b; ret */
		static const unsigned char bytes[] = {0xb9, 0x80, 0x96, 0x98, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
		void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED) return 1;
		memcpy(code, bytes, sizeof bytes);
		for (int i = 0; i < 100; i++) ((void (*)(void))code)();
	}
	return 0;
}
"""
with open("loads.c", "w", encoding="utf-8") as f:
    f.write(PROGRAM)
run(["gcc", "-O1", "loads.c", "-o", "loads", "-ldl"])
os.makedirs("empty", exist_ok=True)
subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,--hash-style=gnu", "-x", "c", "-", "-o", "empty/libjvm.so"], input="int nothing(void) { return 0; }\n", text=True, check=True)


def notes(*command):
    """What is said of the JVM, as one text. At 49 Hz readings end before the next sample comes."""
    p = run([CAPTURE, "--bundle", "-F", "49", "-e", "cpu-clock:u", "-o", "x.data", "--", *command])
    return [line for line in p.stderr.splitlines() if "Java code" in line]


found = notes("./loads", "empty/libjvm.so", "load")
tap.check(len(found) == 1 and "has no tables of its structures" in found[0], "a library without tables: that is said, once", found)
found = notes("sh", "-c", "./loads empty/libjvm.so & wait")
tap.check(len(found) == 1 and "ended before its JVM was read" not in found[0], "of a child, too", found)

# capture is stopped while the program runs: when it goes on, there is nothing to read any more
os.mkfifo("gate")
q = subprocess.Popen([CAPTURE, "--bundle", "-F", "49", "-e", "cpu-clock:u", "-o", "x.data", "--", "sh", "-c", "cat gate; exec ./loads empty/libjvm.so"],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def command(pid):
    """The state and the command line of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat, open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
        return stat.read().rpartition(")")[2].split()[0], line.read()


until(lambda: any("gate" in command(pid)[1] and children(pid) for pid in children(q.pid)), "the command")
child = children(q.pid)[0]
os.kill(q.pid, signal.SIGSTOP)
with open("gate", "w", encoding="utf-8"):
    pass
until(lambda: command(child)[0] == "Z", "its end")
os.kill(q.pid, signal.SIGCONT)
found = [line for line in q.communicate(timeout=60)[1].splitlines() if "Java code" in line]
tap.check(found == [f"capture: process {child} ended before its JVM was read: its Java code has no names"], "a JVM that has ended when it is read", found)

libraries = sorted(glob.glob(os.path.dirname(os.path.dirname(os.path.realpath("/usr/bin/java"))) + "/lib/server/libjvm.so")) if have("java") else []
if not libraries or os.uname().machine != "x86_64":
    tap.skip("libjvm.so of a JVM", "there is none")
    tap.end()
found = notes("./loads", libraries[0])
tap.check(len(found) == 1 and "could not be read, or not yet" in found[0], "a JVM that is never loaded: not that it has no tables", found)
found = notes("./loads", libraries[0], "load")
tap.check(not found, "a JVM that is loaded later is read then", found)
found = notes("./loads", libraries[0], "load", "9000")
tap.check(not found, "a JVM that takes long to be loaded, too", found)
found = notes("./loads", libraries[0], "load", "100", "code")
tap.check(len(found) == 1 and "shows no code that could be read" in found[0], "a JVM that shows nothing: that is said", found)

said = run([RESOLVE, "-f", "folded", "-o", "x.folded", "x.data"]).stderr
tap.check("has not read this code in the JVM" in said and "record with `capture`" not in said, "a recording of capture: not that capture would help", said)
tap.end()

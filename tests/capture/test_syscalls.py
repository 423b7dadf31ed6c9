#!/usr/bin/env python3
"""System calls: capture --syscalls and resolve -f trace, beside strace of the same program."""
import os
import re
import subprocess

from lib import CAPTURE, RESOLVE, Tap, capture, descriptors, have, need_events, need_root, run, start, until, until_enabled

tap = Tap()
need_events()
need_root(tap, "system calls", "the kernel's tracepoints are for root only")

# Paths in all kinds of memory, which is overwritten as soon as the call is over.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	char on_stack[64], buf[64], *heap = malloc(64), *anon = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 3; i++) {
		sprintf(on_stack, "/nonexist/stack%d", i);
		open(on_stack, O_RDWR | O_CLOEXEC);
		memset(on_stack, 'x', sizeof on_stack - 1);
		sprintf(heap, "/nonexist/heap%d", i);
		access(heap, R_OK | X_OK);
		memset(heap, 'x', 63);
	}
	strcpy(on_stack, "/nonexist/raw");
	syscall(SYS_access, on_stack, R_OK);
	memset(on_stack, 'x', sizeof on_stack - 1);
	strcpy(anon, "/nonexist/new\nline\"");
	mkdir(anon, 0750);
	munmap(anon, 4096);
	int fd = open("made", O_RDWR | O_CREAT | O_TRUNC, 0640);
	write(fd, "what is written, and more than is shown of it\n", 46);
	lseek(fd, 0, SEEK_SET);
	read(fd, buf, sizeof buf);
	int other = dup(fd);
	close(fd);
	read(other, buf, 3);
	close(other);
	rename("made", "renamed");
	symlinkat("renamed", AT_FDCWD, "link");
	unlink("link");
	unlink("renamed");
	close(77);
	int ends[2], poll = epoll_create1(EPOLL_CLOEXEC);
	pipe2(ends, O_NONBLOCK | O_CLOEXEC);
	syscall(SYS_dup3, ends[0], 60, O_CLOEXEC);
	epoll_ctl(poll, EPOLL_CTL_ADD, 77, &(struct epoll_event){0});
	socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlinkat(AT_FDCWD, "/nonexist/x", AT_REMOVEDIR);
	unlinkat(AT_FDCWD, "/nonexist/x", 0);
	int sock = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP), on = 1;
	socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(sock, SOL_TCP, TCP_NODELAY, &on, sizeof on);
	sendto(sock, "text", 4, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE, NULL, 0);
	recvfrom(sock, buf, 5, MSG_DONTWAIT | MSG_PEEK, NULL, NULL);
	recvmsg(sock, &(struct msghdr){0}, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	sendmsg(77, &(struct msghdr){0}, MSG_EOR);
	shutdown(sock, SHUT_WR);
	fcntl(sock, F_GETFD);
	fcntl(sock, F_SETFD, FD_CLOEXEC);
	fcntl(sock, F_GETFD);
	fcntl(sock, F_GETFL);
	fcntl(sock, F_SETFL, O_RDWR | O_NONBLOCK);
	fcntl(sock, F_DUPFD_CLOEXEC, 50);
	fcntl(77, F_GETLK, NULL);
	open("/", O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC | O_LARGEFILE);
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, NULL);
	syscall(SYS_getrlimit, RLIMIT_STACK, NULL);
	syscall(SYS_futex, &on, FUTEX_WAKE_PRIVATE, 1);
	syscall(SYS_futex, &on, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 7, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
	syscall(SYS_clone, SIGCHLD | CLONE_FS | CLONE_NEWUSER, NULL, NULL, NULL, NULL);
	syscall(SYS_wait4, -1, NULL, WNOHANG, NULL);
	ioctl(sock, TIOCGWINSZ, NULL);
	syscall(SYS_poll, NULL, 0, 0);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, NULL, NULL, 8);
	syscall(SYS_rt_sigaction, 34, NULL, NULL, 8);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, NULL, NULL);
	return 0;
}
"""
with open("sys.c", "w") as f:
    f.write(PROGRAM)
CALL = re.compile(r"(\w+)\((.*)\) += (\S+)(?: (E\w+))?")


def calls(text):
    """[(name, arguments, result, errno)] from the first that main() makes."""
    found = [m.groups() for m in map(CALL.search, text.splitlines()) if m]
    first = next((i for i, c in enumerate(found) if "/nonexist/stack0" in c[1]), len(found))
    return [c for c in found[first:] if c[0] not in ("brk", "mmap", "munmap", "exit_group")]


def plain(c):
    """Without addresses, without the paths of descriptors, and texts as far as both show them."""
    args = re.sub(r"0x[0-9a-f]+|NULL", "ADDR", re.sub(r"(\d)<[^>]*>", r"\1", c[1]))
    args = re.sub(r"\[\d+(, \d+)?\]|\{.*\}", "ADDR", args)  # strace shows what is behind them after the call
    args = re.sub(r'(read\w*\(\d+), "(?:[^"\\]|\\.)*"(\.\.\.)?', r"\1, ADDR", f"{c[0]}({args}")
    return args, c[2], c[3]


def programs():
    run(["gcc", "-O2", "sys.c", "-o", "dynamic"])
    run(["gcc", "-O2", "-static", "sys.c", "-o", "static"])
    return ["./dynamic", "./static"]


for program in programs():
    capture("--syscalls", "--", program)
    shown = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
    ours = calls(shown)
    tap.check(len(ours) == 56 and not any("?" in c[1] for c in ours),
              f"{program}: all calls, and no text that was read too late", ours)
    by_strace = run(["strace", "-f", "-o", "strace.out", program], check=False)
    theirs = calls(open("strace.out").read()) if have("strace") else []
    if by_strace.returncode or not theirs:
        tap.skip(f"{program}: equal to strace", "strace cannot run here")
        continue
    tap.check([plain(c) for c in ours] == [plain(c) for c in theirs], f"{program}: names, arguments, results and errors are those of strace",
              *[(a, b) for a, b in zip(map(plain, ours), map(plain, theirs)) if a != b])
    tap.check("pipe2(0x" in shown and ", O_NONBLOCK|O_CLOEXEC) = 0" in shown and "SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK" in shown, f"{program}: a pointer, flags", shown)
    tap.check("write(3<made>, \"what is written, and more than i\"..., 46) = 46" in shown and "3</nonexist" not in shown,
              f"{program}: descriptors with their paths", shown)
    reads = re.findall(r"read\((\d<made>)", shown)
    tap.check(reads == ["3<made>", "4<made>"], f"{program}: of a descriptor that was copied, too", reads)

durations = [float(m[1]) for m in re.finditer(r"^ *\d+\.\d+ \( *(\d+\.\d+) ms\)", shown, re.M)]
tap.check(len(durations) > 20 and "exit_group(0)" in shown and re.search(r"\(<= +[\d.]+ ms\): \S+ exit_group\(0\)$", shown, re.M) is not None,
          "durations; what does not return ends with its thread", shown[-300:])
capture("--syscalls", "-g", "--", "./static")
callers = run([RESOLVE, "-q", "-f", "folded", "--event", "raw_syscalls:sys_enter", "perf.data"]).stdout
tap.check(any(";main;" in line and "symlinkat" in line for line in callers.splitlines()), "-g: who makes the calls", callers)
capture("--syscalls", "--", "./static")
text = run(["perf", "script", "-i", "perf.data", "-F", "trace"]).stdout
tap.check(' 1="/nonexist/stack0"' in text, "perf reads the recording, with the paths", text[:500])

p = subprocess.Popen(["sh", "-c", "while [ ! -e stop ]; do cat /nonexist/late; done"], stderr=subprocess.DEVNULL)
capture("--syscalls", "-p", p.pid, "-o", "attached.data", "--duration", 1)
open("stop", "w").close()
p.wait()
shown = run([RESOLVE, "-q", "-f", "trace", "attached.data"]).stdout
tap.check('openat(AT_FDCWD, "/nonexist/late", O_RDONLY) = -1 ENOENT' in shown, "-p: processes that it starts, too", shown[-600:])

# ---- files that were open before ------------------------------------------------------------------
with open("open.c", "w") as f:
    f.write(r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	char buf[8];
	struct stat s;
	int before = open("before", O_RDWR | O_CREAT, 0600), folder = open(".", O_RDONLY | O_DIRECTORY), ends[2];
	pipe(ends);
	while (access("go", F_OK)) usleep(10000);
	for (int i = 0; i < 2; i++) {
		pread(before, buf, 7, 0);
		fstatat(folder, "nothing", &s, 0);
		write(ends[1], "text", 4);
	}
	close(before);
	pread(before, buf, 7, 1);
	open("later", O_RDWR | O_CREAT, 0600);
	pread(before, buf, 7, 2);
	close_range(before, ends[1], 0);
	pread(before, buf, 7, 3);
	return 0;
}
""")
run(["gcc", "-O1", "-w", "open.c", "-o", "open"])
target = subprocess.Popen(["./open"])
until(lambda: len(descriptors(target.pid)) == 7, "the files to be open")
q = start("--syscalls", "-p", target.pid, "-o", "open.data")
until_enabled(q)
open("go", "w").close()
target.wait()
q.communicate()
shown = run([RESOLVE, "-q", "-f", "trace", "open.data"]).stdout
here = re.escape(os.getcwd())
reads = re.findall(r"pread64\((\S+), 0x\w+, 7, (\d)\)", shown)
tap.check(reads == [(f"3<{os.getcwd()}/before>", "0")] * 2 + [("3", "1"), ("3<later>", "2"), ("3", "3")],
          "-p: a file that was open before, until it is closed, by close_range() too", reads, shown[-1500:])
tap.check(len(re.findall(rf'newfstatat\(4<{here}>, "nothing"', shown)) == 2 and len(re.findall(r"write\(6<pipe:\[\d+\]>, ", shown)) == 2,
          "-p: a folder and a pipe that were open before", shown[-1500:])

p = run([CAPTURE, "--syscalls", "-o", "all.data", "-a", "--", "./static"], check=False)
mine = [line for line in run([RESOLVE, "-q", "-f", "trace", "--comm", "capture", "all.data"]).stdout.splitlines() if "process_vm_readv" in line]
tap.check(p.returncode == 0 and not mine, "-a: not what capture itself does", mine[:3])

# ---- threads and processes that end behind many calls ---------------------------------------------------------
with open("ends.c", "w") as f:
    f.write("""#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *naps(void *arg) { for (int i = 0; i < 2000; i++) getppid(); usleep((long)arg * 200000); return 0; }
int main(void) {
	pthread_t t[3];
	for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, naps, (void *)i);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	if (!fork()) { usleep(200000); _exit(7); }
	wait(0); usleep(300000); return 0;
}
""")
run(["gcc", "-O1", "-pthread", "ends.c", "-o", "ends"])
run([CAPTURE, "-q", "--syscalls", "-o", "ends.data", "--", "./ends"])
exits = re.findall(r"\((<=|) *([\d.]+) ms\): ends/\S+ exit(?:_group)?\(", run([RESOLVE, "-q", "-f", "trace", "ends.data"]).stdout)
tap.check(len(exits) == 5 and all(how == "<=" and float(ms) < 100 for how, ms in exits), "the last call of each thread ends with it", exits)
shown = run([RESOLVE, "-q", "-f", "trace", "ends.data"]).stdout
begun = re.findall(r"^ *[\d.]+ +: ends/\S+ \.\.\. \[continued\]: (\w+)\(\) = (\d+)", shown, re.M)
tap.check([name for name, _ in begun][0] == "execve" and len(begun) == 5 and {r for _, r in begun} == {"0"} and "sys_exit" not in shown,
          "where a task or the command begins: the end of a call, as perf trace has it", shown[:300], begun)

# ---- the table of calls -------------------------------------------------------------------------
defined = dict((int(n), name) for name, n in re.findall(r"#define __NR_(\w+) (\d+)", run(
    ["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-xc", "/dev/null"]).stdout))
source = open(os.path.join(os.environ["TOP"], "base", "syscalls.c")).read()
rows = {}
for array, first in (({"x86_64": "x86_64", "aarch64": "generic"}[os.uname().machine], 0), ("late", 424)):
    body = re.search(r"\*const " + array + r"\[\] = \{(.*?)\};", source, re.S)[1]
    rows.update({first + i: item.split()[0].strip('"') for i, item in enumerate(re.findall(r'"[^"]*"|NULL', body)) if item != "NULL"})
wrong = {n: (rows[n], defined[n]) for n in rows if n in defined and rows[n] != defined[n]}
tap.check(len(rows) > 300 and not wrong, "the table of names is the kernel's", wrong)
tap.end()

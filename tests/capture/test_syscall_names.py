#!/usr/bin/env python3
"""capture --syscalls, resolve -f trace: flags and numbers by name, as strace prints the same calls."""
import os
import re

from lib import RESOLVE, Tap, capture, have, need_events, run

tap = Tap()
need_events()
if os.geteuid() or not have("strace"):
    tap.skip("names of flags", "the kernel's tracepoints are for root only" if os.geteuid() else "no strace")
    tap.end()
    raise SystemExit

# Most fail, as there is no descriptor 77, process 999999 and /nonexist: what is asked for is seen nevertheless.
CALLS = """
mknodat, AT_FDCWD, "/nonexist/n", S_IFCHR | 0644, makedev(1, 3)
mknodat, AT_FDCWD, "/nonexist/n", S_IFIFO | 0600, 0
mknodat, AT_FDCWD, "/nonexist/n", 0600, 0
mknod, "/nonexist/n", S_IFBLK | 04755, makedev(8, 1)
chown, "/nonexist/c", -1, 5
fchown, 77, 0, -1
fchownat, AT_FDCWD, "/nonexist/c", -1, 7, AT_SYMLINK_NOFOLLOW
setresuid, -1, -1, -1
setregid, -1, -1
eventfd2, 5, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE
inotify_init1, IN_CLOEXEC | IN_NONBLOCK
inotify_add_watch, 77, "/tmp", IN_CREATE | IN_DELETE | IN_ONLYDIR
inotify_add_watch, 77, "/", IN_ALL_EVENTS
inotify_rm_watch, 77, 1
memfd_create, "name", MFD_CLOEXEC | MFD_ALLOW_SEALING
prctl, PR_SET_PDEATHSIG, SIGTERM
prctl, PR_GET_DUMPABLE
prctl, PR_SET_DUMPABLE, 1
prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0
prctl, PR_CAPBSET_READ, 21
prctl, PR_SET_TIMERSLACK, 50000
umount2, "/nonexist/u", MNT_DETACH | UMOUNT_NOFOLLOW
renameat2, AT_FDCWD, "/nonexist/a", AT_FDCWD, "/nonexist/b", RENAME_NOREPLACE
renameat2, AT_FDCWD, "/nonexist/a", AT_FDCWD, "/nonexist/b", RENAME_EXCHANGE
fallocate, 77, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 4096
fallocate, 77, 0, 4096, 8192
mount, "none", "/nonexist/m", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, NULL
mount, "none", "/nonexist/m", NULL, MS_REC | MS_PRIVATE, NULL
unshare, CLONE_FILES | CLONE_FS
setns, 77, CLONE_NEWNET
ioctl, 77, TCGETS, NULL
ioctl, 77, TIOCOUTQ, &n
ioctl, 77, FIONREAD, &n
ioctl, 77, SIOCGIFHWADDR, NULL
ioctl, 77, 0x80081272, NULL
ioctl, 77, 0xc020660b, NULL
fcntl, 77, F_OFD_SETLK, NULL
fcntl, 77, F_SETSIG, SIGIO
fcntl, 77, F_GETSIG
fcntl, 77, F_SETLEASE, F_RDLCK
fcntl, 77, F_GETLEASE
fcntl, 77, F_NOTIFY, DN_CREATE | DN_MULTISHOT
fcntl, 77, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE
fcntl, 77, F_GET_SEALS
fcntl, 77, F_GETOWN_EX, NULL
waitid, P_ALL, 0, NULL, WEXITED | WNOHANG, NULL
waitid, P_PID, 99999, NULL, WEXITED | WNOWAIT | WSTOPPED, NULL
wait4, 99999, NULL, __WALL | WCONTINUED, NULL
kill, 999999, SIGUSR1
tgkill, 999999, 999999, SIGRTMIN
mprotect, NULL, 0, PROT_READ | PROT_GROWSDOWN
madvise, NULL, 0, MADV_DONTFORK
madvise, NULL, 0, MADV_COLD
madvise, NULL, 0, MADV_DODUMP
msync, NULL, 0, MS_SYNC | MS_INVALIDATE
mlockall, 4
mremap, NULL, 0, 4096, MREMAP_MAYMOVE
lseek, 77, 0, SEEK_HOLE
statx, AT_FDCWD, "/nonexist/s", AT_STATX_SYNC_AS_STAT | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, NULL
statx, AT_FDCWD, "/nonexist/s", AT_STATX_DONT_SYNC, STATX_MODE | STATX_SIZE | STATX_BTIME, NULL
statx, AT_FDCWD, "/nonexist/s", AT_STATX_FORCE_SYNC | AT_EMPTY_PATH, STATX_ALL, NULL
futex, &n, FUTEX_WAIT_REQUEUE_PI, 7, NULL, &n, 0
futex, &n, FUTEX_FD, 1
clock_gettime, CLOCK_BOOTTIME_ALARM, NULL
timerfd_settime, 77, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, NULL, NULL
getitimer, ITIMER_VIRTUAL, NULL
prlimit64, 0, RLIMIT_RTTIME, NULL, NULL
getrusage, RUSAGE_CHILDREN, NULL
setpriority, PRIO_USER, 99999, 5
signalfd4, -1, NULL, 8, SFD_CLOEXEC | SFD_NONBLOCK
flock, 77, LOCK_EX | LOCK_NB
sync_file_range, 77, 0, 4096, 7
fadvise64, 77, 0, 4096, POSIX_FADV_DONTNEED
setxattr, "/nonexist/x", "user.name", NULL, 0, XATTR_CREATE
faccessat2, AT_FDCWD, "/nonexist/a", F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW
utimensat, AT_FDCWD, "/nonexist/a", NULL, AT_SYMLINK_NOFOLLOW
close_range, 80, 90, 4
pidfd_open, 999999, 04000
umask, 022
umask, 022
sched_setscheduler, 999999, SCHED_FIFO, NULL
sched_get_priority_max, SCHED_RR
seccomp, 1, 0, NULL
delete_module, "nonexist", 04000
name_to_handle_at, AT_FDCWD, "/nonexist/h", NULL, NULL, AT_EMPTY_PATH
perf_event_open, NULL, 0, -1, -1, 8
open_tree, AT_FDCWD, "/nonexist/t", 0x80001
move_mount, 77, "", AT_FDCWD, "/nonexist/t", 4
bpf, 0, NULL, 0
pkey_mprotect, NULL, 0, PROT_READ, -1
msgget, 77, 0600
shmget, 0, -1L, 01000 | 0600
msgctl, 999999, IPC_STAT, NULL
shmat, 999999, NULL, SHM_RDONLY
connect, 77, &i4, sizeof i4
bind, 77, &i6, sizeof i6
connect, 77, &un, sizeof un
connect, 77, &few, sizeof few
connect, 77, &few, 7
bind, 77, &hidden, offsetof(struct sockaddr_un, sun_path) + 9
bind, 77, &netlink, sizeof netlink
connect, 77, &i4, 5
connect, 77, &i4, 2
connect, 77, NULL, 0
connect, 77, 8, 16
sendto, 77, "text", 4, MSG_DONTWAIT, &i4, sizeof i4
write, 77, 8, 16
openat2, AT_FDCWD, "/nonexist/o", &how, sizeof how
openat2, AT_FDCWD, "/nonexist/o", &makes, sizeof makes
openat2, AT_FDCWD, "/nonexist/o", NULL, 0
clone3, &cloned, sizeof cloned
clone3, &thread, sizeof thread
clone3, NULL, 88
"""
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
static void nothing(int sig)
{
	(void)sig;
}
/* A signal in 20 ms ends the call that follows. */
static void alarm_soon(int flags)
{
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing, .sa_flags = flags}, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 20000}, NULL);
}
int main(void)
{
	int n = 0, ends[2];
	char c;
	/* A probe tells only of one page what it read. */
	_Alignas(256) struct sockaddr_in i4 = {.sin_family = AF_INET, .sin_port = htons(443), .sin_addr.s_addr = htonl(0x7f000102)};
	_Alignas(256) struct sockaddr_in6 i6 = {.sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	_Alignas(256) struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/nonexist/socket/with/a/path/that/is/longer/than/what/is/shown/of/buffers"};
	_Alignas(256) struct sockaddr_un hidden = {.sun_family = AF_UNIX, .sun_path = "\0abstract"}, few = {.sun_family = AF_UNIX, .sun_path = "sock"};
	_Alignas(256) struct sockaddr_nl netlink = {.nl_family = AF_NETLINK, .nl_pid = 7, .nl_groups = 0x1f};
	_Alignas(256) struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	_Alignas(256) struct open_how makes = {.flags = O_RDWR | O_CREAT, .mode = 0640};
	_Alignas(256) struct { unsigned long long v[11]; } cloned = {{CLONE_FS | CLONE_THREAD, 0, 0, 0, SIGCHLD}};
	_Alignas(256) struct { unsigned long long v[11]; } thread = {{CLONE_THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID, 0, 0, 0, 0, 0, 0x4000}};
	open("/nonexist/first", O_RDWR);
@CALLS@
	memset(&i4, 'x', sizeof i4); /* what is read too late is this */
	memset(&un, 'x', sizeof un);
	memset(&cloned, 'x', sizeof cloned);
	alarm_soon(0);
	pause();
	alarm_soon(0);
	syscall(SYS_nanosleep, &(struct timespec){30, 0}, NULL);
	pipe2(ends, 0);
	alarm_soon(0);
	read(ends[0], &c, 1);
	return 0;
}
"""
CALL = re.compile(r"(\w+)\((.*)\) += (\S+)(?: (E\w+))?")


def calls(text):
    """[name(arguments) = result] from the first that main() makes; pointers and what is behind them alike."""
    found = [m.groups() for m in map(CALL.search, text.splitlines()) if m]
    first = next((i for i, c in enumerate(found) if "/nonexist/first" in c[1]), len(found))
    plain = []
    for name, args, result, error in found[first:]:
        if name in ("rt_sigreturn", "exit_group"):
            continue  # strace shows the mask on the stack; the end of a program has no result
        args = re.sub(r"(\d)<[^>]*>", r"\1", args)
        args = re.sub(r"0x[57][0-9a-f]{11}|\[\d+(, \d+)?\]|\{(it_|tv_|sa_handler).*\}(?=, |$)", "ADDR", args)
        plain.append(f"{name}({args}) = {result} {error or ''}".rstrip())
    return plain


made = [line for line in CALLS.splitlines() if line]
if os.uname().machine != "x86_64":
    made = [line for line in made if line.split(",")[0] not in ("mknod", "chown")]
with open("names.c", "w") as f:
    f.write(PROGRAM.replace("@CALLS@", "\n".join(f"\tsyscall(SYS_{line});" for line in made)))
run(["gcc", "-O1", "names.c", "-o", "names"])
if run(["strace", "-f", "-o", "strace.out", "./names"], check=False).returncode:
    tap.skip("names of flags", "strace cannot run here")
    tap.end()
    raise SystemExit
capture("--syscalls", "--", "./names")
shown = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
ours, theirs = calls(shown), calls(open("strace.out").read())
tap.check(len(ours) == len(theirs) > len(made), "each call once", len(ours), len(theirs), len(made))
different = [(a, b) for a, b in zip(ours, theirs) if a != b]
tap.check(not different, "flags, numbers and errors have the names that strace gives to them", *different)
structures = [line for line in shown.splitlines() if re.search(r" (connect|bind|write|sendto|openat2|clone3)\(", line)]
tap.check(len(structures) == 19 and "}?" not in shown and "write(77, 0x8, 16)" in shown,
          "structures are read before the call; memory that is not there is not shown as zeros", *structures)
tap.check([e for e in ("ERESTARTNOHAND", "ERESTART_RESTARTBLOCK") if f"= ? {e} (" in shown] == ["ERESTARTNOHAND", "ERESTART_RESTARTBLOCK"],
          "a call that a signal ended says so by name", shown[-1500:])

# ---- paths that are longer than the kernel's room for them, or end in memory that is not there ---
PATHS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	char *path = malloc(10000), *end = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int lengths[] = {9999, 4096, 4095, 4090, 4040, 4020, 3000, 2049, 600, 512, 511, 100};
	munmap(end + 4096, 4096);
	memset(path, 'x', 10000);
	memcpy(path, "/nonexist/", 10);
	for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
		path[lengths[i]] = 0;
		mkdir(path, 0700);
		rename(path, "/nonexist/short");
		rename("/nonexist/short", path);
		rename(path, path);
	}
	memset(end, 'z', 4096);
	unlink(end + 4090);
	unlink((char *)8);
	return 0;
}
"""
with open("paths.c", "w") as f:
    f.write(PATHS)
run(["gcc", "-w", "-O1", "paths.c", "-o", "paths"])
capture("--syscalls", "--", "./paths")
shown = run([RESOLVE, "-q", "-f", "trace", "perf.data"]).stdout
lengths = [9999, 4096, 4095, 4090, 4040, 4020, 3000, 2049, 600, 512, 511, 100]
made = re.findall(r" (mkdir|rename)\((.*)\) = -1", shown)
# "?": read when the call was over, and the program may have changed it.
TEXT = re.compile(r'"([^"]*)"(\.\.\.)?(\??)|0x\w+ \(not read\)')
wrong = []
for i, (name, args) in enumerate(made):
    whole = "/nonexist/" + "x" * (lengths[i // 4] - 10)
    paths = [[whole], [whole, "/nonexist/short"], ["/nonexist/short", whole], [whole, whole]][i % 4]
    read = list(TEXT.finditer(args))
    if len(read) != len(paths) or any(m[1] is not None and not m[3] and (not path.startswith(m[1]) or (m[1] == path) == bool(m[2])) for m, path in zip(read, paths)):
        wrong.append((i, name, args[:80]))
    if lengths[i // 4] < 500 and [m[1] for m in read] != paths:
        wrong.append((i, name, args))
tap.check(len(made) == 4 * len(lengths) and not wrong, "a path that was not read as a whole ends in ..., others do not", len(made), *wrong)
tap.check(re.search(r'unlink\(("z{1,6}"\.\.\.\??|0x\w+ \(not read\))\)', shown) is not None and "unlink(0x8 (not read))" in shown, "a path in memory that is not there", shown[-600:])
tap.end()

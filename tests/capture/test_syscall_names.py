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
"""
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
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
	open("/nonexist/first", O_RDWR);
@CALLS@
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
        args = re.sub(r"0x[57][0-9a-f]{11}|\[\d+(, \d+)?\]|\{.*\}(?=, |$)", "ADDR", args)
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
tap.check([e for e in ("ERESTARTNOHAND", "ERESTART_RESTARTBLOCK") if f"= ? {e} (" in shown] == ["ERESTARTNOHAND", "ERESTART_RESTARTBLOCK"],
          "a call that a signal ended says so by name", shown[-1500:])
tap.end()

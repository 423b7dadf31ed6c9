/* syscalls.c - the tables of system calls by number. */
#include "base/syscalls.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* All processors have the same numbers from here on. */
#define LATE_FIRST 424

/* "NAME LETTERS" by number; NULL: there is none. */
/* clang-format off */
static const char *const x86_64[] = {
	"read fxu", "write fbu", "open pOo", "close f", "stat px", "fstat fx", "lstat px",
	"poll xud", "lseek fdW", "mmap xuPMfh", "mprotect xuP", "munmap xu", "brk x",
	"rt_sigaction Sxxu", "rt_sigprocmask Bxxu", "rt_sigreturn ", "ioctl fix", "pread64 fxud",
	"pwrite64 fbud", "readv fxu", "writev fxu", "access pA", "pipe x", "select dxxxx",
	"sched_yield ", "mremap xuumx", "msync xud", "mincore xux", "madvise xuV", "shmget huJ",
	"shmat dxd", "shmctl ddx", "dup f", "dup2 Df", "pause ", "nanosleep xx", "getitimer dx",
	"alarm u", "setitimer dxx", "getpid ", "sendfile ffxu", "socket NYI", "connect fzd",
	"accept fxx", "sendto fbuGzd", "recvfrom fxuGxx", "sendmsg fxG", "recvmsg fxG",
	"shutdown fH", "bind fzd", "listen fd", "getsockname fxx", "getpeername fxx",
	"socketpair NYIx", "setsockopt fstxd", "getsockopt fstxx", "clone Cxxxx", "fork ",
	"vfork ", "execve pxx", "exit d", "wait4 dxwx", "kill dS", "uname x", "semget hdJ",
	"semop dxx", "semctl dddx", "shmdt x", "msgget hJ", "msgsnd dxxd", "msgrcv dxxdd",
	"msgctl ddx", "fcntl fKk", "flock fu", "fsync f", "fdatasync f", "truncate pd",
	"ftruncate fd", "getdents fxu", "getcwd xu", "chdir p", "fchdir f", "rename pp",
	"mkdir po", "rmdir p", "creat po", "link pp", "unlink p", "symlink pp", "readlink pxd",
	"chmod po", "fchmod fo", "chown pUU", "fchown fUU", "lchown pUU", "umask o",
	"gettimeofday xx", "getrlimit Rx", "getrusage dx", "sysinfo x", "times x", "ptrace ddxx",
	"getuid ", "syslog dxd", "getgid ", "setuid u", "setgid u", "geteuid ", "getegid ",
	"setpgid dd", "getppid ", "getpgrp ", "setsid ", "setreuid UU", "setregid UU",
	"getgroups dx", "setgroups dx", "setresuid UUU", "getresuid xxx", "setresgid UUU",
	"getresgid xxx", "getpgid d", "setfsuid u", "setfsgid u", "getsid d", "capget xx",
	"capset xx", "rt_sigpending xu", "rt_sigtimedwait xxxu", "rt_sigqueueinfo ddx",
	"rt_sigsuspend xu", "sigaltstack xx", "utime px", "mknod pnv", "uselib p",
	"personality h", "ustat hx", "statfs px", "fstatfs fx", "sysfs dxx", "getpriority dd",
	"setpriority ddd", "sched_setparam dx", "sched_getparam dx", "sched_setscheduler ddx",
	"sched_getscheduler d", "sched_get_priority_max d", "sched_get_priority_min d",
	"sched_rr_get_interval dx", "mlock xu", "munlock xu", "mlockall d", "munlockall ",
	"vhangup ", "modify_ldt dxu", "pivot_root pp", "_sysctl xxxxxx", "prctl dhhhh",
	"arch_prctl ax", "adjtimex x", "setrlimit Rx", "chroot p", "sync ", "acct p",
	"settimeofday xx", "mount ppphx", "umount2 pd", "swapon pd", "swapoff p", "reboot ddux",
	"sethostname pd", "setdomainname pd", "iopl u", "ioperm uud", "create_module xxxxxx",
	"init_module xup", "delete_module px", "get_kernel_syms xxxxxx", "query_module xxxxxx",
	"quotactl upxx", "nfsservctl xxxxxx", "getpmsg xxxxxx", "putpmsg xxxxxx",
	"afs_syscall xxxxxx", "tuxcall xxxxxx", "security xxxxxx", "gettid ", "readahead fdu",
	"setxattr ppxud", "lsetxattr ppxud", "fsetxattr fpxud", "getxattr ppxu",
	"lgetxattr ppxu", "fgetxattr fpxu", "listxattr pxu", "llistxattr pxu", "flistxattr fxu",
	"removexattr pp", "lremovexattr pp", "fremovexattr fp", "tkill dS", "time x",
	"futex xFuxxu", "sched_setaffinity dux", "sched_getaffinity dux",
	"set_thread_area xxxxxx", "io_setup ux", "io_destroy h", "io_getevents hddxx",
	"io_submit hdx", "io_cancel hxx", "get_thread_area xxxxxx", "lookup_dcookie xxu",
	"epoll_create d", "epoll_ctl_old xxxxxx", "epoll_wait_old xxxxxx",
	"remap_file_pages xuxxx", "getdents64 fxu", "set_tid_address x", "restart_syscall ",
	"semtimedop dxxx", "fadvise64 fduu", "timer_create cxx", "timer_settime djxx",
	"timer_gettime dx", "timer_getoverrun d", "timer_delete d", "clock_settime cx",
	"clock_gettime cx", "clock_getres cx", "clock_nanosleep cjxx", "exit_group d",
	"epoll_wait fxdd", "epoll_ctl fLfx", "tgkill ddS", "utimes px", "vserver xxxxxx",
	"mbind xuxxuh", "set_mempolicy dxx", "get_mempolicy xxxxx", "mq_open xdox",
	"mq_unlink x", "mq_timedsend fxxxx", "mq_timedreceive fxxxx", "mq_notify fx",
	"mq_getsetattr fxx", "kexec_load xxxxxx", "waitid ddxwx", "add_key xxxxx",
	"request_key xxxx", "keyctl dhhhh", "ioprio_set ddd", "ioprio_get dd", "inotify_init ",
	"inotify_add_watch fpx", "inotify_rm_watch fd", "migrate_pages dxxx", "openat DpOo",
	"mkdirat Dpo", "mknodat Dpnv", "fchownat DpUUd", "futimesat Dpx", "newfstatat DpxT",
	"unlinkat DpT", "renameat DpDp", "linkat DpDpT", "symlinkat pDp", "readlinkat Dpxu",
	"fchmodat Dpo", "faccessat DpA", "pselect6 dxxxxx", "ppoll xuxxu", "unshare C",
	"set_robust_list xu", "get_robust_list dxx", "splice fxfxul", "tee fful",
	"sync_file_range fddh", "vmsplice fxul", "move_pages dxxxxd", "utimensat Dpxd",
	"epoll_pwait fxddxu", "signalfd fxu", "timerfd_create cq", "eventfd u", "fallocate fxdd",
	"timerfd_settime fjxx", "timerfd_gettime fx", "accept4 fxxY", "signalfd4 fxud",
	"eventfd2 ud", "epoll_create1 Q", "dup3 DfE", "pipe2 xE", "inotify_init1 d",
	"preadv fxuhh", "pwritev fxuhh", "rt_tgsigqueueinfo dddx", "perf_event_open xddfh",
	"recvmmsg fxuGx", "fanotify_init hh", "fanotify_mark dhhDp", "prlimit64 dRxx",
	"name_to_handle_at Dpxxd", "open_by_handle_at dxd", "clock_adjtime cx", "syncfs f",
	"sendmmsg fxuG", "setns fC", "getcpu xxx", "process_vm_readv dxuxuh",
	"process_vm_writev dxuxuh", "kcmp dddhh", "finit_module fph", "sched_setattr dxh",
	"sched_getattr dxuh", "renameat2 DpDph", "seccomp uhx", "getrandom xug",
	"memfd_create ph", "kexec_file_load xxxxxx", "bpf dxu", "execveat fpxxT",
	"userfaultfd d", "membarrier dh", "mlock2 xux", "copy_file_range fxfxuh",
	"preadv2 fxuhhh", "pwritev2 fxuhhh", "pkey_mprotect xuPd", "pkey_alloc hh",
	"pkey_free d", "statx DpThx", "io_pgetevents hddxxx", "rseq xuhh"
};
/* clang-format on */

/* clang-format off */
static const char *const late[] = {
	"pidfd_send_signal DSxh", "io_uring_setup ux", "io_uring_enter fuuhxu",
	"io_uring_register fhxu", "open_tree Dph", "move_mount DpDph", "fsopen ph",
	"fsconfig fuxxd", "fsmount fhh", "fspick Dph", "pidfd_open dh", "clone3 ru",
	"close_range uuh", "openat2 Dpyu", "pidfd_getfd Dfx", "faccessat2 DpAT",
	"process_madvise Dxudx", "epoll_pwait2 fxdxxu", "mount_setattr Dphxu",
	"quotactl_fd fuxx", "landlock_create_ruleset xxx", "landlock_add_rule xxxx",
	"landlock_restrict_self xx", "memfd_secret x", "process_mrelease Dh",
	"futex_waitv xxxxd", "set_mempolicy_home_node xuxx"
};
/* clang-format on */

/* clang-format off */
static const char *const generic[] = {
	"io_setup ux", "io_destroy h", "io_submit hdx", "io_cancel hxx", "io_getevents hddxx",
	"setxattr ppxud", "lsetxattr ppxud", "fsetxattr fpxud", "getxattr ppxu",
	"lgetxattr ppxu", "fgetxattr fpxu", "listxattr pxu", "llistxattr pxu", "flistxattr fxu",
	"removexattr pp", "lremovexattr pp", "fremovexattr fp", "getcwd xu",
	"lookup_dcookie xxu", "eventfd2 ud", "epoll_create1 Q", "epoll_ctl fLfx",
	"epoll_pwait fxddxu", "dup f", "dup3 DfE", "fcntl fKk", "inotify_init1 d",
	"inotify_add_watch fpx", "inotify_rm_watch fd", "ioctl fix", "ioprio_set ddd",
	"ioprio_get dd", "flock fu", "mknodat Dpnv", "mkdirat Dpo", "unlinkat DpT",
	"symlinkat pDp", "linkat DpDpT", NULL, "umount2 pd", "mount ppphx", "pivot_root pp",
	"nfsservctl xxxxxx", "statfs px", "fstatfs fx", "truncate pd", "ftruncate fd",
	"fallocate fxdd", "faccessat DpA", "chdir p", "fchdir f", "chroot p", "fchmod fo",
	"fchmodat Dpo", "fchownat DpUUd", "fchown fUU", "openat DpOo", "close f", "vhangup ",
	"pipe2 xE", "quotactl upxx", "getdents64 fxu", "lseek fdW", "read fxu", "write fbu",
	"readv fxu", "writev fxu", "pread64 fxud", "pwrite64 fbud", "preadv fxuhh",
	"pwritev fxuhh", "sendfile ffxu", "pselect6 dxxxxx", "ppoll xuxxu", "signalfd4 fxud",
	"vmsplice fxul", "splice fxfxul", "tee fful", "readlinkat Dpxu", NULL, NULL, "sync ",
	"fsync f", "fdatasync f", "sync_file_range fddh", "timerfd_create cq",
	"timerfd_settime fjxx", "timerfd_gettime fx", "utimensat Dpxd", "acct p", "capget xx",
	"capset xx", "personality h", "exit d", "exit_group d", "waitid ddxwx",
	"set_tid_address x", "unshare C", "futex xFuxxu", "set_robust_list xu",
	"get_robust_list dxx", "nanosleep xx", "getitimer dx", "setitimer dxx",
	"kexec_load xxxxxx", "init_module xup", "delete_module px", "timer_create cxx",
	"timer_gettime dx", "timer_getoverrun d", "timer_settime djxx", "timer_delete d",
	"clock_settime cx", "clock_gettime cx", "clock_getres cx", "clock_nanosleep cjxx",
	"syslog dxd", "ptrace ddxx", "sched_setparam dx", "sched_setscheduler ddx",
	"sched_getscheduler d", "sched_getparam dx", "sched_setaffinity dux",
	"sched_getaffinity dux", "sched_yield ", "sched_get_priority_max d",
	"sched_get_priority_min d", "sched_rr_get_interval dx", "restart_syscall ", "kill dS",
	"tkill dS", "tgkill ddS", "sigaltstack xx", "rt_sigsuspend xu", "rt_sigaction Sxxu",
	"rt_sigprocmask Bxxu", "rt_sigpending xu", "rt_sigtimedwait xxxu", "rt_sigqueueinfo ddx",
	"rt_sigreturn ", "setpriority ddd", "getpriority dd", "reboot ddux", "setregid UU",
	"setgid u", "setreuid UU", "setuid u", "setresuid UUU", "getresuid xxx", "setresgid UUU",
	"getresgid xxx", "setfsuid u", "setfsgid u", "times x", "setpgid dd", "getpgid d",
	"getsid d", "setsid ", "getgroups dx", "setgroups dx", "uname x", "sethostname pd",
	"setdomainname pd", NULL, NULL, "getrusage dx", "umask o", "prctl dhhhh", "getcpu xxx",
	"gettimeofday xx", "settimeofday xx", "adjtimex x", "getpid ", "getppid ", "getuid ",
	"geteuid ", "getgid ", "getegid ", "gettid ", "sysinfo x", "mq_open xdox", "mq_unlink x",
	"mq_timedsend fxxxx", "mq_timedreceive fxxxx", "mq_notify fx", "mq_getsetattr fxx",
	"msgget hJ", "msgctl ddx", "msgrcv dxxdd", "msgsnd dxxd", "semget hdJ", "semctl dddx",
	"semtimedop dxxx", "semop dxx", "shmget huJ", "shmctl ddx", "shmat dxd", "shmdt x",
	"socket NYI", "socketpair NYIx", "bind fzd", "listen fd", "accept fxx", "connect fzd",
	"getsockname fxx", "getpeername fxx", "sendto fbuGzd", "recvfrom fxuGxx",
	"setsockopt fstxd", "getsockopt fstxx", "shutdown fH", "sendmsg fxG", "recvmsg fxG",
	"readahead fdu", "brk x", "munmap xu", "mremap xuumx", "add_key xxxxx",
	"request_key xxxx", "keyctl dhhhh", "clone Cxxxx", "execve pxx", "mmap xuPMfh",
	"fadvise64 fduu", "swapon pd", "swapoff p", "mprotect xuP", "msync xud", "mlock xu",
	"munlock xu", "mlockall d", "munlockall ", "mincore xux", "madvise xuV",
	"remap_file_pages xuxxx", "mbind xuxxuh", "get_mempolicy xxxxx", "set_mempolicy dxx",
	"migrate_pages dxxx", "move_pages dxxxxd", "rt_tgsigqueueinfo dddx",
	"perf_event_open xddfh", "accept4 fxxY", "recvmmsg fxuGx", NULL, NULL, NULL, NULL, NULL,
	NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "wait4 dxwx",
	"prlimit64 dRxx", "fanotify_init hh", "fanotify_mark dhhDp", "name_to_handle_at Dpxxd",
	"open_by_handle_at dxd", "clock_adjtime cx", "syncfs f", "setns fC", "sendmmsg fxuG",
	"process_vm_readv dxuxuh", "process_vm_writev dxuxuh", "kcmp dddhh", "finit_module fph",
	"sched_setattr dxh", "sched_getattr dxuh", "renameat2 DpDph", "seccomp uhx",
	"getrandom xug", "memfd_create ph", "bpf dxu", "execveat fpxxT", "userfaultfd d",
	"membarrier dh", "mlock2 xux", "copy_file_range fxfxuh", "preadv2 fxuhhh",
	"pwritev2 fxuhhh", "pkey_mprotect xuPd", "pkey_alloc hh", "pkey_free d", "statx DpThx",
	"io_pgetevents hddxxx", "rseq xuhh", "kexec_file_load xxxxxx"
};
/* clang-format on */

static const struct table {
	uint16_t e_machine;
	const char *const *rows;
	size_t n;
} tables[] = {
#define ROWS(name) name, sizeof name / sizeof *name
	{EM_X86_64, ROWS(x86_64)},
	{EM_AARCH64, ROWS(generic)},
	{EM_RISCV, ROWS(generic)},
	{EM_LOONGARCH, ROWS(generic)},
#undef ROWS
};

static const char *row_at(const struct table *t, uint64_t nr)
{
	if (nr >= LATE_FIRST)
		return nr - LATE_FIRST < sizeof late / sizeof *late ? late[nr - LATE_FIRST] : NULL;
	return nr < t->n ? t->rows[nr] : NULL;
}

bool syscall_find(const struct processor *cpu, uint64_t nr, struct syscall *ret)
{
	const char *row = NULL;
	size_t n;

	for (size_t i = 0; cpu && cpu->word_bytes == 8 && i < sizeof tables / sizeof *tables; i++)
		if (tables[i].e_machine == cpu->e_machine)
			row = row_at(&tables[i], nr);
	if (!row)
		return false;
	n = strcspn(row, " ");
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)n, row);
	snprintf(ret->args, sizeof ret->args, "%s", row + n + 1);
	return true;
}

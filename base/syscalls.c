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
	"poll xud", "lseek fdW", "mmap xuPMfx", "mprotect xuP", "munmap xu", "brk x",
	"rt_sigaction Sxxu", "rt_sigprocmask dxxu", "rt_sigreturn ", "ioctl fxx", "pread64 fxud",
	"pwrite64 fbud", "readv fxu", "writev fxu", "access pA", "pipe x", "select dxxxx",
	"sched_yield ", "mremap xuuxx", "msync xud", "mincore xux", "madvise xxV", "shmget xud",
	"shmat dxd", "shmctl ddx", "dup f", "dup2 Df", "pause ", "nanosleep xx", "getitimer dx",
	"alarm u", "setitimer dxx", "getpid ", "sendfile ffxu", "socket NYd", "connect fxd",
	"accept fxx", "sendto fbuxxd", "recvfrom fxuxxx", "sendmsg fxx", "recvmsg fxx",
	"shutdown fd", "bind fxd", "listen fd", "getsockname fxx", "getpeername fxx",
	"socketpair NYdx", "setsockopt fddxd", "getsockopt fddxx", "clone Cxxxx", "fork ",
	"vfork ", "execve pxx", "exit d", "wait4 dxdx", "kill dS", "uname x", "semget xdd",
	"semop dxx", "semctl dddx", "shmdt x", "msgget xd", "msgsnd dxxd", "msgrcv dxxdd",
	"msgctl ddx", "fcntl fKx", "flock fu", "fsync f", "fdatasync f", "truncate pd",
	"ftruncate fd", "getdents fxu", "getcwd xu", "chdir p", "fchdir f", "rename pp",
	"mkdir po", "rmdir p", "creat po", "link pp", "unlink p", "symlink pp", "readlink pxd",
	"chmod po", "fchmod fo", "chown puu", "fchown fuu", "lchown puu", "umask o",
	"gettimeofday xx", "getrlimit ux", "getrusage dx", "sysinfo x", "times x", "ptrace ddxx",
	"getuid ", "syslog dxd", "getgid ", "setuid u", "setgid u", "geteuid ", "getegid ",
	"setpgid dd", "getppid ", "getpgrp ", "setsid ", "setreuid uu", "setregid uu",
	"getgroups dx", "setgroups dx", "setresuid uuu", "getresuid xxx", "setresgid uuu",
	"getresgid xxx", "getpgid d", "setfsuid u", "setfsgid u", "getsid d", "capget xx",
	"capset xx", "rt_sigpending xu", "rt_sigtimedwait xxxu", "rt_sigqueueinfo ddx",
	"rt_sigsuspend xu", "sigaltstack xx", "utime px", "mknod pox", "uselib p",
	"personality x", "ustat xx", "statfs px", "fstatfs fx", "sysfs dxx", "getpriority dd",
	"setpriority ddd", "sched_setparam dx", "sched_getparam dx", "sched_setscheduler ddx",
	"sched_getscheduler d", "sched_get_priority_max d", "sched_get_priority_min d",
	"sched_rr_get_interval dx", "mlock xu", "munlock xu", "mlockall d", "munlockall ",
	"vhangup ", "modify_ldt dxu", "pivot_root pp", "_sysctl xxxxxx", "prctl dxxxx",
	"arch_prctl dx", "adjtimex x", "setrlimit ux", "chroot p", "sync ", "acct p",
	"settimeofday xx", "mount pppxx", "umount2 pd", "swapon pd", "swapoff p", "reboot ddux",
	"sethostname pd", "setdomainname pd", "iopl u", "ioperm uud", "create_module xxxxxx",
	"init_module xup", "delete_module px", "get_kernel_syms xxxxxx", "query_module xxxxxx",
	"quotactl upxx", "nfsservctl xxxxxx", "getpmsg xxxxxx", "putpmsg xxxxxx",
	"afs_syscall xxxxxx", "tuxcall xxxxxx", "security xxxxxx", "gettid ", "readahead fdu",
	"setxattr ppxud", "lsetxattr ppxud", "fsetxattr fpxud", "getxattr ppxu",
	"lgetxattr ppxu", "fgetxattr fpxu", "listxattr pxu", "llistxattr pxu", "flistxattr fxu",
	"removexattr pp", "lremovexattr pp", "fremovexattr fp", "tkill dS", "time x",
	"futex xFuxxu", "sched_setaffinity dux", "sched_getaffinity dux",
	"set_thread_area xxxxxx", "io_setup xx", "io_destroy x", "io_getevents xddxx",
	"io_submit xdx", "io_cancel xxx", "get_thread_area xxxxxx", "lookup_dcookie xxu",
	"epoll_create d", "epoll_ctl_old xxxxxx", "epoll_wait_old xxxxxx",
	"remap_file_pages xuxxx", "getdents64 fxu", "set_tid_address x", "restart_syscall ",
	"semtimedop dxxx", "fadvise64 fduu", "timer_create dxx", "timer_settime ddxx",
	"timer_gettime dx", "timer_getoverrun d", "timer_delete d", "clock_settime dx",
	"clock_gettime dx", "clock_getres dx", "clock_nanosleep ddxx", "exit_group d",
	"epoll_wait fxdd", "epoll_ctl fLfx", "tgkill ddS", "utimes px", "vserver xxxxxx",
	"mbind xuxxxx", "set_mempolicy dxx", "get_mempolicy xxxxx", "mq_open xdox",
	"mq_unlink x", "mq_timedsend fxxxx", "mq_timedreceive fxxxx", "mq_notify fx",
	"mq_getsetattr fxx", "kexec_load xxxxxx", "waitid ddxdx", "add_key xxxxx",
	"request_key xxxx", "keyctl dxxxx", "ioprio_set ddd", "ioprio_get dd", "inotify_init ",
	"inotify_add_watch fpx", "inotify_rm_watch fx", "migrate_pages dxxx", "openat DpOo",
	"mkdirat Dpo", "mknodat Dpox", "fchownat Dpuud", "futimesat Dpx", "newfstatat DpxT",
	"unlinkat DpT", "renameat DpDp", "linkat DpDpT", "symlinkat pDp", "readlinkat Dpxu",
	"fchmodat Dpo", "faccessat DpA", "pselect6 dxxxxx", "ppoll xuxxu", "unshare x",
	"set_robust_list xu", "get_robust_list dxx", "splice fxfxux", "tee ffux",
	"sync_file_range fddx", "vmsplice fxux", "move_pages dxxxxd", "utimensat Dpxd",
	"epoll_pwait fxddxu", "signalfd fxx", "timerfd_create dd", "eventfd u", "fallocate fxdd",
	"timerfd_settime fdxx", "timerfd_gettime fx", "accept4 fxxY", "signalfd4 fxxd",
	"eventfd2 ud", "epoll_create1 Q", "dup3 DfE", "pipe2 xE", "inotify_init1 d",
	"preadv fxuxx", "pwritev fxuxx", "rt_tgsigqueueinfo dddx", "perf_event_open xddfx",
	"recvmmsg fxuxx", "fanotify_init xx", "fanotify_mark dxxDp", "prlimit64 duxx",
	"name_to_handle_at Dpxxd", "open_by_handle_at dxd", "clock_adjtime dx", "syncfs f",
	"sendmmsg fxux", "setns fd", "getcpu xxx", "process_vm_readv dxuxux",
	"process_vm_writev dxuxux", "kcmp dddxx", "finit_module fpx", "sched_setattr dxx",
	"sched_getattr dxxx", "renameat2 DpDpx", "seccomp uxx", "getrandom xux",
	"memfd_create xx", "kexec_file_load xxxxxx", "bpf dxu", "execveat fpxxT",
	"userfaultfd d", "membarrier dxd", "mlock2 xux", "copy_file_range fxfxux",
	"preadv2 fxuxxx", "pwritev2 fxuxxx", "pkey_mprotect xuxd", "pkey_alloc xx",
	"pkey_free d", "statx DpTxx", "io_pgetevents xddxxx", "rseq xuxx"
};
/* clang-format on */

/* clang-format off */
static const char *const late[] = {
	"pidfd_send_signal Ddxx", "io_uring_setup xx", "io_uring_enter fxxxxx",
	"io_uring_register fxxx", "open_tree Dpx", "move_mount DpDpx", "fsopen xx",
	"fsconfig fuxxd", "fsmount dxx", "fspick Dpx", "pidfd_open dx", "clone3 xu",
	"close_range fxx", "openat2 Dpxx", "pidfd_getfd Dfx", "faccessat2 DpAT",
	"process_madvise Dxudx", "epoll_pwait2 fxdxxu", "mount_setattr Dpxxx",
	"quotactl_fd fuxx", "landlock_create_ruleset xxx", "landlock_add_rule xxxx",
	"landlock_restrict_self xx", "memfd_secret x", "process_mrelease Dx",
	"futex_waitv xxxxd", "set_mempolicy_home_node xuxx"
};
/* clang-format on */

/* clang-format off */
static const char *const generic[] = {
	"io_setup xx", "io_destroy x", "io_submit xdx", "io_cancel xxx", "io_getevents xddxx",
	"setxattr ppxud", "lsetxattr ppxud", "fsetxattr fpxud", "getxattr ppxu",
	"lgetxattr ppxu", "fgetxattr fpxu", "listxattr pxu", "llistxattr pxu", "flistxattr fxu",
	"removexattr pp", "lremovexattr pp", "fremovexattr fp", "getcwd xu",
	"lookup_dcookie xxu", "eventfd2 ud", "epoll_create1 Q", "epoll_ctl fLfx",
	"epoll_pwait fxddxu", "dup f", "dup3 DfE", "fcntl fKx", "inotify_init1 d",
	"inotify_add_watch fpx", "inotify_rm_watch fx", "ioctl fxx", "ioprio_set ddd",
	"ioprio_get dd", "flock fu", "mknodat Dpox", "mkdirat Dpo", "unlinkat DpT",
	"symlinkat pDp", "linkat DpDpT", NULL, "umount2 pd", "mount pppxx", "pivot_root pp",
	"nfsservctl xxxxxx", "statfs px", "fstatfs fx", "truncate pd", "ftruncate fd",
	"fallocate fxdd", "faccessat DpA", "chdir p", "fchdir f", "chroot p", "fchmod fo",
	"fchmodat Dpo", "fchownat Dpuud", "fchown fuu", "openat DpOo", "close f", "vhangup ",
	"pipe2 xE", "quotactl upxx", "getdents64 fxu", "lseek fdW", "read fxu", "write fbu",
	"readv fxu", "writev fxu", "pread64 fxud", "pwrite64 fbud", "preadv fxuxx",
	"pwritev fxuxx", "sendfile ffxu", "pselect6 dxxxxx", "ppoll xuxxu", "signalfd4 fxxd",
	"vmsplice fxux", "splice fxfxux", "tee ffux", "readlinkat Dpxu", NULL, NULL, "sync ",
	"fsync f", "fdatasync f", "sync_file_range fddx", "timerfd_create dd",
	"timerfd_settime fdxx", "timerfd_gettime fx", "utimensat Dpxd", "acct p", "capget xx",
	"capset xx", "personality x", "exit d", "exit_group d", "waitid ddxdx",
	"set_tid_address x", "unshare x", "futex xFuxxu", "set_robust_list xu",
	"get_robust_list dxx", "nanosleep xx", "getitimer dx", "setitimer dxx",
	"kexec_load xxxxxx", "init_module xup", "delete_module px", "timer_create dxx",
	"timer_gettime dx", "timer_getoverrun d", "timer_settime ddxx", "timer_delete d",
	"clock_settime dx", "clock_gettime dx", "clock_getres dx", "clock_nanosleep ddxx",
	"syslog dxd", "ptrace ddxx", "sched_setparam dx", "sched_setscheduler ddx",
	"sched_getscheduler d", "sched_getparam dx", "sched_setaffinity dux",
	"sched_getaffinity dux", "sched_yield ", "sched_get_priority_max d",
	"sched_get_priority_min d", "sched_rr_get_interval dx", "restart_syscall ", "kill dS",
	"tkill dS", "tgkill ddS", "sigaltstack xx", "rt_sigsuspend xu", "rt_sigaction Sxxu",
	"rt_sigprocmask dxxu", "rt_sigpending xu", "rt_sigtimedwait xxxu", "rt_sigqueueinfo ddx",
	"rt_sigreturn ", "setpriority ddd", "getpriority dd", "reboot ddux", "setregid uu",
	"setgid u", "setreuid uu", "setuid u", "setresuid uuu", "getresuid xxx", "setresgid uuu",
	"getresgid xxx", "setfsuid u", "setfsgid u", "times x", "setpgid dd", "getpgid d",
	"getsid d", "setsid ", "getgroups dx", "setgroups dx", "uname x", "sethostname pd",
	"setdomainname pd", NULL, NULL, "getrusage dx", "umask o", "prctl dxxxx", "getcpu xxx",
	"gettimeofday xx", "settimeofday xx", "adjtimex x", "getpid ", "getppid ", "getuid ",
	"geteuid ", "getgid ", "getegid ", "gettid ", "sysinfo x", "mq_open xdox", "mq_unlink x",
	"mq_timedsend fxxxx", "mq_timedreceive fxxxx", "mq_notify fx", "mq_getsetattr fxx",
	"msgget xd", "msgctl ddx", "msgrcv dxxdd", "msgsnd dxxd", "semget xdd", "semctl dddx",
	"semtimedop dxxx", "semop dxx", "shmget xud", "shmctl ddx", "shmat dxd", "shmdt x",
	"socket NYd", "socketpair NYdx", "bind fxd", "listen fd", "accept fxx", "connect fxd",
	"getsockname fxx", "getpeername fxx", "sendto fbuxxd", "recvfrom fxuxxx",
	"setsockopt fddxd", "getsockopt fddxx", "shutdown fd", "sendmsg fxx", "recvmsg fxx",
	"readahead fdu", "brk x", "munmap xu", "mremap xuuxx", "add_key xxxxx",
	"request_key xxxx", "keyctl dxxxx", "clone Cxxxx", "execve pxx", "mmap xuPMfx",
	"fadvise64 fduu", "swapon pd", "swapoff p", "mprotect xuP", "msync xud", "mlock xu",
	"munlock xu", "mlockall d", "munlockall ", "mincore xux", "madvise xxV",
	"remap_file_pages xuxxx", "mbind xuxxxx", "get_mempolicy xxxxx", "set_mempolicy dxx",
	"migrate_pages dxxx", "move_pages dxxxxd", "rt_tgsigqueueinfo dddx",
	"perf_event_open xddfx", "accept4 fxxY", "recvmmsg fxuxx", NULL, NULL, NULL, NULL, NULL,
	NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "wait4 dxdx",
	"prlimit64 duxx", "fanotify_init xx", "fanotify_mark dxxDp", "name_to_handle_at Dpxxd",
	"open_by_handle_at dxd", "clock_adjtime dx", "syncfs f", "setns fd", "sendmmsg fxux",
	"process_vm_readv dxuxux", "process_vm_writev dxuxux", "kcmp dddxx", "finit_module fpx",
	"sched_setattr dxx", "sched_getattr dxxx", "renameat2 DpDpx", "seccomp uxx",
	"getrandom xux", "memfd_create xx", "bpf dxu", "execveat fpxxT", "userfaultfd d",
	"membarrier dxd", "mlock2 xux", "copy_file_range fxfxux", "preadv2 fxuxxx",
	"pwritev2 fxuxxx", "pkey_mprotect xuxd", "pkey_alloc xx", "pkey_free d", "statx DpTxx",
	"io_pgetevents xddxxx", "rseq xuxx", "kexec_file_load xxxxxx"
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

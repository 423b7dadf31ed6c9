/* sandbox_calls.c - a filter for system calls, made from three tables. seccomp(2), and for the
 * program: Documentation/userspace-api/seccomp_filter.rst. */
#include "base/sandbox_calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#else
#define ARCH 0 /* no filter */
#endif

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if ARCH && !defined SANITIZED
static const uint16_t allowed[] = {
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_preadv,
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_openat,
	SYS_openat2,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_getdents64,
	SYS_getcwd,
	SYS_fcntl,
	SYS_flock,
	SYS_dup,
	SYS_dup3,
	SYS_pipe2,
	SYS_tee,
	SYS_splice,
	SYS_sendfile,
	SYS_copy_file_range,
	SYS_memfd_create,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_fadvise64,
	SYS_fsync,
	SYS_fdatasync,
	SYS_readahead,
	SYS_umask,
	/* landlock knows where */
	SYS_renameat2,
	SYS_unlinkat,
	SYS_mkdirat,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_mincore,
	SYS_brk,
	SYS_mlock,
	SYS_membarrier,
	/* threads, children and time */
	SYS_futex,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_rseq,
	SYS_set_tid_address,
	SYS_exit,
	SYS_exit_group,
	SYS_wait4,
	SYS_waitid,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getgroups,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getcpu,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_times,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_getrandom,
	SYS_restart_syscall,
	SYS_setitimer,
	SYS_prctl,
	/* signals to oneself */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait,
	SYS_sigaltstack,
	/* descriptors that are there */
	SYS_ppoll,
	SYS_pselect6,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
#ifdef SYS_open /* the calls before those that end in -at */
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_readlink,
	SYS_access,
	SYS_pipe,
	SYS_dup2,
	SYS_poll,
	SYS_select,
	SYS_rename,
	SYS_unlink,
	SYS_rmdir,
	SYS_mkdir,
	SYS_getdents,
	SYS_fork,
	SYS_time,
	SYS_alarm,
	SYS_arch_prctl,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_getrlimit
	SYS_getrlimit,
	SYS_setrlimit,
#endif
};

/* Answered with EPERM, so that a message says the truth. With `network` all others but these pass.
 */
static const uint16_t refused[] = {
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_kcmp,
	SYS_setpriority,
	SYS_sched_setscheduler,
	SYS_setns,
	SYS_unshare,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchownat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_linkat,
	SYS_symlinkat,
	SYS_mknodat,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_syslog,
	SYS_personality,
	SYS_userfaultfd,
	SYS_seccomp,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_capset,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_clock_settime,
	SYS_settimeofday,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_truncate,
#ifdef SYS_open
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_link,
	SYS_symlink,
	SYS_mknod,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
	SYS_vfork,
	SYS_iopl,
	SYS_ioperm,
#endif
};

/* Refused unless there is a network. */
static const uint16_t of_sockets[] = {
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind,
	SYS_listen, SYS_accept,	    SYS_accept4, SYS_sendmmsg,
};

enum {
	INSTRUCTIONS_MAX = 512,
	ALLOW = 0x7fff0000,
	EPERM_ = 0x00050000 | EPERM,
	ENOSYS_ = 0x00050000 | ENOSYS,
	NEW_NAMESPACES = 0x7e020080, /* CLONE_NEWNS .. CLONE_NEWNET, CLONE_NEWTIME */
};

struct program {
	struct sock_filter v[INSTRUCTIONS_MAX];
	unsigned short n;
};

static void add(struct program *p, struct sock_filter f)
{
	if (p->n < INSTRUCTIONS_MAX)
		p->v[p->n++] = f;
}

static void load(struct program *p, size_t off)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)off));
}

static void answer(struct program *p, uint32_t what)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

static void for_call(struct program *p, uint32_t nr, uint32_t what)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
	answer(p, what);
}

static void for_calls(struct program *p, const uint16_t *nrs, size_t n, uint32_t what)
{
	size_t i;

	for (i = 0; i < n; i++)
		for_call(p, nrs[i], what);
}

/* Offsets of the two halves of an argument (little-endian). */
static size_t low_of(unsigned arg)
{
	return offsetof(struct seccomp_data, args) + 8 * (size_t)arg;
}

/* Lets a call pass if the low half of an argument is one of these values; else it is refused. */
static void if_argument_is(struct program *p, uint32_t nr, unsigned arg, const uint32_t *v,
			   uint8_t n)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, (uint8_t)(n + 3)));
	load(p, low_of(arg));
	for (uint8_t i = 0; i < n; i++) {
		const uint8_t to_allow = (uint8_t)(n - 1 - i), to_refuse = i + 1 == n;

		add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v[i], to_allow,
						    to_refuse));
	}
	answer(p, ALLOW);
	answer(p, EPERM_);
}

static void if_argument(struct program *p, uint32_t nr, unsigned arg, uint32_t a, uint32_t b)
{
	const uint32_t v[] = {a, b};

	if_argument_is(p, nr, arg, v, 2);
}

/* asm-generic/ioctls.h; glibc asks so since 2.42. <asm/termbits.h> does not go with <termios.h>. */
#define GET_TERMIOS2  0x802c542au
#define SET_TERMIOS2  0x402c542bu
#define SET_TERMIOS2W 0x402c542cu
#define SET_TERMIOS2F 0x402c542du

/* A file may be asked for its generation; a terminal what it is and, if `sets`, switched between
 * lines and single keys (tcsetattr()); nothing may be typed into it (TIOCSTI). */
static void for_ioctl(struct program *p, bool sets)
{
	static const uint32_t calls[] = {
		FS_IOC_GETVERSION, TCGETS,  TIOCGWINSZ,	  GET_TERMIOS2,	 TCSETS,
		TCSETSW,	   TCSETSF, SET_TERMIOS2, SET_TERMIOS2W, SET_TERMIOS2F};

	if_argument_is(p, SYS_ioctl, 1, calls, sets ? sizeof calls / sizeof *calls : 4);
}

/* clone() without new namespaces. The flags of clone3() are in memory: where it is missing, the C
 * library uses clone(). */
static void for_clone(struct program *p)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	load(p, low_of(0));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 1, 0));
	answer(p, ALLOW);
	answer(p, EPERM_);
#ifdef SYS_clone3
	for_call(p, SYS_clone3, ENOSYS_);
#endif
}

/* utimensat() of a descriptor: no path. */
static void for_times(struct program *p)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_utimensat, 0, 6));
	load(p, low_of(1));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3));
	load(p, low_of(1) + 4);
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
	answer(p, ALLOW);
	answer(p, EPERM_);
}

static void make_program(struct program *p, bool network, bool may_chown, bool may_link,
			 bool terminal)
{
	uint32_t self = (uint32_t)getpid();

	load(p, offsetof(struct seccomp_data, arch));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	answer(p, EPERM_);
	load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
	answer(p, EPERM_);
#endif
	if (!network)
		for_calls(p, allowed, sizeof allowed / sizeof *allowed, ALLOW);
	if (may_link)
		for_call(p, SYS_symlinkat, ALLOW);
	for_calls(p, refused, sizeof refused / sizeof *refused, EPERM_);
	if (!network)
		for_calls(p, of_sockets, sizeof of_sockets / sizeof *of_sockets, EPERM_);
	for_call(p, SYS_fchown, may_chown ? ALLOW : EPERM_);
	for_clone(p);
	if (!network) {
		for_times(p);
		if_argument(p, SYS_tgkill, 0, self, self);
		if_argument(p, SYS_kill, 0, self, self);
		if_argument(p, SYS_prlimit64, 0, 0, self);
		for_ioctl(p, terminal);
	}
	answer(p, network ? ALLOW : ENOSYS_);
}

int sandbox_filter_calls(bool network, bool may_chown, bool may_link, bool terminal)
{
	struct program p = {.n = 0};
	struct sock_fprog filter = {.filter = p.v};

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		return 0;
	make_program(&p, network, may_chown, may_link, terminal);
	filter.len = p.n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -1 : 1;
}

#else

int sandbox_filter_calls(bool network, bool may_chown, bool may_link, bool terminal)
{
	(void)network;
	(void)may_chown;
	(void)may_link;
	(void)terminal;
	return 0;
}

#endif

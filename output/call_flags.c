/* call_flags.c - names of flags. Sources: include/uapi/asm-generic/fcntl.h, mman-common.h,
 * signal.h; linux/sched.h, futex.h, fcntl.h. x86-64 and the generic numbers agree in what is named
 * here. */
#include "output/call_flags.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define F(name)             \
	{                   \
		name, #name \
	}
#define END             \
	{               \
		0, NULL \
	}

/* The low bits of these are a number of their own, the first entries. */
#if defined __aarch64__
#define LARGEFILE 0400000 /* the C library's is 0 */
#else
#define LARGEFILE 0100000
#endif
static const struct flag open_flags[] = {
	F(O_WRONLY),   F(O_RDWR),      F(O_CREAT),   F(O_EXCL),
	F(O_NOCTTY),   F(O_TRUNC),     F(O_APPEND),  F(O_NONBLOCK),
	F(O_SYNC),     F(O_DSYNC),     F(O_DIRECT),  {LARGEFILE, "O_LARGEFILE"},
	F(O_NOFOLLOW), F(O_NOATIME),   F(O_CLOEXEC), F(O_PATH),
	F(O_TMPFILE),  F(O_DIRECTORY), END};
static const struct flag protections[] = {F(PROT_READ), F(PROT_WRITE), F(PROT_EXEC),
					  F(PROT_GROWSDOWN), END};
static const struct flag map_flags[] = {F(MAP_SHARED_VALIDATE),
					F(MAP_SHARED),
					F(MAP_PRIVATE),
					F(MAP_FIXED),
					F(MAP_ANONYMOUS),
					F(MAP_GROWSDOWN),
					F(MAP_LOCKED),
					F(MAP_NORESERVE),
					F(MAP_POPULATE),
					F(MAP_NONBLOCK),
					F(MAP_STACK),
					F(MAP_HUGETLB),
					{0x800, "MAP_DENYWRITE"},
					F(MAP_FIXED_NOREPLACE),
					END};
static const struct flag at_flags[] = {F(AT_SYMLINK_NOFOLLOW), F(AT_REMOVEDIR),
				       F(AT_SYMLINK_FOLLOW),   F(AT_NO_AUTOMOUNT),
				       F(AT_EMPTY_PATH),       END};
static const struct flag access_modes[] = {F(R_OK), F(W_OK), F(X_OK), END};
static const struct flag clone_flags[] = {F(CLONE_VM),
					  F(CLONE_FS),
					  F(CLONE_FILES),
					  F(CLONE_SIGHAND),
					  F(CLONE_PTRACE),
					  F(CLONE_VFORK),
					  F(CLONE_PARENT),
					  F(CLONE_THREAD),
					  F(CLONE_NEWNS),
					  F(CLONE_SYSVSEM),
					  F(CLONE_SETTLS),
					  F(CLONE_PARENT_SETTID),
					  F(CLONE_CHILD_CLEARTID),
					  F(CLONE_DETACHED),
					  F(CLONE_UNTRACED),
					  F(CLONE_CHILD_SETTID),
					  F(CLONE_NEWUTS),
					  F(CLONE_NEWIPC),
					  F(CLONE_NEWUSER),
					  F(CLONE_NEWPID),
					  F(CLONE_NEWNET),
					  {0x1000, "CLONE_PIDFD"},
					  {0x2000000, "CLONE_NEWCGROUP"},
					  {0x80000000, "CLONE_IO"},
					  END};
static const struct flag whences[] = {F(SEEK_SET),  F(SEEK_CUR),  F(SEEK_END),
				      F(SEEK_DATA), F(SEEK_HOLE), END};
static const struct flag families[] = {F(AF_UNSPEC), F(AF_UNIX),    F(AF_INET),
				       F(AF_INET6),  F(AF_NETLINK), F(AF_PACKET),
				       F(AF_ALG),    F(AF_VSOCK),   END};
static const struct flag fcntl_commands[] = {F(F_DUPFD),
					     F(F_GETFD),
					     F(F_SETFD),
					     F(F_GETFL),
					     F(F_SETFL),
					     F(F_GETLK),
					     F(F_SETLK),
					     F(F_SETLKW),
					     F(F_SETOWN),
					     F(F_GETOWN),
					     {1030, "F_DUPFD_CLOEXEC"},
					     {1031, "F_SETPIPE_SZ"},
					     {1032, "F_GETPIPE_SZ"},
					     {10, "F_SETSIG"},
					     {11, "F_GETSIG"},
					     {15, "F_SETOWN_EX"},
					     {16, "F_GETOWN_EX"},
					     {36, "F_OFD_GETLK"},
					     {37, "F_OFD_SETLK"},
					     {38, "F_OFD_SETLKW"},
					     {1024, "F_SETLEASE"},
					     {1025, "F_GETLEASE"},
					     {1026, "F_NOTIFY"},
					     {1033, "F_ADD_SEALS"},
					     {1034, "F_GET_SEALS"},
					     END};
static const struct flag socket_types[] = {F(SOCK_STREAM),  F(SOCK_DGRAM),     F(SOCK_RAW),
					   F(SOCK_RDM),	    F(SOCK_SEQPACKET), F(SOCK_PACKET),
					   F(SOCK_CLOEXEC), F(SOCK_NONBLOCK),  END};
static const struct flag message_flags[] = {F(MSG_OOB),
					    F(MSG_PEEK),
					    F(MSG_DONTROUTE),
					    F(MSG_CTRUNC),
					    F(MSG_TRUNC),
					    F(MSG_DONTWAIT),
					    F(MSG_EOR),
					    F(MSG_WAITALL),
					    F(MSG_CONFIRM),
					    F(MSG_ERRQUEUE),
					    F(MSG_NOSIGNAL),
					    F(MSG_MORE),
					    F(MSG_WAITFORONE),
					    {0x4000000, "MSG_ZEROCOPY"},
					    F(MSG_FASTOPEN),
					    F(MSG_CMSG_CLOEXEC),
					    END};
static const struct flag wait_options[] = {F(WNOHANG),
					   {4, "WEXITED"},
					   {2, "WSTOPPED"},
					   {8, "WCONTINUED"},
					   {0x1000000, "WNOWAIT"},
					   {0x20000000, "__WNOTHREAD"},
					   {0x40000000, "__WALL"},
					   {0x80000000, "__WCLONE"},
					   END};
static const struct flag clocks[] = {
	F(CLOCK_REALTIME),	    F(CLOCK_MONOTONIC),	    F(CLOCK_PROCESS_CPUTIME_ID),
	F(CLOCK_THREAD_CPUTIME_ID), F(CLOCK_MONOTONIC_RAW), F(CLOCK_REALTIME_COARSE),
	F(CLOCK_MONOTONIC_COARSE),  F(CLOCK_BOOTTIME),	    F(CLOCK_REALTIME_ALARM),
	F(CLOCK_BOOTTIME_ALARM),    F(CLOCK_TAI),	    END};
static const struct flag timer_flags[] = {F(TIMER_ABSTIME), END};
static const struct flag timerfd_flags[] = {F(TFD_CLOEXEC), F(TFD_NONBLOCK), END};
static const struct flag splice_flags[] = {{1, "SPLICE_F_MOVE"},
					   {2, "SPLICE_F_NONBLOCK"},
					   {4, "SPLICE_F_MORE"},
					   {8, "SPLICE_F_GIFT"},
					   END};
static const struct flag mask_changes[] = {F(SIG_BLOCK), F(SIG_UNBLOCK), F(SIG_SETMASK), END};
static const struct flag arch_codes[] = {{0x1001, "ARCH_SET_GS"},
					 {0x1002, "ARCH_SET_FS"},
					 {0x1003, "ARCH_GET_FS"},
					 {0x1004, "ARCH_GET_GS"},
					 {0x1011, "ARCH_GET_CPUID"},
					 {0x1012, "ARCH_SET_CPUID"},
					 END};
static const struct flag random_flags[] = {
	{1, "GRND_NONBLOCK"}, {2, "GRND_RANDOM"}, {4, "GRND_INSECURE"}, END};
static const struct flag remap_flags[] = {
	{1, "MREMAP_MAYMOVE"}, {2, "MREMAP_FIXED"}, {4, "MREMAP_DONTUNMAP"}, END};
static const struct flag limits[] = {F(RLIMIT_CPU),
				     F(RLIMIT_FSIZE),
				     F(RLIMIT_DATA),
				     F(RLIMIT_STACK),
				     F(RLIMIT_CORE),
				     F(RLIMIT_RSS),
				     F(RLIMIT_NPROC),
				     F(RLIMIT_NOFILE),
				     F(RLIMIT_MEMLOCK),
				     F(RLIMIT_AS),
				     F(RLIMIT_LOCKS),
				     F(RLIMIT_SIGPENDING),
				     {12, "RLIMIT_MSGQUEUE"},
				     {13, "RLIMIT_NICE"},
				     {14, "RLIMIT_RTPRIO"},
				     {15, "RLIMIT_RTTIME"},
				     END};
static const struct flag shutdown_ways[] = {F(SHUT_RD), F(SHUT_WR), F(SHUT_RDWR), END};
static const struct flag epoll_flags[] = {F(EPOLL_CLOEXEC), END};
static const struct flag epoll_operations[] = {F(EPOLL_CTL_ADD), F(EPOLL_CTL_DEL), F(EPOLL_CTL_MOD),
					       END};
static const struct flag advices[] = {F(MADV_NORMAL),
				      F(MADV_RANDOM),
				      F(MADV_SEQUENTIAL),
				      F(MADV_WILLNEED),
				      F(MADV_DONTNEED),
				      F(MADV_FREE),
				      F(MADV_REMOVE),
				      F(MADV_DONTFORK),
				      F(MADV_DOFORK),
				      F(MADV_MERGEABLE),
				      F(MADV_UNMERGEABLE),
				      F(MADV_HUGEPAGE),
				      F(MADV_NOHUGEPAGE),
				      F(MADV_DONTDUMP),
				      F(MADV_DODUMP),
				      F(MADV_WIPEONFORK),
				      F(MADV_KEEPONFORK),
				      {20, "MADV_COLD"},
				      {21, "MADV_PAGEOUT"},
				      {22, "MADV_POPULATE_READ"},
				      {23, "MADV_POPULATE_WRITE"},
				      {24, "MADV_DONTNEED_LOCKED"},
				      {25, "MADV_COLLAPSE"},
				      F(MADV_HWPOISON),
				      END};
static const struct flag futex_operations[] = {F(FUTEX_WAIT),
					       F(FUTEX_WAKE),
					       F(FUTEX_REQUEUE),
					       F(FUTEX_CMP_REQUEUE),
					       F(FUTEX_WAKE_OP),
					       F(FUTEX_LOCK_PI),
					       F(FUTEX_UNLOCK_PI),
					       F(FUTEX_TRYLOCK_PI),
					       F(FUTEX_WAIT_BITSET),
					       F(FUTEX_WAKE_BITSET),
					       F(FUTEX_FD),
					       F(FUTEX_WAIT_REQUEUE_PI),
					       F(FUTEX_CMP_REQUEUE_PI),
					       {13, "FUTEX_LOCK_PI2"},
					       END};

#undef F
#undef END

static const struct kind {
	char letter;
	struct flag_kind kind;
} kinds[] = {
	{'O', {true, true, open_flags, "O_RDONLY", O_ACCMODE}},
	{'P', {true, false, protections, "PROT_NONE", 0}},
	{'M', {true, false, map_flags, "0", 3}},
	{'T', {true, false, at_flags, "0", 0}},
	{'A', {true, false, access_modes, "F_OK", 0}},
	{'C', {true, false, clone_flags, "0", 0}},
	{'W', {false, false, whences, "SEEK_SET", 0}},
	{'N', {false, false, families, "AF_UNSPEC", 0}},
	{'K', {false, false, fcntl_commands, "F_DUPFD", 0}},
	{'E', {true, false, open_flags, "0", 0}},
	{'Y', {true, false, socket_types, "0", 0xf}},
	{'Q', {true, false, epoll_flags, "0", 0}},
	{'G', {true, false, message_flags, "0", 0}},
	{'R', {false, false, limits, "RLIMIT_CPU", 0}},
	{'H', {false, false, shutdown_ways, "SHUT_RD", 0}},
	{'w', {true, false, wait_options, "0", 0}},
	{'c', {false, false, clocks, "CLOCK_REALTIME", 0}},
	{'j', {true, false, timer_flags, "0", 0}},
	{'q', {true, false, timerfd_flags, "0", 0}},
	{'l', {true, false, splice_flags, "0", 0}},
	{'B', {false, false, mask_changes, "SIG_BLOCK", 0}},
	{'a', {false, false, arch_codes, "0", 0}},
	{'g', {true, false, random_flags, "0", 0}},
	{'m', {true, false, remap_flags, "0", 0}},
	{'L', {false, false, epoll_operations, "0", 0}},
	{'V', {false, false, advices, "MADV_NORMAL", 0}},
};

static void add_hex(struct text *t, uint64_t v)
{
	text_str(t, "0x");
	text_hex(t, v, 0);
}

static const char *name_of(const struct flag *f, uint64_t v)
{
	for (; f->name; f++)
		if (f->value == v)
			return f->name;
	return NULL;
}

static void add_bits(struct text *t, const struct flag_kind *k, uint64_t v)
{
	const size_t start = t->n;
	const char *number = v & k->number ? name_of(k->flags, v & k->number) : NULL;

	if (number) {
		text_str(t, number);
		v &= ~k->number;
	} else if (k->says_zero) {
		text_str(t, k->zero);
	}
	for (const struct flag *f = k->flags; f->name; f++) {
		if (f->value & k->number || (v & f->value) != f->value)
			continue;
		text_str(t, t->n > start ? "|" : "");
		text_str(t, f->name);
		v &= ~f->value;
	}
	if (v) {
		text_str(t, t->n > start ? "|" : "");
		add_hex(t, v);
	}
	if (t->n == start)
		text_str(t, k->zero);
}

/* The C library keeps some of the real-time signals for itself. */
enum { KERNEL_SIGRTMIN = 32, KERNEL_SIGRTMAX = 64 };

static void add_signal(struct text *t, uint64_t v)
{
	const char *name = v < 65 ? sigabbrev_np((int)v) : NULL;

	name = v == SIGIO ? "IO" : name;
	if (v >= KERNEL_SIGRTMIN && v <= KERNEL_SIGRTMAX) {
		text_str(t, v == KERNEL_SIGRTMIN   ? "SIGRTMIN"
			    : v == KERNEL_SIGRTMAX ? "SIGRTMAX"
						   : "SIGRT_");
		if (v != KERNEL_SIGRTMIN && v != KERNEL_SIGRTMAX)
			text_dec(t, v - KERNEL_SIGRTMIN, 0);
	} else if (name) {
		text_str(t, "SIG");
		text_str(t, name);
	} else {
		text_dec(t, v, 0);
	}
}

static void add_futex(struct text *t, uint64_t v)
{
	const uint64_t flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
	const char *name = name_of(futex_operations, (uint32_t)v & ~flags);

	if (name)
		text_str(t, name);
	else
		add_hex(t, v & ~flags);
	text_str(t, v & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "");
	text_str(t, v & FUTEX_CLOCK_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

void call_flags_add_kind(struct text *t, const struct flag_kind *k, uint64_t v)
{
	const char *name = k->is_bits ? NULL : name_of(k->flags, v);

	if (k->is_bits)
		add_bits(t, k, v);
	else if (name)
		text_str(t, name);
	else
		add_hex(t, v);
}

static const struct flag ipc_flags[] = {{01000, "IPC_CREAT"},
					{02000, "IPC_EXCL"},
					{04000, "SHM_HUGETLB"},
					{010000, "SHM_NORESERVE"},
					{0, NULL}};

static void add_octal(struct text *t, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%03o", (unsigned)v);
	text_str(t, *digits == '0' ? "" : "0");
	text_str(t, digits);
}

/* "IPC_CREAT|0600" */
static void add_ipc(struct text *t, uint64_t v)
{
	const struct flag_kind kind = {.is_bits = true, .flags = ipc_flags, .zero = ""};
	const uint64_t flags = v & ~(uint64_t)0777;

	if (flags)
		call_flags_add_kind(t, &kind, flags);
	text_str(t, flags ? "|" : "");
	add_octal(t, v & 0777);
}

static const struct flag file_types[] = {{S_IFSOCK, "S_IFSOCK"},
					 {S_IFLNK, "S_IFLNK"},
					 {S_IFREG, "S_IFREG"},
					 {S_IFBLK, "S_IFBLK"},
					 {S_IFDIR, "S_IFDIR"},
					 {S_IFCHR, "S_IFCHR"},
					 {S_IFIFO, "S_IFIFO"},
					 {S_ISUID, "S_ISUID"},
					 {S_ISGID, "S_ISGID"},
					 {S_ISVTX, "S_ISVTX"},
					 {0, NULL}};

/* "S_IFCHR|0644" */
static void add_file_mode(struct text *t, uint64_t v)
{
	const struct flag_kind kind = {
		.is_bits = true, .flags = file_types, .zero = "", .number = S_IFMT};
	const uint64_t flags = v & ~(uint64_t)0777;

	if (flags)
		call_flags_add_kind(t, &kind, flags);
	text_str(t, flags ? "|" : "");
	add_octal(t, v & 0777);
}

static void add_permissions(struct text *t, uint64_t v)
{
	add_octal(t, v & 07777);
}

static void add_owner(struct text *t, uint64_t v)
{
	if ((uint32_t)v == UINT32_MAX)
		text_str(t, "-1");
	else
		text_dec(t, (uint32_t)v, 0);
}

/* Those that have a form of their own. */
static const struct form {
	char letter;
	void (*add)(struct text *t, uint64_t v);
} forms[] = {{'S', add_signal},	   {'F', add_futex},	   {'J', add_ipc},
	     {'n', add_file_mode}, {'o', add_permissions}, {'U', add_owner}};

bool call_flags_add(struct text *t, char letter, uint64_t v)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].letter == letter) {
			forms[i].add(t, (uint32_t)v);
			return true;
		}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].letter != letter)
			continue;
		call_flags_add_kind(t, &kinds[i].kind,
				    letter == 'C' || !kinds[i].kind.is_bits ? v : (uint32_t)v);
		return true;
	}
	return false;
}

/* call_names.c - names of flags and numbers by system call and argument.
 *
 * Sources: include/uapi/linux/ (eventfd.h, inotify.h, memfd.h, mount.h, stat.h, fs.h, falloc.h,
 * wait.h, resource.h, sched.h ..), the order is that of strace(1). They are written as numbers, as
 * the headers of older systems lack some; x86-64 and the generic processors agree in all of them.
 */
#include "output/call_names.h"

#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "output/call_flags.h"

/* clang-format off */
#define NAMES(name) static const struct flag name[]
#define END {0, NULL}
NAMES(eventfd_flags) = {{1, "EFD_SEMAPHORE"}, {0x80000, "EFD_CLOEXEC"}, {0x800, "EFD_NONBLOCK"}, END};
NAMES(inotify_flags) = {{0x800, "IN_NONBLOCK"}, {0x80000, "IN_CLOEXEC"}, END};
NAMES(inotify_mask) = {
	{1, "IN_ACCESS"}, {2, "IN_MODIFY"}, {4, "IN_ATTRIB"}, {8, "IN_CLOSE_WRITE"},
	{0x10, "IN_CLOSE_NOWRITE"}, {0x20, "IN_OPEN"}, {0x40, "IN_MOVED_FROM"},
	{0x80, "IN_MOVED_TO"}, {0x100, "IN_CREATE"}, {0x200, "IN_DELETE"},
	{0x400, "IN_DELETE_SELF"}, {0x800, "IN_MOVE_SELF"}, {0x2000, "IN_UNMOUNT"},
	{0x4000, "IN_Q_OVERFLOW"}, {0x8000, "IN_IGNORED"}, {0x1000000, "IN_ONLYDIR"},
	{0x2000000, "IN_DONT_FOLLOW"}, {0x4000000, "IN_EXCL_UNLINK"},
	{0x10000000, "IN_MASK_CREATE"}, {0x20000000, "IN_MASK_ADD"}, {0x40000000, "IN_ISDIR"},
	{0x80000000, "IN_ONESHOT"}, END};
NAMES(memfd_flags) = {
	{1, "MFD_CLOEXEC"}, {2, "MFD_ALLOW_SEALING"}, {4, "MFD_HUGETLB"}, {8, "MFD_NOEXEC_SEAL"},
	{16, "MFD_EXEC"}, END};
NAMES(umount_flags) = {
	{1, "MNT_FORCE"}, {2, "MNT_DETACH"}, {4, "MNT_EXPIRE"}, {8, "UMOUNT_NOFOLLOW"}, END};
NAMES(rename_flags) = {
	{1, "RENAME_NOREPLACE"}, {2, "RENAME_EXCHANGE"}, {4, "RENAME_WHITEOUT"}, END};
NAMES(fallocate_modes) = {
	{1, "FALLOC_FL_KEEP_SIZE"}, {2, "FALLOC_FL_PUNCH_HOLE"}, {4, "FALLOC_FL_NO_HIDE_STALE"},
	{8, "FALLOC_FL_COLLAPSE_RANGE"}, {16, "FALLOC_FL_ZERO_RANGE"},
	{32, "FALLOC_FL_INSERT_RANGE"}, {64, "FALLOC_FL_UNSHARE_RANGE"}, END};
NAMES(mount_flags) = {
	{1, "MS_RDONLY"}, {2, "MS_NOSUID"}, {4, "MS_NODEV"}, {8, "MS_NOEXEC"},
	{0x10, "MS_SYNCHRONOUS"}, {0x20, "MS_REMOUNT"}, {0x40, "MS_MANDLOCK"},
	{0x80, "MS_DIRSYNC"}, {0x100, "MS_NOSYMFOLLOW"}, {0x400, "MS_NOATIME"},
	{0x800, "MS_NODIRATIME"}, {0x1000, "MS_BIND"}, {0x2000, "MS_MOVE"}, {0x4000, "MS_REC"},
	{0x8000, "MS_SILENT"}, {0x10000, "MS_POSIXACL"}, {0x20000, "MS_UNBINDABLE"},
	{0x40000, "MS_PRIVATE"}, {0x80000, "MS_SLAVE"}, {0x100000, "MS_SHARED"},
	{0x200000, "MS_RELATIME"}, {0x400000, "MS_KERNMOUNT"}, {0x800000, "MS_I_VERSION"},
	{0x1000000, "MS_STRICTATIME"}, {0x2000000, "MS_LAZYTIME"}, END};
NAMES(at_flags) = {
	{0x100, "AT_SYMLINK_NOFOLLOW"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"},
	{0x1000, "AT_EMPTY_PATH"}, {0x8000, "AT_RECURSIVE"}, END};
NAMES(faccess_flags) = {
	{0x100, "AT_SYMLINK_NOFOLLOW"}, {0x200, "AT_EACCESS"}, {0x1000, "AT_EMPTY_PATH"}, END};
NAMES(statx_flags) = {
	{0x2000, "AT_STATX_FORCE_SYNC"},
	{0x4000, "AT_STATX_DONT_SYNC"}, {0x100, "AT_SYMLINK_NOFOLLOW"},
	{0x200, "AT_REMOVEDIR"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"},
	{0x1000, "AT_EMPTY_PATH"}, END};
NAMES(statx_mask) = {
	{0xfff, "STATX_ALL"}, {0x7ff, "STATX_BASIC_STATS"}, {1, "STATX_TYPE"}, {2, "STATX_MODE"},
	{4, "STATX_NLINK"}, {8, "STATX_UID"}, {0x10, "STATX_GID"}, {0x20, "STATX_ATIME"},
	{0x40, "STATX_MTIME"}, {0x80, "STATX_CTIME"}, {0x100, "STATX_INO"}, {0x200, "STATX_SIZE"},
	{0x400, "STATX_BLOCKS"}, {0x800, "STATX_BTIME"}, {0x1000, "STATX_MNT_ID"},
	{0x2000, "STATX_DIOALIGN"}, END};
NAMES(id_kinds) = {{0, "P_ALL"}, {1, "P_PID"}, {2, "P_PGID"}, {3, "P_PIDFD"}, END};
NAMES(sync_flags) = {{1, "MS_ASYNC"}, {4, "MS_SYNC"}, {2, "MS_INVALIDATE"}, END};
NAMES(lock_flags) = {{1, "MCL_CURRENT"}, {2, "MCL_FUTURE"}, {4, "MCL_ONFAULT"}, END};
NAMES(lock2_flags) = {{1, "MLOCK_ONFAULT"}, END};
NAMES(timerfd_flags) = {{1, "TFD_TIMER_ABSTIME"}, {2, "TFD_TIMER_CANCEL_ON_SET"}, END};
NAMES(timers) = {{0, "ITIMER_REAL"}, {1, "ITIMER_VIRTUAL"}, {2, "ITIMER_PROF"}, END};
NAMES(usages) = {
	{0, "RUSAGE_SELF"}, {1, "RUSAGE_THREAD"}, {UINT32_MAX, "RUSAGE_CHILDREN"},
	{UINT32_MAX - 1, "RUSAGE_BOTH"}, END};
NAMES(priorities) = {{0, "PRIO_PROCESS"}, {1, "PRIO_PGRP"}, {2, "PRIO_USER"}, END};
NAMES(io_priorities) = {
	{1, "IOPRIO_WHO_PROCESS"}, {2, "IOPRIO_WHO_PGRP"}, {3, "IOPRIO_WHO_USER"}, END};
NAMES(signalfd_flags) = {{0x80000, "SFD_CLOEXEC"}, {0x800, "SFD_NONBLOCK"}, END};
NAMES(file_locks) = {
	{1, "LOCK_SH"}, {2, "LOCK_EX"}, {4, "LOCK_NB"}, {8, "LOCK_UN"}, END};
NAMES(sync_range_flags) = {
	{1, "SYNC_FILE_RANGE_WAIT_BEFORE"}, {2, "SYNC_FILE_RANGE_WRITE"},
	{4, "SYNC_FILE_RANGE_WAIT_AFTER"}, END};
NAMES(file_advices) = {
	{0, "POSIX_FADV_NORMAL"}, {1, "POSIX_FADV_RANDOM"}, {2, "POSIX_FADV_SEQUENTIAL"},
	{3, "POSIX_FADV_WILLNEED"}, {4, "POSIX_FADV_DONTNEED"}, {5, "POSIX_FADV_NOREUSE"}, END};
NAMES(xattr_flags) = {{1, "XATTR_CREATE"}, {2, "XATTR_REPLACE"}, END};
NAMES(close_range_flags) = {{2, "CLOSE_RANGE_UNSHARE"}, {4, "CLOSE_RANGE_CLOEXEC"}, END};
NAMES(pidfd_flags) = {{0x800, "PIDFD_NONBLOCK"}, {0x80, "PIDFD_THREAD"}, END};
NAMES(policies) = {
	{0, "SCHED_OTHER"}, {1, "SCHED_FIFO"}, {2, "SCHED_RR"}, {3, "SCHED_BATCH"},
	{5, "SCHED_IDLE"}, {6, "SCHED_DEADLINE"}, {7, "SCHED_EXT"}, END};
NAMES(seccomp_operations) = {
	{0, "SECCOMP_SET_MODE_STRICT"}, {1, "SECCOMP_SET_MODE_FILTER"},
	{2, "SECCOMP_GET_ACTION_AVAIL"}, {3, "SECCOMP_GET_NOTIF_SIZES"}, END};
NAMES(ptrace_requests) = {
	{0, "PTRACE_TRACEME"}, {1, "PTRACE_PEEKTEXT"}, {2, "PTRACE_PEEKDATA"},
	{3, "PTRACE_PEEKUSER"}, {4, "PTRACE_POKETEXT"}, {5, "PTRACE_POKEDATA"},
	{6, "PTRACE_POKEUSER"}, {7, "PTRACE_CONT"}, {8, "PTRACE_KILL"}, {9, "PTRACE_SINGLESTEP"},
	{16, "PTRACE_ATTACH"}, {17, "PTRACE_DETACH"}, {24, "PTRACE_SYSCALL"},
	{0x4200, "PTRACE_SETOPTIONS"}, {0x4201, "PTRACE_GETEVENTMSG"},
	{0x4202, "PTRACE_GETSIGINFO"}, {0x4203, "PTRACE_SETSIGINFO"}, {0x4204, "PTRACE_GETREGSET"},
	{0x4205, "PTRACE_SETREGSET"}, {0x4206, "PTRACE_SEIZE"}, {0x4207, "PTRACE_INTERRUPT"},
	{0x4208, "PTRACE_LISTEN"}, {0x420e, "PTRACE_GET_SYSCALL_INFO"}, END};
NAMES(membarrier_commands) = {
	{0, "MEMBARRIER_CMD_QUERY"}, {1, "MEMBARRIER_CMD_GLOBAL"},
	{2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED"}, {4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"},
	{8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED"},
	{16, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED"},
	{32, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE"},
	{64, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE"},
	{128, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ"},
	{256, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ"}, END};
NAMES(userfault_flags) = {
	{1, "UFFD_USER_MODE_ONLY"}, {0x800, "O_NONBLOCK"}, {0x80000, "O_CLOEXEC"}, END};
NAMES(module_flags) = {{0x200, "O_TRUNC"}, {0x800, "O_NONBLOCK"}, END};
NAMES(module_file_flags) = {
	{1, "MODULE_INIT_IGNORE_MODVERSIONS"}, {2, "MODULE_INIT_IGNORE_VERMAGIC"},
	{4, "MODULE_INIT_COMPRESSED_FILE"}, END};
NAMES(handle_flags) = {{0x200, "AT_HANDLE_FID"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x1000, "AT_EMPTY_PATH"}, END};
NAMES(perf_flags) = {
	{1, "PERF_FLAG_FD_NO_GROUP"}, {2, "PERF_FLAG_FD_OUTPUT"}, {4, "PERF_FLAG_PID_CGROUP"},
	{8, "PERF_FLAG_FD_CLOEXEC"}, END};
NAMES(fsopen_flags) = {{1, "FSOPEN_CLOEXEC"}, END};
NAMES(fsmount_flags) = {{1, "FSMOUNT_CLOEXEC"}, END};
NAMES(mount_attributes) = {
	{1, "MOUNT_ATTR_RDONLY"}, {2, "MOUNT_ATTR_NOSUID"}, {4, "MOUNT_ATTR_NODEV"},
	{8, "MOUNT_ATTR_NOEXEC"}, {0x10, "MOUNT_ATTR_NOATIME"}, {0x20, "MOUNT_ATTR_STRICTATIME"},
	{0x80, "MOUNT_ATTR_NODIRATIME"}, {0x100000, "MOUNT_ATTR_IDMAP"},
	{0x200000, "MOUNT_ATTR_NOSYMFOLLOW"}, END};
NAMES(open_tree_flags) = {
	{1, "OPEN_TREE_CLONE"}, {0x80000, "OPEN_TREE_CLOEXEC"}, {0x100, "AT_SYMLINK_NOFOLLOW"},
	{0x800, "AT_NO_AUTOMOUNT"}, {0x1000, "AT_EMPTY_PATH"}, {0x8000, "AT_RECURSIVE"}, END};
NAMES(move_mount_flags) = {
	{1, "MOVE_MOUNT_F_SYMLINKS"}, {2, "MOVE_MOUNT_F_AUTOMOUNTS"},
	{4, "MOVE_MOUNT_F_EMPTY_PATH"}, {0x10, "MOVE_MOUNT_T_SYMLINKS"},
	{0x20, "MOVE_MOUNT_T_AUTOMOUNTS"}, {0x40, "MOVE_MOUNT_T_EMPTY_PATH"},
	{0x100, "MOVE_MOUNT_SET_GROUP"}, END};
NAMES(fspick_flags) = {
	{1, "FSPICK_CLOEXEC"}, {2, "FSPICK_SYMLINK_NOFOLLOW"}, {4, "FSPICK_NO_AUTOMOUNT"},
	{8, "FSPICK_EMPTY_PATH"}, END};
NAMES(bpf_commands) = {
	{0, "BPF_MAP_CREATE"}, {1, "BPF_MAP_LOOKUP_ELEM"}, {2, "BPF_MAP_UPDATE_ELEM"},
	{3, "BPF_MAP_DELETE_ELEM"}, {4, "BPF_MAP_GET_NEXT_KEY"}, {5, "BPF_PROG_LOAD"},
	{6, "BPF_OBJ_PIN"}, {7, "BPF_OBJ_GET"}, {8, "BPF_PROG_ATTACH"}, {9, "BPF_PROG_DETACH"},
	{10, "BPF_PROG_TEST_RUN"}, {11, "BPF_PROG_GET_NEXT_ID"}, {12, "BPF_MAP_GET_NEXT_ID"},
	{13, "BPF_PROG_GET_FD_BY_ID"}, {14, "BPF_MAP_GET_FD_BY_ID"},
	{15, "BPF_OBJ_GET_INFO_BY_FD"}, {16, "BPF_PROG_QUERY"}, {17, "BPF_RAW_TRACEPOINT_OPEN"},
	{18, "BPF_BTF_LOAD"}, {19, "BPF_BTF_GET_FD_BY_ID"}, {20, "BPF_TASK_FD_QUERY"},
	{21, "BPF_MAP_LOOKUP_AND_DELETE_ELEM"}, {22, "BPF_MAP_FREEZE"},
	{23, "BPF_BTF_GET_NEXT_ID"}, {24, "BPF_MAP_LOOKUP_BATCH"},
	{25, "BPF_MAP_LOOKUP_AND_DELETE_BATCH"}, {26, "BPF_MAP_UPDATE_BATCH"},
	{27, "BPF_MAP_DELETE_BATCH"}, {28, "BPF_LINK_CREATE"}, {29, "BPF_LINK_UPDATE"},
	{30, "BPF_LINK_GET_FD_BY_ID"}, {31, "BPF_LINK_GET_NEXT_ID"}, {32, "BPF_ENABLE_STATS"},
	{33, "BPF_ITER_CREATE"}, {34, "BPF_LINK_DETACH"}, {35, "BPF_PROG_BIND_MAP"}, END};
NAMES(memory_policies) = {
	{0, "MPOL_DEFAULT"}, {1, "MPOL_PREFERRED"}, {2, "MPOL_BIND"}, {3, "MPOL_INTERLEAVE"},
	{4, "MPOL_LOCAL"}, {5, "MPOL_PREFERRED_MANY"}, {6, "MPOL_WEIGHTED_INTERLEAVE"}, END};
NAMES(key_rights) = {{1, "PKEY_DISABLE_ACCESS"}, {2, "PKEY_DISABLE_WRITE"}, END};
NAMES(ipc_commands) = {
	{0, "IPC_RMID"}, {1, "IPC_SET"}, {2, "IPC_STAT"}, {3, "IPC_INFO"}, END};
NAMES(shm_flags) = {
	{010000, "SHM_RDONLY"}, {020000, "SHM_RND"}, {040000, "SHM_REMAP"}, {0100000, "SHM_EXEC"},
	END};
NAMES(read_flags) = {
	{1, "RWF_HIPRI"}, {2, "RWF_DSYNC"}, {4, "RWF_SYNC"}, {8, "RWF_NOWAIT"}, {16, "RWF_APPEND"},
	END};
NAMES(kcmp_types) = {
	{0, "KCMP_FILE"}, {1, "KCMP_VM"}, {2, "KCMP_FILES"}, {3, "KCMP_FS"}, {4, "KCMP_SIGHAND"},
	{5, "KCMP_IO"}, {6, "KCMP_SYSVSEM"}, {7, "KCMP_EPOLL_TFD"}, END};
NAMES(mark_flags) = {
	{1, "FAN_MARK_ADD"}, {2, "FAN_MARK_REMOVE"}, {4, "FAN_MARK_DONT_FOLLOW"},
	{8, "FAN_MARK_ONLYDIR"}, {0x10, "FAN_MARK_MOUNT"}, {0x20, "FAN_MARK_IGNORED_MASK"},
	{0x40, "FAN_MARK_IGNORED_SURV_MODIFY"}, {0x80, "FAN_MARK_FLUSH"},
	{0x100, "FAN_MARK_FILESYSTEM"}, END};

NAMES(lease_kinds) = {{0, "F_RDLCK"}, {1, "F_WRLCK"}, {2, "F_UNLCK"}, END};
NAMES(notices) = {
	{1, "DN_ACCESS"}, {2, "DN_MODIFY"}, {4, "DN_CREATE"}, {8, "DN_DELETE"}, {16, "DN_RENAME"},
	{32, "DN_ATTRIB"}, {0x80000000, "DN_MULTISHOT"}, END};
NAMES(seals) = {
	{1, "F_SEAL_SEAL"}, {2, "F_SEAL_SHRINK"}, {4, "F_SEAL_GROW"}, {8, "F_SEAL_WRITE"},
	{16, "F_SEAL_FUTURE_WRITE"}, {32, "F_SEAL_EXEC"}, END};
NAMES(private_key) = {{0, "IPC_PRIVATE"}, END};

NAMES(dumpable) = {{0, "SUID_DUMP_DISABLE"}, {1, "SUID_DUMP_USER"}, {2, "SUID_DUMP_ROOT"}, END};
NAMES(seccomp_modes) = {
	{0, "SECCOMP_MODE_DISABLED"}, {1, "SECCOMP_MODE_STRICT"}, {2, "SECCOMP_MODE_FILTER"}, END};
NAMES(capabilities) = {
	{0, "CAP_CHOWN"}, {1, "CAP_DAC_OVERRIDE"}, {2, "CAP_DAC_READ_SEARCH"}, {3, "CAP_FOWNER"},
	{4, "CAP_FSETID"}, {5, "CAP_KILL"}, {6, "CAP_SETGID"}, {7, "CAP_SETUID"},
	{8, "CAP_SETPCAP"}, {9, "CAP_LINUX_IMMUTABLE"}, {10, "CAP_NET_BIND_SERVICE"},
	{11, "CAP_NET_BROADCAST"}, {12, "CAP_NET_ADMIN"}, {13, "CAP_NET_RAW"}, {14, "CAP_IPC_LOCK"},
	{15, "CAP_IPC_OWNER"}, {16, "CAP_SYS_MODULE"}, {17, "CAP_SYS_RAWIO"},
	{18, "CAP_SYS_CHROOT"}, {19, "CAP_SYS_PTRACE"}, {20, "CAP_SYS_PACCT"},
	{21, "CAP_SYS_ADMIN"}, {22, "CAP_SYS_BOOT"}, {23, "CAP_SYS_NICE"}, {24, "CAP_SYS_RESOURCE"},
	{25, "CAP_SYS_TIME"}, {26, "CAP_SYS_TTY_CONFIG"}, {27, "CAP_MKNOD"}, {28, "CAP_LEASE"},
	{29, "CAP_AUDIT_WRITE"}, {30, "CAP_AUDIT_CONTROL"}, {31, "CAP_SETFCAP"},
	{32, "CAP_MAC_OVERRIDE"}, {33, "CAP_MAC_ADMIN"}, {34, "CAP_SYSLOG"}, {35, "CAP_WAKE_ALARM"},
	{36, "CAP_BLOCK_SUSPEND"}, {37, "CAP_AUDIT_READ"}, {38, "CAP_PERFMON"}, {39, "CAP_BPF"},
	{40, "CAP_CHECKPOINT_RESTORE"}, END};
NAMES(ioctl_requests) = {
	{TCGETS, "TCGETS"}, {TCSETS, "TCSETS"}, {TCSETSW, "TCSETSW"}, {TCSETSF, "TCSETSF"},
	{TCFLSH, "TCFLSH"}, {TIOCGWINSZ, "TIOCGWINSZ"}, {TIOCSWINSZ, "TIOCSWINSZ"},
	{TIOCGPGRP, "TIOCGPGRP"}, {TIOCSPGRP, "TIOCSPGRP"}, {TIOCSCTTY, "TIOCSCTTY"},
	{TIOCNOTTY, "TIOCNOTTY"}, {TIOCGPTN, "TIOCGPTN"}, {TIOCSPTLCK, "TIOCSPTLCK"},
	{TIOCGPTPEER, "TIOCGPTPEER"}, {FIONREAD, "FIONREAD"}, {FIONBIO, "FIONBIO"},
	{FIOASYNC, "FIOASYNC"}, {FIOCLEX, "FIOCLEX"}, {FIONCLEX, "FIONCLEX"},
	{SIOCGIFCONF, "SIOCGIFCONF"}, {SIOCGIFFLAGS, "SIOCGIFFLAGS"}, {SIOCGIFADDR, "SIOCGIFADDR"},
	{SIOCGIFINDEX, "SIOCGIFINDEX"}, {TIOCOUTQ, "TIOCOUTQ"}, {TIOCSTI, "TIOCSTI"},
	{TIOCEXCL, "TIOCEXCL"}, {TCSBRK, "TCSBRK"}, {TCXONC, "TCXONC"}, {TCSBRKP, "TCSBRKP"},
	{TIOCNXCL, "TIOCNXCL"}, {TIOCGSID, "TIOCGSID"}, {TIOCMGET, "TIOCMGET"},
	{TIOCMSET, "TIOCMSET"}, {TIOCPKT, "TIOCPKT"}, {TIOCSBRK, "TIOCSBRK"}, {TIOCCBRK, "TIOCCBRK"},
	{SIOCGIFHWADDR, "SIOCGIFHWADDR"}, {SIOCGIFMTU, "SIOCGIFMTU"},
	{SIOCGIFNETMASK, "SIOCGIFNETMASK"}, {SIOCGIFBRDADDR, "SIOCGIFBRDADDR"},
	{SIOCGIFNAME, "SIOCGIFNAME"}, {0x5310, "CDROMMULTISESSION"},
	{0x40049409, "BTRFS_IOC_CLONE or FICLONE"},
	{0x4020940d, "BTRFS_IOC_CLONE_RANGE or FICLONERANGE"}, {0xc020660b, "FS_IOC_FIEMAP"},
	{0x80086601, "FS_IOC_GETFLAGS"}, {0x40086602, "FS_IOC_SETFLAGS"},
	{0x801c581f, "FS_IOC_FSGETXATTR"}, {0x401c5820, "FS_IOC_FSSETXATTR"}, {0x1260, "BLKGETSIZE"},
	{0x1268, "BLKSSZGET"}, {0x125f, "BLKRRPART"}, {0x1261, "BLKFLSBUF"},
	{0x80081272, "BLKGETSIZE64"}, {0x2400, "PERF_EVENT_IOC_ENABLE"},
	{0x2401, "PERF_EVENT_IOC_DISABLE"}, {0x2402, "PERF_EVENT_IOC_REFRESH"},
	{0x2403, "PERF_EVENT_IOC_RESET"}, {0x40082404, "PERF_EVENT_IOC_PERIOD"},
	{0x2405, "PERF_EVENT_IOC_SET_OUTPUT"}, {0x40082406, "PERF_EVENT_IOC_SET_FILTER"},
	{0x80082407, "PERF_EVENT_IOC_ID"}, {0x40042408, "PERF_EVENT_IOC_SET_BPF"}, END};

/* A number is one of the names; bits are several. */
#define NUMBER(names) {false, false, names, "0", 0}
#define BITS(names) {true, false, names, "0", 0}
static const struct row {
	const char *call;
	uint8_t arg;
	struct flag_kind kind;
} rows[] = {
	{"ioctl", 1, NUMBER(ioctl_requests)},
	{"eventfd2", 1, BITS(eventfd_flags)},
	{"inotify_init1", 0, BITS(inotify_flags)},
	{"inotify_add_watch", 2, BITS(inotify_mask)},
	{"memfd_create", 1, BITS(memfd_flags)},
	{"umount2", 1, BITS(umount_flags)},
	{"renameat2", 4, BITS(rename_flags)},
	{"fallocate", 1, BITS(fallocate_modes)},
	{"mount", 3, BITS(mount_flags)},
	{"fchownat", 4, BITS(at_flags)},
	{"utimensat", 3, BITS(at_flags)},
	{"faccessat2", 3, BITS(faccess_flags)},
	{"statx", 2, {true, true, statx_flags, "AT_STATX_SYNC_AS_STAT", 0x6000}},
	{"statx", 3, BITS(statx_mask)},
	{"waitid", 0, NUMBER(id_kinds)},
	{"msync", 2, BITS(sync_flags)},
	{"mlockall", 0, BITS(lock_flags)},
	{"mlock2", 2, BITS(lock2_flags)},
	{"timerfd_settime", 1, BITS(timerfd_flags)},
	{"getitimer", 0, NUMBER(timers)},
	{"setitimer", 0, NUMBER(timers)},
	{"getrusage", 0, NUMBER(usages)},
	{"getpriority", 0, NUMBER(priorities)},
	{"setpriority", 0, NUMBER(priorities)},
	{"ioprio_get", 0, NUMBER(io_priorities)},
	{"ioprio_set", 0, NUMBER(io_priorities)},
	{"signalfd4", 3, BITS(signalfd_flags)},
	{"flock", 1, BITS(file_locks)},
	{"sync_file_range", 3, BITS(sync_range_flags)},
	{"fadvise64", 3, NUMBER(file_advices)},
	{"setxattr", 4, BITS(xattr_flags)},
	{"lsetxattr", 4, BITS(xattr_flags)},
	{"fsetxattr", 4, BITS(xattr_flags)},
	{"close_range", 2, BITS(close_range_flags)},
	{"pidfd_open", 1, BITS(pidfd_flags)},
	{"sched_setscheduler", 1, NUMBER(policies)},
	{"sched_get_priority_max", 0, NUMBER(policies)},
	{"sched_get_priority_min", 0, NUMBER(policies)},
	{"seccomp", 0, NUMBER(seccomp_operations)},
	{"ptrace", 0, NUMBER(ptrace_requests)},
	{"membarrier", 0, NUMBER(membarrier_commands)},
	{"userfaultfd", 0, BITS(userfault_flags)},
	{"delete_module", 1, BITS(module_flags)},
	{"finit_module", 2, BITS(module_file_flags)},
	{"name_to_handle_at", 4, BITS(handle_flags)},
	{"perf_event_open", 4, BITS(perf_flags)},
	{"fsopen", 1, BITS(fsopen_flags)},
	{"fsmount", 1, BITS(fsmount_flags)},
	{"fsmount", 2, BITS(mount_attributes)},
	{"open_tree", 2, BITS(open_tree_flags)},
	{"move_mount", 4, BITS(move_mount_flags)},
	{"fspick", 2, BITS(fspick_flags)},
	{"bpf", 0, NUMBER(bpf_commands)},
	{"mbind", 2, NUMBER(memory_policies)},
	{"set_mempolicy", 0, NUMBER(memory_policies)},
	{"pkey_alloc", 1, BITS(key_rights)},
	{"shmctl", 1, NUMBER(ipc_commands)},
	{"semctl", 2, NUMBER(ipc_commands)},
	{"msgctl", 1, NUMBER(ipc_commands)},
	{"shmat", 2, BITS(shm_flags)},
	{"preadv2", 5, BITS(read_flags)},
	{"pwritev2", 5, BITS(read_flags)},
	{"kcmp", 2, NUMBER(kcmp_types)},
	{"fanotify_mark", 1, BITS(mark_flags)},
	{"shmget", 0, NUMBER(private_key)},
	{"semget", 0, NUMBER(private_key)},
	{"msgget", 0, NUMBER(private_key)},
	/* of options of prctl(), commands of fcntl() */
	{"PR_SET_DUMPABLE", 1, NUMBER(dumpable)},
	{"PR_SET_SECCOMP", 1, NUMBER(seccomp_modes)},
	{"PR_CAPBSET_READ", 1, NUMBER(capabilities)},
	{"PR_CAPBSET_DROP", 1, NUMBER(capabilities)},
	{"F_SETLEASE", 2, NUMBER(lease_kinds)},
	{"F_NOTIFY", 2, BITS(notices)},
	{"F_ADD_SEALS", 2, BITS(seals)},
};
#undef NAMES
#undef END
#undef NUMBER
#undef BITS
/* clang-format on */

bool call_names_add(struct text *t, const char *call, size_t i, uint64_t v)
{
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		if (rows[k].arg == i && !strcmp(rows[k].call, call)) {
			call_flags_add_kind(t, &rows[k].kind, (uint32_t)v);
			return true;
		}
	return false;
}

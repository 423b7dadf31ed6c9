/* call_special.c - arguments and results of system calls whose meaning other arguments decide, as
 * strace(1) prints them. Sources: man-pages fcntl(2), socket(2), clone(2); linux/in.h, netlink.h.
 */
#include "output/call_special.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "output/call_flags.h"
#include "output/call_names.h"

static void add_pointer(struct text *t, uint64_t v)
{
	text_str(t, v ? "0x" : "NULL");
	if (v)
		text_hex(t, v, 0);
}

/* ---- fcntl() -------------------------------------------------------------------------------- */

/* What a command takes and returns. */
static const struct fcntl_command {
	int command;
	/* d: a number, F: FD_CLOEXEC, O: flags of open(), S: a signal, n: as `name` has names, x:
	 * an address, 0: nothing */
	char takes;
	char returns; /* F, O; 0: a number */
	const char *name;
} fcntl_commands[] = {
	{F_DUPFD, 'd', 0, NULL},
	{F_GETFD, 0, 'F', NULL},
	{F_SETFD, 'F', 0, NULL},
	{F_GETFL, 0, 'O', NULL},
	{F_SETFL, 'O', 0, NULL},
	{F_GETOWN, 0, 0, NULL},
	{F_SETOWN, 'd', 0, NULL},
	{10, 'S', 0, NULL}, /* F_SETSIG */
	{11, 0, 0, NULL},   /* F_GETSIG */
	{1024, 'n', 0, "F_SETLEASE"},
	{1025, 0, 0, NULL}, /* F_GETLEASE */
	{1026, 'n', 0, "F_NOTIFY"},
	{1030, 'd', 0, NULL}, /* F_DUPFD_CLOEXEC */
	{1031, 'd', 0, NULL}, /* F_SETPIPE_SZ */
	{1032, 0, 0, NULL},   /* F_GETPIPE_SZ */
	{1033, 'n', 0, "F_ADD_SEALS"},
	{1034, 0, 0, NULL}, /* F_GET_SEALS */
};

static const struct fcntl_command *find_command(uint64_t command)
{
	static const struct fcntl_command other = {0, 'x', 0, NULL};

	for (size_t i = 0; i < sizeof fcntl_commands / sizeof *fcntl_commands; i++)
		if ((uint64_t)fcntl_commands[i].command == command)
			return &fcntl_commands[i];
	return &other;
}

static void add_fd_flags(struct text *t, uint64_t v)
{
	text_str(t, v & FD_CLOEXEC ? "FD_CLOEXEC" : "");
	if (v == FD_CLOEXEC)
		return;
	text_str(t, v & FD_CLOEXEC ? "|" : "");
	text_str(t, v ? "0x" : "");
	text_hex(t, v & ~(uint64_t)FD_CLOEXEC, 0);
}

static void add_fcntl(struct text *t, uint64_t command, uint64_t v)
{
	const struct fcntl_command *found = find_command(command);

	switch (found->takes) {
	case 'n':
		call_names_add(t, found->name, 2, v);
		break;
	case 'S':
		call_flags_add(t, 'S', v);
		break;
	case 'd':
		text_int(t, (int32_t)v, 0);
		break;
	case 'F':
		add_fd_flags(t, (uint32_t)v);
		break;
	case 'O':
		call_flags_add(t, 'O', v);
		break;
	default:
		add_pointer(t, v);
	}
}

bool call_special_result(struct text *t, const struct syscall *call, const uint64_t *args,
			 int64_t v)
{
	static const char *const waits[] = {"poll", "ppoll", "select", "pselect6"};
	const char returns = strcmp(call->name, "fcntl") ? 0 : find_command(args[1])->returns;

	if (!strcmp(call->name, "umask"))
		return v >= 0 && call_flags_add(t, 'o', (uint64_t)v);
	for (size_t i = 0; !v && i < sizeof waits / sizeof *waits; i++)
		if (!strcmp(call->name, waits[i])) {
			text_str(t, "0 (Timeout)");
			return true;
		}
	if (!returns || v < 0 || (returns == 'F' && !v))
		return false;
	text_str(t, "0x");
	text_hex(t, (uint64_t)v, 0);
	text_str(t, " (flags ");
	if (returns == 'F')
		add_fd_flags(t, (uint64_t)v);
	else
		call_flags_add(t, 'O', (uint64_t)v);
	text_char(t, ')');
	return true;
}

/* ---- socket() ------------------------------------------------------------------------------- */

struct named {
	uint64_t value;
	const char *name;
};

#define N(name)             \
	{                   \
		name, #name \
	}
static const struct named ip_protocols[] = {
	N(IPPROTO_IP),	 N(IPPROTO_ICMP), N(IPPROTO_TCP),  N(IPPROTO_UDP),     N(IPPROTO_ICMPV6),
	N(IPPROTO_SCTP), N(IPPROTO_RAW),  N(IPPROTO_IPV6), N(IPPROTO_UDPLITE), N(IPPROTO_MPTCP)};
static const struct named netlink_protocols[] = {
	N(NETLINK_ROUTE),	   N(NETLINK_USERSOCK),	 N(NETLINK_SOCK_DIAG), N(NETLINK_NFLOG),
	N(NETLINK_XFRM),	   N(NETLINK_SELINUX),	 N(NETLINK_ISCSI),     N(NETLINK_AUDIT),
	N(NETLINK_FIB_LOOKUP),	   N(NETLINK_CONNECTOR), N(NETLINK_NETFILTER), N(NETLINK_DNRTMSG),
	N(NETLINK_KOBJECT_UEVENT), N(NETLINK_GENERIC),	 N(NETLINK_CRYPTO),
};

static const char *find_name(const struct named *v, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].value == value)
			return v[i].name;
	return NULL;
}

static void add_protocol(struct text *t, uint64_t family, uint64_t v)
{
	const char *name = NULL;

	if (family == AF_INET || family == AF_INET6)
		name = find_name(ip_protocols, sizeof ip_protocols / sizeof *ip_protocols, v);
	else if (family == AF_NETLINK)
		name = find_name(netlink_protocols,
				 sizeof netlink_protocols / sizeof *netlink_protocols, v);
	if (name)
		text_str(t, name);
	else
		text_int(t, (int32_t)v, 0);
}

/* ---- options of sockets ---------------------------------------------------------------------- */

static const struct named levels[] = {
	N(SOL_IP),     N(SOL_SOCKET), N(SOL_TCP),    {17, "SOL_UDP"}, N(SOL_IPV6),
	N(SOL_ICMPV6), N(SOL_RAW),    N(SOL_PACKET), N(SOL_NETLINK),  {287, "SOL_VSOCK"},
};
static const struct named socket_options[] = {
	N(SO_DEBUG),
	N(SO_REUSEADDR),
	N(SO_TYPE),
	N(SO_ERROR),
	N(SO_DONTROUTE),
	N(SO_BROADCAST),
	N(SO_SNDBUF),
	N(SO_RCVBUF),
	N(SO_SNDBUFFORCE),
	N(SO_RCVBUFFORCE),
	N(SO_KEEPALIVE),
	N(SO_OOBINLINE),
	N(SO_NO_CHECK),
	N(SO_PRIORITY),
	N(SO_LINGER),
	N(SO_REUSEPORT),
	N(SO_PASSCRED),
	N(SO_PEERCRED),
	N(SO_RCVLOWAT),
	N(SO_SNDLOWAT),
	{20, "SO_RCVTIMEO_OLD"},
	{21, "SO_SNDTIMEO_OLD"},
	N(SO_BINDTODEVICE),
	N(SO_ATTACH_FILTER),
	N(SO_PEERNAME),
	{29, "SO_TIMESTAMP_OLD"},
	N(SO_ACCEPTCONN),
	N(SO_PEERSEC),
	N(SO_PASSSEC),
	N(SO_MARK),
	N(SO_PROTOCOL),
	N(SO_DOMAIN),
	N(SO_PEERGROUPS),
};
static const struct named tcp_options[] = {
	N(TCP_NODELAY),	     N(TCP_MAXSEG),	  N(TCP_CORK),	   N(TCP_KEEPIDLE),
	N(TCP_KEEPINTVL),    N(TCP_KEEPCNT),	  N(TCP_SYNCNT),   N(TCP_LINGER2),
	N(TCP_DEFER_ACCEPT), N(TCP_WINDOW_CLAMP), N(TCP_INFO),	   N(TCP_QUICKACK),
	N(TCP_CONGESTION),   N(TCP_USER_TIMEOUT), N(TCP_FASTOPEN), N(TCP_FASTOPEN_CONNECT),
};
static const struct named ip_options[] = {
	N(IP_TOS),
	N(IP_TTL),
	N(IP_PKTINFO),
	N(IP_MTU_DISCOVER),
	N(IP_RECVERR),
	N(IP_RECVTTL),
	N(IP_MTU),
	N(IP_FREEBIND),
	N(IP_TRANSPARENT),
	N(IP_BIND_ADDRESS_NO_PORT),
	N(IP_MULTICAST_IF),
	N(IP_MULTICAST_TTL),
	N(IP_MULTICAST_LOOP),
	N(IP_ADD_MEMBERSHIP),
	N(IP_DROP_MEMBERSHIP),
};
static const struct named ipv6_options[] = {
	N(IPV6_UNICAST_HOPS), N(IPV6_MULTICAST_IF), N(IPV6_MULTICAST_HOPS), N(IPV6_MULTICAST_LOOP),
	N(IPV6_MTU_DISCOVER), N(IPV6_MTU),	    N(IPV6_RECVERR),	    N(IPV6_V6ONLY),
	N(IPV6_RECVPKTINFO),  N(IPV6_TCLASS),
};
static const struct named netlink_options[] = {
	{1, "NETLINK_ADD_MEMBERSHIP"}, {2, "NETLINK_DROP_MEMBERSHIP"},
	{3, "NETLINK_PKTINFO"},	       {10, "NETLINK_CAP_ACK"},
	{11, "NETLINK_EXT_ACK"},       {12, "NETLINK_GET_STRICT_CHK"},
};
#undef N

static const struct option_level {
	uint64_t level;
	const struct named *options;
	size_t n;
} option_levels[] = {
#define LEVEL(level, names)                                \
	{                                                  \
		level, names, sizeof names / sizeof *names \
	}
	LEVEL(SOL_SOCKET, socket_options),   LEVEL(SOL_TCP, tcp_options),
	LEVEL(SOL_IP, ip_options),	     LEVEL(SOL_IPV6, ipv6_options),
	LEVEL(SOL_NETLINK, netlink_options),
#undef LEVEL
};

static void add_name(struct text *t, const char *name, uint64_t v)
{
	if (name)
		text_str(t, name);
	else
		text_int(t, (int32_t)v, 0);
}

static void add_level(struct text *t, uint64_t v)
{
	add_name(t, find_name(levels, sizeof levels / sizeof *levels, v), v);
}

static void add_option(struct text *t, uint64_t level, uint64_t v)
{
	const char *name = NULL;

	for (size_t i = 0; i < sizeof option_levels / sizeof *option_levels; i++)
		if (option_levels[i].level == level)
			name = find_name(option_levels[i].options, option_levels[i].n, v);
	add_name(t, name, v);
}

/* ---- futex() -------------------------------------------------------------------------------- */

/* What the operations take behind the value: t: a pointer to a time, v: a number, a: an address, b:
 * bits of waiters. Addresses come after the third and the fourth argument. */
static const struct futex_operation {
	int operation;
	const char *takes;
} futex_operations[] = {
	{FUTEX_WAIT, "t"},
	{FUTEX_WAKE, ""},
	{FUTEX_REQUEUE, "va"},
	{FUTEX_CMP_REQUEUE, "vav"},
	{FUTEX_WAKE_OP, "vah"},
	{FUTEX_LOCK_PI, "t"},
	{FUTEX_UNLOCK_PI, ""},
	{FUTEX_TRYLOCK_PI, ""},
	{FUTEX_WAIT_BITSET, "t b"},
	{FUTEX_WAKE_BITSET, "  b"},
	{FUTEX_FD, ""},
	{FUTEX_WAIT_REQUEUE_PI, "ta"},
	{FUTEX_CMP_REQUEUE_PI, "vav"},
	{13, "t"} /* FUTEX_LOCK_PI2 */,
};

static void add_futex_argument(struct text *t, char letter, uint64_t v)
{
	text_str(t, ", ");
	if (letter == 't' || letter == 'a')
		add_pointer(t, v);
	else if (letter == 'b' && (uint32_t)v == FUTEX_BITSET_MATCH_ANY)
		text_str(t, "FUTEX_BITSET_MATCH_ANY");
	else if (letter == 'v')
		text_dec(t, (uint32_t)v, 0);
	else {
		text_str(t, "0x");
		text_hex(t, (uint32_t)v, 0);
	}
}

static void add_futex(struct text *t, const uint64_t *args)
{
	const int operation = (int)args[1] & FUTEX_CMD_MASK;
	const char *takes = "tah";

	for (size_t i = 0; i < sizeof futex_operations / sizeof *futex_operations; i++)
		if (futex_operations[i].operation == operation)
			takes = futex_operations[i].takes;
	add_pointer(t, args[0]);
	text_str(t, ", ");
	call_flags_add(t, 'F', args[1]);
	if (operation != FUTEX_LOCK_PI && operation != FUTEX_UNLOCK_PI &&
	    operation != FUTEX_TRYLOCK_PI && operation != 13) {
		text_str(t, ", ");
		text_dec(t, (uint32_t)args[2], 0);
	}
	for (size_t i = 0; takes[i]; i++)
		if (takes[i] != ' ')
			add_futex_argument(t, takes[i], args[3 + i]);
}

/* ---- clone() -------------------------------------------------------------------------------- */

static void add_clone(struct text *t, const uint64_t *args, bool is_x86_64)
{
	const uint64_t flags = args[0] & ~(uint64_t)CSIGNAL, signal = args[0] & CSIGNAL;
	const uint64_t tls = args[is_x86_64 ? 4 : 3], child = args[is_x86_64 ? 3 : 4];

	text_str(t, "child_stack=");
	add_pointer(t, args[1]);
	text_str(t, ", flags=");
	if (flags || !signal)
		call_flags_add(t, 'C', flags);
	text_str(t, flags && signal ? "|" : "");
	if (signal)
		call_flags_add(t, 'S', signal);
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) {
		text_str(t, ", parent_tid=");
		add_pointer(t, args[2]);
	}
	if (flags & CLONE_SETTLS) {
		text_str(t, ", tls=");
		add_pointer(t, tls);
	}
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) {
		text_str(t, ", child_tidptr=");
		add_pointer(t, child);
	}
}

/* ---- devices -------------------------------------------------------------------------------- */

static void add_device(struct text *t, uint64_t v)
{
	text_str(t, "makedev(0x");
	text_hex(t, major(v), 0);
	text_str(t, ", 0x");
	text_hex(t, minor(v), 0);
	text_char(t, ')');
}

/* ---- all of them ---------------------------------------------------------------------------- */

bool call_special_args(struct text *t, const struct syscall *call, const uint64_t *args,
		       bool is_x86_64)
{
	if (!strcmp(call->name, "clone"))
		add_clone(t, args, is_x86_64);
	else if (!strcmp(call->name, "futex"))
		add_futex(t, args);
	else if (!strcmp(call->name, "prctl"))
		call_prctl(t, args);
	else
		return false;
	return true;
}

bool call_special_arg(struct text *t, const struct syscall *call, const uint64_t *args, size_t i)
{
	if (call->args[i] == 'k')
		add_fcntl(t, args[i - 1], args[i]);
	else if (call->args[i] == 'I')
		add_protocol(t, args[0], args[i]);
	else if (call->args[i] == 'v')
		add_device(t, args[i]);
	else if (call->args[i] == 's')
		add_level(t, args[i]);
	else if (call->args[i] == 't')
		add_option(t, args[i - 1], args[i]);
	else
		return false;
	return true;
}

bool call_special_is_used(const struct syscall *call, const uint64_t *args, size_t i)
{
	switch (call->args[i]) {
	case 'k':
		return find_command(args[i - 1])->takes;
	case 'v':
		return S_ISCHR(args[i - 1]) || S_ISBLK(args[i - 1]);
	default:
		return i != 4 || strcmp(call->name, "mremap") || args[3] & (MREMAP_FIXED | 4);
	}
}

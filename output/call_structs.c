/* call_structs.c - structures that arguments of system calls point to, as strace(1) shows them.
 *
 * Sources: man-pages clone(2), openat2(2), unix(7), ip(7), ipv6(7), netlink(7). Recordings are of
 * little-endian processors, as all are whose system calls are known (base/syscalls.c). */
#include "output/call_structs.h"

#include <arpa/inet.h>
#include <endian.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "output/call_flags.h"

enum { BYTES_MAX = 128 };

struct bytes_read {
	uint8_t v[BYTES_MAX];
	size_t n;
};

static uint64_t u64_at(const struct bytes_read *b, size_t at)
{
	uint64_t v = 0;

	if (at + sizeof v <= b->n)
		memcpy(&v, b->v + at, sizeof v);
	return le64toh(v);
}

static unsigned be16_at(const struct bytes_read *b, size_t at)
{
	return (unsigned)b->v[at] << 8 | b->v[at + 1];
}

static uint32_t le32_at(const struct bytes_read *b, size_t at)
{
	uint32_t v;

	memcpy(&v, b->v + at, sizeof v);
	return le32toh(v);
}

static unsigned digit(char c)
{
	return (unsigned char)c & 7;
}

/* The bytes of a text in C's quotes, which may have "..." behind it. */
static void unquote(struct bytes_read *ret, const char *s, size_t n)
{
	static const char named[] = "n\nt\tr\r\"\"\\\\";

	ret->n = 0;
	for (size_t i = 1; i < n && s[i] != '"' && ret->n < BYTES_MAX; i++) {
		const char *as = s[i] == '\\' && i + 1 < n ? strchr(named, s[i + 1]) : NULL;

		if (as && *as) {
			ret->v[ret->n++] = (uint8_t)as[1];
			i++;
		} else if (s[i] == '\\' && i + 3 < n) {
			ret->v[ret->n++] = (uint8_t)(digit(s[i + 1]) << 6 | digit(s[i + 2]) << 3 |
						     digit(s[i + 3]));
			i += 3;
		} else {
			ret->v[ret->n++] = (uint8_t)s[i];
		}
	}
}

static void add_pointer(struct text *t, uint64_t v)
{
	text_str(t, v ? "0x" : "NULL");
	if (v)
		text_hex(t, v, 0);
}

/* ---- addresses of sockets ------------------------------------------------------------------- */

static void add_unix(struct text *t, const struct bytes_read *b)
{
	const size_t n = b->n - 2;
	const bool is_abstract = n && !b->v[2];

	if (!n)
		return;
	text_str(t, is_abstract ? ", sun_path=@" : ", sun_path=");
	if (is_abstract)
		text_quoted(t, b->v + 3, n - 1, true);
	else
		text_quoted(t, b->v + 2, strnlen((const char *)b->v + 2, n), true);
}

static void add_inet(struct text *t, const struct bytes_read *b)
{
	char address[INET_ADDRSTRLEN];

	text_str(t, ", sin_port=htons(");
	text_dec(t, be16_at(b, 2), 0);
	text_str(t, "), sin_addr=inet_addr(\"");
	text_str(t, inet_ntop(AF_INET, b->v + 4, address, sizeof address) ? address : "?");
	text_str(t, "\")");
}

static void add_inet6(struct text *t, const struct bytes_read *b)
{
	char address[INET6_ADDRSTRLEN];

	text_str(t, ", sin6_port=htons(");
	text_dec(t, be16_at(b, 2), 0);
	text_str(t, "), sin6_flowinfo=htonl(");
	text_dec(t, (uint64_t)be16_at(b, 4) << 16 | be16_at(b, 6), 0);
	text_str(t, "), inet_pton(AF_INET6, \"");
	text_str(t, inet_ntop(AF_INET6, b->v + 8, address, sizeof address) ? address : "?");
	text_str(t, "\", &sin6_addr), sin6_scope_id=");
	text_dec(t, le32_at(b, 24), 0);
}

static void add_netlink(struct text *t, const struct bytes_read *b)
{
	char groups[16];

	text_str(t, ", nl_pid=");
	text_dec(t, le32_at(b, 4), 0);
	snprintf(groups, sizeof groups, "%#08x", le32_at(b, 8));
	text_str(t, ", nl_groups=");
	text_str(t, groups);
}

static const struct family {
	unsigned family;
	size_t n_least;
	void (*add)(struct text *t, const struct bytes_read *b);
} families[] = {
	{AF_UNIX, 2, add_unix},
	{AF_INET, 16, add_inet},
	{AF_INET6, 28, add_inet6},
	{AF_NETLINK, 12, add_netlink},
};

static bool add_address(struct text *t, const struct bytes_read *b, size_t size)
{
	const unsigned family = b->n < 2 ? 0 : b->v[0] | (unsigned)b->v[1] << 8;

	if (b->n < 2)
		return false;
	text_str(t, "{sa_family=");
	call_flags_add(t, 'N', family);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (families[i].family == family && b->n >= families[i].n_least) {
			families[i].add(t, b);
			text_char(t, '}');
			return true;
		}
	text_str(t, b->n > 2 ? ", sa_data=" : "");
	if (b->n > 2)
		text_quoted(t, b->v + 2, b->n - 2, true);
	text_str(t, b->n < size ? "..." : "");
	text_char(t, '}');
	return true;
}

/* ---- clone3(), openat2() -------------------------------------------------------------------- */

/* Fields of 8 bytes each. */
static const struct field {
	const char *name;
	char letter; /* of struct syscall; d: a number, x: a pointer, h: bits, R: of resolving */
	uint64_t if_flags; /* it is there only with one of these in the first; 0: always */
	bool if_set;	   /* only where it is not 0 */
} clone_fields[] =
	{
		{"flags", 'C', 0, false},
		{"pidfd", 'x', 0x1000, false},
		{"child_tid", 'x', CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, false},
		{"parent_tid", 'x', CLONE_PARENT_SETTID, false},
		{"exit_signal", 'S', 0, false},
		{"stack", 'x', 0, false},
		{"stack_size", 'h', 0, false},
		{"tls", 'x', CLONE_SETTLS, false},
		{"set_tid", 'x', 0, true},
		{"set_tid_size", 'd', 0, true},
		{"cgroup", 'd', 0x200000000, false},
},
  open_fields[] = {
	  {"flags", 'O', 0, false},
	  {"mode", 'o', 0, true},
	  {"resolve", 'R', 0, false},
};

static void add_resolving(struct text *t, uint64_t v)
{
	static const struct flag flags[] = {{1, "RESOLVE_NO_XDEV"},
					    {2, "RESOLVE_NO_MAGICLINKS"},
					    {4, "RESOLVE_NO_SYMLINKS"},
					    {8, "RESOLVE_BENEATH"},
					    {16, "RESOLVE_IN_ROOT"},
					    {32, "RESOLVE_CACHED"},
					    {0, NULL}};
	static const struct flag_kind kind = {.is_bits = true, .flags = flags, .zero = "0"};

	call_flags_add_kind(t, &kind, v);
}

static void add_field(struct text *t, char letter, uint64_t v)
{
	switch (letter) {
	case 'x':
		add_pointer(t, v);
		break;
	case 'd':
		text_dec(t, v, 0);
		break;
	case 'h':
		text_str(t, v ? "0x" : "");
		text_hex(t, v, 0);
		break;
	case 'R':
		add_resolving(t, v);
		break;
	default:
		if (letter == 'S' && !v)
			text_char(t, '0');
		else
			call_flags_add(t, letter, v);
	}
}

static bool add_fields(struct text *t, const struct bytes_read *b, const struct field *fields,
		       size_t n)
{
	const uint64_t flags = u64_at(b, 0);
	bool is_first = true;

	if (b->n < sizeof flags)
		return false;
	text_char(t, '{');
	for (size_t i = 0; i < n && 8 * (i + 1) <= b->n; i++) {
		const struct field *f = &fields[i];
		const uint64_t v = u64_at(b, 8 * i);

		if ((f->if_flags && !(flags & f->if_flags)) || (f->if_set && !v))
			continue;
		text_str(t, is_first ? "" : ", ");
		is_first = false;
		text_str(t, f->name);
		text_char(t, '=');
		add_field(t, f->letter, v);
	}
	text_char(t, '}');
	return true;
}

static bool add_clone(struct text *t, const struct bytes_read *b, size_t size)
{
	(void)size;
	return add_fields(t, b, clone_fields, sizeof clone_fields / sizeof *clone_fields);
}

static bool add_open(struct text *t, const struct bytes_read *b, size_t size)
{
	(void)size;
	return add_fields(t, b, open_fields, sizeof open_fields / sizeof *open_fields);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static const struct structure {
	char letter;
	bool (*add)(struct text *t, const struct bytes_read *b, size_t size);
} structures[] = {{'z', add_address}, {'r', add_clone}, {'y', add_open}};

bool call_struct_is(char letter)
{
	for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
		if (structures[i].letter == letter)
			return true;
	return false;
}

bool call_struct_add(struct text *t, char letter, const char *quoted, size_t n, size_t size)
{
	struct bytes_read b;

	unquote(&b, quoted, n);
	for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
		if (structures[i].letter == letter)
			return structures[i].add(t, &b, size);
	return false;
}

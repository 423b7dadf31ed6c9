/* usdt.c - tracing points that the source of a program has (DTRACE_PROBE() of sys/sdt.h).
 *
 * Source: SystemTap's wiki "UserSpaceProbeImplementation": a note of type 3 and name "stapsdt" per
 * point: address of the nop, address of .stapsdt.base when linked (prelink moves both), address of
 * the semaphore or 0, then the provider's name, the point's name and its arguments, as texts. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "probe/match.h"
#include "probe/places.h"

enum { NT_STAPSDT = 3 };

struct usdt {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *arguments;
};

static uint64_t read_address(struct buf *b, bool is_64)
{
	return is_64 ? buf_u64(b) : buf_u32(b);
}

static const char *read_text(struct buf *b)
{
	const uint8_t *start = b->p, *end = memchr(start, 0, buf_left(b));

	if (!end) {
		b->bad = true;
		return "";
	}
	buf_skip(b, (uint64_t)(end + 1 - start));
	return (const char *)start;
}

/* The next note; false at the end. Notes of other kinds leave u->name NULL. */
static bool next_note(struct buf *notes, bool is_64, struct usdt *u)
{
	uint32_t name_len = buf_u32(notes), size = buf_u32(notes), type = buf_u32(notes);
	const uint8_t *name = buf_take(notes, name_len);
	struct buf b;

	buf_skip(notes, -name_len & 3);
	b = buf_sub(notes, size);
	if (buf_left(notes))
		buf_skip(notes, -size & 3);
	*u = (struct usdt){0};
	if (!buf_ok(notes) || !buf_ok(&b))
		return false;
	if (type != NT_STAPSDT || name_len != 8 || memcmp(name, "stapsdt", 8))
		return true;
	u->pc = read_address(&b, is_64);
	u->base = read_address(&b, is_64);
	u->semaphore = read_address(&b, is_64);
	u->provider = read_text(&b);
	u->name = read_text(&b);
	u->arguments = read_text(&b);
	if (!buf_ok(&b))
		u->name = NULL;
	return true;
}

/* "provider:name", or the name alone. */
static bool is_meant(const struct probe_spec *spec, const struct usdt *u)
{
	const char *colon = memchr(spec->what, ':', spec->what_len);
	const char *name = colon ? colon + 1 : spec->what;
	size_t n = spec->what_len - (size_t)(name - spec->what);

	return glob_matches(name, n, u->name, strlen(u->name)) &&
	       (!colon || glob_matches(spec->what, (size_t)(colon - spec->what), u->provider,
				       strlen(u->provider)));
}

/* ---- arguments ------------------------------------------------------------------------------ */

#if defined __x86_64__
/* Names of assemblers, and those of the kernel (regs_query_register_offset()). */
static bool name_register(const char *name, size_t n, char ret[8])
{
	static const char plain[] = "ax bx cx dx si di bp sp ";

	ret[0] = 0;
	if (n > 1 && *name == 'r' && name[1] >= '1' && name[1] <= '9') { /* r8 .. r15d */
		const size_t number = 1 + strspn(name + 1, "0123456789");

		if (number > 3 || number > n || n - number > 1 ||
		    (n > number && !strchr("dwb", name[number])))
			return false;
		memcpy(ret, name, number);
		ret[number] = 0;
		return true;
	}
	if (n == 3 && strchr("re", *name)) {
		name++;
		n--;
	}
	if (n == 3 && name[2] == 'l') /* sil */
		n--;
	if (n != 2)
		return false;
	memcpy(ret, name, 2);
	if (ret[1] == 'l' && strchr("abcd", ret[0]))
		ret[1] = 'x';
	ret[2] = ' ';
	ret[3] = 0;
	if (!strstr(plain, ret))
		return false;
	ret[2] = 0;
	return true;
}

/* "%eax", "-8(%rbp)", "$3" as tracefs has them. */
static bool convert_operand(const char *text, size_t n, char *ret, size_t size)
{
	const char *open = memchr(text, '(', n);
	size_t digits;
	char reg[8];

	if (n > 1 && *text == '%')
		return name_register(text + 1, n - 1, reg) &&
		       (size_t)snprintf(ret, size, "%%%s", reg) < size;
	digits = strspn(text + (*text == '$'), "-0123456789");
	if (*text == '$')
		return digits + 1 == n && digits && digits < 12 &&
		       (size_t)snprintf(ret, size, "\\%.*s", (int)digits, text + 1) < size;
	if (!open || open != text + digits || digits > 12 || n < digits + 4 || open[1] != '%' ||
	    text[n - 1] != ')')
		return false;
	return name_register(open + 2, (size_t)(text + n - 1 - (open + 2)), reg) &&
	       (size_t)snprintf(ret, size, "%s%.*s(%%%s)", digits && (*text == '-') ? "" : "+",
				digits ? (int)digits : 1, digits ? text : "0", reg) < size;
}
#else
static bool convert_operand(const char *text, size_t n, char *ret, size_t size)
{
	(void)text, (void)n, (void)ret, (void)size;
	return false;
}
#endif

/* "-4@%eax": four bytes with a sign. */
static bool convert_argument(const char *text, size_t n, unsigned number, struct text *ret)
{
	const bool is_signed = *text == '-';
	const char *at = memchr(text, '@', n);
	char operand[64], field[128];
	const char digit = text[is_signed];

	if (!at || at != text + is_signed + 1 || !strchr("1248", digit) ||
	    !convert_operand(at + 1, n - (size_t)(at + 1 - text), operand, sizeof operand))
		return false;
	snprintf(field, sizeof field, " arg%u=%s:%c%d", number, operand, is_signed ? 's' : 'u',
		 8 * (digit - '0'));
	text_str(ret, field);
	return true;
}

/* Arguments are separated by spaces, which operands do not have. */
static int add_fields(struct probe_places *ret, struct probe_place *place, const struct usdt *u)
{
	struct text fields = {0};
	unsigned number = 0;
	int rc = 0;

	for (const char *at = u->arguments; *at;) {
		const size_t n = strcspn(at, " ");

		if (n && !convert_argument(at, n, ++number, &fields))
			ret->lacks_fields = true;
		at += n;
		at += *at == ' ';
	}
	if (fields.n)
		place->fields = arena_strndup(&ret->names, fields.s, fields.n);
	rc = fields.failed || (fields.n && !place->fields) ? -1 : 0;
	text_done(&fields);
	return rc;
}

static int add(struct elf_image *img, const struct usdt *u, struct probe_places *ret)
{
	struct elf_section base;
	uint64_t moved = 0, off, counter = 0;
	char name[256];

	if (u->base && elf_image_section(img, ".stapsdt.base", &base, NULL))
		moved = base.vaddr - u->base;
	if (!elf_image_vaddr_to_off(img, u->pc + moved, &off))
		return 0;
	if (u->semaphore && !elf_image_vaddr_to_off(img, u->semaphore + moved, &counter))
		return 0;
	snprintf(name, sizeof name, "%s:%s", u->provider, u->name);
	if (places_add(ret, off, counter, name))
		return -1;
	return add_fields(ret, &ret->places.v[ret->places.n - 1], u);
}

/* The names and types of fields, "arg1=:s32", which all points of an event must share. */
static bool same_fields(const char *a, const char *b)
{
	while (*a && *b) {
		const size_t n = strcspn(a, "="), type = strcspn(a, ":"), other = strcspn(b, ":");
		const size_t rest = strcspn(a + type, " ");

		if (strncmp(a, b, n + 1) != 0 || strncmp(a + type, b + other, rest + 1) != 0)
			return false;
		a += type + rest;
		b += other + rest;
	}
	return *a == *b;
}

static void drop_different(struct probe_places *ret)
{
	const struct probe_place *first = ret->places.v;
	bool same = true;

	for (size_t i = 1; i < ret->places.n; i++)
		same &= !first->fields == !ret->places.v[i].fields &&
			(!first->fields || same_fields(first->fields, ret->places.v[i].fields));
	for (size_t i = 0; i < ret->places.n && !same; i++)
		ret->places.v[i].fields = NULL;
	ret->lacks_fields |= !same;
}

int usdt_find(struct elf_image *img, const struct probe_spec *spec, struct probe_places *ret,
	      struct err *err)
{
	struct elf_section s;
	struct buf notes;
	struct usdt u;
	size_t n = 0, used = 0;
	char some[200] = "";

	if (!elf_image_section(img, ".note.stapsdt", &s, NULL) || !s.data)
		return err_set(err, ERR_NOT_FOUND, ret->path,
			       "has no USDT probes (no section .note.stapsdt)");
	notes = buf_make(s.data, (size_t)s.size, s.off, elf_image_swapped(img));
	while (buf_left(&notes) && next_note(&notes, elf_image_is_64(img), &u)) {
		if (!u.name)
			continue;
		n++;
		if (is_meant(spec, &u) && add(img, &u, ret))
			return err_nomem(err);
		if (n <= 4)
			used += (size_t)snprintf(some + used, sizeof some - used, "%s%s:%s",
						 n > 1 ? ", " : "", u.provider, u.name);
		if (used >= sizeof some)
			used = sizeof some - 1;
	}
	if (ret->places.n) {
		places_finish(ret);
		drop_different(ret);
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND, ret->path,
		       "no USDT probe is named '%.*s' (of %zu); there are %s%s",
		       (int)spec->what_len, spec->what, n, some, n > 4 ? " .." : "");
}

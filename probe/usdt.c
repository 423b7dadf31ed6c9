/* usdt.c - tracing points that the source of a program has (DTRACE_PROBE() of sys/sdt.h).
 *
 * Source: SystemTap's wiki "UserSpaceProbeImplementation": a note of type 3 and name "stapsdt" per
 * point: address of the nop, address of .stapsdt.base when linked (prelink moves both), address of
 * the semaphore or 0, then the provider's name, the point's name and its arguments, as texts. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "probe/match.h"
#include "probe/places.h"

enum { NT_STAPSDT = 3 };

struct usdt {
	uint64_t pc, base, semaphore;
	const char *provider, *name;
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
	return places_add(ret, off, counter, name);
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
	if (ret->places.n)
		return 0;
	return err_set(err, ERR_NOT_FOUND, ret->path,
		       "no USDT probe is named '%.*s' (of %zu); there are %s%s",
		       (int)spec->what_len, spec->what, n, some, n > 4 ? " .." : "");
}

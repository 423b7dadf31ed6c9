/* small_signed.c - signed fields of 8 and 16 bits in the formats of probes.
 *
 * Source: the kernel's __set_print_fmt() in kernel/trace/trace_probe.c, "NAME=%d" for s8 to s32. */
#include "reader/small_signed.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

static const struct {
	const char *field, *conversion;
} types[] = {{"field:s8 ", "=%hhd"}, {"field:s16 ", "=%hd"}};

enum { FIELDS_MAX = 128, NAME_BYTES_MAX = 32 };

/* Writes the length into the first "NAME=%d" of the print format. */
static void add_length(char *text, const char *name, int name_len, const char *conversion)
{
	char plain[64], with[64], *at;
	const size_t len = (size_t)snprintf(plain, sizeof plain, " %.*s=%%d", name_len, name);
	const size_t wide =
		(size_t)snprintf(with, sizeof with, " %.*s%s", name_len, name, conversion);

	at = strstr(text, "print fmt:");
	at = at ? strstr(at, plain) : NULL;
	if (!at)
		return;
	memmove(at + wide, at + len, strlen(at + len) + 1);
	memcpy(at, with, wide);
}

static char *copy_with_room(const char *text, size_t n, struct arena *a)
{
	char *copy = arena_alloc(a, n + FIELDS_MAX * (sizeof "hh" - 1) + 1);

	return copy ? memcpy(copy, text, n) : NULL; /* the arena's bytes are zero */
}

const char *small_signed_print(const char *text, size_t *n, struct arena *a)
{
	const char *end = text + *n;
	char *copy = NULL;
	unsigned left = FIELDS_MAX;

	if (memchr(text, 0, *n))
		return text;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const size_t len = strlen(types[i].field);
		const char *at = text, *name_end;

		for (; (at = memmem(at, (size_t)(end - at), types[i].field, len)) && left; left--) {
			at += len;
			name_end = memchr(at, ';', (size_t)(end - at));
			if (!name_end || name_end - at > NAME_BYTES_MAX)
				continue;
			copy = copy ? copy : copy_with_room(text, *n, a);
			if (!copy)
				return NULL;
			add_length(copy, at, (int)(name_end - at), types[i].conversion);
		}
	}
	if (copy)
		*n = strlen(copy);
	return copy ? copy : text;
}

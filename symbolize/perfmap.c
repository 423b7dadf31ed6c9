/* perfmap.c - parses lines "START SIZE name with spaces"
 * (tools/perf/Documentation/jit-interface.txt). */
#include "symbolize/perfmap.h"

#include <string.h>

#include "symbolize/read_file.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Parses a number, with or without 0x, that is followed by blanks. */
static bool take_number(char **p, uint64_t *ret)
{
	char *s = *p;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	if (!take_hex(&s, ret) || !is_blank(*s))
		return false;
	while (is_blank(*s))
		s++;
	*p = s;
	return true;
}

static bool parse_line(char *s, struct func *f)
{
	uint64_t size;
	size_t n;

	while (is_blank(*s))
		s++;
	if (!take_number(&s, &f->start) || !take_number(&s, &size))
		return false;
	n = strlen(s);
	while (n && (is_blank(s[n - 1]) || s[n - 1] == '\r'))
		s[--n] = 0;
	if (!n || size > UINT64_MAX - f->start)
		return false;
	f->name = s;
	f->end = f->start + size;
	return true;
}

int perfmap_parse(struct functab *tab, char *text, size_t size)
{
	char *s = text, *end = text + size;
	uint32_t order = 0;

	tab->latest_wins = true;
	while (s < end && order < FUNC_TAG_MAX) {
		char *nl = memchr(s, '\n', (size_t)(end - s));
		struct func f = {.flags = FUNC_GLOBAL};

		if (!nl)
			nl = end;
		*nl = 0;
		if (parse_line(s, &f)) {
			f.tag = order++ & FUNC_TAG_MAX;
			if (functab_add(tab, &f))
				return -1;
		}
		s = nl + 1;
	}
	return functab_finish(tab);
}

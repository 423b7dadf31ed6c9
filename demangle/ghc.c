/* ghc.c - GHC's names: base_GHCziEventziManager_zdwstep_slow is base_GHC.Event.Manager_$wstep_slow.
 *
 * Source of truth: GHC's commentary, "Symbol names", and compiler/GHC/Utils/Encoding.hs: a symbol
 * is package, module, name and a suffix that says which part of the code it is, with underscores
 * between them; each is z-encoded. Names of the main package have none, and names that are local to
 * a module may lack both. The runtime's own functions in C are not encoded. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/language.h"

enum { PART_MAX = 4, ARITY_MAX = 64 };

struct part {
	const char *s, *end;
};

/* By the letter after z, and after Z. */
static char decoded(char escape, char letter)
{
	static const char small[][3] = {"a&", "b|", "c^", "d$",	 "e=", "g>", "h#", "i.", "l<", "m-",
					"n!", "p+", "q'", "r\\", "s/", "t*", "u_", "v%", "zz"};
	static const char large[][3] = {"L(", "R)", "M[", "N]", "C:", "ZZ"};
	const char(*rows)[3] = escape == 'z' ? small : large;
	size_t n = escape == 'z' ? sizeof small / sizeof *small : sizeof large / sizeof *large, i;

	for (i = 0; i < n; i++)
		if (rows[i][0] == letter)
			return rows[i][1];
	return '\0';
}

/* Decodes a tuple: Z3T is (,,), Z2H is (#,#). Returns its end, or NULL. */
static const char *put_tuple(struct namebuf *out, const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);
	bool unboxed = *end == 'H';

	if (n > ARITY_MAX || (*end != 'T' && *end != 'H'))
		return NULL;
	namebuf_add(out, "(#", unboxed ? 2 : 1);
	if (unboxed && n == 1)
		namebuf_add(out, " ", 1);
	for (; n > 1; n--)
		namebuf_add(out, ",", 1);
	namebuf_add(out, unboxed ? "#)" : ")", unboxed ? 2 : 1);
	return end + 1;
}

/* Decodes a character as z and its number in hex, then U. Returns its end, or NULL. */
static const char *put_character(struct namebuf *out, const char *s)
{
	char *end, utf8[4];
	unsigned long c = strtoul(s, &end, 16);
	size_t n = 0;

	if (*end != 'U' || c < 0x20 || c > 0x10ffff)
		return NULL;
	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else {
		if (c >= 0x10000)
			utf8[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			utf8[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
		utf8[n] = (char)(n ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
		n++;
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	}
	namebuf_add(out, utf8, n);
	return end + 1;
}

static bool put_decoded(struct namebuf *out, const char *s, const char *end)
{
	while (s < end) {
		size_t plain = 0;

		while (s + plain < end && s[plain] != 'z' && s[plain] != 'Z')
			plain++;
		namebuf_add(out, s, plain);
		s += plain;
		if (s == end)
			break;
		if (isdigit((unsigned char)s[1])) {
			s = *s == 'Z' ? put_tuple(out, s + 1) : put_character(out, s + 1);
			if (!s || s > end)
				return false;
		} else {
			char c = decoded(s[0], s[1]);

			if (!c)
				return false;
			namebuf_add(out, &c, 1);
			s += 2;
		}
	}
	return true;
}

/* Is it the last part of a symbol of compiled Haskell? */
static size_t suffix_length(const char *name, size_t n)
{
	static const char *const suffixes[] = {"_con_info", "_static_info", "_info",
					       "_slow",	    "_fast",	    "_entry",
					       "_ret",	    "_closure",	    "_con_entry"};
	size_t i, len;

	for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		len = strlen(suffixes[i]);
		if (n > len && !memcmp(name + n - len, suffixes[i], len))
			return len;
	}
	return 0;
}

/* Splits [package_]Module_name at its underscores; false if it has another form. The name may have
 * a unique number behind it: Work_zdwgo_s1Xs. */
static bool split(const char *s, const char *end, struct part parts[PART_MAX], size_t *n,
		  size_t *module)
{
	for (*n = 0; s <= end; s = parts[(*n)++].end + 1) {
		const char *stop = memchr(s, '_', (size_t)(end - s));

		if (*n == PART_MAX)
			return false;
		parts[*n] = (struct part){s, stop ? stop : end};
		if (parts[*n].s == parts[*n].end)
			return false;
	}
	*module = isupper((unsigned char)*parts[0].s) ? 0 : 1;
	return *n >= *module + 2 && isupper((unsigned char)*parts[*module].s);
}

bool demangle_ghc(struct namebuf *out, const char *name, bool simple)
{
	struct part parts[PART_MAX];
	size_t len = strlen(name), suffix = suffix_length(name, len), n, module, i;

	if (!suffix || !split(name, name + len - suffix, parts, &n, &module))
		return false;
	for (i = simple ? module : 0; i < n; i++) {
		/* A unique number behind the name is not encoded. */
		bool raw = i > module + 1;

		if (simple && raw)
			break;
		if (raw)
			namebuf_add(out, parts[i].s, (size_t)(parts[i].end - parts[i].s));
		else if (!put_decoded(out, parts[i].s, parts[i].end))
			return false;
		if (i + 1 < n && !(simple && i > module))
			namebuf_add(out, simple ? "." : "_", 1);
	}
	if (!simple)
		namebuf_add(out, name + len - suffix, suffix);
	return true;
}

/* cost_d.c - estimates how long a D name is with all its back references written out, as libiberty
 * does.
 *
 * Source: the D ABI, "Name Mangling". */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/cost.h"

enum { NAME_BYTES = 4096, WRITTEN_MAX_BYTES = 16 << 10, STEPS_MAX = 512 };

/* The skip_ functions return the end of a construct; NULL if it is something else, or takes too
 * many steps. */
struct skip {
	const char *name;
	unsigned steps;
};

static const char *skip_type(struct skip *k, const char *p);
static const char *skip_qualified(struct skip *k, const char *p);

/* Reads the back reference at *s, a Q: returns its distance, in letters of base 26, the last of
 * which is in lower case ("Back references"), and moves *s to its end. Returns 0 if it is not a
 * back reference. */
static size_t reference(const char **s)
{
	const char *p = *s + 1;
	size_t n = 0;

	while (*p >= 'A' && *p <= 'Z' && n < NAME_BYTES)
		n = n * 26 + (size_t)(*p++ - 'A');
	if (*p < 'a' || *p > 'z')
		return 0;
	*s = p + 1;
	return n * 26 + (size_t)(*p - 'a');
}

static const char *skip_digits(const char *p)
{
	return p + strspn(p, "0123456789");
}

/* Is it an identifier, or a reference to one? */
static bool is_identifier(const struct skip *k, const char *p)
{
	const char *next = p;
	size_t back;

	if (*p != 'Q')
		return isdigit((unsigned char)*p) || !strncmp(p, "__T", 3) || !strncmp(p, "__U", 3);
	back = reference(&next);
	return back && back <= (size_t)(p - k->name) && isdigit((unsigned char)p[-(ptrdiff_t)back]);
}

static const char *skip_modifiers(const char *p)
{
	while (*p && (strchr("xyO", *p) || !strncmp(p, "Ng", 2)))
		p += *p == 'N' ? 2 : 1;
	return p;
}

static const char *skip_value(const char *p)
{
	char *end;
	size_t n;

	if (*p == 'n')
		return p + 1;
	if (*p == 'i' || *p == 'N' || isdigit((unsigned char)*p))
		return skip_digits(p + 1);
	if (!*p || !strchr("awd", *p))
		return NULL;
	n = strtoul(p + 1, &end, 10);
	return *end == '_' && n < NAME_BYTES && strlen(end) > 2 * n ? end + 1 + 2 * n : NULL;
}

/* Skips the name of a symbol and its type; a class has no type. */
static const char *skip_mangled(struct skip *k, const char *p)
{
	p = skip_qualified(k, p);
	if (p && *p == 'M')
		p = skip_modifiers(p + 1);
	if (!p || *p == 'Z')
		return p ? p + 1 : NULL;
	return skip_type(k, p);
}

static const char *skip_argument(struct skip *k, const char *p)
{
	p += *p == 'H';
	if (*p == 'T')
		return skip_type(k, p + 1);
	if (*p == 'S')
		return strncmp(p + 1, "_D", 2) ? skip_qualified(k, p + 1) : skip_mangled(k, p + 3);
	if (*p != 'V')
		return NULL;
	p = skip_type(k, p + 1);
	return p ? skip_value(p) : NULL;
}

static const char *skip_identifier(struct skip *k, const char *p)
{
	char *end;
	size_t n;

	if (!is_identifier(k, p) || k->steps++ > STEPS_MAX)
		return NULL;
	if (*p == 'Q')
		return reference(&p) ? p : NULL;
	if (*p != '_') {
		n = strtoul(p, &end, 10);
		return n <= strlen(end) ? end + n : NULL;
	}
	p = skip_identifier(k, p + 3);
	while (p && *p != 'Z')
		p = skip_argument(k, p);
	return p ? p + 1 : NULL;
}

static const char *skip_parameter(struct skip *k, const char *p)
{
	while (*p && (strchr("MIJKL", *p) || !strncmp(p, "Nk", 2)))
		p += *p == 'N' ? 2 : 1;
	return skip_type(k, p);
}

static bool is_function(const char *p)
{
	return *p && strchr("FUWVRY", *p);
}

/* Skips a function type without its return type. */
static const char *skip_function(struct skip *k, const char *p)
{
	if (!is_function(p++))
		return NULL;
	while (*p == 'N' && p[1] && strchr("abcdefijlm", p[1]))
		p += 2;
	while (p && *p && !strchr("XYZ", *p))
		p = skip_parameter(k, p);
	return p && *p ? p + 1 : NULL;
}

static const char *skip_qualified(struct skip *k, const char *p)
{
	do {
		const char *end;

		p = skip_identifier(k, p + strspn(p, "0"));
		if (!p)
			return NULL;
		/* Names declared in a function come after the parameters of the function. */
		end = *p == 'M' ? skip_modifiers(p + 1) : p;
		if (!is_function(end))
			continue;
		end = skip_function(k, end);
		if (!end)
			return NULL;
		if (is_identifier(k, end))
			p = end;
	} while (is_identifier(k, p));
	return p;
}

static const char *skip_tuple(struct skip *k, const char *p)
{
	char *end;
	size_t n = strtoul(p, &end, 10);

	for (p = end; p && n; n--)
		p = skip_type(k, p);
	return p;
}

static const char *skip_type(struct skip *k, const char *p)
{
	if (!*p || k->steps++ > STEPS_MAX)
		return NULL;
	if (is_function(p) || *p == 'D') {
		p = *p == 'D' ? skip_modifiers(p + 1) : p;
		p = *p == 'Q' ? p : skip_function(k, p);
		return p ? skip_type(k, p) : NULL;
	}
	switch (*p) {
	case 'O':
	case 'x':
	case 'y':
	case 'A':
	case 'P':
		return skip_type(k, p + 1);
	case 'N':
		return p[1] == 'g' || p[1] == 'h' ? skip_type(k, p + 2)
		       : p[1] == 'n'		  ? p + 2
						  : NULL;
	case 'G':
		return skip_type(k, skip_digits(p + 1));
	case 'H':
		p = skip_type(k, p + 1);
		return p ? skip_type(k, p) : NULL;
	case 'I':
	case 'C':
	case 'S':
	case 'E':
	case 'T':
		return skip_qualified(k, p + 1);
	case 'B':
		return skip_tuple(k, p + 1);
	case 'Q':
		return reference(&p) ? p : NULL;
	case 'z':
		return p[1] ? p + 2 : NULL;
	default:
		return islower((unsigned char)*p) ? p + 1 : NULL;
	}
}

/* The length of what the reference at `at` stands for, at most: an identifier, which begins with
 * its length, or a type; if neither is recognized, everything up to the reference. */
static uint32_t written(const char *name, const uint32_t *length, size_t at, size_t back)
{
	const char *target = name + at - back, *end;
	unsigned long n = isdigit((unsigned char)*target) ? strtoul(target, NULL, 10) : 0;
	struct skip k = {.name = name};

	if (n && n < back)
		return (uint32_t)n;
	end = skip_type(&k, target);
	if (!end || end > name + at)
		end = name + at;
	return length[end - name] - length[at - back];
}

bool d_is_boundless(const char *name)
{
	/* Per character: length of the text before it, written out. */
	uint32_t length[NAME_BYTES + 1];
	size_t at = 0, end, back;
	const char *s = name;

	length[0] = 0;
	while (*s && length[at] <= WRITTEN_MAX_BYTES) {
		const char *next = s;

		/* Letters of identifiers that look like a reference only increase the estimate. */
		back = *s == 'Q' ? reference(&next) : 0;
		if (!back || back > at) {
			next = s + 1;
			back = 0;
		}
		end = (size_t)(next - name);
		while (at < end)
			length[++at] = length[(size_t)(s - name)] + 1;
		if (back)
			length[at] += written(name, length, (size_t)(s - name), back);
		s = next;
	}
	return *s;
}

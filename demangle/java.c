/* java.c - methods as the JVM and its agents spell them.
 *
 * Source of truth: Java Virtual Machine Specification 4.3, descriptors. perf's agent writes the
 * class's, the method's name and its descriptor into a jitdump:
 * "Ljava/util/Map;get(Ljava/lang/Object;)I". The text is the one that HotSpot writes into perf
 * maps: "int java.util.Map.get(java.lang.Object)". perf-map-agent writes "Ljava/util/Map;::get",
 * with "->" between what was inlined into each other.
 */
#include <ctype.h>
#include <string.h>

#include "demangle/language.h"

static void add_str(struct namebuf *out, const char *s)
{
	namebuf_add(out, s, strlen(s));
}

/* Appends "Ljava/lang/Object;" as java.lang.Object. Returns the text after it, or NULL. */
static const char *add_class(struct namebuf *out, const char *s)
{
	const char *end = s + strcspn(s, ";()[");

	if (*s++ != 'L' || *end != ';' || s == end)
		return NULL;
	for (; s < end; s++)
		namebuf_add(out, *s == '/' ? "." : s, 1);
	return end + 1;
}

static const char *primitive(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} types[] = {{'B', "byte"}, {'C', "char"},  {'D', "double"},  {'F', "float"}, {'I', "int"},
		     {'J', "long"}, {'S', "short"}, {'Z', "boolean"}, {'V', "void"}};
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].letter == letter)
			return types[i].name;
	return NULL;
}

static const char *add_type(struct namebuf *out, const char *s)
{
	size_t dimensions = strspn(s, "[");
	const char *name;

	s += dimensions;
	name = primitive(*s);
	if (name) {
		add_str(out, name);
		s++;
	} else {
		s = add_class(out, s);
	}
	while (s && dimensions--)
		add_str(out, "[]");
	return s;
}

/* Appends "(II)" as (int, int). */
static const char *add_arguments(struct namebuf *out, const char *s)
{
	bool first = true;

	add_str(out, "(");
	for (s++; s && *s != ')'; first = false) {
		if (!first)
			add_str(out, ", ");
		s = add_type(out, s);
	}
	add_str(out, ")");
	return s ? s + 1 : NULL;
}

bool demangle_java(struct namebuf *out, const char *name)
{
	const char *method = strchr(name, ';'), *open = strchr(name, '('), *close, *end;

	close = open ? strchr(open, ')') : NULL;
	if (!method++ || !close)
		return false;
	if (!strncmp(method, "::", 2))
		method += 2;
	end = open > method ? add_type(out, close + 1) : NULL;
	if (!end || *end)
		return false;
	add_str(out, " ");
	if (!add_class(out, name))
		return false;
	add_str(out, ".");
	namebuf_add(out, method, (size_t)(open - method));
	return add_arguments(out, open) == close + 1 && !out->failed;
}

/* ---- short names --------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || strchr("_$<>-", c) || (unsigned char)c >= 0x80;
}

/* Skips the address in the name of a hidden class (of a lambda), because it differs in each run:
 * "Map$$Lambda$14/0x00007f1878041998", in other spellings with a point or a plus. */
static const char *skip_hidden(const char *s)
{
	size_t digits = 0;

	if (*s && strchr("/.+", *s) && s[1] == '0' && s[2] == 'x')
		digits = strspn(s + 3, "0123456789abcdef");
	return digits >= 8 ? s + 3 + digits : s;
}

/* Appends names joined by `joint` (0: a single name), and returns the text after them. *n is their
 * number; 0 if it is not a name. */
static const char *add_names(struct namebuf *out, const char *s, char joint, size_t *n)
{
	for (*n = 0;; ++*n) {
		const char *begin = s;

		/* perf-map-agent's arrow is not part of a name */
		while (*s && is_name_char(*s) && strncmp(s, "->", 2))
			s++;
		if (s == begin) {
			*n = 0;
			return s;
		}
		namebuf_add(out, begin, (size_t)(s - begin));
		s = skip_hidden(s);
		if (!joint || *s != joint) {
			++*n;
			return s;
		}
		namebuf_add(out, ".", 1);
		s++;
	}
}

/* Parses "int[] java.util.Map.get(java.lang.Object, int)". */
static bool simplify_hotspot(struct namebuf *out, const char *s)
{
	size_t before = out->len, n;

	s = add_names(out, s, '.', &n);
	s += strspn(s, "[]");
	if (*s == ' ' && n) {
		out->len = before;
		s = add_names(out, s + 1, '.', &n);
	}
	if (n < 2 || *s != '(')
		return false;
	do {
		s++;
		s += *s == ' ';
		while (*s && (is_name_char(*s) || strchr(".[]/", *s)))
			s++;
	} while (*s == ',');
	return s[0] == ')' && !s[1];
}

/* Skips "(Ljava/lang/Object;)I" or "(Map.java:12)", if it is there. */
static const char *skip_descriptor(const char *s)
{
	if (*s != '(')
		return s;
	s += strcspn(s, ")");
	s += *s == ')';
	s += strspn(s, "[");
	if (*s == 'L')
		s += strcspn(s, ";");
	return s + (*s == ';' || primitive(*s));
}

/* Parses "Ljava/util/Map;::get", also followed by what skip_descriptor() skips; or
 * "Ljava/util/Map;get()I". */
static bool simplify_agent(struct namebuf *out, const char *s)
{
	size_t n;

	while (*s++ == 'L') {
		s = add_names(out, s, '/', &n);
		if (!n || *s++ != ';' || (*s != ':' && !strchr(s, '(')))
			return false;
		namebuf_add(out, ".", 1);
		s = skip_descriptor(add_names(out, strncmp(s, "::", 2) ? s : s + 2, 0, &n));
		if (n != 1 || !*s)
			return n == 1;
		if (strncmp(s, "->", 2))
			return false;
		namebuf_add(out, "->", 2);
		s += 2;
	}
	return false;
}

bool simplify_java(struct namebuf *out, const char *name)
{
	bool ok = strchr(name, ';') ? simplify_agent(out, name) : simplify_hotspot(out, name);

	return ok && !out->failed;
}

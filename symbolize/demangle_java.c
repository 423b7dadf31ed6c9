/* demangle_java.c - methods as the JVM's tool interface spells them.
 *
 * Law: Java Virtual Machine Specification 4.3, descriptors. perf's agent writes the class's, the
 * method's name and its descriptor into a jitdump: "Ljava/util/Map;get(Ljava/lang/Object;)I". The
 * text is the one that HotSpot writes into perf maps: "int java.util.Map.get(java.lang.Object)". */
#include <string.h>

#include "symbolize/demangle.h"

static void add_str(struct namebuf *out, const char *s)
{
	namebuf_add(out, s, strlen(s));
}

/* "Ljava/lang/Object;" as java.lang.Object. Behind it, or NULL. */
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

/* "(II)" as (int, int). */
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

bool demangle_java(struct namebuf *out, const char *name, bool simple)
{
	const char *method = strchr(name, ';'), *open = strchr(name, '('), *close;

	close = open ? strchr(open, ')') : NULL;
	if (!method || !close || open <= method + 1)
		return false;
	if (!simple) {
		const char *end = add_type(out, close + 1);

		if (!end || *end)
			return false;
		add_str(out, " ");
	}
	if (add_class(out, name) != method + 1)
		return false;
	add_str(out, ".");
	namebuf_add(out, method + 1, (size_t)(open - method - 1));
	if (!simple && add_arguments(out, open) != close + 1)
		return false;
	return !out->failed;
}

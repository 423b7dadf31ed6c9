/* crystal.c - Crystal's names: *Array(Int32)@Array(T)#push<Int32>:Array(Int32).
 *
 * They are readable: the type of self, the type that has the method if that is another one, the
 * method, the types of its arguments and of its result. Source of truth: Crystal's compiler,
 * Crystal::Def#mangled_name (src/compiler/crystal/codegen/ast.cr). */
#include <ctype.h>
#include <string.h>

#include "demangle/language.h"

/* The length of a method's name: an operator, or an identifier with its mark (?, ! or =). */
static size_t method_length(const char *s)
{
	/* Longer operators come before their prefixes. */
	static const char *const operators[] = {"<=>", "===", "[]=", "[]?", "&**", "==", "=~", "<<",
						"<=",  ">>",  ">=",  "!=",  "!~",  "**", "//", "&+",
						"&-",  "&*",  "[]",  "<",   ">",   "!",	 "*",  "/",
						"&",   "+",   "-",   "%",   "|",   "^",	 "~"};
	size_t n = 0, i;

	for (i = 0; i < sizeof operators / sizeof *operators; i++)
		if (!strncmp(s, operators[i], strlen(operators[i])))
			return strlen(operators[i]);
	while (isalnum((unsigned char)s[n]) || s[n] == '_' || (s[n] & 0x80))
		n++;
	return n + (n && s[n] && strchr("?!=", s[n]));
}

/* Returns the end of the method's name; NULL if there is none. *owner is the begin of the type that
 * has the method, after the type of self. */
static const char *method_end(const char *s, const char **owner)
{
	size_t n = method_length(s);
	const char *end = NULL;
	unsigned open = 0;

	*owner = s;
	/* a method without type */
	if (n && (s[n] == '<' || (s[n] == ':' && s[n + 1] != ':')))
		return s + n;
	while (*s) {
		bool sep = *s == '#' || (*s == ':' && s[1] == ':');

		if (*s == '(' || *s == '{')
			open++;
		else if (open && (*s == ')' || *s == '}'))
			open--;
		else if (!open && *s == '@') {
			*owner = s + 1;
			end = NULL;
		} else if (!open && sep) {
			s += *s == '#' ? 1 : 2;
			s += method_length(s);
			end = s;
			continue;
		} else if (!open && end && (*s == '<' || *s == ':')) {
			break;
		}
		s++;
	}
	return end;
}

bool simplify_crystal(struct namebuf *out, const char *name)
{
	const char *owner, *end = name[0] == '*' ? method_end(name + 1, &owner) : NULL;

	if (!end || end <= owner)
		return false;
	namebuf_add(out, owner, (size_t)(end - owner));
	return !out->failed;
}

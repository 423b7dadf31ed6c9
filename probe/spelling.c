/* spelling.c - names of C++ that people write otherwise than demanglers do. */
#include <stdbool.h>
#include <string.h>

#include "probe/match.h"

/* Copies what is not an optional space: behind a comma or an opening bracket, before a closing one
 * or the sign of a pointer. */
static size_t copy_tight(const char *text, size_t len, char *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const bool is_last = i + 1 == len, is_first = !n;

		if (text[i] == ' ' && !is_last && !is_first &&
		    (strchr(",(", ret[n - 1]) || strchr("*&)>", text[i + 1])))
			continue;
		ret[n++] = text[i];
	}
	return n;
}

/* std::string is an alias, for which the binary has what it stands for. */
static size_t shorten_strings(char *text, size_t len)
{
	static const char string[] = "std::string",
			  whole[] = "std::__cxx11::basic_string<char,std::char_traits<char>,"
				    "std::allocator<char>>";
	char *at = text, *found;

	while ((found = memmem(at, len - (size_t)(at - text), whole, sizeof whole - 1))) {
		at = found + sizeof string - 1;
		memcpy(found, string, sizeof string - 1);
		len -= sizeof whole - sizeof string;
		memmove(at, found + sizeof whole - 1, len - (size_t)(at - text));
	}
	return len;
}

/* The end of the first type of a list: where a sign, a comma or a bracket follows. */
static size_t type_length(const char *text, size_t len)
{
	size_t depth = 0, i;

	for (i = 0; i < len; i++) {
		if (!depth && strchr("*&,()>\1", text[i]))
			break;
		depth += text[i] == '<';
		depth -= text[i] == '>' && depth;
	}
	return i;
}

/* "const T" in brackets becomes "T const". */
static void move_const(char *text, size_t len)
{
	static const char before[] = "const ", behind[] = " const";
	const size_t n = sizeof before - 1;

	for (size_t i = 1; i + n < len; i++) {
		if (!strchr("(,<", text[i - 1]) || memcmp(text + i, before, n) != 0)
			continue;
		const size_t type = type_length(text + i + n, len - i - n);

		memmove(text + i, text + i + n, type);
		memcpy(text + i + type, behind, n);
	}
}

size_t spelling_normal(const char *text, size_t len, char *ret, size_t size)
{
	if (len > size)
		return 0;
	len = shorten_strings(ret, copy_tight(text, len, ret));
	move_const(ret, len);
	return len;
}

/* Where "operator" begins at text[i]: what follows may be any signs. */
static bool is_operator(const char *text, size_t len, size_t i)
{
	static const char word[] = "operator";

	return len - i > sizeof word - 1 && !memcmp(text + i, word, sizeof word - 1) &&
	       (!i || strchr(":. ", text[i - 1]));
}

const char *spelling_last_part(const char *name, size_t len, size_t *ret)
{
	size_t depth = 0, begin = 0, n;
	bool has_arguments = false; /* behind them stands "const" or "[clone .x]" */

	for (size_t i = 0; i < len; i++) {
		if (!depth && is_operator(name, len, i)) {
			const char *arguments = memrchr(name + i, '(', len - i);

			*ret = arguments ? (size_t)(arguments - name) - i : len - i;
			return name + i;
		}
		if (strchr("<([{", name[i])) {
			depth++;
		} else if (strchr(">)]}", name[i]) && depth) {
			depth--;
			has_arguments |= !depth && name[i] == ')';
		} else if (!depth && i && name[i] == ':' && name[i - 1] == ':') {
			begin = i + 1;
			has_arguments = false;
		} else if (!depth && i && name[i] == '.' && name[i - 1] == ')') { /* Go's (*T).f */
			begin = i + 1;
			has_arguments = false;
		} else if (!depth && !has_arguments && (name[i] == '.' || name[i] == ' ')) {
			begin = i + 1;
		}
	}
	for (n = begin; n < len && (n == begin || !strchr("<([ ", name[n]));)
		n++;
	*ret = n - begin;
	return name + begin;
}

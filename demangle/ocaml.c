/* ocaml.c - OCaml's names: camlStdlib__List__sort_572 is Stdlib.List.sort_572.
 *
 * Source of truth: ocaml's asmcomp/compilenv.ml and middle_end/symbol.ml (make_symbol, since 5.1
 * with a dot between module and function) and asmcomp/emitaux.ml (emit_symbol: a character that
 * assemblers do not take is $ and two hex digits). The number at the end tells functions of one
 * name apart. */
#include <ctype.h>
#include <string.h>

#include "demangle/language.h"

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Length without "_572"; anonymous functions have no other name than fun_325. */
static size_t without_number(const char *s, size_t n)
{
	size_t at = n;

	while (at && isdigit((unsigned char)s[at - 1]))
		at--;
	if (at == n || at < 2 || s[at - 1] != '_')
		return n;
	at--;
	if (at >= 3 && !memcmp(s + at - 3, "fun", 3) && (at == 3 || strchr("._", s[at - 4])))
		return n;
	return at;
}

bool demangle_ocaml(struct namebuf *out, const char *name, bool simple)
{
	static const char prefix[] = "caml";
	const char *s = name + sizeof prefix - 1, *end, *dot;

	if (strncmp(name, prefix, sizeof prefix - 1) || !isupper((unsigned char)*s))
		return false;
	end = s + strlen(s);
	if (simple)
		end = s + without_number(s, (size_t)(end - s));
	/* Where the function is behind a dot, only its module's name has "__". */
	dot = memchr(s, '.', (size_t)(end - s));
	while (s < end && !out->failed) {
		char c = *s;

		if (c == '_' && s + 2 < end && s[1] == '_' && (!dot || s < dot)) {
			c = '.';
			s += 2;
		} else if (c == '$' && end - s > 2 && hex_digit(s[1]) >= 0 &&
			   hex_digit(s[2]) >= 0) {
			c = (char)(hex_digit(s[1]) << 4 | hex_digit(s[2]));
			s += 3;
		} else {
			s++;
		}
		namebuf_add(out, &c, 1);
	}
	return true;
}

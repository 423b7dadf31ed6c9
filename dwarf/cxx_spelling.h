/* cxx_spelling.h - private: the text of a C++ name. What compilers write into DW_AT_name is spelled
 * as libiberty's demangler spells it. */
#ifndef DWARF_CXX_SPELLING_H
#define DWARF_CXX_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

enum { CXX_TEXT_MAX = 8000 };

/* With len and failed zeroed: empty. Ends in no NUL. */
struct cxx_text {
	size_t len;
	bool failed; /* it is too long */
	char text[CXX_TEXT_MAX];
};

void cxx_put_n(struct cxx_text *t, const char *s, size_t n);
void cxx_put(struct cxx_text *t, const char *s);
/* Writes the name of a base type that is at s, if it is spelled differently. Returns its end; s if
 * there is none at s. */
const char *cxx_put_respelled_word(struct cxx_text *t, const char *s, const char *end);
/* Writes a type or name of gcc or clang. */
void cxx_put_respelled(struct cxx_text *t, const char *s, const char *end);

/* Length of a name without its template arguments; angle brackets of an operator are part of the
 * name. */
size_t cxx_plain_length(const char *s);
/* Are two spellings equal? Ignores what is in parentheses (default arguments may be left out
 * there), marks of lambdas in the first one, and the suffixes of numbers: 3ul is 3. */
bool cxx_same_spelling(const char *a, const char *end_a, const char *b, const char *end_b);

#endif

/* function_name.c - which functions a name means that was typed by hand. */
#include "report/function_name.h"

#include <string.h>

#include "profile/profile.h"

/* A part of a string. */
struct part {
	const char *s;
	size_t n;
};

static struct part part_of(const char *s)
{
	return (struct part){s, strlen(s)};
}

static bool is_equal(struct part a, struct part b)
{
	return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

/* Does it end in `last`, after one of these characters? */
static bool ends_in(struct part p, struct part last, const char *after)
{
	return last.n && p.n > last.n && !memcmp(p.s + p.n - last.n, last.s, last.n) &&
	       strchr(after, p.s[p.n - last.n - 1]);
}

/* "ns::W<int>::run<a<b> >" -> "ns::W::run", which follows the name in `room`. Not where brackets
 * are no pairs, as in names of operators. */
static struct part without_templates(struct text *room, struct part p)
{
	const size_t begin = room->n;
	size_t depth = 0;

	for (size_t i = 0; i < p.n; i++) {
		const char c = room->s[i];

		if (c == '>' && !depth)
			return p;
		depth += c == '<';
		if (!depth)
			text_char(room, c);
		depth -= c == '>';
	}
	return depth || room->failed ? p : (struct part){room->s + begin, room->n - begin};
}

/* V8's "JS:*fib /home/ann/fib.js:5:19" -> "fib". */
static struct part without_place(struct part p)
{
	const char *end;

	if (p.n < 4 || memcmp(p.s, "JS:", 3) != 0)
		return p;
	p = (struct part){p.s + 3, p.n - 3};
	if (strchr("*~^+", *p.s))
		p = (struct part){p.s + 1, p.n - 1};
	end = memchr(p.s, ' ', p.n);
	return end ? (struct part){p.s, (size_t)(end - p.s)} : p;
}

static bool is_last(struct part p, struct part typed)
{
	return is_equal(p, typed) || ends_in(p, typed, ":./");
}

enum name_typed name_typed(struct text *room, const char *name, const char *typed)
{
	const struct part whole = part_of(name), is = part_of(typed);
	const bool has_arguments = strchr(typed, '(') != NULL;
	struct part plain, bare;

	room->n = 0;
	fold_function(room, name, whole.n);
	plain.n = room->n;
	bare = without_templates(room, (struct part){room->s, plain.n});
	if (room->failed || !plain.n || !is.n)
		return NAME_NOT_TYPED;
	plain.s = room->s; /* it may have moved */
	if (is_equal(whole, is) || is_equal(plain, is))
		return NAME_TYPED;
	if ((has_arguments && ends_in(whole, is, " ")) ||
	    (!has_arguments && !strncmp(name, typed, is.n) && name[is.n] == '('))
		return NAME_PART_TYPED;
	if (bare.n == plain.n)
		bare = plain;
	return is_last(has_arguments ? whole : plain, is) || is_last(bare, is) ||
			       is_equal(without_place(plain), is)
		       ? NAME_LAST_TYPED
		       : NAME_NOT_TYPED;
}

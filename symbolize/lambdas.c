/* lambdas.c - finds the numbers of lambdas in names made from DWARF. */
#include "symbolize/lambdas.h"

#include <string.h>

#include "dwarf/dwarf.h"

#define LAMBDA	      "{lambda"
#define LAMBDA_UNSURE UINT32_MAX

/* limit on lambdas in one name, which may be nested; the others get no numbers */
#define LAMBDAS_MAX 64

/* A lambda in a name. */
struct lambda {
	const char *begin, *end; /* "{lambda(int)#2}" */
	const char *number;	 /* "#2}", or only "}" */
};

/* Finds the next lambda from s on; false: there is none. */
static bool lambda_next(const char *s, struct lambda *ret)
{
	unsigned open = 0;

	ret->begin = strstr(s, LAMBDA);
	ret->number = NULL;
	for (s = ret->begin; s && *s; s++) {
		open += *s == '{' || *s == '(';
		if (open == 1 && *s == '#' && !ret->number)
			ret->number = s;
		if ((*s == '}' || *s == ')') && !--open) {
			ret->number = ret->number ? ret->number : s;
			ret->end = s + 1;
			return true;
		}
	}
	return false;
}

bool lambda_is_marked(const char *name)
{
	return strstr(name, DWARF_LAMBDA_MARK);
}

static bool is_marked(const struct lambda *l)
{
	return !strncmp(l->number, DWARF_LAMBDA_MARK, strlen(DWARF_LAMBDA_MARK));
}

/* The start, with its scopes, of the name that ends at `end`: after the character that opens a
 * list, or that separates two items of one. */
static const char *scopes_begin(const char *name, const char *end)
{
	unsigned closed = 0;

	for (; end > name; end--) {
		char c = end[-1];

		if (strchr(")>]}", c))
			closed++;
		else if (strchr("(<[{", c) && !closed--)
			return end;
		else if (!closed && (c == ',' || (c == ' ' && strncmp(end, "const", 5))))
			return end;
	}
	return end;
}

/* Can the two be the same lambda? For a generic lambda DWARF's name has no parameters. */
static bool may_be_same(const struct lambda *marked, const struct lambda *symbol)
{
	size_t n = (size_t)(marked->number - marked->begin);

	return n == strlen(LAMBDA) || (n == (size_t)(symbol->number - symbol->begin) &&
				       !memcmp(marked->begin, symbol->begin, n));
}

/* Do both names have the same lambdas, as far as names tell? */
static bool are_in_step(const char *marked, const char *symbol)
{
	struct lambda m, s;
	bool more;

	while ((more = lambda_next(marked, &m)) && lambda_next(symbol, &s)) {
		if (!may_be_same(&m, &s))
			return false;
		marked = m.end;
		symbol = s.end;
	}
	return !more && !lambda_next(symbol, &s);
}

static int learn_one(struct lambdas *l, const char *name, const struct lambda *m,
		     const struct lambda *s)
{
	const char *begin = scopes_begin(name, m->begin);
	uint32_t key = strtab_add(&l->keys, begin, (size_t)(m->end - begin));
	uint32_t number = strtab_add(&l->numbered, s->begin, (size_t)(s->end - s->begin));

	if (key == STRTAB_FAILED || number == STRTAB_FAILED)
		return -1;
	while (l->numbers.n <= key)
		if (vec_push(&l->numbers, 0))
			return -1;
	if (l->numbers.v[key] && l->numbers.v[key] != number)
		number = LAMBDA_UNSURE;
	l->numbers.v[key] = number;
	return 0;
}

int lambdas_learn(struct lambdas *l, const char *marked, const char *symbol)
{
	const char *name = marked;
	struct lambda m, s;

	if (!are_in_step(marked, symbol))
		return 0;
	while (lambda_next(marked, &m) && lambda_next(symbol, &s)) {
		if (is_marked(&m) && learn_one(l, name, &m, &s))
			return -1;
		marked = m.end;
		symbol = s.end;
	}
	return 0;
}

/* The number of a marked lambda; NULL: unknown. */
static const char *number_of(const struct lambdas *l, const char *name, const struct lambda *m)
{
	const char *begin = scopes_begin(name, m->begin);
	uint32_t key = strtab_find(&l->keys, begin, (size_t)(m->end - begin));

	if (key == STRTAB_FAILED || key >= l->numbers.n || l->numbers.v[key] == LAMBDA_UNSURE)
		return NULL;
	return strtab_get(&l->numbered, l->numbers.v[key]);
}

static size_t put(char *out, size_t at, const char *s, size_t n)
{
	if (out)
		memcpy(out + at, s, n);
	return n;
}

/* Writes the text with places in the source instead of marks: {lambda(int)@12:5}. They cannot be
 * left out, because the lambdas of a function would become one. */
static size_t put_places(char *out, size_t at, const char *s, const char *end)
{
	const size_t before = at;
	const char *mark;

	while ((mark = strstr(s, DWARF_LAMBDA_MARK)) && mark < end) {
		at += put(out, at, s, (size_t)(mark - s));
		at += put(out, at, "@", 1);
		s = mark + strlen(DWARF_LAMBDA_MARK);
	}
	return at - before + put(out, at, s, (size_t)(end - s));
}

/* Writes the name to `out`, unless that is NULL; returns its length. */
static size_t spell(const struct lambdas *l, const char *name, char *out)
{
	const char *s = name, *numbered;
	struct lambda m;
	size_t n = 0;
	unsigned i;

	for (i = 0; i < LAMBDAS_MAX && lambda_next(s, &m); i++) {
		numbered = is_marked(&m) ? number_of(l, name, &m) : NULL;
		if (!numbered) { /* there may be others in its parameters */
			n += put_places(out, n, s, m.begin + strlen(LAMBDA));
			s = m.begin + strlen(LAMBDA);
			continue;
		}
		n += put_places(out, n, s, m.begin);
		n += put(out, n, numbered, strlen(numbered));
		s = m.end;
	}
	n += put_places(out, n, s, s + strlen(s));
	return n + put(out, n, "", 1);
}

const char *lambdas_spell(const struct lambdas *l, const char *marked, struct arena *names)
{
	char *s = arena_alloc(names, spell(l, marked, NULL));

	if (s)
		spell(l, marked, s);
	return s;
}

bool lambda_same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == '#' ? strspn(a, "#@:0123456789") : 0;
		b += *b == '#' ? strspn(b, "#@:0123456789") : 0;
		if (*a != *b || !*a)
			return *a == *b;
	}
}

void lambdas_done(struct lambdas *l)
{
	strtab_done(&l->keys);
	strtab_done(&l->numbered);
	vec_done(&l->numbers);
}

/* merge_threads.c - threads whose names differ only in numbers are one: worker-1, worker-2 ..
 *
 * Numbers become <N>, as in the key comm_nodigit of perf report; but a name that no other differs
 * from in this way stays (python3, where there is no python2). */
#include "profile/profile.h"

#include <stdlib.h>

#include "base/hash.h"

#define NUMBER "<N>"

struct patterns {
	struct profile *p;
	struct hash_table of;	/* string id of a name -> string id of its pattern */
	struct hash_table name; /* pattern -> the first name that has it */
	struct hash_table many; /* pattern -> 1, if several names have it */
	struct text text;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The string id of a name's pattern; the name's own, if it has no number. */
static uint32_t make_pattern(struct patterns *x, uint32_t id)
{
	const char *s = strtab_get(&x->p->strings, id);
	const size_t n = strtab_len(&x->p->strings, id);

	x->text.n = 0;
	for (size_t i = 0; i < n; i++)
		if (!is_digit(s[i]))
			text_char(&x->text, s[i]);
		else if (!i || !is_digit(s[i - 1]))
			text_str(&x->text, NUMBER);
	if (x->text.failed)
		return STRTAB_FAILED;
	return x->text.n ? profile_string(x->p, x->text.s, x->text.n) : id;
}

static int learn(struct patterns *x, uint32_t id)
{
	uint32_t pattern, first;

	if (!id || hash_get(&x->of, id) != HASH_NONE)
		return 0;
	pattern = make_pattern(x, id);
	if (pattern == STRTAB_FAILED || hash_put(&x->of, id, pattern))
		return -1;
	first = hash_get(&x->name, pattern);
	if (first == HASH_NONE)
		return hash_put(&x->name, pattern, id);
	return hash_get(&x->many, pattern) == HASH_NONE ? hash_put(&x->many, pattern, 1) : 0;
}

static uint32_t merged(const struct patterns *x, uint32_t id)
{
	const uint32_t pattern = id ? hash_get(&x->of, id) : 0;

	return id && hash_get(&x->many, pattern) != HASH_NONE ? pattern : id;
}

int profile_merge_threads(struct profile *p, struct err *err)
{
	struct patterns x = {.p = p};
	int rc = 0;

	for (size_t i = 0; !rc && i < p->samples.n; i++)
		rc = learn(&x, p->samples.v[i].comm);
	for (size_t i = 0; !rc && i < p->log.n; i++)
		rc = learn(&x, p->log.v[i].comm);
	for (size_t i = 0; !rc && i < p->samples.n; i++)
		p->samples.v[i].comm = merged(&x, p->samples.v[i].comm);
	for (size_t i = 0; !rc && i < p->log.n; i++)
		p->log.v[i].comm = merged(&x, p->log.v[i].comm);
	hash_done(&x.of);
	hash_done(&x.name);
	hash_done(&x.many);
	text_done(&x.text);
	return rc ? err_nomem(err) : 0;
}

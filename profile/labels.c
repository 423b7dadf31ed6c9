/* labels.c - labels that other tools gave to samples: one string for a set.
 *
 * Each is its key, a NUL, 't' and its text, or 'n', its number in decimal, a NUL and its unit, and
 * a NUL. */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void profile_label_add(struct text *set, const struct profile_label *l)
{
	char number[32];

	text_add(set, l->key, strlen(l->key) + 1);
	if (l->text) {
		text_char(set, 't');
		text_add(set, l->text, strlen(l->text) + 1);
		return;
	}
	text_char(set, 'n');
	snprintf(number, sizeof number, "%" PRId64, l->number);
	text_add(set, number, strlen(number) + 1);
	text_add(set, l->unit, strlen(l->unit) + 1);
}

/* The next string of the set; NULL: the set ends inside of it. */
static const char *next(const char *s, size_t n, size_t *at)
{
	const char *start = s + *at, *end = *at < n ? memchr(start, '\0', n - *at) : NULL;

	if (!end)
		return NULL;
	*at = (size_t)(end - s) + 1;
	return start;
}

bool profile_label(const struct profile *p, const struct profile_sample *s, size_t *at,
		   struct profile_label *ret)
{
	const char *set = strtab_get(&p->strings, s->labels), *value;
	size_t n = s->labels ? strtab_len(&p->strings, s->labels) : 0;

	*ret = (struct profile_label){.unit = ""};
	ret->key = next(set, n, at);
	value = ret->key ? next(set, n, at) : NULL;
	if (!value || !*value)
		return false;
	if (*value == 't') {
		ret->text = value + 1;
		return true;
	}
	ret->number = strtoll(value + 1, NULL, 10);
	ret->unit = next(set, n, at);
	return ret->unit != NULL;
}

bool profile_label_named(const struct profile *p, const struct profile_sample *s, const char *key,
			 struct profile_label *ret)
{
	size_t at = 0;

	while (profile_label(p, s, &at, ret))
		if (!strcmp(ret->key, key))
			return true;
	return false;
}

/* The text that values_find() (values/values.h) made: '\n' behind frames, '\t' between the
 * functions of one. */
const char *profile_values(const struct profile *p, const struct profile_log_entry *e, size_t frame,
			   size_t level, size_t *n, size_t *n_levels)
{
	const char *at = strtab_get(&p->strings, e->values);
	const char *end = at + (e->values ? strtab_len(&p->strings, e->values) : 0), *line, *from;

	for (;; at = line + 1) {
		line = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (!line)
			return NULL;
		if (!frame--)
			break;
	}
	line = memchr(at, '\r', (size_t)(line - at)) ? memchr(at, '\r', (size_t)(line - at)) : line;
	*n_levels = 1;
	for (from = at; from < line; from++)
		*n_levels += *from == '\t';
	if (level >= *n_levels)
		return NULL;
	/* The last one is the function itself. */
	for (;; line = from) {
		from = memrchr(at, '\t', (size_t)(line - at));
		if (!level--)
			break;
	}
	from = from ? from + 1 : at;
	*n = (size_t)(line - from);
	return from;
}

const char *profile_result_type(const struct profile *p, const struct profile_log_entry *e,
				size_t *n)
{
	const char *at = strtab_get(&p->strings, e->values);
	const size_t len = e->values ? strtab_len(&p->strings, e->values) : 0;
	const char *from = len ? memchr(at, '\r', len) : NULL, *end;

	end = from ? memchr(from, '\n', (size_t)(at + len - from)) : NULL;
	if (end && memchr(from, '\v', (size_t)(end - from)))
		end = memchr(from, '\v', (size_t)(end - from));
	*n = end ? (size_t)(end - from - 1) : 0;
	return end ? from + 1 : NULL;
}

bool profile_is_text_pointer(const struct profile *p, const struct profile_log_entry *e,
			     const char *name, size_t n)
{
	const char *at = strtab_get(&p->strings, e->values);
	const size_t len = e->values ? strtab_len(&p->strings, e->values) : 0;
	const char *end = len ? memchr(at, '\n', len) : NULL;

	at = end ? memchr(at, '\v', (size_t)(end - at)) : NULL;
	for (; at && at + 1 < end; at = memchr(at + 1, ' ', (size_t)(end - at - 1)))
		if (*at == ' ' && (size_t)(end - at) > n + 1 && !memcmp(at + 1, name, n) &&
		    at[1 + n] == ' ')
			return true;
	return false;
}

void profile_label_show(struct text *t, const struct profile *p, const struct profile_sample *s,
			const char *key)
{
	struct profile_label l;
	char number[32];

	if (!profile_label_named(p, s, key, &l)) {
		text_str(t, "[no ");
		text_clean(t, key, strlen(key));
		text_char(t, ']');
	} else if (l.text) {
		text_clean(t, l.text, strlen(l.text));
	} else {
		snprintf(number, sizeof number, "%" PRId64, l.number);
		text_str(t, number);
		text_clean(t, l.unit, strlen(l.unit));
	}
}

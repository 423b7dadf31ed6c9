/* environs.c - a table of all 8 bytes of the environment's values. */
#include "capture/environs.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/sysfile.h"

enum {
	WORD = 8,
	FILL = '.',
	TEXT_MAX = 256 << 10,	    /* of one environment */
	TEXTS_BYTES_MAX = 16 << 20, /* of all */
	PROCESSES_MAX = 1 << 16,
	END_BYTES = 64,
};

/* ---- values -------------------------------------------------------------------------------- */

/* Variables whose values are no secrets, by name or by the end of it. */
static bool is_harmless(const char *name)
{
	static const char *const names[] = {"HOME",    "PWD",	 "OLDPWD", "SHELL",    "USER",
					    "MAIL",    "TERM",	 "LANG",   "LOGNAME",  "_",
					    "DISPLAY", "EDITOR", "PAGER",  "HOSTNAME", "LANGUAGE"};
	static const char *const ends[] = {"PATH", "_DIR", "_DIRS", "_HOME", "TMPDIR"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	for (i = 0; i < sizeof ends / sizeof *ends; i++)
		if (str_ends_with(name, ends[i]))
			return true;
	return !strncmp(name, "LC_", 3);
}

/* Leaves of "NAME=VALUE" NUL .. the values, each behind a NUL. Returns the new length. */
static size_t keep_values(char *v, size_t n)
{
	size_t at = 0, to = 0, size, skip;
	char *is;

	for (; at < n; at += size + 1) {
		size = strnlen(v + at, n - at);
		is = memchr(v + at, '=', size);
		if (!is)
			continue;
		*is = 0;
		skip = (size_t)(is - (v + at));
		if (size - skip <= WORD || is_harmless(v + at))
			continue;
		memmove(v + to, is, size - skip);
		to += size - skip;
	}
	return to;
}

static uint64_t word_at(const void *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return w;
}

static size_t place_of(const struct environ_text *t, uint64_t w, uint64_t seed)
{
	return hash_mix(seed, w) & t->mask;
}

/* Where 8 bytes are among the values; n: nowhere. */
static size_t find(const struct environ_text *t, uint64_t w, uint64_t seed)
{
	size_t i = place_of(t, w, seed);

	for (; t->slots[i]; i = (i + 1) & t->mask)
		if (word_at(t->v + t->slots[i] - 1) == w)
			return t->slots[i] - 1;
	return t->n;
}

static int index_values(struct environ_text *t, uint64_t seed)
{
	size_t i, at, size = 64, since = 0;

	while (size < 2 * t->n)
		size *= 2;
	t->mask = size - 1;
	t->slots = calloc(size, sizeof *t->slots);
	if (!t->slots)
		return -1;
	for (i = 0; i < t->n; i++) {
		since = t->v[i] ? since + 1 : 0;
		if (since < WORD || find(t, word_at(t->v + i + 1 - WORD), seed) != t->n)
			continue;
		at = place_of(t, word_at(t->v + i + 1 - WORD), seed);
		while (t->slots[at])
			at = (at + 1) & t->mask;
		t->slots[at] = (uint32_t)(i + 1 - WORD) + 1;
	}
	return 0;
}

/* ---- processes ----------------------------------------------------------------------------- */

/* Index of a text, which is taken; HASH_NONE: it is empty, or there is no room. */
static uint32_t add_text(struct environs *e, char *v, size_t n)
{
	struct environ_text t = {.v = v, .n = n};
	uint32_t i;

	if (!t.v || !t.n) /* of a process that ends it is empty */
		goto none;
	t.n = keep_values(t.v, t.n);
	t.key = hash_bytes(t.v, t.n);
	for (i = 0; i < e->texts.n; i++)
		if (e->texts.v[i].key == t.key && e->texts.v[i].n == t.n &&
		    !memcmp(e->texts.v[i].v, t.v, t.n)) {
			free(t.v);
			return i;
		}
	if (e->bytes + t.n > TEXTS_BYTES_MAX || index_values(&t, hash_secret()) ||
	    vec_push(&e->texts, t))
		goto none;
	e->bytes += t.n;
	return i;
none:
	free(t.v);
	free(t.slots);
	return HASH_NONE;
}

static uint32_t add_file(struct environs *e, const char *file)
{
	size_t n = 0;
	char *v = sysfile_read_all(file, TEXT_MAX, &n);

	return add_text(e, v, n);
}

void environs_begin(struct environs *e)
{
	e->on = true;
	add_file(e, "/proc/self/environ");
}

void environs_note(struct environs *e, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;
	uint32_t pid;

	if (!e->on || n < sizeof h + sizeof pid)
		return;
	memcpy(&h, rec, sizeof h);
	memcpy(&pid, rec + sizeof h, sizeof pid);
	if (h.type == PERF_RECORD_COMM && h.misc & PERF_RECORD_MISC_COMM_EXEC)
		hash_remove(&e->by_pid, pid);
}

static const struct environ_text *text_of(struct environs *e, uint32_t pid)
{
	uint32_t i = hash_get(&e->by_pid, pid);
	char file[64];

	if (i == HASH_NONE) {
		snprintf(file, sizeof file, "/proc/%" PRIu32 "/environ", pid);
		i = add_file(e, file);
		i = i == HASH_NONE ? 0 : i;
		if (e->by_pid.n < PROCESSES_MAX)
			hash_put(&e->by_pid, pid, i);
	}
	return i < e->texts.n ? &e->texts.v[i] : NULL;
}

/* Are all values of b among those of a? */
static bool has_all(const struct environ_text *a, const struct environ_text *b)
{
	const uint64_t seed = hash_secret();
	size_t at, n, pos;

	for (at = 0; at < b->n; at += n + 1) {
		n = strnlen(b->v + at, b->n - at);
		if (n < WORD)
			continue;
		pos = find(a, word_at(b->v + at), seed);
		if (pos == a->n || a->n - pos < n || memcmp(a->v + pos, b->v + at, n) != 0)
			return false;
	}
	return true;
}

void environs_learn(struct environs *e, uint32_t pid, const uint8_t *strings, size_t n)
{
	const size_t end = n < END_BYTES ? n : END_BYTES;
	const uint32_t hash = (uint32_t)hash_bytes(strings + n - end, end) >> 1;
	const struct environ_text *asked;
	uint32_t i;
	char *v;

	if (!e->on || !n || hash_get(&e->ends, pid) == hash || e->ends.n >= PROCESSES_MAX)
		return;
	hash_put(&e->ends, pid, hash);
	v = malloc(n);
	if (v)
		memcpy(v, strings, n);
	i = add_text(e, v, n);
	asked = text_of(e, pid);
	if (i == HASH_NONE || (asked && has_all(asked, &e->texts.v[i])))
		hash_remove(&e->learned, pid);
	else
		hash_put(&e->learned, pid, i);
}

/* Is the word behind a piece no more of it, but an address whose first bytes look so? Of text there
 * is nothing behind the first NUL. */
static bool may_be_address(const struct environ_text *t, size_t pos, const uint8_t *bytes, size_t n)
{
	size_t filled;

	if (n < WORD || bytes[WORD - 1])
		return false;
	filled = strnlen((const char *)bytes, WORD);
	return word_at(bytes) >> 8 * filled || t->n - pos < filled ||
	       memcmp(bytes, t->v + pos, filled) != 0;
}

/* Replaces the value at `pos` as far as the bytes around `at`, which are 8 of it, are the same.
 * Returns where that ends. */
static size_t hide_around(const struct environ_text *t, size_t pos, uint8_t *bytes, size_t n,
			  size_t at, size_t *hidden)
{
	size_t start = at, end = at + WORD;

	while (start && pos && t->v[pos - 1] && bytes[start - 1] == (uint8_t)t->v[pos - 1])
		start--, pos--;
	pos += end - start;
	while (end < n && pos < t->n && t->v[pos] && bytes[end] == (uint8_t)t->v[pos] &&
	       (end % WORD || !may_be_address(t, pos, bytes + end, n - end)))
		end++, pos++;
	memset(bytes + start, FILL, end - start);
	*hidden += end - start;
	return end;
}

static size_t hide(const struct environ_text *t, uint8_t *bytes, size_t n)
{
	const uint64_t seed = hash_secret();
	size_t at = 0, pos, hidden = 0, end;
	uint64_t w;

	while (t->n && at + WORD <= n) {
		w = word_at(bytes + at);
		pos = w >> 56 ? find(t, w, seed) : t->n; /* 0: an address, or a small number */
		end = pos < t->n ? hide_around(t, pos, bytes, n, at, &hidden) : at + WORD;
		at = (end + WORD - 1) / WORD * WORD;
	}
	return hidden;
}

size_t environs_hide(struct environs *e, uint32_t pid, uint8_t *bytes, size_t n)
{
	const struct environ_text *t = e->on ? text_of(e, pid) : NULL;
	const uint32_t learned = e->on ? hash_get(&e->learned, pid) : HASH_NONE;
	size_t hidden = t ? hide(t, bytes, n) : 0;

	if (learned != HASH_NONE)
		hidden += hide(&e->texts.v[learned], bytes, n);
	return hidden;
}

void environs_done(struct environs *e)
{
	size_t i;

	for (i = 0; i < e->texts.n; i++) {
		free(e->texts.v[i].v);
		free(e->texts.v[i].slots);
	}
	vec_done(&e->texts);
	hash_done(&e->by_pid);
	hash_done(&e->learned);
	hash_done(&e->ends);
	*e = (struct environs){0};
}

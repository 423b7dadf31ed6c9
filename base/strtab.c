/* strtab.c - entries in an array, found through an open-addressing index. */
#include "base/strtab.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

static uint32_t hash_of(const struct strtab *t, const char *s, size_t len)
{
	return (uint32_t)hash_bytes_seeded(t->seed, s, len);
}

static size_t probe(const struct strtab *t, const char *s, size_t len, uint32_t hash)
{
	size_t mask = t->n_slots - 1, i = hash & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct strtab_entry *e = &t->entries.v[t->slots[i] - 1];

		if (e->hash == hash && e->len == len && !memcmp(e->s, s, len))
			break;
	}
	return i;
}

static int rehash(struct strtab *t, size_t n_slots)
{
	uint32_t *old = t->slots, *slots = calloc(n_slots, sizeof *slots);
	size_t i, j;

	if (!slots)
		return -1;
	for (i = 0; i < t->entries.n; i++) {
		j = t->entries.v[i].hash & (n_slots - 1);
		while (slots[j])
			j = (j + 1) & (n_slots - 1);
		slots[j] = (uint32_t)i + 1;
	}
	free(old);
	t->slots = slots;
	t->n_slots = n_slots;
	return 0;
}

static uint32_t insert(struct strtab *t, const char *s, size_t len, uint32_t hash, size_t slot)
{
	char *copy = arena_strndup(&t->arena, s, len);

	if (!copy || t->entries.n >= STRTAB_FAILED - 1 ||
	    vec_push(&t->entries, (struct strtab_entry){copy, (uint32_t)len, hash}))
		return STRTAB_FAILED;
	t->slots[slot] = (uint32_t)t->entries.n;
	return (uint32_t)t->entries.n - 1;
}

static int make_empty(struct strtab *t)
{
	uint32_t hash;

	t->seed = hash_secret();
	hash = hash_of(t, "", 0);
	if (rehash(t, 64))
		return -1;
	return insert(t, "", 0, hash, probe(t, "", 0, hash)) == 0 ? 0 : -1;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	uint32_t hash;
	size_t i;

	if (len >= UINT32_MAX)
		return STRTAB_FAILED;
	if (!t->entries.n && make_empty(t))
		return STRTAB_FAILED;
	hash = hash_of(t, s, len);
	i = probe(t, s, len, hash);
	if (t->slots[i])
		return t->slots[i] - 1;
	if ((t->entries.n + 1) * 2 > t->n_slots) {
		if (rehash(t, t->n_slots * 2))
			return STRTAB_FAILED;
		i = probe(t, s, len, hash);
	}
	return insert(t, s, len, hash, i);
}

uint32_t strtab_add_cstr(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

uint32_t strtab_find(const struct strtab *t, const char *s, size_t len)
{
	size_t i;

	if (!len)
		return 0;
	if (!t->n_slots || len >= UINT32_MAX)
		return STRTAB_FAILED;
	i = probe(t, s, len, hash_of(t, s, len));
	return t->slots[i] ? t->slots[i] - 1 : STRTAB_FAILED;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	if (!id)
		return "";
	assert(id < t->entries.n);
	return t->entries.v[id].s;
}

size_t strtab_len(const struct strtab *t, uint32_t id)
{
	if (!id)
		return 0;
	assert(id < t->entries.n);
	return t->entries.v[id].len;
}

size_t strtab_count(const struct strtab *t)
{
	return t->entries.n ? t->entries.n : 1;
}

void strtab_done(struct strtab *t)
{
	arena_done(&t->arena);
	vec_done(&t->entries);
	free(t->slots);
	*t = (struct strtab){0};
}

/* modules.c - the table dso -> module, filled on first use from any thread. */
#include "modules/modules.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "modules/find.h"
#include "modules/image.h"

struct modules {
	struct places places;
	struct image_cache cache;
	pthread_rwlock_t
		lock; /* guards what follows; an entry has its own lock for the slow work */
	struct hash_table by_dso;
	VEC(struct module_entry *) entries;
};

const char *module_miss_text(enum module_miss m)
{
#define X(name, text) [MODULE_MISS_##name] = text,
	static const char *const texts[] = {MODULE_MISSES(X)};
#undef X
	return (unsigned)m < MODULE_MISS_N ? texts[m] : "unknown";
}

int modules_new(struct modules **ret, const struct modules_options *opt, struct err *err)
{
	static const struct modules_options defaults;
	struct modules *m = calloc(1, sizeof *m);

	if (!m || places_init(&m->places, opt ? opt : &defaults)) {
		free(m);
		return err_nomem(err);
	}
	pthread_mutex_init(&m->cache.lock, NULL);
	pthread_rwlock_init(&m->lock, NULL);
	*ret = m;
	return 0;
}

static void entry_free(struct module_entry *e)
{
	struct module_state *state = atomic_load(&e->m.unwind_state);
	size_t i;

	if (state)
		state->done(state);
	for (i = 0; i < e->tried.n; i++)
		free(e->tried.v[i]);
	vec_done(&e->tried);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void modules_free(struct modules *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->entries.n; i++)
		entry_free(m->entries.v[i]);
	vec_done(&m->entries);
	hash_done(&m->by_dso);
	image_cache_done(&m->cache);
	places_done(&m->places);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

/* The entry of a dso, made when there is none. NULL when out of memory. */
static struct module_entry *entry_get(struct modules *m, const struct dso *dso)
{
	uint64_t key = (uintptr_t)dso;
	struct module_entry *e = NULL;
	uint32_t i;

	pthread_rwlock_rdlock(&m->lock);
	i = hash_get(&m->by_dso, key);
	if (i != HASH_NONE)
		e = m->entries.v[i];
	pthread_rwlock_unlock(&m->lock);
	if (e)
		return e;

	pthread_rwlock_wrlock(&m->lock);
	i = hash_get(&m->by_dso, key);
	if (i != HASH_NONE) { /* another thread was faster */
		e = m->entries.v[i];
		goto out;
	}
	e = calloc(1, sizeof *e);
	if (!e)
		goto out;
	e->m.dso = dso;
	pthread_mutex_init(&e->lock, NULL);
	if (vec_push(&m->entries, e)) {
		entry_free(e);
		e = NULL;
	} else if (hash_put(&m->by_dso, key, (uint32_t)m->entries.n - 1)) {
		m->entries.n--;
		entry_free(e);
		e = NULL;
	}
out:
	pthread_rwlock_unlock(&m->lock);
	return e;
}

struct module *modules_get(struct modules *m, const struct dso *dso)
{
	struct module_entry *e = entry_get(m, dso);
	bool nomem = false;

	if (!e)
		return NULL;
	pthread_mutex_lock(&e->lock);
	if (!e->opened) {
		struct finder f = {&m->places, &m->cache, e, MODULE_MISS_NONE, false};

		e->m.image = find_image(&f);
		if (!e->m.image)
			e->m.image_miss = f.miss ? f.miss : MODULE_MISS_NO_FILE;
		e->opened = true;
		nomem = f.nomem && !e->m.image;
	}
	pthread_mutex_unlock(&e->lock);
	return nomem ? NULL : &e->m;
}

void module_debug(struct modules *m, struct module *mod)
{
	struct module_entry *e = (struct module_entry *)mod;

	pthread_mutex_lock(&e->lock);
	if (!e->debug_looked_for) {
		struct finder f = {&m->places, &m->cache, e, MODULE_MISS_NONE, false};

		find_debug(&f);
		e->debug_looked_for = true;
	}
	pthread_mutex_unlock(&e->lock);
}

/* const is the caller's view; the lock inside is not part of it. */
static struct module_entry *entry_of(const struct module *mod)
{
	return (struct module_entry *)(uintptr_t)mod;
}

size_t module_tried_count(const struct module *mod)
{
	struct module_entry *e = entry_of(mod);
	size_t n;

	pthread_mutex_lock(&e->lock);
	n = e->tried.n;
	pthread_mutex_unlock(&e->lock);
	return n;
}

const char *module_tried(const struct module *mod, size_t i)
{
	struct module_entry *e = entry_of(mod);
	const char *s;

	pthread_mutex_lock(&e->lock);
	s = i < e->tried.n ? e->tried.v[i] : "";
	pthread_mutex_unlock(&e->lock);
	return s;
}

/* An executable mapping shows an executable segment: the file's page where one segment ends and the
 * next begins is mapped for both, at addresses that need not be congruent. */
bool module_ip_to_vaddr(const struct module *mod, const struct map *map, uint64_t ip, uint64_t *ret)
{
	uint64_t off = map_ip_to_off(map, ip);

	if (!mod->image)
		return false;
	if (map->prot & PROT_EXEC && image_off_to_vaddr(mod->image, off, PF_X, ret))
		return true;
	return elf_image_off_to_vaddr(mod->image, off, ret);
}

/* modules.c - the table dso -> module, filled on first use from any thread. */
#include "modules/modules.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/threads.h"
#include "modules/debuginfod.h"
#include "modules/find.h"

struct modules {
	struct search_path dirs;
	struct image_cache cache;
	struct part_cache parts;
	struct debuginfod *servers; /* NULL: the network is off */
	atomic_bool nomem;	    /* something is missing because memory was short: stays set */
	pthread_rwlock_t
		/* Guards the fields after it; each entry has its own lock for the slow work. */
		lock;
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

	if (!m || search_path_init(&m->dirs, opt ? opt : &defaults)) {
		free(m);
		return err_nomem(err);
	}
	pthread_mutex_init(&m->cache.lock, NULL);
	pthread_mutex_init(&m->parts.lock, NULL);
	pthread_rwlock_init(&m->lock, NULL);
	if (opt && opt->fetch) {
		m->servers = debuginfod_new(opt->fetch, m->dirs.debuginfod_dir);
		if (!m->servers) {
			modules_free(m);
			return err_nomem(err);
		}
	}
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
		free((char *)(uintptr_t)e->tried.v[i].text);
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
	part_cache_done(&m->parts);
	debuginfod_free(m->servers);
	search_path_done(&m->dirs);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

/* The entry of a dso, made if there is none. Returns NULL when out of memory. */
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

static struct finder finder_make(struct modules *m, struct module_entry *e)
{
	return (struct finder){.dirs = &m->dirs, .cache = &m->cache, .entry = e};
}

/* Opens the image, once. Called with the entry's lock. */
static void open_image(struct modules *m, struct module_entry *e)
{
	struct finder f = finder_make(m, e);

	if (e->opened)
		return;
	e->opened = true;
	e->m.image_fetch = e->m.debug_fetch = e->m.alt_fetch =
		m->servers ? FETCH_NOT_ASKED : FETCH_OFF;
	e->m.image = find_image(&f);
	if (!e->m.image) {
		e->m.image_miss = f.miss ? f.miss : MODULE_MISS_NO_FILE;
		if (!m->servers && fetch_is_possible(&e->m))
			finder_note_fetch(&f, "executable", FETCH_OFF, "");
	}
	if (f.nomem)
		m->nomem = true;
}

/* Asks servers for the image, once, if it was not found. Called with the entry's lock. */
static void ask_for_image(struct finder *f)
{
	struct module_entry *e = f->entry;

	if (e->m.image || e->image_asked)
		return;
	e->image_asked = true;
	e->m.image = fetch_image(f);
	if (e->m.image)
		e->m.image_miss = MODULE_MISS_NONE;
}

/* Reports the result for a module, unless nothing was asked. */
static void notify_result(const struct finder *f)
{
	const struct module *m = &f->entry->m;
	enum fetch_result result = m->debug_fetch;
	struct fetch_event e = {
		.what = FETCH_EVENT_MODULE,
		.dso = m->dso,
		.rank = f->rank,
		.n_ranks = f->n_ranks,
		.bytes = f->fetched_bytes,
		.elapsed_ms = f->fetch_ms,
		.note = f->fetch_note,
	};

	if (result == FETCH_NOT_ASKED)
		result = m->image_fetch;
	/* Without the alt file the debug file is incomplete, so its result counts, too. */
	if (result == FETCH_NOT_ASKED || (result == FETCH_DONE && m->alt_fetch != FETCH_NOT_ASKED))
		result = m->alt_fetch;
	e.result = result;
	if (result == FETCH_DONE)
		e.note = f->refused_note;
	if (f->fetch_note)
		debuginfod_notify(f->servers, &e);
}

struct module *modules_get(struct modules *m, const struct dso *dso)
{
	struct module_entry *e = entry_get(m, dso);

	if (!e)
		m->nomem = true;
	if (m->nomem)
		return NULL;
	pthread_mutex_lock(&e->lock);
	open_image(m, e);
	if (!m->nomem && m->servers) {
		struct finder f = finder_make(m, e);

		f.servers = m->servers;
		ask_for_image(&f);
		notify_result(&f);
		if (f.nomem)
			m->nomem = true;
	}
	pthread_mutex_unlock(&e->lock);
	return m->nomem ? NULL : &e->m;
}

/* Called with the entry's lock. */
static void look_for_debug(struct modules *m, struct module_entry *e)
{
	struct finder f = finder_make(m, e);

	if (e->debug_looked_for)
		return;
	e->debug_looked_for = true;
	find_debug(&f);
	if (!m->servers && fetch_is_possible(&e->m) && module_lacks_symbols(&e->m))
		finder_note_fetch(&f, "debuginfo", FETCH_OFF, "");
	if (f.nomem)
		m->nomem = true;
}

void module_reject(struct module *m)
{
	m->image = m->debug = m->alt = m->mini = NULL;
	m->image_miss = m->debug_miss = MODULE_MISS_OTHER_CODE;
}

bool module_debug(struct modules *m, struct module *mod)
{
	struct module_entry *e = (struct module_entry *)mod;

	pthread_mutex_lock(&e->lock);
	look_for_debug(m, e);
	pthread_mutex_unlock(&e->lock);
	return !m->nomem;
}

bool modules_part(struct modules *m, const struct map_source *src, struct map_part *ret)
{
	return part_of(&m->parts, &m->dirs, src, ret);
}

bool modules_part_range(struct modules *m, const char *path, struct map_part *ret)
{
	return part_range(&m->parts, &m->dirs, path, ret);
}

const char *modules_symfs(const struct modules *m)
{
	return m->dirs.symfs;
}

const struct bundle *modules_bundle(const struct modules *m)
{
	return m->dirs.bundle;
}

const char *modules_buildid_dir(const struct modules *m)
{
	return m->dirs.buildid_dir;
}

/* ---- fetching ---------------------------------------------------------------------------- */

struct fetch_run {
	struct modules *m;
	const struct fetch_want *wants;
	VEC(uint32_t) lacking; /* indices of wants */
	pthread_mutex_t lock;  /* guards lacking and nomem */
	bool nomem;
};

/* Is something missing that servers can be asked for? */
static bool lacks(struct modules *m, struct module_entry *e, enum fetch_tier tier)
{
	if (e->skipped || !fetch_is_possible(&e->m))
		return false;
	if (!e->m.image && e->m.dso->kind != DSO_KERNEL)
		return !e->image_asked || tier == FETCH_TIER_FULL;
	if (tier == FETCH_TIER_BINARY)
		return false;
	look_for_debug(m, e);
	return !fetch_is_needless(&e->m, tier);
}

static void look_for_one(struct fetch_run *run, uint32_t i)
{
	struct module_entry *e = entry_get(run->m, run->wants[i].dso);
	bool lacking = false;

	if (e) {
		pthread_mutex_lock(&e->lock);
		open_image(run->m, e);
		lacking = !run->m->nomem && lacks(run->m, e, run->wants[i].tier);
		pthread_mutex_unlock(&e->lock);
	}
	run->nomem |= !e || run->m->nomem || (lacking && vec_push(&run->lacking, i));
}

static void fetch_one(void *arg, size_t i, unsigned worker)
{
	struct fetch_run *run = arg;
	const struct fetch_want *want = &run->wants[run->lacking.v[i]];
	struct module_entry *e = entry_get(run->m, want->dso);
	bool ok = e;

	(void)worker;
	if (e) {
		struct finder f = finder_make(run->m, e);

		f.servers = run->m->servers;
		f.rank = i + 1;
		f.n_ranks = run->lacking.n;
		pthread_mutex_lock(&e->lock);
		ask_for_image(&f);
		if (want->tier != FETCH_TIER_BINARY)
			look_for_debug(run->m, e);
		if (!fetch_is_needless(&e->m, want->tier))
			fetch_debug(&f, want->tier);
		notify_result(&f);
		ok = !f.nomem && !run->m->nomem;
		pthread_mutex_unlock(&e->lock);
	}
	if (!ok) {
		pthread_mutex_lock(&run->lock);
		run->nomem = true;
		pthread_mutex_unlock(&run->lock);
	}
}

int modules_fetch(struct modules *m, const struct fetch_want *wants, size_t n, struct err *err)
{
	struct fetch_run run = {.m = m, .wants = wants, .lock = PTHREAD_MUTEX_INITIALIZER};
	uint32_t i;

	for (i = 0; m->servers && i < n && !run.nomem; i++)
		look_for_one(&run, i);
	if (!run.nomem)
		threads_for(DEBUGINFOD_IN_FLIGHT_MAX, run.lacking.n, fetch_one, &run);
	vec_done(&run.lacking);
	return run.nomem ? err_nomem(err) : 0;
}

void modules_each_damaged(const struct modules *m, void (*say)(void *arg, const char *line),
			  void *arg)
{
	size_t i, k;

	for (i = 0; i < m->entries.n; i++) {
		const struct module_entry *e = m->entries.v[i];

		for (k = 0; k < e->tried.n; k++)
			if (e->tried.v[k].is_recorded && e->tried.v[k].why != MODULE_MISS_NONE)
				say(arg, e->tried.v[k].text);
	}
}

/* ---- what was tried ---------------------------------------------------------------------- */

/* Callers have a const view; the lock inside is not part of it. */
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

struct module_tried module_tried(const struct module *mod, size_t i)
{
	struct module_entry *e = entry_of(mod);
	struct module_tried t;

	pthread_mutex_lock(&e->lock);
	t = i < e->tried.n ? e->tried.v[i] : (struct module_tried){.text = ""};
	pthread_mutex_unlock(&e->lock);
	return t;
}

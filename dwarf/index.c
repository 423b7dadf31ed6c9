/* index.c - implements dwarf.h: opens the files of a module, compiles the units that contain wanted
 * addresses, looks addresses up. */
#include "dwarf/dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/threads.h"
#include "dwarf/compile.h"
#include "dwarf/compile_streaming.h"
#include "dwarf/names.h"
#include "dwarf/line_orphans.h"
#include "dwarf/store.h"
#include "dwarf/table.h"

/* After compiling more .debug_info than this, some MB of freed memory remain. */
enum { GIVE_BACK_BYTES = 32 << 20 };

struct dwarf_index {
	struct dwarf_file main, alt;
	struct dwarf_splits *splits;
	struct dwarf_streaming *streaming;
	VEC(struct dwarf_compiled_unit) parts; /* own the names */
	struct dwarf_table table;	       /* what was compiled */
	struct dwarf_store store;	       /* what the cache knew */
	bool complete;			       /* the table covers the whole module */
	struct dwarf_index_stats stats;
};

/* ---- compiling --------------------------------------------------------------------------- */

/* as stored in the file */
static uint64_t info_bytes(struct elf_image *img)
{
	return img ? dwarf_stored_bytes(img, ".debug_info") : 0;
}

static uint64_t line_bytes(struct elf_image *img)
{
	return img ? dwarf_stored_bytes(img, ".debug_line") : 0;
}

struct elf_image *dwarf_image(const struct module *mod)
{
	if (info_bytes(mod->debug))
		return mod->debug;
	if (info_bytes(mod->image))
		return mod->image;
	return line_bytes(mod->debug) ? mod->debug : line_bytes(mod->image) ? mod->image : NULL;
}

uint64_t dwarf_bytes(const struct module *mod)
{
	struct elf_image *img = dwarf_image(mod);
	uint64_t bytes = img ? info_bytes(img) : 0;

	return img && !bytes ? line_bytes(img) : bytes;
}

static void fill_slot(void *arg, size_t i, unsigned worker)
{
	struct dwarf_file *f = arg;

	(void)worker;
	dwarf_abbrevs_fill(f, &f->slots[i]);
}

/* Can units be compiled while sections are loaded? Not in object files, which must be relocated
 * first, nor in modules with a second file, into which their units refer. */
static bool may_begin_early(struct elf_image *img, const struct module *mod)
{
	return elf_image_type(img) != ET_REL && !info_bytes(mod->alt);
}

static int open_files(struct dwarf_index *d, struct elf_image *img, const struct module *mod,
		      const struct dwarf_filter *filter, unsigned n_threads)
{
	const struct elf_image *of[2] = {mod->image, mod->debug != mod->image ? mod->debug : NULL};
	int rc = 0;

	if (may_begin_early(img, mod))
		rc = dwarf_streaming_new(&d->streaming, filter, &d->store, n_threads);
	if (!rc)
		rc = dwarf_file_open(&d->main, img, false, n_threads, d->streaming);
	if (!rc && info_bytes(mod->alt)) {
		rc = dwarf_file_open(&d->alt, mod->alt, false, n_threads, NULL);
		d->main.alt = &d->alt;
	}
	if (!rc)
		rc = dwarf_splits_new(&d->splits, of);
	if (!rc)
		threads_for(n_threads, d->main.n_slots, fill_slot, &d->main);
	return rc;
}

/* Compiles more units. */
static int compile(struct dwarf_index *d, const struct dwarf_filter *filter,
		   const struct dwarf_jobs *jobs, unsigned n_threads)
{
	size_t before = d->parts.n;

	if (!jobs->n)
		return 0;
	if (vec_reserve(&d->parts, before + jobs->n))
		return -ERR_NOMEM;
	memset(d->parts.v + before, 0, jobs->n * sizeof *d->parts.v);
	d->parts.n += jobs->n;
	return dwarf_compile_units(&d->main, filter, d->splits, d->streaming, jobs,
				   d->parts.v + before, n_threads);
}

/* For each wanted address: does some function contain it? */
static bool *find_resolved(const struct dwarf_index *d, const struct dwarf_filter *f)
{
	bool *resolved = calloc(f->n + 1, sizeof *resolved);
	size_t i, k, a;

	for (i = 0; resolved && i < d->parts.n; i++)
		for (k = 0; k < d->parts.v[i].blocks.n; k++) {
			const struct dwarf_block *b = &d->parts.v[i].blocks.v[k];

			if (b->order == DWARF_NOTHING)
				continue;
			for (a = dwarf_filter_first(f, b->lo); a < f->n && f->addrs[a] < b->hi; a++)
				resolved[a] = true;
		}
	return resolved;
}

static int compile_more(struct dwarf_index *d, struct dwarf_unit_lookup *hits,
			const struct dwarf_filter *filter, unsigned n_threads)
{
	bool *resolved = find_resolved(d, filter);
	struct dwarf_jobs jobs = {0};
	int rc = resolved ? dwarf_unit_lookup_more(hits, resolved, &jobs) : -ERR_NOMEM;

	if (!rc)
		rc = compile(d, filter, &jobs, n_threads);
	free(resolved);
	vec_done(&jobs);
	return rc;
}

static uint64_t jobs_bytes(const struct dwarf_index *d, const struct dwarf_jobs *jobs)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < jobs->n; i++) {
		const struct dwarf_unit *u = dwarf_unit_number(&d->main, jobs->v[i]);

		bytes += u->end - u->off;
	}
	return bytes;
}

static uint64_t all_bytes(const struct dwarf_index *d)
{
	uint64_t bytes = d->main.sec[DWARF_INFO].size;
	size_t i;

	for (i = 0; i < d->main.n_orphans; i++)
		bytes += d->main.orphans[i].end - d->main.orphans[i].off;
	return bytes;
}

static bool wants_all(const struct dwarf_index *d, const struct dwarf_jobs *jobs)
{
	const enum dwarf_extent extent = dwarf_streaming_extent(d->streaming);

	return extent == DWARF_EXTENT_OPEN
		       ? dwarf_store_wants_all(&d->store, jobs_bytes(d, jobs), all_bytes(d))
		       : extent == DWARF_EXTENT_ALL;
}

/* With a cache this may be the time to compile everything: filter->addrs is then set to NULL. */
static int compile_hits(struct dwarf_index *d, struct dwarf_filter *filter, unsigned n_threads)
{
	struct dwarf_jobs jobs = {0};
	struct dwarf_unit_lookup hits;
	int rc = dwarf_unit_lookup_open(&hits, &d->main, filter);

	if (rc)
		return rc;
	rc = dwarf_unit_lookup_first(&hits, &jobs);
	if (!rc && filter->addrs && wants_all(d, &jobs)) {
		filter->addrs = NULL;
		jobs.n = 0;
		dwarf_unit_lookup_close(&hits);
		rc = dwarf_unit_lookup_open(&hits, &d->main, filter);
		if (!rc)
			rc = dwarf_unit_lookup_first(&hits, &jobs);
	}
	if (!rc)
		rc = compile(d, filter, &jobs, n_threads);
	if (!rc && filter->addrs)
		rc = compile_more(d, &hits, filter, n_threads);
	d->stats.units_damaged = hits.n_damaged;
	vec_done(&jobs);
	dwarf_unit_lookup_close(&hits);
	return rc;
}

static void count(struct dwarf_index *d)
{
	struct dwarf_index_stats *s = &d->stats;
	size_t i;

	s->units = d->main.n_units + d->main.n_orphans;
	s->units_compiled = d->parts.n;
	s->units_damaged += d->main.n_damaged;
	s->units_early = dwarf_streaming_taken(d->streaming);
	s->let_go_bytes = dwarf_streaming_let_go_bytes(d->streaming);
	s->inflated_twice = d->main.reloaded;
	for (i = 0; i < d->parts.n; i++) {
		s->compiled_bytes += d->parts.v[i].bytes;
		s->units_damaged += d->parts.v[i].damaged;
		s->units_unsplit += d->parts.v[i].missing_split != NULL;
		if (!s->missing_split) {
			s->missing_split = d->parts.v[i].missing_split;
			s->split_differs = d->parts.v[i].split_differs;
		}
	}
}

/* Frees what only compiling needs. Names stay: they are in sections and in the parts' arenas. */
static void forget_units(struct dwarf_index *d)
{
	dwarf_streaming_free(d->streaming);
	d->streaming = NULL;
	dwarf_file_forget_units(&d->main);
	dwarf_file_forget_units(&d->alt);
	dwarf_splits_forget_units(d->splits);
	if (d->stats.compiled_bytes > GIVE_BACK_BYTES)
		pages_give_back();
}

static int compile_module(struct dwarf_index *d, struct elf_image *img, const struct module *mod,
			  struct dwarf_filter *filter, unsigned n_threads)
{
	int rc = open_files(d, img, mod, filter, n_threads);

	if (!rc)
		rc = compile_hits(d, filter, n_threads);
	d->complete = !filter->addrs;
	count(d);
	/* Do not save the result: a missing file may be there next time, and damage must be
	 * reported every time. */
	if (d->stats.units_unsplit || d->stats.units_damaged)
		d->store.cache = NULL;
	forget_units(d);
	if (!rc)
		rc = dwarf_table_build(&d->table, d->parts.v, d->parts.n, n_threads);
	return rc;
}

/* Takes answers from the cache, and compiles what it lacks. */
static int fill(struct dwarf_index *d, struct elf_image *img, const struct module *mod,
		struct dwarf_filter *filter, const struct dwarf_cache *cache, unsigned n_threads)
{
	int rc = 0;

	if (cache && dwarf_bytes(mod) >= cache->min_bytes)
		rc = dwarf_store_open(&d->store, cache, img, info_bytes(mod->alt) ? mod->alt : NULL,
				      filter);
	if (rc)
		return rc;
	if (d->store.cache && filter->addrs) {
		d->stats.from_cache = !d->store.unknown.n;
		if (d->stats.from_cache)
			return 0;
		filter->addrs = d->store.unknown.v;
		filter->n = d->store.unknown.n;
	}
	return compile_module(d, img, mod, filter, n_threads);
}

int dwarf_index_open(struct dwarf_index **ret, struct module *mod, const uint64_t *vaddrs, size_t n,
		     const struct dwarf_cache *cache, unsigned n_threads, struct err *err)
{
	struct elf_image *img = dwarf_image(mod);
	struct dwarf_filter filter = {0};
	struct dwarf_index *d;
	int rc;

	*ret = NULL;
	if (!img)
		return 0;
	d = calloc(1, sizeof *d);
	if (!d)
		return err_nomem(err);
	rc = dwarf_filter_open(&filter, img, vaddrs, n);
	if (!rc)
		rc = fill(d, img, mod, &filter, cache, n_threads ? n_threads : 1);
	dwarf_filter_close(&filter);
	d->stats.segments = d->table.n_segs;
	if (rc) {
		dwarf_index_free(d);
		return err_nomem(err);
	}
	*ret = d;
	return 0;
}

bool dwarf_index_has_news(const struct dwarf_index *d)
{
	return d->store.cache && !d->stats.from_cache;
}

void dwarf_index_save(struct dwarf_index *d)
{
	if (dwarf_index_has_news(d))
		dwarf_store_save(&d->store, &d->table, d->stats.compiled_bytes, d->complete);
}

void dwarf_index_free(struct dwarf_index *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->parts.n; i++)
		dwarf_compiled_unit_done(&d->parts.v[i]);
	vec_done(&d->parts);
	dwarf_table_done(&d->table);
	dwarf_store_close(&d->store);
	dwarf_splits_free(d->splits);
	dwarf_file_close(&d->alt);
	dwarf_file_close(&d->main);
	free(d);
}

void dwarf_index_stats(const struct dwarf_index *d, struct dwarf_index_stats *ret)
{
	*ret = d->stats;
}

/* ---- lookups ----------------------------------------------------------------------------- */

enum { FROM_CACHE, COMPILED };

/* Addresses that are looked up together: data for one is prefetched while others are processed. */
enum { TOGETHER = 32 };

struct group {
	struct dwarf_place places[TOGETHER];
	uint8_t source[TOGETHER];
};

static struct pack_file *source(struct dwarf_index *d, uint32_t i)
{
	return i == COMPILED ? &d->table.code : &d->store.known;
}

static void find_places(struct dwarf_index *d, const uint64_t *vaddrs, size_t n, struct group *g)
{
	struct dwarf_place compiled[TOGETHER];
	size_t i;

	memset(g->source, FROM_CACHE, n);
	dwarf_pack_find(&d->store.known, vaddrs, n, g->places);
	if (!d->table.n_segs)
		return;
	dwarf_pack_find(&d->table.code, vaddrs, n, compiled);
	for (i = 0; i < n; i++)
		if (dwarf_place_is_empty(g->places[i])) {
			g->places[i] = compiled[i];
			g->source[i] = COMPILED;
		}
}

/* Writes the outermost `max` levels. Sets at->func to the innermost function, to which the line and
 * file of `at` are relative. */
static size_t chain_of(struct dwarf_index *d, struct dwarf_at *at, uint32_t node,
		       struct dwarf_at *to, size_t max)
{
	struct pack_file *f = source(d, at->source);
	const struct dwarf_at innermost = *at;
	size_t depth = dwarf_pack_chain(f, node, innermost, 0, to, max);

	at->func = depth ? to->func : 0;
	if (depth <= max)
		return depth;
	dwarf_pack_chain(f, node, innermost, depth - max, to, max);
	return max;
}

size_t dwarf_index_chains(struct dwarf_index *d, const uint64_t *vaddrs, size_t n,
			  struct dwarf_chain *chains, struct dwarf_at *at, size_t room)
{
	struct group g;
	size_t done, i, k;

	for (done = 0; done < n && room >= DWARF_CHAIN_MAX; done += i) {
		k = n - done < TOGETHER ? n - done : TOGETHER;
		find_places(d, vaddrs + done, k, &g);
		for (i = 0; i < k && room >= DWARF_CHAIN_MAX; i++) {
			const struct dwarf_place *p = &g.places[i];
			struct dwarf_chain *c = &chains[done + i];

			c->line = (struct dwarf_at){0, p->file, p->line, g.source[i]};
			c->n = (uint32_t)chain_of(d, &c->line, p->node, at, DWARF_CHAIN_MAX);
			at += c->n;
			room -= c->n;
		}
	}
	return done;
}

void dwarf_index_frames(struct dwarf_index *d, const struct dwarf_at *at, size_t n,
			struct dwarf_frame *frames)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (at[i].source == COMPILED)
			dwarf_table_frame(&d->table, &at[i], &frames[i]);
		else
			dwarf_pack_frame(&d->store.known, &at[i], &frames[i]);
}

bool dwarf_index_is_damaged(const struct dwarf_index *d)
{
	return d->store.known.damaged;
}

bool dwarf_index_discard(struct dwarf_index *d)
{
	bool removed = dwarf_cache_remove(d->store.cache, &d->store.key);

	dwarf_index_free(d);
	return removed;
}

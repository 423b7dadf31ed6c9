/* dwarf_early.c - units in the order in which they become complete; the longest first once all are.
 */
#include "symbolize/dwarf_early.h"

#include <pthread.h>
#include <stdlib.h>

#include "symbolize/dwarf_compile.h"
#include "symbolize/dwarf_hits.h"
#include "symbolize/dwarf_ranges.h"

/* All abbreviation tables of a file together are no longer than their section, nor are all units'
 * range lists. Units that lie about it, or share tables in ways that are not seen here, are left
 * alone after so many times as much. */
enum { BUDGET_TIMES = 2, BUDGET_MIN = 1 << 16 };

struct unit {
	struct dwarf_unit u;
	struct dwarf_part *part; /* NULL: not compiled */
	bool whole;		 /* it holds all code, wanted or not */
};

struct dwarf_early {
	const struct dwarf_filter *filter;
	const uint64_t *addrs;	 /* the filter's, as it was when units were compiled */
	struct dwarf_filter all; /* the same, everything wanted */
	const struct dwarf_store *store;
	/* guarded, like all that follows, while sections are being loaded */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct dwarf_file file;	 /* without units and .debug_info */
	unsigned missing;	 /* sections */
	struct dwarf_slice info; /* as it will be */
	uint64_t ready, scanned; /* bytes of it that are there, the headers of which were seen */
	bool ended;		 /* no more of it comes */
	bool off;		 /* do not begin anything */
	VEC(struct unit) units;
	size_t next; /* the first that nobody is at */
	VEC(struct dwarf_abbrev_slot) slots;
	struct hash_table slot_by_off;
	uint64_t ranges_budget, abbrevs_budget;
	uint64_t seen_bytes, wanted_bytes; /* of the units that somebody was at */
	size_t taken;
};

int dwarf_early_new(struct dwarf_early **ret, const struct dwarf_filter *filter,
		    const struct dwarf_store *store)
{
	struct dwarf_early *e = calloc(1, sizeof *e);

	*ret = e;
	if (!e)
		return -ERR_NOMEM;
	e->filter = filter;
	e->addrs = filter->addrs;
	e->all = *filter;
	e->all.addrs = NULL;
	e->store = store;
	e->missing = DWARF_SECTION_N - 1;
	e->ranges_budget = e->abbrevs_budget = BUDGET_MIN;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	return 0;
}

static void free_part(struct unit *unit)
{
	if (unit->part)
		dwarf_part_done(unit->part);
	free(unit->part);
	unit->part = NULL;
}

void dwarf_early_free(struct dwarf_early *e)
{
	size_t i;

	if (!e)
		return;
	for (i = 0; i < e->units.n; i++)
		free_part(&e->units.v[i]);
	for (i = 0; i < e->slots.n; i++)
		dwarf_abbrevs_free(e->slots.v[i].table);
	vec_done(&e->units);
	vec_done(&e->slots);
	hash_done(&e->slot_by_off);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* ---- what threads that load say ------------------------------------------------------------ */

static void grew(void *arg, const uint8_t *data, uint64_t done, uint64_t size)
{
	struct dwarf_early *e = arg;

	pthread_mutex_lock(&e->lock);
	e->info = (struct dwarf_slice){data, size};
	e->ready = done;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

struct elf_watch dwarf_early_watch(struct dwarf_early *e)
{
	return (struct elf_watch){grew, e};
}

void dwarf_early_loaded(struct dwarf_early *e, const struct dwarf_file *f, enum dwarf_section sec)
{
	pthread_mutex_lock(&e->lock);
	e->file.img = f->img;
	e->file.swap = f->swap;
	e->off |= f->no_memory[sec];
	if (sec == DWARF_INFO) {
		e->ended = true;
		/* Not inflated here step by step, or damaged in the end. */
		e->off |= !e->ready || e->ready != f->sec[sec].size;
	} else {
		e->file.sec[sec] = f->sec[sec];
		if (!--e->missing)
			dwarf_file_find_string_ends(&e->file);
	}
	if (sec == DWARF_ABBREV)
		e->abbrevs_budget += f->sec[sec].size * BUDGET_TIMES;
	if (sec == DWARF_RANGES || sec == DWARF_RNGLISTS)
		e->ranges_budget += f->sec[sec].size * BUDGET_TIMES;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* ---- which unit is next -------------------------------------------------------------------- */

/* Longest first, so that threads end together. */
static int length_cmp(const void *a, const void *b)
{
	const struct dwarf_unit *x = &((const struct unit *)a)->u;
	const struct dwarf_unit *y = &((const struct unit *)b)->u;
	uint64_t x_size = x->end - x->off, y_size = y->end - y->off;

	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static int off_cmp(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->u.off < y->u.off ? -1 : x->u.off > y->u.off;
}

static void scan(struct dwarf_early *e)
{
	const struct dwarf_slice info = {e->info.data, e->ready};
	const bool all = e->ended && e->scanned < e->ready;
	struct unit unit = {.part = NULL};

	while (e->scanned < e->ready) {
		enum dwarf_header h = dwarf_unit_header(&info, e->scanned, e->file.swap, &unit.u);

		/* The next unit has just begun, or what follows is damaged. */
		if (h == DWARF_HEADER_CUT)
			break;
		e->scanned = unit.u.end;
		if (h == DWARF_HEADER_OK && vec_push(&e->units, unit))
			e->off = true;
	}
	if (all && e->next < e->units.n)
		qsort(e->units.v + e->next, e->units.n - e->next, sizeof *e->units.v, length_cmp);
}

/* A unit that nobody is at, with its abbreviations if they are known; waits for one. False: there
 * will be none. Locked. */
static bool next_unit(struct dwarf_early *e, size_t *ret)
{
	for (;;) {
		if (e->off)
			return false;
		if (!e->missing) {
			scan(e);
			if (e->next < e->units.n)
				break;
			if (e->ended)
				return false;
		}
		pthread_cond_wait(&e->changed, &e->lock);
	}
	*ret = e->next++;
	return true;
}

/* ---- compiling ----------------------------------------------------------------------------- */

/* One unit as a file of its own. */
struct alone {
	struct dwarf_file file;
	struct dwarf_unit unit;
	struct dwarf_abbrev_slot slot;
	bool looked_beyond;
};

static void isolate(const struct dwarf_early *e, size_t i, struct alone *a)
{
	*a = (struct alone){.file = e->file, .unit = e->units.v[i].u};
	a->file.units = &a->unit;
	a->file.n_units = 1;
	a->file.slots = &a->slot;
	a->file.n_slots = 1;
	a->file.looked_beyond = &a->looked_beyond;
	/* References may lead anywhere in it; nothing is read beyond the unit. */
	a->file.sec[DWARF_INFO] = e->info;
	a->slot = dwarf_abbrev_slot_of(&a->unit);
}

static uint32_t find_slot(const struct dwarf_early *e, const struct dwarf_abbrev_slot *slot)
{
	uint32_t i = hash_get(&e->slot_by_off, slot->off);

	return i != HASH_NONE && !dwarf_abbrev_slot_cmp(&e->slots.v[i], slot) ? i : HASH_NONE;
}

static void spend(uint64_t *budget, uint64_t bytes)
{
	*budget -= bytes < *budget ? bytes : *budget;
}

/* Keeps a table for other units and for the file; frees it when another thread was faster. */
static void keep_table(struct dwarf_early *e, const struct dwarf_abbrev_slot *slot)
{
	struct dwarf_abbrevs *t = slot->table;

	if (find_slot(e, slot) == HASH_NONE) {
		spend(&e->abbrevs_budget, t->end - slot->off);
		if (hash_get(&e->slot_by_off, slot->off) == HASH_NONE &&
		    !vec_push(&e->slots, *slot)) {
			if (!hash_put(&e->slot_by_off, slot->off, (uint32_t)e->slots.n - 1))
				return;
			e->slots.n--;
		}
	}
	dwarf_abbrevs_free(t);
}

/* What a unit says that it has. */
enum claim { NOTHING, CODE, WANTED_CODE };

static enum claim claim_of(const struct dwarf_early *e, const struct dwarf_cu *cu, uint64_t *budget)
{
	enum claim claim = NOTHING;
	struct dwarf_range_iter it;
	uint64_t lo, hi;

	if (cu->dwo_name || !dwarf_hits_may_claim(cu))
		return NOTHING;
	dwarf_range_iter_init(&it, cu, cu->low_pc, cu->high_pc, cu->ranges);
	while (claim != WANTED_CODE && dwarf_range_next(&it, budget, &lo, &hi))
		if (dwarf_filter_code(e->filter, lo, &hi))
			claim = dwarf_filter_wants(e->filter, lo, hi) ? WANTED_CODE : CODE;
	return claim;
}

/* Whether everything will be compiled is known when all units are. Until then it is supposed that
 * the others are wanted as often as those that were seen. NULL: not wanted; others that are, after
 * all, are compiled later. */
static const struct dwarf_filter *suppose_filter(struct dwarf_early *e, const struct dwarf_unit *u,
						 enum claim claim)
{
	const uint64_t bytes = u->end - u->off;
	double share;
	bool whole;

	pthread_mutex_lock(&e->lock);
	e->seen_bytes += bytes;
	e->wanted_bytes += claim == WANTED_CODE ? bytes : 0;
	share = (double)e->wanted_bytes / (double)e->seen_bytes;
	whole = dwarf_store_wants_all(e->store, (uint64_t)(share * (double)e->info.size),
				      e->info.size);
	pthread_mutex_unlock(&e->lock);
	return whole && claim != NOTHING ? &e->all : claim == WANTED_CODE ? e->filter : NULL;
}

/* NULL: not wanted, not to be compiled alone, or no memory: all this is seen again later. */
static struct dwarf_part *compile(struct dwarf_early *e, struct alone *a, uint64_t *budget,
				  bool *whole)
{
	const struct dwarf_filter *filter = NULL;
	struct dwarf_part *part = NULL;
	struct dwarf_cu cu;

	if (!dwarf_cu_open(&cu, &a->file, &a->unit))
		filter = suppose_filter(e, &a->unit, claim_of(e, &cu, budget));
	if (filter)
		part = calloc(1, sizeof *part);
	if (!part)
		return NULL;
	*whole = !filter->addrs;
	if (!dwarf_compile_unit(part, filter, true, &cu, &cu) && !a->looked_beyond)
		return part;
	dwarf_part_done(part);
	free(part);
	return NULL;
}

void dwarf_early_work(struct dwarf_early *e)
{
	size_t i;

	pthread_mutex_lock(&e->lock);
	while (next_unit(e, &i)) {
		struct dwarf_part *part;
		uint64_t before = e->ranges_budget, left = before;
		uint32_t known;
		struct alone a;
		bool whole = false;

		isolate(e, i, &a);
		known = find_slot(e, &a.slot);
		if (known != HASH_NONE)
			a.slot.table = e->slots.v[known].table;
		pthread_mutex_unlock(&e->lock);

		part = compile(e, &a, &left, &whole);

		pthread_mutex_lock(&e->lock);
		e->units.v[i].part = part;
		e->units.v[i].whole = whole;
		spend(&e->ranges_budget, before - left);
		if (known == HASH_NONE && a.slot.table)
			keep_table(e, &a.slot);
		/* Where one unit refers to another most do. */
		e->off |= a.looked_beyond || !e->ranges_budget || !e->abbrevs_budget;
	}
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* ---- what counts --------------------------------------------------------------------------- */

void dwarf_early_adopt(struct dwarf_early *e, struct dwarf_file *f)
{
	bool same = f->n_units;
	size_t i;

	if (e->units.n)
		qsort(e->units.v, e->units.n, sizeof *e->units.v, off_cmp);
	for (i = 0; i < e->slots.n; i++) {
		same &= dwarf_abbrevs_give(f, &e->slots.v[i]);
		e->slots.v[i].table = NULL;
	}
	/* Where tables overlap they were to be cut (dwarf_abbrev.c). */
	for (i = 0; !same && i < e->units.n; i++)
		free_part(&e->units.v[i]);
}

bool dwarf_early_take(struct dwarf_early *e, const struct dwarf_unit *u,
		      const struct dwarf_filter *filter, struct dwarf_part *part)
{
	struct unit key = {.u = *u};
	struct unit *unit;

	if (!e->units.n)
		return false;
	unit = bsearch(&key, e->units.v, e->units.n, sizeof *e->units.v, off_cmp);
	if (!unit || !unit->part || filter->addrs != (unit->whole ? NULL : e->addrs))
		return false;
	*part = *unit->part;
	free(unit->part);
	unit->part = NULL;
	e->taken++;
	return true;
}

size_t dwarf_early_taken(const struct dwarf_early *e)
{
	return e ? e->taken : 0;
}

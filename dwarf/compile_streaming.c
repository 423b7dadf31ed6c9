/* compile_streaming.c - compiles units in the order in which they become complete; once all are
 * complete, the longest first. */
#include "dwarf/compile_streaming.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "dwarf/chunk_use.h"
#include "dwarf/compile.h"
#include "dwarf/unit_lookup.h"
#include "modules/modules.h"

/* The abbreviation tables of a file together are no longer than their section, and neither are
 * the range lists and the line tables of its units. Files with wrong offsets, or whose units share
 * tables in ways that are not noticed here, are not compiled early any more after so many times
 * that size. */
enum { BUDGET_TIMES = 2, BUDGET_MIN = 1 << 16 };

/* When more bytes of .debug_info than this wait for other threads, the thread that inflates it
 * compiles, too. With much less, the other threads would wait for it. */
enum { LEAD_BYTES = 16 << 20 };

struct unit {
	struct dwarf_unit u;
	uint64_t first_die;		  /* bytes before this offset stay in memory */
	struct dwarf_compiled_unit *part; /* NULL: not compiled */
	bool whole;			  /* compiled with all its code, wanted or not */
};

struct dwarf_streaming {
	const struct dwarf_filter *filter;
	const uint64_t *addrs;	 /* the filter's addresses when units were compiled */
	struct dwarf_filter all; /* the filter with all addresses wanted */
	const struct dwarf_store *store;
	/* guarded, like all fields after it, while sections are being loaded */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct dwarf_file file;	 /* without units and .debug_info */
	unsigned missing;	 /* number of sections that are not loaded yet */
	struct dwarf_slice info; /* .debug_info with its final size */
	uint64_t ready, scanned; /* bytes of info that are inflated; whose unit headers were read */
	uint64_t lead;
	bool begun;	       /* a unit was taken, or could have been */
	bool ended;	       /* .debug_info is inflated, or ended early */
	bool off;	       /* begin no more units */
	uint64_t let_go_bytes; /* bytes of info whose memory was released */
	enum dwarf_extent extent;
	struct dwarf_chunk_use spare;
	VEC(struct elf_range) empty; /* chunks that are not needed any more */
	VEC(struct unit) units;	     /* by offset */
	VEC(size_t) order;	     /* indices of units, in the order of compilation */
	/* Index of the first entry of `order` that no thread has taken. */
	size_t next;
	VEC(struct dwarf_abbrev_slot) slots;
	struct hash_table slot_by_off;
	uint64_t ranges_budget, abbrevs_budget, lines_budget;
	uint64_t seen_bytes, wanted_bytes; /* of the units that were looked at */
	size_t taken;
};

int dwarf_streaming_new(struct dwarf_streaming **ret, const struct dwarf_filter *filter,
			const struct dwarf_store *store, unsigned n_threads)
{
	struct dwarf_streaming *e = calloc(1, sizeof *e);

	*ret = e;
	if (!e)
		return -ERR_NOMEM;
	e->filter = filter;
	e->addrs = filter->addrs;
	e->all = *filter;
	e->all.addrs = NULL;
	e->store = store;
	e->missing = DWARF_SECTION_N - 1;
	e->lead = n_threads > 1 ? LEAD_BYTES : 0;
	e->ranges_budget = e->abbrevs_budget = BUDGET_MIN;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	return 0;
}

void dwarf_streaming_free(struct dwarf_streaming *e)
{
	size_t i;

	if (!e)
		return;
	for (i = 0; i < e->units.n; i++)
		dwarf_compiled_unit_free(e->units.v[i].part);
	for (i = 0; i < e->slots.n; i++)
		dwarf_abbrevs_free(e->slots.v[i].table);
	vec_done(&e->units);
	vec_done(&e->order);
	vec_done(&e->empty);
	vec_done(&e->slots);
	dwarf_chunk_use_close(&e->spare);
	hash_done(&e->slot_by_off);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* ---- what threads that load say ------------------------------------------------------------ */

void dwarf_streaming_loaded(struct dwarf_streaming *e, const struct dwarf_file *f,
			    enum dwarf_section sec)
{
	pthread_mutex_lock(&e->lock);
	e->file.img = f->img;
	e->file.stored_info = f->stored_info;
	e->file.is_bolted = f->is_bolted;
	e->file.swap = f->swap;
	e->off |= f->no_memory[sec];
	if (sec == DWARF_INFO) {
		e->ended = true;
		/* It was not inflated step by step, or turned out to be damaged. */
		e->off |= !e->ready || e->ready != f->sec[sec].size;
	} else {
		e->file.sec[sec] = f->sec[sec];
		if (!--e->missing)
			dwarf_file_find_string_ends(&e->file);
	}
	if (sec == DWARF_ABBREV)
		e->abbrevs_budget += f->sec[sec].size * BUDGET_TIMES;
	if (sec == DWARF_LINE)
		e->lines_budget = f->sec[sec].size * BUDGET_TIMES;
	if (sec == DWARF_RANGES || sec == DWARF_RNGLISTS)
		e->ranges_budget += f->sec[sec].size * BUDGET_TIMES;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* ---- which unit is next -------------------------------------------------------------------- */

/* Longest first, so that all threads end at about the same time. */
static int length_cmp(const void *a, const void *b, void *units)
{
	const struct unit *v = units;
	const size_t *i = a, *k = b;
	const struct dwarf_unit *x = &v[*i].u, *y = &v[*k].u;
	uint64_t x_size = x->end - x->off, y_size = y->end - y->off;

	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	return *i < *k ? -1 : *i > *k;
}

static void scan(struct dwarf_streaming *e)
{
	const struct dwarf_slice info = {e->info.data, e->ready};
	const bool all = e->ended && e->scanned < e->ready;
	struct unit unit = {.part = NULL};

	while (e->scanned < e->ready) {
		enum dwarf_header h = dwarf_unit_header(&info, e->scanned, e->file.swap, &unit.u);

		/* Only the begin of the next unit is there, or the rest is damaged. */
		if (h == DWARF_HEADER_CUT)
			break;
		e->scanned = unit.u.end;
		if (h != DWARF_HEADER_OK)
			continue;
		if (vec_push(&e->order, e->units.n) || vec_push(&e->units, unit))
			e->off = true;
	}
	if (all && e->next < e->order.n)
		qsort_r(e->order.v + e->next, e->order.n - e->next, sizeof *e->order.v, length_cmp,
			e->units.v);
}

/* Called before the first unit is compiled. */
static void decide_extent(struct dwarf_streaming *e)
{
	uint64_t wanted;

	e->extent = DWARF_EXTENT_WANTED;
	if (!e->store->cache)
		return;
	if (!dwarf_unit_lookup_estimate(&e->file, e->info.size, e->filter, &wanted))
		e->extent = DWARF_EXTENT_OPEN;
	else if (dwarf_store_wants_all(e->store, wanted, e->info.size))
		e->extent = DWARF_EXTENT_ALL;
}

/* Takes a unit that no thread has taken. Returns false if there is none yet. */
static bool pick(struct dwarf_streaming *e, size_t *ret)
{
	if (e->off || e->missing || !e->info.data)
		return false;
	if (!e->begun) {
		e->begun = true;
		decide_extent(e);
		dwarf_chunk_use_open(&e->spare, &e->info);
	}
	scan(e);
	if (e->next == e->order.n)
		return false;
	*ret = e->order.v[e->next++];
	return true;
}

/* Takes the next unit, and waits for one. Returns false if none will come. Called with the lock
 * held. */
static bool next_unit(struct dwarf_streaming *e, size_t *ret)
{
	while (!pick(e, ret)) {
		if (e->off || (e->ended && !e->missing))
			return false;
		pthread_cond_wait(&e->changed, &e->lock);
	}
	return true;
}

/* ---- compiling ----------------------------------------------------------------------------- */

/* A unit as if it were alone in its file. */
struct alone {
	struct dwarf_file file;
	struct dwarf_unit unit;
	struct dwarf_abbrev_slot slot;
	bool looked_beyond;
};

static void isolate(const struct dwarf_streaming *e, size_t i, struct alone *a)
{
	*a = (struct alone){.file = e->file, .unit = e->units.v[i].u};
	a->file.units = &a->unit;
	a->file.n_units = 1;
	a->file.slots = &a->slot;
	a->file.n_slots = 1;
	a->file.looked_beyond = &a->looked_beyond;
	/* References to offsets in all of .debug_info are valid, but only this unit's bytes are
	 * read. */
	a->file.sec[DWARF_INFO] = e->info;
	a->slot = dwarf_abbrev_slot_of(&a->unit);
}

static uint32_t find_slot(const struct dwarf_streaming *e, const struct dwarf_abbrev_slot *slot)
{
	uint32_t i = hash_get(&e->slot_by_off, slot->off);

	return i != HASH_NONE && !dwarf_abbrev_slot_cmp(&e->slots.v[i], slot) ? i : HASH_NONE;
}

static void spend(uint64_t *budget, uint64_t bytes)
{
	*budget -= bytes < *budget ? bytes : *budget;
}

/* Keeps a table for other units and for the file; frees it if another thread has decoded it first.
 */
static void keep_table(struct dwarf_streaming *e, const struct dwarf_abbrev_slot *slot)
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

/* Chooses the filter to compile a unit with. While the extent is not decided, this assumes that the
 * other units are wanted as often as those looked at so far. NULL: not wanted; if the unit turns
 * out to be wanted after all, it is compiled later. */
static const struct dwarf_filter *
suppose_filter(struct dwarf_streaming *e, const struct dwarf_unit *u, enum dwarf_code_claim claim)
{
	const uint64_t bytes = u->end - u->off;
	bool whole = e->extent == DWARF_EXTENT_ALL;
	double share;

	pthread_mutex_lock(&e->lock);
	e->seen_bytes += bytes;
	e->wanted_bytes += claim == DWARF_CODE_WANTED ? bytes : 0;
	share = (double)e->wanted_bytes / (double)e->seen_bytes;
	if (e->extent == DWARF_EXTENT_OPEN)
		whole = dwarf_store_wants_all(e->store, (uint64_t)(share * (double)e->info.size),
					      e->info.size);
	pthread_mutex_unlock(&e->lock);
	if (whole || !e->filter->addrs)
		return claim >= DWARF_CODE_MAYBE ? &e->all : NULL;
	return claim == DWARF_CODE_WANTED ? e->filter : NULL;
}

/* Subtracts the line table of a unit from the budget. False: the budget is exceeded; the units that
 * get rows must be chosen among all units. */
static bool spend_lines(struct dwarf_streaming *e, const struct dwarf_cu *cu)
{
	const uint64_t bytes = dwarf_lines_size(cu);
	bool ok;

	pthread_mutex_lock(&e->lock);
	ok = bytes <= e->lines_budget;
	e->off |= !ok;
	e->lines_budget -= ok ? bytes : 0;
	pthread_mutex_unlock(&e->lock);
	return ok;
}

/* Compiles a unit, if it is wanted. Returns true if its bytes are not needed any more, as far as is
 * known. */
static bool work_on(struct dwarf_streaming *e, struct alone *a, uint64_t *budget, struct unit *ret)
{
	const bool decided = e->extent != DWARF_EXTENT_OPEN;
	const struct dwarf_filter *filter;
	enum dwarf_code_claim claim;
	struct dwarf_cu cu;

	if (dwarf_cu_open(&cu, &a->file, &a->unit) || cu.dwo_name)
		return false;
	ret->first_die = cu.first_die;
	claim = dwarf_unit_lookup_claim(&cu, e->filter, budget);
	filter = suppose_filter(e, &a->unit, claim);
	if (filter && !spend_lines(e, &cu))
		return false;
	if (!filter)
		return claim == DWARF_CODE_NONE || (claim == DWARF_CODE_OTHER && decided);
	ret->whole = !filter->addrs;
	ret->part = dwarf_compile_alone(filter, &cu);
	return ret->part && (decided || ret->whole);
}

/* ---- what is done with --------------------------------------------------------------------- */

/* Index of the first unit that ends after an offset. */
static size_t unit_behind(const struct dwarf_streaming *e, uint64_t off)
{
	size_t lo = 0, hi = e->units.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->units.v[mid].u.end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Releases a chunk in which no unit is needed any more, except for the headers and root DIEs of its
 * units, which are read again. */
static void let_go(struct dwarf_streaming *e, struct elf_range chunk)
{
	VEC(struct elf_range) heads = {0};
	size_t i;

	for (i = unit_behind(e, chunk.start); i < e->units.n; i++) {
		const struct unit *u = &e->units.v[i];
		struct elf_range head = {u->u.off, u->first_die};

		if (head.start >= chunk.end)
			break;
		head.start = head.start > chunk.start ? head.start : chunk.start;
		head.end = head.end < chunk.end ? head.end : chunk.end;
		if (head.start < head.end && vec_push(&heads, head))
			break;
	}
	if (i == e->units.n || e->units.v[i].u.off >= chunk.end) {
		e->let_go_bytes += chunk.end - chunk.start;
		elf_image_section_let_go(e->file.img, ".debug_info", chunk, heads.v, heads.n);
	}
	vec_done(&heads);
}

/* Called on the thread that inflates, or after inflating: the thread that released memory is given
 * the same memory again, and none that was not touched yet. */
static void let_all_go(struct dwarf_streaming *e)
{
	size_t i;

	for (i = 0; i < e->empty.n; i++)
		let_go(e, e->empty.v[i]);
	e->empty.n = 0;
}

static void spare(struct dwarf_streaming *e, const struct dwarf_unit *u)
{
	uint64_t at, end;

	for (at = u->off; at < u->end; at = end) {
		struct elf_range chunk = dwarf_chunk_use_chunk(&e->spare, at);

		end = u->end < chunk.end ? u->end : chunk.end;
		if (dwarf_chunk_use_add(&e->spare, at, end) && vec_push(&e->empty, chunk))
			e->off = true;
	}
}

/* ---- work ---------------------------------------------------------------------------------- */

/* Called with the lock held; compiles without it. */
static void do_unit(struct dwarf_streaming *e, size_t i)
{
	uint64_t before = e->ranges_budget, left = before;
	struct unit unit = e->units.v[i];
	uint32_t known;
	struct alone a;
	bool done;

	isolate(e, i, &a);
	known = find_slot(e, &a.slot);
	if (known != HASH_NONE)
		a.slot.table = e->slots.v[known].table;
	pthread_mutex_unlock(&e->lock);

	done = work_on(e, &a, &left, &unit);

	pthread_mutex_lock(&e->lock);
	e->units.v[i] = unit;
	spend(&e->ranges_budget, before - left);
	if (known == HASH_NONE && a.slot.table)
		keep_table(e, &a.slot);
	/* If one unit refers to another, most units do. */
	e->off |= a.looked_beyond || !e->ranges_budget || !e->abbrevs_budget;
	if (done && !e->off)
		spare(e, &unit.u);
}

void dwarf_streaming_work(struct dwarf_streaming *e)
{
	size_t i;

	pthread_mutex_lock(&e->lock);
	while (next_unit(e, &i))
		do_unit(e, i);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* Bytes of units that are complete and that no thread has taken. */
static uint64_t waiting(const struct dwarf_streaming *e)
{
	return e->next < e->order.n ? e->scanned - e->units.v[e->order.v[e->next]].u.off : 0;
}

static void grew(void *arg, const uint8_t *data, uint64_t done, uint64_t size)
{
	struct dwarf_streaming *e = arg;
	size_t i;

	pthread_mutex_lock(&e->lock);
	e->info = (struct dwarf_slice){data, size};
	e->ready = done;
	pthread_cond_broadcast(&e->changed);
	while (e->ready - e->scanned + waiting(e) > e->lead && pick(e, &i))
		do_unit(e, i);
	let_all_go(e);
	pthread_mutex_unlock(&e->lock);
}

struct elf_watch dwarf_streaming_watch(struct dwarf_streaming *e)
{
	return (struct elf_watch){grew, e};
}

/* ---- what counts --------------------------------------------------------------------------- */

void dwarf_streaming_adopt(struct dwarf_streaming *e, struct dwarf_file *f)
{
	bool same = f->n_units;
	size_t i;

	if (!e->off)
		let_all_go(e);
	for (i = 0; i < e->slots.n; i++) {
		same &= dwarf_abbrevs_give(f, &e->slots.v[i]);
		e->slots.v[i].table = NULL;
	}
	/* If tables overlap, they should have been cut (abbrev.c). */
	for (i = 0; !same && i < e->units.n; i++) {
		dwarf_compiled_unit_free(e->units.v[i].part);
		e->units.v[i].part = NULL;
	}
}

bool dwarf_streaming_take(struct dwarf_streaming *e, const struct dwarf_unit *u,
			  const struct dwarf_filter *filter, struct dwarf_compiled_unit *part)
{
	size_t i = unit_behind(e, u->off);
	struct unit *unit = i < e->units.n ? &e->units.v[i] : NULL;

	/* A unit that was compiled with more than is wanted can be used. */
	if (!unit || unit->u.off != u->off || !unit->part ||
	    (!unit->whole && filter->addrs != e->addrs))
		return false;
	*part = *unit->part;
	free(unit->part);
	unit->part = NULL;
	e->taken++;
	return true;
}

uint64_t dwarf_streaming_let_go_bytes(const struct dwarf_streaming *e)
{
	return e ? e->let_go_bytes : 0;
}

enum dwarf_extent dwarf_streaming_extent(const struct dwarf_streaming *e)
{
	return e ? e->extent : DWARF_EXTENT_OPEN;
}

size_t dwarf_streaming_taken(const struct dwarf_streaming *e)
{
	return e ? e->taken : 0;
}

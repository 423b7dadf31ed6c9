/* param_unit.c - the units whose functions have parameters: opened, and read, when they are first
 * needed. */
#include "dwarf/params.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dwarf/walk.h"
#include "modules/modules.h"

/* The section with location lists, of the file that has the unit's DIEs. */
static void open_lists(struct dwarf_param_unit *u)
{
	static const char *const names[2][2] = {{".debug_loc", ".debug_loc.dwo"},
						{".debug_loclists", ".debug_loclists.dwo"}};
	const bool is_5 = u->cu->unit->version >= 5;
	struct elf_section s;
	struct dwarf_any_die root;

	if (elf_image_section(u->cu->file->img, names[is_5][u->cu->file->is_dwo], &s, NULL) &&
	    s.data)
		u->loclists = (struct dwarf_slice){s.data, s.size};
	u->loclists_base = u->cu->unit->off_size == 8 ? 20 : 12; /* behind the header */
	if (!dwarf_any_die_read(u->cu, u->cu->unit->off + u->cu->unit->header_size, &root))
		return;
	dwarf_value_uint(root.a[DWARF_AT_LOCLISTS_BASE].v, &u->loclists_base);
	u->producer = dwarf_value_string(u->cu, root.a[DWARF_AT_PRODUCER].v);
	u->is_rust = u->producer && strstr(u->producer, "(rustc version ");
	u->has_few_lists = u->is_rust && dwarf_param_few_lists(u->cu);
}

static void open_unit(struct dwarf_params *p, struct dwarf_param_unit *u,
		      const struct dwarf_file *f, const struct dwarf_unit *unit)
{
	bool differs = false;
	int rc = dwarf_cu_open(&u->main, f, unit);

	if (!rc)
		u->cu = &u->main;
	if (!rc && u->main.dwo_name && f == &p->main) {
		rc = dwarf_splits_cu(p->splits, &u->main, &u->split, &differs);
		if (!rc)
			u->cu = &u->split;
	}
	p->failed |= rc < 0;
	if (u->cu)
		open_lists(u);
}

struct dwarf_param_unit *dwarf_param_unit(struct dwarf_params *p, const struct dwarf_file *f,
					  const struct dwarf_unit *unit)
{
	const uint32_t known = hash_get(&p->by_unit, (uintptr_t)unit);
	struct dwarf_param_unit *u;

	if (known != HASH_NONE)
		return p->units.v[known]->cu ? p->units.v[known] : NULL;
	u = calloc(1, sizeof *u);
	if (!u || vec_push(&p->units, u)) {
		free(u);
		p->failed = true;
		return NULL;
	}
	open_unit(p, u, f, unit);
	/* DIEs of a split unit lead back to it by their own unit. */
	if (hash_put(&p->by_unit, (uintptr_t)unit, (uint32_t)p->units.n - 1) ||
	    (u->cu && u->cu->unit != unit &&
	     hash_put(&p->by_unit, (uintptr_t)u->cu->unit, (uint32_t)p->units.n - 1)))
		p->failed = true;
	return u->cu ? u : NULL;
}

struct dwarf_param_unit *dwarf_param_unit_of(struct dwarf_params *p, struct dwarf_ref die)
{
	const struct dwarf_unit *unit = die.file ? dwarf_file_unit_at(die.file, die.off) : NULL;

	return unit ? dwarf_param_unit(p, die.file, unit) : NULL;
}

bool dwarf_param_die(struct dwarf_params *p, struct dwarf_ref at, struct dwarf_any_die *ret,
		     struct dwarf_param_unit **unit)
{
	*unit = dwarf_param_unit_of(p, at);
	return *unit && (*unit)->cu->file == at.file &&
	       dwarf_any_die_read((*unit)->cu, at.off, ret);
}

struct reading {
	struct dwarf_params *p;
	struct dwarf_param_unit *u;
};

static int visit(void *arg, const struct dwarf_cu *cu, uint64_t off, const struct dwarf_abbrev *a,
		 struct buf *b, struct dwarf_level *level)
{
	struct reading *r = arg;
	struct dwarf_value v[DWARF_SLOT_N] = {0};
	struct dwarf_range_iter it;
	struct dwarf_ref origin;
	uint64_t lo, hi;

	(void)level;
	if (a->kind != DWARF_KIND_FUNCTION || !a->has_code) {
		dwarf_pass_over(cu, a, b, &(bool){false});
		return 0;
	}
	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_CODE, b, v);
	origin = dwarf_value_ref(cu, v[DWARF_SLOT_ORIGIN]);
	dwarf_range_iter_init(&it, cu, v[DWARF_SLOT_LOW_PC], v[DWARF_SLOT_HIGH_PC],
			      v[DWARF_SLOT_RANGES]);
	for (bool first = true; dwarf_range_next(&it, &r->p->budget, &lo, &hi); first = false) {
		if (!dwarf_filter_code(&r->p->filter, lo, &hi))
			continue;
		if (first && origin.file == cu->file &&
		    (hash_put(&r->u->copy_of, origin.off, (uint32_t)r->u->entries.n) ||
		     vec_push(&r->u->entries, lo)))
			return -ERR_NOMEM;
		if (vec_push(&r->u->functions, (struct dwarf_function_range){lo, hi, off}))
			return -ERR_NOMEM;
	}
	return 0;
}

static int by_lo(const void *a, const void *b)
{
	const struct dwarf_function_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

void dwarf_param_unit_read(struct dwarf_params *p, struct dwarf_param_unit *u)
{
	struct reading r = {p, u};

	if (u->is_read)
		return;
	u->is_read = true;
	if (dwarf_walk(u->cu, visit, &r) < 0)
		p->failed = true;
	if (u->functions.n)
		qsort(u->functions.v, u->functions.n, sizeof *u->functions.v, by_lo);
}

const struct dwarf_function_range *dwarf_param_function(const struct dwarf_param_unit *u,
							uint64_t vaddr)
{
	size_t lo = 0, hi = u->functions.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (u->functions.v[mid].lo <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < u->functions.v[lo - 1].hi ? &u->functions.v[lo - 1] : NULL;
}

void dwarf_param_lines(struct dwarf_params *p, struct dwarf_param_unit *u)
{
	if (!u->has_lines && dwarf_lines_read(&u->lines, &u->main, &p->filter, DWARF_ROWS_ALL) < 0)
		p->failed = true;
	u->has_lines = true;
}

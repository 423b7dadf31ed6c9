/* param_inlined.c - where copies of functions begin that were inlined. */
#include <stdlib.h>

#include "base/err.h"
#include "dwarf/params.h"
#include "dwarf/walk.h"

struct looking {
	struct dwarf_params *p;
	struct dwarf_param_unit *u;
	dwarf_wants_name *wants;
	void *arg;
	struct dwarf_inlined_places *ret;
	struct hash_table asked; /* key of a function's DIE -> index in names */
	VEC(const char *) names; /* NULL: it is not wanted */
};

/* The name of the function that a copy is of, if that is wanted. Each is asked for once. */
static const char *wanted_name(struct looking *l, struct dwarf_ref origin)
{
	const uint64_t key = dwarf_param_key(l->p, origin);
	const uint32_t known = hash_get(&l->asked, key);
	struct dwarf_param_unit *u;
	struct dwarf_any_die d;
	const char *name = NULL;

	if (known != HASH_NONE)
		return l->names.v[known];
	if (dwarf_param_die(l->p, origin, &d, &u))
		name = dwarf_param_function_name(l->p, &d, u);
	if (name && !l->wants(l->arg, name))
		name = NULL;
	l->p->failed |= hash_put(&l->asked, key, (uint32_t)l->names.n) || vec_push(&l->names, name);
	return name;
}

/* DW_AT_entry_pc, which may be an offset (DWARF5 2.18), else where the first range begins. */
static bool entry_of(struct looking *l, const struct dwarf_any_die *d, uint64_t *ret)
{
	const struct dwarf_value v = d->a[DWARF_AT_ENTRY].v;
	struct dwarf_range_iter it;
	uint64_t lo, hi, plus = 0;

	dwarf_range_iter_init(&it, l->u->cu, d->a[DWARF_AT_LOW].v, d->a[DWARF_AT_HIGH].v,
			      d->a[DWARF_AT_RANGES].v);
	do {
		if (!dwarf_range_next(&it, &l->p->budget, &lo, &hi))
			return false;
	} while (!dwarf_filter_code(&l->p->filter, lo, &hi));
	if (dwarf_form_is_addr(v.form))
		return dwarf_value_addr(l->u->cu, v, ret);
	dwarf_value_uint(v, &plus);
	*ret = lo + plus;
	return true;
}

static const char *function_around(struct dwarf_params *p, uint64_t vaddr)
{
	struct dwarf_param_unit *u;
	const struct dwarf_function_range *f = dwarf_param_function_at(p, vaddr, &u);
	struct dwarf_any_die d;

	return f && dwarf_any_die_read(u->cu, f->off, &d) ? dwarf_param_function_name(p, &d, u)
							  : NULL;
}

static int add_copy(struct looking *l, uint64_t off, const char *name, uint64_t call_file,
		    uint64_t call_line)
{
	struct dwarf_inlined_place place = {.name = name, .line = (uint32_t)call_line};
	struct dwarf_any_die d;

	if (!dwarf_any_die_read(l->u->cu, off, &d) || !entry_of(l, &d, &place.vaddr))
		return 0;
	dwarf_param_lines(l->p, l->u);
	place.file = dwarf_lines_path(&l->u->lines, call_file, &l->p->memory, &l->p->failed);
	place.into = function_around(l->p, place.vaddr);
	return vec_push(&l->ret->places, place) || l->p->failed ? -ERR_NOMEM : 0;
}

static int visit(void *arg, const struct dwarf_cu *cu, uint64_t off, const struct dwarf_abbrev *a,
		 struct buf *b, struct dwarf_level *level)
{
	struct dwarf_value v[DWARF_SLOT_N] = {0};
	struct looking *l = arg;
	uint64_t file = 0, line = 0;
	struct dwarf_ref origin;
	const char *name;

	(void)level;
	if (a->kind != DWARF_KIND_INLINED || !a->has_code) {
		dwarf_pass_over(cu, a, b, &(bool){false});
		return 0;
	}
	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_CODE, b, v);
	origin = dwarf_value_ref(cu, v[DWARF_SLOT_ORIGIN]);
	if (!buf_ok(b) || !origin.file)
		return 0;
	name = wanted_name(l, origin);
	dwarf_value_uint(v[DWARF_SLOT_CALL_FILE], &file);
	dwarf_value_uint(v[DWARF_SLOT_CALL_LINE], &line);
	if (l->p->failed)
		return -ERR_NOMEM;
	return name ? add_copy(l, off, name, file, line) : 0;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct dwarf_inlined_place *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

int dwarf_params_inlined(struct dwarf_params *p, dwarf_wants_name *wants, void *arg,
			 struct dwarf_inlined_places *ret)
{
	struct looking l = {.p = p, .wants = wants, .arg = arg, .ret = ret};

	for (size_t i = 0; i < p->main.n_units && !p->failed; i++) {
		l.u = dwarf_param_unit(p, &p->main, &p->main.units[i]);
		if (l.u && dwarf_walk(l.u->cu, visit, &l) < 0)
			p->failed = true;
	}
	if (ret->places.n)
		qsort(ret->places.v, ret->places.n, sizeof *ret->places.v, by_vaddr);
	hash_done(&l.asked);
	vec_done(&l.names);
	return p->failed ? -ERR_NOMEM : 0;
}

/* params.c - finds the functions at an address, with their parameters. */
#include "dwarf/param_pack.h"
#include "dwarf/params.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dwarf/walk.h"
#include "modules/modules.h"

enum {
	LEVELS_MAX = 256,   /* functions inlined at an address */
	PARAMS_MAX = 256,   /* of a function */
	INHERITED_MAX = 16, /* abstract_origin and specification links from one DIE */
	BUDGET_MIN = 1 << 20,
	BUDGET_PER_BYTE = 16, /* of .debug_info */
};

/* ---- units ---------------------------------------------------------------------------------- */

static int by_lo(const void *a, const void *b)
{
	const struct dwarf_unit_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int add_unit_ranges(struct dwarf_params *p, uint32_t unit)
{
	struct dwarf_range_iter it;
	struct dwarf_cu cu;
	uint64_t lo, hi;
	int rc = dwarf_cu_open(&cu, &p->main, &p->main.units[unit]);

	if (rc)
		return rc < 0 ? rc : 0;
	dwarf_range_iter_init(&it, &cu, cu.low_pc, cu.high_pc, cu.ranges);
	while (dwarf_range_next(&it, &p->budget, &lo, &hi))
		if (dwarf_filter_code(&p->filter, lo, &hi) &&
		    vec_push(&p->ranges, (struct dwarf_unit_range){lo, hi, unit}))
			return -ERR_NOMEM;
	return 0;
}

static int open_files(struct dwarf_params *p, struct elf_image *img, const struct module *mod)
{
	const struct elf_image *of[2] = {mod->image, mod->debug != mod->image ? mod->debug : NULL};
	int rc = dwarf_file_open(&p->main, img, false, 1, NULL);

	if (!rc && mod->alt) {
		rc = dwarf_file_open(&p->alt, mod->alt, false, 1, NULL);
		p->main.alt = &p->alt;
	}
	if (!rc)
		rc = dwarf_splits_new(&p->splits, of);
	if (!rc)
		rc = dwarf_filter_open(&p->filter, img, NULL, 0);
	p->budget = BUDGET_MIN + p->main.sec[DWARF_INFO].size * BUDGET_PER_BYTE;
	for (uint32_t i = 0; !rc && i < p->main.n_units; i++)
		rc = add_unit_ranges(p, i);
	if (p->ranges.n)
		qsort(p->ranges.v, p->ranges.n, sizeof *p->ranges.v, by_lo);
	return rc;
}

static bool is_part(struct elf_image *img)
{
	struct elf_section s;

	return elf_image_section(img, MODULE_PART_SECTION, &s, NULL);
}

int dwarf_params_open(struct dwarf_params **ret, struct module *mod, struct err *err)
{
	struct elf_image *img = dwarf_image(mod);
	struct dwarf_params *p;
	int rc;

	*ret = NULL;
	if (!img)
		return 0;
	p = calloc(1, sizeof *p);
	if (!p)
		return err_nomem(err);
	p->seed = hash_secret();
	rc = is_part(img) ? dwarf_params_unpack(p, img) : open_files(p, img, mod) ? -1 : 1;
	if (rc > 0)
		*ret = p;
	else
		dwarf_params_free(p);
	return rc < 0 ? err_nomem(err) : 0;
}

void dwarf_params_free(struct dwarf_params *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->units.n; i++) {
		vec_done(&p->units.v[i]->functions);
		vec_done(&p->units.v[i]->entries);
		hash_done(&p->units.v[i]->copy_of);
		dwarf_lines_done(&p->units.v[i]->lines);
		free(p->units.v[i]);
	}
	vec_done(&p->units);
	vec_done(&p->ranges);
	vec_done(&p->sites);
	vec_done(&p->types);
	hash_done(&p->by_unit);
	hash_done(&p->by_vaddr);
	hash_done(&p->by_type);
	hash_done(&p->tails);
	dwarf_splits_free(p->splits);
	dwarf_filter_close(&p->filter);
	dwarf_file_close(&p->main);
	dwarf_file_close(&p->alt);
	arena_done(&p->memory);
	free(p);
}

struct dwarf_attribute dwarf_param_inherited(struct dwarf_params *p, const struct dwarf_any_die *d,
					     struct dwarf_param_unit **unit,
					     enum dwarf_attribute_slot slot)
{
	struct dwarf_any_die at = *d;

	for (unsigned i = 0; !at.a[slot].v.form && i < INHERITED_MAX; i++) {
		struct dwarf_ref origin = dwarf_value_ref(
			(*unit)->cu, at.a[DWARF_AT_ORIGIN].v.form ? at.a[DWARF_AT_ORIGIN].v
								  : at.a[DWARF_AT_SPECIFICATION].v);

		if (!origin.file || !dwarf_param_die(p, origin, &at, unit))
			return (struct dwarf_attribute){0};
	}
	return at.a[slot];
}

const char *dwarf_param_function_name(struct dwarf_params *p, const struct dwarf_any_die *d,
				      struct dwarf_param_unit *unit)
{
	static const enum dwarf_attribute_slot slots[] = {DWARF_AT_LINKAGE, DWARF_AT_NAME};

	for (size_t i = 0; i < 2; i++) {
		struct dwarf_param_unit *u = unit;
		struct dwarf_attribute a = dwarf_param_inherited(p, d, &u, slots[i]);
		const char *name = a.v.form ? dwarf_value_string(u->cu, a.v) : NULL;

		if (name)
			return name;
	}
	return NULL;
}

/* ---- what is at an address ------------------------------------------------------------------ */

/* Going down from a function to the innermost copy of another one at an address. */
struct descent {
	struct dwarf_params *p;
	struct dwarf_param_unit *u;
	uint64_t vaddr, entry;
	struct dwarf_params_of levels[LEVELS_MAX]; /* outermost first */
	size_t n;
	VEC(struct dwarf_param) params; /* of the last level */
	VEC(uint64_t) origins;		/* of these: DIEs that they are copies of; 0: none */
	const struct dwarf_call *call;
	uint64_t innermost; /* offset of the last level's DIE */
};

/* The register that a parameter is passed in: where it is when the function begins. */
static void find_entry_reg(struct descent *s, const struct dwarf_any_die *d,
			   struct dwarf_param *param)
{
	bool is_list, is_kept;
	struct dwarf_expr e;

	if (s->n != 1 ||
	    !dwarf_location_at(s->p, s->u, &d->a[DWARF_AT_LOCATION], s->entry, s->entry, &e,
			       &is_list, &is_kept) ||
	    e.n != 1 || e.code[0] < DW_OP_reg0 || e.code[0] > DW_OP_reg31)
		return;
	param->has_entry_reg = true;
	param->entry_reg = (uint64_t)(e.code[0] - DW_OP_reg0);
}

static void add_param(struct descent *s, const struct dwarf_any_die *d)
{
	const struct dwarf_value of = d->a[DWARF_AT_ORIGIN].v;
	const uint64_t origin = of.form ? dwarf_value_ref(s->u->cu, of).off : 0;
	struct dwarf_param param = {0};
	struct dwarf_param_unit *u = s->u;
	struct dwarf_attribute a = dwarf_param_inherited(s->p, d, &u, DWARF_AT_NAME);

	if (s->params.n == PARAMS_MAX)
		return;
	param.name = a.v.form ? dwarf_value_string(u->cu, a.v) : NULL;
	u = s->u;
	a = dwarf_param_inherited(s->p, d, &u, DWARF_AT_TYPE);
	if (a.v.form)
		param.type = dwarf_param_type(s->p, dwarf_value_ref(u->cu, a.v));
	param.is_result =
		s->u->main.language == DW_LANG_Go && dwarf_flag_is_set(d->a[DWARF_AT_IS_RESULT].v);
	param.has_value = dwarf_value_uint(d->a[DWARF_AT_VALUE].v, &param.value);
	if (!param.has_value)
		dwarf_location_at(s->p, s->u, &d->a[DWARF_AT_LOCATION], s->vaddr, s->entry,
				  &param.where, &param.is_list, &param.is_kept);
	find_entry_reg(s, d, &param);
	s->p->failed |= vec_push(&s->params, param) || vec_push(&s->origins, origin);
}

/* Copies of a function refer to its parameters, but may list those that were left out or split
 * behind the others. Puts them in the order of the source; were they not? */
static bool sort_params(struct descent *s)
{
	bool is_moved = false;

	for (size_t i = 0; i < s->origins.n; i++)
		if (!s->origins.v[i])
			return false;
	for (size_t i = 1; i < s->origins.n && i < s->params.n; i++) {
		const struct dwarf_param param = s->params.v[i];
		const uint64_t origin = s->origins.v[i];
		size_t to = i;

		for (; to && s->origins.v[to - 1] > origin; to--) {
			s->params.v[to] = s->params.v[to - 1];
			s->origins.v[to] = s->origins.v[to - 1];
		}
		is_moved |= to != i;
		s->params.v[to] = param;
		s->origins.v[to] = origin;
	}
	return is_moved;
}

static void end_level(struct descent *s)
{
	struct dwarf_params_of *level = &s->levels[s->n - 1];

	level->is_reordered = sort_params(s);
	level->n = s->params.n;
	level->v = arena_memdup(&s->p->memory, s->params.v, s->params.n * sizeof *s->params.v);
	s->p->failed |= level->n && !level->v;
	s->params.n = s->origins.n = 0;
}

static bool covers(struct descent *s, const struct dwarf_any_die *d)
{
	struct dwarf_range_iter it;
	uint64_t lo, hi;

	dwarf_range_iter_init(&it, s->u->cu, d->a[DWARF_AT_LOW].v, d->a[DWARF_AT_HIGH].v,
			      d->a[DWARF_AT_RANGES].v);
	while (dwarf_range_next(&it, &s->p->budget, &lo, &hi))
		if (lo <= s->vaddr && s->vaddr < hi)
			return true;
	return false;
}

static bool has_code_within(uint16_t tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Reads the children of a DIE. Returns whether one of them, then in *inner, covers the address. */
static bool read_level(struct descent *s, const struct dwarf_any_die *d, bool has_params,
		       struct dwarf_any_die *inner)
{
	struct dwarf_any_die child;
	uint64_t off = d->end;
	bool found = false;

	while (d->children && off != UINT64_MAX && s->p->budget && !s->p->failed &&
	       dwarf_any_die_read(s->u->cu, off, &child)) {
		s->p->budget--;
		if (child.tag == DW_TAG_formal_parameter && has_params)
			add_param(s, &child);
		else if (dwarf_is_call(child.tag) && dwarf_call_returns_to(s->u, &child, s->vaddr))
			s->call = dwarf_param_call(s->p, s->u, &child);
		else if (!found && has_code_within(child.tag) && covers(s, &child)) {
			*inner = child;
			found = true;
		}
		off = dwarf_any_die_behind(s->u->cu, &child, &s->p->budget);
	}
	return found;
}

static void descend(struct descent *s, const struct dwarf_any_die *function)
{
	struct dwarf_any_die at = *function, inner;
	bool more = true;

	for (unsigned depth = 0; more && depth < DWARF_LEVELS_MAX && s->n < LEVELS_MAX; depth++) {
		const bool is_function = !depth || at.tag == DW_TAG_inlined_subroutine;

		s->n += is_function;
		s->innermost = is_function ? at.at.off : s->innermost;
		more = read_level(s, &at, is_function, &inner);
		if (is_function)
			end_level(s);
		at = inner;
	}
}

static struct dwarf_params_of *reversed(struct descent *s)
{
	struct dwarf_params_of *ret = arena_alloc(&s->p->memory, s->n * sizeof *ret);

	for (size_t i = 0; ret && i < s->n; i++)
		ret[i] = s->levels[s->n - 1 - i];
	s->p->failed |= !ret;
	return ret;
}

/* The number of rows that begin up to an address. */
static size_t rows_up_to(struct dwarf_params *p, struct dwarf_param_unit *u, uint64_t vaddr)
{
	const struct dwarf_rows *rows;
	size_t lo = 0, hi;

	dwarf_param_lines(p, u);
	rows = &u->lines.rows;
	for (hi = rows->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows->v[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct dwarf_row *dwarf_param_row(struct dwarf_params *p, struct dwarf_param_unit *u,
					uint64_t vaddr)
{
	const size_t n = rows_up_to(p, u, vaddr);

	return n && u->lines.rows.v[n - 1].file != DWARF_ROW_END ? &u->lines.rows.v[n - 1] : NULL;
}

/* Where the code begins that belongs to the second row of lines that a function has: before, it
 * stores its parameters where they are to be. */
static uint64_t body_of(struct dwarf_params *p, struct dwarf_param_unit *u,
			const struct dwarf_function_range *f)
{
	const size_t at = rows_up_to(p, u, f->lo);
	const struct dwarf_rows *rows = &u->lines.rows;

	return at < rows->n && rows->v[at].addr < f->hi ? rows->v[at].addr : 0;
}

bool dwarf_param_is_c(uint64_t language)
{
	return (dwarf_language_is_flat(language) && language != DW_LANG_Go &&
		language != DW_LANG_Ada83 && language != DW_LANG_Ada95) ||
	       dwarf_language_is_cxx(language);
}

/* Of Go's functions also where it returns it, as on amd64 since 1.17: in registers. */
static bool tells_result(const struct dwarf_param_unit *u)
{
	if (u->main.language == DW_LANG_Go)
		return u->producer && strstr(u->producer, "regabi");
	return u->main.language != DW_LANG_Mips_Assembler;
}

static void set_convention(struct dwarf_params *p, struct dwarf_param_unit *u,
			   const struct dwarf_any_die *d, struct dwarf_site *site)
{
	struct dwarf_param_unit *owner = u;
	uint64_t convention;

	site->is_not_called_so =
		dwarf_value_uint(dwarf_param_inherited(p, d, &owner, DWARF_AT_CONVENTION).v,
				 &convention) &&
		convention != DW_CC_normal;
	site->is_by_compiler_of_c &= !site->is_not_called_so;
}

static struct dwarf_site *make_site(struct dwarf_params *p, struct dwarf_param_unit *u,
				    const struct dwarf_function_range *f, uint64_t vaddr)
{
	struct dwarf_site *site = arena_alloc(&p->memory, sizeof *site);
	struct descent *s = calloc(1, sizeof *s);
	struct dwarf_param_unit *owner = u;
	struct dwarf_attribute result;
	struct dwarf_any_die d;
	bool is_list, is_kept;
	uint64_t entry;

	if (!s || !site) {
		free(s);
		p->failed = true;
		return NULL;
	}
	if (!dwarf_any_die_read(u->cu, f->off, &d)) {
		free(s);
		return NULL;
	}
	if (!dwarf_value_addr(u->cu, d.a[DWARF_AT_LOW].v, &entry))
		entry = f->lo;
	*s = (struct descent){.p = p, .u = u, .vaddr = vaddr, .entry = entry};
	descend(s, &d);
	*site = (struct dwarf_site){.levels = reversed(s),
				    .n = s->n,
				    .entry = entry,
				    .body = body_of(p, u, f),
				    .name = dwarf_param_function_name(p, &d, u),
				    .is_by_compiler_of_c = dwarf_param_is_c(u->main.language),
				    .call = s->call,
				    .innermost = s->innermost,
				    .address_bytes = u->cu->unit->addr_size,
				    .unit = u,
				    .function = f};
	result = dwarf_param_inherited(p, &d, &owner, DWARF_AT_TYPE);
	site->has_result = result.v.form;
	site->is_result_told = tells_result(u);
	site->keeps_result = u->main.language == DW_LANG_Go;
	site->is_by_gcc = u->producer && !strncmp(u->producer, "GNU ", 4);
	if (site->has_result)
		site->result = dwarf_param_type(p, dwarf_value_ref(owner->cu, result.v));
	set_convention(p, u, &d, site);
	dwarf_location_at(p, u, &d.a[DWARF_AT_FRAME_BASE], vaddr, entry, &site->frame_base,
			  &is_list, &is_kept);
	dwarf_param_places(u, &d, &site->is_unoptimized, &site->is_untracked);
	vec_done(&s->params);
	vec_done(&s->origins);
	free(s);
	return site;
}

const struct dwarf_function_range *dwarf_param_function_at(struct dwarf_params *p, uint64_t vaddr,
							   struct dwarf_param_unit **unit)
{
	size_t lo = 0, hi = p->ranges.n;

	*unit = NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->ranges.v[mid].lo <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= p->ranges.v[lo - 1].hi)
		return NULL;
	*unit = dwarf_param_unit(p, &p->main, &p->main.units[p->ranges.v[lo - 1].unit]);
	if (!*unit)
		return NULL;
	dwarf_param_unit_read(p, *unit);
	return dwarf_param_function(*unit, vaddr);
}

static struct dwarf_site *find_site(struct dwarf_params *p, uint64_t vaddr)
{
	struct dwarf_param_unit *u;
	const struct dwarf_function_range *f = dwarf_param_function_at(p, vaddr, &u);

	return f ? make_site(p, u, f, vaddr) : NULL;
}

int dwarf_params_at(struct dwarf_params *p, uint64_t vaddr, const struct dwarf_site **ret)
{
	const uint32_t known = hash_get(&p->by_vaddr, vaddr);
	struct dwarf_site *site;

	*ret = NULL;
	if (known != HASH_NONE) {
		*ret = p->sites.v[known];
		return 0;
	}
	site = find_site(p, vaddr);
	if (p->failed || hash_put(&p->by_vaddr, vaddr, (uint32_t)p->sites.n) ||
	    vec_push(&p->sites, site))
		return -ERR_NOMEM;
	*ret = site;
	return 0;
}

bool dwarf_params_address(const struct dwarf_site *site, uint64_t index, uint64_t *vaddr)
{
	const struct dwarf_param_unit *u = site->unit;

	return u && dwarf_addr_at(u->cu, index, vaddr);
}

const struct dwarf_type *dwarf_params_base_type(struct dwarf_params *p,
						const struct dwarf_site *site, uint64_t off)
{
	const struct dwarf_param_unit *u = site->unit;
	const struct dwarf_unit *unit = u ? u->cu->unit : NULL;

	if (!unit || off >= unit->end - unit->off)
		return NULL;
	return dwarf_param_type(p, (struct dwarf_ref){u->cu->file, unit->off + off});
}

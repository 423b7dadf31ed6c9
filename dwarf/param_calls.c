/* param_calls.c - calls, and what they pass (DWARF5 3.4; before, GNU's DW_TAG_GNU_call_site). */
#include "dwarf/params.h"

enum {
	GNU_call_site = 0x4109,
	GNU_call_site_parameter = 0x410a,
	PASSED_MAX = 64,
	TAILS_MAX = 64, /* functions that are looked at for calls at their end */
};

bool dwarf_is_call(uint16_t tag)
{
	return tag == DW_TAG_call_site || tag == GNU_call_site;
}

bool dwarf_call_returns_to(const struct dwarf_param_unit *u, const struct dwarf_any_die *d,
			   uint64_t vaddr)
{
	const enum dwarf_attribute_slot slot =
		d->tag == GNU_call_site ? DWARF_AT_LOW : DWARF_AT_CALL_RETURN;
	uint64_t ra;

	return dwarf_value_addr(u->cu, d->a[slot].v, &ra) && ra == vaddr + 1;
}

/* The DIE of the function that is called. */
static bool origin_of(struct dwarf_params *p, const struct dwarf_param_unit *u,
		      const struct dwarf_any_die *d, struct dwarf_any_die *ret,
		      struct dwarf_param_unit **unit)
{
	const enum dwarf_attribute_slot slot =
		d->tag == GNU_call_site ? DWARF_AT_ORIGIN : DWARF_AT_CALL_ORIGIN;
	struct dwarf_ref at = dwarf_value_ref(u->cu, d->a[slot].v);

	return at.file && dwarf_param_die(p, at, ret, unit);
}

/* Where the function begins that a DIE stands for; 0: unknown. */
static uint64_t entry_of(struct dwarf_params *p, const struct dwarf_any_die *d,
			 struct dwarf_param_unit *u)
{
	uint64_t entry;
	uint32_t at;

	if (dwarf_value_addr(u->cu, d->a[DWARF_AT_LOW].v, &entry))
		return entry;
	dwarf_param_unit_read(p, u);
	at = hash_get(&u->copy_of, d->at.off);
	return at == HASH_NONE ? 0 : u->entries.v[at];
}

static bool read_passed(const struct dwarf_any_die *d, struct dwarf_passed *ret)
{
	const struct dwarf_slice reg = d->a[DWARF_AT_LOCATION].block;
	const struct dwarf_slice value = d->a[DWARF_AT_CALL_VALUE].block;

	if (reg.size < 1 || !value.data)
		return false;
	if (reg.data[0] >= DW_OP_reg0 && reg.data[0] <= DW_OP_reg31 && reg.size == 1)
		ret->reg = (uint64_t)(reg.data[0] - DW_OP_reg0);
	else
		return false;
	ret->value = (struct dwarf_expr){value.data, (size_t)value.size};
	return true;
}

const struct dwarf_call *dwarf_param_call(struct dwarf_params *p, struct dwarf_param_unit *u,
					  const struct dwarf_any_die *d)
{
	struct dwarf_call *call = arena_alloc(&p->memory, sizeof *call);
	const struct dwarf_slice to = d->a[DWARF_AT_CALL_TARGET].block;
	VEC(struct dwarf_passed) passed = {0};
	struct dwarf_any_die origin, child;
	struct dwarf_param_unit *unit;
	struct dwarf_passed one;
	uint64_t off = d->end;

	if (!call) {
		p->failed = true;
		return NULL;
	}
	call->to = (struct dwarf_expr){to.data, (size_t)to.size};
	if (origin_of(p, u, d, &origin, &unit)) {
		call->to_entry = entry_of(p, &origin, unit);
		call->to_name = dwarf_param_function_name(p, &origin, unit);
	}
	while (d->children && off != UINT64_MAX && p->budget && passed.n < PASSED_MAX &&
	       dwarf_any_die_read(u->cu, off, &child)) {
		p->budget--;
		if (read_passed(&child, &one))
			p->failed |= vec_push(&passed, one) != 0;
		off = dwarf_any_die_behind(u->cu, &child, &p->budget);
	}
	call->passed = arena_memdup(&p->memory, passed.v, passed.n * sizeof *passed.v);
	call->n = call->passed ? passed.n : 0;
	vec_done(&passed);
	return call;
}

/* ---- calls at the end of functions ---------------------------------------------------------- */

struct tails {
	struct dwarf_params *p;
	uint64_t of; /* entry of the function that may be called again */
	struct dwarf_ref todo[TAILS_MAX];
	size_t n;
	bool unknown;
};

static void add_tail(struct tails *t, struct dwarf_ref at)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->todo[i].file == at.file && t->todo[i].off == at.off)
			return;
	if (t->n == TAILS_MAX)
		t->unknown = true;
	else
		t->todo[t->n++] = at;
}

/* The function with code that begins there. */
static struct dwarf_ref function_at(struct tails *t, struct dwarf_param_unit *u, uint64_t entry)
{
	const struct dwarf_function_range *f;

	dwarf_param_unit_read(t->p, u);
	f = dwarf_param_function(u, entry);
	return f && f->lo == entry ? (struct dwarf_ref){u->cu->file, f->off}
				   : (struct dwarf_ref){0};
}

static void see_call(struct tails *t, const struct dwarf_param_unit *u,
		     const struct dwarf_any_die *d)
{
	struct dwarf_param_unit *unit;
	struct dwarf_any_die origin;
	struct dwarf_ref to = {0};
	uint64_t entry;

	if (!dwarf_flag_is_set(d->a[DWARF_AT_CALL_TAIL].v))
		return;
	if (!origin_of(t->p, u, d, &origin, &unit)) {
		t->unknown = true;
		return;
	}
	entry = entry_of(t->p, &origin, unit);
	if (entry)
		to = function_at(t, unit, entry);
	if (!to.file || entry == t->of)
		t->unknown = true;
	else
		add_tail(t, to);
}

/* Looks at all calls in a function. */
static void see_function(struct tails *t, struct dwarf_ref at)
{
	struct dwarf_param_unit *u;
	struct dwarf_any_die d;
	size_t depth = 0;
	uint64_t off = at.off;

	if (!dwarf_param_unit_of(t->p, at)) {
		t->unknown = true;
		return;
	}
	u = dwarf_param_unit_of(t->p, at);
	do {
		if (!t->p->budget) {
			t->unknown = true;
			return;
		}
		t->p->budget--;
		if (!dwarf_any_die_read(u->cu, off, &d)) {
			struct buf b = dwarf_cu_at(u->cu, off);

			/* The end of a level is a byte 0. */
			t->unknown |= buf_u8(&b) || !buf_ok(&b);
			depth -= depth > 0;
			off++;
			continue;
		}
		if (dwarf_is_call(d.tag))
			see_call(t, u, &d);
		depth += d.children;
		off = d.end;
	} while (depth && !t->unknown);
}

bool dwarf_params_calls_itself_last(struct dwarf_params *p, const struct dwarf_site *site)
{
	const struct dwarf_param_unit *u = site->unit;
	const struct dwarf_function_range *f = site->function;
	struct tails t = {.p = p, .of = site->entry, .n = 1};
	uint32_t known;
	uint64_t key;

	if (!u)
		return true;
	t.todo[0] = (struct dwarf_ref){u->cu->file, f->off};
	key = dwarf_param_key(p, t.todo[0]);
	known = hash_get(&p->tails, key);
	if (known != HASH_NONE)
		return known;
	for (size_t i = 0; i < t.n && !t.unknown; i++)
		see_function(&t, t.todo[i]);
	p->failed |= hash_put(&p->tails, key, t.unknown) != 0;
	return t.unknown;
}

/* locations.c - location lists (DWARF4 2.6.2, DWARF5 2.6.2 and 7.29). */
#include "dwarf/params.h"

/* GNU's view numbers, which stand before an entry: its order among others at the same address. */
enum { LLE_view_pair = 9 };

struct list {
	const struct dwarf_cu *cu;
	struct buf b;
	uint64_t base;
	bool has_base;
};

static uint64_t read_addr(struct list *l)
{
	return l->cu->unit->addr_size == 8 ? buf_u64(&l->b) : buf_u32(&l->b);
}

static struct dwarf_expr read_expr(struct buf *b, uint64_t n)
{
	struct buf code = buf_sub(b, n);

	return (struct dwarf_expr){code.p, buf_left(&code)};
}

/* DWARF 2 to 4: pairs relative to a base address. Returns false at the end. */
static bool next_pair(struct list *l, uint64_t *lo, uint64_t *hi, struct dwarf_expr *e)
{
	const uint64_t max = l->cu->unit->addr_size == 8 ? UINT64_MAX : UINT32_MAX;

	*e = (struct dwarf_expr){0};
	*lo = read_addr(l);
	*hi = read_addr(l);
	if (!buf_ok(&l->b) || (!*lo && !*hi))
		return false;
	if (*lo == max) {
		l->base = *hi;
		*hi = *lo = 0;
		return true;
	}
	*lo += l->base;
	*hi += l->base;
	*e = read_expr(&l->b, buf_u16(&l->b));
	return buf_ok(&l->b);
}

static bool is_base(struct list *l, uint8_t kind)
{
	if (kind == DW_LLE_base_addressx)
		l->has_base = dwarf_addr_at(l->cu, buf_uleb(&l->b), &l->base);
	else if (kind == DW_LLE_base_address)
		l->base = read_addr(l);
	else
		return false;
	return true;
}

/* DWARF 5. An entry that is none of code has lo == hi and no expression. */
static bool next_entry(struct list *l, uint64_t *lo, uint64_t *hi, struct dwarf_expr *e)
{
	struct buf *b = &l->b;
	const uint8_t kind = buf_u8(b);
	bool known = true;

	*e = (struct dwarf_expr){0};
	*lo = *hi = 0;
	if (is_base(l, kind))
		return buf_ok(b);
	switch (kind) {
	case LLE_view_pair:
		buf_uleb(b);
		buf_uleb(b);
		return buf_ok(b);
	case DW_LLE_startx_endx:
		known = dwarf_addr_at(l->cu, buf_uleb(b), lo);
		known &= dwarf_addr_at(l->cu, buf_uleb(b), hi);
		break;
	case DW_LLE_startx_length:
		known = dwarf_addr_at(l->cu, buf_uleb(b), lo);
		*hi = *lo + buf_uleb(b);
		break;
	case DW_LLE_offset_pair:
		*lo = l->base + buf_uleb(b);
		*hi = l->base + buf_uleb(b);
		known = l->has_base;
		break;
	case DW_LLE_default_location:
		*hi = UINT64_MAX;
		break;
	case DW_LLE_start_end:
		*lo = read_addr(l);
		*hi = read_addr(l);
		break;
	case DW_LLE_start_length:
		*lo = read_addr(l);
		*hi = *lo + buf_uleb(b);
		break;
	default:
		return false;
	}
	*e = read_expr(b, buf_uleb(b));
	if (!known) {
		*hi = *lo;
		*e = (struct dwarf_expr){0};
	}
	return buf_ok(b);
}

/* Where the list of an attribute begins. */
static bool list_offset(const struct dwarf_param_unit *u, const struct dwarf_cu *cu,
			struct dwarf_value v, uint64_t *ret)
{
	const uint8_t size = cu->unit->off_size;
	struct buf b;

	if (v.form != DW_FORM_loclistx)
		return dwarf_value_uint(v, ret);
	if (v.raw >= u->loclists.size / size)
		return false;
	b = dwarf_slice_at(&u->loclists, u->loclists_base, cu->file->swap);
	buf_skip(&b, v.raw * size);
	*ret = u->loclists_base + (size == 8 ? buf_u64(&b) : buf_u32(&b));
	return buf_ok(&b);
}

/* An entry that is empty, of the place where the function begins, says what holds before its first
 * instruction: gcc writes it where the source's first statements left no code there. gdb
 * (dwarf2_find_location_expression()) takes the first one, too. */
static bool holds_at(uint64_t lo, uint64_t hi, const struct dwarf_expr *e, uint64_t vaddr,
		     uint64_t entry)
{
	if (lo == hi)
		return e->code && lo == vaddr && vaddr == entry;
	return lo <= vaddr && vaddr < hi;
}

bool dwarf_location_at(struct dwarf_params *p, const struct dwarf_param_unit *u,
		       const struct dwarf_attribute *a, uint64_t vaddr, uint64_t entry,
		       struct dwarf_expr *ret, bool *is_list, bool *is_kept)
{
	const struct dwarf_cu *cu = u->cu;
	struct list l = {.cu = cu, .base = cu->base_addr, .has_base = true};
	uint64_t off, lo, hi;

	*is_list = *is_kept = false;
	*ret = (struct dwarf_expr){a->block.data, (size_t)a->block.size};
	if (!a->v.form || a->block.data)
		return a->block.data;
	*is_list = true;
	/* GNU's lists of split units before DWARF 5 are of a form of their own. */
	if ((cu->skeleton && cu->unit->version < 5) || !list_offset(u, cu, a->v, &off))
		return false;
	l.b = dwarf_slice_at(&u->loclists, off, cu->file->swap);
	while (p->budget && (cu->unit->version < 5 ? next_pair(&l, &lo, &hi, ret)
						   : next_entry(&l, &lo, &hi, ret))) {
		p->budget--;
		if (holds_at(lo, hi, ret, vaddr, entry)) {
			*is_kept = vaddr + 1 < hi;
			return true;
		}
	}
	*ret = (struct dwarf_expr){0};
	return false;
}

/* arithmetic.c - see arithmetic.h. */
#include "values/arithmetic.h"

#include <dwarf.h>

struct item item_narrowed(struct item i)
{
	const unsigned bits = i.bytes * 8u;

	if (bits >= 64 || !bits)
		return i;
	i.v &= (1ull << bits) - 1;
	if (i.is_signed && i.v >> (bits - 1))
		i.v |= ~0ull << bits;
	return i;
}

void item_need_all_bits(struct item_use *u, struct item i)
{
	u->is_unknown |= i.is_loose && u->wanted < sizeof i.v;
}

/* DWARF5 2.5.1.4: generic values are divided as signed ones, and their remainders are those of
 * unsigned ones; others by their type. */
static uint64_t divide(struct item_use *u, struct item a, struct item b, bool modulo)
{
	const bool is_signed = a.is_typed ? a.is_signed : !modulo;

	item_need_all_bits(u, a);
	item_need_all_bits(u, b);
	if (!b.v || (is_signed && a.v == 1ull << 63 && b.v == UINT64_MAX)) {
		u->is_unknown = true;
		return 0;
	}
	if (is_signed)
		return modulo ? (uint64_t)((int64_t)a.v % (int64_t)b.v)
			      : (uint64_t)((int64_t)a.v / (int64_t)b.v);
	return modulo ? a.v % b.v : a.v / b.v;
}

/* DW_OP_shr shifts in zeros, whatever the type is, DW_OP_shra the sign. */
static uint64_t shift(struct item_use *u, uint8_t op, struct item a, struct item by)
{
	const unsigned unused = 64 - a.bytes * 8u;

	item_need_all_bits(u, by);
	if (op != DW_OP_shl)
		item_need_all_bits(u, a);
	if (op == DW_OP_shra)
		return (uint64_t)((int64_t)(a.v << unused) >> unused >> (by.v < 64 ? by.v : 63));
	if (by.v > 63)
		return 0;
	return op == DW_OP_shl ? a.v << by.v : a.v << unused >> unused >> by.v;
}

/* Are the upper bits of a result those of the value? */
static bool is_loose(uint8_t op, struct item a, struct item b)
{
	if (op == DW_OP_and &&
	    ((!a.is_loose && a.v <= UINT32_MAX) || (!b.is_loose && b.v <= UINT32_MAX)))
		return false;
	if (op == DW_OP_shl && a.is_loose && b.v >= 32)
		return false;
	return a.is_loose || b.is_loose;
}

struct item item_binary(struct item_use *u, uint8_t op, struct item a, struct item b)
{
	struct item r = a;

	switch (op) {
	case DW_OP_and:
		r.v = a.v & b.v;
		break;
	case DW_OP_or:
		r.v = a.v | b.v;
		break;
	case DW_OP_xor:
		r.v = a.v ^ b.v;
		break;
	case DW_OP_plus:
		r.v = a.v + b.v;
		break;
	case DW_OP_minus:
		r.v = a.v - b.v;
		break;
	case DW_OP_mul:
		r.v = a.v * b.v;
		break;
	case DW_OP_div:
		r.v = divide(u, a, b, false);
		break;
	case DW_OP_mod:
		r.v = divide(u, a, b, true);
		break;
	default:
		r.v = shift(u, op, a, b);
		break;
	}
	r.is_loose = is_loose(op, a, b);
	return item_narrowed(r);
}

bool item_compare(struct item_use *u, uint8_t op, struct item a, struct item b)
{
	/* Generic values compare as signed ones (DWARF5 2.5.1.5). */
	const bool is_signed = a.is_signed || !a.is_typed;
	const int order = is_signed ? ((int64_t)a.v > (int64_t)b.v) - ((int64_t)a.v < (int64_t)b.v)
				    : (a.v > b.v) - (a.v < b.v);
	bool r = false;

	item_need_all_bits(u, a);
	item_need_all_bits(u, b);
	switch (op) {
	case DW_OP_eq:
		r = !order;
		break;
	case DW_OP_ne:
		r = order;
		break;
	case DW_OP_lt:
		r = order < 0;
		break;
	case DW_OP_le:
		r = order <= 0;
		break;
	case DW_OP_gt:
		r = order > 0;
		break;
	case DW_OP_ge:
		r = order >= 0;
		break;
	}
	return r;
}

struct item item_unary(struct item_use *u, uint8_t op, struct item a)
{
	const bool is_negative = (a.is_signed || !a.is_typed) && a.v >> 63;

	if (op == DW_OP_abs)
		item_need_all_bits(u, a);
	a.v = op == DW_OP_not					    ? ~a.v
	      : op == DW_OP_neg || (op == DW_OP_abs && is_negative) ? 0 - a.v
								    : a.v;
	return item_narrowed(a);
}

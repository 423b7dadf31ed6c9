/* print.c - values as gdb spells them. */
#include <inttypes.h>
#include <string.h>

#include "values/frame_view.h"

enum { TEXT_MAX = 200, FLAGS_MAX = 64 };

bool value_integer(const struct dwarf_type *t, const struct value_bytes *b, uint64_t *ret)
{
	const unsigned bits = (unsigned)t->bytes * 8;
	uint64_t v = 0;

	if (t->kind == DWARF_TYPE_OTHER || t->kind == DWARF_TYPE_FLOAT ||
	    t->kind == DWARF_TYPE_STRUCT || !t->bytes || t->bytes > sizeof v ||
	    !value_is_known(b, 0, (size_t)t->bytes))
		return false;
	memcpy(&v, b->v, (size_t)t->bytes);
	if (t->is_signed && bits < 64 && v >> (bits - 1))
		v |= ~0ull << bits;
	*ret = v;
	return true;
}

/* Recorders wipe the arguments and the environment of a program from copies of stacks: an empty
 * text amid zeros may have been one. */
static bool may_be_wiped(struct values *v, uint64_t addr)
{
	uint64_t around[2];

	return view_memory(v, addr - 8, &around[0], 8) && view_memory(v, addr, &around[1], 8) &&
	       !around[0] && !around[1];
}

bool value_text(struct values *v, uint64_t addr, char *to, size_t max, size_t *n, bool *cut)
{
	*cut = false;
	for (*n = 0; *n < max; ++*n) {
		if (!view_memory(v, addr + *n, &to[*n], 1))
			return false;
		if (!to[*n])
			return *n || !may_be_wiped(v, addr);
	}
	*cut = true;
	return true;
}

static void add_escaped(struct text *t, unsigned char c, char quote)
{
	static const char letters[] = "abtnvfr"; /* 7 to 13 */
	char octal[8];

	if (c >= 7 && c <= 13) {
		text_char(t, '\\');
		text_char(t, letters[c - 7]);
	} else if (c == 27) {
		text_str(t, "\\033");
	} else if (c < ' ' || c >= 0x7f) {
		snprintf(octal, sizeof octal, "\\%03o", c);
		text_str(t, octal);
	} else {
		if (c == (unsigned char)quote || c == '\\')
			text_char(t, '\\');
		text_char(t, (char)c);
	}
}

static void print_text(struct values *v, struct text *t, uint64_t addr, bool bare)
{
	char s[TEXT_MAX];
	bool cut;
	size_t n;

	if (!addr || !value_text(v, addr, s, sizeof s, &n, &cut))
		return;
	if (!bare)
		text_char(t, ' ');
	text_char(t, '"');
	for (size_t i = 0; i < n; i++)
		add_escaped(t, (unsigned char)s[i], '"');
	text_str(t, cut ? "\"..." : "\"");
}

static void print_number(struct text *t, uint64_t v, bool is_signed)
{
	char digits[32];

	snprintf(digits, sizeof digits, is_signed ? "%" PRId64 : "%" PRIu64, (int64_t)v);
	text_str(t, digits);
}

static void print_hex(struct text *t, uint64_t v)
{
	text_str(t, "0x");
	text_hex(t, v, 0);
}

/* Do the names stand for one bit each, which may be combined? */
static bool has_flags(const struct dwarf_type *t)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < t->n_enumerators; i++) {
		const uint64_t v = (uint64_t)t->enumerators[i].value;

		if (t->enumerators[i].value < 0 || (v & (v - 1)) || (v & seen))
			return false;
		seen |= v;
	}
	return seen;
}

static void print_enum(struct text *t, const struct dwarf_type *type, uint64_t v)
{
	uint64_t left = v;
	bool any = false;

	for (size_t i = 0; i < type->n_enumerators; i++)
		if ((uint64_t)type->enumerators[i].value == v) {
			text_clean(t, type->enumerators[i].name, strlen(type->enumerators[i].name));
			return;
		}
	if (!v || !has_flags(type)) {
		print_number(t, v, type->is_signed);
		return;
	}
	text_char(t, '(');
	for (size_t i = 0; i < type->n_enumerators; i++) {
		const uint64_t bit = (uint64_t)type->enumerators[i].value;

		if (!bit || !(left & bit))
			continue;
		text_str(t, any ? " | " : "");
		text_clean(t, type->enumerators[i].name, strlen(type->enumerators[i].name));
		left &= ~bit;
		any = true;
	}
	if (left) {
		text_str(t, any ? " | unknown: " : "unknown: ");
		print_hex(t, left);
	}
	text_char(t, ')');
}

static void print_float(struct text *t, const struct dwarf_type *type, const struct value_bytes *b)
{
	char digits[64];
	double d;
	float f;

	if (type->bytes == sizeof f) {
		memcpy(&f, b->v, sizeof f);
		snprintf(digits, sizeof digits, "%.9g", (double)f);
	} else if (type->bytes == sizeof d) {
		memcpy(&d, b->v, sizeof d);
		snprintf(digits, sizeof digits, "%.17g", d);
	} else {
		text_char(t, '?');
		return;
	}
	text_str(t, digits);
}

static void print_integer(struct values *v, struct text *t, const struct dwarf_type *type,
			  uint64_t n, bool bare)
{
	switch (type->kind) {
	case DWARF_TYPE_CHARACTER:
		print_number(t, n, type->is_signed);
		text_str(t, " '");
		add_escaped(t, (unsigned char)n, '\'');
		text_char(t, '\'');
		break;
	case DWARF_TYPE_BOOL:
		if (n < 2)
			text_str(t, n ? "true" : "false");
		else
			print_number(t, n, false);
		break;
	case DWARF_TYPE_ENUM:
		print_enum(t, type, n);
		break;
	case DWARF_TYPE_REFERENCE:
		text_char(t, '@');
		print_hex(t, n);
		break;
	case DWARF_TYPE_POINTER:
		if (bare && type->to_text && n) {
			const size_t start = t->n;

			print_text(v, t, n, true);
			if (t->n != start)
				break;
		}
		print_hex(t, n);
		if (type->to_text && !bare)
			print_text(v, t, n, false);
		break;
	default:
		print_number(t, n, type->is_signed);
	}
}

/* Of processors that number bits from the lowest one on (DWARF5 5.7.6). False: not known. */
static bool bit_field(const struct dwarf_member *m, const struct value_bytes *b, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < m->bits; i++) {
		const uint64_t at = m->bit_off + i;

		if (at / 8 >= b->n || !b->known[at / 8])
			return false;
		*ret |= (uint64_t)(b->v[at / 8] >> at % 8 & 1) << i;
	}
	if (m->type->is_signed && m->bits < 64 && *ret >> (m->bits - 1))
		*ret |= ~0ull << m->bits;
	return m->type->kind != DWARF_TYPE_FLOAT;
}

static void print_member(struct values *v, struct text *t, const struct dwarf_member *m,
			 const struct value_bytes *b)
{
	struct value_bytes part = {.n = 0};
	uint64_t n;

	if (!m->type || (m->type->kind == DWARF_TYPE_STRUCT && !m->is_base) ||
	    m->type->kind == DWARF_TYPE_OTHER) {
		text_str(t, "...");
	} else if (m->bits) {
		if (bit_field(m, b, &n))
			print_integer(v, t, m->type, n, false);
		else
			text_char(t, '?');
	} else {
		if (m->off < b->n && m->type->bytes <= b->n - m->off) {
			part.n = (size_t)m->type->bytes;
			memcpy(part.v, b->v + m->off, part.n);
			memcpy(part.known, b->known + m->off, part.n * sizeof *part.known);
		}
		value_print(v, t, m->type, &part, false);
	}
}

static void print_struct(struct values *v, struct text *t, const struct dwarf_type *type,
			 const struct value_bytes *b)
{
	text_str(t, type->n_members ? "{" : "{<No data fields>");
	for (size_t i = 0; i < type->n_members; i++) {
		const struct dwarf_member *m = &type->members[i];

		text_str(t, i ? ", " : "");
		if (m->name) {
			text_str(t, m->is_base ? "<" : "");
			text_clean(t, m->name, strlen(m->name));
			text_str(t, m->is_base ? "> = " : " = ");
		}
		print_member(v, t, m, b);
	}
	text_char(t, '}');
}

void value_print(struct values *v, struct text *t, const struct dwarf_type *type,
		 const struct value_bytes *b, bool bare)
{
	uint64_t n;

	if (type && type->kind == DWARF_TYPE_STRUCT) {
		for (size_t i = 0; i < b->n; i++)
			if (b->known[i]) {
				print_struct(v, t, type, b);
				return;
			}
		text_char(t, '?');
	} else if (type && type->kind == DWARF_TYPE_FLOAT && type->bytes &&
		   value_is_known(b, 0, (size_t)type->bytes)) {
		print_float(t, type, b);
	} else if (type && value_integer(type, b, &n)) {
		print_integer(v, t, type, n, bare);
	} else {
		text_char(t, '?');
	}
}

void value_print_type(struct text *t, const struct dwarf_type *type)
{
	static const char letters[][2] = {
		[DWARF_TYPE_INTEGER] = {'u', 'i'}, [DWARF_TYPE_CHARACTER] = {'C', 'c'},
		[DWARF_TYPE_BOOL] = {'b', 'b'},	   [DWARF_TYPE_POINTER] = {'p', 'p'},
		[DWARF_TYPE_ENUM] = {'E', 'e'},	   [DWARF_TYPE_REFERENCE] = {'p', 'p'},
	};
	const char letter = type && type->bytes && type->bytes <= 8 &&
					    (size_t)type->kind < sizeof letters / sizeof *letters
				    ? letters[type->kind][type->is_signed]
				    : 0;

	if (!letter) {
		text_char(t, 'x');
		return;
	}
	text_char(t, letter);
	text_dec(t, type->bytes, 0);
	for (size_t i = 0; i < type->n_enumerators; i++) {
		text_char(t, ' ');
		text_clean(t, type->enumerators[i].name, strlen(type->enumerators[i].name));
		text_char(t, ' ');
		print_number(t, (uint64_t)type->enumerators[i].value, true);
	}
}

/* belongs_lines.c - line tables against the places of code, and the names of their files.
 *
 * Of a table only the addresses are computed at which its sequences begin and end (DWARF5 6.2.5): a
 * compiler begins one with a function, or with a section of assembly, and ends it behind another.
 * Counted on the builds of belongs.c: all do, of another build's at most 35 %; and of the names 90
 * % are at the start of a string, or of a part of a path where linkers share the ends of strings,
 * of another build's at most 52 %. */
#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "modules/belongs.h"

enum { SEQUENCES_WRONG_PARTS = 64, NAMES_WRONG_PARTS = 4, ENTRY_FORMATS_MAX = 32 };

struct check {
	const struct code_places *places;
	const struct line_sections *s;
	struct belongs_count sequences;
	VEC(uint64_t) names, strp_names; /* offsets into .debug_line_str, .debug_str */
	bool nomem;
	size_t n_sequences, n_in_code;
};

/* One table: its header, and the values of it that the program needs. */
struct table {
	struct buf header, program;
	uint16_t version;
	unsigned offset_size;
	uint8_t min_inst_length, line_range, opcode_base;
	const uint8_t *operands; /* of standard opcodes, from 1 */
};

/* ---- headers ------------------------------------------------------------------------------- */

/* The next of the tables, of which the version is read; they fill the section. */
static struct table next_table(struct buf *b)
{
	uint64_t length = buf_u32(b);
	struct table t = {.offset_size = length == UINT32_MAX ? 8 : 4};

	if (t.offset_size == 8)
		length = buf_u64(b);
	t.header = buf_sub(b, length);
	t.version = buf_u16(&t.header);
	return t;
}

bool line_tables_are_whole(const struct bare_section *line, bool swapped)
{
	struct buf b = buf_make(line->bytes, line->size, 0, swapped);

	while (buf_left(&b) && buf_ok(&b)) {
		struct table t = next_table(&b);

		if (!buf_ok(&t.header) || t.version < 2 || t.version > 5)
			return false;
	}
	return buf_ok(&b);
}

static uint64_t read_offset(struct buf *b, unsigned offset_size)
{
	return offset_size == 8 ? buf_u64(b) : buf_u32(b);
}

/* DWARF5 6.2.4, items 1 to 12. False when damaged. */
static bool read_header(struct table *t)
{
	struct buf *b = &t->header;
	uint64_t length;

	if (t->version >= 5)
		buf_skip(b, 2); /* sizes of addresses and segment selectors */
	length = read_offset(b, t->offset_size);
	if (!buf_ok(b) || length > buf_left(b))
		return false;
	t->program = *b;
	t->header = buf_sub(&t->program, length);
	t->min_inst_length = buf_u8(b);
	if (t->version >= 4)
		buf_u8(b); /* maximum_operations_per_instruction */
	buf_skip(b, 2);	   /* default_is_stmt, line_base */
	t->line_range = buf_u8(b);
	t->opcode_base = buf_u8(b);
	t->operands = buf_take(b, t->opcode_base ? t->opcode_base - 1u : 0);
	return buf_ok(b) && t->line_range && t->opcode_base;
}

/* ---- names --------------------------------------------------------------------------------- */

/* Takes one value. False when the form has no known size. */
static bool read_form(struct check *c, struct table *t, uint64_t form)
{
	struct buf *b = &t->header;

	switch (form) {
	case DW_FORM_line_strp:
		c->nomem |= vec_push(&c->names, read_offset(b, t->offset_size)) != 0;
		break;
	case DW_FORM_strp:
		c->nomem |= vec_push(&c->strp_names, read_offset(b, t->offset_size)) != 0;
		break;
	case DW_FORM_string:
		buf_cstr(b);
		break;
	case DW_FORM_udata:
		buf_uleb(b);
		break;
	case DW_FORM_data1:
		buf_skip(b, 1);
		break;
	case DW_FORM_data2:
		buf_skip(b, 2);
		break;
	case DW_FORM_data4:
		buf_skip(b, 4);
		break;
	case DW_FORM_data8:
		buf_skip(b, 8);
		break;
	case DW_FORM_data16:
		buf_skip(b, 16);
		break;
	case DW_FORM_block:
		buf_skip(b, buf_uleb(b));
		break;
	default:
		return false;
	}
	return buf_ok(b);
}

/* Directories or files of version 5, which describe themselves. False when it cannot go on. */
static bool read_entries(struct check *c, struct table *t)
{
	uint64_t forms[ENTRY_FORMATS_MAX], count;
	unsigned n = buf_u8(&t->header), i;

	if (n > ENTRY_FORMATS_MAX)
		return false;
	for (i = 0; i < n; i++) {
		buf_uleb(&t->header); /* what it is */
		forms[i] = buf_uleb(&t->header);
	}
	count = buf_uleb(&t->header);
	if (!n && count)
		return false;
	while (count--)
		for (i = 0; i < n; i++)
			if (!read_form(c, t, forms[i]))
				return false;
	return true;
}

/* Each name once: a few are very common. */
static void count_names(struct belongs_count *c, uint64_t *v, size_t n,
			const struct bare_section *strings)
{
	size_t i;

	belongs_sort(v, n);
	for (i = 0; i < n; i++)
		if (!i || v[i] != v[i - 1])
			belongs_add(c,
				    v[i] < strings->size && (!v[i] || !strings->bytes[v[i] - 1] ||
							     strings->bytes[v[i] - 1] == '/'));
}

/* ---- sequences ----------------------------------------------------------------------------- */

static bool begins_right(const struct code_places *p, uint64_t start)
{
	size_t lo = 0, hi = p->starts.n;

	while (lo < hi) { /* the first symbol behind it */
		size_t mid = lo + (hi - lo) / 2;

		if (p->starts.v[mid] <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* gcc gives the first instructions of what it splits off no line, when they have the one
	 * that it gave last, elsewhere. */
	return lo && (p->starts.v[lo - 1] == start ||
		      belongs_has(p->colds.v, p->colds.n, p->starts.v[lo - 1]));
}

/* Of functions that the linker left out there are sequences at zero, and where the linker's marks
 * are; they are in no code. */
static void check_sequence(struct check *c, uint64_t start, uint64_t end)
{
	const struct code_places *p = c->places;
	const struct code_range *of = belongs_code_at(p, start);

	if (start == end)
		return;
	c->n_sequences++;
	if (!of)
		return;
	c->n_in_code++;
	/* Put together from pieces that no symbol names. */
	if (!strcmp(of->section, ".init") || !strcmp(of->section, ".fini"))
		return;
	if (!p->starts.n)
		return;
	belongs_add(&c->sequences, end > start && end <= of->end && begins_right(p, start) &&
					   (belongs_has(p->ends.v, p->ends.n, end) ||
					    belongs_has(p->starts.v, p->starts.n, end)));
}

struct machine {
	uint64_t addr, start;
	bool has_row;
};

static void run_extended(struct check *c, struct table *t, struct machine *m)
{
	struct buf op = buf_sub(&t->program, buf_uleb(&t->program));
	uint8_t code = buf_u8(&op);

	if (code == DW_LNE_set_address)
		m->addr = buf_left(&op) >= 8 ? buf_u64(&op) : buf_u32(&op);
	if (code != DW_LNE_end_sequence)
		return;
	if (m->has_row)
		check_sequence(c, m->start, m->addr);
	*m = (struct machine){0};
}

/* True when it makes a row. */
static bool run_standard(struct table *t, struct machine *m, uint8_t op)
{
	struct buf *b = &t->program;
	unsigned i;

	switch (op) {
	case DW_LNS_copy:
		return true;
	case DW_LNS_advance_pc:
		m->addr += buf_uleb(b) * t->min_inst_length;
		return false;
	case DW_LNS_const_add_pc:
		m->addr += (uint64_t)((255u - t->opcode_base) / t->line_range) * t->min_inst_length;
		return false;
	case DW_LNS_fixed_advance_pc:
		m->addr += buf_u16(b);
		return false;
	default:
		for (i = 0; i < t->operands[op - 1]; i++)
			buf_uleb(b);
		return false;
	}
}

/* For processors with one operation per instruction, which are all that perf records on. */
static void run(struct check *c, struct table *t)
{
	struct machine m = {0};

	while (buf_left(&t->program)) {
		uint8_t op = buf_u8(&t->program);
		bool row = op >= t->opcode_base;

		if (row)
			m.addr += (uint64_t)((op - t->opcode_base) / t->line_range) *
				  t->min_inst_length;
		else if (op)
			row = run_standard(t, &m, op);
		else
			run_extended(c, t, &m);
		if (row && !m.has_row) {
			m.has_row = true;
			m.start = m.addr;
		}
	}
}

/* ---- all together -------------------------------------------------------------------------- */

static void check_tables(struct check *c, bool swapped, bool programs)
{
	struct buf b = buf_make(c->s->line.bytes, c->s->line.size, 0, swapped);

	while (buf_left(&b) && buf_ok(&b)) {
		struct table t = next_table(&b);

		if (!read_header(&t))
			continue;
		if (t.version >= 5 && read_entries(c, &t))
			read_entries(c, &t);
		if (programs)
			run(c, &t);
	}
}

static void check_done(struct check *c)
{
	vec_done(&c->names);
	vec_done(&c->strp_names);
}

struct line_needs lines_need(const struct bare_section *line, bool swapped)
{
	const struct line_sections s = {.line = *line};
	struct check c = {.s = &s};
	struct line_needs needs;

	check_tables(&c, swapped, false);
	needs = (struct line_needs){c.names.n, c.strp_names.n};
	check_done(&c);
	return needs;
}

const char *lines_strangeness(const struct elf_image *image, struct code_places *places,
			      const struct line_sections *s)
{
	struct check c = {.places = places, .s = s};
	struct belongs_count names = {0};
	const char *why = NULL;

	check_tables(&c, image->swapped, true);
	count_names(&names, c.names.v, c.names.n, &s->line_str);
	count_names(&names, c.strp_names.v, c.strp_names.n, &s->str);
	if (belongs_is_strange(&names, NAMES_WRONG_PARTS))
		why = "its file names are elsewhere";
	else if (belongs_is_strange(&c.sequences, SEQUENCES_WRONG_PARTS) ||
		 (c.n_sequences && !c.n_in_code))
		why = "the code of the binary lies elsewhere";
	places->nomem |= c.nomem;
	check_done(&c);
	return why;
}

/* line.c - line number programs, DWARF 2-5 (DWARF5 6.2). */
#include "dwarf/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Limit on the formats of directory or file entries (DWARF5 6.2.4.1); producers write at most 5. */
enum { ENTRY_FORMATS_MAX = 32 };

/* Limit on the bytes of paths, because all files may be in one directory with a long name. */
enum { PATH_BUDGET_MIN = 1 << 20, PATH_BUDGET_PER_BYTE = 64 };

struct sequence {
	uint64_t lo, hi;
	size_t first, n; /* rows */
};

struct program {
	const struct dwarf_cu *cu;
	const struct dwarf_filter *filter;
	struct dwarf_lines *lines;
	struct dwarf_unit shape; /* version and sizes of the table's own header */
	struct buf b;		 /* header, then program */
	struct buf code;
	uint8_t min_inst_length, max_ops, opcode_base, line_range;
	int8_t line_base;
	uint8_t special_advance[256]; /* operation advance and line increment of special opcodes */
	int16_t special_line[256];
	const uint8_t *operands; /* per standard opcode, from 1 */
	/* state machine */
	uint64_t addr, file, line;
	unsigned op_index;
	bool in_sequence, dead;
	bool all;		/* DWARF_ROWS_ALL */
	struct dwarf_rows rows; /* in program order */
	size_t first;		/* first row of the current sequence */
	VEC(struct sequence) sequences;
};

static uint64_t read_off(struct program *p)
{
	return p->shape.off_size == 8 ? buf_u64(&p->b) : buf_u32(&p->b);
}

/* ---- header ------------------------------------------------------------------------------ */

/* DWARF 2-4: two lists of names, each ended by an empty one. */
static int read_old_tables(struct program *p)
{
	struct dwarf_lines *l = p->lines;
	const char *s;

	while ((s = buf_cstr(&p->b)) && *s)
		if (vec_push(&l->dirs, s))
			return -ERR_NOMEM;
	while ((s = buf_cstr(&p->b)) && *s) {
		struct dwarf_line_file f = {s, buf_uleb(&p->b)};

		buf_uleb(&p->b); /* modification time */
		buf_uleb(&p->b); /* length */
		if (buf_ok(&p->b) && vec_push(&l->files, f))
			return -ERR_NOMEM;
	}
	return 0;
}

struct entry_format {
	uint64_t content;
	uint16_t form;
	struct dwarf_form how;
};

/* Returns the number of formats; -1 if one of them is unknown or has no bytes: a count of entries
 * is only plausible if each entry has bytes. */
static int read_formats(struct program *p, struct entry_format *formats)
{
	unsigned n = buf_u8(&p->b), i;

	if (n > ENTRY_FORMATS_MAX)
		return -1;
	for (i = 0; i < n; i++) {
		uint64_t form;

		formats[i].content = buf_uleb(&p->b);
		form = buf_uleb(&p->b);
		formats[i].form = (uint16_t)form;
		formats[i].how = dwarf_form_op((uint16_t)form, p->shape.version, p->shape.addr_size,
					       p->shape.off_size);
		if (form > UINT16_MAX || formats[i].how.op == DWARF_OP_BAD ||
		    formats[i].how.op == DWARF_OP_IMPLICIT)
			return -1;
	}
	return buf_ok(&p->b) ? (int)n : -1;
}

static struct dwarf_line_file read_entry(struct program *p, const struct entry_format *formats,
					 int n)
{
	struct dwarf_line_file e = {NULL, 0};
	int i;

	for (i = 0; i < n; i++) {
		struct dwarf_value v = {0, formats[i].form};

		if (formats[i].how.op == DWARF_OP_SKIP) {
			buf_skip(&p->b, (uint64_t)formats[i].how.size);
			continue;
		}
		v.raw = dwarf_form_read(&p->b, formats[i].how.op, &p->shape, &v.form);
		if (formats[i].content == DW_LNCT_path)
			e.name = dwarf_value_string(p->cu, v);
		else if (formats[i].content == DW_LNCT_directory_index)
			e.dir = v.raw;
	}
	return e;
}

/* DWARF 5: a table that describes its own entries. Returns false if it is damaged, or when out of
 * memory (then *rc is -ERR_NOMEM). */
static bool read_new_table(struct program *p, bool files, int *rc)
{
	struct entry_format formats[ENTRY_FORMATS_MAX];
	struct dwarf_lines *l = p->lines;
	int n = read_formats(p, formats);
	uint64_t count = buf_uleb(&p->b);

	if (n < 0 || (count && !n))
		return false;
	while (count-- && buf_ok(&p->b)) {
		struct dwarf_line_file e = read_entry(p, formats, n);

		if (!buf_ok(&p->b))
			return false;
		if (files ? vec_push(&l->files, e) : vec_push(&l->dirs, e.name)) {
			*rc = -ERR_NOMEM;
			return false;
		}
	}
	return buf_ok(&p->b);
}

/* Restricts p->b to the unit's table. */
static bool enter(struct program *p, const struct dwarf_cu *cu)
{
	struct buf b;
	uint64_t length;

	if (!cu->has_stmt_list)
		return false;
	b = dwarf_slice_at(&cu->file->sec[DWARF_LINE], cu->stmt_list, cu->file->swap);
	length = buf_u32(&b);
	p->shape = *cu->unit;
	p->shape.off_size = 4;
	if (length == 0xffffffff) {
		p->shape.off_size = 8;
		length = buf_u64(&b);
	}
	p->b = buf_sub(&b, length);
	return buf_ok(&p->b);
}

uint64_t dwarf_lines_size(const struct dwarf_cu *cu)
{
	struct program p;

	return enter(&p, cu) ? buf_left(&p.b) + 4 : 0;
}

/* Returns 0 also if the table is damaged: then p->code is empty. */
static int read_header(struct program *p)
{
	struct buf *b = &p->b;
	uint64_t length;
	unsigned op;
	int rc = 0;

	p->lines->version = p->shape.version = (uint8_t)buf_u16(b);
	if (p->shape.version < 2 || p->shape.version > 5)
		return 0;
	if (p->shape.version >= 5) {
		p->shape.addr_size = buf_u8(b);
		buf_u8(b); /* segment selector size */
	}
	length = read_off(p);
	if (!buf_ok(b) || length > buf_left(b))
		return 0;
	p->code = *b;
	buf_skip(&p->code, length);
	b->end = p->code.p;
	p->min_inst_length = buf_u8(b);
	p->max_ops = p->shape.version >= 4 ? buf_u8(b) : 1;
	buf_u8(b); /* default_is_stmt */
	p->line_base = (int8_t)buf_u8(b);
	p->line_range = buf_u8(b);
	p->opcode_base = buf_u8(b);
	p->operands = buf_take(b, p->opcode_base ? p->opcode_base - 1u : 0);
	if (!buf_ok(b) || !p->opcode_base || !p->line_range) {
		p->code.p = p->code.end;
		return 0;
	}
	if (!p->max_ops)
		p->max_ops = 1;
	for (op = p->opcode_base; op < 256; op++) {
		p->special_advance[op] = (uint8_t)((op - p->opcode_base) / p->line_range);
		p->special_line[op] =
			(int16_t)(p->line_base + (op - p->opcode_base) % p->line_range);
	}
	if (p->shape.version < 5)
		return read_old_tables(p);
	if (read_new_table(p, false, &rc))
		read_new_table(p, true, &rc);
	return rc;
}

/* ---- program ----------------------------------------------------------------------------- */

static void reset(struct program *p)
{
	p->addr = 0;
	p->op_index = 0;
	p->file = p->line = 1;
	p->in_sequence = p->dead = false;
	p->first = p->rows.n;
}

/* Ends the current sequence at `end`. Drops it if it has no code, or none that is wanted. */
static int close_sequence(struct program *p, uint64_t end)
{
	struct sequence s = {0, end, p->first, p->rows.n - p->first};

	if (s.n) {
		s.lo = p->rows.v[s.first].addr;
		if (!p->dead && s.lo < end && dwarf_filter_wants(p->filter, s.lo, end)) {
			p->first = p->rows.n;
			return vec_push(&p->sequences, s) ? -ERR_NOMEM : 0;
		}
	}
	p->rows.n = p->first;
	return 0;
}

static inline bool says_nothing_new(const struct program *p, const struct dwarf_row *a,
				    const struct dwarf_row *b)
{
	return a->file == b->file && a->line == b->line && !p->all;
}

/* Adds a row if file or line changed, or all are wanted. Of several rows at one address the last
 * counts. */
static inline int emit(struct program *p)
{
	struct dwarf_row row = {p->addr, p->file < DWARF_ROW_END ? (uint32_t)p->file : 0,
				p->line <= UINT32_MAX ? (uint32_t)p->line : 0};
	struct dwarf_rows *rows = &p->rows;
	const struct dwarf_row *last = rows->n > p->first ? &rows->v[rows->n - 1] : NULL;
	uint64_t hi = UINT64_MAX;

	if (p->dead || (last && says_nothing_new(p, last, &row) && row.addr >= last->addr))
		return 0;
	if (!p->in_sequence) {
		p->in_sequence = true;
		p->dead = !dwarf_filter_code(p->filter, p->addr, &hi);
		if (p->dead)
			return 0;
	}
	/* DWARF5 6.2.5: addresses only increase within a sequence. If one does not, the rest is
	 * treated as another sequence. */
	if (last && row.addr < last->addr) {
		int rc = close_sequence(p, last->addr);

		if (rc)
			return rc;
	}
	if (rows->n > p->first && rows->v[rows->n - 1].addr == row.addr)
		rows->n--;
	if (rows->n > p->first && says_nothing_new(p, &rows->v[rows->n - 1], &row))
		return 0;
	return vec_push(rows, row) ? -ERR_NOMEM : 0;
}

/* DWARF5 6.2.5.1, "operation advance" */
static inline void advance(struct program *p, uint64_t by)
{
	if (p->max_ops == 1) {
		p->addr += by * p->min_inst_length;
		return;
	}
	by += p->op_index;
	p->addr += p->min_inst_length * (by / p->max_ops);
	p->op_index = (unsigned)(by % p->max_ops);
}

static int define_file(struct program *p, struct buf *op)
{
	struct dwarf_line_file f = {.name = buf_cstr(op)};

	f.dir = buf_uleb(op);
	return buf_ok(op) && vec_push(&p->lines->files, f) ? -ERR_NOMEM : 0;
}

static int run_extended(struct program *p)
{
	struct buf op = buf_sub(&p->code, buf_uleb(&p->code));
	uint8_t code = buf_u8(&op);
	int rc;

	if (!buf_ok(&op))
		return 0;
	switch (code) {
	case DW_LNE_end_sequence:
		rc = close_sequence(p, p->addr);
		reset(p);
		return rc;
	case DW_LNE_set_address:
		p->addr = buf_left(&op) >= 8 ? buf_u64(&op) : buf_u32(&op);
		p->op_index = 0;
		return 0;
	case DW_LNE_define_file:
		return define_file(p, &op);
	}
	return 0;
}

static int run_standard(struct program *p, uint8_t op)
{
	struct buf *b = &p->code;
	unsigned i;

	switch (op) {
	case DW_LNS_copy:
		return emit(p);
	case DW_LNS_advance_pc:
		advance(p, buf_uleb(b));
		return 0;
	case DW_LNS_advance_line:
		p->line += (uint64_t)buf_sleb(b);
		return 0;
	case DW_LNS_set_file:
		p->file = buf_uleb(b);
		return 0;
	case DW_LNS_const_add_pc:
		advance(p, (255u - p->opcode_base) / p->line_range); /* as opcode 255 */
		return 0;
	case DW_LNS_fixed_advance_pc:
		p->addr += buf_u16(b);
		p->op_index = 0;
		return 0;
	default: /* is_stmt, blocks, columns, and unknown opcodes: operands are ULEB128 */
		for (i = 0; i < p->operands[op - 1]; i++)
			buf_uleb(b);
		return 0;
	}
}

static int run(struct program *p)
{
	int rc = 0;

	reset(p);
	while (!rc && buf_left(&p->code)) {
		uint8_t op = buf_u8(&p->code);

		if (op >= p->opcode_base) {
			advance(p, p->special_advance[op]);
			p->line += (uint64_t)(int64_t)p->special_line[op];
			rc = emit(p);
		} else if (op) {
			rc = run_standard(p, op);
		} else {
			rc = run_extended(p);
		}
	}
	return rc;
}

/* ---- from program order to address order --------------------------------------------------- */

static int sequence_cmp(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Valid sequences do not overlap; if some do, the one that begins first keeps its addresses. */
static int sort_rows(struct program *p)
{
	struct dwarf_rows *out = &p->lines->rows;
	uint64_t done = 0;
	size_t i, k;

	if (!p->sequences.n)
		return 0;
	qsort(p->sequences.v, p->sequences.n, sizeof *p->sequences.v, sequence_cmp);
	if (vec_reserve(out, p->rows.n + p->sequences.n))
		return -ERR_NOMEM;
	for (i = 0; i < p->sequences.n; i++) {
		const struct sequence *s = &p->sequences.v[i];
		const struct dwarf_row *rows = &p->rows.v[s->first];

		if (s->hi <= done)
			continue;
		if (out->n && s->lo <= done)
			out->n--; /* the end of the sequence before */
		for (k = 0; k < s->n; k++) {
			struct dwarf_row row = rows[k];
			uint64_t end = k + 1 < s->n ? rows[k + 1].addr : s->hi;

			if (row.addr < done)
				row.addr = done;
			if (row.addr < end)
				out->v[out->n++] = row;
		}
		out->v[out->n++] = (struct dwarf_row){s->hi, DWARF_ROW_END, 0};
		done = s->hi;
	}
	return 0;
}

int dwarf_lines_read(struct dwarf_lines *l, const struct dwarf_cu *cu,
		     const struct dwarf_filter *filter, enum dwarf_rows_wanted rows)
{
	struct program p = {.cu = cu, .filter = filter, .lines = l, .all = rows == DWARF_ROWS_ALL};
	int rc = 0;

	*l = (struct dwarf_lines){.comp_dir = cu->comp_dir};
	if (enter(&p, cu)) {
		l->path_budget = PATH_BUDGET_MIN + buf_left(&p.b) * PATH_BUDGET_PER_BYTE;
		rc = read_header(&p);
		if (!rc && rows)
			rc = run(&p);
		if (!rc)
			rc = sort_rows(&p);
		l->damaged = !p.code.data || !buf_ok(&p.b) || !buf_ok(&p.code);
	} else {
		l->damaged = cu->has_stmt_list && cu->file->sec[DWARF_LINE].size;
	}
	vec_done(&p.rows);
	vec_done(&p.sequences);
	if (rc)
		dwarf_lines_done(l);
	return rc;
}

void dwarf_lines_done(struct dwarf_lines *l)
{
	vec_done(&l->dirs);
	vec_done(&l->files);
	vec_done(&l->rows);
}

/* ---- paths ------------------------------------------------------------------------------- */

static const char *dir_name(const struct dwarf_lines *l, uint64_t dir)
{
	if (l->version < 5) {
		if (!dir)
			return l->comp_dir;
		dir--;
	}
	return dir < l->dirs.n ? l->dirs.v[dir] : NULL;
}

const char *dwarf_lines_path(struct dwarf_lines *l, uint64_t file, struct arena *a, bool *nomem)
{
	const char *parts[3] = {NULL, NULL, NULL};
	const struct dwarf_line_file *f;
	size_t n[3], total = 3, at = 0, i;
	char *s;

	if (l->version < 5)
		file--; /* numbered from 1; 0 means none */
	if (file >= l->files.n)
		return NULL;
	f = &l->files.v[file];
	parts[2] = f->name;
	if (!f->name || f->name[0] == '/')
		return f->name;
	parts[1] = dir_name(l, f->dir);
	if (parts[1] && parts[1][0] != '/' && parts[1] != l->comp_dir)
		parts[0] = l->comp_dir;
	for (i = 0; i < 3; i++) {
		n[i] = parts[i] ? strlen(parts[i]) : 0;
		total += n[i];
	}
	if (total > l->path_budget)
		return NULL;
	l->path_budget -= total;
	s = arena_alloc(a, total);
	if (!s) {
		*nomem = true;
		return NULL;
	}
	for (i = 0; i < 3; i++) {
		memcpy(s + at, parts[i] ? parts[i] : "", n[i]);
		at += n[i];
		if (n[i] && i < 2 && s[at - 1] != '/')
			s[at++] = '/';
	}
	return s;
}

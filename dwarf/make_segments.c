/* make_segments.c - makes segments from the ranges of each function and the rows of the line table.
 */
#include <stdlib.h>

#include "base/err.h"
#include "dwarf/compiled_unit.h"

/* How many segments are searched backwards for the line of code that has none. */
enum { LINE_BACK_MAX = 16 };

/* Limit on the segments of one unit: they, and their bytes, are counted in 32 bits. */
enum { SEGS_MAX = 100 << 20 };

struct merger {
	struct dwarf_compiled_unit *part;
	struct dwarf_lines *lines;
	const struct dwarf_rows *rows;
	const struct dwarf_filter *filter;
	uint32_t *file_ids; /* by number in the line table; 0: not needed so far */
	size_t n_file_ids;
	struct dwarf_spans spans;
	uint32_t order; /* number of the current function */
	bool open;	/* the last block can grow */
};

/* ---- files ------------------------------------------------------------------------------- */

/* The part's number of a file; 0: unknown. Sets *nomem when out of memory. */
static uint32_t file_id(struct merger *m, uint32_t file, bool *nomem)
{
	const char *path;

	if (file >= m->n_file_ids)
		return 0;
	if (!m->file_ids[file]) {
		path = dwarf_lines_path(m->lines, file, &m->part->strings, nomem);
		if (!path || *nomem)
			return 0;
		m->file_ids[file] = (uint32_t)m->part->files.n;
		*nomem = vec_push(&m->part->files, path);
	}
	return m->file_ids[file];
}

static int number_call_files(struct merger *m)
{
	bool nomem = false;
	size_t i;

	for (i = 1; i < m->part->nodes.n && !nomem; i++) {
		struct dwarf_node *n = &m->part->nodes.v[i];

		if (n->parent)
			n->call_file = file_id(m, n->call_file, &nomem);
	}
	return nomem ? -ERR_NOMEM : 0;
}

/* ---- segments ---------------------------------------------------------------------------- */

/* Compilers give line 0 to code that belongs to no line in particular. The best line for it is the
 * one that the same function executed just before; else only the file is known. */
static void borrow_line(const struct merger *m, const struct dwarf_block *b, struct dwarf_seg *s)
{
	size_t i, n;

	for (i = (size_t)b->first + b->n, n = 0; i-- > b->first && n < LINE_BACK_MAX; n++)
		if (m->part->segs.v[i].node == s->node && m->part->segs.v[i].line) {
			s->file = m->part->segs.v[i].file;
			s->line = m->part->segs.v[i].line;
			return;
		}
}

/* Appends a segment [lo, hi) to the last block, or to a new one. `borrow`: the line table says line
 * 0 here. */
static int add_seg(struct merger *m, uint64_t lo, uint64_t hi, struct dwarf_seg seg, bool borrow)
{
	struct dwarf_compiled_unit *p = m->part;
	struct dwarf_block *b = p->blocks.n ? &p->blocks.v[p->blocks.n - 1] : NULL;
	const struct dwarf_seg *last;

	if (!m->open || !b || b->hi != lo || lo - b->lo > UINT32_MAX) {
		struct dwarf_block fresh = {
			.lo = lo, .hi = hi, .first = (uint32_t)p->segs.n, .order = m->order};

		if (p->segs.n >= SEGS_MAX || vec_push(&p->blocks, fresh))
			return -ERR_NOMEM;
		b = &p->blocks.v[p->blocks.n - 1];
		m->open = true;
	}
	if (borrow)
		borrow_line(m, b, &seg);
	seg.off = (uint32_t)(lo - b->lo);
	b->hi = hi;
	last = b->n ? &p->segs.v[p->segs.n - 1] : NULL;
	if (last && last->node == seg.node && last->file == seg.file && last->line == seg.line)
		return 0;
	b->n++;
	return p->segs.n >= SEGS_MAX || vec_push(&p->segs, seg) ? -ERR_NOMEM : 0;
}

/* Number of rows that begin at or before addr. */
static size_t rows_until(const struct dwarf_rows *rows, uint64_t addr)
{
	size_t lo = 0, hi = rows->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Adds [lo, hi), which executes `node`, cut where the line changes. *row is the number of rows that
 * begin at or before lo; afterwards, of those that begin before hi. */
static int add_piece(struct merger *m, uint64_t lo, uint64_t hi, uint32_t node, size_t *row)
{
	const struct dwarf_rows *rows = m->rows;
	bool nomem = false;
	int rc = 0;

	while (lo < hi && !rc) {
		struct dwarf_seg seg = {.node = node};
		bool known = false;
		uint64_t end = hi;

		while (*row < rows->n && rows->v[*row].addr <= lo)
			++*row;
		if (*row < rows->n && rows->v[*row].addr < hi)
			end = rows->v[*row].addr;
		if (*row && rows->v[*row - 1].file != DWARF_ROW_END) {
			known = true;
			seg.line = rows->v[*row - 1].line;
			if (node || seg.line)
				seg.file = file_id(m, rows->v[*row - 1].file, &nomem);
		}
		if (node || seg.line)
			rc = nomem ? -ERR_NOMEM : add_seg(m, lo, end, seg, known && !seg.line);
		lo = end;
	}
	return rc;
}

/* ---- functions --------------------------------------------------------------------------- */

static int merge_function(struct merger *m, struct dwarf_range *ranges, size_t n,
			  struct dwarf_range *scratch)
{
	size_t i, row = 0;
	int rc;

	dwarf_ranges_sort(ranges, n, scratch);
	rc = dwarf_flatten_ranges(ranges, n, &m->spans);
	m->order = ranges->group;
	m->open = false;
	for (i = 0; !rc && i + 1 < m->spans.n; i++) {
		const struct dwarf_span *s = &m->spans.v[i];

		if (s->id == DWARF_NOTHING)
			continue;
		if (!m->open || m->part->blocks.v[m->part->blocks.n - 1].hi != s->addr)
			row = rows_until(m->rows, s->addr);
		rc = add_piece(m, s->addr, s[1].addr, s->id, &row);
	}
	return rc;
}

/* Ranges of nested functions are between those of the enclosing function: brings the ranges of each
 * group together, in order. */
static int gather_groups(struct dwarf_ranges *r, uint32_t n_groups)
{
	struct dwarf_range *out;
	size_t *at, i;

	for (i = 1; i < r->n && r->v[i - 1].group <= r->v[i].group; i++)
		;
	if (i >= r->n)
		return 0;
	at = calloc(n_groups + 1ul, sizeof *at);
	out = malloc(r->n * sizeof *out);
	if (!at || !out) {
		free(at);
		free(out);
		return -ERR_NOMEM;
	}
	for (i = 0; i < r->n; i++)
		at[r->v[i].group + 1]++;
	for (i = 0; i < n_groups; i++)
		at[i + 1] += at[i];
	for (i = 0; i < r->n; i++)
		out[at[r->v[i].group]++] = r->v[i];
	free(at);
	free(r->v);
	r->v = out;
	r->cap = r->n;
	return 0;
}

static int merge_functions(struct merger *m, struct dwarf_ranges *r, uint32_t n_groups)
{
	struct dwarf_range *scratch = NULL;
	size_t i, n;
	int rc = gather_groups(r, n_groups);

	if (rc || !r->n)
		return rc;
	scratch = malloc(r->n * sizeof *scratch);
	if (!scratch)
		return -ERR_NOMEM;
	for (i = 0; !rc && i < r->n; i += n) {
		for (n = 1; i + n < r->n && r->v[i + n].group == r->v[i].group; n++)
			;
		rc = merge_function(m, &r->v[i], n, scratch);
	}
	free(scratch);
	return rc;
}

/* ---- lines outside of functions ------------------------------------------------------------ */

/* Makes sorted disjoint spans of the code that functions cover. */
static int cover(struct merger *m, struct dwarf_spans *out)
{
	size_t n = m->part->blocks.n, i;
	struct dwarf_range *r = malloc((n + 1) * 2 * sizeof *r);
	int rc;

	if (!r)
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		const struct dwarf_block *b = &m->part->blocks.v[i];

		r[i] = (struct dwarf_range){.lo = b->lo, .hi = b->hi};
	}
	dwarf_ranges_sort(r, n, r + n);
	rc = dwarf_flatten_ranges(r, n, out);
	free(r);
	return rc;
}

/* Adds the lines of code without DIEs: of assembler sources and start-up code. */
static int merge_lines(struct merger *m, const struct dwarf_spans *covered)
{
	const struct dwarf_rows *rows = m->rows;
	size_t i, k = 0, row = 0;
	int rc = 0;

	m->order = DWARF_NOTHING;
	m->open = false;
	for (i = 0; i + 1 < rows->n; i++) {
		uint64_t lo = rows->v[i].addr, hi = rows->v[i + 1].addr, end;

		while (lo < hi && !rc) {
			bool inside;

			while (k < covered->n && covered->v[k].addr <= lo)
				k++;
			inside = k && covered->v[k - 1].id != DWARF_NOTHING;
			end = k < covered->n && covered->v[k].addr < hi ? covered->v[k].addr : hi;
			if (!inside && dwarf_filter_wants(m->filter, lo, end))
				rc = add_piece(m, lo, end, 0, &row);
			lo = end;
		}
	}
	return rc;
}

int dwarf_compiled_unit_merge(struct dwarf_compiled_unit *p, struct dwarf_ranges *ranges,
			      uint32_t n_groups, struct dwarf_lines *lines,
			      const struct dwarf_filter *filter)
{
	struct merger m = {.part = p, .lines = lines, .rows = &lines->rows, .filter = filter};
	struct dwarf_spans covered = {0};
	int rc;

	m.n_file_ids = lines->files.n + 1;
	m.file_ids = calloc(m.n_file_ids, sizeof *m.file_ids);
	rc = m.file_ids && !vec_push(&p->files, NULL) ? 0 : -ERR_NOMEM;
	if (!rc)
		rc = number_call_files(&m);
	if (!rc)
		rc = merge_functions(&m, ranges, n_groups);
	if (!rc)
		rc = cover(&m, &covered);
	if (!rc)
		rc = merge_lines(&m, &covered);
	free(m.file_ids);
	vec_done(&m.spans);
	vec_done(&covered);
	return rc;
}

void dwarf_compiled_unit_done(struct dwarf_compiled_unit *p)
{
	vec_done(&p->nodes);
	vec_done(&p->funcs);
	vec_done(&p->files);
	vec_done(&p->segs);
	vec_done(&p->blocks);
	vec_done(&p->roots);
	vec_done(&p->node_bytes);
	vec_done(&p->seg_bytes);
	arena_done(&p->strings);
	*p = (struct dwarf_compiled_unit){0};
}

/* package.c - the unit index of a .dwp file (DWARF5 7.3.5; version 2 is GNU's earlier form). */
#include <stdlib.h>

#include "base/err.h"
#include "base/vec.h"
#include "dwarf/split.h"

enum { COLUMNS_MAX = 16 };

struct dwarf_package {
	VEC(struct dwarf_contribution) v; /* by dwo_id */
};

struct index_header {
	uint32_t version, columns, units, slots;
};

/* Both versions use these numbers, except that only version 5 has range lists. */
enum { COLUMN_INFO = 1, COLUMN_ABBREV = 3, COLUMN_STR_OFFSETS = 6, COLUMN_RNGLISTS = 8 };

static bool read_header(struct buf *b, struct index_header *h)
{
	uint16_t first = buf_u16(b), second = buf_u16(b);

	/* Version 2 is a 4-byte number, version 5 a 2-byte number and padding. */
	h->version = first ? first : second;
	h->columns = buf_u32(b);
	h->units = buf_u32(b);
	h->slots = buf_u32(b);
	return buf_ok(b) && (h->version == 2 || h->version == 5) && h->columns <= COLUMNS_MAX;
}

static struct dwarf_slice part(const struct dwarf_slice *s, uint64_t off, uint64_t size)
{
	if (!s->data || off > s->size || size > s->size - off)
		return (struct dwarf_slice){NULL, 0};
	return (struct dwarf_slice){s->data + off, size};
}

/* Row `row` (from 1) of the tables after the hash table. */
static struct dwarf_contribution read_row(const struct dwarf_file *f, const struct index_header *h,
					  struct buf tables, uint32_t row)
{
	struct dwarf_contribution c = {.row = row};
	struct buf ids = tables, offsets = tables, sizes = tables;
	uint64_t width = 4ull * h->columns, i;

	buf_skip(&offsets, width * row);
	buf_skip(&sizes, width * ((uint64_t)h->units + row));
	for (i = 0; i < h->columns; i++) {
		uint32_t id = buf_u32(&ids);
		uint64_t off = buf_u32(&offsets), size = buf_u32(&sizes);

		if (id == COLUMN_INFO) {
			c.info_off = off;
			c.info_size = size;
		} else if (id == COLUMN_ABBREV) {
			c.abbrev_off = off;
		} else if (id == COLUMN_STR_OFFSETS) {
			c.str_offsets = part(&f->sec[DWARF_STR_OFFSETS], off, size);
		} else if (id == COLUMN_RNGLISTS && h->version == 5) {
			c.rnglists = part(&f->sec[DWARF_RNGLISTS], off, size);
		}
	}
	return c;
}

static int contribution_cmp(const void *a, const void *b)
{
	const struct dwarf_contribution *x = a, *y = b;

	if (x->dwo_id != y->dwo_id)
		return x->dwo_id < y->dwo_id ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

int dwarf_package_open(struct dwarf_file *f)
{
	struct buf b = dwarf_slice_at(&f->sec[DWARF_CU_INDEX], 0, f->swap);
	struct index_header h;
	struct buf ids, rows;
	struct dwarf_package *p;
	uint32_t i;

	if (!read_header(&b, &h))
		return 0;
	ids = buf_sub(&b, 8ull * h.slots);
	rows = buf_sub(&b, 4ull * h.slots);
	/* the column ids, then offsets and sizes */
	if (!buf_ok(&b) || (2ull * h.units + 1) * 4 * h.columns > buf_left(&b))
		return 0;
	p = calloc(1, sizeof *p);
	if (!p)
		return -ERR_NOMEM;
	for (i = 0; i < h.slots; i++) {
		uint64_t dwo_id = buf_u64(&ids);
		uint32_t row = buf_u32(&rows);
		struct dwarf_contribution c;

		if (!row || row > h.units || p->v.n == h.units)
			continue;
		c = read_row(f, &h, b, row);
		c.dwo_id = dwo_id;
		if (vec_push(&p->v, c)) {
			dwarf_package_free(p);
			return -ERR_NOMEM;
		}
	}
	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, contribution_cmp);
	for (i = 0; i < p->v.n; i++)
		p->v.v[i].row = i + 1;
	f->package = p;
	return 0;
}

void dwarf_package_free(struct dwarf_package *p)
{
	if (!p)
		return;
	vec_done(&p->v);
	free(p);
}

size_t dwarf_package_count(const struct dwarf_package *p)
{
	return p->v.n;
}

const struct dwarf_contribution *dwarf_package_at(const struct dwarf_package *p, size_t i)
{
	return &p->v.v[i];
}

const struct dwarf_contribution *dwarf_package_find(const struct dwarf_package *p, uint64_t dwo_id)
{
	size_t lo = 0, hi = p->v.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->v.v[mid].dwo_id < dwo_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->v.n && p->v.v[lo].dwo_id == dwo_id ? &p->v.v[lo] : NULL;
}

void dwarf_package_narrow(struct dwarf_cu *cu)
{
	const struct dwarf_package *p = cu->file->package;

	if (!p || !cu->unit->row)
		return;
	cu->str_offsets = p->v.v[cu->unit->row - 1].str_offsets;
	cu->rnglists = p->v.v[cu->unit->row - 1].rnglists;
}

/* cfi_index.c - the search table of .eh_frame_hdr (LSB, "Exception Frame Header"), or one of our
 * own. */
#include "base/err.h"
#include "functions/functions.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/vec.h"

/* Maximum number of entries with the same start that are tried: the wanted one may not be the
 * last. */
#define SAME_START_MAX 8

enum { HDR_ROW_BYTES = 8, HDR_ROWS_TRIED = 4 };

/* Finds the section without a section header: .eh_frame_hdr points to its start, and it extends at
 * most to the end of its segment. */
static void section_from_hdr(struct cfi_index *ix, const struct elf_image *img, uint64_t vaddr)
{
	size_t left;
	const uint8_t *data = elf_image_at_vaddr(img, vaddr, &left);

	if (!data)
		return;
	ix->sec.data = data;
	ix->sec.size = left;
	ix->sec.vaddr = vaddr;
}

static void hdr_open(struct cfi_index *ix, const struct elf_image *img)
{
	struct cfi_section hdr = ix->sec;
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint64_t frame_vaddr, count;
	Elf64_Phdr ph;
	struct buf b;
	size_t left;

	if (!elf_image_phdr(img, PT_GNU_EH_FRAME, &ph))
		return;
	hdr.data = elf_image_at_vaddr(img, ph.p_vaddr, &left);
	if (!hdr.data)
		return;
	hdr.size = ph.p_filesz < left ? ph.p_filesz : left;
	hdr.vaddr = ph.p_vaddr;
	b = buf_make(hdr.data, hdr.size, ph.p_offset, hdr.swap);
	version = buf_u8(&b);
	frame_encoding = buf_u8(&b);
	count_encoding = buf_u8(&b);
	table_encoding = buf_u8(&b);
	if (version != 1 || !cfi_pointer_read(&hdr, &b, frame_encoding, hdr.vaddr, &frame_vaddr))
		return;
	if (!ix->sec.size)
		section_from_hdr(ix, img, frame_vaddr);
	if (table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
	    !cfi_pointer_read(&hdr, &b, count_encoding, hdr.vaddr, &count) ||
	    count > buf_left(&b) / HDR_ROW_BYTES)
		return;
	ix->hdr_rows = b.p;
	ix->n_hdr_rows = (size_t)count;
	ix->hdr_vaddr = hdr.vaddr;
}

/* Field 0 (start) or 1 (FDE) of a row of the linker's table, as a vaddr. */
static uint64_t hdr_field(const struct cfi_index *ix, size_t row, unsigned field)
{
	uint32_t v;

	memcpy(&v, ix->hdr_rows + row * HDR_ROW_BYTES + field * 4, sizeof v);
	if (ix->sec.swap)
		v = __builtin_bswap32(v);
	return ix->hdr_vaddr + (uint64_t)(int32_t)v;
}

/* Reads the FDE of a row. Returns false if it does not agree with the row. */
static bool hdr_fde_read(const struct cfi_index *ix, size_t row, struct cfi_fde *ret)
{
	return cfi_fde_read(&ix->sec, hdr_field(ix, row, 1) - ix->sec.vaddr, ret) &&
	       ret->start == hdr_field(ix, row, 0);
}

/* Checks a few rows: a tool may have changed .eh_frame without updating the table. */
static bool hdr_fits(const struct cfi_index *ix)
{
	size_t i, n = ix->n_hdr_rows < HDR_ROWS_TRIED ? ix->n_hdr_rows : HDR_ROWS_TRIED;
	struct cfi_fde fde;

	for (i = 0; i < n; i++)
		if (!hdr_fde_read(ix, (ix->n_hdr_rows - 1) * i / (HDR_ROWS_TRIED - 1), &fde))
			return false;
	return true;
}

static void section_open(struct cfi_index *ix, struct elf_image *img, const char *name)
{
	struct elf_section s;

	*ix = (struct cfi_index){0};
	ix->sec.is_eh = name[1] == 'e';
	ix->sec.swap = elf_image_swapped(img);
	ix->sec.address_bytes = elf_image_is_64(img) ? 8 : 4;
	if (!elf_image_section(img, name, &s, NULL) || !s.data)
		return;
	ix->sec.data = s.data;
	ix->sec.size = s.size;
	ix->sec.vaddr = s.vaddr;
	ix->sec.base_off = s.off;
}

void cfi_index_open_eh(struct cfi_index *ix, struct elf_image *img)
{
	section_open(ix, img, ".eh_frame");
	hdr_open(ix, img);
	if (ix->n_hdr_rows && (!ix->sec.size || !hdr_fits(ix)))
		ix->n_hdr_rows = 0;
}

void cfi_index_open_debug(struct cfi_index *ix, struct elf_image *img)
{
	section_open(ix, img, ".debug_frame");
}

void cfi_index_done(struct cfi_index *ix)
{
	free(ix->rows);
	*ix = (struct cfi_index){0};
}

static int row_compare(const void *a, const void *b)
{
	const struct cfi_index_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Reads the whole section. Damaged entries are left out. After the terminator of one object file
 * the entries of the next may follow. */
static int rows_make(struct cfi_index *ix)
{
	VEC(struct cfi_index_row) rows = {0};
	uint64_t off, next;
	struct cfi_fde fde;
	bool sorted = true;

	for (off = 0; off < ix->sec.size; off = next) {
		if (cfi_entry_at(&ix->sec, off, &next) != CFI_ENTRY_FDE ||
		    !cfi_fde_read(&ix->sec, off, &fde))
			continue;
		/* Code that the linker dropped keeps its .debug_frame entry, at address 0. */
		if (fde.start == fde.end || (!ix->sec.is_eh && !fde.start))
			continue;
		sorted &= !rows.n || rows.v[rows.n - 1].start <= fde.start;
		if (vec_push(&rows, (struct cfi_index_row){fde.start, off})) {
			vec_done(&rows);
			return -ERR_NOMEM;
		}
	}
	if (!sorted)
		qsort(rows.v, rows.n, sizeof *rows.v, row_compare);
	ix->rows = rows.v;
	ix->n_rows = rows.n;
	ix->rows_made = true;
	return 0;
}

static bool covers(const struct cfi_fde *fde, uint64_t vaddr)
{
	return fde->start <= vaddr && vaddr < fde->end;
}

/* The number of rows of our own table that start at vaddr or before it. */
static int rows_before(struct cfi_index *ix, uint64_t vaddr, size_t *ret)
{
	size_t low = 0, high;

	if (!ix->rows_made && rows_make(ix))
		return -ERR_NOMEM;
	for (high = ix->n_rows; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (ix->rows[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return 0;
}

static int rows_find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret)
{
	size_t n, i;

	if (rows_before(ix, vaddr, &n))
		return -ERR_NOMEM;
	for (i = 0; i < SAME_START_MAX && i < n; i++)
		if (cfi_fde_read(&ix->sec, ix->rows[n - 1 - i].off, ret) && covers(ret, vaddr))
			return 1;
	return 0;
}

/* Finds the last row of the linker's table that starts at vaddr or before it. Returns false if
 * there is none. */
static bool hdr_row_find(const struct cfi_index *ix, uint64_t vaddr, size_t *row)
{
	size_t low = 0, high = ix->n_hdr_rows;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (hdr_field(ix, mid, 0) <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	*row = low - 1;
	return low;
}

/* Returns false if the row is of no use: of entries with the same start lld lists only the first,
 * even if it is that of a function without code. */
static bool hdr_fde_usable(const struct cfi_index *ix, size_t row, struct cfi_fde *ret)
{
	return hdr_fde_read(ix, row, ret) && ret->start < ret->end;
}

bool cfi_index_listed(const struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret)
{
	size_t row;

	return ix->sec.size && hdr_row_find(ix, vaddr, &row) && hdr_fde_usable(ix, row, ret) &&
	       covers(ret, vaddr);
}

int cfi_index_find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret)
{
	size_t row;

	if (!ix->sec.size)
		return 0;
	if (!ix->n_hdr_rows)
		return rows_find(ix, vaddr, ret);
	if (!hdr_row_find(ix, vaddr, &row))
		return 0;
	if (hdr_fde_usable(ix, row, ret))
		return covers(ret, vaddr);
	/* Our own table is used for this address only: results must not depend on earlier
	 * look-ups. */
	return rows_find(ix, vaddr, ret);
}

int cfi_index_start(struct cfi_index *ix, uint64_t vaddr, uint64_t *ret)
{
	size_t n;

	if (!ix->sec.size)
		return 0;
	if (ix->n_hdr_rows) {
		if (!hdr_row_find(ix, vaddr, &n))
			return 0;
		*ret = hdr_field(ix, n, 0);
		return 1;
	}
	if (rows_before(ix, vaddr, &n))
		return -ERR_NOMEM;
	if (!n)
		return 0;
	*ret = ix->rows[n - 1].start;
	return 1;
}

/* line_orphans.c - finds line tables by walking through .debug_line (DWARF5 6.2.4, 7.4). */
#include "dwarf/line_orphans.h"

#include <stdlib.h>

#include "base/err.h"
#include "modules/modules.h"

/* Bytes of the header of version 2 from the version up to the lengths of the standard opcodes; a
 * shorter table has no program. */
enum { TABLE_BYTES_MIN = 2 + 4 + 5 };

static int offset_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sets *table to the bytes after the length. Returns false if the rest of the section is not valid.
 */
static bool next_table(struct buf *b, struct dwarf_unit *u, struct buf *table)
{
	uint64_t length;

	u->off = buf_off(b);
	u->off_size = 4;
	length = buf_u32(b);
	if (length == 0xffffffff) {
		u->off_size = 8;
		length = buf_u64(b);
	} else if (length >= 0xfffffff0) {
		return false;
	}
	*table = buf_sub(b, length);
	u->end = buf_off(b);
	return buf_ok(table);
}

static bool is_taken(const struct dwarf_offsets *taken, size_t *at, uint64_t off)
{
	while (*at < taken->n && taken->v[*at] < off)
		++*at;
	return *at < taken->n && taken->v[*at] == off;
}

int dwarf_line_orphans_find(struct dwarf_file *f, struct dwarf_offsets *taken)
{
	VEC(struct dwarf_unit) found = {0};
	struct buf b = dwarf_slice_at(&f->sec[DWARF_LINE], 0, f->swap), table;
	struct dwarf_unit u = {.addr_size = elf_image_is_64(f->img) ? 8 : 4};
	size_t at = 0;

	if (taken->n)
		qsort(taken->v, taken->n, sizeof *taken->v, offset_cmp);
	while (buf_left(&b) && next_table(&b, &u, &table)) {
		if (is_taken(taken, &at, u.off) || buf_left(&table) < TABLE_BYTES_MIN)
			continue;
		u.version = (uint8_t)buf_u16(&table);
		if (u.version < 2 || u.version > 5)
			continue;
		if (vec_push(&found, u)) {
			vec_done(&found);
			return -ERR_NOMEM;
		}
	}
	free(f->orphans);
	f->orphans = found.v;
	f->n_orphans = found.n;
	return 0;
}

int dwarf_unit_open(struct dwarf_cu *cu, const struct dwarf_file *f, size_t i)
{
	const struct dwarf_unit *u = dwarf_unit_number(f, i);

	if (i < f->n_units)
		return dwarf_cu_open(cu, f, u);
	*cu = (struct dwarf_cu){.file = f, .unit = u, .stmt_list = u->off, .has_stmt_list = true};
	return 0;
}

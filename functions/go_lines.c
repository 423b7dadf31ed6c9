/* go_lines.c - lines and inlined calls of Go programs. */
#include "functions/go_table.h"
#include "modules/modules.h"

enum {
	/* internal/abi: PCDATA_InlTreeIndex, FUNCDATA_InlTree */
	PCDATA_INLINED = 2,
	FUNCDATA_INLINED = 3,
	/* Maximum number of steps in one table by pc. Each is at least two bytes and one
	 * instruction. */
	VALUE_STEPS_MAX = 1 << 16,
};

/* The value of a table at pc; -1: none. */
static int64_t value_at(const struct go_table *t, const struct go_func *f, uint32_t table,
			uint64_t pc)
{
	uint64_t steps = VALUE_STEPS_MAX;
	int64_t value;

	return go_value_at(t, f, table, pc, &steps, &value) ? value : -1;
}

static const char *file_at(const struct go_table *t, const struct go_func *f, uint64_t pc)
{
	int64_t number = value_at(t, f, f->pcfile, pc);
	struct buf b;
	uint32_t off;

	if (number < 0 || number > UINT32_MAX || f->unit == UINT32_MAX)
		return NULL;
	b = go_buf(t, t->layout->has_parts ? t->units_off : t->files_off);
	buf_skip(&b, ((uint64_t)number + f->unit) * 4);
	off = buf_u32(&b);
	if (!buf_ok(&b) || off == UINT32_MAX)
		return NULL;
	return go_string(t, t->layout->has_parts ? t->files_off : 0, off);
}

static struct go_line line_at(const struct go_table *t, const struct go_func *f, uint64_t pc)
{
	struct go_line ret = {.file = file_at(t, f, pc)};
	int64_t line = value_at(t, f, f->pcln, pc);

	ret.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	return ret;
}

/* The vaddr of the function's tree of inlined calls; 0: none. */
static uint64_t inline_tree(const struct go_table *t, const struct go_func *f)
{
	struct buf b = go_buf(t, f->pcdata_off);
	uint32_t off;

	if (!t->funcdata_vaddr || f->n_funcdata <= FUNCDATA_INLINED ||
	    f->n_pcdata <= PCDATA_INLINED)
		return 0;
	buf_skip(&b, (uint64_t)f->n_pcdata * 4 + FUNCDATA_INLINED * 4);
	off = buf_u32(&b);
	return buf_ok(&b) && off != UINT32_MAX ? t->funcdata_vaddr + off : 0;
}

/* The name of the innermost function that was inlined at *pc; *pc becomes an instruction at the
 * call, *row is where that was read. NULL if nothing was inlined here. */
static const char *inlined_at(const struct go_table *t, const struct go_func *f, uint64_t tree,
			      uint64_t *pc, uint64_t *row)
{
	struct buf b = go_buf(t, f->pcdata_off);
	size_t left = 0;
	const uint8_t *p;
	uint32_t table, name;
	int64_t index;

	buf_skip(&b, PCDATA_INLINED * 4);
	table = buf_u32(&b);
	index = buf_ok(&b) ? value_at(t, f, table, *pc) : -1;
	if (index < 0 || index > INT16_MAX)
		return NULL;
	*row = tree + (uint64_t)index * t->layout->inlined_bytes;
	p = elf_image_at_vaddr(t->img, *row, &left);
	if (!p || left < t->layout->inlined_bytes)
		return NULL;
	b = buf_make(p + t->layout->inlined_name, 4, 0, elf_image_swapped(t->img));
	name = buf_u32(&b);
	b = buf_make(p + t->layout->inlined_parent, 4, 0, elf_image_swapped(t->img));
	*pc = f->start + buf_u32(&b);
	return go_string(t, t->names_off, name);
}

size_t go_table_chain(const struct go_table *t, uint64_t vaddr, struct go_line *chain, size_t max)
{
	uint64_t pc = vaddr, tree, row;
	struct go_line line;
	struct go_func f;
	const char *name;
	size_t n = 0;

	if (!max || !go_func_find(t, vaddr, &f))
		return 0;
	tree = inline_tree(t, &f);
	line = line_at(t, &f, pc);
	while (tree && n + 1 < max && (name = inlined_at(t, &f, tree, &pc, &row))) {
		line.name = name;
		line.row_vaddr = row;
		line.row_bytes = t->layout->inlined_bytes;
		chain[n++] = line;
		line = line_at(t, &f, pc);
	}
	line.name = go_string(t, t->names_off, f.name);
	line.start_line = f.start_line;
	chain[n++] = line;
	return n;
}

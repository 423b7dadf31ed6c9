/* code_index.c - function starts from symbol tables and calls, and the results of analyzing their
 * code. */
#include "unwind/code_index.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/unwind.h"

/* Maximum padding between functions. */
#define PADDING_MAX 64

/* Maximum number of functions without symbols or calls that may follow a known one. */
#define NEXT_MAX 64

/* Per module. No real program has more. */
#define ROWS_MAX      (8u << 20)
#define FUNCTIONS_MAX (1u << 20)

/* Maximum number of call targets that are tried as starts of the function of one place. */
#define CANDIDATES_MAX 16

/* Maximum number of functions behind such a target that are tried. */
#define FOLLOWING_MAX 8

/* Maximum number of names of one function that are examined. */
#define ALIASES_MAX 64

/* The code is divided into up to 1 << PARTS_BITS parts, and functions are sorted only in parts that
 * are looked up. */
#define PARTS_BITS 14

/* True if symbol i is a function. The symbols are read twice, which is the cost of the first code
 * without call frame information in a large program. */
static inline bool is_function(const struct code_index *ix, const struct elf_symbols *t, size_t i,
			       Elf64_Sym *ret)
{
	unsigned type;

	*ret = elf_symbols_at(t, i);
	type = ELF64_ST_TYPE(ret->st_info);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && ret->st_shndx != SHN_UNDEF &&
	       ret->st_value - ix->code.code_start < ix->code.code_bytes;
}

static size_t part_of(const struct code_index *ix, uint64_t start)
{
	return (start - ix->code.code_start) >> ix->part_shift;
}

static void count_parts(struct code_index *ix)
{
	size_t t, i, n;
	Elf64_Sym sym;

	for (t = 0; t < ix->n_tables; t++)
		for (i = 0; i < ix->tables[t].n; i++)
			if (is_function(ix, &ix->tables[t], i, &sym))
				ix->parts[part_of(ix, sym.st_value)]++;
	for (i = 0; i <= ix->n_parts; i++) {
		n = ix->parts[i];
		ix->parts[i] = (uint32_t)ix->n_starts;
		ix->n_starts += n;
	}
}

/* Fills each part from its end to its start. */
static void fill_parts(struct code_index *ix)
{
	size_t t, i, part;
	Elf64_Sym sym;

	for (part = 0; part < ix->n_parts; part++)
		ix->parts[part] = ix->parts[part + 1];
	for (t = 0; t < ix->n_tables; t++)
		for (i = 0; i < ix->tables[t].n; i++)
			if (is_function(ix, &ix->tables[t], i, &sym))
				ix->starts[--ix->parts[part_of(ix, sym.st_value)]] =
					(struct code_start){sym.st_value, (uint32_t)i, (uint32_t)t};
}

/* The range from the first byte of code to the last. */
static void code_extent(const struct elf_image *img, uint64_t *start, uint64_t *n)
{
	const struct elf_segment *segs;
	size_t n_segs = elf_image_segments(img, &segs), i;
	uint64_t end = 0;

	*start = UINT64_MAX;
	for (i = 0; i < n_segs; i++)
		if (segs[i].flags & PF_X && segs[i].filesz) {
			*start = segs[i].vaddr < *start ? segs[i].vaddr : *start;
			end = segs[i].vaddr + segs[i].filesz > end ? segs[i].vaddr + segs[i].filesz
								   : end;
		}
	*n = *start < end ? end - *start : 0;
}

/* Returns false if there is no such table. */
static bool table_add(struct code_index *ix, struct elf_image *img, const char *name)
{
	struct elf_symbols *t = &ix->tables[ix->n_tables];

	/* 32-bit processors have no code_step. */
	if (!img || !elf_image_is_64(img) || !elf_symbols_open(t, img, name) || t->swap || !t->n)
		return false;
	t->n = t->n < FUNCTIONS_MAX ? t->n : FUNCTIONS_MAX;
	ix->n_tables++;
	return true;
}

void code_index_open_bare(struct code_index *ix, const struct elf_image *img)
{
	size_t file_bytes;

	elf_image_bytes(img, &file_bytes);
	ix->steps = (uint64_t)file_bytes * CODE_STEPS_PER_BYTE;
}

void code_index_open(struct code_index *ix, const struct module *mod)
{
	/* A full .symtab contains everything that .dynsym has. */
	if (!table_add(ix, mod->debug, ".symtab") && !table_add(ix, mod->image, ".symtab")) {
		table_add(ix, mod->image, ".dynsym");
		table_add(ix, mod->mini, ".symtab");
	}
	code_extent(mod->image, &ix->code.code_start, &ix->code.code_bytes);
	code_index_open_bare(ix, mod->image);
	if (!ix->n_tables || !ix->code.code_bytes)
		return;
	while ((ix->code.code_bytes - 1) >> ix->part_shift >> PARTS_BITS)
		ix->part_shift++;
	ix->n_parts = part_of(ix, ix->code.code_start + ix->code.code_bytes - 1) + 1;
	ix->parts = calloc(ix->n_parts + 1, sizeof *ix->parts);
	ix->is_sorted = calloc(ix->n_parts, sizeof *ix->is_sorted);
	if (!ix->parts || !ix->is_sorted)
		return; /* out of memory: no function is known */
	count_parts(ix);
	ix->starts = ix->n_starts ? malloc(ix->n_starts * sizeof *ix->starts) : NULL;
	if (ix->starts)
		fill_parts(ix);
	else
		ix->n_starts = 0;
}

static int by_start(const void *a, const void *b)
{
	const struct code_start *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the part that contains the i-th function. */
static void sort_around(struct code_index *ix, size_t i)
{
	size_t part = part_of(ix, ix->starts[i].start), first = ix->parts[part];

	if (ix->is_sorted[part])
		return;
	ix->is_sorted[part] = true;
	qsort(ix->starts + first, ix->parts[part + 1] - first, sizeof *ix->starts, by_start);
}

void code_index_done(struct code_index *ix)
{
	size_t i;

	for (i = 0; i < ix->rows.n; i++)
		code_rows_done(&ix->rows.v[i]);
	vec_done(&ix->rows);
	free(ix->starts);
	free(ix->parts);
	free(ix->is_sorted);
	code_starts_done(&ix->code);
	hash_done(&ix->by_start);
}

/* ---- functions ---------------------------------------------------------------------------- */

/* The number of functions that start at vaddr or before. Afterwards the last of them and the one
 * after it are in their sorted places. */
static size_t functions_up_to(struct code_index *ix, uint64_t vaddr)
{
	uint64_t off = vaddr - ix->code.code_start;
	size_t low, high, mid;

	if (!ix->n_starts || vaddr < ix->code.code_start)
		return 0;
	off = off < ix->code.code_bytes ? off : ix->code.code_bytes - 1;
	low = ix->parts[off >> ix->part_shift];
	high = ix->parts[(off >> ix->part_shift) + 1];
	if (low < high)
		sort_around(ix, low);
	while (low < high) {
		mid = low + (high - low) / 2;
		if (ix->starts[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low)
		sort_around(ix, low - 1);
	if (low < ix->n_starts)
		sort_around(ix, low);
	return low;
}

/* The latest end of a function that starts at `start` and has no known end. */
static uint64_t open_end(struct code_index *ix, uint64_t start)
{
	size_t n = functions_up_to(ix, start);
	uint64_t end = start + OPEN_BYTES;

	return n < ix->n_starts && ix->starts[n].start < end ? ix->starts[n].start : end;
}

/* True for a part of a function that was moved elsewhere (.cold), where the frame is already set
 * up. */
static bool is_part(const struct elf_symbols *t, const Elf64_Sym *sym)
{
	const char *name = elf_symbols_name(t, sym);

	return name && strstr(name, ".cold");
}

/* The last of the first n functions; among those with the same start, the longest. */
static void function_at(struct code_index *ix, size_t n, struct code_function *ret)
{
	const struct code_start *s;
	uint64_t start = ix->starts[n - 1].start;
	unsigned aliases = 0;
	Elf64_Sym sym;

	*ret = (struct code_function){.start = start, .end = start, .is_named = true};
	while (n-- && aliases++ < ALIASES_MAX && ix->starts[n].start == start) {
		s = &ix->starts[n];
		sym = elf_symbols_at(&ix->tables[s->table], s->index);
		if (start + sym.st_size > ret->end)
			ret->end = start + sym.st_size;
		ret->is_part |= is_part(&ix->tables[s->table], &sym);
	}
	if (ret->end == start) /* no size, as in assembly */
		ret->end = open_end(ix, start);
}

bool code_index_symbol(struct code_index *ix, uint64_t vaddr, struct code_function *ret)
{
	size_t n = functions_up_to(ix, vaddr);

	*ret = (struct code_function){0};
	if (!n)
		return false;
	function_at(ix, n, ret);
	if (vaddr < ret->end)
		return true;
	ret->low = ret->end;
	if (vaddr - ret->end >= OPEN_BYTES || ret->is_part)
		*ret = (struct code_function){.low = ret->end};
	return false;
}

void code_index_called(struct code_index *ix, uint64_t vaddr, uint64_t low,
		       struct code_function *ret)
{
	ret->low = low > ret->low ? low : ret->low;
	if (code_starts_called(&ix->code, vaddr, ret->low, &ret->start)) {
		ret->is_named = false;
		ret->end = open_end(ix, ret->start);
	} else if (ret->end && ret->end < ret->low) {
		/* Others lie between it and vaddr. */
		*ret = (struct code_function){.low = ret->low};
	}
}

/* A place and where it is looked for. */
struct place {
	struct code_index *ix;
	const struct elf_image *img;
	const struct arch *arch;
	uint64_t vaddr;
};

/* Where the next function begins after padding, in the `size` bytes of code from `start` on, as
 * offset; `size`: nowhere. */
static uint64_t begin_in(const struct place *p, const uint8_t *code, uint64_t start, uint64_t size)
{
	const uint64_t align = BEGINS_ALIGN << (BEGINS_CLASSES - 1);
	uint64_t off;

	if (!p->arch->code_begins)
		return size;
	if (p->ix->code.begins)
		return code_starts_next(&p->ix->code, start + 1, start + size) - start;
	for (off = 1 + -(start + 1) % align; off < size; off += align)
		if (p->arch->code_begins(code + off, off))
			return off;
	return size;
}

static const struct code_rows *rows_new(const struct place *p, const struct code_function *fn)
{
	const struct code_frame entry = arch_entry_frame(p->arch);
	struct code_index *ix = p->ix;
	struct code_of of = {.origin = CODE_OF_FILE, .vaddr = fn->start};
	struct code_rows rows;
	size_t left;

	of.code = elf_image_at_vaddr(p->img, fn->start, &left);
	of.n = fn->end - fn->start < left ? fn->end - fn->start : left;
	if (of.code && !fn->is_named && of.n) {
		of.n = begin_in(p, of.code, fn->start, of.n);
		of.starts = &ix->code;
	}
	if (!of.code || ix->n_rows >= ROWS_MAX || ix->rows.n >= FUNCTIONS_MAX ||
	    code_rows_find(p->arch->code_step, &of, &entry, &ix->steps, &rows))
		return NULL;
	if (vec_push(&ix->rows, rows)) {
		code_rows_done(&rows);
		return NULL;
	}
	ix->n_rows += rows.n;
	if (hash_put(&ix->by_start, fn->start, (uint32_t)ix->rows.n - 1)) {
		code_rows_done(&rows);
		ix->rows.n--;
		return NULL;
	}
	return &ix->rows.v[ix->rows.n - 1];
}

/* The first instruction from vaddr on that is not padding. */
static uint64_t after_padding(const struct place *p, uint64_t vaddr)
{
	struct code_frame frame = {0};
	struct code_insn insn;
	size_t left, off = 0;
	const uint8_t *code = elf_image_at_vaddr(p->img, vaddr, &left);

	while (code && off < PADDING_MAX && off < left &&
	       p->arch->code_step(code + off, left - off, &frame, &insn) && insn.is_filler)
		off += insn.bytes;
	return vaddr + off;
}

/* NULL: none, or out of memory. Valid until the next call; the rows in it as long as the index. */
static const struct code_rows *rows_of(const struct place *p, const struct code_function *fn)
{
	uint32_t i = hash_get(&p->ix->by_start, fn->start);

	return i != HASH_NONE ? &p->ix->rows.v[i] : rows_new(p, fn);
}

/* ---- several starts ----------------------------------------------------------------------- */

/* A function that seems to start here, and to contain the place. */
struct candidate {
	struct code_function fn;
	struct code_rows rows;
	const struct code_frame *frame; /* at the place; NULL: the function does not contain it */
};

static struct candidate candidate_at(const struct place *p, uint64_t start)
{
	struct candidate c = {.fn = {.start = start, .end = open_end(p->ix, start)}};
	const struct code_rows *rows = rows_of(p, &c.fn);

	if (!rows || p->vaddr >= c.fn.end || (rows->next && p->vaddr - start >= rows->next))
		return c;
	c.rows = *rows;
	c.frame = code_rows_at(rows, p->vaddr - start);
	return c;
}

/* The same of the functions that follow it without padding: each begins where no path of the one
 * before leads, at a multiple as functions do. */
static struct candidate candidate_from(const struct place *p, uint64_t start)
{
	struct candidate c = candidate_at(p, start);
	const struct code_rows *rows;
	unsigned i;

	for (i = 0; i < FOLLOWING_MAX && !c.frame && start < p->vaddr; i++) {
		rows = rows_of(p, &c.fn);
		if (!rows || !rows->next || (start + rows->next) % BEGINS_ALIGN)
			return c;
		start += rows->next;
		c = candidate_at(p, start);
	}
	return c;
}

/* The frame at the place in the last function that starts after padding, to which *fn is then
 * changed; NULL: not known. */
static const struct code_frame *begun_frame(const struct place *p, struct code_function *fn)
{
	struct candidate c = {0};
	uint64_t start;

	if (!code_starts_begun(&p->ix->code, p->vaddr, fn->low, &start))
		return NULL;
	c = candidate_at(p, start);
	if (!c.frame)
		return NULL;
	*fn = c.fn;
	fn->is_sure = true;
	return c.frame;
}

/* True if the code from the row on, of the function at `start`, comes to vaddr by the return of a
 * call. */
static bool is_after_call(const struct place *p, uint64_t start, const struct code_row *row,
			  uint64_t vaddr)
{
	struct code_frame frame = row->frame;
	uint64_t at = start + row->start;
	struct code_insn in = {0};
	const uint8_t *code;
	size_t left;

	for (; at < vaddr; at += in.bytes) {
		code = elf_image_at_vaddr(p->img, at, &left);
		if (!code || !p->arch->code_step(code, left, &frame, &in))
			return false;
	}
	return at == vaddr && in.way == CODE_CALL;
}

/* True if the code of `outer` comes to the start of `inner`, or over it, with another frame than
 * that of a function's entry: then no function starts there. The return of a call does not show
 * this, because the call may not return. */
static bool contains_start(const struct place *p, const struct candidate *outer,
			   const struct candidate *inner)
{
	const struct code_frame entry = arch_entry_frame(p->arch);
	uint64_t off = inner->fn.start - outer->fn.start;
	const struct code_row *row = code_row_at(&outer->rows, off), *before;

	if (!row || code_same_caller(&row->frame, &entry))
		return false;
	before = code_row_at(&outer->rows, off - 1);
	return !before || !is_after_call(p, outer->fn.start, before, inner->fn.start);
}

/* The frame at the place by the targets of calls before it; *fn is changed to the function. Any of
 * them may be no function, since other bytes can look like a call: so all that seem to contain the
 * place must agree, but for those that are shown to be inside of another. NULL: not known. */
static const struct code_frame *called_frame(const struct place *p, struct code_function *fn)
{
	uint64_t low = fn->low, at = p->vaddr;
	struct candidate best = {0}, c;
	unsigned n;

	if (p->vaddr > OPEN_BYTES && p->vaddr - OPEN_BYTES > low)
		low = p->vaddr - OPEN_BYTES;
	for (n = 0; n < CANDIDATES_MAX && code_starts_called(&p->ix->code, at, low, &at);
	     n++, at--) {
		c = candidate_from(p, at);
		if (!c.frame)
			continue;
		if (best.frame && !code_same_caller(best.frame, c.frame) &&
		    !contains_start(p, &c, &best))
			return NULL;
		best = c;
	}
	if (best.frame)
		*fn = best.fn;
	return best.frame;
}

/* The frame at the place in *fn, or in a later function, to which *fn is then changed. */
static const struct code_frame *frame_from(const struct place *p, struct code_function *fn)
{
	const struct code_rows *rows;
	unsigned steps;
	uint64_t next;

	for (steps = 0; steps < NEXT_MAX; steps++) {
		rows = rows_of(p, fn);
		if (!rows)
			return NULL;
		if (p->vaddr < fn->end && (!rows->next || p->vaddr - fn->start < rows->next))
			return code_rows_at(rows, p->vaddr - fn->start);
		if (fn->is_named)
			next = after_padding(p, fn->end);
		else if (rows->next)
			next = fn->start + rows->next;
		else
			return NULL;
		if (next > p->vaddr)
			return NULL;
		*fn = (struct code_function){.start = next, .end = open_end(p->ix, next)};
	}
	return NULL;
}

const struct code_frame *code_index_frame(struct code_index *ix, const struct elf_image *img,
					  const struct arch *arch, struct code_function *fn,
					  uint64_t vaddr)
{
	const struct place p = {ix, img, arch, vaddr};
	const struct code_frame *f = NULL;

	fn->is_sure = fn->is_named;
	if (!fn->is_named)
		f = begun_frame(&p, fn);
	if (!fn->is_named && !f)
		f = called_frame(&p, fn);
	return f ? f : frame_from(&p, fn);
}

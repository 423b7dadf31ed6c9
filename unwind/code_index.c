/* code_index.c - function starts from symbol tables and calls, and the results of analyzing their
 * code. */
#include "unwind/code_index.h"

#include <stdlib.h>
#include <string.h>

/* Functions without a known end are analyzed up to this size. */
#define OPEN_BYTES (64u << 10)

/* Maximum padding between functions. */
#define PADDING_MAX 64

/* Maximum number of functions without symbols or calls that may follow a known one. */
#define NEXT_MAX 64

/* The code of larger modules is not scanned for calls. */
#define CALLS_BYTES_MAX (512u << 20)

/* Per module. No real program has more. */
#define ROWS_MAX      (8u << 20)
#define FUNCTIONS_MAX (1u << 20)

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
	       ret->st_value - ix->code_start < ix->code_bytes;
}

static size_t part_of(const struct code_index *ix, uint64_t start)
{
	return (start - ix->code_start) >> ix->part_shift;
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
	code_extent(mod->image, &ix->code_start, &ix->code_bytes);
	code_index_open_bare(ix, mod->image);
	if (!ix->n_tables || !ix->code_bytes)
		return;
	while ((ix->code_bytes - 1) >> ix->part_shift >> PARTS_BITS)
		ix->part_shift++;
	ix->n_parts = part_of(ix, ix->code_start + ix->code_bytes - 1) + 1;
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
	free(ix->calls);
	free(ix->begins);
	hash_done(&ix->by_start);
}

/* ---- targets of calls --------------------------------------------------------------------- */

static bool bit_at(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

static void calls_read(struct code_index *ix, const struct elf_segment *seg, const uint8_t *code,
		       size_t n, const struct arch *arch)
{
	const enum insn_set set = processor_insn_set(arch->e_machine);
	size_t off = 0;
	int64_t to;

	while (next_call(set, code, n, &off, &to)) {
		uint64_t vaddr = seg->vaddr + (uint64_t)to, i = vaddr - ix->code_start;
		bool is_inside = to >= 0 && to < (int64_t)n;

		if (i < ix->n_calls && (!is_inside || !arch->code_may_start ||
					arch->code_may_start(code + to, (size_t)to, vaddr)))
			bit_set(ix->calls, i);
	}
}

/* Offset of the first function at or after `off` that is recognized by the bytes before it; n:
 * none. `vaddr`: of the code. */
static size_t next_begin(const struct arch *arch, const uint8_t *code, size_t n, uint64_t vaddr,
			 size_t off)
{
	const unsigned align = arch->code_begins_align;

	if (!arch->code_begins)
		return n;
	off += -(vaddr + off) % align;
	while (off < n && !arch->code_begins(code + off, off))
		off += align;
	return off < n ? off : n;
}

/* Notes the functions that are recognized by the padding before them: only pointers may lead
 * there. */
static void begins_read(struct code_index *ix, const struct elf_segment *seg, const uint8_t *code,
			size_t n, const struct arch *arch)
{
	size_t off = 0;

	while ((off = next_begin(arch, code, n, seg->vaddr, off)) < n) {
		uint64_t i = seg->vaddr + off++ - ix->code_start;

		if (i < ix->n_calls) {
			bit_set(ix->calls, i);
			bit_set(ix->begins, i / arch->code_begins_align);
		}
	}
}

void code_index_add_calls(struct code_index *ix, const struct elf_image *img,
			  const struct arch *arch)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs), i, left, unread;
	const uint8_t *code;

	if (!ix->code_bytes || ix->code_bytes > CALLS_BYTES_MAX)
		return;
	elf_image_bytes(img, &unread); /* bounds the work when segments overlap */
	ix->calls = calloc((ix->code_bytes - 1) / 64 + 1, sizeof *ix->calls);
	if (arch->code_begins)
		ix->begins = calloc((ix->code_bytes - 1) / arch->code_begins_align / 64 + 1,
				    sizeof *ix->begins);
	if (!ix->calls || (arch->code_begins && !ix->begins))
		return;
	ix->n_calls = ix->code_bytes;
	for (i = 0; i < n; i++) {
		code = segs[i].flags & PF_X ? elf_image_at_vaddr(img, segs[i].vaddr, &left) : NULL;
		if (!code || left > unread)
			continue;
		calls_read(ix, &segs[i], code, left, arch);
		begins_read(ix, &segs[i], code, left, arch);
		unread -= left;
	}
}

/* Finds the last call target in [low, vaddr]. Returns false if there is none near vaddr. */
static bool called_before(const struct code_index *ix, uint64_t vaddr, uint64_t low, uint64_t *ret)
{
	uint64_t i = vaddr - ix->code_start, n;

	if (i >= ix->n_calls)
		return false;
	for (n = 0; n < OPEN_BYTES && n <= i && vaddr - n >= low; n++)
		if (bit_at(ix->calls, i - n)) {
			*ret = vaddr - n;
			return true;
		}
	return false;
}

/* Finds the last function after padding that starts in [low, vaddr]. Returns false if there is none
 * near vaddr. */
static bool begin_before(const struct code_index *ix, unsigned align, uint64_t vaddr, uint64_t low,
			 uint64_t *ret)
{
	uint64_t at = vaddr - vaddr % align, end = at < OPEN_BYTES ? 0 : at - OPEN_BYTES;

	if (!ix->begins || vaddr - ix->code_start >= ix->n_calls)
		return false;
	end = end < low ? low : end;
	end = end < ix->code_start ? ix->code_start : end;
	for (; at >= end && at; at -= align)
		if (bit_at(ix->begins, (at - ix->code_start) / align)) {
			*ret = at;
			return true;
		}
	return false;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* The number of functions that start at vaddr or before. Afterwards the last of them and the one
 * after it are in their sorted places. */
static size_t functions_up_to(struct code_index *ix, uint64_t vaddr)
{
	uint64_t off = vaddr - ix->code_start;
	size_t low, high, mid;

	if (!ix->n_starts || vaddr < ix->code_start)
		return 0;
	off = off < ix->code_bytes ? off : ix->code_bytes - 1;
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

bool code_index_function(struct code_index *ix, uint64_t vaddr, struct code_function *ret)
{
	size_t n = functions_up_to(ix, vaddr);
	uint64_t end = 0;

	*ret = (struct code_function){0};
	if (n) {
		function_at(ix, n, ret);
		end = ret->end;
		if (vaddr < end)
			return !ret->is_part;
		if (vaddr - end >= OPEN_BYTES || ret->is_part)
			*ret = (struct code_function){0};
	}
	if (called_before(ix, vaddr, end, &ret->start)) {
		ret->is_named = false;
		ret->end = open_end(ix, ret->start);
	}
	return ret->end;
}

static const struct code_rows *rows_new(struct code_index *ix, const struct elf_image *img,
					const struct arch *arch, const struct code_function *fn)
{
	const struct code_frame entry = arch_entry_frame(arch);
	uint64_t size = fn->end - fn->start;
	struct code_rows rows;
	const uint8_t *code;
	size_t left;

	code = elf_image_at_vaddr(img, fn->start, &left);
	size = size < left ? size : left;
	if (code && !fn->is_named && size)
		size = next_begin(arch, code, size, fn->start, 1);
	if (!code || ix->n_rows >= ROWS_MAX || ix->rows.n >= FUNCTIONS_MAX ||
	    code_rows_find(arch->code_step, code, size, &entry, CODE_OF_FILE, &ix->steps, &rows))
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
static uint64_t after_padding(const struct elf_image *img, const struct arch *arch, uint64_t vaddr)
{
	struct code_frame frame = {0};
	struct code_insn insn;
	size_t left, off = 0;
	const uint8_t *code = elf_image_at_vaddr(img, vaddr, &left);

	while (code && off < PADDING_MAX && off < left &&
	       arch->code_step(code + off, left - off, &frame, &insn) && insn.is_filler)
		off += insn.bytes;
	return vaddr + off;
}

static const struct code_rows *rows_of(struct code_index *ix, const struct elf_image *img,
				       const struct arch *arch, const struct code_function *fn)
{
	uint32_t i = hash_get(&ix->by_start, fn->start);

	return i != HASH_NONE ? &ix->rows.v[i] : rows_new(ix, img, arch, fn);
}

/* The frame at vaddr in the last function that starts after padding, to which *fn is then changed;
 * NULL: not known. Call targets are less certain: a nearer one may be no function, because other
 * bytes can look like a call. No function with a symbol is taken beyond its end. */
static const struct code_frame *begun_frame(struct code_index *ix, const struct elf_image *img,
					    const struct arch *arch, struct code_function *fn,
					    uint64_t vaddr)
{
	struct code_function begun = {.is_sure = true}, named = {0};
	const struct code_frame *f = NULL;
	const struct code_rows *rows;
	size_t n;

	if (fn->is_named || !arch->code_begins)
		return NULL;
	n = functions_up_to(ix, vaddr);
	if (n)
		function_at(ix, n, &named);
	if (!begin_before(ix, arch->code_begins_align, vaddr, named.end, &begun.start))
		return NULL;
	begun.end = open_end(ix, begun.start);
	rows = rows_of(ix, img, arch, &begun);
	if (rows && vaddr < begun.end && (!rows->next || vaddr - begun.start < rows->next))
		f = code_rows_at(rows, vaddr - begun.start);
	if (f)
		*fn = begun;
	return f;
}

const struct code_frame *code_index_frame(struct code_index *ix, const struct elf_image *img,
					  const struct arch *arch, struct code_function *fn,
					  uint64_t vaddr)
{
	const struct code_frame *begun = begun_frame(ix, img, arch, fn, vaddr);
	const struct code_rows *rows;
	unsigned steps;
	uint64_t next;

	if (begun)
		return begun;
	fn->is_sure = fn->is_named;
	for (steps = 0; steps < NEXT_MAX; steps++) {
		rows = rows_of(ix, img, arch, fn);
		if (!rows)
			return NULL;
		if (vaddr < fn->end && (!rows->next || vaddr - fn->start < rows->next))
			return code_rows_at(rows, vaddr - fn->start);
		if (fn->is_named)
			next = after_padding(img, arch, fn->end);
		else if (rows->next)
			next = fn->start + rows->next;
		else
			return NULL;
		if (next > vaddr)
			return NULL;
		*fn = (struct code_function){.start = next};
		fn->end = open_end(ix, fn->start);
	}
	return NULL;
}

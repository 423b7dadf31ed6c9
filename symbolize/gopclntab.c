/* gopclntab.c - the header, the functions, and the tables of values by pc. */
#include "symbolize/gopclntab.h"

#include <string.h>

#include "base/buf.h"

/* What differs between versions of Go. Offsets in bytes. */
struct go_version {
	uint32_t magic;
	bool has_parts;		/* the header says where the parts are; files by compilation unit */
	bool has_text_start;	/* in the header */
	bool short_funcs;	/* functions by 32-bit offset from text start, not by address */
	bool has_start_line;	/* in struct _func */
	uint8_t inlined_bytes;	/* size of struct inlinedCall; 0: inlined calls are not read */
	uint8_t inlined_name;	/* in it: name of the called function */
	uint8_t inlined_parent; /* in it: an instruction at the call, from the function's start */
	uint8_t moduledata_word; /* index of struct moduledata.gofunc */
};

static const struct go_version versions[] = {
	{.magic = 0xfffffffb},			  /* 1.2 */
	{.magic = 0xfffffffa, .has_parts = true}, /* 1.16 */
	{.magic = 0xfffffff0,			  /* 1.18 */
	 .has_parts = true,
	 .has_text_start = true,
	 .short_funcs = true,
	 .inlined_bytes = 20,
	 .inlined_name = 12,
	 .inlined_parent = 16,
	 .moduledata_word = 38},
	{.magic = 0xfffffff1, /* 1.20 */
	 .has_parts = true,
	 .has_text_start = true,
	 .short_funcs = true,
	 .has_start_line = true,
	 .inlined_bytes = 16,
	 .inlined_name = 4,
	 .inlined_parent = 8,
	 .moduledata_word = 40},
};

enum {
	/* internal/abi: PCDATA_InlTreeIndex, FUNCDATA_InlTree */
	PCDATA_INLINED = 2,
	FUNCDATA_INLINED = 3,
	MODULEDATA_TYPES = 37, /* index of struct moduledata.types since Go 1.20 */
	/* Steps of one table by pc: at least two bytes and one instruction each. */
	STEPS_MAX = 1 << 16,
};

/* struct _func of runtime2.go. */
struct go_func {
	uint64_t start;
	uint32_t name, pcfile, pcln, n_pcdata, unit, start_line;
	uint8_t n_funcdata;
	uint64_t pcdata_off; /* the arrays behind the struct */
};

static struct buf table_at(const struct gopclntab *g, uint64_t off)
{
	struct buf b = buf_make(g->data, g->size, 0, elf_image_swapped(g->img));

	buf_seek(&b, off);
	return b;
}

static uint64_t word(const struct gopclntab *g, struct buf *b)
{
	return g->ptr_bytes == 4 ? buf_u32(b) : buf_u64(b);
}

static const char *string_at(const struct gopclntab *g, uint64_t part, uint64_t off)
{
	struct buf b = table_at(g, part);

	buf_skip(&b, off);
	return buf_cstr(&b);
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool read_header(struct gopclntab *g)
{
	struct buf b = table_at(g, 0);
	uint32_t magic = buf_u32(&b);
	size_t i;

	for (i = 0; i < sizeof versions / sizeof *versions; i++)
		if (versions[i].magic == magic)
			g->version = &versions[i];
	if (!g->version || buf_u16(&b))
		return false;
	g->quantum = buf_u8(&b);
	g->ptr_bytes = buf_u8(&b);
	if (g->ptr_bytes != (elf_image_is_64(g->img) ? 8 : 4))
		return false;
	g->n_funcs = word(g, &b);
	if (!g->version->has_parts) {
		g->text_vaddr = 0;
		g->funcs_off = buf_off(&b);
		if (g->n_funcs > g->size / (2 * g->ptr_bytes))
			return false;
		/* behind the functions, whose last entry is only an address: the list of files */
		buf_skip(&b, g->n_funcs * 2 * g->ptr_bytes + g->ptr_bytes);
		g->files_off = buf_u32(&b);
		return buf_ok(&b);
	}
	word(g, &b); /* number of files */
	if (g->version->has_text_start)
		word(g, &b);
	else
		g->text_vaddr = 0;
	g->names_off = word(g, &b);
	g->units_off = word(g, &b);
	g->files_off = word(g, &b);
	g->pcs_off = word(g, &b);
	g->funcs_off = word(g, &b);
	return buf_ok(&b) && g->n_funcs <= g->size / 8;
}

/* moduledata.gofunc. Three words were added before it in Go 1.27: what followed moduledata.types
 * was their end, and is their length now. */
static uint64_t funcdata_vaddr(const struct gopclntab *g, uint64_t moduledata)
{
	unsigned at = g->version->moduledata_word;
	uint64_t types;

	if (!at || !moduledata || g->ptr_bytes != 8)
		return 0;
	if (g->version->has_start_line) {
		types = elf_image_pointer(g->img, moduledata + 8 * MODULEDATA_TYPES);
		if (elf_image_pointer(g->img, moduledata + 8 * (MODULEDATA_TYPES + 1)) < types)
			at += 3;
	}
	return elf_image_pointer(g->img, moduledata + 8 * (uint64_t)at);
}

bool gopclntab_open(struct gopclntab *g, struct elf_image *img)
{
	struct elf_go_table t;

	if (!elf_image_go_table(img, &t))
		return false;
	*g = (struct gopclntab){
		.img = img, .data = t.data, .size = t.size, .text_vaddr = t.text_vaddr};
	if (!read_header(g))
		return false;
	g->funcdata_vaddr = funcdata_vaddr(g, t.moduledata_vaddr);
	return true;
}

/* ---- functions --------------------------------------------------------------------------- */

static unsigned field_bytes(const struct gopclntab *g)
{
	return g->version->short_funcs ? 4 : g->ptr_bytes;
}

/* Start of function i, and where its struct is; function n_funcs is the end of the last. */
static uint64_t func_start(const struct gopclntab *g, uint64_t i, uint64_t *info_off)
{
	unsigned n = field_bytes(g);
	struct buf b = table_at(g, g->funcs_off);
	uint64_t start;

	buf_skip(&b, i * 2 * n);
	start = n == 4 ? buf_u32(&b) : buf_u64(&b);
	*info_off = n == 4 ? buf_u32(&b) : buf_u64(&b);
	/* since 1.16 from the start of the function table */
	if (g->version->has_parts)
		*info_off += g->funcs_off;
	return g->text_vaddr + start;
}

static bool read_func(const struct gopclntab *g, uint64_t info_off, struct go_func *f)
{
	struct buf b = table_at(g, info_off);

	buf_skip(&b, field_bytes(g)); /* entry */
	f->name = buf_u32(&b);
	buf_skip(&b, 12); /* args, deferreturn, pcsp */
	f->pcfile = buf_u32(&b);
	f->pcln = buf_u32(&b);
	f->n_pcdata = buf_u32(&b);
	f->unit = g->version->has_parts ? buf_u32(&b) : 0;
	f->start_line = g->version->has_start_line ? buf_u32(&b) : 0;
	buf_skip(&b, 3); /* funcID, flag, padding */
	f->n_funcdata = buf_u8(&b);
	f->pcdata_off = buf_off(&b);
	return buf_ok(&b);
}

static bool find_func(const struct gopclntab *g, uint64_t vaddr, struct go_func *f)
{
	uint64_t lo = 0, hi = g->n_funcs, info_off;

	if (!hi || vaddr < func_start(g, 0, &info_off) || vaddr >= func_start(g, hi, &info_off))
		return false;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (func_start(g, mid, &info_off) <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	f->start = func_start(g, lo, &info_off);
	return f->start <= vaddr && read_func(g, info_off, f);
}

int gopclntab_functions(const struct gopclntab *g, struct functab *tab)
{
	uint64_t i, info_off, next_off, start, next;

	start = func_start(g, 0, &info_off);
	for (i = 0; i < g->n_funcs; i++, start = next, info_off = next_off) {
		struct func f = {.start = start, .flags = FUNC_GLOBAL};
		struct go_func info;

		f.end = next = func_start(g, i + 1, &next_off);
		if (!read_func(g, info_off, &info))
			continue;
		f.name = string_at(g, g->names_off, info.name);
		if (f.name && *f.name && functab_add(tab, &f))
			return -1;
	}
	return 0;
}

/* ---- lines and inlined calls ------------------------------------------------------------- */

/* The value at pc of a table of (zigzag value delta, pc delta) that begins with -1 at the
 * function's start. -1 when there is none. */
static int64_t value_at(const struct gopclntab *g, const struct go_func *f, uint32_t table,
			uint64_t pc)
{
	struct buf b = table_at(g, g->pcs_off);
	uint64_t at = f->start, steps;
	int64_t value = -1;

	if (!table)
		return -1;
	buf_skip(&b, table);
	for (steps = 0; steps < STEPS_MAX && buf_ok(&b); steps++) {
		uint64_t delta = buf_uleb(&b);

		if (!delta && steps)
			return -1; /* the end */
		value += (int64_t)(delta >> 1) ^ -(int64_t)(delta & 1);
		at += buf_uleb(&b) * g->quantum;
		if (pc < at)
			return buf_ok(&b) ? value : -1;
	}
	return -1;
}

static const char *file_at(const struct gopclntab *g, const struct go_func *f, uint64_t pc)
{
	int64_t number = value_at(g, f, f->pcfile, pc);
	struct buf b;
	uint32_t off;

	if (number < 0 || number > UINT32_MAX || f->unit == UINT32_MAX)
		return NULL;
	b = table_at(g, g->version->has_parts ? g->units_off : g->files_off);
	buf_skip(&b, ((uint64_t)number + f->unit) * 4);
	off = buf_u32(&b);
	if (!buf_ok(&b) || off == UINT32_MAX)
		return NULL;
	return string_at(g, g->version->has_parts ? g->files_off : 0, off);
}

static struct dwarf_frame frame_at(const struct gopclntab *g, const struct go_func *f, uint64_t pc)
{
	struct dwarf_frame frame = {.file = file_at(g, f, pc)};
	int64_t line = value_at(g, f, f->pcln, pc);

	frame.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	return frame;
}

/* The vaddr of the function's tree of inlined calls; 0: none. */
static uint64_t inline_tree(const struct gopclntab *g, const struct go_func *f)
{
	struct buf b = table_at(g, f->pcdata_off);
	uint32_t off;

	if (!g->funcdata_vaddr || f->n_funcdata <= FUNCDATA_INLINED ||
	    f->n_pcdata <= PCDATA_INLINED)
		return 0;
	buf_skip(&b, (uint64_t)f->n_pcdata * 4 + FUNCDATA_INLINED * 4);
	off = buf_u32(&b);
	return buf_ok(&b) && off != UINT32_MAX ? g->funcdata_vaddr + off : 0;
}

/* The innermost call that was inlined at *pc: its function's name; *pc becomes an instruction at
 * the call. NULL when nothing was inlined here. */
static const char *inlined_at(const struct gopclntab *g, const struct go_func *f, uint64_t tree,
			      uint64_t *pc)
{
	struct buf b = table_at(g, f->pcdata_off);
	size_t left = 0;
	const uint8_t *p;
	uint32_t table, name;
	int64_t index;

	buf_skip(&b, PCDATA_INLINED * 4);
	table = buf_u32(&b);
	index = buf_ok(&b) ? value_at(g, f, table, *pc) : -1;
	if (index < 0 || index > INT16_MAX)
		return NULL;
	p = elf_image_at_vaddr(g->img, tree + (uint64_t)index * g->version->inlined_bytes, &left);
	if (!p || left < g->version->inlined_bytes)
		return NULL;
	b = buf_make(p + g->version->inlined_name, 4, 0, elf_image_swapped(g->img));
	name = buf_u32(&b);
	b = buf_make(p + g->version->inlined_parent, 4, 0, elf_image_swapped(g->img));
	*pc = f->start + buf_u32(&b);
	return string_at(g, g->names_off, name);
}

size_t gopclntab_chain(const struct gopclntab *g, uint64_t vaddr, struct dwarf_frame *frames,
		       size_t max)
{
	uint64_t pc = vaddr, tree;
	struct dwarf_frame frame;
	struct go_func f;
	const char *name;
	size_t n = 0;

	if (!max || !find_func(g, vaddr, &f))
		return 0;
	tree = inline_tree(g, &f);
	frame = frame_at(g, &f, pc);
	while (tree && n + 1 < max && (name = inlined_at(g, &f, tree, &pc))) {
		frame.name = name;
		frames[n++] = frame;
		frame = frame_at(g, &f, pc);
	}
	frame.name = string_at(g, g->names_off, f.name);
	frame.decl_line = f.start_line;
	frames[n++] = frame;
	return n;
}

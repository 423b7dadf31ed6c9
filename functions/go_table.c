/* go_table.c - the header of Go's table, its functions and their frames, Go 1.2 and later. */
#include "functions/go_table.h"

#include <string.h>

#include "modules/modules.h"

static const struct go_layout layouts[] = {
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
	MODULEDATA_TYPES = 37, /* index of struct moduledata.types since Go 1.20 */
	NAME_BYTES_MAX = 64,   /* longer than all names in special_names */
};

/* runtime/symtab.go funcFlag. */
enum { FLAG_TOP_FRAME = 1, FLAG_SP_WRITE = 2 };

/* Kinds by name: for versions without flags, and where the flags do not tell. The flags call a
 * signal handler an outermost frame, too, but the kernel's frame follows. */
static const struct {
	const char *name;
	enum go_frame kind;
} special_names[] = {
	{"runtime.goexit", GO_FRAME_ROOT},	  {"runtime.mstart", GO_FRAME_THREAD},
	{"runtime.rt0_go", GO_FRAME_ROOT},	  {"runtime.mcall", GO_FRAME_SWITCH},
	{"runtime.systemstack", GO_FRAME_SWITCH}, {"runtime.morestack", GO_FRAME_SWITCH},
	{"runtime.asmcgocall", GO_FRAME_SWITCH},  {"runtime.cgocallback", GO_FRAME_CALLBACK},
	{"runtime.sigtramp", GO_FRAME_SIZE},
};

struct buf go_buf(const struct go_table *t, uint64_t off)
{
	struct buf b = buf_make(t->data, t->size, 0, elf_image_swapped(t->img));

	buf_seek(&b, off);
	return b;
}

static uint64_t word(const struct go_table *t, struct buf *b)
{
	return t->ptr_bytes == 4 ? buf_u32(b) : buf_u64(b);
}

const char *go_string(const struct go_table *t, uint64_t part, uint64_t off)
{
	struct buf b = go_buf(t, part);

	buf_skip(&b, off);
	return buf_cstr(&b);
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool read_header(struct go_table *t)
{
	struct buf b = go_buf(t, 0);
	uint32_t magic = buf_u32(&b);
	size_t i;

	for (i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].magic == magic)
			t->layout = &layouts[i];
	if (!t->layout || buf_u16(&b))
		return false;
	t->quantum = buf_u8(&b);
	t->ptr_bytes = buf_u8(&b);
	if (t->ptr_bytes != (elf_image_is_64(t->img) ? 8 : 4))
		return false;
	t->n_funcs = word(t, &b);
	if (!t->layout->has_parts) {
		t->text_vaddr = 0;
		t->funcs_off = buf_off(&b);
		if (t->n_funcs > t->size / (2 * t->ptr_bytes))
			return false;
		/* after the functions, whose last entry is only an address: offset of the list of
		 * files */
		buf_skip(&b, t->n_funcs * 2 * t->ptr_bytes + t->ptr_bytes);
		t->files_off = buf_u32(&b);
		return buf_ok(&b);
	}
	word(t, &b); /* number of files */
	if (t->layout->has_text_start)
		word(t, &b);
	else
		t->text_vaddr = 0;
	t->names_off = word(t, &b);
	t->units_off = word(t, &b);
	t->files_off = word(t, &b);
	t->pcs_off = word(t, &b);
	t->funcs_off = word(t, &b);
	return buf_ok(&b) && t->n_funcs <= t->size / 8;
}

/* Reads moduledata.gofunc. Go 1.27 added three words before it, and replaced the end of types,
 * which followed moduledata.types, by their length. */
static uint64_t funcdata_vaddr(const struct go_table *t, uint64_t moduledata)
{
	unsigned at = t->layout->moduledata_word;
	uint64_t types;

	if (!at || !moduledata || t->ptr_bytes != 8)
		return 0;
	if (t->layout->has_start_line) {
		types = go_pointer(t->img, moduledata + 8 * MODULEDATA_TYPES);
		if (go_pointer(t->img, moduledata + 8 * (MODULEDATA_TYPES + 1)) < types)
			at += 3;
	}
	return go_pointer(t->img, moduledata + 8 * (uint64_t)at);
}

bool go_table_open(struct go_table *t, struct elf_image *img)
{
	struct go_place place;

	*t = (struct go_table){0};
	if (!go_place_find(img, &place))
		return false;
	*t = (struct go_table){
		.img = img, .data = place.data, .size = place.size, .text_vaddr = place.text_vaddr};
	if (!read_header(t)) {
		*t = (struct go_table){0};
		return false;
	}
	t->funcdata_vaddr = funcdata_vaddr(t, place.moduledata_vaddr);
	return true;
}

/* ---- functions --------------------------------------------------------------------------- */

static unsigned field_bytes(const struct go_table *t)
{
	return t->layout->short_funcs ? 4 : t->ptr_bytes;
}

/* The start of function i, and the offset of its struct. Function n_funcs is the end of the last
 * one. */
static uint64_t func_start(const struct go_table *t, uint64_t i, uint64_t *info_off)
{
	unsigned n = field_bytes(t);
	struct buf b = go_buf(t, t->funcs_off);
	uint64_t start;

	buf_skip(&b, i * 2 * n);
	start = n == 4 ? buf_u32(&b) : buf_u64(&b);
	*info_off = n == 4 ? buf_u32(&b) : buf_u64(&b);
	/* since Go 1.16 relative to the function table */
	if (t->layout->has_parts)
		*info_off += t->funcs_off;
	return t->text_vaddr + start;
}

static bool read_func(const struct go_table *t, uint64_t info_off, struct go_func *f)
{
	struct buf b = go_buf(t, info_off);

	buf_skip(&b, field_bytes(t)); /* entry */
	f->name = buf_u32(&b);
	buf_skip(&b, 8); /* args, deferreturn */
	f->pcsp = buf_u32(&b);
	f->pcfile = buf_u32(&b);
	f->pcln = buf_u32(&b);
	f->n_pcdata = buf_u32(&b);
	f->unit = t->layout->has_parts ? buf_u32(&b) : 0;
	f->start_line = t->layout->has_start_line ? buf_u32(&b) : 0;
	buf_skip(&b, 1); /* funcID */
	f->flags = buf_u8(&b);
	buf_skip(&b, 1); /* padding */
	f->n_funcdata = buf_u8(&b);
	if (!t->layout->has_parts)
		f->flags = 0; /* Go 1.2 to 1.15 have none */
	f->pcdata_off = buf_off(&b);
	return buf_ok(&b);
}

/* Finds the index of the function that contains vaddr. */
static bool func_index(const struct go_table *t, uint64_t vaddr, uint64_t *ret)
{
	uint64_t lo = 0, hi = t->n_funcs, info_off;

	if (!hi || vaddr < func_start(t, 0, &info_off) || vaddr >= func_start(t, hi, &info_off))
		return false;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (func_start(t, mid, &info_off) <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	*ret = lo;
	return true;
}

bool go_func_find(const struct go_table *t, uint64_t vaddr, struct go_func *f)
{
	uint64_t i, info_off;

	if (!func_index(t, vaddr, &i))
		return false;
	f->start = func_start(t, i, &info_off);
	return f->start <= vaddr && read_func(t, info_off, f);
}

int go_table_functions(const struct go_table *t, struct functab *tab)
{
	uint64_t i, info_off, next_off, start, next;

	start = func_start(t, 0, &info_off);
	for (i = 0; i < t->n_funcs; i++, start = next, info_off = next_off) {
		struct func f = {.start = start, .flags = FUNC_GLOBAL};
		struct go_func info;

		f.end = next = func_start(t, i + 1, &next_off);
		if (!read_func(t, info_off, &info))
			continue;
		f.name = go_string(t, t->names_off, info.name);
		if (f.name && *f.name && functab_add(tab, &f))
			return -1;
	}
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------ */

bool go_value_at(const struct go_table *t, const struct go_func *f, uint32_t table, uint64_t pc,
		 uint64_t *steps, int64_t *ret)
{
	struct buf b = go_buf(t, t->pcs_off);
	uint64_t at = f->start, delta, value = UINT64_MAX; /* wraps; tables begin at -1 */
	bool first = true;

	if (!table)
		return false;
	buf_skip(&b, table);
	for (; *steps && buf_ok(&b); --*steps, first = false) {
		delta = buf_uleb(&b);
		if (!delta && !first)
			return false; /* the end */
		value += delta >> 1 ^ -(delta & 1);
		at += buf_uleb(&b) * t->quantum;
		*ret = (int64_t)value;
		if (pc < at)
			return buf_ok(&b);
	}
	return false;
}

/* The kind of a function; GO_FRAME_SIZE for ordinary ones. */
static enum go_frame special_kind(const struct go_table *t, const struct go_func *f)
{
	struct buf b = go_buf(t, t->names_off);
	const char *name;
	size_t i;

	buf_skip(&b, f->name);
	if (buf_left(&b) > NAME_BYTES_MAX)
		b.end = b.p + NAME_BYTES_MAX;
	name = buf_cstr(&b);
	for (i = 0; name && i < sizeof special_names / sizeof *special_names; i++)
		if (!strcmp(name, special_names[i].name))
			return special_names[i].kind;
	if (f->flags & FLAG_TOP_FRAME)
		return GO_FRAME_ROOT;
	return f->flags & FLAG_SP_WRITE ? GO_FRAME_SWITCH : GO_FRAME_SIZE;
}

enum go_frame go_table_find(const struct go_table *t, uint64_t vaddr, uint64_t *steps,
			    uint64_t *size)
{
	uint64_t all = UINT64_MAX;
	enum go_frame kind;
	struct go_func f;
	int64_t value;

	if (!t->data || !go_func_find(t, vaddr, &f))
		return GO_FRAME_NONE;
	kind = special_kind(t, &f);
	if (kind != GO_FRAME_SIZE && kind != GO_FRAME_CALLBACK)
		return kind;
	if (!go_value_at(t, &f, f.pcsp, vaddr, steps ? steps : &all, &value) || value < 0)
		return GO_FRAME_NONE;
	*size = (uint64_t)value;
	return kind;
}

bool go_table_bounds(const struct go_table *t, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	uint64_t i, info_off;

	if (!t->data || !func_index(t, vaddr, &i))
		return false;
	*start = func_start(t, i, &info_off);
	*end = func_start(t, i + 1, &info_off);
	return *start <= vaddr && vaddr < *end;
}

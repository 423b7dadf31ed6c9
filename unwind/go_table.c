/* go_table.c - function look-up and the frame size table of .gopclntab, Go 1.2 and later. */
#include "unwind/go_table.h"

#include <string.h>

#include "base/buf.h"

/* Longer than the names that matter. */
#define NAME_BYTES_MAX 64

/* What changed between Go versions. Offsets in bytes; those in struct _func are after its entry
 * field. */
struct go_layout {
	uint32_t magic;
	bool has_text_start;
	bool has_offsets; /* the header says where the parts are */
	bool short_funcs; /* functions by 32-bit offset from text_start, not by address */
	uint8_t flags_at; /* in struct _func; 0: none */
};

static const struct go_layout layouts[] = {
	{.magic = 0xfffffffb},					    /* 1.2 */
	{.magic = 0xfffffffa, .has_offsets = true, .flags_at = 33}, /* 1.16 */
	{.magic = 0xfffffff0,					    /* 1.18 */
	 .has_offsets = true,
	 .has_text_start = true,
	 .short_funcs = true,
	 .flags_at = 33},
	{.magic = 0xfffffff1, /* 1.20 */
	 .has_offsets = true,
	 .has_text_start = true,
	 .short_funcs = true,
	 .flags_at = 37},
};

/* runtime/symtab.go funcFlag. */
enum { FLAG_TOP_FRAME = 1, FLAG_SP_WRITE = 2 };

/* The same for versions that have no flags. */
static const struct {
	const char *name;
	enum go_frame kind;
} special_names[] = {
	{"runtime.goexit", GO_FRAME_ROOT},	  {"runtime.mstart", GO_FRAME_ROOT},
	{"runtime.rt0_go", GO_FRAME_ROOT},	  {"runtime.mcall", GO_FRAME_SWITCH},
	{"runtime.systemstack", GO_FRAME_SWITCH}, {"runtime.morestack", GO_FRAME_SWITCH},
	{"runtime.asmcgocall", GO_FRAME_SWITCH},  {"runtime.cgocallback", GO_FRAME_SWITCH},
};

static struct buf table_buf(const struct go_table *t, uint64_t off)
{
	struct buf b = buf_make(t->data, t->size, 0, false);

	buf_seek(&b, off);
	return b;
}

static uint64_t word(struct buf *b, unsigned bytes)
{
	return bytes == 4 ? buf_u32(b) : buf_u64(b);
}

static bool header_read(struct go_table *t, const struct elf_image *img)
{
	struct buf b = table_buf(t, 0);
	uint32_t magic = buf_u32(&b);
	size_t i;

	for (i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].magic == magic)
			t->layout = &layouts[i];
	if (!t->layout || buf_u16(&b) != 0)
		return false;
	t->quantum = buf_u8(&b);
	t->ptr_bytes = buf_u8(&b);
	if (t->ptr_bytes != (elf_image_is_64(img) ? 8 : 4))
		return false;
	t->n_funcs = word(&b, t->ptr_bytes);
	if (!t->layout->has_offsets) {
		t->text_vaddr = 0;
		t->funcs_off = buf_off(&b);
	} else {
		word(&b, t->ptr_bytes); /* number of files */
		if (t->layout->has_text_start)
			word(&b, t->ptr_bytes);
		else
			t->text_vaddr = 0;
		t->names_off = word(&b, t->ptr_bytes);
		word(&b, t->ptr_bytes); /* compilation units */
		word(&b, t->ptr_bytes); /* files */
		t->pcs_off = word(&b, t->ptr_bytes);
		t->infos_off = t->funcs_off = word(&b, t->ptr_bytes);
	}
	return buf_ok(&b);
}

void go_table_open(struct go_table *t, struct elf_image *img)
{
	struct elf_go_table found;

	*t = (struct go_table){0};
	if (elf_image_swapped(img) || !elf_image_go_table(img, &found))
		return;
	*t = (struct go_table){
		.data = found.data, .size = found.size, .text_vaddr = found.text_vaddr};
	if (!header_read(t, img))
		t->data = NULL;
}

static unsigned field_bytes(const struct go_table *t)
{
	return t->layout->short_funcs ? 4 : t->ptr_bytes;
}

/* Start of function i; one more than n_funcs is the end of the last. */
static uint64_t func_start(const struct go_table *t, uint64_t i)
{
	struct buf b = table_buf(t, t->funcs_off + i * 2 * field_bytes(t));

	return t->text_vaddr + word(&b, field_bytes(t));
}

/* The function that contains vaddr. */
static bool func_find(const struct go_table *t, uint64_t vaddr, uint64_t *start, uint64_t *info_off)
{
	uint64_t low = 0, high = t->n_funcs, room = t->size / (2 * field_bytes(t));
	struct buf b;

	if (high > room || vaddr < func_start(t, 0) || vaddr >= func_start(t, high))
		return false;
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (func_start(t, mid) <= vaddr)
			low = mid;
		else
			high = mid;
	}
	b = table_buf(t, t->funcs_off + low * 2 * field_bytes(t));
	*start = t->text_vaddr + word(&b, field_bytes(t));
	*info_off = t->infos_off + word(&b, field_bytes(t));
	return buf_ok(&b) && *start <= vaddr;
}

/* What is special about a function: ROOT, SWITCH, or SIZE for nothing. */
static enum go_frame special_kind(const struct go_table *t, struct buf after_entry,
				  uint32_t name_off)
{
	struct buf b = table_buf(t, t->names_off + name_off);
	const char *name;
	uint8_t flags = 0;
	size_t i;

	if (buf_left(&b) > NAME_BYTES_MAX)
		b.end = b.p + NAME_BYTES_MAX;
	name = buf_cstr(&b);
	if (t->layout->flags_at) {
		buf_skip(&after_entry, t->layout->flags_at);
		flags = buf_u8(&after_entry);
	}
	if (flags & FLAG_TOP_FRAME)
		return GO_FRAME_ROOT;
	for (i = 0; name && i < sizeof special_names / sizeof *special_names; i++)
		if (!strcmp(name, special_names[i].name))
			return special_names[i].kind;
	return flags & FLAG_SP_WRITE ? GO_FRAME_SWITCH : GO_FRAME_SIZE;
}

/* The value at `pc` of a table of (zigzag value delta, pc delta) that begins with -1 at `start`. */
static bool value_at(const struct go_table *t, uint64_t off, uint64_t start, uint64_t pc,
		     uint64_t *steps, int64_t *ret)
{
	struct buf b = table_buf(t, off);
	int64_t value = -1;
	bool first = true;
	uint64_t delta;

	for (; *steps && buf_ok(&b); --*steps, first = false) {
		delta = buf_uleb(&b);
		if (!delta && !first)
			return false; /* the end */
		value += (int64_t)(delta >> 1) ^ -(int64_t)(delta & 1);
		start += buf_uleb(&b) * t->quantum;
		if (pc < start) {
			*ret = value;
			return buf_ok(&b);
		}
	}
	return false;
}

enum go_frame go_table_find(const struct go_table *t, uint64_t vaddr, uint64_t *steps,
			    uint64_t *size)
{
	uint64_t all = UINT64_MAX;
	uint64_t start, info_off, pcsp;
	struct buf b, after_entry;
	enum go_frame kind;
	uint32_t name_off;
	int64_t value;

	if (!t->data || !func_find(t, vaddr, &start, &info_off))
		return GO_FRAME_NONE;
	b = table_buf(t, info_off);
	word(&b, field_bytes(t)); /* entry */
	after_entry = b;
	name_off = buf_u32(&b);
	buf_skip(&b, 8); /* size of arguments, deferreturn */
	pcsp = buf_u32(&b);
	if (!buf_ok(&b))
		return GO_FRAME_NONE;
	kind = special_kind(t, after_entry, name_off);
	if (kind != GO_FRAME_SIZE)
		return kind;
	if (!pcsp || !value_at(t, t->pcs_off + pcsp, start, vaddr, steps ? steps : &all, &value) ||
	    value < 0)
		return GO_FRAME_NONE;
	*size = (uint64_t)value;
	return GO_FRAME_SIZE;
}

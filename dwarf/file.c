/* file.c - loads the DWARF sections of an ELF file and scans its unit headers. */
#include "dwarf/file.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/threads.h"
#include "base/vec.h"
#include "dwarf/abbrev.h"
#include "dwarf/compile_streaming.h"
#include "dwarf/names.h"
#include "dwarf/reloc.h"
#include "dwarf/split.h"

#define X(name, section) section,
static const char *const section_names[] = {DWARF_SECTIONS(X)};
#undef X

/* ---- sections ---------------------------------------------------------------------------- */

uint64_t dwarf_stored_bytes(struct elf_image *img, const char *name)
{
	size_t i, n = elf_image_section_count(img);

	for (i = 0; i < n; i++) {
		const char *other;
		struct elf_section s;

		if (!elf_image_section_at(img, i, &other, &s) || s.type == SHT_NOBITS)
			continue;
		/* also ".zdebug_info" */
		if (!strcmp(other, name) ||
		    (!strncmp(other, ".z", 2) && !strcmp(other + 2, name + 1)))
			return s.size;
	}
	return 0;
}

enum { NAME_MAX_BYTES = 64 };

static const char *section_name(const struct dwarf_file *f, size_t i, char buf[NAME_MAX_BYTES])
{
	/* The index of a package has the name without ".dwo" (DWARF5 7.3.5.3). */
	snprintf(buf, NAME_MAX_BYTES, "%s%s", section_names[i],
		 f->is_dwo && i != DWARF_CU_INDEX ? ".dwo" : "");
	return buf;
}

static void load_section(struct dwarf_file *f, size_t i, const struct elf_watch *watch)
{
	char buf[NAME_MAX_BYTES];
	const char *name = section_name(f, i, buf);
	enum err_code why = ERR_OK;
	struct elf_section s;

	if (!elf_image_section_watched(f->img, name, watch, &s, &why) || !s.data) {
		f->no_memory[i] = why == ERR_NOMEM;
		return;
	}
	f->sec[i] = (struct dwarf_slice){s.data, s.size};
	f->sec_index[i] = s.index;
}

int dwarf_file_reload_info(struct dwarf_file *f)
{
	f->reloaded = true;
	load_section(f, DWARF_INFO, NULL);
	return f->no_memory[DWARF_INFO] ? -ERR_NOMEM : 0;
}

struct loading {
	struct dwarf_file *f;
	struct dwarf_streaming *streaming; /* NULL: no unit is compiled meanwhile */
};

/* Loads one section per item: inflating is most of the work, and sections can be inflated in
 * parallel. Items after the sections are for threads that got no section. .debug_info, the largest,
 * comes first; but last if it is compiled meanwhile, because compiling needs the others. */
static void load_item(void *arg, size_t i, unsigned worker)
{
	const struct loading *l = arg;
	struct elf_watch watch;

	(void)worker;
	if (!l->streaming) {
		load_section(l->f, i, NULL);
		return;
	}
	if (i >= DWARF_SECTION_N) {
		dwarf_streaming_work(l->streaming);
		return;
	}
	i = (i + 1) % DWARF_SECTION_N;
	watch = dwarf_streaming_watch(l->streaming);
	load_section(l->f, i, i == DWARF_INFO ? &watch : NULL);
	dwarf_streaming_loaded(l->streaming, l->f, (enum dwarf_section)i);
}

void dwarf_file_find_string_ends(struct dwarf_file *f)
{
	static const enum dwarf_section strings[] = {DWARF_STR, DWARF_LINE_STR};
	size_t i;

	for (i = 0; i < sizeof strings / sizeof *strings; i++) {
		const struct dwarf_slice *s = &f->sec[strings[i]];
		const uint8_t *nul = s->data ? memrchr(s->data, 0, s->size) : NULL;

		f->str_end[strings[i]] = nul ? (uint64_t)(nul - s->data) + 1 : 0;
	}
}

/* ---- unit headers ------------------------------------------------------------------------ */

struct units {
	struct dwarf_unit *v;
	size_t n, cap;
};

/* DWARF5 7.4: the length tells whether offsets have 4 or 8 bytes. Returns false if the unit extends
 * beyond the section. */
static bool read_length(struct buf *b, struct dwarf_unit *u)
{
	uint64_t length = buf_u32(b);

	u->off_size = 4;
	if (length == 0xffffffff) {
		u->off_size = 8;
		length = buf_u64(b);
	} else if (length >= 0xfffffff0) {
		return false;
	}
	if (!buf_ok(b) || length > buf_left(b))
		return false;
	u->end = buf_off(b) + length;
	return true;
}

/* Reads the rest of the header (DWARF5 7.5.1.1 to 7.5.1.3). Returns false if it is unknown. */
static bool read_rest(struct buf *b, struct dwarf_unit *u)
{
	u->version = (uint8_t)buf_u16(b);
	if (u->version < 2 || u->version > 5)
		return false;
	u->type = DW_UT_compile;
	if (u->version >= 5) {
		u->type = buf_u8(b);
		u->addr_size = buf_u8(b);
	}
	u->abbrev_off = u->off_size == 8 ? buf_u64(b) : buf_u32(b);
	if (u->version < 5)
		u->addr_size = buf_u8(b);
	if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
		u->dwo_id = buf_u64(b);
	if (u->type == DW_UT_type || u->type == DW_UT_split_type)
		buf_skip(b, 8 + u->off_size);
	u->header_size = (uint8_t)(buf_off(b) - u->off);
	return buf_ok(b) && buf_off(b) <= u->end && (u->addr_size == 4 || u->addr_size == 8);
}

enum dwarf_header dwarf_unit_header(const struct dwarf_slice *info, uint64_t off, bool swap,
				    struct dwarf_unit *ret)
{
	struct buf b = dwarf_slice_at(info, off, swap);

	*ret = (struct dwarf_unit){.off = off};
	if (!read_length(&b, ret))
		return DWARF_HEADER_CUT;
	if (read_rest(&b, ret))
		return DWARF_HEADER_OK;
	return ret->end - off > 4 ? DWARF_HEADER_UNKNOWN : DWARF_HEADER_EMPTY;
}

/* Appends the units in [off, end) of .debug_info. A unit with an unknown header is skipped by its
 * length; after an invalid length the rest is lost. */
static int scan_units(struct dwarf_file *f, struct units *units, uint64_t off, uint64_t end,
		      const struct dwarf_contribution *c)
{
	struct dwarf_slice info = {f->sec[DWARF_INFO].data, end};

	while (off < end) {
		struct dwarf_unit u;
		enum dwarf_header h = dwarf_unit_header(&info, off, f->swap, &u);

		f->n_damaged += h == DWARF_HEADER_CUT || h == DWARF_HEADER_UNKNOWN;
		if (h == DWARF_HEADER_CUT)
			break;
		off = u.end;
		if (h != DWARF_HEADER_OK)
			continue;
		if (c) {
			u.row = c->row;
			u.abbrev_off += c->abbrev_off;
		}
		if (vec_push(units, u))
			return -ERR_NOMEM;
		if (c) /* a contribution is one unit */
			break;
	}
	return 0;
}

static int unit_cmp(const void *a, const void *b)
{
	const struct dwarf_unit *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

static int load_units(struct dwarf_file *f)
{
	struct units units = {0};
	uint64_t size = f->sec[DWARF_INFO].size;
	int rc = 0;
	size_t i;

	if (f->sec[DWARF_CU_INDEX].data && f->is_dwo)
		rc = dwarf_package_open(f);
	if (!rc && !f->package)
		rc = scan_units(f, &units, 0, size, NULL);
	for (i = 0; !rc && f->package && i < dwarf_package_count(f->package); i++) {
		const struct dwarf_contribution *c = dwarf_package_at(f->package, i);

		if (c->info_off < size && c->info_size <= size - c->info_off)
			rc = scan_units(f, &units, c->info_off, c->info_off + c->info_size, c);
	}
	if (f->package && units.n)
		qsort(units.v, units.n, sizeof *units.v, unit_cmp);
	f->units = units.v;
	f->n_units = units.n;
	return rc;
}

const struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t off)
{
	size_t lo = 0, hi = f->n_units;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->units[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && off < f->units[lo - 1].end)
		return &f->units[lo - 1];
	if (f->looked_beyond)
		*f->looked_beyond = true;
	return NULL;
}

/* ------------------------------------------------------------------------------------------ */

int dwarf_file_open(struct dwarf_file *f, struct elf_image *img, bool is_dwo, unsigned n_threads,
		    struct dwarf_streaming *streaming)
{
	struct loading l = {f, streaming};
	char name[NAME_MAX_BYTES];
	size_t i;
	int rc = 0;

	*f = (struct dwarf_file){.img = img, .swap = elf_image_swapped(img), .is_dwo = is_dwo};
	f->is_bolted = dwarf_stored_bytes(img, ".note.bolt_info");
	f->stored_info = dwarf_stored_bytes(img, section_name(f, DWARF_INFO, name));
	threads_for(n_threads, DWARF_SECTION_N + (streaming ? n_threads : 0), load_item, &l);
	for (i = 0; i < DWARF_SECTION_N; i++)
		if (f->no_memory[i])
			rc = -ERR_NOMEM;
	if (!rc && elf_image_type(img) == ET_REL && !is_dwo)
		rc = dwarf_reloc_apply(f);
	dwarf_file_find_string_ends(f);
	if (!rc)
		rc = load_units(f);
	if (!rc)
		rc = dwarf_abbrev_slots_make(f);
	if (!rc && f->n_units) {
		f->scopes = calloc(f->n_units, sizeof *f->scopes);
		rc = f->scopes ? 0 : -ERR_NOMEM;
	}
	if (!rc && streaming)
		dwarf_streaming_adopt(streaming, f);
	if (rc)
		dwarf_file_close(f);
	return rc;
}

void dwarf_file_forget_units(struct dwarf_file *f)
{
	size_t i;

	for (i = 0; i < f->n_slots; i++)
		dwarf_abbrevs_free(f->slots[i].table);
	for (i = 0; f->scopes && i < f->n_units; i++)
		dwarf_scopes_free(f->scopes[i]);
	dwarf_package_free(f->package);
	free(f->scopes);
	free(f->slots);
	free(f->units);
	free(f->orphans);
	f->orphans = NULL;
	f->n_orphans = 0;
	f->package = NULL;
	f->scopes = NULL;
	f->slots = NULL;
	f->units = NULL;
	f->n_slots = f->n_units = 0;
}

void dwarf_file_close(struct dwarf_file *f)
{
	size_t i;

	dwarf_file_forget_units(f);
	for (i = 0; i < DWARF_SECTION_N; i++)
		free(f->relocated[i]);
	*f = (struct dwarf_file){0};
}

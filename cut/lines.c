/* lines.c - lines and inlined calls of given addresses, as DWARF 4 of their own.
 *
 * For each address there is a function that covers this one byte, the functions inlined there, and
 * a row of the line table. Functions are named once, and referred to: by DW_AT_abstract_origin from
 * where they are inlined, by DW_AT_specification from where they have code, because only a copy
 * that is not inlined may have an origin: our reader takes its address for the place where the
 * function begins (dwarf_frame.entry).
 *
 * There are two units, because such an address is looked for only in languages with scopes: what
 * needs none is said to be C. Source: DWARF 4, 7.5 (entries), 6.2.4 and 6.2.5 (lines), 2.17.3. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "cut/pieces.h"
#include "dwarf/dwarf.h"
#include "functions/functions.h"
#include "modules/modules.h"

enum { ADDRESSES = 64, LEVELS = 8 * DWARF_CHAIN_MAX, GO_CHAIN_MAX = 64 };
enum { UNIT_FLAT, UNIT_SCOPED, UNITS };

/* Any language whose names have scopes, and are not C++'s. */
#define LANG_SCOPED 0x18 /* Haskell, DWARF 5 */

enum {
	ABBREV_UNIT = 1,
	ABBREV_LINKAGE,
	ABBREV_NAME,
	ABBREV_NAMELESS,
	ABBREV_CODE,
	ABBREV_CODE_OUTER,
	ABBREV_INLINED,
	ABBREV_INLINED_OUTER,
	ABBREV_ENTRY,
};

struct bytes {
	uint8_t *v;
	size_t n, cap;
	bool failed;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	if (vec_reserve(b, b->n + n)) {
		b->failed = true;
		return;
	}
	if (n)
		memcpy(b->v + b->n, p, n);
	b->n += n;
}

static void put_u(struct bytes *b, uint64_t v, size_t n)
{
	put(b, &v, n);
}

static void put_uleb(struct bytes *b, uint64_t v)
{
	do {
		put_u(b, (v & 0x7f) | (v > 0x7f ? 0x80 : 0), 1);
		v >>= 7;
	} while (v);
}

static void put_sleb(struct bytes *b, int64_t v)
{
	bool more = true;

	while (more) {
		uint8_t c = v & 0x7f;

		v >>= 7;
		more = !((!v && !(c & 0x40)) || (v == -1 && c & 0x40));
		put_u(b, c | (more ? 0x80 : 0), 1);
	}
}

static void put_text(struct bytes *b, const char *s)
{
	put(b, s, strlen(s) + 1);
}

static void set_u32(struct bytes *b, size_t at, uint64_t v)
{
	const uint32_t x = (uint32_t)v;

	if (!b->failed)
		memcpy(b->v + at, &x, sizeof x);
}

/* One of the two units while it is written. */
struct unit {
	struct bytes info, ranges, aranges, program;
	struct strtab files;	   /* id: number in the table of files; 0: unknown */
	struct strtab functions;   /* keys of the functions that are named in `info` */
	VEC(uint32_t) function_at; /* by id: offset in `info` */
	VEC(uint32_t) entry_die;
	VEC(uint64_t) entry_addr;
	uint64_t lo, hi; /* of the last range; hi 0: none */
	unsigned address_bytes;
	bool failed;
};

/* ---- the parts of a unit -------------------------------------------------------------------- */

static void unit_begin(struct unit *u, unsigned which, unsigned address_bytes)
{
	u->address_bytes = address_bytes;
	put_u(&u->info, 0, 4); /* unit_length */
	put_u(&u->info, 4, 2);
	put_u(&u->info, 0, 4); /* abbreviations of both units */
	put_u(&u->info, address_bytes, 1);
	put_uleb(&u->info, ABBREV_UNIT);
	put_u(&u->info, which == UNIT_FLAT ? DW_LANG_C99 : LANG_SCOPED, 2);
	put_text(&u->info, "[from the recording]");
	put_u(&u->info, 0, address_bytes); /* base of the ranges */
	put_u(&u->info, 0, 8);		   /* .debug_line, .debug_ranges: unit_end() */
}

enum { LINES_AT = 4 + 2 + 4 + 1 + 1 + 2 + sizeof "[from the recording]" };

static uint32_t file_number(struct unit *u, const char *path)
{
	uint32_t id = path ? strtab_add_cstr(&u->files, path) : 0;

	u->failed |= id == STRTAB_FAILED;
	return id == STRTAB_FAILED ? 0 : id;
}

/* Writes the name of a function once; returns its offset. */
static uint32_t name_function(struct unit *u, const struct dwarf_frame *f)
{
	const char *name = f->linkage_name ? f->linkage_name : f->name;
	char key[4096];
	int n = snprintf(key, sizeof key, "%d %u %llx %.4000s", f->linkage_name != NULL,
			 f->decl_line, (unsigned long long)f->entry, name ? name : "");
	uint32_t id = strtab_add(&u->functions, key, (size_t)n), at = (uint32_t)u->info.n;

	if (id == STRTAB_FAILED || vec_reserve(&u->function_at, id + 1)) {
		u->failed = true;
		return 0;
	}
	/* Longer names are not looked for among those that are there. */
	if (id < u->function_at.n && strlen(name ? name : "") < 4000)
		return u->function_at.v[id];
	put_uleb(&u->info, f->linkage_name ? ABBREV_LINKAGE : name ? ABBREV_NAME : ABBREV_NAMELESS);
	if (name)
		put_text(&u->info, name);
	put_uleb(&u->info, f->decl_line);
	while (u->function_at.n <= id)
		u->function_at.v[u->function_at.n++] = at;
	if (f->entry && (vec_push(&u->entry_die, at) || vec_push(&u->entry_addr, f->entry)))
		u->failed = true;
	return at;
}

static void put_code(struct unit *u, uint64_t vaddr)
{
	put_u(&u->info, vaddr, u->address_bytes);
	put_u(&u->info, 1, 1);
}

/* The chain at an address, innermost first. */
static void put_chain(struct unit *u, uint64_t vaddr, const struct dwarf_frame *frames, size_t n)
{
	uint32_t at[DWARF_CHAIN_MAX], self;
	size_t i;

	for (i = 0; i < n; i++)
		at[i] = name_function(u, &frames[i]);
	self = (uint32_t)u->info.n;
	put_uleb(&u->info, n > 1 ? ABBREV_CODE_OUTER : ABBREV_CODE);
	put_u(&u->info, at[n - 1], 4);
	put_code(u, vaddr);
	if (frames[n - 1].entry &&
	    (vec_push(&u->entry_die, self) || vec_push(&u->entry_addr, frames[n - 1].entry)))
		u->failed = true;
	for (i = n - 1; i-- > 0;) {
		put_uleb(&u->info, i ? ABBREV_INLINED_OUTER : ABBREV_INLINED);
		put_u(&u->info, at[i], 4);
		put_code(u, vaddr);
		put_uleb(&u->info, file_number(u, frames[i + 1].file));
		put_uleb(&u->info, frames[i + 1].line);
	}
	for (i = 1; i < n; i++)
		put_u(&u->info, 0, 1);
}

static void put_range(struct unit *u, uint64_t vaddr)
{
	if (u->hi && u->hi == vaddr) {
		u->hi++;
		return;
	}
	if (u->hi) {
		put_u(&u->ranges, u->lo, u->address_bytes);
		put_u(&u->ranges, u->hi, u->address_bytes);
		put_u(&u->aranges, u->lo, u->address_bytes);
		put_u(&u->aranges, u->hi - u->lo, u->address_bytes);
	}
	u->lo = vaddr;
	u->hi = vaddr + 1;
}

/* A sequence of one row. */
static void put_row(struct unit *u, uint64_t vaddr, const char *file, uint32_t line)
{
	struct bytes *b = &u->program;

	put_u(b, 0, 1);
	put_uleb(b, 1 + u->address_bytes);
	put_u(b, DW_LNE_set_address, 1);
	put_u(b, vaddr, u->address_bytes);
	put_u(b, DW_LNS_set_file, 1);
	put_uleb(b, file_number(u, file));
	put_u(b, DW_LNS_advance_line, 1);
	put_sleb(b, (int64_t)line - 1);
	put_u(b, DW_LNS_copy, 1);
	put_u(b, DW_LNS_advance_pc, 1);
	put_uleb(b, 1);
	put_u(b, 0, 1);
	put_uleb(b, 1);
	put_u(b, DW_LNE_end_sequence, 1);
}

/* ---- putting units together ------------------------------------------------------------------ */

static void put_line_table(struct bytes *out, struct unit *u)
{
	static const uint8_t head[] = {1, 1, 1, (uint8_t)-5, 14, 13, 0, 1, 1,
				       1, 1, 0, 0,	     0,	 1,  0, 0, 1};
	size_t start = out->n, header, i;

	put_u(out, 0, 4);
	put_u(out, 4, 2);
	header = out->n;
	put_u(out, 0, 4);
	put(out, head, sizeof head);
	put_u(out, 0, 1); /* no directories */
	for (i = 1; i < strtab_count(&u->files); i++) {
		put_text(out, strtab_get(&u->files, (uint32_t)i));
		put_u(out, 0, 3); /* directory, time, size */
	}
	put_u(out, 0, 1);
	set_u32(out, header, out->n - header - 4);
	put(out, u->program.v, u->program.n);
	set_u32(out, start, out->n - start - 4);
}

/* DWARF 4, 6.1.2: by these gdb and libdw find the unit of an address without reading its entries.
 */
static void put_aranges(struct bytes *out, const struct unit *u, uint64_t info_off)
{
	size_t start = out->n;

	put_u(out, 0, 4); /* unit_length */
	put_u(out, 2, 2);
	put_u(out, info_off, 4);
	put_u(out, u->address_bytes, 1);
	put_u(out, 0, 1); /* segments */
	put_u(out, 0, 4); /* up to a multiple of two addresses */
	put(out, u->aranges.v, u->aranges.n);
	put_u(out, 0, u->address_bytes);
	put_u(out, 0, u->address_bytes);
	set_u32(out, start, out->n - start - 4);
}

static void unit_end(struct unit *u, uint64_t line_off, uint64_t ranges_off)
{
	size_t i;

	for (i = 0; i < u->entry_die.n; i++) {
		put_uleb(&u->info, ABBREV_ENTRY);
		put_u(&u->info, u->entry_die.v[i], 4);
		put_code(u, u->entry_addr.v[i]);
	}
	put_u(&u->info, 0, 1);
	set_u32(&u->info, 0, u->info.n - 4);
	set_u32(&u->info, LINES_AT + u->address_bytes, line_off);
	set_u32(&u->info, LINES_AT + u->address_bytes + 4, ranges_off);
	put_range(u, UINT64_MAX - 1); /* writes the last one */
	put_u(&u->ranges, 0, u->address_bytes);
	put_u(&u->ranges, 0, u->address_bytes);
}

static void put_abbrevs(struct bytes *b)
{
	static const struct {
		uint8_t number, tag, children;
		uint8_t attributes[12]; /* and forms */
	} rows[] = {
		{ABBREV_UNIT,
		 DW_TAG_compile_unit,
		 1,
		 {DW_AT_language, DW_FORM_data2, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
		  DW_FORM_addr, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_ranges,
		  DW_FORM_sec_offset}},
		{ABBREV_LINKAGE,
		 DW_TAG_subprogram,
		 0,
		 {DW_AT_linkage_name, DW_FORM_string, DW_AT_decl_line, DW_FORM_udata}},
		{ABBREV_NAME,
		 DW_TAG_subprogram,
		 0,
		 {DW_AT_name, DW_FORM_string, DW_AT_decl_line, DW_FORM_udata}},
		{ABBREV_NAMELESS, DW_TAG_subprogram, 0, {DW_AT_decl_line, DW_FORM_udata}},
		{ABBREV_CODE,
		 DW_TAG_subprogram,
		 0,
		 {DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		  DW_FORM_data1}},
		{ABBREV_CODE_OUTER,
		 DW_TAG_subprogram,
		 1,
		 {DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		  DW_FORM_data1}},
		{ABBREV_INLINED,
		 DW_TAG_inlined_subroutine,
		 0,
		 {DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		  DW_FORM_data1, DW_AT_call_file, DW_FORM_udata, DW_AT_call_line, DW_FORM_udata}},
		{ABBREV_INLINED_OUTER,
		 DW_TAG_inlined_subroutine,
		 1,
		 {DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		  DW_FORM_data1, DW_AT_call_file, DW_FORM_udata, DW_AT_call_line, DW_FORM_udata}},
		{ABBREV_ENTRY,
		 DW_TAG_subprogram,
		 0,
		 {DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		  DW_FORM_data1}},
	};
	size_t i, k;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		put_uleb(b, rows[i].number);
		put_uleb(b, rows[i].tag);
		put_u(b, rows[i].children, 1);
		for (k = 0; k < sizeof rows[i].attributes && rows[i].attributes[k]; k++)
			put_uleb(b, rows[i].attributes[k]);
		put_u(b, 0, 2);
	}
	put_u(b, 0, 1);
}

static void unit_done(struct unit *u)
{
	vec_done(&u->info);
	vec_done(&u->ranges);
	vec_done(&u->aranges);
	vec_done(&u->program);
	strtab_done(&u->files);
	strtab_done(&u->functions);
	vec_done(&u->function_at);
	vec_done(&u->entry_die);
	vec_done(&u->entry_addr);
}

/* ---- what the module knows ------------------------------------------------------------------- */

struct writer {
	struct unit units[UNITS];
	struct cut_addrs *entries; /* where symbols are looked for */
};

static bool has_entry(const struct dwarf_frame *frames, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (frames[i].entry)
			return true;
	return false;
}

static void add(struct writer *w, uint64_t vaddr, const struct dwarf_frame *frames, size_t n,
		const struct dwarf_frame *line)
{
	struct unit *u = &w->units[has_entry(frames, n) ? UNIT_SCOPED : UNIT_FLAT];
	const struct dwarf_frame *row = n ? &frames[0] : line;
	size_t i;

	if (!n && (!line || !line->file))
		return;
	for (i = 0; i < n; i++)
		if (frames[i].entry && vec_push(w->entries, frames[i].entry))
			u->failed = true;
	if (n)
		put_chain(u, vaddr, frames, n);
	put_range(u, vaddr);
	if (row->file || row->line)
		put_row(u, vaddr, row->file, row->line);
}

struct some {
	struct dwarf_chain chains[ADDRESSES];
	struct dwarf_at at[LEVELS];
	struct dwarf_frame frames[LEVELS];
};

static void ask_some(struct writer *w, struct dwarf_index *d, const uint64_t *v, size_t n,
		     struct some *s)
{
	size_t done = 0, got, n_at, i;

	for (; done < n; done += got) {
		got = dwarf_index_chains(d, v + done, n - done, s->chains, s->at, LEVELS);
		for (n_at = i = 0; i < got; i++)
			n_at += s->chains[i].n;
		dwarf_index_frames(d, s->at, n_at, s->frames);
		for (n_at = i = 0; i < got; n_at += s->chains[i++].n) {
			struct dwarf_frame line = {0};

			if (!s->chains[i].n && s->chains[i].line.file)
				dwarf_index_frames(d, &s->chains[i].line, 1, &line);
			add(w, v[done + i], s->frames + n_at, s->chains[i].n, &line);
		}
	}
}

static int ask_dwarf(struct writer *w, struct module *m, const struct cut_need *need,
		     struct err *err)
{
	struct dwarf_index *d;
	struct some *s = malloc(sizeof *s);
	size_t i, n;
	int rc = s ? dwarf_index_open(&d, m, need->frames.v, need->frames.n, need->cache,
				      need->n_threads, err)
		   : err_nomem(err);

	for (i = 0; !rc && d && i < need->frames.n; i += n) {
		n = need->frames.n - i < ADDRESSES ? need->frames.n - i : ADDRESSES;
		ask_some(w, d, need->frames.v + i, n, s);
	}
	if (!rc && d && dwarf_index_has_news(d))
		dwarf_index_save(d);
	if (!rc)
		dwarf_index_free(d);
	free(s);
	return rc;
}

/* Go programs without DWARF have lines in the tables of their runtime. */
static void ask_go(struct writer *w, struct elf_image *img, const struct cut_need *need)
{
	struct go_line chain[GO_CHAIN_MAX];
	struct dwarf_frame frames[GO_CHAIN_MAX];
	struct go_table go;
	size_t i, n, k;

	if (!go_table_open(&go, img))
		return;
	for (i = 0; i < need->frames.n; i++) {
		n = go_table_chain(&go, need->frames.v[i], chain, GO_CHAIN_MAX);
		for (k = 0; k < n; k++)
			frames[k] = (struct dwarf_frame){.name = chain[k].name,
							 .file = chain[k].file,
							 .line = chain[k].line,
							 .decl_line = chain[k].start_line};
		add(w, need->frames.v[i], frames, n, NULL);
	}
}

static void take(struct cut_dwarf *ret, struct writer *w)
{
	struct bytes abbrev = {0}, info = {0}, line = {0}, ranges = {0}, aranges = {0};
	unsigned i;

	put_abbrevs(&abbrev);
	for (i = 0; i < UNITS; i++) {
		struct unit *u = &w->units[i];

		if (!u->hi)
			continue;
		unit_end(u, line.n, ranges.n);
		put_line_table(&line, u);
		put_aranges(&aranges, u, info.n);
		put(&info, u->info.v, u->info.n);
		put(&ranges, u->ranges.v, u->ranges.n);
		ret->nomem |= u->failed || u->info.failed || u->ranges.failed ||
			      u->aranges.failed || u->program.failed;
	}
	ret->nomem |=
		abbrev.failed || info.failed || line.failed || ranges.failed || aranges.failed;
	ret->part[CUT_INFO] = (struct cut_bytes){info.v, info.n};
	ret->part[CUT_ABBREV] = (struct cut_bytes){abbrev.v, abbrev.n};
	ret->part[CUT_LINE] = (struct cut_bytes){line.v, line.n};
	ret->part[CUT_RANGES] = (struct cut_bytes){ranges.v, ranges.n};
	ret->part[CUT_ARANGES] = (struct cut_bytes){aranges.v, aranges.n};
}

int cut_lines(struct module *m, const struct cut_need *need, struct cut_dwarf *ret,
	      struct cut_addrs *entries, struct err *err)
{
	struct elf_image *img = m->image ? m->image : m->debug;
	struct writer w = {.entries = entries};
	int rc = 0;
	unsigned i;

	if (elf_image_swapped(img) || !need->frames.n || need->level < CUT_SYMBOLS)
		return 0;
	for (i = 0; i < UNITS; i++)
		unit_begin(&w.units[i], i, elf_image_is_64(img) ? 8 : 4);
	if (dwarf_bytes(m))
		rc = ask_dwarf(&w, m, need, err);
	else if (m->image)
		ask_go(&w, m->image, need);
	if (!rc && (w.units[UNIT_FLAT].hi || w.units[UNIT_SCOPED].hi))
		take(ret, &w);
	for (i = 0; i < UNITS; i++)
		unit_done(&w.units[i]);
	return rc || !ret->nomem ? rc : err_nomem(err);
}

void cut_dwarf_done(struct cut_dwarf *d)
{
	unsigned i;

	for (i = 0; i < CUT_PARTS; i++)
		free(d->part[i].v);
	*d = (struct cut_dwarf){0};
}

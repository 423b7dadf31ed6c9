/* module.c - which sections of an image and of its debug file are kept, and how. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/processor.h"
#include "base/vec.h"
#include "cut/pieces.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "reader/reader.h"

enum {
	SMALL_BYTES = 64 << 10,
	AROUND_BYTES = 64,
	/* What a function without a known end is analyzed up to (unwind/code_starts.h). */
	OPEN_BYTES = 64 << 10,
	GO_MODULE_BYTES = 512, /* of struct moduledata, as far as it is read */
	GO_CHAIN_MAX = 64,
	TEXT_BYTES_MAX = 256, /* more than is shown of one */
};

enum how {
	HOW_LEAVE,
	HOW_WHOLE,
	HOW_SMALL, /* whole if it is small */
};

/* By name, or by its beginning if that ends in '*'; the first that fits counts. */
static const struct {
	const char *name;
	enum how how;
	enum cut_level from;
} rules[] = {
	{".note*", HOW_SMALL, CUT_IDS},	       {".gnu_debuglink", HOW_SMALL, CUT_IDS},
	{".dynamic", HOW_SMALL, CUT_UNWIND},   {".interp", HOW_SMALL, CUT_UNWIND},
	{".comment", HOW_SMALL, CUT_UNWIND},   {".plt*", HOW_WHOLE, CUT_UNWIND},
	{".iplt", HOW_WHOLE, CUT_UNWIND},      {".init", HOW_SMALL, CUT_UNWIND},
	{".fini", HOW_SMALL, CUT_UNWIND},      {".go.buildinfo", HOW_SMALL, CUT_UNWIND},
	{".gopclntab", HOW_WHOLE, CUT_UNWIND}, {".data.rel.ro.gopclntab", HOW_WHOLE, CUT_UNWIND},
	{".go.module", HOW_SMALL, CUT_UNWIND}, {".gnu_debugdata", HOW_WHOLE, CUT_SYMBOLS},
};

static enum how how_of(const char *name, enum cut_level level)
{
	size_t i;

	for (i = 0; i < sizeof rules / sizeof *rules; i++) {
		size_t n = strlen(rules[i].name);
		bool open = rules[i].name[n - 1] == '*';

		if (open ? !strncmp(name, rules[i].name, n - 1) : !strcmp(name, rules[i].name))
			return level >= rules[i].from ? rules[i].how : HOW_LEAVE;
	}
	return HOW_LEAVE;
}

static void keep_sections(struct pieces *p, enum cut_level level)
{
	struct elf_section s;
	const char *name;
	size_t i;

	for (i = 0; i < elf_image_section_count(p->img); i++) {
		enum how how;

		if (!elf_image_section_at(p->img, i, &name, &s) || !s.data || s.type == SHT_NOBITS)
			continue;
		how = s.type == SHT_NOTE || s.type == SHT_GNU_verdef || s.type == SHT_GNU_verneed ||
				      s.type == SHT_GNU_versym
			      ? HOW_SMALL
			      : how_of(name, level);
		if (how == HOW_WHOLE || (how == HOW_SMALL && s.size <= SMALL_BYTES))
			pieces_keep(p, s.off, s.size);
	}
}

static void keep_program_headers(struct pieces *p)
{
	const size_t w = elf_image_is_64(p->img) ? 8 : 4;
	uint64_t off = 0;
	uint16_t entry, n;

	if (p->size < 64 || elf_image_swapped(p->img))
		return;
	memcpy(&off, p->bytes + 24 + w, w);
	memcpy(&entry, p->bytes + 24 + 3 * w + 6, 2);
	memcpy(&n, p->bytes + 24 + 3 * w + 8, 2);
	pieces_keep(p, off, (uint64_t)entry * n);
}

static bool is_go(struct elf_image *img)
{
	struct go_table go;

	return go_table_open(&go, img);
}

/* The runtime's description of the program, to which a word in its data points. */
static void keep_go_module(struct pieces *p)
{
	struct go_table go;
	struct elf_section s;
	const char *name;
	size_t i, left, seen = 0;
	uint64_t table, at;

	if (!go_table_open(&go, p->img) || !elf_image_is_64(p->img))
		return;
	table = 0;
	for (i = 0; i < elf_image_section_count(p->img) && !table; i++)
		if (elf_image_section_at(p->img, i, &name, &s) && s.data && go.data >= s.data &&
		    go.data < s.data + s.size)
			table = s.vaddr + (uint64_t)(go.data - s.data);
	for (i = 0; table && i < elf_image_section_count(p->img); i++) {
		if (!elf_image_section_at(p->img, i, &name, &s) || !s.data ||
		    !(s.flags & SHF_ALLOC) || !(s.flags & SHF_WRITE))
			continue;
		seen += s.size; /* no linker writes sections that overlap */
		if (seen > p->size)
			break;
		for (left = 0; left + 8 <= s.size; left += 8) {
			memcpy(&at, s.data + left, 8);
			if (at == table)
				pieces_keep(p, s.off + left, GO_MODULE_BYTES);
		}
	}
}

/* What the frames of native-image are found by, and what shows where that is. */
static void keep_native_image(struct pieces *p, const struct native_image *t)
{
	uint64_t returns[NATIVE_RETURNS_MAX];
	size_t n;

	if (!t->n_chunks)
		return;
	pieces_keep(p, (uint64_t)(t->index - 4 - p->bytes), 4 * t->n_chunks + 8);
	pieces_keep(p, (uint64_t)(t->encodings - 4 - p->bytes), t->encodings_bytes + 4);
	for (n = native_image_returns(t, returns); n--;)
		pieces_keep_vaddr(p, returns[n] - NATIVE_CALL_BYTES, returns[n]);
}

/* Inlined functions of programs without DWARF are named by rows outside of the runtime's tables. */
static void keep_go_inlined(struct pieces *p, const struct cut_need *need)
{
	struct go_line chain[GO_CHAIN_MAX];
	struct go_table go;
	size_t i, k, n;

	if (!go_table_open(&go, p->img) || need->level < CUT_SYMBOLS)
		return;
	for (i = 0; i < need->frames.n; i++) {
		n = go_table_chain(&go, need->frames.v[i], chain, GO_CHAIN_MAX);
		for (k = 0; k < n; k++)
			if (chain[k].row_bytes)
				pieces_keep_vaddr(p, chain[k].row_vaddr,
						  chain[k].row_vaddr + chain[k].row_bytes);
	}
}

/* ---- code without call frame information ----------------------------------------------------- */

static bool is_call_x86(const uint8_t *end, size_t n)
{
	/* Intel SDM volume 2, CALL: E8 cd; FF /2 with its forms of address; FF /3 is far. */
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};
	size_t i;

	if (n >= 5 && end[-5] == 0xe8)
		return true;
	for (i = 0; i < sizeof lengths; i++)
		if (n >= lengths[i] && end[-lengths[i]] == 0xff &&
		    (end[1 - lengths[i]] >> 3 & 7) == 2)
			return true;
	return false;
}

static bool is_call_a64(const uint8_t *end, size_t n)
{
	uint32_t insn;

	if (n < 4)
		return false;
	memcpy(&insn, end - 4, 4);
	/* Arm ARM: BL; BLR, BLRAA and their like */
	return insn >> 26 == 0x25 || (insn & 0xfefff800) == 0xd63f0800 ||
	       (insn & 0xfffffc1f) == 0xd63f0000;
}

bool cut_is_behind_call(const struct elf_image *img, uint64_t vaddr)
{
	const uint8_t *code = NULL;
	size_t left = 0, n = 8;

	for (; n && !(code && left >= n); n -= !(code && left >= n))
		code = vaddr >= n ? elf_image_at_vaddr(img, vaddr - n, &left) : NULL;
	if (!code || !n)
		return false;
	switch (processor_insn_set(elf_image_machine(img))) {
	case INSN_SET_X86:
		return is_call_x86(code + n, n);
	case INSN_SET_A64:
		return is_call_a64(code + n, n);
	default:
		return true;
	}
}

static bool is_exec(const struct elf_image *img, uint64_t vaddr)
{
	const struct elf_segment *segs;
	size_t i, n = elf_image_segments(img, &segs);

	for (i = 0; i < n; i++)
		if (segs[i].flags & PF_X && vaddr - segs[i].vaddr < segs[i].filesz)
			return true;
	return false;
}

struct code_sections {
	VEC(struct elf_range) v; /* of vaddrs, rising */
};

static int by_range(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int code_sections_open(struct code_sections *c, struct elf_image *img)
{
	struct elf_section s;
	const char *name;
	size_t i, n = 0;

	for (i = 0; i < elf_image_section_count(img); i++)
		if (elf_image_section_at(img, i, &name, &s) && s.flags & SHF_EXECINSTR &&
		    vec_push(&c->v, ((struct elf_range){s.vaddr, s.vaddr + s.size})))
			return -1;
	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof *c->v.v, by_range);
	for (i = 0; i < c->v.n; i++) /* joins those that overlap */
		if (!n || c->v.v[i].start > c->v.v[n - 1].end)
			c->v.v[n++] = c->v.v[i];
		else if (c->v.v[i].end > c->v.v[n - 1].end)
			c->v.v[n - 1].end = c->v.v[i].end;
	c->v.n = n;
	return 0;
}

/* Old linkers put symbols, relocations and constants into the segment of the code. A word of a
 * stack that happens to point there is no frame. Files without section headers: the segments
 * decide. */
static bool is_in_code_section(const struct code_sections *c, uint64_t vaddr)
{
	size_t low = 0, high = c->v.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->v.v[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return !c->v.n || (low && vaddr < c->v.v[low - 1].end);
}

static int copy_addrs(struct cut_addrs *to, const struct cut_addrs *a, const struct cut_addrs *b)
{
	const struct cut_addrs *const from[] = {a, b};
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < from[i]->n; k++)
			if (vec_push(to, from[i]->v[k]))
				return -1;
	cut_addrs_sort(to);
	return 0;
}

/* Symbols of a module. */
struct names {
	struct functab all;	    /* labels in assembly, too */
	struct cut_addrs functions; /* where these begin */
	struct func_cursor cursor;
};

/* The symbol that covers vaddr, or the last before it: *start, and *end (0: unknown). *start is
 * earlier if it is a label in a function. */
static bool symbol_of(struct names *names, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct func *f = functab_find(&names->all, vaddr, &names->cursor);
	const size_t n = cut_addrs_below(&names->functions, vaddr + 1);

	if (!f)
		return false;
	*start = f->start;
	*end = f->flags & FUNC_SIZELESS ? 0 : f->end;
	if (n && names->functions.v[n - 1] < *start &&
	    vaddr - names->functions.v[n - 1] <= OPEN_BYTES)
		*start = names->functions.v[n - 1];
	return true;
}

static int see_symbols(struct names *names, struct elf_image *img, const char *table,
		       const struct cut_addrs *bare, struct cut_addrs *starts)
{
	return cut_nearest_symbols(img, table, bare, starts, &names->functions);
}

/* Only those that cover an address, or begin or end what is around it: of a compiler's library most
 * do not. */
static int read_symbols(struct names *names, struct module *m, const struct cut_addrs *bare)
{
	struct elf_image *const images[] = {m->debug, m->image, m->mini};
	struct cut_addrs starts = {0};
	struct page_set pages;
	bool some;
	size_t i, n;
	int rc = copy_addrs(&starts, bare, bare);

	for (i = 0; i < 3 && !rc; i++)
		rc = see_symbols(names, images[i], ".symtab", bare, &starts);
	if (!rc)
		rc = see_symbols(names, m->image, ".dynsym", bare, &starts);
	cut_addrs_sort(&names->functions);
	cut_addrs_sort(&starts);
	some = !rc && page_set_init(&pages, starts.v, starts.n);
	for (i = 0; i < 3 && !rc; i++)
		if (images[i])
			rc = symtab_read(&names->all, images[i], ".symtab", some ? &pages : NULL,
					 &n);
	if (!rc && m->image)
		rc = symtab_read(&names->all, m->image, ".dynsym", some ? &pages : NULL, &n);
	if (some)
		page_set_done(&pages);
	vec_done(&starts);
	return rc ? rc : functab_finish(&names->all);
}

/* Without tables unwinding reads the code of the function from its start. Where that is not known
 * either, it looks for calls of it in all code of the file. */
static void keep_bare_code(struct pieces *p, struct module *m, const struct hit_functions *hit,
			   const struct cut_addrs *frames)
{
	struct native_image native = {0};
	struct native_method method;
	struct names names = {0};
	struct code_sections sections = {0};
	struct go_table go;
	bool has_go = go_table_open(&go, m->image), scans = false;
	const struct elf_segment *segs;
	const struct cut_addrs *bare = &hit->bare;
	uint64_t start, end;
	size_t i, n;

	if (bare->n && (read_symbols(&names, m, bare) || code_sections_open(&sections, m->image)))
		p->nomem = true;
	if (bare->n && native_image_open(&native, m->image))
		keep_native_image(p, &native);
	for (i = 0; i < bare->n; i++) {
		const uint64_t a = bare->v[i];

		if (!is_exec(m->image, a))
			continue;
		if (has_go && go_table_bounds(&go, a, &start, &end)) {
			if (end - start <= OPEN_BYTES)
				pieces_keep_vaddr(p, start, end + AROUND_BYTES);
			continue;
		}
		if (native_image_method(&native, a, &method)) {
			pieces_keep_vaddr(p, method.start, method.end);
			continue;
		}
		if (symbol_of(&names, a, &start, &end)) {
			if (!end || end - start > OPEN_BYTES)
				end = a + 4096;
			pieces_keep_vaddr(p, start > AROUND_BYTES ? start - AROUND_BYTES : 0,
					  end + AROUND_BYTES);
		} else {
			scans |= cut_addrs_has(&hit->lost, a) && cut_addrs_has(frames, a) &&
				 (!hit->guessed || is_in_code_section(&sections, a));
		}
	}
	n = elf_image_segments(m->image, &segs);
	for (i = 0; scans && i < n; i++)
		if (segs[i].flags & PF_X)
			pieces_keep(p, segs[i].off, segs[i].filesz);
	vec_done(&sections.v);
	vec_done(&names.functions);
	functab_done(&names.all);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int put_entry(struct pieces *p, const struct bundle_entry *of, enum bundle_kind kind,
		     const struct build_id *id, uint64_t size, const struct cut_need *need,
		     struct bundle_blob *out, struct err *err)
{
	struct bundle_entry e = *of;

	e.kind = kind;
	e.size = size;
	if (!e.id.size)
		e.id = *id;
	if (pieces_finish(p) || bundle_put(out, &e, p->v.v, p->v.n, need->zstd_level))
		return err_nomem(err);
	return 0;
}

static void pieces_open(struct pieces *p, struct elf_image *img)
{
	*p = (struct pieces){.img = img};
	p->bytes = elf_image_bytes(img, &p->size);
}

static int put_whole(struct elf_image *img, const struct bundle_entry *e, enum bundle_kind kind,
		     const struct cut_need *need, struct bundle_blob *out, struct err *err)
{
	struct pieces p;
	int rc;

	pieces_open(&p, img);
	pieces_keep(&p, 0, p.size);
	rc = put_entry(&p, e, kind, elf_image_build_id(img), p.size, need, out, err);
	pieces_done(&p);
	return rc;
}

/* The entry of the file that was mapped. */
static struct bundle_entry image_entry(const struct bundle_entry *e, const struct module *m,
				       enum cut_level level)
{
	struct bundle_entry ret = *e;
	struct elf_section s;

	if (m->debug != m->image && !elf_image_section(m->image, ".symtab", &s, NULL))
		ret.flags |= BUNDLE_IS_BARE;
	if (level == CUT_IDS)
		ret.flags |= BUNDLE_IS_ID;
	return ret;
}

struct job {
	struct module *m;
	const struct bundle_entry *e;
	const struct cut_need *need;
	struct cut_dwarf dwarf;
	struct cut_addrs symbols; /* whose symbols are kept */
	bool all_symbols;
};

static void keep_for_unwinding(const struct job *j, struct pieces *p, struct hit_functions *hit)
{
	if (j->need->no_unwind)
		return;
	cut_frames(p, j->m, &j->need->code, hit);
	if (j->m->debug != j->m->image)
		cut_debug_frame(p, &j->need->code);
	keep_bare_code(p, j->m, hit, &j->need->frames);
}

bool cut_is_constant(const struct elf_image *img, uint64_t vaddr)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);

	while (n-- > 0)
		if (vaddr >= segs[n].vaddr && vaddr - segs[n].vaddr < segs[n].filesz)
			return !(segs[n].flags & PF_W);
	return false;
}

/* Texts that parameters of probed functions pointed to, and a list of them: what is zeros in a hole
 * is to be no empty text. */
static void keep_constants(struct pieces *p, const struct cut_need *need, struct cut_dwarf *d)
{
	VEC(uint64_t) list = {0};
	size_t i, left;

	for (i = 0; i < need->texts.n && need->level >= CUT_SYMBOLS && !p->nomem; i++) {
		const uint64_t at = need->texts.v[i];
		const uint8_t *text = elf_image_at_vaddr(p->img, at, &left);
		uint64_t n;

		if (!text || !cut_is_constant(p->img, at))
			continue;
		left = left < TEXT_BYTES_MAX ? left : TEXT_BYTES_MAX;
		n = strnlen((const char *)text, left);
		n += n < left; /* its NUL */
		pieces_keep_vaddr(p, at, at + n);
		if (vec_push(&list, at) || vec_push(&list, n))
			p->nomem = true;
	}
	if (list.n) {
		uint8_t *v = arena_memdup(&p->owned, list.v, list.n * sizeof *list.v);

		p->nomem |= !v;
		d->part[CUT_CONSTANTS] = (struct cut_bytes){v, v ? list.n * sizeof *list.v : 0};
	}
	vec_done(&list);
}

static int put_image(struct job *j, struct bundle_blob *out, struct err *err)
{
	struct elf_image *img = j->m->image;
	struct cut_dwarf own = {0}; /* belongs to the job, and to the pieces */
	struct hit_functions hit = {.guessed = !j->need->frames_known};
	const bool whole = j->e->path[0] == '['; /* the vDSO */
	const struct bundle_entry e = image_entry(j->e, j->m, whole ? CUT_FULL : j->need->level);
	struct pieces p;
	uint64_t size;
	int rc;

	if (whole || j->need->level == CUT_FULL)
		return put_whole(img, &e, BUNDLE_IMAGE, j->need, out, err);
	pieces_open(&p, img);
	keep_program_headers(&p);
	keep_sections(&p, j->need->level);
	if (j->need->level >= CUT_UNWIND) {
		keep_for_unwinding(j, &p, &hit);
		keep_go_module(&p);
		keep_go_inlined(&p, j->need);
		cut_relocations(&p, is_go(img), &j->symbols);
		cut_addrs_sort(&j->symbols);
		cut_symbols(&p, ".dynsym", &j->symbols, j->all_symbols);
		cut_symbols(&p, ".symtab", &j->symbols, j->all_symbols);
	}
	if (j->m->debug == img)
		own = j->dwarf;
	keep_constants(&p, j->need, &own);
	size = cut_headers(&p, &own);
	rc = put_entry(&p, &e, BUNDLE_IMAGE, elf_image_build_id(img), size, j->need, out, err);
	vec_done(&hit.bare);
	vec_done(&hit.lost);
	pieces_done(&p);
	return rc;
}

static int put_debug(struct job *j, struct bundle_blob *out, struct err *err)
{
	struct elf_image *img = j->m->debug;
	struct pieces p;
	uint64_t size;
	int rc;

	if (j->need->level == CUT_FULL)
		return put_whole(img, j->e, BUNDLE_DEBUG, j->need, out, err);
	pieces_open(&p, img);
	keep_program_headers(&p);
	keep_sections(&p, CUT_IDS);
	if (!j->need->no_unwind)
		cut_debug_frame(&p, &j->need->code);
	cut_symbols(&p, ".symtab", &j->symbols, j->all_symbols);
	cut_symbols(&p, ".dynsym", &j->symbols, j->all_symbols);
	size = cut_headers(&p, &j->dwarf);
	rc = put_entry(&p, j->e, BUNDLE_DEBUG, elf_image_build_id(img), size, j->need, out, err);
	pieces_done(&p);
	return rc;
}

/* What the module knows of the parameters of probed functions. */
static int cut_params(struct module *m, const struct cut_need *need, struct cut_dwarf *ret,
		      struct err *err)
{
	struct dwarf_packed_params packed = {0};
	struct dwarf_params *p;
	int rc;

	if (!need->probed.n || need->level < CUT_SYMBOLS)
		return 0;
	rc = dwarf_params_open(&p, m, err);
	if (rc || !p)
		return rc;
	rc = dwarf_params_pack(p, need->probed.v, need->probed.n, &packed);
	dwarf_params_free(p);
	ret->part[CUT_PARAMS] = (struct cut_bytes){packed.v, packed.n};
	return rc ? err_nomem(err) : 0;
}

/* *all: what is needed, and where compiled code of PHP goes on, which its callers are found by.
 * Returns 0, or -1 when out of memory. */
static int add_vm(const struct cut_need *need, struct elf_image *img, struct cut_need *all)
{
	uint64_t vaddr;
	const struct cut_addrs vm = {&vaddr, 1, 0};

	*all = *need;
	if (!php_vm_find(img, &vaddr))
		return 0;
	all->code = (struct cut_addrs){0};
	return copy_addrs(&all->code, &need->code, &vm);
}

int cut_module(struct modules *ms, struct module *m, const struct bundle_entry *e,
	       const struct cut_need *need, struct bundle_blob *out, struct err *err)
{
	struct cut_need all;
	struct job j = {.m = m, .e = e, .need = &all};
	struct cut_addrs entries = {0};
	int rc;

	if (!m->image)
		return 0;
	if (need->level > CUT_IDS && !module_debug(ms, m))
		return err_nomem(err);
	rc = add_vm(need, m->image, &all) ? err_nomem(err) : 0;
	if (!rc)
		rc = cut_lines(m, &all, &j.dwarf, &entries, err);
	if (!rc)
		rc = cut_params(m, &all, &j.dwarf, err);
	if (!rc && copy_addrs(&j.symbols, &all.code, &entries))
		rc = err_nomem(err);
	if (!rc)
		rc = put_image(&j, out, err);
	if (!rc && m->debug && m->debug != m->image && all.level > CUT_UNWIND)
		rc = put_debug(&j, out, err);
	cut_dwarf_done(&j.dwarf);
	if (all.code.v != need->code.v)
		vec_done(&all.code);
	vec_done(&j.symbols);
	vec_done(&entries);
	return rc;
}

/* simpleperf.c - symbols from the header sections of simpleperf: FILE (until 2021), then FILE2. */
#include "reader/simpleperf.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/protobuf.h"
#include "reader/file.h"

void simpleperf_done(struct simpleperf *sp)
{
	for (size_t i = 0; i < sp->files.n; i++)
		vec_done(&sp->files.v[i]->symbols);
	vec_done(&sp->files);
	vec_done(&sp->by_path);
	strtab_done(&sp->paths);
	hash_done(&sp->by_dso_id);
	free(sp->kallsyms);
	vec_done(&sp->pieces);
	vec_done(&sp->chain);
	arena_done(&sp->arena);
}

struct symbol_file *simpleperf_add_file(struct simpleperf *sp, const char *path, size_t len)
{
	struct symbol_file *sf = arena_alloc(&sp->arena, sizeof *sf);
	uint32_t id = strtab_add(&sp->paths, path, len);

	if (!sf || id == STRTAB_FAILED)
		return NULL;
	while (sp->by_path.n <= id)
		if (vec_push(&sp->by_path, NULL))
			return NULL;
	if (vec_push(&sp->files, sf))
		return NULL;
	sf->pub.path = strtab_get(&sp->paths, id);
	sf->pub.next = sp->by_path.v[id] ? &sp->by_path.v[id]->pub : NULL;
	sp->by_path.v[id] = sf;
	return sf;
}

/* dso.h, enum DsoType; dso.cpp, IpToVaddrInFile() of each. */
void symbol_file_set_type(struct symbol_file *sf, uint64_t type, uint64_t min_vaddr,
			  const uint64_t *off_of_min_vaddr)
{
	enum { KERNEL, KERNEL_MODULE, ELF_FILE, DEX_FILE, SYMBOL_MAP_FILE };
	struct perf_symbol_file *p = &sf->pub;

	switch (type) {
	case KERNEL_MODULE:
		/* Its offset is one in memory. */
		p->base = PERF_SYMBOLS_BY_MAP;
		p->delta = min_vaddr - (off_of_min_vaddr ? *off_of_min_vaddr : 0);
		break;
	case ELF_FILE:
		/* Without an offset, simpleperf took the segment with code for the whole file. */
		p->base = off_of_min_vaddr ? PERF_SYMBOLS_BY_OFF : PERF_SYMBOLS_BY_MAP;
		p->delta = min_vaddr - (off_of_min_vaddr ? *off_of_min_vaddr : 0);
		break;
	case DEX_FILE:
		p->base = PERF_SYMBOLS_BY_OFF;
		sf->is_dex = true;
		break;
	default:
		p->base = PERF_SYMBOLS_BY_IP;
		break;
	}
}

int symbol_file_add(struct simpleperf *sp, struct symbol_file *sf, uint64_t start, uint64_t len,
		    const char *name, size_t name_len)
{
	const char *copy;

	if (!len || !name_len)
		return 0;
	copy = arena_strndup(&sp->arena, name, name_len);
	if (!copy || vec_push(&sf->symbols, (struct perf_symbol){start, len, copy}))
		return -1;
	sf->pub.symbols = sf->symbols.v;
	sf->pub.n = sf->symbols.n;
	return 0;
}

/* Interpreted methods of Java are identified by the address of their byte code. Maps of code that
 * was compiled at run time, each with its own symbol file, have a mark in prot. */
bool simpleperf_is_code(const struct simpleperf *sp, const char *path, uint32_t prot)
{
	uint32_t id = sp->files.n ? strtab_find(&sp->paths, path, strlen(path)) : STRTAB_FAILED;

	return prot & PERF_MAP_JIT_SYMBOLS ||
	       (id < sp->by_path.n && sp->by_path.v[id] && sp->by_path.v[id]->is_dex);
}

static void note_damage(struct perf_file *f)
{
	f->stats.damaged = true;
	file_note(f, NOTE_SYMBOLS,
		  "simpleperf's symbols in the header are damaged; those of %zu files were read",
		  f->simpleperf.files.n);
}

/* ---- FILE -------------------------------------------------------------------------------- */

/* path, u32 type, u64 min_vaddr, u32 n, then for each symbol {u64 start, u32 len, name}; of dex
 * files: u32 n, u64 each; of ELF files and modules, in later versions: u64 offset of min_vaddr. */
static int take_file(struct perf_file *f, struct buf *b)
{
	enum { SYMBOL_BYTES = 8 + 4 + 1, DEX_FILE = 3 };
	const char *path = buf_cstr(b);
	uint32_t type = buf_u32(b), n;
	uint64_t min_vaddr = buf_u64(b), off;
	struct symbol_file *sf;

	n = buf_u32(b);
	if (!buf_ok(b) || n > buf_left(b) / SYMBOL_BYTES) {
		b->bad = true;
		return 0;
	}
	sf = simpleperf_add_file(&f->simpleperf, path, strlen(path));
	if (!sf || vec_reserve(&sf->symbols, n))
		return err_nomem(&f->err);
	for (uint32_t i = 0; i < n && buf_ok(b); i++) {
		uint64_t start = buf_u64(b);
		uint32_t len = buf_u32(b);
		const char *name = buf_cstr(b);

		if (name && symbol_file_add(&f->simpleperf, sf, start, len, name, strlen(name)))
			return err_nomem(&f->err);
	}
	if (type == DEX_FILE)
		buf_skip(b, 8ull * buf_u32(b));
	symbol_file_set_type(sf, type, min_vaddr, NULL);
	if (!buf_ok(b) || buf_left(b) < 8)
		return 0;
	off = buf_u64(b);
	symbol_file_set_type(sf, type, min_vaddr, &off);
	return 0;
}

/* Entries {u32 size, bytes}, in both kinds of sections. */
static int take_entries(struct perf_file *f, struct buf *b,
			int (*take)(struct perf_file *f, struct buf *entry))
{
	machine_keep_maps(f->machine); /* looking up symbols needs the maps of their files */
	while (buf_left(b)) {
		uint32_t size = buf_u32(b);
		struct buf entry = buf_sub(b, size);
		int rc = buf_ok(&entry) ? take(f, &entry) : 0;

		if (rc)
			return rc;
		if (!buf_ok(&entry))
			note_damage(f);
	}
	return 0;
}

int simpleperf_parse_file(struct perf_file *f, struct buf *b)
{
	return take_entries(f, b, take_file);
}

/* ---- FILE2 ------------------------------------------------------------------------------- */

/* message Symbol { vaddr = 1; len = 2; name = 3; } */
static int take_symbol2(struct perf_file *f, struct symbol_file *sf, struct buf *b)
{
	struct buf name = {0};
	uint64_t start = 0, len = 0;
	struct pb_field fd;

	while (pb_next(b, &fd)) {
		if (fd.number == 1)
			start = fd.value;
		else if (fd.number == 2)
			len = fd.value;
		else if (fd.number == 3)
			name = fd.bytes;
	}
	if (!buf_ok(b) || !name.p)
		return 0;
	return symbol_file_add(&f->simpleperf, sf, start, len, (const char *)name.p,
			       strnlen((const char *)name.p, buf_left(&name)))
		       ? err_nomem(&f->err)
		       : 0;
}

/* message ElfFile { file_offset_of_min_vaddr = 1; }, and KernelModule likewise */
static uint64_t take_offset2(struct buf b)
{
	uint64_t off = 0;
	struct pb_field fd;

	while (pb_next(&b, &fd))
		if (fd.number == 1)
			off = fd.value;
	return off;
}

/* message FileFeature { path = 1; type = 2; min_vaddr = 3; symbol = 4; dex_file = 5; elf_file = 6;
 * kernel_module = 7; }; zeros are left out. */
static int take_file2(struct perf_file *f, struct buf *b)
{
	uint64_t type = 0, min_vaddr = 0, off = 0;
	struct buf again = *b, path = {0};
	bool has_off = false;
	struct symbol_file *sf;
	struct pb_field fd;
	int rc = 0;

	while (pb_next(b, &fd)) {
		if (fd.number == 1)
			path = fd.bytes;
		else if (fd.number == 2)
			type = fd.value;
		else if (fd.number == 3)
			min_vaddr = fd.value;
		else if (fd.number == 6 || fd.number == 7) {
			has_off = true;
			off = take_offset2(fd.bytes);
		}
	}
	if (!buf_ok(b) || !path.p)
		return 0;
	sf = simpleperf_add_file(&f->simpleperf, (const char *)path.p,
				 strnlen((const char *)path.p, buf_left(&path)));
	if (!sf)
		return err_nomem(&f->err);
	symbol_file_set_type(sf, type, min_vaddr, has_off ? &off : NULL);
	while (!rc && pb_next(&again, &fd))
		if (fd.number == 4) {
			rc = take_symbol2(f, sf, &fd.bytes);
			b->bad |= fd.bytes.bad;
		}
	return rc;
}

int simpleperf_parse_file2(struct perf_file *f, struct buf *b)
{
	return take_entries(f, b, take_file2);
}

/* ---- asked from outside ------------------------------------------------------------------ */

const struct perf_symbol_file *perf_file_symbols(const struct perf_file *f, const struct dso *dso)
{
	const struct simpleperf *sp = &f->simpleperf;
	uint32_t id =
		sp->files.n ? strtab_find(&sp->paths, dso->path, strlen(dso->path)) : STRTAB_FAILED;

	return id < sp->by_path.n && sp->by_path.v[id] ? &sp->by_path.v[id]->pub : NULL;
}

const char *perf_file_kallsyms(const struct perf_file *f, size_t *size)
{
	*size = f->simpleperf.kallsyms_bytes;
	return f->simpleperf.kallsyms;
}

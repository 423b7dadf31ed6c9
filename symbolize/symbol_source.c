/* symbol_source.c - selects the source for each kind of dso; functions that sources share. */
#include "symbolize/symbol_source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "modules/modules.h"
#include "reader/reader.h"

/* For each kind of dso its source: NAME_source_ops of src_NAME.c, or of this file. */
#define SOURCES(X)                  \
	X(DSO_FILE, elf)            \
	X(DSO_VDSO, elf)            \
	X(DSO_KERNEL, kernel)       \
	X(DSO_KERNEL_MODULE, kmod)  \
	X(DSO_ANON, jit)            \
	X(DSO_BPF, bpf)             \
	X(DSO_GUEST_KERNEL, kernel) \
	X(DSO_UNKNOWN, none)

#define X(kind, name) extern const struct source_ops name##_source_ops;
SOURCES(X)
#undef X

const struct source_ops *source_ops_for(enum dso_kind kind)
{
	static const struct source_ops *const by_kind[] = {
#define X(kind, name) [kind] = &name##_source_ops,
		SOURCES(X)
#undef X
	};

	return by_kind[(unsigned)kind <= DSO_UNKNOWN ? kind : DSO_UNKNOWN];
}

int source_says(struct symbol_source *s, struct err *err, const char *fmt, ...)
{
	char *text = NULL, *joined = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_nomem(err);
	if (!s->used) {
		s->used = text;
		return 0;
	}
	n = asprintf(&joined, "%s, %s", s->used, text);
	free(text);
	if (n < 0)
		return err_nomem(err);
	free(s->used);
	s->used = joined;
	return 0;
}

int source_says_once(struct symbol_source *s, bool *said, const char *text, struct err *err)
{
	if (*said)
		return 0;
	*said = true;
	return source_says(s, err, "%s", text);
}

int source_says_table(struct symbol_source *s, struct err *err, const char *table, const char *path)
{
	const bool own = !strcmp(path, s->dso->path);

	return source_says(s, err, "%s%s%s", table, own ? "" : " of ", own ? "" : path);
}

int source_says_dwarf(struct symbol_source *s, struct err *err, const struct module *mod)
{
	/* The file may have changed since the index was made, and have none any more. */
	const struct elf_image *image = dwarf_image(mod);

	return source_says_table(s, err, "DWARF", image ? elf_image_path(image) : mod->dso->path);
}

void lookup_set(struct lookup *l, struct symbol_source *s, const struct functab *tab,
		const struct func *f, uint64_t addr)
{
	if (!f) {
		l->miss = SYM_MISS_NO_SYMBOL_HERE;
		return;
	}
	l->miss = SYM_MISS_FOUND;
	l->symbol = f->name;
	l->offset = addr - f->start;
	if (!s->env->count_aliases || !tab)
		return;
	if (s->counted_name != f->name || s->counted_start != f->start) {
		s->counted_name = f->name;
		s->counted_start = f->start;
		s->counted = icf_count(tab, f, s->linker_folds);
	}
	l->aliases = s->counted;
}

uint64_t *lookups_vaddrs(const struct lookups *l, size_t *n)
{
	struct sort_pair *pairs = malloc((l->n + 1) * sizeof *pairs);
	uint64_t *vaddrs = malloc((l->n + 1) * sizeof *vaddrs);
	size_t m = 0, i;
	bool ok = pairs && vaddrs;

	/* File offsets rise; the segments may be in another order in memory. */
	for (i = 0; ok && i < l->n; i++)
		if (l->v[i].has_vaddr)
			pairs[m++] = (struct sort_pair){l->v[i].vaddr, 0};
	ok = ok && !sort_pairs(pairs, m);
	for (i = 0; ok && i < m; i++)
		vaddrs[i] = pairs[i].key;
	free(pairs);
	*n = ok ? m : 0;
	if (ok)
		return vaddrs;
	free(vaddrs);
	return NULL;
}

int lookups_add_chain(struct lookups *l, size_t i, const struct dwarf_frame *chain, size_t n)
{
	size_t j;

	if (l->frames.n + n > UINT32_MAX || vec_reserve(&l->frames, l->frames.n + n))
		return -1;
	l->v[i].first_frame = (uint32_t)l->frames.n;
	for (j = 0; j < n; j++)
		if (chain[j].name || chain[j].linkage_name || j + 1 == n)
			l->frames.v[l->frames.n++] = chain[j];
	l->v[i].n_frames = (uint32_t)l->frames.n - l->v[i].first_frame;
	return 0;
}

/* ---- dsos that have no symbols of their own ------------------------------------------------ */

static int all_miss(struct symbol_source *s, struct lookups *l, enum sym_miss miss)
{
	size_t i;

	s->miss = miss;
	for (i = 0; i < l->n; i++)
		l->v[i].miss = (uint8_t)miss;
	return 0;
}

static int none_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	(void)err;
	return all_miss(s, l, SYM_MISS_NOT_A_FILE);
}

const struct source_ops none_source_ops = {.by_ip = true, .symbols = none_symbols};

/* ---- BPF programs and trampolines: the path is the symbol ---------------------------------- */

/* The start of a BPF program, from its KSYMBOL record. */
static uint64_t bpf_start(const struct symbol_source *s, uint64_t ip)
{
	size_t i, n = s->env->file ? perf_file_map_count(s->env->file) : 0;

	for (i = 0; i < n; i++) {
		const struct map *m = perf_file_map(s->env->file, i);

		if (m->dso == s->dso && ip >= m->start && ip < m->end)
			return m->start;
	}
	return ip;
}

static int bpf_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		l->v[i].symbol = s->dso->path;
		l->v[i].offset = l->v[i].key - bpf_start(s, l->v[i].key);
	}
	return s->used ? 0 : source_says(s, err, "name in the recording");
}

const struct source_ops bpf_source_ops = {.by_ip = true, .symbols = bpf_symbols};

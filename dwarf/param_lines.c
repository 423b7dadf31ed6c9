/* param_lines.c - from a line of a file to addresses. */
#include <string.h>

#include "base/err.h"
#include "dwarf/params.h"

struct looking {
	struct dwarf_params *p;
	const char *file;
	size_t n;
	uint32_t line;
	struct dwarf_line_places *ret;
	struct hash_table copies; /* innermost DIE -> index in ret->vaddrs */
	struct arena paths;
};

/* Is it the path that was meant, or does it end in it? */
static bool is_meant(const struct looking *l, const char *path)
{
	const size_t len = path ? strlen(path) : 0;

	return len >= l->n && !memcmp(path + len - l->n, l->file, l->n) &&
	       (len == l->n || path[len - l->n - 1] == '/' || *l->file == '/');
}

/* By the numbers of the line program. */
static bool *meant_files(struct looking *l, struct dwarf_lines *lines, bool *any)
{
	bool *meant = calloc(lines->files.n + 1, sizeof *meant), no_memory = false;

	*any = false;
	for (uint64_t i = 0; meant && i <= lines->files.n; i++) {
		meant[i] = is_meant(l, dwarf_lines_path(lines, i, &l->paths, &no_memory));
		*any |= meant[i];
	}
	l->p->failed |= !meant || no_memory;
	return meant;
}

/* Of each function, and each copy of an inlined one, the first address. */
static void add_address(struct looking *l, uint64_t vaddr)
{
	const struct dwarf_site *site;
	uint32_t at;

	if (dwarf_params_at(l->p, vaddr, &site) || !site)
		return;
	at = hash_get(&l->copies, site->innermost);
	if (at != HASH_NONE) {
		if (vaddr < l->ret->vaddrs.v[at])
			l->ret->vaddrs.v[at] = vaddr;
		return;
	}
	l->p->failed |= hash_put(&l->copies, site->innermost, (uint32_t)l->ret->vaddrs.n) ||
			vec_push(&l->ret->vaddrs, vaddr);
}

static void look_in(struct looking *l, struct dwarf_param_unit *u)
{
	const struct dwarf_rows *rows = &u->lines.rows;
	bool any, *meant, was_here = false;

	dwarf_param_lines(l->p, u);
	meant = meant_files(l, &u->lines, &any);
	for (size_t i = 0; any && i < rows->n && !l->p->failed; i++) {
		const struct dwarf_row *r = &rows->v[i];
		const bool is_file = r->file <= u->lines.files.n && meant[r->file];
		const bool is_here = is_file && r->line == l->line;

		l->ret->has_file |= is_file;
		if (is_here && !was_here)
			add_address(l, r->addr);
		if (is_file && r->line > l->line &&
		    (!l->ret->next_line || r->line < l->ret->next_line))
			l->ret->next_line = r->line;
		was_here = is_here;
	}
	free(meant);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int dwarf_params_line(struct dwarf_params *p, const char *file, size_t n, uint32_t line,
		      struct dwarf_line_places *ret)
{
	struct looking l = {.p = p, .file = file, .n = n, .line = line, .ret = ret};

	for (size_t i = 0; i < p->main.n_units && !p->failed; i++) {
		struct dwarf_param_unit *u = dwarf_param_unit(p, &p->main, &p->main.units[i]);

		if (u)
			look_in(&l, u);
	}
	if (ret->vaddrs.n)
		qsort(ret->vaddrs.v, ret->vaddrs.n, sizeof *ret->vaddrs.v, by_address);
	hash_done(&l.copies);
	arena_done(&l.paths);
	return p->failed ? -ERR_NOMEM : 0;
}

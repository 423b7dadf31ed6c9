/* filter.c - executable sections and wanted addresses. */
#include "dwarf/filter.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/vec.h"
#include "dwarf/reloc.h"

struct regions {
	struct dwarf_region *v;
	size_t n, cap;
};

static int add(struct regions *r, uint64_t lo, uint64_t size)
{
	uint64_t hi = lo + size;

	if (hi <= lo)
		return 0;
	return vec_push(r, (struct dwarf_region){lo, hi});
}

/* Sections are preferred to segments: a debug file keeps their headers, and they do not contain
 * what only shares a segment with code, such as the ELF header at address 0 of old layouts, where
 * dropped code seems to be. */
static int collect_sections(struct regions *r, struct elf_image *img, const uint64_t *layout)
{
	size_t i;

	for (i = 0; i < elf_image_section_count(img); i++) {
		const char *name;
		struct elf_section s;

		if (!elf_image_section_at(img, i, &name, &s) || !(s.flags & SHF_EXECINSTR))
			continue;
		if (layout && layout[i] == DWARF_NOT_PLACED)
			continue;
		if (add(r, layout ? layout[i] : s.vaddr, s.size))
			return -1;
	}
	return 0;
}

static int collect(struct regions *r, struct elf_image *img)
{
	const struct elf_segment *segments;
	uint64_t *layout = NULL;
	size_t i, n;
	int rc;

	if (elf_image_type(img) == ET_REL) {
		layout = dwarf_reloc_layout(img);
		if (!layout)
			return -1;
	}
	rc = collect_sections(r, img, layout);
	free(layout);
	n = r->n ? 0 : elf_image_segments(img, &segments);
	for (i = 0; !rc && i < n; i++)
		if (segments[i].flags & PF_X)
			rc = add(r, segments[i].vaddr, segments[i].memsz);
	return rc;
}

static int region_cmp(const void *a, const void *b)
{
	const struct dwarf_region *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

int dwarf_filter_open(struct dwarf_filter *f, struct elf_image *img, const uint64_t *addrs,
		      size_t n)
{
	struct regions r = {0};
	size_t i, kept = 0;

	*f = (struct dwarf_filter){.addrs = addrs, .n = n};
	if (collect(&r, img)) {
		vec_done(&r);
		return -ERR_NOMEM;
	}
	if (r.n)
		qsort(r.v, r.n, sizeof *r.v, region_cmp);
	for (i = 0; i < r.n; i++)
		if (kept && r.v[i].lo <= r.v[kept - 1].hi) {
			if (r.v[i].hi > r.v[kept - 1].hi)
				r.v[kept - 1].hi = r.v[i].hi;
		} else {
			r.v[kept++] = r.v[i];
		}
	f->code = r.v;
	f->n_code = kept;
	return 0;
}

void dwarf_filter_close(struct dwarf_filter *f)
{
	free(f->code);
	*f = (struct dwarf_filter){0};
}

bool dwarf_filter_code(const struct dwarf_filter *f, uint64_t lo, uint64_t *hi)
{
	size_t a = 0, b = f->n_code;

	while (a < b) {
		size_t mid = a + (b - a) / 2;

		if (f->code[mid].hi <= lo)
			a = mid + 1;
		else
			b = mid;
	}
	if (a == f->n_code || lo < f->code[a].lo)
		return false;
	if (*hi > f->code[a].hi)
		*hi = f->code[a].hi;
	return true;
}

size_t dwarf_filter_first(const struct dwarf_filter *f, uint64_t addr)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->addrs[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

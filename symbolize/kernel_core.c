/* kernel_core.c - file format: a header, a row for each address at which a symbol starts, names.
 *
 * In native byte order, because the file never leaves the machine. */
#include "symbolize/kernel_core.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cache_file.h"
#include "base/hash.h"
#include "base/nonstring.h"
#include "symbolize/symbol_source.h"

struct core_row {
	uint32_t off;  /* from _text, rising */
	uint32_t name; /* in names */
	uint32_t aliases;
	uint32_t sum; /* row_sum(): few rows of a hundred thousand are read */
};

struct core_header {
	char magic[8]; /* the last one is the version */
	uint64_t _text, _stext, _etext;
	uint64_t n, names_size;
	struct build_id id;
	uint8_t zero[3];
	uint64_t maker; /* cache_file_maker(): another build may choose other names */
	uint64_t sum;	/* of what is before it */
};

static const char magic[8] NONSTRING = "UNSPKS\0\4";

static uint64_t header_sum(const struct core_header *h)
{
	return hash_bytes(h, offsetof(struct core_header, sum));
}

/* Checksum of a row, its name, and the end of the function (the start of the next row). */
static uint32_t row_sum(const struct core_row *r, uint32_t end, const char *name)
{
	uint32_t key[] = {r->off, end, r->name, r->aliases};

	return (uint32_t)hash_mix(hash_bytes(key, sizeof key), hash_bytes(name, strlen(name)));
}

/* Writes the path of the file. Returns false if it is too long. */
static bool core_path(const char *dir, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s/kernel.symbols", dir);

	return n > 0 && (size_t)n < size;
}

static bool check(struct kernel_core *c, const struct build_id *id)
{
	const struct core_header *h = c->data;

	if (c->size < sizeof *h || memcmp(h->magic, magic, sizeof magic) ||
	    h->sum != header_sum(h) || h->maker != cache_file_maker() ||
	    !build_id_identical(&h->id, id))
		return false;
	if (h->n > (c->size - sizeof *h) / sizeof *c->rows || !h->n ||
	    h->names_size != c->size - sizeof *h - h->n * sizeof *c->rows || !h->names_size)
		return false;
	c->rows = (const struct core_row *)(h + 1);
	c->names = (const char *)(c->rows + h->n);
	c->n = h->n;
	c->names_size = h->names_size;
	c->_text = h->_text;
	c->_stext = h->_stext;
	c->_etext = h->_etext;
	return !c->names[c->names_size - 1];
}

bool kernel_core_open(struct kernel_core *c, const char *dir, const struct build_id *id)
{
	char path[PATH_MAX];
	const void *data;
	size_t size;

	if (!id->size || !core_path(dir, path, sizeof path) || !cache_file_map(path, &data, &size))
		return false;
	*c = (struct kernel_core){.data = data, .size = size};
	if (check(c, id))
		return true;
	kernel_core_close(c);
	return false;
}

void kernel_core_close(struct kernel_core *c)
{
	if (c->data)
		munmap((void *)(uintptr_t)c->data, c->size);
	*c = (struct kernel_core){0};
}

bool kernel_core_find(struct kernel_core *c, uint64_t addr, struct func *ret, uint32_t *aliases)
{
	size_t lo = 0, hi = c->n;
	const struct core_row *row;
	uint64_t off = addr - c->_text;
	uint32_t end;

	if (addr < c->_text || addr >= c->_etext || c->rows[0].off > off)
		return false;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->rows[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	/* After a damaged row the search may end at a valid row that does not contain this address.
	 */
	row = &c->rows[lo];
	end = lo + 1 < c->n ? row[1].off : (uint32_t)(c->_etext - c->_text);
	c->damaged |= row->name >= c->names_size || off < row->off || off >= end ||
		      row->sum != row_sum(row, end, c->names + row->name);
	if (c->damaged)
		return false;
	*ret = (struct func){
		.start = c->_text + row->off, .end = c->_text + end, .name = c->names + row->name};
	*aliases = row->aliases;
	return true;
}

/* ---- keeping ----------------------------------------------------------------------------- */

/* Makes one row for each start address, with the name that lookups choose there. */
static int add_rows(const struct kallsyms *k, struct core_row *rows, char *names, size_t *n,
		    size_t *names_size)
{
	struct func_cursor cursor = {0};
	size_t g;

	*n = *names_size = 0;
	for (g = 0; g < k->tab.groups.n; g++) {
		uint64_t start = k->tab.groups.v[g].start;
		const struct func *f;
		size_t len;

		if (start < k->_text || start >= k->_etext)
			continue;
		f = functab_find(&k->tab, start, &cursor);
		if (!f || f->tag) /* a module's symbol among the kernel's own is unexpected */
			return -1;
		len = strlen(f->name) + 1;
		if (rows) {
			rows[*n].off = (uint32_t)(start - k->_text);
			rows[*n].name = (uint32_t)*names_size;
			rows[*n].aliases = icf_count(&k->tab, f, false);
			memcpy(names + *names_size, f->name, len);
		}
		++*n;
		*names_size += len;
	}
	return *n && *names_size <= UINT32_MAX ? 0 : -1;
}

static void add_sums(struct core_row *rows, const char *names, size_t n, uint32_t end)
{
	size_t i;

	for (i = 0; i < n; i++)
		rows[i].sum =
			row_sum(&rows[i], i + 1 < n ? rows[i + 1].off : end, names + rows[i].name);
}

void kernel_core_save(const char *dir, uint64_t max_bytes, const struct build_id *id,
		      const struct kallsyms *k)
{
	struct core_header *h;
	size_t n, names_size, size;
	char path[PATH_MAX];
	struct core_row *rows;

	if (!id->size || !k->_text || k->_etext <= k->_text || k->_etext - k->_text > UINT32_MAX ||
	    add_rows(k, NULL, NULL, &n, &names_size) || !core_path(dir, path, sizeof path))
		return;
	size = sizeof *h + n * sizeof *rows + names_size;
	h = size <= max_bytes ? calloc(1, size) : NULL;
	if (!h)
		return;
	memcpy(h->magic, magic, sizeof magic);
	h->_text = k->_text;
	h->_stext = k->_stext;
	h->_etext = k->_etext;
	h->n = n;
	h->names_size = names_size;
	h->id = *id;
	h->maker = cache_file_maker();
	h->sum = header_sum(h);
	rows = (struct core_row *)(h + 1);
	add_rows(k, rows, (char *)(rows + n), &n, &names_size);
	add_sums(rows, (const char *)(rows + n), n, (uint32_t)(k->_etext - k->_text));
	cache_file_publish(dir, path, h, size);
	free(h);
}

/* block.c - the window of blocks in memory. */
#include "reader/block.h"

#include <assert.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/tempfile.h"
#include "reader/byte_source.h"

void block_store_init(struct block_store *s, size_t window_bytes)
{
	*s = (struct block_store){.spill_fd = -1};
	s->window = window_bytes / BLOCK_BYTES;
	if (s->window < 4)
		s->window = 4;
}

void block_store_done(struct block_store *s)
{
	size_t i;

	for (i = 0; i < s->table.n; i++) {
		if (s->table.v[i] && !s->table.v[i]->mapped)
			free(s->table.v[i]->data);
		free(s->table.v[i]);
	}
	for (i = 0; i < s->spare.n; i++)
		free(s->spare.v[i]);
	vec_done(&s->table);
	vec_done(&s->resident);
	vec_done(&s->spare);
	if (s->spill_fd >= 0)
		close(s->spill_fd);
	s->spill_fd = -1;
}

static int block_spill(struct block_store *s, struct block *b, struct err *err)
{
	int rc;

	if (s->spill_fd < 0) {
		s->spill_fd = tempfile_open(err);
		if (s->spill_fd < 0)
			return s->spill_fd;
	}
	rc = tempfile_append(s->spill_fd, b->data, b->n, err);
	if (rc)
		return rc;
	b->spilled = true;
	b->file_off = s->spill_end;
	s->spill_end += b->n;
	return 0;
}

static void resident_remove(struct block_store *s, const struct block *b)
{
	size_t i;

	for (i = 0; s->resident.v[i] != b; i++)
		assert(i + 1 < s->resident.n);
	s->resident.v[i] = s->resident.v[--s->resident.n];
}

/* Takes the memory of the block that will be needed last. Records leave in about the order of the
 * file, so that is the youngest block. Returns NULL if all blocks are pinned, or with *rc after an
 * error. */
static uint8_t *evict(struct block_store *s, int *rc, struct err *err)
{
	struct block *victim = NULL;
	uint8_t *data;
	size_t i;

	for (i = 0; i < s->resident.n; i++) {
		struct block *b = s->resident.v[i];

		if (!b->pins && (!victim || b->no > victim->no))
			victim = b;
	}
	if (!victim)
		return NULL;
	if (victim->fd < 0 && !victim->spilled) {
		*rc = block_spill(s, victim, err);
		if (*rc)
			return NULL;
	}
	resident_remove(s, victim);
	data = victim->data;
	victim->data = NULL;
	return data;
}

/* Gives b a buffer, so that it becomes resident. */
static int block_give_data(struct block_store *s, struct block *b, struct err *err)
{
	uint8_t *data = NULL;
	int rc = 0;

	if (vec_reserve(&s->resident, s->resident.n + 1))
		return err_nomem(err);
	if (s->spare.n)
		data = s->spare.v[--s->spare.n];
	else if (s->n_buffers >= s->window)
		data = evict(s, &rc, err);
	if (rc)
		return rc;
	if (!data) {
		if (vec_reserve(&s->spare, s->n_buffers + 1))
			return err_nomem(err);
		data = aligned_alloc(4096, BLOCK_BYTES);
		if (!data)
			return err_nomem(err);
		pages_populate(data, BLOCK_BYTES);
		s->n_buffers++;
	}
	b->data = data;
	s->resident.v[s->resident.n++] = b;
	return 0;
}

/* Removes freed blocks from the front of the table, but only when there are many, because the rest
 * of the table has to be moved. */
static void table_trim(struct block_store *s)
{
	size_t i = 0;

	while (i < s->table.n && !s->table.v[i])
		i++;
	if (i < 64 || i < s->table.n / 2)
		return;
	s->table.n -= i;
	memmove(s->table.v, s->table.v + i, s->table.n * sizeof *s->table.v);
	s->first_no += i;
}

void block_store_forget(struct block_store *s)
{
	mapped_done_forget(&s->done);
}

struct block *block_new(struct block_store *s, uint8_t *mapped, struct err *err)
{
	struct block *b;

	table_trim(s);
	b = calloc(1, sizeof *b);
	if (!b || vec_reserve(&s->table, s->table.n + 1)) {
		free(b);
		err_nomem(err);
		return NULL;
	}
	if (mapped) {
		b->mapped = true;
		b->data = mapped;
		s->n_mapped++;
	} else if (block_give_data(s, b, err)) {
		free(b);
		return NULL;
	}
	b->no = s->first_no + s->table.n;
	b->fd = -1;
	b->pins = 1;
	s->table.v[s->table.n++] = b;
	return b;
}

static bool has_page(const struct block *b, uint32_t page)
{
	return b->pages[page / 64] >> page % 64 & 1;
}

/* Reads pages [first, end). */
static int read_pages(const struct block_store *s, struct block *b, uint32_t first, uint32_t end,
		      struct err *err)
{
	const uint32_t off = first * BLOCK_PAGE;
	const size_t wanted = (end * BLOCK_PAGE < b->n ? end * BLOCK_PAGE : b->n) - off;
	ssize_t n = pread_full(b->spilled ? s->spill_fd : b->fd, b->file_off + off, b->data + off,
			       wanted, b->spilled ? "temporary file" : "recording", err);

	if (n < 0)
		return (int)n;
	/* The file became shorter: the missing records will be found to be damaged. */
	if ((size_t)n < wanted)
		memset(b->data + off + n, 0, wanted - (size_t)n);
	for (; first < end; first++)
		b->pages[first / 64] |= 1ull << first % 64;
	return 0;
}

int block_reload(struct block_store *s, struct block *b, uint32_t off, uint32_t n, struct err *err)
{
	const uint32_t n_pages = (b->n + BLOCK_PAGE - 1) / BLOCK_PAGE;
	uint32_t page = off / BLOCK_PAGE, last, end;
	int rc;

	if (off >= b->n)
		return 0;
	last = (off + (n < b->n - off ? n : b->n - off) - 1) / BLOCK_PAGE;
	if (!b->data) {
		rc = block_give_data(s, b, err);
		if (rc)
			return rc;
		b->partial = true;
		memset(b->pages, 0, sizeof b->pages);
		b->ahead = 1;
	}
	for (; page <= last; page = end) {
		end = page + 1;
		if (has_page(b, page))
			continue;
		while (end < n_pages && end - page < b->ahead && !has_page(b, end))
			end++;
		rc = read_pages(s, b, page, end, err);
		if (rc)
			return rc;
		b->ahead = b->ahead < BLOCK_PAGES ? 2 * b->ahead : BLOCK_PAGES;
	}
	return 0;
}

void block_drop(struct block_store *s, struct block *b)
{
	if (b->refs || b->pins)
		return;
	if (b->mapped) {
		s->n_mapped--;
		mapped_done_add(&s->done, b->data, b->n);
	} else if (b->data) {
		resident_remove(s, b);
		if (s->n_buffers > s->window) {
			free(b->data);
			s->n_buffers--;
		} else {
			s->spare.v[s->spare.n++] = b->data; /* room came with the buffer */
		}
	}
	s->table.v[b->no - s->first_no] = NULL;
	free(b);
}

void block_unpin(struct block_store *s, struct block *b)
{
	assert(b->pins);
	b->pins--;
	if (b->mapped && !b->pins && b->refs && s->n_mapped > s->window)
		mapped_done_add(&s->done, b->data, b->n);
	block_drop(s, b);
}

/* order_log.c - decides which pages of steps are in memory. */
#include "reader/order_log.h"

#include <unistd.h>

#include "base/tempfile.h"
#include "reader/byte_source.h"

static struct order_page *page_of(struct order_log *l, uint64_t no)
{
	return &l->pages.v[no - l->first_no];
}

/* ---- pages ------------------------------------------------------------------------------- */

static uint8_t *page_memory(struct order_log *l)
{
	uint8_t *p = l->spare;

	l->spare = NULL;
	return p ? p : malloc(ORDER_PAGE_BYTES);
}

static void give_back(struct order_log *l, uint8_t *memory)
{
	if (l->spare)
		free(memory);
	else
		l->spare = memory;
}

/* Makes sure that the temporary file has a copy of the page. False: it cannot be written. */
static bool save(struct order_log *l, struct order_page *page)
{
	int fd = l->fd - 1;

	if (page->file_off)
		return true;
	if (l->no_file)
		return false;
	if (fd < 0)
		fd = tempfile_open(NULL);
	if (fd >= 0)
		l->fd = fd + 1;
	if (fd < 0 || tempfile_append(fd, page->data, ORDER_PAGE_BYTES, NULL)) {
		l->no_file = true;
		return false;
	}
	page->file_off = l->file_end + 1;
	l->file_end += ORDER_PAGE_BYTES;
	return true;
}

/* Takes the memory of a full page that was not used lately. NULL if all must stay. */
static uint8_t *evict(struct order_log *l)
{
	for (size_t i = 0; i < 2 * l->resident.n; i++, l->hand++) {
		struct order_page *page;
		uint8_t *memory;

		if (l->hand >= l->resident.n)
			l->hand = 0;
		page = page_of(l, l->resident.v[l->hand]);
		if (page->used) {
			page->used = false;
			continue;
		}
		if (!save(l, page))
			return NULL;
		memory = page->data;
		page->data = NULL;
		l->resident.v[l->hand] = l->resident.v[--l->resident.n];
		return memory;
	}
	return NULL;
}

/* The last page is full. If there are many pages in memory it is moved to the file at once, because
 * the pages before it are needed first. */
static int retire(struct order_log *l)
{
	struct order_page *page = &l->pages.v[l->pages.n - 1];

	if (!page->n_unread) {
		give_back(l, page->data);
		page->data = NULL;
	} else if (l->resident.n >= ORDER_PAGES_MAX && save(l, page)) {
		give_back(l, page->data);
		page->data = NULL;
	} else if (vec_push(&l->resident, l->first_no + l->pages.n - 1)) {
		return -1;
	}
	return 0;
}

static void trim(struct order_log *l)
{
	size_t gone = 0;

	while (gone + 1 < l->pages.n && !l->pages.v[gone].n_unread)
		gone++;
	if (gone < 16 || gone < l->pages.n / 2)
		return;
	l->pages.n -= gone;
	memmove(l->pages.v, l->pages.v + gone, l->pages.n * sizeof *l->pages.v);
	l->first_no += gone;
}

int order_log_begin_page(struct order_log *l)
{
	struct order_page page = {0};

	if (l->pages.n && retire(l))
		return -1;
	trim(l);
	page.data = page_memory(l);
	if (!page.data || vec_push(&l->pages, page)) {
		free(page.data);
		return -1;
	}
	l->last = &l->pages.v[l->pages.n - 1];
	l->put = page.data;
	l->put_end = page.data + ORDER_PAGE_BYTES - ORDER_STEP_MAX + 1;
	l->end = (l->first_no + l->pages.n - 1) * ORDER_PAGE_BYTES;
	return 0;
}

int order_log_load(struct order_log *l, uint64_t no, struct err *err)
{
	struct order_page *page = page_of(l, no);
	uint8_t *memory = l->resident.n >= ORDER_PAGES_MAX ? evict(l) : NULL;
	ssize_t n;

	memory = memory ? memory : page_memory(l);
	if (!memory || vec_reserve(&l->resident, l->resident.n + 1)) {
		free(memory);
		return err_nomem(err);
	}
	n = pread_full(l->fd - 1, page->file_off - 1, memory, ORDER_PAGE_BYTES, "temporary file",
		       err);
	if (n != ORDER_PAGE_BYTES) {
		free(memory);
		return n < 0 ? (int)n : err_set(err, ERR_IO, "temporary file", "it became shorter");
	}
	page->data = memory;
	l->resident.v[l->resident.n++] = no;
	return 0;
}

void order_log_drop(struct order_log *l, uint64_t no)
{
	struct order_page *page = page_of(l, no);

	if (no == l->first_no + l->pages.n - 1)
		return; /* being written */
	for (size_t i = 0; i < l->resident.n; i++)
		if (l->resident.v[i] == no) {
			l->resident.v[i] = l->resident.v[--l->resident.n];
			break;
		}
	give_back(l, page->data);
	page->data = NULL;
}

void order_log_done(struct order_log *l)
{
	for (size_t i = 0; i < l->pages.n; i++)
		free(l->pages.v[i].data);
	free(l->spare);
	vec_done(&l->pages);
	vec_done(&l->resident);
	if (l->fd)
		close(l->fd - 1);
	*l = (struct order_log){0};
}

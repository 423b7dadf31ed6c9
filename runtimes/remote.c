/* remote.c - reads /proc/PID/mem. */
#include "runtimes/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int remote_open(struct remote *r, pid_t pid, struct err *err)
{
	char path[32];

	*r = (struct remote){.fd = -1};
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	r->pages = calloc(REMOTE_PAGES, sizeof *r->pages);
	if (!r->pages)
		return err_nomem(err);
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd >= 0)
		return 0;
	free(r->pages);
	r->pages = NULL;
	return err_errno(err, errno, path, "open");
}

void remote_close(struct remote *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->pages);
	*r = (struct remote){.fd = -1};
}

void remote_forget(struct remote *r)
{
	for (size_t i = 0; i < REMOTE_PAGES; i++)
		r->pages[i].addr = 0;
}

void remote_renew(struct remote *r, uint64_t budget)
{
	remote_forget(r);
	r->budget = budget;
}

/* A process that has ended has no memory: then 0 bytes are read. */
static bool read_all(struct remote *r, uint64_t addr, void *to, size_t n)
{
	ssize_t got;

	if (!r->budget || addr > INT64_MAX || n > INT64_MAX - addr)
		return false;
	r->budget--;
	got = pread(r->fd, to, n, (off_t)addr);
	if (!got && n)
		r->is_gone = true;
	return got >= 0 && (size_t)got == n;
}

static const uint8_t *page_at(struct remote *r, uint64_t addr)
{
	struct remote_page *p = &r->pages[addr / REMOTE_PAGE % REMOTE_PAGES];

	addr -= addr % REMOTE_PAGE;
	if (p->addr == addr + 1)
		return p->bytes;
	p->addr = 0;
	if (!read_all(r, addr, p->bytes, sizeof p->bytes))
		return NULL;
	p->addr = addr + 1;
	return p->bytes;
}

bool remote_read(struct remote *r, uint64_t addr, void *to, size_t n)
{
	uint8_t *at = to;
	size_t part;

	if (n > REMOTE_PAGE && read_all(r, addr, to, n))
		return true;
	if (n <= REMOTE_PAGE && addr <= UINT64_MAX - n) {
		for (; n; n -= part, at += part, addr += part) {
			const uint8_t *page = page_at(r, addr);
			size_t in = addr % REMOTE_PAGE;

			if (!page)
				break;
			part = n < REMOTE_PAGE - in ? n : REMOTE_PAGE - in;
			memcpy(at, page + in, part);
		}
		if (!n)
			return true;
	}
	memset(at, 0, n);
	return false;
}

bool remote_u8(struct remote *r, uint64_t addr, uint8_t *ret)
{
	return remote_read(r, addr, ret, sizeof *ret);
}

bool remote_u16(struct remote *r, uint64_t addr, uint16_t *ret)
{
	return remote_read(r, addr, ret, sizeof *ret);
}

bool remote_u32(struct remote *r, uint64_t addr, uint32_t *ret)
{
	return remote_read(r, addr, ret, sizeof *ret);
}

bool remote_u64(struct remote *r, uint64_t addr, uint64_t *ret)
{
	return remote_read(r, addr, ret, sizeof *ret);
}

bool remote_text(struct remote *r, uint64_t addr, char *to, size_t size)
{
	for (size_t i = 0; addr && i < size; i++) {
		uint8_t c;

		if (!remote_u8(r, addr + i, &c) || (c && (c < ' ' || c == 0x7f)))
			break;
		to[i] = (char)c;
		if (!c)
			return true;
	}
	to[0] = 0;
	return false;
}

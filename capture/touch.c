/* touch.c - a byte of each missing page. */
#include "capture/touch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* One call touches no more than a copy may hold; all of them no more than this. */
enum { PAGES_PER_CALL = 17, PAGES_MAX = 1 << 16 };

void touch_init(struct touch *t)
{
	*t = (struct touch){.fd = -1};
}

void touch_done(struct touch *t)
{
	if (t->fd >= 0)
		close(t->fd);
	hash_done(&t->seen);
	touch_init(t);
}

static int memory_of(struct touch *t, pid_t pid)
{
	char path[32];

	if (t->pid == pid)
		return t->fd;
	if (t->fd >= 0)
		close(t->fd);
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	t->pid = pid;
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	return t->fd;
}

/* Is the page there now? The memory that is open may be that of the program before exec. */
static bool touch_page(struct touch *t, pid_t pid, uint64_t at, bool is_first)
{
	char byte;

	if (memory_of(t, pid) < 0)
		return false;
	if (pread(t->fd, &byte, 1, (off_t)at) == 1)
		return true;
	if (!is_first)
		return false;
	close(t->fd);
	t->fd = -1;
	t->pid = 0;
	return memory_of(t, pid) >= 0 && pread(t->fd, &byte, 1, (off_t)at) == 1;
}

void touch_stack(struct touch *t, pid_t pid, pid_t tid, uint64_t at, uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t key = hash_mix((uint64_t)tid, at), end = at + bytes;
	unsigned n;

	if (t->seen.n >= PAGES_MAX || hash_get(&t->seen, key) != HASH_NONE ||
	    hash_put(&t->seen, key, 0))
		return;
	for (n = 0; n < PAGES_PER_CALL && at < end && touch_page(t, pid, at, !n); n++, at += page)
		t->pages++;
}

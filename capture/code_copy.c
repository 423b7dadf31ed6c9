/* code_copy.c - copies pages with code: see code_copy.h. */
#include "capture/code_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/processor.h"
#include "capture/sysfile.h"
#include "functions/functions.h"

enum { PAGE = JIT_PAGE_BYTES };

/* Pages are read and written together as far as they are neighbours. */
enum { RUN_PAGES = 64 };

/* How often jumps are followed from the pages that samples have led to. */
enum { JUMPS_DEEP = 2 };

struct taking {
	struct code_copy *c;
	const struct code_ranges *ranges;
	struct code_log *log;
	uint64_t now_ns;
	int fd;
	VEC(uint64_t) todo; /* page addresses */
	uint8_t bytes[RUN_PAGES * PAGE];
};

static void add_page(struct taking *t, uint64_t page)
{
	if (!code_ranges_find(t->ranges, page) || hash_get(&t->c->by_page, page) != HASH_NONE)
		return;
	if (vec_push(&t->c->pages, (struct code_page){page, 0}) ||
	    hash_put(&t->c->by_page, page, (uint32_t)t->c->pages.n - 1))
		return; /* left out, or looked at twice */
	(void)vec_push(&t->todo, page);
}

static void add_with_neighbours(struct taking *t, uint64_t addr)
{
	const struct code_range *r = code_ranges_find(t->ranges, addr);
	const uint64_t page = addr - addr % PAGE;

	if (!r)
		return;
	if (hash_get(&t->c->by_page, page) == HASH_NONE)
		add_page(t, page);
	else
		(void)vec_push(&t->todo, page);
	if (t->c->alone)
		return;
	if (page >= PAGE)
		add_page(t, page - PAGE);
	add_page(t, page + PAGE);
	add_page(t, r->start - r->start % PAGE);
}

/* Intel SDM volume 2: JMP rel32, Jcc rel32. Whatever else looks like one costs a page. */
static void add_jumps(struct taking *t, uint64_t start, const uint8_t *v, size_t n)
{
	const struct processor *here = processor_here();
	int32_t rel;

	if (!here || here->insn_set != INSN_SET_X86)
		return;
	for (size_t i = 0; i + 6 <= n; i++) {
		const bool is_jcc = v[i] == 0x0f && (v[i + 1] & 0xf0) == 0x80;
		uint64_t to;

		if (v[i] != 0xe9 && !is_jcc)
			continue;
		memcpy(&rel, v + i + 1 + is_jcc, sizeof rel);
		to = start + i + 5 + is_jcc + (uint64_t)(int64_t)rel;
		if (to - start >= n && code_ranges_find(t->ranges, to))
			add_page(t, to - to % PAGE);
	}
}

/* Writes a page, if it has changed and there is room. */
static void write_page(struct taking *t, uint64_t addr, const uint8_t *bytes)
{
	struct code_page *p = &t->c->pages.v[hash_get(&t->c->by_page, addr)];
	uint64_t print = hash_bytes(bytes, PAGE);

	print += !print;
	if (p->print == print)
		return;
	if (t->c->bytes + PAGE > CODE_COPY_MAX) {
		t->c->is_cut = true;
		return;
	}
	p->print = print;
	t->c->bytes += PAGE;
	code_log_add_bytes(t->log, t->now_ns, addr, bytes, PAGE);
}

static int by_addr(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Leaves each of the sorted values once. Returns how many. */
static size_t unique(uint64_t *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!k || v[i] != v[k - 1])
			v[k++] = v[i];
	return k;
}

/* Reads pages from the i-th on that are neighbours. Returns how many; their bytes are there only if
 * *ok. */
static size_t read_run(struct taking *t, const uint64_t *v, size_t n, bool *ok)
{
	size_t run = 1;
	ssize_t got;

	while (run < n && run < RUN_PAGES && v[run] == v[0] + run * PAGE)
		run++;
	got = pread(t->fd, t->bytes, run * PAGE, (off_t)v[0]);
	if (got <= 0 && run > 1) {
		run = 1;
		got = pread(t->fd, t->bytes, PAGE, (off_t)v[0]);
	}
	*ok = got >= PAGE;
	if (!got)
		t->c->is_gone = true;
	return *ok ? (size_t)got / PAGE : 1;
}

static void take_pages(struct taking *t, bool follows)
{
	uint64_t *v = t->todo.v;
	size_t n = t->todo.n, i = 0;

	t->todo.v = NULL;
	t->todo.n = t->todo.cap = 0;
	if (n)
		qsort(v, n, sizeof *v, by_addr);
	n = unique(v, n);
	while (i < n && !t->c->is_gone) {
		bool ok;
		size_t run = read_run(t, v + i, n - i, &ok);

		for (size_t k = 0; ok && k < run; k++)
			write_page(t, v[i + k], t->bytes + k * PAGE);
		if (ok && follows && !t->c->alone)
			add_jumps(t, v[i], t->bytes, run * PAGE);
		i += run;
	}
	free(v);
}

/* proc(5), /proc/PID/stat: startstack. 0: not known, as inside of execve(). */
static uint64_t start_of_stack(pid_t pid)
{
	enum { FIELDS = 28 - 2 }; /* behind the name */
	char path[32], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	at = sysfile_read(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
	for (int i = 0; at && i < FIELDS; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static void take(struct taking *t, const uint64_t *addrs, size_t n, bool again)
{
	for (size_t i = 0; again && i < t->c->pages.n; i++)
		(void)vec_push(&t->todo, t->c->pages.v[i].addr);
	take_pages(t, false);
	for (size_t i = 0; i < n; i++)
		add_with_neighbours(t, addrs[i]);
	for (int deep = 0; t->todo.n; deep++)
		take_pages(t, deep < JUMPS_DEEP);
}

void code_copy_take(struct code_copy *c, pid_t pid, const struct code_ranges *ranges,
		    const uint64_t *addrs, size_t n, bool again, uint64_t now_ns,
		    struct code_log *log)
{
	struct taking *t = calloc(1, sizeof *t);
	uint64_t stack;
	char path[32];

	if (!t)
		return;
	t->c = c;
	t->ranges = ranges;
	t->log = log;
	t->now_ns = now_ns;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	c->error = t->fd < 0 ? errno : 0;
	c->is_gone |= c->error == ENOENT || c->error == ESRCH;
	stack = t->fd < 0 ? 0 : start_of_stack(pid);
	/* Where stacks are executable nothing is copied (runtime_watch.c). */
	if (stack && !code_ranges_find(ranges, stack))
		take(t, addrs, n, again);
	if (t->fd >= 0)
		close(t->fd);
	vec_done(&t->todo);
	free(t);
}

void code_copy_reset(struct code_copy *c)
{
	code_copy_done(c);
	*c = (struct code_copy){.bytes = c->bytes, .is_cut = c->is_cut};
}

void code_copy_done(struct code_copy *c)
{
	hash_done(&c->by_page);
	vec_done(&c->pages);
}

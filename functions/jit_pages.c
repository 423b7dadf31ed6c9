/* jit_pages.c - memory with code, of which a jitdump of ours has only the bytes (JIT_RECORD_BYTES).
 *
 * The same page may be there more than once, as it was at several times. Neighbouring pages are put
 * together, in their last version, so that code can be followed from one into the next; what had
 * other code before is marked. */
#include <stdlib.h>
#include <string.h>

#include "functions/jitdump.h"

/* Limit of one jitdump. */
enum { PAGES_MAX = 1 << 18 };

/* Fewer filler bytes in succession may be part of an instruction. */
enum { EMPTY_BYTES = 4 };

/* One bit for each byte. */
enum { PAGE_MARKS = JIT_PAGE_BYTES / 64 };

int jit_pages_read(struct jitdump *j, struct buf b, uint64_t time_ns)
{
	uint64_t addr = buf_u64(&b);
	size_t n = buf_left(&b);
	const uint8_t *bytes = buf_take(&b, n);

	if (!buf_ok(&b) || addr % JIT_PAGE_BYTES || n % JIT_PAGE_BYTES || addr > UINT64_MAX - n)
		return 0;
	for (; n && j->pages.n < PAGES_MAX; n -= JIT_PAGE_BYTES) {
		if (vec_push(&j->pages, (struct jit_page){addr, time_ns, bytes}))
			return -1;
		addr += JIT_PAGE_BYTES;
		bytes += JIT_PAGE_BYTES;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct jit_page *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr > y->addr ? 1 : -1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* True if the i-th is the last version of its page. */
static bool is_last(const struct jitdump *j, size_t i)
{
	return i + 1 == j->pages.n || j->pages.v[i + 1].addr != j->pages.v[i].addr;
}

/* What stands where no code is yet: zeros, and on x86 INT3, NOP and HLT. */
static bool is_filler(uint8_t byte)
{
	return byte == 0 || byte == 0xcc || byte == 0x90 || byte == 0xf4;
}

/* True if there was no code at the byte: constants in code have such bytes too, but fewer in
 * succession. */
static bool was_empty(const uint8_t *page, size_t i)
{
	size_t from = i, to = i;

	if (!is_filler(page[i]))
		return false;
	while (from && i - from < EMPTY_BYTES && is_filler(page[from - 1]))
		from--;
	while (to + 1 < JIT_PAGE_BYTES && to - i < EMPTY_BYTES && is_filler(page[to + 1]))
		to++;
	return to - from + 1 >= EMPTY_BYTES || !from || to + 1 == JIT_PAGE_BYTES;
}

/* True if the byte is part of a constant that JIT compilers change where they link code: the target
 * of a call or jump, or an address (Intel SDM: JMP and CALL rel32, Jcc rel32, MOV r32, imm32 and
 * MOV r64, imm64). */
static bool is_operand(const uint8_t *page, size_t i)
{
	for (size_t n = 1; n <= 8 && n <= i; n++) {
		const uint8_t op = page[i - n], before = n < i ? page[i - n - 1] : 0;
		const bool is_mov = (op & 0xf8) == 0xb8;

		if (n <= 4 &&
		    (op == 0xe8 || op == 0xe9 || is_mov || ((op & 0xf0) == 0x80 && before == 0x0f)))
			return true;
		if (is_mov && (before == 0x48 || before == 0x49))
			return true;
	}
	return false;
}

/* Marks the bytes of a page, the i-th and last version, that were other code in one before: that
 * were not only added, or linked. */
static void mark_replaced(const struct jitdump *j, size_t i, uint64_t *marks)
{
	const uint8_t *new = j->pages.v[i].bytes;

	while (i-- && j->pages.v[i].addr == j->pages.v[i + 1].addr) {
		const uint8_t *old = j->pages.v[i].bytes;

		for (size_t k = 0; k < JIT_PAGE_BYTES; k++)
			if (old[k] != new[k] && !was_empty(old, k) &&
			    !(is_operand(old, k) && is_operand(new, k)))
				marks[k / 64] |= 1ull << k % 64;
	}
}

static size_t count_last(const struct jitdump *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->pages.n; i++)
		n += is_last(j, i);
	return n;
}

int jit_pages_finish(struct jitdump *j)
{
	struct jit_run run = {0};
	uint64_t *marks;
	uint8_t *to;
	size_t n;

	if (!j->pages.n)
		return 0;
	qsort(j->pages.v, j->pages.n, sizeof *j->pages.v, by_place);
	n = count_last(j);
	to = j->pages_flat = malloc(n * JIT_PAGE_BYTES);
	marks = j->pages_replaced = calloc(n, PAGE_MARKS * sizeof *marks);
	if (!to || !marks)
		return -1;
	for (size_t i = 0; i < j->pages.n; i++) {
		const struct jit_page *p = &j->pages.v[i];

		if (!is_last(j, i))
			continue;
		if (run.n && run.start + run.n != p->addr) {
			if (vec_push(&j->runs, run))
				return -1;
			run = (struct jit_run){0};
		}
		if (!run.n)
			run = (struct jit_run){.start = p->addr, .bytes = to, .replaced = marks};
		memcpy(to, p->bytes, JIT_PAGE_BYTES);
		mark_replaced(j, i, marks);
		marks += PAGE_MARKS;
		to += JIT_PAGE_BYTES;
		run.n += JIT_PAGE_BYTES;
	}
	return vec_push(&j->runs, run) ? -1 : 0;
}

void jit_pages_done(struct jitdump *j)
{
	vec_done(&j->pages);
	vec_done(&j->runs);
	free(j->pages_flat);
	free(j->pages_replaced);
}

bool jitdump_memory(const struct jitdump *j, uint64_t ip, struct jit_memory *ret)
{
	size_t lo = 0, hi = j->runs.n;
	const struct jit_run *r;

	while (lo < hi) { /* the first that ends after ip */
		size_t mid = lo + (hi - lo) / 2;

		if (j->runs.v[mid].start + (j->runs.v[mid].n - 1) < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == j->runs.n || j->runs.v[lo].start > ip)
		return false;
	r = &j->runs.v[lo];
	*ret = (struct jit_memory){r->start, r->n, r->bytes, r->replaced};
	return jit_memory_is_sure(ret, ip, 1);
}

bool jit_memory_is_sure(const struct jit_memory *m, uint64_t ip, size_t n)
{
	const uint64_t off = ip - m->start;

	if (off >= m->n || n > m->n - off)
		return false;
	for (size_t i = off; i < off + n; i++)
		if (m->replaced[i / 64] >> i % 64 & 1)
			return false;
	return true;
}

bool jitdump_has_memory(const struct jitdump *j)
{
	return j->runs.n;
}

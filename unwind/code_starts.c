/* code_starts.c - targets of direct calls, and places after padding between functions. */
#include "unwind/code_starts.h"

#include <stdlib.h>

#include "functions/functions.h"

/* The code of larger modules is not scanned. */
#define CALLS_BYTES_MAX (512u << 20)

/* Of so many places after padding one must be called, for all of them to be function starts. Lld
 * pads with INT3: in Chromium, libvk_swiftshader and librustc_driver a direct call leads to one in
 * two; all but 1 in 600 of librustc_driver's are functions. In what gcc made (node, libLLVM), the
 * places that look so are constants, and none is called. */
#define BEGINS_CALLED 8

/* If less than one call target in so many is not at a multiple of BEGINS_ALIGN, none of these is a
 * function. */
#define UNALIGNED_CALLED 32

static bool bit_at(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

/* ---- reading ------------------------------------------------------------------------------ */

typedef void code_fn(struct code_starts *st, const struct elf_segment *seg, const uint8_t *code,
		     size_t n, const struct arch *arch);

static void calls_read(struct code_starts *st, const struct elf_segment *seg, const uint8_t *code,
		       size_t n, const struct arch *arch)
{
	const enum insn_set set = processor_insn_set(arch->e_machine);
	size_t off = 0;
	int64_t to;

	while (next_call(set, code, n, &off, &to)) {
		uint64_t vaddr = seg->vaddr + (uint64_t)to, i = vaddr - st->code_start;
		bool is_inside = to >= 0 && to < (int64_t)n;

		/* No function is called only to read its own address. */
		if (i < st->n_calls && to != (int64_t)off &&
		    (!is_inside || !arch->code_may_start ||
		     arch->code_may_start(code + to, (size_t)to, vaddr)))
			bit_set(st->calls, i);
	}
}

/* Index of begins. */
static uint64_t begin_index(const struct code_starts *st, uint64_t vaddr)
{
	return vaddr / BEGINS_ALIGN - st->code_start / BEGINS_ALIGN;
}

/* Index of aligned. */
static unsigned class_of(uint64_t vaddr)
{
	unsigned i = 0;

	while (i + 1 < BEGINS_CLASSES && vaddr % (BEGINS_ALIGN << (i + 1)) == 0)
		i++;
	return i;
}

/* Notes all places that look as if a function begins after padding. */
static void begins_read(struct code_starts *st, const struct elf_segment *seg, const uint8_t *code,
			size_t n, const struct arch *arch)
{
	size_t off = -seg->vaddr % BEGINS_ALIGN;

	for (; off < n; off += BEGINS_ALIGN) {
		uint64_t vaddr = seg->vaddr + off, i = vaddr - st->code_start;

		if (i >= st->n_calls || !arch->code_begins(code + off, off))
			continue;
		bit_set(st->begins, begin_index(st, vaddr));
		st->aligned[class_of(vaddr)].begins++;
		st->aligned[class_of(vaddr)].called += bit_at(st->calls, i);
	}
}

static void for_code(struct code_starts *st, const struct elf_image *img, const struct arch *arch,
		     code_fn *each)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs), i, left, unread;
	const uint8_t *code;

	elf_image_bytes(img, &unread); /* bounds the work when segments overlap */
	for (i = 0; i < n; i++) {
		code = segs[i].flags & PF_X ? elf_image_at_vaddr(img, segs[i].vaddr, &left) : NULL;
		if (!code || left > unread)
			continue;
		each(st, &segs[i], code, left, arch);
		unread -= left;
	}
}

/* Keeps the places of those alignments at which functions begin; only pointers may lead there. V8's
 * builtins, to most of which no direct call leads, are at multiples of 64. */
static void begins_choose(struct code_starts *st, uint64_t n)
{
	uint64_t i, at;
	unsigned c;

	for (c = 0; c < BEGINS_CLASSES; c++)
		st->aligned[c].are_begins =
			c + 1 == BEGINS_CLASSES ||
			(st->aligned[c].called &&
			 st->aligned[c].called >= st->aligned[c].begins / BEGINS_CALLED);
	for (i = 0; i < n; i++) {
		if (!bit_at(st->begins, i))
			continue;
		at = (st->code_start / BEGINS_ALIGN + i) * BEGINS_ALIGN;
		if (st->aligned[class_of(at)].are_begins)
			bit_set(st->calls, at - st->code_start);
		else
			st->begins[i / 64] &= ~(1ull << i % 64);
	}
}

/* Where nearly all calls lead to aligned addresses, the others are no calls: other bytes look like
 * them. */
static void calls_choose(struct code_starts *st)
{
	uint64_t aligned = 0, all = 0, i;
	const uint64_t first = -st->code_start % BEGINS_ALIGN;
	uint64_t mask = 0x0001000100010001u << first % BEGINS_ALIGN;
	const uint64_t n = (st->code_bytes - 1) / 64 + 1;

	for (i = 0; i < n; i++) {
		all += (unsigned)__builtin_popcountll(st->calls[i]);
		aligned += (unsigned)__builtin_popcountll(st->calls[i] & mask);
	}
	for (i = 0; i < n && (all - aligned) * UNALIGNED_CALLED < all; i++)
		st->calls[i] &= mask;
}

void code_starts_read(struct code_starts *st, const struct elf_image *img, const struct arch *arch)
{
	uint64_t n;

	if (!st->code_bytes || st->code_bytes > CALLS_BYTES_MAX)
		return;
	n = begin_index(st, st->code_start + st->code_bytes - 1) + 1;
	st->calls = calloc((st->code_bytes - 1) / 64 + 1, sizeof *st->calls);
	if (arch->code_begins)
		st->begins = calloc((n - 1) / 64 + 1, sizeof *st->begins);
	if (!st->calls || (arch->code_begins && !st->begins))
		return;
	st->n_calls = st->code_bytes;
	for_code(st, img, arch, calls_read);
	if (arch->code_may_start)
		calls_choose(st);
	if (!arch->code_begins)
		return;
	for_code(st, img, arch, begins_read);
	begins_choose(st, n);
}

void code_starts_done(struct code_starts *st)
{
	free(st->calls);
	free(st->begins);
}

/* ---- finding ------------------------------------------------------------------------------ */

bool code_starts_called(const struct code_starts *st, uint64_t vaddr, uint64_t low, uint64_t *ret)
{
	uint64_t i = vaddr - st->code_start, n;

	if (i >= st->n_calls)
		return false;
	for (n = 0; n < OPEN_BYTES && n <= i && vaddr - n >= low; n++)
		if (bit_at(st->calls, i - n)) {
			*ret = vaddr - n;
			return true;
		}
	return false;
}

bool code_starts_begun(const struct code_starts *st, uint64_t vaddr, uint64_t low, uint64_t *ret)
{
	uint64_t at = vaddr - vaddr % BEGINS_ALIGN, end = at < OPEN_BYTES ? 0 : at - OPEN_BYTES;

	if (!st->begins || vaddr - st->code_start >= st->n_calls)
		return false;
	end = end < low ? low : end;
	end = end < st->code_start ? st->code_start : end;
	for (; at >= end && at; at -= BEGINS_ALIGN)
		if (bit_at(st->begins, begin_index(st, at))) {
			*ret = at;
			return true;
		}
	return false;
}

uint64_t code_starts_next(const struct code_starts *st, uint64_t vaddr, uint64_t end)
{
	uint64_t at = vaddr + -vaddr % BEGINS_ALIGN;

	for (; st->begins && at < end && at - st->code_start < st->n_calls; at += BEGINS_ALIGN)
		if (bit_at(st->begins, begin_index(st, at)))
			return at;
	return end;
}

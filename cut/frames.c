/* frames.c - the call frame information of the functions that were on stacks.
 *
 * Entries stay where they are. A run of entries that are left out becomes one that covers no code,
 * so that readers that go through the section from its beginning get past it. The linker's table
 * gets only the rows that are left. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/vec.h"
#include "cut/pieces.h"
#include "functions/functions.h"
#include "modules/modules.h"

enum {
	/* How far unwinding looks for call frame information around code without. */
	GAP_BYTES = 512,
	/* Code that is compared with what signal handlers return to, and the like. */
	AROUND_BYTES = 64,
	/* The code of larger functions is kept only around the addresses. */
	WHOLE_BYTES = 256 << 10,
	/* The most that a table of landing pads is taken to have. */
	PADS_BYTES = 64 << 10,
	ROW_BYTES = 8,
	/* Entries that begin at one place: no linker writes more. */
	SAME_MAX = 64,
	NEXT_MAX = 8,
	HDR_BYTES = 12, /* version, three encodings, two pointers of four bytes */
	FILLER_BYTES = 16,
	/* Few entries are smaller. */
	ENTRY_BYTES = 24,
};

struct entry {
	uint64_t start, end; /* vaddrs; of a CIE 0 */
	uint64_t off, next;  /* in the section */
	uint64_t lsda;
	bool is_cie, keep;
};

struct frames {
	struct cfi_section sec;
	VEC(struct entry) entries; /* in file order */
	VEC(struct entry *) by_start;
	struct cut_addrs pads; /* tables of landing pads */
};

static int by_start(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Room for all entries, so that the list need not move. */
static int reserve(struct frames *f)
{
	const size_t n = (size_t)f->sec.size / ENTRY_BYTES + 1;

	f->entries.v = pages_alloc(n * sizeof *f->entries.v);
	f->entries.cap = f->entries.v ? n : 0;
	return f->entries.v ? 0 : -1;
}

static int read_all(struct frames *f)
{
	uint64_t off, next;
	struct cfi_fde fde;
	size_t i;

	if (reserve(f))
		return -1;
	for (off = 0; off < f->sec.size; off = next) {
		enum cfi_entry_kind kind = cfi_entry_at(&f->sec, off, &next);
		struct entry e = {.off = off, .next = next, .is_cie = kind != CFI_ENTRY_FDE};

		if (kind == CFI_ENTRY_FDE && cfi_fde_read(&f->sec, off, &fde)) {
			e.start = fde.start;
			e.end = fde.end;
			e.lsda = fde.lsda;
		}
		e.keep = e.is_cie;
		if (vec_push(&f->entries, e) || (e.lsda && vec_push(&f->pads, e.lsda)))
			return -1;
	}
	cut_addrs_sort(&f->pads);
	if (vec_reserve(&f->by_start, f->entries.n + 1))
		return -1;
	for (i = 0; i < f->entries.n; i++)
		if (!f->entries.v[i].is_cie && f->entries.v[i].start < f->entries.v[i].end)
			f->by_start.v[f->by_start.n++] = &f->entries.v[i];
	if (f->by_start.n)
		qsort(f->by_start.v, f->by_start.n, sizeof *f->by_start.v, by_start);
	return 0;
}

static void frames_done(struct frames *f)
{
	vec_done(&f->entries);
	vec_done(&f->by_start);
	vec_done(&f->pads);
}

/* How many begin at vaddr or before it. */
static size_t begun(const struct frames *f, uint64_t vaddr)
{
	size_t low = 0, high = f->by_start.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->by_start.v[mid]->start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Keeps the last entry that begins at vaddr or before it, and those with the same start. Returns
 * one that covers vaddr; NULL: none does. */
static struct entry *keep_at(const struct frames *f, uint64_t vaddr)
{
	size_t n = begun(f, vaddr), max = SAME_MAX;
	struct entry *found = NULL;
	uint64_t start = n ? f->by_start.v[n - 1]->start : 0;

	for (; n && f->by_start.v[n - 1]->start == start && max--; n--) {
		struct entry *e = f->by_start.v[n - 1];

		e->keep = true;
		if (vaddr < e->end)
			found = e;
	}
	return found;
}

static void keep_code(struct pieces *p, const struct entry *e, uint64_t vaddr)
{
	if (e->end - e->start <= WHOLE_BYTES) {
		pieces_keep_vaddr(p, e->start > AROUND_BYTES ? e->start - AROUND_BYTES : 0,
				  e->end + AROUND_BYTES);
		return;
	}
	pieces_keep_vaddr(p, e->start, e->start + AROUND_BYTES);
	pieces_keep_vaddr(p, vaddr - GAP_BYTES, vaddr + GAP_BYTES);
}

static void keep_pads(struct pieces *p, const struct frames *f, const struct entry *e)
{
	const size_t next = cut_addrs_below(&f->pads, e->lsda + 1);
	uint64_t end = e->lsda + PADS_BYTES;

	if (next < f->pads.n && f->pads.v[next] < end)
		end = f->pads.v[next];
	pieces_keep_vaddr(p, e->lsda, end);
}

/* Marks the entries around the addresses. */
static void mark(struct pieces *p, struct frames *f, const struct cut_addrs *code,
		 struct hit_functions *hit)
{
	const struct entry *last = NULL;
	bool below, above, inside;
	size_t i, n;

	for (i = 0; i < code->n; i++) {
		const uint64_t a = code->v[i];
		const struct entry *e =
			last && a >= last->start && a < last->end ? last : keep_at(f, a);

		if (e && (e != last || e->end - e->start > WHOLE_BYTES)) {
			keep_code(p, e, a);
			if (e->lsda && e != last)
				keep_pads(p, f, e);
		}
		last = e;
		if (e)
			continue;
		pieces_keep_vaddr(p, a > GAP_BYTES ? a - GAP_BYTES : 0, a + GAP_BYTES);
		/* As in unwind/: code between two such functions is not worth reading the whole
		 * file. Beside one of them is the startup code of a file, which pointers lead to,
		 * and hardly ever a frame. */
		below = keep_at(f, a - GAP_BYTES) != NULL;
		above = keep_at(f, a + GAP_BYTES) != NULL;
		inside = hit && hit->guessed ? below || above : below && above;
		/* Padding before a function that something points to. */
		n = begun(f, a + 1);
		inside |= n && f->by_start.v[n - 1]->start == a + 1;
		n = begun(f, a);
		if (n < f->by_start.n)
			f->by_start.v[n]->keep = true;
		if (hit && (vec_push(&hit->bare, a) || (!inside && vec_push(&hit->lost, a))))
			p->nomem = true;
	}
}

/* The fillers and what is kept, in a copy of the section at file offset `off`. */
static void put_section(struct pieces *p, const struct frames *f, uint64_t off)
{
	struct sparse copy;
	size_t i, k;

	if (!sparse_begin(&copy, p, off, f->sec.size))
		return;
	for (i = 0; i < f->entries.n; i = k) {
		const struct entry *e = &f->entries.v[i];
		uint64_t end = e->next;
		uint32_t length;

		for (k = i + 1; !e->keep && k < f->entries.n && !f->entries.v[k].keep; k++)
			end = f->entries.v[k].next;
		/* Longer lengths have another form; such sections do not exist. */
		if (e->keep || end - e->off < FILLER_BYTES + 4 || end - e->off >= 0xfffffff0) {
			sparse_add(&copy, e->off, f->sec.data + e->off, (size_t)(end - e->off));
			continue;
		}
		length = (uint32_t)(end - e->off - 4);
		if (f->sec.swap)
			length = __builtin_bswap32(length);
		sparse_add(&copy, e->off, &length, sizeof length);
		/* the offset of its CIE stays */
		sparse_add(&copy, e->off + 4, f->sec.data + e->off + 4, 4);
	}
	sparse_put(&copy);
}

/* ---- .eh_frame_hdr ------------------------------------------------------------------------- */

static uint32_t number(const struct cfi_index *ix, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return ix->sec.swap ? __builtin_bswap32(v) : v;
}

/* Is the entry of this row kept? *n: how many begin at the row before or earlier. */
static bool row_is_kept(const struct frames *f, const struct cfi_index *ix, const uint8_t *row,
			size_t *n)
{
	uint64_t start = ix->hdr_vaddr + (uint64_t)(int64_t)(int32_t)number(ix, row);
	uint64_t off =
		ix->hdr_vaddr + (uint64_t)(int64_t)(int32_t)number(ix, row + 4) - f->sec.vaddr;
	size_t i, max = SAME_MAX;

	for (i = 0; i < NEXT_MAX && *n < f->by_start.n && f->by_start.v[*n]->start <= start; i++)
		++*n;
	if (i == NEXT_MAX || (*n && f->by_start.v[*n - 1]->start > start)) /* not the next row */
		*n = begun(f, start);
	for (i = *n; i && f->by_start.v[i - 1]->start == start && max--; i--)
		if (f->by_start.v[i - 1]->off == off)
			return f->by_start.v[i - 1]->keep;
	/* An entry without code, which lld lists: it stands before the one that is wanted. */
	return true;
}

static void put_hdr(struct pieces *p, const struct frames *f, const struct cfi_index *ix,
		    const Elf64_Phdr *ph)
{
	size_t head = (size_t)(ix->hdr_rows - (p->bytes + ph->p_offset)), i, at = 0, n = 0;
	struct sparse copy;
	uint32_t count;

	if (!sparse_begin(&copy, p, ph->p_offset, head + ix->n_hdr_rows * ROW_BYTES))
		return;
	sparse_add(&copy, 0, p->bytes + ph->p_offset, head);
	for (i = 0; i < ix->n_hdr_rows; i++) {
		const uint8_t *row = ix->hdr_rows + i * ROW_BYTES;

		if (row_is_kept(f, ix, row, &at))
			sparse_add(&copy, head + ROW_BYTES * n++, row, ROW_BYTES);
	}
	count = (uint32_t)n;
	if (ix->sec.swap)
		count = __builtin_bswap32(count);
	if (copy.bytes.n >= head && head >= 4)
		memcpy(copy.bytes.v + head - 4, &count, sizeof count);
	sparse_put(&copy);
}

/* Can the number of rows be changed: is it of four bytes, right before them? */
static bool has_plain_hdr(const struct pieces *p, const struct cfi_index *ix, const Elf64_Phdr *ph)
{
	const uint8_t *hdr;

	if (!ix->n_hdr_rows || ph->p_offset >= p->size)
		return false;
	hdr = p->bytes + ph->p_offset;
	return ix->hdr_rows == hdr + HDR_BYTES && (hdr[2] & 0x0f) == DW_EH_PE_udata4;
}

void cut_frames(struct pieces *p, struct module *m, const struct cut_addrs *code,
		struct hit_functions *hit)
{
	struct cfi_index ix;
	struct frames f = {0};
	Elf64_Phdr ph;

	cfi_index_open_eh(&ix, m->image);
	f.sec = ix.sec;
	if (read_all(&f))
		p->nomem = true;
	mark(p, &f, code, hit);
	if (elf_image_phdr(m->image, PT_GNU_EH_FRAME, &ph)) {
		if (has_plain_hdr(p, &ix, &ph))
			put_hdr(p, &f, &ix, &ph);
		else
			pieces_keep_vaddr(p, ph.p_vaddr, ph.p_vaddr + ph.p_filesz);
	}
	if (f.sec.size)
		put_section(p, &f, (uint64_t)(f.sec.data - p->bytes));
	frames_done(&f);
	cfi_index_done(&ix);
}

void cut_debug_frame(struct pieces *p, const struct cut_addrs *code)
{
	struct frames f = {0};
	struct cfi_index ix;
	size_t i;

	cfi_index_open_debug(&ix, p->img);
	f.sec = ix.sec;
	/* A compressed section is not in the file as it is read: it is kept as it is. */
	if (!f.sec.size || f.sec.data < p->bytes || f.sec.data >= p->bytes + p->size)
		return;
	if (read_all(&f))
		p->nomem = true;
	for (i = 0; i < code->n; i++)
		keep_at(&f, code->v[i]);
	put_section(p, &f, (uint64_t)(f.sec.data - p->bytes));
	frames_done(&f);
}

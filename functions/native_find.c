/* native_find.c - finds the code information of native-image in the heap of a program.
 *
 * No pointer leads there: each is found by what it must be, and used only if it is the only one and
 * all of it fits. */
#include <elf.h>

#include "functions/native_image.h"
#include "modules/modules.h"

#include <stdlib.h>

/* Nearly all of .text is compiled Java code. */
#define TEXT_SHARE_MIN 2

/* How many bytes of entries a chunk can have. */
enum { CHUNK_ENTRIES_MIN = 2, CHUNK_ENTRIES_MAX = 4096 };

/* How many bytes may follow the last entry that the index leads to. */
#define TAIL_BYTES_MAX 4000

/* Chunks that are tried before all are. */
#define CHUNKS_TRIED 64

/* Maximum number of entries that are read. A program of 100 MB has 2 million. */
#define ENTRIES_MAX (64u << 20)

/* Java code begins at a page of .text. */
#define CODE_ALIGN 4096

/* Of so many return addresses at least 7 in 8 must follow a call. Some are of other places that can
 * trap: 99.9 and 97 % do in two programs, 15 % if the code began elsewhere. */
enum { RETURNS_MIN = 64 };

struct search {
	struct native_image t;
	const uint8_t *heap;
	uint64_t heap_bytes;
	struct elf_section text;
	uint64_t entries; /* left of ENTRIES_MAX */
};

/* ---- the index ---------------------------------------------------------------------------- */

/* How many numbers from `at` on rise as those of an index do, at most n. */
static uint64_t rising(const uint8_t *at, uint64_t n)
{
	uint64_t i = 1;
	uint32_t before = native_u32(at), v;

	for (; i < n; i++, before = v) {
		v = native_u32(at + 4 * i);
		if (v <= before || v - before < CHUNK_ENTRIES_MIN || v - before > CHUNK_ENTRIES_MAX)
			break;
	}
	return i;
}

/* An array of bytes has its length before it. Numbers that rise from 0 are looked at once, as none
 * of them is 0. Returns false unless there is one. */
static bool find_index(struct search *s)
{
	const uint64_t max = s->text.size / NATIVE_CHUNK_BYTES + 1, min = max / TEXT_SHARE_MIN;
	uint64_t off, n;

	for (off = 4; off + 4 <= s->heap_bytes; off += 4) {
		if (native_u32(s->heap + off))
			continue;
		n = native_u32(s->heap + off - 4);
		if (n % 4 || n / 4 < 2 || n / 4 > max || n / 4 < min || n > s->heap_bytes - off ||
		    rising(s->heap + off, n / 4) != n / 4)
			continue;
		if (s->t.index)
			return false;
		s->t.index = s->heap + off;
		s->t.n_chunks = n / 4 - 1; /* the last number is only an end */
	}
	return s->t.index;
}

/* ---- the encodings ------------------------------------------------------------------------ */

/* True if the entries of a chunk end where the index and the chunk do, and all sizes are of the
 * method that they are in. *frame_bytes: of the method at the start of the chunk, then of that at
 * its end; 0: not known. */
static bool chunk_fits(struct search *s, uint64_t chunk, int32_t *frame_bytes)
{
	struct native_entry e;
	uint32_t end;
	bool more = native_chunk_first(&s->t, chunk, &e, &end);

	if (!more || !e.has_frame)
		return false;
	for (; more; more = native_entry_next(&s->t, end, &e)) {
		if (!s->entries || (e.has_frame && e.frame_bytes < 8))
			return false;
		s->entries--;
		if (e.has_frame && !e.begins_method && *frame_bytes &&
		    e.frame_bytes != *frame_bytes)
			return false;
		if (e.has_frame)
			*frame_bytes = e.frame_bytes;
	}
	return e.next && e.off == end && e.code_off == (chunk + 1) * NATIVE_CHUNK_BYTES;
}

static bool encodings_fit(struct search *s)
{
	const uint64_t step = s->t.n_chunks / CHUNKS_TRIED + 1;
	int32_t frame_bytes;
	uint64_t i;

	for (i = 0; i < s->t.n_chunks; i += step) {
		frame_bytes = 0;
		if (!chunk_fits(s, i, &frame_bytes))
			return false;
	}
	frame_bytes = 0;
	for (i = 0; i < s->t.n_chunks; i++)
		if (!chunk_fits(s, i, &frame_bytes))
			return false;
	return true;
}

static bool find_encodings(struct search *s)
{
	const uint32_t last = native_u32(s->t.index + 4 * s->t.n_chunks);
	const uint8_t *found = NULL;
	uint64_t off;
	uint32_t n;

	for (off = 0; off + 4 <= s->heap_bytes; off += 4) {
		n = native_u32(s->heap + off);
		if (n <= last || n - last > TAIL_BYTES_MAX || n > s->heap_bytes - off - 4)
			continue;
		s->t.encodings = s->heap + off + 4;
		if (!encodings_fit(s))
			continue;
		if (found)
			return false;
		found = s->t.encodings;
	}
	s->t.encodings = found;
	s->t.encodings_bytes = found ? native_u32(found - 4) : 0;
	return found && s->entries;
}

/* ---- the code ----------------------------------------------------------------------------- */

size_t native_image_returns(const struct native_image *t, uint64_t *ret)
{
	const uint64_t step = t->n_chunks / NATIVE_RETURNS_MAX + 1;
	struct native_entry e;
	uint64_t i;
	uint32_t end;
	size_t n = 0;
	bool more;

	for (i = 0; i < t->n_chunks; i += step) {
		more = native_chunk_first(t, i, &e, &end);
		while (more && (!e.has_references || e.begins_method))
			more = native_entry_next(t, end, &e);
		if (more && e.code_off >= NATIVE_CALL_BYTES)
			ret[n++] = t->code_vaddr + e.code_off;
	}
	return n;
}

/* Intel SDM volume 2, CALL: E8 cd; FF /2 with its forms of address. */
static bool ends_in_call(const uint8_t *end)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};
	size_t i;

	for (i = 0; i < sizeof lengths; i++)
		if (end[-lengths[i]] == 0xff && (end[1 - lengths[i]] >> 3 & 7) == 2)
			return true;
	return end[-5] == 0xe8;
}

/* True if nearly all of the addresses follow a call if the code begins at text + off. */
static bool follow_calls(const struct search *s, uint64_t off, const uint64_t *returns, size_t n)
{
	size_t i, others = 0;

	for (i = 0; i < n && others <= n / 8; i++)
		others += !ends_in_call(s->text.data + off + returns[i]);
	return others <= n / 8;
}

static bool find_code(struct search *s)
{
	const uint64_t bytes = s->t.n_chunks * NATIVE_CHUNK_BYTES;
	uint64_t off = -s->text.vaddr % CODE_ALIGN, returns[NATIVE_RETURNS_MAX];
	size_t n = native_image_returns(&s->t, returns);

	if (n < RETURNS_MIN)
		return false;
	for (; bytes <= s->text.size && off <= s->text.size - bytes; off += CODE_ALIGN) {
		if (!follow_calls(s, off, returns, n))
			continue;
		if (s->t.code_vaddr)
			return false;
		s->t.code_vaddr = s->text.vaddr + off;
	}
	return s->t.code_vaddr;
}

bool native_image_open(struct native_image *t, struct elf_image *img)
{
	struct search s = {.entries = ENTRIES_MAX};
	struct elf_section heap;

	*t = (struct native_image){0};
	if (elf_image_machine(img) != EM_X86_64 || !elf_image_is_64(img) ||
	    !elf_image_section(img, ".svm_heap", &heap, NULL) || !heap.data ||
	    heap.flags & SHF_COMPRESSED || !elf_image_section(img, ".text", &s.text, NULL) ||
	    !s.text.data)
		return false;
	s.heap = heap.data;
	s.heap_bytes = heap.size;
	if (!find_index(&s) || !find_encodings(&s) || !find_code(&s))
		return false;
	*t = s.t;
	return true;
}

/* hotspot.c - the code cache of a running HotSpot: compiled methods, stubs, the interpreter.
 *
 * Sources of truth: code/codeCache.cpp, memory/heap.hpp (segments: a block's header, then the
 * blob), code/codeBlob.hpp, code/stubs.hpp and interpreter/interpreter.hpp (codelets). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"

#include "runtimes/hotspot.h"

/* Limits of one snapshot, and on what the process says. */
enum {
	READS_MAX = 1 << 20,
	HEAPS_MAX = 16,
	SEGMENTS_MAX = 64 << 20,
	CODE_MAX = 4 << 20,
	FRAME_WORDS_MAX = 1 << 16,
	CODELETS_MAX = 4096,
	STUB_BYTES_MAX = 64 << 10,
	SCOPES_TRIES = 32,
};

int hotspot_open(struct hotspot **ret, pid_t pid, uint64_t libjvm, struct err *err)
{
	struct hotspot *h = calloc(1, sizeof *h);
	int rc;

	if (!h)
		return err_nomem(err);
	rc = remote_open(&h->mem, pid, err);
	if (!rc) {
		remote_renew(&h->mem, READS_MAX);
		rc = hotspot_read_tables(h, libjvm, err);
	}
	if (rc) {
		hotspot_free(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void hotspot_free(struct hotspot *h)
{
	if (!h)
		return;
	if (h->mem.pages)
		remote_close(&h->mem);
	hotspot_forget_methods(h);
	vec_done(&h->known);
	vec_done(&h->spans);
	vec_done(&h->fresh);
	hash_done(&h->ids);
	vec_done(&h->codes);
	hash_done(&h->code_at);
	vec_done(&h->written);
	hash_done(&h->others);
	code_log_done(&h->later);
	hash_done(&h->blobs);
	hash_done(&h->unscoped);
	hash_done(&h->methods);
	free(h);
}

const char *hotspot_release(const struct hotspot *h)
{
	return h->release;
}

/* ---- one blob ---------------------------------------------------------------------------- */

/* Where its code begins and ends: pointers, or (release 8, and since 23) offsets. */
static bool blob_code(struct hotspot *h, struct hotspot_blob *b)
{
	uint32_t begin, end;

	if (hotspot_has(h, AT_BLOB_BEGIN))
		return hotspot_u64(h, b->at, AT_BLOB_BEGIN, &b->begin) &&
		       hotspot_u64(h, b->at, AT_BLOB_END, &b->end);
	if (!hotspot_u32(h, b->at, AT_BLOB_BEGIN_OFF, &begin) ||
	    !hotspot_u32(h, b->at, AT_BLOB_DATA_OFF, &end))
		return false;
	b->begin = b->at + begin;
	b->end = b->at + end;
	return true;
}

/* Returns false if what is there is no blob, or not one any more. */
static bool blob_read(struct hotspot *h, uint64_t at, uint64_t bytes, struct hotspot_blob *b)
{
	*b = (struct hotspot_blob){.at = at, .size = bytes < UINT32_MAX ? (uint32_t)bytes : 0};
	if (!hotspot_u64(h, at, AT_BLOB_NAME, &b->name) ||
	    !hotspot_u32(h, at, AT_BLOB_FRAME, &b->frame_words) ||
	    !hotspot_u32(h, at, AT_BLOB_COMPLETE, &b->complete) || !blob_code(h, b))
		return false;
	if (!remote_text(&h->mem, b->name, b->text, sizeof b->text) || !b->text[0] ||
	    b->begin <= at || b->begin > b->end || b->end > at + bytes)
		return false;
	if (strcmp(b->text, "nmethod") != 0 && strcmp(b->text, "native nmethod") != 0)
		return true;
	return hotspot_u64(h, at, AT_NM_METHOD, &b->method) && b->method &&
	       (!hotspot_has(h, AT_NM_ID) || hotspot_u32(h, at, AT_NM_ID, &b->id)) &&
	       b->frame_words <= FRAME_WORDS_MAX;
}

static bool is_interpreter(const struct hotspot_blob *b)
{
	return !strcmp(b->text, "Interpreter");
}

static bool is_stubs(const struct hotspot_blob *b)
{
	return !strncmp(b->text, "StubRoutines", 12);
}

/* How much of the interpreter, or of the stubs, there is: both grow while a JVM starts. */
static uint64_t parts_print(struct hotspot *h, const struct hotspot_blob *b)
{
	uint64_t sum = 0, at;
	uint32_t n = 0;

	if (is_interpreter(b) && hotspot_has(h, AT_INTERPRETER) &&
	    remote_u64(&h->mem, h->at[AT_INTERPRETER], &at) && hotspot_u32(h, at, AT_QUEUE_N, &n))
		return n;
	for (size_t i = 0; is_stubs(b) && i < h->n_stubs; i++)
		if (remote_u64(&h->mem, h->stubs[i].at, &at))
			sum += at;
	return sum;
}

/* What a blob is, in 31 bits: another one at the same place has another number. */
static uint32_t blob_print(struct hotspot *h, const struct hotspot_blob *b)
{
	uint64_t x = hash_mix(hash_mix(b->begin ^ b->end << 1, b->method ^ b->name), b->id);

	return (uint32_t)(hash_mix(x, parts_print(h, b)) >> 33);
}

static struct code_log_frame blob_frame(const struct hotspot_blob *b)
{
	const uint32_t never = (uint32_t)(b->end - b->begin);
	struct code_log_frame f = {.kind = JIT_FRAME_STUB};

	if (b->method)
		f.kind = JIT_FRAME_COMPILED;
	if (!strncmp(b->text, "I2C/C2I", 7))
		f.kind = JIT_FRAME_ADAPTER;
	/* They find the method and jump there. */
	if (!strncmp(b->text, "vtable", 6))
		f.frame_bytes = 8;
	/* A buffer of several stubs has no frame of its own. */
	if (!b->frame_words || b->frame_words > FRAME_WORDS_MAX)
		return f;
	f.frame_bytes = 8 * b->frame_words;
	f.complete_bytes = b->complete < never ? b->complete : never;
	return f;
}

/* Copies its code; NULL: too much, or it cannot be read. */
static uint8_t *code_copy(struct hotspot *h, uint64_t begin, uint64_t end, bool *nomem)
{
	uint8_t *copy;

	if (begin >= end || end - begin > CODE_MAX)
		return NULL;
	copy = malloc((size_t)(end - begin));
	*nomem |= !copy;
	if (copy && remote_read(&h->mem, begin, copy, (size_t)(end - begin)))
		return copy;
	free(copy);
	return NULL;
}

/* Returns false if what was inlined there does not fit together. */
static bool add_method_blob(struct hotspot *h, const struct hotspot_blob *b, const char *name,
			    uint64_t now_ns, struct code_log *log, struct hotspot_counts *counts,
			    bool *nomem)
{
	const struct code_log_frame frame = blob_frame(b);
	struct hotspot_scopes s;
	struct code_log_inlined in = {0};
	uint8_t *code = code_copy(h, b->begin, b->end, nomem);
	const bool has_scopes = hotspot_scopes_read(h, b, &s, nomem);

	if (has_scopes)
		in = (struct code_log_inlined){
			s.methods.v,	       s.scopes.v,	     s.pcs.v,
			(uint32_t)s.methods.n, (uint32_t)s.scopes.n, (uint32_t)s.pcs.n};
	counts->scopes += in.n_scopes;
	counts->codes++;
	code_log_add(log, now_ns,
		     &(struct code_log_piece){.start = b->begin,
					      .size = b->end - b->begin,
					      .name = name,
					      .code = code,
					      .frame = &frame,
					      .inlined = &in});
	hotspot_scopes_done(&s);
	free(code);
	return has_scopes || !hotspot_has(h, AT_PC_OFFSET);
}

/* ---- the interpreter and stubs ------------------------------------------------------------ */

static bool is_entry(const char *codelet)
{
	return !strncmp(codelet, "method entry point", 18) ||
	       !strncmp(codelet, "native method entry", 19);
}

static void add_piece(struct hotspot *h, uint64_t start, uint64_t end, const char *name,
		      uint32_t kind, uint64_t now_ns, struct code_log *log, bool *nomem)
{
	const struct code_log_frame frame = {.kind = kind};
	uint8_t *code = code_copy(h, start, end, nomem);

	code_log_add(log, now_ns,
		     &(struct code_log_piece){.start = start,
					      .size = end - start,
					      .name = name,
					      .code = code,
					      .frame = &frame});
	free(code);
}

/* The parts of the interpreter have names: "return entry points", "invokevirtual" .. The frame of a
 * method is made in those that are called method entries. */
static bool add_interpreter(struct hotspot *h, const struct hotspot_blob *b, uint64_t now_ns,
			    struct code_log *log, bool *nomem)
{
	uint64_t queue, at, text, head = h->size[SIZE_CODELET];
	uint32_t n = 0, bytes;
	char name[64], full[96];
	bool any = false;

	if (!hotspot_has(h, AT_INTERPRETER) || !head ||
	    !remote_u64(&h->mem, h->at[AT_INTERPRETER], &queue) ||
	    !hotspot_u64(h, queue, AT_QUEUE_BUFFER, &at) || !hotspot_u32(h, queue, AT_QUEUE_N, &n))
		return false;
	for (uint32_t i = 0; i < n && i < CODELETS_MAX && at >= b->begin && at < b->end; i++) {
		if (!hotspot_u32(h, at, AT_CODELET_SIZE, &bytes) || bytes <= head ||
		    bytes > b->end - at)
			break;
		if (!hotspot_u64(h, at, AT_CODELET_TEXT, &text) ||
		    !remote_text(&h->mem, text, name, sizeof name))
			snprintf(name, sizeof name, "code");
		snprintf(full, sizeof full, "Interpreter: %s", name);
		add_piece(h, at + head, at + bytes, full,
			  is_entry(name) ? JIT_FRAME_INTERPRETER_ENTRY : JIT_FRAME_INTERPRETER,
			  now_ns, log, nomem);
		any = true;
		at += bytes;
	}
	return any;
}

struct stub {
	uint64_t start;
	const char *name;
};

static int by_start(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* A buffer of stubs: those whose entries are known begin there and are taken to end where the next
 * one begins. */
static void add_stubs(struct hotspot *h, const struct hotspot_blob *b, uint64_t now_ns,
		      struct code_log *log, bool *nomem)
{
	struct stub v[HOTSPOT_STUBS_MAX + 2];
	size_t n = 0;
	uint64_t at;

	v[n++] = (struct stub){b->begin, b->text};
	for (size_t i = 0; i < h->n_stubs; i++) {
		const char *name = h->stubs[i].name;

		if (!remote_u64(&h->mem, h->stubs[i].at, &at) || at <= b->begin || at >= b->end)
			continue;
		if (!strcmp(name, "call_stub_return_address"))
			v[n++] = (struct stub){at - 1, "call_stub"}; /* looked up by that */
		else
			v[n++] = (struct stub){at, name};
	}
	qsort(v, n, sizeof *v, by_start);
	for (size_t i = 0; i < n; i++) {
		size_t next = i + 1;
		char name[160];

		while (next < n && v[next].start == v[i].start)
			next++;
		at = next < n ? v[next].start : b->end;
		if (i && at - v[i].start > STUB_BYTES_MAX)
			at = v[i].start + STUB_BYTES_MAX;
		if (v[i].name == b->text)
			snprintf(name, sizeof name, "%s", b->text);
		else
			snprintf(name, sizeof name, "StubRoutines::%s", v[i].name);
		add_piece(h, v[i].start, at, name,
			  strcmp(v[i].name, "call_stub") ? JIT_FRAME_STUB : JIT_FRAME_RECORD,
			  now_ns, log, nomem);
		i = next - 1;
	}
}

static void add_other_blob(struct hotspot *h, const struct hotspot_blob *b, uint64_t now_ns,
			   struct code_log *log, bool *nomem)
{
	const struct code_log_frame frame = blob_frame(b);
	uint8_t *code;

	if (is_interpreter(b) && add_interpreter(h, b, now_ns, log, nomem))
		return;
	if (is_stubs(b)) {
		add_stubs(h, b, now_ns, log, nomem);
		return;
	}
	code = code_copy(h, b->begin, b->end, nomem);
	code_log_add(log, now_ns,
		     &(struct code_log_piece){.start = b->begin,
					      .size = b->end - b->begin,
					      .name = b->text,
					      .code = code,
					      .frame = &frame});
	free(code);
}

/* ---- the heaps --------------------------------------------------------------------------- */

/* One pass over what is new. */
struct pass {
	struct hotspot *h;
	uint64_t now_ns;
	struct code_log *log;
	struct hotspot_counts *counts;
	bool nomem, is_torn; /* is_torn: of what is there some may not have been looked at */
};

static void see_code(struct pass *p, uint64_t at)
{
	const uint32_t i = hash_get(&p->h->code_at, at);

	if (i != HASH_NONE)
		p->h->codes.v[i].round = p->h->round;
}

static void add_code(struct pass *p, const struct hotspot_blob *b)
{
	const struct hotspot_code code = {b->at, b->begin, b->end, p->h->round};
	const uint32_t i = hash_get(&p->h->code_at, b->at);

	if (i != HASH_NONE) {
		struct hotspot_code *old = &p->h->codes.v[i];

		hotspot_unname(p->h, 0, old->begin, old->end - old->begin, p->log);
		p->h->has_freed = true;
		*old = code;
	} else if (vec_push(&p->h->codes, code) ||
		   hash_put(&p->h->code_at, b->at, (uint32_t)p->h->codes.n - 1)) {
		p->nomem = true;
	}
}

/* Where a compiled method is no more, others may have come and gone since it was seen. */
static void end_codes(struct pass *p)
{
	struct hotspot *h = p->h;

	for (size_t i = 0; i < h->codes.n;) {
		const struct hotspot_code c = h->codes.v[i], last = h->codes.v[h->codes.n - 1];

		if (c.round == h->round) {
			i++;
			continue;
		}
		hotspot_unname(h, 0, c.begin, c.end - c.begin, p->log);
		h->has_freed = true;
		hash_remove(&h->blobs, c.at);
		hash_remove(&h->code_at, c.at);
		h->codes.v[i] = last;
		h->codes.n--;
		if (i < h->codes.n && hash_put(&h->code_at, last.at, (uint32_t)i))
			p->nomem = true;
	}
}

/* While the JVM makes a method's code its tables are not whole: it is read again. What does not
 * fit together after some times is written without what was inlined there. */
static bool may_become_whole(struct pass *p, uint64_t at)
{
	const uint32_t tries = hash_get(&p->h->unscoped, at);

	if (tries != HASH_NONE && tries >= SCOPES_TRIES)
		return false;
	p->nomem |= hash_put(&p->h->unscoped, at, tries == HASH_NONE ? 1 : tries + 1) != 0;
	return true;
}

/* Writes a blob if it is new. What was read must still be there afterwards. */
static void take_blob(struct pass *p, uint64_t at, uint64_t bytes)
{
	const struct hotspot_method *m = NULL;
	struct hotspot *h = p->h;
	const size_t before = h->later.bytes.n;
	struct hotspot_blob b, again;
	uint64_t name = 0;
	uint32_t print, known;

	if (!blob_read(h, at, bytes, &b)) {
		p->counts->torn++;
		return;
	}
	if (b.begin < b.end && vec_push(&h->spans, (struct hotspot_span){b.begin, b.end}))
		p->nomem = true;
	print = blob_print(h, &b);
	known = hash_get(&h->blobs, at);
	if (known == print) {
		see_code(p, at);
		return;
	}
	if (b.method)
		m = hotspot_method_at(h, b.method, &p->nomem);
	if (b.method && !m) {
		p->counts->torn++;
		return;
	}
	if (!m)
		add_other_blob(h, &b, p->now_ns, &h->later, &p->nomem);
	else if (!add_method_blob(h, &b, m->name, p->now_ns, &h->later, p->counts, &p->nomem) &&
		 may_become_whole(p, at)) {
		h->later.bytes.n = before;
		p->counts->codes--;
		p->counts->torn++;
		/* As what is not known, it is read soon if samples show it. */
		if (h->spans.n && h->spans.v[h->spans.n - 1].begin == b.begin)
			h->spans.n--;
		return;
	}
	/* Past the cache: what the place says now. */
	if (pread(h->mem.fd, &name, sizeof name, (off_t)(at + h->at[AT_BLOB_NAME])) !=
		    sizeof name ||
	    name != b.name || !blob_read(h, at, bytes, &again) || blob_print(h, &again) != print) {
		h->later.bytes.n = before;
		p->counts->torn++;
		return;
	}
	/* Another method's code was there: which of them the samples until now were of is not
	 * known. */
	if (m && known != HASH_NONE)
		hotspot_unname(h, 0, b.begin, b.end - b.begin, p->log);
	if (m)
		add_code(p, &b);
	if (m && vec_push(&h->fresh, (struct hotspot_span){b.begin, b.end}))
		p->nomem = true;
	if (m && strcmp(b.text, "native nmethod") && hotspot_saw_compiled(h, b.id))
		p->nomem = true;
	hash_remove(&h->unscoped, at);
	if (hash_put(&h->blobs, at, print))
		p->nomem = true;
}

static void walk_heap(struct pass *p, uint64_t heap)
{
	struct hotspot *h = p->h;
	uint64_t memory = heap + h->at[AT_HEAP_MEMORY], segmap = heap + h->at[AT_HEAP_SEGMAP];
	uint64_t low, high, map, length, head, n, i = 0;
	uint32_t log2;
	uint8_t *used, flag;

	if (!hotspot_u64(h, memory, AT_SPACE_LOW, &low) ||
	    !hotspot_u64(h, memory, AT_SPACE_HIGH, &high) ||
	    !hotspot_u64(h, segmap, AT_SPACE_LOW, &map) ||
	    !hotspot_u32(h, heap, AT_HEAP_LOG2, &log2) || low >= high || log2 < 3 || log2 > 20 ||
	    (high - low) >> log2 > SEGMENTS_MAX) {
		p->is_torn = true;
		return;
	}
	n = (high - low) >> log2;
	used = malloc((size_t)n);
	if (!used || !remote_read(&h->mem, map, used, (size_t)n)) {
		p->is_torn = true;
		p->nomem |= !used;
		free(used);
		return;
	}
	while (i < n && h->mem.budget && !h->mem.is_gone && !p->nomem) {
		if (used[i] == 0xff) { /* free */
			i++;
			continue;
		}
		head = low + (i << log2);
		if (!hotspot_u64(h, head, AT_BLOCK_LENGTH, &length) ||
		    !remote_u8(&h->mem, head + h->at[AT_BLOCK_USED], &flag) || !length ||
		    length > n - i) {
			p->is_torn = true;
			i++;
			continue;
		}
		if (flag)
			take_blob(p, head + h->size[SIZE_BLOCK],
				  (length << log2) - h->size[SIZE_BLOCK]);
		i += length;
	}
	free(used);
}

static void walk_heaps(struct pass *p)
{
	struct hotspot *h = p->h;
	uint64_t array, data, heap;
	uint32_t n;

	if (hotspot_has(h, AT_HEAP)) { /* release 8 */
		if (remote_u64(&h->mem, h->at[AT_HEAP], &heap))
			walk_heap(p, heap);
		return;
	}
	if (!remote_u64(&h->mem, h->at[AT_HEAPS], &array) ||
	    !hotspot_u32(h, array, AT_ARRAY_LEN, &n) || n > HEAPS_MAX ||
	    !hotspot_u64(h, array, AT_ARRAY_DATA, &data)) {
		p->is_torn = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (remote_u64(&h->mem, data + 8ull * i, &heap))
			walk_heap(p, heap);
}

static int by_begin(const void *a, const void *b)
{
	const struct hotspot_span *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

bool hotspot_knows(const struct hotspot *h, uint64_t addr)
{
	size_t lo = 0, hi = h->spans.n;

	while (lo < hi) { /* the first that begins behind it */
		size_t mid = lo + (hi - lo) / 2;

		if (h->spans.v[mid].begin <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < h->spans.v[lo - 1].end;
}

/* Where others may have come and gone before code that was seen first, it is not known which of
 * them the samples until now were of. */
static void check_fresh(struct pass *p, uint64_t torn)
{
	struct hotspot *h = p->h;

	if (!hotspot_may_have_missed(h, torn,
				     !p->is_torn && h->mem.budget && !h->mem.is_gone && !p->nomem))
		return;
	for (size_t i = 0; i < h->fresh.n; i++)
		hotspot_unname(h, 0, h->fresh.v[i].begin, h->fresh.v[i].end - h->fresh.v[i].begin,
			       p->log);
}

int hotspot_snapshot(struct hotspot *h, const uint64_t *methods, size_t n, uint64_t now_ns,
		     struct code_log *log, struct hotspot_counts *counts)
{
	struct pass p = {.h = h, .now_ns = now_ns, .log = log, .counts = counts};
	const uint64_t torn = counts->torn;

	remote_renew(&h->mem, READS_MAX);
	hotspot_forget_methods(h);
	h->later.pid = log->pid;
	h->later.bytes.n = 0;
	h->spans.n = 0;
	h->round++;
	h->fresh.n = 0;
	hotspot_counters_begin(h);
	walk_heaps(&p);
	if (h->mem.budget && !h->mem.is_gone && !p.nomem)
		end_codes(&p);
	check_fresh(&p, counts->torn - torn);
	if (h->spans.n)
		qsort(h->spans.v, h->spans.n, sizeof *h->spans.v, by_begin);
	p.nomem |= hotspot_write_methods(h, methods, n, now_ns, log, counts) != 0;
	/* Readers need times that do not fall. */
	code_log_append(log, &h->later, 0, h->later.bytes.n, 0);
	if (!h->mem.is_gone)
		h->before_ns = now_ns;
	counts->is_cut |= !h->mem.budget;
	counts->is_gone |= h->mem.is_gone;
	counts->bytes = log->bytes.n;
	return p.nomem || log->failed || h->later.failed ? -ERR_NOMEM : 0;
}

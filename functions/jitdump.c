/* jitdump.c - reads the records that name code and skips the code itself, which is read later where
 * it is needed.
 *
 * Source: tools/perf/Documentation/jitdump-specification.txt (version 1). A file grows while the
 * program runs and may end in the middle of a record: complete records are used. */
#include "functions/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/processor.h"
#include "base/rooted.h"

enum {
	MAGIC = 0x4a695444, /* "JiTD" in the writer's byte order */
	FLAG_ARCH_TIMESTAMP = 1,
	CODE_LOAD = 0,
	CODE_MOVE = 1,
	CODE_DEBUG_INFO = 2,
	CODE_UNWINDING_INFO = 4,
	RECORD_HEADER = 16,
	/* V8 writes this value to pad1, and adds the size of the ELF header that perf inject will
	 * put before the code to the addresses of lines (src/diagnostics/perf-jit.cc). */
	V8_PAD = 0xdeadbeef,
	LOAD_HEADER = 40, /* between record header and name */
	NAME_MAX_BYTES = 64 << 10,
	DEBUG_INFO_MAX_BYTES = 64 << 20,
	UNWINDING_HEADER = 24,
	EH_FRAME_MAX_BYTES = 1 << 20,
};

struct record {
	uint32_t id;
	uint64_t time_ns;
	uint64_t off, size; /* of the contents after the record header */
};

struct stream {
	int fd;
	const uint8_t *data; /* the whole file in memory; NULL: it is read from fd */
	bool swap;
	uint64_t line_bias; /* to subtract from the addresses of lines */
	uint64_t size;
	struct hash_table latest; /* start -> index in tab.funcs; empty if there are no moves */
	bool has_moves;
	uint8_t *window; /* window_n bytes of the file at window_off */
	uint64_t window_off;
	size_t window_n, window_cap;
};

/* A cursor over `n` bytes of the file at `off`; empty and bad if not all of them exist. */
static struct buf at(struct stream *s, uint64_t off, size_t n)
{
	struct buf none = {.bad = true};
	ssize_t got;

	if (off > s->size || n > s->size - off)
		return none;
	if (s->data)
		return buf_make(s->data + off, n, off, s->swap);
	if (off < s->window_off || off + n > s->window_off + s->window_n) {
		if (n > s->window_cap) {
			uint8_t *bigger = realloc(s->window, n);

			if (!bigger)
				return none;
			s->window = bigger;
			s->window_cap = n;
		}
		got = pread(s->fd, s->window, s->window_cap, (off_t)off);
		s->window_off = off;
		s->window_n = got > 0 ? (size_t)got : 0;
		if (s->window_n < n)
			return none;
	}
	return buf_make(s->window + (off - s->window_off), n, off, s->swap);
}

/* ---- records ----------------------------------------------------------------------------- */

static int add_code(struct jitdump *j, struct stream *s, const struct func *where,
		    const struct jit_code *code)
{
	struct func f = *where;
	struct jit_code c = *code;

	if (j->codes.n >= FUNC_TAG_MAX)
		return 0;
	/* Threads may write slightly out of order; the search by time needs order. */
	if (j->codes.n && c.time_ns < j->codes.v[j->codes.n - 1].time_ns)
		c.time_ns = j->codes.v[j->codes.n - 1].time_ns;
	f.flags = FUNC_GLOBAL;
	f.tag = (uint32_t)j->codes.n & FUNC_TAG_MAX;
	if (vec_push(&j->codes, c) || functab_add(&j->tab, &f))
		return -1;
	/* functab_add() ignores functions without length */
	return s->has_moves && f.end > f.start
		       ? hash_put(&s->latest, f.start, (uint32_t)j->tab.funcs.n - 1)
		       : 0;
}

/* Lines and call frame information for the code of the next CODE_LOAD record. */
struct pending {
	uint64_t code_addr;
	uint64_t last_addr; /* greatest address of a line. Some lines that Node 18 writes are wrong,
			     * outside of the function */
	uint32_t first_line, n_lines;
	uint32_t eh_frame_bytes;
	const uint8_t *eh_frame;
	uint64_t frame_addr, method;
	uint32_t frame;
};

static int read_load(struct jitdump *j, struct stream *s, const struct record *r, struct pending *p)
{
	uint64_t room =
		r->size < LOAD_HEADER + NAME_MAX_BYTES ? r->size : LOAD_HEADER + NAME_MAX_BYTES;
	struct buf b = at(s, r->off, (size_t)room);
	struct func f = {0};
	const char *name;
	uint64_t size, code_at;
	uint32_t id;
	bool has_lines;

	buf_skip(&b, 16); /* pid, tid, vma; the runtime address is code_addr */
	f.start = buf_u64(&b);
	size = buf_u64(&b);
	buf_skip(&b, 8); /* code_index */
	name = buf_cstr(&b);
	if (name && size <= UINT64_MAX - f.start) {
		id = strtab_add_cstr(&j->strings, name);
		if (id == STRTAB_FAILED)
			return -1;
		f.end = f.start + size;
		f.name = strtab_get(&j->strings, id);
		code_at = LOAD_HEADER + strlen(name) + 1;
		has_lines = p->n_lines && p->code_addr == f.start && p->last_addr <= f.end;
		if (add_code(j, s, &f,
			     &(struct jit_code){.time_ns = r->time_ns,
						.first_line = p->first_line,
						.n_lines = has_lines ? p->n_lines : 0,
						.eh_frame_bytes = p->eh_frame_bytes,
						.eh_frame = p->eh_frame,
						.code_off = r->off + code_at,
						.code_bytes = size <= r->size - code_at ? size : 0,
						.frame = p->frame_addr == f.start ? p->frame : 0}))
			return -1;
		if (p->frame && p->method && p->frame_addr == f.start &&
		    vec_push(&j->bytecodes,
			     (struct jit_bytecode){.method = p->method,
						   .time_ns = j->codes.v[j->codes.n - 1].time_ns,
						   .range = {f.start, f.end},
						   .order = (uint32_t)j->bytecodes.n,
						   .is_named = *f.name}))
			return -1;
	}
	p->n_lines = 0;
	p->frame = 0;
	p->eh_frame_bytes = 0;
	return 0;
}

static int index_starts(const struct jitdump *j, struct stream *s)
{
	size_t i;

	s->has_moves = true;
	for (i = 0; i < j->tab.funcs.n; i++)
		if (hash_put(&s->latest, j->tab.funcs.v[i].start, (uint32_t)i))
			return -1;
	return 0;
}

static int read_move(struct jitdump *j, struct stream *s, const struct record *r)
{
	struct buf b = at(s, r->off, 48);
	uint64_t from, to, size;
	struct jit_code c;
	struct func f;
	uint32_t i;

	buf_skip(&b, 16);
	from = buf_u64(&b);
	to = buf_u64(&b);
	size = buf_u64(&b);
	if (!buf_ok(&b) || size > UINT64_MAX - to)
		return 0;
	if (!s->has_moves && index_starts(j, s))
		return -1;
	/* the last function that was placed there */
	i = hash_get(&s->latest, from);
	if (i == HASH_NONE)
		return 0;
	f = j->tab.funcs.v[i];
	c = j->codes.v[f.tag];
	f.start = to;
	f.end = to + size;
	c.time_ns = r->time_ns;
	c.moved += to - from;
	return add_code(j, s, &f, &c);
}

static int read_lines(struct jitdump *j, struct stream *s, const struct record *r,
		      struct pending *p)
{
	struct buf b = at(s, r->off, r->size <= DEBUG_INFO_MAX_BYTES ? (size_t)r->size : 0);
	uint32_t file = 0;
	uint64_t n, i;

	p->code_addr = p->last_addr = buf_u64(&b);
	n = buf_u64(&b);
	p->first_line = (uint32_t)j->lines.n;
	p->n_lines = 0;
	for (i = 0; i < n && buf_left(&b); i++) {
		uint64_t addr = buf_u64(&b) - s->line_bias;
		uint32_t line = buf_u32(&b);
		const char *name;

		buf_skip(&b, 4); /* discriminator */
		name = buf_cstr(&b);
		if (!name || j->lines.n >= UINT32_MAX)
			break;
		if (strcmp(name, "\xff") != 0) /* "\xff": same file as before */
			file = strtab_add_cstr(&j->strings, name);
		if (file == STRTAB_FAILED ||
		    vec_push(&j->lines, (struct jitdump_line){addr, file, line}))
			return -1;
		if (addr > p->last_addr)
			p->last_addr = addr;
		p->n_lines++;
	}
	return 0;
}

/* The record has .eh_frame and then .eh_frame_hdr, which is not needed: there is only one FDE. V8
 * writes only the second for functions without call frame information. */
static int read_unwinding(struct jitdump *j, struct stream *s, const struct record *r,
			  struct pending *p)
{
	struct buf b = at(s, r->off,
			  r->size < UNWINDING_HEADER + EH_FRAME_MAX_BYTES ? (size_t)r->size : 0);
	uint64_t size = buf_u64(&b), hdr_size = buf_u64(&b);

	buf_skip(&b, 8); /* mapped_size */
	p->eh_frame_bytes = 0;
	if (!buf_ok(&b) || size > buf_left(&b) || hdr_size >= size)
		return 0;
	p->eh_frame = arena_memdup(&j->eh_frames, b.p, (size_t)(size - hdr_size));
	if (!p->eh_frame)
		return -1;
	p->eh_frame_bytes = (uint32_t)(size - hdr_size);
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct jitdump_line *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void read_names(struct jitdump *j, struct buf b)
{
	struct jit_names n = {.named = buf_u64(&b)};

	n.torn = buf_u64(&b);
	n.changed = buf_u64(&b);
	if (buf_ok(&b))
		j->names = n;
}

static int read_records(struct jitdump *j, struct stream *s, uint64_t off)
{
	struct pending pending = {0};
	int rc = 0;

	while (!rc) {
		struct buf b = at(s, off, RECORD_HEADER);
		struct record r = {.id = buf_u32(&b)};
		uint32_t total = buf_u32(&b);

		r.time_ns = buf_u64(&b);
		if (!buf_ok(&b) || total < RECORD_HEADER || total > s->size - off)
			break;
		r.off = off + RECORD_HEADER;
		r.size = total - RECORD_HEADER;
		if (r.id == CODE_LOAD)
			rc = read_load(j, s, &r, &pending);
		else if (r.id == CODE_MOVE)
			rc = read_move(j, s, &r);
		else if (r.id == CODE_DEBUG_INFO)
			rc = read_lines(j, s, &r, &pending);
		else if (r.id == CODE_UNWINDING_INFO)
			rc = read_unwinding(j, s, &r, &pending);
		else if (r.id == JIT_RECORD_FRAME)
			rc = jit_frame_read(j, at(s, r.off, (size_t)r.size), &pending.frame_addr,
					    &pending.method, &pending.frame);
		else if (r.id == JIT_RECORD_BYTES && s->data)
			rc = jit_pages_read(j, at(s, r.off, (size_t)r.size), r.time_ns);
		else if (r.id == JIT_RECORD_NAMES)
			read_names(j, at(s, r.off, (size_t)r.size));
		if (pending.n_lines && r.id == CODE_DEBUG_INFO)
			qsort(j->lines.v + pending.first_line, pending.n_lines, sizeof *j->lines.v,
			      by_addr);
		off += total;
	}
	j->cut_off = rc || off == s->size ? 0 : off;
	return rc;
}

/* Finds the ranges with overlapping code; functions that overlap are joined into one range. */
static int find_contested(struct jitdump *j)
{
	const struct func *v = j->tab.funcs.v;
	size_t n = j->tab.funcs.n, i, in = 0;
	struct jit_range r = {0};

	for (i = 0; i <= n; i++) {
		if (i < n && in && v[i].start < r.end) {
			if (v[i].end > r.end)
				r.end = v[i].end;
			in++;
			continue;
		}
		if (in > 1 && vec_push(&j->contested, r))
			return -1;
		if (i < n)
			r = (struct jit_range){v[i].start, v[i].end};
		in = 1;
	}
	return 0;
}

static bool is_contested(const struct jitdump *j, uint64_t ip)
{
	size_t lo = 0, hi = j->contested.n;

	while (lo < hi) { /* the first that ends after ip */
		size_t mid = lo + (hi - lo) / 2;

		if (j->contested.v[mid].end <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < j->contested.n && j->contested.v[lo].start <= ip;
}

/* ---- the whole file ---------------------------------------------------------------------- */

/* Returns the offset of the first record, or 0 if this is not a jitdump. */
static uint64_t read_header(struct jitdump *j, struct stream *s)
{
	struct buf b = at(s, 0, 40);
	uint32_t magic = buf_u32(&b), version, total, pad;
	const struct processor *cpu;

	if (magic == __builtin_bswap32(MAGIC))
		j->swap = s->swap = b.swap = true;
	else if (magic != MAGIC)
		return 0;
	version = buf_u32(&b);
	total = buf_u32(&b);
	cpu = processor_find_elf((uint16_t)buf_u32(&b), true);
	pad = buf_u32(&b);
	if (pad == V8_PAD)
		s->line_bias =
			cpu && cpu->word_bytes == 4 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
	buf_skip(&b, 12); /* pid, timestamp */
	j->has_times = !(buf_u64(&b) & FLAG_ARCH_TIMESTAMP);
	return buf_ok(&b) && version == 1 && total >= 40 ? total : 0;
}

/* If the file is truncated meanwhile, its end reads as zeros: see pages_survive_cuts(). */
static void map_file(struct jitdump *j, int fd, uint64_t size)
{
	void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		return;
	j->file = p;
	j->file_bytes = (size_t)size;
}

static int read_stream(struct jitdump *j, struct stream *s, const char *name, struct err *err)
{
	uint64_t off;
	int rc;

	j->tab.latest_wins = true;
	off = read_header(j, s);
	if (!off)
		return err_set(err, ERR_FORMAT, name, "not a jitdump");
	rc = read_records(j, s, off) || functab_finish(&j->tab) || find_contested(j) ||
	     jit_pages_finish(j);
	jit_bytecodes_finish(j);
	hash_done(&s->latest);
	return rc ? err_nomem(err) : 0;
}

int jitdump_read_fd(struct jitdump *j, int fd, const char *path, struct err *err)
{
	struct stream s = {.fd = fd, .window_cap = 256 << 10};
	struct stat st;
	int rc;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, path, "not a regular file");
	s.size = (uint64_t)st.st_size;
	s.window = malloc(s.window_cap);
	if (!s.window)
		return err_nomem(err);
	rc = read_stream(j, &s, path, err);
	if (!rc)
		map_file(j, s.fd, s.size);
	free(s.window);
	return rc;
}

int jitdump_read_memory(struct jitdump *j, uint8_t *data, size_t n, const char *name,
			struct err *err)
{
	struct stream s = {.fd = -1, .data = data, .size = n};

	j->file = data;
	j->file_bytes = n;
	j->file_is_malloced = true;
	return read_stream(j, &s, name, err);
}

void jitdump_done(struct jitdump *j)
{
	functab_done(&j->tab);
	vec_done(&j->codes);
	vec_done(&j->lines);
	vec_done(&j->contested);
	vec_done(&j->frames);
	vec_done(&j->scopes);
	vec_done(&j->pcs);
	vec_done(&j->bytecodes);
	jit_pages_done(j);
	strtab_done(&j->strings);
	arena_done(&j->eh_frames);
	if (j->file_is_malloced)
		free((void *)(uintptr_t)j->file);
	else if (j->file)
		munmap((void *)(uintptr_t)j->file, j->file_bytes);
	*j = (struct jitdump){0};
}

uint32_t jitdump_version(const struct jitdump *j, uint64_t time_ns)
{
	size_t lo = 0, hi = j->codes.n;

	if (!j->has_times)
		return 0;
	while (lo < hi) { /* the first code emitted later */
		size_t mid = lo + (hi - lo) / 2;

		if (j->codes.v[mid].time_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo + 1;
}

/* The function at ip when the first `n` pieces of code had been emitted. If there was none, the
 * first one that was placed there later: some writers write the record a little after the code
 * starts to run. */
static const struct func *find_version(const struct jitdump *j, uint64_t ip, uint32_t n,
				       struct func_cursor *cursor)
{
	const struct func *f = functab_find_before(&j->tab, ip, n, cursor);

	return f ? f : functab_find_next(&j->tab, ip, n, cursor);
}

struct jit_span jitdump_span(const struct jitdump *j, uint64_t ip, uint32_t version)
{
	struct jit_span always = {.until = UINT32_MAX}, span;
	struct func_cursor cursor = {0};
	const struct func *f, *next;
	uint32_t n = version - 1;

	if (!version || !is_contested(j, ip))
		return always;
	f = find_version(j, ip, n, &cursor);
	if (!f)
		return always;
	next = functab_find_next(&j->tab, ip, f->tag + 1, &cursor);
	span.made_ns = j->codes.v[f->tag].time_ns;
	/* By its time the other code would be found. */
	if (next && span.made_ns > 1 && j->codes.v[next->tag].time_ns == span.made_ns)
		span.made_ns--;
	span.from = f->tag < n ? (uint32_t)f->tag + 2 : 0;
	span.until = next ? (uint32_t)next->tag + 2 : UINT32_MAX;
	return span;
}

const struct func *jitdump_find(const struct jitdump *j, uint64_t ip, uint64_t time_ns,
				struct func_cursor *cursor)
{
	uint32_t version = time_ns ? jitdump_version(j, time_ns) : 0;

	return version ? find_version(j, ip, version - 1, cursor)
		       : functab_find(&j->tab, ip, cursor);
}

bool jitdump_unwind_info(const struct jitdump *j, uint64_t ip, uint64_t time_ns,
			 struct jit_unwind_info *ret)
{
	struct func_cursor cursor = {0};
	const struct func *f = jitdump_find(j, ip, time_ns, &cursor);
	const struct jit_code *c = f ? &j->codes.v[f->tag] : NULL;

	if (!c)
		return false;
	*ret = (struct jit_unwind_info){
		.start = f->start,
		.end = f->end,
		.eh_frame = c->eh_frame,
		.size = c->eh_frame_bytes,
		.swap = j->swap,
	};
	/* Only if the size is unchanged: a move record may give another one, but results for code
	 * are cached by the address of its bytes. */
	if (j->file && f->end - f->start == c->code_bytes)
		ret->code = j->file + c->code_off;
	if (c->frame) {
		ret->frame_kind = (uint8_t)j->frames.v[c->frame - 1].kind;
		ret->frame_bytes = j->frames.v[c->frame - 1].frame_bytes;
		ret->complete_bytes = j->frames.v[c->frame - 1].complete_bytes;
	}
	return ret->code || ret->size || ret->frame_kind;
}

uint64_t jitdump_made_ns(const struct jitdump *j, const struct func *f)
{
	return j->codes.v[f->tag].time_ns;
}

bool jitdump_has_functions(const struct jitdump *j)
{
	return j->tab.funcs.n;
}

size_t jitdump_line_count(const struct jitdump *j)
{
	return j->lines.n + j->pcs.n;
}

bool jitdump_line(const struct jitdump *j, const struct func *f, uint64_t ip, const char **file,
		  uint32_t *line)
{
	const struct jit_code *c = &j->codes.v[f->tag];
	const struct jitdump_line *v;
	size_t lo = 0, hi = c->n_lines;

	if (!hi)
		return false;
	v = j->lines.v + c->first_line;
	ip -= c->moved;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].addr <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	*file = strtab_get(&j->strings, v[lo - 1].file);
	*line = v[lo - 1].line;
	return true;
}

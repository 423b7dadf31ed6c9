/* code_log.c - writes a jitdump. */
#include <string.h>

#include "base/processor.h"
#include "functions/functions.h"
#include "runtimes/runtimes.h"

/* tools/perf/Documentation/jitdump-specification.txt */
enum { MAGIC = 0x4a695444, VERSION = 1, FILE_HEADER = 40, CODE_LOAD = 0, CODE_DEBUG_INFO = 2 };

static void put(struct code_log *l, const void *p, size_t n)
{
	if (l->failed || vec_reserve(&l->bytes, l->bytes.n + n)) {
		l->failed = true;
		return;
	}
	if (n)
		memcpy(l->bytes.v + l->bytes.n, p, n);
	l->bytes.n += n;
}

static void put_u32(struct code_log *l, uint32_t v)
{
	put(l, &v, sizeof v);
}

static void put_u64(struct code_log *l, uint64_t v)
{
	put(l, &v, sizeof v);
}

static void put_text(struct code_log *l, const char *s)
{
	put(l, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* Begins a record; end_record() fills in its size. */
static size_t begin_record(struct code_log *l, uint32_t id, uint64_t now_ns)
{
	size_t at = l->bytes.n;

	put_u32(l, id);
	put_u32(l, 0);
	put_u64(l, now_ns);
	return at;
}

static void end_record(struct code_log *l, size_t at)
{
	uint32_t n = (uint32_t)(l->bytes.n - at);

	if (!l->failed)
		memcpy(l->bytes.v + at + 4, &n, sizeof n);
}

void code_log_begin(struct code_log *l, uint32_t pid, uint64_t now_ns)
{
	const struct processor *cpu = processor_here();

	*l = (struct code_log){.pid = pid};
	put_u32(l, MAGIC);
	put_u32(l, VERSION);
	put_u32(l, FILE_HEADER);
	put_u32(l, cpu ? cpu->e_machine : 0);
	put_u32(l, 0);
	put_u32(l, pid);
	put_u64(l, now_ns);
	put_u64(l, 0);
}

void code_log_done(struct code_log *l)
{
	vec_done(&l->bytes);
}

static void put_lines(struct code_log *l, uint64_t now_ns, const struct code_log_piece *p)
{
	size_t at = begin_record(l, CODE_DEBUG_INFO, now_ns);

	put_u64(l, p->start);
	put_u64(l, p->n_lines);
	for (size_t i = 0; i < p->n_lines; i++) {
		put_u64(l, p->lines[i].addr);
		put_u32(l, p->lines[i].line);
		put_u32(l, 0);
		put_text(l, i ? "\xff" : p->file);
	}
	end_record(l, at);
}

static void put_frame(struct code_log *l, uint64_t now_ns, const struct code_log_piece *p)
{
	static const struct code_log_inlined none;
	const struct code_log_inlined *in = p->inlined ? p->inlined : &none;
	size_t at = begin_record(l, JIT_RECORD_FRAME, now_ns);

	put_u64(l, p->start);
	put_u32(l, p->frame->kind);
	put_u32(l, p->frame->frame_bytes);
	put_u32(l, p->frame->complete_bytes);
	put_u32(l, in->n_methods);
	put_u32(l, in->n_scopes);
	put_u32(l, in->n_pcs);
	put_u64(l, p->frame->method);
	for (uint32_t i = 0; i < in->n_scopes; i++) {
		put_u32(l, in->scopes[i].up);
		put_u32(l, in->scopes[i].method);
		put_u32(l, in->scopes[i].line);
	}
	for (uint32_t i = 0; i < in->n_pcs; i++) {
		put_u32(l, in->pcs[i].end);
		put_u32(l, in->pcs[i].scope);
	}
	for (uint32_t i = 0; i < in->n_methods; i++) {
		put_text(l, in->methods[i].name);
		put_text(l, in->methods[i].file);
	}
	end_record(l, at);
}

void code_log_add(struct code_log *l, uint64_t now_ns, const struct code_log_piece *p)
{
	size_t at;

	if (p->n_lines)
		put_lines(l, now_ns, p);
	if (p->frame)
		put_frame(l, now_ns, p);
	at = begin_record(l, CODE_LOAD, now_ns);
	put_u32(l, l->pid);
	put_u32(l, l->pid);
	put_u64(l, p->start);
	put_u64(l, p->start);
	put_u64(l, p->size);
	put_u64(l, l->n_codes++);
	put_text(l, p->name);
	if (p->code)
		put(l, p->code, p->size);
	end_record(l, at);
}

void code_log_add_bytes(struct code_log *l, uint64_t now_ns, uint64_t start, const uint8_t *bytes,
			size_t n)
{
	size_t at = begin_record(l, JIT_RECORD_BYTES, now_ns);

	put_u64(l, start);
	put(l, bytes, n);
	end_record(l, at);
}

void code_log_add_names(struct code_log *l, uint64_t now_ns, const struct v8_counts *c)
{
	size_t at = begin_record(l, JIT_RECORD_NAMES, now_ns);

	put_u64(l, c->functions);
	put_u64(l, c->torn);
	put_u64(l, c->changed);
	end_record(l, at);
}

void code_log_append(struct code_log *to, const struct code_log *from, size_t at, size_t end,
		     uint64_t time_ns)
{
	size_t begin = to->bytes.n;
	uint32_t size;

	to->failed |= from->failed;
	if (!from->failed)
		put(to, from->bytes.v + at, end - at);
	for (; time_ns && !to->failed && begin < to->bytes.n; begin += size) {
		memcpy(&size, to->bytes.v + begin + 4, sizeof size);
		memcpy(to->bytes.v + begin + 8, &time_ns, sizeof time_ns);
	}
}

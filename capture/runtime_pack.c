/* runtime_pack.c - what was read of a process that runs managed code: kept, written, and what is
 * said of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "capture/runtime_process.h"
#include "capture/runtime_watch.h"
#include "capture/session.h"
#include "reader/format.h"

#define ZSTD_LEVEL 3

/* What was read is written when it is so much, or has waited for so long. */
#define WRITE_BYTES (256u << 10)
#define WRITE_NS    2000000000ull

/* The largest record that is a multiple of 8. */
enum { RECORD_BYTES_MAX = UINT16_MAX - UINT16_MAX % 8 };

static size_t log_bytes(const struct runtime_process *p)
{
	return p->is_packed ? p->log_bytes : p->log.bytes.n;
}

bool runtime_process_has_log(const struct runtime_process *p)
{
	return p->is_packed ? p->packed.vec.n : p->log.bytes.n > CODE_LOG_HEADER_BYTES;
}

static bool has_more(const struct runtime_process *p)
{
	return p->is_packed
		       ? !p->n_written && p->packed.vec.n
		       : p->log.bytes.n > CODE_LOG_HEADER_BYTES && p->log.bytes.n > p->n_written;
}

bool runtime_process_is_due(const struct runtime_process *p, uint64_t now_ns)
{
	return !p->is_packed && !p->busy && has_more(p) &&
	       (p->log.bytes.n - p->n_written >= WRITE_BYTES || now_ns - p->written_ns >= WRITE_NS);
}

/* A jitdump with the log from `at` on as a zstd frame; *to is `failed` if there is no memory for
 * it.
 */
static void pack_log(const struct code_log *log, size_t at, struct bytes *to)
{
	const size_t head = at ? CODE_LOG_HEADER_BYTES : 0, n = log->bytes.n - at;
	const size_t room = ZSTD_compressBound(head + n);
	ZSTD_inBuffer first = {log->bytes.v, head, 0}, rest = {log->bytes.v + at, n, 0};
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_outBuffer out;
	size_t rc = 0;

	to->failed |= log->failed || !zstd || vec_reserve(&to->vec, room);
	if (!to->failed) {
		out = (ZSTD_outBuffer){to->vec.v, room, 0};
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		ZSTD_CCtx_setPledgedSrcSize(zstd, head + n); /* small ones: small tables */
		if (head)
			rc = ZSTD_compressStream2(zstd, &out, &first, ZSTD_e_continue);
		if (!ZSTD_isError(rc))
			rc = ZSTD_compressStream2(zstd, &out, &rest, ZSTD_e_end);
		to->failed |= rc != 0; /* there is room for all */
		to->vec.n = out.pos;
	}
	ZSTD_freeCCtx(zstd);
}

/* As records, each with a piece. */
static void put_frame(pid_t pid, uint64_t bytes, const struct bytes *frame, struct bytes *records)
{
	struct recorded_code h = {
		.header.type = RECORD_EVENT_TYPE,
		.version = RECORDED_CODE_VERSION,
		.pid = (uint32_t)pid,
		.bytes = bytes,
		.packed = frame->vec.n,
	};

	memcpy(h.magic, RECORDED_CODE_MAGIC, sizeof h.magic);
	records->failed |= frame->failed;
	for (size_t n; h.at < frame->vec.n && !records->failed; h.at += n) {
		size_t size = sizeof h + frame->vec.n - h.at;

		size = size > RECORD_BYTES_MAX ? RECORD_BYTES_MAX : (size + 7) / 8 * 8;
		if (size < RECORDED_CODE_BYTES_MIN)
			size = RECORDED_CODE_BYTES_MIN;
		h.header.size = (uint16_t)size;
		n = size - sizeof h;
		if (n > frame->vec.n - h.at)
			n = frame->vec.n - h.at;
		bytes_put(records, &h, sizeof h);
		bytes_put(records, frame->vec.v + h.at, n);
		bytes_zeros(records, size - sizeof h - n);
	}
}

void recorded_code_put_mark(struct bytes *records, uint16_t frame)
{
	struct recorded_code h = {
		.header = {.type = RECORD_EVENT_TYPE, .size = RECORDED_CODE_BYTES_MIN},
		.version = RECORDED_CODE_VERSION,
		.frame = frame,
	};

	memcpy(h.magic, RECORDED_CODE_MAGIC, sizeof h.magic);
	bytes_put(records, &h, sizeof h);
	bytes_zeros(records, RECORDED_CODE_BYTES_MIN - sizeof h);
}

void runtime_process_write(struct runtime_process *p, uint64_t now_ns, struct bytes *records)
{
	const size_t at = p->n_written > CODE_LOG_HEADER_BYTES ? p->n_written : 0;
	struct bytes frame = {0};

	p->written_ns = now_ns;
	if (!has_more(p))
		return;
	if (p->is_packed) {
		put_frame(p->pid, p->log_bytes, &p->packed, records);
		p->n_written = p->log_bytes;
		return;
	}
	pack_log(&p->log, at, &frame);
	put_frame(p->pid, (at ? CODE_LOG_HEADER_BYTES : 0) + p->log.bytes.n - at, &frame, records);
	if (!records->failed)
		p->n_written = p->log.bytes.n;
	bytes_done(&frame);
}

void runtime_process_pack(struct runtime_process *p, struct bytes *records)
{
	if (p->hotspot && !p->counts.is_gone)
		(void)hotspot_end(p->hotspot, &p->log);
	if (p->v8.v8)
		v8_watch_read(&p->v8, p->pid, &(struct v8_todo){0}, true, &p->log);
	if (records) {
		runtime_process_write(p, p->written_ns, records);
	} else if (p->log.bytes.n > CODE_LOG_HEADER_BYTES) {
		pack_log(&p->log, 0, &p->packed);
		vec_shrink(&p->packed.vec);
	}
}

/* Its JVM was opened, and nothing was found there. */
static bool shows_no_code(const struct runtime_process *p)
{
	return p->is_jvm && p->hotspot && p->ranges.v.n && log_bytes(p) <= CODE_LOG_HEADER_BYTES;
}

/* Flags and sums stay, for the notes and in case that the number is given again. */
void runtime_process_packed(struct runtime_process *p)
{
	p->busy = false;
	p->is_gone = true;
	if (p->packed.failed) { /* it stays as it is */
		bytes_done(&p->packed);
		p->packed = (struct bytes){0};
		p->ended_ns = UINT64_MAX;
		return;
	}
	p->shows_no_code = shows_no_code(p);
	p->log_bytes = p->log.bytes.n;
	p->is_packed = true;
	code_log_done(&p->log);
	hotspot_free(p->hotspot);
	p->hotspot = NULL;
	v8_watch_done(&p->v8);
	p->v8 = (struct v8_watch){.counts = p->v8.counts, .n_written = p->v8.n_written};
	code_copy_done(&p->copy);
	p->copy = (struct code_copy){.error = p->copy.error, .is_cut = p->copy.is_cut};
	code_ranges_done(&p->ranges);
	vec_done(&p->methods);
	vec_done(&p->places);
	hash_done(&p->seen);
	hash_done(&p->seen_places);
}

void runtime_process_unpack(struct runtime_process *p)
{
	size_t n = 0;

	p->is_packed = false;
	p->n_written = 0;
	if (p->packed.vec.n && !vec_reserve(&p->log.bytes, p->log_bytes))
		n = ZSTD_decompress(p->log.bytes.v, p->log_bytes, p->packed.vec.v, p->packed.vec.n);
	p->log.failed |= p->packed.vec.n && n != p->log_bytes;
	p->log.bytes.n = p->log.failed ? 0 : n;
	bytes_done(&p->packed);
	p->packed = (struct bytes){0};
}

/* ---- the notes --------------------------------------------------------------------------- */

/* A recording is finished again when its bundle is there: once is enough. */
void runtime_process_note(struct runtime_process *p, struct capture_result *r)
{
	if (p->is_noted)
		return;
	p->is_noted = true;
	if (p->is_jvm && p->ended_early && !p->tries)
		capture_note(r,
			     "process %d ended before its JVM was read: its Java code has no names",
			     (int)p->pid);
	if (p->why.code == ERR_PERMISSION)
		capture_note(
			r,
			"process %d is a JVM whose memory this user may not read: its code has "
			"no names; record as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
			(int)p->pid);
	else if (p->why.code != ERR_OK && p->why.code != ERR_NOT_FOUND)
		capture_note(r, "process %d: %s %s: its Java code has no names", (int)p->pid,
			     p->why.source, p->why.what);
	if (p->shows_no_code || shows_no_code(p))
		capture_note(r,
			     "process %d: its JVM shows no code that could be read: its Java code "
			     "has no names",
			     (int)p->pid);
	if (p->copy.error == EACCES || p->copy.error == EPERM)
		capture_note(r,
			     "process %d has code without a file, which this user may not read: "
			     "record as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
			     (int)p->pid);
	if (p->lacks_code)
		capture_note(
			r,
			"process %d has code without a file, which is not copied, as its stacks "
			"are executable, too: some of its stacks may end early",
			(int)p->pid);
	if (p->copy.is_cut)
		capture_note(r,
			     "process %d has more code without a file than the %d MB that are "
			     "copied: some of its stacks may end early",
			     (int)p->pid, CODE_COPY_MAX >> 20);
	if (p->v8.counts.is_cut)
		capture_note(r,
			     "process %d has more JavaScript functions than are read: some have "
			     "no names",
			     (int)p->pid);
	if (p->counts.is_cut || (p->is_jvm && log_bytes(p) > RUNTIME_LOG_MAX))
		capture_note(r,
			     "process %d has more code than is read: some Java code has no names",
			     (int)p->pid);
}

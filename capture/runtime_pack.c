/* runtime_pack.c - what was read of a process that runs managed code: kept, written, and what is
 * said of it. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "capture/runtime_process.h"
#include "capture/session.h"
#include "functions/functions.h"

#define ZSTD_LEVEL 3

static size_t log_bytes(const struct runtime_process *p)
{
	return p->is_packed ? p->log_bytes : p->log.bytes.n;
}

bool runtime_process_has_log(const struct runtime_process *p)
{
	return log_bytes(p) > CODE_LOG_HEADER_BYTES;
}

/* The log as a zstd frame; *to is `failed` if there is no memory for it. */
static void pack_log(const struct code_log *log, struct bytes *to)
{
	const size_t room = ZSTD_compressBound(log->bytes.n);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t n = 0;

	to->failed |= log->failed || !zstd || vec_reserve(&to->vec, room);
	if (!to->failed) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(zstd, to->vec.v, room, log->bytes.v, log->bytes.n);
		to->failed |= ZSTD_isError(n);
	}
	ZSTD_freeCCtx(zstd);
	if (!to->failed)
		to->vec.n = n;
}

void runtime_process_pack(struct runtime_process *p)
{
	if (p->hotspot && !p->counts.is_gone)
		(void)hotspot_end(p->hotspot, &p->log);
	if (p->v8.v8)
		v8_watch_read(&p->v8, p->pid, &(struct v8_todo){0}, true, &p->log);
	if (p->log.bytes.n <= CODE_LOG_HEADER_BYTES)
		return;
	pack_log(&p->log, &p->packed);
	vec_shrink(&p->packed.vec);
}

/* Its JVM was opened, and nothing was found there. */
static bool shows_no_code(const struct runtime_process *p)
{
	return p->is_jvm && p->hotspot && p->ranges.v.n && !runtime_process_has_log(p);
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
	if (p->packed.vec.n && !vec_reserve(&p->log.bytes, p->log_bytes))
		n = ZSTD_decompress(p->log.bytes.v, p->log_bytes, p->packed.vec.v, p->packed.vec.n);
	p->log.failed |= p->packed.vec.n && n != p->log_bytes;
	p->log.bytes.n = p->log.failed ? 0 : n;
	bytes_done(&p->packed);
	p->packed = (struct bytes){0};
}

/* ---- the section and the notes -----------------------------------------------------------------
 */

void runtime_process_add(const struct runtime_process *p, struct bytes *section)
{
	struct bytes now = {0};
	const struct bytes *packed = p->is_packed ? &p->packed : &now;

	if (!p->is_packed)
		pack_log(&p->log, &now);
	section->failed |= now.failed;
	if (!now.failed) {
		if (!section->vec.n) {
			bytes_u32(section, RUNTIME_CODE_MAGIC);
			bytes_u32(section, RUNTIME_CODE_VERSION);
		}
		bytes_u32(section, (uint32_t)p->pid);
		bytes_u32(section, 0);
		bytes_u64(section, log_bytes(p));
		bytes_u64(section, packed->vec.n);
		bytes_put(section, packed->vec.v, packed->vec.n);
	}
	bytes_done(&now);
}

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

/* byte_source.h - the bytes of a recording, wherever they come from. Private to reader/.
 *
 * A plain file can be read at any offset, again and again; a pipe only once, in order. It is mapped
 * only on request: a file that another process truncates would kill us with SIGBUS, short reads do
 * not.
 */
#ifndef READER_BYTE_SOURCE_H
#define READER_BYTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What byte_source_peek() can show; larger than any header. */
#define SOURCE_HEAD_BYTES 512

struct byte_source {
	const char *name; /* for messages; the caller's */
	int fd;
	bool owns_fd;
	bool is_stdin;
	bool seekable;
	const volatile int *stop; /* of perf_file_options; may be NULL */
	uint64_t stopped_ns;	  /* when that was seen; 0: not yet */
	uint64_t size;		  /* seekable: bytes when it was opened */
	uint64_t mtime_ns;	  /* 0 when it is no file */
	uid_t uid;		  /* whose it is */
	uint64_t pos;		  /* of the next sequential read */
	uint8_t *map;		  /* all of it, read-only, of a stream's; NULL: to be read */
	size_t map_bytes;
	uint8_t head[SOURCE_HEAD_BYTES];
	size_t head_n; /* not seekable: bytes of head read so far; those below pos are used */
};

/* "-" is standard input. */
int byte_source_open(struct byte_source *s, const char *path, struct err *err);
/* Of a name that the user did not give: only a regular file (base/rooted.h). */
int byte_source_open_file(struct byte_source *s, const char *path, bool follow, struct err *err);
void byte_source_close(struct byte_source *s);
/* Maps a seekable source, if that is possible; `alone`: and if reading it is not faster. */
void byte_source_map(struct byte_source *s, bool alone);
/* How many of the `n` mapped bytes at an offset are still in the file. */
uint64_t byte_source_left(const struct byte_source *s, uint64_t off, uint64_t n);
/* At least the first `want` bytes (<= SOURCE_HEAD_BYTES) without using them up, fewer only at the
 * end. Returns how many are in s->head. */
ssize_t byte_source_peek(struct byte_source *s, size_t want, struct err *err);
/* The next bytes in order: how many (pipes: at least one), 0 at the end, and of a pipe when nothing
 * more is wanted and nothing comes. */
ssize_t byte_source_read(struct byte_source *s, void *p, size_t n, struct err *err);
/* Bytes at an offset, for seekable sources; fewer than n only at the end. */
ssize_t byte_source_pread(const struct byte_source *s, uint64_t off, void *p, size_t n,
			  struct err *err);
/* Copies what is left of a pipe into a temporary file, which becomes the source. */
int byte_source_spool(struct byte_source *s, struct err *err);

/* Makes an open file of `size` bytes the source. */
void byte_source_replace(struct byte_source *s, int fd, uint64_t size);

/* An unlinked file for what does not fit into memory: the descriptor, or negative. */
int tempfile_open(struct err *err);
int tempfile_append(int fd, const void *p, size_t n, struct err *err);
/* pread() until n bytes or the end; negative with *err on an I/O error. */
ssize_t pread_full(int fd, uint64_t off, void *p, size_t n, const char *name, struct err *err);

/* unwrap.c: if the source is packed, unpacks it into a temporary file, which becomes the source;
 * else does nothing. What could be unpacked of a damaged file is kept, and *why says what is wrong,
 * for people (NULL: nothing). */
int byte_source_unwrap(struct byte_source *s, const char **why, struct err *err);

#endif

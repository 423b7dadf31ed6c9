/* byte_source.h - the bytes of a recording, from a file or a pipe. Private to reader/.
 *
 * A plain file can be read at any offset, again and again; a pipe only once and in order. A file is
 * mapped only on request: if another process truncates it, a mapping raises SIGBUS, while read()
 * only returns less. */
#ifndef READER_BYTE_SOURCE_H
#define READER_BYTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* limit of byte_source_peek(); larger than any header */
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
	/* The whole file, read-only; NULL if it is not mapped. Only sources of streams are. */
	uint8_t *map;
	size_t map_bytes;
	uint8_t head[SOURCE_HEAD_BYTES];
	size_t head_n; /* not seekable: bytes of head read so far; those below pos are used */
};

/* "-" is standard input. */
int byte_source_open(struct byte_source *s, const char *path, struct err *err);
/* For a name that the user did not give: opens only a regular file (base/rooted.h). */
int byte_source_open_file(struct byte_source *s, const char *path, bool follow, struct err *err);
void byte_source_close(struct byte_source *s);
/* Maps a seekable source if possible. If `alone`, maps it only where that is not slower than
 * reading. */
void byte_source_map(struct byte_source *s, bool alone);
/* How many of the n mapped bytes at an offset are still inside the file, which may have been
 * truncated. */
uint64_t byte_source_left(const struct byte_source *s, uint64_t off, uint64_t n);
/* Reads the first `want` bytes (at most SOURCE_HEAD_BYTES) without consuming them. Returns how many
 * are in s->head, fewer than `want` only at the end of the source; negative with *err. */
ssize_t byte_source_peek(struct byte_source *s, size_t want, struct err *err);
/* Reads the next bytes in order. Returns how many (of a pipe at least one); 0 at the end, or, of a
 * pipe, if the reader was asked to stop and no more bytes come; negative with *err. */
ssize_t byte_source_read(struct byte_source *s, void *p, size_t n, struct err *err);
/* Reads bytes at an offset of a seekable source. Returns fewer than n only at the end. */
ssize_t byte_source_pread(const struct byte_source *s, uint64_t off, void *p, size_t n,
			  struct err *err);
/* Copies the rest of a pipe into a temporary file, which becomes the source. */
int byte_source_spool(struct byte_source *s, struct err *err);

/* Replaces the source by an open file of `size` bytes. */
void byte_source_replace(struct byte_source *s, int fd, uint64_t size);

/* pread() until n bytes are read or the file ends. Returns the number of bytes, or negative with
 * *err. */
ssize_t pread_full(int fd, uint64_t off, void *p, size_t n, const char *name, struct err *err);

/* unwrap.c: if the source is compressed (gzip, xz, zstd), decompresses it into a temporary file,
 * which becomes the source; else does nothing. Of a damaged file the part before the damage is
 * kept; then *why is a message for users, otherwise NULL. */
int byte_source_unwrap(struct byte_source *s, const char **why, struct err *err);

#endif

/* bundle.h - what a recording carries of the machine that it was made on, so that one file is
 * enough anywhere else: ELF files with holes, maps of JIT compilers, the kernel's symbols.
 *
 * It is a feature section of the perf.data (FEATURE_BUNDLE); perf passes over those that it does
 * not know. The section is a sequence of entries, each complete in itself, so that what is cut off
 * or damaged costs only its own entry. All numbers are little-endian:
 *
 *	section   "unspbndl", u32 version (BUNDLE_VERSION), u32 0, entries
 *	entry     struct bundle_header; the path, without NUL; the stored bytes; zeros up to a
 *		  multiple of 8
 *	stored    a zstd frame with checksum. Of files with holes it holds:
 *		  u64 n; n times u64 offset, u64 size; the bytes of these ranges
 *		  Of others it holds the contents.
 *
 * A file with holes is a file in which all bytes outside of the ranges are zero: offsets, addresses
 * and the names of sections are those of the file that was mapped.
 *
 *	rc = bundle_open(&b, section, size, &err);	keeps pointers into the section
 *	e = bundle_find(b, BUNDLE_IMAGE, dso);		NULL: it is not in there
 *	rc = bundle_contents(e, &bytes, &err);
 *	bundle_bytes_done(&bytes); bundle_free(b);
 *
 * Threads: everything but bundle_open() and bundle_free() may be called from any. */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/reader.h"

#define BUNDLE_MAGIC   "unspbndl"
#define BUNDLE_VERSION 1

enum bundle_kind {
	BUNDLE_IMAGE = 1, /* the file that was mapped, or the vDSO: with holes */
	BUNDLE_DEBUG,	  /* its separate debug file: with holes */
	BUNDLE_FILE,	  /* of a JIT compiler, under the path by which it is looked for; of a perf
			     map ino_generation is dso.began_ns */
	BUNDLE_KALLSYMS,  /* lines of /proc/kallsyms */
	BUNDLE_NOTE,	  /* lines for people: what the bundle lacks, and why */
	BUNDLE_PROCESSES, /* lines "PID NSPID CGROUP EXE CMDLINE", separated by
			     tabs; "PID@NS" is another process with this number, from
			     that time on */
	BUNDLE_PART, /* where the file with this path lies in its archive: u64 offset, u64 size */
	BUNDLE_CHANGED, /* a file without build id, written to while it was recorded: none is it */
};

#define BUNDLE_ENTRY_MAGIC 0x59524e45u /* "ENRY" */

enum {			    /* but for the last of files with holes */
       BUNDLE_IS_BARE = 1,  /* has neither .symtab nor .debug_info: a stripped copy has as much */
       BUNDLE_IS_ID = 2,    /* headers and notes only: it tells which file it was, and no more */
       BUNDLE_IS_TWIN = 4,  /* a file with other code has its build id: only the path tells which */
       BUNDLE_IS_STALE = 8, /* a perf map: of an earlier process with this number, or program */
};

/* As in the file. `sum` is of the header with sum 0, and of the path. */
struct bundle_header {
	uint32_t magic, kind;
	uint8_t id_size, id[BUILD_ID_MAX];
	uint8_t zeros[3];
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint64_t size;	 /* of the contents, of a file with holes up to its end */
	uint64_t packed; /* bytes in the zstd frame */
	uint64_t stored; /* bytes of the frame */
	uint32_t path_bytes, flags;
	uint64_t sum;
};
_Static_assert(sizeof(struct bundle_header) == 96, "as in the file");

struct bundle_entry {
	enum bundle_kind kind;
	/* Of files those of the dso as it was recorded, but for the build id: if none was recorded
	 * it is the file's own. */
	const char *path;
	struct build_id id;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t flags; /* BUNDLE_IS_.. */
	uint64_t size, packed, stored_bytes;
	const uint8_t *stored;
};

struct bundle; /* opaque */

/* Reads the table of entries. What is damaged is left out, and counted; so are entries that would
 * unpack to far more than a section of this size can honestly hold (read.c). Returns 0, or negative
 * with *err: -ERR_UNSUPPORTED for another version, -ERR_DAMAGED if it is no bundle. */
int bundle_open(struct bundle **ret, const uint8_t *section, size_t size, struct err *err);
void bundle_free(struct bundle *b); /* NULL is allowed */
size_t bundle_count(const struct bundle *b);
const struct bundle_entry *bundle_at(const struct bundle *b, size_t i);
/* Bytes of the section that are not part of an entry. */
uint64_t bundle_lost_bytes(const struct bundle *b);
/* The path in the first damaged header there, which may be damaged itself; NULL: none can be told.
 */
const char *bundle_lost_path(const struct bundle *b);
/* Bytes of entries that would unpack to too much. */
uint64_t bundle_refused_bytes(const struct bundle *b);
/* The entry of a dso: by build id, and of twins by path; without a recorded id by path and inode.
 */
const struct bundle_entry *bundle_find(const struct bundle *b, enum bundle_kind kind,
				       const struct dso *dso);
/* The entry of this kind with a build id (size > 0); of twins the one with this path. */
const struct bundle_entry *bundle_find_id(const struct bundle *b, enum bundle_kind kind,
					  const struct build_id *id, const char *path);
/* Have two files with different code this build id? */
bool bundle_has_twins(const struct bundle *b, const struct build_id *id);
/* The first entry of this kind with a path; path NULL: the first of the kind. */
const struct bundle_entry *bundle_find_path(const struct bundle *b, enum bundle_kind kind,
					    const char *path);

/* The file of a JIT compiler: of a perf map that of the same program. */
const struct bundle_entry *bundle_find_map(const struct bundle *b, const struct dso *dso);

/* Contents in memory. Holes take no memory until they are read. */
struct bundle_bytes {
	uint8_t *v;
	size_t n;
	size_t mapped; /* what munmap() needs */
};
/* Unpacks an entry; the bytes are writable, and followed by a NUL. Returns 0, or negative with *err
 * (-ERR_DAMAGED, -ERR_LIMIT, -ERR_NOMEM). */
int bundle_contents(const struct bundle_entry *e, struct bundle_bytes *ret, struct err *err);
void bundle_bytes_done(struct bundle_bytes *b);

/* ---- writing ------------------------------------------------------------------------------ */

/* A range of a file with holes, rising by offset, and not overlapping. */
struct bundle_range {
	uint64_t off, size;
	const uint8_t *bytes;
};

/* Hands out the ranges of an entry, of which all others are zeros, in the order of the file; they
 * are valid during the call. What take() returns, if it is not 0, ends it, and is returned. Else 0,
 * or negative with *err, perhaps after some ranges. */
int bundle_ranges(const struct bundle_entry *e,
		  int (*take)(void *arg, const struct bundle_range *r), void *arg, struct err *err);

struct bundle_blob {
	uint8_t *v;
	size_t n, cap;
}; /* a VEC() */

/* Appends the beginning of the section. Returns 0 or -1 (no memory), like the next. */
int bundle_begin(struct bundle_blob *out);
/* Appends an entry. Kind, path, id, inode and flags are taken from e; size is that of a file with
 * holes, which `ranges` are of; of other kinds there is one range, from 0 on, with all contents. */
int bundle_put(struct bundle_blob *out, const struct bundle_entry *e,
	       const struct bundle_range *ranges, size_t n, int level);
/* Appends what bundle_put() made in another blob. */
int bundle_join(struct bundle_blob *out, const struct bundle_blob *entry);

#endif

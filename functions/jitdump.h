/* jitdump.h - a jitdump in memory. Private to functions/. */
#ifndef FUNCTIONS_JITDUMP_H
#define FUNCTIONS_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "functions/functions.h"

/* One function at one place, in order of time. */
struct jit_code {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t moved;	  /* its present address minus the address it was compiled for, to which its
			   * lines refer */
	uint32_t first_line, n_lines;
	uint32_t eh_frame_bytes; /* 0: none */
	const uint8_t *eh_frame;
	uint64_t code_off, code_bytes; /* its bytes in the file; code_bytes is 0 if they are not in
					* it */
	uint32_t frame;		       /* 1 + index in frames; 0: nothing is known */
};

struct jit_range {
	uint64_t start, end;
};

/* What frames name by `method` from a time on. */
struct jit_bytecode {
	uint64_t method, time_ns;
	struct jit_range range;
	uint32_t order;
	bool is_named;
};

/* JIT_RECORD_FRAME (functions.h). */
struct jit_frame {
	uint32_t kind, frame_bytes, complete_bytes;
	uint32_t first_scope, n_scopes, first_pc, n_pcs;
};
struct jit_scope {
	uint32_t up; /* 1 + index, among those of the frame, smaller than its own; 0: none */
	uint32_t name, file; /* ids in strings */
	uint32_t line;
};
struct jit_pc {
	uint32_t end, scope; /* offset of its last byte; index among those of the frame */
};

/* The line of the code from addr on. Sorted by addr within each function. */
struct jitdump_line {
	uint64_t addr;
	uint32_t file; /* id in strings */
	uint32_t line;
};

/* JIT_RECORD_BYTES: a page as it was at a time. Sorted by address and time. */
struct jit_page {
	uint64_t addr, time_ns;
	const uint8_t *bytes; /* in the file */
};
/* Pages without a gap between them, each in its last version. Sorted. */
struct jit_run {
	uint64_t start;
	size_t n; /* bytes */
	const uint8_t *bytes;
	const uint64_t *replaced; /* see struct jit_memory */
};

/* Of one process; a recorder that writes while it records leaves several, one after another. */
struct jit_recorded_dump {
	uint32_t pid;
	const uint8_t *packed; /* zstd */
	size_t n_packed, n;    /* bytes, before and after unpacking */
	uint32_t next;	       /* index of the next one; HASH_NONE: it is the last */
	bool is_damaged;       /* its size cannot be: n is 0 */
	/* Of the first one: */
	uint32_t last;	/* index */
	uint64_t n_all; /* bytes of all, unpacked */
	bool is_open, is_left_out;
	struct jitdump *dump; /* all of them; NULL: not unpacked yet, or damaged */
};

/* Zero-initialize. */
struct jitdump {
	struct functab tab; /* tag: index into codes */
	VEC(struct jit_code) codes;
	VEC(struct jitdump_line) lines;
	VEC(struct jit_range) contested; /* rising; ranges where code was placed over other code */
	VEC(struct jit_frame) frames;
	VEC(struct jit_scope) scopes;
	VEC(struct jit_pc) pcs;
	VEC(struct jit_bytecode) bytecodes; /* by method and time */
	VEC(struct jit_page) pages;
	VEC(struct jit_run) runs;
	uint8_t *pages_flat;	  /* the bytes of all runs */
	uint64_t *pages_replaced; /* a bit for each of them: see struct jit_memory */
	struct strtab strings;
	struct arena eh_frames;
	const uint8_t *file; /* the whole file, for the code bytes; NULL: could not be mapped */
	bool file_is_malloced;
	size_t file_bytes;
	bool swap;	  /* the file is not in host byte order */
	uint64_t cut_off; /* start of an incomplete last record; 0: none */
	struct jit_names names;
	bool has_times; /* false: timestamps are of the processor's own clock */
};

/* Reads the complete records of an open file, which the caller closes. Returns 0, -ERR_NOMEM,
 * -ERR_FORMAT, or -ERR_UNSUPPORTED if it is no regular file. */
int jitdump_read_fd(struct jitdump *j, int fd, const char *path, struct err *err);
/* The same for a jitdump in memory, which it takes: freed by jitdump_done(), also on failure. */
int jitdump_read_memory(struct jitdump *j, uint8_t *data, size_t n, const char *name,
			struct err *err);
void jitdump_done(struct jitdump *j);

/* jit_frames.c: reads a JIT_RECORD_FRAME. *ret: 1 + index of what it says; 0: damaged, or about
 * other code than at *addr. Returns 0, or -1 when out of memory. */
int jit_frame_read(struct jitdump *j, struct buf b, uint64_t *addr, uint64_t *method,
		   uint32_t *ret);

/* jit_pages.c: reads a JIT_RECORD_BYTES, whose bytes must stay; puts the pages together; frees
 * that. The first two return 0, or -1 when out of memory. */
int jit_pages_read(struct jitdump *j, struct buf b, uint64_t time_ns);
int jit_pages_finish(struct jitdump *j);
/* jit_frames.c: sorts the bytecodes, when all are read. */
void jit_bytecodes_finish(struct jitdump *j);
void jit_pages_done(struct jitdump *j);

/* jit_recorded.c: the jitdumps that a recording holds. */
struct jit_recorded {
	VEC(struct jit_recorded_dump) dumps;
	size_t n_damaged;	  /* of those that were opened */
	bool is_settled;	  /* it is known which are left out */
	size_t n_left_out;	  /* processes */
	struct hash_table by_pid; /* -> index in dumps of the first one */
};
/* Reads the section, whose bytes must stay. Returns 0, -ERR_NOMEM, or -ERR_DAMAGED: what comes
 * before the damage is used. */
int jit_recorded_open(struct jit_recorded *r, const uint8_t *data, size_t n, struct err *err);
/* The process's; NULL: none, or it cannot be read. Unpacked when it is first needed. */
int jit_recorded_get(struct jit_recorded *r, uint32_t pid, const struct jitdump **ret,
		     struct err *err);
void jit_recorded_done(struct jit_recorded *r);

#endif

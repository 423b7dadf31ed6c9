/* jitdump.h - a jitdump in memory. Private to functions/. */
#ifndef FUNCTIONS_JITDUMP_H
#define FUNCTIONS_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
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
};

/* The line of the code from addr on. Sorted by addr within each function. */
struct jitdump_line {
	uint64_t addr;
	uint32_t file; /* id in strings */
	uint32_t line;
};

struct jit_range {
	uint64_t start, end;
};

/* Zero-initialize. */
struct jitdump {
	struct functab tab; /* tag: index into codes */
	VEC(struct jit_code) codes;
	VEC(struct jitdump_line) lines;
	VEC(struct jit_range) contested; /* rising; ranges where code was placed over other code */
	struct strtab strings;
	struct arena eh_frames;
	const uint8_t *file; /* the whole file, for the code bytes; NULL: could not be mapped */
	size_t file_bytes;
	bool swap;	  /* the file is not in host byte order */
	uint64_t cut_off; /* start of an incomplete last record; 0: none */
	bool has_times;	  /* false: timestamps are of the processor's own clock */
};

/* Reads the complete records of an open file, which the caller closes. Returns 0, -ERR_NOMEM,
 * -ERR_FORMAT, or -ERR_UNSUPPORTED if it is no regular file. */
int jitdump_read_fd(struct jitdump *j, int fd, const char *path, struct err *err);
void jitdump_done(struct jitdump *j);

#endif

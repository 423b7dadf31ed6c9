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

/* One function that was put somewhere, in order of time. */
struct jit_code {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t moved; /* where it is now - where it was compiled for, which its lines refer to */
	uint32_t first_line, n_lines;
	uint32_t eh_frame_bytes; /* 0: none */
	const uint8_t *eh_frame;
	uint64_t code_off, code_bytes; /* where its bytes are in the file; 0 of them: nowhere */
};

/* From addr on, by rising addr in each function. */
struct jitdump_line {
	uint64_t addr;
	uint32_t file; /* id in strings */
	uint32_t line;
};

struct jit_range {
	uint64_t start, end;
};

/* Zeroed to start. */
struct jitdump {
	struct functab tab; /* tag: index into codes */
	VEC(struct jit_code) codes;
	VEC(struct jitdump_line) lines;
	VEC(struct jit_range) contested; /* rising; where code was put over other code */
	struct strtab strings;
	struct arena eh_frames;
	const uint8_t *file; /* all of it, for the code; NULL: could not be mapped */
	size_t file_bytes;
	bool swap;	  /* the file is in the other byte order */
	uint64_t cut_off; /* where the file ends inside of a record; 0: it does not */
	bool has_times;	  /* false: the writer's clock is the processor's own */
};

/* Reads the file as far as it is whole. 0, -ERR_NOMEM, -ERR_FORMAT or why it cannot be
 * opened. */
int jitdump_read(struct jitdump *j, const char *path, struct err *err);
/* The same of an open file, which the caller closes. */
int jitdump_read_fd(struct jitdump *j, int fd, const char *path, struct err *err);
void jitdump_done(struct jitdump *j);

#endif

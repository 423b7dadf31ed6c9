/* input.h - the table of inputs that are no recordings but profiles already: what other tools
 * wrote.
 *
 * Which one a file is its first bytes say, not its name. All may be packed with gzip, xz or zstd.
 * What cannot be read in a text is left out and counted; what of it was read is kept.
 */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

/* What is known of a sample before it counts. */
struct input_sample {
	const char *comm, *event; /* "": not known */
	uint32_t pid, tid, cpu;	  /* PROFILE_NO_PID: not known */
	uint64_t time_ns;
	bool has_time;
};

struct input_options {
	/* NULL: all samples count. */
	bool (*accept)(const void *arg, const struct input_sample *s);
	const void *accept_arg;
};

/* What was in a file. */
struct input_result {
	uint64_t samples;  /* blocks, lines or messages that are samples; some may stand for many */
	uint64_t filtered; /* of them, by accept() */
	uint64_t damaged;  /* lines or messages that say nothing */
	uint64_t first_damaged; /* the line's number, or the message's offset; from 1 */
	bool cut;		/* the file ends early, or its compression is damaged */
};

struct input_source; /* private to input/ */

/* One input: one file in_NAME.c, one row in inputs.c. */
struct input_format {
	const char *name;
	const char *help; /* one line */
	/* Is that how such a file begins? The head is unpacked and ends with a NUL. */
	bool (*detect)(const char *head, size_t n);
	/* As input_read(), from an open source. */
	int (*read)(struct profile *p, struct input_source *s, const struct input_options *opt,
		    struct input_result *ret, struct err *err);
};

/* NULL-terminated, in the order in which they are tried. */
extern const struct input_format *const input_formats[];
/* By what stands in the file ("-": standard input, of which nothing is consumed); NULL: none of
 * them, or it cannot be opened. Never waits for a terminal. */
const struct input_format *input_detect(const char *path);
/* Reads all of a file into a profile. 0 or negative with *err. */
int input_read(const struct input_format *f, struct profile *p, const char *path,
	       const struct input_options *opt, struct input_result *ret, struct err *err);

#endif

/* input.h - the table of inputs that are not recordings but profiles, written by other tools.
 *
 * The format of a file is recognised by its beginning, not by its name. All may be compressed with
 * gzip, xz or zstd; texts may be UTF-8 or UTF-16, with or without a byte order mark. Parts of a
 * text that cannot be read are left out and counted; the rest is kept. */
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
	/* NULL: all samples are accepted. */
	bool (*accept)(const void *arg, const struct input_sample *s);
	const void *accept_arg;
};

/* Something that a file has and the profile has not, or has in another form. */
struct input_note {
	const char *text; /* follows the number: "values below zero were left out"; static */
	uint64_t n;
	bool is_loss; /* of weight: the profile says less than the file */
};

enum { INPUT_NOTES_MAX = 8 };

/* What was in a file. */
struct input_result {
	uint64_t samples;  /* blocks, lines or messages that are samples; one may stand for many */
	uint64_t filtered; /* of them, by accept() */
	uint64_t damaged;  /* lines or messages that say nothing */
	uint64_t first_damaged; /* line number of a text, or offset of a message; both from 1 */
	bool too_much;		/* it unpacks to a thousand times its size: the rest was not read */
	bool cut;		/* the file ends early, or its compression is damaged */
	/* Locations without names have offsets in the files of their mappings. */
	bool has_offsets;
	struct input_note notes[INPUT_NOTES_MAX];
	size_t n_notes;
};

struct input_source; /* private to input/ */

/* One input: one file in_NAME.c, one row in inputs.c. */
struct input_format {
	const char *name;
	const char *help; /* one line */
	bool is_json;	  /* one JSON text */
	/* Of a format that is text or lines of JSON: is it the latter? Else NULL. */
	bool (*detect_json)(const char *head);
	/* Does a file of this format begin like this? The head is decompressed and ends with a NUL.
	 */
	bool (*detect)(const char *head, size_t n);
	/* As input_read(), from an open source. */
	int (*read)(struct profile *p, struct input_source *s, const struct input_options *opt,
		    struct input_result *ret, struct err *err);
};

/* NULL-terminated, in the order in which formats are tried. */
extern const struct input_format *const input_formats[];
/* Recognises the format of a file ("-": standard input, of which nothing is consumed). *ret is NULL
 * for what may be a recording, and for what cannot be opened. Never waits for a terminal. Texts of
 * other kinds, and files of tools that are known and not read, have a format that is not in the
 * table: input_read() of it is the refusal, -ERR_FORMAT with a line that says what the file is and
 * what to do. Returns 0 or -ERR_NOMEM. */
int input_detect(const char *path, const struct input_format **ret, struct err *err);
/* Is it a FIFO in a folder? Such a file can be opened only once, so that nothing but a recording
 * can be read from it by its name. */
bool input_is_fifo(const char *path);
/* Reads a whole file into a profile. Returns 0, or negative with *err. */
int input_read(const struct input_format *f, struct profile *p, const char *path,
	       const struct input_options *opt, struct input_result *ret, struct err *err);

#endif

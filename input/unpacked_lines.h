/* unpacked_lines.h - bytes and lines of a file that may be compressed. Private to input/. */
#ifndef INPUT_UNPACKED_LINES_H
#define INPUT_UNPACKED_LINES_H

#include <ctype.h>

#include "base/text.h"
#include "base/unpack.h"
#include "input/input.h"
#include "input/text_encoding.h"

/* The rest of a longer line is not read. All that a profile keeps of a stack (PROFILE_STACK_BYTES,
 * PROFILE_STACK_FRAMES) and as much again fit. */
#define LINE_MAX_BYTES (32u << 20)

/* gzip cannot pack better; xz and zstd make a gigabyte of 100 KB. */
#define UNPACKED_MIN	  (64u << 20)
#define UNPACKED_PER_BYTE 1024u

/* The length of a line without the blanks at its end. */
static inline size_t line_trimmed(const char *line, size_t n)
{
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	return n;
}

struct input_source {
	const char *name;
	int fd;
	const struct unpacker *unpacker; /* NULL: the file is not packed */
	void *state;
	bool ended;	   /* nothing is left in the file */
	bool between;	   /* members of a packed stream: the file may end */
	bool damaged;	   /* the packed stream is damaged or ends early */
	uint8_t *in, *out; /* buffers */
	uint8_t *raw;	   /* unpacked UTF-16, which becomes UTF-8 in `out`; else NULL */
	struct text_encoding encoding;
	bool too_much;	 /* it unpacks to more than UNPACKED_MIN and UNPACKED_PER_BYTE */
	uint64_t *bytes; /* of the file, so far */
	uint64_t unpacked;
	size_t in_at, in_n;   /* what is not unpacked yet */
	size_t out_at, out_n; /* what was not read yet */
	uint64_t line;	      /* number of the line read last */
	struct text text;     /* that line */
	uint64_t n_nuls;      /* bytes 0 in lines, which are read as '?' */
	uint64_t n_cut;	      /* lines longer than LINE_MAX_BYTES */
};

/* The number of bytes read from the file is added to *bytes. Returns 0, or negative with *err. Call
 * input_close() in both cases. */
int input_open(struct input_source *s, const char *path, uint64_t *bytes, struct err *err);
void input_close(struct input_source *s);
/* Returns the number of bytes read, at most n; 0 at the end; negative with *err. */
ssize_t input_bytes(struct input_source *s, void *to, size_t n, struct err *err);
/* Appends all that is left, at most `max` bytes; `what` names it in the refusal of more ("a JSON
 * text"). Returns 0, or negative with *err. */
int input_rest(struct input_source *s, struct text *to, size_t max, const char *what,
	       struct err *err);
/* Copies what comes next, without consuming it, and a NUL; *n: its length, below `size`. */
int input_look(struct input_source *s, char *to, size_t size, size_t *n, struct err *err);
/* Reads the next line. Returns 1 and the line without its newline, NUL-terminated and valid until
 * the next call; 0 at the end; negative with *err. *n is the length; a longer line is cut to
 * LINE_MAX_BYTES. */
int input_line(struct input_source *s, char **line, size_t *n, struct err *err);
/* Calls the function for all lines. It returns 0; 1 if the line could not be read, which is
 * counted; or negative. */
typedef int input_line_fn(void *reader, char *line, size_t n, struct err *err);
int input_each_line(struct input_source *s, struct input_result *ret, input_line_fn *take,
		    void *reader, struct err *err);
/* Reads up to n bytes at the start of a file, decompressed, and appends a NUL. Consumes nothing of
 * a pipe. Returns how many, or -1 when out of memory. */
ssize_t input_peek(const char *path, char *to, size_t n);

/* Adds to a note; text is static, and the same pointer for the same note. */
void input_note(struct input_result *r, const char *text, uint64_t n, bool is_loss);

/* Counts a line that could not be read. */
static inline void input_damaged(struct input_result *r, const struct input_source *s)
{
	if (!r->damaged++)
		r->first_damaged = s->line;
}

/* Is the sample accepted? Counts it in any case. */
static inline bool input_accepts(const struct input_options *opt, const struct input_sample *s,
				 struct input_result *r)
{
	bool yes = !opt->accept || opt->accept(opt->accept_arg, s);

	r->samples++;
	r->filtered += !yes;
	return yes;
}

#endif

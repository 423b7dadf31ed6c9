/* unpacked_lines.h - bytes and lines of a file that may be packed. Private to input/. */
#ifndef INPUT_UNPACKED_LINES_H
#define INPUT_UNPACKED_LINES_H

#include "base/text.h"
#include "base/unpack.h"
#include "input/input.h"

/* Longer lines are not read: nothing that people look at has them. */
#define LINE_MAX_BYTES (1u << 20)

struct input_source {
	const char *name;
	int fd;
	const struct unpacker *unpacker; /* NULL: the file is not packed */
	void *state;
	bool ended;	      /* nothing is left in the file */
	bool between;	      /* members of a packed stream: the file may end */
	bool damaged;	      /* the packed stream is damaged or ends early */
	uint8_t *in, *out;    /* buffers */
	size_t in_at, in_n;   /* what is not unpacked yet */
	size_t out_at, out_n; /* what was not read yet */
	uint64_t line;	      /* number of the line read last */
	struct text text;     /* that line */
};

/* 0 or negative with *err. input_close() in both cases. */
int input_open(struct input_source *s, const char *path, struct err *err);
void input_close(struct input_source *s);
/* Number of bytes, at most n; 0 at the end; negative with *err. */
ssize_t input_bytes(struct input_source *s, void *to, size_t n, struct err *err);
/* The next line without its end, terminated by NUL and valid until the next call: 1; 0 at the end;
 * negative with *err. *n: its length; of a line that is too long LINE_MAX_BYTES are given. */
int input_line(struct input_source *s, char **line, size_t *n, struct err *err);
/* Hands all lines to a function: 0; 1: the line says nothing, which is counted; or negative. */
typedef int input_line_fn(void *reader, char *line, size_t n, struct err *err);
int input_each_line(struct input_source *s, struct input_result *ret, input_line_fn *take,
		    void *reader, struct err *err);
/* Up to n first bytes of a file, unpacked, with a NUL behind. Nothing of a pipe is consumed. */
size_t input_peek(const char *path, char *to, size_t n);

/* Takes note of a line that says nothing. */
static inline void input_damaged(struct input_result *r, const struct input_source *s)
{
	if (!r->damaged++)
		r->first_damaged = s->line;
}

/* Does the sample count? Counts it in any case. */
static inline bool input_accepts(const struct input_options *opt, const struct input_sample *s,
				 struct input_result *r)
{
	bool yes = !opt->accept || opt->accept(opt->accept_arg, s);

	r->samples++;
	r->filtered += !yes;
	return yes;
}

#endif

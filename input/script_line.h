/* script_line.h - the lines of `perf script`'s text. Private to input/.
 *
 * A sample's first line ("head") has, in this order, what -F selects of: command, ids, processor,
 * misc, time of day, time, period, event, data (a tracepoint's fields, an address ..). Its frames
 * are on lines below it that begin with a tab; without call chains the only frame ends the head.
 * Nothing in one line alone says what it is: commands may be numbers ("cc", "pool 7") and look like
 * addresses. What is the same in all lines of a text decides: its shape. Source of truth:
 * builtin-script.c of perf 2.6.32 to 7.2, by its output. */
#ifndef INPUT_SCRIPT_LINE_H
#define INPUT_SCRIPT_LINE_H

#include "input/input.h"

struct word {
	const char *s;
	size_t n;
};

enum script_heads {
	HEADS_NONE,  /* there are only frames, with empty lines between the samples */
	HEADS_TIME,  /* all have a time */
	HEADS_EVENT, /* no time, but an event */
	HEADS_TASK,  /* nothing but a command or ids, above frames */
	HEADS_LEAF,  /* command, ids and a frame */
};

struct script_shape {
	enum script_heads heads;
	bool tabs;    /* frames below a head begin with a tab */
	bool single;  /* HEADS_NONE: each line is a sample */
	bool no_ids;  /* the number before the time belongs to the command */
	bool no_cpu;  /* and [001] before the time, too */
	bool padded;  /* columns are aligned: a number that is not is no id */
	bool latency; /* perf script -L: columns are fixed, the processor has no brackets */
};

/* Points into the line. */
struct script_head {
	struct word comm, event;
	struct input_sample seen;
	bool has_ids, has_cpu, has_period;
	bool is_record; /* not a sample: --show-mmap-events .. */
	uint64_t period;
	const char *rest; /* after the event: data, a frame, or both */
};

/* Learns the shape from the beginning of a text. False: it is no perf script. */
bool script_learn(struct script_shape *shape, const char *text, size_t n);
/* False: the line is no head in a text of this shape. */
bool script_head(const struct script_shape *shape, const char *line, struct script_head *h);

struct script_frame {
	uint64_t ip, offset; /* in the function */
	struct word name, dso;
	bool has_dso;
};

/* Reads "  7f5fa3ae26d1 g_main+0x12 (/usr/lib/libglib.so)". Names may have spaces and parentheses;
 * the last parentheses have the module, if there is one. */
bool script_frame(const char *line, struct script_frame *f);
/* Finds the frame that ends a head's rest; *n_data: length of the data before it. */
bool script_last_frame(const char *rest, struct script_frame *f, size_t *n_data);
/* Is it the source line of the frame above ("  main.c:12", -F +srcline)? *file and *line are empty
 * where perf had none; *inlined: the frame above is inlined. */
bool script_srcline(const char *line, struct word *file, uint32_t *number, bool *inlined);
/* perf prints no kind of dso; its names show it. */
enum dso_kind script_kind(struct word dso);

struct word word_next(const char **at);
bool word_is(struct word w, const char *s);
bool word_begins(struct word w, const char *s);
bool word_to_number(struct word w, uint64_t *ret);
bool word_to_hex(struct word w, uint64_t *ret);
/* Is the word, with the spaces before it, at least that wide? Numbers are right-aligned. */
bool word_is_padded(const char *line, struct word w, size_t width);

#endif

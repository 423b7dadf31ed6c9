/* options.h - the options of a command as a table: how they are written, what they set, and their
 * text in --help. An option needs one row, and one entry in the man page. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum option_kind {
	OPTION_HEADING, /* no option: starts a section of --help */
	OPTION_FLAG,	/* bool: becomes true */
	OPTION_UNFLAG,	/* bool: becomes false */
	OPTION_TEXT,	/* const char *: the value, in argv */
	OPTION_NUMBER,	/* unsigned: from 0 to max */
	OPTION_CHOICE,	/* an enum: one of the choices; without a value the first */
	OPTION_REAL,	/* double: from 0 to top */
	OPTION_CALL,	/* set() decides */
	OPTION_IGNORED, /* accepted, and changes nothing */
	OPTION_REFUSED, /* an error with an answer */
	OPTION_STOP,	/* bool: becomes true, and the rest of argv is not looked at */
};

struct option_choice {
	const char *name; /* NULL ends the list */
	unsigned value;
};

/* Sets a field from `text`, which is in argv and may be modified; NULL if there is no value.
 * `option` is for messages, as the user has spelled it. Returns 0, or a negative value with *err.
 */
typedef int option_set_fn(void *field, const char *option, char *text, struct err *err);

struct option_row {
	char letter;	   /* 0: it has only a long name */
	const char *name;  /* without dashes; NULL: it has only a letter */
	const char *alias; /* one more long name, not in --help; NULL */
	const char *value; /* "FILE"; "[=N]": may be missing; NULL: takes none */
	const char *help;  /* lines for --help; NULL: not in it */
	unsigned part;	   /* what it is for, if that is not everything; see options_print_help() */
	enum option_kind kind;
	size_t offset;	   /* of the field in the target: OPTION_FIELD() */
	unsigned min, max; /* of a number */
	double top;	   /* of a real number */
	double percents;   /* which stand for 1 in a real number; 0: it has no '%' */
	/* Name of the real number, for messages; the answer to a refused option. */
	const char *what;
	const struct option_choice *choices;
	option_set_fn *set;
};

/* The offset of a member that must have the type `as`: otherwise the compiler warns. */
#define OPTION_FIELD(type, field, as) \
	(offsetof(type, field) + 0 * sizeof(&((type *)0)->field == (as *)0))

/* The end of a row. OPTIONS_TARGET is the type that the file's table fills. */
#define SETS_FLAG(field) .kind = OPTION_FLAG, .offset = OPTION_FIELD(OPTIONS_TARGET, field, bool)
#define CLEARS_FLAG(field) \
	.kind = OPTION_UNFLAG, .offset = OPTION_FIELD(OPTIONS_TARGET, field, bool)
#define SETS_FLAG_AND_STOPS(field) \
	.kind = OPTION_STOP, .offset = OPTION_FIELD(OPTIONS_TARGET, field, bool)
#define SETS_TEXT(field) \
	.kind = OPTION_TEXT, .offset = OPTION_FIELD(OPTIONS_TARGET, field, const char *)
#define SETS_NUMBER(field, top) \
	.kind = OPTION_NUMBER, .offset = OPTION_FIELD(OPTIONS_TARGET, field, unsigned), .max = (top)
#define SETS_POSITIVE(field, top) SETS_NUMBER(field, top), .min = 1
#define SETS_CHOICE(field, of)                                                          \
	.kind = OPTION_CHOICE, .offset = OPTION_FIELD(OPTIONS_TARGET, field, unsigned), \
	.choices = (of)
#define SETS_REAL(field, most, percents_of_1, wanted)                                              \
	.kind = OPTION_REAL, .offset = OPTION_FIELD(OPTIONS_TARGET, field, double), .top = (most), \
	.percents = (percents_of_1), .what = (wanted)
#define SETS_BY(field, type, function) \
	.kind = OPTION_CALL, .offset = OPTION_FIELD(OPTIONS_TARGET, field, type), .set = (function)
#define CALLS(function) .kind = OPTION_CALL, .set = (function) /* `field` is the whole target */
#define IGNORED		.kind = OPTION_IGNORED
#define REFUSED(answer) .kind = OPTION_REFUSED, .what = (answer)
#define HEADING(text)                                  \
	{                                              \
		.help = (text), .kind = OPTION_HEADING \
	}

/* Sets *ret to the choice named `text` (NULL: the first). `source` and `option` are used in the
 * message. Returns 0 or negative. */
int option_choose(const struct option_choice *choices, const char *source, const char *option,
		  const char *text, unsigned *ret, struct err *err);

enum { OPTIONS_MAX = 160 }; /* rows of a table */

/* Sets the target's fields from argv. *rest becomes the index of the first argument that is no
 * option; with `in_order` everything behind it belongs to it (a command with options of its own),
 * else such arguments are moved to the end. given[] (NULL: not wanted) is by
 * row: was the option in argv? A text given twice is refused. 0 or negative. */
int options_parse(const struct option_row *rows, size_t n, void *target, bool in_order, int argc,
		  char **argv, int *rest, bool *given, struct err *err);
/* Writes what has the parts of an option: "folded, top". */
typedef void option_parts_fn(char *buf, size_t size, unsigned parts);

/* name_parts: for the beginnings of lines about options that have parts; NULL if none has. */
void options_print_help(const struct option_row *rows, size_t n, option_parts_fn *name_parts,
			FILE *out);

#endif

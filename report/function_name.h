/* function_name.h - private: a function's name, as people type it. */
#ifndef REPORT_FUNCTION_NAME_H
#define REPORT_FUNCTION_NAME_H

#include "base/text.h"

/* How much of a name was typed; the more, the later. */
enum name_typed {
	NAME_NOT_TYPED,
	NAME_LAST_TYPED, /* "fib" or "fib(int)" of "int J.fib(int)" */
	NAME_PART_TYPED, /* all but the return type, or but the arguments */
	NAME_TYPED,	 /* all, or all but both of these */
};

/* `room` is for working memory. */
enum name_typed name_typed(struct text *room, const char *name, const char *typed);

#endif

/* parts.h - a recording in parts, one after the other: capture --switch-output. */
#ifndef CMD_PARTS_H
#define CMD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

/* When a part ends and the next begins. */
struct parts {
	bool wanted;
	bool dated;	    /* --timestamp-filename: one file, whose name has its time */
	uint64_t bytes;	    /* 0: whatever its size is */
	double seconds;	    /* 0: whatever its time is */
	uint64_t files_max; /* 0: all are kept; counts those that an earlier run has left, too */
	bool looked;	    /* for these */
	VEC(char *) names;  /* of those that are kept, the oldest first */
};

/* The value of --switch-output: "signal" (or NULL), "100M" or "30s", "5m", "1h", "1d". */
int parts_parse(void *parts, const char *option, char *text, struct err *err);
/* The name of the next part: `output`, a dot and the time. Removes the oldest file, if there would
 * be too many. Valid until parts_done(). NULL when out of memory. */
const char *parts_next(struct parts *p, const char *output);
void parts_done(struct parts *p);

#endif

/* profiles.h - inputs that are no recording, and several inputs at once. */
#ifndef CMD_PROFILES_H
#define CMD_PROFILES_H

#include "cmd/resolve_options.h"

/* Is it more than one recording? */
bool profiles_are_meant(const struct resolve *r);
/* The sum of all inputs, to be freed by profile_free(); recordings among them are unwound and
 * symbolized. r->damaged tells whether something was lost, which is told on standard error. 0 or
 * negative with *err. */
int profiles_load(struct resolve *r, struct profile **ret, struct err *err);
/* One input, the same way. */
int profiles_load_one(struct resolve *r, const char *path, struct profile **ret, struct err *err);

/* For messages: "-" is standard input. */
const char *input_name(const char *path);

#endif

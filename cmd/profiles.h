/* profiles.h - inputs that are no recording, and several inputs at once. */
#ifndef CMD_PROFILES_H
#define CMD_PROFILES_H

#include "cmd/resolve_options.h"

/* Is it more than one recording? */
bool profiles_are_meant(const struct resolve *r);
/* The sum of all inputs, to be freed by profile_free(); recordings among them are unwound and
 * symbolized. r->damaged is whether something was lost, which is reported on standard error. 0 or
 * negative with *err. */
int profiles_load(struct resolve *r, struct profile **ret, struct err *err);
/* What a recording says of its machine, or a pprof file that was made of one; "", 0: nothing. */
struct input_facts {
	char cpu[64], kernel[128], arch[32], host[64];
	uint64_t cpus;
	bool damaged;
	uint64_t lost;
	uint64_t frequency; /* of profiles */
	uint64_t arguments; /* a hash of the words behind the program's name; 0: not known */
};

/* One input, the same way. facts: NULL, or what is filled. */
int profiles_load_one(struct resolve *r, const char *path, struct profile **ret,
		      struct input_facts *facts, struct err *err);

/* For messages: "-" is standard input. */
const char *input_name(const char *path);

#endif

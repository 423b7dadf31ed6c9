/* profiles.h - reads inputs that are not recordings, and several inputs at once. */
#ifndef CMD_PROFILES_H
#define CMD_PROFILES_H

#include "cmd/resolve_options.h"

/* Is it more than one recording? */
bool profiles_are_meant(const struct resolve *r);
/* *ret: the sum of all inputs, which the caller frees with profile_free(). Recordings among them
 * are unwound and symbolized. r->damaged: something was lost, which was reported on standard error.
 * Returns 0, or negative with *err. */
int profiles_load(struct resolve *r, struct profile **ret, struct err *err);
/* Facts about the machine, from a recording or from a pprof file made of one; "" or 0: unknown. */
struct input_facts {
	char cpu[64], kernel[128], arch[32], host[64];
	uint64_t cpus;
	bool damaged;
	uint64_t lost;
	uint64_t frequency; /* of profiles */
	uint64_t arguments; /* a hash of the words behind the program's name; 0: not known */
};

/* The same for one input. facts: filled unless NULL. */
int profiles_load_one(struct resolve *r, const char *path, struct profile **ret,
		      struct input_facts *facts, struct err *err);

/* Leaves out what is over the limits (profile_bound()), says so, and sets r->damaged. Returns 0, or
 * negative with *err. */
int profiles_bound(struct resolve *r, const char *path, struct profile *p, struct err *err);

/* For messages: "-" is standard input. */
const char *input_name(const char *path);

#endif

/* environs.h - private: finds what processes have in their environment elsewhere on their stacks.
 *
 * The loader saves vector registers, in which it has compared and copied strings of the
 * environment, and later frames with large buffers lie over that; so pieces of up to 64 bytes are
 * in some stack copies. Which bytes are such pieces is known by the environment itself, as
 * /proc/PID/environ has it when a process is first sampled, or if that is too late the end of its
 * first thread's stack. Only values count, of variables that
 * may hold secrets: not paths, names of users and languages, which are also file names and texts
 * that programs are about.
 *
 * An address is never taken for one: the highest byte of a word that is replaced is not 0, and all
 * 8 are bytes of a value. Behind them a word whose highest byte is 0 is text only if all of it is,
 * and then zeros; so up to 7 bytes of a piece can stay there. Stacks unwind as before. */
#ifndef CAPTURE_ENVIRONS_H
#define CAPTURE_ENVIRONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

/* The values of one environment, each behind a NUL, and where each 8 bytes of them are. */
struct environ_text {
	uint64_t key; /* hash of all of it: most processes have that of their parent */
	char *v;
	size_t n;
	uint32_t *slots; /* position + 1, by hash; 0: free */
	size_t mask;
};

/* Zeroed: hides nothing. */
struct environs {
	bool on;
	struct hash_table by_pid;  /* -> index of texts: what /proc says, or ours */
	struct hash_table learned; /* -> index of texts: what stacks say beside that */
	struct hash_table ends; /* -> of the strings that were learned last: a hash of their end */
	VEC(struct environ_text) texts;
	size_t bytes; /* of all of them */
};

/* From now on, for processes that cannot be asked any more, by what this process has: its command
 * inherits that. */
void environs_begin(struct environs *e);
/* Takes a record of the kernel: exec gives a process a new environment. */
void environs_note(struct environs *e, const uint8_t *rec, size_t n);
/* What a stack copy of a process has of its environment: strings, each behind a NUL, as far as the
 * copy reaches (sample_facts.strings_at). A process may have ended before it was asked, or have
 * been another program then. */
void environs_learn(struct environs *e, uint32_t pid, const uint8_t *strings, size_t n);
/* Replaces pieces of at least 8 bytes in n bytes copied from a process by dots: all of 15 and more,
 * shorter ones where they fill a word. Without memory some stay. Returns how many became dots. */
size_t environs_hide(struct environs *e, uint32_t pid, uint8_t *bytes, size_t n);
void environs_done(struct environs *e);

#endif

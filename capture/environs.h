/* environs.h - private: finds what processes have in their environment elsewhere on their stacks.
 *
 * The loader saves vector registers, in which it has compared and copied strings of the
 * environment, and later frames with large buffers lie over that; so pieces of up to 64 bytes are
 * in some stack copies. Which bytes are such pieces is known by the environment itself, as
 * /proc/PID/environ has it when a process is first sampled, or if that is too late the end of its
 * first thread's stack. Only values count, of variables that may hold secrets: not paths, names of
 * users and languages, which are also file names and texts that programs are about. Where neither
 * says what a process has, as it has ended and its stack was not copied to its end, all texts
 * count.
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

enum {
	ENVIRON_EXECS = 3,
	ENVIRON_NO_TEXT = 1 << 30, /* this and more are no indices of texts */
};

struct environ_process {
	uint32_t asked;	  /* of which text; since the last execve() that was noted */
	uint32_t learned; /* of which text: what a stack said */
	uint32_t end;	  /* a hash of the end of that */
	bool is_part;	  /* it has more */
	bool is_covered;  /* all of it is in the text `covering` */
	uint32_t covering;
	uint32_t pid;
	uint64_t ended_ns; /* 0: it lives, as far as is known */
	uint64_t learned_ns;
	uint64_t exec_ns[ENVIRON_EXECS]; /* when it began to have another environment; last first */
};

/* Zeroed: hides nothing. */
struct environs {
	bool on;
	struct hash_table by_pid; /* -> index of processes */
	VEC(struct environ_process) processes;
	VEC(struct environ_text) texts;
	struct hash_table by_key; /* -> index of texts */
	size_t bytes;		  /* of all of them */
	uint64_t now_ns;	  /* of the last record */
	size_t sweep_at;	  /* so many processes: time to forget those that have ended */
};

/* From now on. Of processes that cannot be asked any more what this one has is hidden besides:
 * commands inherit that. */
void environs_begin(struct environs *e);
/* Takes a record of the kernel: exec gives a process a new environment. Records of a time come
 * before its samples. Processes are forgotten some seconds after their end: of a later sample all
 * texts are hidden. */
void environs_note(struct environs *e, const uint8_t *rec, size_t n);
/* What a stack copy of a process has of its environment: strings, each behind a NUL, as far as the
 * copy reaches (sample_facts.strings_at, strings_whole). A process may have ended before it was
 * asked, or have been another program then. Times are those of samples. */
void environs_learn(struct environs *e, uint32_t pid, uint64_t time_ns, const uint8_t *strings,
		    size_t n, bool is_whole);
/* Did it execute another program after that time? */
bool environs_execs_later(const struct environs *e, uint32_t pid, uint64_t time_ns);
/* Replaces all texts that fill a word by dots, where any may be of an environment that is not
 * known. Returns how many became dots. */
size_t environs_hide_texts(uint8_t *bytes, size_t n);

struct environ_bytes {
	uint8_t *v;
	size_t n;
};
/* Replaces pieces of at least 8 bytes in what was copied from a process, its registers and its
 * stack, by dots: all of 15 and more, shorter ones where they fill a word. UINT64_MAX: now. Returns
 * how many became dots. */
size_t environs_hide(struct environs *e, uint32_t pid, uint64_t time_ns, struct environ_bytes regs,
		     struct environ_bytes stack);
void environs_done(struct environs *e);

/* Inside: forgets what has ended when there are many; indices of processes and texts change. */
void environs_sweep(struct environs *e);
void environ_text_done(struct environ_text *t);

#endif

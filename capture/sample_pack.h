/* sample_pack.h - private: shortens sample records on their way from the ring to the file. */
#ifndef CAPTURE_SAMPLE_PACK_H
#define CAPTURE_SAMPLE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_fields {
	uint64_t sample_type; /* of the event */
	uint64_t user_regs;   /* attr.sample_regs_user */
	bool hides_env;	      /* arguments and environment become zeros (secrets.h) */
};

struct sample_facts {
	uint64_t id;
	uint64_t time_ns;
	uint64_t period;     /* how many events it stands for */
	bool has_user_stack; /* registers and a dump, even an empty one */
	uint32_t pid, tid;
	uint64_t abi;	      /* PERF_SAMPLE_REGS_ABI_* of the user's registers */
	uint64_t ip, sp;      /* the user's pc and stack pointer; 0: not known */
	uint64_t bx, bp;      /* x86: these registers; else 0 */
	const uint8_t *stack; /* the dump, in the record; NULL: none */
	uint64_t stack_bytes; /* that were copied */
	/* Where in it arguments and environment begin, which became zeros; stack_bytes: nowhere. */
	uint64_t strings_at;
	bool strings_whole; /* all of them were in it */
	bool in_kernel;	    /* the sample was taken there */
	/* Address at which a dump ended early, if that is the start of a page; else 0. */
	uint64_t short_at;
	uint64_t short_bytes; /* how much more was asked for */
	bool stack_full;      /* the dump had no room for more: the stack may be cut */
};

/* The IDENTIFIER of a sample record of n bytes; 0 if the record is too short. */
uint64_t sample_id(const uint8_t *rec, size_t n);
/* Replaces it in a record that sample_pack() has made. */
void sample_set_id(uint8_t *rec, uint64_t id);

/* Copies a sample record of n bytes to dst (n bytes of room, rounded up to 8) without the part of
 * the stack dump that the kernel left unwritten. Returns the new length, a multiple of 8;
 * header.size and the dump's size are adjusted. A dump that was not full keeps zeros behind the
 * valid bytes, 8 if it has room, so that "dyn_size == size" goes on to mean "full" for every
 * reader. Where the address space ends so near that the dump could not get as large as was asked
 * for, as in 32-bit tasks, the kernel (6.18) takes what is left for its size, which then need be no
 * multiple of 8: it becomes one, and is not full. Nor is anything copied that stands behind the
 * last field (see event_is_shared() of reader/format.h). A record that does not parse is copied as
 * it is.
 */
size_t sample_pack(const struct sample_fields *l, const uint8_t *rec, size_t n, uint8_t *dst,
		   struct sample_facts *ret);

#endif

/* method.h - a way to unwind the user part of a sample that has registers and a stack copy. Private
 * to unwind/. One row per method in unwind.c; unwind_sample() handles everything that methods
 * share: kernel chains, recorded user chains, samples without a stack copy. */
#ifndef UNWIND_METHOD_H
#define UNWIND_METHOD_H

#include "base/vec.h"
#include "unwind/unwind.h"

struct registers_of_frames {
	VEC(struct frame_registers) v;
	bool failed; /* out of memory */
};

/* Where a method stores its frames, leaf first. */
struct frame_sink {
	struct frame *frames;
	struct frame_place *places;	       /* parallel to frames; NULL: not requested */
	struct registers_of_frames *registers; /* of the user frames; NULL: not requested */
	size_t n, max;
	const struct module *stop_module; /* set with NO_CFI, BAD_CFI, NO_BINARY */
	bool all_registers;		  /* see unwind_stats */
	uint64_t bottom, top; /* bottom: the sample's stack pointer; top: where the root's frame
			       * ends. 0: not known */
};

struct unwind_method_ops {
	/* Creates the state of the method for one unwinder. */
	int (*init)(void **state, struct modules *modules, const struct unwind_options *opt,
		    struct err *err);
	/* Appends the user frames to the sink, the sample's ip first. */
	enum unwind_stop (*run)(void *state, const struct perf_sample *s, struct frame_sink *sink);
	/* run() for up to UNWIND_BATCH samples. A method has either run() or run_batch(). */
	void (*run_batch)(void *state, const struct perf_sample *const *samples, size_t n,
			  struct frame_sink *sinks, enum unwind_stop *stops);
	void (*done)(void *state);
};

extern const struct unwind_method_ops unwind_cfi_ops;	/* our tables */
extern const struct unwind_method_ops unwind_libdw_ops; /* libdwfl */
extern const struct unwind_method_ops unwind_fp_ops;	/* frame pointers */

/* signal_return.c: which return addresses are signal trampolines. Per unwinder; all zero but
 * `modules` at first. Direct-mapped by address. */
#define SIGNAL_RETURNS_KNOWN 1024
struct signal_returns {
	struct modules *modules;
	struct signal_return {
		uint64_t ip;
		uint32_t map; /* id; 0: empty */
		bool is_one;
	} known[SIGNAL_RETURNS_KNOWN];
};
/* Sets the map of a frame of which nothing is known but its address, and marks a trampoline as no
 * return address. */
void signal_returns_place(struct signal_returns *s, const struct address_space *space,
			  struct frame *f);

/* callchain.c: kernel (and hypervisor, guest kernel) entries of the sample's chain, leaf first. */
void chain_kernel_frames(const struct perf_sample *s, struct signal_returns *known,
			 struct frame_sink *sink);
/* User entries of the sample's chain, leaf first. The callers may come from branch records, when
 * the reader has put them into the chain. */
void chain_user_frames(const struct perf_sample *s, struct signal_returns *known,
		       struct frame_sink *sink);

#endif

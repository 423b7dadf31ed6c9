/* fill.h - fills a profile from a recording: first unwound samples, then the symbolizer's answers.
 *
 * First profile_add() is called for every sample (it handles integers only). Then, once for every
 * distinct location, profile_set_lines() stores the names and lines that the symbolizer found. For
 * cmd/ only; readers of profiles include profile.h. */
#ifndef PROFILE_FILL_H
#define PROFILE_FILL_H

#include "profile/profile.h"

/* Sets the recording whose events and header the profile describes; it must outlive the profile. */
int profile_set_file(struct profile *p, const struct perf_file *f, struct err *err);
/* Call it before samples are added: JIT code at one address is then distinguished by the times in
 * jitdump files, if the recording has their clock. `jit` must outlive the profile. */
void profile_set_jit(struct profile *p, struct jit_codes *jit);
/* A checksum of a stack's frames: for most stacks profile_add_batch() needs only this. */
struct stack_digest {
	/* The frames of the trace. A digest is valid for a trace with this pointer and this n, so
	 * frames must not be changed in place. */
	const struct frame *frames;
	size_t n;
	uint64_t sum[2];
};
/* May be called from any thread; fastest on the thread that has unwound the stacks, whose cache has
 * the frames. */
void profile_digest(const struct profile *p, const struct stack_trace *traces, size_t n,
		    struct stack_digest *ret);
/* Adds n <= PROFILE_BATCH samples with their frames (leaf first, as from unwind_samples). Faster
 * than one by one, because their memory accesses overlap. `digests` (may be NULL) are those of the
 * traces; a digest whose trace has other frames by now is not used. Returns 0 or -ERR_NOMEM. */
#define PROFILE_BATCH 32
int profile_add_batch(struct profile *p, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, const struct stack_digest *digests,
		      size_t n, struct err *err);
static inline int profile_add(struct profile *p, const struct perf_sample *s,
			      const struct stack_trace *t, struct err *err)
{
	return profile_add_batch(p, &s, t, NULL, 1, err);
}
/* The symbolizer's query for location i. */
struct sym_query profile_query(const struct profile *p, size_t i);
/* Stores an answer. `strings` is the symbolizer's string table and must be the same in all calls.
 * Returns 0 or -ERR_NOMEM. */
int profile_set_lines(struct profile *p, size_t location, const struct sym_result *r,
		      const struct strtab *strings, struct err *err);

#endif

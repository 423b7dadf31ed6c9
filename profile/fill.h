/* fill.h - filling a profile from a recording: unwound samples, then the symbolizer's answers.
 *
 * A profile is filled in two steps: profile_add() for every sample (integers only), then, once for
 * every distinct location, profile_set_lines() with what the symbolizer said. For cmd/ only; what
 * reads profiles includes profile.h.
 */
#ifndef PROFILE_FILL_H
#define PROFILE_FILL_H

#include "profile/profile.h"

/* Gives the profile the recording's events and header; both must outlive the profile. */
int profile_set_file(struct profile *p, const struct perf_file *f, struct err *err);
/* From now on JIT code is distinguished from other code at the same address, by the times in
 * jitdump files, if the recording has their clock. `jit` must outlive the profile. */
void profile_set_jit(struct profile *p, struct jit_codes *jit);
/* A checksum of a stack's frames, usually all that profile_add_batch() needs of them. */
struct stack_digest {
	/* Those of the trace. The digest is taken to be of any trace with this pointer and n, so
	 * frames must not be changed in place. */
	const struct frame *frames;
	size_t n;
	uint64_t sum[2];
};
/* May be called from any thread; fastest on the one that unwound, which has the frames in its
 * cache.
 */
void profile_digest(const struct profile *p, const struct stack_trace *traces, size_t n,
		    struct stack_digest *ret);
/* Adds samples with their frames (leaf first, as from unwind_samples), n <= PROFILE_BATCH. 0 or
 * -ERR_NOMEM. Faster than one by one, because their accesses to memory overlap. `digests` are those
 * of the traces; one whose trace has other frames by now is not used. NULL: none. */
#define PROFILE_BATCH 32
int profile_add_batch(struct profile *p, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, const struct stack_digest *digests,
		      size_t n, struct err *err);
static inline int profile_add(struct profile *p, const struct perf_sample *s,
			      const struct stack_trace *t, struct err *err)
{
	return profile_add_batch(p, &s, t, NULL, 1, err);
}
/* The query for location i. */
struct sym_query profile_query(const struct profile *p, size_t i);
/* Stores an answer; `strings` is the symbolizer's table, the same one in all calls. 0 or
 * -ERR_NOMEM.
 */
int profile_set_lines(struct profile *p, size_t location, const struct sym_result *r,
		      const struct strtab *strings, struct err *err);

#endif

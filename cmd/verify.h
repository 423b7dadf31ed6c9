/* verify.h - --verify-unwind: compares our unwinder with libdw.
 *
 * Every Nth sample with a stack copy is also unwound by libdw, from the same bytes, and the two
 * lists of frames are compared and sorted into a few classes. Each worker has its own struct
 * verify; they are added up. */
#ifndef CMD_VERIFY_H
#define CMD_VERIFY_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "modules/modules.h"
#include "unwind/unwind.h"

/* X(name, text) */
#define VERIFY_CLASSES(X)                                                                \
	X(EQUAL, "the same frames")                                                      \
	X(ACTIVATION, "the same functions; an address off by one around a signal frame") \
	X(LIBDW_EARLIER, "libdw stops earlier, equal until there")                       \
	X(LIBDW_FURTHER, "libdw goes on, equal until our end")                           \
	X(DIFFERENT, "different frames")

#define X(name, text) VERIFY_##name,
enum verify_class { VERIFY_CLASSES(X) VERIFY_N };
#undef X

/* The first sample of a class, for the report. */
struct verify_example {
	uint64_t time_ns, ours_ip, libdw_ip;
	uint32_t tid;
	size_t frame; /* index of the first difference */
	enum unwind_stop ours_stop, libdw_stop;
};

struct verify {
	uint64_t every; /* 0: off */
	struct unwinder *libdw;
	uint64_t counts[VERIFY_N];
	struct verify_example examples[VERIFY_N]; /* valid where counts[] is not 0 */
};

/* With every == 0 all other functions do nothing. Returns 0 or negative. */
int verify_init(struct verify *v, uint64_t every, struct modules *modules,
		const struct unwind_options *opt, struct err *err);
void verify_done(struct verify *v);
/* Compares a sample that was unwound into `ours`. */
void verify_sample(struct verify *v, const struct perf_sample *s, const struct stack_trace *ours);
void verify_add(struct verify *to, const struct verify *from);
void verify_report(const struct verify *v, FILE *out);

#endif

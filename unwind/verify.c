/* verify.c - compares our frames with libdw's, sample by sample. */
#include "unwind/unwind.h"

#include <string.h>

int verify_init(struct verify *v, uint64_t every, struct modules *modules,
		const struct unwind_options *opt, struct err *err)
{
	struct unwind_options o = *opt;

	memset(v, 0, sizeof *v);
	v->every = every;
	o.method = UNWIND_LIBDW;
	return every ? unwinder_new(&v->libdw, modules, &o, err) : 0;
}

void verify_done(struct verify *v)
{
	if (v->libdw)
		unwinder_free(v->libdw);
	v->libdw = NULL;
}

/* The restorer frame below a signal handler: libdw uses its pc unchanged, other unwinders treat it
 * as a return address. The function is the same. */
static bool same_but_activation(const struct frame *a, const struct frame *b)
{
	return a->map == b->map && a->ip - b->ip + 1 <= 2;
}

static enum verify_class classify(const struct stack_trace *a, const struct stack_trace *b,
				  size_t *frame)
{
	size_t n = a->n < b->n ? a->n : b->n, i;
	bool exact = true;

	for (i = 0; i < n; i++) {
		if (a->frames[i].ip == b->frames[i].ip)
			continue;
		*frame = i;
		if (!same_but_activation(&a->frames[i], &b->frames[i]))
			return VERIFY_DIFFERENT;
		exact = false;
	}
	if (a->n != b->n) {
		*frame = n;
		return a->n > b->n ? VERIFY_LIBDW_EARLIER : VERIFY_LIBDW_FURTHER;
	}
	return exact ? VERIFY_EQUAL : VERIFY_ACTIVATION;
}

void verify_sample(struct verify *v, const struct perf_sample *s, const struct stack_trace *ours)
{
	struct stack_trace theirs;
	enum verify_class c;
	size_t i = 0;

	if (!v->every || s->seq % v->every || !s->user_stack_bytes)
		return;
	unwind_sample(v->libdw, s, &theirs);
	c = classify(ours, &theirs, &i);
	if (!v->counts[c]++)
		v->examples[c] = (struct verify_example){
			s->time_ns,
			i < ours->n ? ours->frames[i].ip : 0,
			i < theirs.n ? theirs.frames[i].ip : 0,
			s->tid,
			i,
			ours->stop,
			theirs.stop,
		};
}

void verify_add(struct verify *to, const struct verify *from)
{
	unsigned c;

	for (c = 0; c < VERIFY_N; c++) {
		if (!from->counts[c])
			continue;
		if (!to->counts[c] || from->examples[c].time_ns < to->examples[c].time_ns)
			to->examples[c] = from->examples[c];
		to->counts[c] += from->counts[c];
	}
}

/* chains.c - unwound stacks as the call chains that a recorder would have written. */
#include "base/err.h"
#include "base/vec.h"
#include "cut/cut.h"
#include "load/pipeline.h"
#include "reader/reader.h"

struct words {
	uint64_t *v;
	size_t n, cap;
	uint64_t places; /* frames in bytecode, among all that were added */
};

/* Readers look the callers up less one (frame_lookup_ip()). What a signal has interrupted was not
 * called from there: it is given plus one. Frames that stand for unknown callers have no address.
 */
static int add_frame(struct words *w, const struct frame *f, bool is_first)
{
	if (f->how == FRAME_OTHER_STACK || !f->ip)
		return 0;
	w->places += f->map && (f->ip < f->map->start || f->ip > f->map->end);
	return vec_push(w, f->ip + (!is_first && !f->is_return_address));
}

static int add_all(struct words *w, const struct stack_trace *t)
{
	const struct stack_base *base;
	size_t i, first = w->n;
	int rc = 0;

	for (i = 0; i < t->n && !rc; i++) {
		const bool user = i >= t->n_kernel;

		if (i == 0 || i == t->n_kernel) {
			rc = vec_push(w, user ? PERF_CHAIN_USER : PERF_CHAIN_KERNEL);
			first = w->n;
		}
		rc = rc ? rc : add_frame(w, &t->frames[i], w->n == first);
	}
	for (base = t->base; base && !rc; base = base->up)
		rc = add_frame(w, &base->frame, false);
	return rc;
}

int chains_take(struct cut_chains *c, const struct perf_sample *const *samples,
		const struct stack_trace *traces, size_t n)
{
	struct words w = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		w.n = 0;
		rc = add_all(&w, &traces[i]) || cut_chains_add(c, samples[i], w.v, w.n);
	}
	cut_chains_note_places(c, w.places);
	vec_done(&w);
	return rc ? -ERR_NOMEM : 0;
}

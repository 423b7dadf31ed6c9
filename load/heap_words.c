/* heap_words.c - what is said of recordings of allocations after they were read. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "load/pipeline.h"
#include "reader/reader.h"

static uint64_t sum(const struct heap_weights *h, enum perf_heap_value value)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < h->weights.n; i++)
		ret += h->weights.v[i].values[value];
	for (size_t i = 0; i < h->rest.n; i++)
		ret += h->rest.v[i].values[value];
	return ret;
}

static bool is_weighed(const struct loaded *l)
{
	return l->heap.rest.v;
}

void heap_note_estimates(struct loaded *l)
{
	if (perf_file_has_heap(l->file) && !is_weighed(l))
		loaded_note(l,
			    "allocations are estimated by the calls that have a stack, those that "
			    "failed count, too, and what is in use is not known: a pipe can be "
			    "read only once; read a file (capture -o FILE)");
}

int heap_none_in_use(const struct loaded *l, const char *event, struct err *err)
{
	const char *input = input_name(l->path);
	const bool space = event && !strcmp(event, "inuse_space");

	if (!perf_file_has_heap(l->file) || !event || (!space && strcmp(event, "inuse_objects")))
		return 0;
	if (!is_weighed(l))
		return err_set(err, ERR_NOT_FOUND, input,
			       "what is in use is not known of a pipe, which can be read only "
			       "once: read a file (capture -o FILE)");
	if (sum(&l->heap, space ? PERF_HEAP_INUSE_SPACE : PERF_HEAP_INUSE_OBJECTS))
		return 0;
	return err_set(err, ERR_NOT_FOUND, input,
		       "nothing is in use at the end, of %" PRIu64 " bytes that were allocated",
		       sum(&l->heap, PERF_HEAP_ALLOC_SPACE));
}

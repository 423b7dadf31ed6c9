/* profile.c - making and freeing a profile, and access for its readers. */
#include "profile/profile.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "profile/intern.h"

struct profile *profile_new(unsigned keep)
{
	struct profile *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->index_ = calloc(1, sizeof *p->index_);
	if (!p->index_ || vec_push(&p->nodes, (struct profile_node){0}) ||
	    strtab_add_cstr(&p->strings, "") == STRTAB_FAILED) {
		profile_free(p);
		return NULL;
	}
	p->index_->keep = keep;
	p->index_->secret = hash_secret();
	stack_memo_init(&p->index_->memo);
	if (profile_intern_mapping(p, NULL, NULL, &(uint32_t){0}, NULL)) {
		profile_free(p);
		return NULL;
	}
	return p;
}

static void index_free(struct profile_index *x)
{
	size_t i;

	vec_done(&x->mapping_of);
	hash_index_done(&x->mappings);
	vec_done(&x->path);
	vec_done(&x->path_nodes);
	vec_done(&x->path_jit);
	vec_done(&x->bases);
	vec_done(&x->locations_of);
	stack_memo_done(&x->memo);
	free(x->known);
	for (i = 0; i < x->places_of.n; i++)
		vec_done(&x->places_of.v[i].v);
	vec_done(&x->places_of);
	free(x->jit_memos);
	vec_done(&x->string_of);
	hash_index_done(&x->locations);
	hash_index_done(&x->nodes);
	hash_done(&x->comms);
	hash_done(&x->texts);
	hash_index_done(&x->samples);
	hash_done(&x->places);
	hash_done(&x->functions);
	mangled_done(&x->mangled);
	free(x);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_done(&p->strings);
	vec_done(&p->mappings);
	vec_done(&p->functions);
	vec_done(&p->locations);
	vec_done(&p->lines);
	vec_done(&p->nodes);
	vec_done(&p->samples);
	vec_done(&p->log);
	vec_done(&p->task_ends);
	vec_done(&p->events);
	vec_done(&p->comments);
	if (p->index_)
		index_free(p->index_);
	free(p);
}

bool profile_is_stitched(const struct profile *p, uint32_t node)
{
	while (node && p->nodes.v[node].parent)
		node = p->nodes.v[node].parent;
	return node && p->locations.v[p->nodes.v[node].location].how == FRAME_STITCHED;
}

bool profile_event_is_clock(const struct profile_event *e)
{
	return e->is_ns || event_is_clock(e->attr.type, e->attr.config);
}

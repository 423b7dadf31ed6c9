/* bound.c - leaves out the frames of stacks that an input of few bytes has made of endless size.
 *
 * A file of 179 bytes can hold a stack of 60,000 frames with 2,000 inlined functions each, or name
 * every frame with 4,000 bytes. What a frame costs is what writers need for it: some bytes, and its
 * names. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

#define BOUND_MARK "[frames left out]"

enum { FRAME_BYTES = 64 };

static uint64_t all_bytes(const struct profile *p)
{
	return add_saturated(64 << 20,
			     p->input_bytes < UINT64_MAX >> 8 ? p->input_bytes << 8 : UINT64_MAX);
}

static uint64_t samples_bytes(const struct profile *p)
{
	return add_saturated(64 << 20,
			     p->input_bytes < UINT64_MAX >> 12 ? p->input_bytes << 12 : UINT64_MAX);
}

struct size {
	uint64_t frames, bytes;
};

struct bounding {
	struct profile *p;
	struct size *of_location, *of_node; /* of_node: of the whole stack, as it was */
	uint32_t *to;			    /* by node: what it is now */
	uint64_t total, samples;	    /* bytes so far */
	uint32_t mark;			    /* location */
};

static uint64_t name_bytes(const struct profile *p, uint32_t string)
{
	return FRAME_BYTES + strtab_len(&p->strings, string);
}

static struct size size_of_location(const struct profile *p, const struct profile_location *l)
{
	struct size s = {1, name_bytes(p, p->mappings.v[l->mapping].short_name)};
	size_t i;

	if (!l->n_lines)
		return s;
	s = (struct size){l->n_lines, 0};
	for (i = 0; i < l->n_lines; i++)
		s.bytes +=
			name_bytes(p, p->functions.v[p->lines.v[l->first_line + i].function].name);
	return s;
}

/* Fills of_location. Returns whether no limit can be reached, which is so for most profiles. */
static bool measure(struct bounding *b)
{
	const struct profile *p = b->p;
	uint64_t depth = 0, bytes = 0, frames = 0;
	size_t i;

	for (i = 0; i < p->locations.n; i++) {
		struct size s = size_of_location(p, &p->locations.v[i]);

		b->of_location[i] = s;
		bytes = s.bytes > bytes ? s.bytes : bytes;
		frames = s.frames > frames ? s.frames : frames;
	}
	for (i = 0; i < p->nodes.n; i++)
		depth = p->nodes.v[i].depth > depth ? p->nodes.v[i].depth : depth;
	return frames * depth <= PROFILE_STACK_FRAMES && bytes <= UINT32_MAX &&
	       bytes * depth <= PROFILE_STACK_BYTES && bytes * p->nodes.n <= all_bytes(p) &&
	       bytes * depth <= samples_bytes(p) / (p->samples.n + p->log.n + 1);
}

/* The location that stands for frames that were left out. */
int profile_add_bound_mark(struct profile *p, uint32_t *ret, struct err *err)
{
	struct profile_function f = {.is_folded = true};
	struct profile_line line = {0};
	struct profile_location l = {.how = FRAME_USER_CHAIN, .n_lines = 1};

	if (p->index_->bound_mark) {
		*ret = p->index_->bound_mark - 1;
		return 0;
	}
	f.name = profile_string(p, BOUND_MARK, strlen(BOUND_MARK));
	if (profile_add_function(p, &f, &line.function, err))
		return -ERR_NOMEM;
	l.first_line = (uint32_t)p->lines.n;
	*ret = (uint32_t)p->locations.n;
	if (*ret >= UINT32_MAX - 1 || vec_push(&p->lines, line) || vec_push(&p->locations, l))
		return err_nomem(err);
	p->index_->bound_mark = *ret + 1;
	return 0;
}

static bool is_mark(const struct bounding *b, uint32_t node)
{
	return b->p->nodes.v[node].location == b->mark;
}

/* A parent's id is smaller than its children's. */
static void bound_nodes(struct bounding *b)
{
	uint64_t most = all_bytes(b->p);
	uint32_t i;

	for (i = 1; i < b->p->nodes.n; i++) {
		struct profile_node *n = &b->p->nodes.v[i];
		struct size own = b->of_location[n->location], *all = &b->of_node[i];

		all->frames = add_saturated(b->of_node[n->parent].frames, own.frames);
		all->bytes = add_saturated(b->of_node[n->parent].bytes, own.bytes);
		b->to[i] = b->to[n->parent];
		if (is_mark(b, b->to[i]))
			continue;
		b->to[i] = i;
		if (all->frames > PROFILE_STACK_FRAMES || all->bytes > PROFILE_STACK_BYTES ||
		    own.bytes > most - b->total)
			n->location = b->mark;
		else
			b->total += own.bytes;
	}
}

static uint64_t stack_bytes(const struct bounding *b, uint32_t node)
{
	return is_mark(b, node) ? b->of_node[b->p->nodes.v[node].parent].bytes + FRAME_BYTES
				: b->of_node[node].bytes;
}

/* Where stacks are spelled sample by sample, each counts. The last node is the mark alone. */
static uint32_t bound_sample(struct bounding *b, uint32_t node, uint64_t most,
			     struct profile_bounded *ret)
{
	uint32_t to = b->to[node];
	uint64_t bytes = stack_bytes(b, to);

	if (bytes > most - b->samples)
		to = (uint32_t)b->p->nodes.n - 1;
	else
		b->samples += bytes;
	if (!node || !is_mark(b, to))
		return node ? to : 0;
	ret->stacks++;
	ret->frames = add_saturated(
		ret->frames, b->of_node[node].frames - b->of_node[b->p->nodes.v[to].parent].frames);
	return to;
}

static void bound_samples(struct bounding *b, struct profile_bounded *ret)
{
	struct profile_bounded of_log = {0};
	struct profile *p = b->p;
	uint64_t most = samples_bytes(p);
	size_t i;

	for (i = 0; i < p->samples.n; i++)
		p->samples.v[i].node = bound_sample(b, p->samples.v[i].node, most, ret);
	b->samples = 0;
	for (i = 0; i < p->log.n; i++)
		p->log.v[i].node = bound_sample(b, p->log.v[i].node, most, &of_log);
}

static int bound_all(struct bounding *b, struct profile_bounded *ret, struct err *err)
{
	int rc = profile_add_bound_mark(b->p, &b->mark, err);

	b->of_node = calloc(b->p->nodes.n + 1, sizeof *b->of_node);
	b->to = calloc(b->p->nodes.n + 1, sizeof *b->to);
	if (rc || !b->of_node || !b->to ||
	    vec_push(&b->p->nodes, (struct profile_node){0, b->mark, 1}))
		return err_nomem(err);
	b->of_location[b->mark] = size_of_location(b->p, &b->p->locations.v[b->mark]);
	bound_nodes(b);
	bound_samples(b, ret);
	return 0;
}

int profile_bound(struct profile *p, struct profile_bounded *ret, struct err *err)
{
	struct bounding b = {.p = p};
	int rc = 0;

	*ret = p->bounded;
	b.of_location = malloc((p->locations.n + 2) * sizeof *b.of_location);
	if (!b.of_location)
		return err_nomem(err);
	if (!measure(&b))
		rc = bound_all(&b, ret, err);
	free(b.of_location);
	free(b.of_node);
	free(b.to);
	return rc;
}

/* page_data.c - writes tables of frames, nodes and samples as columns of numbers. */
#include "output/page_data.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/protobuf.h"
#include "output/page_parts.h"

void page_add_number(struct page *g, uint64_t v)
{
	pb_varint(&g->columns, v);
}

void page_add_signed(struct page *g, int64_t v)
{
	page_add_number(g, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void page_add_string(struct page *g, const char *s, size_t n)
{
	uint32_t id = strtab_add(&g->strings, s, n);

	g->columns.failed |= id == STRTAB_FAILED;
	page_add_number(g, id == STRTAB_FAILED ? 0 : id);
}

void page_add_name(struct page *g, uint32_t id)
{
	if (id == STRTAB_FAILED) {
		g->columns.failed = true;
		return;
	}
	page_add_string(g, strtab_get(&g->names, id), strtab_len(&g->names, id));
}

/* Interns the text collected since the last call as a name. */
uint32_t page_take_name(struct page *g)
{
	uint32_t id = g->text.failed ? STRTAB_FAILED
				     : strtab_add(&g->names, g->text.n ? g->text.s : "", g->text.n);

	g->text.n = 0;
	return id;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int write_columns(struct page *g, struct err *err)
{
	g->event_rank = calloc(g->p->events.n + 1, sizeof *g->event_rank);
	if (!g->event_rank || page_make_frames(g))
		return err_nomem(err);
	page_write_facts(g);
	page_write_frames(g);
	if (page_make_nodes(g, err))
		return -ERR_NOMEM;
	if (g->opt->diff.is_diff && page_write_difference(g))
		return err_nomem(err);
	page_write_events(g);
	if (page_make_samples(g) || page_write_tasks(g) || page_write_samples(g) ||
	    page_write_log(g) || g->columns.failed)
		return err_nomem(err);
	if (page_write_spans(g, err))
		return -ERR_NOMEM;
	return g->columns.failed ? err_nomem(err) : 0;
}

static void write_strings(struct text *out, const struct strtab *strings)
{
	uint32_t i, n = (uint32_t)strtab_count(strings);

	pb_varint(out, n);
	for (i = 0; i < n; i++)
		pb_varint(out, strtab_len(strings, i));
	for (i = 0; i < n; i++)
		text_add(out, strtab_get(strings, i), strtab_len(strings, i));
}

/* The label that is a level above stacks: that of --by, else what was recorded of these. */
static const char *label_that_groups(const struct profile *p, const struct output_options *opt)
{
	static const char *const keys[] = {"cgroup", "state"};
	struct profile_label l;

	if (opt->style.by || opt->diff.is_diff)
		return opt->diff.is_diff ? NULL : opt->style.by;
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		for (size_t i = 0; i < p->samples.n; i++)
			if (p->samples.v[i].labels &&
			    profile_label_named(p, &p->samples.v[i], keys[k], &l))
				return keys[k];
	return NULL;
}

int page_data(struct text *out, const struct profile *p, const struct output_options *opt,
	      const struct event_set *events, struct err *err)
{
	struct page g = {.p = p,
			 .opt = opt,
			 .events = events,
			 .by = label_that_groups(p, opt),
			 .last_label = STRTAB_FAILED};
	int rc = write_columns(&g, err);

	if (!rc) {
		write_strings(out, &g.strings);
		text_add(out, g.columns.s, g.columns.n);
		rc = out->failed ? err_nomem(err) : 0;
	}
	strtab_done(&g.names);
	strtab_done(&g.strings);
	vec_done(&g.frames);
	hash_done(&g.modules);
	hash_done(&g.places);
	hash_done(&g.frame_of);
	free(g.rank);
	free(g.by_rank);
	tree_symbols_done(&g.symbols);
	tree_done(&g.tree);
	free(g.preorder);
	free(g.event_rank);
	vec_done(&g.tasks);
	hash_done(&g.ids);
	hash_done(&g.comms);
	hash_done(&g.task_of);
	free(g.task_rank);
	vec_done(&g.samples);
	hash_done(&g.kind_of);
	hash_done(&g.sample_of);
	free(g.sample_rank);
	text_done(&g.text);
	text_done(&g.columns);
	return rc;
}

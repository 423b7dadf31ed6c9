/* page_samples.c - events, tasks and samples of the page, and the log. */
#include <stdlib.h>

#include "base/err.h"
#include "base/pair.h"
#include "base/sum.h"
#include "output/page_parts.h"
#include "output/page_spans.h"
#include "reader/reader.h"

/* ---- events, tasks, samples ----------------------------------------------------------------- */

/* Units of weights; data.js has the same numbers. */
enum { UNIT_EVENTS, UNIT_NS, UNIT_BYTES };

static unsigned unit_of(const struct page *g, const struct profile_event *e)
{
	if (g->opt->count_samples)
		return UNIT_EVENTS;
	return profile_event_is_clock(e)	 ? UNIT_NS
	       : profile_event_is_bytes(g->p, e) ? UNIT_BYTES
						 : UNIT_EVENTS;
}

void page_write_events(struct page *g)
{
	size_t i;

	page_add_number(g, g->events->n);
	for (i = 0; i < g->events->n; i++) {
		const struct profile_event *e = &g->p->events.v[g->events->ids[i]];

		g->event_rank[g->events->ids[i]] = (uint32_t)i;
		text_string(&g->text, g->p, e->name);
		page_add_name(g, page_take_name(g));
		page_add_number(g, unit_of(g, e));
	}
}

/* Finds the sum to which a sample or log entry belongs. HASH_NONE when out of memory. */
static uint32_t sample_id(struct page *g, uint32_t node, uint32_t event, struct page_task t)
{
	uint32_t id = pair_intern(&g->ids, t.pid, t.tid), task, kind;
	uint32_t comm = pair_intern(&g->comms, t.comm, t.label);

	task = id == HASH_NONE || comm == HASH_NONE ? HASH_NONE
						    : pair_intern(&g->task_of, comm, id);
	if (task == HASH_NONE || (task == g->tasks.n && vec_push(&g->tasks, t)))
		return HASH_NONE;
	kind = pair_intern(&g->kind_of, event, task);
	id = kind == HASH_NONE ? kind : pair_intern(&g->sample_of, node, kind);
	if (id != HASH_NONE && id == g->samples.n &&
	    vec_push(&g->samples,
		     ((struct page_sample){.node = node, .event = event, .task = task})))
		return HASH_NONE;
	return id;
}

/* What groups the samples of these labels; 0: nothing does. */
static uint32_t label_of(struct page *g, uint32_t labels)
{
	const struct profile_sample s = {.labels = labels};

	if (!g->by)
		return 0;
	if (g->last_label == STRTAB_FAILED || labels != g->last_labels) {
		profile_label_show(&g->text, g->p, &s, g->by);
		g->last_label = page_take_name(g);
		g->last_labels = labels;
	}
	g->columns.failed |= g->last_label == STRTAB_FAILED;
	return g->last_label;
}

/* Of a difference `count` is the weight of the base, `weight` that of the new side. Threads are
 * runs there: they are added up. */
static void add_sample(const struct page *g, struct page_sample *sum,
		       const struct profile_sample *s)
{
	bool is_diff = g->opt->diff.is_diff;

	sum->count = add_saturated(sum->count, s->count);
	sum->weight = add_saturated(
		sum->weight, is_diff ? s->period : format_weight(g->opt, s->count, s->period));
}

int page_make_samples(struct page *g)
{
	size_t i;

	for (i = 0; i < g->p->samples.n; i++) {
		const struct profile_sample *s = &g->p->samples.v[i];
		uint32_t tid = g->opt->diff.is_diff ? 0 : s->tid, id;

		if (!g->events->has[s->event])
			continue;
		id = sample_id(g, page_node_of(g, s->node), g->event_rank[s->event],
			       (struct page_task){s->comm, s->pid, tid, label_of(g, s->labels)});
		if (id == HASH_NONE)
			return -1;
		add_sample(g, &g->samples.v[id], s);
	}
	return 0;
}

static int compare_tasks(const void *pa, const void *pb, void *arg)
{
	const struct page *g = arg;
	const struct page_task *a = &g->tasks.v[*(const uint32_t *)pa];
	const struct page_task *b = &g->tasks.v[*(const uint32_t *)pb];

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->comm != b->comm)
		return strcmp(strtab_get(&g->p->strings, a->comm),
			      strtab_get(&g->p->strings, b->comm));
	return g->by ? page_compare_ids(g, a->label, b->label) : 0;
}

int page_write_tasks(struct page *g)
{
	uint32_t *by_rank;
	size_t i;
	int rc = page_rank_all(g, g->tasks.n, compare_tasks, &g->task_rank, &by_rank);

	page_add_number(g, g->tasks.n);
	for (i = 0; !rc && i < g->tasks.n; i++) {
		const struct page_task *t = &g->tasks.v[by_rank[i]];

		text_string(&g->text, g->p, t->comm);
		page_add_name(g, page_take_name(g));
		/* -1: not known */
		page_add_signed(g, t->pid == PROFILE_NO_PID ? -1 : (int32_t)t->pid);
		page_add_signed(g, t->tid == PROFILE_NO_PID ? -1 : (int32_t)t->tid);
		if (g->by)
			page_add_name(g, t->label);
	}
	free(by_rank);
	return rc;
}

static int compare_samples(const void *pa, const void *pb, void *arg)
{
	const struct page *g = arg;
	const struct page_sample *a = &g->samples.v[*(const uint32_t *)pa];
	const struct page_sample *b = &g->samples.v[*(const uint32_t *)pb];

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (g->task_rank[a->task] > g->task_rank[b->task]) -
	       (g->task_rank[a->task] < g->task_rank[b->task]);
}

int page_write_samples(struct page *g)
{
	uint32_t *by_rank;
	size_t i, n = g->samples.n;
	int rc = page_rank_all(g, n, compare_samples, &g->sample_rank, &by_rank);

	page_add_number(g, n);
	for (i = 0; !rc && i < n; i++)
		page_add_number(g, g->samples.v[by_rank[i]].node);
	for (i = 0; !rc && i < n; i++)
		page_add_number(g, g->samples.v[by_rank[i]].event);
	for (i = 0; !rc && i < n; i++)
		page_add_number(g, g->task_rank[g->samples.v[by_rank[i]].task]);
	for (i = 0; !rc && i < n; i++)
		page_add_number(g, g->samples.v[by_rank[i]].count);
	for (i = 0; !rc && i < n; i++)
		page_add_number(g, g->samples.v[by_rank[i]].weight);
	free(by_rank);
	return rc;
}

/* ---- the log -------------------------------------------------------------------------------- */

static uint32_t entry_sample(struct page *g, const struct profile_log_entry *e)
{
	uint32_t tid = g->opt->diff.is_diff ? 0 : e->tid;

	return sample_id(g, page_node_of(g, e->node), g->event_rank[e->event],
			 (struct page_task){e->comm, e->pid, tid, label_of(g, e->labels)});
}

static uint64_t entry_weight(const struct page *g, const struct profile_log_entry *e)
{
	if (g->opt->diff.is_diff)
		return e->period ? e->period : 1;
	return format_weight(g->opt, 1, e->period);
}

/* Without times there is none. */
int page_write_log(struct page *g)
{
	const struct profile *p = g->p;
	uint64_t last = p->first_ns;
	size_t i, n = 0, n_samples = g->samples.n;

	for (i = 0; i < p->log.n && p->last_ns > p->first_ns; i++)
		n += g->events->has[p->log.v[i].event];
	page_add_number(g, n);
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event]) {
			page_add_signed(g, (int64_t)(p->log.v[i].time_ns - last));
			last = p->log.v[i].time_ns;
		}
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event]) {
			uint32_t id = entry_sample(g, &p->log.v[i]);

			if (id == HASH_NONE || id >= n_samples)
				return -1;
			page_add_number(g, g->sample_rank[id]);
		}
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event])
			page_add_number(g, entry_weight(g, &p->log.v[i]));
	for (i = 0; n && g->opt->diff.is_diff && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event])
			page_add_number(g, p->log.v[i].cpu); /* the side */
	return 0;
}

/* Calls refer to what is in the written log. */
int page_write_spans(struct page *g, struct err *err)
{
	const bool any = !g->opt->diff.is_diff && g->p->last_ns > g->p->first_ns;
	struct page_spans s = {0};
	size_t at = 0, last = 0, i = 0;
	int rc = any ? page_spans_find(&s, g->p, g->events->has, err) : 0;

	page_add_number(g, s.n_left_out);
	page_add_number(g, s.v.n);
	for (size_t k = 0; k < s.v.n; k++) {
		for (; i < s.v.v[k].entry; i++)
			at += g->events->has[g->p->log.v[i].event];
		page_add_number(g, at - last);
		last = at;
	}
	for (size_t k = 0; k < s.v.n; k++)
		page_add_number(g, s.v.v[k].ns);
	for (size_t k = 0; k < s.v.n; k++)
		page_add_number(g, s.v.v[k].depth);
	for (size_t k = 0; k < s.v.n; k++)
		page_add_number(g, s.v.v[k].end);
	for (size_t k = 0; k < s.v.n; k++)
		page_add_string(g, strtab_get(&s.texts, s.v.v[k].words),
				strtab_len(&s.texts, s.v.v[k].words));
	page_spans_done(&s);
	return rc;
}

/* page_data.c - writes tables of frames, nodes and samples as columns of numbers. */
#include "output/page_data.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/pair.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/sum.h"
#include "base/vec.h"
#include "output/diff.h"
#include "output/formats.h"
#include "output/page_spans.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

enum { KIND_GUESSED = 8, KIND_STITCHED = 16, NO_FRAME = UINT32_MAX };

/* A function of a module, as shown; all its places in the code are one frame. */
struct page_frame {
	uint32_t name, module, file; /* ids in names */
	uint32_t line;
	uint32_t kind;
	const struct diff_verdict *verdict; /* of a difference that was judged; NULL */
};

struct page_task {
	uint32_t comm, pid, tid;
	uint32_t label; /* string id in names, with page.by */
};

/* All samples of one task and event in one node. */
struct page_sample {
	uint32_t node, event, task;
	uint64_t count, weight;
};

struct page {
	const struct profile *p;
	const struct output_options *opt;
	const struct event_set *events;
	const char *by; /* a label of the samples that is a level, too; NULL */
	struct strtab names;
	VEC(struct page_frame) frames;
	struct hash_table modules, places, frame_of; /* pairs of pairs */
	uint32_t *rank;				     /* by frame: place in the order of content */
	uint32_t *by_rank;
	struct tree_symbols symbols;
	struct tree tree;
	uint32_t *preorder; /* by node of the tree */
	uint32_t *event_rank;
	VEC(struct page_task) tasks;
	struct hash_table ids, comms, task_of; /* (pid, tid), (comm, label), of both */
	uint32_t last_labels, last_label;      /* set of labels -> name */
	uint32_t *task_rank;
	VEC(struct page_sample) samples;
	struct hash_table kind_of, sample_of; /* (event, task), (node, that) */
	uint32_t *sample_rank;
	struct strtab strings; /* of the page, in the order of first use */
	struct text text, columns;
};

static void add_number(struct page *g, uint64_t v)
{
	pb_varint(&g->columns, v);
}

static void add_signed(struct page *g, int64_t v)
{
	add_number(g, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void add_string(struct page *g, const char *s, size_t n)
{
	uint32_t id = strtab_add(&g->strings, s, n);

	g->columns.failed |= id == STRTAB_FAILED;
	add_number(g, id == STRTAB_FAILED ? 0 : id);
}

static void add_name(struct page *g, uint32_t id)
{
	if (id == STRTAB_FAILED) {
		g->columns.failed = true;
		return;
	}
	add_string(g, strtab_get(&g->names, id), strtab_len(&g->names, id));
}

/* Interns the text collected since the last call as a name. */
static uint32_t take_name(struct page *g)
{
	uint32_t id = g->text.failed ? STRTAB_FAILED
				     : strtab_add(&g->names, g->text.n ? g->text.s : "", g->text.n);

	g->text.n = 0;
	return id;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Finds the frame by name, module and place. In a difference only by name, because a function may
 * have moved between the builds; it gets its place on the new side, which is added last. */
static uint32_t frame_id(struct page *g, const struct page_frame *f)
{
	uint32_t module, place;

	if (g->opt->diff.is_diff)
		return pair_intern(&g->frame_of, f->name, 0);
	module = pair_intern(&g->modules, f->name, f->module);
	place = pair_intern(&g->places, f->file, f->line);
	return module == HASH_NONE || place == HASH_NONE ? HASH_NONE
							 : pair_intern(&g->frame_of, module, place);
}

static int add_frame(struct page *g, struct page_frame f)
{
	uint32_t id;

	if (f.name == STRTAB_FAILED || f.module == STRTAB_FAILED || f.file == STRTAB_FAILED)
		return -1;
	id = frame_id(g, &f);
	if (id == HASH_NONE || (id == g->frames.n && vec_push(&g->frames, f)))
		return -1;
	if (g->opt->diff.is_diff && f.line) {
		g->frames.v[id].module = f.module;
		g->frames.v[id].file = f.file;
		g->frames.v[id].line = f.line;
	}
	if ((f.kind & 7) > (g->frames.v[id].kind & 7))
		g->frames.v[id].kind = (g->frames.v[id].kind & ~7u) | (f.kind & 7);
	g->frames.v[id].kind |= f.kind & ~7u;
	if (f.verdict && (f.verdict->is_significant || !g->frames.v[id].verdict))
		g->frames.v[id].verdict = f.verdict;
	return vec_push(&g->symbols.ids, id);
}

/* Adds the frames of a location, whose names are frames[0 .. n). */
static int add_location(struct page *g, const struct profile_location *l,
			const struct frame_name *frames, size_t n)
{
	const struct profile *p = g->p;
	const struct diff_verdict *verdicts = g->opt->diff.verdicts;
	const char *module = profile_mapping_short_name(p, l->mapping);
	struct page_frame f = {0};
	unsigned how = (l->how == FRAME_STITCHED ? KIND_STITCHED : 0) |
		       (frame_how_is_guess(l->how) ? KIND_GUESSED : 0);
	size_t i;

	text_clean(&g->text, module, strlen(module));
	f.module = take_name(g);
	for (i = 0; i < n; i++) {
		f.name = frames[i].name;
		f.kind = frames[i].kind | how;
		if (frames[i].line != FRAME_NO_LINE) {
			uint32_t id = p->lines.v[frames[i].line].function;

			f.verdict = verdicts ? &verdicts[id] : NULL;
			text_string(&g->text, p, p->functions.v[id].file);
			f.line = p->functions.v[id].start_line;
		}
		f.file = take_name(g);
		if (add_frame(g, f))
			return -1;
	}
	return 0;
}

static int compare_ids(const struct page *g, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(strtab_get(&g->names, a), strtab_get(&g->names, b));
}

static int compare_frames(const void *pa, const void *pb, void *arg)
{
	const struct page *g = arg;
	const struct page_frame *a = &g->frames.v[*(const uint32_t *)pa];
	const struct page_frame *b = &g->frames.v[*(const uint32_t *)pb];
	int rc = compare_ids(g, a->name, b->name);

	if (!rc)
		rc = compare_ids(g, a->module, b->module);
	if (!rc)
		rc = compare_ids(g, a->file, b->file);
	return rc ? rc : (a->line > b->line) - (a->line < b->line);
}

/* Sorts ids 0 .. n - 1, and computes the rank of each; the caller frees both. Returns 0 or -1. */
static int rank_all(struct page *g, size_t n, int (*compare)(const void *, const void *, void *),
		    uint32_t **rank, uint32_t **by_rank)
{
	size_t i;

	/* One more for the root, which has a rank even if no sample has a frame. */
	*rank = calloc(n + 1, sizeof **rank);
	*by_rank = malloc((n + 1) * sizeof **by_rank);
	if (!*rank || !*by_rank)
		return -1;
	for (i = 0; i < n; i++)
		(*by_rank)[i] = (uint32_t)i;
	qsort_r(*by_rank, n, sizeof **by_rank, compare, g);
	for (i = 0; i < n; i++)
		(*rank)[(*by_rank)[i]] = (uint32_t)i;
	return 0;
}

/* In the page a name is all of a function's label, so overloaded functions keep their arguments.
 * Colours tell the kinds of code, and need no marks. */
static int make_names(struct page *g, struct frame_names *frames)
{
	const struct stack_style style = {
		.no_inline = g->opt->style.no_inline, .keep_apart = true, .unmarked = true};
	int rc = frame_names(frames, g->p, &style, NULL);

	g->names = frames->names;
	frames->names = (struct strtab){0};
	return rc;
}

static int make_frames(struct page *g)
{
	struct frame_names frames = {0};
	size_t i;
	int rc = make_names(g, &frames);

	for (i = 0; !rc && i < g->p->locations.n; i++) {
		uint32_t first = frames.first.v[i];

		rc = vec_push(&g->symbols.first, (uint32_t)g->symbols.ids.n);
		if (!rc)
			rc = add_location(g, &g->p->locations.v[i], frames.frames.v + first,
					  frames.first.v[i + 1] - first);
	}
	frame_names_done(&frames);
	if (rc)
		return -1;
	if (vec_push(&g->symbols.first, (uint32_t)g->symbols.ids.n))
		return -1;
	for (i = 0; i < g->p->samples.n; i++)
		if (vec_push(&g->symbols.roots, 0))
			return -1;
	return rank_all(g, g->frames.n, compare_frames, &g->rank, &g->by_rank);
}

static void write_frames(struct page *g)
{
	size_t i, n = g->frames.n;

	add_number(g, n);
	for (i = 0; i < n; i++)
		add_name(g, g->frames.v[g->by_rank[i]].name);
	for (i = 0; i < n; i++)
		add_name(g, g->frames.v[g->by_rank[i]].module);
	for (i = 0; i < n; i++)
		add_name(g, g->frames.v[g->by_rank[i]].file);
	for (i = 0; i < n; i++)
		add_number(g, g->frames.v[g->by_rank[i]].line);
	for (i = 0; i < n; i++)
		add_number(g, g->frames.v[g->by_rank[i]].kind);
}

static void add_text(struct page *g, const char *s)
{
	text_clean(&g->text, s ? s : "", s ? strlen(s) : 0);
	add_name(g, take_name(g));
}

/* Writes for each frame up to where a change is noise, then for each frame the verdict on it, if
 * functions were judged. */
static int write_difference(struct page *g)
{
	size_t i, n = g->frames.n;
	double *limits = diff_limits(g->p, &g->opt->diff, &g->tree, 1, n);
	bool judged = g->opt->diff.verdicts;

	if (!limits)
		return -1;
	for (i = 0; i < n; i++)
		add_number(g, (uint64_t)fmin(limits[g->by_rank[i]] * 100 + .5, 1e9));
	free(limits);
	for (i = 0; judged && i < n; i++) {
		const struct diff_verdict *v = g->frames.v[g->by_rank[i]].verdict;

		add_text(g, v ? v->text : NULL);
		add_text(g, v ? v->details : NULL);
		add_number(g, v && v->is_significant);
	}
	return 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* All samples are below node 1 of the tree, which is the page's root. */
static int write_nodes(struct page *g, const struct tree_order *order)
{
	struct text frames = {0};
	VEC(uint32_t) todo = {0};
	const struct tree_node *nodes = g->tree.nodes.v;
	uint32_t *depth = calloc(g->tree.nodes.n, sizeof *depth), n = 0, last = 0, i;
	int rc = depth ? vec_push(&todo, 1) : -1;

	add_number(g, g->tree.nodes.n - 1);
	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n];

		depth[id] = id == 1 ? 1 : depth[nodes[id].parent] + 1;
		add_number(g, n ? last + 1 - depth[id] : 0);
		pb_varint(&frames, id == 1 ? 0 : g->rank[nodes[id].symbol]);
		last = depth[id];
		g->preorder[id] = n++;
		for (i = order->first[id + 1]; !rc && i > order->first[id]; i--)
			rc = vec_push(&todo, order->ids[i - 1]);
	}
	text_add(&g->columns, frames.s, frames.n);
	g->columns.failed |= frames.failed;
	text_done(&frames);
	vec_done(&todo);
	free(depth);
	return rc;
}

static int make_nodes(struct page *g, struct err *err)
{
	struct tree_order order = {0};
	int rc = tree_fill(&g->tree, g->p, g->events->has, &g->symbols, err);

	if (!rc)
		rc = tree_order_make(&order, &g->tree, g->rank, g->frames.n + 1, err);
	if (!rc) {
		g->preorder = calloc(g->tree.nodes.n, sizeof *g->preorder);
		if (!g->preorder || write_nodes(g, &order))
			rc = err_nomem(err);
	}
	tree_order_done(&order);
	return rc;
}

static uint32_t node_of(const struct page *g, uint32_t node)
{
	return node ? g->preorder[g->tree.seen[node].node] : 0;
}

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

static void write_events(struct page *g)
{
	size_t i;

	add_number(g, g->events->n);
	for (i = 0; i < g->events->n; i++) {
		const struct profile_event *e = &g->p->events.v[g->events->ids[i]];

		g->event_rank[g->events->ids[i]] = (uint32_t)i;
		text_string(&g->text, g->p, e->name);
		add_name(g, take_name(g));
		add_number(g, unit_of(g, e));
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
		g->last_label = take_name(g);
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

static int make_samples(struct page *g)
{
	size_t i;

	for (i = 0; i < g->p->samples.n; i++) {
		const struct profile_sample *s = &g->p->samples.v[i];
		uint32_t tid = g->opt->diff.is_diff ? 0 : s->tid, id;

		if (!g->events->has[s->event])
			continue;
		id = sample_id(g, node_of(g, s->node), g->event_rank[s->event],
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
	return g->by ? compare_ids(g, a->label, b->label) : 0;
}

static int write_tasks(struct page *g)
{
	uint32_t *by_rank;
	size_t i;
	int rc = rank_all(g, g->tasks.n, compare_tasks, &g->task_rank, &by_rank);

	add_number(g, g->tasks.n);
	for (i = 0; !rc && i < g->tasks.n; i++) {
		const struct page_task *t = &g->tasks.v[by_rank[i]];

		text_string(&g->text, g->p, t->comm);
		add_name(g, take_name(g));
		/* -1: not known */
		add_signed(g, t->pid == PROFILE_NO_PID ? -1 : (int32_t)t->pid);
		add_signed(g, t->tid == PROFILE_NO_PID ? -1 : (int32_t)t->tid);
		if (g->by)
			add_name(g, t->label);
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

static int write_samples(struct page *g)
{
	uint32_t *by_rank;
	size_t i, n = g->samples.n;
	int rc = rank_all(g, n, compare_samples, &g->sample_rank, &by_rank);

	add_number(g, n);
	for (i = 0; !rc && i < n; i++)
		add_number(g, g->samples.v[by_rank[i]].node);
	for (i = 0; !rc && i < n; i++)
		add_number(g, g->samples.v[by_rank[i]].event);
	for (i = 0; !rc && i < n; i++)
		add_number(g, g->task_rank[g->samples.v[by_rank[i]].task]);
	for (i = 0; !rc && i < n; i++)
		add_number(g, g->samples.v[by_rank[i]].count);
	for (i = 0; !rc && i < n; i++)
		add_number(g, g->samples.v[by_rank[i]].weight);
	free(by_rank);
	return rc;
}

/* ---- the log -------------------------------------------------------------------------------- */

static uint32_t entry_sample(struct page *g, const struct profile_log_entry *e)
{
	uint32_t tid = g->opt->diff.is_diff ? 0 : e->tid;

	return sample_id(g, node_of(g, e->node), g->event_rank[e->event],
			 (struct page_task){e->comm, e->pid, tid, label_of(g, e->labels)});
}

static uint64_t entry_weight(const struct page *g, const struct profile_log_entry *e)
{
	if (g->opt->diff.is_diff)
		return e->period ? e->period : 1;
	return format_weight(g->opt, 1, e->period);
}

/* Without times there is none. */
static int write_log(struct page *g)
{
	const struct profile *p = g->p;
	uint64_t last = p->first_ns;
	size_t i, n = 0, n_samples = g->samples.n;

	for (i = 0; i < p->log.n && p->last_ns > p->first_ns; i++)
		n += g->events->has[p->log.v[i].event];
	add_number(g, n);
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event]) {
			add_signed(g, (int64_t)(p->log.v[i].time_ns - last));
			last = p->log.v[i].time_ns;
		}
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event]) {
			uint32_t id = entry_sample(g, &p->log.v[i]);

			if (id == HASH_NONE || id >= n_samples)
				return -1;
			add_number(g, g->sample_rank[id]);
		}
	for (i = 0; n && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event])
			add_number(g, entry_weight(g, &p->log.v[i]));
	for (i = 0; n && g->opt->diff.is_diff && i < p->log.n; i++)
		if (g->events->has[p->log.v[i].event])
			add_number(g, p->log.v[i].cpu); /* the side */
	return 0;
}

/* Calls refer to what is in the written log. */
static int write_spans(struct page *g, struct err *err)
{
	const bool any = !g->opt->diff.is_diff && g->p->last_ns > g->p->first_ns;
	struct page_spans s = {0};
	size_t at = 0, last = 0, i = 0;
	int rc = any ? page_spans_find(&s, g->p, g->events->has, err) : 0;

	add_number(g, s.n_left_out);
	add_number(g, s.v.n);
	for (size_t k = 0; k < s.v.n; k++) {
		for (; i < s.v.v[k].entry; i++)
			at += g->events->has[g->p->log.v[i].event];
		add_number(g, at - last);
		last = at;
	}
	for (size_t k = 0; k < s.v.n; k++)
		add_number(g, s.v.v[k].ns);
	for (size_t k = 0; k < s.v.n; k++)
		add_number(g, s.v.v[k].depth);
	for (size_t k = 0; k < s.v.n; k++)
		add_number(g, s.v.v[k].end);
	for (size_t k = 0; k < s.v.n; k++)
		add_string(g, strtab_get(&s.texts, s.v.v[k].words),
			   strtab_len(&s.texts, s.v.v[k].words));
	page_spans_done(&s);
	return rc;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void add_fact(struct text *t, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	text_str(t, ",\"");
	text_str(t, key);
	text_str(t, "\":");
	text_json(t, value, strlen(value));
}

static void add_share(struct text *t, const char *key, double part, double whole)
{
	char buf[64];

	text_add(t, buf,
		 (size_t)snprintf(buf, sizeof buf, ",\"%s\":%.6f", key,
				  whole > 0 ? part / whole : 0));
}

/* The time of the recording, in UTC; "": unknown. */
static void format_when(const struct profile *p, char *buf, size_t size)
{
	const struct perf_file_info *i = p->info;
	uint64_t ns = !i		 ? 0
		      : i->clock_wall_ns ? i->clock_wall_ns - i->clock_ref_ns + p->first_ns
					 : i->file_mtime_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!ns || !gmtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M UTC", &tm))
		*buf = '\0';
}

/* By event: how many samples of it both sides have. */
static void add_side_samples(struct text *t, const struct page *g)
{
	char buf[64];
	size_t i;

	text_str(t, ",\"counts\":[");
	for (i = 0; i < g->events->n; i++) {
		const uint64_t *n = g->p->events.v[g->events->ids[i]].side_samples;

		text_add(t, buf,
			 (size_t)snprintf(buf, sizeof buf, "%s[%llu,%llu]", i ? "," : "",
					  (unsigned long long)n[0], (unsigned long long)n[1]));
	}
	text_char(t, ']');
}

static void add_difference(struct text *t, const struct page *g)
{
	const struct output_diff *d = &g->opt->diff;
	static const char *const sides[] = {"base", "new"};
	char buf[96];
	size_t i;

	if (!d->is_diff)
		return;
	text_add(t, buf,
		 (size_t)snprintf(buf, sizeof buf, ",\"diff\":{\"variance\":%.9g,\"judged\":%s",
				  diff_variance(d), d->verdicts ? "true" : "false"));
	add_fact(t, "summary", d->summary);
	text_str(t, ",\"sides\":[");
	for (i = 0; i < 2; i++) {
		text_add(t, buf,
			 (size_t)snprintf(buf, sizeof buf, "%s{\"runs\":%u,\"samples\":%llu",
					  i ? "," : "", d->sides[i].runs,
					  (unsigned long long)d->sides[i].samples));
		add_fact(t, "name", d->sides[i].name ? d->sides[i].name : sides[i]);
		text_char(t, '}');
	}
	text_char(t, ']');
	add_side_samples(t, g);
	text_char(t, '}');
}

/* Are only sums known, and no numbers of samples? */
static bool only_sums(const struct page *g)
{
	size_t i;

	for (i = 0; i < g->events->n; i++)
		if (!g->p->events.v[g->events->ids[i]].is_sum)
			return false;
	return true;
}

static void write_facts(struct page *g)
{
	const struct profile *p = g->p;
	double all = 0, cut = 0, nameless = 0;
	uint64_t samples = 0;
	char buf[64];
	struct text t = {0};
	size_t i, main = 0;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		const struct profile_location *leaf = NULL;
		double weight = (double)format_weight(g->opt, s->count, s->period);

		if (!g->events->has[s->event])
			continue;
		samples += s->count;
		all += weight;
		cut += unwind_stop_is_cut(s->stop) ? weight : 0;
		if (s->node)
			leaf = &p->locations.v[p->nodes.v[s->node].location];
		nameless += leaf && !leaf->n_lines && !leaf->symbol ? weight : 0;
	}
	text_add(&t, buf,
		 (size_t)snprintf(buf, sizeof buf, "{\"samples\":%llu,\"lost\":%llu",
				  (unsigned long long)samples, (unsigned long long)g->opt->lost));
	while (g->events->ids[main] != event_set_main(g->events, p))
		main++;
	text_str(&t, ",\"event\":");
	text_dec(&t, main, 0);
	text_str(&t, g->opt->count_samples ? ",\"counts\":true" : "");
	text_str(&t, only_sums(g) ? ",\"sums\":true" : "");
	add_share(&t, "cut", cut, all);
	add_share(&t, "nameless", nameless, all);
	add_share(&t, "stitched", format_stitched_share(p, g->opt, g->events->has), 1);
	format_when(p, buf, sizeof buf);
	add_fact(&t, "when", buf);
	add_difference(&t, g);
	add_fact(&t, "host", p->info ? p->info->hostname : NULL);
	add_fact(&t, "arch", p->info ? p->info->arch : NULL);
	add_fact(&t, "tool", g->opt->generator);
	add_fact(&t, "by", g->by);
	text_str(&t, g->by && g->opt->style.by ? ",\"isByFirst\":true" : "");
	text_char(&t, '}');
	g->columns.failed |= t.failed;
	add_string(g, t.s ? t.s : "", t.n);
	text_done(&t);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int write_columns(struct page *g, struct err *err)
{
	g->event_rank = calloc(g->p->events.n + 1, sizeof *g->event_rank);
	if (!g->event_rank || make_frames(g))
		return err_nomem(err);
	write_facts(g);
	write_frames(g);
	if (make_nodes(g, err))
		return -ERR_NOMEM;
	if (g->opt->diff.is_diff && write_difference(g))
		return err_nomem(err);
	write_events(g);
	if (make_samples(g) || write_tasks(g) || write_samples(g) || write_log(g) ||
	    g->columns.failed)
		return err_nomem(err);
	if (write_spans(g, err))
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

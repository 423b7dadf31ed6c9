/* in_cpuprofile.c - V8's .cpuprofile: of node --cpu-prof, Chrome and Deno.
 *
 * Source of truth: type Profiler.Profile of the Chrome DevTools Protocol. `nodes` are a tree by
 * ids, `samples` the ids of leaves, `timeDeltas` the microseconds before each of them. A sample
 * stands for the time until the next one; the last one for that until endTime. */
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/input.h"
#include "input/json_input.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>

struct node {
	double id;
	uint32_t name, file, line;
	uint32_t parent;   /* index; UINT32_MAX: none */
	uint32_t location; /* and 1; 0: not made yet */
};

struct child {
	uint32_t parent; /* index */
	double id;
};

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct err *err;
	VEC(struct node) nodes;
	VEC(struct child) children;
	VEC(double) samples;
	VEC(double) deltas;
	struct node at;
	struct hash_table by_id;
	double start, end;
	uint64_t n_negative;
	VEC(uint32_t) path;
};

enum { DEEPEST = 1 << 20 };

static uint64_t id_key(double id)
{
	uint64_t key;

	memcpy(&key, &id, sizeof key);
	return key;
}

static int end_node(struct reader *r)
{
	const int rc = hash_put(&r->by_id, id_key(r->at.id), (uint32_t)r->nodes.n) ||
		       vec_push(&r->nodes, r->at);

	r->at = (struct node){.parent = UINT32_MAX};
	return rc ? err_nomem(r->err) : 0;
}

static uint32_t name_of(struct reader *r, const struct json_value *v)
{
	return v->kind == JSON_STRING ? profile_string(r->p, v->string, v->n) : 0;
}

static int visit(void *arg, const struct json_value *v)
{
	struct reader *r = arg;
	const char *path = v->path;

	if (!strcmp(path, "nodes[]") && v->kind == JSON_END)
		return end_node(r);
	if (!strcmp(path, "nodes[].id"))
		r->at.id = v->number;
	else if (!strcmp(path, "nodes[].callFrame.functionName"))
		r->at.name = name_of(r, v);
	else if (!strcmp(path, "nodes[].callFrame.url"))
		r->at.file = name_of(r, v);
	else if (!strcmp(path, "nodes[].callFrame.lineNumber") && v->number >= 0 && v->number < 1e9)
		r->at.line = (uint32_t)v->number + 1;
	else if (!strcmp(path, "nodes[].children[]") && v->kind == JSON_NUMBER &&
		 vec_push(&r->children, ((struct child){(uint32_t)r->nodes.n, v->number})))
		return err_nomem(r->err);
	else if (!strcmp(path, "samples[]") && v->kind == JSON_NUMBER &&
		 vec_push(&r->samples, v->number))
		return err_nomem(r->err);
	else if (!strcmp(path, "timeDeltas[]") && v->kind == JSON_NUMBER &&
		 vec_push(&r->deltas, v->number))
		return err_nomem(r->err);
	else if (!strcmp(path, "startTime"))
		r->start = v->number;
	else if (!strcmp(path, "endTime"))
		r->end = v->number;
	return 0;
}

/* A node that is the child of two is that of the first; a child that comes before its parent is
 * none, so that there are no circles. */
static void link_children(struct reader *r)
{
	for (size_t i = 0; i < r->children.n; i++) {
		const uint32_t at = hash_get(&r->by_id, id_key(r->children.v[i].id));

		if (at != HASH_NONE && at > r->children.v[i].parent &&
		    r->nodes.v[at].parent == UINT32_MAX)
			r->nodes.v[at].parent = r->children.v[i].parent;
		else
			r->ret->damaged++;
	}
}

/* The stack of a node, root first; V8's "(root)" is left out. */
static int stack_of(struct reader *r, uint32_t at, uint32_t *ret)
{
	r->path.n = 0;
	for (; at != UINT32_MAX && r->path.n < DEEPEST; at = r->nodes.v[at].parent) {
		struct node *n = &r->nodes.v[at];

		if (n->parent == UINT32_MAX && n->name &&
		    !strcmp(strtab_get(&r->p->strings, n->name), "(root)"))
			break;
		if (!n->location) {
			if (json_input_frame(r->p, n->name, n->file, n->line, &n->location, r->err))
				return -(int)r->err->code;
			n->location++;
		}
		if (vec_push(&r->path, n->location - 1))
			return err_nomem(r->err);
	}
	for (size_t i = 0, k = r->path.n; i + 1 < k; i++) {
		const uint32_t swap = r->path.v[i];

		r->path.v[i] = r->path.v[--k];
		r->path.v[k] = swap;
	}
	return profile_add_stack(r->p, r->path.v, r->path.n, ret, r->err);
}

/* Microseconds that a sample stands for. */
static double duration_of(struct reader *r, size_t i, double at)
{
	const double us = i + 1 < r->deltas.n ? r->deltas.v[i + 1] : r->end - at;

	if (!(us < 0) && us < 1e15)
		return us;
	r->n_negative++;
	return 0;
}

static int add_sample(struct reader *r, size_t i, double at, uint32_t event)
{
	const uint32_t node = hash_get(&r->by_id, id_key(r->samples.v[i]));
	const double us = duration_of(r, i, at);
	struct profile_sample s = {.event = event,
				   .pid = PROFILE_NO_PID,
				   .tid = PROFILE_NO_PID,
				   .count = 1,
				   .period = (uint64_t)llround(us * 1000)};
	struct profile_log_entry when = {.period = s.period,
					 .event = event,
					 .pid = PROFILE_NO_PID,
					 .tid = PROFILE_NO_PID,
					 .has_stack = true};
	const struct input_sample about = {.comm = "",
					   .event = "wall",
					   .pid = PROFILE_NO_PID,
					   .tid = PROFILE_NO_PID,
					   .has_time = true,
					   .time_ns =
						   at > 0 && at < 1e15 ? (uint64_t)(at * 1000) : 0};

	if (node == HASH_NONE) {
		r->ret->damaged++;
		return 0;
	}
	if (!input_accepts(r->opt, &about, r->ret))
		return 0;
	when.time_ns = about.time_ns;
	if (stack_of(r, node, &s.node))
		return -(int)r->err->code;
	when.node = s.node;
	return profile_add_entry(r->p, &s, &when, r->err);
}

static int add_samples(struct reader *r)
{
	uint32_t event;
	double at = r->start;
	int rc = profile_add_event(r->p, profile_string(r->p, "wall", 4),
				   profile_string(r->p, "nanoseconds", 11), &event, r->err);

	link_children(r);
	for (size_t i = 0; !rc && i < r->samples.n; i++) {
		at += i < r->deltas.n ? r->deltas.v[i] : 0;
		rc = add_sample(r, i, at, event);
	}
	input_note(r->ret, "times that go backwards were taken as 0", r->n_negative, false);
	if (!rc && !r->samples.n)
		rc = err_set(r->err, ERR_FORMAT, "",
			     "a .cpuprofile without samples (V8's old form has none)");
	return rc;
}

static int read_cpuprofile(struct profile *p, struct input_source *s,
			   const struct input_options *opt, struct input_result *ret,
			   struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret, .err = err, .at.parent = UINT32_MAX};
	int rc = json_input_read(s, visit, &r, err);

	if (!rc)
		rc = add_samples(&r);
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	vec_done(&r.nodes);
	vec_done(&r.children);
	vec_done(&r.samples);
	vec_done(&r.deltas);
	vec_done(&r.path);
	hash_done(&r.by_id);
	return rc;
}

static bool detect(const char *head, size_t n)
{
	(void)n;
	return json_input_has(head, "\"callFrame\"") && json_input_has(head, "\"nodes\"") &&
	       !json_input_has(head, "\"selfSize\"") &&
	       !json_input_has(head, "\"traceEvents\""); /* which may hold one */
}

const struct input_format input_cpuprofile = {
	.name = "cpuprofile",
	.help = "V8's .cpuprofile, of node --cpu-prof, Chrome, Deno",
	.is_json = true,
	.detect = detect,
	.read = read_cpuprofile,
};

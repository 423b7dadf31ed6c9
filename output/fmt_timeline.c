/* fmt_timeline.c - calls of each thread, indented by their depth, as ftrace's function_graph:
 *
 *	# prog/4242
 *	     0.000             | f(a0=3) {
 *	     0.042       0.226 |   f(a0=2) = 2;
 *	     0.447       0.500 | } // f = 3
 *
 * Times are milliseconds since the first event of the recording. A call with others in it has its
 * duration at its end; other events are comments between them. "<=", "?" and "..." are those of
 *fmt_trace.c. */
#include "base/err.h"
#include "base/vec.h"
#include "output/calls.h"
#include "output/output.h"

/* Deeper calls are not indented further. */
enum { INDENT_MAX = 60 };

struct links {
	uint32_t child, next; /* first span within this one; next one beside it */
};

/* Of a thread: the first and the last of the spans that no other is around, and of its other
 * events, by index in the log. */
struct ends {
	uint32_t first, last;
	uint32_t event, last_event;
	const struct profile_log_entry *any;
};

struct timeline {
	const struct profile *p;
	struct calls calls;
	const bool *shown;	  /* by event */
	VEC(struct links) links;  /* by span */
	VEC(uint32_t) last;	  /* by span: its last child */
	VEC(struct ends) threads; /* spans that no other is around */
	VEC(uint32_t) next_event; /* by index in the log: the next other event of the thread */
	struct hash_table by_task;
	struct text out;
};

static const struct profile_log_entry *entry_of(const struct timeline *l, uint32_t span)
{
	return &l->p->log.v[l->calls.spans.v.v[span].entry];
}

static struct ends *thread_of(struct timeline *l, const struct profile_log_entry *e)
{
	const uint64_t key = hash_mix(e->pid, e->tid);
	const uint32_t at = hash_get(&l->by_task, key);
	const struct ends none = {SPAN_NONE, SPAN_NONE, SPAN_NONE, SPAN_NONE, e};

	if (at != HASH_NONE)
		return &l->threads.v[at];
	if (hash_put(&l->by_task, key, (uint32_t)l->threads.n) || vec_push(&l->threads, none))
		return NULL;
	return &l->threads.v[l->threads.n - 1];
}

static int add_root(struct timeline *l, uint32_t i)
{
	struct ends *t = thread_of(l, entry_of(l, i));

	if (!t)
		return -1;
	if (t->first == SPAN_NONE)
		t->first = i;
	else
		l->links.v[t->last].next = i;
	t->last = i;
	return 0;
}

/* Events that are neither end of a call. */
static int link_events(struct timeline *l)
{
	const struct spans *s = &l->calls.spans;

	for (uint32_t i = 0; i < l->p->log.n; i++) {
		struct ends *t;

		if (vec_push(&l->next_event, SPAN_NONE))
			return -1;
		if (s->of_entry.v[i] != SPAN_NONE || s->of_exit.v[i] != SPAN_NONE ||
		    !l->shown[l->p->log.v[i].event])
			continue;
		t = thread_of(l, &l->p->log.v[i]);
		if (!t)
			return -1;
		if (t->event == SPAN_NONE)
			t->event = i;
		else
			l->next_event.v[t->last_event] = i;
		t->last_event = i;
	}
	return 0;
}

/* Spans are sorted by their beginning, so each comes behind the one around it. */
static int link_spans(struct timeline *l)
{
	const struct spans *s = &l->calls.spans;

	for (uint32_t i = 0; i < s->v.n; i++) {
		uint32_t parent = s->v.v[i].parent;

		if (vec_push(&l->links, (struct links){SPAN_NONE, SPAN_NONE}) ||
		    vec_push(&l->last, SPAN_NONE))
			return -1;
		if (parent == SPAN_NONE) {
			if (add_root(l, i))
				return -1;
			continue;
		}
		if (l->last.v[parent] == SPAN_NONE)
			l->links.v[parent].child = i;
		else
			l->links.v[l->last.v[parent]].next = i;
		l->last.v[parent] = i;
	}
	return 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void add_ms(struct text *t, uint64_t ns, unsigned width)
{
	text_dec(t, ns / 1000000, width);
	text_char(t, '.');
	text_digits(t, ns / 1000 % 1000, 3);
}

static void add_start(struct timeline *l, uint64_t time_ns, const struct span *done, uint32_t depth)
{
	struct text *t = &l->out;
	const unsigned indent = depth < INDENT_MAX / 2 ? 2 * depth : INDENT_MAX;

	add_ms(t, time_ns - l->p->first_ns, 6);
	if (!done) {
		text_str(t, "             | ");
	} else if (done->end == SPAN_OPEN) {
		text_str(t, "         ... | ");
	} else {
		text_str(t, done->end == SPAN_LEFT   ? " <="
			    : done->end == SPAN_LOST ? "  ?"
						     : "   ");
		add_ms(t, done->end_ns - done->start_ns, 5);
		text_str(t, " | ");
	}
	text_pad(t, 0, indent);
}

static void add_result(struct timeline *l, const struct span *s)
{
	struct text *t = &l->out;
	const size_t start = t->n;

	text_str(t, " = ");
	calls_result(&l->calls, t, s);
	if (t->n == start + 3 && !t->failed)
		t->n = start;
}

static void add_begin(struct timeline *l, uint32_t i)
{
	const struct span *s = &l->calls.spans.v.v[i];
	const bool is_leaf = l->links.v[i].child == SPAN_NONE;
	struct text *t = &l->out;

	add_start(l, s->start_ns, is_leaf ? s : NULL, s->depth);
	calls_name(&l->calls, t, s);
	text_char(t, '(');
	calls_args(&l->calls, t, s);
	text_char(t, ')');
	if (is_leaf) {
		add_result(l, s);
		text_str(t, ";\n");
	} else {
		text_str(t, " {\n");
	}
}

static void add_end(struct timeline *l, uint32_t i)
{
	const struct span *s = &l->calls.spans.v.v[i];

	add_start(l, s->end_ns, s, s->depth);
	text_str(&l->out, "} // ");
	calls_name(&l->calls, &l->out, s);
	add_result(l, s);
	text_char(&l->out, '\n');
}

static bool is_shown(const struct timeline *l, uint32_t span)
{
	return l->shown[entry_of(l, span)->event];
}

static void add_event(struct timeline *l, const struct profile_log_entry *e)
{
	const struct profile *p = l->p;
	struct text *t = &l->out;
	const uint32_t name =
		e->node ? profile_symbol(p, &p->locations.v[p->nodes.v[e->node].location]) : 0;

	text_string(t, p, p->events.v[e->event].name);
	text_str(t, e->trace ? ": " : "");
	calls_fields(&l->calls, t, e);
	text_str(t, name ? " <- " : "");
	if (name)
		calls_function(t, p, name);
}

/* The other events of a thread up to a time. */
static void add_events(struct timeline *l, struct ends *thread, uint64_t until_ns, uint32_t depth)
{
	const struct profile *p = l->p;
	struct text *t = &l->out;

	for (; thread->event != SPAN_NONE; thread->event = l->next_event.v[thread->event]) {
		const struct profile_log_entry *e = &p->log.v[thread->event];
		if (e->time_ns > until_ns)
			return;
		add_start(l, e->time_ns, NULL, depth);
		text_str(t, "// ");
		if (!calls_end(&l->calls, t, e))
			add_event(l, e);
		text_char(t, '\n');
	}
}

/* The spans of one thread, those within others behind these. */
static void write_thread(struct timeline *l, struct ends *thread, FILE *out)
{
	const struct spans *s = &l->calls.spans;

	text_str(&l->out, "# ");
	calls_task(&l->calls, &l->out, thread->any);
	text_char(&l->out, '\n');
	for (uint32_t i = thread->first; i != SPAN_NONE;) {
		add_events(l, thread, s->v.v[i].start_ns, s->v.v[i].depth);
		if (is_shown(l, i))
			add_begin(l, i);
		if (l->links.v[i].child != SPAN_NONE) {
			i = l->links.v[i].child;
			continue;
		}
		while (i != SPAN_NONE && l->links.v[i].next == SPAN_NONE) {
			i = s->v.v[i].parent;
			if (i != SPAN_NONE)
				add_events(l, thread, s->v.v[i].end_ns, s->v.v[i].depth + 1);
			if (i != SPAN_NONE && is_shown(l, i))
				add_end(l, i);
		}
		i = i == SPAN_NONE ? i : l->links.v[i].next;
		if (l->out.n > FLUSH_BYTES)
			text_flush(&l->out, out);
	}
	add_events(l, thread, UINT64_MAX, 0);
	text_char(&l->out, '\n');
}

static void free_all(struct timeline *l)
{
	vec_done(&l->links);
	vec_done(&l->last);
	vec_done(&l->threads);
	vec_done(&l->next_event);
	hash_done(&l->by_task);
	text_done(&l->out);
	calls_done(&l->calls);
}

static int write_timeline(const struct profile *p, const struct output_options *opt,
			  struct event_set *events, FILE *out, struct err *err)
{
	struct timeline l = {.p = p, .shown = events->has};
	int rc = calls_init(&l.calls, p, err);

	(void)opt;
	if (!rc && (link_spans(&l) || link_events(&l)))
		rc = err_nomem(err);
	for (size_t i = 0; !rc && i < l.threads.n; i++)
		write_thread(&l, &l.threads.v[i], out);
	if (!rc && l.out.failed)
		rc = err_nomem(err);
	text_flush(&l.out, out);
	free_all(&l);
	return rc;
}

const struct output_format format_timeline = {
	.name = "timeline",
	.help = "the calls of each thread, indented by depth, with durations",
	.suffixes = ".timeline",
	.needs_samples = true,
	.lists_calls = true,
	.keep = PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE,
	.names_events = true,
	.honours = OUTPUT_ARGS,
	.write = write_timeline,
};

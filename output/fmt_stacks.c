/* fmt_stacks.c - what each thread was doing last, as pstack and eu-stack print it: equal threads
 * together, the most first.
 *
 *	62 threads of waitp (4242), sleeping: 4243 4244 ..
 *	#0  0xffffffff8143f416 [k] futex_do_wait
 *	#1  0x00007f044be5e12b     futex_wait (inlined)
 *	#1  0x00007f044be5e12b     __GI___lll_lock_wait - /usr/lib/libc.so.6
 */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "output/formats.h"
#include "profile/profile.h"
#include "reader/reader.h"

enum { TIDS_SHOWN = 12 };

struct stack_thread {
	const struct profile_log_entry *last;
	const char *state; /* what it was doing then; "": not recorded */
};

struct stack_group {
	const struct stack_thread *first;
	size_t begin, n; /* in threads */
};

struct stacks {
	const struct profile *p;
	const struct output_options *opt;
	struct hash_table last; /* thread -> index in threads */
	VEC(struct stack_thread) threads;
	VEC(struct stack_group) groups;
	struct text out;
};

/* ---- threads and groups --------------------------------------------------------------------- */

static const char *state_of(const struct profile *p, const struct profile_log_entry *e)
{
	const struct profile_sample one = {.labels = e->labels};
	struct profile_label l;

	return e->labels && profile_label_named(p, &one, "state", &l) && l.text ? l.text : "";
}

static int collect(struct stacks *s, const bool *shown)
{
	for (size_t i = 0; i < s->p->log.n; i++) {
		const struct profile_log_entry *e = &s->p->log.v[i];
		const uint64_t key = hash_mix(e->pid, e->tid);
		struct stack_thread t = {.last = e};
		uint32_t at;

		if (!shown[e->event])
			continue;
		t.state = state_of(s->p, e);
		at = hash_get(&s->last, key);
		if (at != HASH_NONE)
			s->threads.v[at] = t;
		else if (hash_put(&s->last, key, (uint32_t)s->threads.n) ||
			 vec_push(&s->threads, t))
			return -1;
	}
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_stack(const void *a, const void *b)
{
	const struct stack_thread *tx = a, *ty = b;
	const struct profile_log_entry *x = tx->last, *y = ty->last;
	int c = compare(x->pid, y->pid);

	c = c ? c : compare(x->node, y->node);
	c = c ? c : compare(x->comm, y->comm);
	c = c ? c : strcmp(tx->state, ty->state);
	return c ? c : compare(x->tid, y->tid);
}

/* The largest first; of equal ones that with the oldest thread. */
static int by_size(const void *a, const void *b)
{
	const struct stack_group *x = a, *y = b;
	int c = compare(y->n, x->n);

	c = c ? c : compare(x->first->last->pid, y->first->last->pid);
	return c ? c : compare(x->first->last->tid, y->first->last->tid);
}

static bool is_like(const struct stack_thread *a, const struct stack_thread *b)
{
	return a->last->pid == b->last->pid && a->last->node == b->last->node &&
	       a->last->comm == b->last->comm && !strcmp(a->state, b->state);
}

static int group(struct stacks *s)
{
	struct stack_group *last = NULL;

	if (s->threads.n)
		qsort(s->threads.v, s->threads.n, sizeof *s->threads.v, by_stack);
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct stack_thread *t = &s->threads.v[i];

		last = s->groups.n ? &s->groups.v[s->groups.n - 1] : NULL;
		if (last && is_like(last->first, t))
			last->n++;
		else if (vec_push(&s->groups, (struct stack_group){t, i, 1}))
			return -1;
	}
	if (s->groups.n)
		qsort(s->groups.v, s->groups.n, sizeof *s->groups.v, by_size);
	return 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void add_head(struct stacks *s, const struct stack_group *g)
{
	struct text *t = &s->out;

	if (g->n > 1) {
		text_dec(t, g->n, 0);
		text_str(t, " threads of ");
	} else {
		text_str(t, "thread of ");
	}
	text_string(t, s->p, g->first->last->comm);
	text_str(t, " (");
	text_int(t, (int32_t)g->first->last->pid, 0);
	text_str(t, *g->first->state ? "), " : ")");
	text_clean(t, g->first->state, strlen(g->first->state));
	text_char(t, ':');
	for (size_t i = 0; i < g->n && i < TIDS_SHOWN; i++) {
		text_char(t, ' ');
		text_int(t, (int32_t)s->threads.v[g->begin + i].last->tid, 0);
	}
	text_str(t, g->n > TIDS_SHOWN ? " ..\n" : "\n");
}

static bool is_kernel(const struct profile_mapping *m)
{
	return m->kind == DSO_KERNEL || m->kind == DSO_KERNEL_MODULE;
}

static void add_frame(struct stacks *s, unsigned number, const struct profile_location *l,
		      uint32_t name)
{
	struct text *t = &s->out;
	const size_t start = t->n;

	text_char(t, '#');
	text_dec(t, number, 0);
	text_pad(t, t->n - start, 4);
	text_str(t, "0x");
	text_hex_digits(t, l->ip - l->is_return_address, 16);
	text_str(t, is_kernel(&s->p->mappings.v[l->mapping]) ? " [k] " : "     ");
	if (name)
		text_string(t, s->p, name);
	else
		text_str(t, "[unknown]");
}

static void add_location(struct stacks *s, unsigned number, const struct profile_location *l)
{
	const struct profile *p = s->p;
	const struct profile_mapping *m = &p->mappings.v[l->mapping];
	size_t n;
	const struct profile_line *lines = profile_lines(p, l, s->opt->style.no_inline, &n);

	for (size_t i = 0; i + 1 < n; i++) {
		add_frame(s, number, l, p->functions.v[lines[i].function].name);
		text_str(&s->out, " (inlined)\n");
	}
	add_frame(s, number, l, profile_symbol(p, l));
	if (m != p->mappings.v && !is_kernel(m)) {
		text_str(&s->out, " - ");
		text_string(&s->out, p, m->name);
	}
	if (n && lines[n - 1].line && p->functions.v[lines[n - 1].function].file) {
		text_str(&s->out, " ");
		text_string(&s->out, p, p->functions.v[lines[n - 1].function].file);
		text_char(&s->out, ':');
		text_dec(&s->out, lines[n - 1].line, 0);
	}
	text_char(&s->out, '\n');
}

static void add_stack(struct stacks *s, const struct profile_log_entry *e)
{
	const struct profile *p = s->p;
	unsigned number = 0;

	for (uint32_t node = e->node; node; node = p->nodes.v[node].parent)
		add_location(s, number++, &p->locations.v[p->nodes.v[node].location]);
	text_char(&s->out, '\n');
}

static int write_stacks(const struct profile *p, const struct output_options *opt,
			struct event_set *events, FILE *out, struct err *err)
{
	struct stacks s = {.p = p, .opt = opt};
	int rc = collect(&s, events->has) || group(&s) ? err_nomem(err) : 0;

	for (size_t i = 0; !rc && i < s.groups.n; i++) {
		add_head(&s, &s.groups.v[i]);
		add_stack(&s, s.groups.v[i].first->last);
		if (s.out.n > FLUSH_BYTES)
			text_flush(&s.out, out);
	}
	if (!rc && s.out.failed)
		rc = err_nomem(err);
	text_flush(&s.out, out);
	hash_done(&s.last);
	vec_done(&s.threads);
	vec_done(&s.groups);
	text_done(&s.out);
	return rc;
}

const struct output_format format_stacks = {
	.name = "stacks",
	.help = "the last stack of each thread, equal ones together, as pstack prints them",
	.suffixes = ".stacks",
	.needs_samples = true,
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG | PROFILE_KEEP_LABELS,
	.write = write_stacks,
};

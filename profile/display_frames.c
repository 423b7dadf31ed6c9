/* display_frames.c - converts a profile to the stacks of names that flame graphs show. */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdlib.h>

struct namer {
	const struct profile *p;
	const struct stack_style *style;
	struct named_stacks *stacks; /* what is filled */
	struct strtab *names;	     /* its */
	struct tree_symbols symbols;
	struct text text;
};

static int see_symbol(struct named_stacks *s, uint32_t symbol, enum name_kind kind)
{
	if (vec_reserve(&s->kinds, symbol + 1ull))
		return -1;
	while (s->kinds.n <= symbol)
		s->kinds.v[s->kinds.n++] = NAME_TASK;
	if (kind > s->kinds.v[symbol])
		s->kinds.v[symbol] = (uint8_t)kind;
	return 0;
}

/* Interns the text collected so far as a symbol of the levels above the stacks. STRTAB_FAILED when
 * out of memory. */
static uint32_t take_symbol(struct namer *n)
{
	uint32_t id = n->text.failed ? STRTAB_FAILED : strtab_add(n->names, n->text.s, n->text.n);

	n->text.n = 0;
	if (id == STRTAB_FAILED || see_symbol(n->stacks, id, NAME_TASK))
		return STRTAB_FAILED;
	return id;
}

static bool is_known(uint32_t id)
{
	return id != PROFILE_NO_PID;
}

static void add_id(struct text *t, uint32_t id)
{
	if (is_known(id))
		text_int(t, (int32_t)id, 0);
	else
		text_char(t, '?');
}

/* Appends "-PID" or "-PID/TID"; without a command ":PID", or ":TID" as perf names such threads. */
static void add_ids(struct namer *n, const struct profile_sample *s)
{
	struct text *t = &n->text;
	const bool with_tid = n->style->with_tid && is_known(s->tid);

	if (t->n) {
		text_char(t, '-');
		add_id(t, s->pid);
		if (n->style->with_tid)
			text_char(t, '/');
		if (n->style->with_tid)
			add_id(t, s->tid);
	} else if (is_known(s->pid) || with_tid) {
		text_char(t, ':');
		add_id(t, is_known(s->pid) ? s->pid : s->tid);
		if (is_known(s->pid) && with_tid) {
			text_char(t, '/');
			add_id(t, s->tid);
		}
	}
}

static int add_root(struct namer *n, const struct profile_sample *s)
{
	const struct strtab *strings = &n->p->strings;
	struct text *t = &n->text;
	uint32_t id;
	size_t i;

	t->n = 0;
	text_clean(t, strtab_get(strings, s->comm), strtab_len(strings, s->comm));
	for (i = 0; i < t->n && !n->p->has_folded_roots; i++)
		if (t->s[i] == ' ')
			t->s[i] = '_';
	if (n->style->with_pid || n->style->with_tid)
		add_ids(n, s);
	/* What has neither a task nor frames would have no line, and be missing in sums. */
	if (!t->n && !s->node)
		text_add(t, "[unknown]", strlen("[unknown]"));
	if (!t->n)
		return vec_push(&n->symbols.roots, TREE_NO_ROOT);
	fold_finish(t, 0);
	id = take_symbol(n);
	return id == STRTAB_FAILED || vec_push(&n->symbols.roots, id) ? -1 : 0;
}

static int add_roots(struct namer *n)
{
	const struct profile_sample *s = n->p->samples.v;
	size_t i;

	for (i = 0; i < n->p->samples.n; i++) {
		/* Consecutive samples are mostly of one task. */
		bool same = i && s[i].comm == s[i - 1].comm && s[i].pid == s[i - 1].pid &&
			    s[i].tid == s[i - 1].tid && !s[i].node == !s[i - 1].node;

		if (same ? vec_push(&n->symbols.roots, n->symbols.roots.v[i - 1])
			 : add_root(n, &s[i]))
			return -1;
	}
	return 0;
}

/* Samples without the label are together. */
static int add_owner(struct namer *n, const struct profile_sample *s)
{
	uint32_t id;

	n->text.n = 0;
	profile_label_show(&n->text, n->p, s, n->style->by);
	fold_finish(&n->text, 0);
	id = take_symbol(n);
	return id == STRTAB_FAILED || vec_push(&n->symbols.owners, id) ? -1 : 0;
}

static int add_owners(struct namer *n)
{
	const struct profile_sample *s = n->p->samples.v;
	size_t i;

	for (i = 0; n->style->by && i < n->p->samples.n; i++)
		if (i && s[i].labels == s[i - 1].labels
			    ? vec_push(&n->symbols.owners, n->symbols.owners.v[i - 1])
			    : add_owner(n, &s[i]))
			return -1;
	return 0;
}

/* Uses only the events of the set. */
static int add_tops(struct namer *n, const struct event_set *events)
{
	const struct strtab *strings = &n->p->strings;
	size_t i;

	for (i = 0; i < n->p->events.n; i++) {
		uint32_t name = n->p->events.v[i].name, id = 0;

		n->text.n = 0;
		text_clean(&n->text, strtab_get(strings, name), strtab_len(strings, name));
		fold_finish(&n->text, 0);
		if (events->has[i])
			id = take_symbol(n);
		if (id == STRTAB_FAILED || vec_push(&n->symbols.tops, id))
			return -1;
	}
	n->text.n = 0;
	return 0;
}

static int add_locations(struct namer *n, struct err *err)
{
	struct frame_names frames = {0};
	size_t i;
	int rc = frame_names(&frames, n->p, n->style, err);

	*n->names = frames.names;
	frames.names = (struct strtab){0};
	if (!rc && vec_reserve(&n->symbols.ids, frames.frames.n))
		rc = err_nomem(err);
	for (i = 0; !rc && i < frames.frames.n; i++) {
		const struct frame_name *f = &frames.frames.v[i];

		n->symbols.ids.v[n->symbols.ids.n++] = f->name;
		if (see_symbol(n->stacks, f->name, f->kind))
			rc = err_nomem(err);
	}
	if (!rc && vec_reserve(&n->symbols.first, frames.first.n))
		rc = err_nomem(err);
	for (i = 0; !rc && i < frames.first.n; i++)
		n->symbols.first.v[n->symbols.first.n++] = frames.first.v[i];
	frame_names_done(&frames);
	return rc;
}

static bool is_name(const struct strtab *names, uint32_t id, const char *name)
{
	return strtab_len(names, id) == strlen(name) &&
	       !memcmp(strtab_get(names, id), name, strlen(name));
}

/* Removes the frames that the style leaves out. */
static int reshape(struct named_stacks *s, const struct profile *p, const struct stack_style *style,
		   struct err *err)
{
	size_t n = strtab_count(&s->names), i;
	bool *is_root = calloc(n + 1, sizeof *is_root), *is_start = calloc(n + 1, sizeof *is_start);
	int rc = is_root && is_start ? 0 : err_nomem(err);

	for (i = 0; !rc && i < n; i++) {
		is_root[i] = i < s->kinds.n && s->kinds.v[i] == NAME_TASK;
		is_start[i] =
			style->skip_after && is_name(&s->names, (uint32_t)i, style->skip_after);
	}
	if (!rc)
		rc = tree_reshape(&s->tree,
				  &(struct tree_shape){.is_start = is_start,
						       .is_root = is_root,
						       .collapse = style->collapse},
				  p->nodes.n, err);
	free(is_root);
	free(is_start);
	return rc;
}

int named_stacks(struct named_stacks *s, const struct profile *p, const struct event_set *events,
		 const struct stack_style *style, struct err *err)
{
	struct namer n = {.p = p, .style = style, .stacks = s, .names = &s->names};
	int rc = add_locations(&n, err);

	if (!rc && (add_owners(&n) || add_roots(&n) || (events->n > 1 && add_tops(&n, events))))
		rc = err_nomem(err);
	if (!rc)
		rc = tree_fill(&s->tree, p, events->has, &n.symbols, err);
	if (!rc && (style->skip_after || style->collapse))
		rc = reshape(s, p, style, err);
	tree_symbols_done(&n.symbols);
	text_done(&n.text);
	return rc;
}

void named_done(struct named_stacks *s)
{
	strtab_done(&s->names);
	vec_done(&s->kinds);
	tree_done(&s->tree);
}

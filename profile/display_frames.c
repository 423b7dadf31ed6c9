/* display_frames.c - converts locations to the frames that flame graphs show. */
#include "profile/profile.h"

#include <stdlib.h>

struct namer {
	const struct profile *p;
	const struct stack_style *style;
	struct named_stacks *stacks; /* what is filled */
	struct strtab *names;	     /* its */
	struct tree_symbols symbols;
	struct text text;
	/* By function and by mapping: 1 + the symbol without a mark; 0: not made yet. */
	uint32_t *of_function, *of_mapping;
};

static void raise_kind(struct named_stacks *s, uint32_t symbol, enum name_kind kind)
{
	if (kind > s->kinds.v[symbol])
		s->kinds.v[symbol] = (uint8_t)kind;
}

/* Interns the text collected so far as a symbol. STRTAB_FAILED when out of memory. */
static uint32_t take_symbol(struct namer *n, enum name_kind kind)
{
	struct named_stacks *s = n->stacks;
	uint32_t id = n->text.failed ? STRTAB_FAILED : strtab_add(n->names, n->text.s, n->text.n);

	n->text.n = 0;
	if (id == STRTAB_FAILED || vec_reserve(&s->kinds, id + 1ull))
		return STRTAB_FAILED;
	while (s->kinds.n <= id)
		s->kinds.v[s->kinds.n++] = NAME_TASK;
	raise_kind(s, id, kind);
	return id;
}

static void add_pid(struct text *t, uint32_t pid)
{
	if (pid == PROFILE_NO_PID)
		text_char(t, '?');
	else
		text_int(t, (int32_t)pid, 0);
}

static int add_root(struct namer *n, const struct profile_sample *s)
{
	const struct strtab *strings = &n->p->strings;
	struct text *t = &n->text;
	uint32_t id;
	size_t i;

	t->n = 0;
	if (!s->comm && !n->style->with_pid && !n->style->with_tid)
		return vec_push(&n->symbols.roots, TREE_NO_ROOT);
	text_clean(t, strtab_get(strings, s->comm), strtab_len(strings, s->comm));
	for (i = 0; i < t->n; i++)
		if (t->s[i] == ' ')
			t->s[i] = '_';
	if (n->style->with_pid || n->style->with_tid) {
		text_char(t, '-');
		add_pid(t, s->pid);
	}
	if (n->style->with_tid) {
		text_char(t, '/');
		text_int(t, (int32_t)s->tid, 0);
	}
	fold_finish(t, 0);
	id = take_symbol(n, NAME_TASK);
	return id == STRTAB_FAILED || vec_push(&n->symbols.roots, id) ? -1 : 0;
}

static int add_roots(struct namer *n)
{
	const struct profile_sample *s = n->p->samples.v;
	size_t i;

	for (i = 0; i < n->p->samples.n; i++) {
		/* Consecutive samples are mostly of one task. */
		bool same = i && s[i].comm == s[i - 1].comm && s[i].pid == s[i - 1].pid &&
			    s[i].tid == s[i - 1].tid;

		if (same ? vec_push(&n->symbols.roots, n->symbols.roots.v[i - 1])
			 : add_root(n, &s[i]))
			return -1;
	}
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
			id = take_symbol(n, NAME_TASK);
		if (id == STRTAB_FAILED || vec_push(&n->symbols.tops, id))
			return -1;
	}
	n->text.n = 0;
	return 0;
}

static int add_frame(struct namer *n, const char *mark, enum name_kind kind)
{
	uint32_t id;

	fold_finish(&n->text, 0);
	text_str(&n->text, mark);
	id = take_symbol(n, kind);
	return id == STRTAB_FAILED || vec_push(&n->symbols.ids, id) ? -1 : 0;
}

/* Adds the frame that was made for `known` before. Returns 1 if there is none. */
static int add_again(struct namer *n, const uint32_t *known, const char *mark, enum name_kind kind)
{
	if (!*known || *mark)
		return 1;
	raise_kind(n->stacks, *known - 1, kind);
	return vec_push(&n->symbols.ids, *known - 1);
}

/* Remembers the last frame for add_again(). */
static void keep_symbol(const struct namer *n, uint32_t *known, const char *mark)
{
	if (!*mark)
		*known = n->symbols.ids.v[n->symbols.ids.n - 1] + 1;
}

static int add_module(struct namer *n, const struct profile_location *l, const char *mark)
{
	const char *module = profile_mapping_short_name(n->p, l->mapping);

	text_char(&n->text, '[');
	text_clean(&n->text, module, strlen(module));
	if (n->style->addrs) {
		text_str(&n->text, " <");
		text_hex(&n->text, l->off, 0);
		text_char(&n->text, '>');
	}
	text_char(&n->text, ']');
	return add_frame(n, mark, NAME_UNKNOWN);
}

static int add_unknown(struct namer *n, const struct profile_location *l, const char *mark)
{
	uint32_t *known = &n->of_mapping[l->mapping];
	int rc = n->style->addrs ? 1 : add_again(n, known, mark, NAME_UNKNOWN);

	if (rc <= 0)
		return rc;
	rc = add_module(n, l, mark);
	if (!rc)
		keep_symbol(n, known, mark);
	return rc;
}

/* A symbol of perf-map-agent may include its inlined callees: "La/B;::f->La/B;::g". */
static int add_jit_function(struct namer *n, const char *name, const char *mark)
{
	enum name_kind kind = NAME_JIT;
	const char *end;

	for (;; name = end + 2, mark = "_[i]", kind = NAME_INLINED) {
		end = strstr(name, "->");
		if (!end)
			end = name + strlen(name);
		if (fold_is_java(name, (size_t)(end - name)))
			name++;
		fold_function(&n->text, name, (size_t)(end - name));
		if (add_frame(n, mark, kind))
			return -1;
		if (!*end)
			return 0;
	}
}

static int add_function(struct namer *n, uint32_t function, enum name_kind kind, const char *mark)
{
	const struct profile_function *f = &n->p->functions.v[function];
	const struct strtab *strings = &n->p->strings;
	const char *name = strtab_get(strings, f->name);
	size_t len = strtab_len(strings, f->name);
	uint32_t *known = &n->of_function[function];
	int rc;

	if (kind == NAME_JIT && !f->is_folded)
		return add_jit_function(n, name, mark);
	rc = add_again(n, known, mark, kind);
	if (rc <= 0)
		return rc;
	if (f->is_folded || fold_is_rust(strtab_get(strings, f->system_name)))
		text_clean(&n->text, name, len);
	else
		fold_function(&n->text, name, len);
	rc = add_frame(n, mark, kind);
	if (!rc)
		keep_symbol(n, known, mark);
	return rc;
}

static int add_location(struct namer *n, const struct profile_location *l)
{
	bool is_jit = n->p->mappings.v[l->mapping].kind == DSO_ANON;
	bool is_stitched = l->how == FRAME_STITCHED;
	const char *mark = l->is_kernel && n->style->mark_kernel    ? "_[k]"
			   : is_stitched && n->style->mark_stitched ? FOLD_STITCHED
			   : is_jit && n->style->mark_jit	    ? "_[j]"
								    : "";
	enum name_kind kind = is_jit ? NAME_JIT : l->is_kernel ? NAME_KERNEL : NAME_USER;
	size_t i, n_lines;
	const struct profile_line *lines = profile_lines(n->p, l, n->style->no_inline, &n_lines);

	if (!n_lines || !n->p->functions.v[lines[n_lines - 1].function].name)
		return add_unknown(n, l, mark);
	for (i = n_lines; i--;) {
		bool inlined = i + 1 < n_lines;

		if (add_function(n, lines[i].function,
				 inlined && kind == NAME_USER ? NAME_INLINED : kind,
				 inlined && n->style->mark_inline ? "_[i]" : mark))
			return -1;
	}
	return 0;
}

static int add_locations(struct namer *n)
{
	size_t i;

	n->of_function = calloc(n->p->functions.n + 1, sizeof *n->of_function);
	n->of_mapping = calloc(n->p->mappings.n + 1, sizeof *n->of_mapping);
	if (!n->of_function || !n->of_mapping)
		return -1;
	for (i = 0; i < n->p->locations.n; i++)
		if (vec_push(&n->symbols.first, (uint32_t)n->symbols.ids.n) ||
		    add_location(n, &n->p->locations.v[i]))
			return -1;
	return vec_push(&n->symbols.first, (uint32_t)n->symbols.ids.n);
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
	int rc = 0;

	if (add_locations(&n) || add_roots(&n) || (events->n > 1 && add_tops(&n, events)))
		rc = err_nomem(err);
	if (!rc)
		rc = tree_fill(&s->tree, p, events->has, &n.symbols, err);
	if (!rc && (style->skip_after || style->collapse))
		rc = reshape(s, p, style, err);
	tree_symbols_done(&n.symbols);
	text_done(&n.text);
	free(n.of_function);
	free(n.of_mapping);
	return rc;
}

void named_done(struct named_stacks *s)
{
	strtab_done(&s->names);
	vec_done(&s->kinds);
	tree_done(&s->tree);
}

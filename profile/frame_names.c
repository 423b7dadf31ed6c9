/* frame_names.c - spells the names of all frames, for every format that shows names for people. */
#include "profile/profile.h"

#include <stdlib.h>

/* A short spelling: which name it stands for. */
struct meaning {
	uint32_t full; /* id in fulls; 0: of none yet */
	bool is_shared;
};

struct namer {
	const struct profile *p;
	const struct stack_style *style;
	struct frame_names *out;
	struct text text;
	/* By function and by mapping: 1 + the name without a mark; 0: not made yet. */
	uint32_t *of_function, *of_mapping;
	/* Only if some names must stay apart. */
	struct strtab shorts, fulls;
	VEC(struct meaning) meanings; /* by id in shorts */
};

/* A name, or a part of one, before it is spelled. */
struct plain_name {
	const char *s;
	size_t n;
	bool is_ready; /* nothing of it is left out */
	bool is_foreign;
};

/* ---- short spellings that two names share ---------------------------------------------------- */

/* Returns the length of the part that tells functions apart. The parts into which a compiler splits
 * a function are one: f(int) and f(int) [clone .cold]. */
static size_t distinct_part(const struct plain_name *name)
{
	const char *clone = memmem(name->s, name->n, " [clone ", 8);

	return clone ? (size_t)(clone - name->s) : name->n;
}

static int learn_name(struct namer *n, struct plain_name name)
{
	uint32_t id, full = strtab_add(&n->fulls, name.s, distinct_part(&name));
	struct meaning *m;

	n->text.n = 0;
	if (name.is_ready)
		text_clean(&n->text, name.s, name.n);
	else
		fold_function(&n->text, name.s, name.n);
	id = n->text.failed ? STRTAB_FAILED
			    : strtab_add(&n->shorts, n->text.n ? n->text.s : "", n->text.n);
	n->text.n = 0;
	if (full == STRTAB_FAILED || id == STRTAB_FAILED || vec_reserve(&n->meanings, id + 1ull))
		return -1;
	while (n->meanings.n <= id)
		n->meanings.v[n->meanings.n++] = (struct meaning){0};
	m = &n->meanings.v[id];
	m->is_shared |= m->full && m->full != full;
	m->full = full;
	return 0;
}

static bool is_shared(const struct namer *n, size_t start)
{
	const char *s = n->text.n > start ? n->text.s + start : "";
	uint32_t id = strtab_find(&n->shorts, s, n->text.n - start);

	return id != STRTAB_FAILED && id < n->meanings.n && n->meanings.v[id].is_shared;
}

/* A symbol of perf-map-agent may include its inlined callees: "La/B;::f->La/B;::g". Returns the
 * end of the first. */
static const char *next_callee(const char *s, struct plain_name *ret)
{
	const char *end = strstr(s, "->");

	if (!end)
		end = s + strlen(s);
	if (fold_is_java(s, (size_t)(end - s)))
		s++;
	ret->s = s;
	ret->n = (size_t)(end - s);
	return end;
}

static struct plain_name plain_name(const struct namer *n, const struct profile_function *f)
{
	const struct strtab *strings = &n->p->strings;

	return (struct plain_name){
		.s = strtab_get(strings, f->name),
		.n = strtab_len(strings, f->name),
		.is_ready = f->is_folded || fold_is_rust(strtab_get(strings, f->system_name)),
		.is_foreign = f->is_foreign,
	};
}

static bool is_jit_function(const struct profile_function *f, enum name_kind kind)
{
	return kind == NAME_JIT && !f->is_folded;
}

static int learn_function(struct namer *n, const struct profile_function *f, bool is_jit)
{
	struct plain_name name = plain_name(n, f);
	const char *end = name.s;

	if (!is_jit)
		return learn_name(n, name);
	name.is_ready = false;
	for (;; end += 2) {
		end = next_callee(end, &name);
		if (learn_name(n, name))
			return -1;
		if (!*end)
			return 0;
	}
}

static bool any_stays_apart(const struct profile *p, const struct stack_style *style)
{
	size_t i;

	for (i = 0; i < p->functions.n && !style->keep_apart; i++)
		if (p->functions.v[i].is_foreign)
			return true;
	return style->keep_apart;
}

static int learn_names(struct namer *n)
{
	const struct profile *p = n->p;
	uint8_t *seen = calloc(p->functions.n + 1, 1);
	size_t i, j;
	int rc = seen ? 0 : -1;

	for (i = 0; !rc && i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];
		bool is_anon = p->mappings.v[l->mapping].kind == DSO_ANON;

		for (j = 0; !rc && j < l->n_lines; j++) {
			uint32_t id = p->lines.v[l->first_line + j].function;
			const struct profile_function *f = &p->functions.v[id];
			bool is_jit = is_jit_function(f, is_anon ? NAME_JIT : NAME_USER);

			if (f->name && !(seen[id] & 1u << is_jit))
				rc = learn_function(n, f, is_jit);
			seen[id] |= (uint8_t)(1u << is_jit);
		}
	}
	free(seen);
	return rc;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void spell(struct namer *n, struct plain_name name)
{
	size_t start = n->text.n;

	if (name.is_ready) {
		text_clean(&n->text, name.s, name.n);
		return;
	}
	fold_function(&n->text, name.s, name.n);
	if (n->text.failed || !(name.is_foreign || n->style->keep_apart) || !is_shared(n, start))
		return;
	n->text.n = start;
	text_clean(&n->text, name.s, distinct_part(&name));
}

static int add_known(struct namer *n, uint32_t name, uint32_t line, enum name_kind kind)
{
	return vec_push(&n->out->frames,
			((struct frame_name){.name = name, .line = line, .kind = kind}));
}

/* Adds a frame whose name is the text collected so far. */
static int add_frame(struct namer *n, const char *mark, uint32_t line, enum name_kind kind)
{
	uint32_t id;

	fold_finish(&n->text, 0);
	text_str(&n->text, mark);
	id = n->text.failed ? STRTAB_FAILED : strtab_add(&n->out->names, n->text.s, n->text.n);
	n->text.n = 0;
	return id == STRTAB_FAILED ? -1 : add_known(n, id, line, kind);
}

/* Remembers the last frame's name, if it has no mark. */
static void keep_name(const struct namer *n, uint32_t *known, const char *mark)
{
	if (!*mark)
		*known = n->out->frames.v[n->out->frames.n - 1].name + 1;
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
	return add_frame(n, mark, FRAME_NO_LINE, NAME_UNKNOWN);
}

static int add_unknown(struct namer *n, const struct profile_location *l, const char *mark)
{
	uint32_t *known = &n->of_mapping[l->mapping];
	int rc;

	if (*known && !*mark && !n->style->addrs)
		return add_known(n, *known - 1, FRAME_NO_LINE, NAME_UNKNOWN);
	rc = add_module(n, l, mark);
	if (!rc)
		keep_name(n, known, mark);
	return rc;
}

static int add_jit_function(struct namer *n, struct plain_name name, uint32_t line,
			    const char *mark)
{
	enum name_kind kind = NAME_JIT;
	const char *end = name.s;

	name.is_ready = false;
	for (;; end += 2, mark = n->style->unmarked ? "" : "_[i]", kind = NAME_INLINED) {
		end = next_callee(end, &name);
		spell(n, name);
		if (add_frame(n, mark, line, kind))
			return -1;
		if (!*end)
			return 0;
	}
}

static int add_function(struct namer *n, uint32_t line, enum name_kind kind, const char *mark)
{
	uint32_t function = n->p->lines.v[line].function;
	const struct profile_function *f = &n->p->functions.v[function];
	uint32_t *known = &n->of_function[function];
	int rc;

	if (is_jit_function(f, kind))
		return add_jit_function(n, plain_name(n, f), line, mark);
	if (*known && !*mark)
		return add_known(n, *known - 1, line, kind);
	spell(n, plain_name(n, f));
	rc = add_frame(n, mark, line, kind);
	if (!rc)
		keep_name(n, known, mark);
	return rc;
}

static int add_location(struct namer *n, const struct profile_location *l)
{
	const struct stack_style *style = n->style;
	bool is_jit = n->p->mappings.v[l->mapping].kind == DSO_ANON;
	bool is_stitched = l->how == FRAME_STITCHED;
	const char *mark = l->is_kernel && style->mark_kernel	 ? "_[k]"
			   : is_stitched && style->mark_stitched ? FOLD_STITCHED
			   : is_jit && style->mark_jit		 ? "_[j]"
								 : "";
	enum name_kind kind = is_jit ? NAME_JIT : l->is_kernel ? NAME_KERNEL : NAME_USER;
	size_t i, n_lines;
	const struct profile_line *lines = profile_lines(n->p, l, style->no_inline, &n_lines);

	if (l->how == FRAME_OTHER_STACK) {
		text_str(&n->text, FOLD_OTHER_STACK);
		return add_frame(n, "", FRAME_NO_LINE, NAME_UNKNOWN);
	}
	if (!n_lines || !n->p->functions.v[lines[n_lines - 1].function].name)
		return add_unknown(n, l, mark);
	for (i = n_lines; i--;) {
		bool inlined = i + 1 < n_lines;

		if (add_function(n, (uint32_t)(lines + i - n->p->lines.v),
				 inlined && kind == NAME_USER ? NAME_INLINED : kind,
				 inlined && style->mark_inline ? "_[i]" : mark))
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
		if (vec_push(&n->out->first, (uint32_t)n->out->frames.n) ||
		    add_location(n, &n->p->locations.v[i]))
			return -1;
	return vec_push(&n->out->first, (uint32_t)n->out->frames.n);
}

int frame_names(struct frame_names *f, const struct profile *p, const struct stack_style *style,
		struct err *err)
{
	struct namer n = {.p = p, .style = style, .out = f};
	int rc = any_stays_apart(p, style) ? learn_names(&n) : 0;

	if (rc || add_locations(&n))
		rc = err_nomem(err);
	text_done(&n.text);
	free(n.of_function);
	free(n.of_mapping);
	strtab_done(&n.shorts);
	strtab_done(&n.fulls);
	vec_done(&n.meanings);
	return rc;
}

void frame_names_done(struct frame_names *f)
{
	strtab_done(&f->names);
	vec_done(&f->first);
	vec_done(&f->frames);
}

/* function_symbols.c - functions as tables show them: a name, and the file that its code is in. */
#include "profile/profile.h"

#include "base/pair.h"

struct symbols {
	struct function_symbols *out;
	const struct profile *p;
	struct hash_table by_pair; /* (name, short name of the file) -> symbol */
};

static int add_frame(struct symbols *s, const struct frame_name *f, uint32_t mapping)
{
	const uint32_t file = s->p->mappings.v[mapping].short_name;
	const uint32_t id = pair_intern(&s->by_pair, f->name, file);
	struct function_symbol new = {f->name, mapping, f->line, f->kind};

	if (id == HASH_NONE || (id == s->out->v.n && vec_push(&s->out->v, new)))
		return -1;
	return vec_push(&s->out->symbols.ids, id);
}

static int add_all(struct symbols *s)
{
	const struct frame_names *f = &s->out->frames;

	for (size_t i = 0; i < s->p->locations.n; i++) {
		if (vec_push(&s->out->symbols.first, (uint32_t)s->out->symbols.ids.n))
			return -1;
		for (uint32_t k = f->first.v[i]; k < f->first.v[i + 1]; k++)
			if (add_frame(s, &f->frames.v[k], s->p->locations.v[i].mapping))
				return -1;
	}
	if (vec_push(&s->out->symbols.first, (uint32_t)s->out->symbols.ids.n))
		return -1;
	for (size_t i = 0; i < s->p->samples.n; i++)
		if (vec_push(&s->out->symbols.roots, TREE_NO_ROOT))
			return -1;
	return 0;
}

int function_symbols(struct function_symbols *f, const struct profile *p,
		     const struct stack_style *style, struct err *err)
{
	struct symbols s = {.out = f, .p = p};
	int rc = frame_names(&f->frames, p, style, err);

	if (!rc && add_all(&s))
		rc = err_nomem(err);
	hash_done(&s.by_pair);
	return rc;
}

void function_symbols_done(struct function_symbols *f)
{
	frame_names_done(&f->frames);
	vec_done(&f->v);
	tree_symbols_done(&f->symbols);
}

/* symbolized.c - makes the symbolizer's queries from locations, and stores its answers. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"
#include "symbolize/symbolize.h"

#include <string.h>

struct sym_query profile_query(const struct profile *p, size_t i)
{
	const struct profile_location *l = &p->locations.v[i];

	return (struct sym_query){
		.dso = p->mappings.v[l->mapping].dso,
		.off = l->off,
		.ip = l->ip - l->is_return_address,
		.time_ns = l->made_ns,
	};
}

const char *profile_mapping_short_name(const struct profile *p, uint32_t mapping)
{
	return strtab_get(&p->strings, p->mappings.v[mapping].short_name);
}

/* Returns the profile's id for a string of the symbolizer's table; each string is copied once. */
static uint32_t translate(struct profile *p, const struct strtab *from, uint32_t id)
{
	struct profile_index *x = p->index_;
	size_t old = x->string_of.n;
	uint32_t ours;

	if (x->answers != from) {
		x->answers = from;
		x->string_of.n = old = 0;
	}
	if (id >= old) {
		if (vec_reserve(&x->string_of, strtab_count(from)))
			return STRTAB_FAILED;
		x->string_of.n = strtab_count(from);
		memset(x->string_of.v + old, 0, (x->string_of.n - old) * sizeof *x->string_of.v);
	}
	if (x->string_of.v[id])
		return x->string_of.v[id] - 1;
	ours = profile_string(p, strtab_get(from, id), strtab_len(from, id));
	if (ours != STRTAB_FAILED)
		x->string_of.v[id] = ours + 1;
	return ours;
}

static int add_line(struct profile *p, const struct sym_line *s, const struct strtab *strings,
		    struct err *err)
{
	struct profile_function f = {
		.name = translate(p, strings, s->name),
		.system_name = translate(p, strings, s->system_name),
		.file = translate(p, strings, s->file),
		.start_line = s->start_line,
	};
	struct profile_line line = {.line = s->line};

	if (f.name == STRTAB_FAILED || f.system_name == STRTAB_FAILED || f.file == STRTAB_FAILED)
		return err_nomem(err);
	if (profile_intern_function(p, &f, &line.function, err))
		return -ERR_NOMEM;
	return vec_push(&p->lines, line) ? err_nomem(err) : 0;
}

int profile_set_lines(struct profile *p, size_t location, const struct sym_result *r,
		      const struct strtab *strings, struct err *err)
{
	struct profile_location *l = &p->locations.v[location];
	uint32_t i, first = (uint32_t)p->lines.n, symbol = translate(p, strings, r->symbol);

	if (symbol == STRTAB_FAILED || p->lines.n + r->n_lines > UINT32_MAX)
		return err_nomem(err);
	for (i = 0; i < r->n_lines; i++)
		if (add_line(p, &r->lines[i], strings, err))
			return -ERR_NOMEM;
	l->miss = (uint8_t)r->miss;
	l->symbol = symbol;
	l->symbol_offset = r->offset;
	l->first_line = first;
	l->n_lines = r->n_lines;
	if (r->miss == SYM_MISS_FOUND)
		p->mappings.v[l->mapping].symbolized = true;
	return 0;
}

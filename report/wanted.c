/* wanted.c - functions that were asked for by name (-S) and are nowhere. */
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "report/function_name.h"
#include "report/report.h"

struct wanted {
	char name[256];
	bool is_found;
	enum name_typed best;
	uint32_t like; /* string id of one with the most of the name */
};

/* As -S looks for it: the whole name, or without arguments. */
static bool is_it(const struct wanted *w, const char *name)
{
	const size_t n = strlen(w->name);

	return !strncmp(name, w->name, n) && (!name[n] || name[n] == '(');
}

static void compare(struct wanted *w, struct text *room, const struct profile *p, uint32_t name)
{
	const char *s = strtab_get(&p->strings, name);
	enum name_typed how;

	w->is_found |= is_it(w, s);
	how = w->is_found ? NAME_NOT_TYPED : name_typed(room, s, w->name);
	if (how > w->best) {
		w->best = how;
		w->like = name;
	}
}

static void look_for(struct wanted *w, const struct profile *p, FILE *out)
{
	struct text room = {0}, like = {0};

	for (size_t i = 0; i < p->functions.n && !w->is_found; i++)
		compare(w, &room, p, p->functions.v[i].name);
	for (size_t i = 0; i < p->locations.n && !w->is_found; i++)
		compare(w, &room, p, p->locations.v[i].symbol);
	text_string(&like, p, w->like);
	if (!w->is_found && w->like)
		fprintf(out, "resolve: -S: no function is called %s; did you mean '%.*s'?\n",
			w->name, (int)like.n, like.n ? like.s : "");
	else if (!w->is_found)
		fprintf(out, "resolve: -S: no function is called %s\n", w->name);
	text_done(&room);
	text_done(&like);
}

void report_missing(const struct profile *p, const char *list, FILE *out)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		struct wanted w = {.best = NAME_NOT_TYPED};

		n = strcspn(list, ",");
		if (!n || n >= sizeof w.name)
			continue;
		memcpy(w.name, list, n);
		look_for(&w, p, out);
	}
}

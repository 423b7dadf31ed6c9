/* not_found.c - why a pattern names no function at which there can be a probe, and what to write
 * instead. */
#include <stdio.h>
#include <string.h>

#include "probe/match.h"
#include "probe/nearest.h"
#include "probe/search.h"

/* Which functions a chooser of the program's own chooses among only its code says: named are those
 * whose names are longer ones. */
static int not_chosen(struct search *s, struct err *err)
{
	const struct pattern *p = &s->pattern;
	const bool has_names = has_symtab(s->mod->image) || has_symtab(s->mod->debug);
	char text[256] = "";
	size_t used = 0;
	unsigned n = 0;

	for (size_t i = 0; has_names && i < s->tab.funcs.n && n < 3; i++) {
		const struct func *f = &s->tab.funcs.v[i];

		if (f->flags & FUNC_CHOOSES || match_is_part(f->name) ||
		    !memmem(f->name, strlen(f->name), p->text, p->len))
			continue;
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%.60s",
					 n++ ? ", " : "", f->name);
	}
	if (n)
		return err_set(
			err, ERR_NOT_FOUND, s->ret->path,
			"'%.*s' is chosen among several functions when a program starts: name "
			"the one that is meant (%s ?)",
			(int)p->len, p->text, text);
	if (has_names)
		return err_set(
			err, ERR_NOT_FOUND, s->ret->path,
			"'%.*s' is chosen among several functions when a program starts: name "
			"the one that is meant",
			(int)p->len, p->text);
	return err_set(err, ERR_NOT_FOUND, s->ret->path,
		       "'%.*s' is chosen among several functions when a program starts, and "
		       "their names are not here: install the library's debug symbols",
		       (int)p->len, p->text);
}

/* There are copies of it only, and no probe of this kind can be there. */
static int only_inlined(struct search *s, const struct probe_spec *spec, struct err *err)
{
	const int n = (int)spec->what_len;

	return err_set(err, ERR_NOT_FOUND, s->ret->path,
		       "'%.*s' is only inlined (%zu cop%s%s%s), %s; uprobe:%.*s:%.*s takes a "
		       "sample where its code begins, and --list shows these places",
		       n, spec->what, s->ret->n_inlined, s->ret->n_inlined == 1 ? "y" : "ies",
		       *s->inlined_at ? ": " : "", s->inlined_at,
		       spec->kind == PROBE_ENTRY ? "so that it has no offsets"
						 : "so that it is not called and does not return",
		       (int)spec->file_len, spec->file, n, spec->what);
}

int search_not_found(struct search *s, const struct probe_spec *spec, struct err *err)
{
	const struct pattern *p = &s->pattern;
	char near[NEAREST_BYTES];

	if (s->ret->n_inlined)
		return only_inlined(s, spec, err);
	if (p->len > 4 && !memcmp(p->text + p->len - 4, "@plt", 4))
		return err_set(
			err, ERR_NOT_FOUND, s->ret->path,
			"'%.*s' is the way from here to a function of a library: probe that, "
			"as in uprobe:libc.so.6:%.*s, whose samples say who called it",
			(int)p->len, p->text, (int)p->len - 4, p->text);
	if (s->chooser)
		return not_chosen(s, err);
	if (s->within)
		return err_set(err, ERR_NOT_FOUND, s->ret->path,
			       "'%.*s': no instruction begins there, and a probe within one would "
			       "end the program; `objdump -d` shows where they begin",
			       (int)p->len, p->text);
	if (s->kind == PROBE_LEAVE && s->ret->n_unread)
		return err_set(
			err, ERR_UNSUPPORTED, s->ret->path,
			"'%.*s': its code is not understood, so where it returns is not known",
			(int)p->len, p->text);
	if (s->too_short)
		return err_set(err, ERR_NOT_FOUND, s->ret->path, "'%.*s' is only %llu bytes long",
			       (int)p->len, p->text,
			       (unsigned long long)(s->too_short->end - s->too_short->start));

	nearest_names(&s->pattern, &s->tab, near);
	return err_set(err, ERR_NOT_FOUND, s->ret->path,
		       "no function is named '%.*s' (of %zu that have a name)%s%s", (int)p->len,
		       p->text, s->tab.funcs.n,
		       !s->tab.funcs.n ? "; it is stripped: install its debug symbols, or give an "
					 "address"
		       : *near	       ? "; near it: "
				       : "",
		       near);
}

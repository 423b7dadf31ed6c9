/* mangled.c - readable names for the symbols of other tools that left them as they were. */
#include <string.h>

#include "base/err.h"
#include "demangle/demangle.h"
#include "profile/intern.h"
#include "profile/profile.h"

void profile_demangle(struct profile *p, const struct name_style *style)
{
	p->index_->mangled.style = *style;
	p->index_->mangled.is_wanted = style->demangle != SYM_DEMANGLE_NONE;
}

void mangled_done(struct mangled_names *m)
{
	hash_done(&m->readable);
	demangler_done(&m->demangler);
}

/* Of C++, Rust or D. What else demangle() knows may be another tool's own spelling. */
static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

/* Returns a string id: of `name` itself if it stays as it is. */
static uint32_t readable(struct profile *p, uint32_t name)
{
	struct mangled_names *m = &p->index_->mangled;
	const char *s = strtab_get(&p->strings, name), *shown;
	uint32_t id = hash_get(&m->readable, name);

	if (id != HASH_NONE)
		return id;
	shown = demangle(&m->demangler, s, &m->style);
	id = shown == s ? name : profile_string(p, shown, strlen(shown));
	if (demangler_is_out_of_memory(&m->demangler) || id == STRTAB_FAILED ||
	    hash_put(&m->readable, name, id))
		return STRTAB_FAILED;
	return id;
}

int mangled_spell(struct profile *p, struct profile_function *f, struct err *err)
{
	uint32_t name = f->name;

	if (!p->index_->mangled.is_wanted || name != f->system_name ||
	    !is_mangled(strtab_get(&p->strings, name)))
		return 0;
	f->name = readable(p, name);
	if (f->name == STRTAB_FAILED)
		return err_nomem(err);
	f->is_folded &= f->name == name;
	return 0;
}

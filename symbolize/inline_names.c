/* inline_names.c - finds symbols for inlined functions without linkage name in DWARF.
 *
 * gcc writes no linkage name for C++ functions of internal linkage, and clang -gmlt for none. Such
 * a function is work::spin(unsigned int) where it is called, but work::spin or only spin where it
 * is inlined, and its frames do not merge. If the program also has a copy that is not inlined,
 * DWARF says where that begins (dwarf_frame.entry), and the symbol there has the whole name. It
 * also has the numbers of lambdas that occur in other functions' names. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "demangle/demangle.h"
#include "symbolize/elfsyms.h"
#include "symbolize/lambdas.h"
#include "symbolize/symbol_source.h"

/* limit on folded functions that are compared */
enum { ALIASES_MAX = 16 };

/* What DWARF calls the function at an address. */
struct entry {
	uint64_t vaddr;
	const char *name;
	const char *symbol; /* the name from the symbol; NULL: none, or ambiguous */
};

struct entries {
	VEC(struct entry) v;
};

static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : x->name != y->name;
}

static bool wants_symbol(const struct dwarf_frame *f)
{
	return f->entry && f->name && !f->linkage_name;
}

static int collect(struct entries *e, const struct lookups *l)
{
	size_t n = 0, i;

	for (i = 0; i < l->frames.n; i++) {
		const struct dwarf_frame *f = &l->frames.v[i];

		if (wants_symbol(f) && vec_push(&e->v, (struct entry){f->entry, f->name, NULL}))
			return -1;
	}
	if (!e->v.n)
		return 0;
	qsort(e->v.v, e->v.n, sizeof *e->v.v, entry_cmp);
	for (i = 1; i < e->v.n; i++)
		if (entry_cmp(&e->v.v[n], &e->v.v[i]))
			e->v.v[++n] = e->v.v[i];
	e->v.n = n + 1;
	return 0;
}

/* The part of a name after its scopes; the name has no parameters or template arguments. */
static const char *last_part(const char *name)
{
	const char *at = name, *next;

	while ((next = strstr(at, "::")))
		at = next + 2;
	return at;
}

/* Can this symbol be the function that DWARF calls `name`, in which some scopes may be missing? If
 * there are other symbols at the address, all scopes must be equal. */
static bool is_name_of(struct demangler d[2], const char *symbol, const char *name, bool alone)
{
	static const struct name_style simple = {.demangle = SYM_DEMANGLE_SIMPLE,
						 .fold_clones = true};
	const char *whole = demangle(&d[0], symbol, &simple);
	const char *plain = restyle(&d[1], name, &simple), *part;
	size_t n_whole, n_part;

	if (lambda_same_name(whole, plain))
		return true;
	part = last_part(plain);
	n_whole = strlen(whole);
	n_part = strlen(part);
	return alone && n_part && n_whole > n_part + 2 && !strcmp(whole + n_whole - n_part, part) &&
	       !memcmp(whole + n_whole - n_part - 2, "::", 2);
}

/* Length without clone suffixes: inlined code has the name of the function that was cloned. */
static size_t without_clones(const char *symbol)
{
	return strcspn(symbol, ".@");
}

static int name_entry(struct entry *e, const struct functab *tab, struct func_cursor *cursor,
		      struct demangler d[2], struct arena *names)
{
	const struct func *f = functab_find(tab, e->vaddr, cursor), *aliases[ALIASES_MAX];
	size_t n, i, n_names = 0, len = 0, n_fit = 0;
	const char *first = NULL, *fit = NULL;

	if (!f || f->start != e->vaddr || f->flags & FUNC_SIZELESS)
		return 0;
	n = functab_aliases(tab, f, aliases, ALIASES_MAX);
	for (i = 0; i < n; i++) {
		const char *s = aliases[i]->name;

		len = without_clones(s);
		if (first && len == without_clones(first) && !strncmp(first, s, len))
			continue;
		first = first ? first : s;
		n_names++;
	}
	for (i = 0; i < n; i++) {
		const char *s = aliases[i]->name;

		if (strncmp(s, "_Z", 2) || !is_name_of(d, s, e->name, n_names == 1))
			continue;
		len = without_clones(s);
		if (fit && len == without_clones(fit) && !strncmp(fit, s, len))
			continue;
		fit = s;
		n_fit++;
	}
	if (n_fit != 1)
		return 0;
	len = without_clones(fit);
	e->symbol = fit[len] ? arena_strndup(names, fit, len) : fit;
	return e->symbol ? 0 : -1;
}

static int name_entries(struct entries *e, const struct module *mod, struct arena *names)
{
	struct demangler d[2] = {0};
	struct func_cursor cursor = {0};
	struct elfsyms syms = {0};
	uint64_t *vaddrs = malloc(e->v.n * sizeof *vaddrs);
	size_t i;
	int rc = vaddrs ? 0 : -1;

	for (i = 0; !rc && i < e->v.n; i++)
		vaddrs[i] = e->v.v[i].vaddr;
	/* The partial table for the addresses that were asked for may lack these functions. */
	if (!rc)
		rc = elfsyms_load(&syms, mod, vaddrs, e->v.n);
	for (i = 0; !rc && i < e->v.n; i++)
		rc = name_entry(&e->v.v[i], &syms.tab, &cursor, d, names);
	if (demangler_is_out_of_memory(&d[0]) || demangler_is_out_of_memory(&d[1]))
		rc = -1;
	elfsyms_done(&syms);
	demangler_done(&d[0]);
	demangler_done(&d[1]);
	free(vaddrs);
	return rc;
}

static int learn_lambdas(struct lambdas *lambdas, const struct entries *e)
{
	static const struct name_style full = {.demangle = SYM_DEMANGLE_FULL};
	struct demangler d = {0};
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < e->v.n; i++) {
		const struct entry *entry = &e->v.v[i];

		if (entry->symbol && lambda_is_marked(entry->name))
			rc = lambdas_learn(lambdas, entry->name,
					   demangle(&d, entry->symbol, &full));
	}
	if (demangler_is_out_of_memory(&d))
		rc = -1;
	demangler_done(&d);
	return rc;
}

/* Equal names are spelled once, so that they remain one string. */
static int spell_lambdas(struct lookups *l, const struct lambdas *lambdas, struct arena *names)
{
	struct hash_table known = {0};
	VEC(const char *) spelled = {0};
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < l->frames.n; i++) {
		struct dwarf_frame *f = &l->frames.v[i];
		uint32_t at;

		if (!f->name || f->linkage_name || !lambda_is_marked(f->name))
			continue;
		at = hash_get(&known, (uintptr_t)f->name);
		if (at == HASH_NONE) {
			const char *s = lambdas_spell(lambdas, f->name, names);

			at = (uint32_t)spelled.n;
			rc = !s || vec_push(&spelled, s) || hash_put(&known, (uintptr_t)f->name, at)
				     ? -1
				     : 0;
		}
		f->name = rc ? NULL : spelled.v[at];
	}
	vec_done(&spelled);
	hash_done(&known);
	return rc;
}

int name_inlined(struct lookups *l, const struct module *mod, struct arena *names)
{
	struct lambdas lambdas = {0};
	struct entries e = {0};
	size_t i;
	int rc = collect(&e, l);

	if (!rc && e.v.n)
		rc = name_entries(&e, mod, names);
	if (!rc)
		rc = learn_lambdas(&lambdas, &e);
	for (i = 0; !rc && e.v.n && i < l->frames.n; i++) {
		struct dwarf_frame *f = &l->frames.v[i];
		struct entry key = {f->entry, f->name, NULL};

		if (wants_symbol(f))
			f->linkage_name = ((struct entry *)bsearch(&key, e.v.v, e.v.n,
								   sizeof *e.v.v, entry_cmp))
						  ->symbol;
	}
	if (!rc)
		rc = spell_lambdas(l, &lambdas, names);
	lambdas_done(&lambdas);
	vec_done(&e.v);
	return rc;
}

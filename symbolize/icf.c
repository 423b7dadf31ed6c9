/* icf.c - which of several names for the same bytes are different functions.
 *
 * A linker that folds identical code (lld and gold with --icf, mold) gives one address to functions
 * that have nothing to do with each other; gcc does so within a unit (-fipa-icf). But most names at
 * one address are aliases: a weak and a strong one, constructors of complete and base objects,
 * versions, __GI_strlen. Only names that must come from different functions are counted. */
#include <string.h>

#include "base/hash.h"
#include "demangle/demangle.h"
#include "modules/modules.h"
#include "symbolize/symbol_source.h"

/* Limit on counting: thousands of empty functions may be folded into one. */
enum { ALIASES_MAX = 100 };

bool linker_folds(struct elf_image *img)
{
	struct elf_section s;

	if (!img)
		return false;
	if (elf_image_section(img, ".note.gnu.gold-version", &s, NULL))
		return true;
	return elf_image_section(img, ".comment", &s, NULL) && s.data &&
	       (memmem(s.data, s.size, "LLD ", 4) || memmem(s.data, s.size, "mold ", 5));
}

struct counted_names {
	uint64_t seen[ALIASES_MAX];
	size_t n;
};

static void see(struct counted_names *t, const char *name, size_t n)
{
	uint64_t hash = hash_bytes(name, n);
	size_t i;

	for (i = 0; i < t->n && t->seen[i] != hash; i++)
		;
	if (i == t->n)
		t->seen[t->n++] = hash;
}

uint32_t icf_count(const struct functab *tab, const struct func *f, bool folds)
{
	static const struct name_style style = {.fold_clones = true};
	const struct func *aliases[ALIASES_MAX];
	size_t n = functab_aliases(tab, f, aliases, ALIASES_MAX), i;
	struct counted_names names;
	struct demangler d = {0};

	if (n < 2)
		return 0;
	names.n = 0;
	for (i = 0; i < n; i++) {
		const char *name = demangle(&d, aliases[i]->name, &style);

		if (name != aliases[i]->name && *aliases[i]->name == '_') {
			see(&names, name, strcspn(name, "@"));
			continue;
		}
		/* With names of C only the sources tell which are aliases. If the linker folds, all
		 * names with their own definition count. */
		name += strspn(name, "_");
		if (folds && !(aliases[i]->flags & FUNC_WEAK))
			see(&names, name, strcspn(name, "@"));
	}
	demangler_done(&d);
	return names.n ? (uint32_t)names.n - 1 : 0;
}

const char *icf_named(const struct functab *tab, const struct func *f, const char *name)
{
	const struct func *aliases[ALIASES_MAX];
	size_t n = functab_aliases(tab, f, aliases, ALIASES_MAX), len = strlen(name), i;

	for (i = 0; i < n; i++)
		if (!strncmp(aliases[i]->name, name, len) &&
		    (!aliases[i]->name[len] || aliases[i]->name[len] == '@'))
			return aliases[i]->name;
	return NULL;
}

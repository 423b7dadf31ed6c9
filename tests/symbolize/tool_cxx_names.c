/* tool_cxx_names.c - linkage names of functions, and the names that dwarf_cxx_name() makes.
 *
 *	tool_cxx_names IMAGE
 *
 * For each function that DWARF has a linkage name for, once: that name, what it demangles to and
 *the name made from the function's scopes and types ("-": DWARF does not say enough), with tabs
 *between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "demangle/demangle.h"
#include "dwarf/die.h"
#include "dwarf/cxx_name.h"
#include "dwarf/walk.h"

static int visit_scope(void *arg, const struct dwarf_cu *cu, uint64_t off,
		       const struct dwarf_abbrev *a, struct buf *b, struct dwarf_level *level)
{
	if (a->kind != DWARF_KIND_INLINED && dwarf_scopes_add(arg, off - cu->unit->off, level))
		return -1;
	dwarf_pass_over(cu, a, b, &(bool){false});
	return 0;
}

struct seen {
	struct hash_table names;
	struct demangler demangler;
};

static void print(struct seen *seen, struct dwarf_namer *n, const struct dwarf_die *d)
{
	static const struct name_style full = {.demangle = SYM_DEMANGLE_FULL};
	uint64_t key = hash_bytes(d->linkage_name, strlen(d->linkage_name));
	const char *made;
	int rc = 0;

	if (hash_get(&seen->names, key) != HASH_NONE)
		return;
	if (hash_put(&seen->names, key, 1))
		exit(2);
	printf("%s\t%s", d->linkage_name, demangle(&seen->demangler, d->linkage_name, &full));
	made = dwarf_cxx_name(n, d->at, &rc);
	printf("\t%s\n", made ? made : "-");
}

static void visit_unit(struct seen *seen, const struct dwarf_file *f, const struct dwarf_unit *u)
{
	struct dwarf_scopes scopes = {0};
	struct arena strings = {0};
	struct dwarf_namer n;
	struct dwarf_cu cu;
	struct dwarf_die d;
	size_t i;
	int rc = 0;

	if (dwarf_cu_open(&cu, f, u) || !cu.abbrevs)
		return;
	if (dwarf_walk(&cu, visit_scope, &scopes) < 0)
		exit(2);
	dwarf_namer_init(&n, &cu, &scopes, &strings);
	for (i = 0; i < scopes.v.n; i++) {
		n.steps = n.type_steps = n.budget = 1 << 20;
		if (dwarf_die_at(&n, (struct dwarf_ref){f, u->off + scopes.v.v[i].off}, &d, &rc) &&
		    d.tag == DW_TAG_subprogram && d.linkage_name)
			print(seen, &n, &d);
	}
	vec_done(&scopes.v);
	arena_done(&strings);
}

int main(int argc, char **argv)
{
	struct dwarf_file f = {0};
	struct seen seen = {0};
	struct elf_image *img;
	struct err err;
	size_t i;

	if (argc != 2 || elf_image_open(&img, argv[1], &err) ||
	    dwarf_file_open(&f, img, false, 1, NULL))
		return 2;
	for (i = 0; i < f.n_units; i++)
		visit_unit(&seen, &f, &f.units[i]);
	hash_done(&seen.names);
	demangler_done(&seen.demangler);
	dwarf_file_close(&f);
	elf_image_close(img);
	return 0;
}

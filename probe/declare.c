/* declare.c - what debug information says of the functions that were found. */
#include "base/err.h"
#include "dwarf/dwarf.h"
#include "modules/modules.h"
#include "probe/places.h"

static int declare(const struct probe_places *found, struct module *mod, probe_declared *each,
		   void *arg, struct err *err)
{
	struct dwarf_params *p;
	int rc = dwarf_params_open(&p, mod, err);

	for (size_t i = 0; !rc && i < found->places.n; i++) {
		const struct dwarf_declaration *d = NULL;
		uint64_t vaddr;

		if (p && elf_image_off_to_vaddr(mod->image, found->places.v[i].off, &vaddr) &&
		    dwarf_params_declaration(p, vaddr, &d))
			rc = err_nomem(err);
		else
			each(arg, &found->places.v[i], d);
	}
	dwarf_params_free(p);
	return rc;
}

int probe_declarations(struct probe_places *found, probe_declared *each, void *arg, struct err *err)
{
	struct probe_file f;
	int rc = probe_file_open(&f, found->path, err);

	if (rc)
		return rc;
	rc = declare(found, f.mod, each, arg, err);
	probe_file_close(&f);
	return rc;
}

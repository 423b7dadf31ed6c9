/* declare.c - what debug information says of the functions that were found. */
#include "dwarf/dwarf.h"
#include "modules/modules.h"
#include "probe/probe.h"
#include "reader/reader.h"

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
	struct dso dso = {.kind = DSO_FILE, .path = found->path};
	struct modules *modules;
	struct module *mod;
	int rc = modules_new(&modules, NULL, err);

	if (rc)
		return rc;
	mod = modules_get(modules, &dso);
	if (!mod || !module_debug(modules, mod))
		rc = err_nomem(err);
	else if (!mod->image)
		rc = err_set(err, ERR_FORMAT, found->path, "%s", module_miss_text(mod->image_miss));
	else
		rc = declare(found, mod, each, arg, err);
	modules_free(modules);
	return rc;
}

/* named.c - functions of a file by many names at once, as the file spells them. */
#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "probe/places.h"
#include "reader/reader.h"

struct names {
	const char *const *v;
	size_t n;
	probe_named *each;
	void *arg;
};

static bool is_vector(struct elf_image *img, const struct func *f)
{
	const uint16_t machine = elf_image_machine(img);
	size_t left = 0;
	const uint8_t *code = elf_image_at_vaddr(img, f->start, &left);

	return code && (machine == EM_X86_64 || machine == EM_386) &&
	       is_vector_insn(code, left, machine == EM_X86_64);
}

static void find_all(const struct names *names, struct elf_image *img, const struct functab *tab)
{
	uint64_t off;

	for (size_t i = 0; i < tab->funcs.n; i++) {
		const struct func *f = &tab->funcs.v[i];

		for (size_t k = 0; k < names->n; k++)
			if (!strcmp(f->name, names->v[k]) && !(f->flags & FUNC_CHOOSES) &&
			    elf_image_vaddr_to_off(img, f->start, &off) && !is_vector(img, f))
				names->each(names->arg, k, off);
	}
}

int probe_find_named(const char *path, const char *const *v, size_t n, probe_named *each, void *arg,
		     struct err *err)
{
	const struct names names = {v, n, each, arg};
	struct dso dso = {.kind = DSO_FILE, .path = path};
	struct functab tab = {0};
	struct modules *modules;
	struct module *mod;
	int rc = modules_new(&modules, NULL, err);

	if (rc)
		return rc;
	mod = modules_get(modules, &dso);
	if (!mod || !module_debug(modules, mod) || (mod->image && functions_read(mod, &tab)))
		rc = err_nomem(err);
	else if (!mod->image)
		rc = err_set(err, ERR_FORMAT, path, "%s", module_miss_text(mod->image_miss));
	else
		find_all(&names, mod->image, &tab);
	functab_done(&tab);
	modules_free(modules);
	return rc;
}

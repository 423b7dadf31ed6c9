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

static void find_all(const struct names *names, struct elf_image *img, const struct functab *tab)
{
	uint64_t off;

	for (size_t i = 0; i < tab->funcs.n; i++) {
		const struct func *f = &tab->funcs.v[i];

		for (size_t k = 0; k < names->n; k++)
			if (!strcmp(f->name, names->v[k]) && !(f->flags & FUNC_CHOOSES) &&
			    elf_image_vaddr_to_off(img, f->start, &off) && !is_vector_at(img, off))
				names->each(names->arg, k, off);
	}
}

int probe_find_named(const char *path, const char *const *v, size_t n, probe_named *each, void *arg,
		     struct err *err)
{
	const struct names names = {v, n, each, arg};
	struct functab tab = {0};
	struct probe_file f;
	int rc = probe_file_open(&f, path, err);

	if (rc)
		return rc;
	if (functions_read(f.mod, &tab))
		rc = err_nomem(err);
	else
		find_all(&names, f.mod->image, &tab);
	functab_done(&tab);
	probe_file_close(&f);
	return rc;
}

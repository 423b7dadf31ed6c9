/* lines.c - places by lines of source files. */
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "probe/places.h"

static int not_there(const struct probe_spec *spec, const struct dwarf_line_places *found,
		     const char *path, struct err *err)
{
	const int n = (int)spec->what_len;

	if (!found->has_file)
		return err_set(err, ERR_NOT_FOUND, path,
			       "no code is of a file %.*s (paths may be given by their ends)", n,
			       spec->what);
	if (!found->next_line)
		return err_set(err, ERR_NOT_FOUND, path, "no code begins at %.*s:%u, nor behind it",
			       n, spec->what, spec->line);
	return err_set(err, ERR_NOT_FOUND, path,
		       "no code begins at %.*s:%u; the next line with code is %u", n, spec->what,
		       spec->line, found->next_line);
}

static int add_all(struct elf_image *img, const struct probe_spec *spec,
		   const struct dwarf_line_places *found, struct probe_places *ret)
{
	char name[512];
	uint64_t off;

	snprintf(name, sizeof name, "%.*s:%u", (int)spec->what_len, spec->what, spec->line);
	for (size_t i = 0; i < found->vaddrs.n; i++)
		if (elf_image_vaddr_to_off(img, found->vaddrs.v[i], &off) &&
		    places_add(ret, off, 0, name))
			return -1;
	return 0;
}

int lines_find(struct module *mod, const struct probe_spec *spec, struct probe_places *ret,
	       struct err *err)
{
	struct dwarf_line_places found = {0};
	struct dwarf_params *p;
	int rc = dwarf_params_open(&p, mod, err);

	if (rc)
		return rc;
	if (!p)
		return err_set(err, ERR_NOT_FOUND, ret->path,
			       "it has no debug information, which tells lines: build it with -g, "
			       "or install its debug symbols");
	if (dwarf_params_line(p, spec->what, spec->what_len, spec->line, &found) ||
	    add_all(mod->image, spec, &found, ret))
		rc = err_nomem(err);
	else if (!ret->places.n)
		rc = not_there(spec, &found, ret->path, err);
	vec_done(&found.vaddrs);
	dwarf_params_free(p);
	return rc;
}

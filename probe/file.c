/* file.c - the file that a probe is in, with its debug information. */
#include "base/err.h"
#include "probe/places.h"

int probe_file_open(struct probe_file *f, const char *path, struct err *err)
{
	int rc = modules_new(&f->modules, NULL, err);

	f->dso = (struct dso){.kind = DSO_FILE, .path = path};
	f->mod = NULL;
	if (rc)
		return rc;
	f->mod = modules_get(f->modules, &f->dso);
	if (!f->mod || !module_debug(f->modules, f->mod))
		rc = err_nomem(err);
	else if (!f->mod->image)
		rc = err_set(err, ERR_FORMAT, path, "%s", module_miss_text(f->mod->image_miss));
	if (rc)
		probe_file_close(f);
	return rc;
}

void probe_file_close(struct probe_file *f)
{
	modules_free(f->modules);
	f->modules = NULL;
	f->mod = NULL;
}

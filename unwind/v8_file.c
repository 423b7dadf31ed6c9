/* v8_file.c - which files contain V8: by their name, or by what they export.
 *
 * V8 describes itself to postmortem debuggers by variables, v8dbg_*, which strip leaves as they are
 * exported; programs by Chromium's build export none. */
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/walk.h"

/* V8's builtins alone are more code: it may map these again, near to what it compiles. */
enum { CODE_BYTES_MIN = 512 << 10 };

static const char exported[] = "v8dbg_TaggedSize";

/* The name of node where several versions are installed: node-22 (Fedora), node22 (openSUSE). */
static bool is_node_of_version(const char *name)
{
	if (strncmp(name, "node", 4) != 0)
		return false;
	name += 4;
	name += *name == '-';
	return *name && !name[strspn(name, "0123456789")];
}

bool is_named_as_v8(const struct map *m)
{
	static const char *const names[] = {"node", "chrome", "chromium", "electron", "deno"};
	const char *name = base_name(m->dso->path);
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return is_node_of_version(name) || !strncmp(name, "libnode.so", 10) ||
	       !strncmp(name, "libv8", 5);
}

bool has_v8(struct walk *w, const struct map *m)
{
	struct known_v8 *k = &w->worker->v8_files[m->dso->id % V8_FILES_KNOWN];
	const struct module *mod;
	Elf64_Sym sym;

	if (is_named_as_v8(m))
		return true;
	if (m->dso->kind != DSO_FILE || !(m->prot & PROT_EXEC) ||
	    m->end - m->start < CODE_BYTES_MIN)
		return false;
	if (k->dso != m->dso) {
		mod = modules_get(w->worker->modules, m->dso);
		*k = (struct known_v8){
			m->dso, mod && mod->image && elf_exported_find(mod->image, exported, &sym)};
	}
	return k->is_v8;
}

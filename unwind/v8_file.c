/* v8_file.c - which files contain V8: by their name, or by what they export.
 *
 * V8 describes itself to postmortem debuggers by variables, v8dbg_*, which strip leaves as they are
 * exported; programs by Chromium's build export none. One look-up in the GNU hash table tells. */
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

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* A table of hashes (gABI supplement: DT_GNU_HASH). */
struct hashes {
	const uint8_t *data;
	size_t n; /* words */
};

static uint32_t word(const struct hashes *t, uint64_t i)
{
	uint32_t v = 0;

	if (i < t->n)
		memcpy(&v, t->data + i * sizeof v, sizeof v);
	return v;
}

static bool exports(struct elf_image *img, const char *name)
{
	const uint32_t hash = gnu_hash(name);
	struct elf_section sec;
	struct elf_symbols syms;
	struct hashes t;
	uint64_t buckets, chain, i;

	if (!elf_image_is_64(img) || elf_image_swapped(img) ||
	    !elf_image_section(img, ".gnu.hash", &sec, NULL) || !sec.data ||
	    !elf_symbols_open(&syms, img, ".dynsym"))
		return false;
	t = (struct hashes){sec.data, sec.size / sizeof(uint32_t)};
	if (!word(&t, 0))
		return false;
	buckets = 4 + 2ull * word(&t, 2);
	chain = buckets + word(&t, 0);
	i = word(&t, buckets + hash % word(&t, 0));
	for (; i >= word(&t, 1) && i < syms.n && chain + i - word(&t, 1) < t.n; i++) {
		const uint32_t link = word(&t, chain + i - word(&t, 1));

		if ((link | 1) == (hash | 1)) {
			const Elf64_Sym sym = elf_symbols_at(&syms, i);
			const char *is = elf_symbols_name(&syms, &sym);

			if (is && !strcmp(is, name))
				return true;
		}
		if (link & 1)
			return false;
	}
	return false;
}

bool has_v8(struct walk *w, const struct map *m)
{
	struct known_v8 *k = &w->worker->v8_files[m->dso->id % V8_FILES_KNOWN];
	const struct module *mod;

	if (is_named_as_v8(m))
		return true;
	if (m->dso->kind != DSO_FILE || !(m->prot & PROT_EXEC) ||
	    m->end - m->start < CODE_BYTES_MIN)
		return false;
	if (k->dso != m->dso) {
		mod = modules_get(w->worker->modules, m->dso);
		*k = (struct known_v8){m->dso, mod && mod->image && exports(mod->image, exported)};
	}
	return k->is_v8;
}

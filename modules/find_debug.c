/* find_debug.c - finds the separate debug file, the file of dwz that debug files share, and the
 * small debug file inside the image.
 *
 * Source: GDB manual "Separate Debug Files" (.gnu_debuglink: name, padding, CRC-32; build-id
 * method) and "MiniDebugInfo"; debug_sup.h for the file of dwz. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rooted.h"
#include "modules/debug_sup.h"
#include "modules/decompress.h"
#include "modules/find.h"
#include "modules/image.h"
#include "reader/reader.h"

/* The path without its last part; "." for a bare name. */
static void dir_of(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 1;

	snprintf(out, PATH_MAX, "%.*s", (int)n, slash ? path : ".");
}

/* Build-id directories and the debuginfod cache. */
static struct elf_image *debug_by_id(struct finder *f, const struct file_check *check)
{
	char split[BUILD_ID_TEXT_MAX];
	struct elf_image *img = NULL;
	size_t i;

	if (check->id->size < 2)
		return NULL;
	build_id_text(check->id, true, split);
	for (i = 0; !img && f->dirs->debug_dirs[i]; i++)
		img = finder_tryf(f, check, "%s/.build-id/%s.debug", f->dirs->debug_dirs[i], split);
	if (!img && *f->entry->root)
		img = finder_tryf(f, check, "%s/usr/lib/debug/.build-id/%s.debug", f->entry->root,
				  split);
	if (!img && *f->dirs->buildid_dir)
		img = finder_tryf(f, check, "%s/.build-id/%s/debug", f->dirs->buildid_dir, split);
	return img ? img : finder_try_cache(f, check, "debuginfo");
}

/* ---- .gnu_debuglink ----------------------------------------------------------------------- */

static const char *read_debuglink(struct elf_image *img, uint32_t *crc)
{
	struct elf_section s;
	struct buf b;
	const char *name;

	if (!elf_image_section(img, ".gnu_debuglink", &s, NULL) || !s.data)
		return NULL;
	b = buf_make(s.data, s.size, s.off, elf_image_swapped(img));
	name = buf_cstr(&b);
	buf_skip(&b, -(uint64_t)(b.p - b.data) & 3);
	*crc = buf_u32(&b);
	return buf_ok(&b) && *name && !strchr(name, '/') ? name : NULL;
}

/* The root of the container that the image was found in, else the symfs. */
static const char *root_of(const struct finder *f)
{
	return *f->entry->root ? f->entry->root : f->dirs->symfs;
}

/* Searches for one directory of the binary: the directory itself, its .debug, and its path under
 * the debug directories. */
static struct elf_image *debug_by_link(struct finder *f, const struct file_check *check,
				       const char *dir, const char *name)
{
	const char *root = root_of(f), *inner = dir;
	struct elf_image *img = NULL;
	size_t i;

	/* A binary may refer to a debug file with its own name, which is then not in its directory.
	 */
	if (strcmp(name, strrchr(elf_image_path(f->entry->m.image), '/') + 1))
		img = finder_tryf(f, check, "%s/%s", dir, name);
	if (!img)
		img = finder_tryf(f, check, "%s/.debug/%s", dir, name);
	if (!strncmp(dir, root, strlen(root)))
		inner = dir + strlen(root);
	if (!img && *f->entry->root)
		img = finder_tryf(f, check, "%s/usr/lib/debug%s/%s", root, inner, name);
	for (i = 0; !img && f->dirs->debug_dirs[i]; i++)
		img = finder_tryf(f, check, "%s%s/%s", f->dirs->debug_dirs[i], inner, name);
	return img;
}

static struct elf_image *debug_by_debuglink(struct finder *f, const struct build_id *id)
{
	struct elf_image *image = f->entry->m.image, *img;
	struct file_check check = {.id = id, .wants_debug = true};
	char dir[PATH_MAX], real[PATH_MAX], real_dir[PATH_MAX];
	uint32_t crc = 0;
	const char *name = read_debuglink(image, &crc);

	f->entry->m.debug_link = name;
	if (!name || !strchr(elf_image_path(image), '/'))
		return NULL;
	check.crc = &crc;
	dir_of(elf_image_path(image), dir);
	img = debug_by_link(f, &check, dir, name);
	/* /lib may be a link to /usr/lib: debug packages use one of the two. */
	if (!img && rooted_real(f->dirs->symfs, elf_image_path(image), real)) {
		dir_of(real, real_dir);
		if (strcmp(dir, real_dir))
			img = debug_by_link(f, &check, real_dir, name);
	}
	return img;
}

/* ---- the common file, .gnu_debugdata ------------------------------------------------------ */

static struct elf_image *alt_by_link(struct finder *f, struct elf_image *debug,
				     const struct debug_sup_link *link)
{
	struct file_check check = {.id = &link->id, .must_match_id = true, .is_supplement = true};
	char dir[PATH_MAX], real[PATH_MAX];
	const char *path = link->path, *slash = strrchr(path, '/'),
		   *base = slash ? slash + 1 : path, *dwz = strstr(path, "/.dwz/");
	struct elf_image *img;
	size_t i;

	/* Relative to the real directory of the debug file: build-id directories contain links. */
	dir_of(rooted_real(f->dirs->symfs, elf_image_path(debug), real) ? real
									: elf_image_path(debug),
	       dir);
	img = path[0] == '/' ? finder_tryf(f, &check, "%s%s", root_of(f), path)
			     : finder_tryf(f, &check, "%s/%s", dir, path);
	/* Debian: /usr/lib/debug/.dwz/x86_64-linux-gnu/NAME.debug */
	for (i = 0; dwz && !img && f->dirs->debug_dirs[i]; i++)
		img = finder_tryf(f, &check, "%s%s", f->dirs->debug_dirs[i], dwz);
	for (i = 0; !img && f->dirs->debug_dirs[i]; i++)
		img = finder_tryf(f, &check, "%s/.dwz/%s", f->dirs->debug_dirs[i], base);
	if (!img)
		img = debug_by_id(f, &check);
	return img || !f->servers ? img
				  : fetch_file(f, &check, "debuginfo", &f->entry->m.alt_fetch);
}

struct elf_image *find_alt(struct finder *f, struct elf_image *debug)
{
	enum module_miss before = f->miss;
	struct debug_sup_link link;
	struct elf_image *img;

	if (!debug_sup_link(debug, &link))
		return NULL;
	f->miss = MODULE_MISS_NO_FILE;
	img = alt_by_link(f, debug, &link);
	f->entry->m.alt_link = link.path;
	f->entry->m.alt_miss = img ? MODULE_MISS_NONE : f->miss;
	f->miss = before;
	return img;
}

/* Damage is noted, and otherwise treated like a missing section. */
static struct elf_image *unpack_mini(struct finder *f, struct elf_image *image)
{
	struct elf_section s;
	struct elf_image *img;
	struct err err = {0};
	uint8_t *bytes;
	char name[PATH_MAX + 32];
	size_t size;
	int rc;

	if (!elf_image_section(image, ".gnu_debugdata", &s, NULL) || !s.data)
		return NULL;
	snprintf(name, sizeof name, "%s(.gnu_debugdata)", elf_image_path(image));
	rc = decompress_stream(s.data, (size_t)s.size, &bytes, &size);
	if (!rc)
		rc = elf_image_open_unpacked(&img, bytes, size, (size_t)s.size, name, &err);
	if (rc) {
		f->nomem |= rc == -ERR_NOMEM;
		finder_note(f, name, MODULE_MISS_DAMAGED,
			    rc == -ERR_LIMIT ? "it would grow too much"
			    : err.what[0]    ? err.what
					     : NULL);
		return NULL;
	}
	finder_note(f, name, MODULE_MISS_NONE, NULL);
	return image_cache_add(f->cache, img) ? img : NULL;
}

/* ---- the kernel --------------------------------------------------------------------------- */

/* Tries the places where distributions and kernel builds put the vmlinux of a release, as perf does
 * (vmlinux_path__init(), tools/perf/util/symbol.c). */
static struct elf_image *vmlinux_by_release(struct finder *f, const struct file_check *check)
{
	static const struct {
		const char *before, *after;
	} places[] = {
		{"/boot/vmlinux-", ""},
		{"/usr/lib/debug/boot/vmlinux-", ""},
		{"/lib/modules/", "/build/vmlinux"},
		{"/lib/modules/", "/vmlinux"},
		{"/usr/lib/debug/lib/modules/", "/vmlinux"},
		{"/usr/lib/debug/boot/vmlinux-", ".debug"},
	};
	const char *release = f->dirs->os_release;
	struct elf_image *img = NULL;
	size_t i;

	if (!*release || strchr(release, '/'))
		return NULL;
	for (i = 0; !img && i < sizeof places / sizeof *places; i++)
		img = finder_tryf(f, check, "%s%s%s%s", f->dirs->symfs, places[i].before, release,
				  places[i].after);
	for (i = 0; !img && f->dirs->debug_dirs[i]; i++) {
		img = finder_tryf(f, check, "%s/boot/vmlinux-%s", f->dirs->debug_dirs[i], release);
		if (!img)
			img = finder_tryf(f, check, "%s/lib/modules/%s/vmlinux",
					  f->dirs->debug_dirs[i], release);
	}
	return img;
}

static struct elf_image *find_vmlinux(struct finder *f, const struct file_check *check)
{
	char split[BUILD_ID_TEXT_MAX];
	struct elf_image *img = NULL;

	if (check->id->size < 2)
		return NULL;
	build_id_text(check->id, true, split);
	if (*f->dirs->buildid_dir)
		img = finder_tryf(f, check, "%s/.build-id/%s/elf", f->dirs->buildid_dir, split);
	return img ? img : vmlinux_by_release(f, check);
}

/* Debug packages have the debug files of modules under the paths of the modules, uncompressed. */
static struct elf_image *debug_of_kernel_module(struct finder *f, const struct file_check *check)
{
	const char *path = f->entry->m.dso->path, *end = strstr(path, ".ko");
	struct elf_image *img = NULL;
	size_t i;

	if (path[0] != '/' || !end)
		return NULL;
	for (i = 0; !img && f->dirs->debug_dirs[i]; i++) {
		img = finder_tryf(f, check, "%s%.*s.ko", f->dirs->debug_dirs[i], (int)(end - path),
				  path);
		if (!img)
			img = finder_tryf(f, check, "%s%.*s.ko.debug", f->dirs->debug_dirs[i],
					  (int)(end - path), path);
	}
	return img;
}

/* ---- all together ------------------------------------------------------------------------- */

const struct build_id *find_wanted_id(const struct module *m)
{
	return m->dso->build_id.size || !m->image ? &m->dso->build_id
						  : elf_image_build_id(m->image);
}

void find_debug(struct finder *f)
{
	struct module *m = &f->entry->m;
	const struct build_id *id = find_wanted_id(m);
	struct file_check check = {.id = id, .must_match_id = true, .wants_debug = true};
	enum fetch_result result;

	if (m->image && image_has(m->image, ".debug_info"))
		m->debug = m->image;
	if (!m->debug)
		m->debug = debug_by_id(f, &check);
	if (!m->debug && m->image)
		m->debug = debug_by_debuglink(f, id);
	if (!m->debug)
		m->debug = find_recorded_debug(f, id);
	if (!m->debug && m->dso->kind == DSO_KERNEL)
		m->debug = find_vmlinux(f, &check);
	if (!m->debug && m->dso->kind == DSO_KERNEL_MODULE)
		m->debug = debug_of_kernel_module(f, &check);
	if (!m->debug)
		m->debug = fetch_sections(f, id, FETCH_TIER_LINE, &result);
	if (!m->debug) {
		bool bare = m->image && !image_has(m->image, ".symtab");
		enum module_miss own = !bare			? MODULE_MISS_NO_FILE
				       : image_is_cut(m->image) ? MODULE_MISS_DAMAGED
								: MODULE_MISS_STRIPPED;

		m->debug_miss = f->miss > MODULE_MISS_NO_FILE ? f->miss : own;
	}
	if (m->debug)
		m->alt = find_alt(f, m->debug);
	/* The small symbol table is not needed if there is the full one. */
	if (m->image && !image_has(m->image, ".symtab") &&
	    !(m->debug && image_has(m->debug, ".symtab")))
		m->mini = unpack_mini(f, m->image);
}

/* find_recorded.c - files that the recording itself carries (bundle/). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "modules/find.h"
#include "modules/image.h"

/* What lacks a part is used all the same: the rest is right. */
static void note_image(struct finder *f, const struct elf_image *img)
{
	const bool is_whole = !img->ehdr.e_shoff || image_is_whole(img);

	finder_note(f, elf_image_path(img), is_whole ? MODULE_MISS_NONE : MODULE_MISS_DAMAGED,
		    is_whole ? NULL : "sections that its header tells of are not in it");
}

static struct elf_image *open_image(struct finder *f, const struct bundle_entry *e,
				    const char *name)
{
	struct bundle_bytes bytes;
	struct elf_image *img = NULL;
	struct err err = {0};
	int rc = bundle_contents(e, &bytes, &err);

	if (!rc)
		rc = image_open_mapped(&img, &bytes, name, &err);
	if (rc) {
		finder_note_error(f, name, &err);
		return NULL;
	}
	if (!finder_fits_machine(f, img)) {
		finder_note(f, name, MODULE_MISS_OTHER_MACHINE, NULL);
		elf_image_close(img);
		return NULL;
	}
	if (e->id.size)
		img->build_id = e->id;
	if (!image_cache_add(f->cache, img)) {
		f->nomem = true;
		return NULL;
	}
	note_image(f, img);
	return img;
}

/* Opens an entry, once. The entry's build id stands for a file whose notes tell none. */
static struct elf_image *open_entry(struct finder *f, const struct bundle_entry *e)
{
	char name[PATH_MAX];
	struct elf_image *img;

	if (!e)
		return NULL;
	snprintf(name, sizeof name, "%s (%sfrom the recording)", e->path,
		 e->kind == BUNDLE_DEBUG ? "debug file, " : "");
	f->in_bundle = true;
	img = open_image(f, e, name);
	f->in_bundle = false;
	return img;
}

struct elf_image *find_recorded(struct finder *f)
{
	const struct bundle_entry *e = bundle_find(f->dirs->bundle, BUNDLE_IMAGE, f->entry->m.dso);

	if (!e || !(e->flags & BUNDLE_IS_ID))
		return open_entry(f, e);
	finder_note(f, e->path, MODULE_MISS_NO_FILE, "the recording has only its id");
	return NULL;
}

struct elf_image *find_recorded_debug(struct finder *f, const struct build_id *id)
{
	const struct bundle *b = f->dirs->bundle;
	const char *path = f->entry->m.dso->path;
	const struct bundle_entry *e = bundle_find_id(b, BUNDLE_DEBUG, id, path);
	struct elf_image *img;

	if (!e && !id->size)
		e = bundle_find(b, BUNDLE_DEBUG, f->entry->m.dso);
	img = open_entry(f, e);
	/* The file that was mapped has its symbols and DWARF itself, and the one here was stripped.
	 */
	if (!img && f->entry->m.image && elf_image_mtime_ns(f->entry->m.image)) {
		e = bundle_find_id(b, BUNDLE_IMAGE, id, path);
		img = open_entry(f, e && e->flags & BUNDLE_IS_BARE ? NULL : e);
	}
	return img && (image_has(img, ".debug_info") || image_has(img, ".symtab")) ? img : NULL;
}

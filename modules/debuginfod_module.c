/* debuginfod_module.c - decides which files are fetched for a module. */

#include "modules/debug_sup.h"
#include "modules/debuginfod.h"
#include "modules/find.h"
#include "modules/image.h"
#include "reader/reader.h"

const char *fetch_result_text(enum fetch_result r)
{
#define X(name, text) [FETCH_##name] = text,
	static const char *const texts[] = {FETCH_RESULTS(X)};
#undef X
	return (unsigned)r < FETCH_N ? texts[r] : "unknown";
}

bool fetch_is_possible(const struct module *m)
{
	switch (m->dso->kind) {
	case DSO_FILE:
	case DSO_KERNEL:
	case DSO_KERNEL_MODULE:
	case DSO_VDSO:
		return find_wanted_id(m)->size >= 2;
	default:
		return false;
	}
}

enum fetch_result fetch_to_cache(struct finder *f, const struct build_id *id, const char *file)
{
	struct debuginfod_query q = {
		.dso = f->entry->m.dso,
		.rank = f->rank,
		.n_ranks = f->n_ranks,
		.id = id,
		.file = file,
	};
	struct elf_image *image = f->entry->m.image;
	struct elf_section s;
	enum fetch_result r;

	if (image && image->build_id.size && build_id_equal(id, &image->build_id)) {
		q.image_bytes = image->size;
		if (file[0] == '.' && elf_image_section(image, file, &s, NULL) && s.data)
			q.section_bytes = s.size;
	}
	/* If the user skips one file of a module, all its files are skipped. */
	if (f->entry->skipped)
		return FETCH_SKIPPED;
	r = debuginfod_get(f->servers, &q);
	f->entry->skipped = r == FETCH_SKIPPED;
	f->fetched_bytes += q.bytes;
	f->fetch_ms += q.elapsed_ms;
	finder_note_fetch(f, file, r, q.detail);
	return r;
}

struct elf_image *fetch_file(struct finder *f, const struct file_check *check, const char *file,
			     enum fetch_result *r)
{
	struct elf_image *img;

	*r = fetch_to_cache(f, check->id, file);
	if (*r != FETCH_DONE)
		return NULL;
	img = finder_try_cache(f, check, file);
	if (!img) {
		*r = FETCH_UNUSABLE;
		finder_note_fetch(f, file, *r, "");
	}
	return img;
}

struct elf_image *fetch_image(struct finder *f)
{
	struct module *m = &f->entry->m;
	struct file_check check = {
		.id = &m->dso->build_id, .must_match_id = true, .wants_code = true};

	/* Servers have no executable of the kernel. */
	if (!fetch_is_possible(m) || m->dso->kind == DSO_KERNEL) {
		m->image_fetch = FETCH_NOT_ASKED;
		return NULL;
	}
	return fetch_file(f, &check, "executable", &m->image_fetch);
}

/* The names that a file has, from fewest to most. */
enum contents { NO_NAMES, SYMBOLS, LINES, EVERYTHING };

static enum contents contents_of(const struct elf_image *img)
{
	if (!img)
		return NO_NAMES;
	if (image_has(img, ".debug_info") && !img->is_partial)
		return EVERYTHING;
	if (image_has(img, ".debug_line") && image_has(img, ".symtab"))
		return LINES;
	return image_has(img, ".symtab") ? SYMBOLS : NO_NAMES;
}

static enum contents contents_of_module(const struct module *m)
{
	enum contents image = contents_of(m->image), debug = contents_of(m->debug);

	return image > debug ? image : debug;
}

bool module_lacks_symbols(const struct module *mod)
{
	return contents_of_module(mod) == NO_NAMES && !mod->mini;
}

bool module_wants_fetch(const struct module *mod)
{
	return module_lacks_symbols(mod) && fetch_is_possible(mod);
}

bool fetch_is_needless(const struct module *m, enum fetch_tier tier)
{
	static const enum contents by_tier[] = {
		[FETCH_TIER_BINARY] = NO_NAMES,
		[FETCH_TIER_SYM] = SYMBOLS,
		[FETCH_TIER_LINE] = LINES,
		[FETCH_TIER_FULL] = EVERYTHING,
	};
	struct elf_image *debug = m->debug ? m->debug : m->image;
	struct debug_sup_link link;

	if (tier == FETCH_TIER_BINARY || (tier == FETCH_TIER_SYM && !module_lacks_symbols(m)))
		return true;
	return contents_of_module(m) >= by_tier[tier] &&
	       (m->alt || !debug || !debug_sup_link(debug, &link));
}

/* Fetches the sections of a tier. If they turn out to be of another file, fetches the whole file,
 * which its build id identifies. */
static struct elf_image *fetch_by_tier(struct finder *f, const struct file_check *check,
				       enum fetch_tier tier)
{
	struct module *m = &f->entry->m;
	struct elf_image *img, *whole = NULL;
	enum fetch_result r = FETCH_NOT_ASKED;

	if (fetch_is_needless(m, tier))
		return NULL;
	img = fetch_sections(f, check->id, tier, &m->debug_fetch);
	if (fetch_was_refused(m->debug_fetch))
		whole = fetch_file(f, check, "debuginfo", &r);
	if (whole || r == FETCH_SKIPPED)
		m->debug_fetch = r;
	return whole ? whole : img;
}

void fetch_debug(struct finder *f, enum fetch_tier tier)
{
	struct module *m = &f->entry->m;
	struct file_check check = {
		.id = find_wanted_id(m), .must_match_id = true, .wants_debug = true};
	enum contents before = contents_of_module(m);
	struct elf_image *img = NULL;

	if (tier == FETCH_TIER_FULL && before < EVERYTHING) {
		img = fetch_file(f, &check, "debuginfo", &m->debug_fetch);
		/* If the whole file is larger than the user's limit, the symbols may still be small
		 * enough. */
		if (m->debug_fetch == FETCH_TOO_LARGE && !fetch_is_needless(m, FETCH_TIER_SYM))
			img = fetch_sections(f, check.id, FETCH_TIER_SYM, &m->debug_fetch);
	} else if (tier != FETCH_TIER_FULL) {
		img = fetch_by_tier(f, &check, tier);
	}
	if (img && contents_of(img) > before) {
		m->debug = img;
		m->debug_miss = MODULE_MISS_NONE;
	}
	if (m->debug && !m->alt)
		m->alt = find_alt(f, m->debug);
}

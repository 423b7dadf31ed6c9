/* find.c - tries files until one matches the recording; remembers why the others were refused. */
#include "modules/find.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/processor.h"
#include "base/rooted.h"
#include "modules/debug_sup.h"
#include "modules/debuginfod_cache.h"
#include "modules/igzip.h"
#include "modules/image.h"
#include "modules/zip.h"
#include "reader/reader.h"

/* ---- build ids ---------------------------------------------------------------------------- */

const char *build_id_text(const struct build_id *id, bool split, char out[BUILD_ID_TEXT_MAX])
{
	static const char hex[] = "0123456789abcdef";
	char *p = out;
	unsigned i;

	for (i = 0; i < id->size && i < BUILD_ID_MAX; i++) {
		*p++ = hex[id->bytes[i] >> 4];
		*p++ = hex[id->bytes[i] & 15];
		if (split && i == 0)
			*p++ = '/';
	}
	*p = 0;
	return out;
}

/* ---- images by path ----------------------------------------------------------------------- */

static struct elf_image *cache_find(struct image_cache *c, const char *path)
{
	struct elf_image *found = NULL;
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	i = hash_get(&c->by_path, hash_bytes(path, strlen(path)));
	if (i != HASH_NONE && !strcmp(elf_image_path(c->images.v[i]), path))
		found = c->images.v[i];
	pthread_mutex_unlock(&c->lock);
	return found;
}

bool image_cache_add(struct image_cache *c, struct elf_image *img)
{
	const char *path = elf_image_path(img);
	uint64_t key = hash_bytes(path, strlen(path));
	bool ok;

	pthread_mutex_lock(&c->lock);
	ok = !vec_push(&c->images, img);
	/* A path that is in the cache already (two threads opened it at once), or whose hash is
	 * taken, is stored only to be closed. */
	if (ok && hash_get(&c->by_path, key) == HASH_NONE)
		hash_put(&c->by_path, key, (uint32_t)c->images.n - 1);
	pthread_mutex_unlock(&c->lock);
	if (!ok)
		elf_image_close(img);
	return ok;
}

void image_cache_done(struct image_cache *c)
{
	size_t i;

	for (i = 0; i < c->images.n; i++)
		elf_image_close(c->images.v[i]);
	vec_done(&c->images);
	hash_done(&c->by_path);
	pthread_mutex_destroy(&c->lock);
}

/* ---- one candidate ------------------------------------------------------------------------ */

/* Ranks reasons: of several failures the most specific one is reported, and "no such file" last. */
static unsigned miss_rank(enum module_miss m)
{
	static const uint8_t ranks[MODULE_MISS_N] = {
		[MODULE_MISS_NO_FILE] = 1,	    [MODULE_MISS_NOT_A_FILE] = 2,
		[MODULE_MISS_NOT_ELF] = 3,	    [MODULE_MISS_STRIPPED] = 4,
		[MODULE_MISS_NO_CODE] = 4,	    [MODULE_MISS_UNREADABLE] = 5,
		[MODULE_MISS_PERMISSION] = 6,	    [MODULE_MISS_NOT_TRUSTED] = 6,
		[MODULE_MISS_DAMAGED] = 7,	    [MODULE_MISS_OTHER_MACHINE] = 7,
		[MODULE_MISS_CRC_DIFFERS] = 8,	    [MODULE_MISS_NO_BUILD_ID] = 8,
		[MODULE_MISS_BUILD_ID_DIFFERS] = 9,
	};

	return ranks[m];
}

/* Takes ownership of the text; NULL: out of memory. */
static bool add_tried(struct finder *f, char *text, struct module_tried t)
{
	t.text = text;
	if (text && !vec_push(&f->entry->tried, t))
		return true;
	free(text);
	f->nomem = true;
	return false;
}

static char *tried_text(const char *place, const char *file, const char *why, const char *detail)
{
	char *s;

	return asprintf(&s, "%s%s%s: %s%s%s", place, *file ? " " : "", file, why,
			*detail ? ", " : "", detail) < 0
		       ? NULL
		       : s;
}

void finder_note(struct finder *f, const char *place, enum module_miss miss, const char *detail)
{
	if (miss_rank(miss) > miss_rank(f->miss))
		f->miss = miss;
	add_tried(f, tried_text(place, "", module_miss_text(miss), detail ? detail : ""),
		  (struct module_tried){.why = miss, .is_recorded = f->in_bundle});
}

void finder_note_fetch(struct finder *f, const char *file, enum fetch_result r, const char *detail)
{
	char *s = tried_text("debuginfod", file, fetch_result_text(r), detail);

	if (add_tried(f, s, (struct module_tried){.by_servers = true, .fetch = r}))
		f->fetch_note = s;
}

static enum module_miss miss_of(enum err_code code)
{
	switch (code) {
	case ERR_NOT_FOUND:
		return MODULE_MISS_NO_FILE;
	case ERR_PERMISSION:
		return MODULE_MISS_PERMISSION;
	case ERR_FORMAT:
	case ERR_UNSUPPORTED: /* a directory, a device ... */
		return MODULE_MISS_NOT_ELF;
	case ERR_DAMAGED:
	case ERR_LIMIT:
		return MODULE_MISS_DAMAGED;
	default:
		return MODULE_MISS_UNREADABLE;
	}
}

bool finder_fits_machine(const struct finder *f, const struct elf_image *img)
{
	return processor_runs(f->dirs->arch, elf_image_machine(img));
}

/* Returns NONE if the file may be used. */
static enum module_miss check_file(const struct finder *f, const struct file_check *check,
				   struct elf_image *img, char detail[], size_t detail_size)
{
	const struct build_id *have = elf_image_build_id(img);
	struct build_id checksum;
	char a[BUILD_ID_TEXT_MAX], b[BUILD_ID_TEXT_MAX];
	const uint8_t *bytes;
	size_t size;

	if (!finder_fits_machine(f, img))
		return MODULE_MISS_OTHER_MACHINE;
	if (check->is_supplement && !build_id_equal(check->id, have) &&
	    debug_sup_id(img, &checksum))
		have = &checksum;
	if (check->id->size && (have->size || check->must_match_id || !check->crc) &&
	    !build_id_equal(check->id, have)) {
		snprintf(detail, detail_size, "wanted %s, file has %s",
			 build_id_text(check->id, false, a),
			 have->size ? build_id_text(have, false, b) : "none");
		return MODULE_MISS_BUILD_ID_DIFFERS;
	}
	if (!check->id->size && check->must_match_id)
		return MODULE_MISS_NO_BUILD_ID;
	bytes = elf_image_bytes(img, &size);
	if (check->crc && !(check->id->size && have->size) &&
	    igzip_crc32(bytes, size) != *check->crc)
		return MODULE_MISS_CRC_DIFFERS;
	if (check->wants_debug && !image_has(img, ".debug_info") && !image_has(img, ".symtab")) {
		bool cut = image_is_cut(img);

		snprintf(detail, detail_size, "%s",
			 cut ? "cut short" : "neither .debug_info nor .symtab");
		return cut ? MODULE_MISS_DAMAGED : MODULE_MISS_STRIPPED;
	}
	if (check->wants_all && !image_is_whole(img)) {
		snprintf(detail, detail_size, "cut short");
		return MODULE_MISS_DAMAGED;
	}
	return check->wants_code && !image_has_code(img) ? MODULE_MISS_NO_CODE : MODULE_MISS_NONE;
}

void finder_note_error(struct finder *f, const char *path, const struct err *err)
{
	enum module_miss miss = miss_of(err->code);
	bool is_plain = miss == MODULE_MISS_NO_FILE || !strcmp(err->what, module_miss_text(miss));

	f->nomem |= err->code == ERR_NOMEM;
	finder_note(f, path, miss, is_plain ? NULL : err->what);
}

/* If fd < 0 the path is opened. */
static struct elf_image *try_file(struct finder *f, const struct file_check *check, int fd,
				  const char *path)
{
	struct elf_image *img = cache_find(f->cache, path);
	char detail[128] = "";
	enum module_miss miss;
	bool cached = img;
	struct err err = {0};
	int rc = 0;

	if (!cached)
		rc = fd < 0 ? image_open_below(&img, f->dirs->symfs, path, &err)
			    : elf_image_open_fd(&img, fd, path, &err);
	if (rc) {
		finder_note_error(f, path, &err);
		return NULL;
	}
	miss = check_file(f, check, img, detail, sizeof detail);
	finder_note(f, path, miss, detail[0] ? detail : NULL);
	if (miss != MODULE_MISS_NONE) {
		if (!cached)
			elf_image_close(img);
		return NULL;
	}
	if (!cached && !image_cache_add(f->cache, img)) {
		f->nomem = true;
		return NULL;
	}
	return img;
}

static struct elf_image *try_path(struct finder *f, const struct file_check *check,
				  const char *path)
{
	return try_file(f, check, -1, path);
}

struct elf_image *finder_try_fd(struct finder *f, const struct file_check *check, int fd,
				const char *path)
{
	return try_file(f, check, fd, path);
}

struct elf_image *finder_try_cache(struct finder *f, const struct file_check *check,
				   const char *file)
{
	const char *dir = f->dirs->debuginfod_dir;
	struct file_check strict = *check;
	struct elf_image *img = NULL;
	char path[PATH_MAX];
	enum module_miss why;
	int fd;

	if (!*dir || check->id->size < 2)
		return NULL;
	strict.wants_all = true;
	cache_path(dir, check->id, file, path);
	fd = cache_open(dir, check->id, file, &why);
	if (fd >= 0) {
		img = finder_try_fd(f, &strict, fd, path);
		close(fd);
	} else {
		finder_note(f, path, why, NULL);
	}
	return img;
}

struct elf_image *finder_tryf(struct finder *f, const struct file_check *check, const char *fmt,
			      ...)
{
	char path[PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	return n > 0 && n < (int)sizeof path ? try_path(f, check, path) : NULL;
}

/* ---- the image of a dso ------------------------------------------------------------------- */

#define DELETED " (deleted)"

/* The path without the mark that the kernel appends for deleted files. */
static const char *path_of(const struct dso *dso, char out[PATH_MAX], bool *deleted)
{
	size_t n = strlen(dso->path), m = sizeof DELETED - 1;

	*deleted = n > m && !strcmp(dso->path + n - m, DELETED);
	if (*deleted)
		n -= m;
	if (n >= PATH_MAX)
		n = PATH_MAX - 1;
	memcpy(out, dso->path, n);
	out[n] = 0;
	return out;
}

/* Could the file that we see at the path be another one than the process saw there? */
static bool is_doubtful(const struct finder *f, const char *path)
{
	const struct dso *dso = f->entry->m.dso;
	struct stat st;

	return dso->ino && !dso->build_id.size && !*f->dirs->symfs &&
	       !zip_rooted_stat(NULL, path, &st) &&
	       (major(st.st_dev) != dso->maj || minor(st.st_dev) != dso->min ||
		st.st_ino != dso->ino);
}

/* Was a file without build id replaced? It was if the path has another inode on the same file
 * system, or was written to after the recording. Other file systems (containers, copies) prove
 * nothing. */
static bool was_replaced(const struct finder *f, const char *path)
{
	const struct dso *dso = f->entry->m.dso;
	struct stat st;

	/* A copy in --symfs always has another inode. */
	return dso->ino && !*f->dirs->symfs && !zip_rooted_stat(f->dirs->symfs, path, &st) &&
	       major(st.st_dev) == dso->maj && minor(st.st_dev) == dso->min &&
	       (st.st_ino != dso->ino ||
		(f->dirs->recorded_s && st.st_mtim.tv_sec > f->dirs->recorded_s));
}

/* Has the file got the recorded one's inode after that was gone? */
static bool had_inode_before(const struct finder *f, const char *path)
{
	const struct dso *dso = f->entry->m.dso;
	bool is_other;
	int fd;

	if (!dso->ino_generation || dso->build_id.size || *f->dirs->symfs)
		return false;
	fd = zip_rooted_open(NULL, path);
	is_other = fd >= 0 && finder_is_other_generation(dso, fd);
	if (fd >= 0)
		close(fd);
	return is_other;
}

/* No file that is here is the recorded one. */
static void refuse(struct finder *f, const char *path)
{
	finder_note(f, path, MODULE_MISS_CHANGED, NULL);
	f->miss = MODULE_MISS_CHANGED;
}

static struct elf_image *find_by_path(struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;
	const char *symfs = f->dirs->symfs;
	char path[PATH_MAX];
	struct file_check check = {.id = &dso->build_id, .wants_code = true};
	struct elf_image *img;

	path_of(dso, path, &check.must_match_id);
	if (path[0] == '[' || !path[0])
		return NULL;
	if (!strncmp(path, "//", 2)) { /* no path: the kernel could not tell it */
		finder_note(f, path, MODULE_MISS_NO_FILE, "its path was too long to be recorded");
		return NULL;
	}
	img = is_doubtful(f, path) ? find_in_process(f) : NULL;
	if (img)
		return img;
	if (had_inode_before(f, path)) {
		refuse(f, path);
		return NULL;
	}
	img = finder_tryf(f, &check, "%s%s", symfs, path);
	if (img) {
		if (!dso->build_id.size && was_replaced(f, elf_image_path(img)))
			f->entry->m.image_miss = MODULE_MISS_CHANGED;
		return img;
	}
	if (!*symfs)
		return find_in_process(f);
	/* Outside of the symfs only a build id can prove that it is the right file. */
	check.must_match_id = true;
	return dso->build_id.size ? try_path(f, &check, path) : NULL;
}

static struct elf_image *find_by_id(struct finder *f, const char *leaf)
{
	const struct dso *dso = f->entry->m.dso;
	const struct search_path *p = f->dirs;
	struct file_check check = {.id = &dso->build_id, .must_match_id = true, .wants_code = true};
	char id[BUILD_ID_TEXT_MAX], split[BUILD_ID_TEXT_MAX], path[PATH_MAX];
	struct elf_image *img = NULL;
	bool deleted;
	size_t i;

	if (dso->build_id.size < 2)
		return NULL;
	build_id_text(&dso->build_id, false, id);
	build_id_text(&dso->build_id, true, split);
	path_of(dso, path, &deleted);
	if (*p->buildid_dir) {
		img = finder_tryf(f, &check, "%s/.build-id/%s/%s", p->buildid_dir, split, leaf);
		if (!img)
			img = finder_tryf(f, &check, "%s/%s/%s/%s", p->buildid_dir,
					  path + (path[0] == '/'), id, leaf);
		if (!img) /* perf before 4.11: the link itself is the file */
			img = finder_tryf(f, &check, "%s/.build-id/%s", p->buildid_dir, split);
	}
	/* Links to the binaries, which some distributions make. */
	for (i = 0; !img && p->debug_dirs[i]; i++)
		img = finder_tryf(f, &check, "%s/.build-id/%s", p->debug_dirs[i], split);
	if (!img)
		img = finder_tryf(f, &check, "%s/usr/lib/.build-id/%s", p->symfs, split);
	return img ? img : finder_try_cache(f, &check, "executable");
}

/* Where `make vdso_install` of the kernel puts the vDSO of a release (scripts/Makefile.vdsoinst and
 * its forerunners), with its debug information. */
static struct elf_image *vdso_by_release(struct finder *f)
{
	static const struct {
		const char *dso, *leaf;
	} files[] = {
		{"[vdso]", "vdso64.so"}, /* x86, powerpc, s390 */
		{"[vdso]", "vdso.so"},	 /* arm64, riscv */
		{"[vdso32]", "vdso32.so"},
	};
	const struct dso *dso = f->entry->m.dso;
	const char *release = f->dirs->os_release;
	struct file_check check = {.id = &dso->build_id, .must_match_id = dso->build_id.size};
	struct elf_image *img = NULL;
	size_t i;

	if (!*release || strchr(release, '/'))
		return NULL;
	for (i = 0; !img && i < sizeof files / sizeof *files; i++)
		if (!strcmp(dso->path, files[i].dso))
			img = finder_tryf(f, &check, "%s/lib/modules/%s/vdso/%s", f->dirs->symfs,
					  release, files[i].leaf);
	return img;
}

/* The vDSO of most machines has no file. This process's own vDSO is the recorded one if the build
 * ids match, or, without a recorded build id, if the recording was made under the running kernel.
 * Never used for the vDSO of 32-bit tasks, [vdso32]. */
static struct elf_image *find_vdso(struct finder *f)
{
	static const char place[] = "vDSO of the running kernel";
	const struct dso *dso = f->entry->m.dso;
	struct file_check check = {.id = &dso->build_id};
	struct elf_image *img = find_by_id(f, "vdso");
	enum module_miss miss;
	char detail[128] = "";
	struct utsname un;

	if (!img)
		img = find_recorded(f);
	if (!img)
		img = vdso_by_release(f);
	if (img)
		return img;
	if (!strcmp(dso->path, "[vdso]"))
		f->nomem |= vdso_of_this_process(&img) == -ERR_NOMEM;
	if (!img) {
		finder_note(f, place, MODULE_MISS_NO_FILE, NULL);
		return NULL;
	}
	check.must_match_id = uname(&un) || strcmp(un.release, f->dirs->os_release);
	miss = check_file(f, &check, img, detail, sizeof detail);
	finder_note(f, place, miss, detail[0] ? detail : NULL);
	if (miss != MODULE_MISS_NONE) {
		elf_image_close(img);
		return NULL;
	}
	if (image_cache_add(f->cache, img))
		return img;
	f->nomem = true;
	return NULL;
}

/* The file that a recorder still has open: also if it was deleted, replaced, or is nowhere in this
 * mount namespace. The kernel may have told no build id of it. */
static struct elf_image *find_pinned(struct finder *f, bool *changed)
{
	const struct dso *dso = f->entry->m.dso;
	struct file_check check = {.id = &dso->build_id, .wants_code = true};
	int fd = f->dirs->pinned ? f->dirs->pinned(f->dirs->pinned_arg, dso, changed) : -1;
	char name[PATH_MAX];
	struct elf_image *img;

	*changed = *changed && !dso->build_id.size;
	if (fd < 0)
		return NULL;
	/* Two files can have had one path: a program that was replaced, all of one name in memory.
	 */
	if (snprintf(name, sizeof name, "%s", dso->path) >= (int)sizeof name ||
	    (cache_find(f->cache, name) && snprintf(name, sizeof name, "%s (%" PRIu32 ")",
						    dso->path, dso->id) >= (int)sizeof name))
		return NULL;
	img = finder_try_fd(f, &check, fd, name);
	if (img && *changed)
		f->entry->m.image_miss = MODULE_MISS_CHANGED;
	return img;
}

/* A recorder saw that the file without build id was written to, so that the one that is here need
 * not be the one that ran. */
static bool had_changed(const struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;

	return dso->kind == DSO_FILE && !dso->build_id.size && !*f->dirs->symfs &&
	       f->dirs->bundle && bundle_find(f->dirs->bundle, BUNDLE_CHANGED, dso);
}

/* What the recording has of a file that no build id tells from others; or the file itself, which
 * has more, if it is still there and its code is equal. */
static struct elf_image *find_recorded_or_whole(struct finder *f)
{
	struct elf_image *recorded = find_recorded(f), *file;
	bool is_same;

	if (!recorded || f->entry->m.dso->kind != DSO_FILE)
		return recorded;
	file = find_by_path(f);
	is_same = file && !f->entry->m.image_miss && image_is_same_code(file, recorded);
	f->entry->m.image_miss = MODULE_MISS_NONE;
	return is_same ? file : recorded;
}

static bool has_twins(const struct finder *f)
{
	return f->dirs->bundle && bundle_has_twins(f->dirs->bundle, &f->entry->m.dso->build_id);
}

struct elf_image *find_image(struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;
	bool changed = false;
	struct elf_image *img;

	switch (dso->kind) {
	case DSO_FILE:
	case DSO_KERNEL_MODULE:
		/* Without a build id a name does not prove that a file here is the recorded one. */
		img = find_pinned(f, &changed);
		if (!img && (!dso->build_id.size || has_twins(f)))
			img = find_recorded_or_whole(f);
		if (!img && (changed || had_changed(f))) {
			refuse(f, dso->path);
			return NULL;
		}
		if (!img)
			img = find_by_path(f);
		if (!img)
			img = find_by_id(f, "elf");
		return img || !dso->build_id.size ? img : find_recorded(f);
	case DSO_VDSO:
		return find_vdso(f);
	default:
		f->miss = MODULE_MISS_NOT_A_FILE;
		return NULL;
	}
}

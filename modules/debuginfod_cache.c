/* debuginfod_cache.c - the client's cache: checked before use, and repaired.
 *
 * A server may answer with a page of HTML (a hotel's network), with another file, or with the
 * beginning of the right one: transfers without a length end at any byte. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "modules/debuginfod_cache.h"
#include "modules/find.h"
#include "modules/image.h"

/* ---- checks ------------------------------------------------------------------------------ */

/* The section table comes last in files as linkers and strip write them; so a file that has been
 * cut has none, or sections that reach over its end. */
static bool is_complete(const struct elf_image *img)
{
	uint64_t table = (uint64_t)img->ehdr.e_shnum * img->ehdr.e_shentsize;
	size_t i;

	if (!img->ehdr.e_shoff || !image_bytes_at(img, img->ehdr.e_shoff, table ? table : 1))
		return false;
	for (i = 0; i < img->n_sections; i++) {
		const struct elf_section *s = &img->sections[i].s;

		if (s->type != SHT_NOBITS && s->type != SHT_NULL && s->size && !s->data)
			return false;
	}
	return img->n_sections;
}

static enum fetch_result check_file(struct debuginfod_query *q)
{
	char want[BUILD_ID_TEXT_MAX], have[BUILD_ID_TEXT_MAX];
	enum fetch_result result = FETCH_DONE;
	const struct build_id *found;
	struct elf_image *img;
	struct err err = {0};

	if (elf_image_open(&img, q->path, &err)) {
		snprintf(q->detail, sizeof q->detail, "%.100s", err.what);
		return err.code == ERR_FORMAT || err.code == ERR_DAMAGED ? FETCH_NOT_ELF
									 : FETCH_NO_CACHE;
	}
	found = elf_image_build_id(img);
	if (!is_complete(img)) {
		snprintf(q->detail, sizeof q->detail, "cut short");
		result = FETCH_NOT_ELF;
	} else if (!build_id_equal(q->id, found)) {
		snprintf(q->detail, sizeof q->detail, "wanted %s, file has %s",
			 build_id_text(q->id, false, want),
			 found->size ? build_id_text(found, false, have) : "none");
		result = FETCH_BUILD_ID_DIFFERS;
	}
	elf_image_close(img);
	return result;
}

/* The section as the server has it: notes of 4-byte words, in an unknown byte order. The first is
 * it; linkers put no other note into this section. */
static enum fetch_result check_note(const struct debuginfod_query *q)
{
	uint8_t bytes[256];
	unsigned swapped;
	int fd = open(q->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return FETCH_NO_CACHE;
	for (swapped = 0; swapped < 2; swapped++) {
		struct buf b = buf_make(bytes, (size_t)n, 0, swapped);
		uint32_t name_size = buf_u32(&b), id_size = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, 4), *id = buf_take(&b, id_size);
		struct build_id found = {0};

		if (!id || name_size != 4 || memcmp(name, ELF_NOTE_GNU, 4) ||
		    type != NT_GNU_BUILD_ID || !id_size || id_size > BUILD_ID_MAX)
			continue;
		found.size = (uint8_t)id_size;
		memcpy(found.bytes, id, id_size);
		return build_id_equal(q->id, &found) ? FETCH_DONE : FETCH_BUILD_ID_DIFFERS;
	}
	return FETCH_NOT_ELF;
}

enum fetch_result cache_check(struct debuginfod_query *q)
{
	q->detail[0] = 0;
	if (!strcmp(q->file, ".note.gnu.build-id"))
		return check_note(q);
	return q->file[0] == '.' ? FETCH_DONE : check_file(q);
}

/* ---- paths ------------------------------------------------------------------------------- */

void cache_path(const char *dir, const struct build_id *id, const char *file, char out[PATH_MAX])
{
	char hex[BUILD_ID_TEXT_MAX];

	if (snprintf(out, PATH_MAX, "%s/%s/%s%s", dir, build_id_text(id, false, hex),
		     file[0] == '.' ? "section-" : "", file) >= PATH_MAX)
		out[0] = 0;
}

bool cache_has(const char *dir, struct debuginfod_query *q)
{
	struct stat st;

	cache_path(dir, q->id, q->file, q->path);
	if (stat(q->path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	if (cache_check(q) == FETCH_DONE)
		return true;
	unlink(q->path);
	return false;
}

static bool is_empty_file(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

bool cache_says_no(const char *dir, const struct debuginfod_query *q)
{
	char path[PATH_MAX];

	cache_path(dir, q->id, q->file, path);
	return is_empty_file(path);
}

void cache_forget_no(const char *dir, const struct debuginfod_query *q)
{
	const char *const files[] = {q->file, "debuginfo", "executable"};
	size_t n = q->file[0] == '.' ? 3 : 1, i;
	char path[PATH_MAX];

	for (i = 0; i < n; i++) {
		cache_path(dir, q->id, files[i], path);
		if (is_empty_file(path))
			unlink(path);
	}
}

void cache_make_dir(const char *dir)
{
	char path[PATH_MAX], *p;

	if (snprintf(path, sizeof path, "%s", dir) >= PATH_MAX)
		return;
	for (p = path + (path[0] == '/'); (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
}

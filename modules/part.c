/* part.c - which file of an archive a mapping shows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rooted.h"
#include "modules/find.h"
#include "modules/zip.h"
#include "reader/reader.h"

/* Archives of one recording that are kept open. */
enum { ARCHIVES_MAX = 256 };

/* A file that was mapped as code. */
struct archive {
	struct zip *zip; /* NULL: it is no archive */
	int fd;
	char *path;
	VEC(struct map_part) parts; /* that were asked for; their paths are owned */
};

static bool is_recorded(const struct map_source *src, const struct stat *st)
{
	return src->ino && st->st_ino == src->ino && major(st->st_dev) == src->maj &&
	       minor(st->st_dev) == src->min;
}

/* Was the path given to another file since? Other file systems (containers, copies) prove nothing.
 */
static bool is_another(const struct map_source *src, const struct stat *st)
{
	return src->ino && st->st_ino != src->ino && major(st->st_dev) == src->maj &&
	       minor(st->st_dev) == src->min;
}

static int open_pinned(const struct search_path *p, const struct map_source *src)
{
	const struct dso dso = {.kind = DSO_FILE,
				.path = src->path,
				.maj = src->maj,
				.min = src->min,
				.ino = src->ino};
	bool changed;
	int fd = p->pinned && src->ino ? p->pinned(p->pinned_arg, &dso, &changed) : -1;

	return fd < 0 ? -1 : dup(fd);
}

/* As the process that mapped it sees it; only if it is the recorded file. */
static int open_in_process(const struct map_source *src)
{
	char name[PATH_MAX];
	struct stat st;
	int fd = -1;

	if (src->ino && snprintf(name, sizeof name, "/proc/%" PRIu32 "/root%s", src->pid,
				 src->path) < (int)sizeof name)
		fd = rooted_open(NULL, name, true);
	if (fd < 0 || (!fstat(fd, &st) && is_recorded(src, &st)))
		return fd;
	close(fd);
	return -1;
}

static int open_source(const struct search_path *p, const struct map_source *src)
{
	char name[PATH_MAX];
	struct stat st = {0};
	int fd = open_pinned(p, src), other;

	if (fd >= 0 || snprintf(name, sizeof name, "%s%s", p->symfs, src->path) >= (int)sizeof name)
		return fd;
	fd = rooted_open(p->symfs, name, true);
	if (*p->symfs || (fd >= 0 && !fstat(fd, &st) && is_recorded(src, &st)))
		return fd;
	other = open_in_process(src);
	if (fd >= 0 && (other >= 0 || is_another(src, &st))) {
		close(fd);
		fd = -1;
	}
	return other < 0 ? fd : other;
}

static void archive_done(struct archive *a)
{
	size_t i;

	for (i = 0; i < a->parts.n; i++)
		free((char *)(uintptr_t)a->parts.v[i].path);
	vec_done(&a->parts);
	zip_free(a->zip);
	if (a->fd >= 0)
		close(a->fd);
	free(a->path);
}

void part_cache_done(struct part_cache *c)
{
	size_t i;

	for (i = 0; i < c->archives.n; i++) {
		archive_done(c->archives.v[i]);
		free(c->archives.v[i]);
	}
	vec_done(&c->archives);
	hash_done(&c->by_path);
	pthread_mutex_destroy(&c->lock);
}

/* NULL: it is no archive. */
static struct archive *archive_get(struct part_cache *c, const struct search_path *p,
				   const struct map_source *src)
{
	uint64_t key = hash_mix(hash_bytes(src->path, strlen(src->path)), src->ino);
	uint32_t i = hash_get(&c->by_path, key);
	struct archive *a;
	int fd;

	if (i != HASH_NONE)
		return i && !strcmp(c->archives.v[i - 1]->path, src->path) ? c->archives.v[i - 1]
									   : NULL;
	fd = open_source(p, src);
	a = fd >= 0 && zip_is_one(fd) && c->archives.n < ARCHIVES_MAX ? calloc(1, sizeof *a) : NULL;
	if (!a) {
		if (fd >= 0)
			close(fd);
		(void)hash_put(&c->by_path, key, 0); /* on failure it is opened again */
		return NULL;
	}
	a->fd = fd;
	a->path = strdup(src->path);
	if (zip_open(&a->zip, fd) || !a->path || vec_push(&c->archives, a)) {
		archive_done(a);
		free(a);
		(void)hash_put(&c->by_path, key, 0);
		return NULL;
	}
	(void)hash_put(&c->by_path, key, (uint32_t)c->archives.n);
	return a;
}

/* "ARCHIVE!/NAME" of an ELF file. */
static bool part_make(const struct archive *a, uint64_t off, struct map_part *ret)
{
	struct zip_part z;
	char magic[4], *path;

	if (!zip_at(a->zip, a->fd, off, &z) ||
	    pread(a->fd, magic, sizeof magic, (off_t)z.start) != sizeof magic ||
	    memcmp(magic, "\177ELF", sizeof magic) || memchr(z.name, 0, z.name_bytes) ||
	    asprintf(&path, "%s!/%.*s", a->path, (int)z.name_bytes, z.name) < 0)
		return false;
	*ret = (struct map_part){.path = path, .start = z.start, .size = z.size};
	return true;
}

static bool part_find(struct archive *a, uint64_t off, struct map_part *ret)
{
	size_t i;

	for (i = 0; i < a->parts.n; i++)
		if (off - a->parts.v[i].start < a->parts.v[i].size) {
			*ret = a->parts.v[i];
			return true;
		}
	if (!part_make(a, off, ret))
		return false;
	if (!vec_push(&a->parts, *ret))
		return true;
	free((char *)(uintptr_t)ret->path);
	return false;
}

static bool range_recorded(const struct bundle_entry *e, struct map_part *ret)
{
	struct bundle_bytes bytes;
	struct buf b;

	if (!e || bundle_contents(e, &bytes, NULL))
		return false;
	b = buf_make(bytes.v, bytes.n, 0, false);
	*ret = (struct map_part){.path = e->path, .start = buf_u64(&b)};
	ret->size = buf_u64(&b);
	bundle_bytes_done(&bytes);
	return buf_ok(&b);
}

/* By what the recording carries. */
static bool part_recorded(const struct bundle *b, const struct map_source *src,
			  struct map_part *ret)
{
	const size_t n = strlen(src->path);
	size_t i;

	for (i = 0; i < bundle_count(b); i++) {
		const struct bundle_entry *e = bundle_at(b, i);

		if (e->kind == BUNDLE_PART && e->ino == src->ino && e->maj == src->maj &&
		    e->min == src->min && !strncmp(e->path, src->path, n) &&
		    zip_name_in(e->path) == e->path + n + 2 && range_recorded(e, ret) &&
		    src->off - ret->start < ret->size)
			return true;
	}
	return false;
}

bool part_range(struct part_cache *c, const struct search_path *p, const char *path,
		struct map_part *ret)
{
	bool found = false;
	size_t i, k;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < c->archives.n; i++)
		for (k = 0; k < c->archives.v[i]->parts.n && !found; k++) {
			*ret = c->archives.v[i]->parts.v[k];
			found = !strcmp(ret->path, path);
		}
	pthread_mutex_unlock(&c->lock);
	return found || range_recorded(bundle_find_path(p->bundle, BUNDLE_PART, path), ret);
}

bool part_of(struct part_cache *c, const struct search_path *p, const struct map_source *src,
	     struct map_part *ret)
{
	struct archive *a;
	bool found;

	pthread_mutex_lock(&c->lock);
	a = archive_get(c, p, src);
	found = a && part_find(a, src->off, ret);
	pthread_mutex_unlock(&c->lock);
	return found || (!a && part_recorded(p->bundle, src, ret));
}

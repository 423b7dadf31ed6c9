/* cache.c - finds, publishes and discards packed tables. */
#include "dwarf/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_file.h"
#include "base/vec.h"
#include "reader/reader.h"

/* Files that a killed writer left are removed after this time. */
enum { STALE_SECONDS = 3600 };

#define SUFFIX ".dwarf"

bool dwarf_cache_dir(char *buf, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	/* The XDG base directory specification: relative paths are to be ignored. */
	if (base && base[0] == '/')
		n = snprintf(buf, size, "%s/unspool", base);
	else if (home && home[0] == '/')
		n = snprintf(buf, size, "%s/.cache/unspool", home);
	return n > 0 && (size_t)n < size;
}

/* BUILD_ID-IDENTITY.dwarf; for files without a build id IDENTITY.dwarf. */
static bool cache_path(const struct dwarf_cache *c, const struct pack_key *key, char path[PATH_MAX])
{
	char hex[2 * BUILD_ID_MAX + 1] = "";
	unsigned i;
	int n;

	for (i = 0; i < key->build_id.size; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", key->build_id.bytes[i]);
	n = snprintf(path, PATH_MAX, "%s/%s%s%016" PRIx64 SUFFIX, c->dir, hex, *hex ? "-" : "",
		     key->identity[0]);
	return n > 0 && n < PATH_MAX;
}

/* ---- reading ----------------------------------------------------------------------------- */

bool dwarf_cache_open(const struct dwarf_cache *c, const struct pack_key *key, struct pack_file *f)
{
	char path[PATH_MAX];
	const void *data;
	size_t size;

	*f = (struct pack_file){0};
	if (!cache_path(c, key, path) || !cache_file_map(path, &data, &size))
		return false;
	if (dwarf_pack_open(f, data, size, key))
		return true;
	munmap((void *)(uintptr_t)data, size);
	return false;
}

void dwarf_cache_close(struct pack_file *f)
{
	void *data = (void *)(uintptr_t)f->data;
	size_t size = f->size;

	dwarf_pack_close(f);
	if (data)
		munmap(data, size);
}

bool dwarf_cache_remove(const struct dwarf_cache *c, const struct pack_key *key)
{
	char path[PATH_MAX];

	return cache_path(c, key, path) && !unlink(path);
}

/* ---- discarding -------------------------------------------------------------------------- */

struct cached {
	char name[2 * BUILD_ID_MAX + 1 + 16 + sizeof SUFFIX];
	time_t used;
	uint64_t bytes;
};

static int used_cmp(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

/* Removes the least recently used files until the rest fits. */
static void trim(const struct dwarf_cache *c)
{
	VEC(struct cached) files = {0};
	DIR *dir = opendir(c->dir);
	uint64_t total = 0;
	struct dirent *e;
	struct stat st;
	size_t i;

	while (dir && (e = readdir(dir))) {
		size_t len = strlen(e->d_name);
		struct cached f = {.name = ""};

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(e->d_name, ".new-", 5) && time(NULL) - st.st_mtime > STALE_SECONDS)
			unlinkat(dirfd(dir), e->d_name, 0);
		if (len >= sizeof f.name || len < sizeof SUFFIX ||
		    strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX))
			continue;
		memcpy(f.name, e->d_name, len + 1);
		f.used = st.st_mtime;
		f.bytes = (uint64_t)st.st_size;
		total += f.bytes;
		if (vec_push(&files, f))
			break;
	}
	if (files.n)
		qsort(files.v, files.n, sizeof *files.v, used_cmp);
	for (i = 0; i < files.n && total > c->max_bytes; i++) {
		unlinkat(dirfd(dir), files.v[i].name, 0);
		total -= files.v[i].bytes;
	}
	if (dir)
		closedir(dir);
	vec_done(&files);
}

bool dwarf_cache_publish(const struct dwarf_cache *c, const struct pack_key *key,
			 const struct pack_bytes *bytes)
{
	char path[PATH_MAX];

	if (bytes->n > c->max_bytes)
		return false;
	if (cache_path(c, key, path) && cache_file_publish(c->dir, path, bytes->v, bytes->n))
		trim(c);
	return true;
}

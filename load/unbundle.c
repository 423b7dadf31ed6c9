/* unbundle.c - lays out what a recording carries, for other tools. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"
#include "bundle/bundle.h"
#include "load/load.h"

enum { HEX_MAX = 2 * BUILD_ID_MAX + 1, LINK_MORE = 32 };

struct layout {
	int dir;
	const char *dir_name;
	struct unbundle_report *report;
};

/* Of what has no place under its own path. */
#define OTHER_FOLDER ".other"

/* Paths come from the recording: a part ".." would lead out of the folder. A link to PATH/ID/debug
 * has to fit, too. */
static bool is_safe(const char *path)
{
	const char *p = path;

	while (*p) {
		size_t n = strcspn(p, "/");

		if ((n == 2 && !strncmp(p, "..", 2)) || (n == 1 && *p == '.') || n > NAME_MAX)
			return false;
		p += n + (p[n] == '/');
	}
	return *path && strlen(path) < PATH_MAX - HEX_MAX - LINK_MORE;
}

/* Makes the folders of a path, and opens the last one. No link in it is followed. */
static int make_folders(const struct layout *l, const char *path)
{
	char part[NAME_MAX + 1];
	int at = dup(l->dir), next;

	while (at >= 0 && *path) {
		size_t n = strcspn(path, "/");

		memcpy(part, path, n);
		part[n] = 0;
		path += n + (path[n] == '/');
		if (!n)
			continue;
		mkdirat(at, part, 0755);
		next = openat(at, part, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	return at;
}

static int write_range(void *fd, const struct bundle_range *r)
{
	return write_all_at(*(int *)fd, r->bytes, (size_t)r->size, r->off);
}

/* Returns 1 if what the recording has of it is damaged. */
static int write_file_at(struct layout *l, int folder, const char *name,
			 const struct bundle_entry *entry, struct err *err)
{
	int fd, e, rc = 0;

	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	e = fd < 0 || ftruncate(fd, (off_t)entry->size) ? errno : 0;
	if (!e)
		rc = bundle_ranges(entry, write_range, &fd, NULL);
	e = rc > 0 ? rc : e;
	if (fd >= 0 && close(fd) && !e)
		e = errno;
	if (rc < 0) { /* damaged */
		unlinkat(folder, name, 0);
		return 1;
	}
	if (e)
		return err_errno(err, e, l->dir_name, "write");
	l->report->files++;
	return 0;
}

/* Tools find less without; the files themselves are good. */
static void link_at(const struct layout *l, const char *folder, const char *name, const char *to)
{
	int at = make_folders(l, folder), e = errno;

	if (at >= 0) {
		unlinkat(at, name, 0);
		e = symlinkat(to, at, name) ? errno : 0;
		close(at);
	}
	if (at >= 0 && !e)
		return;
	l->report->link_errno = e;
	l->report->links_failed++;
}

static const char *leaf_of(const struct bundle_entry *e)
{
	return e->kind == BUNDLE_DEBUG ? "debug" : e->path[0] == '[' ? "vdso" : "elf";
}

/* Links by build id. Of two files the one with more symbols is the debug file. */
static void link_by_id(const struct layout *l, const struct bundle *b, const struct bundle_entry *e,
		       const char *place, const char *hex)
{
	char folder[32], name[HEX_MAX + 8], to[PATH_MAX + 16];

	snprintf(folder, sizeof folder, ".build-id/%.2s", hex);
	snprintf(to, sizeof to, "../../%s", place);
	link_at(l, folder, hex + 2, to);
	if (e->kind == BUNDLE_IMAGE && bundle_find_id(b, BUNDLE_DEBUG, &e->id, e->path))
		return;
	snprintf(name, sizeof name, "%s.debug", hex + 2);
	snprintf(to, sizeof to, "../../%s/%s", place, leaf_of(e));
	link_at(l, folder, name, to);
}

/* The folder of an entry, the number of which is for those whose path is of no use. */
static void place_of(struct layout *l, const struct bundle_entry *e, size_t number, const char *hex,
		     char place[PATH_MAX])
{
	if (is_safe(e->path)) {
		snprintf(place, PATH_MAX, "%s/%s", e->path + (e->path[0] == '/'),
			 *hex ? hex : "no-id");
		return;
	}
	l->report->moved++;
	if (*hex)
		snprintf(place, PATH_MAX, OTHER_FOLDER "/%s", hex);
	else
		snprintf(place, PATH_MAX, OTHER_FOLDER "/no-id-%zu", number);
}

static int lay_out(struct layout *l, const struct bundle *b, size_t number, struct err *err)
{
	const struct bundle_entry *e = bundle_at(b, number);
	char hex[HEX_MAX] = "", place[PATH_MAX];
	unsigned i;
	int folder, rc;

	if (e->kind != BUNDLE_IMAGE && e->kind != BUNDLE_DEBUG)
		return 0;
	for (i = 0; i < e->id.size; i++)
		snprintf(hex + 2 * i, 3, "%02x", e->id.bytes[i]);
	place_of(l, e, number, hex, place);
	folder = make_folders(l, place);
	rc = folder < 0 ? err_errno(err, errno, l->dir_name, "make a folder in")
			: write_file_at(l, folder, leaf_of(e), e, err);
	if (folder >= 0)
		close(folder);
	if (rc)
		return rc;
	if (e->id.size <= 2)
		l->report->no_id++;
	else if (e->flags & BUNDLE_IS_TWIN)
		l->report->twins++;
	else
		link_by_id(l, b, e, place, hex);
	return 0;
}

int load_unbundle(const char *path, const char *dir, struct unbundle_report *report,
		  struct err *err)
{
	struct layout l = {
		.dir = open(dir, O_DIRECTORY | O_CLOEXEC), .dir_name = dir, .report = report};
	struct perf_file *f = NULL;
	struct bundle *b = NULL;
	const uint8_t *section;
	size_t size, i;
	int rc;

	*report = (struct unbundle_report){0};
	rc = l.dir < 0 ? err_errno(err, errno, dir, "open") : perf_file_open(&f, path, NULL, err);

	section = rc ? NULL : perf_file_feature(f, FEATURE_BUNDLE, &size);
	if (!rc && !section)
		rc = err_set(err, ERR_NOT_FOUND, path,
			     "carries no files: `capture --bundle` and `resolve --bundle` make "
			     "recordings that do");
	if (!rc)
		rc = bundle_open(&b, section, size, err);
	for (i = 0; rc >= 0 && i < bundle_count(b); i++) {
		rc = lay_out(&l, b, i, err);
		report->damaged += rc > 0;
	}
	rc = rc > 0 ? 0 : rc;
	report->lost = b ? bundle_lost_bytes(b) + bundle_refused_bytes(b) : 0;
	bundle_free(b);
	perf_file_close(f);
	if (l.dir >= 0)
		close(l.dir);
	return rc;
}

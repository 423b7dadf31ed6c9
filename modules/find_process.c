/* find_process.c - finds files that only the process itself can show: those of its container, those
 * that were deleted or replaced since, and those that never had a name (memfd_create(2)).
 *
 * Source: proc(5). /proc/PID/root is the process's root directory, with its mounts; /proc/PID/exe
 * and /proc/PID/map_files/START-END are the files themselves, even if their names are gone. A
 * recording may be from another machine, and the pid may belong to another process by now: only a
 * build id, or the recorded device and inode, can prove that it is the right file. */
#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/rooted.h"
#include "modules/find.h"
#include "modules/zip.h"

enum {
	CANDIDATES_MAX = 32,
	LINES_MAX = 100000,
	/* perf inject --jit has this for all files that it makes (perf's util/jitdump.c). */
	INJECTED_GENERATION = 1
};

/* ---- one candidate ------------------------------------------------------------------------ */

static bool is_recorded_inode(const struct dso *dso, const struct stat *st)
{
	return dso->ino && st->st_ino == dso->ino && major(st->st_dev) == dso->maj &&
	       minor(st->st_dev) == dso->min;
}

bool finder_is_other_generation(const struct dso *dso, int fd)
{
	struct stat st;
	/* File systems of the kernel write 32 bits, those of FUSE as many as the call's number
	 * says. */
	union {
		uint64_t room;
		uint32_t generation;
	} u = {0};

	return dso->ino_generation > INJECTED_GENERATION && !fstat(fd, &st) &&
	       is_recorded_inode(dso, &st) && !ioctl(fd, FS_IOC_GETVERSION, &u) &&
	       u.generation != dso->ino_generation;
}

static struct elf_image *try_name(struct finder *f, const char *name)
{
	const struct dso *dso = f->entry->m.dso;
	struct file_check check = {.id = &dso->build_id, .wants_code = true};
	int fd = zip_rooted_open(NULL, name);
	struct elf_image *img = NULL;
	struct stat st;
	struct err err;

	check.must_match_id = dso->build_id.size;
	if (fd < 0) {
		rooted_error(&err, errno, name);
		finder_note_error(f, name, &err);
		return NULL;
	}
	if (!dso->build_id.size &&
	    (fstat(fd, &st) || !is_recorded_inode(dso, &st) || finder_is_other_generation(dso, fd)))
		finder_note(f, name, MODULE_MISS_CHANGED, NULL);
	else
		img = finder_try_fd(f, &check, fd, name);
	close(fd);
	return img;
}

/* ---- places ------------------------------------------------------------------------------- */

/* Compares only the last part of the paths, because the process may see another root than we do.
 * The kernel appends a mark to names that are gone at the time of reading. */
static bool same_name(const char *a, const char *b)
{
	static const char deleted[] = " (deleted)";
	const char *names[] = {a, b};
	size_t sizes[2], i, tail = sizeof deleted - 1;

	for (i = 0; i < 2; i++) {
		const char *slash = strrchr(names[i], '/');

		names[i] = slash ? slash + 1 : names[i];
		sizes[i] = strlen(names[i]);
		if (sizes[i] > tail && !strcmp(names[i] + sizes[i] - tail, deleted))
			sizes[i] -= tail;
	}
	return sizes[0] == sizes[1] && !memcmp(names[0], names[1], sizes[0]);
}

/* Tries the path as the process sees it. Links in it are resolved below its root. */
static struct elf_image *in_container(struct finder *f)
{
	struct module_entry *e = f->entry;
	char root[sizeof e->root], name[PATH_MAX];
	struct elf_image *img = NULL;

	snprintf(root, sizeof root, "/proc/%" PRIu32 "/root", e->m.dso->mapped_by);
	if (snprintf(name, sizeof name, "%s%s", root, e->m.dso->path) < (int)sizeof name)
		img = try_name(f, name);
	if (img)
		memcpy(e->root, root, sizeof root);
	return img;
}

/* Is the line "START-END PROT OFFSET DEV INODE PATH" of code in a file with this name? */
static bool is_mapping_of(char *line, const char *path, char span[64])
{
	char prot[8];
	int at = 0;

	if (sscanf(line, "%63s %7s %*s %*s %*s %n", span, prot, &at) < 2 || !at ||
	    !strchr(prot, 'x'))
		return false;
	line[strcspn(line, "\n")] = 0;
	return same_name(line + at, path);
}

static struct elf_image *among_mappings(struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;
	char line[PATH_MAX + 128], span[64], name[128];
	unsigned lines = 0, candidates = 0;
	struct elf_image *img = NULL;
	FILE *maps;
	int fd;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", dso->mapped_by);
	fd = helper_maps(name);
	maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps && fd >= 0)
		close(fd);
	if (!maps)
		return NULL;
	while (!img && lines++ < LINES_MAX && candidates < CANDIDATES_MAX &&
	       fgets(line, sizeof line, maps)) {
		if (!is_mapping_of(line, dso->path, span))
			continue;
		candidates++;
		snprintf(name, sizeof name, "/proc/%" PRIu32 "/map_files/%s", dso->mapped_by, span);
		img = try_name(f, name);
	}
	fclose(maps);
	return img;
}

/* /proc/PID/exe can be opened by the owner of the process, unlike map_files, which needs
 * CAP_CHECKPOINT_RESTORE. */
static struct elf_image *as_program(struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;
	char name[32], path[PATH_MAX];

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/exe", dso->mapped_by);
	if (!rooted_real(NULL, name, path))
		return NULL;
	return same_name(path, dso->path) ? try_name(f, name) : NULL;
}

struct elf_image *find_in_process(struct finder *f)
{
	const struct dso *dso = f->entry->m.dso;
	struct elf_image *img;
	struct stat st;
	char proc[32];

	if (!dso->mapped_by || *f->dirs->symfs || dso->path[0] != '/' ||
	    !(dso->build_id.size || dso->ino))
		return NULL;
	snprintf(proc, sizeof proc, "/proc/%" PRIu32, dso->mapped_by);
	if (stat(proc, &st)) {
		finder_note(f, proc, MODULE_MISS_NO_FILE, "the process that mapped it has ended");
		return NULL;
	}
	img = in_container(f);
	if (!img)
		img = as_program(f);
	return img ? img : among_mappings(f);
}

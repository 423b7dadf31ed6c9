/* regress_place.c - gives programs another place in memory. Pages of a file stay where they are as
 * long as it is cached, and where that is may make it faster or slower: all runs of a side would
 * share that, and a second look at the same pages would find the same again. Drawn anew for each
 * round, the place is one of the things in which runs of one side differ. */
#include "cmd/regress_place.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "reader/reader.h"

/* Larger files stay where they are: to read them for each round would take longer than the runs. */
enum { PIECE = 1 << 16, SIZE_MAX_BYTES = 256 << 20, HELD_PAGES_MAX = 4096 };

static int open_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > SIZE_MAX_BYTES)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void forget(int fd)
{
	/* Pages that are not written yet stay. */
	(void)fdatasync(fd);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void read_all(int fd)
{
	char piece[PIECE];

	while (read(fd, piece, sizeof piece) > 0)
		;
}

/* What cannot be opened, as of another mount namespace, stays where it is. */
static void each_file(const path_list *files, void (*act)(int fd))
{
	size_t i;
	int fd;

	for (i = 0; i < files->n; i++) {
		fd = *files->v[i] == '/' ? open_module(files->v[i]) : -1;
		if (fd < 0)
			continue;
		act(fd);
		close(fd);
	}
}

/* The pages that were freed last would be taken first, so that the files would be where they were,
 * or in one of two places in turn: a drawn number of pages is taken before them. Returns how many
 * bytes are at *ret. */
static size_t hold_pages(void **ret)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint16_t drawn = 0;
	size_t n;

	if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
		return 0;
	n = (1 + drawn % HELD_PAGES_MAX) * page;
	*ret = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*ret == MAP_FAILED)
		return 0;
	(void)madvise(*ret, n, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < n; at += page)
		((volatile char *)*ret)[at] = 1;
	return n;
}

void regress_place_draw(const path_list *files)
{
	void *held;
	size_t n;

	each_file(files, forget);
	n = hold_pages(&held);
	each_file(files, read_all);
	if (n)
		munmap(held, n);
}

static bool has(const path_list *files, const char *path)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		if (!strcmp(files->v[i], path))
			return true;
	return false;
}

static int add(path_list *files, const char *path)
{
	char *copy = strdup(path);

	if (copy && !vec_push(files, copy))
		return 0;
	free(copy);
	return -1;
}

/* The files of which a run mapped code. A recording that cannot be read has none; what compares the
 * runs will say so. */
static int files_of(const char *recording, path_list *files)
{
	struct perf_file *f = NULL;
	struct perf_batch *batch;
	struct err ignored = {0};
	int rc = perf_file_open(&f, recording, NULL, &ignored);
	size_t i;

	if (rc)
		return 0;
	while ((rc = perf_file_read(f, &batch, &ignored)) > 0)
		perf_batch_release(f, batch);
	for (i = 0, rc = 0; !rc && i < perf_file_dso_count(f); i++) {
		const struct dso *dso = perf_file_dso(f, i);

		if (dso->kind == DSO_FILE && dso->code_size && !has(files, dso->path))
			rc = add(files, dso->path);
	}
	perf_file_close(f);
	return rc;
}

int regress_place_learn(const char *base, const char *new, path_list *files, struct err *err)
{
	path_list side[2] = {{0}};
	int rc = files_of(base, &side[0]), s;
	size_t i;

	rc = rc ? rc : files_of(new, &side[1]);
	for (s = 0; s < 2; s++)
		for (i = 0; !rc && i < side[s].n; i++)
			if (!has(&side[!s], side[s].v[i]))
				rc = add(files, side[s].v[i]);
	for (s = 0; s < 2; s++)
		regress_place_done(&side[s]);
	return rc ? err_nomem(err) : 0;
}

void regress_place_done(path_list *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		free(files->v[i]);
	vec_done(files);
}

/* directory.c - recordings of `perf record --threads`: a directory with a normal file `data` and
 * files data.0, data.1 ... of records without any header, one per thread of the recorder.
 *
 * Source: tools/perf/Documentation/perf.data-directory-format.txt. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "reader/file.h"
#include "reader/record_stream.h"

/* Larger numbers are no recorder's. */
enum { PARTS_MAX = 65536 };

const char *directory_data_path(struct perf_file *f, const char *path)
{
	struct stat st;
	char *ret;

	if (!strcmp(path, "-") || stat(path, &st) || !S_ISDIR(st.st_mode))
		return path;
	f->is_directory = true;
	ret = arena_alloc(&f->arena, strlen(path) + sizeof "/data");
	if (ret)
		sprintf(ret, "%s/data", path);
	return ret;
}

/* The N of a file name "data.N", or -1. Only as the recorder writes it: "data.01" is not accepted.
 */
static long part_number(const char *name)
{
	char same[32];
	long n;

	if (strncmp(name, "data.", 5) != 0 || name[5] < '0' || name[5] > '9')
		return -1;
	n = strtol(name + 5, NULL, 10);
	snprintf(same, sizeof same, "data.%ld", n);
	return strcmp(name, same) ? -1 : n;
}

static int compare_parts(const void *a, const void *b)
{
	const long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static int add_part(struct perf_file *f, const char *dir, int dir_len, long n)
{
	char *path = arena_alloc(&f->arena, (size_t)dir_len + 32);
	struct byte_source part;
	struct err err;
	int rc;

	if (!path)
		return err_nomem(&f->err);
	sprintf(path, "%.*sdata.%ld", dir_len, dir, n);
	if (byte_source_open_file(&part, path, false, &err)) {
		f->stats.damaged = true;
		file_note(f, NOTE_DIRECTORY, "%s: %s", err.source, err.what);
		return 0;
	}
	if (!part.size)
		file_note(f, NOTE_EMPTY_PART,
			  "%s is empty: nothing was recorded on its processors, or it is lost",
			  path);
	rc = record_stream_add(f, &part, 0, part.size);
	if (rc)
		byte_source_close(&part);
	return rc;
}

/* How many files the recorder wrote, as its command line says: one per processor if --threads has
 * no argument. 0: unknown. */
static size_t parts_expected(const struct perf_file *f)
{
	const struct perf_file_info *info = &f->info;
	size_t n = 0;

	for (size_t i = 1; i < info->n_cmdline && strcmp(info->cmdline[i], "--") != 0; i++) {
		const char *arg = info->cmdline[i];

		if (!strcmp(arg, "--threads") || !strcmp(arg, "--threads=cpu"))
			n = info->cpus_online;
		else if (!strncmp(arg, "-C", 2) || !strncmp(arg, "--cpu", 5))
			return 0;
	}
	return n;
}

/* Notes the gaps in the numbers, which should be 0, 1, 2 ... */
static void note_missing_parts(struct perf_file *f, const long *parts, size_t n)
{
	size_t expected = parts_expected(f), first = 0;

	if (n && (size_t)parts[n - 1] + 1 > expected)
		expected = (size_t)parts[n - 1] + 1;
	if (n >= expected)
		return;
	while (first < n && parts[first] == (long)first)
		first++;
	f->stats.damaged = true;
	file_note(f, NOTE_DIRECTORY, "of %zu files of the directory %zu are missing: data.%zu%s",
		  expected, expected - n, first, expected - n > 1 ? " .." : "");
}

int directory_add_streams(struct perf_file *f)
{
	const char *path = f->source.name, *slash = strrchr(path, '/');
	const int dir_len = slash ? (int)(slash + 1 - path) : 0;
	char *dir = arena_strndup(&f->arena, slash ? path : ".", slash ? (size_t)dir_len : 1);
	VEC(long) parts = {0};
	const struct dirent *e;
	DIR *d;
	int rc = 0;

	if (!dir)
		return err_nomem(&f->err);
	d = f->is_directory ? opendir(dir) : NULL;
	while (!rc && d && (e = readdir(d))) {
		long n = part_number(e->d_name);

		if (n >= 0 && vec_push(&parts, n))
			rc = err_nomem(&f->err);
	}
	if (d)
		closedir(d);
	if (parts.n)
		qsort(parts.v, parts.n, sizeof *parts.v, compare_parts);
	if (parts.n && parts.v[parts.n - 1] < PARTS_MAX)
		note_missing_parts(f, parts.v, parts.n);
	for (size_t i = 0; !rc && i < parts.n; i++)
		rc = add_part(f, path, dir_len, parts.v[i]);
	if (!rc && !parts.n) {
		f->stats.damaged = true;
		file_note(
			f, NOTE_DIRECTORY,
			f->is_directory
				? "this is one file of a directory, whose other files are not here"
				: "this is one file of a directory: give the directory to read all "
				  "of it");
	}
	/* Each part has rounds of its own, if any. */
	if (parts.n)
		f->rounds_hold = false;
	vec_done(&parts);
	return rc;
}

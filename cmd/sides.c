/* sides.c - which file is on which side. */
#include "cmd/sides.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void paths_sort(path_list *paths, size_t first)
{
	if (paths->n > first)
		qsort(paths->v + first, paths->n - first, sizeof *paths->v, compare_paths);
}

/* All files of a folder are runs. */
static int add_folder(struct sides *s, path_list *side, const char *path, struct err *err)
{
	DIR *d = opendir(path);
	struct dirent *e;
	size_t before = side->n;
	char *file;

	if (!d)
		return err_errno(err, errno, path, "open");
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		/* capture renames an older recording to FILE.old. */
		if (e->d_name[0] == '.' || (len > 4 && !strcmp(e->d_name + len - 4, ".old")))
			continue;
		if (asprintf(&file, "%s/%s", path, e->d_name) < 0 || vec_push(&s->owned, file) ||
		    vec_push(side, file)) {
			closedir(d);
			return err_nomem(err);
		}
	}
	closedir(d);
	if (side->n == before)
		return err_set(err, ERR_NOT_FOUND, path, "no run in this folder");
	paths_sort(side, before);
	return 0;
}

int sides_add(struct sides *s, int side, char *path, struct err *err)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		char data[PATH_MAX];

		/* A folder of perf record --threads is one recording. */
		snprintf(data, sizeof data, "%s/data", path);
		if (access(data, F_OK))
			return add_folder(s, &s->paths[side], path, err);
	}
	return vec_push(&s->paths[side], path) ? err_nomem(err) : 0;
}

/* Which of the two options an argument is; 2: none. *value: the text after its '=', or NULL. */
static int option_of(const char *const names[2], char *arg, char **value)
{
	int side;

	for (side = 0; side < 2; side++) {
		size_t n = strlen(names[side]);

		*value = NULL;
		if (!strcmp(arg, names[side]))
			break;
		if (!strncmp(arg, names[side], n) && arg[n] == '=') {
			*value = arg + n + 1;
			break;
		}
	}
	return side;
}

int sides_take(struct sides *s, const char *const names[2], int *argc, char **argv, struct err *err)
{
	int from, to = 1, side = -1, rc = 0;

	for (from = 1; from < *argc && !rc; from++) {
		char *arg = argv[from], *value;
		int option = strcmp(arg, "--") ? option_of(names, arg, &value) : -1;

		if (option < 0)
			break;
		if (option < 2) {
			side = option;
			rc = value ? sides_add(s, side, value, err) : 0;
		} else if (arg[0] == '-' && arg[1]) {
			side = -1;
			argv[to++] = arg;
		} else if (side >= 0) {
			rc = sides_add(s, side, arg, err);
		} else {
			argv[to++] = arg;
		}
	}
	while (from < *argc)
		argv[to++] = argv[from++];
	argv[to] = NULL;
	*argc = to;
	return rc;
}

void sides_done(struct sides *s)
{
	size_t i;

	for (i = 0; i < s->owned.n; i++)
		free(s->owned.v[i]);
	vec_done(&s->owned);
	vec_done(&s->paths[0]);
	vec_done(&s->paths[1]);
}

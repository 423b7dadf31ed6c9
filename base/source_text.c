/* source_text.c - finds and reads source files. */
#include "base/source_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rooted.h"

static int open_source(const char *root, const char *path)
{
	struct stat st;
	int fd = rooted_open(root, path, true);

	if (fd >= 0 && (fstat(fd, &st) || st.st_size > SOURCE_BYTES ||
			(!geteuid() && !(st.st_mode & S_IROTH)))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ".." would lead out of the folder. */
static bool is_inside(const char *path)
{
	size_t n = strlen(path);

	return strcmp(path, "..") && strncmp(path, "../", 3) && !strstr(path, "/../") &&
	       !(n > 3 && !strcmp(path + n - 3, "/.."));
}

static int find_source(const struct source_text *t, const char *path)
{
	char full[PATH_MAX];
	const char *end = path;
	int fd = -1;

	for (; t->dir && end && fd < 0; end = strchr(end, '/')) {
		end += strspn(end, "/");
		if (!*end)
			break;
		if (is_inside(end) &&
		    snprintf(full, sizeof full, "%s/%s", t->dir, end) < (int)sizeof full)
			fd = open_source(NULL, full);
	}
	if (snprintf(full, sizeof full, "%s%s", t->root ? t->root : "", path) >= (int)sizeof full)
		return fd;
	return fd < 0 && *path == '/' ? open_source(t->root, full) : fd;
}

static void read_all(struct source_text *t, int fd)
{
	ssize_t n = 1;
	size_t cap = 1 << 16;
	char *more;

	t->s = malloc(cap);
	t->failed |= !t->s;
	while (t->s && (n = read(fd, t->s + t->n, cap - t->n)) > 0) {
		t->n += (size_t)n;
		if (t->n < cap)
			continue;
		if (cap >= SOURCE_BYTES)
			break;
		more = realloc(t->s, cap *= 2);
		t->failed |= !more;
		if (!more)
			break;
		t->s = more;
	}
	if (n < 0) {
		free(t->s);
		t->s = NULL;
	}
}

static void change_file(struct source_text *t, const char *path)
{
	int fd;

	free(t->s);
	free(t->path);
	t->s = NULL;
	t->n = t->at = 0;
	t->line = 1;
	t->path = strdup(path);
	t->failed |= !t->path;
	fd = t->path ? find_source(t, path) : -1;
	if (fd < 0)
		return;
	read_all(t, fd);
	close(fd);
}

/* The end of the line that begins at `at`. */
static size_t end_of_line(const struct source_text *t, size_t at)
{
	const char *end = at < t->n ? memchr(t->s + at, '\n', t->n - at) : NULL;

	return end ? (size_t)(end - t->s) : t->n;
}

const char *source_line(struct source_text *t, const char *path, uint32_t line, size_t *n)
{
	size_t end, begin;

	if (!line || !*path)
		return NULL;
	if (!t->path || strcmp(t->path, path))
		change_file(t, path);
	if (!t->s)
		return NULL;
	if (line < t->line) {
		t->line = 1;
		t->at = 0;
	}
	for (; t->line < line && t->at < t->n; t->line++)
		t->at = end_of_line(t, t->at) + 1;
	if (t->at >= t->n)
		return NULL;
	begin = t->at;
	end = end_of_line(t, begin);
	while (begin < end && (t->s[begin] == ' ' || t->s[begin] == '\t'))
		begin++;
	while (end > begin && strchr(" \t\r", t->s[end - 1]))
		end--;
	*n = end - begin;
	return t->s + begin;
}

void source_text_done(struct source_text *t)
{
	free(t->s);
	free(t->path);
	t->s = t->path = NULL;
}

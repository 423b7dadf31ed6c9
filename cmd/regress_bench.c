/* regress_bench.c - the benchmarks of a suite file. */
#include "cmd/regress_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BENCHES_MAX = 100, NAME_MAX_BYTES = 60 };

/* The command of a side becomes one string for sh -c. Returns 0 or negative. */
static int bench_shell(struct regress_bench *b, enum side side, const char *command,
		       struct err *err)
{
	b->shell[side] = strdup(command);
	return b->shell[side] ? 0 : err_nomem(err);
}

/* The words point into the vector's rows, so they are set when it does not move any more. */
static void set_words(bench_list *all)
{
	size_t i;
	int s;

	for (i = 0; i < all->n; i++)
		for (s = 0; s < SIDE_N; s++) {
			struct regress_bench *b = &all->v[i];
			char *const words[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
					       b->shell[s], NULL};

			if (!b->shell[s])
				continue;
			memcpy(b->words[s], words, sizeof words);
			b->commands[s] = b->words[s];
		}
}

/* Names become parts of file names. */
static bool is_name(const char *s, size_t n)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return n && n <= NAME_MAX_BYTES && *s != '.' && *s != '-' && strspn(s, good) >= n;
}

static bool is_known(const bench_list *all, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (strlen(all->v[i].name) == n && !memcmp(all->v[i].name, name, n))
			return true;
	return false;
}

static int add_line(bench_list *all, const char *path, unsigned number, char *line, struct err *err)
{
	struct regress_bench b = {0};
	char *colon = strchr(line, ':'), *command;
	size_t n;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	n = colon ? (size_t)(colon - line) : 0;
	while (n && strchr(" \t", line[n - 1]))
		n--;
	if (!is_name(line, n))
		return err_set(err, ERR_FORMAT, path,
			       "line %u: not NAME: COMMAND, with a name of at most %d letters, "
			       "digits, '_', '-' or '.'",
			       number, NAME_MAX_BYTES);
	if (is_known(all, line, n))
		return err_set(err, ERR_FORMAT, path, "line %u: there are two of this name",
			       number);
	command = colon + 1 + strspn(colon + 1, " \t");
	if (!*command)
		return err_set(err, ERR_FORMAT, path, "line %u: the command is missing", number);
	if (all->n >= BENCHES_MAX)
		return err_set(err, ERR_LIMIT, path, "more than %d benchmarks", BENCHES_MAX);
	b.name = strndup(line, n);
	if (!b.name || vec_push(all, b)) {
		free(b.name);
		return err_nomem(err);
	}
	if (bench_shell(&all->v[all->n - 1], SIDE_BASE, command, err))
		return -ERR_NOMEM;
	return bench_shell(&all->v[all->n - 1], SIDE_NEW, command, err);
}

int regress_suite_read(bench_list *all, const char *path, struct err *err)
{
	char *text = regress_read_text(path, err), *line = text, *end;
	unsigned number = 1;
	int rc = text ? 0 : -(int)err->code;

	for (; !rc && line; line = end, number++) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		rc = add_line(all, path, number, line, err);
	}
	free(text);
	if (!rc && !all->n)
		rc = err_set(err, ERR_FORMAT, path, "no benchmark in this file (NAME: COMMAND)");
	if (!rc)
		set_words(all);
	return rc;
}

void regress_benches_done(bench_list *all)
{
	size_t i;
	int s;

	for (i = 0; i < all->n; i++) {
		struct regress_bench *b = &all->v[i];

		for (s = 0; s < SIDE_N; s++)
			free(b->shell[s]);
		sides_done(&b->sides);
		earlier_done(&b->earlier);
		regress_page_done(&b->page);
		regress_free(b->g);
		free(b->name);
	}
	vec_done(all);
}

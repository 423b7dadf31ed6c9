/* parts.c - names and limits of the parts of a recording. */
#include "cmd/parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/args.h"

enum { STAMP_DIGITS = 16 };

int parts_parse(void *target, const char *option, char *text, struct err *err)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	struct parts *p = target;
	char *end;
	double n;

	p->wanted = true;
	if (!text || !strcmp(text, "signal"))
		return 0;
	n = strtod(text, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (end > text && n > 0 && n < 1e6 && *end == units[i].letter && !end[1]) {
			p->seconds = n * units[i].seconds;
			return 0;
		}
	if (args_size(text, 0, &p->bytes) && p->bytes)
		return 0;
	return err_set(err, ERR_USAGE, NULL,
		       "%s: '%s' is not `signal`, a size like 100M, or a time like 30s, 5m, 1h",
		       option, text);
}

/* perf's form: year to hundredths of a second. */
static void stamp(char *to, size_t size)
{
	struct timespec now = {0};
	struct tm tm = {0};
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof text, "%Y%m%d%H%M%S", &tm);
	snprintf(to, size, "%s%02ld", text, now.tv_nsec / 10000000);
}

static void forget_oldest(struct parts *p)
{
	(void)unlink(p->names.v[0]);
	free(p->names.v[0]);
	p->names.n--;
	memmove(p->names.v, p->names.v + 1, p->names.n * sizeof *p->names.v);
}

/* FILE.YYYYMMDDhhmmsscc */
static bool is_part(const char *name, const char *file)
{
	const size_t n = strlen(file);

	return !strncmp(name, file, n) && name[n] == '.' && strlen(name + n + 1) == STAMP_DIGITS &&
	       strspn(name + n + 1, "0123456789") == STAMP_DIGITS;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A service that is started again must not keep N files of each run. */
static void look_for_older(struct parts *p, const char *output)
{
	const char *slash = strrchr(output, '/'), *file = slash ? slash + 1 : output;
	const int len = (int)(file - output);
	char *folder = NULL, *name;
	struct dirent *d;
	DIR *dir;

	p->looked = true;
	dir = asprintf(&folder, "%.*s", len, output) < 0 ? NULL : opendir(len ? folder : ".");
	while (dir && (d = readdir(dir)))
		if (is_part(d->d_name, file) &&
		    asprintf(&name, "%.*s%s", len, output, d->d_name) >= 0 &&
		    vec_push(&p->names, name))
			free(name);
	if (p->names.n)
		qsort(p->names.v, p->names.n, sizeof *p->names.v, compare);
	if (dir)
		closedir(dir);
	free(folder);
}

const char *parts_next(struct parts *p, const char *output)
{
	char when[64], *name;

	stamp(when, sizeof when);
	if (asprintf(&name, "%s.%s", output, when) < 0)
		return NULL;
	if (p->files_max && !p->looked)
		look_for_older(p, output);
	/* With the one that begins now there are no more than files_max. */
	while (p->files_max && p->names.n >= p->files_max)
		forget_oldest(p);
	if (vec_push(&p->names, name)) {
		free(name);
		return NULL;
	}
	return name;
}

void parts_done(struct parts *p)
{
	for (size_t i = 0; i < p->names.n; i++)
		free(p->names.v[i]);
	vec_done(&p->names);
}

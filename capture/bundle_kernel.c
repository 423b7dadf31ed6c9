/* bundle_kernel.c - names of the kernel's functions, at the end of a recording. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/bundle_write.h"

enum { TEXT_BYTES = 8 << 20, TEXT_BYTES_MAX = 256 << 20 };

static char *read_list(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t n = 0, cap = TEXT_BYTES;
	char *text = fd < 0 ? NULL : malloc(cap + 1), *more;
	ssize_t got = 1;

	while (text && got > 0 && cap < TEXT_BYTES_MAX) {
		got = read(fd, text + n, cap - n);
		n += got > 0 ? (size_t)got : 0;
		if (n == cap) {
			more = realloc(text, (cap *= 2) + 1);
			if (!more)
				break;
			text = more;
		}
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[n] = 0;
	return text;
}

/* Code and data, as perf takes them; not marks of ARM and RISC-V, and local labels. */
static bool is_wanted(char type, const char *name)
{
	return type && strchr("tTwWdDbB", type) && *name && name[0] != '$' &&
	       strncmp(name, ".L", 2);
}

/* Splits "ADDR T NAME[\t[MODULE]]". */
static bool take_line(char **at, struct cut_symbol *s)
{
	char *line = *at, *end = strchr(line, '\n'), *rest, *tab;

	*at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	s->start = strtoull(line, &rest, 16);
	if (rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !s->start)
		return false;
	s->name = rest + 3;
	s->module = NULL;
	tab = strchr(rest + 3, '\t');
	if (tab) {
		*tab = 0;
		if (tab[1] == '[')
			s->module = strtok(tab + 2, "]");
	}
	return is_wanted(rest[1], s->name);
}

/* Of several names at one place the last one in the list is the one that is shown. */
static int by_start(const void *a, const void *b)
{
	const struct cut_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int kernel_functions_find(struct kernel_functions *k, const struct cut_addrs *ips)
{
	VEC(struct cut_symbol) all = {0};
	struct cut_symbol s = {0};
	size_t i, at = 0;
	char *line;
	int rc = 0;

	k->text = ips->n ? read_list() : NULL;
	for (line = k->text; line && *line && !rc;)
		if (take_line(&line, &s))
			rc = vec_push(&all, s);
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_start);
	for (i = 0; i < ips->n && !rc && all.n; i++) {
		while (at + 1 < all.n && all.v[at + 1].start <= ips->v[i])
			at++;
		if (all.v[at].start > ips->v[i])
			continue;
		if (k->v.n && k->v.v[k->v.n - 1].start == all.v[at].start) {
			k->v.v[k->v.n - 1].end = ips->v[i] + 1;
			continue;
		}
		s = all.v[at];
		s.end = ips->v[i] + 1;
		rc = vec_push(&k->v, s);
	}
	vec_done(&all);
	return rc;
}

void kernel_functions_done(struct kernel_functions *k)
{
	vec_done(&k->v);
	free(k->text);
}

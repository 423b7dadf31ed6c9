/* bundle_kernel.c - names of the kernel's functions, at the end of a recording. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/vec.h"
#include "capture/bundle_write.h"

enum { TEXT_BYTES = 8 << 20, TEXT_BYTES_MAX = 256 << 20 };

static char *read_list(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t n = 0, cap = TEXT_BYTES;
	char *text = fd < 0 ? NULL : pages_alloc(cap + 1), *more;
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
static bool is_nearer(const struct cut_symbol *s, const struct cut_symbol *than)
{
	return !than->name || s->start > than->start ||
	       (s->start == than->start && s->name > than->name);
}

/* Of the symbols that begin before an address, and not before the one below it, the last one. */
static struct cut_symbol *last_before(char *text, const struct cut_addrs *ips)
{
	struct cut_symbol *last = calloc(ips->n + 1, sizeof *last), s;

	while (last && *text) {
		size_t i = take_line(&text, &s) ? cut_addrs_below(ips, s.start) : ips->n;

		if (i < ips->n && is_nearer(&s, &last[i]))
			last[i] = s;
	}
	return last;
}

int kernel_functions_find(struct kernel_functions *k, const struct cut_addrs *ips)
{
	struct cut_symbol *last, s = {0};
	size_t i;
	int rc = 0;

	k->text = ips->n ? read_list() : NULL;
	if (!k->text)
		return 0;
	last = last_before(k->text, ips);
	for (i = 0; i < ips->n && last && !rc; i++) {
		if (last[i].name)
			s = last[i];
		if (!s.name)
			continue;
		if (k->v.n && k->v.v[k->v.n - 1].start == s.start) {
			k->v.v[k->v.n - 1].end = ips->v[i] + 1;
			continue;
		}
		s.end = ips->v[i] + 1;
		rc = vec_push(&k->v, s);
	}
	rc = last ? rc : -1;
	free(last);
	return rc;
}

void kernel_functions_done(struct kernel_functions *k)
{
	vec_done(&k->v);
	free(k->text);
}

/* kernel_names.c - a few names are looked for in one pass over /proc/kallsyms. */
#include "capture/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t kernel_names_add(struct kernel_names *k, const char *name, uint64_t size)
{
	struct kernel_function f = {.size = size};

	for (size_t i = 0; i < k->wanted.n; i++)
		if (k->wanted.v[i].size == size && !strcmp(k->wanted.v[i].name, name))
			return i;
	snprintf(f.name, sizeof f.name, "%s", name);
	return vec_push(&k->wanted, f) ? SIZE_MAX : k->wanted.n - 1;
}

/* Lines rise by address, so that the next function's address ends this one. */
struct scan {
	struct kernel_names *names;
	struct kernel_function *open[8]; /* those of the last line's name */
	size_t n_open;
	uint64_t address; /* of the last line */
};

static void close_open(struct scan *s, uint64_t next)
{
	for (size_t i = 0; i < s->n_open; i++) {
		struct kernel_function *f = s->open[i];
		/* Functions are padded: the next one begins at most one alignment later. */
		bool fits = next - s->address >= f->size && next - s->address - f->size < 64;

		if (f->address && (f->is_sure || !fits))
			continue;
		f->address = s->address;
		f->is_sure = fits;
	}
	s->n_open = 0;
}

static void scan_line(struct scan *s, char *line)
{
	char *name;
	const uint64_t address = strtoull(line, &name, 16);

	if (name == line || strlen(name) < 4)
		return;
	name += 3; /* " t name" */
	name[strcspn(name, "\t\n ")] = 0;
	if (address != s->address)
		close_open(s, address);
	s->address = address;
	for (size_t i = s->names->n_looked_for; i < s->names->wanted.n; i++)
		if (!strcmp(s->names->wanted.v[i].name, name) &&
		    s->n_open < sizeof s->open / sizeof *s->open)
			s->open[s->n_open++] = &s->names->wanted.v[i];
}

static bool all_are_sure(const struct kernel_names *k)
{
	for (size_t i = k->n_looked_for; i < k->wanted.n; i++)
		if (!k->wanted.v[i].is_sure)
			return false;
	return true;
}

void kernel_names_look(struct kernel_names *k)
{
	struct scan s = {.names = k};
	char line[1024];
	FILE *f;

	if (k->n_looked_for == k->wanted.n)
		return;
	f = fopen("/proc/kallsyms", "re");
	while (f && !all_are_sure(k) && fgets(line, sizeof line, f))
		scan_line(&s, line);
	close_open(&s, UINT64_MAX);
	if (f)
		fclose(f);
	k->n_looked_for = k->wanted.n;
}

uint64_t kernel_names_address(const struct kernel_names *k, size_t number)
{
	return number < k->wanted.n ? k->wanted.v[number].address : 0;
}

void kernel_names_done(struct kernel_names *k)
{
	vec_done(&k->wanted);
}

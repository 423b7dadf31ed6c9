/* kernel_range.c - the range of the kernel's code, remembered between recordings. */
#include "capture/kernel_range.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cache_file.h"
#include "base/hash.h"
#include "base/nonstring.h"

#define KALLSYMS_BUFFER 65536

/* ---- what was found last ------------------------------------------------------------------ */

/* The file, in native byte order, because it never leaves the machine. */
struct saved_range {
	char magic[8]; /* the last one is the version */
	struct build_id id;
	uint8_t zero[3];
	uint64_t stext, etext; /* from _text */
	uint64_t sum;	       /* of what is before it */
};

static const char magic[8] NONSTRING = "UNSPKR\0\1";

static bool saved_path(const char *dir, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/kernel.range", dir);

	return n > 0 && n < PATH_MAX;
}

static uint64_t saved_sum(const struct saved_range *s)
{
	return hash_bytes(s, offsetof(struct saved_range, sum));
}

static bool recall(struct saved_range *s, const struct build_id *id, const char *dir)
{
	char path[PATH_MAX];
	const void *data;
	bool ok = false;
	size_t size;

	if (!dir || !id->size || !saved_path(dir, path) || !cache_file_map(path, &data, &size))
		return false;
	if (size == sizeof *s) {
		memcpy(s, data, sizeof *s);
		ok = !memcmp(s->magic, magic, sizeof magic) && s->sum == saved_sum(s) &&
		     build_id_identical(&s->id, id);
	}
	munmap((void *)(uintptr_t)data, size);
	return ok;
}

static void remember(const struct kernel_range *r, const struct build_id *id, const char *dir)
{
	struct saved_range s;
	char path[PATH_MAX];

	if (!dir || !id->size || !r->text || r->stext < r->text || r->etext <= r->text ||
	    !saved_path(dir, path) || cache_dir_make(dir))
		return;
	memset(&s, 0, sizeof s); /* the sum covers padding, too */
	memcpy(s.magic, magic, sizeof magic);
	s.id = *id;
	s.stext = r->stext - r->text;
	s.etext = r->etext - r->text;
	s.sum = saved_sum(&s);
	(void)cache_file_publish(dir, path, &s, sizeof s);
}

/* ---- /proc/kallsyms ----------------------------------------------------------------------- */

/* "ffffffff81000000 T _text": sets what the line says. Returns false if the value is hidden. */
static bool take_line(char *line, struct kernel_range *r)
{
	char *name;
	uint64_t addr = strtoull(line, &name, 16);

	if (name == line || strlen(name) < 4 || name[3] != '_')
		return true;
	name += 3; /* " T name" */
	name[strcspn(name, "\t\n ")] = 0;
	if (!strcmp(name, "_text"))
		r->text = addr;
	else if (!strcmp(name, "_stext"))
		r->stext = addr;
	else if (!strcmp(name, "_etext"))
		r->etext = addr;
	return addr || strcmp(name, "_text");
}

/* Addresses rise: _etext comes last of the three. */
static void scan(FILE *f, struct kernel_range *r, const struct saved_range *saved)
{
	char line[1024];

	while (!r->etext && fgets(line, sizeof line, f) && take_line(line, r)) {
		if (saved && r->text) {
			r->stext = r->text + saved->stext;
			r->etext = r->text + saved->etext;
		}
	}
}

void kernel_range_read(struct kernel_range *r, const char *proc, const struct build_id *id,
		       const char *cache_dir)
{
	struct saved_range saved;
	bool known = recall(&saved, id, cache_dir);
	char path[128];
	FILE *f;

	*r = (struct kernel_range){0};
	snprintf(path, sizeof path, "%s/kallsyms", proc);
	f = fopen(path, "re");
	if (!f)
		return;
	/* stdio reads by st_blksize otherwise, which is 1024 in /proc. */
	(void)setvbuf(f, NULL, _IOFBF, known ? 4096 : KALLSYMS_BUFFER);
	scan(f, r, known ? &saved : NULL);
	fclose(f);
	if (!known)
		remember(r, id, cache_dir);
}

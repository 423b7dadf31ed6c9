/* split.c - finds the split unit of a skeleton (DWARF5 7.3.2; earlier: GNU's DebugFission). */
#include "dwarf/split.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "modules/modules.h"

struct split {
	char *path;
	struct elf_image *img; /* NULL: there is no such file */
	struct dwarf_file file;
};

struct dwarf_splits {
	const struct elf_image *of[2]; /* the binary and its debug file; NULL: none */
	/* Guards `files`; a struct split is never moved or freed before the end. */
	pthread_mutex_t lock;
	VEC(struct split *) files; /* files that were tried, also those that do not exist */
};

int dwarf_splits_new(struct dwarf_splits **ret, const struct elf_image *const of[2])
{
	struct dwarf_splits *s = calloc(1, sizeof *s);

	if (!s)
		return -ERR_NOMEM;
	s->of[0] = of[0];
	s->of[1] = of[1];
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

static void split_free(struct split *f)
{
	dwarf_file_close(&f->file);
	elf_image_close(f->img);
	free(f->path);
	free(f);
}

void dwarf_splits_free(struct dwarf_splits *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->files.n; i++)
		split_free(s->files.v[i]);
	vec_done(&s->files);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void dwarf_splits_forget_units(struct dwarf_splits *s)
{
	size_t i;

	for (i = 0; s && i < s->files.n; i++)
		dwarf_file_forget_units(&s->files.v[i]->file);
}

/* ---- files ------------------------------------------------------------------------------- */

/* Opens the file at a path, once. *ret is NULL if it cannot be read. Called with the lock held. */
static int open_split(struct dwarf_splits *s, const struct elf_image *of, const char *path,
		      struct split **ret)
{
	struct split *f;
	size_t i;
	int rc;

	*ret = NULL;
	for (i = 0; i < s->files.n; i++)
		if (!strcmp(s->files.v[i]->path, path)) {
			*ret = s->files.v[i]->img ? s->files.v[i] : NULL;
			return 0;
		}
	f = calloc(1, sizeof *f);
	if (!f)
		return -ERR_NOMEM;
	f->path = strdup(path);
	rc = f->path ? elf_image_open_named(&f->img, of, path, NULL) : -ERR_NOMEM;
	if (rc)
		f->img = NULL;
	else
		rc = dwarf_file_open(&f->file, f->img, true, 1, NULL);
	if (rc == -ERR_NOMEM || vec_push(&s->files, f)) {
		split_free(f);
		return -ERR_NOMEM;
	}
	*ret = f->img ? f : NULL;
	return 0;
}

/* Makes candidate number i for the path of the skeleton's split unit. Returns false if there are no
 * more candidates. An empty path is to be skipped. */
static bool candidate(const struct dwarf_splits *s, const struct dwarf_cu *cu, unsigned i,
		      char path[PATH_MAX])
{
	const char *base = s->of[i % 2] ? elf_image_path(s->of[i % 2]) : NULL;
	const char *name = cu->dwo_name, *slash;
	const char *dir = cu->comp_dir ? cu->comp_dir : ".";
	int n = 0;

	path[0] = 0;
	switch (i / 2) {
	case 0: /* a package beside the binary or its debug file */
		if (base)
			n = snprintf(path, PATH_MAX, "%s.dwp", base);
		break;
	case 1: /* where the compiler wrote it */
		if (i % 2)
			break;
		n = name[0] == '/' ? snprintf(path, PATH_MAX, "%s", name)
				   : snprintf(path, PATH_MAX, "%s/%s", dir, name);
		break;
	case 2: /* beside the binary: the name as it is, then only its last part */
	case 3:
		slash = base ? strrchr(base, '/') : NULL;
		if (i / 2 == 3)
			name = base_name(name);
		if (slash && name[0] != '/')
			n = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - base), base, name);
		break;
	default:
		return false;
	}
	if (n < 0 || n >= PATH_MAX)
		path[0] = 0;
	return true;
}

/* ---- units ------------------------------------------------------------------------------- */

static int cu_in(const struct dwarf_file *f, const struct dwarf_unit *u,
		 const struct dwarf_cu *skeleton, struct dwarf_cu *ret)
{
	int rc;

	if (u->type != DW_UT_split_compile && (u->version >= 5 || u->type != DW_UT_compile))
		return 1;
	rc = dwarf_cu_open_split(ret, f, u, skeleton);
	return rc ? rc : ret->dwo_id != skeleton->dwo_id;
}

static int find_in(const struct dwarf_file *f, const struct dwarf_cu *skeleton,
		   struct dwarf_cu *ret)
{
	size_t i;
	int rc = 1;

	if (f->package) {
		const struct dwarf_contribution *c =
			dwarf_package_find(f->package, skeleton->dwo_id);
		const struct dwarf_unit *u = c ? dwarf_file_unit_at(f, c->info_off) : NULL;

		return u ? cu_in(f, u, skeleton, ret) : 1;
	}
	for (i = 0; rc > 0 && i < f->n_units; i++)
		rc = cu_in(f, &f->units[i], skeleton, ret);
	return rc;
}

int dwarf_splits_cu(struct dwarf_splits *s, const struct dwarf_cu *skeleton, struct dwarf_cu *ret,
		    bool *differs)
{
	char path[PATH_MAX];
	unsigned i;
	int rc = 1;

	for (i = 0; rc > 0 && candidate(s, skeleton, i, path); i++) {
		struct split *f;

		if (!path[0])
			continue;
		pthread_mutex_lock(&s->lock);
		rc = open_split(s, s->of[i % 2] ? s->of[i % 2] : s->of[!(i % 2)], path, &f);
		pthread_mutex_unlock(&s->lock);
		if (rc)
			return rc;
		rc = f ? find_in(&f->file, skeleton, ret) : 1;
		*differs |= f && rc > 0;
	}
	return rc;
}

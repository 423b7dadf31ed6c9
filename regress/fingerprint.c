/* fingerprint.c - finds compiler and build time of the compared programs. */
#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "regress/inside.h"

/* Limit: a program links hundreds of libraries, but few of them differ. */
enum { DESCRIBED_MAX = 16 };

#define LINKER "Linker:"

/* Reads the last string of .comment that is not a linker's: "GCC: (Debian 12.2.0-14) 12.2.0". What
 * was compiled by another one has one of gcc before its own, from the C library's files that begin
 * a program. */
static void read_compiler(struct elf_image *img, struct build *b)
{
	struct elf_section s;
	const char *text, *at, *end;

	if (!elf_image_section(img, ".comment", &s, NULL) || !s.data)
		return;
	text = (const char *)s.data;
	for (at = text; at < text + s.size; at = end + 1) {
		end = at + strnlen(at, s.size - (size_t)(at - text));
		if (end - at > 0 && strncmp(at, LINKER, sizeof LINKER - 1) != 0)
			snprintf(b->compiler, sizeof b->compiler, "%.*s",
				 (int)(end - at < 200 ? end - at : 200), at);
	}
}

static bool is_on_both(const struct regress *g, int side, const struct build *b)
{
	const struct side_code *other = &g->code[!side];
	size_t i;

	for (i = 0; i < other->builds.n; i++)
		if (build_id_equal(&b->id, &other->builds.v[i].id))
			return true;
	return false;
}

static int describe(struct modules *m, struct dso *dso, struct build *b)
{
	struct module *mod;
	Elf64_Phdr interp;

	dso->kind = DSO_FILE;
	dso->path = b->path;
	dso->build_id = b->id;
	mod = modules_get(m, dso);
	if (!mod)
		return -1;
	b->is_described = true;
	if (!mod->image || mod->image_miss)
		return 0;
	b->is_program = elf_image_phdr(mod->image, PT_INTERP, &interp) && !strstr(b->path, ".so");
	b->built_ns = elf_image_mtime_ns(mod->image);
	read_compiler(mod->image, b);
	return 0;
}

int regress_warn(struct regress *g, const char *text, struct err *err)
{
	char *note = strdup(text);

	if (note && !vec_push(&g->warnings, note))
		return 0;
	free(note);
	return err_nomem(err);
}

/* The program of a side that the other side does not have; NULL: none. */
static const struct build *program_of(const struct regress *g, int side)
{
	size_t i;

	for (i = 0; i < g->code[side].builds.n; i++)
		if (g->code[side].builds.v[i].is_program)
			return &g->code[side].builds.v[i];
	return NULL;
}

static int compare_programs(struct regress *g, struct err *err)
{
	const struct build *a = program_of(g, SIDE_BASE), *b = program_of(g, SIDE_NEW);
	char line[1024];
	int rc = 0;

	if (!a || !b)
		return 0;
	if (a->built_ns && b->built_ns && a->built_ns > b->built_ns + 1000000000) {
		snprintf(line, sizeof line,
			 "the base's program %.400s was built after the new side's %.400s: are the "
			 "sides swapped?",
			 a->path, b->path);
		rc = regress_warn(g, line, err);
	}
	if (!rc && *a->compiler && *b->compiler && strcmp(a->compiler, b->compiler)) {
		snprintf(line, sizeof line, "the compilers differ: %s, %s", a->compiler,
			 b->compiler);
		rc = regress_warn(g, line, err);
	}
	return rc;
}

int builds_describe(struct regress *g, struct err *err)
{
	struct dso dso[SIDE_N * DESCRIBED_MAX] = {0};
	struct modules *modules;
	int rc = modules_new(&modules, NULL, err), s;
	size_t i, n = 0;

	for (s = 0; s < SIDE_N; s++)
		for (i = 0; !rc && i < g->code[s].builds.n && n < (size_t)(s + 1) * DESCRIBED_MAX;
		     i++) {
			struct build *b = &g->code[s].builds.v[i];

			if (!b->id.size || is_on_both(g, s, b))
				continue;
			dso[n].id = (uint32_t)n;
			rc = describe(modules, &dso[n++], b) ? err_nomem(err) : 0;
		}
	if (!rc)
		rc = compare_programs(g, err);
	modules_free(modules);
	return rc;
}

const char *regress_warning(const struct regress *g, size_t i)
{
	return i < g->warnings.n ? g->warnings.v[i] : NULL;
}

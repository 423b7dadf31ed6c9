/* inlined.c - copies of functions that were inlined: debug information says where they begin. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "probe/match.h"
#include "probe/places.h"

static bool wants(void *arg, const char *name)
{
	return pattern_matches(arg, name);
}

/* "tiny, inlined into main at in.c:12" */
static const char *describe(struct pattern *p, const struct dwarf_inlined_place *c,
			    struct arena *memory)
{
	char text[1200];
	size_t n;

	n = (size_t)snprintf(text, sizeof text, "%.500s, inlined",
			     pattern_display_name(p, c->name));
	if (c->into)
		n += (size_t)snprintf(text + n, sizeof text - n, " into %.500s",
				      pattern_display_name(p, c->into));
	if (c->file && c->line)
		snprintf(text + n, sizeof text - n, " at %.120s:%u", base_name(c->file), c->line);
	return arena_strndup(memory, text, strlen(text));
}

static int add_copy(struct elf_image *img, struct pattern *p, const struct dwarf_inlined_place *c,
		    struct probe_places *ret)
{
	char name[32];
	uint64_t off;

	if (!elf_image_vaddr_to_off(img, c->vaddr, &off))
		return 0;
	snprintf(name, sizeof name, "0x%llx", (unsigned long long)c->vaddr);
	if (places_add(ret, off, 0, name))
		return -1;
	ret->places.v[ret->places.n - 1].inlined = describe(p, c, &ret->names);
	return ret->places.v[ret->places.n - 1].inlined ? 0 : -1;
}

/* "in.c:12, in.c:20 .." */
static void list_some(const struct dwarf_inlined_places *found, char ret[INLINED_BYTES])
{
	size_t used = 0, i;

	*ret = 0;
	for (i = 0; i < found->places.n && i < 3; i++) {
		const struct dwarf_inlined_place *c = &found->places.v[i];

		if (c->file && c->line)
			used += (size_t)snprintf(ret + used, INLINED_BYTES - used, "%s%.60s:%u",
						 used ? ", " : "", base_name(c->file), c->line);
	}
	if (i < found->places.n && used)
		snprintf(ret + used, INLINED_BYTES - used, " ..");
}

int inlined_find(struct module *mod, struct pattern *p, bool is_taken, struct probe_places *ret,
		 char at[INLINED_BYTES], struct err *err)
{
	struct dwarf_inlined_places found = {0};
	struct dwarf_params *params;
	int rc = dwarf_params_open(&params, mod, err);

	*at = 0;
	if (rc || !params)
		return rc;
	if (dwarf_params_inlined(params, wants, p, &found))
		rc = err_nomem(err);
	for (size_t i = 0; i < found.places.n && is_taken && !rc; i++)
		rc = add_copy(mod->image, p, &found.places.v[i], ret) ? err_nomem(err) : 0;
	ret->n_inlined = found.places.n;
	list_some(&found, at);
	vec_done(&found.places);
	dwarf_params_free(params);
	return rc;
}

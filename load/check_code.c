/* check_code.c - checks that a call precedes each return address.
 *
 * A file without build id that was rebuilt since looks the same; on other media its inode says
 * nothing either. But in other code than the recorded one, hardly any of the return addresses
 * follow a call. */
#include "base/err.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <stdlib.h>

/* A few return addresses may be made by hand, as that of a coroutine's first function. */
enum { WRONG_MIN = 2, WRONG_PART = 4 };

struct tally {
	uint32_t checked, wrong;
	uint32_t location; /* the last wrong one */
};

static bool is_behind_call(const struct module *m, uint64_t off, bool *known)
{
	uint64_t vaddr;
	size_t back = UNWIND_CALL_BYTES_MAX, left;
	const uint8_t *code = NULL;

	/* off is the offset of the call's last byte. */
	*known = elf_image_off_to_vaddr(m->image, off, &vaddr);
	for (; *known && !code && back; back--)
		if (vaddr + 1 >= back)
			code = elf_image_at_vaddr(m->image, vaddr + 1 - back, &left);
	*known = code && left > back;
	return *known && unwind_ends_in_call(elf_image_machine(m->image), elf_image_is_64(m->image),
					     code + back + 1, back + 1);
}

static int count(struct loaded *p, struct tally *t, struct err *err)
{
	size_t i;

	for (i = 0; i < p->profile->locations.n; i++) {
		const struct profile_location *l = &p->profile->locations.v[i];
		const struct dso *dso = p->profile->mappings.v[l->mapping].dso;
		const struct module *m;
		bool known, good;

		if (!dso || dso->kind != DSO_FILE || dso->build_id.size || !l->is_return_address ||
		    l->how != FRAME_CFI)
			continue;
		m = modules_get(p->modules, dso);
		if (!m)
			return err_nomem(err);
		if (!m->image)
			continue;
		good = is_behind_call(m, l->off, &known);
		t[l->mapping].checked += known;
		t[l->mapping].wrong += known && !good;
		if (known && !good)
			t[l->mapping].location = (uint32_t)i;
	}
	return 0;
}

/* True if all stacks through the location end because nothing sensible came next. */
static bool leads_nowhere(const struct profile *p, uint32_t location)
{
	bool *through = calloc(p->nodes.n + 1, sizeof *through), nowhere = through != NULL;
	size_t i;

	for (i = 1; nowhere && i < p->nodes.n; i++) /* a parent's id is smaller */
		through[i] = through[p->nodes.v[i].parent] || p->nodes.v[i].location == location;
	for (i = 0; nowhere && i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];

		nowhere = !through[s->node] || s->stop == UNWIND_STOP_NO_MAP ||
			  s->stop == UNWIND_STOP_BAD_CFI;
	}
	free(through);
	return nowhere;
}

/* In a tight loop other code has a single return address, after which all is lost (besides those of
 * the startup code, which is the same in all programs). One of a coroutine is its root, or one of
 * many. */
static bool is_other_code(const struct profile *p, const struct tally *t)
{
	return t->wrong * WRONG_PART > t->checked &&
	       (t->wrong >= WRONG_MIN || leads_nowhere(p, t->location));
}

int check_code(struct loaded *p, struct err *err)
{
	struct tally *t = calloc(p->profile->mappings.n + 1, sizeof *t);
	int rc = t ? count(p, t, err) : err_nomem(err);
	size_t i;

	for (i = 0; !rc && i < p->profile->mappings.n; i++)
		if (is_other_code(p->profile, &t[i]))
			module_reject(modules_get(p->modules, p->profile->mappings.v[i].dso));
	free(t);
	return rc;
}

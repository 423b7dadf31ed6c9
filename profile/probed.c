/* probed.c - a probe on an inlined copy is one on code of another function. */
#include "profile/profile.h"

#include <string.h>

#include "base/strtab.h"
#include "base/text.h"

/* Does "uprobe:FILE:ns::f" end in the name of this function? */
static bool names(const char *event, const struct profile *p, uint32_t function)
{
	struct text t = {0};
	const size_t n = strlen(event);
	bool is;

	fold_function(&t, strtab_get(&p->strings, function), strtab_len(&p->strings, function));
	is = t.n && !t.failed && n > t.n && !memcmp(event + n - t.n, t.s, t.n) &&
	     event[n - t.n - 1] == ':';
	text_done(&t);
	return is;
}

size_t profile_probed_level(const struct profile *p, uint32_t event, uint32_t node, uint32_t *name)
{
	const char *text = strtab_get(&p->strings, p->events.v[event].name);
	const struct profile_location *l = node ? &p->locations.v[p->nodes.v[node].location] : NULL;

	*name = 0;
	if (!l || (!str_starts_with(text, "uprobe:") && !str_starts_with(text, "u:")))
		return 0;
	for (size_t i = 0; i + 1 < l->n_lines; i++) {
		*name = p->functions.v[p->lines.v[l->first_line + i].function].name;
		if (names(text, p, *name))
			return l->n_lines - 1 - i;
	}
	*name = 0;
	return 0;
}

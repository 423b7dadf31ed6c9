/* nearest.c - the names that come near one that no function has. */
#include "probe/nearest.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* Up to three names that come nearest. */
struct nearest {
	const char *name[3];
	unsigned distance[3];
};

static void consider(struct nearest *n, const char *name, unsigned distance)
{
	size_t i;

	if (!name) /* out of memory: one name less */
		return;
	for (i = 0; i < 3; i++)
		if (n->name[i] && !strcmp(n->name[i], name))
			return;
	for (i = 3; i-- > 0 && (!n->name[i] || n->distance[i] > distance);)
		if (i + 1 < 3) {
			n->name[i + 1] = n->name[i];
			n->distance[i + 1] = n->distance[i];
		}
	if (i + 1 < 3) {
		n->name[i + 1] = name;
		n->distance[i + 1] = distance;
	}
}

/* How far the name of a function is from what was typed. Their last parts count, too: people leave
 * out namespaces, or take another one, and types are written in many ways. */
static unsigned distance_of(const struct pattern *p, const char *name, unsigned max)
{
	const size_t n = strcspn(name, "(");
	unsigned d = name_distance(p->text, p->len, name, n, max), parts;
	size_t n_typed, n_name;
	const char *typed = spelling_last_part(p->text, p->len, &n_typed);
	const char *part = spelling_last_part(name, strlen(name), &n_name);

	parts = n_typed ? name_distance(typed, n_typed, part, n_name, n_typed < 4 ? 0 : 2) : d;
	if (parts <= (n_typed < 4 ? 0 : 2) && parts < d)
		d = parts + 1 < max ? parts + 1 : max;
	if (d > max && n > p->len && memmem(name, n, p->text, p->len))
		d = max;
	return d;
}

static void write_names(const struct nearest *n, char ret[NEAREST_BYTES])
{
	size_t used = 0;

	*ret = 0;
	for (size_t i = 0; i < 3 && n->name[i]; i++) {
		const size_t left = NEAREST_BYTES - used;

		if ((size_t)snprintf(ret + used, left, "%s%s", i ? ", " : "", n->name[i]) >= left)
			break; /* cut */
		used += strlen(ret + used);
	}
}

/* Of a pattern: the same one behind any namespace, if that means something. */
static void widen(const struct pattern *p, const struct functab *tab, char ret[NEAREST_BYTES])
{
	char text[PATTERN_MAX];
	struct pattern wide;
	size_t found = 0;

	*ret = 0;
	if (p->text[0] == '*' || p->len + 2 > sizeof text)
		return;
	snprintf(text, sizeof text, "*%.*s", (int)p->len, p->text);
	pattern_init(&wide, text, strlen(text));
	for (size_t i = 0; i < tab->funcs.n; i++)
		found += !match_is_part(tab->funcs.v[i].name) &&
			 pattern_matches(&wide, tab->funcs.v[i].name);
	pattern_done(&wide);
	if (found)
		snprintf(ret, NEAREST_BYTES, "'%s' (%zu functions)", text, found);
}

void nearest_names(struct pattern *p, const struct functab *tab, char ret[NEAREST_BYTES])
{
	const unsigned max = p->len < 4 ? 1 : p->len < 9 ? 2 : (unsigned)p->len / 3;
	struct nearest near = {0};
	struct arena names = {0};

	if (p->is_wild) {
		widen(p, tab, ret);
		return;
	}
	for (size_t i = 0; i < tab->funcs.n; i++) {
		const char *name = pattern_display_name(p, tab->funcs.v[i].name);
		const unsigned d =
			match_is_part(tab->funcs.v[i].name) ? max + 1 : distance_of(p, name, max);

		if (d <= max)
			consider(&near, arena_strndup(&names, name, strlen(name)), d);
	}
	write_names(&near, ret);
	arena_done(&names);
}

/* places.c - the list of places at which a probe goes. */
#include "probe/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

int places_add(struct probe_places *p, uint64_t off, uint64_t ref_ctr_off, const char *name)
{
	struct probe_place place = {.off = off, .ref_ctr_off = ref_ctr_off};

	place.name = arena_strndup(&p->names, name, strlen(name));
	return place.name && !vec_push(&p->places, place) ? 0 : -1;
}

static int by_off(const void *a, const void *b)
{
	const struct probe_place *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

void places_finish(struct probe_places *p)
{
	size_t n = 0;

	if (p->places.n)
		qsort(p->places.v, p->places.n, sizeof *p->places.v, by_off);
	for (size_t i = 0; i < p->places.n; i++)
		if (!n || p->places.v[n - 1].off != p->places.v[i].off)
			p->places.v[n++] = p->places.v[i];
	p->places.n = n;
}

void probe_places_done(struct probe_places *p)
{
	vec_done(&p->places);
	arena_done(&p->names);
}

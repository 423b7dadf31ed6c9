/* lines.c - counts a function's samples by source line. */
#include <math.h>

#include "base/hash.h"
#include "base/pair.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "regress/inside.h"

#define PARTS 4096.

static struct line_count *line_at(struct regress *g, uint32_t key, uint32_t distance)
{
	uint32_t hash = (uint32_t)hash_u64(pair_key(key, distance)), id;
	struct hash_probe probe = hash_index_probe(&g->lines_known, hash);

	while ((id = hash_index_next(&g->lines_known, &probe)) != HASH_NONE)
		if (g->lines.v[id].key == key && g->lines.v[id].distance == distance)
			return &g->lines.v[id];
	if (vec_push(&g->lines, (struct line_count){.key = key, .distance = distance}) ||
	    hash_index_put(&g->lines_known, hash, (uint32_t)g->lines.n - 1))
		return NULL;
	return &g->lines.v[g->lines.n - 1];
}

int lines_see(struct regress *g, enum side side, const struct profile *p, const bool *has_event,
	      const uint32_t *keys, double unit)
{
	size_t i, n;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		uint32_t location = p->nodes.v[s->node].location, start;
		const struct profile_line *lines;
		struct line_count *at;

		if (!s->node || !has_event[s->event])
			continue;
		lines = profile_lines(p, &p->locations.v[location], false, &n);
		start = n ? p->functions.v[lines[0].function].start_line : 0;
		if (!start || lines[0].line < start)
			continue;
		at = line_at(g, keys[location], lines[0].line - start);
		if (!at)
			return -1;
		at->samples[side] +=
			(uint64_t)(PARTS * (double)(s->period ? s->period : s->count) / unit + .5);
		if (!at->line[side] || lines[0].line < at->line[side])
			at->line[side] = lines[0].line;
	}
	return 0;
}

static double change_of(const struct finding_line *l)
{
	return l->new - l->base;
}

void lines_of(const struct regress *g, const double *s, struct finding *f)
{
	double sum = f->new - f->base;
	size_t i, k;

	for (i = 0; f->kind == FINDING_SELF && i < g->lines.n; i++) {
		const struct line_count *c = &g->lines.v[i];
		struct finding_line l = {.line = {c->line[SIDE_BASE], c->line[SIDE_NEW]},
					 .base = (double)c->samples[SIDE_BASE] / PARTS /
						 s[SIDE_BASE],
					 .new = (double)c->samples[SIDE_NEW] / PARTS / s[SIDE_NEW]};

		if (c->key != f->key || change_of(&l) * sum <= 0)
			continue;
		for (k = f->n_lines;
		     k && (fabs(change_of(&l)) > fabs(change_of(&f->lines[k - 1])) ||
			   (change_of(&l) == change_of(&f->lines[k - 1]) &&
			    l.line[SIDE_NEW] < f->lines[k - 1].line[SIDE_NEW]));
		     k--)
			if (k < FINDING_PATHS)
				f->lines[k] = f->lines[k - 1];
		if (k == FINDING_PATHS)
			continue;
		f->lines[k] = l;
		f->n_lines += f->n_lines < FINDING_PATHS;
	}
}

/* lines.c - counts a function's samples by source line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pair.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "regress/inside.h"

#define PARTS 4096.
/* The line itself, because it is not known where the function begins (programs of Go before 1.20).
 */
#define NO_ORIGIN 0x80000000u

static struct line_count *find_line(const struct regress *g, uint32_t key, uint32_t distance)
{
	uint32_t hash = (uint32_t)hash_u64(pair_key(key, distance)), id;
	struct hash_probe probe = hash_index_probe(&g->lines_known, hash);

	while ((id = hash_index_next(&g->lines_known, &probe)) != HASH_NONE)
		if (g->lines.v[id].key == key && g->lines.v[id].distance == distance)
			return &g->lines.v[id];
	return NULL;
}

static struct line_count *line_at(struct regress *g, uint32_t key, uint32_t distance)
{
	uint32_t hash = (uint32_t)hash_u64(pair_key(key, distance));
	struct line_count *known = find_line(g, key, distance);

	if (known)
		return known;
	if (vec_push(&g->lines, (struct line_count){.key = key, .distance = distance}) ||
	    hash_index_put(&g->lines_known, hash, (uint32_t)g->lines.n - 1))
		return NULL;
	return &g->lines.v[g->lines.n - 1];
}

/* Where it begins is not known: the first line with samples stands for it. */
static void see_first(struct key_info *info, enum side side, uint32_t line)
{
	if (!info->line[side] || line < info->line[side])
		info->line[side] = line;
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
		if (!n || !lines[0].line || lines[0].line < start || lines[0].line >= NO_ORIGIN)
			continue;
		if (!start)
			see_first(&g->info.v[keys[location]], side, lines[0].line);
		at = line_at(g, keys[location],
			     start ? lines[0].line - start : lines[0].line | NO_ORIGIN);
		if (!at)
			return -1;
		at->samples[side] +=
			(uint64_t)(PARTS * (double)(s->period ? s->period : s->count) / unit + .5);
		if (!at->line[side] || lines[0].line < at->line[side])
			at->line[side] = lines[0].line;
	}
	return 0;
}

int lines_rename(struct regress *g, const uint32_t *to)
{
	struct line_count *v = g->lines.v;
	size_t n = g->lines.n, i, side;
	int rc = 0;

	memset(&g->lines, 0, sizeof g->lines);
	hash_index_done(&g->lines_known);
	for (i = 0; !rc && i < n; i++) {
		struct line_count *at = line_at(g, to[v[i].key], v[i].distance);

		rc = at ? 0 : -1;
		for (side = 0; !rc && side < SIDE_N; side++) {
			at->samples[side] += v[i].samples[side];
			if (v[i].line[side] &&
			    (!at->line[side] || v[i].line[side] < at->line[side]))
				at->line[side] = v[i].line[side];
		}
	}
	free(v);
	return rc;
}

static double change_of(const struct finding_line *l)
{
	return l->new - l->base;
}

/* Keeps a line if its part of the change is one of the largest. */
static void keep_line(struct finding *f, const struct finding_line *l)
{
	size_t k;

	if (change_of(l) * (f->new - f->base) <= 0)
		return;
	for (k = f->n_lines; k && (fabs(change_of(l)) > fabs(change_of(&f->lines[k - 1])) ||
				   (change_of(l) == change_of(&f->lines[k - 1]) &&
				    l->line[SIDE_NEW] < f->lines[k - 1].line[SIDE_NEW]));
	     k--)
		if (k < FINDING_PATHS)
			f->lines[k] = f->lines[k - 1];
	if (k == FINDING_PATHS)
		return;
	f->lines[k] = *l;
	f->n_lines += f->n_lines < FINDING_PATHS;
}

/* The first line with samples; functions move, and it stands for where they begin. 0: none. */
static uint32_t first_line(const struct regress *g, uint32_t key, enum side side)
{
	uint32_t first = 0;
	size_t i;

	for (i = 0; i < g->lines.n; i++) {
		const struct line_count *c = &g->lines.v[i];
		uint32_t line = c->distance & ~NO_ORIGIN;

		if (c->key == key && c->distance >= NO_ORIGIN && c->samples[side] &&
		    (!first || line < first))
			first = line;
	}
	return first;
}

/* The line of each side that is as far from its first one. */
static void keep_pair(const struct regress *g, const double *s, struct finding *f,
		      const uint32_t *first, uint32_t distance)
{
	struct finding_line l = {.base = 0};
	int side;

	for (side = 0; side < SIDE_N; side++) {
		const struct line_count *c =
			first[side] ? find_line(g, f->key, (first[side] + distance) | NO_ORIGIN)
				    : NULL;

		if (!c || !c->samples[side])
			continue;
		l.line[side] = first[side] + distance;
		*(side ? &l.new : &l.base) = (double)c->samples[side] / PARTS / s[side];
	}
	keep_line(f, &l);
}

static void keep_without_origin(const struct regress *g, const double *s, struct finding *f)
{
	const uint32_t first[SIDE_N] = {first_line(g, f->key, SIDE_BASE),
					first_line(g, f->key, SIDE_NEW)};
	size_t i;

	for (i = 0; i < g->lines.n && (first[0] || first[1]); i++) {
		const struct line_count *c = &g->lines.v[i];
		uint32_t line = c->distance & ~NO_ORIGIN, was;

		if (c->key != f->key || c->distance < NO_ORIGIN)
			continue;
		if (c->samples[SIDE_NEW])
			keep_pair(g, s, f, first, line - first[SIDE_NEW]);
		if (!c->samples[SIDE_BASE])
			continue;
		was = line - first[SIDE_BASE];
		c = find_line(g, f->key, (first[SIDE_NEW] + was) | NO_ORIGIN);
		if (!first[SIDE_NEW] || !c || !c->samples[SIDE_NEW])
			keep_pair(g, s, f, first, was);
	}
}

void lines_of(const struct regress *g, const double *s, struct finding *f)
{
	size_t i;

	for (i = 0; f->kind == FINDING_SELF && i < g->lines.n; i++) {
		const struct line_count *c = &g->lines.v[i];
		struct finding_line l = {.line = {c->line[SIDE_BASE], c->line[SIDE_NEW]},
					 .base = (double)c->samples[SIDE_BASE] / PARTS /
						 s[SIDE_BASE],
					 .new = (double)c->samples[SIDE_NEW] / PARTS / s[SIDE_NEW]};

		if (c->key == f->key && c->distance < NO_ORIGIN)
			keep_line(f, &l);
	}
	if (f->kind == FINDING_SELF)
		keep_without_origin(g, s, f);
}

/* split.c - which parts of a name are functions of their own.
 *
 * Parts with one source file (the end of its path) are one function, and so are parts that share
 * machine code. A function that only one side has and one that only the other has are one that was
 * put into another file; where several could be that, they stay together, as do all parts of a name
 * if a side does not tell which of them it means. Such a row stands for several functions, and says
 * so. */
#include "regress/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/vec.h"

enum { PARTS_MAX = 64, WORTH_MIN = SAMPLES_MIN };

struct group {
	struct regress *g;
	uint32_t whole;
	VEC(uint32_t) parts;
	VEC(uint32_t) files; /* by part: string id of what tells its file from others */
};

struct splitting {
	struct regress *g;
	double *samples;	/* by key, of all runs, with what they call */
	uint32_t *first, *next; /* of a name, by key: its parts */
	uint32_t *to;		/* by key: what it becomes */
	size_t n;
};

const char *split_plain_name(const struct regress *g, uint32_t key)
{
	return g->info.v[key].whole ? regress_key(g, g->info.v[key].whole) : regress_name(g, key);
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* The last two names of a path: "lua/init.c"; the last one if it has no folder of a name. */
static const char *with_folder(const char *path)
{
	const char *base = base_name(path), *s = base;

	while (s - path >= 2 && s[-1] == '/' && s[-2] == '.' && (s - path == 2 || s[-3] == '/'))
		s -= 2;
	if (s == path || s - path < 2)
		return base;
	for (s--; s > path && s[-1] != '/'; s--)
		;
	return str_starts_with(s, "../") || str_starts_with(s, "./") ? base : s;
}

/* Do all files of this base name that the name has need, and have, a folder? */
static bool needs_folder(const struct group *p, const char *base)
{
	const struct regress *g = p->g;
	bool is_crowded = false;
	size_t i;

	for (i = 0; i < p->parts.n; i++) {
		const struct key_info *info = &g->info.v[p->parts.v[i]];
		const char *path = strtab_get(&g->names, info->path);

		if (!info->path || strcmp(base_name(path), base) != 0)
			continue;
		if (with_folder(path) == base_name(path))
			return false;
		is_crowded |= info->is_crowded;
	}
	return is_crowded;
}

static uint32_t file_of(const struct group *p, uint32_t part)
{
	const struct key_info *info = &p->g->info.v[part];
	const char *path = strtab_get(&p->g->names, info->path),
		   *module = strtab_get(&p->g->names, info->module);

	if (info->path)
		return strtab_add_cstr(&p->g->names, needs_folder(p, base_name(path))
							     ? with_folder(path)
							     : base_name(path));
	return strlen(module) > 2 ? strtab_add(&p->g->names, module + 1, strlen(module) - 2)
				  : info->module;
}

/* Parts of one file are one. */
static int name_files(struct group *p)
{
	size_t i, k;

	for (i = 0; i < p->parts.n; i++) {
		uint32_t file = file_of(p, p->parts.v[i]);

		if (file == STRTAB_FAILED || vec_push(&p->files, file))
			return -1;
		for (k = 0; k < i; k++)
			if (p->files.v[k] == file &&
			    !p->g->info.v[p->parts.v[k]].path == !p->g->info.v[p->parts.v[i]].path)
				part_join(p->g, p->parts.v[k], p->parts.v[i]);
	}
	return 0;
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Sums what a function's parts have. Returns on which sides it is, as bits. */
static unsigned sides_of(const struct splitting *s, const struct group *p, uint32_t root,
			 double *samples)
{
	unsigned sides = 0;
	size_t i;

	*samples = 0;
	for (i = 0; i < p->parts.n; i++) {
		const uint32_t part = p->parts.v[i];

		if (part_find(p->g, part) != root)
			continue;
		*samples += s->samples[part];
		sides |= (p->g->info.v[part].is_seen[SIDE_BASE] ? 1u << SIDE_BASE : 0) |
			 (p->g->info.v[part].is_seen[SIDE_NEW] ? 1u << SIDE_NEW : 0);
	}
	return sides;
}

/* How many functions there are, and are worth to be told apart. */
static size_t count_functions(const struct splitting *s, const struct group *p, size_t *worth)
{
	double samples;
	size_t i, n = 0;

	for (i = *worth = 0; i < p->parts.n; i++) {
		if (part_find(p->g, p->parts.v[i]) != p->parts.v[i])
			continue;
		n++;
		sides_of(s, p, p->parts.v[i], &samples);
		*worth += samples >= WORTH_MIN;
	}
	return n;
}

/* Joins the functions that only one side has, if both sides have such. */
static void join_rest(const struct splitting *s, struct group *p)
{
	uint32_t rest[PARTS_MAX];
	unsigned sides, all = 0;
	size_t i, n = 0;
	double samples;

	for (i = 0; i < p->parts.n; i++) {
		const uint32_t part = p->parts.v[i];

		if (part_find(p->g, part) != part)
			continue;
		sides = sides_of(s, p, part, &samples);
		if (sides == (1u << SIDE_BASE | 1u << SIDE_NEW))
			continue;
		all |= sides;
		rest[n++] = part;
	}
	if (all != (1u << SIDE_BASE | 1u << SIDE_NEW))
		return;
	for (i = 1; i < n; i++)
		part_join(p->g, rest[0], rest[i]);
	if (n > 2)
		p->g->info.v[rest[0]].has_namesakes = true;
}

/* Can it be that a function without a file is one of those with files? */
static bool is_doubtful(const struct group *p)
{
	const struct regress *g = p->g;
	size_t i, k;

	if (g->info.v[p->whole].is_unplaced || p->parts.n > PARTS_MAX)
		return true;
	for (i = 0; i < p->parts.n; i++)
		for (k = 0; k < p->parts.n; k++) {
			const struct key_info *a = &g->info.v[p->parts.v[i]],
					      *b = &g->info.v[p->parts.v[k]];

			if (!a->path && b->path && a->module == b->module &&
			    part_find(g, p->parts.v[i]) != part_find(g, p->parts.v[k]))
				return true;
		}
	return false;
}

static bool has_one_without_file(const struct group *p)
{
	size_t i;

	for (i = 0; i < p->parts.n; i++)
		if (!p->g->info.v[p->parts.v[i]].path)
			return true;
	return false;
}

/* ---- keys ---------------------------------------------------------------------------------------
 */

static bool is_smaller(const struct strtab *t, uint32_t a, uint32_t b)
{
	return !*strtab_get(t, b) ||
	       (*strtab_get(t, a) && strcmp(strtab_get(t, a), strtab_get(t, b)) < 0);
}

/* A key takes what is known of a part. */
static void take_info(struct regress *g, uint32_t key, uint32_t part)
{
	struct key_info *to = &g->info.v[key];
	const struct key_info *from = &g->info.v[part];
	int s;

	to->name = is_smaller(&g->names, from->name, to->name) ? from->name : to->name;
	to->dso = is_smaller(&g->names, from->dso, to->dso) ? from->dso : to->dso;
	to->is_vdso |= from->is_vdso;
	to->is_of_file |= from->is_of_file;
	to->has_namesakes |= from->has_namesakes || from->has_copies;
	for (s = 0; s < SIDE_N; s++) {
		to->file[s] = is_smaller(&g->names, from->file[s], to->file[s]) ? from->file[s]
										: to->file[s];
		if (from->line[s] && (!to->line[s] || from->line[s] < to->line[s]))
			to->line[s] = from->line[s];
		to->is_folded[s] |= from->is_folded[s];
		to->has_lines[s] |= from->has_lines[s];
		to->is_of_stacks[s] |= from->is_of_stacks[s];
	}
}

/* "parse (lexer.c)", as a key or to be shown. STRTAB_FAILED when out of memory. */
static uint32_t name_with_file(struct regress *g, const char *name, uint32_t file, bool is_key)
{
	struct text t = {0};
	uint32_t id = STRTAB_FAILED;

	text_str(&t, name);
	text_str(&t, " (");
	text_str(&t, strtab_get(&g->names, file));
	text_str(&t, ")");
	text_char(&t, '\0');
	if (!t.failed)
		id = is_key ? key_intern(g, t.s) : strtab_add_cstr(&g->names, t.s);
	text_done(&t);
	return id;
}

/* Which of a function's files stands for it: the first by name of the new side, else of any. */
static uint32_t best_file(const struct group *p, uint32_t root)
{
	uint32_t best = 0;
	bool is_new = false;
	size_t i;

	for (i = 0; i < p->parts.n; i++) {
		const bool now = p->g->info.v[p->parts.v[i]].is_seen[SIDE_NEW];

		if (part_find(p->g, p->parts.v[i]) != root || (is_new && !now))
			continue;
		if (now > is_new || is_smaller(&p->g->names, p->files.v[i], best))
			best = p->files.v[i];
		is_new |= now;
	}
	return best;
}

static int give_key(const struct splitting *s, struct group *p, uint32_t root, uint32_t key)
{
	struct regress *g = p->g;
	size_t i;

	for (i = 0; i < p->parts.n; i++) {
		const uint32_t part = p->parts.v[i];

		if (part_find(g, part) != root)
			continue;
		s->to[part] = key;
		take_info(g, key, part);
		if (key != p->whole &&
		    vec_push(&g->splits, (struct split_part){p->whole, g->info.v[part].path, key}))
			return -1;
	}
	return 0;
}

static int give_own_key(const struct splitting *s, struct group *p, uint32_t root)
{
	struct regress *g = p->g;
	const uint32_t file = best_file(p, root),
		       key = name_with_file(g, regress_key(g, p->whole), file, true);
	uint32_t name;

	if (key == STRTAB_FAILED || give_key(s, p, root, key))
		return -1;
	name = name_with_file(g, strtab_get(&g->names, g->info.v[key].name), file, false);
	if (name == STRTAB_FAILED)
		return -1;
	g->info.v[key].name = name;
	g->info.v[key].whole = p->whole;
	return 0;
}

/* Does an earlier comparison, whose findings are to be confirmed, have this key? */
static bool is_asked_for(const struct regress *g, uint32_t key)
{
	size_t i;

	for (i = 0; i < g->only.n; i++)
		if (g->only.v[i].kind != FINDING_TOTAL && g->only.v[i].key == key)
			return true;
	return false;
}

/* Does it have one of the name's functions by its file? */
static bool is_split_there(const struct group *p)
{
	size_t i;

	for (i = 0; i < p->parts.n && p->g->only.n; i++) {
		const uint32_t key =
			name_with_file(p->g, regress_key(p->g, p->whole), p->files.v[i], true);

		if (key != STRTAB_FAILED && is_asked_for(p->g, key))
			return true;
	}
	return false;
}

static int split_group(const struct splitting *s, struct group *p)
{
	struct regress *g = p->g;
	size_t i, n, worth;
	bool apart;
	int rc = p->parts.n > PARTS_MAX ? 0 : name_files(p);

	n = rc ? 0 : count_functions(s, p, &worth);
	if (n > 1 && is_doubtful(p)) {
		g->info.v[p->whole].has_namesakes |= worth > 1;
		worth = 0;
	} else if (n > 1 && (is_name_of_c(regress_key(g, p->whole)) || !has_one_without_file(p))) {
		join_rest(s, p);
		count_functions(s, p, &worth);
	} else {
		worth = 0;
	}
	apart = !rc && (worth > 1 || (n && p->files.n && is_split_there(p))) &&
		!is_asked_for(g, p->whole);
	if (!apart && worth > 1)
		g->info.v[p->whole].has_namesakes = true;
	for (i = 0; !rc && i < p->parts.n; i++)
		if (part_find(g, p->parts.v[i]) == p->parts.v[i])
			rc = apart ? give_own_key(s, p, p->parts.v[i])
				   : give_key(s, p, p->parts.v[i], p->whole);
	return rc;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static int count_samples(struct splitting *s)
{
	double *self = calloc(s->n + 1, sizeof *self);
	size_t i;
	int rc = self ? 0 : -1;

	for (i = 0; !rc && i < s->g->trees.n; i++)
		rc = run_count(&s->g->trees.v[i], self, s->samples);
	free(self);
	return rc;
}

static void rename_tree(const struct splitting *s, struct run_tree *t)
{
	size_t i;

	for (i = 1; i < t->nodes.n; i++)
		t->nodes.v[i].symbol = s->to[t->nodes.v[i].symbol];
}

static int rename_all(const struct splitting *s)
{
	struct regress *g = s->g;
	size_t i, side;

	for (i = 0; i < g->trees.n; i++)
		rename_tree(s, &g->trees.v[i]);
	for (i = 0; i < g->past.n; i++)
		rename_tree(s, &g->past.v[i].tree);
	for (side = 0; side < SIDE_N; side++)
		for (i = 0; i < g->code[side].ran.n; i++)
			g->code[side].ran.v[i].key = s->to[g->code[side].ran.v[i].key];
	return lines_rename(g, s->to);
}

static int split_name(const struct splitting *s, uint32_t whole)
{
	struct group p = {.g = s->g, .whole = whole};
	uint32_t part;
	int rc = 0;

	for (part = s->first[whole]; part && !rc; part = s->next[part])
		rc = vec_push(&p.parts, part);
	rc = rc ? rc : split_group(s, &p);
	vec_done(&p.parts);
	vec_done(&p.files);
	return rc;
}

int split_all(struct regress *g)
{
	struct splitting s = {.g = g, .n = g->info.n};
	int rc = -1;
	uint32_t k;

	s.samples = calloc(s.n + 1, sizeof *s.samples);
	s.first = calloc(s.n + 1, sizeof *s.first);
	s.next = calloc(s.n + 1, sizeof *s.next);
	s.to = calloc(s.n + 1, sizeof *s.to);
	if (s.samples && s.first && s.next && s.to)
		rc = count_samples(&s);
	for (k = (uint32_t)s.n; !rc && k-- > 1;) {
		const uint32_t whole = g->info.v[k].whole;

		s.next[k] = s.first[whole];
		s.first[whole] = whole ? k : 0;
	}
	for (k = 0; !rc && k < s.n; k++)
		s.to[k] = k;
	for (k = 1; !rc && k < s.n; k++)
		if (s.first[k])
			rc = split_name(&s, k);
	rc = rc ? rc : rename_all(&s);
	free(s.samples);
	free(s.first);
	free(s.next);
	free(s.to);
	return rc;
}

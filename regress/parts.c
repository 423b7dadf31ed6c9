/* parts.c - what a run tells of functions of one name. */
#include "regress/split.h"

#include <string.h>

#include "base/hash.h"
#include "base/pair.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "reader/reader.h"

/* Names of C: others may be instances of a template, of which several modules have copies. */
bool is_name_of_c(const char *s)
{
	return !s[strcspn(s, ":<( ")];
}

static bool ends_with_plt(const char *s, size_t n)
{
	return n > 4 && !memcmp(s + n - 4, "@plt", 4);
}

/* Is it code of a file whose functions stay what they are in other runs? */
static bool is_of_code_file(const struct split_run *r, const struct profile_location *l)
{
	const struct profile_mapping *m = &r->p->mappings.v[l->mapping];

	return l->mapping && m->kind == DSO_FILE && !l->is_kernel &&
	       !str_starts_with(base_name(strtab_get(&r->p->strings, m->path)), "jitted-");
}

static uint32_t copy_string(const struct split_run *r, uint32_t id)
{
	return strtab_add(&r->g->names, strtab_get(&r->p->strings, id),
			  strtab_len(&r->p->strings, id));
}

static uint32_t module_string(const struct split_run *r, uint32_t path)
{
	struct text t = {0};
	uint32_t id;

	key_module(&t, strtab_get(&r->p->strings, path), strtab_len(&r->p->strings, path));
	id = t.failed ? STRTAB_FAILED : strtab_add(&r->g->names, t.s, t.n);
	text_done(&t);
	return id;
}

/* The part of a name that a file has; path 0: a module. */
static uint32_t part_key(struct regress *g, uint32_t whole, uint32_t path, uint32_t module)
{
	struct text t = {0};
	uint32_t id = STRTAB_FAILED;
	struct key_info *info;

	text_str(&t, strtab_get(&g->keys, whole));
	text_char(&t, '\x1f');
	text_str(&t, strtab_get(&g->names, path));
	text_char(&t, '\x1f');
	text_str(&t, strtab_get(&g->names, module));
	text_char(&t, '\0');
	if (!t.failed)
		id = key_intern(g, t.s);
	text_done(&t);
	if (id == STRTAB_FAILED)
		return id;
	info = &g->info.v[id];
	info->whole = whole;
	info->path = path;
	info->module = module;
	return id;
}

uint32_t part_find(const struct regress *g, uint32_t part)
{
	while (g->info.v[part].like)
		part = g->info.v[part].like;
	return part;
}

void part_join(struct regress *g, uint32_t a, uint32_t b)
{
	a = part_find(g, a);
	b = part_find(g, b);
	if (a != b)
		g->info.v[a > b ? a : b].like = a > b ? b : a;
}

/* The same machine code is the same function, of whichever file a line is; so is, of what was
 * inlined there, one that begins at the same line. Of a profile without symbols lines alone tell.
 */
static int see_owner(struct split_run *r, uint32_t part, const struct profile_location *l,
		     uint32_t start_line, bool is_outermost)
{
	const uint64_t start = l->symbol ? l->off - l->symbol_offset + 1 : 0;
	const uint32_t module = r->p->mappings.v[l->mapping].path,
		       line = l->symbol && is_outermost ? 0 : start_line;
	const uint64_t key = hash_u64(pair_key(module, r->g->info.v[part].whole)) ^
			     hash_u64(hash_u64(start) + line);
	uint32_t known = hash_get(&r->owners, key);

	if (known == HASH_NONE)
		return hash_put(&r->owners, key, part);
	part_join(r->g, known, part);
	return 0;
}

/* Files of one base name in one run are different files. */
static int see_base(struct split_run *r, uint32_t part)
{
	struct key_info *info = &r->g->info.v[part];
	const char *base = base_name(strtab_get(&r->g->names, info->path));
	const uint64_t key =
		hash_u64(hash_bytes(base, strlen(base)) ^ hash_u64((uint64_t)info->whole));
	uint32_t known = hash_get(&r->bases, key);

	if (known == HASH_NONE)
		return hash_put(&r->bases, key, part);
	if (r->g->info.v[known].path != info->path)
		info->is_crowded = r->g->info.v[known].is_crowded = true;
	return 0;
}

/* Is a symbol of a module in two places? Then there are two functions of that name. */
static int see_symbol(struct split_run *r, uint32_t part, const struct profile_location *l)
{
	const uint64_t key = pair_key(r->p->mappings.v[l->mapping].path, l->symbol);
	const uint32_t start = (uint32_t)(l->off - l->symbol_offset) & (HASH_NONE >> 1),
		       known = hash_get(&r->symbols, key);

	if (known == HASH_NONE)
		return hash_put(&r->symbols, key, start);
	r->g->info.v[part].has_copies |=
		known != start && is_name_of_c(regress_key(r->g, r->g->info.v[part].whole));
	return 0;
}

uint32_t split_key(struct split_run *r, uint32_t whole, const struct profile_location *l,
		   const struct profile_line *line, bool is_outermost)
{
	const struct profile_function *f = &r->p->functions.v[line->function];
	const bool has_file =
		*strtab_get(&r->p->strings, f->file) && *strtab_get(&r->p->strings, f->file) != '<';
	uint32_t path, module, part;

	if (r->g->is_by_name)
		return whole;
	if (!is_of_code_file(r, l) ||
	    (has_file ? !l->symbol && !f->start_line : !l->symbol || !is_outermost)) {
		r->g->info.v[whole].is_unplaced |= l->mapping == 0 || is_of_code_file(r, l);
		return whole;
	}
	if (ends_with_plt(strtab_get(&r->p->strings, f->name), strtab_len(&r->p->strings, f->name)))
		return whole;
	path = has_file ? copy_string(r, f->file) : 0;
	module = module_string(r, r->p->mappings.v[l->mapping].path);
	if (path == STRTAB_FAILED || module == STRTAB_FAILED)
		return STRTAB_FAILED;
	part = part_key(r->g, whole, path, module);
	if (part == STRTAB_FAILED || see_owner(r, part, l, f->start_line, is_outermost) ||
	    (has_file && see_base(r, part)) || (!has_file && see_symbol(r, part, l)))
		return STRTAB_FAILED;
	r->g->info.v[part].is_seen[r->side] |= !r->is_past;
	return part;
}

void split_run_done(struct split_run *r)
{
	hash_done(&r->owners);
	hash_done(&r->symbols);
	hash_done(&r->bases);
}

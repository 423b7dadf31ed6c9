/* walk.c - shared by both walks: rules that are not in the cache. */
#include "unwind/walk.h"

#include "modules/modules.h"
#include "reader/reader.h"

/* The module of a map. NULL: neither an image nor a debug file with rules, or another processor. */
static const struct known_module *module_of(struct walk *w, const struct map *map)
{
	struct known_module *k = &w->worker->modules_of[map->id % MAPS_KNOWN];
	struct module *mod;
	struct cfi_module *cm;

	if (k->map == map->id && cfi_module_arch(k->cm) == w->arch)
		return k;
	mod = modules_get(w->worker->modules, map->dso);
	cm = mod ? cfi_module_get(w->worker->modules, mod) : NULL;
	if (!cm || cfi_module_arch(cm) != w->arch)
		return NULL;
	*k = (struct known_module){map->id, mod, cm};
	return k;
}

struct cfi_module *walk_module(struct walk *w, const struct map *map, uint64_t ip, uint64_t *vaddr)
{
	const struct known_module *k = module_of(w, map);

	return k && k->mod->image && module_ip_to_vaddr(k->mod, map, ip, vaddr) ? k->cm : NULL;
}

/* walk_module() for rules, which a module with only a debug file can have, too. */
static struct cfi_module *rules_of(struct walk *w, const struct map *map, uint64_t ip,
				   uint64_t *vaddr)
{
	const struct known_module *k = module_of(w, map);

	return k && module_ip_to_vaddr(k->mod, map, ip, vaddr) ? k->cm : NULL;
}

static struct rule rule_find(struct walk *w, const struct map *map, uint64_t lookup_ip,
			     uint32_t *number)
{
	uint64_t vaddr;
	struct cfi_module *cm = rules_of(w, map, lookup_ip, &vaddr);
	const struct module *mod;

	if (cm)
		return cfi_module_rule(cm, vaddr, number);
	mod = modules_get(w->worker->modules, map->dso);
	if (!mod || mod->image || mod->image_miss == MODULE_MISS_NOT_A_FILE)
		return (struct rule){.kind = RULE_NO_CFI};
	return (struct rule){.kind = RULE_NO_BINARY};
}

/* How far above the frame of a signal handler the stack pointer of the interrupted code can be:
 * above the saved registers, the largest of which are tiles (asm/sigframe.h, Intel SDM 18.5). */
#define SIGNAL_FRAME_BYTES_MAX (16u << 10)

/* Only steps through signal frames, and through functions that switch stacks, leave the copied
 * range by more than their own frame. */
bool walk_is_elsewhere(const struct walk *w)
{
	const struct memory *m = &w->memory;
	uint64_t sp = w->c.sp, end = m->sp + m->bytes;

	if (!w->c.sp_known || !m->bytes)
		return false;
	return sp < m->sp || (sp > end && sp - end > SIGNAL_FRAME_BYTES_MAX);
}

struct rule_entry *walk_rule_miss(struct walk *w, uint64_t lookup_ip, struct rule_entry *own)
{
	struct rule_cache *cache = &w->worker->cache;
	const struct map *map = NULL;
	struct rule_entry *e;
	uint64_t key = w->space_key | lookup_ip;
	uint32_t at = 0, number = 0;
	struct rule rule;

	if (!(lookup_ip >> RULE_CACHE_IP_BITS)) {
		e = rule_cache_fetch(cache, key);
		if (e)
			return e;
		map = address_space_find(w->s->space, lookup_ip);
	}
	if (map)
		at = rule_cache_map(cache, map);
	/* Not cached: a map may be added at this address without a change of the layout id. */
	if (!map || at == UINT32_MAX) {
		*own = (struct rule_entry){.rule.kind = RULE_NO_MAP};
		return own;
	}
	rule = rule_find(w, map, lookup_ip, &number);
	e = w->space_key != RULE_CACHE_NO_SPACE ? rule_cache_place(cache, key) : own;
	*e = (struct rule_entry){key, at, number, rule};
	return e;
}

const struct full_rule *walk_full_rule(struct walk *w, const struct map *map, uint64_t lookup_ip,
				       uint64_t *bias)
{
	uint64_t key = w->space_key | lookup_ip, vaddr;
	struct full_rule_entry *e = full_rule_cache_at(&w->worker->cache, key);
	const struct full_rule *full;
	struct cfi_module *cm;

	if (e->key == key) {
		*bias = e->bias;
		return e->rule;
	}
	cm = rules_of(w, map, lookup_ip, &vaddr);
	full = cm ? cfi_module_full_rule(cm, vaddr) : NULL;
	if (!full)
		return NULL;
	*bias = lookup_ip - vaddr;
	if (w->space_key != RULE_CACHE_NO_SPACE)
		*e = (struct full_rule_entry){key, full, *bias};
	return full;
}

/* signal_return.c - "return addresses" that no call has left: signal trampolines.
 *
 * The kernel makes the address of a trampoline the return address of a signal handler
 * (arch/x86/kernel/signal_64.c, arch/arm64/kernel/signal.c). It is the trampoline's first byte:
 * less one, as return addresses are looked up, it is in the function before it, or in none. Chains
 * of frame pointers do not say which address is one; its code does, as it does to debuggers. */
#include <string.h>

#include "modules/modules.h"
#include "unwind/arch.h"
#include "unwind/method.h"

static bool has_trampoline(struct modules *modules, const struct map *map, uint64_t ip)
{
	const struct module *mod = modules_get(modules, map->dso);
	const struct arch_trampoline *t;
	const struct arch *arch;
	const uint8_t *code;
	uint64_t vaddr;
	size_t left;

	if (!mod || !mod->image || elf_image_swapped(mod->image) ||
	    !module_ip_to_vaddr(mod, map, ip, &vaddr))
		return false;
	arch = arch_find_elf(elf_image_machine(mod->image), elf_image_is_64(mod->image));
	code = elf_image_at_vaddr(mod->image, vaddr, &left);
	for (t = arch && code ? arch->trampolines : NULL; t && t->code; t++)
		if (left >= t->code_bytes && !memcmp(code, t->code, t->code_bytes))
			return true;
	return false;
}

static bool is_known_trampoline(struct signal_returns *s, const struct map *map, uint64_t ip)
{
	struct signal_return *k = &s->known[(ip ^ ip >> 12) % SIGNAL_RETURNS_KNOWN];

	if (k->map != map->id || k->ip != ip)
		*k = (struct signal_return){ip, map->id, has_trampoline(s->modules, map, ip)};
	return k->is_one;
}

void signal_returns_place(struct signal_returns *s, const struct address_space *space,
			  struct frame *f)
{
	const struct map *map = f->map = address_space_find(space, frame_lookup_ip(f));

	if (!f->is_return_address || f->is_kernel)
		return;
	if (!map || f->ip >= map->end)
		map = address_space_find(space, f->ip);
	if (!map || !is_known_trampoline(s, map, f->ip))
		return;
	f->is_return_address = false;
	f->map = map;
}

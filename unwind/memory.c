/* memory.c - reads words of the stack copy and of read-only file mappings. */
#include "unwind/memory.h"

#include <string.h>
#include <sys/mman.h>

/* No stack is larger (Go's limit): an address farther above the copy's start is not on it. */
#define STACK_BYTES_MAX (1ull << 30)

struct memory memory_of(const struct perf_sample *s, struct modules *modules,
			const struct arch *arch)
{
	struct memory m = {.sample = s, .modules = modules, .word_bytes = arch->word_bytes};

	if (arch_reg(arch, &s->user_regs, arch->sp, &m.sp))
		m.bytes = s->user_stack_bytes;
	return m;
}

/* All supported processors are little-endian; so are the hosts. */
static uint64_t load(const uint8_t *p, uint8_t word_bytes)
{
	uint64_t v8;
	uint32_t v4;

	if (word_bytes == 8) {
		memcpy(&v8, p, 8);
		return v8;
	}
	memcpy(&v4, p, 4);
	return v4;
}

/* Bytes of a file at a place that was mapped without write permission. */
static const uint8_t *file_bytes(const struct memory *m, uint64_t addr)
{
	const struct map *map = address_space_find(m->sample->space, addr);
	const struct module *mod;
	const uint8_t *bytes;
	uint64_t off;
	size_t size;

	if (!map || map->prot & PROT_WRITE ||
	    (map->dso->kind != DSO_FILE && map->dso->kind != DSO_VDSO) ||
	    map->end - addr < m->word_bytes)
		return NULL;
	mod = modules_get(m->modules, map->dso);
	if (!mod || !mod->image)
		return NULL;
	bytes = elf_image_bytes(mod->image, &size);
	off = map_ip_to_off(map, addr);
	return off < size && size - off >= m->word_bytes ? bytes + off : NULL;
}

bool arch_reg(const struct arch *arch, const struct perf_regs *regs, uint8_t dwarf, uint64_t *ret)
{
	unsigned bit;

	for (bit = 0; bit < 64; bit++)
		if (arch->perf_to_dwarf[bit] == dwarf)
			return perf_regs_get(regs, bit, ret);
	return false;
}

bool memory_read_stack(const struct memory *m, uint64_t addr, uint64_t *ret)
{
	uint64_t skip = addr - m->sp;

	if (addr < m->sp || skip >= m->bytes || m->bytes - skip < m->word_bytes)
		return false;
	*ret = load(m->sample->user_stack + skip, m->word_bytes);
	return true;
}

bool memory_read_word(const struct memory *m, uint64_t addr, uint64_t *ret)
{
	const uint8_t *p;

	if (memory_read_stack(m, addr, ret))
		return true;
	p = file_bytes(m, addr);
	if (!p)
		return false;
	*ret = load(p, m->word_bytes);
	return true;
}

bool memory_is_cut_before(const struct memory *m, uint64_t addr)
{
	const struct perf_sample *s = m->sample;

	return s->user_stack_bytes && s->user_stack_bytes == s->user_stack_asked && addr >= m->sp &&
	       addr - m->sp + m->word_bytes > s->user_stack_bytes;
}

/* memory.c - reads words of the stack copy and of read-only file mappings. */
#include "unwind/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "reader/reader.h"

/* No stack is larger (Go's limit): an address farther above the start of the copy is not on this
 * stack. */
#define STACK_BYTES_MAX (1ull << 30)

/* The smallest page size of the supported processors. Missing parts start at a page boundary. */
#define PAGE_BYTES 4096

/* Larger frames are not usual: compilers warn about them, and large arrays are on the heap. */
#define FRAME_BYTES_MAX (1u << 20)

struct memory memory_of(const struct perf_sample *s, struct modules *modules,
			const struct arch *arch)
{
	struct memory m = {.sample = s, .modules = modules, .word_bytes = arch->word_bytes};

	if (arch_reg(arch, &s->user_regs, arch->sp, &m.sp))
		m.bytes = s->user_stack_bytes;
	return m;
}

/* All supported processors are little-endian; so are the hosts. */
static uint64_t load(const uint8_t *p, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* The bytes of a file at an address that is mapped without write permission. */
static const uint8_t *file_bytes(const struct memory *m, uint64_t addr, unsigned n)
{
	const struct map *map = address_space_find(m->sample->space, addr);
	const struct module *mod;
	const uint8_t *bytes;
	uint64_t off;
	size_t size;

	if (!map || map->prot & PROT_WRITE ||
	    (map->dso->kind != DSO_FILE && map->dso->kind != DSO_VDSO) || map->end - addr < n)
		return NULL;
	mod = modules_get(m->modules, map->dso);
	if (!mod || !mod->image)
		return NULL;
	bytes = elf_image_bytes(mod->image, &size);
	off = map_ip_to_off(map, addr);
	return off < size && size - off >= n ? bytes + off : NULL;
}

bool arch_reg(const struct arch *arch, const struct perf_regs *regs, uint8_t dwarf, uint64_t *ret)
{
	int bit = dwarf < arch->n_regs ? arch->dwarf_to_perf[dwarf] : -1;

	return bit >= 0 && perf_regs_get(regs, (unsigned)bit, ret);
}

static const uint8_t *stack_bytes(const struct memory *m, uint64_t addr, unsigned n)
{
	uint64_t skip = addr - m->sp;

	return skip < m->bytes && m->bytes - skip >= n ? m->sample->user_stack + skip : NULL;
}

bool memory_read_stack(const struct memory *m, uint64_t addr, uint64_t *ret)
{
	const uint8_t *p = stack_bytes(m, addr, m->word_bytes);

	if (p)
		*ret = load(p, m->word_bytes);
	return p;
}

const uint8_t *memory_bytes(const struct memory *m, uint64_t addr, unsigned n)
{
	const uint8_t *p = stack_bytes(m, addr, n);

	return p ? p : file_bytes(m, addr, n);
}

bool memory_read_bytes(const struct memory *m, uint64_t addr, unsigned size, uint64_t *ret)
{
	const uint8_t *p = memory_bytes(m, addr, size);

	if (p)
		*ret = load(p, size);
	return p;
}

bool memory_read_word(const struct memory *m, uint64_t addr, uint64_t *ret)
{
	return memory_read_bytes(m, addr, m->word_bytes, ret);
}

/* True if the kernel may have stopped copying at a page that was not in memory: the rest of the
 * stack, or all of it, is missing. The end of a stack is recorded only for the first thread of a
 * process. For other threads `addr` may be on the stack if it is so close to the copy that both can
 * be in the frame of a function with large arrays. */
static bool is_broken_off(const struct memory *m, uint64_t addr)
{
	const struct perf_sample *s = m->sample;
	uint64_t end = m->sp + s->user_stack_bytes;

	if (!s->user_stack_bytes)
		return true;
	if (s->pid == s->tid)
		return addr < address_space_stack_end(s->space);
	return end % PAGE_BYTES == 0 && addr >= end && addr - end < FRAME_BYTES_MAX;
}

bool memory_is_cut_before(const struct memory *m, uint64_t addr)
{
	const struct perf_sample *s = m->sample;

	return addr - m->sp < STACK_BYTES_MAX &&
	       addr - m->sp + m->word_bytes > s->user_stack_bytes &&
	       (s->user_stack_bytes == s->user_stack_asked || is_broken_off(m, addr));
}

/* remote_symbols.c - finds symbols by the dynamic section of a file in memory (gABI, Dynamic
 * Section; the GNU hash table), so that the file is not needed. */
#include "runtimes/remote_symbols.h"

#include <elf.h>
#include <string.h>

/* Limits on what the process says: length of a chain of symbols, of a name. */
enum { CHAIN_MAX = 4096, DYNAMIC_MAX = 256, PHDRS_MAX = 64, NAME_BYTES_MAX = 128 };

/* Programs that are not position-independent are where they say (gABI, Program Header). */
static bool find_dynamic(struct remote_symbols *s, uint64_t *ret)
{
	bool has_first = false, has_dynamic = false;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (!remote_read(s->mem, s->base, &eh, sizeof eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof ph || eh.e_phnum > PHDRS_MAX)
		return false;
	s->bias = s->base;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!remote_read(s->mem, s->base + eh.e_phoff + i * sizeof ph, &ph, sizeof ph))
			continue;
		if (ph.p_type == PT_LOAD && !has_first) {
			has_first = true;
			s->bias = s->base - (ph.p_vaddr - ph.p_offset);
		}
		if (ph.p_type == PT_DYNAMIC) {
			has_dynamic = true;
			*ret = ph.p_vaddr;
		}
	}
	*ret += s->bias;
	return has_dynamic;
}

/* glibc's loader adds the bias to these addresses, when it has come so far; musl's leaves them. */
static uint64_t address_of(const struct remote_symbols *s, uint64_t ptr)
{
	return ptr && ptr < s->base ? s->bias + ptr : ptr;
}

bool remote_symbols_open(struct remote_symbols *s, struct remote *mem, uint64_t base)
{
	uint64_t at = 0;
	Elf64_Dyn d;

	*s = (struct remote_symbols){.mem = mem, .base = base};
	if (!find_dynamic(s, &at))
		return false;
	for (unsigned i = 0; i < DYNAMIC_MAX; i++, at += sizeof d) {
		if (!remote_read(s->mem, at, &d, sizeof d) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			s->symtab = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRTAB)
			s->strtab = d.d_un.d_ptr;
		else if (d.d_tag == DT_GNU_HASH)
			s->gnu_hash = d.d_un.d_ptr;
	}
	s->symtab = address_of(s, s->symtab);
	s->strtab = address_of(s, s->strtab);
	s->gnu_hash = address_of(s, s->gnu_hash);
	return s->symtab && s->strtab && s->gnu_hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool symbol_is(struct remote_symbols *s, uint32_t i, const char *name, uint64_t *ret)
{
	char text[NAME_BYTES_MAX];
	Elf64_Sym sym;

	if (!remote_read(s->mem, s->symtab + i * sizeof sym, &sym, sizeof sym) ||
	    !remote_text(s->mem, s->strtab + sym.st_name, text, sizeof text) ||
	    strcmp(text, name) != 0)
		return false;
	*ret = s->bias + sym.st_value;
	return true;
}

bool remote_symbol(struct remote_symbols *s, const char *name, uint64_t *ret)
{
	const uint32_t hash = gnu_hash(name);
	uint32_t head[4], i, link; /* buckets, first symbol, words of the filter, shift */
	uint64_t buckets;

	if (!remote_read(s->mem, s->gnu_hash, head, sizeof head) || !head[0])
		return false;
	buckets = s->gnu_hash + sizeof head + 8ull * head[2];
	if (!remote_u32(s->mem, buckets + 4ull * (hash % head[0]), &i) || i < head[1])
		return false;
	for (unsigned n = 0; n < CHAIN_MAX; n++, i++) {
		if (!remote_u32(s->mem, buckets + 4ull * head[0] + 4ull * (i - head[1]), &link))
			return false;
		if ((link | 1) == (hash | 1) && symbol_is(s, i, name, ret))
			return true;
		if (link & 1)
			return false;
	}
	return false;
}

bool remote_symbol_u32(struct remote_symbols *s, const char *name, uint32_t *ret)
{
	uint64_t at;

	return remote_symbol(s, name, &at) && remote_u32(s->mem, at, ret);
}

bool remote_symbol_u64(struct remote_symbols *s, const char *name, uint64_t *ret)
{
	uint64_t at;

	return remote_symbol(s, name, &at) && remote_u64(s->mem, at, ret);
}

/* plt.c - names for the stubs through which a module calls functions of other modules.
 *
 * Linkers lay out .plt, .plt.sec and .plt.got in many ways (lazy, IBT, full RELRO; GNU ld, lld,
 * mold). Common to all is that a stub jumps through a slot of the GOT, and that a relocation names
 * the function whose address goes into that slot. So the jump of each stub is decoded, instead of
 * counting entries. Source of truth: the psABIs of x86-64, i386 and AArch64 ("Procedure Linkage
 * Table", relocation types). */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/processor.h"
#include "base/sort.h"
#include "base/vec.h"
#include "symbolize/elfsyms.h"

/* A GOT slot and the relocation for it. */
struct slot {
	uint64_t vaddr, addend;
	uint32_t symbol; /* index into the linked symbol table; 0 for IRELATIVE */
	uint32_t symtab; /* section index */
	bool has_addend;
};

struct plt {
	const struct module *mod;
	struct elf_image *img;
	struct elfsyms targets; /* functions with IRELATIVE relocations; loaded when needed */
	bool has_targets;
	bool lacks_slot; /* of some stub */
	struct functab *tab;
	VEC(struct slot) slots;	      /* as read */
	VEC(struct sort_pair) sorted; /* slot vaddr -> index into slots */
	size_t lazy_first,
		lazy_end; /* slots that came from .rela.plt, which stubs name by number */
	uint64_t got_vaddr;
	bool is_64, swap;
};

/* What a stub says about itself. */
struct stub {
	uint32_t bytes;
	bool by_number; /* number: of its relocation in .rela.plt; else slot */
	uint64_t slot, number;
};

/* ---- decoding ---------------------------------------------------------------------------- */

static bool eat(struct buf *b, const char *bytes, size_t n)
{
	if (buf_left(b) < n || memcmp(b->p, bytes, n))
		return false;
	b->p += n;
	return true;
}

/* Decodes endbr; [mov $n,%r11d;] [bnd] jmp *slot, or endbr; push $n. `relative`: the operand is
 * relative to the next instruction (64-bit), else it is the slot's address. */
static bool decode_x86(const struct plt *p, struct buf b, uint64_t vaddr, struct stub *stub)
{
	const uint8_t *begin = b.p;
	int32_t operand;

	if (!eat(&b, "\xf3\x0f\x1e\xfa", 4))
		eat(&b, "\xf3\x0f\x1e\xfb", 4);
	if (eat(&b, "\x41\xbb", 2))
		buf_skip(&b, 4);
	if (eat(&b, "\x68", 1)) {
		stub->by_number = true;
		stub->number = buf_u32(&b);
		if (!p->is_64) /* i386 pushes the offset in .rel.plt */
			stub->number /= sizeof(Elf32_Rel);
		return buf_ok(&b);
	}
	eat(&b, "\xf2", 1);
	stub->by_number = false;
	if (eat(&b, "\xff\x25", 2)) {
		operand = (int32_t)buf_u32(&b);
		stub->slot = p->is_64 ? vaddr + (uint64_t)(b.p - begin) + (uint64_t)(int64_t)operand
				      : (uint32_t)operand;
		return buf_ok(&b);
	}
	/* jmp *operand(%ebx): relative to the base of the GOT */
	if (!p->is_64 && eat(&b, "\xff\xa3", 2)) {
		operand = (int32_t)buf_u32(&b);
		stub->slot = (uint32_t)(p->got_vaddr + (uint32_t)operand);
		return buf_ok(&b);
	}
	return false;
}

/* [bti c;] adrp x16, page; ldr x17, [x16, #offset]; add x16, ...; [autia1716;] br x17; nop... */
static bool decode_aarch64(const struct plt *p, struct buf b, uint64_t vaddr, struct stub *stub)
{
	const uint32_t bti_c = 0xd503245f, nop = 0xd503201f, br_x17 = 0xd61f0220;
	const uint8_t *begin = b.p;
	uint32_t adrp = buf_u32(&b), ldr, i;
	uint64_t page;

	(void)p;
	if (adrp == bti_c) {
		adrp = buf_u32(&b);
		vaddr += 4;
	}
	ldr = buf_u32(&b);
	if (!buf_ok(&b) || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	page = (page ^ 1u << 20) - (1u << 20); /* sign of 21 bits */
	stub->by_number = false;
	stub->slot = (vaddr & ~(uint64_t)0xfff) + (page << 12) + (ldr >> 10 & 0xfff) * 8;
	for (i = 0; i < 4 && buf_left(&b) >= 4 && buf_u32(&b) != br_x17; i++)
		;
	while (buf_left(&b) >= 4) {
		struct buf next = b;

		if (buf_u32(&next) != nop)
			break;
		b = next;
	}
	stub->bytes = (uint32_t)(b.p - begin);
	return true;
}

struct plt_machine {
	uint32_t step; /* alignment of instructions; 0: stubs are at multiples of the entry size */
	bool (*decode)(const struct plt *p, struct buf b, uint64_t vaddr, struct stub *stub);
};

static const struct plt_machine machines[INSN_SET_N] = {
	[INSN_SET_X86] = {0, decode_x86},
	[INSN_SET_A64] = {4, decode_aarch64},
};

/* ---- relocations ------------------------------------------------------------------------- */

static int read_relocations(struct plt *p, const struct elf_section *s)
{
	bool rela = s->type == SHT_RELA;
	size_t word = p->is_64 ? 8 : 4, entsize = word * (rela ? 3 : 2);
	struct buf b = buf_make(s->data, (size_t)s->size, s->off, p->swap);
	const struct processor *cpu = processor_find_elf(elf_image_machine(p->img), p->is_64);

	while (cpu && buf_left(&b) >= entsize) {
		struct slot slot = {.symtab = s->link, .has_addend = rela};
		uint64_t info;
		uint32_t type;

		slot.vaddr = p->is_64 ? buf_u64(&b) : buf_u32(&b);
		info = p->is_64 ? buf_u64(&b) : buf_u32(&b);
		if (rela)
			slot.addend = p->is_64 ? buf_u64(&b) : buf_u32(&b);
		type = p->is_64 ? (uint32_t)info : (uint32_t)info & 0xff;
		slot.symbol = (uint32_t)(p->is_64 ? info >> 32 : info >> 8);
		if (type != cpu->reloc_glob_dat && type != cpu->reloc_jump_slot &&
		    type != cpu->reloc_irelative)
			continue;
		if (type == cpu->reloc_irelative)
			slot.symbol = 0;
		if (p->slots.n >= UINT32_MAX || vec_push(&p->slots, slot))
			return -1;
	}
	return 0;
}

/* Reads the relocations of .rela.plt, or all: nearly all stubs need only .rela.plt, which is small
 * beside the relocations of data. */
static int read_slots(struct plt *p, bool all)
{
	struct elf_section s;
	const char *name;
	size_t i, n = elf_image_section_count(p->img);

	p->slots.n = p->sorted.n = 0;
	for (i = 0; i < n; i++) {
		size_t before = p->slots.n;
		bool lazy;

		if (!elf_image_section_at(p->img, i, &name, &s) || !s.data ||
		    !(s.flags & SHF_ALLOC) || (s.type != SHT_RELA && s.type != SHT_REL))
			continue;
		lazy = !strcmp(name, ".rela.plt") || !strcmp(name, ".rel.plt");
		if ((lazy || all) && read_relocations(p, &s))
			return -1;
		if (lazy) {
			p->lazy_first = before;
			p->lazy_end = p->slots.n;
		}
	}
	for (i = 0; i < p->slots.n; i++)
		if (vec_push(&p->sorted, (struct sort_pair){p->slots.v[i].vaddr, (uint32_t)i}))
			return -1;
	return sort_pairs(p->sorted.v, p->sorted.n);
}

static const struct slot *find_slot(const struct plt *p, const struct stub *stub)
{
	size_t lo = 0, hi = p->sorted.n;

	if (stub->by_number)
		return stub->number < p->lazy_end - p->lazy_first
			       ? &p->slots.v[p->lazy_first + stub->number]
			       : NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->sorted.v[mid].key < stub->slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->sorted.n && p->sorted.v[lo].key == stub->slot
		       ? &p->slots.v[p->sorted.v[lo].index]
		       : NULL;
}

/* The first three slots belong to the dynamic linker; .plt begins with a jump through one of them.
 */
static bool is_reserved(const struct plt *p, const struct stub *stub)
{
	return !stub->by_number && stub->slot - p->got_vaddr < (p->is_64 ? 3 * 8 : 3 * 4);
}

/* ---- names ------------------------------------------------------------------------------- */

static const char *symbol_name(const struct plt *p, const struct slot *slot, size_t *len)
{
	size_t entsize = p->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct elf_section syms, strings;
	const char *unused, *name;
	struct buf entry, b;

	if (!elf_image_section_at(p->img, slot->symtab, &unused, &syms) || !syms.data ||
	    !elf_image_section_at(p->img, syms.link, &unused, &strings) || !strings.data)
		return NULL;
	entry = buf_make(syms.data, (size_t)syms.size, syms.off, p->swap);
	buf_skip(&entry, (uint64_t)slot->symbol * entsize);
	entry = buf_sub(&entry, entsize);
	b = buf_make(strings.data, (size_t)strings.size, strings.off, p->swap);
	buf_skip(&b, buf_u32(&entry)); /* st_name comes first in both classes */
	name = buf_ok(&entry) ? buf_cstr(&b) : NULL;
	*len = name ? strlen(name) : 0;
	return name;
}

/* The resolver function of an IRELATIVE relocation: its addend, which REL stores in the slot. */
static uint64_t target_of(const struct plt *p, const struct slot *slot)
{
	size_t left = 0;
	const uint8_t *at;
	struct buf b;

	if (slot->has_addend)
		return slot->addend;
	at = elf_image_at_vaddr(p->img, slot->vaddr, &left);
	b = buf_make(at, left, 0, p->swap);
	return p->is_64 ? buf_u64(&b) : buf_u32(&b);
}

/* The partial symbol table may lack these functions. */
static int load_targets(struct plt *p)
{
	struct sort_pair *targets = malloc((p->slots.n + 1) * sizeof *targets);
	uint64_t *vaddrs = malloc((p->slots.n + 1) * sizeof *vaddrs);
	size_t n = 0, i;
	int rc = targets && vaddrs ? 0 : -1;

	for (i = 0; i < p->slots.n && !rc; i++)
		if (!p->slots.v[i].symbol)
			targets[n++].key = target_of(p, &p->slots.v[i]);
	if (!rc)
		rc = sort_pairs(targets, n);
	for (i = 0; i < n && !rc; i++)
		vaddrs[i] = targets[i].key;
	if (!rc)
		rc = elfsyms_load(&p->targets, p->mod, vaddrs, n);
	free(targets);
	free(vaddrs);
	p->has_targets = !rc;
	return rc;
}

/* *ret is NULL if the function has no name. */
static int resolver_name(struct plt *p, const struct slot *slot, const char **ret, size_t *len)
{
	struct func_cursor cursor = {0};
	uint64_t target = target_of(p, slot);
	const struct func *f;

	*ret = NULL;
	if (!p->has_targets && load_targets(p))
		return -1;
	f = functab_find(&p->targets.tab, target, &cursor);
	if (!f || f->start != target)
		return 0;
	*len = strcspn(f->name, "@"); /* without the version */
	*ret = f->name;
	return 0;
}

static int add_stub(struct plt *p, uint64_t start, uint64_t end, const char *name, size_t len)
{
	static const char suffix[] = "@plt";
	struct func f = {.start = start, .end = end, .flags = FUNC_GLOBAL};
	char *s = arena_alloc(&p->tab->names, len + sizeof suffix);

	if (!s)
		return -1;
	memcpy(s, name, len);
	memcpy(s + len, suffix, sizeof suffix);
	f.name = s;
	return functab_add(p->tab, &f);
}

static bool is_plt_name(const char *name)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt", ".plt.bnd"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int read_section(struct plt *p, const struct plt_machine *m, const struct elf_section *s,
			const char *section_name)
{
	/* GNU ld sets it to 8 or 16; lld leaves it 0 and uses 16 */
	uint32_t entsize = s->entsize >= 8 && s->entsize <= 64 ? (uint32_t)s->entsize : 16;
	uint64_t off;

	/* WEAK, so that a stub at the same start is preferred */
	if (functab_add(p->tab, &(struct func){.start = s->vaddr,
					       .end = s->vaddr + s->size,
					       .name = section_name,
					       .flags = FUNC_WEAK}))
		return -1;
	for (off = 0; off < s->size;) {
		struct buf b =
			buf_make(s->data + off, (size_t)(s->size - off), s->off + off, p->swap);
		struct stub stub = {.bytes = entsize};
		const struct slot *slot = NULL;
		const char *name = NULL;
		size_t len = 0;

		if (m->decode(p, b, s->vaddr + off, &stub)) {
			slot = find_slot(p, &stub);
			p->lacks_slot |= !slot && !is_reserved(p, &stub);
		}
		if (slot && slot->symbol)
			name = symbol_name(p, slot, &len);
		else if (slot && resolver_name(p, slot, &name, &len))
			return -1;
		if (name && len &&
		    add_stub(p, s->vaddr + off, s->vaddr + off + stub.bytes, name, len))
			return -1;
		off += name || !m->step ? stub.bytes : m->step;
	}
	return 0;
}

bool plt_covers(struct elf_image *img, uint64_t vaddr, struct code_section *last)
{
	struct elf_section s;
	const char *name;
	size_t i, n = elf_image_section_count(img);

	if (vaddr - last->vaddr < last->size)
		return last->is_plt;
	for (i = 0; i < n; i++)
		if (elf_image_section_at(img, i, &name, &s) && s.flags & SHF_EXECINSTR &&
		    vaddr >= s.vaddr && vaddr - s.vaddr < s.size) {
			*last = (struct code_section){s.vaddr, s.size, is_plt_name(name)};
			return last->is_plt;
		}
	return false;
}

static int read_sections(struct plt *p, const struct plt_machine *m, bool all_slots)
{
	struct elf_section s;
	const char *name;
	size_t i, n = elf_image_section_count(p->img);
	int rc = read_slots(p, all_slots);

	p->lacks_slot = false;
	for (i = 0; !rc && i < n; i++)
		if (elf_image_section_at(p->img, i, &name, &s) && s.data && is_plt_name(name) &&
		    s.vaddr <= UINT64_MAX - s.size)
			rc = read_section(p, m, &s, name);
	return rc;
}

int plt_read(struct functab *tab, const struct module *mod)
{
	struct elf_image *img = mod->image;
	struct plt p = {.mod = mod,
			.img = img,
			.tab = tab,
			.is_64 = elf_image_is_64(img),
			.swap = elf_image_swapped(img)};
	const struct plt_machine *m = &machines[processor_insn_set(elf_image_machine(img))];
	struct elf_section s;
	int rc;

	if (!m->decode)
		return 0;
	if (elf_image_section(img, ".got.plt", &s, NULL) ||
	    elf_image_section(img, ".got", &s, NULL))
		p.got_vaddr = s.vaddr;
	rc = read_sections(&p, m, false);
	if (!rc && p.lacks_slot) {
		functab_done(tab);
		elfsyms_done(&p.targets);
		p.has_targets = false;
		rc = read_sections(&p, m, true);
	}
	elfsyms_done(&p.targets);
	vec_done(&p.slots);
	vec_done(&p.sorted);
	return rc ? rc : functab_finish(tab);
}

/* code.h - is a function's machine code the same in two builds, but for where things lie? Private
 * to regress/.
 *
 * The linker changes distances and addresses in code that was not changed. Each instruction is
 * read: its bytes have to be equal, but for a distance, which has to lead to the same thing: to the
 * same place of the function, to what has the same name, to equal constants. NOPs are passed over:
 * how many align a loop depends on where the function lies (gcc 14 aligns loops more than
 * functions). What has no name is compared up to where the next thing begins that code, data or a
 * symbol refers to, so that a table of any length is compared whole. x86-64, ELF of 64 bits;
 * everything else is "not known", as all is that cannot be shown to be the same. Sources of truth:
 * ELF gABI, x86-64 psABI (relocation types), Intel SDM volume 2. */
#ifndef REGRESS_CODE_H
#define REGRESS_CODE_H

#include "base/vec.h"
#include "modules/modules.h"

struct code_symbol {
	uint64_t start, size; /* vaddr */
	uint64_t section_end;
	const char *name; /* lives with the image */
	uint32_t rank;	  /* among symbols of this name, by address */
	bool is_function;
	bool is_label; /* of data without a size */
};

/* The value that the dynamic linker writes to a place: an address in this image, or that of a
 * symbol in another. */
struct code_slot {
	uint64_t vaddr;
	uint64_t addend;
	const char *name; /* NULL: the image's base + addend */
};

struct code_image {
	struct elf_image *img;
	VEC(struct code_symbol) by_address;
	VEC(uint32_t) by_name; /* of by_address, sorted by name and rank */
	VEC(struct code_slot) slots;
	VEC(uint64_t) anchors;	   /* sorted: where something begins that something refers to */
	VEC(const char *) exports; /* sorted: names that other modules find */
};

/* In this order: of several functions with one key the last state counts. */
enum code_state { CODE_NOT_COMPARED, CODE_SAME, CODE_UNKNOWN, CODE_CHANGED };

/* `symbols`: the file with .symtab, which may be another than img. Returns 0, or -1 when out of
 * memory. If the image cannot be compared (not x86-64, no symbols), by_address.n is 0. */
int code_image_open(struct code_image *c, struct elf_image *img, struct elf_image *symbols);
void code_image_done(struct code_image *c);
/* Is the instruction of n bytes an INT3 or a NOP, as between functions and before loops? */
bool code_is_padding(const uint8_t *insn, size_t n);
/* The symbol that covers an address; NULL: none. */
const struct code_symbol *code_symbol_at(const struct code_image *c, uint64_t vaddr);
/* The symbol with the same name, and rank among those of this name, as one of another image; NULL:
 * none. */
const struct code_symbol *code_symbol_like(const struct code_image *c, const struct code_symbol *s);
const struct code_slot *code_slot_at(const struct code_image *c, uint64_t vaddr);
/* How many slots begin in a range. */
size_t code_slots_in(const struct code_image *c, uint64_t vaddr, uint64_t size);
/* How many bytes there are until the next thing that something refers to, or the section's end; 0:
 * vaddr is in no section. */
uint64_t code_extent(const struct code_image *c, uint64_t vaddr);

/* Compares the function that begins at `vaddr` of a with the function of the same name in b. */
enum code_state code_compare(const struct code_image *a, const struct code_image *b,
			     uint64_t vaddr);
/* Compares all functions that both have, all initialised data, what pointers in it lead to, what is
 * exported, and the code that runs before main. */
enum code_state code_compare_all(const struct code_image *a, const struct code_image *b);

#endif

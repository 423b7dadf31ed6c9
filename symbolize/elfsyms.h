/* elfsyms.h - the functions of one ELF module, from all of its symbol tables. Private to
 * symbolize/. */
#ifndef SYMBOLIZE_ELFSYMS_H
#define SYMBOLIZE_ELFSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"
#include "functions/functions.h"

/* ---- plt.c: stubs of the procedure linkage table ------------------------------------------ */

/* An executable section. */
struct code_section {
	uint64_t vaddr, size;
	bool is_plt;
};

/* Is vaddr in .plt, .plt.sec, .plt.got or .iplt? *last caches the section of the previous call;
 * zeroed at first. */
bool plt_covers(struct elf_image *img, uint64_t vaddr, struct code_section *last);
/* Fills an empty table with "NAME@plt" for every stub of the module's image that jumps through a
 * relocated slot, and ".plt" for the rest of these sections. For x86_64, i386 and aarch64. Names
 * live in tab. Returns 0, or -1 when out of memory. */
int plt_read(struct functab *tab, const struct module *mod);

/* ---- elfsyms.c: all of them together ------------------------------------------------------ */

struct elfsyms {
	const struct module *mod;
	struct functab tab, plt;
	struct go_table go; /* data NULL: none */
	bool partial;	    /* tab has only what the first batch seemed to need */
	bool plt_read;
	struct code_section last_section;
	struct cfi_index eh; /* opened when a symbol without size is met */
	bool eh_opened;
	/* Of a symbol without size: no other function starts in this range. */
	uint64_t sizeless_start, sizeless_last;
	bool has_locals;      /* functions that are not exported have names, too */
	char source[2 * 256]; /* what symbolizer_source() returns; "" if there are no symbols */
};

/* Loads the symbols of image, debug file and MiniDebugInfo of mod, as far as these exist; of a Go
 * program without symbols, its own function table. `vaddrs` (rising) are the addresses that will be
 * looked up: for a few addresses a table of 100,000 functions need not be sorted. With n == 0
 * everything is loaded. Returns 0, or -1 when out of memory. */
int elfsyms_load(struct elfsyms *s, const struct module *mod, const uint64_t *vaddrs, size_t n);
/* Must be called before addresses are looked up that elfsyms_load() was not given. */
int elfsyms_load_rest(struct elfsyms *s);
void elfsyms_done(struct elfsyms *s);
/* Finds the function that covers vaddr; rising addresses are fastest. *ret is NULL if there is
 * none; it is valid until the next call, its name as long as s. One thread at a time. Returns 0, or
 * -1 when out of memory. */
int elfsyms_find(struct elfsyms *s, uint64_t vaddr, struct func_cursor *cursor,
		 const struct func **ret);
/* False for NULL. */
bool elfsyms_has_symtab(struct elf_image *img);
/* The table that contains f. */
const struct functab *elfsyms_table(const struct elfsyms *s, const struct func *f);

#endif

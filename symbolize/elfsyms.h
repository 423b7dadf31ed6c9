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

/* Whether vaddr lies in .plt, .plt.sec, .plt.got or .iplt. *last is where the call before found its
 * answer; zeroed to start. */
bool plt_covers(struct elf_image *img, uint64_t vaddr, struct code_section *last);
/* Fills an empty table with "NAME@plt" for every stub of the module's image whose jump goes through
 * a relocated slot, and ".plt" for the rest of these sections. x86_64, i386 and aarch64. 0, or -1
 * when out of memory. Names live in tab. */
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
	/* Of a symbol without size: no other function starts between these two. */
	uint64_t sizeless_start, sizeless_last;
	bool has_locals;      /* functions that are not exported have names, too */
	char source[2 * 256]; /* as symbolizer_source() says it; "" when there are no symbols */
};

/* From image, debug file and MiniDebugInfo of mod, whichever are there; a Go program without any of
 * them still has its own table. The rising vaddrs are those that will be looked up: a table of
 * 100,000 functions need not be sorted for a few addresses. With n == 0 everything is loaded. 0, or
 * -1 when out of memory. */
int elfsyms_load(struct elfsyms *s, const struct module *mod, const uint64_t *vaddrs, size_t n);
/* Before other addresses than those of elfsyms_load() are looked up. */
int elfsyms_load_rest(struct elfsyms *s);
void elfsyms_done(struct elfsyms *s);
/* Rising addresses are cheapest. *ret is NULL when no function covers vaddr, else lives until the
 * next call; its name lives on. One thread at a time. 0, or -1 when out of memory. */
int elfsyms_find(struct elfsyms *s, uint64_t vaddr, struct func_cursor *cursor,
		 const struct func **ret);
/* False for NULL. */
bool elfsyms_has_symtab(struct elf_image *img);
/* The table that f came from. */
const struct functab *elfsyms_table(const struct elfsyms *s, const struct func *f);

#endif

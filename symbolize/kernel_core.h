/* kernel_core.h - caches the symbols of the kernel itself between runs. Private to symbolize/.
 *
 * The kernel takes some 30 ms to write /proc/kallsyms, more than everything else in a small
 * recording takes. The part of it in [_text, _etext) never changes while a kernel runs: it depends
 * only on the build id and on the address chosen at boot. Modules, BPF programs and trampolines,
 * which are added and removed, have addresses outside; those are looked up in the list itself. */
#ifndef SYMBOLIZE_KERNEL_CORE_H
#define SYMBOLIZE_KERNEL_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"
#include "symbolize/kallsyms.h"

struct kernel_core {
	const void *data; /* the mapped file; NULL: closed */
	size_t size;
	const struct core_row *rows;
	const char *names;
	size_t n, names_size;
	uint64_t _text, _stext, _etext;
	bool damaged; /* a row that was looked up is damaged: the file is not used any more */
};

/* Opens the file in `dir` with the kernel that was saved last. Returns false if it has another
 * build id, belongs to another user, or is damaged. A zeroed struct is closed. */
bool kernel_core_open(struct kernel_core *c, const char *dir, const struct build_id *id);
void kernel_core_close(struct kernel_core *c);
/* Finds what functab_find() and icf_count() would find in the list. Returns false outside of
 * [_text, _etext), or if the row is damaged. ret->name is valid until kernel_core_close(). */
bool kernel_core_find(struct kernel_core *c, uint64_t addr, struct func *ret, uint32_t *aliases);
/* Replaces the saved list by this one, if it has at most max_bytes. Failures are ignored. */
void kernel_core_save(const char *dir, uint64_t max_bytes, const struct build_id *id,
		      const struct kallsyms *k);

#endif

/* kernel_core.h - the symbols of the kernel itself, kept between runs. Private to symbolize/.
 *
 * Making /proc/kallsyms costs the kernel some 30 ms, more than all else in a small recording. The
 * part of it that lies in [_text, _etext) never changes while a kernel runs: it depends on the
 * build id and on where the kernel was put at boot. Modules, BPF programs and trampolines, which
 * come and go, lie outside; addresses there are looked up in the list itself.
 */
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
	bool damaged; /* a row that was asked for is: the file is of no use any more */
};

/* The file of the last kernel that was kept in `dir`. False when it is of another build id, does
 * not belong to the user, or is damaged. A zeroed struct is closed. */
bool kernel_core_open(struct kernel_core *c, const char *dir, const struct build_id *id);
void kernel_core_close(struct kernel_core *c);
/* What functab_find() and icf_count() would say in the list; false outside of [_text, _etext), and
 * when the row is damaged. ret->name lives until kernel_core_close(). */
bool kernel_core_find(struct kernel_core *c, uint64_t addr, struct func *ret, uint32_t *aliases);
/* Keeps a list in place of the last one, if that is no more than max_bytes. That it cannot is no
 * error. */
void kernel_core_save(const char *dir, uint64_t max_bytes, const struct build_id *id,
		      const struct kallsyms *k);
/* PATH of the file. False: too long. */
bool kernel_core_path(const char *dir, char *buf, size_t size);

#endif

/* kallsyms.h - the kernel's symbol list as text, /proc/kallsyms or a copy of it. Private to
 * symbolize/. */
#ifndef SYMBOLIZE_KALLSYMS_H
#define SYMBOLIZE_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "functions/functions.h"

struct kallsyms {
	struct functab tab;	   /* tag: index into modules */
	VEC(const char *) modules; /* names without brackets; [0] is "" for the kernel itself */
	char *text;		   /* names and modules point into it */
	uint64_t _text, _stext, _etext; /* 0: not listed */
	bool hidden;			/* all addresses are 0: kernel.kptr_restrict */
};

/* Takes over `text` (allocated, NUL-terminated, size bytes without the NUL) and cuts it up, also
 * when it fails. Lines of another shape are ignored. 0, or -1 when out of memory. */
int kallsyms_parse(struct kallsyms *k, char *text, size_t size);
void kallsyms_done(struct kallsyms *k);

/* "nf_conntrack" of "[nf_conntrack]" or "/lib/modules/6.1/.../nf-conntrack.ko.xz", at most size - 1
 * bytes. False when dso_path is neither. */
bool kallsyms_module_name(const char *dso_path, char *name, size_t size);

#endif

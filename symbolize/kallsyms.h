/* kallsyms.h - parses the kernel's symbol list, /proc/kallsyms or a copy of it. Private to
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

/* Parses `text` in place and takes ownership of it, also on failure: it is allocated and
 * NUL-terminated; size does not count the NUL. Lines in another form are ignored. Returns 0, or -1
 * when out of memory. */
int kallsyms_parse(struct kallsyms *k, char *text, size_t size);
void kallsyms_done(struct kallsyms *k);

/* Writes the module's name, at most size - 1 bytes: "nf_conntrack" for "[nf_conntrack]" or
 * "/lib/modules/6.1/.../nf-conntrack.ko.xz". Returns false if dso_path is neither. */
bool kallsyms_module_name(const char *dso_path, char *name, size_t size);

#endif

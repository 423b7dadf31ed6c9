/* perfmap.h - parses /tmp/perf-PID.map, the symbols that a JIT compiler writes. Private to
 * symbolize/. */
#ifndef SYMBOLIZE_PERFMAP_H
#define SYMBOLIZE_PERFMAP_H

#include <stddef.h>

#include "functions/functions.h"

/* Parses `text` in place (NUL-terminated; size does not count the NUL) into a finished table whose
 * names point into it. Later lines replace earlier ones, because JIT compilers reuse memory. Lines
 * in another form are ignored. Returns 0, or -1 when out of memory. */
int perfmap_parse(struct functab *tab, char *text, size_t size);

#endif

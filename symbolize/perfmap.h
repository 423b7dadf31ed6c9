/* perfmap.h - /tmp/perf-PID.map: what a JIT compiler says its code is. Private to symbolize/. */
#ifndef SYMBOLIZE_PERFMAP_H
#define SYMBOLIZE_PERFMAP_H

#include <stddef.h>

#include "functions/functions.h"

/* Cuts up `text` (NUL-terminated, size bytes without the NUL; the names point into it) into a
 * finished table in which later lines win over earlier ones, because JIT compilers reuse memory.
 * Lines of another shape are ignored. 0, or -1 when out of memory. */
int perfmap_parse(struct functab *tab, char *text, size_t size);

#endif

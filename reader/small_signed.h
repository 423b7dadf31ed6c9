/* small_signed.h - private to reader/. */
#ifndef READER_SMALL_SIGNED_H
#define READER_SMALL_SIGNED_H

#include <stddef.h>

#include "base/arena.h"

/* The format of a probe of capture, which libtraceevent then prints right: it takes fields of 8 and
 * 16 bits as if they had no sign, where the kernel's print format says "%d" for them as for all
 * others; "%hd" says how long they are. Returns *text if there is nothing to alter, else a copy in
 * `a`, of length *n. NULL: out of memory. */
const char *small_signed_print(const char *text, size_t *n, struct arena *a);

#endif

/* kernel_range.h - private: where the code of the running kernel lies. */
#ifndef CAPTURE_KERNEL_RANGE_H
#define CAPTURE_KERNEL_RANGE_H

#include <stdint.h>

#include "reader/reader.h"

/* Values of the symbols of these names; 0: not found, or hidden by kernel.kptr_restrict. */
struct kernel_range {
	uint64_t text, stext, etext;
};

/* Reads PROC/kallsyms.
 *
 * _etext stands behind every function, and the kernel takes some 90 ms to write that many lines.
 * But how far it lies behind _text, which is among the first, is settled when a kernel is linked.
 * So it is kept by build id in the directory cache_dir (NULL: nowhere; it is made if it is missing)
 * and only _text, which is chosen anew at each boot, is read the next time. A saved file is
 * believed only as cache_file_map() says; failures to read or write it are ignored. */
void kernel_range_read(struct kernel_range *r, const char *proc, const struct build_id *id,
		       const char *cache_dir);

#endif

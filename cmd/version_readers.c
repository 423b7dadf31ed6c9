/* version_readers.c - versions of the libraries that read binaries; separate, because capture does
 * not link them. */
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <isa-l.h>
#include <lzma.h>
#include <stdio.h>

#include "cmd/version.h"

void version_print_readers(void)
{
	printf("elfutils %d.%d (running %s), liblzma %s", _ELFUTILS_VERSION / 1000,
	       _ELFUTILS_VERSION % 1000, dwfl_version(NULL), lzma_version_string());
#ifdef ISAL_MAJOR_VERSION
	printf(", isa-l %d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION);
#endif
	putchar('\n');
}

/* version.c - what a command was built with. */
#include "cmd/version.h"

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <isa-l.h>
#include <lzma.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

void version_print(const char *command)
{
	printf("%s (unspool) " UNSPOOL_VERSION "\n", command);
	printf("elfutils %d.%d (running %s), zlib %s, liblzma %s, zstd %s",
	       _ELFUTILS_VERSION / 1000, _ELFUTILS_VERSION % 1000, dwfl_version(NULL),
	       zlibVersion(), lzma_version_string(), ZSTD_versionString());
#ifdef ISAL_MAJOR_VERSION
	printf(", isa-l %d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION);
#endif
	printf("; " __VERSION__ "\n");
}

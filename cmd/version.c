/* version.c - what a command was built with. */
#include "cmd/version.h"

#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

void version_print(const char *command)
{
	printf("%s (unspool) " UNSPOOL_VERSION "\n", command);
	printf("zlib %s, zstd %s; " COMPILER "\n", zlibVersion(), ZSTD_versionString());
}

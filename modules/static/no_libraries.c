/* no_libraries.c - what is loaded when it is used is not there in a static program.
 *
 * dlopen() and getaddrinfo() of a static program need the very libc that it was linked with, and
 * the file is to be copied to other machines. Linked before libmodules.a, whose functions of these
 * names are then left out: zlib decompresses, and nothing is fetched. */
#include <string.h>
#include <zlib.h>

#include "modules/debuginfod_library.h"
#include "modules/debuginfod_servers.h"
#include "modules/igzip.h"

const struct igzip *igzip_library(void)
{
	return NULL;
}

uint32_t igzip_crc32(const uint8_t *bytes, size_t size)
{
	return (uint32_t)crc32_z(0, bytes, size);
}

const struct debuginfod_library *debuginfod_library(const char **why)
{
	*why = "not in a static program";
	return NULL;
}

void servers_reach(const struct servers *s, unsigned timeout_ms,
		   bool reachable[DEBUGINFOD_SERVERS_MAX])
{
	(void)timeout_ms;
	memset(reachable, 0, s->n * sizeof *reachable);
}

/* igzip.c - loads libisal.so.2. So a machine that has none still unwinds and names. */
#include "modules/igzip.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "base/shared_library.h"

/* Global because a loaded library belongs to the process: filled once, constant afterwards. */
static struct igzip library;
static bool library_is_there;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
	static const struct shared_symbol symbols[] = {
		{"isal_inflate_init", &library.inflate_init},
		{"isal_inflate", &library.inflate},
		{"crc32_gzip_refl", &library.crc32},
	};

	library_is_there =
		shared_library_load("libisal.so.2", symbols, sizeof symbols / sizeof *symbols);
}

const struct igzip *igzip_library(void)
{
	pthread_once(&library_once, library_load);
	return library_is_there ? &library : NULL;
}

uint32_t igzip_crc32(const uint8_t *bytes, size_t size)
{
	const struct igzip *lib = igzip_library();

	return lib ? lib->crc32(0, bytes, size) : (uint32_t)crc32_z(0, bytes, size);
}

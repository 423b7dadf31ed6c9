/* igzip.c - loads libisal.so.2. So a machine that has none still unwinds and names. */
#include "modules/igzip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

/* Global because a loaded library belongs to the process: filled once, constant afterwards. */
static struct igzip library;
static bool library_is_there;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
	static const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{"isal_inflate_init", &library.inflate_init},
		{"isal_inflate", &library.inflate},
		{"crc32_gzip_refl", &library.crc32},
	};
	void *so = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL), *f;

	library_is_there = so;
	for (size_t i = 0; so && i < sizeof symbols / sizeof *symbols; i++) {
		f = dlsym(so, symbols[i].name);
		library_is_there &= f != NULL;
		memcpy(symbols[i].to, &f, sizeof f); /* see debuginfod_library.c */
	}
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

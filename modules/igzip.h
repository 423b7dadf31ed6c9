/* igzip.h - Intel's ISA-L, loaded when something is decompressed. Private to modules/. */
#ifndef MODULES_IGZIP_H
#define MODULES_IGZIP_H

#include <isa-l/igzip_lib.h>
#include <stddef.h>
#include <stdint.h>

struct igzip {
	void (*inflate_init)(struct inflate_state *state);
	int (*inflate)(struct inflate_state *state);
	uint32_t (*crc32)(uint32_t seed, const unsigned char *bytes, uint64_t size);
};

/* NULL: it is not installed, or this program is static (static/no_libraries.c); zlib does the same
 * at half the speed. From any thread. */
const struct igzip *igzip_library(void);
/* The checksum of gzip and .gnu_debuglink, by either library. */
uint32_t igzip_crc32(const uint8_t *bytes, size_t size);

#endif

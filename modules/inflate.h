/* inflate.h - bounded decompression of sections and of whole files. Private to modules/. */
#ifndef MODULES_INFLATE_H
#define MODULES_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"

/* Contents whose size is told in advance. What claims more than the larger of the first limit and
 * the second times its compressed size is refused: deflate cannot expand more than 1032 times, and
 * zstd that does so is no debug data. */
#define INFLATE_SMALL_BYTES (16ull << 20)
#define INFLATE_RATIO_MAX   1032
#define INFLATE_MAX_BYTES   (16ull << 30)
/* Contents whose size is not told: .gnu_debugdata, compressed kernel modules. */
#define INFLATE_STREAM_MAX_BYTES (512ull << 20)
#define INFLATE_STREAM_MEM_BYTES (256ull << 20) /* for the decoder itself */

enum inflate_kind { INFLATE_ZLIB, INFLATE_ZSTD };

/* malloc'ed `out_size` bytes, which the contents must fill exactly. */
int inflate_sized(enum inflate_kind kind, const uint8_t *in, size_t in_size, uint64_t out_size,
		  uint8_t **ret);
/* The two halves of it. Memory for contents of which so much is there to be inflated; 0,
 * -ERR_LIMIT or -ERR_NOMEM. */
int inflate_room(size_t in_size, uint64_t out_size, uint8_t **ret);
/* Fills it. `watch` (NULL: nobody) hears of zlib's growing. */
int inflate_into(enum inflate_kind kind, const uint8_t *in, size_t in_size, uint8_t *out,
		 uint64_t out_size, const struct elf_watch *watch);
/* By magic: gzip, xz or zstd stream. ERR_FORMAT when it is none of them. */
int inflate_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size);
bool inflate_is_stream(const uint8_t *in, size_t in_size);

#endif

/* inflate.h - bounded decompression of sections and of whole files. Private to modules/. */
#ifndef MODULES_INFLATE_H
#define MODULES_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"

/* What is larger than the first and more than so many times as large as what it is made from is
 * refused. Debug files grow 3 to 8 times; deflate can 1,032 times, zstd without limit, and several
 * sections can be made from the same bytes. */
#define INFLATE_SMALL_BYTES (16ull << 20)
#define INFLATE_TIMES_MAX   32
#define INFLATE_MAX_BYTES   (16ull << 30)
/* Contents whose size is not told: .gnu_debugdata, compressed kernel modules. */
#define INFLATE_STREAM_MAX_BYTES (512ull << 20)
#define INFLATE_STREAM_MEM_BYTES (256ull << 20) /* for the decoder itself */

enum inflate_kind { INFLATE_ZLIB, INFLATE_ZSTD };

/* How large what is made from so many bytes may be. */
uint64_t inflate_limit(uint64_t in_size);
/* malloc'ed `out_size` bytes, which the contents must fill exactly. -ERR_LIMIT when that is beyond
 * inflate_limit(in_size). */
int inflate_sized(enum inflate_kind kind, const uint8_t *in, size_t in_size, uint64_t out_size,
		  uint8_t **ret);
/* The two halves of it. Memory for contents, which somebody has compared with the limit; 0,
 * -ERR_LIMIT or -ERR_NOMEM. */
int inflate_room(uint64_t out_size, uint8_t **ret);
/* Fills it. `watch` (NULL: nobody) hears of zlib's growing. */
int inflate_into(enum inflate_kind kind, const uint8_t *in, size_t in_size, uint8_t *out,
		 uint64_t out_size, const struct elf_watch *watch);
/* By magic: gzip, xz or zstd stream. ERR_FORMAT when it is none of them, ERR_LIMIT when there is
 * more of it than inflate_limit(in_size). */
int inflate_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size);
bool inflate_is_stream(const uint8_t *in, size_t in_size);

#endif

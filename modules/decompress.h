/* decompress.h - bounded decompression of sections and of whole files. Private to modules/. */
#ifndef MODULES_DECOMPRESS_H
#define MODULES_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"

/* What is larger than the first and more than so many times as large as what it is made from is
 * refused. Debug files grow 3 to 8 times; deflate can 1,032 times, zstd without limit, and several
 * sections can be made from the same bytes. */
#define DECOMPRESS_SMALL_BYTES (16ull << 20)
#define DECOMPRESS_TIMES_MAX   32
#define DECOMPRESS_MAX_BYTES   (16ull << 30)
/* Contents of unknown size: .gnu_debugdata, compressed kernel modules. */
#define DECOMPRESS_STREAM_MAX_BYTES (512ull << 20)

enum decompress_kind { DECOMPRESS_ZLIB, DECOMPRESS_ZSTD };

/* How large what is made from so many bytes may be. */
uint64_t decompress_limit(uint64_t in_size);
/* malloc'ed memory for contents, which the caller has compared with decompress_limit(); 0,
 * -ERR_LIMIT or -ERR_NOMEM. */
int decompress_room(uint64_t out_size, uint8_t **ret);
/* Fills it; the contents must have exactly this size. `watch` (may be NULL) is called as zlib's
 * output grows. */
int decompress_into(enum decompress_kind kind, const uint8_t *in, size_t in_size, uint8_t *out,
		    uint64_t out_size, const struct elf_watch *watch);
/* By magic: gzip, xz or zstd stream. -ERR_FORMAT when it is none of them, -ERR_LIMIT when there is
 * more of it than decompress_limit(in_size). */
int decompress_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size);
bool decompress_is_stream(const uint8_t *in, size_t in_size);

#endif

/* decompress.h - bounded decompression of sections and of whole files. Private to modules/. */
#ifndef MODULES_DECOMPRESS_H
#define MODULES_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"

/* Output that is larger than DECOMPRESS_SMALL_BYTES and more than DECOMPRESS_TIMES_MAX times as
 * large as its input is refused. Debug files grow 3 to 8 times; deflate can grow 1,032 times, zstd
 * without limit, and several sections can be inflated from the same bytes. */
#define DECOMPRESS_SMALL_BYTES (16ull << 20)
#define DECOMPRESS_TIMES_MAX   32
#define DECOMPRESS_MAX_BYTES   (16ull << 30)
/* Contents of unknown size: .gnu_debugdata, compressed kernel modules. */
#define DECOMPRESS_STREAM_MAX_BYTES (512ull << 20)

enum decompress_kind { DECOMPRESS_ZLIB, DECOMPRESS_ZSTD };

/* The most bytes that may be made from in_size bytes. */
uint64_t decompress_limit(uint64_t in_size);
/* Allocates memory (malloc) for contents; the caller has compared out_size with decompress_limit().
 * Returns 0, -ERR_LIMIT or -ERR_NOMEM. */
int decompress_room(uint64_t out_size, uint8_t **ret);
/* Decompresses to `out`; the contents must be exactly out_size bytes. `watch` (may be NULL) is
 * called as zlib's output grows. */
int decompress_into(enum decompress_kind kind, const uint8_t *in, size_t in_size, uint8_t *out,
		    uint64_t out_size, const struct elf_watch *watch);
/* Decompresses a gzip, xz or zstd stream, recognized by its magic. *ret is malloc'ed. Returns
 * -ERR_FORMAT if it is none of them, -ERR_LIMIT if its contents are more than
 * decompress_limit(in_size). */
int decompress_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size);
bool decompress_is_stream(const uint8_t *in, size_t in_size);

#endif

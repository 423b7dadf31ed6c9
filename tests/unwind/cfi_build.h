/* cfi_build.h - writes CIEs and FDEs byte by byte, for tests. */
#ifndef TESTS_UNWIND_CFI_BUILD_H
#define TESTS_UNWIND_CFI_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct build {
	uint8_t bytes[4096];
	size_t n;
	size_t open; /* where the entry's length field is */
	bool is_64;  /* 64-bit DWARF */
};

static inline void put(struct build *b, uint64_t v, unsigned size)
{
	memcpy(b->bytes + b->n, &v, size); /* little-endian machine */
	b->n += size;
}

static inline void put_bytes(struct build *b, const void *p, size_t n)
{
	memcpy(b->bytes + b->n, p, n);
	b->n += n;
}

static inline void entry_begin(struct build *b)
{
	b->open = b->n;
	if (b->is_64)
		put(b, 0xffffffff, 4);
	put(b, 0, b->is_64 ? 8 : 4);
}

static inline void entry_end(struct build *b)
{
	size_t after = b->open + (b->is_64 ? 12 : 4);
	uint64_t len;

	while ((b->n - after) % 8)
		put(b, 0, 1); /* DW_CFA_nop */
	len = b->n - after;
	memcpy(b->bytes + after - (b->is_64 ? 8 : 4), &len, b->is_64 ? 8 : 4);
}

struct cie_spec {
	bool is_eh;
	uint8_t version;
	const char *augmentation;
	uint8_t pointer_encoding;
	const uint8_t *insns;
	size_t n_insns;
};

/* code alignment 1, data alignment -8, return address in register 16. Returns the entry's offset.
 */
static inline size_t put_cie(struct build *b, const struct cie_spec *s)
{
	size_t off = b->n, n_data = 0;
	const char *c;

	entry_begin(b);
	put(b, s->is_eh ? 0 : UINT64_MAX, b->is_64 ? 8 : 4);
	put(b, s->version, 1);
	put_bytes(b, s->augmentation, strlen(s->augmentation) + 1);
	if (s->version == 4)
		put(b, 8, 2); /* address size, no segment selector */
	put(b, 1, 1);
	put(b, 0x78, 1); /* -8 */
	put(b, 16, 1);
	if (s->augmentation[0] == 'z') {
		for (c = s->augmentation + 1; *c; c++)
			n_data += *c == 'R' || *c == 'L' ? 1 : *c == 'P' ? 5 : 0;
		put(b, n_data, 1);
		for (c = s->augmentation + 1; *c; c++) {
			if (*c == 'R')
				put(b, s->pointer_encoding, 1);
			if (*c == 'L')
				put(b, 0x1b, 1);
			if (*c == 'P') { /* indirect, pc-relative, 4 bytes, as g++ has it */
				put(b, 0x9b, 1);
				put(b, 0x1234, 4);
			}
		}
	}
	put_bytes(b, s->insns, s->n_insns);
	entry_end(b);
	return off;
}

/* Begins an FDE up to the initial location, whose bytes follow. */
static inline size_t put_fde_head(struct build *b, bool is_eh, size_t cie_off)
{
	size_t off = b->n;

	entry_begin(b);
	put(b, is_eh ? b->n - cie_off : cie_off, b->is_64 ? 8 : 4);
	return off;
}

#endif

/* lsda.c - the table that tells where exceptions go from each call of a function.
 *
 * The layout is that of GCC's C++ personality routine, which those of other languages share: no
 * document describes it but gcc/except.cc (output_one_function_exception_table) and "Exception
 * Handling Tables" of LLVM's documents. */
#include "functions/functions.h"

#include <dwarf.h>

/* One more than the entries of the largest tables that compilers write. */
#define SITES_MAX 65536

struct sites {
	struct cfi_section sec; /* from the table's start on */
	struct buf b;
	uint64_t pads; /* what landing pads are relative to */
	uint8_t encoding;
};

static bool sites_begin(struct elf_image *img, const struct cfi_fde *fde, struct sites *ret)
{
	struct buf *b = &ret->b;
	const uint8_t *data;
	uint8_t encoding;
	size_t left;

	data = fde->lsda ? elf_image_at_vaddr(img, fde->lsda, &left) : NULL;
	if (!data)
		return false;
	ret->sec = (struct cfi_section){.data = data,
					.size = left,
					.vaddr = fde->lsda,
					.swap = fde->sec->swap,
					.address_bytes = fde->sec->address_bytes};
	*b = buf_make(data, left, 0, fde->sec->swap);
	ret->pads = fde->start;
	encoding = buf_u8(b);
	if (encoding != DW_EH_PE_omit && !cfi_pointer_read(&ret->sec, b, encoding, 0, &ret->pads))
		return false;
	if (buf_u8(b) != DW_EH_PE_omit) /* the types that are caught */
		buf_uleb(b);
	ret->encoding = buf_u8(b);
	*b = buf_sub(b, buf_uleb(b));
	return buf_ok(b);
}

struct site {
	uint64_t start, end; /* vaddrs of the calls */
	uint64_t pad;	     /* 0: none */
};

static bool sites_next(struct sites *s, const struct cfi_fde *fde, struct site *ret)
{
	uint64_t start, bytes, pad;

	if (!buf_left(&s->b) || !cfi_pointer_read(&s->sec, &s->b, s->encoding, 0, &start) ||
	    !cfi_pointer_read(&s->sec, &s->b, s->encoding, 0, &bytes) ||
	    !cfi_pointer_read(&s->sec, &s->b, s->encoding, 0, &pad))
		return false;
	buf_uleb(&s->b); /* what is caught */
	*ret = (struct site){fde->start + start, fde->start + start + bytes,
			     pad ? s->pads + pad : 0};
	return buf_ok(&s->b);
}

uint64_t lsda_pad(struct elf_image *img, const struct cfi_fde *fde, uint64_t vaddr)
{
	struct sites s;
	struct site site;
	unsigned i;

	if (!sites_begin(img, fde, &s))
		return 0;
	for (i = 0; i < SITES_MAX && sites_next(&s, fde, &site); i++)
		if (vaddr >= site.start && vaddr < site.end)
			return site.pad;
	return 0;
}

bool lsda_is_pad(struct elf_image *img, const struct cfi_fde *fde, uint64_t vaddr)
{
	struct sites s;
	struct site site;
	unsigned i;

	if (!sites_begin(img, fde, &s))
		return false;
	for (i = 0; i < SITES_MAX && sites_next(&s, fde, &site); i++)
		if (site.pad && site.pad == vaddr)
			return true;
	return false;
}

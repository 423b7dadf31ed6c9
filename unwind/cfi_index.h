/* cfi_index.h - finds the FDE of an address in one section of one ELF file. Private to unwind/. */
#ifndef UNWIND_CFI_INDEX_H
#define UNWIND_CFI_INDEX_H

#include "modules/modules.h"
#include "unwind/cfi.h"

struct cfi_index_row {
	uint64_t start; /* vaddr of the FDE's first instruction */
	uint64_t off;	/* of the FDE in the section */
};

/* Uses the linker's sorted table when there is a believable one, else makes its own at the first
 * look-up. The image must outlive the index. Not thread-safe, except for cfi_index_listed(). */
struct cfi_index {
	struct cfi_section sec; /* size 0: the file has none */
	/* .eh_frame_hdr: pairs of 32-bit (start, FDE), both relative to hdr_vaddr. */
	const uint8_t *hdr_rows;
	size_t n_hdr_rows;
	uint64_t hdr_vaddr;
	/* Own table. */
	struct cfi_index_row *rows;
	size_t n_rows;
	bool rows_made;
};

/* .eh_frame of an image, with or without section headers. */
void cfi_index_open_eh(struct cfi_index *ix, struct elf_image *img);
/* .debug_frame of an image or debug file. */
void cfi_index_open_debug(struct cfi_index *ix, struct elf_image *img);
void cfi_index_done(struct cfi_index *ix);

/* Is there an FDE for vaddr in the linker's table? True only where cfi_index_find() finds the same;
 * false also where it would have to look elsewhere. Nothing changes: any number of threads can ask
 * at the same time, beside the other, too. */
bool cfi_index_listed(const struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);
/* 1: found; 0: no FDE covers vaddr; -ERR_NOMEM. */
int cfi_index_find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);

#endif

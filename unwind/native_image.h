/* native_image.h - frames in methods of native-image (functions/functions.h). Private to unwind/.
 */
#ifndef UNWIND_NATIVE_IMAGE_H
#define UNWIND_NATIVE_IMAGE_H

#include "functions/functions.h"
#include "modules/modules.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"

/* The row of a method at a return address. Returns false if its code does not begin by making a
 * frame of that size. */
bool native_image_row_at_return(const struct native_method *m, struct elf_image *img,
				const struct arch *arch, struct cfi_row *row);
/* The row at any other instruction. Also returns false unless all of the code makes and takes away
 * the frame as compiled methods do. Takes what it reads, in instructions, off *steps, and needs
 * that many. */
bool native_image_row_at(const struct native_method *m, struct elf_image *img,
			 const struct arch *arch, uint64_t vaddr, uint64_t *steps,
			 struct cfi_row *row);

#endif

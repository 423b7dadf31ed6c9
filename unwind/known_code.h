/* known_code.h - code that is recognized by its bytes. Private to unwind/.
 *
 * All of these only read the image, so that threads need no lock. Addresses are those of the ELF
 * file. What a processor does not have in struct arch is never found. */
#ifndef UNWIND_KNOWN_CODE_H
#define UNWIND_KNOWN_CODE_H

#include "modules/modules.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"

/* The code at vaddr in which a thread or a context ends; NULL: there is other code. Constant. */
const struct arch_exit *known_exit(struct elf_image *img, const struct arch *arch, uint64_t vaddr);

/* True if vaddr is where a new thread or process starts, after the clone() of its creator. */
bool known_after_clone(struct elf_image *img, const struct arch *arch, uint64_t vaddr);

/* Makes the row of a sigreturn trampoline at vaddr. Returns false if there is none; then *row is as
 * before. */
bool known_trampoline_row(struct elf_image *img, const struct arch *arch, uint64_t vaddr,
			  struct cfi_row *row);

/* lone_row.c: corrects the row at vaddr of a function that has only one, where the code there is
 * the one that makes or leaves the frame. */
void known_lone_row(struct elf_image *img, const struct arch *arch, const struct cfi_fde *fde,
		    uint64_t vaddr, struct cfi_row *row);

/* The number of bytes before arch->stub, which must not be NULL, in the template of the stubs that
 * CPython copies; -1: the code has no such template. Reads all code: to be called once. */
int known_stub_prefix(struct elf_image *img, const struct arch *arch);

#endif

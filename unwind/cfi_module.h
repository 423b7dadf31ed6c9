/* cfi_module.h - what unwinding knows about one module; shared by all workers. Private to unwind/.
 */
#ifndef UNWIND_CFI_MODULE_H
#define UNWIND_CFI_MODULE_H

#include "modules/modules.h"
#include "unwind/code_index.h"
#include "unwind/rule.h"

struct cfi_module; /* lives as long as the modules */

/* The state of a module with an image, or with the .debug_frame of its debug file, made at the
 * first call. NULL: it has neither, or out of memory. Without an image only the processor and the
 * rules can be asked for. */
struct cfi_module *cfi_module_get(struct modules *modules, struct module *mod);

/* The processor of the image; NULL when it is not supported. */
const struct arch *cfi_module_arch(const struct cfi_module *cm);

/* The rule for a vaddr: of the FDE that covers it, or RULE_END in the code that the program starts
 * with, or for a sigreturn trampoline, or RULE_CLONE, RULE_NO_CFI, RULE_BAD_CFI, or RULE_NO_BINARY
 * where the debug file alone does not have it. Remembered.
 * *number: of the vaddr among those that were asked for; 0: none. */
struct rule cfi_module_rule(struct cfi_module *cm, uint64_t vaddr, uint32_t *number);

/* The complete rule where the one above is of another kind than RULE_END, NO_CFI or BAD_CFI; NULL
 * when there is none or out of memory. Lives as long as the module. */
const struct full_rule *cfi_module_full_rule(struct cfi_module *cm, uint64_t vaddr);

/* The entry of .eh_frame for a vaddr; false: none. */
bool cfi_module_fde(struct cfi_module *cm, uint64_t vaddr, struct cfi_fde *ret);

/* Machine code bytes that end at vaddr: up to *n of them, fewer at a segment's start. NULL: none.
 */
const uint8_t *cfi_module_code_before(const struct cfi_module *cm, uint64_t vaddr, size_t *n);

/* And such as begin there. */
const uint8_t *cfi_module_code(const struct cfi_module *cm, uint64_t vaddr, size_t *n);

/* The frame before the instruction at vaddr by the machine code of its function. False: not known.
 */
bool cfi_module_code_frame(struct cfi_module *cm, uint64_t vaddr, struct code_function *fn,
			   struct code_frame *ret);

/* The same of a function with an entry in .eh_frame. */
bool cfi_module_fde_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret);

/* The same of a function that Go's table knows, and where that begins. */
bool cfi_module_go_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret);
/* Does such a function begin at vaddr, or is one there? */
bool cfi_module_go_starts(const struct cfi_module *cm, uint64_t vaddr);
bool cfi_module_has_go(const struct cfi_module *cm, uint64_t vaddr);

/* Does the code have the bytes of the stubs that CPython makes copies of? */
bool cfi_module_has_stub(struct cfi_module *cm);

/* Is vaddr the end of a call after whose return the thread ends, or in front of what such a
 * function returns to? */
bool cfi_module_is_before_exit(const struct cfi_module *cm, uint64_t vaddr);

#endif

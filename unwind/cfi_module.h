/* cfi_module.h - the unwinding state of one module; shared by all workers. Private to unwind/. */
#ifndef UNWIND_CFI_MODULE_H
#define UNWIND_CFI_MODULE_H

#include "modules/modules.h"
#include "unwind/code_index.h"
#include "unwind/rule.h"

struct cfi_module; /* lives as long as the modules */

/* The state of a module that has an image, or whose debug file has a .debug_frame. Created by the
 * first call. Returns NULL if it has neither, or when out of memory. Without an image only its
 * processor and its rules may be requested. */
struct cfi_module *cfi_module_get(struct modules *modules, struct module *mod);

/* The processor of the image; NULL when it is not supported. */
const struct arch *cfi_module_arch(const struct cfi_module *cm);

/* The rule for a vaddr: from the FDE that covers it; RULE_END in the program's startup code; the
 * rule of a sigreturn trampoline; RULE_CLONE; RULE_NO_CFI; RULE_BAD_CFI; or RULE_NO_BINARY if there
 * is only the debug file and it has no rule. The result is remembered. *number: a small number that
 * identifies the vaddr within the module; 0: none. */
struct rule cfi_module_rule(struct cfi_module *cm, uint64_t vaddr, uint32_t *number);

/* The complete rule, for a vaddr whose cfi_module_rule() is not RULE_END, RULE_NO_CFI or
 * RULE_BAD_CFI. NULL if there is none, or when out of memory. Valid as long as the module. */
const struct full_rule *cfi_module_full_rule(struct cfi_module *cm, uint64_t vaddr);

/* Finds the FDE of .eh_frame for a vaddr. Returns false if there is none. */
bool cfi_module_fde(struct cfi_module *cm, uint64_t vaddr, struct cfi_fde *ret);

/* Where exceptions continue: see functions/functions.h. */
uint64_t cfi_module_pad(struct cfi_module *cm, uint64_t vaddr);
bool cfi_module_is_pad(struct cfi_module *cm, uint64_t vaddr);

/* The machine code before vaddr: up to *n bytes, fewer at the start of a segment. Returns a pointer
 * to the end of these bytes. NULL: none. */
const uint8_t *cfi_module_code_before(const struct cfi_module *cm, uint64_t vaddr, size_t *n);

/* The machine code from vaddr on: up to *n bytes. NULL: none. */
const uint8_t *cfi_module_code(const struct cfi_module *cm, uint64_t vaddr, size_t *n);

/* The frame before the instruction at vaddr, from the machine code of its function *fn. Returns
 * false if it is not known. */
bool cfi_module_code_frame(struct cfi_module *cm, uint64_t vaddr, struct code_function *fn,
			   struct code_frame *ret);

/* The same for a function with an FDE in .eh_frame. */
bool cfi_module_fde_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret);

/* The same for a function in Go's table. */
bool cfi_module_go_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret);
/* starts: true if a function of Go's table starts at vaddr. has: true if one covers vaddr. */
bool cfi_module_go_starts(const struct cfi_module *cm, uint64_t vaddr);
bool cfi_module_has_go(const struct cfi_module *cm, uint64_t vaddr);

/* The number of bytes before arch.stub in the template of the stubs that CPython copies; -1: the
 * code has no such template. */
int cfi_module_stub_prefix(struct cfi_module *cm);

/* True if vaddr + 1 is a return address at which a thread or a context ends (struct arch_exit). */
bool cfi_module_is_before_exit(const struct cfi_module *cm, uint64_t vaddr);

#endif

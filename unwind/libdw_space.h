/* libdw_space.h - one Dwfl per version of an address space. Private to unwind/. */
#ifndef UNWIND_LIBDW_SPACE_H
#define UNWIND_LIBDW_SPACE_H

#include <elfutils/libdwfl.h>

#include "base/hash.h"
#include "unwind/memory.h"

/* Flags: what the call frame information says about an address. */
#define PC_HAS_CFI	1u
#define PC_IS_ROOT	2u /* the return address is undefined: nothing called this */
#define PC_IS_SIGNAL	4u /* a signal trampoline */
#define PC_IS_ELF_ENTRY 8u /* no CFI, but in the code at the ELF entry (_start of ld.so, musl) */

struct libdw_walk;

struct libdw_space {
	Dwfl *dwfl; /* NULL: free slot */
	struct modules *modules;
	uint32_t pid;
	uint64_t layout;
	const struct arch *arch;
	size_t n_maps; /* number of maps when modules were last reported */
	uint64_t last_used;
	bool attached;
	struct hash_table pcs;	 /* address -> PC_* */
	struct libdw_walk *walk; /* the sample being unwound; argument of libdwfl's callbacks */
};

/* Reports the modules of the address space to libdwfl, also those mapped since the last call.
 * Returns false if libdwfl refuses. */
bool libdw_space_update(struct libdw_space *sp, const struct address_space *as);
void libdw_space_done(struct libdw_space *sp);
/* The PC_* flags of a lookup address; `mod` may be NULL. */
unsigned libdw_space_pc(struct libdw_space *sp, Dwfl_Module *mod, uint64_t lookup);

#endif

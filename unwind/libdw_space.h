/* libdw_space.h - one Dwfl per version of an address space. Private to unwind/. */
#ifndef UNWIND_LIBDW_SPACE_H
#define UNWIND_LIBDW_SPACE_H

#include <elfutils/libdwfl.h>

#include "base/hash.h"
#include "unwind/memory.h"

/* What the call frame information says at an address. */
#define PC_HAS_CFI   1u
#define PC_IS_ROOT   2u /* the return address is undefined: nothing called this */
#define PC_IS_SIGNAL 4u /* a signal trampoline */
#define PC_IS_ELF_ENTRY \
	8u /* no CFI, but within the code at the ELF entry (_start of ld.so, musl) */

struct libdw_walk;

struct libdw_space {
	Dwfl *dwfl; /* NULL: free slot */
	struct modules *modules;
	uint32_t pid;
	uint64_t layout;
	const struct arch *arch;
	size_t n_maps; /* of the address space when modules were last reported */
	uint64_t last_used;
	bool attached;
	struct hash_table pcs;	 /* address -> PC_* */
	struct libdw_walk *walk; /* the sample being unwound: what libdwfl's callbacks are given */
};

/* Reports modules, new ones also when the Dwfl exists. False when libdwfl refuses. */
bool libdw_space_update(struct libdw_space *sp, const struct address_space *as);
void libdw_space_done(struct libdw_space *sp);
/* PC_* of a lookup address; `mod` may be NULL. */
unsigned libdw_space_pc(struct libdw_space *sp, Dwfl_Module *mod, uint64_t lookup);
/* The module of ours that a module of libdwfl was reported for. */
struct module *libdw_module(Dwfl_Module *mod);

#endif

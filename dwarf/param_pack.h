/* param_pack.h - parameters as a section of a file that has no DIEs of them. Private to dwarf/.
 *
 * Numbers are LEB128. Types come first, each behind those that it refers to; a reference is the
 * number of the type plus one, 0 for none. A text is a byte 0 if there is none, else a byte 1 and
 * the text with its NUL. An expression is its length plus one, 0 for none, and its bytes.
 *
 *	section  version, types, sites
 *	types    how many; of each: kind, flags (1 signed, 2 to text), bytes, name,
 *		 how many enumerators; of each: name, value (signed)
 *		 how many members; of each: name, offset, type, is a base, bits, bit offset
 *	sites    how many; of each: vaddr, bytes of an address, entry, body, name, flags, result
 *		 type, frame base, how many levels; of each: how many parameters; of each:
 *		 name, type, where, flags, value, register
 *
 * What only expressions at other places than a function's beginning need is left out: calls, types
 * of conversions, .debug_addr. */
#ifndef DWARF_PARAM_PACK_H
#define DWARF_PARAM_PACK_H

#include "dwarf/params.h"
#include "modules/modules.h"

enum { PARAM_PACK_VERSION = 1 };

enum { TYPE_SIGNED = 1, TYPE_TO_TEXT = 2 };

enum {
	SITE_HAS_RESULT = 1,
	SITE_RESULT_TOLD = 2,
	SITE_NOT_CALLED_SO = 4,
	SITE_BY_C = 8,
	SITE_UNOPTIMIZED = 16,
	SITE_UNTRACKED = 32,
	SITE_KEEPS_RESULT = 64,
	SITE_BY_GCC = 128,
};

enum {
	PARAM_IS_LIST = 1,
	PARAM_IS_KEPT = 2,
	PARAM_IS_RESULT = 4,
	PARAM_HAS_VALUE = 8,
	PARAM_HAS_REGISTER = 16,
};

/* Reads the section of an image, if it has one, into p, which is zeroed but for its seed. Returns
 * 1; 0: there is none, or it is damaged; -ERR_NOMEM. */
int dwarf_params_unpack(struct dwarf_params *p, struct elf_image *img);

#endif

/* remote_symbols.h - the exported symbols of a file that another process has loaded. Private to
 * runtimes/. */
#ifndef RUNTIMES_REMOTE_SYMBOLS_H
#define RUNTIMES_REMOTE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/remote.h"

struct remote_symbols {
	struct remote *mem;
	uint64_t base; /* of the file's first byte */
	uint64_t bias; /* address - vaddr */
	uint64_t symtab, strtab, gnu_hash;
};

/* False if it is not a 64-bit ELF file with a dynamic section and a GNU hash table, or not yet. */
bool remote_symbols_open(struct remote_symbols *s, struct remote *mem, uint64_t base);
/* The address of a symbol. */
bool remote_symbol(struct remote_symbols *s, const char *name, uint64_t *ret);
/* What is there. */
bool remote_symbol_u32(struct remote_symbols *s, const char *name, uint32_t *ret);
bool remote_symbol_u64(struct remote_symbols *s, const char *name, uint64_t *ret);

#endif

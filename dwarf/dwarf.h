/* dwarf.h - inline chains and lines of a module, from DWARF compiled in one pass.
 *
 * Only the compilation units that the given addresses fall into are compiled; no walk per address.
 * Source of truth: DWARF 5 (and 2-4, with the GNU extensions that gcc and clang emit).
 */
#ifndef DWARF_DWARF_H
#define DWARF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "modules/modules.h"

/* Symbols number the lambdas of a function ("f()::{lambda(int)#2}"), DWARF does not: names made
 * from it have this instead of "#2", then "LINE:COLUMN" of the declaration. */
#define DWARF_LAMBDA_MARK "#@"

/* One level of an inline chain. Strings live until dwarf_index_free(); NULL: unknown. */
struct dwarf_frame {
	const char *linkage_name; /* DW_AT_linkage_name, mangled */
	const char *name; /* only without linkage name: DW_AT_name with its scopes and, if DWARF
			     has them of a C++ function, its parameters: for restyle() of
			     demangle.h, once lambdas have no DWARF_LAMBDA_MARK any more */
	const char *file; /* full path as far as DWARF has it */
	uint32_t line;	  /* where this level is executing: the line, or the call site below */
	uint32_t decl_line;
	/* Where code of the function itself begins, not inlined, when there is no linkage name and
	 * it is inlined, or has a lambda in its name; 0: unknown. */
	uint64_t entry;
};

/* Of the image and the debug file the one that lines are read from: one with .debug_info, else one
 * with .debug_line. NULL: none has any. */
struct elf_image *dwarf_image(const struct module *mod);
/* How much DWARF that is, as in the file; 0: none. */
uint64_t dwarf_bytes(const struct module *mod);

struct dwarf_index; /* opaque */

/* Where compiled modules are kept between runs. */
struct dwarf_cache {
	const char *dir;
	uint64_t max_bytes; /* what was not used for longest is removed */
	uint64_t min_bytes; /* modules with less .debug_info in the file are not worth it */
};

/* An index is for one thread at a time. Compiles what the n sorted ELF vaddrs need (in a kernel
 * module's .ko: offsets from the base of its code, as the kernel lays it out), from mod->debug
 * (else mod->image) and mod->alt, on up to n_threads threads. What is in the cache (NULL: none),
 * which must outlive the index, is read instead. *ret is NULL with return 0 when the module has no
 * DWARF. Damaged DWARF is skipped unit by unit. Negative only when out of memory. */
int dwarf_index_open(struct dwarf_index **ret, struct module *mod, const uint64_t *vaddrs, size_t n,
		     const struct dwarf_cache *cache, unsigned n_threads, struct err *err);
/* Whether something was compiled that belongs into the cache. */
bool dwarf_index_has_news(const struct dwarf_index *d);
/* Puts it there. Takes its time: to be called when the answers are out. That it cannot be written
 * is no error. */
void dwarf_index_save(struct dwarf_index *d);
/* $XDG_CACHE_HOME/unspool, else ~/.cache/unspool. False: neither is known. */
bool dwarf_cache_dir(char *buf, size_t size);
void dwarf_index_free(struct dwarf_index *d);

/* The same in numbers of this index, for dwarf_index_frames(); func 0 is unknown. */
struct dwarf_at {
	uint32_t func;
	uint32_t file, line, source; /* private */
};

/* How many levels there are at an address; 0: no function, but `line`, of which only these are to
 * be used, may still have file and line. */
struct dwarf_chain {
	uint32_t n;
	struct dwarf_at line;
};

/* Deeper chains lose their middle; 49 was the deepest seen in large C++ programs. */
enum { DWARF_CHAIN_MAX = 256 };

/* The chains at n addresses, one behind the other in at[room], each innermost first. Stops where
 * less than DWARF_CHAIN_MAX would be left for the next; returns for how many addresses there are
 * chains. Many addresses at once that rise are found fastest. Too deep chains keep the outermost
 * levels: the real function is always the last. */
size_t dwarf_index_chains(struct dwarf_index *d, const uint64_t *vaddrs, size_t n,
			  struct dwarf_chain *chains, struct dwarf_at *at, size_t room);
/* What n numbers stand for. Each string is made when it is asked for first. */
void dwarf_index_frames(struct dwarf_index *d, const struct dwarf_at *at, size_t n,
			struct dwarf_frame *frames);
/* Both, for one address; of a chain deeper than max the outermost levels. */
size_t dwarf_index_lookup(struct dwarf_index *d, uint64_t vaddr, struct dwarf_frame *frames,
			  size_t max, struct dwarf_frame *file_line);

/* Whether the file of the cache turned out to be damaged, so that answers may be missing. It is to
 * be discarded then, and another index to be opened. */
bool dwarf_index_is_damaged(const struct dwarf_index *d);
/* Frees the index, and removes its file. False: that cannot be done, and the next index should go
 * without the cache. */
bool dwarf_index_discard(struct dwarf_index *d);

struct dwarf_index_stats {
	size_t units; /* and line tables that none refers to, once they were looked for */
	size_t units_compiled, units_damaged;
	size_t units_early;    /* of the compiled: before all of .debug_info was inflated, or right
				  behind it */
	uint64_t let_go_bytes; /* of .debug_info, which did not stay in memory */
	bool inflated_twice;   /* it was needed after all */
	size_t units_unsplit;  /* without their split unit */
	const char *missing_split; /* its .dwo file, of the first of them; NULL */
	bool split_differs;	   /* there is such a file, of another build */
	uint64_t compiled_bytes, segments;
	bool from_cache;
};
void dwarf_index_stats(const struct dwarf_index *d, struct dwarf_index_stats *ret);

#endif

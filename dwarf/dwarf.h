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
#include "base/vec.h"
#include "modules/modules.h"

/* Symbols number the lambdas and the unnamed types of a function ("f()::{lambda(int)#2}"), DWARF
 * does not. Names made from DWARF have this mark instead of "#2", followed by "LINE:COLUMN" of the
 * declaration. */
#define DWARF_LAMBDA_MARK "#@"

/* One level of an inline chain. Strings live until dwarf_index_free(); NULL: unknown. */
struct dwarf_frame {
	const char *linkage_name; /* DW_AT_linkage_name, mangled */
	/* Only without linkage name: DW_AT_name with its scopes and, for a C++ function whose
	 * parameters DWARF has, with these. For restyle() of demangle.h, after each
	 * DWARF_LAMBDA_MARK was replaced. */
	const char *name;
	const char *file; /* full path as far as DWARF has it */
	uint32_t line;	  /* the line that this level executes: of outer levels the call site */
	uint32_t decl_line;
	/* Where a copy of the function begins that is not inlined. Known only for functions without
	 * linkage name that are inlined, or have a lambda in their name; 0: unknown. */
	uint64_t entry;
};

/* Of debug file and image the one that lines are read from: the first with .debug_info, else the
 * first with .debug_line. NULL: neither has any. */
struct elf_image *dwarf_image(const struct module *mod);
/* Bytes of that file's .debug_info (else .debug_line) as stored, perhaps compressed; 0: none. */
uint64_t dwarf_bytes(const struct module *mod);

struct dwarf_index; /* opaque */

/* Where compiled modules are kept between runs. */
struct dwarf_cache {
	const char *dir;
	uint64_t max_bytes; /* beyond this the least recently used files are removed */
	uint64_t min_bytes; /* modules with less .debug_info in the file are not cached */
	/* Modules with no more .debug_info, unpacked, are compiled and cached as a whole at the
	 * first address that the cache does not know; 0: as all others, when that is cheap. */
	uint64_t whole_bytes;
};

/* Compiles what the n sorted ELF vaddrs need (in a kernel module's .ko: offsets from the base of
 * its code, as the kernel lays it out), from mod->debug (else mod->image) and mod->alt, on up to
 * n_threads threads. What the cache (NULL: none) knows is read from there instead, without the
 * module's DWARF. Cache and module must outlive the index, which is for one thread at a time. *ret
 * is NULL with return 0 if the module has no DWARF. Damaged DWARF is skipped unit by unit. Returns
 * a negative value only when out of memory. */
int dwarf_index_open(struct dwarf_index **ret, struct module *mod, const uint64_t *vaddrs, size_t n,
		     const struct dwarf_cache *cache, unsigned n_threads, struct err *err);
/* Was something compiled that should be saved in the cache? */
bool dwarf_index_has_news(const struct dwarf_index *d);
/* Saves it. This takes time, so call it after the results are written. Failures are ignored. */
void dwarf_index_save(struct dwarf_index *d);
/* Writes $XDG_CACHE_HOME/unspool, else ~/.cache/unspool. Returns false if neither is known. */
bool dwarf_cache_dir(char *buf, size_t size);
void dwarf_index_free(struct dwarf_index *d);

/* A frame as numbers of this index, for dwarf_index_frames(); func 0 is unknown. */
struct dwarf_at {
	uint32_t func;
	uint32_t file, line, source; /* private */
};

/* The number of levels at an address; 0: no function. `line` may have file and line even then; only
 * these two of its frame are to be used. */
struct dwarf_chain {
	uint32_t n;
	struct dwarf_at line;
};

/* Deeper chains lose their innermost levels; 49 was the deepest seen in large C++ programs. */
enum { DWARF_CHAIN_MAX = 256 };

/* Writes the chains at n addresses to at[room], one after the other, each innermost first. Stops
 * when less than DWARF_CHAIN_MAX entries are left for the next chain; returns the number of
 * addresses that got a chain. Fastest with many rising addresses at once. A chain that is too deep
 * keeps its outermost levels: the real function is always the last. */
size_t dwarf_index_chains(struct dwarf_index *d, const uint64_t *vaddrs, size_t n,
			  struct dwarf_chain *chains, struct dwarf_at *at, size_t room);
/* Finds the frames that n numbers stand for. Each string is made when it is first needed. */
void dwarf_index_frames(struct dwarf_index *d, const struct dwarf_at *at, size_t n,
			struct dwarf_frame *frames);

/* Was the cache file found to be damaged, so that results may be missing? Then this index must be
 * discarded and another one opened. */
bool dwarf_index_is_damaged(const struct dwarf_index *d);
/* Frees the index and removes its cache file. Returns false if the file cannot be removed; the next
 * index should then be opened without the cache. */
bool dwarf_index_discard(struct dwarf_index *d);

struct dwarf_index_stats {
	size_t units; /* with the line tables that no unit refers to, if these were looked for */
	size_t units_compiled, units_damaged;
	/* Of units_compiled: while .debug_info was inflated, or right after. */
	size_t units_early;
	uint64_t let_go_bytes;	   /* of .debug_info whose memory was released */
	bool inflated_twice;	   /* released bytes were needed after all */
	size_t units_unsplit;	   /* compiled without their split unit */
	const char *missing_split; /* the .dwo file of the first of them; NULL: none */
	bool split_differs;	   /* there is such a file, but of another build */
	uint64_t compiled_bytes, segments;
	bool from_cache;
};
void dwarf_index_stats(const struct dwarf_index *d, struct dwarf_index_stats *ret);

/* ---- parameters ------------------------------------------------------------------------------
 *
 * Which parameters the functions at an address have, of which types, and where their values are
 * (DWARF5 2.6, 3.3.8, 3.4). What is handed out lives until dwarf_params_free(); expressions point
 * into the file. */

enum dwarf_type_kind {
	DWARF_TYPE_OTHER, /* of no kind below */
	DWARF_TYPE_INTEGER,
	DWARF_TYPE_CHARACTER, /* of one byte */
	DWARF_TYPE_BOOL,
	DWARF_TYPE_FLOAT,
	DWARF_TYPE_POINTER,
	DWARF_TYPE_REFERENCE,
	DWARF_TYPE_ENUM,
	DWARF_TYPE_STRUCT, /* a union, too: its members begin where it does */
};

struct dwarf_enumerator {
	const char *name;
	int64_t value;
};

struct dwarf_member {
	const char *name; /* NULL: none */
	uint64_t off;
	const struct dwarf_type *type; /* NULL: not known */
	bool is_base;		       /* a base class, of which `type` has the members */
	uint8_t bits;		       /* of a bit field, from bit_off on; else 0 */
	uint64_t bit_off;	       /* of the structure */
};

struct dwarf_type {
	enum dwarf_type_kind kind;
	uint64_t bytes; /* 0: unknown */
	bool is_signed; /* integers, characters, enumerations */
	bool to_text;	/* a pointer to characters */
	const char *name;
	const struct dwarf_enumerator *enumerators;
	const struct dwarf_member *members; /* of structures, base classes too */
	size_t n_enumerators, n_members;
};

struct dwarf_expr {
	const uint8_t *code; /* NULL: none */
	size_t n;
};

struct dwarf_param {
	const char *name; /* NULL: none */
	const struct dwarf_type *type;
	struct dwarf_expr where; /* no code: not known here, or has_value */
	bool is_list;	/* `where` is for this address; else for all of the function, which has
			 * yet to store the parameters there at its beginning */
	bool is_kept;	/* the list says that `where` is for the next address too */
	bool is_result; /* Go: a result, which is listed among the parameters */
	bool has_value;
	uint64_t value;
	/* Of the function itself: the register that it is passed in. */
	bool has_entry_reg;
	uint64_t entry_reg;
};

/* A function, or a copy of one that was inlined. */
struct dwarf_params_of {
	const struct dwarf_param *v; /* as the source has them */
	size_t n;
	/* Its debug information has them in another order, as of a clone for which a compiler has
	 * changed parameters: they may not be passed as the source's would be. */
	bool is_reordered;
};

/* What a call says of a parameter: its value in the caller, if it is passed in `reg`. */
struct dwarf_passed {
	uint64_t reg;
	struct dwarf_expr value;
};

/* A call, by the address that it returns to. */
struct dwarf_call {
	uint64_t to_entry;    /* of the called function; 0: unknown */
	const char *to_name;  /* its linkage name, or its name; NULL: unknown */
	struct dwarf_expr to; /* computes its address in the caller */
	const struct dwarf_passed *passed;
	size_t n;
};

struct dwarf_site {
	const struct dwarf_params_of *levels; /* innermost first; the last is the function itself */
	size_t n;
	uint64_t entry;	  /* where the function begins; 0: unknown */
	uint64_t body;	  /* behind what it does at its beginning, by its lines; 0: unknown */
	const char *name; /* linkage name, or name; NULL: unknown */
	const struct dwarf_type *result; /* NULL: none, or not known */
	bool has_result;
	/* Its language's compilers say of each function whether it has one; those of Go by a
	 * parameter that is_result. */
	bool is_result_told;
	/* It is not called as the platform's ABI says (DW_AT_calling_convention): LLVM marks
	 * functions so of which it has changed parameters or the result. */
	bool is_not_called_so;
	/* Its compiler never removes results; is gcc, which names functions so from which it did.
	 */
	bool keeps_result, is_by_gcc;
	bool is_by_compiler_of_c; /* its language passes arguments as the processor's ABI says */
	/* Of the compiler's words: it keeps parameters where they are, from `body` on; it was
	 * told not to follow where they are. */
	bool is_unoptimized, is_untracked;
	struct dwarf_expr frame_base;
	const struct dwarf_call *call; /* that ends just behind the address; NULL: not known */
	uint64_t innermost; /* the same for all addresses of the innermost function's copy */
	unsigned address_bytes;
	const void *unit, *function; /* private; NULL: it is of dwarf_params_pack() */
};

struct dwarf_params; /* opaque; for one thread */

/* *ret is NULL with return 0 if the module has no DWARF. module_debug() comes first. Returns a
 * negative value when out of memory. Of what a recording carries (MODULE_PART_SECTION) only what
 * dwarf_params_pack() wrote is known: its DWARF has functions without parameters. */
int dwarf_params_open(struct dwarf_params **ret, struct module *mod, struct err *err);
void dwarf_params_free(struct dwarf_params *p); /* NULL is allowed */
/* What is known at a vaddr: for a return address, of the call before it. *ret is NULL if that is
 * nothing. Each address is looked up once. Returns 0 or -ERR_NOMEM. */
int dwarf_params_at(struct dwarf_params *p, uint64_t vaddr, const struct dwarf_site **ret);
/* May the function end by a call of itself, so that its parameters are not those that its caller
 * passed? True also if that is not known. */
bool dwarf_params_calls_itself_last(struct dwarf_params *p, const struct dwarf_site *site);
/* An address of .debug_addr (DW_OP_addrx). Returns false if there is none. */
bool dwarf_params_address(const struct dwarf_site *site, uint64_t index, uint64_t *vaddr);
/* A base type at an offset of the site's unit (DW_OP_convert); NULL: none. */
const struct dwarf_type *dwarf_params_base_type(struct dwarf_params *p,
						const struct dwarf_site *site, uint64_t off);

struct dwarf_declared {
	const char *type, *name; /* "const char *"; NULL: none, or not known */
};

/* A function as its source declares it. */
struct dwarf_declaration {
	const struct dwarf_declared *params;
	size_t n;
	bool is_variadic;
	const char *result; /* "void"; NULL: not known */
	const char *file;   /* as far as DWARF has its path; NULL: not known */
	uint32_t line;	    /* where its code begins */
};

/* The declaration of the function that a vaddr is in, not of one that was inlined there. C's types
 * have their "struct"; those of other languages are named without the scopes around them. *ret is
 * NULL if nothing is known. Returns 0 or -ERR_NOMEM. */
int dwarf_params_declaration(struct dwarf_params *p, uint64_t vaddr,
			     const struct dwarf_declaration **ret);

struct dwarf_line_places {
	VEC(uint64_t) vaddrs; /* by rising address */
	bool has_file;	      /* some code is of that file */
	uint32_t next_line;   /* with code, behind the wanted one; 0: none */
};

/* Where the code of a line begins: in each function, and in each copy of one that was inlined, its
 * first address. `file` is the end of a path. Fills a zeroed *ret, whose vaddrs the caller frees.
 * Returns 0 or -ERR_NOMEM. */
int dwarf_params_line(struct dwarf_params *p, const char *file, size_t n, uint32_t line,
		      struct dwarf_line_places *ret);

/* A copy of a function that was inlined. */
struct dwarf_inlined_place {
	uint64_t vaddr;		 /* where it begins */
	const char *name, *into; /* linkage name, else name; into: NULL: not known */
	const char *file;	 /* of the call that it stands for; NULL: not known */
	uint32_t line;		 /* 0: not known */
};

struct dwarf_inlined_places {
	VEC(struct dwarf_inlined_place) places; /* by rising address */
};

/* Is the function of this linkage name (else name) meant? */
typedef bool dwarf_wants_name(void *arg, const char *name);
/* Where the inlined copies of functions begin: reads all of the DWARF. Fills a zeroed *ret, whose
 * places the caller frees. Returns 0 or -ERR_NOMEM. */
int dwarf_params_inlined(struct dwarf_params *p, dwarf_wants_name *wants, void *arg,
			 struct dwarf_inlined_places *ret);

/* ---- parameters of few addresses in a file without the DIEs (cut/) ---- */

#define DWARF_PARAMS_SECTION ".recorded_params"

struct dwarf_packed_params {
	uint8_t *v;
	size_t n, cap;
}; /* a VEC() */

/* Appends the contents of the section, from which dwarf_params_open() reads what is known at these
 * addresses; nothing if that is nothing. Returns 0 or -ERR_NOMEM. */
int dwarf_params_pack(struct dwarf_params *p, const uint64_t *vaddrs, size_t n,
		      struct dwarf_packed_params *ret);

#endif

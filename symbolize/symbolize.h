/* symbolize.h - (dso, address) -> function, inline chain and file:line; or the reason why not.
 *
 * Symbolization is done in batches: the caller collects all distinct addresses; the symbolizer
 * sorts them by module, compiles each module's symbols and DWARF once, and returns ids of strings
 * in its own table. Sources of truth: ELF gABI (symbols), DWARF 2-5, /proc/kallsyms, tools/perf
 * jit-interface.txt (perf-PID.map), jitdump-specification.txt, Itanium C++ ABI mangling (through
 * libiberty). */
#ifndef SYMBOLIZE_SYMBOLIZE_H
#define SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strtab.h"
#include "demangle/demangle.h"
#include "modules/modules.h"
#include "reader/reader.h"

/* Reasons why an address has no name. X(name, text) */
#define SYM_MISSES(X)                                                                         \
	X(FOUND, "found")                                                                     \
	X(NO_MAP, "address not in any mapping")                                               \
	X(NO_FILE, "file not found")                                                          \
	X(BUILD_ID_DIFFERS, "file has another build id")                                      \
	X(NO_BUILD_ID, "no build id was recorded, so no file is known to be it")              \
	X(OTHER_CODE, "its code is not what was recorded")                                    \
	X(UNREADABLE, "file cannot be read")                                                  \
	X(OTHER_MACHINE, "file is for another processor")                                     \
	X(NO_SYMBOLS, "file has no symbols")                                                  \
	X(NO_SYMBOL_HERE, "no symbol covers the address")                                     \
	X(NO_KALLSYMS, "kernel symbols not available")                                        \
	X(OTHER_KERNEL, "recorded on another kernel")                                         \
	X(KPTR_RESTRICT, "kernel addresses hidden (kernel.kptr_restrict)")                    \
	X(NO_JIT_MAP, "no perf-PID.map of the process")                                       \
	X(STALE_JIT_MAP,                                                                      \
	  "perf map was last written before its process began: not used (--force to use it)") \
	X(FOREIGN_JIT_MAP, "perf map or jitdump is another user's (--force to use it)")       \
	X(NOT_A_FILE, "mapping without a file")

#define X(name, text) SYM_MISS_##name,
enum sym_miss { SYM_MISSES(X) SYM_MISS_N };
#undef X
const char *sym_miss_text(enum sym_miss m);

/* One function at an address. String ids are of symbolizer_strings(); 0 means unknown. */
struct sym_line {
	uint32_t name;	      /* demangled, for people */
	uint32_t system_name; /* as in the file (mangled); equals name for C */
	uint32_t file;	      /* source path */
	uint32_t line;	      /* 0: unknown */
	uint32_t start_line;  /* declaration line of the function; 0: unknown */
};

struct sym_query {
	const struct dso *dso; /* NULL: in no mapping; answered NO_MAP */
	/* For DSO_FILE, DSO_VDSO, and DSO_KERNEL_MODULE with a path: the file offset
	 * (map_ip_to_off()) of the address to look up; else the runtime address. */
	uint64_t off;
	uint64_t ip; /* runtime lookup address, for kernel and JIT code */
	/* JIT code: the time at which it was made (jit_span.made_ns); 0: the latest version. */
	uint64_t time_ns;
};

/* The result for one query. lines[] is the inline chain, innermost first; lines[n_lines - 1] is the
 * function that the symbol table has. If miss != FOUND then n_lines == 0, except when file and line
 * are known. */
struct sym_result {
	enum sym_miss miss;
	uint32_t symbol; /* demangled name of the enclosing ELF, kernel or JIT symbol; 0: none */
	uint32_t symbol_system; /* the same, mangled */
	uint64_t offset;	/* lookup address - start of that symbol */
	uint32_t n_lines;
	const struct sym_line *lines; /* lives until symbolizer_free() */
	/* How many other functions have the same bytes, folded by the linker; 0 unless marks
	 * were asked for (enum sym_folded). */
	uint32_t aliases;
};

/* ---- the symbolizer ------------------------------------------------------------------------ */

/* How suffixes such as .isra.0, .constprop.0, .part.0, .cold, .llvm.123 are shown. */
enum sym_clones {
	SYM_CLONES_AUTO, /* folded in simple names, else shown */
	SYM_CLONES_SHOW,
	SYM_CLONES_FOLD, /* shown as the function that was cloned or split */
};

/* How functions that the linker has merged (identical code folding) are shown. */
enum sym_folded {
	SYM_FOLDED_AUTO,  /* marked in full names */
	SYM_FOLDED_MARK,  /* "f [+2]": it may be one of two others as well */
	SYM_FOLDED_PLAIN, /* one of the names: DWARF's, else as perf chooses */
};

struct symbolizer_options {
	bool no_inline;	  /* symbol tables only: no DWARF is read */
	bool no_demangle; /* the same as SYM_DEMANGLE_NONE */
	/* NULL: searched for; if given, they must be readable. */
	const char *vmlinux, *kallsyms;
	const char *guest_vmlinux, *guest_kallsyms; /* for virtual machines; NULL: none */
	unsigned n_threads;			    /* 0: all */
	enum sym_demangle demangle;
	enum sym_clones clones;
	/* Template arguments nested deeper than template_depth levels become <...>. If false, full
	 * names show all levels and simple names show none. */
	bool cut_templates;
	unsigned template_depth;
	enum sym_folded folded;
	/* The recording, for facts in its maps: how far the kernel was moved at boot, where BPF
	 * programs start, which jitdump files exist. NULL: none. Must outlive the symbolizer. */
	const struct perf_file *file;
	/* The copy of /proc/kallsyms in the recording; NULL: it has none. symbolizer_new() copies
	 * it. */
	const void *kallsyms_data;
	size_t kallsyms_size;
	/* Use a perf-PID.map of any owner, although every user can put one into /tmp. */
	bool foreign_jit_maps;
	/* The jitdump files that were opened to find the queries' time_ns. NULL: the symbolizer
	 * opens those it needs. Must outlive the symbolizer. */
	struct jit_codes *jit;
	/* The directory that caches compiled debug information and the running kernel's symbols;
	 * copied. NULL: no cache. When compiled debug information exceeds cache_max_bytes, the
	 * least recently used files are removed; modules with less .debug_info than cache_min_bytes
	 * are not cached. The kernel's symbols are one file of some 4 MB, written if that is at
	 * most cache_max_bytes. Failures to read or write the directory are ignored. */
	const char *cache_dir;
	uint64_t cache_max_bytes, cache_min_bytes;
};

/* How names are written, by the options. */
struct name_style symbolizer_name_style(const struct symbolizer_options *opt);

struct symbolizer; /* opaque */

/* `info` (may be NULL) decides whether the running kernel's /proc/kallsyms is the recorded
 * kernel's. `modules` and `info` must outlive the symbolizer. Returns 0, or negative with *err. */
int symbolizer_new(struct symbolizer **ret, struct modules *modules,
		   const struct perf_file_info *info, const struct symbolizer_options *opt,
		   struct err *err);
void symbolizer_free(struct symbolizer *s);

/* Answers all queries: results[i] is for queries[i]. Best called once with all distinct addresses.
 * Returns 0, or negative when out of memory (the results are then incomplete but valid). */
int symbolizer_run(struct symbolizer *s, const struct sym_query *queries, size_t n,
		   struct sym_result *results, struct err *err);

/* Writes compiled debug information and the running kernel's symbols to the cache. It takes a
 * while, so call it after the output was written. */
void symbolizer_save(struct symbolizer *s);

const struct strtab *symbolizer_strings(const struct symbolizer *s);

struct symbolize_stats {
	uint64_t addresses, symbolized, with_lines;
	uint64_t misses[SYM_MISS_N];
	uint64_t cached_modules; /* whose DWARF did not have to be read */
};
const struct symbolize_stats *symbolizer_stats(const struct symbolizer *s);

/* The source of a dso's names, for users: "symtab of /usr/lib/debug/...", "dynsym" (of the dso's
 * own file), "kallsyms" ...; "" if there is none. Valid until symbolizer_free(). */
const char *symbolizer_source(const struct symbolizer *s, const struct dso *dso);
/* Do functions of a file that are not exported have names? */
bool symbolizer_has_locals(const struct symbolizer *s, const struct dso *dso);
/* The best that is known of any address of a dso. */
enum sym_tier {
	SYM_TIER_NONE,
	SYM_TIER_SYM,  /* names of symbol tables */
	SYM_TIER_LINE, /* and source lines */
	/* Also the functions that DWARF (or Go's tables) knows, including inlined ones. */
	SYM_TIER_INLINE,
};
const char *sym_tier_text(enum sym_tier t);
enum sym_tier symbolizer_tier(const struct symbolizer *s, const struct dso *dso);

/* Reasons why existing debug information could not be used completely. X(name, text) */
#define SYM_LACKS(X)                                                         \
	X(NOTHING, "")                                                       \
	X(SPLIT, "split debug information (.dwo) not found")                 \
	X(OTHER_SPLIT, "split debug information (.dwo) is of another build") \
	X(DAMAGED, "debug information is damaged")

#define X(name, text) SYM_LACKS_##name,
enum sym_lack { SYM_LACKS(X) SYM_LACKS_N };
#undef X
const char *sym_lack_text(enum sym_lack l);
/* *detail is the name of the first missing file, or how much is damaged; or "". Valid until
 * symbolizer_free(). */
enum sym_lack symbolizer_lacks(const struct symbolizer *s, const struct dso *dso,
			       const char **detail);

/* One of the symbols that cover an address, for --explain. */
struct sym_candidate {
	const char *name; /* as in the file; lives until symbolizer_free() */
	uint64_t start, end;
	bool has_size, weak, global;
};
/* Writes to v[max] the symbols of a file that cover an address, ordered by their end. Returns how
 * many. */
size_t symbolizer_candidates(struct symbolizer *s, const struct sym_query *q,
			     struct sym_candidate *v, size_t max);

/* Code of the kernel at a runtime address, in the vmlinux that its names came from. */
struct sym_kernel_code {
	struct elf_image *image; /* lives until symbolizer_free() */
	uint64_t vaddr, end;	 /* of the address, and of the function that it is in */
	uint64_t shift;		 /* runtime addresses are so much more */
};
/* Returns false if there is no vmlinux, or no function at the address. */
bool symbolizer_kernel_code(struct symbolizer *s, const struct dso *dso, uint64_t ip,
			    struct sym_kernel_code *ret);

/* The reason why the dso's addresses had no names; FOUND if they had. */
enum sym_miss symbolizer_miss(const struct symbolizer *s, const struct dso *dso);

#endif

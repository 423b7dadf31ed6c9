/* symbolize.h - (dso, address) -> function, inline chain, file:line; or why not.
 *
 * Symbolization is done in batches: the caller collects every distinct address, the symbolizer
 * sorts them by module, compiles each module's symbols and DWARF once, and answers with ids into
 * its own string table. Sources of truth: ELF gABI (symbols), DWARF 2-5, /proc/kallsyms, tools/perf
 * jit-interface.txt (perf-PID.map), jitdump-specification.txt, Itanium C++ ABI mangling (through
 * libiberty).
 */
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

/* Why an address has no name. X(name, text) */
#define SYM_MISSES(X)                                                                   \
	X(FOUND, "found")                                                               \
	X(NO_MAP, "address not in any mapping")                                         \
	X(NO_FILE, "file not found")                                                    \
	X(BUILD_ID_DIFFERS, "file has another build id")                                \
	X(OTHER_CODE, "its code is not what was recorded")                              \
	X(UNREADABLE, "file cannot be read")                                            \
	X(NO_SYMBOLS, "file has no symbols")                                            \
	X(NO_SYMBOL_HERE, "no symbol covers the address")                               \
	X(NO_KALLSYMS, "kernel symbols not available")                                  \
	X(OTHER_KERNEL, "recorded on another kernel")                                   \
	X(KPTR_RESTRICT, "kernel addresses hidden (kernel.kptr_restrict)")              \
	X(NO_JIT_MAP, "no perf-PID.map of the process")                                 \
	X(FOREIGN_JIT_MAP, "perf map or jitdump is another user's (--force to use it)") \
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
	uint64_t off;	       /* DSO_FILE, DSO_VDSO, DSO_KERNEL_MODULE with a path: file offset
				  (map_ip_to_off of the LOOKUP address); else the runtime address */
	uint64_t ip;	       /* runtime lookup address, for kernel and JIT code */
	uint64_t time_ns;      /* JIT code: as it was then (jit_span.made_ns); 0: what came last */
};

/* The answer. lines[] is the inline chain, innermost first; lines[n_lines - 1] is the real function
 * (the one the symbol table has). n_lines == 0 when miss != FOUND, except that file:line may be
 * known. */
struct sym_result {
	enum sym_miss miss;
	uint32_t symbol; /* name of the enclosing ELF/kernel/JIT symbol, demangled; 0: none */
	uint32_t symbol_system; /* the same, mangled */
	uint64_t offset;	/* lookup address - start of that symbol */
	uint32_t n_lines;
	const struct sym_line *lines; /* lives until symbolizer_free() */
	uint32_t aliases; /* how many other functions are the same bytes, folded by the linker;
			     0 unless they are marked (enum sym_folded) */
};

/* ---- the symbolizer ------------------------------------------------------------------------ */

/* How suffixes like .isra.0, .constprop.0, .part.0, .cold, .llvm.123 are shown. */
enum sym_clones {
	SYM_CLONES_AUTO, /* folded in simple names, else shown */
	SYM_CLONES_SHOW,
	SYM_CLONES_FOLD, /* the name is that of the function that was cloned or split */
};

/* How functions are shown that the linker merged (identical code folding). */
enum sym_folded {
	SYM_FOLDED_AUTO,  /* marked in full names */
	SYM_FOLDED_MARK,  /* "f [+2]": it may be one of two others as well */
	SYM_FOLDED_PLAIN, /* one of the names: DWARF's, else as perf chooses */
};

struct symbolizer_options {
	bool no_inline;				    /* symbol tables only: no DWARF is read */
	bool no_demangle;			    /* the same as SYM_DEMANGLE_NONE */
	const char *vmlinux, *kallsyms;		    /* NULL: found. Given ones must be readable */
	const char *guest_vmlinux, *guest_kallsyms; /* of virtual machines; NULL: none */
	unsigned n_threads;			    /* 0: all */
	enum sym_demangle demangle;
	enum sym_clones clones;
	/* Template arguments nested deeper than template_depth levels become <...>. Without
	 * cut_templates full names show all and simple ones none. */
	bool cut_templates;
	unsigned template_depth;
	enum sym_folded folded;
	/* The recording, for what its maps show: how far the kernel was moved at boot, where BPF
	 * programs start, which jitdump files were written. NULL: not known. Must outlive the
	 * symbolizer. */
	const struct perf_file *file;
	/* /proc/kallsyms as the recording carries it; NULL: it does not. Read by symbolizer_new().
	 */
	const void *kallsyms_data;
	size_t kallsyms_size;
	bool foreign_jit_maps; /* use a perf-PID.map of any user; all can put one into /tmp
				*/
	/* What was opened for the queries' time_ns. NULL: the symbolizer opens what it needs. Must
	 * outlive the symbolizer. */
	struct jit_codes *jit;
	/* Where compiled debug information and the running kernel's symbols are kept between runs;
	 * copied. NULL: nowhere. Of the former what was not used for longest is removed beyond
	 * cache_max_bytes, and modules with less .debug_info than cache_min_bytes are not kept; the
	 * latter are one file of some 4 MB, if that is no more than cache_max_bytes. That the
	 * directory cannot be read or written is no error. */
	const char *cache_dir;
	uint64_t cache_max_bytes, cache_min_bytes;
};

/* $XDG_CACHE_HOME/unspool, else ~/.cache/unspool. False: neither is known. */
bool symbolizer_cache_dir(char *buf, size_t size);

struct symbolizer; /* opaque */

/* `info` (may be NULL) decides whether the running kernel's /proc/kallsyms fits the recording.
 * `modules` and `info` must outlive the symbolizer. 0, or negative with *err filled. */
int symbolizer_new(struct symbolizer **ret, struct modules *modules,
		   const struct perf_file_info *info, const struct symbolizer_options *opt,
		   struct err *err);
void symbolizer_free(struct symbolizer *s);

/* Answers all queries; results[i] belongs to queries[i]. Best called once with all distinct
 * addresses. 0, or negative when out of memory (results are then incomplete but valid). */
int symbolizer_run(struct symbolizer *s, const struct sym_query *queries, size_t n,
		   struct sym_result *results, struct err *err);

/* Writes what was compiled to the cache. Takes a while, so call it after the output is written. */
void symbolizer_save(struct symbolizer *s);

const struct strtab *symbolizer_strings(const struct symbolizer *s);

struct symbolize_stats {
	uint64_t addresses, symbolized, with_lines, inlined_frames;
	uint64_t misses[SYM_MISS_N];
	uint64_t cached_modules; /* whose DWARF did not have to be read */
};
const struct symbolize_stats *symbolizer_stats(const struct symbolizer *s);

/* What was used for a dso: "symtab of /usr/lib/debug/...", "dynsym" (of the dso's own file),
 * "kallsyms" ...; "" when nothing. For people. Lives until symbolizer_free(). */
const char *symbolizer_source(const struct symbolizer *s, const struct dso *dso);
/* Whether functions of a file that are not exported have names. */
bool symbolizer_has_locals(const struct symbolizer *s, const struct dso *dso);
/* The best that is known of any address of a dso. */
enum sym_tier {
	SYM_TIER_NONE,
	SYM_TIER_SYM,	 /* names of symbol tables */
	SYM_TIER_LINE,	 /* and source lines */
	SYM_TIER_INLINE, /* and the functions that DWARF (or Go's tables) knows, inlined ones too */
};
const char *sym_tier_text(enum sym_tier t);
enum sym_tier symbolizer_tier(const struct symbolizer *s, const struct dso *dso);

/* Why debug information that is there was not all usable. X(name, text) */
#define SYM_LACKS(X)                                                         \
	X(NOTHING, "")                                                       \
	X(SPLIT, "split debug information (.dwo) not found")                 \
	X(OTHER_SPLIT, "split debug information (.dwo) is of another build") \
	X(DAMAGED, "debug information is damaged")

#define X(name, text) SYM_LACKS_##name,
enum sym_lack { SYM_LACKS(X) SYM_LACKS_N };
#undef X
const char *sym_lack_text(enum sym_lack l);
/* *detail: the name of the first file that is missing, or how much is damaged; "". Lives until
 * symbolizer_free(). */
enum sym_lack symbolizer_lacks(const struct symbolizer *s, const struct dso *dso,
			       const char **detail);

/* One of the symbols that cover an address, for --explain. */
struct sym_candidate {
	const char *name; /* as in the file; lives until symbolizer_free() */
	uint64_t start, end;
	bool has_size, weak, global;
};
/* Fills v[max] with the symbols of a file that cover an address, those that end first in front.
 * Returns how many there are in v. */
size_t symbolizer_candidates(struct symbolizer *s, const struct sym_query *q,
			     struct sym_candidate *v, size_t max);

/* Why the dso's addresses had no names, FOUND when they had. */
enum sym_miss symbolizer_miss(const struct symbolizer *s, const struct dso *dso);

#endif

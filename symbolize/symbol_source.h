/* symbol_source.h - the interface of the sources of symbols, one per dso. Private to symbolize/.
 *
 * A batch runs in phases: symbols() of all sources, lines() of those with debug information; then
 * batch.c demangles and interns the names. A source is used by one thread at a time; different
 * sources run in parallel. */
#ifndef SYMBOLIZE_SYMBOL_SOURCE_H
#define SYMBOLIZE_SYMBOL_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "demangle/demangle.h"
#include "dwarf/dwarf.h"
#include "functions/functions.h"
#include "symbolize/symbolize.h"

/* One distinct address of a dso. */
struct lookup {
	uint64_t key;		   /* off or ip, as the source asked for */
	uint64_t off, ip, time_ns; /* as in sym_query */
	uint64_t vaddr;		   /* set by symbols() when has_vaddr */
	/* As in the file, not demangled; lives as long as the source; NULL: none. */
	const char *symbol;
	uint64_t offset; /* from the symbol's start */
	uint32_t aliases;
	uint32_t first_frame, n_frames; /* inline chain, innermost first, in lookups.frames */
	bool has_vaddr;
	bool no_function; /* the chain is one frame that has only file and line */
	uint8_t miss;	  /* enum sym_miss */
};

/* All addresses of one dso in a batch, rising by key. */
struct lookups {
	struct lookup *v;
	size_t n;
	VEC(struct dwarf_frame) frames;
};

/* Compiled DWARF between runs. */
struct lines_cache {
	struct dwarf_cache where; /* dir NULL: there is none */
	VEC(struct dwarf_index *)
	unsaved;	       /* they have what is not in there yet; see elf_lines_end() */
	_Atomic uint64_t hits; /* modules whose DWARF was not read */
};

/* Shared by all sources. Read-only while a batch runs, except for members that have their own lock.
 */
struct source_env {
	struct modules *modules;
	const struct perf_file_info *info;   /* may be NULL */
	const struct perf_file *file;	     /* may be NULL */
	const char *vmlinux, *guest_vmlinux; /* given by the user; NULL */
	struct jit_codes *jit;
	bool no_inline, count_aliases, foreign_jit_maps;
	struct kernel *kernel, *guest_kernel;
	struct lines_cache *lines_cache;
};

struct symbol_source {
	const struct source_ops *ops;
	const struct source_env *env;
	const struct dso *dso;
	void *state;		   /* of the ops; NULL until they make it */
	struct recorded *recorded; /* of src_recorded.c; NULL: none */
	enum sym_miss miss;	   /* why the source as a whole names nothing; FOUND */
	bool found;		   /* some address got a name */
	bool has_locals;	   /* a table has functions that are not exported */
	char *used;		   /* what symbolizer_source() says; NULL: nothing */
	enum sym_lack lacks;
	char *lacks_detail;	  /* NULL: none */
	const char *counted_name; /* the function whose names were counted last */
	uint64_t counted_start;
	uint32_t counted;
	enum sym_tier tier;  /* the best of its answers */
	bool linker_folds;   /* C functions at one address may be different ones */
	bool knows_compiler; /* below: set when a name first depended on it */
	enum name_compiler compiler;
	bool is_go; /* names end as the programmer wrote them, in .cold too */
};

struct source_ops {
	bool by_ip; /* looks up runtime addresses instead of file offsets */
	/* Sets symbol, offset and vaddr, or miss, of each lookup. */
	int (*symbols)(struct symbol_source *s, struct lookups *l, struct err *err);
	/* Both are NULL if the source has no lines. The cost is in bytes of debug information; 0:
	 * none. */
	uint64_t (*lines_cost)(struct symbol_source *s);
	int (*lines)(struct symbol_source *s, struct lookups *l, unsigned n_threads,
		     struct err *err);
	/* NULL: the source has no table of symbols. */
	size_t (*candidates)(struct symbol_source *s, const struct sym_query *q,
			     struct sym_candidate *v, size_t max);
	/* Of the kernel; NULL: there is no vmlinux. */
	bool (*kernel_code)(struct symbol_source *s, uint64_t ip, struct sym_kernel_code *ret);
	/* Called after every batch: frees the memory that frames point to. NULL: nothing to do. */
	void (*end_batch)(struct symbol_source *s);
	void (*done)(struct symbol_source *s);
};

/* The functions for a kind of dso. */
const struct source_ops *source_ops_for(enum dso_kind kind);

/* src_recorded.c: looks up symbols stored in the recording, for lookups without a name, or without
 * a certain one, from the dso's own source. Returns 0 or -ERR_NOMEM. */
int recorded_symbols(struct symbol_source *s, struct lookups *l, struct err *err);
void recorded_done(struct symbol_source *s);

/* Appends ", text" to the result of symbolizer_source(). Returns 0 or -ERR_NOMEM. */
int source_says(struct symbol_source *s, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, the first time only. */
int source_says_once(struct symbol_source *s, bool *said, const char *text, struct err *err);
/* The same for a table of the file at `path`, which is named only if it is not the dso's own. */
int source_says_table(struct symbol_source *s, struct err *err, const char *table,
		      const char *path);
/* The same for the DWARF of mod, which has an index. */
int source_says_dwarf(struct symbol_source *s, struct err *err, const struct module *mod);

/* Sets symbol, offset and aliases of a lookup from a function of the table. tab NULL: aliases are
 * not counted; f NULL: sets miss. */
void lookup_set(struct lookup *l, struct symbol_source *s, const struct functab *tab,
		const struct func *f, uint64_t addr);

/* icf.c: how many other functions have the same bytes as f. `folds`: the linker may have merged
 * them. Other names of one function are not counted. */
uint32_t icf_count(const struct functab *tab, const struct func *f, bool folds);
/* Was the file made by a linker that folds identical functions? */
bool linker_folds(struct elf_image *img);
/* The symbol of this name (without its version) among those at the same bytes; NULL: none. */
const char *icf_named(const struct functab *tab, const struct func *f, const char *name);

/* inline_names.c: gives frames of inlined functions without linkage name the symbol's name, where
 * that is certain. The name lives as long as mod and `names`. Returns 0, or -1 when out of memory.
 */
struct arena;
int name_inlined(struct lookups *l, const struct module *mod, struct arena *names);

/* The vaddrs of the lookups that have one, rising; the caller frees the result. NULL when out of
 * memory. */
uint64_t *lookups_vaddrs(const struct lookups *l, size_t *n);
/* Appends the inline chain of v[i]. Leaves out inlined functions without a name (the common file of
 * dwz may be missing): then the next function has the line at which they were called. Returns 0, or
 * -1 when out of memory. */
int lookups_add_chain(struct lookups *l, size_t i, const struct dwarf_frame *chain, size_t n);

/* ---- elf_lines.c: DWARF for lookups that have a vaddr -------------------------------------- */

/* Makes *index, which elf_lines_end() frees after the batch; NULL if there is no DWARF. */
int elf_lines(struct dwarf_index **index, const struct source_env *env, struct module *mod,
	      struct lookups *l, unsigned n_threads, struct err *err);
/* Frees the index, or gives it to the cache. One thread at a time. */
void elf_lines_end(struct dwarf_index **index, const struct source_env *env);
/* Writes the indexes given to the cache if `save`, and frees them. */
void elf_lines_flush(struct lines_cache *c, bool save, unsigned n_threads);

/* ---- kernel.c: the symbols of the recorded kernel ------------------------------------------ */

struct kernel;

/* Reads nothing yet, except that it copies opt->kallsyms_data. NULL when out of memory. */
struct kernel *kernel_new(const struct symbolizer_options *opt);
/* For the kernel of virtual machines, of which only a list named by the user is known. */
struct kernel *kernel_new_guest(const struct symbolizer_options *opt);
void kernel_free(struct kernel *k);
/* Sets the kernel's dso, for its build id. Call it before the first batch with that dso. */
void kernel_set_dso(struct kernel *k, const struct dso *dso);

/* The recorded kernel's kallsyms. If there is none, *ret is NULL and *why is the reason. Loaded at
 * the first call, from any thread. The tag of a function selects its module's name; if the list is
 * from another boot (not same_boot), modules have other addresses. Returns 0 or -ERR_NOMEM. */
struct kernel_symbols {
	const struct functab *tab;
	const char *source;	    /* "kallsyms of ..." */
	uint64_t shift;		    /* runtime address - address in the table */
	bool same_boot;		    /* addresses of modules are right too */
	const char *const *modules; /* by tag; "" for the kernel */
};
int kernel_symbols(struct kernel *k, const struct source_env *env,
		   const struct kernel_symbols **ret, enum sym_miss *why, struct err *err);
/* Names an address by the list, if a function there covers it: one of the `module`, or of any if
 * that is NULL. `cursor` is kept between rising addresses. */
bool kernel_symbols_name(const struct kernel_symbols *sym, const char *module,
			 struct symbol_source *s, struct lookup *l, struct func_cursor *cursor);
/* kernel_symbols() for one address of the kernel itself, from the cache of an earlier run, without
 * reading the list. Returns false if the list must be read. ret->name lives as long as k. */
bool kernel_find_core(struct kernel *k, const struct source_env *env, uint64_t addr,
		      struct func *ret, uint32_t *aliases);
/* Saves the running kernel's symbols, if they were read, for later runs. */
void kernel_save(struct kernel *k);
/* The distance by which the recorded kernel (DSO_KERNEL or DSO_GUEST_KERNEL) was moved from a table
 * with _text and _stext at these addresses (0: unknown). Returns 0 if the recording does not tell.
 */
uint64_t kernel_shift(const struct source_env *env, enum dso_kind kind, uint64_t _text,
		      uint64_t _stext);

#endif

/* cut.h - what of a module a recording needs, as a file with holes for its bundle.
 *
 * The addresses that a stack can have gone through are known: those of samples, and every word of a
 * stack copy that points into code. For the functions around them a file is made that has the same
 * offsets, addresses and names of sections, in which unwinding and naming find what they find in
 * the whole one: headers, call frame information, symbols, Go's tables, PLT, and the code that is
 * read where there are no tables. Data sections are left out, but native-image's frame sizes. Lines
 * and inlined calls are written as DWARF of their own (DWARF 4), for exactly these addresses, so
 * that every reader of DWARF understands them. */
#ifndef CUT_CUT_H
#define CUT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "dwarf/dwarf.h"
#include "modules/modules.h"

/* Rising vaddrs without duplicates; a VEC(). */
struct cut_addrs {
	uint64_t *v;
	size_t n, cap;
};

/* Sorts, and removes duplicates. */
void cut_addrs_sort(struct cut_addrs *a);
/* a is sorted: how many are less than v. */
size_t cut_addrs_below(const struct cut_addrs *a, uint64_t v);

enum cut_level {
	CUT_IDS,     /* headers and build id */
	CUT_UNWIND,  /* what unwinding needs */
	CUT_SYMBOLS, /* and names, lines, inlined functions */
	CUT_FULL,    /* whole files */
};

struct cut_need {
	enum cut_level level;
	/* In code that was on a stack. */
	struct cut_addrs code;
	/* Of these the ones that can be frames: they get lines and inlined functions. A return
	 * address stands for the call: it is given less one. */
	struct cut_addrs frames;
	struct cut_addrs probed; /* where probes were: they get parameters ... */
	struct cut_addrs texts;	 /* ... and what registers pointed to there, if that is constant */
	const struct dwarf_cache *cache; /* of compiled DWARF; NULL: none */
	unsigned n_threads;
	int zstd_level;
	bool no_unwind;	   /* nothing that only unwinding needs */
	bool frames_known; /* `frames` are no guess */
};

/* Appends the entries of a module: its image and, if it has one, its debug file, which is searched
 * for here (module_debug()). `e` describes the dso: path, id and inode. Returns 0, or negative with
 * *err. */
int cut_module(struct modules *ms, struct module *m, const struct bundle_entry *e,
	       const struct cut_need *need, struct bundle_blob *out, struct err *err);

/* Does code end in a call before this byte? Enough for processors of the table; true for others. */
bool cut_is_behind_call(const struct elf_image *img, uint64_t vaddr);

/* Is the vaddr in a segment that is not written to, as where values are read (values/values.c)? */
bool cut_is_constant(const struct elf_image *img, uint64_t vaddr);

/* ---- a whole recording ---------------------------------------------------------------------- */

/* What was on the stacks of a recording, by dso. File offsets (texts: vaddrs); of code without a
 * file, and of the kernel, runtime addresses. */
struct cut_dso {
	const struct dso *dso;
	struct cut_addrs code, frames, probed, texts;
	uint64_t samples; /* how often it was seen, for choosing */
	uint64_t last;	  /* private: the sample that counted last */
	/* Private: a file with other code has the build id; its hits are with another dso's, which
	 * is the same file. */
	bool is_twin, is_joined;
};

struct cut_hits; /* opaque */

/* Reads the recording to its end. Images are opened through `ms`, to look at code. Returns 0, or
 * negative with *err; call cut_hits_free() in any case. */
int cut_collect(struct cut_hits **ret, struct perf_file *f, struct modules *ms, struct err *err);
/* Adds a frame that is known: the lookup address, as offset or runtime address. Once there is one,
 * frames are no longer guessed for that dso: cut_only_known() was called. */
int cut_add_frame(struct cut_hits *h, const struct dso *dso, uint64_t off);
/* Forgets guessed frames: those that are known will be added. */
void cut_only_known(struct cut_hits *h);
void cut_hits_free(struct cut_hits *h);
/* The dsos with hits, in the order of their ids. */
size_t cut_hits_count(const struct cut_hits *h);
struct cut_dso *cut_hits_at(struct cut_hits *h, size_t i);

/* A function of the kernel or one of its modules, for the bundle's list. */
struct cut_symbol {
	uint64_t start, end;	   /* end: behind the last address that is known to be in it */
	const char *name, *module; /* module NULL or "": the kernel */
};

/* A perf map or jitdump. */
struct cut_text {
	void *bytes; /* malloc'ed */
	size_t size;
	uint64_t written_ns; /* when last, by the wall clock; 0: not known */
	uint64_t began_ns;   /* its process, by the wall clock, or earlier; 0: not known */
	bool is_stale;	     /* known to be of another program than is recorded */
};

struct cut_options {
	enum cut_level level;
	/* Stacks are in the recording as addresses: only names of known frames are needed. */
	bool no_unwind;
	bool frames_known;  /* by cut_add_frame() */
	uint64_t max_bytes; /* of the bundle; 0: no limit */
	unsigned n_threads;
	int zstd_level;
	const struct dwarf_cache *cache;
	/* Reads a file of a JIT compiler into a zeroed *ret; bytes NULL: there is none. */
	void (*read_file)(void *arg, const struct dso *dso, uint32_t pid, struct cut_text *ret);
	void *arg;
	const struct cut_symbol *kernel; /* rising */
	size_t n_kernel;
	const char *processes; /* text of BUNDLE_PROCESSES; NULL: none */
};

/* Reads a perf map or jitdump at its path below symfs, or as the process sees it if it still runs.
 * Of another user's only the file that was mapped. */
void cut_jit_file(const char *symfs, const struct dso *dso, uint32_t pid, struct cut_text *ret);

struct cut_report {
	size_t modules, files;	 /* in the bundle */
	size_t missing, dropped; /* not found; too much for max_bytes */
	char *lacks;		 /* lines about these, also in the bundle; NULL: none. malloc'ed */
};

/* Makes the section. Returns 0, or negative with *err. */
int cut_bundle(struct bundle_blob *out, struct perf_file *f, struct modules *ms,
	       struct cut_hits *hits, const struct cut_options *opt, struct cut_report *report,
	       struct err *err);

/* Call chains that replace stack copies. `f` is the recording, which must outlive them, and whose
 * samples must have a time. NULL: no memory. */
struct cut_chains; /* opaque */
struct cut_chains *cut_chains_new(const struct perf_file *f);
void cut_chains_free(struct cut_chains *c); /* NULL is allowed */
/* The chain of a sample: as in perf_sample.ips, with the marks of contexts. Returns 0 or
 * -ERR_NOMEM. */
int cut_chains_add(struct cut_chains *c, const struct perf_sample *s, const uint64_t *ips,
		   size_t n);
/* Counts frames that are known by a place in bytecode, which a call chain does not lead to. */
void cut_chains_note_places(struct cut_chains *c, uint64_t n);
uint64_t cut_chains_places(const struct cut_chains *c);
/* After cut_rewrite(): samples and bytes of the data that are damaged and were left out. */
void cut_chains_lost(const struct cut_chains *c, uint64_t *samples, uint64_t *bytes);

/* Writes the recording at `path` with this section in place of the one that it may have, and if
 * `chains` is not NULL with these in place of registers and stack copies; without the recorder's
 * command line unless `cmdline`. Only plain files of this machine's byte order. Returns 0, or
 * negative with *err. */
int cut_rewrite(const char *path, const struct bundle_blob *section, struct cut_chains *chains,
		bool cmdline, FILE *out, struct err *err);

#endif

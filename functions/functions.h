/* functions.h - what code there is in a module, for unwinding and for naming it.
 *
 * Sources of truth stand with each part.
 */
#ifndef FUNCTIONS_FUNCTIONS_H
#define FUNCTIONS_FUNCTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/processor.h"
#include "base/vec.h"
#include "modules/modules.h"
#include "reader/reader.h"

/* ---- a table of functions by address (functab.c) -----------------------------------------
 *
 * Whatever they come from: fill with functab_add() in any order, functab_finish() once, then look
 * up from any thread. Names are borrowed: they live in the source's bytes or in the table's arena.
 */

enum func_flags {
	FUNC_WEAK = 1,
	FUNC_GLOBAL = 2,
	FUNC_SIZELESS = 4, /* size unknown: reaches to the next start, at most to `end` */
};

#define FUNC_TAG_MAX ((1u << 28) - 1)

struct func {
	uint64_t start;
	uint64_t end; /* one past the last byte */
	const char *name;
	uint32_t flags : 4; /* enum func_flags */
	uint32_t tag : 28;  /* the owner's: module of kallsyms, record of a JIT map */
};

/* All functions that start at one address. */
struct func_group {
	uint64_t start;
	uint32_t first; /* in funcs; the next group's first ends it */
	uint32_t outer; /* innermost earlier group that is still open here; FUNC_NONE */
};

#define FUNC_NONE UINT32_MAX

/* A zeroed table is empty and can be filled. */
struct functab {
	VEC(struct func) funcs;
	VEC(struct func_group) groups;
	struct arena names;
	/* Of overlapping functions the one with the highest tag counts; added by rising tag, all
	 * with a size (JIT code). */
	bool latest_wins;
};

/* A function of no length (start == end) is ignored. 0, or -1 when out of memory. */
int functab_add(struct functab *t, const struct func *f);
/* Sorts. 0, or -1 when out of memory. */
int functab_finish(struct functab *t);
void functab_done(struct functab *t);

/* Where the last lookup ended: rising addresses are found in a few steps. Zeroed to start. */
struct func_cursor {
	size_t group;
};

/* The function at addr, or NULL. Among functions with the same start perf's choice is made: known
 * size, then non-weak, global, fewer leading underscores, longer name, first added; among those
 * without size the last added. Of nested functions the innermost counts; a function of unknown size
 * only where no sized one is. */
const struct func *functab_find(const struct functab *t, uint64_t addr, struct func_cursor *cursor);
/* The same among functions whose tag is below `limit`; for tables where the latest wins: as they
 * were then. */
const struct func *functab_find_before(const struct functab *t, uint64_t addr, uint32_t limit,
				       struct func_cursor *cursor);
/* For tables where the latest wins: of those whose tag is at the limit or above, the first. */
const struct func *functab_find_next(const struct functab *t, uint64_t addr, uint32_t limit,
				     struct func_cursor *cursor);
/* The functions that cover addr, the innermost groups first, at most max. Returns how many. */
size_t functab_covering(const struct functab *t, uint64_t addr, const struct func **found,
			size_t max);
/* The functions that are the same bytes as f, f among them, at most max. Returns how many. */
size_t functab_aliases(const struct functab *t, const struct func *f, const struct func **aliases,
		       size_t max);

/* ---- symbol tables of ELF files (symtab.c) --------------------------------------------------
 *
 * Source of truth: ELF gABI chapter 4, "Symbol Table". */

/* The entries of one; all lives with the image. */
struct elf_symbols {
	const uint8_t *data;
	size_t n;
	uint32_t index; /* of the section */
	const char *names;
	size_t names_bytes; /* up to and including the last NUL */
	bool is_64, swap;
};

/* ".symtab" or ".dynsym". False when there is none, or one of another layout. */
bool elf_symbols_open(struct elf_symbols *t, struct elf_image *img, const char *section);
/* Entry i < n, widened. */
Elf64_Sym elf_symbols_convert(const struct elf_symbols *t, size_t i);
static inline Elf64_Sym elf_symbols_at(const struct elf_symbols *t, size_t i)
{
	Elf64_Sym s;

	if (!t->is_64 || t->swap)
		return elf_symbols_convert(t, i);
	memcpy(&s, t->data + i * sizeof s, sizeof s); /* nearly always: one load of all of it */
	return s;
}
/* NULL: it has none. */
const char *elf_symbols_name(const struct elf_symbols *t, const Elf64_Sym *sym);

enum { SYMTAB_PAGE_BITS = 12 };

/* The pages that a batch of addresses lies in. */
struct page_set {
	uint64_t first; /* page number */
	size_t n;	/* pages */
	uint64_t *bits;
};

/* From rising vaddrs. False when they are too far apart to be worth it, or memory is short. */
bool page_set_init(struct page_set *set, const uint64_t *vaddrs, size_t n);
void page_set_done(struct page_set *set);

/* Adds the functions of one symbol table (".symtab", ".dynsym"). *n is how many there were. With
 * `only`, those of known size are left out when they touch none of its pages. 0, or -1 when out of
 * memory; a table that is absent or damaged adds what can be read. Names live with img. */
int symtab_read(struct functab *tab, struct elf_image *img, const char *section,
		const struct page_set *only, size_t *n);

/* ---- call frame information: sections and entries (cfi_entry.c) ---------------------------
 *
 * Sources of truth: DWARF5 6.4 (call frame information, .debug_frame), the Linux Standard Base's
 * "Exception Frames" (.eh_frame, .eh_frame_hdr, DW_EH_PE encodings). Nothing is copied: entries
 * point into the section's bytes. */

struct cfi_section {
	const uint8_t *data;
	uint64_t size;
	uint64_t vaddr;	       /* of data[0], for pc-relative pointers */
	uint64_t base_off;     /* file offset, for messages */
	bool is_eh;	       /* .eh_frame, else .debug_frame */
	bool swap;	       /* other byte order than this machine */
	uint8_t address_bytes; /* 4 or 8 */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg; /* return address column */
	uint8_t version;
	uint8_t address_bytes;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDE's addresses */
	bool has_augmentation_data;
	bool is_signal_frame; /* 'S': the frame it describes was interrupted, not called from */
	struct buf insns;     /* initial instructions */
};

struct cfi_fde {
	const struct cfi_section *sec;
	struct cfi_cie cie;
	uint64_t start, end;
	struct buf insns;
};

enum cfi_entry_kind { CFI_ENTRY_BAD, CFI_ENTRY_END, CFI_ENTRY_CIE, CFI_ENTRY_FDE };

/* Kind of the entry at `off`. *next is where the following entry starts, always > off, also for an
 * entry whose contents are bad; section size when the length itself lies. CFI_ENTRY_END is the zero
 * terminator, after which there may be more (of another object file), or the end of the section. */
enum cfi_entry_kind cfi_entry_at(const struct cfi_section *sec, uint64_t off, uint64_t *next);

/* False: the entry there is damaged, or uses what no toolchain emits (pointers that need run-time
 * memory, segments). */
bool cfi_fde_read(const struct cfi_section *sec, uint64_t off, struct cfi_fde *ret);

/* Reads a pointer in a DW_EH_PE encoding. `data_base`: what DW_EH_PE_datarel is relative to, 0 when
 * that is not known. Refuses DW_EH_PE_indirect. */
bool cfi_pointer_read(const struct cfi_section *sec, struct buf *b, uint8_t encoding,
		      uint64_t data_base, uint64_t *ret);

/* ---- the FDE of an address (cfi_index.c) -------------------------------------------------- */

struct cfi_index_row {
	uint64_t start; /* vaddr of the FDE's first instruction */
	uint64_t off;	/* of the FDE in the section */
};

/* Uses the linker's sorted table when there is a believable one, else makes its own at the first
 * look-up. The image must outlive the index. Not thread-safe, except for cfi_index_listed(). */
struct cfi_index {
	struct cfi_section sec; /* size 0: the file has none */
	/* .eh_frame_hdr: pairs of 32-bit (start, FDE), both relative to hdr_vaddr. */
	const uint8_t *hdr_rows;
	size_t n_hdr_rows;
	uint64_t hdr_vaddr;
	/* Own table. */
	struct cfi_index_row *rows;
	size_t n_rows;
	bool rows_made;
};

/* .eh_frame of an image, with or without section headers. */
void cfi_index_open_eh(struct cfi_index *ix, struct elf_image *img);
/* .debug_frame of an image or debug file. */
void cfi_index_open_debug(struct cfi_index *ix, struct elf_image *img);
void cfi_index_done(struct cfi_index *ix);

/* Is there an FDE for vaddr in the linker's table? True only where cfi_index_find() finds the same;
 * false also where it would have to look elsewhere. Nothing changes: any number of threads can ask
 * at the same time, beside the other, too. */
bool cfi_index_listed(const struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);
/* 1: found; 0: no FDE covers vaddr; -ERR_NOMEM. */
int cfi_index_find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);
/* The greatest start of an FDE at or below vaddr: where a function starts, whatever its symbol
 * says. 1: found; 0: none; -ERR_NOMEM. */
int cfi_index_start(struct cfi_index *ix, uint64_t vaddr, uint64_t *ret);

/* ---- what direct calls lead to (call_targets.c) ------------------------------------------- */

/* The next direct call in these `n` bytes at *off or behind. *target, relative to code, is what it
 * goes to; *off is behind its first byte then. x86: any bytes that look like a call count, also
 * inside of other instructions; hardly any of these lead to the start of a function. False: no
 * more, or not known of this instruction set. */
bool next_call(enum insn_set set, const uint8_t *code, size_t n, size_t *off, int64_t *target);
/* The greatest start above low and not above high that calls of this file lead to. A wrong one
 * takes bytes that look like a call of just these few addresses. False when there is none. */
bool called_start(struct elf_image *img, uint64_t low, uint64_t high, uint64_t *ret);

/* ---- Go's table of functions (go_table.c, go_lines.c) -------------------------------------
 *
 * The Go runtime needs .gopclntab for its own stack traces, so the linker always writes it, also
 * into stripped programs, which have no .eh_frame. Sources of truth: Go's runtime/symtab.go,
 * runtime/runtime2.go (struct _func), runtime/symtabinl.go, cmd/link/internal/ld/pcln.go; "Go 1.2
 * Runtime Symbol Information" for the idea and the encoding of values by pc. */

struct go_layout; /* what differs between versions of Go */

/* Strings and bytes live with the image. */
struct go_table {
	struct elf_image *img;
	const struct go_layout *layout;
	const uint8_t *data; /* NULL: the file has none, or one of an unknown version */
	size_t size;
	uint64_t text_vaddr; /* what function addresses are relative to */
	uint64_t n_funcs;
	uint64_t names_off, units_off, files_off, pcs_off, funcs_off; /* in data */
	uint64_t funcdata_vaddr; /* what offsets of function data are relative to; 0: not found */
	uint8_t quantum, ptr_bytes;
};

/* Of an image, which must outlive the table; nothing is to be freed. False: there is none. */
bool go_table_open(struct go_table *t, struct elf_image *img);

enum go_frame {
	GO_FRAME_NONE,	 /* no Go function, or the table is damaged */
	GO_FRAME_SIZE,	 /* the stack pointer is *size bytes below where it was on entry */
	GO_FRAME_ROOT,	 /* the first function of a goroutine */
	GO_FRAME_THREAD, /* the first one of a thread, unless C code has made that */
	GO_FRAME_SWITCH, /* sets the stack pointer: its caller may be on another stack */
	/* As SIZE, but it has changed stacks in between, and put there what it returns to: where
	 * the goroutine was when it called C code, which may be the start of a function. */
	GO_FRAME_CALLBACK,
};

/* NONE, too, when it takes more than *steps, from which it takes what it took. NULL: as many as
 * there are. */
enum go_frame go_table_find(const struct go_table *t, uint64_t vaddr, uint64_t *steps,
			    uint64_t *size);

/* The function that vaddr is in: where it begins, and where the next one does. False: none. */
bool go_table_bounds(const struct go_table *t, uint64_t vaddr, uint64_t *start, uint64_t *end);

/* Adds all functions. 0, or -1 when out of memory. */
int go_table_functions(const struct go_table *t, struct functab *tab);

/* A function at an address, or one that was inlined there. NULL and 0: not known. */
struct go_line {
	const char *name, *file;
	uint32_t line;
	uint32_t start_line; /* of the function */
};

/* The inline chain at vaddr, innermost first, the function that was compiled last. */
size_t go_table_chain(const struct go_table *t, uint64_t vaddr, struct go_line *chain, size_t max);

/* ---- code of JIT compilers (jit_codes.c, jitdump.c) ---------------------------------------
 *
 * A JIT compiler replaces code while the program runs: the same address means another function
 * later. The jitdump files (jit-PID.dump) of the recorded processes have when which code was made,
 * and what its lines and frames are. Two samples are in the same code when jitdump_span() gives the
 * same made_ns for both. Source of truth: tools/perf/Documentation/jitdump-specification.txt.
 * Threads: all functions may be called from any thread. */
struct jit_codes; /* opaque; reads every file once */
struct jitdump;

/* symfs: prefix for all paths; NULL or "": none, and files of containers that still run are found.
 * Unless it trusts_all, a file of another user than this one and root is read only when it is, by
 * device and inode, the recorded one. */
int jit_codes_new(struct jit_codes **ret, const char *symfs, bool trusts_all, struct err *err);
void jit_codes_free(struct jit_codes *j); /* NULL is allowed */
/* The file (address_space_jitdump()) that process `pid` has mapped; *ret is NULL when it cannot be
 * read or names nothing. Lives until jit_codes_free(). 0, or -ERR_NOMEM. */
int jit_codes_open(struct jit_codes *j, const struct dso *dump, uint32_t pid,
		   const struct jitdump **ret, struct err *err);
/* The same for samples one after the other, of which most are of the process of the one before.
 * Zeroed but for `codes`; one thread's. *ret is NULL, too, when the process has no jitdump. */
struct jit_cursor {
	struct jit_codes *codes; /* NULL: all processes are without */
	const struct dso *dso;
	uint32_t pid;
	const struct jitdump *dump;
};
int jit_cursor_seek(struct jit_cursor *c, const struct perf_sample *s, const struct jitdump **ret,
		    struct err *err);
/* Was it not read because it is another user's? */
bool jit_codes_distrusts(struct jit_codes *j, const struct dso *dump);
/* The i-th file that ends inside of a record, and where: what was made later is not in it. False:
 * there are no more. */
struct jit_cut {
	const struct dso *dump;
	uint64_t off;
};
bool jit_codes_cut(const struct jit_codes *j, size_t i, struct jit_cut *ret);
/* Was it opened for this process? */
bool jit_codes_used_by(struct jit_codes *j, const struct dso *dump, uint32_t pid);
/* Rises by one with each piece of code that was made, from 1. time_ns must be CLOCK_MONOTONIC
 * (`perf record -k mono`). 0 when the jitdump has another clock. */
uint32_t jitdump_version(const struct jitdump *d, uint64_t time_ns);
/* The time of a sample for these, 0 where the recording has another clock. */
uint64_t jit_sample_time(const struct perf_sample *s);

/* What a JIT compiler wrote about one function that it made. What is pointed to lives as long as
 * the jitdump. */
struct jit_unwind_info {
	uint64_t start, end;	 /* where the function is at run time */
	const uint8_t *eh_frame; /* with one FDE */
	size_t size;		 /* of that; 0: none */
	bool swap;		 /* in the other byte order */
	const uint8_t *code;	 /* the function's bytes, of no other one; NULL: not known */
};
/* For the function that was at ip at time_ns, or else the next that was put there; time_ns 0: the
 * last one. False when there is none. */
bool jitdump_unwind_info(const struct jitdump *d, uint64_t ip, uint64_t time_ns,
			 struct jit_unwind_info *ret);
/* When the code at ip in the versions [from, until) was made, or else the next code that was put
 * there. made_ns is 0 for version 0, and always where ip only ever had one piece of code, or none.
 */
struct jit_span {
	uint64_t made_ns;
	uint32_t from, until;
};
struct jit_span jitdump_span(const struct jitdump *d, uint64_t ip, uint32_t version);
/* The function at ip as it was at time_ns, or the first that came there later; 0: the last one. */
const struct func *jitdump_find(const struct jitdump *d, uint64_t ip, uint64_t time_ns,
				struct func_cursor *cursor);
/* When what jitdump_find() gave was made. */
uint64_t jitdump_made_ns(const struct jitdump *d, const struct func *f);
/* The source line of an address in the function. False: it has none. *file lives as long as the
 * jitdump. */
bool jitdump_line(const struct jitdump *d, const struct func *f, uint64_t ip, const char **file,
		  uint32_t *line);
/* How many lines all functions have. */
size_t jitdump_line_count(const struct jitdump *d);

#endif

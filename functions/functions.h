/* functions.h - the functions of a module, for unwinding and for naming.
 *
 *	struct functab tab = {0};
 *	for each symbol: functab_add(&tab, &func);	in any order
 *	rc = functab_finish(&tab);
 *	f = functab_find(&tab, addr, &cursor);		NULL: no function covers it
 *	functab_done(&tab);
 *
 * The sources of truth are named in each section. */
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
 * For functions from any source: fill the table with functab_add() in any order, call
 * functab_finish() once, then look up from any thread. Names are borrowed: they are in the bytes of
 * the source or in the table's arena. */

enum func_flags {
	FUNC_WEAK = 1,
	FUNC_GLOBAL = 2,
	FUNC_SIZELESS = 4, /* size unknown: extends to the next start, at most to `end` */
	FUNC_CHOOSES = 8,  /* STT_GNU_IFUNC: returns which function its callers get */
};

#define FUNC_TAG_MAX ((1u << 28) - 1)

struct func {
	uint64_t start;
	uint64_t end; /* one past the last byte */
	const char *name;
	uint32_t flags : 4; /* enum func_flags */
	uint32_t tag : 28;  /* for the owner of the table: module of kallsyms, record of a JIT
			     * map */
};

/* All functions that start at one address. */
struct func_group {
	uint64_t start;
	uint32_t first; /* index in funcs; the group ends before the next group's first */
	uint32_t outer; /* innermost earlier group that still covers this start; FUNC_NONE */
};

#define FUNC_NONE UINT32_MAX

/* A zeroed table is empty and can be filled. */
struct functab {
	VEC(struct func) funcs;
	VEC(struct func_group) groups;
	struct arena names;
	/* For JIT code: of overlapping functions the one with the highest tag is found. Functions
	 * must be added with rising tags, all with a size. */
	bool latest_wins;
};

/* A function of no length (start == end) is ignored. Returns 0, or -1 when out of memory. */
int functab_add(struct functab *t, const struct func *f);
/* Sorts the table. Returns 0, or -1 when out of memory. */
int functab_finish(struct functab *t);
void functab_done(struct functab *t);

/* Where the last lookup ended: the next one takes a few steps if addresses rise.
 * Zero-initialize. */
struct func_cursor {
	size_t group;
};

/* The function at addr, or NULL. Among functions with the same start the choice is perf's: known
 * size, then non-weak, global, fewer leading underscores, longer name, first added; among those
 * without size the last added. Of nested functions the innermost is returned; a function of unknown
 * size only if no sized one covers addr. */
const struct func *functab_find(const struct functab *t, uint64_t addr, struct func_cursor *cursor);
/* The same among functions with a tag below `limit`: in a table with latest_wins, the state before
 * tag `limit`. */
const struct func *functab_find_before(const struct functab *t, uint64_t addr, uint32_t limit,
				       struct func_cursor *cursor);
/* For tables with latest_wins: the first function at addr with a tag of at least `limit`. */
const struct func *functab_find_next(const struct functab *t, uint64_t addr, uint32_t limit,
				     struct func_cursor *cursor);
/* Finds the functions that cover addr, at most max, innermost groups first. Returns how many. */
size_t functab_covering(const struct functab *t, uint64_t addr, const struct func **found,
			size_t max);
/* Finds the functions with the same address range as f, including f, at most max. Returns how
 * many. */
size_t functab_aliases(const struct functab *t, const struct func *f, const struct func **aliases,
		       size_t max);

/* ---- symbol tables of ELF files (symtab.c) --------------------------------------------------
 *
 * Source of truth: ELF gABI chapter 4, "Symbol Table". */

/* One symbol table. All pointers are valid as long as the image. */
struct elf_symbols {
	const uint8_t *data;
	size_t n;
	uint32_t index; /* of the section */
	const char *names;
	size_t names_bytes; /* up to and including the last NUL */
	bool is_64, swap;
};

/* Opens ".symtab" or ".dynsym". Returns false if there is none, or if its layout is not
 * supported. */
bool elf_symbols_open(struct elf_symbols *t, struct elf_image *img, const char *section);
/* Entry i < n, converted to 64 bits and host byte order. */
Elf64_Sym elf_symbols_convert(const struct elf_symbols *t, size_t i);
static inline Elf64_Sym elf_symbols_at(const struct elf_symbols *t, size_t i)
{
	Elf64_Sym s;

	if (!t->is_64 || t->swap)
		return elf_symbols_convert(t, i);
	memcpy(&s, t->data + i * sizeof s, sizeof s); /* the usual case: one load */
	return s;
}
/* The name of a symbol; NULL: its offset is out of bounds. */
const char *elf_symbols_name(const struct elf_symbols *t, const Elf64_Sym *sym);

/* exported.c: finds a symbol that the file defines and exports. Returns false if there is none. */
bool elf_exported_find(struct elf_image *img, const char *name, Elf64_Sym *ret);
/* The place in the middle of execute_ex(), if the file has a virtual machine of PHP all of whose
 * instructions are in that function (unwind/php.c). */
bool php_vm_find(struct elf_image *img, uint64_t *vaddr);

enum { SYMTAB_PAGE_BITS = 12 };

/* The set of pages that contain a batch of addresses. */
struct page_set {
	uint64_t first; /* page number */
	size_t n;	/* pages */
	uint64_t *bits;
};

/* Fills the set from `n` rising vaddrs. Returns false if they are too far apart to be worth it, or
 * when out of memory. */
bool page_set_init(struct page_set *set, const uint64_t *vaddrs, size_t n);
void page_set_done(struct page_set *set);

/* Adds the functions of one symbol table (".symtab", ".dynsym"). *n: how many there are. With
 * `only`, functions of known size that touch none of its pages are left out. Returns 0, or -1 when
 * out of memory. A missing or damaged table is not an error: what can be read is added. Names are
 * valid as long as img. */
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
	uint64_t vaddr;	       /* vaddr of data[0], for pc-relative pointers */
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
	bool has_lsda;
	uint8_t lsda_encoding;
	bool has_augmentation_data;
	bool is_signal_frame; /* 'S': the frame it describes was interrupted, not called from */
	struct buf insns;     /* initial instructions */
};

struct cfi_fde {
	const struct cfi_section *sec;
	struct cfi_cie cie;
	uint64_t start, end;
	uint64_t lsda; /* vaddr of the table of landing pads (lsda.c); 0: none */
	struct buf insns;
};

enum cfi_entry_kind { CFI_ENTRY_BAD, CFI_ENTRY_END, CFI_ENTRY_CIE, CFI_ENTRY_FDE };

/* Returns the kind of the entry at `off`. *next is where the following entry starts: always > off,
 * also if the contents of the entry are bad; the section size if its length is wrong. CFI_ENTRY_END
 * is the zero terminator, after which there may be more entries (of another object file), or the
 * end of the section. */
enum cfi_entry_kind cfi_entry_at(const struct cfi_section *sec, uint64_t off, uint64_t *next);

/* Reads the FDE at `off`. Returns false if it is damaged, or uses features that no toolchain emits
 * (pointers that need run-time memory, segments). */
bool cfi_fde_read(const struct cfi_section *sec, uint64_t off, struct cfi_fde *ret);

/* Reads a pointer in a DW_EH_PE encoding. `data_base`: the base of DW_EH_PE_datarel, 0 if not
 * known. Returns false for DW_EH_PE_indirect and damaged input. */
bool cfi_pointer_read(const struct cfi_section *sec, struct buf *b, uint8_t encoding,
		      uint64_t data_base, uint64_t *ret);

/* ---- the FDE of an address (cfi_index.c) -------------------------------------------------- */

struct cfi_index_row {
	uint64_t start; /* vaddr of the FDE's first instruction */
	uint64_t off;	/* offset of the FDE in the section */
};

/* Uses the linker's sorted table if there is a plausible one, otherwise builds its own at the first
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

/* Looks for the FDE of vaddr in the linker's table only. If it returns true, cfi_index_find() would
 * find the same; if false, cfi_index_find() may still find one elsewhere. Changes nothing: any
 * number of threads may call it, also while another one calls cfi_index_find(). */
bool cfi_index_listed(const struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);
/* Returns 1: found; 0: no FDE covers vaddr; -ERR_NOMEM. */
int cfi_index_find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *ret);
/* Finds the greatest start of an FDE at or below vaddr: a function starts there, whatever the
 * symbols say. Returns 1: found; 0: none; -ERR_NOMEM. */
int cfi_index_start(struct cfi_index *ix, uint64_t vaddr, uint64_t *ret);

/* ---- landing pads (lsda.c) ----------------------------------------------------------------
 *
 * Where exceptions continue in a function. `fde`: of the function, in `img`. */

/* The vaddr where an exception that comes out of the call at vaddr continues in this function; 0:
 * nowhere. */
uint64_t lsda_pad(struct elf_image *img, const struct cfi_fde *fde, uint64_t vaddr);
/* True if exceptions continue at vaddr. */
bool lsda_is_pad(struct elf_image *img, const struct cfi_fde *fde, uint64_t vaddr);

/* ---- targets of direct calls (call_targets.c) --------------------------------------------- */

/* Finds the next direct call in `n` bytes of code, from *off on. *target: what it calls, relative
 * to `code`. Moves *off past its first byte (x86), or past it (aarch64). On x86 all bytes that look
 * like a call count, also inside of other instructions; hardly any of these lead to the start of a
 * function. Returns false if there is none, or for other instruction sets. */
bool next_call(enum insn_set set, const uint8_t *code, size_t n, size_t *off, int64_t *target);
/* Finds the greatest address in (low, high] that a direct call of this file leads to. Wrong only if
 * other bytes look like a call of one of these few addresses. Returns false if there is none. */
bool called_start(struct elf_image *img, uint64_t low, uint64_t high, uint64_t *ret);

/* ---- Go's table of functions (go_table.c, go_lines.c) -------------------------------------
 *
 * The Go runtime needs .gopclntab for its own stack traces, so the linker always writes it, also
 * into stripped programs, which have no .eh_frame. Sources of truth: Go's runtime/symtab.go,
 * runtime/runtime2.go (struct _func), runtime/symtabinl.go, cmd/link/internal/ld/pcln.go; "Go 1.2
 * Runtime Symbol Information" for the idea and the encoding of values by pc. */

struct go_layout; /* the differences between versions of Go */

/* Strings and bytes are valid as long as the image. */
struct go_table {
	struct elf_image *img;
	const struct go_layout *layout;
	const uint8_t *data; /* NULL: the file has none, or one of an unknown version */
	size_t size;
	uint64_t text_vaddr; /* base of function addresses */
	uint64_t n_funcs;
	uint64_t names_off, units_off, files_off, pcs_off, funcs_off; /* offsets in data */
	uint64_t funcdata_vaddr; /* base of the offsets of function data; 0: not found */
	uint8_t quantum, ptr_bytes;
};

/* Opens the table of an image, which must outlive it; nothing needs to be freed. Returns false if
 * there is none. */
bool go_table_open(struct go_table *t, struct elf_image *img);

enum go_frame {
	GO_FRAME_NONE,	 /* no Go function, or the table is damaged */
	GO_FRAME_SIZE,	 /* the stack pointer is *size bytes below where it was on entry */
	GO_FRAME_ROOT,	 /* the first function of a goroutine */
	GO_FRAME_THREAD, /* the first function of a thread, unless C code created that */
	GO_FRAME_SWITCH, /* switches stacks: its caller may be on another stack */
	/* As SIZE, but it has switched stacks, and its return address is the pc where the goroutine
	 * was when it called C code, which may be the start of a function. */
	GO_FRAME_CALLBACK,
};

/* Finds the kind of frame at vaddr, and its *size in bytes. Also returns NONE if more than *steps
 * steps would be needed. Subtracts the steps used from *steps; NULL means no limit. */
enum go_frame go_table_find(const struct go_table *t, uint64_t vaddr, uint64_t *steps,
			    uint64_t *size);

/* The function that contains vaddr: its start, and the start of the next one. Returns false if
 * there is none. */
bool go_table_bounds(const struct go_table *t, uint64_t vaddr, uint64_t *start, uint64_t *end);

/* Adds all functions to `tab`. Returns 0, or -1 when out of memory. */
int go_table_functions(const struct go_table *t, struct functab *tab);

/* A function at an address, or one that was inlined there. Fields that are not known are NULL or
 * 0. */
struct go_line {
	const char *name, *file;
	uint32_t line;
	uint32_t start_line; /* first line of the function */
	/* Of an inlined function: where its row of the table of inlined calls is; else 0. */
	uint64_t row_vaddr;
	uint32_t row_bytes;
};

/* The inline chain at vaddr: the innermost inlined function first, the compiled function last.
 * Returns its length. */
size_t go_table_chain(const struct go_table *t, uint64_t vaddr, struct go_line *chain, size_t max);

/* ---- methods of GraalVM's native-image (native_image.c, native_find.c) --------------------
 *
 * Such programs have no call frame information for their Java code, but need the size of each
 * method's frame for stack walks of their own: it is in two arrays of bytes in their heap, the
 * section .svm_heap, also in stripped programs. Sources of truth: com.oracle.svm.core.code,
 * CodeInfoEncoder and CodeInfoDecoder; seen in GraalVM CE 25. Where anything does not fit, nothing
 * is known. Only x86-64. */

/* A zeroed one has no code. Bytes are valid as long as the image. */
struct native_image {
	const uint8_t *index, *encodings; /* each after its length, a u32 */
	uint64_t n_chunks;		  /* of 256 bytes of code */
	uint64_t encodings_bytes;
	uint64_t code_vaddr; /* of the first chunk */
};

struct native_method {
	uint64_t start, end; /* vaddrs */
	int32_t frame_bytes; /* from the stack pointer to the CFA, behind the prologue */
};

/* Finds the code information of an image and checks all of it. Returns false if it has none. Reads
 * all of the heap: to be called once. */
bool native_image_open(struct native_image *t, struct elf_image *img);
/* The method that contains vaddr; false: none does. */
bool native_image_method(const struct native_image *t, uint64_t vaddr, struct native_method *ret);
/* True if there is a map of references for vaddr, as for each return address. */
bool native_image_has_references(const struct native_image *t, uint64_t vaddr);
/* The return addresses by which it was found where the code begins: up to so many, and the calls
 * before them have up to so many bytes. Returns how many. */
enum { NATIVE_RETURNS_MAX = 512, NATIVE_CALL_BYTES = 7 };
size_t native_image_returns(const struct native_image *t, uint64_t *ret);

/* ---- code of JIT compilers (jit_codes.c, jitdump.c) ---------------------------------------
 *
 * A JIT compiler replaces code while the program runs, so the same address may be in another
 * function later. The jitdump files (jit-PID.dump) of the recorded processes say which code was
 * emitted when, and have its lines and call frame information. Two samples are in the same code
 * when jitdump_span() gives the same made_ns for both. Source of truth:
 * tools/perf/Documentation/jitdump-specification.txt. Threads: all functions may be called from any
 * thread. */
struct jit_codes; /* opaque; reads each file once */
struct jitdump;

/* symfs: prefix for all paths; NULL or "": none, and then files in containers that are still
 * running are found, too. Unless trusts_all is set, a file owned by a user other than this one and
 * root is read only if it is the recorded one, by device and inode. Returns 0, or a negative error
 * code with *err. */
int jit_codes_new(struct jit_codes **ret, const char *symfs, bool trusts_all, struct err *err);
/* What the recording carries is used instead of files here; it must outlive `j`. */
void jit_codes_use_bundle(struct jit_codes *j, const struct bundle *bundle);
void jit_codes_free(struct jit_codes *j); /* NULL is allowed */
/* Opens the file (address_space_jitdump()) that process `pid` has mapped. *ret is NULL if it cannot
 * be read or contains no functions; valid until jit_codes_free(). Returns 0, or -ERR_NOMEM. */
int jit_codes_open(struct jit_codes *j, const struct dso *dump, uint32_t pid,
		   const struct jitdump **ret, struct err *err);
/* jit_codes_open() for a sequence of samples, most of which are of the same process as the previous
 * one. Zero-initialize except for `codes`; use it in one thread. *ret is also NULL if the process
 * has no jitdump. */
struct jit_cursor {
	struct jit_codes *codes; /* NULL: no process has a jitdump */
	bool is_known;		 /* the next three are set */
	const struct dso *dso;	 /* NULL: of the recording */
	uint32_t pid;
	const struct jitdump *dump;
	bool memory_is_known; /* the next two are set */
	uint32_t memory_pid;
	const struct jitdump *memory;
};
int jit_cursor_seek(struct jit_cursor *c, const struct perf_sample *s, const struct jitdump **ret,
		    struct err *err);
/* The same for what the recording holds of the process: for jitdump_memory(). */
int jit_cursor_memory(struct jit_cursor *c, const struct perf_sample *s, const struct jitdump **ret,
		      struct err *err);
/* True if the process of the sample has one, or the recording holds code of it. */
bool jit_codes_describe(const struct jit_codes *j, const struct perf_sample *s);
/* Takes a section of code that the recording holds (reader/reader.h): what
 * perf_file_recorded_code() returns, then the feature RUNTIME_CODE_FEATURE. Its bytes must stay.
 * Several jitdumps of a process are one after another; they are unpacked when they are first
 * needed. Call it before other threads use *j. Returns 0, -ERR_NOMEM, or -ERR_DAMAGED or
 * -ERR_UNSUPPORTED with *err: then what comes before is used. */
enum { RUNTIME_CODE_FEATURE = 208 }; /* bit of the recording's header */
int jit_codes_give(struct jit_codes *j, const uint8_t *data, size_t n, struct err *err);
/* What the recording holds of the process; *ret is NULL if there is none. Returns 0 or -ERR_NOMEM.
 */
int jit_codes_recorded(struct jit_codes *j, uint32_t pid, const struct jitdump **ret,
		       struct err *err);
/* True if the file was not read because another user owns it. */
bool jit_codes_distrusts(struct jit_codes *j, const struct dso *dump);
/* The i-th file that ends inside of a record, and the offset where: code emitted later is not in
 * it. Returns false if there are no more. */
struct jit_cut {
	const struct dso *dump;
	uint64_t off;
};
bool jit_codes_cut(const struct jit_codes *j, size_t i, struct jit_cut *ret);
/* Of how many processes what the recording holds was needed, and is damaged. */
size_t jit_codes_damaged(const struct jit_codes *j);
/* Of how many processes what it holds is not read, as all of it would be too large. */
size_t jit_codes_left_out(const struct jit_codes *j);
/* The sums over those that the recording holds and that were needed. */
struct jit_names jit_codes_names(const struct jit_codes *j);
/* True if the file was opened for this process. */
bool jit_codes_used_by(struct jit_codes *j, const struct dso *dump, uint32_t pid);
/* The version of the code at a time: 1 at first, plus one for each piece of code emitted until
 * then. time_ns must be of CLOCK_MONOTONIC (`perf record -k mono`). Returns 0 if the jitdump uses
 * another clock. */
uint32_t jitdump_version(const struct jitdump *d, uint64_t time_ns);
/* The time of a sample for these functions; 0 if the recording uses another clock. */
uint64_t jit_sample_time(const struct perf_sample *s);

/* Records of our own in a jitdump (all numbers little-endian, records as the specification has
 * them); readers that do not know them skip them. runtimes/code_log.c writes them.
 *
 * JIT_RECORD_FRAME, about the code of the next load record: u64 its address, u32 enum
 * jit_frame_kind, u32 bytes from the stack pointer to the caller's (0: not known), u32 offset in
 * the code from which on this holds, u32 number of methods, of scopes, of pcs, u64 method (0:
 * none); the scopes: u32 1 + the scope it is inlined into (0: none), u32 method, u32 line (0: not
 * known); the pcs, rising: u32 offset of the last byte, u32 scope; the methods: name and file,
 * ending in NUL.
 *
 * JIT_RECORD_BYTES: u64 address, a multiple of JIT_PAGE_BYTES, and as many pages of memory as it
 * was there at the record's time, of which no more is known. A page may come again when it has
 * changed.
 *
 * JIT_RECORD_NAMES: u64 each of struct jit_names, of all before; the last one counts. */
enum { JIT_PAGE_BYTES = 4096 };
enum { JIT_RECORD_FRAME = 0x5501, JIT_RECORD_BYTES = 0x5502, JIT_RECORD_NAMES = 0x5503 };
/* Functions of V8 that were read while they ran. */
struct jit_names {
	uint64_t named;
	uint64_t torn;	  /* have no name: what was read did not fit together */
	uint64_t changed; /* had one until they were freed, moved or replaced */
};
enum jit_frame_kind {
	JIT_FRAME_NONE,
	JIT_FRAME_COMPILED, /* a method of HotSpot */
	JIT_FRAME_STUB,	    /* other code of HotSpot */
	/* HotSpot's interpreter: the frame is at the frame pointer, and says which method runs; in
	 * an entry it is being made. */
	JIT_FRAME_INTERPRETER,
	JIT_FRAME_INTERPRETER_ENTRY,
	JIT_FRAME_ADAPTER, /* between the interpreter and compiled code; the caller's record stays
			    */
	/* A stub with a frame record, at the return address from what it called. */
	JIT_FRAME_RECORD,
	JIT_FRAME_BYTECODE, /* no code: what an interpreter frame points to */
	JIT_FRAME_KINDS
};

/* What a JIT compiler wrote about one function. Pointers are valid as long as the jitdump. */
struct jit_unwind_info {
	uint64_t start, end;	 /* runtime addresses of the function */
	const uint8_t *eh_frame; /* contains one FDE */
	size_t size;		 /* size of eh_frame; 0: none */
	bool swap;		 /* not in host byte order */
	const uint8_t *code;	 /* the function's own bytes; NULL: not known */
	/* JIT_RECORD_FRAME; kind JIT_FRAME_NONE: there is none. */
	uint8_t frame_kind;
	uint32_t frame_bytes, complete_bytes;
};
/* Finds this for the function at ip at time_ns, or for the next one that was placed there; time_ns
 * 0: for the last one. Returns false if there is none. */
bool jitdump_unwind_info(const struct jitdump *d, uint64_t ip, uint64_t time_ns,
			 struct jit_unwind_info *ret);
/* made_ns: when the code at ip, in the versions [from, until), was emitted; if there was none yet,
 * when the next code was placed there; one less if it was replaced at that very time. made_ns is 0
 * for version 0, and always if ip only ever had one piece of code, or none. */
struct jit_span {
	uint64_t made_ns;
	uint32_t from, until;
};
struct jit_span jitdump_span(const struct jitdump *d, uint64_t ip, uint32_t version);
/* The function at ip at time_ns, or the first one that was placed there later; time_ns 0: the last
 * one. */
const struct func *jitdump_find(const struct jitdump *d, uint64_t ip, uint64_t time_ns,
				struct func_cursor *cursor);
/* The time when a function returned by jitdump_find() was emitted. */
uint64_t jitdump_made_ns(const struct jitdump *d, const struct func *f);
/* The source line of an address in the function. Returns false if it has none. *file is valid as
 * long as the jitdump. */
bool jitdump_line(const struct jitdump *d, const struct func *f, uint64_t ip, const char **file,
		  uint32_t *line);
/* What the code at ip was inlined into: the innermost method first, the compiled one last. Returns
 * the number of levels; 0: not known. Strings are valid as long as the jitdump. */
struct jit_level {
	const char *name, *file; /* file "": not known */
	uint32_t line;
};
size_t jitdump_chain(const struct jitdump *d, const struct func *f, uint64_t ip,
		     struct jit_level *chain, size_t max);
/* The bytecode of the method that interpreter frames name by this address at time_ns, or of the
 * first one later; time_ns 0: of the last. Returns false if it is not known. */
bool jitdump_bytecode(const struct jitdump *d, uint64_t method, uint64_t time_ns, uint64_t *start,
		      uint64_t *end);
/* Memory of which only the bytes are known: all pages without a gap around an address, as they were
 * when they were read last. Valid as long as the jitdump. */
struct jit_memory {
	uint64_t start;
	size_t n; /* bytes */
	const uint8_t *bytes;
	const uint64_t *replaced; /* a bit for each byte: other code was there before */
};
/* Returns false if the byte at ip is not known, or there was another. */
bool jitdump_memory(const struct jitdump *d, uint64_t ip, struct jit_memory *ret);
/* True if all of these bytes are known and were never others. */
bool jit_memory_is_sure(const struct jit_memory *m, uint64_t ip, size_t n);
bool jitdump_has_memory(const struct jitdump *d);
/* True if it says anything of functions. */
bool jitdump_has_functions(const struct jitdump *d);
/* The number of line entries of all functions together. */
size_t jitdump_line_count(const struct jitdump *d);

#endif

/* modules.h - finds and opens the ELF image and the debug file of a dso.
 *
 * A dso describes what was mapped (path, build id); a module is what was found for it on this
 * machine: the image (machine code, .eh_frame, .symtab) and the debug file (DWARF). Each may be
 * missing, with a reason. Every file is checked against the build id before use, opened once, and
 * lives until modules_free(). Contents of sections are returned uncompressed. Sources of truth: the
 * ELF gABI; GDB manual "Separate Debug Files"; gnu_debuglink, gnu_debugaltlink.
 *
 *	rc = modules_new(&ms, NULL, &err);
 *	m = modules_get(ms, dso);			NULL: out of memory
 *	if (m->image)
 *		p = elf_image_at_vaddr(m->image, vaddr, &left);
 *	else
 *		say(module_miss_text(m->image_miss));
 *	modules_free(ms);				closes all of them
 *
 * Threads: all functions may be called from any thread. */
#ifndef MODULES_MODULES_H
#define MODULES_MODULES_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bundle/bundle.h"
#include "reader/reader.h"

/* The name of a section in files that hold only what a recording needs (cut/). */
#define MODULE_PART_SECTION ".from_recording"
/* There: constants that are in the file, as pairs of u64: vaddr and size, by rising vaddr. */
#define MODULE_CONSTANTS_SECTION ".recorded_constants"

/* ---- one ELF file ------------------------------------------------------------------------ */

struct elf_image; /* opaque */

/* A loadable segment (PT_LOAD), in file order. */
struct elf_segment {
	uint64_t off, vaddr, filesz, memsz;
	uint32_t flags; /* PF_X ... */
};

struct elf_section {
	const uint8_t *data; /* uncompressed contents; NULL for SHT_NOBITS */
	uint64_t size;
	uint64_t vaddr; /* sh_addr */
	uint64_t off;	/* sh_offset */
	uint32_t type;	/* SHT_* */
	uint64_t flags; /* SHF_* */
	uint32_t link, info;
	uint64_t entsize;
	uint32_t index;
	uint64_t align; /* sh_addralign */
};

/* Opens and maps a file, and validates its headers (32 and 64 bit, both byte orders). What the
 * functions below return of an image lives until elf_image_close(). Returns 0, or a negative value
 * with *err. */
int elf_image_open(struct elf_image **ret, const char *path, struct err *err);
/* Like elf_image_open(), from memory, which is copied. `name` is for messages. */
int elf_image_open_memory(struct elf_image **ret, const void *data, size_t size, const char *name,
			  struct err *err);
void elf_image_close(struct elf_image *img);
/* Opens the mapped file again, for libraries that want a file: returns a descriptor, which the
 * caller closes; -1 if the image is not from a file, or its path is another file by now. */
int elf_image_reopen(const struct elf_image *img);

const char *elf_image_path(const struct elf_image *img);
/* Like elf_image_open(), for a file that `by` names, or that is beside it: opens nothing outside of
 * the root that `by` was opened below (/proc/PID/root, --symfs). */
int elf_image_open_named(struct elf_image **ret, const struct elf_image *by, const char *path,
			 struct err *err);
bool elf_image_is_64(const struct elf_image *img);
bool elf_image_swapped(const struct elf_image *img);	 /* other byte order than this machine */
uint16_t elf_image_machine(const struct elf_image *img); /* EM_* */
uint16_t elf_image_type(const struct elf_image *img);	 /* ET_* */
/* The vaddr where the program, or the dynamic linker, begins; 0: this file is not started. Also 0
 * for shared objects without a dynamic section: perf inject --jit writes such files, with the
 * address of the code as their entry. */
uint64_t elf_image_entry(const struct elf_image *img);
const struct build_id *elf_image_build_id(const struct elf_image *img);
/* When the file was written, in nanoseconds since 1970; 0 if the image is not a file of its own. */
uint64_t elf_image_mtime_ns(const struct elf_image *img);
/* Returns the number of segments; *ret is the first. */
size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **ret);
/* The whole file as mapped. */
const uint8_t *elf_image_bytes(const struct elf_image *img, size_t *size);

/* Finds a section by name, also ".debug_x" stored as ".zdebug_x". Compressed contents
 * (SHF_COMPRESSED with zlib or zstd) are inflated at the first request and kept until close, unless
 * they, or those of all sections together, would be more than 32 times as large as the file and
 * more than 16 MiB. Returns false if the section is absent, damaged or too large (*why, if not
 * NULL, is then ERR_NOT_FOUND, ERR_DAMAGED, ERR_LIMIT or ERR_NOMEM). */
bool elf_image_section(struct elf_image *img, const char *name, struct elf_section *ret,
		       enum err_code *why);
/* Name of the first section that was refused as too large; NULL: none. Lives until close. */
const char *elf_image_refused(struct elf_image *img);
/* grew() is called while a section is inflated, on the thread that asked for it: the first `done`
 * of `size` bytes at `data` are final and live until close. Their checksum has not been verified
 * and the rest may turn out to be missing, so anything derived from them is valid only once the
 * section has been returned. */
struct elf_watch {
	void (*grew)(void *arg, const uint8_t *data, uint64_t done, uint64_t size);
	void *arg;
};
/* elf_image_section() with a watcher. grew() is not called for sections that are not compressed,
 * cannot be inflated in steps (zstd), or are being inflated by another thread. */
bool elf_image_section_watched(struct elf_image *img, const char *name,
			       const struct elf_watch *watch, struct elf_section *ret,
			       enum err_code *why);
/* A half-open range, in bytes of a section's contents. */
struct elf_range {
	uint64_t start, end;
};
/* For watchers, during inflation or after it: releases the memory of the range `what` of a section,
 * except for the n ranges in `keep`. Released memory reads as zeros until the section is requested
 * again, which inflates all of it again, to the same place. No thread may be reading memory while
 * it is released, nor any of the section while it is inflated again. */
void elf_image_section_let_go(struct elf_image *img, const char *name, struct elf_range what,
			      const struct elf_range *keep, size_t n);
size_t elf_image_section_count(const struct elf_image *img);
/* A section by index, not inflated: data is NULL if it is compressed. */
bool elf_image_section_at(struct elf_image *img, size_t index, const char **name,
			  struct elf_section *ret);
/* The first program header of a type (PT_GNU_EH_FRAME ...). */
bool elf_image_phdr(const struct elf_image *img, uint32_t type, Elf64_Phdr *ret);
/* The bytes at a vaddr, from the file contents of its segment; *left is how many follow in that
 * segment. NULL if vaddr is not in the file part of any segment. */
const uint8_t *elf_image_at_vaddr(const struct elf_image *img, uint64_t vaddr, size_t *left);
/* Convert between file offset and vaddr through PT_LOAD. An offset may be in the page padding
 * around a segment, as mmap shows it. Return false if no segment covers it. */
bool elf_image_off_to_vaddr(const struct elf_image *img, uint64_t off, uint64_t *ret);
bool elf_image_vaddr_to_off(const struct elf_image *img, uint64_t vaddr, uint64_t *ret);

/* ---- modules ----------------------------------------------------------------------------- */

/* X(name, text for people) */
#define MODULE_MISSES(X)                                          \
	X(NONE, "found")                                          \
	X(NO_FILE, "no such file")                                \
	X(BUILD_ID_DIFFERS, "build id differs")                   \
	X(NO_BUILD_ID, "no build id was recorded")                \
	X(PERMISSION, "permission denied")                        \
	X(UNREADABLE, "cannot be read")                           \
	X(NOT_ELF, "not an ELF file")                             \
	X(NOT_A_FILE, "not backed by a file")                     \
	X(CHANGED, "file is newer than the recording")            \
	X(OTHER_CODE, "its code is not what was recorded")        \
	X(STRIPPED, "stripped, and no separate debug file found") \
	X(CRC_DIFFERS, "debuglink checksum differs")              \
	X(NO_CODE, "a debug file, without code")                  \
	X(OTHER_MACHINE, "it is for another processor")           \
	X(NOT_TRUSTED, "belongs to another user")                 \
	X(DAMAGED, "damaged ELF file")

#define X(name, text) MODULE_MISS_##name,
enum module_miss { MODULE_MISSES(X) MODULE_MISS_N };
#undef X
const char *module_miss_text(enum module_miss m);

/* The result of asking debuginfod servers for a file. X(name, text for people) */
#define FETCH_RESULTS(X)                                    \
	X(OFF, "network off")                               \
	X(NOT_ASKED, "not asked")                           \
	X(DONE, "fetched")                                  \
	X(NOT_FOUND, "not found (404)")                     \
	X(TIMEOUT, "timeout")                               \
	X(HTTP_ERROR, "http error")                         \
	X(BROKEN, "connection failed or broke off")         \
	X(NOT_ELF, "the answer is something else, or cut")  \
	X(BUILD_ID_DIFFERS, "build id differs")             \
	X(UNUSABLE, "of no use")                            \
	X(TOO_LARGE, "too large")                           \
	X(NO_SECTIONS, "the server gives whole files only") \
	X(SKIPPED, "skipped")                               \
	X(NO_SERVER, "no server answers")                   \
	X(NO_URLS, "no server to ask")                      \
	X(NO_CACHE, "cannot write to the cache")            \
	X(NO_LIBRARY, "libdebuginfod.so.1 cannot be loaded")

#define X(name, text) FETCH_##name,
enum fetch_result { FETCH_RESULTS(X) FETCH_N };
#undef X
const char *fetch_result_text(enum fetch_result r);

/* Base of what a later stage stores with a module; modules_free() only calls done(). */
struct module_state {
	void (*done)(struct module_state *state);
};

struct module {
	const struct dso *dso;
	struct elf_image *image; /* what was mapped; NULL: see image_miss */
	/* CHANGED also with an image: the file was replaced since the recording. */
	enum module_miss image_miss;
	struct elf_image
		*debug; /* has .debug_info or a larger .symtab; may be the image; else NULL */
	enum module_miss debug_miss;
	struct elf_image *alt;	   /* file of dwz(1) that debug refers to; NULL: none */
	enum module_miss alt_miss; /* why alt is NULL, if debug refers to one */
	/* Names in .gnu_debuglink of image and .gnu_debugaltlink of debug, borrowed from their
	 * sections; NULL: there is none, or it was not needed. */
	const char *debug_link, *alt_link;
	struct elf_image *mini; /* .gnu_debugdata of image, unpacked; NULL: none */
	struct module_state
		*_Atomic unwind_state; /* NULL until unwind/ sets it, once, by compare-and-swap */
	/* Results of asking servers for the image, the debug file and its alt file. */
	enum fetch_result image_fetch, debug_fetch, alt_fetch;
};

struct modules; /* opaque */

/* Progress of a transfer, the end of one, or the result of all transfers for a module. */
struct fetch_event {
	enum { FETCH_EVENT_RUNS, FETCH_EVENT_ENDED, FETCH_EVENT_MODULE } what;
	const struct dso *dso;
	size_t rank, n_ranks;  /* of the dso in modules_fetch(), from 1; 0: asked for on demand */
	const char *file;      /* "executable", "debuginfo", ".symtab" ...; NULL for a module */
	uint64_t bytes, total; /* so far; total 0: unknown yet */
	uint64_t elapsed_ms;
	enum fetch_result result; /* not for FETCH_EVENT_RUNS */
	/* For FETCH_EVENT_MODULE a line of module_tried(): what was refused although the module was
	 * fetched in the end (or NULL), else the last line about servers. */
	const char *note;
};

/* The listener's answer; FETCH_SKIP_THIS is for a running transfer. */
enum fetch_answer { FETCH_GO_ON, FETCH_SKIP_THIS, FETCH_SKIP_ALL };

/* Files are fetched from the servers in DEBUGINFOD_URLS through libdebuginfod.so.1, into the cache
 * that it shares with other tools, at most four at a time. They are checked before use. A server
 * that failed twice in a row is not asked again. */
struct fetch_options {
	/* Called several times a second for each transfer, at its end, and at the end of a module;
	 * from any thread, but never from two at once. May be NULL. */
	enum fetch_answer (*listener)(void *arg, const struct fetch_event *event);
	void *arg;
};

struct modules_options {
	const char *symfs;	       /* prefix for all paths; NULL or "" for none */
	const char *const *debug_dirs; /* besides /usr/lib/debug; NULL-terminated; may be NULL */
	const char *buildid_dir;       /* NULL: $PERF_BUILDID_DIR, ~/.debug */
	bool no_debuginfod_cache;
	/* When the recording was last written, in seconds since 1970; 0: unknown. A file without
	 * build id that was written later is CHANGED. */
	int64_t recorded_s;
	/* Of the recording; NULL: unknown. Without a recorded build id the vDSO is that of
	 * /lib/modules/os_release/vdso, or this process's if that release runs here. */
	const char *os_release;
	/* Its machine, as uname(2) spells it; NULL: unknown. Files for others are not used. */
	const char *arch;
	const struct fetch_options *fetch; /* NULL: the network is not used */
	/* What the recording carries, which must outlive the modules; NULL: nothing. Files here
	 * that have the recorded build id come before it; of files without build id only the one
	 * in there is taken. */
	const struct bundle *bundle;
	/* Of a recorder: a descriptor of the file that was mapped, which it keeps; -1: none.
	 * *changed is set if the file was written to since. It is asked first, from any thread.
	 * NULL: there is no recorder. */
	int (*pinned)(void *arg, const struct dso *dso, bool *changed);
	void *pinned_arg;
};

/* `opt` may be NULL; it is copied. The environment (HOME, caches) is read here, once. With `fetch`
 * this starts worker processes for libdebuginfod, so it must be called before there are threads;
 * modules_free() ends them. Returns 0, or a negative value with *err. */
int modules_new(struct modules **ret, const struct modules_options *opt, struct err *err);
void modules_free(struct modules *m);

/* Where fetched files are kept; "" for nowhere. The caller frees it; NULL: out of memory. */
char *modules_fetch_dir(void);

/* Starts a process that does the fetching of this process from now on, in a sandbox of its own
 * (base/sandbox.h) with sockets and nothing to write to but modules_fetch_dir(). To be called
 * before this process gives up its sockets, and before there are threads; later calls do nothing.
 * Returns 0, or negative with *err. */
int modules_fetch_apart(struct err *err);

/* For perf_file_options.part_of: true if the file is an archive (ZIP, Android's APK) that holds an
 * ELF file where the mapping is, uncompressed. ret->path lives as long as the modules; a dso with
 * that path is found as any other. */
bool modules_part(struct modules *m, const struct map_source *src, struct map_part *ret);
/* Where such a file was found in its archive, by the path of its dso. Returns false for others. */
bool modules_part_range(struct modules *m, const char *path, struct map_part *ret);
/* The prefix for all paths; "" for none. */
const char *modules_symfs(const struct modules *m);
/* What the recording carries; NULL: nothing. */
const struct bundle *modules_bundle(const struct modules *m);
/* Where perf keeps copies of files, and symbol lists of kernels; "" for nowhere. */
const char *modules_buildid_dir(const struct modules *m);

/* The module of a dso, which must outlive it. Opened at the first call; that it is missing is
 * remembered, too. Returns NULL when out of memory, and from then on for every dso: so callers that
 * cannot return an error may ignore it, because other callers will report it. With `fetch`, an
 * image that is missing here is fetched in this call, because unwinding needs it. The debug file is
 * searched for only by module_debug(). */
struct module *modules_get(struct modules *m, const struct dso *dso);
/* Tells that the code of a file without build id is not what was recorded: from now on there is no
 * image, and image_miss is OTHER_CODE. For one thread, before names are looked up. */
void module_reject(struct module *m);
/* Searches for the separate debug file (build-id directories, debuglink, ~/.debug, debuginfod
 * cache), once. Never uses the network. Returns false when out of memory, and from then on always.
 */
bool module_debug(struct modules *m, struct module *mod);

/* How much of a debug file to fetch. */
enum fetch_tier {
	FETCH_TIER_BINARY, /* no debug file: only the image, if it is missing here */
	FETCH_TIER_SYM,	   /* symbol table */
	FETCH_TIER_LINE,   /* symbol table and line table */
	FETCH_TIER_FULL,   /* the whole debug file */
};

struct fetch_want {
	const struct dso *dso;
	enum fetch_tier tier;
};

/* Fetches what the modules of these dsos lack, in this order, four at a time, and adds it to the
 * modules. Nothing else may use the modules meanwhile, so it must be called between stages. Does
 * nothing without `fetch`. Files that could not be fetched are not an error: see debug_fetch,
 * module_tried(). Returns 0, or a negative value when out of memory. */
int modules_fetch(struct modules *m, const struct fetch_want *wants, size_t n, struct err *err);
/* Does the module lack names of local functions, and can servers be asked by its build id? */
bool module_wants_fetch(const struct module *mod);

/* A place that was searched for this module, for --explain: "path: reason". */
struct module_tried {
	const char *text;	 /* lives as long as the module */
	bool by_servers;	 /* a server was asked; else it is a file */
	bool is_recorded;	 /* it is in the bundle of the recording */
	enum module_miss why;	 /* of a file: why it was not used; NONE: it was used */
	enum fetch_result fetch; /* of a server: the result */
};
size_t module_tried_count(const struct module *mod);
struct module_tried module_tried(const struct module *mod, size_t i);
/* Hands out the lines about files in the bundle that cannot be used, or not all of it. Nothing else
 * may use the modules meanwhile. */
void modules_each_damaged(const struct modules *m, void (*say)(void *arg, const char *line),
			  void *arg);

/* The ELF address of a file offset, or of a runtime address in a map; by segment, so also right for
 * files whose text segment is not congruent to its offset. If there is only the debug file (found
 * by module_debug()), works for code for which the recorded map shows the segment. Returns false if
 * there is neither file, or the address is outside of any segment. */
bool module_off_to_vaddr(const struct module *mod, uint64_t off, uint64_t *ret);
/* Of modules with one build id, which can be given to the linker: is it known that their code
 * differs, or where it lies? */
bool module_has_other_code(const struct module *a, const struct module *b);
bool module_ip_to_vaddr(const struct module *mod, const struct map *map, uint64_t ip,
			uint64_t *ret);

#endif

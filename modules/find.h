/* find.h - where the files of a module may lie, and the check before one is used. Private to
 * modules/. */
#ifndef MODULES_FIND_H
#define MODULES_FIND_H

#include <link.h>
#include <pthread.h>

#include "base/hash.h"
#include "base/vec.h"
#include "modules/modules.h"

#define PLACES_DIRS_MAX 16 /* debug directories given by the user */

/* Roots of the search, fixed when the modules are made. All strings are owned. */
struct search_path {
	char *symfs;			       /* "" when there is none */
	char *debug_dirs[PLACES_DIRS_MAX + 2]; /* NULL-terminated, the system's last */
	char *buildid_dir;		       /* "" when not to be looked at */
	char *debuginfod_dir;		       /* "" when not to be looked at */
	char *os_release;		       /* of the recording; "" when unknown */
	int64_t recorded_s;
};

/* Images by path: common (dwz) files are shared by many modules. */
struct image_cache {
	pthread_mutex_t lock;
	struct hash_table by_path; /* hash of the path -> index of the first entry with that hash */
	VEC(struct elf_image *) images;
};

struct module_entry {
	struct module m; /* first: a struct module * of the API is this */
	pthread_mutex_t lock;
	bool opened, image_asked, debug_looked_for; /* guarded by lock, like all that follows */
	bool skipped;				    /* the user does not want to wait for it */
	char root[32]; /* of the container that the image was found in: "/proc/PID/root"; "" */
	VEC(struct module_tried) tried; /* texts are owned */
};

struct finder {
	const struct search_path *dirs;
	struct image_cache *cache;
	struct module_entry *entry;
	enum module_miss miss; /* the most specific failure so far */
	bool nomem;
	struct debuginfod *servers; /* NULL: not to be asked here */
	/* For the listener: place of the module among those to be fetched; what they sent; the last
	 * line about them. */
	size_t rank, n_ranks;
	uint64_t fetched_bytes, fetch_ms;
	const char *fetch_note, *refused_note; /* refused: the last line about what was not used */
};

/* What a file must fulfil to be used. */
struct file_check {
	const struct build_id *id; /* wanted; size 0: unknown */
	bool must_match_id;	   /* refuse when id is unknown, or the file has none */
	bool wants_debug;	   /* must have .debug_info or .symtab */
	bool is_supplement;	   /* may have its id in .debug_sup */
	bool wants_code;	   /* must not be a debug file */
	bool wants_all;		   /* its section table must be there, and all contents */
	const uint32_t *crc; /* debuglink: decides when the build ids do not; NULL: no such check */
};

/* Opens, checks, notes the place with the outcome. NULL when refused. The image belongs to the
 * cache. */
struct elf_image *finder_try(struct finder *f, const struct file_check *check, const char *path);
/* The same for what was opened already. */
struct elf_image *finder_try_fd(struct finder *f, const struct file_check *check, int fd,
				const char *path);
/* The same for a file of debuginfod's cache, named as in struct debuginfod_query; such a file must
 * be whole. */
struct elf_image *finder_try_cache(struct finder *f, const struct file_check *check,
				   const char *file);
/* The same for a path made as by printf; too long a path counts as absent. */
struct elf_image *finder_tryf(struct finder *f, const struct file_check *check, const char *fmt,
			      ...) __attribute__((format(printf, 3, 4)));
/* Adds "place: reason" to the list of the module, and the reason to the verdict. */
void finder_note(struct finder *f, const char *place, enum module_miss miss, const char *detail);
/* Likewise for a file that could not be opened. */
void finder_note_error(struct finder *f, const char *path, const struct err *err);
/* Likewise for what servers were asked for. */
void finder_note_fetch(struct finder *f, const char *file, enum fetch_result r, const char *detail);
/* Hands a made image over to the cache under its own path. False, and closed, when out of memory.
 */
bool image_cache_add(struct image_cache *c, struct elf_image *img);
void image_cache_done(struct image_cache *c);

/* Lower-case hex with a '/' after the first byte when `split`, as build-id directories have it. */
#define BUILD_ID_TEXT_MAX (2 * BUILD_ID_MAX + 2)
const char *build_id_text(const struct build_id *id, bool split, char out[BUILD_ID_TEXT_MAX]);

/* The image as the process that mapped it sees it: in its container, or deleted since.
 * (find_process.c) */
struct elf_image *find_in_process(struct finder *f);
/* The image of the dso. NULL and f->miss when there is none. */
struct elf_image *find_image(struct finder *f);
/* Fills debug, alt and mini of the module. */
void find_debug(struct finder *f);
/* The common file of dwz that `debug` names; NULL when it names none or there is none. */
struct elf_image *find_alt(struct finder *f, struct elf_image *debug);
/* The build id that debug files of the module must have; size 0: not known. */
const struct build_id *find_wanted_id(const struct module *m);

/* ---- from servers (debuginfod_module.c, debuginfod_sections.c) ----------------------------- */

/* Is it something that servers can be asked for, which are asked by build id? */
bool fetch_is_possible(const struct module *m);
/* One file, into the cache, by the way of all queries for a module. */
enum fetch_result fetch_to_cache(struct finder *f, const struct build_id *id, const char *file);
/* One file, opened and checked like those that are found. NULL and *r when it cannot be had. */
struct elf_image *fetch_file(struct finder *f, const struct file_check *check, const char *file,
			     enum fetch_result *r);
/* The image of the dso; NULL when it cannot be had. Sets image_fetch. */
struct elf_image *fetch_image(struct finder *f);
/* Are local functions named by nothing? */
bool module_lacks_symbols(const struct module *m);
/* Has the module all that the tier gives? */
bool fetch_is_needless(const struct module *m, enum fetch_tier tier);
/* Fills debug and alt of the module as far as they can be had. Sets debug_fetch. */
void fetch_debug(struct finder *f, enum fetch_tier tier);
/* A debug file with this build id and no more than the symbol table and, by tier, the line table,
 * made of single sections: out of the cache, or with f->servers from them. *r is DONE, or what it
 * lacks, or why there is none. */
struct elf_image *fetch_sections(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 enum fetch_result *r);
/* Came something that is not what was asked for? */
bool fetch_was_refused(enum fetch_result r);
/* This process's own vDSO, which the caller closes; *ret is NULL when there is none. 0 or a
 * negative error. */
int vdso_of_this_process(struct elf_image **ret);

int search_path_init(struct search_path *p, const struct modules_options *opt);
void search_path_done(struct search_path *p);

#endif

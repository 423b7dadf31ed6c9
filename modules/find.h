/* find.h - the places where the files of a module are searched for, and the checks before a file is
 * used. Private to modules/. */
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
	char *debug_dirs[PLACES_DIRS_MAX + 2]; /* NULL-terminated; the system's directory last */
	char *buildid_dir;		       /* "" if it is not to be searched */
	char *debuginfod_dir;		       /* "" if it is not to be searched */
	char *os_release;		       /* of the recording; "" when unknown */
	char *arch;			       /* the same */
	int64_t recorded_s;
	const struct bundle *bundle; /* borrowed; NULL: none */
	int (*pinned)(void *arg, const struct dso *dso, bool *changed);
	void *pinned_arg;
};

/* Images by path: common (dwz) files are shared by many modules. */
struct image_cache {
	pthread_mutex_t lock;
	struct hash_table by_path; /* hash of the path -> index of the first entry with that hash */
	VEC(struct elf_image *) images;
};

/* Files that were mapped as code, and which of them are archives. */
struct part_cache {
	pthread_mutex_t lock;
	struct hash_table by_path; /* 1 + index in archives; 0: no archive */
	VEC(struct archive *) archives;
};

struct module_entry {
	struct module m; /* first: a struct module * of the API is this */
	pthread_mutex_t lock;
	bool opened, image_asked, debug_looked_for; /* guarded by lock, like all that follows */
	bool skipped;				    /* the user does not want to wait for it */
	/* The container's root that the image was found below: "/proc/PID/root", or "". */
	char root[32];
	VEC(struct module_tried) tried; /* the texts are owned */
};

struct finder {
	const struct search_path *dirs;
	struct image_cache *cache;
	struct module_entry *entry;
	enum module_miss miss; /* the most specific failure so far */
	bool nomem;
	bool in_bundle;		    /* what is noted is about a file that the recording carries */
	struct debuginfod *servers; /* NULL: servers are not to be asked here */
	/* For the listener: rank of the module among those to be fetched; bytes received, and how
	 * long that took; the last line about servers. */
	size_t rank, n_ranks;
	uint64_t fetched_bytes, fetch_ms;
	/* Refused_note: the last line about something fetched that was not used. */
	const char *fetch_note, *refused_note;
};

/* The conditions for a file to be used. */
struct file_check {
	const struct build_id *id; /* wanted; size 0: unknown */
	bool must_match_id;	   /* refuse the file if id is unknown, or the file has none */
	bool wants_debug;	   /* must have .debug_info or .symtab */
	bool is_supplement;	   /* may have its id in .debug_sup */
	bool wants_code;	   /* must not be a debug file */
	bool wants_all;		   /* must have its section table and all contents */
	const uint32_t *crc; /* of .gnu_debuglink: decides if build ids do not; NULL: not checked */
};

/* Opens and checks a file, and notes its path, made as by printf, with the outcome; a path that is
 * too long counts as absent. Returns NULL if the file is refused. The image is owned by the cache.
 */
struct elf_image *finder_tryf(struct finder *f, const struct file_check *check, const char *fmt,
			      ...) __attribute__((format(printf, 3, 4)));
/* Like finder_tryf(), for a file that is open already. */
struct elf_image *finder_try_fd(struct finder *f, const struct file_check *check, int fd,
				const char *path);
/* Like finder_tryf(), for a file of debuginfod's cache, named as in struct debuginfod_query. The
 * file must be whole. */
struct elf_image *finder_try_cache(struct finder *f, const struct file_check *check,
				   const char *file);
/* Adds "place: reason" to the list of the module. The reason may become f->miss. */
void finder_note(struct finder *f, const char *place, enum module_miss miss, const char *detail);
/* Like finder_note(), for a file that could not be opened. */
void finder_note_error(struct finder *f, const char *path, const struct err *err);
/* Like finder_note(), for a file that servers were asked for. */
void finder_note_fetch(struct finder *f, const char *file, enum fetch_result r, const char *detail);
/* Is an image for the processor of the recording, or one of its kind? */
bool finder_fits_machine(const struct finder *f, const struct elf_image *img);
/* Passes an image that was made in memory to the cache, under its own path. When out of memory,
 * closes it and returns false. */
bool image_cache_add(struct image_cache *c, struct elf_image *img);
void image_cache_done(struct image_cache *c);

/* Lower-case hex with a '/' after the first byte when `split`, as build-id directories have it. */
#define BUILD_ID_TEXT_MAX (2 * BUILD_ID_MAX + 2)
const char *build_id_text(const struct build_id *id, bool split, char out[BUILD_ID_TEXT_MAX]);

/* See modules_part(). */
bool part_of(struct part_cache *c, const struct search_path *p, const struct map_source *src,
	     struct map_part *ret);
bool part_range(struct part_cache *c, const struct search_path *p, const char *path,
		struct map_part *ret);
void part_cache_done(struct part_cache *c);

/* find_process.c: the image as the process that mapped it sees it: in its container, or although it
 * was deleted since. */
struct elf_image *find_in_process(struct finder *f);
/* Has an open file the inode of a dso, but got it when that was gone? False, too, where the
 * recording or the file system cannot tell. */
bool finder_is_other_generation(const struct dso *dso, int fd);
/* find_recorded.c: the image, and a file with symbols or DWARF of a build id (size 0: of the dso),
 * that the recording carries; NULL: none. */
struct elf_image *find_recorded(struct finder *f);
struct elf_image *find_recorded_debug(struct finder *f, const struct build_id *id);
/* The image of the dso. If there is none, returns NULL and f->miss is the reason. */
struct elf_image *find_image(struct finder *f);
/* Sets debug, alt and mini of the module. */
void find_debug(struct finder *f);
/* The file of dwz that `debug` names. Returns NULL if it names none, or the file is missing. */
struct elf_image *find_alt(struct finder *f, struct elf_image *debug);
/* The build id that debug files of the module must have; size 0: unknown. */
const struct build_id *find_wanted_id(const struct module *m);

/* ---- from servers (debuginfod_module.c, debuginfod_sections.c) ----------------------------- */

/* Can servers be asked for the module's files? They are asked by build id. */
bool fetch_is_possible(const struct module *m);
/* Fetches one file into the cache. All queries for a module go through this function. */
enum fetch_result fetch_to_cache(struct finder *f, const struct build_id *id, const char *file);
/* Fetches one file, opens it and checks it like those that are found. Returns NULL and sets *r if
 * it cannot be fetched. */
struct elf_image *fetch_file(struct finder *f, const struct file_check *check, const char *file,
			     enum fetch_result *r);
/* Fetches the image of the dso; NULL if it cannot be fetched. Sets image_fetch. */
struct elf_image *fetch_image(struct finder *f);
/* Does the module have no names for local functions? */
bool module_lacks_symbols(const struct module *m);
/* Does the module have everything that the tier would fetch? */
bool fetch_is_needless(const struct module *m, enum fetch_tier tier);
/* Fetches debug and alt of the module, as far as servers have them. Sets debug_fetch. */
void fetch_debug(struct finder *f, enum fetch_tier tier);
/* Makes a debug file with this build id from single sections: the symbol table and, by tier, the
 * line table. Takes them from the cache or, if f->servers is set, from servers. *r is DONE, or the
 * reason why there is no file or a part of it is missing. */
struct elf_image *fetch_sections(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 enum fetch_result *r);
/* Did servers send something else than was asked for? */
bool fetch_was_refused(enum fetch_result r);
/* Opens this process's own vDSO; the caller closes it. *ret is NULL if there is none. Returns 0 or
 * a negative error. */
int vdso_of_this_process(struct elf_image **ret);

int search_path_init(struct search_path *p, const struct modules_options *opt);
void search_path_done(struct search_path *p);

#endif

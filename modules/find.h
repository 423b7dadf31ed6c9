/* find.h - where the files of a module may lie, and the check before one is used. Private to
 * modules/. */
#ifndef MODULES_FIND_H
#define MODULES_FIND_H

#include <limits.h>
#include <link.h>
#include <pthread.h>

#include "base/hash.h"
#include "base/vec.h"
#include "modules/modules.h"

#define PLACES_DIRS_MAX 16 /* debug directories given by the user */

/* Roots of the search, fixed when the modules are made. All strings are owned. */
struct places {
	char *symfs;			       /* "" when there is none */
	char *debug_dirs[PLACES_DIRS_MAX + 2]; /* NULL-terminated, the system's last */
	char *buildid_dir;		       /* "" when neither it nor a home is known */
	char *debuginfod_dir;		       /* "" when not to be looked at */
	char *os_release;		       /* of the recording; "" when unknown */
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
	bool opened, debug_looked_for; /* guarded by lock, like all that follows */
	VEC(char *) tried;
};

struct finder {
	const struct places *places;
	struct image_cache *cache;
	struct module_entry *entry;
	enum module_miss miss; /* the most telling failure so far */
	bool nomem;
};

/* What a file must fulfil to be used. */
struct file_check {
	const struct build_id *id; /* wanted; size 0: unknown */
	bool must_match_id;	   /* refuse when id is unknown, or the file has none */
	bool wants_debug;	   /* must have .debug_info or .symtab */
	const uint32_t *crc; /* debuglink: decides when the build ids do not; NULL: no such check */
};

/* Opens, checks, notes the place with the outcome. NULL when refused. The image belongs to the
 * cache. */
struct elf_image *finder_try(struct finder *f, const struct file_check *check, const char *path);
/* The same for a path made as by printf; too long a path counts as absent. */
struct elf_image *finder_tryf(struct finder *f, const struct file_check *check, const char *fmt,
			      ...) __attribute__((format(printf, 3, 4)));
/* Adds "place: reason" to the list of the module, and the reason to the verdict. */
void finder_note(struct finder *f, const char *place, enum module_miss miss, const char *detail);
/* Hands a made image over to the cache under its own path. False, and closed, when out of memory.
 */
bool image_cache_add(struct image_cache *c, struct elf_image *img);
void image_cache_done(struct image_cache *c);

bool build_id_equal(const struct build_id *a, const struct build_id *b);
/* Lower-case hex with a '/' after the first byte when `split`, as build-id directories have it. */
#define BUILD_ID_TEXT_MAX (2 * BUILD_ID_MAX + 2)
const char *build_id_text(const struct build_id *id, bool split, char out[BUILD_ID_TEXT_MAX]);

/* The image of the dso. NULL and f->miss when there is none. */
struct elf_image *find_image(struct finder *f);
/* Fills debug, alt and mini of the module. */
void find_debug(struct finder *f);
/* This process's own vDSO; NULL when there is none. The caller closes it. */
struct elf_image *vdso_of_this_process(void);

int places_init(struct places *p, const struct modules_options *opt);
void places_done(struct places *p);

#endif

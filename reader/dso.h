/* dso.h - the table of distinct pieces of code, and the build ids known by path. Private to
 * reader/. */
#ifndef READER_DSO_H
#define READER_DSO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/reader.h"

/* Describes a dso that may not be in the table yet; its strings are copied when it is added. */
struct dso_key {
	enum dso_kind kind;
	const char *path;
	uint32_t pid;	   /* DSO_ANON */
	uint64_t began_ns; /* DSO_ANON */
	/* mapped_by, code_off and code_size are not part of the identity. */
	uint32_t mapped_by;
	uint64_t code_off, code_size;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	struct build_id build_id;
};

struct dso_entry;

struct dso_named_id {
	struct build_id id;
	bool ambiguous; /* the header has several ids for this path, so none is used */
};

/* A zeroed table is ready. */
struct dso_table {
	struct arena arena;
	VEC(struct dso_entry *) entries;
	struct hash_table index; /* hash of the identity -> entries */
	struct strtab named_paths;
	VEC(struct dso_named_id) named_ids; /* by id of named_paths */
};

/* Adds a build id for all dsos of this path whose records have none. Returns 0, or -1 when out of
 * memory. */
int dso_table_add_id(struct dso_table *t, const char *path, const struct build_id *id);
/* Finds the dso or adds it; NULL when out of memory. A dso is never changed: a build id that is
 * added by path afterwards applies only to dsos made later. */
const struct dso *dso_table_get(struct dso_table *t, const struct dso_key *key);
const struct dso *dso_table_at(const struct dso_table *t, size_t i);
void dso_table_done(struct dso_table *t);

/* The kind of a user mapping with this name. */
enum dso_kind dso_kind_user(const char *path, uint32_t map_flags);
/* The kind of a kernel mapping with this name: DSO_KERNEL or DSO_KERNEL_MODULE. */
enum dso_kind dso_kind_kernel(const char *path);

#define DSO_KERNEL_PATH	      "[kernel.kallsyms]"
#define DSO_GUEST_KERNEL_PATH "[guest.kernel.kallsyms]"
/* perf's name, in its build id table, for the vDSO of 32-bit tasks on a 64-bit kernel. The kernel
 * calls both [vdso]. */
#define DSO_VDSO32_PATH "[vdso32]"

#endif

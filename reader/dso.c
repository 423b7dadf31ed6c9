/* dso.c - which mappings show the same code, and what kind of code it is. */
#include "reader/dso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"

/* Limit on files that have the same path and inode, one after the other, and are distinguished.
 * They are in one chain, which a hostile recording could make long. */
#define GENERATIONS_MAX 16

struct dso_entry {
	struct dso dso;
	uint64_t generation; /* as dso.ino_generation, or learned later */
};

/* ---- kinds ------------------------------------------------------------------------------- */

/* Names that the kernel (perf_event_mmap_event(), d_path()) and readers of /proc/PID/maps give to
 * mappings without a file. The first match counts. A name that matches none is a file if it starts
 * with a slash. */
static const struct {
	const char *name;
	bool prefix;
	enum dso_kind kind;
} user_kinds[] = {
	{"", false, DSO_ANON},
	{"//anon", false, DSO_ANON},
	{"[anon:", true, DSO_ANON}, /* PR_SET_VMA_ANON_NAME */
	{"[anon]", false, DSO_ANON},
	{"[heap]", false, DSO_ANON},
	{"[stack", true, DSO_ANON}, /* also [stack:TID] of Linux 3.4 to 4.4 */
	{"/anon_hugepage", true, DSO_ANON},
	{"/dev/zero", true, DSO_ANON},
	{"/SYSV", true, DSO_ANON}, /* shmget() */
	/* Memory that JIT compilers map twice, for writing and for execution: .NET, asmjit
	 * (Erlang), QEMU, Android's runtime. Other memfds may hold ELF files. */
	{"/memfd:doublemapper", true, DSO_ANON},
	{"/memfd:vmem", true, DSO_ANON},
	{"/memfd:tcg-jit", true, DSO_ANON},
	{"/memfd:jit-", true, DSO_ANON},
	{"/dev/ashmem/dalvik-jit-code-cache", true, DSO_ANON},
	{"[vdso]", false, DSO_VDSO},
	{DSO_VDSO32_PATH, false, DSO_VDSO},
	{"/dev/shm/", true, DSO_FILE},
	{"/dev/hugepages/", true, DSO_FILE},
	{"/dev/", true, DSO_UNKNOWN},
	/* Of a path of 4096 bytes or more: it is in no /proc, but its build id leads to the file.
	 */
	{"//toolong", false, DSO_FILE},
	{"//", true, DSO_UNKNOWN}, /* //enomem: the kernel could not make the name */
};

enum dso_kind dso_kind_user(const char *path, uint32_t map_flags)
{
	if (map_flags & MAP_HUGETLB)
		return DSO_ANON;
	for (size_t i = 0; i < sizeof user_kinds / sizeof user_kinds[0]; i++)
		if (user_kinds[i].prefix ? str_starts_with(path, user_kinds[i].name)
					 : !strcmp(path, user_kinds[i].name))
			return user_kinds[i].kind;
	return path[0] == '/' ? DSO_FILE : DSO_UNKNOWN;
}

enum dso_kind dso_kind_kernel(const char *path)
{
	const char *ko = strrchr(path, '/');

	if (path[0] == '[')
		return str_starts_with(path, "[kernel.") || str_starts_with(path, "[guest.kernel.")
			       ? DSO_KERNEL
			       : DSO_KERNEL_MODULE;
	ko = ko ? strstr(ko, ".ko") : NULL;
	return ko && (!ko[3] || ko[3] == '.') ? DSO_KERNEL_MODULE : DSO_KERNEL;
}

const char *dso_module_name(const char *path, char buf[DSO_MODULE_NAME_BYTES])
{
	const char *base = base_name(path);
	const char *end = strstr(base, ".ko");
	size_t i, n = end ? (size_t)(end - base) : strlen(base);

	if (*base == '[' || n > DSO_MODULE_NAME_BYTES - sizeof "[]")
		return base;
	buf[0] = '[';
	for (i = 0; i < n; i++)
		buf[i + 1] = base[i] == '-' ? '_' : base[i];
	buf[n + 1] = ']';
	buf[n + 2] = '\0';
	return buf;
}

bool jitdump_pid(const char *path, uint32_t *ret)
{
	const char *p = strrchr(path, '/');
	unsigned long pid;
	char *end;

	p = p ? p + 1 : path;
	if (strncmp(p, "jit-", 4) || p[4] < '0' || p[4] > '9')
		return false;
	errno = 0;
	pid = strtoul(p + 4, &end, 10);
	if (errno || pid > UINT32_MAX || strcmp(end, ".dump"))
		return false;
	*ret = (uint32_t)pid;
	return true;
}

/* ---- build ids --------------------------------------------------------------------------- */

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	uint8_t n = a->size < b->size ? a->size : b->size, i;
	const struct build_id *longer = a->size < b->size ? b : a;

	if (!n || memcmp(a->bytes, b->bytes, n))
		return false;
	for (i = n; i < longer->size; i++)
		if (longer->bytes[i])
			return false;
	return true;
}

bool build_id_identical(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

int dso_table_add_id(struct dso_table *t, const char *path, const struct build_id *id)
{
	uint32_t name = strtab_add_cstr(&t->named_paths, path);
	struct dso_named_id *known;

	if (name == STRTAB_FAILED || vec_reserve(&t->named_ids, name + 1))
		return -1;
	while (t->named_ids.n <= name)
		t->named_ids.v[t->named_ids.n++] = (struct dso_named_id){0};
	known = &t->named_ids.v[name];
	if (!id->size)
		return 0;
	if (known->id.size && !build_id_identical(&known->id, id))
		known->ambiguous = true;
	known->id = *id;
	return 0;
}

static const struct build_id *named_id(const struct dso_table *t, const char *path)
{
	uint32_t name = *path ? strtab_find(&t->named_paths, path, strlen(path)) : STRTAB_FAILED;

	if (name == STRTAB_FAILED || t->named_ids.v[name].ambiguous)
		return NULL;
	return &t->named_ids.v[name].id;
}

/* ---- the table --------------------------------------------------------------------------- */

/* ino_generation is left out: a recorder that reads /proc/PID/maps does not know it and writes 0.
 */
static uint64_t key_hash(const struct dso_key *k)
{
	uint64_t h = hash_bytes_seeded(hash_secret(), k->path, strlen(k->path));

	h = hash_mix(h, (uint64_t)k->kind << 32 | k->pid);
	h = hash_mix(h, (uint64_t)k->maj << 32 | k->min);
	h = hash_mix(h, k->ino);
	h = k->began_ns ? hash_mix(h, k->began_ns) : h;
	return k->build_id.size ? hash_mix(h, hash_bytes(k->build_id.bytes, k->build_id.size)) : h;
}

static bool key_fits(const struct dso_key *k, const struct dso_entry *e)
{
	const struct dso *d = &e->dso;

	return d->kind == k->kind && d->pid == k->pid && d->began_ns == k->began_ns &&
	       d->maj == k->maj && d->min == k->min && d->ino == k->ino &&
	       !strcmp(d->path, k->path);
}

static bool generation_fits(const struct dso_key *k, const struct dso_entry *e)
{
	return !k->ino_generation || !e->generation || k->ino_generation == e->generation;
}

/* Finds the entry with the identity k. Returns NULL if there is none; then *ret_hash is the free
 * index key for it. With `ids` the build ids must be equal. Without, k has none, and the entries
 * searched are those recorded without a build id; they may have got one by their path. */
static struct dso_entry *find(const struct dso_table *t, const struct dso_key *k, bool ids,
			      uint64_t *ret_hash)
{
	uint64_t h = key_hash(k);
	unsigned generations = 0;
	uint32_t i;

	for (; (i = hash_get(&t->index, h)) != HASH_NONE; h = hash_mix(h, 1)) {
		struct dso_entry *e = t->entries.v[i];

		if (!key_fits(k, e) || (ids && !build_id_identical(&k->build_id, &e->dso.build_id)))
			continue;
		if (generation_fits(k, e) || ++generations == GENERATIONS_MAX)
			return e;
	}
	*ret_hash = h;
	return NULL;
}

static struct dso_entry *add(struct dso_table *t, const struct dso_key *k, uint64_t hash)
{
	struct dso_entry *e = arena_alloc(&t->arena, sizeof *e);

	if (!e)
		return NULL;
	e->generation = k->ino_generation;
	e->dso = (struct dso){
		.id = (uint32_t)t->entries.n,
		.kind = k->kind,
		.path = arena_strndup(&t->arena, k->path, strlen(k->path)),
		.build_id = k->build_id,
		.pid = k->pid,
		.began_ns = k->began_ns,
		.mapped_by = k->mapped_by,
		.code_off = k->code_off,
		.code_size = k->code_size,
		.maj = k->maj,
		.min = k->min,
		.ino = k->ino,
		.ino_generation = k->ino_generation,
	};
	if (!e->dso.path || t->entries.n >= HASH_NONE || vec_push(&t->entries, e))
		return NULL;
	if (hash_put(&t->index, hash, e->dso.id)) {
		t->entries.n--;
		return NULL;
	}
	return e;
}

/* Two lookups: by the identity as recorded, and by the identity with the build id that belongs to
 * the path. Both keys then lead to one entry, so the build id of a path is looked up only once per
 * identity. */
const struct dso *dso_table_get(struct dso_table *t, const struct dso_key *key)
{
	struct dso_key k = *key;
	uint64_t hash, alias;
	const struct build_id *id;
	struct dso_entry *e;

	/* The kernel's i_generation has 32 bits. Some versions of perf wrote uninitialised memory
	 * here for mappings that they took from /proc/PID/maps. */
	if (k.ino_generation > UINT32_MAX)
		k.ino_generation = 0;
	e = find(t, &k, k.build_id.size != 0, &alias);
	if (!e) {
		hash = alias;
		id = k.build_id.size ? NULL : named_id(t, k.path);
		if (id) {
			k.build_id = *id;
			e = find(t, &k, true, &hash);
		}
		if (!e)
			e = add(t, &k, hash);
		if (!e || (id && hash_put(&t->index, alias, e->dso.id)))
			return NULL;
	}
	if (!e->generation)
		e->generation = k.ino_generation;
	return &e->dso;
}

const struct dso *dso_table_at(const struct dso_table *t, size_t i)
{
	return &t->entries.v[i]->dso;
}

void dso_table_done(struct dso_table *t)
{
	arena_done(&t->arena);
	vec_done(&t->entries);
	hash_done(&t->index);
	strtab_done(&t->named_paths);
	vec_done(&t->named_ids);
}

/* kernel.c - finds the symbol list of the recorded kernel, and how far that kernel was moved.
 *
 * The list is searched for in this order: the file that the user names; the copy in the recording;
 * the running kernel's own list, if it is the recorded kernel; perf's build-id cache. Addresses in
 * a list from another boot differ from the recorded ones by the difference of the two random
 * offsets (KASLR). The recording has the address of _text: perf stores it as the page offset of the
 * kernel's map. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/processor.h"
#include "modules/modules.h"
#include "symbolize/kallsyms.h"
#include "symbolize/kernel_core.h"
#include "symbolize/read_file.h"
#include "symbolize/symbol_source.h"

enum {
	KALLSYMS_MAX_BYTES = 512 << 20,
	NOTES_MAX_BYTES = 64 << 10,
	/* x86 and arm64 move the kernel by multiples of this (CONFIG_PHYSICAL_ALIGN,
	   MIN_KIMG_ALIGN) */
	KASLR_STEP = 2 << 20,
};

#define RUNNING_LIST "/proc/kallsyms"

struct kernel {
	enum dso_kind kind;
	const struct dso *dso; /* NULL: none was looked up */
	char *given;	       /* path; NULL */
	char *data;	       /* of the recording; NULL, also once it is parsed */
	size_t data_size;
	pthread_mutex_t lock; /* guards what follows */
	bool loaded;
	int rc;
	enum sym_miss why;
	struct kallsyms kallsyms;
	char source[PATH_MAX + 32];
	char *cache_dir; /* NULL: none */
	uint64_t cache_max_bytes;
	struct build_id id; /* build id of the recorded kernel; size 0: unknown */
	bool core_tried, core_stale;
	uint64_t kept_text; /* _text of the saved kernel, if it has the same build id; else 0 */
	struct kernel_core core;
	struct kernel_symbols symbols;
};

struct kernel *kernel_new(const struct symbolizer_options *opt)
{
	const bool has_data = opt->kallsyms_data && opt->kallsyms_size <= KALLSYMS_MAX_BYTES;
	struct kernel *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	pthread_mutex_init(&k->lock, NULL);
	k->kind = DSO_KERNEL;
	k->cache_dir = opt->cache_dir ? strdup(opt->cache_dir) : NULL;
	k->cache_max_bytes = opt->cache_max_bytes;
	if (opt->kallsyms)
		k->given = strdup(opt->kallsyms);
	if (has_data) {
		k->data = malloc(opt->kallsyms_size + 1);
		if (k->data) {
			memcpy(k->data, opt->kallsyms_data, opt->kallsyms_size);
			k->data[opt->kallsyms_size] = 0;
			k->data_size = opt->kallsyms_size;
		}
	}
	if ((opt->cache_dir && !k->cache_dir) || (opt->kallsyms && !k->given) ||
	    (has_data && !k->data)) {
		kernel_free(k);
		return NULL;
	}
	return k;
}

struct kernel *kernel_new_guest(const struct symbolizer_options *opt)
{
	struct symbolizer_options guest = {.kallsyms = opt->guest_kallsyms};
	struct kernel *k = kernel_new(&guest);

	if (k)
		k->kind = DSO_GUEST_KERNEL;
	return k;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	kallsyms_done(&k->kallsyms);
	kernel_core_close(&k->core);
	pthread_mutex_destroy(&k->lock);
	free(k->cache_dir);
	free(k->given);
	free(k->data);
	free(k);
}

void kernel_set_dso(struct kernel *k, const struct dso *dso)
{
	if (!k->dso)
		k->dso = dso;
}

/* ---- which kernel ------------------------------------------------------------------------ */

/* Reads the build id from the running kernel's ELF notes, in native byte order. */
static bool running_build_id(struct build_id *ret)
{
	char *data;
	size_t size;
	struct buf b;

	if (read_file("/sys/kernel/notes", NOTES_MAX_BYTES, &data, &size, NULL, NULL))
		return false;
	ret->size = 0;
	for (b = buf_make(data, size, 0, false); buf_left(&b) >= 12 && !ret->size;) {
		uint32_t namesz = buf_u32(&b), descsz = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, ((uint64_t)namesz + 3) & ~(uint64_t)3), *desc;

		desc = buf_take(&b, ((uint64_t)descsz + 3) & ~(uint64_t)3);
		if (!name || !desc)
			break;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4)) {
			ret->size = descsz < BUILD_ID_MAX ? (uint8_t)descsz : BUILD_ID_MAX;
			memcpy(ret->bytes, desc, ret->size);
		}
	}
	free(data);
	return ret->size;
}

static bool is_running(const struct kernel *k, const struct source_env *env)
{
	const struct perf_file_info *info = env->info;
	struct build_id running;
	struct utsname u;

	if (k->dso && k->dso->build_id.size && running_build_id(&running))
		return build_id_equal(&k->dso->build_id, &running);
	if (!info || !info->os_release || uname(&u))
		return false;
	return !strcmp(info->os_release, u.release) &&
	       (!info->arch || processor_same(info->arch, u.machine));
}

uint64_t kernel_shift(const struct source_env *env, enum dso_kind kind, uint64_t _text,
		      uint64_t _stext)
{
	size_t i, n = env->file ? perf_file_map_count(env->file) : 0;

	for (i = 0; i < n; i++) {
		const struct map *m = perf_file_map(env->file, i);
		uint64_t a = m->pgoff - _text, b = m->pgoff - _stext;

		if (m->dso->kind != kind || !m->pgoff)
			continue;
		/* perf stores _text or _stext, whichever it finds first; a real shift is a multiple
		 * of the step */
		if ((_text && !a) || (_stext && !b))
			return 0;
		if (_text && a % KASLR_STEP == 0)
			return a;
		if (_stext && b % KASLR_STEP == 0)
			return b;
	}
	return 0;
}

/* ---- loading ----------------------------------------------------------------------------- */

/* Parses the text and takes ownership of it. */
static int parse(struct kernel *k, char *text, size_t size, bool same_boot)
{
	if (kallsyms_parse(&k->kallsyms, text, size))
		return -ERR_NOMEM;
	if (k->kallsyms.hidden)
		k->why = SYM_MISS_KPTR_RESTRICT;
	if (k->kallsyms.hidden || !k->kallsyms.tab.funcs.n) {
		kallsyms_done(&k->kallsyms);
		return 0;
	}
	k->why = SYM_MISS_FOUND;
	k->symbols.same_boot = same_boot;
	return 0;
}

static int load_file(struct kernel *k, const char *path, bool same_boot)
{
	char *text;
	size_t size;
	int rc = read_file(path, KALLSYMS_MAX_BYTES, &text, &size, NULL, NULL);

	if (rc)
		return rc == -ERR_NOMEM ? rc : 0;
	snprintf(k->source, sizeof k->source, "%s", path);
	return parse(k, text, size, same_boot);
}

/* Reads ~/.debug/[kernel.kallsyms]/BUILD-ID/kallsyms, where perf saves lists. */
static int load_cached(struct kernel *k, const char *dir)
{
	char path[PATH_MAX], id[2 * BUILD_ID_MAX + 1] = "";
	unsigned i;

	if (!*dir || !k->dso || !k->dso->build_id.size)
		return 0;
	for (i = 0; i < k->dso->build_id.size && i < BUILD_ID_MAX; i++)
		snprintf(id + 2 * i, 3, "%02x", k->dso->build_id.bytes[i]);
	snprintf(path, sizeof path, "%s/[kernel.kallsyms]/%s/kallsyms", dir, id);
	return load_file(k, path, false);
}

/* Does the recording identify its kernel? That of a killed `perf record` does not, because build
 * ids and release are written at the end. */
static bool is_identified(const struct kernel *k, const struct source_env *env)
{
	return (k->dso && k->dso->build_id.size) || (env->info && env->info->os_release);
}

/* Does the recorded kernel have exactly the addresses from _text to _etext of the list that was
 * read? */
static bool is_in_place(const struct kernel *k, const struct source_env *env)
{
	size_t i, n = env->file ? perf_file_map_count(env->file) : 0;

	for (i = 0; i < n; i++) {
		const struct map *m = perf_file_map(env->file, i);

		if (m->dso->kind == DSO_KERNEL && m->pgoff)
			return (m->pgoff == k->kallsyms._text || m->pgoff == k->kallsyms._stext) &&
			       perf_file_kernel_end(env->file) == k->kallsyms._etext;
	}
	return false;
}

/* Loads the running kernel's list, if that is the recorded kernel. */
static int load_running(struct kernel *k, const struct source_env *env)
{
	bool running = is_running(k, env), identified = is_identified(k, env);
	int rc = 0;

	if (running || !identified)
		rc = load_file(k, RUNNING_LIST, true);
	if (!rc && !running && k->why == SYM_MISS_FOUND && !is_in_place(k, env)) {
		kallsyms_done(&k->kallsyms);
		k->why = SYM_MISS_OTHER_KERNEL;
	}
	if (!running && identified && k->why != SYM_MISS_KPTR_RESTRICT)
		k->why = SYM_MISS_OTHER_KERNEL;
	return rc;
}

/* What the bundle of the recording has: of the functions that were on stacks the part up to the
 * last such address. */
static int load_recorded(struct kernel *k, const struct bundle_entry *e)
{
	struct bundle_bytes bytes;
	char *text;
	int rc = e ? bundle_contents(e, &bytes, NULL) : -ERR_NOT_FOUND;

	if (rc)
		return rc == -ERR_NOMEM ? rc : 0;
	text = malloc(bytes.n + 1);
	if (text)
		memcpy(text, bytes.v, bytes.n + 1); /* a NUL follows */
	rc = text ? parse(k, text, bytes.n, true) : -ERR_NOMEM;
	bundle_bytes_done(&bytes);
	snprintf(k->source, sizeof k->source, "kallsyms from the recording");
	return rc;
}

static int load(struct kernel *k, const struct source_env *env)
{
	char *data = k->data;
	int rc;

	k->why = SYM_MISS_NO_KALLSYMS;
	if (k->given)
		return load_file(k, k->given, true);
	if (k->kind == DSO_GUEST_KERNEL)
		return 0;
	if (data) {
		snprintf(k->source, sizeof k->source, "kallsyms in the recording");
		k->data = NULL;
		rc = parse(k, data, k->data_size, true);
		if (rc || k->why == SYM_MISS_FOUND)
			return rc;
	}
	/* The running kernel first, because its list also has the current addresses of modules. */
	rc = load_running(k, env);
	if (rc || k->why == SYM_MISS_FOUND)
		return rc;
	rc = load_recorded(k,
			   bundle_find_path(modules_bundle(env->modules), BUNDLE_KALLSYMS, NULL));
	if (rc || k->why == SYM_MISS_FOUND)
		return rc;
	return load_cached(k, modules_buildid_dir(env->modules));
}

static void publish(struct kernel *k, const struct source_env *env)
{
	struct kernel_symbols *sym = &k->symbols;

	sym->tab = &k->kallsyms.tab;
	sym->source = k->source;
	sym->modules = k->kallsyms.modules.v;
	sym->shift = kernel_shift(env, k->kind, k->kallsyms._text, k->kallsyms._stext);
	if (sym->shift)
		sym->same_boot = false;
}

int kernel_symbols(struct kernel *k, const struct source_env *env,
		   const struct kernel_symbols **ret, enum sym_miss *why, struct err *err)
{
	int rc;

	pthread_mutex_lock(&k->lock);
	if (!k->loaded) {
		k->rc = load(k, env);
		k->loaded = true;
		if (!k->rc && k->why == SYM_MISS_FOUND)
			publish(k, env);
	}
	rc = k->rc;
	*why = k->why;
	*ret = k->symbols.tab ? &k->symbols : NULL;
	pthread_mutex_unlock(&k->lock);
	return rc ? err_nomem(err) : 0;
}

bool kernel_symbols_name(const struct kernel_symbols *sym, const char *module,
			 struct symbol_source *s, struct lookup *l, struct func_cursor *cursor)
{
	const uint64_t addr = l->ip - sym->shift;
	const struct func *f = functab_find(sym->tab, addr, cursor);

	if (!f || (module && strcmp(sym->modules[f->tag], module) != 0))
		return false;
	lookup_set(l, s, sym->tab, f, addr);
	return true;
}

/* ---- kept between runs ------------------------------------------------------------------- */

/* Was the recorded kernel at the addresses of the saved one? A shift is not accepted: if it is not
 * certain the list is read. */
static bool core_is_in_place(const struct kernel *k, const struct source_env *env)
{
	size_t i, n = env->file ? perf_file_map_count(env->file) : 0;

	for (i = 0; i < n; i++) {
		const struct map *m = perf_file_map(env->file, i);

		if (m->dso->kind == DSO_KERNEL && m->pgoff)
			return m->pgoff == k->core._text || m->pgoff == k->core._stext;
	}
	return false;
}

static void open_core(struct kernel *k, const struct source_env *env)
{
	struct build_id running;

	k->core_tried = true;
	if (k->loaded || k->given || k->data || !k->cache_dir || k->kind != DSO_KERNEL)
		return;
	if (k->dso && k->dso->build_id.size)
		k->id = k->dso->build_id;
	else if (!is_running(k, env) || !running_build_id(&k->id))
		k->id.size = 0;
	if (kernel_core_open(&k->core, k->cache_dir, &k->id) && !core_is_in_place(k, env)) {
		k->kept_text = k->core._text;
		kernel_core_close(&k->core);
	}
	k->core_stale =
		!k->core.data && running_build_id(&running) && build_id_equal(&k->id, &running);
}

bool kernel_find_core(struct kernel *k, const struct source_env *env, uint64_t addr,
		      struct func *ret, uint32_t *aliases)
{
	bool found;

	pthread_mutex_lock(&k->lock);
	if (!k->core_tried)
		open_core(k, env);
	found = k->core.data && kernel_core_find(&k->core, addr, ret, aliases);
	k->core_stale |= k->core.damaged;
	pthread_mutex_unlock(&k->lock);
	return found;
}

void kernel_save(struct kernel *k)
{
	/* With a recording from an earlier boot, the saved kernel has other addresses each time. */
	if (k->core_stale && k->loaded && !k->rc && !strcmp(k->source, RUNNING_LIST) &&
	    k->why == SYM_MISS_FOUND && k->kallsyms._text != k->kept_text)
		kernel_core_save(k->cache_dir, k->cache_max_bytes, &k->id, &k->kallsyms);
	k->core_stale = false;
}

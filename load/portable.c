/* portable.c - a recording and all that its profile was made from, as one file. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "cut/cut.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"

/* Of zstd: 19 takes five times the time of all the rest for 6 % less. */
enum { LEVEL = 9 };

/* The recording is read a second time, so its dsos are other objects with the same ids. */
static const struct dso *same_dso(const struct perf_file *f, const struct dso *dso)
{
	const struct dso *d = dso->id < perf_file_dso_count(f) ? perf_file_dso(f, dso->id) : NULL;

	return d && !strcmp(d->path, dso->path) ? d : NULL;
}

/* Frames are known here: of guessed ones no lines are needed. */
static int add_frames(const struct loaded *l, const struct perf_file *f, struct cut_hits *hits,
		      struct err *err)
{
	size_t i;

	cut_only_known(hits);
	for (i = 0; i < l->profile->locations.n; i++) {
		const struct profile_location *at = &l->profile->locations.v[i];
		const struct dso *dso = l->profile->mappings.v[at->mapping].dso;

		dso = dso ? same_dso(f, dso) : NULL;
		if (dso && mapping_has_offsets(dso->kind) && cut_add_frame(hits, dso, at->off))
			return err_nomem(err);
	}
	return 0;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

struct kernel_list {
	VEC(struct cut_symbol) v;
	char module[DSO_MODULE_NAME_BYTES];
	VEC(char *) modules; /* names in v point to them */
};

static int by_start(const void *a, const void *b)
{
	const struct cut_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/* "nf_nat" of "[nf_nat]" or a path. */
static const char *module_of(struct kernel_list *k, const struct dso *dso)
{
	const char *name = dso_module_name(dso->path, k->module);
	size_t n = strlen(name);
	char *own = n > 2 && *name == '[' ? strndup(name + 1, n - 2) : NULL;

	if (!own || vec_push(&k->modules, own)) {
		free(own);
		return NULL;
	}
	return own;
}

static int collect_kernel(struct kernel_list *k, const struct profile *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->locations.n; i++) {
		const struct profile_location *at = &p->locations.v[i];
		const struct dso *dso = p->mappings.v[at->mapping].dso;
		const uint64_t ip = at->ip - at->is_return_address;
		struct cut_symbol s = {.start = ip - at->symbol_offset, .end = ip + 1};

		if (!at->symbol || !dso ||
		    (dso->kind != DSO_KERNEL && dso->kind != DSO_KERNEL_MODULE))
			continue;
		s.name = strtab_get(&p->strings, at->symbol);
		s.module = dso->kind == DSO_KERNEL_MODULE ? module_of(k, dso) : NULL;
		if (vec_push(&k->v, s))
			return -1;
	}
	if (k->v.n)
		qsort(k->v.v, k->v.n, sizeof *k->v.v, by_start);
	for (i = 0; i < k->v.n; i++) /* of one function the last address */
		if (!n || k->v.v[n - 1].start != k->v.v[i].start)
			k->v.v[n++] = k->v.v[i];
	k->v.n = n;
	return 0;
}

static void kernel_list_done(struct kernel_list *k)
{
	size_t i;

	for (i = 0; i < k->modules.n; i++)
		free(k->modules.v[i]);
	vec_done(&k->modules);
	vec_done(&k->v);
}

/* ---- what the recording carries already ------------------------------------------------------ */

/* Of an entry, followed by a NUL; malloc'ed. NULL: none, or it is damaged. */
static char *contents_of(const struct bundle_entry *e, size_t *size)
{
	struct bundle_bytes bytes;
	char *v;

	if (!e || bundle_contents(e, &bytes, NULL))
		return NULL;
	v = malloc(bytes.n + 1);
	if (v)
		memcpy(v, bytes.v, bytes.n + 1);
	*size = bytes.n;
	bundle_bytes_done(&bytes);
	return v;
}

/* For cut_options.read_file: what is in the recording is of the time when it was made. */
static void read_jit_file(void *loaded, const struct dso *dso, uint32_t pid, struct cut_text *ret)
{
	const struct loaded *l = loaded;
	const struct bundle_entry *e = bundle_find_map(l->bundle, dso);

	ret->bytes = contents_of(e, &ret->size);
	ret->is_stale = ret->bytes && e->flags & BUNDLE_IS_STALE;
	if (!ret->bytes)
		cut_jit_file(modules_symfs(l->modules), dso, pid, ret);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int make_section(const struct load_options *opt, struct loaded *l, struct perf_file *f,
			struct bundle_blob *section, struct cut_report *report, struct err *err)
{
	const struct dwarf_cache cache = {.dir = opt->symbolizer.cache_dir,
					  .max_bytes = opt->symbolizer.cache_max_bytes,
					  .min_bytes = opt->symbolizer.cache_min_bytes};
	struct cut_options co = {
		.level = opt->bundle_full ? CUT_FULL : CUT_SYMBOLS,
		.no_unwind = opt->strip_stacks,
		.frames_known = true,
		.n_threads = pipeline_threads(opt),
		.zstd_level = LEVEL,
		.cache = cache.dir ? &cache : NULL,
		.read_file = read_jit_file,
		.arg = l,
	};
	struct kernel_list kernel = {.module = ""};
	char *processes;
	struct cut_hits *hits;
	size_t n;
	int rc = cut_collect(&hits, f, l->modules, err);

	if (!rc)
		rc = add_frames(l, f, hits, err);
	if (!rc && collect_kernel(&kernel, l->profile))
		rc = err_nomem(err);
	co.kernel = kernel.v.v;
	co.n_kernel = kernel.v.n;
	co.processes = processes =
		contents_of(bundle_find_path(l->bundle, BUNDLE_PROCESSES, NULL), &n);
	if (!rc)
		rc = cut_bundle(section, f, l->modules, hits, &co, report, err);
	free(processes);
	kernel_list_done(&kernel);
	cut_hits_free(hits);
	return rc;
}

static void note_lost(struct loaded *l)
{
	const uint64_t places = cut_chains_places(l->chains);
	uint64_t samples, bytes;

	cut_chains_lost(l->chains, &samples, &bytes);
	if (samples || bytes)
		loaded_note(l, "%" PRIu64 " samples and %" PRIu64 " bytes are damaged and left out",
			    samples, bytes);
	if (places)
		loaded_note(l,
			    "%" PRIu64
			    " frames of interpreted methods lose their names: a call chain "
			    "has addresses of code only; --bundle alone keeps them",
			    places);
}

static bool lacks_times(const struct perf_file *f)
{
	for (size_t i = 0; i < perf_file_event_count(f); i++)
		if (!(perf_file_event(f, i)->attr.sample_type & PERF_SAMPLE_TIME))
			return true;
	return false;
}

/* Those of capture have no arguments, unless there was --keep-env. */
static bool has_stack_copies(const struct perf_file *f)
{
	const struct perf_file_info *info = perf_file_info(f);
	bool keeps = !info->n_cmdline || strcmp(base_name(info->cmdline[0]), "capture") != 0;
	bool has = false;

	for (size_t i = 0; i < info->n_cmdline; i++)
		keeps |= !strcmp(info->cmdline[i], "--keep-env");
	for (size_t i = 0; i < perf_file_event_count(f); i++)
		has |= perf_file_event(f, i)->attr.sample_stack_user > 0;
	return has && keeps;
}

/* What is read a second time. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) || S_ISREG(st.st_mode));
}

const char *load_portable_option(const struct load_options *opt)
{
	return opt->strip_stacks  ? "--strip-stacks"
	       : opt->bundle_full ? "--bundle-full"
				  : "--bundle";
}

int load_portable(const struct load_options *opt, struct loaded *l, FILE *out,
		  struct cut_report *report, struct err *err)
{
	struct perf_file_options fo = {
		.map = true, .alone = true, .part_of = pipeline_part_of, .part_of_arg = l};
	struct bundle_blob section = {0};
	struct perf_file *f;
	int rc;

	*report = (struct cut_report){0};
	if (!l->file || l->again || !is_plain_file(l->path))
		return err_set(err, ERR_USAGE, input_name(l->path),
			       "%s is for a recording in a file", load_portable_option(opt));
	if (l->chains && lacks_times(l->file))
		return err_set(err, ERR_UNSUPPORTED, l->path,
			       "--strip-stacks: its samples have no times");
	if (l->chains && l->filtered)
		return err_set(err, ERR_USAGE, l->path,
			       "--strip-stacks takes all samples, no filter");
	rc = perf_file_open(&f, l->path, &fo, err);
	if (rc)
		return rc;
	rc = make_section(opt, l, f, &section, report, err);
	if (!rc)
		rc = cut_rewrite(l->path, &section, l->chains, !opt->no_cmdline, out, err);
	if (!rc && l->chains)
		note_lost(l);
	if (!rc && !l->chains && opt->no_cmdline && has_stack_copies(f))
		loaded_note(l, "--no-cmdline: its stack copies may have the arguments, too: "
			       "--strip-stacks leaves them out");
	vec_done(&section);
	l->again = f; /* modules refer to its dsos */
	return rc;
}

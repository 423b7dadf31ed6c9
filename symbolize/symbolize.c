/* symbolize.c - the public functions of the symbolizer. */
#include "symbolize/symbolize.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"
#include "base/vec.h"
#include "symbolize/batch.h"

const char *sym_miss_text(enum sym_miss m)
{
#define X(name, text) [SYM_MISS_##name] = text,
	static const char *const texts[] = {SYM_MISSES(X)};
#undef X
	return (unsigned)m < SYM_MISS_N ? texts[m] : "unknown";
}

/* Files that the user names must exist and be valid; all others may be missing. */
static int check_vmlinux(const char *path, struct err *err)
{
	struct elf_image *img = NULL;
	int rc = path ? elf_image_open(&img, path, err) : 0;

	if (!rc && path)
		elf_image_close(img);
	return rc;
}

/* An empty list is valid, for users who want no names. */
static int check_kallsyms(const char *path, struct err *err)
{
	char begin = '0';
	int fd, saved;
	ssize_t n;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, path, "open");
	n = pread(fd, &begin, 1, 0);
	saved = errno;
	close(fd);
	if (n < 0)
		return err_errno(err, saved, path, "read");
	return isxdigit((unsigned char)begin)
		       ? 0
		       : err_set(err, ERR_FORMAT, path, "no list like /proc/kallsyms");
}

struct name_style symbolizer_name_style(const struct symbolizer_options *opt)
{
	struct name_style style = {
		.demangle = opt->no_demangle ? SYM_DEMANGLE_NONE : opt->demangle,
		.fold_clones = opt->clones == SYM_CLONES_FOLD,
		.cut_templates = opt->cut_templates,
		.template_depth = opt->template_depth,
	};

	if (opt->clones == SYM_CLONES_AUTO)
		style.fold_clones = style.demangle == SYM_DEMANGLE_SIMPLE;
	return style;
}

static int check_files(const struct symbolizer_options *opt, struct err *err)
{
	int rc = check_vmlinux(opt->vmlinux, err);

	if (!rc)
		rc = check_kallsyms(opt->kallsyms, err);
	if (!rc)
		rc = check_vmlinux(opt->guest_vmlinux, err);
	return rc ? rc : check_kallsyms(opt->guest_kallsyms, err);
}

int symbolizer_new(struct symbolizer **ret, struct modules *modules,
		   const struct perf_file_info *info, const struct symbolizer_options *opt,
		   struct err *err)
{
	static const struct symbolizer_options defaults;
	struct symbolizer *s;
	int rc;

	opt = opt ? opt : &defaults;
	rc = check_files(opt, err);
	if (rc)
		return rc;
	s = calloc(1, sizeof *s);
	if (!s)
		return err_nomem(err);
	s->env = (struct source_env){
		.modules = modules,
		.info = info,
		.file = opt->file,
		.vmlinux = opt->vmlinux,
		.guest_vmlinux = opt->guest_vmlinux,
		.no_inline = opt->no_inline,
		.foreign_jit_maps = opt->foreign_jit_maps,
	};
	s->style = symbolizer_name_style(opt);
	s->env.count_aliases =
		opt->folded == SYM_FOLDED_MARK ||
		(opt->folded == SYM_FOLDED_AUTO && s->style.demangle == SYM_DEMANGLE_FULL);
	s->n_threads = opt->n_threads ? opt->n_threads : threads_available();
	s->env.kernel = kernel_new(opt);
	s->env.jit = opt->jit;
	if (!opt->jit &&
	    !jit_codes_new(&s->own_jit, modules_symfs(modules), opt->foreign_jit_maps, NULL))
		s->env.jit = s->own_jit;
	s->env.guest_kernel = kernel_new_guest(opt);
	s->env.lines_cache = &s->lines_cache;
	s->cache_dir = opt->cache_dir ? strdup(opt->cache_dir) : NULL;
	s->lines_cache.where = (struct dwarf_cache){
		.dir = s->cache_dir,
		.max_bytes = opt->cache_max_bytes,
		.min_bytes = opt->cache_min_bytes,
	};
	if (!s->env.kernel || !s->env.guest_kernel || !s->env.jit ||
	    (opt->cache_dir && !s->cache_dir) ||
	    strtab_add_cstr(&s->strings, "") == STRTAB_FAILED) {
		symbolizer_free(s);
		return err_nomem(err);
	}
	*ret = s;
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	size_t i;

	if (!s)
		return;
	elf_lines_flush(&s->lines_cache, false, 1);
	for (i = 0; i < s->sources.n; i++) {
		struct symbol_source *src = s->sources.v[i];

		if (!src)
			continue;
		if (src->ops->done)
			src->ops->done(src);
		recorded_done(src);
		free(src->used);
		free(src->lacks_detail);
		free(src);
	}
	vec_done(&s->sources);
	kernel_free(s->env.kernel);
	kernel_free(s->env.guest_kernel);
	jit_codes_free(s->own_jit);
	strtab_done(&s->strings);
	arena_done(&s->lines);
	free(s->cache_dir);
	free(s);
}

int symbolizer_run(struct symbolizer *s, const struct sym_query *queries, size_t n,
		   struct sym_result *results, struct err *err)
{
	return batch_run(s, queries, n, results, err);
}

void symbolizer_save(struct symbolizer *s)
{
	elf_lines_flush(&s->lines_cache, true, s->n_threads);
	kernel_save(s->env.kernel);
}

const struct strtab *symbolizer_strings(const struct symbolizer *s)
{
	return &s->strings;
}

const struct symbolize_stats *symbolizer_stats(const struct symbolizer *s)
{
	return &s->stats;
}

static const struct symbol_source *source_of(const struct symbolizer *s, const struct dso *dso)
{
	return dso && dso->id < s->sources.n ? s->sources.v[dso->id] : NULL;
}

const char *symbolizer_source(const struct symbolizer *s, const struct dso *dso)
{
	const struct symbol_source *src = source_of(s, dso);

	return src && src->used ? src->used : "";
}

bool symbolizer_has_locals(const struct symbolizer *s, const struct dso *dso)
{
	const struct symbol_source *src = source_of(s, dso);

	return src && src->has_locals;
}

enum sym_miss symbolizer_miss(const struct symbolizer *s, const struct dso *dso)
{
	const struct symbol_source *src = source_of(s, dso);

	return !src || src->found ? SYM_MISS_FOUND : src->miss;
}

const char *sym_tier_text(enum sym_tier t)
{
	static const char *const texts[] = {"none", "sym", "line", "inline"};

	return (unsigned)t < sizeof texts / sizeof *texts ? texts[t] : "?";
}

enum sym_tier symbolizer_tier(const struct symbolizer *s, const struct dso *dso)
{
	const struct symbol_source *src = source_of(s, dso);

	return src ? src->tier : SYM_TIER_NONE;
}

const char *sym_lack_text(enum sym_lack l)
{
#define X(name, text) [SYM_LACKS_##name] = text,
	static const char *const texts[] = {SYM_LACKS(X)};
#undef X
	return (unsigned)l < SYM_LACKS_N ? texts[l] : "unknown";
}

enum sym_lack symbolizer_lacks(const struct symbolizer *s, const struct dso *dso,
			       const char **detail)
{
	const struct symbol_source *src = source_of(s, dso);

	*detail = src && src->lacks_detail ? src->lacks_detail : "";
	return src ? src->lacks : SYM_LACKS_NOTHING;
}

bool symbolizer_kernel_code(struct symbolizer *s, const struct dso *dso, uint64_t ip,
			    struct sym_kernel_code *ret)
{
	struct symbol_source *src = (struct symbol_source *)(uintptr_t)source_of(s, dso);

	return src && src->ops->kernel_code && src->ops->kernel_code(src, ip, ret);
}

size_t symbolizer_candidates(struct symbolizer *s, const struct sym_query *q,
			     struct sym_candidate *v, size_t max)
{
	struct symbol_source *src = (struct symbol_source *)(uintptr_t)source_of(s, q->dso);

	return src && src->ops->candidates ? src->ops->candidates(src, q, v, max) : 0;
}

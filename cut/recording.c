/* recording.c - the bundle of a recording: its modules on several threads, the files of its JIT
 * compilers, the kernel's symbols. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "cut/cut.h"
#include "cut/files.h"
#include "reader/reader.h"

struct one {
	struct cut_dso *hits;
	struct bundle_blob blob;
	enum module_miss miss;
	bool is_missing;
	int rc;
	struct err err;
};

struct job {
	const struct perf_file *file;
	struct modules *ms;
	const struct cut_options *opt;
	VEC(struct one) ones;
};

/* Offsets become vaddrs of the module. */
static int to_vaddrs(const struct module *m, const struct cut_addrs *offs, struct cut_addrs *ret)
{
	uint64_t vaddr;
	size_t i;

	for (i = 0; i < offs->n; i++)
		if (module_off_to_vaddr(m, offs->v[i], &vaddr) && vec_push(ret, vaddr))
			return -1;
	cut_addrs_sort(ret);
	return 0;
}

static struct bundle_entry entry_of(const struct dso *dso)
{
	return (struct bundle_entry){
		.path = dso->path,
		.id = dso->build_id,
		.maj = dso->maj,
		.min = dso->min,
		.ino = dso->ino,
		.ino_generation = dso->ino_generation,
	};
}

static int put_bytes(struct bundle_blob *out, const struct bundle_entry *e, const void *bytes,
		     size_t n, const struct cut_options *opt)
{
	const struct bundle_range all = {0, n, bytes};

	return bundle_put(out, e, &all, 1, opt->zstd_level);
}

/* A file in an archive: where it lies there, without which the mapping of the archive tells
 * nothing. */
static int put_part(struct job *j, struct one *o)
{
	struct bundle_entry e = entry_of(o->hits->dso);
	struct map_part part;
	uint64_t range[2];

	if (!modules_part_range(j->ms, e.path, &part))
		return 0;
	e.kind = BUNDLE_PART;
	range[0] = part.start;
	range[1] = part.size;
	return put_bytes(&o->blob, &e, range, sizeof range, j->opt);
}

static void pack_module(struct job *j, struct one *o)
{
	struct cut_need need = {.level = j->opt->level,
				.no_unwind = j->opt->no_unwind,
				.frames_known = j->opt->frames_known,
				.cache = j->opt->cache,
				.n_threads = 1,
				.zstd_level = j->opt->zstd_level};
	struct bundle_entry e = entry_of(o->hits->dso);
	struct module *m = modules_get(j->ms, o->hits->dso);

	if (!m) {
		o->rc = err_nomem(&o->err);
		return;
	}
	o->is_missing = !m->image || m->image_miss == MODULE_MISS_CHANGED;
	o->miss = m->image_miss;
	if (o->miss == MODULE_MISS_CHANGED) {
		e.kind = BUNDLE_CHANGED;
		if (put_bytes(&o->blob, &e, "changed", 7, j->opt))
			o->rc = err_nomem(&o->err);
	}
	if (o->is_missing)
		return;
	e.flags = o->hits->is_twin ? BUNDLE_IS_TWIN : 0;
	cut_addrs_sort(&o->hits->texts);
	o->rc = to_vaddrs(m, j->opt->no_unwind ? &o->hits->frames : &o->hits->code, &need.code) ||
				to_vaddrs(m, &o->hits->frames, &need.frames) ||
				to_vaddrs(m, &o->hits->probed, &need.probed) ||
				cut_addrs_add(&need.texts, &o->hits->texts)
			? err_nomem(&o->err)
			: cut_module(j->ms, m, &e, &need, &o->blob, &o->err);
	if (!o->rc && put_part(j, o))
		o->rc = err_nomem(&o->err);
	vec_done(&need.code);
	vec_done(&need.frames);
	vec_done(&need.probed);
	vec_done(&need.texts);
}

/* Was it last written before the process began what was recorded? */
static bool is_stale_map(const struct perf_file *f, const struct dso *dso,
			 const struct cut_text *text)
{
	const uint64_t recorded = perf_file_began_wall_ns(f, dso);
	const uint64_t began = recorded > text->began_ns ? recorded : text->began_ns;

	return text->is_stale || (text->written_ns && text->written_ns < began);
}

/* A perf map, or a jitdump. */
static void pack_file(struct job *j, struct one *o)
{
	const struct dso *dso = o->hits->dso;
	struct bundle_entry e = entry_of(dso);
	const uint32_t pid = dso->kind == DSO_ANON ? dso->pid : dso->mapped_by;
	struct cut_text text = {0};

	j->opt->read_file(j->opt->arg, dso, pid, &text);
	e.kind = BUNDLE_FILE;
	if (dso->kind == DSO_ANON) {
		e.ino_generation = dso->began_ns;
		e.flags = is_stale_map(j->file, dso, &text) ? BUNDLE_IS_STALE : 0;
	}
	if (text.bytes && text.size && put_bytes(&o->blob, &e, text.bytes, text.size, j->opt))
		o->rc = err_nomem(&o->err);
	free(text.bytes);
}

static bool is_jitdump(const struct dso *dso)
{
	uint32_t pid;

	return dso->kind != DSO_ANON && jitdump_pid(dso->path, &pid);
}

static void pack_one(void *arg, size_t i, unsigned worker)
{
	struct job *j = arg;
	struct one *o = &j->ones.v[i];

	(void)worker;
	if (o->hits->dso->kind == DSO_ANON || is_jitdump(o->hits->dso))
		pack_file(j, o);
	else
		pack_module(j, o);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static int put_kernel(struct bundle_blob *out, const struct cut_options *opt)
{
	const struct bundle_entry e = {.kind = BUNDLE_KALLSYMS, .path = "/proc/kallsyms"};
	struct text t = {0};
	size_t i;
	int rc;

	for (i = 0; i < opt->n_kernel; i++) {
		const struct cut_symbol *s = &opt->kernel[i];
		const bool own = !s->module || !*s->module;

		text_hex(&t, s->start, 0);
		text_char(&t, '-');
		text_hex(&t, s->end, 0);
		text_str(&t, " t ");
		text_str(&t, s->name);
		if (!own) {
			text_str(&t, "\t[");
			text_str(&t, s->module);
			text_char(&t, ']');
		}
		text_char(&t, '\n');
	}
	rc = t.failed ? -1 : t.n ? put_bytes(out, &e, t.s, t.n, opt) : 0;
	text_done(&t);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A line, once: several files can have had one path. */
static void lack(struct text *t, const struct one *o, const char *why)
{
	struct text line = {0};

	text_clean(&line, o->hits->dso->path, strlen(o->hits->dso->path));
	text_str(&line, ": ");
	text_str(&line, why);
	text_char(&line, '\n');
	text_char(&line, 0);
	text_char(t, 0);
	if (line.failed || t->failed)
		t->failed = true;
	else if (t->n--, !strstr(t->s, line.s))
		text_str(t, line.s);
	text_done(&line);
}

/* Why some do not fit, and what would do. */
static void too_large(const struct job *j, const struct bundle_blob *begun, char *out, size_t size)
{
	uint64_t all = begun->n;

	for (size_t i = 0; i < j->ones.n; i++)
		all += j->ones.v[i].blob.n;
	snprintf(out, size,
		 "left out: the bundle would be too large (all of it takes --bundle-max %" PRIu64
		 "K)",
		 all / 1024 + 1);
}

static int by_weight(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->hits->samples != y->hits->samples)
		return x->hits->samples < y->hits->samples ? 1 : -1;
	return x->hits->dso->id < y->hits->dso->id ? -1 : 1;
}

static bool is_wanted(const struct cut_dso *d)
{
	switch (d->dso->kind) {
	case DSO_FILE:
	case DSO_VDSO:
		return d->code.n && !is_jitdump(d->dso);
	case DSO_ANON:
		return d->code.n;
	default:
		return false;
	}
}

static int choose(struct job *j, struct perf_file *f, struct cut_hits *hits, struct cut_dso **extra)
{
	size_t i, n = perf_file_dso_count(f), k = 0;

	*extra = calloc(n + 1, sizeof **extra);
	if (!*extra || cut_one_per_file(j->ms, hits, is_wanted))
		return -1;
	for (i = 0; i < cut_hits_count(hits); i++) {
		struct cut_dso *d = cut_hits_at(hits, i);

		if (!d->is_joined && is_wanted(d) && vec_push(&j->ones, (struct one){.hits = d}))
			return -1;
	}
	/* A jitdump is mapped so that recorders see it; nothing in it is run. */
	for (i = 0; i < n; i++) {
		const struct dso *dso = perf_file_dso(f, i);

		if (!is_jitdump(dso))
			continue;
		(*extra)[k].dso = dso;
		(*extra)[k].samples = UINT64_MAX;
		if (vec_push(&j->ones, (struct one){.hits = &(*extra)[k++]}))
			return -1;
	}
	if (j->ones.n)
		qsort(j->ones.v, j->ones.n, sizeof *j->ones.v, by_weight);
	return 0;
}

/* The heaviest come first; what is too much for the limit is left out. */
static int join(struct bundle_blob *out, struct job *j, struct cut_report *r, struct text *lacks,
		struct err *err)
{
	const uint64_t max = j->opt->max_bytes;
	char too_much[128];
	size_t i;

	too_large(j, out, too_much, sizeof too_much);
	for (i = 0; i < j->ones.n; i++) {
		struct one *o = &j->ones.v[i];
		const bool is_file = o->hits->dso->kind == DSO_ANON || is_jitdump(o->hits->dso);

		if (o->rc) {
			*err = o->err;
			return o->rc;
		}
		if (o->is_missing) {
			r->missing++;
			/* What ran is gone: that the one there now differs is no fault of it. */
			lack(lacks, o,
			     o->miss == MODULE_MISS_BUILD_ID_DIFFERS
				     ? "gone; the file that is there now is of another build"
				     : module_miss_text(o->miss));
			if (o->blob.n && bundle_join(out, &o->blob))
				return err_nomem(err);
		} else if (max && out->n + o->blob.n > max) {
			r->dropped++;
			lack(lacks, o, too_much);
		} else if (bundle_join(out, &o->blob)) {
			return err_nomem(err);
		} else if (o->blob.n) {
			*(is_file ? &r->files : &r->modules) += 1;
		}
	}
	return 0;
}

static int put_texts(struct bundle_blob *out, const struct cut_options *opt, struct text *lacks)
{
	const struct bundle_entry note = {.kind = BUNDLE_NOTE, .path = "lacks"};
	const struct bundle_entry processes = {.kind = BUNDLE_PROCESSES, .path = "processes"};

	if (put_kernel(out, opt) || lacks->failed)
		return -1;
	if (lacks->n && put_bytes(out, &note, lacks->s, lacks->n, opt))
		return -1;
	if (opt->processes && *opt->processes)
		return put_bytes(out, &processes, opt->processes, strlen(opt->processes), opt);
	return 0;
}

int cut_bundle(struct bundle_blob *out, struct perf_file *f, struct modules *ms,
	       struct cut_hits *hits, const struct cut_options *opt, struct cut_report *report,
	       struct err *err)
{
	struct job j = {.file = f, .ms = ms, .opt = opt};
	struct cut_dso *extra = NULL;
	struct text lacks = {0};
	size_t i;
	int rc;

	*report = (struct cut_report){0};
	rc = bundle_begin(out) || choose(&j, f, hits, &extra) ? err_nomem(err) : 0;
	if (!rc) {
		threads_for(opt->n_threads, j.ones.n, pack_one, &j);
		rc = join(out, &j, report, &lacks, err);
	}
	if (!rc && put_texts(out, opt, &lacks))
		rc = err_nomem(err);
	if (!rc && lacks.n)
		report->lacks = strndup(lacks.s, lacks.n);
	for (i = 0; i < j.ones.n; i++)
		vec_done(&j.ones.v[i].blob);
	vec_done(&j.ones);
	free(extra);
	text_done(&lacks);
	return rc;
}

/* sample_filter.c - which samples count. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "profile/profile.h"
#include "reader/reader.h"

static bool number_listed(const uint32_t *v, size_t n, uint32_t x)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return n == 0;
}

static bool comm_listed(const struct sample_filter *f, const char *comm)
{
	size_t i;

	for (i = 0; i < f->comms.n; i++)
		if (!strcmp(f->comms.v[i], comm))
			return true;
	return f->comms.n == 0;
}

/* The dso in which the sample was taken; NULL if unknown. */
static const struct dso *dso_of(const struct perf_sample *s)
{
	const struct address_space *as = s->cpumode == PERF_CPUMODE_USER ? s->space : s->kernel;
	const struct map *m = address_space_find(as, s->ip);

	return m ? m->dso : NULL;
}

/* As perf's --dsos: compares the name without folders (of kernel modules "[nf_nat]"), or the whole
 * name. */
static bool is_called(const struct dso *d, const char *name)
{
	char module[DSO_MODULE_NAME_BYTES];

	return !strcmp(name, d->path) || !strcmp(name, base_name(d->path)) ||
	       (d->kind == DSO_KERNEL_MODULE && !strcmp(name, dso_module_name(d->path, module)));
}

static bool dso_listed(const struct sample_filter *f, const struct perf_sample *s)
{
	const struct dso *d = f->dsos.n ? dso_of(s) : NULL;
	size_t i;

	for (i = 0; d && i < f->dsos.n; i++)
		if (is_called(d, f->dsos.v[i]))
			return true;
	return f->dsos.n == 0;
}

/* A path: that cgroup and all below. A name: of any folder of the path, with or without .service,
 * .scope and .slice; or the beginning of a container's id, as docker ps prints it. */
static bool is_in_cgroup(const char *path, const char *name)
{
	static const char *const kinds[] = {".service", ".scope", ".slice", ""};
	const size_t n = strlen(name);
	const char *part, *id;

	if (*name == '/')
		return !strncmp(path, name, n) && (!path[n] || path[n] == '/' || n == 1);
	for (part = path; part; part = strchr(part, '/')) {
		const size_t len = strcspn(part += *part == '/', "/");

		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
			if (len == n + strlen(kinds[k]) && !strncmp(part, name, n) &&
			    !strncmp(part + n, kinds[k], len - n))
				return true;
		/* docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope; a folder ID with
		 * cgroups of v1. */
		id = memrchr(part, '-', len);
		id = id ? id + 1 : part;
		if (n >= 12 && strspn(name, "0123456789abcdef") == n && !strncmp(id, name, n))
			return true;
	}
	return false;
}

static bool cgroup_listed(const struct sample_filter *f, const char *path)
{
	size_t i;

	for (i = 0; path && i < f->cgroups.n; i++)
		if (is_in_cgroup(path, f->cgroups.v[i]))
			return true;
	return f->cgroups.n == 0;
}

static bool cpu_listed(const struct sample_filter *f, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < f->cpus.n; i++)
		if (cpu >= f->cpus.v[i].first && cpu <= f->cpus.v[i].last)
			return true;
	return f->cpus.n == 0;
}

bool comm_is_idle(const char *comm)
{
	size_t n = strlen("swapper");

	return !strncmp(comm, "swapper", n) && (!comm[n] || comm[n] == '/');
}

static bool event_listed(const struct sample_filter *f, const char *name)
{
	char begins[1024];

	if (!f->event || event_is_listed(f->event, name))
		return true;
	if (!f->with_ends || span_role_of(name) != SPAN_ENDS)
		return false;
	snprintf(begins, sizeof begins, "call:%s", strchr(name, ':') + 1);
	return event_is_listed(f->event, begins);
}

bool sample_filter_match(const struct sample_filter *f, const struct perf_sample *s)
{
	if (f->no_idle && !s->pid && comm_is_idle(s->comm))
		return false;
	return number_listed(f->pids.v, f->pids.n, s->pid) &&
	       number_listed(f->tids.v, f->tids.n, s->tid) && cpu_listed(f, s->cpu) &&
	       s->time_ns >= f->time.start_ns &&
	       (!f->time.end_ns || s->time_ns <= f->time.end_ns) && comm_listed(f, s->comm) &&
	       cgroup_listed(f, s->cgroup) && event_listed(f, s->event->name) && dso_listed(f, s);
}

int sample_filter_resolve(struct sample_filter *f, const struct perf_file_info *info,
			  struct err *err)
{
	const uint64_t first = info->first_sample_ns, last = info->last_sample_ns;

	if (!f->time.is_percent)
		return 0;
	if (!last)
		return err_set(err, ERR_USAGE, NULL,
			       "--time: the recording does not say its first and last time; "
			       "use seconds");
	f->time.start_ns = first + (uint64_t)((double)(last - first) * f->time.from / 100);
	f->time.end_ns = first + (uint64_t)((double)(last - first) * f->time.to / 100);
	f->time.is_percent = false;
	return 0;
}

void sample_filter_done(struct sample_filter *f)
{
	vec_done(&f->comms);
	vec_done(&f->cgroups);
	vec_done(&f->dsos);
	vec_done(&f->pids);
	vec_done(&f->tids);
	vec_done(&f->cpus);
}

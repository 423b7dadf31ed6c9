/* filter.c - which samples count. */
#include <string.h>

#include "cmd/pipeline.h"

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

static bool cpu_listed(const struct sample_filter *f, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < f->cpus.n; i++)
		if (cpu >= f->cpus.v[i].first && cpu <= f->cpus.v[i].last)
			return true;
	return f->cpus.n == 0;
}

/* People rarely know the modifiers. */
bool sample_filter_event(const struct sample_filter *f, const char *name)
{
	size_t n;

	if (!f->event)
		return true;
	n = strlen(f->event);
	return !strncmp(name, f->event, n) &&
	       (name[n] == '\0' || (name[n] == ':' && !strchr(f->event, ':')));
}

bool sample_filter_match(const struct sample_filter *f, const struct perf_sample *s)
{
	return number_listed(f->pids.v, f->pids.n, s->pid) &&
	       number_listed(f->tids.v, f->tids.n, s->tid) && cpu_listed(f, s->cpu) &&
	       s->time_ns >= f->start_ns && (!f->end_ns || s->time_ns <= f->end_ns) &&
	       comm_listed(f, s->comm) && sample_filter_event(f, s->event->name);
}

void sample_filter_done(struct sample_filter *f)
{
	vec_done(&f->comms);
	vec_done(&f->pids);
	vec_done(&f->tids);
	vec_done(&f->cpus);
}

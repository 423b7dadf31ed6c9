/* filters.c - commands and threads, modules, events to choose from. */
#include "browse/filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pair.h"

struct choices {
	VEC(struct choice) v;
};

static void free_choices(struct choices *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		free(c->v.v[i].name);
	vec_done(&c->v);
}

static int by_share(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int choose(const char *title, struct choices *c)
{
	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof *c->v.v, by_share);
	return screen_choose(title, c->v.v, c->v.n);
}

static double weight_of(const struct model *m, const struct profile_sample *s)
{
	if (m->sides == 2)
		return (double)s->count + (double)s->period;
	return (double)(m->opt->count_samples || !s->period ? s->count : s->period);
}

/* ---- commands and threads ------------------------------------------------------------------- */

static const uint32_t ANY = UINT32_MAX;

static char *task_name(const struct profile *p, const uint32_t *ids)
{
	struct text t = {0};
	char *name = NULL;

	text_string(&t, p, ids[0]);
	if (ids[2] != ANY) {
		text_str(&t, "  thread ");
		text_int(&t, (int32_t)ids[1], 0);
		text_char(&t, '/');
		text_int(&t, (int32_t)ids[2], 0);
	}
	text_char(&t, '\0');
	if (!t.failed)
		name = strdup(t.s);
	text_done(&t);
	return name;
}

/* Adds a sample's weight to the choice (comm, pid, tid). */
static int count_task(struct choices *c, struct hash_table *tasks, struct hash_table *threads,
		      const struct model *m, const struct profile_sample *s, bool is_thread)
{
	const uint32_t ids[3] = {s->comm, is_thread ? s->pid : ANY, is_thread ? s->tid : ANY};
	const uint32_t thread = pair_intern(threads, ids[1], ids[2]);
	const uint32_t id = thread == HASH_NONE ? thread : pair_intern(tasks, ids[0], thread);
	struct choice new = {.ids = {ids[0], ids[1], ids[2]}};

	if (id == HASH_NONE)
		return -1;
	if (id == c->v.n) {
		new.name = task_name(m->p, ids);
		if (!new.name || vec_push(&c->v, new)) {
			free(new.name);
			return -1;
		}
	}
	c->v.v[id].share += weight_of(m, s);
	return 0;
}

static int omit_others(struct screen *s, const struct choice *of)
{
	struct model *m = s->model;
	struct err err;

	m->f.symbols.omit.n = 0;
	for (size_t i = 0; i < m->p->samples.n; i++) {
		const struct profile_sample *x = &m->p->samples.v[i];
		const bool is_it =
			x->comm == of->ids[0] &&
			(of->ids[2] == ANY || (x->pid == of->ids[1] && x->tid == of->ids[2]));

		if (vec_push(&m->f.symbols.omit, (uint8_t)!is_it))
			return -1;
	}
	snprintf(s->task, sizeof s->task, "%s", of->name);
	s->only_task = s->task;
	return model_sum(m, &err) ? -1 : 1;
}

int filter_task(struct screen *s)
{
	const struct model *m = s->model;
	struct choices c = {0};
	struct hash_table tasks = {0}, threads = {0};
	double all = 0;
	int rc = 0, picked;

	for (size_t i = 0; !rc && i < m->p->samples.n; i++) {
		const struct profile_sample *x = &m->p->samples.v[i];

		if (x->event != m->event)
			continue;
		all += weight_of(m, x);
		rc = count_task(&c, &tasks, &threads, m, x, false);
		if (!rc && x->tid && x->tid != PROFILE_NO_PID && m->sides == 1)
			rc = count_task(&c, &tasks, &threads, m, x, true);
	}
	for (size_t i = 0; i < c.v.n; i++)
		c.v.v[i].share /= all > 0 ? all : 1;
	picked = rc ? -1 : choose("Only one command or thread (Esc: no)", &c);
	if (picked >= 0)
		rc = omit_others(s, &c.v.v[picked]);
	hash_done(&tasks);
	hash_done(&threads);
	free_choices(&c);
	return rc;
}

/* ---- modules and events --------------------------------------------------------------------- */

int filter_module(struct screen *s)
{
	const struct model *m = s->model;
	struct hash_table seen = {0};
	struct choices c = {0};
	int rc = 0, picked;

	for (uint32_t i = 0; !rc && i < m->f.v.n; i++) {
		const uint32_t name = m->p->mappings.v[m->f.v.v[i].mapping].short_name;
		uint32_t at = hash_get(&seen, name);

		if (at == HASH_NONE) {
			struct choice new = {.ids = {name}};

			at = (uint32_t)c.v.n;
			new.name = strdup(strtab_get(&m->p->strings, name));
			rc = !new.name || hash_put(&seen, name, at) || vec_push(&c.v, new) ? -1 : 0;
		}
		if (!rc)
			c.v.v[at].share += model_share(m, 0, m->sums[0].own[i]);
	}
	picked = rc ? -1 : choose("Only functions of one module; its own share (Esc: no)", &c);
	if (picked >= 0) {
		s->rows.module = c.v.v[picked].ids[0];
		rc = 1;
	}
	hash_done(&seen);
	free_choices(&c);
	return rc;
}

int filter_event(struct screen *s)
{
	struct model *m = s->model;
	struct choices c = {0};
	struct err err;
	uint64_t all = 0;
	int rc = 0, picked;

	for (size_t i = 0; i < m->p->events.n; i++)
		all += m->p->events.v[i].samples;
	for (uint32_t i = 0; !rc && i < m->p->events.n; i++) {
		const struct profile_event *e = &m->p->events.v[i];
		struct choice new = {.ids = {i},
				     .share = all ? (double)e->samples / (double)all : 0};

		if (!e->samples && !e->period)
			continue;
		new.name = strdup(strtab_get(&m->p->strings, e->name));
		rc = !new.name || vec_push(&c.v, new) ? -1 : 0;
	}
	picked = rc ? -1 : choose("Which event; its share of the samples (Esc: as it is)", &c);
	if (picked >= 0) {
		m->event = c.v.v[picked].ids[0];
		rc = model_sum(m, &err) ? -1 : 1;
	}
	free_choices(&c);
	return rc;
}

int filter_none(struct screen *s)
{
	struct err err;
	const bool had_task = s->only_task != NULL;

	s->rows.module = -1;
	s->only_task = NULL;
	vec_done(&s->model->f.symbols.omit);
	return had_task && model_sum(s->model, &err) ? -1 : 1;
}

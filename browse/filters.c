/* filters.c - commands and threads, modules, events to choose from. */
#include "browse/filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pair.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"

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

/* ---- which samples are left out -------------------------------------------------------------- */

static bool is_of_task(const struct screen *s, const struct profile_sample *x)
{
	return !*s->task ||
	       (x->comm == s->task_ids[0] &&
		(s->task_ids[2] == ANY || (x->pid == s->task_ids[1] && x->tid == s->task_ids[2])));
}

/* The path of a sample's cgroup; NULL: not known. */
static const char *cgroup_of(const struct profile *p, const struct profile_sample *x)
{
	struct profile_label l;

	return profile_label_named(p, x, "cgroup", &l) ? l.text : NULL;
}

static bool is_of_cgroup(const struct screen *s, const struct profile_sample *x)
{
	const char *path = s->cgroup_path ? cgroup_of(s->model->p, x) : NULL;

	return !s->cgroup_path || (path && !strcmp(path, s->cgroup_path));
}

static int omit_others(struct screen *s)
{
	struct model *m = s->model;
	struct err err;

	m->f.symbols.omit.n = 0;
	for (size_t i = 0; i < m->p->samples.n; i++) {
		const struct profile_sample *x = &m->p->samples.v[i];

		if (vec_push(&m->f.symbols.omit,
			     (uint8_t) !(is_of_task(s, x) && is_of_cgroup(s, x))))
			return -1;
	}
	return model_sum(m, &err) ? -1 : 1;
}

static int only_of_task(struct screen *s, const struct choice *of)
{
	memcpy(s->task_ids, of->ids, sizeof s->task_ids);
	snprintf(s->task, sizeof s->task, "%s", of->name);
	return omit_others(s);
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
		rc = only_of_task(s, &c.v.v[picked]);
	hash_done(&tasks);
	hash_done(&threads);
	free_choices(&c);
	return rc;
}

/* ---- containers ------------------------------------------------------------------------------ */

/* A path as it is shown: the last folder first, because lines are cut; of ids as long as those of
 * containers the 12 digits that tools print. */
static char *cgroup_name(const char *path)
{
	enum { ID = 64, SHOWN = 12 };
	const char *last = strrchr(path, '/'), *s;
	struct text t = {0};
	char *name = NULL;

	last = last && last[1] ? last + 1 : path;
	for (s = last; *s;) {
		const size_t n = strspn(s, "0123456789abcdef");

		text_clean(&t, s, n == ID ? SHOWN : n ? n : 1);
		s += n ? n : 1;
	}
	if (last > path + 1) {
		text_str(&t, "  in ");
		text_clean(&t, path, (size_t)(last - path) - 1);
	}
	text_char(&t, '\0');
	if (!t.failed)
		name = strdup(t.s);
	text_done(&t);
	return name;
}

static int count_cgroup(struct choices *c, struct strtab *paths, const struct model *m,
			const struct profile_sample *x, const char *path)
{
	const uint32_t id = strtab_add(paths, path, strlen(path));
	struct choice new = {.ids = {id}};

	if (id == STRTAB_FAILED)
		return -1;
	while (c->v.n <= id) { /* 0 is the empty string */
		new.name = c->v.n == id ? cgroup_name(path) : strdup("");
		if (!new.name || vec_push(&c->v, new)) {
			free(new.name);
			return -1;
		}
	}
	c->v.v[id].share += weight_of(m, x);
	return 0;
}

/* Takes out what no sample is of. */
static void drop_empty(struct choices *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		if (c->v.v[i].share > 0)
			c->v.v[n++] = c->v.v[i];
		else
			free(c->v.v[i].name);
	}
	c->v.n = n;
}

static int only_of_cgroup(struct screen *s, const struct choice *of, const char *path)
{
	free(s->cgroup_path);
	s->cgroup_path = strdup(path);
	if (!s->cgroup_path)
		return -1;
	snprintf(s->cgroup, sizeof s->cgroup, "%.*s", (int)strcspn(of->name, " "), of->name);
	return omit_others(s);
}

int filter_cgroup(struct screen *s)
{
	const struct model *m = s->model;
	struct strtab paths = {0};
	struct choices c = {0};
	double all = 0;
	int rc = 0, picked = -1;

	for (size_t i = 0; !rc && i < m->p->samples.n; i++) {
		const struct profile_sample *x = &m->p->samples.v[i];
		const char *path = x->event == m->event ? cgroup_of(m->p, x) : NULL;

		all += x->event == m->event ? weight_of(m, x) : 0;
		rc = path ? count_cgroup(&c, &paths, m, x, path) : 0;
	}
	drop_empty(&c);
	for (size_t i = 0; i < c.v.n; i++)
		c.v.v[i].share /= all > 0 ? all : 1;
	if (rc)
		;
	else if (c.v.n)
		picked = choose("Only one container or other cgroup (Esc: no)", &c);
	else
		snprintf(s->note, sizeof s->note,
			 "no cgroups were recorded: capture --all-cgroups does");
	if (picked >= 0)
		rc = only_of_cgroup(s, &c.v.v[picked], strtab_get(&paths, c.v.v[picked].ids[0]));
	strtab_done(&paths);
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
	const bool had_omitted = *s->task || s->cgroup_path;

	s->rows.module = -1;
	s->task[0] = s->cgroup[0] = '\0';
	free(s->cgroup_path);
	s->cgroup_path = NULL;
	vec_done(&s->model->f.symbols.omit);
	return had_omitted && model_sum(s->model, &err) ? -1 : 1;
}

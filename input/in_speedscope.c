/* in_speedscope.c - speedscope's own files, as py-spy, rbspy, 0x and resolve write them.
 *
 * Source of truth: speedscope's src/lib/file-format-spec.ts. Profiles are "sampled" (stacks with
 * weights) or "evented" (frames that open and close); each becomes a command of its name. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/input.h"
#include "input/json_input.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>

struct scope_frame {
	uint32_t name, file, line;
	uint32_t location; /* and 1; 0: not made yet */
};

/* An event or a sample of one of the profiles; frames are made at the end, as `shared` may come
 * last. */
struct weighed {
	size_t first, n; /* in stacks */
	double weight;
	uint32_t profile;
};

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct err *err;
	VEC(struct scope_frame) frames;
	VEC(uint32_t) stacks;
	VEC(struct weighed) samples;
	VEC(uint32_t) names, units; /* by profile */
	struct scope_frame at;
	uint32_t name, unit;
	VEC(double) weights;		  /* of the profile */
	size_t first_sample, first_frame; /* its */
	/* An evented profile: frames that are open, since when. */
	VEC(uint32_t) open;
	double since, event_at, end_at;
	uint32_t event_frame;
	char event_type;
	VEC(uint32_t) path;
};

static uint32_t string_of(struct reader *r, const struct json_value *v)
{
	return v->kind == JSON_STRING ? profile_string(r->p, v->string, v->n) : 0;
}

static int end_sample(struct reader *r, double weight)
{
	const struct weighed w = {r->first_frame, r->stacks.n - r->first_frame, weight,
				  (uint32_t)r->names.n};

	r->first_frame = r->stacks.n;
	return vec_push(&r->samples, w) ? err_nomem(r->err) : 0;
}

/* What was open until now is a sample. */
static int end_event(struct reader *r)
{
	if (r->open.n && r->event_at > r->since) {
		for (size_t i = 0; i < r->open.n; i++)
			if (vec_push(&r->stacks, r->open.v[i]))
				return err_nomem(r->err);
		if (end_sample(r, r->event_at - r->since))
			return -ERR_NOMEM;
	}
	r->since = r->event_at;
	if (r->event_type == 'O' && vec_push(&r->open, r->event_frame))
		return err_nomem(r->err);
	if (r->event_type == 'C' && r->open.n && r->open.v[r->open.n - 1] == r->event_frame)
		r->open.n--;
	else if (r->event_type == 'C')
		r->ret->damaged++;
	return 0;
}

static int end_profile(struct reader *r)
{
	/* What is never closed lasts to the profile's end; without one it is not known how long. */
	if (r->open.n && r->end_at > r->since)
		r->event_at = r->end_at;
	else
		r->ret->damaged += r->open.n;
	r->event_type = 0;
	if (end_event(r))
		return -ERR_NOMEM;
	if (vec_push(&r->names, r->name) || vec_push(&r->units, r->unit))
		return err_nomem(r->err);
	r->name = r->unit = 0;
	r->open.n = 0;
	r->since = r->event_at = r->end_at = 0;
	for (size_t i = r->first_sample; i < r->samples.n && i - r->first_sample < r->weights.n;
	     i++)
		r->samples.v[i].weight = r->weights.v[i - r->first_sample];
	r->weights.n = 0;
	r->first_sample = r->samples.n;
	return 0;
}

static int take_shared(struct reader *r, const char *path, const struct json_value *v)
{
	if (!strcmp(path, "[]") && v->kind == JSON_END) {
		if (vec_push(&r->frames, r->at))
			return err_nomem(r->err);
		r->at = (struct scope_frame){0};
	} else if (!strcmp(path, "[].name")) {
		r->at.name = string_of(r, v);
	} else if (!strcmp(path, "[].file")) {
		r->at.file = string_of(r, v);
	} else if (!strcmp(path, "[].line")) {
		r->at.line = json_input_id(v, 1u << 31);
		r->at.line = r->at.line == UINT32_MAX ? 0 : r->at.line;
	}
	return 0;
}

static int take_profile(struct reader *r, const char *path, const struct json_value *v)
{
	if (!*path && v->kind == JSON_END)
		return end_profile(r);
	if (!strcmp(path, ".name"))
		r->name = string_of(r, v);
	else if (!strcmp(path, ".unit"))
		r->unit = string_of(r, v);
	else if (!strcmp(path, ".samples[][]") && v->kind == JSON_NUMBER &&
		 vec_push(&r->stacks, json_input_id(v, UINT32_MAX)))
		return err_nomem(r->err);
	else if (!strcmp(path, ".samples[]") && v->kind == JSON_END)
		return end_sample(r, 1);
	else if (!strcmp(path, ".weights[]") && v->kind == JSON_NUMBER)
		return vec_push(&r->weights, v->number) ? err_nomem(r->err) : 0;
	else if (!strcmp(path, ".endValue"))
		r->end_at = v->number;
	else if (!strcmp(path, ".events[].type") && v->kind == JSON_STRING)
		r->event_type = *v->string;
	else if (!strcmp(path, ".events[].at"))
		r->event_at = v->number;
	else if (!strcmp(path, ".events[].frame"))
		r->event_frame = json_input_id(v, UINT32_MAX);
	else if (!strcmp(path, ".events[]") && v->kind == JSON_END)
		return end_event(r);
	return 0;
}

static int visit(void *arg, const struct json_value *v)
{
	static const char shared[] = "shared.frames", profiles[] = "profiles[]";

	if (!strncmp(v->path, shared, sizeof shared - 1))
		return take_shared(arg, v->path + sizeof shared - 1, v);
	if (!strncmp(v->path, profiles, sizeof profiles - 1))
		return take_profile(arg, v->path + sizeof profiles - 1, v);
	return 0;
}

/* ---- the profile ---------------------------------------------------------------------------- */

static int stack_of(struct reader *r, const struct weighed *w, uint32_t *ret)
{
	r->path.n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const uint32_t id = r->stacks.v[w->first + i];
		struct scope_frame *f = id < r->frames.n ? &r->frames.v[id] : NULL;

		if (!f) {
			r->ret->damaged++;
			continue;
		}
		if (!f->location) {
			if (json_input_frame(r->p, f->name, f->file, f->line, &f->location, r->err))
				return -(int)r->err->code;
			f->location++;
		}
		if (vec_push(&r->path, f->location - 1))
			return err_nomem(r->err);
	}
	return profile_add_stack(r->p, r->path.v, r->path.n, ret, r->err);
}

/* Nanoseconds of a unit of time; 0: weights are what they are. */
static double scale_of(const char *unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

static int event_of(struct reader *r, const char *unit, uint32_t *ret)
{
	const bool is_time = scale_of(unit) > 0, is_bytes = !strcmp(unit, "bytes");
	const char *name = is_time ? "time" : is_bytes ? "memory" : "samples";
	const char *what = is_time ? "nanoseconds" : is_bytes ? "bytes" : "";

	return profile_add_event(r->p, profile_string(r->p, name, strlen(name)),
				 *what ? profile_string(r->p, what, strlen(what)) : 0, ret, r->err);
}

/* Profiles of all threads, as resolve writes them, hold each sample a second time. */
static bool is_sum(const struct reader *r, uint32_t profile)
{
	const char *name = strtab_get(&r->p->strings, r->names.v[profile]);

	return r->names.n > 1 && str_ends_with(name, "all threads");
}

static int add_sample(struct reader *r, const struct weighed *w)
{
	const char *unit = strtab_get(&r->p->strings, r->units.v[w->profile]);
	const double weight = w->weight * (scale_of(unit) > 0 ? scale_of(unit) : 1);
	struct profile_sample s = {.comm = r->names.v[w->profile],
				   .pid = PROFILE_NO_PID,
				   .tid = PROFILE_NO_PID,
				   .count = 1};
	const struct input_sample about = {.comm = strtab_get(&r->p->strings, s.comm),
					   .event = "",
					   .pid = PROFILE_NO_PID,
					   .tid = PROFILE_NO_PID};

	if (is_sum(r, w->profile) || !w->n) /* time without a stack is idle */
		return 0;
	if (!(weight >= 0) || weight >= 1.8e19) {
		r->ret->damaged++;
		return 0;
	}
	if (!input_accepts(r->opt, &about, r->ret))
		return 0;
	s.period = (uint64_t)(weight + 0.5);
	if (event_of(r, unit, &s.event) || stack_of(r, w, &s.node))
		return -(int)r->err->code;
	return profile_add_sample(r->p, &s, r->err);
}

static int read_speedscope(struct profile *p, struct input_source *s,
			   const struct input_options *opt, struct input_result *ret,
			   struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret, .err = err};
	int rc = json_input_read(s, visit, &r, err);

	for (size_t i = 0; !rc && i < r.samples.n; i++)
		rc = r.samples.v[i].profile < r.names.n ? add_sample(&r, &r.samples.v[i]) : 0;
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	vec_done(&r.frames);
	vec_done(&r.stacks);
	vec_done(&r.samples);
	vec_done(&r.weights);
	vec_done(&r.names);
	vec_done(&r.units);
	vec_done(&r.open);
	vec_done(&r.path);
	return rc;
}

static bool detect(const char *head, size_t n)
{
	(void)n;
	return json_input_has(head, "speedscope.app/file-format-schema");
}

const struct input_format input_speedscope = {
	.name = "speedscope",
	.help = "speedscope's files, of py-spy, rbspy, 0x and resolve",
	.is_json = true,
	.detect = detect,
	.read = read_speedscope,
};

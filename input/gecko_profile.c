/* gecko_profile.c - the tables of a file of the Firefox Profiler become a profile. See gecko.h. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/gecko.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A sample in the order of time. */
struct timed {
	double ms;
	uint32_t thread, sample;
};

enum { DEEPEST = 1 << 20 };

static const char *text_of(const struct gecko *g, uint32_t id)
{
	return strtab_get(&g->p->strings, id);
}

/* The tables that a thread's numbers refer to. */
static struct gecko_tables *tables_of(struct gecko *g, struct gecko_tables *own)
{
	return own->columns[STACK_FRAME].n ? own : &g->shared;
}

/* Some versions share only the strings, and what names sources. */
static uint32_t string_at(const struct gecko *g, const struct gecko_tables *t, double v)
{
	t = t->strings.n ? t : &g->shared;
	const uint32_t at = gecko_index(v, t->strings.n);

	return at == UINT32_MAX ? 0 : t->strings.v[at];
}

/* ---- frames --------------------------------------------------------------------------------- */

struct place {
	uint32_t name, file, module; /* string ids; 0: unknown */
	double line;
};

/* "name (in module)" of perf script report gecko, "name (file:line:column)" and "name (file:line)"
 * of Firefox; else it is a name. */
static int split_location(struct gecko *g, uint32_t id, struct place *ret)
{
	const char *s = text_of(g, id);
	const size_t n = strtab_len(&g->p->strings, id);
	const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL, *end = s + n - 1;
	unsigned long numbers[2] = {0, 0};

	ret->name = id;
	if (!open || open < s + 2 || open[-1] != ' ')
		return 0;
	if (!strncmp(open, "(in ", 4)) {
		ret->module = profile_string(g->p, open + 4, (size_t)(end - open - 4));
		s = text_of(g, id);
		ret->name = profile_string(g->p, s, (size_t)(open - 1 - text_of(g, id)));
		return ret->module == STRTAB_FAILED || ret->name == STRTAB_FAILED ? -1 : 0;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *digits = end;

		while (digits > open + 1 && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (digits == end || digits[-1] != ':')
			break;
		numbers[1] = numbers[0];
		numbers[0] = strtoul(digits, NULL, 10);
		end = digits - 1;
	}
	if (!numbers[0] || end <= open + 1)
		return 0;
	ret->line = (double)numbers[0];
	ret->file = profile_string(g->p, open + 1, (size_t)(end - open - 1));
	ret->name = profile_string(g->p, text_of(g, id), (size_t)(open - 1 - s));
	return ret->file == STRTAB_FAILED || ret->name == STRTAB_FAILED ? -1 : 0;
}

static int place_of(struct gecko *g, const struct gecko_tables *t, uint32_t frame,
		    struct place *ret)
{
	const double func = gecko_number(t, FRAME_FUNC, frame);
	const uint32_t f = gecko_index(func, t->columns[FUNC_NAME].n);
	const struct gecko_tables *sources;
	uint32_t resource, lib, source;

	*ret = (struct place){.line = gecko_number(t, FRAME_LINE, frame)};
	if (f == UINT32_MAX) {
		const uint32_t id = string_at(g, t, gecko_number(t, FRAME_LOCATION, frame));

		g->ret->damaged += !id;
		return split_location(g, id, ret);
	}
	ret->name = string_at(g, t, gecko_number(t, FUNC_NAME, f));
	sources = t->columns[SOURCE_FILE].n ? t : &g->shared;
	source = gecko_index(gecko_number(t, FUNC_SOURCE, f), sources->columns[SOURCE_FILE].n);
	ret->file = source != UINT32_MAX
			    ? string_at(g, sources, gecko_number(sources, SOURCE_FILE, source))
			    : string_at(g, t, gecko_number(t, FUNC_FILE, f));
	resource = gecko_index(gecko_number(t, FUNC_RESOURCE, f), t->columns[RESOURCE_NAME].n);
	if (resource == UINT32_MAX)
		return 0;
	lib = gecko_index(gecko_number(t, RESOURCE_LIB, resource), g->libs.n);
	ret->module = lib != UINT32_MAX ? g->libs.v[lib] : 0;
	if (!ret->module)
		ret->module = string_at(g, t, gecko_number(t, RESOURCE_NAME, resource));
	return 0;
}

/* Is it what stands for a name: [module], or an address? */
static bool is_no_name(const struct gecko *g, const struct place *at)
{
	const char *name = text_of(g, at->name);

	return !at->name || (g->is_own && *name == '[' && str_ends_with(name, "]")) ||
	       (!strncmp(name, "0x", 2) &&
		strspn(name + 2, "0123456789abcdefABCDEF") == strlen(name) - 2);
}

static int add_mapping(struct gecko *g, const struct place *at, uint32_t *ret)
{
	const char *path = text_of(g, at->module);
	const struct profile_mapping m = {
		.path = at->module,
		.name = at->module,
		.kind = !strncmp(path, "[kernel", 7) || !strncmp(path, "[guest.kernel", 13)
				? DSO_KERNEL
			: *path == '[' ? DSO_KERNEL_MODULE
				       : DSO_FILE};

	return at->module ? profile_add_mapping(g->p, &m, ret, g->err) : 0;
}

static int make_location(struct gecko *g, const struct gecko_tables *t, uint32_t frame,
			 uint32_t *ret)
{
	const double address = gecko_number(t, FRAME_ADDRESS, frame);
	const uint32_t category =
		gecko_index(gecko_number(t, FRAME_CATEGORY, frame), g->categories.n);
	struct profile_function f = {.is_foreign = !g->is_own};
	struct profile_line line = {0};
	struct profile_location l = {.how = FRAME_USER_CHAIN};
	struct place at;
	bool named;

	if (place_of(g, t, frame, &at))
		return err_nomem(g->err);
	named = !is_no_name(g, &at);
	g->n_nameless += !named && at.name && !g->is_own;
	if (add_mapping(g, &at, &l.mapping))
		return -(int)g->err->code;
	l.is_kernel =
		category != UINT32_MAX && !strcmp(text_of(g, g->categories.v[category]), "Kernel");
	if (address >= 0 && address < 1e18)
		l.ip = l.off = (uint64_t)address;
	f.name = named ? at.name : 0;
	f.file = at.file;
	line.line = at.line > 0 && at.line < 1e9 ? (uint32_t)at.line : 0;
	if (named && profile_add_function(g->p, &f, &line.function, g->err))
		return -(int)g->err->code;
	return profile_add_location(g->p, &l, &line, named, ret, g->err);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static uint32_t prefix_of(struct gecko *g, const struct gecko_tables *t, uint32_t stack)
{
	const double offset = gecko_number(t, STACK_PREFIX_OFFSET, stack);
	const double prefix = offset > 0 ? stack - offset : gecko_number(t, STACK_PREFIX, stack);
	const uint32_t at =
		gecko_index(prefix, stack); /* only earlier ones: there are no circles */

	g->ret->damaged += at == UINT32_MAX && prefix >= 0;
	return at;
}

static int push_frame(struct gecko *g, struct gecko_tables *t, uint32_t stack)
{
	const size_t n = t->columns[FRAME_FUNC].n > t->columns[FRAME_LOCATION].n
				 ? t->columns[FRAME_FUNC].n
				 : t->columns[FRAME_LOCATION].n;
	const uint32_t frame = gecko_index(gecko_number(t, STACK_FRAME, stack), n);

	if (frame == UINT32_MAX) {
		g->ret->damaged++;
		return 0;
	}
	while (t->locations.n <= frame)
		if (vec_push(&t->locations, 0))
			return err_nomem(g->err);
	if (!t->locations.v[frame]) {
		if (make_location(g, t, frame, &t->locations.v[frame]))
			return -(int)g->err->code;
		t->locations.v[frame]++;
	}
	return vec_push(&g->path, t->locations.v[frame] - 1) ? err_nomem(g->err) : 0;
}

static int make_stack(struct gecko *g, struct gecko_tables *t, uint32_t stack, uint32_t *ret)
{
	g->path.n = 0;
	for (uint32_t at = stack; at != UINT32_MAX && g->path.n < DEEPEST; at = prefix_of(g, t, at))
		if (push_frame(g, t, at))
			return -(int)g->err->code;
	for (size_t i = 0, k = g->path.n; i + 1 < k; i++) {
		const uint32_t swap = g->path.v[i];

		g->path.v[i] = g->path.v[--k];
		g->path.v[k] = swap;
	}
	return profile_add_stack(g->p, g->path.v, g->path.n, ret, g->err);
}

/* The node of a stack. */
static int node_of(struct gecko *g, struct gecko_tables *t, uint32_t stack, uint32_t *ret)
{
	while (t->nodes.n <= stack)
		if (vec_push(&t->nodes, 0))
			return err_nomem(g->err);
	if (!t->nodes.v[stack]) {
		if (make_stack(g, t, stack, ret))
			return -(int)g->err->code;
		t->nodes.v[stack] = *ret + 1;
	}
	*ret = t->nodes.v[stack] - 1;
	return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static int add_event(struct gecko *g, const char *weight_type, uint32_t *ret)
{
	const bool is_time = !strncmp(weight_type, "tracing", 7);
	const char *unit = is_time ? "nanoseconds" : !strcmp(weight_type, "bytes") ? "bytes" : "";
	const char *usual = is_time ? "time" : *unit ? "memory" : "samples";
	const uint32_t name =
		g->is_own && g->event ? g->event : profile_string(g->p, usual, strlen(usual));

	return profile_add_event(g->p, name, *unit ? profile_string(g->p, unit, strlen(unit)) : 0,
				 ret, g->err);
}

/* Weights are so many samples, unless they are ms, bytes, or of an event of resolve. Returns
 * whether they are any. */
static bool take_weight(const struct gecko *g, const char *type, double weight,
			struct profile_sample *s)
{
	const bool is_time = !strncmp(type, "tracing", 7);
	const bool is_count = !is_time && strcmp(type, "bytes") && !g->is_own;

	s->count = 1;
	if (isnan(weight))
		weight = is_count;
	weight *= is_time ? 1e6 : 1;
	if (!(weight >= 0) || weight >= 1.8e19)
		return false;
	s->period = (uint64_t)(weight + 0.5);
	if (is_count)
		s->count = s->period;
	return true;
}

/* The first thread of every process has the same name, so that of the process says more. */
static uint32_t name_of(const struct gecko *g, const struct gecko_thread *t)
{
	return t->process && !g->is_own && !strcmp(text_of(g, t->name), "GeckoMain") ? t->process
										     : t->name;
}

static int add_sample(struct gecko *g, const struct timed *when)
{
	struct gecko_thread *thread = &g->threads.v[when->thread];
	struct gecko_tables *t = tables_of(g, &thread->tables);
	const double stack = gecko_number(&thread->tables, SAMPLE_STACK, when->sample);
	const uint32_t at = gecko_index(stack, t->columns[STACK_FRAME].n);
	const char *type = text_of(g, thread->weight_type);
	struct profile_sample s = {
		.comm = name_of(g, thread), .pid = thread->pid, .tid = thread->tid};
	struct profile_log_entry entry = {
		.pid = s.pid, .tid = s.tid, .comm = s.comm, .has_stack = true};
	struct input_sample about = {.comm = text_of(g, s.comm), .pid = s.pid, .tid = s.tid};

	if (at == UINT32_MAX && !g->is_own) { /* nothing ran, or a number that is none */
		*(stack >= 0 ? &g->ret->damaged : &g->n_without_stack) += 1;
		return 0;
	}
	if (!take_weight(g, type, gecko_number(&thread->tables, SAMPLE_WEIGHT, when->sample), &s)) {
		g->ret->damaged++;
		return 0;
	}
	if (add_event(g, type, &s.event))
		return -(int)g->err->code;
	about.event = text_of(g, g->p->events.v[s.event].name);
	about.has_time = when->ms >= 0 && when->ms < 1e13;
	about.time_ns = about.has_time ? (uint64_t)(when->ms * 1e6 + 0.5) : 0;
	if (!input_accepts(g->opt, &about, g->ret))
		return 0;
	if (at != UINT32_MAX && node_of(g, t, at, &s.node))
		return -(int)g->err->code;
	entry.node = s.node;
	entry.event = s.event;
	entry.period = s.period;
	entry.time_ns = about.time_ns;
	return profile_add_entry(g->p, &s, &entry, g->err);
}

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->ms < y->ms || x->ms > y->ms)
		return x->ms < y->ms ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

int gecko_add_samples(struct gecko *g)
{
	VEC(struct timed) order = {0};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < g->threads.n; i++) {
		const struct gecko_tables *t = &g->threads.v[i].tables;
		const double shift = g->threads.v[i].shift_ms;
		double ms = 0;

		for (uint32_t k = 0; !rc && k < t->columns[SAMPLE_STACK].n; k++) {
			const double delta = gecko_number(t, SAMPLE_DELTA, k);
			const double time = gecko_number(t, SAMPLE_TIME, k);

			ms = isnan(time) ? ms + (isnan(delta) ? 0 : delta) : time;
			rc = vec_push(&order, ((struct timed){ms + shift, i, k}))
				     ? err_nomem(g->err)
				     : 0;
		}
	}
	if (!rc && !order.n)
		rc = err_set(g->err, ERR_FORMAT, "",
			     "a file of the Firefox Profiler without samples");
	if (order.n)
		qsort(order.v, order.n, sizeof *order.v, by_time);
	if (order.n && g->start_ms > 0 && order.v[0].ms >= 0)
		g->p->wall_ns = (uint64_t)((g->start_ms + order.v[0].ms) * 1e6);
	for (size_t i = 0; !rc && i < order.n; i++)
		rc = add_sample(g, &order.v[i]);
	vec_done(&order);
	return rc;
}

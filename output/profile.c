/* profile.c - filling a profile sample by sample: integers only. */
#include "output/index.h"

#include <string.h>

#include "output/output.h"

struct profile *profile_new(unsigned keep)
{
	struct profile *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->index_ = calloc(1, sizeof *p->index_);
	if (!p->index_ || vec_push(&p->nodes, (struct profile_node){0}) ||
	    strtab_add_cstr(&p->strings, "") == STRTAB_FAILED) {
		profile_free(p);
		return NULL;
	}
	p->index_->keep = keep;
	if (profile_intern_mapping(p, NULL, NULL, &(uint32_t){0}, NULL)) {
		profile_free(p);
		return NULL;
	}
	return p;
}

static void index_free(struct profile_index *x)
{
	vec_done(&x->mapping_of);
	vec_done(&x->path);
	vec_done(&x->string_of);
	free(x->slots);
	hash_done(&x->nodes);
	hash_done(&x->comms);
	hash_done(&x->names);
	hash_done(&x->tasks);
	hash_done(&x->contexts);
	hash_done(&x->samples);
	hash_done(&x->spellings);
	hash_done(&x->places);
	hash_done(&x->functions);
	free(x);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_done(&p->strings);
	vec_done(&p->mappings);
	vec_done(&p->functions);
	vec_done(&p->locations);
	vec_done(&p->lines);
	vec_done(&p->nodes);
	vec_done(&p->samples);
	vec_done(&p->log);
	vec_done(&p->events);
	if (p->index_)
		index_free(p->index_);
	free(p);
}

static int step(struct profile *p, const struct frame *f, struct path_step *s, uint32_t parent,
		struct err *err)
{
	const struct map *map = f->map;
	uint64_t lookup = frame_lookup_ip(f);
	struct location_key key = {.off = lookup, .flags = s->flags};
	uint32_t location;

	if (map) {
		if (profile_intern_mapping(p, map->dso, map, &key.mapping, err))
			return -ERR_NOMEM;
		if (mapping_has_offsets(map->dso->kind))
			key.off = map_ip_to_off(map, lookup);
	}
	if (profile_intern_location(p, key, f->ip, &location, err))
		return -ERR_NOMEM;
	return profile_intern_node(p, parent, location, &s->node, err);
}

/* The node of a stack. Stacks that follow each other mostly share their root frames (main, the
 * event loop), so those that equal the last stack's are not looked up again. */
static int add_stack(struct profile *p, const struct stack_trace *t, uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t node = 0;
	bool same = true;
	size_t i;

	if (vec_reserve(&x->path, t->n))
		return err_nomem(err);
	for (i = 0; i < t->n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		struct path_step *s = &x->path.v[i];
		uint32_t flags = location_flags(f->is_return_address, f->is_kernel, f->how);

		same = same && i < x->path.n && s->ip == f->ip && s->map == f->map &&
		       s->flags == flags;
		if (!same) {
			*s = (struct path_step){f->ip, f->map, flags, 0};
			x->path.n = i;
			if (step(p, f, s, node, err))
				return -ERR_NOMEM;
		}
		node = s->node;
	}
	x->path.n = t->n;
	*ret = node;
	return 0;
}

/* Command names live as long as the file, so equal pointers are equal names. */
static uint32_t add_comm(struct profile *p, const char *comm)
{
	struct profile_index *x = p->index_;
	uint32_t id = hash_get(&x->comms, (uintptr_t)comm);

	if (id != HASH_NONE)
		return id;
	id = strtab_add_cstr(&p->strings, comm);
	if (id == STRTAB_FAILED || hash_put(&x->comms, (uintptr_t)comm, id))
		return STRTAB_FAILED;
	return id;
}

static int add_to_log(struct profile *p, const struct perf_sample *s,
		      const struct profile_sample *key, struct err *err)
{
	struct profile_log_entry e = {
		.time_ns = s->time_ns,
		.period = s->period,
		.ip = s->ip,
		.seq = s->seq,
		.node = key->node,
		.event = key->event,
		.comm = key->comm,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.cpumode = s->cpumode,
		.stop = key->stop,
		.has_stack = s->has_callchain,
	};

	return vec_push(&p->log, e) ? err_nomem(err) : 0;
}

int profile_add(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		struct err *err)
{
	unsigned keep = p->index_->keep;
	struct profile_sample one = {
		.event = s->event->index,
		.comm = s->comm ? add_comm(p, s->comm) : 0,
		.pid = keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS) ? s->pid : 0,
		.tid = keep & PROFILE_KEEP_TIDS ? s->tid : 0,
		.stop = (uint8_t)t->stop,
		.count = 1,
		.period = s->period,
	};
	struct profile_event *event;

	if (one.comm == STRTAB_FAILED)
		return err_nomem(err);
	if ((one.event >= p->events.n || !p->events.v[one.event].name) &&
	    profile_name_event(p, s->event, err))
		return -ERR_NOMEM;
	profile_see_times(p, s->time_ns, s->time_ns);
	if (add_stack(p, t, &one.node, err) || profile_count(p, &one, err) ||
	    (keep & PROFILE_KEEP_LOG && add_to_log(p, s, &one, err)))
		return -ERR_NOMEM;
	event = &p->events.v[one.event];
	event->samples++;
	event->period = add_saturated(event->period, s->period);
	return 0;
}

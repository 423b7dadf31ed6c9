/* profile.c - filling a profile sample by sample: integers only. */
#include "output/index.h"

#include <string.h>
#include <time.h>

#include "output/output.h"

enum { JIT_MEMOS = 4096 };

struct profile *profile_new(unsigned keep)
{
	struct profile *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->index_ = calloc(1, sizeof *p->index_);
	if (!p->index_ || vec_push(&p->nodes, (struct profile_node){0}) ||
	    vec_push(&p->index_->node_hash, 0) ||
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
	free(x->jit_memos);
	vec_done(&x->string_of);
	vec_done(&x->node_hash);
	hash_index_done(&x->locations);
	hash_index_done(&x->nodes);
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

void profile_set_jit(struct profile *p, struct jit_codes *jit)
{
	p->index_->jit = jit;
}

static bool is_monotonic(const struct perf_attr *a)
{
	return a->flags & PERF_ATTR_USE_CLOCKID && a->clockid == CLOCK_MONOTONIC;
}

static int jit_moment(struct profile *p, const struct perf_sample *s, struct jit_moment *ret,
		      struct err *err)
{
	struct profile_index *x = p->index_;
	const struct dso *dump = x->jit ? address_space_jitdump(s->space) : NULL;

	*ret = (struct jit_moment){0};
	if (!dump || !s->time_ns || !is_monotonic(&s->event->attr))
		return 0;
	if (dump != x->jit_dso || s->pid != x->jit_pid) {
		if (jit_codes_open(x->jit, dump, s->pid, &x->jit_dump, err))
			return -ERR_NOMEM;
		x->jit_dso = dump;
		x->jit_pid = s->pid;
	}
	ret->dump = x->jit_dump;
	ret->version = ret->dump ? jitdump_version(ret->dump, s->time_ns) : 0;
	return 0;
}

static const struct jit_memo *jit_memo(struct profile *p, const struct jit_moment *now,
				       uint64_t off)
{
	struct profile_index *x = p->index_;
	struct jit_memo *m;

	if (!x->jit_memos)
		x->jit_memos = calloc(JIT_MEMOS, sizeof *x->jit_memos);
	if (!x->jit_memos)
		return NULL;
	m = &x->jit_memos[hash_u64(off) % JIT_MEMOS];
	if (m->dump != now->dump || m->off != off || now->version < m->span.from ||
	    now->version >= m->span.until)
		*m = (struct jit_memo){now->dump, off, jitdump_span(now->dump, off, now->version)};
	return m;
}

/* Is the code that the step was made for still at its address? Only JIT code changes. */
static bool step_holds(const struct path_step *s, const struct jit_moment *now)
{
	if (!s->map || s->map->dso->kind != DSO_ANON)
		return true;
	return s->jit.dump == now->dump && (!now->dump || (now->version >= s->jit.span.from &&
							   now->version < s->jit.span.until));
}

static int step_key(struct profile *p, const struct frame *f, const struct jit_moment *now,
		    struct path_step *s, struct err *err)
{
	const struct map *map = f->map;
	uint64_t lookup = frame_lookup_ip(f);
	const struct jit_memo *memo;

	s->key.off = lookup;
	s->key.mapping = 0;
	if (map) {
		if (profile_intern_mapping(p, map->dso, map, &s->key.mapping, err))
			return -ERR_NOMEM;
		if (mapping_has_offsets(map->dso->kind))
			s->key.off = map_ip_to_off(map, lookup);
		if (map->dso->kind == DSO_ANON && now->dump) {
			memo = jit_memo(p, now, lookup);
			if (!memo)
				return err_nomem(err);
			s->jit = *memo;
			s->key.made_ns = memo->span.made_ns;
		}
	}
	hash_index_prefetch(&p->index_->locations, location_hash(s->key));
	return 0;
}

/* Fills in the steps of the path for t from the first frame that differs from the last stack's on:
 * stacks that follow each other mostly share their root frames (main, the event loop). */
static int steps_begin(struct profile *p, const struct perf_sample *sample,
		       const struct stack_trace *t, struct err *err)
{
	struct profile_index *x = p->index_;
	size_t i, known = x->path.n;
	struct jit_moment now;
	bool same = true;

	x->path.n = 0;
	if (jit_moment(p, sample, &now, err))
		return -ERR_NOMEM;
	for (i = 0; i < t->n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		struct path_step *s = &x->path.v[i];
		uint32_t flags = location_flags(f->is_return_address, f->is_kernel, f->how);

		same = same && i < known && s->ip == f->ip && s->map == f->map &&
		       s->key.flags == flags && step_holds(s, &now);
		if (same) {
			x->path.n = i + 1;
			continue;
		}
		*s = (struct path_step){.ip = f->ip, .map = f->map, .key.flags = flags};
		if (step_key(p, f, &now, s, err))
			return -ERR_NOMEM;
	}
	return 0;
}

/* The node of a stack. The tables are larger than the caches, so what a stack needs of them is
 * fetched side by side: first all keys are made, then all locations are found, then all nodes. */
static int add_stack(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		     uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	struct path_step *v;
	size_t i, same;
	uint32_t hash;

	*ret = 0;
	if (vec_reserve(&x->path, t->n) || steps_begin(p, s, t, err))
		return err_nomem(err);
	v = x->path.v;
	same = x->path.n;
	if (same)
		*ret = v[same - 1].node;
	hash = x->node_hash.v[*ret];
	for (i = same; i < t->n; i++) {
		if (profile_intern_location(p, v[i].key, v[i].ip, &v[i].location, err))
			return -ERR_NOMEM;
		hash = profile_expect_node(p, hash, v[i].location);
	}
	for (i = same; i < t->n; i++) {
		if (profile_intern_node(p, *ret, v[i].location, &v[i].node, err))
			return -ERR_NOMEM;
		*ret = v[i].node;
	}
	x->path.n = t->n;
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
	if (add_stack(p, s, t, &one.node, err) || profile_count(p, &one, err) ||
	    (keep & PROFILE_KEEP_LOG && add_to_log(p, s, &one, err)))
		return -ERR_NOMEM;
	event = &p->events.v[one.event];
	event->samples++;
	event->period = add_saturated(event->period, s->period);
	return 0;
}

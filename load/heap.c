/* heap.c - the first of two passes over a recording of allocations (capture --alloc).
 *
 * All calls are in the recording, so what was allocated and what is in use at the end is counted.
 * Some calls have stacks, those of a class of sizes with the same probability. They stand for the
 * calls of their class that come from the same instruction at the same depth of the stack, which
 * they share in proportion to their own bytes and objects; what is in use is shared by those of
 * them whose memory is, if there are some. So the sums are exact. Calls of which none has a stack
 * stay without one.
 *
 * Within realloc() or operator new others of these functions may be called, with the same memory:
 * the outer call counts. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "reader/reader.h"

enum {
	CLASSES = 16,
	NO_SAMPLE = UINT32_MAX,
	NO_OWNER = UINT32_MAX, /* a block of memory that is free */
	OPEN_MAX = 64,	       /* calls within each other */
	UNKNOWN_SHARE = 1000,  /* one of so many records is worth a note */
	BARE_SHARE = 20,       /* one of so many bytes, too */
};

struct amount {
	uint64_t objects, bytes;
};

/* Of a process, class, return address and stack pointer. */
struct group {
	uint32_t process;
	struct amount all, in_use, sampled, sampled_in_use;
	struct amount before, before_in_use; /* shared among the samples so far */
};

struct heap_process {
	uint32_t pid;
	struct hash_table blocks; /* address -> index in scan.blocks */
};

struct block {
	uint32_t group, sample; /* or NO_OWNER, NO_SAMPLE */
	uint64_t bytes, objects;
};

struct heap_call {
	struct perf_heap_call at;
	uint64_t file_off; /* of its sample with a stack */
	uint8_t class;
	bool has_stack, has_entry;
	uint32_t old; /* realloc: the block that it took out of use, which a failure puts back */
};

struct heap_thread {
	uint32_t n;
	uint64_t freed; /* the last: operator delete and free() tell of the same */
	struct heap_call calls[OPEN_MAX];
};

struct heap_sample {
	uint64_t file_off, bytes;
	uint32_t group;
	bool in_use;
};

struct heap_scan {
	struct hash_table process_index, thread_index; /* pid, tid -> index */
	struct hash_table group_index;		       /* hash of its key -> index */
	VEC(struct group) groups;
	VEC(struct heap_process) processes;
	VEC(struct heap_thread *) threads;
	VEC(struct block) blocks;
	VEC(uint32_t) spare; /* of blocks */
	VEC(struct heap_sample) samples;
	unsigned last_class;
	uint64_t last_ns;
	uint64_t calls, unknown_frees, without_end; /* numbers */
	uint64_t no_pointer;			    /* bytes */
};

/* ---- tables --------------------------------------------------------------------------------- */

static int process_of(struct heap_scan *s, uint32_t pid, uint32_t *ret)
{
	struct heap_process p = {.pid = pid};

	*ret = hash_get(&s->process_index, pid);
	if (*ret != HASH_NONE)
		return 0;
	*ret = (uint32_t)s->processes.n;
	return vec_push(&s->processes, p) || hash_put(&s->process_index, pid, *ret) ? -1 : 0;
}

/* Keys are 64-bit hashes: that two of a recording are equal is not to be expected. */
static int group_of(struct heap_scan *s, uint32_t process, const struct heap_call *c, uint32_t *ret)
{
	const struct group g = {.process = process};
	const uint64_t key = hash_mix(hash_mix((uint64_t)process << 8 | c->class, c->at.ra),
				      hash_mix(c->at.sp, c->at.function));

	*ret = hash_get(&s->group_index, key);
	if (*ret != HASH_NONE)
		return 0;
	*ret = (uint32_t)s->groups.n;
	return s->groups.n >= HASH_NONE || vec_push(&s->groups, g) ||
			       hash_put(&s->group_index, key, *ret)
		       ? -1
		       : 0;
}

static struct heap_thread *thread_of(struct heap_scan *s, uint32_t tid)
{
	const uint32_t i = hash_get(&s->thread_index, tid);
	struct heap_thread *t;

	if (i != HASH_NONE)
		return s->threads.v[i];
	t = calloc(1, sizeof *t);
	if (!t || vec_push(&s->threads, t)) {
		free(t);
		return NULL;
	}
	return hash_put(&s->thread_index, tid, (uint32_t)s->threads.n - 1) ? NULL : t;
}

static void add(struct amount *a, const struct block *b)
{
	a->objects += b->objects;
	a->bytes += b->bytes;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Takes a block out of use, and keeps it as long as a realloc() may put it back. Returns its index;
 * HASH_NONE: it is not known. */
static uint32_t release(struct heap_scan *s, uint32_t process, uint64_t pointer)
{
	struct heap_process *p = &s->processes.v[process];
	const uint32_t i = hash_get(&p->blocks, pointer);

	if (i != HASH_NONE)
		hash_remove(&p->blocks, pointer);
	return i;
}

static int forget(struct heap_scan *s, uint32_t block)
{
	if (block == HASH_NONE)
		return 0;
	s->blocks.v[block].group = NO_OWNER;
	return vec_push(&s->spare, block);
}

static int keep(struct heap_scan *s, uint32_t process, uint64_t pointer, const struct block *b)
{
	uint32_t i = (uint32_t)s->blocks.n;

	/* Of the block that was there the end was not recorded. */
	if (forget(s, release(s, process, pointer)))
		return -1;
	if (s->spare.n) {
		i = s->spare.v[--s->spare.n];
		s->blocks.v[i] = *b;
	} else if (s->blocks.n >= HASH_NONE || vec_push(&s->blocks, *b)) {
		return -1;
	}
	return hash_put(&s->processes.v[process].blocks, pointer, i);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* An entry: one record of all of them, another if it has a stack; in any order. */
static int take_entry(struct heap_scan *s, struct heap_thread *t, uint32_t process,
		      const struct perf_sample *sample, const struct perf_heap_call *at)
{
	const bool has_stack = sample->event->heap == PERF_HEAP_STACK;
	struct heap_call *c = t->n ? &t->calls[t->n - 1] : NULL;

	/* Calls whose return was not recorded: they are above this one on the stack. */
	while (c && (c->at.sp < at->sp || (c->at.sp == at->sp && c->at.function == at->function &&
					   (has_stack ? c->has_stack : c->has_entry)))) {
		s->without_end++;
		c = --t->n ? &t->calls[t->n - 1] : NULL;
	}
	if (!c || c->at.sp != at->sp || c->at.function != at->function) {
		if (t->n == OPEN_MAX)
			return 0;
		c = &t->calls[t->n++];
		*c = (struct heap_call){
			.at = *at,
			.class = (uint8_t)heap_class(at->size, at->n, s->last_class),
			.old = HASH_NONE,
		};
		/* From here on another thread may get the memory. */
		if (at->old != HEAP_ELSEWHERE && at->old && t->n == 1)
			c->old = release(s, process, at->old);
	}
	c->has_entry |= !has_stack;
	c->has_stack |= has_stack;
	if (has_stack)
		c->file_off = sample->file_off;
	return 0;
}

/* An allocation has succeeded. pointer 0: where is not known. */
static int allocated(struct heap_scan *s, uint32_t process, const struct heap_call *c,
		     uint64_t pointer)
{
	struct block b = {.sample = NO_SAMPLE, .objects = 1, .bytes = c->at.size * c->at.n};
	struct group *g;

	if (group_of(s, process, c, &b.group))
		return -1;
	g = &s->groups.v[b.group];
	add(&g->all, &b);
	if (c->has_stack) {
		const struct heap_sample sample = {
			.file_off = c->file_off,
			.bytes = b.bytes,
			.group = b.group,
		};

		b.sample = (uint32_t)s->samples.n;
		add(&g->sampled, &b);
		if (s->samples.n >= NO_SAMPLE || vec_push(&s->samples, sample))
			return -1;
	}
	if (!pointer) {
		s->no_pointer += b.bytes;
		return 0;
	}
	return keep(s, process, pointer, &b);
}

static int take_return(struct heap_scan *s, struct heap_thread *t, uint32_t process,
		       const struct perf_heap_call *at)
{
	const struct heap_call *c;
	uint32_t i = t->n;

	while (i && t->calls[i - 1].at.function != at->function)
		i--;
	if (!i)
		return 0; /* it began before the recording */
	s->without_end += t->n - i;
	t->n = i - 1;
	c = &t->calls[t->n];
	if (t->n || !c->has_entry)
		return 0;
	if (c->at.where || c->at.old == HEAP_ELSEWHERE)
		return at->pointer ? 0
				   : allocated(s, process, c, perf_heap_stored(at, c->at.where));
	if (at->pointer)
		return forget(s, c->old) ? -1 : allocated(s, process, c, at->pointer);
	/* It failed, or it was realloc(p, 0), which is free(p). */
	if (c->old != HASH_NONE && c->at.size)
		return hash_put(&s->processes.v[process].blocks, c->at.old, c->old);
	return forget(s, c->old);
}

static int take_free(struct heap_scan *s, struct heap_thread *t, uint32_t process,
		     const struct perf_heap_call *at)
{
	uint32_t block;

	/* What realloc() frees has been taken out of use. */
	if (!at->pointer || (t->n && t->calls[0].at.old == at->pointer))
		return 0;
	block = release(s, process, at->pointer);
	s->unknown_frees += block == HASH_NONE && t->freed != at->pointer;
	t->freed = at->pointer;
	return forget(s, block);
}

static int take_sample(struct heap_scan *s, const struct perf_sample *sample)
{
	struct perf_heap_call at;
	struct heap_thread *t;
	uint32_t process;

	if (!perf_heap_call(sample, &at))
		return 0;
	t = thread_of(s, sample->tid);
	if (!t || process_of(s, sample->pid, &process))
		return -1;
	s->last_ns = sample->time_ns;
	s->calls++;
	if (sample->event->heap == PERF_HEAP_RETURN || sample->event->heap == PERF_HEAP_STORED)
		return take_return(s, t, process, &at);
	if (sample->event->heap == PERF_HEAP_FREE)
		return take_free(s, t, process, &at);
	t->freed = 0;
	return take_entry(s, t, process, sample, &at);
}

/* ---- what the samples stand for -------------------------------------------------------------- */

/* Which blocks are in use at the end. */
static void count_in_use(struct heap_scan *s)
{
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct block *b = &s->blocks.v[i];
		struct group *g;

		if (b->group == NO_OWNER)
			continue;
		g = &s->groups.v[b->group];
		add(&g->in_use, b);
		if (b->sample == NO_SAMPLE)
			continue;
		add(&g->sampled_in_use, b);
		s->samples.v[b->sample].in_use = true;
	}
}

/* all * n / of, rounded, and all of it for n = of. */
static uint64_t up_to(uint64_t all, uint64_t n, uint64_t of)
{
	return n >= of ? all : (uint64_t)((long double)all * n / of);
}

/* The share of `part` in `all`, where those before it of `of` had `before`: sums are exact. */
static uint64_t share(uint64_t all, uint64_t before, uint64_t part, uint64_t of)
{
	return of ? up_to(all, before + part, of) - up_to(all, before, of) : 0;
}

static void take_share(const struct amount *all, const struct amount *of, struct amount *before,
		       uint64_t bytes, uint64_t *objects_ret, uint64_t *bytes_ret)
{
	*objects_ret = share(all->objects, before->objects, 1, of->objects);
	*bytes_ret = share(all->bytes, before->bytes, bytes, of->bytes);
	before->objects++;
	before->bytes += bytes;
}

static int weigh_samples(struct heap_scan *s, struct heap_weights *ret)
{
	if (vec_reserve(&ret->weights, s->samples.n + 1))
		return -1;
	for (size_t i = 0; i < s->samples.n; i++) {
		const struct heap_sample *h = &s->samples.v[i];
		struct group *g = &s->groups.v[h->group];
		const bool by_use = g->sampled_in_use.objects;
		struct perf_heap_weight w = {.file_off = h->file_off};

		take_share(&g->all, &g->sampled, &g->before, h->bytes,
			   &w.values[PERF_HEAP_ALLOC_OBJECTS], &w.values[PERF_HEAP_ALLOC_SPACE]);
		if (h->in_use || !by_use)
			take_share(&g->in_use, by_use ? &g->sampled_in_use : &g->sampled,
				   &g->before_in_use, h->bytes, &w.values[PERF_HEAP_INUSE_OBJECTS],
				   &w.values[PERF_HEAP_INUSE_SPACE]);
		ret->weights.v[ret->weights.n++] = w;
	}
	return 0;
}

/* What has no sample with a stack. */
static int weigh_rest(const struct heap_scan *s, struct heap_weights *ret)
{
	const size_t n = s->processes.n;

	if (vec_reserve(&ret->rest, n + 1))
		return -1;
	for (ret->rest.n = 0; ret->rest.n < n; ret->rest.n++)
		ret->rest.v[ret->rest.n] = (struct perf_heap_rest){
			.pid = s->processes.v[ret->rest.n].pid, .time_ns = s->last_ns};
	for (size_t i = 0; i < s->groups.n; i++) {
		const struct group *g = &s->groups.v[i];
		uint64_t *v = ret->rest.v[g->process].values;

		if (g->sampled.objects)
			continue;
		v[PERF_HEAP_ALLOC_OBJECTS] += g->all.objects;
		v[PERF_HEAP_ALLOC_SPACE] += g->all.bytes;
		v[PERF_HEAP_INUSE_OBJECTS] += g->in_use.objects;
		v[PERF_HEAP_INUSE_SPACE] += g->in_use.bytes;
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct perf_heap_weight *x = a, *y = b;

	return x->file_off < y->file_off ? -1 : x->file_off > y->file_off;
}

static int weigh(struct heap_scan *s, struct heap_weights *ret)
{
	count_in_use(s);
	if (weigh_samples(s, ret) || weigh_rest(s, ret))
		return -1;
	qsort(ret->weights.v, ret->weights.n, sizeof *ret->weights.v, by_offset);
	return 0;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static void find_last_class(struct heap_scan *s, const struct perf_file *f)
{
	for (size_t i = 0; i < perf_file_event_count(f); i++) {
		const struct perf_event *e = perf_file_event(f, i);
		const unsigned of = e->heap == PERF_HEAP_STACK
					    ? (unsigned)atoi(e->name + sizeof HEAP_STACK_EVENT - 1)
					    : 0;

		if (of < CLASSES && of > s->last_class)
			s->last_class = of;
	}
}

static int scan(struct heap_scan *s, struct perf_file *f, const struct load_options *opt,
		struct err *err)
{
	struct perf_batch *b;
	int rc;

	find_last_class(s, f);
	while ((rc = perf_file_read(f, &b, err)) > 0) {
		for (size_t i = 0; i < b->n && rc >= 0; i++)
			rc = take_sample(s, &b->samples[i]) ? err_nomem(err) : 0;
		perf_batch_release(f, b);
		if (rc < 0 || (opt->stop && *opt->stop))
			break;
	}
	return rc < 0 ? rc : 0;
}

static void scan_done(struct heap_scan *s)
{
	for (size_t i = 0; i < s->processes.n; i++)
		hash_done(&s->processes.v[i].blocks);
	for (size_t i = 0; i < s->threads.n; i++)
		free(s->threads.v[i]);
	hash_done(&s->process_index);
	hash_done(&s->thread_index);
	hash_done(&s->group_index);
	vec_done(&s->groups);
	vec_done(&s->processes);
	vec_done(&s->threads);
	vec_done(&s->blocks);
	vec_done(&s->spare);
	vec_done(&s->samples);
}

/* What is in use may be little beside what was allocated, and be all that is asked for. */
static void note_rest(struct loaded *p, const struct heap_scan *s)
{
	uint64_t in_use = 0, bare = 0;

	for (size_t i = 0; i < s->groups.n; i++) {
		in_use += s->groups.v[i].in_use.bytes;
		bare += s->groups.v[i].sampled.objects ? 0 : s->groups.v[i].in_use.bytes;
	}
	if (bare * BARE_SHARE > in_use)
		loaded_note(p,
			    "%" PRIu64 " of %" PRIu64 " bytes in use are of calls without a stack "
			    "([unknown]): record with a smaller --alloc=BYTES, as 16K",
			    bare, in_use);
}

static void note(struct loaded *p, const struct heap_scan *s)
{
	note_rest(p, s);
	/* Some are always: memory that the loader had made by itself. */
	if (s->unknown_frees * UNKNOWN_SHARE > s->calls)
		loaded_note(p,
			    "%" PRIu64 " blocks were freed whose allocation was not recorded: of "
			    "before the recording, or of another process that had forked",
			    s->unknown_frees);
	if (s->without_end)
		loaded_note(
			p, "%" PRIu64 " allocations have no end in the recording, and do not count",
			s->without_end);
	if (s->no_pointer)
		loaded_note(p,
			    "%" PRIu64
			    " bytes came from posix_memalign into no variable of its caller: "
			    "allocated; whether they are in use is not known, and they do not "
			    "count as that",
			    s->no_pointer);
}

int heap_weigh(struct loaded *p, const struct load_options *opt, struct err *err)
{
	struct perf_file_options fo = {
		.part_of = pipeline_part_of,
		.part_of_arg = p,
		.only_trusted = !opt->symbolizer.foreign_jit_maps,
		.stop = opt->stop,
		.heap_calls = true,
	};
	struct heap_scan s = {0};
	struct perf_file *f = NULL;
	struct stat st;
	int rc;

	if (!perf_file_has_heap(p->file) || stat(p->path, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	rc = perf_file_open(&f, p->path, &fo, err);
	if (!rc)
		rc = scan(&s, f, opt, err);
	if (!rc && weigh(&s, &p->heap))
		rc = err_nomem(err);
	perf_file_close(f);
	if (!rc) {
		note(p, &s);
		perf_file_set_heap(p->file, p->heap.weights.v, p->heap.weights.n, p->heap.rest.v,
				   p->heap.rest.n);
	}
	scan_done(&s);
	return rc;
}

void heap_weights_done(struct heap_weights *w)
{
	vec_done(&w->weights);
	vec_done(&w->rest);
}

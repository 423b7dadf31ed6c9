/* test_stacks.c - whatever order stacks come in, and however often, each sample's node leads back
 * to the sample's own frames; equal stacks have equal nodes, others have others; samples are one
 * when all of their key is equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash.h"
#include "tests/profile/synthetic.h"

enum { N_STACKS = 400, FRAMES_MAX = 1300, N_ADDED = 6000 };

static struct frame frames[N_STACKS][FRAMES_MAX];
static size_t n_frames[N_STACKS];
static uint64_t seed = 7;

static uint32_t below(uint32_t n)
{
	seed += 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash_u64(seed) % n);
}

/* All numbers that the unwinder may give: the same for a place in all processes, none, and, because
 * it is a hint, a wrong one. */
static uint32_t number_of(const struct frame *f)
{
	switch (f->map ? below(8) : 0) {
	case 0:
		return 0;
	case 1:
		return below(300);
	default:
		return 1 + (uint32_t)(frame_lookup_ip(f) - f->map->start);
	}
}

static struct frame frame_make(void)
{
	static const uint8_t hows[] = {FRAME_CFI, FRAME_CFI, FRAME_STITCHED, FRAME_FRAME_POINTER};
	uint32_t m = below(11);
	struct frame f = {.how = hows[below(4)], .is_return_address = below(4) > 0};

	if (m < 10)
		f.map = &synthetic_maps[m];
	f.ip = (m < 10 ? f.map->start : 0x1000) + 1 + below(30);
	f.is_kernel = m == 2 || m == 3;
	f.place_id = number_of(&f);
	return f;
}

/* Few of them are deep. Half share callers with the one before. Stacks 1, 3 .. differ in one frame
 * from a stack that is there, some not at all. */
static void stacks_make(void)
{
	size_t i, k, shared;

	for (i = 0; i < N_STACKS; i++) {
		n_frames[i] = below(i % 8 ? 30 : i % 64 ? 200 : FRAMES_MAX);
		shared = i ? n_frames[i - 1] : 0;
		if (shared > n_frames[i])
			shared = n_frames[i];
		if (below(2))
			shared = 0;
		for (k = 0; k < n_frames[i]; k++)
			frames[i][k] = k < n_frames[i] - shared
					       ? frame_make()
					       : frames[i - 1][n_frames[i - 1] - n_frames[i] + k];
		if (i % 2 && n_frames[i - 1]) {
			n_frames[i] = n_frames[i - 1];
			memcpy(frames[i], frames[i - 1], sizeof frames[i]);
			frames[i][below((uint32_t)n_frames[i])].ip ^= below(2);
		}
	}
}

/* Two processes that have a file in the same place have one mapping of it. */
static bool same_place(const struct map *a, const struct map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff;
}

static bool location_is(const struct profile *p, uint32_t id, const struct frame *f)
{
	const struct profile_location *l = &p->locations.v[id];
	const struct profile_mapping *m = &p->mappings.v[l->mapping];
	uint64_t off = frame_lookup_ip(f);
	uint8_t how = f->how;

	if (f->map && f->map->dso->kind != DSO_KERNEL && f->map->dso->kind != DSO_ANON)
		off = map_ip_to_off(f->map, off);
	return l->off == off && m->dso == (f->map ? f->map->dso : NULL) &&
	       (!m->map.end || same_place(&m->map, f->map)) && l->how == how &&
	       l->is_kernel == f->is_kernel && l->is_return_address == f->is_return_address;
}

static void check_stack(const struct profile *p, uint32_t node, size_t stack)
{
	size_t k;

	assert_int_equal(p->nodes.v[node].depth, n_frames[stack]);
	for (k = 0; k < n_frames[stack]; k++, node = p->nodes.v[node].parent)
		if (!location_is(p, p->nodes.v[node].location, &frames[stack][k]))
			fail_msg("stack %zu, frame %zu: another location", stack, k);
	assert_int_equal(node, 0);
}

/* A tree in which every child of a node has another location has each stack once. */
static void check_tree(const struct profile *p)
{
	size_t i, k;

	for (i = 1; i < p->nodes.n; i++)
		for (k = i + 1; k < p->nodes.n && k < i + 500; k++)
			assert_false(p->nodes.v[i].parent == p->nodes.v[k].parent &&
				     p->nodes.v[i].location == p->nodes.v[k].location);
	for (i = 0; i < p->locations.n; i++)
		for (k = i + 1; k < p->locations.n; k++) {
			const struct profile_location *a = &p->locations.v[i];
			const struct profile_location *b = &p->locations.v[k];

			assert_false(a->off == b->off && a->mapping == b->mapping &&
				     a->how == b->how && a->is_kernel == b->is_kernel &&
				     a->is_return_address == b->is_return_address);
		}
}

static bool is_counted_in(const struct profile_log_entry *e, const struct profile_sample *s,
			  unsigned keep)
{
	return e->node == s->node && e->event == s->event && e->comm == s->comm &&
	       e->stop == s->stop && (!(keep & PROFILE_KEEP_TIDS) || e->tid == s->tid) &&
	       (!(keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS)) || e->pid == s->pid);
}

/* Each sample counts what was added with its key; together that is all, so no key is there twice.
 */
static void check_samples(const struct profile *p, unsigned keep)
{
	uint64_t count, period, total = 0;
	size_t i, k;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];

		for (k = 0, count = period = 0; k < p->log.n; k++)
			if (is_counted_in(&p->log.v[k], s, keep)) {
				count++;
				period += p->log.v[k].period;
			}
		assert_int_equal(s->count, count);
		assert_int_equal(s->period, period);
		total += count;
	}
	assert_int_equal(total, p->log.n);
}

static struct perf_sample sample_make(uint64_t time_ns)
{
	return (struct perf_sample){
		.event = &synthetic_events[below(2)],
		.comm = below(4) ? "a" : "b",
		.pid = 100 + below(2),
		.tid = 100 + below(4),
		.period = 1 + below(9),
		.time_ns = time_ns,
	};
}

static struct stack_trace trace_make(uint32_t stack, enum unwind_stop stop)
{
	return (struct stack_trace){.frames = frames[stack], .n = n_frames[stack], .stop = stop};
}

/* Some traces get other frames when their digests are made already. */
static void change_some(struct stack_trace *traces, uint32_t *stacks, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!below(4)) {
			stacks[k] = below(N_STACKS);
			traces[k] = trace_make(stacks[k], traces[k].stop);
		}
}

static void nodes_lead_back_to_the_frames(unsigned keep)
{
	struct stack_digest digests[PROFILE_BATCH];
	static uint32_t added[N_ADDED], node_of[N_STACKS];
	struct profile *p = profile_new(keep | PROFILE_KEEP_LOG);
	const struct perf_sample *samples[PROFILE_BATCH];
	struct perf_sample s[PROFILE_BATCH];
	struct stack_trace traces[PROFILE_BATCH];
	size_t i, k, n;

	assert_non_null(p);
	for (i = 0; i < N_ADDED; i += n) {
		n = 1 + below(PROFILE_BATCH);
		n = n < N_ADDED - i ? n : N_ADDED - i;
		for (k = 0; k < n; k++) {
			added[i + k] = below(below(2) ? N_STACKS : 20);
			s[k] = sample_make(i + k);
			samples[k] = &s[k];
			traces[k] = trace_make(added[i + k],
					       below(5) ? UNWIND_STOP_END : UNWIND_STOP_NO_CFI);
		}
		profile_digest(p, traces, n, digests);
		change_some(traces, &added[i], n);
		assert_int_equal(
			profile_add_batch(p, samples, traces, below(3) ? digests : NULL, n, NULL),
			0);
	}
	assert_int_equal(p->log.n, N_ADDED);
	memset(node_of, 0xff, sizeof node_of);
	for (i = 0; i < N_ADDED; i++) {
		uint32_t stack = added[p->log.v[i].time_ns], node = p->log.v[i].node;

		check_stack(p, node, stack);
		assert_true(node_of[stack] == UINT32_MAX || node_of[stack] == node);
		node_of[stack] = node;
	}
	check_tree(p);
	check_samples(p, keep);
	profile_free(p);
}

static void by_file(void **state)
{
	(void)state;
	nodes_lead_back_to_the_frames(0);
}

static void by_process(void **state)
{
	(void)state;
	nodes_lead_back_to_the_frames(PROFILE_KEEP_PIDS);
}

static void by_thread(void **state)
{
	(void)state;
	nodes_lead_back_to_the_frames(PROFILE_KEEP_TIDS);
}

static void by_mapping(void **state)
{
	(void)state;
	nodes_lead_back_to_the_frames(PROFILE_KEEP_IPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_file),
		cmocka_unit_test(by_mapping),
		cmocka_unit_test(by_process),
		cmocka_unit_test(by_thread),
	};

	stacks_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

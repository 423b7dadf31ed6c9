/* rings.c - maps the rings of a session, within the user's limit on locked memory. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "capture/perf_rights.h"
#include "capture/session.h"
#include "reader/format.h"
#include "reader/reader.h"

#define RING_BYTES_MIN	 ((size_t)128 << 10) /* room for two records of the maximum size */
#define RING_BYTES_AUTO	 ((size_t)SESSION_RING_KB << 10)
#define RING_BYTES_MAX	 ((size_t)64 << 20)
#define NEEDED_BYTES_MAX ((size_t)32 << 20)
/* Limit on the sum of all rings, unless more is needed. */
#define RINGS_BYTES_MAX	  ((size_t)256 << 20)
#define SIDE_BYTES_NEEDED ((size_t)512 << 10)
#define SIDE_BYTES_WANTED ((size_t)2 << 20)
/* Records about processes are small: the room of samples is taken last. */
#define SIDE_BYTES_MIN	((size_t)SESSION_SIDE_KB << 10)
#define SIDES_BYTES_MAX ((size_t)64 << 20)

/* The reader runs before all others of its CPU, if it may, and is away all the same while the
 * hypervisor gives that CPU to another machine: 180 ms were seen. A ring wakes its reader when half
 * of it is full, and the other half is what there is to wait with. */
#define ROOM_MS	  400
#define HITS_HZ	  4000
#define NEEDED_MS 100

static size_t round_up_pow2(size_t n)
{
	size_t r = 4096;

	while (r < n && r < (SIZE_MAX >> 1))
		r *= 2;
	return r;
}

/* Approximate size of a sample. No record is larger than its u16 size: the kernel makes copies
 * smaller. */
static size_t record_bytes(const struct session *s)
{
	size_t n = 512 + (s->policy.call_graph == CALL_GRAPH_DWARF ? s->policy.stack_bytes : 0);

	return n < UINT16_MAX ? n : UINT16_MAX;
}

/* Samples a second. Each hit of a tracepoint or probe is one: their number is not known before. */
static size_t expected_hz(const struct session *s)
{
	size_t hz = s->policy.frequency_hz;

	for (size_t i = 0; i < s->n_events; i++)
		if (hz < HITS_HZ &&
		    (s->events[i].is_probe || event_is_tracepoint(s->events[i].type)))
			hz = HITS_HZ;
	return hz;
}

/* The size of a ring for the samples of `ms` milliseconds, within the limits of ring sizes. */
static size_t room_bytes(const struct session *s, unsigned ms, size_t max)
{
	size_t bytes;

	bytes = round_up_pow2(expected_hz(s) * ms / 1000 * record_bytes(s));
	if (bytes < RING_BYTES_AUTO)
		return RING_BYTES_AUTO;
	return bytes < max ? bytes : max;
}

/* The size that each of n rings can have when all share the limit. */
static size_t affordable_bytes(size_t wanted, size_t needed, size_t n_rings, size_t all)
{
	while (wanted > needed && wanted * n_rings > all)
		wanted /= 2;
	return wanted;
}

/* `ret_needed`: below this size the user is warned. */
static size_t wanted_ring_bytes(const struct session *s, size_t n_rings, size_t *ret_needed)
{
	const struct capture_options *o = s->opt;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (o->ring_bytes) {
		size_t bytes = round_up_pow2(o->ring_bytes);

		return *ret_needed = bytes < page ? page : bytes;
	}
	*ret_needed = room_bytes(s, NEEDED_MS, NEEDED_BYTES_MAX);
	return affordable_bytes(room_bytes(s, ROOM_MS, RING_BYTES_MAX), *ret_needed, n_rings,
				RINGS_BYTES_MAX);
}

static bool ring_counter(const struct ring_set *set, size_t slot, size_t from, size_t *ret)
{
	for (size_t i = from; i < set->counters.n; i++)
		if (set->counters.v[i].slot == slot) {
			*ret = i;
			return true;
		}
	return false;
}

/* Returns 0 or a negative errno. */
static int map_set(struct ring_set *set, size_t bytes)
{
	for (size_t slot = 0; slot < set->cpus.cpus.n; slot++) {
		struct cpu_ring *r = &set->rings[slot];
		int rc;

		if (!ring_counter(set, slot, 0, &r->poll_counter)) {
			r->poll_counter = SIZE_MAX;
			continue;
		}
		rc = ring_map(&r->ring, set->counters.v[r->poll_counter].fd, bytes);
		if (rc)
			return rc;
	}
	return 0;
}

/* The first counter of a CPU owns the ring; the other counters write to it as well. */
static int share_rings(struct ring_set *set, struct err *err)
{
	for (size_t i = 0; i < set->counters.n; i++) {
		const struct counter *c = &set->counters.v[i];
		size_t owner = set->rings[c->slot].poll_counter;

		if (i != owner &&
		    ioctl(c->fd, PERF_EVENT_IOC_SET_OUTPUT, set->counters.v[owner].fd))
			return err_errno(err, errno, NULL, "share a ring between events");
	}
	return 0;
}

static size_t count_rings(const struct ring_set *set)
{
	size_t n = 0, at;

	for (size_t slot = 0; slot < set->cpus.cpus.n; slot++)
		n += ring_counter(set, slot, 0, &at);
	return n;
}

void session_unmap_rings(struct session *s)
{
	for (int k = 0; k < RING_KINDS; k++)
		for (size_t slot = 0; s->sets[k].rings && slot < s->sets[k].cpus.cpus.n; slot++)
			ring_unmap(&s->sets[k].rings[slot].ring);
}

static int map_all(struct session *s)
{
	int rc = map_set(&s->sets[RING_SIDEBAND], s->side_bytes);

	if (!rc)
		rc = map_set(&s->sets[RING_SAMPLES], s->ring_bytes);
	if (!rc)
		rc = map_set(&s->sets[RING_SWITCHES], s->ring_bytes);
	return rc ? rc : map_set(&s->sets[RING_ALARM], (size_t)sysconf(_SC_PAGESIZE));
}

size_t session_locked_kb(size_t ring_kb)
{
	return ring_kb + SESSION_SIDE_KB + 4 * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Uses less memory: first halves what is more than needed, then the rings of other records, then
 * those of samples. Returns false if both are small already. */
static bool halve_rings(struct session *s, size_t needed)
{
	size_t *bytes = &s->ring_bytes;

	if (s->ring_bytes <= needed &&
	    (s->side_bytes > SIDE_BYTES_MIN || s->side_bytes > s->ring_bytes))
		bytes = &s->side_bytes;
	if (*bytes / 2 < RING_BYTES_MIN)
		return false;
	*bytes /= 2;
	return true;
}

int session_map_rings(struct session *s, struct err *err)
{
	struct ring_set *samples = &s->sets[RING_SAMPLES], *side = &s->sets[RING_SIDEBAND];
	struct ring_set *switches = &s->sets[RING_SWITCHES];
	size_t needed;
	int rc;

	for (int k = 0; k < RING_KINDS; k++) {
		s->sets[k].rings = calloc(s->sets[k].cpus.cpus.n, sizeof *s->sets[k].rings);
		if (!s->sets[k].rings)
			return err_nomem(err);
	}
	s->ring_bytes = wanted_ring_bytes(s, count_rings(samples) + count_rings(switches), &needed);
	s->side_bytes = affordable_bytes(SIDE_BYTES_WANTED, SIDE_BYTES_NEEDED, count_rings(side),
					 SIDES_BYTES_MAX);
	while ((rc = map_all(s))) {
		session_unmap_rings(s);
		if ((rc != -EPERM && rc != -ENOMEM) || !halve_rings(s, needed))
			return refused_map_err(
				err, -rc,
				&(struct refused_map){count_rings(samples) + count_rings(switches),
						      s->ring_bytes, count_rings(side),
						      s->side_bytes});
	}
	if (s->ring_bytes < needed)
		capture_note(
			s->result,
			"rings have %zu KiB instead of %zu: this user may lock no more memory; "
			"sudo sysctl kernel.perf_event_mlock_kb=%zu allows it",
			s->ring_bytes / 1024, needed / 1024, session_locked_kb(needed / 1024));
	if (s->ring_bytes < record_bytes(s))
		capture_note(
			s->result,
			"a ring of %zu KiB has no room for a copy of %u KiB of stack: all samples "
			"that have one are lost; -m %zuK would do",
			s->ring_bytes / 1024, s->policy.stack_bytes / 1024,
			round_up_pow2(2 * record_bytes(s)) / 1024);
	rc = share_rings(samples, err);
	if (!rc)
		rc = share_rings(switches, err);
	if (!rc)
		rc = share_rings(&s->sets[RING_ALARM], err);
	return rc ? rc : share_rings(side, err);
}

bool session_next_poll(struct session *s, enum ring_kind kind, size_t slot)
{
	struct ring_set *set = &s->sets[kind];
	struct cpu_ring *r = &set->rings[slot];

	if (r->poll_counter != SIZE_MAX &&
	    ring_counter(set, slot, r->poll_counter + 1, &r->poll_counter))
		return true;
	r->poll_counter = SIZE_MAX;
	return false;
}

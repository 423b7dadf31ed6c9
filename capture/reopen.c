/* reopen.c - the events of a processor that comes back. */
#include "capture/reopen.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/hash.h"
#include "capture/attr.h"
#include "reader/format.h"

/* PERF_FORMAT_ID | PERF_FORMAT_LOST */
struct count {
	uint64_t value, id, lost;
};

static struct count count_of(int fd)
{
	struct count v = {0};

	if (read(fd, &v, sizeof v) < 16)
		v = (struct count){0};
	return v;
}

static int open_again(const struct session *s, const struct counter *c, enum ring_kind kind)
{
	const bool in_cgroup = kind < RING_SIDEBAND && s->cgroup_fd >= 0;
	const struct event *e = &s->events[c->event];
	int fd;

	if (e->is_probe && !e->tracefs_name) /* its attr points to what only the first one had */
		return -1;
	fd = attr_open(&s->attrs[c->event], in_cgroup ? s->cgroup_fd : -1,
		       s->sets[kind].cpus.cpus.v[c->slot], in_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	if (fd >= 0 && *e->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The descriptor stays, so that those who poll it need not know. */
static bool reopen(struct session *s, enum ring_kind kind, size_t at)
{
	struct counter *c = &s->sets[kind].counters.v[at];
	const struct count before = count_of(c->fd);
	const int fd = open_again(s, c, kind);
	uint64_t id;
	bool ok;

	if (fd < 0)
		return false;
	ok = !ioctl(fd, PERF_EVENT_IOC_ID, &id) && !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd) &&
	     !hash_put(&s->reopened, id, (uint32_t)(at * RING_KINDS + kind)) &&
	     dup3(fd, c->fd, O_CLOEXEC) >= 0;
	close(fd);
	if (!ok)
		return false;
	c->value_before -= before.value; /* counts from 0 again */
	c->lost_before -= before.lost;
	return true;
}

static bool reopen_set(struct session *s, enum ring_kind kind, int cpu, bool delayed)
{
	struct ring_set *set = &s->sets[kind];
	bool ok = true;

	for (size_t i = 0; i < set->counters.n && ok; i++) {
		const struct counter *c = &set->counters.v[i];

		if (set->cpus.cpus.v[c->slot] != cpu)
			continue;
		ok = reopen(s, kind, i);
		if (ok && (kind >= RING_SIDEBAND || !delayed) && !set->rings[c->slot].rate.paused)
			ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return ok;
}

static bool has_slot(const struct ring_set *set, int cpu)
{
	for (size_t i = 0; i < set->cpus.cpus.n; i++)
		if (set->cpus.cpus.v[i] == cpu)
			return true;
	return false;
}

bool session_reopen(struct session *s, int cpu, bool delayed)
{
	/* First what tells of processes: a sample without its maps has no names. */
	return has_slot(&s->sets[RING_SIDEBAND], cpu) &&
	       reopen_set(s, RING_SIDEBAND, cpu, delayed) &&
	       reopen_set(s, RING_ALARM, cpu, delayed) &&
	       reopen_set(s, RING_SAMPLES, cpu, delayed) &&
	       reopen_set(s, RING_SWITCHES, cpu, delayed);
}

const uint8_t *session_known_id(const struct session *s, const uint8_t *rec, size_t n,
				uint8_t *scratch)
{
	struct perf_event_header h;
	uint32_t found;
	uint64_t id;
	size_t at;

	if (!s->reopened.n)
		return rec;
	memcpy(&h, rec, sizeof h);
	/* attr.h: the first field of a sample, the last of all others. */
	at = h.type == PERF_RECORD_SAMPLE ? sizeof h : n - sizeof id;
	memcpy(&id, rec + at, sizeof id);
	found = hash_get(&s->reopened, id);
	if (found == HASH_NONE)
		return rec;
	memmove(scratch, rec, n);
	id = s->sets[found % RING_KINDS].counters.v[found / RING_KINDS].id;
	memcpy(scratch + at, &id, sizeof id);
	return scratch;
}

/* recording_wait.c - waits until records are there to be read. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "capture/recording.h"

static void poll_rings(struct recording *r, enum ring_kind k)
{
	const struct ring_set *set = &r->session.sets[k];

	for (size_t slot = 0; slot < set->cpus.cpus.n; slot++) {
		size_t c = set->rings[slot].poll_counter;
		bool has = c != SIZE_MAX;

		r->fds[r->n_fds++] =
			(struct pollfd){.fd = has ? set->counters.v[c].fd : -1, .events = POLLIN};
		r->n_polled += has && k < RING_SIDEBAND;
	}
}

int recording_prepare_poll(struct recording *r, struct err *err)
{
	struct session *s = &r->session;
	size_t n = 0;

	for (int k = 0; k < RING_KINDS; k++)
		n += s->sets[k].cpus.cpus.n;
	r->fds = calloc(n + 1, sizeof *r->fds);
	if (!r->fds)
		return err_nomem(err);
	poll_rings(r, RING_SAMPLES);
	poll_rings(r, RING_SWITCHES);
	r->child_fd = r->n_fds++;
	r->fds[r->child_fd] = (struct pollfd){.fd = r->child.pid_fd, .events = POLLIN};
	poll_rings(r, RING_SIDEBAND);
	poll_rings(r, RING_ALARM);
	return 0;
}

static int poll_timeout_ms(const struct recording *r, uint64_t now)
{
	const unsigned wait_ms = r->behind	    ? POLL_BEHIND_MS
				 : r->drain.touches ? POLL_TOUCH_MS * (r->patience + 1)
						    : POLL_MS;
	uint64_t due = now + wait_ms * 1000000ull;

	if (r->drain.turn_ns && r->drain.turn_ns < due)
		due = r->drain.turn_ns;
	if (r->end_ns && r->end_ns < due)
		due = r->end_ns;
	if (r->enable_ns && r->enable_ns < due)
		due = r->enable_ns;
	if (r->next.end_ns && !r->next.finisher && r->next.end_ns < due)
		due = r->next.end_ns;
	return due > now ? (int)((due - now + 999999) / 1000000) : 0;
}

/* Of what the i-th descriptor is, in the order of recording_prepare_poll(), where *slot is left. */
static enum ring_kind polled(const struct recording *r, size_t i, size_t *slot)
{
	static const enum ring_kind before[] = {RING_SAMPLES, RING_SWITCHES};
	enum ring_kind kind = RING_SIDEBAND;

	*slot = i;
	for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
		const size_t n = r->session.sets[before[k]].cpus.cpus.n;

		if (*slot < n)
			return before[k];
		*slot -= n;
	}
	--*slot; /* the child's */
	if (*slot < r->session.sets[kind].cpus.cpus.n)
		return kind;
	*slot -= r->session.sets[kind].cpus.cpus.n;
	return RING_ALARM;
}

/* A ring whose thread has ended hangs up at once, again and again: it is polled by the counter of
 * another thread. If none is left, it is read only when poll() times out. */
static void next_poll_fd(struct recording *r, size_t i)
{
	size_t slot;
	enum ring_kind kind = polled(r, i, &slot);
	struct ring_set *set = &r->session.sets[kind];

	if (session_next_poll(&r->session, kind, slot)) {
		r->fds[i].fd = set->counters.v[set->rings[slot].poll_counter].fd;
		return;
	}
	r->fds[i].fd = -1;
	r->n_polled -= kind < RING_SIDEBAND;
}

bool recording_wait(struct recording *r)
{
	size_t n = r->skips_sideband ? r->child_fd + 1 : r->n_fds;
	bool sideband = false;

	if (poll(r->fds, n, poll_timeout_ms(r, clock_ns())) < 0) {
		if (errno != EINTR) /* no memory: records come all the same */
			poll(NULL, 0, POLL_BEHIND_MS);
		return false; /* a signal: *stop is looked at */
	}
	for (size_t i = 0; i < n; i++) {
		if (i == r->child_fd)
			continue;
		sideband |= i > r->child_fd && r->fds[i].revents & POLLIN;
		if (r->fds[i].fd >= 0 && r->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			next_poll_fd(r, i);
	}
	if (r->fds[r->child_fd].revents)
		/* It stays readable; child_reap() finds out the rest. */
		r->fds[r->child_fd].fd = -1;
	return sideband;
}

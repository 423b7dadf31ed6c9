/* exchange.c - threads and processes keep their events, as long as they seldom switch. */
#include "capture/exchange.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* Reading the counters, each with those of all tasks that inherited it, takes a hundredth of a CPU.
 */
#define LOOK_NS	   20000000
#define LOOK_SHARE 100

int exchange_prevent(struct exchange *x, const struct attr_policy *p, pid_t tid)
{
	struct perf_event_attr a;
	int fd;

	attr_for_switches(&a, p);
	fd = attr_open(&a, tid, -1, 0);
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		/* Switches happen in the kernel: it counts none then. */
		a.exclude_kernel = 1;
		fd = attr_open(&a, tid, -1, 0);
	}
	if (fd < 0)
		return 0;
	if (vec_push(&x->fds, fd)) {
		close(fd);
		return -1;
	}
	return 0;
}

static uint64_t count(const struct exchange *x)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < x->fds.n; i++)
		if (read(x->fds.v[i], &one, sizeof one) == sizeof one)
			sum += one;
	return sum;
}

static bool are_many(uint64_t switches, uint64_t ns)
{
	return switches > EXCHANGE_BURST + ns * EXCHANGE_PER_SECOND / 1000000000;
}

/* perf_event.h, PERF_RECORD_FORK and _EXIT: u32 pid, ppid, tid, ptid. */
void exchange_note_record(struct exchange *x, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;
	uint32_t ids[3];
	int change;

	memcpy(&h, rec, sizeof h);
	if ((h.type != PERF_RECORD_FORK && h.type != PERF_RECORD_EXIT) || n < sizeof h + sizeof ids)
		return;
	memcpy(ids, rec + sizeof h, sizeof ids);
	change = h.type == PERF_RECORD_FORK ? 1 : -1;
	x->tasks += change;
	x->threads += ids[0] == ids[2] ? 0 : change;
}

void exchange_look(struct exchange *x)
{
	const uint64_t now = clock_ns();
	uint64_t took;

	if (x->tasks > EXCHANGE_TASKS || x->threads > EXCHANGE_THREADS)
		exchange_allow(x);
	if (!x->fds.n || now < x->look_ns)
		return;
	if (!x->begin_ns)
		x->begin_ns = now;
	if (are_many(count(x), now - x->begin_ns)) {
		exchange_allow(x);
		return;
	}
	took = clock_ns() - now;
	x->look_ns = now + (took * LOOK_SHARE > LOOK_NS ? took * LOOK_SHARE : LOOK_NS);
}

void exchange_allow(struct exchange *x)
{
	for (size_t i = 0; i < x->fds.n; i++)
		close(x->fds.v[i]);
	vec_done(&x->fds);
}

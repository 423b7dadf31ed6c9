/* account.c - exact losses through read(2) of the counters (PERF_FORMAT_LOST). */
#include "capture/account.h"

#include <string.h>
#include <unistd.h>

/* perf_event.h: PERF_RECORD_LOST_SAMPLES with our sample_id trailer. */
struct lost_samples {
	struct perf_event_header header;
	uint64_t lost;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

_Static_assert(sizeof(struct lost_samples) ==
		       sizeof(struct perf_event_header) + 8 + ATTR_SAMPLE_ID_BYTES,
	       "as in the kernel");

static int append_lost(struct drain *d, const struct counter *c, uint64_t lost)
{
	struct lost_samples r = {
		.header = {.type = PERF_RECORD_LOST_SAMPLES, .size = sizeof r},
		.lost = lost,
		.cpu = (uint32_t)d->session->sets[RING_SAMPLES].cpus.cpus.v[c->slot],
		.id = c->id,
	};

	return stream_append(d->stream, &r, sizeof r);
}

static int account_set(struct drain *d, enum ring_kind kind, uint64_t *lost_sum, struct err *err)
{
	const struct ring_set *set = &d->session->sets[kind];

	for (size_t i = 0; i < set->counters.n; i++) {
		const struct counter *c = &set->counters.v[i];
		struct {
			uint64_t value, id, lost;
		} v = {0};
		ssize_t n = read(c->fd, &v, sizeof v);

		if (n < 16)
			continue;
		if (c->event == 0)
			d->result->period_total += v.value;
		*lost_sum += v.lost;
		if (kind == RING_SAMPLES && v.lost && append_lost(d, c, v.lost))
			return err_nomem(err);
	}
	return 0;
}

int account_losses(struct drain *d, struct err *err)
{
	struct capture_result *r = d->result;
	int rc;

	r->lost = r->lost_sideband = r->period_total = 0;
	rc = account_set(d, RING_SAMPLES, &r->lost, err);
	if (!rc)
		rc = account_set(d, RING_SIDEBAND, &r->lost_sideband, err);
	if (!ATTR_HAS(d->session->policy.features, LOST))
		r->lost = d->lost_told;
	return rc;
}

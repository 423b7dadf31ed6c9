/* account.c - exact losses through read(2) of the counters (PERF_FORMAT_LOST). */
#include "capture/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "reader/format.h"

/* A note is made if samples have less than this share of at least so many periods. */
#define UNSEEN_SHARE	   0.85
#define UNSEEN_PERIODS_MIN 20
/* A thread does at most one period of work before its first sample; with a margin. */
#define UNSEEN_THREAD_PERIODS 2

_Static_assert(sizeof(struct lost_samples) ==
		       sizeof(struct perf_event_header) + 8 + ATTR_SAMPLE_ID_BYTES,
	       "as in the kernel");

void account_lost_record(const struct drain *d, const struct counter *c, uint64_t lost,
			 struct lost_samples *ret)
{
	*ret = (struct lost_samples){
		.header = {.type = PERF_RECORD_LOST_SAMPLES, .size = sizeof *ret},
		.lost = lost,
		.cpu = (uint32_t)d->session->sets[RING_SAMPLES].cpus.cpus.v[c->slot],
		.id = c->id,
	};
}

static int append_lost(struct drain *d, const struct counter *c, uint64_t lost)
{
	struct lost_samples r;

	account_lost_record(d, c, lost, &r);
	return record_writer_append(d->writer, &r, sizeof r);
}

static int account_set(struct drain *d, enum ring_kind kind, uint64_t *lost_sum, struct err *err)
{
	const struct ring_set *set = &d->session->sets[kind];

	for (size_t i = 0; i < set->counters.n; i++) {
		struct counter *c = &set->counters.v[i];
		struct {
			uint64_t value, id, lost;
		} v = {0};
		ssize_t n = read(c->fd, &v, sizeof v);
		uint64_t lost;

		if (n < 16)
			continue;
		lost = v.lost - c->lost_before;
		if (c->event == 0)
			d->result->period_total += v.value - c->value_before;
		c->value_before = v.value;
		c->lost_before = v.lost;
		*lost_sum += lost;
		if (kind == RING_SAMPLES && lost && append_lost(d, c, lost))
			return err_nomem(err);
	}
	return 0;
}

uint64_t account_lost_now(const struct drain *d)
{
	const struct ring_set *set = &d->session->sets[RING_SAMPLES];
	uint64_t sum = d->foreign;

	if (!ATTR_HAS(d->session->policy.features, LOST))
		return sum + d->lost_reported;
	for (size_t i = 0; i < set->counters.n; i++) {
		uint64_t v[3] = {0}; /* value, id, lost */

		if (read(set->counters.v[i].fd, v, sizeof v) == sizeof v)
			sum += v[2];
	}
	return sum;
}

/* Each thread starts with a new period (inherit_event() in kernel/events/core.c), so what it does
 * before its first period has passed is never sampled. If many threads are that short, most of
 * their work is missing. The counters have all of it; with -a nothing is missing. */
bool account_counted(const struct drain *d, struct account_counted *ret)
{
	const struct perf_event_attr *a = &d->session->attrs[0];
	double total = (double)d->result->period_total, seen = (double)d->first_event_periods;
	double mean, threads;

	if (d->session->events[0].is_alloc) /* counted, all of them */
		return false;
	if (!a->inherit || a->exclude_kernel || a->exclude_user || d->result->lost ||
	    d->session->events[0].is_switch || (d->writer && record_writer_error(d->writer)))
		return false;
	mean = d->first_event_samples ? seen / (double)d->first_event_samples
	       : a->freq	      ? 1e9 / (double)a->sample_freq
				      : (double)a->sample_period;
	if (total < UNSEEN_PERIODS_MIN * mean)
		return false;
	threads = (double)(d->forks + d->session->sample_tids.tids.n + 1);
	*ret = (struct account_counted){
		.counted = d->result->period_total,
		.sampled = d->first_event_periods,
		.hypervisor_took = event_is_clock(a->type, a->config) && !d->result->throttled &&
				   total - seen > UNSEEN_THREAD_PERIODS * mean * threads,
	};
	return true;
}

static void note_unseen(struct drain *d)
{
	const char *name = d->session->events[0].name;
	struct account_counted c;
	double share;

	if (!account_counted(d, &c))
		return;
	share = (double)c.sampled / (double)c.counted;
	if (share >= UNSEEN_SHARE)
		return;
	if (c.hypervisor_took)
		capture_note(
			d->result,
			"the samples stand for %.0f %% of all %s: it goes on, and no sample is "
			"taken, while a hypervisor has taken the processor away",
			100 * share, name);
	else
		capture_note(
			d->result,
			"the samples stand for %.0f %% of all %s: short-lived threads are seen "
			"only after a first whole period; record with -a, or a higher -F",
			100 * share, name);
}

static int account_foreign(struct drain *d, struct err *err)
{
	d->result->lost += d->foreign;
	capture_note(d->result,
		     "%" PRIu64 " samples have the id of another recording's event, and may be of "
		     "several here: record one of these events at a time",
		     d->foreign);
	return append_lost(d, &d->session->sets[RING_SAMPLES].counters.v[0], d->foreign)
		       ? err_nomem(err)
		       : 0;
}

/* Switches without a sample are no losses: others stand for them. */
static void note_bare_switches(struct drain *d)
{
	char many[64];

	if (d->switches > d->switch_samples)
		d->result->bare_waits = d->switches - d->switch_samples;

	snprintf(many, sizeof many, "more than %d a second came", SWITCH_HZ);
	if ((d->switches_thinned || d->switches_refused) && d->switches > d->switch_samples)
		capture_note(d->result,
			     "%" PRIu64 " of %" PRIu64 " waits have no stack of their own, as "
			     "%s%s%s: none of their time is lost, as others "
			     "that were about as long stand for them; resolve shows as [unknown] "
			     "those for which there are none",
			     d->switches - d->switch_samples, d->switches,
			     d->switches_thinned ? many : "",
			     d->switches_thinned && d->switches_refused ? ", and as " : "",
			     d->switches_refused ? "the buffer was full (a larger -m has room)"
						 : "");
}

int account_losses(struct drain *d, struct err *err)
{
	struct capture_result *r = d->result;
	int rc;

	rc = account_set(d, RING_SAMPLES, &r->lost, err);
	if (!rc)
		rc = account_set(d, RING_SIDEBAND, &r->lost_sideband, err);
	if (!ATTR_HAS(d->session->policy.features, LOST))
		r->lost = d->lost_reported;
	if (!rc && d->foreign)
		rc = account_foreign(d, err);
	if (!rc)
		note_unseen(d);
	note_bare_switches(d);
	return rc;
}

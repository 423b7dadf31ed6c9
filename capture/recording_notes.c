/* recording_notes.c - what is said of a recording, or of a part of it, at its end. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "capture/account.h"
#include "capture/probe_maps.h"
#include "capture/recording.h"
#include "capture/switch_event.h"

void recording_fill_result(struct recording *r)
{
	struct capture_result *res = r->result;

	snprintf(res->event, sizeof res->event, "%s", r->session.events[0].name);
	res->n_events = r->session.n_events - (switch_event(&r->session) != NULL);
	res->ring_bytes = r->session.ring_bytes;
	res->stack_bytes = r->session.attrs[0].sample_stack_user;
}

int recording_account(struct recording *r, struct err *err)
{
	struct account_counted c = {0};
	int rc = account_losses(&r->drain, err);

	if (rc || !account_counted(&r->drain, &c))
		c = (struct account_counted){0};
	r->facts.counted = c.counted;
	r->facts.sampled = c.sampled;
	r->facts.hypervisor_took = c.hypervisor_took;
	return rc;
}

/* How often the probes were hit; without a sample: what is probed was not called by what was
 * recorded. */
static void note_hits(struct recording *r)
{
	const struct capture_result *res = r->result;
	const double seconds = (double)(r->drain.last_sample_ns - r->drain.first_sample_ns) / 1e9;
	const double hits = (double)res->samples * (double)(r->opt->period ? r->opt->period : 1);
	const char *unmapped = probe_maps_missing(&r->session.probes);
	const bool is_probe = r->session.n_events && r->session.events[0].is_probe;
	const bool is_filtered = is_probe && *r->session.events[0].filter;

	if (!res->samples && is_probe && unmapped)
		capture_note(r->result,
			     "nothing came by the probes: nothing that was recorded has mapped %s",
			     unmapped);
	else if (!res->samples && is_probe)
		capture_note(r->result,
			     "nothing came by the probes: the function was not called meanwhile, "
			     "or all calls of it were inlined%s%s",
			     is_filtered ? ", or no call passed the filter (registers, a0 to a5, "
					   "have no sign)"
					 : "",
			     WIFSIGNALED(res->child_status) ? "; a signal ended the command, maybe "
							      "before it came there"
							    : "");
	if (r->has_probes && res->samples > 1 && seconds > 0)
		capture_note(r->result, "%.0f hits of probes a second", hits / seconds);
}

static bool samples_faults(const struct session *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct event *e = &s->events[i];

		if (e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_PAGE_FAULTS ||
						      e->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						      e->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ))
			return true;
	}
	return false;
}

/* Stack copies of missing pages cost most where page faults are sampled, and so does touching them.
 */
static void note_faults(struct recording *r)
{
	if (r->result->lost && r->result->touched_pages && samples_faults(&r->session))
		capture_note(r->result,
			     "page faults were lost while %llu stack pages were touched for their "
			     "copies: --no-touch or a larger -m loses fewer",
			     (unsigned long long)r->result->touched_pages);
}

/* A file that is replaced has no probes, one that is written to has them at places of what it was.
 */
void recording_note_changed_files(struct recording *r)
{
	static const char *const words[] = {
		[PROBE_FILE_REPLACED] = "was replaced meanwhile: what was started from the new one "
					"was not probed",
		[PROBE_FILE_WRITTEN] =
			"was written to meanwhile: its probes were where the old one "
			"has them, and what came of the new one is not to be trusted",
	};
	const struct probe_events *p = &r->session.probes;

	for (size_t i = 0; i < p->made.n; i++) {
		const enum probe_file_change change = probe_event_file_change(p->made.v[i]);

		/* A function's return has a row of its own, behind that of its call. */
		if (change != PROBE_FILE_SAME &&
		    !(i && !strcmp(p->made.v[i]->found.path, p->made.v[i - 1]->found.path)))
			capture_note(r->result, "%s %s", p->made.v[i]->found.path, words[change]);
	}
}

void recording_add_notes(struct recording *r)
{
	note_hits(r);
	note_faults(r);
	recording_note_changed_files(r);
}

/* probe_notes.c - what a user is to know of the places that a probe was put on. */
#include "capture/probe_notes.h"

#include <stdio.h>
#include <string.h>

#include "capture/session.h"

static void note_endless(struct capture_result *r, const struct event *e,
			 const struct probe_places *found)
{
	const char *what = strchr(e->name, ':');

	if (found->n_endless == 1 && !found->places.n)
		capture_note(r, "call%s: it never returns: its calls have no end", what);
	else if (found->n_endless)
		capture_note(r, "call%s: functions that never return: %zu; their calls have no end",
			     what, found->n_endless);
}

static void note_known(struct capture_result *r, const struct event *e, const struct probe_event *p)
{
	const size_t n = p->n_known + p->found.places.n;

	if (!p->n_known || p->kind == PROBE_LEAVE) /* said of its call: */
		return;
	if (n == 1)
		capture_note(r, "%s: is probed already, for %s", e->name, p->known_by->name);
	else
		capture_note(r, "%s: %zu of its %zu places %s probed already, for %s", e->name,
			     p->n_known, n, p->n_known == 1 ? "is" : "are", p->known_by->name);
}

static void note_inlined(struct capture_result *r, const struct event *e,
			 const struct probe_event *p)
{
	const size_t n = p->found.n_inlined;
	size_t taken = 0;

	for (size_t i = 0; i < p->found.places.n; i++)
		taken += p->found.places.v[i].inlined != NULL;
	if (taken && taken == p->found.places.n)
		capture_note(r,
			     "%s: it is inlined: probed is where its cop%s begin%s, which "
			     "optimizers may have moved: hits need not be as many as calls",
			     e->name, n == 1 ? "y" : "ies", n == 1 ? "s" : "");
	else if (taken)
		capture_note(r,
			     "%s: %zu of the places %s where an inlined copy begins, which "
			     "optimizers may have moved: hits need not be as many as calls",
			     e->name, taken, taken == 1 ? "is" : "are");
	else if (n && p->kind != PROBE_ENTRY)
		capture_note(r,
			     "%s: also inlined at %zu place%s, where it is not called and does not "
			     "return: uprobe: has %s",
			     e->name, n, &"s"[n == 1], n == 1 ? "it" : "them");
}

static void note_looping(struct capture_result *r, const struct event *e,
			 const struct probe_places *found)
{
	const size_t more = found->n_looping - 1;
	char others[48] = "";

	if (!found->n_looping)
		return;
	if (more)
		snprintf(others, sizeof others, " and %zu other%s", more, &"s"[more == 1]);
	capture_note(r,
		     "%s: %s%s jump%s back to the first instruction, where the probe is: it counts "
		     "each round of that loop",
		     e->name, found->looping, others, &"s"[more > 0]);
}

/* MAX_URETPROBE_DEPTH in include/linux/uprobes.h */
#define PENDING_RETURNS "64"

static void note_returns(struct capture_result *r, const struct event *e,
			 const struct probe_event *p)
{
	if (p->kind != PROBE_RETURN)
		return;
	if (p->found.is_go)
		capture_note(
			r,
			"%s: Go's programs end when a stack grows while such a probe waits for "
			"a return: call:%s has no such fault",
			e->name, strchr(e->name, ':') + 1);
	else if (!e->is_kernel_probe)
		capture_note(r,
			     "%s: the kernel follows " PENDING_RETURNS " returns of a thread at a "
			     "time, and tells no end of calls that are nested deeper: call: does",
			     e->name);
}

/* Which of several functions was meant. */
static void note_chosen(struct capture_result *r, const struct event *e,
			const struct probe_event *p)
{
	const struct probe_places *found = &p->found;

	if (found->by_last_part && found->places.n && p->kind != PROBE_LEAVE)
		capture_note(r, "%s: taken for %s%s", e->name,
			     found->places.v[0].inlined ? found->places.v[0].inlined
							: found->places.v[0].name,
			     found->places.n > 1 ? " and others like it" : "");
	if (found->is_chosen && found->may_be_vdso)
		capture_note(
			r,
			"%s: programs call the kernel's (vDSO), where no probe can be, if there "
			"is one; the library's own is probed",
			e->name);
	else if (found->is_chosen && p->kind != PROBE_LEAVE)
		capture_note(r, "%s: chosen when a program starts; those that it may be are probed",
			     e->name);
}

static void note_count(struct capture_result *r, const struct event *e, const struct probe_event *p)
{
	char refused[80] = "";

	if (p->n_refused)
		snprintf(refused, sizeof refused,
			 "; %zu more have instructions that no probe can replace", p->n_refused);
	if (p->found.places.n > 1 || p->n_refused)
		capture_note(r, "%s: %zu places%s", e->name, p->found.places.n, refused);
}

/* Places without a probe, and calls without an end. */
static void note_missing(struct capture_result *r, const struct event *e,
			 const struct probe_places *found)
{
	if (found->n_vector)
		capture_note(r,
			     "%s: left out: %zu place%s at vector instructions (AVX, BMI) or far "
			     "calls, which the kernel takes for others below a probe",
			     e->name, found->n_vector, &"s"[found->n_vector == 1]);
	if (found->n_left_out)
		capture_note(r,
			     "%s: taken of %zu function%s; left out are %zu of this name, in which "
			     "no instruction begins there",
			     e->name, found->places.n, &"s"[found->places.n == 1],
			     found->n_left_out);
	if (found->n_unread)
		capture_note(r,
			     "%s: the code of %zu function%s is not understood: these calls have "
			     "no end",
			     e->name, found->n_unread, &"s"[found->n_unread == 1]);
	if (found->n_conditional)
		capture_note(r,
			     "%s: %zu jumps to other functions are conditional: a call that ends "
			     "there has no known end",
			     e->name, found->n_conditional);
}

void probe_note_places(struct capture_result *r, const struct event *e, const struct probe_event *p,
		       bool wants_args)
{
	const struct probe_places *found = &p->found;

	note_endless(r, e, found);
	note_known(r, e, p);
	note_inlined(r, e, p);
	note_looping(r, e, found);
	note_returns(r, e, p);
	note_chosen(r, e, p);
	note_count(r, e, p);
	if (found->lacks_fields && wants_args)
		capture_note(r,
			     "%s: not all of its arguments are recorded: they are where the kernel "
			     "cannot read them, or its points have different ones",
			     e->name);
	note_missing(r, e, found);
}

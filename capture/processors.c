/* processors.c - processors that go or come while everything is recorded. */
#include "capture/processors.h"

#include <stdio.h>
#include <string.h>

#include "capture/reopen.h"
#include "capture/sysfile.h"

#define LOOK_NS 200000000ull

static bool has(const struct cpu_list *l, int cpu)
{
	for (size_t i = 0; i < l->cpus.n; i++)
		if (l->cpus.v[i] == cpu)
			return true;
	return false;
}

/* Returns whether all that have come are recorded. */
static bool reopen_new(struct session *s, const char *before, const char *now, bool delayed)
{
	struct cpu_list old = {0}, new = {0};
	bool ok = !cpu_list_parse(&old, before, "online", NULL) &&
		  !cpu_list_parse(&new, now, "online", NULL);

	for (size_t i = 0; i < new.cpus.n; i++)
		if (!has(&old, new.cpus.v[i]) && !session_reopen(s, new.cpus.v[i], delayed))
			ok = false;
	cpu_list_done(&old);
	cpu_list_done(&new);
	return ok;
}

void processors_look(struct processors *p, struct session *s, bool delayed, uint64_t now_ns)
{
	char now[sizeof p->online];
	bool ok;

	if (p->looked_ns && now_ns - p->looked_ns < LOOK_NS)
		return;
	p->looked_ns = now_ns;
	if (sysfile_read("/sys/devices/system/cpu/online", now, sizeof now) <= 0)
		return;
	now[strcspn(now, "\n")] = 0;
	if (!*p->online)
		snprintf(p->online, sizeof p->online, "%s", now);
	if (!strcmp(p->online, now))
		return;
	ok = reopen_new(s, p->online, now, delayed);
	if (!ok && !p->is_said_missing)
		capture_note(s->result,
			     "the processors changed while they were recorded (%s, then %s): what "
			     "runs on one that came is not in the recording",
			     p->online, now);
	else if (!p->is_said)
		capture_note(s->result,
			     "the processors changed while they were recorded (%s, then %s): one "
			     "that comes back is recorded again after at most %.1f s",
			     p->online, now, LOOK_NS / 1e9);
	p->is_said = true;
	p->is_said_missing |= !ok;
	snprintf(p->online, sizeof p->online, "%s", now);
}

/* processors.c - processors that go or come while everything is recorded. */
#include "capture/processors.h"

#include <stdio.h>
#include <string.h>

#include "capture/session.h"
#include "capture/sysfile.h"

#define LOOK_NS 1000000000ull

void processors_look(struct processors *p, uint64_t now_ns, struct capture_result *ret)
{
	char now[sizeof p->online];

	if (p->is_said || (p->looked_ns && now_ns - p->looked_ns < LOOK_NS))
		return;
	p->looked_ns = now_ns;
	if (sysfile_read("/sys/devices/system/cpu/online", now, sizeof now) <= 0)
		return;
	now[strcspn(now, "\n")] = 0;
	if (!*p->online)
		snprintf(p->online, sizeof p->online, "%s", now);
	if (!strcmp(p->online, now))
		return;
	p->is_said = true;
	capture_note(ret,
		     "the processors changed while they were recorded (%s, then %s): what runs on "
		     "one that comes, or comes back, is not in the recording",
		     p->online, now);
}

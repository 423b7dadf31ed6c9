/* priority.c - real-time priority. */
#include "capture/priority.h"

#include <errno.h>
#include <sched.h>

#define PRIORITY 10

int priority_raise(int asked)
{
	struct sched_param p = {.sched_priority = asked ? asked : PRIORITY};

	if (asked < 0)
		return 0;
	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) ? -errno : 0;
}

void priority_normal(void)
{
	struct sched_param p = {0};

	(void)sched_setscheduler(0, SCHED_OTHER, &p);
}

/* priority.c - real-time priority. */
#include "capture/priority.h"

#include <sched.h>

#define PRIORITY 10

void priority_raise(void)
{
	struct sched_param p = {.sched_priority = PRIORITY};

	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}

void priority_normal(void)
{
	struct sched_param p = {0};

	(void)sched_setscheduler(0, SCHED_OTHER, &p);
}

/* machine_facts.h - what tests ask of the process model, and no stage does. */
#ifndef TESTS_READER_MACHINE_FACTS_H
#define TESTS_READER_MACHINE_FACTS_H

#include "reader/machine_model.h"

static inline const struct address_space *machine_kernel(struct machine *m)
{
	return versions_capture(&m->versions, m->kernel);
}

/* NULL only when out of memory. */
static inline const char *machine_comm_of(struct machine *m, uint32_t pid, uint32_t tid)
{
	const struct machine_place *p = machine_place(m, pid, tid);

	return p ? p->comm : NULL;
}

/* Number of known processes and threads. Those that have ended are forgotten after some thousand
 * more have ended: pids are reused, and a recording may have any number of them. */
static inline size_t machine_task_count(const struct machine *m)
{
	return m->processes.n + m->threads.n;
}

/* Bytes that versions of address spaces use now. */
static inline size_t machine_space_bytes(const struct machine *m)
{
	return space_pool_bytes(&m->versions.pool);
}

#endif

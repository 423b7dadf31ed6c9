/* environs_sweep.c - forgets processes that have ended: hosts that start programs all day are
 * recorded, too. */
#include <stdlib.h>
#include <string.h>

#include "capture/environs.h"

enum { SWEEP_MIN = 1024 }; /* processes */

/* Rings are read within less than this. A sample that is read later is one of a process of which
 * nothing is known. */
#define KEPT_NS UINT64_C(5000000000)

void environ_text_done(struct environ_text *t)
{
	free(t->v);
	free(t->slots);
}

/* Leaves the processes that live or have ended just now. */
static void keep_processes(struct environs *e)
{
	size_t i, to = 0;

	for (i = 0; i < e->processes.n; i++) {
		const struct environ_process p = e->processes.v[i];

		if (p.ended_ns && p.ended_ns + KEPT_NS < e->now_ns) {
			hash_remove(&e->by_pid, p.pid);
			continue;
		}
		hash_put(&e->by_pid, p.pid, (uint32_t)to); /* is there: takes no memory */
		e->processes.v[to++] = p;
	}
	e->processes.n = to;
}

static void mark(uint32_t *places, size_t n, uint32_t text)
{
	if (text < n)
		places[text] = 0;
}

static void move(const uint32_t *places, size_t n, uint32_t *text)
{
	if (*text < n)
		*text = places[*text];
}

/* Leaves the texts of the processes that are left, and our own. Without memory: all. */
static void keep_texts(struct environs *e)
{
	const size_t n = e->texts.n;
	uint32_t *places = malloc((n + !n) * sizeof *places); /* HASH_NONE: goes */
	struct environ_process *p;
	uint32_t to = 0;
	size_t i;

	if (!places)
		return;
	memset(places, 0xff, n * sizeof *places);
	mark(places, n, 0);
	for (i = 0; i < e->processes.n; i++) {
		mark(places, n, e->processes.v[i].asked);
		mark(places, n, e->processes.v[i].learned);
	}
	for (i = 0; i < n; i++) {
		const struct environ_text t = e->texts.v[i];

		if (places[i] == HASH_NONE) {
			if (hash_get(&e->by_key, t.key) == i)
				hash_remove(&e->by_key, t.key);
			e->bytes -= t.n;
			environ_text_done(&e->texts.v[i]);
			continue;
		}
		if (hash_get(&e->by_key, t.key) == i)
			hash_put(&e->by_key, t.key, to);
		places[i] = to;
		e->texts.v[to++] = t;
	}
	e->texts.n = to;
	for (i = 0; i < e->processes.n; i++) {
		p = &e->processes.v[i];
		move(places, n, &p->asked);
		move(places, n, &p->learned);
		p->covering = ENVIRON_NO_TEXT; /* another has its number now */
	}
	free(places);
}

void environs_sweep(struct environs *e)
{
	if (e->processes.n < e->sweep_at || e->processes.n < SWEEP_MIN)
		return;
	keep_processes(e);
	keep_texts(e);
	e->sweep_at = 2 * e->processes.n;
}

/* switch_rate.c - which context switches get a sample of their own. */
#include "capture/switch_rate.h"

#define LOOK_NS	  50000000ull
#define WINDOW_NS 2000000ull
/* Where there are more than SWITCH_HZ, so many are sampled. */
#define THIN_HZ (SWITCH_HZ / 2)

static void look(struct switch_rate *r, uint64_t now_ns)
{
	const uint64_t hz = r->switches * 1000000000 / (now_ns - r->since_ns);

	r->hz = (3 * r->hz + hz) / 4;
	r->switches = 0;
	r->since_ns = now_ns;
}

/* From half to one and a half times what the rate asks for, so that windows do not keep step with a
 * program that does the same thing again and again. */
static uint64_t pause_ns(struct switch_rate *r)
{
	const uint64_t mean_ns = WINDOW_NS * (r->hz / THIN_HZ);

	r->random = r->random * 1664525 + 1013904223; /* of Numerical Recipes */
	return mean_ns / 2 + (mean_ns * (r->random >> 16) >> 16);
}

bool switch_rate_take(struct switch_rate *r, uint64_t switches, uint64_t now_ns)
{
	if (!r->since_ns) {
		r->since_ns = now_ns;
		r->random = (uint32_t)now_ns;
	}
	r->switches += switches;
	if (now_ns - r->since_ns >= LOOK_NS)
		look(r, now_ns);
	if (r->hz <= SWITCH_HZ) {
		r->paused = false;
		r->turn_ns = 0;
	} else if (now_ns >= r->turn_ns) {
		r->paused = !r->paused;
		r->turn_ns = now_ns + (r->paused ? pause_ns(r) : WINDOW_NS);
	}
	return !r->paused;
}

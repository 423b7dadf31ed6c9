/* switch_rate.h - private: which context switches get a sample of their own.
 *
 * Up to some SWITCH_HZ a second on a processor, all of them. Where there are more, those of short
 * times that begin and end whatever the program does; between these the event is disabled, which
 * costs less than samples that the ring refuses. The kernel's own way, attr.freq, makes the
 * period of a thread longer while it switches often, and hardly shorter again while it sleeps: of
 * threads that wait long after a burst, no long wait had a sample. */
#ifndef CAPTURE_SWITCH_RATE_H
#define CAPTURE_SWITCH_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWITCH_HZ 5000

/* Of one processor. Zeroed: nothing was counted yet, and all are taken. */
struct switch_rate {
	uint64_t since_ns, switches; /* what was counted since it was looked at last */
	uint64_t hz;		     /* an average of the time before */
	uint64_t turn_ns;	     /* when samples are to be taken again, or not; 0: never */
	uint32_t random;
	bool paused;
};

/* So many more context switches came. Returns whether samples are to be taken from now on. */
bool switch_rate_take(struct switch_rate *r, uint64_t switches, uint64_t now_ns);

#endif

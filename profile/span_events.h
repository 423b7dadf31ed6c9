/* span_events.h - which events are beginnings and ends of spans, and what they say of the stack.
 * Private to profile/. */
#ifndef PROFILE_SPAN_EVENTS_H
#define PROFILE_SPAN_EVENTS_H

#include "base/vec.h"
#include "profile/profile.h"

/* Is the event the beginning or the end of spans? The number of the event of beginnings, and 1. */
struct span_event {
	uint32_t begins, ends;
	bool is_flat; /* a thread has one of them at a time: system calls */
	/* The kernel has put itself in place of the return address, and tells the end when that was
	 * popped. */
	bool is_trampoline;
};

struct span_events {
	VEC(struct span_event) v; /* by event */
	uint8_t popped;		  /* bytes that a return takes from the stack */
};

/* vec_done() ret->v in any case. Returns -1 if there is no memory. */
int span_events_find(struct span_events *ret, const struct profile *p);
/* The stack pointer as it was at the entry of the function that is entered or left: by the field
 * sp, else by the registers of the sample; 0: not known. */
uint64_t span_event_sp(const struct span_events *events, const struct profile *p, uint32_t entry);
/* Does a return probe tell the end of the function that was entered? By both their addresses: one
 * event may have many functions. */
bool span_event_is_same_function(const struct profile *p, uint32_t entry, uint32_t exit);

#endif

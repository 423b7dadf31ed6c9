/* priority.h - private: to run before others while something must not wait. */
#ifndef CAPTURE_PRIORITY_H
#define CAPTURE_PRIORITY_H

/* Takes a real-time priority (SCHED_FIFO): the one that was asked for, from 1 on; 0: that which is
 * enough; negative: none, which succeeds. Returns 0, or a negative errno. */
int priority_raise(int asked);
void priority_normal(void);

#endif

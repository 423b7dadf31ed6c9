/* priority.h - private: to run before others while something must not wait. */
#ifndef CAPTURE_PRIORITY_H
#define CAPTURE_PRIORITY_H

/* Takes a real-time priority if that is permitted. */
void priority_raise(void);
void priority_normal(void);

#endif

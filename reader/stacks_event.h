/* stacks_event.h - how capture and reader call what --stacks and --every record. Part of
 * reader.h, and of format.h for capture. */
#ifndef READER_STACKS_EVENT_H
#define READER_STACKS_EVENT_H

/* Samples whose RAW part begins with the letter of the thread's state in /proc/PID/stat. */
#define STACKS_EVENT	 "stacks"
#define WALL_CLOCK_EVENT "wall-clock"

#endif

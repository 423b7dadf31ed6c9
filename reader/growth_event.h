/* growth_event.h - the events of capture -e memory-growth. Part of format.h. */
#ifndef READER_GROWTH_EVENT_H
#define READER_GROWTH_EVENT_H

/* Tracepoints syscalls:sys_enter_*, without stacks, and sys_exit_*, with them. */
#define GROWTH_ENTER_MMAP   "growth-enter-mmap"
#define GROWTH_ENTER_MREMAP "growth-enter-mremap"
#define GROWTH_EXIT_MMAP    "growth-mmap"
#define GROWTH_EXIT_MREMAP  "growth-mremap"
#define GROWTH_EXIT_BRK	    "growth-brk"
/* What readers show. */
#define GROWTH_EVENT "memory-growth"

#endif

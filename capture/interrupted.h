/* interrupted.h - private: system calls that a halt has ended with EINTR. */
#ifndef CAPTURE_INTERRUPTED_H
#define CAPTURE_INTERRUPTED_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

/* Where the kernel can be told to begin a wait without a timeout again. */
#ifdef __x86_64__
#define INTERRUPTED_CAN_RESTART true
#else
#define INTERRUPTED_CAN_RESTART false
#endif

/* Of a thread that stands still: did its system call end with EINTR? One that waits without a
 * timeout is begun again when the thread goes on, unless a signal handler runs then. With a timeout
 * it would wait longer than it was asked to, so that stays ended: *ret_ended. */
void interrupted_restart(pid_t tid, const struct user_regs_struct *regs, bool *ret_ended);

#endif

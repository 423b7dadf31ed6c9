/* interrupted.c - lets system calls go on that a halt has ended.
 *
 * Most waits are restarted by the kernel after a stop. Those of signal(7), "Interruption of system
 * calls and library functions by stop signals", are not: they return -EINTR whenever a thread is
 * woken. Before the thread returns to its program the kernel looks at the result once more
 * (arch_do_signal_or_restart() of arch/x86/kernel/signal.c), after the stop, so that a tracer may
 * turn it into -ERESTARTNOHAND: with a handler to run that becomes -EINTR, else the call begins
 * again. */
#include "capture/interrupted.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifdef __x86_64__

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
#define ERESTARTNOHAND 514 /* include/linux/errno.h */
#define ENTER_EXT_ARG  0x8 /* IORING_ENTER_EXT_ARG: may have a timeout */

enum timeout { NO_TIMEOUT, NEGATIVE, NO_POINTER, NO_FLAG };

/* Without a timeout if the argument is so. */
static const struct wait {
	long nr;
	enum timeout kind;
	size_t arg_off; /* in the registers */
} waits[] = {
	{SYS_epoll_wait, NEGATIVE, offsetof(struct user_regs_struct, r10)},
	{SYS_epoll_pwait, NEGATIVE, offsetof(struct user_regs_struct, r10)},
	{SYS_epoll_pwait2, NO_POINTER, offsetof(struct user_regs_struct, r10)},
	{SYS_semop, NO_TIMEOUT, 0},
	{SYS_semtimedop, NO_POINTER, offsetof(struct user_regs_struct, r10)},
	{SYS_rt_sigtimedwait, NO_POINTER, offsetof(struct user_regs_struct, rdx)},
	{SYS_io_getevents, NO_POINTER, offsetof(struct user_regs_struct, r8)},
	{SYS_io_uring_enter, NO_FLAG, offsetof(struct user_regs_struct, r10)},
};

static bool waits_for_ever(const struct wait *w, const struct user_regs_struct *regs)
{
	const uint64_t arg = *(const unsigned long long *)((const char *)regs + w->arg_off);

	switch (w->kind) {
	case NEGATIVE:
		return (int32_t)arg < 0;
	case NO_POINTER:
		return !arg;
	case NO_FLAG:
		return !(arg & ENTER_EXT_ARG);
	default:
		return true;
	}
}

void interrupted_restart(pid_t tid, const struct user_regs_struct *regs, bool *ret_ended)
{
	*ret_ended = false;
	if ((long)regs->rax != -EINTR || (long)regs->orig_rax < 0)
		return;
	*ret_ended = true;
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		if (waits[i].nr == (long)regs->orig_rax && waits_for_ever(&waits[i], regs))
			*ret_ended = ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rax),
					    (void *)(intptr_t)-ERESTARTNOHAND) != 0;
}

#else

void interrupted_restart(pid_t tid, const struct user_regs_struct *regs, bool *ret_ended)
{
	(void)tid;
	(void)regs;
	*ret_ended = false;
}

#endif

/* syscalls.h - the system calls of Linux: their names, and what their arguments are.
 *
 * Sources: asm/unistd_64.h (x86-64), asm-generic/unistd.h (aarch64, riscv64, loongarch64); the
 * argument's types as in include/linux/syscalls.h; man-pages section 2. */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/processor.h"

#define SYSCALL_ARGS_MAX 6

/* A letter for each argument:
 *	d a signed number	u an unsigned one	x an address	h bits
 *	f a file descriptor	D the folder of the path that follows, or AT_FDCWD
 *	p a path, or another string with an end		b bytes, as many as the next argument says
 *	o permissions		S a signal
 *	O flags of open()	P protection of memory	M flags of mmap()	W whence of lseek()
 *	A mode of access()	C flags of clone()	N address family
 *	F operation of futex()	K command of fcntl()	V advice of madvise()	T flags of *at()
 *	E flags of pipe2() and dup3()	Y type of a socket	Q flags of epoll_create1()
 *	L operation of epoll_ctl()	I protocol of a socket	G flags of send() and recv()
 *	k what the command of fcntl() takes	R a limit	H what shutdown() ends
 *	i request of ioctl()	s, t level and option of a socket	w options of wait4()
 *	B what rt_sigprocmask() does	a code of arch_prctl()	g flags of getrandom()
 *	m flags of mremap()	c a clock	j flags of timers
 *	q of timerfd_create()	l of splice()		U a user or group, or -1 for none
 *	n permissions and type of a new file	v its device	J of objects of System V
 *	z, r, y struct sockaddr, clone_args, open_how, as long as the next argument says */
struct syscall {
	char name[32];
	char args[SYSCALL_ARGS_MAX + 1];
};

/* Returns false if the number is not known on this processor (NULL: unknown). */
bool syscall_find(const struct processor *cpu, uint64_t nr, struct syscall *ret);

#endif

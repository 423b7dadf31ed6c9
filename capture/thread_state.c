/* thread_state.c - reads one thread of another process.
 *
 * Sources: ptrace(2); proc(5) for /proc/PID/task/TID/stat and stack; asm/perf_regs.h for the order
 * of registers, asm/ptrace.h (struct user_regs_struct) for those of NT_PRSTATUS. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/thread_state.h"
#include "capture/interrupted.h"
#include "capture/sysfile.h"

#define STACK_TEXT_MAX 8192
#define KERNEL_THREAD  0x00200000 /* PF_KTHREAD of include/linux/sched.h */
/* It stops when it next has a processor, which takes long on a busy machine; a thread that does not
 * stop within 2 seconds waits where nothing wakes it. */
#define STOP_YIELDS  20
#define STOP_TRIES   20000
#define STOP_WAIT_US 100

/* State, flags and processor: fields 3, 9 and 39, behind the name, which may have any character. */
static bool read_stat(pid_t pid, pid_t tid, struct thread_state *t)
{
	char path[64], text[1024], *at;
	unsigned flags = 0;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (sysfile_read(path, text, sizeof text) <= 0)
		return false;
	at = strrchr(text, ')');
	if (!at || !at[1] || !at[2])
		return false;
	t->state = at[2];
	if (sscanf(at + 3, " %d %*d %*d %*d %*d %u", &parent, &flags) == 2)
		t->is_kernel_thread = flags & KERNEL_THREAD;
	t->is_child = parent == getpid() && pid == tid;
	for (int field = 3; field < 39 && at; field++)
		at = strchr(at + 2, ' ') ? strchr(at + 2, ' ') - 1 : NULL;
	if (!at || sscanf(at + 1, "%d", &t->cpu) != 1)
		t->cpu = 0;
	return true;
}

/* Lines "[<0>] futex_wait_queue+0x63/0x90", leaf first. For root only; a thread that runs has none.
 */
static void read_kernel_part(pid_t pid, pid_t tid, struct thread_state *t)
{
	char path[64], text[STACK_TEXT_MAX], *line, *next;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stack", (int)pid, (int)tid);
	if (t->state == 'R' || sysfile_read(path, text, sizeof text) <= 0)
		return;
	for (line = text; line && *line && t->n_kernel < KERNEL_FRAMES_MAX; line = next) {
		struct kernel_frame *f = &t->kernel[t->n_kernel];

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (sscanf(line, "[<%*[^>]>] %95[^+]+0x%" SCNx64 "/0x%" SCNx64, f->name, &f->offset,
			   &f->size) == 3)
			t->n_kernel++;
	}
}

#if defined(__x86_64__)
/* In the order of enum perf_event_x86_regs, without those of attr_user_regs() that it leaves out.
 */
static void take_regs(struct thread_state *t, const struct user_regs_struct *r)
{
	const uint64_t in_order[] = {r->rax, r->rbx, r->rcx,	r->rdx, r->rsi, r->rdi, r->rbp,
				     r->rsp, r->rip, r->eflags, r->cs,	r->ss,	r->r8,	r->r9,
				     r->r10, r->r11, r->r12,	r->r13, r->r14, r->r15};

	memcpy(t->regs, in_order, sizeof in_order);
	t->n_regs = sizeof in_order / sizeof *in_order;
	t->ip = r->rip;
	t->sp = r->rsp;
}

static void set_place(struct user_regs_struct *r, uint64_t ip, uint64_t sp)
{
	r->rip = ip;
	r->rsp = sp;
}

/* Arguments of a system call, syscall(2). */
static void set_arguments(struct user_regs_struct *r, const uint64_t *a)
{
	r->rdi = a[0];
	r->rsi = a[1];
	r->rdx = a[2];
	r->r10 = a[3];
	r->r8 = a[4];
	r->r9 = a[5];
}
#elif defined(__aarch64__)
static void take_regs(struct thread_state *t, const struct user_regs_struct *r)
{
	memcpy(t->regs, r->regs, 31 * sizeof *t->regs);
	t->regs[31] = r->sp;
	t->regs[32] = r->pc;
	t->n_regs = 33;
	t->ip = r->pc;
	t->sp = r->sp;
}

static void set_place(struct user_regs_struct *r, uint64_t ip, uint64_t sp)
{
	r->pc = ip;
	r->sp = sp;
}

static void set_arguments(struct user_regs_struct *r, const uint64_t *a)
{
	memcpy(r->regs, a, 6 * sizeof *a);
}
#else
static void take_regs(struct thread_state *t, const struct user_regs_struct *r)
{
	(void)r;
	t->n_regs = 0;
}

static void set_place(struct user_regs_struct *r, uint64_t ip, uint64_t sp)
{
	(void)r;
	(void)ip;
	(void)sp;
}

static void set_arguments(struct user_regs_struct *r, const uint64_t *a)
{
	(void)r;
	(void)a;
}
#endif

/* Up to the end of what is mapped, page by page where not all can be read at once. */
static void copy_stack(pid_t tid, struct thread_state *t)
{
	const uint64_t page = 4096;

	while (t->n_stack < t->room) {
		uint64_t at = t->sp + t->n_stack;
		size_t left = t->room - t->n_stack, to_page = (size_t)(page - at % page);
		struct iovec to = {t->stack + t->n_stack, left};
		struct iovec from = {(void *)(uintptr_t)at, left};
		ssize_t n = process_vm_readv(tid, &to, 1, &from, 1, 0);

		if (n <= 0 && left > to_page) {
			to.iov_len = from.iov_len = to_page;
			n = process_vm_readv(tid, &to, 1, &from, 1, 0);
		}
		if (n <= 0)
			return;
		t->n_stack += (size_t)n;
	}
	t->stack_full = true;
}

/* The thread is halted. Registers of 32-bit programs have another size, and are left out. */
static void copy_user_part(pid_t tid, struct thread_state *t)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof regs};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) || io.iov_len != sizeof regs)
		return;
	interrupted_restart(tid, &regs, &t->ended_wait);
	take_regs(t, &regs);
	if (!t->n_regs)
		return;
	t->abi = PERF_SAMPLE_REGS_ABI_64;
	copy_stack(tid, t);
}

/* Of a thread that cannot be halted, because it waits in the kernel for what no signal ends, as the
 * parent of a vfork: where it entered the kernel (proc(5), /proc/PID/syscall: the call's number and
 * six arguments, the stack pointer and the program counter). vfork() keeps the address that it
 * returns to where its first argument would be. The other registers are not known. */
static void copy_waiting(pid_t pid, pid_t tid, struct thread_state *t)
{
	struct user_regs_struct regs = {0};
	uint64_t v[6 + 2] = {0};
	char path[64], text[256];

	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	if (sysfile_read(path, text, sizeof text) <= 0)
		return;
	if (sscanf(text,
		   "%*d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) == 8) {
		set_arguments(&regs, v);
		set_place(&regs, v[7], v[6]);
	} else if (sscanf(text, "%*d %" SCNx64 " %" SCNx64, &v[0], &v[1]) == 2) {
		set_place(&regs, v[1], v[0]); /* in no system call */
	} else {
		return;
	}
	take_regs(t, &regs);
	if (!t->n_regs || !t->sp)
		return;
	t->abi = PERF_SAMPLE_REGS_ABI_64;
	copy_stack(tid, t);
}

/* ---- halting -------------------------------------------------------------------------------- */

static void let_go(pid_t tid, int status)
{
	/* A signal that came meanwhile goes on to the thread. */
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status)));
}

void thread_state_release(struct thread_state *t)
{
	int status;

	for (size_t i = 0; i < t->n_late;) {
		pid_t rc = waitpid(t->late[i], &status, __WALL | WNOHANG);

		if (rc == t->late[i] && WIFSTOPPED(status))
			let_go(t->late[i], status);
		if (rc)
			t->late[i] = t->late[--t->n_late];
		else
			i++;
	}
}

static bool is_late(const struct thread_state *t, pid_t tid)
{
	for (size_t i = 0; i < t->n_late; i++)
		if (t->late[i] == tid)
			return true;
	return false;
}

/* The end of our own child is for child_reap(), which tells its status. */
static pid_t wait_for(pid_t tid, const struct thread_state *t, int *status)
{
	siginfo_t info = {0};

	if (t->is_child &&
	    (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) ||
	     info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
	     info.si_code == CLD_DUMPED))
		return -1;
	return waitpid(tid, status, __WALL | WNOHANG);
}

/* Returns 1 when the thread stands still, 0 if it has ended or has not stopped, or -errno. */
static int halt(pid_t tid, struct thread_state *t, int *status)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH ? 0 : -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return errno == ESRCH ? 0 : -errno;
	for (int i = 0; i < STOP_TRIES; i++) {
		pid_t rc = wait_for(tid, t, status);

		if (rc == tid)
			return WIFSTOPPED(*status);
		if (rc < 0)
			return 0;
		if (i < STOP_YIELDS)
			sched_yield();
		else
			usleep(STOP_WAIT_US);
	}
	t->late[t->n_late++] = tid;
	return 0;
}

/* Sleeps that no signal ends: PTRACE_INTERRUPT would take effect only after them. */
static bool cannot_stop(const struct thread_state *t, pid_t tid)
{
	return t->state == 'D' || t->n_late == THREAD_LATE_MAX || is_late(t, tid);
}

void thread_state_read_kernel(pid_t pid, pid_t tid, struct thread_state *t)
{
	t->n_kernel = 0;
	read_kernel_part(pid, tid, t);
}

int thread_state_read(pid_t pid, pid_t tid, struct thread_state *t)
{
	const struct thread_state kept = *t;
	int status, rc;

	memset(t, 0, sizeof *t);
	t->stack = kept.stack;
	t->room = kept.room;
	t->n_late = kept.n_late;
	memcpy(t->late, kept.late, sizeof t->late);
	thread_state_release(t);
	if (!read_stat(pid, tid, t) || t->state == 'Z' || t->state == 'X')
		return 0;
	read_kernel_part(pid, tid, t);
	t->time_ns = clock_ns();
	if (t->is_kernel_thread)
		return t->n_kernel > 0;
	if (cannot_stop(t, tid)) {
		copy_waiting(pid, tid, t);
		return 1;
	}
	rc = halt(tid, t, &status);
	if (rc <= 0 && !is_late(t, tid))
		return rc;
	t->time_ns = clock_ns();
	if (rc <= 0) {
		copy_waiting(pid, tid, t);
		return 1;
	}
	copy_user_part(tid, t);
	let_go(tid, status);
	t->halted_ns = clock_ns() - t->time_ns;
	return 1;
}

/* syscall_event.h - private: system calls, and what their arguments point to.
 *
 * The kernel's tracepoints have the arguments' numbers only (strings since Linux 6.19, of some).
 * Texts are read by probes on the instructions before the calls, in the files that make most of
 * them. Without such a probe, and without stopping the program as strace does, another process can
 * read what a number points to only later, when the call may be over and the memory changed: such a
 * text says how long after the entry it was read. */
#ifndef CAPTURE_SYSCALL_EVENT_H
#define CAPTURE_SYSCALL_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/sample_pack.h"
#include "capture/session.h"

/* Appends raw_syscalls:sys_enter and sys_exit to the session's events. */
int syscall_events(struct session *s, struct err *err);
/* Appends events that read texts by probes before the calls, of the C library, the loader and the
 * program (of pid; 0: of the command). Without them texts are read later. */
int syscall_probes(struct session *s, pid_t pid, struct err *err);

/* The RAW parts of the last samples of those events, by thread. */
struct syscall_texts;
void syscall_texts_free(struct syscall_texts *t); /* may be NULL */
/* To be called as soon as samples are taken: reads which files the processes of -p have open. */
void syscall_begin(struct session *s);
/* Keeps that of such a sample, as the kernel wrote it. */
void syscall_texts_note(struct syscall_texts *t, const struct sample_fields *l, const uint8_t *rec,
			size_t n, uint8_t texts);

/* More than what is added to a record. */
#define SYSCALL_TEXT_MAX 8192

/* Adds the field "text" to the RAW part of a sample of sys_enter, which sample_pack() has made, n
 * bytes with SYSCALL_TEXT_MAX bytes of room behind them: ` 1="/etc/passwd"+12us` for each argument
 * that points to a text; without "+12us" if a probe read it. ` 0="/tmp/x"` of a descriptor: what it
 * stood for when the recording began, where it is used first. Returns the new length. */
size_t syscall_text_add(struct syscall_texts *t, const struct sample_fields *l, uint8_t *rec,
			size_t n);

/* The format of sys_enter with that field; the caller frees it. NULL: it is not as it was known. */
char *syscall_format_extend(const char *format);

#endif

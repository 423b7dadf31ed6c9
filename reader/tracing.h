/* tracing.h - TRACING_DATA: the descriptions of tracepoints by the recorded kernel. Private to
 * reader/.
 *
 * Source of truth: tools/perf/util/trace-event-read.c. */
#ifndef READER_TRACING_H
#define READER_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "reader/reader.h"

/* The part before the formats. */
struct tracing_head {
	bool is_big_endian;
	uint8_t long_size;
	const uint8_t *page; /* of header_page, page_bytes; NULL */
	size_t page_bytes;
};

/* Calls take() for the format of each tracepoint (those of /sys/kernel/tracing/events/SYSTEM/),
 * until it does not return 0. ftrace's own formats have the system "ftrace". Returns 0, the result
 * of take(), or -1 if the data is damaged; formats before the damage have been taken. */
int tracing_walk(const uint8_t *data, size_t n, struct tracing_head *head,
		 int (*take)(void *arg, const char *system, const char *format, size_t n),
		 void *arg);

/* Finds "name:" and "ID:" of a format; the name is not NUL-terminated. */
bool tracing_name(const char *format, size_t n, const char **name, size_t *len, uint64_t *id);

/* tracing_trial.c: one format, as tracing_walk() finds it. */
struct tracing_format {
	const char *system, *text;
	size_t n;
	bool is_good;
};
/* Parses the formats in a child process, and sets is_good of those that libtraceevent parses
 * without ending the process. Returns 0, or the errno of a failed fork() or mmap(): then the rest
 * is not tried. */
int tracing_try(struct tracing_format *v, size_t n);

/* The texts of tracepoints' fields. */
struct tracepoints;
struct function_namer {
	perf_function_namer *namer; /* NULL: functions stay addresses */
	void *arg;
};

/* Formats that are not used. */
struct tracing_loss {
	size_t n;
	int error; /* errno: no child process could try them; 0: the library may crash on them */
	bool no_library; /* libtraceevent is not installed */
};

/* Sets *loss in every case. Returns NULL when out of memory, without the library, or if the data is
 * damaged before the first format. */
struct tracepoints *tracepoints_new(const uint8_t *data, size_t n, struct tracing_loss *loss);
void tracepoints_free(struct tracepoints *t);
/* Appends the fields as perf script prints them, by the kernel's print format. Returns false if the
 * tracepoint has no format, or none that can be trusted. */
bool tracepoints_print(struct tracepoints *t, const struct perf_sample *s,
		       const struct function_namer *by, struct text *out);

#endif

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

/* What stands before the formats. */
struct tracing_head {
	bool is_big_endian;
	uint8_t long_size;
	const uint8_t *page; /* of header_page, page_bytes; NULL */
	size_t page_bytes;
};

/* Calls take() for each format of a tracepoint, as below /sys/kernel/tracing/events/SYSTEM/, until
 * it is not 0. Formats of ftrace itself have the system "ftrace". 0, what take() returned, or -1
 * when the data is damaged, behind what was taken. */
int tracing_walk(const uint8_t *data, size_t n, struct tracing_head *head,
		 int (*take)(void *arg, const char *system, const char *format, size_t n),
		 void *arg);

/* "name:" and "ID:" of a format; the name is not terminated. */
bool tracing_name(const char *format, size_t n, const char **name, size_t *len, uint64_t *id);

/* tracing_trial.c: one of them, as tracing_walk() gives it. */
struct tracing_format {
	const char *system, *text;
	size_t n;
	bool is_good;
};
/* Sets is_good of those that libtraceevent reads without ending the process. 0, or an errno: no
 * child could be made for it, so the rest stays as it is. */
int tracing_try(struct tracing_format *v, size_t n);

/* The texts of tracepoints' fields. */
struct tracepoints;
struct function_namer {
	perf_function_namer *namer; /* NULL: functions stay addresses */
	void *arg;
};

/* Descriptions that are not used. */
struct tracing_loss {
	size_t n;
	int error; /* errno: no child could try them; 0: the library would not survive them */
};

/* NULL: out of memory, or the data says nothing. */
struct tracepoints *tracepoints_new(const uint8_t *data, size_t n, struct tracing_loss *loss);
void tracepoints_free(struct tracepoints *t);
/* As perf script prints it: by the kernel's own print format. False: this one is not described, or
 * not in a way that can be trusted. */
bool tracepoints_print(struct tracepoints *t, const struct perf_sample *s,
		       const struct function_namer *by, struct text *out);

#endif

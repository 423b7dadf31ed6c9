/* traceevent.h - libtraceevent, loaded when tracepoints are put in words. Private to reader/. */
#ifndef READER_TRACEEVENT_H
#define READER_TRACEEVENT_H

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

/* Its functions without their prefix tep_. */
struct traceevent {
	__typeof__(tep_alloc) *alloc;
	__typeof__(tep_free) *free;
	__typeof__(tep_set_loglevel) *set_loglevel;
	__typeof__(tep_set_function_resolver) *set_function_resolver;
	__typeof__(tep_parse_event) *parse_event;
	__typeof__(tep_get_first_event) *get_first_event;
	__typeof__(tep_find_event) *find_event;
	__typeof__(tep_find_any_field) *find_any_field;
	__typeof__(tep_data_type) *data_type;
	__typeof__(tep_is_file_bigendian) *is_file_bigendian;
	__typeof__(tep_print_event) *print_event;
	__typeof__(trace_seq_init) *seq_init;
	__typeof__(trace_seq_reset) *seq_reset;
	__typeof__(trace_seq_terminate) *seq_terminate;
	__typeof__(trace_seq_destroy) *seq_destroy;
};

/* NULL: it is not installed. From any thread. */
const struct traceevent *traceevent_library(void);

#endif

/* traceevent.c - loads libtraceevent.so.1. So a machine that has none still resolves recordings: it
 * is the one library that only few recordings need. */
#include "reader/traceevent.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/shared_library.h"

/* Global because a loaded library belongs to the process: filled once, constant afterwards. */
static struct traceevent library;
static bool library_is_there;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
	static const struct shared_symbol symbols[] = {
		{"tep_alloc", &library.alloc},
		{"tep_free", &library.free},
		{"tep_set_loglevel", &library.set_loglevel},
		{"tep_set_function_resolver", &library.set_function_resolver},
		{"tep_parse_event", &library.parse_event},
		{"tep_get_first_event", &library.get_first_event},
		{"tep_find_event", &library.find_event},
		{"tep_find_any_field", &library.find_any_field},
		{"tep_data_type", &library.data_type},
		{"tep_is_file_bigendian", &library.is_file_bigendian},
		{"tep_print_event", &library.print_event},
		{"trace_seq_init", &library.seq_init},
		{"trace_seq_reset", &library.seq_reset},
		{"trace_seq_terminate", &library.seq_terminate},
		{"trace_seq_destroy", &library.seq_destroy},
	};

	library_is_there = shared_library_load("libtraceevent.so.1", symbols,
					       sizeof symbols / sizeof *symbols);
}

const struct traceevent *traceevent_library(void)
{
	pthread_once(&library_once, library_load);
	return library_is_there ? &library : NULL;
}

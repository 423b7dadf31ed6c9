/* debuginfod_library.c - loads libdebuginfod.so.1 when it is first used.
 *
 * It needs a HTTP client, TLS and Kerberos: more than thirty shared objects, which a program that
 * does not use the network should not load. */
#include "modules/debuginfod_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Global because a loaded library belongs to the process: filled once, constant afterwards.
 * Callbacks of the library get only a handle, and need its functions to find their data. */
static struct debuginfod_library library;
static const char *library_missing;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
	static const struct {
		const char *name;
		void *to;
		bool may_miss;
	} symbols[] = {
		{"debuginfod_begin", &library.begin, false},
		{"debuginfod_end", &library.end, false},
		{"debuginfod_find_debuginfo", &library.find_debuginfo, false},
		{"debuginfod_find_executable", &library.find_executable, false},
		{"debuginfod_find_section", &library.find_section, true},
		{"debuginfod_set_progressfn", &library.set_progressfn, false},
		{"debuginfod_set_user_data", &library.set_user_data, false},
		{"debuginfod_get_user_data", &library.get_user_data, false},
		{"debuginfod_get_url", &library.get_url, false},
		{"debuginfod_set_verbose_fd", &library.set_verbose_fd, false},
	};
	/* Never closed: the TLS library that it uses does not survive that. */
	void *so = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL), *f;
	size_t i;

	library.knows_ima = so && dlsym(so, "debuginfod_find_metadata");
	if (!so)
		library_missing = "not installed, or its own libraries are missing";
	for (i = 0; so && i < sizeof symbols / sizeof *symbols; i++) {
		f = dlsym(so, symbols[i].name);
		if (!f && !symbols[i].may_miss)
			library_missing = "older than 0.183";
		/* ISO C knows no conversion between the two kinds of pointer; POSIX dlsym() does.
		 */
		memcpy(symbols[i].to, &f, sizeof f);
	}
}

const struct debuginfod_library *debuginfod_library(const char **why)
{
	pthread_once(&library_once, library_load);
	*why = library_missing;
	return library_missing ? NULL : &library;
}

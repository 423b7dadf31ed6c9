/* bundle_write.h - private: what the finished recording needs of this machine (bundle/). */
#ifndef CAPTURE_BUNDLE_WRITE_H
#define CAPTURE_BUNDLE_WRITE_H

#include <sys/types.h>

#include "base/err.h"
#include "capture/capture.h"
#include "capture/bundle_pins.h"
#include "capture/bundle_processes.h"
#include "capture/perfdata.h"
#include "cut/cut.h"

/* A recording that is complete but for its bundle. */
struct bundle_job {
	const struct capture_options *opt;
	struct perfdata *file;
	struct perfdata_facts *facts;
	struct capture_result *result;
	struct pins *pins;
	struct processes *processes;
	/* Writes the feature sections again, now with facts->bundle. */
	int (*finish)(void *arg, struct err *err);
	void *arg;
};

/* From here on a signal leaves out the bundle only, if one is to be made. The process of the
 * command, which then has to be ended; 0: there is none. */
void bundle_may_be_left_out(const struct capture_options *opt, const struct perfdata *file,
			    struct capture_result *result, pid_t command);
/* Adds what the recording needs of this machine, in place of the feature sections that are there
 * already: the file is good before and, if this fails, after it. */
void bundle_add(const struct bundle_job *j);

/* bundle_kernel.c: the kernel's functions at these addresses (rising), by /proc/kallsyms. */
struct kernel_functions {
	VEC(struct cut_symbol) v;
	char *text; /* names point into it */
};
int kernel_functions_find(struct kernel_functions *k, const struct cut_addrs *ips);
void kernel_functions_done(struct kernel_functions *k);

#endif

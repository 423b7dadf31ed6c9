/* bundle_write.h - private: what the finished recording needs of this machine (bundle/). */
#ifndef CAPTURE_BUNDLE_WRITE_H
#define CAPTURE_BUNDLE_WRITE_H

#include "base/err.h"
#include "bundle/bundle.h"
#include "capture/capture.h"
#include "capture/drain.h"
#include "cut/cut.h"

/* Makes the section from the recording at `path`, which is complete but for it. Says in *report
 * what is in it. Returns 0, or negative with *err; the recording is good without it. */
int bundle_write(const char *path, struct drain *d, const struct capture_options *opt,
		 struct bundle_blob *section, struct cut_report *report, struct err *err);

/* bundle_kernel.c: the kernel's functions at these addresses (rising), by /proc/kallsyms. */
struct kernel_functions {
	VEC(struct cut_symbol) v;
	char *text; /* names point into it */
};
int kernel_functions_find(struct kernel_functions *k, const struct cut_addrs *ips);
void kernel_functions_done(struct kernel_functions *k);

#endif

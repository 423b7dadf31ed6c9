/* report.h - what resolve says on stderr about a finished run. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include <stdio.h>

#include "cmd/pipeline.h"
#include "cmd/quality.h"

/* For people: samples, how stacks ended, modules without names by weight. */
void report_text(const struct pipeline *p, FILE *out);
/* One JSON object on one line; its members are documented in doc/resolve.1. */
void report_json(const struct pipeline *p, const struct quality *q, double seconds_write,
		 FILE *out);
/* The header of the recording, like `perf report --header-only`. */
void report_header(const struct perf_file *f, FILE *out);

#endif

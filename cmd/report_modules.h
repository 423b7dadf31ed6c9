/* report_modules.h - which modules a profile went through, and why names are missing. */
#ifndef CMD_REPORT_MODULES_H
#define CMD_REPORT_MODULES_H

#include <stdio.h>

#include "cmd/pipeline.h"
#include "cmd/quality.h"

/* A table by weight: tier, source; where something is missing, what was tried, why it failed, and
 * what would help. */
void report_modules_text(const struct pipeline *p, FILE *out);
/* The same as the member "modules" of a JSON object. */
void report_modules_json(const struct pipeline *p, const struct quality *whole, FILE *out);
/* What keeps a module from telling all that it should, and what would help; "" for nothing. Both
 * live until symbolizer_free(). */
const char *report_module_lacks(const struct pipeline *p, const struct dso *dso, const char **help);

#endif

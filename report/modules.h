/* modules.h - which modules a profile went through, and why names are missing. Private to report/.
 */
#ifndef REPORT_MODULES_H
#define REPORT_MODULES_H

#include "report/report.h"

/* A table by weight: tier and source of names; if something is missing, what was tried, why it
 * failed, and what would help. */
void report_modules_text(const struct loaded *p, FILE *out);
/* The same as the member "modules" of a JSON object. */
void report_modules_json(const struct loaded *p, const struct quality *whole, FILE *out);
/* What a module lacks, and what would help, in few words; "" for nothing. Both are valid until
 * symbolizer_free().
 */
const char *report_module_lacks(const struct loaded *p, const struct dso *dso, const char **help);

/* What gives names and whole stacks to the code that the process has made, by its runtime
 * (runtimes.c); NULL: not known. A static text. */
const char *report_runtime_help(const struct loaded *p, uint32_t pid);
/* The same for code that a process made, which may have been more than one program. */
const char *report_code_help(const struct loaded *p, const struct dso *code);
/* The outermost location of most of the stacks that end for this reason, of one module; NULL: there
 * is none. */
const struct profile_location *report_where_stacks_end(const struct loaded *p,
						       enum unwind_stop why);
/* What is to be known of stacks that end in a runtime's own file of code; NULL: nothing. A static
 * text. */
const char *report_no_file_help(const struct loaded *p);
/* What helps against stacks that end in code without unwind tables. A static text. */
const char *report_roots_help(const struct loaded *p);
/* Was it recorded by capture? */
bool report_is_of_capture(const struct loaded *p);
/* What is to be known of stacks that go on on another one. A static text. */
const char *report_switch_help(const struct loaded *p);

/* By dso id, for all modules of a profile: a stack is counted for the module in which it ends, a
 * frame for the module of its code. The caller frees the result; NULL when out of memory. */
struct quality *quality_by_dso(const struct loaded *p);
/* Prints "name":percent pairs, without those that are a share of nothing; for a module, in percent
 * of the `whole`. */
void quality_json(const struct quality *whole, const struct quality *part, FILE *out);

#endif

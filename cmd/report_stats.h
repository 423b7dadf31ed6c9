/* report_stats.h - reports about a finished run, on stderr. */
#ifndef CMD_REPORT_STATS_H
#define CMD_REPORT_STATS_H

#include <stdio.h>

#include "load/load.h"
#include "cmd/quality.h"

/* For users: samples, how stacks ended, modules without names by weight. */
void report_text(const struct loaded *p, FILE *out);
/* One JSON object on one line; doc/resolve.1 documents its members. */
void report_json(const struct loaded *p, const struct quality *q, double seconds_write, FILE *out);

/* ---- report_modules.c: which modules a profile went through, and why names are missing ------- */

/* A table by weight: tier and source of names; if something is missing, what was tried, why it
 * failed, and what would help. */
void report_modules_text(const struct loaded *p, FILE *out);
/* The same as the member "modules" of a JSON object. */
void report_modules_json(const struct loaded *p, const struct quality *whole, FILE *out);
/* What a module lacks, and what would help; "" for nothing. Both are valid until symbolizer_free().
 */
const char *report_module_lacks(const struct loaded *p, const struct dso *dso, const char **help);

/* ---- explain.c: --explain ADDR, all that led to the name of one address, or to its lack ------ */

/* Explains every location of the profile (made with PROFILE_KEEP_IPS) that `script` shows as this
 * address: which mapping, which files were tried and used, which symbol and lines. Returns how
 * many. */
size_t explain_address(const struct loaded *p, uint64_t ip, FILE *out);

/* ---- hints.c: what would make the next recording better ---------------------------------------
 */

/* Prints a line, with the input's name, for each of these: stacks were cut (with the size of copies
 * that would be enough) or end at missing pages; few stacks reach their root; much time is spent in
 * a module without names; inlined functions are missing; a file was replaced; there are no call
 * chains. Returns whether there was any of these. Another line, which does not count, tells that
 * most samples are of the idle task. out: NULL prints nothing. */
bool print_hints(const struct loaded *p, const char *input, FILE *out);

/* ---- verify_report.c: our frames beside libdw's -----------------------------------------------
 */

void verify_report(const struct verify *v, FILE *out);

#endif

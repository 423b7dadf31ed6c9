/* args.h - parses option values, and ends the output; shared by the commands. */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "load/load.h"

/* Must be called first: if standard input, output or error is closed, opens a file there that can
 * be neither read nor written, so that no file that is opened later gets its number, and its
 * output. */
void args_hold_standard_files(void);
/* Makes write() fail at the limit on file sizes (ulimit -f), which is then reported, instead of
 * SIGXFSZ ending the process. Commands that the process starts get the default of the signal. */
void args_fail_at_file_limit(void);
/* Parses a number from min to max, decimal or with 0x. `option` is used in the message:
 * "--max-stack". */
int args_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
	     struct err *err);
/* Parses a decimal number from 0 to top; "50%" is divided by `percents`, unless that is 0. The
 * message says that the text is not a `what` from 0 to top. */
int args_real(const char *option, const char *text, double top, double percents, const char *what,
	      double *ret, struct err *err);
/* Parses a size in bytes: "512", "16M"; a number without B, K, M or G is multiplied by `unit`.
 * Returns false if it is invalid or too large. */
bool args_size(const char *text, uint64_t unit, uint64_t *ret);
/* Parses a hexadecimal address, with or without 0x, as script prints it. */
int args_address(const char *option, const char *text, uint64_t *ret, struct err *err);
/* For rows with SETS_BY(): "1,2,3" into a struct number_list, "0,2-3" into a struct cpu_ranges,
 * "bash,python3" into a struct name_list, which keeps pointers into text; commas there become NULs.
 */
int args_numbers(void *list, const char *option, char *text, struct err *err);
int args_cpus(void *list, const char *option, char *text, struct err *err);
int args_names(void *list, const char *option, char *text, struct err *err);
/* "start,stop" in seconds, either of which may be empty, or "10%-20%", into a struct time_span. */
int args_time(void *span, const char *option, char *text, struct err *err);
/* Prints "COMMAND: what went wrong" on standard error. */
void args_complain(const char *command, const struct err *err);
/* Flushes the stream. Returns negative if this or an earlier write has failed; if only an earlier
 * one has, errno must still be its value, or 0. */
int args_flush(FILE *out, const char *name, struct err *err);

#endif

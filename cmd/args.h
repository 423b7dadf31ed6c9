/* args.h - values of command line options and the end of the output, shared by the commands. */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "cmd/pipeline.h"

/* To be called first: standard input, output and error that were closed become files that can
 * neither be read nor written to, so that no file of ours gets their place and their words. */
void args_hold_standard_files(void);
/* Where the size of files is limited (ulimit -f) write() fails, which is reported, instead of
 * SIGXFSZ ending the process. Commands that it starts have the signal as it was. */
void args_fail_at_file_limit(void);
/* Decimal (or 0x) number from min to max. `option` is for the message: "--max-stack". */
int args_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
	     struct err *err);
/* Decimal number from 0 to top; "50%" divides by `percents`, unless that is 0. The message says
 * that it is no `what`. */
int args_real(const char *option, const char *text, double top, double percents, const char *what,
	      double *ret, struct err *err);
/* Bytes: "512", "16M"; a number without B, K, M or G counts units. False: it is none, or too large.
 */
bool args_size(const char *text, uint64_t unit, uint64_t *ret);
/* Hexadecimal, with or without 0x, as script prints addresses. */
int args_address(const char *option, const char *text, uint64_t *ret, struct err *err);
/* Of option rows, SETS_BY(): "1,2,3" into a struct number_list, "0,2-3" into a struct cpu_list,
 * "bash,python3" into a struct name_list, which keeps pointers into text, cut at the commas. */
int args_numbers(void *list, const char *option, char *text, struct err *err);
int args_cpus(void *list, const char *option, char *text, struct err *err);
int args_names(void *list, const char *option, char *text, struct err *err);
/* "start,stop" in seconds, either may be empty; or "10%-20%" of [first_ns, last_ns]. */
int args_filter_time(const char *text, uint64_t first_ns, uint64_t last_ns, struct sample_filter *f,
		     struct err *err);
/* Writes out what is left. Negative when this or an earlier write has failed; if only an earlier
 * one has, errno must still be that one's, or 0. */
int args_flush(FILE *out, const char *name, struct err *err);

#endif

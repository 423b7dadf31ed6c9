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
/* Hexadecimal, with or without 0x, as script prints addresses. */
int args_address(const char *option, const char *text, uint64_t *ret, struct err *err);
/* "1,2,3" */
int args_filter_numbers(const char *option, const char *text, bool tids, struct sample_filter *f,
			struct err *err);
/* "0,2-3" */
int args_filter_cpus(const char *text, struct sample_filter *f, struct err *err);
/* "bash,python3": the list keeps pointers into text, which is cut at the commas. */
int args_filter_names(const char *option, char *text, struct name_list *names, struct err *err);
/* "start,stop" in seconds, either may be empty; or "10%-20%" of [first_ns, last_ns]. */
int args_filter_time(const char *text, uint64_t first_ns, uint64_t last_ns, struct sample_filter *f,
		     struct err *err);
/* Writes out what is left. Negative when this or an earlier write has failed; if only an earlier
 * one has, errno must still be that one's, or 0. */
int args_flush(FILE *out, const char *name, struct err *err);

#endif

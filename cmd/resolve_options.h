/* resolve_options.h - parses the command line of `resolve`. */
#ifndef CMD_RESOLVE_OPTIONS_H
#define CMD_RESOLVE_OPTIONS_H

#include <limits.h>

#include "base/packed_stream.h"
#include "cmd/fetch.h"
#include "cmd/options.h"
#include "cmd/sides.h"
#include "load/load.h"
#include "output/output.h"
#include "report/report.h"

enum stats_form { STATS_NONE, STATS_TEXT, STATS_JSON };

struct resolve {
	struct load_options load;
	const char *input; /* the one that -i names */
	struct output_options output;
	uint64_t too_large; /* see output_options */
	const struct output_format *format;
	enum pack pack;		 /* of the output file */
	const char *output_path; /* NULL: stdout */
	bool merge_threads;
	struct sides diff; /* --diff BASE.. --new NEW.. */
	VEC(const char *) debug_dirs;
	enum stats_form stats;
	struct requirements require;
	bool requires;
	uint64_t explain_ip;
	const char *annotate; /* the function whose code is wanted; NULL: none */
	bool bundle;
	const char *unbundle_dir; /* NULL: not wanted */
	struct fetch_watch watch;
	char cache_dir[PATH_MAX];
	bool strict, quiet, verbose, no_sandbox, no_cache, header_only, explain, show_help,
		show_version, show_formats, show_inputs;
	bool given[OPTIONS_MAX];  /* by row of the options */
	VEC(const char *) inputs; /* at least one */
	bool is_poor;		  /* few roots, no names, no chains: --strict fails */
	bool damaged;		  /* one of several inputs, or a profile, was */
	bool below;		  /* what --require asks for */
	bool browses;		  /* in the terminal, instead of writing a format */
	bool interrupted;	  /* reading ended early, at the user's ^C */
};

/* Fills a zeroed *r, whose strings stay in argv. Returns 0 to go on, 1 if --help or --version was
 * printed, or negative with *err. Call resolve_options_done() in any case. */
int resolve_options(struct resolve *r, int argc, char **argv, struct err *err);
void resolve_options_done(struct resolve *r);

#endif

/* resolve_finish.c - options of `resolve` that depend on others: which format, what cannot be
 * together, what has to exist, what to keep of samples. */
#include "cmd/resolve_finish.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/cache_dir.h"
#include "cmd/terminal.h"

static int check_dir(const char *path, struct err *err)
{
	struct stat st;

	if (*path && stat(path, &st))
		return err_errno(err, errno, path, "open");
	return *path && !S_ISDIR(st.st_mode) ? err_errno(err, ENOTDIR, path, "open") : 0;
}

/* The files and folders that the user named must exist: without them, names would be missing or
 * come from elsewhere. */
static int check_places(const struct resolve *r, struct err *err)
{
	const char *const paths[] = {r->load.symbolizer.vmlinux, r->load.symbolizer.kallsyms,
				     r->load.symbolizer.guest_vmlinux,
				     r->load.symbolizer.guest_kallsyms};
	size_t i;

	for (i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i] && access(paths[i], R_OK))
			return err_errno(err, errno, paths[i], "open");
	for (i = 0; i < r->debug_dirs.n; i++)
		if (check_dir(r->debug_dirs.v[i], err))
			return -ERR_USAGE;
	if (r->output.source_dir && check_dir(r->output.source_dir, err))
		return -ERR_USAGE;
	return r->load.modules.symfs ? check_dir(r->load.modules.symfs, err) : 0;
}

/* Is the output the recording itself? Writing would destroy everything in it that the output does
 * not have. */
static bool is_file(const char *path, const struct stat *other)
{
	bool is_stdin = !strcmp(path, "-");
	struct stat st;

	return !(is_stdin ? fstat(STDIN_FILENO, &st) : stat(path, &st)) &&
	       st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

static bool is_input(const struct resolve *r, const char *output)
{
	struct stat out;
	size_t i;

	if (stat(output, &out) || !S_ISREG(out.st_mode))
		return false;
	for (i = 0; i < r->inputs.n; i++)
		if (is_file(r->inputs.v[i], &out))
			return true;
	for (i = 0; i < r->diff.paths[0].n; i++)
		if (is_file(r->diff.paths[0].v[i], &out))
			return true;
	return false;
}

/* By the suffix, before which there may be the suffix of a compressor: out.folded.gz. pprof is
 * compressed by itself, unless the suffix is .pb. */
static void choose_format(struct resolve *r)
{
	char plain[PATH_MAX];
	size_t n;
	enum pack pack = pack_of(r->output_path, &n);

	if (!r->format)
		r->format = output_format_for_path(r->output_path);
	r->output.unpacked = str_ends_with(r->output_path, ".pb");
	if (!pack || (r->format && r->format->binary))
		return;
	snprintf(plain, sizeof plain, "%.*s", (int)(strlen(r->output_path) - n), r->output_path);
	if (!r->format)
		r->format = output_format_for_path(plain);
	if (r->format && !r->format->binary)
		r->pack = pack;
}

static int unknown_suffix(const char *path, struct err *err)
{
	const struct output_format *const *f;
	char suffixes[256] = "";

	for (f = output_formats; *f; f++)
		snprintf(suffixes + strlen(suffixes), sizeof suffixes - strlen(suffixes), " %s",
			 (*f)->suffixes);
	return err_set(
		err, ERR_USAGE, path,
		"no format has this suffix; name one with -f, or take one of%s (text also with "
		".gz, .zst)",
		suffixes);
}

/* A table on a terminal is for people: what fits, and first what costs time itself, because the
 * outermost callers of a program have all of it. */
static void suit_terminal(struct resolve *r)
{
	struct top_options *top = &r->output.top;

	top->width = terminal_columns();
	top->lines = resolve_is_given(r, "rows") ? 0 : terminal_lines();
	top->colours = terminal_has_colours();
	top->own_first = isatty(STDOUT_FILENO) && !resolve_is_given(r, "children");
}

/* Differences and fields are refused where a format has none: what it would show instead is
 * something else. */
static int check_format(const struct resolve *r, struct err *err)
{
	const struct output_format *f = r->format;
	char formats[128];

	if (r->diff.paths[0].n && !(f->honours & OUTPUT_SIDES)) {
		resolve_name_formats(formats, sizeof formats, OUTPUT_SIDES);
		return err_set(err, ERR_USAGE, NULL, "--diff: %s shows no differences; %s do",
			       f->name, formats);
	}
	if (r->output.fields.given && !(f->honours & OUTPUT_FIELDS)) {
		resolve_name_formats(formats, sizeof formats, OUTPUT_FIELDS);
		return err_set(err, ERR_USAGE, NULL, "-F: %s has no fields to choose; -f %s have",
			       f->name, formats);
	}
	if (r->load.weigh == LOAD_WEIGH_DURATION && f->lists_calls)
		return err_set(err, ERR_USAGE, NULL,
			       "--weigh: %s shows each call with its duration; folded, top, html "
			       "and others add them up",
			       f->name);
	return 0;
}

/* `resolve perf.data out.svg`: what is not there and has the suffix of an output was to be written.
 */
static int check_inputs(const struct resolve *r, struct err *err)
{
	for (size_t i = 0; !r->output_path && i < r->inputs.n; i++) {
		const char *path = r->inputs.v[i];

		if (strcmp(path, "-") && output_format_for_path(path) && access(path, F_OK))
			return err_set(err, ERR_USAGE, path,
				       "there is no such input; to write it: -o %s", path);
	}
	return 0;
}

/* A terminal on both sides, and nothing was said about what is to be written. */
static bool wants_browser(const struct resolve *r)
{
	const char *term = getenv("TERM");
	size_t i;

	for (i = 0; i < r->inputs.n; i++)
		if (!strcmp(r->inputs.v[i], "-"))
			return false;
	return !r->format && !r->bundle && !r->output_path && !r->explain && !r->annotate &&
	       !r->header_only && !r->requires && r->stats == STATS_NONE && !r->load.verify_every &&
	       isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && term && *term &&
	       strcmp(term, "dumb");
}

/* --unbundle, --bundle and --annotate are outputs of their own, which not all options fit. */
static int check_output(struct resolve *r, struct err *err)
{
	const char *option = load_portable_option(&r->load);

	if (r->unbundle_dir && (r->output_path || r->inputs.n != 1 || r->bundle || r->format))
		return err_set(err, ERR_USAGE, NULL,
			       "--unbundle DIR takes one recording, and writes into DIR only");
	r->bundle |= r->load.bundle_full || r->load.strip_stacks;
	r->load.no_cmdline = r->output.no_cmdline;
	if (r->bundle && (!r->output_path || r->inputs.n != 1 || r->diff.paths[0].n || r->format))
		return err_set(err, ERR_USAGE, NULL,
			       "%s makes of one recording a file: resolve %s -o FILE "
			       "perf.data",
			       option, option);
	if (r->bundle) /* all that any output can need */
		r->load.keep |= PROFILE_KEEP_IPS;
	if (r->bundle)
		r->format = output_formats[0];
	if (r->annotate && (r->format || r->explain || r->bundle))
		return err_set(err, ERR_USAGE, NULL,
			       "--annotate is an output of its own: without -f, --explain, %s",
			       option);
	if (r->annotate) /* whose options it has */
		r->format = output_format_find("lines");
	return 0;
}

/* What the output shows is to be read, kept, and looked up. */
static void want_shown(struct resolve *r)
{
	r->load.keep |= r->format->keep;
	r->load.values.shallow = r->format->lists_calls;
	if (r->load.weigh == LOAD_WEIGH_DURATION || r->load.weigh_field)
		r->load.keep |= PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE;
	if (r->output.style.with_pid)
		r->load.keep |= PROFILE_KEEP_PIDS;
	if (r->output.style.with_tid)
		r->load.keep |= PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS;
	if (r->output.style.with_cpu)
		r->load.keep |= PROFILE_KEEP_CPUS;
	if (r->output.style.by)
		r->load.keep |= PROFILE_KEEP_LABELS;
	if (r->output.style.by && str_starts_with(r->output.style.by, "arg:"))
		r->load.values.by = r->output.style.by + strlen("arg:");
	r->output.event = r->load.filter.event;
	if (r->output.event && !strcmp(r->output.event, "all"))
		r->load.filter.event = NULL;
	if ((r->output.fields.only | r->output.fields.add) & SCRIPT_DETAILS)
		r->load.keep |= PROFILE_KEEP_DETAILS;
	if ((r->output.fields.only | r->output.fields.add) & SCRIPT_REGISTERS)
		r->load.keep |= PROFILE_KEEP_REGISTERS;
	r->output.style.no_inline = r->load.symbolizer.no_inline;
	if ((r->output.fields.only | r->output.fields.add) & SCRIPT_SRCLINE)
		r->load.symbolizer.no_inline = false; /* lines are in DWARF */
}

int resolve_finish(struct resolve *r, struct err *err)
{
	if (r->output_path && !strcmp(r->output_path, "-"))
		r->output_path = NULL;
	if (r->output_path && is_input(r, r->output_path))
		return err_set(err, ERR_USAGE, r->output_path, "-o names the recording itself");
	if (check_output(r, err))
		return -ERR_USAGE;
	if (r->output_path && !r->bundle && !r->annotate)
		choose_format(r);
	if (!r->format && r->output_path &&
	    strrchr(r->output_path, '.') > strrchr(r->output_path, '/'))
		return unknown_suffix(r->output_path, err);
	r->browses = wants_browser(r);
	if (r->browses)
		r->load.keep |= PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS | PROFILE_KEEP_LABELS;
	if (!r->format)
		r->format = output_formats[0];
	if (check_format(r, err) || check_inputs(r, err))
		return -ERR_USAGE;
	if (!r->quiet)
		resolve_warn_ignored(r);
	if (r->inputs.n == 1 && strcmp(r->inputs.v[0], "-"))
		r->output.source = base_name(r->inputs.v[0]);
	r->output.top.children = resolve_is_given(r, "children");
	r->output.script.max_frames = r->load.unwind.max_frames;
	if (!r->output_path)
		suit_terminal(r);
	r->output.source_root = r->load.modules.symfs;
	want_shown(r);
	if (check_places(r, err) ||
	    (!r->no_cache && cache_options(&r->load.symbolizer, r->cache_dir, err)))
		return -ERR_USAGE;
	if (vec_push(&r->debug_dirs, NULL))
		return err_nomem(err);
	r->load.modules.debug_dirs = r->debug_dirs.v;
	r->load.symbolizer.n_threads = r->load.n_threads;
	return 0;
}

/* hints.c - hints for a better recording. */
#include "base/strtab.h"
#include "report/javascript.h"
#include "report/modules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "stitch/stitch.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

/* The largest copy of a stack that fits into a record (perf_event_open(2)). */
enum { STACK_COPY_MAX = 65528 };

/* A hint is given if more than CUT_PERCENT of the stacks are cut; the size in it would be enough
 * for SERVED_PERCENT of these. */
enum { CUT_PERCENT = 5, SERVED_PERCENT = 99 };

static uint32_t stack_copy_bytes(const struct perf_file *f)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < perf_file_event_count(f); i++)
		if (perf_file_event(f, i)->attr.sample_stack_user > most)
			most = perf_file_event(f, i)->attr.sample_stack_user;
	return most;
}

/* Where a line goes. */
struct hint_to {
	const char *command, *input;
	FILE *out; /* NULL: nowhere */
};

/* A whole line at once, which other threads and programs cannot tear. */
__attribute__((format(printf, 2, 3))) static void hint(const struct hint_to *to, const char *format,
						       ...)
{
	char *line = NULL;
	va_list args;
	int n;

	if (!to->out)
		return;
	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n >= 0)
		fprintf(to->out, "%s: %s: %s\n", to->command, to->input, line);
	free(n >= 0 ? line : NULL);
}

enum { HINT_PART = 128 };

/* How large the copies should be. */
static void size_needed(const struct stack_need *need, char out[HINT_PART])
{
	/* If only a few are known, as of a program that has just started, these say nothing about
	 * the others. */
	if (!need->known || need->known * 2 < need->cut)
		snprintf(out, HINT_PART, "their depth is not known");
	else if (need->bytes > STACK_COPY_MAX)
		snprintf(out, HINT_PART, "%.0f %% of these need more than %d",
			 percent(need->too_deep, need->known), STACK_COPY_MAX);
	else
		snprintf(out, HINT_PART, "%d %% of these need at most %" PRIu64, SERVED_PERCENT,
			 need->bytes);
}

static void size_advised(const struct stack_need *need, uint32_t size, char out[HINT_PART])
{
	bool known = need->known && need->known * 2 >= need->cut;
	uint64_t bytes = known && need->bytes < STACK_COPY_MAX ? need->bytes : STACK_COPY_MAX;

	if (size >= STACK_COPY_MAX)
		snprintf(out, HINT_PART, "a recording cannot hold more");
	else
		snprintf(out, HINT_PART, "record with --call-graph dwarf,%" PRIu64, bytes);
}

/* Hints are given below this share of roots, and above these shares of samples in code without
 * names, of the idle task, and that were lost. */
enum {
	ROOTS_PERCENT = 90,
	NAMELESS_PERCENT = 10,
	IDLE_PERCENT = 50,
	LOST_PERCENT = 5,
	COUNTED_PERCENT = 85
};

static bool hint_pages(const struct loaded *p, const struct hint_to *to)
{
	uint64_t cut = p->unwind.stops[UNWIND_STOP_MISSING_PAGE], all = p->unwind.user_stacks;

	if (cut * 100 <= all * CUT_PERCENT)
		return false;
	hint(to,
	     "%.0f %% of the stack copies end at a page that nothing had "
	     "touched, "
	     "as of a large array; larger copies would not help%s",
	     percent(cut, all),
	     report_is_of_capture(p) ? ", and `capture` came too late to touch it"
				     : ", `capture` touches such pages while it records");
	return true;
}

static bool hint_stack_size(const struct loaded *p, const struct hint_to *to)
{
	uint64_t cut = p->unwind.stops[UNWIND_STOP_TRUNCATED_STACK], all = p->unwind.user_stacks;
	uint64_t completed = p->stitched.to_root;
	uint32_t size = stack_copy_bytes(p->file);
	struct stack_need need = {0};
	char mended[HINT_PART] = "", needed[HINT_PART], advised[HINT_PART];

	if (cut * 100 <= all * CUT_PERCENT ||
	    (p->depths && stack_depths_need(p->depths, SERVED_PERCENT, STACK_COPY_MAX, &need)))
		return false;
	if (need.known * 2 >= need.cut && need.known && need.bytes <= size) {
		hint(to,
		     "%.0f %% of the stacks end where their copy broke off, at a "
		     "page "
		     "that was not in memory, as of an array that nothing has touched; larger "
		     "copies would not help",
		     percent(cut, all));
		return true;
	}
	if (completed)
		snprintf(mended, sizeof mended,
			 " (%.0f %% of these were completed from other samples)",
			 percent(completed, cut));
	size_needed(&need, needed);
	size_advised(&need, size, advised);
	hint(to, "%.0f %% of the stacks are cut at %u bytes%s; %s; %s", percent(cut, all), size,
	     mended, needed, advised);
	return true;
}

static const char before_it_began[] = "code was mapped before the recording began, or by another "
				      "process: record from the start of the program";

/* While a function whose return is probed runs, its return address is one of the kernel's. */
static const char return_probes[] = "return probes put an address of the kernel in place of return "
				    "addresses; call:FILE:FUNCTION "
				    "records calls and their ends with whole stacks";

static bool has_return_probes(const struct profile *p)
{
	for (size_t i = 0; i < p->events.n; i++) {
		const char *name = strtab_get(&p->strings, p->events.v[i].name);

		if (str_starts_with(name, "uretprobe:") || str_starts_with(name, "ur:") ||
		    str_ends_with(name, "__return"))
			return true;
	}
	return false;
}

/* What helps against stacks that end for a reason. */
static const char *root_help(const struct loaded *p, enum unwind_stop why)
{
	static const char *const help[UNWIND_STOP_N] = {
		[UNWIND_STOP_NO_BINARY] =
			"resolve where it was recorded, or give the files by --symfs DIR",
		[UNWIND_STOP_BAD_CFI] = "another unwinder may do better: --unwinder=libdw",
		[UNWIND_STOP_NO_MAP] = before_it_began,
		[UNWIND_STOP_DEPTH] = "raise --max-stack",
	};

	if (why == UNWIND_STOP_NO_CFI)
		return report_roots_help(p);
	if (why == UNWIND_STOP_NO_BINARY && report_no_file_help(p))
		return report_no_file_help(p);
	if (why == UNWIND_STOP_SWITCHED)
		return report_switch_help(p);
	if (why == UNWIND_STOP_NO_MAP && has_return_probes(p->profile))
		return return_probes;
	return help[why] ? help[why] : "--stats says more";
}

/* perf begins each part with the maps of its own child only, and none of what that has started. */
static const char before_this_part[] =
	"parts of perf record --switch-output lack the maps of processes that began before them: "
	"capture --switch-output writes whole parts";

static bool is_part(const struct loaded *p)
{
	const struct perf_file_info *i = perf_file_info(p->file);

	for (size_t k = 0; k < i->n_cmdline && strcmp(i->cmdline[k], "--") != 0; k++)
		if (!strncmp(i->cmdline[k], "--switch-output", 15))
			return !strstr(i->cmdline[0], "capture");
	return false;
}

static bool hint_roots(const struct loaded *p, const struct hint_to *to)
{
	uint64_t all = p->unwind.user_stacks, whole;
	enum unwind_stop i, worst = UNWIND_STOP_NONE;

	whole = p->unwind.stops[UNWIND_STOP_END] + p->stitched.to_root;
	for (i = UNWIND_STOP_NONE + 1; i < UNWIND_STOP_N; i++)
		/* hint_stack_size() handles stacks that were cut. */
		if (i != UNWIND_STOP_END && !unwind_stop_is_cut(i) &&
		    (worst == UNWIND_STOP_NONE || p->unwind.stops[i] > p->unwind.stops[worst]))
			worst = i;
	if (!all || whole * 100 >= all * ROOTS_PERCENT || !p->unwind.stops[worst] ||
	    p->unwind.stops[worst] * 100 < all * CUT_PERCENT)
		return false;
	hint(to, "%.0f %% of the stacks reach no root; most of these: %s; %s",
	     100 - percent(whole, all), unwind_stop_text(worst),
	     worst == UNWIND_STOP_NO_MAP && is_part(p) ? before_this_part : root_help(p, worst));
	return true;
}

/* A perf map that is there and was not believed. */
static const char *refused_map(const struct loaded *p, const struct dso *dso)
{
	const enum sym_miss miss = symbolizer_miss(p->symbolizer, dso);

	return miss == SYM_MISS_STALE_JIT_MAP || miss == SYM_MISS_FOREIGN_JIT_MAP
		       ? sym_miss_text(miss)
		       : "";
}

/* A module with code without names, what it lacks, and what helps: static texts. */
struct nameless {
	const struct dso *dso;
	double percent;
	const char *lacks, *help;
};

static int by_percent(const void *a, const void *b)
{
	const struct nameless *x = a, *y = b;

	return x->percent < y->percent ? 1 : x->percent > y->percent ? -1 : 0;
}

/* The modules through whose nameless code many stacks go, in the shares that page and --stats=json
 * show. The caller frees the result. */
static struct nameless *find_nameless(const struct loaded *p, size_t *ret_n)
{
	const size_t n = perf_file_dso_count(p->file);
	struct quality *parts = quality_by_dso(p), whole;
	struct nameless *found = calloc(n + 1, sizeof *found);
	struct err err;
	const bool measured = found && parts && !quality_measure(p, &whole, &err);

	*ret_n = 0;
	for (size_t i = 0; measured && i < n; i++) {
		const struct dso *dso = perf_file_dso(p->file, i);
		struct nameless *f = &found[*ret_n];

		f->percent = percent(parts[dso->id].parts[QUALITY_NAMELESS], whole.weight);
		if (f->percent <= NAMELESS_PERCENT)
			continue;
		f->dso = dso;
		f->lacks = report_module_lacks(p, dso, &f->help);
		if (dso->kind == DSO_ANON && !*f->lacks)
			f->lacks = refused_map(p, dso);
		/* Some of it has names. */
		if (dso->kind == DSO_ANON && !*f->help && report_code_help(p, dso))
			f->help = report_code_help(p, dso);
		++*ret_n;
	}
	free(parts);
	if (found)
		qsort(found, *ret_n, sizeof *found, by_percent);
	return found;
}

/* One line for all modules that lack the same. */
static void hint_same_lack(struct nameless *v, size_t n, const struct hint_to *to)
{
	const struct nameless first = v[0];
	char names[512];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nameless *m = &v[i];

		if (!m->dso || m->lacks != first.lacks || m->help != first.help)
			continue;
		if (used < sizeof names)
			used += (size_t)snprintf(
				names + used, sizeof names - used,
				used ? ", %s (%.0f %%)" : "%s (%.0f %% of the stacks)",
				m->dso->kind == DSO_FILE ? base_name(m->dso->path) : m->dso->path,
				m->percent);
		v[i].dso = NULL; /* said */
	}
	hint(to, "code without names in %s%s%s%s%s", names, *first.lacks ? ": " : "", first.lacks,
	     *first.help ? "; " : "", first.help);
}

static bool hint_names(const struct loaded *p, const struct hint_to *to)
{
	size_t n;
	struct nameless *v = find_nameless(p, &n);

	for (size_t i = 0; v && i < n; i++)
		if (v[i].dso)
			hint_same_lack(v + i, n - i, to);
	free(v);
	return v && n;
}

static bool hint_interpreted(const struct loaded *p, const struct hint_to *to)
{
	const double share = javascript_interpreted_percent(p);

	if (share <= NAMELESS_PERCENT)
		return false;
	hint(to,
	     "V8 interpreted all JavaScript (%.0f %% of the stacks): node --jitless, or nothing "
	     "was "
	     "compiled yet; then its functions have no names; without --jitless `capture` reads "
	     "them",
	     share);
	return true;
}

/* Inlined functions have no name there, and are missing. */
static bool hint_inlined(const struct loaded *p, const struct hint_to *to)
{
	const struct profile *pr = p->profile;
	const char *lacks, *help;
	bool any = false;
	size_t i;

	for (i = 1; i < pr->mappings.n && !p->no_inline; i++) {
		const struct dso *dso = pr->mappings.v[i].dso;
		const struct module *m =
			dso && dso->kind == DSO_FILE ? modules_get(p->modules, dso) : NULL;

		if (!m || !m->debug || !m->alt_miss)
			continue;
		any = true;
		lacks = report_module_lacks(p, dso, &help);
		hint(to, "%s: %s: %s; %s", dso->path, lacks, m->alt_link, help);
	}
	return any;
}

/* Names the files that were recorded without build id and have changed since. */
static bool hint_replaced(const struct loaded *p, const struct hint_to *to)
{
	static const char *const help[MODULE_MISS_N] = {
		[MODULE_MISS_CHANGED] = "was replaced or written to since it was recorded, without "
					"build id: its names may be wrong",
		[MODULE_MISS_OTHER_CODE] = "has other code than the recorded file: its names are "
					   "left out, its callers may be wrong",
	};
	const struct profile *pr = p->profile;
	bool any = false;
	size_t i;

	for (i = 1; i < pr->mappings.n; i++) {
		const struct dso *dso = pr->mappings.v[i].dso;
		const struct module *m =
			dso && dso->kind == DSO_FILE ? modules_get(p->modules, dso) : NULL;

		/* Without an image other lines say what its names lack. */
		if (!m || !help[m->image_miss] ||
		    (m->image_miss == MODULE_MISS_CHANGED && !m->image))
			continue;
		any = true;
		hint(to, "%s %s; give the one that ran by --symfs DIR", dso->path,
		     help[m->image_miss]);
	}
	return any;
}

static bool hint_chains(const struct loaded *p, const struct hint_to *to)
{
	size_t i;

	if (p->unwind.user_stacks)
		return false;
	for (i = 1; i < p->profile->nodes.n; i++)
		if (p->profile->nodes.v[i].depth > 1)
			return false;
	if (p->profile->samples.n < 2)
		return false;
	if (!strncmp(strtab_get(&p->profile->strings, p->profile->events.v[0].name),
		     "raw_syscalls:", 13))
		hint(to, "its system calls have no call chains: record with "
			 "`capture --syscalls -g`");
	else
		hint(to, "it has no call chains: record with `capture`, or with "
			 "`perf record --call-graph dwarf`");
	return true;
}

/* For a recording of the whole machine by a clock: nothing is wrong, but it is rarely what the user
 * wants. */
static void hint_idle(const struct loaded *p, const struct hint_to *to)
{
	const struct profile *pr = p->profile;
	uint64_t idle = 0, all = 0;
	size_t i;

	for (i = 0; i < pr->samples.n; i++) {
		all += pr->samples.v[i].count;
		if (comm_is_idle(strtab_get(&pr->strings, pr->samples.v[i].comm)))
			idle += pr->samples.v[i].count;
	}
	if (idle * 100 > all * IDLE_PERCENT)
		hint(to,
		     "%.0f %% of the samples are of idle processors (swapper); "
		     "--no-idle leaves them out",
		     percent(idle, all));
}

static void hint_lost(const struct loaded *l, const struct hint_to *to)
{
	const struct perf_file_stats *s = perf_file_stats(l->file);
	const uint64_t unwritten = s->unwritten_samples, all = s->samples + perf_lost(s);
	const uint64_t lost = perf_lost(s) - unwritten;

	if (unwritten * 100 > all * LOST_PERCENT)
		hint(to,
		     "%.0f %% of the samples (%" PRIu64 " of %" PRIu64
		     ") could not be written, as the file could not grow (a full disk or quota): "
		     "it ends too soon",
		     percent(unwritten, all), unwritten, all);
	if (lost * 100 > all * LOST_PERCENT)
		hint(to,
		     "%.0f %% of the samples (%" PRIu64 " of %" PRIu64
		     ") were lost while recording, and nothing tells of what they were; a lower "
		     "rate or larger buffers (-m) lose fewer",
		     percent(lost, all), lost, all);
}

/* What counters counted has samples but for the first period of each thread and process. */
static void hint_counted(const struct loaded *l, const struct hint_to *to)
{
	const struct perf_file_info *info = perf_file_info(l->file);
	const double share = percent(info->sampled, info->counted);

	/* Records of switches tell the time of all threads. */
	if (!info->counted || share >= COUNTED_PERCENT ||
	    perf_file_stats(l->file)->switches.wall_ns)
		return;
	hint(to, "the samples stand for %.0f %% of what was counted%s: %s", share,
	     l->filtered ? " in the whole recording" : "",
	     info->hypervisor_took
		     ? "a hypervisor had taken the processor away meanwhile"
		     : "threads and processes that end before their first period has passed have "
		       "none; `capture -a` sees them, a higher -F more of them");
}

bool report_hints(const struct loaded *l, const char *command, FILE *out)
{
	const struct hint_to to = {command, input_name(l->path), out};
	bool any = hint_stack_size(l, &to);

	any |= hint_pages(l, &to);
	any |= hint_roots(l, &to);
	any |= hint_names(l, &to);
	any |= hint_interpreted(l, &to);
	any |= hint_inlined(l, &to);
	any |= hint_replaced(l, &to);
	any |= hint_chains(l, &to);
	hint_idle(l, &to);
	hint_lost(l, &to);
	hint_counted(l, &to);
	return any;
}

/* ---- of debuginfod's servers -------------------------------------------------------------- */

void report_fetch_advice(const struct loaded *p, const char *command, FILE *out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool *lacking = calloc(perf_file_dso_count(p->file) + 1, sizeof *lacking);
	size_t n, i, n_lacking = 0;
	struct dso_weight *v = weigh_dsos(p, &n);

	for (i = 0; urls && *urls && lacking && v && i < n; i++) {
		const struct dso *dso = v[i].dso;
		const struct module *m = fetch_is_worth_it(dso, FETCH_MODE_AUTO)
						 ? modules_get(p->modules, dso)
						 : NULL;

		if (m && module_wants_fetch(m)) {
			lacking[dso->id] = true;
			n_lacking++;
		}
	}
	if (n_lacking)
		fprintf(out,
			"%s: %zu module%s (%.0f %% of the samples) lack%s symbols; "
			"--debuginfod would fetch them\n",
			command, n_lacking, n_lacking == 1 ? "" : "s",
			percent(weigh_picked(p, lacking), loaded_samples(p)),
			n_lacking == 1 ? "s" : "");
	free(lacking);
	free(v);
}

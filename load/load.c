/* load.c - one input, of any kind. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "functions/functions.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

void loaded_note(struct loaded *l, const char *format, ...)
{
	char *line = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0 || vec_push(&l->notes, line))
		free(n < 0 ? NULL : line);
}

void listener_begin(const struct load_options *opt, enum load_step step, const char *path,
		    const uint64_t *records)
{
	if (opt->listener.begin)
		opt->listener.begin(opt->listener.arg, step, path, records);
}

void listener_end(const struct load_options *opt, enum load_step step)
{
	if (opt->listener.end)
		opt->listener.end(opt->listener.arg, step);
}

int load_check_events(const struct profile *p, const char *list, struct err *err)
{
	char names[512] = "";
	const char *unknown;
	size_t i, n;

	unknown = list ? event_list_unknown(list, p, &n) : NULL;
	if (!unknown)
		return 0;
	for (i = 0; i < p->events.n; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
			 strtab_get(&p->strings, p->events.v[i].name));
	return err_set(err, ERR_NOT_FOUND, NULL, "--event: '%.*s' is none of the recording's:%s",
		       (int)n, unknown, names);
}

/* ---- recordings -------------------------------------------------------------------------------
 */

/* What it could have been. */
static void add_input_names(struct err *err)
{
	const struct input_format *const *f;

	for (f = input_formats; *f; f++)
		snprintf(err->what + strlen(err->what), sizeof err->what - strlen(err->what),
			 "%s%s",
			 f == input_formats ? "; nor is it "
			 : f[1]		    ? ", "
					    : " or ",
			 (*f)->name);
}

/* Events that happen while a program runs miss nothing but time; others need not happen at all. */
static const char *why_no_samples(const struct loaded *l, const struct load_options *opt)
{
	const struct profile *p = l->profile;

	if (perf_file_stats(l->file)->unwritten_samples)
		return "; those that were taken could not be written, as the file could not grow "
		       "(a "
		       "full disk or quota)";
	if (opt->off_cpu_least_ns && perf_file_stats(l->file)->switches.off_ns)
		return "; all waits are shorter than --off-cpu-thresh";
	for (size_t i = 0; i < p->events.n; i++) {
		const char *name = strtab_get(&p->strings, p->events.v[i].name);

		if (!strcmp(name, STACKS_EVENT) || !strcmp(name, WALL_CLOCK_EVENT))
			return "; no thread could be read: it had ended, or another program, as a "
			       "debugger, traced it";
		if (!strcmp(name, "off-cpu") || !strcmp(name, "wall"))
			return "; nothing began or ended a wait, and no thread could be read: it "
			       "had ended, or another program, as strace, traced it";
	}
	for (size_t i = 0; i < l->profile->events.n; i++)
		if (l->profile->events.v[i].attr.type == PERF_TYPE_HARDWARE ||
		    profile_event_is_clock(&l->profile->events.v[i]))
			return "; what was recorded ended too soon, or only waited: raise -F; "
			       "`capture --stacks -p PID` shows where threads wait";
	return "; the event did not happen in what was recorded: `capture --list` says what can "
	       "be recorded, `capture --stacks -p PID` shows where threads wait";
}

static bool has_cgroups(const struct profile *p)
{
	for (size_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].attr.sample_type & PERF_SAMPLE_CGROUP)
			return true;
	return false;
}

/* Explains why there is nothing to write: checks the possible reasons in their order. */
static int no_samples(const struct loaded *l, const struct load_options *opt, struct err *err)
{
	const struct perf_file_stats *s = perf_file_stats(l->file);
	const char *input = input_name(l->path);

	if (heap_none_in_use(l, opt->filter.event, err) ||
	    load_check_events(l->profile, opt->filter.event, err))
		return -(int)err->code;
	if (l->filtered && opt->filter.cgroups.n && !l->processes && !has_cgroups(l->profile))
		return err_set(err, ERR_NOT_FOUND, input,
			       "no cgroups were recorded; capture --all-cgroups does");
	for (size_t i = 0; l->filtered && i < opt->values.where.n; i++)
		if (!(l->names_seen >> i & 1))
			return err_set(err, ERR_NOT_FOUND, input,
				       "--where: no function in the %" PRIu64
				       " stacks has a parameter '%.*s' with debug information",
				       l->filtered, (int)opt->values.where.v[i].name_len,
				       opt->values.where.v[i].name);
	if (l->undecided)
		return err_set(err, ERR_NOT_FOUND, input,
			       "none of the %" PRIu64 " samples passes the filters; of %" PRIu64
			       " the value is not known (--args shows what is)",
			       l->filtered, l->undecided);
	if (l->filtered)
		return err_set(err, ERR_NOT_FOUND, input,
			       "none of the %" PRIu64 " samples passes the filters", l->filtered);
	return err_set(err, ERR_NOT_FOUND, input,
		       "no samples (%" PRIu64 " records read, %" PRIu64
		       " samples skipped as damaged)%s",
		       s->records, s->skipped_samples,
		       s->damaged || s->skipped_samples ? "" : why_no_samples(l, opt));
}

/* What the recording holds of it and could not be used. */
static void note_runtime_code(struct loaded *l)
{
	const size_t damaged = jit_codes_damaged(l->jit), left_out = jit_codes_left_out(l->jit);

	if (damaged)
		loaded_note(l,
			    "what it holds of the code of %zu process%s with a runtime is damaged: "
			    "some of that has no names, and its stacks may end early",
			    damaged, damaged == 1 ? "" : "es");
	if (left_out)
		loaded_note(l,
			    "what it holds of the code of %zu process%s with a runtime is not "
			    "read, as all of it is larger than 1 GB, and that is the largest: it "
			    "has no names",
			    left_out, left_out == 1 ? "" : "es");
}

/* Keeps what the reader says of the file. */
static void keep_facts(struct loaded *l)
{
	const struct perf_file_stats *s = perf_file_stats(l->file);
	struct jit_cut cut;
	size_t i;

	heap_note_estimates(l);
	for (i = 0; i < perf_file_note_count(l->file); i++)
		loaded_note(l, "%s", perf_file_note(l->file, i));
	for (i = 0; jit_codes_cut(l->jit, i, &cut); i++)
		loaded_note(l,
			    "%s: the jitdump ends inside of a record at offset %#" PRIx64
			    ": code that was made later has no names",
			    cut.dump->path, cut.off);
	note_runtime_code(l);
	l->damaged = jit_codes_damaged(l->jit) || s->damaged || s->interrupted || s->truncated ||
		     l->bundle_damaged || l->code_damaged;
	l->lost = perf_lost(s);
	l->lost_bytes = s->lost_bytes;
	l->tracepoints_lost = s->tracepoints_lost;
	l->no_traceevent = s->no_traceevent;
	for (i = 0; i < PERF_SKIP_N; i++)
		l->skipped += s->skips[i];
	facts_of_recording(&l->facts, perf_file_info(l->file));
	facts_of_times(&l->facts, perf_file_info(l->file), l->profile);
}

/* When calls ended that no event of their own tells. What lies behind the window of --time does not
 * count. */
static int keep_ends(struct loaded *l, const struct load_options *opt, struct err *err)
{
	struct profile *p = l->profile;
	const struct perf_task_end *ends;
	const size_t n = perf_file_task_ends(l->file, &ends);
	const uint64_t window_ns = opt->filter.time.end_ns;
	uint64_t end_ns = perf_file_info(l->file)->end_ns;

	if (opt->filter.time.is_percent)
		return 0;
	for (size_t i = 0; i < n && (!window_ns || ends[i].time_ns <= window_ns); i++) {
		if (vec_push(&p->task_ends, ends[i]))
			return err_nomem(err);
		end_ns = ends[i].time_ns > end_ns ? ends[i].time_ns : end_ns;
	}
	p->end_ns = window_ns && window_ns < end_ns ? window_ns : end_ns;
	return 0;
}

static int open_recording(struct loaded *l, const struct load_options *opt, struct err *err)
{
	int rc = pipeline_open(l, opt, err);

	if (rc == -ERR_FORMAT && input_is_fifo(l->path))
		snprintf(err->what + strlen(err->what), sizeof err->what - strlen(err->what),
			 "; of a FIFO only recordings are read: other profiles by resolve - < %s",
			 l->path);
	else if (rc == -ERR_FORMAT)
		add_input_names(err);
	return rc;
}

static int load_recording(struct loaded *l, const struct load_options *opt, struct err *err)
{
	int rc = open_recording(l, opt, err);

	if (!rc)
		rc = pipeline_load(l, opt, err);
	l->interrupted = opt->stop && *opt->stop;
	if (!rc)
		keep_facts(l);
	if (!rc)
		rc = keep_ends(l, opt, err);
	if (!rc && facts_of_modules(&l->facts, l->file))
		rc = err_nomem(err);
	if (!rc && !l->profile->samples.n)
		rc = no_samples(l, opt, err);
	if (!rc && opt->fetch && opt->modules.fetch)
		rc = fetch_for_profile(l, opt, err);
	if (!rc)
		rc = pipeline_symbolize(l, opt, err);
	if (!rc)
		carried_note_damage(l);
	return rc;
}

struct header_lines {
	const struct bundle *bundle;
	void (*line)(void *arg, const char *line);
	void *arg;
	unsigned rules; /* lines of '=': the second one ends the header */
};

static void header_line(void *lines, const char *line)
{
	struct header_lines *h = lines;

	if (!strncmp(line, "# ====", 6) && h->rules++ == 1)
		header_bundle(h->bundle, h->line, h->arg);
	h->line(h->arg, line);
}

/* A pipe has its header in records before the first sample. */
int load_header(const struct load_options *opt, const char *path,
		void (*line)(void *arg, const char *line), void *arg, struct err *err)
{
	struct loaded l = {.path = path};
	struct header_lines lines = {.line = line, .arg = arg};
	const uint8_t *section;
	struct perf_batch *b;
	size_t n;
	int rc = input_detect(path, &l.format, err);

	if (!rc && l.format)
		rc = err_set(err, ERR_USAGE, NULL, "--header is for one recording: %s",
			     input_name(path));
	if (rc)
		return rc;
	rc = open_recording(&l, opt, err);
	if (!rc && perf_file_info(l.file)->is_pipe) {
		rc = perf_file_read(l.file, &b, err);
		if (rc > 0)
			perf_batch_release(l.file, b);
	}
	section = rc < 0 ? NULL : perf_file_feature(l.file, FEATURE_BUNDLE, &n);
	if (section && bundle_open(&l.bundle, section, n, NULL) == -ERR_NOMEM)
		rc = err_nomem(err);
	lines.bundle = l.bundle; /* NULL if it is damaged: that is told where it is needed */
	if (rc >= 0)
		perf_file_header(l.file, header_line, &lines);
	loaded_done(&l);
	return rc < 0 ? rc : 0;
}

/* ---- any input --------------------------------------------------------------------------------
 */

static bool is_part_of_file(const struct loaded *l, const struct dso *dso)
{
	const struct module *m = dso && dso->kind == DSO_FILE ? modules_get(l->modules, dso) : NULL;
	struct elf_image *img = m ? m->debug ? m->debug : m->image : NULL;
	struct elf_section s;

	return img && elf_image_section(img, MODULE_PART_SECTION, &s, NULL);
}

/* What a recording carries has names and lines, and descriptions of parameters only where a probe
 * was. */
static void note_no_parameters(struct loaded *l, const struct load_options *opt)
{
	const struct profile *p = l->profile;
	const char *name = NULL;
	size_t n = 0;

	if (!l->modules || !(opt->values.all || opt->values.by || opt->values.where.n))
		return;
	for (size_t i = 0; i < p->mappings.n; i++)
		if (is_part_of_file(l, p->mappings.v[i].dso)) {
			name = name ? name : base_name(p->mappings.v[i].dso->path);
			n++;
		}
	if (n)
		loaded_note(l,
			    "of %zu file%s (%s) only what the recording carries is here, which "
			    "has no parameters but those of probed functions: give their debug "
			    "files by --symfs DIR or --debug-dir DIR",
			    n, &"s"[n == 1], name);
}

static void note_rounds(struct loaded *l, uint64_t n)
{
	if (n)
		loaded_note(l,
			    "%llu hit%s of call: %s another round of a loop at the start of a "
			    "function, no call: left out where events are listed, counted where "
			    "hits are",
			    (unsigned long long)n, &"s"[n == 1], n == 1 ? "is" : "are");
}

/* A share of the waiting time that is worth a word. */
#define BARE_WAITS 0.02

static void note_some_bare_waits(struct loaded *l, uint64_t ns, const char *why)
{
	const double seconds = (double)ns / 1e9;
	const double all = (double)perf_file_stats(l->file)->switches.off_ns / 1e9;

	if (seconds > BARE_WAITS * all)
		loaded_note(
			l,
			"%.1f of %.1f seconds of waiting have no stack ([unknown]): %s; capture "
			"--every MS shows where threads wait for long",
			seconds, all, why);
}

static void note_bare_waits(struct loaded *l)
{
	const struct perf_switch_times *t = &perf_file_stats(l->file)->switches;

	note_some_bare_waits(l, t->early_ns, "they began before the recording");
	note_some_bare_waits(l, t->bare_ns,
			     "none of the waits that long was sampled, which happens where many "
			     "short ones come or the buffer is full");
}

/* Leaves out what is over the limits. */
static int bound(struct loaded *l, struct err *err)
{
	struct profile_bounded left_out;
	int rc = profile_bound(l->profile, &left_out, err);

	if (rc || !left_out.stacks)
		return rc;
	l->damaged = true;
	loaded_note(l,
		    "%" PRIu64 " frames of %" PRIu64
		    " stack%s left out: more than a profile of this size can hold (`man resolve`, "
		    "LIMITS)",
		    left_out.frames, left_out.stacks, &"s"[left_out.stacks == 1]);
	return 0;
}

static int weigh_by_field(struct loaded *l, const char *name, struct err *err)
{
	struct profile_weighed w;
	int rc = profile_weigh_field(l->profile, name, &w, err);

	if (!rc && w.without)
		loaded_note(l,
			    "%" PRIu64 " of %" PRIu64
			    " samples have no number from 0 in their field %s: they weigh nothing",
			    w.without, w.samples, name);
	return rc;
}

int load_profile(const struct load_options *opt, const char *path, struct loaded *ret,
		 struct err *err)
{
	uint64_t n_rounds = 0;
	int rc;

	*ret = (struct loaded){.path = path};
	rc = input_detect(path, &ret->format, err);
	if (rc)
		return rc;
	rc = ret->format ? load_named(ret, opt, err) : load_recording(ret, opt, err);
	if (!rc)
		rc = profile_order_log(ret->profile, err);
	if (!rc)
		rc = profile_drop_left_out(ret->profile, &n_rounds, err);
	if (!rc && opt->weigh == LOAD_WEIGH_DURATION)
		rc = profile_weigh_durations(ret->profile, err);
	if (!rc && opt->weigh_field)
		rc = weigh_by_field(ret, opt->weigh_field, err);
	if (!rc) {
		note_no_parameters(ret, opt);
		note_rounds(ret, n_rounds);
	}
	if (!rc && !ret->format)
		note_bare_waits(ret);
	return rc ? rc : bound(ret, err);
}

int loaded_detach(struct loaded *l, unsigned keep, struct err *err)
{
	struct profile *alone;
	int rc;

	if (l->format) {
		vec_done(&l->profile->log);
		return 0;
	}
	alone = profile_new(keep & ~(unsigned)PROFILE_KEEP_LOG);
	rc = alone ? profile_absorb(alone, l->profile, err) : err_nomem(err);
	if (rc) {
		profile_free(alone);
		return rc;
	}
	symbolizer_save(l->symbolizer);
	profile_free(l->profile);
	l->profile = alone;
	pipeline_close(l);
	return 0;
}

uint64_t loaded_samples(const struct loaded *l)
{
	return perf_file_stats(l->file)->samples - l->filtered;
}

void loaded_done(struct loaded *l)
{
	size_t i;

	profile_free(l->profile);
	pipeline_close(l);
	for (i = 0; i < l->notes.n; i++)
		free(l->notes.v[i]);
	vec_done(&l->notes);
	facts_done(&l->facts);
	*l = (struct loaded){0};
}

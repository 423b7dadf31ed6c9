/* named.c - profiles of other tools, which have names already. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "input/input.h"
#include "load/pipeline.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"

/* Of the samples of other inputs only tasks and times can be filtered. */
static int check_filter(const struct loaded *l, const struct sample_filter *f, struct err *err)
{
	const char *option = f->dsos.n ? "--dso" : f->time.is_percent ? "--time in percent" : NULL;

	return option ? err_set(err, ERR_USAGE, NULL, "%s is for recordings: %s", option,
				input_name(l->path))
		      : 0;
}

/* A filter, and what samples have that it may ask for. */
struct named_filter {
	const struct sample_filter *filter;
	bool *has_pids, *has_tids;
};

static bool accepts(const void *arg, const struct input_sample *s)
{
	const struct named_filter *f = arg;
	const struct perf_event event = {.name = (char *)(uintptr_t)s->event};
	const struct perf_sample sample = {
		.comm = s->comm,
		.event = &event,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.time_ns = s->time_ns,
	};

	*f->has_pids |= s->pid != PROFILE_NO_PID;
	*f->has_tids |= s->tid != PROFILE_NO_PID;
	return sample_filter_match(f->filter, &sample);
}

/* Why none of n samples passes. */
static int none_passes(const struct loaded *l, const struct named_filter *f, uint64_t n,
		       struct err *err)
{
	const bool no_pids = l->filter.pids.n && !*f->has_pids;

	if (no_pids || (l->filter.tids.n && !*f->has_tids))
		return err_set(err, ERR_NOT_FOUND, input_name(l->path),
			       "%s: the samples of this %s have no ids of %s%s",
			       no_pids ? "--pid" : "--tid", l->format->name,
			       no_pids ? "processes" : "threads",
			       !strcmp(l->format->name, "script")
				       ? " (perf script writes them with -F +pid,+tid)"
				       : "");
	return err_set(err, ERR_NOT_FOUND, input_name(l->path),
		       "none of the %" PRIu64 " samples passes the filters", n);
}

static void note_damage(struct loaded *l, const struct input_result *got)
{
	const bool is_text = strcmp(l->format->name, "pprof") != 0;

	size_t i;

	l->damaged = got->damaged || got->cut || got->too_much;
	for (i = 0; i < got->n_notes; i++) {
		l->damaged |= got->notes[i].is_loss;
		loaded_note(l, "%" PRIu64 " %s", got->notes[i].n, got->notes[i].text);
	}
	if (got->damaged && is_text && !got->first_damaged) /* JSON is not read by lines */
		loaded_note(l, "%" PRIu64 " entries could not be read as %s", got->damaged,
			    l->format->name);
	else if (got->damaged)
		loaded_note(l, "%" PRIu64 " %s could not be read as %s, the first at %s %" PRIu64,
			    got->damaged, is_text ? "lines" : "messages", l->format->name,
			    is_text ? "line" : "offset", got->first_damaged);
	if (got->cut)
		loaded_note(l, "ends early; what was read is used");
	if (got->too_much)
		loaded_note(
			l, "unpacks to more than a thousand times its size; the rest was not read");
}

int load_named(struct loaded *l, const struct load_options *opt, struct err *err)
{
	bool has_pids = false, has_tids = false;
	const struct named_filter filter = {&l->filter, &has_pids, &has_tids};
	const struct input_options in = {accepts, &filter};
	struct input_result got;
	struct name_style style;
	int rc = 0;

	if (opt->for_recording)
		return err_set(err, ERR_USAGE, NULL, "%s is for one recording: %s",
			       opt->for_recording, input_name(l->path));
	rc = check_filter(l, &opt->filter, err);
	if (rc)
		return rc;
	/* One sample may be of several events: events are selected when they are written. */
	l->filter = opt->filter;
	l->filter.event = NULL;
	l->profile = profile_new(opt->keep);
	if (!l->profile)
		return err_nomem(err);
	style = symbolizer_name_style(&opt->symbolizer);
	profile_demangle(l->profile, &style);
	listener_begin(opt, LOAD_READS, l->path, NULL);
	rc = input_read(l->format, l->profile, l->path, &in, &got, err);
	listener_end(opt, LOAD_READS);
	if (rc)
		return rc;
	l->filtered = got.filtered;
	note_damage(l, &got);
	if (got.has_offsets)
		rc = name_addresses(l, opt, err);
	if (rc)
		return rc;
	facts_of_comments(&l->facts, l->profile, &l->lost);
	facts_of_times(&l->facts, NULL, l->profile);
	if (l->profile->samples.n)
		return 0;
	if (got.filtered)
		return none_passes(l, &filter, got.samples, err);
	return err_set(err, ERR_NOT_FOUND, input_name(l->path),
		       "no samples (%" PRIu64 " were read)", got.samples);
}

/* profiles.c - reads each input into a profile, and adds up the profiles. */
#include "cmd/profiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report_stats.h"
#include "cmd/args.h"
#include "cmd/progress.h"
#include "input/input.h"

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

bool profiles_are_meant(const struct resolve *r)
{
	return r->diff.paths[0].n || r->inputs.n > 1 || input_detect(r->inputs.v[0]);
}

/* Options that only a recording can fulfil are refused for other inputs, not ignored. */
static int check_options(const struct resolve *r, const char *path, struct err *err)
{
	const struct {
		bool asked;
		const char *option;
	} rows[] = {
		{r->header_only, "--header"},
		{r->explain, "--explain"},
		{r->stats != STATS_NONE, "--stats"},
		{r->requires, "--require"},
		{r->pipeline.verify_every != 0, "--verify-unwind"},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].asked)
			return err_set(
				err, ERR_USAGE, NULL, "%s is for one recording: %s", rows[i].option,
				r->inputs.n > 1 ? "there are several inputs" : input_name(path));
	return 0;
}

/* Of the samples of other inputs only tasks and times can be filtered. */
static int check_filters(const struct resolve *r, const char *path, struct err *err)
{
	const char *option = r->pipeline.filter.dsos.n	       ? "--dso"
			     : r->time && strchr(r->time, '%') ? "--time in percent"
							       : NULL;

	return option ? err_set(err, ERR_USAGE, NULL, "%s is for recordings: %s", option,
				input_name(path))
		      : 0;
}

static bool accepts(const void *arg, const struct input_sample *s)
{
	const struct sample_filter *f = arg;
	const struct perf_event event = {.name = (char *)(uintptr_t)s->event};
	const struct perf_sample sample = {
		.comm = s->comm,
		.event = &event,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.time_ns = s->time_ns,
	};

	return sample_filter_match(f, &sample);
}

static void report_notes(struct resolve *r, const char *path, const struct input_result *got)
{
	size_t i;

	for (i = 0; i < got->n_notes; i++) {
		r->damaged |= got->notes[i].is_loss;
		if (!r->quiet)
			fprintf(stderr, "resolve: %s: %" PRIu64 " %s\n", input_name(path),
				got->notes[i].n, got->notes[i].text);
	}
}

static void report_damage(struct resolve *r, const char *path, const struct input_format *f,
			  const struct input_result *got)
{
	bool is_text = strcmp(f->name, "pprof") != 0;

	report_notes(r, path, got);
	if (!got->damaged && !got->cut && !got->too_much)
		return;
	r->damaged = true;
	if (r->quiet)
		return;
	if (got->damaged)
		fprintf(stderr,
			"resolve: %s: %" PRIu64
			" %s could not be read as %s, the first at %s %" PRIu64 "\n",
			input_name(path), got->damaged, is_text ? "lines" : "messages", f->name,
			is_text ? "line" : "offset", got->first_damaged);
	if (got->cut)
		fprintf(stderr, "resolve: %s: ends early; what was read is used\n",
			input_name(path));
	if (got->too_much)
		fprintf(stderr,
			"resolve: %s: unpacks to more than a thousand times its size; the rest was "
			"not read\n",
			input_name(path));
}

int profiles_bound(struct resolve *r, const char *path, struct profile *p, struct err *err)
{
	struct profile_bounded left_out;
	int rc = profile_bound(p, &left_out, err);

	if (rc || !left_out.stacks)
		return rc;
	r->damaged = true;
	if (!r->quiet)
		fprintf(stderr,
			"resolve: %s: %" PRIu64 " frames of %" PRIu64
			" stack%s left out: more than a profile of this size can hold (`man "
			"resolve`, "
			"LIMITS)\n",
			input_name(path), left_out.frames, left_out.stacks,
			&"s"[left_out.stacks == 1]);
	return 0;
}

static int read_named(struct resolve *r, const char *path, const struct input_format *f,
		      struct profile **ret, struct err *err)
{
	struct sample_filter filter;
	struct input_options opt = {accepts, &filter};
	struct input_result got;
	int rc = check_options(r, path, err);

	if (!rc)
		rc = check_filters(r, path, err);
	if (!rc && r->time)
		rc = args_filter_time(r->time, 0, 0, &r->pipeline.filter, err);
	/* One sample may be of several events: events are selected when they are written. */
	filter = r->pipeline.filter;
	filter.event = NULL;
	*ret = rc ? NULL : profile_new(r->pipeline.keep);
	if (rc)
		return rc;
	progress_begin("reading", input_name(path), NULL, NULL);
	rc = *ret ? input_read(f, *ret, path, &opt, &got, err) : err_nomem(err);
	progress_end();
	if (rc)
		return rc;
	report_damage(r, path, f, &got);
	if ((*ret)->samples.n)
		return 0;
	return err_set(err, ERR_NOT_FOUND, input_name(path),
		       got.filtered ? "none of the %" PRIu64 " samples passes the filters"
				    : "no samples (%" PRIu64 " were read)",
		       got.samples);
}

static void keep(char *to, size_t size, const char *s)
{
	snprintf(to, size, "%s", s ? s : "");
}

/* Hashes the words after PROGRAM of "perf record .. -- PROGRAM WORD..". Without "--" it is unknown
 * where they begin. */
static uint64_t hash_arguments(const struct perf_file_info *info)
{
	uint64_t hash = 1;
	size_t i;

	for (i = 0; i < info->n_cmdline && strcmp(info->cmdline[i], "--"); i++)
		;
	if (i + 1 >= info->n_cmdline)
		return 0;
	for (i += 2; i < info->n_cmdline; i++)
		hash = hash_u64(hash ^ hash_bytes(info->cmdline[i], strlen(info->cmdline[i])));
	return hash | 1;
}

/* The comments that resolve writes into pprof files: "kernel:6.1.0". */
static void fact_of_comment(struct input_facts *f, const char *s)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
		uint64_t *number;
	} rows[] = {
		{"cpu:", f->cpu, sizeof f->cpu, NULL},
		{"arch:", f->arch, sizeof f->arch, NULL},
		{"kernel:", f->kernel, sizeof f->kernel, NULL},
		{"processors:", NULL, 0, &f->cpus},
		{"frequency:", NULL, 0, &f->frequency},
		{"lost:", NULL, 0, &f->lost},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].key);

		if (strncmp(s, rows[i].key, n))
			continue;
		if (rows[i].text)
			keep(rows[i].text, rows[i].size, s + n);
		else
			*rows[i].number = strtoull(s + n, NULL, 10);
	}
}

static void facts_of_comments(struct input_facts *f, const struct profile *p)
{
	size_t i;

	for (i = 0; i < p->comments.n; i++)
		fact_of_comment(f, strtab_get(&p->strings, p->comments.v[i]));
}

static void facts_of_recording(struct input_facts *f, const struct perf_file *file)
{
	const struct perf_file_info *i = perf_file_info(file);

	keep(f->cpu, sizeof f->cpu, i->cpu_desc);
	keep(f->kernel, sizeof f->kernel, i->os_release);
	keep(f->arch, sizeof f->arch, i->arch);
	keep(f->host, sizeof f->host, i->hostname);
	f->cpus = i->cpus_online;
	f->arguments = hash_arguments(i);
	f->lost = perf_lost(perf_file_stats(file));
}

/* Unwinds and symbolizes a recording, and prints its warnings. */
static int load_recording(struct resolve *r, const char *path, struct pipeline *p, struct err *err)
{
	int rc = pipeline_open(p, &r->pipeline, err);

	if (!rc && r->time)
		rc = args_filter_time(r->time, perf_file_info(p->file)->first_sample_ns,
				      perf_file_info(p->file)->last_sample_ns, &r->pipeline.filter,
				      err);
	if (!rc)
		rc = pipeline_load(p, &r->pipeline, err);
	r->interrupted |= r->pipeline.stop && *r->pipeline.stop;
	if (!rc && !p->profile->samples.n)
		rc = err_set(err, ERR_NOT_FOUND, input_name(path),
			     p->filtered ? "no sample passes the filters" : "no samples");
	if (!rc && r->fetch)
		rc = fetch_for_profile(p, &r->pipeline, r->fetch, &r->watch, err);
	return rc ? rc : pipeline_symbolize(p, &r->pipeline, err);
}

static void report_recording(struct resolve *r, const char *path, const struct pipeline *p)
{
	const struct perf_file_stats *s = perf_file_stats(p->file);
	size_t i;

	for (i = 0; !r->quiet && i < perf_file_note_count(p->file); i++)
		fprintf(stderr, "resolve: %s: %s\n", input_name(path), perf_file_note(p->file, i));
	r->damaged |= s->damaged || s->interrupted || s->truncated;
	r->output.lost += perf_lost(s);
	r->is_poor |= print_hints(p, input_name(path), r->quiet ? NULL : stderr);
	/* With --strict, what is missing is damage. */
	r->damaged |=
		r->strict && (r->is_poor || perf_lost(s) || s->lost_bytes || s->skipped_samples);
}

static int read_recording(struct resolve *r, const char *path, struct profile **ret,
			  struct input_facts *facts, struct err *err)
{
	struct pipeline p = {0};
	int rc = check_options(r, path, err);

	r->pipeline.input = path;
	if (!rc)
		rc = load_recording(r, path, &p, err);
	*ret = rc ? NULL : profile_new(r->pipeline.keep & ~(unsigned)PROFILE_KEEP_LOG);
	if (!rc)
		rc = *ret ? profile_absorb(*ret, p.profile, err) : err_nomem(err);
	if (!rc)
		report_recording(r, path, &p);
	if (!rc && facts)
		facts_of_recording(facts, p.file);
	/* Of many inputs the next one finds it. */
	if (!rc)
		symbolizer_save(p.symbolizer);
	pipeline_done(&p);
	return rc;
}

int profiles_load_one(struct resolve *r, const char *path, struct profile **ret,
		      struct input_facts *facts, struct err *err)
{
	const struct input_format *f = input_detect(path);
	bool before = r->damaged;
	int rc;

	r->damaged = false;
	if (facts)
		*facts = (struct input_facts){.cpu = ""};
	rc = f ? read_named(r, path, f, ret, err) : read_recording(r, path, ret, facts, err);
	if (!rc)
		rc = profiles_bound(r, path, *ret, err);
	if (facts && f && !rc)
		facts_of_comments(facts, *ret);
	if (facts)
		facts->damaged = r->damaged;
	r->damaged |= before;
	if (rc) {
		profile_free(*ret);
		*ret = NULL;
	}
	return rc;
}

/* Formats of single samples need an input that has single samples. */
static int check_times(const struct resolve *r, struct profile *p, struct err *err)
{
	if (r->format->takes_sums && !p->log.n)
		return profile_log_sums(p, err);
	if (!r->format->needs_samples || p->log.n)
		return 0;
	return err_set(err, ERR_USAGE, NULL, "%s shows single samples: %s", r->format->name,
		       r->inputs.n > 1 ? "several inputs are added up" : "the input has sums only");
}

/* Adds a profile to one side of a difference. */
static int absorb_side(struct resolve *r, struct profile *both, const struct profile *one,
		       bool is_new, struct err *err)
{
	struct event_set events;
	int rc = event_set_make(&events, one, r->output.event, err);

	if (!rc)
		rc = output_add_run(&r->output.diff, both, one, event_set_main(&events, one),
				    is_new, err);
	event_set_done(&events);
	return rc;
}

/* Adds all inputs of one side; each is a run. */
static int load_side(struct resolve *r, struct profile *both, const char *const *paths, size_t n,
		     bool is_new, struct err *err)
{
	struct profile *one;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < n; i++) {
		rc = profiles_load_one(r, paths[i], &one, NULL, err);
		if (!rc)
			rc = absorb_side(r, both, one, is_new, err);
		profile_free(one);
	}
	return rc;
}

/* Prints which files are on which side, unless it is one each. */
static void report_sides(const struct resolve *r)
{
	size_t i;

	fputs("resolve: base:", stderr);
	for (i = 0; i < r->diff.paths[0].n; i++)
		fprintf(stderr, " %s", input_name(r->diff.paths[0].v[i]));
	fputs("; new:", stderr);
	for (i = 0; i < r->inputs.n; i++)
		fprintf(stderr, " %s", input_name(r->inputs.v[i]));
	fputc('\n', stderr);
}

static int load_difference(struct resolve *r, struct profile **ret, struct err *err)
{
	struct profile *both = profile_new(PROFILE_KEEP_TIDS);
	int rc = both ? load_side(r, both, (const char *const *)r->diff.paths[0].v,
				  r->diff.paths[0].n, false, err)
		      : err_nomem(err);

	if (!rc)
		rc = load_side(r, both, r->inputs.v, r->inputs.n, true, err);
	if (!rc && !r->quiet && r->diff.paths[0].n + r->inputs.n > 2)
		report_sides(r);
	r->output.diff.sides[0].name = r->diff.paths[0].n == 1 ? r->diff.paths[0].v[0] : NULL;
	r->output.diff.sides[1].name = r->inputs.n == 1 ? r->inputs.v[0] : NULL;
	r->output.event = NULL; /* the profile has one */
	/* In a difference, thread numbers are runs. */
	r->output.style.with_pid = r->output.style.with_tid = false;
	*ret = both;
	return rc;
}

int profiles_load(struct resolve *r, struct profile **ret, struct err *err)
{
	struct profile *sum = NULL, *one;
	size_t i;
	int rc;

	if (r->diff.paths[0].n)
		return load_difference(r, ret, err);
	rc = profiles_load_one(r, r->inputs.v[0], &sum, NULL, err);

	for (i = 1; !rc && i < r->inputs.n; i++) {
		/* Samples of several inputs have no common clock. */
		vec_done(&sum->log);
		rc = profiles_load_one(r, r->inputs.v[i], &one, NULL, err);
		if (!rc)
			rc = profile_absorb(sum, one, err);
		profile_free(one);
	}
	if (!rc)
		rc = check_times(r, sum, err);
	*ret = sum;
	return rc;
}

/* inputs.c - reads each input into a profile, and adds up the profiles. */
#include "cmd/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strtab.h"
#include "cmd/fetch.h"
#include "profile/profile.h"
#include "report/report.h"
#include "symbolize/symbolize.h"

static void print_notes(const struct resolve *r, const struct loaded *in)
{
	size_t i;

	for (i = 0; !r->quiet && i < in->notes.n; i++)
		fprintf(stderr, "resolve: %s: %s\n", input_name(in->path), in->notes.v[i]);
	/* Nothing in the output shows that its fields are not all there. */
	if (r->quiet && in->tracepoints_lost)
		fprintf(stderr,
			"resolve: %s: fields of tracepoints are left out: %" PRIu64
			" descriptions are not used%s\n",
			input_name(in->path), in->tracepoints_lost,
			in->no_traceevent ? ": libtraceevent is not installed" : "");
}

/* With --strict, what is missing is damage. */
static bool is_strict_loss(const struct resolve *r, const struct loaded *in)
{
	if (!r->strict || (!in->skipped && !in->lost && !in->lost_bytes))
		return false;
	if (!r->quiet)
		fprintf(stderr,
			"resolve: %s: --strict: %" PRIu64
			" samples were lost while recording, %" PRIu64 " records skipped, %" PRIu64
			" bytes not read\n",
			input_name(in->path), in->lost, in->skipped, in->lost_bytes);
	return true;
}

/* A recording of root is root's: it holds what was on the stacks of any process. */
static void add_owner(const char *path, struct err *err)
{
	const size_t used = strlen(err->what);
	struct stat st;

	if (stat(path, &st) || st.st_uid == geteuid())
		return;
	snprintf(err->what + used, sizeof err->what - used,
		 "; it belongs to user %u: sudo chown %u %s", (unsigned)st.st_uid,
		 (unsigned)geteuid(), path);
}

/* Loads an input, and prints what there is to say about it. */
static int load_one(struct resolve *r, const char *path, struct loaded *in, struct err *err)
{
	int rc = load_profile(&r->load, path, in, err);

	fetch_watch_sum(&r->watch);
	/* They may be the reason why there are no samples. */
	print_notes(r, in);
	if (rc && err->code == ERR_PERMISSION)
		add_owner(path, err);
	if (rc)
		return rc;
	r->interrupted |= in->interrupted;
	r->damaged |= in->damaged;
	r->damaged |= !in->format && is_strict_loss(r, in);
	if (!in->format)
		r->output.lost += in->lost;
	return 0;
}

void input_hints(struct resolve *r, const struct loaded *in)
{
	FILE *out = r->quiet ? NULL : stderr;

	if (in->format)
		return;
	r->is_poor |= report_hints(in, "resolve", out);
	if (out && !r->load.fetch)
		report_fetch_advice(in, "resolve", out);
}

/* One of several inputs: only its profile is kept. */
static int load_part(struct resolve *r, const char *path, struct loaded *in, struct err *err)
{
	int rc = load_one(r, path, in, err);

	if (!rc)
		input_hints(r, in);
	return rc ? rc : loaded_detach(in, r->load.keep, err);
}

/* ---- a difference -----------------------------------------------------------------------------
 */

/* What the weights of each side are. */
struct measured {
	char event[2][256]; /* without modifiers; empty: not known */
	bool is_ns[2];
};

static void note_measured(struct measured *m, const struct profile *p, const struct event_set *set,
			  bool is_new)
{
	const struct profile_event *e = &p->events.v[event_set_main(set, p)];
	const char *name = strtab_get(&p->strings, e->name);

	snprintf(m->event[is_new], sizeof m->event[is_new], "%s", name);
	if (!strchr(name, '/') && strrchr(name, ':') && !strpbrk(strrchr(name, ':') + 1, "_."))
		m->event[is_new][strrchr(name, ':') - name] = 0;
	m->is_ns[is_new] = profile_event_is_clock(e);
}

/* Shares of what was measured by other events are drawn side by side if that is asked for, but it
 * is said. */
static void report_measured(const struct resolve *r, const struct measured *m)
{
	const char *base = m->event[0], *new = m->event[1];

	if (r->quiet || !*base || !*new || !strcmp(base, new))
		return;
	fprintf(stderr,
		"resolve: the base's weights are %s%s, the new one's %s%s: their difference says "
		"little; --event chooses\n",
		base, m->is_ns[0] ? " (ns)" : "", new, m->is_ns[1] ? " (ns)" : "");
}

/* Adds a profile to one side of a difference. */
static int absorb_side(struct resolve *r, struct profile *both, const struct profile *one,
		       bool is_new, struct measured *m, struct err *err)
{
	struct event_set events;
	int rc = event_set_make(&events, one, r->output.event, err);

	if (!rc)
		note_measured(m, one, &events, is_new);
	if (!rc)
		rc = output_add_run(&r->output.diff, both, one, &events, is_new, err);
	event_set_done(&events);
	return rc;
}

/* Adds all inputs of one side; each is a run. */
static int load_side(struct resolve *r, struct profile *both, const char *const *paths, size_t n,
		     bool is_new, struct measured *m, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < n; i++) {
		struct loaded in;

		rc = load_one(r, paths[i], &in, err);
		if (!rc)
			input_hints(r, &in);
		if (!rc)
			rc = absorb_side(r, both, in.profile, is_new, m, err);
		/* The next run finds the names. */
		if (!rc && !in.format)
			symbolizer_save(in.symbolizer);
		loaded_done(&in);
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
	unsigned beside = r->format->keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_LOG);
	struct profile *both = profile_new(PROFILE_KEEP_TIDS | beside);
	struct measured m = {0};
	int rc = both ? load_side(r, both, (const char *const *)r->diff.paths[0].v,
				  r->diff.paths[0].n, false, &m, err)
		      : err_nomem(err);

	if (!rc)
		rc = load_side(r, both, r->inputs.v, r->inputs.n, true, &m, err);
	if (!rc)
		report_measured(r, &m);
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

/* ---- one or several ---------------------------------------------------------------------------
 */

/* Options that only one recording can fulfil are refused for other inputs, not ignored. */
static const char *option_for_recording(const struct resolve *r)
{
	const struct {
		bool asked;
		const char *option;
	} rows[] = {
		{r->header_only, "--header"},	     {r->explain, "--explain"},
		{r->annotate != NULL, "--annotate"}, {r->stats != STATS_NONE, "--stats"},
		{r->requires, "--require"},	     {r->load.verify_every != 0, "--verify-unwind"},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].asked)
			return rows[i].option;
	return NULL;
}

/* Formats of single samples need an input that has single samples. */
static int check_times(const struct resolve *r, struct profile *p, struct err *err)
{
	if (r->format->takes_sums && !p->log.n)
		return profile_log_sums(p, err);
	if (!r->format->needs_samples || p->log.n)
		return 0;
	if (r->load.values.where.n) /* what is left are ends of calls that do not pass */
		return err_set(err, ERR_NOT_FOUND, r->inputs.v[0], "no call passes --where");
	return err_set(err, ERR_USAGE, NULL, "%s shows single samples: %s", r->format->name,
		       r->inputs.n > 1 ? "several inputs are added up" : "the input has sums only");
}

static bool has_unnamed(const struct profile *p)
{
	return p->events.n && p->events.v[0].is_unnamed;
}

/* Numbers without a unit were added to those of an event: right only if they are of the same. */
static void say_unnamed(const struct resolve *r, const char *path, const struct profile *sum)
{
	if (path && !r->quiet && !has_unnamed(sum))
		fprintf(stderr,
			"resolve: %s: its numbers have no unit; they are added to those of %s\n",
			input_name(path), strtab_get(&sum->strings, sum->events.v[0].name));
}

/* Adds the other inputs to the first one. Samples of several inputs have no common clock. */
static int load_sum(struct resolve *r, struct loaded *sum, struct err *err)
{
	int rc = load_part(r, r->inputs.v[0], sum, err);
	const char *unnamed = !rc && has_unnamed(sum->profile) ? r->inputs.v[0] : NULL;
	size_t i;

	for (i = 1; !rc && !r->interrupted && i < r->inputs.n; i++) {
		struct loaded in;

		rc = load_part(r, r->inputs.v[i], &in, err);
		if (!rc && has_unnamed(in.profile))
			unnamed = r->inputs.v[i];
		if (!rc)
			rc = profile_absorb(sum->profile, in.profile, err);
		loaded_done(&in);
	}
	if (!rc)
		say_unnamed(r, unnamed, sum->profile);
	return rc;
}

int inputs_load(struct resolve *r, struct loaded *ret, struct err *err)
{
	const bool is_one = r->inputs.n == 1 && !r->diff.paths[0].n;
	int rc;

	*ret = (struct loaded){0};
	r->load.for_recording = option_for_recording(r);
	if (!is_one && r->load.for_recording)
		return err_set(err, ERR_USAGE, NULL,
			       "%s is for one recording: there are several inputs",
			       r->load.for_recording);
	if (r->diff.paths[0].n)
		rc = load_difference(r, &ret->profile, err);
	else
		rc = is_one ? load_one(r, r->inputs.v[0], ret, err) : load_sum(r, ret, err);
	if (!rc && r->merge_threads)
		rc = profile_merge_threads(ret->profile, err);
	if (rc || r->diff.paths[0].n)
		return rc;
	rc = load_check_events(ret->profile, r->load.filter.event, err);
	return rc ? rc : check_times(r, ret->profile, err);
}

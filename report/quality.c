/* quality.c - computes shares of the weight from the stacks of a profile. */
#include "base/err.h"
#include "report/modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

#define X(name, text, more, what) {text, more, what},
static const struct {
	const char *name;
	bool more_is_better;
	const char *of;
} kinds[QUALITY_N] = {QUALITIES(X)};
#undef X

static enum quality_kind end_of(enum unwind_stop stop)
{
	switch (stop) {
	case UNWIND_STOP_END:
		return QUALITY_ROOTS;
	case UNWIND_STOP_SWITCHED:
		return QUALITY_SWITCHED;
	case UNWIND_STOP_MISSING_PAGE:
		return QUALITY_HOLE;
	case UNWIND_STOP_TRUNCATED_STACK:
		return QUALITY_CUT;
	case UNWIND_STOP_NO_BINARY:
		return QUALITY_NO_FILE;
	default:
		return QUALITY_OTHER_ENDS;
	}
}

/* The faults that a frame adds to its stacks: bits 1 << enum quality_kind. */
static unsigned faults_of(const struct loaded *p, const struct profile_location *l)
{
	const struct dso *dso = p->profile->mappings.v[l->mapping].dso;
	unsigned faults = 0;

	if (l->how == FRAME_STITCHED)
		faults |= 1u << QUALITY_STITCHED;
	if (frame_how_is_guess(l->how))
		faults |= 1u << QUALITY_GUESSED;
	if (dso && symbolizer_miss(p->symbolizer, dso) == SYM_MISS_BUILD_ID_DIFFERS)
		faults |= 1u << QUALITY_WRONG_BUILD;
	if (!l->n_lines)
		faults |= 1u << QUALITY_NAMELESS;
	return faults;
}

static unsigned *faults_by_location(const struct loaded *p)
{
	const struct profile *pr = p->profile;
	unsigned *faults = calloc(pr->locations.n + 1, sizeof *faults);

	for (size_t i = 0; faults && i < pr->locations.n; i++)
		faults[i] = faults_of(p, &pr->locations.v[i]);
	return faults;
}

static bool has_several_events(const struct profile *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->events.n; i++)
		n += p->events.v[i].samples > 0;
	return n > 1;
}

static uint64_t weight_of(const struct profile_sample *s, bool by_count)
{
	return by_count || !s->period ? s->count : s->period;
}

static void add_faults(struct quality *q, unsigned faults, uint64_t weight)
{
	for (unsigned k = 0; faults >> k; k++)
		if (faults >> k & 1)
			q->parts[k] += weight;
}

int quality_measure(const struct loaded *p, struct quality *ret, struct err *err)
{
	const struct profile *pr = p->profile;
	const bool by_count = has_several_events(pr);
	unsigned *faults = faults_by_location(p), *all = calloc(pr->nodes.n + 1, sizeof *all);
	size_t i;

	*ret = (struct quality){0};
	for (i = 1; faults && all && i < pr->nodes.n; i++) /* a parent's id is smaller */
		all[i] = all[pr->nodes.v[i].parent] | faults[pr->nodes.v[i].location];
	for (i = 0; faults && all && i < pr->samples.n; i++) {
		const struct profile_sample *s = &pr->samples.v[i];
		const uint64_t weight = weight_of(s, by_count);

		ret->weight += weight;
		add_faults(ret, all[s->node], weight);
		if (s->stop == UNWIND_STOP_NONE)
			continue;
		ret->user_stacks += weight;
		ret->parts[end_of(s->stop)] += weight;
	}
	free(all);
	free(faults);
	ret->parts[QUALITY_NAMES] = ret->weight - ret->parts[QUALITY_NAMELESS];
	ret->parts[QUALITY_LOST] = perf_lost(perf_file_stats(p->file));
	ret->samples = perf_file_stats(p->file)->samples + ret->parts[QUALITY_LOST];
	return faults && all ? 0 : err_nomem(err);
}

/* Counts a stack once for each kind of fault and each module in which it has such a fault. */
static void add_by_dso(struct quality *q, unsigned *seen, const struct loaded *p,
		       const struct profile_sample *s, const unsigned *faults, uint64_t weight)
{
	const struct profile *pr = p->profile;
	const struct dso *dso = NULL;
	uint32_t node;

	for (node = s->node; node; node = pr->nodes.v[node].parent) {
		const uint32_t l = pr->nodes.v[node].location;

		dso = pr->mappings.v[pr->locations.v[l].mapping].dso;
		if (!dso)
			continue;
		add_faults(&q[dso->id], faults[l] & ~seen[dso->id], weight);
		seen[dso->id] |= faults[l];
	}
	if (dso && s->stop != UNWIND_STOP_NONE)
		q[dso->id].parts[end_of(s->stop)] += weight;
	for (node = s->node; node; node = pr->nodes.v[node].parent) {
		dso = pr->mappings.v[pr->locations.v[pr->nodes.v[node].location].mapping].dso;
		if (dso)
			seen[dso->id] = 0;
	}
}

struct quality *quality_by_dso(const struct loaded *p)
{
	const struct profile *pr = p->profile;
	const size_t n = perf_file_dso_count(p->file);
	const bool by_count = has_several_events(pr);
	struct quality *q = calloc(n + 1, sizeof *q);
	unsigned *faults = faults_by_location(p), *seen = calloc(n + 1, sizeof *seen);

	if (!q || !faults || !seen) {
		free(q);
		q = NULL;
	}
	for (size_t i = 0; q && i < pr->samples.n; i++)
		add_by_dso(q, seen, p, &pr->samples.v[i], faults,
			   weight_of(&pr->samples.v[i], by_count));
	free(seen);
	free(faults);
	return q;
}

static uint64_t whole_of(const struct quality *q, enum quality_kind kind)
{
	return kind == QUALITY_LOST	    ? q->samples
	       : kind <= QUALITY_OTHER_ENDS ? q->user_stacks
					    : q->weight;
}

bool quality_share(const struct quality *q, enum quality_kind kind, double *ret)
{
	const uint64_t whole = whole_of(q, kind);

	*ret = percent(q->parts[kind], whole);
	return whole > 0;
}

void quality_json(const struct quality *whole, const struct quality *part, FILE *out)
{
	const char *comma = "";

	fputc('{', out);
	for (unsigned k = 0; k < QUALITY_N; k++) {
		const uint64_t all = whole_of(whole, k);

		if (!all || (part != whole && (k == QUALITY_NAMES || k == QUALITY_LOST)))
			continue;
		fprintf(out, "%s\"%s\":%.4f", comma, kinds[k].name, percent(part->parts[k], all));
		comma = ",";
	}
	fputc('}', out);
}

/* ---- requirements ---------------------------------------------------------------------------- */

static int unknown_kind(const char *name, size_t n, struct err *err)
{
	char names[256] = "";

	for (unsigned k = 0; k < QUALITY_N; k++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s", kinds[k].name);
	return err_set(err, ERR_USAGE, NULL, "--require: '%.*s' is none of:%s", (int)n, name,
		       names);
}

int requirements_parse(struct requirements *r, char *list, struct err *err)
{
	for (const char *at = list;; at++) {
		const size_t n = strcspn(at, "=,");
		unsigned k = 0;
		double v;
		char *end;

		while (k < QUALITY_N &&
		       (strlen(kinds[k].name) != n || strncmp(kinds[k].name, at, n) != 0))
			k++;
		if (k == QUALITY_N)
			return unknown_kind(at, n, err);
		v = strtod(at + n + (at[n] == '='), &end);
		if (at[n] != '=' || end == at + n + 1 || (*end && *end != ',') ||
		    !(v >= 0 && v <= 100))
			return err_set(err, ERR_USAGE, NULL,
				       "--require: %s needs a percentage, as in %s=%d",
				       kinds[k].name, kinds[k].name,
				       kinds[k].more_is_better ? 95 : 5);
		r->asked[k] = true;
		r->percent[k] = v;
		if (!*end)
			return 0;
		at = end;
	}
}

bool requirements_met(const struct requirements *r, const struct quality *q, const char *command,
		      FILE *out)
{
	bool met = true;

	for (unsigned k = 0; k < QUALITY_N; k++) {
		const bool more = kinds[k].more_is_better;
		double share;

		if (!r->asked[k])
			continue;
		if (!quality_share(q, k, &share)) {
			fprintf(out, "%s: --require %s=%g: not met: the recording has no %s\n",
				command, kinds[k].name, r->percent[k],
				k <= QUALITY_OTHER_ENDS ? "stack copies" : "samples");
			met = false;
		} else if (more ? share < r->percent[k] : share > r->percent[k]) {
			fprintf(out, "%s: --require %s=%g: not met: %.2f %% (%s)\n", command,
				kinds[k].name, r->percent[k], share, kinds[k].of);
			met = false;
		}
	}
	return met;
}

/* stats.c - --stats and --stats=json. */
#include "report/hits.h"
#include "report/java.h"
#include "report/javascript.h"
#include "report/modules.h"

#include <inttypes.h>

#include "reader/reader.h"
#include "stitch/stitch.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

/* Sums of stop reasons in the summary. "broken" are those that better unwinding could avoid. */
struct stop_sums {
	uint64_t root, switched, truncated, no_cfi, no_file, broken, no_map;
};

static struct stop_sums stop_sums(const struct unwind_stats *u)
{
	const uint64_t *s = u->stops;

	return (struct stop_sums){
		.root = s[UNWIND_STOP_END],
		.switched = s[UNWIND_STOP_SWITCHED],
		.truncated = s[UNWIND_STOP_TRUNCATED_STACK] + s[UNWIND_STOP_MISSING_PAGE],
		.no_cfi = s[UNWIND_STOP_NO_CFI],
		.no_file = s[UNWIND_STOP_NO_BINARY],
		.no_map = s[UNWIND_STOP_NO_MAP],
		.broken = s[UNWIND_STOP_BAD_CFI] + s[UNWIND_STOP_BAD_MEMORY] +
			  s[UNWIND_STOP_NO_REGISTER] + s[UNWIND_STOP_LOOP] + s[UNWIND_STOP_DEPTH],
	};
}

static uint64_t guessed_frames(const struct unwind_stats *u)
{
	uint64_t sum = 0;
	unsigned how;

	for (how = 0; how < FRAME_HOW_N; how++)
		if (frame_how_is_guess(how))
			sum += u->frames_by_how[how];
	return sum;
}

static void text_share(FILE *out, const char *what, uint64_t part, uint64_t whole)
{
	if (part)
		fprintf(out, "  %-34s %10" PRIu64 "  %5.1f %%\n", what, part, percent(part, whole));
}

/* Of context switches: where the time of all threads went. */
static void text_switches(const struct perf_switch_times *t, FILE *out)
{
	fprintf(out, "time of %" PRIu64 " threads, in seconds: %.3f\n", t->threads,
		(double)t->wall_ns / 1e9);
	text_share(out, "on a processor, ms", t->on_ns / 1000000, t->wall_ns / 1000000);
	text_share(out, "waiting, ms", t->off_ns / 1000000, t->wall_ns / 1000000);
	text_share(out, "runnable, ms", t->ready_ns / 1000000, t->wall_ns / 1000000);
	text_share(out, "unknown: records were lost, ms", t->unknown_ns / 1000000,
		   t->wall_ns / 1000000);
	text_share(out, "woken by what was recorded, ms", t->woken_ns / 1000000,
		   t->wall_ns / 1000000);
	text_share(out, "no waker recorded, ms", t->unwoken_ns / 1000000, t->wall_ns / 1000000);
	text_share(out, "without a stack of its own, ms", t->carried_ns / 1000000,
		   t->wall_ns / 1000000);
}

void report_text(const struct loaded *p, FILE *out)
{
	const struct perf_file_stats *r = perf_file_stats(p->file);
	const struct symbolize_stats *s = symbolizer_stats(p->symbolizer);
	const struct perf_file_info *info = perf_file_info(p->file);
	const struct unwind_stats *u = &p->unwind;
	unsigned i;

	fprintf(out,
		"samples: %" PRIu64 " read, %" PRIu64 " skipped, %" PRIu64
		" lost while recording\n",
		r->samples, r->skipped_samples, perf_lost(r));
	if (info->counted)
		text_share(out, "of what was counted", info->sampled, info->counted);
	for (i = 0; i < PERF_SKIP_N; i++)
		if (r->skips[i])
			fprintf(out, "  skipped records: %" PRIu64 ", %s\n", r->skips[i],
				perf_skip_text(i));
	if (r->switches.wall_ns)
		text_switches(&r->switches, out);
	fprintf(out, "user stacks unwound: %" PRIu64 "\n", u->user_stacks);
	for (i = 0; i < UNWIND_STOP_N; i++)
		text_share(out, unwind_stop_text(i), u->stops[i], u->user_stacks);
	if (p->stitched.cut)
		fprintf(out,
			"stitched: of %" PRIu64 " cut stacks %" PRIu64
			" were completed and %" PRIu64
			" extended from other samples of their thread; for %" PRIu64
			" such samples may be of another call\n",
			p->stitched.cut, p->stitched.to_root, p->stitched.extended,
			p->stitched.doubtful);
	fprintf(out, "frames: %" PRIu64 "\n", u->frames);
	for (i = 0; i < FRAME_HOW_N; i++)
		text_share(out, frame_how_text(i), u->frames_by_how[i], u->frames);
	fprintf(out,
		"addresses: %" PRIu64 " distinct, %" PRIu64 " with a name, %" PRIu64
		" with a line\n",
		s->addresses, s->symbolized, s->with_lines);
	for (i = 1; i < SYM_MISS_N; i++)
		text_share(out, sym_miss_text(i), s->misses[i], s->addresses);
	if (s->cached_modules)
		fprintf(out, "modules whose debug information came from the cache: %" PRIu64 "\n",
			s->cached_modules);
	text_java(p, out);
	text_javascript(p, out);
	report_hits(p->profile, out);
	report_modules_text(p, out);
	fprintf(out, "seconds: %.3f read and unwind, %.3f symbolize\n", p->seconds_load,
		p->seconds_symbolize);
}

void report_json(const struct loaded *p, const struct quality *q, double seconds_write, FILE *out)
{
	const struct perf_file_stats *r = perf_file_stats(p->file);
	const struct symbolize_stats *s = symbolizer_stats(p->symbolizer);
	const struct unwind_stats *u = &p->unwind;
	struct stop_sums stop = stop_sums(u);
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"samples", r->samples},
		{"filtered", p->filtered},
		{"lost", perf_lost(r)},
		{"skipped", r->skipped_samples},
		{"lost_bytes", r->lost_bytes},
		{"period", r->period_sum},
		{"counted", perf_file_info(p->file)->counted},
		{"sampled", perf_file_info(p->file)->sampled},
		{"user_stacks", u->user_stacks},
		{"root", stop.root},
		{"switched", stop.switched},
		{"truncated", stop.truncated},
		{"no_cfi", stop.no_cfi},
		{"no_file", stop.no_file},
		{"no_map", stop.no_map},
		{"broken", stop.broken},
		{"stitched", u->frames_by_how[FRAME_STITCHED]},
		{"guessed", guessed_frames(u)},
		{"frames", u->frames},
		{"addresses", s->addresses},
		{"symbolized", s->symbolized},
		{"cached_modules", s->cached_modules},
		{"threads_wall_ns", r->switches.wall_ns},
		{"threads_on_ns", r->switches.on_ns},
		{"threads_off_ns", r->switches.off_ns},
		{"threads_runnable_ns", r->switches.ready_ns},
		{"threads_unknown_ns", r->switches.unknown_ns},
		{"threads_woken_ns", r->switches.woken_ns},
		{"threads_unwoken_ns", r->switches.unwoken_ns},
	};
	size_t i;

	fputc('{', out);
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		fprintf(out, "\"%s\":%" PRIu64 ",", numbers[i].name, numbers[i].value);
	fprintf(out, "\"interrupted\":%s,\"truncated_file\":%s,\"damaged\":%s,",
		r->interrupted ? "true" : "false", r->truncated ? "true" : "false",
		r->damaged ? "true" : "false");
	json_java(p, out);
	json_javascript(p, out);
	fprintf(out, "\"quality\":");
	quality_json(q, q, out);
	fputc(',', out);
	report_modules_json(p, q, out);
	fprintf(out, ",\"thread_seconds\":[");
	for (i = 0; i < p->thread_seconds.n; i++)
		fprintf(out, "%s%.6f", i ? "," : "", p->thread_seconds.v[i]);
	fprintf(out, "],\"seconds\":{\"load\":%.6f,\"symbolize\":%.6f,\"write\":%.6f}}\n",
		p->seconds_load, p->seconds_symbolize, seconds_write);
}

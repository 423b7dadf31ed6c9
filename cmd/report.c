/* report.c - --stats, --stats=json and --header. */
#include "cmd/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/weights.h"

/* Which stops mean what in the summary. "broken" is what we could have done better. */
struct stop_sums {
	uint64_t root, truncated, no_cfi, no_file, broken, no_map;
};

static struct stop_sums stop_sums(const struct unwind_stats *u)
{
	const uint64_t *s = u->stops;

	return (struct stop_sums){
		.root = s[UNWIND_STOP_END],
		.truncated = s[UNWIND_STOP_TRUNCATED_STACK],
		.no_cfi = s[UNWIND_STOP_NO_CFI],
		.no_file = s[UNWIND_STOP_NO_BINARY],
		.no_map = s[UNWIND_STOP_NO_MAP],
		.broken = s[UNWIND_STOP_BAD_CFI] + s[UNWIND_STOP_BAD_MEMORY] + s[UNWIND_STOP_LOOP] +
			  s[UNWIND_STOP_DEPTH],
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

/* "symtab of PATH, dynsym of PATH": the module's own path stands in the line already. */
static void text_source(const char *source, const char *path, FILE *out)
{
	size_t n = strlen(path);
	const char *of;

	while ((of = strstr(source, " of "))) {
		bool own = !strncmp(of + 4, path, n) && (of[4 + n] == ',' || !of[4 + n]);

		fprintf(out, "%.*s", (int)(of - source) + (own ? 0 : 4), source);
		source = of + 4 + (own ? n : 0);
	}
	fputs(source, out);
}

/* What servers said about a module that they were, or could have been, asked for; else "". */
static const char *fetch_text(const struct pipeline *p, const struct dso *dso)
{
	const struct module *m = modules_get(p->modules, dso);
	enum fetch_result r = !m ? FETCH_NOT_ASKED : m->image ? m->debug_fetch : m->image_fetch;

	if (m && m->debug && !m->alt && m->alt_fetch != FETCH_OFF &&
	    (r == FETCH_DONE || r == FETCH_NOT_ASKED))
		r = m->alt_fetch;
	if (r == FETCH_NOT_ASKED || r == FETCH_DONE || (r == FETCH_OFF && !module_wants_fetch(m)))
		return "";
	return fetch_result_text(r);
}

static void text_modules(const struct pipeline *p, FILE *out)
{
	size_t n, i;
	struct dso_weight *w = weigh_dsos(p, &n);
	uint64_t total = perf_file_stats(p->file)->samples - p->filtered;

	fprintf(out, "modules by samples:\n");
	for (i = 0; i < n && i < 40; i++) {
		enum sym_miss miss = symbolizer_miss(p->symbolizer, w[i].dso);
		const char *source = symbolizer_source(p->symbolizer, w[i].dso);
		const char *fetch = fetch_text(p, w[i].dso);

		fprintf(out, "  %5.1f %%  %-50s ", percent(w[i].samples, total), w[i].dso->path);
		text_source(source, w[i].dso->path, out);
		fprintf(out, "%s%s%s%s\n", *source && miss ? "; " : "",
			miss ? sym_miss_text(miss) : "", *fetch ? "; debuginfod: " : "", fetch);
	}
	if (n > 40)
		fprintf(out, "  ... and %zu more\n", n - 40);
	free(w);
}

void report_text(const struct pipeline *p, FILE *out)
{
	const struct perf_file_stats *r = perf_file_stats(p->file);
	const struct symbolize_stats *s = symbolizer_stats(p->symbolizer);
	const struct unwind_stats *u = &p->unwind;
	unsigned i;

	fprintf(out,
		"samples: %" PRIu64 " read, %" PRIu64 " skipped, %" PRIu64
		" lost while recording\n",
		r->samples, r->skipped_samples, perf_lost(r));
	for (i = 0; i < PERF_SKIP_N; i++)
		if (r->skips[i])
			fprintf(out, "  skipped records: %" PRIu64 ", %s\n", r->skips[i],
				perf_skip_text(i));
	fprintf(out, "user stacks unwound: %" PRIu64 "\n", u->user_stacks);
	for (i = 0; i < UNWIND_STOP_N; i++)
		text_share(out, unwind_stop_text(i), u->stops[i], u->user_stacks);
	if (p->stitched.cut)
		fprintf(out,
			"stitched: of %" PRIu64 " cut stacks %" PRIu64
			" were completed and %" PRIu64
			" extended from other samples of their thread\n",
			p->stitched.cut, p->stitched.to_root, p->stitched.extended);
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
	text_modules(p, out);
	fprintf(out, "seconds: %.3f read and unwind, %.3f symbolize\n", p->seconds_load,
		p->seconds_symbolize);
}

static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void json_modules(const struct pipeline *p, FILE *out)
{
	size_t n, i, b;
	struct dso_weight *w = weigh_dsos(p, &n);

	fprintf(out, "\"modules\":[");
	for (i = 0; i < n; i++) {
		const struct dso *d = w[i].dso;
		enum sym_miss miss = symbolizer_miss(p->symbolizer, d);

		fprintf(out, "%s{\"path\":", i ? "," : "");
		json_string(out, d->path);
		fprintf(out, ",\"build_id\":\"");
		for (b = 0; b < d->build_id.size; b++)
			fprintf(out, "%02x", d->build_id.bytes[b]);
		fprintf(out, "\",\"samples\":%" PRIu64 ",\"source\":", w[i].samples);
		json_string(out, symbolizer_source(p->symbolizer, d));
		fprintf(out, ",\"missing_reason\":");
		json_string(out, miss ? sym_miss_text(miss) : "");
		fprintf(out, ",\"debuginfod\":");
		json_string(out, fetch_text(p, d));
		fputc('}', out);
	}
	fprintf(out, "]");
	free(w);
}

void report_json(const struct pipeline *p, double seconds_write, FILE *out)
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
		{"user_stacks", u->user_stacks},
		{"root", stop.root},
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
	};
	size_t i;

	fputc('{', out);
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		fprintf(out, "\"%s\":%" PRIu64 ",", numbers[i].name, numbers[i].value);
	fprintf(out, "\"interrupted\":%s,\"truncated_file\":%s,\"damaged\":%s,",
		r->interrupted ? "true" : "false", r->truncated ? "true" : "false",
		r->damaged ? "true" : "false");
	json_modules(p, out);
	fprintf(out, ",\"seconds\":{\"load\":%.6f,\"symbolize\":%.6f,\"write\":%.6f}}\n",
		p->seconds_load, p->seconds_symbolize, seconds_write);
}

static void say_line(void *out, const char *line)
{
	fprintf(out, "%s\n", line);
}

void report_header(const struct perf_file *f, FILE *out)
{
	perf_file_header(f, say_line, out);
}

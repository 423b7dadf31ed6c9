/* formats.c - the table of formats, and functions that several of them share. A new format is a
 * file fmt_NAME.c and a row here. */
#include "output/formats.h"

#include <string.h>

#include "profile/profile.h"
#include "reader/reader.h"

/* In the order of --help. */
#define FORMATS(X)    \
	X(folded)     \
	X(script)     \
	X(html)       \
	X(flamegraph) \
	X(pprof)      \
	X(top)        \
	X(speedscope) \
	X(jsonl)      \
	X(jsonl2)     \
	X(stacks)     \
	X(lines)      \
	X(md)         \
	X(trace)      \
	X(timeline)   \
	X(perfetto)   \
	X(callgrind)  \
	X(firefox)    \
	X(otlp)

#define X(name) extern const struct output_format format_##name;
FORMATS(X)
#undef X

#define X(name) &format_##name,
const struct output_format *const output_formats[] = {FORMATS(X) NULL};
#undef X

const struct output_format *output_format_find(const char *name)
{
	const struct output_format *const *f;

	for (f = output_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

void output_honouring(struct text *t, unsigned parts, const char *between)
{
	const struct output_format *const *f;
	bool is_first = true;

	for (f = output_formats; *f; f++)
		if ((parts & ~(*f)->honours) == 0) {
			text_str(t, is_first ? "" : between);
			text_str(t, (*f)->name);
			is_first = false;
		}
}

static bool ends_with(const char *path, size_t path_len, const char *suffix, size_t n)
{
	return path_len > n && !memcmp(path + path_len - n, suffix, n);
}

const struct output_format *output_format_for_path(const char *path)
{
	size_t path_len = strlen(path), n;
	const struct output_format *const *f;
	const char *s;

	for (f = output_formats; *f; f++)
		for (s = (*f)->suffixes; *s; s += n + (s[n] == ' ')) {
			n = strcspn(s, " ");
			if (ends_with(path, path_len, s, n))
				return *f;
		}
	return NULL;
}

int output_write(const struct output_format *format, const struct profile *p,
		 const struct output_options *opt, FILE *out, struct err *err)
{
	struct event_set events;
	int rc = event_set_make(&events, p, opt->event, err);

	if (!rc && !opt->event && !format->names_events)
		event_set_reduce(&events, p);
	if (!rc)
		rc = format->write(p, opt, &events, out, err);
	event_set_done(&events);
	return rc;
}

/* ---- what several formats need ------------------------------------------------------------- */

double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     const bool *has_event)
{
	double stitched = 0, all = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		double weight = (double)format_weight(opt, s->count, s->period);

		if (!has_event[s->event])
			continue;
		all += weight;
		if (profile_is_stitched(p, s->node))
			stitched += weight;
	}
	return all > 0 ? stitched / all : 0;
}

void format_command(struct text *t, const struct profile *p, const struct output_options *opt,
		    size_t limit)
{
	const struct perf_file_info *info = opt->no_cmdline ? NULL : p->info;
	size_t i, from = 0, start = t->n;

	for (i = 0; info && i + 1 < info->n_cmdline && !from; i++)
		from = strcmp(info->cmdline[i], "--") ? 0 : i + 1;
	for (i = from; info && i < info->n_cmdline && t->n - start < limit; i++) {
		text_str(t, i > from ? " " : "");
		text_xml(t, info->cmdline[i], strlen(info->cmdline[i]));
	}
	if (t->n == start && opt->source)
		text_xml(t, opt->source, strlen(opt->source));
}

uint64_t format_wall_ns(const struct profile *p)
{
	const struct perf_file_info *i = p->info;
	const uint64_t duration = p->last_ns - p->first_ns;
	uint64_t t = i ? 0 : p->wall_ns;

	if (i && i->clock_wall_ns)
		t = i->clock_wall_ns - i->clock_ref_ns + p->first_ns;
	else if (i && i->file_mtime_ns > duration)
		t = i->file_mtime_ns - duration;
	return t <= INT64_MAX ? t : 0;
}

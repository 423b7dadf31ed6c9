/* page_facts.c - what the page says of the recording as a whole. */
#include <time.h>

#include "output/page_parts.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* ---- facts ---------------------------------------------------------------------------------- */

static void add_fact(struct text *t, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	text_str(t, ",\"");
	text_str(t, key);
	text_str(t, "\":");
	text_json(t, value, strlen(value));
}

static void add_share(struct text *t, const char *key, double part, double whole)
{
	char buf[64];

	text_add(t, buf,
		 (size_t)snprintf(buf, sizeof buf, ",\"%s\":%.6f", key,
				  whole > 0 ? part / whole : 0));
}

/* The time of the recording, in UTC; "": unknown. */
static void format_when(const struct profile *p, char *buf, size_t size)
{
	const struct perf_file_info *i = p->info;
	uint64_t ns = !i		 ? 0
		      : i->clock_wall_ns ? i->clock_wall_ns - i->clock_ref_ns + p->first_ns
					 : i->file_mtime_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!ns || !gmtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M UTC", &tm))
		*buf = '\0';
}

/* By event: how many samples of it both sides have. */
static void add_side_samples(struct text *t, const struct page *g)
{
	char buf[64];
	size_t i;

	text_str(t, ",\"counts\":[");
	for (i = 0; i < g->events->n; i++) {
		const uint64_t *n = g->p->events.v[g->events->ids[i]].side_samples;

		text_add(t, buf,
			 (size_t)snprintf(buf, sizeof buf, "%s[%llu,%llu]", i ? "," : "",
					  (unsigned long long)n[0], (unsigned long long)n[1]));
	}
	text_char(t, ']');
}

static void add_difference(struct text *t, const struct page *g)
{
	const struct output_diff *d = &g->opt->diff;
	static const char *const sides[] = {"base", "new"};
	char buf[96];
	size_t i;

	if (!d->is_diff)
		return;
	text_add(t, buf,
		 (size_t)snprintf(buf, sizeof buf, ",\"diff\":{\"variance\":%.9g,\"judged\":%s",
				  diff_variance(d), d->verdicts ? "true" : "false"));
	add_fact(t, "summary", d->summary);
	text_str(t, ",\"sides\":[");
	for (i = 0; i < 2; i++) {
		text_add(t, buf,
			 (size_t)snprintf(buf, sizeof buf, "%s{\"runs\":%u,\"samples\":%llu",
					  i ? "," : "", d->sides[i].runs,
					  (unsigned long long)d->sides[i].samples));
		add_fact(t, "name", d->sides[i].name ? d->sides[i].name : sides[i]);
		text_char(t, '}');
	}
	text_char(t, ']');
	add_side_samples(t, g);
	text_char(t, '}');
}

/* Are only sums known, and no numbers of samples? */
static bool only_sums(const struct page *g)
{
	size_t i;

	for (i = 0; i < g->events->n; i++)
		if (!g->p->events.v[g->events->ids[i]].is_sum)
			return false;
	return true;
}

void page_write_facts(struct page *g)
{
	const struct profile *p = g->p;
	double all = 0, cut = 0, nameless = 0;
	uint64_t samples = 0;
	char buf[64];
	struct text t = {0};
	size_t i, main = 0;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		const struct profile_location *leaf = NULL;
		double weight = (double)format_weight(g->opt, s->count, s->period);

		if (!g->events->has[s->event])
			continue;
		samples += s->count;
		all += weight;
		cut += unwind_stop_is_cut(s->stop) ? weight : 0;
		if (s->node)
			leaf = &p->locations.v[p->nodes.v[s->node].location];
		nameless += leaf && !leaf->n_lines && !leaf->symbol ? weight : 0;
	}
	text_add(&t, buf,
		 (size_t)snprintf(buf, sizeof buf, "{\"samples\":%llu,\"lost\":%llu",
				  (unsigned long long)samples, (unsigned long long)g->opt->lost));
	while (g->events->ids[main] != event_set_main(g->events, p))
		main++;
	text_str(&t, ",\"event\":");
	text_dec(&t, main, 0);
	text_str(&t, g->opt->count_samples ? ",\"counts\":true" : "");
	text_str(&t, only_sums(g) ? ",\"sums\":true" : "");
	add_share(&t, "cut", cut, all);
	add_share(&t, "nameless", nameless, all);
	add_share(&t, "stitched", format_stitched_share(p, g->opt, g->events->has), 1);
	format_when(p, buf, sizeof buf);
	add_fact(&t, "when", buf);
	add_difference(&t, g);
	add_fact(&t, "host", p->info ? p->info->hostname : NULL);
	add_fact(&t, "arch", p->info ? p->info->arch : NULL);
	add_fact(&t, "tool", g->opt->generator);
	add_fact(&t, "by", g->by);
	text_str(&t, g->by && g->opt->style.by ? ",\"isByFirst\":true" : "");
	text_char(&t, '}');
	g->columns.failed |= t.failed;
	page_add_string(g, t.s ? t.s : "", t.n);
	text_done(&t);
}

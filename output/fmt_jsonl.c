/* fmt_jsonl.c - every sample as one JSON object on a line of its own (jsonlines.org), in time
 * order, for jq, DuckDB, pandas and scripts:
 *
 *	{"v":1,"t_ns":1,"pid":2,"tid":2,"comm":"ls","cpu":0,"event":"cycles","period":100,"stop":"END",
 *	 "stack":[{"ip":"0x401150","sym":"leaf","off":80,"dso":"/bin/ls","file":"w.c","line":7}]}
 *
 * doc/resolve.1 is the manual of it; "v" is its version, which members that are added do not change. The
 * stack is leaf first. Addresses are strings, as JSON numbers are doubles in many readers and
 * lose the last bits. What is unknown is left out. An inlined function has "inlined":true; "off" is
 * the distance from the symbol's start, "build_id" that of the dso. "how":"stitched" marks frames
 * that were taken from another sample of the thread, "how":"guessed" those found without unwind
 * tables. */
#include "output/format.h"

#include <linux/perf_event.h>

struct jsonl {
	const struct profile *p;
	const struct output_options *opt;
	VEC(size_t) first; /* by location, and one more: where its frames begin */
	struct text frames, out;
};

static void add_key(struct text *t, const char *key)
{
	text_str(t, ",\"");
	text_str(t, key);
	text_str(t, "\":");
}

static void add_number(struct text *t, const char *key, uint64_t v)
{
	add_key(t, key);
	text_dec(t, v, 0);
}

static void add_string(struct text *t, const struct profile *p, const char *key, uint32_t id)
{
	if (!id)
		return;
	add_key(t, key);
	text_json_string(t, p, id);
}

static void add_dso(struct text *t, const struct profile *p, const struct profile_mapping *m)
{
	if (m == p->mappings.v)
		return;
	add_string(t, p, "dso", m->name);
	if (!m->build_id.size)
		return;
	add_key(t, "build_id");
	text_char(t, '"');
	text_build_id(t, &m->build_id);
	text_char(t, '"');
}

/* One frame; line is NULL when nothing is known about the source. */
static void add_frame(struct jsonl *j, const struct profile_location *l, uint32_t name,
		      const struct profile_line *line, bool inlined)
{
	struct text *t = &j->frames;

	text_str(t, "{\"ip\":\"0x");
	text_hex(t, l->ip - l->is_return_address, 0);
	text_char(t, '"');
	add_string(t, j->p, "sym", name);
	if (l->symbol && !inlined)
		add_number(t, "off", l->symbol_offset);
	add_dso(t, j->p, &j->p->mappings.v[l->mapping]);
	if (line) {
		add_string(t, j->p, "file", j->p->functions.v[line->function].file);
		if (line->line)
			add_number(t, "line", line->line);
	}
	if (inlined)
		text_str(t, ",\"inlined\":true");
	if (l->how == FRAME_STITCHED)
		text_str(t, ",\"how\":\"stitched\"");
	else if (frame_how_is_guess(l->how))
		text_str(t, ",\"how\":\"guessed\"");
	text_str(t, "},");
}

static int add_locations(struct jsonl *j)
{
	const struct profile *p = j->p;
	size_t i, k, n;

	for (i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];
		const struct profile_line *lines = profile_lines(p, l, j->opt->style.no_inline, &n);

		if (vec_push(&j->first, j->frames.n))
			return -1;
		for (k = 0; k + 1 < n; k++)
			add_frame(j, l, p->functions.v[lines[k].function].name, &lines[k], true);
		add_frame(j, l, profile_symbol(p, l), n ? &lines[n - 1] : NULL, false);
	}
	return j->frames.failed ? -1 : vec_push(&j->first, j->frames.n);
}

static void add_sample(struct jsonl *j, const struct profile_log_entry *e)
{
	const struct profile *p = j->p;
	uint64_t has = p->events.v[e->event].attr.sample_type;
	struct text *t = &j->out;
	uint32_t node;

	text_str(t, "{\"v\":1,\"t_ns\":");
	text_dec(t, e->time_ns, 0);
	add_key(t, "pid");
	text_int(t, (int32_t)e->pid, 0);
	add_key(t, "tid");
	text_int(t, (int32_t)e->tid, 0);
	add_string(t, p, "comm", e->comm);
	if (has & PERF_SAMPLE_CPU)
		add_number(t, "cpu", e->cpu);
	add_string(t, p, "event", p->events.v[e->event].name);
	add_number(t, "period", e->period);
	if (e->stop != UNWIND_STOP_NONE && e->stop < UNWIND_STOP_N) {
		add_key(t, "stop");
		text_char(t, '"');
		text_str(t, unwind_stop_name(e->stop));
		text_char(t, '"');
	}
	add_key(t, "stack");
	text_char(t, '[');
	for (node = e->node; node; node = p->nodes.v[node].parent) {
		size_t first = j->first.v[p->nodes.v[node].location];

		text_add(t, j->frames.s + first, j->first.v[p->nodes.v[node].location + 1] - first);
	}
	if (e->node && t->n)
		t->n--; /* the last comma */
	text_str(t, "]}\n");
}

static int write_jsonl(const struct profile *p, const struct output_options *opt,
		      struct event_set *events, FILE *out, struct err *err)
{
	struct jsonl j = {.p = p, .opt = opt};
	size_t i;
	int rc = add_locations(&j) ? err_nomem(err) : 0;

	for (i = 0; !rc && i < p->log.n; i++) {
		if (events->has[p->log.v[i].event])
			add_sample(&j, &p->log.v[i]);
		if (j.out.n > FLUSH_BYTES)
			text_flush(&j.out, out);
	}
	if (!rc && j.out.failed)
		rc = err_nomem(err);
	text_flush(&j.out, out);
	vec_done(&j.first);
	text_done(&j.frames);
	text_done(&j.out);
	return rc;
}

const struct output_format format_jsonl = {
	.name = "jsonl",
	.help = "every sample as a JSON object on a line, with its stack",
	.suffixes = ".jsonl .ndjson",
	.needs_samples = true,
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG,
	.tells_events = true,
	.write = write_jsonl,
};

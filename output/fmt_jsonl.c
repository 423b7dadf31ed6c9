/* fmt_jsonl.c - every sample as one JSON object on a line of its own (jsonlines.org), in time
 * order, for jq, DuckDB, pandas and scripts:
 *
 *	{"v":1,"t_ns":1,"pid":2,"tid":2,"comm":"ls","cpu":0,"event":"cycles","period":100,"stop":"END",
 *	 "stack":[{"ip":"0x401150","sym":"leaf","off":80,"dso":"/bin/ls","file":"w.c","line":7}]}
 *
 * doc/resolve.1 is the manual of it; "v" is its version, which members that are added do not
 * change. The stack is leaf first, the branches are last first. Addresses are strings, as JSON
 * numbers are doubles in many readers and lose the last bits. What is unknown is left out. An
 * inlined function has "inlined":true; "off" is the distance from the symbol's start, "build_id"
 * that of the dso. "how":"stitched" marks frames that were taken from another sample of the thread,
 * "how":"guessed" those found without unwind tables, "how":"other stack" stands for callers that
 * are on another stack, which was not copied. */
#include "base/err.h"
#include "base/vec.h"
#include "output/formats.h"
#include "profile/profile.h"

#include <linux/perf_event.h>

#include "reader/reader.h"
#include "unwind/unwind.h"

struct jsonl {
	const struct profile *p;
	const struct output_options *opt;
	VEC(size_t) first; /* by location, and one more: where its frames begin */
	struct text frames, out;
};

/* Is the member shown? Members without a name for -F are shown only if nothing was selected. */
static bool is_shown(const struct jsonl *j, unsigned field)
{
	const struct script_fields *f = &j->opt->fields;

	return (!f->only || f->only & field) && !(f->remove & field);
}

static bool shows_rest(const struct jsonl *j)
{
	return !j->opt->fields.only;
}

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

static void add_hex(struct text *t, const char *key, uint64_t v)
{
	add_key(t, key);
	text_str(t, "\"0x");
	text_hex(t, v, 0);
	text_char(t, '"');
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

/* Appends a frame; line is NULL if there is no source information. */
static void add_frame(struct jsonl *j, const struct profile_location *l, uint32_t name,
		      const struct profile_line *line, bool inlined)
{
	struct text *t = &j->frames;

	text_str(t, "{\"ip\":\"0x");
	text_hex(t, l->ip - l->is_return_address, 0);
	text_char(t, '"');
	if (is_shown(j, SCRIPT_SYM))
		add_string(t, j->p, "sym", name);
	if (l->symbol && !inlined && is_shown(j, SCRIPT_SYMOFF))
		add_number(t, "off", l->symbol_offset);
	if (is_shown(j, SCRIPT_DSO))
		add_dso(t, j->p, &j->p->mappings.v[l->mapping]);
	if (line && is_shown(j, SCRIPT_SRCLINE)) {
		add_string(t, j->p, "file", j->p->functions.v[line->function].file);
		if (line->line)
			add_number(t, "line", line->line);
	}
	if (inlined)
		text_str(t, ",\"inlined\":true");
	if (l->how == FRAME_STITCHED)
		text_str(t, ",\"how\":\"stitched\"");
	else if (l->how == FRAME_OTHER_STACK)
		text_str(t, ",\"how\":\"other stack\"");
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

static void add_stack(struct jsonl *j, uint32_t node)
{
	const struct profile_node *nodes = j->p->nodes.v;
	struct text *t = &j->out;
	uint32_t at;

	add_key(t, "stack");
	text_char(t, '[');
	for (at = node; at; at = nodes[at].parent) {
		size_t first = j->first.v[nodes[at].location];

		text_add(t, j->frames.s + first, j->first.v[nodes[at].location + 1] - first);
	}
	if (node && t->n)
		t->n--; /* the last comma */
	text_char(t, ']');
}

/* Bits of perf_branch.flags (struct perf_branch_entry of uapi/linux/perf_event.h). */
enum {
	BRANCH_MISPRED = 1,
	BRANCH_PREDICTED = 2,
	BRANCH_CYCLES_SHIFT = 4,
	BRANCH_CYCLES_MASK = 0xffff
};

static void add_branches(struct text *t, const struct profile_detail *d)
{
	struct perf_branch b;
	size_t i;

	add_key(t, "brstack");
	for (i = 0; i < d->n_branches; i++) {
		memcpy(&b, d->branches + i * sizeof b, sizeof b);
		text_str(t, i ? ",{\"from\":\"0x" : "[{\"from\":\"0x");
		text_hex(t, b.from, 0);
		text_char(t, '"');
		add_hex(t, "to", b.to);
		if (b.flags & (BRANCH_MISPRED | BRANCH_PREDICTED)) {
			add_key(t, "mispred");
			text_str(t, b.flags & BRANCH_MISPRED ? "true" : "false");
		}
		if (b.flags >> BRANCH_CYCLES_SHIFT & BRANCH_CYCLES_MASK)
			add_number(t, "cycles",
				   b.flags >> BRANCH_CYCLES_SHIFT & BRANCH_CYCLES_MASK);
		text_char(t, '}');
	}
	text_char(t, ']');
}

/* Appends the members that few recordings have. */
static void add_rest(struct jsonl *j, const struct profile_log_entry *e, uint64_t has)
{
	struct profile_detail d = profile_detail(j->p, e);
	struct text *t = &j->out;

	if (has & PERF_SAMPLE_ADDR && is_shown(j, SCRIPT_ADDR))
		add_hex(t, "addr", e->addr);
	if (is_shown(j, SCRIPT_TRACE))
		add_string(t, j->p, "trace", e->trace);
	if (!shows_rest(j))
		return;
	/* The lower half of PERF_SAMPLE_WEIGHT_STRUCT is what PERF_SAMPLE_WEIGHT has. */
	if (d.weight)
		add_number(t, "weight",
			   has & PERF_SAMPLE_WEIGHT_STRUCT ? (uint32_t)d.weight : d.weight);
	if (d.data_src)
		add_hex(t, "data_src", d.data_src);
	if (d.n_branches)
		add_branches(t, &d);
	if (e->stop != UNWIND_STOP_NONE && e->stop < UNWIND_STOP_N) {
		add_key(t, "stop");
		text_char(t, '"');
		text_str(t, unwind_stop_name(e->stop));
		text_char(t, '"');
	}
}

static void add_sample(struct jsonl *j, const struct profile_log_entry *e)
{
	const struct profile *p = j->p;
	uint64_t has = p->events.v[e->event].attr.sample_type;
	struct text *t = &j->out;

	text_str(t, "{\"v\":1");
	if (is_shown(j, SCRIPT_TIME))
		add_number(t, "t_ns", e->time_ns);
	if (is_shown(j, SCRIPT_PID) && e->pid != PROFILE_NO_PID) {
		add_key(t, "pid");
		text_int(t, (int32_t)e->pid, 0);
	}
	if (is_shown(j, SCRIPT_TID) && e->tid != PROFILE_NO_PID) {
		add_key(t, "tid");
		text_int(t, (int32_t)e->tid, 0);
	}
	if (is_shown(j, SCRIPT_COMM))
		add_string(t, p, "comm", e->comm);
	if (has & PERF_SAMPLE_CPU && is_shown(j, SCRIPT_CPU) && e->cpu != UINT32_MAX)
		add_number(t, "cpu", e->cpu);
	if (is_shown(j, SCRIPT_EVENT))
		add_string(t, p, "event", p->events.v[e->event].name);
	if (is_shown(j, SCRIPT_PERIOD) && !p->events.v[e->event].no_period)
		add_number(t, "period", e->period);
	add_rest(j, e, has);
	if (is_shown(j, SCRIPT_IP))
		add_stack(j, e->node);
	text_str(t, "}\n");
}

static int write_jsonl(const struct profile *p, const struct output_options *opt,
		       struct event_set *events, FILE *out, struct err *err)
{
	struct jsonl j = {.p = p, .opt = opt};
	size_t i;
	int rc = 0;

	if ((opt->fields.only | opt->fields.add) & SCRIPT_ONLY)
		rc = err_set(err, ERR_USAGE, NULL,
			     "-F: iregs, uregs, misc, phys_addr, ins_lat and sizes of pages are "
			     "fields of -f script only");
	else if (add_locations(&j))
		rc = err_nomem(err);
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
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE | PROFILE_KEEP_DETAILS,
	.names_events = true,
	.honours = OUTPUT_FIELDS,
	.write = write_jsonl,
};

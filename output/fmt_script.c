/* fmt_script.c - every sample in time order, in the text of `perf script` (perf 6.12 and later):
 *
 *	comm    tid [cpu] seconds.usec:     period event:
 *		         ip symbol+0xoffset (dso)
 *
 * Sources: perf-script(1); the shape is pinned by tests against perf itself. A location's lines are
 * the same in all samples, so they are made once.
 *
 * Callers that were taken from another sample stand below a line that begins with '#', as the
 * header of perf script does: what reads its text skips such lines. */
#include "output/format.h"

#include <linux/perf_event.h>

struct block {
	size_t start; /* inlined functions, if any */
	size_t base;  /* the last line, of the real function */
};

struct fields {
	bool tid, time, cpu, period, ip;
};

struct script {
	const struct profile *p;
	const struct output_options *opt;
	VEC(struct block) blocks;  /* by location, and one more */
	VEC(struct fields) fields; /* by event */
	unsigned event_width;
	struct text lines, out;
};

/* ---- locations ------------------------------------------------------------------------------ */

/* Recorded chains show the address that was recorded; frames found by unwinding show the address
 * that was looked up, which is inside of the call. */
static bool is_shown_raw(const struct profile_location *l)
{
	return l->how == FRAME_KERNEL_CHAIN || l->how == FRAME_USER_CHAIN ||
	       l->how == FRAME_BRANCH_STACK;
}

static void add_line(struct script *s, const struct profile_location *l, uint32_t name)
{
	bool raw = is_shown_raw(l);

	text_char(&s->lines, '\t');
	text_hex(&s->lines, l->ip - (l->is_return_address && !raw), 16);
	text_char(&s->lines, ' ');
	if (!name) {
		text_str(&s->lines, "[unknown]");
		return;
	}
	text_string(&s->lines, s->p, name);
	if (!l->symbol)
		return;
	text_str(&s->lines, "+0x");
	text_hex(&s->lines, l->symbol_offset + (l->is_return_address && raw), 0);
}

static void add_block(struct script *s, const struct profile_location *l)
{
	const struct profile *p = s->p;
	struct block b = {.start = s->lines.n};
	size_t i, n;
	const struct profile_line *lines = profile_lines(p, l, s->opt->style.no_inline, &n);

	for (i = 0; i + 1 < n; i++) {
		add_line(s, l, p->functions.v[lines[i].function].name);
		text_str(&s->lines, " (inlined)\n");
	}
	b.base = s->lines.n;
	add_line(s, l, profile_symbol(p, l));
	text_str(&s->lines, " (");
	text_string(&s->lines, p, p->mappings.v[l->mapping].name);
	text_str(&s->lines, ")\n");
	if (vec_push(&s->blocks, b))
		s->lines.failed = true;
}

static int add_blocks(struct script *s)
{
	size_t i;

	for (i = 0; i < s->p->locations.n; i++)
		add_block(s, &s->p->locations.v[i]);
	if (vec_push(&s->blocks, (struct block){s->lines.n, s->lines.n}))
		s->lines.failed = true;
	return s->lines.failed ? -1 : 0;
}

/* ---- events --------------------------------------------------------------------------------- */

/* perf chooses the columns for all events of a type together, by the first of them; events of PMUs
 * that are not in perf_event.h are one type. */
static uint32_t output_type(const struct profile_event *e)
{
	return e->attr.type < PERF_TYPE_MAX ? e->attr.type : PERF_TYPE_MAX;
}

static uint64_t type_has(const struct profile *p, uint32_t type)
{
	const struct profile_event *e = p->events.v;

	while (output_type(e) != type)
		e++;
	return e->attr.sample_type;
}

static int add_events(struct script *s)
{
	const struct profile *p = s->p;
	size_t i, len;

	for (i = 0; i < p->events.n; i++) {
		const struct profile_event *e = &p->events.v[i];
		uint32_t type = output_type(e);
		uint64_t has = type_has(p, type);
		struct fields f = {
			.tid = has & PERF_SAMPLE_TID,
			.time = has & PERF_SAMPLE_TIME,
			.cpu = has & PERF_SAMPLE_CPU,
			.period = type != PERF_TYPE_TRACEPOINT,
			.ip = has & PERF_SAMPLE_IP && type != PERF_TYPE_TRACEPOINT,
		};

		if (vec_push(&s->fields, f))
			return -1;
		len = strtab_len(&p->strings, e->name);
		if (len > s->event_width)
			s->event_width = (unsigned)len;
	}
	return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void add_header(struct script *s, const struct profile_log_entry *e)
{
	const struct strtab *strings = &s->p->strings;
	const struct fields *f = &s->fields.v[e->event];
	uint32_t event = s->p->events.v[e->event].name;
	struct text *t = &s->out;

	if (!e->has_stack)
		text_pad(t, strtab_len(strings, e->comm), 16);
	text_string(t, s->p, e->comm);
	text_char(t, ' ');
	if (f->tid) {
		text_int(t, (int32_t)e->tid, 7);
		text_char(t, ' ');
	}
	if (f->cpu) {
		text_char(t, '[');
		text_digits(t, e->cpu, 3);
		text_str(t, "] ");
	}
	if (f->time) {
		text_dec(t, e->time_ns / 1000000000, 5);
		text_char(t, '.');
		if (s->opt->nanoseconds)
			text_digits(t, e->time_ns % 1000000000, 9);
		else
			text_digits(t, e->time_ns / 1000 % 1000000, 6);
		text_str(t, ": ");
	}
	if (f->period) {
		text_dec(t, e->period, 10);
		text_char(t, ' ');
	}
	text_pad(t, strtab_len(strings, event), s->event_width);
	text_string(t, s->p, event);
	text_str(t, ": ");
}

static void add_stack(struct script *s, uint32_t node)
{
	const struct profile *p = s->p;
	bool stitched = false;

	text_char(&s->out, '\n');
	for (; node; node = p->nodes.v[node].parent) {
		uint32_t location = p->nodes.v[node].location;
		const struct block *b = &s->blocks.v[location];

		if (!stitched && p->locations.v[location].how == FRAME_STITCHED) {
			text_str(&s->out, "# stitched: from another sample of the thread\n");
			stitched = true;
		}
		text_add(&s->out, s->lines.s + b->start, b[1].start - b->start);
	}
	text_char(&s->out, '\n');
}

/* Without a call chain the sample's address goes behind the event, on the same line. */
static void add_leaf(struct script *s, const struct profile_log_entry *e)
{
	const struct block *b;

	text_char(&s->out, ' ');
	if (e->node) {
		b = &s->blocks.v[s->p->nodes.v[e->node].location];
		text_add(&s->out, s->lines.s + b->base + 1, b[1].start - b->base - 1);
		return;
	}
	text_hex(&s->out, e->ip, 16);
	text_str(&s->out, " [unknown] ([unknown])\n");
}

static void write_samples(struct script *s, const bool *shown, FILE *out)
{
	const struct profile *p = s->p;
	size_t i;

	for (i = 0; i < p->log.n; i++) {
		const struct profile_log_entry *e = &p->log.v[i];

		if (!shown[e->event])
			continue;
		add_header(s, e);
		if (e->has_stack)
			add_stack(s, e->node);
		else if (s->fields.v[e->event].ip)
			add_leaf(s, e);
		else
			text_char(&s->out, '\n');
		if (s->out.n > FLUSH_BYTES)
			text_flush(&s->out, out);
	}
	text_flush(&s->out, out);
}

static int write_script(const struct profile *p, const struct output_options *opt,
			struct event_set *events, FILE *out, struct err *err)
{
	struct script s = {.p = p, .opt = opt};
	int rc = add_blocks(&s) || add_events(&s) ? err_nomem(err) : 0;

	if (!rc) {
		write_samples(&s, events->has, out);
		rc = s.out.failed ? err_nomem(err) : 0;
	}
	vec_done(&s.blocks);
	vec_done(&s.fields);
	text_done(&s.lines);
	text_done(&s.out);
	return rc;
}

const struct output_format format_script = {
	.name = "script",
	.help = "every sample with its stack, as perf script prints it",
	.suffixes = ".script .perf-script",
	.needs_samples = true,
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG,
	.tells_events = true,
	.write = write_script,
};

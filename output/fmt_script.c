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
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"
#include "profile/profile.h"

#include <limits.h>
#include <linux/perf_event.h>

#include "reader/reader.h"
#include "output/probe_fields.h"
#include "output/script.h"
#include "unwind/unwind.h"

struct block {
	size_t start; /* inlined functions, if any */
	size_t base;  /* the last line, of the real function */
	size_t end;   /* of that, and where its source line follows */
};

struct script {
	const struct profile *p;
	const struct output_options *opt;
	VEC(struct block) blocks; /* by location, and one more */
	VEC(unsigned) fields;	  /* by event: bits of enum script_field */
	unsigned line;		  /* those of the lines of stacks */
	unsigned event_width;
	bool has_time;
	uint64_t first_ns, last_ns; /* times of the first and last sample that was written */
	VEC(bool) stops;	    /* by location: --stop-bt names it; empty: none is */
	struct text lines, out;
};

/* ---- locations ------------------------------------------------------------------------------ */

/* Samples and recorded chains show the recorded address. Frames found by unwinding show the address
 * that was looked up, which is inside of the call instruction. */
static bool is_shown_raw(const struct profile_location *l)
{
	return l->how == FRAME_SAMPLE || l->how == FRAME_KERNEL_CHAIN ||
	       l->how == FRAME_USER_CHAIN || l->how == FRAME_BRANCH_STACK;
}

static void add_symbol(struct script *s, const struct profile_location *l, uint32_t name, bool raw)
{
	text_char(&s->lines, ' ');
	if (!name) {
		text_str(&s->lines, "[unknown]");
		return;
	}
	text_string(&s->lines, s->p, name);
	if (!l->symbol || !(s->line & SCRIPT_SYMOFF))
		return;
	text_str(&s->lines, "+0x");
	text_hex(&s->lines, l->symbol_offset + (l->is_return_address && raw), 0);
}

/* perf shows the file without its folders. Line 0 means code that belongs to no line. */
static void add_srcline(struct script *s, struct text *to, const struct profile_line *line)
{
	const struct profile_function *f = line ? &s->p->functions.v[line->function] : NULL;
	const char *file;

	if (!(s->line & SCRIPT_SRCLINE) || !f || !f->file)
		return;
	file = strtab_get(&s->p->strings, f->file);
	file = s->opt->full_paths ? file : base_name(file);
	text_str(to, "\n  ");
	text_clean(to, file, strlen(file));
	if (!line->line)
		return;
	text_char(to, ':');
	text_dec(to, line->line, 0);
}

/* The address in the column of stacks: perf 6.1 has the offset in the file there. */
static uint64_t address_of(const struct script *s, const struct profile_location *l, bool raw)
{
	const enum dso_kind kind = s->p->mappings.v[l->mapping].kind;

	if (s->opt->script.as_6_1 && (kind == DSO_FILE || kind == DSO_VDSO))
		return l->off + (l->is_return_address && raw);
	return l->ip - (l->is_return_address && !raw);
}

/* Appends a line without its newline, for the function that contains the address or an inlined one.
 */
static void add_line(struct script *s, const struct profile_location *l, uint32_t name)
{
	const bool raw = is_shown_raw(l);

	text_char(&s->lines, '\t');
	text_hex(&s->lines, address_of(s, l, raw), 16);
	if (s->line & SCRIPT_SYM)
		add_symbol(s, l, name, raw);
}

/* The source line of the address: that of the innermost function. */
static const struct profile_line *here(const struct profile *p, const struct profile_location *l)
{
	size_t n;

	return profile_lines(p, l, false, &n);
}

static void add_block(struct script *s, const struct profile_location *l)
{
	const struct profile *p = s->p;
	struct block b = {.start = s->lines.n};
	size_t i, n;
	const struct profile_line *lines = profile_lines(p, l, s->opt->style.no_inline, &n);

	for (i = 0; i + 1 < n; i++) {
		add_line(s, l, p->functions.v[lines[i].function].name);
		add_srcline(s, &s->lines, &lines[i]);
		text_str(&s->lines, " (inlined)\n");
	}
	b.base = s->lines.n;
	add_line(s, l, profile_symbol(p, l));
	if (s->line & SCRIPT_DSO) {
		text_str(&s->lines, " (");
		text_string(&s->lines, p, p->mappings.v[l->mapping].name);
		if (s->line & SCRIPT_DSOFF && mapping_has_offsets(p->mappings.v[l->mapping].kind)) {
			text_str(&s->lines, "+0x");
			text_hex(&s->lines, l->off + (l->is_return_address && is_shown_raw(l)), 0);
		}
		text_char(&s->lines, ')');
	}
	b.end = s->lines.n;
	add_srcline(s, &s->lines, n && n == l->n_lines ? &lines[n - 1] : here(p, l));
	text_char(&s->lines, '\n');
	if (vec_push(&s->blocks, b))
		s->lines.failed = true;
}

static int add_blocks(struct script *s)
{
	size_t i;

	for (i = 0; i < s->p->locations.n; i++)
		add_block(s, &s->p->locations.v[i]);
	if (vec_push(&s->blocks, (struct block){s->lines.n, s->lines.n, s->lines.n}))
		s->lines.failed = true;
	return s->lines.failed ? -1 : 0;
}

/* ---- events --------------------------------------------------------------------------------- */

/* perf chooses the columns for all events of a type by the first of them; all events of PMUs that
 * are not in perf_event.h are of one type. */
static uint32_t output_type(const struct profile_event *e)
{
	return e->attr.type < PERF_TYPE_MAX ? e->attr.type : PERF_TYPE_MAX;
}

/* An event without samples is ignored: in pipes perf puts such events first, without any fields. */
static uint64_t type_has(const struct profile *p, const struct profile_event *of)
{
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (p->events.v[i].samples && output_type(&p->events.v[i]) == output_type(of))
			return p->events.v[i].attr.sample_type;
	return of->attr.sample_type;
}

static unsigned default_fields(const struct profile *p, const struct profile_event *e)
{
	const bool is_trace = event_is_tracepoint(e->attr.type);
	const uint64_t has = type_has(p, e);
	unsigned f = SCRIPT_COMM | SCRIPT_EVENT | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO;

	f |= has & PERF_SAMPLE_TID ? SCRIPT_TID : 0;
	f |= has & PERF_SAMPLE_TIME ? SCRIPT_TIME : 0;
	f |= has & PERF_SAMPLE_CPU ? SCRIPT_CPU : 0;
	f |= is_trace ? SCRIPT_TRACE : e->no_period ? 0 : SCRIPT_PERIOD;
	f |= has & PERF_SAMPLE_IP && !is_trace ? SCRIPT_IP : 0;
	return f;
}

static int add_events(struct script *s)
{
	const struct script_fields *chosen = &s->opt->fields;
	const struct profile *p = s->p;
	size_t i, len;

	for (i = 0; i < p->events.n; i++) {
		const struct profile_event *e = &p->events.v[i];
		const bool is_chosen = !chosen->has_type || e->attr.type == chosen->type;
		const unsigned f = !is_chosen ? default_fields(p, e)
				   : chosen->only
					   ? chosen->only
					   : (default_fields(p, e) | chosen->add) & ~chosen->remove;

		s->line |= f;
		if (vec_push(&s->fields, f))
			return -1;
		len = strtab_len(&p->strings, e->name);
		if (len > s->event_width)
			s->event_width = (unsigned)len;
	}
	return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void add_task(struct script *s, const struct profile_log_entry *e, unsigned f)
{
	const unsigned width = s->opt->script.as_6_1 ? 5 : 7;
	struct text *t = &s->out;

	if (f & SCRIPT_PID) {
		text_int(t, e->pid == PROFILE_NO_PID ? -1 : (int32_t)e->pid, width);
		text_char(t, f & SCRIPT_TID ? '/' : ' ');
	}
	if (f & SCRIPT_PID && f & SCRIPT_TID) {
		const size_t start = t->n;

		text_int(t, (int32_t)e->tid, 0);
		text_pad(t, t->n - start, width);
		text_char(t, ' ');
	} else if (f & SCRIPT_TID) {
		text_int(t, (int32_t)e->tid, width);
		text_char(t, ' ');
	}
}

/* perf counts from the first sample that it prints, or from the one before. */
static uint64_t shown_time(struct script *s, const struct profile_log_entry *e)
{
	const struct script_options *o = &s->opt->script;
	uint64_t t = e->time_ns;

	if (!s->has_time) {
		s->first_ns = s->last_ns = e->time_ns;
		s->has_time = true;
	}
	if (o->relative)
		t = e->time_ns - s->first_ns;
	else if (o->delta)
		t = e->time_ns - s->last_ns;
	s->last_ns = e->time_ns;
	return t;
}

static void add_time(struct script *s, const struct profile_log_entry *e)
{
	const uint64_t time = shown_time(s, e);
	struct text *t = &s->out;

	text_dec(t, time / 1000000000, 5);
	text_char(t, '.');
	if (s->opt->nanoseconds)
		text_digits(t, time % 1000000000, 9);
	else
		text_digits(t, time / 1000 % 1000000, 6);
	text_str(t, ": ");
}

/* Is a stack shown below the line? */
static bool has_block(const struct script *s, const struct profile_log_entry *e)
{
	return e->has_stack && !s->opt->script.no_chain &&
	       (s->fields.v[e->event] & SCRIPT_IP || !s->opt->fields.given);
}

/* Three numbers share its 64 bits, or it is one. */
static void add_weight(struct script *s, const struct profile_log_entry *e, unsigned f)
{
	const uint64_t weight = profile_detail(s->p, e).weight;
	const bool is_struct =
		s->p->events.v[e->event].attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT;

	if (f & SCRIPT_WEIGHT)
		text_dec(&s->out, is_struct ? (uint32_t)weight : weight, 16);
	if (f & SCRIPT_INS_LAT)
		text_dec(&s->out, weight >> 32 & 0xffff, 16);
}

static void add_header(struct script *s, const struct profile_log_entry *e)
{
	const struct strtab *strings = &s->p->strings;
	const unsigned f = s->fields.v[e->event];
	uint32_t event = s->p->events.v[e->event].name;
	struct text *t = &s->out;

	if (f & SCRIPT_COMM) {
		if (!has_block(s, e))
			text_pad(t, strtab_len(strings, e->comm), 16);
		text_string(t, s->p, e->comm);
		text_char(t, ' ');
	}
	add_task(s, e, f);
	if (f & SCRIPT_CPU) {
		text_char(t, '[');
		/* As perf writes that none is known. */
		if (e->cpu == UINT32_MAX)
			text_str(t, "-01");
		else
			text_digits(t, e->cpu, 3);
		text_str(t, "] ");
	}
	if (f & SCRIPT_MISC)
		script_add_misc(t, e->misc);
	if (f & SCRIPT_TIME)
		add_time(s, e);
	if (f & SCRIPT_PERIOD) {
		text_dec(t, e->period, 10);
		text_char(t, ' ');
	}
	if (f & SCRIPT_EVENT) {
		text_pad(t, strtab_len(strings, event), s->event_width);
		text_string(t, s->p, event);
		text_str(t, ": ");
	}
	if (f & SCRIPT_TRACE && e->trace)
		probe_fields_add(t, strtab_get(&s->p->strings, e->trace));
	if (f & SCRIPT_ADDR)
		text_hex(t, e->addr, 16);
	if (f & (SCRIPT_WEIGHT | SCRIPT_INS_LAT))
		add_weight(s, e, f);
}

/* The parameters of a function below its line, in the form of a comment. */
static void add_params(struct script *s, const struct profile_log_entry *e, size_t frame,
		       size_t level)
{
	size_t n, n_levels;
	const char *text = profile_values(s->p, e, frame, level, &n, &n_levels);

	if (!text || !n)
		return;
	text_str(&s->out, "#\t                 ");
	text_clean(&s->out, text, n);
	text_char(&s->out, '\n');
}

/* The lines of a frame, each with its parameters. */
static void add_with_params(struct script *s, const struct profile_log_entry *e, size_t frame,
			    const struct block *b)
{
	const char *at = s->lines.s + b->start, *end = s->lines.s + b[1].start, *line;
	size_t n, n_levels = 0, n_lines = 0;

	profile_values(s->p, e, frame, 0, &n, &n_levels);
	for (line = at; line < end; line++)
		n_lines += *line == '\n' && (line + 1 == end || line[1] == '\t');
	for (size_t i = 0; at < end; at = line, i++) {
		for (line = at; line < end && (line == at || *line != '\t' || line[-1] != '\n');)
			line++;
		text_add(&s->out, at, (size_t)(line - at));
		/* Of inlined functions only if these are the same ones. */
		if (i + 1 == n_lines || n_levels == n_lines)
			add_params(s, e, frame, n_lines - 1 - i);
	}
}

static void add_stack(struct script *s, const struct profile_log_entry *e)
{
	const struct profile *p = s->p;
	uint32_t node = e->node;
	bool stitched = false;
	size_t frame = 0;
	unsigned left = s->opt->script.max_frames ? s->opt->script.max_frames : UINT_MAX;

	text_char(&s->out, '\n');
	for (; node && left; node = p->nodes.v[node].parent, left--) {
		uint32_t location = p->nodes.v[node].location;
		const struct block *b = &s->blocks.v[location];

		if (!stitched && p->locations.v[location].how == FRAME_STITCHED) {
			text_str(&s->out, "# stitched: from another sample of the thread\n");
			stitched = true;
		}
		if (e->values)
			add_with_params(s, e, frame++, b);
		else
			text_add(&s->out, s->lines.s + b->start, b[1].start - b->start);
		if (s->stops.n && s->stops.v[location])
			break;
	}
}

/* Without a call chain the sample's address is on the same line, after the event. */
static void add_leaf(struct script *s, const struct profile_log_entry *e)
{
	const struct profile *p = s->p;

	text_char(&s->out, ' ');
	if (e->node) {
		const uint32_t location = p->nodes.v[e->node].location;
		const struct block *b = &s->blocks.v[location];

		/* Here perf 6.1, too, has the address. */
		text_hex(&s->out,
			 p->locations.v[location].ip -
				 (p->locations.v[location].is_return_address &&
				  !is_shown_raw(&p->locations.v[location])),
			 16);
		text_add(&s->out, s->lines.s + b->base + 17, b->end - b->base - 17);
		add_srcline(s, &s->out, here(p, &p->locations.v[location]));
		return;
	}
	text_hex(&s->out, e->ip, 16);
	text_str(&s->out, " [unknown] ([unknown])");
}

static bool is_listed(const char *list, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
		if (strcspn(at, ",") == n && !strncmp(at, name, n))
			return true;
	return false;
}

static const char *symbol_of(const struct script *s, uint32_t location)
{
	return strtab_get(&s->p->strings, profile_symbol(s->p, &s->p->locations.v[location]));
}

static int find_stops(struct script *s)
{
	for (uint32_t i = 0; s->opt->script.stop_at && i < s->p->locations.n; i++)
		if (vec_push(&s->stops, is_listed(s->opt->script.stop_at, symbol_of(s, i))))
			return -1;
	return 0;
}

/* -S: as perf's, of the function that the sample itself is in. */
static bool is_wanted(const struct script *s, const struct profile_log_entry *e)
{
	const char *list = s->opt->top.symbols;

	return !list || (e->node && is_listed(list, symbol_of(s, s->p->nodes.v[e->node].location)));
}

static void add_sample(struct script *s, const struct profile_log_entry *e)
{
	const bool block = has_block(s, e);

	add_header(s, e);
	if (block)
		add_stack(s, e);
	else if (s->fields.v[e->event] & SCRIPT_IP)
		add_leaf(s, e);
	if (s->fields.v[e->event] & (SCRIPT_DETAILS | SCRIPT_REGISTERS))
		script_add_details(&s->out, s->p, e, s->fields.v[e->event], s->opt->script.as_6_1);
	text_char(&s->out, '\n');
}

static void write_samples(struct script *s, const bool *shown, FILE *out)
{
	const struct profile *p = s->p;
	size_t i;

	for (i = 0; i < p->log.n; i++) {
		const struct profile_log_entry *e = &p->log.v[i];

		if (!shown[e->event] || !is_wanted(s, e) || s->fields.v[e->event] & SCRIPT_NOTHING)
			continue;
		add_sample(s, e);
		if (s->out.n > FLUSH_BYTES)
			text_flush(&s->out, out);
	}
	text_flush(&s->out, out);
}

static int write_script(const struct profile *p, const struct output_options *opt,
			struct event_set *events, FILE *out, struct err *err)
{
	struct script s = {.p = p, .opt = opt};
	int rc = script_fields_check(p, &opt->fields, events, err);

	if (!rc && (add_events(&s) || add_blocks(&s) || find_stops(&s)))
		rc = err_nomem(err);
	if (!rc) {
		write_samples(&s, events->has, out);
		rc = s.out.failed ? err_nomem(err) : 0;
	}
	vec_done(&s.blocks);
	vec_done(&s.fields);
	vec_done(&s.stops);
	text_done(&s.lines);
	text_done(&s.out);
	return rc;
}

const struct output_format format_script = {
	.name = "script",
	.help = "every sample with its stack, as perf script prints it",
	.suffixes = ".script .perf-script",
	.needs_samples = true,
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE,
	.names_events = true,
	.honours = OUTPUT_FIELDS | OUTPUT_NANOSECONDS | OUTPUT_ARGS | OUTPUT_SCRIPT |
		   OUTPUT_SYMBOLS | OUTPUT_PATHS,
	.write = write_script,
};

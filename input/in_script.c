/* in_script.c - the text of `perf script`, of all ages.
 *
 *	java 12345/12346 [001] 12345.678901:   10101010 cycles:
 *		ffffffff8103ce3b native_safe_halt+0xb ([kernel.kallsyms])
 *		    7f5fa3ae26d1 [unknown] (/tmp/perf-12345.map)
 *
 *	(empty line)
 *
 * Lines with `(inlined)` are inlined into the next that is not. Lines that begin with '#' are the
 * header. script_line.h says how heads and frames are told apart. */
#include <ctype.h>
#include <linux/perf_event.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/script_line.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"
#include "reader/reader.h"

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct script_shape shape;
	/* The sample whose frames are being read. */
	struct profile_sample sample;
	struct profile_log_entry when;
	bool in_cmdline, in_sample, accepted, has_time, stitched;
	/* The only frame was on the first line; frames below it show that it was the address of
	 * data. */
	bool is_single;
	uint64_t n_nameless, n_unweighted, n_eventless;
	bool has_chain; /* frames are below the first line, if there are any */
	/* With its NUL. */
	struct text rest;    /* of the first line, if frames may follow */
	VEC(uint32_t) stack; /* locations, leaf first */
	VEC(uint32_t) root_first;
	/* The frame that was read last: its source line may follow. */
	bool has_frame, is_inlined, has_name;
	struct profile_location location;
	/* Inlined functions, innermost first, of the location that comes next. */
	VEC(struct profile_line) lines;
};

/* ---- frames ---------------------------------------------------------------------------------- */

static int push_function(struct reader *r, struct word name, struct err *err)
{
	const struct profile_function f = {.name = profile_string(r->p, name.s, name.n)};
	struct profile_line line = {0};

	if (profile_add_function(r->p, &f, &line.function, err))
		return -ERR_NOMEM;
	return vec_push(&r->lines, line) ? err_nomem(err) : 0;
}

/* Ends the frame that was read last: a location, unless it is inlined into the next. */
static int end_frame(struct reader *r, struct err *err)
{
	uint32_t id;

	if (!r->has_frame)
		return 0;
	r->has_frame = false;
	if (r->is_inlined)
		return 0;
	/* The function into which all others of the address are inlined. */
	if (r->lines.n)
		r->location.symbol = r->p->functions.v[r->lines.v[r->lines.n - 1].function].name;
	if (profile_add_location(r->p, &r->location, r->lines.v, r->lines.n, &id, err))
		return -ERR_NOMEM;
	r->lines.n = 0;
	return vec_push(&r->stack, id) ? err_nomem(err) : 0;
}

static int add_frame(struct reader *r, const struct script_frame *f, struct err *err)
{
	struct profile_mapping m = {.path = profile_string(r->p, f->dso.s, f->dso.n),
				    .kind = script_kind(f->dso)};

	if (m.path == STRTAB_FAILED)
		return err_nomem(err);
	if (end_frame(r, err))
		return -ERR_NOMEM;
	/* In very old versions, a name that is completely in parentheses is a process. */
	if (f->name.n && f->name.s[0] == '(' && f->name.s[f->name.n - 1] == ')' && !f->dso.n)
		return 0;
	r->is_inlined = word_is(f->dso, "inlined");
	r->has_name = f->name.n && !word_is(f->name, "[unknown]");
	r->has_frame = true;
	r->location = (struct profile_location){
		.ip = f->ip,
		.off = f->ip,
		.how = r->stitched ? FRAME_STITCHED : FRAME_USER_CHAIN,
		.symbol_offset = f->offset,
		.is_kernel = m.kind == DSO_KERNEL || m.kind == DSO_KERNEL_MODULE ||
			     m.kind == DSO_GUEST_KERNEL,
	};
	if (r->has_name && push_function(r, f->name, err))
		return -ERR_NOMEM;
	return r->is_inlined ? 0 : profile_add_mapping(r->p, &m, &r->location.mapping, err);
}

/* Adds the source line to the frame that was read last. */
static int add_srcline(struct reader *r, struct word file, uint32_t number, bool inlined,
		       struct err *err)
{
	struct profile_line *line = r->has_name && r->lines.n ? &r->lines.v[r->lines.n - 1] : NULL;
	struct profile_function f;

	/* perf marks functions with a module as inlined, too. */
	r->is_inlined |= inlined && !r->location.mapping;
	if (!line || !file.n)
		return 0;
	f = r->p->functions.v[line->function];
	f.file = profile_string(r->p, file.s, file.n);
	if (f.file == STRTAB_FAILED)
		return err_nomem(err);
	line->line = number;
	return profile_add_function(r->p, &f, &line->function, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Does the line stand where an unaligned command begins, as perf prints it above call chains? */
static bool begins_chain(const struct reader *r, const char *line)
{
	return r->shape.tabs && !isspace((unsigned char)*line);
}

/* Keeps what stands between event and frame. An address alone is that of the data. */
static int keep_data(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct profile_event *e = &r->p->events.v[r->sample.event];
	struct word data = {s, n};

	while (data.n && isspace((unsigned char)data.s[data.n - 1]))
		data.n--;
	if (!data.n)
		return 0;
	if (!event_is_tracepoint(e->attr.type)) {
		const char *at = s;

		if (word_to_hex(word_next(&at), &r->when.addr))
			e->attr.sample_type |= PERF_SAMPLE_ADDR;
	}
	r->when.trace = profile_string(r->p, data.s, data.n);
	return r->when.trace == STRTAB_FAILED ? err_nomem(err) : 0;
}

/* A frame below the first line: what was taken for the only frame was data. */
static int begin_chain(struct reader *r, struct err *err)
{
	r->has_chain = true;
	if (!r->is_single)
		return 0;
	r->is_single = r->has_frame = false;
	r->stack.n = r->lines.n = 0;
	return keep_data(r, r->rest.s, r->rest.n - 1, err);
}

static int end_sample(struct reader *r, struct err *err)
{
	size_t i;

	if (!r->in_sample)
		return 0;
	r->in_sample = false;
	if (!r->accepted)
		return 0;
	if (end_frame(r, err))
		return -ERR_NOMEM;
	r->lines.n = r->root_first.n = 0;
	for (i = r->stack.n; i--;)
		if (vec_push(&r->root_first, r->stack.v[i]))
			return err_nomem(err);
	if (profile_add_stack(r->p, r->root_first.v, r->root_first.n, &r->sample.node, err))
		return -(int)err->code;
	r->when.has_stack = r->has_chain || (r->stack.n > 0 && !r->is_single);
	r->when.ip = r->stack.n ? r->p->locations.v[r->stack.v[0]].ip : 0;
	return r->has_time || r->shape.heads != HEADS_TIME
		       ? profile_add_entry(r->p, &r->sample, &r->when, err)
		       : profile_add_sample(r->p, &r->sample, err);
}

/* "sched:sched_switch", but not "cycles:u" or "mem:0x1234:w". */
static bool is_tracepoint(struct word event)
{
	const char *colon = memchr(event.s, ':', event.n);
	size_t i;

	if (!colon || memchr(event.s, '/', event.n) || word_begins(event, "mem:0x"))
		return false;
	for (i = (size_t)(colon - event.s) + 1; i < event.n; i++)
		if (!strchr("ukhGHpPSDWIeb", event.s[i]))
			return true;
	return false;
}

/* Sets what the text has for every sample of the event, so that it can be written again. */
static void describe_event(struct profile_event *e, const struct script_head *h)
{
	if (is_tracepoint(h->event))
		e->attr.type = PERF_TYPE_TRACEPOINT;
	e->attr.sample_type |= PERF_SAMPLE_IP | (h->has_ids ? PERF_SAMPLE_TID : 0) |
			       (h->seen.has_time ? PERF_SAMPLE_TIME : 0) |
			       (h->has_cpu ? PERF_SAMPLE_CPU : 0);
	e->no_period = !h->has_period;
	e->is_ns = h->has_period &&
		   (word_begins(h->event, "cpu-clock") || word_begins(h->event, "task-clock"));
}

/* Reads the rest of the first line: data, a frame, or both. */
static int take_rest(struct reader *r, const char *line, const char *rest, struct err *err)
{
	struct script_frame f;
	size_t n_data;

	r->has_chain = begins_chain(r, line);
	if (r->has_chain || !script_last_frame(rest, &f, &n_data))
		return keep_data(r, rest, strlen(rest), err);
	if (keep_data(r, rest, n_data, err))
		return -ERR_NOMEM;
	r->is_single = true;
	r->rest.n = 0;
	text_add(&r->rest, rest, strlen(rest) + 1);
	return r->rest.failed ? err_nomem(err) : add_frame(r, &f, err);
}

static int begin_sample(struct reader *r, const char *line, struct script_head *h, struct err *err)
{
	uint32_t comm = h->comm.n ? profile_string(r->p, h->comm.s, h->comm.n) : 0;
	uint32_t event = h->event.n ? profile_string(r->p, h->event.s, h->event.n)
				    : profile_string(r->p, "samples", 7);

	if (comm == STRTAB_FAILED || event == STRTAB_FAILED)
		return err_nomem(err);
	r->in_sample = true;
	r->stitched = r->is_single = r->has_chain = r->has_frame = false;
	r->stack.n = r->lines.n = 0;
	r->has_time = h->seen.has_time;
	r->sample = (struct profile_sample){
		.comm = comm,
		.pid = h->seen.pid,
		.tid = h->seen.tid,
		.cpu = h->has_cpu ? profile_cpu(h->seen.cpu) : 0,
		.count = 1,
		.period = h->period,
		.stop = UNWIND_STOP_NONE,
	};
	r->when = (struct profile_log_entry){.time_ns = h->seen.time_ns, .cpu = h->seen.cpu};
	h->seen.comm = strtab_get(&r->p->strings, comm);
	h->seen.event = strtab_get(&r->p->strings, event);
	r->accepted = !h->is_record && input_accepts(r->opt, &h->seen, r->ret);
	if (!r->accepted)
		return 0;
	if (profile_add_event(r->p, event, 0, &r->sample.event, err))
		return -ERR_NOMEM;
	describe_event(&r->p->events.v[r->sample.event], h);
	r->n_nameless += !comm;
	r->n_unweighted += !h->has_period && !is_tracepoint(h->event);
	r->n_eventless += !h->event.n;
	return take_rest(r, line, h->rest, err);
}

/* Registers, branches and code, which perf appends to a stack. */
static bool is_appended(const char *line)
{
	const char *at = line + strspn(line, " \t");

	return str_starts_with(at, "ABI:") || str_starts_with(at, "0x") ||
	       str_starts_with(at, "insn:") || str_starts_with(at, "ilen:");
}

/* Reads a line below a first line. Returns 1 if it cannot be read. */
static int read_below(struct reader *r, const char *line, struct err *err)
{
	struct script_frame f;
	struct word file;
	uint32_t number;
	bool inlined = false, is_frame = script_frame(line, &f);
	struct script_head none = {.rest = "",
				   .comm = {"", 0},
				   .event = {"", 0},
				   .seen = {.pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID}};

	if (is_frame && r->shape.tabs && *line != '\t')
		is_frame = false;
	if (is_frame && !r->in_sample && r->shape.heads == HEADS_NONE &&
	    begin_sample(r, "", &none, err))
		return -ERR_NOMEM;
	if (!r->in_sample)
		return 1;
	if (!r->accepted)
		return 0;
	/* Below a single frame stands its source line, if anything. */
	if (r->has_frame && r->is_single && script_srcline(line, &file, &number, &inlined))
		return add_srcline(r, file, number, inlined, err);
	if (is_frame && r->shape.single)
		return add_frame(r, &f, err) || end_sample(r, err) ? -(int)err->code : 0;
	if (is_frame)
		return begin_chain(r, err) ? -ERR_NOMEM : add_frame(r, &f, err);
	if (r->has_frame && script_srcline(line, &file, &number, &inlined))
		return add_srcline(r, file, number, inlined, err);
	return !is_appended(line);
}

static int read_line(struct reader *r, const char *line, size_t n, struct err *err)
{
	struct script_frame f;
	struct script_head h;
	int rc;

	if (!n || line[strspn(line, " \t")] == '\0')
		return end_sample(r, err);
	/* Our own comment: the frames after it come from another sample. */
	if (*line == '#' && r->in_sample && !strncmp(line, "# stitched", 10)) {
		r->stitched = true;
		return 0;
	}
	/* The beginning of a pipe may be short. */
	if (*line == '\t' && !r->shape.tabs && r->shape.heads == HEADS_TIME)
		r->shape.tabs = script_frame(line, &f);
	if (!r->in_cmdline && script_head(&r->shape, line, &h)) {
		rc = end_sample(r, err);
		return rc ? rc : begin_sample(r, line, &h, err);
	}
	/* A command line of several lines, in the header. */
	if (*line == '#')
		r->in_cmdline = str_starts_with(line, "# cmdline :");
	return *line == '#' || r->in_cmdline ? 0 : read_below(r, line, err);
}

static void say_missing(const struct reader *r, struct input_result *ret)
{
	input_note(ret, "samples have no command (perf script -F +comm prints it)", r->n_nameless,
		   false);
	input_note(ret,
		   "samples have no period, and count 1 each (perf script -F +period prints it)",
		   r->n_unweighted, false);
	input_note(ret,
		   "samples have no event; those of several events are one sum (perf script "
		   "-F +event tells them apart)",
		   r->n_eventless, false);
}

static bool detect(const char *head, size_t n)
{
	struct script_shape shape;

	return script_learn(&shape, head, n);
}

/* The first line is needed together with what follows it. */
static int begin(struct reader *r, struct input_source *s, const char *line, size_t n,
		 struct err *err)
{
	struct text head = {0};

	text_add(&head, line, n);
	text_char(&head, '\n');
	text_add(&head, s->out + s->out_at, s->out_n - s->out_at);
	if (!head.failed)
		script_learn(&r->shape, head.s, head.n);
	text_done(&head);
	return head.failed ? err_nomem(err) : 0;
}

static int read_script(struct profile *p, struct input_source *s, const struct input_options *opt,
		       struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	char *line;
	size_t n;
	int rc = 1, got;

	while (rc >= 0 && (got = input_line(s, &line, &n, err)) > 0) {
		rc = s->line == 1 ? begin(&r, s, line, n, err) : 0;
		rc = rc ? rc : read_line(&r, line, n, err);
		if (rc > 0)
			input_damaged(ret, s);
	}
	rc = rc < 0 ? rc : got;
	if (!rc)
		rc = end_sample(&r, err);
	say_missing(&r, ret);
	vec_done(&r.stack);
	vec_done(&r.root_first);
	vec_done(&r.lines);
	text_done(&r.rest);
	return rc;
}

const struct input_format input_script = {
	.name = "script",
	.help = "the text of `perf script`, of all versions",
	.detect = detect,
	.read = read_script,
};

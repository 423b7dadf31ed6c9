/* fmt_jsonl2.c - every sample as a line of JSON like jsonl, but what samples share is written once,
 * on a line of its own before the first that refers to it by its number:
 *
 *	{"v":2,"generator":"unspool 0.1","began_ns":0}
 *	{"event":1,"name":"cycles","unit":"count"}
 *	{"task":1,"pid":2,"tid":2,"comm":"ls"}
 *	{"module":1,"dso":"/bin/ls","build_id":"12ab"}
 *	{"function":1,"sym":"leaf","module":1,"file":"w.c"}
 *	{"frame":1,"function":1,"ip":"0x401150","off":80,"line":7}
 *	{"stack":1,"frames":[1]}
 *	{"t_ns":1,"task":1,"cpu":0,"event":1,"period":100,"stack":1}
 *
 * doc/formats.md is the manual of it. Numbers count from 1 in the order of the lines. */
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "output/formats.h"
#include "profile/profile.h"

#include <linux/perf_event.h>

#include "base/pair.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* PERF_MEM_NA of the kernel (include/linux/perf_event.h) in union perf_mem_data_src: each of op,
 * lvl, snoop, lock, dtlb and lvl_num is "not available". */
static const uint64_t MEMORY_UNKNOWN = 0x1e05080021;

struct lines {
	const struct profile *p;
	const struct output_options *opt;
	struct text out;
	/* Numbers by id; 0: not written yet. */
	uint32_t *event, *module, *frame, *stack;
	uint32_t n_events, n_modules, n_frames, n_stacks;
	struct hash_table tasks, comms; /* (pid, tid) -> id; (that, comm) -> number - 1 */
	struct hash_table functions;	/* (name, file), module -> number - 1 */
	struct hash_table names;
	VEC(uint32_t) frames; /* of the stack that is written */
};

/* Begins a line: {"KEY":NUMBER */
static void begin(struct lines *l, const char *key, uint32_t number)
{
	text_str(&l->out, "{\"");
	text_str(&l->out, key);
	text_str(&l->out, "\":");
	text_dec(&l->out, number, 0);
}

static void add_key(struct lines *l, const char *key)
{
	text_str(&l->out, ",\"");
	text_str(&l->out, key);
	text_str(&l->out, "\":");
}

static void add_number(struct lines *l, const char *key, uint64_t v)
{
	add_key(l, key);
	text_dec(&l->out, v, 0);
}

static void add_string(struct lines *l, const char *key, uint32_t id)
{
	if (!id)
		return;
	add_key(l, key);
	text_json_string(&l->out, l->p, id);
}

static void add_hex(struct lines *l, const char *key, uint64_t v)
{
	add_key(l, key);
	text_str(&l->out, "\"0x");
	text_hex(&l->out, v, 0);
	text_char(&l->out, '"');
}

static void end(struct lines *l)
{
	text_str(&l->out, "}\n");
}

/* ---- what is written once -------------------------------------------------------------------- */

static void need_event(struct lines *l, uint32_t id)
{
	const struct profile_event *e = &l->p->events.v[id];

	if (l->event[id])
		return;
	l->event[id] = ++l->n_events;
	begin(l, "event", l->event[id]);
	add_string(l, "name", e->name);
	if (e->unit) {
		add_string(l, "unit", e->unit);
	} else if (profile_event_is_clock(e)) {
		add_key(l, "unit");
		text_str(&l->out, "\"nanoseconds\"");
	}
	end(l);
}

static int need_task(struct lines *l, const struct profile_log_entry *e, uint32_t *ret)
{
	const size_t known = l->comms.n;
	const uint32_t task = pair_intern(&l->tasks, e->pid, e->tid);
	const uint32_t id = task == HASH_NONE ? task : pair_intern(&l->comms, task, e->comm);

	if (id == HASH_NONE)
		return -1;
	*ret = id + 1;
	if (id < known)
		return 0;
	begin(l, "task", *ret);
	if (e->pid != PROFILE_NO_PID) {
		add_key(l, "pid");
		text_int(&l->out, (int32_t)e->pid, 0);
	}
	if (e->tid != PROFILE_NO_PID) {
		add_key(l, "tid");
		text_int(&l->out, (int32_t)e->tid, 0);
	}
	add_string(l, "comm", e->comm);
	end(l);
	return 0;
}

/* The number of a mapping; 0: it is in none. */
static uint32_t need_module(struct lines *l, uint32_t id)
{
	const struct profile_mapping *m = &l->p->mappings.v[id];

	if (!id || l->module[id])
		return l->module[id];
	l->module[id] = ++l->n_modules;
	begin(l, "module", l->module[id]);
	add_string(l, "dso", m->name);
	if (m->build_id.size) {
		add_key(l, "build_id");
		text_char(&l->out, '"');
		text_build_id(&l->out, &m->build_id);
		text_char(&l->out, '"');
	}
	end(l);
	return l->module[id];
}

static int need_function(struct lines *l, uint32_t sym, uint32_t file, uint32_t mapping,
			 uint32_t *ret)
{
	const size_t known = l->functions.n;
	const uint32_t module = need_module(l, mapping);
	const uint32_t name = pair_intern(&l->names, sym, file);
	const uint32_t id = name == HASH_NONE ? name : pair_intern(&l->functions, name, module);

	if (id == HASH_NONE)
		return -1;
	*ret = id + 1;
	if (id < known)
		return 0;
	begin(l, "function", *ret);
	add_string(l, "sym", sym);
	if (module)
		add_number(l, "module", module);
	add_string(l, "file", file);
	end(l);
	return 0;
}

/* Writes a frame of a location; line: NULL if there is no source information. */
static int add_frame(struct lines *l, const struct profile_location *loc, uint32_t sym,
		     const struct profile_line *line, bool inlined)
{
	const uint32_t file = line ? l->p->functions.v[line->function].file : 0;
	uint32_t function;

	if (need_function(l, sym, file, loc->mapping, &function))
		return -1;
	begin(l, "frame", ++l->n_frames);
	add_number(l, "function", function);
	add_hex(l, "ip", loc->ip - loc->is_return_address);
	if (loc->symbol && !inlined)
		add_number(l, "off", loc->symbol_offset);
	if (line && line->line)
		add_number(l, "line", line->line);
	if (inlined)
		text_str(&l->out, ",\"inlined\":true");
	if (loc->how == FRAME_STITCHED)
		text_str(&l->out, ",\"how\":\"stitched\"");
	else if (loc->how == FRAME_OTHER_STACK)
		text_str(&l->out, ",\"how\":\"other stack\"");
	else if (frame_how_is_guess(loc->how))
		text_str(&l->out, ",\"how\":\"guessed\"");
	end(l);
	return 0;
}

/* Writes the frames of a location, innermost first, unless they are known. */
static int need_frames(struct lines *l, uint32_t id)
{
	const struct profile *p = l->p;
	const struct profile_location *loc = &p->locations.v[id];
	size_t n, k;
	const struct profile_line *lines = profile_lines(p, loc, l->opt->style.no_inline, &n);

	if (!l->frame[id]) {
		l->frame[id] = l->n_frames + 1;
		for (k = 0; k + 1 < n; k++)
			if (add_frame(l, loc, p->functions.v[lines[k].function].name, &lines[k],
				      true))
				return -1;
		if (add_frame(l, loc, profile_symbol(p, loc), n ? &lines[n - 1] : NULL, false))
			return -1;
	}
	for (k = 0; k < (n ? n : 1); k++)
		if (vec_push(&l->frames, l->frame[id] + (uint32_t)k))
			return -1;
	return 0;
}

static int need_stack(struct lines *l, uint32_t node)
{
	if (!node || l->stack[node])
		return 0;
	l->frames.n = 0;
	for (uint32_t at = node; at; at = l->p->nodes.v[at].parent)
		if (need_frames(l, l->p->nodes.v[at].location))
			return -1;
	l->stack[node] = ++l->n_stacks;
	begin(l, "stack", l->stack[node]);
	add_key(l, "frames");
	text_char(&l->out, '[');
	for (size_t i = 0; i < l->frames.n; i++) {
		if (i)
			text_char(&l->out, ',');
		text_dec(&l->out, l->frames.v[i], 0);
	}
	text_char(&l->out, ']');
	end(l);
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_rest(struct lines *l, const struct profile_log_entry *e, uint64_t has)
{
	const struct profile_detail d = profile_detail(l->p, e);

	if (has & PERF_SAMPLE_ADDR && e->addr) /* 0: the event has none */
		add_hex(l, "addr", e->addr);
	add_string(l, "trace", e->trace);
	/* The lower half of PERF_SAMPLE_WEIGHT_STRUCT is what PERF_SAMPLE_WEIGHT has. */
	if (d.weight)
		add_number(l, "weight",
			   has & PERF_SAMPLE_WEIGHT_STRUCT ? (uint32_t)d.weight : d.weight);
	if (d.data_src && d.data_src != MEMORY_UNKNOWN)
		add_hex(l, "data_src", d.data_src);
	if (e->stop != UNWIND_STOP_NONE && e->stop != UNWIND_STOP_END && e->stop < UNWIND_STOP_N) {
		add_key(l, "stop");
		text_char(&l->out, '"');
		text_str(&l->out, unwind_stop_name(e->stop));
		text_char(&l->out, '"');
	}
}

/* The parameters of the functions of a location, as text; innermost first, as its frames are. */
static bool add_params(struct lines *l, const struct profile_log_entry *e, size_t frame,
		       size_t n_functions)
{
	size_t n, n_levels = 0;
	bool any = false;

	profile_values(l->p, e, frame, 0, &n, &n_levels);
	for (size_t k = 0; k < n_functions; k++) {
		/* Of inlined functions only if these are the same ones. */
		const char *text =
			k + 1 == n_functions || n_levels == n_functions
				? profile_values(l->p, e, frame, n_functions - 1 - k, &n, &n_levels)
				: NULL;

		text_str(&l->out, frame || k ? "," : "");
		text_json(&l->out, text ? text : "", text ? n : 0);
		any |= text && n;
	}
	return any;
}

/* "args": a text for each frame of the stack. */
static void add_args(struct lines *l, const struct profile_log_entry *e)
{
	const size_t start = l->out.n;
	bool any = false;
	size_t frame = 0, n;

	if (!e->values)
		return;
	add_key(l, "args");
	text_char(&l->out, '[');
	for (uint32_t at = e->node; at; at = l->p->nodes.v[at].parent) {
		profile_lines(l->p, &l->p->locations.v[l->p->nodes.v[at].location],
			      l->opt->style.no_inline, &n);
		any |= add_params(l, e, frame++, n ? n : 1);
	}
	text_char(&l->out, ']');
	if (!any && !l->out.failed)
		l->out.n = start;
}

static int add_sample(struct lines *l, const struct profile_log_entry *e)
{
	const struct profile_event *event = &l->p->events.v[e->event];
	uint32_t task;

	need_event(l, e->event);
	if (need_task(l, e, &task) || need_stack(l, e->node))
		return -1;
	text_str(&l->out, "{\"t_ns\":");
	text_dec(&l->out, e->time_ns, 0);
	add_number(l, "task", task);
	if (event->attr.sample_type & PERF_SAMPLE_CPU)
		add_number(l, "cpu", e->cpu);
	add_number(l, "event", l->event[e->event]);
	if (!event->no_period)
		add_number(l, "period", e->period);
	if (e->node)
		add_number(l, "stack", l->stack[e->node]);
	add_rest(l, e, event->attr.sample_type);
	add_args(l, e);
	end(l);
	return 0;
}

static void add_head(struct lines *l)
{
	const char *generator = l->opt->generator ? l->opt->generator : "unspool";

	text_str(&l->out, "{\"v\":2,\"generator\":");
	text_json(&l->out, generator, strlen(generator));
	if (format_wall_ns(l->p))
		add_number(l, "began_ns", format_wall_ns(l->p));
	end(l);
}

static int write_all(struct lines *l, const struct event_set *events, FILE *out)
{
	const struct profile *p = l->p;

	l->event = calloc(p->events.n + 1, sizeof *l->event);
	l->module = calloc(p->mappings.n + 1, sizeof *l->module);
	l->frame = calloc(p->locations.n + 1, sizeof *l->frame);
	l->stack = calloc(p->nodes.n + 1, sizeof *l->stack);
	if (!l->event || !l->module || !l->frame || !l->stack)
		return -1;
	add_head(l);
	for (size_t i = 0; i < p->log.n; i++) {
		if (events->has[p->log.v[i].event] && add_sample(l, &p->log.v[i]))
			return -1;
		if (l->out.n > FLUSH_BYTES)
			text_flush(&l->out, out);
	}
	text_flush(&l->out, out);
	return l->out.failed ? -1 : 0;
}

static int write_jsonl2(const struct profile *p, const struct output_options *opt,
			struct event_set *events, FILE *out, struct err *err)
{
	struct lines l = {.p = p, .opt = opt};
	const int rc = write_all(&l, events, out) ? err_nomem(err) : 0;

	free(l.event);
	free(l.module);
	free(l.frame);
	free(l.stack);
	hash_done(&l.tasks);
	hash_done(&l.comms);
	hash_done(&l.functions);
	hash_done(&l.names);
	vec_done(&l.frames);
	text_done(&l.out);
	return rc;
}

const struct output_format format_jsonl2 = {
	.name = "jsonl2",
	.help = "the same, with stacks and what is in them written once",
	.suffixes = ".jsonl2",
	.takes_sums = true,
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE | PROFILE_KEEP_DETAILS,
	.names_events = true,
	.honours = OUTPUT_ARGS,
	.write = write_jsonl2,
};

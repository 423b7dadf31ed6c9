/* in_jsonl.c - resolve's own -f jsonl and -f jsonl2: a JSON object on each line.
 *
 * Source of truth: doc/formats.md, output/fmt_jsonl.c and fmt_jsonl2.c. In the second form a line
 * whose first key is event, task, module, function, frame or stack defines what later lines name by
 * its number. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/json_input.h"
#include "input/script_line.h"
#include "profile/profile.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "reader/reader.h"

/* A frame as it is written: an inlined function, or the one that the code belongs to. */
struct json_frame {
	uint32_t sym, file, mapping, line;
	uint64_t ip, off;
	uint8_t how;
	bool inlined, has_off;
};

struct json_function {
	uint32_t sym, file, mapping;
};

struct json_task {
	uint32_t pid, tid, comm;
};

/* Lines of a table that may be missing in one place; what stands for them. */
enum { MISSING_MAX = 100000 };
#define MISSING UINT32_MAX

enum kind { SAMPLE, HEAD, EVENT, TASK, MODULE, FUNCTION, FRAME, STACK };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct err *err;
	/* Of the second form, by number - 1. */
	VEC(uint32_t) events, modules;
	VEC(struct json_function) functions;
	VEC(struct json_task) tasks;
	VEC(struct json_frame) frames;
	VEC(uint32_t) stacks; /* nodes */
	/* ---- the line */
	enum kind kind;
	size_t n_keys;
	uint64_t number;			/* that it defines */
	uint32_t event, unit, comm, dso, trace; /* string ids */
	struct build_id build_id;
	uint64_t pid, tid, cpu, period, t_ns, task, event_number, stack_number, function, module;
	bool has_cpu, has_time, has_stack, has_period, has_dso, has_addr, is_bad;
	uint64_t addr;
	uint8_t stop;
	struct json_frame frame;
	VEC(struct json_frame) stack; /* of frames written in the sample */
	VEC(uint32_t) numbers;	      /* of a line with a stack */
	VEC(uint32_t) path;
	VEC(struct profile_line) lines;
};

/* ---- values ---------------------------------------------------------------------------------- */

static uint32_t string_of(struct reader *r, const struct json_value *v)
{
	return v->kind == JSON_STRING ? profile_string(r->p, v->string, v->n) : 0;
}

static uint64_t number_of(struct reader *r, const struct json_value *v)
{
	if (v->kind != JSON_NUMBER || !(v->number >= -1) || v->number >= 1.8e19) {
		r->is_bad = true;
		return 0;
	}
	return v->number < 0 ? UINT64_MAX : (uint64_t)v->number;
}

static uint64_t hex_of(struct reader *r, const struct json_value *v)
{
	char *end;
	uint64_t n;

	if (v->kind != JSON_STRING || strncmp(v->string, "0x", 2)) {
		r->is_bad = true;
		return 0;
	}
	n = strtoull(v->string, &end, 16);
	r->is_bad |= *end != '\0';
	return n;
}

static uint8_t stop_of(const struct json_value *v)
{
	for (uint8_t i = 0; v->kind == JSON_STRING && i < UNWIND_STOP_N; i++)
		if (!strcmp(v->string, unwind_stop_name(i)))
			return i;
	return UNWIND_STOP_NONE;
}

static uint8_t how_of(const struct json_value *v)
{
	const char *s = v->kind == JSON_STRING ? v->string : "";

	if (!strcmp(s, "stitched"))
		return FRAME_STITCHED;
	if (!strcmp(s, "other stack"))
		return FRAME_OTHER_STACK;
	for (uint8_t i = 0; !strcmp(s, "guessed") && i < FRAME_HOW_N; i++)
		if (frame_how_is_guess(i))
			return i;
	return FRAME_USER_CHAIN;
}

static void take_build_id(struct build_id *id, const struct json_value *v)
{
	id->size = 0;
	for (size_t i = 0; v->kind == JSON_STRING && i + 1 < v->n && id->size < BUILD_ID_MAX;
	     i += 2) {
		const char digits[3] = {v->string[i], v->string[i + 1], '\0'};

		id->bytes[id->size++] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

/* ---- one line -------------------------------------------------------------------------------- */

static void clear(struct reader *r)
{
	r->kind = SAMPLE;
	r->n_keys = 0;
	r->event = r->unit = r->comm = r->dso = r->trace = 0;
	r->build_id = (struct build_id){0};
	r->pid = r->tid = PROFILE_NO_PID;
	r->cpu = r->period = r->t_ns = r->task = r->event_number = r->stack_number = 0;
	r->function = r->module = r->number = 0;
	r->has_cpu = r->has_time = r->has_stack = r->has_period = r->has_dso = r->has_addr =
		r->is_bad = false;
	r->addr = 0;
	r->stop = UNWIND_STOP_NONE;
	r->frame = (struct json_frame){.how = FRAME_USER_CHAIN};
	r->stack.n = r->numbers.n = 0;
}

static bool is_key(const char *path, const char *key)
{
	return !strcmp(path, key);
}

/* Members of a frame, in a sample or on a line of its own. Returns false if it is none. */
static bool take_frame(struct reader *r, const char *key, const struct json_value *v)
{
	struct json_frame *f = &r->frame;

	if (is_key(key, "sym"))
		f->sym = string_of(r, v);
	else if (is_key(key, "file"))
		f->file = string_of(r, v);
	else if (is_key(key, "line"))
		f->line = (uint32_t)number_of(r, v);
	else if (is_key(key, "ip"))
		f->ip = hex_of(r, v);
	else if (is_key(key, "off"))
		f->off = number_of(r, v), f->has_off = true;
	else if (is_key(key, "how"))
		f->how = how_of(v);
	else if (is_key(key, "inlined"))
		f->inlined = v->kind == JSON_TRUE;
	else if (is_key(key, "dso"))
		r->dso = string_of(r, v), r->has_dso = true;
	else if (is_key(key, "build_id"))
		take_build_id(&r->build_id, v);
	else
		return false;
	return true;
}

static void take_sample(struct reader *r, const char *key, const struct json_value *v)
{
	static const struct {
		const char *key;
		size_t at;
	} numbers[] = {{"pid", offsetof(struct reader, pid)},
		       {"tid", offsetof(struct reader, tid)},
		       {"task", offsetof(struct reader, task)},
		       {"function", offsetof(struct reader, function)},
		       {"module", offsetof(struct reader, module)}};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (is_key(key, numbers[i].key)) {
			const uint64_t n = number_of(r, v);

			memcpy((char *)r + numbers[i].at, &n, sizeof n);
			return;
		}
	if (is_key(key, "t_ns"))
		r->t_ns = number_of(r, v), r->has_time = true;
	else if (is_key(key, "cpu"))
		r->cpu = number_of(r, v), r->has_cpu = true;
	else if (is_key(key, "period"))
		r->period = number_of(r, v), r->has_period = true;
	else if (is_key(key, "comm"))
		r->comm = string_of(r, v);
	else if (is_key(key, "name"))
		r->event = string_of(r, v);
	else if (is_key(key, "unit"))
		r->unit = string_of(r, v);
	else if (is_key(key, "event") && v->kind == JSON_STRING)
		r->event = string_of(r, v);
	else if (is_key(key, "event"))
		r->event_number = number_of(r, v);
	else if (is_key(key, "stack"))
		r->stack_number = number_of(r, v), r->has_stack = true;
	else if (is_key(key, "trace"))
		r->trace = string_of(r, v);
	else if (is_key(key, "addr"))
		r->addr = hex_of(r, v), r->has_addr = true;
	else if (is_key(key, "stop"))
		r->stop = stop_of(v);
}

/* The first key says what a line of the second form is. */
static enum kind kind_of(const char *key, const struct json_value *v)
{
	static const char *const keys[] = {
		[HEAD] = "v",	     [EVENT] = "event",	      [TASK] = "task",
		[MODULE] = "module", [FUNCTION] = "function", [FRAME] = "frame",
		[STACK] = "stack"};

	if (v->kind == JSON_NUMBER && (!is_key(key, "v") || v->number != 1))
		for (size_t i = HEAD; i < sizeof keys / sizeof *keys; i++)
			if (is_key(key, keys[i]))
				return (enum kind)i;
	return SAMPLE;
}

static int add_mapping(struct reader *r, uint32_t *ret)
{
	const char *name = strtab_get(&r->p->strings, r->dso);
	const struct word word = {name, strtab_len(&r->p->strings, r->dso)};
	const struct profile_mapping m = {.path = r->dso,
					  .kind = word.n ? script_kind(word) : DSO_UNKNOWN,
					  .build_id = r->build_id};

	*ret = 0;
	return r->dso ? profile_add_mapping(r->p, &m, ret, r->err) : 0;
}

/* A frame of a sample of the first form ends. */
static int end_frame(struct reader *r)
{
	if (add_mapping(r, &r->frame.mapping))
		return -(int)r->err->code;
	r->dso = 0;
	r->build_id = (struct build_id){0};
	if (vec_push(&r->stack, r->frame))
		return err_nomem(r->err);
	r->frame = (struct json_frame){.how = FRAME_USER_CHAIN};
	return 0;
}

static int visit(void *arg, const struct json_value *v)
{
	static const char in_stack[] = "stack[]";
	struct reader *r = arg;
	const char *key = v->path;

	if (!*key)
		return 0;
	if (!strncmp(key, in_stack, sizeof in_stack - 1)) {
		key += sizeof in_stack - 1;
		r->has_stack = true;
		if (!*key)
			return v->kind == JSON_END ? end_frame(r) : 0;
		take_frame(r, key + 1, v);
		return 0;
	}
	if (!r->n_keys++) {
		r->kind = kind_of(key, v);
		if (r->kind != SAMPLE) {
			r->number = number_of(r, v);
			return 0;
		}
	}
	if (is_key(key, "frames[]"))
		return vec_push(&r->numbers, json_input_id(v, UINT32_MAX)) ? err_nomem(r->err) : 0;
	if (v->kind != JSON_END && !take_frame(r, key, v))
		take_sample(r, key, v);
	return 0;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static int add_line(struct reader *r, const struct json_frame *f)
{
	const struct profile_function function = {.name = f->sym, .file = f->file};
	struct profile_line line = {.line = f->line};

	if (profile_add_function(r->p, &function, &line.function, r->err))
		return -(int)r->err->code;
	return vec_push(&r->lines, line) ? err_nomem(r->err) : 0;
}

/* Ends a location: the lines of inlined functions that were collected, and the function itself. */
static int add_location(struct reader *r, const struct json_frame *f)
{
	const struct profile_mapping *m = &r->p->mappings.v[f->mapping];
	struct profile_location l = {.mapping = f->mapping,
				     .ip = f->ip,
				     .off = f->ip,
				     .how = f->how,
				     .is_kernel = m->kind == DSO_KERNEL ||
						  m->kind == DSO_KERNEL_MODULE ||
						  m->kind == DSO_GUEST_KERNEL,
				     .symbol = f->has_off ? f->sym : 0,
				     .symbol_offset = f->off};
	uint32_t id;

	if ((f->sym || r->lines.n || f->file) && add_line(r, f))
		return -(int)r->err->code;
	if (profile_add_location(r->p, &l, r->lines.v, r->lines.n, &id, r->err))
		return -(int)r->err->code;
	r->lines.n = 0;
	return vec_push(&r->path, id) ? err_nomem(r->err) : 0;
}

/* Makes a node of n frames, leaf first. */
static int make_stack(struct reader *r, const struct json_frame *frames, size_t n, uint32_t *ret)
{
	r->path.n = r->lines.n = 0;
	for (size_t i = 0; i < n; i++) {
		/* An inlined function is in the next frame, which is of the same address. */
		const bool is_inner = frames[i].inlined && i + 1 < n;

		if (is_inner ? add_line(r, &frames[i]) : add_location(r, &frames[i]))
			return -(int)r->err->code;
	}
	for (size_t i = 0; i < r->path.n / 2; i++) {
		const uint32_t other = r->path.v[i];

		r->path.v[i] = r->path.v[r->path.n - 1 - i];
		r->path.v[r->path.n - 1 - i] = other;
	}
	return profile_add_stack(r->p, r->path.v, r->path.n, ret, r->err);
}

/* A table's line has the next number, or a later one if lines are missing or damaged. Returns 1 if
 * it cannot be used. */
static int expect(const struct reader *r, size_t n)
{
	return r->is_bad || r->number <= n || r->number - n > MISSING_MAX ? 1 : 0;
}

/* Puts `value` in the place of the lines that are missing. */
#define PAD(vec, value)                                   \
	do {                                              \
		while ((vec)->n + 1 < r->number)          \
			if (vec_push(vec, value))         \
				return err_nomem(r->err); \
	} while (0)

static int end_stack(struct reader *r)
{
	uint32_t node;

	PAD(&r->stacks, MISSING);
	r->stack.n = 0;
	for (size_t i = 0; i < r->numbers.n; i++) {
		const uint32_t id = r->numbers.v[i];

		if (!id || id > r->frames.n)
			return 1;
		if (vec_push(&r->stack, r->frames.v[id - 1]))
			return err_nomem(r->err);
	}
	if (make_stack(r, r->stack.v, r->stack.n, &node))
		return -(int)r->err->code;
	return vec_push(&r->stacks, node) ? err_nomem(r->err) : 0;
}

static int end_function(struct reader *r)
{
	struct json_function f = {r->frame.sym, r->frame.file, 0};

	PAD(&r->functions, ((struct json_function){0, 0, 0}));
	if (r->module > r->modules.n)
		return 1;
	f.mapping = r->module ? r->modules.v[r->module - 1] : 0;
	return vec_push(&r->functions, f) ? err_nomem(r->err) : 0;
}

static int end_numbered_frame(struct reader *r)
{
	const struct json_function *f;

	PAD(&r->frames, ((struct json_frame){.how = FRAME_USER_CHAIN}));
	if (!r->function || r->function > r->functions.n)
		return 1;
	f = &r->functions.v[r->function - 1];
	r->frame.sym = f->sym;
	r->frame.file = f->file;
	r->frame.mapping = f->mapping;
	return vec_push(&r->frames, r->frame) ? err_nomem(r->err) : 0;
}

static int end_module(struct reader *r)
{
	uint32_t mapping;

	PAD(&r->modules, 0);
	if (add_mapping(r, &mapping))
		return -(int)r->err->code;
	return vec_push(&r->modules, mapping) ? err_nomem(r->err) : 0;
}

static int end_event(struct reader *r)
{
	uint32_t event;

	PAD(&r->events, MISSING);
	if (profile_add_event(r->p, r->event, r->unit, &event, r->err))
		return -(int)r->err->code;
	return vec_push(&r->events, event) ? err_nomem(r->err) : 0;
}

static int end_task(struct reader *r)
{
	const struct json_task t = {(uint32_t)r->pid, (uint32_t)r->tid, r->comm};

	PAD(&r->tasks, ((struct json_task){PROFILE_NO_PID, PROFILE_NO_PID, 0}));
	return vec_push(&r->tasks, t) ? err_nomem(r->err) : 0;
}

/* Finds what a sample of the second form names by numbers. Returns 1 if there is none. */
static int look_up(struct reader *r, struct profile_sample *s)
{
	if (r->task) {
		if (r->task > r->tasks.n)
			return 1;
		r->pid = r->tasks.v[r->task - 1].pid;
		r->tid = r->tasks.v[r->task - 1].tid;
		r->comm = r->tasks.v[r->task - 1].comm;
	}
	if (r->event_number > r->events.n || r->stack_number > r->stacks.n ||
	    (r->event_number && r->events.v[r->event_number - 1] == MISSING) ||
	    (r->stack_number && r->stacks.v[r->stack_number - 1] == MISSING))
		return 1;
	if (r->stack_number)
		s->node = r->stacks.v[r->stack_number - 1];
	else if (make_stack(r, r->stack.v, r->stack.n, &s->node))
		return -(int)r->err->code;
	if (r->event_number) {
		s->event = r->events.v[r->event_number - 1];
		return 0;
	}
	if (!r->event)
		r->event = profile_string(r->p, "samples", strlen("samples"));
	return profile_add_event(r->p, r->event, 0, &s->event, r->err) ? -(int)r->err->code : 0;
}

/* What its samples have, for formats that show only that. */
static void describe_event(const struct reader *r, struct profile_event *e)
{
	const char *name = strtab_get(&r->p->strings, e->name), *unit;

	unit = strtab_get(&r->p->strings, e->unit);
	e->attr.sample_type |=
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | (r->has_time ? PERF_SAMPLE_TIME : 0) |
		(r->has_cpu ? PERF_SAMPLE_CPU : 0) | (r->has_addr ? PERF_SAMPLE_ADDR : 0);
	if (r->trace)
		e->attr.type = PERF_TYPE_TRACEPOINT;
	e->no_period = !r->has_period;
	e->is_ns = r->has_period &&
		   (!strcmp(unit, "nanoseconds") || str_starts_with(name, "cpu-clock") ||
		    str_starts_with(name, "task-clock"));
}

static int end_sample(struct reader *r)
{
	struct profile_sample s = {.count = 1, .stop = r->stop};
	struct profile_log_entry when = {.time_ns = r->t_ns, .cpu = (uint32_t)r->cpu};
	struct input_sample about;
	int rc = r->is_bad || (!r->has_time && !r->task && !r->event) ? 1 : look_up(r, &s);

	if (rc)
		return rc;
	s.comm = r->comm;
	s.pid = (uint32_t)r->pid;
	s.tid = (uint32_t)r->tid;
	s.cpu = r->has_cpu ? profile_cpu((uint32_t)r->cpu) : 0;
	s.period = r->has_period ? r->period : 1;
	about = (struct input_sample){
		.comm = strtab_get(&r->p->strings, s.comm),
		.event = strtab_get(&r->p->strings, r->p->events.v[s.event].name),
		.pid = s.pid,
		.tid = s.tid,
		.cpu = r->has_cpu ? (uint32_t)r->cpu : PROFILE_NO_PID,
		.time_ns = r->t_ns,
		.has_time = r->has_time};
	if (!input_accepts(r->opt, &about, r->ret))
		return 0;
	describe_event(r, &r->p->events.v[s.event]);
	when.has_stack = r->stack_number || r->has_stack;
	when.trace = r->trace;
	when.addr = r->addr;
	return r->has_time ? profile_add_entry(r->p, &s, &when, r->err)
			   : profile_add_sample(r->p, &s, r->err);
}

static int end_line(struct reader *r)
{
	int rc;

	switch (r->kind) {
	case HEAD:
		return 0;
	case EVENT:
		rc = expect(r, r->events.n);
		return rc ? rc : end_event(r);
	case TASK:
		rc = expect(r, r->tasks.n);
		return rc ? rc : end_task(r);
	case MODULE:
		rc = expect(r, r->modules.n);
		return rc ? rc : end_module(r);
	case FUNCTION:
		rc = expect(r, r->functions.n);
		return rc ? rc : end_function(r);
	case FRAME:
		rc = expect(r, r->frames.n);
		return rc ? rc : end_numbered_frame(r);
	case STACK:
		rc = expect(r, r->stacks.n);
		return rc ? rc : end_stack(r);
	case SAMPLE:
		break;
	}
	return end_sample(r);
}

static int take_line(void *arg, char *line, size_t n, struct err *err)
{
	struct reader *r = arg;
	struct err mine = {0};
	int rc;

	if (line[strspn(line, " \t\r")] == '\0')
		return 0;
	clear(r);
	rc = json_read(line, n, "", visit, r, &mine);
	if (rc == -ERR_FORMAT)
		return 1;
	if (rc) {
		*err = mine;
		return rc;
	}
	return end_line(r);
}

static int read_jsonl(struct profile *p, struct input_source *s, const struct input_options *opt,
		      struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret, .err = err};
	const int rc = input_each_line(s, ret, take_line, &r, err);

	vec_done(&r.events);
	vec_done(&r.modules);
	vec_done(&r.functions);
	vec_done(&r.tasks);
	vec_done(&r.frames);
	vec_done(&r.stacks);
	vec_done(&r.stack);
	vec_done(&r.numbers);
	vec_done(&r.path);
	vec_done(&r.lines);
	return rc;
}

static bool detect(const char *head, size_t n)
{
	(void)n;
	return str_starts_with(head, "{\"v\":2,\"generator\"") ||
	       (str_starts_with(head, "{\"v\":1,\"") &&
		(strstr(head, "\"t_ns\":") || strstr(head, "\"stack\":[") ||
		 strstr(head, "\"event\":\"")));
}

const struct input_format input_jsonl = {
	.name = "jsonl",
	.help = "resolve's own jsonl and jsonl2",
	.is_json = true,
	.detect = detect,
	.read = read_jsonl,
};

/* fmt_pprof.c - a gzipped profile.proto, for `go tool pprof` and the servers that take its files.
 *
 * Source of truth: github.com/google/pprof/proto/profile.proto. Readers are stricter than it: Parca
 * wants ids 1..n in order and a time, Pyroscope drops samples whose locations lack a mapping or a
 * function, speedscope shows the last sample type. So: dense ids by rank, one explicit mapping for
 * what is in none, never a time of 0, samples/count first and the event's own unit last. */
#include "base/err.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/output.h"
#include "output/pprof.h"

#include "base/packed_stream.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_NUM_UNIT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE_OFFSET,
	MAPPING_FILENAME,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINE_NUMBERS,
	MAPPING_HAS_INLINE_FRAMES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
	FUNCTION_START_LINE
};

struct writer {
	struct pprof pp;
	uint32_t main_event;
	struct strtab strings; /* the file's string table, in the order of first use */
	FILE *out;	       /* gzip, or plain */
	struct text msg, part, sub, name;
	/* By rank of mapping. */
	bool *has_functions, *has_filenames, *has_lines, *has_inlines;
	/* By rank of mapping: the function for all its code without a name; 0: there is no such
	 * code. */
	uint32_t *nameless;
};

/* ---- strings -------------------------------------------------------------------------------- */

/* Returns the id of a string; invalid UTF-8 is replaced, because proto3 demands valid UTF-8. */
static uint64_t add_string(struct writer *w, const char *s, size_t n)
{
	uint32_t id;

	w->name.n = 0;
	text_clean(&w->name, s, n);
	id = w->name.failed ? STRTAB_FAILED
			    : strtab_add(&w->strings, w->name.n ? w->name.s : "", w->name.n);
	if (id == STRTAB_FAILED)
		w->msg.failed = true;
	return id;
}

static uint64_t add_cstr(struct writer *w, const char *s)
{
	return add_string(w, s, strlen(s));
}

static uint64_t add_ours(struct writer *w, uint32_t id)
{
	const struct strtab *strings = &w->pp.p->strings;

	return add_string(w, strtab_get(strings, id), strtab_len(strings, id));
}

static uint64_t as_int64(uint64_t v)
{
	return v <= INT64_MAX ? v : INT64_MAX;
}

/* ---- what the numbers are ------------------------------------------------------------------- */

static void add_value_type(struct writer *w, unsigned field, uint64_t type, uint64_t unit)
{
	pb_uint(&w->part, VALUE_TYPE_TYPE, type);
	pb_uint(&w->part, VALUE_TYPE_UNIT, unit);
	pb_message(&w->msg, field, &w->part);
}

/* The type of an event's weights: "cycles"; for clocks "cpu". */
static uint64_t add_type_name(struct writer *w, const struct profile_event *e)
{
	const char *name = strtab_get(&w->pp.p->strings, e->name);

	return profile_event_is_clock(e) && !e->unit
		       ? add_cstr(w, "cpu")
		       : add_string(w, name, pprof_bare_name(e, name));
}

static uint64_t add_unit(struct writer *w, const struct profile_event *e)
{
	if (e->unit)
		return add_ours(w, e->unit);
	return add_cstr(w, profile_event_is_clock(e) ? "nanoseconds" : "count");
}

/* "cycles_sample", "cycles_event" as perf_to_profile names them. */
static uint64_t add_suffixed(struct writer *w, const struct profile_event *e, const char *suffix)
{
	const char *name = strtab_get(&w->pp.p->strings, e->name);
	struct text t = {0};
	uint64_t id = 0;

	text_add(&t, name, pprof_bare_name(e, name));
	text_str(&t, suffix);
	w->msg.failed |= t.failed;
	if (!t.failed)
		id = add_string(w, t.s, t.n);
	text_done(&t);
	return id;
}

static uint64_t add_event_name(struct writer *w, const struct profile_event *e)
{
	return w->pp.events->n > 1 && !e->is_sum ? add_suffixed(w, e, "_event")
						 : add_type_name(w, e);
}

/* Two values for every event, number of samples and weight; or only the weight. */
static void add_types(struct writer *w)
{
	const struct event_set *events = w->pp.events;
	const struct profile_event *first, *e;
	uint64_t count = add_cstr(w, "count"), type, unit;
	size_t i;

	first = &w->pp.p->events.v[w->main_event];
	for (i = 0; i < events->n; i++) {
		e = &w->pp.p->events.v[events->ids[i]];
		type = add_event_name(w, e);
		unit = add_unit(w, e);
		if (!e->is_sum)
			add_value_type(w, PROFILE_SAMPLE_TYPE,
				       events->n > 1 ? add_suffixed(w, e, "_sample")
						     : add_cstr(w, "samples"),
				       count);
		add_value_type(w, PROFILE_SAMPLE_TYPE, type, unit);
	}
	type = add_event_name(w, first);
	add_value_type(w, PROFILE_PERIOD_TYPE, type, add_unit(w, first));
	pb_uint(&w->msg, PROFILE_PERIOD, pprof_period(first));
	pb_uint(&w->msg, PROFILE_DEFAULT_SAMPLE_TYPE, type);
}

/* ---- when and by whom ----------------------------------------------------------------------- */

static void add_comment(struct writer *w, const char *key, const struct text *value)
{
	struct text line = {0};

	text_str(&line, key);
	text_add(&line, value->s, value->n);
	w->msg.failed |= line.failed;
	if (!line.failed)
		pb_varint(&w->sub, add_string(w, line.s, line.n));
	text_done(&line);
}

/* What must be equal for runs to be compared, and the number of lost samples: `regress` reads them.
 * The host name is left out, as profiles on a server need not reveal it. */
static void add_environment(struct writer *w, const struct perf_file_info *info)
{
	const struct profile_event *e = &w->pp.p->events.v[w->main_event];
	const struct {
		const char *key, *text;
		uint64_t number;
	} rows[] = {
		{"cpu:", info->cpu_desc, 0},
		{"arch:", info->arch, 0},
		{"kernel:", info->os_release, 0},
		{"processors:", NULL, info->cpus_online},
		{"frequency:", NULL, e->attr.flags & PERF_ATTR_FREQ ? e->attr.sample_period : 0},
		{"lost:", NULL, w->pp.opt->lost},
	};
	struct text value = {0};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		value.n = 0;
		if (rows[i].text)
			text_str(&value, rows[i].text);
		else if (rows[i].number)
			text_dec(&value, rows[i].number, 0);
		if (value.n)
			add_comment(w, rows[i].key, &value);
	}
	w->msg.failed |= value.failed;
	text_done(&value);
}

static void add_comments(struct writer *w)
{
	const struct perf_file_info *info = w->pp.p->info;
	const struct profile *p = w->pp.p;
	struct text value = {0};
	size_t i;

	/* The tool that made the profile has stored them as comments. */
	for (i = 0; i < p->comments.n; i++)
		pb_varint(&w->sub, add_ours(w, p->comments.v[i]));
	if (w->pp.opt->generator && !p->comments.n) {
		text_str(&value, w->pp.opt->generator);
		add_comment(w, "tool:", &value);
	}
	value.n = 0;
	if (!p->comments.n && format_stitched_share(w->pp.p, w->pp.opt, w->pp.events->has) > 0) {
		text_str(&value, "samples with the label stack:stitched have callers of another "
				 "sample of their thread");
		add_comment(w, "stitched:", &value);
	}
	value.n = 0;
	if (info && info->version) {
		text_str(&value, info->version);
		add_comment(w, "perf-version:", &value);
	}
	value.n = 0;
	for (i = 0; info && !w->pp.opt->no_cmdline && i < info->n_cmdline; i++) {
		if (i)
			text_char(&value, ' ');
		text_str(&value, info->cmdline[i]);
	}
	if (i)
		add_comment(w, "perf-command:", &value);
	if (info)
		add_environment(w, info);
	w->msg.failed |= value.failed;
	text_done(&value);
	if (w->sub.n)
		pb_message(&w->msg, PROFILE_COMMENT, &w->sub);
}

static void add_head(struct writer *w)
{
	const struct profile *p = w->pp.p;

	add_types(w);
	pb_uint(&w->msg, PROFILE_TIME_NANOS, format_wall_ns(p));
	pb_uint(&w->msg, PROFILE_DURATION_NANOS, as_int64(p->last_ns - p->first_ns));
	add_comments(w);
	text_flush(&w->msg, w->out);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Readers treat a numeric label of value 0 as missing unless it has a unit. */
static void add_number_label(struct writer *w, const char *key, uint32_t number)
{
	uint64_t id = add_cstr(w, key);

	pb_uint(&w->sub, LABEL_KEY, id);
	pb_uint(&w->sub, LABEL_NUM, (uint64_t)(int64_t)(int32_t)number);
	pb_uint(&w->sub, LABEL_NUM_UNIT, id);
	pb_message(&w->part, SAMPLE_LABEL, &w->sub);
}

static void add_string_label(struct writer *w, const char *key, uint64_t value)
{
	pb_uint(&w->sub, LABEL_KEY, add_cstr(w, key));
	pb_uint(&w->sub, LABEL_STR, value);
	pb_message(&w->part, SAMPLE_LABEL, &w->sub);
}

static void add_kept_labels(struct writer *w, const struct profile_sample *s)
{
	struct profile_label l;
	size_t at = 0;

	while (profile_label(w->pp.p, s, &at, &l)) {
		if (l.text) {
			add_string_label(w, l.key, add_cstr(w, l.text));
			continue;
		}
		pb_uint(&w->sub, LABEL_KEY, add_cstr(w, l.key));
		pb_uint(&w->sub, LABEL_NUM, (uint64_t)l.number);
		pb_uint(&w->sub, LABEL_NUM_UNIT, *l.unit ? add_cstr(w, l.unit) : 0);
		pb_message(&w->part, SAMPLE_LABEL, &w->sub);
	}
}

/* Stacks with callers from another sample get the label stack:stitched, those whose copy was too
 * small stack:cut, for -tagfocus and -tagignore. The label "stop" has the reason of every stack
 * that did not reach its root. */
static void add_labels(struct writer *w, uint32_t sample)
{
	const struct output_options *opt = w->pp.opt;
	const struct profile_sample *s = &w->pp.p->samples.v[sample];

	if (w->pp.stack_label[sample] != STACK_WHOLE)
		add_string_label(
			w, "stack",
			add_cstr(w, w->pp.stack_label[sample] == STACK_CUT ? "cut" : "stitched"));
	if (pprof_stop(s) != UNWIND_STOP_NONE)
		add_string_label(w, "stop", add_cstr(w, unwind_stop_name(s->stop)));
	if (s->labels)
		add_kept_labels(w, s);
	/* Labels of another tool have the task in its own words; a recording's are cgroups. */
	if (s->labels && !w->pp.p->info)
		return;
	if (s->comm)
		add_string_label(w, "thread_comm", add_ours(w, s->comm));
	if ((opt->style.with_pid || opt->style.with_tid) && s->pid != PROFILE_NO_PID)
		add_number_label(w, "pid", s->pid);
	if (opt->style.with_tid && s->tid != PROFILE_NO_PID)
		add_number_label(w, "tid", s->tid);
	if (opt->style.with_cpu && s->cpu)
		add_number_label(w, "cpu", s->cpu - 1u);
}

/* at: the index of the event. */
static void add_sample(struct writer *w, const struct tree *t, uint32_t node, size_t at)
{
	const struct tree_node *nodes = t->nodes.v, *n = &nodes[node];
	size_t i;

	for (; n->parent; n = &nodes[n->parent])
		pb_varint(&w->sub, (uint64_t)n->symbol + 1);
	if (w->sub.n)
		pb_message(&w->part, SAMPLE_LOCATION_ID, &w->sub);
	for (i = 0; i < w->pp.events->n; i++) {
		if (!w->pp.p->events.v[w->pp.events->ids[i]].is_sum)
			pb_varint(&w->sub, i == at ? pprof_value(&w->pp, nodes[node].count) : 0);
		pb_varint(&w->sub, i == at ? pprof_value(&w->pp, nodes[node].period) : 0);
	}
	pb_message(&w->part, SAMPLE_VALUE, &w->sub);
	/* The loop ended at the first level, which has the labels. */
	add_labels(w, w->pp.labels.ids[n->symbol]);
	pb_message(&w->msg, PROFILE_SAMPLE, &w->part);
}

/* Writes the stacks sorted by their locations, root first. */
static int add_stacks(struct writer *w, const struct tree *t, size_t at, struct err *err)
{
	size_t n_ranks = w->pp.locations.n > w->pp.labels.n ? w->pp.locations.n : w->pp.labels.n;
	VEC(uint32_t) todo = {0};
	struct tree_order order;
	uint32_t node = 0, i;
	int rc = tree_order_make(&order, t, NULL, n_ranks, err);

	if (!rc && vec_push(&todo, 0))
		rc = err_nomem(err);
	while (!rc && todo.n) {
		node = todo.v[--todo.n];
		if (t->nodes.v[node].count) {
			add_sample(w, t, node, at);
			text_flush(&w->msg, w->out);
		}
		for (i = order.first[node + 1]; !rc && i > order.first[node]; i--)
			if (vec_push(&todo, order.ids[i - 1]))
				rc = err_nomem(err);
	}
	vec_done(&todo);
	tree_order_done(&order);
	return rc;
}

static int add_samples(struct writer *w, struct err *err)
{
	struct tree t = {0};
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < w->pp.events->n; i++) {
		rc = pprof_tree(&t, &w->pp, w->pp.events->ids[i], err);
		if (!rc)
			rc = add_stacks(w, &t, i, err);
		tree_done(&t);
		t = (struct tree){0};
	}
	return rc;
}

/* ---- locations, functions, mappings --------------------------------------------------------- */

static void add_line(struct writer *w, const struct profile_line *line, uint32_t mapping)
{
	const struct profile_function *f = &w->pp.p->functions.v[line->function];

	w->has_functions[mapping] |= f->name != 0;
	w->has_filenames[mapping] |= f->file != 0;
	w->has_lines[mapping] |= line->line != 0;
	pb_uint(&w->sub, LINE_FUNCTION_ID, (uint64_t)w->pp.functions.of[line->function] + 1);
	pb_uint(&w->sub, LINE_LINE, line->line);
	pb_message(&w->part, LOCATION_LINE, &w->sub);
}

static bool has_name(const struct pprof *pp, const struct profile_location *l)
{
	size_t n;
	const struct profile_line *lines = profile_lines(pp->p, l, pp->opt->style.no_inline, &n);

	return n && pp->p->functions.v[lines[n - 1].function].name;
}

/* Numbers the functions for code without names: after all others, in the order of the mappings. */
static void number_nameless(struct writer *w)
{
	const struct pprof *pp = &w->pp;
	uint32_t id = (uint32_t)pp->functions.n;
	size_t i;

	for (i = 0; i < pp->locations.n; i++) {
		const struct profile_location *l = &pp->p->locations.v[pp->locations.ids[i]];

		if (!has_name(pp, l))
			w->nameless[pp->mappings.of[l->mapping]] = 1;
	}
	for (i = 0; i < pp->mappings.n; i++)
		if (w->nameless[i])
			w->nameless[i] = ++id;
}

static void add_location(struct writer *w, uint32_t rank)
{
	const struct pprof *pp = &w->pp;
	const struct profile_location *l = &pp->p->locations.v[pp->locations.ids[rank]];
	uint32_t mapping = pp->mappings.of[l->mapping];
	size_t i, n;
	const struct profile_line *lines = profile_lines(pp->p, l, pp->opt->style.no_inline, &n);

	pb_uint(&w->part, LOCATION_ID, (uint64_t)rank + 1);
	pb_uint(&w->part, LOCATION_MAPPING_ID, (uint64_t)mapping + 1);
	pb_uint(&w->part, LOCATION_ADDRESS, pprof_address(l));
	for (i = 0; has_name(pp, l) && i < n; i++)
		add_line(w, &lines[i], mapping);
	/* Readers drop locations without a function, and attribute their weight to the caller. */
	if (!has_name(pp, l)) {
		pb_uint(&w->sub, LINE_FUNCTION_ID, w->nameless[mapping]);
		pb_message(&w->part, LOCATION_LINE, &w->sub);
		w->has_functions[mapping] = true;
	}
	w->has_inlines[mapping] |= n > 1;
	pb_message(&w->msg, PROFILE_LOCATION, &w->part);
}

/* If both names are equal, pprof demangles the name again, or cuts off parentheses and angle
 * brackets. */
static void add_function(struct writer *w, uint32_t rank)
{
	const struct profile_function *f = &w->pp.p->functions.v[w->pp.functions.ids[rank]];
	const char *name = strtab_get(&w->pp.p->strings, f->name);
	bool would_cut = f->name == f->system_name && strpbrk(name, "(<");

	pb_uint(&w->part, FUNCTION_ID, (uint64_t)rank + 1);
	pb_uint(&w->part, FUNCTION_NAME, f->name ? add_ours(w, f->name) : add_cstr(w, "[unknown]"));
	pb_uint(&w->part, FUNCTION_SYSTEM_NAME, would_cut ? 0 : add_ours(w, f->system_name));
	pb_uint(&w->part, FUNCTION_FILENAME, add_ours(w, f->file));
	pb_uint(&w->part, FUNCTION_START_LINE, f->start_line);
	pb_message(&w->msg, PROFILE_FUNCTION, &w->part);
}

/* Writes the function that stands for all code without a name in a mapping; as in folded,
 * "[libfoo.so]". */
static void add_nameless(struct writer *w, uint32_t rank)
{
	const char *name = profile_mapping_short_name(w->pp.p, w->pp.mappings.ids[rank]);
	struct text t = {0};

	if (!w->nameless[rank])
		return;
	text_char(&t, '[');
	text_str(&t, name);
	text_char(&t, ']');
	w->msg.failed |= t.failed;
	pb_uint(&w->part, FUNCTION_ID, w->nameless[rank]);
	pb_uint(&w->part, FUNCTION_NAME, t.failed ? 0 : add_string(w, t.s, t.n));
	pb_message(&w->msg, PROFILE_FUNCTION, &w->part);
	text_done(&t);
}

static void add_mapping(struct writer *w, uint32_t rank)
{
	const struct profile_mapping *m = &w->pp.p->mappings.v[w->pp.mappings.ids[rank]];

	pb_uint(&w->part, MAPPING_ID, (uint64_t)rank + 1);
	if (m->map.end) {
		pb_uint(&w->part, MAPPING_START, m->map.start);
		pb_uint(&w->part, MAPPING_LIMIT, m->map.end);
		pb_uint(&w->part, MAPPING_FILE_OFFSET, m->map.pgoff);
	}
	pb_uint(&w->part, MAPPING_FILENAME, add_ours(w, m->name));
	if (m->build_id.size) {
		text_build_id(&w->sub, &m->build_id);
		pb_uint(&w->part, MAPPING_BUILD_ID, add_string(w, w->sub.s, w->sub.n));
		w->sub.n = 0;
	}
	pb_uint(&w->part, MAPPING_HAS_FUNCTIONS, w->has_functions[rank]);
	pb_uint(&w->part, MAPPING_HAS_FILENAMES, w->has_filenames[rank]);
	pb_uint(&w->part, MAPPING_HAS_LINE_NUMBERS, w->has_lines[rank]);
	pb_uint(&w->part, MAPPING_HAS_INLINE_FRAMES, w->has_inlines[rank]);
	pb_message(&w->msg, PROFILE_MAPPING, &w->part);
}

static void add_all(struct writer *w, size_t n, void (*add)(struct writer *w, uint32_t rank))
{
	size_t i;

	for (i = 0; i < n; i++) {
		add(w, (uint32_t)i);
		text_flush(&w->msg, w->out);
	}
}

static void add_string_table(struct writer *w)
{
	size_t i;

	for (i = 0; i < strtab_count(&w->strings); i++) {
		pb_bytes(&w->msg, PROFILE_STRING_TABLE, strtab_get(&w->strings, (uint32_t)i),
			 strtab_len(&w->strings, (uint32_t)i));
		text_flush(&w->msg, w->out);
	}
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int write_all(struct writer *w, FILE *out, struct err *err)
{
	size_t n = w->pp.mappings.n;
	bool *has = calloc(4 * n + 1, sizeof *has);
	int rc = 0;

	if (!has)
		return err_nomem(err);
	w->has_functions = has;
	w->has_filenames = has + n;
	w->has_lines = has + 2 * n;
	w->has_inlines = has + 3 * n;
	w->nameless = calloc(n + 1, sizeof *w->nameless);
	if (!w->nameless) {
		free(has);
		return err_nomem(err);
	}
	number_nameless(w);
	w->out = w->pp.opt->unpacked ? out : pack_open(out, PACK_GZIP);
	if (w->out) {
		add_head(w);
		rc = add_samples(w, err);
		add_all(w, w->pp.locations.n, add_location); /* finds out what mappings have */
		add_all(w, w->pp.functions.n, add_function);
		add_all(w, n, add_nameless);
		add_all(w, n, add_mapping);
		add_string_table(w);
		if (w->out != out)
			fclose(w->out); /* `out` knows of errors */
	}
	if (!rc && (!w->out || w->msg.failed))
		rc = err_nomem(err);
	free(has);
	free(w->nameless);
	return rc;
}

static int write_pprof(const struct profile *p, const struct output_options *opt,
		       struct event_set *events, FILE *out, struct err *err)
{
	struct writer w = {.pp = {.p = p, .opt = opt, .events = events}};
	int rc = pprof_rank(&w.pp, err);

	w.main_event = event_set_main(events, p);
	if (!rc)
		rc = write_all(&w, out, err);
	pprof_done(&w.pp);
	strtab_done(&w.strings);
	text_done(&w.msg);
	text_done(&w.part);
	text_done(&w.sub);
	text_done(&w.name);
	return rc;
}

const struct output_format format_pprof = {
	.name = "pprof",
	.help = "gzipped profile.proto for go tool pprof, Parca, Pyroscope",
	.suffixes = ".pb.gz .pprof .pb",
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LABELS,
	.binary = true,
	.names_events = true,
	.honours = OUTPUT_PIDS | OUTPUT_TIDS | OUTPUT_CPUS,
	.write = write_pprof,
};

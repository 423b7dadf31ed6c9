/* fmt_otlp.c - a ProfilesData message of OpenTelemetry's profiles signal, for collectors and
 * servers that speak OTLP: what is POSTed to /v1development/profiles has the same fields.
 *
 * Source of truth: opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto
 * 1.11.0, whose status is alpha; names of attributes are those of its semantic conventions, and
 * "unspool.*". Each profile has one type of value, so there are two for each event: its weight and
 * its number of samples; the main event's weight is the first, which viewers show. All refer to one
 * dictionary, whose entries 0 mean "none". */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/otlp.h"
#include "output/output.h"
#include "profile/profile.h"

#include <linux/perf_event.h>

#include "reader/reader.h"
#include "unwind/unwind.h"

/* ---- attributes ----------------------------------------------------------------------------- */

enum { ANY_STRING = 1, ANY_INT = 3 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE, ATTRIBUTE_UNIT };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };

/* Attributes are known by their encoded form: equal ones are one. */
static uint32_t add_attribute(struct otlp *o, const char *key, const char *unit)
{
	uint32_t id;

	o->sub.n = 0;
	pb_uint(&o->sub, ATTRIBUTE_KEY, otlp_string(o, key, strlen(key)));
	pb_message(&o->sub, ATTRIBUTE_VALUE, &o->value);
	pb_uint(&o->sub, ATTRIBUTE_UNIT, otlp_string(o, unit, strlen(unit)));
	id = o->sub.failed ? STRTAB_FAILED : strtab_add(&o->attributes, o->sub.s, o->sub.n);
	o->sub.n = 0;
	o->failed |= id == STRTAB_FAILED;
	return id;
}

static void set_text(struct otlp *o, const char *s, size_t n)
{
	o->name.n = o->value.n = 0;
	text_clean(&o->name, s, n);
	pb_bytes(&o->value, ANY_STRING, o->name.n ? o->name.s : "", o->name.n);
	o->failed |= o->name.failed || o->value.failed;
}

uint32_t otlp_text_attribute(struct otlp *o, const char *key, const char *s)
{
	set_text(o, s, strlen(s));
	return add_attribute(o, key, "");
}

/* A 0 is written, too: without it the value would have no type. */
static void set_number(struct otlp *o, int64_t v)
{
	o->value.n = 0;
	pb_varint(&o->value, ANY_INT << 3 | PB_VARINT);
	pb_varint(&o->value, (uint64_t)v);
}

static uint32_t number_attribute(struct otlp *o, const char *key, int64_t v, const char *unit)
{
	set_number(o, v);
	return add_attribute(o, key, unit);
}

/* The id of a container in the path of its cgroup: 64 hexadecimal digits, as all runtimes have. */
static const char *container_of(const char *path)
{
	enum { DIGITS = 64 };
	size_t n;

	for (; *path; path += n + !n) {
		n = strspn(path, "0123456789abcdef");
		if (n == DIGITS)
			return path;
	}
	return NULL;
}

static void add_container(struct otlp *o, const char *path)
{
	const char *id = container_of(path);

	if (!id)
		return;
	set_text(o, id, 64);
	pb_varint(&o->part, add_attribute(o, "container.id", ""));
}

/* Appends the labels that came with the sample: cgroups, or those of another tool. */
static void add_kept(struct otlp *o, const struct profile_sample *s)
{
	struct profile_label l;
	size_t at = 0;

	while (profile_label(o->pp.p, s, &at, &l)) {
		pb_varint(&o->part, l.text ? otlp_text_attribute(o, l.key, l.text)
					   : number_attribute(o, l.key, l.number, l.unit));
		if (l.text && !strcmp(l.key, "cgroup"))
			add_container(o, l.text);
	}
}

/* The list of a sample's attributes. */
static void add_sample_attributes(struct otlp *o, uint32_t sample)
{
	static const char *const stacks[] = {
		[STACK_STITCHED] = "stitched", [STACK_CUT] = "cut", [STACK_WHOLE] = NULL};
	const struct stack_style *style = &o->pp.opt->style;
	const struct profile_sample *s = &o->pp.p->samples.v[sample];
	const char *stack = stacks[o->pp.stack_label[sample]];

	if (s->labels)
		add_kept(o, s);
	/* Labels of another tool have the task in its own words. */
	if (!s->labels || o->pp.p->info) {
		if (s->comm)
			pb_varint(&o->part,
				  otlp_text_attribute(o, "thread.name",
						      strtab_get(&o->pp.p->strings, s->comm)));
		if (style->with_pid && s->pid != PROFILE_NO_PID)
			pb_varint(&o->part,
				  number_attribute(o, "process.pid", (int32_t)s->pid, ""));
		if (style->with_tid && s->tid != PROFILE_NO_PID)
			pb_varint(&o->part, number_attribute(o, "thread.id", (int32_t)s->tid, ""));
		if (style->with_cpu && s->cpu)
			pb_varint(&o->part,
				  number_attribute(o, "cpu.logical_number", s->cpu - 1, ""));
	}
	if (stack)
		pb_varint(&o->part, otlp_text_attribute(o, "unspool.stack", stack));
	if (pprof_stop(s) != UNWIND_STOP_NONE)
		pb_varint(&o->part,
			  otlp_text_attribute(o, "unspool.stop", unwind_stop_name(s->stop)));
}

/* ---- one profile ---------------------------------------------------------------------------- */

enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ATTRIBUTES = 11
};
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_VALUES = 4 };

static void add_type(struct otlp *o, unsigned field, uint32_t type, uint32_t unit)
{
	pb_uint(&o->part, 1, type);
	pb_uint(&o->part, 2, unit);
	pb_message(&o->msg, field, &o->part);
}

/* The name of an event's weights, or with a suffix that of its number of samples. */
static uint32_t type_name(struct otlp *o, const struct profile_event *e, const char *suffix)
{
	const char *name = strtab_get(&o->pp.p->strings, e->name);

	o->name.n = 0;
	if (profile_event_is_clock(e) && !e->unit && !*suffix)
		text_str(&o->name, "cpu");
	else
		text_clean(&o->name, name, pprof_bare_name(e, name));
	text_str(&o->name, suffix);
	return otlp_string(o, o->name.n ? o->name.s : "", o->name.n);
}

static uint32_t unit_name(struct otlp *o, const struct profile_event *e)
{
	const char *unit = e->unit		       ? strtab_get(&o->pp.p->strings, e->unit)
			   : profile_event_is_clock(e) ? "nanoseconds"
						       : "count";

	return otlp_string(o, unit, strlen(unit));
}

static void add_fixed64(struct text *t, unsigned field, uint64_t v)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(v >> 8 * i);
	pb_varint(t, field << 3 | 1);
	text_add(t, bytes, sizeof bytes);
}

static int64_t value_of(uint64_t v)
{
	return v <= INT64_MAX ? (int64_t)v : INT64_MAX;
}

static void add_samples(struct otlp *o, const struct otlp_cells *cells, bool counts)
{
	for (size_t i = 0; i < cells->n; i++) {
		const struct otlp_cell *c = &cells->v[i];
		const size_t at = o->first_label[c->labels];

		pb_uint(&o->part, SAMPLE_STACK, c->stack);
		if (o->first_label[c->labels + 1] > at)
			pb_bytes(&o->part, SAMPLE_ATTRIBUTES, o->label_lists.s + at,
				 o->first_label[c->labels + 1] - at);
		pb_varint(&o->sub, pprof_value(&o->pp, counts ? c->count : c->period));
		pb_message(&o->part, SAMPLE_VALUES, &o->sub);
		pb_message(&o->msg, PROFILE_SAMPLES, &o->part);
	}
}

static void add_profile(struct otlp *o, uint32_t event, const struct otlp_cells *cells, bool counts)
{
	const struct profile *p = o->pp.p;
	const struct profile_event *e = &p->events.v[event];
	const uint32_t type = type_name(o, e, ""), unit = unit_name(o, e);
	const bool alone = o->pp.events->n == 1;

	if (!counts)
		add_type(o, PROFILE_TYPE, type, unit);
	else
		add_type(o, PROFILE_TYPE,
			 alone ? otlp_string(o, "samples", strlen("samples"))
			       : type_name(o, e, "_sample"),
			 otlp_string(o, "count", strlen("count")));
	add_samples(o, cells, counts);
	if (format_wall_ns(p))
		add_fixed64(&o->msg, PROFILE_TIME, format_wall_ns(p));
	pb_uint(&o->msg, PROFILE_DURATION, p->last_ns - p->first_ns);
	add_type(o, PROFILE_PERIOD_TYPE, type, unit);
	pb_uint(&o->msg, PROFILE_PERIOD, pprof_period(e));
	if (o->pp.opt->lost) {
		pb_varint(&o->part, number_attribute(o, "unspool.lost", value_of(o->pp.opt->lost),
						     "{sample}"));
		pb_message(&o->msg, PROFILE_ATTRIBUTES, &o->part);
	}
	pb_message(&o->scope, 2, &o->msg);
}

static int add_profiles(struct otlp *o, uint32_t event, bool counts)
{
	struct otlp_cells cells = {0};
	const int rc = otlp_cells(o, event, &cells);

	/* Of some events only sums are known. */
	if (!rc && !(counts && o->pp.p->events.v[event].is_sum))
		add_profile(o, event, &cells, counts);
	vec_done(&cells);
	return rc;
}

/* ---- who and where -------------------------------------------------------------------------- */

static void add_fact(struct otlp *o, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	set_text(o, value, strlen(value));
	pb_bytes(&o->sub, KEY_VALUE_KEY, key, strlen(key));
	pb_message(&o->sub, KEY_VALUE_VALUE, &o->value);
	pb_message(&o->part, 1, &o->sub); /* Resource.attributes */
}

/* The names of the semantic conventions for processors. */
static const char *arch_name(const char *arch)
{
	static const char *const names[][2] = {
		{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "x86"}, {"ppc64le", "ppc64"}};

	for (size_t i = 0; arch && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i][0], arch))
			return names[i][1];
	return arch;
}

/* The first word of the recorded command, behind the recorder's "--". */
static const char *program_name(const struct perf_file_info *info)
{
	for (size_t i = 0; i + 1 < info->n_cmdline; i++)
		if (!strcmp(info->cmdline[i], "--"))
			return base_name(info->cmdline[i + 1]);
	return NULL;
}

/* The host name is left out, as profiles on a server need not reveal it. */
static void add_resource(struct otlp *o, struct text *to)
{
	const struct perf_file_info *info = o->pp.p->info;

	if (!info)
		return;
	add_fact(o, "service.name", program_name(info));
	add_fact(o, "os.type", "linux");
	add_fact(o, "os.version", info->os_release);
	add_fact(o, "host.arch", arch_name(info->arch));
	add_fact(o, "host.cpu.model.name", info->cpu_desc);
	pb_message(to, 1, &o->part);
}

static void add_scope(struct otlp *o)
{
	const char *generator = o->pp.opt->generator ? o->pp.opt->generator : "unspool";
	const size_t n = strcspn(generator, " ");

	pb_bytes(&o->part, 1, generator, n);
	if (generator[n])
		pb_bytes(&o->part, 2, generator + n + 1, strlen(generator + n + 1));
	pb_message(&o->scope, 1, &o->part);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int make_profiles(struct otlp *o)
{
	const struct event_set *events = o->pp.events;
	const uint32_t first = event_set_main(events, o->pp.p);
	int rc;

	add_scope(o);
	rc = add_profiles(o, first, false);
	for (size_t i = 0; !rc && i < events->n; i++)
		if (events->ids[i] != first)
			rc = add_profiles(o, events->ids[i], false);
	for (size_t i = 0; !rc && i < events->n; i++)
		rc = add_profiles(o, events->ids[i], true);
	return rc;
}

/* By set of labels: its attributes. */
static int make_labels(struct otlp *o)
{
	o->first_label = calloc(o->pp.labels.n + 1, sizeof *o->first_label);
	if (!o->first_label)
		return -1;
	for (size_t i = 0; i < o->pp.labels.n; i++) {
		add_sample_attributes(o, o->pp.labels.ids[i]);
		text_add(&o->label_lists, o->part.s, o->part.n);
		o->failed |= o->part.failed;
		o->part.n = 0;
		o->first_label[i + 1] = o->label_lists.n;
	}
	return o->label_lists.failed ? -1 : 0;
}

static void begin_message(struct text *t, unsigned field, uint64_t n)
{
	pb_varint(t, field << 3 | PB_LENGTH);
	pb_varint(t, n);
}

static int write_all(struct otlp *o, FILE *out)
{
	struct text head = {0}, scope = {0};
	uint64_t size;

	if (make_labels(o) || otlp_number_stacks(o) || make_profiles(o))
		return -1;
	begin_message(&scope, 2, o->scope.n);
	add_resource(o, &head);
	size = head.n + scope.n + o->scope.n;
	begin_message(&o->msg, 1, size);
	text_flush(&o->msg, out);
	text_flush(&head, out);
	text_flush(&scope, out);
	text_flush(&o->scope, out);
	size = otlp_dictionary(o, NULL);
	begin_message(&o->msg, 2, size);
	text_flush(&o->msg, out);
	otlp_dictionary(o, out);
	o->failed |= head.failed || scope.failed || o->scope.failed || o->msg.failed ||
		     o->sub.failed || o->value.failed;
	text_done(&head);
	text_done(&scope);
	return o->failed ? -1 : 0;
}

static int write_otlp(const struct profile *p, const struct output_options *given,
		      struct event_set *events, FILE *out, struct err *err)
{
	struct output_options opt = *given;
	struct otlp o = {.pp = {.p = p, .opt = &opt, .events = events}};
	int rc;

	opt.style.with_pid = true; /* PROFILE_KEEP_PIDS */
	rc = pprof_rank(&o.pp, err);
	if (!rc && write_all(&o, out))
		rc = err_nomem(err);
	otlp_done(&o);
	return rc;
}

const struct output_format format_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry's profiles (v1development, alpha), protobuf",
	.suffixes = ".otlp",
	.keep = PROFILE_KEEP_IPS | PROFILE_KEEP_LABELS | PROFILE_KEEP_PIDS,
	.binary = true,
	.names_events = true,
	.honours = OUTPUT_TIDS | OUTPUT_CPUS,
	.write = write_otlp,
};

/* fmt_perfetto.c - JSON for the time strip of ui.perfetto.dev and chrome://tracing: calls are
 * slices, other samples are instants with their stacks, and their number over time is a counter.
 *
 * Source: "Trace Event Format" (Google), phases X, i, C and M. Times are microseconds of the
 * recording's clock, with three digits behind the point. */
#include "base/err.h"
#include "output/calls.h"
#include "output/output.h"

enum { BINS = 500 };

struct perfetto {
	const struct profile *p;
	struct calls calls;
	struct text out, words;
	struct hash_table named; /* (pid, tid) and pids that have their names */
	bool has_row;
};

static void begin_row(struct perfetto *f, const char *phase)
{
	text_str(&f->out, f->has_row ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	text_str(&f->out, phase);
	text_char(&f->out, '"');
	f->has_row = true;
}

static void add_us(struct perfetto *f, const char *key, uint64_t ns)
{
	text_str(&f->out, key);
	text_dec(&f->out, ns / 1000, 0);
	text_char(&f->out, '.');
	text_digits(&f->out, ns % 1000, 3);
}

static void add_task(struct perfetto *f, const struct profile_log_entry *e)
{
	text_str(&f->out, ",\"pid\":");
	text_int(&f->out, (int32_t)(e->pid == PROFILE_NO_PID ? e->tid : e->pid), 0);
	text_str(&f->out, ",\"tid\":");
	text_int(&f->out, (int32_t)e->tid, 0);
}

/* Ends what was collected in `words` as a JSON member; nothing if that is empty. */
static void add_words(struct perfetto *f, const char *key)
{
	if (f->words.n) {
		text_str(&f->out, key);
		text_json(&f->out, f->words.s, f->words.n);
	}
	f->words.n = 0;
}

static void add_string(struct perfetto *f, const char *key, uint32_t id)
{
	text_str(&f->out, key);
	text_json_string(&f->out, f->p, id);
}

/* The names of a process and of a thread, once; a thread that is renamed keeps its first one. */
static int name_task(struct perfetto *f, const struct profile_log_entry *e)
{
	static const char *const whats[] = {"thread_name", "process_name"};
	const uint64_t keys[] = {hash_mix(hash_mix(1, e->pid), e->tid), hash_mix(2, e->pid)};

	for (size_t i = 0; i < 2; i++) {
		if (hash_get(&f->named, keys[i]) != HASH_NONE)
			continue;
		if (hash_put(&f->named, keys[i], 1))
			return -1;
		begin_row(f, "M");
		text_str(&f->out, ",\"name\":\"");
		text_str(&f->out, whats[i]);
		text_char(&f->out, '"');
		add_task(f, e);
		add_string(f, ",\"args\":{\"name\":", e->comm);
		text_str(&f->out, "}}");
	}
	return 0;
}

static void add_stack(struct perfetto *f, uint32_t node)
{
	const struct profile *p = f->p;

	for (; node; node = p->nodes.v[node].parent) {
		const uint32_t name = profile_symbol(p, &p->locations.v[p->nodes.v[node].location]);

		text_str(&f->words, f->words.n ? " < " : "");
		if (name)
			text_string(&f->words, p, name);
		else
			text_str(&f->words, "[unknown]");
	}
	add_words(f, ",\"stack\":");
}

static void add_slice(struct perfetto *f, const struct profile_log_entry *e, const struct span *s)
{
	static const char *const ends[] = {[SPAN_RETURNED] = "",
					   [SPAN_LEFT] = "left before",
					   [SPAN_LOST] = "left or suspended before",
					   [SPAN_OPEN] = "not ended"};

	begin_row(f, "X");
	calls_name(&f->calls, &f->words, s);
	add_words(f, ",\"name\":");
	add_string(f, ",\"cat\":", f->p->events.v[e->event].name);
	add_task(f, e);
	add_us(f, ",\"ts\":", s->start_ns);
	add_us(f, ",\"dur\":", s->end_ns - s->start_ns);
	text_str(&f->out, ",\"args\":{\"depth\":");
	text_dec(&f->out, s->depth, 0);
	calls_args(&f->calls, &f->words, s);
	add_words(f, ",\"arguments\":");
	calls_result(&f->calls, &f->words, s);
	add_words(f, ",\"result\":");
	text_str(&f->words, ends[s->end]);
	add_words(f, ",\"end\":");
	add_stack(f, e->node);
	text_str(&f->out, "}}");
}

static void add_instant(struct perfetto *f, const struct profile_log_entry *e)
{
	begin_row(f, "i");
	add_string(f, ",\"name\":", f->p->events.v[e->event].name);
	text_str(&f->out, ",\"s\":\"t\"");
	add_task(f, e);
	add_us(f, ",\"ts\":", e->time_ns);
	text_str(&f->out, ",\"args\":{\"cpu\":");
	text_dec(&f->out, e->cpu, 0);
	calls_fields(&f->calls, &f->words, e);
	add_words(f, ",\"fields\":");
	add_stack(f, e->node);
	text_str(&f->out, "}}");
}

/* How many samples of an event there were in each part of the time. */
static void add_counter(struct perfetto *f, uint32_t event)
{
	const struct profile *p = f->p;
	const uint64_t width = (p->last_ns - p->first_ns) / BINS + 1;
	uint64_t counts[BINS] = {0};

	for (size_t i = 0; i < p->log.n; i++)
		if (p->log.v[i].event == event)
			counts[(p->log.v[i].time_ns - p->first_ns) / width]++;
	for (size_t i = 0; i < BINS; i++) {
		if (i && counts[i] == counts[i - 1])
			continue;
		begin_row(f, "C");
		add_string(f, ",\"name\":", p->events.v[event].name);
		text_str(&f->out, ",\"pid\":0");
		add_us(f, ",\"ts\":", p->first_ns + i * width);
		text_str(&f->out, ",\"args\":{\"samples\":");
		text_dec(&f->out, counts[i], 0);
		text_str(&f->out, "}}");
	}
}

static int add_entry(struct perfetto *f, size_t i)
{
	const struct profile_log_entry *e = &f->p->log.v[i];
	const struct span *s = calls_span_at(&f->calls, i);

	if (f->calls.spans.of_exit.v[i] != SPAN_NONE)
		return 0;
	if (name_task(f, e))
		return -1;
	if (s)
		add_slice(f, e, s);
	else
		add_instant(f, e);
	return 0;
}

static int write_perfetto(const struct profile *p, const struct output_options *opt,
			  struct event_set *events, FILE *out, struct err *err)
{
	struct perfetto f = {.p = p};
	int rc = calls_init(&f.calls, p, err);

	(void)opt;
	text_str(&f.out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	for (size_t i = 0; !rc && i < p->log.n; i++) {
		if (events->has[p->log.v[i].event] && add_entry(&f, i))
			rc = err_nomem(err);
		calls_pass(&f.calls, i);
		if (f.out.n > FLUSH_BYTES)
			text_flush(&f.out, out);
	}
	for (size_t i = 0; !rc && i < events->n; i++)
		if (!spans_has_event(&f.calls.spans, events->ids[i]))
			add_counter(&f, events->ids[i]);
	text_str(&f.out, "\n]}\n");
	if (!rc && (f.out.failed || f.calls.paths.failed || f.words.failed))
		rc = err_nomem(err);
	text_flush(&f.out, out);
	hash_done(&f.named);
	text_done(&f.out);
	text_done(&f.words);
	calls_done(&f.calls);
	return rc;
}

const struct output_format format_perfetto = {
	.name = "perfetto",
	.help = "calls and samples over time, for ui.perfetto.dev",
	.suffixes = ".perfetto .trace.json",
	.needs_samples = true,
	.lists_calls = true,
	.keep = PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE,
	.names_events = true,
	.honours = OUTPUT_ARGS,
	.write = write_perfetto,
};

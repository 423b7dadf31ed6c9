/* firefox_threads.c - what is of single threads in a Firefox profile: samples of the main event,
 * and markers for the samples of other events and for calls; counters of the other events. */
#include "base/strtab.h"
#include "base/vec.h"
#include "output/firefox.h"
#include "profile/profile.h"

#include "base/pair.h"
#include "base/sum.h"

enum { BINS = 500 };

void firefox_add_ms(struct text *t, uint64_t ns)
{
	char digits[8];
	size_t n = 6;

	text_dec(t, ns / 1000000, 0);
	if (ns % 1000000 == 0)
		return;
	snprintf(digits, sizeof digits, "%06u", (unsigned)(ns % 1000000));
	while (digits[n - 1] == '0')
		n--;
	text_char(t, '.');
	text_add(t, digits, n);
}

/* Milliseconds since the first sample. */
static void add_time(struct firefox *f, uint64_t ns)
{
	firefox_add_ms(&f->out, ns > f->p->first_ns ? ns - f->p->first_ns : 0);
}

/* ---- which thread --------------------------------------------------------------------------- */

static bool is_sample(const struct firefox *f, size_t entry)
{
	return f->p->log.v[entry].event == f->main_event;
}

static bool is_marker(const struct firefox *f, size_t entry)
{
	return f->calls.spans.of_exit.v[entry] == SPAN_NONE &&
	       (!is_sample(f, entry) || calls_span_at(&f->calls, entry));
}

static int add_entry(struct firefox *f, size_t i, uint32_t *thread_of)
{
	const struct profile_log_entry *e = &f->p->log.v[i];
	const uint32_t task = pair_intern(&f->tasks, e->pid, e->tid);
	const uint32_t id =
		task == HASH_NONE ? HASH_NONE : pair_intern(&f->thread_of, task, e->comm);
	struct firefox_thread new = {.pid = e->pid, .tid = e->tid, .comm = e->comm}, *t;

	if (id == HASH_NONE || (task == f->names_of_task.n && vec_push(&f->names_of_task, 0)))
		return -1;
	if (id == f->threads.n) {
		new.nth = f->names_of_task.v[task]++;
		if (vec_push(&f->threads, new))
			return -1;
	}
	t = &f->threads.v[id];
	if (is_sample(f, i)) {
		t->weight = add_saturated(t->weight, format_weight(f->opt, 1, e->period));
		t->n_samples++;
	}
	t->n_markers += is_marker(f, i);
	*thread_of = id;
	return 0;
}

/* Puts a call's arguments into words. Paths of file descriptors are known only while the log is
 * read in its order. */
static int word_arguments(struct firefox *f, size_t entry)
{
	const struct span *s = calls_span_at(&f->calls, entry);
	uint32_t id;

	if (!s || !f->events->has[f->p->log.v[entry].event])
		return 0;
	f->words.n = 0;
	calls_args(&f->calls, &f->words, s);
	if (f->words.failed)
		return -1;
	id = strtab_add(&f->texts, f->words.n ? f->words.s : "", f->words.n);
	f->words.n = 0;
	if (id == STRTAB_FAILED)
		return -1;
	f->arguments[s - f->calls.spans.v.v] = id;
	return 0;
}

static int word_calls(struct firefox *f)
{
	const struct spans *spans = &f->calls.spans;

	f->arguments = calloc(spans->v.n + 1, sizeof *f->arguments);
	if (!f->arguments)
		return -1;
	for (size_t i = 0; spans->v.n && i < f->p->log.n; i++) {
		if (word_arguments(f, i))
			return -1;
		calls_pass(&f->calls, i);
	}
	return 0;
}

/* Heaviest first. */
static int compare_threads(const void *pa, const void *pb, void *arg)
{
	const struct profile *p = arg;
	const struct firefox_thread *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return strcmp(strtab_get(&p->strings, a->comm), strtab_get(&p->strings, b->comm));
}

/* order[]: of each thread its samples, then its markers; an entry can be both. */
static int fill_order(struct firefox *f, const uint32_t *thread_of)
{
	const size_t n = f->p->log.n;
	VEC(uint32_t) at = {0};
	uint32_t sum = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < f->threads.n; i++) {
		struct firefox_thread *t = &f->threads.v[i];

		t->first = sum;
		rc = vec_push(&at, sum) || vec_push(&at, sum + t->n_samples);
		sum += t->n_samples + t->n_markers;
	}
	f->order = malloc((sum + 1ull) * sizeof *f->order);
	if (rc || !f->order) {
		vec_done(&at);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (!f->events->has[f->p->log.v[i].event])
			continue;
		if (is_sample(f, i))
			f->order[at.v[2 * thread_of[i]]++] = (uint32_t)i;
		if (is_marker(f, i))
			f->order[at.v[2 * thread_of[i] + 1]++] = (uint32_t)i;
	}
	vec_done(&at);
	return 0;
}

static bool is_main_thread(const struct firefox_thread *t)
{
	return t->pid == t->tid && !t->nth;
}

/* The thread that stands for a process is its first, or else the heaviest. */
static int find_processes(struct firefox *f)
{
	for (uint32_t i = 0; i < f->threads.n; i++)
		if ((is_main_thread(&f->threads.v[i]) ||
		     hash_get(&f->process_of, f->threads.v[i].pid) == HASH_NONE) &&
		    hash_put(&f->process_of, f->threads.v[i].pid, i))
			return -1;
	return 0;
}

int firefox_sort(struct firefox *f)
{
	const size_t n = f->p->log.n;
	uint32_t *thread_of = malloc(n * sizeof *thread_of + 1);
	int rc = !thread_of || n >= UINT32_MAX / 2 ? -1 : 0;

	for (size_t i = 0; !rc && i < n; i++)
		if (f->events->has[f->p->log.v[i].event])
			rc = add_entry(f, i, &thread_of[i]);
	if (!rc)
		rc = word_calls(f);
	if (!rc)
		rc = fill_order(f, thread_of);
	if (!rc)
		qsort_r(f->threads.v, f->threads.n, sizeof *f->threads.v, compare_threads,
			(void *)(uintptr_t)f->p);
	free(thread_of);
	return rc ? rc : find_processes(f);
}

/* ---- samples -------------------------------------------------------------------------------- */

static const struct profile_log_entry *entry_of(const struct firefox *f, uint32_t at)
{
	return &f->p->log.v[f->order[at]];
}

static void add_stack(struct firefox *f, const struct profile_log_entry *e)
{
	if (f->stack_of[e->node])
		text_dec(&f->out, f->stack_of[e->node] - 1, 0);
	else
		text_str(&f->out, "null");
}

static bool is_time(const struct firefox *f)
{
	return profile_event_is_clock(&f->p->events.v[f->main_event]);
}

static const char *weight_type(const struct firefox *f)
{
	if (f->opt->count_samples)
		return "samples";
	if (is_time(f))
		return "tracing-ms";
	return profile_event_is_bytes(f->p, &f->p->events.v[f->main_event]) ? "bytes" : "samples";
}

enum column { STACK, TIME, WEIGHT, CPU_DELTA };

static void add_sample_column(struct firefox *f, const struct firefox_thread *t, const char *name,
			      enum column column, FILE *out)
{
	text_str(&f->out, name);
	for (uint32_t i = t->first; i < t->first + t->n_samples; i++) {
		const struct profile_log_entry *e = entry_of(f, i);

		firefox_comma(&f->out, i - t->first);
		if (column == STACK)
			add_stack(f, e);
		else if (column == TIME)
			add_time(f, e->time_ns);
		else if (column == WEIGHT && is_time(f) && !f->opt->count_samples)
			firefox_add_ms(&f->out, format_weight(f->opt, 1, e->period));
		else
			text_dec(&f->out, format_weight(f->opt, 1, e->period), 0);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_str(&f->out, "],\n");
}

static void add_samples(struct firefox *f, const struct firefox_thread *t, FILE *out)
{
	text_str(&f->out, "\"samples\":{");
	add_sample_column(f, t, "\"stack\":[", STACK, out);
	add_sample_column(f, t, "\"time\":[", TIME, out);
	add_sample_column(f, t, "\"weight\":[", WEIGHT, out);
	/* From it the viewer knows when the thread was idle. */
	if (is_time(f) && !f->opt->count_samples)
		add_sample_column(f, t, "\"threadCPUDelta\":[", CPU_DELTA, out);
	text_str(&f->out, "\"weightType\":\"");
	text_str(&f->out, weight_type(f));
	text_str(&f->out, "\",\"length\":");
	text_dec(&f->out, t->n_samples, 0);
	text_char(&f->out, '}');
}

/* ---- markers -------------------------------------------------------------------------------- */

static const struct span *span_of(const struct firefox *f, uint32_t at)
{
	return calls_span_at(&f->calls, f->order[at]);
}

/* Ends what was collected in `words` as a member; nothing if that is empty. */
static void add_words(struct firefox *f, const char *key)
{
	if (f->words.n) {
		text_str(&f->out, key);
		text_json(&f->out, f->words.s, f->words.n);
	}
	f->words.n = 0;
}

static void add_marker_data(struct firefox *f, uint32_t at)
{
	const struct profile_log_entry *e = entry_of(f, at);
	const struct profile_event *event = &f->p->events.v[e->event];
	const struct span *s = span_of(f, at);
	static const char *const ends[] = {[SPAN_RETURNED] = "",
					   [SPAN_LEFT] = "left before",
					   [SPAN_LOST] = "left or suspended before",
					   [SPAN_OPEN] = "not ended"};

	text_str(&f->out, s ? "{\"type\":\"call\"" : "{\"type\":\"event\"");
	if (s) {
		const uint32_t id = f->arguments[s - f->calls.spans.v.v];

		text_add(&f->words, strtab_get(&f->texts, id), strtab_len(&f->texts, id));
		add_words(f, ",\"arguments\":");
		calls_result(&f->calls, &f->words, s);
		add_words(f, ",\"result\":");
		text_str(&f->words, ends[s->end]);
		add_words(f, ",\"end\":");
	} else {
		calls_fields(&f->calls, &f->words, e);
		add_words(f, ",\"fields\":");
		if (!event->no_period && e->period != 1) {
			text_str(&f->out, ",\"weight\":");
			text_dec(&f->out, e->period, 0);
		}
	}
	text_str(&f->out, ",\"cpu\":");
	text_dec(&f->out, e->cpu, 0);
	if (f->stack_of[e->node]) {
		text_str(&f->out, ",\"cause\":{\"time\":");
		add_time(f, e->time_ns);
		text_str(&f->out, ",\"stack\":");
		add_stack(f, e);
		text_char(&f->out, '}');
	}
	text_char(&f->out, '}');
}

static void add_marker_name(struct firefox *f, uint32_t at)
{
	const struct span *s = span_of(f, at);

	if (!s) {
		text_dec(&f->out,
			 firefox_our_string(f, f->p->events.v[entry_of(f, at)->event].name), 0);
		return;
	}
	calls_name(&f->calls, &f->words, s);
	text_dec(&f->out, firefox_string(f, f->words.n ? f->words.s : "", f->words.n), 0);
	f->words.n = 0;
}

static void add_marker_start(struct firefox *f, uint32_t at)
{
	add_time(f, span_of(f, at) ? span_of(f, at)->start_ns : entry_of(f, at)->time_ns);
}

static void add_marker_end(struct firefox *f, uint32_t at)
{
	if (span_of(f, at))
		add_time(f, span_of(f, at)->end_ns);
	else
		text_str(&f->out, "null");
}

/* An instant, or an interval. */
static void add_marker_phase(struct firefox *f, uint32_t at)
{
	text_char(&f->out, span_of(f, at) ? '1' : '0');
}

static void add_marker_category(struct firefox *f, uint32_t at)
{
	(void)at;
	text_dec(&f->out, FIREFOX_OTHER, 0);
}

static void add_markers(struct firefox *f, const struct firefox_thread *t, FILE *out)
{
	static const struct {
		const char *name;
		void (*add)(struct firefox *f, uint32_t at);
	} columns[] = {
		{"data", add_marker_data},	 {"name", add_marker_name},
		{"startTime", add_marker_start}, {"endTime", add_marker_end},
		{"phase", add_marker_phase},	 {"category", add_marker_category},
	};
	const uint32_t first = t->first + t->n_samples;

	text_str(&f->out, ",\n\"markers\":{");
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		text_char(&f->out, '"');
		text_str(&f->out, columns[c].name);
		text_str(&f->out, "\":[");
		for (uint32_t i = 0; i < t->n_markers; i++) {
			firefox_comma(&f->out, i);
			columns[c].add(f, first + i);
			if (f->out.n > FLUSH_BYTES)
				text_flush(&f->out, out);
		}
		text_str(&f->out, "],\n");
	}
	text_str(&f->out, "\"length\":");
	text_dec(&f->out, t->n_markers, 0);
	text_char(&f->out, '}');
}

/* ---- threads -------------------------------------------------------------------------------- */

static void add_pid(struct firefox *f, uint32_t pid)
{
	text_str(&f->out, ",\"pid\":\"");
	if (pid == PROFILE_NO_PID)
		text_char(&f->out, '?');
	else
		text_int(&f->out, (int32_t)pid, 0);
	text_char(&f->out, '"');
}

static void add_tid(struct firefox *f, const struct firefox_thread *t)
{
	text_str(&f->out, t->nth ? ",\"tid\":\"" : ",\"tid\":");
	text_int(&f->out, t->tid == PROFILE_NO_PID ? -1 : (int32_t)t->tid, 0);
	if (t->nth) {
		text_char(&f->out, '.');
		text_dec(&f->out, t->nth, 0);
		text_char(&f->out, '"');
	}
}

static void add_comm(struct firefox *f, uint32_t comm)
{
	if (comm)
		text_json_string(&f->out, f->p, comm);
	else
		text_str(&f->out, "\"[unknown]\"");
}

static void add_thread(struct firefox *f, const struct firefox_thread *t, FILE *out)
{
	text_str(&f->out, "{\"processType\":\"default\",\"processStartupTime\":0,"
			  "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
			  "\"pausedRanges\":[],\"showMarkersInTimeline\":true,\"name\":");
	add_comm(f, t->comm);
	text_str(&f->out, ",\"isMainThread\":");
	text_str(&f->out, is_main_thread(t) ? "true" : "false");
	text_str(&f->out, ",\"processName\":");
	add_comm(f, f->threads.v[hash_get(&f->process_of, t->pid)].comm);
	add_pid(f, t->pid);
	add_tid(f, t);
	text_str(&f->out, ",\n");
	add_samples(f, t, out);
	add_markers(f, t, out);
	text_char(&f->out, '}');
}

void firefox_write_threads(struct firefox *f, FILE *out)
{
	text_str(&f->out, "\"threads\":[");
	for (size_t i = 0; i < f->threads.n; i++) {
		text_str(&f->out, i ? ",\n" : "\n");
		add_thread(f, &f->threads.v[i], out);
	}
	text_str(&f->out, "],\n");
}

/* ---- counters ------------------------------------------------------------------------------- */

struct counter {
	uint32_t event, pid, first, n; /* in the entries sorted by counter */
};

struct counters {
	struct hash_table ids;
	VEC(struct counter) v;
	VEC(uint32_t) entries, keys; /* keys: by log entry */
};

/* Events that are not calls. */
static bool is_counted(const struct firefox *f, uint32_t event)
{
	return event != f->main_event && f->events->has[event] &&
	       !spans_has_event(&f->calls.spans, event);
}

static int count_entries(struct firefox *f, struct counters *c)
{
	for (size_t i = 0; i < f->p->log.n; i++) {
		const struct profile_log_entry *e = &f->p->log.v[i];
		uint32_t id = 0;

		if (is_counted(f, e->event)) {
			id = pair_intern(&c->ids, e->event, e->pid);
			if (id == HASH_NONE ||
			    (id == c->v.n && vec_push(&c->v, ((struct counter){.event = e->event,
									       .pid = e->pid}))) ||
			    vec_push(&c->entries, (uint32_t)i))
				return -1;
			c->v.v[id].n++;
		}
		if (vec_push(&c->keys, id))
			return -1;
	}
	for (size_t i = 1; i < c->v.n; i++)
		c->v.v[i].first = c->v.v[i - 1].first + c->v.v[i - 1].n;
	return order_by_key(c->entries.v, c->entries.n, c->keys.v, c->v.n + 1, NULL);
}

static void add_bins(struct firefox *f, const struct counters *all, const struct counter *c)
{
	const struct profile *p = f->p;
	const uint64_t width = (p->last_ns - p->first_ns) / BINS + 1;
	uint64_t sums[BINS + 2] = {0}, *bins = sums + 1;
	size_t n = 0, i;

	for (i = c->first; i < c->first + c->n; i++) {
		const struct profile_log_entry *e = &p->log.v[all->entries.v[i]];
		uint64_t *bin = &bins[e->time_ns < p->first_ns || e->time_ns > p->last_ns
					      ? 0
					      : (e->time_ns - p->first_ns) / width];

		*bin = add_saturated(*bin, format_weight(f->opt, 1, e->period));
	}
	/* Nothing is said about the middle of an empty time. */
	text_str(&f->out, "{\"time\":[");
	for (i = 0; i < BINS; i++)
		if (bins[i] || bins[(ptrdiff_t)i - 1] || bins[i + 1]) {
			firefox_comma(&f->out, n++);
			firefox_add_ms(&f->out, i * width);
		}
	text_str(&f->out, "],\"count\":[");
	for (n = 0, i = 0; i < BINS; i++)
		if (bins[i] || bins[(ptrdiff_t)i - 1] || bins[i + 1]) {
			firefox_comma(&f->out, n++);
			text_dec(&f->out, bins[i], 0);
		}
	text_str(&f->out, "],\"length\":");
	text_dec(&f->out, n, 0);
	text_char(&f->out, '}');
}

static void add_counter(struct firefox *f, const struct counters *all, const struct counter *c)
{
	const uint32_t name = f->p->events.v[c->event].name;

	text_str(&f->out, "{\"name\":");
	text_json_string(&f->out, f->p, name);
	text_str(&f->out, ",\"category\":\"event\",\"description\":\"weight of the samples\"");
	add_pid(f, c->pid);
	text_str(&f->out, ",\"mainThreadIndex\":");
	text_dec(&f->out, hash_get(&f->process_of, c->pid), 0);
	text_str(&f->out, ",\"samples\":");
	add_bins(f, all, c);
	text_str(&f->out, ",\"display\":{\"graphType\":\"line-rate\",\"unit\":\"\","
			  "\"color\":\"blue\",\"markerSchemaLocation\":null,\"sortWeight\":10,"
			  "\"label\":");
	text_json_string(&f->out, f->p, name);
	text_str(&f->out, ",\"tooltipRows\":[{\"type\":\"value\",\"source\":\"count\",\"format\":"
			  "{\"unit\":\"number\"},\"label\":\"weight\"}]}}");
}

int firefox_write_counters(struct firefox *f, FILE *out)
{
	struct counters c = {0};
	const int rc = count_entries(f, &c);

	text_str(&f->out, "\"counters\":[");
	for (size_t i = 0; !rc && i < c.v.n; i++) {
		text_str(&f->out, i ? ",\n" : "\n");
		add_counter(f, &c, &c.v.v[i]);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_str(&f->out, "],\n");
	hash_done(&c.ids);
	vec_done(&c.v);
	vec_done(&c.entries);
	vec_done(&c.keys);
	return rc;
}

/* fmt_speedscope.c - one speedscope profile per thread, samples in time order (www.speedscope.app),
 * and where there are several threads one of all, below their commands.
 *
 * Source of truth: speedscope's src/lib/file-format-spec.ts. Stacks are root first; a frame is a
 * function, numbered in the order of first use. Time in which a thread was not sampled is an empty
 * stack: speedscope draws nothing there, and leaves it out of its shares. */
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"

#include "base/pair.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

struct track {
	uint32_t event, comm, pid, tid;
	uint64_t weight;
	uint32_t first, n; /* in order[] */
	bool is_all;	   /* of all threads */
};

struct speedscope {
	const struct profile *p;
	const struct output_options *opt;
	const struct event_set *events;
	/* Ids of possible frames. Below n_symbols: a function, or the unknown function of a mapping
	 * (functions.n + mapping); n_symbols more: the same with the mark of stitched frames; twice
	 * n_symbols plus a string id: a command. */
	uint32_t n_symbols;
	struct tree_symbols symbols;
	uint32_t *frame_of;   /* by such symbol: frame + 1; 0: not used yet */
	VEC(uint32_t) frames; /* the other way round */
	VEC(struct track) tracks;
	/* (comm of an event, task) -> track, (event, comm), (pid, tid) -> task */
	struct hash_table track_of, comms, tasks;
	uint32_t *entry_track; /* by log entry */
	uint32_t *order;       /* the log entries of the events by track, then again by event */
	uint64_t start_ns;     /* when the first sample of the tracks begins */
	VEC(uint32_t) path;
	struct text out;
};

static int add_symbols(struct speedscope *s)
{
	const struct profile *p = s->p;
	uint32_t unknown, function, marked;
	size_t i, k, n;

	for (i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];
		const struct profile_line *lines = profile_lines(p, l, s->opt->style.no_inline, &n);

		marked = l->how == FRAME_STITCHED && s->opt->style.mark_stitched ? s->n_symbols : 0;
		unknown = (uint32_t)p->functions.n + l->mapping;
		if (vec_push(&s->symbols.first, (uint32_t)s->symbols.ids.n) ||
		    (!n && vec_push(&s->symbols.ids, marked + unknown)))
			return -1;
		for (k = n; k--;) {
			function = lines[k].function;
			if (!p->functions.v[function].name)
				function = unknown;
			if (vec_push(&s->symbols.ids, marked + function))
				return -1;
		}
	}
	return vec_push(&s->symbols.first, (uint32_t)s->symbols.ids.n);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* A sample of a clock stands for the time before it, as do waits of which none was sampled. */
static uint64_t entry_start(const struct profile_log_entry *e)
{
	if (e->wait_ns)
		return e->time_ns;
	return e->time_ns > e->period ? e->time_ns - e->period : 0;
}

static int add_entry(struct speedscope *s, size_t i, size_t *n_entries)
{
	const struct profile_log_entry *e = &s->p->log.v[i];
	uint32_t task = pair_intern(&s->tasks, e->pid, e->tid), comm, track;
	struct track new = {.event = e->event, .comm = e->comm, .pid = e->pid, .tid = e->tid}, *t;

	comm = pair_intern(&s->comms, e->event, e->comm);
	track = task == HASH_NONE || comm == HASH_NONE ? HASH_NONE
						       : pair_intern(&s->track_of, comm, task);
	if (track == HASH_NONE || (track == s->tracks.n && vec_push(&s->tracks, new)))
		return -1;
	t = &s->tracks.v[track];
	t->weight = add_saturated(t->weight, format_weight(s->opt, 1, e->period));
	t->n++;
	if (profile_event_is_clock(&s->p->events.v[e->event]) && entry_start(e) < s->start_ns)
		s->start_ns = entry_start(e);
	s->entry_track[i] = track;
	s->order[(*n_entries)++] = (uint32_t)i;
	return 0;
}

/* The track of all threads first, then the heaviest. */
static int compare_tracks(const void *pa, const void *pb, void *arg)
{
	const struct profile *p = ((const struct speedscope *)arg)->p;
	const struct track *a = pa, *b = pb;

	if (a->is_all != b->is_all)
		return a->is_all ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return strcmp(strtab_get(&p->strings, a->comm), strtab_get(&p->strings, b->comm));
}

/* Adds a track with all threads of an event. */
static int add_sum(struct speedscope *s, uint32_t event, uint32_t *n_entries)
{
	struct track all = {.event = event, .first = *n_entries, .is_all = true};
	size_t i, n_threads = 0;

	for (i = 0; i < s->tracks.n; i++)
		n_threads += !s->tracks.v[i].is_all && s->tracks.v[i].event == event;
	for (i = 0; n_threads > 1 && i < s->p->log.n; i++)
		if (s->p->log.v[i].event == event) {
			all.weight = add_saturated(all.weight,
						   format_weight(s->opt, 1, s->p->log.v[i].period));
			s->order[(*n_entries)++] = (uint32_t)i;
			all.n++;
		}
	return all.n ? vec_push(&s->tracks, all) : 0;
}

static int add_sums(struct speedscope *s, uint32_t n_entries)
{
	size_t i;

	for (i = 0; i < s->events->n; i++)
		if (add_sum(s, s->events->ids[i], &n_entries))
			return -1;
	return 0;
}

/* The track shown first: a thread with at least half of the weight, else that of all threads. */
static size_t first_shown(const struct speedscope *s)
{
	const struct track *all = s->tracks.v, *thread = all;

	while (thread < all + s->tracks.n && thread->is_all)
		thread++;
	if (thread == all + s->tracks.n)
		return 0;
	return thread->event == all->event && thread->weight >= all->weight / 2
		       ? (size_t)(thread - all)
		       : 0;
}

static int add_tracks(struct speedscope *s)
{
	size_t i, n = s->p->log.n, n_entries = 0;
	uint32_t first = 0;

	if (n >= UINT32_MAX / 2)
		return -1;
	s->entry_track = malloc(n * sizeof *s->entry_track + 1);
	s->order = malloc(2 * n * sizeof *s->order + 1);
	if (!s->entry_track || !s->order)
		return -1;
	for (i = 0; i < n; i++)
		if (s->events->has[s->p->log.v[i].event] && add_entry(s, i, &n_entries))
			return -1;
	if (order_by_key(s->order, n_entries, s->entry_track, s->tracks.n, NULL))
		return -1;
	for (i = 0; i < s->tracks.n; i++) {
		s->tracks.v[i].first = first;
		first += s->tracks.v[i].n;
	}
	if (add_sums(s, (uint32_t)n_entries))
		return -1;
	qsort_r(s->tracks.v, s->tracks.n, sizeof *s->tracks.v, compare_tracks, s);
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Writes the number of the frame; a new frame gets the next number. */
static int add_frame(struct speedscope *s, uint32_t symbol, char separator)
{
	uint32_t *frame = &s->frame_of[symbol];

	if (!*frame) {
		if (vec_push(&s->frames, symbol))
			return -1;
		*frame = (uint32_t)s->frames.n;
	}
	text_char(&s->out, separator);
	text_dec(&s->out, *frame - 1, 0);
	return 0;
}

/* root: a symbol above the stack, or TREE_NO_ROOT. */
static int add_stack(struct speedscope *s, uint32_t root, uint32_t node)
{
	const struct profile_node *nodes = s->p->nodes.v;
	char separator = '[';
	uint32_t i, location;

	s->path.n = 0;
	if (root != TREE_NO_ROOT) {
		if (add_frame(s, root, separator))
			return -1;
		separator = ',';
	}
	for (; node; node = nodes[node].parent)
		if (vec_push(&s->path, nodes[node].location))
			return -1;
	while (s->path.n) {
		location = s->path.v[--s->path.n];
		for (i = s->symbols.first.v[location]; i < s->symbols.first.v[location + 1]; i++) {
			if (add_frame(s, s->symbols.ids.v[i], separator))
				return -1;
			separator = ',';
		}
	}
	text_str(&s->out, separator == '[' ? "[]" : "]");
	return 0;
}

/* "comm PID/TID" or "all threads"; of several events "cycles: comm PID/TID". */
static void write_track_name(struct speedscope *s, const struct track *t)
{
	const struct strtab *strings = &s->p->strings;
	uint32_t event = s->p->events.v[t->event].name;
	struct text name = {0};

	if (s->events->n > 1) {
		text_add(&name, strtab_get(strings, event), strtab_len(strings, event));
		text_str(&name, ": ");
	}
	if (t->is_all) {
		text_str(&name, "all threads");
	} else {
		text_add(&name, strtab_get(strings, t->comm), strtab_len(strings, t->comm));
		text_char(&name, ' ');
		if (t->pid != PROFILE_NO_PID) {
			text_int(&name, (int32_t)t->pid, 0);
			text_char(&name, '/');
		}
		text_int(&name, t->tid == PROFILE_NO_PID ? -1 : (int32_t)t->tid, 0);
	}
	text_json(&s->out, name.s, name.n);
	s->out.failed |= name.failed;
	text_done(&name);
}

/* Are the weights of the track's samples time? */
static bool is_time(const struct speedscope *s, const struct track *t)
{
	return profile_event_is_clock(&s->p->events.v[t->event]) && !s->opt->count_samples;
}

/* In a track: the time, and how much of what is left has no samples. */
struct reached {
	uint64_t at, room;
};

/* The time without samples before this one, if it is at least as long as a sample stands for. A
 * shorter gap would split what ran continuously; it is added to the next gap. A wait that stands
 * for later ones is as long as all of them, so gaps take no more than these leave. */
static uint64_t gap_before(const struct profile_log_entry *e, struct reached *r)
{
	uint64_t begin = entry_start(e), gap = 0;

	if (begin > r->at && (e->is_wait || begin - r->at >= e->period))
		gap = begin - r->at < r->room ? begin - r->at : r->room;
	r->room -= gap;
	r->at = add_saturated(r->at, add_saturated(gap, e->period));
	return gap;
}

static const struct profile_log_entry *entry_of(const struct speedscope *s, uint32_t i)
{
	return &s->p->log.v[s->order[i]];
}

/* Threads run concurrently, so the track of all threads has no gaps. */
static bool has_gaps(const struct speedscope *s, const struct track *t)
{
	return !t->is_all && is_time(s, t);
}

static struct reached begin_track(const struct speedscope *s, const struct track *t)
{
	struct reached r = {.at = UINT64_MAX, .room = 0};
	uint64_t end = 0, sum = 0;
	bool has_waits = false;

	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		const struct profile_log_entry *e = entry_of(s, i);
		const uint64_t its = add_saturated(e->time_ns, e->wait_ns);

		r.at = entry_start(e) < r.at ? entry_start(e) : r.at;
		end = its > end ? its : end;
		sum = add_saturated(sum, e->period);
		has_waits |= e->is_wait;
	}
	r.room = !has_waits ? UINT64_MAX : end - r.at > sum ? end - r.at - sum : 0;
	return r;
}

/* From the track's first sample to its last, including gaps. */
static uint64_t duration_of(const struct speedscope *s, const struct track *t)
{
	struct reached r = begin_track(s, t);
	uint64_t sum = t->weight;
	uint32_t i;

	for (i = t->first; has_gaps(s, t) && i < t->first + t->n; i++)
		sum = add_saturated(sum, gap_before(entry_of(s, i), &r));
	return sum;
}

static void add_track_head(struct speedscope *s, const struct track *t)
{
	uint64_t duration = duration_of(s, t), start = 0;

	if (has_gaps(s, t))
		start = begin_track(s, t).at - s->start_ns;
	if (start > UINT64_MAX - duration) /* times that are none */
		start = 0;
	text_str(&s->out, "{\"type\":\"sampled\",\"name\":");
	write_track_name(s, t);
	text_str(&s->out, ",\"unit\":");
	text_str(&s->out, is_time(s, t) ? "\"nanoseconds\"" : "\"none\"");
	text_str(&s->out, ",\"startValue\":");
	text_dec(&s->out, start, 0);
	text_str(&s->out, ",\"endValue\":");
	text_dec(&s->out, start + duration, 0);
}

/* Writes the stacks of a track, or their weights. A gap is an empty stack with its length as
 * weight. */
static int write_items(struct speedscope *s, const struct track *t, bool weights, FILE *out)
{
	struct reached r = begin_track(s, t);
	uint64_t gap;
	uint32_t i;

	for (i = t->first; i < t->first + t->n; i++) {
		const struct profile_log_entry *e = entry_of(s, i);

		text_str(&s->out, i > t->first ? "," : "");
		gap = has_gaps(s, t) ? gap_before(e, &r) : 0;
		if (gap && weights)
			text_dec(&s->out, gap, 0);
		if (gap)
			text_str(&s->out, weights ? "," : "[],");
		if (weights)
			text_dec(&s->out, format_weight(s->opt, 1, e->period), 0);
		else if (add_stack(s, t->is_all ? 2 * s->n_symbols + e->comm : TREE_NO_ROOT,
				   e->node))
			return -1;
		if (s->out.n > FLUSH_BYTES)
			text_flush(&s->out, out);
	}
	return 0;
}

static int write_track(struct speedscope *s, const struct track *t, FILE *out)
{
	add_track_head(s, t);
	text_str(&s->out, ",\n\"samples\":[");
	if (write_items(s, t, false, out))
		return -1;
	text_str(&s->out, "],\n\"weights\":[");
	if (write_items(s, t, true, out))
		return -1;
	text_str(&s->out, "]}");
	return 0;
}

static void write_name(struct speedscope *s, uint32_t symbol, bool stitched)
{
	const struct profile *p = s->p;
	struct text name = {0};

	if (symbol >= p->functions.n) {
		text_char(&name, '[');
		text_str(&name, profile_mapping_short_name(p, symbol - (uint32_t)p->functions.n));
		text_char(&name, ']');
	} else {
		uint32_t id = p->functions.v[symbol].name;

		text_add(&name, strtab_get(&p->strings, id), strtab_len(&p->strings, id));
	}
	if (stitched)
		text_str(&name, FOLD_STITCHED);
	text_json(&s->out, name.s, name.n);
	s->out.failed |= name.failed;
	text_done(&name);
}

static void write_command(struct speedscope *s, uint32_t comm)
{
	if (comm)
		text_json_string(&s->out, s->p, comm);
	else
		text_str(&s->out, "\"[unknown]\"");
	text_char(&s->out, '}');
}

static void write_frame(struct speedscope *s, uint32_t symbol)
{
	const struct profile *p = s->p;
	bool stitched = symbol >= s->n_symbols;
	const struct profile_function *f;

	text_str(&s->out, "{\"name\":");
	if (symbol >= 2 * s->n_symbols) {
		write_command(s, symbol - 2 * s->n_symbols);
		return;
	}
	symbol -= stitched ? s->n_symbols : 0;
	f = p->functions.v + symbol;
	write_name(s, symbol, stitched);
	if (symbol < p->functions.n) {
		if (f->file) {
			text_str(&s->out, ",\"file\":");
			text_json_string(&s->out, p, f->file);
		}
		if (f->start_line) {
			text_str(&s->out, ",\"line\":");
			text_dec(&s->out, f->start_line, 0);
		}
	}
	text_char(&s->out, '}');
}

/* "cpu-clock:u", and the share of samples with callers from another sample. */
static void write_title(struct speedscope *s)
{
	const struct strtab *strings = &s->p->strings;
	double share = format_stitched_share(s->p, s->opt, s->events->has);
	struct text title = {0};
	char buf[64];
	size_t i;

	for (i = 0; i < s->events->n; i++) {
		uint32_t event = s->p->events.v[s->events->ids[i]].name;

		text_str(&title, i ? ", " : "");
		text_add(&title, strtab_get(strings, event), strtab_len(strings, event));
	}
	if (share > 0)
		text_add(&title, buf,
			 (size_t)snprintf(buf, sizeof buf, ", %.2f %% with stitched callers",
					  100 * share));
	text_json(&s->out, title.s, title.n);
	s->out.failed |= title.failed;
	text_done(&title);
}

static int write_all(struct speedscope *s, FILE *out)
{
	size_t i;

	text_str(&s->out,
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	write_title(s);
	text_str(&s->out, ",\"activeProfileIndex\":");
	text_dec(&s->out, first_shown(s), 0);
	text_str(&s->out, ",\"exporter\":");
	text_json(&s->out, s->opt->generator ? s->opt->generator : "unspool",
		  strlen(s->opt->generator ? s->opt->generator : "unspool"));
	text_str(&s->out, ",\n\"profiles\":[");
	for (i = 0; i < s->tracks.n; i++) {
		text_str(&s->out, i ? ",\n" : "\n");
		if (write_track(s, &s->tracks.v[i], out))
			return -1;
	}
	text_str(&s->out, "],\n\"shared\":{\"frames\":[");
	for (i = 0; i < s->frames.n; i++) {
		text_str(&s->out, i ? ",\n" : "\n");
		write_frame(s, s->frames.v[i]);
	}
	text_str(&s->out, "]}}\n");
	text_flush(&s->out, out);
	return s->out.failed ? -1 : 0;
}

static int write_speedscope(const struct profile *p, const struct output_options *opt,
			    struct event_set *events, FILE *out, struct err *err)
{
	struct speedscope s = {.p = p, .opt = opt, .events = events, .start_ns = UINT64_MAX};
	int rc = 0;

	s.n_symbols = (uint32_t)(p->functions.n + p->mappings.n);
	s.frame_of =
		calloc(2 * (size_t)s.n_symbols + strtab_count(&p->strings), sizeof *s.frame_of);
	if (!s.frame_of || add_symbols(&s) || add_tracks(&s) || write_all(&s, out))
		rc = err_nomem(err);
	tree_symbols_done(&s.symbols);
	free(s.frame_of);
	vec_done(&s.frames);
	vec_done(&s.tracks);
	hash_done(&s.track_of);
	hash_done(&s.comms);
	hash_done(&s.tasks);
	free(s.entry_track);
	free(s.order);
	vec_done(&s.path);
	text_done(&s.out);
	return rc;
}

const struct output_format format_speedscope = {
	.name = "speedscope",
	.help = "JSON for www.speedscope.app: a profile per thread and one of all",
	.suffixes = ".speedscope.json",
	.takes_sums = true,
	.keep = PROFILE_KEEP_LOG,
	.honours = OUTPUT_STITCHED_MARKS,
	.write = write_speedscope,
};

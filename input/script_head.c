/* script_head.c - the first lines of samples, and what all of a text have in common.
 *
 * The time is the anchor: what stands before it is read from right to left, so that the command is
 * what is left over and may be anything. */
#include "input/script_line.h"

#include <ctype.h>

#include "input/unpacked_lines.h"

enum {
	LEARN_LINES = 2000,
	LINE_BYTES = 4096,
	WORDS = 24, /* of a head before its time */
};

/* Widths of perf's columns. */
enum {
	WIDTH_ID = 5,
	WIDTH_PERIOD = 10,
	WIDTH_IP = 16,
	WIDTH_LATENCY_COMM = 8,
	NO_PERIOD = 1 << 30
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool all(struct word w, int (*is)(int))
{
	size_t i;

	for (i = 0; i < w.n; i++)
		if (!is((unsigned char)w.s[i]))
			return false;
	return w.n;
}

struct word word_next(const char **at)
{
	struct word w;

	*at += strspn(*at, " \t");
	w.s = *at;
	w.n = strcspn(*at, " \t");
	*at += w.n;
	return w;
}

bool word_is(struct word w, const char *s)
{
	return w.n == strlen(s) && !memcmp(w.s, s, w.n);
}

bool word_begins(struct word w, const char *s)
{
	return w.n >= strlen(s) && !memcmp(w.s, s, strlen(s));
}

bool word_to_number(struct word w, uint64_t *ret)
{
	size_t i;

	*ret = 0;
	if (!all(w, isdigit))
		return false;
	for (i = 0; i < w.n; i++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, w.s[i] - '0', ret))
			return false;
	return true;
}

bool word_to_hex(struct word w, uint64_t *ret)
{
	size_t i;

	*ret = 0;
	if (w.n > 2 && w.s[0] == '0' && w.s[1] == 'x')
		w = (struct word){w.s + 2, w.n - 2};
	if (w.n > 16 || !all(w, isxdigit))
		return false;
	for (i = 0; i < w.n; i++)
		*ret = *ret << 4 |
		       (isdigit((unsigned char)w.s[i]) ? w.s[i] - '0' : (w.s[i] | 32) - 'a' + 10);
	return true;
}

bool word_is_padded(const char *line, struct word w, size_t width)
{
	const char *at = w.s;

	while (at > line && at[-1] == ' ')
		at--;
	/* One of the spaces separates. */
	return (size_t)(w.s - at) + w.n >= width + (at > line);
}

/* An id; -1 is a task that is exiting. */
static bool to_id(struct word w, uint32_t *ret)
{
	uint64_t v;

	if (word_is(w, "-1"))
		v = UINT32_MAX;
	else if (!word_to_number(w, &v) || v > INT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

/* Reads "27409/28744", or "27409", which is the thread. */
static bool to_ids(struct word w, uint32_t *pid, uint32_t *tid)
{
	const char *slash = memchr(w.s, '/', w.n);

	*pid = PROFILE_NO_PID;
	if (!slash)
		return to_id(w, tid);
	return to_id((struct word){w.s, (size_t)(slash - w.s)}, pid) &&
	       to_id((struct word){slash + 1, (size_t)(w.s + w.n - slash - 1)}, tid);
}

/* "441995.133575:" or, with --ns, "441995.133575123:". */
static bool to_time(struct word w, uint64_t *ns)
{
	const char *dot = memchr(w.s, '.', w.n);
	struct word whole = {w.s, dot ? (size_t)(dot - w.s) : 0}, part;
	uint64_t s, f;
	size_t i;

	if (!dot || w.s[w.n - 1] != ':')
		return false;
	part = (struct word){dot + 1, w.n - whole.n - 2};
	if (!word_to_number(whole, &s) || !word_to_number(part, &f) || part.n > 9 || part.n < 3 ||
	    s > UINT64_MAX / 1000000000 - 1)
		return false;
	for (i = part.n; i < 9; i++)
		f *= 10;
	*ns = s * 1000000000 + f;
	return true;
}

/* "[001]" */
static bool to_cpu(struct word w, uint32_t *cpu)
{
	uint64_t v;

	if (w.n < 3 || w.s[0] != '[' || w.s[w.n - 1] != ']' ||
	    !word_to_number((struct word){w.s + 1, w.n - 2}, &v) || v > UINT32_MAX)
		return false;
	*cpu = (uint32_t)v;
	return true;
}

/* "U", "KS": the letters of -F +misc. */
static bool is_misc(struct word w)
{
	return w.n && w.n <= 4 && strspn(w.s, "UKHGghMESp") >= w.n;
}

/* "01:15:31.123456", after the date, of -F +tod. */
static bool is_time_of_day(struct word w)
{
	return w.n >= 12 && w.s[2] == ':' && w.s[5] == ':' && w.s[8] == '.';
}

/* ---- a head ---------------------------------------------------------------------------------- */

/* A number in the column of periods, which is wider than that of ids. */
static bool take_period(const char *line, struct word w, struct script_head *h)
{
	h->has_period = word_is_padded(line, w, WIDTH_PERIOD) && word_to_number(w, &h->period);
	return h->has_period;
}

/* Reads what follows the time: period, event, and the rest. period_width: of its column, or
 * NO_PERIOD. */
static bool take_event(const char *line, const char *at, size_t period_width, struct script_head *h)
{
	const char *start = at + strspn(at, " \t"), *after;
	struct word w = word_next(&at), first;
	uint64_t number;
	size_t i;

	h->rest = start;
	if (word_begins(w, "PERF_RECORD_") || word_is(w, "DEFERRED")) {
		h->is_record = true;
		return true;
	}
	if (!word_is_padded(line, w, WIDTH_IP) && word_is_padded(line, w, period_width) &&
	    word_to_number(w, &number)) {
		h->period = number;
		h->has_period = true;
		h->rest = start = at + strspn(at, " \t");
		w = word_next(&at);
	}
	first = w;
	for (after = at, i = 0; w.n && i < (word_is(first, "raw") ? 2 : 1);
	     i++, w = word_next(&after))
		if (w.s[w.n - 1] == ':') {
			h->event = (struct word){start, (size_t)(w.s + w.n - 1 - start)};
			h->rest = after + strspn(after, " \t");
			return h->event.n;
		} else if (memchr(w.s, '(', w.n) || memchr(w.s, '=', w.n) || all(w, isdigit)) {
			break;
		}
	return false;
}

static struct word between(const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	return (struct word){from, (size_t)(to - from)};
}

/* perf script -L: "%8.8s %5d %3d ". */
static bool take_latency(const char *line, const struct word *words, size_t n,
			 struct script_head *h)
{
	const struct word *ids = n >= 2 ? &words[n - 2] : NULL;
	uint64_t cpu;

	if (!ids || strlen(line) <= WIDTH_LATENCY_COMM || line[WIDTH_LATENCY_COMM] != ' ' ||
	    between(line + WIDTH_LATENCY_COMM, ids->s).n || !word_to_number(words[n - 1], &cpu) ||
	    cpu > UINT16_MAX || ids->s + ids->n < line + WIDTH_LATENCY_COMM + 1 + WIDTH_ID ||
	    !to_ids(*ids, &h->seen.pid, &h->seen.tid))
		return false;
	h->comm = between(line, line + WIDTH_LATENCY_COMM);
	h->has_ids = h->has_cpu = true;
	h->seen.cpu = (uint32_t)cpu;
	return h->comm.n;
}

/* Reads the n words before the time from right to left. */
static bool take_task(const struct script_shape *shape, const char *line, const struct word *words,
		      size_t n, struct script_head *h)
{
	if (shape->latency)
		return take_latency(line, words, n, h);
	if (n > 1 && is_time_of_day(words[n - 1]))
		n -= 2;
	if (n > 1 && is_misc(words[n - 1]) && words[n - 1].s > words[n - 2].s + words[n - 2].n)
		n -= to_cpu(words[n - 2], &h->seen.cpu) ||
		     (!shape->no_ids && to_ids(words[n - 2], &h->seen.pid, &h->seen.tid));
	if (n && !shape->no_cpu && to_cpu(words[n - 1], &h->seen.cpu)) {
		h->has_cpu = true;
		n--;
	}
	if (n && !shape->no_ids &&
	    (!shape->padded || word_is_padded(line, words[n - 1], WIDTH_ID)) &&
	    to_ids(words[n - 1], &h->seen.pid, &h->seen.tid)) {
		h->has_ids = true;
		n--;
	} else {
		h->seen.pid = h->seen.tid = PROFILE_NO_PID;
	}
	h->comm = between(line, n ? words[n - 1].s + words[n - 1].n : line);
	return shape->no_ids || h->has_ids || !n;
}

static void begin(struct script_head *h)
{
	*h = (struct script_head){.rest = "",
				  .comm = {"", 0},
				  .event = {"", 0},
				  .seen = {.pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID}};
}

static bool head_with_time(const struct script_shape *shape, const char *line,
			   struct script_head *h)
{
	struct word words[WORDS];
	const char *at = line;
	uint64_t ns;
	size_t n = 0;

	for (; n < WORDS; n++) {
		words[n] = word_next(&at);
		if (!words[n].n)
			return false;
		if (!to_time(words[n], &ns))
			continue;
		begin(h);
		if (!take_task(shape, line, words, n, h))
			continue;
		h->seen.time_ns = ns;
		h->seen.has_time = true;
		take_event(line, at, 0, h);
		return true;
	}
	return false;
}

/* Does a period stand here and then an event? */
static bool at_period(const char *line, struct word w, const char *at, struct script_head *h)
{
	if (!take_period(line, w, h))
		return false;
	h->seen.pid = h->seen.tid = PROFILE_NO_PID;
	return take_event(line, at, NO_PERIOD, h) && !h->is_record;
}

/* Without a time the ids are the first number after which an event follows; a number that is not
 * aligned as perf aligns it may be a part of the command. */
static bool head_with_event(const char *line, bool aligned, struct script_head *h)
{
	const char *at = line, *end = line;
	struct word w;
	size_t i;

	begin(h);
	for (i = 0; i < WORDS; i++, end = w.s + w.n) {
		const char *after;

		w = word_next(&at);
		if (!w.n)
			return false;
		if (aligned && at_period(line, w, at, h)) {
			h->comm = between(line, end);
			h->has_ids = h->has_cpu = false;
			return true;
		}
		if ((aligned && !word_is_padded(line, w, WIDTH_ID)) ||
		    !to_ids(w, &h->seen.pid, &h->seen.tid))
			continue;
		h->comm = between(line, end);
		h->has_ids = true;
		after = at;
		h->has_cpu = to_cpu(word_next(&after), &h->seen.cpu);
		h->has_period = false;
		h->period = 0;
		if (take_event(line, h->has_cpu ? after : at, aligned ? WIDTH_PERIOD : 0, h) &&
		    !h->is_record)
			return true;
	}
	return false;
}

static struct word last_word(struct word w)
{
	const char *end = w.s + w.n, *at = end;

	while (at > w.s && at[-1] != ' ')
		at--;
	return (struct word){at, (size_t)(end - at)};
}

/* "dd 31021 ", "dd 31021    2004008 ", above frames. */
static bool head_with_task(const char *line, struct script_head *h)
{
	struct word w = between(line, line + strlen(line)), last = last_word(w);

	begin(h);
	if (!w.n)
		return false;
	if (take_period(line, last, h)) {
		w = between(w.s, last.s);
		last = last_word(w);
	}
	h->has_ids = to_ids(last, &h->seen.pid, &h->seen.tid);
	if (!h->has_ids)
		h->seen.pid = h->seen.tid = PROFILE_NO_PID;
	h->comm = h->has_ids ? between(w.s, last.s) : w;
	return true;
}

/* "dd 31021      7f0e8ac36350 write+0x10 (/lib/libc.so.6)" */
static bool head_with_leaf(const char *line, struct script_head *h)
{
	const char *at = line, *next;
	struct script_frame f;
	struct word w = word_next(&at), ip;

	begin(h);
	for (; w.n; w = word_next(&at)) {
		next = at;
		ip = word_next(&next);
		if (!word_is_padded(line, ip, WIDTH_IP) || !script_frame(ip.s, &f) || !f.has_dso ||
		    !to_ids(w, &h->seen.pid, &h->seen.tid))
			continue;
		h->has_ids = true;
		h->comm = between(line, w.s);
		h->rest = ip.s;
		return true;
	}
	return false;
}

bool script_head(const struct script_shape *shape, const char *line, struct script_head *h)
{
	if (shape->tabs && *line == '\t')
		return false;
	switch (shape->heads) {
	case HEADS_TIME:
		return head_with_time(shape, line, h);
	case HEADS_EVENT:
		return head_with_event(line, true, h) || head_with_event(line, false, h);
	case HEADS_TASK:
		return head_with_task(line, h);
	case HEADS_LEAF:
		return head_with_leaf(line, h);
	default:
		return false;
	}
}

/* ---- the shape ------------------------------------------------------------------------------- */

struct census {
	size_t lines; /* without comments and empty lines */
	size_t tabs, aligned, times, padded, with_ids, with_padded_ids, with_cpu, task_leaves, gaps,
		latency, events, frames, others;
	size_t leaves; /* events with a frame on their line */
	size_t bare;   /* lines that neither have a tab nor an event */
};

static bool is_srcline(const char *line)
{
	struct word file;
	uint32_t number;
	bool inlined;

	return script_srcline(line, &file, &number, &inlined);
}

/* Is there more than one space before the time? */
static bool has_padded_time(const char *line)
{
	const char *at = line;
	struct word w = word_next(&at);
	uint64_t ns;

	while (w.n && !to_time(w, &ns))
		w = word_next(&at);
	return w.n && w.s > line + 1 && w.s[-1] == ' ' && w.s[-2] == ' ';
}

static void count_line(struct census *c, const char *line)
{
	const struct script_shape any = {.heads = HEADS_TIME},
				  aligned = {.heads = HEADS_TIME, .padded = true},
				  free = {HEADS_TIME, .no_ids = true},
				  fixed = {HEADS_TIME, .latency = true};
	struct script_head h;
	struct script_frame f;
	size_t n;

	/* Nearly always a comment: the command may be "#1". */
	if (*line == '#' && !head_with_time(&any, line, &h))
		return;
	c->lines++;
	if (*line == '\t' && script_frame(line, &f)) {
		const char *at = line + 1;

		c->tabs++;
		c->aligned += word_is_padded(line + 1, word_next(&at), WIDTH_IP);
	} else if (head_with_time(&free, line, &h)) {
		c->times++;
		c->with_cpu += h.has_cpu;
		c->padded += has_padded_time(line);
		c->with_padded_ids += head_with_time(&aligned, line, &h) && h.has_ids;
		c->with_ids += head_with_time(&any, line, &h) && h.has_ids;
		c->latency += head_with_time(&fixed, line, &h);
	} else if (head_with_event(line, true, &h) || head_with_event(line, false, &h)) {
		c->events++;
		c->leaves += (script_last_frame(h.rest, &f, &n) && f.has_dso) ||
			     (h.has_cpu && memchr(h.event.s, ':', h.event.n));
	} else {
		c->bare += !is_srcline(line);
		c->task_leaves += head_with_leaf(line, &h);
		if (script_frame(line, &f) && f.has_dso) {
			const char *at = line;

			c->frames++;
			c->aligned += word_is_padded(line, word_next(&at), WIDTH_IP);
		} else
			c->others += !is_srcline(line);
	}
}

static struct census take_census(const char *text, size_t n)
{
	struct census c = {0};
	char line[LINE_BYTES];
	size_t i, len;

	for (i = 0; i < LEARN_LINES && n; i++) {
		const char *end = memchr(text, '\n', n);

		len = end ? (size_t)(end - text) : n;
		c.gaps += !len;
		if (len && len < sizeof line) {
			memcpy(line, text, len);
			line[len] = '\0';
			while (len && line[len - 1] == '\r')
				line[--len] = '\0';
			if (line[strspn(line, " \t")])
				count_line(&c, line);
		}
		len = end ? (size_t)(end - text) + 1 : n;
		text += len;
		n -= len;
	}
	return c;
}

bool script_learn(struct script_shape *shape, const char *text, size_t n)
{
	struct census c = take_census(text, n);

	*shape = (struct script_shape){.tabs = c.tabs > 0};
	if (c.times) {
		shape->heads = HEADS_TIME;
		shape->padded = c.padded > 0;
		shape->no_ids =
			(c.padded ? c.with_padded_ids : c.with_ids) < c.times - c.times / 10;
		shape->no_cpu = shape->no_ids && c.with_cpu < c.times;
		shape->latency = c.latency == c.times;
		/* Lines that look otherwise are messages, if they are few. */
		return c.others <= c.times + c.tabs + c.frames;
	}
	if (c.events) {
		shape->heads = HEADS_EVENT;
		return c.tabs + c.frames + c.leaves > 0 && c.others <= c.tabs + c.frames + c.leaves;
	}
	if (!c.tabs && c.lines && c.aligned == c.lines && !c.task_leaves && !c.gaps) {
		shape->single = true;
		return true;
	}
	if (!c.tabs && c.task_leaves) {
		shape->heads = HEADS_LEAF;
		return c.task_leaves * 2 > c.lines;
	}
	if (!c.tabs)
		return false;
	shape->heads = c.bare ? HEADS_TASK : HEADS_NONE;
	return c.aligned == c.tabs && c.frames <= c.tabs && c.others <= c.tabs;
}

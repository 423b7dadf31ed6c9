/* in_folded.c - one line per stack: "comm;main;f 42", and with two columns, as difffolded.pl writes
 * them, "comm;main;f 42 43", which are the events `base` and `new`.
 *
 * The first frame is the command's name. Marks at the end of a name are stackcollapse-perf.pl's:
 * _[k] kernel, _[j] compiled at run time, _[i] inlined into the frame before it; our own _[s]:
 * taken from another sample. [name] is code without a name in that module. Weights may be
 * fractions.
 */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"

#include <ctype.h>
#include <stdlib.h>

#include "reader/reader.h"

enum {
	COLUMNS = 2,
	DECIMALS_MAX = 6, /* of a fraction; what is smaller is rounded */
	DIGITS_MAX = 18,
	DEEP = 8,	    /* frames of a first line that has no end in sight */
	HEAD_MAX = 1 << 14, /* a shorter text is looked at whole */
};

/* value / 10^decimals */
struct weight {
	uint64_t value;
	unsigned decimals;
	bool is_rounded;
};

struct reader {
	struct profile *p;
	uint32_t events[COLUMNS];
	size_t columns;
	VEC(uint32_t) stack; /* locations, root first */
	/* Lines of the location that is being read, outermost first. */
	VEC(struct profile_line) lines;
	struct profile_location location;
	bool pending;
	/* Weights of the profile are integers: all are multiplied by 10^decimals. */
	unsigned decimals;
	uint64_t n_fractions, n_rounded, n_vanished;
};

/* Reads "12", "2.25", "1e+06". False: it is no such number, or has too many digits. */
static bool read_weight(const char *s, size_t n, struct weight *w)
{
	size_t i = 0, digits = 0, exponent = 0;
	bool dot = false, less = false;
	long power = 0;

	*w = (struct weight){0};
	for (; i < n && (isdigit((unsigned char)s[i]) || (s[i] == '.' && !dot)); i++) {
		if (s[i] == '.')
			dot = true;
		else if (dot && digits >= DIGITS_MAX)
			w->is_rounded |= s[i] != '0';
		else if (__builtin_mul_overflow(w->value, 10, &w->value) ||
			 __builtin_add_overflow(w->value, s[i] - '0', &w->value))
			return false;
		else
			power -= dot;
		digits += (w->value != 0);
	}
	if (i < n && (s[i] | 32) == 'e') {
		less = ++i < n && s[i] == '-';
		i += less || (i < n && s[i] == '+');
		for (digits = i; i < n && isdigit((unsigned char)s[i]) && exponent < 1000; i++)
			exponent = exponent * 10 + (size_t)(s[i] - '0');
		if (i == digits)
			return false;
	}
	if (i < n)
		return false;
	power += less ? -(long)exponent : (long)exponent;
	for (; power < 0 && w->value % 10 == 0 && w->value; power++)
		w->value /= 10;
	for (; power < -DECIMALS_MAX && w->value; power++) {
		w->value = w->value / 10 + (w->value % 10 >= 5);
		w->is_rounded = true;
	}
	for (; power > 0 && w->value; power--)
		if (__builtin_mul_overflow(w->value, 10, &w->value))
			return false;
	w->decimals = w->value && power < 0 ? (unsigned)-power : 0;
	return true;
}

/* Cuts a number and the space before it from the end of a text. */
static bool cut_weight(const char *s, size_t *n, struct weight *w)
{
	size_t end = *n, at = end;

	while (at && (isdigit((unsigned char)s[at - 1]) || strchr(".eE+-", s[at - 1])))
		at--;
	if (at == end || at < 2 || (s[at - 1] != ' ' && s[at - 1] != '\t') ||
	    !isdigit((unsigned char)s[at]) || !read_weight(s + at, end - at, w))
		return false;
	while (at > 1 && (s[at - 1] == ' ' || s[at - 1] == '\t'))
		at--;
	*n = at;
	return true;
}

/* ---- recognising ----------------------------------------------------------------------------- */

/* What the lines of a text look like. Comments and empty lines are none. */
struct looks {
	size_t stacks; /* "a;b 1" */
	size_t words;  /* "a 1" */
	size_t others;
	bool two; /* all of them end in two numbers */
};

static void look_at(struct looks *l, const char *s, size_t n)
{
	struct weight w;
	size_t rest = n, i;
	bool weighs = !isspace((unsigned char)*s) && cut_weight(s, &rest, &w);

	/* In a program's text a number may follow; in stacks the last frame may have no name. */
	weighs = weighs && (s[rest - 1] != ';' || rest == 1);
	l->others += !weighs;
	if (!weighs)
		return;
	n = rest;
	l->two &= cut_weight(s, &rest, &w);
	/* In prose a space follows a semicolon. */
	for (i = 0; i + 1 < n; i++)
		if (s[i] == ';' && s[i + 1] != ' ') {
			l->stacks++;
			return;
		}
	if (memchr(s, ' ', rest))
		l->others++;
	else
		l->words++;
}

/* is_whole: nothing follows, so that the last line needs no newline. */
static struct looks look(const char *s, size_t n, bool is_whole)
{
	struct looks l = {.two = true};
	const char *end;
	size_t len, have;

	for (; n; s += len + (end != NULL), n -= len + (end != NULL)) {
		end = memchr(s, '\n', n);
		len = end ? (size_t)(end - s) : n;
		if (!end && !is_whole)
			break;
		have = len && s[len - 1] == '\r' ? len - 1 : len;
		if (have && *s != '#')
			look_at(&l, s, have);
	}
	l.two &= l.stacks + l.words > 0;
	return l;
}

/* The beginning of a line that is longer than what is looked at: is it a stack? Of few frames if it
 * has no space, as programs and prose have. */
static bool is_long_stack(const char *s, size_t n)
{
	size_t i, frames = 0, spaces = 0;

	for (i = 0; i < n; i++) {
		if (s[i] == '\n' || s[i] == '\t' || s[i] == '{')
			return false;
		frames += s[i] == ';';
		spaces += s[i] == ' ';
	}
	return frames >= (spaces ? DEEP : 1);
}

static bool detect(const char *head, size_t n)
{
	/* The head may end inside of a line. */
	struct looks l = look(head, n, n < HEAD_MAX);

	if (n && !memchr(head, '\n', n) && is_long_stack(head, n))
		return true;
	return l.stacks ? l.stacks + l.words >= l.others : l.words && !l.others;
}

static bool cut_mark(const char *s, size_t *n, char mark)
{
	if (*n <= 4 || s[*n - 1] != ']' || s[*n - 2] != mark || s[*n - 3] != '[' ||
	    s[*n - 4] != '_')
		return false;
	*n -= 4;
	return true;
}

/* Appends the location of the collected lines to the stack. */
static int end_location(struct reader *r, struct err *err)
{
	struct profile_line *v = r->lines.v, swap;
	size_t i, n = r->lines.n;
	uint32_t id;

	if (!r->pending)
		return 0;
	r->pending = false;
	for (i = 0; i < n / 2; i++) {
		swap = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = swap;
	}
	if (profile_add_location(r->p, &r->location, v, n, &id, err))
		return -ERR_NOMEM;
	r->lines.n = 0;
	return vec_push(&r->stack, id) ? err_nomem(err) : 0;
}

static int add_function(struct reader *r, const char *s, size_t n, struct err *err)
{
	const struct profile_function f = {.name = profile_string(r->p, s, n), .is_folded = true};
	struct profile_line line = {0};

	if (profile_add_function(r->p, &f, &line.function, err))
		return -ERR_NOMEM;
	return vec_push(&r->lines, line) ? err_nomem(err) : 0;
}

static int add_module(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct profile_mapping m = {.path = profile_string(r->p, s, n), .kind = DSO_UNKNOWN};

	if (m.path == STRTAB_FAILED)
		return err_nomem(err);
	return profile_add_mapping(r->p, &m, &r->location.mapping, err);
}

static int add_frame(struct reader *r, const char *s, size_t n, struct err *err)
{
	bool stitched = cut_mark(s, &n, 's'), kernel = cut_mark(s, &n, 'k');
	bool jit = cut_mark(s, &n, 'j'), inlined = cut_mark(s, &n, 'i');

	r->p->has_marks |= stitched || kernel || jit || inlined;
	if (!inlined || !r->lines.n) {
		if (end_location(r, err))
			return -ERR_NOMEM;
		r->location = (struct profile_location){
			.is_kernel = kernel,
			.how = stitched ? FRAME_STITCHED : FRAME_USER_CHAIN,
		};
		r->pending = true;
	}
	if (jit) {
		struct profile_mapping m = {.path = profile_string(r->p, "//anon", 6),
					    .kind = DSO_ANON};

		if (m.path == STRTAB_FAILED ||
		    profile_add_mapping(r->p, &m, &r->location.mapping, err))
			return err_nomem(err);
	}
	if (n > 2 && s[0] == '[' && s[n - 1] == ']' && !memchr(s, '<', n))
		return add_module(r, n == 9 && !memcmp(s, "[unknown]", 9) ? s : s + 1,
				  n == 9 && !memcmp(s, "[unknown]", 9) ? 9 : n - 2, err);
	return add_function(r, s, n, err);
}

static const uint64_t powers[DECIMALS_MAX + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* Multiplies what was added until now. False: that would be too much. */
static bool rescale(struct reader *r, unsigned decimals)
{
	const uint64_t by = powers[decimals - r->decimals];
	struct profile *p = r->p;
	size_t i;

	for (i = 0; i < r->columns; i++)
		if (p->events.v[r->events[i]].period > UINT64_MAX / by)
			return false;
	for (i = 0; i < p->samples.n; i++) {
		p->samples.v[i].count *= by;
		p->samples.v[i].period *= by;
	}
	for (i = 0; i < r->columns; i++) {
		p->events.v[r->events[i]].samples *= by;
		p->events.v[r->events[i]].period *= by;
	}
	r->decimals = decimals;
	return true;
}

/* The weight as an integer. */
static uint64_t scaled(struct reader *r, struct weight w)
{
	uint64_t v;

	r->n_fractions += w.decimals > 0;
	if (w.decimals > r->decimals && !rescale(r, w.decimals)) {
		v = w.value / powers[w.decimals - r->decimals];
		w.is_rounded = true;
	} else if (__builtin_mul_overflow(w.value, powers[r->decimals - w.decimals], &v)) {
		v = UINT64_MAX;
		w.is_rounded = true;
	}
	r->n_rounded += w.is_rounded && v;
	r->n_vanished += w.is_rounded && !v;
	return v;
}

static int add_line(struct reader *r, const char *s, size_t n, const struct input_options *opt,
		    struct input_result *ret, struct err *err)
{
	struct input_sample seen = {.event = "", .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	struct profile_sample sample = {
		.stop = UNWIND_STOP_NONE, .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	struct weight weights[COLUMNS] = {{0}};
	const char *semi;
	size_t i, len;

	for (i = r->columns; i--;)
		if (!cut_weight(s, &n, &weights[i]))
			return 1;
	semi = memchr(s, ';', n);
	len = semi ? (size_t)(semi - s) : n;
	sample.comm = profile_string(r->p, s, len);
	if (sample.comm == STRTAB_FAILED)
		return err_nomem(err);
	seen.comm = strtab_get(&r->p->strings, sample.comm);
	if (!input_accepts(opt, &seen, ret))
		return 0;
	r->stack.n = 0;
	while (len < n) {
		s += len + 1;
		n -= len + 1;
		semi = memchr(s, ';', n);
		len = semi ? (size_t)(semi - s) : n;
		if (len && add_frame(r, s, len, err))
			return -ERR_NOMEM;
	}
	if (end_location(r, err) ||
	    profile_add_stack(r->p, r->stack.v, r->stack.n, &sample.node, err))
		return -ERR_NOMEM;
	for (i = 0; i < r->columns; i++) {
		sample.event = r->events[i];
		sample.count = sample.period = scaled(r, weights[i]);
		if (sample.count && profile_add_sample(r->p, &sample, err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int begin(struct reader *r, struct err *err)
{
	static const char *const names[COLUMNS][COLUMNS] = {{"weight"}, {"base", "new"}};
	size_t i;

	for (i = 0; i < r->columns; i++) {
		uint32_t name = profile_string(r->p, names[r->columns - 1][i],
					       strlen(names[r->columns - 1][i]));

		if (name == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_event(r->p, name, 0, &r->events[i], err))
			return -ERR_NOMEM;
		r->p->events.v[r->events[i]].is_sum = true;
		r->p->events.v[r->events[i]].is_unnamed = r->columns == 1;
	}
	return 0;
}

static void say_scale(const struct reader *r, struct input_result *ret)
{
	static const char *const texts[DECIMALS_MAX + 1] = {
		"weights are fractions",
		"weights are fractions: all weights are shown times 10",
		"weights are fractions: all weights are shown times 100",
		"weights are fractions: all weights are shown times 1000",
		"weights are fractions: all weights are shown times 10,000",
		"weights are fractions: all weights are shown times 100,000",
		"weights are fractions: all weights are shown times 1,000,000",
	};

	input_note(ret, texts[r->decimals], r->n_fractions, false);
	input_note(ret, "weights have more digits than fit, and were rounded", r->n_rounded, false);
	input_note(ret, "weights are too small beside the others, and were left out", r->n_vanished,
		   true);
}

/* "# a comment", but not "#1 worker;main;f 12", of a command that begins so. */
static bool is_comment(const char *s, size_t n)
{
	struct looks l = {0};

	if (*s != '#')
		return false;
	look_at(&l, s, n);
	return !l.stacks || isspace((unsigned char)s[1]);
}

static int read_folded(struct profile *p, struct input_source *s, const struct input_options *opt,
		       struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p};
	char *line;
	size_t n;
	int rc;

	while ((rc = input_line(s, &line, &n, err)) > 0) {
		if (!n || is_comment(line, n))
			continue;
		if (!r.columns) {
			struct looks first = look(line, n, true),
				     rest = look((char *)s->out + s->out_at, s->out_n - s->out_at,
						 s->ended);

			r.columns = first.two && (rest.two || !(rest.stacks + rest.words)) ? 2 : 1;
			rc = begin(&r, err);
		}
		rc = rc < 0 ? rc : add_line(&r, line, n, opt, ret, err);
		if (rc < 0)
			break;
		if (rc)
			input_damaged(ret, s);
	}
	p->has_folded_roots = true;
	say_scale(&r, ret);
	vec_done(&r.stack);
	vec_done(&r.lines);
	return rc < 0 ? rc : 0;
}

const struct input_format input_folded = {
	.name = "folded",
	.help = "one line per stack, of any stackcollapse tool; also with two columns",
	.detect = detect,
	.read = read_folded,
};

/* in_folded.c - one line per stack: "comm;main;f 42", and with two columns, as difffolded.pl writes
 * them, "comm;main;f 42 43", which are the events `base` and `new`.
 *
 * The first frame is the command's name. Marks at the end of a name are stackcollapse-perf.pl's:
 * _[k] kernel, _[j] compiled at run time, _[i] inlined into the frame before it; our own _[s]:
 * taken from another sample. [name] is code without a name in that module. */
#include "input/unpacked_lines.h"

#include <ctype.h>
#include <stdlib.h>

enum { COLUMNS = 2 };

struct reader {
	struct profile *p;
	uint32_t events[COLUMNS];
	size_t columns;
	VEC(uint32_t) stack; /* locations, root first */
	/* Lines of the location that is being read, outermost first. */
	VEC(struct profile_line) lines;
	struct profile_location location;
	bool pending;
};

/* Cuts a number and the space before it from the end of a text. */
static bool cut_number(const char *s, size_t *n, uint64_t *ret)
{
	size_t end = *n, at = end, i;
	bool dot = false;

	while (at && (isdigit((unsigned char)s[at - 1]) || (s[at - 1] == '.' && !dot)))
		dot |= s[--at] == '.';
	if (at == end || at < 2 || (s[at - 1] != ' ' && s[at - 1] != '\t') ||
	    !isdigit((unsigned char)s[at]))
		return false;
	for (*ret = 0, i = at; i < end && s[i] != '.'; i++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, s[i] - '0', ret))
			return false;
	while (at > 1 && (s[at - 1] == ' ' || s[at - 1] == '\t'))
		at--;
	*n = at;
	return s[at - 1] != ';' || at == 1;
}

/* How many numbers are at the end of the line: 0, 1 or 2. */
static size_t columns_of(const char *s, size_t n)
{
	uint64_t number;

	if (!n || isspace((unsigned char)*s) || !cut_number(s, &n, &number))
		return 0;
	return cut_number(s, &n, &number) ? 2 : 1;
}

/* The smallest number of columns of all lines; 0 if one line has none. Skips comments, empty lines
 * and, unless is_whole, a last line without a newline; 3: there are no other lines. */
static size_t columns_of_text(const char *s, size_t n, bool is_whole)
{
	size_t least = COLUMNS + 1, have, len;
	const char *end;

	for (; n; s += len + (end != NULL), n -= len + (end != NULL)) {
		end = memchr(s, '\n', n);
		len = end ? (size_t)(end - s) : n;
		if (!end && !is_whole)
			break;
		have = len && s[len - 1] == '\r' ? len - 1 : len;
		if (!have || *s == '#')
			continue;
		have = columns_of(s, have);
		if (have < least)
			least = have;
		if (!least)
			break;
	}
	return least;
}

static bool detect(const char *head, size_t n)
{
	const char *end = memchr(head, '\n', n);
	size_t first = end ? (size_t)(end - head) + 1 : n,
	       columns = columns_of_text(head, first, true);

	/* The text may begin with a comment, as in all formats. */
	while (columns > COLUMNS && first < n) {
		size_t at = first;

		end = memchr(head + at, '\n', n - at);
		first = end ? (size_t)(end - head) + 1 : n;
		columns = columns_of_text(head + at, first - at, true);
	}
	return !memchr(head, '\0', n) && columns >= 1 && columns <= COLUMNS;
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

static int add_line(struct reader *r, const char *s, size_t n, const struct input_options *opt,
		    struct input_result *ret, struct err *err)
{
	struct input_sample seen = {.event = "", .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	struct profile_sample sample = {.stop = UNWIND_STOP_NONE};
	uint64_t weights[COLUMNS] = {0};
	const char *semi;
	size_t i, len;

	for (i = r->columns; i--;)
		if (!cut_number(s, &n, &weights[i]))
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
		sample.count = sample.period = weights[i];
		if (weights[i] && profile_add_sample(r->p, &sample, err))
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
	}
	return 0;
}

static int read_folded(struct profile *p, struct input_source *s, const struct input_options *opt,
		       struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p};
	char *line;
	size_t n;
	int rc;

	while ((rc = input_line(s, &line, &n, err)) > 0) {
		if (!n || *line == '#')
			continue;
		if (!r.columns) {
			size_t rest = columns_of_text((char *)s->out + s->out_at,
						      s->out_n - s->out_at, s->ended);

			r.columns = columns_of(line, n) == 2 && rest >= 2 ? 2 : 1;
			rc = begin(&r, err);
		}
		rc = rc < 0 ? rc : add_line(&r, line, n, opt, ret, err);
		if (rc < 0)
			break;
		if (rc)
			input_damaged(ret, s);
	}
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

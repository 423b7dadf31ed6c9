/* in_callgrind.c - what functions cost themselves at each line, as callgrind, cachegrind, xdebug
 * and resolve write it.
 *
 * Source of truth: valgrind's manual, "Callgrind Format Specification". Calls are pairs of
 * functions, of which no stacks can be made: a stack here is one function. Each event is one. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

enum { NUMBERS_MAX = 1 << 22, EVENTS_MAX = 64 };

/* Names are written once, "(3) name", then "(3)". */
struct numbered {
	VEC(uint32_t) v; /* string ids by number; 0: not known */
};

enum position { INSTR, LINE, POSITIONS };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct numbered files, functions, objects;
	uint32_t events[EVENTS_MAX]; /* of the part */
	size_t n_events;
	/* By event of the profile: what its lines add up to, and what the file says. */
	uint64_t sums[EVENTS_MAX], said[EVENTS_MAX];
	bool has[POSITIONS];	/* which of them stand before costs */
	uint64_t at[POSITIONS]; /* of the last line of costs */
	uint32_t comm, pid, tid;
	uint32_t object, file, function, mapping;
	bool is_call;	/* the next line is what a call cost */
	bool has_total; /* the part has said its sums */
	uint64_t n_calls, n_negative;
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Takes "12", "0x1f"; false: there is no number, or it has too many digits. */
static bool take_number(const char **s, uint64_t *ret)
{
	const bool is_hex = (*s)[0] == '0' && ((*s)[1] | 32) == 'x';
	const char *digits = *s + (is_hex ? 2 : 0);
	char *end;

	if (!(is_hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return false;
	errno = 0;
	*ret = strtoull(digits, &end, is_hex ? 16 : 10);
	*s = end;
	return !errno;
}

/* The string of "(3) name", "(3)" or "name"; "???" is 0. Returns 1 for a number without a name. */
static int take_name(struct reader *r, struct numbered *names, const char *s, uint32_t *ret,
		     struct err *err)
{
	const char *at = s + 1;
	uint64_t id;

	*ret = 0;
	if (*s == '(' && isdigit((unsigned char)s[1]) && take_number(&at, &id) && *at == ')') {
		if (id >= NUMBERS_MAX)
			return 1;
		s = at + 1 + strspn(at + 1, " ");
		while (names->v.n <= id)
			if (vec_push(&names->v, 0))
				return err_nomem(err);
		if (!*s) {
			*ret = names->v.v[id];
			return *ret ? 0 : 1;
		}
		*ret = profile_string(r->p, s, strlen(s));
		names->v.v[id] = *ret == STRTAB_FAILED ? 0 : *ret;
	} else {
		*ret = profile_string(r->p, s, strlen(s));
	}
	return *ret == STRTAB_FAILED ? err_nomem(err) : *ret ? 0 : 1;
}

static bool is_known(const struct reader *r, uint32_t name)
{
	return name && strcmp(strtab_get(&r->p->strings, name), "???") != 0;
}

static int take_object(struct reader *r, const char *s, struct err *err)
{
	struct profile_mapping m = {.kind = DSO_UNKNOWN};
	int rc;

	r->mapping = 0;
	if (!*s) /* as pprof writes where it knows none */
		return 0;
	rc = take_name(r, &r->objects, s, &m.path, err);
	if (rc || !is_known(r, m.path))
		return rc;
	return profile_add_mapping(r->p, &m, &r->mapping, err);
}

/* An empty one is of a callee that is not known. */
static int take_ignored(struct reader *r, struct numbered *names, const char *s, struct err *err)
{
	uint32_t name;

	return !*s ? 0 : take_name(r, names, s, &name, err);
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* What xdebug counts in other units. */
static const char *unit_of(const char *name, size_t n)
{
	return n >= 7 && !memcmp(name + n - 7, "(bytes)", 7) ? "bytes" : "";
}

static int take_events(struct reader *r, const char *s, struct err *err)
{
	r->n_events = 0;
	for (s += strspn(s, " \t"); *s; s += strspn(s, " \t")) {
		const size_t n = strcspn(s, " \t");
		const char *unit = unit_of(s, n);
		const uint32_t name = profile_string(r->p, s, n);
		uint32_t *event = &r->events[r->n_events];

		if (r->n_events == EVENTS_MAX)
			return 1;
		if (name == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_event(r->p, name, *unit ? profile_string(r->p, unit, 5) : 0, event,
				      err))
			return -(int)err->code;
		if (*event >= EVENTS_MAX)
			return 1;
		r->p->events.v[*event].is_sum = true;
		r->n_events++;
		s += n;
	}
	if (r->n_events)
		r->p->events.v[r->events[0]].is_default = true;
	return r->n_events ? 0 : 1;
}

static int take_positions(struct reader *r, const char *s)
{
	r->has[INSTR] = strstr(s, "instr");
	r->has[LINE] = strstr(s, "line");
	return r->has[INSTR] || r->has[LINE] ? 0 : 1;
}

static int take_command(struct reader *r, const char *s, struct err *err)
{
	const char *word = s + strspn(s, " ");
	const size_t n = strcspn(word, " ");
	const char *slash = n ? memrchr(word, '/', n) : NULL;
	const char *base = slash ? slash + 1 : word;

	r->comm = profile_string(r->p, base, n - (size_t)(base - word));
	return r->comm == STRTAB_FAILED ? err_nomem(err) : 0;
}

/* "summary:" stands before the costs of a part, "totals:" after them: the same. */
static int take_totals(struct reader *r, const char *s)
{
	for (size_t i = 0; i < r->n_events && !r->has_total; i++) {
		uint64_t v;

		s += strspn(s, " \t");
		if (!take_number(&s, &v))
			break;
		r->said[r->events[i]] = add_saturated(r->said[r->events[i]], v);
	}
	r->has_total = true;
	return 0;
}

static int take_id(const char *s, uint32_t *ret)
{
	uint64_t v;

	s += strspn(s, " ");
	if (!take_number(&s, &v) || v > INT32_MAX)
		return 1;
	*ret = (uint32_t)v;
	return 0;
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* "12", "+3" and "-2" from the last one, "*": the same. */
static bool take_position(const char **s, uint64_t *at)
{
	const char sign = *(*s += strspn(*s, " \t"));
	uint64_t v = 0;

	*s += sign == '*' || sign == '+' || sign == '-';
	if (sign != '*' && !take_number(s, &v))
		return false;
	*at = sign == '+' || sign == '*' ? *at + v : sign == '-' ? *at - v : v;
	return true;
}

static int add_cost(struct reader *r, uint32_t event, uint64_t cost, uint32_t location,
		    struct err *err)
{
	struct profile_sample s = {.event = event,
				   .comm = r->comm,
				   .pid = r->pid,
				   .tid = r->tid,
				   .count = cost,
				   .period = cost};
	const struct input_sample about = {
		.comm = strtab_get(&r->p->strings, r->comm),
		.event = strtab_get(&r->p->strings, r->p->events.v[event].name),
		.pid = r->pid,
		.tid = r->tid};

	r->sums[event] = add_saturated(r->sums[event], cost);
	if (!input_accepts(r->opt, &about, r->ret))
		return 0;
	if (profile_add_stack(r->p, &location, 1, &s.node, err))
		return -(int)err->code;
	return profile_add_sample(r->p, &s, err);
}

static int need_location(struct reader *r, uint32_t *ret, struct err *err)
{
	const struct profile_function f = {.name = r->function,
					   .file = is_known(r, r->file) ? r->file : 0,
					   .is_foreign = true};
	const struct profile_location l = {.mapping = r->mapping};
	struct profile_line line = {.line = r->at[LINE] <= INT32_MAX ? (uint32_t)r->at[LINE] : 0};
	const int rc = profile_add_function(r->p, &f, &line.function, err);

	return rc ? rc : profile_add_location(r->p, &l, &line, 1, ret, err);
}

/* A line of costs: positions, then a number for each event; what is missing is 0. */
static int take_costs(struct reader *r, const char *s, struct err *err)
{
	uint32_t location = UINT32_MAX;

	for (int i = 0; i < POSITIONS; i++)
		if (r->has[i] && !take_position(&s, &r->at[i]))
			return 1;
	if (r->is_call) {
		r->is_call = false;
		r->n_calls++;
		return 0;
	}
	if (!r->function || !r->n_events)
		return 1;
	for (size_t i = 0; i < r->n_events && s[strspn(s, " \t")]; i++) {
		uint64_t cost;
		int rc = 0;

		s += strspn(s, " \t");
		if (*s == '-' && isdigit((unsigned char)s[1])) {
			r->n_negative++;
			s += 1 + strspn(s + 1, "0123456789");
			continue;
		}
		if (!take_number(&s, &cost) || (*s && !isspace((unsigned char)*s)))
			return 1;
		if (cost && location == UINT32_MAX)
			rc = need_location(r, &location, err);
		if (!rc && cost)
			rc = add_cost(r, r->events[i], cost, location, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

enum key {
	KEY_FN,
	KEY_FILE,
	KEY_OB,
	KEY_CFN,
	KEY_CFILE,
	KEY_COB,
	KEY_CALLS,
	KEY_EVENTS,
	KEY_POSITIONS,
	KEY_CMD,
	KEY_PID,
	KEY_THREAD,
	KEY_PART,
	KEY_TOTALS,
	KEY_OTHER,
};

static const struct {
	const char *text;
	enum key key;
} keys[] = {
	{"fn=", KEY_FN},	 {"fl=", KEY_FILE},	   {"fi=", KEY_FILE},
	{"fe=", KEY_FILE},	 {"ob=", KEY_OB},	   {"cfn=", KEY_CFN},
	{"cfi=", KEY_CFILE},	 {"cfl=", KEY_CFILE},	   {"cob=", KEY_COB},
	{"calls=", KEY_CALLS},	 {"events:", KEY_EVENTS},  {"positions:", KEY_POSITIONS},
	{"cmd:", KEY_CMD},	 {"pid:", KEY_PID},	   {"thread:", KEY_THREAD},
	{"part:", KEY_PART},	 {"summary:", KEY_TOTALS}, {"totals:", KEY_TOTALS},
	{"jfn=", KEY_CFN},	 {"jfi=", KEY_CFILE},	   {"jfl=", KEY_CFILE},
	{"jump=", KEY_OTHER},	 {"jcnd=", KEY_OTHER},	   {"version:", KEY_OTHER},
	{"creator:", KEY_OTHER}, {"desc:", KEY_OTHER},	   {"event:", KEY_OTHER},
	{"frfn=", KEY_OTHER},	 {"rcalls=", KEY_OTHER},   {"target", KEY_OTHER},
};

static int take_key(struct reader *r, enum key key, const char *s, struct err *err)
{
	switch (key) {
	case KEY_FN:
		return take_name(r, &r->functions, s, &r->function, err);
	case KEY_FILE:
		return take_name(r, &r->files, s, &r->file, err);
	case KEY_OB:
		return take_object(r, s, err);
	case KEY_CFN:
		return take_ignored(r, &r->functions, s, err);
	case KEY_CFILE:
		return take_ignored(r, &r->files, s, err);
	case KEY_COB:
		return take_ignored(r, &r->objects, s, err);
	case KEY_CALLS:
		r->is_call = true;
		return 0;
	case KEY_EVENTS:
		return take_events(r, s, err);
	case KEY_POSITIONS:
		return take_positions(r, s);
	case KEY_CMD:
		return take_command(r, s, err);
	case KEY_PID:
		return take_id(s, &r->pid);
	case KEY_THREAD:
		return take_id(s, &r->tid);
	case KEY_PART:
		r->has_total = false;
		return 0;
	case KEY_TOTALS:
		return take_totals(r, s);
	case KEY_OTHER:
		break;
	}
	return 0;
}

static int take_line(void *arg, char *line, size_t n, struct err *err)
{
	struct reader *r = arg;

	n = line_trimmed(line, n);
	line[n] = '\0';
	if (!n || *line == '#')
		return 0;
	if (isdigit((unsigned char)*line) || strchr("+-*", *line))
		return take_costs(r, line, err);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (str_starts_with(line, keys[i].text))
			return take_key(r, keys[i].key, line + strlen(keys[i].text), err);
	return 1;
}

/* Do the lines add up to what the file says? xdebug rounds each of them. */
static void check_sums(const struct reader *r)
{
	uint64_t n_less = 0;

	for (size_t i = 0; i < r->p->events.n && i < EVENTS_MAX; i++)
		n_less += r->sums[i] < r->said[i] - r->said[i] / 1000;
	input_note(r->ret, "events have less in the lines of functions than in the file's own sum",
		   n_less, true);
}

static int read_callgrind(struct profile *p, struct input_source *s,
			  const struct input_options *opt, struct input_result *ret,
			  struct err *err)
{
	struct reader r = {.p = p,
			   .opt = opt,
			   .ret = ret,
			   .has = {[LINE] = true},
			   .pid = PROFILE_NO_PID,
			   .tid = PROFILE_NO_PID};
	const int rc = input_each_line(s, ret, take_line, &r, err);

	if (!rc)
		check_sums(&r);
	input_note(ret, "lines of calls are no stacks: what functions cost themselves is read",
		   r.n_calls, false);
	input_note(ret, "values below zero were left out", r.n_negative, true);
	vec_done(&r.files.v);
	vec_done(&r.functions.v);
	vec_done(&r.objects.v);
	return rc;
}

/* Heads differ by their writers; all have a list of events before the first function. */
static bool detect(const char *head, size_t n)
{
	const char *events = str_starts_with(head, "events:") ? head : strstr(head, "\nevents:");

	(void)n;
	return events &&
	       (strstr(events, "\nfn=") || strstr(events, "\nfl=") || strstr(events, "\nob="));
}

const struct input_format input_callgrind = {
	.name = "callgrind",
	.help = "what functions cost themselves, of callgrind, cachegrind, xdebug and resolve",
	.detect = detect,
	.read = read_callgrind,
};

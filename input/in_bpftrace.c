/* in_bpftrace.c - the maps that bpftrace prints at its end:
 *
 *	@samples[
 *	    finish_task_switch+5
 *	    schedule+44
 *	,
 *	    main+20
 *	, bash]: 12
 *
 * Keys are separated by commas: stacks, whose frames are indented, leaf first, and words (comm,
 * pid). Of several stacks one is the kernel's: the one that ends in an entry of the kernel; else
 * they are taken in their order, the first called by the second. Empty stacks are left out. The
 * name of the map is the event. Entries of stats() have a number and a total, those of hist() and
 * lhist() lines with numbers below them, which add up. With -f json a map is an object whose keys
 * are the same texts. */
#include "base/err.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/text_frame.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"

#include <ctype.h>
#include <stdlib.h>

enum { STACKS = 4, JSON_MAX = 1 << 28 };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	bool inside; /* a map's entry */
	/* Its keys have ended, lines of a histogram follow. */
	bool in_buckets;
	uint64_t buckets; /* their sum; in JSON also a count until the total follows */
	uint64_t n_histograms, n_numbers;
	char type[16];	 /* JSON: of the object */
	struct err *err; /* JSON: where the visitor's errors go */
	uint32_t event;
	VEC(uint32_t) stacks[STACKS]; /* locations, leaf first */
	bool is_kernel[STACKS];
	size_t at;	     /* the stack that is being read */
	VEC(uint32_t) names; /* string ids of the words among the keys */
	VEC(uint32_t) root_first;
};

static int add_frame(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct text_frame f;
	uint32_t id;

	if (r->at >= STACKS)
		return 1;
	text_frame_parse(s, n, &f);
	/* The outermost frame decides. */
	r->is_kernel[r->at] = f.is_kernel_entry || f.ip >> 48 == 0xffff;
	if (text_frame_add(r->p, &f, false, &id, err))
		return -ERR_NOMEM;
	return vec_push(&r->stacks[r->at], id) ? err_nomem(err) : 0;
}

/* Reads the words between the commas of a line. */
static int add_keys(struct reader *r, const char *s, size_t n, struct err *err)
{
	while (n) {
		const char *comma = memchr(s, ',', n);
		size_t len = comma ? (size_t)(comma - s) : n, i, end;
		uint32_t id;

		for (i = 0; i < len && isspace((unsigned char)s[i]); i++)
			;
		for (end = len; end > i && isspace((unsigned char)s[end - 1]); end--)
			;
		if (end > i) {
			id = profile_string(r->p, s + i, end - i);
			if (id == STRTAB_FAILED || vec_push(&r->names, id))
				return err_nomem(err);
		}
		/* A comma after a stack ends it. */
		if (comma && r->at < STACKS && r->stacks[r->at].n)
			r->at++;
		n -= len + (comma != NULL);
		s += len + (comma != NULL);
	}
	return 0;
}

/* Replaces *id by the location of the same name in the kernel. */
static int to_kernel(struct reader *r, uint32_t *id, struct err *err)
{
	struct profile_location l = r->p->locations.v[*id];
	struct profile_line line = {0};

	l.is_kernel = true;
	if (l.n_lines)
		line = r->p->lines.v[l.first_line];
	return profile_add_location(r->p, &l, &line, l.n_lines, id, err);
}

static int push_stack(struct reader *r, size_t i, struct err *err)
{
	size_t j;

	for (j = r->stacks[i].n; j--;) {
		uint32_t id = r->stacks[i].v[j];

		if (r->is_kernel[i] && to_kernel(r, &id, err))
			return -ERR_NOMEM;
		if (vec_push(&r->root_first, id))
			return err_nomem(err);
	}
	return 0;
}

/* Puts the user's stack before the kernel's, which it has called. */
static int order_stacks(struct reader *r, struct err *err)
{
	size_t i;

	r->root_first.n = 0;
	for (i = STACKS; i--;)
		if (!r->is_kernel[i] && push_stack(r, i, err))
			return -ERR_NOMEM;
	for (i = STACKS; i--;)
		if (r->is_kernel[i] && push_stack(r, i, err))
			return -ERR_NOMEM;
	return 0;
}

/* The first word that is not a number is the command's name, the first number is the process. */
static void take_names(struct reader *r, struct profile_sample *s, struct input_sample *seen)
{
	size_t i;

	for (i = 0; i < r->names.n; i++) {
		const char *name = strtab_get(&r->p->strings, r->names.v[i]);

		if (strspn(name, "0123456789") == strlen(name))
			s->pid = s->pid == PROFILE_NO_PID ? (uint32_t)strtoul(name, NULL, 10)
							  : s->pid;
		else if (!s->comm)
			s->comm = r->names.v[i];
	}
	seen->comm = strtab_get(&r->p->strings, s->comm);
	seen->event = strtab_get(&r->p->strings, r->p->events.v[r->event].name);
	seen->pid = s->pid;
}

static int end_entry(struct reader *r, uint64_t count, uint64_t period, struct err *err)
{
	struct profile_sample s = {.event = r->event,
				   .pid = PROFILE_NO_PID,
				   .tid = PROFILE_NO_PID,
				   .count = count,
				   .period = period};
	struct input_sample seen = {.tid = PROFILE_NO_PID};
	int rc = 0;

	take_names(r, &s, &seen);
	r->inside = r->in_buckets = false;
	if ((count || period) && input_accepts(r->opt, &seen, r->ret)) {
		if (order_stacks(r, err))
			return -ERR_NOMEM;
		rc = profile_add_stack(r->p, r->root_first.v, r->root_first.n, &s.node, err);
		if (!rc)
			rc = profile_add_sample(r->p, &s, err);
	}
	return rc;
}

/* What stands behind "]: ". */
enum value { VALUE_NONE, VALUE_NUMBER, VALUE_STATS, VALUE_BUCKETS };

/* Finds "]: 12", "]: count 4, average 25, total 100" or "]: ", which end the keys of an entry.
 * Returns where they end. */
static const char *find_end(const char *line, size_t n, enum value *kind, uint64_t *count,
			    uint64_t *period)
{
	const char *at = line, *end = NULL;
	unsigned long long number, average, total;
	int used = 0;

	/* Keys may have brackets, too: the last one counts. */
	while ((at = memmem(at, n - (size_t)(at - line), "]:", 2)))
		end = at++;
	*kind = VALUE_NONE;
	if (!end)
		return NULL;
	at = end + 2 + strspn(end + 2, " ");
	if (!*at)
		*kind = VALUE_BUCKETS;
	else if (sscanf(at, "count %llu, average %llu, total %llu%n", &number, &average, &total,
			&used) == 3 &&
		 !at[used])
		*kind = VALUE_STATS;
	else if (strspn(at, "0123456789") == strlen(at))
		*kind = VALUE_NUMBER;
	else
		return NULL;
	*count = *kind == VALUE_STATS ? number : strtoull(at, NULL, 10);
	*period = *kind == VALUE_STATS ? total : *count;
	return end;
}

/* "[8K, 16K)              1 |@@@ |" */
static bool is_bucket(const char *line, uint64_t *count)
{
	const char *at = strpbrk(line, ")]");
	char *end;

	if ((*line != '[' && *line != '(') || !at)
		return false;
	at += 1 + strspn(at + 1, " ");
	*count = strtoull(at, &end, 10);
	return end > at && end[strspn(end, " ")] == '|';
}

/* n: the length of "@name"; "@" has no name. */
static int begin_entry(struct reader *r, const char *line, size_t n, struct err *err)
{
	size_t i;
	uint32_t name =
		n > 1 ? profile_string(r->p, line + 1, n - 1) : profile_string(r->p, "samples", 7);

	if (name == STRTAB_FAILED)
		return err_nomem(err);
	r->inside = true;
	r->at = 0;
	r->names.n = 0;
	for (i = 0; i < STACKS; i++) {
		r->stacks[i].n = 0;
		r->is_kernel[i] = false;
	}
	return profile_add_event(r->p, name, 0, &r->event, err);
}

/* A line of an entry's keys: a frame, or words and commas. */
static int add_key_line(struct reader *r, const char *line, size_t n, bool is_last, struct err *err)
{
	size_t blank = strspn(line, " \t");

	if (!is_last && blank >= (*line == '\t' ? 1 : 2) && blank < n && line[blank] != ',')
		return add_frame(r, line + blank, n - blank, err);
	return add_keys(r, line, n, err);
}

/* Lines outside of entries: of histograms, of maps without keys, and what the script prints. */
static int read_between(struct reader *r, const char *line, size_t n, struct err *err)
{
	uint64_t count;

	if (r->in_buckets && is_bucket(line, &count)) {
		r->buckets += count;
		return 0;
	}
	if (r->in_buckets) {
		r->n_histograms++;
		return end_entry(r, r->buckets, r->buckets, err);
	}
	r->n_numbers += n > 1 && *line == '@' && memchr(line, ':', n) != NULL;
	return 0;
}

static int read_line(void *reader, char *line, size_t n, struct err *err)
{
	struct reader *r = reader;
	char *bracket = *line == '@' ? memchr(line, '[', n) : NULL;
	const char *end;
	uint64_t count = 0, period = 0;
	enum value kind;
	int rc = 0;

	if (!r->inside || (r->in_buckets && bracket))
		rc = read_between(r, line, n, err);
	else if (r->in_buckets)
		return read_between(r, line, n, err);
	if (rc || (!bracket && !r->inside))
		return rc;
	if (bracket) {
		rc = begin_entry(r, line, (size_t)(bracket - line), err);
		n -= (size_t)(bracket + 1 - line);
		line = bracket + 1;
	}
	if (rc)
		return rc;
	end = find_end(line, n, &kind, &count, &period);
	rc = add_key_line(r, line, end ? (size_t)(end - line) : n, end != NULL, err);
	r->in_buckets = kind == VALUE_BUCKETS;
	r->buckets = 0;
	return rc || !end || r->in_buckets ? rc : end_entry(r, count, period, err);
}

/* ---- -f json --------------------------------------------------------------------------------- */

/* Splits "data.@us.KEY.count" of the path of a value. False: it has another form. */
static bool split_path(const char *path, const char *suffix, const char **map, size_t *n_map,
		       const char **key, size_t *n_key)
{
	size_t end = strlen(path), cut = strlen(suffix);
	const char *dot;

	if (!str_starts_with(path, "data.@") || !str_ends_with(path, suffix))
		return false;
	*map = path + strlen("data.");
	dot = strchr(*map, '.');
	if (!dot || dot + 1 + cut > path + end)
		return false;
	*n_map = (size_t)(dot - *map);
	*key = dot + 1;
	*n_key = (size_t)(path + end - cut - *key);
	return true;
}

static int begin_json_entry(struct reader *r, const char *map, size_t n_map, const char *key,
			    size_t n, struct err *err)
{
	int rc = begin_entry(r, map, n_map, err);

	while (!rc && n) {
		const char *end = memchr(key, '\n', n);
		size_t len = end ? (size_t)(end - key) : n;
		struct text line = {0};

		text_add(&line, key, len);
		text_char(&line, '\0');
		rc = line.failed ? err_nomem(err) : add_key_line(r, line.s, len, false, err);
		text_done(&line);
		key += len + (end != NULL);
		n -= len + (end != NULL);
	}
	return rc < 0 ? rc : 0;
}

static int take_json(void *reader, const struct json_value *v)
{
	static const struct {
		const char *type, *suffix;
		bool is_last; /* the value that ends an entry */
	} rows[] = {{"map", "", true},	      {"hist", "[].count", false},
		    {"hist", "[]", true},     {"lhist", "[].count", false},
		    {"lhist", "[]", true},    {"stats", ".count", false},
		    {"stats", ".total", true}};
	struct reader *r = reader;
	const char *map, *key;
	size_t i, n_map, n_key;
	uint64_t number = v->number > 0 && v->number < 1e18 ? (uint64_t)v->number : 0;
	int rc;

	if (!strcmp(v->path, "type") && v->kind == JSON_STRING)
		snprintf(r->type, sizeof r->type, "%s", v->string);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const bool is_end = str_ends_with(rows[i].suffix, "[]");

		if (strcmp(r->type, rows[i].type) || v->kind != (is_end ? JSON_END : JSON_NUMBER) ||
		    !split_path(v->path, rows[i].suffix, &map, &n_map, &key, &n_key))
			continue;
		if (!rows[i].is_last) {
			r->buckets = !strcmp(r->type, "stats") ? number : r->buckets + number;
			return 0;
		}
		rc = begin_json_entry(r, map, n_map, key, n_key, r->err);
		if (!rc)
			rc = end_entry(r, is_end || *rows[i].suffix ? r->buckets : number,
				       is_end ? r->buckets : number, r->err);
		r->n_histograms += is_end;
		r->buckets = 0;
		return rc;
	}
	return 0;
}

static int read_json(struct reader *r, struct input_source *s, struct err *err)
{
	struct text all = {0};
	const char *at, *end;
	int rc = input_rest(s, &all, JSON_MAX, "a JSON text", err);

	r->err = err;
	for (at = all.s; !rc && at < all.s + all.n; at = end + 1) {
		size_t left = (size_t)(all.s + all.n - at);

		end = memchr(at, '\n', left);
		end = end ? end : at + left;
		s->line++;
		*r->type = '\0';
		if (*at == '{')
			rc = json_read(at, (size_t)(end - at), s->name, take_json, r, err);
		if (rc == -ERR_FORMAT) {
			input_damaged(r->ret, s);
			rc = 0;
		}
	}
	text_done(&all);
	return rc;
}

static bool is_json(const char *head)
{
	head = strstr(head, "{\"type\": \"");
	return head && (strstr(head, "\"attached_probes\"") || strstr(head, "\"data\": {\"@"));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Is there "@name[", and a line that ends such an entry? What stands before it, the script has
 * printed. */
static bool detect(const char *head, size_t n)
{
	bool has_entry = false;
	uint64_t count, period;
	enum value kind;
	size_t len;

	(void)n;
	for (; *head; head += len + (head[len] != '\0')) {
		char line[512];
		size_t name;

		len = strcspn(head, "\n");
		name = 1 + strspn(head + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_");
		has_entry |= *head == '@' && head[name] == '[';
		if (!has_entry)
			continue;
		snprintf(line, sizeof line, "%.*s", (int)(len > 511 ? 511 : len), head);
		if (find_end(line, strlen(line), &kind, &count, &period))
			return true;
	}
	return false;
}

static int read_bpftrace(struct profile *p, struct input_source *s, const struct input_options *opt,
			 struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	char head[1 << 12];
	size_t i, n;
	int rc = input_look(s, head, sizeof head, &n, err);

	if (!rc && is_json(head))
		rc = read_json(&r, s, err);
	else if (!rc)
		rc = input_each_line(s, ret, read_line, &r, err);
	if (!rc && r.in_buckets)
		rc = read_between(&r, "", 0, err);
	if (r.inside)
		ret->cut = true;
	input_note(ret, "entries are histograms: they count, their values are not kept",
		   r.n_histograms, false);
	input_note(ret, "maps are numbers without stacks, and were left out", r.n_numbers, false);
	for (i = 0; i < STACKS; i++)
		vec_done(&r.stacks[i]);
	vec_done(&r.names);
	vec_done(&r.root_first);
	return rc;
}

const struct input_format input_bpftrace = {
	.name = "bpftrace",
	.help = "what bpftrace prints of maps with stacks as keys, as text or JSON",
	.detect = detect,
	.detect_json = is_json,
	.read = read_bpftrace,
};

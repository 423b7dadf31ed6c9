/* in_pprof.c - profile.proto of any producer, packed or not.
 *
 * Source of truth: github.com/google/pprof/proto/profile.proto; where proto3 leaves things open,
 * what its readers accept: ids may be any numbers, references to what is not there are left out,
 * packed and single repeated fields mean the same. Each sample type becomes an event; a number of
 * samples
 * ("samples", "x_sample") and what it is followed by become one, as we and perf_to_profile write
 * them. The label thread_comm (or comm, thread) is the command, pid and tid are the task,
 * cpu is the processor, stop says why the stack ended. */
#include "input/pprof_reader.h"

#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 30 };

static int read_string(struct pprof_reader *r, struct buf b, struct err *err)
{
	uint32_t id = profile_string(r->p, (const char *)b.p, buf_left(&b));

	return id == STRTAB_FAILED || vec_push(&r->strings, id) ? err_nomem(err) : 0;
}

static int read_type(struct pprof_reader *r, struct buf b, struct err *err)
{
	uint64_t v[3];

	if (!pb_numbers(b, v, 3))
		return 1;
	if (r->n_types == PPROF_TYPES_MAX)
		return err_set(err, ERR_LIMIT, "", "more than %d sample types", PPROF_TYPES_MAX);
	r->types[r->n_types++] = (struct pprof_type){.type = v[1], .unit = v[2]};
	return 0;
}

/* ---- events -----------------------------------------------------------------------------------
 */

/* The length of "cycles" in "cycles_sample" and "cycles_event". */
static size_t stem(const char *name, const char *suffix)
{
	size_t n = strlen(name), end = strlen(suffix);

	return n > end && !strcmp(name + n - end, suffix) ? n - end : 0;
}

static int make_events(struct pprof_reader *r, struct err *err)
{
	size_t i;

	for (i = 0; i < r->n_types; i++) {
		struct pprof_type *t = &r->types[i], *next = i + 1 < r->n_types ? t + 1 : NULL;
		const char *name = pprof_text(r, t->type),
			   *follows = next ? pprof_text(r, next->type) : "";
		size_t a = stem(name, "_sample"), b = stem(follows, "_event");
		uint32_t unit;

		t->is_count = next && (!strcmp(name, "samples") ||
				       (a && a == b && !memcmp(name, follows, a)));
		if (t->is_count) {
			i++;
			name = follows;
		}
		unit = pprof_string(r, r->types[i].unit);
		if (!strcmp(strtab_get(&r->p->strings, unit), "count"))
			unit = 0;
		t->event = profile_string(r->p, name, t->is_count && b ? b : strlen(name));
		if (t->event == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_event(r->p, t->event, unit, &t->event, err))
			return -ERR_NOMEM;
		r->p->events.v[t->event].attr.sample_period = r->period;
		r->p->events.v[t->event].is_sum = !t->is_count;
		/* "If unset, clients should default to the last sample value." */
		r->p->events.v[t->event].is_default |=
			r->default_type ? r->types[i].type == r->default_type : i + 1 == r->n_types;
	}
	return r->n_types ? 0
			  : err_set(err, ERR_FORMAT, "", "a pprof profile without sample types");
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static int read_comments(struct pprof_reader *r, const struct pb_field *f, struct err *err)
{
	struct buf b = f->bytes;
	uint64_t v = f->value;

	do {
		uint32_t id;

		if (f->type == PB_LENGTH)
			v = buf_uleb(&b);
		id = buf_ok(&b) ? pprof_string(r, v) : 0;
		if (id && vec_push(&r->p->comments, id))
			return err_nomem(err);
	} while (buf_ok(&b) && buf_left(&b));
	return 0;
}

static int read_number(struct pprof_reader *r, const struct pb_field *f, struct err *err)
{
	switch (f->number) {
	case 7:
		r->drop = f->value;
		break;
	case 8:
		r->keep = f->value;
		break;
	case 9:
		r->time_ns = f->value;
		break;
	case 10:
		r->duration_ns = f->value;
		break;
	case 12:
		r->period = f->value;
		break;
	case 13:
		return read_comments(r, f, err);
	case 14:
		r->default_type = f->value;
		break;
	}
	return 0;
}

/* Fields may come in any order, and refer to each other: there is one pass for each kind. */
static int walk(struct pprof_reader *r, struct buf all, unsigned number,
		int (*read)(struct pprof_reader *r, struct buf b, struct err *err), struct err *err)
{
	struct pb_field f;
	int rc = 0;

	while (rc >= 0 && pb_next(&all, &f)) {
		if (read && f.number == number && f.type == PB_LENGTH)
			rc = read(r, f.bytes, err);
		else if (!read && (f.number >= 7))
			rc = read_number(r, &f, err);
		if (rc > 0 && !r->ret->damaged++)
			r->ret->first_damaged = buf_off(&f.bytes) + 1;
	}
	if (rc >= 0 && !buf_ok(&all) && number == 6)
		r->ret->cut = true;
	return rc < 0 ? rc : 0;
}

static int read_all(struct pprof_reader *r, struct buf all, struct err *err)
{
	int rc = walk(r, all, 6, read_string, err);

	if (!rc)
		rc = walk(r, all, 0, NULL, err);
	if (!rc)
		rc = walk(r, all, 1, read_type, err);
	if (!rc)
		rc = make_events(r, err);
	if (!rc)
		rc = walk(r, all, 3, pprof_read_mapping, err);
	if (!rc)
		rc = walk(r, all, 5, pprof_read_function, err);
	if (!rc && !pruner_begin(&r->pruner, pprof_text(r, r->drop), pprof_text(r, r->keep)))
		input_note(r->ret,
			   "drop_frames is a pattern of a kind that is not supported: nothing was "
			   "dropped",
			   1, false);
	if (!rc)
		rc = walk(r, all, 4, pprof_read_location, err);
	if (!rc)
		rc = walk(r, all, 2, pprof_read_sample, err);
	input_note(r->ret,
		   "values below zero were left out, as a profile has none: a difference of "
		   "profiles is shown by resolve --diff BASE NEW",
		   r->n_negative, true);
	input_note(r->ret, "samples have another number of values than the profile has types",
		   r->n_uneven, true);
	r->p->wall_ns = r->time_ns;
	r->p->last_ns = r->duration_ns <= INT64_MAX ? r->duration_ns : 0;
	return rc;
}

/* Most field keys of messages are control characters, which texts do not have. */
static bool is_text(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' && !strchr("\t\n\r", s[i]))
			return false;
	return true;
}

/* Is it a profile, by its first fields? bpftrace's "@[\n    f" may look like fields, too. */
static bool detect(const char *head, size_t n)
{
	struct buf b = buf_make(head, n, 0, false);
	struct pb_field f;
	unsigned seen = 0;

	if (is_text(head, n))
		return false;
	while (seen < 64 && pb_next(&b, &f)) {
		bool is_message = f.number <= 6 || f.number == 11;

		if (f.number > 15 || (is_message && f.type != PB_LENGTH) ||
		    (!is_message && f.number != 13 && f.type != PB_VARINT))
			return false;
		seen++;
	}
	/* The head may end inside of a field. */
	return seen >= 3 && (buf_ok(&b) || n >= 4096);
}

static int read_pprof(struct profile *p, struct input_source *s, const struct input_options *opt,
		      struct input_result *ret, struct err *err)
{
	struct pprof_reader r = {.p = p, .opt = opt, .ret = ret};
	struct text all = {0};
	int rc = input_rest(s, &all, BYTES_MAX, "a pprof profile", err);

	if (!rc)
		rc = read_all(&r, buf_make(all.s, all.n, 0, false), err);
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	text_done(&all);
	vec_done(&r.strings);
	vec_done(&r.stack);
	vec_done(&r.values);
	vec_done(&r.lines);
	hash_done(&r.mappings);
	hash_done(&r.functions);
	hash_done(&r.locations);
	hash_done(&r.prunes);
	pruner_done(&r.pruner);
	vec_done(&r.stack_prunes);
	text_done(&r.labels);
	return rc;
}

const struct input_format input_pprof = {
	.name = "pprof",
	.help = "profile.proto of any producer, gzipped or not",
	.detect = detect,
	.read = read_pprof,
};

/* pprof_sample.c - samples of a profile.proto: stacks, values, labels. */
#include "input/pprof_reader.h"

#include <string.h>

static int push_numbers(struct pprof_reader *r, const struct pb_field *f, bool are_locations)
{
	struct buf b = f->bytes;
	uint64_t v = f->value;
	uint32_t ours;

	do {
		if (f->type == PB_LENGTH) {
			if (!buf_left(&b))
				return 0;
			v = buf_uleb(&b);
			if (!buf_ok(&b))
				return 0;
		}
		ours = are_locations ? hash_get(&r->locations, v) : 0;
		if (are_locations && r->pruner.has_drop && ours != HASH_NONE) {
			uint32_t prune = hash_get(&r->prunes, v);

			if (vec_push(&r->stack_prunes,
				     prune == HASH_NONE ? PRUNE_NOT : (uint8_t)prune))
				return -1;
		}
		if (ours == HASH_NONE)
			r->ret->damaged++;
		else if (are_locations ? vec_push(&r->stack, ours) : vec_push(&r->values, v))
			return -1;
	} while (f->type == PB_LENGTH);
	return 0;
}

static uint8_t stop_of(const char *name)
{
	uint8_t stop;

	for (stop = 0; stop < UNWIND_STOP_N; stop++)
		if (!strcmp(name, unwind_stop_name(stop)))
			return stop;
	return UNWIND_STOP_NONE;
}

/* Reads a label of a sample. Returns 1 if it says that callers come from another sample. */
static int read_label(struct pprof_reader *r, struct buf b, struct profile_sample *s)
{
	uint64_t v[5], str, num;
	const char *name;

	pb_numbers(b, v, 5);
	str = v[2];
	num = v[3];
	name = pprof_text(r, v[1]);
	/* These two are of the stack, and written with it. */
	if (strcmp(name, "stop") != 0 && strcmp(name, "stack") != 0)
		profile_label_add(&r->labels, &(struct profile_label){
						      .key = name,
						      .text = str ? pprof_text(r, str) : NULL,
						      .number = (int64_t)num,
						      .unit = pprof_text(r, v[4]),
					      });
	if (str && (!strcmp(name, "thread_comm") || !strcmp(name, "comm") ||
		    (!s->comm && !strcmp(name, "thread"))))
		s->comm = pprof_string(r, str);
	else if (!strcmp(name, "pid"))
		s->pid = (uint32_t)num;
	else if (!strcmp(name, "tid"))
		s->tid = (uint32_t)num;
	else if (!strcmp(name, "cpu") && num < UINT16_MAX)
		s->cpu = profile_cpu((uint32_t)num);
	else if (!strcmp(name, "stop"))
		s->stop = stop_of(pprof_text(r, str));
	return !strcmp(name, "stack") && !strcmp(pprof_text(r, str), "stitched");
}

/* Stacks with callers from another sample have a different root location. */
static int mark_stitched(struct pprof_reader *r, struct err *err)
{
	struct profile_location l = r->p->locations.v[r->stack.v[r->stack.n - 1]];
	size_t i;

	l.how = FRAME_STITCHED;
	r->lines.n = 0;
	for (i = 0; i < l.n_lines; i++)
		if (vec_push(&r->lines, r->p->lines.v[l.first_line + i]))
			return err_nomem(err);
	return profile_add_location(r->p, &l, r->lines.v, r->lines.n, &r->stack.v[r->stack.n - 1],
				    err);
}

static int add_values(struct pprof_reader *r, struct profile_sample *s, struct err *err)
{
	size_t i;

	for (i = 0; i < r->n_types && i < r->values.n; i++) {
		const struct pprof_type *t = &r->types[i];
		struct input_sample seen = {
			.comm = strtab_get(&r->p->strings, s->comm),
			.event = strtab_get(&r->p->strings, r->p->events.v[t->event].name),
			.pid = s->pid,
			.tid = s->tid,
		};

		bool is_negative = (int64_t)r->values.v[i] < 0;

		s->count = s->period = r->values.v[i];
		if (t->is_count && i + 1 < r->values.n) {
			s->period = r->values.v[++i];
			is_negative |= (int64_t)s->period < 0;
		}
		r->n_negative += is_negative;
		if (is_negative)
			continue;
		s->event = t->event;
		if ((s->count || s->period) && input_accepts(r->opt, &seen, r->ret) &&
		    profile_add_sample(r->p, s, err))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Removes the innermost frames that drop_frames of the profile names. */
static void drop_frames(struct pprof_reader *r)
{
	size_t n = r->stack.n < r->stack_prunes.n ? r->stack.n : r->stack_prunes.n;
	size_t first = pruned_first(r->stack_prunes.v, n);

	if (!first)
		return;
	r->n_pruned += first;
	r->stack.n -= first;
	memmove(r->stack.v, r->stack.v + first, r->stack.n * sizeof *r->stack.v);
}

static int keep_labels(struct pprof_reader *r, struct profile_sample *s, struct err *err)
{
	if (r->labels.failed)
		return err_nomem(err);
	if (!r->labels.n)
		return 0;
	s->labels = strtab_add(&r->p->strings, r->labels.s, r->labels.n);
	return s->labels == STRTAB_FAILED ? err_nomem(err) : 0;
}

int pprof_read_sample(struct pprof_reader *r, struct buf b, struct err *err)
{
	struct profile_sample s = {
		.stop = UNWIND_STOP_NONE, .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	struct pb_field f;
	bool stitched = false;
	size_t i;

	r->stack.n = r->values.n = r->stack_prunes.n = r->labels.n = 0;
	while (pb_next(&b, &f))
		switch (f.number) {
		case 1:
		case 2:
			if (push_numbers(r, &f, f.number == 1))
				return err_nomem(err);
			break;
		case 3:
			stitched |= read_label(r, f.bytes, &s);
			break;
		}
	if (!buf_ok(&b))
		return 1;
	r->n_uneven += r->values.n != r->n_types;
	if (stitched && r->stack.n && mark_stitched(r, err))
		return -ERR_NOMEM;
	if (r->pruner.has_drop)
		drop_frames(r);
	if (keep_labels(r, &s, err))
		return -ERR_NOMEM;
	for (i = 0; i < r->stack.n / 2; i++) {
		uint32_t swap = r->stack.v[i];

		r->stack.v[i] = r->stack.v[r->stack.n - 1 - i];
		r->stack.v[r->stack.n - 1 - i] = swap;
	}
	if (profile_add_stack(r->p, r->stack.v, r->stack.n, &s.node, err))
		return -ERR_NOMEM;
	return add_values(r, &s, err);
}

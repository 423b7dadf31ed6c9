/* in_pprof.c - profile.proto of any producer, packed or not.
 *
 * Source of truth: github.com/google/pprof/proto/profile.proto; where proto3 leaves things open,
 * what its readers accept: ids may be any numbers, references to what is not there are left out,
 * packed and single repeated fields mean the same. Each sample type becomes an event; a number of
 * samples
 * ("samples", "x_sample") and what it is followed by become one, as we and perf_to_profile write
 * them. The label thread_comm (or comm, thread) is the command, pid and tid are the task,
 * cpu is the processor, stop says why the stack ended. */
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/pprof_prune.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"

#include <stdlib.h>

#include "reader/reader.h"

enum { BYTES_MAX = 1 << 30, TYPES_MAX = 64 };

struct bytes {
	const uint8_t *at, *end;
};

struct field {
	unsigned number, type;
	uint64_t value;	    /* of a varint or fixed number */
	struct bytes bytes; /* of a message or string */
};

enum { VARINT, FIXED64, LENGTH, FIXED32 = 5 };

/* An id of the file, and ours. */
struct known {
	struct hash_table of;
};

struct value_type {
	uint64_t type, unit; /* string indexes */
	uint32_t event;
	bool is_count; /* of the event of the next type */
};

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	const uint8_t *start;
	VEC(uint32_t) strings; /* ids of ours */
	struct value_type types[TYPES_MAX];
	size_t n_types;
	struct known mappings, functions, locations;
	/* What drop_frames and keep_frames say: by id of a location (enum prune), and of the stack.
	 */
	struct pruner pruner;
	struct known prunes;
	VEC(uint8_t) stack_prunes;
	uint64_t drop, keep; /* string indexes */
	uint64_t n_pruned, n_negative, n_uneven;
	struct text labels;  /* of the sample */
	VEC(uint32_t) stack; /* locations, leaf first, then root first */
	VEC(uint64_t) values;
	VEC(struct profile_line) lines;
	uint64_t time_ns, duration_ns, period, default_type;
};

/* ---- the wire format --------------------------------------------------------------------------
 */

static bool get_varint(struct bytes *b, uint64_t *ret)
{
	unsigned shift;

	for (*ret = shift = 0; b->at < b->end && shift < 64; shift += 7) {
		uint8_t c = *b->at++;

		*ret |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

/* Returns 1 for a field, 0 at the end, negative if it is damaged. */
static int get_field(struct bytes *b, struct field *f)
{
	uint64_t key, n;

	if (b->at == b->end)
		return 0;
	if (!get_varint(b, &key) || key >> 3 == 0 || key >> 32)
		return -1;
	f->number = (unsigned)(key >> 3);
	f->type = key & 7;
	f->bytes = (struct bytes){NULL, NULL};
	f->value = 0;
	switch (f->type) {
	case VARINT:
		return get_varint(b, &f->value) ? 1 : -1;
	case LENGTH:
		if (!get_varint(b, &n) || n > (uint64_t)(b->end - b->at))
			return -1;
		f->bytes = (struct bytes){b->at, b->at + n};
		b->at += n;
		return 1;
	case FIXED64:
	case FIXED32:
		n = f->type == FIXED64 ? 8 : 4;
		if ((uint64_t)(b->end - b->at) < n)
			return -1;
		b->at += n;
		return 1;
	default:
		return -1;
	}
}

/* Reads the numbers of a message into v[field number], which is below n. False: damaged. */
static bool get_numbers(struct bytes b, uint64_t v[], size_t n)
{
	struct field f;
	int rc;

	memset(v, 0, n * sizeof *v);
	while ((rc = get_field(&b, &f)) > 0)
		if (f.number < n)
			v[f.number] = f.value;
	return rc == 0;
}

/* ---- ids --------------------------------------------------------------------------------------
 */

/* Strings come last in a file, so if some are missing it was cut. The first is "". */
static uint32_t string(struct reader *r, uint64_t index)
{
	if (!index)
		return 0;
	if (index < r->strings.n)
		return r->strings.v[index];
	r->ret->cut = true;
	return 0;
}

static const char *text(struct reader *r, uint64_t index)
{
	return strtab_get(&r->p->strings, string(r, index));
}

static int know(struct known *k, uint64_t id, uint32_t ours, struct err *err)
{
	return hash_put(&k->of, id, ours) ? err_nomem(err) : 0;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static bool build_id_of(const char *hex, struct build_id *ret)
{
	size_t i, n = strlen(hex);
	unsigned byte;

	if (n % 2 || n / 2 > BUILD_ID_MAX || strspn(hex, "0123456789abcdefABCDEF") != n)
		return false;
	for (i = 0; i < n / 2; i++) {
		char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		byte = (unsigned)strtoul(digits, NULL, 16);
		ret->bytes[i] = (uint8_t)byte;
	}
	ret->size = (uint8_t)(n / 2);
	return true;
}

static enum dso_kind kind_of(const char *path)
{
	if (!strncmp(path, "[kernel", 7) || !strcmp(path, "[guest.kernel.kallsyms]"))
		return DSO_KERNEL;
	if (!strcmp(path, "[vdso]"))
		return DSO_VDSO;
	if (!strcmp(path, "//anon") || (!strncmp(path, "/tmp/perf-", 10) && strstr(path, ".map")))
		return DSO_ANON;
	if (!strcmp(path, "[stack]") || !strcmp(path, "[heap]") || !strcmp(path, "[unknown]"))
		return DSO_UNKNOWN;
	return *path == '[' ? DSO_KERNEL_MODULE : DSO_FILE;
}

/* Readers of messages; the fields are those of profile.proto. */
static int read_mapping(struct reader *r, struct bytes b, struct err *err)
{
	struct profile_mapping m = {.kind = DSO_UNKNOWN};
	uint64_t v[7];
	uint32_t ours;

	if (!get_numbers(b, v, 7))
		return 1;
	m.map.start = v[2];
	m.map.end = v[3];
	m.map.pgoff = v[4];
	m.path = string(r, v[5]);
	build_id_of(text(r, v[6]), &m.build_id);
	if (m.path)
		m.kind = kind_of(strtab_get(&r->p->strings, m.path));
	if (profile_add_mapping(r->p, &m, &ours, err))
		return -ERR_NOMEM;
	return know(&r->mappings, v[1], ours, err);
}

static int read_function(struct reader *r, struct bytes b, struct err *err)
{
	struct profile_function fn;
	uint64_t v[6];
	uint32_t ours;

	if (!get_numbers(b, v, 6))
		return 1;
	fn = (struct profile_function){
		.name = string(r, v[2]),
		.system_name = string(r, v[3]),
		.file = string(r, v[4]),
		.start_line = (uint32_t)v[5],
		.is_foreign = true,
	};
	if (profile_add_function(r->p, &fn, &ours, err))
		return -ERR_NOMEM;
	return know(&r->functions, v[1], ours, err);
}

static int read_line(struct reader *r, struct bytes b, struct err *err)
{
	struct profile_line line;
	uint64_t v[3];

	if (!get_numbers(b, v, 3))
		return 1;
	line = (struct profile_line){.function = hash_get(&r->functions.of, v[1]),
				     .line = (uint32_t)v[2]};
	if (line.function == HASH_NONE)
		return 1;
	return vec_push(&r->lines, line) ? err_nomem(err) : 0;
}

/* Is the only function "[libfoo.so]", which stands for code without a name in that mapping? */
static bool is_nameless(const struct reader *r, const struct profile_location *l)
{
	const struct profile_function *f = &r->p->functions.v[r->lines.v[0].function];
	const char *name = strtab_get(&r->p->strings, f->name);
	const char *module = profile_mapping_short_name(r->p, l->mapping);
	size_t n = strlen(module);

	return !f->file && name[0] == '[' && !strncmp(name + 1, module, n) &&
	       !strcmp(name + 1 + n, "]");
}

/* Removes the inlined functions that a dropped one has called, and itself. */
static int prune_lines(struct reader *r, uint64_t id, struct err *err)
{
	size_t i;

	for (i = r->lines.n; i--;) {
		const struct profile_function *f = &r->p->functions.v[r->lines.v[i].function];

		if (pruner_drops(&r->pruner, strtab_get(&r->p->strings, f->name)))
			break;
	}
	if (i == SIZE_MAX)
		return 0;
	if (i + 1 < r->lines.n) {
		r->lines.n -= i + 1;
		memmove(r->lines.v, r->lines.v + i + 1, r->lines.n * sizeof *r->lines.v);
		return know(&r->prunes, id, PRUNE_BELOW, err);
	}
	return know(&r->prunes, id, PRUNE_ALL, err);
}

static int read_location(struct reader *r, struct bytes b, struct err *err)
{
	struct profile_location l = {.how = FRAME_USER_CHAIN};
	struct field f;
	uint64_t id = 0, mapping = 0;
	uint32_t ours;
	int rc, bad = 0;

	r->lines.n = 0;
	while ((rc = get_field(&b, &f)) > 0)
		switch (f.number) {
		case 1:
			id = f.value;
			break;
		case 2:
			mapping = f.value;
			break;
		case 3:
			l.ip = l.off = f.value;
			break;
		case 4:
			bad = read_line(r, f.bytes, err);
			if (bad < 0)
				return bad;
			break;
		}
	if (rc < 0)
		return 1;
	ours = hash_get(&r->mappings.of, mapping);
	l.mapping = ours == HASH_NONE ? 0 : ours;
	switch (r->p->mappings.v[l.mapping].kind) {
	case DSO_KERNEL:
	case DSO_KERNEL_MODULE:
	case DSO_GUEST_KERNEL:
		l.is_kernel = true;
		break;
	default:
		break;
	}
	if (r->lines.n == 1 && is_nameless(r, &l))
		r->lines.n = 0;
	if (r->pruner.has_drop && prune_lines(r, id, err))
		return -ERR_NOMEM;
	if (profile_add_location(r->p, &l, r->lines.v, r->lines.n, &ours, err))
		return -ERR_NOMEM;
	return know(&r->locations, id, ours, err);
}

static int read_string(struct reader *r, struct bytes b, struct err *err)
{
	uint32_t id = profile_string(r->p, (const char *)b.at, (size_t)(b.end - b.at));

	return id == STRTAB_FAILED || vec_push(&r->strings, id) ? err_nomem(err) : 0;
}

static int read_type(struct reader *r, struct bytes b, struct err *err)
{
	uint64_t v[3];

	if (!get_numbers(b, v, 3))
		return 1;
	if (r->n_types == TYPES_MAX)
		return err_set(err, ERR_LIMIT, "", "more than %d sample types", TYPES_MAX);
	r->types[r->n_types++] = (struct value_type){.type = v[1], .unit = v[2]};
	return 0;
}

/* ---- samples ----------------------------------------------------------------------------------
 */

static int push_numbers(struct reader *r, const struct field *f, bool are_locations)
{
	struct bytes b = f->bytes;
	uint64_t v = f->value;
	uint32_t ours;

	do {
		if (f->type == LENGTH && (b.at == b.end || !get_varint(&b, &v)))
			return 0;
		ours = are_locations ? hash_get(&r->locations.of, v) : 0;
		if (are_locations && r->pruner.has_drop && ours != HASH_NONE) {
			uint32_t prune = hash_get(&r->prunes.of, v);

			if (vec_push(&r->stack_prunes,
				     prune == HASH_NONE ? PRUNE_NOT : (uint8_t)prune))
				return -1;
		}
		if (ours == HASH_NONE)
			r->ret->damaged++;
		else if (are_locations ? vec_push(&r->stack, ours) : vec_push(&r->values, v))
			return -1;
	} while (f->type == LENGTH);
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
static int read_label(struct reader *r, struct bytes b, struct profile_sample *s)
{
	uint64_t v[5], str, num;
	const char *name;

	get_numbers(b, v, 5);
	str = v[2];
	num = v[3];
	name = text(r, v[1]);
	/* These two are of the stack, and written with it. */
	if (strcmp(name, "stop") != 0 && strcmp(name, "stack") != 0)
		profile_label_add(&r->labels, &(struct profile_label){
						      .key = name,
						      .text = str ? text(r, str) : NULL,
						      .number = (int64_t)num,
						      .unit = text(r, v[4]),
					      });
	if (str && (!strcmp(name, "thread_comm") || !strcmp(name, "comm") ||
		    (!s->comm && !strcmp(name, "thread"))))
		s->comm = string(r, str);
	else if (!strcmp(name, "pid"))
		s->pid = (uint32_t)num;
	else if (!strcmp(name, "tid"))
		s->tid = (uint32_t)num;
	else if (!strcmp(name, "cpu") && num < UINT16_MAX)
		s->cpu = profile_cpu((uint32_t)num);
	else if (!strcmp(name, "stop"))
		s->stop = stop_of(text(r, str));
	return !strcmp(name, "stack") && !strcmp(text(r, str), "stitched");
}

/* Stacks with callers from another sample have a different root location. */
static int mark_stitched(struct reader *r, struct err *err)
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

static int add_values(struct reader *r, struct profile_sample *s, struct err *err)
{
	size_t i;

	for (i = 0; i < r->n_types && i < r->values.n; i++) {
		const struct value_type *t = &r->types[i];
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

/* Removes the innermost frames that nobody wants to see. */
static void drop_frames(struct reader *r)
{
	size_t n = r->stack.n < r->stack_prunes.n ? r->stack.n : r->stack_prunes.n;
	size_t first = pruned_first(r->stack_prunes.v, n);

	if (!first)
		return;
	r->n_pruned += first;
	r->stack.n -= first;
	memmove(r->stack.v, r->stack.v + first, r->stack.n * sizeof *r->stack.v);
}

static int keep_labels(struct reader *r, struct profile_sample *s, struct err *err)
{
	if (r->labels.failed)
		return err_nomem(err);
	if (!r->labels.n)
		return 0;
	s->labels = strtab_add(&r->p->strings, r->labels.s, r->labels.n);
	return s->labels == STRTAB_FAILED ? err_nomem(err) : 0;
}

static int read_sample(struct reader *r, struct bytes b, struct err *err)
{
	struct profile_sample s = {
		.stop = UNWIND_STOP_NONE, .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	struct field f;
	bool stitched = false;
	size_t i;
	int rc;

	r->stack.n = r->values.n = r->stack_prunes.n = r->labels.n = 0;
	while ((rc = get_field(&b, &f)) > 0)
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
	if (rc < 0)
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

/* ---- events -----------------------------------------------------------------------------------
 */

/* The length of "cycles" in "cycles_sample" and "cycles_event". */
static size_t stem(const char *name, const char *suffix)
{
	size_t n = strlen(name), end = strlen(suffix);

	return n > end && !strcmp(name + n - end, suffix) ? n - end : 0;
}

static int make_events(struct reader *r, struct err *err)
{
	size_t i;

	for (i = 0; i < r->n_types; i++) {
		struct value_type *t = &r->types[i], *next = i + 1 < r->n_types ? t + 1 : NULL;
		const char *name = text(r, t->type), *follows = next ? text(r, next->type) : "";
		size_t a = stem(name, "_sample"), b = stem(follows, "_event");
		uint32_t unit;

		t->is_count = next && (!strcmp(name, "samples") ||
				       (a && a == b && !memcmp(name, follows, a)));
		if (t->is_count) {
			i++;
			name = follows;
		}
		unit = string(r, r->types[i].unit);
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

static int read_number(struct reader *r, struct bytes b, const struct field *f, struct err *err)
{
	uint32_t id;

	(void)b;
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
	case 14:
		r->default_type = f->value;
		break;
	case 13:
		b = f->bytes;
		for (uint64_t v = f->value; f->type != LENGTH || get_varint(&b, &v);) {
			id = string(r, v);
			if (id && vec_push(&r->p->comments, id))
				return err_nomem(err);
			if (f->type != LENGTH)
				break;
		}
		break;
	}
	return 0;
}

/* Fields may come in any order, and refer to each other: there is one pass for each kind. */
static int walk(struct reader *r, struct bytes all, unsigned number,
		int (*read)(struct reader *r, struct bytes b, struct err *err), struct err *err)
{
	struct field f;
	int rc = 0, got;

	while (rc >= 0 && (got = get_field(&all, &f)) > 0) {
		if (read && f.number == number && f.type == LENGTH)
			rc = read(r, f.bytes, err);
		else if (!read && (f.number >= 7))
			rc = read_number(r, all, &f, err);
		if (rc > 0 && !r->ret->damaged++)
			r->ret->first_damaged = (uint64_t)(f.bytes.at - r->start) + 1;
	}
	if (rc >= 0 && got < 0 && number == 6)
		r->ret->cut = true;
	return rc < 0 ? rc : 0;
}

static int read_all(struct reader *r, struct bytes all, struct err *err)
{
	int rc = walk(r, all, 6, read_string, err);

	if (!rc)
		rc = walk(r, all, 0, NULL, err);
	if (!rc)
		rc = walk(r, all, 1, read_type, err);
	if (!rc)
		rc = make_events(r, err);
	if (!rc)
		rc = walk(r, all, 3, read_mapping, err);
	if (!rc)
		rc = walk(r, all, 5, read_function, err);
	if (!rc && !pruner_begin(&r->pruner, text(r, r->drop), text(r, r->keep)))
		input_note(r->ret,
			   "drop_frames is a pattern of a kind that is not supported: nothing was "
			   "dropped",
			   1, false);
	if (!rc)
		rc = walk(r, all, 4, read_location, err);
	if (!rc)
		rc = walk(r, all, 2, read_sample, err);
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
	struct bytes b = {(const uint8_t *)head, (const uint8_t *)head + n};
	struct field f;
	unsigned seen = 0;
	int rc = 0;

	if (is_text(head, n))
		return false;
	while (seen < 64 && (rc = get_field(&b, &f)) > 0) {
		bool is_message = f.number <= 6 || f.number == 11;

		if (f.number > 15 || (is_message && f.type != LENGTH) ||
		    (!is_message && f.number != 13 && f.type != VARINT))
			return false;
		seen++;
	}
	/* The head may end inside of a field. */
	return seen >= 3 && (rc >= 0 || n >= 4096);
}

static int read_pprof(struct profile *p, struct input_source *s, const struct input_options *opt,
		      struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	struct text all = {0};
	int rc = input_rest(s, &all, BYTES_MAX, "a pprof profile", err);

	r.start = (const uint8_t *)all.s;
	if (!rc)
		rc = read_all(&r, (struct bytes){r.start, r.start + all.n}, err);
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	text_done(&all);
	vec_done(&r.strings);
	vec_done(&r.stack);
	vec_done(&r.values);
	vec_done(&r.lines);
	hash_done(&r.mappings.of);
	hash_done(&r.functions.of);
	hash_done(&r.locations.of);
	hash_done(&r.prunes.of);
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
